//! Letting go.

use super::*;

fn let_go(
    state: &BuildState,
    who: &Caller,
    target: Target<'_>,
    said: &[(&str, Verdict)],
) -> (BuildState, Release, Housekeeping) {
    let all = verdicts(state, said);
    let (next, (release, done)) = super::super::release(state, who, target, &all, &rules(1, 0.0));
    (next, release, done)
}

#[test]
fn a_released_slot_goes_to_exactly_one() {
    let state = queue(
        vec![holding("h", Kind::Leased, 1)],
        vec![foreign("a"), foreign("b")],
    );
    let (next, release, done) = let_go(&state, &caller("h"), Target::Own, &[]);
    let expected = Release::Released {
        id: "h:1".to_owned(),
        promoted: Some("a:1".to_owned()),
        held: Some(60.0),
    };
    assert_eq!(release, expected);
    assert_eq!(done.promoted, ["a:1"]);
    assert_eq!(
        (names(&next.active), names(&next.waiting)),
        (vec!["a"], vec!["b"])
    );
    let logged: Vec<_> = next
        .run_log
        .iter()
        .map(|it| (it.id.as_str(), it.ts))
        .collect();
    assert_eq!(logged, [("h:1", NOW)]);
    assert_eq!(next.run_log[0].plan_id, "h");
}

#[test]
fn a_place_is_given_up_and_what_is_not_there_is_let_be() {
    let state = queue(vec![foreign("h")], vec![foreign("a"), foreign("b")]);
    let mut state = state;
    state.active[0].active_since = Some(NOW - 5.0);
    let (next, release, _) = let_go(&state, &caller("b"), Target::Own, &[]);
    let expected = Release::Released {
        id: "b:1".to_owned(),
        promoted: None,
        held: None,
    };
    assert_eq!((release, names(&next.waiting)), (expected, vec!["a"]));
    for (target, id) in [(Target::Own, None), (Target::Id("x:1"), Some("x:1"))] {
        let (next, release, _) = let_go(&state, &caller("x"), target, &[]);
        let id = id.map(str::to_owned);
        assert_eq!((next, release), (state.clone(), Release::Noop { id }));
    }
}

#[test]
fn only_its_process_lets_go_of_a_run_that_is_there() {
    let state = queue(vec![running("h", 1)], Vec::new());
    let present = [("h", PRESENT)];
    let itself = waits_as("h", "h.presence");
    let another = waits_as("h", "other.presence");
    // Without saying which, another process of its id has nothing to let go.
    let unclear = [("h", Verdict::UNKNOWN)];
    let (next, release, _) = let_go(&state, &another, Target::Own, &unclear);
    assert_eq!((next, release), (state.clone(), Release::Noop { id: None }));
    for target in [Target::Own, Target::Id("h:1")] {
        let (next, release, _) = let_go(&state, &another, target, &present);
        let id = "h:1".to_owned();
        assert_eq!(
            (next, release),
            (state.clone(), Release::HolderPresent { id })
        );
    }
    for (who, target, said) in [
        (&another, Target::Id("h:1"), Verdict::UNKNOWN),
        (&itself, Target::Id("h:1"), PRESENT),
        (&itself, Target::Own, PRESENT),
    ] {
        let (next, release, _) = let_go(&state, who, target, &[("h", said)]);
        assert!(
            matches!(release, Release::Released { .. }),
            "{who:?} {said:?}"
        );
        assert!(next.active.is_empty());
    }
}

#[test]
fn another_project_s_entry_of_the_same_id_is_another_s() {
    let mut entry = holding("h", Kind::Leased, 1);
    entry.project_root = Some("/q".to_owned());
    let state = queue(vec![entry], Vec::new());
    let (next, release, _) = let_go(&state, &caller("h"), Target::Own, &[]);
    assert_eq!((next, release), (state, Release::Noop { id: None }));
}

#[test]
fn a_hundred_releases_are_remembered() {
    let mut state = queue(vec![holding("h", Kind::Leased, 1)], Vec::new());
    state.run_log = (0..LOG_LENGTH)
        .map(|number| Logged {
            id: format!("{number}"),
            raw: Arc::from(""),
            plan_id: "old".to_owned(),
            ts: 0.0,
        })
        .collect();
    let (next, _, _) = let_go(&state, &caller("h"), Target::Own, &[]);
    assert_eq!(next.run_log.len(), LOG_LENGTH);
    assert_eq!(next.run_log[0].id, "1");
    assert_eq!(next.run_log[LOG_LENGTH - 1].id, "h:1");
}

#[test]
fn a_process_that_is_told_to_end_leaves_nothing_of_itself() {
    let mut state = queue(
        vec![active(waiting("a"), 1, -5.0, false)],
        vec![foreign("b"), waiting("c")],
    );
    state.waiting[1].record.known_mut().expect("a record").slots = 1;
    let all = verdicts(&state, &[]);
    let gone = |who: &Caller| leave(&state, who, &all, &rules(1, 0.0));
    let (next, done) = gone(&waits_as("a", "a.presence"));
    assert_eq!(
        (names(&next.active), done.promoted),
        (vec!["b"], vec!["b:1".to_owned()])
    );
    assert!(next.run_log.is_empty());
    let (next, done) = gone(&waits_as("c", "c.presence"));
    assert_eq!(
        (names(&next.waiting), done),
        (vec!["b"], Housekeeping::default())
    );
    assert_eq!(gone(&waits_as("c", "other.presence")).0, state);
    assert_eq!(gone(&caller("c")).0, state);
}

#[test]
fn what_a_release_makes_room_for_steps_back_at_once() {
    // Another has more slots than the waiter may use: what steps back alone is not enough.
    let silent = active(waiting("silent"), 1, -130.0, false);
    let state = queue(
        vec![silent, running("h", 2), running("i", 3)],
        vec![waiting("w")],
    );
    let (house, release, _) = let_go(&state, &caller("x"), Target::Own, &[]);
    assert_eq!(
        (house, release),
        (state.clone(), Release::Noop { id: None })
    );
    let (next, release, done) = let_go(&state, &caller("x"), Target::Id("i:1"), &[]);
    assert!(
        matches!(release, Release::Released { promoted: Some(id), .. } if id == "w:1"),
        "{next:?}"
    );
    assert_eq!(done.promoted, ["w:1"]);
    assert_eq!(
        (names(&next.active), names(&next.waiting)),
        (vec!["h", "w"], vec!["silent"])
    );
    // Nobody's slot changes hands again.
    let (again, _, done) = let_go(&next, &caller("x"), Target::Id("i:1"), &[]);
    assert_eq!((again, done), (next, Housekeeping::default()));
}
