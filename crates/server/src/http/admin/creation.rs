//! `POST /v1/admin/accounts`: creates an account. This is the only response that contains its
//! credentials.

use access::{NewAccount, Region, Rights, Role, Terms, TermsChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accounts::{AdminAccount, AdminTermsChange};
use super::admin_request::{AdminRequest, problem, wrong};
use super::rights::right;
use crate::kit::Problem;
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::written::Instant;

pub(super) const CREATE_ACCOUNT: Doc = Doc::new(Tag::Admin, "adminCreateAccount", "Create an account")
    .about(
        "The answer has the app secret and the access token, this once: nothing gives them back later. Somebody who will use the pages \
         and `chandler login` alone needs neither, but a link to set a password.",
    )
    .body(&[Media::json::<AdminNewAccount>()])
    .answers(&[AnswerDoc::ok("The account and its credentials", &[data::<AdminCreated>()])])
    .refuses(&[BAD_REQUEST, CONFLICT]);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminNewAccount {
    /// Its name: 1 to 64 characters.
    name: String,
    /// user (the default) or operator.
    role: Option<String>,
    /// ap (the default) or us.
    region: Option<String>,
    /// Packages that it may see, such as US_OVERNIGHT, in upper or lower case; by default HK, US,
    /// CN and SG.
    packages: Option<Vec<String>>,
    /// Its own limits.
    terms: Option<AdminTermsChange>,
}

/// A new account. Its secret and token are not shown again.
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
            return Err(wrong("a name of dots alone cannot stand in an address: choose another one"));
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
    let TermsChange { level, quota, rate, connections, floors, read_only, api_date } = change;
    let usual = Terms::default();
    Terms {
        level: level.unwrap_or(usual.level),
        quota: quota.unwrap_or(usual.quota),
        rate: rate.unwrap_or(usual.rate),
        connections: connections.unwrap_or(usual.connections),
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
        // Record the account's level now instead of at its first request.
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
