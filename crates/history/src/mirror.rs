//! Stores the data that a mirror has received. A page of candles and the position after it are
//! written in one transaction, with the code of the import.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use block::Effort;
use market::{Candle, Candles, Grain, Symbol, Timestamp, Venues};
use store::{
    Batch, Change, ImportId, ImportProgress, ImportRecord, ImportState, IngestWriter, Lane, MirrorId,
    MirrorJob, MirrorReport, NewImport, QuarantineRow, Reader, Security, Series, Store, StoreError, View,
};

use crate::adjustment;
use crate::import::ImportError;
use crate::import::context::QUARANTINE_MAX;
use crate::import::lay::{self, BLOCK_ROWS, Laid, LayError, OnDamage, Part, RollUps};
use crate::import::merge;
use crate::{HistoryError, lane_of};

const DAY_S: i64 = 86_400;
/// Maximum time that a page waits for an import, which holds the merge lock.
const LOCK_WITHIN: Duration = Duration::from_secs(600);
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// Writes the data of mirrors. Used by one thread at a time. The merge lock is held only during a
/// transaction, so imports and ingest can write between the transactions.
#[derive(Debug)]
pub struct MirrorStore {
    venues: Venues,
    writer: IngestWriter,
    reader: Reader,
}

/// A page of a series, and the state of its job after the page.
#[derive(Clone, Debug)]
pub struct MirrorPage {
    pub job: MirrorJob,
    pub symbol: Symbol,
    pub kind: Received,
    /// Complete candles.
    pub rows: Vec<Candle>,
    /// Rows that are not stored: their text, and the reason.
    pub quarantined: Vec<(String, String)>,
    /// Number of decimals of the source's prices; 0 if unknown.
    pub decimals: u32,
}

/// Kind of the candles of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Actual candles, which are stored and served.
    Actual(Grain),
    /// Adjusted daily candles, from which factors are derived.
    AdjustedDays,
}

/// The mirror that has received the pages, for its ledger entries.
#[derive(Clone, Copy, Debug)]
pub struct Collecting<'a> {
    pub id: MirrorId,
    pub name: &'a str,
    /// State of the mirror after the pages are stored.
    pub state: &'a str,
    pub now: Timestamp,
}

/// Number of candles by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MirrorCounts {
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    pub quarantined: u64,
}

impl MirrorStore {
    pub fn open(store: &Store, venues: &Venues) -> Result<MirrorStore, StoreError> {
        let store = store.without_copy();
        Ok(MirrorStore { venues: venues.clone(), writer: store.ingest_writer()?, reader: store.reader()? })
    }

    pub fn venues(&self) -> &Venues {
        &self.venues
    }

    /// Returns a view in which every query sees the latest state.
    pub fn view(&mut self) -> &View {
        self.reader.view()
    }

