//! The first database of a store: blocks of candles and of single trades, securities, corporate actions, margin factors and the import ledger.

pub use action::{ActionChanges, StoredAction};
pub use batch::{Batch, Change};
pub use block::{BLOCK_BYTES_MAX, BlockEntry, NewBlock, Tail};
pub use ledger::{
    ImportId, ImportProgress, ImportRecord, ImportSource, ImportState, NewImport, QUARANTINE_TEXT_MAX,
    QuarantineEntry, QuarantineOf, QuarantineRow,
};
pub use margin::Margin;
pub use security::Security;
pub use series::{Lane, ParseSeriesError, Series, SeriesInfo};
pub use store::{Access, FileSizes, Reader, Snapshot, Store, Writer};
pub use trades::{TradeDay, TradeSizes, TradeSource, TradedSymbol};
pub use undo::ImportChange;
pub use view::{Body, ERA_VERSIONS, Totals, View, era};

mod action;
mod batch;
mod block;
pub(crate) mod chain;
mod ledger;
mod margin;
mod security;
mod series;
pub(crate) mod sql;
mod store;
mod trade_check;
pub(crate) mod trade_sql;
mod trades;
mod undo;
mod undo_sql;
pub(crate) mod view;
