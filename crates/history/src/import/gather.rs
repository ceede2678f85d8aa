//! Files to flushes: find out what a file is, check its rows, gather them by series.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use files::{
    ActionRow, CandleBatch, CandleReader, CandleRow, ReadOptions, Records, Rejected, SecurityRow, Table,
};
use market::{Candles, Grain, Symbol, Timestamp, Venues};
use store::{ImportRecord, ImportState, Lane, Reader, Series};

use super::inspect::Inspector;
use super::lay::Part;
use super::{Context, ImportError, Outcome, PROBLEMS_SHOWN, QUARANTINE_MAX, Report};
use crate::lane_of;

/// A number of the command's files, in their order.
pub(crate) type FileNo = usize;

/// Rows that will be committed together, with everything the ledger has to say about them.
#[derive(Debug, Default)]
pub(crate) struct Flush {
    pub(crate) begins: Vec<Begin>,
    /// Each symbol belongs to one file in a flush, so that counts belong to one file too.
    pub(crate) parts: Vec<(FileNo, Part)>,
    pub(crate) securities: Vec<(FileNo, SecurityRow)>,
    pub(crate) actions: Vec<(FileNo, Symbol, Vec<market::Action>)>,
    pub(crate) rejected: Vec<(FileNo, Rejected)>,
    pub(crate) marks: Vec<Mark>,
}

