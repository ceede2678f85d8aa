//! Schemas of both databases. Each has a baseline, followed by migrations in ascending order. A
//! published migration is never edited.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    /// On PostgreSQL, the oldest schema version for which a concurrently running program may have
    /// been built.
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
pub(crate) const LAST_WITH_STEPS: &str = "cd517f10";

/// Migrations of `candles.db`. A baseline has the name of its database.
pub(crate) const ALL: &[Migration] = &[Migration {
    version: 11,
    name: "candles",
    sqlite: concat!(
        include_str!("../../migrations/sqlite/candles.sql"),
        include_str!("../../migrations/sqlite/ingest.sql")
    ),
    postgres: include_str!("../../migrations/postgres/candles.sql"),
    oldest: 11,
    replaces: &[
        "43986aa1215e7f88879799d92fca99a3cbd04c3e3e0789a0db41cba588f071dc",
        "07c6e4b2d6209b150f1f1460afe4182c43a70f7921f3c9a849a1594214cd48d2",
    ],
}];

/// Migrations of `ingest.db`: the tables for ingested rows of `candles.db`, so that one set of
/// statements fits both files. A later step that changes these tables must be added to both lists.
/// SQLite only.
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
        version: 16,
        name: "accounts",
        sqlite: include_str!("../../migrations/sqlite/accounts.sql"),
        postgres: include_str!("../../migrations/postgres/accounts.sql"),
        oldest: 16,
        replaces: &["f2da9008d040f78f2bdf738b70447e86f8ca84fe2a52306071a9739fcb242839"],
    },
    Migration {
        version: 17,
        name: "alerts",
        sqlite: include_str!("../../migrations/sqlite/accounts-17-alerts.sql"),
        postgres: include_str!("../../migrations/postgres/accounts-17-alerts.sql"),
        oldest: 16,
        replaces: &[],
    },
    Migration {
        version: 18,
        name: "layouts",
        sqlite: include_str!("../../migrations/sqlite/accounts-18-layouts.sql"),
        postgres: include_str!("../../migrations/postgres/accounts-18-layouts.sql"),
        oldest: 16,
        replaces: &[],
    },
    Migration {
        version: 19,
        name: "missed trades",
        sqlite: include_str!("../../migrations/sqlite/accounts-19-missed-trades.sql"),
        postgres: include_str!("../../migrations/postgres/accounts-19-missed-trades.sql"),
        oldest: 16,
        replaces: &[],
    },
    Migration {
        version: 20,
        name: "copied parts",
        sqlite: include_str!("../../migrations/sqlite/accounts-20-copied-parts.sql"),
        postgres: include_str!("../../migrations/postgres/accounts-20-copied-parts.sql"),
        // An older program would read a copied journal without its shared entries.
        oldest: 20,
        replaces: &[],
    },
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
