//! The second database of a store: accounts, their credentials and what they have used this month.
//!
//! Unlike `candles.db` it has many writers: a server that charges quotas, and the account commands of other processes,
//! also while an import runs. So there is no lock but SQLite's own, every change is one short `begin immediate`
//! transaction, and each is on the disk before it is acknowledged.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use market::{Symbol, Timestamp};
use rusqlite::Row;

use crate::db::{Db, Fault, Role, natural, small};
use crate::{StoreError, accounts_sql, migrate, sql};

const FILE: &str = "accounts.db";
/// Held while the database is created or migrated: SQLite does not wait when two connections turn a new file to WAL.
const LOCK_FILE: &str = "accounts.lock";
/// The longest text an account may carry in any of its columns. Checked by whoever makes accounts in its own words;
/// here only so that no row can be without a limit.
const TEXT_MAX: usize = 1_024;

/// An account's number: given once, never again. It is also the member id that clients are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub i64);

/// What an account may do. Names of markets and the rule of rate are text here: their meaning is the business of
/// whoever admits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountTerms {
    pub markets: String,
    pub overnight: bool,
    pub level: u32,
    /// Securities a month, where the level does not decide.
    pub quota: Option<u32>,
    /// Where the rule of the service does not hold.
    pub rate: Option<String>,
    pub connections: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccountRow {
    pub name: String,
    pub region: String,
    pub created_at: Timestamp,
    pub terms: AccountTerms,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    pub id: AccountId,
    pub name: String,
    pub region: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// Raised by whatever ends all sessions of the account.
    pub epoch: u32,
    pub terms: AccountTerms,
}

/// What a caller proves to be an account. The secret is sealed and of the token there is a hash, so it may be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub app_key: String,
    pub account: AccountId,
    pub app_secret: Vec<u8>,
    pub token_hash: [u8; 32],
    pub token_expires_at: Timestamp,
    pub created_at: Timestamp,
}

/// Where a security stands in an account's month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    pub counted: bool,
    /// Securities counted in the month so far.
    pub total: u32,
}

/// What became of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spend {
    /// It had been counted before.
    Free,
    Charged {
        used: u32,
    },
    /// The month is full; nothing was written.
    Refused {
        used: u32,
    },
}

/// `accounts.db`, open for reading and writing. Shared between threads: questions do not wait for charges.
#[derive(Debug)]
pub struct Accounts {
    reader: Mutex<Db>,
    writer: Mutex<Db>,
    path: PathBuf,
}

