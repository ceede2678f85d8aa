//! Command 4: the account's rights and limits. Clients send the command right after sign-in, take
//! their rate limits from the response, and print the packages in it.

use std::collections::BTreeMap;

use access::{CallRule, Hold, Permit, RateRule, Right, TIME_MAX};
use market::Timestamp;
use wire::command;
use wire::quote::{
    MarketPackageDetail, PackageDetail, QuoteLevelDetail, QuoteProfileRequest, QuoteProfileResponse,
    RateLimit,
};

use super::CommandRow;
use crate::caller::{Caller, Language};
use crate::command::{Command, Context, Pace, Subject};
use crate::core::Core;
use crate::refusal::Refusal;

/// Markets in the table that clients print: the market code, the package whose absence triggers a
/// client warning, and the optional packages.
const MARKETS: [(&str, Right, &[Right]); 4] = [
    ("US", Right::Us, &[Right::UsOvernight]),
    ("HK", Right::Hk, &[]),
    ("CN", Right::Cn, &[]),
    ("USOption", Right::UsOptions, &[]),
];
/// Expiry sent for rights that do not expire (2100-01-01). Clients require a year before 10000.
const WITHOUT_END: Timestamp = Timestamp(4_102_444_800);
const _: () = assert!(WITHOUT_END.0 <= TIME_MAX.0);

#[derive(Debug)]
pub(crate) struct Profile {
    language: Language,
}

impl Command for Profile {
    const NUMBER: u8 = command::PROFILE;
    const LABEL: &'static str = "profile";
    type Request = QuoteProfileRequest;
    type Response = QuoteProfileResponse;

    fn parse(request: QuoteProfileRequest, context: &Context<'_>) -> Result<Profile, Refusal> {
        // A client that sent no language at sign-in may send one here.
        let named = Some(request.language.as_str()).filter(|text| !text.is_empty());
        Ok(Profile { language: named.map_or(context.caller.language, Language::preferred) })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Open
    }

    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<QuoteProfileResponse, Refusal> {
        let account = permit.account();
        let standing = core.access.standing_for(permit).map_err(access::Refusal::from)?;
        let usage = core.access.usage(account.id, caller.quota_time).map_err(access::Refusal::from)?;
        let month = Month {
            used: usage.map_or(0, |usage| usage.used),
            limit: standing.limit,
            level: standing.level.number(),
        };
        Ok(QuoteProfileResponse {
            member_id: account.id.0,
            quote_level: markets(permit),
            subscribe_limit: i32::try_from(account.terms.subscriptions).unwrap_or(i32::MAX),
            history_candlestick_limit: i32::try_from(standing.limit).unwrap_or(i32::MAX),
            // A program in a world has no rate limit, unless its owner is charged.
            rate_limit: match account.terms.rate_rule() {
                RateRule::Unlimited if account.is_world => Vec::new(),
                rule => rate_limits(rule, core.limits.calls),
            },
            quote_level_detail: Some(packages(permit, &month, self.language)),
        })
    }
}

/// The monthly quota, shown in the name of every package.
struct Month {
    used: u32,
    limit: u32,
    level: u32,
}

fn markets(permit: &Permit) -> String {
    let held = Right::MARKETS.into_iter().filter(|right| permit.holds(*right));
    held.map(|right| format!("{right}:LV1")).collect::<Vec<String>>().join(",")
}

/// Returns the rate limit of each command: requests per second, and the burst.
fn rate_limits(rule: RateRule, calls: CallRule) -> Vec<RateLimit> {
    // A zero limit is omitted, because clients would wait forever. The limits of an account without
    // limits are omitted too, because SDKs delay their own calls to stay below announced limits.
    let general = Some((calls.per_second, calls.per_second))
        .filter(|(limit, _)| *limit > 0 && rule != RateRule::Unlimited);
    // These values keep a client within its window: half of the requests may be sent as a burst,
    // and the refill spreads the other half over the window.
    let history = match rule {
        RateRule::Unlimited => None,
        RateRule::Window { requests, seconds } => {
            let limit = (requests / (2 * seconds.max(1))).max(1);
            Some((limit, requests.saturating_sub(limit.saturating_mul(seconds)).max(1)))
        }
    };
    let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    let limit_of = |(command, pace): (u8, Pace)| {
        let (limit, burst) = match pace {
            Pace::Calls => general,
            Pace::History => history,
        }?;
        Some(RateLimit { command: command.into(), limit: number(limit), burst: number(burst) })
    };
    // The profile command has no limit here, because clients send it before they have received any
    // limit.
    CommandRow::paces().filter(|(command, _)| *command != Profile::NUMBER).filter_map(limit_of).collect()
}

