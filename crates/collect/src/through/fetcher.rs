//! Executes the orders of read-through on one thread, in sessions. A session takes the lock of the
//! mirror and ends when no order has come for some time, so that a run can take the lock.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use market::{Symbol, Timestamp, Venues};
use mirror::{RateFactor, RateLimits};
use source::{Answer, Request, SourceError};
use store::{MirrorRow, Store, StoreError};

use super::{Order, Part, Shared, miss_time};
use crate::convert::security;
use crate::error::CollectError;
use crate::jobs::{Job, Purpose};
use crate::run::{Progress, Run, RunOptions, Runner, Watch};
use crate::{Connect, Settings, Time, today};

/// Time after the last order after which a session ends. Servers close a connection that does not
/// answer pings for longer.
const IDLE: Duration = Duration::from_secs(15);
/// Time for which the limits of the account are not requested again, in seconds.
const LIMITS_S: i64 = 3_600;
/// Maximum time for which a failed source is not used, in seconds: 1, 2, 4 … 60.
const OFF_MAX_S: i64 = 60;
/// Time until the lock of the mirror is tried again, in seconds.
const BUSY_S: i64 = 10;
/// Pause after the source has refused requests as too fast, and the time for which the rate is
/// halved, in seconds.
const TOO_FAST_S: (i64, i64) = (30, 600);

/// Ignores the notes of a run. Clients can cause any number of them, with unknown securities.
struct Silent;

impl Watch for Silent {
    fn progress(&self, _: &Progress) {}
    fn note(&self, _: &str) {}
}

/// Opens the source of a mirror. Returns an error with the reason for the user.
pub type OpenSource<'a> = &'a dyn Fn(&MirrorRow) -> Result<Box<dyn Connect + 'a>, String>;

/// Executes the orders of a [`ReadThrough`](super::ReadThrough).
pub struct Fetcher {
    shared: Arc<Shared>,
    /// The limits of the account, and when they were requested.
    limits: Option<(RateLimits, Timestamp)>,
    failures: u32,
    slow_until: Timestamp,
    /// The last note, which is not repeated.
    noted: String,
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Fetcher").field(&self.shared.mirror).finish()
    }
}

/// Orders must not wait for a thread that has ended.
impl Drop for Fetcher {
    fn drop(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.turn_off(Timestamp(i64::MAX));
    }
}

impl Order {
    fn is_miss(&self, state: &mut super::State, now: Timestamp) -> bool {
        self.symbols.iter().all(|symbol| state.is_miss(symbol, now))
    }
}

impl Fetcher {
    pub(super) fn new(shared: Arc<Shared>) -> Fetcher {
        Fetcher { shared, limits: None, failures: 0, slow_until: Timestamp(0), noted: String::new() }
    }

    /// Executes orders on the calling thread until [`ReadThrough::stop`](super::ReadThrough::stop).
    pub fn run(
        mut self,
        (store, venues): (&Store, &Venues),
        time: &dyn Time,
        watch: &dyn Watch,
        open: OpenSource<'_>,
    ) {
        while self.shared.wait_for_order(None) {
            let ended = self.session((store, venues), time, open);
            let now = Timestamp(time.now_ms().div_euclid(1_000));
            match ended {
                Ok(()) => {
                    self.failures = 0;
                    if !self.noted.is_empty() {
                        self.noted.clear();
                        watch.note("read-through: the source is used again");
                    }
                }
                Err(error) => {
                    let (text, seconds) = self.failed(&error, now);
                    self.shared.turn_off(Timestamp(now.0.saturating_add(seconds)));
                    if self.noted != text {
                        watch.note(&text);
                        self.noted = text;
                    }
                }
            }
        }
    }

    /// Returns a note about a failed session, and for how many seconds the source is not used.
    fn failed(&mut self, error: &SessionError, now: Timestamp) -> (String, i64) {
        match error {
            SessionError::Collect(CollectError::Store(StoreError::MirrorRunning { .. })) => {
                (format!("read-through is off while a run is in progress: {error}"), BUSY_S)
            }
            SessionError::Collect(CollectError::Source(refused))
                if refused.kind() == Some(source::Kind::TooFast) =>
            {
                self.failed(&SessionError::TooFast(refused.to_string()), now)
            }
            SessionError::TooFast(_) => {
                self.slow_until = Timestamp(now.0 + TOO_FAST_S.1);
                (format!("read-through is off for {} seconds: {error}", TOO_FAST_S.0), TOO_FAST_S.0)
            }
            error => {
                let seconds = 1_i64.checked_shl(self.failures).unwrap_or(OFF_MAX_S).min(OFF_MAX_S);
                self.failures = self.failures.saturating_add(1).min(16);
                (format!("read-through: the source cannot be used: {error}"), seconds)
            }
        }
    }

