use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use market::{DECIMALS_MAX, Grain, SecurityKind, Symbol, Timestamp};

use crate::candles::block::{BLOCK_BYTES_MAX, BlockEntry, NewBlock, Tail};
use crate::candles::copy::sql as copy_sql;
use crate::candles::security::{Security, written_dated};
use crate::candles::series::Series;
use crate::candles::view::View;
use crate::candles::{FIGURES_MAX, sql};
use crate::engine::lock::WriteLocks;
use crate::engine::{Db, StoreError, Value, signed};

/// Counters from which a batch allocates many ids. Over a network, the batch reserves `RESERVE` ids
/// per statement.
const RESERVED: [&str; 3] = ["block", "series", "trade"];
const RESERVE: i64 = 128;

/// Effect of writing a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Replaced,
    Unchanged,
}

/// A write transaction. Has methods for all changes of the store, and queries that see the changes.
/// Rolled back if dropped without a commit.
#[derive(Debug)]
pub struct Batch<'a> {
    view: &'a View,
    locks: &'a WriteLocks,
    version: Option<i64>,
    /// The changed symbols; `None` if the store has no nodes.
    touched: Option<BTreeSet<Symbol>>,
    /// Whether statements are sent together in one round trip, because the database is remote.
    all_at_once: bool,
    /// Securities known to exist, which need no further query.
    pub(super) ensured: BTreeSet<Symbol>,
    /// Unused reserved ids per counter: the next id, and the number of ids left.
    reserved: BTreeMap<&'static str, (i64, i64)>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// A change failed halfway. The batch cannot be committed, because the commit would not be
    /// atomic.
    Broken,
    Committed,
}

impl Deref for Batch<'_> {
    type Target = View;

    fn deref(&self) -> &View {
        self.view
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if self.state != State::Committed {
            // After some errors SQLite has already rolled back, and this rollback fails.
            self.view.db().rollback().ok();
        }
    }
}

