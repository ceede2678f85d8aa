//! Chart layouts: named addresses of the chart page, which the store does not interpret.

use market::Timestamp;

use crate::accounts::{Accounts, WriteLock};
use crate::engine::{Db, StoreError};
use crate::ids::AccountId;

/// A named layout of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutRow {
    pub name: String,
    /// The query part of a chart's address.
    pub query: String,
    pub changed_at: Timestamp,
}

impl Accounts {
    /// Returns an account's layouts by name.
    pub fn layouts(&self, account: AccountId) -> Result<Vec<LayoutRow>, StoreError> {
        self.read().all(sql::OF_ACCOUNT, [account.0], |row| {
            Ok(LayoutRow { name: row.get(0)?, query: row.get(1)?, changed_at: Timestamp(row.get(2)?) })
        })
    }

    /// Changes the layouts of an account in a transaction that locks the account. `work` gets their
    /// names.
    pub fn change_layouts<T, E: From<StoreError>>(
        &self,
        account: AccountId,
        work: impl FnOnce(&[String], LayoutWrites<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.within(WriteLock::Of(&[account]), |db| {
            let names = db.all(sql::NAMES, [account.0], |row| row.get(0))?;
            work(&names, LayoutWrites { db, account })
        })
    }
}

/// Writes the layouts of an account.
#[derive(Clone, Copy, Debug)]
pub struct LayoutWrites<'a> {
    db: &'a Db,
    account: AccountId,
}

impl LayoutWrites<'_> {
    /// Stores a layout, or replaces that of the same name.
    pub fn put(self, row: &LayoutRow) -> Result<(), StoreError> {
        let LayoutRow { name, query, changed_at } = row;
        self.db.run(sql::PUT, (self.account.0, name.as_str(), query.as_str(), changed_at.0))?;
        Ok(())
    }

    pub fn rename(self, from: &str, to: &str) -> Result<(), StoreError> {
        self.db.run(sql::RENAME, (to, self.account.0, from))?;
        Ok(())
    }

    pub fn remove(self, name: &str) -> Result<(), StoreError> {
        self.db.run(sql::REMOVE, (self.account.0, name))?;
        Ok(())
    }
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        OF_ACCOUNT: "list the chart layouts of an account",
            "select name, query, changed_at from sealed_chart_layout where account_id = $1 order by name";
        NAMES: "list the names of chart layouts",
            "select name from sealed_chart_layout where account_id = $1 order by name";
        PUT: "store a chart layout",
            "insert into chart_layout (account_id, name, query, changed_at) values ($1, $2, $3, $4) \
             on conflict (account_id, name) do update set query = excluded.query, changed_at = excluded.changed_at";
        RENAME: "rename a chart layout", "update chart_layout set name = $1 where account_id = $2 and name = $3";
        REMOVE: "remove a chart layout", "delete from chart_layout where account_id = $1 and name = $2";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn queries_for_layouts_use_their_index() {
            let all = [OF_ACCOUNT, NAMES, PUT, RENAME, REMOVE];
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
        }
    }
}
