//! The same lock file from every vantage point of an ordinary repository.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::json;

use crate::common::fixture::{base, lock_file, worktree};
use crate::common::{Call, Env, Run};

/// Runs `git locks --format json merge <verb> --as <who>` put together by `call`.
fn turn(call: Call, verb: &str, who: &str) -> Run {
    call.args(&format!("--format json merge {verb} --as {who}"))
        .run()
}

/// Fails the test unless every one of `callers` uses the lock file `lock`: each acquires in
/// turn, all see it, and the next one releases.
#[track_caller]
pub fn agree_by(lock: &Path, callers: &[&dyn Fn() -> Call]) {
    for (index, caller) in callers.iter().enumerate() {
        let who = format!("caller-{index}");
        let run = turn(caller(), "acquire", &who).exits(0);
        assert_eq!(
            std::fs::read(lock).ok(),
            Some(format!("{who}\n").into_bytes()),
            "{run:#?}"
        );
        if let Some(shown) = lock.to_str() {
            assert_eq!(run.text("lock_path"), shown);
        }
        for other in callers {
            let seen = turn(other(), "check", "looker").exits(0);
            assert_eq!(seen.get("lock_path"), run.get("lock_path"));
            seen.says(&[
                ("holder_plan_id", json!(who)),
                ("staleness", json!("fresh")),
            ]);
        }
        let next = callers[(index + 1) % callers.len()];
        let run = turn(next(), "release", &who).exits(0);
        assert_eq!(run.text("action"), "released");
        assert!(!lock.exists());
    }
}

/// The same for callers who merely stand in different directories.
#[track_caller]
pub fn agree(env: &Env, lock: &Path, places: &[&Path]) {
    let callers: Vec<_> = places.iter().map(|place| move || env.call(place)).collect();
    let callers: Vec<&dyn Fn() -> Call> = callers
        .iter()
        .map(|call| call as &dyn Fn() -> Call)
        .collect();
    agree_by(lock, &callers);
}

#[test]
fn main_checkout_subdirectory_linked_worktree_and_its_subdirectory() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let (deep, below) = (env.mkdir("repo/some/where"), env.mkdir("linked/below"));
    agree(&env, &lock_file(&repo), &[&repo, &deep, &linked, &below]);
}

#[test]
fn inside_the_git_directories() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let git = repo.join(".git");
    let hooks = env.mkdir("repo/.git/hooks");
    let admin = git.join("worktrees/linked");
    agree(&env, &lock_file(&repo), &[&linked, &git, &hooks, &admin]);
}

#[test]
fn inside_the_state_directory_itself() {
    let env = Env::new();
    let repo = env.init("repo");
    let state = base(&repo);
    env.merge(&repo, "acquire --as a").exits(0);
    env.merge(&repo, "release --as a").exits(0);
    agree(&env, &lock_file(&repo), &[&repo, &state]);
}

#[test]
fn a_worktree_moved_by_git() {
    let env = Env::new();
    let repo = env.init("repo");
    worktree(&env, &repo, "linked");
    env.git(&repo, "worktree move ../linked ../moved");
    agree(&env, &lock_file(&repo), &[&env.path("moved"), &repo]);
}

#[test]
fn a_worktree_moved_by_hand_and_repaired() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let moved = env.path("moved");
    std::fs::rename(linked, &moved).expect("a rename");
    agree(&env, &lock_file(&repo), &[&moved, &repo]);
    env.git(&moved, "worktree repair");
    agree(&env, &lock_file(&repo), &[&moved, &repo]);
}

#[test]
fn a_worktree_inside_the_main_checkout() {
    let env = Env::new();
    let repo = env.init("repo");
    env.git(
        &repo,
        "worktree add -q --detach .plan/local/worktrees/inner",
    );
    agree(
        &env,
        &lock_file(&repo),
        &[&base(&repo).join("worktrees/inner"), &repo],
    );
}

#[test]
fn a_repository_in_a_repository_has_its_own() {
    let env = Env::new();
    let outer = env.init("outer");
    let inner = env.init("outer/inner");
    agree(&env, &lock_file(&inner), &[&inner]);
    agree(&env, &lock_file(&outer), &[&outer]);
}

