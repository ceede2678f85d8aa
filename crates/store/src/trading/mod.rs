//! Tables of paper accounts in the accounts database: journals, statements, and contributions to
//! account levels.

pub(crate) use journal::numbers_counter;
pub use journal::{
    AddOutcome, Addition, CopyOutcome, JournalCopy, JournalCut, JournalEntry, JournalHead, JournalLock,
    KeyedRequest, Rewind, RewindOutcome, SNAPSHOT_BYTES_MAX,
};
pub use statements::{NewStatement, STATEMENT_BYTES_MAX, StatementBatch, StatementKey, StatementQuery};
pub use tallies::{PaperAssets, PaperTally, TallyDays};

mod journal;
mod journal_sql;
mod statements;
mod tallies;
