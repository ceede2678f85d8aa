use market::Timestamp;
use store::AccountId;

use crate::oauth::Family;
use crate::scope::{Scope, Scopes};

/// An authenticated account. Only [`Access`](crate::Access) makes one; whether the account still stands is checked anew
/// each time it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    account: AccountId,
    epoch: u32,
    /// When the token expires that it was authenticated with. A connection that is open by then may stay; none is opened
    /// afterwards.
    until: Timestamp,
    /// What an OAuth token belongs to, which may end before the account does.
    family: Option<Family>,
    manner: Manner,
    scopes: Scopes,
}

/// How the credentials were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Manner {
    /// In a header or body, which only the two ends see.
    Sent,
    /// By the cookie of a person who is signed in.
    Browser,
    /// In the address of the request, which is kept in histories and logs of others.
    Address,
}

impl Caller {
    pub(crate) fn new(account: AccountId, epoch: u32, until: Timestamp) -> Caller {
        Caller { account, epoch, until, family: None, manner: Manner::Sent, scopes: Scopes::ALL }
    }

    pub(crate) fn of_browser(self) -> Caller {
        Caller { manner: Manner::Browser, ..self }
    }

    /// The same caller, whose proof stood in an address. They may do less.
    #[must_use]
    pub fn in_address(self) -> Caller {
        Caller { manner: Manner::Address, scopes: self.scopes.and(Scopes::ADDRESS), ..self }
    }

    pub fn is_browser(&self) -> bool {
        self.manner == Manner::Browser
    }

    pub fn is_in_address(&self) -> bool {
        self.manner == Manner::Address
    }

    pub(crate) fn of_family(self, family: Family) -> Caller {
        Caller { family: Some(family), scopes: self.scopes.and(Scopes::PROGRAM), ..self }
    }

    /// The same caller, good for no more than these.
    pub(crate) fn within(self, scopes: Scopes) -> Caller {
        Caller { scopes: self.scopes.and(scopes), ..self }
    }

    /// Whether the credentials are good for something. Whether the account may do it is another question.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.has(scope)
    }

    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    pub fn account(&self) -> AccountId {
        self.account
    }

    /// Whether it was a token of OAuth that proved it.
    pub fn is_oauth(&self) -> bool {
        self.family.is_some()
    }

    /// Whether this is the program of a sign-in, by its id.
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
