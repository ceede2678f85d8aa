//! Coverage: compares stored candles with the trading calendar, day by day.
//!
//! A one-minute candle is missing either because there were no trades or because it was not loaded.
//! The stored data often shows the reason: a daily candle with volume proves that there was
//! trading, and a source file with candles before and after a gap proves that there were no trades
//! within the gap. Otherwise the reason is unknown.

mod states;

use std::collections::BTreeMap;
use std::ops::Range;

use block::Block;
use market::{Candles, Date, DayKind, Grain, Session, Symbol, Timestamp, Venue};
use store::{ImportSource, Lane, Reader, Series, SeriesInfo, Snapshot};

use crate::as_of::AsOf;
use crate::inventory::known_part;
use crate::own::has_own;
use crate::query::HistoryError;
use crate::read::History;
use states::LaneDay;
pub use states::{DayState, Expected};

#[derive(Clone, Debug)]
pub struct Coverage {
    pub symbol: Symbol,
    /// Trading days, and other days with candles, in ascending order. Covers the part of the
    /// requested range between the first stored day and the last completed day, or the last stored
    /// day if that is later.
    pub days: Vec<DayCoverage>,
    /// Last day with a candle. Later days are missing, but are not gaps within the stored data.
    pub last: Date,
}

impl Coverage {
    /// Splits `days` after the last day with a candle.
    pub fn split(&self) -> (&[DayCoverage], &[DayCoverage]) {
        self.days.split_at(self.days.partition_point(|day| day.date <= self.last))
    }
}

#[derive(Clone, Debug)]
pub struct DayCoverage {
    pub date: Date,
    /// `None` for a day with stored candles on which the market is closed according to the
    /// calendar.
    pub kind: Option<DayKind>,
    pub daily: bool,
    /// Why the daily candle is missing. `None` if it is stored, or if the day is not completed.
    pub daily_gap: Option<GapReason>,
    /// Grain of the day's intraday candles: one minute if one-minute candles are stored, otherwise
    /// the grain of a coarse file. A coarse candle is counted as the number of minutes that it
    /// covers.
    pub grain: Grain,
    /// Number of expected regular minutes; zero on days before the first stored minute.
    pub expected: u32,
    pub stored: u32,
    /// Number of stored minutes outside regular hours, where the expected number is unknown.
    pub extended: u32,
    pub gaps: Vec<Gap>,
}

/// A run of consecutive expected minutes without a candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub first: Timestamp,
    pub last: Timestamp,
    pub minutes: u32,
    pub reason: GapReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapReason {
    NoTrades,
    NotLoaded,
    Unknown,
}

impl GapReason {
    pub fn as_str(self) -> &'static str {
        match self {
            GapReason::NoTrades => "no trades",
            GapReason::NotLoaded => "not loaded",
            GapReason::Unknown => "unknown",
        }
    }
}

impl DayCoverage {
    /// Returns whether this is a trading day without gaps. A day with candles on which the market
    /// was closed is never complete, so that it gets reported.
    pub fn is_complete(&self) -> bool {
        self.kind.is_some() && self.daily && self.gaps.is_empty()
    }

    /// Returns whether every gap is known to have had no trades.
    pub fn is_explained(&self) -> bool {
        let daily = self.daily_gap.is_none_or(|reason| reason == GapReason::NoTrades);
        daily && self.gaps.iter().all(|gap| gap.reason == GapReason::NoTrades)
    }
}

