//! Files to flushes: find out what a file is, check its rows, gather them by series.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use files::{CandleReader, CandleRow, ReadOptions, Rejected, SecurityRow, Table};
use market::{Candles, Grain, Symbol, Venues};
use sha2::{Digest, Sha256};
use store::{ImportState, Lane, Reader, Series};

use super::inspect::Inspector;
use super::lay::Part;
use super::{Context, FLUSH_ROWS, ImportError, Outcome, PROBLEMS_SHOWN, QUARANTINE_MAX, Report};
use crate::lane_of;

/// A number of the command's files, in their order.
pub(crate) type FileNo = usize;

/// Rows that will be committed together, with everything the ledger has to say about them.
#[derive(Debug, Default)]
pub(crate) struct Flush {
    pub(crate) begins: Vec<Begin>,
    /// Each symbol belongs to one file in a flush, so that counts belong to one file too.
    pub(crate) parts: Vec<(FileNo, Part)>,
    pub(crate) securities: Vec<SecurityRow>,
    pub(crate) actions: Vec<(Symbol, Vec<market::Action>)>,
    pub(crate) rejected: Vec<(FileNo, Rejected)>,
    pub(crate) marks: Vec<Mark>,
}

#[derive(Debug)]
pub(crate) struct Begin {
    pub(crate) file: FileNo,
    pub(crate) path: String,
    pub(crate) sha256: [u8; 32],
    pub(crate) bytes: u64,
    pub(crate) kind: &'static str,
    pub(crate) options: String,
}

/// How far a file is once this flush is committed.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) file: FileNo,
    pub(crate) rows: u64,
    pub(crate) quarantined: u64,
    pub(crate) state: ImportState,
    pub(crate) message: Option<String>,
}

/// The committer has gone; its error says why.
struct Gone;

enum Trouble {
    Gone,
    File(String),
    Store(ImportError),
}

impl From<Gone> for Trouble {
    fn from(_: Gone) -> Trouble {
        Trouble::Gone
    }
}

impl From<files::FileError> for Trouble {
    fn from(error: files::FileError) -> Trouble {
        Trouble::File(error.to_string())
    }
}

impl From<store::StoreError> for Trouble {
    fn from(error: store::StoreError) -> Trouble {
        Trouble::Store(error.into())
    }
}

pub(crate) fn gather(
    context: &Context<'_>,
    paths: &[PathBuf],
    sender: &SyncSender<Flush>,
) -> Result<Vec<Report>, ImportError> {
    let mut gatherer = Gatherer { context, sender, pending: Pending::default(), flushes: 0 };
    let mut ledger = context.store.reader()?;
    let mut reports = Vec::with_capacity(paths.len());
    for (file, path) in paths.iter().enumerate() {
        let mut report = Report::of(path);
        match gatherer.file(file, path, &mut ledger, &mut report) {
            Ok(outcome) => report.outcome = outcome,
            Err(Trouble::File(message)) => {
                gatherer.pending.forget(file);
                report.outcome = Outcome::Failed(message);
            }
            Err(Trouble::Gone) => return Ok(reports),
            Err(Trouble::Store(error)) => return Err(error),
        }
        reports.push(report);
        if context.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    match gatherer.flush() {
        Ok(()) | Err(Gone) => Ok(reports),
    }
}

/// What has been gathered since the last flush.
#[derive(Debug, Default)]
struct Pending {
    buffers: Vec<(FileNo, Part)>,
    by_series: HashMap<Series, usize>,
    rows: usize,
    flush: Flush,
}

impl Pending {
    /// Drops what a file that failed has gathered: a broken file is not imported by halves where that can be helped.
    fn forget(&mut self, file: FileNo) {
        for (_, part) in self.buffers.iter_mut().filter(|(of, _)| *of == file) {
            part.candles = Candles::default();
        }
        self.rows = self.buffers.iter().map(|(_, part)| part.candles.len()).sum();
        self.flush.begins.retain(|begin| begin.file != file);
        self.flush.rejected.retain(|(of, _)| *of != file);
        self.flush.marks.retain(|mark| mark.file != file);
    }
}

struct Gatherer<'a> {
    context: &'a Context<'a>,
    sender: &'a SyncSender<Flush>,
    pending: Pending,
    flushes: u64,
}

