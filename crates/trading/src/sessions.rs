//! Trading hours of orders: the day to which an order belongs, when it is reported, when it
//! expires, and when it may not be changed.

use market::{Date, Day, Market, Session, Timestamp, Venue};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::words::{OrderType, OutsideRth, TimeInForce};

/// An order's placement in the calendar, set when the order is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Day of the first session in which the order can still trade.
    #[serde(with = "codec::text")]
    pub day: Date,
    /// Start of order input for that session. An order submitted earlier is parked until then.
    #[serde(with = "codec::instant")]
    pub reports_at: Timestamp,
    /// Expiry time. `None` for good-til-canceled orders.
    #[serde(with = "codec::instant_option")]
    pub expires_at: Option<Timestamp>,
    /// First auction that an auction order joins. `None` for other order types.
    pub auction: Option<Auction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auction {
    /// Stamp of the candle with the auction price.
    #[serde(with = "codec::instant")]
    pub stamp: Timestamp,
    /// When the candle with the auction price takes effect.
    #[serde(with = "codec::instant")]
    pub over_at: Timestamp,
    pub is_closing: bool,
}

/// Properties of an order that determine its placement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hours {
    pub(crate) order_type: OrderType,
    pub(crate) outside_rth: OutsideRth,
    pub(crate) time_in_force: TimeInForce,
    pub(crate) expire_date: Option<Date>,
}

/// Start of order input in Hong Kong, in minutes before the opening.
const HK_INPUT_BEFORE_OPEN: i32 = 30;
/// Start of the no-cancel period before the opening, in minutes before the opening.
const HK_NO_CANCEL_BEFORE_OPEN: i32 = 15;
/// End of order input for the opening auction, in minutes before the opening.
const HK_AUCTION_INPUT_UNTIL_BEFORE_OPEN: i32 = 10;
/// Start of the no-cancel period of the closing auction, in minutes after the end of continuous
/// trading.
const HK_NO_CANCEL_AFTER_END: i32 = 6;
/// End of order input for the closing auction, in minutes after the end of continuous trading.
const HK_INPUT_AFTER_END: i32 = 8;
/// Maximum number of days to search ahead for a trading day, which is longer than any market
/// holiday.
const DAYS_AHEAD: usize = 30;

/// Returns whether an order may trade in a session.
pub(crate) fn trades_in(outside_rth: OutsideRth, session: Session) -> bool {
    match outside_rth {
        OutsideRth::AnyTime => session != Session::Overnight,
        OutsideRth::Overnight => session == Session::Overnight,
        OutsideRth::RegularOnly | OutsideRth::OptionPreMarket | OutsideRth::NotApplicable => {
            session == Session::Intraday
        }
    }
}

/// Hours of one day in which an order is active: start of reporting, end of trading, and expiry.
struct DayHours {
    reports_at: Timestamp,
    trades_until: Timestamp,
    ends_at: Timestamp,
}

/// Returns the placement of an order submitted at `at`, or `None` if no day within [`DAYS_AHEAD`]
/// is suitable.
pub(crate) fn place(venue: &Venue, hours: Hours, at: Timestamp) -> Option<Placement> {
    let today = venue.zone().date(at);
    let dates = std::iter::successors(Some(today), |date| date.tomorrow().ok()).take(DAYS_AHEAD);
    for date in dates {
        let Some(day) = venue.day(date) else { continue };
        let Some(found) = day_hours(venue.market(), &day, hours) else { continue };
        if at >= found.trades_until {
            continue;
        }
        let auction = match hours.order_type {
            OrderType::Auction | OrderType::AuctionLimit => match next_auction(&day, at) {
                Some(auction) => Some(auction),
                None => continue,
            },
            _ => None,
        };
        let expires_at = match hours.time_in_force {
            TimeInForce::Day => Some(found.ends_at),
            TimeInForce::GoodTilCanceled => None,
            TimeInForce::GoodTilDate => Some(last_end(venue, hours).unwrap_or(found.ends_at)),
        };
        return Some(Placement { day: date, reports_at: found.reports_at, expires_at, auction });
    }
    None
}

