//! Security facts and search, limited by the account's rights.

use access::Terms;
use serde_json::{Value, json};

use crate::support::{NOW, OVERNIGHT, Response, Running, import_files};

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    body["data"].clone()
}

fn symbols(data: &Value) -> Vec<&str> {
    data["securities"].as_array().unwrap().iter().map(|one| one["symbol"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn securities_are_found_by_code_and_by_name_in_three_languages() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    for (query, found) in [
        ("700", vec!["700.HK"]),
        ("00700.hk", vec!["700.HK"]),
        ("TENC", vec!["700.HK"]),
        ("%E8%85%BE%E8%AE%AF", vec!["700.HK"]),
        ("%E6%8E%A7%E8%82%A1", vec!["700.HK"]),
        ("%EF%BC%97%EF%BC%90%EF%BC%90", vec!["700.HK"]),
        ("aap", vec!["AAPL.US"]),
        (".s", vec!["600519.SH"]),
        // The security is known but has no candles.
        ("hsbc", vec![]),
    ] {
        let answer = data(&server.get(&format!("/v1/securities?query={query}"), &ann).await);
        assert_eq!(symbols(&answer), found, "{query}");
        assert_eq!(answer["more"], false);
    }
    let first = data(&server.get("/v1/securities?query=700", &ann).await);
    assert_eq!(
        first["securities"][0],
        json!({"symbol": "700.HK", "name_en": "Tencent", "name_cn": "腾讯控股", "name_hk": "騰訊控股"})
    );
    // Securities with extended hours come first.
    assert_eq!(symbols(&data(&server.get("/v1/securities", &ann).await)), ["AAPL.US", "700.HK", "600519.SH"]);
    let one = data(&server.get("/v1/securities?limit=1", &ann).await);
    assert_eq!((symbols(&one), &one["more"]), (vec!["AAPL.US"], &json!(true)));
    // None of these requests is charged to the quota.
    assert_eq!(data(&server.get("/v1/quota", &ann).await)["used"], 0);
}

#[tokio::test]
async fn markets_without_a_right_are_not_shown() {
    let server = Running::start().await;
    let ann = server.account_with("ann", "HK", Terms::default());
    assert_eq!(symbols(&data(&server.get("/v1/securities", &ann).await)), ["700.HK"]);
    for path in ["/v1/securities/AAPL.US", "/v1/securities/AAPL.US/actions", "/v1/securities/AAPL.US/figures"]
    {
        let refused = server.get(path, &ann).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (403, Some(301_604)), "{path}");
    }
    let none = server.http("GET", "/v1/securities", "", b"").await;
    assert_eq!((none.status, none.json()["code"].as_u64()), (401, Some(401_004)));
}

/// Imports sixty securities of one market that rank above the securities of other markets.
fn crowd(server: &Running) {
    let mut rows = "symbol,time,open,high,low,close,volume\n".to_owned();
    for number in 0..60 {
        for day in 2..=13 {
            rows += &format!("T{number}.US,2026-10-{day:02},1,1,1,1,1\n");
        }
    }
    rows += "000002.SZ,2026-10-13,1,1,1,1,1\n399001.SZ,2026-10-13,1,1,1,1,1\n";
    let path = server.dir.path().join("crowd.csv");
    std::fs::write(&path, rows).unwrap();
    import_files(server.dir.path(), &[path]);
}

#[tokio::test]
async fn the_ranking_considers_only_visible_securities() {
    let server = Running::start().await;
    crowd(&server);
    server.noticed().await;
    let ann = server.account_with("ann", "CN", Terms::default());
    let seen = data(&server.get("/v1/securities", &ann).await);
    assert_eq!(symbols(&seen), ["600519.SH", "000002.SZ", "399001.SZ"]);
    assert_eq!((&seen["more"], &seen["store_is_empty"]), (&json!(false), &json!(false)));
    // Charts filter by exchange or kind. This account may view all markets.
    let bob = server.account("bob", Terms::default());
    for (question, found) in [
        ("exchange=SZ", vec!["000002.SZ", "399001.SZ"]),
        ("exchange=SZ&type=index", vec!["399001.SZ"]),
        ("type=index", vec!["399001.SZ"]),
        ("exchange=SH&type=index", vec![]),
    ] {
        let answer = server.get(&format!("/udf/search?query=&{question}"), &bob).await.json();
        let mut plain: Vec<&str> =
            answer.as_array().unwrap().iter().map(|row| row["ticker"].as_str().unwrap()).collect();
        plain.retain(|ticker| !ticker.contains('@'));
        assert_eq!(plain, found, "{question}");
    }
}

#[tokio::test]
async fn an_empty_store_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    drop(store::Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap());
    let empty = Running::start_in(dir, server::Settings::default()).await;
    let full = Running::start().await;
    for (server, is_empty) in [(empty, true), (full, false)] {
        let ann = server.account_with("ann", "none", Terms::default());
        let body = data(&server.get("/v1/securities", &ann).await);
        assert_eq!(body, json!({"securities": [], "more": false, "store_is_empty": is_empty}));
    }
}

