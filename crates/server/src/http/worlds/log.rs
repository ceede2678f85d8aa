//! `GET /v1/worlds/{name}/log`: returns the log of a world, line by line.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::WorldLine;

use super::request::{ACCOUNT, NAME, OF_A_WORLD, OwnerRequest, problem, wrong};
use crate::kit::Problem;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::world_changes;
use crate::worlds::hex;
use crate::written::Instant;

/// Maximum number of lines per response.
const LINES_MAX: u32 = 500;

pub(super) const LOG: Doc = Doc::new(Tag::Account, "worldLog", "What was done in a world, line by line")
    .about(
        "Events are the entries of the account's journal, with the account number 0 in their ids. Steps \
         have the hash of the quote pushes that were published since the step before. Only events and steps \
         are part of the digest.",
    )
    .parameters(&[
        NAME,
        ACCOUNT,
        Parameter::query("after", Kind::AtLeast(0), "Number of the line after which the response begins"),
        Parameter::query("limit", Kind::Between(1, LINES_MAX), "Maximum number of lines"),
    ])
    .answers(&[AnswerDoc::ok("The lines, oldest first", &[data::<WorldLog>()])])
    .refuses(OF_A_WORLD);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorldLog {
    lines: Vec<Line>,
    /// Value of `after` for the next request; null if there are no more lines.
    next: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorldLine")]
struct Line {
    /// Number of the line, starting at 1.
    number: u64,
    /// Market time at which the line was written.
    at: Instant,
    /// Number of the last step before or at the line.
    step: u64,
    /// created, forked, event, step, data, subscribed, unsubscribed, changed, reset or recovered.
    kind: String,
    /// The event, step or note.
    entry: Value,
    /// How a step was requested, and the response; null for other lines.
    request: Value,
    /// Digest of all events and steps up to and including the line, as SHA-256 in hexadecimal.
    digest: String,
}

impl From<WorldLine> for Line {
    fn from(line: WorldLine) -> Line {
        let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Line {
            number: line.number,
            at: Instant::utc(line.at),
            step: line.step,
            entry: json(&line.entry),
            request: json(&line.request),
            digest: hex(&line.digest),
            kind: line.kind,
        }
    }
}

impl OwnerRequest<'_> {
    pub(super) fn log(&self) -> Result<WorldLog, Problem> {
        let (after, limit) = (self.whole("after")?.unwrap_or(0), self.whole("limit")?);
        let limit = u32::try_from(limit.unwrap_or(LINES_MAX.into())).ok();
        let limit = limit.filter(|limit| (1..=LINES_MAX).contains(limit));
        let limit = limit.ok_or_else(|| wrong(&format!("limit is a number from 1 to {LINES_MAX}")))?;
        let world = self.world()?;
        let lines = world_changes::log_lines(&self.site.core, &world, after, limit).map_err(problem)?;
        let is_full = u32::try_from(lines.len()).is_ok_and(|count| count == limit);
        let next = lines.last().map(|line| line.number).filter(|_| is_full);
        Ok(WorldLog { lines: lines.into_iter().map(Line::from).collect(), next })
    }

    /// Parses an integer parameter of the query. Returns `None` if the parameter is absent.
    fn whole(&self, name: &str) -> Result<Option<u64>, Problem> {
        let parse = |text: String| text.parse().ok().filter(|number| *number <= i64::MAX as u64);
        let text = self.call.parameter_of(name);
        text.map(|text| parse(text).ok_or_else(|| wrong(&format!("{name} is not a number")))).transpose()
    }
}