    /// Changes the store in one transaction.
    pub fn write<T>(
        &mut self,
        change: impl FnOnce(&mut Batch<'_>) -> Result<T, StoreError>,
    ) -> Result<T, ImportError> {
        self.lock()?;
        let written = (|| {
            let mut batch = self.writer.begin()?;
            let value = change(&mut batch)?;
            adjustment::keep_all(&mut batch, &self.venues)?;
            batch.commit()?;
            Ok(value)
        })();
        self.writer.unlock();
        written
    }

    /// Stores pages, their jobs and the state of the mirror in one transaction.
    pub fn commit(
        &mut self,
        mirror: &Collecting<'_>,
        pages: &[MirrorPage],
        reports: &[MirrorReport],
    ) -> Result<MirrorCounts, ImportError> {
        self.lock()?;
        let committed = self.commit_locked(mirror, pages, reports);
        self.writer.unlock();
        committed
    }

    fn commit_locked(
        &mut self,
        mirror: &Collecting<'_>,
        pages: &[MirrorPage],
        reports: &[MirrorReport],
    ) -> Result<MirrorCounts, ImportError> {
        let mut series: BTreeMap<Series, Candles> = BTreeMap::new();
        let mut adjusted: BTreeMap<&Symbol, Vec<Candle>> = BTreeMap::new();
        for page in pages {
            match page.kind {
                Received::AdjustedDays => {
                    adjusted.entry(&page.symbol).or_default().extend_from_slice(&page.rows);
                }
                Received::Actual(grain) => {
                    for candle in &page.rows {
                        let (symbol, lane) = (page.symbol.clone(), lane_of(candle.session));
                        series.entry(Series { symbol, grain, lane }).or_default().push(*candle);
                    }
                }
            }
        }
        let mut counts = MirrorCounts::default();
        let mut rejected: Vec<(String, String, String)> = Vec::new();
        for page in pages {
            for (text, reason) in &page.quarantined {
                rejected.push((page.symbol.to_string(), text.clone(), reason.clone()));
            }
        }
        let snapshot = self.reader.snapshot()?;
        let mut laid: Vec<(Series, Span, Laid)> = Vec::with_capacity(series.len());
        for (series, candles) in series {
            let venue = self.venues.of(series.symbol.market());
            let span = Span::of(&candles);
            let part = Part { series: series.clone(), candles };
            match lay::lay(&snapshot, venue, part, (BLOCK_ROWS, RollUps::All), OnDamage::Stop) {
                Ok(done) => laid.push((series, span, done)),
                Err(LayError::Import(error)) => return Err(error),
                Err(error @ LayError::Overflow { .. }) => {
                    rejected.push((series.symbol.to_string(), String::new(), error.to_string()));
                }
            }
        }
        let mut days = Vec::with_capacity(adjusted.len());
        for (symbol, rows) in adjusted {
            days.push((symbol, add_adjusted(&snapshot, mirror.id, symbol, &rows)?));
        }
        drop(snapshot);

        let mut batch = self.writer.begin()?;
        let has_days = laid.iter().any(|(series, ..)| series.grain == Grain::Day);
        if !laid.is_empty() || !rejected.is_empty() {
            let mut entry = Entry::open(&mut batch, mirror)?;
            for (series, span, laid) in &laid {
                entry.put(&mut batch, series, *span, laid)?;
            }
            entry.reject(&mut batch, &rejected)?;
            counts = entry.close(&mut batch, mirror.now)?;
        }
        for (symbol, body) in days.iter().filter(|(_, body)| !body.is_empty()) {
            batch.put_mirror_adjusted(mirror.id, symbol, body)?;
        }
        for page in pages {
            put_decimals(&mut batch, page)?;
            batch.put_mirror_job(mirror.id, &page.job)?;
        }
        for report in reports {
            batch.add_mirror_report(mirror.id, report)?;
        }
        batch.put_mirror_state(mirror.id, mirror.state)?;
        if has_days {
            adjustment::keep_all(&mut batch, &self.venues)?;
        }
        batch.commit()?;
        Ok(counts)
    }

    /// Returns the stored actual daily candles of a security.
    pub fn actual_days(&mut self, symbol: &Symbol) -> Result<Candles, ImportError> {
        let snapshot = self.reader.snapshot()?;
        lay::stored(&snapshot, &days_of(symbol), Timestamp(0), Timestamp(i64::MAX))
    }

    /// Returns the adjusted daily candles of a security that a mirror has received.
    pub fn received_days(&mut self, id: MirrorId, symbol: &Symbol) -> Result<Candles, ImportError> {
        received(self.reader.view(), id, symbol)
    }

    /// Returns the stored daily candles of a security, adjusted by the stored actions to the price
    /// level of `now`.
    pub fn adjusted_days(&mut self, symbol: &Symbol, now: Timestamp) -> Result<Candles, HistoryError> {
        let snapshot = self.reader.snapshot()?;
        let entries = snapshot.blocks(&days_of(symbol), None, None)?;
        let mut days = lay::load(&snapshot, &days_of(symbol), &entries, OnDamage::Stop)
            .map_err(|_| HistoryError::NoCandles(symbol.clone()))?;
        let decimals = snapshot.security(symbol)?.map_or(Security::DECIMALS_DEFAULT, |known| known.decimals);
        let venue = self.venues.of(symbol.market());
        adjustment::adjust(&snapshot, venue, symbol, decimals, now, &mut days)?;
        Ok(days)
    }

    /// Adds static data of securities. Values of the source replace the stored values, and missing
    /// values leave them unchanged.
    pub fn put_securities(&mut self, securities: &[Security]) -> Result<u64, ImportError> {
        self.write(|batch| {
            let mut changed = 0;
            for new in securities {
                let known = batch.security(&new.symbol)?.unwrap_or_else(|| Security::new(new.symbol.clone()));
                changed += u64::from(batch.put_security(&joined(known, new))? != Change::Unchanged);
            }
            Ok(changed)
        })
    }

    fn lock(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            match self.writer.lock() {
                Err(StoreError::Busy { .. }) if begun.elapsed() < LOCK_WITHIN => {
                    std::thread::sleep(LOCK_RETRY);
                }
                taken => return taken,
            }
        }
    }
}

