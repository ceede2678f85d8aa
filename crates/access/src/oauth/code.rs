//! Authorization code flow. A client sends the user to this service, the user approves or denies
//! the request, and is redirected to the client with a code or an error.

use market::Timestamp;
use store::{AccountId, AuditNote, ClientRow, CodeRow, Redemption};

use super::{
    ClientInfo, OAuthError, SECRET_TEXT_MAX, Tokens, grant_type, opaque, parse_scope, pkce, redirect,
};
use crate::token::hash_token;
use crate::{Access, AccessError, Actor, Region};

/// Lifetime of an authorization code in seconds. It is short, because clients redeem a code
/// immediately.
pub const AUTHORIZATION_CODE_LIFE_S: i64 = 120;
const QUERY_MAX: usize = 8 << 10;
const STATE_MAX: usize = 1_024;

/// A validated authorization request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRequest {
    pub client: ClientInfo,
    /// Redirect address of the request, which is one of the client's registered addresses.
    pub redirect_uri: String,
    pub scope: String,
    pub state: Option<String>,
    /// Whether the request contained the redirect address, in which case the client must repeat it
    /// at the token endpoint.
    named: bool,
    challenge: Option<String>,
}

/// An authorization request that cannot be shown to the user for approval.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationError {
    /// Message to show to the user, because the request has no valid client or redirect address.
    #[error("{0}")]
    Page(&'static str),
    /// Error for the client. It is shown to the user as a link rather than as an automatic
    /// redirect, because anyone may register a redirect address and the user has not agreed to
    /// anything yet.
    #[error("{}", .0.text)]
    Client(Box<BadRequest>),
    #[error("the service failed: try again")]
    Failed(#[source] AccessError),
}

/// An invalid authorization request of a registered client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRequest {
    pub client: ClientInfo,
    /// Redirect address of the request, which is one of the client's registered addresses.
    pub redirect_uri: String,
    pub code: &'static str,
    pub text: String,
    /// `redirect_uri` with the error in its query (RFC 6749, 4.1.2.1), for a link that the user may
    /// follow.
    pub back: String,
}

impl<E: Into<AccessError>> From<E> for AuthorizationError {
    fn from(error: E) -> AuthorizationError {
        AuthorizationError::Failed(error.into())
    }
}

/// Supported query parameters of an authorization request. All other parameters are ignored.
#[derive(Default)]
struct Parameters {
    response_type: Option<String>,
    client_id: Option<String>,
    redirect_uri: Option<String>,
    scope: Option<String>,
    state: Option<String>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
    /// The last parameter that was sent more than once, if any.
    twice: Option<&'static str>,
}

impl Parameters {
    fn parse(query: &str) -> Parameters {
        let mut parameters = Parameters::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let (place, name) = match &*name {
                "response_type" => (&mut parameters.response_type, "response_type"),
                "client_id" => (&mut parameters.client_id, "client_id"),
                "redirect_uri" => (&mut parameters.redirect_uri, "redirect_uri"),
                "scope" => (&mut parameters.scope, "scope"),
                "state" => (&mut parameters.state, "state"),
                "code_challenge" => (&mut parameters.code_challenge, "code_challenge"),
                "code_challenge_method" => (&mut parameters.code_challenge_method, "code_challenge_method"),
                _ => continue,
            };
            // A parameter without a value is treated as omitted (RFC 6749, 3.1).
            if place.is_some() {
                parameters.twice = Some(name);
            } else if !value.is_empty() {
                *place = Some(value.into_owned());
            }
        }
        parameters
    }
}

