//! Steps of a stopped clock: finds the end of a step, and does the work up to it. Every SDK can
//! request quotes, so the clock is also available in the form of a quote: `CLOCK.WORLD` returns the
//! time of the clock, and `STEP.WORLD` and `STEP-60.WORLD` step the clock of a world.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::ConnectionId;
use history::AsOf;
use market::{Market, Timestamp};
use paper::PaperError;
use serde_json::{Value, json};
use world::{Change, Markets, Settings, State, TradingHours};

use super::next::next;
use super::record::plan_write;
use crate::caller::Caller;
use crate::core::Core;
use crate::live::SlowReaders;
use crate::pushes;
use crate::refusal::Refusal;
use crate::worlds::{PushHash, Standing, World, WorldError};

/// Maximum time that a step waits for its paper account to advance. If a long step takes more time,
/// the next request continues to advance the account.
const CATCH_UP_MAX: Duration = Duration::from_secs(30);
/// Maximum time from the beginning of a step until it returns without waiting for clients. A client
/// that reads nothing for this long is disconnected.
const WRITTEN_WITHIN: Duration = Duration::from_secs(30);

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The next instant with an event that is visible in the world.
    Next,
    /// The next beginning of regular trading, in these markets or, if `None`, in the markets of the
    /// world.
    Session(Option<Markets>),
    /// This many seconds after the clock.
    By(i64),
    To(Timestamp),
}

/// Number of pushes that a step has queued for the connections of its world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pushes {
    pub(crate) quote: u64,
    pub(crate) trade: u64,
    /// Number of pushes for the connection that requested the step.
    pub(crate) of_mover: u64,
    /// Whether a connection received only the latest states, because there were too many pushes.
    pub(crate) has_jumped: bool,
}

impl Pushes {
    fn shown(self) -> Value {
        json!({"quote": self.quote, "trade": self.trade})
    }
}

impl Target {
    /// Returns the request and its response, for the log.
    fn shown(self, moved_s: i64, pushes: Pushes) -> Value {
        let to = match self {
            Target::Next => "next".into(),
            Target::Session(None) => "session".into(),
            Target::Session(Some(markets)) => {
                let names: Vec<&str> = markets.iter().map(Market::as_str).collect();
                format!("session {}", names.join(",")).into()
            }
            Target::By(seconds) => Value::from(format!("PT{seconds}S")),
            Target::To(at) => at.to_string().into(),
        };
        json!({"to": to, "moved_s": moved_s, "pushes": pushes.shown()})
    }
}

/// A completed step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stepped {
    pub(crate) now: Timestamp,
    pub(crate) moved_s: i64,
    pub(crate) pushes: Pushes,
    /// Number of the step.
    pub(crate) step: u64,
    pub(crate) state: State,
}

/// Moves the clock, and does the work up to the new instant. A step beyond the end of the world
/// stops at the end. Returns when the pushes are in the sockets of the world's connections. Blocks
/// on disk I/O and on clients that read slowly. `mover` is the connection that requested the step.
pub(crate) fn step(
    core: &Core,
    world: &Arc<World>,
    to: Target,
    mover: Option<ConnectionId>,
) -> Result<Stepped, WorldError> {
    let began = Instant::now();
    // Held until the pushes are written, because a response could otherwise precede pushes of the
    // same instant.
    let _movement = world.begin_movement();
    let stepped = step_to(core, world, to, mover)?;
    // The world is not locked during this wait, so other requests can change it while a client
    // reads slowly.
    world.clients.wait_until_written(WRITTEN_WITHIN.saturating_sub(began.elapsed()));
    Ok(stepped)
}

