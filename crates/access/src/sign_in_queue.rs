//! The queue for sign-ins to an account whose password is being guessed.
//!
//! Attempts from unknown addresses at a name share a token bucket of twenty, which refills by one
//! every half minute. When it is empty, an attempt gets a place in a queue: a time from which on it
//! is admitted, whatever others do. The place is at the end of the queue, but at most half a minute
//! away, doubled for each failure of that address. So the guesses of others delay the owner of an
//! account and never lock them out, while guessers wait for each other.
//!
//! Networks are cheap, so those of one wider network share their failures: see [`wider`].

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::failures::{FailureTable, KEPT_MAX};

pub(crate) const AT_ONCE: u32 = 20;
pub(crate) const SPACING: Duration = Duration::from_secs(30);
/// The longest wait of an address without a failure at the name.
pub(crate) const FRESH_WAIT: Duration = Duration::from_secs(30);
/// From this many failures on, a place is at the end of the queue, however far away that is.
const FAILURES_FRESH: u32 = 7;
/// The farthest place; a longer queue is full.
const QUEUE_MAX: Duration = Duration::from_secs(3_600);
/// How long an unused place is held.
const PLACE_KEPT: Duration = Duration::from_secs(600);

const _: () = assert!(FRESH_WAIT.as_secs() << FAILURES_FRESH >= QUEUE_MAX.as_secs());

/// A name, and an unknown network that tries to sign in to it.
pub(crate) type Stranger = (String, IpAddr);

/// The failures of a network at the name, and the wait they cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnFailures {
    pub(crate) failures: u32,
    pub(crate) wait: Duration,
}

/// How an attempt was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Free,
    /// With a place for this time.
    Place(Duration),
}

#[derive(Debug, Default)]
pub(crate) struct Queues {
    /// When the bucket of a name will be full again, without further attempts.
    full_at: HashMap<String, Duration>,
    places: HashMap<Stranger, Duration>,
    /// Networks with places, counted by their wider networks.
    around: FailureTable<(String, WiderNetwork)>,
}

/// The state of one network at one name, as stored for all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueState {
    pub(crate) full_at: Option<Duration>,
    pub(crate) place: Option<Duration>,
    /// The failures of its wider networks, narrower first.
    pub(crate) around: [Option<(u32, Duration)>; 2],
}

/// How long an unused place is held.
pub(crate) const PLACE_KEPT_FOR: Duration = PLACE_KEPT;

/// The wider networks of a network, as keys of the shared database.
pub(crate) fn wider_words(network: IpAddr) -> [String; 2] {
    wider(network).map(|wider| format!("{}/{}", wider.network, wider.worth))
}

impl Queues {
    pub(crate) fn state(&self, who: &Stranger) -> QueueState {
        QueueState {
            full_at: self.full_at.get(&who.0).copied(),
            place: self.places.get(who).copied(),
            around: wider(who.1).map(|wider| self.around.get(&(who.0.clone(), wider))),
        }
    }

    pub(crate) fn of(who: &Stranger, state: QueueState) -> Queues {
        let mut queues = Queues::default();
        queues.full_at.extend(state.full_at.map(|full_at| (who.0.clone(), full_at)));
        queues.places.extend(state.place.map(|due| (who.clone(), due)));
        for (wider, counter) in wider(who.1).into_iter().zip(state.around) {
            if let Some((failures, last)) = counter {
                queues.around.put((who.0.clone(), wider), failures, last);
            }
        }
        queues
    }

    pub(crate) fn come(
        &mut self,
        who: &Stranger,
        own: OwnFailures,
        uptime: Duration,
    ) -> Result<Turn, Duration> {
        if let Some(due) = self.places.get(who).copied().filter(|due| *due + PLACE_KEPT > uptime) {
            let wait = due.saturating_sub(uptime).max(own.wait);
            if wait.is_zero() {
                self.places.remove(who);
                self.remember(who, uptime);
                return Ok(Turn::Place(due));
            }
            return Err(wait);
        }
        let full_at = self.full_at.get(&who.0).copied().unwrap_or_default();
        let next = full_at.saturating_sub(SPACING * (AT_ONCE - 1));
        if next <= uptime {
            if !own.wait.is_zero() {
                return Err(own.wait);
            }
            self.lengthen(&who.0, uptime);
            return Ok(Turn::Free);
        }
        let due = match self.failures(who, own, uptime) {
            failures @ ..FAILURES_FRESH => next.min(uptime + FRESH_WAIT * (1 << failures)),
            _ if next <= uptime + QUEUE_MAX => next,
            _ => return Err(next.saturating_sub(QUEUE_MAX + uptime)),
        };
        let due = due.max(uptime + own.wait);
        self.lengthen(&who.0, uptime);
        self.keep(who, due, uptime);
        if own.failures == 0 {
            self.count(who, uptime);
        }
        self.remember(who, uptime);
        Err(due.saturating_sub(uptime))
    }

