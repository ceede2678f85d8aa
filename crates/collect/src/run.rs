//! The main loop of a run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use history::mirror::{Collecting, MirrorCounts, MirrorPage, MirrorStore};
use market::{Candle, Date, DateSpan, DayKind, Market, Period, Symbol, Timestamp, Venues};
use mirror::recheck::Recheck;
use mirror::{DateRange, Kind, PAGE_ROWS, Quota, RateLimits, STATICS_MAX};
use source::{Answer, Request, SourceError};
use store::{MirrorId, MirrorJob, MirrorLock, MirrorReport, MirrorRow, MirrorSecurity, MirrorTask, Store};

use crate::calendar::calendar_differences;
use crate::convert::{limits_of, quota_of, security};
use crate::error::CollectError;
use crate::jobs::{self, Job, Wanted, is_of_run};
use crate::reading::Active;
use crate::requests::Requests;
use crate::{Connect, Rate, Settings, State, Time, today};

/// Time for which a refused security is skipped, in seconds.
const REFUSED_SKIPPED_S: i64 = 86_400;

/// Options of one run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    pub recheck: Option<Recheck>,
    pub max_new: Option<usize>,
    pub quota: Option<u32>,
    pub rate: Rate,
    pub today: bool,
    /// Date ranges that were imported by other means, by security. They are not requested.
    pub present: BTreeMap<Symbol, Vec<(Period, DateRange)>>,
}

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Expected number of requests for series.
    pub expected: u64,
    /// Number of answered requests for series.
    pub answered: u64,
    pub time_left: Duration,
    /// Number of securities that may still be requested this month. `None` if unlimited.
    pub quota_left: Option<usize>,
    pub counts: MirrorCounts,
    /// The series of the last page.
    pub series: String,
}

/// Receives the progress and the messages of a run.
pub trait Watch {
    fn progress(&self, progress: &Progress);
    fn note(&self, text: &str);
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    pub requests: u64,
    pub pages: u64,
    pub counts: MirrorCounts,
    /// Number of securities whose series are complete.
    pub complete: usize,
    /// Refused securities with the reason.
    pub refused: Vec<(Symbol, String)>,
    /// Securities whose requests failed too often, with the last error.
    pub failed: Vec<(Symbol, String)>,
    /// Securities that need the quota of the next month.
    pub waiting: Vec<Symbol>,
    /// Time at which the next month begins, if a security needs its quota.
    pub waits_until: Option<Timestamp>,
    /// Securities left out because of `max_new`.
    pub held: Vec<Symbol>,
    pub reports: usize,
    pub is_stopped: bool,
}

/// Runs a mirror on the calling thread.
#[expect(missing_debug_implementations, reason = "it has functions")]
pub struct Runner<'a> {
    pub store: &'a Store,
    pub venues: &'a Venues,
    pub connect: &'a mut dyn Connect,
    pub time: &'a dyn Time,
    pub watch: &'a dyn Watch,
    pub stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// Requests and stores all missing candles, except those of securities that need the quota of
    /// the next month. After an error or a stop, everything stored so far remains. Fails if another
    /// process runs this mirror.
    pub fn run(&mut self, row: &MirrorRow, options: &RunOptions) -> Result<RunReport, CollectError> {
        let mut run = self.begin(row, options)?;
        run.state.began_at = Some(run.requests.now().0);
        run.state.ended_at = None;
        run.state.outcome = None;
        let result = run.all();
        let outcome = match &result {
            Ok(()) if run.report.is_stopped => "stopped".to_owned(),
            Ok(()) => "done".to_owned(),
            Err(error) => error.to_string(),
        };
        run.state.outcome = Some(outcome);
        run.state.ended_at = Some(run.requests.now().0);
        run.close(result)
    }

    /// Takes the lock of the mirror and restores its state.
    pub(crate) fn begin<'b>(
        &'b mut self,
        row: &MirrorRow,
        options: &'b RunOptions,
    ) -> Result<Run<'b>, CollectError> {
        let lock = self.store.mirror_lock(row, MirrorTask::Read)?;
        // Another process may have changed the row before the lock was taken.
        let removed = || CollectError::Removed(row.name.clone());
        let row = self.store.reader()?.view().mirror(&row.name)?.ok_or_else(removed)?;
        let settings: Settings = serde_json::from_str(&row.settings)?;
        let mut state = State::parse(&row.state);
        let limits = limits_of(options.rate, &[]);
        let requests = Requests::new(self.connect, self.time, limits, &state);
        state.in_work = limits.in_work();
        Ok(Run {
            requests,
            data: self.store,
            store: MirrorStore::open(self.store, self.venues)?,
            venues: self.venues,
            watch: self.watch,
            stop: self.stop,
            lock,
            id: row.id,
            name: row.name,
            settings,
            options,
            state,
            limits,
            quota: None,
            queue: VecDeque::new(),
            active: Vec::new(),
            last_number: 0,
            ready: Vec::new(),
            progress: Progress::default(),
            report: RunReport::default(),
            refusals: Vec::new(),
            is_too_fast: false,
            uncharged: BTreeSet::new(),
            current: Vec::new(),
            is_saved: false,
            series_began_ms: 0,
        })
    }
}

