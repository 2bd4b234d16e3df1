//! A process that holds a kernel lock while a command runs.

use std::fs::File;
use std::path::PathBuf;

use super::{Attempt, KernelLock};
use crate::error::{Result, reason};
use crate::run::{Held, Kept};
use crate::store::sentinel;
use crate::sys::file;

/// A lock that is held.
pub(super) struct Holding<'l, 'a> {
    lock: &'l KernelLock<'a>,
    /// What runs under it, for people.
    command: String,
    /// The locked file that stands at the path, as far as is known.
    file: File,
    /// Those that stood there before: who waits for one of them is still to be kept out.
    former: Vec<File>,
}

impl<'l, 'a> Holding<'l, 'a> {
    /// Holds the lock whose locked file is `file`.
    pub fn begin(lock: &'l KernelLock<'a>, file: File, command: String) -> Self {
        let holding = Self {
            lock,
            command,
            file,
            former: Vec::new(),
        };
        holding.sign();
        holding
    }

    /// Writes who holds it. Best effort: it is the kernel that keeps others out.
    fn sign(&self) {
        let Some(sentinel) = self.lock.own_sentinel(&self.command) else {
            return;
        };
        if let Err(error) = sentinel::write(&self.file, &self.lock.path, &sentinel) {
            let voice = &self.lock.context.voice;
            voice.warn(format!(
                "the lock is held, but does not say by whom: {error}"
            ));
        }
    }

    /// Lets go, whoever else has the locked file open.
    pub fn let_go(self) {
        for file in self.former.iter().chain([&self.file]) {
            if let Err(error) = file.unlock() {
                let voice = &self.lock.context.voice;
                voice.warn(format!("cannot unlock: {}", reason(&error)));
            }
        }
    }
}

impl Held for Holding<'_, '_> {
    fn what(&self) -> &'static str {
        self.lock.what
    }

    fn looks_kept(&mut self) -> bool {
        file::is_at(&self.file, &self.lock.path).unwrap_or(false)
    }

    fn keep(&mut self) -> Result<Kept> {
        if file::is_at(&self.file, &self.lock.path)? {
            return Ok(Kept::Yes);
        }
        match self.lock.attempt()? {
            Attempt::Taken(file) => {
                self.former.push(std::mem::replace(&mut self.file, file));
                self.sign();
                Ok(Kept::Restored)
            }
            Attempt::Held(_) => Ok(Kept::Lost(Some(self.lock.holder().words()))),
        }
    }

    fn watch(&self) -> Vec<PathBuf> {
        vec![self.lock.path.clone()]
    }

    /// Nothing is to be renewed.
    fn keep_every(&self) -> f64 {
        f64::INFINITY
    }
}
