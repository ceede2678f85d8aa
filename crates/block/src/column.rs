//! Encoding of one column of numbers: a constant, a constant with exceptions, or a compressed chunk
//! split into pages.

use pco::data_types::Number;
use pco::wrapped::{ChunkCompressor, ChunkDecompressor, FileCompressor, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

use crate::{BlockError, PAGE_ROWS_MAX};

/// Encoding of a column. The encoder uses the narrowest integer width that fits, because narrow
/// numbers have smaller tables and decode faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Zero,
    Constant,
    /// A constant with a list of exceptions, such as one-minute time steps with overnight gaps.
    Sparse,
    Bits16,
    Bits32,
    Bits64,
}

impl Kind {
    pub(crate) fn code(self) -> u8 {
        match self {
            Kind::Zero => 0,
            Kind::Constant => 1,
            Kind::Sparse => 3,
            Kind::Bits16 => 2,
            Kind::Bits32 => 4,
            Kind::Bits64 => 8,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Kind> {
        let all = [Kind::Zero, Kind::Constant, Kind::Sparse, Kind::Bits16, Kind::Bits32, Kind::Bits64];
        all.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns whether the block header stores a constant for the column.
    pub(crate) fn has_constant(self) -> bool {
        matches!(self, Kind::Constant | Kind::Sparse)
    }
}

/// An encoded column.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    pub(crate) kind: Kind,
    pub(crate) constant: i64,
    pages: Pages<'a>,
}

#[derive(Debug)]
enum Pages<'a> {
    Empty,
    Sparse { values: &'a [i64], page_rows: usize },
    Chunk(Box<ChunkCompressor>),
}

/// Minimum number of rows per exception in a sparse column. If exceptions are more frequent, the
/// codec's output is smaller than a list of exceptions.
pub(crate) const SPARSE_ROWS: usize = 64;

impl<'a> Packed<'a> {
    pub(crate) fn new(
        values: &'a [i64],
        page_rows: usize,
        (level, sparse_rows): (usize, usize),
    ) -> Result<Packed<'a>, BlockError> {
        let exceptions_max = values.len() / sparse_rows.max(1);
        // A value with at most `exceptions_max` exceptions in the whole column also has the
        // majority among the first `2 * exceptions_max + 1` rows.
        let usual = majority(values.get(..2 * exceptions_max + 1).unwrap_or(values));
        let mut exceptions = values.iter().filter(|&&value| value != usual);
        if exceptions.clone().next().is_none() {
            let kind = if usual == 0 { Kind::Zero } else { Kind::Constant };
            return Ok(Packed { kind, constant: usual, pages: Pages::Empty });
        }
        let few = exceptions.clone().take(exceptions_max + 1).count() <= exceptions_max;
        if few && exceptions.all(|&value| i32::try_from(value).is_ok()) {
            return Ok(Packed {
                kind: Kind::Sparse,
                constant: usual,
                pages: Pages::Sparse { values, page_rows },
            });
        }
        // Deltas and common divisors have already been removed, so pco's mode and delta detection
        // would only cost time.
        let config = ChunkConfig::default()
            .with_compression_level(level)
            .with_mode_spec(ModeSpec::Classic)
            .with_delta_spec(DeltaSpec::NoOp)
            .with_paging_spec(PagingSpec::Exact(values.chunks(page_rows).map(<[i64]>::len).collect()));
        let codec = FileCompressor::default();
        let (lowest, highest) =
            values.iter().fold((0, 0), |(low, high), &value| (value.min(low), value.max(high)));
        let (kind, chunk) = if i16::try_from(lowest).is_ok() && i16::try_from(highest).is_ok() {
            let narrow: Vec<i16> = values.iter().map(|&value| value as i16).collect();
            (Kind::Bits16, codec.chunk_compressor(&narrow, &config)?)
        } else if i32::try_from(lowest).is_ok() && i32::try_from(highest).is_ok() {
            let narrow: Vec<i32> = values.iter().map(|&value| value as i32).collect();
            (Kind::Bits32, codec.chunk_compressor(&narrow, &config)?)
        } else {
            (Kind::Bits64, codec.chunk_compressor(values, &config)?)
        };
        Ok(Packed { kind, constant: 0, pages: Pages::Chunk(Box::new(chunk)) })
    }

    pub(crate) fn write_tables(&self, out: Vec<u8>) -> Result<Vec<u8>, BlockError> {
        match &self.pages {
            Pages::Empty | Pages::Sparse { .. } => Ok(out),
            Pages::Chunk(chunk) => Ok(chunk.write_meta(out)?),
        }
    }

    pub(crate) fn write_page(&mut self, page: usize, mut out: Vec<u8>) -> Result<Vec<u8>, BlockError> {
        match &mut self.pages {
            Pages::Empty => Ok(out),
            Pages::Sparse { values, page_rows } => {
                let values = values.chunks(*page_rows).nth(page).unwrap_or_default();
                let exceptions = || values.iter().enumerate().filter(|&(_, &value)| value != self.constant);
                out.extend_from_slice(&(exceptions().count() as u16).to_le_bytes());
                for (row, &value) in exceptions() {
                    out.extend_from_slice(&(row as u16).to_le_bytes());
                    out.extend_from_slice(&(value as i32).to_le_bytes());
                }
                Ok(out)
            }
            Pages::Chunk(chunk) => Ok(chunk.write_page(page, out)?),
        }
    }
}

/// Returns the value that occurs in more than half of the rows, or an arbitrary value if no value
/// does (Boyer–Moore majority vote).
fn majority(values: &[i64]) -> i64 {
    let (mut leader, mut lead) = (0, 0u32);
    for &value in values {
        match lead {
            0 => (leader, lead) = (value, 1),
            _ if value == leader => lead += 1,
            _ => lead -= 1,
        }
    }
    leader
}

/// Decoder of one column.
#[derive(Debug)]
pub(crate) enum Column {
    Constant(i64),
    Sparse(i64),
    Bits16(ChunkDecompressor<i16>),
    Bits32(ChunkDecompressor<i32>),
    Bits64(ChunkDecompressor<i64>),
}

/// Buffers for decoded 16-bit and 32-bit numbers before they are widened to 64 bits.
#[derive(Debug)]
pub(crate) struct Narrow {
    bits16: [i16; PAGE_ROWS_MAX],
    bits32: [i32; PAGE_ROWS_MAX],
}

impl Default for Narrow {
    fn default() -> Narrow {
        Narrow { bits16: [0; PAGE_ROWS_MAX], bits32: [0; PAGE_ROWS_MAX] }
    }
}

impl Column {
    /// Parses a column's tables at the start of `bytes`, and advances `bytes` past the tables.
    pub(crate) fn open(
        kind: Kind,
        constant: i64,
        codec: &FileDecompressor,
        bytes: &mut &[u8],
    ) -> Result<Column, BlockError> {
        match kind {
            Kind::Zero => Ok(Column::Constant(0)),
            Kind::Constant => Ok(Column::Constant(constant)),
            Kind::Sparse => Ok(Column::Sparse(constant)),
            Kind::Bits16 => open_chunk::<i16>(codec, bytes, 16).map(Column::Bits16),
            Kind::Bits32 => open_chunk::<i32>(codec, bytes, 32).map(Column::Bits32),
            Kind::Bits64 => open_chunk::<i64>(codec, bytes, 64).map(Column::Bits64),
        }
    }

