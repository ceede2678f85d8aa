//! How often secrets may be guessed: passwords with a delay that grows, codes of devices with a number in a time.
//!
//! In memory, because a process that starts anew gives a guesser no more than the first tries again; bounded, because
//! a guesser chooses the keys. Time is uptime, so that nobody's clock ends a wait or makes one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use store::AccountId;

use crate::net::network_of;
use crate::throttle_line::{Lines, Own, Turn};

/// Counters of each kind that are kept at most.
pub(crate) const KEPT_MAX: usize = 20_000;
/// A counter without a failure for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);
/// Addresses that are remembered for having signed in.
const ACQUAINTED_MAX: usize = 20_000;

/// How failures turn into waiting: some are free, then one second, two, four and so on.
#[derive(Clone, Copy, Debug)]
struct Slope {
    free: u32,
    longest: Duration,
}

/// One address, or one browser that is known, at one account.
const OF_PAIR: Slope = Slope { free: 5, longest: Duration::from_secs(60) };
/// One address at all accounts. An office may share one.
const OF_ADDRESS: Slope = Slope { free: 10, longest: Duration::from_secs(60) };

impl Slope {
    fn wait(self, failures: u32) -> Duration {
        match failures.checked_sub(self.free) {
            None => Duration::ZERO,
            Some(over) => Duration::from_secs(1 << over.min(16)).min(self.longest),
        }
    }
}

/// Who tries to sign in, as what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: IpAddr,
    /// What marks a browser that has signed in to this account before.
    pub(crate) device: Option<[u8; 16]>,
}

#[derive(Debug, Default)]
pub(crate) struct SignIns {
    inner: Mutex<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    pairs: Table<(String, Place)>,
    addresses: Table<IpAddr>,
    /// Where strangers wait. Those whose browsers or addresses are known do not.
    lines: Lines,
    acquainted: Acquainted,
}

/// Where somebody tries from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Address(IpAddr),
    Device([u8; 16]),
}

/// A try that was let through, and what it counts against.
#[derive(Debug)]
pub(crate) struct Attempt {
    pair: (String, Place),
    address: IpAddr,
    /// How a stranger's turn came; nothing of those from where the account was signed in to before.
    turn: Option<Turn>,
}

impl SignIns {
    /// Lets one try through, or says how long to wait. The try counts as failed from here on, so that a thousand at once
    /// are not a thousand free ones; whoever turns out to be right says so with [`SignIns::right`].
    pub(crate) fn begin(&self, who: Try<'_>, uptime: Duration) -> Result<Attempt, Duration> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Counters { pairs, addresses, lines, acquainted } = &mut *inner;
        let address = network_of(who.address);
        let place = who.device.map_or(Place::Address(address), Place::Device);
        let known = who.device.is_some() || acquainted.knows(who.name, address);
        let pair = (who.name.to_owned(), place);
        let wait = pairs.wait(&pair, OF_PAIR, uptime);
        let turn = if known {
            if !wait.is_zero() {
                return Err(wait);
            }
            None
        } else {
            let wait = wait.max(addresses.wait(&address, OF_ADDRESS, uptime));
            let own = Own { failures: pairs.failures(&pair, uptime), wait };
            let turn = lines.come(&(pair.0.clone(), address), own, uptime)?;
            addresses.fail(address, uptime);
            Some(turn)
        };
        pairs.fail(pair.clone(), uptime);
        Ok(Attempt { pair, address, turn })
    }

    /// Takes the failure of a try back that was right, with those before it from the same place.
    pub(crate) fn right(&self, attempt: Attempt) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = attempt.turn {
            inner.addresses.forgive(&attempt.address);
            inner.lines.right(&(attempt.pair.0.clone(), attempt.address), turn);
        }
        inner.pairs.0.remove(&attempt.pair);
        inner.acquainted.meet(attempt.pair.0, attempt.address);
    }

    /// Takes the failure of a try back that was not held against anything.
    pub(crate) fn undone(&self, attempt: &Attempt) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = attempt.turn {
            inner.addresses.forgive(&attempt.address);
            inner.lines.undone(&(attempt.pair.0.clone(), attempt.address), turn);
        }
        inner.pairs.forgive(&attempt.pair);
    }
}

/// Addresses from which an account was signed in to, in the order in which they were met.
#[derive(Debug, Default)]
struct Acquainted {
    known: HashSet<(String, IpAddr)>,
    order: VecDeque<(String, IpAddr)>,
}

impl Acquainted {
    fn knows(&self, name: &str, address: IpAddr) -> bool {
        self.known.contains(&(name.to_owned(), address))
    }

    fn meet(&mut self, name: String, address: IpAddr) {
        if !self.known.insert((name.clone(), address)) {
            return;
        }
        self.order.push_back((name, address));
        if self.order.len() > ACQUAINTED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    failures: u32,
    last: Duration,
}

#[derive(Debug)]
pub(crate) struct Table<K>(HashMap<K, Counter>);

impl<K> Default for Table<K> {
    fn default() -> Table<K> {
        Table(HashMap::new())
    }
}

impl<K: Eq + Hash> Table<K> {
    fn wait(&self, key: &K, slope: Slope, uptime: Duration) -> Duration {
        let Some(counter) = self.0.get(key).filter(|counter| counter.counts(uptime)) else {
            return Duration::ZERO;
        };
        (counter.last + slope.wait(counter.failures)).saturating_sub(uptime)
    }

    pub(crate) fn failures(&self, key: &K, uptime: Duration) -> u32 {
        self.0.get(key).filter(|counter| counter.counts(uptime)).map_or(0, |counter| counter.failures)
    }

