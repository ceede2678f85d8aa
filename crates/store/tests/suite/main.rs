//! What a store promises, on SQLite: in a directory. What every engine promises is in the files that `tests/postgres` runs too, each test
//! with its store from `fixture::fresh` or in a `Home`; what only SQLite's files can do wrong is in the others.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod fixture;
mod home;

// On every engine.
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

// Of files alone.
mod backup;
mod before_nodes;
mod damaged;
mod files;
mod interrupted;
mod restore;
mod restore_stopped;
mod restored;
mod sealed;
