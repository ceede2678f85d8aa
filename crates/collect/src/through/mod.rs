//! Read-through: requests candles and static data that clients request and the store does not
//! have.
//!
//! A request first calls [`ReadThrough::needs`], which only reads memory. If data may be missing,
//! [`ReadThrough::missing`] compares it with the store, and [`ReadThrough::fetch`] queues orders for
//! the thread of the [`Fetcher`] and waits for them, for a limited time. Several requests for a
//! series share one order. `wanted.rs` computes the days of a query, `known.rs` remembers the days
//! that need not be requested, and `fetcher.rs` executes orders with the code of a run, so the rate,
//! the quota and the lock of the mirror apply.

mod fetcher;
mod known;
mod wanted;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use history::{HistoryError, Paging, Query, stored_days};
use market::{Date, DateSpan, Floors, Grain, Market, Period, Symbol, Timestamp, Venue, Venues};
use mirror::{Adjust, DateRange, Position, Series, Sessions};
use store::{AccountId, Lane, MirrorJob, Reader};

use crate::jobs::{TODAY, merged, overlapping};

use known::{Known, open_days};

pub use fetcher::{Fetcher, OpenSource};

/// Time for which a failed request for a security is not repeated, in seconds.
const MISS_S: i64 = 600;
/// The same for a security that the source does not know or does not permit.
const LONG_MISS_S: i64 = 86_400;
/// Number of days whose minutes are fetched for an operator.
const RECENT_DAYS: i64 = 7;
/// Maximum number of orders that are queued or being executed. Requests beyond it are answered from
/// the store.
const ORDERS_MAX: usize = 256;
/// The same for the requests of one account, so that its orders do not exclude other accounts.
const ORDERS_OF_ACCOUNT_MAX: usize = 32;
/// Maximum number of remembered series, and of remembered securities. Beyond it, all are forgotten,
/// which costs only a check of the store.
const REMEMBERED_MAX: usize = 10_000;

/// The data that a request reads.
#[derive(Clone, Copy, Debug)]
pub enum Wants<'a> {
    Nothing,
    /// Candles. A response over HTTP may be longer than that of a long connection (`paging`).
    Candles {
        query: &'a Query,
        paging: Option<Paging>,
    },
    /// Static data.
    Statics(&'a [Symbol]),
}

/// What read-through may request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub markets: Vec<Market>,
    /// Stored periods: days and minutes. The other periods are folded from them.
    pub periods: Vec<Period>,
}

impl Scope {
    fn has(&self, period: Period) -> bool {
        self.periods.contains(&period)
    }
}

/// A part of a security's data that is requested separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Days,
    AdjustedDays,
    Minutes(Sessions),
    /// The minutes of the current trading day.
    Today(Sessions),
    Statics,
}

impl Part {
    fn series(self, symbol: &Symbol) -> Option<Series> {
        let (period, adjust, sessions) = match self {
            Part::Days => (Period::DAY, Adjust::None, Sessions::Intraday),
            Part::AdjustedDays => (Period::DAY, Adjust::Forward, Sessions::Intraday),
            Part::Minutes(sessions) => (Period::MINUTE, Adjust::None, sessions),
            Part::Today(_) | Part::Statics => return None,
        };
        Series::new(symbol.clone(), period, adjust, sessions).ok()
    }
}

type Key = (Symbol, Part);

/// Data that the store may not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    symbols: Vec<Symbol>,
    /// Parts of the only symbol, with their days.
    parts: Vec<(Part, Option<DateRange>)>,
}

/// A request to the source. Static data has several symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Order {
    number: u64,
    symbols: Vec<Symbol>,
    part: Part,
    ranges: Vec<DateRange>,
}

/// Data that the store does not have.
#[derive(Debug)]
pub struct Missing {
    symbols: Vec<Symbol>,
    parts: Vec<(Part, Vec<DateRange>)>,
}

/// Result of [`ReadThrough::fetch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The source has answered.
    Done,
    /// The data is fetched in the background, or the source cannot be used.
    Pending,
}