fn step_to(
    core: &Core,
    world: &Arc<World>,
    to: Target,
    mover: Option<ConnectionId>,
) -> Result<Stepped, WorldError> {
    let _changing = world.begin_current(core)?;
    let before = world.standing();
    before.state.after(Change::Step)?;
    world.check_log(&core.access.database())?;
    let (end, unfinished) = (world.span.end(), *world.unfinished());
    let now = match to {
        Target::Next => match unfinished {
            Some(unfinished) => unfinished,
            None => next(core, world, before.now)?.unwrap_or(end),
        },
        Target::Session(markets) => {
            let settings = before.settings;
            let settings = Settings { markets: markets.unwrap_or(settings.markets), ..settings };
            let hours = TradingHours::new(core.history.venues(), &settings);
            hours.next_session(before.now).unwrap_or(end)
        }
        Target::By(seconds) => Timestamp(before.now.0.saturating_add(seconds)),
        Target::To(at) => at,
    };
    if now <= before.now && before.now < end {
        return Err(WorldError::Back { now: before.now });
    }
    let now = now.min(end);
    match unfinished {
        Some(to) if now < to => return Err(WorldError::Unfinished { to }),
        // First complete the failed movement to its original instant.
        Some(to) if to < now => move_to(core, world, stepped(world, to)?).map(drop)?,
        Some(_) | None => {}
    }
    let after = stepped(world, now)?;
    let (moved_s, step, state) = (now.0 - before.now.0, after.step, after.state);
    let shown = |pushes: Pushes| to.shown(moved_s, pushes);
    let pushes = move_as(core, world, after, (SlowReaders::OF_STEP, mover), shown)?;
    Ok(Stepped { now, moved_s, pushes, step, state })
}

/// Returns the state of a world after a step to an instant. After a step, the world no longer
/// resumes when a connection is opened.
fn stepped(world: &World, now: Timestamp) -> Result<Standing, WorldError> {
    let before = world.standing();
    let state = if now >= world.span.end() { State::Ended } else { before.state.after(Change::Step)? };
    let (step, course, stop_at, is_alone) = (before.step + 1, None, None, false);
    Ok(Standing { state, now, step, course, stop_at, is_alone, ..before })
}

/// Completes a movement that failed before it was complete, if there is one. The caller must have
/// begun a change.
pub(super) fn finish(core: &Core, world: &Arc<World>) -> Result<(), WorldError> {
    let unfinished = *world.unfinished();
    unfinished.map_or(Ok(()), |to| move_to(core, world, stepped(world, to)?).map(drop))
}

/// Moves the clock of a world without waiting for slow clients.
pub(super) fn move_to(core: &Core, world: &Arc<World>, after: Standing) -> Result<Pushes, WorldError> {
    let shown = |pushes: Pushes| json!({"to": "running", "pushes": pushes.shown()});
    move_as(core, world, after, (SlowReaders::NotAwaited, None), shown)
}

/// Does the work up to an instant, order events first and then quotes, and adds the movement to the
/// log. The new state becomes visible at the end. `shown` returns the request and its response for
/// the log. The caller must have begun a change.
///
/// After a failure the clock does not move, and the movement is unfinished. The account's journal
/// contains its events so far, and the publisher has recorded which pushes were sent. The next
/// movement resumes there, so the log equals that of a run without a failure.
fn move_as(
    core: &Core,
    world: &Arc<World>,
    after: Standing,
    clients: (SlowReaders, Option<ConnectionId>),
    shown: impl FnOnce(Pushes) -> Value,
) -> Result<Pushes, WorldError> {
    let _movement = world.begin_movement();
    let acting = world.end_operations();
    let (now, step) = (after.now, after.step);
    let done = do_due(core, world, (now, step), clients);
    if world.was_taken_over() {
        return Err(WorldError::Moved);
    }
    let (pushes, published) = done.inspect_err(|_| world.ended(now, false))?;
    world.replace(after)?;
    world.ended(now, true);
    drop(acting);
    world.add_step(now, step, published, &shown(pushes));
    core.world_lives.wake_streams(world.account);
    // With several nodes, the step is stored immediately, because another node may take the next
    // step.
    let planned = match core.access.is_shared() && clients.0 == SlowReaders::OF_STEP {
        true => world.write_out(&core.access.database()),
        false => plan_write(core, world),
    };
    match planned {
        // The step is complete, and a job retries the write. Until then, further steps are refused.
        Err(WorldError::Store(error)) if core.worlds.writes_later => {
            tracing::warn!(%error, world = world.id.0, "cannot store the steps of a world yet");
        }
        planned => planned?,
    }
    Ok(pushes)
}