    fn session(
        &mut self,
        (store, venues): (&Store, &Venues),
        time: &dyn Time,
        open: OpenSource<'_>,
    ) -> Result<(), SessionError> {
        let name = &self.shared.mirror;
        let mut reader = store.reader().map_err(CollectError::from)?;
        let row = reader.view().mirror(name).map_err(CollectError::from)?;
        let row = row.ok_or_else(|| CollectError::Removed(name.clone()))?;
        let settings: Settings = serde_json::from_str(&row.settings).map_err(CollectError::from)?;
        if settings.terms_accepted_at.is_none() {
            return Err(SessionError::Terms(name.clone()));
        }
        let mut connect = open(&row).map_err(SessionError::Open)?;
        let stop = AtomicBool::new(false);
        let watch = &Silent;
        let mut runner = Runner { store, venues, connect: connect.as_mut(), time, watch, stop: &stop };
        let options = RunOptions::default();
        let mut run = runner.begin(&row, &options)?;
        run.requests.set_attempts_max(1);
        let result = self.orders(&mut run);
        let (failed, result) = match result {
            Err(SessionError::Collect(error)) => (None, Err(error)),
            Err(error) => (Some(error), Ok(())),
            Ok(()) => (None, Ok(())),
        };
        run.state.read_through_at = Some(run.requests.now().0);
        run.close(result)?;
        failed.map_or(Ok(()), Err)
    }

    /// Executes orders until no order has come for [`IDLE`].
    fn orders(&mut self, run: &mut Run<'_>) -> Result<(), SessionError> {
        // Before the first request, so that a session after a crash knows that requests were pending.
        run.flush()?;
        self.set_limits(run)?;
        let mut executing: Vec<Order> = Vec::new();
        loop {
            let has_more = !executing.is_empty();
            if !has_more && !self.shared.wait_for_order(Some(IDLE)) {
                return Ok(());
            }
            if self.shared.is_stopped() {
                return Ok(());
            }
            let new = self.shared.take_orders();
            if !new.is_empty() {
                run.yield_active();
            }
            for order in new {
                let now = run.requests.now();
                match order.part {
                    // The source does not know the security.
                    _ if order.is_miss(&mut self.shared.lock(), now) => {
                        self.shared.complete(std::slice::from_ref(&order), None);
                    }
                    Part::Statics => self.statics(run, &order)?,
                    Part::Today(_) => self.today(run, &order)?,
                    Part::Days | Part::AdjustedDays | Part::Minutes(_) => {
                        begin_series(run, &order)?;
                        executing.push(order);
                    }
                }
            }
            if !executing.is_empty() {
                run.advance()?;
                self.settle(run, &mut executing)?;
            }
        }
    }

    fn set_limits(&mut self, run: &mut Run<'_>) -> Result<(), SessionError> {
        let now = run.requests.now();
        match self.limits {
            Some((limits, at)) if now.0 - at.0 < LIMITS_S => {
                run.limits = limits;
                run.quota = Some(run.stored_quota()?);
            }
            _ => {
                run.read_profile()?;
                self.limits = Some((run.limits, now));
            }
        }
        if now < self.slow_until
            && let Some(half) = RateFactor::new(500)
        {
            run.limits = run.limits.scaled(half);
        }
        run.requests.set_limits(run.limits);
        Ok(())
    }

    /// Completes the orders whose series are complete or refused.
    fn settle(&self, run: &mut Run<'_>, executing: &mut Vec<Order>) -> Result<(), SessionError> {
        let now = run.requests.now();
        for (symbol, kind) in std::mem::take(&mut run.refusals) {
            self.shared.lock().missed(&symbol, Timestamp(now.0 + miss_time(kind)));
            let (of_symbol, others) =
                std::mem::take(executing).into_iter().partition(|order| order.symbols.contains(&symbol));
            *executing = others;
            self.shared.complete(&of_symbol, None);
        }
        // The lists of a run are for its report.
        run.report.refused.clear();
        run.report.waiting.clear();
        if let Some((_, error)) = run.report.failed.pop() {
            run.report.failed.clear();
            return Err(match run.is_too_fast {
                true => SessionError::TooFast(error),
                false => SessionError::Failed(error),
            });
        }
        let unfinished: BTreeSet<&mirror::Series> = run.unfinished().collect();
        let is_complete = |order: &Order| {
            let series = order.symbols.first().and_then(|symbol| order.part.series(symbol));
            series.is_none_or(|series| !unfinished.contains(&series))
        };
        let (complete, others) = std::mem::take(executing).into_iter().partition(is_complete);
        *executing = others;
        self.shared.complete(&complete, Some(now));
        Ok(())
    }

