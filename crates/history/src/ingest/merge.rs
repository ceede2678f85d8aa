//! Merges logged batches into blocks, with the code of the import. A series that receives rows has
//! a short block at its end, which is fast to encode. When several short blocks have accumulated,
//! they are joined.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use market::{
    Candle, Candles, Date, Grain, Symbol, Timestamp, TradeCandles, TradeHours, Trades, Venue, Venues,
};
use store::{
    Batch, ImportId, ImportProgress, ImportRecord, ImportState, IngestBatch, IngestWriter, Lane, NewBlock,
    NewImport, PartialMinute, QuarantineRow, Reader, Series, Snapshot, Store, StoreError, View,
};

use super::tails::{self, LaidTail, Tail, Tails};
use super::{
    Commit, CommittedCandle, Counts, Effect, IngestError, MergeVersions, RecentCommits, RefusedRow, end_of,
};
use crate::adjustment;
use crate::import::ImportError;
use crate::import::changes::Changes;
use crate::import::context::QUARANTINE_MAX;
use crate::import::lay::{self, BLOCK_ROWS, Laid, LayError, OnDamage, Part, RUNNING_ROWS, RollUps};
use crate::import::trade_lay;
use crate::lane_of;
use crate::roll_ups::range_of;

/// Number of candles of the short block at the end of a series, which is fast to encode.
pub(super) const SHORT_ROWS: usize = RUNNING_ROWS;
/// Sizes of the blocks into which shorter ones are joined: one page, and a full block.
const JOINED_ROWS: [usize; 2] = [256, BLOCK_ROWS];
/// Maximum number of bytes of batches per merge, after the first.
const BYTES_MAX: usize = 16 << 20;
/// Maximum weight of the cached batches of a merge, after the first batch ([`Commit::weight`]).
const WEIGHT_MAX: usize = 200_000;
const DAY_S: i64 = 86_400;

/// Merges batches. Used by one thread at a time.
#[derive(Debug)]
pub struct Merger {
    venues: Venues,
    grace_s: i64,
    writer: IngestWriter,
    reader: Reader,
    merges: MergeVersions,
    recent: RecentCommits,
    tails: Tails,
}

/// Result of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// All batches up to this one are merged.
    pub through: i64,
    /// Whether this merge changed the store.
    pub has_changed: bool,
    /// Whether more batches are waiting.
    pub has_more: bool,
    /// When the next minute becomes final.
    pub next_final: Option<Timestamp>,
}

/// Rows of one series, collected from batches.
#[derive(Debug, Default)]
struct Gathered {
    candles: BTreeMap<i64, Candle>,
    /// Stamps of corrected candles.
    corrected: BTreeSet<i64>,
    /// Number of rows by source.
    sources: BTreeMap<String, u64>,
    /// Minutes up to this stamp are final.
    final_through: Option<i64>,
    partial: BTreeSet<i64>,
}

/// New trades of one symbol and day.
#[derive(Debug, Default)]
struct GatheredTrades {
    trades: Trades,
    sources: BTreeMap<String, u64>,
    builds: bool,
}

/// A series after its rows were merged in memory.
#[derive(Debug)]
struct LaidSeries {
    series: Series,
    gathered: Gathered,
    laid: Laid,
    /// Index of the series among the series of which only the last blocks change. `None` if other
    /// blocks change too.
    end: Option<usize>,
}

/// Contribution of a source to a merge.
#[derive(Debug, Default)]
struct Contribution {
    counts: Counts,
    refused: Vec<RefusedRow>,
}

impl Merger {
    pub(super) fn open(
        store: &Store,
        venues: &Venues,
        grace_s: i64,
        (merges, recent): (MergeVersions, RecentCommits),
    ) -> Result<Merger, IngestError> {
        let (writer, reader) = (store.ingest_writer()?, store.reader()?);
        Ok(Merger {
            venues: venues.clone(),
            grace_s,
            writer,
            reader,
            merges,
            recent,
            tails: Tails::default(),
        })
    }

