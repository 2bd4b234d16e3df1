//! What is protected, and what passes without touching a lock.

use crate::cast::{Field, finish, says};
use crate::common::fixture::{lock_file, same_tree, tree};
use crate::common::turns::Ended;

/// A field whose lock `keeper` holds, so that a protected push is told from others: it is refused.
fn kept(words: &str) -> Field {
    let field = Field::gated(words);
    field.env.merge(&field.repo, "acquire --as keeper").exits(0);
    field.env.git(&field.repo, "config locks.hook.wait 0");
    field
}

#[track_caller]
fn stopped(field: &Field, words: &str) -> Ended {
    let ended = field.push(&field.repo, words).exits(1);
    says(&ended, "the merge lock is held by keeper");
    ended
}

#[test]
fn main_and_master_are_protected_where_nothing_else_is_known() {
    let field = kept("");
    stopped(&field, "main");
    stopped(&field, "main:master");
    stopped(&field, "main:other main");
    field.push(&field.repo, "main:other").exits(0);
    field.push(&field.repo, "main:refs/tags/main").exits(0);
    field.push(&field.repo, "main:x/main").exits(0);
    assert!(!field.arrived("refs/heads/main"));
}

#[test]
fn the_default_branch_of_the_remote_is_protected() {
    let field = kept("");
    let target = "refs/remotes/far/trunk";
    let words = format!("symbolic-ref refs/remotes/far/HEAD {target}");
    field.env.git(&field.repo, &words);
    stopped(&field, "main:trunk");
    field.push(&field.repo, "main").exits(0);
    // Of that remote only.
    field.env.git(field.env.root(), "init -q --bare near.git");
    let mut command = field.git(&field.repo, "push ../near.git main");
    says(&finish(command).exits(1), "held by keeper");
    command = field.git(&field.repo, "push ../near.git main:trunk");
    finish(command).exits(0);
}

#[test]
fn patterns_say_what_is_protected() {
    let field = kept("--protect main --protect release/* --protect refs/tags/v*");
    for refused in ["main", "main:release/1/x", "main:refs/tags/v1"] {
        stopped(&field, refused);
    }
    for passes in ["main:master", "main:release", "main:refs/tags/w1"] {
        field.push(&field.repo, passes).exits(0);
    }
}

#[test]
fn a_deletion_of_what_is_protected_counts() {
    let field = kept("--protect gone");
    let mut command = field.git(&field.repo, "push --no-verify far main:gone");
    finish(command).exits(0);
    stopped(&field, "--delete gone");
    assert!(field.arrived("refs/heads/gone"));
    command = field.git(&field.repo, "push --no-verify far --delete gone");
    finish(command).exits(0);
}

#[test]
fn a_forced_push_and_one_of_everything_count() {
    let field = kept("");
    stopped(&field, "--force main");
    stopped(&field, "--all");
    stopped(&field, "--mirror");
    stopped(&field, "--dry-run main");
}

#[test]
fn what_is_not_protected_leaves_no_trace() {
    let field = Field::gated("");
    field.env.git(&field.repo, "tag v1");
    let before = tree(&field.repo);
    field.push(&field.repo, "v1").exits(0);
    // Nothing to push is nothing protected either.
    field.push(&field.repo, "v1").exits(0);
    same_tree(&before, &tree(&field.repo));
    assert!(!lock_file(&field.repo).exists());
}

#[test]
fn a_source_of_several_words_is_understood() {
    let field = kept("");
    field.env.git_args(
        &field.repo,
        &["commit", "-q", "--allow-empty", "-m", "two words"],
    );
    let mut command = field.git(&field.repo, "push far");
    command.arg("HEAD^{/two words}:refs/heads/other");
    finish(command).exits(0);
    command = field.git(&field.repo, "push far");
    command.arg("HEAD^{/two words}:refs/heads/main");
    says(&finish(command).exits(1), "held by keeper");
}

#[test]
fn nonsense_from_git_counts_as_protected() {
    let field = kept("");
    for input in [
        b"nonsense\n".as_slice(),
        b"\xff\xff \0 a b\n",
        &vec![b'x'; 300_000],
        b"a 0 refs/tags/v1 0\n",
    ] {
        let run = field.hook(&field.repo, "pre-push --require -- far url");
        let run = run.stdin(input).run().exits(1);
        assert!(run.stderr.contains("\"not_held\""), "{run:#?}");
        assert_eq!(run.stdout, "");
    }
    let run = field.hook(&field.repo, "pre-push --require -- far url");
    run.stdin(b"").run().exits(0);
}
