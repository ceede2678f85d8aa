//! Reads the series of a run page by page, with one pending request for each of some series.

use std::collections::BTreeMap;
use std::time::Duration;

use history::mirror::{MirrorPage, Received};
use market::{Candle, Grain, Period, Symbol, Timestamp};
use mirror::{Adjust, Charge, DateRange, End, Kind, Month, Outcome, Series, Sessions};
use source::{Answer, Page, SourceError};
use store::{MirrorJob, MirrorReport};

use crate::convert::{request_of, row_text};
use crate::error::CollectError;
use crate::jobs::{self, Job, Purpose};
use crate::requests::{Event, Turn};
use crate::run::Run;
use crate::{Rate, derive};

/// Number of pages in a transaction if the rate is unlimited. With a limited rate, each page has a
/// separate transaction.
const PAGES_A_COMMIT: usize = 64;

/// Time between two updates of the progress while no request may be sent.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// A series that is being read.
pub(crate) struct Active {
    job: Job,
    number: usize,
    is_pending: bool,
    attempts: u32,
}

impl Run<'_> {
    /// Reads all series, as many at a time as there may be pending requests.
    pub(crate) fn read_series(&mut self) -> Result<(), CollectError> {
        self.series_began_ms = self.requests.now_ms();
        while self.advance()? {}
        self.flush()
    }

    /// Sends the next request, or waits for a response or until a request may be sent. Returns
    /// false once all series are complete or the run is stopped.
    pub(crate) fn advance(&mut self) -> Result<bool, CollectError> {
        let is_stopped = self.is_stopped();
        while !is_stopped && self.active.len() < self.limits.in_work() {
            let Some(job) = self.queue.pop_front() else { break };
            self.last_number += 1;
            self.active.push(Active { job, number: self.last_number, is_pending: false, attempts: 0 });
        }
        if is_stopped && self.requests.pending() == 0 || self.active.is_empty() {
            return Ok(false);
        }
        if self.requests.is_unreachable() {
            self.flush()?;
            let reason = "the source has not answered for a quarter of an hour".to_owned();
            return Err(SourceError::Closed { reason }.into());
        }
        let idle = self.active.iter().position(|active| !active.is_pending).filter(|_| !is_stopped);
        let turn = match idle {
            Some(place) => match self.requests.turn(Kind::History) {
                Turn::Now => {
                    self.send(place)?;
                    return Ok(true);
                }
                turn => turn,
            },
            None => Turn::AfterAnswer,
        };
        match turn {
            Turn::Wait(time) if self.requests.pending() == 0 => {
                self.flush()?;
                self.show();
                self.requests.wait(time.min(SHOWN_EVERY));
            }
            _ => self.receive()?,
        }
        Ok(true)
    }

    /// Waits for a response, and processes it.
    pub(crate) fn receive(&mut self) -> Result<(), CollectError> {
        for event in self.requests.receive() {
            self.handle(event)?;
        }
        Ok(())
    }

    /// Lets queued series go first: returns the active ones without a pending request to the end of
    /// the queue.
    pub(crate) fn yield_active(&mut self) {
        let (pending, idle): (Vec<Active>, Vec<Active>) =
            std::mem::take(&mut self.active).into_iter().partition(|active| active.is_pending);
        self.active = pending;
        self.queue.extend(idle.into_iter().map(|active| active.job));
    }

    /// Returns the series that are not complete.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &Series> {
        self.active.iter().map(|active| &active.job).chain(&self.queue).map(|job| job.walk.series())
    }

    /// Sends the next request of an active series.
    fn send(&mut self, place: usize) -> Result<(), CollectError> {
        self.check_lock()?;
        if self.options.rate != Rate::Unlimited {
            // A crash must lose no request that the source has counted, except the pending ones.
            self.flush()?;
        }
        let Some(active) = self.active.get(place) else { return Ok(()) };
        let (symbol, number) = (active.job.symbol().clone(), active.number);
        let venue = self.venues.of(symbol.market());
        let Some(request) = active.job.walk.request(venue) else {
            return self.finish(number, "exhausted");
        };
        let now = self.requests.now();
        let charge = self.quota.as_mut().map_or(Charge::Free, |quota| quota.charge(&symbol, now));
        match charge {
            Charge::Free => {}
            Charge::New => {
                // Stored before the request is sent, so that a crash does not lose the charge.
                let month = Month::of(now).to_string();
                self.store.write(|batch| batch.charge_mirror(self.id, &month, &symbol))?;
                self.uncharged.insert(symbol);
            }
            Charge::Wait(until) => {
                self.wait_for_month(&symbol, until);
                return Ok(());
            }
        }
        let request = request_of(&request);
        if let Some(active) = self.active.get_mut(place) {
            active.is_pending = true;
        }
        self.requests
            .send(Kind::History, &request, number)
            .into_iter()
            .try_for_each(|event| self.handle(event))
    }

    fn wait_for_month(&mut self, symbol: &Symbol, until: Timestamp) {
        self.drop_jobs(symbol);
        self.refusals.push((symbol.clone(), Some(source::Kind::QuotaSpent)));
        self.report.waits_until = Some(until);
        if !self.report.waiting.contains(symbol) {
            self.report.waiting.push(symbol.clone());
        }
    }

    fn drop_jobs(&mut self, symbol: &Symbol) {
        self.active.retain(|active| active.job.symbol() != symbol);
        self.queue.retain(|job| job.symbol() != symbol);
    }

    fn handle(&mut self, event: Event<usize>) -> Result<(), CollectError> {
        let (number, result) = match event {
            Event::Answer(number, answer) => (number, Ok(answer)),
            Event::Refused(number, error) => (number, Err((error, true))),
            Event::Failed(number, error) => (number, Err((error, false))),
        };
        let Some(active) = self.active.iter_mut().find(|active| active.number == number) else {
            return Ok(());
        };
        active.is_pending = false;
        self.is_saved = false;
        match result {
            Ok(Answer::Candles(page)) => self.take(number, &page),
            Ok(_) => Err(SourceError::Invalid { what: "no candles".to_owned() }.into()),
            Err((error, true)) => self.refused(number, &error),
            Err((error, false)) if error.is_permanent() => Err(error.into()),
            Err((error, false)) => {
                active.attempts += 1;
                self.is_too_fast |= error.kind() == Some(source::Kind::TooFast);
                let (attempts, symbol) = (active.attempts, active.job.symbol().clone());
                if attempts >= self.requests.attempts_max() {
                    self.drop_jobs(&symbol);
                    self.watch.note(&format!("{symbol}: {error}; the next run tries again"));
                    self.report.failed.push((symbol, error.to_string()));
                }
                Ok(())
            }
        }
    }

    fn take(&mut self, number: usize, page: &Page) -> Result<(), CollectError> {
        let now = self.requests.now();
        let Some(active) = self.active.iter_mut().find(|active| active.number == number) else {
            return Ok(());
        };
        active.attempts = 0;
        let job = &mut active.job;
        let (series, purpose) = (job.walk.series().clone(), job.purpose);
        let venue = self.venues.of(series.symbol.market());
        let taken = job.walk.take(venue, &page.candles, now);
        job.pages += 1;
        job.rows += taken.rows.len() as u64;
        job.newest = job.newest.max(taken.rows.last().map(|row| row.time));
        let end = match taken.outcome {
            Outcome::Done(end) => Some(end),
            Outcome::Continue | Outcome::Restarted => None,
        };
        if end.is_some() && purpose == Purpose::Read {
            job.end_at_settled_day(venue, now);
        }
        let kind = match series.adjust {
            Adjust::Forward => Received::AdjustedDays,
            Adjust::None if series.period().is_clock() => Received::Actual(Grain::Minute),
            Adjust::None => Received::Actual(Grain::Day),
        };
        let mut quarantined: Vec<(String, String)> =
            page.wrong.iter().map(|row| (row.text.clone(), row.reason.clone())).collect();
        quarantined
            .extend(taken.quarantined.iter().map(|bad| (row_text(&bad.candle), bad.reason.to_string())));
        // Otherwise the series would be complete without its corporate actions if the process ended
        // before they are derived. The next run requests the last page again.
        let stored_end = end.filter(|_| !job.completes_with_actions());
        let (symbol, job_row) = (series.symbol.clone(), job.row(stored_end.map(End::as_str), now));
        let decimals = page.decimals;
        let ready = MirrorPage {
            job: job_row,
            symbol: symbol.clone(),
            kind,
            rows: taken.rows,
            quarantined,
            decimals,
        };
        self.uncharged.remove(&symbol);
        self.report.pages += 1;
        self.progress.answered += 1;
        self.progress.series = series.to_string();
        let differs = kind == Received::AdjustedDays && self.is_adjusted_anew(&ready)?;
        let is_adjusted_anew = match self.active.iter_mut().find(|active| active.number == number) {
            Some(active) => {
                active.job.is_adjusted_anew |= differs;
                active.job.is_adjusted_anew
            }
            None => differs,
        };
        self.ready.push(ready);
        let is_limited = self.options.rate != Rate::Unlimited;
        if is_limited || end.is_some() || self.ready.len() >= PAGES_A_COMMIT {
            self.flush()?;
        }
        if taken.outcome == Outcome::Restarted {
            self.watch.note(&format!("{series}: the source has revised the series; reading it again"));
        }
        match end {
            Some(end) => {
                if end == End::Revised {
                    self.report_revised(&series, now)?;
                }
                if is_adjusted_anew {
                    self.read_adjusted_again(&symbol, purpose)?;
                }
                self.finish(number, end.as_str())
            }
            None => Ok(()),
        }
    }

    /// Returns whether received adjusted days differ from the stored ones of the same dates. In
    /// that case a corporate action has changed all earlier adjusted days.
    fn is_adjusted_anew(&mut self, page: &MirrorPage) -> Result<bool, CollectError> {
        let job = &page.job;
        let stored = self.store.view().mirror_jobs_of(self.id, &job.symbol)?;
        let is_other = |other: &MirrorJob| {
            other.adjustment == job.adjustment
                && Purpose::parse(&other.purpose).covers()
                && other.outcome.is_some()
                && (other.first_day != job.first_day || job.purpose != other.purpose)
        };
        if !stored.iter().any(is_other) {
            return Ok(false);
        }
        let before = self.store.received_days(self.id, &page.symbol)?;
        let known: BTreeMap<i64, Candle> = before.iter().map(|candle| (candle.time.0, candle)).collect();
        Ok(page.rows.iter().any(|row| known.get(&row.time.0).is_some_and(|before| before.close != row.close)))
    }

    /// Reads the adjusted days of a security again. Read-through reads those that were read before,
    /// a run those of the list.
    fn read_adjusted_again(&mut self, symbol: &Symbol, purpose: Purpose) -> Result<(), CollectError> {
        let (adjusted, jobs): (Vec<MirrorJob>, Vec<MirrorJob>) = self
            .store
            .view()
            .mirror_jobs_of(self.id, symbol)?
            .into_iter()
            .partition(|job| job.adjustment == Adjust::Forward.as_str());
        self.store
            .write(|batch| adjusted.iter().try_for_each(|job| batch.remove_mirror_job(self.id, job)))?;
        let now = self.requests.now();
        if purpose == Purpose::Read {
            let (from, through) =
                (adjusted.iter().map(|job| job.first_day), adjusted.iter().map(|job| job.last_day));
            if let Some((from, through)) = from.min().zip(through.max()) {
                let dates = DateRange { from, through };
                let series = Series::new(symbol.clone(), Period::DAY, Adjust::Forward, Sessions::Intraday)?;
                let venue = self.venues.of(symbol.market());
                self.queue.push_front(Job::new(series, dates, Purpose::Read, venue, now));
            }
            return Ok(());
        }
        for job in self.jobs_of(symbol, &jobs, now)? {
            let series = job.walk.series();
            let is_queued = self.queue.iter().any(|queued| queued.walk.series() == series);
            if series.adjust == Adjust::Forward && job.purpose == Purpose::History && !is_queued {
                self.progress.expected += self.pages_of(&job);
                self.queue.push_front(job);
            }
        }
        Ok(())
    }

    fn report_revised(&mut self, series: &Series, now: Timestamp) -> Result<(), CollectError> {
        let content = format!("{series}: the source revised the series several times while it was read");
        let (kind, symbol) = ("revised".to_owned(), Some(series.symbol.clone()));
        self.report.reports += 1;
        self.commit(&[], &[MirrorReport { kind, symbol, content, at: now }])
    }

    /// Removes a completed series. Derives corporate actions once both the unadjusted and the
    /// adjusted daily candles of the security are complete.
    fn finish(&mut self, number: usize, outcome: &str) -> Result<(), CollectError> {
        let Some(place) = self.active.iter().position(|active| active.number == number) else {
            return Ok(());
        };
        let Active { job, .. } = self.active.remove(place);
        let now = self.requests.now();
        let (symbol, series) = (job.symbol().clone(), job.walk.series().clone());
        if job.purpose == Purpose::Again {
            let row = job.row(Some(outcome), now);
            self.store.write(|batch| batch.remove_mirror_job(self.id, &row))?;
        }
        // Otherwise all adjusted days are read again.
        if job.purpose == Purpose::Read && !job.is_adjusted_anew {
            self.record_coverage(&job, now)?;
        }
        let others = self.active.iter().map(|active| &active.job).chain(&self.queue);
        let mut left = others.filter(|other| *other.symbol() == symbol);
        let (mut has_days, mut has_any) = (false, false);
        for other in &mut left {
            has_any = true;
            has_days |= !other.walk.series().period().is_clock();
        }
        if !series.period().is_clock() && !has_days {
            let derivation = derive(&mut self.store, self.id, &symbol, now)?;
            self.report.reports += derivation.reports.len();
        }
        if job.completes_with_actions() && !job.is_adjusted_anew {
            let row = job.row(Some(outcome), now);
            self.store.write(|batch| batch.put_mirror_job(self.id, &row))?;
        }
        if !has_any {
            self.report.complete += 1;
            self.store.write(|batch| batch.note_mirror_security(self.id, &symbol, None))?;
        }
        Ok(())
    }

    /// Replaces the rows of the completed jobs of a series by one row for each range of days, and
    /// removes the rows of incomplete days in these ranges.
    fn record_coverage(&mut self, job: &Job, now: Timestamp) -> Result<(), CollectError> {
        let series = job.walk.series();
        let (period, is_clock) = (series.period().to_string(), series.period().is_clock());
        let venue = self.venues.of(series.symbol.market());
        let of_series = |row: &MirrorJob| {
            row.period == period
                && row.adjustment == series.adjust.as_str()
                && row.sessions == series.sessions().as_str()
        };
        let stored = self.store.view().mirror_jobs_of(self.id, job.symbol())?;
        let is_read = |row: &MirrorJob| of_series(row) && row.purpose == Purpose::Read.as_str();
        // The row of this job was stored with its last page.
        let complete: Vec<&MirrorJob> =
            stored.iter().filter(|row| is_read(row) && row.outcome.is_some()).collect();
        let ranges = complete.iter().map(|row| DateRange { from: row.first_day, through: row.last_day });
        let merged = jobs::merged(venue, ranges);
        let is_within = |row: &MirrorJob| {
            merged.iter().any(|range| range.from <= row.first_day && row.last_day <= range.through)
        };
        let (pages, rows) = (
            complete.iter().map(|row| row.pages).sum::<u64>(),
            complete.iter().map(|row| row.rows).sum::<u64>(),
        );
        let is_today = |row: &MirrorJob| is_clock && row.purpose == jobs::TODAY && of_series(row);
        let is_replaced = |row: &&MirrorJob| match row.outcome {
            Some(_) => is_read(row),
            None => (is_read(row) || is_today(row)) && is_within(row),
        };
        let removed: Vec<&MirrorJob> = stored.iter().filter(is_replaced).collect();
        let template = job.row(job.walk.position().end().map(End::as_str), now);
        Ok(self.store.write(|batch| {
            for row in &removed {
                batch.remove_mirror_job(self.id, row)?;
            }
            for (place, range) in merged.iter().enumerate() {
                // The counts of a series are in its first row.
                let (pages, rows) = if place == 0 { (pages, rows) } else { (0, 0) };
                let (first_day, last_day) = (range.from, range.through);
                let row = MirrorJob { first_day, last_day, pages, rows, ..template.clone() };
                batch.put_mirror_job(self.id, &row)?;
            }
            Ok(())
        })?)
    }

    /// Records why a security was refused, and drops its remaining jobs.
    fn refused(&mut self, number: usize, error: &SourceError) -> Result<(), CollectError> {
        let Some(active) = self.active.iter().find(|active| active.number == number) else { return Ok(()) };
        let (symbol, now) = (active.job.symbol().clone(), self.requests.now());
        let month = Month::of(now).to_string();
        let is_new = self.uncharged.remove(&symbol);
        if error.kind() == Some(source::Kind::QuotaSpent) {
            let Some(quota) = &mut self.quota else { return Ok(()) };
            let until = quota.refused(&symbol, now);
            self.state.spent_month = Some(month.clone());
            self.store.write(|batch| batch.uncharge_mirror(self.id, &month, &symbol))?;
            self.wait_for_month(&symbol, until);
            return self.flush();
        }
        if is_new {
            // The source does not count refused requests.
            if let Some(quota) = &mut self.quota {
                quota.released(&symbol);
            }
            self.store.write(|batch| batch.uncharge_mirror(self.id, &month, &symbol))?;
        }
        self.drop_jobs(&symbol);
        self.refusals.push((symbol.clone(), error.kind()));
        let text = error.to_string();
        self.store.write(|batch| batch.note_mirror_security(self.id, &symbol, Some((&text, now))))?;
        self.watch.note(&format!("{symbol}: {text}"));
        self.report.refused.push((symbol, text));
        self.flush()
    }
}
