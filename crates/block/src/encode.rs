use std::ops::Range;

use market::Candles;
use pco::wrapped::FileCompressor;

use crate::column::{Kind, Packed, SPARSE_ROWS};
use crate::layout::{self, Entry, Header};
use crate::residual::{COLUMNS, Residuals, Rows};
use crate::{BlockError, PAGE_ROWS, PAGE_ROWS_MAX, ROWS_MAX};

/// Whether the encoder optimises for size or for decoding time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// For long series, with compression level 5. One-minute candles with gaps and odd lots take
    /// 9.10, 8.92 and 8.79 bytes each at levels 4, 5 and 6. Decoding a thousand candles is 10 %
    /// slower at level 6 than at level 4, because the tables are larger.
    #[default]
    Small,
    /// For short series, with compression level 3. Daily candles take 10.23 bytes each at level 3
    /// and 9.95 at level 5, but decoding a thousand candles takes 3 % less time at level 3.
    Quick,
    /// For a few candles that are soon encoded again. Columns whose numbers fit in 32 bits are
    /// plain lists of numbers, which need no tables and take a fraction of the time.
    Running,
}

impl Effort {
    fn tuning(self) -> Tuning {
        let (level, sparse_rows) = match self {
            Effort::Small => (5, SPARSE_ROWS),
            Effort::Quick => (3, SPARSE_ROWS),
            Effort::Running => (3, 1),
        };
        Tuning { page_rows: PAGE_ROWS, level, sparse_rows }
    }
}

/// Encoder parameters for measurements and tests. Other callers use [`encode`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub page_rows: usize,
    pub level: usize,
    /// Minimum number of rows per exception in a sparse column.
    pub sparse_rows: usize,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Effort::default().tuning()
    }
}

/// Encodes the candles in `rows` as one block, of at most [`ROWS_MAX`] candles. Times must be
/// strictly ascending; all other fields may have any value.
pub fn encode(candles: &Candles, rows: Range<usize>) -> Result<Vec<u8>, BlockError> {
    encode_with(candles, rows, Effort::Small)
}

/// Like [`encode`], but with the given effort.
pub fn encode_with(candles: &Candles, rows: Range<usize>, effort: Effort) -> Result<Vec<u8>, BlockError> {
    encode_tuned(candles, rows, effort.tuning())
}

#[doc(hidden)]
pub fn encode_tuned(candles: &Candles, rows: Range<usize>, tuning: Tuning) -> Result<Vec<u8>, BlockError> {
    let rows = Rows::of(candles, rows)?;
    let (Some(&first_time), Some(&last_time)) = (rows.time.first(), rows.time.last()) else {
        return Err(BlockError::Rows(0));
    };
    if rows.time.len() > ROWS_MAX {
        return Err(BlockError::Rows(rows.time.len()));
    }
    if let Some(at) = rows.time.windows(2).position(|pair| matches!(pair, [a, b] if a >= b)) {
        return Err(BlockError::Order(at + 1));
    }
    let page_rows = tuning.page_rows.clamp(1, PAGE_ROWS_MAX);
    let residuals = Residuals::of(&rows, page_rows);

    let mut packed = Vec::with_capacity(COLUMNS);
    for column in &residuals.columns {
        packed.push(Packed::new(column, page_rows, (tuning.level, tuning.sparse_rows))?);
    }
    let (mut kinds, mut constants) = ([Kind::Zero; COLUMNS], [0; COLUMNS]);
    for ((kind, constant), packed) in kinds.iter_mut().zip(&mut constants).zip(&packed) {
        (*kind, *constant) = (packed.kind, packed.constant);
    }
    let mut codec_version = [0; 2];
    FileCompressor::default().write_header(codec_version.as_mut_slice())?;

    let (mut pages, mut ends) = (Vec::new(), Vec::new());
    for page in 0..rows.time.len().div_ceil(page_rows) {
        for column in &mut packed {
            pages = column.write_page(page, pages)?;
        }
        ends.push(pages.len());
    }
    let first_times = rows.time.iter().step_by(page_rows);
    let entries = ends
        .iter()
        .zip(first_times)
        .zip(&residuals.previous_closes)
        .map(|((&end, &first_time), &previous_close)| Entry { end, first_time, previous_close });

    let (units, guess) = (residuals.units, residuals.guess);
    let rows_count = rows.time.len();
    let header = Header {
        rows: rows_count,
        page_rows,
        first_time,
        last_time,
        units,
        guess,
        codec_version,
        kinds,
        constants,
    };
    let mut block = Vec::with_capacity(pages.len() + 2048);
    header.write(&mut block);
    layout::write_sessions(rows.session, &mut block);
    layout::write_directory(entries, &mut block);
    for column in &packed {
        block = column.write_tables(block)?;
    }
    block.extend_from_slice(&pages);
    layout::seal(&mut block);
    Ok(block)
}
