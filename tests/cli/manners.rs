//! Manners in a user's repository: what is written, where, and that nothing else is.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use crate::common::fixture::{base, holder, same_tree, tree, worktree};
use crate::common::{BIN, Env};

/// A round of everything.
fn exercise(env: &Env, repo: &Path) {
    env.merge(repo, "acquire").exits(0);
    env.merge(repo, "acquire --as b").exits(75);
    env.merge(repo, "check").exits(0);
    env.merge(repo, "renew").exits(0);
    env.merge(repo, "rate-window claim --bot-kind robot")
        .exits(0);
    env.merge(repo, "rate-window check --bot-kind robot")
        .exits(0);
    env.merge(repo, "rate-window release --bot-kind robot")
        .exits(0);
    env.merge(repo, "release").exits(0);
    env.merge(repo, "acquire --as b").exits(0);
    env.merge(repo, "release --as b").exits(0);
}

/// The paths below `dir`, as text relative to it.
fn names(dir: &Path) -> BTreeSet<String> {
    let short = |path: &Path| {
        path.strip_prefix(dir)
            .expect("below")
            .to_string_lossy()
            .into_owned()
    };
    tree(dir).iter().map(|(path, _)| short(path)).collect()
}

#[test]
fn git_status_stays_clean() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    for dir in [&repo, &linked] {
        env.merge(dir, "acquire").exits(0);
        for seen in [&repo, &linked] {
            assert_eq!(
                env.git(seen, "status --porcelain --untracked-files=all"),
                ""
            );
        }
        env.merge(dir, "release").exits(0);
        exercise(&env, dir);
        for seen in [&repo, &linked] {
            assert_eq!(
                env.git(seen, "status --porcelain --untracked-files=all"),
                ""
            );
        }
    }
    env.git(&repo, "add -A");
    assert_eq!(env.git(&repo, "diff --cached --name-only"), "");
    env.git(&repo, "fsck --strict");
}

#[test]
fn git_status_stays_clean_where_plans_are_kept() {
    let env = Env::new();
    let repo = env.init("repo");
    std::fs::create_dir_all(base(&repo).join("plans")).expect("plans");
    exercise(&env, &repo);
    assert_eq!(
        env.git(&repo, "status --porcelain --untracked-files=all"),
        ""
    );
}

#[test]
fn an_ignore_file_of_another_is_left_as_it_is() {
    let env = Env::new();
    let repo = env.init("repo");
    std::fs::create_dir_all(base(&repo)).expect("the base");
    let ignore = base(&repo).join(".gitignore");
    std::fs::write(&ignore, "*\n!mine\n").expect("an ignore file");
    exercise(&env, &repo);
    assert_eq!(
        std::fs::read_to_string(&ignore).ok().as_deref(),
        Some("*\n!mine\n")
    );
}

#[test]
fn check_writes_nothing() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let checks = || {
        let before = tree(env.root());
        for dir in [&repo, &linked] {
            env.merge(dir, "check").exits(0);
            env.merge(dir, "check --as a --fence 1");
            env.merge(dir, "rate-window check --bot-kind robot")
                .exits(0);
        }
        same_tree(&before, &tree(env.root()));
    };
    checks();
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    checks();
    env.merge(&repo, "release --as a").exits(0);
    checks();
}

#[test]
fn nothing_is_left_behind_but_what_is_documented() {
    let env = Env::new();
    let repo = env.init("repo");
    let before = names(&repo);
    exercise(&env, &repo);
    let allowed = [
        ".plan",
        ".plan/local",
        ".plan/local/.gitignore",
        ".plan/local/merge-queue.json",
        ".plan/logs",
        ".plan/logs/.gitignore",
        ".git/git-locks",
        ".git/git-locks/merge.guard",
        ".git/git-locks/merge.json",
        ".git/git-locks/titles",
    ];
    let log = |name: &String| {
        name.strip_prefix(".plan/logs/lock-")
            .is_some_and(|rest| rest.len() == "2000-01-01.log".len())
    };
    let left: Vec<_> = names(&repo)
        .difference(&before)
        .filter(|name| !allowed.contains(&name.as_str()) && !log(name))
        .cloned()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(names(&env.path("home")), BTreeSet::new());
    assert_eq!(names(&env.path("tmp")), BTreeSet::new());
}

