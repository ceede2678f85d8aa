//! What a file holds, told from its first rows: the unit of its times, and minutes or days.

use std::collections::HashMap;

use market::{Grain, Market};

use crate::clock::{Clock, DayOf, Reading, Unit};
use crate::options::gcd;
use crate::reader::RawRow;
use crate::spelling::SymbolTable;
use crate::time::{DAY, RawTime, date_of_number};
use crate::{Problem, ReadOptions, Vendor};

/// How many steps of chance it takes before a pattern is believed: a thin stock's minutes may all be multiples of
/// five by accident, but not with odds of one in a million.
const ODDS: f64 = 1e6;

/// One sampled row: its symbol's market, and its local and UTC clocks.
struct Seen {
    symbol: u32,
    market: Market,
    dated: bool,
    local: i64,
    /// Absent where only the wall clock is written.
    utc: Option<i64>,
}

pub(crate) fn read_sample(
    rows: &[&RawRow],
    symbols: &SymbolTable,
    clock: &mut Clock,
    vendor: Vendor,
    options: &ReadOptions,
) -> Result<Reading, Problem> {
    let unit = unit_of(rows);
    let stamp = options.stamp.unwrap_or(vendor.stamp());
    let mut seen = Vec::with_capacity(rows.len());
    for row in rows {
        let market = symbols.market(row.symbol);
        // A single bad time is that row's fault; it is rejected when its turn comes.
        let Ok(time) = clock.settle(unit, row.time) else { continue };
        let (dated, local, utc) = match time {
            RawTime::Date(date) => (true, clock.days().of(date) * DAY, None),
            RawTime::Wall { date, seconds } => {
                (false, clock.days().of(date) * DAY + i64::from(seconds), None)
            }
            RawTime::Instant(at) => (false, clock.local(market, at), Some(at)),
            RawTime::Number(_) => continue,
        };
        seen.push(Seen { symbol: row.symbol, market, dated, local, utc });
    }
    let utc_midnights =
        !seen.is_empty() && seen.iter().all(|s| s.utc.is_some_and(|at| at.rem_euclid(DAY) == 0));
    let local_midnights = !seen.is_empty() && seen.iter().all(|s| s.local.rem_euclid(DAY) == 0);
    let reading = |grain, day_of| Reading { grain, unit, day_of, stamp };
    match options.period {
        Some(Grain::Day) if utc_midnights && !local_midnights => return Ok(reading(Grain::Day, DayOf::Utc)),
        Some(Grain::Day) => return Ok(reading(Grain::Day, DayOf::Local)),
        Some(Grain::Minute) => return Ok(reading(Grain::Minute, DayOf::Stamp)),
        Some(_) => return Err(Problem::Period("only 1-minute and daily candles can be imported".to_owned())),
        None => {}
    }
    let dated = seen.iter().filter(|s| s.dated).count();
    if dated > 0 && seen.iter().any(|s| !s.dated && s.local.rem_euclid(DAY) != 0) {
        return Err(Problem::Mixed);
    }
    if dated > 0 || utc_midnights || local_midnights {
        check_days(&seen)?;
        let day_of = if utc_midnights && !local_midnights { DayOf::Utc } else { DayOf::Stamp };
        return Ok(reading(Grain::Day, day_of));
    }
    check_minutes(&mut seen)?;
    Ok(reading(Grain::Minute, DayOf::Stamp))
}

/// One unit for the whole file: the largest number decides, since small Unix times exist in every unit.
fn unit_of(rows: &[&RawRow]) -> Unit {
    let numbers =
        || rows.iter().filter_map(|row| if let RawTime::Number(n) = row.time { Some(n) } else { None });
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

/// The distances between neighbouring rows of each symbol, in seconds, without repetitions of one stamp.
fn steps(seen: &[Seen]) -> Vec<i64> {
    let mut by_symbol: HashMap<u32, Vec<i64>> = HashMap::new();
    for row in seen {
        by_symbol.entry(row.symbol).or_default().push(row.local);
    }
    let mut steps = Vec::new();
    let mut stamps: Vec<Vec<i64>> = by_symbol.into_values().collect();
    for stamps in &mut stamps {
        stamps.sort_unstable();
        stamps.dedup();
        steps.extend(stamps.windows(2).filter_map(|pair| if let [a, b] = pair { Some(b - a) } else { None }));
    }
    steps
}

fn check_days(seen: &[Seen]) -> Result<(), Problem> {
    let steps: Vec<i64> = steps(seen).iter().map(|step| step / DAY).collect();
    let common = steps.iter().fold(0, |common, step| gcd(common, i128::from(*step)));
    let name = match steps.iter().min() {
        Some(360..) if steps.len() >= 2 => "yearly",
        Some(84..) if steps.len() >= 3 => "quarterly",
        Some(28..) if steps.len() >= 4 => "monthly",
        Some(_) if common == 7 && likely(7, steps.len()) => "weekly",
        _ => return Ok(()),
    };
    Err(Problem::Period(format!(
        "looks like {name} candles; Chandler stores 1-minute and daily candles and makes the rest itself"
    )))
}

fn check_minutes(seen: &mut [Seen]) -> Result<(), Problem> {
    if has_day_rows(seen) {
        return Err(Problem::Mixed);
    }
    let all = steps(seen);
    let common = all.iter().fold(0, |common, step| gcd(common, i128::from(*step)));
    let minutes = i64::try_from(common / 60).unwrap_or_default();
    if common % 60 != 0 || minutes < 2 || !likely(minutes, all.len()) {
        return Ok(());
    }
    if minutes % 1440 == 0 {
        return Err(Problem::Period(
            "every row has one and the same time of day: daily candles? then pass --period day".to_owned(),
        ));
    }
    // The lunch break and the night are odd multiples; the step seen most often is the name people use.
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for step in all {
        *counts.entry(step / 60).or_default() += 1;
    }
    let usual =
        counts.into_iter().max_by_key(|(step, count)| (*count, -step)).map_or(minutes, |(step, _)| step);
    Err(Problem::Period(format!(
        "looks like {usual}-minute candles; Chandler stores 1-minute and daily candles and makes the rest itself"
    )))
}

fn likely(factor: i64, steps: usize) -> bool {
    (factor as f64).powf(steps.min(64) as f64) >= ODDS
}

/// Whether rows at midnight stand among minutes. Only the US trades at that hour, and then has neighbours.
fn has_day_rows(seen: &mut [Seen]) -> bool {
    const NEAR: i64 = 30 * 60;
    seen.sort_by_key(|s| (s.symbol, s.local));
    let mut lonely = 0;
    let mut dates = 0;
    let mut before: Option<(u32, i64)> = None;
    let mut rows = seen.iter().peekable();
    while let Some(row) = rows.next() {
        if before.is_none_or(|(symbol, local)| symbol != row.symbol || local / DAY != row.local / DAY) {
            dates += 1;
        }
        if row.local.rem_euclid(DAY) == 0 {
            let follows =
                before.is_some_and(|(symbol, local)| symbol == row.symbol && row.local - local <= NEAR);
            let leads =
                rows.peek().is_some_and(|next| next.symbol == row.symbol && next.local - row.local <= NEAR);
            if row.market != Market::Us {
                return true;
            }
            lonely += usize::from(!follows && !leads);
        }
        before = Some((row.symbol, row.local));
    }
    lonely > 0 && lonely * 2 >= dates
}
