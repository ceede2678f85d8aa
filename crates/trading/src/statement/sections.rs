//! Computes the sections of a statement from the entries of its period and the account state at the
//! end of the period.

use std::collections::{BTreeMap, BTreeSet};

use market::{Date, Price, Symbol};

use super::dates::Dated;
use super::lines::{
    AssetLine, CashLine, CashLock, CorporateKind, CorporateLine, FlowLine, HoldingLine, ShareChange,
    ShareLine, ShareLock, TradeLine,
};
use super::{AtEnd, Period};
use crate::balance::{balance, reserve_of};
use crate::event::{Entry, Event, Execution};
use crate::feed::{FACTOR_UNIT, Factors};
use crate::ledger::{Amount, LedgerAccount, cash_flows, legs};
use crate::money::Currency;
use crate::money::{HkdAmount, Money, Rate};
use crate::order::{Order, OrderId};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::timers::option_end;
use crate::words::Kind;

pub(super) fn balances(at: &AtEnd<'_>, period: &Period, dated: &[Dated<'_>]) -> Vec<CashLine> {
    let mut changes: BTreeMap<Currency, Money> = BTreeMap::new();
    for flow in dated.iter().flat_map(|dated| cash_flows(dated.entry)) {
        *changes.entry(flow.currency).or_default() += flow.amount;
    }
    let locks = cash_locks(at);
    let mut currencies: BTreeSet<Currency> = at.account.currencies().map(|(currency, _)| currency).collect();
    currencies.extend(locks.iter().map(|lock| lock.currency));
    currencies.insert(Currency::HKD);
    let line = |currency: Currency| {
        let now = balance(at.account, &at.view, currency, None);
        let held_back = locks.iter().filter(|lock| lock.currency == currency);
        CashLine {
            currency,
            begin: period.cash.get(&currency).copied().unwrap_or_default(),
            change: changes.get(&currency).copied().unwrap_or_default(),
            ledger: now.cash,
            settled: now.settled(),
            reserved: held_back.map(|lock| lock.amount).sum(),
            accrued: at.account.accrued_interest(currency),
        }
    };
    currencies.into_iter().map(line).collect()
}

