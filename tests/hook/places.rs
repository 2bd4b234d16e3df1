//! Where the hook stands, and from where it is run.

use std::path::Path;

use serde_json::json;

use crate::cast::{Field, finish, says, script};
use crate::common::fixture::worktree;

/// Fails the test unless a push of `HEAD` to `main` from `dir` meets the gate, which must ask the lock
/// at `lock`.
#[track_caller]
fn gated(field: &Field, dir: &Path, lock: &Path) {
    let main = ["update-ref", "-d", "refs/heads/main"];
    field.env.git_args(&field.far, &main);
    field.env.merge(dir, "acquire --as keeper").exits(0);
    let mut command = field.git(dir, "push far HEAD:refs/heads/main");
    command.env("GIT_LOCKS_HOOK_WAIT", "0");
    command.env("GIT_LOCKS_FORMAT", "json");
    let ended = finish(command).exits(1);
    says(&ended, "\"holder\": \"keeper\"");
    says(&ended, &format!("\"lock_path\": \"{}\"", lock.display()));
    field.env.merge(dir, "release --as keeper").exits(0);
    field.push(dir, "HEAD:refs/heads/main").exits(0);
    let check = field.env.merge(dir, "check").exits(0);
    assert!(check.text("holder_plan_id").len() > 7, "{check:#?}");
    field.env.merge(dir, "release --require-stale").exits(0);
}

#[test]
fn linked_worktrees_share_it() {
    let field = Field::bare();
    let linked = worktree(&field.env, &field.repo, "linked");
    let sub = linked.join("sub");
    std::fs::create_dir(&sub).expect("a directory");
    let run = field.hook(&sub, "install").run().exits(0);
    assert_eq!(run.text("hook_path"), field.file().to_str().expect("text"));
    let lock = field.repo.join(".plan/local/merge.lock");
    gated(&field, &field.repo, &lock);
    gated(&field, &linked, &lock);
    gated(&field, &sub, &lock);
    field.hook(&linked, "uninstall").run().exits(0);
    assert!(!field.file().exists());
}

#[test]
fn a_bare_repository_has_one_too() {
    let field = Field::bare();
    field
        .env
        .git(field.env.root(), "clone -q --bare repo own.git");
    let own = field.env.path("own.git");
    field.env.git(&own, "remote add far ../far.git");
    let run = field.hook(&own, "install").run().exits(0);
    let file = own.join("hooks/pre-push");
    assert_eq!(run.text("hook_path"), file.to_str().expect("text"));
    gated(&field, &own, &own.join("git-locks/merge.lock"));
    let linked = worktree(&field.env, &own, "linked");
    gated(&field, &linked, &own.join("git-locks/merge.lock"));
    field.hook(&own.join("refs"), "uninstall").run().exits(0);
    assert!(!file.exists());
}

#[test]
fn git_dir_names_the_repository() {
    let field = Field::bare();
    let call = field.hook(field.env.root(), "install");
    let run = call
        .env("GIT_DIR", "repo/.git")
        .env("GIT_WORK_TREE", "repo")
        .run()
        .exits(0);
    assert_eq!(run.text("hook_path"), field.file().to_str().expect("text"));
    let command = |wait: &str| {
        let mut command = field.git(field.env.root(), "push ../far.git HEAD:refs/heads/main");
        command
            .current_dir(field.env.path("home"))
            .env("GIT_DIR", "../repo/.git")
            .env("GIT_WORK_TREE", "../repo")
            .env("GIT_LOCKS_HOOK_WAIT", wait);
        command
    };
    field.env.merge(&field.repo, "acquire --as keeper").exits(0);
    says(&finish(command("0")).exits(1), "held by keeper");
    field.env.merge(&field.repo, "release --as keeper").exits(0);
    finish(command("30s")).exits(0);
    assert!(field.arrived("refs/heads/main"));
}

#[test]
fn a_hooks_path_in_the_work_tree() {
    let field = Field::bare();
    field
        .env
        .git(&field.repo, "config core.hooksPath tools/hooks");
    let sub = field.env.mkdir("repo/sub");
    let run = field.hook(&sub, "install").run().exits(0);
    let file = field.repo.join("tools/hooks/pre-push");
    assert_eq!(run.text("hook_path"), file.to_str().expect("text"));
    assert!(run.stderr.contains("may be committed"), "{run:#?}");
    gated(&field, &sub, &field.repo.join(".plan/local/merge.lock"));
    field.hook(&sub, "uninstall").run().exits(0);
    assert!(!file.exists());
    // Each worktree has its own.
    let linked = worktree(&field.env, &field.repo, "linked");
    let run = field.hook(&linked, "install").run().exits(0);
    let file = linked.join("tools/hooks/pre-push");
    assert_eq!(run.text("hook_path"), file.to_str().expect("text"));
    let lock = field.repo.join(".plan/local/merge.lock");
    gated(&field, &linked, &lock);
}