impl Accounts {
    /// Opens the accounts of a store, and creates or migrates them first where that is needed.
    pub fn open(dir: &Path, now: Timestamp) -> Result<Accounts, StoreError> {
        std::fs::create_dir_all(dir).map_err(|source| StoreError::io("create the directory", dir, source))?;
        let path = dir.join(FILE);
        let _lock = lock(&dir.join(LOCK_FILE))?;
        create_private(&path)?;
        let writer = Db::open(&path, Role::Writer)?;
        if migrate::schema(&writer, migrate::ACCOUNTS)? != migrate::known(migrate::ACCOUNTS) {
            migrate::migrate(&writer, migrate::ACCOUNTS, now)?;
        }
        let reader = Db::open(&path, Role::Reader)?;
        Ok(Accounts { reader: Mutex::new(reader), writer: Mutex::new(writer), path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A number that rises with every change to an account or a credential, whichever process makes it. Usage does
    /// not raise it. Reading it costs a few microseconds, so a server asks before each request.
    pub fn version(&self) -> Result<i64, StoreError> {
        self.read().one(sql::VERSION, [], |row| Ok(row.get(0)?))
    }

    /// Every account, oldest first.
    pub fn accounts(&self) -> Result<Vec<AccountRow>, StoreError> {
        self.read().all(accounts_sql::ACCOUNTS, [], AccountRow::read)
    }

    pub fn account(&self, id: AccountId) -> Result<Option<AccountRow>, StoreError> {
        self.read().first(accounts_sql::ACCOUNT, [id.0], AccountRow::read)
    }

    pub fn account_named(&self, name: &str) -> Result<Option<AccountRow>, StoreError> {
        self.read().first(accounts_sql::ACCOUNT_NAMED, [name], AccountRow::read)
    }

    pub fn is_empty(&self) -> Result<bool, StoreError> {
        self.read().one(accounts_sql::ANY_ACCOUNT, [], |row| Ok(!row.get::<_, bool>(0)?))
    }

    pub fn credential_by_key(&self, app_key: &str) -> Result<Option<Credential>, StoreError> {
        self.read().first(accounts_sql::CREDENTIAL_BY_KEY, [app_key], Credential::read)
    }

    pub fn credential_by_token(&self, hash: &[u8; 32]) -> Result<Option<Credential>, StoreError> {
        self.read().first(accounts_sql::CREDENTIAL_BY_TOKEN, [hash.as_slice()], Credential::read)
    }

    pub fn credentials_of(&self, id: AccountId) -> Result<Vec<Credential>, StoreError> {
        self.read().all(accounts_sql::CREDENTIALS_OF, [id.0], Credential::read)
    }

    /// A number for an account that is about to be added. It is taken for good, whether or not that succeeds.
    pub fn take_id(&self) -> Result<AccountId, StoreError> {
        self.change(|db| take(db, "account").map(AccountId))
    }

    /// Adds an account together with its first credential.
    pub fn add(
        &self,
        id: AccountId,
        account: &NewAccountRow,
        credential: &Credential,
    ) -> Result<(), StoreError> {
        if credential.account != id {
            return Err(StoreError::unfit("an account", "its credential belongs to another"));
        }
        let NewAccountRow { name, region, created_at, terms } = account;
        check_texts(name, &[name, region, &terms.markets, terms.rate.as_deref().unwrap_or_default()])?;
        self.change(|db| {
            let added = db.run(
                accounts_sql::ADD_ACCOUNT,
                (
                    id.0,
                    name,
                    region,
                    created_at.0,
                    &terms.markets,
                    i64::from(terms.overnight),
                    terms.level,
                    terms.quota,
                    &terms.rate,
                    terms.connections,
                ),
            )?;
            if added == 0 {
                return Err(StoreError::Taken { name: name.clone() });
            }
            db.run(
                accounts_sql::ADD_CREDENTIAL,
                (
                    &credential.app_key,
                    id.0,
                    &credential.app_secret,
                    credential.token_hash.as_slice(),
                    credential.token_expires_at.0,
                    credential.created_at.0,
                ),
            )?;
            take(db, "version").map(drop)
        })
    }

    /// Whether there is such an account.
    pub fn change_terms(&self, id: AccountId, terms: &AccountTerms) -> Result<bool, StoreError> {
        check_texts("terms", &[&terms.markets, terms.rate.as_deref().unwrap_or_default()])?;
        self.change(|db| {
            let AccountTerms { markets, overnight, level, quota, rate, connections } = terms;
            let changed = db.run(
                accounts_sql::CHANGE_TERMS,
                (markets, i64::from(*overnight), level, quota, rate, connections, id.0),
            )?;
            take(db, "version")?;
            Ok(changed > 0)
        })
    }

    /// Whether this changed anything: an account is revoked once, and keeps the time of it.
    pub fn revoke(&self, id: AccountId, now: Timestamp) -> Result<bool, StoreError> {
        self.change(|db| {
            let changed = db.run(accounts_sql::REVOKE, (now.0, id.0))?;
            take(db, "version")?;
            Ok(changed > 0)
        })
    }

    /// Where a security stands in a month (`YYYY-MM`), without changing it.
    pub fn used(&self, id: AccountId, month: &str, symbol: &Symbol) -> Result<Used, StoreError> {
        used(&self.read(), id, month, symbol)
    }

    /// Counts a security in a month, if it is not counted yet and the month has room. Exact whoever else does the same
    /// at the same time, and on the disk when this returns.
    pub fn spend(
        &self,
        id: AccountId,
        month: &str,
        symbol: &Symbol,
        limit: u32,
        now: Timestamp,
    ) -> Result<Spend, StoreError> {
        self.change(|db| {
            let Used { counted, total } = used(db, id, month, symbol)?;
            if counted {
                return Ok(Spend::Free);
            }
            if total >= limit {
                return Ok(Spend::Refused { used: total });
            }
            db.run(accounts_sql::SPEND, (id.0, month, symbol.as_str(), now.0))?;
            Ok(Spend::Charged { used: total + 1 })
        })
    }

    /// The securities counted in a month and when, in that order.
    pub fn usage(&self, id: AccountId, month: &str) -> Result<Vec<(Symbol, Timestamp)>, StoreError> {
        self.read().all(accounts_sql::USAGE, (id.0, month), |row| {
            let symbol: String = row.get(0)?;
            let symbol = symbol.parse().map_err(|_| Fault::value("symbol", &symbol))?;
            Ok((symbol, Timestamp(row.get(1)?)))
        })
    }

    // A panic in a question or a change leaves nothing half done in the connection, so poison is no reason to stop.
    fn read(&self) -> MutexGuard<'_, Db> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, work: impl FnOnce(&Db) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let db = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        db.run(sql::BEGIN_WRITE, [])?;
        let open = Open { db: &db };
        let result = work(&db)?;
        db.run(sql::COMMIT, [])?;
        std::mem::forget(open);
        Ok(result)
    }
}

/// A transaction that is rolled back unless it is forgotten, also when the work inside panics.
struct Open<'a> {
    db: &'a Db,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // SQLite may have rolled back by itself, and then there is nothing to roll back.
        self.db.run(sql::ROLLBACK, []).ok();
    }
}

