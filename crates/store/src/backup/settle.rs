//! State that must not be rolled back when accounts are restored: allocated numbers, revocations,
//! and single-use credentials.

use std::collections::HashMap;

use crate::accounts::{AuditNote, end_password_link, write_audit};
use crate::candles::sql;
use crate::engine::statements::statements;
use crate::engine::{Db, Fault, Row, StoreError, small};
use crate::ids::AccountId;
use crate::trading::numbers_counter;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    COUNT_ACCOUNTS: "count the accounts", "select count(*) from account";
    ACCOUNTS: "read the accounts", "select id, name, created_at, revoked_at, epoch from sealed_account order by id";
    // This statement does not check seals, because the accounts may be replaced due to damage.
    RAW_ACCOUNTS: "read the accounts", "select id, name, created_at, revoked_at, epoch from account order by id";
    CARRY: "restore an account", "update account set epoch = $1, revoked_at = $2 where id = $3";
    SET_COUNTER: "set a counter",
        "insert into counter (name, next) values ($1, $2) on conflict (name) do update set next = excluded.next";
    END_BROWSERS: "delete the browser sessions", "delete from browser_session";
    END_LINKS: "delete the one-time links", "delete from sign_in_link";
    END_DEVICES: "delete the pending devices", "delete from device_grant";
    END_CODES: "delete the authorization codes", "delete from authorization_code";
    END_TOKENS: "delete the OAuth tokens", "delete from oauth_token";
    END_REPLACED: "delete the replaced tokens", "delete from replaced_token";
    RAW_HEADS: "read the journal heads", "select account_id, revision, last_number from journal_head";
}

/// Names of the accounts that differ between the backup and the replaced store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) still_revoked: Vec<String>,
    pub(super) gone: Vec<String>,
}

/// State of the accounts database that is about to be replaced.
#[derive(Debug, Default)]
pub(super) struct Before {
    counters: Vec<(String, i64)>,
    accounts: Vec<Standing>,
    heads: Vec<Head>,
}

/// Head of an account's journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    account: AccountId,
    revision: i64,
    last_number: i64,
}

impl Head {
    fn read(row: &Row<'_>) -> Result<Head, Fault> {
        Ok(Head { account: AccountId(row.get(0)?), revision: row.get(1)?, last_number: row.get(2)? })
    }
}

#[derive(Clone, Debug)]
struct Standing {
    id: AccountId,
    name: String,
    created_at: i64,
    revoked_at: Option<i64>,
    epoch: u32,
}

impl Standing {
    fn read(row: &Row<'_>) -> Result<Standing, Fault> {
        Ok(Standing {
            id: AccountId(row.get(0)?),
            name: row.get(1)?,
            created_at: row.get(2)?,
            revoked_at: row.get(3)?,
            epoch: small(row, 4)?,
        })
    }

    /// Returns whether both rows describe the same account. Ids are not sufficient: after an
    /// earlier restore, two accounts may have been assigned the same id.
    fn is(&self, other: &Standing) -> bool {
        (self.id, &self.name, self.created_at) == (other.id, &other.name, other.created_at)
    }
}

