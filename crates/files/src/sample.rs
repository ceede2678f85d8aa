//! Determines a file's time unit, date order and period from its first rows.

use market::{Grain, Venues};

use crate::clock::{Clock, DayOf, Reading, Unit};
use crate::period::{self, JudgeContext, JudgedBy, JudgedPeriod, Stamp, Stamps};
use crate::row::RawRow;
use crate::text::Rows;
use crate::time::{DAY, RawTime, date_of_number};
use crate::{DateOrder, Problem, ReadOptions, TimeFormat};

/// One sampled row: its symbol, and its time in local time and UTC.
struct SampledRow {
    symbol: u32,
    dated: bool,
    local: i64,
    /// `None` if the file has only local time.
    utc: Option<i64>,
}

/// Determines the time format and the period of a candle table. The period in the file's name
/// decides where the rows do not.
pub(crate) fn read_sample(
    rows: &[&RawRow],
    of: &Rows,
    clock: &mut Clock,
    venues: &Venues,
    options: &ReadOptions,
) -> Result<(Reading, JudgedPeriod), Problem> {
    let (symbols, vendor, named) = (&of.symbols, of.vendor, of.named_period);
    let times: Vec<RawTime> = rows.iter().map(|row| row.time).collect();
    let unit = unit_of(&times);
    let order = order_of(rows.iter().map(|row| (row.line, row.time)), options)?;
    let stamp = options.stamp.unwrap_or(vendor.stamp());
    let mut seen = Vec::with_capacity(rows.len());
    for row in rows {
        let market = symbols.market(row.symbol);
        // Rows with an invalid time are skipped here, and rejected when they are read.
        let Ok(time) = clock.settle(unit, order, row.time) else { continue };
        let (dated, local, utc) = match time {
            RawTime::Date(date) => (true, clock.days().of(date) * DAY, None),
            RawTime::Wall { date, seconds } => {
                (false, clock.days().of(date) * DAY + i64::from(seconds), None)
            }
            RawTime::Instant(at) => (false, clock.local(market, at), Some(at)),
            RawTime::Number(_) | RawTime::Ordered { .. } => continue,
        };
        seen.push(SampledRow { symbol: row.symbol, dated, local, utc });
    }
    let utc_midnights =
        !seen.is_empty() && seen.iter().all(|s| s.utc.is_some_and(|at| at.rem_euclid(DAY) == 0));
    let local_midnights = !seen.is_empty() && seen.iter().all(|s| s.local.rem_euclid(DAY) == 0);
    let reading = |grain, day_of| Reading { grain, unit, order, day_of, stamp };
    let days_of_utc = utc_midnights && !local_midnights;
    if let Some(grain) = options.period {
        let day_of = match grain {
            Grain::Day if days_of_utc => DayOf::Utc,
            Grain::Day => DayOf::Local,
            Grain::Minute15 | Grain::Minute60 => return Err(Problem::Grain(grain)),
            Grain::Minute | Grain::Own5 | Grain::Own15 | Grain::Own30 | Grain::Own60 => DayOf::Stamp,
        };
        let judged = JudgedPeriod { period: grain.period(), by: JudgedBy::Option };
        return Ok((reading(grain, day_of), judged));
    }
    let dated = seen.iter().filter(|s| s.dated).count();
    if dated > 0 && seen.iter().any(|s| !s.dated && s.local.rem_euclid(DAY) != 0) {
        return Err(Problem::Mixed);
    }
    let are_dates = dated > 0 || utc_midnights || local_midnights;
    let (stamps, day_of) = match (are_dates, days_of_utc) {
        (true, true) => (Stamps::Dates, DayOf::Utc),
        (true, false) => (Stamps::Dates, DayOf::Stamp),
        (false, _) => (Stamps::Times, DayOf::Stamp),
    };
    // A UTC midnight means the UTC date, even if the local date differs.
    let local = |s: &SampledRow| if day_of == DayOf::Utc { s.utc.unwrap_or(s.local) } else { s.local };
    let mut rows: Vec<Stamp> = seen.iter().map(|s| Stamp { symbol: s.symbol, local: local(s) }).collect();
    let judged = period::judge(&mut rows, stamps, JudgeContext { venues, symbols: symbols.symbols() });
    let judged = period::with_name(judged, named, &rows, stamps)?;
    let grain = period::importable(judged.period)?;
    // Days with a time of day, such as that of the open, are dated by it.
    let day_of = if grain == Grain::Day && stamps == Stamps::Times { DayOf::Local } else { day_of };
    Ok((reading(grain, day_of), judged))
}

