//! Generates a small fictional market for trying out Chandler without data. The market has thirteen
//! securities with decades of daily candles, two years of one-minute candles (five-minute candles
//! for one security), dividends, splits, suspensions, halts, days with low volume, trades, share
//! counts and earnings of four companies, an option on one of the companies, and a file with
//! deliberate errors.
//!
//! All data is computed from the symbol, the date and `now`: the same `now` gives the same bytes on
//! every machine, and a later `now` continues earlier data. This module does no I/O. Start with
//! [`daily`]. `walk.rs` generates daily prices, `intraday.rs` the one-minute candles of a day, and
//! `course.rs` the price path within a day.

mod course;
mod events;
mod intraday;
mod options;
mod securities;
#[cfg(test)]
mod tests;
mod trades;
mod walk;

use std::iter::Peekable;

use jiff::ToSpan;
use market::fold::{Overflow, fold};
use market::{
    Action, Candle, Candles, Date, Floors, Minutes, Period, Price, Session, Timestamp, Trades, Turnover,
    Venue, Venues,
};

pub(crate) use options::{DemoOption, OPTION_DECIMALS, option};
pub(crate) use securities::DemoSecurity;
use walk::{DayPlan, Walk};

/// Securities with trades, one per market.
const TRADED: [&str; 3] = ["9001.HK", "CNDL.US", "609001.SH"];
/// Number of trading days with trades. It exceeds the 20 days that determine which trades are
/// large, so that trades on the newest days can be classified.
const TRADE_DAYS: usize = 23;
/// Security without one-minute candles, and the length of its candles in minutes. Some freely
/// available vendor data is like this.
const COARSE: (&str, u16) = ("687001.SH", 5);
/// Maximum number of trading days to search for the last traded day. Longer than any suspension.
const DAYS_SOUGHT_MAX: usize = 30;
/// Number of years of one-minute candles.
const MINUTE_YEARS: i64 = 2;

pub(crate) fn securities() -> &'static [DemoSecurity] {
    &securities::SECURITIES
}

/// Returns all corporate actions until `now` in ascending order. The generated prices reflect each
/// action on its ex-date.
pub(crate) fn actions(security: &DemoSecurity, venues: &Venues, now: Timestamp) -> Vec<Action> {
    let venue = venue_of(security, venues);
    let today = venue.zone().date(now);
    let events = events::dated(security.model.events, venue.calendar(), first_day(security, venue), today);
    events.into_iter().map(|(ex_date, terms)| terms.action(ex_date)).collect()
}

/// Returns daily candles until `now`, from the listing date or the beginning of the market's
/// history. While the market is open, the last candle is folded from the completed one-minute
/// candles.
pub(crate) fn daily(security: &DemoSecurity, venues: &Venues, now: Timestamp) -> Candles {
    let venue = venue_of(security, venues);
    let today = venue.zone().date(now);
    walk(security, venue, today).filter_map(|plan| day_candle(security, venue, &plan, now)).collect()
}

/// Returns the one-minute candles of the last two years in monthly batches, with ascending
/// timestamps. A trading day is never split between batches.
pub(crate) fn minutes<'a>(
    security: &'a DemoSecurity,
    venues: &'a Venues,
    now: Timestamp,
) -> impl Iterator<Item = Candles> + 'a {
    let venue = venue_of(security, venues);
    let today = venue.zone().date(now);
    let from = today.checked_sub(MINUTE_YEARS.years()).unwrap_or(Date::MIN).max(floors(venue).0);
    // One-minute candles of this evening may belong to the next trading day.
    let through = today.tomorrow().unwrap_or(Date::MAX);
    let mut days: Peekable<_> =
        walk(security, venue, through).skip_while(move |plan| plan.date < from).peekable();
    std::iter::from_fn(move || {
        let month = days.peek()?.date.first_of_month();
        let mut batch = Candles::default();
        while let Some(plan) = days.next_if(|plan| plan.date.first_of_month() == month) {
            intraday::append(&mut batch, security, venue, &plan, now);
        }
        Some(batch)
    })
    .filter(|batch| !batch.is_empty())
}

