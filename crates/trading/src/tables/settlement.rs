use market::{Date, Market, Venue};

use super::rows::{TableError, rows};

/// How many trading days after a trade its money and shares change hands.
#[derive(Clone, Debug)]
pub struct SettlementTable {
    rows: Vec<(Market, Date, u32)>,
}

const DAYS_MAX: u32 = 10;

impl SettlementTable {
    pub fn parse(file: &str, text: &str) -> Result<SettlementTable, TableError> {
        let mut found: Vec<(Market, Date, u32)> = Vec::new();
        for row in &rows(file, text, "market,from,days")? {
            let &[market, from, days] = row.fields.as_slice() else { continue };
            let (market, from) = (row.market(market)?, row.from(from)?);
            let days: u32 = row.word("number of days", days)?;
            if days > DAYS_MAX {
                return Err(row.wrong(format!("more than {DAYS_MAX} days")));
            }
            if found.iter().any(|(known, date, _)| *known == market && *date >= from) {
                return Err(row.wrong("dates of one market must ascend"));
            }
            found.push((market, from, days));
        }
        Ok(SettlementTable { rows: found })
    }

    /// The date a trade of `day` settles on.
    pub fn date(&self, venue: &Venue, day: Date) -> Date {
        let market = venue.market();
        let row = self.rows.iter().rfind(|(known, from, _)| *known == market && *from <= day);
        let days = row.map_or(0, |(_, _, days)| *days);
        (0..days).fold(day, |date, _| venue.calendar().after(date).unwrap_or(date))
    }
}
