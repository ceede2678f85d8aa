//! Limits password guessing with a delay that grows.
//!
//! In memory, because a restart gives a guesser no more than the first tries again; bounded,
//! because a guesser chooses the keys. Time is uptime, so setting the machine's clock neither ends
//! a wait nor causes one. Where several nodes share a database, the same rules run on rows there
//! (`shared_sign_ins.rs`), by the database's clock.

use std::collections::{HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::failures::{FailureTable, Slope};
use crate::net::network_of;
use crate::sign_in_queue::{OwnFailures, QueueState, Queues, Turn};

/// Maximum number of addresses that are known for having signed in.
const KNOWN_ADDRESSES_MAX: usize = 20_000;

/// One address or known browser, at one account.
const OF_PAIR: Slope = Slope { free: 5, longest: Duration::from_secs(60) };
/// One address at all accounts. An office may share one.
const OF_ADDRESS: Slope = Slope { free: 10, longest: Duration::from_secs(60) };

/// An attempt to sign in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignInAttempt<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: IpAddr,
    /// The device of a browser that has signed in to this account before.
    pub(crate) device: Option<[u8; 16]>,
}

#[derive(Debug, Default)]
pub(crate) struct SignIns {
    inner: Mutex<Counters>,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pairs: FailureTable<(String, Place)>,
    addresses: FailureTable<IpAddr>,
    /// Attempts from unknown addresses queue here. Those from known browsers and addresses do not.
    queues: Queues,
    known_addresses: KnownAddresses,
}

/// Where an attempt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Address(IpAddr),
    Device([u8; 16]),
}

/// An admitted attempt, and the counters it counts against.
#[derive(Debug)]
pub(crate) struct AdmittedAttempt {
    pub(crate) pair: (String, Place),
    pub(crate) address: IpAddr,
    /// How an unknown address was admitted; `None` for one that has signed in to the account
    /// before.
    turn: Option<Turn>,
}

impl SignIns {
    /// Admits an attempt, or returns how long to wait. It counts as failed from here on, so that
    /// concurrent attempts are not all free; [`SignIns::right`] takes that back.
    pub(crate) fn begin(
        &self,
        who: SignInAttempt<'_>,
        uptime: Duration,
    ) -> Result<AdmittedAttempt, Duration> {
        self.lock().begin(who, uptime)
    }

    /// Uncounts an attempt whose password was right, with earlier failures from the same place.
    pub(crate) fn right(&self, attempt: AdmittedAttempt) {
        self.lock().right(attempt);
    }

    /// Uncounts an attempt whose password was not verified.
    pub(crate) fn undone(&self, attempt: &AdmittedAttempt) {
        self.lock().undone(attempt);
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The place of an attempt.
    pub(crate) fn of(who: &SignInAttempt<'_>) -> Place {
        who.device.map_or(Place::Address(network_of(who.address)), Place::Device)
    }
}

/// The counters of one place at one name, as stored for all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CounterState {
    pub(crate) pair: Option<(u32, Duration)>,
    pub(crate) address: Option<(u32, Duration)>,
    pub(crate) is_known: bool,
    pub(crate) queue: QueueState,
}

impl Counters {
    /// With the counters of one place at one name only.
    pub(crate) fn of(name: &str, place: Place, address: IpAddr, state: CounterState) -> Counters {
        let stranger = (name.to_owned(), address);
        let mut counters = Counters { queues: Queues::of(&stranger, state.queue), ..Counters::default() };
        if let Some((failures, last)) = state.pair {
            counters.pairs.put((name.to_owned(), place), failures, last);
        }
        if let Some((failures, last)) = state.address {
            counters.addresses.put(address, failures, last);
        }
        if state.is_known {
            counters.known_addresses.meet(name.to_owned(), address);
        }
        counters
    }

    pub(crate) fn state(&self, name: &str, place: Place, address: IpAddr) -> CounterState {
        CounterState {
            pair: self.pairs.get(&(name.to_owned(), place)),
            address: self.addresses.get(&address),
            is_known: self.known_addresses.knows(name, address),
            queue: self.queues.state(&(name.to_owned(), address)),
        }
    }

    pub(crate) fn begin(
        &mut self,
        who: SignInAttempt<'_>,
        uptime: Duration,
    ) -> Result<AdmittedAttempt, Duration> {
        let Counters { pairs, addresses, queues, known_addresses } = self;
        let address = network_of(who.address);
        let place = Place::of(&who);
        let known = who.device.is_some() || known_addresses.knows(who.name, address);
        let pair = (who.name.to_owned(), place);
        let wait = pairs.wait(&pair, OF_PAIR, uptime);
        let turn = if known {
            if !wait.is_zero() {
                return Err(wait);
            }
            None
        } else {
            let wait = wait.max(addresses.wait(&address, OF_ADDRESS, uptime));
            let own = OwnFailures { failures: pairs.failures(&pair, uptime), wait };
            let turn = queues.come(&(pair.0.clone(), address), own, uptime)?;
            addresses.fail(address, uptime);
            Some(turn)
        };
        pairs.fail(pair.clone(), uptime);
        Ok(AdmittedAttempt { pair, address, turn })
    }

    /// Uncounts an attempt whose password was right, with earlier failures from the same place.
    pub(crate) fn right(&mut self, attempt: AdmittedAttempt) {
        if let Some(turn) = attempt.turn {
            self.addresses.forgive(&attempt.address);
            self.queues.right(&(attempt.pair.0.clone(), attempt.address), turn);
        }
        self.pairs.remove(&attempt.pair);
        self.known_addresses.meet(attempt.pair.0, attempt.address);
    }

    /// Uncounts an attempt whose password was not verified.
    pub(crate) fn undone(&mut self, attempt: &AdmittedAttempt) {
        if let Some(turn) = attempt.turn {
            self.addresses.forgive(&attempt.address);
            self.queues.undone(&(attempt.pair.0.clone(), attempt.address), turn);
        }
        self.pairs.forgive(&attempt.pair);
    }
}

/// Addresses from which an account has signed in, in order of their first sign-in.
#[derive(Debug, Default)]
struct KnownAddresses {
    known: HashSet<(String, IpAddr)>,
    order: VecDeque<(String, IpAddr)>,
}

impl KnownAddresses {
    fn knows(&self, name: &str, address: IpAddr) -> bool {
        self.known.contains(&(name.to_owned(), address))
    }

    fn meet(&mut self, name: String, address: IpAddr) {
        if !self.known.insert((name.clone(), address)) {
            return;
        }
        self.order.push_back((name, address));
        if self.order.len() > KNOWN_ADDRESSES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
