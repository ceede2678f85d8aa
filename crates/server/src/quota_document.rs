//! An account's quota as JSON, in the same format over HTTP and on the command line.

use access::{Account, Quota, Reason, Right, Source, Standing};
use market::{Market, Timestamp, Zone};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::kit::doc;
use crate::written::{Day, Instant};

/// Maximum number of securities listed in one response. The total number of securities is always
/// included.
const SECURITIES_MAX: usize = 10_000;

/// Returns an account's monthly quota, for `GET /v1/quota` and `chandler quota`. Times are in Hong
/// Kong time, which also defines the months. `now` is the market time.
pub fn quota_document(quota: &Quota, now: Timestamp) -> Value {
    // Cannot fail: the fields are strings, numbers and lists.
    serde_json::to_value(QuotaDocument::of(quota, now)).unwrap_or_default()
}

/// An account's quota for the current month.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Quota")]
pub(crate) struct QuotaDocument {
    account_id: i64,
    account: String,
    /// Current month in Hong Kong, YYYY-MM.
    month: String,
    used: u32,
    limit: u32,
    remaining: u32,
    level: QuotaLevel,
    next_trading_day: Day,
    /// Change known to take effect on the next trading day; null if no change is known.
    next_change: Option<QuotaChange>,
    /// Date in Hong Kong on which the quota is reset.
    resets: Day,
    resets_at: Instant,
    resets_at_unix: i64,
    rights: Vec<RightDocument>,
    /// Securities charged this month, at most 10,000.
    securities: Vec<ChargedSecurity>,
    securities_omitted: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QuotaLevel {
    /// Level number, 1 to 6.
    number: u32,
    /// Whether an operator has set the level; false if the level was earned.
    #[serde(rename = "override")]
    is_override: bool,
    /// Whether the limit is set for the account; false if the limit is that of its level.
    own_quota: bool,
    reason: String,
    because: LevelReason,
    /// Trading day in Hong Kong that the level was determined for.
    as_of: Day,
    assets: Option<Assets>,
    orders: MonthOrders,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Assets {
    /// Assets in HKD, truncated to two decimals.
    hkd: String,
    /// The amount in HKD, present only if it comes from the paper account.
    #[serde(skip_serializing_if = "Option::is_none")]
    paper_hkd: Option<String>,
    /// Date to which the amount applies.
    day: Day,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MonthOrders {
    count: u64,
    /// The number of orders, present only if they come from the paper account.
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<u64>,
    /// Month in which the orders are counted, YYYY-MM.
    month: String,
}

/// Reason for a level in structured form.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum LevelReason {
    /// Base level, because no higher level is earned.
    Opened,
    Assets {
        hkd: String,
        /// The amount in HKD, present only if it comes from the paper account.
        #[serde(skip_serializing_if = "Option::is_none")]
        paper_hkd: Option<String>,
        day: Day,
        /// Level earned by the amount.
        level: u32,
    },
    Orders {
        count: u64,
        /// The number of orders, present only if they come from the paper account.
        #[serde(skip_serializing_if = "Option::is_none")]
        paper: Option<u64>,
        month: String,
        /// Number of orders per month that was exceeded.
        exceeded: u32,
        /// Level earned by the orders.
        level: u32,
    },
    /// Set by an operator.
    Set,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QuotaChange {
    day: Day,
    level: u32,
    limit: u32,
    reason: String,
    because: LevelReason,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChargedSecurity {
    symbol: String,
    /// Time of the charge, in Hong Kong time.
    first_used_at: Instant,
    first_used_at_unix: i64,
}

/// An account's right to a package.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Right")]
pub(crate) struct RightDocument {
    #[schemars(schema_with = "doc::package")]
    package: &'static str,
    granted: bool,
    /// Whether the right is currently in effect, by the market clock.
    held: bool,
    from: Option<Instant>,
    until: Option<Instant>,
}

impl QuotaDocument {
    pub(crate) fn of(quota: &Quota, now: Timestamp) -> QuotaDocument {
        let Quota { account, usage, next, securities } = quota;
        let zone = Zone::of(Market::Hk);
        let listed = securities.iter().take(SECURITIES_MAX).map(|(symbol, at)| ChargedSecurity {
            symbol: symbol.as_str().to_owned(),
            first_used_at: Instant::local(*at, &zone),
            first_used_at_unix: at.0,
        });
        let ahead = &next.standing;
        QuotaDocument {
            account_id: account.id.0,
            account: account.name.clone(),
            month: usage.month.to_string(),
            used: usage.used,
            limit: usage.limit,
            remaining: usage.remaining(),
            level: level(&usage.standing, account),
            next_trading_day: Day(ahead.day),
            next_change: next.changes.then(|| QuotaChange {
                day: Day(ahead.day),
                level: ahead.level.number(),
                limit: ahead.limit,
                reason: ahead.reason.to_string(),
                because: because(&ahead.reason),
            }),
            resets: Day(usage.resets),
            resets_at: Instant::local(usage.resets_at, &zone),
            resets_at_unix: usage.resets_at.0,
            rights: rights(account, now),
            securities: listed.collect(),
            securities_omitted: securities.len().saturating_sub(SECURITIES_MAX),
        }
    }
}

fn level(standing: &Standing, account: &Account) -> QuotaLevel {
    let grounds = &standing.grounds;
    QuotaLevel {
        number: standing.level.number(),
        is_override: account.terms.level.is_some(),
        own_quota: standing.own_quota,
        reason: standing.reason.to_string(),
        because: because(&standing.reason),
        as_of: Day(standing.day),
        assets: grounds.assets.map(|worth| Assets {
            hkd: worth.total.plain(),
            paper_hkd: paper_hkd(&worth),
            day: Day(worth.day),
        }),
        orders: MonthOrders {
            count: grounds.orders.count,
            paper: paper_orders(&grounds.orders),
            month: grounds.orders.month.to_string(),
        },
    }
}

fn because(reason: &Reason) -> LevelReason {
    match reason {
        Reason::Opened => LevelReason::Opened,
        Reason::Assets { worth, level } => LevelReason::Assets {
            hkd: worth.total.plain(),
            paper_hkd: paper_hkd(worth),
            day: Day(worth.day),
            level: level.number(),
        },
        Reason::Orders { orders, exceeded, level } => LevelReason::Orders {
            count: orders.count,
            paper: paper_orders(orders),
            month: orders.month.to_string(),
            exceeded: *exceeded,
            level: level.number(),
        },
        Reason::Set => LevelReason::Set,
    }
}

fn paper_hkd(worth: &access::Worth) -> Option<String> {
    (worth.source == Source::Paper).then(|| worth.total.plain())
}

fn paper_orders(orders: &access::MonthOrders) -> Option<u64> {
    (orders.source == Source::Paper && orders.count > 0).then_some(orders.count)
}

/// Returns all packages, each with whether it is granted and for which period.
pub(crate) fn rights(account: &Account, now: Timestamp) -> Vec<RightDocument> {
    let described = |right: Right| {
        let validity = account.rights.validity(right);
        RightDocument {
            package: right.as_str(),
            granted: validity.is_some(),
            held: account.rights.holds(right, now),
            from: validity.and_then(|validity| validity.starts_at).map(Instant::utc),
            until: validity.and_then(|validity| validity.ends_at).map(Instant::utc),
        }
    };
    Right::ALL.into_iter().map(described).collect()
}
