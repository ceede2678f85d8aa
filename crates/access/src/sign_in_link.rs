//! One-time sign-in links for the user of this machine: a URL that signs a browser in once, within
//! minutes, at the server that printed it.
//!
//! Anyone who can read the files of a store already has full access to it, so a link grants them
//! nothing new. It must only be useless to others: its token is 256 random bits, of which the
//! database has a hash; it ends with its first use, after ten minutes, and with the server that
//! issued it. The server decides which addresses may use it.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use store::{AccountId, AuditNote, LinkOutcome, NewLink, StoreError};
use zeroize::Zeroizing;

use crate::browser::new_session;
use crate::random::random;
use crate::token::hash_token;
use crate::{Access, AccessError, Account, Actor, Moment, NewAccount, Right, Rights, Role, Secret, Terms};

/// Ten minutes: long enough to find the line in a terminal, and to be opened on another screen of the same machine.
pub const SIGN_IN_LINK_LIFE_S: i64 = 600;
/// Longer than any token of ours.
const TOKEN_MAX: usize = 128;
/// The name of the account of this machine's user.
const LOCAL_NAME: &str = "local";
/// Names that are tried for it: one of them may belong to another account.
const LOCAL_NAMES_MAX: u32 = 100;

/// A browser that a link has signed in.
#[derive(Debug)]
pub struct SignedInByLink {
    pub account: AccountId,
    /// The cookie of the session.
    pub session: Secret,
    pub expires_at: Timestamp,
    /// The page that the link opens.
    pub next: String,
}

/// Why a link did not sign in.
#[derive(Debug, thiserror::Error)]
pub enum LinkRefused {
    #[error("the one-time link was not made here, or something in it was changed")]
    Unknown,
    #[error("the one-time link was used before")]
    Used { account: AccountId, next: String },
    #[error("the one-time link has expired")]
    Expired,
    #[error("the one-time link was made by a server that has stopped, or by another one")]
    OfAnotherServer,
    #[error("cannot look a one-time link up")]
    Failed(#[from] AccessError),
}

impl Account {
    /// Whether it is the account that [`Access::local_account`] creates.
    pub fn is_local(&self) -> bool {
        self.role == Role::Operator && local_names().any(|name| name == self.name)
    }
}

fn local_names() -> impl Iterator<Item = String> {
    let numbered = (2..=LOCAL_NAMES_MAX).map(|number| format!("{LOCAL_NAME}-{number}"));
    std::iter::once(LOCAL_NAME.to_owned()).chain(numbered)
}

impl Access {
    /// The account of this machine's user, which has the operator role and no limits. It is created
    /// if it does not exist; its API key is never shown, and it has no password.
    pub fn local_account(&self, by: &Actor, now: Timestamp) -> Result<Account, AccessError> {
        for name in local_names() {
            let found = match self.account_named(&name)? {
                None => {
                    let rights = Rights::default().with(Right::UsOvernight);
                    let named = NewAccount::named(name.clone(), Terms::unlimited());
                    let new = NewAccount { rights, role: Role::Operator, ..named };
                    match self.create(&new, by, now) {
                        // Another process may have created it first.
                        Ok(_) | Err(AccessError::Store(StoreError::Taken { .. })) => {}
                        Err(error) => return Err(error),
                    }
                    self.account_named(&name)?
                }
                found => found,
            };
            if let Some(account) = found.filter(|account| account.is_local() && account.revoked_at.is_none())
            {
                return Ok(account);
            }
        }
        let reason = "there are too many accounts of this name that are revoked or no operators";
        Err(AccessError::Name { name: LOCAL_NAME.to_owned(), reason })
    }

    /// The token of a new link for an account and a page. It is good once, at this server only.
    pub fn issue_sign_in_link(
        &self,
        account: AccountId,
        next: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Secret, AccessError> {
        let bytes = Zeroizing::new(random::<32>()?);
        let token = Secret::new(URL_SAFE_NO_PAD.encode(bytes.as_slice()));
        let link = NewLink {
            hash: hash_token(token.expose()),
            account,
            server: &self.identity.instance,
            next,
            expires_at: Timestamp(now.0.saturating_add(SIGN_IN_LINK_LIFE_S)),
        };
        let actor = by.to_string();
        let reason = "a one-time link for the user of this machine";
        self.accounts.add_link(&link, &AuditNote { at: now, actor: &actor, reason })?;
        Ok(token)
    }

    /// Signs a browser in with the token of a link, and uses the link up.
    pub fn redeem_sign_in_link(
        &self,
        token: &str,
        address: IpAddr,
        at: Moment,
    ) -> Result<SignedInByLink, LinkRefused> {
        let (session, expires_at) = new_session(at.now)?;
        let outcome = if token.len() > TOKEN_MAX {
            LinkOutcome::Unknown
        } else {
            let (actor, reason) =
                (Actor::Address(address).to_string(), format!("by a one-time link, from {address}"));
            let note = AuditNote { at: at.now, actor: &actor, reason: &reason };
            let hashes = (hash_token(token), hash_token(session.expose()));
            let redeemed =
                self.accounts.redeem_link(&hashes.0, &self.identity.instance, (&hashes.1, expires_at), &note);
            redeemed.map_err(AccessError::from)?
        };
        let (whose, refused) = match outcome {
            LinkOutcome::SignedIn { account, next } => {
                return Ok(SignedInByLink { account, session, expires_at, next });
            }
            LinkOutcome::Unknown => (None, LinkRefused::Unknown),
            LinkOutcome::Used { account, next } => (Some(account), LinkRefused::Used { account, next }),
            LinkOutcome::Expired { account } => (Some(account), LinkRefused::Expired),
            LinkOutcome::OfAnotherServer { account } => (Some(account), LinkRefused::OfAnotherServer),
        };
        self.note_refused_login(address, at, || Ok((whose, refused.to_string())))?;
        Err(refused)
    }
}