/// Returns the higher value of each counter, so that a number used in either database is not
/// reused.
fn highest(one: Vec<(String, i64)>, other: &[(String, i64)]) -> Vec<(String, i64)> {
    let mut all: HashMap<String, i64> = one.into_iter().collect();
    for (name, next) in other {
        let known = all.entry(name.clone()).or_insert(*next);
        *known = (*known).max(*next);
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort();
    all
}

/// Reads the counters of a database of any schema. Skips unreadable rows, because the database may
/// be damaged.
fn counters(db: &Db) -> Result<Vec<(String, i64)>, StoreError> {
    let read = |row: &Row<'_>| Some((row.get(0).ok()?, row.get(1).ok()?));
    Ok(db.all(sql::RAW_COUNTERS, [], |row| Ok(read(row)))?.into_iter().flatten().collect())
}

fn heads(db: &Db) -> Result<Vec<Head>, StoreError> {
    Ok(db.all(RAW_HEADS, [], |row| Ok(Head::read(row).ok()))?.into_iter().flatten().collect())
}

impl Before {
    /// Returns counters that exceed the order and grid numbers used by replaced journals that
    /// differ from the restored journals. Each number is used by a journal entry, so the number of
    /// entries is an upper bound.
    fn numbers_used(&self, restored: &[Head]) -> Vec<(String, i64)> {
        let known: HashMap<&str, i64> =
            self.counters.iter().map(|(name, next)| (name.as_str(), *next)).collect();
        let restored: HashMap<AccountId, &Head> = restored.iter().map(|head| (head.account, head)).collect();
        let lost = self.heads.iter().filter(|head| restored.get(&head.account) != Some(head));
        lost.map(|head| {
            let name = numbers_counter(head.account);
            let used = known.get(name.as_str()).copied().unwrap_or(0).saturating_add(head.last_number);
            (name, used)
        })
        .collect()
    }

    pub(super) fn read(db: &Db) -> Result<Before, StoreError> {
        let standings = db.all(RAW_ACCOUNTS, [], |row| Ok(Standing::read(row).ok()))?;
        let accounts: Vec<Standing> = standings.into_iter().flatten().collect();
        let mut before = Before { counters: counters(db)?, accounts, heads: heads(db)? };
        // In a damaged database the counter may be lost while accounts still exist.
        if !before.counters.iter().any(|(name, _)| name == "account") {
            let next = before.accounts.iter().map(|account| account.id.0.saturating_add(1)).max();
            before.counters.extend(next.map(|next| ("account".to_owned(), next)));
        }
        Ok(before)
    }
}

/// Updates the restored accounts before they go live. Tokens that were used and logins that were
/// ended after the backup would become valid again, so all logins are ended. API keys stay valid,
/// because programs cannot sign in again without a user.
pub(super) fn settle(db: &Db, before: &Before, note: &AuditNote<'_>) -> Result<Settled, StoreError> {
    db.begin_write()?;
    let settled = change(db, before, note).and_then(|settled| db.commit().map(|()| settled));
    settled.inspect_err(|_| drop(db.rollback()))
}

fn change(db: &Db, before: &Before, note: &AuditNote<'_>) -> Result<Settled, StoreError> {
    for end in [END_BROWSERS, END_LINKS, END_DEVICES, END_CODES, END_TOKENS, END_REPLACED] {
        db.run(end, [])?;
    }
    let numbers_used = before.numbers_used(&heads(db)?);
    for counter in highest(highest(counters(db)?, &before.counters), &numbers_used) {
        db.run(SET_COUNTER, counter)?;
    }
    let mut settled = Settled::default();
    let restored = db.all(ACCOUNTS, [], Standing::read)?;
    let by_id: HashMap<AccountId, &Standing> = before.accounts.iter().map(|one| (one.id, one)).collect();
    for account in &restored {
        // The password link may have been used since the backup was made.
        end_password_link(db, account.id, note)?;
        let Some(known) = by_id.get(&account.id) else { continue };
        let same = account.is(known);
        // A session stores the epoch in which it began, so ended sessions stay ended.
        let epoch = account.epoch.max(known.epoch).saturating_add(u32::from(!same));
        let stays = same && account.revoked_at.is_none() && known.revoked_at.is_some();
        let revoked_at = if stays { known.revoked_at } else { account.revoked_at };
        db.run(CARRY, (epoch, revoked_at, account.id.0))?;
        if stays {
            let reason = "revoked since the backup was made, and stays so";
            write_audit(db, Some(account.id), "account.revoked", &AuditNote { reason, ..*note })?;
            settled.still_revoked.push(account.name.clone());
        }
    }
    let restored: HashMap<AccountId, &Standing> = restored.iter().map(|one| (one.id, one)).collect();
    let is_gone = |known: &&Standing| !restored.get(&known.id).is_some_and(|account| account.is(known));
    settled.gone = before.accounts.iter().filter(is_gone).map(|account| account.name.clone()).collect();
    write_audit(db, None, "store.restored", note)?;
    Ok(settled)
}
