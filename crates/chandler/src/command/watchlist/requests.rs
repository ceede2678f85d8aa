//! Requests about watchlists.

use access::WatchlistName;
use anyhow::anyhow;
use market::Symbol;
use serde_json::{Value, json};

use crate::client::Client;
use crate::failure::{Failure, usage};
use crate::remote::field;

const GROUPS: &str = "/v1/watchlist/groups";

/// How the securities in a group are changed.
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

impl Client {
    /// Returns all groups.
    pub(super) fn watchlists(&self) -> Result<Value, Failure> {
        self.read(GROUPS, &[])
    }

    /// Creates a group and returns its ID.
    pub(super) fn create_watchlist(&self, name: &str, symbols: &[Symbol]) -> Result<String, Failure> {
        self.check_name(name)?;
        let body = json!({"name": name, "securities": texts(symbols)});
        let created = self.post(GROUPS, body).map_err(|error| self.to_failure(error))?;
        let server = match self {
            Client::Local(_) => "the store",
            Client::Remote(session) => session.url.as_str(),
        };
        let id = field(&created, "id").as_str().map(str::to_owned);
        id.ok_or_else(|| anyhow!("{server} did not return the id of the group").into())
    }

    pub(super) fn change_watchlist(
        &self,
        id: &str,
        members: Members,
        symbols: &[Symbol],
    ) -> Result<(), Failure> {
        let mode = match members {
            Members::Add => "add",
            Members::Remove => "remove",
            Members::Replace => "replace",
        };
        let body = json!({"id": id, "securities": texts(symbols), "mode": mode});
        self.put(GROUPS, body).map(drop).map_err(|error| self.to_failure(error))
    }

    pub(super) fn rename_watchlist(&self, id: &str, name: &str) -> Result<(), Failure> {
        self.check_name(name)?;
        let answer = self.put(GROUPS, json!({"id": id, "name": name}));
        answer.map(drop).map_err(|error| self.to_failure(error))
    }

    /// Rejects an invalid name as a usage error for the local store. A server validates names
    /// itself.
    fn check_name(&self, name: &str) -> Result<(), Failure> {
        match self {
            Client::Local(_) => WatchlistName::parse(name).map(drop).map_err(usage),
            Client::Remote(_) => Ok(()),
        }
    }

    pub(super) fn delete_watchlist(&self, id: &str, purge: bool) -> Result<(), Failure> {
        // IDs from the list need no encoding; the server rejects other IDs.
        let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
        let answer = self.delete(&format!("{GROUPS}?id={id}&purge={purge}"));
        answer.map(drop).map_err(|error| self.to_failure(error))
    }

    pub(super) fn pin(&self, symbols: &[Symbol], pinning: Pinning) -> Result<(), Failure> {
        let mode = match pinning {
            Pinning::Add => "add",
            Pinning::Remove => "remove",
        };
        let body = json!({"mode": mode, "securities": texts(symbols)});
        self.post("/v1/watchlist/pinned", body).map(drop).map_err(|error| self.to_failure(error))
    }
}

fn texts(symbols: &[Symbol]) -> Vec<String> {
    symbols.iter().map(ToString::to_string).collect()
}
