//! Browser sign-in: passwords, session cookies, CSRF tokens and device cookies.
//!
//! A session cookie is 256 random bits, stored as a hash. CSRF tokens and device cookies are MACs
//! and are not stored. A CSRF token binds a form to a cookie. A device cookie proves that this
//! browser has signed in to the account before, so that failed attempts from other browsers do not
//! delay it.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use store::{AccountId, AuditNote, Person};
use zeroize::Zeroizing;

use crate::guesses::SignInAttempt;
use crate::keys::{Keys, TAG_BYTES};
use crate::secret::random;
use crate::token::hash_token;
use crate::{
    Access, AccessError, Actor, Caller, Denial, Freshness, Moment, NAME_CHARS_MAX, Permit, Present, Secret,
    password,
};

/// Lifetime of a browser session in seconds: twelve hours, which covers a working day and limits
/// the risk of a browser left open.
pub const BROWSER_LIFE_S: i64 = 12 * 3_600;
/// Maximum length of a cookie or CSRF token in bytes. Longer values are rejected before decoding.
const COOKIE_MAX: usize = 128;
const DEVICE_BYTES: usize = 16;

/// A sign-in attempt.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    pub name: &'a str,
    pub password: &'a Secret,
    pub address: IpAddr,
    /// The device cookie ([`SignedIn::device`]), or `None` if the browser sent none.
    pub device: Option<&'a str>,
}

#[derive(Debug)]
pub struct SignedIn {
    pub account: AccountId,
    /// The session cookie, valid until `expires_at`.
    pub session: Secret,
    pub expires_at: Timestamp,
    /// The device cookie, which proves that this browser has signed in to the account before. The
    /// cookie alone grants no access.
    pub device: Secret,
}

/// Why a sign-in was refused. No message reveals whether the name or the password was wrong.
#[derive(Debug, thiserror::Error)]
pub enum LoginRefused {
    #[error("name or password is wrong")]
    Wrong,
    #[error("too many attempts: try again in {} s", .0.as_secs().max(1))]
    Wait(Duration),
    #[error("too many concurrent sign-ins: try again")]
    Busy,
    #[error("cannot sign in")]
    Failed(#[from] AccessError),
}

/// Why a device code was not looked up.
#[derive(Debug, thiserror::Error)]
pub enum CodeRefused {
    #[error("too many wrong codes: try again in {} s", .0.as_secs().max(1))]
    Wait(Duration),
    #[error("cannot look up a code")]
    Failed(#[from] AccessError),
}

/// The account of a signed-in browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Browser {
    pub account: AccountId,
    pub name: String,
}

impl Access {
    /// Sets an account's password and ends all of its browser sessions. Returns whether the account
    /// exists.
    pub fn set_password(
        &self,
        id: AccountId,
        password: &Secret,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        let hash = Zeroizing::new(password::hash(password)?);
        let actor = by.to_string();
        Ok(self.accounts.set_password(id, Some(&hash), &AuditNote { at: now, actor: &actor, reason: "" })?)
    }

    /// Removes an account's password and ends its browser sessions. Returns whether the account had
    /// a password.
    pub fn remove_password(&self, id: AccountId, by: &Actor, now: Timestamp) -> Result<bool, AccessError> {
        let actor = by.to_string();
        Ok(self.accounts.set_password(id, None, &AuditNote { at: now, actor: &actor, reason: "" })?)
    }

    pub fn has_password(&self, id: AccountId) -> Result<bool, AccessError> {
        Ok(self.accounts.has_password(id)?)
    }

