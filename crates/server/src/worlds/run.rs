//! Running worlds: the clock moves at a speed, from one instant with work to the next.
//!
//! The clock of a running world never passes an instant with work before the work is done: fills and
//! pushes of the instant are queued before anything later is visible. A world that cannot keep its
//! speed falls behind.

use std::sync::Arc;
use std::time::Duration;

use market::Timestamp;
use world::{Change, Course, Speed, State, TradingHours};

use super::step::{complete, next};
use super::{Standing, World, WorldError};
use crate::core::Core;

/// Maximum number of movements of a world in one run of the job, so that no world keeps the others
/// waiting.
const MOVEMENTS_MAX: usize = 64;
/// Longest pause between two looks at a running world, because an order or a subscription may have
/// brought its next instant with work nearer.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Starts the clock of a world, at its own speed or at another one.
pub(crate) fn run(core: &Core, world: &Arc<World>, speed: Option<Speed>) -> Result<Standing, WorldError> {
    let _changing = world.begin();
    let before = world.standing();
    let state = before.state.after(Change::Run)?;
    let settings = world::Settings { speed: speed.unwrap_or(before.settings.speed), ..before.settings };
    if settings.speed == Speed::Stepped {
        return Err(WorldError::NoSpeed);
    }
    if core.worlds.running() >= core.worlds.running_max {
        return Err(WorldError::TooManyRunning(core.worlds.running_max));
    }
    let course = course(settings.speed, before.now, core.uptime());
    let until = before.now;
    let after = Standing { state, settings, course, until, ..before.clone() };
    let after = world.put(&core.access.database(), &before, after)?;
    core.worlds.moving.notify_one();
    core.world_lives.wake_streams(world.account);
    Ok(after)
}

/// Stops the clock of a running world where it is.
pub(crate) fn pause(core: &Core, world: &Arc<World>) -> Result<Standing, WorldError> {
    let _changing = world.begin();
    let (before, now) = (world.standing(), world.now(core.uptime()));
    let state = before.state.after(Change::Pause)?;
    // The clock does not move on while the change is written.
    world.limit(Timestamp(now.0 + 1));
    let after = Standing { state, now, course: None, ..before.clone() };
    let after = world.put(&core.access.database(), &before, after)?;
    // Single trades since the last movement: what is pushed agrees with what is answered.
    complete(core, world, now, after.step)?;
    core.world_lives.wake_streams(world.account);
    Ok(after)
}

fn course(speed: Speed, from: Timestamp, since: Duration) -> Option<Course> {
    match speed {
        Speed::Factor { thousandths } => Some(Course::new(from, since, thousandths)),
        Speed::Stepped | Speed::Max => None,
    }
}

/// Moves all running worlds to where their clocks are. Returns how long to wait before the next call,
/// or `None` if no world is running.
pub(crate) fn move_running(core: &Core) -> Option<Duration> {
    let waits = core.worlds.all_running().into_iter().map(|world| {
        move_one(core, &world).unwrap_or_else(|error| {
            tracing::error!(%error, world = world.id.0, "cannot move a running world");
            LOOK_EVERY
        })
    });
    waits.min()
}

/// Moves one running world, and returns how long it has nothing to do.
fn move_one(core: &Core, world: &Arc<World>) -> Result<Duration, WorldError> {
    let end = world.span.end();
    for _ in 0..MOVEMENTS_MAX {
        let _changing = world.begin();
        let before = world.standing();
        if before.state != State::Running {
            return Ok(LOOK_EVERY);
        }
        let (uptime, now) = (core.uptime(), world.now(core.uptime()));
        let hours = TradingHours::new(core.history.venues(), &before.settings);
        // Closed hours are jumped over at once; what is due in between happens at its own instant.
        let skipped = hours.skips_to(now);
        let due = match skipped {
            Some(to) => to.min(end),
            None => next(core, world, now)?.unwrap_or(end).min(end),
        };
        if skipped.is_none()
            && let Some(course) = before.course
            && course.now(uptime) < due
        {
            world.limit(due);
            return Ok(course.reaches(due).saturating_sub(uptime).min(LOOK_EVERY));
        }
        let state = if due >= end { State::Ended } else { State::Running };
        let course = match (state, skipped) {
            (State::Ended, _) => None,
            (_, Some(_)) => course(before.settings.speed, due, uptime),
            (_, None) => before.course,
        };
        let step = before.step + 1;
        let after = Standing { state, now: due, step, course, until: due, ..before.clone() };
        world.put(&core.access.database(), &before, after)?;
        complete(core, world, due, step)?;
        if state == State::Ended {
            return Ok(LOOK_EVERY);
        }
    }
    Ok(Duration::ZERO)
}
