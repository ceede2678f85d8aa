//! The day roll of a market: settlement, interest, dividends, corporate actions, and the day's
//! initial quantities. Also settles options at the close of their last day.

use market::{Date, Market, OptionRight, Price, Symbol, Timestamp};

use crate::account::ACCRUAL_YEARS;
use crate::actions::{self, Entitlement};
use crate::event::{Dividend, Event};
use crate::grid::suspend_for_action;
use crate::money::Money;
use crate::order::OrderId;
use crate::settings::{SHARE_UNIT, Share};
use crate::timers::option_end;
use crate::words::Kind;
use crate::work::Work;

/// Reason text of an order cancelled for a corporate action, followed by the ex-date.
pub(crate) const CORPORATE_ACTION: &str = "corporate action";

/// Rolls a market to the trading day that starts at `at`. Does nothing if no trading day starts at
/// `at`.
pub(crate) fn roll(work: &mut Work<'_>, at: Timestamp, market: Market) {
    let venue = work.feed.venue(market);
    let (Some(before), Some(date)) = (venue.rolled(Timestamp(at.0 - 1)), venue.rolled(at)) else { return };
    if before == date {
        return;
    }
    // Settlement needs no entry, because an amount is settled once its settlement date begins.
    if market == Market::Hk {
        charge_interest(work, at, before, date);
    }
    pay_dividends(work, at, market, date);
    let touched = apply_actions(work, at, market, before, date);
    begin_day(work, at, market, date);
    for (symbol, ex_date) in touched {
        let numbers = work.account.open.get(&symbol).cloned().unwrap_or_default();
        let mut orders: Vec<(u64, OrderId)> = numbers
            .iter()
            .filter_map(|number| work.account.by_number(*number))
            .map(|order| (order.sequence, order.id))
            .collect();
        orders.sort_unstable();
        for (_, id) in orders {
            // An attached order has ended with its main order.
            if !work.account.order(id).is_some_and(|order| order.is_open()) {
                continue;
            }
            work.record(
                Some(at),
                Event::Canceled { id, reason: Some(format!("{CORPORATE_ACTION} {ex_date}")) },
            );
        }
        suspend_for_action(work, at, &symbol);
    }
}

/// Accrues debit interest on settled debt for the days until the next roll. At the first roll of a
/// month, books the interest accrued before.
fn charge_interest(work: &mut Work<'_>, at: Timestamp, before: Date, date: Date) {
    if (before.year(), before.month()) != (date.year(), date.month()) {
        let accrued: Vec<_> =
            work.account.accrued.iter().map(|(currency, units)| (*currency, *units)).collect();
        for (currency, units) in accrued {
            work.record(Some(at), Event::InterestBooked { currency, amount: -interest_cents(units) });
        }
    }
    let venue = work.feed.venue(Market::Hk);
    let Some(next) = venue.calendar().after(date) else { return };
    let days = date.until(next).map_or(1, |span| i64::from(span.get_days()));
    let view = work.after_roll(at);
    let currencies: Vec<_> = work.account.currencies().map(|(currency, _)| currency).collect();
    for currency in currencies {
        let balance = crate::balance::settled(work.account, &view, currency);
        let Some(interest) = view.tables.interest.of(currency, date).filter(|_| balance.is_negative()) else {
            continue;
        };
        let (rate_millionths, year) = (interest.rate_millionths, interest.days);
        work.record(Some(at), Event::InterestAccrued { currency, balance, days, rate_millionths, year });
    }
}

/// Rounds accrued units to the cent, half away from zero.
fn interest_cents(units: i128) -> Money {
    let below = ACCRUAL_YEARS * 1_000_000;
    // Round only once. A cent is 10^8 units of money.
    let cents = crate::decimal::div_round(units, below * 100_000_000);
    Money::from_units(cents.saturating_mul(100_000_000))
}