    /// Returns committed batches that are merged, in the range `after` (exclusive) to `through`
    /// (inclusive). They are read from the log unless `recent` has all of them.
    pub fn commits(
        reader: &mut Reader,
        recent: Option<&RecentCommits>,
        (after, through): (i64, i64),
    ) -> Result<Vec<Arc<Commit>>, IngestError> {
        if let Some(commits) = recent.and_then(|recent| recent.between(after, through)) {
            return Ok(commits);
        }
        let batches = reader.view().ingest_batches(after, through)?;
        batches.iter().map(|batch| Commit::decode(batch).map(Arc::new)).collect()
    }

    /// Returns the state without merging. `has_more` is true if a merge is needed.
    pub fn waiting(view: &View, now: Timestamp) -> Result<Merged, IngestError> {
        let (through, newest) = (view.ingest_applied()?, view.ingest_newest()?);
        let next_final = view.next_final_minute()?;
        let has_more = newest > through || next_final.is_some_and(|next| next <= now);
        Ok(Merged { through, has_changed: false, has_more, next_final })
    }

    /// Merges waiting batches, and marks partial minutes as final if they are due. Fails with an
    /// error for which [`IngestError::is_busy`] is true if another process is writing to the store.
    pub fn merge(&mut self, now: Timestamp) -> Result<Merged, IngestError> {
        let waiting = Merger::waiting(self.reader.view(), now)?;
        if !waiting.has_more {
            return Ok(waiting);
        }
        self.writer.lock_each_transaction()?;
        let merged = self.merge_locked(now);
        self.writer.unlock();
        if !matches!(merged, Ok(Some(_))) {
            // The caches may include uncommitted rows.
            self.tails.reset();
        }
        // If another process has written in the meantime, the caller tries again.
        merged.map(|merged| merged.unwrap_or(waiting))
    }

    /// Returns `None` if the store has changed between reading and writing.
    fn merge_locked(&mut self, now: Timestamp) -> Result<Option<Merged>, IngestError> {
        let snapshot = self.reader.snapshot()?;
        let seen = (snapshot.version()?, snapshot.ingest_applied()?);
        self.tails.follow(seen.0);
        let (_, before) = seen;
        let (commits, has_more) = waiting_batches(&snapshot, &self.recent, before)?;
        let through = commits.last().map_or(before, |commit| commit.id);
        let due = snapshot.minutes_final_by(now)?;

        let (mut series, trades, mut contributions) = gather(&self.venues, &commits);
        let trades = lay_trades(&snapshot, &self.venues, trades, &mut series, &mut contributions)?;
        for minute in due.iter().filter(|minute| is_hour_over(&self.venues, minute, now)) {
            // Without new rows, only the missing roll-ups of the series are added.
            series.entry(series_of(minute)).or_default();
        }
        let (laid, mut ends) = lay_all(&snapshot, &self.venues, &mut self.tails, series, &mut contributions)?;
        let has_days = laid.iter().any(|part| part.series.grain == Grain::Day);
        drop(snapshot);

        let mut batch = self.writer.begin()?;
        let version = batch.version()?;
        if (version, batch.ingest_applied()?) != seen {
            return Ok(None);
        }
        let mut ledger = Ledger { now, entries: BTreeMap::new() };
        tails::write(&mut batch, &mut ends)?;
        for part in laid.iter().filter(|part| part.end.is_none()) {
            write(&mut batch, part)?;
        }
        record(&mut batch, &laid, &mut ledger)?;
        for (symbol, day, gathered, (retained, blocks)) in &trades {
            batch.replace_trades(symbol, *day, *retained, blocks)?;
            let (first, last) = (gathered.trades.time.iter().min(), gathered.trades.time.iter().max());
            if let (Some(first), Some(last)) = (first, last) {
                for (source, rows) in &gathered.sources {
                    let id = ledger.entry(&mut batch, source)?;
                    batch.add_import_trades(id, symbol, *rows, Timestamp(*first), Timestamp(*last))?;
                }
            }
        }
        due.iter().for_each(|minute| self.tails.finish(minute));
        put_finality(&mut batch, (&self.venues, self.grace_s), (&laid, &mut ends), &due, now)?;
        if has_days {
            adjustment::keep_all(&mut batch, &self.venues)?;
        }
        ledger.close(&mut batch, contributions)?;
        batch.put_push_numbers(last_numbers(&commits))?;
        batch.ingest_applied_through(through)?;
        let after = batch.version()?;
        let next_final = batch.next_final_minute()?;
        batch.commit()?;
        self.merges.note(version, after);
        self.tails.committed(after, ends);
        Ok(Some(Merged { through, has_changed: true, has_more, next_final }))
    }
}

