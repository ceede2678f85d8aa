//! Token endpoint: issues, refreshes and revokes tokens.

use std::fmt;
use std::sync::Arc;

use market::Timestamp;
use store::{AccountId, AuditNote, ClientRow, NewTokens, Redemption, TokenKind, TokenRow};

use super::{
    ClientInfo, Family, OAuthError, PresentedClient, SECRET_TEXT_MAX, grant_type, granted, parse_scope,
};
use crate::token::{Claims, hash_token};
use crate::{
    Access, AccessError, Account, Actor, Caller, Denial, Freshness, IngestSymbols, Moment, Region, Secret,
};

/// Lifetime of an access token in seconds: thirty days, as public clients expect. With a lifetime
/// of an hour or less, some clients refresh at every request.
pub const ACCESS_TOKEN_LIFE_S: i64 = 30 * 86_400;
/// Lifetime of a refresh token in seconds, counted from the last refresh. It exceeds the lifetime
/// of an access token, because some clients refresh only after the access token has expired.
pub const REFRESH_TOKEN_LIFE_S: i64 = 60 * 86_400;
/// Time in seconds for which a replaced refresh token stays valid, in case the response with the
/// new token was lost.
pub const REFRESH_GRACE_S: i64 = 60;
const _: () = assert!(ACCESS_TOKEN_LIFE_S > 3_600 && REFRESH_GRACE_S < REFRESH_TOKEN_LIFE_S);
const _: () = assert!(REFRESH_TOKEN_LIFE_S >= 2 * ACCESS_TOKEN_LIFE_S);

/// A grant that a client exchanges for tokens.
#[derive(Clone, Copy)]
pub enum Grant<'a> {
    Code {
        code: &'a str,
        redirect_uri: Option<&'a str>,
        verifier: Option<&'a str>,
    },
    /// `poller` is the region sent by the client, which only distinguishes the client's pollers.
    Device {
        device_code: &'a str,
        poller: Option<Region>,
    },
    Refresh {
        refresh_token: &'a str,
        scope: &'a str,
    },
}

impl fmt::Debug for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Grant::Code { .. } => "Code(..)",
            Grant::Device { .. } => "Device(..)",
            Grant::Refresh { .. } => "Refresh(..)",
        })
    }
}

/// The tokens issued for a grant.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub access_token: Secret,
    pub refresh_token: Secret,
    /// Lifetime of the access token in seconds.
    pub expires_in: i64,
    pub scope: String,
}

/// An OAuth sign-in: a client that holds tokens for an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    pub id: String,
    pub client: ClientInfo,
    /// When the first tokens of the sign-in were issued.
    pub since: Timestamp,
    /// When tokens of the sign-in were last issued.
    pub refreshed_at: Timestamp,
    pub expires_at: Timestamp,
    /// Text of the granted scope, such as `openapi` or `ingest:*.HK`.
    pub scope: String,
}

/// A token for a program that only adds candles and trades. It cannot be refreshed.
#[derive(Clone, Debug)]
pub struct IngestToken {
    pub access_token: Secret,
    /// Id of the sign-in, by which the token is revoked.
    pub sign_in: String,
    pub scope: String,
    pub expires_at: Timestamp,
}

impl Access {
    /// Exchanges a grant for tokens. `serves` is the region of the listener, or `None` if the
    /// listener serves all regions. A grant for an account of another region is treated as unknown;
    /// a device keeps polling.
    pub fn redeem(
        &self,
        credentials: &PresentedClient<'_>,
        grant: &Grant<'_>,
        serves: Option<Region>,
        moment: Moment,
    ) -> Result<Tokens, OAuthError> {
        match *grant {
            Grant::Code { code, redirect_uri, verifier } => {
                let client = self.prove(credentials, grant_type::CODE)?;
                self.redeem_code(&client, code, redirect_uri, verifier, serves, moment.now)
            }
            Grant::Device { device_code, poller } => {
                let client = self.prove(credentials, grant_type::DEVICE)?;
                self.poll_device(&client, device_code, poller, serves, moment)
            }
            Grant::Refresh { refresh_token, scope } => {
                let client = self.prove(credentials, grant_type::REFRESH)?;
                parse_scope(scope)?;
                self.refresh(&client, refresh_token, serves, moment)
            }
        }
    }

