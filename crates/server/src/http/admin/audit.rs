//! `GET /v1/admin/audit`: who did what to whom.

use access::{AuditFilter, AuditId};
use schemars::JsonSchema;
use serde::Serialize;

use super::admin_request::{AdminRequest, LIMIT, WRONG_OR_UNKNOWN, problem, written, wrong};
use crate::kit::Problem;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::written::Instant;

pub(super) const AUDIT: Doc =
    Doc::new(Tag::Admin, "adminAudit", "Who did what to whom, and why; latest first")
        .parameters(&[
            Parameter::query("account", Kind::Text, "Only about this account"),
            Parameter::query("event", Kind::Text, "Only of this kind, such as level.changed"),
            Parameter::query(
                "since",
                Kind::Text,
                "Not before this time: a date (its first moment in Hong Kong) or an instant",
            ),
            Parameter::query(
                "before",
                Kind::Whole,
                "Only rows with a smaller id: where the answer before it stopped",
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
    pub(super) account_id: Option<i64>,
    pub(super) event: String,
    pub(super) reason: String,
}

impl AdminRequest<'_> {
    pub(super) fn audit(&self) -> Result<AuditRows, Problem> {
        let number = |name: &str| -> Result<Option<i64>, Problem> {
            let text = self.call.parameter_of(name);
            let parse = |text: String| text.parse().map_err(|_| wrong(&format!("{name} is not a number")));
            text.map(parse).transpose()
        };
        let account = self.call.parameter_of("account").map(|name| self.named(&name)).transpose()?;
        let event = self.call.parameter_of("event");
        let filter = AuditFilter {
            account: account.map(|account| account.id),
            event: event.as_deref(),
            since: self.call.parameter_of("since").map(|text| written(&text)).transpose()?,
            before: number("before")?.map(AuditId),
            limit: self.limit()?,
        };
        let rows = self.site.core.access.audit(&filter).map_err(problem)?;
        let row = |row: access::AuditRow| AuditEntry {
            id: row.id.0,
            at: Instant::utc(row.at),
            actor: row.actor,
            account_id: row.account.map(|id| id.0),
            event: row.event,
            reason: row.reason,
        };
        Ok(AuditRows { rows: rows.into_iter().map(row).collect() })
    }
}
