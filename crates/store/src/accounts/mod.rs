//! The accounts database: accounts, credentials, monthly usage, level reports and the audit log. It
//! also contains the tables of `trading`, `social` and `cluster`.
//!
//! Unlike `candles.db`, this database has many writers: servers charge quotas, and account commands
//! run in other processes, even during an import. The only lock is SQLite's own; every change is a
//! short `begin immediate` transaction that is durable before it is acknowledged.

use std::path::Path;
use std::sync::Arc;

use market::{Symbol, Timestamp};

use crate::candles::{NOTIFY, VersionReader, sql as common_sql};
use crate::cluster::Shared;
use crate::engine::home::Home;
use crate::engine::postgres::Server;
use crate::engine::{Db, Fault, Row, Sql, StoreError, small};
use crate::ids::AccountId;

pub(crate) use audit::write as write_audit;
pub use audit::{AuditFilter, AuditId, AuditNote, AuditRow};
use changes::Following;
pub(crate) use changes::{WriteLock, count_change};
use connections::{Connections, Held};
pub(crate) use credentials::note_sealing_key;
pub use credentials::{Credential, Renewal, RenewalOutcome};
pub use levels::{
    AssetReportOutcome, LevelChange, LevelRow, OrderReport, RateRow, RecordedLevel, ReportedAssetsRow,
    ReportedHolding, ReportedOrdersRow,
};
pub(crate) use links::end_password_link;
pub use links::{LinkOutcome, NewLink, PasswordLinkRow};
pub use oauth::{CLIENTS_MAX, DEVICES_MAX, DEVICES_OF_CLIENT_MAX, FAMILIES_MAX};
pub use oauth_rows::{
    ClientRow, CodeRow, DeviceOutcome, DeviceRow, DeviceState, FamilyRow, NewDevice, NewTokens, Redemption,
    TokenKind, TokenRow,
};
pub use people::{BrowserRow, Person};
pub use worlds::{AddWorldOutcome, NewWorldRow, WorldChange, WorldClock, WorldLine, WorldRow, WorldSpan};

pub(crate) mod audit;
mod changes;
mod connections;
pub(crate) mod copied_parts;
mod credentials;
pub(crate) mod levels;
mod links;
mod oauth;
mod oauth_rows;
mod opening;
mod people;
mod sql;
mod worlds;

pub(crate) use crate::engine::ACCOUNTS_FILE as FILE;

/// Maximum length of an account's text columns, in bytes. A safety limit: `access` validates each
/// column first, with a specific error message.
const TEXT_MAX: usize = 1_024;

/// Limits and permissions of an account. `rate` and `floors` are unparsed text; `access` parses
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountTerms {
    /// A fixed level, or 0 if the level is earned.
    pub level: u32,
    /// Monthly quota in securities; `None` for the level's quota.
    pub quota: Option<u32>,
    /// Overrides the service's rate limit.
    pub rate: Option<String>,
    pub connections: u32,
    /// Maximum number of distinct securities that all its connections subscribe to.
    pub subscriptions: u32,
    /// Overrides the earliest times that the server serves.
    pub floors: Option<String>,
    /// If set, the account may read its trading data but not change it.
    pub read_only: bool,
    /// Pinned API date; `None` for the newest API.
    pub api_date: Option<String>,
}

/// Permission to see a quote package, with an optional validity period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RightRow {
    pub package: String,
    pub starts_at: Option<Timestamp>,
    pub ends_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccountRow {
    pub name: String,
    pub region: String,
    pub role: String,
    pub created_at: Timestamp,
    pub terms: AccountTerms,
    pub rights: Vec<RightRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    pub id: AccountId,
    pub name: String,
    pub region: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// Incremented by every change that ends all of the account's sessions.
    pub epoch: u32,
    pub role: String,
    pub terms: AccountTerms,
    /// Sorted by package name.
    pub rights: Vec<RightRow>,
    /// Owner of the account's world. The account of a world has no password and no browser session.
    pub owner: Option<AccountId>,
}

/// Whether a security is counted in an account's month, and the total for that month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonthUsage {
    pub counted: bool,
    /// Number of securities counted in the month so far.
    pub total: u32,
}

/// Result of charging a security to the monthly quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spend {
    /// The security was already counted this month.
    Free,
    Charged {
        used: u32,
    },
    /// The monthly quota is exhausted; nothing was written.
    Refused {
        used: u32,
    },
}