fn pay_dividends(work: &mut Work<'_>, at: Timestamp, market: Market, date: Date) {
    let is_due = |dividend: &&Dividend| dividend.symbol.market() == market && dividend.pay_date <= date;
    let due: Vec<Dividend> = work.account.dividends.iter().filter(is_due).cloned().collect();
    for dividend in due {
        work.record(Some(at), Event::DividendPaid(dividend));
    }
}

/// Books the corporate actions of all ex-dates since the previous roll. Returns the affected
/// symbols, each with its first ex-date.
fn apply_actions(
    work: &mut Work<'_>,
    at: Timestamp,
    market: Market,
    before: Date,
    date: Date,
) -> Vec<(Symbol, Date)> {
    let gridded = work.account.watching_grids().map(|grid| &grid.symbol);
    let mut symbols: Vec<Symbol> =
        work.account.positions.keys().chain(work.account.open.keys()).chain(gridded).cloned().collect();
    symbols.retain(|symbol| symbol.market() == market);
    symbols.sort_unstable();
    symbols.dedup();
    let mut touched = Vec::new();
    for symbol in symbols {
        let all = work.feed.actions(&symbol, before, date);
        for of_day in all.chunk_by(|a, b| a.action.ex_date == b.action.ex_date) {
            let Some(ex_date) = of_day.first().map(|action| action.action.ex_date) else { continue };
            touched.push((symbol.clone(), ex_date));
            let Some(position) = work.account.position(&symbol) else { continue };
            let close = work.feed.close_before(&symbol, ex_date).or_else(|| work.feed.mark(&symbol, at));
            let tax = match market {
                Market::Us => work.tables.dividend_tax.us,
                Market::Hk | Market::Cn => work.tables.dividend_tax.hk,
            };
            let entitlement =
                Entitlement { symbol: &symbol, position, ex_date, close, after_tax: after_tax(tax) };
            for event in actions::events(&entitlement, of_day, date) {
                work.record(Some(at), event);
            }
        }
    }
    // Orders are cancelled only once per symbol, for the first corporate action.
    touched.dedup_by(|later, first| later.0 == first.0);
    touched
}

/// Returns the fraction of a dividend left after tax, in millionths.
fn after_tax(tax: Share) -> i64 {
    SHARE_UNIT - tax.units()
}

fn begin_day(work: &mut Work<'_>, at: Timestamp, market: Market, date: Date) {
    let mut held = work.account.positions.iter().filter(|(symbol, _)| symbol.market() == market);
    if held.any(|(_, position)| position.init_quantity != position.quantity || position.quantity.is_zero()) {
        work.record(Some(at), Event::Rolled { market, date });
    }
}

/// Settles the options whose last day closes at `at`, in cash at their intrinsic value.
pub(crate) fn expire_options(work: &mut Work<'_>, at: Timestamp) {
    let feed = work.feed;
    let ended = |symbol: &Symbol| option_end(symbol, feed) == Some(at);
    let symbols: Vec<Symbol> =
        work.account.positions().map(|(symbol, _)| symbol).filter(|symbol| ended(symbol)).cloned().collect();
    for symbol in symbols {
        if let Some(event) = settle(work, &symbol) {
            work.record(Some(at), event);
        }
    }
}

fn settle(work: &Work<'_>, symbol: &Symbol) -> Option<Event> {
    let option = symbol.option()?;
    let position = work.account.position(symbol)?;
    let venue = work.feed.venue(Market::Us);
    let day = venue.calendar().on_or_before(option.expiry)?;
    let close = work.feed.intraday_close(&option.underlying, day);
    let Some(underlying) = close else { return Some(Event::OptionUnsettled { symbol: symbol.clone() }) };
    let gain = match option.right {
        OptionRight::Call => underlying.0 - option.strike.0,
        OptionRight::Put => option.strike.0 - underlying.0,
    };
    let intrinsic = Price(gain.max(0));
    Some(Event::OptionExpired {
        symbol: symbol.clone(),
        quantity: position.quantity,
        underlying,
        intrinsic,
        amount: Money::of(intrinsic, position.quantity, position.multiplier),
        currency: position.currency,
        settles_on: work.tables.settlement.date(venue, Kind::Option, day),
    })
}
