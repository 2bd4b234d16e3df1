//! Who runs this process, and the names of other users.

use nix::unistd::{Uid, User, geteuid};

/// The effective user of this process.
pub fn me() -> u32 {
    geteuid().as_raw()
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
