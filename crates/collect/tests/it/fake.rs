//! A source in memory with the limits of the service: at most 60 history requests in any 30
//! seconds, and a number of securities per month. Tests can inject faults.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use collect::{Connect, Link, Received, Time};
use market::{Candle, Date, Market, Price, Session, Symbol, Timestamp, Turnover, Venue, Venues};
use mirror::Month;
use source::{Adjust, Answer, Calendar, Page, Period, Profile, RateLimit, Request, SourceError, StaticInfo};

/// A clock that advances only when the code waits.
#[derive(Clone)]
pub(crate) struct VirtualTime(pub(crate) Rc<Cell<i64>>);

impl Time for VirtualTime {
    fn now_ms(&self) -> i64 {
        self.0.get()
    }

    fn pass(&self, time: Duration) -> Duration {
        self.0.set(self.0.get() + i64::try_from(time.as_millis()).unwrap() + 1);
        Duration::ZERO
    }
}

/// A fault that replaces the response to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is closed.
    Cut,
    /// The process ends.
    Kill,
    /// The server responds with this error code.
    Code(u64),
}

pub(crate) struct Source {
    pub(crate) time: VirtualTime,
    pub(crate) venues: Venues,
    pub(crate) series: BTreeMap<(Symbol, bool), Vec<Candle>>,
    /// Adjusted days by symbol.
    pub(crate) adjusted: BTreeMap<Symbol, Vec<Candle>>,
    pub(crate) quota: usize,
    pub(crate) month: BTreeMap<String, BTreeSet<Symbol>>,
    /// Times of history requests in milliseconds.
    pub(crate) history: Vec<i64>,
    /// Times of all requests in milliseconds.
    pub(crate) all: Vec<i64>,
    pub(crate) requests: u64,
    /// Number of requests refused because of the rate or the quota.
    pub(crate) over_limit: u64,
    pub(crate) refused: BTreeMap<Symbol, u64>,
    /// Faults by request number.
    pub(crate) faults: BTreeMap<u64, Fault>,
    pub(crate) excludes_anchor: bool,
    /// Changes of the series, with the number of the request before which they happen.
    pub(crate) changes: Vec<(u64, Change)>,
    /// Maximum number of history requests in 30 seconds.
    pub(crate) window: usize,
    pub(crate) connections: u64,
    /// Number of following connections that fail.
    pub(crate) unreachable: u64,
    pub(crate) latency_ms: i64,
}

/// A change of the series of a source.
pub(crate) type Change = Box<dyn Fn(&mut BTreeMap<(Symbol, bool), Vec<Candle>>)>;
pub(crate) type Shared = Rc<RefCell<Source>>;

impl Source {
    pub(crate) fn new(now_ms: i64) -> Shared {
        Rc::new(RefCell::new(Source {
            time: VirtualTime(Rc::new(Cell::new(now_ms))),
            venues: Venues::built_in().unwrap(),
            series: BTreeMap::new(),
            adjusted: BTreeMap::new(),
            quota: 100,
            month: BTreeMap::new(),
            history: Vec::new(),
            all: Vec::new(),
            requests: 0,
            over_limit: 0,
            refused: BTreeMap::new(),
            faults: BTreeMap::new(),
            excludes_anchor: false,
            changes: Vec::new(),
            window: 60,
            connections: 0,
            unreachable: 0,
            latency_ms: 40,
        }))
    }

    /// Adds the days of a security, and its minutes starting at `minutes_from`.
    pub(crate) fn add(&mut self, symbol: &Symbol, from: Date, to: Date, minutes_from: Date) {
        let venue = self.venues.of(symbol.market()).clone();
        let seed = symbol.as_str().bytes().map(i64::from).sum::<i64>();
        let days: Vec<Candle> = venue
            .calendar()
            .days(from, to)
            .enumerate()
            .map(|(place, (day, _))| {
                candle(venue.zone().midnight(day), 100_000_000 + seed * 10_000 + place as i64 % 97 * 50_000)
            })
            .collect();
        let mut minutes = Vec::new();
        for (day, _) in venue.calendar().days(minutes_from, to) {
            for (place, (at, slot)) in venue.day(day).unwrap().minutes().enumerate() {
                if slot.segment.session == Session::Intraday {
                    minutes.push(candle(at, 100_000_000 + seed * 10_000 + place as i64 * 1_000));
                }
            }
        }
        self.adjusted.insert(symbol.clone(), days.clone());
        self.series.insert((symbol.clone(), true), days);
        self.series.insert((symbol.clone(), false), minutes);
    }

