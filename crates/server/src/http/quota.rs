//! What an account may do, has used and why: `GET /v1/quota`, `POST /v1/quota/preview` and the list of packages.

use std::collections::HashSet;

use access::{Account, Demand, Hold, Permit, Quota, Reason, Right, Standing};
use market::{Market, Symbol, Timestamp, Zone};
use serde::Deserialize;
use serde_json::{Value, json};

use super::envelope::{self, Problem};
use super::{Answer, Asked, as_operator};
use crate::refusal::Refusal;
use crate::services::Services;

/// Securities told of in one answer; the number is always told.
const SECURITIES_MAX: usize = 10_000;
/// Symbols of a preview; the highest level has no more by default.
const PREVIEW_MAX: usize = 3_000;
/// Letters of a text that is no symbol, in the answer that says so.
const ECHO_MAX: usize = 40;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preview {
    symbols: Vec<String>,
}

pub(super) fn show(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let (permit, who) = permit(asked, services)?;
    let id = match asked.parameter_of("account") {
        Some(name) => whose(&name, permit.account(), &who, services)?,
        None => permit.account().id,
    };
    // The look is what a change of level is noticed by.
    services.access.spend(permit, services.machine_now()).map_err(Refusal::from)?;
    let now = services.market_now();
    let quota = services.access.quota(id, now).map_err(Problem::from_access)?;
    Ok(envelope::success(quota_document(&quota.ok_or_else(Problem::not_found)?, now)))
}

/// Only an operator may look at another's month, and only an operator learns whether there is one.
fn whose(
    name: &str,
    me: &Account,
    who: &access::Caller,
    services: &Services,
) -> Result<access::AccountId, Problem> {
    if name == me.name {
        return Ok(me.id);
    }
    as_operator(me, who)?;
    let account = services.access.account_called(name).map_err(Problem::from_access)?;
    account.map(|account| account.id).ok_or_else(Problem::not_found)
}

/// Everything about an account's month, as `GET /v1/quota` and the command line tell it. Times are Hong Kong's, to which the
/// month belongs. `now` is the market's.
pub fn quota_document(quota: &Quota, now: Timestamp) -> Value {
    let Quota { account, usage, next, securities } = quota;
    let zone = Zone::of(Market::Hk);
    let listed: Vec<Value> = securities
        .iter()
        .take(SECURITIES_MAX)
        .map(|(symbol, at)| {
            json!({"symbol": symbol.as_str(), "first_used_at": zone.rfc3339(*at), "first_used_at_unix": at.0})
        })
        .collect();
    let ahead = &next.standing;
    json!({
        "account_id": account.id.0,
        "account": account.name,
        "month": usage.month.to_string(),
        "used": usage.used,
        "limit": usage.limit,
        "remaining": usage.remaining(),
        "level": level(&usage.standing, account),
        "next_trading_day": ahead.day.to_string(),
        "next_change": next.changes.then(|| json!({
            "day": ahead.day.to_string(),
            "level": ahead.level.number(),
            "limit": ahead.limit,
            "reason": ahead.reason.to_string(),
            "because": because(&ahead.reason),
        })),
        "resets": usage.resets.to_string(),
        "resets_at": zone.rfc3339(usage.resets_at),
        "resets_at_unix": usage.resets_at.0,
        "rights": rights(account, now),
        "securities": listed,
        "securities_omitted": securities.len().saturating_sub(SECURITIES_MAX),
    })
}

fn level(standing: &Standing, account: &Account) -> Value {
    let grounds = &standing.grounds;
    json!({
        "number": standing.level.number(),
        "override": account.terms.level.is_some(),
        "own_quota": standing.own_quota,
        "reason": standing.reason.to_string(),
        "because": because(&standing.reason),
        "as_of": standing.day.to_string(),
        "assets": grounds.assets.map(|worth| json!({"hkd": worth.total.plain(), "day": worth.day.to_string()})),
        "orders": {"count": grounds.orders.count, "month": grounds.orders.month.to_string()},
    })
}

/// The reason again, for whoever says it in words of their own.
fn because(reason: &Reason) -> Value {
    match reason {
        Reason::Opened => json!({"kind": "opened"}),
        Reason::Assets { worth, level } => json!({
            "kind": "assets", "hkd": worth.total.plain(), "day": worth.day.to_string(), "level": level.number(),
        }),
        Reason::Orders { orders, exceeded, level } => json!({
            "kind": "orders", "count": orders.count, "month": orders.month.to_string(), "exceeded": exceeded,
            "level": level.number(),
        }),
        Reason::Set => json!({"kind": "set"}),
    }
}

/// Every package, granted or not, and how it stands with it.
pub(super) fn rights(account: &Account, now: Timestamp) -> Vec<Value> {
    let described = |right: Right| {
        let validity = account.rights.validity(right);
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        json!({
            "package": right.as_str(),
            "held": account.rights.holds(right, now),
            "granted": validity.is_some(),
            "from": text(validity.and_then(|validity| validity.starts_at)),
            "until": text(validity.and_then(|validity| validity.ends_at)),
        })
    };
    Right::ALL.into_iter().map(described).collect()
}

