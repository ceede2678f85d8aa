//! The journal of an account: its events in order, with everything needed to fold them again
//! without prices or tables.
//!
//! Entries are durable text with stable names. A field added later has a default, and [`VERSION`]
//! is incremented when an older reader could misread an entry.

use market::{Candle, Date, Market, Price, Session, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::feed::EffectiveCandle;
use crate::grid::{GridId, GridOrigin, GridRule};
use crate::money::Currency;
use crate::money::{Fraction, Money, Rate};
use crate::order::{Facts, OrderId, Standing, Watch};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::settings::{Setting, Settings};
use crate::tables::Fee;
use crate::terms::Terms;
use crate::words::{GridTriggerKind, OrderStatus, Side, SleepingReason, SuspendReason};

/// Format version of entries written by this release.
pub const VERSION: u8 = 1;

/// One journal entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    #[serde(rename = "v")]
    pub version: u8,
    /// Counts from 1, without gaps.
    pub number: u64,
    /// Market time. `None` for entries made before the account's first request.
    #[serde(with = "codec::instant_option")]
    pub at: Option<Timestamp>,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Opened {
        account: u64,
        settings: Settings,
    },
    /// The first request, at which the horizon starts.
    Began,
    Set {
        setting: Setting,
    },
    CreditSet {
        credit: Money,
    },
    Deposited {
        currency: Currency,
        amount: Money,
    },
    Withdrawn {
        currency: Currency,
        amount: Money,
    },
    Exchanged {
        from: Currency,
        paid: Money,
        to: Currency,
        received: Money,
        rate: Rate,
    },
    Adjusted {
        currency: Currency,
        amount: Money,
        note: String,
    },
    PositionEntered {
        #[serde(with = "codec::text")]
        symbol: Symbol,
        /// New quantity, and its difference from the previous one.
        quantity: Quantity,
        change: Quantity,
        #[serde(with = "codec::price")]
        cost: Price,
        facts: Facts,
    },

    Accepted(Box<AcceptedOrder>),
    /// An order was rejected at submission (with its terms), at its release, or when its delay
    /// ended.
    Rejected {
        id: OrderId,
        refusal: Refusal,
        order: Option<Box<AcceptedOrder>>,
    },
    /// The delay of a held order has ended, and the engine has accepted the order.
    Activated {
        id: OrderId,
        sequence: u64,
        terms: Box<Terms>,
        standing: Standing,
    },
    Reported {
        id: OrderId,
    },
    /// A trailing order starts to track the best price.
    Watching {
        id: OrderId,
        #[serde(with = "codec::price")]
        best: Price,
    },
    /// A trailing order has a new best price.
    BestMoved {
        id: OrderId,
        #[serde(with = "codec::price")]
        best: Price,
    },
    Released(Box<Release>),
    Filled(Box<Execution>),
    Replaced {
        id: OrderId,
        sequence: u64,
        terms: Box<Terms>,
        standing: Standing,
    },
    /// An order was cancelled; by the client if `reason` is `None`.
    Canceled {
        id: OrderId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Expired {
        id: OrderId,
    },

    /// The client has accepted the risks of strategies.
    StrategyAgreed,
    GridSubmitted(Box<NewGrid>),
    GridReplaced {
        grid: GridId,
        rule: Box<GridRule>,
        #[serde(with = "codec::instant_option")]
        ends_at: Option<Timestamp>,
    },
    /// A grid reached a level. The entry of the created order follows, unless the trigger was
    /// skipped.
    GridTriggered(Box<GridTrigger>),
    /// A grid fell asleep: a candle opened outside the bounds, the day's trigger limit was reached,
    /// or a day had only a daily candle.
    GridSlept {
        grid: GridId,
        candle: Bar,
        #[serde(default = "slept_for_price", skip_serializing_if = "is_price")]
        reason: SleepingReason,
    },
    GridSuspended {
        grid: GridId,
        reason: SuspendReason,
    },
    GridRestarted {
        grid: GridId,
    },
    /// A grid was cancelled by the client, or at a bound, with the candle that crossed it. The
    /// order that closes the grid's position precedes this entry.
    GridCanceled {
        grid: GridId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<Bar>,
    },
    GridExpired {
        grid: GridId,
    },

    /// The daily roll. The quantities held now become the day's first quantities.
    Rolled {
        #[serde(with = "codec::market")]
        market: Market,
        #[serde(with = "codec::text")]
        date: Date,
    },
    /// A cash dividend that is due now or on its pay date.
    DividendDue(Dividend),
    DividendPaid(Dividend),
    SharesChanged {
        #[serde(with = "codec::text")]
        symbol: Symbol,
        #[serde(with = "codec::text")]
        ex_date: Date,
        before: Quantity,
        after: Quantity,
        /// New shares per old share.
        ratio: Fraction,
        cash_in_lieu: Money,
        currency: Currency,
    },
    RightsSold {
        #[serde(with = "codec::text")]
        symbol: Symbol,
        #[serde(with = "codec::text")]
        ex_date: Date,
        amount: Money,
        currency: Currency,
    },
    InterestAccrued {
        currency: Currency,
        balance: Money,
        days: i64,
        rate_millionths: i64,
        year: i64,
    },
    InterestBooked {
        currency: Currency,
        amount: Money,
    },
    OptionExpired {
        #[serde(with = "codec::text")]
        symbol: Symbol,
        quantity: Quantity,
        #[serde(with = "codec::price")]
        underlying: Price,
        #[serde(with = "codec::price")]
        intrinsic: Price,
        amount: Money,
        currency: Currency,
        #[serde(with = "codec::text")]
        settles_on: Date,
    },
    /// An option expired without a price for its underlying. The position remains, and an operator
    /// must resolve it.
    OptionUnsettled {
        #[serde(with = "codec::text")]
        symbol: Symbol,
    },
    /// Forced liquidation started or ended.
    Liquidating {
        on: bool,
        net_assets: Money,
        required: Money,
    },
}

/// An order at acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedOrder {
    pub id: OrderId,
    pub sequence: u64,
    pub terms: Terms,
    pub facts: Facts,
    pub standing: Standing,
    #[serde(default)]
    pub by_engine: bool,
    /// Whether the order is a forced liquidation.
    #[serde(default)]
    pub is_forced: bool,
    /// Grid that created the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridOrigin>,
}

