//! Queries over stored candles, and imports.
//!
//! A [`Query`] is a client's request. [`Plan::of`] turns it into a plan without I/O: which series,
//! which stamps, how many source candles, what to fold. [`History::candles`] reads the blocks of
//! the plan and folds their candles in one pass. [`import`] writes candles to the store. The crate
//! uses no network, no protocol numbers and no clock: the caller passes an [`AsOf`], which decides
//! which candles are visible. Start with `query.rs`, then `as_of.rs`, `plan.rs`, `read.rs` and
//! `edge.rs`; `paging.rs` reads more candles than one answer can hold, `quote.rs` computes the last
//! price and the figures of the day, `trades.rs` reads single trades and capital flow, and `own.rs`
//! mixes coarse files with one-minute candles.
//!
//! Example: import a file into an empty store, and query weekly candles.
//!
//! ```
//! use history::import::{Context, Options, Progress, import};
//! use history::{Adjust, AsOf, History, Query, Select, Sessions};
//! use market::{Floors, Timestamp, Venues};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("700.HK.csv");
//! let days = "2024-01-02,300,305,299,301,10\n2024-01-03,301,302,296,297,20\n2024-01-08,297,299,290,292,30\n";
//! std::fs::write(&file, format!("date,open,high,low,close,volume\n{days}"))?;
//!
//! let now = Timestamp(1_730_000_000);
//! let store = store::Store::open(folder.path().join("store"), store::Access::Write { now })?;
//! let (venues, options, progress) = (Venues::built_in()?, Options::default(), Progress::default());
//! let context = Context { store: &store, venues: &venues, options: &options, now: &|| now, stop: &false.into(), progress: &progress };
//! assert_eq!(import(&context, &[file])?[0].rows, 3);
//!
//! let query = Query {
//!     symbol: "700.HK".parse()?,
//!     period: "week".parse()?,
//!     adjust: Adjust::None,
//!     sessions: Sessions::Intraday,
//!     floors: Floors::NONE,
//!     select: Select::Dates { start: None, end: None },
//! };
//! let answer = History::new(venues).candles(&mut store.reader()?, &query, AsOf::Live(now))?;
//! assert_eq!(answer.candles.volume, [30, 30]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adjustment;
mod as_of;
mod check;
mod coverage;
mod day_minutes;
mod edge;
pub mod import;
pub mod ingest;
mod inventory;
mod list_quote;
mod minutes;
pub mod mirror;
mod own;
mod page_cache;
mod paging;
mod plan;
mod query;
mod quote;
mod read;
mod removal;
mod roll_ups;
mod sizes;
mod stored_days;
mod trade_blocks;
mod trade_status;
mod traded;
mod trades;

pub use as_of::{AsOf, Edge, Prefer, RunningTrades};
pub use check::{CheckReport, Damage, Remedy, check, check_until, check_watched};
pub use coverage::{Coverage, DayCoverage, DayState, Expected, Gap, GapReason, coverage};
pub use day_minutes::{DayMinutes, LinePoint};
pub use feed::{Figures, TradeStatus};
pub use inventory::{StoredRange, known_part, makes, stored_ranges};
pub use list_quote::{CLOSES_MAX, ListDay, ListQuote};
pub use page_cache::{Encoded, PageCache, PageCacheLoad, Slices};
pub use paging::{Paged, Pages, Paging, in_order};
pub use plan::{Plan, Rows, Take};
pub use query::{
    Adjust, Anchor, BadQuery, COUNT_DEFAULT, COUNT_MAX, Direction, HistoryError, Query, Select, Sessions,
};
pub use quote::{Quote, SessionQuote, SessionState};
pub use read::{Answer, History};
pub use removal::{Removal, RemovalError, plan_removal, remove};
pub use stored_days::stored_days;
pub use trade_status::{status_begins, status_changes, trade_status};
pub use trades::{CapitalFlow, LatestTrades, TRADES_MAX};

use market::Session;
use store::Lane;

/// Returns the lane that stores a session's candles.
pub fn lane_of(session: Session) -> Lane {
    match session {
        Session::Intraday => Lane::Regular,
        Session::Pre | Session::Post => Lane::Extended,
        Session::Overnight => Lane::Overnight,
    }
}
