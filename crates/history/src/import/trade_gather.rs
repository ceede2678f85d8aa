//! Trades of a file to flushes: checked, and sorted into the days of their symbols.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use files::{Rejected, Table, TradeBatch, TradeReader, TradeRow};
use market::{Date, Grain, Market, Symbol, TradeFlaw, TradeHours, TradePlace, Venues};
use store::ImportState;

use super::flush::{CommitterGone, FileNo, Pending};
use super::gather::{Gatherer, Trouble};
use super::report::{NAMES_SHOWN, PROBLEMS_SHOWN};
use super::unserved::{self, Unserved};
use super::{Options, Outcome, Report};

impl Options {
    /// The part of a file's ledger options that is about building candles; an error if candles are
    /// to be built from a table without trades.
    pub(super) fn build_meaning(&self, table: &Table) -> Result<Option<&'static str>, Trouble> {
        match (self.build_candles, table) {
            (false, _) => Ok(None),
            (true, Table::Trades(_)) => Ok(Some("build-candles")),
            (true, _) => {
                let message = "--build-candles builds candles of trades, and this file has none: it needs the columns time, \
                    price and volume, and no open, high, low or close";
                Err(Trouble::File(message.to_owned()))
            }
        }
    }
}

/// Assigns trades to the sessions of their markets.
#[derive(Debug)]
pub(super) struct Inspector<'a> {
    hk: TradeHours<'a>,
    us: TradeHours<'a>,
    cn: TradeHours<'a>,
}

impl<'a> Inspector<'a> {
    pub(super) fn new(venues: &'a Venues) -> Inspector<'a> {
        let hours = |market| TradeHours::new(venues.of(market));
        Inspector { hk: hours(Market::Hk), us: hours(Market::Us), cn: hours(Market::Cn) }
    }

    #[inline]
    pub(super) fn inspect(&mut self, row: &TradeRow, symbol: &Symbol) -> Result<TradePlace, TradeFlaw> {
        row.trade.check()?;
        if symbol.is_us_option() {
            return Err(TradeFlaw::Option);
        }
        let hours = match symbol.market() {
            Market::Hk => &mut self.hk,
            Market::Us => &mut self.us,
            Market::Cn => &mut self.cn,
        };
        hours.place(row.trade.time)
    }
}

/// Sorts the rows of one file into flushes.
struct TradeSorting<'a> {
    file: FileNo,
    venues: &'a Venues,
    inspector: Inspector<'a>,
    unserved: Unserved,
    quarantined_before: u64,
    /// The last second of each symbol that has been handed over, and the last one that was read.
    handed_over: HashMap<u32, i64>,
    newest: HashMap<u32, i64>,
    /// The buffer of the previous row.
    last: Option<(u32, Date, u64, usize)>,
    places: HashMap<(u32, Date), (u64, usize)>,
    /// Days that an earlier run has stored.
    brought: BTreeSet<(u32, Date)>,
}

impl Gatherer<'_> {
    pub(super) fn trades(
        &mut self,
        file: FileNo,
        mut reader: TradeReader,
        done: u64,
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        let (venues, floors) = (self.context.venues, &self.context.options.floors);
        let mut sorting = TradeSorting {
            file,
            venues,
            inspector: Inspector::new(venues),
            unserved: Unserved::new(venues, floors, Grain::Minute),
            quarantined_before: self.quarantined_before(),
            handed_over: HashMap::new(),
            newest: HashMap::new(),
            last: None,
            places: HashMap::new(),
            brought: BTreeSet::new(),
        };
        report.resumed_at = done;
        let bytes_before = self.context.progress.bytes.load(Ordering::Relaxed);
        while let Some(batch) = reader.next()? {
            match self.failures.of(file).map(|failure| failure.message().map(str::to_owned)) {
                Some(Some(message)) => return Err(Trouble::File(message)),
                Some(None) => return Ok(Outcome::Interrupted),
                None => {}
            }
            let behind = done.saturating_sub(report.rows);
            let (rows, omitted) = (batch.rows_read(), batch.omitted);
            report.rows += rows;
            sorting.sort(&mut self.pending, reader.symbols(), batch, behind, report)?;
            report.omit(omitted, behind < rows);
            self.context.progress.rows.store(report.rows, Ordering::Relaxed);
            self.context.progress.bytes.store(bytes_before + reader.position().consumed, Ordering::Relaxed);
            if self.context.stop.load(Ordering::Relaxed) {
                self.mark(file, report, ImportState::Interrupted);
                self.pending.send()?;
                return Ok(Outcome::Interrupted);
            }
            if self.pending.rows() >= self.flush_rows {
                self.mark(file, report, ImportState::Running);
                self.pending.send()?;
                sorting.handed_over.clone_from(&sorting.newest);
            }
        }
        let brought = sorting
            .brought
            .into_iter()
            .filter_map(|(symbol, day)| Some((file, reader.symbols().get(symbol as usize)?.clone(), day)));
        self.pending.flush_mut().brought.extend(brought);
        report.symbols = reader.symbols().len() as u64;
        report.names = reader.symbols().iter().take(NAMES_SHOWN).cloned().collect();
        report.notes.extend(reader.notes());
        if report.unserved > 0 {
            report.notes.push(unserved::note(report.unserved, Grain::Minute, floors));
        }
        self.end(file, report)
    }

    /// `--strict` reads the whole file before anything of it is written. Breaks if the import was
    /// stopped.
    pub(super) fn refuse_trades(&self, path: &Path, report: &mut Report) -> Result<ControlFlow<()>, Trouble> {
        let Table::Trades(mut reader) = files::open(path, self.context.venues, &self.context.options.read)?
        else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut inspector = Inspector::new(self.context.venues);
        let (mut count, mut flaws) = (0u64, Vec::new());
        while let Some(batch) = reader.next()? {
            if self.context.stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
            count += batch.rejected.len() as u64 + batch.omitted;
            flaws.extend(batch.rejected.into_iter().map(|row| (row.line, row.reason)));
            for row in &batch.rows {
                let Some(symbol) = reader.symbols().get(row.symbol as usize) else { continue };
                if let Err(flaw) = inspector.inspect(row, symbol) {
                    count += 1;
                    flaws.push((row.line, flaw.to_string()));
                }
            }
            flaws.sort();
            flaws.truncate(PROBLEMS_SHOWN);
        }
        report.problems = flaws;
        match report.problems.first() {
            None => Ok(ControlFlow::Continue(())),
            Some((line, reason)) => Err(Trouble::File(format!(
                "refused by --strict: {count} rows break a rule, the first in line {line}: {reason}"
            ))),
        }
    }
}

