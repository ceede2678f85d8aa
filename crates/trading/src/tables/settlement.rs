use market::{Date, Market, Venue};

use super::rows::{TableError, rows};
use crate::words::Kind;

/// Number of trading days after a trade at which its money and shares settle.
#[derive(Clone, Debug)]
pub struct SettlementTable {
    rows: Vec<SettlementRow>,
}

#[derive(Clone, Debug)]
struct SettlementRow {
    market: Market,
    /// `None` applies to every kind without specific rows.
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

    /// Returns the settlement date of a trade on `day`. Rows for the specific kind override the
    /// general ones.
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
