//! Rate limits. The other server counts a request when it arrives, at an unknown instant between
//! sending and the response. This limiter therefore counts a request until one window after its
//! **response**, so no window of the other server contains more requests than the limit.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

/// Length of the window in which history requests are counted, in seconds.
pub const WINDOW_S: u64 = 30;
/// Maximum number of history requests in a window. The published limit is 60; the difference covers
/// requests that the user sends with other programs.
const HISTORY_MAX: u32 = 55;
/// Maximum number of requests per second, of all commands. The published limit is 10.
const SECOND_MAX: u32 = 8;
/// Maximum number of pending requests. The published limit is 5.
const IN_WORK_MAX: usize = 2;
/// The same for a server that the user operates. While this process stores a page, the server
/// prepares the next ones.
const IN_WORK_UNLIMITED: usize = 4;
/// Time to wait after the response "too many requests".
const TOO_FAST_WAIT: Duration = Duration::from_secs(30);
/// Time for which the rate is halved after that wait.
const SLOW_TIME: Duration = Duration::from_secs(600);
/// Maximum number of halvings that apply together.
const HALVINGS_MAX: u32 = 4;
/// Maximum wait after internal errors and timeouts.
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// The limit toward which a request counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Command 27.
    History,
    /// Every other command.
    Other,
}

/// At most `count` requests in any `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    count: u32,
    window: Duration,
}

/// Rate limits of both kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    history: Limit,
    all: Limit,
    in_work: usize,
}

/// A row of `rate_limit` in the user profile: a bucket of `burst` tokens that refills by `limit`
/// tokens per second. Negative values mean unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileLimit {
    pub kind: Kind,
    pub limit: i32,
    pub burst: i32,
}

/// Share of the rate that a mirror may use, in thousandths: above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateFactor(NonZeroU32);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a rate: write a number from 0.001 to 1 with at most three decimals")]
pub struct ParseRateError(String);

/// When a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Ready,
    /// Not before this instant.
    Wait(Duration),
    /// After one of the pending requests is answered.
    InWork,
}

/// A sent request. Pass it to [`Pace::answered`].
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "a request counts as in work until it is answered"]
pub struct Ticket(u64);

/// Result of a request, as far as it affects the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A response, or a refusal that concerns only this security.
    Served,
    /// 3/301606: too many requests.
    TooFast,
    /// 301602 (internal error), a timeout, or a lost connection.
    Failed,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    id: u64,
    kind: Kind,
    at: Duration,
    answered: Option<Duration>,
}

/// Rate limiter of one mirror. Instants are durations since a fixed epoch of the caller, such as
/// the Unix epoch. If the caller's clock goes back, the latest earlier instant is used.
#[derive(Clone, Debug)]
pub struct Pace {
    limits: RateLimits,
    /// Requests that count toward the limit, in the order of sending.
    sent: VecDeque<Sent>,
    next_id: u64,
    latest: Duration,
    paused_until: Duration,
    /// Instant of the last refusal. Requests that were pending then are refused for the same
    /// reason.
    refused_at: Option<Duration>,
    halvings: u32,
    slow_until: Duration,
    /// Instant of the last failure.
    failed_at: Option<Duration>,
    failures: u32,
}

impl Limit {
    /// Returns the limit multiplied by `thousandths / 1000`. If the result is less than one
    /// request, the window is extended instead.
    fn scaled(self, thousandths: u32) -> Limit {
        let product = u64::from(self.count) * u64::from(thousandths);
        match u32::try_from(product / 1000) {
            Ok(0) | Err(_) => {
                let window = u64::try_from(self.window.as_nanos()).unwrap_or(u64::MAX);
                let nanos = window.saturating_mul(1000).div_ceil(product.max(1));
                Limit { count: 1, window: Duration::from_nanos(nanos) }
            }
            Ok(count) => Limit { count, window: self.window },
        }
    }
}

impl RateLimits {
    /// The limits of a mirror unless the profile has lower ones.
    pub const PUBLISHED: RateLimits = RateLimits {
        history: Limit { count: HISTORY_MAX, window: Duration::from_secs(WINDOW_S) },
        all: Limit { count: SECOND_MAX, window: Duration::from_secs(1) },
        in_work: IN_WORK_MAX,
    };

    /// Unlimited, for a server that the user operates.
    pub const UNLIMITED: RateLimits = RateLimits {
        history: Limit { count: u32::MAX, window: Duration::from_secs(1) },
        all: Limit { count: u32::MAX, window: Duration::from_secs(1) },
        in_work: IN_WORK_UNLIMITED,
    };

    /// Returns the limits for this user profile. A bucket permits `burst + limit × s` requests in s
    /// seconds, which limits the requests in a window. Within a window, requests are not spaced
    /// evenly.
    pub fn of_profile(profile: &[ProfileLimit]) -> RateLimits {
        let mut limits = RateLimits::PUBLISHED;
        for row in profile {
            let limit = match row.kind {
                Kind::History => &mut limits.history,
                Kind::Other => &mut limits.all,
            };
            let (Ok(per_second), Ok(burst)) = (u64::try_from(row.limit), u64::try_from(row.burst)) else {
                continue;
            };
            let permitted = u32::try_from(burst + per_second * limit.window.as_secs()).unwrap_or(u32::MAX);
            limit.count = limit.count.min(permitted.max(1));
        }
        limits
    }

