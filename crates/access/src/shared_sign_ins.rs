//! Failed sign-ins over all nodes: the rules of `throttle.rs`, applied to the database rows of one
//! name and one address, by the database's clock.
//!
//! Names are stored as digests: people type passwords where names belong.

use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};
use store::{GuardKey, GuardRow, GuardTable, Hash, PaceLimit, PaceTake, Shared};

use crate::code_guesses::{self, Guess};
use crate::failures::FORGOTTEN_AFTER;
use crate::net::network_of;
use crate::oauth::poll::{self, Poll};
use crate::random::hex;
use crate::sign_in_queue::{PLACE_KEPT_FOR, QueueState, wider_words};
use crate::throttle::{AdmittedAttempt, CounterState, Counters, Place, SignInAttempt};
use crate::{Access, AccessError, Region};

/// How long an address is known after a sign-in from it.
const KNOWN_FOR: Duration = Duration::from_secs(90 * 86_400);

impl Access {
    /// Admits an attempt to sign in, or returns how long to wait.
    pub(crate) fn begin_sign_in(
        &self,
        who: SignInAttempt<'_>,
        uptime: Duration,
    ) -> Result<Result<AdmittedAttempt, Duration>, AccessError> {
        let Some(shared) = self.accounts.shared() else { return Ok(self.guards.sign_ins.begin(who, uptime)) };
        let place = Place::of(&who);
        self.judge_sign_in(shared, who.name, place, network_of(who.address), |counters, now| {
            counters.begin(who, now)
        })
    }

    /// Uncounts an attempt whose password was right.
    pub(crate) fn sign_in_was_right(&self, attempt: AdmittedAttempt) -> Result<(), AccessError> {
        let Some(shared) = self.accounts.shared() else {
            self.guards.sign_ins.right(attempt);
            return Ok(());
        };
        let ((name, place), address) = (attempt.pair.clone(), attempt.address);
        self.judge_sign_in(shared, &name, place, address, |counters, _| counters.right(attempt))
    }

    /// Uncounts an attempt whose password was not verified.
    pub(crate) fn sign_in_was_undone(&self, attempt: &AdmittedAttempt) -> Result<(), AccessError> {
        let Some(shared) = self.accounts.shared() else {
            self.guards.sign_ins.undone(attempt);
            return Ok(());
        };
        let ((name, place), address) = (&attempt.pair, attempt.address);
        self.judge_sign_in(shared, name, *place, address, |counters, _| counters.undone(attempt))
    }

    fn judge_sign_in<T>(
        &self,
        shared: &Shared,
        name: &str,
        place: Place,
        address: IpAddr,
        judge: impl FnOnce(&mut Counters, Duration) -> T,
    ) -> Result<T, AccessError> {
        let keys = SignInKeys::of(name, place, address);
        let locks = [keys.queue.key.as_str(), keys.address.key.as_str()];
        self.asked(shared.judge(locks, &keys.all(), |table| {
            let mut counters = Counters::of(name, place, address, keys.read(table));
            let judged = judge(&mut counters, time(table.now_us));
            keys.write(&counters.state(name, place, address), table);
            judged
        }))
    }

    /// Whether a device polls too soon.
    pub(crate) fn polls_too_fast(
        &self,
        code: Hash,
        poller: Option<Region>,
        uptime: Duration,
    ) -> Result<bool, AccessError> {
        let Some(shared) = self.accounts.shared() else {
            return Ok(self.oauth.pollers.is_too_fast(code, poller, uptime));
        };
        let key = poll_key(&code, poller);
        self.asked(shared.judge([&key.key, &key.key], std::slice::from_ref(&key), |table| {
            let now = time(table.now_us);
            let known = table.get(&key).map(|row| Poll {
                last: time(row.at_us),
                interval: Duration::from_secs(u64::try_from(row.number).unwrap_or(0)),
            });
            let (is_too_fast, next) = poll::judged(known, now);
            let number = i64::try_from(next.interval.as_secs()).unwrap_or(i64::MAX);
            table.put(key.clone(), Some(row(number, next.last, next.last + poll::GONE_AFTER)));
            is_too_fast
        }))
    }

    /// Drops a device that has its tokens and polls no more.
    pub(crate) fn forget_poller(&self, code: &Hash) -> Result<(), AccessError> {
        let Some(shared) = self.accounts.shared() else {
            self.oauth.pollers.forget(code);
            return Ok(());
        };
        let keys: Vec<GuardKey> =
            Region::ALL.map(Some).into_iter().chain([None]).map(|poller| poll_key(code, poller)).collect();
        let lock = keys.last().map_or("", |key| key.key.as_str());
        self.asked(shared.judge([lock, lock], &keys, |table| {
            keys.iter().for_each(|key| table.put(key.clone(), None));
        }))
    }

    /// Admits a device code to be checked, or returns how long to wait. It counts as wrong until it
    /// is taken back.
    pub(crate) fn begin_guess(
        &self,
        guess: Guess,
        uptime: Duration,
    ) -> Result<Result<Option<PaceTake>, Duration>, AccessError> {
        let Some(shared) = self.accounts.shared() else {
            return Ok(self.guards.codes.begin(guess.address, guess.account, uptime).map(|()| None));
        };
        let limits = code_guesses::limits(guess);
        let limits: Vec<PaceLimit<'_>> = limits
            .iter()
            .map(|(key, limit)| PaceLimit {
                kind: "code",
                key,
                requests: limit.requests,
                within: limit.within,
            })
            .collect();
        Ok(self.asked(shared.take_paces(&limits))?.map(Some))
    }

