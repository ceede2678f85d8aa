//! `/v1/admin/levels`: the ladder of levels, and what is set for one.

use access::{Level, Step, StepChange};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::office::{Office, WRONG_OR_UNKNOWN, has_no_default, problem};
use crate::kit::Problem;
use crate::kit::doc::{AnswerDoc, Doc, Media, Parameter, Tag, data};
use crate::refusal::Refusal;

pub(super) const LEVELS: Doc = Doc::new(Tag::Admin, "adminLevels", "The ladder of levels")
    .answers(&[AnswerDoc::ok("The levels", &[data::<Levels>()])]);

pub(super) const SET_LEVEL: Doc = Doc::new(
    Tag::Admin,
    "adminSetLevel",
    "Change a level; what is not named stays, and the ladder must stay one",
)
.parameters(&[Parameter::path("level", "1 to 6")])
.body(&[Media::json::<AdminLevel>()])
.answers(&[AnswerDoc::ok("The levels as they are now", &[data::<Levels>()])])
.refuses(WRONG_OR_UNKNOWN);

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

impl Office<'_> {
    pub(super) fn levels(&self) -> Result<Levels, Problem> {
        let steps = self.site.core.access.steps().map_err(problem)?;
        Ok(Levels { levels: steps.iter().map(step).collect() })
    }

    pub(super) fn set_level(&self) -> Result<Levels, Problem> {
        let level =
            self.call.path_value("level").parse().ok().and_then(Level::new).ok_or_else(Problem::not_found)?;
        let fields: Map<String, Value> = self.call.json()?;
        let change = changed_step(level, &fields).map_err(Refusal::BadQuery)?;
        self.site.core.access.change_level(change, &self.by, self.present).map_err(problem)?;
        self.levels()
    }
}

fn changed_step(level: Level, fields: &Map<String, Value>) -> Result<StepChange, String> {
    if fields.is_empty() {
        return Err("nothing to set: give quota, assets or orders".to_owned());
    }
    let mut change = StepChange { level, quota: None, assets: None, orders: None };
    for (name, value) in fields {
        let number = || value.as_u64().ok_or(format!("{name} is a whole number"));
        let small =
            || number().and_then(|number| u32::try_from(number).map_err(|_| format!("{name} is too large")));
        match (name.as_str(), value) {
            ("quota", _) => change.quota = Some(small()?),
            ("assets", Value::Null) => change.assets = Some(None),
            ("assets", _) => change.assets = Some(Some(number()?)),
            ("orders", Value::Null) => change.orders = Some(None),
            ("orders", _) => change.orders = Some(Some(small()?)),
            _ => return Err("the fields are quota, assets and orders".to_owned()),
        }
    }
    Ok(change)
}

fn step(step: &Step) -> LevelRow {
    LevelRow { level: step.level.number(), quota: step.quota, assets: step.assets, orders: step.orders }
}
