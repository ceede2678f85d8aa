//! What there is to look at: securities by code and name, what one of them is, and its corporate actions. None of it is
//! history, so it costs neither quota nor calls.

use std::time::Duration;

use access::{Demand, Permit};
use market::{Action, Segment, Session, Symbol};
use serde_json::{Value, json};
use store::{Security, StoreError};

use super::envelope::{self, Problem};
use super::named::Named;
use super::{Answer, Asked, allowance};
use crate::command;
use crate::directory::Listed;
use crate::refusal::Refusal;
use crate::services::Services;

/// Characters of a search; the longest names of companies are shorter.
const QUERY_MAX: usize = 64;
const FOUND_MAX: u32 = 50;
const FOUND_DEFAULT: u32 = 20;
const ACTIONS_MAX: usize = 2_000;
const MINUTES_A_DAY: i32 = 1_440;
/// Searches of one account within [`SEARCHES_EACH`]: twice what somebody types.
pub(crate) const SEARCHES_MAX: u32 = 20;
pub(crate) const SEARCHES_EACH: Duration = Duration::from_secs(1);

pub(super) fn search(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let caller = asked.caller(services)?;
    let named = Named::parse(asked.query, &["query", "limit"])?;
    let typed = named.get("query").unwrap_or_default();
    if typed.chars().count() > QUERY_MAX {
        return Err(Refusal::BadQuery(format!("query is longer than {QUERY_MAX} characters")).into());
    }
    let limit = named.number("limit", 1..=FOUND_MAX, FOUND_DEFAULT)?;
    let permit = services.access.admit(Demand::Open { caller: &caller.who }, services.market_now());
    let permit = permit.map_err(Refusal::from)?;
    pass(&permit, services)?;
    let directory = services.directory()?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (found, more) = directory.search(typed, |symbol| permit.holds(symbol.market().into()), limit);
    let securities: Vec<Value> = found.into_iter().map(listed).collect();
    // That there is nothing to see may be for want of rights, or of an import.
    let store_is_empty = directory.is_empty();
    Ok(envelope::success(json!({"securities": securities, "more": more, "store_is_empty": store_is_empty})))
}

/// Whether an account may search once more within the second.
pub(super) fn pass(permit: &Permit, services: &Services) -> Result<(), Problem> {
    services.searches.pass(permit.account().id, services.uptime()).map_err(|wait| {
        let seconds = i64::try_from(allowance::seconds_up(wait)).unwrap_or(i64::MAX);
        Problem::too_often("more searches a second than people type: wait", seconds)
    })
}

fn listed(one: &Listed) -> Value {
    json!({
        "symbol": one.symbol.as_str(), "name_en": one.name_en, "name_cn": one.name_cn, "name_hk": one.name_hk,
    })
}

/// A security of the path that is known and may be looked at.
fn found(asked: &Asked<'_>, services: &Services) -> Result<(Security, Permit), Problem> {
    let caller = asked.caller(services)?;
    Named::parse(asked.query, &[])?;
    let symbol: Symbol = command::symbol(asked.parameter)?;
    let security = services.with_reader(|reader| reader.snapshot()?.security(&symbol)).map_err(failed)?;
    let security = security.ok_or_else(Problem::not_found)?;
    let demand = Demand::Quotes { caller: &caller.who, market: symbol.market().into() };
    let permit = services.access.admit(demand, services.market_now()).map_err(Refusal::from)?;
    Ok((security, permit))
}

fn failed(error: StoreError) -> Problem {
    tracing::error!(%error, "cannot read a security");
    Refusal::Internal.into()
}

pub(super) fn show(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let (security, permit) = found(asked, services)?;
    let venue = services.history.venue(&security.symbol);
    let today = venue.zone().date(services.market_now());
    let mut segments: Vec<&Segment> = venue.full_hours(today).iter().collect();
    segments.retain(|segment| segment.session != Session::Overnight || permit.overnight());
    // The night comes last, its evening first, which is the eve of the trading day.
    segments.sort_by_key(|segment| (segment.session == Session::Overnight, segment.start));
    let market = security.symbol.market();
    Ok(envelope::success(json!({
        "symbol": security.symbol.as_str(),
        "name_en": security.name_en.unwrap_or_default(),
        "name_cn": security.name_cn.unwrap_or_default(),
        "name_hk": security.name_hk.unwrap_or_default(),
        "market": market.as_str(),
        "zone": venue.zone().name(),
        "exchange": security.exchange.unwrap_or_default(),
        "currency": security.currency.unwrap_or_else(|| market.currency().to_owned()),
        "lot": security.lot_size.unwrap_or(1),
        "decimals": security.decimals,
        "sessions": segments.into_iter().map(hours).collect::<Vec<Value>>(),
    })))
}

fn hours(segment: &Segment) -> Value {
    let clock = |minutes: i32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let end = match segment.end.rem_euclid(MINUTES_A_DAY) {
        0 => MINUTES_A_DAY,
        end => end,
    };
    json!({
        "session": segment.session.code(),
        "start": clock(segment.start.rem_euclid(MINUTES_A_DAY)),
        "end": clock(end),
    })
}

/// Those that have become effective; of very many, the latest.
pub(super) fn actions(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let (security, _) = found(asked, services)?;
    let symbol = &security.symbol;
    let today = services.history.venue(symbol).zone().date(services.market_now());
    let mut actions = services.with_reader(|reader| reader.snapshot()?.actions(symbol)).map_err(failed)?;
    actions.retain(|action| action.ex_date <= today);
    let extra = actions.len().saturating_sub(ACTIONS_MAX);
    let actions: Vec<Value> = actions.iter().skip(extra).map(action).collect();
    Ok(envelope::success(json!({"symbol": symbol.as_str(), "actions": actions})))
}

fn action(action: &Action) -> Value {
    json!({
        "ex_date": action.ex_date.to_string(), "cash": action.cash.to_string(), "split": action.split.to_string(),
        "bonus": action.bonus.to_string(), "rights": action.rights.to_string(),
        "rights_price": action.rights_price.to_string(),
    })
}
