//! Tests of the store on PostgreSQL: the shared files of the SQLite suite, and tests specific to
//! servers. Each test has separate schemas on a server that this binary starts.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

#[path = "../suite/fixture.rs"]
mod fixture;
mod harness;
mod home;

// These files are shared by all engines.
#[path = "../suite/accounts.rs"]
mod accounts;
#[path = "../suite/actions.rs"]
mod actions;
#[path = "../suite/alerts.rs"]
mod alerts;
#[path = "../suite/background.rs"]
mod background;
#[path = "../suite/blocks.rs"]
mod blocks;
#[path = "../suite/checks.rs"]
mod checks;
#[path = "../suite/ingest.rs"]
mod ingest;
#[path = "../suite/journals.rs"]
mod journals;
#[path = "../suite/layouts.rs"]
mod layouts;
#[path = "../suite/ledger.rs"]
mod ledger;
#[path = "../suite/margins.rs"]
mod margins;
#[path = "../suite/mirrors.rs"]
mod mirrors;
#[path = "../suite/opening.rs"]
mod opening;
#[path = "../suite/password_links.rs"]
mod password_links;
#[path = "../suite/people.rs"]
mod people;
#[path = "../suite/securities.rs"]
mod securities;
#[path = "../suite/statements.rs"]
mod statements;
#[path = "../suite/topics.rs"]
mod topics;
#[path = "../suite/trades.rs"]
mod trades;
#[path = "../suite/transactions.rs"]
mod transactions;
#[path = "../suite/transfer.rs"]
mod transfer;
#[path = "../suite/watchlists.rs"]
mod watchlists;
#[path = "../suite/worlds.rs"]
mod worlds;

// These files are specific to servers.
mod between;
mod losing;
mod nodes;
mod running_worlds;
mod same_names;
mod servers;
mod shared;
mod subscriptions;
mod wire;
