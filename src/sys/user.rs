//! Who runs this process, and the names of other users.

use std::path::PathBuf;

use nix::unistd::{Uid, User, geteuid};

/// The effective user of this process.
pub fn me() -> u32 {
    geteuid().as_raw()
}

/// The home directory of the effective user, as the system's table of users has it.
pub fn home() -> Option<PathBuf> {
    let user = User::from_uid(geteuid()).ok()??;
    (!user.dir.as_os_str().is_empty()).then_some(user.dir)
}

/// Whether this process may do anything.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// The name of user `uid`, or the number where it has none.
pub fn name(uid: u32) -> String {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => format!("user {uid}"),
    }
}

/// Acts as a user who may do nothing that everybody may not: root's own rights are not looked at in
/// tests of what is denied.
///
/// The rights to files are a thread's own on Linux; elsewhere, whoever tests is not root.
///
/// # Panics
/// `act` did.
#[cfg(test)]
pub fn unprivileged<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let acting = || {
        #[cfg(target_os = "linux")]
        if is_root() {
            const NOBODY: u32 = 65_534;
            nix::unistd::setfsuid(Uid::from_raw(NOBODY));
        }
        act()
    };
    std::thread::scope(|scope| scope.spawn(acting).join().expect("joined"))
}
