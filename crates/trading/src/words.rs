//! Enums of trading terms, each value with its literal in requests, responses and journals.

use crate::codec::serde_as_text;

/// A literal that is not a value of its enum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is unknown")]
pub struct UnknownWord(String);

macro_rules! words {
    ($($(#[$about:meta])* $name:ident { $($(#[$variant_about:meta])* $variant:ident = $text:literal),+ $(,)? })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_about])* $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<$name, UnknownWord> {
                match text {
                    $($text => Ok($name::$variant),)+
                    _ => Err(UnknownWord(text.chars().take(40).collect())),
                }
            }
        }

        serde_as_text!($name);
    )+};
}

words! {
    Side { Buy = "Buy", Sell = "Sell" }

    OrderType {
        Limit = "LO",
        EnhancedLimit = "ELO",
        Market = "MO",
        Auction = "AO",
        AuctionLimit = "ALO",
        OddLot = "ODD",
        SpecialLimit = "SLO",
        LimitIfTouched = "LIT",
        MarketIfTouched = "MIT",
        TrailingAmount = "TSLPAMT",
        TrailingPercent = "TSLPPCT",
        /// Withdrawn on 2024-04-29. Accepted only from accounts with an earlier API version.
        TrailingMarketAmount = "TSMAMT",
        TrailingMarketPercent = "TSMPCT",
    }

    TimeInForce { Day = "Day", GoodTilCanceled = "GTC", GoodTilDate = "GTD" }

    /// Trading sessions in which an order can be filled.
    OutsideRth {
        RegularOnly = "RTH_ONLY",
        AnyTime = "ANY_TIME",
        Overnight = "OVERNIGHT",
        OptionPreMarket = "OPTION_PRE_MARKET",
        /// For markets without extended hours.
        NotApplicable = "UnknownOutsideRth",
    }

    OrderStatus {
        NotReported = "NotReported",
        DelayedNotReported = "DelayedNotReported",
        VarietiesNotReported = "VarietiesNotReported",
        WaitToNew = "WaitToNew",
        New = "NewStatus",
        WaitToReplace = "WaitToReplace",
        PendingReplace = "PendingReplaceStatus",
        PartialFilled = "PartialFilledStatus",
        Filled = "FilledStatus",
        WaitToCancel = "WaitToCancel",
        PendingCancel = "PendingCancelStatus",
        Canceled = "CanceledStatus",
        Rejected = "RejectedStatus",
        Expired = "ExpiredStatus",
        PartialWithdrawal = "PartialWithdrawal",
    }

    /// The orders that a client attaches to an order.
    AttachedType { ProfitTaker = "PROFIT_TAKER", StopLoss = "STOP_LOSS", Bracket = "BRACKET" }

    /// Role of an attached order.
    AttachedLeg { ProfitTaker = "PROFIT_TAKER", StopLoss = "STOP_LOSS" }

    TriggerStatus { NotUsed = "NOT_USED", Deactive = "DEACTIVE", Active = "ACTIVE", Released = "RELEASED" }

    OrderTag { Normal = "Normal", Gtc = "Gtc" }

    /// Kind of a security, which determines tick sizes, stamp duty and accepted order types.
    Kind {
        Equity = "equity",
        Reit = "reit",
        Etf = "etf",
        Warrant = "warrant",
        Option = "option",
        Index = "index",
    }

    /// Whether an account may borrow money and securities.
    AccountType { Margin = "margin", Cash = "cash" }

    FeePlan { Standard = "standard", None = "none" }

    CostMethod { Diluted = "diluted", Average = "average" }

    /// Condition under which a limit order fills inside a candle: the price goes through the limit,
    /// or only touches it.
    Touch { Through = "through", Touch = "touch" }

    ChargeGroup { Broker = "BROKER_FEES", Third = "THIRD_FEES" }

    GridStatus { Performing = "Performing", Suspended = "Suspended", Canceled = "Canceled", Expired = "Expired" }

    /// Reason why a grid is suspended.
    SuspendReason { User = "user", CorporateAction = "corporate action" }

    /// Reason why an active grid creates no orders.
    SleepingReason {
        Price = "price",
        Position = "position",
        Funds = "funds",
        Holdings = "holdings",
        /// The grid has reached its trigger limit for the day.
        Triggers = "triggers",
        /// The account's journal is full.
        Journal = "journal",
        /// The last trading day had a daily candle but no one-minute candles.
        Minutes = "needs one-minute candles",
    }

    /// Order type of a grid's orders.
    GridOrderType { Market = "GMO", Limit = "GLO", AtTrigger = "GTG" }

    /// How long a grid remains active.
    GridTimeInForce { Day = "day", GoodTilCanceled = "gtc", GoodTilDate = "gtd" }

    /// Trading sessions in which a grid is active. The default is regular hours.
    GridHours { Default = "default", Regular = "regular", Extended = "extended" }

    /// What a grid does when the price crosses one of its bounds.
    BoundEvent { Ignore = "ignore", Close = "close" }

    /// What triggered a grid order.
    GridTriggerKind {
        /// A candle opened at or beyond a level.
        Gap = "gap",
        /// A candle reached a level.
        Level = "level",
        /// The price crossed a bound, so the grid's position is closed.
        Close = "close",
    }
}

