//! Audit rows for refused logins, and for imports that operators start and undo through the
//! service, because imports change the data served to accounts. A login row never contains a secret
//! or text sent by the client, because users sometimes type secrets into name fields.

use std::net::IpAddr;

use market::Timestamp;
use store::{AccountId, AuditNote};

use crate::sign_in_guards::RefusalRows;
use crate::token::hash_token;
use crate::{
    Access, AccessError, Actor, Denial, Grant, Moment, OAuthError, PresentedClient, SignedRequest, otp,
    session,
};

/// Credentials of a refused login, from which the audit derives the account.
#[derive(Clone, Copy, Debug)]
pub enum Offered<'a> {
    Request(&'a SignedRequest<'a>),
    OneTimePassword(&'a str),
    Session(&'a str),
    /// A browser session cookie, whose value the audit does not need.
    Browser,
    /// An OAuth client and the grant it presented, if any.
    Client(PresentedClient<'a>, Option<Grant<'a>>),
}

/// An operator's action on an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportStep {
    Begun,
    Undone,
}

impl ImportStep {
    fn event(self) -> &'static str {
        match self {
            ImportStep::Begun => "import.begun",
            ImportStep::Undone => "import.undone",
        }
    }
}

impl Access {
    /// Records a refused login. Requests without credentials and internal failures are not
    /// recorded.
    pub fn note_denied(
        &self,
        offered: Offered<'_>,
        denial: &Denial,
        from: IpAddr,
        at: Moment,
    ) -> Result<(), AccessError> {
        let tries = |request: &SignedRequest<'_>| {
            ["authorization", "x-api-signature"].into_iter().any(|name| (request.header)(name).is_some())
        };
        match (denial, offered) {
            (Denial::Failed(_), _) => Ok(()),
            (_, Offered::Request(request)) if !tries(request) => Ok(()),
            _ => self.note_refused_login(from, at, || Ok((self.behind(offered)?, denial.to_string()))),
        }
    }

    /// Like [`Access::note_denied`], for OAuth clients. Records only a wrong client secret, or a
    /// code or token that is unknown, expired or already used.
    pub fn note_declined(
        &self,
        offered: Offered<'_>,
        error: &OAuthError,
        from: IpAddr,
        at: Moment,
    ) -> Result<(), AccessError> {
        if !matches!(error, OAuthError::InvalidClient(_) | OAuthError::InvalidGrant(_)) {
            return Ok(());
        }
        self.note_refused_login(from, at, || {
            let known = match offered {
                Offered::Client(credentials, _) => self.client(credentials.id)?,
                _ => None,
            };
            let who = known.map_or("an unknown client".to_owned(), |client| format!("client {}", client.id));
            Ok((self.behind(offered)?, format!("{who}: {error}")))
        })
    }

    /// Writes an audit row unless the limit per minute is reached. Suppressed rows are counted, and
    /// the count is recorded later. `describe` is called only if the row is written.
    pub(crate) fn note_refused_login(
        &self,
        from: IpAddr,
        at: Moment,
        describe: impl FnOnce() -> Result<(Option<AccountId>, String), AccessError>,
    ) -> Result<(), AccessError> {
        let RefusalRows { suppressed, this } = self.identity.guards.refusals.refused(at.uptime);
        self.note_suppressed(suppressed, at.now)?;
        if this {
            let (account, reason) = describe()?;
            let actor = Actor::Address(from).to_string();
            let note = AuditNote { at: at.now, actor: &actor, reason: &reason };
            self.accounts.note(account, "login.refused", &note)?;
        }
        Ok(())
    }

    pub(crate) fn note_suppressed(&self, suppressed: Option<u64>, now: Timestamp) -> Result<(), AccessError> {
        let Some(count) = suppressed else { return Ok(()) };
        let (actor, reason) = (Actor::Service.to_string(), format!("{count} more in a minute before"));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        Ok(self.accounts.note(None, "login.refused", &note)?)
    }

    /// Returns the account that the refused credentials belong to, or `None` if it is unknown.
    fn behind(&self, offered: Offered<'_>) -> Result<Option<AccountId>, AccessError> {
        match offered {
            Offered::OneTimePassword(otp) => match self.cluster.shared() {
                None => Ok(self.identity.otps.issued_to(otp)),
                Some(shared) => Ok(shared.issued_password(&otp::hash(otp))?.map(|issued| issued.account)),
            },
            // An expired session id still has a valid signature and contains its account.
            Offered::Session(id) => Ok(session::read(&self.identity.keys, id, Timestamp(i64::MIN))
                .ok()
                .map(|(caller, _)| caller.account())),
            // The row of an ended browser session is deleted, so its account is unknown.
            Offered::Browser | Offered::Client(_, None) => Ok(None),
            Offered::Client(_, Some(grant)) => self.behind_grant(&grant),
            Offered::Request(request) => self.behind_request(request),
        }
    }

    fn behind_grant(&self, grant: &Grant<'_>) -> Result<Option<AccountId>, AccessError> {
        Ok(match *grant {
            Grant::Code { code, .. } => self.accounts.code(&hash_token(code))?.map(|row| row.account),
            Grant::Device { device_code, .. } => {
                self.accounts.device(&hash_token(device_code))?.and_then(|row| row.account)
            }
            Grant::Refresh { refresh_token, .. } => {
                self.accounts.token(&hash_token(refresh_token))?.map(|row| row.account)
            }
        })
    }

    fn behind_request(&self, request: &SignedRequest<'_>) -> Result<Option<AccountId>, AccessError> {
        if let Some(authorization) = (request.header)("authorization") {
            // The token is the last word of the header, with or without a scheme before it.
            let token = authorization.trim().rsplit(' ').next().unwrap_or_default();
            let hash = hash_token(token);
            if let Some(credential) = self.accounts.credential_by_token(&hash)? {
                return Ok(Some(credential.account));
            }
            if let Some(row) = self.accounts.token(&hash)? {
                return Ok(Some(row.account));
            }
        }
        let Some(key) = (request.header)("x-api-key") else { return Ok(None) };
        Ok(self.accounts.credential_by_key(key)?.map(|credential| credential.account))
    }

    /// Writes an audit row for an import. Candles are stored in another database, so the row is not
    /// in the import's transaction.
    pub fn note_import(
        &self,
        step: ImportStep,
        what: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: what };
        Ok(self.accounts.note(None, step.event(), &note)?)
    }
}