/// Returns whether the hour of a minute has ended, after which its roll-ups do not change.
fn is_hour_over(venues: &Venues, minute: &PartialMinute, now: Timestamp) -> bool {
    let (_, end) = range_of(venues.of(minute.symbol.market()), Grain::Minute60, minute.at);
    end <= now
}

fn series_of(minute: &PartialMinute) -> Series {
    Series { symbol: minute.symbol.clone(), grain: Grain::Minute, lane: minute.lane }
}

/// Returns the last number that the batches reserve for the pushes of each security.
fn last_numbers(commits: &[Arc<Commit>]) -> BTreeMap<&Symbol, i64> {
    let mut last = BTreeMap::new();
    commits.iter().for_each(|commit| last.extend(commit.last_numbers()));
    last
}

/// Records which minutes are final.
fn put_finality(
    batch: &mut Batch<'_>,
    (venues, grace_s): (&Venues, i64),
    (laid, ends): (&[LaidSeries], &mut [Tail]),
    due: &[PartialMinute],
    now: Timestamp,
) -> Result<(), IngestError> {
    let mut finished: Vec<(Symbol, Lane, Timestamp)> =
        due.iter().map(|minute| (minute.symbol.clone(), minute.lane, minute.at)).collect();
    let mut partial = Vec::new();
    let due: HashMap<(&Symbol, Lane), Timestamp> =
        due.iter().map(|minute| ((&minute.symbol, minute.lane), minute.at)).collect();
    let minutes = laid.iter().filter(|part| part.series.grain == Grain::Minute);
    for LaidSeries { series, gathered, end, .. } in minutes {
        let venue = venues.of(series.symbol.market());
        let mut tail = end.and_then(|end| ends.get_mut(end));
        if let (Some(tail), Some(at)) = (tail.as_deref_mut(), due.get(&(&series.symbol, series.lane))) {
            tail.finish(*at);
        }
        if let Some(through) = gathered.final_through
            && tail.as_deref_mut().is_none_or(|tail| tail.finish(Timestamp(through)))
        {
            finished.push((series.symbol.clone(), series.lane, Timestamp(through)));
        }
        for at in gathered.partial.iter().filter(|at| Some(**at) > gathered.final_through) {
            let at = Timestamp(*at);
            let final_at = Timestamp(end_of(venue, Grain::Minute, at).0.saturating_add(grace_s));
            let minute = PartialMinute { symbol: series.symbol.clone(), lane: series.lane, at, final_at };
            if final_at > now && tail.as_deref_mut().is_none_or(|tail| tail.put_partial(&minute)) {
                partial.push(minute);
            }
        }
    }
    batch.finish_minutes(&finished)?;
    Ok(batch.put_partial_minutes(&partial)?)
}

/// Returns the batches of one merge, and whether there may be more.
fn waiting_batches(
    snapshot: &Snapshot<'_>,
    recent: &RecentCommits,
    after: i64,
) -> Result<(Vec<Arc<Commit>>, bool), IngestError> {
    let mut commits = recent.after(after);
    if commits.is_empty() {
        let (batches, has_more) = portion(snapshot.ingest_batches(after, i64::MAX)?);
        let commits = batches.iter().map(|batch| Commit::decode(batch).map(Arc::new));
        return Ok((commits.collect::<Result<_, _>>()?, has_more));
    }
    let mut weight = 0;
    let taken = commits.iter().take_while(|commit| {
        let is_first = weight == 0;
        weight += commit.weight();
        is_first || weight <= WEIGHT_MAX
    });
    commits.truncate(taken.count());
    let through = commits.last().map_or(after, |commit| commit.id);
    let has_more = snapshot.ingest_newest()? > through;
    Ok((commits, has_more))
}

/// Returns as many batches as fit into one merge, and whether there are more.
fn portion(mut batches: Vec<IngestBatch>) -> (Vec<IngestBatch>, bool) {
    let mut bytes = 0;
    let taken = batches.iter().take_while(|batch| {
        let is_first = bytes == 0;
        bytes += batch.body.len();
        is_first || bytes <= BYTES_MAX
    });
    let taken = taken.count();
    let has_more = taken < batches.len();
    batches.truncate(taken);
    (batches, has_more)
}

