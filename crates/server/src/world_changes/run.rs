//! Runs worlds. The clock of a running world moves from one instant with work to the next, at a
//! speed or automatically in steps.
//!
//! The clock of a running world never passes an instant before the work of that instant is done, so
//! fills and pushes are queued before later data is visible. The clock moves on when the clients
//! have read these pushes. A world whose work takes longer than its speed allows falls behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::RunOutcome;
use market::Timestamp;
use world::{Auto, Change, Course, Speed, State, TradingHours};

use super::next::next;
use super::step::{finish, move_to};
use crate::core::Core;
use crate::mailbox::{ClosedBy, Kick, Need};
use crate::worlds::{NextStep, Standing, World, WorldError};

/// Maximum duration of one run of the job. Worlds that are started during a run are moved in the
/// next run.
const RUN_MAX: Duration = Duration::from_millis(20);
/// Maximum pause between checks of a running world, because an order or a subscription may have
/// added an earlier instant with work.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Pause before a world tries again to resume, if the maximum number of worlds runs on all nodes.
const RESUME_AGAIN: Duration = Duration::from_secs(1);
/// Pause before the next check of a world that is being changed by a request.
const LOOK_SOON: Duration = Duration::from_millis(1);

/// Options of a request to run a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunRequest {
    /// Requested speed; `None` for the speed in the settings of the world.
    pub(crate) speed: Option<Speed>,
    /// Instant at which the world pauses.
    pub(crate) stop_at: Option<Timestamp>,
}

/// Result of checking a running world.
enum Turn {
    /// The clock was moved, started or stopped.
    Moved,
    /// The world has no work for this time, unless a client reports its flow or sends a request.
    Waits(Duration),
}

/// Starts the clock of a world, at the requested speed or at the speed in its settings.
pub(crate) fn run(core: &Core, world: &Arc<World>, request: RunRequest) -> Result<Standing, WorldError> {
    let _changing = world.begin_current(core)?;
    world.standing().state.after(Change::Run)?;
    finish(core, world)?;
    let before = world.standing();
    let state = before.state.after(Change::Run)?;
    let speed = request.speed.unwrap_or(before.settings.speed);
    let settings = world::Settings { speed, ..before.settings };
    if speed == Speed::Stepped && settings.auto.is_none() {
        return Err(WorldError::NoSpeed);
    }
    if request.stop_at.is_some_and(|stop_at| stop_at <= before.now) {
        return Err(WorldError::Back { now: before.now });
    }
    take_run_slot(core, world)?;
    let course = course(speed, before.now, core.uptime());
    let (until, stop_at) = (before.now, request.stop_at);
    let after = Standing { state, settings, course, until, stop_at, is_alone: false, ..before.clone() };
    // Cleared before the world runs, so that the end of a connection in the meantime is not
    // cleared.
    world.clients.started();
    let after = world.put(&core.access.database(), &before, after);
    let after = after.inspect_err(|_| world.free_run_slot())?;
    core.worlds.moving.notify_one();
    core.world_lives.wake_streams(world.account);
    Ok(after)
}

/// Counts the world as running. Fails if the maximum number of worlds is running over all nodes, or
/// if the world runs on another node.
fn take_run_slot(core: &Core, world: &World) -> Result<(), WorldError> {
    match core.access.run_world(world.account, core.machine_now(), core.worlds.running_max)? {
        RunOutcome::Runs(slot) => {
            world.hold_run_slot(slot);
            Ok(())
        }
        RunOutcome::RunsElsewhere => Err(WorldError::RunsElsewhere),
        RunOutcome::TooMany => Err(WorldError::TooManyRunning(core.worlds.running_max)),
    }
}

/// Pauses a running world at the current instant of its clock. A world that is paused without
/// connections then no longer resumes automatically.
pub(crate) fn pause(core: &Core, world: &Arc<World>) -> Result<Standing, WorldError> {
    let _changing = world.begin();
    let (before, now) = (world.standing(), world.now(core.uptime()));
    let state = match before.state {
        State::Paused if before.is_alone => State::Paused,
        state => state.after(Change::Pause)?,
    };
    // The clock does not move while the change is written.
    world.limit(Timestamp(now.0 + 1));
    let after = stop(core, world, &before, Standing { state, now, ..before.clone() })?;
    // Publish single trades since the last movement, so that pushes agree with responses.
    move_to(core, world, after.clone())?;
    Ok(after)
}

