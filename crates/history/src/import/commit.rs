//! Commits flushes to the store: merges the parts in parallel, then writes each flush in one
//! transaction.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::mpsc::Receiver;

use files::{MarginRow, Rejected, SecurityRow};
use market::{Symbol, Timestamp};
use store::{
    Batch, Change, DatedFigures, ImportId, ImportProgress, ImportRecord, ImportState, Margin, NewImport,
    QuarantineRow, Reader, Security, Series, StoreError, StoredAction, Suspension, Writer,
};

use super::flush::{Begin, Failure, Failures, FileNo, Flush, Mark};
use super::guard::Guard;
use super::lay::{Laid, LayError, OnDamage, Part, RollUps, lay};
use super::overlap::Overlap;
use super::trade_build::{BuiltCandles, TouchedDays};
use super::trade_lay::{LaidTrades, TradePart, lay_trades};
use super::{Context, ImportError, Outcome, Report};

/// Effect of a file's rows on the store, summed over its flushes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    added: u64,
    replaced: u64,
    unchanged: u64,
}

impl Counts {
    fn add(&mut self, change: Change) {
        match change {
            Change::Added => self.added += 1,
            Change::Replaced => self.replaced += 1,
            Change::Unchanged => self.unchanged += 1,
        }
    }
}

/// A file's ledger entry: the counts of earlier runs, and the current position in the file.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ImportId,
    before: Counts,
    rows: u64,
    quarantined: u64,
}

pub(crate) fn commit(
    context: &Context<'_>,
    writer: &mut Writer,
    block_rows: usize,
    failures: &Failures,
    flushes: &Receiver<Flush>,
) -> Result<Committed, ImportError> {
    let (mut ledger, mut guard) = (LedgerEntries::default(), Guard::default());
    let mut overlap = Overlap::default();
    // All other threads depend on the gatherer, so one core is reserved for it.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.saturating_sub(1).max(1);
    // Each worker's snapshot takes a connection; `readers_max` leaves one for the writer.
    let workers = workers.min(context.store.readers_max().unwrap_or(workers));
    let mut readers = Vec::new();
    while let Ok(mut flush) = flushes.recv() {
        let is_live = writer.has_ingest()?;
        failures.all().keys().for_each(|file| flush.forget(*file));
        guard.meet(&flush.begins);
        let mut failed = guard.survey(context, &flush)?;
        failed.keys().for_each(|file| flush.forget(*file));
        let parts = std::mem::take(&mut flush.parts);
        // Each reader opens files, and the process has a file descriptor limit, so open at most one
        // reader per part.
        while readers.len() < workers.min(parts.len()) {
            readers.push(context.store.reader()?);
        }
        let trades = std::mem::take(&mut flush.trades);
        while readers.len() < workers.min(trades.len()) {
            readers.push(context.store.reader()?);
        }
        let retained = is_live.then(|| (parts.clone(), trades.clone()));
        let (mut laid, unlaid) = lay_all(context, &mut readers, block_rows, parts)?;
        let mut laid_trades = lay_all_trades(context, &mut readers, trades)?;
        failed.extend(guard.judge(context, &laid));
        failed.extend(unlaid);
        let mut batch = writer.begin()?;
        if let Some((parts, trades)) = retained {
            failed.extend(lay_changed(context, &batch, block_rows, parts, &mut laid)?);
            lay_changed_trades(context, &batch, trades, &mut laid_trades)?;
        }
        // A checkpoint covers all rows of a file, so if one part cannot be merged, no part of that
        // file is written.
        laid.retain(|part| !failed.contains_key(&part.file));
        laid_trades.retain(|part| !failed.contains_key(&part.file));
        overlap.meet(&laid);
        failed.keys().for_each(|file| flush.forget(*file));
        ledger.trades(&mut batch, &mut flush, laid_trades, (context.now)())?;
        ledger.write(&mut batch, flush, laid, &failed, (context.now)())?;
        batch.commit()?;
        failed.into_iter().for_each(|(file, failure)| failures.add(file, failure));
        if is_live {
            // Ingested rows are merged until the next flush is ready to be written.
            writer.pause();
        }
    }
    writer.resume()?;
    let LedgerEntries { entries, counts, touched } = ledger;
    let imports = entries.into_iter().map(|(file, entry)| (file, entry.id)).collect();
    let (notes, overlap) = (guard.notes(context), overlap.notes(context)?);
    Ok(Committed { notes, overlap, imports, counts, touched, built: HashMap::new() })
}

