//! Endpoints that move a world's clock: `POST /v1/worlds/{name}/step`, `/run`, `/pause`, `/reset`
//! and `/end`, and the same endpoints under `/v1/world`. `/end` stops the clock permanently.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use world::{Change, ParseSettingsError, State};

use super::create::parse_speed;
use super::request::{
    ACCOUNT, NAME, OF_A_WORLD, OwnRequest, OwnerRequest, TOO_MANY, instant, problem, wrong,
};
use super::shown::{AS_IT_IS_NOW, WorldDocument, optional_speed_schema};
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Call, Problem, Site};
use crate::world_changes::{self, Pushes, RunRequest, Stepped, Target};
use crate::worlds::World;
use crate::written::Instant;

const ABOUT: &str = "Without a body, the clock goes to the next instant at which something happens: a \
 trading segment begins or ends, a minute of a security that the world subscribes to, holds or has \
 orders in opens or fills orders, or an order expires. A step never goes beyond the end of the world, and a world that has \
 reached it has ended. The answer comes when everything that was due is done.";

pub(super) const STEP: Doc = Doc::new(Tag::Account, "stepWorld", "Move the standing clock of a world")
    .about(ABOUT)
    .parameters(&[NAME, ACCOUNT])
    .body(&[Media::json::<Step>()])
    .answers(MOVED)
    .refuses(OF_A_WORLD);

pub(super) const OWN_STEP: Doc =
    Doc::new(Tag::Account, "stepOwnWorld", "Move the standing clock of the world of this API key")
        .about(ABOUT)
        .body(&[Media::json::<Step>()])
        .answers(MOVED)
        .refuses(OF_A_WORLD);

pub(super) const END: Doc = Doc::new(Tag::Account, "endWorld", "Stop the clock of a world for good")
    .parameters(&[NAME, ACCOUNT])
    .answers(AS_IT_IS_NOW)
    .refuses(OF_A_WORLD);

pub(super) const RUN: Doc = Doc::new(Tag::Account, "runWorld", "Start the clock of a world")
    .parameters(&[NAME, ACCOUNT])
    .body(&[Media::json::<Run>()])
    .answers(AS_IT_IS_NOW)
    .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT, TOO_MANY]);

pub(super) const OWN_RUN: Doc =
    Doc::new(Tag::Account, "runOwnWorld", "Start the clock of the world of this API key")
        .body(&[Media::json::<Run>()])
        .answers(AS_IT_IS_NOW)
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT, TOO_MANY]);

pub(super) const PAUSE: Doc = Doc::new(Tag::Account, "pauseWorld", "Stop the clock of a running world")
    .parameters(&[NAME, ACCOUNT])
    .answers(AS_IT_IS_NOW)
    .refuses(OF_A_WORLD);

pub(super) const OWN_PAUSE: Doc =
    Doc::new(Tag::Account, "pauseOwnWorld", "Stop the running clock of the world of this API key")
        .answers(AS_IT_IS_NOW)
        .refuses(OF_A_WORLD);

pub(super) const RESET: Doc = Doc::new(Tag::Account, "resetWorld", "Set the clock of a world back")
    .about(
        "What the account of the world did after the instant is removed and archived. Connections of the \
         world are closed, because sequence numbers begin again.",
    )
    .parameters(&[NAME, ACCOUNT])
    .body(&[Media::json::<Reset>()])
    .answers(AS_IT_IS_NOW)
    .refuses(OF_A_WORLD);

const MOVED: &[AnswerDoc] = &[AnswerDoc::ok("The clock after the step", &[data::<Moved>()])];

/// Maximum length of a step in seconds, about 127 years, which is longer than any world.
const STEP_S_MAX: i64 = world::STEP_SECONDS_MAX as i64;

/// End of the step. At most one of `to` and `by` is given; without both, the step ends at the next
/// instant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "WorldStep")]
#[serde(deny_unknown_fields, default)]
pub(super) struct Step {
    /// `next`, `session` (the next start of regular trading), or an instant such as
    /// 2026-03-18T10:02:00+08:00.
    to: Option<String>,
    /// Markets whose sessions count for `session`; default: the markets of the world.
    markets: Option<Vec<String>>,
    /// ISO 8601 duration of days, hours, minutes and seconds, such as PT1M.
    by: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "WorldRun")]
#[serde(deny_unknown_fields, default)]
pub(super) struct Run {
    /// Market seconds per machine second, 0.001 to 1,000,000, or `max`; default: the speed of the
    /// world.
    #[schemars(schema_with = "optional_speed_schema")]
    speed: Option<Value>,
    /// Instant at which the world pauses, such as 2026-03-18T10:02:00+08:00.
    stop_at: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "WorldReset")]
