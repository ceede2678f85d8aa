//! The audit log. A row has the actor, account, event, time and reason of a change, and is written
//! in the same transaction as the change, so neither exists without the other.

use market::Timestamp;

use super::{AccountId, Accounts};
use crate::engine::{Db, Fault, Row, Sql, StoreError};

/// Maximum length of a text column, in characters; longer text is truncated. Callers must not pass
/// secrets, and must limit text that comes from clients.
const TEXT_MAX: usize = 300;
/// Maximum number of rows per read.
const ROWS_MAX: u32 = 10_000;
/// Number of rows pruned per transaction. Limits how long other writers wait.
const PRUNED_AT_ONCE: u32 = 20_000;
/// Number of rows pruned per transaction by a running server. Each transaction adds an audit row,
/// so the batch must not be too small.
const PRUNED_BESIDE: u32 = 2_000;
/// Events that a signed-in account can cause from a script in any number, so they are rate-limited.
/// The statement `sql::AT_WILL` must list the same events. Sign-out is not listed: it is always
/// allowed, and each sign-out requires a sign-in, which is listed.
const AT_WILL: [&str; 6] = [
    "login.accepted",
    "code.approved",
    "code.denied",
    "device.approved",
    "device.denied",
    "connection.closed",
];
/// Maximum number of `AT_WILL` events that an account may cause within `AT_WILL_WITHIN_S`.
const AT_WILL_MAX: u32 = 60;
const AT_WILL_WITHIN_S: i64 = 3_600;

/// Id of an audit row. Later rows have higher ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditId(pub i64);

/// The part of an audit row that the caller provides; the event and the account follow from the
/// change. `at` is wall-clock time.
#[derive(Clone, Copy, Debug)]
pub struct AuditNote<'a> {
    pub at: Timestamp,
    pub actor: &'a str,
    pub reason: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    pub id: AuditId,
    pub at: Timestamp,
    pub actor: String,
    pub account: Option<AccountId>,
    pub event: String,
    pub reason: String,
}

/// Selects audit rows, newest first.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter<'a> {
    pub account: Option<AccountId>,
    pub event: Option<&'a str>,
    pub since: Option<Timestamp>,
    /// Exclusive upper bound of the row id. To read the next page, pass the last id of the current
    /// page.
    pub before: Option<AuditId>,
    /// Maximum number of rows; capped at 10,000.
    pub limit: u32,
}

impl Accounts {
    /// Writes an audit row for an event that changes no other table, such as a refused login.
    pub fn note(
        &self,
        account: Option<AccountId>,
        event: &str,
        note: &AuditNote<'_>,
    ) -> Result<(), StoreError> {
        self.change(|db| write(db, account, event, note))
    }

    /// Removes all rows older than `before`, in batches that each write an audit row. Returns the
    /// number of removed rows.
    pub fn prune_audit(&self, before: Timestamp, (at, actor): (Timestamp, &str)) -> Result<u64, StoreError> {
        // Rows that record this pruning must not be pruned.
        let (before, mut pruned) = (before.min(at), 0_u64);
        loop {
            match self.prune_part((sql::PRUNE, PRUNED_AT_ONCE), before, (at, actor))? {
                0 => return Ok(pruned),
                part => pruned = pruned.saturating_add(part),
            }
        }
    }

    /// Removes one batch of rows older than `before`, and records the removal in the audit log.
    /// Returns the number of removed rows, or 0 if no older rows are left. Usually cheap, because
    /// rows are in time order and only the oldest rows are examined.
    pub fn prune_oldest_audit(
        &self,
        before: Timestamp,
        (at, actor): (Timestamp, &str),
    ) -> Result<u64, StoreError> {
        let before = before.min(at);
        let part = self.prune_part((sql::PRUNE_OLDEST, PRUNED_BESIDE), before, (at, actor))?;
        if part > 0 {
            return Ok(part);
        }
        // Rows written while the clock was ahead precede older rows and hide them from
        // `PRUNE_OLDEST`. The full scan is acceptable because this runs once a day.
        let has_older = self.read().all(sql::HAS_OLDER, [before.0], |row| row.get::<bool>(0))?;
        if has_older != [true] {
            return Ok(0);
        }
        self.prune_part((sql::PRUNE, PRUNED_BESIDE), before, (at, actor))
    }

    fn prune_part(
        &self,
        (statement, limit): (Sql, u32),
        before: Timestamp,
        (at, actor): (Timestamp, &str),
    ) -> Result<u64, StoreError> {
        self.change(|db| {
            let part = db.run(statement, (before.0, limit))?;
            if part > 0 {
                let reason = format!("{part} rows from before {before}");
                write(db, None, "audit.pruned", &AuditNote { at, actor, reason: &reason })?;
            }
            Ok(u64::try_from(part).unwrap_or(u64::MAX))
        })
    }

