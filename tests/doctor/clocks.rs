//! Times that cannot be right.

use serde_json::{Value, json};

use crate::common::builds::foreign;
use crate::common::fixture::{hold, lock_file, now};
use crate::common::turns::edit_records;
use crate::stage::{Stage, kinds, path_of, the};

fn later(value: &mut Value, seconds: f64) {
    *value = json!(value.as_f64().expect("a time") + seconds);
}

#[test]
fn a_lease_from_the_future() {
    let stage = Stage::new();
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    stage.is_well();
    edit_records(&stage.main, |all| {
        later(
            &mut all["participants"]["alpha"]["lease"]["from"]["wall"],
            7200.0,
        );
    });
    let run = stage.doctor("--fix").exits(1);
    assert_eq!(kinds(&run), ["clock"], "{run:#?}");
    let finding = the(&run, "clock");
    assert_eq!(finding["severity"], "warning");
    assert_eq!(path_of(&finding), lock_file(&stage.main));
    let what = finding["what"].as_str().expect("what");
    assert!(
        what.contains("'alpha'") && what.contains("1h 59m"),
        "{what}"
    );
    // A clock that is off by little is as good as right.
    edit_records(&stage.main, |all| {
        later(
            &mut all["participants"]["alpha"]["lease"]["from"]["wall"],
            -7100.0,
        );
    });
    stage.is_well();
}

#[test]
fn a_clock_that_was_set_since() {
    let stage = Stage::new();
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    edit_records(&stage.main, |all| {
        for at in [
            "/participants/alpha/lease/from",
            "/participants/alpha/ticket",
        ] {
            later(&mut all.pointer_mut(at).expect("a moment")["wall"], -7200.0);
        }
    });
    let run = stage.doctor("").exits(0);
    assert_eq!(kinds(&run), ["clock"], "{run:#?}");
    assert_eq!(the(&run, "clock")["severity"], "note");
}

#[test]
fn times_of_other_programs() {
    let stage = Stage::new();
    hold(&stage.main, "alpha\n");
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(7200);
    let file = std::fs::File::open(lock_file(&stage.main)).expect("opened");
    file.set_modified(ahead).expect("its time");
    let run = stage.doctor("").exits(1);
    assert_eq!(kinds(&run), ["clock"], "{run:#?}");
    std::fs::remove_file(lock_file(&stage.main)).expect("removed");
    let mut entry = foreign("beta", &stage.main, Some(1.0));
    entry["active_since"] = json!(now() + 7200.0);
    stage.env.builds().write_entries(&[entry], &[]);
    let run = stage.doctor("").exits(1);
    assert_eq!(path_of(&the(&run, "clock")), stage.env.builds().path());
}