    /// How many failures there are with this one.
    pub(crate) fn fail(&mut self, key: K, uptime: Duration) -> u32 {
        if self.0.len() >= KEPT_MAX && !self.0.contains_key(&key) {
            self.make_room(uptime);
        }
        let counter = self.0.entry(key).or_insert(Counter { failures: 0, last: uptime });
        if !counter.counts(uptime) {
            counter.failures = 0;
        }
        counter.failures = counter.failures.saturating_add(1);
        counter.last = uptime;
        counter.failures
    }

    /// Lets a counter count from now on.
    pub(crate) fn touch(&mut self, key: &K, uptime: Duration) {
        if let Some(counter) = self.0.get_mut(key).filter(|counter| counter.counts(uptime)) {
            counter.last = uptime;
        }
    }

    pub(crate) fn forgive(&mut self, key: &K) {
        if let Some(counter) = self.0.get_mut(key) {
            counter.failures = counter.failures.saturating_sub(1);
            if counter.failures == 0 {
                self.0.remove(key);
            }
        }
    }

    /// The old go first, then those with the fewest failures: whoever fills the table with new keys pushes out those
    /// keys, and not the counter that holds them up.
    fn make_room(&mut self, uptime: Duration) {
        self.0.retain(|_, counter| counter.counts(uptime));
        let mut least = 0;
        while self.0.len() >= KEPT_MAX {
            least += 1;
            self.0.retain(|_, counter| counter.failures > least);
        }
    }
}

impl Counter {
    fn counts(&self, uptime: Duration) -> bool {
        self.last + FORGOTTEN_AFTER > uptime
    }
}

/// Wrong codes from one address or account, in ten minutes.
const CODES_OF_ONE: usize = 5;
const CODES_OF_ONE_WITHIN: Duration = Duration::from_secs(600);
/// Wrong codes from everybody, in a minute.
const CODES_OF_ALL: usize = 100;
const CODES_OF_ALL_WITHIN: Duration = Duration::from_secs(60);

/// Codes of devices that were typed wrong.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    inner: Mutex<WrongCodes>,
}

#[derive(Debug, Default)]
struct WrongCodes {
    of_one: HashMap<Guesser, VecDeque<Duration>>,
    of_all: VecDeque<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Guesser {
    Address(IpAddr),
    Account(AccountId),
}

impl Codes {
    /// Lets a code be looked at, or says how long to wait. It counts as wrong until [`Codes::right`] says otherwise.
    pub(crate) fn begin(
        &self,
        address: IpAddr,
        account: AccountId,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let WrongCodes { of_one, of_all } = &mut *inner;
        let guessers = [Guesser::Address(network_of(address)), Guesser::Account(account)];
        let mut wait = room(of_all, CODES_OF_ALL, CODES_OF_ALL_WITHIN, uptime);
        for guesser in &guessers {
            if let Some(times) = of_one.get_mut(guesser) {
                wait = wait.max(room(times, CODES_OF_ONE, CODES_OF_ONE_WITHIN, uptime));
            }
        }
        if !wait.is_zero() {
            return Err(wait);
        }
        of_all.push_back(uptime);
        // A hundred a minute for ten minutes, each under two keys: the table bounds itself.
        of_one.retain(|_, times| times.back().is_some_and(|last| *last + CODES_OF_ONE_WITHIN > uptime));
        guessers.iter().for_each(|guesser| of_one.entry(*guesser).or_default().push_back(uptime));
        Ok(())
    }

    pub(crate) fn right(&self, address: IpAddr, account: AccountId) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.of_all.pop_back();
        for guesser in [Guesser::Address(network_of(address)), Guesser::Account(account)] {
            if let Some(times) = inner.of_one.get_mut(&guesser) {
                times.pop_back();
            }
        }
    }
}

/// How long until there is room for one more in a window that slides; what has left it is dropped.
fn room(times: &mut VecDeque<Duration>, most: usize, within: Duration, uptime: Duration) -> Duration {
    while times.front().is_some_and(|first| *first + within <= uptime) {
        times.pop_front();
    }
    match times.front() {
        Some(first) if times.len() >= most => (*first + within).saturating_sub(uptime),
        _ => Duration::ZERO,
    }
}

/// Rows of the audit about refused logins in a minute; the rest is counted.
const ROWS_A_MINUTE: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Keeps whoever is refused again and again from filling the disk with the news of it.
#[derive(Debug, Default)]
pub(crate) struct News {
    inner: Mutex<Minute>,
}

#[derive(Debug, Default)]
struct Minute {
    since: Duration,
    told: u32,
    untold: u64,
}

/// What to write down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tell {
    /// Refusals of an earlier minute of which there is no row.
    pub(crate) untold: Option<u64>,
    /// Whether there is to be a row of this one.
    pub(crate) this: bool,
}

impl News {
    pub(crate) fn refused(&self, uptime: Duration) -> Tell {
        let mut minute = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let untold = minute.turn(uptime);
        let this = minute.told < ROWS_A_MINUTE;
        if this {
            minute.told += 1;
        } else {
            minute.untold += 1;
        }
        Tell { untold, this }
    }

    /// Refusals of an earlier minute of which there is no row, when somebody was not refused.
    pub(crate) fn untold(&self, uptime: Duration) -> Option<u64> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).turn(uptime)
    }
}

impl Minute {
    fn turn(&mut self, uptime: Duration) -> Option<u64> {
        if uptime < self.since + MINUTE {
            return None;
        }
        let untold = self.untold;
        *self = Minute { since: uptime, told: 0, untold: 0 };
        (untold > 0).then_some(untold)
    }
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
