//! The clock in the form of a quote, because every SDK can request quotes. `CLOCK.WORLD` shows the
//! clock, and `STEP.WORLD` and `STEP-60.WORLD` move the clock of a world.

use market::Timestamp;
use world::State;

use super::step::{Target, step};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

/// The fields of a clock in a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockQuote {
    pub(crate) now: Timestamp,
    /// Number of the last step. After a step, the number of pushes that the caller's connection
    /// received.
    pub(crate) volume: i64,
    pub(crate) has_ended: bool,
}

/// Returns the clock of the caller's world, or of the server for other accounts.
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

/// Moves the clock of a world. The clock of an ended world does not move.
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