/// The committer's results per file.
#[derive(Debug)]
pub(crate) struct Committed {
    counts: HashMap<FileNo, Counts>,
    notes: HashMap<FileNo, String>,
    /// Ledger entry of each file.
    pub(crate) imports: BTreeMap<FileNo, ImportId>,
    /// Notes about candles that overlap with candles of another grain.
    overlap: HashMap<FileNo, String>,
    /// Days whose trades have changed.
    pub(crate) touched: TouchedDays,
    built: HashMap<FileNo, String>,
}

impl Committed {
    pub(crate) fn note_built(&mut self, built: &BTreeMap<FileNo, BuiltCandles>) {
        self.built = built.iter().map(|(file, built)| (*file, built.note())).collect();
    }
}

pub(crate) struct LaidPart {
    pub(crate) file: FileNo,
    pub(crate) series: Series,
    rows: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) laid: Laid,
    /// Version of the store from which the stored candles were read.
    version: i64,
}

/// Merges the parts again whose series have changed since they were merged, because ingested rows
/// were merged in the meantime. Returns the files with a failed part.
fn lay_changed(
    context: &Context<'_>,
    batch: &Batch<'_>,
    block_rows: usize,
    parts: Vec<(FileNo, Part)>,
    laid: &mut [LaidPart],
) -> Result<BTreeMap<FileNo, Failure>, ImportError> {
    let version = batch.version()?;
    let mut changed: BTreeMap<(FileNo, Series), usize> = BTreeMap::new();
    for (at, part) in laid.iter().enumerate().filter(|(_, part)| part.version != version) {
        let stored = batch.series_of(&part.series.symbol)?;
        // A merge may also complete roll-ups without changing the minutes.
        let is_written = |series: &Series| part.laid.writes.iter().any(|write| write.series == *series);
        let is_used = |series: &Series| *series == part.series || is_written(series);
        if stored.iter().any(|info| info.version > part.version && is_used(&info.series)) {
            changed.insert((part.file, part.series.clone()), at);
        }
    }
    let mut failed = BTreeMap::new();
    for (file, part) in parts {
        let of_part = changed.get(&(file, part.series.clone())).and_then(|at| laid.get_mut(*at));
        let Some(of_part) = of_part else { continue };
        let venue = context.venues.of(part.series.symbol.market());
        match lay(batch, venue, part, (block_rows, RollUps::All), OnDamage::of(context.options)) {
            Ok(again) => of_part.laid = again,
            Err(LayError::Import(error)) => return Err(error),
            Err(error @ LayError::Overflow { .. }) => {
                failed.insert(file, Failure::Laying(error.to_string()));
            }
        }
    }
    Ok(failed)
}

/// Like [`lay_changed`], for the trades of a day.
fn lay_changed_trades(
    context: &Context<'_>,
    batch: &Batch<'_>,
    parts: Vec<(FileNo, TradePart)>,
    laid: &mut [LaidTrades],
) -> Result<(), ImportError> {
    let version = batch.version()?;
    if laid.iter().all(|part| part.version == version) {
        return Ok(());
    }
    for (file, part) in parts {
        let of_part =
            laid.iter_mut().find(|of| (of.file, &of.symbol, of.day) == (file, &part.symbol, part.day));
        let Some(of_part) = of_part else { continue };
        let stored = batch.trade_days_back(&part.symbol, part.day, 1)?;
        if stored.iter().any(|stored| stored.day == part.day && stored.version > of_part.version)
            && let Some(again) = lay_trades(batch, file, part, OnDamage::of(context.options))?
        {
            *of_part = again;
        }
    }
    Ok(())
}