/// Where a file's symbols have their buffers: a row finds its buffer by number, not by name.
#[derive(Debug, Default)]
struct Places {
    flush: u64,
    of: HashMap<(u32, Lane), usize>,
    last: Option<((u32, Lane), usize)>,
}

impl Places {
    fn get(&mut self, symbol: u32, lane: Lane, flush: u64) -> Option<usize> {
        if self.flush != flush {
            *self = Places { flush, ..Places::default() };
        }
        let key = (symbol, lane);
        match self.last {
            Some((last, at)) if last == key => Some(at),
            _ => {
                let at = self.of.get(&key).copied()?;
                self.last = Some((key, at));
                Some(at)
            }
        }
    }

    fn set(&mut self, symbol: u32, lane: Lane, flush: u64, at: usize) {
        // Finding a buffer may have flushed, and then every other place is stale.
        if self.flush != flush {
            *self = Places { flush, ..Places::default() };
        }
        self.of.insert((symbol, lane), at);
        self.last = Some(((symbol, lane), at));
    }
}

impl Gatherer<'_> {
    fn file(
        &mut self,
        file: FileNo,
        path: &Path,
        ledger: &mut Reader,
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        let (sha256, bytes) = fingerprint(path)?;
        let options = meaning(&self.context.options.read);
        let earlier = ledger.snapshot()?.find_import(&sha256, &options)?;
        if let Some(done) = earlier.as_ref().filter(|record| record.state == ImportState::Done)
            && !self.context.options.again
        {
            self.context.progress.bytes.fetch_add(bytes, Ordering::Relaxed);
            report.rows = done.rows_read;
            return Ok(Outcome::Known { at: done.finished_at.unwrap_or(done.started_at) });
        }
        let table = files::open(path, self.context.venues, &self.context.options.read)?;
        report.kind = match &table {
            Table::Candles(_) => "candles",
            Table::Securities(_) => "securities",
            Table::Actions(_) => "actions",
        };
        let begin =
            Begin { file, path: path.display().to_string(), sha256, bytes, kind: report.kind, options };
        match table {
            Table::Candles(reader) => {
                if self.context.options.strict {
                    self.refuse_flaws(path, report)?;
                }
                let resume = earlier
                    .filter(|record| record.state != ImportState::Done && !self.context.options.strict);
                let done =
                    if self.context.options.again { 0 } else { resume.map_or(0, |record| record.rows_done) };
                self.pending.flush.begins.push(begin);
                self.candles(file, reader, done, report)
            }
            Table::Securities(table) => {
                self.strict_table(&table.rejected)?;
                self.pending.flush.begins.push(begin);
                report.symbols = table.rows.len() as u64;
                self.pending.flush.securities.extend(table.rows);
                self.small(file, report.symbols, table.rejected, report)
            }
            Table::Actions(table) => {
                self.strict_table(&table.rejected)?;
                self.pending.flush.begins.push(begin);
                let mut by_symbol: BTreeMap<Symbol, Vec<market::Action>> = BTreeMap::new();
                let rows = table.rows.len() as u64;
                for row in table.rows {
                    by_symbol.entry(row.symbol).or_default().push(row.action);
                }
                report.symbols = by_symbol.len() as u64;
                self.pending.flush.actions.extend(by_symbol);
                self.small(file, rows, table.rejected, report)
            }
        }
    }

    /// Securities and actions are small tables: read whole, one flush of their own.
    fn small(
        &mut self,
        file: FileNo,
        rows: u64,
        rejected: Vec<Rejected>,
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        report.rows = rows + rejected.len() as u64;
        report.quarantined = rejected.len() as u64;
        report.added = rows;
        for row in rejected {
            self.quarantine(file, row, report);
        }
        self.mark(file, report, ImportState::Done);
        self.flush()?;
        Ok(Outcome::Imported)
    }

    fn strict_table(&self, rejected: &[Rejected]) -> Result<(), Trouble> {
        match rejected.first() {
            Some(row) if self.context.options.strict => {
                Err(Trouble::File(format!("refused by --strict: line {}: {}", row.line, row.reason)))
            }
            _ => Ok(()),
        }
    }

    fn candles(
        &mut self,
        file: FileNo,
        mut reader: CandleReader,
        done: u64,
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        let grain = reader.grain();
        let mut inspector = Inspector::new(self.context.venues, grain);
        let mut places = Places::default();
        reader.skip_rows(done)?;
        report.resumed_at = done;
        report.rows = done;
        let bytes_before = self.context.progress.bytes.load(Ordering::Relaxed);
        while let Some(batch) = reader.next()? {
            report.rows += (batch.rows.len() + batch.rejected.len()) as u64;
            for row in &batch.rows {
                let Some(symbol) = reader.symbols().get(row.symbol as usize) else { continue };
                match inspector.candle(row, symbol) {
                    Ok(candle) => {
                        let lane = lane_of(candle.session);
                        let at = match places.get(row.symbol, lane, self.flushes) {
                            Some(at) => at,
                            None => {
                                let at = self.buffer(file, symbol, grain, lane)?;
                                places.set(row.symbol, lane, self.flushes, at);
                                at
                            }
                        };
                        if let Some((_, part)) = self.pending.buffers.get_mut(at) {
                            part.candles.push(candle);
                            self.pending.rows += 1;
                        }
                    }
                    Err(flaw) => {
                        let (line, text) = (row.line, spell(row, symbol, self.context.venues));
                        let row = Rejected {
                            line,
                            symbol: Some(symbol.to_string()),
                            text,
                            reason: flaw.to_string(),
                        };
                        report.quarantined += 1;
                        self.quarantine(file, row, report);
                    }
                }
            }
            for row in batch.rejected {
                report.quarantined += 1;
                self.quarantine(file, row, report);
            }
            self.context.progress.rows.store(report.rows, Ordering::Relaxed);
            self.context.progress.bytes.store(bytes_before + reader.position().consumed, Ordering::Relaxed);
            if self.context.stop.load(Ordering::Relaxed) {
                self.mark(file, report, ImportState::Interrupted);
                self.flush()?;
                return Ok(Outcome::Interrupted);
            }
            if self.pending.rows >= FLUSH_ROWS {
                self.mark(file, report, ImportState::Running);
                self.flush()?;
            }
        }
        report.symbols = reader.symbols().len() as u64;
        report.notes.extend(reader.notes());
        if report.rows == report.quarantined && report.rows > 0 {
            report.notes.push("no row of this file could be used".to_owned());
        }
        self.mark(file, report, ImportState::Done);
        Ok(Outcome::Imported)
    }

    /// The buffer of a series in this flush.
    fn buffer(&mut self, file: FileNo, symbol: &Symbol, grain: Grain, lane: Lane) -> Result<usize, Trouble> {
        let series = Series { symbol: symbol.clone(), grain, lane };
        if let Some(at) = self.pending.by_series.get(&series).copied() {
            if self.pending.buffers.get(at).is_some_and(|(of, _)| *of == file) {
                return Ok(at);
            }
            // A series that another file of this flush has touched waits for its own flush: later files win, and
            // each count belongs to one file.
            self.flush()?;
        }
        let at = self.pending.buffers.len();
        self.pending.buffers.push((file, Part { series: series.clone(), candles: Candles::default() }));
        self.pending.by_series.insert(series, at);
        Ok(at)
    }

    fn quarantine(&mut self, file: FileNo, row: Rejected, report: &mut Report) {
        if report.problems.len() < PROBLEMS_SHOWN {
            report.problems.push((row.line, row.reason.clone()));
        }
        if report.quarantined <= QUARANTINE_MAX {
            self.pending.flush.rejected.push((file, row));
        }
    }

    fn mark(&mut self, file: FileNo, report: &Report, state: ImportState) {
        let Report { rows, quarantined, .. } = *report;
        self.pending.flush.marks.push(Mark { file, rows, quarantined, state, message: None });
    }

    fn flush(&mut self) -> Result<(), Gone> {
        let Pending { mut buffers, mut flush, .. } = std::mem::take(&mut self.pending);
        self.flushes += 1;
        buffers.retain(|(_, part)| !part.candles.is_empty());
        flush.parts = buffers;
        self.sender.send(flush).map_err(|_| Gone)
    }

    /// `--strict` reads the whole file before anything of it is written.
    fn refuse_flaws(&self, path: &Path, report: &mut Report) -> Result<(), Trouble> {
        let Table::Candles(mut reader) = files::open(path, self.context.venues, &self.context.options.read)?
        else {
            return Ok(());
        };
        let mut inspector = Inspector::new(self.context.venues, reader.grain());
        let mut flaws = 0u64;
        while let Some(batch) = reader.next()? {
            let mut note = |line: u64, reason: String| {
                flaws += 1;
                if report.problems.len() < PROBLEMS_SHOWN {
                    report.problems.push((line, reason));
                }
            };
            for row in &batch.rows {
                let Some(symbol) = reader.symbols().get(row.symbol as usize) else { continue };
                if let Err(flaw) = inspector.candle(row, symbol) {
                    note(row.line, flaw.to_string());
                }
            }
            batch.rejected.into_iter().for_each(|row| note(row.line, row.reason));
        }
        match report.problems.first() {
            None => Ok(()),
            Some((line, reason)) => Err(Trouble::File(format!(
                "refused by --strict: {flaws} rows break a rule, the first in line {line}: {reason}"
            ))),
        }
    }
}

