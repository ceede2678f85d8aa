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

/// An order by account and number, so that identical runs have identical ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(u64);

/// Maximum number of orders of an account: the lower digits of an id.
const ORDERS_MAX: u64 = 1_000_000_000;

impl OrderId {
    /// The `number`-th order of an account, from 1.
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

/// The facts of a security that are stored with an order, so that its history needs no lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub kind: Kind,
    pub currency: Currency,
    pub multiplier: u32,
    pub decimals: u32,
}

/// Printed decimals of an account's prices in both markets, regardless of a security's quotes. An
/// average cost always has this many; prices traded with more decimals are printed in full.
pub(crate) const PRINTED_DECIMALS: u32 = 3;

impl Facts {
    pub fn of(security: &Security) -> Facts {
        let Security { kind, currency, .. } = *security;
        Facts { kind, currency, multiplier: security.multiplier(), decimals: PRINTED_DECIMALS }
    }
}

/// In which direction the price has to move to reach a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Rise,
    Fall,
}

/// The condition that a conditional order waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// For its trigger price.
    Touch(Direction),
    /// For the price at which a trailing order begins to watch.
    Monitor(Direction),
    /// Trailing, with the best price so far.
    Trail(#[serde(with = "codec::price")] Price),
}

/// Who created an order, and since when its terms apply: decides which candles may fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// Accepted from a client, or replaced: candles stamped later.
    Client(#[serde(with = "codec::instant")] Timestamp),
    /// Released or accepted by the engine: candles stamped then or later.
    Engine(#[serde(with = "codec::instant")] Timestamp),
}

impl Since {
    pub fn at(self) -> Timestamp {
        match self {
            Since::Client(at) | Since::Engine(at) => at,
        }
    }

    /// Whether a candle with this stamp counts for the order.
    pub fn allows(self, stamp: Timestamp) -> bool {
        match self {
            Since::Client(at) => stamp > at,
            Since::Engine(at) => stamp >= at,
        }
    }
}

/// The state of an order when it is accepted, or accepted anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub status: OrderStatus,
    pub placement: Placement,
    /// The price at which a buy, or a short sale, is reserved against the account's money.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub reserve_price: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub id: OrderId,
    /// Its position in the queue; a replace and a release assign a new one.
    pub sequence: u64,
    pub terms: Terms,
    pub facts: Facts,
    pub standing: Standing,
    pub since: Since,
    pub trigger_status: TriggerStatus,
    #[serde(with = "codec::instant_option")]
    pub trigger_at: Option<Timestamp>,
    /// Why it was rejected, or cancelled by the engine.
    pub msg: String,
    pub refusal: Option<Refusal>,
    #[serde(with = "codec::instant")]
    pub submitted_at: Timestamp,
    #[serde(with = "codec::instant")]
    pub updated_at: Timestamp,
    pub executed: Quantity,
    /// Price times quantity over all fills, without multiplier.
    pub paid: Money,
    /// The quantity and amount traded on the last day with a fill.
    #[serde(with = "codec::text_option")]
    pub traded_on: Option<Date>,
    pub traded: DayTotals,
    pub fills: Vec<Fill>,
    /// Charges of all days.
    pub fees: Vec<Fee>,
    pub history: Vec<HistoryRow>,
    /// Created by the engine to liquidate a position.
    pub is_forced: bool,
    /// The grid that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridOrigin>,
}

/// One execution.
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
    /// The stamp of the candle it was filled from.
    #[serde(with = "codec::instant")]
    pub candle: Timestamp,
}

impl Fill {
    /// The id of an execution, unique in its account.
    pub fn trade_id(&self, order: OrderId) -> String {
        format!("{order}-{}", self.number)
    }
}

/// One row of an order's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRow {
    pub status: OrderStatus,
    /// Of the fill, or as submitted.
    #[serde(with = "codec::price_option")]
    pub price: Option<Price>,
    /// Of the fill, or the remaining one.
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

    /// Whether it still waits for a price or for its time; until then it reserves neither cash nor
    /// shares.
    pub fn is_waiting(&self) -> bool {
        matches!(self.standing.status, OrderStatus::VarietiesNotReported | OrderStatus::DelayedNotReported)
    }

    /// Open, with cash or shares reserved.
    pub fn is_working(&self) -> bool {
        self.is_open() && !self.is_waiting()
    }

    pub fn outside_rth(&self) -> OutsideRth {
        self.terms.outside_rth.unwrap_or(OutsideRth::NotApplicable)
    }

    /// Whether it trades in these hours.
    pub fn trades_in(&self, session: Session) -> bool {
        trades_in(self.outside_rth(), session)
    }

    /// The order type by which it fills: a released order is a plain one.
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

    /// The totals traded on a day: charges are computed from there.
    pub fn traded_on(&self, day: Date) -> DayTotals {
        if self.traded_on == Some(day) { self.traded } else { DayTotals::default() }
    }

    /// Its average price, with one decimal more than the security has if needed; `None` before the
    /// first fill.
    pub fn executed_price(&self) -> Option<Plain> {
        if self.executed.is_zero() {
            return None;
        }
        let decimals = self.facts.decimals;
        let units = price_quotient(self.paid.units(), i128::from(self.executed.units()), decimals + 1);
        Some(Plain::new(units, decimals + 1, decimals))
    }

    /// The price of its last fill.
    pub fn last_price(&self) -> Option<Plain> {
        self.fills.last().map(|fill| exact_price(fill.price, self.facts.decimals))
    }

    pub fn fee_total(&self) -> Money {
        self.fees.iter().map(|fee| fee.amount).sum()
    }
}