impl Access {
    /// Parses and validates the query of an authorization request.
    pub fn check_authorization(&self, query: &str) -> Result<AuthorizationRequest, AuthorizationError> {
        if query.len() > QUERY_MAX {
            return Err(AuthorizationError::Page("the address is too long to be a request of a client"));
        }
        let requested = Parameters::parse(query);
        if requested.twice.is_some_and(|name| ["client_id", "redirect_uri"].contains(&name)) {
            return Err(AuthorizationError::Page(
                "the request names its client or its redirect address twice",
            ));
        }
        let client = match &requested.client_id {
            Some(id) => self.client(id)?,
            None => None,
        };
        let client = client.ok_or(AuthorizationError::Page(
            "the program that sent you here is not registered with this service: start again from it",
        ))?;
        let redirect_uri = destination(&client, requested.redirect_uri.as_deref())?;
        let refuse = |code: &'static str, text: &str| {
            let mut pairs = vec![("error", code), ("error_description", text)];
            if let Some(state) = requested.state.as_deref().filter(|state| state.len() <= STATE_MAX) {
                pairs.push(("state", state));
            }
            AuthorizationError::Client(Box::new(BadRequest {
                client: client.clone().into(),
                code,
                text: text.to_owned(),
                back: redirect::with(&redirect_uri, &pairs),
                redirect_uri: redirect_uri.clone(),
            }))
        };
        if requested.twice.is_some() {
            return Err(refuse("invalid_request", "a parameter is given twice"));
        }
        if requested.state.as_deref().is_some_and(|state| state.len() > STATE_MAX) {
            return Err(refuse("invalid_request", "state is longer than 1024 bytes"));
        }
        match requested.response_type.as_deref() {
            Some("code") => {}
            None => return Err(refuse("invalid_request", "response_type is missing: it must be code")),
            Some(_) => return Err(refuse("unsupported_response_type", "response_type must be code")),
        }
        if client.grant_types.lines().all(|grant| grant != grant_type::CODE) {
            return Err(refuse(
                "unauthorized_client",
                "the client has not registered for authorization codes",
            ));
        }
        let scope = parse_scope(requested.scope.as_deref().unwrap_or_default())
            .map_err(|error| refuse(error.code(), &error.to_string()))?;
        let challenge =
            pkce::remember(requested.code_challenge.as_deref(), requested.code_challenge_method.as_deref())
                .map_err(|text| refuse("invalid_request", text))?;
        if challenge.is_none() && client.secret_hash.is_none() && self.identity.pkce.asks(&redirect_uri) {
            let text = "code_challenge is missing: a client without a secret shows a proof key (RFC 7636)";
            return Err(refuse("invalid_request", text));
        }
        Ok(AuthorizationRequest {
            client: client.into(),
            named: requested.redirect_uri.is_some(),
            redirect_uri,
            scope,
            state: requested.state,
            challenge,
        })
    }

    /// Records the account's approval of a request. Returns the redirect URL with an authorization
    /// code.
    pub fn approve_authorization(
        &self,
        request: &AuthorizationRequest,
        account: AccountId,
        now: Timestamp,
    ) -> Result<String, AccessError> {
        let code = opaque("")?;
        let row = CodeRow {
            client_id: request.client.id.clone(),
            account,
            redirect_uri: if request.named { request.redirect_uri.clone() } else { String::new() },
            scope: request.scope.clone(),
            challenge: request.challenge.clone(),
            family: None,
            created_at: now,
            expires_at: Timestamp(now.0.saturating_add(AUTHORIZATION_CODE_LIFE_S)),
        };
        let (actor, reason) = (Actor::Account(account).to_string(), request.reason());
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        self.accounts.add_code(&hash_token(code.expose()), &row, &note)?;
        Ok(request.back(&[("code", code.expose())]))
    }

    /// Records that the user denied a request. Returns the redirect URL with the error
    /// `access_denied`.
    pub fn deny_authorization(
        &self,
        request: &AuthorizationRequest,
        account: Option<AccountId>,
        now: Timestamp,
    ) -> Result<String, AccessError> {
        let actor = account.map_or(Actor::Service, Actor::Account).to_string();
        let note = AuditNote { at: now, actor: &actor, reason: &request.reason() };
        self.accounts.note(account, "code.denied", &note)?;
        Ok(request.back(&[("error", "access_denied")]))
    }

    pub(super) fn redeem_code(
        &self,
        client: &ClientRow,
        code: &str,
        named: Option<&str>,
        verifier: Option<&str>,
        serves: Option<Region>,
        now: Timestamp,
    ) -> Result<Tokens, OAuthError> {
        let unknown =
            || OAuthError::InvalidGrant("the authorization code is unknown, expired or already used");
        if code.len() > SECRET_TEXT_MAX {
            return Err(unknown());
        }
        let hash = hash_token(code);
        let row = self.accounts.code(&hash)?.filter(|row| row.client_id == client.id).ok_or_else(unknown)?;
        let account = self.granted(row.account)?.ok_or_else(unknown)?;
        if serves.is_some_and(|region| region != account.region) {
            return Err(unknown());
        }
        // A code that was used before is always passed to the store, which then revokes the token
        // family issued for the code.
        if row.family.is_none() {
            if row.expires_at <= now {
                return Err(unknown());
            }
            let is_same = match named {
                Some(named) if row.redirect_uri.is_empty() => {
                    redirect::is_registered(&client.redirect_uris, named)
                }
                named => named.unwrap_or_default() == row.redirect_uri,
            };
            if !is_same {
                return Err(OAuthError::InvalidGrant("redirect_uri does not match the authorization"));
            }
            if !pkce::is_proved(row.challenge.as_deref(), verifier) {
                return Err(OAuthError::InvalidGrant("code_verifier does not match the authorization"));
            }
        }
        let issue = self.issue(client, &account, &row.scope, "an authorization code", now)?;
        match self.accounts.redeem_code(&hash, &issue.row(), &issue.note())? {
            Redemption::Yes => Ok(issue.tokens()),
            Redemption::Again | Redemption::No => Err(unknown()),
        }
    }
}

impl AuthorizationRequest {
    fn back(&self, pairs: &[(&str, &str)]) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let pairs: Vec<_> = pairs.iter().copied().chain(state).collect();
        redirect::with(&self.redirect_uri, &pairs)
    }

    fn reason(&self) -> String {
        format!("client {} {:?}", self.client.id, self.client.name)
    }
}

/// Returns the redirect address of a request: `named` if it is registered, or the client's only
/// registered address if the request has none.
fn destination(client: &ClientRow, named: Option<&str>) -> Result<String, AuthorizationError> {
    match named {
        Some(named) if redirect::is_registered(&client.redirect_uris, named) => Ok(named.to_owned()),
        Some(_) => Err(AuthorizationError::Page(
            "the program that sent you here requested a redirect to an unregistered address",
        )),
        None => {
            let mut registered = client.redirect_uris.lines();
            match (registered.next(), registered.next()) {
                (Some(only), None) => Ok(only.to_owned()),
                _ => Err(AuthorizationError::Page(
                    "the program that sent you here did not specify a redirect address",
                )),
            }
        }
    }
}