#[test]
fn usage_errors_leave_no_trace() {
    let env = Env::new();
    let repo = env.init("repo");
    let before = tree(env.root());
    env.merge(&repo, "acquire --as Bad").exits(2);
    env.merge(&repo, "acquire --nonsense").exits(2);
    env.merge(&repo, "acquire --as a --while-pid 2147483646")
        .exits(1);
    same_tree(&before, &tree(env.root()));
}

#[test]
fn gits_own_reflogs_are_not_mixed_with_ours() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(&repo, "config locks.stateDir common");
    let before = names(&repo.join(".git/logs"));
    exercise(&env, &repo);
    assert_eq!(names(&repo.join(".git/logs")), before);
    let logs = names(&repo.join(".git/git-locks/logs"));
    assert!(
        logs.iter().any(|name| name.starts_with("lock-")),
        "{logs:?}"
    );
}

#[test]
fn cleaning_and_stashing_do_no_lasting_harm() {
    let env = Env::new();
    let repo = env.init("repo");
    for command in ["clean -q -fdx", "stash push -q -a"] {
        env.merge(&repo, "acquire --as a").exits(0);
        env.git(&repo, command);
        env.merge(&repo, "acquire --as b").exits(0);
        env.merge(&repo, "acquire --as a").exits(75);
        env.merge(&repo, "release --as a").exits(0);
        env.merge(&repo, "release --as b").exits(0);
        assert_eq!(holder(&repo), None);
    }
}

#[test]
fn the_common_directory_survives_cleaning() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(&repo, "config locks.stateDir common");
    env.merge(&repo, "acquire --as a").exits(0);
    env.git(&repo, "clean -q -fdx");
    env.git(&repo, "gc -q --prune=now");
    env.merge(&repo, "check")
        .says(&[("holder_plan_id", json!("a"))]);
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    for mask in ["077", "000", "022"] {
        let env = Env::new();
        let repo = env.init("repo");
        let script = format!("umask {mask}; '{BIN}' merge acquire --as a");
        let mut command = env.command("sh");
        let status = command
            .current_dir(&repo)
            .args(["-c", &script])
            .output()
            .expect("sh runs")
            .status;
        assert!(status.success());
        for file in [
            ".plan/local/merge.lock",
            ".plan/local/merge-queue.json",
            ".git/git-locks/merge.json",
            ".git/git-locks/merge.guard",
        ] {
            let mode = std::fs::metadata(repo.join(file))
                .expect(file)
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o644, "{file} under umask {mask}: {mode:o}");
        }
        for dir in [".plan/local", ".git/git-locks"] {
            let mode = std::fs::metadata(repo.join(dir))
                .expect(dir)
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o755, "{dir} under umask {mask}: {mode:o}");
        }
    }
}

/// The text of today's timeline (and yesterday's, should midnight have passed).
fn timeline(repo: &Path) -> String {
    let files = tree(&repo.join(".plan/logs"));
    let is_log = |path: &Path| path.extension().is_some_and(|ext| ext == "log");
    let texts = files.iter().filter(|(path, _)| is_log(path));
    texts
        .map(|(_, bytes)| String::from_utf8(bytes.clone()).expect("UTF-8"))
        .collect()
}

#[test]
fn the_timeline_tells_what_happened() {
    use sha2::Digest as _;
    let env = Env::new();
    let repo = env.init("repo");
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "check").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    env.merge(&repo, "release --as c").exits(0);
    env.merge(&repo, "release --as a").exits(0);
    let text = timeline(&repo);
    let lock = format!(
        "  lock_file: {}\n",
        base(&repo).join("merge.lock").display()
    );
    let entries: Vec<&str> = text.split("\n[").collect();
    let expected = [
        ("(merge:acquired) a", format!("{lock}  waiting_count: 1")),
        (
            "(merge:blocked) b",
            format!("{lock}  holder: a\n  waiter: b\n  waiting_count: 2"),
        ),
        ("(merge:released) a", format!("{lock}  waiting_count: 1")),
    ];
    assert_eq!(entries.len(), expected.len(), "{text}");
    for (entry, (message, fields)) in entries.iter().zip(&expected) {
        let message = format!("[LOCK] {message}");
        let digest = sha2::Sha256::digest(message.as_bytes());
        let hash = format!("{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2]);
        let (head, body) = entry.split_once('\n').expect("a line and fields");
        assert!(
            head.ends_with(&format!("Z] [INFO] [{hash}] {message}")),
            "{head}"
        );
        let stamp = head
            .trim_start_matches('[')
            .split(']')
            .next()
            .expect("a time");
        assert_eq!(
            (stamp.len(), &stamp[4..5], &stamp[10..11]),
            (20, "-", "T"),
            "{stamp}"
        );
        assert!(
            body.starts_with(fields.as_str()),
            "{body}\ninstead of\n{fields}"
        );
    }
}

