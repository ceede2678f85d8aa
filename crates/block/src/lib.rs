//! Durable storage format of candles: compressed, checksummed blocks.
//!
//! A block holds up to [`ROWS_MAX`] candles of one series in ascending time order, as one
//! self-contained, checksummed byte string. Each column is a compressed chunk split into pages, so
//! that reading a window of rows decodes only the pages that overlap it. The crate does not depend
//! on symbols, periods, databases or files, and reads no clock. Decoding returns exactly the
//! encoded candles, or an error.
//!
//! Trades have a separate block format, specified in `docs/trade-block-format.md`: see
//! [`encode_trades`] and [`TradeBlock`].
//!
//! Start with [`encode()`] and [`Block`]; `docs/block-format.md` specifies the format byte by byte.
//! Internally, `residual` converts candles to small numbers and back, `column` compresses these
//! numbers with the codec, and `layout` writes and parses the surrounding bytes.
//! ```
//! use block::Block;
//! use market::{Candle, Candles, Price, Session, Timestamp, Turnover};
//!
//! // One-minute candles from 2024-01-02 09:30 in Hong Kong.
//! let mut candles = Candles::default();
//! for minute in 0..390 {
//!     let price = Price(100_000_000 + minute * 10_000);
//!     let (time, turnover) = (Timestamp(1_704_159_000 + 60 * minute), Turnover(0));
//!     let session = Session::Intraday;
//!     candles.push(Candle { time, open: price, high: price, low: price, close: price, volume: 1, turnover, session });
//! }
//! let bytes = block::encode(&candles, 0..candles.len())?;
//! assert!(bytes.len() < candles.len() * 4);
//!
//! // Only the pages with these times are decoded.
//! let block = Block::parse(&bytes)?;
//! let mut read = Candles::default();
//! block.read(1_704_159_600..1_704_159_720, &mut read)?;
//! assert_eq!((block.rows(), read.len()), (390, 2));
//! assert_eq!(read.get(0), candles.get(10));
//! # Ok::<(), block::BlockError>(())
//! ```

mod column;
mod encode;
mod layout;
mod read;
mod residual;
mod trades;
mod unit;

pub use encode::{Effort, encode, encode_with};
#[doc(hidden)]
pub use encode::{Tuning, encode_tuned};
pub use read::{Block, Columns};
pub use trades::{TRADE_ROWS_MAX, TradeBlock, encode_trades};

/// Maximum number of candles in a block. With this limit, a row number fits in two bytes and a
/// decoded block is smaller than one megabyte.
pub const ROWS_MAX: usize = 8192;

/// Number of rows in a page, the unit of decoding. Chosen with `examples/measure.rs`: smaller pages
/// increase the block size, and larger pages decode more rows that are not needed.
pub const PAGE_ROWS: usize = 256;

/// Maximum number of rows in a page that a reader accepts. Determines the size of the decoder's
/// buffers on the stack.
pub const PAGE_ROWS_MAX: usize = 1024;

const _: () =
    assert!(PAGE_ROWS <= PAGE_ROWS_MAX && PAGE_ROWS_MAX <= ROWS_MAX && ROWS_MAX <= u16::MAX as usize);

/// Why candles or trades could not be encoded, or a block could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    #[error("encode a block of {0} rows: a block has 1 to {ROWS_MAX}")]
    Rows(usize),
    #[error("encode rows {start}..{end} of {len} candles")]
    NoSuchRows { start: usize, end: usize, len: usize },
    #[error("encode a block: the columns differ in length")]
    Ragged,
    #[error("encode a block: the time of row {0} is not after the previous one")]
    Order(usize),
    #[error("encode a block of {0} trades: a block has 1 to {TRADE_ROWS_MAX}")]
    TradeRows(usize),
    #[error("encode a block: the time of trade {0} is before that of the previous one")]
    Descends(usize),
    #[error("read rows {start}..{end} of a block of {rows}")]
    OutOfRange { start: usize, end: usize, rows: usize },
    #[error("read a block: not a block")]
    Magic,
    #[error("read a block: version {0} is unknown")]
    Version(u8),
    #[error("read a block: codec {0} is unknown")]
    Codec(u8),
    #[error("read a block: {found} bytes instead of {expected}")]
    Length { expected: usize, found: usize },
    #[error("read a block: the checksum does not match")]
    Checksum,
    #[error("read a block: {0}")]
    Malformed(&'static str),
    #[error("compress or decompress a column")]
    Column(#[from] pco::errors::PcoError),
}