/// Pauses all running worlds at the current instants of their clocks, because the server stops.
pub(crate) fn pause_all(core: &Core) {
    let moving = core.worlds.all_moving();
    for world in moving.iter().filter(|world| world.standing().state == State::Running) {
        match pause(core, world) {
            // The world has ended or was paused in the meantime.
            Ok(_) | Err(WorldError::WrongState(_)) => {}
            Err(error) => tracing::warn!(%error, world = world.id.0, "cannot pause a running world"),
        }
    }
}

/// Stores that the clock of a world is stopped.
fn stop(core: &Core, world: &Arc<World>, before: &Standing, after: Standing) -> Result<Standing, WorldError> {
    let after = Standing { course: None, stop_at: None, is_alone: false, ..after };
    let after = world.put(&core.access.database(), before, after)?;
    // Another world may run on any node as soon as this request is answered.
    core.access.write_freed_slots();
    core.world_lives.wake_streams(world.account);
    Ok(after)
}

fn course(speed: Speed, from: Timestamp, since: Duration) -> Option<Course> {
    match speed {
        Speed::Factor { thousandths } => Some(Course::new(from, since, thousandths)),
        Speed::Stepped | Speed::Max => None,
    }
}

/// Moves all running worlds up to the current instants of their clocks, one instant of each world
/// in turn. Skips a world whose clients have not read its pushes. Returns the time to wait before
/// the next call, or `None` if no world is running.
pub(crate) fn move_running(core: &Core) -> Option<Duration> {
    let (worlds, began) = (core.worlds.all_moving(), Instant::now());
    loop {
        let (mut wait, mut has_moved) = (None, false);
        for world in &worlds {
            let turn = turn(core, world).unwrap_or_else(|error| {
                tracing::error!(%error, world = world.id.0, "cannot move a running world");
                match error {
                    // A world that can no longer be moved is paused.
                    WorldError::LogFull => pause(core, world).map(drop).unwrap_or_default(),
                    // Another process has deleted the world.
                    WorldError::Unknown => forget(core, world),
                    _ => {}
                }
                Turn::Waits(LOOK_EVERY)
            });
            match turn {
                Turn::Moved => has_moved = true,
                Turn::Waits(time) => wait = Some(wait.map_or(time, |wait: Duration| wait.min(time))),
            }
        }
        match has_moved {
            false => return wait,
            true if began.elapsed() >= RUN_MAX => return Some(Duration::ZERO),
            true => {}
        }
    }
}

fn forget(core: &Core, world: &World) {
    core.worlds.forget(world.account);
    core.alerts.forget(world.account);
    core.world_lives.forget(world.account, Kick::Closed(ClosedBy::Owner));
}

/// Moves a running world to its next instant with work, if that instant is due.
fn turn(core: &Core, world: &Arc<World>) -> Result<Turn, WorldError> {
    // Requests that waited for the last movement are answered before the next movement.
    if world.has_waiting() {
        return Ok(Turn::Waits(LOOK_SOON));
    }
    let Some(_changing) = world.try_begin() else { return Ok(Turn::Waits(LOOK_SOON)) };
    let (before, uptime) = (world.standing(), core.uptime());
    match before.state {
        State::Running => {}
        State::Paused if before.is_alone => return go_on(core, world, &before),
        State::Created | State::Paused | State::Ended => return Ok(Turn::Waits(LOOK_EVERY)),
    }
    if before.settings.pause_when_alone && world.clients.is_lost() {
        let (state, now) = (State::Paused, world.now(uptime));
        // The clock does not move while the change is written.
        world.limit(Timestamp(now.0 + 1));
        let after = Standing { state, now, course: None, is_alone: true, ..before.clone() };
        world.put(&core.access.database(), &before, after)?;
        core.world_lives.wake_streams(world.account);
        return Ok(Turn::Moved);
    }
    if let Some(time) = held_for(world, &before, uptime) {
        return Ok(Turn::Waits(time));
    }
    move_on(core, world, &before)
}

/// Returns how long the clock of a world waits for its clients before the next check, or `None` if
/// the clock may move.
fn held_for(world: &World, before: &Standing, uptime: Duration) -> Option<Duration> {
    let Some(quiet) = quiet(before) else {
        return (!world.clients.are_ready(Need::Written)).then_some(LOOK_EVERY);
    };
    match world.clients.next_step(quiet, uptime) {
        NextStep::Due => None,
        NextStep::In(time) => Some(time.min(LOOK_EVERY)),
        NextStep::Waits => Some(LOOK_EVERY),
    }
}

