//! Cache of the engine's candles by symbol and day, so that a thousand accounts with orders in one
//! security read its candles once. Contains one-minute candles, and the daily candle of each day
//! that has no one-minute candles in regular hours.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use history::{AsOf, History, HistoryError};
use market::{Candle, Session, Symbol, Timestamp};
use quick_cache::sync::Cache;
use store::{Reader, View};
use trading::{ActTimes, CandleKind, EffectiveCandle};

use crate::arrivals::{Arrivals, Late, REMEMBERED_FOR};

/// Length of a cached part in seconds: one UTC day. Regular hours do not cross midnight UTC in any
/// market, so a date's regular hours are in one part, and a daily candle takes effect in the part
/// of its date.
const PART_SECONDS: i64 = 86_400;
/// Maximum delay, in seconds, between a candle's stamp and the instant at which the candle takes
/// effect in a later part. Closing-auction candles have the longest delay, because they take effect
/// at the end of the auction.
const ACTS_WITHIN: i64 = 600;
/// Maximum number of cached parts. A part has at most 1,440 candles of 80 bytes, and usually a
/// third of that, so the cache takes about 100 MB.
const PARTS_MAX: usize = 2_048;

/// Maximum number of parts whose stamps are retained. The stamps of a part take about 250 bytes, so
/// all stamps take about 16 MB.
const STAMPS_MAX: usize = 65_536;

/// Maximum number of daily candles on non-trading days that a search for the newest daily candle
/// skips.
const CLOSED_DAYS_MAX: usize = 64;

/// Symbol and part index.
type Key = (Symbol, i64);

#[derive(Debug)]
pub(crate) struct Part {
    /// Store version at which the part was read.
    version: i64,
    /// Candles in stamp order, which is also the order in which they take effect: within a lane, no
    /// one-minute candle is stamped between a closing-auction candle and the instant at which that
    /// candle takes effect.
    pub(crate) effective: Vec<EffectiveCandle>,
    /// The date's daily candle and its stored stamp. Also set if the date has one-minute candles.
    day: Option<(Timestamp, EffectiveCandle)>,
    /// Whether the part has a one-minute candle in regular hours.
    has_regular: bool,
    /// The latest live instant at which the part was requested, to which accounts may have been
    /// advanced with these candles. Written with the lock [`Minutes::requests`].
    requested_at: AtomicI64,
    /// The newest candle before this part, whose close is the mark until a candle in the part takes
    /// effect.
    pub(crate) before: Option<EffectiveCandle>,
}

/// Cache of recently requested candles at the latest store version.
#[derive(Debug)]
pub(crate) struct Minutes {
    parts: Cache<Key, Arc<Part>>,
    /// Held while a request reads a part, and while a part is replaced by one with new candles.
    /// Therefore, either the request reads the new part, or the new candles take effect after the
    /// request.
    requests: Mutex<()>,
    /// Stamps at the last read of each part with open orders. Retained after the candles are
    /// evicted, to detect late candles.
    stamps: Mutex<HashMap<Key, (i64, Stamps)>>,
}

/// Bitmap of the minutes in a part that have a candle, and whether the date has a daily candle and
/// one-minute candles in regular hours. One bitmap is enough, because no two sessions share a
/// minute.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    minutes: [u64; 23],
    has_regular: bool,
    has_day: bool,
}

impl Default for Minutes {
    fn default() -> Minutes {
        Minutes { parts: Cache::new(PARTS_MAX), requests: Mutex::default(), stamps: Mutex::default() }
    }
}

impl Minutes {
    /// Returns the indexes of parts with candles that may take effect after `after` and up to
    /// `through`.
    pub(crate) fn indexes(after: Timestamp, through: Timestamp) -> Range<i64> {
        let first = after.0.saturating_sub(ACTS_WITHIN).div_euclid(PART_SECONDS);
        let last = through.0.div_euclid(PART_SECONDS);
        first..last.saturating_add(1)
    }

    /// Returns a part as of the given store version or a newer version. Under a live clock, candles
    /// added since the last read are recorded as arrivals.
    pub(crate) fn part(
        &self,
        (history, arrivals): (&History, &Arrivals),
        reader: &mut Reader,
        (symbol, index): (&Symbol, i64),
        version: i64,
        as_of: AsOf,
    ) -> Result<Arc<Part>, HistoryError> {
        let key = (symbol.clone(), index);
        if let Some(part) = self.current(&key, version, as_of) {
            return Ok(part);
        }
        let part = Arc::new(Part::read(history, reader, symbol, index)?);
        // Nodes share arrivals in the database, which must not be read under the lock. They take
        // effect some seconds later.
        let _requests = (!arrivals.is_shared()).then(|| self.lock_requests());
        let known = self.parts.get(&key);
        if let Some(newer) = known.as_ref().filter(|known| known.version >= part.version) {
            newer.note_request(as_of);
            return Ok(newer.clone());
        }
        if let AsOf::Live(now) = as_of {
            // Without the previous part, its requests are unknown. A request in progress may have
            // read its clock in another second.
            let before = known.as_ref().map_or(now.0.saturating_add(1), |known| known.requested_at());
            part.requested_at.store(before.max(now.0), Ordering::Relaxed);
            let passed = known.as_ref().map(|known| Timestamp(known.requested_at()));
            let known = known.map(|known| known.stamps()).or_else(|| self.stamps_of(&key));
            let at = arrivals.instant(passed, now);
            let new = known.map(|known| part.new_since(&known, at)).unwrap_or_default();
            if let Some((stamp, acted_at)) = known.and_then(|known| part.overtaken_day(&known, now)) {
                arrivals.note_among_nodes(symbol, &[(Session::Intraday, stamp)], (acted_at, now))?;
            }
            arrivals.note_among_nodes(symbol, &new, (at, now))?;
        }
        self.parts.insert(key, part.clone());
        Ok(part)
    }

