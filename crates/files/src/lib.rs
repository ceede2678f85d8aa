//! Reads tables of many vendors, as CSV (plain, gzip, zstd or in ZIP archives), XLSX or Parquet, and
//! writes our own tables as CSV, Parquet or Arrow IPC.
//!
//! A table is recognised by its header: candles of a dozen vendors, single trades, securities,
//! corporate actions, margin factors, or suspensions. Values are parsed to exact integers and instants.
//! Unreadable rows are returned with their line and a reason, and reading continues. The crate does
//! not depend on stores, blocks or trading rules: the caller decides whether a price range, a
//! session or a duplicate is acceptable. The crate opens only the given files and reads no clock.
//!
//! Start with [`open`] and [`CandleReader`]. `header.rs` determines the meaning of columns
//! (`text_header.rs` without a header, `wide.rs` for several symbols side by side), `file_name/` the
//! symbol of a table without a symbol column, `clock.rs` converts a time column to instants, and
//! `sample.rs` and `period/` determine the period of the candles. [`CandleSink`] and [`TradeSink`] write files.

mod archive;
mod cells;
mod clock;
mod columns;
mod encoding;
mod error;
mod file_name;
mod file_symbols;
mod folder;
mod header;
mod input;
mod lots;
mod marks;
mod not_a_table;
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
mod workbook;
mod written;

pub use archive::ArchiveError;
pub use error::{FileError, LacksSymbol, Problem};
pub use folder::tables_under;
pub use header::Vendor;
pub use input::Position;
pub use opening::open;
pub use options::{ColumnMap, Field, GivenSymbol, ParseOptionError, Ratio, ReadOptions, Scale, Stamp};
pub use period::{JudgedBy, JudgedPeriod};
pub use reader::{CandleReader, Table};
pub use records::{ActionRow, MarginRow, Records, SecurityRow, SuspensionRow};
pub use row::{CandleBatch, CandleRow, Rejected, RowBatch};
pub use sink::{CandleSink, Format, TradeSink};
pub use source::{read_bytes, tables_in};
pub use time_words::{DateOrder, TimeFormat};
pub use trades::{TradeBatch, TradeReader, TradeRow};
pub use understood::{Basis, SymbolSource, TimesAre, Understood};
pub use workbook::WorkbookError;
pub use written::DecimalMark;

/// Maximum line length of a text table, in bytes. Real rows have a few hundred bytes; without a
/// limit a file without line breaks would be read into memory completely.
pub const LINE_MAX: usize = 64 * 1024;
/// Maximum number of columns in a table.
pub const COLUMNS_MAX: usize = 1024;
/// Maximum depth of folders that are searched within a given one.
pub const FOLDER_DEPTH_MAX: usize = 8;
/// Maximum number of tables that are taken from a folder.
pub const FOLDER_FILES_MAX: usize = 10_000;
/// Maximum number of symbols in a file.
pub const SYMBOLS_MAX: usize = 100_000;
/// Maximum number of rows in a table of securities, actions, margins or suspensions, which is held in memory.
pub const RECORDS_MAX: usize = 1_000_000;
/// Maximum number of rows in a [`CandleBatch`] or [`TradeBatch`]. A table with several symbols side
/// by side may exceed it by the rows of its last line.
pub const BATCH_ROWS: usize = 4 * 1024;
/// Maximum number of rejected rows held in memory. Further rejected rows are only counted.
pub const REJECTED_MAX: usize = 10_000;
/// Maximum length of a rejected row's text in a report, in characters.
pub const REJECTED_TEXT_MAX: usize = 500;