    fn answer(&mut self, request: &Request) -> Result<Answer, SourceError> {
        let now_ms = self.time.0.get();
        self.all.push(now_ms);
        match request {
            Request::Profile => Ok(Answer::Profile(Profile {
                history_securities: u32::try_from(self.quota).unwrap(),
                rate_limits: vec![RateLimit { command: 27, per_second: 1, burst: 30 }],
            })),
            Request::TradingDays { market, from, to } => {
                let calendar = self.venues.of(*market).calendar();
                let (mut full_days, mut half_days) = (Vec::new(), Vec::new());
                for (day, kind) in calendar.days(*from, *to) {
                    if kind == market::DayKind::Half { half_days.push(day) } else { full_days.push(day) }
                }
                // A difference that the run must report.
                full_days.retain(|day| day.to_string() != "2026-03-17");
                Ok(Answer::TradingDays(Calendar { full_days, half_days }))
            }
            Request::StaticInfo { symbols } => Ok(Answer::StaticInfo(
                symbols
                    .iter()
                    .filter(|symbol| self.series.contains_key(&((*symbol).clone(), true)))
                    .map(static_info)
                    .collect(),
            )),
            Request::History { symbol, period, adjust, anchor, .. } => {
                self.history.push(now_ms);
                let recent = self.history.iter().filter(|at| now_ms - **at < 30_000).count();
                if recent > self.window {
                    self.over_limit += 1;
                    return Err(refusal(301_606));
                }
                if let Some(code) = self.refused.get(symbol) {
                    return Err(refusal(*code));
                }
                let month = Month::of(Timestamp(now_ms / 1_000)).to_string();
                let requested = self.month.entry(month).or_default();
                if !requested.contains(symbol) && requested.len() >= self.quota {
                    self.over_limit += 1;
                    return Err(refusal(301_607));
                }
                requested.insert(symbol.clone());
                let is_day = *period == Period::Day;
                let rows = match adjust {
                    Adjust::Forward => self.adjusted.get(symbol),
                    Adjust::Actual => self.series.get(&(symbol.clone(), is_day)),
                };
                let Some(rows) = rows else { return Err(refusal(301_600)) };
                let venue = self.venues.of(symbol.market());
                let until = anchor.map_or(i64::MAX, |anchor| match anchor.minute {
                    Some(minute) if !is_day => venue.zone().instant(anchor.date, i64::from(minute) * 60).0,
                    _ => venue.zone().midnight(anchor.date.tomorrow().unwrap()).0 - 1,
                });
                let until = if self.excludes_anchor && anchor.is_some() {
                    if is_day { until - 86_400 } else { until - 1 }
                } else {
                    until
                };
                let known: Vec<Candle> = rows
                    .iter()
                    .filter(|row| row.time.0 <= until && row.time.0 * 1_000 <= now_ms)
                    .copied()
                    .collect();
                let candles = known[known.len().saturating_sub(1_000)..].to_vec();
                Ok(Answer::Candles(Page { candles, wrong: Vec::new(), decimals: 3 }))
            }
            Request::Candles { symbol, .. } => {
                let rows = self.series.get(&(symbol.clone(), false)).cloned().unwrap_or_default();
                let mut candles: Vec<Candle> =
                    rows.into_iter().filter(|row| row.time.0 * 1_000 <= now_ms).collect();
                // The current minute is incomplete.
                if let Some(last) = candles.last_mut().filter(|last| (last.time.0 + 60) * 1_000 > now_ms) {
                    last.volume /= 2;
                    last.close = last.open;
                }
                let candles = candles[candles.len().saturating_sub(1_000)..].to_vec();
                Ok(Answer::Candles(Page { candles, wrong: Vec::new(), decimals: 3 }))
            }
            Request::Intraday { .. } => Ok(Answer::Intraday(Vec::new())),
            Request::Subscribe { .. } => Ok(Answer::Subscribed(true)),
        }
    }

    /// Returns the largest number of history requests in any 30 seconds.
    pub(crate) fn most_in_window(&self) -> usize {
        most(&self.history, 30_000)
    }

