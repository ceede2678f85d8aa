//! Sends requests over one connection: limits their rate, and reconnects when the connection is
//! lost.

use std::collections::BTreeMap;
use std::time::Duration;

use mirror::{Kind, Next, Pace, RateLimits, Reply, Ticket};
use source::{Answer, Request, SourceError};

use crate::{Connect, Link, State, Time};

/// Maximum number of attempts of a request of a run. All attempts together take about a quarter of
/// an hour. The next run tries again.
const ATTEMPTS_MAX: u32 = 16;
/// Maximum time to wait for a response. A link reports its own timeout somewhat earlier.
const ANSWER_WITHIN: Duration = Duration::from_secs(40);
/// The window of the limit of all requests.
const SECOND_MS: i64 = 1_000;

/// A connection whose requests are limited in rate. `K` identifies a request to the caller.
pub(crate) struct Requests<'a, K> {
    connect: &'a mut dyn Connect,
    time: &'a dyn Time,
    link: Option<Box<dyn Link>>,
    pace: Pace,
    pending: BTreeMap<u32, (Ticket, K)>,
    /// Number of requests lost since the last response.
    failures: u32,
    sent: u64,
    attempts_max: u32,
}

/// Result of a request.
#[derive(Debug)]
pub(crate) enum Event<K> {
    Answer(K, Answer),
    /// The server refused the request.
    Refused(K, SourceError),
    /// The connection was lost, or the server failed. The request can be sent again.
    Failed(K, SourceError),
}

/// When a request can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Now,
    Wait(Duration),
    /// After the response to one of the pending requests.
    AfterAnswer,
}

