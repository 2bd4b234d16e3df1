//! `git locks log --follow`: what has happened, then what happens, until interrupted.
//!
//! What is there already is given first. Then the files are watched, and looked at anew every
//! [`SLOW_LOOK`] in any case: a watch sees no new file, and that is how a day begins. An entry that another
//! program writes in pieces is given once nothing more of it has come for [`SETTLED`], or for [`AMID_LINE`]
//! where the last piece ends in the middle of a line. What is there of such a line is kept until its end
//! comes, however long that takes: who buffers what it writes ends its pieces anywhere.
//!
//! It ends at a signal with the code of that, and without a word when nobody reads it any more.

use std::collections::VecDeque;
use std::time::Duration;

use super::{row, skipped_words};
use crate::error::Result;
use crate::event_log::entries::Entry;
use crate::event_log::reading::Reader;
use crate::exit::Exit;
use crate::report::{Next, Note, Report, Stream};
use crate::sys::clock;
use crate::sys::signals::{self, Signals};
use crate::sys::wake::{self, End, Watch};

/// How long it sleeps at most.
const SLOW_LOOK: Duration = Duration::from_secs(1);
/// How long nothing more must come of an entry until it is whole.
const SETTLED: Duration = Duration::from_millis(50);
/// The same while a line has no end.
const AMID_LINE: Duration = Duration::from_secs(1);

/// The timeline from now on.
#[derive(Debug)]
pub(super) struct Follow {
    reader: Reader,
    /// What comes before all that is read from here.
    backlog: VecDeque<Entry>,
    signals: Signals,
    watch: Watch,
    /// The end of who reads us.
    reader_ends: Vec<End>,
    /// Whether what was there from the start has been given.
    caught_up: bool,
    /// How far was read, and when that was seen, by the steady clock.
    progress: (u64, f64),
    /// How many skipped lines were told of.
    told: u64,
}

impl Follow {
    /// Goes on after `backlog` with what `reader` has and will have.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub(super) fn new(reader: Reader, backlog: VecDeque<Entry>) -> Result<Self> {
        Ok(Self {
            reader,
            backlog,
            signals: Signals::arm(&signals::ENDING)?,
            watch: Watch::new(),
            reader_ends: wake::end_of_reader().into_iter().collect(),
            caught_up: false,
            progress: (0, clock::steady()),
            told: 0,
        })
    }

    /// The end that a signal has asked for.
    fn interrupted(&mut self) -> Option<Exit> {
        let arrived = self.signals.take();
        let ending = arrived.iter().find(|arrival| arrival.ends())?;
        Some(Exit::signal(ending.signal))
    }

    /// What is to be said on standard error.
    fn note(&mut self) -> Option<Note> {
        if let Some(error) = self.reader.trouble() {
            return Some(Note::Warning(format!("not read: {error}")));
        }
        let skipped = self.reader.skipped();
        let words = skipped_words(skipped - self.told)?;
        self.told = skipped;
        Some(Note::Detail(words))
    }

    /// What there is now.
    fn look(&mut self) -> Option<Entry> {
        if let Some(entry) = self.backlog.pop_front() {
            return Some(entry);
        }
        if !self.caught_up {
            let entry = self.reader.next_or_settled();
            self.caught_up = entry.is_none();
            return entry;
        }
        if let Some(entry) = self.reader.next_entry() {
            return Some(entry);
        }
        let now = clock::steady();
        if self.reader.progress() != self.progress.0 {
            self.progress = (self.reader.progress(), now);
        }
        let is_whole = self.reader.is_open() && self.settles_in(now).is_zero();
        if is_whole {
            self.reader.settle();
        }
        self.reader.next_entry()
    }

    /// How long an entry that is open must wait still.
    fn settles_in(&self, now: f64) -> Duration {
        let passed = Duration::try_from_secs_f64(now - self.progress.1).unwrap_or_default();
        let due = if self.reader.is_amid_line() {
            AMID_LINE
        } else {
            SETTLED
        };
        due.saturating_sub(passed)
    }

    /// Waits for something to happen, and begins to look anew.
    fn wait(&mut self) -> Result<()> {
        // What has happened before it is watched is not told: then, look once more.
        if !self.watch.set(&self.reader.paths()) {
            let span = if self.reader.is_open() {
                self.settles_in(clock::steady())
            } else {
                SLOW_LOOK
            };
            wake::sleep(&self.watch, &self.reader_ends, &self.signals, None, span);
            self.watch.drain();
        }
        self.reader.again()
    }
}

impl Stream for Follow {
    fn next(&mut self) -> Result<Next> {
        loop {
            if let Some(exit) = self.interrupted() {
                return Ok(Next::End(exit));
            }
            if let Some(entry) = self.look() {
                return Ok(Next::Report(Box::new(Report::TimelineEntry(row(entry)))));
            }
            if let Some(note) = self.note() {
                return Ok(Next::Note(note));
            }
            if self.reader_ends.iter().any(End::has_come) {
                return Ok(Next::End(Exit::SUCCESS));
            }
            self.wait()?;
        }
    }

    fn room(&mut self) -> Option<Exit> {
        loop {
            if let Some(exit) = self.interrupted() {
                return Some(exit);
            }
            if wake::output_has_room(&self.signals) {
                return None;
            }
        }
    }
}