#[test]
fn an_absolute_hooks_path_in_the_repository() {
    let field = Field::bare();
    let hooks = field.repo.join(".git/own hooks");
    let words = ["config", "core.hooksPath", hooks.to_str().expect("text")];
    field.env.git_args(&field.repo, &words);
    let run = field.install("").exits(0);
    let file = hooks.join("pre-push");
    assert_eq!(run.text("hook_path"), file.to_str().expect("text"));
    assert_eq!(run.stderr, "");
    gated(
        &field,
        &field.repo,
        &field.repo.join(".plan/local/merge.lock"),
    );
}

#[test]
fn hooks_that_other_repositories_share() {
    let field = Field::bare();
    field
        .env
        .git(&field.repo, "config --global core.hooksPath ~/hooks");
    let file = field.env.path("home/hooks/pre-push");
    let run = field.install("--protect main").exits(1);
    run.says(&[
        ("reason", json!("shared_hooks")),
        ("hook_path", json!(file.to_str())),
        (
            "hint",
            json!("To install it there, for all of them: git locks hook install --protect=main --shared"),
        ),
    ]);
    assert!(!file.parent().expect("a directory").exists());
    let run = field.install("--shared").exits(0);
    assert!(
        run.stderr.starts_with("warning: core.hooksPath names "),
        "{run:#?}"
    );
    gated(
        &field,
        &field.repo,
        &field.repo.join(".plan/local/merge.lock"),
    );
    // Once it is there, it is changed and taken away as any other.
    field
        .install("--require")
        .exits(0)
        .says(&[("action", json!("updated"))]);
    field.uninstall().exits(0);
    assert!(!file.exists());
    script(&file, "#!/bin/sh\nexit 0\n");
    let refused = [("reason", json!("shared_hooks"))];
    field.install("--append").exits(1).says(&refused);
    field.install("--append --shared").exits(0);
    field.uninstall().exits(0);
    let text = std::fs::read_to_string(&file).expect("the hook");
    assert_eq!(text, "#!/bin/sh\nexit 0\n");
}

#[test]
fn a_submodule_has_its_own() {
    let field = Field::bare();
    field.env.init("library");
    field.env.git(
        &field.repo,
        "-c protocol.file.allow=always submodule --quiet add ../library lib",
    );
    let module = field.repo.join("lib");
    field.env.git(&module, "remote add far ../../far.git");
    let run = field.hook(&module, "install").run().exits(0);
    let file = field.repo.join(".git/modules/lib/hooks/pre-push");
    assert_eq!(run.text("hook_path"), file.to_str().expect("text"));
    field.env.merge(&module, "acquire --as keeper").exits(0);
    let mut command = field.git(&module, "push far HEAD:refs/heads/main");
    command.env("GIT_LOCKS_HOOK_WAIT", "0");
    says(&finish(command).exits(1), "held by keeper");
    // The lock of the repository around it is another.
    field.install("").exits(0);
    field.push(&field.repo, "HEAD:refs/heads/main").exits(0);
}

#[test]
fn outside_a_repository_there_is_nothing_to_install() {
    let field = Field::bare();
    let outside = field.env.path("home");
    for words in ["install", "uninstall"] {
        let run = field.hook(&outside, words).run().exits(128);
        assert!(run.stderr.contains("not a git repository"), "{run:#?}");
    }
}

#[test]
fn a_hook_that_git_alone_can_open_the_repository_for() {
    let field = Field::bare();
    // libgit2 refuses what it does not know.
    field
        .env
        .git(&field.repo, "config core.repositoryFormatVersion 1");
    field
        .env
        .git(&field.repo, "config extensions.partialClone far");
    field.install("").exits(0);
    gated(
        &field,
        &field.repo,
        &field.repo.join(".plan/local/merge.lock"),
    );
}

#[test]
fn an_alias_is_a_push_all_the_same() {
    let field = Field::gated("");
    field.env.git(&field.repo, "config alias.send push");
    let dash = "!git-locks -q merge check; git -c x.y=z push";
    let words = ["config", "alias.dash", dash];
    field.env.git_args(&field.repo, &words);
    for (alias, branch) in [("send", "main"), ("dash", "master")] {
        let words = format!("{alias} far main:{branch}");
        finish(field.git(&field.repo, &words)).exits(0);
        assert!(field.arrived(&format!("refs/heads/{branch}")));
        assert_eq!(field.holder().as_deref(), Some("main-checkout"));
        field.is_to_be_had();
    }
}
