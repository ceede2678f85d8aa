use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::{Symbol, Timestamp};
use store::{AccountId, Accounts, Credential, NewAccountRow};
use zeroize::Zeroizing;

use crate::account::check_name;
use crate::connection::Registry;
use crate::identify::hash_token;
use crate::keys::Keys;
use crate::otp::Otps;
use crate::quota::Months;
use crate::random::{hex, random};
use crate::rate::Rates;
use crate::{AccessError, Account, Caller, Secret, Terms, Usage};

/// Ten years. A token of API-key mode is kept in a configuration file beside the secret it comes with, so that a short
/// life would cost its owner more than it would cost a thief; revoking the account ends it at once.
pub const TOKEN_LIFE_DEFAULT_S: i64 = 10 * 365 * 86_400;
/// The one region there is.
const REGION: &str = "ap";
/// Accounts kept in memory before all are forgotten and read again.
const BOOK_MAX: usize = 4_096;

/// The accounts of a store, and everything that decides for them. One for each process, shared between threads.
#[derive(Debug)]
pub struct Access {
    pub(crate) accounts: Accounts,
    pub(crate) keys: Keys,
    pub(crate) rates: Rates,
    pub(crate) months: Months,
    pub(crate) otps: Otps,
    pub(crate) registry: Arc<Registry>,
    book: Mutex<Book>,
}

/// Accounts as they were at one version of the database.
#[derive(Debug, Default)]
struct Book {
    version: i64,
    accounts: HashMap<AccountId, Arc<Account>>,
    filled: bool,
}

/// How sure to be that nothing has changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// What the database says now.
    Fresh,
    /// What it said when it was last asked. For whoever has asked a moment ago, and answers thousands a second.
    Recent,
}

