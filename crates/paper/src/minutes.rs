//! The one-minute candles of a symbol as the engine takes them, kept by day: of a thousand accounts with orders in one security
//! each asks for the same candles.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use history::{AsOf, History, HistoryError};
use market::{Price, Session, Symbol, Timestamp};
use quick_cache::sync::Cache;
use store::Reader;
use trading::{ActTimes, ActingCandle};

use crate::arrivals::{Arrivals, REMEMBERED_FOR};

/// What is kept together: the stamps of a day of UTC, which no session but the US overnight one crosses.
const PART_SECONDS: i64 = 86_400;
/// A candle acts this long after its stamp at most: the tail of a closing auction.
const ACTS_WITHIN: i64 = 600;
/// Parts kept. A part has at most 1,440 minutes of 80 bytes and mostly a third of that, so this is about 100 MB.
const PARTS_MAX: usize = 2_048;

/// Parts of which it is remembered which minutes they had. Each takes some 250 bytes, so this is about 16 MB.
const STAMPS_MAX: usize = 65_536;

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
    /// What parts of symbols with open orders had when they were last looked at, also if the candles are no longer kept.
    stamps: Mutex<HashMap<Key, (i64, Stamps)>>,
}

/// The minutes of a part that have a candle. No two sessions share one.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps([u64; 23]);

impl Default for Minutes {
    fn default() -> Minutes {
        Minutes { parts: Cache::new(PARTS_MAX), stamps: Mutex::default() }
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
        if let AsOf::Live(now) = as_of {
            let known = known.map(|known| known.stamps()).or_else(|| self.stamps_of(&key));
            let at = arrivals.instant(now);
            let new = known.map(|known| part.new_since(&known, at)).unwrap_or_default();
            arrivals.note_among_nodes(symbol, &new, (at, now))?;
        }
        // Another request may have read a newer state meanwhile; then the next one reads this part again.
        self.parts.insert(key, part.clone());
        Ok(part)
    }

    /// Remembers which minutes a part had, for when its candles are no longer kept.
    pub(crate) fn remember(&self, (symbol, index): (&Symbol, i64), part: &Part, now: Timestamp) {
        let (key, mut stamps) = ((symbol.clone(), index), self.stamps());
        if stamps.get(&key).is_some_and(|(version, _)| *version >= part.version) {
            return;
        }
        if stamps.len() >= STAMPS_MAX {
            let oldest = now.0.saturating_sub(REMEMBERED_FOR).div_euclid(PART_SECONDS);
            stamps.retain(|(_, index), _| *index >= oldest);
        }
        if stamps.len() < STAMPS_MAX {
            stamps.insert(key, (part.version, part.stamps()));
        }
    }

    fn stamps_of(&self, key: &Key) -> Option<Stamps> {
        self.stamps().get(key).map(|(_, stamps)| *stamps)
    }

    fn stamps(&self) -> MutexGuard<'_, HashMap<Key, (i64, Stamps)>> {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stamps {
    fn put(&mut self, stamp: Timestamp) {
        let minute = Stamps::minute(stamp);
        if let Some(word) = self.0.get_mut(minute / 64) {
            *word |= 1_u64 << (minute % 64);
        }
    }

    fn has(&self, stamp: Timestamp) -> bool {
        let minute = Stamps::minute(stamp);
        self.0.get(minute / 64).is_some_and(|word| *word & (1_u64 << (minute % 64)) != 0)
    }

    /// Of the day of UTC.
    fn minute(stamp: Timestamp) -> usize {
        usize::try_from(stamp.0.rem_euclid(PART_SECONDS) / 60).unwrap_or(0)
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
        let snapshot = reader.snapshot_of(symbol)?;
        let version = snapshot.version()?;
        let candles = history.minutes(&snapshot, symbol, start..end)?;
        let before = history.last_minute(&snapshot, symbol, Timestamp(start.0.saturating_sub(1)))?;
        drop(snapshot);
        let mut times = ActTimes::new(history.venue(symbol));
        let acting = candles.iter().filter_map(|candle| times.of(candle, None)).collect();
        Ok(Part { version, acting, close_before: before.map(|candle| candle.close) })
    }

    fn stamps(&self) -> Stamps {
        let mut stamps = Stamps::default();
        self.acting.iter().for_each(|acting| stamps.put(acting.candle.time));
        stamps
    }

    /// Those that act after one instant and up to another.
    pub(crate) fn between(&self, after: Timestamp, through: Timestamp) -> &[ActingCandle] {
        let first = self.acting.partition_point(|acting| acting.at <= after);
        let last = self.acting.partition_point(|acting| acting.at <= through);
        self.acting.get(first..last).unwrap_or_default()
    }

    /// Candles that an older state of the part did not have and that should have acted before an instant.
    fn new_since(&self, older: &Stamps, at: Timestamp) -> Vec<(Session, Timestamp)> {
        let should_have = self.acting.iter().filter(|acting| acting.at < at);
        let new = should_have.filter(|acting| !older.has(acting.candle.time));
        new.map(|acting| (acting.candle.session, acting.candle.time)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minutes_of_a_part_are_told_apart_also_when_its_candles_are_no_longer_kept() {
        let (minutes, symbol): (Minutes, Symbol) = (Minutes::default(), "700.HK".parse().unwrap());
        let (start, now) = (20_000 * PART_SECONDS, Timestamp(20_001 * PART_SECONDS));
        let mut stamps = Stamps::default();
        for minute in [0, 63, 64, 1_439] {
            stamps.put(Timestamp(start + minute * 60));
        }
        let had: Vec<i64> = (0..1_440).filter(|minute| stamps.has(Timestamp(start + minute * 60))).collect();
        assert_eq!(had, [0, 63, 64, 1_439]);
        let key = (symbol.clone(), 20_000);
        assert!(minutes.stamps_of(&key).is_none());
        let part = Part { version: 1, acting: Vec::new(), close_before: None };
        minutes.remember((&symbol, 20_000), &part, now);
        // An empty part is known, too: whatever it has later has come.
        assert!(minutes.stamps_of(&key).is_some_and(|known| !known.has(Timestamp(start))));
    }
}