/// Counts of read-through, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Whether the source can be used.
    pub is_on: bool,
    /// Number of orders that are queued or being executed.
    pub fetches: usize,
    /// Number of requests that wait for the source.
    pub waiting: usize,
    /// Number of requests whose data was fetched before their response.
    pub done: u64,
    /// Number of requests that were answered before their data was fetched.
    pub pending: u64,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<Key, Known>,
    /// Securities that are not requested, and until when.
    misses: HashMap<Symbol, Timestamp>,
    orders: VecDeque<Order>,
    /// Orders that are queued or being executed, by their data.
    in_flight: HashMap<Key, u64>,
    last_number: u64,
    /// The same orders, with the account that caused them. An operator's have none.
    open_orders: HashMap<u64, Option<AccountId>>,
    /// Number of requests that wait for an order.
    waiting: usize,
    /// Number of requests whose data was fetched, and of those that did not wait for it.
    fetched: u64,
    pending: u64,
    /// Until when no orders are accepted, because the source failed or another process runs the
    /// mirror.
    off_until: Option<Timestamp>,
    is_stopped: bool,
}

struct Shared {
    mirror: String,
    venues: Venues,
    scope: Scope,
    waiters_max: usize,
    state: Mutex<State>,
    /// Notified when orders are complete.
    done: Condvar,
    /// Notified when there is an order, or at the end.
    ordered: Condvar,
}

/// Requests missing data from the source of a mirror. Cheap to clone; clones share the state.
#[derive(Clone)]
pub struct ReadThrough(Arc<Shared>);

impl fmt::Debug for ReadThrough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadThrough").field(&self.0.mirror).finish()
    }
}

/// Creates the state of read-through for a mirror, and the fetcher for its thread. At most
/// `waiters_max` requests wait for the source at a time; further ones are answered from the store.
pub fn read_through(
    mirror: &str,
    venues: &Venues,
    scope: Scope,
    waiters_max: usize,
) -> (ReadThrough, Fetcher) {
    let shared = Arc::new(Shared {
        mirror: mirror.to_owned(),
        venues: venues.clone(),
        scope,
        waiters_max,
        state: Mutex::default(),
        done: Condvar::new(),
        ordered: Condvar::new(),
    });
    (ReadThrough(shared.clone()), Fetcher::new(shared))
}

impl ReadThrough {
    /// Returns the data of a request that the store may not have, or `None` if the request can be
    /// answered from the store. Only reads memory. `now` is the machine time.
    pub fn needs(&self, wants: Wants<'_>, now: Timestamp) -> Option<Need> {
        match wants {
            Wants::Nothing => None,
            Wants::Statics(symbols) => self.statics(symbols, now),
            Wants::Candles { query, paging } => self.candles(query, paging, now),
        }
    }

    fn statics(&self, symbols: &[Symbol], now: Timestamp) -> Option<Need> {
        let mut state = self.0.lock();
        if !state.is_on(now) {
            return None;
        }
        let symbols: Vec<Symbol> = symbols
            .iter()
            .filter(|symbol| self.0.scope.markets.contains(&symbol.market()) && !state.is_miss(symbol, now))
            .take(mirror::STATICS_MAX)
            .cloned()
            .collect();
        (!symbols.is_empty()).then(|| Need { symbols, parts: vec![(Part::Statics, None)] })
    }

    fn candles(&self, query: &Query, paging: Option<Paging>, now: Timestamp) -> Option<Need> {
        let (symbol, scope) = (&query.symbol, &self.0.scope);
        let period = if query.period.is_clock() { Period::MINUTE } else { Period::DAY };
        let is_adjusted = query.adjust == history::Adjust::Forward;
        if !scope.markets.contains(&symbol.market()) || symbol.is_us_option() || !scope.has(period) {
            return None;
        }
        let mut state = self.0.lock();
        if !state.is_on(now) || state.is_miss(symbol, now) {
            return None;
        }
        let venue = self.0.venues.of(symbol.market());
        let days = wanted::days(query, paging, venue, now)?;
        let sessions = wanted::sessions_of(query);
        let mut parts = Vec::new();
        if let Some(ended) = days.ended {
            // Corporate actions are derived from all days between a candle and the newest one.
            let through_latest = DateRange { through: days.latest, ..ended };
            match query.period {
                Period::Clock(_) => parts.push((Part::Minutes(sessions), ended)),
                Period::Calendar(_) if !is_adjusted => parts.push((Part::Days, ended)),
                Period::Calendar(_) => {}
            }
            if is_adjusted && scope.has(Period::DAY) {
                parts.extend([(Part::Days, through_latest), (Part::AdjustedDays, through_latest)]);
            }
        }
        let unknown = Known::default();
        let mut needed: Vec<(Part, Option<DateRange>)> = Vec::new();
        for (part, range) in parts {
            let known = state.known.get(&(symbol.clone(), part)).unwrap_or(&unknown);
            if !known.open_days(venue, range, now).is_empty() {
                needed.push((part, Some(range)));
            }
        }
        // The candles of the current day are folded from its minutes.
        let today = (symbol.clone(), Part::Today(sessions));
        let is_tried = state.known.get(&today).is_some_and(|known| known.is_tried(now));
        if days.has_today && scope.has(Period::MINUTE) && !is_tried {
            needed.push((today.1, None));
        }
        (!needed.is_empty()).then(|| Need { symbols: vec![symbol.clone()], parts: needed })
    }