impl<'a, K: Clone> Requests<'a, K> {
    /// `state` is that of the previous run, whose requests may still count toward the limits.
    pub(crate) fn new(
        connect: &'a mut dyn Connect,
        time: &'a dyn Time,
        limits: RateLimits,
        state: &State,
    ) -> Requests<'a, K> {
        let now_ms = time.now_ms();
        let recent = state.recent_ms.iter().map(|at| since_epoch(*at));
        let mut pace = Pace::restored(limits, recent, state.in_work, since_epoch(now_ms));
        // Only history requests are recorded. All others count for one second.
        let quiet_until = match (state.in_work, state.ended_at.max(state.read_through_at)) {
            (0, None) => 0,
            (0, Some(ended)) => ended.saturating_add(2).saturating_mul(SECOND_MS),
            (_, _) => now_ms + SECOND_MS,
        };
        pace.pause(since_epoch(quiet_until.min(now_ms + SECOND_MS)));
        let (link, pending) = (None, BTreeMap::new());
        Requests { connect, time, link, pace, pending, failures: 0, sent: 0, attempts_max: ATTEMPTS_MAX }
    }

    /// Sets the number of attempts of a request.
    pub(crate) fn set_attempts_max(&mut self, attempts_max: u32) {
        self.attempts_max = attempts_max;
    }

    pub(crate) fn attempts_max(&self) -> u32 {
        self.attempts_max
    }

    pub(crate) fn set_limits(&mut self, limits: RateLimits) {
        self.pace.set_limits(limits);
    }

    pub(crate) fn now(&self) -> market::Timestamp {
        market::Timestamp(self.time.now_ms().div_euclid(1_000))
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.time.now_ms()
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the times of the history requests that count toward the limit, in Unix milliseconds.
    pub(crate) fn recent_ms(&self) -> Vec<i64> {
        self.pace.recent().map(|at| i64::try_from(at.as_millis()).unwrap_or(i64::MAX)).collect()
    }

    /// Returns how long a number of history requests takes, without the response times.
    pub(crate) fn time_left(&mut self, requests: u64) -> Duration {
        self.pace.time_left(requests, since_epoch(self.time.now_ms()))
    }

    pub(crate) fn turn(&mut self, kind: Kind) -> Turn {
        let now = since_epoch(self.time.now_ms());
        match self.pace.next(kind, now) {
            Next::Ready => Turn::Now,
            Next::Wait(until) => Turn::Wait(until.saturating_sub(now)),
            Next::InWork => Turn::AfterAnswer,
        }
    }

    /// Waits for `time`, and answers pings in the meantime. Must be called only while no request is
    /// pending.
    pub(crate) fn wait(&mut self, time: Duration) {
        let own = self.time.pass(time);
        let is_lost = match &mut self.link {
            Some(link) => link.receive(own).is_err(),
            None => {
                std::thread::sleep(own);
                false
            }
        };
        if is_lost {
            self.link = None;
        }
    }

    /// Sends a request. The caller has checked with [`Self::turn`] that it may be sent. If sending
    /// fails, returns the failures of this request and of all pending ones.
    pub(crate) fn send(&mut self, kind: Kind, request: &Request, key: K) -> Vec<Event<K>> {
        let now = since_epoch(self.time.now_ms());
        let ticket = self.pace.sent(kind, now);
        let sent = match self.connected() {
            Ok(link) => link.send(request),
            Err(error) => Err(error),
        };
        match sent {
            Ok(id) => {
                self.sent += 1;
                self.pending.insert(id, (ticket, key));
                Vec::new()
            }
            Err(error) => {
                self.lost(ticket);
                let mut events = self.all_lost(&closed);
                events.push(Event::Failed(key, error));
                events
            }
        }
    }

    fn connected(&mut self) -> Result<&mut Box<dyn Link>, SourceError> {
        if self.link.is_none() {
            self.link = Some(self.connect.connect(self.time.now_ms())?);
        }
        self.link.as_mut().ok_or_else(|| SourceError::Closed { reason: "no connection".to_owned() })
    }

    fn lost(&mut self, ticket: Ticket) {
        self.failures = self.failures.saturating_add(1);
        self.link = None;
        self.pace.answered(ticket, Reply::Failed, since_epoch(self.time.now_ms()));
    }

    /// Returns whether [`ATTEMPTS_MAX`] requests in succession were lost.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.failures >= ATTEMPTS_MAX
    }

    /// Waits for the result of a pending request. Returns several events if the connection is lost.
    pub(crate) fn receive(&mut self) -> Vec<Event<K>> {
        let Some(link) = &mut self.link else { return self.all_lost(&closed) };
        match link.receive(ANSWER_WITHIN) {
            Ok(Some((id, answer))) => self.answered(id, answer).into_iter().collect(),
            Ok(None) => Vec::new(),
            Err(error) => {
                let text = error.to_string();
                let lost = || SourceError::Closed { reason: text.clone() };
                self.all_lost(&lost)
            }
        }
    }

    fn all_lost(&mut self, error: &dyn Fn() -> SourceError) -> Vec<Event<K>> {
        let mut events = Vec::new();
        for (ticket, key) in std::mem::take(&mut self.pending).into_values() {
            self.lost(ticket);
            events.push(Event::Failed(key, error()));
        }
        self.link = None;
        events
    }

    fn answered(&mut self, id: u32, answer: Result<Answer, SourceError>) -> Option<Event<K>> {
        let (ticket, key) = self.pending.remove(&id)?;
        let now = since_epoch(self.time.now_ms());
        let (reply, event) = match answer {
            Ok(answer) => (Reply::Served, Event::Answer(key, answer)),
            Err(error) => match error.kind() {
                Some(source::Kind::TooFast) => (Reply::TooFast, Event::Failed(key, error)),
                Some(source::Kind::Server) => (Reply::Failed, Event::Failed(key, error)),
                _ => (Reply::Served, Event::Refused(key, error)),
            },
        };
        self.failures = 0;
        self.pace.answered(ticket, reply, now);
        Some(event)
    }

    /// Sends one request and waits for its response. No other request is pending.
    pub(crate) fn request(&mut self, kind: Kind, request: &Request, key: K) -> Result<Answer, SourceError> {
        let mut attempts = 0;
        loop {
            match self.turn(kind) {
                Turn::Wait(time) => {
                    self.wait(time);
                    continue;
                }
                Turn::AfterAnswer => {
                    self.receive();
                    continue;
                }
                Turn::Now => {}
            }
            let mut events = self.send(kind, request, key.clone());
            while events.is_empty() {
                events = self.receive();
            }
            for event in events {
                match event {
                    Event::Answer(_, answer) => return Ok(answer),
                    Event::Refused(_, error) => return Err(error),
                    Event::Failed(_, error) => {
                        attempts += 1;
                        if error.is_permanent() || attempts >= self.attempts_max {
                            return Err(error);
                        }
                    }
                }
            }
        }
    }
}

fn closed() -> SourceError {
    SourceError::Closed { reason: "the connection was lost".to_owned() }
}

fn since_epoch(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}