type SeriesRows = BTreeMap<Series, Gathered>;
type TradeRows = BTreeMap<(Symbol, Date), GatheredTrades>;
type Contributions = BTreeMap<String, Contribution>;

/// Sorts the rows of batches by series. If a stamp has several rows, the last one is used.
fn gather(venues: &Venues, commits: &[Arc<Commit>]) -> (SeriesRows, TradeRows, Contributions) {
    let (mut series, mut trades) = (SeriesRows::new(), TradeRows::new());
    let mut contributions = Contributions::new();
    for commit in commits {
        let contribution = contributions.entry(commit.source.clone()).or_default();
        contribution.counts.accepted += commit.counts.accepted;
        contribution.counts.unchanged += commit.counts.unchanged;
        contribution.counts.replaced += commit.counts.replaced;
        contribution.counts.refused += commit.counts.refused;
        contribution.refused.extend(commit.refused.iter().cloned());
        for row in &commit.candles {
            series.entry(row.series()).or_default().add(row, &commit.source);
        }
        for row in &commit.trades {
            let hours = TradeHours::new(venues.of(row.symbol.market())).place(row.trade.time);
            // The row was validated before it was committed.
            let Ok(place) = hours else { continue };
            let day = trades.entry((row.symbol.clone(), place.day)).or_default();
            day.trades.push(row.trade);
            day.builds |= commit.builds;
            *day.sources.entry(commit.source.clone()).or_default() += 1;
        }
    }
    (series, trades, contributions)
}

impl Gathered {
    fn add(&mut self, row: &CommittedCandle, source: &str) {
        let at = row.candle.time.0;
        self.candles.insert(at, row.candle);
        *self.sources.entry(source.to_owned()).or_default() += 1;
        if row.effect == Effect::Replaced {
            self.corrected.insert(at);
        }
        self.settle(at, row.is_final);
    }

    /// A later minute makes all earlier ones final.
    fn settle(&mut self, at: i64, is_final: bool) {
        let through = if is_final { at } else { at - 1 };
        self.final_through = self.final_through.max(Some(through));
        if is_final {
            self.partial.remove(&at)
        } else {
            self.partial.insert(at)
        };
    }
}

type LaidTrades = Vec<(Symbol, Date, GatheredTrades, (usize, Vec<NewBlock>))>;

/// Adds trades to their days in memory, and the candles built from them to `series`.
fn lay_trades(
    snapshot: &Snapshot<'_>,
    venues: &Venues,
    trades: TradeRows,
    series: &mut SeriesRows,
    contributions: &mut Contributions,
) -> Result<LaidTrades, IngestError> {
    let mut laid = LaidTrades::with_capacity(trades.len());
    for ((symbol, day), gathered) in trades {
        let blocks = trade_lay::add(snapshot, &symbol, day, &gathered.trades)?;
        if gathered.builds {
            let venue = venues.of(symbol.market());
            let mut all = trade_lay::of_day(snapshot, &symbol, day)?;
            all.append_rows(&gathered.trades, 0..gathered.trades.len());
            match TradeCandles::of(venue, day, &all.sorted()) {
                Ok(built) => add_built(venue, &symbol, &gathered, &built.minutes, series),
                Err(error) => refuse(contributions, &gathered.sources, &symbol, &error.to_string()),
            }
        }
        laid.push((symbol, day, gathered, blocks));
    }
    Ok(laid)
}

/// Adds the candles of minutes that have new trades. A candle is final when a later one begins.
fn add_built(
    venue: &Venue,
    symbol: &Symbol,
    gathered: &GatheredTrades,
    minutes: &Candles,
    series: &mut SeriesRows,
) {
    let mut hours = TradeHours::new(venue);
    let places = gathered.trades.iter().filter_map(|trade| hours.place(trade.time).ok()?.minute);
    let touched: BTreeSet<i64> = places.map(|stamp| stamp.0).collect();
    for candle in minutes.iter().filter(|candle| touched.contains(&candle.time.0)) {
        let key = Series { symbol: symbol.clone(), grain: Grain::Minute, lane: lane_of(candle.session) };
        let of_series = series.entry(key).or_default();
        of_series.candles.insert(candle.time.0, candle);
        of_series.settle(candle.time.0, false);
        for (source, rows) in &gathered.sources {
            *of_series.sources.entry(source.clone()).or_default() += rows;
        }
    }
}

