//! Schemas of both databases. Each has a baseline, followed by migrations in ascending order. A
//! published migration is never edited.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    /// On PostgreSQL, the oldest schema version that a concurrently running program may know.
    pub(crate) oldest: i64,
    /// For a baseline, the hexadecimal digests of the last step that it replaces. A store that was
    /// migrated step by step has the same schema.
    pub(crate) replaces: &'static [&'static str],
}

/// SQL dialect of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// The last commit that can migrate a store older than the baselines.
pub(crate) const LAST_WITH_STEPS: &str = "6fde5fb4";

/// Defines a migration from the SQL files with this name, one file per engine.
macro_rules! step {
    ($version:literal, $name:literal, $file:literal) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../migrations/sqlite/", $file, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $file, ".sql")),
            oldest: $version,
            replaces: &[],
        }
    };
}

/// Migrations of `candles.db`. A baseline has the name of its database.
pub(crate) const ALL: &[Migration] = &[
    Migration {
        replaces: &[
            "c0afb906c460b769ff61de735e676bc3e92694137ed7e38fa081319c44eea0fc",
            "6db345e657632fb5c0c071302b05479cb0163076d4c36e5f8ff38cb5d5eabe6e",
        ],
        ..step!(9, "candles", "candles")
    },
    step!(10, "ingest", "ingest"),
    // Only a program that collects candles uses these tables. Other programs only need the computed
    // factors.
    Migration { oldest: 10, ..step!(11, "mirrors", "candles-11-mirrors") },
];

/// Migrations of `ingest.db`: the tables of the step `ingest`, so that the same statements work for
/// both files. A later step that changes these tables must be added to both lists. SQLite only.
pub(crate) const INGEST: &[Migration] = &[Migration {
    version: 1,
    name: "ingest log",
    sqlite: concat!(
        "create table counter (name text not null primary key, next bigint not null) without rowid;\n",
        include_str!("../../migrations/sqlite/ingest.sql")
    ),
    postgres: "",
    oldest: 1,
    replaces: &[],
}];

/// Migrations of `accounts.db`, numbered independently.
pub(crate) const ACCOUNTS: &[Migration] = &[
    Migration {
        replaces: &[
            "312a529ee50f42fdcd1ebeb7b44df4975d359f2090ba8b712bd32c621f4bc498",
            "6e2330d3b47d5eb3753fe1ec0947270ef7de40e1fa86645db6c34dbbbb686d86",
        ],
        ..step!(12, "accounts", "accounts")
    },
    // Nodes that do not know the limit have no subscriptions to count.
    Migration { oldest: 12, ..step!(13, "subscriptions", "accounts-13-subscriptions") },
    // A node that does not support worlds would serve current data to their accounts.
    step!(14, "worlds", "accounts-14-worlds"),
    // A node that does not write the log would omit steps from the digest.
    step!(15, "world log", "accounts-15-world-log"),
    // A node that does not support ends would not remove the end of a world that has resumed.
    step!(16, "ended worlds", "accounts-16-ended-worlds"),
];

pub(crate) fn known(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}

impl Migration {
    pub(crate) fn text(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite,
            Dialect::Postgres => self.postgres,
        }
    }

    /// Returns the hash of the SQL text. Line endings are normalized, so the hash does not depend
    /// on the line endings of the checkout.
    pub(crate) fn hash(&self, dialect: Dialect) -> Vec<u8> {
        self.digest(dialect).as_bytes().to_vec()
    }

    /// Returns whether a database with this digest has the schema of this migration.
    pub(crate) fn is(&self, digest: &[u8], dialect: Dialect) -> bool {
        let is_replaced =
            |hex: &&str| blake3::Hash::from_hex(hex).is_ok_and(|hash| hash.as_bytes() == digest);
        self.digest(dialect).as_bytes() == digest || self.replaces.iter().any(is_replaced)
    }

    fn digest(&self, dialect: Dialect) -> blake3::Hash {
        blake3::hash(self.text(dialect).replace("\r\n", "\n").as_bytes())
    }
}
