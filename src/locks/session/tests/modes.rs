//! Which kinds of work go side by side, by example.

use super::*;

#[test]
fn the_kind_of_work_decides_beside_whom_it_may_be_done() {
    use Beside::{Alone, Bypass, Exclusive, Parallel};
    let (deep, plan, house) = (Some("deep"), Some("plan"), Some("housekeeping"));
    let cases: [(&str, &[Option<&str>], Beside); 14] = [
        ("deep", &[], Alone),
        ("housekeeping", &[], Alone),
        ("plan", &[], Alone),
        ("plan", &[deep], Bypass(0)),
        ("plan", &[plan, house], Bypass(0)),
        ("deep", &[deep, house], Exclusive(1)),
        ("anything", &[house], Exclusive(0)),
        ("bootstrap", &[plan, house], Exclusive(1)),
        ("bootstrap", &[plan, deep], Exclusive(1)),
        ("bootstrap", &[plan, None], Exclusive(1)),
        ("feature", &[plan, deep], Parallel(1)),
        ("anything", &[Some("whatever")], Parallel(0)),
        ("feature", &[plan, Some("discovery")], Alone),
        ("memory-cleanup", &[plan], Alone),
    ];
    for (mode, peers, expected) in cases {
        assert_eq!(beside(mode, peers), expected, "{mode} beside {peers:?}");
    }
}

#[test]
fn every_known_mode_has_its_class() {
    let classes = [
        (
            ModeClass::Exclusive,
            "bootstrap housekeeping memory-cleanup",
        ),
        (ModeClass::Parallel, "deep feature"),
        (
            ModeClass::AlwaysOk,
            "discovery evolve plan repo-audit portfolio",
        ),
        (ModeClass::Unknown, "Deep features x"),
    ];
    for (class, modes) in classes {
        for mode in modes.split(' ') {
            assert_eq!(mode_class(Some(mode)), class, "{mode}");
        }
    }
    assert_eq!(mode_class(None), ModeClass::Unknown);
    assert_eq!(mode_class(Some("")), ModeClass::Unknown);
}
