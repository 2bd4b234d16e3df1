//! What no decision may do, whoever asks and whatever the state: over states and worlds made at
//! random. Who lives is the world's to say, never a verdict's.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;

mod calls;
mod scenes;

use calls::{Call, Scene, Seen};
use scenes::{calls, scenes};

/// At least so many cases; `PROPTEST_CASES` may ask for more.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig::with_cases(config.cases.max(1000))
}

fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

fn by_id(state: &BuildState) -> BTreeMap<&str, &Entry> {
    let all = state.active.iter().chain(&state.waiting);
    all.map(|entry| (entry.id.as_str(), entry)).collect()
}

fn slots_of(entry: &Entry, own: Option<&str>, rules: &Rules<'_>) -> usize {
    let theirs = entry.record.known().filter(|_| own != Some(&entry.id));
    theirs.map_or(rules.slots, |record| record.slots)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nobody_is_given_a_slot_beyond_its_own_number(scene in scenes(), call in calls()) {
        let done = scene.decide(call, &scene.state, 0);
        let before: HashSet<&str> = ids(&scene.state.active).into_iter().collect();
        for (place, entry) in done.state.active.iter().enumerate() {
            if !before.contains(entry.id.as_str()) {
                let slots = match call {
                    Call::Keep(_) => scene.rules.slots,
                    Call::TryAcquire if entry.plan_id() == scene.caller.id.as_str() => {
                        scene.rules.slots.max(slots_of(entry, None, &scene.rules))
                    }
                    _ => slots_of(entry, done.own(), &scene.rules),
                };
                prop_assert!(place < slots, "{}: {:?}", entry.id, done);
            }
        }
    }

    #[test]
    fn no_two_have_the_same_number(scene in scenes(), call in calls()) {
        let done = scene.decide(call, &scene.state, 0);
        let numbers = done.state.active.iter().filter_map(|entry| entry.record.known()?.slot);
        let numbers: Vec<usize> = numbers.collect();
        let distinct: HashSet<usize> = numbers.iter().copied().collect();
        prop_assert_eq!(numbers.len(), distinct.len(), "{:?}", done);
        let ours = done.state.active.iter().filter(|entry| entry.record.known().is_some());
        prop_assert_eq!(numbers.len(), ours.count(), "{:?}", done);
        // One that shares its slots with others' that have no numbers may get one beyond its own.
        let all = by_id(&scene.state);
        let most = all.values().map(|entry| slots_of(entry, None, &scene.rules));
        let most = most.fold(scene.rules.slots, usize::max).max(scene.state.active.len());
        prop_assert!(numbers.iter().all(|number| (1..=most).contains(number)), "{:?}", done);
    }

    #[test]
    fn those_who_wait_keep_their_order(scene in scenes(), call in calls()) {
        let done = scene.decide(call, &scene.state, 0);
        let before = ids(&scene.state.waiting);
        let after = ids(&done.state.waiting);
        let kept: Vec<&str> = after.iter().copied().filter(|id| before.contains(id)).collect();
        let expected: Vec<&str> = before.iter().copied().filter(|id| kept.contains(id)).collect();
        prop_assert_eq!(&kept, &expected);
        // Who steps back does so to the front, who is new comes last or is an heir.
        let back = after.iter().take_while(|id| ids(&scene.state.active).contains(id)).count();
        for (place, id) in after.iter().enumerate().skip(back) {
            let heir = *id == scene.fresh(0) && done.state.waiting[place].raw.as_ref() != "";
            prop_assert!(before.contains(id) || heir || (*id == scene.fresh(0) && place + 1 == after.len()), "{:?}", done);
        }
    }

    #[test]
    fn no_one_overtakes_a_waiter_that_could_use_the_slot(scene in scenes(), call in calls()) {
        if matches!(call, Call::Keep(_)) {
            return Ok(());
        }
        let done = scene.decide(call, &scene.state, 0);
        let order = ids(&scene.state.waiting);
        let place_of = |entry: &Entry| {
            // An heir stands where the one it inherited from stood.
            order.iter().position(|id| *id == entry.id).or_else(|| {
                scene.state.waiting.iter().position(|it| it.raw == entry.raw)
            }).unwrap_or(order.len())
        };
        let before = ids(&scene.state.active);
        for (place, entry) in done.state.active.iter().enumerate() {
            // What was released made room only for its successor.
            let was_there = done.released.is_some();
            let earlier = was_there && done.successor.as_ref() != Some(&entry.id);
            let back = done.state.waiting.iter().filter(|it| before.contains(&it.id.as_str()));
            let occupied = place + usize::from(earlier) + back.count();
            if before.contains(&entry.id.as_str()) {
                continue;
            }
            for ahead in &done.state.waiting {
                // Its own goes by the number of slots it says now.
                if call == Call::TryAcquire && ahead.plan_id() == scene.caller.id.as_str() {
                    continue;
                }
                let stepped_back = before.contains(&ahead.id.as_str());
                if !stepped_back && place_of(ahead) < place_of(entry) {
                    let able = scene.sees(done.own(), |sight| sight.is_able(ahead, occupied));
                    prop_assert!(!able, "{} before {}: {:?}", entry.id, ahead.id, done);
                }
            }
        }
    }

    #[test]
    fn no_slot_stays_free_that_a_waiter_could_use(scene in scenes(), call in calls()) {
        if !matches!(call, Call::Acquire | Call::Release | Call::ReleaseId(_)) {
            return Ok(());
        }
        let done = scene.decide(call, &scene.state, 0);
        let active = done.state.active.len();
        for entry in &done.state.waiting {
            let able = scene.sees(done.own(), |sight| sight.is_able(entry, active));
            prop_assert!(!able, "{}: {:?}", entry.id, done);
        }
    }

    #[test]
    fn whoever_was_given_a_slot_is_told_of_once(scene in scenes(), call in calls()) {
        if matches!(call, Call::Keep(_)) {
            return Ok(());
        }
        let done = scene.decide(call, &scene.state, 0);
        let before = ids(&scene.state.active);
        let mut got: Vec<&str> = ids(&done.state.active);
        got.retain(|id| !before.contains(id) && done.own() != Some(*id));
        if call == Call::TryAcquire {
            // Its own was given a slot that it is not told of until it can claim it.
            let own = format!("{}:", scene.caller.id);
            got.retain(|id| !id.starts_with(&own) || done.house.promoted.iter().any(|it| it == id));
        }
        let mut told: Vec<&str> = done.house.promoted.iter().map(String::as_str).collect();
        got.sort_unstable();
        told.sort_unstable();
        prop_assert_eq!(got, told, "{:?}", done);
    }

    #[test]
    fn nothing_is_lost_but_what_the_verdict_or_the_call_removes(scene in scenes(), call in calls()) {
        let done = scene.decide(call, &scene.state, 0);
        let after = by_id(&done.state);
        let kept: Vec<&str> = done.state.waiting.iter().chain(&done.state.active)
            .map(|entry| entry.raw.as_ref()).collect();
        for (id, entry) in by_id(&scene.state) {
            if after.contains_key(id) {
                prop_assert_eq!(&after[id].raw, &entry.raw);
                continue;
            }
            let reaped = done.house.reaped.iter().find(|reaped| reaped.id == id);
            let verdict = scene.sees(None, |sight| sight.verdict(entry));
            if let Some(reaped) = reaped {
                #[expect(clippy::cast_precision_loss, reason = "small")]
                let too_long = reaped.held > reaped.threshold as f64;
                prop_assert!(too_long && reaped.threshold >= 1200);
                let record = entry.record.known().filter(|record| record.who.kind != Kind::Plan);
                let vouched = record.is_some_and(|record| {
                    verdict.present
                        || (record.claimed && verdict.staleness == crate::report::Staleness::Fresh)
                });
                prop_assert!(!vouched, "{id}: {done:?}");
                continue;
            }
            let inherited = verdict.orphaned && kept.contains(&entry.raw.as_ref());
            let was_active = scene.state.active.iter().any(|it| it.id == id);
            let dead = verdict.is_stale() || (was_active && verdict.orphaned);
            let pruned = dead && scene.rules.may_reclaim;
            let released = done.released.as_deref() == Some(id);
            prop_assert!(inherited || pruned || released, "{id}, {verdict:?}: {done:?}");
        }
    }

    #[test]
    fn what_is_recorded_of_others_stays(scene in scenes(), call in calls()) {
        let done = scene.decide(call, &scene.state, 0);
        let after = by_id(&done.state);
        let told: HashSet<&str> = done.house.promoted.iter().map(String::as_str).collect();
        for (id, entry) in by_id(&scene.state) {
            let own = done.own() == Some(id)
                || matches!(call, Call::Keep(number) if id.ends_with(&format!(":{number}")))
                || call == Call::Renew;
            let was_active = scene.state.active.iter().any(|it| it.id == id);
            let Some(now) = after.get(id) else { continue };
            let is_active = done.state.active.iter().any(|it| it.id == id);
            if own || told.contains(id) || was_active != is_active {
                continue;
            }
            prop_assert_eq!(now, &entry, "{:?}", done);
        }
    }

    #[test]
    fn the_same_call_again_changes_nothing(scene in scenes(), call in calls()) {
        // Whoever cannot hold yet does not try.
        if call == Call::Release || (call == Call::TryAcquire && !scene.bid.can_hold()) {
            return Ok(());
        }
        let once = scene.decide(call, &scene.state, 0);
        // A namesake asks under another id.
        if once.admission == Some(Admission::Namesake) {
            return Ok(());
        }
        // Of several places of its own, which no program of ours makes, it uses the foremost, and the
        // next time the one that led to a slot meanwhile.
        let mut given = once.house.promoted.iter().filter_map(|id| scene.by_id(id));
        if once.admission.is_some() && given.any(|entry| scene.is_detached_own(entry)) {
            return Ok(());
        }
        let twice = scene.decide(call, &once.state, 1);
        prop_assert_eq!(&once.state, &twice.state, "{:?} then {:?}", once, twice.admission);
    }

    #[test]
    fn nobody_loses_a_slot_that_it_was_just_given(
        scene in scenes(), call in calls(), other in scenes(), after in calls()
    ) {
        let once = scene.decide(call, &scene.state, 0);
        let given = once.house.promoted;
        let next = Scene {
            state: once.state,
            seen: Seen { caller: other.seen.caller, ..scene.seen },
            ..other
        };
        let twice = next.decide(after, &next.state, 1);
        for id in &given {
            let dead = next.sees(None, |sight| next.by_id(id).is_some_and(|it| sight.is_dead(it)));
            let released = twice.released.as_ref() == Some(id);
            let has_it = ids(&twice.state.active).contains(&id.as_str());
            prop_assert!(has_it || released || dead, "{id}: {:?} then {:?}", next.state, twice);
        }
    }
}
