//! Generates a call option on one of the fictional US securities, with several weeks of one-minute
//! candles, so that option trading can be tried.
//!
//! The option expires on the third Friday of a month, two to seven weeks ahead. Its strike is the
//! price of the security nine weeks before expiry. Strike and expiry depend only on the date, so a
//! later `now` continues the same option until the next option replaces it.

use jiff::ToSpan;
use jiff::civil::Weekday;
use market::fold::{Overflow, fold_whole};
use market::{Candle, Candles, Date, Price, Session, Symbol, Timestamp, Venues};

use super::{intraday, made_until, securities, venue_of, walk};

const UNDERLYING: &str = "CNDL.US";
const WEEKS_LISTED: i64 = 9;
/// Minimum number of days until the option expires. An option closer to expiry is replaced.
const DAYS_LEFT_MIN: i64 = 14;
/// Time value of an at-the-money option when it is listed, as a share of the strike.
const TIME_VALUE: f64 = 0.04;
/// Distance from the strike at which the time value is zero, as a share of the strike.
const TIME_VALUE_REACH: f64 = 0.25;
/// Number of underlying shares traded per traded option contract. Determines the option's volume.
const SHARES_A_CONTRACT: i64 = 500;
const CENT: f64 = 10_000.0;
pub(crate) const OPTION_DECIMALS: u32 = 2;

/// Option with its daily and one-minute candles in regular hours.
#[derive(Debug)]
pub(crate) struct DemoOption {
    pub(crate) symbol: Symbol,
    pub(crate) days: Candles,
    pub(crate) minutes: Candles,
}

/// Returns the option that is listed at `now`. `None` if the underlying security was not listed
/// early enough.
pub(crate) fn option(venues: &Venues, now: Timestamp) -> Result<Option<DemoOption>, Overflow> {
    let Some(security) = securities().iter().find(|security| security.symbol == UNDERLYING) else {
        return Ok(None);
    };
    let (venue, now) = (venue_of(security, venues), made_until(security, venues, now));
    let today = venue.zone().date(now);
    let Some((listed, expiry)) = listing(today) else { return Ok(None) };
    let mut strike = None;
    let (mut days, mut minutes) = (Candles::default(), Candles::default());
    for plan in walk(security, venue, today) {
        if plan.date <= listed {
            strike = Some((plan.close as f64 / 1e6).round().max(1.0));
            continue;
        }
        let Some(strike) = strike else { break };
        let days_left = plan.date.until(expiry).map_or(0, |span| span.get_days());
        let mut shares = Candles::default();
        intraday::append(&mut shares, security, venue, &plan, now);
        let regular = shares.iter().filter(|minute| minute.session == Session::Intraday);
        let of_day: Candles = regular.map(|minute| contract(&minute, strike, days_left)).collect();
        fold_whole(venue.zone().midnight(plan.date), &of_day)?.iter().for_each(|day| days.push(day));
        of_day.iter().for_each(|minute| minutes.push(minute));
    }
    let code = strike
        .map(|strike: f64| format!("CNDL{}C{}.US", expiry.strftime("%y%m%d"), (strike * 1000.0) as i64));
    let symbol = code.and_then(|code| code.parse().ok());
    Ok(symbol.map(|symbol| DemoOption { symbol, days, minutes }))
}

/// Returns the listing and expiry dates of the option that is listed on `today`.
fn listing(today: Date) -> Option<(Date, Date)> {
    let expiry = third_friday(today.checked_add(DAYS_LEFT_MIN.days()).ok()?)?;
    Some((expiry.checked_sub(WEEKS_LISTED.weeks()).ok()?, expiry))
}

/// Returns the first third Friday of a month that is on or after `from`.
fn third_friday(from: Date) -> Option<Date> {
    let of_month = |first: Date| first.nth_weekday_of_month(3, Weekday::Friday).ok();
    let first = of_month(from)?;
    if first >= from { Some(first) } else { of_month(from.first_of_month().checked_add(1.month()).ok()?) }
}

/// Converts a one-minute candle of the underlying security into a candle of the option. The premium
/// never falls when the share price rises, so the high remains the high.
fn contract(minute: &Candle, strike: f64, days_left: i32) -> Candle {
    let price = |price: Price| premium(price.0 as f64 / 1e6, strike, f64::from(days_left));
    let [open, high, low, close] = [minute.open, minute.high, minute.low, minute.close].map(price);
    let volume = (minute.volume / SHARES_A_CONTRACT).max(1);
    let turnover = intraday::turnover([open, high, low, close].map(|price| price.0), volume * 100);
    Candle { open, high, low, close, volume, turnover, ..*minute }
}

fn premium(share: f64, strike: f64, days_left: f64) -> Price {
    let nearness = 1.0 - (share - strike).abs() / (strike * TIME_VALUE_REACH);
    let listed_days = WEEKS_LISTED as f64 * 7.0;
    let time_value = strike * TIME_VALUE * days_left / listed_days * nearness.max(0.0);
    let exact = (share - strike).max(0.0) + time_value;
    Price(((exact * 100.0).round().max(1.0) * CENT) as i64)
}
