//! Compares the adjusted daily candles computed from stored data with those that a mirror has
//! received. Sends no requests.

use history::HistoryError;
use history::import::ImportError;
use history::mirror::MirrorStore;
use market::{Symbol, Timestamp};
use mirror::verify::Report;
use store::MirrorId;

/// Result of the comparison for one security.
#[derive(Clone, Debug)]
pub struct SecurityCheck {
    pub symbol: Symbol,
    pub report: Report,
}

/// Compares our adjusted days in the range of the received days with these. Returns `None` if none
/// were received.
pub fn verify(
    store: &mut MirrorStore,
    id: MirrorId,
    symbol: &Symbol,
    now: Timestamp,
) -> Result<Option<SecurityCheck>, HistoryError> {
    let failed = |error: ImportError| match error {
        ImportError::Store(error) => HistoryError::Store(error),
        _ => HistoryError::NoCandles(symbol.clone()),
    };
    let received = store.received_days(id, symbol).map_err(failed)?;
    let (Some(first), Some(last)) = (received.time.first(), received.time.last()) else { return Ok(None) };
    let ours = store.adjusted_days(symbol, now)?;
    let shared = ours.iter().filter(|candle| (*first..=*last).contains(&candle.time.0));
    let mut report = Report::default();
    report.add(shared, received.iter());
    Ok(Some(SecurityCheck { symbol: symbol.clone(), report }))
}
