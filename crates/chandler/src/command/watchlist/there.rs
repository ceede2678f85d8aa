//! Watchlists at a server, through its HTTP API.

use anyhow::anyhow;
use market::Symbol;
use serde_json::{Value, json};

use super::source::{Members, Pinning};
use crate::failure::Failure;
use crate::remote::field;
use crate::remote::session::{ApiError, Session};

const GROUPS: &str = "/v1/watchlist/groups";

pub(super) struct There {
    session: Session,
}

impl There {
    pub(super) fn new(session: Session) -> There {
        There { session }
    }

    pub(super) fn document(&self) -> Result<Value, Failure> {
        self.to_failure(self.session.get(GROUPS))
    }

    pub(super) fn create(&self, name: &str, symbols: &[Symbol]) -> Result<String, Failure> {
        let body = json!({"name": name, "securities": texts(symbols)});
        let created = self.to_failure(self.session.post(GROUPS, body))?;
        let id = field(&created, "id").as_str().map(str::to_owned);
        id.ok_or_else(|| anyhow!("{} does not tell the id of the group", self.session.url.as_str()).into())
    }

    pub(super) fn change(&self, id: &str, members: Members, symbols: &[Symbol]) -> Result<(), Failure> {
        let mode = match members {
            Members::Add => "add",
            Members::Remove => "remove",
            Members::Replace => "replace",
        };
        let body = json!({"id": id, "securities": texts(symbols), "mode": mode});
        self.to_failure(self.session.put(GROUPS, body)).map(drop)
    }

    pub(super) fn rename(&self, id: &str, name: &str) -> Result<(), Failure> {
        self.to_failure(self.session.put(GROUPS, json!({"id": id, "name": name}))).map(drop)
    }

    pub(super) fn delete(&self, id: &str, purge: bool) -> Result<(), Failure> {
        // Listed ids need no encoding; the server refuses others.
        let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
        self.to_failure(self.session.delete(&format!("{GROUPS}?id={id}&purge={purge}"))).map(drop)
    }

    pub(super) fn pin(&self, symbols: &[Symbol], pinning: Pinning) -> Result<(), Failure> {
        let mode = match pinning {
            Pinning::Add => "add",
            Pinning::Remove => "remove",
        };
        let body = json!({"mode": mode, "securities": texts(symbols)});
        self.to_failure(self.session.post("/v1/watchlist/pinned", body)).map(drop)
    }

    fn to_failure(&self, answer: Result<Value, ApiError>) -> Result<Value, Failure> {
        answer.map_err(|error| self.session.to_failure(error))
    }
}

fn texts(symbols: &[Symbol]) -> Vec<String> {
    symbols.iter().map(ToString::to_string).collect()
}