    fn refresh(
        &self,
        client: &ClientRow,
        token: &str,
        serves: Option<Region>,
        moment: Moment,
    ) -> Result<Tokens, OAuthError> {
        let unknown = || OAuthError::InvalidGrant("the refresh token is unknown, has expired or was revoked");
        if token.len() > SECRET_TEXT_MAX {
            return Err(unknown());
        }
        let hash = hash_token(token);
        let is_fit = |row: &TokenRow| row.client_id == client.id && row.kind == TokenKind::Refresh;
        let row = self.accounts.token(&hash)?.filter(is_fit).ok_or_else(unknown)?;
        let account = self.granted(row.account)?.ok_or_else(unknown)?;
        if serves.is_some_and(|region| region != account.region) {
            return Err(unknown());
        }
        self.keep_pace(&self.limits.oauth.refreshes, account.id.0, moment.uptime).map_err(|retry_after| {
            OAuthError::Unavailable {
                text: "the tokens of this account are refreshed too often: try again later",
                retry_after,
            }
        })?;
        let mut issue = self.issue(client, &account, &row.scope, "a refresh token", moment.now)?;
        issue.family = row.family;
        match self.accounts.refresh(&hash, &issue.row(), REFRESH_GRACE_S, &issue.note())? {
            Redemption::Yes => Ok(issue.tokens()),
            Redemption::Again | Redemption::No => Err(unknown()),
        }
    }

    /// Revokes the sign-in to which an access or refresh token belongs. Unknown tokens are ignored.
    /// Fails if the token was issued to another client.
    pub fn revoke_token(
        &self,
        credentials: &PresentedClient<'_>,
        token: &str,
        now: Timestamp,
    ) -> Result<(), OAuthError> {
        let client = self.prove_any(credentials)?;
        if token.len() > SECRET_TEXT_MAX {
            return Ok(());
        }
        let Some(row) = self.accounts.token(&hash_token(token))? else { return Ok(()) };
        if row.client_id != client.id {
            return Err(OAuthError::UnauthorizedClient("the token was issued to another client"));
        }
        let actor = Actor::Client(client.id.clone()).to_string();
        let note = AuditNote { at: now, actor: &actor, reason: "the client has revoked it" };
        self.accounts.end_family(&row.family, row.account, &note)?;
        Ok(())
    }

    /// Returns the OAuth sign-ins of an account that have not expired, oldest first.
    pub fn sign_ins(&self, account: AccountId, now: Timestamp) -> Result<Vec<SignIn>, AccessError> {
        let families = self.accounts.families(account, now)?.into_iter();
        let sign_ins = families.map(|row| SignIn {
            id: row.family,
            client: ClientInfo {
                id: row.client_id,
                name: row.client_name,
                created_at: row.client_created_at,
            },
            since: row.begun_at,
            refreshed_at: row.last_at,
            expires_at: row.expires_at,
            scope: row.scope,
        });
        Ok(sign_ins.collect())
    }

    /// Ends an OAuth sign-in of an account by id. Returns whether the account had a sign-in with
    /// this id.
    pub fn end_sign_in(
        &self,
        account: AccountId,
        id: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, AccessError> {
        if !self.accounts.families(account, now)?.iter().any(|row| row.family == id) {
            return Ok(false);
        }
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: "the sign-in was ended" };
        Ok(self.accounts.end_family(id, account, &note)?)
    }

    /// Issues a token with which `program` may add candles and trades of some symbols. Returns
    /// `None` if the account is revoked. The token is listed among the account's sign-ins.
    pub fn issue_ingest_token(
        &self,
        account: AccountId,
        program: &str,
        symbols: &IngestSymbols,
        life_s: i64,
        (by, now): (&Actor, Timestamp),
    ) -> Result<Option<IngestToken>, OAuthError> {
        let Some(account) = self.granted(account)? else { return Ok(None) };
        let client = self.add_own_client(program, (by, now))?;
        let mut issue = self.issue(&client, &account, &symbols.scope(), "the operator", now)?;
        issue.live_for(&account, life_s)?;
        issue.actor = by.to_string();
        if !self.accounts.add_sign_in(&issue.row(), &issue.note())? {
            return Ok(None);
        }
        Ok(Some(IngestToken {
            expires_at: issue.access_expires_at(),
            access_token: issue.access_token,
            sign_in: issue.family,
            scope: issue.scope,
        }))
    }