/// State of a run.
pub(crate) struct Run<'a> {
    pub(crate) requests: Requests<'a, usize>,
    pub(crate) data: &'a Store,
    pub(crate) store: MirrorStore,
    pub(crate) venues: &'a Venues,
    pub(crate) watch: &'a dyn Watch,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) lock: MirrorLock,
    pub(crate) id: MirrorId,
    pub(crate) name: String,
    pub(crate) settings: Settings,
    pub(crate) options: &'a RunOptions,
    pub(crate) state: State,
    pub(crate) limits: RateLimits,
    pub(crate) quota: Option<Quota>,
    pub(crate) queue: VecDeque<Job>,
    /// As many as there may be pending requests. Only one page of a series is requested at a time.
    pub(crate) active: Vec<Active>,
    pub(crate) last_number: usize,
    /// Received pages that are not committed yet.
    pub(crate) ready: Vec<MirrorPage>,
    pub(crate) progress: Progress,
    pub(crate) report: RunReport,
    /// Refused securities with the kind of the refusal, for read-through.
    pub(crate) refusals: Vec<(Symbol, Option<source::Kind>)>,
    /// Whether the source has refused a request as too fast.
    pub(crate) is_too_fast: bool,
    /// Securities charged to the quota in this run that have had no response yet.
    pub(crate) uncharged: BTreeSet<Symbol>,
    /// Securities without missing candles of past days.
    pub(crate) current: Vec<Symbol>,
    /// Whether the stored state is that of this run.
    pub(crate) is_saved: bool,
    /// When the first series was requested, in Unix milliseconds.
    pub(crate) series_began_ms: i64,
}

