//! Plans the requests of a run without sending them.

use market::{Period, Symbol, Timestamp, Venues};
use mirror::{Adjust, DateRange, Kind, Plan, PlanOptions, Quota, RateLimits, Security};
use source::{Answer, Request, SourceError};
use store::{MirrorJob, MirrorRow, MirrorSecurity, View};

use crate::convert::{limits_of, quota_of};
use crate::error::CollectError;
use crate::requests::Requests;
use crate::run::{RunOptions, Runner};
use crate::{Settings, State, jobs};

/// Returns the plan of a run. Requests only the user profile, for the limits.
pub fn plan(
    runner: &mut Runner<'_>,
    row: &MirrorRow,
    options: &RunOptions,
) -> Result<(Plan, RateLimits, Quota), CollectError> {
    let settings: Settings = serde_json::from_str(&row.settings)?;
    let mut state = State::parse(&row.state);
    let mut requests = Requests::new(runner.connect, runner.time, RateLimits::PUBLISHED, &state);
    let profile = match requests.request(Kind::Other, &Request::Profile, 0_usize)? {
        Answer::Profile(profile) => profile,
        _ => return Err(SourceError::Invalid { what: "no profile".to_owned() }.into()),
    };
    let limits = limits_of(options.rate, &profile.rate_limits);
    state.month_limit = Some(profile.history_securities).filter(|limit| *limit > 0);
    let now = requests.now();
    let mut reader = runner.store.reader()?;
    let view = reader.view();
    let (list, stored) = (view.mirror_securities(row.id)?, view.mirror_jobs(row.id)?);
    let quota = quota_of(view, row.id, &state, options, now)?;
    let mut securities = Vec::with_capacity(list.len());
    for MirrorSecurity { symbol, .. } in list {
        let jobs: Vec<MirrorJob> = stored.iter().filter(|job| job.symbol == symbol).cloned().collect();
        // Imports have no adjusted days.
        let present = options.present.get(&symbol).into_iter().flatten();
        let present = present.map(|(period, dates)| (*period, Adjust::None, *dates)).collect();
        securities.push(planned(symbol, &jobs, present));
    }
    let options = PlanOptions {
        periods: settings.list.periods(),
        from: settings.list.from(),
        through: settings.list.through(),
        sessions: settings.list.sessions(),
        max_new: options.max_new,
        with_today: options.today,
    };
    Ok((Plan::of(runner.venues, &securities, &options, &quota, now)?, limits, quota))
}

/// What a run would request for one security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Number of requests that count toward the limit of history requests.
    pub requests: u64,
    /// Number of candles if every minute and day was traded.
    pub candles: u64,
    /// Whether the security counts toward the quota of the month.
    pub is_new: bool,
    /// Number of securities that may still be requested this month. `None` if unlimited.
    pub quota_left: Option<usize>,
}

/// Returns what a run would request for a security, with the limits of the last run. Requests
/// nothing.
pub fn cost(
    view: &View,
    venues: &Venues,
    row: &MirrorRow,
    symbol: &Symbol,
    now: Timestamp,
) -> Result<Cost, CollectError> {
    let settings: Settings = serde_json::from_str(&row.settings)?;
    let quota = quota_of(view, row.id, &State::parse(&row.state), &RunOptions::default(), now)?;
    let jobs = view.mirror_jobs_of(row.id, symbol)?;
    let list = PlanOptions {
        periods: settings.list.periods(),
        from: settings.list.from(),
        through: settings.list.through(),
        sessions: settings.list.sessions(),
        max_new: None,
        with_today: false,
    };
    let security = planned(symbol.clone(), &jobs, Vec::new());
    // A security that must wait for the next month costs as much then.
    let unlimited = Quota::new(quota.month(), Vec::new(), None, None);
    let plan = Plan::of(venues, &[security], &list, &unlimited, now)?;
    Ok(Cost {
        requests: plan.history_requests(),
        candles: plan.candles(),
        is_new: !quota.is_free(symbol),
        quota_left: quota.left(),
    })
}

/// Returns a security for a plan. `present` are the dates that need not be requested in addition to
/// the collected ones.
fn planned(symbol: Symbol, jobs: &[MirrorJob], present: Vec<(Period, Adjust, DateRange)>) -> Security {
    let mut stored = Vec::new();
    for (series, dates) in jobs::covered(jobs) {
        stored.extend(dates.into_iter().map(|dates| (series.period(), series.adjust, dates)));
    }
    stored.extend(present);
    let mut of_run = jobs.iter().filter(|job| jobs::is_of_run(job)).peekable();
    let is_unfinished = of_run.peek().is_none() || of_run.any(|job| job.outcome.is_none());
    Security { symbol, stored, is_unfinished }
}
