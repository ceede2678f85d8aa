//! Password links. An operator issues a link, and the account's owner uses the link to set a
//! password that the operator never learns.
//!
//! A link is an authentication tag over the account and the audit row that records its issue. The
//! link is valid while that row is the newest row about the account's password
//! (`store::PasswordLinkRow`). It sets one password, and becomes invalid after a day, when another
//! link is issued, when the password is set or removed by other means, and when the account is
//! revoked.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use store::{AccountId, AuditId, AuditNote, PasswordLinkRow};
use zeroize::Zeroizing;

use crate::{Access, AccessError, Actor, Moment, Secret};

/// Lifetime of a password link in seconds: one day, which gives the recipient time to read the
/// message.
pub const PASSWORD_LINK_LIFE_S: i64 = 86_400;
/// Maximum length of a token in bytes. Longer tokens are rejected before decoding.
const TOKEN_MAX: usize = 128;
/// Length of the signed message: account, audit row and time of issue, 8 bytes each.
const MESSAGE_BYTES: usize = 24;

/// An issued password link.
#[derive(Debug)]
pub struct PasswordLink {
    /// Last path segment of the link's URL. Anyone who has this token can set the password.
    pub token: Secret,
    pub expires_at: Timestamp,
}

/// The account whose password a link sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedAccount {
    pub id: AccountId,
    pub name: String,
}

/// Why a password link was refused. Only the holder of a genuine link learns that the link was used
/// or has expired.
#[derive(Debug, thiserror::Error)]
pub enum PasswordLinkRefused {
    #[error("the password link was not issued by this server, or it was modified")]
    Unknown,
    #[error("the password link was already used, or was replaced by another one")]
    Used,
    #[error("the password link has expired")]
    Expired,
    /// The password is not acceptable. The link stays valid.
    #[error("this cannot be a password: {0}")]
    Unfit(&'static str),
    #[error("too many concurrent password checks: try again")]
    Busy,
    #[error("cannot look up a password link")]
    Failed(#[from] AccessError),
}

impl Access {
    /// Issues a password link for an account and invalidates the account's previous link. Returns
    /// `None` if the account is revoked or does not exist.
    pub fn issue_password_link(
        &self,
        id: AccountId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Option<PasswordLink>, AccessError> {
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: "" };
        let Some(row) = self.accounts.issue_password_link(id, &note)? else { return Ok(None) };
        let message = message(id, row);
        let bytes = [message.as_slice(), &self.identity.keys.password_link_tag(&message)].concat();
        Ok(Some(PasswordLink {
            token: Secret::new(URL_SAFE_NO_PAD.encode(Zeroizing::new(bytes).as_slice())),
            expires_at: end_of(row),
        }))
    }

    /// Invalidates an account's password link. Returns whether the account had an unused link.
    pub fn withdraw_password_link(
        &self,
        id: AccountId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        let actor = by.to_string();
        Ok(self.accounts.withdraw_password_link(id, &AuditNote { at: now, actor: &actor, reason: "" })?)
    }

    /// Returns the expiry of an account's password link, or `None` if the account has no valid
    /// link.
    pub fn password_link_until(
        &self,
        id: AccountId,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, AccessError> {
        Ok(self.accounts.password_link(id)?.map(end_of).filter(|end| now < *end))
    }

    /// Returns the account of a valid link. Does not consume the link, because mail scanners open
    /// every URL in a message.
    pub fn linked_account(&self, token: &str, now: Timestamp) -> Result<LinkedAccount, PasswordLinkRefused> {
        self.linked(token, now).map(|(account, _)| account)
    }

    /// Sets the password of a link's account and consumes the link. A refused link is recorded in
    /// the audit.
    pub fn set_password_by_link(
        &self,
        token: &str,
        password: &Secret,
        address: IpAddr,
        at: Moment,
    ) -> Result<LinkedAccount, PasswordLinkRefused> {
        let set = self.set_by_link(token, password, address, at);
        if let Err(
            refused @ (PasswordLinkRefused::Unknown
            | PasswordLinkRefused::Used
            | PasswordLinkRefused::Expired),
        ) = &set
        {
            let whose = self.read_link(token).map(|(id, _)| id);
            self.note_refused_login(address, at, || Ok((whose, refused.to_string())))?;
        }
        set
    }

    fn set_by_link(
        &self,
        token: &str,
        password: &Secret,
        address: IpAddr,
        at: Moment,
    ) -> Result<LinkedAccount, PasswordLinkRefused> {
        let (account, row) = self.linked(token, at.now)?;
        let hashed = self.identity.guards.hashing.hash(password).map_err(|_| PasswordLinkRefused::Busy)?;
        let hash = Zeroizing::new(hashed.map_err(|error| match error {
            AccessError::Password(reason) => PasswordLinkRefused::Unfit(reason),
            error => error.into(),
        })?);
        let (actor, reason) = (Actor::Address(address).to_string(), format!("by a link, from {address}"));
        let note = AuditNote { at: at.now, actor: &actor, reason: &reason };
        let is_set = self.accounts.set_password_by_link(account.id, row, &hash, &note);
        if is_set.map_err(AccessError::from)? { Ok(account) } else { Err(PasswordLinkRefused::Used) }
    }

    fn linked(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<(LinkedAccount, PasswordLinkRow), PasswordLinkRefused> {
        let (id, row) = self.read_link(token).ok_or(PasswordLinkRefused::Unknown)?;
        let account = self.account(id)?.filter(|account| account.revoked_at.is_none());
        let account = account.ok_or(PasswordLinkRefused::Unknown)?;
        if self.accounts.password_link(id).map_err(AccessError::from)? != Some(row) {
            return Err(PasswordLinkRefused::Used);
        }
        if end_of(row) <= now {
            return Err(PasswordLinkRefused::Expired);
        }
        Ok((LinkedAccount { id, name: account.name.clone() }, row))
    }

    /// Verifies the authentication tag of a token. Returns the token's account and audit row, or
    /// `None` if the token is not genuine.
    fn read_link(&self, token: &str) -> Option<(AccountId, PasswordLinkRow)> {
        if token.len() > TOKEN_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (message, tag) = bytes.split_first_chunk::<MESSAGE_BYTES>()?;
        if !self.identity.keys.is_password_link_tag(message, tag.try_into().ok()?) {
            return None;
        }
        let (id, rest) = message.split_first_chunk::<8>()?;
        let (row, issued_at) = rest.split_first_chunk::<8>()?;
        let number = |bytes: &[u8; 8]| i64::from_be_bytes(*bytes);
        let row = PasswordLinkRow {
            id: AuditId(number(row)),
            issued_at: Timestamp(number(issued_at.try_into().ok()?)),
        };
        Some((AccountId(number(id)), row))
    }
}

fn message(id: AccountId, row: PasswordLinkRow) -> Vec<u8> {
    [id.0, row.id.0, row.issued_at.0].map(i64::to_be_bytes).concat()
}

fn end_of(row: PasswordLinkRow) -> Timestamp {
    Timestamp(row.issued_at.0.saturating_add(PASSWORD_LINK_LIFE_S))
}