/// Compares the candles of one symbol with its calendar, day by day. The inclusive date range is
/// limited to the days described at [`Coverage::days`].
pub fn coverage(
    history: &History,
    reader: &mut Reader,
    symbol: &Symbol,
    range: (Option<Date>, Option<Date>),
    as_of: AsOf,
) -> Result<Coverage, HistoryError> {
    let snapshot = reader.snapshot_of(symbol)?;
    if snapshot.security(symbol)?.is_none() {
        return Err(HistoryError::UnknownSecurity(symbol.clone()));
    }
    let venue = history.venue(symbol);
    let Some(Extent { first, last, first_minute }) = Extent::of(&snapshot, venue, symbol, as_of)? else {
        return Err(HistoryError::NoCandles(symbol.clone()));
    };
    let from = range.0.map_or(first, |from| from.max(first));
    // Days after the last candle are missing, up to the last completed day.
    let over = last_complete_day(venue, as_of).map_or(last, |day| day.max(last));
    let through = range.1.map_or(over, |through| through.min(over));
    let window = window(venue, from, through);
    let has_coarse = has_own(&snapshot, symbol)?;
    let read = |grain: Grain, lane: Lane| {
        if grain.is_own() && !has_coarse {
            return Ok(Candles::default());
        }
        let known = window.start..window.end.min(as_of.known_until(venue, grain).0);
        within(&snapshot, &Series { symbol: symbol.clone(), grain, lane }, &known)
    };
    let begun = begun_until(venue, as_of);
    let mut minutes = states::of_lane(venue, begun, |grain| read(grain, Lane::Regular))?;
    let extended = outside_regular_hours(venue, begun, read)?;
    let daily = volumes(venue, &read(Grain::Day, Lane::Regular)?);
    let sources = known_sources(&snapshot, venue, symbol, as_of)?;
    let mut dates: Vec<Date> = venue.calendar().days(from, through).map(|(date, _)| date).collect();
    let odd = daily.keys().chain(minutes.keys()).filter(|date| (from..=through).contains(date)).copied();
    dates.extend(odd.collect::<Vec<_>>());
    dates.sort_unstable();
    dates.dedup();
    let mut days = Vec::with_capacity(dates.len());
    for date in dates {
        let LaneDay { grain, minutes: times } = minutes.remove(&date).unwrap_or_default();
        let volume = daily.get(&date).copied();
        let gaps = match first_minute {
            Some(first) if first <= date => {
                gaps(venue, date, (grain, times.as_slice()), volume, &sources, as_of)
            }
            _ => Vec::new(),
        };
        let expected = match first_minute {
            Some(first) if first <= date => regular_minutes(venue, date, as_of).len() as u32,
            _ => 0,
        };
        // An unfinished day has no daily candle yet.
        let is_due = volume.is_none() && as_of.is_over(venue, date);
        let daily_gap = is_due.then(|| daily_gap(venue, date, &times, &sources));
        days.push(DayCoverage {
            date,
            kind: venue.calendar().kind(date),
            daily: volume.is_some(),
            daily_gap,
            grain,
            expected,
            stored: times.len() as u32,
            extended: extended.get(&date).copied().unwrap_or_default(),
            gaps,
        });
    }
    Ok(Coverage { symbol: symbol.clone(), days, last })
}

/// Returns the number of stored minutes outside regular hours, per day.
fn outside_regular_hours(
    venue: &Venue,
    begun: Timestamp,
    read: impl Fn(Grain, Lane) -> Result<Candles, HistoryError>,
) -> Result<BTreeMap<Date, u32>, HistoryError> {
    let mut extended: BTreeMap<Date, u32> = BTreeMap::new();
    for lane in [Lane::Extended, Lane::Overnight] {
        for (date, day) in states::of_lane(venue, begun, |grain| read(grain, lane))? {
            *extended.entry(date).or_default() += day.minutes.len() as u32;
        }
    }
    Ok(extended)
}