impl<'a> Batch<'a> {
    pub(crate) fn new(view: &'a View, locks: &'a WriteLocks, has_nodes: bool) -> Batch<'a> {
        let (touched, all_at_once) = (has_nodes.then(BTreeSet::new), view.db().is_remote());
        let (ensured, reserved) = (BTreeSet::new(), BTreeMap::new());
        let (version, state) = (None, State::Open);
        Batch { view, locks, version, touched, all_at_once, ensured, reserved, state }
    }

    #[cfg(test)]
    pub(crate) fn at_once(mut self, all_at_once: bool) -> Batch<'a> {
        self.all_at_once = all_at_once;
        self
    }

    /// Commits the transaction. The changes are durable on return.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.refuse_if_broken()?;
        self.give_back_ids()?;
        self.tell_nodes()?;
        self.locks.extend(self.view.db())?;
        self.view.db().commit()?;
        self.state = State::Committed;
        if let (Some(channel), Some(version)) = (self.view.db().channel(), self.version) {
            // Not every database server supports notifications. Nodes that receive no notifications
            // rely on polling.
            self.view.db().first(copy_sql::NOTIFY, (channel, version.to_string()), |_| Ok(())).ok();
        }
        Ok(())
    }

    /// Adds a security unless it exists.
    pub fn ensure_security(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        self.write(|batch| batch.add_security(symbol))
    }

    /// Writes all fields of a security, including those that are `None`.
    pub fn put_security(&mut self, security: &Security) -> Result<Change, StoreError> {
        self.write(|batch| {
            if security.decimals > DECIMALS_MAX {
                let reason = format!("{} decimals are more than {DECIMALS_MAX}", security.decimals);
                return Err(StoreError::unfit(&security.symbol, reason));
            }
            if security.dated.len().max(security.suspensions.len()) > FIGURES_MAX {
                let reason = format!("figures or suspensions of more than {FIGURES_MAX} days");
                return Err(StoreError::unfit(&security.symbol, reason));
            }
            let change = match batch.security(&security.symbol)? {
                Some(stored) if stored == *security => return Ok(Change::Unchanged),
                Some(_) => Change::Replaced,
                None => Change::Added,
            };
            write_security(batch.db(), security)?;
            batch.touch(&security.symbol)?;
            Ok(change)
        })
    }

    /// Removes the blocks with the ids `removed` from a series and adds `added`. Fails if blocks of
    /// the series would overlap. Returns the new directory entries in the order of `added`.
    pub fn replace_blocks(
        &mut self,
        series: &Series,
        removed: &[i64],
        added: &[NewBlock],
    ) -> Result<Vec<BlockEntry>, StoreError> {
        self.write(|batch| {
            if removed.is_empty() && added.is_empty() {
                return Ok(Vec::new());
            }
            let (series_id, is_new) = batch.series_id(series)?;
            let (entries, change) = match batch.all_at_once {
                true => batch.replace_all_at_once(series, (series_id, is_new), removed, added)?,
                false => batch.replace_one_by_one(series, series_id, removed, added)?,
            };
            batch.total(series, series_id, change, !added.is_empty())?;
            if series.grain == Grain::Day {
                batch.forget_factors(&series.symbol)?;
            }
            Ok(entries)
        })
    }

    fn replace_one_by_one(
        &mut self,
        series: &Series,
        series_id: i64,
        removed: &[i64],
        added: &[NewBlock],
    ) -> Result<(Vec<BlockEntry>, Totals), StoreError> {
        let mut change = Totals::default();
        for id in removed {
            change.remove(self.remove_block(series, series_id, *id)?);
        }
        let mut entries = Vec::with_capacity(added.len());
        let first_id = self.take_ids("block", added.len())?;
        for (id, block) in (first_id..).zip(added) {
            let entry = self.add_block(series, series_id, id, block)?;
            change.add(&entry);
            entries.push(entry);
        }
        Ok((entries, change))
    }

    /// Returns the id of a series, and whether this call added the series.
    fn series_id(&mut self, series: &Series) -> Result<(i64, bool), StoreError> {
        let key = (series.symbol.as_str(), series.grain.as_str(), series.lane.as_str());
        if let Some(id) = self.db().first(sql::SERIES_ID, key, |row| row.get(0))? {
            return Ok((id, false));
        }
        if self.db().counts_rows() {
            self.no_such_series(series)?;
        }
        self.add_security(&series.symbol)?;
        let id = self.take_ids("series", 1)?;
        self.db().run(sql::ADD_SERIES, (id, key.0, key.1, key.2))?;
        self.db().run(sql::ADD_COUNTS, (1, 0, key.0))?;
        Ok((id, true))
    }

    fn remove_block(&mut self, series: &Series, series_id: i64, id: i64) -> Result<(i64, i64), StoreError> {
        let removed = self.db().first(sql::REMOVE_ENTRY, (id, series_id), |row| {
            let link: (i64, Option<i64>) = (row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, row.get(1)?, link))
        })?;
        let Some((rows, bytes, (first, next))) = removed else {
            return Err(StoreError::unfit(
                series,
                format!("block {id} to be replaced is not one of its blocks"),
            ));
        };
        self.db().run(sql::LINK_ENTRY, (next, series_id, first))?;
        self.db().run(sql::REMOVE_BODY, [id])?;
        Ok((rows, bytes))
    }

    fn add_block(
        &mut self,
        series: &Series,
        series_id: i64,
        id: i64,
        block: &NewBlock,
    ) -> Result<BlockEntry, StoreError> {
        // Stored blocks do not overlap, so of those that start at or before the end of the new
        // block, the last also has the latest end.
        let neighbour = self.db().first(sql::LAST_STARTING_BY, (series_id, block.last.0), |row| {
            Ok((Timestamp(row.get(0)?), Timestamp(row.get(1)?)))
        })?;
        let bytes = refuse_unfit(series, block, neighbour)?;
        self.db().run(sql::ADD_BODY, (id, &block.bytes))?;
        let tail = Tail::of(&block.bytes);
        let row = (series_id, block.first.0, block.last.0, block.rows, bytes, id, tail.as_bytes());
        self.db().run(sql::ADD_ENTRY, row)?;
        self.db().run(sql::LINK_ENTRY, (block.first.0, series_id, block.first.0))?;
        Ok(BlockEntry { id, first: block.first, last: block.last, rows: block.rows, bytes, tail })
    }

    fn total(
        &mut self,
        series: &Series,
        series_id: i64,
        change: Totals,
        has_blocks: bool,
    ) -> Result<(), StoreError> {
        let version = self.touch(&series.symbol)?;
        let is_empty = !has_blocks && self.db().one(sql::SERIES_IS_EMPTY, [series_id], |row| row.get(0))?;
        if is_empty {
            self.db().run(sql::REMOVE_SERIES, [series_id])?;
            self.db().run(sql::ADD_COUNTS, (-1, 0, series.symbol.as_str()))?;
        } else {
            self.db()
                .run(sql::TOTAL_SERIES, (change.rows, change.blocks, change.bytes, version, series_id))?;
        }
        Ok(())
    }

    pub(crate) fn add_security(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        if self.all_at_once && !self.ensured.insert(symbol.clone()) {
            return Ok(());
        }
        if self.db().run(sql::ENSURE_SECURITY, (symbol.as_str(), Security::DECIMALS_DEFAULT))? > 0 {
            self.touch(symbol)?;
        }
        Ok(())
    }

    /// Allocates `count` consecutive ids and returns the first id.
    pub(crate) fn take_ids(&mut self, name: &'static str, count: usize) -> Result<i64, StoreError> {
        let count = signed(count as u64);
        let next = match self.reserved.get(name) {
            Some((next, left)) if *left >= count => (*next, *left),
            known => {
                // Over a network, more ids are reserved for the remaining changes of this batch.
                // They are contiguous with the ids reserved before, because the batch holds the
                // counter's row lock.
                let is_slow = self.db().is_remote() && RESERVED.contains(&name);
                let taken = if is_slow { RESERVE.max(count) } else { count };
                let end: i64 = self.db().one(sql::COUNT_UP, (taken, name), |row| row.get(0))?;
                let left = known.map_or(0, |(_, left)| *left) + taken;
                (end - left, left)
            }
        };
        let (first, left) = next;
        self.reserved.insert(name, (first + count, left - count));
        Ok(first)
    }

    /// Returns unused reserved ids to the counter.
    fn give_back_ids(&mut self) -> Result<(), StoreError> {
        for (name, (_, left)) in
            std::mem::take(&mut self.reserved).into_iter().filter(|(_, (_, left))| *left > 0)
        {
            self.db().one(sql::COUNT_UP, (-left, name), |row| row.get::<i64>(0))?;
        }
        Ok(())
    }

    /// Records that a symbol has changed. Must be called with every change of data that nodes cache
    /// by symbol. Returns the version that this batch will have.
    pub(crate) fn touch(&mut self, symbol: &Symbol) -> Result<i64, StoreError> {
        if let Some(touched) = &mut self.touched
            && !touched.contains(symbol)
        {
            touched.insert(symbol.clone());
        }
        self.next_version()
    }

    /// Like `touch`, but for derived data: increments the version only if the store has nodes.
    pub(crate) fn touch_for_nodes(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        if self.touched.is_some() { self.touch(symbol).map(drop) } else { Ok(()) }
    }

    /// Writes the changed symbols to the table that nodes read.
    fn tell_nodes(&self) -> Result<(), StoreError> {
        let (Some(touched), Some(version)) = (&self.touched, self.version) else { return Ok(()) };
        let rows: Vec<[Value<'_>; 2]> =
            touched.iter().map(|symbol| [Value::Text(symbol.as_str()), Value::Int(version)]).collect();
        self.db().run_together(copy_sql::TOUCH, rows.iter().map(<[Value<'_>; 2]>::as_slice))?;
        self.db().run(copy_sql::ADD_STAMP, [version]).map(drop)
    }

    /// Returns the version of this batch. The first call allocates the version.
    fn next_version(&mut self) -> Result<i64, StoreError> {
        if let Some(version) = self.version {
            return Ok(version);
        }
        let version = self.db().one(sql::COUNT_UP, (1, "version"), |row| row.get(0))?;
        self.version = Some(version);
        Ok(version)
    }

    /// Returns an error if a change of this batch has failed. SQLite ends the transaction when the
    /// disk is full, and later changes would be committed separately.
    fn refuse_if_broken(&self) -> Result<(), StoreError> {
        match self.state {
            State::Broken => Err(StoreError::unfit("a batch", "one of its changes failed")),
            State::Open | State::Committed => Ok(()),
        }
    }

    /// Runs a change, and marks the batch as broken if the change fails. All public changes go
    /// through this method, so that an incomplete change is never committed.
    pub(crate) fn write<T>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.refuse_if_broken()?;
        let done = change(self);
        if done.is_err() {
            self.state = State::Broken;
        }
        done
    }
}

/// Rejects an invalid or overlapping block. `neighbour` is the span of the last other block that
/// starts at or before the end of `block`. Returns the block's length in bytes.
pub(super) fn refuse_unfit(
    series: &Series,
    block: &NewBlock,
    neighbour: Option<(Timestamp, Timestamp)>,
) -> Result<u32, StoreError> {
    let unfit =
        |reason: String| Err(StoreError::unfit(format!("a block of {series} at {}", block.first), reason));
    if block.rows == 0 || block.bytes.is_empty() {
        return unfit("it is empty".to_owned());
    }
    if block.last < block.first {
        return unfit(format!("it ends before it starts, at {}", block.last));
    }
    let bytes = match u32::try_from(block.bytes.len()) {
        Ok(bytes) if block.bytes.len() <= BLOCK_BYTES_MAX => bytes,
        _ => return unfit(format!("its {} bytes are more than {BLOCK_BYTES_MAX}", block.bytes.len())),
    };
    match neighbour.filter(|(_, last)| *last >= block.first) {
        Some((first, last)) => unfit(format!("it overlaps the block from {first} to {last}")),
        None => Ok(bytes),
    }
}

/// Change of a series' totals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    rows: i64,
    blocks: i64,
    bytes: i64,
}

impl Totals {
    pub(super) fn add(&mut self, entry: &BlockEntry) {
        self.rows += i64::from(entry.rows);
        self.blocks += 1;
        self.bytes += i64::from(entry.bytes);
    }

    pub(super) fn remove(&mut self, (rows, bytes): (i64, i64)) {
        self.rows -= rows;
        self.blocks -= 1;
        self.bytes -= bytes;
    }
}

fn write_security(db: &Db, security: &Security) -> Result<(), StoreError> {
    let params = (
        security.symbol.as_str(),
        &security.name_en,
        &security.name_cn,
        &security.name_hk,
        &security.exchange,
        &security.currency,
        security.lot_size,
        &security.board,
        security.listing_date.map(|date| date.to_string()),
        security.decimals,
        security.total_shares,
        security.circulating_shares,
        security.hk_shares,
        &security.eps,
        &security.eps_ttm,
        &security.bps,
        &security.dividend_yield,
        security.kind.map(SecurityKind::as_str),
        security.delisted_on.map(|date| date.to_string()),
        written_dated(security),
    );
    db.run(sql::PUT_SECURITY, params).map(drop)
}