    /// Returns the cached part, if it is not older than `version`.
    fn current(&self, key: &Key, version: i64, as_of: AsOf) -> Option<Arc<Part>> {
        let _requests = matches!(as_of, AsOf::Live(_)).then(|| self.lock_requests());
        let part = self.parts.get(key).filter(|part| part.version >= version)?;
        part.note_request(as_of);
        Some(part)
    }

    fn lock_requests(&self) -> MutexGuard<'_, ()> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retains the stamps of a part, for late-candle detection after its candles are evicted.
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
        if let Some(word) = self.minutes.get_mut(minute / 64) {
            *word |= 1_u64 << (minute % 64);
        }
    }

    fn has(&self, stamp: Timestamp) -> bool {
        let minute = Stamps::minute(stamp);
        self.minutes.get(minute / 64).is_some_and(|word| *word & (1_u64 << (minute % 64)) != 0)
    }

    /// Returns the minute of the UTC day, from 0 to 1439.
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
        // Read everything from one snapshot, so that the version matches the candles.
        let snapshot = reader.snapshot_of(symbol)?;
        let version = snapshot.version()?;
        let mut candles = history.minutes(&snapshot, symbol, start..end)?;
        let partial = snapshot.partial_minutes(symbol)?;
        if !partial.is_empty() {
            // A minute takes effect when it is final.
            let is_final = |candle: &Candle| {
                let lane = history::lane_of(candle.session);
                !partial.iter().any(|minute| minute.at == candle.time && minute.lane == lane)
            };
            candles = candles.iter().filter(is_final).collect();
        }
        let before = newest_before(history, &snapshot, symbol, start)?;
        let day = day_of(history, &snapshot, symbol, start)?;
        drop(snapshot);
        let mut times = ActTimes::new(history.venue(symbol));
        let mut effective: Vec<EffectiveCandle> =
            candles.iter().filter_map(|candle| times.of(candle, None)).collect();
        let has_regular = candles.iter().any(|candle| candle.session == Session::Intraday);
        if let Some((_, day)) = day.filter(|_| !has_regular) {
            insert_day(&mut effective, day);
        }
        let requested_at = AtomicI64::new(i64::MIN);
        Ok(Part { version, effective, day, has_regular, requested_at, before })
    }

    fn requested_at(&self) -> i64 {
        self.requested_at.load(Ordering::Relaxed)
    }

    fn note_request(&self, as_of: AsOf) {
        if let AsOf::Live(now) = as_of {
            self.requested_at.fetch_max(now.0, Ordering::Relaxed);
        }
    }

    fn stamps(&self) -> Stamps {
        let (has_regular, has_day) = (self.has_regular, self.day.is_some());
        let mut stamps = Stamps { has_regular, has_day, ..Stamps::default() };
        let minutes = self.effective.iter().filter(|effective| !effective.is_day());
        minutes.for_each(|effective| stamps.put(effective.candle.time));
        stamps
    }

    /// Returns the candles in stamp order, with late candles delayed to their arrival time.
    /// One-minute candles in regular hours that arrived after the date's daily candle took effect
    /// are omitted.
    pub(crate) fn delayed(&self, late: &Late) -> Vec<EffectiveCandle> {
        let arrived = self.day.and_then(|(stamp, day)| Some((day, late.arrived(Session::Intraday, stamp)?)));
        let is_kept = |effective: &&EffectiveCandle| {
            let is_regular = effective.candle.session == Session::Intraday;
            !(is_regular && arrived.is_some_and(|(day, _)| day.day == effective.day))
        };
        let delay = |effective: &EffectiveCandle| match late
            .arrived(effective.candle.session, effective.candle.time)
        {
            Some(arrived) if !effective.is_day() => {
                EffectiveCandle { at: effective.at.max(arrived), ..*effective }
            }
            _ => *effective,
        };
        let mut delayed: Vec<EffectiveCandle> = self.effective.iter().filter(is_kept).map(delay).collect();
        if let Some((day, arrived)) = arrived {
            insert_day(&mut delayed, EffectiveCandle { at: day.at.max(arrived), ..day });
        }
        delayed
    }

    /// Returns the candles that take effect after `after` and up to `through`.
    pub(crate) fn between(&self, after: Timestamp, through: Timestamp) -> &[EffectiveCandle] {
        let first = self.effective.partition_point(|effective| effective.at <= after);
        let last = self.effective.partition_point(|effective| effective.at <= through);
        self.effective.get(first..last).unwrap_or_default()
    }

    /// Returns candles that should have taken effect before `at` but were missing from an older
    /// read of the part.
    fn new_since(&self, older: &Stamps, at: Timestamp) -> Vec<(Session, Timestamp)> {
        let should_have = self.effective.iter().filter(|effective| effective.at < at);
        let new = should_have.filter(|effective| !effective.is_day() && !older.has(effective.candle.time));
        let mut new: Vec<_> =
            new.map(|effective| (effective.candle.session, effective.candle.time)).collect();
        let is_new =
            |day: &(Timestamp, EffectiveCandle)| !self.has_regular && !older.has_day && day.1.at < at;
        if let Some((stamp, _)) = self.day.filter(is_new) {
            new.push((Session::Intraday, stamp));
        }
        new
    }

    /// Returns the stamp of the date's daily candle and the instant at which it took effect, if
    /// one-minute candles in regular hours arrived after that instant. Otherwise returns `None`.
    fn overtaken_day(&self, older: &Stamps, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let was_coarse = older.has_day && !older.has_regular;
        let (stamp, day) = self.day.filter(|_| was_coarse && self.has_regular)?;
        (day.at <= now).then_some((stamp, day.at))
    }
}

