//! Determines the booking date of each entry, and when a date's statement is created.

use std::collections::BTreeMap;

use market::{Date, Market, Symbol, Timestamp, Zone};

use crate::event::{AcceptedOrder, Entry, Event};
use crate::feed::Feed;
use crate::roll::CORPORATE_ACTION;

/// Time at which a date's statement is created, in seconds after midnight of the next date in Hong
/// Kong. The US trading day has ended by then.
const MADE_AT_S: i64 = 9 * 3_600;

/// Returns when the statement of a date is created. `zone` must be the Hong Kong time zone.
pub fn made_at(zone: &Zone, date: Date) -> Timestamp {
    zone.instant(date.tomorrow().unwrap_or(date), MADE_AT_S)
}

/// Returns the last instant up to `now` at which a statement was created.
pub fn last_made_at(zone: &Zone, now: Timestamp) -> Timestamp {
    let today = zone.date(now);
    let yesterday = today.yesterday().unwrap_or(today);
    let of_yesterday = made_at(zone, yesterday);
    if of_yesterday > now { made_at(zone, yesterday.yesterday().unwrap_or(yesterday)) } else { of_yesterday }
}

/// A journal entry with its statement date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dated<'a> {
    pub(super) date: Date,
    pub(super) entry: &'a Entry,
}

/// A journal sorted by statement date.
#[derive(Debug)]
pub(super) struct ByDate<'a> {
    /// Entries sorted by date. Entries with the same date, and all entries of one security, retain
    /// their journal order.
    pub(super) entries: Vec<Dated<'a>>,
    /// Statement date of each order's creation, by order number.
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
    // Accounts look up orders by index, so orders must be applied in order of their numbers. A Hong
    // Kong order submitted before a US order may have the later date. Such an order is applied on
    // the date of the US order, but the first statement that includes it is that of its own date.
    let mut earliest = None;
    for dated in dated.iter_mut().rev().filter(|dated| created(&dated.entry.event).is_some()) {
        let date = earliest.map_or(dated.date, |earliest: Date| earliest.min(dated.date));
        earliest = Some(date);
        dated.date = date;
    }
    dated.sort_by_key(|dated| dated.date);
    ByDate { entries: dated, orders: booking.orders }
}

/// Returns the order that an event creates, or `None` if the event creates none.
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
    /// Symbol of each order, by order number.
    symbols: BTreeMap<u64, Symbol>,
    /// Latest date of any entry of each security. A corporate action sets the quantity of a
    /// position, so the entries that precede it in the journal must also precede it by date.
    last: BTreeMap<Symbol, Date>,
    orders: BTreeMap<u64, Date>,
}

impl Booking<'_> {
    /// Returns the statement date of an entry: the trading date of its market, or the Hong Kong
    /// date if the entry has no market. If that date's statement already exists, returns the first
    /// date without a statement.
    fn date(&mut self, entry: &Entry) -> Date {
        let Some(at) = entry.at else {
            // Entries created before the first request belong to the account's first date.
            return self.open_date(self.began, Closing::After);
        };
        let symbol = self.symbol(&entry.event);
        let closing = match entry.event {
            // An operator may enter a position in the second in which a statement is created. That
            // statement does not include the position, which is booked on the next date.
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

    /// Returns the first date whose statement does not exist yet at `at`.
    fn open_date(&self, at: Timestamp, closing: Closing) -> Date {
        let (date, seconds) = self.zone.local(at);
        let is_yesterday_open = match closing {
            Closing::Before => seconds < MADE_AT_S,
            Closing::After => seconds <= MADE_AT_S,
        };
        if is_yesterday_open { date.yesterday().unwrap_or(date) } else { date }
    }

    /// Returns the security that an event is about, or `None` if the event concerns no security.
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

/// Whether a statement is closed before or after the events in the second of its creation.
#[derive(Clone, Copy, Debug)]
enum Closing {
    Before,
    After,
}

/// Returns whether an event ends an order before the roll at the same instant.
fn is_before_roll(event: &Event) -> bool {
    match event {
        Event::Expired { .. } => true,
        Event::Canceled { reason: Some(reason), .. } => !reason.starts_with(CORPORATE_ACTION),
        _ => false,
    }
}
