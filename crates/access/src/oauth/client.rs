//! OAuth client registration. Clients register themselves and receive a token for reading and
//! deleting the registration.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use market::Timestamp;
use store::{AuditNote, ClientRow};
use subtle::ConstantTimeEq;

use super::{ClientInfo, OAuthError, SECRET_TEXT_MAX, grant_type, opaque, redirect};
use crate::account::is_hidden;
use crate::rate_limiter::network_of;
use crate::secret::{hex, random};
use crate::token::hash_token;
use crate::{Access, AccessError, Actor, Moment, Secret};

const NAME_CHARS_MAX: usize = 128;
const NAME_DEFAULT: &str = "a client without a name";
const REDIRECTS_MAX: usize = 10;
/// Supported client authentication methods at the token endpoint.
pub const AUTH_METHODS: [&str; 3] = [METHOD_NONE, "client_secret_post", "client_secret_basic"];
const METHOD_NONE: &str = "none";
const FULL_FOR: Duration = Duration::from_secs(3_600);

/// Client metadata of a registration request. Omitted fields have defaults.
#[derive(Clone, Debug, Default)]
pub struct NewClient {
    pub name: Option<String>,
    pub redirect_uris: Vec<String>,
    pub grant_types: Option<Vec<String>>,
    pub response_types: Option<Vec<String>>,
    pub auth_method: Option<String>,
}

/// A registered client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub id: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
    pub grant_types: Vec<String>,
    pub auth_method: String,
    pub created_at: Timestamp,
}

/// A new client with its secrets, which are shown only once.
#[derive(Clone, Debug)]
pub struct Registered {
    pub client: Registration,
    /// Client secret; `None` for public clients.
    pub secret: Option<Secret>,
    /// Token with which the client can read and delete its registration.
    pub registration_token: Secret,
}

/// Client credentials sent with a request: the id and, for confidential clients, the secret.
#[derive(Clone, Copy)]
pub struct PresentedClient<'a> {
    pub id: &'a str,
    pub secret: Option<&'a str>,
}

impl fmt::Debug for PresentedClient<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentedClient").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Access {
    /// Registers a client. `from` is the client's address, to which the registration rate limit
    /// applies.
    pub fn register_client(
        &self,
        new: &NewClient,
        from: IpAddr,
        moment: Moment,
    ) -> Result<Registered, OAuthError> {
        let client = Registration::of(new, moment.now)?;
        self.keep_pace(&self.limits.oauth.registrations, network_of(from), moment.uptime).map_err(
            |retry_after| OAuthError::Unavailable {
                text: "too many client registrations from one address: try again later",
                retry_after,
            },
        )?;
        let secret = if client.auth_method == METHOD_NONE { None } else { Some(opaque("cs_")?) };
        let registration_token = opaque("rat_")?;
        let row = ClientRow {
            id: client.id.clone(),
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.join("\n"),
            grant_types: client.grant_types.join("\n"),
            auth_method: client.auth_method.clone(),
            secret_hash: secret.as_ref().map(|secret| hash_token(secret.expose())),
            registration_hash: hash_token(registration_token.expose()),
            created_at: moment.now,
            used_at: None,
        };
        let actor = Actor::Client(client.id.clone()).to_string();
        let reason = format!("{:?}", client.name);
        if !self.accounts.add_client(&row, &AuditNote { at: moment.now, actor: &actor, reason: &reason })? {
            let text = "there are too many clients: ask the operator";
            return Err(OAuthError::Unavailable { text, retry_after: FULL_FOR });
        }
        Ok(Registered { client, secret, registration_token })
    }

    /// Registers a client for a token that the operator issues. The client itself cannot request
    /// tokens.
    pub(super) fn add_own_client(
        &self,
        program: &str,
        (by, now): (&Actor, Timestamp),
    ) -> Result<ClientRow, OAuthError> {
        let row = ClientRow {
            id: new_id()?,
            name: name(program)?,
            redirect_uris: String::new(),
            grant_types: String::new(),
            auth_method: METHOD_NONE.to_owned(),
            secret_hash: None,
            // The hash of a random token that is never issued.
            registration_hash: hash_token(opaque("rat_")?.expose()),
            created_at: now,
            used_at: None,
        };
        let (actor, reason) = (by.to_string(), format!("{:?}", row.name));
        if !self.accounts.add_client(&row, &AuditNote { at: now, actor: &actor, reason: &reason })? {
            let text = "there are too many clients";
            return Err(OAuthError::Unavailable { text, retry_after: FULL_FOR });
        }
        Ok(row)
    }

    /// Returns a client's registration, or `None` if the client does not exist or `token` is not
    /// its registration token.
    pub fn registration(&self, id: &str, token: &str) -> Result<Option<Registration>, AccessError> {
        Ok(self.held(id, token)?.map(Registration::from))
    }

    /// Deletes a client and all of its tokens and codes, effective immediately in every process.
    /// Returns `false` if the client does not exist or `token` is not its registration token.
    pub fn unregister_client(&self, id: &str, token: &str, now: Timestamp) -> Result<bool, AccessError> {
        let Some(client) = self.held(id, token)? else { return Ok(false) };
        let actor = Actor::Client(client.id.clone()).to_string();
        let reason = format!("{:?}, by itself", client.name);
        Ok(self.accounts.remove_client(&client.id, &AuditNote { at: now, actor: &actor, reason: &reason })?)
    }

    fn held(&self, id: &str, token: &str) -> Result<Option<ClientRow>, AccessError> {
        if token.len() > SECRET_TEXT_MAX {
            return Ok(None);
        }
        let is_its = |client: &ClientRow| bool::from(hash_token(token).ct_eq(&client.registration_hash));
        Ok(self.client(id)?.filter(is_its))
    }

    pub(crate) fn client(&self, id: &str) -> Result<Option<ClientRow>, AccessError> {
        if id.is_empty() || id.len() > SECRET_TEXT_MAX {
            return Ok(None);
        }
        Ok(self.accounts.client(id)?)
    }

    /// Authenticates a client and checks that the client is registered for a grant type.
    pub(super) fn prove(
        &self,
        credentials: &PresentedClient<'_>,
        grant: &str,
    ) -> Result<ClientRow, OAuthError> {
        let client = self.prove_any(credentials)?;
        if client.grant_types.lines().all(|known| known != grant) {
            return Err(OAuthError::UnauthorizedClient("the client has not registered for this grant"));
        }
        Ok(client)
    }

    pub(super) fn prove_any(&self, credentials: &PresentedClient<'_>) -> Result<ClientRow, OAuthError> {
        let unknown = OAuthError::InvalidClient("the client is unknown: register it");
        let client = self.client(credentials.id)?.ok_or(unknown)?;
        // Public clients may send an empty secret, which is treated as omitted.
        let secret = credentials.secret.filter(|secret| !secret.is_empty());
        let is_proved = match (&client.secret_hash, secret) {
            (None, None) => true,
            (Some(hash), Some(secret)) if secret.len() <= SECRET_TEXT_MAX => {
                hash_token(secret).ct_eq(hash).into()
            }
            _ => false,
        };
        if is_proved { Ok(client) } else { Err(OAuthError::InvalidClient("the client secret is wrong")) }
    }
}