fn do_due(
    core: &Core,
    world: &Arc<World>,
    (now, step): (Timestamp, u64),
    (slow, mover): (SlowReaders, Option<ConnectionId>),
) -> Result<(Pushes, PushHash), WorldError> {
    let sent_to_mover = || mover.map_or(0, |connection| core.listeners.sent_to(world.account, connection));
    let (sent, sent_before) = (core.listeners.sent(world.account), sent_to_mover());
    if world.must_advance(core, now)? {
        advance(core, world, now)?;
        world.has_advanced(core)?;
    }
    world.add_events(core)?;
    let trade = core.listeners.sent(world.account).saturating_sub(sent);
    let of_mover = sent_to_mover().saturating_sub(sent_before);
    let published = pushes::publish_step(core, world, (now, step), mover, slow);
    let (published, hash) = published.map_err(|error| WorldError::Publish(error.into()))?;
    pushes::compare_alerts_of_world(core, world.account, AsOf::Replay(now));
    let quote = u64::try_from(published.quotes + published.trades).unwrap_or(u64::MAX);
    let of_mover = of_mover + u64::try_from(published.of_mover).unwrap_or(u64::MAX);
    Ok((Pushes { quote, trade, of_mover, has_jumped: published.has_jumped }, hash))
}

/// Advances the paper account of a world. Each order fills or expires at its own instant.
fn advance(core: &Core, world: &World, now: Timestamp) -> Result<(), WorldError> {
    let (began, moment) = (Instant::now(), core.paper_moment(AsOf::Replay(now)));
    loop {
        match core.with_reader(|reader| core.paper.at(world.account, reader, &moment).catch_up()) {
            // Each call advances the account by a few portions.
            Err(PaperError::CatchingUp { .. }) if began.elapsed() < CATCH_UP_MAX => {}
            advanced => return Ok(advanced?),
        }
    }
}

/// Values of a quote that represents a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockQuote {
    pub(crate) now: Timestamp,
    /// Number of the last step or, in the response to a step, the number of pushes that the
    /// caller's connection received.
    pub(crate) volume: i64,
    pub(crate) has_ended: bool,
}

/// Returns the clock of the caller's world, or the server's clock for an account without a world.
pub(crate) fn clock_quote(core: &Core, caller: &Caller) -> Result<ClockQuote, Refusal> {
    if !caller.who.is_of_world() {
        return Ok(ClockQuote { now: caller.now(), volume: 0, has_ended: false });
    }
    let world = core.worlds.of(&core.access.database(), caller.who.account())?;
    let standing = world.standing();
    let volume = i64::try_from(standing.step).unwrap_or(i64::MAX);
    let now = world.now(core.uptime());
    Ok(ClockQuote { now, volume, has_ended: standing.state == State::Ended })
}

/// Steps the clock of the caller's world. If the world has ended, returns its clock unchanged.
pub(crate) fn step_quote(core: &Core, caller: &Caller, to: Target) -> Result<ClockQuote, Refusal> {
    if !caller.who.is_of_world() {
        return Err(Refusal::BadQuery("this account has no world to step".to_owned()));
    }
    let world = core.worlds.of(&core.access.database(), caller.who.account())?;
    let standing = world.standing();
    if standing.state == State::Ended {
        return Ok(ClockQuote { now: standing.now, volume: 0, has_ended: true });
    }
    let stepped = step(core, &world, to, caller.connection)?;
    let volume = i64::try_from(stepped.pushes.of_mover).unwrap_or(i64::MAX);
    Ok(ClockQuote { now: stepped.now, volume, has_ended: stepped.state == State::Ended })
}
