//! `worktree cleanup`: what every worktree's lock is like, and sentinels made fresh.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cast::{Ground, Lock, worktree_lock};
use crate::common::fixture::{same_tree, tree, worktree};
use crate::common::turns::Terminal;
use crate::common::{DEADLINE, Run, required};
use crate::sentinel::{dead_pid, host};

/// A repository with linked worktrees in every state.
struct Yard {
    ground: Ground,
    trees: Vec<PathBuf>,
}

const NAMES: [&str; 5] = ["none", "orphan", "stale", "alive", "busy"];

impl Yard {
    fn new() -> Self {
        let ground = Ground::new(Lock::Worktree);
        let env = &ground.stage.env;
        let trees = NAMES.map(|name| worktree(env, &ground.stage.repo, name));
        ground.run("", "exit 0").exits(0);
        let yard = Self {
            trees: trees.to_vec(),
            ground,
        };
        yard.write("orphan", "{\"host\": 5");
        let stale = json!({"pid": dead_pid(), "host": host(), "command": "gone"});
        yard.write("stale", &stale.to_string());
        yard.write("busy", &stale.to_string());
        let alive = json!({"pid": std::process::id(), "host": host(), "command": "test"});
        yard.write("alive", &alive.to_string());
        yard
    }

    fn tree(&self, name: &str) -> &Path {
        let at = NAMES.iter().position(|known| *known == name);
        &self.trees[at.expect("a known name")]
    }

    fn file(&self, name: &str) -> PathBuf {
        worktree_lock(&self.ground.lock_dir(), self.tree(name))
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.file(name), content).expect("a sentinel");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).expect("a sentinel")
    }

    fn hold(&self, name: &str) -> crate::common::turns::Running {
        let mut command = self.ground.stage.env.command("flock");
        command.arg(self.file(name));
        command.args(self.ground.stage.script("log held; hold busy"));
        let running = crate::common::turns::Running::start(command);
        self.ground.stage.noted("held");
        running
    }

    fn cleanup_in(&self, dir: &Path, args: &str) -> Run {
        let call = self.ground.stage.env.call(dir).args("--format json");
        call.args("worktree cleanup").args(args).run()
    }

    fn cleanup(&self, args: &str) -> Run {
        self.cleanup_in(&self.ground.stage.repo, args)
    }
}

#[track_caller]
fn row(run: &Run, tree: &Path) -> Value {
    let rows = run.get("worktrees");
    let rows = rows.as_array().expect("rows");
    let path = json!(tree.to_string_lossy());
    let row = rows.iter().find(|row| row["path"] == path);
    row.unwrap_or_else(|| panic!("no {path} in {run:#?}"))
        .clone()
}

#[test]
fn every_worktree_has_its_class() {
    if !required("cleanup::every_worktree_has_its_class", "flock") {
        return;
    }
    let yard = Yard::new();
    let _held = yard.hold("busy");
    let before = tree(yard.ground.stage.env.root());
    for dir in [&*yard.ground.stage.repo, yard.tree("stale")] {
        let run = yard.cleanup_in(dir, "").exits(0);
        let run = run.fields("status refreshed worktrees");
        assert_eq!(run.text("status"), "success");
        assert_eq!(run.get("refreshed"), json!(0));
        let classes = [
            ("none", "no-lock-file"),
            ("orphan", "orphan"),
            ("stale", "stale"),
            ("alive", "live"),
            ("busy", "live"),
        ];
        for (name, class) in classes {
            let row = row(&run, yard.tree(name));
            assert_eq!(row["class"], class, "{row}");
            assert_eq!(row["lock_path"], json!(yard.file(name).to_string_lossy()));
            let names: Vec<&String> = row.as_object().expect("a row").keys().collect();
            assert_eq!(
                names,
                [
                    "path",
                    "class",
                    "pid",
                    "host",
                    "since",
                    "command",
                    "lock_path"
                ]
            );
        }
        // The main checkout is one too; the run that it had is over.
        assert_eq!(row(&run, &yard.ground.stage.repo)["class"], "stale");
        assert_eq!(row(&run, yard.tree("stale"))["command"], "gone");
        assert_eq!(row(&run, yard.tree("none"))["pid"], Value::Null);
    }
    same_tree(&before, &tree(yard.ground.stage.env.root()));
}

#[test]
fn another_hosts_owner_counts_as_alive() {
    let yard = Yard::new();
    let elsewhere = json!({"pid": dead_pid(), "host": "elsewhere"});
    yard.write("stale", &elsewhere.to_string());
    assert_eq!(row(&yard.cleanup(""), yard.tree("stale"))["class"], "live");
    let here = json!({"pid": dead_pid(), "host": format!("{}.local", host().to_uppercase())});
    yard.write("stale", &here.to_string());
    assert_eq!(row(&yard.cleanup(""), yard.tree("stale"))["class"], "stale");
}