impl Run<'_> {
    /// Stores the state after the last request.
    pub(crate) fn close(mut self, result: Result<(), CollectError>) -> Result<RunReport, CollectError> {
        // Requests that have no response yet may still be counted by the source.
        self.state.in_work = self.requests.pending();
        self.is_saved = false;
        self.report.requests = self.requests.sent();
        self.state.requests += self.report.requests;
        let flushed = self.flush();
        result?;
        flushed?;
        Ok(self.report)
    }

    /// Waits for all pending responses.
    pub(crate) fn finish_pending(&mut self) -> Result<(), CollectError> {
        while self.requests.pending() > 0 {
            self.receive()?;
        }
        Ok(())
    }

    /// Returns the quota of the month, with the limit of the last profile.
    pub(crate) fn stored_quota(&mut self) -> Result<Quota, CollectError> {
        let now = self.requests.now();
        Ok(quota_of(self.store.view(), self.id, &self.state, self.options, now)?)
    }

    fn all(&mut self) -> Result<(), CollectError> {
        // Before the first request, so that a run after a crash knows that requests were pending.
        self.flush()?;
        self.read_profile()?;
        let order = self.choose()?;
        self.compare_calendars(&order)?;
        self.read_statics(&order)?;
        self.fill_queue(&order)?;
        self.read_series()?;
        if self.options.today && !self.is_stopped() {
            let symbols: Vec<Symbol> = order.into_iter().chain(std::mem::take(&mut self.current)).collect();
            self.read_today(&symbols)?;
        }
        self.report.is_stopped = self.is_stopped();
        Ok(())
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Fails if another process may send requests for this mirror.
    pub(crate) fn check_lock(&self) -> Result<(), CollectError> {
        match self.lock.is_held() {
            true => Ok(()),
            false => Err(CollectError::LockLost(self.name.clone())),
        }
    }

    /// Sends one request and waits for its response.
    pub(crate) fn request(&mut self, request: &Request) -> Result<Result<Answer, SourceError>, CollectError> {
        self.check_lock()?;
        Ok(self.requests.request(Kind::Other, request, 0))
    }

    pub(crate) fn read_profile(&mut self) -> Result<(), CollectError> {
        let Answer::Profile(profile) = self.request(&Request::Profile)?? else {
            return Err(SourceError::Invalid { what: "no profile".to_owned() }.into());
        };
        self.limits = limits_of(self.options.rate, &profile.rate_limits);
        self.requests.set_limits(self.limits);
        self.state.month_limit = Some(profile.history_securities).filter(|limit| *limit > 0);
        self.quota = Some(self.stored_quota()?);
        Ok(())
    }

    /// Returns the securities of this run, in the order in which they are read.
    fn choose(&mut self) -> Result<Vec<Symbol>, CollectError> {
        let now = self.requests.now();
        let (list, stored) =
            (self.store.view().mirror_securities(self.id)?, self.store.view().mirror_jobs(self.id)?);
        let unfinished: BTreeSet<&Symbol> = stored
            .iter()
            .filter(|job| job.outcome.is_none() && is_of_run(job))
            .map(|job| &job.symbol)
            .collect();
        let mut symbols = Vec::with_capacity(list.len());
        for MirrorSecurity { symbol, note } in list {
            match note {
                Some((reason, at)) if self.options.recheck.is_none() && now.0 - at.0 < REFUSED_SKIPPED_S => {
                    self.report.refused.push((symbol, reason));
                }
                _ => symbols.push(symbol),
            }
        }
        let Some(quota) = &self.quota else { return Ok(symbols) };
        // Securities that need no requests take no quota.
        let mut current = Vec::new();
        let mut wanted = Vec::new();
        for symbol in symbols {
            let jobs: Vec<MirrorJob> = stored.iter().filter(|job| job.symbol == symbol).cloned().collect();
            match self.jobs_of(&symbol, &jobs, now)?.is_empty() {
                true => current.push(symbol),
                false => wanted.push(symbol),
            }
        }
        self.report.complete = current.len();
        // A security without any jobs also counts as unfinished. Otherwise the new days of the
        // first securities of a long list would use up the quota every month.
        let begun: BTreeSet<&Symbol> =
            stored.iter().filter(|job| is_of_run(job)).map(|job| &job.symbol).collect();
        let is_unfinished = |symbol: &Symbol| unfinished.contains(symbol) || !begun.contains(symbol);
        let order = quota.order(&wanted, is_unfinished, self.options.max_new);
        if !order.waiting.is_empty() {
            self.report.waits_until = Some(quota.month().ends());
        }
        (self.report.waiting, self.report.held) = (order.waiting, order.held);
        self.current = current;
        Ok(order.now)
    }

    pub(crate) fn jobs_of(
        &self,
        symbol: &Symbol,
        stored: &[MirrorJob],
        now: Timestamp,
    ) -> Result<Vec<Job>, CollectError> {
        let list = &self.settings.list;
        let mut periods = list.periods();
        periods.sort_unstable_by(|a, b| b.cmp(a));
        periods.dedup();
        let wanted = Wanted {
            periods,
            from: list.from(),
            through: list.through(),
            sessions: list.sessions(),
            recheck: self.options.recheck,
        };
        let present = self.options.present.get(symbol).map(Vec::as_slice).unwrap_or_default();
        let venue = self.venues.of(symbol.market());
        Ok(jobs::of_security(venue, symbol, &wanted, stored, present, now)?)
    }

    /// Compares the trading days of the past year with our calendar, once a day.
    fn compare_calendars(&mut self, symbols: &[Symbol]) -> Result<(), CollectError> {
        let now = self.requests.now();
        let today = self.venues.of(Market::Hk).zone().date(now).to_string();
        if self.state.calendar_on.as_deref() == Some(today.as_str()) || symbols.is_empty() {
            return Ok(());
        }
        let mut reports = Vec::new();
        for market in Market::ALL {
            if !symbols.iter().any(|symbol| symbol.market() == market) {
                continue;
            }
            let venue = self.venues.of(market);
            let last = venue.zone().date(now);
            let mut from = last.checked_sub(DateSpan::new().days(364)).unwrap_or(last);
            while from <= last {
                if self.is_stopped() {
                    return Ok(());
                }
                let to = from.checked_add(DateSpan::new().days(30)).unwrap_or(last).min(last);
                let request = Request::TradingDays { market, from, to };
                match self.request(&request)? {
                    Ok(Answer::TradingDays(received)) => {
                        let days = venue.calendar().days(from, to);
                        let ours: BTreeMap<Date, DayKind> = days.collect();
                        reports.extend(calendar_differences(market, &received, &ours, now));
                    }
                    Ok(_) | Err(SourceError::Refused { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
                let Ok(next) = to.tomorrow() else { break };
                from = next;
            }
        }
        self.report.reports += reports.len();
        for report in &reports {
            self.watch.note(&report.content);
        }
        self.state.calendar_on = Some(today);
        self.commit(&[], &reports)
    }

    fn read_statics(&mut self, symbols: &[Symbol]) -> Result<(), CollectError> {
        for symbols in symbols.chunks(STATICS_MAX) {
            if self.is_stopped() {
                return Ok(());
            }
            let request = Request::StaticInfo { symbols: symbols.to_vec() };
            match self.request(&request)? {
                Ok(Answer::StaticInfo(all)) => {
                    let requested: BTreeSet<&Symbol> = symbols.iter().collect();
                    let all = all.into_iter().filter(|info| requested.contains(&info.symbol));
                    let securities: Vec<store::Security> = all.map(security).collect();
                    self.store.put_securities(&securities)?;
                }
                Ok(_) | Err(SourceError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Queues the series of the securities, all days before all minutes.
    fn fill_queue(&mut self, symbols: &[Symbol]) -> Result<(), CollectError> {
        let now = self.requests.now();
        let stored = self.store.view().mirror_jobs(self.id)?;
        let (mut days, mut minutes) = (VecDeque::new(), VecDeque::new());
        for symbol in symbols {
            let jobs: Vec<MirrorJob> = stored.iter().filter(|job| job.symbol == *symbol).cloned().collect();
            for job in self.jobs_of(symbol, &jobs, now)? {
                self.progress.expected += self.pages_of(&job);
                let queue = if job.walk.series().period().is_clock() { &mut minutes } else { &mut days };
                queue.push_back(job);
            }
        }
        days.append(&mut minutes);
        self.queue = days;
        Ok(())
    }

    /// Returns the expected number of pages of a job.
    pub(crate) fn pages_of(&self, job: &Job) -> u64 {
        let venue = self.venues.of(job.symbol().market());
        let days = venue.calendar().days(job.dates.from, job.dates.through);
        let rows = match job.walk.series().period().is_clock() {
            false => days.count() as u64,
            true => days.map(|(day, _)| minutes_of(venue, day, job)).sum(),
        };
        rows.div_ceil(mirror::NEW_ROWS_A_PAGE).saturating_sub(job.pages).max(1)
    }

    fn read_today(&mut self, symbols: &[Symbol]) -> Result<(), CollectError> {
        let sessions =
            if self.settings.list.all_sessions { source::Sessions::All } else { source::Sessions::Regular };
        for symbol in symbols {
            if self.is_stopped() || self.report.refused.iter().any(|(refused, _)| refused == symbol) {
                continue;
            }
            let request = Request::Candles {
                symbol: symbol.clone(),
                period: source::Period::Minute,
                adjust: source::Adjust::Actual,
                sessions,
                count: source::Count::MAX,
            };
            match self.request(&request)? {
                Ok(Answer::Candles(mut page)) => {
                    self.prepend_to_today(symbol, sessions, &mut page.candles)?;
                    let now_ms = self.requests.now_ms();
                    today::put(self.data, self.venues, (&self.name, symbol), &page.candles, now_ms)?;
                }
                Ok(_) | Err(SourceError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Adds the candles before a full page, because a US day with all sessions has up to 1,440
    /// minutes. That request counts toward the quota, so only securities that were requested this
    /// month are read.
    pub(crate) fn prepend_to_today(
        &mut self,
        symbol: &Symbol,
        sessions: source::Sessions,
        candles: &mut Vec<Candle>,
    ) -> Result<(), CollectError> {
        let is_charged = self.quota.as_ref().is_some_and(|quota| quota.is_free(symbol));
        let Some(oldest) = candles.first().map(|candle| candle.time) else { return Ok(()) };
        if candles.len() < PAGE_ROWS as usize || !self.settings.list.all_sessions || !is_charged {
            return Ok(());
        }
        let (period, adjust, count) = (source::Period::Minute, source::Adjust::Actual, source::Count::MAX);
        let anchor = Some(source::Anchor::at(symbol.market(), period, oldest));
        let request = Request::History { symbol: symbol.clone(), period, adjust, sessions, anchor, count };
        self.is_saved = false;
        match self.requests.request(Kind::History, &request, 0) {
            Ok(Answer::Candles(older)) => {
                let older = older.candles.into_iter().filter(|candle| candle.time < oldest);
                candles.splice(0..0, older);
            }
            Ok(_) | Err(SourceError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.flush()
    }

    /// Commits the received pages and the state.
    pub(crate) fn flush(&mut self) -> Result<(), CollectError> {
        let pages = std::mem::take(&mut self.ready);
        if pages.is_empty() && self.is_saved {
            return Ok(());
        }
        self.commit(&pages, &[])
    }

    pub(crate) fn commit(
        &mut self,
        pages: &[MirrorPage],
        reports: &[MirrorReport],
    ) -> Result<(), CollectError> {
        self.check_lock()?;
        self.state.recent_ms = self.requests.recent_ms();
        // A server that follows the mirror stores its own part of the state.
        if let Some(row) = self.store.view().mirror(&self.name)? {
            self.state.following = State::parse(&row.state).following;
        }
        let state = self.state.text();
        let now = self.requests.now();
        let mirror = Collecting { id: self.id, name: &self.name, state: &state, now };
        let counts = self.store.commit(&mirror, pages, reports)?;
        self.is_saved = true;
        let all = &mut self.report.counts;
        all.added += counts.added;
        all.replaced += counts.replaced;
        all.unchanged += counts.unchanged;
        all.quarantined += counts.quarantined;
        self.show();
        Ok(())
    }

    pub(crate) fn show(&mut self) {
        let progress = &mut self.progress;
        progress.expected = progress.expected.max(progress.answered);
        let left = progress.expected - progress.answered;
        progress.time_left = match self.options.rate {
            Rate::Share(_) => self.requests.time_left(left),
            // Without a limit, the requests so far are the only measure.
            Rate::Unlimited => {
                let ms = u64::try_from(self.requests.now_ms() - self.series_began_ms).unwrap_or_default();
                Duration::from_millis(ms.saturating_mul(left) / progress.answered.max(1))
            }
        };
        progress.quota_left = self.quota.as_ref().and_then(Quota::left);
        progress.counts = self.report.counts;
        self.watch.progress(progress);
    }
}

fn minutes_of(venue: &market::Venue, day: Date, job: &Job) -> u64 {
    let is_read = |session| {
        job.walk.series().sessions() == mirror::Sessions::All || session == market::Session::Intraday
    };
    let segments = venue.hours(day).iter().filter(|segment| is_read(segment.session));
    segments.map(|segment| u64::try_from(segment.last_minute() - segment.start + 1).unwrap_or_default()).sum()
}