impl Report {
    fn of(path: &Path) -> Report {
        Report {
            path: path.to_owned(),
            kind: "",
            outcome: Outcome::Imported,
            resumed_at: 0,
            rows: 0,
            symbols: 0,
            added: 0,
            replaced: 0,
            unchanged: 0,
            quarantined: 0,
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }
}

/// The options that change what a file's rows mean, as text for the ledger: the same file with other options is
/// another import.
fn meaning(options: &ReadOptions) -> String {
    let ReadOptions { period, region, symbol, map, scale, stamp, estimate_turnover } = options;
    let mut parts = Vec::new();
    parts.extend(period.map(|grain| format!("period={}", grain.as_str())));
    parts.extend(region.map(|region| format!("region={region}")));
    parts.extend(symbol.as_ref().map(|symbol| format!("symbol={symbol}")));
    parts.extend(map.iter().map(|(field, column)| format!("map {}={column}", field.as_str())));
    let factors = [("price", scale.price), ("volume", scale.volume), ("turnover", scale.turnover)];
    parts.extend(factors.into_iter().filter_map(|(name, factor)| Some(format!("scale {name}={}", factor?))));
    parts.extend(stamp.map(|stamp| format!("stamp={stamp:?}").to_lowercase()));
    parts.extend(estimate_turnover.then(|| "estimate-turnover".to_owned()));
    parts.join(" ")
}

/// A row that was read but broke a rule, in the words of the quarantine.
fn spell(row: &CandleRow, symbol: &Symbol, venues: &Venues) -> String {
    let time = venues.of(symbol.market()).zone().rfc3339(row.time);
    let [open, high, low, close] =
        [row.open, row.high, row.low, row.close].map(|price| price.text(6).to_string());
    format!("{symbol},{time},{open},{high},{low},{close},{},{}", row.volume, row.turnover.text())
}

/// The file's SHA-256 and size: what makes it the same file tomorrow, under another name too.
fn fingerprint(path: &Path) -> Result<([u8; 32], u64), Trouble> {
    let trouble = |error: std::io::Error| Trouble::File(format!("cannot read: {error}"));
    let mut file = File::open(path).map_err(trouble)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(trouble)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
        hash.update(chunk);
        bytes += read as u64;
    }
    Ok((hash.finalize().into(), bytes))
}
