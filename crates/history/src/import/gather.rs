//! Reads files into flushes: detects the kind of each file, looks it up in the ledger, and reads
//! and counts its rows.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use files::{ActionRow, CandleReader, MarginRow, Records, Rejected, SuspensionRow, Table};
use market::{Grain, Symbol, Timestamp};
use store::{ImportRecord, ImportState, Reader, StoredAction, Suspension};

use super::context::{NAMES_SHOWN, PROBLEMS_SHOWN};
use super::flush::{Begin, CommitterGone, Failures, FileNo, Flush, Mark, Pending};
use super::identity::{fingerprint, ledger_options, options_of_unreadable};
use super::inspect::Inspector;
use super::sorting::{Sorting, Unserved, unserved_note};
use super::{Context, ImportError, Outcome, Report};

pub(super) enum Trouble {
    CommitterGone,
    File(String),
    Store(ImportError),
}

impl From<CommitterGone> for Trouble {
    fn from(_: CommitterGone) -> Trouble {
        Trouble::CommitterGone
    }
}

impl From<files::FileError> for Trouble {
    fn from(error: files::FileError) -> Trouble {
        // The report already names the file.
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
    failures: &Failures,
    sender: &SyncSender<Flush>,
) -> Result<Vec<Report>, ImportError> {
    let mut gatherer = Gatherer {
        context,
        flush_rows,
        failures,
        pending: Pending::new(sender),
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
            Err(Trouble::CommitterGone) => return Ok(reports),
            Err(Trouble::Store(error)) => return Err(error),
        }
        reports.push(report);
        if context.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    match gatherer.pending.send() {
        Ok(()) | Err(CommitterGone) => Ok(reports),
    }
}

pub(super) struct Gatherer<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) flush_rows: usize,
    pub(super) failures: &'a Failures,
    pub(super) pending: Pending<'a>,
    /// Checkpoint of the file being read, including rows that are not committed yet. `None` before
    /// its import has begun.
    checkpoint: Option<Checkpoint>,
    /// Digest and options of files imported by this command, which may not be in the ledger yet.
    imported: HashSet<([u8; 32], String)>,
}

