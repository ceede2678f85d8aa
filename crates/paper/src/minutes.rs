//! The one-minute candles of a symbol as the engine takes them, kept by day: of a thousand accounts with orders in one security
//! each asks for the same candles.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use history::{AsOf, History, HistoryError};
use market::{Price, Session, Symbol, Timestamp};
use quick_cache::sync::Cache;
use store::Reader;
use trading::{ActTimes, ActingCandle};

use crate::arrivals::Arrivals;

/// What is kept together: the stamps of a day of UTC, which no session but the US overnight one crosses.
const PART_SECONDS: i64 = 86_400;
/// A candle acts this long after its stamp at most: the tail of a closing auction.
const ACTS_WITHIN: i64 = 600;
/// Parts kept. A part has at most 1,440 minutes of 80 bytes and mostly a third of that, so this is about 100 MB.
const PARTS_MAX: usize = 2_048;

/// A part of a symbol's candles.
type Key = (Symbol, i64);

#[derive(Debug)]
pub(crate) struct Part {
    /// The version of the store that it is of.
    version: i64,
    /// By stamp, and so by the instant at which they act: no minute of a lane follows a tail before it has acted.
    pub(crate) acting: Vec<ActingCandle>,
    /// The close of the last minute before this part, for a mark when nothing in it has acted yet.
    pub(crate) close_before: Option<Price>,
}

/// Candles of the latest version of the store, as far as they were asked for.
#[derive(Debug)]
pub(crate) struct Minutes {
    parts: Cache<Key, Arc<Part>>,
}

impl Default for Minutes {
    fn default() -> Minutes {
        Minutes { parts: Cache::new(PARTS_MAX) }
    }
}

impl Minutes {
    /// The parts with candles that may act after one instant and up to another.
    pub(crate) fn indexes(after: Timestamp, through: Timestamp) -> Range<i64> {
        let first = after.0.saturating_sub(ACTS_WITHIN).div_euclid(PART_SECONDS);
        let last = through.0.div_euclid(PART_SECONDS);
        first..last.saturating_add(1)
    }

    /// A part as it is at a version of the store, or newer. What has come since it was last looked at is noted as an arrival, where
    /// candles arrive at all.
    pub(crate) fn part(
        &self,
        (history, arrivals): (&History, &Arrivals),
        reader: &mut Reader,
        (symbol, index): (&Symbol, i64),
        version: i64,
        as_of: AsOf,
    ) -> Result<Arc<Part>, HistoryError> {
        let key = (symbol.clone(), index);
        let known = self.parts.get(&key);
        if let Some(part) = known.as_ref().filter(|part| part.version >= version) {
            return Ok(part.clone());
        }
        let part = Arc::new(Part::read(history, reader, symbol, index)?);
        if let (Some(known), AsOf::Live(now)) = (&known, as_of) {
            // Whoever has been advanced to this very second has not seen them, so they act in the next one.
            let at = Timestamp(now.0.saturating_add(1));
            arrivals.note(symbol, &part.new_since(known, at), at);
        }
        // Another request may have read a newer state meanwhile; then the next one reads this part again.
        self.parts.insert(key, part.clone());
        Ok(part)
    }
}

impl Part {
    fn read(
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        index: i64,
    ) -> Result<Part, HistoryError> {
        let start = Timestamp(index.saturating_mul(PART_SECONDS));
        let end = Timestamp(start.0.saturating_add(PART_SECONDS));
        // One state, so that the version is that of the candles.
        let snapshot = reader.snapshot()?;
        let version = snapshot.version()?;
        let candles = history.minutes(&snapshot, symbol, start..end)?;
        let before = history.last_minute(&snapshot, symbol, Timestamp(start.0.saturating_sub(1)))?;
        drop(snapshot);
        let mut times = ActTimes::new(history.venue(symbol));
        let acting = candles.iter().filter_map(|candle| times.of(candle, None)).collect();
        Ok(Part { version, acting, close_before: before.map(|candle| candle.close) })
    }

    /// Those that act after one instant and up to another.
    pub(crate) fn between(&self, after: Timestamp, through: Timestamp) -> &[ActingCandle] {
        let first = self.acting.partition_point(|acting| acting.at <= after);
        let last = self.acting.partition_point(|acting| acting.at <= through);
        self.acting.get(first..last).unwrap_or_default()
    }

    /// Candles that an older state of the part did not have and that should have acted before an instant.
    fn new_since(&self, older: &Part, at: Timestamp) -> Vec<(Session, Timestamp)> {
        let stamp = |acting: &ActingCandle| (acting.candle.session, acting.candle.time);
        let known: HashSet<_> = older.acting.iter().map(stamp).collect();
        let should_have = self.acting.iter().filter(|acting| acting.at < at);
        should_have.map(stamp).filter(|stamp| !known.contains(stamp)).collect()
    }
}
