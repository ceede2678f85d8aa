//! The steps of both schemas, oldest first. A step that was released is never edited again.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) const ALL: &[Migration] = &[
    Migration { version: 1, name: "candles", text: include_str!("../migrations/sqlite/0001_candles.sql") },
    Migration {
        version: 2,
        name: "adjustment",
        text: include_str!("../migrations/sqlite/0002_adjustment.sql"),
    },
    Migration { version: 3, name: "seals", text: include_str!("../migrations/sqlite/0003_seals.sql") },
    Migration { version: 4, name: "trading", text: include_str!("../migrations/sqlite/0004_trading.sql") },
    Migration { version: 5, name: "trades", text: include_str!("../migrations/sqlite/0005_trades.sql") },
    Migration {
        version: 6,
        name: "own_grains",
        text: include_str!("../migrations/sqlite/0006_own_grains.sql"),
    },
    Migration { version: 7, name: "undo", text: include_str!("../migrations/sqlite/0007_undo.sql") },
];

/// The steps of `accounts.db`. Each database has its own count; the digests keep either from passing for the other.
pub(crate) const ACCOUNTS: &[Migration] = &[
    Migration {
        version: 1,
        name: "accounts",
        text: include_str!("../migrations/sqlite-accounts/0001_accounts.sql"),
    },
    Migration {
        version: 2,
        name: "access",
        text: include_str!("../migrations/sqlite-accounts/0002_access.sql"),
    },
    Migration {
        version: 3,
        name: "seals",
        text: include_str!("../migrations/sqlite-accounts/0003_seals.sql"),
    },
    Migration {
        version: 4,
        name: "floors",
        text: include_str!("../migrations/sqlite-accounts/0004_floors.sql"),
    },
    Migration {
        version: 5,
        name: "journal",
        text: include_str!("../migrations/sqlite-accounts/0005_journal.sql"),
    },
    Migration {
        version: 6,
        name: "paper_levels",
        text: include_str!("../migrations/sqlite-accounts/0006_paper_levels.sql"),
    },
    Migration {
        version: 7,
        name: "statements",
        text: include_str!("../migrations/sqlite-accounts/0007_statements.sql"),
    },
    Migration {
        version: 8,
        name: "watchlists",
        text: include_str!("../migrations/sqlite-accounts/0008_watchlists.sql"),
    },
    Migration {
        version: 9,
        name: "topics",
        text: include_str!("../migrations/sqlite-accounts/0009_topics.sql"),
    },
    Migration {
        version: 10,
        name: "api_date",
        text: include_str!("../migrations/sqlite-accounts/0010_api_date.sql"),
    },
    Migration {
        version: 11,
        name: "sign_in_links",
        text: include_str!("../migrations/sqlite-accounts/0011_sign_in_links.sql"),
    },
];

pub(crate) fn known(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}

impl Migration {
    /// Of the text with plain line ends, so that a checkout that rewrites them changes nothing.
    pub(crate) fn hash(&self) -> Vec<u8> {
        blake3::hash(self.text.replace("\r\n", "\n").as_bytes()).as_bytes().to_vec()
    }
}
