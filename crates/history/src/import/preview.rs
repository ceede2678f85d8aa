//! Dry run: computes the effect of an import, with the first rows as they would be stored, without
//! writing anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use files::{CandleReader, Table, TradeReader};
use market::{Candles, Date, Trades, Venues};
use store::{ImportState, Lane, Reader, Series, Store};

use super::context::{NAMES_SHOWN, PROBLEMS_SHOWN};
use super::gather::Trouble;
use super::identity::{fingerprint, ledger_options};
use super::inspect::{Inspector, candle};
use super::lay::{OnDamage, merged};
use super::replacing::Replacing;
use super::trade_lay::{TradePart, lay_trades};
use super::{ImportError, Options, Outcome, Report, tables_of, trade_gather};
use crate::lane_of;

/// Maximum number of rows in memory before they are compared.
const PORTION_ROWS: usize = 100_000;

/// Computes the effect of importing files into a store, or into a new store if `store` is `None`.
/// Each file is previewed independently: the changes of one file are not visible to the next.
pub fn preview(
    store: Option<&Store>,
    venues: &Venues,
    options: &Options,
    rows_shown: usize,
    stop: &AtomicBool,
    paths: &[PathBuf],
) -> Result<Vec<Report>, ImportError> {
    let reader = store.map(Store::reader).transpose()?;
    let mut preview = Preview { reader, venues, options, rows_shown, stop };
    tables_of(paths).iter().map(|path| preview.file(path)).collect()
}

struct Preview<'a> {
    reader: Option<Reader>,
    venues: &'a Venues,
    options: &'a Options,
    rows_shown: usize,
    stop: &'a AtomicBool,
}

/// Candles of a file, by symbol index and lane.
type Gathered = BTreeMap<(u32, Lane), Candles>;
/// Trades of a file, by symbol index and day.
type GatheredTrades = BTreeMap<(u32, Date), Trades>;

