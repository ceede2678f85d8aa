//! Security data that a client needs to submit a grid.

use market::{Market, Price, Symbol};

use crate::account::Account;
use crate::checks::check_symbol;
use crate::money::Currency;
use crate::order::PRINTED_DECIMALS;
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::view::MarketView;
use crate::words::Kind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridSymbolInfo {
    /// Current price, if known.
    pub last_done: Option<Price>,
    pub lot: Quantity,
    pub currency: Currency,
    /// Number of decimals in displayed prices.
    pub decimals: u32,
    /// Tick sizes on the trading date, ascending.
    pub ticks: Vec<TickBand>,
    /// Whether the client has accepted the risks of strategies.
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

/// Returns the grid-related data of a security, or a refusal if it does not support grids.
pub fn grid_symbol_info(
    account: &Account,
    view: &MarketView<'_>,
    symbol: &Symbol,
) -> Result<GridSymbolInfo, Refusal> {
    let security = check_symbol(view, symbol)?;
    if security.kind == Kind::Option {
        return Err(Refusal::check(1, "symbol not tradable").because("there are no grids on options"));
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
