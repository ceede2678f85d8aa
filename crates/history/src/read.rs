use std::ops::{ControlFlow, Range};

use block::{Block, BlockError, Columns};
use market::{Candles, Date, Grain, Period, Symbol, Timestamp, Venue, Venues, fold};
use store::{BlockEntry, Body, Reader, Series, Snapshot, StoreError, View};

use crate::adjustment;
use crate::as_of::{AsOf, RunningTrades};
use crate::edge::{Sources, without_candle};
use crate::own::Mixed;
use crate::plan::{Plan, Rows, Take};
use crate::query::{Adjust, HistoryError, Query};
use crate::roll_ups::missing_in;
use crate::traded::FoldCache;

/// Answers queries from a store. Holds the market rules; every thread passes its own reader.
#[derive(Debug)]
pub struct History {
    venues: Venues,
    running_trades: RunningTrades,
    folds: FoldCache,
}

/// An instant after all trades: the year 2200.
const LATEST: Timestamp = Timestamp(7_258_118_400);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub symbol: Symbol,
    pub period: Period,
    /// Number of decimals of the security's prices.
    pub decimals: u32,
    pub candles: Candles,
}

impl History {
    pub fn new(venues: Venues) -> History {
        History { venues, running_trades: RunningTrades::default(), folds: FoldCache::default() }
    }

    /// Returns a copy with the same rules that shows running trades as specified.
    pub fn with_running_trades(self, running_trades: RunningTrades) -> History {
        History { running_trades, ..self }
    }

    pub fn running_trades(&self) -> RunningTrades {
        self.running_trades
    }

    pub fn venues(&self) -> &Venues {
        &self.venues
    }

    pub fn venue(&self, symbol: &Symbol) -> &Venue {
        self.venues.of(symbol.market())
    }

    /// Answers a query with at most a thousand candles, the protocol's limit.
    pub fn candles(&self, reader: &mut Reader, query: &Query, as_of: AsOf) -> Result<Answer, HistoryError> {
        let plan = Plan::of(query, self.venue(&query.symbol), as_of);
        self.answer(reader, query, &plan, as_of)
    }