impl TradeSorting<'_> {
    /// Puts the rows of a batch into their buffers; an earlier run has stored the first `behind` of
    /// them.
    fn sort(
        &mut self,
        pending: &mut Pending<'_>,
        symbols: &[Symbol],
        batch: TradeBatch,
        behind: u64,
        report: &mut Report,
    ) -> Result<(), CommitterGone> {
        let last_behind = last_line_behind(&batch, behind);
        for row in batch.rejected.into_iter().filter(|row| Some(row.line) > last_behind) {
            pending.quarantine(self.file, row, self.quarantined_before, report);
        }
        for row in &batch.rows {
            let Some(symbol) = symbols.get(row.symbol as usize) else { continue };
            let placed = self.inspector.inspect(row, symbol);
            if Some(row.line) <= last_behind {
                if let Ok(place) = placed {
                    let newest = self.newest.entry(row.symbol).or_insert(i64::MIN);
                    *newest = (*newest).max(row.trade.time.0);
                    self.handed_over.insert(row.symbol, *newest);
                    self.brought.insert((row.symbol, place.day));
                }
                continue;
            }
            match placed {
                Ok(place) => {
                    let at = row.trade.time;
                    report.unserved += u64::from(self.unserved.holds(symbol.market(), at));
                    report.see(at, symbol.market());
                    self.put(pending, row, symbol, place.day)?;
                }
                Err(flaw) => {
                    let row = Rejected {
                        line: row.line,
                        symbol: Some(symbol.to_string()),
                        text: spell(row, symbol, self.venues),
                        reason: flaw.to_string(),
                    };
                    pending.quarantine(self.file, row, self.quarantined_before, report);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn put(
        &mut self,
        pending: &mut Pending<'_>,
        row: &TradeRow,
        symbol: &Symbol,
        day: Date,
    ) -> Result<(), CommitterGone> {
        let key = (row.symbol, day);
        let at = match self.last {
            Some((symbol, last, flush, at)) if (symbol, last) == key && flush == pending.number => at,
            _ => self.place(pending, key, symbol)?,
        };
        let newest = self.newest.entry(row.symbol).or_insert(i64::MIN);
        *newest = (*newest).max(row.trade.time.0);
        pending.push_trade(at, row.trade);
        Ok(())
    }

    fn place(
        &mut self,
        pending: &mut Pending<'_>,
        key: (u32, Date),
        symbol: &Symbol,
    ) -> Result<usize, CommitterGone> {
        let known = self.places.get(&key).filter(|(flush, _)| *flush == pending.number);
        let at = match known {
            Some((_, at)) => *at,
            None => {
                let continues = self.handed_over.get(&key.0).copied();
                let at = pending.trade_buffer(self.file, symbol, key.1, continues)?;
                // Finding a buffer may have flushed, and then the indexes of all others are stale.
                self.places.retain(|_, (flush, _)| *flush == pending.number);
                self.places.insert(key, (pending.number, at));
                at
            }
        };
        self.last = Some((key.0, key.1, pending.number, at));
        Ok(at)
    }
}

/// The line of the last row of a batch that an earlier run has stored, given the number of such
/// rows.
fn last_line_behind(batch: &TradeBatch, rows: u64) -> Option<u64> {
    let last = usize::try_from(rows.checked_sub(1)?).unwrap_or(usize::MAX);
    let mut lines: Vec<u64> = batch.rows.iter().map(|row| row.line).collect();
    lines.extend(batch.rejected.iter().map(|row| row.line));
    lines.sort_unstable();
    lines.get(last).or(lines.last()).copied()
}

/// The text of an invalid row in the quarantine.
fn spell(row: &TradeRow, symbol: &Symbol, venues: &Venues) -> String {
    let time = venues.of(symbol.market()).zone().rfc3339(row.trade.time);
    let (direction, kind) = (row.trade.direction.as_str(), row.trade.kind);
    format!("{symbol},{time},{},{},{direction},{kind}", row.trade.price.text(6), row.trade.volume)
}
