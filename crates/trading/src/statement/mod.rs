//! Account statements: the events of a date or a month, and the account's state at the end of the
//! period.
//!
//! Statements are computed from the journal alone. Entries are sorted by booking date (`dates.rs`),
//! and applied to an [`Account`] one date at a time. A date has a statement if a market was open or
//! an amount was booked. A monthly statement is created together with the first statement of the
//! next month. `lines.rs` defines the types. Amounts are exact, except for the account totals, so
//! that every sum matches to the last digit.

mod dates;
mod lines;
mod sections;

pub use dates::{last_made_at, made_at};
pub use lines::{
    AssetLine, CashLine, CashLock, CorporateKind, CorporateLine, FlowLine, HoldingLine, InterestKind,
    InterestLine, ShareChange, ShareLine, ShareLock, Statement, StatementKind, TradeLine,
};

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use market::{Date, Market, Symbol, Timestamp};

use crate::account::Account;
use crate::event::{Entry, Event};
use crate::feed::Feed;
use crate::money::Currency;
use crate::money::Money;
use crate::position::Position;
use crate::tables::Tables;
use crate::view::{Dates, MarketView};
use dates::{ByDate, Dated, by_date};

/// Creates the statements that are due by `until`, skipping dates before `from`. Calls `notify`
/// once per date with the daily statement, preceded by the monthly statement if a month has ended.
/// Returns the first date that was not examined, or `None` if the account has had no request.
pub fn statements(
    entries: &[Entry],
    (feed, tables): (&dyn Feed, &Tables),
    from: Option<Date>,
    until: Timestamp,
    notify: &mut dyn FnMut(Vec<Statement>) -> ControlFlow<()>,
) -> Option<Date> {
    let began = entries.iter().find(|entry| entry.event == Event::Began).and_then(|entry| entry.at)?;
    let ByDate { entries: dated, orders } = by_date(entries, feed, began);
    let first = dated.first()?.date;
    let mut clerk = Clerk {
        feed,
        tables,
        entries,
        dated: &dated,
        orders: &orders,
        taken: 0,
        account: Account::default(),
        day: Period::of(first, &Account::default(), 0),
        month: Period::of(first, &Account::default(), 0),
    };
    let (from, zone) = (from.unwrap_or(first), feed.venue(Market::Hk).zone());
    let mut date = first;
    // The statement of an ended month, which is passed on with the next daily statement.
    let mut ended: Option<Statement> = None;
    let mut is_month_told = false;
    while made_at(zone, date) <= until {
        clerk.take(date);
        let has_statement = clerk.has_statement(date);
        is_month_told |= has_statement;
        if has_statement && date >= from {
            let daily = clerk.statement(StatementKind::Daily, date, made_at(zone, date));
            let together = ended.take().into_iter().chain([daily]).collect();
            if notify(together).is_break() {
                return date.tomorrow().ok();
            }
        }
        let Ok(next) = date.tomorrow() else { return Some(date) };
        if next.month() != date.month() {
            let told_on = clerk.next_statement(next, until).filter(|on| *on >= from && is_month_told);
            ended = told_on.map(|on| clerk.statement(StatementKind::Monthly, date, made_at(zone, on)));
            clerk.month = Period::of(next, &clerk.account, clerk.taken);
            is_month_told = false;
        }
        date = next;
    }
    Some(date)
}

/// The date or month for which a statement is being computed.
struct Period {
    first: Date,
    /// Cash and positions before the period.
    cash: BTreeMap<Currency, Money>,
    positions: BTreeMap<Symbol, Position>,
    /// Index of the period's first entry.
    start: usize,
    interest: Vec<InterestLine>,
}

impl Period {
    fn of(first: Date, account: &Account, start: usize) -> Period {
        Period {
            first,
            cash: account.currencies().collect(),
            positions: account.positions().map(|(symbol, held)| (symbol.clone(), held.clone())).collect(),
            start,
            interest: Vec::new(),
        }
    }
}

struct Clerk<'a> {
    feed: &'a dyn Feed,
    tables: &'a Tables,
    entries: &'a [Entry],
    /// Entries sorted by date. The first `taken` entries have been applied.
    dated: &'a [Dated<'a>],
    taken: usize,
    /// Statement date of each order's creation, by order number.
    orders: &'a BTreeMap<u64, Date>,
    account: Account,
    day: Period,
    month: Period,
}

