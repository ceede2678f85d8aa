//! What a statement says, section by section.

use std::fmt;

use market::{Date, Price, Symbol, Timestamp};

use crate::currency::Currency;
use crate::decimal::{Plain, price_quotient};
use crate::feed::Factors;
use crate::ledger::CashFlow;
use crate::money::Money;
use crate::order::OrderId;
use crate::quantity::Quantity;
use crate::tables::Fee;
use crate::words::{AccountType, Side};

/// The period of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementKind {
    Daily,
    Monthly,
}

impl StatementKind {
    pub const ALL: [StatementKind; 2] = [StatementKind::Daily, StatementKind::Monthly];

    /// As requests and keys of files have it.
    pub fn number(self) -> u8 {
        match self {
            StatementKind::Daily => 1,
            StatementKind::Monthly => 2,
        }
    }

    pub fn from_number(number: u8) -> Option<StatementKind> {
        StatementKind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            StatementKind::Daily => "daily",
            StatementKind::Monthly => "monthly",
        }
    }
}

impl fmt::Display for StatementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A date or a month of an account.
#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    /// The first and the last calendar day of it; a statement is dated by the last.
    pub first: Date,
    pub date: Date,
    /// By the market's clock.
    pub made_at: Timestamp,
    pub account_type: AccountType,
    /// The number of the last entry of the journal by then.
    pub last_entry: u64,
    /// By currency. HKD is always among them.
    pub balances: Vec<CashLine>,
    /// In the order of the journal, within a date.
    pub flows: Vec<FlowLine>,
    /// By day and order.
    pub trades: Vec<TradeLine>,
    /// By security.
    pub holdings: Vec<HoldingLine>,
    pub share_changes: Vec<ShareLine>,
    pub corporate: Vec<CorporateLine>,
    pub cash_locks: Vec<CashLock>,
    pub share_locks: Vec<ShareLock>,
    pub interest: Vec<InterestLine>,
    /// In HKD. What is missing where a currency has no rate.
    pub assets: Result<AssetLine, String>,
}

/// The cash of one currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashLine {
    pub currency: Currency,
    pub begin: Money,
    pub change: Money,
    /// All that is booked, settled or not.
    pub ledger: Money,
    pub settled: Money,
    /// Held back for open buys.
    pub reserved: Money,
    /// Debit interest that is not booked yet.
    pub accrued: Money,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowLine {
    pub date: Date,
    pub flow: CashFlow,
}

/// What an order traded on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradeLine {
    pub day: Date,
    pub settles_on: Date,
    pub order: OrderId,
    pub symbol: Symbol,
    pub side: Side,
    pub currency: Currency,
    pub quantity: Quantity,
    /// Price times quantity, and that times the multiplier.
    pub(crate) paid: Money,
    pub amount: Money,
    pub(crate) decimals: u32,
    pub is_option: bool,
    pub fees: Vec<Fee>,
}

impl TradeLine {
    /// The average, with one decimal more than the security has if it is needed.
    pub fn price(&self) -> Plain {
        let units = price_quotient(
            self.paid.units(),
            i128::from(self.quantity.units()),
            self.decimals.saturating_add(1),
        );
        Plain::new(units, self.decimals.saturating_add(1), self.decimals)
    }

    pub fn fee_total(&self) -> Money {
        self.fees.iter().map(|fee| fee.amount).sum()
    }

    /// What it does to the cash.
    pub fn clear(&self) -> Money {
        if self.side.is_buy() { -self.amount - self.fee_total() } else { self.amount - self.fee_total() }
    }
}

/// A holding at the end, or one that was closed meanwhile.
#[derive(Clone, Debug)]
pub struct HoldingLine {
    pub symbol: Symbol,
    pub currency: Currency,
    pub multiplier: u32,
    pub decimals: u32,
    pub begin: Quantity,
    pub change: Quantity,
    pub ledger: Quantity,
    /// None where there was never a price, or nothing is held: what is held then counts at cost.
    pub close: Option<Price>,
    pub value: Money,
    /// Of one share; none where nothing is held.
    pub cost: Option<Plain>,
    pub factors: Factors,
}

/// Why a holding changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareChange {
    Buy,
    Sell,
    /// A split, a consolidation or a bonus.
    Corporate,
    OptionExpiry,
    /// Entered by an operator.
    Entry,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareLine {
    pub date: Date,
    pub symbol: Symbol,
    pub change: ShareChange,
    pub quantity: Quantity,
    pub order: Option<OrderId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorporateKind {
    DividendDue,
    DividendPaid,
    Shares,
    Rights,
}

/// A corporate action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorporateLine {
    pub date: Date,
    pub symbol: Symbol,
    pub kind: CorporateKind,
    pub ex_date: Date,
    pub pay_date: Option<Date>,
    /// The shares that it is for, where they are known.
    pub entitled: Option<Quantity>,
    pub currency: Currency,
    pub cash: Money,
    pub shares: Quantity,
}

/// What an open buy holds back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashLock {
    pub order: OrderId,
    pub symbol: Symbol,
    pub currency: Currency,
    /// With the fees.
    pub amount: Money,
    pub fees: Money,
}

/// What an open sale will take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareLock {
    pub order: OrderId,
    pub symbol: Symbol,
    pub quantity: Quantity,
}

/// How interest came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterestKind {
    /// On what was owed, for so many days, at a yearly rate in millionths of so many days.
    Accrued {
        balance: Money,
        days: i64,
        rate_millionths: i64,
        year: i64,
    },
    Booked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterestLine {
    pub date: Date,
    pub currency: Currency,
    pub kind: InterestKind,
    /// Negative: it is owed, or paid.
    pub amount: Money,
}

/// Everything in HKD, to the cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssetLine {
    pub ledger: Money,
    pub market_value: Money,
    /// What is still to be received, less what is still to be paid.
    pub outstanding: Money,
    pub init_margin: Money,
    pub maintenance_margin: Money,
}

impl AssetLine {
    pub fn total(&self) -> Money {
        self.ledger + self.market_value
    }
}
