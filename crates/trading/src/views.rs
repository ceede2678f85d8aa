//! Values for responses, derived from an account.

use market::{Date, Market, Session, Timestamp, Venue};

use crate::account::Account;
use crate::attached::MAIN_CANCELED;
use crate::feed::Feed;
use crate::grid::{BY_CANCEL, BY_REPLACE};
use crate::order::Order;
use crate::roll::CORPORATE_ACTION;
use crate::tables::{Fee, Tables};
use crate::timers;
use crate::view::MarketView;
use crate::words::{ChargeGroup, OrderStatus};

/// Returns the trading date of an order's last change. Changes at the instant of a roll that
/// precede the roll belong to the previous trading day.
pub fn book_date(order: &Order, venue: &Venue) -> Option<Date> {
    match order.status() {
        OrderStatus::Filled => order.fills.last().map(|fill| fill.day),
        _ if is_ended_before_roll(order) => venue.rolled(Timestamp(order.updated_at.0 - 1)),
        _ => venue.rolled(order.updated_at),
    }
}

/// Returns whether an order ended before the roll at the same instant: by a candle, a release or
/// its expiry. Cancellations by clients and for corporate actions follow the roll.
fn is_ended_before_roll(order: &Order) -> bool {
    let by_client = |reason: &str| [MAIN_CANCELED, BY_CANCEL, BY_REPLACE, ""].contains(&reason);
    let by_engine = |reason: &str| !by_client(reason) && !reason.starts_with(CORPORATE_ACTION);
    match order.status() {
        OrderStatus::Expired => true,
        OrderStatus::Canceled | OrderStatus::PartialWithdrawal => {
            order.history.last().is_some_and(|row| by_engine(&row.msg))
        }
        // An order rejected at submission has only one history row.
        OrderStatus::Rejected => order.history.len() > 1,
        _ => false,
    }
}

/// Number of seconds that exceeds the longest closure of any market. An order that ended longer ago
/// did not end on the last trading date.
const LONG_AGO: i64 = 30 * 86_400;

/// Returns whether an order is open, or was submitted or ended on its market's current trading
/// date.
pub fn is_today(order: &Order, view: &MarketView<'_>) -> bool {
    // Fast path without a calendar, because most orders of an old account ended long ago.
    if !order.is_open() && order.updated_at.0 < view.at.0.saturating_sub(LONG_AGO) {
        return false;
    }
    let venue = view.feed.venue(order.market());
    let today = view.dates.of(order.market());
    let is_on = |date: Option<Date>| date.is_some_and(|date| date >= today);
    order.is_open() || is_on(venue.rolled(order.submitted_at)) || is_on(book_date(order, venue))
}

/// Returns the fees of an order by group, in table order. Empty groups and fees of zero are
/// omitted.
pub fn charges(order: &Order, tables: &Tables) -> Vec<(ChargeGroup, Vec<Fee>)> {
    let of_group = |group: ChargeGroup| {
        let is_in = |fee: &&Fee| fee.group == group && !fee.amount.is_zero();
        let mut fees: Vec<Fee> = order.fees.iter().filter(is_in).cloned().collect();
        fees.sort_by_key(|fee| tables.fees.place(order.market(), &fee.code));
        (group, fees)
    };
    let groups = [ChargeGroup::Broker, ChargeGroup::Third].map(of_group);
    groups.into_iter().filter(|(_, fees)| !fees.is_empty()).collect()
}

/// Returns the next instant at which an account may change, or `None` if it cannot change. The
/// instant is the end of the next trading minute of a market with relevant symbols, or a timer.
pub fn next_wake(account: &Account, feed: &dyn Feed, after: Timestamp) -> Option<Timestamp> {
    let gridded = account.watching_grids().map(|grid| &grid.symbol);
    let mut markets: Vec<Market> = account.open.keys().chain(gridded).map(|symbol| symbol.market()).collect();
    if account.settings.liquidate {
        markets.extend(account.positions().map(|(symbol, _)| symbol.market()));
    }
    markets.sort_unstable();
    markets.dedup();
    let acts = markets.into_iter().filter_map(|market| next_act(feed.venue(market), after));
    acts.chain(timers::next(account, feed, after)).min()
}

/// Returns the end of a market's next trading minute in any session, or of its next closing
/// auction.
fn next_act(venue: &Venue, after: Timestamp) -> Option<Timestamp> {
    let today = venue.zone().date(after);
    let dates = std::iter::successors(Some(today), |date| date.tomorrow().ok()).take(30);
    let ends = dates.filter_map(|date| venue.day(date)).flat_map(|day| {
        let segments = day.segments.iter().filter(|segment| segment.session <= Session::Overnight);
        segments.flat_map(move |segment| {
            let minutes = (segment.start..segment.end).map(|minute| minute + 1);
            minutes
                .chain((segment.tail > 0).then_some(segment.end + segment.tail))
                .map(move |minute| day.at(minute))
        })
    });
    ends.into_iter().find(|at| *at > after)
}