/// Quarantines the rows of a series that cannot be stored: their sum overflows, or a stored block is
/// damaged.
fn refuse(contributions: &mut Contributions, sources: &BTreeMap<String, u64>, symbol: &Symbol, reason: &str) {
    let Some((source, _)) = sources.last_key_value() else { return };
    let contribution = contributions.entry(source.clone()).or_default();
    contribution.counts.refused += 1;
    let (symbol, reason) = (Some(symbol.to_string()), reason.to_owned());
    contribution.refused.push(RefusedRow { row: 0, symbol, text: String::new(), reason });
}

fn lay_all(
    snapshot: &Snapshot<'_>,
    venues: &Venues,
    tails: &mut Tails,
    series: SeriesRows,
    contributions: &mut Contributions,
) -> Result<(Vec<LaidSeries>, Vec<Tail>), IngestError> {
    let (mut all, mut ends) = (Vec::with_capacity(series.len()), Vec::new());
    for (series, gathered) in series {
        let venue = venues.of(series.symbol.market());
        let candles: Candles = gathered.candles.values().copied().collect();
        if candles.is_empty() {
            tails.forget(&series);
        }
        let laid = match tails.lay(snapshot, venue, &series, &candles) {
            Ok(Some(LaidTail { tail, changes })) => {
                ends.push(tail);
                Ok((Laid { changes, ..Laid::default() }, Some(ends.len() - 1)))
            }
            Ok(None) if candles.is_empty() => {
                lay::complete_roll_ups(snapshot, venue, &series, SHORT_ROWS).map(|laid| (laid, None))
            }
            Ok(None) => {
                let block_rows = block_rows(snapshot, &series, &candles)?;
                let part = Part { series: series.clone(), candles };
                let size = (block_rows, RollUps::BeforeNewestHour);
                lay::lay(snapshot, venue, part, size, OnDamage::Stop).map(|laid| (laid, None))
            }
            Err(error) => Err(error),
        };
        match laid {
            Ok((laid, end)) => all.push(LaidSeries { series, gathered, laid, end }),
            Err(LayError::Import(error)) if !is_damage(&error) => return Err(error.into()),
            // A damaged series must not prevent the merge of others.
            Err(error) => {
                refuse(contributions, &gathered.sources, &series.symbol, &error.to_string());
            }
        }
    }
    Ok((all, ends))
}

fn is_damage(error: &ImportError) -> bool {
    matches!(error, ImportError::Damaged { .. } | ImportError::Store(StoreError::Damaged { .. }))
}

/// Returns the maximum number of rows per block: the size of a short block if the rows are at the
/// end of the series, otherwise the size of a full block.
fn block_rows(snapshot: &Snapshot<'_>, series: &Series, new: &Candles) -> Result<usize, IngestError> {
    let first = new.time.first().copied().unwrap_or_default();
    let last = snapshot.blocks_back(series, Timestamp(i64::MAX), 1)?.last().copied();
    let is_at_end = last.is_none_or(|last| {
        first > last.last.0 || (first >= last.first.0 && (last.rows as usize) < SHORT_ROWS)
    });
    Ok(if is_at_end { SHORT_ROWS } else { BLOCK_ROWS })
}

fn write(batch: &mut Batch<'_>, part: &LaidSeries) -> Result<(), IngestError> {
    batch.ensure_security(&part.series.symbol)?;
    for write in &part.laid.writes {
        batch.replace_blocks(&write.series, &write.removed, &write.added)?;
        if write.added.iter().any(|block| block.rows as usize >= SHORT_ROWS) {
            join_short_blocks(batch, &write.series)?;
        }
    }
    Ok(())
}

