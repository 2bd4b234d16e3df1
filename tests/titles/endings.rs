//! However a call ends, the terminal has its title back; and a terminal keeps no lock.

use std::path::Path;

use crate::common::fixture::holder;
use crate::common::turns::{
    Terminal, child_of, descendants, quoted_bin, send, state, wait_until_free, waits_for,
};
use crate::common::{DEADLINE, Env, required};
use crate::stage::{RESTORED, SAVED, kept, possible, terminal, titles, wait_until_titled};

/// What `env` is told so that a test does not depend on what its own caller ignores.
const DEFAULT_SIGNALS: &str = "exec env --default-signal=INT,QUIT,TERM,HUP,TSTP";
/// Says that it began, and stays for as long as the test lets it.
const STAY: &str = "sh -c 'echo began; read -r x </dev/tty; echo ended'";

/// Fails the test unless the title was changed, and came back after all else.
#[track_caller]
fn came_back(terminal: &Terminal, times: usize) {
    let raw = terminal.raw();
    let told = titles(&raw);
    assert_eq!(told.first().map(String::as_str), Some(SAVED), "{raw:?}");
    assert_eq!(told.last().map(String::as_str), Some(RESTORED), "{raw:?}");
    assert_eq!(told.len(), times + 2, "{raw:?}");
}

/// The process that runs on the terminal.
fn runner(terminal: &Terminal) -> i32 {
    child_of(terminal.script.pid())
}

/// A run, free to go, that stays until the test does something to it.
fn running(env: &Env, repo: &Path, args: &str) -> Terminal {
    let line = format!("{DEFAULT_SIGNALS} @locks merge run {args} -- {STAY}");
    let terminal = terminal(env, repo, &line);
    terminal.shows("began");
    terminal
}

#[test]
fn interrupted_while_it_waits() {
    if !possible("endings::interrupted_while_it_waits") {
        return;
    }
    for (args, title) in [
        ("run --as w -- true", "⏳ merge: true"),
        ("acquire --wait --as w", "⏳ merge"),
    ] {
        for (key, signal, code) in [
            ("\x03", 0, 130),
            ("\x1c", 0, 131),
            ("", 15, 143),
            ("", 1, 129),
        ] {
            let (env, repo) = kept();
            let line = format!("{DEFAULT_SIGNALS} @locks merge {args}");
            let mut terminal = terminal(&env, &repo, &line);
            wait_until_titled(&terminal, title);
            if signal == 0 {
                terminal.types(key);
            } else {
                send(runner(&terminal), signal);
            }
            terminal.wait(DEADLINE).exits(code);
            came_back(&terminal, 1);
        }
    }
}

#[test]
fn interrupted_while_the_command_runs() {
    if !possible("endings::interrupted_while_the_command_runs") {
        return;
    }
    for (key, signal, code) in [("\x03", 0, 130), ("", 15, 143), ("", 1, 129)] {
        let env = Env::new();
        let repo = env.init("repo");
        let mut terminal = running(&env, &repo, "");
        if signal == 0 {
            terminal.types(key);
        } else {
            send(runner(&terminal), signal);
        }
        terminal.wait(DEADLINE).exits(code);
        came_back(&terminal, 1);
        wait_until_free(&repo);
    }
}

#[test]
fn a_command_that_ends_in_another_way() {
    if !possible("endings::a_command_that_ends_in_another_way") {
        return;
    }
    for (args, code) in [
        ("-- sh -c 'exit 7'", 7),
        ("-- sh -c 'kill -9 $$'", 137),
        ("-- git-locks-no-such-command", 127),
        ("--max-hold 1s -- sleep 60", 143),
    ] {
        let env = Env::new();
        let repo = env.init("repo");
        let line = format!("{DEFAULT_SIGNALS} @locks merge run {args}");
        let mut terminal = terminal(&env, &repo, &line);
        terminal.wait(DEADLINE).exits(code);
        came_back(&terminal, 1);
    }
}

