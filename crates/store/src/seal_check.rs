//! Looks through the sealed tables for rows that are not as they were written.

use crate::db::Db;
use crate::fault::Fault;
use crate::finding::Part;
use crate::seal::SealedTable;
use crate::{FINDINGS_MAX, Finding, StoreError};

/// Rows that are not as they were written, and tables that lack some.
pub(crate) fn seals(db: &Db) -> Part {
    const WHAT: &str = "check the seals";
    let mut found = Vec::new();
    for table in db.sealed_tables()? {
        let SealedTable { name, keys, .. } = &table;
        // Keys that are hashes of tokens are not shown.
        let key: Vec<String> = keys
            .iter()
            .map(|key| format!("case typeof({key}) when 'blob' then '…' else {key} end"))
            .collect();
        let (key, row) = (key.join(" || ' ' || "), table.sealed(""));
        let broken = format!(
            "select coalesce({key}, '?') from \"{name}\" where seal is not seal({row}) limit {FINDINGS_MAX}"
        );
        let broken = db.all_of(WHAT, &broken, |row| row.get(0))?;
        found.extend(broken.into_iter().map(|key| Finding::Row { table: name.clone(), key }));
        let rows: Vec<i64> =
            db.all_of(WHAT, &format!("select count(*) from \"{name}\" not indexed"), |row| row.get(0))?;
        let rows = rows.first().copied().unwrap_or_default();
        if rows != table.rows {
            found.push(Finding::Rows { table: name.clone(), written: table.rows, found: rows });
        }
    }
    Ok((found, ()))
}

/// A migration seals rows anew, so it must not begin with one that is not whole.
pub(crate) fn refuse_broken_seals(db: &Db) -> Result<(), StoreError> {
    match seals(db)?.0.is_empty() {
        true => Ok(()),
        false => Err(db.fail("migrate the database")(Fault::Missing)),
    }
}
