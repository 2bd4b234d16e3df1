//! Exit codes, forms, and words that came from elsewhere.

use crate::common::fixture::{hold, queue_of};
use crate::stage::{OLD, Stage, leave};

#[test]
fn exit_zero_is_for_those_who_read_the_report() {
    let stage = Stage::new();
    std::fs::remove_file(stage.env.path("bin/git-locks")).expect("uninstalled");
    let run = stage.doctor("--exit-zero").exits(0);
    assert_eq!(run.get("needs_person"), true);
}

#[test]
fn hostile_words_steer_no_terminal() {
    let stage = Stage::new();
    hold(&stage.main, "\u{1b}]0;gotcha\u{7}\u{202e}x\n");
    queue_of(&stage.main, &["\u{1b}[2J", "fine"]);
    leave(&stage.ours().join(".git-locks-\u{1b}[31m.tmp"), "", OLD);
    leave(
        &stage
            .main
            .join(".plan/local/merge-queue.json.corrupt\n\u{1b}"),
        "",
        OLD,
    );
    for form in ["human", "toon", "json"] {
        let call = stage.env.call(&stage.main).env("PATH", stage.search_path());
        let run = call
            .args(&format!("--format {form} --color never doctor"))
            .run()
            .exits(1);
        for said in [&run.stdout, &run.stderr] {
            let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!said.contains(bad), "{run:#?}");
        }
    }
}

#[test]
fn the_human_form_says_what_to_do() {
    let stage = Stage::new();
    stage.used();
    leave(&stage.ours().join(".git-locks-x1.tmp"), "", OLD);
    let human = |args: &str| {
        let call = stage.env.call(&stage.main).env("PATH", stage.search_path());
        call.args("--format human doctor")
            .args(args)
            .run()
            .exits(0)
            .stdout
    };
    let said = human("");
    assert!(said.contains("note: ") && said.contains("Fine: "), "{said}");
    assert!(said.ends_with("git locks doctor --fix\n"), "{said}");
    let said = human("--fix");
    assert!(
        said.contains("removed: ") && said.contains("1 thing was removed"),
        "{said}"
    );
    assert!(!said.contains("--fix"), "{said}");
}
