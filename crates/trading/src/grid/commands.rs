//! Client commands on grids, and the security data that a client needs to submit a grid. The
//! functions do not change the account. Each command returns its events or a refusal.

use market::{Market, Price, Symbol, Timestamp};

use super::rule::{GridRule, GridRuleInput};
use super::state::{Grid, OPEN_MAX};
use super::sub_order::{BY_CANCEL, BY_REPLACE, cancellations, open_orders};
use crate::account::Account;
use crate::checks::{check_quantity, check_symbol};
use crate::command::SubmitGrid;
use crate::event::{Event, NewGrid};
use crate::feed::Security;
use crate::money::{Currency, Money};
use crate::order::{Facts, GridId, PRINTED_DECIMALS, Since};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::sessions::{intraday_end, no_cancel};
use crate::view::MarketView;
use crate::words::{GridStatus, GridTimeInForce, Kind, OrderType, Side, SuspendReason};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridSymbolInfo {
    /// Current mark price, or `None` if unknown.
    pub last_done: Option<Price>,
    pub lot: Quantity,
    pub currency: Currency,
    /// Number of decimals in displayed prices.
    pub decimals: u32,
    /// Tick sizes on the trading date, ascending.
    pub ticks: Vec<TickBand>,
    /// Whether the client has accepted the risks of grid trading.
    pub is_granted: bool,
    /// Whether a grid can trade before and after regular hours.
    pub has_extended_hours: bool,
}

/// Tick size for prices above `over` and up to `to`. The last band has no upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickBand {
    pub over: Price,
    pub to: Option<Price>,
    pub tick: Price,
}

/// Returns the data that a client needs to submit a grid on a security, or a refusal if the
/// security does not support grids.
pub fn grid_symbol_info(
    account: &Account,
    view: &MarketView<'_>,
    symbol: &Symbol,
) -> Result<GridSymbolInfo, Refusal> {
    let security = check_symbol(view, symbol)?;
    if security.kind == Kind::Option {
        return Err(Refusal::check(1, "symbol not tradable").because("grids on options are not supported"));
    }
    let ticks = view.ticks(symbol, security.kind, view.date(symbol.market()));
    Ok(GridSymbolInfo {
        last_done: view.mark(symbol),
        lot: security.lot,
        currency: security.currency,
        decimals: PRINTED_DECIMALS,
        ticks: ticks.bands().map(|(over, to, tick)| TickBand { over, to, tick }).collect(),
        is_granted: account.has_agreed,
        has_extended_hours: symbol.market() == Market::Us,
    })
}

pub(crate) fn agree(account: &Account) -> Vec<Event> {
    // Repeated agreement has no effect.
    if account.has_agreed { Vec::new() } else { vec![Event::StrategyAgreed] }
}

pub(crate) fn submit(
    account: &Account,
    view: &MarketView<'_>,
    request: &SubmitGrid,
) -> Result<Vec<Event>, Refusal> {
    let SubmitGrid { symbol, settlement_currency, rule } = request;
    if account.settings.grid_questionnaire && !account.has_agreed {
        return Err(Refusal::plain("the strategy questionnaire has not been answered"));
    }
    grid_symbol_info(account, view, symbol)?;
    let no_quotes = || Refusal::check(1, "no quotes");
    let security = view.security(symbol).ok_or_else(no_quotes)?;
    let settlement_currency = settlement_currency.unwrap_or(security.currency);
    if settlement_currency != security.currency {
        return Err(Refusal::plain(format!("settlement_currency must be {}", security.currency)));
    }
    let rule = GridRule::of(rule, view.at)?;
    if account.grids.open().count() >= OPEN_MAX {
        return Err(Refusal::plain(format!("at most {OPEN_MAX} grids may be open")));
    }
    let ends_at = ends_at(view, symbol, &rule)?;
    let new = NewGrid {
        id: account.next_grid(),
        symbol: symbol.clone(),
        facts: Facts::of(&security),
        settlement_currency,
        rule,
        ends_at,
    };
    check_orders(account, &new.as_grid(view.at), &security)?;
    Ok(vec![Event::GridSubmitted(Box::new(new))])
}

pub(crate) fn replace(
    account: &Account,
    view: &MarketView<'_>,
    id: GridId,
    request: &GridRuleInput,
) -> Result<Vec<Event>, Refusal> {
    let grid = open_grid(account, id)?;
    let security = view.security(&grid.symbol).ok_or_else(|| Refusal::check(1, "no quotes"))?;
    let rule = GridRule::of(request, view.at)?;
    let stays_of_day = [grid.rule.time_in_force, rule.time_in_force] == [GridTimeInForce::Day; 2];
    // A replaced day grid still expires on the day of its submission.
    let ends_at = if stays_of_day { grid.ends_at } else { ends_at(view, &grid.symbol, &rule)? };
    check_orders(account, &Grid { rule: rule.clone(), ..grid.clone() }, &security)?;
    check_cancel(account, view, grid)?;
    let mut events = cancellations(account, grid, BY_REPLACE);
    events.push(Event::GridReplaced { grid: id, rule: Box::new(rule), ends_at });
    Ok(events)
}