    /// Signs in a user. An unknown name, a revoked account, an account without a password and a
    /// wrong password take the same amount of work and return the same error.
    pub fn sign_in(&self, who: &Login<'_>, at: Moment) -> Result<SignedIn, LoginRefused> {
        // Phone keyboards may append a space, and names never begin or end with a space.
        let name: String = who.name.trim().chars().take(NAME_CHARS_MAX + 1).collect();
        let person = self.accounts.person(&name).map_err(AccessError::from)?;
        let device =
            who.device.and_then(|text| read_device(&self.identity.keys, text, person.as_ref()?.account));
        let attempt = SignInAttempt { name: &name, address: who.address, device };
        let attempt = match self.cluster.check_query(self.limits.guesses.begin_sign_in(attempt, at.uptime))? {
            Ok(attempt) => attempt,
            Err(wait) => {
                self.note_refused(who, person.as_ref(), "too many tries", at)?;
                return Err(LoginRefused::Wait(wait));
            }
        };
        let (reason, hash) = match &person {
            None => ("unknown name", None),
            Some(Person { revoked: true, .. }) => ("the account is revoked", None),
            Some(Person { password: None, .. }) => ("the account has no password", None),
            Some(Person { password: Some(hash), .. }) => ("wrong password", Some(hash.as_str())),
        };
        let Ok(right) = self.identity.guards.hashing.verify(who.password, hash) else {
            self.cluster.check_query(self.limits.guesses.sign_in_was_undone(&attempt, at.uptime))?;
            return Err(LoginRefused::Busy);
        };
        if let Some((person, hash)) = person.as_ref().zip(hash.filter(|_| right))
            && let Some(signed_in) = self.begin_browser((person.account, hash), who, device, at.now)?
        {
            self.cluster.check_query(self.limits.guesses.sign_in_was_right(&attempt, at.uptime))?;
            self.note_suppressed(self.identity.guards.refusals.suppressed(at.uptime), at.now)?;
            return Ok(signed_in);
        }
        self.note_refused(who, person.as_ref(), reason, at)?;
        Err(LoginRefused::Wrong)
    }

    fn begin_browser(
        &self,
        (account, hash): (AccountId, &str),
        who: &Login<'_>,
        device: Option<[u8; DEVICE_BYTES]>,
        now: Timestamp,
    ) -> Result<Option<SignedIn>, AccessError> {
        let (session, expires_at) = new_session(now)?;
        let (actor, reason) = (Actor::Account(account).to_string(), format!("from {}", who.address));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        let hashed = hash_token(session.expose());
        if !self.accounts.begin_browser((account, hash), &hashed, expires_at, &note)? {
            return Ok(None);
        }
        let device = device.map_or_else(random, Ok)?;
        Ok(Some(SignedIn {
            account,
            session,
            expires_at,
            device: write_device(&self.identity.keys, device, account),
        }))
    }

    /// Returns the account of a session cookie, or `None` if the session does not exist or has
    /// expired.
    pub fn browser(&self, cookie: &str, now: Timestamp) -> Result<Option<Browser>, AccessError> {
        if cookie.len() > COOKIE_MAX {
            return Ok(None);
        }
        let row = self.accounts.browser(&hash_token(cookie), now)?;
        Ok(row.map(|row| Browser { account: row.account, name: row.name }))
    }

    /// Returns a permit for the account of a session cookie, for pages about that account. Returns
    /// `None` if the session is not valid or the account is revoked.
    pub fn admit_browser(&self, cookie: &str, present: Present) -> Result<Option<Permit>, AccessError> {
        let Some(browser) = self.browser(cookie, present.machine)? else { return Ok(None) };
        let found = self.look(browser.account, Freshness::Fresh)?;
        let found = found.filter(|(_, account)| account.revoked_at.is_none());
        Ok(found.map(|(version, account)| Permit::of(version, account, present.market)))
    }

    /// Returns the caller of a session cookie, for requests from scripts on our pages. The session
    /// is looked up for every request, so ending the session takes effect immediately.
    pub fn identify_browser(&self, cookie: &str, now: Timestamp) -> Result<Caller, Denial> {
        if cookie.len() > COOKIE_MAX {
            return Err(NOT_SIGNED_IN);
        }
        let hash = hash_token(cookie);
        let row = self.accounts.browser(&hash, now)?.ok_or(NOT_SIGNED_IN)?;
        self.identity.guards.guests.seen(&hash);
        match self.look(row.account, Freshness::Fresh)? {
            Some((_, account)) if account.revoked_at.is_none() => {
                Ok(Caller::of(&account, row.expires_at).of_browser())
            }
            _ => Err(NOT_SIGNED_IN),
        }
    }

