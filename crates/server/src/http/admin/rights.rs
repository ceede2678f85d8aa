//! Packages and levels. `/v1/admin/accounts/{name}/rights` grants and withdraws quote packages.
//! `/v1/admin/levels` lists the levels and changes the settings of a level.

use access::{Level, Right, Step, StepChange, Validity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::accounts::{AS_IT_IS_NOW, AdminAccount};
use super::admin_request::{
    AdminRequest, NAME, WRONG_OR_UNKNOWN, has_no_default, instant, not_null, null_or, problem, wrong,
};
use crate::kit::Problem;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data, described_only};

pub(super) const GRANT: Doc =
    Doc::new(Tag::Admin, "adminGrant", "Grant a package, or change its start and end")
        .parameters(&[NAME])
        .body(&[Media::json::<Grant>()])
        .answers(AS_IT_IS_NOW)
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const WITHDRAW: Doc =
    Doc::new(Tag::Admin, "adminWithdraw", "Withdraw a package, effective from the next request")
        .parameters(&[
            NAME,
            Parameter::query("package", Kind::Text, "HK, US, US_OVERNIGHT, CN, SG or US_OPTIONS").required(),
        ])
        .answers(AS_IT_IS_NOW)
        .refuses(WRONG_OR_UNKNOWN);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdminGrant")]
pub(super) struct Grant {
    /// Package name such as US_OVERNIGHT, in upper or lower case.
    pub(super) package: String,
    /// Start of the right: a date (midnight in Hong Kong) or an instant as a string, or Unix
    /// seconds; default: now.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub(super) from: Option<Value>,
    /// End of the right, exclusive, in the same formats as `from`; default: no end.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub(super) until: Option<Value>,
}

described_only! {
    #[schemars(untagged, inline)]
    enum Moment {
        Text(String),
        Seconds(i64),
    }
}

impl AdminRequest<'_> {
    pub(super) fn grant(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let Grant { package, from, until } = self.call.json()?;
        let right = right(&package)?;
        let validity = Validity { starts_at: instant(from)?, ends_at: instant(until)? };
        let machine = self.present.machine;
        self.site.core.access.grant(account.id, right, validity, &self.by, machine).map_err(problem)?;
        self.described(&self.named(self.call.path_value("name"))?)
    }

    pub(super) fn withdraw(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let package = self.call.parameter_of("package");
        let right = right(&package.ok_or_else(|| wrong("package is required: ?package=US"))?)?;
        let machine = self.present.machine;
        if !self.site.core.access.withdraw(account.id, right, &self.by, machine).map_err(problem)? {
            return Err(Problem::not_found());
        }
        self.described(&self.named(self.call.path_value("name"))?)
    }
}

pub(super) fn right(name: &str) -> Result<Right, Problem> {
    name.parse().map_err(|error: access::ParseRightError| wrong(&error.to_string()))
}

pub(super) const LEVELS: Doc = Doc::new(Tag::Admin, "adminLevels", "List the levels")
    .answers(&[AnswerDoc::ok("The levels", &[data::<Levels>()])]);

pub(super) const SET_LEVEL: Doc = Doc::new(
    Tag::Admin,
    "adminSetLevel",
    "Change a level; omitted fields stay unchanged. Quotas and thresholds must not decrease with the level",
)
.parameters(&[Parameter::path("level", "1 to 6")])
.body(&[Media::json::<AdminLevel>()])
.answers(&[AnswerDoc::ok("The updated levels", &[data::<Levels>()])])
.refuses(WRONG_OR_UNKNOWN);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Levels {
    pub(super) levels: Vec<LevelRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Level")]
pub(super) struct LevelRow {
    pub(super) level: u32,
    /// Number of securities per month.
    pub(super) quota: u32,
    /// Minimum assets in HKD; null if assets do not earn this level.
    pub(super) assets: Option<u64>,
    /// Number of orders per month that must be exceeded; null if orders do not earn this level.
    pub(super) orders: Option<u32>,
}

/// Changes to a level; absent fields stay unchanged.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminLevel {
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "u32", skip_serializing_if = "has_no_default")]
    quota: Option<u32>,
    /// Minimum assets in HKD; null if assets do not earn this level.
    #[serde(default, deserialize_with = "null_or")]
    #[schemars(with = "Option<u64>", skip_serializing_if = "has_no_default")]
    assets: Option<Option<u64>>,
    /// Number of orders per month that must be exceeded; null if orders do not earn this level.
    #[serde(default, deserialize_with = "null_or")]
    #[schemars(with = "Option<u32>", skip_serializing_if = "has_no_default")]
    orders: Option<Option<u32>>,
}

impl AdminRequest<'_> {
    pub(super) fn levels(&self) -> Result<Levels, Problem> {
        let steps = self.site.core.access.steps().map_err(problem)?;
        Ok(Levels { levels: steps.iter().map(step).collect() })
    }

    pub(super) fn set_level(&self) -> Result<Levels, Problem> {
        let level =
            self.call.path_value("level").parse().ok().and_then(Level::new).ok_or_else(Problem::not_found)?;
        let change: AdminLevel =
            self.change("quota, assets and orders, whole numbers, the last two or null")?;
        if change == AdminLevel::default() {
            return Err(wrong("no changes: set quota, assets or orders"));
        }
        let AdminLevel { quota, assets, orders } = change;
        let change = StepChange { level, quota, assets, orders };
        self.site.core.access.change_level(change, &self.by, self.present).map_err(problem)?;
        self.levels()
    }
}

fn step(step: &Step) -> LevelRow {
    LevelRow { level: step.level.number(), quota: step.quota, assets: step.assets, orders: step.orders }
}