/// Merges parts in parallel. Returns the merged parts, and the files with a failed part. Each
/// worker reads its own snapshot; the store is not written until all workers have finished.
fn lay_all(
    context: &Context<'_>,
    readers: &mut [Reader],
    block_rows: usize,
    parts: Vec<(FileNo, Part)>,
) -> Result<(Vec<LaidPart>, BTreeMap<FileNo, Failure>), ImportError> {
    let wanted = parts.len();
    let queue = Mutex::new(parts.into_iter());
    let take = || queue.lock().ok().and_then(|mut parts| parts.next());
    let work = |reader: &mut Reader| -> Result<_, ImportError> {
        let snapshot = reader.snapshot()?;
        let version = snapshot.version()?;
        let (mut done, mut failed) = (Vec::new(), Vec::new());
        while let Some((file, part)) = take() {
            let series = part.series.clone();
            let rows = part.candles.len() as u64;
            let first = Timestamp(part.candles.time.iter().min().copied().unwrap_or_default());
            let last = Timestamp(part.candles.time.iter().max().copied().unwrap_or_default());
            let on_damage = OnDamage::of(context.options);
            let venue = context.venues.of(series.symbol.market());
            match lay(&snapshot, venue, part, (block_rows, RollUps::All), on_damage) {
                Ok(laid) => done.push(LaidPart { file, series, rows, first, last, laid, version }),
                Err(LayError::Import(error)) => return Err(error),
                Err(error @ LayError::Overflow { .. }) => failed.push((file, series, error.to_string())),
            }
        }
        Ok((done, failed))
    };
    std::thread::scope(|scope| {
        let readers = readers.iter_mut().take(wanted);
        let workers: Vec<_> = readers.map(|reader| scope.spawn(|| work(reader))).collect();
        let (mut all, mut failed) = (Vec::new(), Vec::new());
        for worker in workers {
            let done = worker.join().map_err(|_| ImportError::Worker)??;
            all.extend(done.0);
            failed.extend(done.1);
        }
        // Workers finish in any order; sorting makes the ledger and the block ids deterministic.
        all.sort_by(|a, b| (a.file, &a.series).cmp(&(b.file, &b.series)));
        failed.sort();
        // Report the first failure per file: the order is reversed because collecting into a map
        // keeps the last value.
        let failed =
            failed.into_iter().rev().map(|(file, _, message)| (file, Failure::Laying(message))).collect();
        Ok((all, failed))
    })
}

/// Merges the trades of each day in parallel. The results are sorted by file, symbol and day.
fn lay_all_trades(
    context: &Context<'_>,
    readers: &mut [Reader],
    parts: Vec<(FileNo, TradePart)>,
) -> Result<Vec<LaidTrades>, ImportError> {
    let wanted = parts.len();
    let queue = Mutex::new(parts.into_iter());
    let take = || queue.lock().ok().and_then(|mut parts| parts.next());
    let work = |reader: &mut Reader| -> Result<Vec<LaidTrades>, ImportError> {
        let snapshot = reader.snapshot()?;
        let mut done = Vec::new();
        while let Some((file, part)) = take() {
            done.extend(lay_trades(&snapshot, file, part, OnDamage::of(context.options))?);
        }
        Ok(done)
    };
    std::thread::scope(|scope| {
        let readers = readers.iter_mut().take(wanted);
        let workers: Vec<_> = readers.map(|reader| scope.spawn(|| work(reader))).collect();
        let mut all = Vec::with_capacity(wanted);
        for worker in workers {
            all.extend(worker.join().map_err(|_| ImportError::Worker)??);
        }
        all.sort_by(|a, b| (a.file, &a.symbol, a.day).cmp(&(b.file, &b.symbol, b.day)));
        Ok(all)
    })
}

/// Ledger entries of the files, and the counts of this run.
#[derive(Debug, Default)]
struct LedgerEntries {
    entries: HashMap<FileNo, Entry>,
    counts: HashMap<FileNo, Counts>,
    touched: TouchedDays,
}

impl LedgerEntries {
    fn write(
        &mut self,
        batch: &mut Batch<'_>,
        mut flush: Flush,
        laid: Vec<LaidPart>,
        failed: &BTreeMap<FileNo, Failure>,
        now: Timestamp,
    ) -> Result<(), ImportError> {
        self.open(batch, std::mem::take(&mut flush.begins), now)?;
        self.securities(batch, std::mem::take(&mut flush.securities))?;
        self.actions(batch, &flush.actions)?;
        self.margins(batch, std::mem::take(&mut flush.margins))?;
        self.suspensions(batch, std::mem::take(&mut flush.suspensions))?;
        self.candles(batch, laid)?;
        let rejected = flush.rejected.into_iter();
        let rejected: Vec<_> = rejected.filter_map(|(file, row)| self.quarantined(file, row)).collect();
        batch.add_quarantine(&rejected)?;
        let failures = failed.iter().filter_map(|(file, failure)| self.failure(*file, failure));
        flush.marks.extend(failures.collect::<Vec<Mark>>());
        Ok(flush.marks.into_iter().try_for_each(|mark| self.checkpoint(batch, mark, now))?)
    }

