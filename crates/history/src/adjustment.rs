//! Adjustment factors of a symbol: one per ex-date, computed from the corporate action and the
//! previous daily close. The store caches the factors; otherwise every adjusted query would decode
//! the closes of all years since its first candle.

use block::Block;
use market::adjust::{Factor, factors as factors_of};
use market::{
    Action, Adjuster, Candles, Date, Grain, IgnoredAction, Price, Symbol, Timestamp, Venue, Venues,
};
use store::{Batch, FactorKind, Lane, Series, Snapshot, StoreError, View};

use crate::HistoryError;

/// Returns the stored factors, or computes them if none are stored or their bytes cannot be
/// decoded.
pub(crate) fn factors(view: &View, venue: &Venue, symbol: &Symbol) -> Result<Vec<Factor>, HistoryError> {
    if let Some(stored) = view.factors(symbol)?.and_then(|bytes| read(&bytes)) {
        return Ok(stored);
    }
    Ok(reckon(view, venue, symbol)?.0)
}

/// Computes the factors from the corporate actions and the daily closes. Also returns the actions
/// that were ignored.
pub(crate) fn reckon(
    view: &View,
    venue: &Venue,
    symbol: &Symbol,
) -> Result<(Vec<Factor>, Vec<IgnoredAction>), HistoryError> {
    let actions = view.actions(symbol)?;
    let closes = Closes::load(view, venue, symbol, &actions)?;
    let (mut factors, ignored) = factors_of(&actions, |date| closes.before(venue, date));
    // If a corporate action is known for an ex-date, its factor is used instead of a bare factor.
    let bare = view.derived_factors(symbol)?.into_iter().filter(|of| of.kind == FactorKind::Bare);
    let bare = bare.filter(|of| !actions.iter().any(|action| action.ex_date == of.ex_date));
    factors.extend(bare.filter_map(|of| Factor::bare(of.ex_date, &of.amount)));
    factors.sort_by_key(|factor| factor.ex_date);
    Ok((factors, ignored))
}

/// Computes and stores the factors of every symbol whose actions or daily candles have changed.
pub(crate) fn keep_all(batch: &mut Batch<'_>, venues: &Venues) -> Result<(), StoreError> {
    for symbol in batch.without_factors()? {
        match reckon(batch, venues.of(symbol.market()), &symbol) {
            Ok((factors, _)) => batch.put_factors(&symbol, &write(&factors))?,
            Err(HistoryError::Store(error)) => return Err(error),
            // Damaged candles do not stop the import. Queries for these candles return an error.
            Err(_) => {}
        }
    }
    Ok(())
}

/// Returns whether the stored factors of a symbol match those computed from its actions and
/// candles. Returns `true` if no factors are stored.
pub(crate) fn is_sound(view: &View, venue: &Venue, symbol: &Symbol) -> Result<bool, HistoryError> {
    match view.factors(symbol)? {
        Some(stored) if stored.first() == Some(&VERSION_FROM_FLOORS) => Ok(true),
        Some(stored) => Ok(read(&stored) == Some(reckon(view, venue, symbol)?.0)),
        None => Ok(true),
    }
}

/// Adjusts the prices of source candles, in place, to the price level at `now`.
pub(crate) fn adjust(
    snapshot: &Snapshot<'_>,
    venue: &Venue,
    symbol: &Symbol,
    decimals: u32,
    now: Timestamp,
    sources: &mut Candles,
) -> Result<(), HistoryError> {
    let Some(first) = sources.time.first() else { return Ok(()) };
    let mut factors = factors(snapshot, venue, symbol)?;
    // Actions with an ex-date on or before the first candle's trading day change no price here.
    let first_day = trading_day(venue, *first);
    factors.retain(|factor| factor.ex_date > first_day);
    let adjuster = Adjuster::new(&factors, venue.zone().date(now), decimals);
    let mut start = 0;
    while let Some(time) = sources.time.get(start) {
        // Rows from here to the next ex-date share a factor.
        let Some(factor) = adjuster.for_day(trading_day(venue, *time)) else { break };
        let until = first_instant(venue, factor.until());
        let end = sources.time.partition_point(|time| *time < until.0).max(start + 1);
        for column in [&mut sources.open, &mut sources.high, &mut sources.low, &mut sources.close] {
            for price in column.get_mut(start..end).unwrap_or_default() {
                *price = factor.apply(*price);
            }
        }
        start = end;
    }
    Ok(())
}

/// Returns the trading day that selects a candle's factor. Falls back to the local date of the
/// stamp if the stamp is outside the market's trading days.
fn trading_day(venue: &Venue, time: i64) -> Date {
    let at = Timestamp(time);
    venue.trading_day(at).unwrap_or_else(|| venue.zone().date(at))
}

/// Returns the first instant of a trading day, which is on the previous evening if the market
/// trades overnight.
fn first_instant(venue: &Venue, date: Date) -> Timestamp {
    let first = venue.day(date).and_then(|day| day.minutes().next().map(|(at, _)| at));
    let midnight = venue.zone().midnight(date);
    first.map_or(midnight, |first| first.min(midnight))
}

/// Current format version, stored in the first byte. Factors in any other version are ignored and
/// computed again.
const VERSION: u8 = 2;
/// Old format version, whose factors ignored candles before the published floors. These factors are
/// recomputed, but not reported as damage.
const VERSION_FROM_FLOORS: u8 = 1;

/// Encodes factors: the version byte, the CRC-32 of the body (little-endian), then the body.
fn write(factors: &[Factor]) -> Vec<u8> {
    let mut body = Vec::new();
    factors.iter().for_each(|factor| factor.write(&mut body));
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

fn read(bytes: &[u8]) -> Option<Vec<Factor>> {
    let (&VERSION, rest) = bytes.split_first()? else { return None };
    let (checksum, mut rest) = rest.split_first_chunk()?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut factors = Vec::new();
    while !rest.is_empty() {
        factors.push(Factor::read(&mut rest)?);
    }
    Some(factors)
}

/// Daily closes around a symbol's ex-dates.
struct Closes {
    /// Stamps of the daily candles, ascending.
    times: Vec<i64>,
    closes: Vec<i64>,
}

impl Closes {
    fn load(view: &View, venue: &Venue, symbol: &Symbol, actions: &[Action]) -> Result<Closes, HistoryError> {
        let mut all = Closes { times: Vec::new(), closes: Vec::new() };
        let (Some(first), Some(last)) =
            (actions.iter().map(|a| a.ex_date).min(), actions.iter().map(|a| a.ex_date).max())
        else {
            return Ok(all);
        };
        let series = Series { symbol: symbol.clone(), grain: Grain::Day, lane: Lane::Regular };
        let (first, last) = (venue.zone().midnight(first), venue.zone().midnight(last));
        // Loads the blocks between the ex-dates, and the block with the last candle before the
        // first ex-date.
        let mut entries = view.blocks_back(&series, first, 1)?;
        let inside = view.blocks(&series, Some(first), Some(last))?;
        entries.extend(inside.into_iter().filter(|entry| entry.first >= first));
        let mut bytes = Vec::new();
        for entry in entries {
            let damaged = |source| HistoryError::Damaged { series: series.clone(), at: entry.first, source };
            view.block(&entry, &mut bytes)?;
            let block = Block::parse(&bytes).map_err(damaged)?;
            // The page with the first ex-date may start with that day, so its previous close is in
            // the page before.
            let from = block.page_spans().map(|(span, _)| span.start).filter(|at| *at < first.0).last();
            let window = from.unwrap_or(i64::MIN)..last.0;
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
