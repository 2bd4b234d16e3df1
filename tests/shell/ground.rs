//! Where the tests stand: the source, and a repository in which something goes on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::common::{BIN, Env};

/// The root of the source.
pub fn source() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A `PATH` on which git finds the program under test.
pub fn path_with_us() -> OsString {
    let own = Path::new(BIN).parent().expect("a directory").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&path));
    std::env::join_paths(all).expect("a PATH")
}

/// A repository with a holder and a waiter of the merge lock, a build, and a session.
pub struct Ground {
    /// Where it is.
    pub env: Env,
    /// The repository.
    pub repo: PathBuf,
}

impl Ground {
    /// Makes it.
    pub fn new() -> Self {
        let env = Env::new();
        let repo = env.init("repo");
        env.merge(&repo, "acquire --as alpha").exits(0);
        env.merge(&repo, "acquire --as beta").exits(75);
        env.build(&repo, "acquire --as gamma").exits(0);
        let ground = Self { env, repo };
        ground.session("s-1");
        ground
    }

    /// Notes a session in the checkout, as another program does.
    pub fn session(&self, id: &str) {
        let lease = serde_json::json!({
            "session_id": id, "started_at": "2026-01-01T00:00:00Z", "mode": "feature", "ttl_hours": 4,
        });
        std::fs::create_dir_all(self.repo.join(".orchestrator")).expect("a directory");
        std::fs::write(
            self.repo.join(".orchestrator/session.lock"),
            lease.to_string(),
        )
        .expect("a lease");
    }

    /// The id of the build's entry.
    pub fn entry(&self) -> String {
        let queue = self.env.builds().read();
        queue["active"][0]["id"]
            .as_str()
            .expect("an entry")
            .to_owned()
    }
}
