//! How often passwords may be guessed: with a delay that grows.
//!
//! In memory, because a process that starts anew gives a guesser no more than the first tries again; bounded, because
//! a guesser chooses the keys. Time is uptime, so that a clock that is set neither ends a wait nor makes one.

use std::collections::{HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::failures::{FailureTable, Slope};
use crate::net::network_of;
use crate::sign_in_queue::{OwnFailures, Queues, Turn};

/// Addresses that are remembered for having signed in.
const KNOWN_ADDRESSES_MAX: usize = 20_000;

/// One address, or one browser that is known, at one account.
const OF_PAIR: Slope = Slope { free: 5, longest: Duration::from_secs(60) };
/// One address at all accounts. An office may share one.
const OF_ADDRESS: Slope = Slope { free: 10, longest: Duration::from_secs(60) };

/// An attempt to sign in, before it is let through.
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
struct Counters {
    pairs: FailureTable<(String, Place)>,
    addresses: FailureTable<IpAddr>,
    /// Where attempts from unknown addresses wait. Those from known browsers and addresses do not.
    queues: Queues,
    known_addresses: KnownAddresses,
}

/// Where an attempt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Address(IpAddr),
    Device([u8; 16]),
}

/// An attempt that was let through, and what it counts against.
#[derive(Debug)]
pub(crate) struct AdmittedAttempt {
    pair: (String, Place),
    address: IpAddr,
    /// How an unknown address was let through; `None` for one that has signed in to the account before.
    turn: Option<Turn>,
}

impl SignIns {
    /// Lets an attempt through, or says how long to wait. It counts as failed from here on, so that a thousand at once
    /// are not a thousand free ones; [`SignIns::right`] takes that back.
    pub(crate) fn begin(
        &self,
        who: SignInAttempt<'_>,
        uptime: Duration,
    ) -> Result<AdmittedAttempt, Duration> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Counters { pairs, addresses, queues, known_addresses } = &mut *inner;
        let address = network_of(who.address);
        let place = who.device.map_or(Place::Address(address), Place::Device);
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

    /// Takes the failure of an attempt back whose password was right, with those before it from the same place.
    pub(crate) fn right(&self, attempt: AdmittedAttempt) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = attempt.turn {
            inner.addresses.forgive(&attempt.address);
            inner.queues.right(&(attempt.pair.0.clone(), attempt.address), turn);
        }
        inner.pairs.remove(&attempt.pair);
        inner.known_addresses.meet(attempt.pair.0, attempt.address);
    }

    /// Takes the failure of an attempt back whose password was not verified.
    pub(crate) fn undone(&self, attempt: &AdmittedAttempt) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = attempt.turn {
            inner.addresses.forgive(&attempt.address);
            inner.queues.undone(&(attempt.pair.0.clone(), attempt.address), turn);
        }
        inner.pairs.forgive(&attempt.pair);
    }
}

/// Addresses from which an account was signed in to, in the order in which they were met.
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
