//! A file a command: its arguments, and what it does.

pub(crate) mod account;
pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod backup;
pub(crate) mod calendar;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connections;
pub(crate) mod coverage;
pub(crate) mod demo;
pub(crate) mod demo_serve;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod imports;
pub(crate) mod inspect;
pub(crate) mod kline;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod quarantine;
pub(crate) mod quota;
pub(crate) mod restore;
pub(crate) mod serve;
pub(crate) mod time;