    /// Compares the needed data with the store. Returns `None` if nothing is missing.
    pub fn missing(&self, need: &Need, reader: &mut Reader) -> Result<Option<Missing>, HistoryError> {
        if let Some((Part::Statics, _)) = need.parts.first() {
            let mut symbols = Vec::new();
            for symbol in &need.symbols {
                if reader.view().security(symbol)?.is_none() {
                    symbols.push(symbol.clone());
                }
            }
            let parts = vec![(Part::Statics, Vec::new())];
            return Ok((!symbols.is_empty()).then_some(Missing { symbols, parts }));
        }
        let Some(symbol) = need.symbols.first() else { return Ok(None) };
        let Some(row) = reader.view().mirror(&self.0.mirror)? else { return Ok(None) };
        let jobs = reader.view().mirror_jobs_of(row.id, symbol)?;
        let venue = self.0.venues.of(symbol.market());
        let (mut parts, mut missing_days) = (Vec::new(), Vec::new());
        if reader.view().security(symbol)?.is_none() {
            parts.push((Part::Statics, Vec::new()));
        }
        for (part, range) in &need.parts {
            let missing = match (part, range) {
                (Part::Days | Part::Minutes(_), Some(range)) => {
                    let missing = missing(venue, symbol, *part, *range, &jobs, reader)?;
                    if *part == Part::Days {
                        missing_days.clone_from(&missing);
                    }
                    missing
                }
                (Part::AdjustedDays, Some(range)) => {
                    missing_adjusted(venue, symbol, *range, &jobs, &missing_days)
                }
                (Part::Today(_), _) => {
                    parts.push((*part, Vec::new()));
                    continue;
                }
                _ => continue,
            };
            match (missing.is_empty(), range) {
                (true, Some(range)) => self.0.lock().known(symbol, *part).add(venue, *range),
                (_, _) => parts.push((*part, missing)),
            }
        }
        Ok((!parts.is_empty()).then(|| Missing { symbols: vec![symbol.clone()], parts }))
    }

    /// Returns whether the source of a security cannot be used at the moment.
    pub fn is_off(&self, symbol: &Symbol, now: Timestamp) -> bool {
        self.0.scope.markets.contains(&symbol.market()) && !self.0.lock().is_on(now)
    }

    /// Orders missing data and waits until it is stored, for at most `at_most`. After that time, and
    /// if too many requests wait, the data is fetched in the background. What another request has
    /// fetched since [`ReadThrough::missing`] is not requested again. `account` requests the data; an
    /// operator's request has none.
    pub fn fetch(
        &self,
        missing: Missing,
        account: Option<AccountId>,
        now: Timestamp,
        at_most: Duration,
    ) -> Fetched {
        let fetched = self.order(missing, account, now, at_most);
        let mut state = self.0.lock();
        match fetched {
            Fetched::Done => state.fetched += 1,
            Fetched::Pending => state.pending += 1,
        }
        fetched
    }

