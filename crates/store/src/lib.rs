//! The databases of a store: candles and accounts. They are three SQLite files in one directory,
//! of which one is the log of ingested rows, or two schemas of a PostgreSQL database. All SQL of the project is in this crate.
//!
//! `candles.db` holds blocks of candles and trades, securities, corporate actions, margin factors
//! and the import ledger. There is one [`Writer`] at a time across processes, which holds
//! `writer.lock`; [`Reader`]s take no lock and never wait for the writer. Ingested rows are first
//! written to `ingest.db`, a log ([`IngestLog`]), and merged by an [`IngestWriter`], which holds
//! `merge.lock` during a transaction. A [`Writer`] holds that lock too, except while it is paused.
//! `accounts.db` holds accounts, credentials, usage,
//! level reports, OAuth clients and tokens, paper account journals, watchlists, and the audit log.
//! `accounts.db` does not use the [`Writer`], so accounts can be changed and charged during an
//! import; see [`Accounts`].
//!
//! The crate does not decode blocks, interpret candles or rights, or read the current time.
//!
//! Start with [`Store`] (open, reader, writer), then [`View`] (all queries), then [`Batch`] (all
//! changes). SQL statements are in `sql` modules next to the code that runs them, in a dialect
//! shared by SQLite and PostgreSQL; the schemas are in `migrations/`.
//!
//! A module only imports from modules that precede it in this list: `ids`, `engine`, `candles`,
//! `cluster`, `accounts`, then `trading` and `social`, then `backup`, `transfer`, `survey`.

mod accounts;
mod backup;
mod candles;
mod cluster;
mod engine;
mod ids;
mod social;
mod survey;
mod trading;
mod transfer;

pub use accounts::{
    AccountRow, AccountTerms, Accounts, AddWorldOutcome, AssetReportOutcome, AuditFilter, AuditId, AuditNote,
    AuditRow, BrowserRow, CLIENTS_MAX, ClientRow, CodeRow, Credential, DEVICES_MAX, DEVICES_OF_CLIENT_MAX,
    DeviceOutcome, DeviceRow, DeviceState, FAMILIES_MAX, FamilyRow, LevelChange, LevelRow, LinkOutcome,
    MonthUsage, NewAccountRow, NewDevice, NewLink, NewTokens, NewWorldRow, OrderReport, PasswordLinkRow,
    Person, RateRow, RecordedLevel, Redemption, Renewal, RenewalOutcome, ReportedAssetsRow, ReportedHolding,
    ReportedOrdersRow, Revocation, RightRow, Spend, TokenKind, TokenRow, WorldChange, WorldClock, WorldLine,
    WorldRow, WorldSpan,
};
pub use backup::{
    Backup, BackupError, Counts, Existing, KeyFile, Manifest, Part, PartEntry, Prepared, Progress, Restore,
    Restored, Scope, Stage, Watch, check_pages, verify,
};
pub use candles::{
    Access, ActionChanges, Append, BLOCK_BYTES_MAX, Batch, BlockEntry, Body, Change, CopyLoad, CopySettings,
    DatedFigures, DerivedFactor, FIGURES_MAX, FactorKind, FileSizes, Finding, INGEST_ANSWERS_KEPT,
    ImportChange, ImportId, ImportProgress, ImportRecord, ImportSource, ImportState, IngestBatch, IngestLog,
    IngestWriter, Lane, MIRROR_REPORTS_MAX, Margin, MirrorId, MirrorJob, MirrorReport, MirrorRow,
    MirrorSecurity, NewBlock, NewImport, ParseSeriesError, PartialMinute, QUARANTINE_TEXT_MAX,
    QuarantineEntry, QuarantineOf, QuarantineRow, Reader, Security, Series, SeriesInfo, Snapshot, Store,
    StoreNews, StoredAction, Suspension, Tail, TailChange, Totals, TradeDay, TradeSizes, TradeSource,
    TradedSymbol, VersionReader, View, Writer,
};
pub use cluster::{
    Arrival, Fit, GuardKey, GuardRow, GuardTable, Heartbeat, IssuedPassword, ListedSlot, MissedTrades,
    NewPassword, NewSlot, NodeId, NodeRow, PaceLimit, PaceTake, RUNNING_WORLD, RateAsk, RateDecision,
    RateTimes, Reserved, RunSlotOutcome, STREAM, Shared, SignatureLimits, SignatureOutcome, SlotEnding,
    SlotOutcome, SlotRequest, SlotRow, SubscriptionRequest,
};
pub use engine::lock::{JobLock, MirrorLock, MirrorTask, ServerLock};
pub use engine::sqlite::seal_as_it_is;
pub use engine::{Address, AddressError, StoreError, StoreUrl, waiting_at_most, without_waiting};
pub use engine::{Depth, FINDINGS_MAX};
pub use ids::{AccountId, Hash, WorldId};
pub use social::{
    ALERT_FIRINGS_MAX, AlertFiring, AlertId, AlertRow, AlertSeen, FollowedSecurity, Hiding, LayoutRow,
    LayoutWrites, NewAlert, NewReply, NewTopic, PageOf, RECENT_TOPICS_MAX, ReplyHistory, ReplyId, ReplyOrder,
    ReplyOutcome, ReplyRow, TopicId, TopicList, TopicRow, TopicTarget, VisibilityOutcome, WatchlistGroup,
    WatchlistId, WatchlistIds, Watchlists,
};
pub use survey::{
    Archiving, ConnectionCount, HostSurvey, Occupancy, Replication, Scratch, ServerFacts, occupancy, survey,
};
pub use trading::{
    AddOutcome, Addition, CopyOutcome, JournalCopy, JournalCut, JournalEntry, JournalHead, JournalLock,
    KeyedRequest, NewStatement, PaperAssets, PaperTally, Rewind, RewindOutcome, SNAPSHOT_BYTES_MAX,
    STATEMENT_BYTES_MAX, StatementBatch, StatementKey, StatementQuery, TallyDays,
};
pub use transfer::{
    Copied, DatabaseName, Move, MoveError, MoveProgress, MoveStage, MoveWatch, MovedTable, servers,
};
