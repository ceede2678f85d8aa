use std::io;
use std::path::{Path, PathBuf};

use market::{Grain, Period, Symbol};

use crate::period;
use crate::{COLUMNS_MAX, RECORDS_MAX, SYMBOLS_MAX};

/// An error while reading or writing a file, with the file's path.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct FileError {
    pub path: PathBuf,
    #[source]
    pub problem: Problem,
}

/// A file does not name its security: the user has to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LacksSymbol {
    /// The symbol that the file's name suggests.
    pub perhaps: Option<Symbol>,
}

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot read: {0}")]
    Read(#[source] io::Error),
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    #[error("the file is empty")]
    Empty,
    #[error("there is a header but no row")]
    NoRows,
    #[error("{0}")]
    NotATable(String),
    #[error("line {0} is longer than 64 KiB: is this a text table?")]
    LongLine(u64),
    #[error("{0} columns: at most {COLUMNS_MAX} are read")]
    Columns(usize),
    #[error(
        "unknown header: found {found}; missing {missing}; name the columns with --map, like --map time=when,close=last"
    )]
    Header { found: String, missing: String },
    #[error(
        "line {0}: there is no header, and the numbers are not in the order open, high, low, close; name the columns with --columns, like --columns date,open,high,low,close,volume"
    )]
    NoHeader(u64),
    #[error(
        "line {line}: the columns of {ticker} lack {missing}: in a table with symbols side by side each of them needs open, high, low and close"
    )]
    WideColumns { line: u64, ticker: String, missing: String },
    #[error(
        "decimals are written with a point in line {point} and with a comma in line {comma}: pass --decimal \
         point or --decimal comma to choose one; the other rows are quarantined"
    )]
    MixedDecimals { point: u64, comma: u64 },
    #[error(
        "line {line}: {price:?} has a thousands separator or three decimals, and no row decides which: pass \
         --decimal point or --decimal comma"
    )]
    AmbiguousDecimals { line: u64, price: String },
    #[error("--map names the column {0:?}, which the file does not have")]
    Map(String),
    #[error("no symbol: {reason}; pass --symbol{}", perhaps.as_ref().map(|symbol| format!(" {symbol}")).unwrap_or_default())]
    NoSymbol {
        reason: String,
        /// The symbol that the file's name suggests, although it does not decide it.
        perhaps: Option<Symbol>,
    },
    #[error("line {line}: {reason}; pass --region to set the market of its tickers")]
    Tickers { line: u64, reason: String },
    #[error("no CSV, XLSX or Parquet files in this folder, nor in those inside it")]
    EmptyFolder,
    #[error("more than {} files to look through: name the folders to import", crate::FOLDER_FILES_MAX)]
    LargeFolder,
    #[error("folders more than {} levels deep: name the folders to import", crate::FOLDER_DEPTH_MAX)]
    DeepFolder,
    #[error(transparent)]
    Workbook(#[from] crate::workbook::WorkbookError),
    #[error("more than {SYMBOLS_MAX} symbols")]
    Symbols,
    #[error("more than {RECORDS_MAX} rows")]
    Records,
    #[error("{}", other_period(*.0))]
    OtherPeriod(Period),
    /// The candles have a length that is not a supported period.
    #[error(
        "looks like {0}-minute candles; candles of 1, 5, 15, 30 and 60 minutes and of days can be imported, \
         and longer ones are derived from them"
    )]
    OddMinutes(i64),
    /// The intervals between rows fit an importable period, but may also belong to a longer one.
    #[error(
        "looks like {} candles, but many rows are further apart; pass --period {} if that is what they are",
        period::name(*.0), .0
    )]
    UnsurePeriod(Period),
    /// The file has a period column with an unsupported value.
    #[error(
        "PER is {0:?}: of files with this column, days (D) and 1, 5, 15, 30 and 60 minutes can be imported"
    )]
    NamedPeriod(String),
    #[error(
        "minutes of this source have times of Warsaw: write them as times of the market, and pass --period {} to say so", .0.written()
    )]
    TimesOfWarsaw(Grain),
    #[error("rows are {0} seconds apart; the shortest period that can be imported is one minute")]
    Seconds(i64),
    #[error(
        "every row has the same time of day: daily candles? then pass --period day (or --period 1m if they \
         are minutes)"
    )]
    OneTimeOfDay,
    #[error("daily and minute candles are mixed: split the file, or pass --period to say what the rows are")]
    Mixed,
    #[error(
        "{} and {} candles are mixed in the rows of {symbol} from {first} to {last}: split the file, or pass --period to say what all rows are",
        period::name(periods[0]), period::name(periods[1])
    )]
    MixedPeriods { symbol: String, first: String, last: String, periods: [Period; 2] },
    #[error(
        "line {line}: dates like {date} may be read both ways, and no row of the file decides which: pass \
         --time-format mdy (month first) or dmy (day first)"
    )]
    AmbiguousDates { line: u64, date: String },
    #[error(
        "some dates have the month first (line {month_first}) and some the day (line {day_first}): pass \
         --time-format mdy or dmy to choose one; the others are quarantined"
    )]
    DatesOfBothOrders { month_first: u64, day_first: u64 },
    #[error(transparent)]
    Archive(#[from] crate::archive::ArchiveError),
    #[error("--period {}: these are rolled up from minutes; only 1m, 5m, 15m, 30m, 60m and 1d are imported", .0.as_str())]
    Grain(Grain),
    #[error("not readable as Parquet: {0}")]
    Parquet(String),
    /// The Parquet reader panicked.
    #[error("this file is damaged: it cannot be read as Parquet")]
    Damaged,
    /// The output could not be encoded or written, for example because a pipe was closed.
    #[error("cannot encode: {0}")]
    Encode(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Problem {
    /// Returns, for a file that does not name its security, the symbol that its name suggests.
    pub fn lacks_symbol(&self) -> Option<LacksSymbol> {
        match self {
            Problem::NoSymbol { perhaps, .. } => Some(LacksSymbol { perhaps: perhaps.clone() }),
            _ => None,
        }
    }

    pub(crate) fn at(self, path: &Path) -> FileError {
        FileError { path: path.to_path_buf(), problem: self }
    }
}

/// Weeks, months, quarters and years are computed from days, and 2-hour candles from shorter ones, so
/// that there is one source for each.
fn other_period(period: Period) -> String {
    match period {
        Period::Calendar(_) => format!(
            "looks like {} candles, which are computed from daily ones and not imported: export daily candles \
             from the source, or pass --period day if each row is one day",
            period::name(period)
        ),
        Period::Clock(_) => format!(
            "looks like {} candles; candles of 1, 5, 15, 30 and 60 minutes and of days can be imported, and \
             longer ones are derived from them",
            period::name(period)
        ),
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        Problem::Read(error)
    }
}
