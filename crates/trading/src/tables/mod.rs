//! Dated tables of tick sizes, fees, settlement days and interest. The tables are compiled-in data
//! files that an operator can replace. Errors in a file are reported with file name and line. The
//! tables of settlement days and interest are implemented in this file.

mod fees;
mod rows;
mod ticks;

pub(crate) use fees::{ChargeBasis, FeeTableId};
pub use fees::{DayTotals, Fee, FeeTable};
pub use rows::TableError;
pub use ticks::{TickTable, Ticks};

use market::{Date, Market, Venue};

use crate::money::Currency;
use crate::settings::Share;
use crate::words::Kind;
use rows::rows;

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
    /// Tax withheld from dividends in each market.
    pub dividend_tax: DividendTax,
}

#[derive(Clone, Copy, Debug)]
pub struct DividendTax {
    pub hk: Share,
    pub us: Share,
}

/// Contents of the compiled-in tables by file name. Operators can use the files as templates.
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

    /// Parses the tables. `replaced` returns the replacement for a file name, or `None` to use the
    /// compiled-in file.
    pub fn with(replaced: impl Fn(&str) -> Option<String>) -> Result<Tables, TableError> {
        let text = |name: &str, built_in: &str| replaced(name).unwrap_or_else(|| built_in.to_owned());
        Ok(Tables {
            ticks: TickTable::parse("ticks.csv", &text("ticks.csv", TICKS))?,
            // The fee plan comes first, because every list shows the broker's fees before the
            // exchange's.
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

/// Number of trading days between a trade and its settlement.
#[derive(Clone, Debug)]
pub struct SettlementTable {
    rows: Vec<SettlementRow>,
}

#[derive(Clone, Debug)]
struct SettlementRow {
    market: Market,
    /// Kind of security. `None` applies to every kind that has no separate row.
    kind: Option<Kind>,
    from: Date,
    days: u32,
}

const HEADER: &str = "market,kind,from,days";
const DAYS_MAX: u32 = 10;

impl SettlementTable {
    pub fn parse(file: &str, text: &str) -> Result<SettlementTable, TableError> {
        let mut found: Vec<SettlementRow> = Vec::new();
        for row in &rows(file, text, HEADER)? {
            let &[market, kind, from, days] = row.fields.as_slice() else { continue };
            let (market, from) = (row.market(market)?, row.from(from)?);
            let kind: Option<Kind> = if kind == "*" { None } else { Some(row.word("kind", kind)?) };
            let days: u32 = row.word("number of days", days)?;
            if days > DAYS_MAX {
                return Err(row.wrong(format!("more than {DAYS_MAX} days")));
            }
            let is_later =
                |known: &SettlementRow| (known.market, known.kind) == (market, kind) && known.from >= from;
            if found.iter().any(is_later) {
                return Err(row.wrong("dates of one market and kind must ascend"));
            }
            found.push(SettlementRow { market, kind, from, days });
        }
        Ok(SettlementTable { rows: found })
    }

    /// Returns the settlement date of a trade on `day`. Rows for the specific kind override rows
    /// for all kinds. Without a row, the trade settles on the same day.
    pub fn date(&self, venue: &Venue, kind: Kind, day: Date) -> Date {
        let latest = |kind: Option<Kind>| {
            self.rows
                .iter()
                .rfind(|row| row.market == venue.market() && row.kind == kind && row.from <= day)
                .map(|row| row.days)
        };
        let days = latest(Some(kind)).or_else(|| latest(None)).unwrap_or(0);
        (0..days).fold(day, |date, _| venue.calendar().after(date).unwrap_or(date))
    }
}

/// Annual interest rates on debt by currency and date.
#[derive(Clone, Debug)]
pub struct InterestTable {
    rows: Vec<(Option<Currency>, Date, Interest)>,
}

/// An annual interest rate in millionths, and the number of days in an interest year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    pub rate_millionths: i64,
    pub days: i64,
}

const RATE_DECIMALS: u32 = 6;

impl InterestTable {
    pub fn parse(file: &str, text: &str) -> Result<InterestTable, TableError> {
        let mut found: Vec<(Option<Currency>, Date, Interest)> = Vec::new();
        for row in &rows(file, text, "currency,from,rate,days")? {
            let &[currency, from, rate, days] = row.fields.as_slice() else { continue };
            let currency = if currency == "*" { None } else { Some(row.word("currency", currency)?) };
            let from = row.from(from)?;
            let rate_millionths = match i64::try_from(row.decimal("rate", rate, RATE_DECIMALS)?) {
                Ok(units) if units <= 10i64.pow(RATE_DECIMALS) => units,
                _ => return Err(row.wrong("a rate of more than 100 % a year")),
            };
            let days = match days {
                "360" => 360,
                "365" => 365,
                _ => return Err(row.wrong("days is neither 360 nor 365")),
            };
            if found.iter().any(|(known, date, _)| *known == currency && *date >= from) {
                return Err(row.wrong("dates of one currency must ascend"));
            }
            found.push((currency, from, Interest { rate_millionths, days }));
        }
        Ok(InterestTable { rows: found })
    }

    pub fn of(&self, currency: Currency, date: Date) -> Option<Interest> {
        let latest = |whose: Option<Currency>| {
            self.rows
                .iter()
                .rfind(|(known, from, _)| *known == whose && *from <= date)
                .map(|(_, _, interest)| *interest)
        };
        latest(Some(currency)).or_else(|| latest(None))
    }
}
