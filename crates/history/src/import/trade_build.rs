//! Runs after the trades of an import are stored: builds candles for the days that changed, and
//! updates the trade-size thresholds that depend on them.

use std::collections::BTreeMap;

use market::{Candles, ClassShares, Date, Grain, Symbol, TradeCandles};
use store::{ImportId, Lane, Reader, Series, Snapshot, TradeDay, TradeSizes, Writer};

use super::flush::FileNo;
use super::lay::{LayError, OnDamage, Part, RollUps, lay};
use super::trade_lay::load;
use super::{Context, ImportError};
use crate::lane_of;
use crate::sizes::SizeWindow;

/// Days whose trades an import has changed, each with the last file that changed it.
pub(crate) type TouchedDays = BTreeMap<(Symbol, Date), FileNo>;

/// Number of candles gathered before they are merged and committed.
const PORTION: usize = 200_000;

/// Counts of the candles built for one file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuiltCandles {
    pub(crate) added: u64,
    pub(crate) replaced: u64,
    pub(crate) unchanged: u64,
    pub(crate) failed: u64,
}

impl BuiltCandles {
    pub(crate) fn note(&self) -> String {
        let BuiltCandles { added, replaced, unchanged, failed } = self;
        let failed = match failed {
            0 => String::new(),
            failed => format!("; {failed} series could not be built: their volume does not fit 64 bits"),
        };
        format!("candles built: {added} new, {replaced} replaced, {unchanged} unchanged{failed}")
    }
}

/// Builds one-minute and daily candles for every changed day, from all stored trades of the day.
pub(crate) fn build_candles(
    context: &Context<'_>,
    writer: &mut Writer,
    touched: &TouchedDays,
    imports: &BTreeMap<FileNo, ImportId>,
    block_rows: usize,
) -> Result<BTreeMap<FileNo, BuiltCandles>, ImportError> {
    let mut built: BTreeMap<FileNo, BuiltCandles> = BTreeMap::new();
    let mut parts: BTreeMap<(FileNo, Series), Candles> = BTreeMap::new();
    let (mut reader, mut rows) = (context.store.reader()?, 0);
    for ((symbol, day), file) in touched {
        let venue = context.venues.of(symbol.market());
        let trades = {
            let snapshot = reader.snapshot()?;
            day_of(&snapshot, symbol, *day, OnDamage::of(context.options))?
        };
        let Ok(candles) = TradeCandles::of(venue, *day, &trades) else {
            built.entry(*file).or_default().failed += 1;
            continue;
        };
        rows += candles.minutes.len() + 1;
        for candle in candles.minutes.iter() {
            let series =
                Series { symbol: symbol.clone(), grain: Grain::Minute, lane: lane_of(candle.session) };
            parts.entry((*file, series)).or_default().push(candle);
        }
        if let Some(candle) = candles.day {
            let series = Series { symbol: symbol.clone(), grain: Grain::Day, lane: Lane::Regular };
            parts.entry((*file, series)).or_default().push(candle);
        }
        if rows >= PORTION {
            let portion = std::mem::take(&mut parts);
            write(context, writer, &mut reader, portion, block_rows, imports, &mut built)?;
            rows = 0;
        }
    }
    write(context, writer, &mut reader, parts, block_rows, imports, &mut built)?;
    Ok(built)
}

fn write(
    context: &Context<'_>,
    writer: &mut Writer,
    reader: &mut Reader,
    parts: BTreeMap<(FileNo, Series), Candles>,
    block_rows: usize,
    imports: &BTreeMap<FileNo, ImportId>,
    built: &mut BTreeMap<FileNo, BuiltCandles>,
) -> Result<(), ImportError> {
    for ((file, series), candles) in parts {
        let venue = context.venues.of(series.symbol.market());
        let counts = built.entry(file).or_default();
        let laid = {
            let snapshot = reader.snapshot()?;
            let part = Part { series: series.clone(), candles };
            lay(&snapshot, venue, part, (block_rows, RollUps::All), OnDamage::of(context.options))
        };
        let laid = match laid {
            Ok(laid) => laid,
            Err(LayError::Overflow { .. }) => {
                counts.failed += 1;
                continue;
            }
            Err(LayError::Import(error)) => return Err(error),
        };
        let mut batch = writer.begin()?;
        for write in &laid.writes {
            batch.replace_blocks(&write.series, &write.removed, &write.added)?;
        }
        // The changes are recorded so that undoing an earlier candle import cannot overwrite the
        // built candles.
        if let Some(import) = imports.get(&file) {
            for change in laid.changes.records(*import, &series)? {
                batch.add_import_change(&change)?;
            }
        }
        batch.commit()?;
        counts.added += laid.added;
        counts.replaced += laid.replaced;
        counts.unchanged += laid.unchanged;
    }
    Ok(())
}

fn day_of(
    snapshot: &Snapshot<'_>,
    symbol: &Symbol,
    day: Date,
    on_damage: OnDamage,
) -> Result<market::Trades, ImportError> {
    let stored = snapshot.trade_days_back(symbol, day, 1)?.pop().filter(|stored| stored.day == day);
    let entries = stored.map(|stored| snapshot.trade_blocks(&stored)).transpose()?.unwrap_or_default();
    load(snapshot, symbol, &entries, on_damage)
}

/// Stores the thresholds for large and medium trades, for all days without thresholds, starting at
/// the first changed day. Days whose thresholds cannot be computed are skipped; a query computes
/// them when needed.
pub(crate) fn keep_sizes(
    context: &Context<'_>,
    writer: &mut Writer,
    touched: &TouchedDays,
) -> Result<(), ImportError> {
    let mut firsts: BTreeMap<&Symbol, Date> = BTreeMap::new();
    for (symbol, day) in touched.keys() {
        firsts.entry(symbol).or_insert(*day);
    }
    let mut reader = context.store.reader()?;
    for (symbol, first) in firsts {
        let venue = context.venues.of(symbol.market());
        let stored: Vec<(Date, TradeSizes)> = {
            let snapshot = reader.snapshot()?;
            let days = snapshot.trade_days(symbol)?;
            let is_missing = |day: &&TradeDay| day.day >= first && day.sizes.is_none();
            let missing: Vec<Date> = days.iter().filter(is_missing).map(|day| day.day).collect();
            let mut window = SizeWindow::over(&snapshot, venue, symbol, days);
            let mut stored = Vec::with_capacity(missing.len());
            for day in missing {
                stored.extend(window.cached(day, ClassShares::default()).map(|sizes| (day, sizes)));
            }
            stored
        };
        let mut batch = writer.begin()?;
        for (day, sizes) in stored {
            batch.put_trade_sizes(symbol, day, &sizes)?;
        }
        batch.commit()?;
    }
    Ok(())
}