    /// Returns the symbols for which a caller may add candles and trades, if its scopes permit
    /// that. Returns `None` if its sign-in has ended.
    pub fn ingest_symbols(
        &self,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Option<IngestSymbols>, AccessError> {
        if !caller.is_oauth() {
            return Ok(Some(IngestSymbols::All));
        }
        let families = self.accounts.families(caller.account(), now)?;
        let scope = families.iter().find(|row| caller.is_of(&row.family)).map(|row| row.scope.as_str());
        Ok(scope.and_then(IngestSymbols::of_scope))
    }

    /// Returns the caller of an OAuth access token, or `None` if the token is not an OAuth access
    /// token or its account was revoked. Fails if the token has expired or has no scope.
    pub(crate) fn oauth_caller(&self, token: &str, now: Timestamp) -> Result<Option<Caller>, Denial> {
        let Some(row) = self.oauth_token(&hash_token(token))? else { return Ok(None) };
        let (TokenKind::Access, Some(family)) = (row.kind, Family::of(&row.family)) else { return Ok(None) };
        if row.expires_at <= now {
            return Err(Denial::TokenExpired("the access token has expired: refresh it"));
        }
        let scopes = granted(&row.scope);
        if scopes.is_empty() {
            return Err(Denial::ScopeMissing);
        }
        let Some(account) = self.granted(row.account)? else { return Ok(None) };
        Ok(Some(Caller::of(&account, row.expires_at).of_family(family).within(scopes)))
    }

    /// Returns whether a token is a stored OAuth token, whether or not it has expired.
    pub(crate) fn is_oauth_token(&self, token: &str) -> Result<bool, AccessError> {
        Ok(self.oauth_token(&hash_token(token))?.is_some())
    }

    /// Returns an account to which tokens may be issued, or `None` if the account is revoked or
    /// does not exist.
    pub(super) fn granted(&self, id: AccountId) -> Result<Option<Arc<Account>>, AccessError> {
        let account = self.look(id, Freshness::Fresh)?.map(|(_, account)| account);
        Ok(account.filter(|account| account.revoked_at.is_none()))
    }

    /// Creates an access token and a refresh token in a new token family, without storing them. For
    /// a refresh, the caller replaces the family with the existing family.
    pub(super) fn issue(
        &self,
        client: &ClientRow,
        account: &Account,
        scope: &str,
        offered: &str,
        now: Timestamp,
    ) -> Result<Issue, AccessError> {
        Ok(Issue {
            access_token: claims(account, now, ACCESS_TOKEN_LIFE_S).access_token()?,
            refresh_token: claims(account, now, REFRESH_TOKEN_LIFE_S).refresh_token()?,
            access_life_s: ACCESS_TOKEN_LIFE_S,
            family: Family::new()?.text(),
            client_id: client.id.clone(),
            account: account.id,
            scope: scope.to_owned(),
            actor: Actor::Client(client.id.clone()).to_string(),
            reason: format!("{:?}, for {offered}", client.name),
            now,
        })
    }
}

fn claims(account: &Account, now: Timestamp, life_s: i64) -> Claims<'static> {
    Claims {
        region: account.region,
        account: account.id,
        app_key: None,
        issued_at: now,
        expires_at: Timestamp(now.0.saturating_add(life_s)),
    }
}

/// New tokens that are not stored yet.
pub(super) struct Issue {
    access_token: Secret,
    access_life_s: i64,
    refresh_token: Secret,
    family: String,
    client_id: String,
    account: AccountId,
    scope: String,
    actor: String,
    reason: String,
    now: Timestamp,
}

impl Issue {
    /// Replaces the lifetime of the access token.
    fn live_for(&mut self, account: &Account, life_s: i64) -> Result<(), AccessError> {
        self.access_token = claims(account, self.now, life_s).access_token()?;
        self.access_life_s = life_s;
        Ok(())
    }

    fn access_expires_at(&self) -> Timestamp {
        Timestamp(self.now.0.saturating_add(self.access_life_s))
    }

    pub(super) fn row(&self) -> NewTokens<'_> {
        NewTokens {
            access_hash: hash_token(self.access_token.expose()),
            refresh_hash: hash_token(self.refresh_token.expose()),
            family: &self.family,
            client_id: &self.client_id,
            account: self.account,
            scope: &self.scope,
            access_expires_at: self.access_expires_at(),
            refresh_expires_at: Timestamp(self.now.0.saturating_add(REFRESH_TOKEN_LIFE_S)),
        }
    }

    pub(super) fn note(&self) -> AuditNote<'_> {
        AuditNote { at: self.now, actor: &self.actor, reason: &self.reason }
    }

    pub(super) fn tokens(self) -> Tokens {
        Tokens {
            access_token: self.access_token,
            refresh_token: self.refresh_token,
            expires_in: self.access_life_s,
            scope: self.scope,
        }
    }
}