pub(crate) fn cancel(account: &Account, view: &MarketView<'_>, id: GridId) -> Result<Vec<Event>, Refusal> {
    let grid = open_grid(account, id)?;
    check_cancel(account, view, grid)?;
    let mut events = cancellations(account, grid, BY_CANCEL);
    events.push(Event::GridCanceled { grid: id, bound: None });
    Ok(events)
}

pub(crate) fn suspend(account: &Account, id: GridId) -> Result<Vec<Event>, Refusal> {
    in_status(account, id, GridStatus::Performing)?;
    Ok(vec![Event::GridSuspended { grid: id, reason: SuspendReason::User }])
}

pub(crate) fn restart(account: &Account, id: GridId) -> Result<Vec<Event>, Refusal> {
    in_status(account, id, GridStatus::Suspended)?;
    Ok(vec![Event::GridRestarted { grid: id }])
}

fn known(account: &Account, id: GridId) -> Result<&Grid, Refusal> {
    account.grid(id).ok_or_else(|| Refusal::plain("grid order not found"))
}

fn wrong_status(grid: &Grid) -> Refusal {
    Refusal::plain(format!("grid order is {}", grid.status))
}

fn open_grid(account: &Account, id: GridId) -> Result<&Grid, Refusal> {
    let grid = known(account, id)?;
    if grid.is_open() { Ok(grid) } else { Err(wrong_status(grid)) }
}

fn in_status(account: &Account, id: GridId, status: GridStatus) -> Result<(), Refusal> {
    let grid = known(account, id)?;
    if grid.status == status { Ok(()) } else { Err(wrong_status(grid)) }
}

/// Returns a refusal if the grid has open orders that cannot be cancelled now.
fn check_cancel(account: &Account, view: &MarketView<'_>, grid: &Grid) -> Result<(), Refusal> {
    let has_orders = !open_orders(account, grid).is_empty();
    match no_cancel(view.venue(grid.market()), view.at).filter(|_| has_orders) {
        Some((from, until)) => {
            Err(Refusal::plain(format!("orders of the grid cannot be changed from {from} to {until}")))
        }
        None => Ok(()),
    }
}

/// Checks that the grid's order quantity is valid for the security, for both sides.
fn check_orders(account: &Account, grid: &Grid, security: &Security) -> Result<(), Refusal> {
    for side in [Side::Buy, Side::Sell] {
        let price = (grid.sub_order_type(side) == OrderType::Limit).then_some(grid.rule.upper);
        check_quantity(&account.settings, &grid.terms(side, grid.rule.quantity, price), security)?;
    }
    Ok(())
}

/// Returns when a grid expires, or `None` if it is good till cancelled. Returns a refusal if the
/// calendar has no trading day for a day grid.
fn ends_at(view: &MarketView<'_>, symbol: &Symbol, rule: &GridRule) -> Result<Option<Timestamp>, Refusal> {
    match rule.time_in_force {
        GridTimeInForce::GoodTilCanceled => Ok(None),
        GridTimeInForce::GoodTilDate => Ok(rule.expire_time),
        GridTimeInForce::Day => {
            let end = intraday_end(view.venue(symbol.market()), view.at);
            let no_day = || Refusal::plain("the calendar has no day on which the order could trade");
            end.map(Some).ok_or_else(no_day)
        }
    }
}

impl NewGrid {
    /// Returns the initial state of the grid, submitted at `at`.
    pub(super) fn as_grid(&self, at: Timestamp) -> Grid {
        Grid {
            id: self.id,
            symbol: self.symbol.clone(),
            facts: self.facts,
            settlement_currency: self.settlement_currency,
            base: self.rule.base,
            rule: self.rule.clone(),
            status: GridStatus::Performing,
            suspend_reason: None,
            sleeping_reason: None,
            base_before: None,
            base_after: None,
            since: Since::Client(at),
            last_candle: None,
            ends_at: self.ends_at,
            created_at: at,
            updated_at: at,
            trigger_times: 0,
            triggered_on: None,
            triggers: 0,
            skips: 0,
            orders: Vec::new(),
            bought: Quantity::ZERO,
            sold: Quantity::ZERO,
            profit: Money::ZERO,
            lots: Vec::new(),
            history: Vec::new(),
        }
    }
}
