//! Those who are killed, and those they leave behind.

use crate::cast::on_both;
use crate::common::turns::{Doomed, waits_for};
use crate::common::{DEADLINE, eventually, required};
use crate::stage::AT_ONCE;

#[test]
fn the_command_of_a_killed_runner_keeps_the_lock() {
    if !required(
        "dead::the_command_of_a_killed_runner_keeps_the_lock",
        "flock",
    ) {
        return;
    }
    on_both(|ground| {
        let mut held = ground.held();
        held.kill();
        ground.is_taken();
        let mut waiter = ground.start("--wait", "log mine");
        ground.stage.let_go("me");
        waiter.wait(AT_ONCE).exits(0);
        assert_eq!(ground.stage.log()[1..], ["end", "mine"]);
        ground.is_free();
    });
}

/// Leaves a process behind that does not end, and holds whatever it inherited.
const DAEMON: &str = "setsid sleep 300 >/dev/null 2>&1 </dev/null & log daemon $!\n";

#[test]
fn a_daemon_does_not_keep_the_lock_of_a_run_that_ends() {
    if !required("dead::a_daemon_does_not_keep_the_lock", "setsid") {
        return;
    }
    on_both(|ground| {
        ground.run("", DAEMON).exits(0);
        let daemon = Doomed::new(ground.stage.number("daemon"));
        assert!(daemon.runs());
        ground.is_free();
        assert!(daemon.runs(), "it was ended");
    });
}

#[test]
fn a_daemon_that_keeps_it_is_named() {
    if !required("dead::a_daemon_that_keeps_it_is_named", "setsid") {
        return;
    }
    on_both(|ground| {
        let mut held = ground.start("", &format!("{DAEMON} log begin; hold me"));
        ground.stage.noted("begin");
        let daemon = Doomed::new(ground.stage.number("daemon"));
        let check = ground.check();
        let keepers = check.get("keepers").to_string();
        assert!(keepers.contains(&daemon.pid().to_string()), "{check:#?}");
        held.kill();
        ground.stage.let_go("me");
        // The runner cannot let go any more, so that the daemon has it until it ends.
        let check = waits_for("only the daemon to be left", DEADLINE, || {
            let check = ground.check();
            let pid = check.get("holder_pid").as_f64()?;
            ((pid - f64::from(daemon.pid())).abs() < 0.5).then_some(check)
        });
        assert_eq!(check.text("status"), "held");
        assert!(check.text("holder_command").contains("sleep"), "{check:#?}");
        ground.is_taken();
        drop(daemon);
        eventually(DEADLINE, || ground.flock_would());
        ground.is_free();
    });
}

#[test]
fn a_command_that_closes_it_does_not_lose_it() {
    on_both(|ground| {
        let body = "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done; log begin; hold me";
        let mut held = ground.start("", body);
        ground.stage.noted("begin");
        ground.is_taken();
        ground.stage.let_go("me");
        held.wait(DEADLINE).exits(0);
        ground.is_free();
    });
}