    fn order(
        &self,
        missing: Missing,
        account: Option<AccountId>,
        now: Timestamp,
        at_most: Duration,
    ) -> Fetched {
        let mut state = self.0.lock();
        if !state.is_on(now) {
            return Fetched::Pending;
        }
        let (unknown, mut awaited, mut is_full) = (Known::default(), Vec::new(), false);
        for (part, missing_days) in missing.parts {
            let (mut new, mut ranges) = (Vec::new(), Vec::new());
            for symbol in &missing.symbols {
                let key = (symbol.clone(), part);
                if let Some(number) = state.in_flight.get(&key) {
                    awaited.push((key, *number));
                    continue;
                }
                let (known, venue) = (state.known.get(&key), self.0.venues.of(symbol.market()));
                let open = known.unwrap_or(&unknown).still_missing(venue, part, &missing_days, now);
                if let Some(open) = open {
                    new.push(symbol.clone());
                    ranges = open;
                }
            }
            is_full |= !new.is_empty() && !state.has_room(account);
            if new.is_empty() || is_full {
                continue;
            }
            state.last_number += 1;
            let number = state.last_number;
            for symbol in &new {
                let key = (symbol.clone(), part);
                state.in_flight.insert(key.clone(), number);
                awaited.push((key, number));
            }
            state.open_orders.insert(number, account);
            state.orders.push_back(Order { number, symbols: new, part, ranges });
        }
        if awaited.is_empty() {
            return if is_full { Fetched::Pending } else { Fetched::Done };
        }
        self.0.ordered.notify_one();
        if state.waiting >= self.0.waiters_max {
            return Fetched::Pending;
        }
        state.waiting += 1;
        let is_awaited =
            |state: &mut State| awaited.iter().any(|(key, number)| state.in_flight.get(key) == Some(number));
        let waited = self.0.done.wait_timeout_while(state, at_most, is_awaited);
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        match is_full || waited.timed_out() || !state.is_on(now) {
            true => Fetched::Pending,
            false => Fetched::Done,
        }
    }

    /// Requests all days of a security and the minutes of its last days, for an operator, and waits
    /// until they are stored, for at most `at_most`. The scope does not apply.
    pub fn fetch_security(&self, symbol: &Symbol, now: Timestamp, at_most: Duration) -> Fetched {
        let venue = self.0.venues.of(symbol.market());
        let Some(latest) = crate::jobs::last_complete_day(venue, now) else { return Fetched::Pending };
        let first = venue.served_from(Floors::published(venue.market()), Period::DAY);
        let days = DateRange { from: venue.zone().date(first), through: latest };
        let recent = latest.checked_sub(DateSpan::new().days(RECENT_DAYS)).unwrap_or(latest);
        let minutes = DateRange { from: recent, through: latest };
        let parts = vec![
            (Part::Statics, Vec::new()),
            (Part::Days, vec![days]),
            (Part::AdjustedDays, vec![days]),
            (Part::Minutes(Sessions::Intraday), vec![minutes]),
            (Part::Today(Sessions::Intraday), Vec::new()),
        ];
        // Everything is requested, also what need not be.
        let mut state = self.0.lock();
        state.misses.remove(symbol);
        for (part, _) in &parts {
            state.known.remove(&(symbol.clone(), *part));
        }
        drop(state);
        self.fetch(Missing { symbols: vec![symbol.clone()], parts }, None, now, at_most)
    }

    /// Returns the name of the mirror.
    pub fn mirror(&self) -> &str {
        &self.0.mirror
    }

    /// Returns whether the requests of clients are read through, and not only those of operators.
    pub fn is_automatic(&self) -> bool {
        !self.0.scope.markets.is_empty()
    }

    pub fn counts(&self, now: Timestamp) -> Counts {
        let mut state = self.0.lock();
        let is_on = state.is_on(now);
        let State { waiting, fetched: done, pending, .. } = *state;
        Counts { is_on, fetches: state.open_orders.len(), waiting, done, pending }
    }

