//! Tests of the store on SQLite, in a directory. Tests for every engine are in the files that
//! `tests/postgres` also runs, each test with its store from `fixture::fresh` or in a `Home`; tests
//! specific to SQLite files are in the others.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod fixture;
mod home;

// For every engine.
mod accounts;
mod actions;
mod background;
mod blocks;
mod checks;
mod journals;
mod ledger;
mod margins;
mod moving;
mod opening;
mod password_links;
mod people;
mod securities;
mod statements;
mod topics;
mod trades;
mod transactions;
mod watchlists;

// For files only.
mod backup;
mod damaged;
mod files;
mod interrupted;
mod restore;
mod restore_stopped;
mod restored;
mod sealed;
