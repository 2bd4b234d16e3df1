//! First come, first served: pure rules over a list. No I/O, no clock.
//!
//! Order is list position. `ts` is informational: it never decides.

use crate::identity::PlanId;

/// One place in the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Who stands here. Not necessarily a plan id: other programs write this too.
    pub plan_id: String,
    /// When the entry was made, in seconds since the Unix epoch; 0 where that is unknown.
    pub ts: f64,
    /// The entry as it stands in the file, unknown fields and all.
    pub raw: String,
}

impl Entry {
    /// A new entry for `id`, made at `ts`.
    pub fn new(id: &PlanId, ts: f64) -> Self {
        let raw = serde_json::json!({"plan_id": id.as_str(), "ts": ts}).to_string();
        Self {
            plan_id: id.as_str().to_owned(),
            ts,
            raw,
        }
    }
}

/// Those ahead of `id`, in order, the holder not among them; `None` when `id` is not queued.
///
/// The holder's entry stays in the queue until it releases, so it is nobody's obstacle twice.
pub fn ahead<'a>(queue: &'a [Entry], id: &PlanId, holder: Option<&str>) -> Option<Vec<&'a Entry>> {
    let place = queue
        .iter()
        .position(|entry| entry.plan_id == id.as_str())?;
    let ahead = queue.iter().take(place);
    Some(
        ahead
            .filter(|entry| Some(entry.plan_id.as_str()) != holder)
            .collect(),
    )
}

/// Removes every entry of `id`. Returns whether there was one.
pub fn dequeue(queue: &mut Vec<Entry>, id: &str) -> bool {
    let before = queue.len();
    queue.retain(|entry| entry.plan_id != id);
    queue.len() != before
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> PlanId {
        PlanId::parse(text).expect("a plan id")
    }

    fn queue(ids: &[&str]) -> Vec<Entry> {
        ids.iter().map(|text| Entry::new(&id(text), 0.0)).collect()
    }

    fn names(entries: &[&Entry]) -> Vec<String> {
        entries.iter().map(|entry| entry.plan_id.clone()).collect()
    }

    #[test]
    fn position_decides_whatever_ts_says() {
        let mut queue = queue(&["a", "b"]);
        queue[0].ts = 9e9;
        assert_eq!(
            names(&ahead(&queue, &id("b"), None).expect("queued")),
            ["a"]
        );
        assert_eq!(
            names(&ahead(&queue, &id("a"), None).expect("queued")),
            [""; 0]
        );
    }

    #[test]
    fn the_holder_is_not_ahead_of_anyone() {
        let queue = queue(&["h", "a", "b"]);
        assert_eq!(
            names(&ahead(&queue, &id("b"), Some("h")).expect("queued")),
            ["a"]
        );
        assert!(ahead(&queue, &id("c"), Some("h")).is_none());
    }

    proptest! {
        #[test]
        fn a_departure_never_changes_the_order_of_the_others(
            ids in prop::collection::vec("[a-e]", 0..12), gone in "[a-e]",
        ) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut left = queue(&ids);
            let was_there = dequeue(&mut left, &gone);
            let expected: Vec<&str> = ids.iter().copied().filter(|x| *x != gone).collect();
            prop_assert_eq!(was_there, expected.len() != ids.len());
            let left: Vec<&str> = left.iter().map(|entry| entry.plan_id.as_str()).collect();
            prop_assert_eq!(left, expected);
        }
    }
}
