//! File systems where locks do not work, or that are not known to be local; places that are not safe.

use std::path::Path;

use serde_json::Value;

use crate::common::{BIN, can_run, chmod};
use crate::stage::{OLD, Stage, findings, kinds, leave, the};

/// The report of `git locks doctor --fix` whose system calls fail as `how` says; none where nothing can be
/// traced here.
fn disturbed(test: &str, stage: &Stage, dir: &Path, how: &str) -> Option<(Value, Option<i32>)> {
    let mut command = stage.env.command("strace");
    command
        .args(["-qq", "-o", "/dev/null", "-e", how, BIN])
        .args(["--format", "json", "doctor", "--fix"])
        .env("PATH", stage.search_path())
        .current_dir(dir);
    let output = command.output();
    let report = output.as_ref().ok().and_then(|output| {
        let report: Value = serde_json::from_slice(&output.stdout).ok()?;
        Some((report, output.status.code()))
    });
    if !can_run(
        test,
        report.is_some(),
        "needs strace and permission to trace",
    ) {
        return None;
    }
    report
}

fn of_kind(report: &Value, kind: &str) -> Vec<Value> {
    let all = report["findings"].as_array().expect("findings");
    let found = all.iter().filter(|finding| finding["kind"] == kind);
    found.cloned().collect()
}

#[test]
fn locks_that_do_not_work() {
    let stage = Stage::new();
    stage.used();
    let presence = stage.ours().join("presence/0123456789abcdef");
    leave(&presence, "", OLD);
    let how = "inject=flock:error=ENOLCK";
    let Some((report, code)) = disturbed("locks that do not work", &stage, &stage.main, how) else {
        return;
    };
    assert_eq!(code, Some(1));
    let found = of_kind(&report, "no-locks");
    let paths: Vec<&str> = found.iter().filter_map(|it| it["path"].as_str()).collect();
    let guard = stage.ours().join("merge.guard");
    assert!(paths.contains(&guard.to_str().expect("text")), "{report:#}");
    assert!(found.iter().all(|it| it["severity"] == "problem"));
    assert!(presence.exists(), "nothing shows that nobody keeps it");
}

#[test]
fn a_file_system_that_is_not_known_to_be_local() {
    let stage = Stage::new();
    stage.env.merge(&stage.main, "acquire --as alpha").exits(0);
    let temp = stage.ours().join(".git-locks-x1.tmp");
    let presence = stage.ours().join("presence/0123456789abcdef");
    let guard = stage.main.join(".plan/local/merge-queue.json.lock");
    leave(&temp, "", OLD);
    leave(&presence, "", OLD);
    leave(&guard, "git-locks guard 1\npid 1\n", OLD);
    let how = "inject=statfs:error=ENOSYS";
    let test = "a file system that is not local";
    let Some((report, code)) = disturbed(test, &stage, &stage.main, how) else {
        return;
    };
    assert_eq!(code, Some(1));
    let found = of_kind(&report, "remote-file-system");
    let paths: Vec<&str> = found.iter().filter_map(|it| it["path"].as_str()).collect();
    let ours = stage.ours();
    assert!(paths.contains(&ours.to_str().expect("text")), "{report:#}");
    assert!(found.iter().all(|it| it["severity"] == "warning"));
    assert_eq!(report["fixed"], 0);
    for path in [temp, presence, guard] {
        assert!(path.exists(), "{} is removed", path.display());
    }
}

#[test]
fn a_home_root_that_is_not_safe() {
    let stage = Stage::new();
    let everybodys = stage.env.mkdir("everybodys");
    chmod(&everybodys, 0o1777);
    let call = stage
        .call(&stage.main)
        .env("PLAN_MARSHALL_HOME", &everybodys);
    let run = call.args("--fix").run().exits(1);
    assert_eq!(kinds(&run), ["home-root"], "{run:#?}");
    let finding = the(&run, "home-root");
    assert_eq!(finding["severity"], "problem");
    assert!(
        finding["what"].to_string().contains("for everybody"),
        "{finding}"
    );
    assert!(
        finding["action"].to_string().contains("PLAN_MARSHALL_HOME"),
        "{finding}"
    );
}

#[test]
fn no_safe_place_for_the_locks_of_worktrees() {
    let stage = Stage::new();
    let inside = stage.main.join("locks");
    let call = stage.call(&stage.main).env("CRUCIBLE_LOCK_DIR", &inside);
    let run = call.run().exits(1);
    assert_eq!(kinds(&run), ["worktree-locks"], "{run:#?}");
    let what = the(&run, "worktree-locks")["what"].to_string();
    assert!(what.contains("inside the worktree"), "{what}");
    let unsafe_dir = stage.env.mkdir("tmp/crucible-locks");
    chmod(&unsafe_dir, 0o777);
    let run = stage.doctor("").exits(1);
    assert_eq!(findings(&run).len(), 1, "{run:#?}");
    assert!(
        the(&run, "worktree-locks")["what"]
            .to_string()
            .contains("by others")
    );
}
