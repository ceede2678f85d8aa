//! What a client needs to know of a security before it submits a grid.

use market::{Market, Price, Symbol};

use crate::account::Account;
use crate::checks::check_symbol;
use crate::currency::Currency;
use crate::order::PRINTED_DECIMALS;
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::view::MarketView;
use crate::words::Kind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridSymbolInfo {
    /// The price that may be known, if there is one.
    pub last_done: Option<Price>,
    pub lot: Quantity,
    pub currency: Currency,
    /// Decimals of its printed prices.
    pub decimals: u32,
    /// Its price steps on the trading date, ascending.
    pub ticks: Vec<TickBand>,
    /// Whether the client has agreed to what a strategy risks.
    pub is_granted: bool,
    /// Whether a grid can watch before and after regular hours.
    pub has_extended_hours: bool,
}

/// The step of prices over one and up to another; the last one has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickBand {
    pub over: Price,
    pub to: Option<Price>,
    pub tick: Price,
}

/// What of a security a grid's client is told, or why there is no grid on it.
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
