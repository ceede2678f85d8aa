//! Verifying a store: every checksum, every index entry, every candle.

use crate::{HistoryError, adjustment};
use block::Block;
use market::{Candles, Timestamp, Venues};
use store::{BlockEntry, Depth, Finding, Series, Store, StoreError};

/// What a verification found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    pub blocks: u64,
    pub rows: u64,
    pub bytes: u64,
    pub damage: Vec<Damage>,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub series: Option<Series>,
    pub at: Option<Timestamp>,
    pub problem: String,
}

/// Reads everything that is stored. A damaged block is reported and the rest goes on.
pub fn check(store: &Store, venues: &Venues) -> Result<CheckReport, StoreError> {
    check_watched(store, venues, |_| {})
}

/// The same, telling after each block how far it has come.
pub fn check_watched(
    store: &Store,
    venues: &Venues,
    mut watch: impl FnMut(&CheckReport),
) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    let mut candles = Candles::default();
    let mut reader = store.reader()?;
    let findings = reader.check(Depth::Full, |_, entry, bytes| {
        report.blocks += 1;
        report.bytes += bytes.len() as u64;
        report.rows += u64::from(entry.rows);
        candles.clear();
        watch(&report);
        inspect(entry, bytes, &mut candles).err()
    })?;
    report.damage = findings.into_iter().map(damage).collect();
    let snapshot = reader.snapshot()?;
    for security in snapshot.securities()? {
        let symbol = security.symbol;
        match adjustment::is_sound(&snapshot, venues.of(symbol.market()), &symbol) {
            Ok(true) => {}
            Ok(false) => report.damage.push(Damage {
                series: None,
                at: None,
                problem: format!(
                    "the kept adjustment of {symbol} is not what its actions come to: import them again"
                ),
            }),
            // Damaged blocks have been reported above.
            Err(HistoryError::Store(error)) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(report)
}

/// A block against its index entry, and its candles against the rules they passed on their way in.
fn inspect(entry: &BlockEntry, bytes: &[u8], candles: &mut Candles) -> Result<(), String> {
    Block::parse(bytes).and_then(|block| block.read_all(candles)).map_err(|error| error.to_string())?;
    let stamps = (candles.time.first().copied(), candles.time.last().copied());
    if stamps != (Some(entry.first.0), Some(entry.last.0)) || candles.len() != entry.rows as usize {
        return Err("the index entry does not describe its block".to_owned());
    }
    match candles.iter().find_map(|candle| candle.check().err().map(|flaw| (candle.time, flaw))) {
        Some((at, flaw)) => Err(format!("the candle at {at}: {flaw}")),
        None => Ok(()),
    }
}

fn damage(finding: Finding) -> Damage {
    let problem = finding.to_string();
    let (series, at) = match finding {
        Finding::BodyMissing { series, entry }
        | Finding::BodyLength { series, entry, .. }
        | Finding::Body { series, entry, .. }
        | Finding::Overlap { series, entry, .. } => (Some(series), Some(entry.first)),
        Finding::Totals { kept, .. } => (Some(kept.series), None),
        Finding::Engine(_)
        | Finding::Dangling { .. }
        | Finding::BodyOrphan { .. }
        | Finding::EntryOrphan { .. }
        | Finding::Counter { .. }
        | Finding::Unreadable(_) => (None, None),
    };
    Damage { series, at, problem }
}
