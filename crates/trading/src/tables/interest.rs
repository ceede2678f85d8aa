use market::Date;

use super::rows::{TableError, rows};
use crate::money::Currency;

/// Annual interest on debt by currency and date.
#[derive(Clone, Debug)]
pub struct InterestTable {
    rows: Vec<(Option<Currency>, Date, Interest)>,
}

/// An annual rate in units of `10^-6`, and the number of days in its year.
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