impl Side {
    pub fn is_buy(self) -> bool {
        self == Side::Buy
    }

    pub(crate) fn opposite(self) -> Side {
        if self.is_buy() { Side::Sell } else { Side::Buy }
    }
}

impl AttachedType {
    /// Returns whether the type includes a leg.
    pub fn has(self, leg: AttachedLeg) -> bool {
        match self {
            AttachedType::ProfitTaker => leg == AttachedLeg::ProfitTaker,
            AttachedType::StopLoss => leg == AttachedLeg::StopLoss,
            AttachedType::Bracket => true,
        }
    }
}

impl OrderType {
    /// Returns whether the order waits for a price before it is released.
    pub fn is_conditional(self) -> bool {
        self.is_touch() || self.is_trailing()
    }

    pub fn is_touch(self) -> bool {
        matches!(self, OrderType::LimitIfTouched | OrderType::MarketIfTouched)
    }

    pub fn is_trailing(self) -> bool {
        self.trails_by_amount() || self.trails_by_percent()
    }

    pub fn trails_by_amount(self) -> bool {
        matches!(self, OrderType::TrailingAmount | OrderType::TrailingMarketAmount)
    }

    pub fn trails_by_percent(self) -> bool {
        matches!(self, OrderType::TrailingPercent | OrderType::TrailingMarketPercent)
    }

    /// Returns whether the order becomes a limit order at its release, with a limit derived from
    /// the stop.
    pub fn trails_to_limit(self) -> bool {
        matches!(self, OrderType::TrailingAmount | OrderType::TrailingPercent)
    }

    /// Returns whether the order type was withdrawn from the API.
    pub fn is_withdrawn(self) -> bool {
        matches!(self, OrderType::TrailingMarketAmount | OrderType::TrailingMarketPercent)
    }

    /// Returns whether the client sets a limit price at submission.
    pub fn has_limit(self) -> bool {
        use OrderType::*;
        matches!(self, Limit | EnhancedLimit | AuctionLimit | OddLot | SpecialLimit | LimitIfTouched)
    }

    /// Returns whether the order fills as a market order, for a conditional order after its
    /// release.
    pub fn is_market(self) -> bool {
        use OrderType::*;
        matches!(self, Market | MarketIfTouched | Auction | TrailingMarketAmount | TrailingMarketPercent)
    }

    /// Returns whether the order is accepted only if a current mark price is known.
    pub fn needs_mark(self) -> bool {
        self.is_market() || self.is_conditional()
    }

    /// Returns whether the order joins Hong Kong's closing auction if it is submitted during the
    /// auction.
    pub fn joins_closing_auction(self) -> bool {
        use OrderType::*;
        matches!(self, Limit | EnhancedLimit | AuctionLimit | Auction)
    }
}

impl GridStatus {
    pub fn is_final(self) -> bool {
        matches!(self, GridStatus::Canceled | GridStatus::Expired)
    }
}

/// Numeric codes of the enums in a grid rule.
macro_rules! codes {
    ($($name:ident { $($variant:ident = $code:literal),+ $(,)? })+) => {$(
        impl $name {
            pub fn code(self) -> i32 {
                match self { $($name::$variant => $code),+ }
            }

            pub fn from_code(code: i64) -> Option<$name> {
                match code { $($code => Some($name::$variant),)+ _ => None }
            }
        }
    )+};
}

codes! {
    GridTimeInForce { Day = 0, GoodTilCanceled = 1, GoodTilDate = 6 }
    GridHours { Default = 0, Regular = 1, Extended = 2 }
    BoundEvent { Ignore = 1, Close = 2 }
}

impl OrderStatus {
    pub fn is_final(self) -> bool {
        use OrderStatus::*;
        matches!(self, Filled | Canceled | Rejected | Expired | PartialWithdrawal)
    }
}