/// A grid at submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewGrid {
    pub id: GridId,
    #[serde(with = "codec::text")]
    pub symbol: Symbol,
    pub facts: Facts,
    pub settlement_currency: Currency,
    pub rule: GridRule,
    #[serde(with = "codec::instant_option")]
    pub ends_at: Option<Timestamp>,
}

fn slept_for_price() -> SleepingReason {
    SleepingReason::Price
}

fn is_price(reason: &SleepingReason) -> bool {
    *reason == SleepingReason::Price
}

/// One trigger of a grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridTrigger {
    pub grid: GridId,
    pub kind: GridTriggerKind,
    pub side: Side,
    pub quantity: Quantity,
    /// The triggering price, which becomes the new base, and the previous base.
    #[serde(with = "codec::price")]
    pub price: Price,
    #[serde(with = "codec::price")]
    pub base: Price,
    pub candle: Bar,
    /// Why no order was created, with the numbers of the failed check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SleepingReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    pub id: OrderId,
    pub sequence: u64,
    /// New limit price. `None` for a market order.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub price: Option<Price>,
    #[serde(with = "codec::price")]
    pub reserve_price: Price,
    pub candle: Bar,
    pub how: Trigger,
    /// Last best price of a trailing order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
}

/// The earliest point in a candle at which a trigger is certain to have occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// At the open.
    Gap,
    /// At an unknown point within the candle.
    Inside,
}

/// A fill, with the candle and the rule behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    pub id: OrderId,
    #[serde(with = "codec::text")]
    pub symbol: Symbol,
    pub side: Side,
    pub quantity: Quantity,
    #[serde(with = "codec::price")]
    pub price: Price,
    pub facts: Facts,
    /// Charges that this fill adds to those of its order and day.
    pub fees: Vec<Fee>,
    /// Trading day on which the fill is booked.
    #[serde(with = "codec::text")]
    pub day: Date,
    #[serde(with = "codec::text")]
    pub settles_on: Date,
    pub candle: Bar,
    pub rule: FillRule,
    /// Quantity of the candle's volume available to this order. `None` if the volume is not
    /// limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Quantity>,
}

/// Which price of the candle filled an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FillRule {
    /// A market order at the open, plus slippage.
    MarketOpen,
    /// The open, which was better than the limit.
    Open,
    /// The limit, which the candle crossed.
    Limit,
    /// The price of the opening auction.
    OpeningAuction,
    /// The price of the closing auction.
    ClosingAuction,
    /// An odd-lot order, always at its limit.
    OddLot,
}

/// The candle that caused an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    #[serde(with = "codec::instant")]
    pub time: Timestamp,
    #[serde(with = "codec::price")]
    pub open: Price,
    #[serde(with = "codec::price")]
    pub high: Price,
    #[serde(with = "codec::price")]
    pub low: Price,
    #[serde(with = "codec::price")]
    pub close: Price,
    pub volume: i64,
    pub session: u8,
    /// Whether this is the daily candle of a coarse day, stamped with its opening.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_day: bool,
}

impl Bar {
    pub(crate) fn of(effective: &EffectiveCandle) -> Bar {
        let Candle { time, open, high, low, close, volume, session, .. } = effective.candle;
        Bar { time, open, high, low, close, volume, session: session.code(), is_day: effective.is_day() }
    }

    pub fn session(&self) -> Session {
        Session::from_code(self.session).unwrap_or_default()
    }
}

/// A cash dividend. Negative if the position is short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dividend {
    #[serde(with = "codec::text")]
    pub symbol: Symbol,
    #[serde(with = "codec::text")]
    pub ex_date: Date,
    #[serde(with = "codec::text")]
    pub pay_date: Date,
    pub quantity: Quantity,
    pub amount: Money,
    pub currency: Currency,
    /// Holding period of the position that earned the dividend.
    pub period: u64,
}

