//! Device flow (RFC 8628). A device without a browser shows a code and polls for tokens while the
//! user types the code on another machine and approves or denies the device.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use market::Timestamp;
use store::{AccountId, AuditNote, ClientRow, DeviceOutcome, DeviceRow, DeviceState, NewDevice};

use super::{
    ClientInfo, OAuthError, PresentedClient, SECRET_TEXT_MAX, Tokens, grant_type, opaque, parse_scope,
};
use crate::rate_limiter::network_of;
use crate::secret::random;
use crate::token::hash_token;
use crate::{Access, AccessError, Actor, Moment, Region, Secret};

pub const DEVICE_CODE_LIFE_S: i64 = 600;
const FULL_FOR: Duration = Duration::from_secs(60);
/// Maximum number of attempts to generate an unused user code. With ten thousand pending codes, one
/// in about three million attempts collides, so five collisions in a row indicate a fault.
const TRIES: usize = 5;

/// Codes of a newly started device flow.
#[derive(Clone, Debug)]
pub struct DeviceStart {
    pub device_code: Secret,
    /// User code as shown on the device, such as `BCDF-GHJK`.
    pub user_code: Secret,
}

/// A device flow that waits for the user's approval.
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceRequest {
    pub client: ClientInfo,
    pub scope: String,
    /// User code, such as `BCDF-GHJK`.
    pub user_code: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl fmt::Debug for DeviceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The user code is omitted, because a reader of the log could approve the device with it.
        let DeviceRequest { client, scope, created_at, expires_at, .. } = self;
        write!(f, "DeviceRequest({client:?}, {scope:?}, from {created_at:?} until {expires_at:?})")
    }
}

impl Access {
    /// Starts a device flow. `from` is the device's address, to which the rate limit applies.
    pub fn start_device(
        &self,
        credentials: &PresentedClient<'_>,
        scope: &str,
        from: IpAddr,
        moment: Moment,
    ) -> Result<DeviceStart, OAuthError> {
        let client = self.prove(credentials, grant_type::DEVICE)?;
        let scope = parse_scope(scope)?;
        let unavailable = |text, retry_after| OAuthError::Unavailable { text, retry_after };
        self.keep_pace(&self.limits.oauth.devices, network_of(from), moment.uptime).map_err(
            |retry_after| {
                unavailable("too many device requests from one address: try again later", retry_after)
            },
        )?;
        for _ in 0..TRIES {
            let (device_code, user_code) = (opaque("dc_")?, UserCode::new()?);
            let device = NewDevice {
                device_hash: hash_token(device_code.expose()),
                user_hash: self.identity.keys.hash_user_code(user_code.as_bytes()),
                client_id: &client.id,
                scope: &scope,
                created_at: moment.now,
                expires_at: Timestamp(moment.now.0.saturating_add(DEVICE_CODE_LIFE_S)),
            };
            match self.accounts.add_device(&device)? {
                DeviceOutcome::Added => {
                    return Ok(DeviceStart { device_code, user_code: Secret::new(user_code.shown()) });
                }
                DeviceOutcome::Taken => {}
                DeviceOutcome::Full => {
                    return Err(unavailable("too many devices are waiting: try again later", FULL_FOR));
                }
            }
        }
        Err(unavailable("no code is free: try again", FULL_FOR))
    }

    /// Returns the pending device flow of a user code. Returns `None` if the code is unknown, has
    /// expired or was already decided, so that guessing does not reveal which.
    pub fn pending_device(
        &self,
        user_code: &str,
        now: Timestamp,
    ) -> Result<Option<DeviceRequest>, AccessError> {
        let Some(code) = UserCode::typed(user_code) else { return Ok(None) };
        let device = self.accounts.device_of_user(&self.identity.keys.hash_user_code(code.as_bytes()))?;
        let waits = |device: &DeviceRow| device.state == DeviceState::Pending && device.expires_at > now;
        let Some(device) = device.filter(waits) else { return Ok(None) };
        let Some(client) = self.client(&device.client_id)? else { return Ok(None) };
        Ok(Some(DeviceRequest {
            client: client.into(),
            scope: device.scope,
            user_code: code.shown(),
            created_at: device.created_at,
            expires_at: device.expires_at,
        }))
    }

    /// Approves or denies a device for an account. Returns `false` if the code is unknown, has
    /// expired or was already decided, or if the account is revoked.
    pub fn decide_device(
        &self,
        user_code: &str,
        account: AccountId,
        approve: bool,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        self.decide_device_by(user_code, account, approve, &Actor::Account(account), now)
    }

    /// Like [`Access::decide_device`], but with an explicit actor for the audit.
    pub fn decide_device_by(
        &self,
        user_code: &str,
        account: AccountId,
        approve: bool,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        let Some(request) = self.pending_device(user_code, now)? else { return Ok(false) };
        let Some(code) = UserCode::typed(user_code) else { return Ok(false) };
        let hash = self.identity.keys.hash_user_code(code.as_bytes());
        let ClientInfo { id, name, .. } = request.client;
        let (actor, reason) = (by.to_string(), format!("client {id} {name:?}"));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        Ok(self.accounts.decide_device(&hash, account, approve, &note)?)
    }

