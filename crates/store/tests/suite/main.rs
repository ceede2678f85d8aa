//! What a store promises, whatever the engine. Each test gets its store from `fixture::fresh`; a second engine runs
//! the same files with another fixture. What only SQLite's files can do wrong is in `files.rs`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod accounts;
mod actions;
mod background;
mod backup;
mod blocks;
mod checks;
mod damaged;
mod files;
mod fixture;
mod interrupted;
mod journals;
mod ledger;
mod margins;
mod moving;
mod password_links;
mod people;
mod restore;
mod restore_stopped;
mod sealed;
mod securities;
mod statements;
mod topics;
mod trades;
mod transactions;
mod watchlists;