/// Returns the source files of a symbol's candles, clipped to what is visible at `as_of`. A file
/// that extends beyond a replay's clock would reveal later trading.
fn known_sources(
    snapshot: &Snapshot<'_>,
    venue: &Venue,
    symbol: &Symbol,
    as_of: AsOf,
) -> Result<Vec<ImportSource>, HistoryError> {
    let mut known = Vec::new();
    for mut source in snapshot.import_sources(symbol)? {
        let until = as_of.known_until(venue, source.series.grain);
        if source.last >= until {
            let stored = snapshot.series(&source.series)?;
            let part = stored.map(|info| known_part(snapshot, venue, info, as_of)).transpose()?.flatten();
            let Some(last) = part.map(|part| part.last).filter(|last| *last >= source.first) else {
                continue;
            };
            source.last = source.last.min(last);
        }
        known.push(source);
    }
    Ok(known)
}

/// First and last day on which a security has regular candles.
#[derive(Clone, Copy, Debug)]
struct Extent {
    first: Date,
    last: Date,
    /// First day with one-minute or coarse candles.
    first_minute: Option<Date>,
}

impl Extent {
    fn of(
        snapshot: &Snapshot<'_>,
        venue: &Venue,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<Option<Extent>, HistoryError> {
        let all = snapshot.series_of(symbol)?;
        let ends = |grain: Grain| {
            let regular =
                |info: &&SeriesInfo| info.series.grain == grain && info.series.lane == Lane::Regular;
            let stored = all.iter().find(regular).cloned();
            let known = stored.map(|info| known_part(snapshot, venue, info, as_of)).transpose()?.flatten();
            Ok::<_, HistoryError>(known.map(|info| (info.first, info.last)))
        };
        let date = |at: Timestamp| venue.slot(at).map_or_else(|| venue.zone().date(at), |slot| slot.day);
        let days = ends(Grain::Day)?.map(|(first, last)| (venue.zone().date(first), venue.zone().date(last)));
        let both = |one: (Date, Date), other: (Date, Date)| (one.0.min(other.0), one.1.max(other.1));
        let mut minutes: Option<(Date, Date)> = None;
        for grain in std::iter::once(Grain::Minute).chain(Grain::OWN) {
            let known = ends(grain)?.map(|(first, last)| (date(first), date(last)));
            minutes = minutes.into_iter().chain(known).reduce(both);
        }
        let all = days.into_iter().chain(minutes).reduce(both);
        Ok(all.map(|(first, last)| Extent { first, last, first_minute: minutes.map(|(first, _)| first) }))
    }
}

/// Returns the range of stamps that candles of the trading days `from` to `through` may have. The
/// range starts a day early, because an evening session may belong to the next trading day.
fn window(venue: &Venue, from: Date, through: Date) -> Range<i64> {
    let from = from.yesterday().unwrap_or(from);
    let until = through.tomorrow().unwrap_or(through);
    venue.zone().midnight(from).0..venue.zone().midnight(until).0.max(venue.zone().midnight(from).0)
}

fn within(snapshot: &Snapshot<'_>, series: &Series, times: &Range<i64>) -> Result<Candles, HistoryError> {
    let mut candles = Candles::default();
    if times.is_empty() {
        return Ok(candles);
    }
    for entry in snapshot.blocks(series, Some(Timestamp(times.start)), Some(Timestamp(times.end)))? {
        let read = snapshot.with_block(&entry, |bytes| {
            Block::parse(bytes).and_then(|block| block.read(times.clone(), &mut candles))
        })?;
        read.map_err(|source| HistoryError::Damaged { series: series.clone(), at: entry.first, source })?;
    }
    Ok(candles)
}

/// Returns the volume of each day that has a daily candle.
fn volumes(venue: &Venue, daily: &Candles) -> BTreeMap<Date, i64> {
    daily.iter().map(|candle| (venue.zone().date(candle.time), candle.volume)).collect()
}

fn by_day(venue: &Venue, candles: &Candles) -> BTreeMap<Date, Vec<i64>> {
    let mut days: BTreeMap<Date, Vec<i64>> = BTreeMap::new();
    let mut slot: Option<market::Slot> = None;
    for time in &candles.time {
        let at = Timestamp(*time);
        slot = slot.filter(|slot| slot.holds(at)).or_else(|| venue.slot(at));
        let date = slot.map_or_else(|| venue.zone().date(at), |slot| slot.day);
        days.entry(date).or_default().push(*time);
    }
    days
}

/// Returns the last trading day whose regular hours are over, or `None` if the calendar has none.
fn last_complete_day(venue: &Venue, as_of: AsOf) -> Option<Date> {
    let today = venue.zone().date(as_of.now());
    let over = if as_of.is_over(venue, today) { today } else { today.yesterday().ok()? };
    venue.calendar().on_or_before(over)
}

fn regular_minutes_of(venue: &Venue, date: Date) -> Vec<i64> {
    let Some(day) = venue.day(date) else { return Vec::new() };
    day.minutes().filter(|(_, slot)| slot.segment.session == Session::Intraday).map(|(at, _)| at.0).collect()
}

/// Returns the stamps of a day's regular minutes that have begun.
fn regular_minutes(venue: &Venue, date: Date, as_of: AsOf) -> Vec<i64> {
    let until = begun_until(venue, as_of);
    let mut minutes = regular_minutes_of(venue, date);
    minutes.retain(|at| *at < until.0);
    minutes
}

/// Returns the exclusive upper bound for the stamps of minutes that have begun.
fn begun_until(venue: &Venue, as_of: AsOf) -> Timestamp {
    as_of.known_until(venue, Grain::Minute).min(Timestamp(as_of.now().0.saturating_add(1)))
}

fn gaps(
    venue: &Venue,
    date: Date,
    (grain, times): (Grain, &[i64]),
    volume: Option<i64>,
    sources: &[ImportSource],
    as_of: AsOf,
) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut open = false;
    for minute in regular_minutes(venue, date, as_of) {
        if times.binary_search(&minute).is_ok() {
            open = false;
            continue;
        }
        match gaps.last_mut() {
            Some(gap) if open => {
                gap.last = Timestamp(minute);
                gap.minutes += 1;
            }
            _ => {
                let at = Timestamp(minute);
                gaps.push(Gap { first: at, last: at, minutes: 1, reason: GapReason::Unknown });
                open = true;
            }
        }
    }
    for gap in &mut gaps {
        gap.reason = reason(gap, grain, times.is_empty(), volume, sources);
    }
    gaps
}

