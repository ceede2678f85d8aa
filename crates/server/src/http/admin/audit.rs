//! `GET /v1/admin/audit`: the audit log.

use access::{AccountId, AuditFilter, AuditId, AuditRow};
use schemars::JsonSchema;
use serde::Serialize;

use super::admin_request::{AdminRequest, LIMIT, WRONG_OR_UNKNOWN, problem, written};
use crate::kit::Problem;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::written::Instant;

pub(super) const AUDIT: Doc = Doc::new(Tag::Admin, "adminAudit", "Audit log, newest first")
    .parameters(&[
        Parameter::query("account", Kind::Text, "Only entries about this account"),
        Parameter::query("event", Kind::Text, "Only events of this kind, such as level.changed"),
        Parameter::query(
            "since",
            Kind::Text,
            "Earliest time: a date (from its start in Hong Kong) or an instant",
        ),
        Parameter::query(
            "before",
            Kind::Whole,
            "Only rows with a smaller id; the last id of the previous page",
        ),
        LIMIT,
    ])
    .answers(&[AnswerDoc::ok("The rows", &[data::<AuditRows>()])])
    .refuses(WRONG_OR_UNKNOWN);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditRows {
    pub(super) rows: Vec<AuditEntry>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AuditRow")]
pub(super) struct AuditEntry {
    pub(super) id: i64,
    pub(super) at: Instant,
    pub(super) actor: String,
    /// Account name of the actor; null if the actor is not an account.
    pub(super) actor_account: Option<String>,
    pub(super) account_id: Option<i64>,
    /// Name of the affected account; null if there is none.
    pub(super) account: Option<String>,
    pub(super) event: String,
    pub(super) reason: String,
}

impl AdminRequest<'_> {
    pub(super) fn audit(&self) -> Result<AuditRows, Problem> {
        let account = self.call.parameter_of("account").map(|name| self.named(&name)).transpose()?;
        let event = self.call.parameter_of("event");
        let filter = AuditFilter {
            account: account.map(|account| account.id),
            event: event.as_deref(),
            since: self.call.parameter_of("since").map(|text| written(&text)).transpose()?,
            before: self.whole("before")?.map(AuditId),
            limit: self.limit()?,
        };
        let rows = self.site.core.access.audit(&filter).map_err(problem)?;
        let rows: Result<Vec<AuditEntry>, Problem> = rows.into_iter().map(|row| self.entry(row)).collect();
        Ok(AuditRows { rows: rows? })
    }

    fn entry(&self, row: AuditRow) -> Result<AuditEntry, Problem> {
        let actor = row.actor.strip_prefix("account ").and_then(|number| number.parse().ok()).map(AccountId);
        Ok(AuditEntry {
            id: row.id.0,
            at: Instant::utc(row.at),
            actor_account: self.name_of(actor)?,
            actor: row.actor,
            account_id: row.account.map(|id| id.0),
            account: self.name_of(row.account)?,
            event: row.event,
            reason: row.reason,
        })
    }

    fn name_of(&self, id: Option<AccountId>) -> Result<Option<String>, Problem> {
        let Some(id) = id else { return Ok(None) };
        let account = self.site.core.access.account(id).map_err(problem)?;
        Ok(account.map(|account| account.name.clone()))
    }
}