/// Result of revoking an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    Revoked,
    /// The account does not exist or was already revoked.
    Unchanged,
    /// The account is the last active account with the role. Nothing was changed.
    LastOfRole,
}

/// The accounts database, open for reading and writing. Shared between threads; reads do not wait
/// for writes.
#[derive(Debug)]
pub struct Accounts {
    connections: Connections,
    home: Home,
    following: Following,
    /// Connections that hold account locks; `None` on SQLite and if opened read-only.
    pub(crate) locks: Option<Arc<Server>>,
    /// State shared with other nodes; `None` on SQLite.
    shared: Option<Arc<Shared>>,
}

impl Accounts {
    /// Returns the path of the database file, or `None` on PostgreSQL.
    pub fn path(&self) -> Option<&Path> {
        self.home.file()
    }

    /// Returns the state shared with other nodes, or `None` on SQLite, where one process holds it
    /// in memory.
    pub fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }

    /// Returns a number that increases with every change of an account or credential by any
    /// process. Charging a quota does not increase it. The call takes a few microseconds, so
    /// servers make it before each request.
    pub fn version(&self) -> Result<i64, StoreError> {
        if let Some(version) = self.following.version() {
            return Ok(version);
        }
        self.read().one(common_sql::VERSION, [], |row| row.get(0))
    }

    /// Opens a connection for polling [`Accounts::version`].
    pub fn version_reader(&self) -> Result<VersionReader, StoreError> {
        VersionReader::open(&self.home)
    }

    /// Returns all accounts, oldest first.
    pub fn accounts(&self) -> Result<Vec<AccountRow>, StoreError> {
        let db = self.read();
        db.begin_read()?;
        let accounts = all_accounts(&db);
        db.commit().ok();
        accounts
    }

    pub fn account(&self, id: AccountId) -> Result<Option<AccountRow>, StoreError> {
        self.account_by(sql::ACCOUNT, |sql, db| db.first(sql, [id.0], AccountRow::read))
    }

    pub fn account_named(&self, name: &str) -> Result<Option<AccountRow>, StoreError> {
        self.account_by(sql::ACCOUNT_NAMED, |sql, db| db.first(sql, [name], AccountRow::read))
    }

    fn account_by(
        &self,
        sql: Sql,
        find: impl FnOnce(Sql, &Db) -> Result<Option<AccountRow>, StoreError>,
    ) -> Result<Option<AccountRow>, StoreError> {
        let db = self.read();
        let Some(mut account) = find(sql, &db)? else { return Ok(None) };
        account.read_rights(&db)?;
        Ok(Some(account))
    }

    /// Returns the number of accounts, including revoked accounts.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.read()
            .one(sql::ACCOUNT_COUNT, [], |row| Ok(u64::try_from(row.get::<i64>(0)?).unwrap_or_default()))
    }

    pub fn is_empty(&self) -> Result<bool, StoreError> {
        self.read().one(sql::ANY_ACCOUNT, [], |row| Ok(!row.get::<bool>(0)?))
    }

    /// Allocates the id of a new account. An id is never reused, even if adding the account fails.
    pub fn take_id(&self) -> Result<AccountId, StoreError> {
        self.change(|db| take(db, "account").map(AccountId))
    }

    /// Adds an account with its first credential.
    pub fn add(
        &self,
        id: AccountId,
        account: &NewAccountRow,
        credential: &Credential,
        note: &AuditNote<'_>,
    ) -> Result<(), StoreError> {
        if credential.account != id {
            return Err(StoreError::unfit("an account", "its credential belongs to another"));
        }
        account.check()?;
        self.change(|db| {
            insert(db, id, account, credential)?;
            audit::write(db, Some(id), "account.created", note)?;
            count_change(db, &[])
        })
    }

    /// Replaces an account's terms with those that `decide` computes from the current terms. The
    /// current terms are read in the write transaction, so concurrent changes are not lost. The
    /// text that `decide` returns is recorded as the reason in the audit log. Returns whether the
    /// account exists.
    pub fn change_terms<E: From<StoreError>>(
        &self,
        id: AccountId,
        (at, actor): (Timestamp, &str),
        decide: impl FnOnce(AccountTerms) -> Result<(AccountTerms, String), E>,
    ) -> Result<bool, E> {
        self.decide(|db| {
            let Some(account) = db.first(sql::ACCOUNT, [id.0], AccountRow::read)? else { return Ok(false) };
            let (terms, reason) = decide(account.terms)?;
            let AccountTerms { level, quota, rate, connections, subscriptions, floors, read_only, api_date } =
                terms;
            let texts = [&rate, &floors, &api_date].map(|text| text.as_deref().unwrap_or_default());
            check_texts("terms", &texts)?;
            let values = (level, quota, rate, connections, subscriptions, floors, read_only, api_date, id.0);
            db.run(sql::CHANGE_TERMS, values)?;
            audit::write(db, Some(id), "account.changed", &AuditNote { at, actor, reason: &reason })?;
            count_change(db, &[id])?;
            Ok(true)
        })
    }

    /// Grants a right or changes its validity period. Returns whether the account exists.
    pub fn grant(&self, id: AccountId, right: &RightRow, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        check_texts("a right", &[&right.package])?;
        self.change(|db| {
            if db.first(sql::ACCOUNT, [id.0], AccountRow::read)?.is_none() {
                return Ok(false);
            }
            put_right(db, id, right)?;
            audit::write(db, Some(id), "right.granted", note)?;
            count_change(db, &[id])?;
            Ok(true)
        })
    }

    /// Withdraws a right. Returns whether the account had it.
    pub fn withdraw(&self, id: AccountId, package: &str, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        self.change(|db| {
            let changed = db.run(sql::WITHDRAW, (id.0, package))? > 0;
            if changed {
                audit::write(db, Some(id), "right.withdrawn", note)?;
                count_change(db, &[id])?;
            }
            Ok(changed)
        })
    }

    /// Revokes an account. Returns `false` if the account does not exist or was already revoked, in
    /// which case the original revocation time does not change.
    pub fn revoke(&self, id: AccountId, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        self.change(|db| {
            let changed = db.run(sql::REVOKE, (note.at.0, id.0))? > 0;
            if changed {
                audit::write(db, Some(id), "account.revoked", note)?;
            }
            count_change(db, &[&[id][..], &revoke_worlds_of(db, id, note)?].concat())?;
            Ok(changed)
        })
    }

    /// Revokes an account unless it is the last active account with `role`, because no account
    /// could then administer the service. Checked in the write transaction: if two accounts revoke
    /// each other concurrently, one of them remains.
    pub fn revoke_unless_last(
        &self,
        id: AccountId,
        role: &str,
        note: &AuditNote<'_>,
    ) -> Result<Revocation, StoreError> {
        self.change(|db| {
            let account = db.first(sql::ACCOUNT, [id.0], AccountRow::read)?;
            let Some(account) = account.filter(|account| account.revoked_at.is_none()) else {
                return Ok(Revocation::Unchanged);
            };
            let others = || db.one(sql::OTHER_OF_ROLE, (role, id.0), |row| row.get::<bool>(0));
            if account.role == role && !others()? {
                return Ok(Revocation::LastOfRole);
            }
            db.run(sql::REVOKE, (note.at.0, id.0))?;
            audit::write(db, Some(id), "account.revoked", note)?;
            count_change(db, &[&[id][..], &revoke_worlds_of(db, id, note)?].concat())?;
            Ok(Revocation::Revoked)
        })
    }

    /// Returns whether a security is counted in a month (`YYYY-MM`), and the month's total. Does
    /// not count the security.
    pub fn used(&self, id: AccountId, month: &str, symbol: &Symbol) -> Result<MonthUsage, StoreError> {
        used(&self.read(), id, month, symbol)
    }

    /// Counts a security in a month, unless it is already counted or `limit` is reached. The limit
    /// holds under concurrency, and the count is durable on return. `at` is market time, which
    /// determines the month; `now` is wall-clock time for the audit log.
    pub fn spend(
        &self,
        id: AccountId,
        month: &str,
        symbol: &Symbol,
        limit: u32,
        (at, now): (Timestamp, Timestamp),
    ) -> Result<Spend, StoreError> {
        self.change_of(id, |db| {
            let MonthUsage { counted, total } = used(db, id, month, symbol)?;
            if counted {
                return Ok(Spend::Free);
            }
            if total >= limit {
                return Ok(Spend::Refused { used: total });
            }
            db.run(sql::SPEND, (id.0, month, symbol.as_str(), at.0))?;
            let used = total + 1;
            let (actor, reason) =
                (format!("account {}", id.0), format!("{symbol} is {used} of {limit} in {month}"));
            audit::write(
                db,
                Some(id),
                "quota.spent",
                &AuditNote { at: now, actor: &actor, reason: &reason },
            )?;
            Ok(Spend::Charged { used })
        })
    }

    /// Returns the number of securities counted in a month.
    pub fn used_total(&self, id: AccountId, month: &str) -> Result<u32, StoreError> {
        self.read().one(sql::USED_TOTAL, (id.0, month), |row| small(row, 0))
    }

    /// Returns the securities counted in a month, with the time at which each was first counted, in
    /// time order.
    pub fn usage(&self, id: AccountId, month: &str) -> Result<Vec<(Symbol, Timestamp)>, StoreError> {
        self.read().all(sql::USAGE, (id.0, month), |row| {
            let symbol: String = row.get(0)?;
            let symbol = symbol.parse().map_err(|_| Fault::value("symbol", &symbol))?;
            Ok((symbol, Timestamp(row.get(1)?)))
        })
    }

    pub(crate) fn read(&self) -> Held<'_> {
        self.connections.read()
    }

    pub(crate) fn change<T>(&self, work: impl FnOnce(&Db) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.within(WriteLock::Everything, work)
    }

    /// Runs `work` in a write transaction that locks only `account`. `work` may read and write only
    /// rows of that account, and one counter.
    pub(crate) fn change_of<T>(
        &self,
        account: AccountId,
        work: impl FnOnce(&Db) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(WriteLock::Of(&[account]), work)
    }

    /// Runs `work` in a write transaction that locks all accounts; `work` may return its own error
    /// type.
    pub(crate) fn decide<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Db) -> Result<T, E>,
    ) -> Result<T, E> {
        self.within(WriteLock::Everything, work)
    }

    pub(crate) fn within<T, E: From<StoreError>>(
        &self,
        lock: WriteLock<'_>,
        work: impl FnOnce(&Db) -> Result<T, E>,
    ) -> Result<T, E> {
        let db = self.connections.write();
        db.begin_write()?;
        let open = Open { db: &db };
        lock.take(&db)?;
        let result = work(&db)?;
        // This process must see its own change immediately, not after the notification.
        let version: Option<i64> = match (lock, db.channel()) {
            (WriteLock::Everything, Some(_)) => Some(db.one(common_sql::VERSION, [], |row| row.get(0))?),
            _ => None,
        };
        db.commit()?;
        std::mem::forget(open);
        let news = version.filter(|version| self.following.version().is_none_or(|known| known < *version));
        if let (Some(channel), Some(version)) = (db.channel(), news) {
            self.following.saw(version);
            // Not every database server supports notifications. Nodes that receive no notifications
            // rely on polling.
            db.first(NOTIFY, (channel, version.to_string()), |_| Ok(())).ok();
        }
        // A change of one account's rows alone ends no sign-in.
        if matches!(lock, WriteLock::Everything) {
            self.following.changed();
        }
        Ok(result)
    }
}

