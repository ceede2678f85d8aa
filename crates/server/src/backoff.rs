//! Delays reads from clients whose requests are refused repeatedly. A refusal costs nearly as much
//! CPU as an answer from memory, and no rate limiter covers refusals. Occasional refusals, or a
//! burst of a few hundred, cause no delay.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::workers::Who;

/// Number of refusals a caller may accumulate before its reads are delayed.
const AT_ONCE: u32 = 400;
/// Maximum delay. The limit is short because the client may need to answer a ping or close the
/// connection during the delay.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Number of entries above which entries without recent refusals are evicted. [`KEPT_MAX`] is the
/// hard limit.
const KEPT_SWEEP: usize = 4_096;
const KEPT_MAX: usize = 65_536;

/// Tracks refusals per account across all transports, or per address before sign-in.
#[derive(Debug)]
pub(crate) struct Backoff {
    /// Time charged per refusal.
    each: Duration,
    all: Mutex<Debts>,
}

#[derive(Debug, Default)]
struct Debts {
    /// For each caller, the uptime at which all its refusals have expired.
    paid_at: HashMap<Who, Duration>,
    /// Table size that triggers the next eviction, which scans all entries.
    sweep_at: usize,
}

impl Backoff {
    /// Creates a tracker that tolerates `per_second` refusals per second from each caller.
    pub(crate) fn new(per_second: u32) -> Backoff {
        Backoff {
            each: Duration::from_secs(1).checked_div(per_second).unwrap_or_default(),
            all: Mutex::default(),
        }
    }

    /// Counts a refusal and returns the delay before the caller's next request is read.
    pub(crate) fn refused(&self, who: Who, uptime: Duration) -> Duration {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.paid_at.len() >= all.sweep_at.max(KEPT_SWEEP) && !all.paid_at.contains_key(&who) {
            all.sweep(uptime);
        }
        let paid_at = all.paid_at.entry(who).or_insert(uptime);
        // Capped, because concurrent connections of one caller may each be refused.
        let most = uptime + self.each * AT_ONCE + PAUSE_MAX;
        *paid_at = ((*paid_at).max(uptime) + self.each).min(most);
        paid_at.saturating_sub(uptime + self.each * AT_ONCE)
    }
}

impl Debts {
    fn sweep(&mut self, uptime: Duration) {
        self.paid_at.retain(|_, paid_at| *paid_at > uptime);
        if self.paid_at.len() >= KEPT_MAX / 2 {
            self.paid_at.clear();
        }
        self.sweep_at = self.paid_at.len().saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use access::AccountId;

    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn occasional_refusals_cause_no_delay() {
        let backoff = Backoff::new(200);
        let who = Who::Account(AccountId(1));
        for number in 0..u64::from(AT_ONCE) {
            assert_eq!(backoff.refused(who, at(number)), Duration::ZERO, "{number}");
        }
        // A steady rate of 200 refusals per second is not delayed either.
        for number in 0..10_000 {
            assert_eq!(backoff.refused(who, at(10_000 + number * 5)), Duration::ZERO, "{number}");
        }
    }

    #[test]
    fn a_flood_is_limited_to_two_hundred_reads_a_second() {
        let backoff = Backoff::new(200);
        let (flood, other) = (Who::Account(AccountId(1)), Who::address(Ipv4Addr::LOCALHOST.into()));
        let (mut now, mut refused) = (Duration::ZERO, 0_u64);
        // Simulates a connection that waits for the returned delay before it reads the next
        // request.
        while now < Duration::from_secs(60) {
            now += backoff.refused(flood, now);
            refused += 1;
        }
        assert!((12_300..=12_500).contains(&refused), "{refused} in a minute");
        assert_eq!(backoff.refused(other, now), Duration::ZERO);
        // Refusals on many concurrent connections accumulate a delay of seconds, not minutes.
        let longest = (0..100_000).map(|_| backoff.refused(flood, now)).max();
        assert_eq!(longest, Some(PAUSE_MAX));
        assert_eq!(backoff.refused(flood, now + Duration::from_secs(60)), Duration::ZERO, "it is forgiven");
    }

    #[test]
    fn the_table_is_bounded_and_idle_entries_are_evicted_first() {
        let backoff = Backoff::new(200);
        for number in 0..200_000 {
            backoff.refused(Who::Account(AccountId(number)), at(number.unsigned_abs()));
        }
        assert!(backoff.all.lock().unwrap().paid_at.len() <= KEPT_SWEEP);
        for number in 0..200_000 {
            backoff.refused(Who::Account(AccountId(number)), at(300_000));
        }
        assert!(backoff.all.lock().unwrap().paid_at.len() <= KEPT_MAX);
        assert_eq!(Backoff::new(0).refused(Who::Account(AccountId(1)), at(0)), Duration::ZERO);
    }
}