#[test]
fn a_number_that_was_used_again_is_not_the_owner() {
    let yard = Yard::new();
    let reused = json!({"pid": std::process::id(), "host": host(), "process_create_time": 5.0});
    yard.write("alive", &reused.to_string());
    assert_eq!(row(&yard.cleanup(""), yard.tree("alive"))["class"], "stale");
}

#[test]
fn what_is_stale_or_orphaned_is_refreshed() {
    use std::os::unix::fs::MetadataExt as _;
    if !required("cleanup::what_is_stale_or_orphaned_is_refreshed", "flock") {
        return;
    }
    let yard = Yard::new();
    let held = yard.hold("busy");
    let (busy, alive) = (yard.read("busy"), yard.read("alive"));
    let inode = yard.file("stale").metadata().expect("it").ino();
    let run = yard.cleanup("--refresh --yes").exits(0);
    // The main checkout, the orphan and the stale one.
    assert_eq!(run.get("refreshed"), json!(3), "{run:#?}");
    assert_eq!(yard.read("busy"), busy, "it is being used");
    assert_eq!(yard.read("alive"), alive);
    assert!(!yard.file("none").exists(), "it was made");
    for name in ["orphan", "stale"] {
        let sentinel: Value = serde_json::from_str(&yard.read(name)).expect("a sentinel");
        assert_eq!(sentinel["host"], json!(host()), "{name}");
        assert_ne!(sentinel["command"], "gone", "{name}");
        assert_eq!(
            sentinel["workspace"],
            json!(yard.tree(name).to_string_lossy())
        );
    }
    assert_eq!(yard.file("stale").metadata().expect("it").ino(), inode);
    for path in &yard.trees {
        assert!(path.join(".git").exists(), "{}", path.display());
    }
    drop(held);
    // Nobody keeps a lock that was refreshed.
    for name in ["orphan", "stale"] {
        let mut flock = yard.ground.stage.env.command("flock");
        let status = flock.arg("-n").arg(yard.file(name)).arg("true").status();
        assert!(status.expect("flock").success(), "{name}");
    }
}

#[test]
fn without_a_terminal_it_wants_to_be_told() {
    let yard = Yard::new();
    let before = tree(yard.ground.stage.env.root());
    let run = yard.cleanup("--refresh").exits(1);
    assert_eq!(run.text("status"), "refused");
    assert_eq!(run.text("reason"), "not_confirmed");
    assert!(run.text("hint").contains("--yes"), "{run:#?}");
    same_tree(&before, &tree(yard.ground.stage.env.root()));
    // To be told without being asked to do anything is a mistake.
    yard.cleanup("--yes").exits(2);
}

#[test]
fn on_a_terminal_it_asks() {
    if !required("cleanup::on_a_terminal_it_asks", "script") {
        return;
    }
    for (answer, code, refreshed) in [("n\r", 1, false), ("\r", 1, false), ("y\r", 0, true)] {
        let yard = Yard::new();
        let before = yard.read("stale");
        let line = format!(
            "{} worktree cleanup --refresh",
            crate::common::turns::quoted_bin()
        );
        let mut terminal = Terminal::start(&yard.ground.stage.env, &yard.ground.stage.repo, &line);
        terminal.shows("?");
        terminal.types(answer);
        terminal.wait(DEADLINE).exits(code);
        assert_eq!(
            yard.read("stale") != before,
            refreshed,
            "{answer:?}: {}",
            terminal.raw()
        );
    }
}

#[test]
fn worktrees_that_are_gone_or_were_never_there() {
    let yard = Yard::new();
    std::fs::remove_dir_all(yard.tree("stale")).expect("removed");
    let moved = yard.ground.stage.env.path("moved away");
    std::fs::rename(yard.tree("orphan"), &moved).expect("moved");
    let admin = yard.ground.stage.repo.join(".git/worktrees/junk");
    std::fs::create_dir(&admin).expect("junk");
    std::fs::write(admin.join("gitdir"), "\n").expect("junk");
    let run = yard.cleanup("").exits(0);
    assert_eq!(row(&run, yard.tree("alive"))["class"], "live", "{run:#?}");
    let run = yard.cleanup("--refresh --yes").exits(0);
    assert_eq!(row(&run, yard.tree("alive"))["class"], "live", "{run:#?}");
}

#[test]
fn many_worktrees_at_once_keep_their_sentinels_whole() {
    let yard = Yard::new();
    let runs: Vec<_> = (0..6)
        .map(|_| {
            let call = yard.ground.stage.env.call(&yard.ground.stage.repo);
            call.args("--format json worktree cleanup --refresh --yes")
                .start()
        })
        .collect();
    for mut run in runs {
        run.wait(DEADLINE).exits(0);
    }
    for name in ["stale", "orphan"] {
        let sentinel: Value = serde_json::from_str(&yard.read(name)).expect("a sentinel");
        assert_eq!(sentinel["host"], json!(host()), "{name}");
    }
}
