//! Where the commands of the documents are run: a checkout as a reader may have one.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::common::turns::waits_for;
use crate::common::{BIN, Call, DEADLINE, Env, chmod};
use crate::pages::{Block, root};

/// A checkout `shop` on `main`, one commit ahead of the remote `origin`, with a branch `topic`; the
/// program is on `PATH`.
pub struct Scene {
    pub env: Env,
    pub shop: PathBuf,
}

impl Scene {
    pub fn new() -> Self {
        let env = Env::new();
        let shop = env.init("shop");
        let bin = env.mkdir("bin");
        std::os::unix::fs::symlink(BIN, bin.join("git-locks")).expect("a link");
        // Nobody waits for a test.
        fs::write(bin.join("sleep"), "#!/bin/sh\nexec /bin/sleep 0.1\n").expect("write");
        chmod(&bin.join("sleep"), 0o755);
        env.git_args(env.root(), &["clone", "-q", "--bare", "shop", "origin.git"]);
        env.git(&shop, "remote add origin ../origin.git");
        env.git(&shop, "fetch -q origin");
        env.git(&shop, "branch -q --set-upstream-to=origin/main");
        let make = "all check deploy:\n\t@echo made $@\n";
        fs::write(shop.join("Makefile"), make).expect("write");
        env.git(&shop, "add Makefile");
        env.git(&shop, "commit -q -m make");
        env.git(&shop, "switch -q -c topic");
        env.commit(&shop, "topic");
        env.git(&shop, "switch -q main");
        Self { env, shop }
    }

    /// The same, where another checkout has the merge lock, and this one waits for it.
    pub fn busy() -> Self {
        let scene = Self::new();
        let (env, shop) = (&scene.env, &scene.shop);
        env.git(shop, "worktree add -q -b fix-login ../fix-login");
        let there = env.path("fix-login");
        let reason = ["--reason", "merge fix-login"];
        let acquire = env.call(&there).args("merge acquire");
        reason.iter().fold(acquire, Call::arg).run().exits(0);
        scene
    }

    /// A program in the checkout, or in `cwd`, as a reader would call it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = self.env.command(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut directories = vec![self.env.path("bin")];
        directories.extend(std::env::split_paths(&path));
        let path = std::env::join_paths(directories).expect("a PATH");
        command.env("PATH", path).current_dir(&self.shop);
        command
    }

    /// Runs a block; fails the test unless it succeeds.
    #[track_caller]
    pub fn runs(&self, block: &Block) -> String {
        let mut command = match block.language.as_str() {
            "sh" => {
                let mut bash = self.command("bash");
                bash.args(["-eu", "-o", "pipefail", "-c"]).arg(&block.text);
                bash
            }
            "python" => {
                let mut python = self.command("python3");
                python.arg("-c").arg(&block.text);
                python
            }
            other => panic!("{}: nothing runs {other:?}", block.at()),
        };
        if block.text.starts_with("make ") {
            command.current_dir(root()).env("BINARY", BIN);
        }
        done(block, &command.output().expect("it starts"))
    }

    /// Runs a block that waits for the lock, which another checkout lets go of meanwhile; what it
    /// said on standard error.
    #[track_caller]
    pub fn runs_and_waits(&self, block: &Block) -> String {
        let mut command = self.command("bash");
        command
            .args(["-eu", "-o", "pipefail", "-c"])
            .arg(&block.text);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        waits_for("a waiter", DEADLINE, || {
            let status = self.env.locks(&self.shop, "status --format json");
            (status.get("merge")["waiting_count"] == 1).then_some(())
        });
        let there = self.env.path("fix-login");
        self.env.merge(&there, "release").exits(0);
        let output = child.wait_with_output().expect("it ends");
        done(block, &output);
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// What a shell makes of the block of a prompt, shown by `show`.
    #[track_caller]
    pub fn prompt(&self, block: &Block, shell: &[&str], show: &str) -> String {
        let [program, args @ ..] = shell else {
            panic!("no shell");
        };
        let mut command = self.command(program);
        command.env("LC_ALL", "C.UTF-8").args(args).arg("-c");
        command.arg(format!("{}{show}", block.text));
        done(block, &command.output().expect("it starts"))
    }
}

#[track_caller]
fn done(block: &Block, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {}\n{}\n{said}\n{errors}",
        block.at(),
        output.status,
        block.text
    );
    said
}