/// Blocks all other writers until the current transaction ends. Must be the first call in the
/// transaction.
pub(crate) fn lock_out_writers(db: &Db) -> Result<(), StoreError> {
    WriteLock::Everything.take(db)
}

/// Rolls the transaction back when dropped, including during a panic. After a commit the guard is
/// passed to `mem::forget`.
struct Open<'a> {
    db: &'a Db,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // SQLite may already have rolled back.
        self.db.rollback().ok();
    }
}

impl AccountRow {
    fn read(row: &Row<'_>) -> Result<AccountRow, Fault> {
        Ok(AccountRow {
            id: AccountId(row.get(0)?),
            name: row.get(1)?,
            region: row.get(2)?,
            created_at: Timestamp(row.get(3)?),
            revoked_at: row.get::<Option<i64>>(4)?.map(Timestamp),
            epoch: small(row, 5)?,
            role: row.get(6)?,
            terms: AccountTerms {
                level: small(row, 7)?,
                quota: row.get::<Option<i64>>(8)?.map(|_| small(row, 8)).transpose()?,
                rate: row.get(9)?,
                connections: small(row, 10)?,
                subscriptions: small(row, 11)?,
                floors: row.get(12)?,
                read_only: row.get(13)?,
                api_date: row.get(14)?,
            },
            rights: Vec::new(),
            owner: row.get::<Option<i64>>(15)?.map(AccountId),
        })
    }

