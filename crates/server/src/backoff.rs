//! A client that is refused again and again is read more slowly: a refusal costs nearly as much as an answer from memory, and no rate
//! limiter bounds it. A client that is refused now and then, or a few hundred times at once, notices nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::workers::Who;

/// Refusals that a caller may collect at once before it is kept waiting.
const AT_ONCE: u32 = 400;
/// No pause is longer: the client may have answered a ping or closed the connection meanwhile.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// With more accounts and addresses than the first, those without recent refusals are evicted; the second is the most there may be.
const KEPT_SWEEP: usize = 4_096;
const KEPT_MAX: usize = 65_536;

/// Refusals of each account over all doors, or of each address where nobody has signed in.
#[derive(Debug)]
pub(crate) struct Backoff {
    /// The time that one refusal costs.
    each: Duration,
    all: Mutex<Debts>,
}

#[derive(Debug, Default)]
struct Debts {
    /// The uptime at which the refusals of each will have been paid off.
    paid_at: HashMap<Who, Duration>,
    /// The size at which the next eviction is due: it walks over all entries.
    sweep_at: usize,
}

impl Backoff {
    /// For so many refusals a second.
    pub(crate) fn new(per_second: u32) -> Backoff {
        Backoff {
            each: Duration::from_secs(1).checked_div(per_second).unwrap_or_default(),
            all: Mutex::default(),
        }
    }

    /// Counts a refusal. Returns how long to wait before the caller's next request is read.
    pub(crate) fn refused(&self, who: Who, uptime: Duration) -> Duration {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.paid_at.len() >= all.sweep_at.max(KEPT_SWEEP) && !all.paid_at.contains_key(&who) {
            all.sweep(uptime);
        }
        let paid_at = all.paid_at.entry(who).or_insert(uptime);
        // A caller never owes more than the longest pause, however many of its connections are refused at once.
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
    fn who_is_refused_now_and_then_is_never_kept_waiting() {
        let backoff = Backoff::new(200);
        let who = Who::Account(AccountId(1));
        for number in 0..u64::from(AT_ONCE) {
            assert_eq!(backoff.refused(who, at(number)), Duration::ZERO, "{number}");
        }
        // Nor does a steady two hundred a second.
        for number in 0..10_000 {
            assert_eq!(backoff.refused(who, at(10_000 + number * 5)), Duration::ZERO, "{number}");
        }
    }

    #[test]
    fn a_flood_is_read_two_hundred_times_a_second() {
        let backoff = Backoff::new(200);
        let (flood, other) = (Who::Account(AccountId(1)), Who::address(Ipv4Addr::LOCALHOST.into()));
        let (mut now, mut refused) = (Duration::ZERO, 0_u64);
        // As a connection does it: it waits as long as it is told and then reads the next.
        while now < Duration::from_secs(60) {
            now += backoff.refused(flood, now);
            refused += 1;
        }
        assert!((12_300..=12_500).contains(&refused), "{refused} in a minute");
        assert_eq!(backoff.refused(other, now), Duration::ZERO);
        // Many connections at once owe a few seconds, not minutes.
        let longest = (0..100_000).map(|_| backoff.refused(flood, now)).max();
        assert_eq!(longest, Some(PAUSE_MAX));
        assert_eq!(backoff.refused(flood, now + Duration::from_secs(60)), Duration::ZERO, "it is forgiven");
    }

    #[test]
    fn what_is_remembered_is_bounded_and_quiet_ones_go_first() {
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