/// Inserts a daily candle in stamp order. The candles stay in the order in which they take effect,
/// because the date's regular hours have no other candle.
fn insert_day(by_stamp: &mut Vec<EffectiveCandle>, day: EffectiveCandle) {
    let index = by_stamp.partition_point(|effective| effective.candle.time < day.candle.time);
    by_stamp.insert(index, day);
}

/// Returns the daily candle, and its stored stamp, of the date whose regular hours are in the part
/// that starts at `start`. Returns `None` if the date has no daily candle.
fn day_of(
    history: &History,
    view: &View,
    symbol: &Symbol,
    start: Timestamp,
) -> Result<Option<(Timestamp, EffectiveCandle)>, HistoryError> {
    // Options are filled only from one-minute candles.
    if symbol.is_us_option() {
        return Ok(None);
    }
    let venue = history.venue(symbol);
    let date = venue.zone().date(Timestamp(start.0.saturating_add(PART_SECONDS / 2)));
    let Ok(next) = date.tomorrow() else { return Ok(None) };
    let stored = history.last_day(view, symbol, next)?;
    let stored = stored.filter(|candle| venue.zone().date(candle.time) == date);
    Ok(stored.and_then(|candle| Some((candle.time, ActTimes::day(venue, date, candle)?))))
}

/// Returns the newest candle that takes effect before a part starts: a one-minute candle of any
/// lane, or the daily candle of a coarse day.
fn newest_before(
    history: &History,
    view: &View,
    symbol: &Symbol,
    start: Timestamp,
) -> Result<Option<EffectiveCandle>, HistoryError> {
    let venue = history.venue(symbol);
    let minute = history.last_minute(view, symbol, Timestamp(start.0.saturating_sub(1)))?;
    let minute = minute.map(|candle| {
        // A candle stored under another calendar may be on a non-trading day.
        let day = venue.zone().date(candle.time);
        let at = Timestamp(candle.time.0.saturating_add(60));
        let plain = EffectiveCandle { candle, at, day, kind: CandleKind::Minute };
        ActTimes::new(venue).of(candle, None).unwrap_or(plain)
    });
    if symbol.is_us_option() {
        return Ok(minute);
    }
    let mut date = venue.zone().date(Timestamp(start.0.saturating_add(PART_SECONDS / 2)));
    for _ in 0..CLOSED_DAYS_MAX {
        let Some(stored) = history.last_day(view, symbol, date)? else { break };
        date = venue.zone().date(stored.time);
        let Some(day) = ActTimes::day(venue, date, stored) else { continue };
        let is_older = minute.is_some_and(|minute| minute.at >= day.at);
        if is_older || history.last_regular_minute(view, symbol, date)?.is_some() {
            break;
        }
        return Ok(Some(day));
    }
    Ok(minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_retained_after_candles_are_evicted() {
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
        let requested_at = AtomicI64::new(0);
        let part = Part {
            version: 1,
            effective: Vec::new(),
            day: None,
            has_regular: false,
            requested_at,
            before: None,
        };
        minutes.remember((&symbol, 20_000), &part, now);
        // The stamps of an empty part are also retained, so that any later candle in the part is
        // detected as late.
        assert!(minutes.stamps_of(&key).is_some_and(|known| !known.has(Timestamp(start))));
    }
}