    /// Responds to a polling device. Public clients run two pollers, one per region, and stop both
    /// when either gets `invalid_grant`. Therefore the poller that did not receive the tokens, and
    /// any poller at a listener that does not serve the account's region, gets
    /// `authorization_pending` until the code expires.
    pub(super) fn poll_device(
        &self,
        client: &ClientRow,
        device_code: &str,
        poller: Option<Region>,
        serves: Option<Region>,
        moment: Moment,
    ) -> Result<Tokens, OAuthError> {
        let unknown = || OAuthError::InvalidGrant("the device code is unknown or already used");
        if device_code.len() > SECRET_TEXT_MAX {
            return Err(unknown());
        }
        let hash = hash_token(device_code);
        let device = self.accounts.device(&hash)?.filter(|device| device.client_id == client.id);
        let device = device.ok_or_else(unknown)?;
        if device.expires_at <= moment.now {
            return Err(OAuthError::ExpiredToken);
        }
        let name = poller.map_or("", Region::as_str);
        let wait = || match self.cluster.check_query(self.limits.guesses.polls_too_fast(
            hash,
            poller,
            moment.uptime,
        )) {
            Ok(true) => OAuthError::SlowDown,
            Ok(false) => OAuthError::AuthorizationPending,
            Err(error) => error.into(),
        };
        let account = match (device.state, device.account) {
            (DeviceState::Denied, _) => return Err(OAuthError::AccessDenied),
            (DeviceState::Redeemed, _) if device.redeemed_by.as_deref() == Some(name) => {
                return Err(unknown());
            }
            (DeviceState::Approved, Some(account)) => account,
            _ => return Err(wait()),
        };
        let Some(account) = self.granted(account)? else { return Err(OAuthError::AccessDenied) };
        if serves.is_some_and(|region| region != account.region) {
            return Err(wait());
        }
        let issue = self.issue(client, &account, &device.scope, "a device code", moment.now)?;
        if self.accounts.redeem_device(&hash, name, &issue.row(), &issue.note())? {
            self.cluster.check_query(self.limits.guesses.forget_poller(&hash, moment.uptime))?;
            return Ok(issue.tokens());
        }
        // A concurrent poll redeemed the code first.
        match self.accounts.device(&hash)?.and_then(|device| device.redeemed_by) {
            Some(by) if by == name => Err(unknown()),
            _ => Err(wait()),
        }
    }
}

const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LENGTH: usize = 8;
/// Maximum length of typed input in bytes, longer than any code with separators.
const TYPED_MAX: usize = 64;

/// A user code without separators, such as `BCDFGHJK`. A code has eight consonants: without vowels
/// it spells no word and cannot contain `I` or `O`, which look like digits. There are 20^8 codes
/// (34.5 bits), enough for a lifetime of ten minutes and a limited number of guesses.
#[derive(Clone, PartialEq, Eq)]
struct UserCode([u8; LENGTH]);

impl UserCode {
    fn new() -> Result<UserCode, AccessError> {
        let mut code = [0; LENGTH];
        for place in &mut code {
            *place = loop {
                let [byte] = random()?;
                // Bytes from 240, the largest multiple of 20, are rejected to avoid modulo bias.
                if byte < 240
                    && let Some(letter) = LETTERS.get(usize::from(byte % 20))
                {
                    break *letter;
                }
            };
        }
        Ok(UserCode(code))
    }

    /// Parses typed input, ignoring case, hyphens and whitespace. Returns `None` if the input is
    /// not a user code.
    fn typed(text: &str) -> Option<UserCode> {
        if text.len() > TYPED_MAX {
            return None;
        }
        let letters = text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
        let letters = letters.map(|letter| u8::try_from(letter).ok().map(|byte| byte.to_ascii_uppercase()));
        let letters: Option<Vec<u8>> =
            letters.map(|byte| byte.filter(|byte| LETTERS.contains(byte))).collect();
        Some(UserCode(letters?.try_into().ok()?))
    }

    fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Formats the code in two groups, such as `BCDF-GHJK`.
    fn shown(&self) -> String {
        let (first, second) = self.0.split_at(LENGTH / 2);
        [first, b"-", second].concat().into_iter().map(char::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_codes_may_vary_in_case_and_separators() {
        for _ in 0..100 {
            let code = UserCode::new().unwrap();
            let shown = code.shown();
            assert_eq!((shown.len(), shown.as_bytes()[4]), (9, b'-'));
            for typed in [
                shown.clone(),
                shown.to_lowercase(),
                shown.replace('-', ""),
                shown.replace('-', " "),
                format!("  {}\t-{}\n", &shown[..2], &shown[2..]),
            ] {
                assert!(UserCode::typed(&typed) == Some(code.clone()), "{typed:?}");
            }
        }
    }

    #[test]
    fn invalid_user_codes_are_rejected() {
        let long = "-".repeat(100) + "BCDFGHJK";
        for typed in
            ["", "BCDF-GHJ", "BCDF-GHJKL", "ABCD-FGHJ", "BCDF_GHJK", "BCDF-GHJ0", "ＢCDF-GHJK", &long]
        {
            assert!(UserCode::typed(typed).is_none(), "{typed:?}");
        }
    }

    #[test]
    fn generated_codes_use_every_letter() {
        let codes: Vec<_> = (0..200).map(|_| UserCode::new().unwrap()).collect();
        assert!(LETTERS.iter().all(|letter| codes.iter().any(|code| code.as_bytes().contains(letter))));
    }
}