#[tokio::test]
async fn only_visible_sessions_are_listed() {
    let server = Running::start().await;
    let (ann, bob) =
        (server.account("ann", Terms::default()), server.account_with("bob", OVERNIGHT, Terms::default()));
    let mut facts = data(&server.get("/v1/securities/00700.hk", &ann).await);
    // The fields removed here are covered by the next test.
    for name in ["now", "stored"] {
        assert!(facts.as_object_mut().unwrap().remove(name).is_some(), "{name}");
    }
    assert_eq!(
        facts,
        json!({
            "symbol": "700.HK", "name_en": "Tencent", "name_cn": "腾讯控股", "name_hk": "騰訊控股", "market": "HK",
            "zone": "Asia/Hong_Kong", "exchange": "SEHK", "currency": "HKD", "lot": 100, "decimals": 3,
            "total_shares": null, "circulating_shares": null, "hk_shares": null, "eps": null, "eps_ttm": null,
            "bps": null, "dividend_yield": null,
            "sessions": [
                {"session": 0, "start": "09:30", "end": "12:00"}, {"session": 0, "start": "13:00", "end": "16:00"},
            ],
            "periods": [
                "1m", "2m", "3m", "5m", "10m", "15m", "20m", "30m", "45m", "60m", "120m", "180m", "240m",
                "day", "week", "month", "quarter", "year",
            ],
            "capital_flow": "no_trades",
        })
    );
    let days_alone = data(&server.get("/v1/securities/600519.SH", &ann).await);
    assert_eq!(days_alone["periods"], json!(["day", "week", "month", "quarter", "year"]));
    let day = json!([
        {"session": 1, "start": "04:00", "end": "09:30"}, {"session": 0, "start": "09:30", "end": "16:00"},
        {"session": 2, "start": "16:00", "end": "20:00"},
    ]);
    let facts = data(&server.get("/v1/securities/AAPL.US", &ann).await);
    assert_eq!((&facts["sessions"], &facts["currency"], &facts["lot"]), (&day, &json!("USD"), &json!(1)));
    let night = data(&server.get("/v1/securities/AAPL.US", &bob).await);
    assert_eq!(night["sessions"].as_array().unwrap()[..3], day.as_array().unwrap()[..]);
    assert_eq!(
        night["sessions"].as_array().unwrap()[3..],
        [
            json!({"session": 3, "start": "20:00", "end": "24:00"}),
            json!({"session": 3, "start": "00:00", "end": "04:00"})
        ]
    );
    for (path, status, code) in [
        ("/v1/securities/9999.HK", 404, 404),
        ("/v1/securities/tencent", 400, 301_600),
        ("/v1/securities/700.HK?x=1", 400, 301_600),
        ("/v1/securities/9999.HK/actions", 404, 404),
        ("/v1/securities/9999.HK/figures", 404, 404),
        ("/v1/securities/700.HK/figures?x=1", 400, 301_600),
    ] {
        let refused = server.get(path, &ann).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (status, Some(code)), "{path}");
    }
}

#[tokio::test]
async fn a_security_lists_its_stored_series_up_to_the_market_clock() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let describe = |facts: &Value| -> Vec<(String, String, String)> {
        let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
        let stored = facts["stored"].as_array().unwrap().iter();
        stored.map(|one| (text(one, "period"), text(one, "first"), text(one, "last"))).collect()
    };
    let since = |period: &str, last: &str| (period.to_owned(), "2026-10-12".to_owned(), last.to_owned());
    let facts = data(&server.get("/v1/securities/600519.SH", &ann).await);
    assert_eq!(describe(&facts), [since("day", "2026-11-13")]);
    let version = facts["stored"][0]["version"].as_i64().unwrap();
    assert_eq!(data(&server.get("/v1/securities/600519.SH", &ann).await)["stored"][0]["version"], version);
    let facts = data(&server.get("/v1/securities/700.HK", &ann).await);
    // Only imported periods are listed. Series rolled up from one-minute candles are not.
    let periods: Vec<String> = describe(&facts).into_iter().map(|(period, ..)| period).collect();
    assert_eq!(periods, ["1m", "day"]);
    assert_eq!(data(&server.get("/v1/securities/5.HK", &ann).await)["stored"], json!([]));
    // At noon on 2026-10-20 in Shanghai, the day's candle is not final.
    server.set_now(1_792_468_800);
    let facts = data(&server.get("/v1/securities/600519.SH", &ann).await);
    assert_eq!(describe(&facts), [since("day", "2026-10-19")], "the day is not over");
    assert_eq!(facts["now"], "2026-10-20T12:00:00+08:00");
    // First at noon on the first stored day, whose candle is not final, and then a week earlier.
    server.set_now(1_791_777_600);
    assert_eq!(data(&server.get("/v1/securities/600519.SH", &ann).await)["stored"], json!([]));
    server.set_now(1_791_172_800);
    assert_eq!(data(&server.get("/v1/securities/600519.SH", &ann).await)["stored"], json!([]));
}