    fn read_rights(&mut self, db: &Db) -> Result<(), StoreError> {
        self.rights = db.all(sql::RIGHTS_OF, [self.id.0], |row| {
            Ok(RightRow {
                package: row.get(0)?,
                starts_at: row.get::<Option<i64>>(1)?.map(Timestamp),
                ends_at: row.get::<Option<i64>>(2)?.map(Timestamp),
            })
        })?;
        Ok(())
    }
}

/// Returns all accounts with their rights. Fails if a row is missing according to the recorded row
/// counts.
fn all_accounts(db: &Db) -> Result<Vec<AccountRow>, StoreError> {
    let mut accounts = db.all(sql::ACCOUNTS, [], AccountRow::read)?;
    accounts.iter_mut().try_for_each(|account| account.read_rights(db))?;
    if !db.counts_rows() {
        return Ok(accounts);
    }
    let rights = accounts.iter().map(|account| account.rights.len()).sum::<usize>();
    for (table, found) in [("account", accounts.len()), ("quote_right", rights)] {
        let written: i64 = db.one(common_sql::ROWS_WRITTEN, [table], |row| row.get(0))?;
        if usize::try_from(written) != Ok(found) {
            return Err(db.fail(sql::ACCOUNTS.what)(Fault::Missing));
        }
    }
    Ok(accounts)
}