/// Determines the time format of a trade table. Trades have times of day, never only dates.
pub(crate) fn read_trade_sample(rows: &[(u64, RawTime)], options: &ReadOptions) -> Result<Reading, Problem> {
    let times: Vec<RawTime> = rows.iter().map(|(_, time)| *time).collect();
    let (unit, order) = (unit_of(&times), order_of(rows.iter().copied(), options)?);
    Ok(Reading { grain: Grain::Minute, unit, order, day_of: DayOf::Stamp, stamp: crate::Stamp::Start })
}

/// Returns the unit of numeric times, one for the whole file. The unit is determined from the
/// largest number, because small Unix times are valid in every unit.
fn unit_of(times: &[RawTime]) -> Unit {
    let numbers =
        || times.iter().filter_map(|time| if let RawTime::Number(n) = *time { Some(n) } else { None });
    let Some(largest) = numbers().map(i64::unsigned_abs).max() else { return Unit::PerSecond(1) };
    let written = |digits: u64| {
        numbers().all(|n| u64::try_from(n).is_ok_and(|n| date_of_number((n / digits) as i64).is_ok()))
    };
    match largest {
        10_000_000..=99_999_999 if written(1) => Unit::Days,
        100_000_000_000..=999_999_999_999 if written(10_000) => Unit::Minutes,
        10_000_000_000_000..=99_999_999_999_999 if written(1_000_000) => Unit::Seconds,
        10_000_000_000_000_000..=99_999_999_999_999_999 if written(1_000_000_000) => Unit::Thousandths,
        0..=99_999_999_999 => Unit::PerSecond(1),
        100_000_000_000..=99_999_999_999_999 => Unit::PerSecond(1_000),
        100_000_000_000_000..=99_999_999_999_999_999 => Unit::PerSecond(1_000_000),
        _ => Unit::PerSecond(1_000_000_000),
    }
}

/// Determines whether dates like `11/5/2019` have the month or the day first, for the whole file. A
/// number above 12 must be a day. Fails if every date is ambiguous.
fn order_of(
    rows: impl Iterator<Item = (u64, RawTime)>,
    options: &ReadOptions,
) -> Result<Option<DateOrder>, Problem> {
    if let Some(TimeFormat::Order(order)) = options.time_format {
        return Ok(Some(order));
    }
    let (mut any, mut day_first, mut month_first) = (None, None, None);
    for (line, time) in rows {
        let RawTime::Ordered { first: [first, second], .. } = time else { continue };
        any = any.or(Some((line, time)));
        if first > 12 && second <= 12 {
            day_first = day_first.or(Some(line));
        } else if first <= 12 && second > 12 {
            month_first = month_first.or(Some(line));
        }
    }
    match (any, day_first, month_first) {
        (None, ..) => Ok(None),
        (_, Some(_), None) => Ok(Some(DateOrder::DayFirst)),
        (_, None, Some(_)) => Ok(Some(DateOrder::MonthFirst)),
        (Some((_, RawTime::Ordered { has_points: true, .. })), None, None) => Ok(Some(DateOrder::DayFirst)),
        // If some rows have the day first and others the month, dates with two numbers up to 12 are
        // ambiguous.
        (_, Some(day_first), Some(month_first)) => Err(Problem::DatesOfBothOrders { month_first, day_first }),
        (Some((line, time)), None, None) => Err(Problem::AmbiguousDates { line, date: time.to_string() }),
    }
}
