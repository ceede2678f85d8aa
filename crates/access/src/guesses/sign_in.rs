//! Brute-force limit for passwords.

use std::net::IpAddr;
use std::time::Duration;

use store::StoreError;

use super::queue::{self, Turn};
use super::rows::{Guesses, Rows, SignInKeys, Slope};
use crate::rate_limiter::network_of;

/// Backoff for one address or known browser at one account.
const OF_PAIR: Slope = Slope { free: 5, longest: Duration::from_secs(60) };
/// Backoff for one address at all accounts. It starts after more failures than the backoff for one
/// account, because the users of an office may share an address.
const OF_ADDRESS: Slope = Slope { free: 10, longest: Duration::from_secs(60) };
const DAY: Duration = Duration::from_secs(86_400);
/// Time for which an address counts as known after a successful sign-in.
const KNOWN_FOR: Duration = Duration::from_secs(90 * 86_400);

/// A sign-in attempt to be admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignInAttempt<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: IpAddr,
    /// Device id of a browser that has signed in to this account before; `None` for any other
    /// browser.
    pub(crate) device: Option<[u8; 16]>,
}

/// An admitted sign-in attempt and the keys of the rows that count it.
#[derive(Debug)]
pub(crate) struct AdmittedAttempt {
    keys: SignInKeys,
    /// How an unknown address was admitted; `None` for an address or browser that has signed in to
    /// the account before.
    turn: Option<Turn>,
}

impl Guesses {
    /// Admits a sign-in attempt, or returns the time to wait. The attempt is counted as failed
    /// before the password is verified, so that concurrent attempts are not all free.
    /// [`Guesses::sign_in_was_right`] and [`Guesses::sign_in_was_undone`] undo the count.
    pub(crate) fn begin_sign_in(
        &self,
        who: SignInAttempt<'_>,
        uptime: Duration,
    ) -> Result<Result<AdmittedAttempt, Duration>, StoreError> {
        let keys = SignInKeys::of(who.name, network_of(who.address), who.device);
        let turn = self.judge_sign_in(&keys, uptime, |rows| begin(&keys, who.device.is_some(), rows))?;
        Ok(turn.map(|turn| AdmittedAttempt { keys, turn }))
    }

    /// Undoes the count of an attempt whose password was right, and clears the earlier failures of
    /// this address or browser.
    pub(crate) fn sign_in_was_right(
        &self,
        attempt: &AdmittedAttempt,
        uptime: Duration,
    ) -> Result<(), StoreError> {
        self.judge_sign_in(&attempt.keys, uptime, |rows| right(attempt, rows))
    }

    /// Undoes the count of an attempt whose password was not verified.
    pub(crate) fn sign_in_was_undone(
        &self,
        attempt: &AdmittedAttempt,
        uptime: Duration,
    ) -> Result<(), StoreError> {
        self.judge_sign_in(&attempt.keys, uptime, |rows| undone(attempt, rows))
    }

    fn judge_sign_in<T>(
        &self,
        keys: &SignInKeys,
        uptime: Duration,
        judge: impl FnOnce(&mut Rows<'_>) -> T,
    ) -> Result<T, StoreError> {
        self.judge([&keys.queue.key, &keys.address.key], &keys.all(), uptime, judge)
    }
}

pub(super) fn begin(
    keys: &SignInKeys,
    is_known_browser: bool,
    rows: &mut Rows<'_>,
) -> Result<Option<Turn>, Duration> {
    let wait = rows.wait(&keys.pair, OF_PAIR);
    let turn = if is_known_browser || rows.get(&keys.known).is_some() {
        if !wait.is_zero() {
            return Err(wait);
        }
        None
    } else {
        let wait = wait.max(rows.wait(&keys.address, OF_ADDRESS));
        let turn = queue::come(keys, wait, rows)?;
        rows.fail(&keys.address);
        Some(turn)
    };
    rows.fail(&keys.pair);
    Ok(turn)
}

pub(super) fn right(AdmittedAttempt { keys, turn }: &AdmittedAttempt, rows: &mut Rows<'_>) {
    if let Some(turn) = turn {
        rows.forgive(&keys.address);
        queue::right(keys, *turn, rows);
    }
    rows.remove(&keys.pair);
    // The row is refreshed at most once a day, to save writes.
    let now = rows.now();
    if rows.time_of(&keys.known).is_none_or(|known| known + DAY < now) {
        rows.put(&keys.known, (0, now), now + KNOWN_FOR);
    }
}

pub(super) fn undone(AdmittedAttempt { keys, turn }: &AdmittedAttempt, rows: &mut Rows<'_>) {
    if let Some(turn) = turn {
        rows.forgive(&keys.address);
        queue::undone(keys, *turn, rows);
    }
    rows.forgive(&keys.pair);
}
