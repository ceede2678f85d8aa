use std::ops::Range;

use block::{Block, BlockError};
use market::{Action, Adjuster, Candles, Date, Grain, Period, Price, Symbol, Timestamp, Venue, Venues, fold};
use store::{BlockEntry, Lane, Reader, Series, Snapshot, StoreError};

use crate::plan::{Keep, Plan, Rows};
use crate::query::{Adjust, Query};

/// Answers questions from a store. Holds the rules of the markets; readers belong to their threads.
#[derive(Debug)]
pub struct History {
    venues: Venues,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub symbol: Symbol,
    pub period: Period,
    /// How many decimals the security's prices are written with.
    pub decimals: u32,
    pub candles: Candles,
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("{0} is not known here: import its candles, or check the spelling")]
    UnknownSecurity(Symbol),
    #[error("{0} is an option: history for options is unavailable")]
    Option(Symbol),
    #[error("{0} is known, but has no candles")]
    NoCandles(Symbol),
    #[error("stored block of {series} at {at}: {source}")]
    Damaged { series: Series, at: Timestamp, source: BlockError },
    #[error("folding {symbol}: {source}")]
    Overflow { symbol: Symbol, source: fold::Overflow },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl History {
    pub fn new(venues: Venues) -> History {
        History { venues }
    }

    pub fn venues(&self) -> &Venues {
        &self.venues
    }

    pub fn venue(&self, symbol: &Symbol) -> &Venue {
        self.venues.of(symbol.market())
    }

    /// One answer of at most a thousand candles, as the protocol has it.
    pub fn candles(
        &self,
        reader: &mut Reader,
        query: &Query,
        now: Timestamp,
    ) -> Result<Answer, HistoryError> {
        let plan = Plan::of(query, self.venue(&query.symbol), now);
        self.answer(reader, query, &plan, now)
    }

    /// Answers a plan, under one snapshot of the store.
    pub fn answer(
        &self,
        reader: &mut Reader,
        query: &Query,
        plan: &Plan,
        now: Timestamp,
    ) -> Result<Answer, HistoryError> {
        let symbol = &query.symbol;
        if symbol.is_us_option() {
            return Err(HistoryError::Option(symbol.clone()));
        }
        let snapshot = reader.snapshot()?;
        let Some(security) = snapshot.security(symbol)? else {
            return Err(HistoryError::UnknownSecurity(symbol.clone()));
        };
        let venue = self.venue(symbol);
        let mut sources = read(&snapshot, plan)?;
        // Only an empty answer needs to know whether there is anything at all.
        if sources.is_empty() && snapshot.series_of(symbol)?.is_empty() {
            return Err(HistoryError::NoCandles(symbol.clone()));
        }
        if query.adjust == Adjust::Forward {
            adjust(&snapshot, venue, symbol, security.decimals, now, &mut sources)?;
        }
        let candles = finish(venue, plan, sources)
            .map_err(|source| HistoryError::Overflow { symbol: symbol.clone(), source })?;
        Ok(Answer { symbol: symbol.clone(), period: plan.period, decimals: security.decimals, candles })
    }

    /// Pages through everything a question selects, beyond the thousand of one answer.
    pub fn pages<'a>(
        &'a self,
        reader: &'a mut Reader,
        query: &'a Query,
        plan: Plan,
        now: Timestamp,
    ) -> Pages<'a> {
        Pages { history: self, reader, query, plan: Some(plan), now }
    }

    /// The actions that take no part in a security's adjustment, and why.
    pub fn ignored_actions(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<Vec<market::IgnoredAction>, HistoryError> {
        let snapshot = reader.snapshot()?;
        let actions = snapshot.actions(symbol)?;
        let venue = self.venue(symbol);
        let closes = Closes::load(&snapshot, venue, symbol, &actions)?;
        Ok(Adjuster::new(&actions, venue.zone().date(now), market::DECIMALS_MAX, |date| {
            closes.before(venue, date)
        })
        .1)
    }
}

/// Answers of up to a thousand candles, one after the other, in the direction of the question.
#[derive(Debug)]
pub struct Pages<'a> {
    history: &'a History,
    reader: &'a mut Reader,
    query: &'a Query,
    plan: Option<Plan>,
    now: Timestamp,
}

