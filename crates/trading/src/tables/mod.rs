//! The dated tables: ticks, fees, settlement days, interest. They are compiled-in data files that
//! an operator can replace. Errors are reported with file and line.

mod fees;
mod interest;
mod rows;
mod settlement;
mod ticks;

pub(crate) use fees::{ChargeBasis, FeeTableId};
pub use fees::{DayTotals, Fee, FeeTable};
pub use interest::{Interest, InterestTable};
pub use rows::TableError;
pub use settlement::SettlementTable;
pub use ticks::{TickTable, Ticks};

use crate::settings::Share;

const TICKS: &str = include_str!("../../tables/ticks.csv");
const PLAN: &str = include_str!("../../tables/plan.csv");
const FEES: &str = include_str!("../../tables/fees.csv");
const SETTLEMENT: &str = include_str!("../../tables/settlement.csv");
const INTEREST: &str = include_str!("../../tables/interest.csv");

/// All tables used by the rules.
#[derive(Clone, Debug)]
pub struct Tables {
    pub ticks: TickTable,
    pub fees: FeeTable,
    pub settlement: SettlementTable,
    pub interest: InterestTable,
    /// Tax withheld from dividends, by market.
    pub dividend_tax: DividendTax,
}

#[derive(Clone, Copy, Debug)]
pub struct DividendTax {
    pub hk: Share,
    pub us: Share,
}

/// Contents of the compiled-in tables by file name, as a template for operators.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("ticks.csv", TICKS),
    ("plan.csv", PLAN),
    ("fees.csv", FEES),
    ("settlement.csv", SETTLEMENT),
    ("interest.csv", INTEREST),
];

impl Tables {
    pub fn built_in() -> Result<Tables, TableError> {
        Tables::with(|_| None)
    }

    /// Parses the compiled-in tables, or the replacement that `replaced` returns for a file name.
    pub fn with(replaced: impl Fn(&str) -> Option<String>) -> Result<Tables, TableError> {
        let text = |name: &str, built_in: &str| replaced(name).unwrap_or_else(|| built_in.to_owned());
        Ok(Tables {
            ticks: TickTable::parse("ticks.csv", &text("ticks.csv", TICKS))?,
            // The price plan comes first, because the broker's charges precede the exchange's in
            // every list.
            fees: FeeTable::parse(&[
                ("plan.csv", &text("plan.csv", PLAN)),
                ("fees.csv", &text("fees.csv", FEES)),
            ])?,
            settlement: SettlementTable::parse("settlement.csv", &text("settlement.csv", SETTLEMENT))?,
            interest: InterestTable::parse("interest.csv", &text("interest.csv", INTEREST))?,
            dividend_tax: DividendTax { hk: Share::ZERO, us: Share::ZERO },
        })
    }
}