/// What these securities would cost. Nothing is spent, and the rate of history requests is not touched.
pub(super) fn preview(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let (permit, _) = permit(asked, services)?;
    let Preview { symbols } = asked.json()?;
    if symbols.len() > PREVIEW_MAX {
        let text = format!("a preview takes at most {PREVIEW_MAX} symbols, not {}", symbols.len());
        return Err(Refusal::TooMany(text).into());
    }
    let sorted = Sorted::of(&symbols, &permit, services)?;
    let (id, now) = (permit.account().id, services.market_now());
    let preview = services.access.preview(id, &sorted.good, now).map_err(Problem::from_access)?;
    let preview = preview.ok_or_else(Problem::not_found)?;
    let names = |symbols: &[Symbol]| symbols.iter().map(|one| one.as_str().to_owned()).collect::<Vec<_>>();
    let (cost, remaining) = (preview.new.len(), preview.usage.remaining());
    let left = u32::try_from(cost).ok().and_then(|cost| remaining.checked_sub(cost));
    Ok(envelope::success(json!({
        "cost": cost,
        "fits": left.is_some(),
        "new": names(&preview.new),
        "already": names(&preview.counted),
        "unknown": names(&sorted.unknown),
        "no_access": names(&sorted.no_access),
        "invalid": sorted.invalid,
        "used": preview.usage.used,
        "limit": preview.usage.limit,
        "remaining": remaining,
        "remaining_after": left.unwrap_or(0),
        "resets": preview.usage.resets.to_string(),
    })))
}

/// The texts of a preview, by what would become of a request for each.
#[derive(Default)]
struct Sorted {
    good: Vec<Symbol>,
    unknown: Vec<Symbol>,
    no_access: Vec<Symbol>,
    invalid: Vec<String>,
}

impl Sorted {
    fn of(texts: &[String], permit: &Permit, services: &Services) -> Result<Sorted, Problem> {
        let version = services.glance()?;
        let (mut sorted, mut seen) = (Sorted::default(), HashSet::new());
        for text in texts {
            let Ok(symbol) = text.parse::<Symbol>() else {
                sorted.invalid.push(text.chars().take(ECHO_MAX).collect());
                continue;
            };
            if !seen.insert(symbol.clone()) {
                continue;
            }
            match services.known(&symbol, version) {
                Ok(()) if permit.holds(symbol.market().into()) => sorted.good.push(symbol),
                Ok(()) => sorted.no_access.push(symbol),
                Err(Refusal::BadQuery(_) | Refusal::NoQuotes(_)) => sorted.unknown.push(symbol),
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Ok(sorted)
    }
}

/// The packages of an account, in the words of a client that prints them.
pub(super) fn packages(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let (permit, _) = permit(asked, services)?;
    let wanted = asked.parameter_of("market").unwrap_or_else(|| "ALL".to_owned());
    let standing = permit.standing();
    let usage = services.access.usage(permit.account().id, services.market_now());
    let used = usage.map_err(Problem::from_access)?.map_or(0, |usage| usage.used);
    let (mut held, mut others) = (Vec::new(), Vec::new());
    for right in Right::ALL {
        let (market, name) = match right {
            Right::UsOvernight => ("US", "US overnight".to_owned()),
            Right::UsOptions => ("US", "US options".to_owned()),
            market => (market.as_str(), format!("{market} candles")),
        };
        if wanted != "ALL" && wanted != market {
            continue;
        }
        let hold = permit.hold(right);
        let ends = permit.account().rights.validity(right).and_then(|validity| validity.ends_at);
        let package = json!({
            "package_key": format!("chandler_{}", right.as_str().to_ascii_lowercase()),
            "name": name,
            "description": format!("{used} of {} securities used this month, level {}", standing.limit, standing.level),
            "market": market,
            "tags": [],
            "expired_msg": if let Hold::Ended(at) = hold { format!("ended {at}") } else { String::new() },
            "end_time": ends.map_or(0, |at| at.0).to_string(),
        });
        if hold == Hold::Held { held.push(package) } else { others.push(package) }
    }
    services.access.spend(permit, services.machine_now()).map_err(Refusal::from)?;
    Ok(envelope::success(json!({"activated_lists": held, "unactivated_lists": others})))
}

/// What every account that stands may have, and who it was given to.
fn permit(asked: &Asked<'_>, services: &Services) -> Result<(Permit, access::Caller), Problem> {
    let caller = asked.caller(services)?;
    let admitted = services.access.admit(Demand::Open { caller: &caller.who }, services.market_now());
    Ok((admitted.map_err(Refusal::from)?, caller.who))
}
