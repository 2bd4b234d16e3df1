//! The home root: where it is, whose it must be, and what is never touched.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};
use serde_json::json;

use crate::cast::one;
use crate::common::builds::Queue;
use crate::common::fixture::{same_tree, tree};
use crate::common::{Call, Env, Run, chmod, needs_root, required};

/// Users that are not root.
const ANN: u32 = 64_001;
const BEN: u32 = 64_002;

fn mode(path: &Path) -> u32 {
    let meta = std::fs::symlink_metadata(path).expect("it is there");
    meta.permissions().mode() & 0o7777
}

/// `git locks build` with a home root of its own.
fn under(env: &Env, home: impl AsRef<std::ffi::OsStr>, args: &str) -> Run {
    let call = env.call(env.root()).env("PLAN_MARSHALL_HOME", home);
    call.args("--format json build").args(args).run()
}

/// This home root is refused, by every verb, and nothing there is changed.
#[track_caller]
fn refused(home: &Path, call: impl Fn() -> Call) {
    let before =
        std::fs::symlink_metadata(home).map(|meta| (meta.mode(), meta.mtime(), meta.mtime_nsec()));
    for verb in [
        "acquire --as a",
        "check",
        "release --as a",
        "run --as a -- true",
    ] {
        let call = call().env("PLAN_MARSHALL_HOME", home);
        let run = call.args("--format json build").args(verb).run().exits(128);
        assert!(
            run.stderr.contains("PLAN_MARSHALL_HOME"),
            "{verb}: {run:#?}"
        );
        if verb.starts_with("run") {
            // Standard output is the command's.
            assert!(run.stderr.contains("\"IO\""), "{run:#?}");
        } else {
            run.says(&[("status", json!("error")), ("error_code", json!("IO"))]);
        }
    }
    let after =
        std::fs::symlink_metadata(home).map(|meta| (meta.mode(), meta.mtime(), meta.mtime_nsec()));
    assert_eq!(before.ok(), after.ok(), "{} was touched", home.display());
    let queue = home.join("build-queue.json");
    assert!(!queue.exists(), "{} was made", queue.display());
}

/// The same for the environment's user.
#[track_caller]
fn refused_to_us(env: &Env, home: &Path) {
    refused(home, || env.call(env.root()));
}

#[test]
fn it_is_made_for_its_user_alone() {
    let (env, repo) = one();
    env.build(&repo, "acquire --as a").exits(0);
    assert_eq!(mode(&env.home_root()), 0o700);
    assert_eq!(mode(&env.builds().path()), 0o600);
    // Missing parents too.
    let deep = env.path("x/y/z");
    under(&env, &deep, "acquire --as a").exits(0).says(&[
        ("queue_path", json!(deep.join("build-queue.json"))),
        ("active_count", json!(1)),
    ]);
    assert_eq!(mode(&deep), 0o700);
    assert_eq!(mode(&env.path("x")), 0o700);
}

#[test]
fn a_wider_mode_is_narrowed_by_whoever_writes() {
    let (env, repo) = one();
    for wide in [0o755, 0o777, 0o750, 0o701] {
        env.build(&repo, "acquire --as a").exits(0);
        chmod(&env.home_root(), wide);
        env.build(&repo, "check").exits(0);
        assert_eq!(mode(&env.home_root()), wide, "check wrote");
        env.build(&repo, "acquire --as b").exits(0);
        assert_eq!(mode(&env.home_root()), 0o700, "from {wide:o}");
        chmod(&env.home_root(), wide);
        env.build(&repo, "release --as b").exits(0);
        assert_eq!(mode(&env.home_root()), 0o700, "from {wide:o}");
    }
}

#[test]
fn another_place_by_the_environment() {
    let (env, repo) = one();
    let other = env.path("other");
    let of = |home: &str, verb: &str| {
        let call = env.call(&repo).env("PLAN_MARSHALL_HOME", home);
        call.args("--format json build").args(verb).run().exits(0)
    };
    // Relative to where the caller stands; empty is as if it were not set.
    of("../other", "acquire --as a").says(&[("queue_path", json!(other.join("build-queue.json")))]);
    assert_eq!(Queue::of(&other).active(), ["a"]);
    of("", "acquire --as b").says(&[
        ("queue_path", json!(env.builds().path())),
        ("active_count", json!(1)),
    ]);
    assert_eq!(env.builds().active(), ["b"]);
    // Two home roots are two queues.
    of("../other", "check --max-slots 1 --as c").says(&[("active_count", json!(1))]);
}

