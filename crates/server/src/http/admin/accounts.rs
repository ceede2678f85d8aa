//! `/v1/admin/accounts` and `/v1/admin/accounts/{name}`: the accounts, and what is set for one.

use access::{Account, Level, TermsChange};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::office::{NAME, Office, WRONG_OR_UNKNOWN, has_no_default, problem};
use crate::kit::Problem;
use crate::kit::doc::refusals::NOT_FOUND;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data, words};
use crate::quota_document::{QuotaDocument, RightDocument, rights};
use crate::refusal::Refusal;
use crate::written::Instant;

/// The most accounts of one answer.
const ACCOUNTS_MAX: usize = 10_000;

pub(super) const AS_IT_IS_NOW: &[AnswerDoc] =
    &[AnswerDoc::ok("The account as it is now", &[data::<AdminAccount>()])];

pub(super) const ACCOUNTS: Doc = Doc::new(Tag::Admin, "adminAccounts", "Every account")
    .answers(&[AnswerDoc::ok("The accounts, oldest first", &[data::<AdminAccounts>()])]);

pub(super) const SHOW_ACCOUNT: Doc = Doc::new(Tag::Admin, "adminAccount", "One account and its month")
    .parameters(&[NAME])
    .answers(&[AnswerDoc::ok("The account", &[data::<AdminAccount>()])])
    .refuses(&[NOT_FOUND]);

pub(super) const SET_ACCOUNT: Doc =
    Doc::new(Tag::Admin, "adminSetAccount", "Change the limits of an account; what is not named stays")
        .parameters(&[NAME])
        .body(&[Media::json::<AdminTermsChange>()])
        .answers(AS_IT_IS_NOW)
        .refuses(WRONG_OR_UNKNOWN);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AdminAccounts {
    pub(super) total: usize,
    /// At most 10,000.
    pub(super) accounts: Vec<AdminAccount>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AdminAccount {
    pub(super) account_id: i64,
    pub(super) account: String,
    #[schemars(schema_with = "words::region")]
    pub(super) region: &'static str,
    #[schemars(schema_with = "words::role")]
    pub(super) role: &'static str,
    pub(super) created_at: Instant,
    pub(super) revoked_at: Option<Instant>,
    /// In force.
    pub(super) level: u32,
    pub(super) used: u32,
    /// In force.
    pub(super) limit: u32,
    pub(super) rights: Vec<RightDocument>,
    pub(super) terms: AdminTerms,
    /// Where one account is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QuotaDocument")]
    pub(super) quota: Option<QuotaDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AdminTerms {
    /// null where it is earned.
    pub(super) level: Option<u32>,
    /// null where the level decides.
    pub(super) quota: Option<u32>,
    /// Such as 60/30 or unlimited.
    pub(super) rate: String,
    pub(super) connections: u32,
    /// From when on it is served: published, none, or dates such as HK.day=1995-01-03,US.minute=none; null as the server has it.
    pub(super) floors: Option<String>,
    /// It may look at its paper account, and change nothing.
    pub(super) read_only: bool,
}

/// The limits of an account that change; those that are not there stay. It is read field by field, because null is not the same as nothing.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "its shape alone is used")]
pub(super) struct AdminTermsChange {
    /// null where it is to be earned.
    level: Option<u32>,
    /// null where the level is to decide.
    quota: Option<u32>,
    /// Such as 60/30 or unlimited; null for the rule of the service.
    rate: Option<String>,
    #[schemars(default, skip_serializing_if = "has_no_default")]
    connections: u32,
    /// From when on it is served: published, none, or dates such as HK.day=1995-01-03,US.minute=none; null as the server has it.
    floors: Option<String>,
    /// Whether it may look at its paper account, and change nothing.
    #[schemars(default, skip_serializing_if = "has_no_default")]
    read_only: bool,
}

impl Office<'_> {
    pub(super) fn accounts(&self) -> Result<AdminAccounts, Problem> {
        let accounts = self.site.core.access.list().map_err(problem)?;
        let mut listed = Vec::new();
        for account in accounts.iter().take(ACCOUNTS_MAX) {
            listed.push(self.described(account)?);
        }
        Ok(AdminAccounts { total: accounts.len(), accounts: listed })
    }

    pub(super) fn account(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let described = self.described(&account)?;
        let quota = self.site.core.access.quota(account.id, self.present.market).map_err(problem)?;
        let quota = quota.ok_or_else(Problem::not_found)?;
        Ok(AdminAccount { quota: Some(QuotaDocument::of(&quota, self.present.market)), ..described })
    }

    pub(super) fn set_account(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let fields: Map<String, Value> = self.call.json()?;
        let change = changed(&fields).map_err(Refusal::BadQuery)?;
        self.site.core.access.change_terms(account.id, change, &self.by, self.present).map_err(problem)?;
        self.described(&self.named(self.call.path_value("name"))?)
    }

    pub(super) fn described(&self, account: &Account) -> Result<AdminAccount, Problem> {
        let usage = self.site.core.access.usage(account.id, self.present.market).map_err(problem)?;
        let usage = usage.ok_or_else(Problem::not_found)?;
        Ok(AdminAccount {
            account_id: account.id.0,
            account: account.name.clone(),
            region: account.region.as_str(),
            role: account.role.as_str(),
            created_at: Instant::utc(account.created_at),
            revoked_at: account.revoked_at.map(Instant::utc),
            level: usage.standing.level.number(),
            used: usage.used,
            limit: usage.limit,
            rights: rights(account, self.present.market),
            terms: AdminTerms {
                level: account.terms.level.map(Level::number),
                quota: account.terms.quota,
                rate: account.terms.rate_rule().to_string(),
                connections: account.terms.connections,
                floors: account.terms.floors.map(|floors| floors.to_string()),
                read_only: account.terms.read_only,
            },
            quota: None,
        })
    }
}

/// The fields that are present. `null` removes a setting, so that the service decides again.
fn changed(fields: &Map<String, Value>) -> Result<TermsChange, String> {
    if fields.is_empty() {
        return Err("nothing to set: give level, quota, rate, connections, floors or read_only".to_owned());
    }
    let mut change = TermsChange::default();
    for (name, value) in fields {
        let number = || value.as_u64().and_then(|number| u32::try_from(number).ok());
        match (name.as_str(), value) {
            ("level", Value::Null) => change.level = Some(None),
            ("level", _) => {
                let level = number().and_then(Level::new);
                let level = level.ok_or("level is a number from 1 to 6, or null where it is earned")?;
                change.level = Some(Some(level));
            }
            ("quota", Value::Null) => change.quota = Some(None),
            ("quota", _) => change.quota = Some(Some(number().ok_or("quota is a number, or null")?)),
            ("rate", Value::Null) => change.rate = Some(None),
            ("rate", Value::String(text)) => {
                let rate = text.parse().map_err(|error: access::ParseRateRuleError| error.to_string())?;
                change.rate = Some(Some(rate));
            }
            ("connections", _) => change.connections = Some(number().ok_or("connections is a number")?),
            ("floors", Value::Null) => change.floors = Some(None),
            ("floors", Value::String(text)) => {
                let floors = text.parse().map_err(|error: market::ParseFloorsError| error.to_string())?;
                change.floors = Some(Some(floors));
            }
            ("read_only", Value::Bool(on)) => change.read_only = Some(*on),
            _ => {
                let fields = "level, quota, rate (as text), connections, floors (as text) and read_only (true or false)";
                return Err(format!("the fields are {fields}"));
            }
        }
    }
    Ok(change)
}
