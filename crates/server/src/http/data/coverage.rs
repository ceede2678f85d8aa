//! What is stored against what the calendar expects, for operators: a letter for each security and day, and the gaps of one.

use history::{DayCoverage, DayState, Expected, Gap, GapReason, HistoryError};
use market::{Date, DayKind, Market, Symbol, Zone};
use serde_json::{Value, json};

use crate::command;
use crate::kit::Site;
use crate::kit::envelope::{self, Problem};
use crate::kit::named::Named;
use crate::kit::{Admitted, Answer, Call};
use crate::refusal::Refusal;

/// A quarter, however its months fall.
const DAYS_MAX: u32 = 92;
const DAYS_DEFAULT: u32 = 91;
const ROWS_MAX: u32 = 100;
const GAPS_MAX: usize = 50;

pub(super) fn rows(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let named = Named::parse(call.query, &["end", "days", "after", "limit"])?;
    let as_of = site.core.as_of();
    // One date for all markets: that of the clock which months follow.
    let today = site.core.history.venues().of(Market::Hk).zone().date(as_of.now());
    let end = named.date("end")?.unwrap_or(today);
    let start = earlier(end, named.number("days", 1..=DAYS_MAX, DAYS_DEFAULT)?)?;
    let limit = usize::try_from(named.number("limit", 1..=ROWS_MAX, ROWS_MAX)?).unwrap_or(usize::MAX);
    let after = named.get("after").map(command::symbol).transpose()?;
    let directory = site.directory()?;
    let behind = directory.behind(after.as_ref());
    let expected = Market::ALL
        .map(|market| (market, Expected::of(site.core.history.venues().of(market), (start, end), as_of)));
    let rows = site.core.with_reader(|reader| {
        let mut rows = Vec::new();
        for one in behind.iter().take(limit) {
            let of_market = expected.iter().find(|(market, _)| *market == one.symbol.market());
            let Some((_, expected)) = of_market else { continue };
            let states = expected.states(reader, &one.symbol)?;
            let days: String = states.into_iter().map(DayState::letter).collect();
            rows.push(json!({"symbol": one.symbol.as_str(), "days": days}));
        }
        Ok(rows)
    });
    let rows = rows.map_err(|error: HistoryError| Refusal::from(error))?;
    let last = behind.get(limit.saturating_sub(1)).filter(|_| behind.len() > limit);
    Ok(envelope::success(json!({
        "start": start.to_string(), "end": end.to_string(), "today": today.to_string(),
        "rows": rows, "next": last.map(|one| one.symbol.as_str()),
    })))
}

/// The first of so many days that end with one.
fn earlier(end: Date, days: u32) -> Result<Date, Refusal> {
    let span = jiff::Span::new().days(i64::from(days.saturating_sub(1)));
    end.checked_sub(span).map_err(|_| Refusal::BadQuery(format!("there are no {days} days before {end}")))
}

pub(super) fn days(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let named = Named::parse(call.query, &["start", "end"])?;
    let symbol: Symbol = command::symbol(call.parameter)?;
    let as_of = site.core.as_of();
    let venue = site.core.history.venue(&symbol);
    let end = named.date("end")?.unwrap_or_else(|| venue.zone().date(as_of.now()));
    let first = earlier(end, DAYS_MAX)?;
    let start = named.date("start")?.unwrap_or(first);
    if start > end {
        return Err(Refusal::BadQuery(format!("start {start} is after end {end}")).into());
    }
    if start < first {
        return Err(Refusal::BadQuery(format!("{start} to {end} are more than {DAYS_MAX} days")).into());
    }
    let range = (Some(start), Some(end));
    let found =
        site.core.with_reader(|reader| history::coverage(&site.core.history, reader, &symbol, range, as_of));
    let found = match found {
        Err(HistoryError::UnknownSecurity(_)) => return Err(Problem::not_found()),
        found => found.map_err(Refusal::from)?,
    };
    let days: Vec<Value> = found.days.iter().map(|day| described(day, venue.zone())).collect();
    Ok(envelope::success(json!({
        "symbol": symbol.as_str(), "start": start.to_string(), "end": end.to_string(), "days": days,
    })))
}

fn described(day: &DayCoverage, zone: &Zone) -> Value {
    let gap = |gap: &Gap| {
        json!({
            "first": zone.rfc3339(gap.first), "last": zone.rfc3339(gap.last), "minutes": gap.minutes,
            "reason": gap.reason.as_str(),
        })
    };
    // What makes the day partial stands first: a thinly traded one has a gap every few minutes.
    let mut gaps: Vec<&Gap> = day.gaps.iter().collect();
    gaps.sort_by_key(|gap| gap.reason == GapReason::NoTrades);
    json!({
        "date": day.date.to_string(),
        "day": match day.kind {
            Some(DayKind::Full) => "full",
            Some(DayKind::Half) => "half",
            None => "closed",
        },
        "daily": day.daily,
        "daily_missing": day.daily_gap.map(GapReason::as_str),
        "minutes": day.stored,
        "expected": day.expected,
        "extended": day.extended,
        "gaps": gaps.into_iter().take(GAPS_MAX).map(gap).collect::<Vec<Value>>(),
        "gaps_omitted": day.gaps.len().saturating_sub(GAPS_MAX),
    })
}