impl NewAccountRow {
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let NewAccountRow { name, region, role, terms, .. } = self;
        let texts = [&terms.rate, &terms.floors, &terms.api_date];
        let [rate, floors, api_date] = texts.map(|text| text.as_deref().unwrap_or_default());
        check_texts(name, &[name, region, role, rate, floors, api_date])
    }
}

/// Inserts an account with its credential and its rights, inside the caller's transaction.
fn insert(
    db: &Db,
    id: AccountId,
    account: &NewAccountRow,
    credential: &Credential,
) -> Result<(), StoreError> {
    let NewAccountRow { name, region, role, created_at, terms, rights } = account;
    let added = db.run(
        sql::ADD_ACCOUNT,
        (
            id.0,
            name,
            region,
            role,
            created_at.0,
            terms.level,
            terms.quota,
            &terms.rate,
            terms.connections,
            terms.subscriptions,
            &terms.floors,
            terms.read_only,
            &terms.api_date,
        ),
    )?;
    if added == 0 {
        return Err(StoreError::Taken { name: name.clone() });
    }
    insert_credential(db, credential)?;
    rights.iter().try_for_each(|right| put_right(db, id, right))
}

/// Revokes the accounts of an owner's worlds together with the owner. Returns them.
fn revoke_worlds_of(db: &Db, owner: AccountId, note: &AuditNote<'_>) -> Result<Vec<AccountId>, StoreError> {
    let worlds = db.all(sql::WORLDS_OF, [owner.0], |row| Ok(AccountId(row.get(0)?)))?;
    for world in &worlds {
        if db.run(sql::REVOKE, (note.at.0, world.0))? > 0 {
            audit::write(db, Some(*world), "account.revoked", note)?;
        }
    }
    Ok(worlds)
}

fn insert_credential(db: &Db, credential: &Credential) -> Result<(), StoreError> {
    let Credential { app_key, account, app_secret, token_hash, token_expires_at, created_at } = credential;
    let values = (app_key, account.0, app_secret, token_hash.as_slice(), token_expires_at.0, created_at.0);
    db.run(sql::ADD_CREDENTIAL, values).map(drop)
}

fn put_right(db: &Db, id: AccountId, right: &RightRow) -> Result<(), StoreError> {
    let RightRow { package, starts_at, ends_at } = right;
    let [starts_at, ends_at] = [starts_at, ends_at].map(|at| at.map(|at| at.0));
    db.run(sql::GRANT, (id.0, package, starts_at, ends_at)).map(drop)
}

fn used(db: &Db, id: AccountId, month: &str, symbol: &Symbol) -> Result<MonthUsage, StoreError> {
    db.one(sql::USED, (id.0, month, symbol.as_str()), |row| {
        Ok(MonthUsage { counted: row.get(0)?, total: small(row, 1)? })
    })
}

/// Returns the next number of a counter and increments it.
pub(crate) fn take(db: &Db, counter: &str) -> Result<i64, StoreError> {
    db.one(common_sql::COUNT_UP, (1, counter), |row| Ok(row.get::<i64>(0)? - 1))
}

pub(crate) fn check_texts(thing: &str, texts: &[&str]) -> Result<(), StoreError> {
    if texts.iter().any(|text| text.len() > TEXT_MAX) {
        let thing: String = thing.chars().take(40).collect();
        return Err(StoreError::unfit(thing, format!("a text is longer than {TEXT_MAX} bytes")));
    }
    Ok(())
}
