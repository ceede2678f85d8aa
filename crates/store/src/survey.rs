//! PostgreSQL servers of an address, for operators: read-only queries for their status, and
//! temporary databases.

use crate::engine::postgres::{Address, Pace, Schema, Server};
use crate::engine::{Db, Fault, Owner, Role, Row, Sql, StoreError, StoreUrl, migrate};

/// Status of one host of an address.
#[derive(Debug)]
pub struct HostSurvey {
    /// Host name and port.
    pub at: String,
    pub found: Result<ServerFacts, StoreError>,
}

/// Properties reported by a server. A property is `None` if the database, which may only implement
/// PostgreSQL's protocol, does not report it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Server version, such as `15.18`.
    pub version: String,
    pub is_standby: bool,
    /// Whether the server rejects changes although it is not a standby.
    pub is_read_only: bool,
    /// TLS version of this connection; `None` without TLS.
    pub tls: Option<String>,
    /// Whether the server detects damaged pages; `None` if the server does not report this.
    pub checks_pages: Option<bool>,
    /// How far the server's clock is ahead of the local clock, in milliseconds. The accuracy is
    /// limited by the network latency.
    pub ahead_ms: i64,
    pub connections: Option<ConnectionCount>,
    pub replication: Option<Replication>,
    pub archiving: Option<Archiving>,
    /// Encoding of the database. Encodings other than `UTF8` are rejected earlier.
    pub encoding: String,
    /// Whether this user may create the objects that a store needs: schemas in the database, or
    /// tables in existing schemas.
    pub may_create: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCount {
    /// Number of open connections of all clients.
    pub open: u32,
    /// Maximum number of connections, excluding those reserved for superusers.
    pub most: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replication {
    /// Value of the setting `synchronous_standby_names`.
    pub synchronous_names: String,
    /// Number of standbys connected to a primary.
    pub standbys: u32,
    pub synchronous: u32,
    /// How far a standby is behind the primary, in milliseconds; `None` for a primary, and before
    /// the first transaction was received.
    pub behind_ms: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archiving {
    pub is_on: bool,
    /// Time at which a WAL segment was last archived, in seconds since 1970; `None` if no segment
    /// was archived.
    pub last_success_at: Option<i64>,
    pub last_failure_at: Option<i64>,
}

/// Current users of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Schema versions of the candle and accounts databases; `None` for a database that is not
    /// created yet.
    pub schemas: [Option<i64>; 2],
    /// Whether the database is the incomplete target of a move.
    pub is_half_moved: bool,
    /// Names of the leases that are currently held.
    pub leases: Vec<String>,
    /// Names of servers seen within the last 15 seconds.
    pub nodes: Vec<String>,
    /// Servers last seen between 15 seconds and ten minutes ago, each with the time since its last
    /// heartbeat in milliseconds.
    pub silent: Vec<(String, i64)>,
}

const ABOUT: Sql = Sql::new(
    "query the server settings",
    "select current_setting('server_version'), pg_is_in_recovery(), current_setting('transaction_read_only'), \
     current_setting('data_checksums', true), has_database_privilege(current_database(), 'create') \
        or (select count(*) from pg_catalog.pg_namespace where nspname::text in ($1, $2) and has_schema_privilege(oid, 'create')) = 2, \
     current_setting('server_encoding')",
);
const CLOCK: Sql =
    Sql::new("query the server time", "select cast(date_part('epoch', clock_timestamp()) * 1000 as bigint)");
const TLS: Sql = Sql::new(
    "query the TLS status",
    "select case when ssl then version end from pg_stat_ssl where pid = pg_backend_pid()",
);
const CONNECTIONS: Sql = Sql::new(
    "count connections",
    "select count(*), current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint \
     from pg_stat_activity where backend_type = 'client backend'",
);
const REPLICATION: Sql = Sql::new(
    "query the standbys",
    "select current_setting('synchronous_standby_names'), count(*), \
     coalesce(sum(case when sync_state in ('sync', 'quorum') then 1 else 0 end), 0)::bigint, \
     case when pg_is_in_recovery() and pg_last_wal_receive_lsn() is distinct from pg_last_wal_replay_lsn() \
        then cast(date_part('epoch', clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000 as bigint) \
        when pg_is_in_recovery() then 0 end \
     from pg_stat_replication",
);
const ARCHIVING: Sql = Sql::new(
    "query the archiving status",
    "select current_setting('archive_mode') <> 'off', cast(date_part('epoch', last_archived_time) as bigint), \
     cast(date_part('epoch', last_failed_time) as bigint) from pg_stat_archiver",
);
const STEPS: Sql = Sql::new(
    "read the migrations",
    "select max(case when version < $1 then version end), coalesce(max(version) = $1, false) from migration where version > 0",
);
const LEASES: Sql = Sql::new(
    "find leases",
    "select name from lease where until_us > cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint) order by name",
);
const NODES: Sql = Sql::new(
    "find servers",
    "select name, (cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint) - seen_us) / 1000 from node \
     order by name limit 1000",
);

/// Maximum age of the last heartbeat of a live server, in milliseconds.
const SEEN_WITHIN_MS: i64 = 15_000;
/// Age of the last heartbeat, in milliseconds, beyond which a server is not listed.
const REMEMBERED_MS: i64 = 600_000;

/// Returns the status of each host of an address. `now_ms` reads the local clock, in milliseconds
/// since 1970.
pub fn survey(address: &Address, now_ms: &dyn Fn() -> i64) -> Vec<HostSurvey> {
    let hosts = address.hosts().into_iter().enumerate();
    hosts
        .filter_map(|(place, at)| {
            let one = address.of_host(place)?;
            Some(HostSurvey { at, found: facts(&one, now_ms) })
        })
        .collect()
}

/// Returns the current users of a PostgreSQL store. All fields are empty if the store does not
/// exist yet.
pub fn occupancy(address: &Address) -> Result<Occupancy, StoreError> {
    let mut found = Occupancy::default();
    for (schema, steps) in [Schema::Candles, Schema::Accounts].into_iter().zip(&mut found.schemas) {
        let db = connected(address, schema)?;
        if db.owner()? != Owner::Ours {
            continue;
        }
        let (newest, is_marked): (Option<i64>, bool) =
            db.one(STEPS, [migrate::MOVING], |row| Ok((row.get(0)?, row.get(1)?)))?;
        *steps = newest;
        found.is_half_moved |= is_marked;
        found.leases.extend(db.all(LEASES, [], |row| row.get::<String>(0))?);
        if schema == Schema::Accounts {
            for (name, ago_ms) in db.all(NODES, [], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)))? {
                match ago_ms {
                    ..=SEEN_WITHIN_MS => found.nodes.push(name),
                    ago_ms if ago_ms <= REMEMBERED_MS => found.silent.push((name, ago_ms)),
                    _ => {}
                }
            }
        }
    }
    Ok(found)
}

