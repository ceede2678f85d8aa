//! The candle database: blocks of candles and trades, securities, corporate actions, margin factors
//! and the import ledger.

pub use action::{ActionChanges, StoredAction};
pub use batch::{Batch, Change};
pub use block::{BLOCK_BYTES_MAX, BlockEntry, NewBlock, Tail};
pub use bodies::Body;
pub(crate) use copy::LocalCopy;
pub(crate) use copy::sql::{INGESTED, NOTIFY};
pub use copy::{CopyLoad, CopySettings, StoreNews};
pub use finding::Finding;
pub use ingest::{Append, INGEST_ANSWERS_KEPT, IngestBatch, IngestLog, IngestWriter, PartialMinute};
pub use ledger::{
    ImportId, ImportProgress, ImportRecord, ImportSource, ImportState, NewImport, QUARANTINE_TEXT_MAX,
    QuarantineEntry, QuarantineOf, QuarantineRow,
};
pub use margin::Margin;
pub use mirrors::{
    DerivedFactor, FactorKind, MIRROR_REPORTS_MAX, MirrorId, MirrorJob, MirrorReport, MirrorRow,
    MirrorSecurity,
};
pub(crate) use retired::sweep_all;
pub use security::{DatedFigures, FIGURES_MAX, Security, Suspension};
pub use series::{Lane, ParseSeriesError, Series, SeriesInfo};
pub use store::{Access, FileSizes, Reader, Snapshot, Store, Writer};
pub use tail::TailChange;
pub use trades::{TradeDay, TradeSizes, TradeSource, TradedSymbol};
pub use undo::ImportChange;
pub use version::VersionReader;
pub use view::{Totals, View};

mod action;
mod ahead;
mod batch;
mod block;
mod bodies;
mod bulk;
pub(crate) mod check;
mod copy;
mod finding;
mod ingest;
pub(crate) mod ingest_file;
mod ledger;
mod margin;
mod mirrors;
mod nearby;
mod push_numbers;
mod retired;
mod security;
mod series;
pub(crate) mod sql;
mod store;
mod tail;
pub(crate) mod trade_sql;
mod trades;
mod undo;
mod version;
mod view;