#[test]
fn a_link_of_ours_is_followed_and_two_names_are_one_queue() {
    let (env, repo) = one();
    let real = env.mkdir("real");
    symlink(&real, env.home_root()).expect("a link");
    let path = json!(real.join("build-queue.json"));
    env.build(&repo, "acquire --max-slots 1 --as a")
        .exits(0)
        .says(&[("queue_path", path.clone())]);
    assert_eq!(mode(&real), 0o700);
    under(&env, &real, "acquire --max-slots 1 --as b")
        .exits(75)
        .says(&[("queue_path", path)]);
    // One made by hand, on the way to it.
    let indirect = env.path("indirect");
    symlink(env.root(), &indirect).expect("a link");
    under(&env, indirect.join("real"), "check").exits(0).says(&[
        ("active_count", json!(1)),
        ("queue_path", json!(real.join("build-queue.json"))),
    ]);
}

#[test]
fn a_link_into_nowhere_is_refused() {
    let env = Env::new();
    let link = env.path("link");
    symlink(env.path("nowhere"), &link).expect("a link");
    refused_to_us(&env, &link);
    assert!(!env.path("nowhere").exists());
    symlink(env.path("circle"), env.path("circle")).expect("a link");
    refused_to_us(&env, &env.path("circle"));
}

#[test]
fn what_is_no_place_for_it() {
    let env = Env::new();
    std::fs::write(env.path("file"), "").expect("a file");
    refused_to_us(&env, &env.path("file"));
    // The home directory, what it is in, and the root of everything.
    let home_mode = mode(&env.path("home"));
    refused_to_us(&env, &env.path("home"));
    refused_to_us(&env, env.root());
    refused_to_us(&env, Path::new("/"));
    let link = env.path("link-to-home");
    symlink(env.path("home"), &link).expect("a link");
    refused_to_us(&env, &link);
    assert_eq!(mode(&env.path("home")), home_mode);
    // Where everybody may leave things.
    let sticky = env.mkdir("sticky");
    chmod(&sticky, 0o1777);
    refused_to_us(&env, &sticky);
    assert_eq!(mode(&sticky), 0o1777);
}

#[test]
fn anothers_is_refused() {
    if !needs_root("home::anothers_is_refused") {
        return;
    }
    let env = Env::new();
    env.public_bin();
    let theirs = env.mkdir("theirs");
    chmod(&theirs, 0o777);
    chown(&theirs, Some(BEN), Some(BEN)).expect("chown");
    // Not even by root, whose files its owner could change.
    refused_to_us(&env, &theirs);
    let ann = || env.call(env.root()).user(&env, ANN, ANN);
    refused(&theirs, ann);
    // Nor through a link, whoever made that.
    let ours = env.mkdir("ours");
    chmod(&ours, 0o700);
    chown(&ours, Some(ANN), Some(ANN)).expect("chown");
    let link = |name: &str, target: &Path, owner: u32| -> PathBuf {
        let path = env.path(name);
        symlink(target, &path).expect("a link");
        std::os::unix::fs::lchown(&path, Some(owner), Some(owner)).expect("chown");
        path
    };
    refused(&link("to-theirs", &theirs, ANN), ann);
    refused(&link("by-ben", &ours, BEN), ann);
    assert_eq!(mode(&theirs), 0o777);
    // One that root made is believed.
    let link = link("by-root", &ours, 0);
    let run = ann()
        .env("PLAN_MARSHALL_HOME", &link)
        .args("--format json build acquire --as a")
        .run();
    run.exits(0)
        .says(&[("queue_path", json!(ours.join("build-queue.json")))]);
}

#[test]
fn a_file_of_anothers_in_it_is_named_with_its_owner() {
    if !needs_root("home::a_file_of_anothers_in_it_is_named_with_its_owner") {
        return;
    }
    let env = Env::new();
    env.public_bin();
    let dir = env.mkdir("plain");
    let home = env.home_for(ANN, ANN).join(".plan-marshall");
    let ann = |args: &str| {
        let call = env.call(&dir).user(&env, ANN, ANN);
        call.args("--format json build").args(args).run()
    };
    ann("acquire --as a").exits(0);
    for file in ["build-queue.json", "build-queue.json.guard"] {
        let path = home.join(file);
        chown(&path, Some(BEN), Some(BEN)).expect("chown");
        chmod(&path, 0o666);
        let before = std::fs::read(&path).expect("it");
        let run = ann("acquire --as b").exits(128);
        assert!(run.stderr.contains(&BEN.to_string()), "{file}: {run:#?}");
        assert!(run.stderr.contains(file), "{file}: {run:#?}");
        assert_eq!(std::fs::read(&path).expect("it"), before);
        chown(&path, Some(ANN), Some(ANN)).expect("chown");
        chmod(&path, 0o600);
    }
    ann("acquire --as b")
        .exits(0)
        .says(&[("active_count", json!(2))]);
}