fn connected(address: &Address, schema: Schema) -> Result<Db, StoreError> {
    let server = Server::open(address, schema, Pace::Usual);
    let failed =
        |trouble| StoreError::of("connect to the database", &StoreUrl::from(address), Fault::from(trouble));
    Ok(Db::on_server(&server.map_err(failed)?, Role::Onlooker))
}

fn facts(address: &Address, now_ms: &dyn Fn() -> i64) -> Result<ServerFacts, StoreError> {
    let db = connected(address, Schema::Accounts)?;
    let mut facts = db.one(ABOUT, address.schemas(), |row| {
        let is_standby: bool = row.get(1)?;
        Ok(ServerFacts {
            version: row.get(0)?,
            is_standby,
            is_read_only: !is_standby && row.text(2)? == "on",
            checks_pages: row.text_or_null(3)?.map(|checks| checks == "on"),
            may_create: row.get(4)?,
            encoding: row.get(5)?,
            ..ServerFacts::default()
        })
    })?;
    // The first call is a warm-up, because connecting and preparing would be measured as latency.
    let ask = || db.one(CLOCK, [], |row| row.get::<i64>(0));
    ask()?;
    let before = now_ms();
    let there = ask()?;
    let between = before.saturating_add(now_ms().saturating_sub(before) / 2);
    facts.ahead_ms = there.saturating_sub(between);
    // Properties that cannot be read are omitted: some require the owner's rights, and some
    // databases lack the system views.
    facts.tls = db.first(TLS, [], |row| row.get(0)).ok().flatten().flatten();
    facts.connections = db.first(CONNECTIONS, [], connections).ok().flatten();
    facts.replication = db.first(REPLICATION, [], replication).ok().flatten();
    facts.archiving = db.first(ARCHIVING, [], archiving).ok().flatten();
    Ok(facts)
}

fn small(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

fn connections(row: &Row<'_>) -> Result<ConnectionCount, Fault> {
    Ok(ConnectionCount { open: small(row.get(0)?), most: small(row.get(1)?) })
}

fn replication(row: &Row<'_>) -> Result<Replication, Fault> {
    Ok(Replication {
        synchronous_names: row.get(0)?,
        standbys: small(row.get(1)?),
        synchronous: small(row.get(2)?),
        behind_ms: row.get(3)?,
    })
}

fn archiving(row: &Row<'_>) -> Result<Archiving, Fault> {
    Ok(Archiving { is_on: row.get(0)?, last_success_at: row.get(1)?, last_failure_at: row.get(2)? })
}

/// A temporary database that is dropped with this value.
#[derive(Debug)]
pub struct Scratch {
    address: Address,
    maker: Db,
}

impl Scratch {
    /// Creates a database with this name on the server of `beside`. Uses the locale C, so that
    /// results are the same on every machine.
    pub fn create(beside: &Address, name: &str) -> Result<Scratch, StoreError> {
        let failed = |trouble| StoreError::of(CREATE, &StoreUrl::from(beside), Fault::from(trouble));
        let maker =
            Db::on_server(&Server::open(beside, Schema::Candles, Pace::Long).map_err(failed)?, Role::Writer);
        let terms = "template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'";
        maker.script(CREATE, &format!("create database {} {terms}", quoted(name)))?;
        Ok(Scratch { address: beside.in_database(name), maker })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }
}

const CREATE: &str = "create a temporary database";

impl Drop for Scratch {
    fn drop(&mut self) {
        let name = quoted(self.address.database());
        // If the database cannot be dropped, it remains on the server. Its name shows that it is
        // temporary.
        self.maker.script("remove it", &format!("drop database if exists {name} with (force)")).ok();
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
