//! Consistency check of stored trades.

use std::ops::ControlFlow;

use super::check::damage;
use super::finding::Part;
use crate::candles::trade_sql;
use crate::{BlockEntry, FINDINGS_MAX, Finding, Reader, StoreError, TradeDay, View};

impl Reader {
    /// Checks all trades and returns the inconsistencies. Calls `go_on` before each day, and
    /// returns `None` if it breaks. `inspect` receives each block's bytes and returns a problem, if
    /// any.
    pub fn check_trades(
        &mut self,
        mut go_on: impl FnMut() -> ControlFlow<()>,
        mut inspect: impl FnMut(&TradeDay, &BlockEntry, &[u8]) -> Option<String>,
    ) -> Result<Option<Vec<Finding>>, StoreError> {
        let view = self.snapshot()?;
        let mut found = around(&view).or_else(|error| unreadable(error, &[]))?;
        let db = view.db();
        let days = db.all(trade_sql::RAW_DAYS, [], |row| {
            Ok(TradeDay::read(row).map_err(db.fail(trade_sql::RAW_DAYS.what)))
        });
        let mut before: Option<TradeDay> = None;
        for day in days? {
            if go_on().is_break() {
                return Ok(None);
            }
            if found.len() >= FINDINGS_MAX {
                break;
            }
            let day = match day {
                Ok(day) => day,
                Err(error) => {
                    found.push(Finding::Unreadable(error.to_string()));
                    continue;
                }
            };
            if let Some(before) = &before
                && !follows(before, &day)
            {
                found.push(Finding::trades(before, "the day that should follow is missing"));
            }
            let of_day = one_day(&view, &day, &mut inspect).map(|(found, ())| found);
            found.extend(of_day.or_else(|error| unreadable(error, &found))?);
            before = Some(day);
        }
        found.extend(
            before
                .filter(|last| !last.is_last())
                .map(|last| Finding::trades(&last, "the day that should follow is missing")),
        );
        found.truncate(FINDINGS_MAX);
        Ok(Some(found))
    }
}

fn unreadable(error: StoreError, found: &[Finding]) -> Result<Vec<Finding>, StoreError> {
    damage(error, found).map(|error| vec![Finding::Unreadable(error.to_string())])
}

fn follows(before: &TradeDay, day: &TradeDay) -> bool {
    if before.symbol == day.symbol { before.is_followed_by(day.day) } else { before.is_last() }
}

fn around(view: &View) -> Result<Vec<Finding>, StoreError> {
    let limit = FINDINGS_MAX as i64;
    let db = view.db();
    let mut found = db.all(trade_sql::MISCOUNTED, [limit], |row| {
        Ok(Finding::TradeDays { symbol: row.get(0)?, written: row.get(1)?, found: row.get(2)? })
    })?;
    found.extend(db.all(trade_sql::ORPHANS, [limit], |row| {
        let (symbol, day): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(Finding::Trades {
            symbol,
            day,
            problem: "blocks of a day that does not exist".to_owned(),
            in_block: false,
        })
    })?);
    found.extend(
        db.all(trade_sql::ORPHAN_BODIES, [limit], |row| Ok(Finding::TradeBodyOrphan { id: row.get(0)? }))?,
    );
    Ok(found)
}

fn one_day(
    view: &View,
    day: &TradeDay,
    inspect: &mut impl FnMut(&TradeDay, &BlockEntry, &[u8]) -> Option<String>,
) -> Part {
    let entries = view.trade_entries(trade_sql::RAW_ENTRIES, day)?;
    let mut found = Vec::new();
    if !day.is_made_of(&entries) {
        found.push(Finding::trades(day, "its blocks do not come to what the day says"));
    }
    for entry in &entries {
        let looked = view.with_trade_body(entry.id, |body| match inspect(day, entry, body) {
            None if !entry.fits(body) => Some("it is not the one that was written there".to_owned()),
            problem => problem,
        });
        let problem = match looked {
            Err(error) => Some(damage(error, &found)?.to_string()),
            Ok(None) => Some("it has no body".to_owned()),
            Ok(Some(problem)) => problem,
        };
        found.extend(problem.map(|problem| Finding::Trades {
            symbol: day.symbol.to_string(),
            day: day.day.to_string(),
            problem: format!("block {}: {problem}", entry.id),
            in_block: true,
        }));
    }
    Ok((found, ()))
}
