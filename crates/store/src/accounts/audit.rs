//! Who did what to whom, when and why. A row is written in the same transaction as the change it describes, so that neither
//! is ever there without the other.

use market::Timestamp;

use super::{AccountId, Accounts, audit_sql};
use crate::StoreError;
use crate::engine::{Db, Fault, Row, Sql};

/// The longest text of a row; what is longer is cut. The caller keeps secrets out, and the words of clients short.
const TEXT_MAX: usize = 300;
/// Rows read at once at most.
const ROWS_MAX: u32 = 10_000;
/// Rows forgotten in one transaction: a server that wants to write meanwhile does not wait long.
const PRUNED_AT_ONCE: u32 = 20_000;
/// The same for a server that prunes beside its work. Each transaction adds a row, so that it must not be too few.
const PRUNED_BESIDE: u32 = 2_000;
/// What a signed-in account can do as often as a script likes; `AT_WILL` in `audit_sql.rs` has the same list. Signing
/// out is not here: it is always allowed, and each takes a sign-in first.
const AT_WILL: [&str; 6] = [
    "login.accepted",
    "code.approved",
    "code.denied",
    "device.approved",
    "device.denied",
    "connection.closed",
];
/// Rows of these that one account may cause itself in a time.
const AT_WILL_MAX: u32 = 60;
const AT_WILL_WITHIN_S: i64 = 3_600;

/// The number of a row: later rows have higher ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditId(pub i64);

/// What a change says about itself; the kind of change and the account follow from the change. `at` is the machine's time.
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

/// Which rows to read, latest first.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter<'a> {
    pub account: Option<AccountId>,
    pub event: Option<&'a str>,
    pub since: Option<Timestamp>,
    /// Only rows before this one: where the reading before it stopped.
    pub before: Option<AuditId>,
    /// At most 10,000.
    pub limit: u32,
}

impl Accounts {
    /// Writes a row about something that changes nothing else, such as a refused login.
    pub fn note(
        &self,
        account: Option<AccountId>,
        event: &str,
        note: &AuditNote<'_>,
    ) -> Result<(), StoreError> {
        self.change(|db| write(db, account, event, note))
    }

    /// Removes rows from before a time, a portion at a time, and records how many. Returns the total.
    pub fn prune_audit(&self, before: Timestamp, (at, actor): (Timestamp, &str)) -> Result<u64, StoreError> {
        // The row about the pruning must not be pruned next.
        let (before, mut pruned) = (before.min(at), 0_u64);
        loop {
            match self.prune_part((audit_sql::PRUNE, PRUNED_AT_ONCE), before, (at, actor))? {
                0 => return Ok(pruned),
                part => pruned = pruned.saturating_add(part),
            }
        }
    }

    /// Removes a portion of the oldest rows if they are from before a time, and records how many. Returns how many; 0 when there are no more,
    /// which is cheap to find out: rows are in order of time, and only the first are looked at.
    pub fn prune_oldest_audit(
        &self,
        before: Timestamp,
        (at, actor): (Timestamp, &str),
    ) -> Result<u64, StoreError> {
        let before = before.min(at);
        let part = self.prune_part((audit_sql::PRUNE_OLDEST, PRUNED_BESIDE), before, (at, actor))?;
        if part > 0 {
            return Ok(part);
        }
        // Rows that were written while the clock was ahead stand before older ones. A look at all of them, once a day.
        let has_older = self.read().all(audit_sql::HAS_OLDER, [before.0], |row| row.get::<bool>(0))?;
        if has_older != [true] {
            return Ok(0);
        }
        self.prune_part((audit_sql::PRUNE, PRUNED_BESIDE), before, (at, actor))
    }

    fn prune_part(
        &self,
        (sql, limit): (Sql, u32),
        before: Timestamp,
        (at, actor): (Timestamp, &str),
    ) -> Result<u64, StoreError> {
        self.change(|db| {
            let part = db.run(sql, (before.0, limit))?;
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
            Some(id) => self.read().all(
                audit_sql::READ_OF,
                (id.0, before, since, filter.event, limit),
                AuditRow::read,
            ),
            None => self.read().all(audit_sql::READ, (before, since, filter.event, limit), AuditRow::read),
        }
    }
}

/// For changes that are under way.
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
    let id: i64 = db.one(audit_sql::NEXT_ID, [], |row| row.get(0))?;
    let (actor, reason) = (cut(note.actor), cut(note.reason));
    db.run(audit_sql::WRITE, (id, note.at.0, actor, account.map(|id| id.0), event, reason)).map(drop)
}

/// Whether an account may do one more of what it can do at will. What the operator does for it is not its own doing.
fn check_will(db: &Db, id: AccountId, note: &AuditNote<'_>) -> Result<(), StoreError> {
    let read = |row: &Row<'_>| row.get::<i64>(0);
    let Some(first) = db.first(audit_sql::AT_WILL, (id.0, note.actor, AT_WILL_MAX - 1), read)? else {
        return Ok(());
    };
    match first.saturating_add(AT_WILL_WITHIN_S).saturating_sub(note.at.0) {
        wait @ 1..=AT_WILL_WITHIN_S => Err(StoreError::TooOften { account: id, retry_after_s: wait }),
        _ => Ok(()),
    }
}

fn cut(text: &str) -> String {
    // A row is one line: the name of a client may contain line breaks.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_what_is_limited() {
        let list = AT_WILL.map(|event| format!("'{event}'")).join(", ");
        assert!(audit_sql::AT_WILL.text.contains(&format!("in ({list})")), "{}", audit_sql::AT_WILL.text);
    }
}
