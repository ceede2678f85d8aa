//! Commands 4, 8 and 9: account rights, and trading hours and days of the markets.

use access::{Created, RateRule, Terms};
use wire::quote::{
    QuoteProfileRequest, QuoteProfileResponse, TradingDaysRequest, TradingDaysResponse,
    TradingSessionsResponse,
};

use crate::support::{Client, OVERNIGHT, Running, TRANSPORTS, TransportLabel, machine_now};

async fn profile(client: &mut Client, language: &str) -> QuoteProfileResponse {
    client.ask(4, &QuoteProfileRequest { language: language.to_owned() }).await.unwrap()
}

#[tokio::test]
async fn a_profile_reports_account_quota_and_rate_limit() {
    let server = Running::start().await;
    let account = server.account_with("ann", "HK,US", Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        let answer = profile(&mut client, "en").await;
        assert_eq!(answer.member_id, account.account_id.0);
        assert_eq!(answer.quote_level, "HK:LV1,US:LV1");
        assert_eq!(answer.history_candlestick_limit, 100);
        assert_eq!(answer.subscribe_limit, 500);
        let paced: Vec<(i32, i32, i32)> =
            answer.rate_limit.iter().map(|one| (one.command, one.limit, one.burst)).collect();
        let ten = |command| (command, 10, 10);
        assert_eq!(
            paced,
            [8, 9, 10, 11, 17, 18, 19, 24, 25, 26]
                .map(ten)
                .into_iter()
                .chain([(27, 1, 30)])
                .collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn no_rate_rule_makes_a_client_wait_forever() {
    let server = Running::start().await;
    for rate in ["1/1", "1/3600", "10000/1", "10000/3600", "60/30", "7/11"] {
        let rule: RateRule = rate.parse().unwrap();
        let account = server.account(&rate.replace('/', "-"), Terms { rate: Some(rule), ..Terms::default() });
        let answer = profile(&mut server.signed_in(&account).await, "").await;
        assert_eq!(answer.rate_limit.len(), 11);
        // A limit of 0 stops an SDK forever, and a burst of 0 makes an SDK hang.
        assert!(answer.rate_limit.iter().all(|one| one.limit > 0 && one.burst > 0), "{rate}: {answer:?}");
    }
    let account = server.account("unlimited", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let answer = profile(&mut server.signed_in(&account).await, "").await;
    // SDKs delay their calls to stay below announced limits.
    assert!(answer.rate_limit.is_empty(), "{answer:?}");
}

#[tokio::test]
async fn the_language_is_set_by_the_request_or_the_sign_in() {
    let server = Running::start().await;
    let account = server.account_with("ann", "US,US_OVERNIGHT", Terms::default());
    let cases = [
        (
            "en",
            ["US candles (0/100, level 1)", "US overnight"],
            "no access: {} is not granted, ask the operator",
        ),
        ("zh-CN", ["US K 线 (0/100，1 级)", "US 夜盘"], "无权限：未开通 {}，请联系管理员"),
        ("zh-HK", ["US K 線 (0/100，1 級)", "US 夜盤"], "無權限：未開通 {}，請聯絡管理員"),
    ];
    let mut silent = server.enter(TransportLabel::Tcp, &account, &[]).await;
    for (language, wanted, warning) in cases {
        let mut client =
            server.enter(TransportLabel::WebSocket, &account, &[("accept-language", language)]).await;
        // The language is set at sign-in by one client, in the request by another, and in both by a
        // third.
        for answer in [profile(&mut client, "").await, profile(&mut silent, language).await] {
            let detail = answer.quote_level_detail.unwrap();
            let markets: Vec<&str> = detail.by_market_code.keys().map(String::as_str).collect();
            assert_eq!(markets, ["CN", "HK", "US", "USOption"]);
            let us = &detail.by_market_code["US"];
            let names: Vec<&str> = us.packages.iter().map(|package| package.name.as_str()).collect();
            assert_eq!((names.as_slice(), us.warning_msg.as_str()), (wanted.as_slice(), ""));
            for package in &us.packages {
                assert_eq!(detail.by_package_key[&package.key], *package);
                assert!(package.start > 0 && package.end <= 253_402_300_799);
            }
            for (market, right) in [("CN", "CN"), ("HK", "HK"), ("USOption", "US_OPTIONS")] {
                let none = &detail.by_market_code[market];
                assert_eq!((none.packages.len(), &none.warning_msg), (0, &warning.replace("{}", right)));
            }
        }
    }
    let mut client = server.enter(TransportLabel::WebSocket, &account, &[("accept-language", "zh-CN")]).await;
    let detail = profile(&mut client, "en").await.quote_level_detail.unwrap();
    assert_eq!(detail.by_market_code["HK"].warning_msg, cases[0].2.replace("{}", "HK"));
}

type Hours = Vec<(String, Vec<(i32, i32, i32)>)>;

async fn hours(server: &Running, account: &Created, metadata: &[(&str, &str)]) -> Hours {
    let mut client = server.enter(TransportLabel::WebSocket, account, metadata).await;
    let answer: TradingSessionsResponse = client.ask(8, &()).await.unwrap();
    let spans = |market: wire::quote::MarketSessions| {
        let hours = market.trade_session.iter();
        (market.market.clone(), hours.map(|one| (one.beg_time, one.end_time, one.trade_session)).collect())
    };
    answer.market_trade_session.into_iter().map(spans).collect()
}

#[tokio::test]
async fn trading_hours_match_the_published_example() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let expected: Hours = vec![
        ("US".to_owned(), vec![(930, 1600, 0), (400, 930, 1), (1600, 2000, 2)]),
        ("HK".to_owned(), vec![(930, 1200, 0), (1300, 1600, 0)]),
        ("CN".to_owned(), vec![(930, 1130, 0), (1300, 1457, 0)]),
        ("SG".to_owned(), vec![(900, 1200, 0), (1300, 1700, 0)]),
    ];
    assert_eq!(hours(&server, &account, &[("accept-language", "en")]).await, expected);
    // Requesting overnight hours is not enough without the right.
    assert_eq!(hours(&server, &account, &[("need_over_night_quote", "true")]).await, expected);
}

#[tokio::test]
async fn overnight_hours_need_the_right_and_a_request() {
    let server = Running::start().await;
    let account = server.account_with("ann", OVERNIGHT, Terms::default());
    let shown = hours(&server, &account, &[("need_over_night_quote", "true")]).await;
    assert_eq!(
        shown[0].1,
        [(930, 1600, 0), (400, 930, 1), (1600, 2000, 2), (2000, 2359, 3), (0, 400, 3)],
        "an SDK rejects 2400, and what ends at 0 would end before it begins"
    );
    for unwilling in [&[][..], &[("need_over_night_quote", "false")]] {
        let shown = hours(&server, &account, unwilling).await;
        assert_eq!(shown[0].1.len(), 3);
    }
}

#[tokio::test]
async fn half_days_have_shorter_hours() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    // 2026-11-27 18:00 in New York is on a half day in the US, and 2026-12-31 10:00 in Hong Kong is
    // on a half day in Hong Kong.
    server.set_now(1_795_820_400);
    let shown = hours(&server, &account, &[]).await;
    assert_eq!(shown[0].1, [(930, 1300, 0), (400, 930, 1), (1300, 1700, 2)]);
    assert_eq!(shown[1].1.len(), 2);
    server.set_now(1_798_682_400);
    let shown = hours(&server, &account, &[]).await;
    assert_eq!(shown[1].1, [(930, 1200, 0)]);
}

fn days(market: &str, beg_day: &str, end_day: &str) -> TradingDaysRequest {
    TradingDaysRequest { market: market.to_owned(), beg_day: beg_day.to_owned(), end_day: end_day.to_owned() }
}

#[tokio::test]
async fn the_trading_day_range_is_inclusive() {
    let server = Running::start().await;
    let account = server.account_with("ann", "none", Terms::default());
    let mut client = server.enter(TransportLabel::Tcp, &account, &[]).await;
    let answer: TradingDaysResponse = client.ask(9, &days("US", "20261123", "20261130")).await.unwrap();
    assert_eq!(answer.trade_day, ["20261123", "20261124", "20261125", "20261130"]);
    assert_eq!(answer.half_trade_day, ["20261127"]);
    for (market, count) in [("HK", 21), ("CN", 21), ("US", 20), ("SG", 0)] {
        let answer: TradingDaysResponse = client.ask(9, &days(market, "20261101", "20261130")).await.unwrap();
        assert_eq!(answer.trade_day.len() + answer.half_trade_day.len(), count, "{market}");
    }
    let one: TradingDaysResponse = client.ask(9, &days("HK", "20261113", "20261113")).await.unwrap();
    assert_eq!(one.trade_day, ["20261113"]);
    let none: TradingDaysResponse = client.ask(9, &days("HK", "20261114", "20261115")).await.unwrap();
    assert_eq!(none, TradingDaysResponse::default());
}

/// Q9: clients request the days around the machine's date, regardless of the replayed day.
#[tokio::test]
async fn the_calendar_request_of_a_client_includes_the_half_days_of_a_replay() {
    let server = Running::start().await;
    let account = server.account_with("ann", "none", Terms::default());
    let mut client = server.enter(TransportLabel::Tcp, &account, &[]).await;
    let today = machine_now().0.div_euclid(86_400);
    let date = |days: i64| {
        let epoch: market::Date = "1970-01-01".parse().unwrap();
        let date = epoch.checked_add(market::DateSpan::new().days(today + days)).unwrap();
        date.strftime("%Y%m%d").to_string()
    };
    for (first, last, is_of_client) in
        [(-5, 25, true), (-7, 23, true), (-3, 27, true), (-8, 22, false), (-2, 28, false), (-5, 24, false)]
    {
        let request = days("HK", &date(first), &date(last));
        let answer: TradingDaysResponse = client.ask(9, &request).await.unwrap();
        // The clock was set to 15 November 2026.
        let half = |day: &str| answer.half_trade_day.iter().any(|half| half == day);
        let asked = |day: &str| (request.beg_day.as_str()..=request.end_day.as_str()).contains(&day);
        for day in ["20261224", "20261231"] {
            assert_eq!(half(day), is_of_client || asked(day), "{request:?}");
        }
        assert!(!half("20251224") || asked("20251224"), "{request:?}");
        assert!(answer.trade_day.iter().all(|day| asked(day)), "{request:?}");
        assert!(answer.half_trade_day.is_sorted_by(|a, b| a < b), "{request:?}");
    }
}

#[tokio::test]
async fn trading_days_are_limited_to_a_month_within_a_year() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut client = server.signed_in(&account).await;
    let good = [
        days("HK", "20261001", "20261101"),
        days("SG", "20261110", "20261210"),
        // Today in Hong Kong is 2026-11-15.
        days("HK", "20251114", "20251201"),
        days("US", "20251113", "20251201"),
    ];
    for request in good {
        client
            .ask::<TradingDaysResponse>(9, &request)
            .await
            .unwrap_or_else(|error| panic!("{request:?} {error:?}"));
    }
    let bad = [
        (days("HK", "20261001", "20261102"), "31"),
        (days("SG", "20261001", "20261102"), "31"),
        (days("HK", "20251113", "20251201"), "past year"),
        (days("US", "20251112", "20251201"), "past year"),
        (days("HK", "20261102", "20261101"), "after"),
        (days("JP", "20261001", "20261002"), "JP"),
        (days("", "20261001", "20261002"), "not one of"),
        (days("HK", "20260230", "20260301"), "20260230"),
        (days("HK", "", ""), "date"),
        (days("HK", "20261001", "soon"), "soon"),
    ];
    for (request, word) in bad {
        let (status, code, text) = client.ask::<TradingDaysResponse>(9, &request).await.unwrap_err();
        assert_eq!((status, code), (7, 301_600), "{request:?}");
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}
