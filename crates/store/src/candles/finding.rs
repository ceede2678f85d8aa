use std::fmt;

use super::{BlockEntry, Series, SeriesInfo, TradeDay};
use crate::engine::{Flaw, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Message of SQLite's own check.
    Engine(String),
    /// Rows of `table` that refer to missing rows of `parent`.
    Dangling {
        table: String,
        parent: String,
        count: u64,
    },
    BodyMissing {
        series: Series,
        entry: BlockEntry,
    },
    /// The length recorded in the directory differs from the length of the body.
    BodyLength {
        series: Series,
        entry: BlockEntry,
        found: u64,
    },
    /// A problem that the caller found in a body.
    Body {
        series: Series,
        entry: BlockEntry,
        reason: String,
    },
    /// A body without a directory entry.
    BodyOrphan {
        id: i64,
    },
    /// A directory entry of a series that does not exist.
    EntryOrphan {
        id: i64,
    },
    Overlap {
        series: Series,
        before: BlockEntry,
        entry: BlockEntry,
    },
    /// A body that does not match its directory entry.
    BodyForeign {
        series: Series,
        entry: BlockEntry,
    },
    /// A directory entry with a wrong link to its neighbour.
    Unlinked {
        series: Series,
        entry: BlockEntry,
    },
    /// A row with a wrong seal.
    Row {
        table: String,
        key: String,
    },
    /// A table whose row count differs from the recorded count.
    Rows {
        table: String,
        written: i64,
        found: i64,
    },
    /// A table whose entry in `sealed_table` is missing or differs from the schema.
    Misnoted {
        table: String,
    },
    /// A security whose recorded number of series or corporate actions is wrong.
    Miscounted {
        symbol: String,
        series: (i64, i64),
        actions: (i64, i64),
    },
    /// A series whose recorded totals differ from the sums over its blocks.
    Totals {
        recorded: SeriesInfo,
        found: SeriesInfo,
    },
    /// A problem with a day's trades. If `in_block` is true, importing the files again repairs the
    /// problem.
    Trades {
        symbol: String,
        day: String,
        problem: String,
        in_block: bool,
    },
    /// A security whose recorded number of days with trades is wrong.
    TradeDays {
        symbol: String,
        written: i64,
        found: i64,
    },
    /// A trade body without a directory entry.
    TradeBodyOrphan {
        id: i64,
    },
    /// A counter that would assign ids that are already in use.
    Counter {
        name: String,
    },
    /// A problem of the log of ingested batches, in `ingest.db`.
    IngestLog(String),
    /// A part of the database that could not be read.
    Unreadable(String),
}

/// The findings of one part of a check, or the error that stopped that part.
pub(crate) type Part = Result<(Vec<Finding>, ()), StoreError>;

impl From<Flaw> for Finding {
    fn from(flaw: Flaw) -> Finding {
        match flaw {
            Flaw::Engine(words) => Finding::Engine(words),
            Flaw::Dangling { table, parent, count } => Finding::Dangling { table, parent, count },
            Flaw::Row { table, key } => Finding::Row { table, key },
            Flaw::Rows { table, written, found } => Finding::Rows { table, written, found },
            Flaw::Misnoted { table } => Finding::Misnoted { table },
            Flaw::Unreadable(why) => Finding::Unreadable(why),
        }
    }
}

impl Finding {
    /// Creates a finding for a problem of a trade day outside its blocks.
    pub(crate) fn trades(day: &TradeDay, problem: &str) -> Finding {
        let (symbol, day) = (day.symbol.to_string(), day.day.to_string());
        Finding::Trades { symbol, day, problem: problem.to_owned(), in_block: false }
    }

    /// Returns whether importing the source files again repairs the problem. Other problems require
    /// a backup or a new store.
    pub fn is_in_a_block(&self) -> bool {
        match self {
            Finding::Body { .. }
            | Finding::BodyMissing { .. }
            | Finding::BodyLength { .. }
            | Finding::BodyForeign { .. }
            | Finding::Trades { in_block: true, .. } => true,
            // A missing body is also reported with its series or day.
            Finding::Dangling { table, parent, .. } => {
                matches!(
                    (table.as_str(), parent.as_str()),
                    ("block_index", "block_body") | ("trade_index", "trade_body")
                )
            }
            _ => false,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Engine(words) => write!(f, "database: {words}"),
            Finding::Dangling { table, parent, count } => {
                write!(f, "{count} rows of table {table} point at rows of table {parent} that are missing")
            }
            Finding::BodyMissing { series, entry } => {
                write!(f, "{series} at {}: block {} has no body", entry.first, entry.id)
            }
            Finding::BodyLength { series, entry, found } => write!(
                f,
                "{series} at {}: block {} has {found} bytes, its entry has {}",
                entry.first, entry.id, entry.bytes
            ),
            Finding::Body { series, entry, reason } => {
                write!(f, "{series} at {}: block {}: {reason}", entry.first, entry.id)
            }
            Finding::BodyForeign { series, entry } => {
                write!(
                    f,
                    "{series} at {}: block {} differs from the one that was written",
                    entry.first, entry.id
                )
            }
            Finding::Unlinked { series, entry } => {
                write!(
                    f,
                    "{series} at {}: a block before or after block {} is missing",
                    entry.first, entry.id
                )
            }
            Finding::Row { table, key } => {
                write!(f, "a row of table {table} differs from what was written: {key}")
            }
            Finding::Rows { table, written, found } => {
                write!(f, "table {table} has {found} rows, {written} were written")
            }
            Finding::Misnoted { table } => {
                write!(f, "table sealed_table has no entry for table {table}")
            }
            Finding::Miscounted { symbol, series, actions } => write!(
                f,
                "{symbol} has {} series and {} corporate actions, {} and {} were written",
                series.1, actions.1, series.0, actions.0
            ),
            Finding::BodyOrphan { id } => write!(f, "block {id} belongs to no series"),
            Finding::EntryOrphan { id } => write!(f, "block {id} belongs to a series that does not exist"),
            Finding::Overlap { series, before, entry } => write!(
                f,
                "{series} at {}: block {} starts before block {} ends, at {}",
                entry.first, entry.id, before.id, before.last
            ),
            Finding::Totals { recorded: stored, found } => write!(
                f,
                "{}: the series has {} rows in {} blocks of {} bytes from {} to {}, its blocks {} in {} of \
                 {} from {} to {}",
                stored.series,
                stored.rows,
                stored.blocks,
                stored.bytes,
                stored.first,
                stored.last,
                found.rows,
                found.blocks,
                found.bytes,
                found.first,
                found.last
            ),
            Finding::Trades { symbol, day, problem, .. } => {
                write!(f, "trades of {symbol} on {day}: {problem}")
            }
            Finding::TradeDays { symbol, written, found } => {
                write!(f, "{symbol} has {found} days with trades, {written} were written")
            }
            Finding::TradeBodyOrphan { id } => write!(f, "block {id} of trades belongs to no day"),
            Finding::Counter { name } => write!(f, "the counter of {name} ids is behind the ids in use"),
            Finding::IngestLog(problem) => write!(f, "ingest.db: {problem}"),
            Finding::Unreadable(reason) => f.write_str(reason),
        }
    }
}
