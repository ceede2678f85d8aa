//! An encoded page of candles, as stored in the page cache.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use history::Encoded;
use market::Candles;

/// A page of candles encoded as repeated response elements, with the end offset of each element.
#[derive(Clone, Debug)]
pub(crate) struct EncodedPage {
    bytes: Bytes,
    ends: Arc<[u32]>,
}

impl Encoded for EncodedPage {
    type Piece = Bytes;

    fn encode(candles: &Candles, range: Range<usize>, decimals: u32) -> EncodedPage {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(range.len()));
        wire::encode_page(decimals, rows(candles).skip(range.start).take(range.len()), &mut bytes, &mut ends);
        bytes.shrink_to_fit();
        EncodedPage { bytes: bytes.into(), ends: ends.into() }
    }

    fn bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ends)
    }

    fn piece(&self, rows: Range<usize>) -> Bytes {
        // Most pages are sent whole, which needs no offset lookup.
        if rows.start == 0 && rows.end == self.ends.len() {
            return self.bytes.clone();
        }
        let end = |row: usize| {
            row.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize)
        };
        self.bytes.slice(end(rows.start)..end(rows.end))
    }
}

/// Converts columns to rows for the encoder.
pub(crate) fn rows(candles: &Candles) -> impl Iterator<Item = wire::Row> + '_ {
    let prices = candles.open.iter().zip(&candles.high).zip(&candles.low).zip(&candles.close);
    let amounts = candles.volume.iter().zip(&candles.turnover).zip(&candles.session);
    candles.time.iter().zip(prices).zip(amounts).map(
        |((time, (((open, high), low), close)), ((volume, turnover), session))| wire::Row {
            time: *time,
            open: *open,
            high: *high,
            low: *low,
            close: *close,
            volume: *volume,
            turnover: *turnover,
            session: session.code(),
        },
    )
}