/// Returns the end of continuous trading on the first day on which it is after `at`, or `None` if
/// there is no such day within [`DAYS_AHEAD`].
pub(crate) fn intraday_end(venue: &Venue, at: Timestamp) -> Option<Timestamp> {
    let today = venue.zone().date(at);
    let dates = std::iter::successors(Some(today), |date| date.tomorrow().ok()).take(DAYS_AHEAD);
    let end = |date: Date| {
        let day = venue.day(date)?;
        let regular = day.segments.iter().filter(|segment| segment.session == Session::Intraday);
        regular.map(|segment| day.at(segment.end)).max()
    };
    dates.filter_map(end).find(|end| at < *end)
}

/// Returns when an order expires at the end of the last trading day on or before its expiry date.
fn last_end(venue: &Venue, hours: Hours) -> Option<Timestamp> {
    let date = venue.calendar().on_or_before(hours.expire_date?)?;
    day_hours(venue.market(), &venue.day(date)?, hours).map(|hours| hours.ends_at)
}

fn day_hours(market: Market, day: &Day<'_>, hours: Hours) -> Option<DayHours> {
    let segments = || day.segments.iter().filter(|segment| trades_in(hours.outside_rth, segment.session));
    let (first, last) = (segments().next()?, segments().next_back()?);
    if market != Market::Hk {
        let end = day.at(last.end);
        return Some(DayHours { reports_at: day.at(first.start), trades_until: end, ends_at: end });
    }
    let joins_auction = hours.order_type.joins_closing_auction() && last.tail > 0;
    let input = if joins_auction { HK_INPUT_AFTER_END } else { 0 };
    Some(DayHours {
        reports_at: day.at(first.start - HK_INPUT_BEFORE_OPEN),
        trades_until: day.at(last.end + input),
        ends_at: day.at(last.end + last.tail),
    })
}

/// Returns the first auction of a day that an order submitted at `at` can join, or `None` if all
/// auctions have passed.
fn next_auction(day: &Day<'_>, at: Timestamp) -> Option<Auction> {
    let (first, last) = (day.segments.first()?, day.segments.last()?);
    if at < day.at(first.start - HK_AUCTION_INPUT_UNTIL_BEFORE_OPEN) {
        let stamp = day.at(first.start);
        return Some(Auction { stamp, over_at: day.at(first.start + 1), is_closing: false });
    }
    let is_open = last.tail > 0 && at < day.at(last.end + HK_INPUT_AFTER_END);
    let over_at = day.at(last.end + last.tail);
    is_open.then(|| Auction { stamp: day.at(last.end), over_at, is_closing: true })
}

/// Returns whether an order submitted at `at` joins the closing auction whose candle has the stamp
/// `stamp`.
pub(crate) fn joins_tail(at: Timestamp, stamp: Timestamp) -> bool {
    at.0 < stamp.0 + i64::from(HK_INPUT_AFTER_END) * 60
}

/// Returns the start and end of the no-cancel period that contains `at`, as local times, or `None`
/// if `at` is not in such a period.
pub(crate) fn no_cancel(venue: &Venue, at: Timestamp) -> Option<(String, String)> {
    if venue.market() != Market::Hk {
        return None;
    }
    let day = venue.day(venue.zone().date(at))?;
    let (first, last) = (day.segments.first()?, day.segments.last()?);
    let periods = [
        (first.start - HK_NO_CANCEL_BEFORE_OPEN, first.start),
        (last.end + HK_NO_CANCEL_AFTER_END, last.end + last.tail),
    ];
    let (from, until) =
        periods.into_iter().find(|(from, until)| (day.at(*from)..day.at(*until)).contains(&at))?;
    let clock = |minute: i32| format!("{:02}:{:02}", minute / 60, minute % 60);
    Some((clock(from), clock(until)))
}
