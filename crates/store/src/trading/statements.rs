//! Account statements of paper accounts. A statement is written once, and removed when a rewind
//! removes the journal entries that it is based on.

use market::{Date, Timestamp};

use super::journal::{self, JournalHead};
use crate::accounts::{Accounts, levels::date};
use crate::engine::{Db, StoreError};
use crate::ids::AccountId;

/// Maximum size of a document, in bytes.
pub const STATEMENT_BYTES_MAX: usize = crate::candles::BLOCK_BYTES_MAX;

/// Identifies a statement of an account. The store does not interpret the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementKey {
    pub kind: u8,
    pub date: Date,
}

/// A statement to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStatement {
    pub key: StatementKey,
    /// Market time at which the statement was made.
    pub made_at: Timestamp,
    pub document: Vec<u8>,
}

/// Statements that were created together.
#[derive(Clone, Copy, Debug)]
pub struct StatementBatch<'a> {
    pub account: AccountId,
    /// The journal head that the statements were created from.
    pub of: JournalHead,
    /// The kind, and the date of the last statement of this kind that the caller has seen.
    pub after: (u8, Option<Date>),
    pub statements: &'a [NewStatement],
    /// Market time at which the next statement is due.
    pub next_at: Timestamp,
}

/// Selects statements of one kind, starting at a date, that were created at or before an instant.
/// The newest statements are returned first.
#[derive(Clone, Copy, Debug)]
pub struct StatementQuery {
    pub kind: u8,
    pub from: Date,
    pub made_by: Timestamp,
    pub skip: u32,
    pub limit: u32,
}

impl Accounts {
    /// Stores statements, unless entries were removed from the journal or another process has
    /// stored statements in the meantime. Returns whether the statements were stored.
    pub fn put_statements(&self, batch: &StatementBatch<'_>) -> Result<bool, StoreError> {
        let StatementBatch { account, of, after: (kind, last), statements, next_at } = batch;
        if statements.iter().any(|statement| statement.document.len() > STATEMENT_BYTES_MAX) {
            return Err(StoreError::unfit("a statement", "it is too long"));
        }
        self.change_of(*account, |db| {
            let is_of_it = journal::head(db, *account)?.is_some_and(|now| now.follows(of));
            if !is_of_it || last_statement(db, *account, *kind)? != *last {
                return Ok(false);
            }
            for NewStatement { key, made_at, document } in *statements {
                db.run(sql::ADD, (account.0, key.kind, key.date.to_string(), made_at.0, document))?;
            }
            db.run(sql::PUT_DUE, (account.0, next_at.0))?;
            Ok(true)
        })
    }

    /// Returns the date of the last statement of a kind, or `None` if there is no such statement.
    pub fn last_statement(&self, id: AccountId, kind: u8) -> Result<Option<Date>, StoreError> {
        last_statement(&self.read(), id, kind)
    }

    /// Returns the dates and creation times of the selected statements.
    pub fn statements(
        &self,
        id: AccountId,
        query: &StatementQuery,
    ) -> Result<Vec<(Date, Timestamp)>, StoreError> {
        let StatementQuery { kind, from, made_by, skip, limit } = query;
        let within = (id.0, kind, from.to_string(), made_by.0, limit, skip);
        self.read().all(sql::LIST, within, |row| Ok((date(row, 0)?, Timestamp(row.get(1)?))))
    }

    /// Returns the creation time and the document of a statement, or `None` if it does not exist.
    pub fn statement(
        &self,
        id: AccountId,
        key: StatementKey,
    ) -> Result<Option<(Timestamp, Vec<u8>)>, StoreError> {
        let named = (id.0, key.kind, key.date.to_string());
        self.read().first(sql::READ, named, |row| Ok((Timestamp(row.get(0)?), row.get(1)?)))
    }

    /// Returns the market time at which the next statement of an account is due, or `None` if this
    /// time was never computed.
    pub fn statement_due(&self, id: AccountId) -> Result<Option<Timestamp>, StoreError> {
        self.read().first(sql::DUE, [id.0], |row| Ok(Timestamp(row.get(0)?)))
    }

    /// Returns accounts whose journals have reached the due time of the next statement. Returns at
    /// most `limit` accounts with ids above `after`.
    pub fn accounts_with_statements_due(
        &self,
        after: AccountId,
        limit: u32,
    ) -> Result<Vec<AccountId>, StoreError> {
        self.read().all(sql::ACCOUNTS_DUE, (after.0, limit), |row| Ok(AccountId(row.get(0)?)))
    }
}

fn last_statement(db: &Db, id: AccountId, kind: u8) -> Result<Option<Date>, StoreError> {
    db.first(sql::LAST, (id.0, kind), |row| date(row, 0))
}

/// Removes statements created after `to`. Must be called in the transaction that removes the
/// journal entries.
pub(super) fn take_back(db: &Db, account: AccountId, to: Timestamp) -> Result<(), StoreError> {
    db.run(sql::CUT, (account.0, to.0))?;
    db.run(sql::CUT_DUE, [account.0]).map(drop)
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        ADD: "store a statement",
            "insert into statement (account_id, kind, day, made_at, document) values ($1, $2, $3, $4, $5)";
        LAST: "find the last statement",
            "select day from sealed_statement where account_id = $1 and kind = $2 order by day desc limit 1";
        LIST: "list the statements",
            "select day, made_at from sealed_statement \
             where account_id = $1 and kind = $2 and day >= $3 and made_at <= $4 order by day desc limit $5 offset $6";
        READ: "read a statement",
            "select made_at, document from sealed_statement where account_id = $1 and kind = $2 and day = $3";
        CUT: "delete later statements", "delete from statement where account_id = $1 and made_at > $2";

        DUE: "read when a statement is due", "select next_at from sealed_statement_due where account_id = $1";
        PUT_DUE: "record when a statement is due",
            "insert into statement_due (account_id, next_at) values ($1, $2) \
             on conflict (account_id) do update set next_at = excluded.next_at";
        CUT_DUE: "mark statements as due", "delete from statement_due where account_id = $1";
        ACCOUNTS_DUE: "list the accounts with statements due",
            "select h.account_id from sealed_journal_head h where h.account_id > $1 and h.horizon > 0 and not exists \
                (select 1 from sealed_statement_due d where d.account_id = h.account_id and d.next_at > h.horizon) \
             order by h.account_id limit $2";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn reading_statements_uses_the_indexes() {
            crate::engine::statements::follow_the_keys(
                crate::engine::migrations::ACCOUNTS,
                &[LAST, LIST, READ, CUT, DUE],
            );
        }
    }
}