#[test]
fn a_timeline_that_cannot_be_written_stops_nobody() {
    let env = Env::new();
    let repo = env.init("repo");
    std::fs::create_dir(repo.join(".plan")).expect("a directory");
    std::fs::write(repo.join(".plan/logs"), "a file in the way").expect("a file");
    assert_eq!(env.merge(&repo, "acquire --as a").exits(0).stderr, "");
    env.merge(&repo, "release --as a").exits(0);
}

#[test]
fn titles_come_and_go_with_the_lock() {
    let env = Env::new();
    let repo = env.init("repo");
    let titles = repo.join(".git/git-locks/titles");
    let state = |id: &str| -> Option<String> {
        let text = std::fs::read(titles.join(format!("{id}.json"))).ok()?;
        let value: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        value["merge-lock"]["state"].as_str().map(ToOwned::to_owned)
    };
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "acquire --as b").exits(75);
    assert_eq!(state("a").as_deref(), Some("lock-owned"));
    assert_eq!(state("b").as_deref(), Some("lock-waiting"));
    env.merge(&repo, "release --as a").exits(0);
    env.merge(&repo, "release --as b").exits(0);
    assert_eq!((state("a"), state("b")), (None, None));
    env.merge(&repo, "acquire --as c --no-title-token").exits(0);
    assert_eq!(state("c"), None);
    env.git(&repo, "config locks.title false");
    env.merge(&repo, "release --as c").exits(0);
    env.merge(&repo, "acquire --as d").exits(0);
    assert_eq!(state("d"), None);
}

#[test]
fn the_timeline_tells_of_reclaims_and_windows() {
    let env = Env::new();
    let repo = env.init("repo");
    for id in ["a", "b"] {
        crate::common::fixture::plan(&repo, id);
    }
    let claim = "rate-window claim --bot-kind robot --pr-number 7";
    env.merge(&repo, &format!("{claim} --as a")).exits(0);
    env.merge(&repo, &format!("{claim} --as b")).exits(75);
    env.merge(&repo, "rate-window release --bot-kind robot --as b")
        .exits(0);
    env.merge(&repo, "rate-window release --bot-kind robot --as a")
        .exits(0);
    env.merge(&repo, &format!("{claim} --as b")).exits(0);
    env.merge(&repo, "rate-window release --bot-kind robot --as b")
        .exits(0);
    env.merge(&repo, &format!("{claim} --as a")).exits(1);
    crate::common::fixture::hold(&repo, "dead\n");
    env.merge(&repo, "acquire --as a").exits(0);
    let text = timeline(&repo);
    let events: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("[LOCK] ").map(|pair| pair.1))
        .collect();
    assert_eq!(
        events,
        [
            "(rate-window:claimed) a",
            "(rate-window:blocked) b",
            "(rate-window:released) a",
            "(rate-window:claimed) b",
            "(rate-window:released) b",
            "(rate-window:exhausted) a",
            "(merge:reclaimed) a",
        ],
        "{text}"
    );
    let blocked = text.split("[LOCK] ").nth(2).expect("the blocked claim");
    for field in [
        "  bot_kind: robot\n",
        "  pr_number: 7\n",
        "  holder: a\n",
        "  waiter: b\n",
    ] {
        assert!(blocked.contains(field), "{field} is missing: {blocked}");
    }
    assert!(
        text.contains("  reclaimed_from: dead\n  waiting_count: 1\n"),
        "{text}"
    );
}

#[test]
fn the_root_of_a_checkout_is_never_ignored() {
    let env = Env::new();
    let repo = env.init("repo");
    let call = env.call(&repo).env("PLAN_BASE_DIR", &repo);
    call.args("merge acquire --as a").run().exits(0);
    assert!(repo.join("merge.lock").exists());
    assert!(!repo.join(".gitignore").exists());
}