impl Registration {
    fn of(new: &NewClient, now: Timestamp) -> Result<Registration, OAuthError> {
        let name = name(new.name.as_deref().unwrap_or_default())?;
        if new.redirect_uris.len() > REDIRECTS_MAX {
            return Err(OAuthError::InvalidRedirectUri("a client has at most 10 redirect addresses"));
        }
        for address in &new.redirect_uris {
            redirect::check(address).map_err(OAuthError::InvalidRedirectUri)?;
        }
        let grant_types = grant_types(new)?;
        if new.response_types.iter().flatten().any(|kind| kind != "code") {
            return Err(OAuthError::InvalidClientMetadata("response_types has code, and nothing else"));
        }
        let auth_method = new.auth_method.clone().unwrap_or_else(|| METHOD_NONE.to_owned());
        if !AUTH_METHODS.contains(&auth_method.as_str()) {
            return Err(OAuthError::InvalidClientMetadata(
                "token_endpoint_auth_method is none, client_secret_post or client_secret_basic",
            ));
        }
        Ok(Registration {
            id: new_id()?,
            name,
            redirect_uris: new.redirect_uris.clone(),
            grant_types,
            auth_method,
            created_at: now,
        })
    }

    /// Returns whether the client may use the authorization code flow.
    pub fn has_codes(&self) -> bool {
        self.grant_types.iter().any(|grant| grant == grant_type::CODE)
    }
}

impl From<ClientRow> for Registration {
    fn from(row: ClientRow) -> Registration {
        let list = |text: &str| text.lines().map(str::to_owned).collect();
        Registration {
            redirect_uris: list(&row.redirect_uris),
            grant_types: list(&row.grant_types),
            id: row.id,
            name: row.name,
            auth_method: row.auth_method,
            created_at: row.created_at,
        }
    }
}

impl From<ClientRow> for ClientInfo {
    fn from(row: ClientRow) -> ClientInfo {
        ClientInfo { id: row.id, name: row.name, created_at: row.created_at }
    }
}

/// Validates a client name, which has at most 128 characters and no invisible or bidirectional
/// control characters. An empty name is replaced with a default.
fn name(text: &str) -> Result<String, OAuthError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(NAME_DEFAULT.to_owned());
    }
    if text.chars().count() > NAME_CHARS_MAX || text.chars().any(is_hidden) {
        return Err(OAuthError::InvalidClientMetadata(
            "client_name has at most 128 letters, all of them visible",
        ));
    }
    Ok(text.to_owned())
}

/// Returns the grant types of a client. The default is every supported grant type, without
/// authorization codes if the client has no redirect address. Refresh is always included.
fn grant_types(new: &NewClient) -> Result<Vec<String>, OAuthError> {
    let given = new.grant_types.as_deref();
    if given.into_iter().flatten().any(|grant| !grant_type::ALL.contains(&grant.as_str())) {
        return Err(OAuthError::InvalidClientMetadata(
            "grant_types has authorization_code, refresh_token and urn:ietf:params:oauth:grant-type:device_code",
        ));
    }
    let is_wanted = |grant: &str| match given {
        Some(given) => grant == grant_type::REFRESH || given.iter().any(|one| one == grant),
        None => grant != grant_type::CODE || !new.redirect_uris.is_empty(),
    };
    let grants: Vec<String> =
        grant_type::ALL.into_iter().filter(|grant| is_wanted(grant)).map(str::to_owned).collect();
    if grants.iter().any(|grant| grant == grant_type::CODE) && new.redirect_uris.is_empty() {
        return Err(OAuthError::InvalidRedirectUri("authorization codes need a redirect address"));
    }
    Ok(grants)
}

/// Returns a random UUID. Clients use the id as a file name, so it must be safe in a path.
fn new_id() -> Result<String, AccessError> {
    let mut bytes: [u8; 16] = random()?;
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = *version & 0x0f | 0x40;
    *variant = *variant & 0x3f | 0x80;
    let digits = hex(&bytes);
    let mut id = String::with_capacity(36);
    for (at, digit) in digits.chars().enumerate() {
        if [8, 12, 16, 20].contains(&at) {
            id.push('-');
        }
        id.push(digit);
    }
    Ok(id)
}
