//! Plans the requests of a run without sending them.

use market::Period;
use mirror::{Adjust, DateRange, Kind, Plan, PlanOptions, Quota, RateLimits, Security};
use source::{Answer, Request, SourceError};
use store::{MirrorJob, MirrorRow, MirrorSecurity};

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
        let mut known: Vec<(Period, Adjust, DateRange)> = Vec::new();
        for (series, dates) in jobs::covered(&jobs) {
            known.extend(dates.into_iter().map(|dates| (series.period(), series.adjust, dates)));
        }
        // Imports have no adjusted days.
        let present = options.present.get(&symbol).into_iter().flatten();
        known.extend(present.map(|(period, dates)| (*period, Adjust::None, *dates)));
        let is_unfinished = jobs.is_empty() || jobs.iter().any(|job| job.outcome.is_none());
        securities.push(Security { symbol, stored: known, is_unfinished });
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
