//! `GET /v1/worlds`, `/v1/worlds/{name}` and `/v1/world`: return the state of worlds.

use access::AccountId;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::request::{ACCOUNT, NAME, OF_A_WORLD, OwnRequest, OwnerRequest, problem};
use crate::kit::doc::refusals::NOT_FOUND;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::{Problem, Site};
use crate::world_changes;
use crate::worlds::{Standing, World, hex};
use crate::written::{self, Instant};

pub(super) const LIST: Doc = Doc::new(Tag::Account, "worlds", "List the account's worlds")
    .parameters(&[ACCOUNT])
    .answers(&[AnswerDoc::ok("The worlds, oldest first", &[data::<WorldList>()])])
    .refuses(&[NOT_FOUND]);

pub(super) const SHOW: Doc = Doc::new(Tag::Account, "world", "A world and its clock")
    .parameters(&[NAME, ACCOUNT])
    .answers(AS_IT_IS_NOW)
    .refuses(OF_A_WORLD);

pub(super) const OWN: Doc = Doc::new(Tag::Account, "ownWorld", "The world of this API key, and its clock")
    .answers(AS_IT_IS_NOW)
    .refuses(&[NOT_FOUND]);

pub(super) const AS_IT_IS_NOW: &[AnswerDoc] = &[AnswerDoc::ok("The world", &[data::<WorldDocument>()])];

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorldList {
    worlds: Vec<WorldDocument>,
}

/// A world. Its account can read only data up to the world's clock.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "World")]
pub(super) struct WorldDocument {
    /// The letter `w` and a number that is never reused.
    id: String,
    name: String,
    /// Account of the world: the owner's name, a slash and the world's name.
    account: String,
    account_id: i64,
    /// created, running, paused or ended.
    #[schemars(extend("enum" = ["created", "running", "paused", "ended"]))]
    state: &'static str,
    now: Instant,
    start: Instant,
    end: Instant,
    /// Market seconds per machine second; 0 if only steps move the clock, or `max`.
    #[schemars(schema_with = "speed_schema")]
    speed: Value,
    /// Number of the last step.
    step: u64,
    /// SHA-256 of all events of the account and all pushes, in hexadecimal. Equal runs have equal
    /// digests.
    digest: String,
    /// closed if the clock skips hours in which no market is open; none otherwise.
    skip: &'static str,
    /// Markets whose trading hours count for steps and skipped time.
    markets: Vec<&'static str>,
    /// Whether night sessions count for steps and skipped time.
    overnight: bool,
    /// owner if the owner's limits apply; none otherwise.
    limits: &'static str,
    pause_when_alone: bool,
    /// Quiet time in milliseconds after which the next step begins automatically; null if steps do
    /// not begin automatically.
    auto_quiet_ms: Option<u32>,
    /// Number of open long connections to this server.
    connections: usize,
    /// Number of orders that the world's account has placed, open or not.
    orders: usize,
    /// Instant at which the running world is paused.
    stop_at: Option<Instant>,
    /// Whether the clock is paused because the last connection was closed. It resumes when a
    /// connection is opened.
    paused_alone: bool,
    /// Number of market seconds by which the clock is behind its speed, because a step takes long
    /// or a client is slow.
    lag_s: i64,
    /// With `auto`: number of requests that arrived within the quiet time after a step.
    late: u64,
    created_at: Instant,
}

fn speed_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"anyOf": [{"type": "number"}, {"const": "max"}]})
}

pub(super) fn optional_speed_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"anyOf": [{"type": "number"}, {"const": "max"}, {"type": "null"}]})
}

impl WorldDocument {
    pub(super) fn of(world: &World, owner: &str, site: &Site) -> Result<WorldDocument, Problem> {
        let digest = world.digest(&site.core).map_err(problem)?;
        let Standing { state, step, settings, stop_at, is_alone, .. } = world.standing();
        let now = world.now(site.core.uptime());
        Ok(WorldDocument {
            id: format!("w{}", world.id.0),
            name: world.name.clone(),
            account: format!("{owner}/{}", world.name),
            account_id: world.account.0,
            state: state.as_str(),
            now: Instant::utc(now),
            start: Instant::utc(world.span.start()),
            end: Instant::utc(world.span.end()),
            speed: written::speed(settings.speed),
            step,
            digest: hex(&digest),
            skip: settings.skip.as_str(),
            markets: settings.markets.iter().map(market::Market::as_str).collect(),
            overnight: settings.overnight,
            limits: settings.limits.as_str(),
            pause_when_alone: settings.pause_when_alone,
            auto_quiet_ms: settings.auto.map(|auto| auto.quiet_ms),
            connections: site.links.list(Some(world.account)).len(),
            orders: site.core.paper.order_count(world.account).map_err(Problem::from_paper)?,
            stop_at: stop_at.map(Instant::utc),
            paused_alone: is_alone,
            lag_s: world_changes::lag_s(world, site.core.uptime()),
            late: world.clients.late(),
            created_at: Instant::utc(world.created_at),
        })
    }
}

impl OwnerRequest<'_> {
    pub(super) fn list(&self) -> Result<WorldList, Problem> {
        let core = &self.site.core;
        let worlds = core.worlds.of_owner(&core.access.database(), self.owner.id).map_err(problem)?;
        Ok(WorldList { worlds: worlds.iter().map(|world| self.shown(world)).collect::<Result<_, _>>()? })
    }

    pub(super) fn show(&self) -> Result<WorldDocument, Problem> {
        self.shown(&*self.world()?)
    }

    pub(super) fn shown(&self, world: &World) -> Result<WorldDocument, Problem> {
        WorldDocument::of(world, &self.owner.name, self.site)
    }
}

impl OwnRequest<'_> {
    pub(super) fn show(&self) -> Result<WorldDocument, Problem> {
        WorldDocument::of(&self.world, &self.owner_name(self.world.owner)?, self.site)
    }

    fn owner_name(&self, owner: AccountId) -> Result<String, Problem> {
        let owner = self.site.core.access.account(owner).map_err(Problem::from_access)?;
        Ok(owner.map(|owner| owner.name.clone()).unwrap_or_default())
    }
}