#[test]
fn symlinks_lead_to_the_same_place() {
    let env = Env::new();
    let repo = env.init("repo");
    let sub = env.mkdir("repo/sub");
    let (alias, shortcut) = (env.path("alias"), env.path("shortcut"));
    std::os::unix::fs::symlink(&repo, &alias).expect("a symlink");
    std::os::unix::fs::symlink(&sub, &shortcut).expect("a symlink");
    let through = alias.join("sub");
    agree(
        &env,
        &lock_file(&repo),
        &[&repo, &alias, &through, &shortcut],
    );
}

#[test]
fn a_symlinked_git_directory() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    std::fs::rename(repo.join(".git"), env.path("kept.git")).expect("a rename");
    std::os::unix::fs::symlink(env.path("kept.git"), repo.join(".git")).expect("a symlink");
    let run = env.merge(&repo, "acquire --as a").exits(0);
    let seen = env.merge(&linked, "check").exits(0);
    assert_eq!(seen.get("lock_path"), run.get("lock_path"));
    assert_eq!(seen.get("holder_plan_id"), json!("a"));
}

#[test]
fn odd_names() {
    let env = Env::new();
    for name in [
        "with space",
        "new\nline",
        "quote'\"$HOME",
        "-dash",
        "été ☃",
        "tab\t",
        "end\n",
    ] {
        let repo = env.init(name);
        let linked = worktree(&env, &repo, format!("{name} linked\n"));
        agree(&env, &lock_file(&repo), &[&repo, &linked]);
    }
}

#[test]
fn names_that_are_not_utf8() {
    let env = Env::new();
    let name = OsStr::from_bytes(b"odd \xff\xfe name");
    let dir = env.path(name);
    if std::fs::create_dir(&dir).is_err() {
        let why = "the file system takes only UTF-8 names";
        assert!(!crate::common::can_run(
            "names_that_are_not_utf8",
            false,
            why
        ));
        return;
    }
    let repo = env.init(name);
    let linked = worktree(&env, &repo, OsStr::from_bytes(b"odd \xfd linked"));
    agree(&env, &lock_file(&repo), &[&repo, &linked]);
}

#[test]
fn dash_c_as_git_does_it() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let sub = env.mkdir("repo/sub");
    agree_by(
        &lock_file(&repo),
        &[
            &|| env.call(env.root()).args("-C repo"),
            &|| env.call(env.root()).args("-C repo -C sub"),
            &|| env.call(&sub).args("-C ../../linked"),
            &|| env.call(env.root()).arg("-C").arg(&linked),
            &|| env.call(&repo).arg("-C").arg(""),
        ],
    );
}

#[test]
fn git_dir_and_git_work_tree() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let elsewhere = env.mkdir("elsewhere");
    let git = repo.join(".git");
    agree_by(
        &lock_file(&repo),
        &[
            &|| env.call(&repo),
            &|| env.call(&elsewhere).env("GIT_DIR", &git),
            &|| env.call(&repo).env("GIT_DIR", ".git"),
            &|| env.call(&elsewhere).env("GIT_DIR", linked.join(".git")),
            &|| {
                env.call(&elsewhere)
                    .env("GIT_DIR", git.join("worktrees/linked"))
            },
            &|| {
                env.call(&elsewhere)
                    .env("GIT_DIR", &git)
                    .env("GIT_WORK_TREE", &elsewhere)
            },
            &|| {
                env.call(&elsewhere)
                    .args("-C ../repo")
                    .env("GIT_DIR", ".git")
                    .env("GIT_WORK_TREE", ".")
            },
        ],
    );
}

#[test]
fn git_common_dir() {
    let env = Env::new();
    let repo = env.init("repo");
    worktree(&env, &repo, "linked");
    let elsewhere = env.mkdir("elsewhere");
    let (git, admin) = (repo.join(".git"), repo.join(".git/worktrees/linked"));
    agree_by(
        &lock_file(&repo),
        &[
            &|| {
                env.call(&elsewhere)
                    .env("GIT_DIR", &admin)
                    .env("GIT_COMMON_DIR", &git)
            },
            &|| env.call(&repo),
        ],
    );
}

