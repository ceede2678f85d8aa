//! Ownership of a schema, and the schema's migration ledger.

use std::ops::ControlFlow;

use super::Connection;
use crate::engine::params::Value;
use crate::engine::{Fault, Owner};

/// Returns the number of objects in the schema, and the number of this program's columns in the
/// table `migration`. Uses the system catalog, which is readable without rights on the schema.
const FOUND: &str = "select count(*), cast(coalesce(sum(case when c.relname = 'migration' then \
    (select count(*) from pg_catalog.pg_attribute a where a.attrelid = c.oid and \
    cast(a.attname as text) in ('version', 'name', 'digest', 'applied_at', 'oldest')) else 0 end), 0) as bigint) \
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    where cast(n.nspname as text) = $1 and c.relkind in ('r', 'p', 'v', 'm')";
const COLUMNS: i64 = 5;
const LEDGER: &str = "create table if not exists migration (version bigint not null primary key, name text not null, \
    digest bytea not null, applied_at bigint not null, oldest bigint not null)";
/// Locks a row of the ledger. A migration holds this row lock until it ends. Concurrent migrations
/// wait, and then find that the database is already migrated.
const LOCK: &str = "insert into migration (version, name, digest, applied_at, oldest) values (0, 'lock', '', 0, 0) \
    on conflict (version) do update set name = excluded.name";

impl Connection {
    pub(crate) fn owner(&self) -> Result<Owner, Fault> {
        let (mut things, mut columns) = (0, 0);
        self.each(FOUND, &[Value::Text(self.server().schema())], &mut |row| {
            (things, columns) = (row.get(0)?, row.get(1)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(match (things, columns) {
            (0, _) => Owner::Unclaimed,
            (_, COLUMNS) => Owner::Ours,
            _ => Owner::AnotherProgram,
        })
    }

    /// Creates the schema and the ledger. Runs before the transaction of a migration, so that two
    /// processes can create them concurrently.
    pub(crate) fn make_ledger(&self) -> Result<(), Fault> {
        self.create_schema()?;
        self.create(LEDGER)
    }

    pub(crate) fn lock_ledger(&self) -> Result<(), Fault> {
        self.run(LOCK, &[]).map(drop)
    }
}