    pub fn audit(&self, filter: &AuditFilter<'_>) -> Result<Vec<AuditRow>, StoreError> {
        let before = filter.before.map_or(i64::MAX, |id| id.0);
        let since = filter.since.map_or(i64::MIN, |since| since.0);
        let limit = filter.limit.min(ROWS_MAX);
        match filter.account {
            Some(id) => {
                self.read().all(sql::READ_OF, (id.0, before, since, filter.event, limit), AuditRow::read)
            }
            None => self.read().all(sql::READ, (before, since, filter.event, limit), AuditRow::read),
        }
    }
}

/// Writes an audit row inside the caller's transaction.
pub(crate) fn write(
    db: &Db,
    account: Option<AccountId>,
    event: &str,
    note: &AuditNote<'_>,
) -> Result<(), StoreError> {
    if let Some(id) =
        account.filter(|id| AT_WILL.contains(&event) && note.actor == format!("account {}", id.0))
    {
        check_will(db, id, note)?;
    }
    let id: i64 = db.one(sql::NEXT_ID, [], |row| row.get(0))?;
    let (actor, reason) = (cut(note.actor), cut(note.reason));
    db.run(sql::WRITE, (id, note.at.0, actor, account.map(|id| id.0), event, reason)).map(drop)
}

/// Returns an error if the account has reached the rate limit on `AT_WILL` events. Counts only
/// events whose actor is the account itself.
fn check_will(db: &Db, id: AccountId, note: &AuditNote<'_>) -> Result<(), StoreError> {
    let read = |row: &Row<'_>| row.get::<i64>(0);
    let Some(first) = db.first(sql::AT_WILL, (id.0, note.actor, AT_WILL_MAX - 1), read)? else {
        return Ok(());
    };
    match first.saturating_add(AT_WILL_WITHIN_S).saturating_sub(note.at.0) {
        wait @ 1..=AT_WILL_WITHIN_S => Err(StoreError::TooOften { account: id, retry_after_s: wait }),
        _ => Ok(()),
    }
}

fn cut(text: &str) -> String {
    // Each row is printed on one line, and client names may contain line breaks.
    text.chars().take(TEXT_MAX).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

impl AuditRow {
    fn read(row: &Row<'_>) -> Result<AuditRow, Fault> {
        Ok(AuditRow {
            id: AuditId(row.get(0)?),
            at: Timestamp(row.get(1)?),
            actor: row.get(2)?,
            account: row.get::<Option<i64>>(3)?.map(AccountId),
            event: row.get(4)?,
            reason: row.get(5)?,
        })
    }
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        // On PostgreSQL a sequence avoids lock contention between changes of different accounts.
        // Ids may have gaps.
        NEXT_ID: "take new ids", "update counter set next = next + 1 where name = 'audit' returning next - 1"
            => "select nextval('audit_id')";
        WRITE: "write to the audit",
            "insert into audit (id, at, actor, account_id, event, reason) values ($1, $2, $3, $4, $5, $6)";
        READ: "read the audit",
            "select id, at, actor, account_id, event, reason from sealed_audit \
             where id < $1 and at >= $2 and (cast($3 as text) is null or event = $3) order by id desc limit $4";
        READ_OF: "read the audit of an account",
            "select id, at, actor, account_id, event, reason from sealed_audit \
             where account_id = $1 and id < $2 and at >= $3 and (cast($4 as text) is null or event = $4) order by id desc limit $5";
        AT_WILL: "read the recent actions of an account",
            "select at from sealed_audit where account_id = $1 and actor = $2 and event in ('login.accepted', 'code.approved', 'code.denied', \
                'device.approved', 'device.denied', 'connection.closed') order by id desc limit 1 offset $3";
        PRUNE: "delete old rows of the audit",
            "delete from audit where id in (select id from audit where at < $1 order by id limit $2)";
        HAS_OLDER: "find old rows of the audit",
            "select exists (select 1 from audit where at < $1)";
        PRUNE_OLDEST: "delete the oldest rows of the audit",
            "delete from audit where at < $1 and id in (select id from audit order by id limit $2)";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_limit_statement_lists_all_at_will_events() {
        let list = AT_WILL.map(|event| format!("'{event}'")).join(", ");
        assert!(sql::AT_WILL.text.contains(&format!("in ({list})")), "{}", sql::AT_WILL.text);
    }
}