/// Returns the period of a security's intraday candles if it is longer than a minute, otherwise
/// `None`.
pub(crate) fn coarse_period(security: &DemoSecurity) -> Option<Period> {
    let (symbol, minutes) = COARSE;
    (security.symbol == symbol).then(|| Minutes::new(minutes).map(Period::Clock)).flatten()
}

/// Returns a security's one-minute candles folded into candles of another period, in monthly
/// batches.
pub(crate) fn coarse(
    security: &DemoSecurity,
    venues: &Venues,
    now: Timestamp,
    period: Period,
) -> Result<Vec<Candles>, Overflow> {
    let venue = venue_of(security, venues);
    minutes(security, venues, now).map(|batch| fold(venue, period, &batch)).collect()
}

/// Name of a file with errors that vendors make. Four of its five rows are rejected, each for a
/// different reason, and the other row equals a stored candle. The content never changes, so the
/// file is imported only once.
pub(crate) const FAULTY_NAME: &str = "SNUF.US_with_mistakes.csv";
pub(crate) const FAULTY_ROWS: &str = "\
symbol,date,open,high,low,close,volume,turnover
SNUF.US,2013-02-20,1.9100,2.0000,1.8900,1.9700,776919,1509165.157
SNUF.US,2013-02-21,1.9700,1.9000,1.9100,1.9200,626181,1221052.95
SNUF.US,2013-02-22,1.8700,1.8800,1.7500,n/a,1136836,2074725.7
SNUF.US,2013-02-20,1.9100,2.0000,1.8900,1.9700,776919,1509165.157
SNUF.US,2013-02-26,1.7500,1.7700,1.7400,1.7700,-455464,800477.98
";

/// CSV columns of [`FIGURES`] after the symbol.
pub(crate) const FIGURES_COLUMNS: &str =
    "from,total_shares,circulating_shares,hk_shares,eps,eps_ttm,bps,dividend_yield";
/// Fictional share counts and per-share figures, each valid from a date. One company splits its
/// shares, and one company makes a loss and pays no dividend. Other securities have no figures.
pub(crate) const FIGURES: [(&str, &str); 10] = [
    ("9001.HK", "2025-03-12,2400000000,2400000000,2400000000,5.98,5.98,61.2,1.58"),
    ("9001.HK", "2026-03-12,,,,6.24,6.24,63.9,1.623"),
    ("9001.HK", "2026-08-20,,,,,6.31,64.8,"),
    ("9003.HK", "2025-03-25,720000000,655000000,655000000,-1.12,-1.12,9.4,0"),
    ("9003.HK", "2026-03-24,,,,-0.86,-0.86,8.6,"),
    ("CNDL.US", "2025-02-05,4100000000,4050000000,,4.3,4.3,11.4,0.64"),
    ("CNDL.US", "2025-06-10,8200000000,8100000000,,2.15,2.15,5.7,"),
    ("CNDL.US", "2026-02-04,,,,2.42,2.42,6.3,0.652"),
    ("609001.SH", "2025-04-18,5600000000,4900000000,,1.74,1.74,18.2,0.37"),
    ("609001.SH", "2026-04-20,,,,1.86,1.86,19.4,0.38"),
];

/// Returns the instant until which data is generated at `now`. During regular hours this is the
/// open, because data that ends in the middle of a day would show up as a gap in the coverage.
pub(crate) fn made_until(security: &DemoSecurity, venues: &Venues, now: Timestamp) -> Timestamp {
    let venue = venue_of(security, venues);
    let Some(day) = venue.day(venue.zone().date(now)) else { return now };
    let regular = day.segments.iter().find(|segment| segment.session == Session::Intraday);
    match regular.map(|segment| day.at(segment.start)) {
        Some(open) if open < now && now < venue.day_end(day.date) => open,
        _ => now,
    }
}