    /// Ends the thread of the fetcher.
    pub fn stop(&self) {
        self.0.lock().is_stopped = true;
        self.0.ordered.notify_all();
        self.0.done.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether another order for the account is accepted.
    fn has_room(&self, account: Option<AccountId>) -> bool {
        let own = self.open_orders.values().filter(|of| **of == account).count();
        self.open_orders.len() < ORDERS_MAX && (account.is_none() || own < ORDERS_OF_ACCOUNT_MAX)
    }

    fn is_on(&mut self, now: Timestamp) -> bool {
        if self.off_until.is_some_and(|until| until <= now) {
            self.off_until = None;
        }
        self.off_until.is_none() && !self.is_stopped
    }

    fn is_miss(&mut self, symbol: &Symbol, now: Timestamp) -> bool {
        match self.misses.get(symbol) {
            Some(until) if *until > now => true,
            Some(_) => {
                self.misses.remove(symbol);
                false
            }
            None => false,
        }
    }

    fn missed(&mut self, symbol: &Symbol, until: Timestamp) {
        if self.misses.len() >= REMEMBERED_MAX {
            self.misses.clear();
        }
        self.misses.insert(symbol.clone(), until);
    }

    fn known(&mut self, symbol: &Symbol, part: Part) -> &mut Known {
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        self.known.entry((symbol.clone(), part)).or_default()
    }
}

/// Returns the ranges of days that the mirror has collected completely.
fn covered(symbol: &Symbol, part: Part, jobs: &[MirrorJob]) -> Vec<DateRange> {
    let mut ranges = Vec::new();
    for (series, dates) in crate::jobs::covered(jobs) {
        let is_wider = matches!(part, Part::Minutes(_))
            && Part::Minutes(Sessions::All).series(symbol).is_some_and(|all| all == series);
        if is_wider || part.series(symbol).is_some_and(|own| own == series) {
            ranges.extend(dates);
        }
    }
    ranges
}

/// Returns the days of a range without a stored candle, or with an incomplete day, that the mirror
/// has not collected.
fn missing(
    venue: &Venue,
    symbol: &Symbol,
    part: Part,
    range: DateRange,
    jobs: &[MirrorJob],
    reader: &mut Reader,
) -> Result<Vec<DateRange>, HistoryError> {
    let open = open_days(venue, range, &covered(symbol, part, jobs));
    if open.is_empty() {
        return Ok(open);
    }
    let (grain, lanes) = match part {
        Part::Days | Part::AdjustedDays => (Grain::Day, &[Lane::Regular][..]),
        // Hours outside the regular ones have been collected only if they have a candle.
        Part::Minutes(Sessions::All) => (Grain::Minute, &[Lane::Extended, Lane::Overnight][..]),
        _ => (Grain::Minute, &[Lane::Regular][..]),
    };
    let series: Vec<store::Series> =
        lanes.iter().map(|lane| store::Series { symbol: symbol.clone(), grain, lane: *lane }).collect();
    let mut stored = stored_days(reader, venue, &series, (range.from, range.through))?;
    if grain == Grain::Minute {
        for day in jobs.iter().filter_map(|job| incomplete_day(venue, job)) {
            stored.remove(&day);
        }
    }
    let day = |date: Date| DateRange { from: date, through: date };
    let days = open.iter().flat_map(|gap| venue.calendar().days(gap.from, gap.through));
    Ok(merged(venue, days.filter(|(date, _)| !stored.contains(date)).map(|(date, _)| day(date))))
}

/// Returns the day whose minutes a job has collected only in part.
fn incomplete_day(venue: &Venue, job: &MirrorJob) -> Option<Date> {
    if job.outcome.is_some() || job.period != Period::MINUTE.to_string() {
        return None;
    }
    if job.purpose == TODAY {
        return Some(job.first_day);
    }
    let position: Position = job.position.parse().ok()?;
    venue.trading_day(position.oldest()?)
}

/// Returns the adjusted days to request for a range. Actions of candles that did not come from this
/// mirror are not derived.
fn missing_adjusted(
    venue: &Venue,
    symbol: &Symbol,
    range: DateRange,
    jobs: &[MirrorJob],
    missing_days: &[DateRange],
) -> Vec<DateRange> {
    let own = covered(symbol, Part::Days, jobs);
    let own = merged(venue, own.into_iter().chain(missing_days.iter().copied()));
    let adjusted = merged(venue, covered(symbol, Part::AdjustedDays, jobs));
    let newest = adjusted.last().map(|range| range.through);
    let mut missing = Vec::new();
    for own in own {
        let part = DateRange { from: own.from.max(range.from), through: own.through.min(range.through) };
        if part.from > part.through {
            continue;
        }
        for gap in open_days(venue, part, &adjusted) {
            // Newer days are compared with the last known ones: if these differ, a corporate action
            // has changed all of them.
            let from = newest.filter(|newest| *newest < gap.from).map_or(gap.from, overlapping);
            missing.push(DateRange { from, ..gap });
        }
    }
    merged(venue, missing)
}

/// Returns how long a refused security is not requested again.
fn miss_time(kind: Option<source::Kind>) -> i64 {
    match kind {
        Some(source::Kind::Invalid | source::Kind::NoAccess) => LONG_MISS_S,
        _ => MISS_S,
    }
}
