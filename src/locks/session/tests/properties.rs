//! What holds whatever the clocks, the TTLs, the hosts and the modes are.

use proptest::prelude::*;

use super::*;

/// At least so many cases; `PROPTEST_CASES` may ask for more.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig::with_cases(config.cases.max(1000))
}

/// Any number at all, and often one that a clock may show.
fn times() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => 0.0..4e9,
        1 => -1e11..1e12,
        2 => prop::num::f64::ANY,
    ]
}

fn ttls() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => 1e-3..100.0,
        1 => prop::num::f64::POSITIVE.prop_filter("a span", |&hours| is_span(hours)),
    ]
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]", "\\PC{1,20}", any::<String>()]
        .prop_filter("a word", |word| !word.is_empty())
}

fn hosts() -> impl Strategy<Value = Host> {
    let machine = prop::option::of(prop_oneof![Just("m"), Just("n")]);
    let name = prop::option::of(prop_oneof![Just("box"), Just("BOX.local"), Just("other")]);
    (machine, name).prop_map(|(machine, name)| host(machine, name))
}

prop_compose! {
    fn asked()(
        session_id in words(),
        mode in words(),
        ttl_hours in ttls(),
        semantic_session_id in prop::option::of(words()),
        host in hosts(),
        pid in any::<i64>(),
    ) -> Terms {
        Terms { session_id, mode, ttl_hours, semantic_session_id, host, pid }
    }
}

prop_compose! {
    /// A lease as a file may have it, and as none can: any number for a time.
    fn leases()(
        asked in asked(),
        started_at in prop::option::of(times()),
        last_heartbeat in prop::option::of(times()),
    ) -> Lease {
        Lease { started_at, last_heartbeat, ..Lease::begin(&asked, NOW) }
    }
}

