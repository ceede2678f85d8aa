//! Creation and revocation of accounts. `POST /v1/admin/accounts` creates an account and is the
//! only response that contains its credentials. `/v1/admin/accounts/{name}/password-link` creates a
//! link with which the owner can set a password. `/v1/admin/accounts/{name}/revoke` revokes the
//! account.

use access::{NewAccount, Region, Revocation, Rights, Role, Terms, TermsChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accounts::{AS_IT_IS_NOW, AdminAccount, AdminTermsChange};
use super::admin_request::{AdminRequest, NAME, problem, wrong};
use super::rights::right;
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Problem, paths};
use crate::written::Instant;

pub(super) const CREATE_ACCOUNT: Doc = Doc::new(Tag::Admin, "adminCreateAccount", "Create an account")
    .about(
        "The app secret and the access token are returned only in this response. An account that uses only \
         the pages and `chandler login` needs a password link instead.",
    )
    .body(&[Media::json::<AdminNewAccount>()])
    .answers(&[AnswerDoc::ok("The account and its credentials", &[data::<AdminCreated>()])])
    .refuses(&[BAD_REQUEST, CONFLICT]);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminNewAccount {
    /// Account name, 1 to 64 characters.
    name: String,
    /// user or operator; default: user.
    role: Option<String>,
    /// ap or us; default: ap.
    region: Option<String>,
    /// Packages to grant, such as US_OVERNIGHT, in upper or lower case; default: HK, US, CN and SG.
    packages: Option<Vec<String>>,
    /// Limits that differ from the defaults.
    terms: Option<AdminTermsChange>,
}

/// A new account and its credentials, which cannot be retrieved later.
#[derive(Serialize, JsonSchema)]
pub(super) struct AdminCreated {
    account: AdminAccount,
    app_key: String,
    app_secret: String,
    access_token: String,
    token_expires_at: Instant,
}

impl AdminNewAccount {
    const FIELDS: &str = "name (as text), role (user or operator), region (ap or us), packages (a list of texts) and terms (an object)";

    fn account(self) -> Result<NewAccount, Problem> {
        let AdminNewAccount { name, role, region, packages, terms } = self;
        // Browsers remove `.` and `..` path segments, so the account could not be addressed.
        if matches!(name.as_str(), "." | "..") {
            return Err(wrong("a name that consists of dots cannot be used in a URL path"));
        }
        let role = match role.as_deref() {
            None | Some("user") => Role::User,
            Some("operator") => Role::Operator,
            Some(_) => return Err(wrong("role is user or operator")),
        };
        let region = region.map(|text| text.parse::<Region>()).transpose();
        let region = region.map_err(|error| wrong(&error.to_string()))?.unwrap_or_default();
        let rights = match packages {
            None => Rights::default(),
            Some(names) => names
                .iter()
                .try_fold(Rights::NONE, |rights, name| Ok::<_, Problem>(rights.with(right(name)?)))?,
        };
        let terms = match terms {
            None => Terms::default(),
            Some(terms) => terms_of(terms.change().map_err(|text| wrong(&text))?),
        };
        Ok(NewAccount { role, region, rights, ..NewAccount::named(name, terms) })
    }
}

/// Returns the default terms with `change` applied.
fn terms_of(change: TermsChange) -> Terms {
    let TermsChange { level, quota, rate, connections, subscriptions, floors, read_only, api_date } = change;
    let usual = Terms::default();
    Terms {
        level: level.unwrap_or(usual.level),
        quota: quota.unwrap_or(usual.quota),
        rate: rate.unwrap_or(usual.rate),
        connections: connections.unwrap_or(usual.connections),
        subscriptions: subscriptions.unwrap_or(usual.subscriptions),
        floors: floors.unwrap_or(usual.floors),
        read_only: read_only.unwrap_or(usual.read_only),
        api_date: api_date.unwrap_or(usual.api_date),
    }
}