#[derive(Debug)]
pub(crate) struct Begin {
    pub(crate) file: FileNo,
    pub(crate) path: String,
    pub(crate) digest: [u8; 32],
    pub(crate) bytes: u64,
    pub(crate) kind: &'static str,
    pub(crate) options: String,
    /// The ledger's entry of an earlier run that did not come to the end: this one goes on with it.
    pub(crate) resumed: Option<ImportRecord>,
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
        // The report names the file already.
        Trouble::File(error.problem.to_string())
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
    flush_rows: usize,
    sender: &SyncSender<Flush>,
) -> Result<Vec<Report>, ImportError> {
    let mut gatherer = Gatherer {
        context,
        flush_rows,
        sender,
        pending: Pending::default(),
        flushes: 0,
        checkpoint: None,
        imported: HashSet::new(),
    };
    let mut ledger = context.store.reader()?;
    let mut reports = Vec::with_capacity(paths.len());
    for (file, path) in paths.iter().enumerate() {
        let mut report = Report::of(path);
        match gatherer.file(file, path, &mut ledger, &mut report) {
            Ok(outcome) => report.outcome = outcome,
            Err(Trouble::File(message)) => {
                gatherer.fail(file, &message);
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
    /// Takes out what belongs to one file. Buffers move, so places in them are stale on both sides.
    fn take(&mut self, file: FileNo) -> Pending {
        let mut own = Pending {
            buffers: self.buffers.extract_if(.., |(of, _)| *of == file).collect(),
            ..Pending::default()
        };
        own.flush.begins = self.flush.begins.extract_if(.., |begin| begin.file == file).collect();
        own.flush.rejected = self.flush.rejected.extract_if(.., |(of, _)| *of == file).collect();
        own.flush.marks = self.flush.marks.extract_if(.., |mark| mark.file == file).collect();
        own.index();
        self.index();
        own
    }

    fn index(&mut self) {
        let places = self.buffers.iter().enumerate().map(|(at, (_, part))| (part.series.clone(), at));
        self.by_series = places.collect();
        self.rows = self.buffers.iter().map(|(_, part)| part.candles.len()).sum();
    }
}

struct Gatherer<'a> {
    context: &'a Context<'a>,
    flush_rows: usize,
    sender: &'a SyncSender<Flush>,
    pending: Pending,
    flushes: u64,
    /// How far the ledger has, or will have, the file being read; none before its import has begun.
    checkpoint: Option<Checkpoint>,
    /// What this command has imported already, which the ledger need not show yet.
    imported: HashSet<([u8; 32], String)>,
}

#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    file: FileNo,
    rows: u64,
    /// Over all runs of the file; a report speaks of this run alone.
    quarantined: u64,
    quarantined_before: u64,
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
        self.checkpoint = None;
        let (digest, bytes) = fingerprint(path)?;
        let options = meaning(&self.context.options.read);
        let path_text = path.display().to_string();
        let mut begin =
            Begin { file, path: path_text, digest, bytes, kind: "unknown", options, resumed: None };
        let table = match files::open(path, self.context.venues, &self.context.options.read) {
            Ok(table) => table,
            Err(error) => {
                if !self.context.options.strict {
                    self.begin(begin, ledger)?;
                }
                return Err(error.into());
            }
        };
        begin.kind = match &table {
            Table::Candles(_) => "candles",
            Table::Securities(_) => "securities",
            Table::Actions(_) => "actions",
        };
        report.kind = begin.kind;
        // Where the file's name says the symbol, the same bytes under another name are another import.
        if let Table::Candles(reader) = &table
            && let [symbol] = reader.symbols()
            && self.context.options.read.symbol.is_none()
        {
            begin.options = format!("{} symbol={symbol}", begin.options).trim_start().to_owned();
        }
        if !self.context.options.again
            && let Some((at, rows)) = self.known(&begin, ledger)?
        {
            self.context.progress.bytes.fetch_add(bytes, Ordering::Relaxed);
            report.rows = rows;
            return Ok(Outcome::Known { at });
        }
        let key = (digest, begin.options.clone());
        let outcome = self.table(path, table, begin, ledger, report)?;
        if outcome == Outcome::Imported {
            self.imported.insert(key);
        }
        Ok(outcome)
    }

    /// When the ledger, or this very command, has imported a file already, and how many rows it has.
    fn known(&self, begin: &Begin, ledger: &mut Reader) -> Result<Option<(Timestamp, u64)>, Trouble> {
        if self.imported.contains(&(begin.digest, begin.options.clone())) {
            return Ok(Some(((self.context.now)(), 0)));
        }
        let earlier = ledger.snapshot()?.find_import(&begin.digest, &begin.options)?;
        // What went in with flaws has not passed the strict check.
        let strict = self.context.options.strict;
        let good =
            |record: &ImportRecord| record.state == ImportState::Done && !(strict && record.quarantined > 0);
        let done = earlier.filter(good);
        Ok(done.map(|record| (record.finished_at.unwrap_or(record.started_at), record.rows_read)))
    }

    fn table(
        &mut self,
        path: &Path,
        table: Table,
        begin: Begin,
        ledger: &mut Reader,
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        let file = begin.file;
        match table {
            Table::Candles(reader) => {
                if self.context.options.strict && self.refuse_flaws(path, report)? == Strictness::Unfinished {
                    return Ok(Outcome::Interrupted);
                }
                let done = self.begin(begin, ledger)?;
                self.candles(file, reader, done, report)
            }
            Table::Securities(table) => {
                self.strict_table(&table.rejected)?;
                self.begin(begin, ledger)?;
                report.symbols = table.rows.len() as u64;
                self.pending.flush.securities.extend(table.rows.into_iter().map(|row| (file, row)));
                self.small(file, report.symbols, table.rejected, report)
            }
            Table::Actions(mut table) => {
                reject_repeated(&mut table);
                self.strict_table(&table.rejected)?;
                self.begin(begin, ledger)?;
                let mut by_symbol: BTreeMap<Symbol, Vec<market::Action>> = BTreeMap::new();
                let rows = table.rows.len() as u64;
                for row in table.rows {
                    by_symbol.entry(row.symbol).or_default().push(row.action);
                }
                report.symbols = by_symbol.len() as u64;
                let actions = by_symbol.into_iter().map(|(symbol, actions)| (file, symbol, actions));
                self.pending.flush.actions.extend(actions);
                self.small(file, rows, table.rejected, report)
            }
        }
    }

    /// Opens the file's entry in the ledger, or goes on with that of a run which did not come to the end. Says how
    /// many rows are behind its checkpoint.
    fn begin(&mut self, mut begin: Begin, ledger: &mut Reader) -> Result<u64, Trouble> {
        if !self.context.options.again {
            let earlier = ledger.snapshot()?.find_import(&begin.digest, &begin.options)?;
            begin.resumed =
                earlier.filter(|record| record.state != ImportState::Done && record.kind == begin.kind);
        }
        let (rows, quarantined) = begin.resumed.as_ref().map_or((0, 0), |r| (r.rows_done, r.quarantined));
        self.checkpoint =
            Some(Checkpoint { file: begin.file, rows, quarantined, quarantined_before: quarantined });
        self.pending.flush.begins.push(begin);
        Ok(rows)
    }

    /// Drops what a file that failed has gathered: a broken file is not imported by halves where that can be helped.
    /// What earlier flushes have of it stays, and the ledger says how far that is and why no further.
    fn fail(&mut self, file: FileNo, message: &str) {
        let own = self.pending.take(file);
        let Some(checkpoint) = self.checkpoint.filter(|checkpoint| checkpoint.file == file) else { return };
        self.pending.flush.begins.extend(own.flush.begins);
        self.pending.flush.marks.push(Mark {
            file,
            rows: checkpoint.rows,
            quarantined: checkpoint.quarantined,
            state: ImportState::Failed,
            message: Some(message.to_owned()),
        });
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
        let mut sorting = Sorting {
            file,
            grain: reader.grain(),
            inspector: Inspector::new(self.context.venues, reader.grain()),
            places: Places::default(),
        };
        report.resumed_at = done;
        let bytes_before = self.context.progress.bytes.load(Ordering::Relaxed);
        while let Some(batch) = reader.next()? {
            let behind = last_line_behind(&batch, done.saturating_sub(report.rows));
            report.rows += (batch.rows.len() + batch.rejected.len()) as u64;
            self.sort(&mut sorting, reader.symbols(), batch, behind, report)?;
            self.context.progress.rows.store(report.rows, Ordering::Relaxed);
            self.context.progress.bytes.store(bytes_before + reader.position().consumed, Ordering::Relaxed);
            if self.context.stop.load(Ordering::Relaxed) {
                self.mark(file, report, ImportState::Interrupted);
                self.flush()?;
                return Ok(Outcome::Interrupted);
            }
            if self.pending.rows >= self.flush_rows {
                self.mark(file, report, ImportState::Running);
                self.flush()?;
            }
        }
        report.symbols = reader.symbols().len() as u64;
        report.notes.extend(reader.notes());
        if report.rows == report.quarantined && report.rows > 0 {
            self.mark(file, report, ImportState::Failed);
            let first =
                report.problems.first().map(|(line, reason)| format!(", the first in line {line}: {reason}"));
            return Ok(Outcome::Failed(format!(
                "no row of this file can be used{}",
                first.unwrap_or_default()
            )));
        }
        self.mark(file, report, ImportState::Done);
        Ok(Outcome::Imported)
    }

    /// Checks the rows of a batch and puts each into the buffer of its series, or into the quarantine.
    fn sort(
        &mut self,
        sorting: &mut Sorting<'_>,
        symbols: &[Symbol],
        batch: CandleBatch,
        behind: Option<u64>,
        report: &mut Report,
    ) -> Result<(), Trouble> {
        let file = sorting.file;
        let mut rejected = batch.rejected.into_iter().filter(|row| Some(row.line) > behind).peekable();
        for row in &batch.rows {
            while let Some(earlier) = rejected.next_if(|rejected| rejected.line < row.line) {
                self.quarantine(file, earlier, report);
            }
            let Some(symbol) = symbols.get(row.symbol as usize) else { continue };
            let inspected = sorting.inspector.candle(row, symbol);
            // Rows of an earlier run are looked at for their stamps alone: what repeats one is still a duplicate.
            if Some(row.line) <= behind {
                continue;
            }
            match inspected {
                Ok(candle) => {
                    let lane = lane_of(candle.session);
                    let at = match sorting.places.get(row.symbol, lane, self.flushes) {
                        Some(at) => at,
                        None => {
                            let at = self.buffer(file, symbol, sorting.grain, lane)?;
                            sorting.places.set(row.symbol, lane, self.flushes, at);
                            at
                        }
                    };
                    if let Some((_, part)) = self.pending.buffers.get_mut(at) {
                        part.candles.push(candle);
                        self.pending.rows += 1;
                    }
                }
                Err(flaw) => {
                    let text = spell(row, symbol, self.context.venues);
                    let (symbol, reason) = (Some(symbol.to_string()), flaw.to_string());
                    self.quarantine(file, Rejected { line: row.line, symbol, text, reason }, report);
                }
            }
        }
        rejected.for_each(|row| self.quarantine(file, row, report));
        Ok(())
    }

    /// The buffer of a series in this flush.
    fn buffer(&mut self, file: FileNo, symbol: &Symbol, grain: Grain, lane: Lane) -> Result<usize, Trouble> {
        let series = Series { symbol: symbol.clone(), grain, lane };
        if let Some(at) = self.pending.by_series.get(&series).copied() {
            if self.pending.buffers.get(at).is_some_and(|(of, _)| *of == file) {
                return Ok(at);
            }
            // A series that another file of this flush has touched waits for its own flush: later files win, and
            // each count belongs to one file. This file's rows stay behind, because they are at no checkpoint yet.
            let own = self.pending.take(file);
            self.flush()?;
            self.pending = own;
        }
        let at = self.pending.buffers.len();
        self.pending.buffers.push((file, Part { series: series.clone(), candles: Candles::default() }));
        self.pending.by_series.insert(series, at);
        Ok(at)
    }

    fn quarantine(&mut self, file: FileNo, row: Rejected, report: &mut Report) {
        report.quarantined += 1;
        if report.problems.len() < PROBLEMS_SHOWN {
            report.problems.push((row.line, row.reason.clone()));
        }
        let before = self.checkpoint.map_or(0, |checkpoint| checkpoint.quarantined_before);
        if before + report.quarantined <= QUARANTINE_MAX {
            self.pending.flush.rejected.push((file, row));
        }
    }

    fn mark(&mut self, file: FileNo, report: &Report, state: ImportState) {
        let Some(checkpoint) = &mut self.checkpoint else { return };
        // A stop among the rows of an earlier run leaves its checkpoint where it was.
        checkpoint.rows = checkpoint.rows.max(report.rows);
        checkpoint.quarantined = checkpoint.quarantined_before + report.quarantined;
        let Checkpoint { rows, quarantined, .. } = *checkpoint;
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
    fn refuse_flaws(&self, path: &Path, report: &mut Report) -> Result<Strictness, Trouble> {
        let Table::Candles(mut reader) = files::open(path, self.context.venues, &self.context.options.read)?
        else {
            return Ok(Strictness::Satisfied);
        };
        let mut inspector = Inspector::new(self.context.venues, reader.grain());
        let (mut count, mut flaws) = (0u64, Vec::new());
        while let Some(batch) = reader.next()? {
            if self.context.stop.load(Ordering::Relaxed) {
                return Ok(Strictness::Unfinished);
            }
            count += batch.rejected.len() as u64;
            flaws.extend(batch.rejected.into_iter().map(|row| (row.line, row.reason)));
            for row in &batch.rows {
                let Some(symbol) = reader.symbols().get(row.symbol as usize) else { continue };
                if let Err(flaw) = inspector.candle(row, symbol) {
                    count += 1;
                    flaws.push((row.line, flaw.to_string()));
                }
            }
            flaws.sort();
            flaws.truncate(PROBLEMS_SHOWN);
        }
        report.problems = flaws;
        match report.problems.first() {
            None => Ok(Strictness::Satisfied),
            Some((line, reason)) => Err(Trouble::File(format!(
                "refused by --strict: {count} rows break a rule, the first in line {line}: {reason}"
            ))),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strictness {
    Satisfied,
    /// Stopped from outside before the end of the file.
    Unfinished,
}

/// What sorting a file's rows into buffers remembers from batch to batch.
struct Sorting<'a> {
    file: FileNo,
    grain: Grain,
    inspector: Inspector<'a>,
    places: Places,
}

/// The line of the last row of a batch that an earlier run has done, given how many rows of the batch those are.
fn last_line_behind(batch: &CandleBatch, rows: u64) -> Option<u64> {
    let last = usize::try_from(rows.checked_sub(1)?).unwrap_or(usize::MAX);
    let mut lines: Vec<u64> = batch.rows.iter().map(|row| row.line).collect();
    lines.extend(batch.rejected.iter().map(|row| row.line));
    lines.sort_unstable();
    lines.get(last).or(lines.last()).copied()
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

/// Two dividends of one day add up, but a row that stands twice is taken for a slip of the file.
fn reject_repeated(table: &mut Records<ActionRow>) {
    let mut seen: Vec<(Symbol, market::Action)> = Vec::new();
    table
        .rows
        .sort_by(|a, b| (&a.symbol, a.action.ex_date, a.line).cmp(&(&b.symbol, b.action.ex_date, b.line)));
    table.rows.retain(|row| {
        seen.retain(|(symbol, action)| *symbol == row.symbol && action.ex_date == row.action.ex_date);
        let new = !seen.iter().any(|(_, action)| *action == row.action);
        if new {
            seen.push((row.symbol.clone(), row.action.clone()));
        } else {
            let (symbol, text) =
                (Some(row.symbol.to_string()), format!("{},{}", row.symbol, row.action.ex_date));
            let reason = "this action stands twice in the file".to_owned();
            table.rejected.push(Rejected { line: row.line, symbol, text, reason });
        }
        new
    });
    table.rejected.sort_by_key(|row| row.line);
}

/// A row that was read but broke a rule, in the words of the quarantine.
fn spell(row: &CandleRow, symbol: &Symbol, venues: &Venues) -> String {
    let time = venues.of(symbol.market()).zone().rfc3339(row.time);
    let [open, high, low, close] =
        [row.open, row.high, row.low, row.close].map(|price| price.text(6).to_string());
    format!("{symbol},{time},{open},{high},{low},{close},{},{}", row.volume, row.turnover.text())
}

/// The file's BLAKE3 digest and size: what makes it the same file tomorrow, under another name too.
fn fingerprint(path: &Path) -> Result<([u8; 32], u64), Trouble> {
    let trouble = |error: std::io::Error| Trouble::File(format!("cannot read: {error}"));
    let mut file = File::open(path).map_err(trouble)?;
    let mut hash = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(trouble)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
        hash.update(chunk);
        bytes += read as u64;
    }
    Ok((*hash.finalize().as_bytes(), bytes))
}
