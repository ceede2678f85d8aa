//! Block bodies, read in place from SQLite or fetched over a network.

use std::collections::HashMap;
use std::ops::ControlFlow;

use market::Timestamp;

use crate::candles::block::{Back, BlockEntry, LinkedEntry};
use crate::candles::copy::{BODIES_MAX, BodyOf, FoundBody, Wanted, fetch_bodies, sql as copy_sql};
use crate::candles::nearby::Side;
use crate::candles::series::Series;
use crate::candles::view::{TRIES, View, key};
use crate::candles::{sql, trade_sql};
use crate::engine::{Db, Fault, Sql, StoreError, small};

/// Number of candles that the first fetch covers: the maximum number of candles per response.
const ROWS_FIRST: i64 = 1_000;
/// Number of directory entries fetched by the first statement.
const PAGE_FIRST: usize = 16;
const PAGE: usize = 512;
/// Maximum number of body bytes per statement, after the first body.
const BYTES_MAX: u64 = 4 << 20;

/// A block with its bytes, and the price decimals of its security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body<'a> {
    pub entry: BlockEntry,
    pub decimals: u32,
    pub bytes: &'a [u8],
}

/// Callback that receives bodies until it returns `Break`.
type Take<'t> = dyn FnMut(Body<'_>) -> ControlFlow<()> + 't;

impl View {
    /// Passes the blocks that start before `until` to `each`, newest first, until `each` returns
    /// `Break`. Bytes are borrowed from the database. Uses a single statement, because statements
    /// account for half of the cost of a small query.
    pub fn bodies_back(
        &self,
        series: &Series,
        until: Timestamp,
        mut each: impl FnMut(Body<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let Some(near) = self.near().filter(|near| near.active_side().is_none()) else {
            return self.stored_back(series, until, each);
        };
        let symbol = &series.symbol;
        if let Some(snapshot) = near.snapshot() {
            let side = near.side_in_snapshot(symbol, snapshot)?;
            let walked = near.ask(side, || match side {
                Side::Near => self.copied_back(series, until, &|| true, &mut each).map(drop),
                Side::Far => self.stored_back(series, until, &mut each),
            });
            return walked.inspect_err(|error| near.note(error));
        }
        let mut has_begun = false;
        for _ in 0..TRIES {
            let Some(mark) = near.mark(symbol) else { break };
            let is_same = || near.is_still(symbol, mark);
            let mut take = |body: Body<'_>| {
                has_begun = true;
                each(body)
            };
            match near.ask(Side::Near, || self.copied_back(series, until, &is_same, &mut take)) {
                Ok(true) => {
                    near.copy().count_hit();
                    return Ok(());
                }
                Ok(false) => {}
                Err(error) if near.is_to_blame(&error) && !has_begun => break,
                Err(error) => return Err(error),
            }
        }
        near.copy().count_miss();
        let version = near.ask(Side::Far, || {
            if self.db().is_remote() {
                return self.paged_back(series, until, &mut each);
            }
            self.stored_back(series, until, each)?;
            self.version()
        })?;
        near.copy().saw(symbol, version);
        Ok(())
    }