/// Writes the changes to series, by source, and the corrected candles to the ledger.
fn record(batch: &mut Batch<'_>, laid: &[LaidSeries], ledger: &mut Ledger) -> Result<(), IngestError> {
    let mut parts = Vec::with_capacity(laid.len());
    for LaidSeries { series, gathered, laid, .. } in laid {
        let (first, last) = (gathered.candles.first_key_value(), gathered.candles.last_key_value());
        let (Some((first, _)), Some((last, _))) = (first, last) else { continue };
        for (source, rows) in &gathered.sources {
            parts.push((ledger.entry(batch, source)?, series, *rows, Timestamp(*first), Timestamp(*last)));
        }
        let Some((source, _)) = gathered.sources.last_key_value() else { continue };
        let mut changes = Changes::default();
        let replaced = laid.changes.replaced.iter();
        replaced.filter(|old| gathered.corrected.contains(&old.time.0)).for_each(|old| changes.replace(old));
        if !changes.replaced.is_empty() {
            let id = ledger.entry(batch, source)?;
            for change in changes.records(id, series)? {
                batch.add_import_change(&change)?;
            }
        }
    }
    Ok(batch.add_import_series_all(&parts)?)
}

/// Joins the short blocks at the end of a series when they fill a longer one.
fn join_short_blocks(batch: &mut Batch<'_>, series: &Series) -> Result<(), IngestError> {
    for joined in JOINED_ROWS {
        let view: &View = batch;
        let mut entries = view.blocks_back(series, Timestamp(i64::MAX), BLOCK_ROWS)?;
        let full = entries.iter().rposition(|entry| entry.rows as usize >= joined);
        entries.drain(..full.map_or(0, |full| full + 1));
        let rows: usize = entries.iter().map(|entry| entry.rows as usize).sum();
        let Some(first) = entries.first().filter(|_| rows >= joined) else { continue };
        let window = (first.first, Timestamp(i64::MAX));
        let candles = lay::stored(view, series, window.0, window.1)?;
        if let Some(write) = lay::replace_window(view, series, window, &candles)? {
            batch.replace_blocks(&write.series, &write.removed, &write.added)?;
        }
    }
    Ok(())
}

/// The ledger entries of the sources, one per source and day.
struct Ledger {
    now: Timestamp,
    entries: BTreeMap<String, (ImportId, Option<ImportRecord>)>,
}

impl Ledger {
    fn entry(&mut self, batch: &mut Batch<'_>, source: &str) -> Result<ImportId, IngestError> {
        if let Some((id, _)) = self.entries.get(source) {
            return Ok(*id);
        }
        let day = self.now.0.div_euclid(DAY_S);
        let options = format!("source={source} day={day}");
        let digest = *blake3::hash(format!("ingest {options}").as_bytes()).as_bytes();
        let record = batch.find_import(&digest, &options)?;
        let id = match &record {
            Some(record) => record.id,
            None => batch.start_import(&NewImport {
                file: format!("ingest:{source}"),
                digest,
                bytes: 0,
                kind: "ingest".to_owned(),
                options,
                started_at: self.now,
            })?,
        };
        self.entries.insert(source.to_owned(), (id, record));
        Ok(id)
    }