impl Iterator for Pages<'_> {
    type Item = Result<Answer, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let plan = self.plan.take()?;
        let answer = match self.history.answer(self.reader, self.query, &plan, self.now) {
            Ok(answer) => answer,
            Err(error) => return Some(Err(error)),
        };
        let (first, last) = (answer.candles.time.first()?, answer.candles.time.last()?);
        let venue = self.history.venue(&self.query.symbol);
        self.plan = plan
            .next(Timestamp(*first), Timestamp(*last))
            .map(|stamps| Plan::over(self.query, venue, self.now, stamps, plan.keep));
        Some(Ok(answer))
    }
}

/// Reads the source candles a plan names: directory, bodies, then only the pages that count.
fn read(snapshot: &Snapshot<'_>, plan: &Plan) -> Result<Candles, HistoryError> {
    if plan.sources.start >= plan.sources.end {
        return Ok(Candles::default());
    }
    let forming = plan.forming_from < plan.sources.end;
    let mut merged = if forming {
        let whole =
            Plan { sources: plan.sources.start..plan.forming_from.max(plan.sources.start), ..plan.clone() };
        read_lanes(snapshot, &whole.series, whole.sources, whole.rows)?
    } else {
        read_lanes(snapshot, &plan.series, plan.sources.clone(), plan.rows)?
    };
    if forming {
        let minutes: Vec<Series> =
            plan.series.iter().map(|s| Series { grain: Grain::Minute, ..s.clone() }).collect();
        let from = plan.forming_from.max(plan.sources.start);
        merged.append(&read_lanes(snapshot, &minutes, from..plan.sources.end, Rows::Forward(usize::MAX))?);
    }
    Ok(merged)
}

struct Loaded {
    entry: BlockEntry,
    bytes: Vec<u8>,
}

fn read_lanes(
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
        let blocks = loaded.iter().map(|l| {
            Block::parse(&l.bytes).map_err(|source| HistoryError::Damaged {
                series: (*series).clone(),
                at: l.entry.first,
                source,
            })
        });
        parsed.push((*series, blocks.collect::<Result<Vec<Block<'_>>, HistoryError>>()?));
    }
    let window = narrow(window, rows, parsed.iter().flat_map(|(_, blocks)| blocks));
    let mut merged = Candles::default();
    for (series, blocks) in &parsed {
        let inside = |span: &Range<i64>| span.start < window.end.0 && span.end > window.start.0;
        let spans = blocks.iter().flat_map(Block::page_spans);
        let mut lane =
            Candles::with_capacity(spans.filter(|(span, _)| inside(span)).map(|(_, rows)| rows).sum());
        for block in blocks {
            block.read(window.start.0..window.end.0, &mut lane).map_err(|source| HistoryError::Damaged {
                series: (*series).clone(),
                at: Timestamp(block.first_time()),
                source,
            })?;
        }
        merged = if merged.is_empty() { lane } else { interleave(&merged, &lane) };
    }
    Ok(merged)
}

fn load(
    snapshot: &Snapshot<'_>,
    series: &Series,
    window: &Range<Timestamp>,
    rows: Rows,
) -> Result<Vec<Loaded>, HistoryError> {
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
            snapshot.block(entry.id, &mut bytes)?;
            Ok(Loaded { entry: *entry, bytes })
        })
        .collect()
}

/// Shrinks a window to the pages that hold enough rows: the page that straddles the window's edge counts for
/// nothing, since how many of its rows are inside is known only after decoding it.
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
            // One lane is in order already; the sort only looks then.
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