    /// Reads blocks backwards from a database that has all bodies.
    fn stored_back(
        &self,
        series: &Series,
        until: Timestamp,
        mut each: impl FnMut(Body<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        if self.db().is_remote() {
            return self.paged_back(series, until, &mut each).map(drop);
        }
        let (symbol, grain, lane) = key(series);
        let (mut chain, mut flow) = (Back::new(until), ControlFlow::Continue(()));
        self.db().each(sql::BODIES_BACK, (symbol, grain, lane, until.0), |row| {
            let (linked, decimals) = (LinkedEntry::read(row)?, small(row, 9)?);
            chain.step(linked)?;
            self.count_block();
            let bytes = row.bytes_or_null(10)?;
            let bytes = bytes.filter(|bytes| linked.entry.fits(bytes)).ok_or(Fault::Missing)?;
            flow = each(Body { entry: linked.entry, decimals, bytes });
            Ok(flow)
        })?;
        self.went_back(series, until, &chain, flow)
    }

    /// Verifies after a backward read that no block is missing.
    fn went_back(
        &self,
        series: &Series,
        until: Timestamp,
        chain: &Back,
        flow: ControlFlow<()>,
    ) -> Result<(), StoreError> {
        // Outside a transaction, statements to a remote database may see different states. If the
        // result is empty or `Replaced`, the caller repeats the read in a transaction.
        let is_steady = !self.db().is_remote() || self.db().in_transaction();
        let ended = match (flow.is_continue(), chain.end()) {
            (false, _) => false,
            (true, Ok(has_blocks)) => !has_blocks,
            // A block was removed between two pages.
            (true, Err(Fault::Missing)) if !is_steady => return Err(self.replaced(sql::BODIES_BACK)),
            (true, Err(fault)) => return Err(self.db().fail(sql::BODIES_BACK.what)(fault)),
        };
        if ended && self.db().in_transaction() { self.no_blocks(series, Some(until)) } else { Ok(()) }
    }

    /// Reads blocks backwards in pages, for a database that sends all rows of a statement even if
    /// fewer are needed. Returns the version that was read. One page is nearly always enough, so no
    /// transaction is begun, which would add a third to the time of a page. If several pages are
    /// read, the version of the series shows whether all of them read the same state.
    fn paged_back(&self, series: &Series, until: Timestamp, each: &mut Take<'_>) -> Result<i64, StoreError> {
        let (symbol, grain, lane) = key(series);
        let (mut chain, mut flow) = (Back::new(until), ControlFlow::Continue(()));
        let (mut before, mut limit, mut rows_wanted, mut run) = (until, PAGE_FIRST, ROWS_FIRST, 2);
        let (mut version, mut of_series, mut is_one_state) = (None, None, true);
        loop {
            let params = (before.0, symbol, grain, lane, limit as i64, rows_wanted);
            let mut page = self.db().all(sql::BODIES_BACK_PAGE, params, |row| {
                version = version.max(Some(row.get::<i64>(11)?));
                let now: i64 = row.get(12)?;
                is_one_state &= *of_series.get_or_insert(now) == now;
                let body: Option<Vec<u8>> = row.get(10)?;
                Ok((LinkedEntry::read(row)?, small(row, 9)?, body))
            })?;
            if !is_one_state {
                return Err(self.replaced(sql::BODIES_BACK));
            }
            if let Some(near) = self.near() {
                let bodies =
                    page.iter().filter_map(|(linked, _, body)| Some((linked.entry.id, body.as_deref()?)));
                near.copy().store_bodies(BodyOf::Candles, bodies);
            }
            for place in 0..page.len() {
                if let Some((.., None)) = page.get(place) {
                    self.fill(page.get_mut(place..).unwrap_or_default(), &mut run)?;
                }
                let Some((linked, decimals, body)) = page.get(place) else { break };
                chain.step(*linked).map_err(self.db().fail(sql::BODIES_BACK.what))?;
                self.count_block();
                let bytes = body.as_deref().filter(|bytes| linked.entry.fits(bytes));
                let bytes = bytes.ok_or_else(|| self.gone(sql::BODIES_BACK))?;
                flow = each(Body { entry: linked.entry, decimals: *decimals, bytes });
                if flow.is_break() {
                    return version.map_or_else(|| self.version(), Ok);
                }
            }
            match page.last().filter(|_| page.len() == limit) {
                Some((last, ..)) => before = last.entry.first,
                None => {
                    self.went_back(series, until, &chain, flow)?;
                    return version.map_or_else(|| self.version(), Ok);
                }
            }
            (limit, rows_wanted) = (PAGE, 0);
        }
    }

    /// Fetches missing bodies of a page, starting at its first block. Each call fetches twice as
    /// many bodies as the previous call.
    fn fill(
        &self,
        page: &mut [(LinkedEntry, u32, Option<Vec<u8>>)],
        run: &mut usize,
    ) -> Result<(), StoreError> {
        *run = (*run * 2).min(BODIES_MAX);
        let (mut ids, mut bytes) = (Vec::with_capacity(*run), 0);
        for (linked, ..) in page.iter().filter(|(.., body)| body.is_none()).take(*run) {
            bytes += u64::from(linked.entry.bytes);
            if !ids.is_empty() && bytes > BYTES_MAX {
                break;
            }
            ids.push(linked.entry.id);
        }
        let mut fetched: HashMap<i64, Box<[u8]>> = self.fetch(BodyOf::Candles, &ids)?.into_iter().collect();
        for (linked, _, body) in page {
            if let Some(bytes) = fetched.remove(&linked.entry.id) {
                *body = Some(bytes.into_vec());
            }
        }
        Ok(())
    }

    /// Reads blocks backwards from the local copy and fetches missing bodies. Returns `false`,
    /// without calling `each`, if `is_same` returned `false` after the first row fixed the
    /// snapshot.
    fn copied_back(
        &self,
        series: &Series,
        until: Timestamp,
        is_same: &dyn Fn() -> bool,
        each: &mut Take<'_>,
    ) -> Result<bool, StoreError> {
        let (symbol, grain, lane) = key(series);
        let (mut chain, mut flow) = (Back::new(until), ControlFlow::Continue(()));
        let (mut decided, mut failed, mut run) = (None, None, 1);
        let mut fetched: HashMap<i64, Box<[u8]>> = HashMap::new();
        let db = self.db();
        db.each(sql::BODIES_BACK, (symbol, grain, lane, until.0), |row| {
            // The first row fixes the snapshot for all rows.
            if !*decided.get_or_insert_with(is_same) {
                return Ok(ControlFlow::Break(()));
            }
            let (linked, decimals) = (LinkedEntry::read(row)?, small(row, 9)?);
            let entry = linked.entry;
            chain.step(linked)?;
            self.count_block();
            if let Some(bytes) = row.bytes_or_null(10)? {
                let bytes = Some(bytes).filter(|bytes| entry.fits(bytes)).ok_or(Fault::Missing)?;
                flow = each(Body { entry, decimals, bytes });
                return Ok(flow);
            }
            if !fetched.contains_key(&entry.id) {
                match self.fetch_missing(db, &entry, &mut run) {
                    Ok(more) => fetched = more,
                    Err(error) => {
                        failed = Some(error);
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            let Some(bytes) = fetched.remove(&entry.id).filter(|bytes| entry.fits(bytes)) else {
                failed = Some(self.gone(sql::BODIES_BACK));
                return Ok(ControlFlow::Break(()));
            };
            flow = each(Body { entry, decimals, bytes: &bytes });
            Ok(flow)
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        if decided.is_none() && !db.in_transaction() {
            // An empty result has no links to verify, so the row of the series is checked instead.
            self.steady(|| self.no_blocks(series, Some(until)))?;
        }
        if !decided.unwrap_or_else(is_same) {
            return Ok(false);
        }
        self.went_back(series, until, &chain, flow).map(|()| true)
    }

    /// Fetches a body that the local copy lacks, together with earlier missing bodies that the
    /// backward read will need.
    fn fetch_missing(
        &self,
        near: &Db,
        entry: &BlockEntry,
        run: &mut usize,
    ) -> Result<HashMap<i64, Box<[u8]>>, StoreError> {
        let params = (entry.id, entry.first.0, BODIES_MAX as i64);
        let missing: Vec<(i64, i64, i64)> =
            near.all(copy_sql::MISSING_BODIES, params, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let is_first = *run == 1;
        *run = (*run * 4).min(BODIES_MAX);
        let (mut ids, mut rows, mut bytes) = (Vec::new(), 0, 0);
        for (id, of_rows, of_bytes) in missing {
            let is_enough = if is_first { rows >= ROWS_FIRST } else { ids.len() >= *run };
            bytes += u64::try_from(of_bytes).unwrap_or_default();
            if !ids.is_empty() && (is_enough || bytes > BYTES_MAX) {
                break;
            }
            rows += of_rows;
            ids.push(id);
        }
        Ok(self.fetch(BodyOf::Candles, &ids)?.into_iter().collect())
    }

    /// Fetches bodies from the shared database and stores them in the local copy if one exists.
    fn fetch(&self, of: BodyOf, ids: &[i64]) -> Result<Vec<FoundBody>, StoreError> {
        let Some(near) = self.near() else {
            // Inside a transaction bodies cannot disappear. Outside a transaction, a body may have
            // been replaced since its id was read.
            let wanted = if self.far().in_transaction() { Wanted::Stored } else { Wanted::Replaced };
            return fetch_bodies(self.far(), (of, wanted), ids);
        };
        let bodies = fetch_bodies(self.far(), (of, Wanted::Replaced), ids)?;
        near.copy().store_bodies(of, bodies.iter().map(|(id, bytes)| (*id, &**bytes)));
        Ok(bodies)
    }

    /// Returns the error for a missing body. On a node, a body is missing when the local copy is
    /// outdated.
    fn gone(&self, sql: Sql) -> StoreError {
        match self.near() {
            Some(_) => self.replaced(sql),
            None => self.far().fail(sql.what)(Fault::Missing),
        }
    }

    fn replaced(&self, sql: Sql) -> StoreError {
        StoreError::Replaced { what: sql.what, place: self.far().url().clone() }
    }

    /// Sets the blocks whose bodies will be requested.
    pub(super) fn expect(&self, of: BodyOf, entries: &[BlockEntry]) {
        if let Some(ahead) = &self.ahead {
            ahead.expect(of, entries);
        }
    }

    /// Reads a block into `bytes`. Overwrites the previous contents of `bytes`.
    pub fn block(&self, entry: &BlockEntry, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        bytes.clear();
        self.with_block(entry, |body| bytes.extend_from_slice(body))
    }

    /// Passes a block's bytes to `read` without copying them.
    pub fn with_block<T>(&self, entry: &BlockEntry, read: impl FnOnce(&[u8]) -> T) -> Result<T, StoreError> {
        self.count_block();
        self.with_fitting(BodyOf::Candles, entry, read)
    }

    /// Passes a trade block's bytes to `read` without copying them.
    pub fn with_trade_block<T>(
        &self,
        entry: &BlockEntry,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, StoreError> {
        self.with_fitting(BodyOf::Trades, entry, read)
    }

    fn with_fitting<T>(
        &self,
        of: BodyOf,
        entry: &BlockEntry,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, StoreError> {
        let mut read = Some(read);
        let read = self.look_at(of, entry.id, &mut |body| {
            if !entry.fits(body) {
                return None;
            }
            read.take().map(|read| read(body))
        })?;
        read.ok_or_else(|| self.gone(of.sql()))
    }

    /// Passes a block's body to `read` without checking the body. Returns `None` if the block does
    /// not exist.
    pub(crate) fn with_body<T>(
        &self,
        id: i64,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, StoreError> {
        self.count_block();
        let mut read = Some(read);
        self.look_at(BodyOf::Candles, id, &mut |body| read.take().map(|read| read(body)))
    }

    /// Passes a trade block's body to `read` without checking the body. Returns `None` if the block
    /// does not exist.
    pub(crate) fn with_trade_body<T>(
        &self,
        id: i64,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, StoreError> {
        let mut read = Some(read);
        self.look_at(BodyOf::Trades, id, &mut |body| read.take().map(|read| read(body)))
    }

    /// Passes a body to `look`, which returns `None` if the body does not match. A body is
    /// immutable, so it may come from the local copy, the prefetched bodies, or the shared
    /// database.
    fn look_at<T>(
        &self,
        of: BodyOf,
        id: i64,
        look: &mut dyn FnMut(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let stored = |db: &Db, look: &mut dyn FnMut(&[u8]) -> Option<T>| {
            Ok(db.first(of.sql(), [id], |row| Ok(look(row.bytes(0)?)))?.flatten())
        };
        let Some(ahead) = &self.ahead else { return stored(self.db(), look) };
        let near = self.near().and_then(|near| Some((near, near.db()?)));
        if let Some((near, db)) = near {
            match stored(db, look) {
                Ok(Some(found)) => return Ok(Some(found)),
                Err(error) if !near.is_to_blame(&error) => return Err(error),
                _ => {}
            }
        }
        if let Some(bytes) = ahead.take(of, id) {
            return Ok(look(&bytes));
        }
        let is_there = |id| match near {
            Some((_, db)) => Ok(db.first(of.is_there(), [id], |_| Ok(()))?.is_some()),
            None => Ok(false),
        };
        let body = ahead.fetch(of, id, is_there, |ids| self.fetch(of, ids))?;
        Ok(body.and_then(|bytes| look(&bytes)))
    }
}

impl BodyOf {
    fn sql(self) -> Sql {
        match self {
            BodyOf::Candles => sql::BLOCK,
            BodyOf::Trades => trade_sql::BODY,
        }
    }

    fn is_there(self) -> Sql {
        match self {
            BodyOf::Candles => copy_sql::HAS_BODY,
            BodyOf::Trades => copy_sql::HAS_TRADE_BODY,
        }
    }
}
