//! Tests of the store on SQLite. Shared tests, which `tests/postgres` also runs, create their store
//! with `fixture::fresh` or in a `Home`. The other files are specific to SQLite.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod fixture;
mod home;
mod ingest;

// These files are shared by all engines.
mod accounts;
mod actions;
mod alerts;
mod background;
mod blocks;
mod checks;
mod journals;
mod layouts;
mod ledger;
mod margins;
mod mirrors;
mod opening;
mod password_links;
mod people;
mod securities;
mod statements;
mod topics;
mod trades;
mod transactions;
mod transfer;
mod watchlists;
mod worlds;

// These files are specific to SQLite.
mod backup;
mod damaged;
mod files;
mod ingest_file;
mod interrupted;
mod restore;
mod restore_stopped;
mod restored;
mod sealed;
