//! Moving a store to another location, between any two engines.
//!
//! Every table of both databases is copied in key order, in transactions of a few hundred rows.
//! Afterwards both ends are read and compared by checksums over the values. Until the comparison
//! has succeeded, the target is marked, and every program refuses to open it. An interrupted move
//! can be resumed, because the rows of a table at the target are a prefix of those at the source.
//! The target must be empty, or contain a part of a move from the same source at the same version.
//!
//! `tables.rs` lists the tables, `rows.rs` reads and writes rows, and `ends.rs` opens and locks
//! both ends.

mod ends;
mod error;
mod rows;
mod tables;

use std::ops::ControlFlow;

use market::Timestamp;

use crate::backup::Part;
use crate::engine::{Db, StoreError, StoreUrl};
pub use ends::servers;
pub use error::{DatabaseName, MoveError};

use ends::{Source, Target};
use rows::{Digest, End, Nul};
use tables::Table;

/// Parameters of a move.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    pub from: &'a StoreUrl,
    pub to: &'a StoreUrl,
    /// Recorded with the migrations of a new target.
    pub now: Timestamp,
}

/// Stage of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStage {
    Copy,
    Compare,
}

/// Progress of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveProgress<'a> {
    pub stage: MoveStage,
    pub part: Part,
    pub table: &'a str,
    /// Number of rows processed so far, over all tables.
    pub rows: u64,
    pub rows_total: u64,
}

/// Callback that receives progress and returns `Break` to stop the move. Copied rows remain, and
/// the same move can be resumed.
pub type MoveWatch<'a> = dyn FnMut(MoveProgress<'_>) -> ControlFlow<()> + 'a;

/// A table that was found to be equal at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedTable {
    pub part: Part,
    pub name: String,
    pub rows: u64,
    /// BLAKE3 digest over the values of all rows in key order.
    pub digest: String,
}

/// A copied and verified store. The target stays marked until [`Copied::finish`], so that the files
/// next to the databases can be copied first.
#[derive(Debug)]
pub struct Copied {
    source: Source,
    target: Target,
    pub tables: Vec<MovedTable>,
    /// Whether an interrupted move was resumed.
    pub resumed: bool,
}

impl Move<'_> {
    pub fn run(&self, watch: &mut MoveWatch<'_>) -> Result<Copied, MoveError> {
        if self.from == self.to {
            return Err(MoveError::Same { place: self.to.clone() });
        }
        let source = Source::open(self.from)?;
        let (target, resumed) = Target::open(self.to, &source, self.now)?;
        // Both schemas are compared first, so that a difference is reported before hours of
        // copying.
        let mut pairs = vec![Pair::of(Part::Candles, &source.candles, &target.candles)?];
        if let Some(accounts) = &source.accounts {
            pairs.push(Pair::of(Part::Accounts, accounts, &target.accounts)?);
        }
        let mut total = 0;
        for pair in &pairs {
            for table in &pair.tables {
                total += rows::count(pair.from.db, table)?;
            }
        }
        let mut counter = Counter { stage: MoveStage::Copy, copied: 0, compared: 0, total, watch };
        let mut tables = Vec::new();
        // The databases are copied one after the other, because the transaction that blocks account
        // changes must not be idle while candles are copied: the server aborts idle transactions.
        for pair in &pairs {
            source.hold(pair.part)?;
            counter.stage = MoveStage::Copy;
            for table in &pair.tables {
                pair.copy(table, &target, &mut counter)?;
            }
            counter.stage = MoveStage::Compare;
            for table in &pair.tables {
                tables.push(pair.compare(table, &mut counter)?);
            }
            source.let_go(pair.part)?;
        }
        drop(pairs);
        Ok(Copied { source, target, tables, resumed })
    }
}

impl Copied {
    /// Records the fingerprint of the sealing key at a PostgreSQL target. Returns the recorded
    /// fingerprint.
    pub fn note_sealing_key(&self, fingerprint: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.target.note_sealing_key(fingerprint)
    }

    /// Returns whether the source has accounts, and therefore a key file.
    pub fn has_accounts(&self) -> bool {
        self.source.accounts.is_some()
    }

    /// Completes the move. Afterwards the target is a regular store. Fails if the source has
    /// changed since the move began.
    pub fn finish(self) -> Result<(), MoveError> {
        self.source.check_unchanged(self.target.url())?;
        self.target.unmark()
    }
}

/// Progress counter over all tables.
struct Counter<'a, 'b> {
    stage: MoveStage,
    copied: u64,
    compared: u64,
    total: u64,
    watch: &'a mut MoveWatch<'b>,
}

impl Counter<'_, '_> {
    fn add(&mut self, part: Part, table: &str, rows: usize) -> Result<(), MoveError> {
        let counted = match self.stage {
            MoveStage::Copy => &mut self.copied,
            MoveStage::Compare => &mut self.compared,
        };
        *counted += rows as u64;
        let progress =
            MoveProgress { stage: self.stage, part, table, rows: *counted, rows_total: self.total };
        match (self.watch)(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(MoveError::Stopped),
        }
    }
}

/// A database at the source and at the target of a move.
struct Pair<'a> {
    part: Part,
    from: End<'a>,
    to: End<'a>,
    /// Tables in an order in which each table follows the tables that it references.
    tables: Vec<Table>,
}

impl<'a> Pair<'a> {
    fn of(part: Part, from: &'a Db, to: &'a Db) -> Result<Pair<'a>, MoveError> {
        let tables = tables::agreed(DatabaseName(part), tables::of(from)?, &tables::of(to)?)?;
        let nul = if to.is_remote() { Nul::Replaced } else { Nul::Unchanged };
        Ok(Pair { part, from: End::of(from, part, nul)?, to: End::of(to, part, nul)?, tables })
    }

    /// Copies the rows that the target lacks.
    fn copy(&self, table: &Table, target: &Target, counter: &mut Counter<'_, '_>) -> Result<(), MoveError> {
        let mut behind = self.to.last_key(table)?;
        if behind.is_some() {
            let known = rows::count(self.to.db, table)?;
            counter.add(self.part, &table.name, usize::try_from(known).unwrap_or(usize::MAX))?;
        }
        loop {
            let page = self.from.page(table, behind.as_deref())?;
            let Some(last) = page.last() else { return Ok(()) };
            behind = Some(table.key(last));
            target.write(self.part, || self.to.insert(table, &page))?;
            counter.add(self.part, &table.name, page.len())?;
        }
    }

    /// Reads a table at both ends in lockstep, so that neither connection is idle for long, and
    /// compares the digests.
    fn compare(&self, table: &Table, counter: &mut Counter<'_, '_>) -> Result<MovedTable, MoveError> {
        let ends = [&self.from, &self.to];
        let mut digests = ends.map(|_| Digest::of(table));
        let mut behind = [None, None];
        loop {
            let mut read = 0;
            for ((end, digest), behind) in ends.iter().zip(&mut digests).zip(&mut behind) {
                let page = end.page(table, behind.as_deref())?;
                page.iter().for_each(|row| digest.add(row));
                read += page.len();
                *behind = page.last().map(|last| table.key(last)).or_else(|| behind.take());
            }
            if read == 0 {
                break;
            }
            counter.add(self.part, &table.name, read / 2)?;
        }
        let [from, to] = digests;
        if from.rows != to.rows || from.finish() != to.finish() {
            let (part, table) = (DatabaseName(self.part), table.name.clone());
            return Err(MoveError::Differs { part, table, to: self.to.db.url().clone() });
        }
        Ok(MovedTable { part: self.part, name: table.name.clone(), rows: from.rows, digest: from.finish() })
    }
}
