//! Reading the timeline back, file by file, oldest day first; in each file as it was written.
//!
//! A [`Reader`] goes over the files in passes: [`Reader::next_entry`] until it has nothing more,
//! [`Reader::finish`] for the entry that is still open, [`Reader::again`] for what has come since. It
//! keeps a place in the files of the last three days only: zones differ, and somebody may still
//! write what is yesterday's here. A file that was replaced or cut short is read anew.
//!
//! However large a file is, a buffer and one entry of it are in memory. What is no regular file is not
//! read, whatever it is called; neither that nor a file that cannot be read keeps the others from being
//! read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use super::entries::{Assembler, Entry};
use super::file_name;
use super::filter::Filter;
use crate::error::{Error, Result};
use crate::sys::file::{self, Instance};

/// In the files of how many days more may come.
const KEPT_DAYS: usize = 3;
/// A line longer than this is skipped, in bytes.
const LINE_LIMIT: usize = 64 << 10;

/// Reads the timeline.
#[derive(Debug)]
pub struct Reader {
    logs: PathBuf,
    filter: Filter,
    /// The days whose files are still to be read in this pass.
    todo: VecDeque<NaiveDate>,
    /// Where we are in the files that more may come in.
    tails: BTreeMap<NaiveDate, Tail>,
    /// What came of files that are no more.
    left: VecDeque<Entry>,
    /// The files that could not be read, of which was told.
    told: BTreeSet<NaiveDate>,
    troubles: VecDeque<Error>,
    skipped: u64,
    /// How many bytes were read.
    progress: u64,
}

impl Reader {
    /// Begins with the oldest file in `logs` that may hold something that `filter` asks for.
    ///
    /// # Errors
    /// The directory cannot be read; that there is none is fine.
    pub fn open(logs: &Path, filter: &Filter) -> Result<Self> {
        Ok(Self {
            todo: days(logs, filter)?.into(),
            logs: logs.to_owned(),
            filter: filter.clone(),
            tails: BTreeMap::new(),
            left: VecDeque::new(),
            told: BTreeSet::new(),
            troubles: VecDeque::new(),
            skipped: 0,
            progress: 0,
        })
    }

    /// The next entry that is asked for; `None` when there is nothing more, but perhaps one that is
    /// still open.
    pub fn next_entry(&mut self) -> Option<Entry> {
        loop {
            let entry = self.next_of_any()?;
            if self.filter.admits(&entry) {
                return Some(entry);
            }
        }
    }

    /// Nothing more comes of the entry that is still open: [`Self::next_entry`] gives it.
    pub fn finish(&mut self) {
        if let Some(newest) = self.tails.values_mut().next_back() {
            self.left.extend(newest.finish());
        }
    }

    /// The same, the last one taken as whole.
    pub fn next_or_last(&mut self) -> Option<Entry> {
        self.next_entry().or_else(|| {
            self.finish();
            self.next_entry()
        })
    }

    /// Nothing more comes of the entry that is still open, though the line that has no end yet may go on.
    pub fn settle(&mut self) {
        if let Some(newest) = self.tails.values_mut().next_back() {
            self.left.extend(newest.assembler.finish());
        }
    }

    /// [`Self::next_entry`], the last one taken as whole unless there is more of it in a line that has no
    /// end yet.
    pub fn next_or_settled(&mut self) -> Option<Entry> {
        self.next_entry().or_else(|| {
            if !self.is_amid_line() {
                self.settle();
            }
            self.next_entry()
        })
    }

    /// Whether an entry is open.
    pub fn is_open(&self) -> bool {
        let newest = self.tails.values().next_back();
        newest.is_some_and(|newest| newest.assembler.is_open())
    }

    /// Whether the last line has no end yet.
    pub fn is_amid_line(&self) -> bool {
        let newest = self.tails.values().next_back();
        newest.is_some_and(Tail::is_amid_line)
    }

    /// Looks for what has come since.
    ///
    /// # Errors
    /// The directory cannot be read any more.
    pub fn again(&mut self) -> Result<()> {
        let mut days = days(&self.logs, &self.filter)?;
        if let Some(&oldest) = self.tails.keys().next() {
            days.retain(|day| *day >= oldest);
        }
        let gone: Vec<NaiveDate> = self
            .tails
            .iter()
            .filter(|(day, tail)| !tail.is_at(&self.path(**day)))
            .map(|(day, _)| *day)
            .collect();
        for day in gone {
            self.drop_tail(day);
        }
        self.todo = days.into();
        Ok(())
    }