#[tokio::test]
async fn figures_have_the_ratios_of_command_26_as_of_the_market_clock() {
    const NIGHT: i64 = 1_794_585_599;
    let server = Running::start().await;
    let path = server.dir.path().join("figures.csv");
    let rows = "symbol,from,total_shares,circulating_shares,eps_ttm,dividend_yield\n\
                700.HK,,2000,1000,-2.5,0\n700.HK,2026-11-13,,,2.5,\n700.HK,2026-11-14,,,9,\n";
    std::fs::write(&path, rows).unwrap();
    import_files(server.dir.path(), &[path]);
    let ann = server.account("ann", Terms::default());
    let figures =
        async |symbol: &str| data(&server.get(&format!("/v1/securities/{symbol}/figures"), &ann).await);
    // The time is one second before midnight in Hong Kong.
    server.set_now(NIGHT);
    assert_eq!(
        figures("700.HK").await,
        json!({
            "symbol": "700.HK", "currency": "HKD", "last_done": "123.500", "total_market_value": "247000.000",
            "pe_ttm_ratio": "49.40", "pb_ratio": null, "turnover_rate": "100.00", "dividend_ratio_ttm": "0.00",
            "total_shares": 2000, "circulating_shares": 1000, "hk_shares": null, "eps": null, "eps_ttm": "2.5",
            "bps": null, "dividend_yield": "0",
        })
    );
    // A day earlier, the price is different. A negative EPS has no ratio.
    server.set_now(NIGHT - 86_400);
    let before = figures("700.HK").await;
    assert_eq!((&before["last_done"], &before["eps_ttm"]), (&json!("122.500"), &json!("-2.5")));
    assert_eq!(
        (&before["total_market_value"], &before["pe_ttm_ratio"]),
        (&json!("245000.000"), &json!(null))
    );
    // Before the first candle there are share counts but no price.
    server.set_now(1_700_000_000);
    let early = figures("700.HK").await;
    assert_eq!((&early["last_done"], &early["total_market_value"]), (&json!(null), &json!(null)));
    assert_eq!((&early["turnover_rate"], &early["total_shares"]), (&json!(null), &json!(2000)));
    // This security has a price but no figures.
    server.set_now(NIGHT);
    let bare = figures("600519.SH").await;
    assert_eq!((bare["last_done"].is_string(), &bare["currency"]), (true, &json!("CNY")));
    let known = bare.as_object().unwrap().values().filter(|value| !value.is_null()).count();
    assert_eq!(known, 3, "{bare}");
    assert_eq!(data(&server.get("/v1/quota", &ann).await)["used"], 0);
}

#[tokio::test]
async fn actions_are_listed_from_their_ex_date() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let body = data(&server.get("/v1/securities/700.HK/actions", &ann).await);
    let action = json!({
        "ex_date": "2026-11-02", "cash": "3.4", "split": "1", "bonus": "0", "rights": "0", "rights_price": "0",
    });
    assert_eq!(body, json!({"symbol": "700.HK", "actions": [action]}));
    // The action is not listed one second before the ex-date begins in Hong Kong.
    server.set_now(1_793_548_799);
    assert_eq!(data(&server.get("/v1/securities/700.HK/actions", &ann).await)["actions"], json!([]));
    server.set_now(1_793_548_800);
    assert_eq!(data(&server.get("/v1/securities/700.HK/actions", &ann).await)["actions"][0], action);
}

#[tokio::test]
async fn invalid_search_parameters_are_refused() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    for query in [
        "limit=0".to_owned(),
        "limit=51".to_owned(),
        "limit=1&limit=1".to_owned(),
        "q=700".to_owned(),
        format!("query={}", "x".repeat(65)),
    ] {
        let refused = server.get(&format!("/v1/securities?{query}"), &ann).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (400, Some(301_600)), "{query}");
    }
    let longest = format!("/v1/securities?limit=50&query={}", "%E8%85%BE".repeat(64));
    assert_eq!(server.get(&longest, &ann).await.status, 200);
}
