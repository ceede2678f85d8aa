//! Selects an account's watchlists and their source: the local store or a server. Both return the
//! same document.

use clap::Args;
use market::Symbol;
use serde_json::Value;

use super::here::Here;
use super::there::There;
use crate::context::{self, CommandContext};
use crate::failure::{Failure, usage};
use crate::remote;

/// Selects an account.
#[derive(Debug, Args)]
pub(super) struct Whose {
    /// The account in the local store, by name or number [default: the only one]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

/// How the securities of a group change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    Add,
    Remove,
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pinning {
    Add,
    Remove,
}

pub(super) enum Source {
    Here(Box<Here>),
    There(There),
}

impl Whose {
    pub(super) fn source(&self, context: &CommandContext) -> Result<Source, Failure> {
        match self.remote.session(context)? {
            Some(_) if self.account.is_some() => Err(usage(
                "--account is for the store here: a server answers for the account that has signed in to it",
            )),
            Some(session) => Ok(Source::There(There::new(session))),
            None => Ok(Source::Here(Box::new(Here::open(context, self.account.as_deref())?))),
        }
    }
}

impl Source {
    /// All groups.
    pub(super) fn document(&mut self) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.document(),
            Source::There(there) => there.document(),
        }
    }

    /// Creates a group and returns its id.
    pub(super) fn create(&mut self, name: &str, symbols: Vec<Symbol>) -> Result<String, Failure> {
        match self {
            Source::Here(here) => here.create(name, symbols),
            Source::There(there) => there.create(name, &symbols),
        }
    }

    pub(super) fn change(&mut self, id: &str, members: Members, symbols: Vec<Symbol>) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.change(id, members, symbols),
            Source::There(there) => there.change(id, members, &symbols),
        }
    }

    pub(super) fn rename(&mut self, id: &str, name: &str) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.rename(id, name),
            Source::There(there) => there.rename(id, name),
        }
    }

    pub(super) fn delete(&mut self, id: &str, purge: bool) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.delete(id, purge),
            Source::There(there) => there.delete(id, purge),
        }
    }

    pub(super) fn pin(&mut self, symbols: Vec<Symbol>, pinning: Pinning) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.pin(&symbols, pinning),
            Source::There(there) => there.pin(&symbols, pinning),
        }
    }

    /// Parses typed symbols. With the local store, the error for a mistyped one has suggestions.
    pub(super) fn symbols(&self, texts: &[String], context: &CommandContext) -> Result<Vec<Symbol>, Failure> {
        let symbol = |text: &String| match self {
            Source::Here(_) => context.symbol(text),
            Source::There(_) => context::symbol(text),
        };
        texts.iter().map(symbol).collect()
    }
}