fn hours(sight: &Sight) -> f64 {
    sight.heartbeat_age_minutes / 60.0
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_renewed_lease_is_active_until_its_ttl_ends_whatever_the_clock_did_before(
        lease in leases(), now in 0.0..4e9, part in 0.0..0.999_f64, here in hosts(),
    ) {
        let ttl = lease.ttl_hours.clamp(0.01, 1e6);
        let lease = Lease { ttl_hours: ttl, ..lease }.renewed(now);
        for (after, state) in [(part, SessionState::Active), (1.001, SessionState::Stale)] {
            let sight = judge(&lease, now + after * ttl * HOUR, &here);
            prop_assert_eq!(sight.state, state, "{:?}", sight);
        }
    }

    #[test]
    fn a_clock_that_was_put_back_ends_no_session(
        lease in leases(), now in times(), back in 0.0..1e10, here in hosts(),
    ) {
        let sight = judge(&lease.renewed(now), time::noted(now) - back, &here);
        prop_assert_eq!(sight.state, SessionState::Active);
        prop_assert_eq!(sight.recommendation, Recommendation::Abort);
    }

    #[test]
    fn ages_are_finite_and_never_negative(lease in leases(), now in times(), here in hosts()) {
        let sight = judge(&lease, now, &here);
        for age in sight.age_hours.into_iter().chain([sight.heartbeat_age_minutes]) {
            prop_assert!(age.is_finite() && age >= 0.0, "{:?}", sight);
        }
        prop_assert_eq!(sight.age_hours.is_some(), lease.started_at.is_some());
        prop_assert!(matches!(sight.state, SessionState::Active | SessionState::Stale));
    }

    #[test]
    fn a_place_is_best_taken_only_of_the_stale_and_of_another_host_only_past_twice_the_ttl(
        lease in leases(), now in times(), here in hosts(),
    ) {
        let sight = judge(&lease, now, &here);
        let reclaim = sight.recommendation == Recommendation::Reclaim;
        prop_assert!(!reclaim || sight.state == SessionState::Stale, "{:?}", sight);
        if sight.same_host {
            prop_assert_eq!(reclaim, sight.state == SessionState::Stale, "{:?}", sight);
        } else if hours(&sight) < 1.999 * lease.ttl_hours {
            prop_assert!(!reclaim, "{:?}", sight);
        } else if hours(&sight) > 2.001 * lease.ttl_hours {
            prop_assert!(reclaim, "{:?}", sight);
        }
    }

    #[test]
    fn nobody_gets_what_is_anothers_or_corrupt_without_consent(
        lease in leases(), id in words(), now in times(), here in hosts(),
    ) {
        let mine = lease.session_id == id;
        let own = decide(&Content::Held(lease.clone()), &lease.session_id, now, &here);
        prop_assert_eq!(own, Decision::Renew);
        let decided = decide(&Content::Held(lease), &id, now, &here);
        prop_assert_eq!(decided == Decision::Renew, mine);
        prop_assert_ne!(decided, Decision::Begin);
        let corrupt = decide(&Content::Corrupt, &id, now, &here);
        prop_assert_eq!(corrupt, Decision::Blocked(SessionReason::Corrupt));
    }

    #[test]
    fn what_is_written_reads_the_same(asked in asked(), now in times(), later in times()) {
        let begun = Lease::begin(&asked, now);
        for lease in [begun.renewed(later), begun.again(&asked, later), begun] {
            let text = rendered(&lease);
            prop_assert_eq!(Lease::parse(text.as_bytes()), Some(lease), "{}", text);
        }
    }

    #[test]
    fn a_time_of_any_offset_is_read_and_can_be_written_again(
        year in 0..10_000, hour in 0..24, offset in -23..24, fraction in "(\\.[0-9]{1,12})?",
    ) {
        let text = format!(
            r#"{{"session_id": "a", "started_at": "{year:04}-01-01T{hour:02}:00:00{fraction}{offset:+03}:30"}}"#
        );
        let lease = Lease::parse(text.as_bytes());
        prop_assert!(lease.is_some(), "{}", text);
        let again = lease.as_ref().map(rendered).unwrap_or_default();
        prop_assert_eq!(Lease::parse(again.as_bytes()), lease, "{}", again);
    }

    #[test]
    fn any_bytes_can_be_parsed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Content::of(Some(&bytes));
    }

    #[test]
    fn a_lease_cut_short_or_changed_by_a_byte_can_be_parsed(
        lease in leases(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = rendered(&lease).into_bytes();
        let at = at.index(bytes.len());
        prop_assert_eq!(Content::of(Some(&bytes[..at])), Content::Corrupt);
        bytes[at] = byte;
        let _ = Content::of(Some(&bytes));
    }

    #[test]
    fn the_peer_that_decides_is_one_of_them_and_of_the_class_that_decides(
        mode in modes(), peers in prop::collection::vec(prop::option::of(modes()), 0..6),
    ) {
        let peers: Vec<Option<&str>> = peers.iter().map(|peer| peer.as_deref()).collect();
        let caller = mode_class(Some(&mode));
        let classes: Vec<ModeClass> = peers.iter().map(|peer| mode_class(*peer)).collect();
        let harmless = classes.iter().all(|&class| class == ModeClass::AlwaysOk);
        match beside(&mode, &peers) {
            Beside::Alone => prop_assert!(harmless && (peers.is_empty() || caller != ModeClass::AlwaysOk)),
            Beside::Bypass(peer) => prop_assert!(caller == ModeClass::AlwaysOk && peer == 0),
            Beside::Exclusive(peer) => {
                prop_assert!(caller != ModeClass::AlwaysOk && classes[peer] != ModeClass::AlwaysOk);
                prop_assert!(classes[peer] == ModeClass::Exclusive || caller == ModeClass::Exclusive);
            }
            Beside::Parallel(peer) => {
                prop_assert!(!classes.contains(&ModeClass::Exclusive));
                prop_assert!(matches!(classes[peer], ModeClass::Parallel | ModeClass::Unknown));
                prop_assert!(matches!(caller, ModeClass::Parallel | ModeClass::Unknown));
            }
        }
    }
}

fn modes() -> impl Strategy<Value = String> {
    prop_oneof![
        "deep|feature|plan|discovery|bootstrap|housekeeping",
        words()
    ]
}
