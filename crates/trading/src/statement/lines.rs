//! The sections and lines of a statement.

use std::fmt;

use market::{Date, Price, Symbol, Timestamp};

use crate::decimal::{Plain, price_quotient};
use crate::feed::Factors;
use crate::ledger::CashFlow;
use crate::money::Currency;
use crate::money::Money;
use crate::order::OrderId;
use crate::quantity::Quantity;
use crate::tables::Fee;
use crate::words::{AccountType, Side};

/// Period of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementKind {
    Daily,
    Monthly,
}

impl StatementKind {
    pub const ALL: [StatementKind; 2] = [StatementKind::Daily, StatementKind::Monthly];

    /// Returns the code used in requests and file keys.
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

/// A statement of one date or one month.
#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    /// First calendar day of the period.
    pub first: Date,
    /// Last calendar day of the period, which is also the date of the statement.
    pub date: Date,
    /// Creation time, by the market clock.
    pub made_at: Timestamp,
    pub account_type: AccountType,
    /// Number of the last journal entry at the creation time.
    pub last_entry: u64,
    /// Cash by currency. HKD is always included.
    pub balances: Vec<CashLine>,
    /// Cash flows by date, and within a date in journal order.
    pub flows: Vec<FlowLine>,
    /// Trades by day and order.
    pub trades: Vec<TradeLine>,
    /// Positions by security.
    pub holdings: Vec<HoldingLine>,
    pub share_changes: Vec<ShareLine>,
    pub corporate: Vec<CorporateLine>,
    pub cash_locks: Vec<CashLock>,
    pub share_locks: Vec<ShareLock>,
    pub interest: Vec<InterestLine>,
    /// Totals in HKD, or an error text if a currency has no exchange rate.
    pub assets: Result<AssetLine, String>,
}

/// Cash in one currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashLine {
    pub currency: Currency,
    pub begin: Money,
    pub change: Money,
    /// Cash at the end of the period, including unsettled amounts.
    pub ledger: Money,
    pub settled: Money,
    /// Amount reserved for open buy orders.
    pub reserved: Money,
    /// Debit interest that has accrued but is not booked yet.
    pub accrued: Money,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowLine {
    pub date: Date,
    pub flow: CashFlow,
}

/// Fills of one order on one day, combined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradeLine {
    pub day: Date,
    pub settles_on: Date,
    pub order: OrderId,
    pub symbol: Symbol,
    pub side: Side,
    pub currency: Currency,
    pub quantity: Quantity,
    /// Price times quantity, without the multiplier. `amount` includes the multiplier.
    pub(crate) paid: Money,
    pub amount: Money,
    pub(crate) decimals: u32,
    pub is_option: bool,
    pub fees: Vec<Fee>,
}

impl TradeLine {
    /// Returns the average price, with one decimal more than the displayed decimals if needed.
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

    /// Returns the change in cash after fees, negative for a buy.
    pub fn clear(&self) -> Money {
        if self.side.is_buy() { -self.amount - self.fee_total() } else { self.amount - self.fee_total() }
    }
}

/// A position at the end of the period, or a position that was closed during the period.
#[derive(Clone, Debug)]
pub struct HoldingLine {
    pub symbol: Symbol,
    pub currency: Currency,
    pub multiplier: u32,
    pub decimals: u32,
    pub begin: Quantity,
    pub change: Quantity,
    pub ledger: Quantity,
    /// Closing price. `None` if the position is zero or the security has no price. A position
    /// without a price is valued at cost.
    pub close: Option<Price>,
    pub value: Money,
    /// Cost per share. `None` if the position is zero.
    pub cost: Option<Plain>,
    pub factors: Factors,
}

/// Reason for a change of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareChange {
    Buy,
    Sell,
    /// A split, a consolidation or a bonus issue.
    Corporate,
    OptionExpiry,
    /// A position entered by an operator.
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

/// A corporate action on a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorporateLine {
    pub date: Date,
    pub symbol: Symbol,
    pub kind: CorporateKind,
    pub ex_date: Date,
    pub pay_date: Option<Date>,
    /// Number of entitled shares. `None` if unknown.
    pub entitled: Option<Quantity>,
    pub currency: Currency,
    pub cash: Money,
    pub shares: Quantity,
}

/// Cash reserved for an open buy order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashLock {
    pub order: OrderId,
    pub symbol: Symbol,
    pub currency: Currency,
    /// Reserved amount, including fees.
    pub amount: Money,
    pub fees: Money,
}

/// Quantity reserved for an open sell order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareLock {
    pub order: OrderId,
    pub symbol: Symbol,
    pub quantity: Quantity,
}

/// Origin of an interest amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterestKind {
    /// Interest accrued on a debt for `days` days. The annual rate is in millionths, and a year has
    /// `year` days.
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
    /// Interest amount, which is negative.
    pub amount: Money,
}

/// Account totals in HKD, rounded to the cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssetLine {
    pub ledger: Money,
    pub market_value: Money,
    /// Receivables minus payables.
    pub outstanding: Money,
    pub init_margin: Money,
    pub maintenance_margin: Money,
}

impl AssetLine {
    pub fn total(&self) -> Money {
        self.ledger + self.market_value
    }
}
