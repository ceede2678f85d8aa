//! Consistency checks of the candle database: series and their blocks, and trades. Does not decode
//! blocks.

use std::ops::ControlFlow;

use super::block::{Forward, LinkedEntry};
use super::finding::Part;
use super::view::key;
use super::{BlockEntry, Finding, Reader, Series, SeriesInfo, TradeDay, View, ingest_file, sql, trade_sql};
use crate::engine::{Db, Depth, FINDINGS_MAX, Role, StoreError};

impl Reader {
    /// Checks the whole store and returns the inconsistencies. `inspect` receives each block's
    /// bytes and returns a description of the problem, if any.
    pub fn check(
        &mut self,
        depth: Depth,
        mut inspect: impl FnMut(&Series, &BlockEntry, &[u8]) -> Option<String>,
    ) -> Result<Vec<Finding>, StoreError> {
        let go_on = || ControlFlow::Continue(());
        Ok(self.check_until(depth, go_on, &mut inspect)?.unwrap_or_default())
    }

    /// Like `check`, but calls `go_on` before each series and returns `None` if `go_on` returns
    /// `Break`.
    pub fn check_until(
        &mut self,
        depth: Depth,
        mut go_on: impl FnMut() -> ControlFlow<()>,
        mut inspect: impl FnMut(&Series, &BlockEntry, &[u8]) -> Option<String>,
    ) -> Result<Option<Vec<Finding>>, StoreError> {
        let snapshot = self.snapshot()?;
        let mut findings = Findings::default();
        findings.tables(&snapshot, depth)?;
        let db = snapshot.db();
        let all =
            db.all(sql::RAW_SERIES, [], |row| Ok(SeriesInfo::read(row).map_err(db.fail("list the series"))));
        let Some(all) = findings.absorb(all.map(|all| (Vec::new(), all)))? else {
            return Ok(Some(findings.list));
        };
        for stored in all {
            let Some(stored) = findings.absorb(stored.map(|stored| (Vec::new(), stored)))? else { continue };
            if go_on().is_break() {
                return Ok(None);
            }
            if findings.list.len() >= FINDINGS_MAX {
                break;
            }
            findings.absorb(one_series(&snapshot, &stored, &mut inspect))?;
        }
        findings.list.truncate(FINDINGS_MAX);
        Ok(Some(findings.list))
    }

    /// Like [`Reader::check`], but without reading blocks. Runs the database's page check, and
    /// checks consistency between tables.
    pub fn check_tables(&mut self, depth: Depth) -> Result<Vec<Finding>, StoreError> {
        let snapshot = self.snapshot()?;
        let mut findings = Findings::default();
        findings.tables(&snapshot, depth)?;
        findings.list.truncate(FINDINGS_MAX);
        Ok(findings.list)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) list: Vec<Finding>,
}

impl Findings {
    fn tables(&mut self, view: &View, depth: Depth) -> Result<(), StoreError> {
        self.ingest_log(view, depth)?;
        self.absorb(engine(view.db(), depth))?;
        self.list.extend(view.db().check_seals().into_iter().map(Finding::from));
        self.absorb(miscounted(view))?;
        self.absorb(orphans(view))?;
        self.absorb(counters(view)).map(drop)
    }

    /// Checks the log of ingested batches, if it is a separate file. Called first, because merged
    /// batches are removed ten minutes after the snapshot at the earliest.
    fn ingest_log(&mut self, view: &View, depth: Depth) -> Result<(), StoreError> {
        let candles = view.far();
        // Damaged rows of this table are reported with the other tables.
        let Ok(Some(_)) = ingest_file::key(candles) else { return Ok(()) };
        let mut of_log = Findings::default();
        let opened = ingest_file::open(candles, Role::Reader).map(|log| (Vec::new(), log));
        if let Some(Some(log)) = of_log.absorb(opened)? {
            let continues = ingest_file::continues(&log, candles).map(|continues| (Vec::new(), continues));
            if of_log.absorb(continues)? == Some(false) {
                of_log.list.push(Finding::Unreadable("batches that are not merged are missing".to_owned()));
            }
            of_log.absorb(engine(&log, depth))?;
        }
        self.list.extend(of_log.list.iter().map(|finding| Finding::IngestLog(finding.to_string())));
        Ok(())
    }

    /// Adds the findings of one part of the check. An unreadable part becomes a finding, so that
    /// the check continues with the next part.
    pub(crate) fn absorb<T>(
        &mut self,
        part: Result<(Vec<Finding>, T), StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match part {
            Ok((found, value)) => {
                self.list.extend(found);
                Ok(Some(value))
            }
            Err(error) => {
                let error = damage(error, &self.list)?;
                self.list.push(Finding::Unreadable(error.to_string()));
                Ok(None)
            }
        }
    }
}

/// Returns `Ok` with the error if it means that stored data is damaged, and `Err` with any other
/// error, such as a broken connection. After an error PostgreSQL rejects all statements until the
/// transaction ends, so engine errors that follow a finding are treated as damage.
fn damage(error: StoreError, found: &[Finding]) -> Result<StoreError, StoreError> {
    let follows = matches!(error, StoreError::Engine { .. }) && !found.is_empty();
    if error.is_of_data() || follows { Ok(error) } else { Err(error) }
}