impl Clerk<'_> {
    /// Starts a new day, and applies all entries of its date.
    fn take(&mut self, date: Date) {
        self.day = Period::of(date, &self.account, self.taken);
        let rest = self.dated.get(self.taken..).unwrap_or_default();
        for dated in rest.iter().take_while(|dated| dated.date == date) {
            let accrues_in = match &dated.entry.event {
                Event::InterestAccrued { currency, .. } => Some(*currency),
                _ => None,
            };
            let accrued = |account: &Account| {
                accrues_in.map_or(Money::ZERO, |currency| account.accrued_interest(currency))
            };
            let before = accrued(&self.account);
            self.account.apply(dated.entry);
            self.taken += 1;
            if let Some(line) = interest(dated, before - accrued(&self.account)) {
                self.day.interest.push(line.clone());
                self.month.interest.push(line);
            }
        }
    }

    /// Returns whether a date has a statement: a market was open, or an amount was booked.
    fn has_statement(&self, date: Date) -> bool {
        let is_open = |market| self.feed.venue(market).calendar().kind(date).is_some();
        if is_open(Market::Hk) || is_open(Market::Us) {
            return true;
        }
        let start = self.dated.partition_point(|dated| dated.date < date);
        let mut of_date = self.dated.iter().skip(start).take_while(|dated| dated.date == date);
        of_date.any(|dated| moves_something(&dated.entry.event))
    }

    /// Returns the first date on or after `from` that has a statement due by `until`.
    fn next_statement(&self, from: Date, until: Timestamp) -> Option<Date> {
        let zone = self.feed.venue(Market::Hk).zone();
        std::iter::successors(Some(from), |date| date.tomorrow().ok())
            .take_while(|date| made_at(zone, *date) <= until)
            .find(|date| self.has_statement(*date))
    }

    /// Returns the statement of the period that ends on `date`.
    fn statement(&self, kind: StatementKind, date: Date, made_at: Timestamp) -> Statement {
        let period = match kind {
            StatementKind::Daily => &self.day,
            StatementKind::Monthly => &self.month,
        };
        let dated = self.dated.get(period.start..self.taken).unwrap_or_default();
        let view = self.view(date, made_at);
        let at_end = AtEnd { account: &self.account, view, date, orders: self.orders };
        let by_then = self.entries.partition_point(|entry| entry.at.is_none_or(|at| at <= made_at));
        let holdings = sections::holdings(&at_end, period, dated);
        Statement {
            kind,
            first: period.first,
            date,
            made_at,
            account_type: self.account.settings.account_type,
            last_entry: by_then as u64,
            balances: sections::balances(&at_end, period, dated),
            flows: sections::flows(dated),
            trades: sections::trades(dated),
            share_changes: sections::share_changes(dated),
            corporate: sections::corporate(dated),
            cash_locks: sections::cash_locks(&at_end),
            share_locks: sections::share_locks(&at_end),
            interest: period.interest.clone(),
            assets: sections::assets(&at_end, &holdings),
            holdings,
        }
    }

    /// Returns the market data at the end of a date. Each market's trading date is its last trading
    /// day on or before `date`, regardless of later rolls.
    fn view(&self, date: Date, at: Timestamp) -> MarketView<'_> {
        let last = |market| self.feed.venue(market).calendar().on_or_before(date).unwrap_or(date);
        let dates = Dates { hk: last(Market::Hk), us: last(Market::Us) };
        MarketView::on(self.feed, self.tables, at, dates)
    }
}

/// An account at the end of a date.
struct AtEnd<'a> {
    account: &'a Account,
    view: MarketView<'a>,
    date: Date,
    /// Statement date of each order's creation, by order number.
    orders: &'a BTreeMap<u64, Date>,
}

/// Returns the statement line of an interest entry, or `None` for other entries. `accrued` is the
/// newly accrued interest as a negative amount.
fn interest(dated: &Dated<'_>, accrued: Money) -> Option<InterestLine> {
    let (currency, kind, amount) = match &dated.entry.event {
        Event::InterestAccrued { currency, balance, days, rate_millionths, year } => {
            let kind = InterestKind::Accrued {
                balance: *balance,
                days: *days,
                rate_millionths: *rate_millionths,
                year: *year,
            };
            (*currency, kind, accrued)
        }
        Event::InterestBooked { currency, amount } => (*currency, InterestKind::Booked, *amount),
        _ => return None,
    };
    Some(InterestLine { date: dated.date, currency, kind, amount })
}

/// Returns whether an event moves money or shares.
fn moves_something(event: &Event) -> bool {
    matches!(
        event,
        Event::Deposited { .. }
            | Event::Withdrawn { .. }
            | Event::Exchanged { .. }
            | Event::Adjusted { .. }
            | Event::PositionEntered { .. }
            | Event::Filled(_)
            | Event::DividendPaid(_)
            | Event::SharesChanged { .. }
            | Event::RightsSold { .. }
            | Event::InterestBooked { .. }
            | Event::OptionExpired { .. }
    )
}