pub(super) fn flows(dated: &[Dated<'_>]) -> Vec<FlowLine> {
    let lines = dated.iter().flat_map(|dated| {
        cash_flows(dated.entry).into_iter().map(move |flow| FlowLine { date: dated.date, flow })
    });
    lines.collect()
}

pub(super) fn trades(dated: &[Dated<'_>]) -> Vec<TradeLine> {
    let mut lines: BTreeMap<(Date, OrderId), TradeLine> = BTreeMap::new();
    for dated in dated {
        let Event::Filled(filled) = &dated.entry.event else { continue };
        let line = lines.entry((filled.day, filled.id)).or_insert_with(|| trade(filled));
        line.quantity += filled.quantity;
        line.paid += Money::of(filled.price, filled.quantity, 1);
        line.amount += Money::of(filled.price, filled.quantity, filled.facts.multiplier);
        for fee in filled.fees.iter().filter(|fee| !fee.amount.is_zero()) {
            match line.fees.iter_mut().find(|known| known.code == fee.code) {
                Some(known) => known.amount += fee.amount,
                None => line.fees.push(fee.clone()),
            }
        }
    }
    lines.into_values().collect()
}

/// Creates an empty trade line for a fill's order and day.
fn trade(filled: &Execution) -> TradeLine {
    TradeLine {
        day: filled.day,
        settles_on: filled.settles_on,
        order: filled.id,
        symbol: filled.symbol.clone(),
        side: filled.side,
        currency: filled.facts.currency,
        quantity: Quantity::ZERO,
        paid: Money::ZERO,
        amount: Money::ZERO,
        decimals: filled.facts.decimals,
        is_option: filled.facts.kind == Kind::Option,
        fees: Vec::new(),
    }
}

pub(super) fn share_changes(dated: &[Dated<'_>]) -> Vec<ShareLine> {
    dated.iter().filter_map(|dated| share_change(dated.date, dated.entry)).collect()
}

fn share_change(date: Date, entry: &Entry) -> Option<ShareLine> {
    let moved = legs(entry).into_iter().find_map(|leg| match (leg.account, leg.amount) {
        (LedgerAccount::Stock(_), Amount::Shares(symbol, quantity)) => Some((symbol, quantity)),
        _ => None,
    });
    let (symbol, quantity) = moved?;
    let change = match &entry.event {
        Event::Filled(filled) if filled.side.is_buy() => ShareChange::Buy,
        Event::Filled(_) => ShareChange::Sell,
        Event::SharesChanged { .. } => ShareChange::Corporate,
        Event::OptionExpired { .. } => ShareChange::OptionExpiry,
        _ => ShareChange::Entry,
    };
    Some(ShareLine { date, symbol, change, quantity, order: entry.event.order() })
}

pub(super) fn corporate(dated: &[Dated<'_>]) -> Vec<CorporateLine> {
    dated.iter().filter_map(|dated| corporate_line(dated.date, &dated.entry.event)).collect()
}

fn corporate_line(date: Date, event: &Event) -> Option<CorporateLine> {
    match event {
        Event::DividendDue(dividend) | Event::DividendPaid(dividend) => {
            let is_paid = matches!(event, Event::DividendPaid(_));
            Some(CorporateLine {
                date,
                symbol: dividend.symbol.clone(),
                kind: if is_paid { CorporateKind::DividendPaid } else { CorporateKind::DividendDue },
                ex_date: dividend.ex_date,
                pay_date: Some(dividend.pay_date),
                entitled: Some(dividend.quantity),
                currency: dividend.currency,
                cash: dividend.amount,
                shares: Quantity::ZERO,
            })
        }
        Event::SharesChanged { symbol, ex_date, before, after, cash_in_lieu, currency, .. } => {
            Some(CorporateLine {
                date,
                symbol: symbol.clone(),
                kind: CorporateKind::Shares,
                ex_date: *ex_date,
                pay_date: None,
                entitled: Some(*before),
                currency: *currency,
                cash: *cash_in_lieu,
                shares: *after - *before,
            })
        }
        Event::RightsSold { symbol, ex_date, amount, currency } => Some(CorporateLine {
            date,
            symbol: symbol.clone(),
            kind: CorporateKind::Rights,
            ex_date: *ex_date,
            pay_date: None,
            entitled: None,
            currency: *currency,
            cash: *amount,
            shares: Quantity::ZERO,
        }),
        _ => None,
    }
}

/// Returns the orders that have a reserve at the end of the statement's date.
fn working_orders<'a>(at: &AtEnd<'a>) -> impl Iterator<Item = &'a Order> + use<'a> {
    let (dates, end) = (at.orders, at.date);
    let is_there = move |order: &&Order| {
        dates.get(&order.id.number()).is_none_or(|date| *date <= end) && order.is_working()
    };
    at.account.open_orders().filter(is_there)
}

pub(super) fn cash_locks(at: &AtEnd<'_>) -> Vec<CashLock> {
    let lock = |order: &Order| {
        let reserve = reserve_of(at.account, order, &at.view);
        CashLock {
            order: order.id,
            symbol: order.symbol().clone(),
            currency: order.facts.currency,
            amount: reserve.total(),
            fees: reserve.fees,
        }
    };
    let buys = working_orders(at).filter(|order| order.terms.side.is_buy());
    buys.map(lock).filter(|lock| !lock.amount.is_zero()).collect()
}

pub(super) fn share_locks(at: &AtEnd<'_>) -> Vec<ShareLock> {
    let lock = |order: &Order| ShareLock {
        order: order.id,
        symbol: order.symbol().clone(),
        quantity: order.remaining(),
    };
    working_orders(at).filter(|order| !order.terms.side.is_buy()).map(lock).collect()
}

/// Display data of a security. The account may no longer hold a position in it.
#[derive(Clone, Copy)]
struct Printed {
    currency: Currency,
    multiplier: u32,
    decimals: u32,
}

pub(super) fn holdings(at: &AtEnd<'_>, period: &Period, dated: &[Dated<'_>]) -> Vec<HoldingLine> {
    let mut known: BTreeMap<Symbol, Printed> = BTreeMap::new();
    let mut changes: BTreeMap<Symbol, Quantity> = BTreeMap::new();
    let held = period.positions.iter().chain(at.account.positions());
    for (symbol, position) in held {
        let printed = Printed {
            currency: position.currency,
            multiplier: position.multiplier,
            decimals: position.decimals,
        };
        known.insert(symbol.clone(), printed);
    }
    for dated in dated {
        let (symbol, facts) = match &dated.entry.event {
            Event::Filled(filled) => (&filled.symbol, filled.facts),
            Event::PositionEntered { symbol, facts, .. } => (symbol, *facts),
            _ => continue,
        };
        let printed =
            Printed { currency: facts.currency, multiplier: facts.multiplier, decimals: facts.decimals };
        known.entry(symbol.clone()).or_insert(printed);
    }
    for line in share_changes(dated) {
        *changes.entry(line.symbol).or_default() += line.quantity;
    }
    let line = |(symbol, printed): (Symbol, Printed)| {
        let begin = period.positions.get(&symbol).map_or(Quantity::ZERO, |position| position.quantity);
        let change = changes.get(&symbol).copied().unwrap_or_default();
        holding(at, symbol, printed, (begin, change))
    };
    known.into_iter().map(line).collect()
}

fn holding(
    at: &AtEnd<'_>,
    symbol: Symbol,
    Printed { currency, multiplier, decimals }: Printed,
    (begin, change): (Quantity, Quantity),
) -> HoldingLine {
    let method = at.account.settings.cost;
    let position = at.account.position(&symbol);
    let ledger = at.account.held(&symbol);
    let close = position.and_then(|_| close_of(at, &symbol));
    HoldingLine {
        close,
        value: position.map_or(Money::ZERO, |position| position.value(close, method)),
        cost: position.map(|position| position.cost_price(method)),
        factors: at.view.factors(&symbol, ledger),
        symbol,
        currency,
        multiplier,
        decimals,
        begin,
        change,
        ledger,
    }
}

/// Returns the close on the statement's date, or the last close before that date. Returns `None`
/// for an expired option, which is valued at cost.
fn close_of(at: &AtEnd<'_>, symbol: &Symbol) -> Option<Price> {
    let has_ended = option_end(symbol, at.view.feed).is_some_and(|end| end <= at.view.at);
    let next = at.date.tomorrow().ok().filter(|_| !has_ended)?;
    at.view.feed.close_before(symbol, next)
}

/// Returns the account totals in HKD at the exchange rates of the statement's date, or an error
/// text if a rate is missing.
pub(super) fn assets(at: &AtEnd<'_>, holdings: &[HoldingLine]) -> Result<AssetLine, String> {
    let convert = |currency: Currency, amount: Money| -> Result<HkdAmount, String> {
        let rate = match currency {
            // A zero amount needs no rate.
            _ if amount.is_zero() => return Ok(HkdAmount::ZERO),
            Currency::HKD => Some(Rate::ONE),
            other => at.view.feed.rate(other, at.date),
        };
        rate.map(|rate| rate.convert(amount)).ok_or_else(|| Refusal::no_rate(currency, at.date).text)
    };
    let (mut ledger, mut outstanding) = (HkdAmount::ZERO, HkdAmount::ZERO);
    for (currency, cash) in at.account.currencies() {
        let coming = balance(at.account, &at.view, currency, None).settling();
        ledger = ledger.plus(convert(currency, cash)?);
        outstanding = outstanding.plus(convert(currency, coming)?);
    }
    let mut value = HkdAmount::ZERO;
    let (mut init, mut maintenance) = (HkdAmount::ZERO, HkdAmount::ZERO);
    for holding in holdings {
        let worth = convert(holding.currency, holding.value)?;
        let Factors { im, mm, .. } = holding.factors;
        value = value.plus(worth);
        init = init.plus(worth.abs().share(im, FACTOR_UNIT));
        maintenance = maintenance.plus(worth.abs().share(mm, FACTOR_UNIT));
    }
    let to_cents = |amount: HkdAmount| amount.to(Rate::ONE);
    Ok(AssetLine {
        ledger: to_cents(ledger),
        market_value: to_cents(value),
        outstanding: to_cents(outstanding),
        init_margin: to_cents(init),
        maintenance_margin: to_cents(maintenance),
    })
}