/// Returns the last trading day for which data generated at `now` is complete: its regular hours
/// have ended, and the security was not suspended.
pub(crate) fn last_day(security: &DemoSecurity, venues: &Venues, now: Timestamp) -> Option<Date> {
    let venue = venue_of(security, venues);
    let before = |day: &Date| venue.calendar().on_or_before(day.yesterday().ok()?);
    let days = std::iter::successors(venue.calendar().on_or_before(venue.zone().date(now)), before);
    days.take(DAYS_SOUGHT_MAX).find(|day| venue.day_end(*day) <= now && !security.suspended(*day))
}

/// Returns whether a security has trades.
pub(crate) fn is_traded(security: &DemoSecurity) -> bool {
    TRADED.contains(&security.symbol)
}

/// Returns the trades of the last trading days in chronological order. Empty for a security without
/// trades.
pub(crate) fn trades(security: &DemoSecurity, venues: &Venues, now: Timestamp) -> Trades {
    let venue = venue_of(security, venues);
    let mut trades = Trades::default();
    if !is_traded(security) {
        return trades;
    }
    let through = venue.zone().date(now).tomorrow().unwrap_or(Date::MAX);
    let before = |day: &Date| venue.calendar().on_or_before(day.yesterday().ok()?);
    let days = std::iter::successors(venue.calendar().on_or_before(through), before);
    let from = days.take(TRADE_DAYS).last().unwrap_or(through);
    for plan in walk(security, venue, through).skip_while(|plan| plan.date < from) {
        let mut minutes = Candles::default();
        intraday::append(&mut minutes, security, venue, &plan, now);
        for minute in minutes.iter() {
            let is_auction = venue.slot(minute.time).is_some_and(|slot| slot.is_tail(minute.time));
            trades::append(&mut trades, security, &minute, is_auction);
        }
    }
    trades
}

fn venue_of<'a>(security: &DemoSecurity, venues: &'a Venues) -> &'a Venue {
    venues.of(security.region.market())
}

fn first_day(security: &DemoSecurity, venue: &Venue) -> Date {
    security.listing_date.max(floors(venue).1)
}

/// Returns the first dates of one-minute and daily candles. Earlier data would not be served to
/// accounts.
fn floors(venue: &Venue) -> (Date, Date) {
    let floors = Floors::published(venue.market());
    (floors.minute.unwrap_or(Date::MIN), floors.day.unwrap_or(Date::MIN))
}

fn walk<'a>(security: &'a DemoSecurity, venue: &'a Venue, through: Date) -> Walk<'a> {
    Walk::new(security, venue.calendar(), first_day(security, venue), through)
}

/// Returns the daily candle as of `now`. `None` if the day's first minute is not complete.
fn day_candle(security: &DemoSecurity, venue: &Venue, plan: &DayPlan, now: Timestamp) -> Option<Candle> {
    let time = venue.zone().midnight(plan.date);
    let DayPlan { open, high, low, close, volume, .. } = *plan;
    let whole = Candle {
        time,
        open: Price(open),
        high: Price(high),
        low: Price(low),
        close: Price(close),
        volume,
        turnover: intraday::turnover([open, high, low, close], volume),
        session: Session::Intraday,
    };
    if closing_time(venue, plan.date).is_some_and(|closed| closed <= now) {
        return Some(whole);
    }
    let mut minutes = Candles::default();
    intraday::append(&mut minutes, security, venue, plan, now);
    let regular = minutes.iter().filter(|minute| minute.session == Session::Intraday);
    regular.fold(None, |day: Option<Candle>, minute| {
        let day = day.unwrap_or(Candle { time, volume: 0, turnover: Turnover(0), ..minute });
        Some(Candle {
            high: day.high.max(minute.high),
            low: day.low.min(minute.low),
            close: minute.close,
            volume: day.volume + minute.volume,
            turnover: Turnover(day.turnover.0 + minute.turnover.0),
            ..day
        })
    })
}

/// Returns the end of a day's regular hours, including the closing auction. `None` if the date is
/// not a trading day.
fn closing_time(venue: &Venue, date: Date) -> Option<Timestamp> {
    let day = venue.day(date)?;
    let last = day.segments.iter().rfind(|segment| segment.session == Session::Intraday)?;
    let end = i64::from(last.end + last.tail) * 60;
    Some(venue.zone().instant(date, end))
}