fn packages(permit: &Permit, month: &Month, language: Language) -> QuoteLevelDetail {
    let (mut by_package_key, mut by_market_code) = (BTreeMap::new(), BTreeMap::new());
    for (market, first, others) in MARKETS {
        let mut detail = MarketPackageDetail::default();
        match permit.hold(first) {
            Hold::Held => {
                let held = others.iter().copied().filter(|right| permit.holds(*right));
                for right in std::iter::once(first).chain(held) {
                    let package = package(permit, right, month, language);
                    by_package_key.insert(package.key.clone(), package.clone());
                    detail.packages.push(package);
                }
            }
            lacking => detail.warning_msg = warning(first, lacking, language),
        }
        by_market_code.insert(market.to_owned(), detail);
    }
    QuoteLevelDetail { by_package_key, by_market_code }
}

/// Returns the description of one package. Clients print package names but not descriptions, so the
/// name includes the monthly quota.
fn package(permit: &Permit, right: Right, month: &Month, language: Language) -> PackageDetail {
    let Month { used, limit, level } = month;
    let (level, description) = match language {
        Language::En => {
            (format!(", level {level}"), format!("history of {used} of {limit} securities used this month"))
        }
        Language::ZhCn => (format!("，{level} 级"), format!("本月历史 K 线已用 {used}/{limit} 只")),
        Language::ZhHk => (format!("，{level} 級"), format!("本月歷史 K 線已用 {used}/{limit} 隻")),
    };
    let name = match right {
        // Overnight and option packages have no separate history quota.
        Right::UsOvernight | Right::UsOptions => title(right, language),
        _ => format!("{} ({used}/{limit}{})", title(right, language), level),
    };
    let validity = permit.account().rights.validity(right).unwrap_or_default();
    PackageDetail {
        key: format!("chandler_{}", right.as_str().to_ascii_lowercase()),
        name,
        description,
        start: validity.starts_at.unwrap_or(permit.account().created_at).0,
        end: validity.ends_at.unwrap_or(WITHOUT_END).0,
    }
}

fn title(right: Right, language: Language) -> String {
    match (right, language) {
        (Right::UsOvernight, Language::En) => "US overnight".to_owned(),
        (Right::UsOvernight, Language::ZhCn) => "US 夜盘".to_owned(),
        (Right::UsOvernight, Language::ZhHk) => "US 夜盤".to_owned(),
        (Right::UsOptions, Language::En) => "US options".to_owned(),
        (Right::UsOptions, Language::ZhCn) => "US 期权".to_owned(),
        (Right::UsOptions, Language::ZhHk) => "US 期權".to_owned(),
        (market, Language::En) => format!("{market} candles"),
        (market, Language::ZhCn) => format!("{market} K 线"),
        (market, Language::ZhHk) => format!("{market} K 線"),
    }
}

fn warning(right: Right, hold: Hold, language: Language) -> String {
    match (language, hold) {
        (Language::En, Hold::Begins(at)) => format!("no access: {right} begins {at}"),
        (Language::En, Hold::Ended(at)) => format!("no access: {right} ended {at}, ask the operator"),
        (Language::En, _) => format!("no access: {right} is not granted, ask the operator"),
        (Language::ZhCn, Hold::Begins(at)) => format!("无权限：{right} 自 {at} 起生效"),
        (Language::ZhCn, Hold::Ended(at)) => format!("无权限：{right} 已于 {at} 到期，请联系管理员"),
        (Language::ZhCn, _) => format!("无权限：未开通 {right}，请联系管理员"),
        (Language::ZhHk, Hold::Begins(at)) => format!("無權限：{right} 自 {at} 起生效"),
        (Language::ZhHk, Hold::Ended(at)) => format!("無權限：{right} 已於 {at} 到期，請聯絡管理員"),
        (Language::ZhHk, _) => format!("無權限：未開通 {right}，請聯絡管理員"),
    }
}
