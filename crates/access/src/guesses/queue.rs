//! Sign-in queue of an account whose password is being guessed.
//!
//! Attempts from unknown addresses for the same name share a token bucket of twenty tokens,
//! refilled by one token every 30 s. When the bucket is empty, an attempt gets a place in a queue:
//! a time after which the attempt is admitted regardless of other clients. The place is at the end
//! of the queue, but at most 30 s away, doubled for each failure of that address. Guesses by others
//! therefore delay the account's owner but never lock the owner out, while attackers queue behind
//! each other.
//!
//! An attacker can cheaply obtain many addresses, so addresses in one wider network share their
//! failures: see [`WiderNetwork`](super::rows::WiderNetwork).

use std::time::Duration;

use store::GuardKey;

use super::rows::{Rows, SignInKeys};

pub(super) const AT_ONCE: u32 = 20;
pub(super) const SPACING: Duration = Duration::from_secs(30);
/// Maximum wait for an address without failures for the name.
pub(super) const FRESH_WAIT: Duration = Duration::from_secs(30);
/// Number of failures at which an address's place is at the end of the queue, regardless of the
/// wait.
const FAILURES_FRESH: u32 = 7;
/// Maximum wait in the queue for an address with many failures. While the queue is longer, such
/// addresses get no place.
const QUEUE_MAX: Duration = Duration::from_secs(3_600);
/// Time for which a place remains valid after it is due.
pub(super) const PLACE_KEPT: Duration = Duration::from_secs(600);

const _: () = assert!(FRESH_WAIT.as_secs() << FAILURES_FRESH >= QUEUE_MAX.as_secs());

/// How a sign-in attempt was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Free,
    /// Through the queue, with a place that was due at this time.
    Place(Duration),
}

/// Admits a sign-in attempt, or returns the time to wait. `own_wait` is the wait imposed by the
/// address's own failures.
pub(super) fn come(keys: &SignInKeys, own_wait: Duration, rows: &mut Rows<'_>) -> Result<Turn, Duration> {
    let now = rows.now();
    if let Some(due) = rows.time_of(&keys.place) {
        let wait = due.saturating_sub(now).max(own_wait);
        if wait.is_zero() {
            rows.remove(&keys.place);
            remember(keys, rows);
            return Ok(Turn::Place(due));
        }
        return Err(wait);
    }
    // The time at which the bucket will be full if there are no further attempts.
    let full_at = rows.time_of(&keys.queue).unwrap_or_default();
    let next = full_at.saturating_sub(SPACING * (AT_ONCE - 1));
    if next <= now {
        if !own_wait.is_zero() {
            return Err(own_wait);
        }
        lengthen(&keys.queue, rows);
        return Ok(Turn::Free);
    }
    let due = match failures(keys, rows) {
        failures @ ..FAILURES_FRESH => next.min(now + FRESH_WAIT * (1 << failures)),
        _ if next <= now + QUEUE_MAX => next,
        _ => return Err(next.saturating_sub(QUEUE_MAX + now)),
    };
    let due = due.max(now + own_wait);
    lengthen(&keys.queue, rows);
    hold(&keys.place, due, rows);
    if rows.failures(&keys.pair) == 0 {
        count(keys, rows);
    }
    remember(keys, rows);
    Err(due.saturating_sub(now))
}

/// Undoes the count of an attempt whose password was right.
pub(super) fn right(keys: &SignInKeys, turn: Turn, rows: &mut Rows<'_>) {
    shorten(&keys.queue, rows);
    if turn != Turn::Free {
        keys.around.iter().for_each(|wider| rows.forgive(&wider.key));
    }
}

/// Undoes the count of an attempt whose password was not verified, and restores its place in the
/// queue if it had one.
pub(super) fn undone(keys: &SignInKeys, turn: Turn, rows: &mut Rows<'_>) {
    match turn {
        Turn::Free => shorten(&keys.queue, rows),
        Turn::Place(due) => hold(&keys.place, due, rows),
    }
}

pub(super) fn lengthen(queue: &GuardKey, rows: &mut Rows<'_>) {
    let now = rows.now();
    let full_at = rows.time_of(queue).unwrap_or_default().max(now) + SPACING;
    let full_at = full_at.min(now + QUEUE_MAX + SPACING * AT_ONCE);
    rows.put(queue, (0, full_at), full_at);
}

fn shorten(queue: &GuardKey, rows: &mut Rows<'_>) {
    if let Some(full_at) = rows.time_of(queue) {
        let full_at = full_at.saturating_sub(SPACING);
        if full_at > rows.now() { rows.put(queue, (0, full_at), full_at) } else { rows.remove(queue) }
    }
}

pub(super) fn hold(place: &GuardKey, due: Duration, rows: &mut Rows<'_>) {
    rows.put(place, (0, due), due + PLACE_KEPT);
}

/// Returns the number of failures attributed to an address: its own failures or its share of a
/// wider network's failures, whichever is greater.
fn failures(keys: &SignInKeys, rows: &Rows<'_>) -> u32 {
    let around = keys.around.iter().map(|wider| rows.failures(&wider.key) / wider.worth);
    around.fold(rows.failures(&keys.pair), u32::max)
}

/// Counts an attempt in the counters of its wider networks. A /24 or /48 network whose counter
/// exceeds its divisor no longer increments its provider's counter, so that one attacker with many
/// addresses does not delay all customers of a provider.
fn count(keys: &SignInKeys, rows: &mut Rows<'_>) {
    for wider in &keys.around {
        if rows.fail(&wider.key) > wider.worth {
            break;
        }
    }
}

/// Extends the expiry of the wider networks' counters while any of their addresses is active.
/// Otherwise an attacker could alternate between addresses until the counters expire.
fn remember(keys: &SignInKeys, rows: &mut Rows<'_>) {
    keys.around.iter().for_each(|wider| rows.touch(&wider.key));
}