#[serde(deny_unknown_fields, default)]
pub(super) struct Reset {
    /// Instant to go back to; default: the start of the world.
    at: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorldStepped")]
pub(super) struct Moved {
    now: Instant,
    /// Number of market seconds by which the clock moved.
    moved_s: i64,
    pushes: WorldPushes,
    /// Whether a connection received only the latest quotes, because the number of its pushes would
    /// have exceeded the setting push_jump.
    jumped: bool,
    /// Number of the step.
    step: u64,
    /// paused, or ended if the clock is at the end of the world.
    #[schemars(extend("enum" = ["paused", "ended"]))]
    state: &'static str,
}

/// Number of pushes that the step queued for the long connections of the world.
#[derive(Debug, Serialize, JsonSchema)]
struct WorldPushes {
    /// Number of quote, trade and clock pushes.
    quote: u64,
    /// Number of pushes about changes of orders and grids.
    trade: u64,
}

impl Step {
    fn target(&self) -> Result<Target, Problem> {
        match (self.to.as_deref(), self.by.as_deref()) {
            (Some("session"), None) => {
                let markets = self.markets.as_ref().map(|names| names.join(",").parse()).transpose();
                markets.map(Target::Session).map_err(|error: ParseSettingsError| wrong(&error.to_string()))
            }
            _ if self.markets.is_some() => Err(wrong("markets are only for a step to a session")),
            (None | Some("next"), None) => Ok(Target::Next),
            (Some(at), None) => instant(at).map(Target::To),
            (None, Some(by)) => seconds(by).map(Target::By).ok_or_else(|| {
                wrong(&format!(
                    "{:?} is not a duration: write PT1M, PT1H30M or P1D",
                    by.chars().take(40).collect::<String>()
                ))
            }),
            (Some(_), Some(_)) => Err(wrong("to and by cannot be combined")),
        }
    }
}

/// Parses an ISO 8601 duration with units of a fixed length, which excludes months and years.
fn seconds(text: &str) -> Option<i64> {
    let rest = text.strip_prefix('P')?;
    let (days, times) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((days, times)) => (days, times),
        None => (rest, ""),
    };
    let of_days = parts(days, &[('D', 86_400)])?;
    let of_times = parts(times, &[('H', 3_600), ('M', 60), ('S', 1)])?;
    let seconds = of_days.checked_add(of_times)?;
    (1..=STEP_S_MAX).contains(&seconds).then_some(seconds)
}

/// Returns the sum of numbers with units. Each unit may occur at most once, in the order of
/// `units`.
fn parts(text: &str, units: &[(char, i64)]) -> Option<i64> {
    let (mut rest, mut sum) = (text, 0_i64);
    for (unit, length) in units {
        if let Some((number, after)) = rest.split_once(*unit) {
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number: i64 = number.parse().ok().filter(|_| is_number)?;
            sum = sum.checked_add(number.checked_mul(*length)?)?;
            rest = after;
        }
    }
    rest.is_empty().then_some(sum)
}

fn run(call: &Call<'_>, site: &Site, world: &Arc<World>) -> Result<(), Problem> {
    let Run { speed, stop_at } = if call.body.is_empty() { Run::default() } else { call.json()? };
    let speed = speed.as_ref().map(parse_speed).transpose()?;
    let stop_at = stop_at.as_deref().map(instant).transpose()?;
    world_changes::run(&site.core, world, RunRequest { speed, stop_at }).map(drop).map_err(problem)
}

fn pause(site: &Site, world: &Arc<World>) -> Result<(), Problem> {
    world_changes::pause(&site.core, world).map(drop).map_err(problem)
}

fn step(call: &Call<'_>, site: &Site, world: &Arc<World>) -> Result<Moved, Problem> {
    let wish: Step = if call.body.is_empty() { Step::default() } else { call.json()? };
    let stepped = world_changes::step(&site.core, world, wish.target()?, None).map_err(problem)?;
    let Stepped { now, moved_s, pushes: Pushes { quote, trade, has_jumped, .. }, step, state } = stepped;
    let pushes = WorldPushes { quote, trade };
    Ok(Moved { now: Instant::utc(now), moved_s, pushes, jumped: has_jumped, step, state: state.as_str() })
}

impl OwnerRequest<'_> {
    pub(super) fn step(&self) -> Result<Moved, Problem> {
        step(self.call, self.site, &self.world()?)
    }

    pub(super) fn run(&self) -> Result<WorldDocument, Problem> {
        let world = self.world()?;
        run(self.call, self.site, &world)?;
        self.shown(&world)
    }

    pub(super) fn pause(&self) -> Result<WorldDocument, Problem> {
        let world = self.world()?;
        pause(self.site, &world)?;
        self.shown(&world)
    }

    pub(super) fn reset(&self) -> Result<WorldDocument, Problem> {
        let Reset { at } = if self.call.body.is_empty() { Reset::default() } else { self.call.json()? };
        let world = self.world()?;
        let at = at.as_deref().map_or(Ok(world.span.start()), instant)?;
        world_changes::reset(&self.site.core, &world, at, &self.by.to_string()).map_err(problem)?;
        self.site.links.close_set_back(world.account);
        self.shown(&world)
    }

    pub(super) fn end(&self) -> Result<WorldDocument, Problem> {
        let world = self.world()?;
        let core = &self.site.core;
        if world.standing().state == State::Running {
            world_changes::pause(core, &world).map_err(problem)?;
        }
        world.change(&core.access.database(), Change::End, core.uptime()).map_err(problem)?;
        core.world_lives.wake_streams(world.account);
        self.shown(&world)
    }
}

impl OwnRequest<'_> {
    pub(super) fn run(&self) -> Result<WorldDocument, Problem> {
        run(self.call, self.site, &self.world)?;
        self.show()
    }

    pub(super) fn pause(&self) -> Result<WorldDocument, Problem> {
        pause(self.site, &self.world)?;
        self.show()
    }

    pub(super) fn step(&self) -> Result<Moved, Problem> {
        step(self.call, self.site, &self.world)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_days_hours_minutes_and_seconds_are_parsed() {
        for (text, wanted) in [
            ("PT1M", Some(60)),
            ("PT60S", Some(60)),
            ("PT1H30M", Some(5_400)),
            ("P1D", Some(86_400)),
            ("P1DT1H1M1S", Some(90_061)),
            ("PT0S", None),
            ("P", None),
            ("PT", None),
            ("P1DT", None),
            ("PT1M1H", None),
            ("PT1.5M", None),
            ("PT-1M", None),
            ("PT+1M", None),
            ("P1M", None),
            ("1M", None),
            ("PT99999999999999999999S", None),
            ("P99999999999999999D", None),
        ] {
            assert_eq!(seconds(text), wanted, "{text}");
        }
    }
}