/// Returns the quiet time after which a world steps automatically, or `None` if it has a speed.
fn quiet(standing: &Standing) -> Option<Duration> {
    let auto = standing.settings.auto.filter(|_| standing.settings.speed == Speed::Stepped);
    auto.map(|Auto { quiet_ms }| Duration::from_millis(quiet_ms.into()))
}

/// Resumes a world that was paused because it had no connections, once a connection is ready.
fn go_on(core: &Core, world: &Arc<World>, before: &Standing) -> Result<Turn, WorldError> {
    let (now, uptime) = (before.now, core.uptime());
    match world.clients.ready_in(uptime) {
        Some(Duration::ZERO) if core.worlds.may_resume(uptime) => {}
        Some(time) => return Ok(Turn::Waits(time.clamp(LOOK_SOON, LOOK_EVERY))),
        None => return Ok(Turn::Waits(LOOK_EVERY)),
    }
    match take_run_slot(core, world) {
        Ok(()) => {}
        Err(WorldError::TooManyRunning(_)) => {
            core.worlds.resume_after(uptime + RESUME_AGAIN);
            return Ok(Turn::Waits(LOOK_EVERY));
        }
        // The other node decides when the world pauses and resumes.
        Err(WorldError::RunsElsewhere) => {
            world.replace(Standing { is_alone: false, ..before.clone() })?;
            return Ok(Turn::Moved);
        }
        Err(error) => return Err(error),
    }
    let course = course(before.settings.speed, now, uptime);
    let after = Standing { state: State::Running, course, until: now, is_alone: false, ..before.clone() };
    // Cleared before the world runs, so that the end of a connection in the meantime is not
    // cleared.
    world.clients.started();
    let resumed = world.put(&core.access.database(), before, after);
    resumed.inspect_err(|_| world.free_run_slot())?;
    core.world_lives.wake_streams(world.account);
    Ok(Turn::Moved)
}

/// Moves a world to its next instant with work, or lets its clock run up to that instant.
fn move_on(core: &Core, world: &Arc<World>, before: &Standing) -> Result<Turn, WorldError> {
    let (end, uptime) = (world.span.end(), core.uptime());
    let now = world.now(uptime);
    let hours = TradingHours::new(core.history.venues(), &before.settings);
    // Closed hours are skipped, except for instants with work.
    let skips_to = hours.skips_to(now);
    let unfinished = *world.unfinished();
    let due = match unfinished {
        Some(unfinished) => unfinished,
        None => {
            let times = [next(core, world, now)?, skips_to, before.stop_at];
            times.into_iter().flatten().fold(end, Timestamp::min).max(now)
        }
    };
    if skips_to.is_none()
        && unfinished.is_none()
        && let Some(course) = before.course
        && course.now(uptime) < due
    {
        world.limit(due);
        return Ok(Turn::Waits(course.reaches(due).saturating_sub(uptime).min(LOOK_EVERY)));
    }
    let state = match () {
        () if due >= end => State::Ended,
        () if before.stop_at.is_some_and(|stop_at| stop_at <= due) => State::Paused,
        () => State::Running,
    };
    let course = match skips_to {
        Some(_) => course(before.settings.speed, due, uptime),
        None => before.course,
    };
    let step = before.step + 1;
    let (course, stop_at) = match state {
        State::Running => (course, before.stop_at),
        State::Created | State::Paused | State::Ended => (None, None),
    };
    let after = Standing { state, now: due, step, course, until: due, stop_at, ..before.clone() };
    world.check_log(&core.access.database())?;
    move_to(core, world, after)?;
    if let Some(quiet) = quiet(before) {
        world.clients.stepped(core.uptime(), quiet);
    }
    Ok(Turn::Moved)
}

/// Returns the number of market seconds by which a running world is behind its speed.
pub(crate) fn lag_s(world: &World, uptime: Duration) -> i64 {
    let standing = world.standing();
    match standing.course {
        Some(course) if standing.state == State::Running => {
            course.now(uptime).0.saturating_sub(world.now(uptime).0).max(0)
        }
        _ => 0,
    }
}
