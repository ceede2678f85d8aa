//! The facts of a security that a client needs to submit a grid.

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
    /// The known price, if there is one.
    pub last_done: Option<Price>,
    pub lot: Quantity,
    pub currency: Currency,
    /// Decimals of its printed prices.
    pub decimals: u32,
    /// Its price steps on the trading date, ascending.
    pub ticks: Vec<TickBand>,
    /// Whether the client has agreed to the risks of strategies.
    pub is_granted: bool,
    /// Whether a grid can trade before and after regular hours.
    pub has_extended_hours: bool,
}

/// The tick size above one price and up to another; the last band has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickBand {
    pub over: Price,
    pub to: Option<Price>,
    pub tick: Price,
}

/// The facts of a security for a grid, or why it allows no grids.
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