    /// Takes a guess back: the code was right, or could not be checked.
    pub(crate) fn guess_was_right(&self, guess: Guess, taken: Option<&PaceTake>) -> Result<(), AccessError> {
        match self.accounts.shared().zip(taken) {
            None => {
                self.guards.codes.right(guess.address, guess.account);
                Ok(())
            }
            Some((shared, taken)) => self.asked(shared.give_back_paces(taken)),
        }
    }
}

/// The row keys of one place and one name.
#[derive(Debug)]
struct SignInKeys {
    pair: GuardKey,
    address: GuardKey,
    known: GuardKey,
    queue: GuardKey,
    place: GuardKey,
    around: [GuardKey; 2],
}

impl SignInKeys {
    fn of(name: &str, place: Place, address: IpAddr) -> SignInKeys {
        let name = digest(name);
        let from = match place {
            Place::Address(address) => address.to_string(),
            Place::Device(device) => hex(&device),
        };
        let key = |kind, key| GuardKey { kind, key };
        SignInKeys {
            pair: key("pair", format!("{name} {from}")),
            address: key("address", address.to_string()),
            known: key("known", format!("{name} {address}")),
            queue: key("queue", name.clone()),
            place: key("place", format!("{name} {address}")),
            around: wider_words(address).map(|wider| key("around", format!("{name} {wider}"))),
        }
    }

    fn all(&self) -> Vec<GuardKey> {
        let SignInKeys { pair, address, known, queue, place, around: [narrow, wide] } = self;
        [pair, address, known, queue, place, narrow, wide].map(GuardKey::clone).to_vec()
    }

    fn read(&self, table: &GuardTable) -> CounterState {
        let counter =
            |key| table.get(key).map(|row| (u32::try_from(row.number).unwrap_or(u32::MAX), time(row.at_us)));
        let at = |key| table.get(key).map(|row| time(row.at_us));
        CounterState {
            pair: counter(&self.pair),
            address: counter(&self.address),
            is_known: table.get(&self.known).is_some(),
            queue: QueueState {
                full_at: at(&self.queue),
                place: at(&self.place),
                around: self.around.each_ref().map(counter),
            },
        }
    }

    fn write(&self, state: &CounterState, table: &mut GuardTable) {
        let now = time(table.now_us);
        let counter = |(failures, last)| row(i64::from(failures), last, last + FORGOTTEN_AFTER);
        table.put(self.pair.clone(), state.pair.map(counter));
        table.put(self.address.clone(), state.address.map(counter));
        for (key, around) in self.around.iter().zip(state.queue.around) {
            table.put(key.clone(), around.map(counter));
        }
        let full_at = state.queue.full_at.filter(|full_at| *full_at > now);
        table.put(self.queue.clone(), full_at.map(|full_at| row(0, full_at, full_at)));
        table.put(self.place.clone(), state.queue.place.map(|due| row(0, due, due + PLACE_KEPT_FOR)));
        // Known since the last sign-in; written at most once a day.
        let day = Duration::from_secs(86_400);
        let is_old = table.get(&self.known).is_none_or(|known| time(known.at_us) + day < now);
        if state.is_known && is_old {
            table.put(self.known.clone(), Some(row(0, now, now + KNOWN_FOR)));
        }
    }
}

fn poll_key(code: &Hash, poller: Option<Region>) -> GuardKey {
    GuardKey { kind: "poll", key: format!("{} {}", hex(code), poller.map_or("", Region::as_str)) }
}

fn row(number: i64, at: Duration, until: Duration) -> GuardRow {
    let us = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    GuardRow { number, at_us: us(at), until_us: us(until) }
}

fn time(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

fn digest(name: &str) -> String {
    let whole: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    hex(whole.first_chunk::<16>().unwrap_or(&[0; 16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several nodes, each with nothing but the rows, decide as one process does.
    #[test]
    fn rows_and_memory_give_the_same_decisions() {
        let (mut here, mut table) = (Counters::default(), GuardTable::default());
        let start = Duration::from_secs(1_700_000_000);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut refused = 0;
        for step in 0..400_u32 {
            let now = start + Duration::from_secs(u64::from(step) * 3);
            let who = SignInAttempt { name: "ann", address: address((step % 23) as u8), device: None };
            let (place, network) = (Place::of(&who), network_of(who.address));
            let keys = SignInKeys::of(who.name, place, network);
            table.now_us = row(0, now, now).at_us;
            let mut there = Counters::of(who.name, place, network, keys.read(&table));
            let (one, other) = (here.begin(who, now), there.begin(who, now));
            assert_eq!(one.as_ref().err(), other.as_ref().err(), "step {step}");
            refused += usize::from(one.is_err());
            if let (Ok(one), Ok(other)) = (one, other) {
                match step % 41 {
                    0 => {
                        here.right(one);
                        there.right(other);
                    }
                    1 => {
                        here.undone(&one);
                        there.undone(&other);
                    }
                    _ => {}
                }
            }
            keys.write(&there.state(who.name, place, network), &mut table);
        }
        assert!((50..390).contains(&refused), "{refused}");
    }

    #[test]
    fn names_are_stored_as_digests_only() {
        let keys = SignInKeys::of("my password", Place::Device([7; 16]), [192, 0, 2, 1].into());
        assert!(keys.all().iter().all(|key| !key.key.contains("password")));
        assert_ne!(keys.queue, SignInKeys::of("ann", Place::Device([7; 16]), [192, 0, 2, 1].into()).queue);
    }
}