impl Entry {
    /// Returns the same entry for the journal of another account, for a fork.
    #[must_use]
    pub fn of_account(&self, account: u64) -> Entry {
        let mut entry = self.clone();
        if let Event::Opened { account: number, .. } = &mut entry.event {
            *number = account;
        }
        if let Some(id) = entry.event.order_mut() {
            *id = OrderId::of(account, id.number());
        }
        if let Some(grid) = entry.event.grid_mut() {
            *grid = GridId::of(account, grid.number());
        }
        match &mut entry.event {
            Event::Rejected { order: Some(accepted), .. } => {
                accepted.id = OrderId::of(account, accepted.id.number());
            }
            Event::Accepted(accepted) => {
                if let Some(origin) = &mut accepted.grid {
                    origin.grid = GridId::of(account, origin.grid.number());
                }
            }
            _ => {}
        }
        entry
    }
}

impl Event {
    fn order_mut(&mut self) -> Option<&mut OrderId> {
        match self {
            Event::Accepted(accepted) => Some(&mut accepted.id),
            Event::Released(release) => Some(&mut release.id),
            Event::Filled(filled) => Some(&mut filled.id),
            Event::Rejected { id, .. }
            | Event::Activated { id, .. }
            | Event::Reported { id }
            | Event::Watching { id, .. }
            | Event::BestMoved { id, .. }
            | Event::Replaced { id, .. }
            | Event::Canceled { id, .. }
            | Event::Expired { id } => Some(id),
            _ => None,
        }
    }

    fn grid_mut(&mut self) -> Option<&mut GridId> {
        match self {
            Event::GridSubmitted(new) => Some(&mut new.id),
            Event::GridTriggered(trigger) => Some(&mut trigger.grid),
            Event::GridReplaced { grid, .. }
            | Event::GridSlept { grid, .. }
            | Event::GridSuspended { grid, .. }
            | Event::GridRestarted { grid }
            | Event::GridCanceled { grid, .. }
            | Event::GridExpired { grid } => Some(grid),
            _ => None,
        }
    }

    /// Returns the grid that an event is about. Events on a grid's orders belong to the orders.
    pub fn grid(&self) -> Option<GridId> {
        match self {
            Event::GridSubmitted(new) => Some(new.id),
            Event::GridTriggered(trigger) => Some(trigger.grid),
            Event::GridReplaced { grid, .. }
            | Event::GridSlept { grid, .. }
            | Event::GridSuspended { grid, .. }
            | Event::GridRestarted { grid }
            | Event::GridCanceled { grid, .. }
            | Event::GridExpired { grid } => Some(*grid),
            _ => None,
        }
    }

    /// Returns the order that an event is about.
    pub fn order(&self) -> Option<OrderId> {
        match self {
            Event::Accepted(accepted) => Some(accepted.id),
            Event::Released(release) => Some(release.id),
            Event::Filled(filled) => Some(filled.id),
            Event::Rejected { id, .. }
            | Event::Activated { id, .. }
            | Event::Reported { id }
            | Event::Watching { id, .. }
            | Event::BestMoved { id, .. }
            | Event::Replaced { id, .. }
            | Event::Canceled { id, .. }
            | Event::Expired { id } => Some(*id),
            _ => None,
        }
    }

    /// Returns the statuses that an event moves an order through: the intermediate ones, and the
    /// final one. `before` is the current status, and `executed` tells whether the order has fills.
    /// Each status adds a history row and a push.
    pub(crate) fn stages(
        &self,
        before: OrderStatus,
        executed: bool,
        is_done: bool,
    ) -> (&'static [OrderStatus], Option<OrderStatus>) {
        use OrderStatus::*;
        let is_reported = matches!(before, New | PartialFilled);
        let ended = if executed { PartialWithdrawal } else { Canceled };
        let (passed, last): (&'static [OrderStatus], OrderStatus) = match self {
            Event::Accepted(accepted) => accepted_stages(accepted.standing.status),
            Event::Activated { standing, .. } => accepted_stages(standing.status),
            Event::Rejected { .. } => (&[], Rejected),
            Event::Reported { .. } => (&[WaitToNew], New),
            Event::Watching { .. } => (&[], VarietiesNotReported),
            Event::Released(_) => (&[], New),
            Event::Filled(_) => (&[], if is_done { Filled } else { PartialFilled }),
            Event::Replaced { .. } if is_reported => (&[WaitToReplace, PendingReplace], before),
            Event::Replaced { .. } => (&[], before),
            Event::Canceled { reason: None, .. } if is_reported => (&[WaitToCancel, PendingCancel], ended),
            Event::Canceled { .. } => (&[], ended),
            Event::Expired { .. } => (&[], Expired),
            _ => return (&[], None),
        };
        (passed, Some(last))
    }
}

fn accepted_stages(status: OrderStatus) -> (&'static [OrderStatus], OrderStatus) {
    match status {
        OrderStatus::New => (&[OrderStatus::WaitToNew], OrderStatus::New),
        parked => (&[], parked),
    }
}
