//! An order and its history.

use market::{Date, Market, Price, Session, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::decimal::{Plain, exact_price, price_quotient};
use crate::feed::Security;
use crate::grid::GridOrigin;
use crate::money::Currency;
use crate::money::Money;
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::sessions::{Placement, trades_in};
use crate::tables::{DayTotals, Fee};
use crate::terms::Terms;
use crate::words::{Kind, OrderStatus, OrderType, OutsideRth, TriggerStatus};

/// An order's account and number, so that identical runs have identical ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(u64);

/// Maximum number of orders per account: the range of the lower digits of an id.
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

/// Security data stored with an order, so that its history needs no lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub kind: Kind,
    pub currency: Currency,
    pub multiplier: u32,
    pub decimals: u32,
}

/// Number of decimals displayed for an account's prices in both markets, regardless of the
/// security's quotes. An average cost always has exactly this many; fill prices with more decimals
/// are displayed in full.
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
    /// The price falls back from the best price so far by the trailing distance.
    Trail(#[serde(with = "codec::price")] Price),
}

/// Since when an order's terms apply, and whether a client or the engine set them. Determines which
/// candles may fill the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// Accepted from a client or replaced: only candles stamped later may fill it.
    Client(#[serde(with = "codec::instant")] Timestamp),
    /// Released or accepted by the engine: candles stamped at or after this instant may fill it.
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
    /// Price at which a buy or a short sale is reserved against the account's funds.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub reserve_price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub id: OrderId,
    /// Queue position. A replacement or a release assigns a new one.
    pub sequence: u64,
    pub terms: Terms,
    pub facts: Facts,
    pub standing: Standing,
    pub since: Since,
    pub trigger_status: TriggerStatus,
    #[serde(with = "codec::instant_option")]
    pub trigger_at: Option<Timestamp>,
    /// Why the order was rejected, or cancelled by the engine.
    pub msg: String,
    pub refusal: Option<Refusal>,
    #[serde(with = "codec::instant")]
    pub submitted_at: Timestamp,
    #[serde(with = "codec::instant")]
    pub updated_at: Timestamp,
    pub executed: Quantity,
    /// Sum of price times quantity over all fills, without the multiplier.
    pub paid: Money,
    /// Last day with a fill, and the totals traded on that day.
    #[serde(with = "codec::text_option")]
    pub traded_on: Option<Date>,
    pub traded: DayTotals,
    pub fills: Vec<Fill>,
    /// Charges of all days.
    pub fees: Vec<Fee>,
    pub history: Vec<HistoryRow>,
    /// Whether the engine created the order to liquidate a position.
    pub is_forced: bool,
    /// Grid that created the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridOrigin>,
}

/// One fill.
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
    /// Price of the fill, or the submitted price.
    #[serde(with = "codec::price_option")]
    pub price: Option<Price>,
    /// Quantity of the fill, or the remaining quantity.
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

    /// Returns whether the order is conditional or held, and has not been released. Such an order
    /// reserves neither cash nor shares.
    pub fn is_waiting(&self) -> bool {
        matches!(self.standing.status, OrderStatus::VarietiesNotReported | OrderStatus::DelayedNotReported)
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

    /// Returns the order type that applies to fills: a released conditional order fills like a
    /// plain one.
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

    /// Returns the totals traded on a day, from which charges are computed.
    pub fn traded_on(&self, day: Date) -> DayTotals {
        if self.traded_on == Some(day) { self.traded } else { DayTotals::default() }
    }

    /// Returns the average price, with one decimal more than the security has if needed. `None`
    /// before the first fill.
    pub fn executed_price(&self) -> Option<Plain> {
        if self.executed.is_zero() {
            return None;
        }
        let decimals = self.facts.decimals;
        let units = price_quotient(self.paid.units(), i128::from(self.executed.units()), decimals + 1);
        Some(Plain::new(units, decimals + 1, decimals))
    }

    /// Returns the price of the last fill.
    pub fn last_price(&self) -> Option<Plain> {
        self.fills.last().map(|fill| exact_price(fill.price, self.facts.decimals))
    }

    pub fn fee_total(&self) -> Money {
        self.fees.iter().map(|fee| fee.amount).sum()
    }
}