    /// Returns the limits multiplied by a factor, which leaves the rest to other programs of the
    /// same user.
    pub fn scaled(self, factor: RateFactor) -> RateLimits {
        self.by(factor.0.get())
    }

    fn by(self, thousandths: u32) -> RateLimits {
        let (history, all) = (self.history.scaled(thousandths), self.all.scaled(thousandths));
        RateLimits { history, all, in_work: self.in_work }
    }

    /// Returns the maximum number of pending requests.
    pub fn in_work(&self) -> usize {
        self.in_work
    }

    fn is_unlimited(&self) -> bool {
        *self == RateLimits::UNLIMITED
    }

    /// Returns how long a number of requests takes, without the response times.
    pub fn time_for(&self, history: u64, other: u64) -> Duration {
        let of = |limit: Limit, requests: u64| {
            let nanos = limit.window.as_nanos().saturating_mul(u128::from(requests));
            let nanos = nanos.div_ceil(u128::from(limit.count.max(1)));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        of(self.history, history).max(of(self.all, history)).saturating_add(of(self.all, other))
    }
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits::PUBLISHED
    }
}

impl RateFactor {
    pub const FULL: RateFactor = RateFactor(NonZeroU32::MIN.saturating_add(999));

    pub fn new(thousandths: u32) -> Option<RateFactor> {
        NonZeroU32::new(thousandths).filter(|n| n.get() <= 1000).map(RateFactor)
    }

    pub fn thousandths(self) -> u32 {
        self.0.get()
    }
}

impl FromStr for RateFactor {
    type Err = ParseRateError;

    fn from_str(text: &str) -> Result<RateFactor, ParseRateError> {
        let wrong = || ParseRateError(text.chars().take(40).collect());
        match market::parse_scaled(text.trim().as_bytes(), 3) {
            Ok((value, true)) => u32::try_from(value).ok().and_then(RateFactor::new).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for RateFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:03}", self.0.get() % 1000);
        match decimals.trim_end_matches('0') {
            "" => f.pad(&(self.0.get() / 1000).to_string()),
            decimals => f.pad(&format!("0.{decimals}")),
        }
    }
}

impl Pace {
    pub fn new(limits: RateLimits) -> Pace {
        Pace {
            limits,
            sent: VecDeque::new(),
            next_id: 0,
            latest: Duration::ZERO,
            paused_until: Duration::ZERO,
            refused_at: None,
            halvings: 0,
            slow_until: Duration::ZERO,
            failed_at: None,
            failures: 0,
        }
    }

    /// Restores the limiter after a restart. `recent` is the result of [`Pace::recent`], so a
    /// window that contains the restart is limited too. `in_work` is the number of requests that
    /// may have been pending when the process ended. They count as answered now.
    pub fn restored(
        limits: RateLimits,
        recent: impl IntoIterator<Item = Duration>,
        in_work: usize,
        now: Duration,
    ) -> Pace {
        let mut pace = Pace::new(limits);
        let mut recent: Vec<Duration> = recent.into_iter().map(|at| at.min(now)).collect();
        recent.sort_unstable();
        recent.extend(std::iter::repeat_n(now, in_work));
        for at in recent {
            let id = pace.next_id;
            pace.next_id += 1;
            pace.sent.push_back(Sent { id, kind: Kind::History, at, answered: Some(at) });
        }
        pace.latest = now;
        pace
    }

    /// Sends nothing before an instant.
    pub fn pause(&mut self, until: Duration) {
        self.paused_until = self.paused_until.max(until);
    }

