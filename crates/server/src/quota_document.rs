//! The quota of an account as a document, the same over HTTP and on the command line.

use access::{Account, Quota, Reason, Right, Standing};
use market::{Market, Timestamp, Zone};
use serde_json::{Value, json};

/// Securities that are listed in one answer; their number is always given.
const SECURITIES_MAX: usize = 10_000;

/// Everything about an account's month, for `GET /v1/quota` and `chandler quota`. Times are those of Hong Kong, whose months count.
/// `now` is the market's time.
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

/// The reason of a level as data, for programs that have words of their own.
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

/// Every package: whether it is granted, and from when until when.
pub(crate) fn rights(account: &Account, now: Timestamp) -> Vec<Value> {
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
