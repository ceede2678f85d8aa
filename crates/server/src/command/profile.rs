//! Command 4: what an account may do. Clients ask it right after signing in, pace themselves by it, and print its packages.

use std::collections::BTreeMap;

use access::{Account, Permit, RateRule, Right};
use wire::quote::{MarketPackageDetail, PackageDetail, QuoteLevelDetail, QuoteProfileResponse, RateLimit};

use super::number;
use crate::refusal::Refusal;
use crate::route::Language;
use crate::services::Services;

/// Commands that clients pace at ten a second. A limit of zero would stop them for ever.
const PACED: [u8; 6] = [
    number::TRADING_SESSIONS,
    number::TRADING_DAYS,
    number::STATIC_INFO,
    number::QUOTE,
    number::INTRADAY,
    number::CANDLESTICKS,
];
const PACE: i32 = 10;
/// The markets of the table that clients print, in the names it has.
const MARKETS: [(&str, Option<Right>); 4] =
    [("US", Some(Right::Us)), ("HK", Some(Right::Hk)), ("CN", Some(Right::Cn)), ("USOption", None)];
/// Rights have no end so far; clients want one before the year 10000.
const WITHOUT_END: i64 = 4_102_444_800;

pub(super) fn answer(
    language: Language,
    permit: &Permit,
    services: &Services,
) -> Result<QuoteProfileResponse, Refusal> {
    let account = permit.account();
    let usage = services.access.usage(account.id, services.market_now()).map_err(access::Refusal::from)?;
    let quota = usage.map(|usage| (usage.used, usage.limit)).unwrap_or((0, account.terms.quota_limit()));
    Ok(QuoteProfileResponse {
        member_id: account.id.0,
        quote_level: level(account),
        // Nothing can be subscribed to.
        subscribe_limit: 0,
        history_candlestick_limit: i32::try_from(account.terms.quota_limit()).unwrap_or(i32::MAX),
        rate_limit: pace(account.terms.rate_rule()),
        quote_level_detail: Some(packages(account, quota, language)),
    })
}

fn level(account: &Account) -> String {
    let rights: Vec<String> =
        account.terms.rights.iter().map(|right| format!("{}:LV1", right.as_str())).collect();
    rights.join(",")
}

/// The pace that keeps a client inside its window: half of it at once, the rest spread over the window's seconds.
fn pace(rule: RateRule) -> Vec<RateLimit> {
    let paced =
        PACED.iter().map(|command| RateLimit { command: (*command).into(), limit: PACE, burst: PACE });
    let history = match rule {
        RateRule::Unlimited => None,
        RateRule::Window { requests, seconds } => {
            let limit = (requests / (2 * seconds.max(1))).max(1);
            let burst = requests.saturating_sub(limit.saturating_mul(seconds)).max(1);
            let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
            Some(RateLimit { command: number::HISTORY.into(), limit: number(limit), burst: number(burst) })
        }
    };
    paced.chain(history).collect()
}

fn packages(account: &Account, (used, limit): (u32, u32), language: Language) -> QuoteLevelDetail {
    let (mut by_package_key, mut by_market_code) = (BTreeMap::new(), BTreeMap::new());
    for (market, right) in MARKETS {
        let granted = right.is_some_and(|right| account.terms.rights.contains(right));
        let mut detail = MarketPackageDetail::default();
        if granted {
            let package = package(account, market, (used, limit), language);
            by_package_key.insert(package.key.clone(), package.clone());
            detail.packages.push(package);
        } else {
            detail.warning_msg = match language {
                Language::En => "no access: ask the operator".to_owned(),
                Language::ZhCn => "无权限：请联系管理员".to_owned(),
                Language::ZhHk => "無權限：請聯絡管理員".to_owned(),
            };
        }
        by_market_code.insert(market.to_owned(), detail);
    }
    QuoteLevelDetail { by_package_key, by_market_code }
}

fn package(account: &Account, market: &str, (used, limit): (u32, u32), language: Language) -> PackageDetail {
    let overnight = market == "US" && account.terms.overnight;
    let (name, description) = match language {
        Language::En => (
            format!("{market} candles{}", if overnight { " incl. overnight" } else { "" }),
            format!("history of {used} of {limit} securities used this month"),
        ),
        Language::ZhCn => (
            format!("{market} K 线{}", if overnight { "（含夜盘）" } else { "" }),
            format!("本月历史 K 线已用 {used}/{limit} 只"),
        ),
        Language::ZhHk => (
            format!("{market} K 線{}", if overnight { "（含夜盤）" } else { "" }),
            format!("本月歷史 K 線已用 {used}/{limit} 隻"),
        ),
    };
    // The table that clients print has names and no descriptions.
    let name = format!("{name} ({used}/{limit})");
    PackageDetail {
        key: format!("chandler_{}", market.to_ascii_lowercase()),
        name,
        description,
        start: account.created_at.0,
        end: WITHOUT_END,
    }
}