    /// Uncounts an attempt whose password was right.
    pub(crate) fn right(&mut self, who: &Stranger, turn: Turn) {
        self.shorten(&who.0);
        if turn != Turn::Free {
            wider(who.1).iter().for_each(|wider| self.around.forgive(&(who.0.clone(), *wider)));
        }
    }

    /// Uncounts an attempt that was not verified. If it had a place, it gets it back.
    pub(crate) fn undone(&mut self, who: &Stranger, turn: Turn) {
        match turn {
            Turn::Free => self.shorten(&who.0),
            Turn::Place(due) => {
                self.places.insert(who.clone(), due);
            }
        }
    }

    /// With a full table, a new name has no queue. That takes more names in half a minute than
    /// passwords can be checked.
    fn lengthen(&mut self, name: &str, uptime: Duration) {
        if self.full_at.len() >= KEPT_MAX && !self.full_at.contains_key(name) {
            self.full_at.retain(|_, full_at| *full_at > uptime);
            if self.full_at.len() >= KEPT_MAX {
                return;
            }
        }
        let full_at = self.full_at.entry(name.to_owned()).or_default();
        *full_at = ((*full_at).max(uptime) + SPACING).min(uptime + QUEUE_MAX + SPACING * AT_ONCE);
    }

    fn shorten(&mut self, name: &str) {
        if let Some(full_at) = self.full_at.get_mut(name) {
            *full_at = full_at.saturating_sub(SPACING);
        }
    }

    /// When the table is full, the farthest places are evicted: they belong to the addresses with
    /// the most failures.
    fn keep(&mut self, who: &Stranger, due: Duration, uptime: Duration) {
        if self.places.len() >= KEPT_MAX {
            self.places.retain(|_, due| *due + PLACE_KEPT > uptime);
        }
        if self.places.len() >= KEPT_MAX {
            let mut dues: Vec<Duration> = self.places.values().copied().collect();
            let (_, middle, _) = dues.select_nth_unstable(KEPT_MAX / 2);
            let middle = *middle;
            self.places.retain(|_, due| *due < middle);
        }
        self.places.insert(who.clone(), due);
    }

    /// Failures that count against an address: its own, or a share of those of its wider networks,
    /// whichever is more.
    fn failures(&self, who: &Stranger, own: OwnFailures, uptime: Duration) -> u32 {
        let around =
            wider(who.1).map(|wider| self.around.failures(&(who.0.clone(), wider), uptime) / wider.worth);
        around.into_iter().fold(own.failures, u32::max)
    }

    /// Counts a network for its wider ones. Each narrower one counts a few times only, so that a
    /// single guesser with many addresses does not delay all customers of their provider.
    fn count(&mut self, who: &Stranger, uptime: Duration) {
        for wider in wider(who.1) {
            if self.around.fail((who.0.clone(), wider), uptime) > wider.worth {
                break;
            }
        }
    }

    /// While one network is active, the counters of its wider networks do not expire: otherwise
    /// many could take turns and start anew.
    fn remember(&mut self, who: &Stranger, uptime: Duration) {
        wider(who.1).iter().for_each(|wider| self.around.touch(&(who.0.clone(), *wider), uptime));
    }
}

/// A network that contains others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct WiderNetwork {
    network: IpAddr,
    /// Its count is divided by this: so many count as one failure of an address in it.
    worth: u32,
}

/// The network of one customer (a /48, a /24) and of a provider (a /32, a /16).
fn wider(network: IpAddr) -> [WiderNetwork; 2] {
    let within = |keep_v4: u32, keep_v6: u32| -> IpAddr {
        match network {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - keep_v4))).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - keep_v6))).into()
            }
        }
    };
    [WiderNetwork { network: within(24, 48), worth: 4 }, WiderNetwork { network: within(16, 32), worth: 32 }]
}

#[cfg(test)]
#[path = "sign_in_queue_tests.rs"]
mod tests;