fn days_of(symbol: &Symbol) -> Series {
    Series { symbol: symbol.clone(), grain: Grain::Day, lane: Lane::Regular }
}

fn received(view: &View, id: MirrorId, symbol: &Symbol) -> Result<Candles, ImportError> {
    let mut days = Candles::default();
    if let Some(body) = view.mirror_adjusted(id, symbol)? {
        let damaged = |source| ImportError::Damaged { series: days_of(symbol), at: Timestamp(0), source };
        block::Block::parse(&body).and_then(|block| block.read_all(&mut days)).map_err(damaged)?;
    }
    Ok(days)
}

/// Returns the encoded adjusted daily candles that the mirror has received, including `rows`.
fn add_adjusted(view: &View, id: MirrorId, symbol: &Symbol, rows: &[Candle]) -> Result<Vec<u8>, ImportError> {
    let new = merge::sort(rows.iter().copied().collect());
    let all = merge::merge(received(view, id, symbol)?, new, None).candles;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let damaged = |source| ImportError::Damaged { series: days_of(symbol), at: Timestamp(0), source };
    block::encode_with(&all, 0..all.len(), Effort::Quick).map_err(damaged)
}

/// Sets the number of decimals, according to the responses of the source.
fn put_decimals(batch: &mut Batch<'_>, page: &MirrorPage) -> Result<(), StoreError> {
    let is_actual = matches!(page.kind, Received::Actual(_));
    if page.decimals == 0 || !is_actual || page.rows.is_empty() {
        return Ok(());
    }
    match batch.security(&page.symbol)? {
        Some(known) if known.decimals != page.decimals => {
            batch.put_security(&Security { decimals: page.decimals, ..known }).map(drop)
        }
        _ => Ok(()),
    }
}

fn joined(known: Security, new: &Security) -> Security {
    let text = |new: &Option<String>, known: Option<String>| new.clone().or(known);
    Security {
        symbol: known.symbol,
        name_en: text(&new.name_en, known.name_en),
        name_cn: text(&new.name_cn, known.name_cn),
        name_hk: text(&new.name_hk, known.name_hk),
        exchange: text(&new.exchange, known.exchange),
        currency: text(&new.currency, known.currency),
        lot_size: new.lot_size.or(known.lot_size),
        board: text(&new.board, known.board),
        listing_date: new.listing_date.or(known.listing_date),
        decimals: known.decimals,
        total_shares: new.total_shares.or(known.total_shares),
        circulating_shares: new.circulating_shares.or(known.circulating_shares),
        hk_shares: new.hk_shares.or(known.hk_shares),
        eps: text(&new.eps, known.eps),
        eps_ttm: text(&new.eps_ttm, known.eps_ttm),
        bps: text(&new.bps, known.bps),
        dividend_yield: text(&new.dividend_yield, known.dividend_yield),
        kind: known.kind,
        delisted_on: known.delisted_on,
        dated: known.dated,
        suspensions: known.suspensions,
    }
}