/// Two lanes of one symbol have no stamp in common.
fn interleave(a: &Candles, b: &Candles) -> Candles {
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

/// Fold, cut to the wanted stamps, keep the wanted end.
fn finish(venue: &Venue, plan: &Plan, sources: Candles) -> Result<Candles, fold::Overflow> {
    let mixed = plan.forming_from < plan.sources.end;
    let mut candles = if plan.period == plan.period.source().period() && !mixed {
        sources
    } else {
        fold::fold(venue, plan.period, &sources)?
    };
    let at = |stamp: Timestamp| candles.time.partition_point(|time| *time < stamp.0);
    let mut rows = at(plan.stamps.start)..at(plan.stamps.end);
    match plan.keep {
        Keep::First(count) => rows.end = rows.end.min(rows.start.saturating_add(count)),
        Keep::Last(count) => rows.start = rows.start.max(rows.end.saturating_sub(count)),
    }
    candles.keep(rows);
    Ok(candles)
}

fn adjust(
    snapshot: &Snapshot<'_>,
    venue: &Venue,
    symbol: &Symbol,
    decimals: u32,
    now: Timestamp,
    sources: &mut Candles,
) -> Result<(), HistoryError> {
    let Some(first) = sources.time.first() else { return Ok(()) };
    let today = venue.zone().date(now);
    let first_day = trading_day(venue, *first);
    // Actions before the first candle change nothing here, and future ones nothing at all.
    let mut actions = snapshot.actions_after(symbol, first_day)?;
    actions.retain(|action| action.ex_date <= today);
    if actions.is_empty() {
        return Ok(());
    }
    let closes = Closes::load(snapshot, venue, symbol, &actions)?;
    let (adjuster, _) = Adjuster::new(&actions, today, decimals, |date| closes.before(venue, date));
    if adjuster.is_identity() {
        return Ok(());
    }
    let mut start = 0;
    while let Some(time) = sources.time.get(start) {
        // Rows from here to the next ex-date share a factor.
        let Some(factor) = adjuster.for_day(trading_day(venue, *time)) else { break };
        let until = first_instant(venue, factor.until());
        let end = start + sources.time.iter().skip(start).take_while(|time| **time < until.0).count().max(1);
        for column in [&mut sources.open, &mut sources.high, &mut sources.low, &mut sources.close] {
            for price in column.iter_mut().take(end).skip(start) {
                *price = factor.apply(*price);
            }
        }
        start = end;
    }
    Ok(())
}

/// The trading day that decides a candle's factor; a day the calendar has closed is its own.
fn trading_day(venue: &Venue, time: i64) -> Date {
    let at = Timestamp(time);
    venue.trading_day(at).unwrap_or_else(|| venue.zone().date(at))
}

/// When a trading day begins: on the evening before where the market trades overnight.
fn first_instant(venue: &Venue, date: Date) -> Timestamp {
    let first = venue.day(date).and_then(|day| day.minutes().next().map(|(at, _)| at));
    let midnight = venue.zone().midnight(date);
    first.map_or(midnight, |first| first.min(midnight))
}

/// The served daily closes around a set of ex-dates.
struct Closes {
    /// Ascending.
    times: Vec<i64>,
    closes: Vec<i64>,
}

impl Closes {
    fn load(
        snapshot: &Snapshot<'_>,
        venue: &Venue,
        symbol: &Symbol,
        actions: &[Action],
    ) -> Result<Closes, HistoryError> {
        let mut all = Closes { times: Vec::new(), closes: Vec::new() };
        let (Some(first), Some(last)) =
            (actions.iter().map(|a| a.ex_date).min(), actions.iter().map(|a| a.ex_date).max())
        else {
            return Ok(all);
        };
        let series = Series { symbol: symbol.clone(), grain: Grain::Day, lane: Lane::Regular };
        let floor = venue.zone().midnight(venue.floors().day);
        let (first, last) = (venue.zone().midnight(first), venue.zone().midnight(last));
        // The blocks between the ex-dates, and back to the last candle before the first of them.
        let mut entries = snapshot.blocks_back(&series, first, 1)?;
        let inside = snapshot.blocks(&series, Some(first), Some(last))?;
        entries.extend(inside.into_iter().filter(|entry| entry.first >= first));
        let mut bytes = Vec::new();
        for entry in entries {
            let damaged = |source| HistoryError::Damaged { series: series.clone(), at: entry.first, source };
            snapshot.block(entry.id, &mut bytes)?;
            let block = Block::parse(&bytes).map_err(damaged)?;
            // The page that holds the first ex-date may begin with it: start one page earlier.
            let from = block.page_spans().map(|(span, _)| span.start).filter(|at| *at < first.0).last();
            let window = from.unwrap_or(i64::MIN).max(floor.0)..last.0;
            block.closes(window, &mut all.times, &mut all.closes).map_err(damaged)?;
        }
        Ok(all)
    }

    fn before(&self, venue: &Venue, date: Date) -> Option<Price> {
        let midnight = venue.zone().midnight(date).0;
        let at = self.times.partition_point(|time| *time < midnight);
        at.checked_sub(1).and_then(|at| self.closes.get(at)).map(|close| Price(*close))
    }
}
