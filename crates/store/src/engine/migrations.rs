//! The migrations of both schemas, oldest first. A released step is never edited.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    /// On PostgreSQL, the oldest schema that a concurrently running program may know.
    pub(crate) oldest: i64,
}

/// The SQL dialect of a step's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A step from the folder of a database: the file has its number and name.
macro_rules! step {
    ($database:literal, $version:literal, $name:literal, $file:literal) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../migrations/sqlite/", $database, "/", $file, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $database, "/", $file, ".sql")),
            oldest: $version,
        }
    };
}

pub(crate) const ALL: &[Migration] = &[
    step!("candles", 1, "candles", "0001_candles"),
    step!("candles", 2, "adjustment", "0002_adjustment"),
    step!("candles", 3, "seals", "0003_seals"),
    step!("candles", 4, "trading", "0004_trading"),
    step!("candles", 5, "trades", "0005_trades"),
    step!("candles", 6, "own_grains", "0006_own_grains"),
    step!("candles", 7, "undo", "0007_undo"),
    step!("candles", 8, "nodes", "0008_nodes"),
    // Nodes that do not know the column serve the undated figures.
    Migration { oldest: 8, ..step!("candles", 9, "dated_figures", "0009_dated_figures") },
];

/// The migrations of `accounts.db`. Each database has its own numbering; the digests distinguish
/// the two.
pub(crate) const ACCOUNTS: &[Migration] = &[
    step!("accounts", 1, "accounts", "0001_accounts"),
    step!("accounts", 2, "access", "0002_access"),
    step!("accounts", 3, "seals", "0003_seals"),
    step!("accounts", 4, "floors", "0004_floors"),
    step!("accounts", 5, "journal", "0005_journal"),
    step!("accounts", 6, "paper_levels", "0006_paper_levels"),
    step!("accounts", 7, "statements", "0007_statements"),
    step!("accounts", 8, "watchlists", "0008_watchlists"),
    step!("accounts", 9, "topics", "0009_topics"),
    step!("accounts", 10, "api_date", "0010_api_date"),
    step!("accounts", 11, "sign_in_links", "0011_sign_in_links"),
    step!("accounts", 12, "nodes", "0012_nodes"),
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

    /// The hash of the text with normalized line ends, so that a checkout that rewrites them
    /// changes nothing.
    pub(crate) fn hash(&self, dialect: Dialect) -> Vec<u8> {
        blake3::hash(self.text(dialect).replace("\r\n", "\n").as_bytes()).as_bytes().to_vec()
    }
}
