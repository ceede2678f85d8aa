//! The last gateway of each client, so that a client that moves to another node keeps it. Session
//! ids are self-authenticating and need no row.

use super::{Shared, now_us};
use crate::StoreError;
use crate::engine::Sql;

const REMEMBER: Sql = Sql::new(
    "remember a client",
    concat!(
        "insert into session (lineage, gateway, seen_us) values ($1, $2, ",
        now_us!(),
        ") on conflict (lineage) do update set gateway = excluded.gateway, seen_us = excluded.seen_us"
    ),
);

const RECALL: Sql = Sql::new("recall a client", "select gateway from session where lineage = $1");

pub(super) const SWEEP: Sql = Sql::new("forget old clients", "delete from session where seen_us < $1");

impl Shared {
    /// Stores a client's gateway under its lineage, which is opaque to the store.
    pub fn remember_client(&self, lineage: &[u8; 16], gateway: &str) -> Result<(), StoreError> {
        self.quick().run(REMEMBER, (lineage, gateway)).map(drop)
    }

    pub fn recall_client(&self, lineage: &[u8; 16]) -> Result<Option<String>, StoreError> {
        self.quick().first(RECALL, [lineage], |row| row.get(0))
    }
}
