use market::Timestamp;
use store::AccountId;

use crate::oauth::Family;
use crate::scope::{Scope, Scopes};

/// An authenticated account. Only [`Access`](crate::Access) makes one; whether the account is still
/// active is checked each time it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    account: AccountId,
    epoch: u32,
    /// When the token that authenticated it expires. A connection that is open by then may stay;
    /// none is opened afterwards.
    until: Timestamp,
    /// The family of an OAuth token, which may end before the account does.
    family: Option<Family>,
    manner: Manner,
    scopes: Scopes,
}

/// How the credentials were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Manner {
    /// In a header or body, which only client and server see.
    Sent,
    /// By the cookie of a person who is signed in.
    Browser,
    /// In the URL, which browsers and proxies log.
    Address,
    /// Not at all: the user of this process may read the whole store.
    InProcess,
}

impl Caller {
    pub(crate) fn new(account: AccountId, epoch: u32, until: Timestamp) -> Caller {
        Caller { account, epoch, until, family: None, manner: Manner::Sent, scopes: Scopes::ALL }
    }

    pub(crate) fn in_process(self) -> Caller {
        Caller { manner: Manner::InProcess, ..self }
    }

    pub(crate) fn of_browser(self) -> Caller {
        Caller { manner: Manner::Browser, ..self }
    }

    /// The same caller with credentials from a URL, and so with fewer scopes.
    #[must_use]
    pub fn in_address(self) -> Caller {
        Caller { manner: Manner::Address, scopes: self.scopes.and(Scopes::ADDRESS), ..self }
    }

    pub fn is_browser(&self) -> bool {
        self.manner == Manner::Browser
    }

    /// Whether it is the user of this process ([`Access::admit_in_process`](crate::Access)).
    pub fn is_in_process(&self) -> bool {
        self.manner == Manner::InProcess
    }

    pub fn is_in_address(&self) -> bool {
        self.manner == Manner::Address
    }

    pub(crate) fn of_family(self, family: Family) -> Caller {
        Caller { family: Some(family), scopes: self.scopes.and(Scopes::PROGRAM), ..self }
    }

    /// The same caller, restricted to these scopes.
    pub(crate) fn within(self, scopes: Scopes) -> Caller {
        Caller { scopes: self.scopes.and(scopes), ..self }
    }

    /// Whether the credentials have a scope. Whether the account may use it is a separate check.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.has(scope)
    }

    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    pub fn account(&self) -> AccountId {
        self.account
    }

    /// Whether an OAuth token authenticated it.
    pub fn is_oauth(&self) -> bool {
        self.family.is_some()
    }

    /// Whether this is the client of a sign-in, by its id.
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