impl AdminRequest<'_> {
    pub(super) fn create_account(&self) -> Result<AdminCreated, Problem> {
        let new = self.change::<AdminNewAccount>(AdminNewAccount::FIELDS)?.account()?;
        let access = &self.site.core.access;
        let created = access.create(&new, &self.by, self.present.machine).map_err(problem)?;
        // Record the level now instead of at the account's first request.
        access.settle(created.account_id, &self.by, self.present).map_err(problem)?;
        Ok(AdminCreated {
            account: self.described(&self.named(&new.name)?)?,
            app_key: created.app_key,
            app_secret: created.app_secret.expose().to_owned(),
            access_token: created.access_token.expose().to_owned(),
            token_expires_at: Instant::utc(created.token_expires_at),
        })
    }
}

/// Maximum length of a revocation reason in characters. The audit stores the full text.
const REASON_CHARS_MAX: usize = 200;
const _: () = assert!(REASON_CHARS_MAX == 200, "the description of the field says so");

pub(super) const REVOKE: Doc =
    Doc::new(Tag::Admin, "adminRevoke", "Revoke an account: its token, sessions and connections")
        .about(
            "A revocation cannot be undone, and the name cannot be reused. The last operator cannot be \
         revoked with this endpoint.",
        )
        .parameters(&[NAME])
        .body(&[Media::json::<AdminRevocation>()])
        .answers(AS_IT_IS_NOW)
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT]);

pub(super) const ISSUE_PASSWORD_LINK: Doc = Doc::new(
    Tag::Admin,
    "adminIssuePasswordLink",
    "Create a one-time link for setting the account's password, valid for one day",
)
.about(
    "An earlier link becomes invalid. Anyone who has the link can set the password, so send it to the \
 account's owner only.",
)
.parameters(&[NAME])
.answers(&[AnswerDoc::ok("The link, which cannot be retrieved later", &[data::<AdminPasswordLink>()])])
.refuses(&[NOT_FOUND, CONFLICT]);

pub(super) const WITHDRAW_PASSWORD_LINK: Doc =
    Doc::new(Tag::Admin, "adminWithdrawPasswordLink", "Delete the password link of an account")
        .parameters(&[NAME])
        .answers(AS_IT_IS_NOW)
        .refuses(&[NOT_FOUND]);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminRevocation {
    /// Reason for the audit log, at most 200 characters.
    #[serde(default)]
    reason: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct AdminPasswordLink {
    account_id: i64,
    account: String,
    /// Path and query of the link, to be appended to the server's base URL.
    path: String,
    expires_at: Instant,
}

impl AdminRequest<'_> {
    pub(super) fn revoke(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let AdminRevocation { reason } = match self.call.body {
            [] => AdminRevocation::default(),
            _ => self.change("reason (as text)")?,
        };
        if reason.chars().count() > REASON_CHARS_MAX {
            return Err(wrong(&format!("a reason has at most {REASON_CHARS_MAX} characters")));
        }
        let access = &self.site.core.access;
        let revoked =
            access.revoke_unless_last_operator(account.id, &self.by, reason.trim(), self.present.machine);
        match revoked.map_err(problem)? {
            Revocation::Revoked | Revocation::Unchanged => {
                self.described(&self.named(self.call.path_value("name"))?)
            }
            Revocation::LastOfRole => Err(Problem::conflict(
                "this is the last operator: create another one first, or revoke it on the store's machine",
            )),
        }
    }

    pub(super) fn issue_password_link(&self) -> Result<AdminPasswordLink, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let access = &self.site.core.access;
        let link = access.issue_password_link(account.id, &self.by, self.present.machine).map_err(problem)?;
        let link =
            link.ok_or_else(|| Problem::conflict("this account is revoked and can no longer sign in"))?;
        Ok(AdminPasswordLink {
            account_id: account.id.0,
            account: account.name,
            path: format!("{}?link={}", paths::PASSWORD, link.token.expose()),
            expires_at: Instant::utc(link.expires_at),
        })
    }

    pub(super) fn withdraw_password_link(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let access = &self.site.core.access;
        if !access.withdraw_password_link(account.id, &self.by, self.present.machine).map_err(problem)? {
            return Err(Problem::not_found());
        }
        self.described(&account)
    }
}
