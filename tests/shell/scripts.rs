//! The completions as they are printed: those that are committed, and sound to their shells.

use crate::common::{Env, required};
use crate::ground::source;

const SCRIPTS: [(&str, &str); 3] = [
    ("bash", "git-locks.bash"),
    ("zsh", "_git-locks"),
    ("fish", "git-locks.fish"),
];

#[test]
fn what_is_printed_is_what_is_committed() {
    let env = Env::new();
    for (shell, file) in SCRIPTS {
        let committed =
            std::fs::read_to_string(source().join("completions").join(file)).expect("a script");
        let call = env.call(env.root()).args("completions").arg(shell);
        // Settings that make no sense are not its affair.
        let run = call.env("GIT_LOCKS_FORMAT", "nonsense").run().exits(0);
        assert_eq!(run.stdout, committed, "{shell}");
    }
    env.locks(env.root(), "completions tcsh")
        .exits(2)
        .one_line_error();
}

#[test]
fn each_shell_takes_its_own() {
    let env = Env::new();
    for (shell, file) in SCRIPTS {
        if !required("scripts::each_shell_takes_its_own", shell) {
            continue;
        }
        let script = source().join("completions").join(file);
        let output = env
            .command(shell)
            .arg("-n")
            .arg(script)
            .output()
            .expect("the shell runs");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{shell}: {output:?}"
        );
    }
}

#[test]
fn zsh_gets_the_lines_that_it_looks_for() {
    let script =
        std::fs::read_to_string(source().join("completions/_git-locks")).expect("a script");
    let mut lines = script.lines();
    assert_eq!(lines.next(), Some("#compdef git-locks"));
    assert!(
        lines
            .next()
            .is_some_and(|line| line.starts_with("#description "))
    );
}
