//! The request and answer bodies of the operators' endpoints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kit::doc::words;
use crate::quota_document::{QuotaDocument, RightDocument};
use crate::written::{Day, Instant};

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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdminGrant")]
pub(super) struct Grant {
    #[schemars(schema_with = "words::package")]
    pub(super) package: String,
    /// A date (its first moment in Hong Kong) or an instant as text, or Unix seconds as a number; without it, at once.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub(super) from: Option<Value>,
    /// The same; that moment is not included, and without it there is no end.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub(super) until: Option<Value>,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "its shape alone is used")]
enum Moment {
    Text(String),
    Seconds(i64),
}

/// Rows of a report as they are sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    pub(super) rows: Vec<Map<String, Value>>,
}

/// The same, as clients are told of them: each kind of report has columns of its own.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
#[expect(dead_code, reason = "its shape alone is used")]
pub(super) struct ReportOf<T> {
    rows: Vec<T>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "its shape alone is used")]
pub(super) struct AssetsReportRow {
    /// Name or number.
    account: String,
    /// Today in Hong Kong if it is not there.
    day: Option<Day>,
    currency: String,
    /// Up to four decimals.
    amount: String,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "its shape alone is used")]
pub(super) struct OrdersReportRow {
    /// Name or number.
    account: String,
    /// Today in Hong Kong if it is not there.
    day: Option<Day>,
    /// All orders of the day.
    count: Option<u32>,
    /// Or one order, counted once however often it is told.
    order_id: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "its shape alone is used")]
pub(super) struct RatesReportRow {
    currency: String,
    /// Today in Hong Kong if it is not there.
    day: Option<Day>,
    /// HKD for one unit, up to eight decimals.
    rate: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Reported {
    pub(super) rows: usize,
    pub(super) accounts: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AssetsRows {
    pub(super) rows: Vec<AssetsRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AssetsRow {
    pub(super) account: String,
    pub(super) day: Day,
    pub(super) currency: String,
    pub(super) amount: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OrdersRows {
    pub(super) rows: Vec<OrdersRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OrdersRow {
    pub(super) account: String,
    pub(super) day: Day,
    /// All orders of the day.
    pub(super) count: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RatesRows {
    pub(super) rows: Vec<RatesRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RatesRow {
    pub(super) currency: String,
    pub(super) day: Day,
    /// HKD for one unit.
    pub(super) rate: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Levels {
    pub(super) levels: Vec<LevelRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Level")]
pub(super) struct LevelRow {
    pub(super) level: u32,
    /// Securities a month.
    pub(super) quota: u32,
    /// HKD to be reached.
    pub(super) assets: Option<u64>,
    /// Of a month, to be exceeded.
    pub(super) orders: Option<u32>,
}

/// What changes of a level; what is not there stays. It is read field by field, because null is not the same as nothing.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "its shape alone is used")]
pub(super) struct AdminLevel {
    #[schemars(default, skip_serializing_if = "has_no_default")]
    quota: u32,
    /// HKD to be reached.
    assets: Option<u64>,
    /// Of a month, to be exceeded.
    orders: Option<u32>,
}

/// An absent field stays unchanged, so it has no default.
fn has_no_default<T>(_: &T) -> bool {
    true
}

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