impl AccountRow {
    fn read(row: &Row<'_>) -> Result<AccountRow, Fault> {
        Ok(AccountRow {
            id: AccountId(row.get(0)?),
            name: row.get(1)?,
            region: row.get(2)?,
            created_at: Timestamp(row.get(3)?),
            revoked_at: row.get::<_, Option<i64>>(4)?.map(Timestamp),
            epoch: small(row, 5)?,
            terms: AccountTerms {
                markets: row.get(6)?,
                overnight: natural(row, 7)? != 0,
                level: small(row, 8)?,
                quota: row.get::<_, Option<i64>>(9)?.map(|_| small(row, 9)).transpose()?,
                rate: row.get(10)?,
                connections: small(row, 11)?,
            },
        })
    }
}

impl Credential {
    fn read(row: &Row<'_>) -> Result<Credential, Fault> {
        let hash: Vec<u8> = row.get(3)?;
        Ok(Credential {
            app_key: row.get(0)?,
            account: AccountId(row.get(1)?),
            app_secret: row.get(2)?,
            token_hash: hash.try_into().map_err(|_| Fault::value("token hash", "another length"))?,
            token_expires_at: Timestamp(row.get(4)?),
            created_at: Timestamp(row.get(5)?),
        })
    }
}

fn used(db: &Db, id: AccountId, month: &str, symbol: &Symbol) -> Result<Used, StoreError> {
    db.one(accounts_sql::USED, (id.0, month, symbol.as_str()), |row| {
        Ok(Used { counted: row.get(0)?, total: small(row, 1)? })
    })
}

/// The next number of a counter.
fn take(db: &Db, counter: &str) -> Result<i64, StoreError> {
    db.one(sql::COUNT_UP, (1, counter), |row| Ok(row.get::<_, i64>(0)? - 1))
}

fn check_texts(thing: &str, texts: &[&str]) -> Result<(), StoreError> {
    if texts.iter().any(|text| text.len() > TEXT_MAX) {
        let thing: String = thing.chars().take(40).collect();
        return Err(StoreError::unfit(thing, format!("a text is longer than {TEXT_MAX} bytes")));
    }
    Ok(())
}

/// Waits for whoever else is opening these accounts. The system gives the lock up with the file, and with the process.
fn lock(path: &Path) -> Result<File, StoreError> {
    let options = OpenOptions::new().write(true).create(true).truncate(false).clone();
    let file = options.open(path).map_err(|source| StoreError::io("open the lock file", path, source))?;
    file.lock().map_err(|source| StoreError::io("lock", path, source))?;
    Ok(file)
}

/// SQLite gives its log the mode of the database, so it is enough that the file is born private. An existing file is
/// not opened: closing it again would drop the locks this process has on it.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(StoreError::io("create", path, source)),
    }
}