#[test]
fn one_that_may_not_be_written_can_be_looked_at() {
    if !needs_root("home::one_that_may_not_be_written_can_be_looked_at") {
        return;
    }
    let env = Env::new();
    env.public_bin();
    let dir = env.mkdir("plain");
    let home = env.home_for(ANN, ANN).join(".plan-marshall");
    let ann = |args: &str| {
        let call = env.call(&dir).user(&env, ANN, ANN);
        call.args("--format json build").args(args).run()
    };
    ann("acquire --max-slots 1 --as a").exits(0);
    chmod(&home.join("git-locks"), 0o500);
    chmod(&home, 0o500);
    let before = tree(&home);
    ann("check --max-slots 1 --as a")
        .exits(0)
        .says(&[("active_count", json!(1)), ("mine", json!(true))]);
    for verb in ["acquire --as b", "release --as a", "run --as c -- true"] {
        let run = ann(verb).exits(128);
        assert!(run.stderr.contains(".plan-marshall"), "{verb}: {run:#?}");
    }
    same_tree(&before, &tree(&home));
    assert_eq!(mode(&home), 0o500);
}

#[test]
fn on_a_read_only_file_system() {
    let test = "home::on_a_read_only_file_system";
    if !needs_root(test) || !required(test, "unshare") || !required(test, "mount") {
        return;
    }
    let (env, repo) = one();
    env.build(&repo, "acquire --max-slots 1 --as a").exits(0);
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" || exit 99\n\
                  \"$2\" --format json build check --max-slots 1 --as a || exit 98\n\
                  \"$2\" build acquire --as b; [ $? = 128 ] || exit 97\n\
                  \"$2\" build run --as c -- true; [ $? = 128 ] || exit 96\n";
    let mut command = env.command("unshare");
    command
        .current_dir(&repo)
        .args(["-m", "sh", "-c", script, "sh"]);
    let output = command
        .arg(env.home_root())
        .arg(crate::common::BIN)
        .output();
    let output = output.expect("unshare runs");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("error: "), "{said}");
    env.build(&repo, "check")
        .exits(0)
        .says(&[("active_count", json!(1))]);
}

#[test]
fn without_a_home_variable_the_system_knows() {
    let (env, repo) = one();
    // Only looks: the real home is not this test's to write to.
    let run = env
        .call(&repo)
        .without("HOME")
        .args("--format json build check")
        .run();
    match User::from_uid(geteuid()).ok().flatten() {
        Some(me) => {
            let run = run.exits(0);
            let path = run.text("queue_path");
            assert!(path.ends_with("/.plan-marshall/build-queue.json"), "{path}");
            let home = me.dir.canonicalize().unwrap_or(me.dir);
            assert!(Path::new(&path).starts_with(home), "{path}");
        }
        None => drop(run.exits(128)),
    }
}

#[test]
fn a_user_without_any_home_is_told() {
    let test = "home::a_user_without_any_home_is_told";
    if !needs_root(test) || User::from_uid(Uid::from_raw(ANN)).is_ok_and(|user| user.is_some()) {
        return;
    }
    let env = Env::new();
    env.public_bin();
    let dir = env.mkdir("plain");
    let call = env.call(&dir).user(&env, ANN, ANN).without("HOME");
    let run = call
        .args("--format json build acquire --as a")
        .run()
        .exits(128);
    assert!(run.stderr.contains("PLAN_MARSHALL_HOME"), "{run:#?}");
}

#[test]
fn two_users_do_not_disturb_each_other() {
    if !needs_root("home::two_users_do_not_disturb_each_other") {
        return;
    }
    let env = Env::new();
    env.public_bin();
    let dir = env.mkdir("plain");
    chmod(&dir, 0o777);
    let call = |uid: u32, args: &str| {
        let call = env.call(&dir).user(&env, uid, uid);
        call.args("--format json build").args(args).run()
    };
    for uid in [ANN, BEN] {
        let home = env.home_for(uid, uid).join(".plan-marshall");
        call(uid, "acquire --max-slots 1 --as same")
            .exits(0)
            .says(&[
                ("active_count", json!(1)),
                ("queue_path", json!(home.join("build-queue.json"))),
            ]);
        assert_eq!(std::fs::metadata(&home).expect("it").uid(), uid);
    }
    call(ANN, "acquire --max-slots 1 --as b")
        .exits(75)
        .says(&[("waiting_count", json!(1))]);
    call(BEN, "check --max-slots 1")
        .exits(0)
        .says(&[("active_count", json!(1)), ("waiting_count", json!(0))]);
    call(BEN, "release --max-slots 1 --as same")
        .exits(0)
        .says(&[("action", json!("released"))]);
    call(ANN, "check --max-slots 1")
        .exits(0)
        .says(&[("active_count", json!(1)), ("waiting_count", json!(1))]);
    // Nor does root take what another user's home root has for its own.
    let theirs = env.home_for(ANN, ANN).join(".plan-marshall");
    refused_beside(&env, &theirs);
}

/// A home root of another user's in which there is a queue.
#[track_caller]
fn refused_beside(env: &Env, home: &Path) {
    let before = tree(home);
    for verb in ["acquire --as a", "release --as a"] {
        under(env, home, verb).exits(128);
    }
    same_tree(&before, &tree(home));
}