    fn open(&mut self, batch: &mut Batch<'_>, begins: Vec<Begin>, now: Timestamp) -> Result<(), StoreError> {
        for begin in begins {
            let file = begin.file;
            let entry = match begin.resumed {
                Some(ImportRecord { id, added, replaced, unchanged, rows_done, quarantined, .. }) => {
                    let before = Counts { added, replaced, unchanged };
                    Entry { id, before, rows: rows_done, quarantined }
                }
                None => {
                    let id = batch.start_import(&started(begin, now))?;
                    Entry { id, before: Counts::default(), rows: 0, quarantined: 0 }
                }
            };
            self.entries.insert(file, entry);
        }
        Ok(())
    }

    fn securities(
        &mut self,
        batch: &mut Batch<'_>,
        securities: Vec<(FileNo, SecurityRow)>,
    ) -> Result<(), StoreError> {
        for (file, row) in securities {
            let known = batch.security(&row.symbol)?;
            let change = batch.put_security(&security(row, known))?;
            self.counts.entry(file).or_default().add(change);
        }
        Ok(())
    }

    fn margins(
        &mut self,
        batch: &mut Batch<'_>,
        margins: Vec<(FileNo, MarginRow)>,
    ) -> Result<(), StoreError> {
        for (file, MarginRow { symbol, im, mm, fm, .. }) in margins {
            let change = batch.put_margin(&Margin { symbol, im, mm, fm })?;
            self.counts.entry(file).or_default().add(change);
        }
        Ok(())
    }

    /// Replaces the suspensions of each symbol in the list.
    fn suspensions(
        &mut self,
        batch: &mut Batch<'_>,
        suspensions: Vec<(FileNo, Symbol, Vec<Suspension>)>,
    ) -> Result<(), StoreError> {
        for (file, symbol, suspensions) in suspensions {
            let known = batch.security(&symbol)?.unwrap_or_else(|| Security::new(symbol));
            let rows = suspensions.len() as u64;
            let kept = suspensions.iter().filter(|one| known.suspensions.contains(one)).count() as u64;
            batch.put_security(&Security { suspensions, ..known })?;
            let count = self.counts.entry(file).or_default();
            count.added += rows - kept;
            count.unchanged += kept;
        }
        Ok(())
    }

    fn actions(
        &mut self,
        batch: &mut Batch<'_>,
        actions: &[(FileNo, Symbol, Vec<StoredAction>)],
    ) -> Result<(), StoreError> {
        for (file, symbol, actions) in actions {
            let changes = batch.replace_actions(symbol, actions)?;
            let count = self.counts.entry(*file).or_default();
            count.added += changes.added;
            count.replaced += changes.replaced;
            count.unchanged += changes.unchanged;
        }
        Ok(())
    }

    fn candles(&mut self, batch: &mut Batch<'_>, laid: Vec<LaidPart>) -> Result<(), ImportError> {
        for LaidPart { file, series, rows, first, last, laid, version: _ } in laid {
            batch.ensure_security(&series.symbol)?;
            for write in &laid.writes {
                batch.replace_blocks(&write.series, &write.removed, &write.added)?;
            }
            if let Some(entry) = self.entries.get(&file) {
                batch.add_import_series(entry.id, &series, rows, first, last)?;
                for change in laid.changes.records(entry.id, &series)? {
                    batch.add_import_change(&change)?;
                }
            }
            let count = self.counts.entry(file).or_default();
            count.added += laid.added;
            count.replaced += laid.replaced;
            count.unchanged += laid.unchanged;
        }
        Ok(())
    }

    /// Writes the trades of a flush, and opens the ledger entries of files that begin in this
    /// flush. Must be called before `write`.
    fn trades(
        &mut self,
        batch: &mut Batch<'_>,
        flush: &mut Flush,
        laid: Vec<LaidTrades>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.open(batch, std::mem::take(&mut flush.begins), now)?;
        for (file, symbol, day) in std::mem::take(&mut flush.brought) {
            self.touched.insert((symbol, day), file);
        }
        for LaidTrades { file, symbol, day, rows, first, last, counts, write, version: _ } in laid {
            if let Some((stored, added)) = &write {
                batch.replace_trades(&symbol, day, *stored, added)?;
            }
            if let Some(entry) = self.entries.get(&file) {
                batch.add_import_trades(entry.id, &symbol, rows, first, last)?;
            }
            let count = self.counts.entry(file).or_default();
            count.added += counts.added;
            count.replaced += counts.replaced;
            count.unchanged += counts.unchanged;
            self.touched.insert((symbol, day), file);
        }
        Ok(())
    }

    fn quarantined(&self, file: FileNo, row: Rejected) -> Option<QuarantineRow> {
        let import_id = self.entries.get(&file)?.id;
        let Rejected { line, symbol, text, reason } = row;
        Some(QuarantineRow { import_id, line, symbol, text, reason })
    }