/// First and last stamp of rows, and their number.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: Timestamp,
    last: Timestamp,
    rows: u64,
}

impl Span {
    fn of(candles: &Candles) -> Span {
        let stamp = |at: Option<&i64>| Timestamp(at.copied().unwrap_or_default());
        Span {
            first: stamp(candles.time.iter().min()),
            last: stamp(candles.time.iter().max()),
            rows: candles.len() as u64,
        }
    }
}

/// The ledger entry of a mirror and a day.
struct Entry {
    id: ImportId,
    before: Option<ImportRecord>,
    counts: MirrorCounts,
    rows: u64,
}

impl Entry {
    fn open(batch: &mut Batch<'_>, mirror: &Collecting<'_>) -> Result<Entry, StoreError> {
        let day = mirror.now.0.div_euclid(DAY_S);
        let options = format!("mirror={} day={day}", mirror.name);
        let digest = *blake3::hash(options.as_bytes()).as_bytes();
        let before = batch.find_import(&digest, &options)?;
        let id = match &before {
            Some(record) => record.id,
            None => batch.start_import(&NewImport {
                file: format!("mirror:{}", mirror.name),
                digest,
                bytes: 0,
                kind: "mirror".to_owned(),
                options,
                started_at: mirror.now,
            })?,
        };
        Ok(Entry { id, before, counts: MirrorCounts::default(), rows: 0 })
    }

    fn put(
        &mut self,
        batch: &mut Batch<'_>,
        series: &Series,
        span: Span,
        laid: &Laid,
    ) -> Result<(), ImportError> {
        batch.ensure_security(&series.symbol)?;
        for write in &laid.writes {
            batch.replace_blocks(&write.series, &write.removed, &write.added)?;
        }
        batch.add_import_series(self.id, series, span.rows, span.first, span.last)?;
        // Only replaced candles are recorded, because added ones can be requested again.
        let changes = crate::import::changes::Changes::of_replaced(&laid.changes.replaced);
        for change in changes.records(self.id, series)? {
            batch.add_import_change(&change)?;
        }
        self.rows += span.rows;
        self.counts.added += laid.added;
        self.counts.replaced += laid.replaced;
        self.counts.unchanged += laid.unchanged;
        Ok(())
    }

    fn reject(
        &mut self,
        batch: &mut Batch<'_>,
        rejected: &[(String, String, String)],
    ) -> Result<(), StoreError> {
        let before = self.before.as_ref().map_or(0, |record| record.quarantined);
        let room = usize::try_from(QUARANTINE_MAX.saturating_sub(before)).unwrap_or(usize::MAX);
        let rows: Vec<QuarantineRow> = (1..)
            .zip(rejected.iter().take(room))
            .map(|(line, (symbol, text, reason))| QuarantineRow {
                import_id: self.id,
                line: before + line,
                symbol: Some(symbol.clone()),
                text: text.clone(),
                reason: reason.clone(),
            })
            .collect();
        self.counts.quarantined = rejected.len() as u64;
        self.rows += self.counts.quarantined;
        batch.add_quarantine(&rows)
    }

    fn close(self, batch: &mut Batch<'_>, now: Timestamp) -> Result<MirrorCounts, StoreError> {
        let of = |count: fn(&ImportRecord) -> u64| self.before.as_ref().map_or(0, count);
        let progress = ImportProgress {
            state: ImportState::Done,
            rows_read: of(|record| record.rows_read) + self.rows,
            rows_done: of(|record| record.rows_done) + self.rows,
            added: of(|record| record.added) + self.counts.added,
            replaced: of(|record| record.replaced) + self.counts.replaced,
            unchanged: of(|record| record.unchanged) + self.counts.unchanged,
            quarantined: of(|record| record.quarantined) + self.counts.quarantined,
            message: None,
        };
        batch.checkpoint_import(self.id, &progress, now)?;
        Ok(self.counts)
    }
}
