//! Reads foreign tables and writes our own: CSV (plain, gzip, zstd, in ZIP archives) and Parquet
//! in; CSV, Parquet and Arrow IPC out.
//!
//! A table is recognised by its header: candles of a dozen vendors, single trades, securities,
//! corporate actions, or margin factors. Rows have exact integers and instants; unreadable rows are
//! returned with their line and a reason, and the rest is read. The crate knows nothing of stores,
//! blocks or trading hours: whether a price range, a session or a duplicate is acceptable is up to
//! the caller. It opens only the given files and reads no clock.
//!
//! Start with [`open`] and [`CandleReader`]; `header.rs` determines the meaning of columns
//! (`text_header.rs` without a header, `wide.rs` for several symbols side by side), `clock.rs`
//! converts a time column to instants, `sample.rs` and `period/` determine the period of the
//! candles. [`CandleSink`] and [`TradeSink`] write files.

mod archive;
mod cells;
mod clock;
mod columns;
mod error;
mod file_name;
mod file_symbols;
mod header;
mod input;
mod marks;
mod number;
mod opening;
mod options;
mod period;
mod reader;
mod records;
mod row;
mod sample;
mod session;
mod sink;
mod source;
mod spelling;
mod text;
mod text_header;
mod time;
mod time_words;
mod trades;
mod understood;
mod wide;
mod written;

pub use archive::ArchiveError;
pub use error::{FileError, Problem};
pub use header::Vendor;
pub use input::Position;
pub use opening::open;
pub use options::{ColumnMap, Field, ParseOptionError, Ratio, ReadOptions, Scale, Stamp};
pub use period::{JudgedBy, JudgedPeriod};
pub use reader::{CandleReader, Table};
pub use records::{ActionRow, MarginRow, Records, SecurityRow};
pub use row::{CandleBatch, CandleRow, Rejected, RowBatch};
pub use sink::{CandleSink, Format, TradeSink};
pub use source::{read_bytes, tables_in};
pub use time_words::{DateOrder, TimeFormat};
pub use trades::{TradeBatch, TradeReader, TradeRow};
pub use understood::{Basis, SymbolSource, TimesAre, Understood};
pub use written::DecimalMark;

/// The longest line of a text table. Real rows have a few hundred bytes; without a limit a file of
/// one endless line would be read into memory whole.
pub const LINE_MAX: usize = 64 * 1024;
/// The most columns a table may have.
pub const COLUMNS_MAX: usize = 1024;
/// The most symbols one file may name.
pub const SYMBOLS_MAX: usize = 100_000;
/// The most rows of a table other than candles and trades, which is held in memory.
pub const RECORDS_MAX: usize = 1_000_000;
/// The most rows of one [`CandleBatch`] or [`TradeBatch`]; a table with symbols side by side may
/// exceed it by the rows of its last line.
pub const BATCH_ROWS: usize = 4 * 1024;
/// The most rejected rows that are held in memory; further ones are counted.
pub const REJECTED_MAX: usize = 10_000;
/// The most characters of a rejected row in a report.
pub const REJECTED_TEXT_MAX: usize = 500;
