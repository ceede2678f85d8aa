//! Flushes to the store: parts are laid on all cores, then everything of a flush is one transaction.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::mpsc::Receiver;

use files::SecurityRow;
use market::Timestamp;
use store::{
    Change, ImportId, ImportProgress, ImportRecord, NewImport, QuarantineRow, Reader, Security, Writer,
};

use super::gather::{Begin, FileNo, Flush};
use super::lay::{Laid, OnDamage, Part, lay};
use super::{Context, ImportError, Report};

/// How a file ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Imported,
    /// The ledger has this very file, imported with the same options.
    Known {
        at: Timestamp,
    },
    /// Stopped from outside; the same command goes on behind the last checkpoint.
    Interrupted,
    Failed(String),
}

/// What a file's rows did to the store, summed over its flushes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    added: u64,
    replaced: u64,
    unchanged: u64,
}

/// A file's entry in the ledger, and what earlier runs of it have counted there.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ImportId,
    before: Counts,
}

pub(crate) fn commit(
    context: &Context<'_>,
    writer: &mut Writer,
    block_rows: usize,
    flushes: &Receiver<Flush>,
) -> Result<HashMap<FileNo, Counts>, ImportError> {
    let mut ids: HashMap<FileNo, Entry> = HashMap::new();
    let mut counts: HashMap<FileNo, Counts> = HashMap::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut readers = (0..cores).map(|_| context.store.reader()).collect::<Result<Vec<Reader>, _>>()?;
    while let Ok(mut flush) = flushes.recv() {
        let parts = std::mem::take(&mut flush.parts);
        let laid = lay_all(context, &mut readers, block_rows, parts)?;
        write(context, writer, flush, laid, &mut ids, &mut counts)?;
    }
    Ok(counts)
}

type LaidPart = (FileNo, store::Series, u64, Timestamp, Timestamp, Laid);

/// Lays parts side by side. Each worker reads through its own snapshot; nothing is written meanwhile.
fn lay_all(
    context: &Context<'_>,
    readers: &mut [Reader],
    block_rows: usize,
    parts: Vec<(FileNo, Part)>,
) -> Result<Vec<LaidPart>, ImportError> {
    let queue = Mutex::new(parts.into_iter());
    let take = || queue.lock().ok().and_then(|mut parts| parts.next());
    let work = |reader: &mut Reader| -> Result<Vec<LaidPart>, ImportError> {
        let snapshot = reader.snapshot()?;
        let mut done = Vec::new();
        while let Some((file, part)) = take() {
            let series = part.series.clone();
            let rows = part.candles.len() as u64;
            let first = part.candles.time.iter().min().copied().unwrap_or_default();
            let last = part.candles.time.iter().max().copied().unwrap_or_default();
            let on_damage = if context.options.again { OnDamage::Drop } else { OnDamage::Stop };
            let laid =
                lay(&snapshot, context.venues.of(series.symbol.market()), part, block_rows, on_damage)?;
            done.push((file, series, rows, Timestamp(first), Timestamp(last), laid));
        }
        Ok(done)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = readers.iter_mut().map(|reader| scope.spawn(|| work(reader))).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| ImportError::Worker)??);
        }
        // Workers finish in any order; the ledger and the block ids should not depend on it.
        all.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Ok(all)
    })
}

fn write(
    context: &Context<'_>,
    writer: &mut Writer,
    flush: Flush,
    laid: Vec<LaidPart>,
    ids: &mut HashMap<FileNo, Entry>,
    counts: &mut HashMap<FileNo, Counts>,
) -> Result<(), ImportError> {
    let now = (context.now)();
    let mut batch = writer.begin()?;
    for begin in flush.begins {
        let file = begin.file;
        let entry = match begin.resumed {
            Some(ImportRecord { id, added, replaced, unchanged, .. }) => {
                Entry { id, before: Counts { added, replaced, unchanged } }
            }
            None => Entry { id: batch.start_import(&started(begin, now))?, before: Counts::default() },
        };
        ids.insert(file, entry);
    }
    for (file, row) in flush.securities {
        let count = counts.entry(file).or_default();
        let known = batch.security(&row.symbol)?;
        match batch.put_security(&security(row, known))? {
            Change::Added => count.added += 1,
            Change::Replaced => count.replaced += 1,
            Change::Unchanged => count.unchanged += 1,
        }
    }
    for (file, symbol, actions) in &flush.actions {
        let changes = batch.replace_actions(symbol, actions)?;
        let count = counts.entry(*file).or_default();
        count.added += changes.added;
        count.replaced += changes.replaced;
        count.unchanged += changes.unchanged;
    }
    for (file, series, rows, first, last, laid) in laid {
        batch.ensure_security(&series.symbol)?;
        for write in &laid.writes {
            batch.replace_blocks(&write.series, &write.removed, &write.added)?;
        }
        if let Some(entry) = ids.get(&file) {
            batch.add_import_series(entry.id, &series, rows, first, last)?;
        }
        let count = counts.entry(file).or_default();
        count.added += laid.added;
        count.replaced += laid.replaced;
        count.unchanged += laid.unchanged;
    }
    let quarantine: Vec<QuarantineRow> = flush
        .rejected
        .into_iter()
        .filter_map(|(file, row)| {
            let import_id = ids.get(&file)?.id;
            Some(QuarantineRow {
                import_id,
                line: row.line,
                symbol: row.symbol,
                text: row.text,
                reason: row.reason,
            })
        })
        .collect();
    batch.add_quarantine(&quarantine)?;
    for mark in flush.marks {
        let Some(Entry { id, before }) = ids.get(&mark.file) else { continue };
        let count = counts.get(&mark.file).copied().unwrap_or_default();
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
        batch.checkpoint_import(*id, &progress, now)?;
    }
    batch.commit()?;
    Ok(())
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

/// Reports of the gatherer, completed with what the committer counted.
pub(crate) fn join(mut reports: Vec<Report>, counts: HashMap<FileNo, Counts>) -> Vec<Report> {
    for (file, report) in reports.iter_mut().enumerate() {
        if let Some(count) = counts.get(&file) {
            report.added += count.added;
            report.replaced += count.replaced;
            report.unchanged += count.unchanged;
        }
    }
    reports
}

/// A row of a securities file laid over what is known: a file that lacks a column says nothing about it.
fn security(row: SecurityRow, known: Option<Security>) -> Security {
    let known = known.unwrap_or_else(|| Security::new(row.symbol.clone()));
    Security {
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
        total_shares: row.total_shares.or(known.total_shares),
        circulating_shares: row.circulating_shares.or(known.circulating_shares),
        hk_shares: row.hk_shares.or(known.hk_shares),
        eps: row.eps.or(known.eps),
        eps_ttm: row.eps_ttm.or(known.eps_ttm),
        bps: row.bps.or(known.bps),
        dividend_yield: row.dividend_yield.or(known.dividend_yield),
    }
}
