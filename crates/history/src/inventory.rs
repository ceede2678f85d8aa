//! How much of a series there is, as far as it may be known.

use block::{Block, BlockError};
use market::{Candles, Timestamp, Venue};
use store::{SeriesInfo, Snapshot};

use crate::as_of::AsOf;
use crate::read::HistoryError;

/// What a series amounts to without the candles that lie ahead; nothing if all of them do. Its bytes are those of the blocks
/// that hold any of the rest.
pub fn known_part(
    snapshot: &Snapshot<'_>,
    venue: &Venue,
    info: SeriesInfo,
    as_of: AsOf,
) -> Result<Option<SeriesInfo>, HistoryError> {
    let until = as_of.known_until(venue, info.series.grain);
    if info.last < until {
        return Ok(Some(info));
    }
    let mut known = SeriesInfo { rows: 0, blocks: 0, bytes: 0, last: info.first, ..info };
    for entry in snapshot.blocks(&known.series, None, Some(until))? {
        let (rows, last) = if entry.last < until {
            (u64::from(entry.rows), entry.last)
        } else {
            let counted = snapshot.with_block(&entry, |bytes| rows_before(bytes, until))?;
            counted.map_err(|source| HistoryError::Damaged {
                series: known.series.clone(),
                at: entry.first,
                source,
            })?
        };
        known.rows = known.rows.saturating_add(rows);
        known.blocks = known.blocks.saturating_add(1);
        known.bytes = known.bytes.saturating_add(u64::from(entry.bytes));
        known.last = known.last.max(last);
    }
    Ok((known.rows > 0).then_some(known))
}

/// How many rows of a block are stamped before a point, and the stamp of the last of them.
fn rows_before(bytes: &[u8], until: Timestamp) -> Result<(u64, Timestamp), BlockError> {
    let mut columns = Block::parse(bytes)?.columns()?;
    let rows = columns.rows_before(until.0)?;
    let mut last = Candles::default();
    columns.read_rows(rows.saturating_sub(1)..rows, &mut last)?;
    Ok((rows as u64, Timestamp(last.time.last().copied().unwrap_or(i64::MIN))))
}
