//! Drawings on charts: a text per account and security, which the store does not interpret.

use market::{Symbol, Timestamp};

use crate::accounts::Accounts;
use crate::engine::{StoreError, small};
use crate::ids::AccountId;

/// Maximum length of the drawings on one chart. The server limits their number.
const BYTES_MAX: usize = 32 << 10;

impl Accounts {
    /// Returns an account's drawings on the chart of a security, or `None` if it has none.
    pub fn drawings(&self, account: AccountId, symbol: &Symbol) -> Result<Option<String>, StoreError> {
        self.read().first(sql::OF_SYMBOL, (account.0, symbol.as_str()), |row| row.get(0))
    }

    /// Replaces an account's drawings on the chart of a security; an empty text removes them. Returns
    /// `false` and changes nothing if the account would have drawings on more than `most` charts.
    pub fn put_drawings(
        &self,
        account: AccountId,
        symbol: &Symbol,
        items: &str,
        (at, most): (Timestamp, u32),
    ) -> Result<bool, StoreError> {
        if items.len() > BYTES_MAX {
            return Err(StoreError::unfit("drawings", format!("they are longer than {BYTES_MAX} bytes")));
        }
        self.change_of(account, |db| {
            let key = (account.0, symbol.as_str());
            if items.is_empty() {
                db.run(sql::REMOVE, key)?;
                return Ok(true);
            }
            let is_known = db.first(sql::OF_SYMBOL, key, |_| Ok(()))?.is_some();
            if !is_known && db.one(sql::COUNT, [account.0], |row| small(row, 0))? >= most {
                return Ok(false);
            }
            db.run(sql::PUT, (account.0, symbol.as_str(), items, at.0))?;
            Ok(true)
        })
    }
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        OF_SYMBOL: "read the drawings on a chart",
            "select items from sealed_drawing where account_id = $1 and symbol = $2";
        COUNT: "count the charts with drawings", "select count(*) from sealed_drawing where account_id = $1";
        PUT: "store the drawings on a chart",
            "insert into drawing (account_id, symbol, items, updated_at) values ($1, $2, $3, $4) \
             on conflict (account_id, symbol) do update set items = excluded.items, updated_at = excluded.updated_at";
        REMOVE: "remove the drawings on a chart",
            "delete from drawing where account_id = $1 and symbol = $2";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn queries_for_drawings_use_their_index() {
            let all = [OF_SYMBOL, COUNT, PUT, REMOVE];
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
        }
    }
}