    /// Decodes the column's part of a page at the start of `bytes` into `out`, and advances `bytes`
    /// past that part.
    pub(crate) fn read(
        &mut self,
        bytes: &mut &[u8],
        narrow: &mut Narrow,
        out: &mut [i64],
    ) -> Result<(), BlockError> {
        match self {
            Column::Constant(value) => {
                out.fill(*value);
                Ok(())
            }
            Column::Sparse(value) => read_sparse(*value, bytes, out),
            Column::Bits16(chunk) => read_narrow(chunk, bytes, &mut narrow.bits16, out),
            Column::Bits32(chunk) => read_narrow(chunk, bytes, &mut narrow.bits32, out),
            Column::Bits64(chunk) => read_page(chunk, bytes, out),
        }
    }
}

fn read_sparse(usual: i64, bytes: &mut &[u8], out: &mut [i64]) -> Result<(), BlockError> {
    let (count, rest) = bytes.split_first_chunk().ok_or(SPARSE)?;
    let (exceptions, rest) =
        rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * 6).ok_or(SPARSE)?;
    out.fill(usual);
    for exception in exceptions.chunks_exact(6) {
        let &[row0, row1, v0, v1, v2, v3] = exception else { return Err(SPARSE) };
        let place = out.get_mut(usize::from(u16::from_le_bytes([row0, row1]))).ok_or(SPARSE)?;
        *place = i64::from(i32::from_le_bytes([v0, v1, v2, v3]));
    }
    *bytes = rest;
    Ok(())
}

const SPARSE: BlockError = BlockError::Malformed("a sparse column refers to a row that does not exist");

/// Rejects codec tables that this format never contains, before the codec allocates memory for
/// them: a mode other than plain or a delta encoding (both in the first byte), and more bins than
/// the remaining bytes can hold.
fn check_tables(width: usize, bytes: &[u8]) -> Result<(), BlockError> {
    let &[mode_and_delta, low, middle, high, ..] = bytes else {
        return Err(BlockError::Malformed("a column's tables are truncated"));
    };
    if mode_and_delta != 0 {
        return Err(BlockError::Malformed("a column is not in the plain mode"));
    }
    let head = u32::from_le_bytes([low, middle, high, 0]);
    let weight_bits = (head & 0xf) as usize;
    let bins = (head >> 4 & 0x7fff) as usize;
    // A bin consists of a weight, a lower bound, and an offset bit count from 0 to `width`,
    // inclusive.
    let bin_bits = weight_bits + width + width.ilog2() as usize + 1;
    if bins == 0 || bins * bin_bits > bytes.len() * 8 {
        return Err(BlockError::Malformed("a column's tables are larger than the block"));
    }
    Ok(())
}

fn open_chunk<T: Number>(
    codec: &FileDecompressor,
    bytes: &mut &[u8],
    width: usize,
) -> Result<ChunkDecompressor<T>, BlockError> {
    check_tables(width, bytes)?;
    let (chunk, rest) = codec.chunk_decompressor::<T, &[u8]>(bytes)?;
    *bytes = rest;
    Ok(chunk)
}

fn read_narrow<T: Number + Into<i64>>(
    chunk: &mut ChunkDecompressor<T>,
    bytes: &mut &[u8],
    narrow: &mut [T],
    out: &mut [i64],
) -> Result<(), BlockError> {
    let narrow = narrow.get_mut(..out.len()).ok_or(BlockError::Malformed("a page is too long"))?;
    read_page(chunk, bytes, narrow)?;
    for (wide, &narrow) in out.iter_mut().zip(narrow.iter()) {
        *wide = narrow.into();
    }
    Ok(())
}

fn read_page<T: Number>(
    chunk: &mut ChunkDecompressor<T>,
    bytes: &mut &[u8],
    out: &mut [T],
) -> Result<(), BlockError> {
    let mut page = chunk.page_decompressor(*bytes, out.len())?;
    page.read(out)?;
    *bytes = page.into_src();
    Ok(())
}
