//! The same lock file in every layout and format of repository that git makes.

use std::path::{Path, PathBuf};

use crate::common::Env;
use crate::common::fixture::{lock_file, worktree};
use crate::place::agree;

/// `<common dir>/git-locks/merge.lock`, where there is no main checkout.
fn lock_in(common: &Path) -> PathBuf {
    common.join("git-locks/merge.lock")
}

/// A bare clone `name` of a new repository.
fn bare(env: &Env, name: &str) -> PathBuf {
    env.init("origin");
    env.git(env.root(), &format!("clone -q --bare origin {name}"));
    env.path(name)
}

#[test]
fn bare_and_its_worktrees() {
    let env = Env::new();
    let bare = bare(&env, "bare.git");
    let linked = worktree(&env, &bare, "linked");
    agree(&env, &lock_in(&bare), &[&bare, &linked, &bare.join("refs")]);
}

#[test]
fn a_bare_repository_called_dot_git() {
    let env = Env::new();
    env.mkdir("project");
    let bare = bare(&env, "project/.git");
    let linked = worktree(&env, &bare, "project/linked");
    agree(
        &env,
        &lock_in(&bare),
        &[&linked, &bare, &env.path("project")],
    );
}

#[test]
fn dot_bare_with_a_git_file_and_worktrees_beside_it() {
    let env = Env::new();
    let project = env.mkdir("project");
    let bare = bare(&env, "project/.bare");
    std::fs::write(project.join(".git"), "gitdir: ./.bare\n").expect("a .git file");
    let one = worktree(&env, &project, "project/one");
    let two = worktree(&env, &project, "project/two");
    agree(&env, &lock_in(&bare), &[&project, &one, &two, &bare]);
}

#[test]
fn bare_with_worktree_config() {
    let env = Env::new();
    let bare = bare(&env, "bare.git");
    let linked = worktree(&env, &bare, "linked");
    env.git(&linked, "sparse-checkout set --cone x");
    let shared = std::fs::read_to_string(bare.join("config")).expect("a config");
    assert!(
        !shared.contains("bare = true"),
        "git left core.bare in {shared}"
    );
    agree(&env, &lock_in(&bare), &[&bare, &linked]);
}

#[test]
fn worktree_config_in_an_ordinary_repository() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    env.git(&linked, "sparse-checkout set --cone x");
    env.git(&repo, "config --worktree core.bare false");
    agree(&env, &lock_file(&repo), &[&repo, &linked]);
}

#[test]
fn separate_git_directory() {
    let env = Env::new();
    let repo = env.init_with("repo", "--separate-git-dir=../store.git");
    let linked = worktree(&env, &repo, "linked");
    let store = env.path("store.git");
    agree(&env, &lock_in(&store), &[&repo, &linked, &store]);
}

#[test]
fn a_separate_git_directory_called_dot_git() {
    let env = Env::new();
    env.mkdir("kept");
    let repo = env.init_with("repo", "--separate-git-dir=../kept/.git");
    let linked = worktree(&env, &repo, "linked");
    agree(
        &env,
        &lock_file(&env.path("kept")),
        &[&repo, &linked, &env.path("kept/.git")],
    );
}

#[test]
fn submodule_and_its_worktrees() {
    let env = Env::new();
    env.init("library");
    let above = env.init("above");
    env.git(
        &above,
        "-c protocol.file.allow=always submodule --quiet add ../library lib/one",
    );
    let module = above.join("lib/one");
    let linked = worktree(&env, &module, "linked");
    let inside = above.join(".git/modules/lib/one");
    agree(&env, &lock_file(&module), &[&module, &linked, &inside]);
    agree(&env, &lock_file(&above), &[&above, &above.join("lib")]);
}

#[test]
fn submodule_with_worktree_config() {
    let env = Env::new();
    env.init("library");
    let above = env.init("above");
    env.git(
        &above,
        "-c protocol.file.allow=always submodule --quiet add ../library lib",
    );
    let module = above.join("lib");
    let linked = worktree(&env, &module, "linked");
    env.git(&linked, "sparse-checkout set --cone x");
    agree(&env, &lock_file(&module), &[&module, &linked]);
}

#[test]
fn a_submodule_of_a_linked_worktree() {
    let env = Env::new();
    env.init("library");
    let above = env.init("above");
    env.git(
        &above,
        "-c protocol.file.allow=always submodule --quiet add ../library lib",
    );
    env.git(&above, "commit -q -m lib");
    let linked = worktree(&env, &above, "linked");
    env.git(
        &linked,
        "-c protocol.file.allow=always submodule --quiet update --init",
    );
    let (in_main, in_linked) = (above.join("lib"), linked.join("lib"));
    agree(&env, &lock_file(&in_main), &[&in_main]);
    agree(&env, &lock_file(&in_linked), &[&in_linked]);
}

