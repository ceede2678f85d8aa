//! Device flow (RFC 8628): a device without a browser shows a code, the user types it on another
//! machine and decides, and meanwhile the device polls.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use market::Timestamp;
use store::{AccountId, AuditNote, ClientRow, DeviceOutcome, DeviceRow, DeviceState, NewDevice};

use super::user_code::UserCode;
use super::{ClientInfo, OAuthError, PresentedClient, SECRET_TEXT_MAX, Tokens, grant_type, opaque, scope};
use crate::net::network_of;
use crate::token::hash_token;
use crate::{Access, AccessError, Actor, Moment, Region, Secret};

pub const DEVICE_CODE_LIFE_S: i64 = 600;
const FULL_FOR: Duration = Duration::from_secs(60);
/// Attempts to find an unused user code. With ten thousand pending codes, one in three million
/// attempts collides, so five collisions in a row indicate a fault.
const TRIES: usize = 5;

/// Codes of a started device flow.
#[derive(Clone, Debug)]
pub struct DeviceStart {
    pub device_code: Secret,
    /// User code as shown on the device, such as `BCDF-GHJK`.
    pub user_code: Secret,
}

/// A device that waits for approval.
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
        // The user code is omitted: a reader of the log could approve the device with it.
        let DeviceRequest { client, scope, created_at, expires_at, .. } = self;
        write!(f, "DeviceRequest({client:?}, {scope:?}, from {created_at:?} until {expires_at:?})")
    }
}

impl Access {
    /// Starts a device flow. `from` is the device's address, for the rate limit.
    pub fn start_device(
        &self,
        credentials: &PresentedClient<'_>,
        scope: &str,
        from: IpAddr,
        moment: Moment,
    ) -> Result<DeviceStart, OAuthError> {
        let client = self.prove(credentials, grant_type::DEVICE)?;
        let scope = scope::parse(scope)?;
        let unavailable = |text, retry_after| OAuthError::Unavailable { text, retry_after };
        self.keep_pace(&self.limits.oauth.devices, network_of(from), moment.uptime).map_err(
            |retry_after| unavailable("too many devices ask from one address: try later", retry_after),
        )?;
        for _ in 0..TRIES {
            let (device_code, user_code) = (opaque("dc_")?, UserCode::new()?);
            let device = NewDevice {
                device_hash: hash_token(device_code.expose()),
                user_hash: self.identity.keys.hash_user_code(user_code.as_bytes()),
                client_id: &client.id,
                scope,
                created_at: moment.now,
                expires_at: Timestamp(moment.now.0.saturating_add(DEVICE_CODE_LIFE_S)),
            };
            match self.accounts.add_device(&device)? {
                DeviceOutcome::Added => {
                    return Ok(DeviceStart { device_code, user_code: Secret::new(user_code.shown()) });
                }
                DeviceOutcome::Taken => {}
                DeviceOutcome::Full => {
                    return Err(unavailable("too many devices wait already: try later", FULL_FOR));
                }
            }
        }
        Err(unavailable("no code is free: try again", FULL_FOR))
    }

    /// Returns the pending device flow of a user code. Unknown, expired and decided codes all
    /// return `None`, so that guessing reveals nothing.
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

    /// Approves or denies a device for an account. Returns whether the decision was still pending.
    pub fn decide_device(
        &self,
        user_code: &str,
        account: AccountId,
        approve: bool,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        self.decide_device_by(user_code, account, approve, &Actor::Account(account), now)
    }

    /// Like [`Access::decide_device`], with an explicit actor for the audit.
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

    /// Answers a polling device. Public clients have two pollers, one per region, and both stop
    /// when either gets `invalid_grant`. Therefore the second poller, and any poller at a listener
    /// that does not serve the account's region, gets `authorization_pending` until the code
    /// expires.
    pub(super) fn poll_device(
        &self,
        client: &ClientRow,
        device_code: &str,
        poller: Option<Region>,
        serves: Option<Region>,
        moment: Moment,
    ) -> Result<Tokens, OAuthError> {
        let unknown = || OAuthError::InvalidGrant("the device code is unknown or was used");
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
        let wait =
            || match self.cluster.asked(self.limits.guesses.polls_too_fast(hash, poller, moment.uptime)) {
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
            self.cluster.asked(self.limits.guesses.forget_poller(&hash, moment.uptime))?;
            return Ok(issue.tokens());
        }
        // A concurrent poll redeemed the code first.
        match self.accounts.device(&hash)?.and_then(|device| device.redeemed_by) {
            Some(by) if by == name => Err(unknown()),
            _ => Err(wait()),
        }
    }
}
