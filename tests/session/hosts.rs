//! Which host a session is on, and what that means for what is advised.

use serde_json::{Value, json};

use crate::common::Env;
use crate::stage::{host, lease, noted, session, silent_for, write_lease};

/// What is said to a newcomer of the lease `there`.
#[track_caller]
fn blocked_by(env: &Env, there: &Value) -> Value {
    let repo = env.path("repo");
    write_lease(&repo, there.to_string());
    let before = std::fs::read(lease(&repo)).expect("a lease");
    let run = session(env, &repo, "acquire --session-id new --mode deep").exits(75);
    // However stale, it is for a person to decide.
    assert_eq!(std::fs::read(lease(&repo)).expect("a lease"), before);
    run.json()
}

#[test]
fn names_are_read_tolerantly_and_machine_ids_come_first() {
    let env = Env::new();
    let repo = env.init("repo");
    session(&env, &repo, "acquire --session-id old --mode deep").exits(0);
    let machine = noted(&repo)["machine_id"].clone();
    let name = host();
    let shouted = name.to_uppercase();
    let local = format!("{name}.local");
    let with = |name: &str, key: &str, value: Value| {
        let mut lease = silent_for("old", 1.0, name);
        lease[key] = value;
        lease
    };
    let none = json!(null);
    let cases = [
        ("the same name", silent_for("old", 1.0, &name), true),
        ("another case", silent_for("old", 1.0, &shouted), true),
        ("with .local", silent_for("old", 1.0, &local), true),
        ("another name", silent_for("old", 1.0, "elsewhere"), false),
        ("no name", with(&name, "host", none), false),
        ("an empty host_id", with(&name, "host_id", json!("")), true),
        (
            "its host_id",
            with("elsewhere", "host_id", json!(name)),
            true,
        ),
        ("another host_id", with(&name, "host_id", json!("x")), false),
    ];
    for (what, lease, same) in cases {
        assert_eq!(blocked_by(&env, &lease)["same_host"], same, "{what}");
    }
    if machine.is_string() {
        let here = with("renamed", "machine_id", machine);
        assert_eq!(blocked_by(&env, &here)["same_host"], true);
        let other = with(&name, "machine_id", json!("0123456789abcdef"));
        assert_eq!(blocked_by(&env, &other)["same_host"], false);
    }
}

#[test]
fn another_hosts_place_is_best_taken_only_past_twice_its_ttl() {
    let env = Env::new();
    env.init("repo");
    let here = host();
    for (hours, host, reason, advice) in [
        (3.9, here.as_str(), "active", "abort"),
        (4.1, &here, "stale-heartbeat", "reclaim"),
        (3.9, "elsewhere", "active", "abort"),
        (4.1, "elsewhere", "stale-heartbeat", "abort"),
        (7.9, "elsewhere", "stale-heartbeat", "abort"),
        (8.1, "elsewhere", "stale-heartbeat", "reclaim"),
    ] {
        let told = blocked_by(&env, &silent_for("old", hours, host));
        let case = format!("{hours} h on {host}: {told:#}");
        assert_eq!(told["reason"], reason, "{case}");
        assert_eq!(told["recommendation"], advice, "{case}");
        assert_eq!(told["existing"]["host"], host, "{case}");
        let minutes = told["heartbeat_age_minutes"].as_f64().expect("minutes");
        assert!((minutes - hours * 60.0).abs() < 1.0, "{case}");
        let age = told["age_hours"].as_f64().expect("hours");
        assert!((age - hours - 1.0).abs() < 0.1, "{case}");
        let asked = env.locks(
            &env.path("repo"),
            "--format human session acquire --mode deep",
        );
        let far = asked.stdout.contains("cannot be corroborated");
        assert_eq!(far, host == "elsewhere", "{asked:#?}");
    }
}

#[test]
fn odd_clocks_make_nobody_stale() {
    let env = Env::new();
    let repo = env.init("repo");
    for time in ["9999-12-31T23:59:59Z", "2999-01-01T00:00:00+23:59"] {
        let there = json!({"session_id": "old", "started_at": time, "ttl_hours": 1e-9});
        let told = blocked_by(&env, &there);
        assert_eq!(told["reason"], "active", "{told:#}");
        assert_eq!(told["age_hours"], 0.0, "{told:#}");
    }
    for ttl in [json!(-1), json!(0), json!("4"), json!(1e308), json!(null)] {
        let mut there = silent_for("old", 1.0, "elsewhere");
        there["ttl_hours"] = ttl;
        assert_eq!(blocked_by(&env, &there)["reason"], "active", "{there:#}");
    }
    for ttl in ["0", "-1", "NaN", "inf", "8761", "x"] {
        let run = session(
            &env,
            &repo,
            &format!("acquire --mode deep --ttl-hours {ttl}"),
        );
        run.exits(2);
    }
}