#[test]
fn patience_that_ends() {
    if !possible("endings::patience_that_ends") {
        return;
    }
    for args in ["run --wait=1s --as w -- true", "acquire --wait=1s --as w"] {
        let (env, repo) = kept();
        let mut terminal = terminal(&env, &repo, &format!("exec @locks merge {args}"));
        terminal.wait(DEADLINE).exits(75);
        came_back(&terminal, 1);
    }
}

#[test]
fn stopped_and_continued() {
    let test = "endings::stopped_and_continued";
    if !possible(test) || !required(test, "bash") {
        return;
    }
    // In the foreground again, and in the background of a terminal that minds.
    for back in ["fg", "stty tostop; bg; wait"] {
        let env = Env::new();
        let repo = env.init("repo");
        let stays = "sh -c 'while [ ! -e go ]; do sleep 0.05; done'";
        let script = format!(
            "set -m\n@locks merge run --as me -- {stays}\necho \"stopped $?\"; read -r x; {back}\n\
             echo \"code $?, $(jobs -s | wc -l) stopped\"\n"
        );
        let script = script.replace("@locks", &quoted_bin());
        std::fs::write(env.path("script"), script).expect("a script");
        let line = format!("{DEFAULT_SIGNALS} bash '{}'", env.path("script").display());
        let mut terminal = terminal(&env, &repo, &line);
        wait_until_titled(&terminal, &format!("🔒 merge: {}", stays.replace('\'', "")));
        let all = descendants(terminal.script.pid());
        terminal.types("\x1a");
        terminal.shows("stopped 148");
        let stopped: Vec<i32> = all
            .into_iter()
            .filter(|pid| state(*pid) == Some('T'))
            .collect();
        assert!(!stopped.is_empty(), "nothing was stopped");
        assert_eq!(holder(&repo).as_deref(), Some("me\n"));
        terminal.types("\n");
        for pid in stopped {
            waits_for("all to go on", DEADLINE, || {
                (state(pid) != Some('T')).then_some(())
            });
        }
        std::fs::write(repo.join("go"), "").expect("a file");
        terminal.wait(DEADLINE).exits(0);
        terminal.shows("code 0, 0 stopped");
        assert!(holder(&repo).is_none());
        let told = titles(&terminal.raw());
        assert_eq!(told.len(), 3, "{back}: {told:?}");
        assert_eq!((told[0].as_str(), told[2].as_str()), (SAVED, RESTORED));
    }
}

#[test]
fn a_terminal_that_holds_on_keeps_nobody_waiting() {
    if !possible("endings::a_terminal_that_holds_on_keeps_nobody_waiting") {
        return;
    }
    // Held on before the title is changed, and before it comes back.
    for early in [true, false] {
        let env = Env::new();
        let repo = env.init("repo");
        let stays = "sh -c 'echo >begun; while [ ! -e go ]; do sleep 0.05; done'";
        let line = format!(
            "echo ready; while [ ! -e held ]; do sleep 0.05; done; @locks merge run -- {stays}; \
             echo >ended"
        );
        let mut terminal = terminal(&env, &repo, &line);
        terminal.shows("ready");
        let there = |name: &str| {
            waits_for(name, DEADLINE, || repo.join(name).exists().then_some(()));
        };
        let make = |name: &str| std::fs::write(repo.join(name), "").expect("a file");
        let tty = format!("/proc/{}/fd/2", runner(&terminal));
        // As Ctrl-S does it, but done when this returns.
        let hold_on = || {
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(&tty)
                .expect("the terminal");
            nix::sys::termios::tcflow(&file, nix::sys::termios::FlowArg::TCOOFF).expect("held on");
        };
        if early {
            hold_on();
            make("held");
            there("begun");
        } else {
            make("held");
            there("begun");
            wait_until_titled(&terminal, &format!("🔒 merge: {}", stays.replace('\'', "")));
            hold_on();
        }
        make("go");
        wait_until_free(&repo);
        there("ended");
        let told = titles(&terminal.raw());
        assert_eq!(told.len(), if early { 0 } else { 2 }, "{told:?}");
        terminal.script.kill();
    }
}
