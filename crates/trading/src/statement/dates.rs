//! The booking date of an entry, and when the statement of a date is made.

use std::collections::BTreeMap;

use market::{Date, Market, Symbol, Timestamp, Zone};

use crate::event::{AcceptedOrder, Entry, Event};
use crate::feed::Feed;
use crate::roll::CORPORATE_ACTION;

/// When a date is over in every market: at this second of the next one in Hong Kong. The US trading
/// day has ended by then.
const MADE_AT_S: i64 = 9 * 3_600;

/// When the statement of a date is made; `zone` is that of Hong Kong.
pub fn made_at(zone: &Zone, date: Date) -> Timestamp {
    zone.instant(date.tomorrow().unwrap_or(date), MADE_AT_S)
}

/// The last instant up to `now` at which a statement is made.
pub fn last_made_at(zone: &Zone, now: Timestamp) -> Timestamp {
    let today = zone.date(now);
    let yesterday = today.yesterday().unwrap_or(today);
    let of_yesterday = made_at(zone, yesterday);
    if of_yesterday > now { made_at(zone, yesterday.yesterday().unwrap_or(yesterday)) } else { of_yesterday }
}

/// An entry and the date of its statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dated<'a> {
    pub(super) date: Date,
    pub(super) entry: &'a Entry,
}

/// A journal by date.
#[derive(Debug)]
pub(super) struct ByDate<'a> {
    /// Entries of one date retain their order, and so do all entries of one security.
    pub(super) entries: Vec<Dated<'a>>,
    /// The first date of each order, by number.
    pub(super) orders: BTreeMap<u64, Date>,
}

pub(super) fn by_date<'a>(entries: &'a [Entry], feed: &dyn Feed, began: Timestamp) -> ByDate<'a> {
    let zone = feed.venue(Market::Hk).zone();
    let mut booking = Booking {
        feed,
        zone,
        began,
        symbols: BTreeMap::new(),
        last: BTreeMap::new(),
        orders: BTreeMap::new(),
    };
    let mut dated: Vec<Dated<'a>> =
        entries.iter().map(|entry| Dated { date: booking.date(entry), entry }).collect();
    // An account looks up its orders by position, so they must be applied in numerical order. A
    // Hong Kong order submitted before a New York one, where it is still the day before, is applied
    // with it, but counts from its own date on.
    let mut earliest = None;
    for dated in dated.iter_mut().rev().filter(|dated| created(&dated.entry.event).is_some()) {
        let date = earliest.map_or(dated.date, |earliest: Date| earliest.min(dated.date));
        earliest = Some(date);
        dated.date = date;
    }
    dated.sort_by_key(|dated| dated.date);
    ByDate { entries: dated, orders: booking.orders }
}

/// The order that an event creates.
fn created(event: &Event) -> Option<&AcceptedOrder> {
    match event {
        Event::Accepted(accepted) | Event::Rejected { order: Some(accepted), .. } => Some(accepted),
        _ => None,
    }
}

struct Booking<'a> {
    feed: &'a dyn Feed,
    zone: &'a Zone,
    began: Timestamp,
    /// The securities of orders, by number.
    symbols: BTreeMap<u64, Symbol>,
    /// The last date of any entry about a security: an action sets its quantity, so earlier entries
    /// must stay before it.
    last: BTreeMap<Symbol, Date>,
    orders: BTreeMap<u64, Date>,
}

impl Booking<'_> {
    /// The trading date of the market concerned, or the date in Hong Kong; a later one if the
    /// statement of that date is already made.
    fn date(&mut self, entry: &Entry) -> Date {
        let Some(at) = entry.at else {
            // Entries from before the first request count at the beginning of the account,
            // whichever date that is.
            return self.open_date(self.began, Closing::After);
        };
        let symbol = self.symbol(&entry.event);
        let closing = match entry.event {
            // An operator may enter a position at the exact second at which a statement was made.
            Event::PositionEntered { .. } => Closing::Before,
            _ => Closing::After,
        };
        let date = self.booked(&entry.event, at, symbol.as_ref()).max(self.open_date(at, closing));
        let Some(symbol) = symbol else { return date };
        let last = self.last.entry(symbol).or_insert(date);
        *last = date.max(*last);
        let date = *last;
        if let Some(accepted) = created(&entry.event) {
            self.orders.insert(accepted.id.number(), date);
        }
        date
    }

    fn booked(&self, event: &Event, at: Timestamp, symbol: Option<&Symbol>) -> Date {
        match (event, symbol) {
            (Event::Filled(filled), _) => filled.day,
            (Event::Rolled { date, .. }, _) => *date,
            (event, Some(symbol)) => {
                let until = if is_before_roll(event) { Timestamp(at.0.saturating_sub(1)) } else { at };
                let rolled = self.feed.venue(symbol.market()).rolled(until);
                rolled.unwrap_or_else(|| self.zone.date(at))
            }
            (_, None) => self.zone.date(at),
        }
    }

    /// The first date whose statement is not made yet at an instant.
    fn open_date(&self, at: Timestamp, closing: Closing) -> Date {
        let (date, seconds) = self.zone.local(at);
        let is_yesterday_open = match closing {
            Closing::Before => seconds < MADE_AT_S,
            Closing::After => seconds <= MADE_AT_S,
        };
        if is_yesterday_open { date.yesterday().unwrap_or(date) } else { date }
    }

    /// The security that an event concerns.
    fn symbol(&mut self, event: &Event) -> Option<Symbol> {
        if let Some(accepted) = created(event) {
            self.symbols.insert(accepted.id.number(), accepted.terms.symbol.clone());
            return Some(accepted.terms.symbol.clone());
        }
        match event {
            Event::Filled(filled) => Some(filled.symbol.clone()),
            Event::PositionEntered { symbol, .. }
            | Event::SharesChanged { symbol, .. }
            | Event::RightsSold { symbol, .. }
            | Event::OptionExpired { symbol, .. }
            | Event::OptionUnsettled { symbol } => Some(symbol.clone()),
            Event::DividendDue(dividend) | Event::DividendPaid(dividend) => Some(dividend.symbol.clone()),
            other => other.order().and_then(|id| self.symbols.get(&id.number()).cloned()),
        }
    }
}

/// Whether events at the second of a statement come before it.
#[derive(Clone, Copy, Debug)]
enum Closing {
    Before,
    After,
}

/// Whether an order was ended before the roll of the same instant.
fn is_before_roll(event: &Event) -> bool {
    match event {
        Event::Expired { .. } => true,
        Event::Canceled { reason: Some(reason), .. } => !reason.starts_with(CORPORATE_ACTION),
        _ => false,
    }
}