    /// The files in which more may come.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.tails.keys().map(|day| self.path(*day)).collect()
    }

    /// Why a file could not be read; of each file once.
    pub fn trouble(&mut self) -> Option<Error> {
        self.troubles.pop_front()
    }

    /// How many lines made no sense so far.
    pub fn skipped(&self) -> u64 {
        let open = self.tails.values().map(|tail| tail.assembler.skipped());
        self.skipped + open.sum::<u64>()
    }

    /// How many bytes were read so far.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    fn next_of_any(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.left.pop_front() {
                return Some(entry);
            }
            let day = *self.todo.front()?;
            if let Some(entry) = self.read(day) {
                return Some(entry);
            }
            self.todo.pop_front();
            if !self.todo.is_empty() {
                // In a file that is not the newest, an entry that is still open is whole.
                let open = self.tails.get_mut(&day).map(Tail::finish);
                self.left.extend(open.into_iter().flatten());
            }
            if self.tails.len() > KEPT_DAYS
                && let Some(&oldest) = self.tails.keys().next()
            {
                self.drop_tail(oldest);
            }
        }
    }

    /// The next whole entry in the file of `day`.
    fn read(&mut self, day: NaiveDate) -> Option<Entry> {
        let tail = match self.tails.get_mut(&day) {
            Some(tail) => Ok(tail),
            None => match Tail::open(&self.path(day)) {
                Ok(Some(tail)) => Ok(self.tails.entry(day).or_insert(tail)),
                // It went while we looked.
                Ok(None) => return None,
                Err(error) => Err(error),
            },
        };
        let found = tail.and_then(|tail| {
            let before = tail.position;
            let found = tail.next();
            self.progress += tail.position - before;
            found.map_err(|e| Error::io("read", &self.logs.join(file_name(day)), &e))
        });
        match found {
            Ok(found) => found,
            Err(error) => {
                if self.told.insert(day) {
                    self.troubles.push_back(error);
                }
                None
            }
        }
    }

    fn drop_tail(&mut self, day: NaiveDate) {
        if let Some(mut tail) = self.tails.remove(&day) {
            // What was written between the last look and its end counts too.
            while let Ok(Some(entry)) = tail.next() {
                self.left.push_back(entry);
            }
            self.left.extend(tail.finish());
            self.skipped += tail.assembler.skipped();
        }
    }

    fn path(&self, day: NaiveDate) -> PathBuf {
        self.logs.join(file_name(day))
    }
}

/// The days of which there are files in `logs` that may hold something that is asked for, oldest first.
fn days(logs: &Path, filter: &Filter) -> Result<Vec<NaiveDate>> {
    let fail = |e: &io::Error| Error::io("read", logs, e);
    let listing = match std::fs::read_dir(logs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(|e| fail(&e))?,
    };
    let mut days = Vec::new();
    for entry in listing {
        let name = entry.map_err(|e| fail(&e))?.file_name();
        let day = name.to_str().and_then(day_of);
        days.extend(day.filter(|day| filter.wants_day(*day)));
    }
    days.sort_unstable();
    Ok(days)
}

/// The day whose file has this name.
fn day_of(name: &str) -> Option<NaiveDate> {
    let day = name.strip_prefix("lock-")?.strip_suffix(".log")?;
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    (file_name(day) == name).then_some(day)
}

/// A file, and how far it was read.
#[derive(Debug)]
struct Tail {
    reader: BufReader<File>,
    instance: Instance,
    /// How many bytes were read.
    position: u64,
    /// The line that has no end yet.
    line: Vec<u8>,
    /// Whether more of it was read than is kept.
    too_long: bool,
    assembler: Assembler,
}

impl Tail {
    fn open(path: &Path) -> Result<Option<Self>> {
        let Some(file) = file::open(path)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            instance: Instance::of(&file).map_err(|e| Error::io("examine", path, &e))?,
            reader: BufReader::new(file),
            position: 0,
            line: Vec::new(),
            too_long: false,
            assembler: Assembler::default(),
        }))
    }

    /// Whether this is still the file at `path`, and not cut short.
    fn is_at(&self, path: &Path) -> bool {
        // What cannot be seen now is not known to be another.
        file::instance(path).map_or(true, |there| {
            there.is_some_and(|it| it.same_file(&self.instance) && it.size >= self.position)
        })
    }

    /// The next whole entry; `None` at the end of what there is.
    fn next(&mut self) -> io::Result<Option<Entry>> {
        loop {
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            if self.line.len() + piece.len() <= LINE_LIMIT {
                self.line.extend_from_slice(piece);
            } else {
                self.too_long = true;
            }
            let taken = piece.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            self.position += taken as u64;
            if end.is_some()
                && let Some(entry) = self.end_line()
            {
                return Ok(Some(entry));
            }
        }
    }

    fn end_line(&mut self) -> Option<Entry> {
        let line = std::mem::take(&mut self.line);
        let too_long = std::mem::take(&mut self.too_long);
        let line = String::from_utf8_lossy(&line);
        if too_long {
            self.assembler.skip(&line)
        } else {
            self.assembler.line(&line)
        }
    }

    /// Whether a line was begun that has no end yet.
    fn is_amid_line(&self) -> bool {
        !self.line.is_empty() || self.too_long
    }

    /// What is open: nothing more comes, not even the end of its line.
    fn finish(&mut self) -> Vec<Entry> {
        let mut whole = Vec::new();
        if self.is_amid_line() {
            // A first line without an end ends the entry before it, too.
            whole.extend(self.end_line());
        }
        whole.extend(self.assembler.finish());
        whole
    }
}

#[cfg(test)]
mod tests;
