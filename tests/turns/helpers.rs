//! The helpers themselves, since the other tests stand on them.

use crate::common::turns::{Gate, Running, Terminal, runs, screen, state, stopped_in_guard};
use crate::common::{DEADLINE, Env, eventually, required};

#[test]
fn a_gate_keeps_and_lets_go_and_betrays_two_inside() {
    let env = Env::new();
    let mut gate = Gate::new(&env);
    let start = |name: &str| {
        let mut command = env.command("sh");
        command.args(&gate.cmd(name)[1..]);
        Running::start(command)
    };
    let mut a = start("a");
    let begun = gate.wait_begun("a");
    assert_eq!((begun.pid, begun.fence.as_str()), (a.pid(), ""));
    assert!(a.is_alive());
    gate.let_go();
    a.wait(DEADLINE).exits(0);
    gate.one_at_a_time(&[]);
    let mut b = start("b");
    gate.wait_begun("b");
    let mut c = start("c");
    gate.wait_begun("c");
    assert!(std::panic::catch_unwind(|| gate.one_at_a_time(&[])).is_err());
    gate.one_at_a_time(&["b"]);
    b.kill().dies_of(9);
    gate.open();
    c.wait(DEADLINE).exits(0);
    assert_eq!(gate.order(), ["a", "b", "c"]);
    assert!(gate.has_ended("c") && !gate.has_ended("b"));
}

#[test]
fn what_a_process_started_dies_with_its_guard() {
    let env = Env::new();
    let mut command = env.command("sh");
    command.args(["-c", "sleep 1000 & echo $!; wait"]);
    let mut running = Running::start(command);
    eventually(DEADLINE, || running.stdout().ends_with('\n'));
    let sleeper: i32 = running.stdout().trim().parse().expect("a pid");
    running.kill().dies_of(9);
    assert!(runs(sleeper));
    drop(running);
    eventually(DEADLINE, || !runs(sleeper));
}

#[test]
fn a_terminal_has_keys_and_a_screen() {
    if !required("helpers::a_terminal_has_keys_and_a_screen", "script") {
        return;
    }
    let env = Env::new();
    let line = "trap 'echo caught' INT; test -t 2 && stty size; echo up; \
                until read x; do :; done; echo $x; exit 4";
    let mut terminal = Terminal::start(&env, env.root(), line);
    terminal.shows("up");
    terminal.types("\x03");
    terminal.shows("caught");
    terminal.types("word\n");
    terminal.wait(DEADLINE).exits(4);
    let screen = terminal.screen();
    assert_eq!(screen[0], "24 80");
    assert_eq!(screen.last().map(String::as_str), Some("word"));
}

#[test]
fn a_screen_shows_what_is_left() {
    assert_eq!(screen("one\rtwo\x1b[K\r\nthree"), ["two", "three"]);
    assert_eq!(screen("long line\r\x1b[Kshort\r\x1b[K"), [""; 0]);
    assert_eq!(
        screen("abc\rX\r\n\x1b[31mred\x1b[0m\x1b]0;title\x07"),
        ["Xbc", "red"]
    );
}

#[test]
fn a_stopped_process_keeps_the_guard() {
    if !required("helpers::a_stopped_process_keeps_the_guard", "flock") {
        return;
    }
    let env = Env::new();
    let repo = env.init("repo");
    let stopped = stopped_in_guard(&env, &repo);
    let file = std::fs::File::open(crate::common::turns::guard_path(&repo)).expect("the guard");
    assert!(file.try_lock().is_err());
    assert_eq!(state(stopped.pid()), Some('T'));
    drop(stopped);
    eventually(DEADLINE, || file.try_lock().is_ok());
}