#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    file: FileNo,
    rows: u64,
    /// Number of rows quarantined in all runs of the file. A report covers only the current run.
    quarantined: u64,
    quarantined_before: u64,
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
        let unreadable = |error: std::io::Error| Trouble::File(format!("cannot read: {error}"));
        let (digest, bytes) = fingerprint(path).map_err(unreadable)?;
        let options = options_of_unreadable(self.context.options);
        // The ledger stores absolute paths, so that the file can be found from any working
        // directory.
        let path_text = std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
        let mut begin = Begin {
            file,
            source: path.to_owned(),
            path: path_text,
            digest,
            bytes,
            kind: "unknown",
            options,
            resumed: None,
        };
        let table = match files::open(path, self.context.venues, &self.context.options.read) {
            Ok(table) => table,
            Err(error) => {
                report.lacks_symbol = error.problem.lacks_symbol();
                if !self.context.options.strict {
                    self.begin(begin, ledger)?;
                }
                return Err(error.into());
            }
        };
        begin.kind = match &table {
            Table::Candles(_) => "candles",
            Table::Trades(_) => "trades",
            Table::Securities(_) => "securities",
            Table::Actions(_) => "actions",
            Table::Margins(_) => "margins",
            Table::Suspensions(_) => "suspensions",
        };
        report.kind = begin.kind;
        let build = self.context.options.build_meaning(&table)?;
        begin.options = ledger_options(self.context.options, &table, build);
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

    /// Returns when the file was imported before, by this command or according to the ledger, and
    /// its number of rows. Returns `None` if the file was not imported.
    fn known(&self, begin: &Begin, ledger: &mut Reader) -> Result<Option<(Timestamp, u64)>, Trouble> {
        if self.imported.contains(&(begin.digest, begin.options.clone())) {
            return Ok(Some(((self.context.now)(), 0)));
        }
        let earlier = ledger.snapshot()?.find_import(&begin.digest, &begin.options)?;
        // A file imported with quarantined rows has not passed the strict check.
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
                if self.context.options.strict && self.refuse_candles(path, report)?.is_break() {
                    return Ok(Outcome::Interrupted);
                }
                let done = self.begin(begin, ledger)?;
                self.candles(file, reader, done, report)
            }
            Table::Trades(reader) => {
                if self.context.options.strict && self.refuse_trades(path, report)?.is_break() {
                    return Ok(Outcome::Interrupted);
                }
                let done = self.begin(begin, ledger)?;
                self.trades(file, reader, done, report)
            }
            Table::Securities(table) => {
                self.strict_table(&table.rejected)?;
                self.begin(begin, ledger)?;
                let rows = table.rows.len() as u64;
                // A security may have several rows with different start dates.
                report.symbols =
                    table.rows.iter().map(|row| &row.symbol).collect::<HashSet<_>>().len() as u64;
                self.pending.flush_mut().securities.extend(table.rows.into_iter().map(|row| (file, row)));
                self.small(file, rows, (table.rejected, table.omitted), report)
            }
            Table::Actions(mut table) => {
                reject_repeated(&mut table);
                self.strict_table(&table.rejected)?;
                self.begin(begin, ledger)?;
                let mut by_symbol: BTreeMap<Symbol, Vec<StoredAction>> = BTreeMap::new();
                let rows = table.rows.len() as u64;
                for ActionRow { symbol, action, pay_date, .. } in table.rows {
                    by_symbol.entry(symbol).or_default().push(StoredAction { action, pay_date });
                }
                report.symbols = by_symbol.len() as u64;
                let actions = by_symbol.into_iter().map(|(symbol, actions)| (file, symbol, actions));
                self.pending.flush_mut().actions.extend(actions);
                self.small(file, rows, (table.rejected, table.omitted), report)
            }
            Table::Margins(mut table) => {
                reject_second_factors(&mut table);
                self.strict_table(&table.rejected)?;
                self.begin(begin, ledger)?;
                report.symbols = table.rows.len() as u64;
                self.pending.flush_mut().margins.extend(table.rows.into_iter().map(|row| (file, row)));
                self.small(file, report.symbols, (table.rejected, table.omitted), report)
            }
            Table::Suspensions(table) => {
                self.strict_table(&table.rejected)?;
                self.begin(begin, ledger)?;
                let rows = table.rows.len() as u64;
                let mut by_symbol: BTreeMap<Symbol, BTreeSet<Suspension>> = BTreeMap::new();
                for SuspensionRow { symbol, from, to, .. } in table.rows {
                    by_symbol.entry(symbol).or_default().insert(Suspension { from, to });
                }
                report.symbols = by_symbol.len() as u64;
                let all = by_symbol.into_iter().map(|(symbol, of)| (file, symbol, of.into_iter().collect()));
                self.pending.flush_mut().suspensions.extend(all);
                self.small(file, rows, (table.rejected, table.omitted), report)
            }
        }
    }

    /// Opens a ledger entry for the file, or resumes the entry of an unfinished run. Returns the
    /// number of rows before its checkpoint.
    fn begin(&mut self, mut begin: Begin, ledger: &mut Reader) -> Result<u64, Trouble> {
        if !self.context.options.again {
            let earlier = ledger.snapshot()?.find_import(&begin.digest, &begin.options)?;
            let has_ended = |state| matches!(state, ImportState::Done | ImportState::Undone);
            begin.resumed = earlier.filter(|record| !has_ended(record.state) && record.kind == begin.kind);
        }
        let (rows, quarantined) = begin.resumed.as_ref().map_or((0, 0), |r| (r.rows_done, r.quarantined));
        self.checkpoint =
            Some(Checkpoint { file: begin.file, rows, quarantined, quarantined_before: quarantined });
        self.pending.flush_mut().begins.push(begin);
        Ok(rows)
    }

    /// Drops the gathered rows of a failed file, to avoid importing part of a broken file. Rows of
    /// earlier flushes remain stored; the ledger records their number and the error.
    fn fail(&mut self, file: FileNo, message: &str) {
        self.pending.drop_rows(file);
        let Some(checkpoint) = self.checkpoint.filter(|checkpoint| checkpoint.file == file) else { return };
        self.pending.flush_mut().marks.push(Mark {
            file,
            rows: checkpoint.rows,
            quarantined: checkpoint.quarantined,
            state: ImportState::Failed,
            message: Some(message.to_owned()),
        });
    }

    /// Finishes a table of securities, actions, margins or suspensions. Such tables are small, so
    /// each one is read completely and sent as one flush.
    fn small(
        &mut self,
        file: FileNo,
        rows: u64,
        (rejected, omitted): (Vec<Rejected>, u64),
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        report.rows = rows + rejected.len() as u64 + omitted;
        for row in rejected {
            self.pending.quarantine(file, row, self.quarantined_before(), report);
        }
        report.quarantined += omitted;
        self.mark(file, report, ImportState::Done);
        self.pending.send()?;
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
        let before = self.quarantined_before();
        let (grain, floors) = (reader.grain(), &self.context.options.floors);
        let unserved = Unserved::new(self.context.venues, floors, grain);
        let mut sorting = Sorting::new(file, grain, self.context.venues, unserved, before);
        report.resumed_at = done;
        report.understood = Some(reader.understood());
        let bytes_before = self.context.progress.bytes.load(Ordering::Relaxed);
        let mut has_rows = false;
        while let Some(batch) = reader.next()? {
            has_rows |= !batch.rows.is_empty();
            if self.has_failed(file)? {
                return Ok(Outcome::Interrupted);
            }
            let done = done.saturating_sub(report.rows);
            let (rows, omitted) = (batch.rows_read(), batch.omitted);
            report.rows += rows;
            sorting.sort(&mut self.pending, reader.symbols(), batch, done, report)?;
            report.omit(omitted, done < rows);
            self.context.progress.rows.store(report.rows, Ordering::Relaxed);
            self.context.progress.bytes.store(bytes_before + reader.position().consumed, Ordering::Relaxed);
            if self.context.stop.load(Ordering::Relaxed) {
                reader.check_period()?;
                self.mark(file, report, ImportState::Interrupted);
                self.pending.send()?;
                return Ok(Outcome::Interrupted);
            }
            if self.pending.rows() >= self.flush_rows {
                // The period must be verified before rows are sent.
                reader.check_period()?;
                self.mark(file, report, ImportState::Running);
                self.pending.send()?;
            }
        }
        report.understand(has_rows, reader.notes());
        self.end(file, reader.symbols(), grain, report)
    }

    /// Returns `true` if the committer was interrupted in this file, or an error if it rejected the
    /// file.
    pub(super) fn has_failed(&self, file: FileNo) -> Result<bool, Trouble> {
        let Some(failure) = self.failures.of(file) else { return Ok(false) };
        failure.message().map_or(Ok(true), |message| Err(Trouble::File(message.to_owned())))
    }

    /// Finishes a file after its last row: completes the report, and marks the import as done, or
    /// as failed if every row was quarantined.
    pub(super) fn end(
        &mut self,
        file: FileNo,
        symbols: &[Symbol],
        grain: Grain,
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        report.symbols = symbols.len() as u64;
        report.names = symbols.iter().take(NAMES_SHOWN).cloned().collect();
        if report.unserved > 0 {
            report.notes.push(unserved_note(report.unserved, grain, &self.context.options.floors));
        }
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

    /// Returns the number of rows that earlier runs have quarantined in the current file.
    pub(super) fn quarantined_before(&self) -> u64 {
        self.checkpoint.map_or(0, |checkpoint| checkpoint.quarantined_before)
    }

    pub(super) fn mark(&mut self, file: FileNo, report: &Report, state: ImportState) {
        let Some(checkpoint) = &mut self.checkpoint else { return };
        // If the import stops while it skips the rows of an earlier run, the checkpoint must not
        // move back.
        checkpoint.rows = checkpoint.rows.max(report.rows);
        checkpoint.quarantined = checkpoint.quarantined_before + report.quarantined;
        let Checkpoint { rows, quarantined, .. } = *checkpoint;
        self.pending.flush_mut().marks.push(Mark { file, rows, quarantined, state, message: None });
    }

    /// Like [`Gatherer::refuse_trades`], for candles.
    fn refuse_candles(&self, path: &Path, report: &mut Report) -> Result<ControlFlow<()>, Trouble> {
        let Table::Candles(mut reader) = files::open(path, self.context.venues, &self.context.options.read)?
        else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut inspector = Inspector::new(self.context.venues, reader.grain());
        self.refuse(report, |flaws| {
            let Some(batch) = reader.next()? else { return Ok(None) };
            flaws.extend(batch.rejected.into_iter().map(|row| (row.line, row.reason)));
            flaws.extend(batch.rows.iter().filter_map(|row| {
                let flaw = inspector.inspect(row, reader.symbols().get(row.symbol as usize)?).err()?;
                Some((row.line, flaw.to_string()))
            }));
            Ok(Some(batch.omitted))
        })
    }

    /// Returns an error if the file has any flaw, and breaks if the import is stopped. `next`
    /// appends the flaws of the next batch with their line numbers, and returns how many it
    /// omitted, or `None` at the end of the file.
    pub(super) fn refuse(
        &self,
        report: &mut Report,
        mut next: impl FnMut(&mut Vec<(u64, String)>) -> Result<Option<u64>, Trouble>,
    ) -> Result<ControlFlow<()>, Trouble> {
        let (mut count, mut flaws) = (0, Vec::new());
        loop {
            let shown = flaws.len();
            let Some(omitted) = next(&mut flaws)? else { break };
            if self.context.stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
            count += (flaws.len() - shown) as u64 + omitted;
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

/// Rejects exact duplicates of a row. Different dividends on the same day are valid and add up.
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
            let reason = "duplicate action in the file".to_owned();
            table.rejected.push(Rejected { line: row.line, symbol, text, reason });
        }
        new
    });
    table.rejected.sort_by_key(|row| row.line);
}

/// Rejects every row after the first one for a symbol, because the intended factors are ambiguous.
fn reject_second_factors(table: &mut Records<MarginRow>) {
    let mut seen = HashSet::new();
    table.rows.retain(|row| {
        let new = seen.insert(row.symbol.clone());
        if !new {
            let MarginRow { line, symbol, im, mm, fm } = row;
            let text = format!("{symbol},{im},{mm},{fm}");
            let reason = "duplicate symbol in the file".to_owned();
            table.rejected.push(Rejected { line: *line, symbol: Some(symbol.to_string()), text, reason });
        }
        new
    });
    table.rejected.sort_by_key(|row| row.line);
}
