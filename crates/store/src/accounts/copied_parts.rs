//! Journals and logs of worlds that were copied. A copy shares the rows of its source instead of
//! storing them again, so copying takes the same time for any length.
//!
//! A row that a copy shares is never changed or removed: before an account removes rows, each copy
//! that shares some of them stores all rows that it shares ([`release`]).

use market::Timestamp;

use crate::engine::{Db, Sql, StoreError, natural, signed};
use crate::ids::AccountId;

/// The kind of the shared rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Journal,
    /// The log of a world.
    Log,
}

/// Consecutive rows of a copy that are stored for another account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Number of the first row.
    pub(crate) from: u64,
    /// Number of the last row.
    pub(crate) to: u64,
    pub(crate) source: AccountId,
}

impl PartKind {
    const fn code(self) -> i64 {
        match self {
            PartKind::Journal => 1,
            PartKind::Log => 2,
        }
    }

    /// Returns the statement that stores the shared rows of a copy.
    const fn store(self) -> Sql {
        match self {
            PartKind::Journal => sql::STORE_JOURNAL,
            PartKind::Log => sql::STORE_LOG,
        }
    }
}

/// Returns the parts of a copy in ascending order. Empty for an account that shares no rows.
pub(crate) fn parts(db: &Db, kind: PartKind, account: AccountId) -> Result<Vec<Part>, StoreError> {
    db.all(sql::PARTS, (account.0, kind.code()), |row| {
        Ok(Part { from: natural(row, 0)?, to: natural(row, 1)?, source: AccountId(row.get(2)?) })
    })
}

/// Makes `copy`, which has no rows, share the rows of `source` up to the number `last`. The caller
/// must have locked both accounts.
pub(crate) fn share(
    db: &Db,
    kind: PartKind,
    (source, copy): (AccountId, AccountId),
    last: u64,
) -> Result<(), StoreError> {
    // A copy of a copy refers to the account that stores the rows.
    let mut shared = parts(db, kind, source)?;
    let own = shared.last().map_or(1, |part| part.to.saturating_add(1));
    shared.push(Part { from: own, to: last, source });
    for Part { from, to, source } in shared.into_iter().filter(|part| part.from <= last) {
        db.run(sql::ADD, (copy.0, kind.code(), signed(from), signed(to.min(last)), source.0))?;
    }
    Ok(())
}

/// Prepares the removal of the rows after the number `keep`: copies that share some of them store
/// their rows, and the account no longer shares such rows itself. Its own rows are removed by the
/// caller, who must have locked all accounts.
pub(crate) fn release(db: &Db, kind: PartKind, account: AccountId, keep: u64) -> Result<(), StoreError> {
    let copies = db.all(sql::COPIES, (account.0, kind.code(), signed(keep)), |row| row.get(0))?;
    for copy in copies {
        db.run(kind.store(), [copy])?;
        remove(db, kind, AccountId(copy))?;
    }
    db.run(sql::REMOVE, (account.0, kind.code(), signed(keep)))?;
    db.run(sql::SHORTEN, (signed(keep), account.0, kind.code())).map(drop)
}

/// Makes a copy share no rows.
pub(crate) fn remove(db: &Db, kind: PartKind, copy: AccountId) -> Result<(), StoreError> {
    db.run(sql::REMOVE, (copy.0, kind.code(), 0)).map(drop)
}

/// A row with its number. `part_end` is the last number of the part that was read; `None` if the
/// account shares no rows after it.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    pub(crate) number: u64,
    pub(crate) part_end: Option<u64>,
    pub(crate) row: T,
}

/// Reads up to `most` rows after the number `after`. `read` reads rows after a number, up to the
/// end of one part.
pub(crate) fn read_parts<T>(
    mut after: u64,
    most: u32,
    read: impl Fn(u64, u32) -> Result<Vec<Numbered<T>>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let (mut rows, mut left) = (Vec::new(), most);
    loop {
        let part = read(after, left)?;
        let Some(&Numbered { number, part_end, .. }) = part.last() else { return Ok(rows) };
        (after, left) = (number, left.saturating_sub(u32::try_from(part.len()).unwrap_or(u32::MAX)));
        rows.extend(part.into_iter().map(|numbered| numbered.row));
        if part_end != Some(number) || left == 0 {
            return Ok(rows);
        }
    }
}

/// Returns the number of the last row up to `last` whose time satisfies `is_early`, or 0 if there
/// is no such row. Times ascend with the numbers, so a binary search needs no index. `at` returns
/// the time of a row; a missing row was removed concurrently, together with all later rows.
pub(crate) fn last_early(
    mut last: u64,
    is_early: impl Fn(Timestamp) -> bool,
    at: impl Fn(u64) -> Result<Option<Timestamp>, StoreError>,
) -> Result<u64, StoreError> {
    let mut early = 0;
    while early < last {
        let middle = last - (last - early) / 2;
        if at(middle)?.is_some_and(&is_early) {
            early = middle;
        } else {
            last = middle - 1;
        }
    }
    Ok(early)
}

/// Expands to a column of the part that contains the rows after the number `$2` of an account `$1`,
/// or to null if the account itself stores them.
macro_rules! part_after {
    ($column:literal, $kind:literal) => {
        concat!(
            "(select ",
            $column,
            " from sealed_copied_part where account_id = $1 and kind = ",
            $kind,
            " and to_number > $2 order by to_number limit 1)"
        )
    };
}
pub(crate) use part_after;

/// Expands to the account that stores the row with the number `$2` of an account `$1`.
macro_rules! stored_by {
    ($kind:literal) => {
        concat!(
            "coalesce((select source_id from sealed_copied_part where account_id = $1 and kind = ",
            $kind,
            " and to_number >= $2 order by to_number limit 1), $1)"
        )
    };
}
pub(crate) use stored_by;

mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        PARTS: "read what a copy shares",
            "select from_number, to_number, source_id from sealed_copied_part \
             where account_id = $1 and kind = $2 order by to_number";
        ADD: "share rows with a copy",
            "insert into copied_part (account_id, kind, from_number, to_number, source_id) values ($1, $2, $3, $4, $5)";
        COPIES: "find copies that share rows",
            "select distinct account_id from sealed_copied_part where source_id = $1 and kind = $2 and to_number > $3";
        STORE_JOURNAL: "store the shared entries of a journal",
            "insert into journal (account_id, number, at, entry) \
             select part.account_id, own.number, own.at, own.entry \
             from sealed_copied_part part join sealed_journal own on own.account_id = part.source_id \
                and own.number >= part.from_number and own.number <= part.to_number \
             where part.account_id = $1 and part.kind = 1";
        STORE_LOG: "store the shared lines of a log",
            "insert into world_line (account_id, number, at, step, entries, kind, entry, request, digest) \
             select part.account_id, own.number, own.at, own.step, own.entries, own.kind, own.entry, own.request, \
                own.digest \
             from sealed_copied_part part join sealed_world_line own on own.account_id = part.source_id \
                and own.number >= part.from_number and own.number <= part.to_number \
             where part.account_id = $1 and part.kind = 2";
        REMOVE: "stop sharing rows",
            "delete from copied_part where account_id = $1 and kind = $2 and from_number > $3";
        SHORTEN: "stop sharing rows",
            "update copied_part set to_number = $1 where account_id = $2 and kind = $3 and to_number > $1";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn shared_rows_are_found_by_their_keys() {
            crate::engine::statements::follow_the_keys(
                crate::engine::migrations::ACCOUNTS,
                &[PARTS, ADD, COPIES, STORE_JOURNAL, STORE_LOG, REMOVE, SHORTEN],
            );
        }
    }
}