impl Book {
    fn seen(&self) -> Option<i64> {
        self.filled.then_some(self.version)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccount {
    pub name: String,
    pub terms: Terms,
    /// When its access token ends; [`TOKEN_LIFE_DEFAULT_S`] from now if this is not given.
    pub token_expires_at: Option<Timestamp>,
}

/// The credentials of a new account. They are shown this once: of the token there is a hash from now on, and no command
/// gives the secret back.
#[derive(Debug)]
pub struct Created {
    pub account_id: AccountId,
    pub app_key: String,
    pub app_secret: Secret,
    pub access_token: Secret,
    pub token_expires_at: Timestamp,
}

impl Access {
    /// Opens the accounts in the directory of a store, and creates database and key file where there are none.
    pub fn open(dir: &Path, now: Timestamp) -> Result<Access, AccessError> {
        let accounts = Accounts::open(dir, now)?;
        let keys = match Keys::load(dir)? {
            Some(keys) => keys,
            None if accounts.is_empty()? => Keys::create(dir)?,
            // A new key would open none of the secrets there are. But first look again: another process may have made
            // the key and an account a moment ago.
            None => Keys::load(dir)?.ok_or_else(|| AccessError::KeyMissing { path: Keys::path(dir) })?,
        };
        Ok(Access {
            accounts,
            keys,
            rates: Rates::default(),
            months: Months::default(),
            otps: Otps::default(),
            registry: Arc::default(),
            book: Mutex::default(),
        })
    }

    pub fn create(&self, new: &NewAccount, now: Timestamp) -> Result<Created, AccessError> {
        check_name(&new.name)?;
        let terms = new.terms.row()?;
        let token_expires_at =
            new.token_expires_at.unwrap_or(Timestamp(now.0.saturating_add(TOKEN_LIFE_DEFAULT_S)));
        let app_key = hex(&random::<16>()?);
        let app_secret = Secret::new(hex(Zeroizing::new(random::<32>()?).as_slice()));
        let token = Zeroizing::new(random::<32>()?);
        let access_token = Secret::new(format!("{REGION}_{}", URL_SAFE_NO_PAD.encode(token.as_slice())));
        let account_id = self.accounts.take_id()?;
        let credential = Credential {
            app_secret: self.keys.seal(&app_secret, account_id, &app_key)?,
            app_key: app_key.clone(),
            account: account_id,
            token_hash: hash_token(access_token.expose()),
            token_expires_at,
            created_at: now,
        };
        let row = NewAccountRow { name: new.name.clone(), region: REGION.to_owned(), created_at: now, terms };
        self.accounts.add(account_id, &row, &credential)?;
        Ok(Created { account_id, app_key, app_secret, access_token, token_expires_at })
    }

    /// Every account, oldest first, revoked ones included.
    pub fn list(&self) -> Result<Vec<Account>, AccessError> {
        self.accounts.accounts()?.into_iter().map(Account::of).collect()
    }

    pub fn account(&self, id: AccountId) -> Result<Option<Arc<Account>>, AccessError> {
        Ok(self.look(id, Look::Fresh)?.map(|(_, account)| account))
    }

    pub fn account_named(&self, name: &str) -> Result<Option<Account>, AccessError> {
        self.accounts.account_named(name)?.map(Account::of).transpose()
    }

    /// The app keys of an account, each with the end of its access token.
    pub fn app_keys(&self, id: AccountId) -> Result<Vec<(String, Timestamp)>, AccessError> {
        let credentials = self.accounts.credentials_of(id)?;
        Ok(credentials.into_iter().map(|one| (one.app_key, one.token_expires_at)).collect())
    }

    /// How far an account is through the month of `now`, the market's; `None` if there is no such account.
    pub fn usage(&self, id: AccountId, now: Timestamp) -> Result<Option<Usage>, AccessError> {
        let Some((_, account)) = self.look(id, Look::Fresh)? else { return Ok(None) };
        let month = self.months.month(now);
        let used = u32::try_from(self.charged(id, now)?.len()).unwrap_or(u32::MAX);
        Ok(Some(Usage { month, used, limit: account.terms.quota_limit(), resets: month.next() }))
    }

    /// The securities an account has been charged for in the month of `now`, the market's, and when.
    pub fn charged(&self, id: AccountId, now: Timestamp) -> Result<Vec<(Symbol, Timestamp)>, AccessError> {
        Ok(self.accounts.usage(id, &self.months.month(now).to_string())?)
    }

    /// Ends an account: its token, its sessions and, with their next request, its open connections, in every process
    /// that serves this store. Whether this changed anything.
    pub fn revoke(&self, id: AccountId, now: Timestamp) -> Result<bool, AccessError> {
        Ok(self.accounts.revoke(id, now)?)
    }

    /// Whether there is such an account. The terms hold from the next request on, in every process.
    pub fn change_terms(&self, id: AccountId, terms: &Terms) -> Result<bool, AccessError> {
        Ok(self.accounts.change_terms(id, &terms.row()?)?)
    }

    /// An account as it stands now, whoever has changed it, with the version of the database at which that is so.
    pub(crate) fn look(&self, id: AccountId, look: Look) -> Result<Option<(i64, Arc<Account>)>, AccessError> {
        let recent = match look {
            Look::Fresh => None,
            Look::Recent => self.book.lock().unwrap_or_else(PoisonError::into_inner).seen(),
        };
        let version = match recent {
            Some(version) => version,
            None => self.accounts.version()?,
        };
        // Held while the row is read: otherwise one read before a change could be filed under the version after it.
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        if book.version != version || book.accounts.len() >= BOOK_MAX {
            *book = Book { version, accounts: HashMap::new(), filled: true };
        }
        if let Some(account) = book.accounts.get(&id) {
            return Ok(Some((version, Arc::clone(account))));
        }
        let Some(row) = self.accounts.account(id)? else { return Ok(None) };
        let account = Arc::new(Account::of(row)?);
        book.accounts.insert(id, Arc::clone(&account));
        Ok(Some((version, account)))
    }

    /// The account of a caller, if it still is what it was when they proved to be it.
    pub(crate) fn standing(&self, caller: &Caller) -> Result<Option<(i64, Arc<Account>)>, AccessError> {
        self.standing_at(caller, Look::Fresh)
    }

    pub(crate) fn standing_at(
        &self,
        caller: &Caller,
        look: Look,
    ) -> Result<Option<(i64, Arc<Account>)>, AccessError> {
        let stands = |account: &Account| account.revoked_at.is_none() && account.epoch == caller.epoch();
        Ok(self.look(caller.account(), look)?.filter(|(_, account)| stands(account)))
    }
}
