//! Calls from inside a run: known by the token that the run gave its command.
//!
//! A run gives its command `GIT_LOCKS_LOCK` (which lock), `GIT_LOCKS_HOLDER` (under which id) and
//! `GIT_LOCKS_TOKEN`: for each lock that the command is inside of, a digest of its name, a colon and a
//! secret, with blanks between them. A secret proves that a call comes from inside as long as its digest
//! is what is recorded of whoever holds that very lock.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use crate::error::Result;
use crate::sys::random;
use crate::text;

/// Which lock the innermost run is of.
pub const LOCK: &str = "GIT_LOCKS_LOCK";
/// The id under which it holds the lock.
pub const HOLDER: &str = "GIT_LOCKS_HOLDER";
/// The secrets by which calls from inside are known.
pub const TOKEN: &str = "GIT_LOCKS_TOKEN";

/// How many random bytes make a secret.
const SECRET_BYTES: usize = 16;
/// How many bytes of a digest name a lock.
const NAME_BYTES: usize = 8;

/// A secret for one run, and the lock that it is of.
pub struct Token {
    lock: OsString,
    secret: String,
}

impl Token {
    /// A new secret for a run of the lock that `lock` names.
    pub fn new(lock: OsString) -> Result<Self> {
        let secret = random::hex(SECRET_BYTES)?;
        Ok(Self { lock, secret })
    }

    /// What is recorded of it.
    pub fn digest(&self) -> String {
        digest(&self.secret)
    }

    /// What the command is told of the lock from the start.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        [vec![(LOCK, self.lock.clone())], self.mention()].concat()
    }

    /// The same, of a lock that nobody holds by an id: what is told of others stays.
    pub fn mention(&self) -> Vec<(&'static str, OsString)> {
        let own = format!("{}:{}", name(&self.lock), self.secret);
        let tokens = [vec![own], others(&self.lock)].concat().join(" ");
        vec![(TOKEN, tokens.into())]
    }
}

/// The value of the variable of secrets without one for `lock`.
pub fn without(lock: &OsStr) -> String {
    others(lock).join(" ")
}

/// The digest of the secret that this process was given for that very lock.
pub fn given(lock: &OsStr) -> Option<String> {
    let tokens = env::var(TOKEN).ok()?;
    let name = name(lock);
    let secrets = tokens.split(' ').filter_map(|token| token.split_once(':'));
    let mut own = secrets.filter(|(of, secret)| *of == name && !secret.is_empty());
    own.next().map(|(_, secret)| digest(secret))
}

/// The secrets that this process was given for other locks.
fn others(lock: &OsStr) -> Vec<String> {
    let tokens = env::var(TOKEN).unwrap_or_default();
    let name = name(lock);
    let is_other = |token: &&str| token.split_once(':').is_some_and(|(of, _)| of != name);
    let others = tokens.split(' ').filter(is_other);
    others.map(ToOwned::to_owned).collect()
}

fn name(lock: &OsStr) -> String {
    text::digest(lock.as_bytes(), NAME_BYTES)
}

fn digest(secret: &str) -> String {
    text::digest(secret.as_bytes(), 16)
}