impl Preview<'_> {
    fn file(&mut self, path: &Path) -> Result<Report, ImportError> {
        let mut report = Report::of(path);
        report.outcome = Outcome::Checked;
        let table = match files::open(path, self.venues, &self.options.read) {
            Ok(table) => table,
            Err(error) => {
                report.lacks_symbol = error.problem.lacks_symbol();
                report.outcome = Outcome::Failed(error.problem.to_string());
                return Ok(report);
            }
        };
        if let Err(Trouble::File(message)) = self.options.build_meaning(&table) {
            report.outcome = Outcome::Failed(message);
            return Ok(report);
        }
        if let Some(known) = self.known(path, &table)? {
            report.outcome = known;
            return Ok(report);
        }
        match table {
            Table::Candles(reader) => self.candles(reader, &mut report)?,
            Table::Trades(reader) => self.trades(reader, &mut report)?,
            Table::Securities(table) => {
                report.kind = "securities";
                count(&mut report, &table);
            }
            Table::Actions(table) => {
                report.kind = "actions";
                count(&mut report, &table);
            }
            Table::Margins(table) => {
                report.kind = "margins";
                count(&mut report, &table);
            }
            Table::Suspensions(table) => {
                report.kind = "suspensions";
                count(&mut report, &table);
            }
        }
        if self.stop.load(Ordering::Relaxed) {
            report.outcome = Outcome::Interrupted;
        }
        Ok(report)
    }

    /// Returns [`Outcome::Known`] if the ledger has a finished import of the same file, otherwise
    /// `None`.
    fn known(&mut self, path: &Path, table: &Table) -> Result<Option<Outcome>, ImportError> {
        let Some(reader) = self.reader.as_mut().filter(|_| !self.options.again) else { return Ok(None) };
        let Ok((digest, _)) = fingerprint(path) else { return Ok(None) };
        let build = self.options.build_candles.then_some("build-candles");
        let earlier = reader.snapshot()?.find_import(&digest, &ledger_options(self.options, table, build))?;
        let done = earlier.filter(|record| record.state == ImportState::Done);
        Ok(done.map(|record| Outcome::Known { at: record.finished_at.unwrap_or(record.started_at) }))
    }

    fn candles(&mut self, mut rows: CandleReader, report: &mut Report) -> Result<(), ImportError> {
        report.kind = "candles";
        report.understood = Some(rows.understood());
        let mut inspector = Inspector::new(self.venues, rows.grain());
        let (mut gathered, mut held, mut has_rows) = (Gathered::new(), 0, false);
        let mut replacing = Replacing::default();
        while !self.stop.load(Ordering::Relaxed) {
            let batch = match rows.next() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => {
                    report.outcome = Outcome::Failed(error.problem.to_string());
                    return Ok(());
                }
            };
            has_rows |= !batch.rows.is_empty();
            report.rows += batch.rows_read();
            report.quarantined += batch.omitted;
            batch.rejected.iter().for_each(|row| report.refuse(row.line, &row.reason));
            for row in &batch.rows {
                let Some(symbol) = rows.symbols().get(row.symbol as usize) else { continue };
                let session = match inspector.inspect(row, symbol) {
                    Ok(session) => session,
                    Err(flaw) => {
                        report.refuse(row.line, &flaw.to_string());
                        continue;
                    }
                };
                report.see(row.time, symbol.market());
                let candle = candle(row, session);
                if report.first_rows.len() < self.rows_shown {
                    report.first_rows.push((symbol.clone(), candle));
                }
                gathered.entry((row.symbol, lane_of(session))).or_default().push(candle);
                held += 1;
            }
            if held >= PORTION_ROWS {
                self.compare(&rows, std::mem::take(&mut gathered), &mut replacing, report)?;
                held = 0;
            }
        }
        self.compare(&rows, gathered, &mut replacing, report)?;
        report.problems.sort();
        report.symbols = rows.symbols().len() as u64;
        report.names = rows.symbols().iter().take(NAMES_SHOWN).cloned().collect();
        report.understand(has_rows, rows.notes());
        report.judge(self.options, &replacing, self.venues);
        Ok(())
    }

    /// Counts the candles that would be added, would replace a stored candle, or are already
    /// stored.
    fn compare(
        &mut self,
        rows: &CandleReader,
        gathered: Gathered,
        replacing: &mut Replacing,
        report: &mut Report,
    ) -> Result<(), ImportError> {
        let on_damage = OnDamage::of(self.options);
        let snapshot = self.reader.as_mut().map(Reader::snapshot).transpose()?;
        for ((symbol, lane), candles) in gathered {
            let Some(symbol) = rows.symbols().get(symbol as usize) else { continue };
            let series = Series { symbol: symbol.clone(), grain: rows.grain(), lane };
            let Some(snapshot) = &snapshot else {
                report.added += candles.len() as u64;
                continue;
            };
            let merged = merged(snapshot, &series, candles, on_damage)?;
            report.added += merged.added;
            report.replaced += merged.replaced;
            report.unchanged += merged.unchanged;
            replacing.add(&series.symbol, series.grain, &merged.differences);
        }
        Ok(())
    }

    fn trades(&mut self, mut rows: TradeReader, report: &mut Report) -> Result<(), ImportError> {
        report.kind = "trades";
        let mut inspector = trade_gather::Inspector::new(self.venues);
        let (mut gathered, mut held) = (GatheredTrades::new(), 0);
        while !self.stop.load(Ordering::Relaxed) {
            let batch = match rows.next() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => {
                    report.outcome = Outcome::Failed(error.problem.to_string());
                    return Ok(());
                }
            };
            report.rows += batch.rows_read();
            report.quarantined += batch.omitted;
            batch.rejected.iter().for_each(|row| report.refuse(row.line, &row.reason));
            for row in &batch.rows {
                let Some(symbol) = rows.symbols().get(row.symbol as usize) else { continue };
                let place = match inspector.inspect(row, symbol) {
                    Ok(place) => place,
                    Err(flaw) => {
                        report.refuse(row.line, &flaw.to_string());
                        continue;
                    }
                };
                report.see(row.trade.time, symbol.market());
                if report.first_trades.len() < self.rows_shown {
                    report.first_trades.push((symbol.clone(), row.trade));
                }
                gathered.entry((row.symbol, place.day)).or_default().push(row.trade);
                held += 1;
            }
            if held >= PORTION_ROWS {
                self.compare_trades(&rows, std::mem::take(&mut gathered), report)?;
                held = 0;
            }
        }
        self.compare_trades(&rows, gathered, report)?;
        report.problems.sort();
        report.symbols = rows.symbols().len() as u64;
        report.names = rows.symbols().iter().take(NAMES_SHOWN).cloned().collect();
        report.notes.extend(rows.notes());
        report.judge(self.options, &Replacing::default(), self.venues);
        Ok(())
    }

    /// Counts the trades that would be added, would replace stored trades, or are already stored.
    /// If a second is split over two portions, each portion is compared separately.
    fn compare_trades(
        &mut self,
        rows: &TradeReader,
        gathered: GatheredTrades,
        report: &mut Report,
    ) -> Result<(), ImportError> {
        let on_damage = OnDamage::of(self.options);
        let snapshot = self.reader.as_mut().map(Reader::snapshot).transpose()?;
        for ((symbol, day), trades) in gathered {
            let Some(symbol) = rows.symbols().get(symbol as usize).cloned() else { continue };
            let Some(snapshot) = &snapshot else {
                report.added += trades.len() as u64;
                continue;
            };
            let part = TradePart { symbol, day, continues: None, trades };
            if let Some(laid) = lay_trades(snapshot, 0, part, on_damage)? {
                report.added += laid.counts.added;
                report.replaced += laid.counts.replaced;
                report.unchanged += laid.counts.unchanged;
            }
        }
        Ok(())
    }
}

impl Report {
    /// Counts a row that would be quarantined, and records the first few problems.
    fn refuse(&mut self, line: u64, reason: &str) {
        self.quarantined += 1;
        if self.problems.len() < PROBLEMS_SHOWN {
            self.problems.push((line, reason.to_owned()));
        }
    }

    /// Sets the outcome if the import would refuse the file.
    fn judge(&mut self, options: &Options, replacing: &Replacing, venues: &Venues) {
        if options.strict
            && let Some((line, reason)) = self.problems.first()
        {
            let message = format!("would be refused by --strict: line {line}: {reason}");
            self.outcome = Outcome::Failed(message);
        } else if self.rows == self.quarantined && self.rows > 0 {
            self.outcome = Outcome::Failed("no row of this file can be used".to_owned());
        } else if let Some(message) = replacing.refusal(venues).filter(|_| !options.replace) {
            self.outcome = Outcome::NotReplaced(message);
        }
    }
}

/// Counts the rows of a small table.
fn count<T>(report: &mut Report, table: &files::Records<T>) {
    report.rows = (table.rows.len() + table.rejected.len()) as u64 + table.omitted;
    table.rejected.iter().for_each(|row| report.refuse(row.line, &row.reason));
    report.quarantined += table.omitted;
}