    fn statics(&self, run: &mut Run<'_>, order: &Order) -> Result<(), SessionError> {
        run.finish_pending()?;
        let request = Request::StaticInfo { symbols: order.symbols.clone() };
        let now = run.requests.now();
        let kind = match run.request(&request)? {
            Ok(Answer::StaticInfo(all)) => {
                let all = all.into_iter().filter(|info| order.symbols.contains(&info.symbol));
                let securities: Vec<store::Security> = all.map(security).collect();
                run.store.put_securities(&securities).map_err(CollectError::from)?;
                let is_unknown =
                    |symbol: &&Symbol| !securities.iter().any(|security| security.symbol == **symbol);
                let mut state = self.shared.lock();
                for symbol in order.symbols.iter().filter(is_unknown) {
                    state.missed(symbol, Timestamp(now.0 + miss_time(None)));
                }
                None
            }
            Ok(_) => None,
            Err(error @ SourceError::Refused { .. }) => {
                too_fast(&error)?;
                // A refusal of several securities does not say which of them it concerns.
                Some(miss_time(error.kind().filter(|_| order.symbols.len() == 1)))
            }
            Err(error) => return Err(SessionError::Failed(error.to_string())),
        };
        if let Some(seconds) = kind {
            let mut state = self.shared.lock();
            for symbol in &order.symbols {
                state.missed(symbol, Timestamp(now.0 + seconds));
            }
        }
        self.shared.complete(std::slice::from_ref(order), Some(now));
        Ok(())
    }

    /// Requests the minutes of the current day, and stores them as ingested rows.
    fn today(&self, run: &mut Run<'_>, order: &Order) -> Result<(), SessionError> {
        run.finish_pending()?;
        let (Some(symbol), Part::Today(sessions)) = (order.symbols.first(), order.part) else {
            return Ok(());
        };
        let sessions_code = match sessions {
            mirror::Sessions::Intraday => source::Sessions::Regular,
            mirror::Sessions::All => source::Sessions::All,
        };
        let request = Request::Candles {
            symbol: symbol.clone(),
            period: source::Period::Minute,
            adjust: source::Adjust::Actual,
            sessions: sessions_code,
            count: source::Count::MAX,
        };
        let now = run.requests.now();
        match run.request(&request)? {
            Ok(Answer::Candles(mut page)) => {
                run.prepend_to_today(symbol, sessions_code, &mut page.candles)?;
                if !page.candles.is_empty() {
                    let security = (symbol, sessions);
                    today::mark_incomplete((&mut run.store, run.id), run.venues, security, now)?;
                }
                let now_ms = run.requests.now_ms();
                today::put(run.data, run.venues, (&run.name, symbol), &page.candles, now_ms)?;
            }
            Ok(_) => {}
            Err(error @ SourceError::Refused { .. }) => {
                too_fast(&error)?;
                self.shared.lock().missed(symbol, Timestamp(now.0 + miss_time(error.kind())));
            }
            Err(error) => return Err(SessionError::Failed(error.to_string())),
        }
        self.shared.complete(std::slice::from_ref(order), Some(now));
        Ok(())
    }
}

/// Queues the series of an order.
fn begin_series(run: &mut Run<'_>, order: &Order) -> Result<(), CollectError> {
    let Some(symbol) = order.symbols.first() else { return Ok(()) };
    let Some(series) = order.part.series(symbol) else { return Ok(()) };
    let (venue, now) = (run.venues.of(symbol.market()), run.requests.now());
    // Before the series that are being read, the newest range first.
    for dates in &order.ranges {
        run.queue.push_front(Job::new(series.clone(), *dates, Purpose::Read, venue, now));
    }
    Ok(())
}

fn too_fast(error: &SourceError) -> Result<(), SessionError> {
    match error.kind() {
        Some(source::Kind::TooFast) => Err(SessionError::TooFast(error.to_string())),
        _ => Ok(()),
    }
}

/// Why a session ended early.
#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error("{0}")]
    Open(String),
    #[error(
        "the terms of the source of {0} were not accepted: run `chandler mirror plan {0} --accept-terms`"
    )]
    Terms(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    TooFast(String),
}

impl Shared {
    /// Waits for an order, for at most `at_most`. Returns false after that time, and at the end.
    fn wait_for_order(&self, at_most: Option<Duration>) -> bool {
        let state = self.lock();
        let is_idle = |state: &mut super::State| state.orders.is_empty() && !state.is_stopped;
        let state = match at_most {
            Some(at_most) => {
                self.ordered
                    .wait_timeout_while(state, at_most, is_idle)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self.ordered.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner),
        };
        !state.orders.is_empty() && !state.is_stopped
    }

    fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    fn take_orders(&self) -> Vec<Order> {
        self.lock().orders.drain(..).collect()
    }

    /// Wakes the requests that wait for orders. `at` is the time at which the orders were
    /// completed; `None` if the source refused them.
    fn complete(&self, orders: &[Order], at: Option<Timestamp>) {
        if orders.is_empty() {
            return;
        }
        let mut state = self.lock();
        for order in orders {
            state.open_orders.remove(&order.number);
            for symbol in &order.symbols {
                state.in_flight.remove(&(symbol.clone(), order.part));
                let Some(at) = at else { continue };
                let venue = self.venues.of(symbol.market());
                state.known(symbol, order.part).answered(venue, &order.ranges, at);
            }
        }
        drop(state);
        self.done.notify_all();
    }

    /// Drops all orders. Requests are answered from the store until `until`.
    fn turn_off(&self, until: Timestamp) {
        let mut state = self.lock();
        state.off_until = Some(until);
        state.orders.clear();
        state.open_orders.clear();
        state.in_flight.clear();
        drop(state);
        self.done.notify_all();
    }
}