    /// Signs in a guest without a password, to an account that is open to all visitors of this
    /// machine. Returns `None` if the account does not exist or is revoked. If the guest limit is
    /// exceeded, ends the least recently used guest session.
    pub fn sign_in_guest(
        &self,
        account: AccountId,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<Option<SignedIn>, AccessError> {
        let (session, expires_at) = new_session(now)?;
        let (actor, reason) =
            (Actor::Address(address).to_string(), format!("as a guest, without a password, from {address}"));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        let hash = hash_token(session.expose());
        if !self.accounts.begin_guest(account, &hash, expires_at, &note)? {
            return Ok(None);
        }
        if let Some(longest_unseen) = self.identity.guards.guests.come(hash) {
            let actor = Actor::Service.to_string();
            let note = AuditNote { at: now, actor: &actor, reason: "made room for another guest" };
            self.accounts.end_browser(&longest_unseen, &note)?;
        }
        let device = write_device(&self.identity.keys, random()?, account);
        Ok(Some(SignedIn { account, session, expires_at, device }))
    }

    /// Ends a browser session. Returns whether the session existed.
    pub fn sign_out(&self, cookie: &str, by: AccountId, now: Timestamp) -> Result<bool, AccessError> {
        let actor = Actor::Account(by).to_string();
        let note = AuditNote { at: now, actor: &actor, reason: "" };
        let hash = hash_token(cookie);
        self.identity.guards.guests.go(&hash);
        Ok(self.accounts.end_browser(&hash, &note)?)
    }

    /// Returns a cookie for a visitor who is not signed in, to bind CSRF tokens to.
    pub fn visitor(&self) -> Result<Secret, AccessError> {
        let bytes = Zeroizing::new(random::<16>()?);
        Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes.as_slice())))
    }

    /// Returns the CSRF token of a form, which binds the form's purpose to a cookie.
    pub fn csrf_token(&self, cookie: &str, purpose: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.identity.keys.form_tag(&[purpose.as_bytes(), b"\0", cookie.as_bytes()]))
    }

    /// Verifies a CSRF token in constant time.
    pub fn is_csrf_token(&self, tag: &str, cookie: &str, purpose: &str) -> bool {
        if tag.len() > COOKIE_MAX {
            return false;
        }
        let bytes =
            URL_SAFE_NO_PAD.decode(tag).ok().and_then(|bytes| <[u8; TAG_BYTES]>::try_from(bytes).ok());
        bytes.is_some_and(|tag| {
            self.identity.keys.is_form_tag(&[purpose.as_bytes(), b"\0", cookie.as_bytes()], &tag)
        })
    }

    /// Looks up a device code with `look`. Refuses without a lookup after too many wrong codes from
    /// this address, by this account or in total.
    pub fn guess_code<T>(
        &self,
        address: IpAddr,
        account: AccountId,
        uptime: Duration,
        look: impl FnOnce() -> Result<Option<T>, AccessError>,
    ) -> Result<Option<T>, CodeRefused> {
        let counted = self.cluster.check_query(self.limits.guesses.begin_code(address, account, uptime))?;
        let counted = counted.map_err(CodeRefused::Wait)?;
        let found = look();
        if !matches!(found, Ok(None)) {
            self.cluster.check_query(self.limits.guesses.code_was_right(counted))?;
        }
        Ok(found?)
    }

    /// Records a refused sign-in without the name, because users sometimes type their password into
    /// the name field.
    fn note_refused(
        &self,
        who: &Login<'_>,
        person: Option<&Person>,
        reason: &str,
        at: Moment,
    ) -> Result<(), AccessError> {
        let account = person.map(|person| person.account);
        self.note_refused_login(who.address, at, || Ok((account, reason.to_owned())))
    }
}

const NOT_SIGNED_IN: Denial = Denial::TokenInvalid("the browser session has ended: sign in again");
const DEVICE_PURPOSE: &[u8] = b"browser";

/// Returns a new session cookie and its expiry time.
pub(crate) fn new_session(now: Timestamp) -> Result<(Secret, Timestamp), AccessError> {
    let bytes = Zeroizing::new(random::<32>()?);
    let session = Secret::new(URL_SAFE_NO_PAD.encode(bytes.as_slice()));
    Ok((session, Timestamp(now.0.saturating_add(BROWSER_LIFE_S))))
}

fn write_device(keys: &Keys, device: [u8; DEVICE_BYTES], account: AccountId) -> Secret {
    let tag = keys.form_tag(&[DEVICE_PURPOSE, &account.0.to_be_bytes(), &device]);
    Secret::new(URL_SAFE_NO_PAD.encode([device, tag].concat()))
}

/// Returns the device id in a device cookie, or `None` if the cookie was not issued for this
/// account or is malformed.
fn read_device(keys: &Keys, text: &str, account: AccountId) -> Option<[u8; DEVICE_BYTES]> {
    if text.len() > COOKIE_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (device, tag) = bytes.split_first_chunk::<DEVICE_BYTES>()?;
    let tag = <&[u8; TAG_BYTES]>::try_from(tag).ok()?;
    keys.is_form_tag(&[DEVICE_PURPOSE, &account.0.to_be_bytes(), device], tag).then_some(*device)
}