/// Runs the engine's own check, which finds nothing on PostgreSQL.
pub(crate) fn engine(db: &Db, depth: Depth) -> Part {
    Ok((db.check(depth)?.into_iter().map(Finding::from).collect(), ()))
}

fn miscounted(view: &View) -> Part {
    let found = view.db().all(sql::MISCOUNTED, [FINDINGS_MAX as i64], |row| {
        Ok(Finding::Miscounted {
            symbol: row.get(0)?,
            series: (row.get(1)?, row.get(2)?),
            actions: (row.get(3)?, row.get(4)?),
        })
    })?;
    Ok((found, ()))
}

fn orphans(view: &View) -> Part {
    let limit = FINDINGS_MAX as i64;
    let mut found =
        view.db().all(sql::ORPHAN_BODIES, [limit], |row| Ok(Finding::BodyOrphan { id: row.get(0)? }))?;
    found.extend(
        view.db().all(sql::ORPHAN_ENTRIES, [limit], |row| Ok(Finding::EntryOrphan { id: row.get(0)? }))?,
    );
    Ok((found, ()))
}

fn counters(view: &View) -> Part {
    let next: Vec<(String, i64)> =
        view.db().all(sql::RAW_COUNTERS, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let used: Vec<(String, i64)> = view.db().all(sql::USED_IDS, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let spent = |(name, id): &(String, i64)| !next.iter().any(|(counter, next)| counter == name && next > id);
    let found = used.into_iter().filter(spent).map(|(name, _)| Finding::Counter { name }).collect();
    Ok((found, ()))
}

fn one_series(
    view: &View,
    stored: &SeriesInfo,
    inspect: &mut impl FnMut(&Series, &BlockEntry, &[u8]) -> Option<String>,
) -> Part {
    let series = &stored.series;
    let linked = view.db().all(sql::RAW_BLOCKS, key(series), LinkedEntry::read)?;
    let entries: Vec<BlockEntry> = linked.iter().map(|linked| linked.entry).collect();
    let mut found = Vec::new();
    let mut chain = Forward::new(None, None);
    for linked in &linked {
        if chain.step(*linked).is_err() {
            found.push(Finding::Unlinked { series: series.clone(), entry: linked.entry });
        }
    }
    if let (Err(_), Some(last)) = (chain.end(), entries.last()) {
        found.push(Finding::Unlinked { series: series.clone(), entry: *last });
    }
    let mut totals = SeriesInfo { rows: 0, blocks: 0, bytes: 0, ..stored.clone() };
    for (entry, before) in entries.iter().zip(std::iter::once(None).chain(entries.iter().map(Some))) {
        totals.rows += u64::from(entry.rows);
        totals.blocks += 1;
        totals.bytes += u64::from(entry.bytes);
        if let Some(before) = before.filter(|before| before.last >= entry.first) {
            found.push(Finding::Overlap { series: series.clone(), before: *before, entry: *entry });
        }
        if let Some(finding) = body(view, series, entry, inspect, &found)? {
            found.push(finding);
        }
    }
    if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
        (totals.first, totals.last) = (first.first, last.last);
    }
    if totals != *stored || entries.is_empty() {
        found.push(Finding::Totals { recorded: stored.clone(), found: totals });
    }
    Ok((found, ()))
}

fn body(
    view: &View,
    series: &Series,
    entry: &BlockEntry,
    inspect: &mut impl FnMut(&Series, &BlockEntry, &[u8]) -> Option<String>,
    found: &[Finding],
) -> Result<Option<Finding>, StoreError> {
    let (series, entry) = (series.clone(), *entry);
    let read = view
        .with_body(entry.id, |body| (body.len() as u64, entry.fits(body), inspect(&series, &entry, body)));
    Ok(match read {
        Err(error) => {
            let reason = damage(error, found)?.to_string();
            Some(Finding::Body { series, entry, reason })
        }
        Ok(None) => Some(Finding::BodyMissing { series, entry }),
        Ok(Some((found, ..))) if found != u64::from(entry.bytes) => {
            Some(Finding::BodyLength { series, entry, found })
        }
        Ok(Some((_, _, Some(reason)))) => Some(Finding::Body { series, entry, reason }),
        Ok(Some((_, fits, None))) => (!fits).then_some(Finding::BodyForeign { series, entry }),
    })
}

impl Reader {
    /// Checks all trades and returns the inconsistencies. Calls `go_on` before each day, and
    /// returns `None` if `go_on` returns `Break`. `inspect` receives each block's bytes and returns
    /// a description of the problem, if any.
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
        found.push(Finding::trades(day, "its blocks do not add up to the totals of the day"));
    }
    for entry in &entries {
        let looked = view.with_trade_body(entry.id, |body| match inspect(day, entry, body) {
            None if !entry.fits(body) => Some("it differs from the one that was written".to_owned()),
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
