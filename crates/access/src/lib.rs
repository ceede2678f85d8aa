//! Access control: who may send requests, how often and how much. The crate implements accounts,
//! signatures, one-time passwords, sessions, rate limits and quotas.
//!
//! The crate does not depend on the network: it contains no HTTP, packets or response codes. It
//! reads no clock either. Three kinds of time are passed as arguments and never mixed:
//!
//! - *now* ([`Timestamp`](market::Timestamp)) is the machine's wall clock, by which signatures and
//!   sessions expire;
//! - *market now*, of the same type, determines the month of a quota, the level in force and
//!   whether a right is valid;
//! - *uptime* is a monotonic clock for rate limits and one-time passwords.
//!
//! Start with [`Access`]. [`Access::identify`] authenticates a request and returns a [`Caller`];
//! [`Access::sign_on`] and [`Access::resume`] authenticate a connection. Requests are then admitted
//! in `admit.rs`: [`Access::admit_within`] returns a [`Permit`] for a [`Scope`], and
//! [`Access::admit`] returns a permit for a [`Demand`] that is counted or needs a market right.
//! Both return a [`Refusal`] if the request is not admitted. [`Access::admit_browser`] returns a
//! permit for a signed-in user of the web pages, and [`Access::admit_in_process`] for the command
//! line. [`Access::quota`] returns an account's usage in a month. Levels are determined in
//! `judge.rs` by the rules in `level.rs`. Persistent state is in the crate `store`.
//!
//! In-memory state is in `identity.rs`, `limits.rs`, `standing.rs` and `cluster.rs`. The module
//! `guesses` limits brute-force attempts at passwords and codes.
//!
//! There are two rate limits. History requests have a sliding window (`rate.rs`). All other quote
//! commands share the general limit ([`CallRule`], `calls.rs`), which [`Access::admit_call`] checks
//! before anything else.
//!
//! Watchlists are in `watchlist.rs`, saved layouts of the chart page in `layouts.rs`.

mod access;
mod account;
mod admission_cache;
mod admit;
mod audit;
mod browser;
mod caller;
mod calls;
mod cluster;
mod connection;
mod credential_cache;
mod download;
mod error;
mod guesses;
mod health;
mod identify;
mod identity;
mod ingest_symbols;
mod inputs;
mod judge;
mod keys;
mod layouts;
mod level;
mod limits;
mod mirrors;
mod oauth;
mod opening;
mod otp;
mod password;
mod password_link;
mod quota;
mod rate;
mod rate_limiter;
mod renew;
mod replay;
mod report;
mod rights;
mod scope;
mod secret;
mod session;
mod shared;
mod shared_rates;
mod sign_in_guards;
mod sign_in_link;
mod sign_on;
mod signature;
mod standing;
mod time;
mod token;
mod usage;
mod watchlist;
mod worlds;

pub use access::{Access, Created, Freshness, NewAccount, TOKEN_LIFE_DEFAULT_S};
pub use account::{
    Account, CONNECTIONS_MAX, NAME_CHARS_MAX, ParseRegionError, Region, Role, SUBSCRIPTIONS_MAX, Terms,
    TermsChange,
};
pub use admission_cache::AdmissionCache;
pub use admit::{Allowance, Demand, NotOperator, Permit, Refusal, Ticket};
pub use audit::{ImportStep, Offered};
pub use browser::{BROWSER_LIFE_S, Browser, CodeRefused, Login, LoginRefused, SignedIn};
pub use caller::{Actor, Caller};
pub use calls::CallRule;
pub use connection::{Connection, ConnectionId, Lineage, RunOutcome};
pub use download::{Download, DownloadRefused};
pub use error::{AccessError, Denial, Slots};
pub use guesses::POLL_INTERVAL_S;
pub use health::{DatabaseState, GRACE_DEFAULT};
pub use identify::Recognized;
pub use ingest_symbols::{IngestSymbols, ParseIngestSymbolsError, SymbolPattern};
pub use inputs::{REPORT_BYTES_MAX, REPORT_ROWS_MAX, ReportError, Table};
pub use layouts::{LAYOUT_QUERY_MAX, LAYOUTS_MAX, LayoutError, LayoutName};
pub use level::{Grounds, Hkd, Ladder, Level, MonthOrders, Reason, Source, Step, StepChange, Worth};
pub use mirrors::MirrorStep;
pub use oauth::{
    ACCESS_TOKEN_LIFE_S, AUTH_METHODS, AUTHORIZATION_CODE_LIFE_S, AuthorizationError, AuthorizationRequest,
    BadRequest, ClientInfo, DEVICE_CODE_LIFE_S, DeviceRequest, DeviceStart, Grant, IngestToken, NewClient,
    OAuthError, ParsePkceRuleError, PkceRule, PresentedClient, REFRESH_GRACE_S, REFRESH_TOKEN_LIFE_S,
    Registered, Registration, SCOPE, SignIn, Tokens, grant_type,
};
pub use opening::{check_key_target, hand_over_key, key_file};
pub use otp::OTP_LIFE;
pub use password::{PASSWORD_BYTES_MAX, PASSWORD_BYTES_MIN};
pub use password_link::{LinkedAccount, PASSWORD_LINK_LIFE_S, PasswordLink, PasswordLinkRefused};
pub use quota::QUOTA_MAX;
pub use rate::{ParseRateRuleError, RateRule};
pub use rate_limiter::{Pace, RateLimit, RateLimiter, network_of};
pub use renew::{FORMER_LIFE_S, RENEWED_LIFE_DEFAULT_S, RENEWED_LIFE_MAX_S, RENEWED_LIFE_MIN_S, RenewError};
pub use replay::Repetition;
pub use report::{RateEntry, Reported, ReportedAssets};
pub use rights::{Hold, ParseRightError, ParseRightsError, Right, Rights, TIME_MAX, Validity};
pub use scope::{Scope, Scopes};
pub use secret::Secret;
pub use session::{SESSION_LIFE_S, Session};
pub use shared::{ListedConnection, SharedConnection};
pub use sign_in_link::{LinkRefused, SIGN_IN_LINK_LIFE_S, SignedInByLink};
pub use sign_on::{SignedOn, SlotLocation};
pub use signature::{SignedRequest, TIMESTAMP_TOLERANCE_S, verify_signature};
pub use standing::{LevelsFrom, Outlook, ParseLevelsFromError, Standing};
pub use store::{
    AccountId, AuditFilter, AuditId, AuditRow, Fit, FollowedSecurity, LayoutRow, MissedTrades, NodeRow,
    Reserved, Revocation, SlotEnding, TallyDays, WatchlistGroup, WatchlistId, Watchlists,
};
pub use time::{Moment, Month, ParseInstantError, Present, parse_instant};
pub use usage::{Preview, Quota, Usage};
pub use watchlist::{
    ALL_FOLLOWED, ALL_FOLLOWED_NAME, FOLLOWED_MAX, GroupRemains, MembersChange, Pin, PricedSecurity,
    WATCHLIST_GROUPS_MAX, WATCHLIST_NAME_CHARS_MAX, WATCHLIST_SECURITIES_MAX, WatchlistError, WatchlistName,
    check_watchlist_change,
};
pub use worlds::{CreatedWorld, NewWorld, WORLD_KEYS_MAX, WorldRefused};