#[test]
fn core_worktree_relative_and_absolute() {
    let env = Env::new();
    let repo = env.init("repo");
    let elsewhere = env.mkdir("elsewhere");
    let linked = worktree(&env, &repo, "linked");
    let git = repo.join(".git");
    env.git(&repo, "config core.worktree ../../elsewhere");
    agree(&env, &lock_file(&elsewhere), &[&git, &linked]);
    env.git_args(
        &repo,
        &[
            "config".as_ref(),
            "core.worktree".as_ref(),
            elsewhere.as_os_str(),
        ],
    );
    agree(&env, &lock_file(&elsewhere), &[&git, &linked]);
}

#[test]
fn core_worktree_behind_a_symlink() {
    let env = Env::new();
    let repo = env.init("repo");
    let elsewhere = env.mkdir("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, env.path("alias")).expect("a symlink");
    env.git(&repo, "config core.worktree ../../alias");
    agree(&env, &lock_file(&elsewhere), &[&repo.join(".git")]);
}

#[test]
fn reftable() {
    let env = Env::new();
    let repo = env.init_with("repo", "--ref-format=reftable");
    let linked = worktree(&env, &repo, "linked");
    agree(
        &env,
        &lock_file(&repo),
        &[&repo, &linked, &repo.join(".git")],
    );
}

#[test]
fn sha256() {
    let env = Env::new();
    let repo = env.init_with("repo", "--object-format=sha256");
    let linked = worktree(&env, &repo, "linked");
    agree(&env, &lock_file(&repo), &[&repo, &linked]);
}

#[test]
fn sha256_and_bare() {
    let env = Env::new();
    let origin = env.init_with("repo", "--object-format=sha256");
    env.git(env.root(), "clone -q --bare repo bare.git");
    let bare = env.path("bare.git");
    agree(&env, &lock_in(&bare), &[&bare]);
    agree(&env, &lock_file(&origin), &[&origin]);
}

#[test]
fn sha256_with_an_odd_name() {
    let env = Env::new();
    let repo = env.init_with("two\nlines\n", "--object-format=sha256");
    agree(&env, &lock_file(&repo), &[&repo]);
}

#[test]
fn partial_clone() {
    let env = Env::new();
    let origin = env.init("origin");
    env.git(&origin, "config uploadpack.allowFilter true");
    let url = format!("file://{}", origin.display());
    env.git(
        env.root(),
        &format!("clone -q --filter=blob:none {url} partial"),
    );
    let repo = env.path("partial");
    let linked = worktree(&env, &repo, "linked");
    agree(&env, &lock_file(&repo), &[&repo, &linked]);
}

#[test]
fn shallow_clone() {
    let env = Env::new();
    let origin = env.init("origin");
    env.commit(&origin, "file");
    let url = format!("file://{}", origin.display());
    env.git(env.root(), &format!("clone -q --depth 1 {url} shallow"));
    let repo = env.path("shallow");
    agree(&env, &lock_file(&repo), &[&repo]);
}

#[test]
fn relative_worktrees() {
    let env = Env::new();
    let repo = env.init("repo");
    let by_git = [
        "worktree",
        "add",
        "-q",
        "--relative-paths",
        "--detach",
        "../rel",
    ];
    if !env.try_git(&repo, &by_git).status.success() {
        // git before 2.48 cannot make them, but finds its way through what a newer one wrote.
        let linked = worktree(&env, &repo, "rel");
        std::fs::write(linked.join(".git"), "gitdir: ../repo/.git/worktrees/rel\n")
            .expect("a .git file");
        let gitdir = repo.join(".git/worktrees/rel/gitdir");
        std::fs::write(gitdir, "../../../../rel/.git\n").expect("a gitdir");
    }
    agree(&env, &lock_file(&repo), &[&repo, &env.path("rel")]);
}

#[test]
fn a_repository_without_commits() {
    let env = Env::new();
    let repo = env.mkdir("empty");
    env.git(&repo, "init -q .");
    agree(&env, &lock_file(&repo), &[&repo]);
}

/// A `PATH` on which there is nothing.
fn no_git(env: &Env) -> PathBuf {
    env.mkdir("no-programs")
}

#[test]
fn an_ordinary_repository_needs_no_git() {
    let env = Env::new();
    let repo = env.init("repo");
    let linked = worktree(&env, &repo, "linked");
    let nothing = no_git(&env);
    crate::place::agree_by(
        &lock_file(&repo),
        &[
            &|| env.call(&repo).env("PATH", &nothing),
            &|| env.call(&linked).env("PATH", &nothing),
            &|| env.call(&linked),
        ],
    );
}

#[test]
fn what_only_git_understands_is_refused_without_git() {
    let env = Env::new();
    let repo = env.init_with("repo", "--object-format=sha256");
    let run = env
        .call(&repo)
        .env("PATH", no_git(&env))
        .args("--format json merge acquire --as a")
        .run()
        .exits(128)
        .one_line_error();
    assert!(run.stderr.contains("git"), "{run:#?}");
    assert!(!lock_file(&repo).exists());
}