    /// Adds the counts of this merge, and quarantines refused rows.
    fn close(mut self, batch: &mut Batch<'_>, contributions: Contributions) -> Result<(), IngestError> {
        for (source, Contribution { counts, refused }) in contributions {
            if counts.accepted + counts.replaced + counts.refused == 0 {
                continue;
            }
            let id = self.entry(batch, &source)?;
            let before = self.entries.get(&source).and_then(|(_, record)| record.as_ref());
            let of = |count: fn(&ImportRecord) -> u64| before.map_or(0, count);
            let rows = counts.accepted + counts.unchanged + counts.replaced + counts.refused;
            let quarantined = of(|record| record.quarantined);
            let room = usize::try_from(QUARANTINE_MAX.saturating_sub(quarantined)).unwrap_or(usize::MAX);
            let rejected: Vec<QuarantineRow> = refused
                .into_iter()
                .take(room)
                .map(|RefusedRow { row, symbol, text, reason }| QuarantineRow {
                    import_id: id,
                    line: row as u64 + 1,
                    symbol,
                    text,
                    reason,
                })
                .collect();
            batch.add_quarantine(&rejected)?;
            let progress = ImportProgress {
                state: ImportState::Done,
                rows_read: of(|record| record.rows_read) + rows,
                rows_done: of(|record| record.rows_done) + rows,
                added: of(|record| record.added) + counts.accepted,
                replaced: of(|record| record.replaced) + counts.replaced,
                unchanged: of(|record| record.unchanged) + counts.unchanged,
                quarantined: quarantined + counts.refused,
                message: None,
            };
            batch.checkpoint_import(id, &progress, self.now)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use market::{Price, Session, Turnover, fold};
    use store::Access;

    use super::*;
    use crate::ingest::{CandleInput, Head, Intake};

    /// 2026-07-15 09:32 in New York.
    const M: i64 = 1_784_122_320;

    fn row(symbol: &Symbol, at: i64, volume: i64) -> CandleInput {
        let price = Price(190_000_000 + volume);
        let candle = Candle {
            time: Timestamp(at),
            open: price,
            high: price,
            low: price,
            close: price,
            volume,
            turnover: Turnover(0),
            session: Session::Intraday,
        };
        CandleInput { symbol: symbol.clone(), grain: Grain::Minute, candle, is_final: None }
    }

    /// Ingests two days of minutes in batches of different sizes, with corrections of the last
    /// block and of earlier blocks. The blocks end within hours.
    #[test]
    fn merges_from_memory_store_the_candles_of_all_rows() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::Write { now: Timestamp(M) }).unwrap();
        let venues = Venues::built_in().unwrap();
        let (mut intake, mut merger) = Intake::open(&store, &venues, 5).unwrap();
        let symbol: Symbol = "AAPL.US".parse().unwrap();
        let venue = venues.of(symbol.market());
        let stamps: Vec<i64> =
            [0, 86_400].iter().flat_map(|day| (0..380).map(move |minute| M + day + minute * 60)).collect();
        let head = Head { source: "feed", seq: None, gap: false, build: false };
        let (mut at, mut merges, mut from_memory) = (0, 0, 0);
        let mut expected: BTreeMap<i64, i64> = BTreeMap::new();
        for size in [1, 0, 1, 7, 1, 1, 30, 90, 1].into_iter().cycle() {
            if at >= stamps.len() {
                break;
            }
            merges += 1;
            let corrected = [5, 200, 300].get(merges % 11).and_then(|back| at.checked_sub(*back));
            // Without new minutes, the newest one is sent again.
            let end = (at + size).min(stamps.len());
            let places = (at.min(end.saturating_sub(1))..end).chain(corrected);
            let rows: Vec<(i64, i64)> =
                places.map(|place| (stamps[place], (merges * 1_000 + place) as i64)).collect();
            at = end;
            expected.extend(rows.iter().copied());
            let inputs = rows.iter().map(|(at, volume)| Ok(row(&symbol, *at, *volume))).collect();
            let now = stamps[end.saturating_sub(1)] + 1;
            intake.candles(&head, inputs, now * 1_000_000, &|_| String::new()).unwrap();
            merger.merge(Timestamp(now)).unwrap();
            from_memory += usize::from(!merger.tails.is_empty());

            let mut reader = store.reader().unwrap();
            let snapshot = reader.snapshot().unwrap();
            let stored = |grain| {
                let series = Series { symbol: symbol.clone(), grain, lane: Lane::Regular };
                lay::stored(&snapshot, &series, Timestamp(0), Timestamp(i64::MAX)).unwrap()
            };
            let minutes = stored(Grain::Minute);
            let volumes: Vec<(i64, i64)> = minutes.iter().map(|of| (of.time.0, of.volume)).collect();
            assert_eq!(volumes, expected.clone().into_iter().collect::<Vec<_>>(), "merge {merges}");
            for grain in Grain::ROLLED_UP {
                let mut folded = fold::fold(venue, grain.period(), &minutes).unwrap();
                let rolled = stored(grain);
                folded.truncate(rolled.len());
                assert_eq!(rolled, folded, "merge {merges} {grain:?}");
            }
            let partial: Vec<i64> =
                snapshot.partial_minutes(&symbol).unwrap().iter().map(|minute| minute.at.0).collect();
            assert_eq!(partial, [stamps[end.saturating_sub(1)]], "merge {merges}");
        }
        assert!(from_memory > merges / 2, "{from_memory} of {merges}");
        assert!(from_memory < merges, "corrections need more than the last block");
    }
}
