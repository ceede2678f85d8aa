//! The journal of an account: its events in order, with everything needed to fold them again
//! without prices or tables.
//!
//! Entries are durable text. Their names are stable; a field added later has a default, and
//! [`VERSION`] increases when an older reader could misread an entry.

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

/// The format version of entries written by this release.
pub const VERSION: u8 = 1;

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    #[serde(rename = "v")]
    pub version: u8,
    /// From 1, without gaps.
    pub number: u64,
    /// The market instant. `None` for entries from before an account's first request.
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
    /// The first request: the horizon begins here.
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
        /// The new quantity, and the change it makes.
        quantity: Quantity,
        change: Quantity,
        #[serde(with = "codec::price")]
        cost: Price,
        facts: Facts,
    },

    Accepted(Box<AcceptedOrder>),
    /// Rejected immediately (with its terms), at release, or at the time it was held for.
    Rejected {
        id: OrderId,
        refusal: Refusal,
        order: Option<Box<AcceptedOrder>>,
    },
    /// The time of a held order has come: accepted by the engine.
    Activated {
        id: OrderId,
        sequence: u64,
        terms: Box<Terms>,
        standing: Standing,
    },
    Reported {
        id: OrderId,
    },
    /// A trailing order begins to watch.
    Watching {
        id: OrderId,
        #[serde(with = "codec::price")]
        best: Price,
    },
    /// A trailing order has seen a better price.
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
    /// By the client if there is no reason.
    Canceled {
        id: OrderId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Expired {
        id: OrderId,
    },

    /// The client has agreed to the risks of strategies.
    StrategyAgreed,
    GridSubmitted(Box<NewGrid>),
    GridReplaced {
        grid: GridId,
        rule: Box<GridRule>,
        #[serde(with = "codec::instant_option")]
        ends_at: Option<Timestamp>,
    },
    /// A level was reached. The order that it creates follows, unless it was skipped.
    GridTriggered(Box<GridTrigger>),
    /// A candle opened outside of the bounds, or reached a level that the grid may no longer
    /// trigger at today, or a day had only a daily candle.
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
    /// By the client, or at a bound: then with the candle that left it. The order that closes the
    /// grid's position precedes it.
    GridCanceled {
        grid: GridId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<Bar>,
    },
    GridExpired {
        grid: GridId,
    },

    /// The quantities held at the roll become the first ones of the day.
    Rolled {
        #[serde(with = "codec::market")]
        market: Market,
        #[serde(with = "codec::text")]
        date: Date,
    },
    /// Cash of an action, due now or on its pay date.
    DividendDue(Dividend),
    DividendPaid(Dividend),
    SharesChanged {
        #[serde(with = "codec::text")]
        symbol: Symbol,
        #[serde(with = "codec::text")]
        ex_date: Date,
        before: Quantity,
        after: Quantity,
        /// New shares for one old one.
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
    /// No price of the underlying: the position remains, and the operator has to decide.
    OptionUnsettled {
        #[serde(with = "codec::text")]
        symbol: Symbol,
    },
    /// Forced selling began or ended.
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
    /// Forced selling.
    #[serde(default)]
    pub is_forced: bool,
    /// The grid that created it.
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
    /// The triggering price, which is the new base, and the base before.
    #[serde(with = "codec::price")]
    pub price: Price,
    #[serde(with = "codec::price")]
    pub base: Price,
    pub candle: Bar,
    /// Why no order was created, and the numbers behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SleepingReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    pub id: OrderId,
    pub sequence: u64,
    /// The new limit; none for a market order.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "codec::price_option")]
    pub price: Option<Price>,
    #[serde(with = "codec::price")]
    pub reserve_price: Price,
    pub candle: Bar,
    pub how: Trigger,
    /// The last best price of a trailing order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
}

/// Where in its candle a trigger certainly happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// At its open.
    Gap,
    /// Somewhere in it.
    Inside,
}

/// An execution, with its reasons.
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
    /// The charges that this fill adds to those of its order and day.
    pub fees: Vec<Fee>,
    /// The trading day it is booked on.
    #[serde(with = "codec::text")]
    pub day: Date,
    #[serde(with = "codec::text")]
    pub settles_on: Date,
    pub candle: Bar,
    pub rule: FillRule,
    /// The quantity the candle left to this order; none where nothing limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Quantity>,
}

/// The price of the candle at which an order was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FillRule {
    /// A market order, at the open plus slippage.
    MarketOpen,
    /// The open was better than the limit.
    Open,
    /// The candle went through the limit.
    Limit,
    /// The opening auction.
    OpeningAuction,
    /// The closing auction.
    ClosingAuction,
    /// An odd lot, always at its limit.
    OddLot,
}

/// The candle behind an event.
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
    /// The daily candle of a coarse day, stamped with its opening.
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

/// Cash of a holding; negative if the position is short.
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
    /// The holding period it belongs to.
    pub period: u64,
}

impl Entry {
    /// The same entry in the journal of another account: what a fork copies.
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

    /// The grid that an event concerns. Events of its orders belong to those orders.
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

    /// The order that an event concerns.
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

    /// The states that an event takes an order through, given its current one and whether anything
    /// was executed: those it passes, and the one it remains in. Each is a row of its history and a
    /// push.
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