    /// Returns when the history requests that count toward the limit were answered.
    pub fn recent(&self) -> impl Iterator<Item = Duration> + '_ {
        let history = self.sent.iter().filter(|sent| sent.kind == Kind::History);
        history.filter_map(|sent| sent.answered)
    }

    /// Replaces the limits, after the profile was read or the user has changed the factor.
    pub fn set_limits(&mut self, limits: RateLimits) {
        self.limits = limits;
    }

    /// Returns when a request may be sent.
    pub fn next(&mut self, kind: Kind, now: Duration) -> Next {
        let now = self.advance(now);
        if now < self.paused_until {
            return Next::Wait(self.paused_until);
        }
        if self.in_work() >= self.limits.in_work {
            return Next::InWork;
        }
        let limits = self.effective();
        let all = self.wait(limits.all, now, |_| true);
        let history = match kind {
            Kind::History => self.wait(limits.history, now, |sent| sent == Kind::History),
            Kind::Other => Next::Ready,
        };
        match (all, history) {
            (Next::Ready, other) | (other, Next::Ready) => other,
            (Next::Wait(a), Next::Wait(b)) => Next::Wait(a.max(b)),
            _ => Next::InWork,
        }
    }

    /// Records that a request is sent now.
    pub fn sent(&mut self, kind: Kind, now: Duration) -> Ticket {
        let at = self.advance(now);
        let id = self.next_id;
        self.next_id += 1;
        self.sent.push_back(Sent { id, kind, at, answered: None });
        Ticket(id)
    }

    /// Records that a request is answered now.
    pub fn answered(&mut self, ticket: Ticket, reply: Reply, now: Duration) {
        let now = self.advance(now);
        let Some(sent) = self.sent.iter_mut().find(|sent| sent.id == ticket.0) else { return };
        sent.answered = Some(now);
        // Requests that were pending together are refused together, which counts as one event.
        let sent_at = sent.at;
        let is_known = |event: Option<Duration>| event.is_some_and(|at| sent_at <= at);
        match reply {
            Reply::Served => {
                if !is_known(self.failed_at) {
                    self.failures = 0;
                }
            }
            Reply::TooFast => {
                if !is_known(self.refused_at) {
                    self.refused_at = Some(now);
                    self.halvings = (self.halvings + 1).min(HALVINGS_MAX);
                    self.paused_until = self.paused_until.max(now + TOO_FAST_WAIT);
                    self.slow_until = self.paused_until + SLOW_TIME;
                }
            }
            Reply::Failed => {
                if !is_known(self.failed_at) {
                    self.failed_at = Some(now);
                    let wait = Duration::from_secs(1 << self.failures.min(6)).min(BACKOFF_MAX);
                    self.failures = self.failures.saturating_add(1);
                    self.paused_until = self.paused_until.max(now + wait);
                }
            }
        }
    }

    /// Returns the number of pending requests.
    pub fn in_work(&self) -> usize {
        self.sent.iter().filter(|sent| sent.answered.is_none()).count()
    }

    /// Returns how long a number of history requests takes from now on, without the response
    /// times.
    pub fn time_left(&mut self, requests: u64, now: Duration) -> Duration {
        let now = self.advance(now);
        let limits = self.effective();
        let Some(last) = requests.checked_sub(1).filter(|_| !limits.is_unlimited()) else {
            return Duration::ZERO;
        };
        let Limit { count, window } = limits.history;
        let slots = usize::try_from(count).unwrap_or(usize::MAX);
        // A request occupies a slot until one window after its response.
        let history = self.sent.iter().filter(|sent| sent.kind == Kind::History);
        let mut taken: Vec<Duration> = history.map(|sent| sent.answered.unwrap_or(now) + window).collect();
        taken.sort_unstable();
        let unused = slots.saturating_sub(taken.len());
        let place = usize::try_from(last % u64::from(count.max(1))).unwrap_or(usize::MAX);
        let rounds = u32::try_from(last / u64::from(count.max(1))).unwrap_or(u32::MAX);
        let first = taken.len().saturating_sub(slots);
        let free = place.checked_sub(unused).and_then(|place| taken.get(first + place)).copied();
        let by_window = free.unwrap_or(now).max(now) + window.saturating_mul(rounds);
        let by_second = now + limits.time_for(0, last);
        by_window.max(by_second).max(self.paused_until) - now
    }

    fn effective(&self) -> RateLimits {
        match self.halvings {
            0 => self.limits,
            halvings => self.limits.by(1000 >> halvings),
        }
    }

    /// Advances to `now` and removes requests that no longer count.
    fn advance(&mut self, now: Duration) -> Duration {
        self.latest = self.latest.max(now);
        let now = self.latest;
        if self.halvings > 0 && now >= self.slow_until {
            self.halvings = 0;
        }
        let limits = self.effective();
        // A limit may be lowered and its window extended, so the longest window applies.
        let longest = match limits.is_unlimited() {
            true => Duration::ZERO,
            false => limits.history.window.max(limits.all.window).max(Duration::from_secs(WINDOW_S)),
        };
        self.sent.retain(|sent| sent.answered.is_none_or(|at| now - at < longest));
        now
    }

    /// Returns the first instant at which fewer requests count than the limit permits.
    fn wait(&self, limit: Limit, now: Duration, counts: impl Fn(Kind) -> bool) -> Next {
        let mut free: Vec<Duration> = Vec::new();
        let mut in_work = 0_usize;
        for sent in self.sent.iter().filter(|sent| counts(sent.kind)) {
            match sent.answered {
                None => in_work += 1,
                Some(at) if at + limit.window > now => free.push(at + limit.window),
                Some(_) => {}
            }
        }
        let count = usize::try_from(limit.count).unwrap_or(usize::MAX);
        let Some(excess) = (in_work + free.len() + 1).checked_sub(count).filter(|excess| *excess > 0) else {
            return Next::Ready;
        };
        free.sort_unstable();
        free.get(excess - 1).map_or(Next::InWork, |until| Next::Wait(*until))
    }
}
