//! One-time sign-in links for the user of this machine. A link is a URL that signs in a browser
//! once, within ten minutes, at the server that printed it.
//!
//! A user who can read the files of a store already has full access to the store, so a link grants
//! that user no additional access. Only use by others must be prevented. The link's token is 256
//! random bits, stored as a hash, and becomes invalid after its first use, after ten minutes, and
//! when the server that issued it stops. The server decides which addresses may use a link.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use store::{AccountId, AuditNote, LinkOutcome, NewLink, StoreError};
use zeroize::Zeroizing;

use crate::browser::new_session;
use crate::secret::random;
use crate::token::hash_token;
use crate::{Access, AccessError, Account, Actor, Moment, NewAccount, Right, Rights, Role, Secret, Terms};

/// Lifetime of a sign-in link in seconds: ten minutes, long enough to find the link in a terminal
/// and open it in a browser.
pub const SIGN_IN_LINK_LIFE_S: i64 = 600;
/// Maximum length of a token in bytes. Longer tokens are rejected before hashing.
const TOKEN_MAX: usize = 128;
/// Preferred name of the local user's account.
const LOCAL_NAME: &str = "local";
/// Maximum number of names tried for the local user's account, in case another account has the
/// preferred name.
const LOCAL_NAMES_MAX: u32 = 100;

/// A browser session started by a sign-in link.
#[derive(Debug)]
pub struct SignedInByLink {
    pub account: AccountId,
    /// The session cookie.
    pub session: Secret,
    pub expires_at: Timestamp,
    /// The page that the link opens.
    pub next: String,
}

/// Why a sign-in link was refused.
#[derive(Debug, thiserror::Error)]
pub enum LinkRefused {
    #[error("the one-time link was not issued by this server, or it was modified")]
    Unknown,
    #[error("the one-time link was already used")]
    Used { account: AccountId, next: String },
    #[error("the one-time link has expired")]
    Expired,
    #[error("the one-time link was issued by another server, or by one that has stopped")]
    OfAnotherServer,
    #[error("cannot look up a one-time link")]
    Failed(#[from] AccessError),
}

impl Account {
    /// Returns whether this account was created by [`Access::local_account`], by its name and role.
    pub fn is_local(&self) -> bool {
        self.role == Role::Operator && local_names().any(|name| name == self.name)
    }
}

fn local_names() -> impl Iterator<Item = String> {
    let numbered = (2..=LOCAL_NAMES_MAX).map(|number| format!("{LOCAL_NAME}-{number}"));
    std::iter::once(LOCAL_NAME.to_owned()).chain(numbered)
}

impl Access {
    /// Returns the local user's account, which has the operator role and no limits. Creates the
    /// account if it does not exist. The account has no password, and its API key is never shown.
    pub fn local_account(&self, by: &Actor, now: Timestamp) -> Result<Account, AccessError> {
        for name in local_names() {
            let found = match self.account_named(&name)? {
                None => {
                    let rights = Rights::default().with(Right::UsOvernight);
                    let named = NewAccount::named(name.clone(), Terms::unlimited());
                    let new = NewAccount { rights, role: Role::Operator, ..named };
                    match self.create(&new, by, now) {
                        // Another process may have created the account first.
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

    /// Issues a sign-in link for an account and a page, and returns its token. The link is valid
    /// once, at this server only.
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

    /// Signs in a browser with the token of a sign-in link, and consumes the link. A refusal is
    /// recorded in the audit.
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