    /// Answers a plan from a single snapshot.
    pub fn answer(
        &self,
        reader: &mut Reader,
        query: &Query,
        plan: &Plan,
        as_of: AsOf,
    ) -> Result<Answer, HistoryError> {
        let symbol = &query.symbol;
        if symbol.is_us_option() {
            return Err(HistoryError::Option(symbol.clone()));
        }
        let venue = self.venue(symbol);
        let finish = |plan: &Plan, decimals: u32, sources: Candles, is_mixed: bool| {
            let candles = finish(venue, plan, sources, is_mixed)
                .map_err(|source| HistoryError::Overflow { symbol: symbol.clone(), source })?;
            Ok(Answer { symbol: symbol.clone(), period: plan.period, decimals, candles })
        };
        // Coarse candles need a second statement, and both statements must read the same snapshot.
        let may_mix = plan.period.own_sources().next().is_some();
        let may_fold = plan.folds_within(as_of).is_some() && self.may_have_trades(reader.view(), symbol)?;
        if !may_fold && query.adjust == Adjust::None && !may_mix {
            match read_back(reader.view(), plan) {
                Ok(Some((decimals, sources))) => return finish(plan, decimals, sources, false),
                // If a block was replaced during the read, read again within a snapshot.
                Ok(None) | Err(HistoryError::Store(StoreError::Replaced { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let snapshot = reader.snapshot_of(symbol)?;
        let Some(decimals) = snapshot.decimals(symbol)? else {
            return Err(HistoryError::UnknownSecurity(symbol.clone()));
        };
        let trades = self.running_trades;
        let traded = self.without_candle(&snapshot, plan, as_of)?;
        let all = if may_mix { snapshot.series_of(symbol)? } else { Vec::new() };
        let missing = missing_in(venue, &all, plan);
        let folded = traded.time.first().copied().map(Timestamp).into_iter().chain(missing).min();
        let widened = folded.map(|first| plan.including(venue, first, as_of));
        let plan = widened.as_ref().unwrap_or(plan);
        let sources = Sources { snapshot: &snapshot, venue, symbol, plan, trades, traded: &traded };
        let mixed = if may_mix { Mixed::of(sources, &all, as_of)? } else { None };
        let is_mixed = mixed.is_some();
        let mut sources = match mixed {
            Some(mixed) => mixed.read()?,
            None => sources.read()?,
        };
        // Only an empty answer has to check whether the security has any candle at all.
        if sources.is_empty() && !self.has_any(&snapshot, symbol, as_of)? {
            return Err(HistoryError::NoCandles(symbol.clone()));
        }
        if query.adjust == Adjust::Forward {
            adjustment::adjust(&snapshot, venue, symbol, decimals, as_of.now(), &mut sources)?;
        }
        finish(plan, decimals, sources, is_mixed)
    }

    /// Returns an error if a symbol is unknown, is an option, or has no visible candle.
    pub fn has_candles(&self, reader: &mut Reader, symbol: &Symbol, as_of: AsOf) -> Result<(), HistoryError> {
        if symbol.is_us_option() {
            return Err(HistoryError::Option(symbol.clone()));
        }
        let snapshot = reader.snapshot_of(symbol)?;
        if snapshot.decimals(symbol)?.is_none() {
            return Err(HistoryError::UnknownSecurity(symbol.clone()));
        }
        if !self.has_any(&snapshot, symbol, as_of)? {
            return Err(HistoryError::NoCandles(symbol.clone()));
        }
        Ok(())
    }

    /// Returns whether a security has any visible candle.
    fn has_any(&self, snapshot: &Snapshot<'_>, symbol: &Symbol, as_of: AsOf) -> Result<bool, HistoryError> {
        let venue = self.venue(symbol);
        let has_series = snapshot.series_of(symbol)?.iter().any(|series| as_of.shows(venue, series));
        Ok(has_series || !self.folds(snapshot, symbol, as_of)?.is_empty())
    }

    /// Returns whether a security has single trades.
    pub(crate) fn may_have_trades(&self, view: &View, symbol: &Symbol) -> Result<bool, HistoryError> {
        Ok(!view.trade_days_back(symbol, Date::MAX, 1)?.is_empty())
    }

    /// Returns the folds of trades that are visible at an instant, for each minute in the newest
    /// days with trades. Includes minutes with a stored candle.
    pub(crate) fn folds(&self, view: &View, symbol: &Symbol, as_of: AsOf) -> Result<Candles, HistoryError> {
        match (self.running_trades, as_of) {
            (RunningTrades::Hidden, AsOf::Replay(_)) => Ok(Candles::default()),
            _ => self.folds.at(view, self.venue(symbol), symbol, as_of),
        }
    }

    /// Returns the first minute of a series that has trades and no candle, if all trades are visible.
    pub(crate) fn first_without_candle(
        &self,
        snapshot: &Snapshot<'_>,
        series: &Series,
    ) -> Result<Option<Timestamp>, HistoryError> {
        let (symbol, series) = (&series.symbol, std::slice::from_ref(series));
        let folds = self.folds(snapshot, symbol, AsOf::Live(LATEST))?;
        let always = Timestamp(i64::MIN)..Timestamp(i64::MAX);
        Ok(without_candle(snapshot, series, &always, &folds)?.time.first().copied().map(Timestamp))
    }

    /// Returns the folds of trades that a plan needs: of minutes without a stored candle.
    pub(crate) fn without_candle(
        &self,
        snapshot: &Snapshot<'_>,
        plan: &Plan,
        as_of: AsOf,
    ) -> Result<Candles, HistoryError> {
        let Some((series, window)) = plan.series.first().zip(plan.folds_within(as_of)) else {
            return Ok(Candles::default());
        };
        let folds = self.folds(snapshot, &series.symbol, as_of)?;
        without_candle(snapshot, &plan.series, &window, &folds)
    }

    /// Returns the corporate actions of a security that are ignored, with the reasons.
    pub fn ignored_actions(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<Vec<market::IgnoredAction>, HistoryError> {
        let venue = self.venue(symbol);
        let snapshot = reader.snapshot_of(symbol)?;
        let (_, mut ignored) = adjustment::reckon(&snapshot, venue, symbol)?;
        let today = venue.zone().date(now);
        ignored.retain(|action| action.ex_date <= today);
        Ok(ignored)
    }
}

/// Fast path for the most common plan, one series counted back from an instant: a single statement
/// returns the candles and the decimals. Returns `None` if the plan has another shape, or if
/// nothing was found; the caller then takes the general path.
pub(crate) fn read_back(view: &View, plan: &Plan) -> Result<Option<(u32, Candles)>, HistoryError> {
    let ([series], Rows::Back(rows)) = (plan.series.as_slice(), plan.rows) else { return Ok(None) };
    if plan.sources.is_empty() || plan.edge.is_some() {
        return Ok(None);
    }
    let mut back = Back { series, window: plan.sources.clone(), missing: rows, later: Vec::new() };
    let mut read = Ok(None);
    view.bodies_back(series, plan.sources.end, |body| match back.take(&body) {
        Ok(Some(candles)) => {
            read = Ok(Some((body.decimals, candles)));
            ControlFlow::Break(())
        }
        Ok(None) => {
            read = Ok(Some((body.decimals, Candles::default())));
            ControlFlow::Continue(())
        }
        Err(error) => {
            read = Err(error);
            ControlFlow::Break(())
        }
    })?;
    let Some((decimals, mut candles)) = read? else { return Ok(None) };
    if candles.is_empty() {
        candles = back.finish(None)?;
    }
    Ok((!candles.is_empty()).then_some((decimals, candles)))
}

/// Reads a series backwards, newest block first. The result is in ascending order, so newer blocks
/// are copied and kept until the block with the oldest requested row is reached. That block, usually
/// the only one, is decoded without a copy.
struct Back<'a> {
    series: &'a Series,
    window: Range<Timestamp>,
    missing: usize,
    later: Vec<(BlockEntry, Vec<u8>, Range<usize>)>,
}

impl Back<'_> {
    /// Adds a block. Returns the candles once they are complete, or `None` if an older block is
    /// needed.
    fn take(&mut self, body: &Body<'_>) -> Result<Option<Candles>, HistoryError> {
        let entry = &body.entry;
        if entry.last < self.window.start {
            return self.finish(None).map(Some);
        }
        let mut columns = self.columns(entry, body.bytes)?;
        let mut before =
            |time: Timestamp| columns.rows_before(time.0).map_err(|source| self.damaged(entry, source));
        let rows = before(self.window.end)?;
        let outside = if entry.first < self.window.start { before(self.window.start)? } else { 0 };
        let taken = rows.saturating_sub(outside).min(self.missing);
        self.missing -= taken;
        let rows = rows - taken..rows;
        if self.missing == 0 || outside > 0 {
            return self.finish(Some((entry, columns, rows))).map(Some);
        }
        self.later.push((*entry, body.bytes.to_vec(), rows));
        Ok(None)
    }

    fn finish(
        &self,
        oldest: Option<(&BlockEntry, Columns<'_>, Range<usize>)>,
    ) -> Result<Candles, HistoryError> {
        let later = self.later.iter().map(|(.., rows)| rows.len()).sum::<usize>();
        let oldest_rows = oldest.as_ref().map_or(0, |(.., rows)| rows.len());
        let mut candles = Candles::with_capacity(later + oldest_rows);
        if let Some((entry, mut columns, rows)) = oldest {
            columns.read_rows(rows, &mut candles).map_err(|source| self.damaged(entry, source))?;
        }
        for (entry, bytes, rows) in self.later.iter().rev() {
            let read = self.columns(entry, bytes)?.read_rows(rows.clone(), &mut candles);
            read.map_err(|source| self.damaged(entry, source))?;
        }
        Ok(candles)
    }

    fn columns<'b>(&self, entry: &BlockEntry, bytes: &'b [u8]) -> Result<Columns<'b>, HistoryError> {
        let columns = Block::parse(bytes).and_then(|block| block.columns());
        columns.map_err(|source| self.damaged(entry, source))
    }

    fn damaged(&self, entry: &BlockEntry, source: BlockError) -> HistoryError {
        HistoryError::Damaged { series: self.series.clone(), at: entry.first, source }
    }
}

/// Reads the candles of a window, merging several lanes by time.
pub(crate) fn read_lanes(
    snapshot: &Snapshot<'_>,
    series: &[Series],
    window: Range<Timestamp>,
    rows: Rows,
) -> Result<Candles, HistoryError> {
    if window.start >= window.end {
        return Ok(Candles::default());
    }
    let mut lanes = Vec::with_capacity(series.len());
    for series in series {
        lanes.push((series, load(snapshot, series, &window, rows)?));
    }
    let mut parsed = Vec::with_capacity(lanes.len());
    for (series, loaded) in &lanes {
        parsed.push((*series, parse(series, loaded)?));
    }
    let window = narrow(window, rows, parsed.iter().flat_map(|(_, blocks)| blocks));
    let mut merged = Candles::default();
    for (series, blocks) in &parsed {
        let lane = decode(series, blocks, &window)?;
        merged = if merged.is_empty() { lane } else { interleave(&merged, &lane) };
    }
    Ok(merged)
}

/// Parses the blocks of a series and verifies their checksums.
fn parse<'b>(series: &Series, blocks: &'b [(BlockEntry, Vec<u8>)]) -> Result<Vec<Block<'b>>, HistoryError> {
    let damaged = |at, source| HistoryError::Damaged { series: series.clone(), at, source };
    blocks
        .iter()
        .map(|(entry, bytes)| Block::parse(bytes).map_err(|source| damaged(entry.first, source)))
        .collect()
}

/// Decodes the candles of a window from the blocks of one series.
fn decode(series: &Series, blocks: &[Block<'_>], window: &Range<Timestamp>) -> Result<Candles, HistoryError> {
    let inside = |span: &Range<i64>| span.start < window.end.0 && span.end > window.start.0;
    let spans = blocks.iter().flat_map(Block::page_spans);
    let rows = spans.filter(|(span, _)| inside(span)).map(|(_, rows)| rows).sum();
    let mut candles = Candles::with_capacity(rows);
    for block in blocks {
        let at = Timestamp(block.first_time());
        block.read(window.start.0..window.end.0, &mut candles).map_err(|source| HistoryError::Damaged {
            series: series.clone(),
            at,
            source,
        })?;
    }
    Ok(candles)
}

fn load(
    snapshot: &Snapshot<'_>,
    series: &Series,
    window: &Range<Timestamp>,
    rows: Rows,
) -> Result<Vec<(BlockEntry, Vec<u8>)>, HistoryError> {
    let entries = match rows {
        Rows::Back(rows) => snapshot.blocks_back(series, window.end, rows)?,
        Rows::Forward(rows) => snapshot.blocks_forward(series, window.start, rows)?,
    };
    let inside = |entry: &&BlockEntry| entry.first < window.end && entry.last >= window.start;
    entries
        .iter()
        .filter(inside)
        .map(|entry| {
            let mut bytes = Vec::with_capacity(entry.bytes as usize);
            snapshot.block(entry, &mut bytes)?;
            Ok((*entry, bytes))
        })
        .collect()
}

/// Shrinks a window to the pages that hold enough rows. A page that crosses the window's edge is
/// not counted, because the number of its rows inside the window is unknown before decoding.
fn narrow<'a, 'b: 'a>(
    window: Range<Timestamp>,
    rows: Rows,
    blocks: impl Iterator<Item = &'a Block<'b>>,
) -> Range<Timestamp> {
    let mut pages: Vec<(Range<i64>, usize)> = blocks
        .flat_map(Block::page_spans)
        .filter(|(span, _)| span.start < window.end.0 && span.end > window.start.0)
        .collect();
    let mut sum = 0usize;
    match rows {
        Rows::Back(wanted) => {
            // The pages of a single lane are already sorted, which makes the sort cheap.
            pages.reverse();
            pages.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
            for (span, rows) in pages {
                if span.end <= window.end.0 {
                    sum = sum.saturating_add(rows);
                }
                if sum >= wanted {
                    return Timestamp(span.start).max(window.start)..window.end;
                }
            }
        }
        Rows::Forward(wanted) => {
            pages.sort_by_key(|(span, _)| span.end);
            for (span, rows) in pages {
                if span.start >= window.start.0 {
                    sum = sum.saturating_add(rows);
                }
                if sum >= wanted {
                    return window.start..Timestamp(span.end).min(window.end);
                }
            }
        }
    }
    window
}

/// Merges candles by time. Both inputs must be sorted, and must have no stamp in common.
pub(crate) fn interleave(a: &Candles, b: &Candles) -> Candles {
    let mut merged = Candles::with_capacity(a.len() + b.len());
    let mut other = b.iter().peekable();
    for candle in a.iter() {
        while let Some(before) = other.next_if(|o| o.time < candle.time) {
            merged.push(before);
        }
        merged.push(candle);
    }
    other.for_each(|candle| merged.push(candle));
    merged
}

/// Folds the source candles, cuts them to the plan's stamps, and keeps the first or last candles,
/// according to the plan. `is_mixed` means that the sources have several grains.
fn finish(venue: &Venue, plan: &Plan, sources: Candles, is_mixed: bool) -> Result<Candles, fold::Overflow> {
    let grain = plan.period.source();
    // At an edge, one-minute and daily candles already have their final length, but roll-ups are
    // still one-minute candles.
    let is_folded = is_mixed
        || plan.period != grain.period()
        || (plan.edge.is_some() && Grain::ROLLED_UP.contains(&grain));
    let mut candles = if !is_folded { sources } else { fold::fold(venue, plan.period, &sources)? };
    let at = |stamp: Timestamp| candles.time.partition_point(|time| *time < stamp.0);
    let mut rows = at(plan.stamps.start)..at(plan.stamps.end);
    match plan.take {
        Take::First(count) => rows.end = rows.end.min(rows.start.saturating_add(count)),
        Take::Last(count) => rows.start = rows.start.max(rows.end.saturating_sub(count)),
    }
    candles.retain_rows(rows);
    Ok(candles)
}