    /// Returns the largest number of requests in any second.
    pub(crate) fn most_in_second(&self) -> usize {
        most(&self.all, 1_000)
    }
}

fn most(times: &[i64], window_ms: i64) -> usize {
    let in_window = |from: &i64| times.iter().filter(|at| (*from..from + window_ms).contains(at)).count();
    times.iter().map(in_window).max().unwrap_or_default()
}

pub(crate) fn refusal(code: u64) -> SourceError {
    let status = if code == 301_606 { wire_status(3) } else { wire_status(7) };
    SourceError::Refused { status, code, message: "no".to_owned() }
}

fn wire_status(number: u8) -> source::Status {
    source::Status::try_from(number).unwrap()
}

pub(crate) fn candle(time: Timestamp, price: i64) -> Candle {
    Candle {
        time,
        open: Price(price),
        high: Price(price + 200_000),
        low: Price(price - 200_000),
        close: Price(price + 100_000),
        volume: 1_000,
        turnover: Turnover(i128::from(price) * 1_000),
        session: Session::Intraday,
    }
}

fn static_info(symbol: &Symbol) -> StaticInfo {
    StaticInfo {
        symbol: symbol.clone(),
        name_cn: Some("名".to_owned()),
        name_en: Some(format!("{symbol} Ltd")),
        name_hk: None,
        listing_date: None,
        exchange: Some("SEHK".to_owned()),
        currency: Some(if symbol.market() == Market::Us { "USD" } else { "HKD" }.to_owned()),
        lot_size: Some(100),
        total_shares: None,
        circulating_shares: None,
        hk_shares: None,
        eps: None,
        eps_ttm: None,
        bps: None,
        dividend_yield: None,
        board: Some("HKEquity".to_owned()),
    }
}

/// Opens links to a source in memory.
pub(crate) struct Connector(pub(crate) Shared);

struct FakeLink {
    source: Shared,
    next: u32,
    answers: VecDeque<(u32, Result<Answer, SourceError>)>,
    is_cut: bool,
}

impl Connect for Connector {
    fn connect(&mut self, _: i64) -> Result<Box<dyn Link>, SourceError> {
        let mut source = self.0.borrow_mut();
        source.connections += 1;
        if source.unreachable > 0 {
            source.unreachable -= 1;
            let (place, reason) = ("ws://127.0.0.1".to_owned(), "refused".to_owned());
            return Err(SourceError::Unreachable { place, reason });
        }
        drop(source);
        let source = self.0.clone();
        Ok(Box::new(FakeLink { source, next: 1, answers: VecDeque::new(), is_cut: false }))
    }
}

impl Link for FakeLink {
    fn send(&mut self, request: &Request) -> Result<u32, SourceError> {
        let mut source = self.source.borrow_mut();
        source.requests += 1;
        let number = source.requests;
        let changes = std::mem::take(&mut source.changes);
        for (at, change) in &changes {
            if *at == number {
                change(&mut source.series);
            }
        }
        source.changes = changes;
        let fault = source.faults.get(&number).copied();
        let answer = match fault {
            Some(Fault::Kill) => {
                // The source has counted the request, but the process ends before the response.
                source.answer(request).ok();
                drop(source);
                std::panic::panic_any("killed");
            }
            Some(Fault::Code(code)) => {
                let now_ms = source.time.0.get();
                source.all.push(now_ms);
                if matches!(request, Request::History { .. }) {
                    source.history.push(now_ms);
                }
                Err(refusal(code))
            }
            Some(Fault::Cut) => {
                source.answer(request).ok();
                self.is_cut = true;
                return Err(SourceError::Closed { reason: "cut".to_owned() });
            }
            None => source.answer(request),
        };
        let id = self.next;
        self.next += 1;
        self.answers.push_back((id, answer));
        Ok(id)
    }

    fn next(&mut self, _: Duration) -> Result<Option<Received>, SourceError> {
        if self.is_cut {
            return Err(SourceError::Closed { reason: "cut".to_owned() });
        }
        let Some(answer) = self.answers.pop_front() else { return Ok(None) };
        let source = self.source.borrow();
        source.time.0.set(source.time.0.get() + source.latency_ms);
        Ok(Some(Received::Answer(answer)))
    }
}

/// Returns the venue of Hong Kong.
pub(crate) fn hk() -> Venue {
    Venue::built_in(Market::Hk).unwrap()
}
