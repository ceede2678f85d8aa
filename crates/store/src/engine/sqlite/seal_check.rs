//! Verifies the seals and row counts of sealed tables.

use super::{Database, Listed, Row, SealedTable};
use crate::StoreError;
use crate::engine::{FINDINGS_MAX, Fault, Flaw};

/// The findings of one part of a check, or the error that stopped it.
type Part = Result<(Vec<Flaw>, ()), StoreError>;

const WHAT: &str = "check the seals";

/// Returns rows with wrong seals and tables with missing rows. Each table is checked separately, so
/// that an unreadable one does not hide defects of others.
pub(crate) fn seals(db: &Database) -> Vec<Flaw> {
    let (tables, listed, mut found) = noted(db);
    for table in &tables {
        absorb(broken_rows(db, table), &mut found);
        if let Some(listed) = listed.iter().find(|listed| listed.table.name == table.name) {
            absorb(row_count(db, listed), &mut found);
        }
    }
    found
}

/// Compares the row counts of the named tables with the recorded ones, and `sealed_table` with the
/// schema.
pub(crate) fn counts(db: &Database, names: &[&str]) -> Vec<Flaw> {
    let (_, listed, mut found) = noted(db);
    for listed in listed.iter().filter(|listed| names.contains(&listed.table.name.as_str())) {
        absorb(row_count(db, listed), &mut found);
    }
    found
}

/// Adds the findings of one part of the check. An unreadable part becomes a finding, so that the
/// check continues with the next part.
fn absorb(part: Part, found: &mut Vec<Flaw>) {
    match part {
        Ok((of_part, ())) => found.extend(of_part),
        Err(error) => found.push(Flaw::Unreadable(error.to_string())),
    }
}

/// Returns the sealed tables, their entries in `sealed_table`, and the differences.
fn noted(db: &Database) -> (Vec<SealedTable>, Vec<Listed>, Vec<Flaw>) {
    match db.sealed_tables().and_then(|tables| Ok((tables, db.listed_tables()?))) {
        Ok((tables, listed)) => {
            let found = misnoted(&tables, &listed).map(|table| Flaw::Misnoted { table }).collect();
            (tables, listed, found)
        }
        Err(error) => (Vec::new(), Vec::new(), vec![Flaw::Unreadable(error.to_string())]),
    }
}

/// Returns tables whose entry in `sealed_table` differs from the schema. `sealed_table` has no
/// seal, so it is compared instead.
fn misnoted(tables: &[SealedTable], listed: &[Listed]) -> impl Iterator<Item = String> {
    let missing = tables.iter().filter(|table| !listed.iter().any(|listed| listed.table == **table));
    let strange = listed.iter().filter(|listed| !tables.iter().any(|table| table.name == listed.table.name));
    missing.map(|table| table.name.clone()).chain(strange.map(|listed| listed.table.name.clone()))
}

fn broken_rows(db: &Database, table: &SealedTable) -> Part {
    let SealedTable { name, keys, .. } = table;
    // Blob keys are not shown, because they may be token hashes.
    let shown =
        |key: &String| format!("case typeof({key}) when 'blob' then '…' else cast({key} as text) end");
    let key: Vec<String> = keys.iter().map(shown).collect();
    let (key, row) = (key.join(" || ' ' || "), table.sealed(""));
    let broken = format!(
        "select coalesce({key}, '?') from \"{name}\" where seal is not seal({row}) limit {FINDINGS_MAX}"
    );
    // Damaged text may not be UTF-8.
    let text = |row: &Row<'_>| Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned());
    let broken = db.all_of(WHAT, &broken, text)?;
    Ok((broken.into_iter().map(|key| Flaw::Row { table: name.clone(), key }).collect(), ()))
}

fn row_count(db: &Database, listed: &Listed) -> Part {
    let (table, written) = (listed.table.name.clone(), listed.rows);
    let count = format!("select count(*) from \"{table}\" not indexed");
    let found: i64 = db.all_of(WHAT, &count, |row| row.get::<_, i64>(0))?.into_iter().sum();
    let differs = (found != written).then_some(Flaw::Rows { table, written, found });
    Ok((differs.into_iter().collect(), ()))
}

/// Fails if a row has a wrong seal. A migration reseals rows, so it must not start in this case.
pub(crate) fn refuse_broken_seals(db: &Database) -> Result<(), StoreError> {
    match seals(db).is_empty() {
        true => Ok(()),
        false => Err(db.fail("migrate the database")(Fault::Missing)),
    }
}
