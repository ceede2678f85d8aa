//! Journal entries of an account. An event holds everything needed to fold it again without prices
//! or tables.
//!
//! Entries are stored as text, so event and field names must not change. A field added later has a
//! default, and [`VERSION`] is incremented when an older reader could misread an entry.

use market::{Candle, Date, Market, Price, Session, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::feed::EffectiveCandle;
use crate::grid::GridRule;
use crate::money::Currency;
use crate::money::{Fraction, Money, Rate};
use crate::order::{AttachedTo, Facts, GridId, GridOrigin, OrderId, Standing, Watch};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::settings::{Setting, Settings};
use crate::tables::Fee;
use crate::terms::Terms;
use crate::words::{GridTriggerKind, OrderStatus, Side, SleepingReason, SuspendReason};

/// Latest format version of entries. Version 2 adds attached orders. Other entries are still
/// written in version 1, so that an older release reads the journal of an account without attached
/// orders.
pub const VERSION: u8 = 2;

/// One journal entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    #[serde(rename = "v")]
    pub version: u8,
    /// Number of the entry, counted from 1 without gaps.
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
        /// New quantity.
        quantity: Quantity,
        /// Difference from the previous quantity.
        change: Quantity,
        #[serde(with = "codec::price")]
        cost: Price,
        facts: Facts,
    },

    Accepted(Box<AcceptedOrder>),
    /// An order was rejected at submission, at its release, or when its delay ended. `order` is set
    /// only at submission.
    Rejected {
        id: OrderId,
        refusal: Refusal,
        order: Option<Box<AcceptedOrder>>,
    },
    /// The delay of a held order has ended, and the order has passed all checks.
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
    /// An order was cancelled. `reason` is `None` if the client cancelled it.
    Canceled {
        id: OrderId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Expired {
        id: OrderId,
    },
    /// The engine changed the quantity of an attached order: its main order or the position has
    /// changed, or the other attached order was filled.
    Resized {
        id: OrderId,
        /// New total quantity, including the executed quantity.
        quantity: Quantity,
    },

    /// The client has accepted the risks of grid trading.
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
    /// A grid entered the sleeping state because a candle opened outside the bounds, the day's
    /// trigger limit was reached, the journal was full, or a day had only a daily candle.
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
    /// A grid was cancelled by the client, or because a candle crossed a bound. In the second case,
    /// `bound` is the candle, and an order that closes the grid's position may precede this entry.
    GridCanceled {
        grid: GridId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<Bar>,
    },
    GridExpired {
        grid: GridId,
    },

    /// A market's day roll. The quantities held now become the initial quantities of `date`.
    Rolled {
        #[serde(with = "codec::market")]
        market: Market,
        #[serde(with = "codec::text")]
        date: Date,
    },
    /// A cash dividend whose pay date is still in the future.
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

/// Data of a newly accepted order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedOrder {
    pub id: OrderId,
    pub sequence: u64,
    pub terms: Terms,
    pub facts: Facts,
    pub standing: Standing,
    #[serde(default)]
    pub by_engine: bool,
    /// Whether the engine created the order to liquidate a position.
    #[serde(default)]
    pub is_forced: bool,
    /// Grid and trigger that created the order. `None` for other orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridOrigin>,
    /// `None` unless the order is attached to another order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedTo>,
}

/// Data of a newly submitted grid.
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
    /// Price that triggered the grid, which becomes the new base.
    #[serde(with = "codec::price")]
    pub price: Price,
    /// Base before the trigger.
    #[serde(with = "codec::price")]
    pub base: Price,
    pub candle: Bar,
    /// Why the trigger created no order, or `None` if it created one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SleepingReason>,
    /// Refusal by the check that prevented the order, if a check did.
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
    /// Last best price of a trailing order. `None` for other orders.
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

/// A fill, with the candle and the rule that determined its price.
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
    /// Fees that this fill adds to the order's earlier fees on the same day.
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
    /// The open with slippage, for a market order.
    MarketOpen,
    /// The open, which crossed the limit.
    Open,
    /// The limit, which the candle crossed.
    Limit,
    /// The price of the opening auction.
    OpeningAuction,
    /// The price of the closing auction.
    ClosingAuction,
    /// The limit of an odd-lot order, which is never filled at a better price.
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
    /// Whether this is the daily candle of a coarse day, stamped with the opening of that day.
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

/// A cash dividend. `amount` is negative if the position is short.
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
    /// Returns the entry with all IDs changed to those of another account, to fork a journal.
    #[must_use]
    pub fn of_account(mut self, account: u64) -> Entry {
        if let Event::Opened { account: number, .. } = &mut self.event {
            *number = account;
        }
        if let Some(id) = self.event.order_mut() {
            *id = id.with_account(account);
        }
        if let Some(grid) = self.event.grid_mut() {
            *grid = grid.with_account(account);
        }
        match &mut self.event {
            Event::Rejected { order: Some(accepted), .. } => {
                accepted.id = accepted.id.with_account(account);
            }
            Event::Accepted(accepted) => {
                if let Some(origin) = &mut accepted.grid {
                    origin.grid = origin.grid.with_account(account);
                }
                if let Some(attached) = &mut accepted.attached {
                    attached.main = attached.main.with_account(account);
                }
            }
            _ => {}
        }
        self
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
            | Event::Resized { id, .. }
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

    /// Returns the grid that an event is about. `None` for all other events, including those on a
    /// grid's orders.
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

    /// Returns the order that an event is about, or `None` for all other events.
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
            | Event::Resized { id, .. }
            | Event::Expired { id } => Some(*id),
            _ => None,
        }
    }

    /// Returns the format version in which the event is written: the first version whose readers
    /// understand it.
    pub fn version(&self) -> u8 {
        let has_attached =
            |accepted: &AcceptedOrder| accepted.attached.is_some() || accepted.terms.attached.is_some();
        match self {
            Event::Accepted(accepted) | Event::Rejected { order: Some(accepted), .. }
                if has_attached(accepted) =>
            {
                2
            }
            Event::Activated { terms, .. } | Event::Replaced { terms, .. } if terms.attached.is_some() => 2,
            Event::Resized { .. } => 2,
            _ => 1,
        }
    }

    /// Returns the statuses through which an event moves an order: the intermediate statuses, and
    /// the final status or `None` if the event sets no status. `before` is the current status,
    /// `executed` is whether the order has fills, and `is_done` is whether it is completely filled.
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
            Event::Resized { .. } => (&[], before),
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
