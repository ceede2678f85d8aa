//! `/v1/admin/accounts/{name}/revoke` and `/v1/admin/accounts/{name}/password-link`: revokes an
//! account, and creates a link with which the owner can set a password.

use access::Revocation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accounts::{AS_IT_IS_NOW, AdminAccount};
use super::admin_request::{AdminRequest, NAME, problem, wrong};
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Problem, paths};
use crate::written::Instant;

/// Maximum length of a revocation reason in characters. The audit stores the full text.
const REASON_CHARS_MAX: usize = 200;
const _: () = assert!(REASON_CHARS_MAX == 200, "the description of the field says so");

pub(super) const REVOKE: Doc =
    Doc::new(Tag::Admin, "adminRevoke", "End an account: its token, its sessions and its connections")
        .about("Nothing brings it back, and its name stays taken. The last operator cannot be revoked here.")
        .parameters(&[NAME])
        .body(&[Media::json::<AdminRevocation>()])
        .answers(AS_IT_IS_NOW)
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT]);

pub(super) const ISSUE_PASSWORD_LINK: Doc = Doc::new(
    Tag::Admin,
    "adminIssuePasswordLink",
    "A link with which the owner of an account sets its password, once, within a day",
)
.about("It ends the link before. Whoever has it may set the password: send it to nobody else.")
.parameters(&[NAME])
.answers(&[AnswerDoc::ok("The link, this once", &[data::<AdminPasswordLink>()])])
.refuses(&[NOT_FOUND, CONFLICT]);

pub(super) const WITHDRAW_PASSWORD_LINK: Doc =
    Doc::new(Tag::Admin, "adminWithdrawPasswordLink", "End the password link of an account")
        .parameters(&[NAME])
        .answers(AS_IT_IS_NOW)
        .refuses(&[NOT_FOUND]);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminRevocation {
    /// Why, for the audit: at most 200 characters.
    #[serde(default)]
    reason: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct AdminPasswordLink {
    account_id: i64,
    account: String,
    /// To be appended to the service's address.
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
                "this is the last operator: create another one first, or revoke it on the machine of the store",
            )),
        }
    }

    pub(super) fn issue_password_link(&self) -> Result<AdminPasswordLink, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let access = &self.site.core.access;
        let link = access.issue_password_link(account.id, &self.by, self.present.machine).map_err(problem)?;
        let link = link
            .ok_or_else(|| Problem::conflict("this account is revoked: nobody can sign in as it any more"))?;
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
