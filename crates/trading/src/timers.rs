//! Instants at which an account changes without a candle: reports, expiries, ends of auctions, ends
//! of delays, day rolls and option expiries.

use market::{Market, Session, Symbol, Timestamp};

use crate::account::Account;
use crate::feed::Feed;
use crate::money::Money;
use crate::order::Order;
use crate::words::{Kind, OrderStatus, OrderType};

/// Returns the next instant after `after` at which an account may change without a candle, or
/// `None` if there is no such instant.
pub(crate) fn next(account: &Account, feed: &dyn Feed, after: Timestamp) -> Option<Timestamp> {
    let orders = account.open_orders().flat_map(|order| order_times(order, feed));
    // Only options have a multiplier above 1.
    let options = account.positions().filter(|(_, position)| position.multiplier > 1);
    let options = options.filter_map(|(symbol, _)| option_end(symbol, feed));
    let rolls = [Market::Hk, Market::Us].into_iter().filter_map(|market| {
        if awaits_roll(account, market) { next_roll(feed, market, after) } else { None }
    });
    let grids = account.grids.open().filter_map(|grid| grid.ends_at);
    orders.chain(options).chain(rolls).chain(grids).filter(|at| *at > after).min()
}

/// Returns the instants at which an order may change without a candle.
fn order_times(order: &Order, feed: &dyn Feed) -> impl Iterator<Item = Timestamp> + use<> {
    let placement = &order.standing.placement;
    let held = order.terms.delayed_until.filter(|_| order.status() == OrderStatus::DelayedNotReported);
    let is_held = held.is_some();
    let report = (order.status() == OrderStatus::NotReported).then_some(placement.reports_at);
    let over = placement
        .auction
        .filter(|_| order.terms.order_type == OrderType::Auction)
        .map(|auction| auction.over_at);
    let times = [held, report, over.filter(|_| !is_held), ends_at(order, feed)];
    times.into_iter().flatten()
}

/// Returns when an order expires, or `None` if the order is held, waits for a fill of its main order
/// or does not expire.
pub(crate) fn ends_at(order: &Order, feed: &dyn Feed) -> Option<Timestamp> {
    if order.status() == OrderStatus::DelayedNotReported || order.is_dormant() {
        return None;
    }
    let own = order.standing.placement.expires_at;
    let option = if order.facts.kind == Kind::Option { option_end(order.symbol(), feed) } else { None };
    [own, option].into_iter().flatten().min()
}

/// Returns the close of the day on which an option expires, or `None` if the symbol is not an
/// option.
pub(crate) fn option_end(symbol: &Symbol, feed: &dyn Feed) -> Option<Timestamp> {
    let option = symbol.option()?;
    let venue = feed.venue(Market::Us);
    let day = venue.day(venue.calendar().on_or_before(option.expiry)?)?;
    let regular = day.segments.iter().filter(|segment| segment.session == Session::Intraday);
    regular.map(|segment| day.at(segment.end)).max()
}

/// Returns the first roll of a market after an instant, or `None` if the calendar has no later
/// trading day.
pub(crate) fn next_roll(feed: &dyn Feed, market: Market, after: Timestamp) -> Option<Timestamp> {
    let venue = feed.venue(market);
    venue.rolled(after).and_then(|date| venue.calendar().after(date)).map(|date| venue.roll(date))
}

/// Returns whether a roll of a market could change the account. All other rolls are skipped.
fn awaits_roll(account: &Account, market: Market) -> bool {
    let is_there = |symbol: &Symbol| symbol.market() == market;
    account.positions.keys().any(is_there)
        || account.open.keys().any(is_there)
        || account.watching_grids().any(|grid| is_there(&grid.symbol))
        || account.dividends.iter().any(|dividend| is_there(&dividend.symbol))
        || (market == Market::Hk && (!account.accrued.is_empty() || owes_settled(account)))
}

/// Returns whether the account may owe interest at the next roll. Unsettled receipts do not reduce
/// the debt, because they settle on a later date.
fn owes_settled(account: &Account) -> bool {
    account.currencies().any(|(currency, cash)| {
        let coming = account.unsettled.iter().filter(|unsettled| unsettled.currency == currency);
        let receipts: Money = coming.map(|unsettled| unsettled.amount.or_zero()).sum();
        (cash - receipts).is_negative()
    })
}
