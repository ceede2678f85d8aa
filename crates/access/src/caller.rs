//! Authenticated callers, and the actors named in audit rows.

use std::fmt;
use std::net::IpAddr;

use market::Timestamp;
use store::AccountId;

use crate::Account;
use crate::oauth::Family;
use crate::scope::{Scope, Scopes};

/// An authenticated account, created only by [`Access`](crate::Access). Each request checks again
/// that the account is still active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    account: AccountId,
    epoch: u32,
    /// Expiry of the token that authenticated the caller. Open connections may outlive the token,
    /// but no new connection can be opened after it expires.
    until: Timestamp,
    /// The OAuth token family, which may be revoked independently of the account.
    family: Option<Family>,
    manner: Manner,
    scopes: Scopes,
    /// Whether the account belongs to a world.
    is_world: bool,
}

/// How the credentials were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Manner {
    /// In a header or body, which only client and server see.
    Sent,
    /// In the session cookie of a signed-in user.
    Browser,
    /// In the URL, which browsers and proxies log.
    Address,
    /// No credentials were sent, because the user of this process has access to the whole store.
    InProcess,
}

impl Caller {
    pub(crate) fn new(account: AccountId, epoch: u32, until: Timestamp) -> Caller {
        let (manner, scopes) = (Manner::Sent, Scopes::ALL);
        Caller { account, epoch, until, family: None, manner, scopes, is_world: false }
    }

    /// Returns the caller of an account. Every admitted caller is created or completed
    /// ([`of_account`](Self::of_account)) here, so that its world is never missing.
    pub(crate) fn of(account: &Account, until: Timestamp) -> Caller {
        Caller::new(account.id, account.epoch, until).of_account(account)
    }

    /// Completes a caller that was read from a one-time password or a session.
    pub(crate) fn of_account(self, account: &Account) -> Caller {
        Caller { is_world: account.is_world, ..self }
    }

    /// Returns whether the caller's account belongs to a world and follows its clock.
    pub fn is_of_world(&self) -> bool {
        self.is_world
    }

    pub(crate) fn in_process(self) -> Caller {
        Caller { manner: Manner::InProcess, ..self }
    }

    pub(crate) fn of_browser(self) -> Caller {
        Caller { manner: Manner::Browser, ..self }
    }

    /// Returns the caller with the reduced scopes of credentials sent in a URL.
    #[must_use]
    pub fn in_address(self) -> Caller {
        Caller { manner: Manner::Address, scopes: self.scopes.and(Scopes::ADDRESS), ..self }
    }

    pub fn is_browser(&self) -> bool {
        self.manner == Manner::Browser
    }

    /// Returns whether the caller is the user of this process
    /// ([`Access::admit_in_process`](crate::Access)).
    pub fn is_in_process(&self) -> bool {
        self.manner == Manner::InProcess
    }

    pub fn is_in_address(&self) -> bool {
        self.manner == Manner::Address
    }

    /// Returns the caller of an OAuth token, which [`Caller::within`] restricts to the token's
    /// scopes.
    pub(crate) fn of_family(self, family: Family) -> Caller {
        Caller { family: Some(family), scopes: Scopes::OAUTH, ..self }
    }

    /// Returns the caller restricted to these scopes.
    pub(crate) fn within(self, scopes: Scopes) -> Caller {
        Caller { scopes: self.scopes.and(scopes), ..self }
    }

    /// Returns whether the credentials include a scope. Whether the account's role permits the
    /// scope is a separate check.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.has(scope)
    }

    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    pub fn account(&self) -> AccountId {
        self.account
    }

    /// Returns whether the caller was authenticated by an OAuth token.
    pub fn is_oauth(&self) -> bool {
        self.family.is_some()
    }

    /// Returns whether `sign_in` is the id of the caller's OAuth token family. Always false for
    /// callers without an OAuth token.
    pub fn is_of(&self, sign_in: &str) -> bool {
        self.family.is_some_and(|family| family.text() == sign_in)
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn until(&self) -> Timestamp {
        self.until
    }

    pub(crate) fn family(&self) -> Option<Family> {
        self.family
    }
}

/// The actor of an audit row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The command-line user, who has access to the store's files.
    Operator,
    /// An account that uses the service, including operator accounts.
    Account(AccountId),
    /// An OAuth client, by client id, that does not act for an account yet.
    Client(String),
    /// An unauthenticated client, by IP address.
    Address(IpAddr),
    /// The service, for changes caused only by the passage of time.
    Service,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Operator => f.write_str("operator"),
            Actor::Account(id) => write!(f, "account {}", id.0),
            Actor::Client(id) => write!(f, "client {id}"),
            Actor::Address(address) => write!(f, "address {address}"),
            Actor::Service => f.write_str("service"),
        }
    }
}
