//! The thread that fills and updates the local copy. It is the only writer of the file, so no
//! request waits for the copy's disk writes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use market::Symbol;

use super::fetch::{Fetched, Origin, Step};
use super::file::{LocalFile, Size};
use super::held::Mark;
use super::queue::{FetchedBody, Work};
use super::{POLL, Shared};
use crate::candles::copy::StoreNews;
use crate::engine::{Db, StoreError};

/// Delay before the next attempt after the file could not be created.
const TRY_AGAIN: Duration = Duration::from_secs(10);
/// Maximum number of symbols evicted per round. Polls of the shared database wait for the round to
/// end.
const FORGOTTEN_AT_ONCE: usize = 32;
const FREED_AT_ONCE: u64 = 64 << 20;
/// Size of the WAL, in bytes, above which it is checkpointed and, if no reader uses it, restarted.
const LOG_BYTES: u64 = 32 << 20;

pub(super) struct Worker {
    shared: Arc<Shared>,
    far: Db,
    /// The local file; `None` while it cannot be created, for example because the disk is full. All
    /// queries then go to the shared database.
    file: Option<LocalFile>,
    origin: Origin,
    marks: u64,
    /// Time of the last attempt to create a file.
    tried: Instant,
}

/// An error, classified by the database that failed.
#[derive(Debug)]
pub(super) enum Trouble {
    Far(StoreError),
    File(StoreError),
}

impl Worker {
    /// Opens the existing file if it is a copy of this database, or creates a new file. Updates the
    /// copy to the current version.
    pub(super) fn open(shared: Arc<Shared>, far: Db) -> Result<Worker, StoreError> {
        let now = Origin::read(&far)?;
        let number = LocalFile::newest(&shared.dir)?.unwrap_or_default();
        let found = LocalFile::open(&shared.dir, number).and_then(|file| {
            let (origin, held) = (file.origin()?, file.held()?);
            Ok((file, origin, held))
        });
        let (file, origin) = match found {
            Ok((file, origin, held)) if origin.identity == now.identity => {
                shared.held.load(held, Mark(1));
                shared.number.store(number, Ordering::Release);
                (file, origin)
            }
            // Any problem with the file is solved by recreating it, because the shared database has
            // all of the data.
            _ => {
                let number = number.saturating_add(1);
                let file = LocalFile::create(&shared.dir, number, &now)?;
                shared.number.store(number, Ordering::Release);
                (file, now)
            }
        };
        shared.version.store(origin.version, Ordering::Release);
        let mut worker = Worker { shared, far, file: Some(file), origin, marks: 1, tried: Instant::now() };
        match worker.follow(&[]) {
            Ok(()) => Ok(worker),
            Err(Trouble::Far(error)) => Err(error),
            Err(Trouble::File(_)) => {
                let origin = worker.origin.clone();
                worker.begin_anew(origin)?;
                Ok(worker)
            }
        }
    }

    pub(super) fn run(mut self) {
        while let Some((work, ticket)) = self.shared.queue.take(Instant::now() + POLL) {
            self.shared.turn.fetch_add(1, Ordering::Relaxed);
            let version = self.origin.version;
            if let Err(trouble) = self.turn(&work) {
                self.note(trouble);
            }
            self.shared.queue.answer(ticket);
            // Called last, so that a listener that reads the copy finds the change.
            if self.origin.version != version {
                self.shared.notify(StoreNews::Changed);
            }
        }
    }

    pub(super) fn turn(&mut self, work: &Work) -> Result<(), Trouble> {
        if work.damaged == Some(self.shared.number.load(Ordering::Acquire)) {
            self.begin_anew(self.origin.clone()).map_err(Trouble::File)?;
        }
        if self.file.is_none() && self.tried.elapsed() >= TRY_AGAIN {
            self.begin_anew(self.origin.clone()).map_err(Trouble::File)?;
        }
        self.forget(&work.doubted)?;
        self.follow(&work.symbols)?;
        self.store_bodies(&work.bodies)?;
        self.make_room(0, &BTreeSet::new())?;
        self.file.iter().for_each(LocalFile::fold_in_log_if_long);
        Ok(())
    }

