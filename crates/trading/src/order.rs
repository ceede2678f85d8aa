//! Orders and their history, the ids of orders and grids, and the origin of grid orders.

use market::{Date, Market, Price, Session, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::decimal::{Plain, exact_price, price_quotient};
use crate::feed::Security;
use crate::money::Currency;
use crate::money::Money;
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::sessions::{Placement, trades_in};
use crate::tables::{DayTotals, Fee};
use crate::terms::Terms;
use crate::words::{AttachedLeg, GridTriggerKind, Kind, OrderStatus, OrderType, OutsideRth, TriggerStatus};

/// ID of an order. Consists of the account and the order number, so that identical runs have
/// identical ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(u64);

/// Upper bound of order numbers. An id is the account number times this bound, plus the order
/// number.
const ORDERS_MAX: u64 = 1_000_000_000;

impl OrderId {
    /// Returns the id of an account's order number `number`, counted from 1.
    pub fn of(account: u64, number: u64) -> OrderId {
        OrderId(account.saturating_mul(ORDERS_MAX).saturating_add(number % ORDERS_MAX))
    }

    pub fn account(self) -> u64 {
        self.0 / ORDERS_MAX
    }

    pub fn number(self) -> u64 {
        self.0 % ORDERS_MAX
    }

    /// Returns the id of the order with the same number of another account.
    #[must_use]
    pub fn with_account(self, account: u64) -> OrderId {
        OrderId::of(account, self.number())
    }
}

impl std::fmt::Display for OrderId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for OrderId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<OrderId, std::num::ParseIntError> {
        text.parse().map(OrderId)
    }
}

crate::codec::serde_as_text!(OrderId);

/// ID of a grid. Consists of the account and the grid number. Grid numbers use the upper end of the
/// range of order numbers, so a grid id never equals an order id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GridId(OrderId);

const FIRST: u64 = 900_000_000;

impl GridId {
    /// Returns the id of an account's grid number `number`, counted from 1.
    pub fn of(account: u64, number: u64) -> GridId {
        GridId(OrderId::of(account, FIRST.saturating_add(number)))
    }

    pub fn account(self) -> u64 {
        self.0.account()
    }

    /// Returns the id of the grid with the same number of another account.
    #[must_use]
    pub fn with_account(self, account: u64) -> GridId {
        GridId::of(account, self.number())
    }

    /// Returns the grid's number, or 0 if the id is not a grid id.
    pub fn number(self) -> u64 {
        self.0.number().saturating_sub(FIRST)
    }
}

impl std::fmt::Display for GridId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for GridId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<GridId, std::num::ParseIntError> {
        text.parse().map(GridId)
    }
}

crate::codec::serde_as_text!(GridId);

/// The grid that created an order, and the trigger that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridOrigin {
    pub grid: GridId,
    pub kind: GridTriggerKind,
    /// Triggering price: the level, the open after a gap, or the crossed bound.
    #[serde(with = "codec::price")]
    pub price: Price,
    /// Base of the grid before the trigger.
    #[serde(with = "codec::price")]
    pub base: Price,
}

/// The main order to which an order is attached, and the order's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedTo {
    pub main: OrderId,
    pub leg: AttachedLeg,
}

/// Security data stored with an order, so that displaying an old order needs no lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub kind: Kind,
    pub currency: Currency,
    pub multiplier: u32,
    pub decimals: u32,
}

/// Number of decimals displayed for an account's prices in both markets, regardless of the decimals
/// of the security's quotes. An average cost always has exactly this number of decimals. Fill
/// prices with more decimals are displayed in full.
pub(crate) const PRINTED_DECIMALS: u32 = 3;

impl Facts {
    pub fn of(security: &Security) -> Facts {
        let Security { kind, currency, .. } = *security;
        Facts { kind, currency, multiplier: security.multiplier(), decimals: PRINTED_DECIMALS }
    }
}

/// Direction in which the price must move to reach a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Rise,
    Fall,
}

/// Condition that a conditional order waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// The price reaches the trigger price.
    Touch(Direction),
    /// The price reaches the level at which a trailing order starts to track the best price.
    Monitor(Direction),
    /// The price moves back by the trailing distance from the best price so far, which is stored
    /// here.
    Trail(#[serde(with = "codec::price")] Price),
}

/// Instant from which an order's terms apply, and whether a client or the engine set them.
/// Determines which candles may fill the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// The order was submitted or replaced by a client. Only candles with a later stamp may fill
    /// it.
    Client(#[serde(with = "codec::instant")] Timestamp),
    /// The order was released, activated or created by the engine. Candles stamped at or after this
    /// instant may fill it.
    Engine(#[serde(with = "codec::instant")] Timestamp),
}

impl Since {
    pub fn at(self) -> Timestamp {
        match self {
            Since::Client(at) | Since::Engine(at) => at,
        }
    }

    /// Returns whether a candle with this stamp may fill the order.
    pub fn allows(self, stamp: Timestamp) -> bool {
        match self {
            Since::Client(at) => stamp > at,
            Since::Engine(at) => stamp >= at,
        }
    }
}

/// State of an order when it is accepted, activated or replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub status: OrderStatus,
    pub placement: Placement,
    /// Price at which the order reserves funds. `None` if the order reserves nothing, such as a
    /// conditional order before its release.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub reserve_price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub id: OrderId,
    /// Queue position. Activation, replacement and release assign a new position.
    pub sequence: u64,
    pub terms: Terms,
    pub facts: Facts,
    pub standing: Standing,
    pub since: Since,
    pub trigger_status: TriggerStatus,
    #[serde(with = "codec::instant_option")]
    pub trigger_at: Option<Timestamp>,
    /// Why the engine rejected, cancelled or created the order. Empty if the order was accepted
    /// from a client.
    pub msg: String,
    pub refusal: Option<Refusal>,
    #[serde(with = "codec::instant")]
    pub submitted_at: Timestamp,
    #[serde(with = "codec::instant")]
    pub updated_at: Timestamp,
    pub executed: Quantity,
    /// Sum of price times quantity over all fills, without the multiplier.
    pub paid: Money,
    /// Last day with a fill.
    #[serde(with = "codec::text_option")]
    pub traded_on: Option<Date>,
    /// Totals of the last day with a fill.
    pub traded: DayTotals,
    pub fills: Vec<Fill>,
    /// Fees of all fills, summed by fee code.
    pub fees: Vec<Fee>,
    pub history: Vec<HistoryRow>,
    /// Whether the engine created the order to liquidate a position.
    pub is_forced: bool,
    /// Grid and trigger that created the order. `None` for all other orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridOrigin>,
    /// `None` unless the order is attached to another order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedTo>,
    /// All orders that were attached to this order, open or not, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_orders: Vec<OrderId>,
}