fn reason(
    gap: &Gap,
    grain: Grain,
    whole_day: bool,
    volume: Option<i64>,
    sources: &[ImportSource],
) -> GapReason {
    // A gap within a day needs a source file of the same grain as evidence. For a day without any
    // candle, a coarse file is sufficient evidence.
    let speaks = |of: Grain| of == grain || whole_day && of.is_own();
    let spans = |source: &&ImportSource| {
        speaks(source.series.grain)
            && source.series.lane == Lane::Regular
            && source.first <= gap.first
            && gap.last <= source.last
    };
    match volume {
        Some(0) => GapReason::NoTrades,
        // The day has volume, but none of its minutes is stored.
        Some(_) if whole_day => GapReason::NotLoaded,
        _ if sources.iter().any(|source| spans(&source)) => GapReason::NoTrades,
        // Without source files, the reason is unknown. Otherwise the gap was not loaded, because no
        // source file spans it.
        _ if sources.is_empty() => GapReason::Unknown,
        _ => GapReason::NotLoaded,
    }
}

fn daily_gap(venue: &Venue, date: Date, times: &[i64], sources: &[ImportSource]) -> GapReason {
    if !times.is_empty() {
        return GapReason::NotLoaded;
    }
    let midnight = venue.zone().midnight(date);
    let mut days = sources.iter().filter(|source| source.series.grain == Grain::Day).peekable();
    if days.peek().is_none() {
        return GapReason::NotLoaded;
    }
    let spanned = days.any(|source| source.first <= midnight && midnight <= source.last);
    if spanned { GapReason::NoTrades } else { GapReason::NotLoaded }
}