    fn note(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Far(error) => {
                self.shared.is_reachable.store(false, Ordering::Release);
                self.shared.fail(&error);
                self.shared.queue.give_up();
            }
            Trouble::File(error) => {
                self.shared.fail(&error);
                if let Err(error) = self.begin_anew(self.origin.clone()) {
                    self.shared.fail(&error);
                }
            }
        }
    }

    /// Updates the copy to the current version of the shared database, and fetches `symbols`.
    fn follow(&mut self, symbols: &[Symbol]) -> Result<(), Trouble> {
        if symbols.is_empty() && Origin::read(&self.far).map_err(Trouble::Far)? == self.origin {
            self.shared.reach();
            return Ok(());
        }
        let mut known = Vec::with_capacity(symbols.len());
        for symbol in symbols.iter().filter(|_| self.file.is_some()) {
            let file = self.file.as_ref().map(|file| file.known(symbol));
            known.push((symbol, file.transpose().map_err(Trouble::File)?.unwrap_or_default()));
        }
        self.far.begin_read().map_err(Trouble::Far)?;
        let read = (|| {
            let now = Origin::read(&self.far)?;
            let step = match now == self.origin {
                true => Step::Changed(Vec::new()),
                false => self.origin.step(&self.far, &now)?,
            };
            let mut fetched = Vec::with_capacity(known.len());
            if step != Step::Apart {
                for (symbol, known) in &known {
                    fetched.push(Fetched::read(&self.far, symbol, known)?);
                }
            }
            Ok((now, step, fetched))
        })();
        // This transaction wrote nothing. If the connection is broken, the next transaction reports
        // the error.
        self.far.commit().ok();
        let (now, step, fetched) = read.map_err(Trouble::Far)?;
        self.shared.reach();
        let Step::Changed(touched) = step else {
            return self.begin_anew(now).map_err(Trouble::File);
        };
        let Some(file) = &self.file else {
            self.shared.version.store(now.version, Ordering::Release);
            self.origin = now;
            return Ok(());
        };
        // Memory is updated first, so that queries for these symbols immediately go to the shared
        // database.
        let outdated = self.shared.held.outdate(touched);
        let written = file.change(|| {
            outdated.iter().try_for_each(|symbol| file.outdate(symbol))?;
            let mut sizes = Vec::with_capacity(fetched.len());
            for (fetched, (symbol, known)) in fetched.iter().zip(&known) {
                let bodies = self.shared.held.size(symbol).unwrap_or_default().bodies;
                sizes.push(file.put(fetched, known, bodies)?);
            }
            file.put_origin(&now)?;
            Ok(sizes)
        });
        let sizes = written.map_err(Trouble::File)?;
        self.shared.version.store(now.version, Ordering::Release);
        let turn = self.shared.turn.load(Ordering::Relaxed);
        for (fetched, size) in fetched.iter().zip(sizes) {
            self.marks += 1;
            let state = (Mark(self.marks), now.version);
            if !self.shared.held.put(&fetched.symbol, state, size, turn) {
                self.shared.queue.want(&fetched.symbol);
            }
        }
        self.origin = now;
        Ok(())
    }

    /// Stores the bodies whose symbols are in the copy.
    fn store_bodies(&mut self, bodies: &[FetchedBody]) -> Result<(), Trouble> {
        let Some(file) = self.file.as_ref().filter(|_| !bodies.is_empty()) else { return Ok(()) };
        let mut stored: Vec<(Symbol, &FetchedBody)> = Vec::with_capacity(bodies.len());
        for body in bodies {
            let symbol = file.symbol_of(body.of, body.id).map_err(Trouble::File)?;
            stored.extend(
                symbol.filter(|symbol| self.shared.held.size(symbol).is_some()).map(|symbol| (symbol, body)),
            );
        }
        let bytes = stored.iter().map(|(_, body)| body.bytes.len() as u64).sum();
        let symbols: BTreeSet<Symbol> = stored.iter().map(|(symbol, _)| symbol.clone()).collect();
        if !self.make_room(bytes, &symbols)? {
            // The bodies are larger than the whole copy, so queries will fetch them each time.
            return Ok(());
        }
        let Some(file) = &self.file else { return Ok(()) };
        let sizes = file.change(|| {
            let mut sizes: Vec<(Symbol, Size)> = Vec::with_capacity(symbols.len());
            for symbol in symbols {
                let mut size = self.shared.held.size(&symbol).unwrap_or_default();
                for (_, body) in stored.iter().filter(|(of, _)| *of == symbol) {
                    if file.store_bodies(body.of, body.id, &body.bytes)? {
                        size.bodies = size.bodies.saturating_add(body.bytes.len() as u64);
                    }
                }
                file.put_size(&symbol, size)?;
                sizes.push((symbol, size));
            }
            Ok(sizes)
        });
        for (symbol, size) in sizes.map_err(Trouble::File)? {
            self.shared.held.put_size(&symbol, size);
        }
        Ok(())
    }

    /// Evicts the least recently used symbols until `bytes` fit. Evicts a limited amount per round,
    /// and the next round continues after polling the shared database. Returns whether `bytes` fit.
    fn make_room(&mut self, bytes: u64, but_not: &BTreeSet<Symbol>) -> Result<bool, Trouble> {
        let max = self.shared.bytes_max;
        let taken = self.shared.held.sum().bytes.saturating_add(bytes);
        if taken <= max || bytes > max {
            return Ok(taken <= max);
        }
        // A little more than needed is freed, so that not every query causes an eviction.
        let excess = (taken - max).saturating_add(max / 16).min(FREED_AT_ONCE);
        let mut oldest = self.shared.held.oldest(excess, |symbol| but_not.contains(symbol));
        oldest.truncate(FORGOTTEN_AT_ONCE);
        self.forget(&oldest)?;
        self.shared.evicted.fetch_add(oldest.len() as u64, Ordering::Relaxed);
        let has_room = self.shared.held.sum().bytes.saturating_add(bytes) <= max;
        if !has_room && !oldest.is_empty() {
            self.shared.queue.look();
        }
        Ok(has_room)
    }

    fn forget(&mut self, symbols: &[Symbol]) -> Result<(), Trouble> {
        let Some(file) = self.file.as_ref().filter(|_| !symbols.is_empty()) else { return Ok(()) };
        self.shared.held.forget(symbols);
        let forgotten = file.change(|| symbols.iter().try_for_each(|symbol| file.forget(symbol)));
        forgotten.map_err(Trouble::File)
    }

    /// Discards the file and creates an empty file for the version in `origin`.
    fn begin_anew(&mut self, origin: Origin) -> Result<(), StoreError> {
        self.tried = Instant::now();
        self.shared.held.load(Vec::new(), Mark(0));
        self.shared.begun_anew.fetch_add(1, Ordering::Relaxed);
        let number = self.shared.number.load(Ordering::Acquire).saturating_add(1);
        // The file must be closed before it is removed.
        self.file = None;
        self.origin = origin;
        let made = LocalFile::create(&self.shared.dir, number, &self.origin);
        // Versions seen before may belong to a state that no longer exists.
        self.shared.seen.store(0, Ordering::Release);
        // The number is updated even if the file could not be created, so that readers close the
        // old file.
        self.shared.number.store(number, Ordering::Release);
        self.shared.version.store(self.origin.version, Ordering::Release);
        self.file = Some(made?);
        Ok(())
    }
}

impl LocalFile {
    fn fold_in_log_if_long(&self) {
        let mut log: PathBuf = self.path().to_owned();
        log.as_mut_os_string().push("-wal");
        match std::fs::metadata(log) {
            Ok(file) if file.len() > LOG_BYTES => self.fold_in_log(),
            _ => {}
        }
    }
}