impl Order {
    /// Changes all IDs to those of another account.
    pub(crate) fn set_account(&mut self, account: u64) {
        self.id = self.id.with_account(account);
        if let Some(origin) = &mut self.grid {
            origin.grid = origin.grid.with_account(account);
        }
        if let Some(attached) = &mut self.attached {
            attached.main = attached.main.with_account(account);
        }
        self.attached_orders.iter_mut().for_each(|order| *order = order.with_account(account));
    }
}

/// One fill of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    pub number: u32,
    #[serde(with = "codec::instant")]
    pub at: Timestamp,
    pub quantity: Quantity,
    #[serde(with = "codec::price")]
    pub price: Price,
    #[serde(with = "codec::text")]
    pub day: Date,
    /// Stamp of the candle that filled the order.
    #[serde(with = "codec::instant")]
    pub candle: Timestamp,
}

impl Fill {
    /// Returns the id of a fill, unique within its account.
    pub fn trade_id(&self, order: OrderId) -> String {
        format!("{order}-{}", self.number)
    }
}

/// One row of an order's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRow {
    pub status: OrderStatus,
    /// Price of the fill, or the order's price if the row is not a fill.
    #[serde(with = "codec::price_option")]
    pub price: Option<Price>,
    /// Quantity of the fill, or the order's remaining quantity if the row is not a fill.
    pub quantity: Quantity,
    pub msg: String,
    #[serde(with = "codec::instant")]
    pub at: Timestamp,
}

impl Order {
    pub fn symbol(&self) -> &Symbol {
        &self.terms.symbol
    }

    pub fn market(&self) -> Market {
        self.terms.symbol.market()
    }

    pub fn status(&self) -> OrderStatus {
        self.standing.status
    }

    pub fn is_open(&self) -> bool {
        !self.standing.status.is_final()
    }

    pub fn remaining(&self) -> Quantity {
        self.terms.quantity - self.executed
    }

    /// Returns whether the order is a conditional order before its release or a held order. Such an
    /// order reserves neither cash nor shares.
    pub fn is_waiting(&self) -> bool {
        matches!(self.standing.status, OrderStatus::VarietiesNotReported | OrderStatus::DelayedNotReported)
    }

    /// Returns whether the order is attached to an order that has no fill yet. Such an order does
    /// not watch the price.
    pub fn is_dormant(&self) -> bool {
        self.attached.is_some()
            && self.standing.status == OrderStatus::VarietiesNotReported
            && self.standing.watch.is_none()
    }

    /// Returns whether the order is open and reserves cash or shares.
    pub fn is_working(&self) -> bool {
        self.is_open() && !self.is_waiting()
    }

    pub fn outside_rth(&self) -> OutsideRth {
        self.terms.outside_rth.unwrap_or(OutsideRth::NotApplicable)
    }

    /// Returns whether the order can trade in a session.
    pub fn trades_in(&self, session: Session) -> bool {
        trades_in(self.outside_rth(), session)
    }

    /// Returns the order type that applies to fills. A released conditional order fills like a
    /// plain market or limit order.
    pub fn fills_as(&self) -> OrderType {
        match self.terms.order_type {
            OrderType::MarketIfTouched
            | OrderType::TrailingMarketAmount
            | OrderType::TrailingMarketPercent => OrderType::Market,
            OrderType::LimitIfTouched | OrderType::TrailingAmount | OrderType::TrailingPercent => {
                OrderType::Limit
            }
            other => other,
        }
    }

    /// Returns the totals that the order traded on a day, from which its fees are computed.
    pub fn traded_on(&self, day: Date) -> DayTotals {
        if self.traded_on == Some(day) { self.traded } else { DayTotals::default() }
    }

    /// Returns the average fill price, with one decimal more than the displayed decimals if needed.
    /// Returns `None` before the first fill.
    pub fn executed_price(&self) -> Option<Plain> {
        if self.executed.is_zero() {
            return None;
        }
        let decimals = self.facts.decimals;
        let units = price_quotient(self.paid.units(), i128::from(self.executed.units()), decimals + 1);
        Some(Plain::new(units, decimals + 1, decimals))
    }

    /// Returns the price of the last fill, or `None` before the first fill.
    pub fn last_price(&self) -> Option<Plain> {
        self.fills.last().map(|fill| exact_price(fill.price, self.facts.decimals))
    }

    pub fn fee_total(&self) -> Money {
        self.fees.iter().map(|fee| fee.amount).sum()
    }
}
