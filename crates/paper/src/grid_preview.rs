//! Preview of a grid: whether the grid would be accepted, at which levels it would trade, and the
//! cost of buying at every level. Writes nothing.

use market::{Price, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{
    Account, Command, Entry, Event, Grid, MarketView, Money, Quantity, SubmitGrid, VERSION, balance, decide,
    exact_price,
};

use crate::preview::Verdict;
use crate::reason::Reason;

/// Maximum number of levels counted on each side.
const LEVELS_MAX: usize = 10_000;
const LEVELS_TOLD: usize = 20;

/// A grid as it would be accepted now. Amounts and prices are text, and times are Unix seconds as
/// text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GridPreview {
    /// Whether the grid would be accepted or refused.
    pub verdict: Verdict,
    /// Reason why the grid would be refused, if it would be.
    pub reason: Option<Reason>,
    pub symbol: String,
    pub currency: Option<String>,
    /// Current price of the security. `None` if there is no price or the grid is refused.
    pub last_done: Option<String>,
    /// Quantity of the security that the account holds.
    pub position: String,
    /// Unreserved cash in the security's currency.
    pub available_cash: Option<String>,
    /// Time at which the grid would expire.
    pub ends_at: Option<String>,
    /// Levels above the base price, at which the grid sells.
    pub sales: Option<GridSide>,
    /// Levels below the base price, at which the grid buys.
    pub purchases: Option<GridSide>,
}

/// A grid's levels on one side of its base price. The totals assume that the price moves through
/// all levels without reversing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GridSide {
    /// The 20 levels nearest to the base price.
    pub levels: Vec<String>,
    /// Number of levels, at most 10,000.
    pub level_count: usize,
    /// Number of levels at which the position limits allow a trade.
    pub trade_count: usize,
    /// Total quantity traded at the levels counted in `trade_count`.
    pub quantity: String,
    pub amount: String,
}

pub(crate) fn preview_grid(account: &Account, view: &MarketView<'_>, request: &SubmitGrid) -> GridPreview {
    let held = account.position(&request.symbol).map_or(Quantity::ZERO, |position| position.quantity);
    let refused = GridPreview {
        verdict: Verdict::Refused,
        reason: None,
        symbol: request.symbol.to_string(),
        currency: None,
        last_done: None,
        position: held.to_string(),
        available_cash: None,
        ends_at: None,
        sales: None,
        purchases: None,
    };
    let events = match decide(account, &Command::SubmitGrid(Box::new(request.clone())), view) {
        Ok(events) => events,
        Err(refusal) => return GridPreview { reason: Some(Reason::of(&refusal)), ..refused },
    };
    let Some(grid) = begun(account, view, events) else { return refused };
    let currency = grid.facts.currency;
    let second = |at: Timestamp| at.0.to_string();
    let text = |price: Price| exact_price(price, grid.facts.decimals).to_string();
    GridPreview {
        verdict: Verdict::Accepted,
        currency: Some(currency.to_string()),
        last_done: view.mark(&request.symbol).map(text),
        available_cash: Some(balance(account, view, currency, None).available().text().to_string()),
        ends_at: grid.ends_at.map(second),
        sales: Some(GridSide::of(&grid, view, held, Way::Up)),
        purchases: Some(GridSide::of(&grid, view, held, Way::Down)),
        ..refused
    }
}

/// Returns the grid that the events create, or `None` if they create no grid.
fn begun(account: &Account, view: &MarketView<'_>, events: Vec<Event>) -> Option<Grid> {
    let mut after = account.clone();
    for event in events {
        let number = after.entries() + 1;
        after.apply(&Entry { version: VERSION, number, at: Some(view.at), event });
    }
    after.grids().iter().next_back().cloned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

impl GridSide {
    fn of(grid: &Grid, view: &MarketView<'_>, held: Quantity, way: Way) -> GridSide {
        let mut grid = grid.clone();
        let mut side = Tally { position: held, ..Tally::default() };
        let mut levels = Vec::new();
        while side.levels < LEVELS_MAX {
            let next = grid.levels(view);
            let level = match way {
                Way::Up => next.up,
                Way::Down => next.down,
            };
            if !(grid.rule.lower..=grid.rule.upper).contains(&level) {
                break;
            }
            if levels.len() < LEVELS_TOLD {
                levels.push(exact_price(level, grid.facts.decimals).to_string());
            }
            side.pass(&grid, level, way);
            grid.base = level;
        }
        GridSide {
            levels,
            level_count: side.levels,
            trade_count: side.trades,
            quantity: side.quantity.to_string(),
            amount: side.amount.text().to_string(),
        }
    }
}

/// Running totals over the levels of one side.
#[derive(Default)]
struct Tally {
    levels: usize,
    trades: usize,
    position: Quantity,
    quantity: Quantity,
    amount: Money,
}

impl Tally {
    fn pass(&mut self, grid: &Grid, level: Price, way: Way) {
        self.levels += 1;
        let rule = &grid.rule;
        let after = match way {
            Way::Up => self.position - rule.quantity,
            Way::Down => self.position + rule.quantity,
        };
        let is_allowed = match way {
            Way::Up => after >= rule.lower_quantity,
            Way::Down => after <= rule.upper_quantity,
        };
        if is_allowed {
            self.trades += 1;
            self.position = after;
            self.quantity += rule.quantity;
            self.amount += Money::of(level, rule.quantity, grid.facts.multiplier);
        }
    }
}
