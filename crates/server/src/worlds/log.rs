//! The log of a world, line by line: securities that its program reads and subscribes to, events of
//! its account, and the hashes of its pushes. `record.rs` adds lines, and `write.rs` stores them.
//!
//! The digests form a chain. The digest of an event or a step is SHA-256 of the previous digest,
//! the kind and the entry, so it covers all events and steps up to this line, and a world that was
//! reset or copied continues the chain. Other lines are notes for the reader. They are not hashed,
//! because they may differ between equal runs.

use std::collections::HashMap;

use market::{Symbol, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::{Accounts, Hash, StoreError, WorldLine};

use super::World;
use super::error::LINES_MAX;
use super::write::UNWRITTEN_MAX;

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// The world was created.
    Created,
    /// The world was created as a copy. The preceding lines were copied from its source.
    Forked,
    /// An entry of the account's journal.
    Event,
    /// A movement of the clock.
    Step,
    /// The versions of a security's series when the security was first read.
    Data,
    Subscribed,
    Unsubscribed,
    /// The state was changed by a request.
    Changed,
    Reset,
    /// The server ended before it stored the last steps, and the clock continues at the last stored
    /// event of the account.
    Recovered,
}

impl LineKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            LineKind::Created => "created",
            LineKind::Forked => "forked",
            LineKind::Event => "event",
            LineKind::Step => "step",
            LineKind::Data => "data",
            LineKind::Subscribed => "subscribed",
            LineKind::Unsubscribed => "unsubscribed",
            LineKind::Changed => "changed",
            LineKind::Reset => "reset",
            LineKind::Recovered => "recovered",
        }
    }

    fn is_hashed(self) -> bool {
        matches!(self, LineKind::Event | LineKind::Step)
    }
}

/// The end of a log, and the lines that are not stored yet.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Number of the last line.
    pub(crate) number: u64,
    /// Time of the last line.
    at: Timestamp,
    /// Number of the last step.
    pub(crate) step: u64,
    /// Number of the last journal entry.
    pub(crate) entries: u64,
    pub(crate) digest: Hash,
    pub(crate) unwritten: Vec<WorldLine>,
    /// Recorded versions of securities, by symbol: the version of the store, and the note.
    pub(crate) noted: HashMap<Symbol, (i64, Value)>,
}

impl Log {
    /// Returns a log that ends with this line.
    pub(crate) fn after(line: Option<&WorldLine>) -> Log {
        let Some(line) = line else { return Log::default() };
        let WorldLine { number, at, step, entries, digest, .. } = *line;
        Log { number, at, step, entries, digest, ..Log::default() }
    }

    /// Returns the log of a reset world, which ends with a line about the reset. `last` is the last
    /// remaining line.
    pub(crate) fn reset_to(last: Option<&WorldLine>, at: Timestamp, actor: &str) -> Log {
        let mut log = Log::after(last);
        log.add(LineKind::Reset, at, json!({"to": at.to_string(), "by": actor}).to_string(), String::new());
        log
    }

    pub(crate) fn is_full(&self) -> bool {
        self.number >= LINES_MAX
    }

    /// Adds a line. The time of a line is never before that of the previous line, so that a log can
    /// be cut at an instant.
    pub(crate) fn add(&mut self, kind: LineKind, at: Timestamp, entry: String, request: String) {
        if kind.is_hashed() {
            let mut hash = Sha256::new();
            hash.update(self.digest);
            hash.update(kind.as_str());
            hash.update([0]);
            hash.update(&entry);
            self.digest = hash.finalize().into();
        } else if self.is_full() || self.unwritten.len() >= 2 * UNWRITTEN_MAX {
            return;
        }
        self.number += 1;
        self.at = self.at.max(at);
        let Log { number, at, step, entries, digest, .. } = *self;
        let kind = kind.as_str().to_owned();
        self.unwritten.push(WorldLine { number, at, step, entries, kind, entry, request, digest });
    }
}

/// A hash of published pushes, and the number of these pushes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PushHash {
    count: u64,
    hash: Sha256,
}

impl PushHash {
    /// Adds the body of a push.
    pub(crate) fn add(&mut self, body: &[u8]) {
        self.count += 1;
        // With the lengths, equal bytes that are split into other pushes have another hash.
        self.hash.update((body.len() as u64).to_be_bytes());
        self.hash.update(body);
    }

    fn shown(self) -> Value {
        json!({"pushes": self.count, "sha256": hex(&self.hash.finalize())})
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl World {
    /// Reads the end of the stored log.
    pub(crate) fn read_log(&self, accounts: &Accounts) -> Result<(), StoreError> {
        let last = accounts.last_world_line(self.account, u64::MAX)?;
        *self.log() = Log::after(last.as_ref());
        Ok(())
    }

    /// Adds a movement of the clock. `request` is not hashed, because equal runs may step
    /// differently.
    pub(crate) fn add_step(&self, now: Timestamp, step: u64, pushes: PushHash, request: &Value) {
        let has_ended = now >= self.span.end();
        let entry =
            json!({"now": now.to_string(), "step": step, "ended": has_ended, "quote": pushes.shown()});
        let mut log = self.log();
        log.step = step;
        log.add(LineKind::Step, now, entry.to_string(), request.to_string());
    }

    /// Adds a line that is not hashed.
    pub(crate) fn note(&self, kind: LineKind, at: Timestamp, note: &Value) {
        self.log().add(kind, at, note.to_string(), String::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest_of(lines: &[(LineKind, &str)]) -> Hash {
        let mut log = Log::default();
        for (kind, entry) in lines {
            log.add(*kind, Timestamp(7), (*entry).to_owned(), String::new());
        }
        log.digest
    }

    #[test]
    fn notes_do_not_change_the_digest() {
        use LineKind::{Data, Event, Step};
        let run = digest_of(&[(Event, "a"), (Step, "b")]);
        assert_eq!(digest_of(&[(Data, "x"), (Event, "a"), (Data, "y"), (Step, "b")]), run);
        for other in [[(Step, "b"), (Event, "a")], [(Event, "a"), (Step, "c")], [(Step, "a"), (Step, "b")]] {
            assert_ne!(digest_of(&other), run);
        }
        assert_ne!(digest_of(&[(Event, "ab")]), digest_of(&[(Event, "a"), (Event, "b")]));
    }

    #[test]
    fn a_log_can_be_continued_after_an_earlier_line() {
        let mut log = Log::default();
        for (number, text) in ["a", "b", "c"].iter().enumerate() {
            log.step = number as u64;
            log.add(LineKind::Step, Timestamp(10 - number as i64), (*text).to_owned(), String::new());
        }
        let mut again = Log::after(log.unwritten.get(1));
        again.step = 2;
        again.add(LineKind::Step, Timestamp(8), "c".to_owned(), String::new());
        assert_eq!(again.unwritten[..], log.unwritten[2..]);
        assert_eq!(log.unwritten[2].at, Timestamp(10), "times do not descend");
    }

    #[test]
    fn the_boundaries_of_pushes_are_part_of_their_hash() {
        let shown = |bodies: &[&[u8]]| {
            let mut hash = PushHash::default();
            bodies.iter().for_each(|body| hash.add(body));
            hash.shown()
        };
        assert_ne!(shown(&[b"ab", b"c"])["sha256"], shown(&[b"a", b"bc"])["sha256"]);
        assert_eq!(shown(&[b"ab", b"c"])["pushes"], 2);
    }
}
