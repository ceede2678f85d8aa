//! Stores worlds. A requested change of the state is stored before it is visible. Steps, and the
//! pause or end of a world at a given instant, are stored later in batches, because one transaction
//! for each would limit the speed of a world to that of the disk.
//!
//! A server that is killed loses the last steps, but no account data, because orders and fills are
//! stored in their journals before they are acknowledged. When a world is loaded, its clock is at
//! its stored instant or at the horizon of its account, whichever is later.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use store::{Accounts, StoreError, WorldChange, WorldClock, WorldRow};
use world::Span;

use super::log::{LineKind, Log};
use super::span::{row_of, span_of};
use super::{Standing, World, WorldError, Worlds, wrong};

/// Interval between writes while worlds move.
pub(crate) const WRITE_EVERY: Duration = Duration::from_millis(50);
/// Number of unstored log lines of a world at which they are stored before its clock moves again.
pub(super) const UNWRITTEN_MAX: usize = 1_024;

impl Worlds {
    /// Requests a write by the job.
    fn will_write(&self) {
        if !self.write_planned.swap(true, Ordering::AcqRel) {
            self.unwritten.notify_one();
        }
    }

    /// Stores all worlds that have moved. Returns whether there were any. If a world cannot be
    /// stored, continues with the others and returns the last error.
    pub(crate) fn write_all(&self, accounts: &Accounts) -> Result<bool, WorldError> {
        self.write_planned.store(false, Ordering::Release);
        let loaded = self.all();
        let (mut any, mut failed) = (false, None);
        for world in loaded.iter().filter(|world| world.has_unwritten()) {
            any = true;
            match world.write_out(accounts) {
                // Another process has moved the world, and the changes of this server are lost.
                Err(error @ (WorldError::Moved | WorldError::Unknown)) => {
                    tracing::warn!(%error, world = world.id.0, "the last steps of a world are lost");
                }
                written => failed = written.err().or(failed),
            }
        }
        if any {
            self.write_planned.store(true, Ordering::Release);
        }
        failed.map_or(Ok(any), Err)
    }
}

impl World {
    /// Returns the stored row of the clock.
    pub(crate) fn stored(&self) -> WorldClock {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn has_unwritten(&self) -> bool {
        self.is_unwritten.load(Ordering::Acquire)
    }

    /// Schedules a write of the changes. Writes immediately if too many lines are queued, or if no
    /// job writes.
    pub(crate) fn will_write(&self, worlds: &Worlds, accounts: &Accounts) -> Result<(), WorldError> {
        self.is_unwritten.store(true, Ordering::Release);
        if !worlds.writes_later || self.is_crowded() {
            return self.write_out(accounts);
        }
        worlds.will_write();
        Ok(())
    }

    /// Returns whether too many lines are queued.
    pub(super) fn is_crowded(&self) -> bool {
        self.log().unwritten.len() >= UNWRITTEN_MAX
    }

    /// Stores the clock and the lines of the log.
    pub(crate) fn write_out(&self, accounts: &Accounts) -> Result<(), WorldError> {
        self.write(accounts, None, None).map(drop)
    }

    /// Stores the lines of the log and the clock. If `change` is given, its state is stored instead
    /// and becomes visible afterwards. `cut` contains the number of the first line to remove, and
    /// the remaining log.
    pub(crate) fn write(
        &self,
        accounts: &Accounts,
        change: Option<Standing>,
        cut: Option<(u64, Log)>,
    ) -> Result<Standing, WorldError> {
        self.write_with(accounts, change, cut, None)
    }

    /// Like [`write`](World::write), but also changes the first and the last instant of the world
    /// if `span` is given.
    pub(crate) fn write_with(
        &self,
        accounts: &Accounts,
        change: Option<Standing>,
        cut: Option<(u64, Log)>,
        span: Option<Span>,
    ) -> Result<Standing, WorldError> {
        // Held while writing, so that an older state does not replace a newer one.
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_unwritten.store(false, Ordering::Release);
        let standing = change.clone().unwrap_or_else(|| self.standing());
        let cut = cut.map(|(cut, remaining)| {
            *self.log() = remaining;
            cut
        });
        let (after, lines) = {
            let log = self.log();
            (standing.clock(log.digest), log.unwritten.clone())
        };
        if change.is_none() && after == *stored && lines.is_empty() {
            return Ok(standing);
        }
        let settings = standing.settings.to_string();
        let known = self.span.get();
        let new_span = span.unwrap_or(known);
        let change_of = WorldChange {
            before: &stored,
            after: &after,
            span: (row_of(known), row_of(new_span)),
            settings: &settings,
            cut,
            lines: &lines,
        };
        match accounts.change_world(self.account, &change_of) {
            Ok(true) => {}
            Ok(false) => {
                let row = accounts.world_of(self.account)?.ok_or(WorldError::Unknown)?;
                self.take_over(accounts, &row, &mut stored)?;
                self.recover(accounts)?;
                return Err(WorldError::Moved);
            }
            Err(error) => {
                self.is_unwritten.store(true, Ordering::Release);
                if cut.is_some() {
                    self.read_log(accounts)?;
                }
                return Err(error.into());
            }
        }
        *stored = after;
        self.span.set(new_span);
        let mut log = self.log();
        let written = lines.len().min(log.unwritten.len());
        log.unwritten.drain(..written);
        drop(log);
        if change.is_some() {
            self.set(&mut self.lock(), standing.clone());
        }
        Ok(standing)
    }

    /// Replaces the world by its stored row if another process has changed the row. Unstored
    /// changes of this server are lost. Returns whether the row exists.
    pub(crate) fn adopt(&self, accounts: &Accounts) -> Result<bool, WorldError> {
        // Held while reading, so that the row is not older than a concurrent write of this server.
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(row) = accounts.world_of(self.account)? else { return Ok(false) };
        if *stored != row.clock || row_of(self.span.get()) != row.span() {
            self.take_over(accounts, &row, &mut stored)?;
        }
        Ok(true)
    }

    fn take_over(
        &self,
        accounts: &Accounts,
        row: &WorldRow,
        stored: &mut WorldClock,
    ) -> Result<(), WorldError> {
        *stored = row.clock.clone();
        let taken = Standing::of(row)?;
        self.span.set(span_of(row).map_err(|error| wrong(row, "span", &error.to_string()))?);
        let mut standing = self.lock();
        self.set(&mut standing, taken);
        self.taken_over.store(true, Ordering::Release);
        drop(standing);
        self.forget_ahead();
        self.read_log(accounts)?;
        Ok(())
    }

    /// Sets the clock to the horizon of the account if that is later, because the server was killed
    /// before it stored the last steps.
    pub(crate) fn recover(&self, accounts: &Accounts) -> Result<(), StoreError> {
        let horizon = accounts.journal_head(self.account)?.map(|head| head.horizon.min(self.span.end()));
        let mut standing = self.lock();
        let Some(now) = horizon.filter(|horizon| *horizon > standing.now) else { return Ok(()) };
        let from = standing.now;
        let state = if now >= self.span.end() { world::State::Ended } else { world::State::Paused };
        let (course, stop_at, is_alone) = (None, None, false);
        let after = Standing { state, now, until: now, course, stop_at, is_alone, ..standing.clone() };
        self.set(&mut standing, after);
        drop(standing);
        self.note(LineKind::Recovered, now, &json!({"from": from.to_string()}));
        Ok(())
    }
}