    /// Returns a mark that leaves a failed file at its last checkpoint, or `None` if the file has
    /// no ledger entry.
    fn failure(&self, file: FileNo, failure: &Failure) -> Option<Mark> {
        let Entry { rows, quarantined, .. } = *self.entries.get(&file)?;
        let state = match failure {
            Failure::Interrupted => ImportState::Interrupted,
            Failure::Laying(_) | Failure::Replacing(_) => ImportState::Failed,
        };
        Some(Mark { file, rows, quarantined, state, message: failure.message().map(str::to_owned) })
    }

    fn checkpoint(&mut self, batch: &mut Batch<'_>, mark: Mark, now: Timestamp) -> Result<(), StoreError> {
        let Some(entry) = self.entries.get_mut(&mark.file) else { return Ok(()) };
        (entry.rows, entry.quarantined) = (mark.rows, mark.quarantined);
        let Entry { id, before, .. } = *entry;
        let count = self.counts.get(&mark.file).copied().unwrap_or_default();
        let progress = ImportProgress {
            state: mark.state,
            rows_read: mark.rows,
            rows_done: mark.rows,
            added: before.added + count.added,
            replaced: before.replaced + count.replaced,
            unchanged: before.unchanged + count.unchanged,
            quarantined: mark.quarantined,
            message: mark.message,
        };
        batch.checkpoint_import(id, &progress, now)
    }
}

fn started(begin: Begin, now: Timestamp) -> NewImport {
    NewImport {
        file: begin.path,
        digest: begin.digest,
        bytes: begin.bytes,
        kind: begin.kind.to_owned(),
        options: begin.options,
        started_at: now,
    }
}

/// Combines the gatherer's reports with the committer's counts and failures.
pub(crate) fn join(
    mut reports: Vec<Report>,
    mut committed: Committed,
    mut failures: BTreeMap<FileNo, Failure>,
) -> Vec<Report> {
    for (file, report) in reports.iter_mut().enumerate() {
        report.import = committed.imports.get(&file).copied();
        if let Some(count) = committed.counts.get(&file) {
            report.added += count.added;
            report.replaced += count.replaced;
            report.unchanged += count.unchanged;
        }
        match failures.remove(&file) {
            None => {
                report.notes.extend(committed.notes.remove(&file));
                report.notes.extend(committed.overlap.remove(&file));
                report.notes.extend(committed.built.remove(&file));
            }
            Some(Failure::Laying(message)) => report.outcome = Outcome::Failed(message),
            Some(Failure::Replacing(message)) => report.outcome = Outcome::NotReplaced(message),
            Some(Failure::Interrupted) => report.outcome = Outcome::Interrupted,
        }
    }
    reports
}

/// Merges a row of a securities file into the stored security. Empty columns leave stored values
/// unchanged. If the row has a date, its shares and figures apply starting at that date.
fn security(row: SecurityRow, known: Option<Security>) -> Security {
    let known = known.unwrap_or_else(|| Security::new(row.symbol.clone()));
    let mut security = Security {
        symbol: row.symbol,
        name_en: row.name_en.or(known.name_en),
        name_cn: row.name_cn.or(known.name_cn),
        name_hk: row.name_hk.or(known.name_hk),
        exchange: row.exchange.or(known.exchange),
        currency: row.currency.or(known.currency),
        lot_size: row.lot_size.or(known.lot_size),
        board: row.board.or(known.board),
        listing_date: row.listing_date.or(known.listing_date),
        decimals: row.decimals.unwrap_or(known.decimals),
        kind: row.kind.or(known.kind),
        delisted_on: row.delisted_on.or(known.delisted_on),
        ..known
    };
    if let Some(from) = row.from {
        security.add_figures(DatedFigures {
            from,
            total_shares: row.total_shares,
            circulating_shares: row.circulating_shares,
            hk_shares: row.hk_shares,
            eps: row.eps,
            eps_ttm: row.eps_ttm,
            bps: row.bps,
            dividend_yield: row.dividend_yield,
        });
        return security;
    }
    Security {
        total_shares: row.total_shares.or(security.total_shares),
        circulating_shares: row.circulating_shares.or(security.circulating_shares),
        hk_shares: row.hk_shares.or(security.hk_shares),
        eps: row.eps.or(security.eps),
        eps_ttm: row.eps_ttm.or(security.eps_ttm),
        bps: row.bps.or(security.bps),
        dividend_yield: row.dividend_yield.or(security.dividend_yield),
        ..security
    }
}
