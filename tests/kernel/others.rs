//! Other programs on the same file: whoever has it excludes the rest, whatever they are written in.

use std::time::Duration;

use crate::cast::on_both;
use crate::common::turns::{descendants, waits_for};
use crate::common::{DEADLINE, required};
use crate::stage::{AT_ONCE, KILL};

#[test]
fn ours_excludes_flock() {
    if !required("others::ours_excludes_flock", "flock") {
        return;
    }
    on_both(|ground| {
        let mut held = ground.held();
        assert!(!ground.flock_would(), "{:?}", ground.lock);
        ground.is_taken();
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
        assert!(ground.flock_would(), "{:?}", ground.lock);
        ground.is_free();
    });
}

#[test]
fn ours_excludes_python() {
    if !required("others::ours_excludes_python", "python3") {
        return;
    }
    on_both(|ground| {
        let mut held = ground.held();
        assert!(!ground.python_would(), "{:?}", ground.lock);
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
        assert!(ground.python_would(), "{:?}", ground.lock);
    });
}

#[test]
fn flock_excludes_ours() {
    if !required("others::flock_excludes_ours", "flock") {
        return;
    }
    on_both(|ground| {
        let mut other = ground.flocked("other");
        ground.is_taken();
        for timeout in ["0", "0.0", "0.2"] {
            let ended = ground.run(&format!("--timeout {timeout}"), "log INTRUDER");
            assert_eq!(ended.code, Some(75), "{:?} {timeout}", ground.lock);
        }
        assert_eq!(ground.check().text("status"), "held", "{:?}", ground.lock);
        let mut waiter = ground.start("--wait", "log mine");
        ground.stage.let_go("other");
        other.wait(DEADLINE);
        waiter.wait(AT_ONCE).exits(0);
        assert_eq!(ground.stage.log().last().expect("a line"), "mine");
        ground.is_free();
    });
}

#[test]
fn python_excludes_ours() {
    if !required("others::python_excludes_ours", "python3") {
        return;
    }
    on_both(|ground| {
        for how in ["LOCK_EX", "LOCK_SH"] {
            let mut other = ground.pythoned(how);
            let ended = ground.run("--timeout 0", "log INTRUDER");
            assert_eq!(ended.code, Some(75), "{:?} {how}", ground.lock);
            drop(other.take_stdin());
            other.wait(DEADLINE).exits(0);
            ground.run("--timeout 0", "log fine").exits(0);
        }
        assert_eq!(ground.stage.log(), ["fine", "fine"]);
    });
}

#[test]
fn the_kernel_frees_what_a_killed_process_had() {
    if !required(
        "others::the_kernel_frees_what_a_killed_process_had",
        "python3",
    ) {
        return;
    }
    on_both(|ground| {
        let mut other = ground.pythoned("LOCK_EX");
        let mut waiter = ground.start("--wait", "log mine; exit 4");
        ground.is_taken();
        other.kill();
        waiter.wait(AT_ONCE).exits(4);
        ground.is_free();
    });
}

#[test]
fn ours_frees_for_others_when_all_of_it_is_killed() {
    if !required("others::ours_frees_for_others", "flock") {
        return;
    }
    on_both(|ground| {
        let mut held = ground.held();
        held.signal_group(KILL);
        held.wait(DEADLINE);
        waits_for("the lock to be free", AT_ONCE, || {
            ground.flock_would().then_some(())
        });
        ground.is_free();
    });
}

#[test]
fn check_names_another_program() {
    if !required("others::check_names_another_program", "python3") {
        return;
    }
    on_both(|ground| {
        let other = ground.pythoned("LOCK_EX");
        let check = ground.check();
        let (pid, command) = (check.number("holder_pid"), check.text("holder_command"));
        assert!((pid - f64::from(other.pid())).abs() < 0.5, "{check:#?}");
        assert!(command.contains("fcntl.flock"), "{check:#?}");
        let age = crate::common::fixture::now() - check.number("holder_since");
        assert!((-2.0..60.0).contains(&age), "{age}: {check:#?}");
        assert_eq!(check.text("lock_path"), ground.file().to_string_lossy());
    });
}

#[test]
fn what_is_in_the_repository_lock_is_nobodys_business() {
    let ground = crate::cast::Ground::new(crate::cast::Lock::Repo);
    let file = ground.make_file();
    std::fs::write(&file, "another program's own\n").expect("a lock file");
    ground.run("", "exit 0").exits(0);
    ground.is_free();
    let content = std::fs::read_to_string(&file).expect("the lock file");
    assert_eq!(content, "another program's own\n");
}

#[test]
fn we_never_leave_a_process_behind() {
    on_both(|ground| {
        let holder = ground.held();
        let mut waiter = ground.start("--timeout 0.3", "log INTRUDER");
        let own = waiter.pid();
        waiter.wait(DEADLINE).exits(75);
        waits_for("nobody to be left", Duration::from_secs(5), || {
            descendants(own).is_empty().then_some(())
        });
        drop(holder);
    });
}