#[test]
fn git_dir_wins_over_the_repository_underfoot() {
    let env = Env::new();
    let (here, there) = (env.init("here"), env.init("there"));
    agree_by(
        &lock_file(&there),
        &[&|| env.call(&here).env("GIT_DIR", there.join(".git"))],
    );
}

#[test]
fn ceilings_stop_the_search_as_they_do_for_git() {
    let env = Env::new();
    let repo = env.init("repo");
    let deep = env.mkdir("repo/a/b");
    let call = |ceiling: &Path, dir: &Path| {
        env.call(dir)
            .env("GIT_CEILING_DIRECTORIES", ceiling)
            .args("--format json merge check")
            .run()
    };
    call(env.root(), &deep).exits(0);
    call(&repo, &repo).exits(0);
    call(&repo.join("a"), &deep).exits(128);
}

#[test]
fn plan_base_dir_stands_for_the_base_and_needs_no_repository() {
    let env = Env::new();
    let (base, outside) = (env.path("state/local"), env.mkdir("outside"));
    let repo = env.init("repo");
    let lock = base.join("merge.lock");
    agree_by(
        &lock,
        &[&|| env.call(&outside).env("PLAN_BASE_DIR", &base), &|| {
            env.call(&repo).env("PLAN_BASE_DIR", &base)
        }],
    );
    assert!(base.join("git-locks").is_dir());
    assert!(!repo.join(".git/git-locks").exists());
    assert!(!repo.join(".plan").exists());
}

#[test]
fn an_empty_plan_base_dir_is_none() {
    let env = Env::new();
    let repo = env.init("repo");
    agree_by(
        &lock_file(&repo),
        &[&|| env.call(&repo).env("PLAN_BASE_DIR", "")],
    );
}

#[test]
fn plan_dir_name_renames_the_plan_directory() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    agree_by(
        &repo.join(".plans-here/local/merge.lock"),
        &[
            &|| env.call(&repo).env("PLAN_DIR_NAME", ".plans-here"),
            &|| env.call(&linked).env("PLAN_DIR_NAME", ".plans-here"),
        ],
    );
}

#[test]
fn state_in_the_common_directory_when_configured() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.git(&repo, "config locks.stateDir common");
    agree(
        &env,
        &repo.join(".git/git-locks/merge.lock"),
        &[&repo, &linked],
    );
    assert!(!repo.join(".plan").exists());
}

#[test]
fn the_state_directory_is_no_matter_of_the_user_or_the_worktree() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.git(&repo, "config --global locks.stateDir common");
    env.git(&repo, "config extensions.worktreeConfig true");
    env.git(&linked, "config --worktree locks.stateDir common");
    agree(&env, &lock_file(&repo), &[&linked, &repo]);
}

#[test]
fn no_ignore_file_is_written_inside_a_git_directory() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let bare = env.path("bare.git");
    env.git(&repo, "clone -q --bare . ../bare.git");
    env.git(&repo, "config locks.stateDir common");
    for (dir, ours) in [
        (&repo, repo.join(".git/git-locks")),
        (&linked, repo.join(".git/git-locks")),
        (&bare, bare.join("git-locks")),
    ] {
        env.merge(dir, "acquire --as a").exits(0);
        env.merge(dir, "acquire --as b").exits(75);
        env.merge(dir, "release --as b").exits(0);
        env.merge(dir, "release --as a").exits(0);
        env.merge(dir, "rate-window claim --bot-kind robot --as a")
            .exits(0);
        assert!(ours.join("logs").is_dir(), "{}", dir.display());
        let there = crate::common::fixture::tree(&ours);
        let ignoring = there
            .iter()
            .filter(|(path, _)| path.ends_with(".gitignore"))
            .map(|(path, _)| path)
            .collect::<Vec<_>>();
        assert!(ignoring.is_empty(), "{ignoring:?}");
    }
    assert_eq!(env.git(&repo, "status --porcelain --ignored"), "");
}
