//! `POST /v1/worlds`: creates a world with an account and an API key.

use std::collections::BTreeMap;

use access::{CreatedWorld, NewWorld, WorldRefused};
use history::AsOf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use world::{Auto, Limits, Settings, Span, Speed, WorldName};

use super::request::{ACCOUNT, NAME, OF_A_WORLD, OwnerRequest, TOO_MANY, instant, problem, wrong};
use super::shown::{WorldDocument, optional_speed_schema};
use super::span::checked_span;
use crate::kit::Problem;
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::world_changes;
use crate::worlds::{LineKind, Standing, World, WorldError};

pub(super) const CREATE: Doc =
    Doc::new(Tag::Account, "createWorld", "Create a world: an account with a market clock of its own")
        .about(
            "The world has the owner's rights and one API key, which is returned only in this response. \
             Everything that uses the key sees the market at the world's instant, and trades in the \
             world's own paper account.",
        )
        .parameters(&[ACCOUNT])
        .body(&[Media::json::<CreateWorld>()])
        .answers(&[AnswerDoc::ok("The world and its API key", &[data::<Created>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT, TOO_MANY]);

pub(super) const FORK: Doc =
    Doc::new(Tag::Account, "forkWorld", "Copy a world as of an instant that it has reached")
        .about(
            "The copy has the settings and the end of the world, its own paper account with everything that \
             was done up to the instant, and its own API key. Both go on apart.",
        )
        .parameters(&[NAME, ACCOUNT])
        .body(&[Media::json::<Fork>()])
        .answers(&[AnswerDoc::ok("The new world and its API key", &[data::<Created>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT, TOO_MANY]);

pub(super) const TOKEN: Doc = Doc::new(Tag::Account, "createWorldToken", "Create another API key of a world")
    .about("For another program in the same world. The key is returned only in this response.")
    .parameters(&[NAME, ACCOUNT])
    .answers(&[AnswerDoc::ok("The world and the new API key", &[data::<Created>()])])
    .refuses(OF_A_WORLD);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateWorld {
    /// 1 to 40 of a-z, 0-9 and -, unique among the owner's worlds.
    name: String,
    /// First instant, such as 2026-03-18T09:30:00+08:00; default: the instant in `from`.
    start: Option<String>,
    /// Last instant; default: the time at which the last stored candle is complete and can fill
    /// orders.
    end: Option<String>,
    /// Market seconds per machine second, 0.001 to 1,000,000, or `max`; default: 0, with which only
    /// steps move the clock.
    #[serde(default)]
    #[schemars(schema_with = "optional_speed_schema")]
    speed: Option<Value>,
    /// closed (default): the clock of a running world skips hours in which no market is open; none:
    /// no hours are skipped.
    skip: Option<String>,
    /// Markets whose trading hours count; default: HK and US.
    markets: Option<Vec<String>>,
    /// Account to copy, as of an instant, which is also the earliest start: `account:NAME@INSTANT`,
    /// or `world:NAME@INSTANT` for a world of the owner. Operators may name another account, and a
    /// world as `world:OWNER/NAME@INSTANT`.
    from: Option<String>,
    /// Initial cash by currency, as decimals; default: the cash of a new account.
    pub(super) cash: Option<BTreeMap<String, String>>,
    /// Credit line of the account in HKD, as a decimal; default: none.
    pub(super) credit: Option<Value>,
    /// Settings of the account by name, such as `{"fees": "none", "slippage_ticks": 1}`; default:
    /// the settings of a new account.
    pub(super) settings: Option<Map<String, Value>>,
    /// none (default): no rate limit and no quota; owner: the limits of the owner.
    limits: Option<String>,
    /// Whether a started world without speed steps automatically. A step begins when its clients
    /// have read all pushes and then sent no request for the quiet time. Default: off.
    auto: Option<AutoStep>,
    /// Whether a running world pauses when its last connection is closed, and resumes when a
    /// connection is opened; default: true.
    pause_when_alone: Option<bool>,
    /// Whether night sessions count for steps and skipped time; default: false.
    overnight: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AutoStep {
    /// Quiet time in milliseconds, 1 to 60,000.
    quiet_ms: u32,
}

/// Name and instant of a copy of a world.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ForkWorld")]
#[serde(deny_unknown_fields)]
pub(super) struct Fork {
    /// Name of the new world.
    name: String,
    /// Instant at which the copy starts, with the state of the world as of that instant; default:
    /// now.
    at: Option<String>,
}

/// A new world and its API key, which cannot be retrieved later.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedWorld")]
pub(super) struct Created {
    world: WorldDocument,
    credentials: WorldCredentials,
}

#[derive(Serialize, JsonSchema)]
struct WorldCredentials {
    app_key: String,
    app_secret: String,
    access_token: String,
}

impl OwnerRequest<'_> {
    pub(super) fn create(&self) -> Result<Created, Problem> {
        let new: CreateWorld = self.call.json()?;
        let name = parse_name(&new.name)?;
        let settings = new.world_settings()?;
        let source = new.from.as_deref().map(|from| self.source(from)).transpose()?;
        let core = &self.site.core;
        let start = match (&new.start, &source) {
            (Some(start), _) => instant(start)?,
            (None, Some(source)) => source.at,
            (None, None) => return Err(wrong("start is required, or from")),
        };
        let span = checked_span(core, start, new.end.as_deref().map(instant).transpose()?)?;
        if let Some(source) = source {
            source.check(start)?;
            if new.cash.is_some() || new.credit.is_some() || new.settings.is_some() {
                return Err(wrong(
                    "from cannot be combined with cash, credit and settings, which are copied",
                ));
            }
            let by = self.by.to_string();
            return self.create_with(&name, span, settings, LineKind::Forked, |world| {
                source.copy(core, world.account, &by)
            });
        }
        let opening = self.opening(&new)?;
        let moment = core.paper_moment(AsOf::Replay(span.start()));
        core.with_reader(|reader| core.paper.check_opening(&opening, reader, &moment))
            .map_err(Problem::from_paper)?;
        self.create_with(&name, span, settings, LineKind::Created, |world| {
            let opened =
                core.with_reader(|reader| core.paper.at(world.account, reader, &moment).open(&opening));
            Ok(opened.map(drop)?)
        })
    }

    pub(super) fn fork(&self) -> Result<Created, Problem> {
        let Fork { name, at } = self.call.json()?;
        let name = parse_name(&name)?;
        let source = self.world()?;
        let core = &self.site.core;
        let (now, settings) = (source.now(core.uptime()), source.standing().settings);
        let at = at.as_deref().map_or(Ok(now), instant)?;
        world_changes::check_past(core, &source, at).map_err(problem)?;
        let span = Span::new(at, source.span.end()).map_err(|error| wrong(&error.to_string()))?;
        let by = self.by.to_string();
        self.create_with(&name, span, settings, LineKind::Forked, |world| {
            world_changes::copy_account(core, &source, world.account, at, &by)
        })
    }

    pub(super) fn token(&self) -> Result<Created, Problem> {
        let (world, core) = (self.world()?, &self.site.core);
        let created = core.access.create_world_key(world.account, &self.by, core.machine_now());
        let credentials = WorldCredentials::of(created.map_err(refused)?);
        Ok(Created { world: self.shown(&world)?, credentials })
    }

    /// Creates a world and its paper account. `begin` initializes the paper account, and `kind` is
    /// the kind of the first line in the log.
    fn create_with(
        &self,
        name: &WorldName,
        span: Span,
        settings: Settings,
        kind: LineKind,
        begin: impl FnOnce(&World) -> Result<(), WorldError>,
    ) -> Result<Created, Problem> {
        let core = &self.site.core;
        let clock = Standing::at_start(span, settings).clock([0; 32]);
        let new = NewWorld {
            owner: &self.owner,
            name: name.as_str(),
            starts_at: span.start(),
            ends_at: span.end(),
            settings: &settings.to_string(),
            is_limited: settings.limits == Limits::Owner,
            clock: &clock,
            worlds_max: core.worlds.most,
        };
        let created = core.access.create_world(&new, &self.by, core.present(AsOf::Replay(self.now)));
        let CreatedWorld { credentials, .. } = created.map_err(refused)?;
        let accounts = core.access.database();
        let world = core.worlds.of(&accounts, credentials.account_id).map_err(problem)?;
        if let Err(error) = begin(&world).and_then(|()| world_changes::begin_log(core, &world, kind)) {
            // A world must not exist without its paper account.
            world_changes::remove(core, &self.site.links, &world, &self.by).map_err(problem)?;
            return Err(problem(error));
        }
        Ok(Created { world: self.shown(&world)?, credentials: WorldCredentials::of(credentials) })
    }
}

impl WorldCredentials {
    fn of(created: access::Created) -> WorldCredentials {
        WorldCredentials {
            app_key: created.app_key,
            app_secret: created.app_secret.expose().to_owned(),
            access_token: created.access_token.expose().to_owned(),
        }
    }
}

impl CreateWorld {
    fn world_settings(&self) -> Result<Settings, Problem> {
        let usual = Settings::default();
        let refused = |error: world::ParseSettingsError| wrong(&error.to_string());
        let speed = self.speed.as_ref().map_or(Ok(usual.speed), parse_speed)?;
        let markets =
            self.markets.as_ref().map(|names| names.join(",").parse()).transpose().map_err(refused)?;
        let auto = self.auto.as_ref().map(|auto| auto.quiet_ms.to_string().parse::<Auto>()).transpose();
        let auto = auto.map_err(refused)?;
        if auto.is_some() && speed != Speed::Stepped {
            return Err(wrong("auto and speed cannot be combined: a world with a speed moves without steps"));
        }
        Ok(Settings {
            speed,
            skip: self.skip.as_deref().map_or(Ok(usual.skip), str::parse).map_err(refused)?,
            markets: markets.unwrap_or(usual.markets),
            limits: self.limits.as_deref().map_or(Ok(usual.limits), str::parse).map_err(refused)?,
            auto,
            pause_when_alone: self.pause_when_alone.unwrap_or(usual.pause_when_alone),
            overnight: self.overnight.unwrap_or(usual.overnight),
        })
    }
}

pub(super) fn parse_speed(value: &Value) -> Result<Speed, Problem> {
    let parsed = match value {
        Value::String(text) => text.parse(),
        number => number.to_string().parse(),
    };
    parsed.map_err(|error: world::ParseSettingsError| wrong(&error.to_string()))
}

fn parse_name(text: &str) -> Result<WorldName, Problem> {
    text.parse().map_err(|error: world::ParseNameError| wrong(&error.to_string()))
}

fn refused(error: WorldRefused) -> Problem {
    match error {
        WorldRefused::NameTaken | WorldRefused::TooManyKeys => Problem::conflict(error.to_string()),
        WorldRefused::Unknown => Problem::nothing_there(&error.to_string()),
        WorldRefused::TooMany(_) => Problem::too_many_worlds(error.to_string()),
        WorldRefused::OwnedByWorld => Problem::of_world(),
        WorldRefused::Access(error) => Problem::from_access(error),
    }
}
