//! Inventory and coverage as seen by accounts: limited to their markets and floors, paged,
//! filtered, and sorted by gaps.

use access::{Actor, NewAccount, Role, Terms};
use history::import::Options;
use market::Grain;
use serde_json::{Value, json};

use crate::support::{NOW, Response, Running, import_with};

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

fn symbols(data: &Value) -> Vec<&str> {
    data["rows"].as_array().unwrap().iter().map(|one| one["symbol"].as_str().unwrap()).collect()
}

/// Imports 30 one-minute candles of the 12th for 9.HK, and none of the 13th.
fn import_gaps(server: &Running) {
    let row = |minute: u32| format!("9.HK,2026-11-12T10:{minute:02}:00+08:00,1,1,1,1,1\n");
    let minutes: String = (0..30).map(row).collect();
    let path = server.dir.path().join("gaps.csv");
    std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{minutes}")).unwrap();
    let mut options = Options::default();
    options.read.period = Some(Grain::Minute);
    import_with(server.dir.path(), &[path], options);
}

#[tokio::test]
async fn the_series_of_each_security_are_listed() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let all = data(&server.get("/v1/inventory", &ann).await);
    assert_eq!(symbols(&all), ["600519.SH", "700.HK", "AAPL.US"]);
    assert_eq!(
        (&all["start"], &all["end"], &all["total"], &all["uncounted"], &all["next"], &all["store_is_empty"]),
        (&json!("2026-08-17"), &json!("2026-11-15"), &json!(3), &json!(0), &Value::Null, &json!(false))
    );
    let days = &all["rows"][0];
    assert_eq!((&days["market"], &days["missing"], &days["partial"]), (&json!("CN"), &json!(0), &json!(0)));
    let series = days["series"].as_array().unwrap();
    assert_eq!(series.len(), 1, "{days}");
    assert_eq!(
        (&series[0]["period"], &series[0]["first"], &series[0]["last"]),
        (&json!("day"), &json!("2026-10-12"), &json!("2026-11-13"))
    );
    assert!(series[0]["candles"].as_u64().unwrap() >= days["expected"].as_u64().unwrap(), "{days}");
    // Series rolled up from one-minute candles are not listed.
    let periods: Vec<&Value> =
        all["rows"][1]["series"].as_array().unwrap().iter().map(|one| &one["period"]).collect();
    assert_eq!(periods, ["1m", "day"]);
    let quote = server.get("/v1/quote/history-candlesticks?symbol=600519.SH&period=day&count=1", &ann).await;
    assert_eq!(days["last"], quote.json()["data"]["candlesticks"][0]["close"]);
}

#[tokio::test]
async fn the_list_is_paged_and_filtered() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let first = data(&server.get("/v1/inventory?limit=2", &ann).await);
    assert_eq!((symbols(&first), &first["next"]), (vec!["600519.SH", "700.HK"], &json!(2)));
    let rest = data(&server.get("/v1/inventory?limit=2&offset=2", &ann).await);
    assert_eq!((symbols(&rest), &rest["next"], &rest["total"]), (vec!["AAPL.US"], &Value::Null, &json!(3)));
    for (query, found) in [
        ("query=tenc", vec!["700.HK"]),
        ("market=us", vec!["AAPL.US"]),
        ("market=US&query=700", vec![]),
        ("offset=3", vec![]),
        ("order=symbol&query=.", vec!["600519.SH", "700.HK", "AAPL.US"]),
    ] {
        let answer = data(&server.get(&format!("/v1/inventory?{query}"), &ann).await);
        assert_eq!(symbols(&answer), found, "{query}");
    }
    let long = format!("query={}", "x".repeat(65));
    for query in ["limit=0", "limit=201", "offset=-1", "market=SG", "order=best", "days=7", long.as_str()] {
        let refused = server.get(&format!("/v1/inventory?{query}"), &ann).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (400, Some(301_600)), "{query}");
    }
}

/// Imports three days of securities whose figures have different orders.
fn import_figures(server: &Running) {
    let rows = [("1.HK", "10", "11", 300), ("2.HK", "20", "19", 100), ("3.HK", "1", "1", 200)];
    let rows = rows.map(|(name, before, last, volume)| {
        format!(
            "{name},2026-11-12,{before},{before},{before},{before},9\n{name},2026-11-13,{last},{last},{last},{last},{volume}\n"
        )
    });
    let path = server.dir.path().join("figures.csv");
    std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{}", rows.concat())).unwrap();
    let mut options = Options::default();
    options.read.period = Some(Grain::Day);
    import_with(server.dir.path(), &[path], options);
}

#[tokio::test]
async fn the_list_is_sorted_by_the_figures_of_the_day() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    import_figures(&server);
    server.noticed().await;
    let only = "symbols=1.HK,2.HK,3.HK,4.HK";
    for (order, expected) in [
        ("order=last", ["2.HK", "1.HK", "3.HK"]),
        ("order=last&direction=asc", ["3.HK", "1.HK", "2.HK"]),
        ("order=change", ["1.HK", "3.HK", "2.HK"]),
        ("order=percent&direction=asc", ["2.HK", "3.HK", "1.HK"]),
        ("order=volume", ["1.HK", "3.HK", "2.HK"]),
        ("order=symbol&direction=desc", ["3.HK", "2.HK", "1.HK"]),
        ("direction=desc", ["3.HK", "2.HK", "1.HK"]),
    ] {
        let all = data(&server.get(&format!("/v1/inventory?{only}&{order}"), &ann).await);
        assert_eq!((symbols(&all), &all["uncounted"]), (expected.to_vec(), &json!(0)), "{order}");
    }
    let one = data(&server.get("/v1/inventory?symbols=1.HK", &ann).await);
    let row = &one["rows"][0];
    assert_eq!(
        (&row["last"], &row["prev_close"], &row["volume"], &row["closes"]),
        (&json!("11.000"), &json!("10.000"), &json!(300), &json!(["10.000", "11.000"]))
    );
    let names = data(&server.get("/v1/inventory?order=name&market=CN", &ann).await);
    assert_eq!(symbols(&names), ["600519.SH"]);
    let many = format!("symbols={}", "1.HK,".repeat(501));
    for query in ["direction=up", "symbols=HK", many.as_str()] {
        assert_eq!(server.get(&format!("/v1/inventory?{query}"), &ann).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn hidden_prices_decide_no_order() {
    let server = Running::start().await;
    import_figures(&server);
    server.noticed().await;
    let rights = "none".parse().unwrap();
    let new = NewAccount { role: Role::Operator, rights, ..NewAccount::named("op", Terms::default()) };
    let op = server.access.create(&new, &Actor::Operator, NOW).unwrap();
    let all = data(&server.get("/v1/inventory?symbols=1.HK,2.HK,3.HK&order=last", &op).await);
    assert_eq!(symbols(&all), ["1.HK", "2.HK", "3.HK"]);
    for field in ["last", "prev_close", "volume"] {
        assert_eq!(all["rows"][0][field], Value::Null, "{field}");
    }
    assert_eq!(all["rows"][0]["closes"], json!([]));
}

#[tokio::test]
async fn accounts_see_their_own_markets_and_operators_see_all() {
    let server = Running::start().await;
    let bob = server.account_with("bob", "HK", Terms::default());
    let rights = "none".parse().unwrap();
    let new = NewAccount { role: Role::Operator, rights, ..NewAccount::named("op", Terms::default()) };
    let op = server.access.create(&new, &Actor::Operator, NOW).unwrap();
    for path in ["/v1/inventory", "/v1/coverage", "/v1/coverage?order=worst"] {
        assert_eq!(symbols(&data(&server.get(path, &bob).await)), ["700.HK"], "{path}");
        assert_eq!(data(&server.get(path, &op).await)["total"], 3, "{path}");
    }
    let refused = server.get("/v1/coverage/AAPL.US", &bob).await;
    assert_eq!((refused.status, refused.json()["code"].as_u64()), (403, Some(301_604)));
    assert_eq!(server.get("/v1/coverage/700.HK", &bob).await.status, 200);
    // A price is a quote, so operators also need the quote right to see it.
    assert_eq!(data(&server.get("/v1/inventory", &op).await)["rows"][0]["last"], Value::Null);
    // None of these requests is charged to the quota.
    assert_eq!(data(&server.get("/v1/quota", &bob).await)["used"], 0);
    // The number of overnight minutes is visible only with the overnight right.
    let us = server.account_with("cy", "US", Terms::default());
    let day = "/v1/coverage/AAPL.US?start=2026-11-13&end=2026-11-13";
    assert_eq!(data(&server.get(day, &us).await)["days"][0]["extended"], Value::Null);
    assert!(data(&server.get(day, &op).await)["days"][0]["extended"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn securities_with_the_most_gaps_are_listed_first() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    import_gaps(&server);
    server.noticed().await;
    let worst = data(&server.get("/v1/inventory?order=worst&limit=1", &ann).await);
    assert_eq!((symbols(&worst), &worst["uncounted"], &worst["next"]), (vec!["9.HK"], &json!(0), &json!(1)));
    let row = &worst["rows"][0];
    // The security's last candle is on the 12th, and days after the last candle are not gaps.
    assert_eq!((&row["missing"], &row["partial"], &row["expected"]), (&json!(0), &json!(1), &json!(1)));
    assert_eq!(row["after_last"], json!(1));
    let worst = data(&server.get("/v1/coverage?order=worst&days=4&end=2026-11-13&limit=1", &ann).await);
    assert_eq!(
        (&worst["rows"], &worst["next"], &worst["total"]),
        (&json!([{"symbol": "9.HK", "days": "..pm"}]), &json!("1"), &json!(4))
    );
    let rest = data(&server.get("/v1/coverage?order=worst&days=4&end=2026-11-13&after=1", &ann).await);
    assert_eq!(symbols(&rest), ["600519.SH", "700.HK", "AAPL.US"]);
    let found = data(&server.get("/v1/coverage?query=tenc&days=1&end=2026-11-13", &ann).await);
    assert_eq!(found["rows"], json!([{"symbol": "700.HK", "days": "c"}]));
}

#[tokio::test]
async fn a_large_store_is_compared_over_several_requests() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let rows: String = (1..=250).map(|number| format!("Z{number}.US,2026-11-12,1,1,1,1,1\n")).collect();
    let path = server.dir.path().join("many.csv");
    std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{rows}")).unwrap();
    let mut options = Options::default();
    options.read.period = Some(Grain::Day);
    import_with(server.dir.path(), &[path], options);
    server.noticed().await;
    for uncounted in [53, 0, 0] {
        let worst = data(&server.get("/v1/inventory?order=worst&limit=1", &ann).await);
        assert_eq!((&worst["total"], &worst["uncounted"]), (&json!(253), &json!(uncounted)));
        // The security listed first is the first by symbol among the securities compared so far.
        assert_eq!((symbols(&worst), &worst["rows"][0]["after_last"]), (vec!["Z1.US"], &json!(1)));
    }
    let rest = data(&server.get("/v1/inventory?order=worst&offset=250", &ann).await);
    assert_eq!(symbols(&rest), ["600519.SH", "700.HK", "AAPL.US"]);
    // When sorted by symbol, only the securities on the page are compared.
    let last = data(&server.get("/v1/coverage?days=2&end=2026-11-13&after=Z98.US", &ann).await);
    assert_eq!(
        (&last["uncounted"], &last["rows"][0]),
        (&json!(0), &json!({"symbol": "Z99.US", "days": "cm"}))
    );
}

#[tokio::test]
async fn candles_before_the_floors_are_not_listed() {
    let server = Running::start().await;
    let floors = Some("HK.day=2026-11-11,HK.minute=2026-11-13".parse().unwrap());
    let ann = server.account("ann", Terms { floors, ..Terms::default() });
    import_gaps(&server);
    server.noticed().await;
    let listed = data(&server.get("/v1/inventory?market=HK", &ann).await);
    assert_eq!(symbols(&listed), ["700.HK", "9.HK"]);
    let series = &listed["rows"][0]["series"];
    assert_eq!(
        (&series[0]["first"], &series[1]["first"], &series[1]["candles"]),
        (&json!("2026-11-13"), &json!("2026-11-11"), &Value::Null)
    );
    // All one-minute candles of 9.HK are before the floor.
    assert_eq!(listed["rows"][1]["series"], json!([]));
    let week = data(&server.get("/v1/coverage?market=HK&days=5&end=2026-11-13", &ann).await);
    assert_eq!(
        week["rows"],
        json!([{"symbol": "700.HK", "days": "..ccc"}, {"symbol": "9.HK", "days": "...mm"}])
    );
    let days = data(&server.get("/v1/coverage/9.HK?start=2026-11-12&end=2026-11-13", &ann).await);
    let day = &days["days"][0];
    assert_eq!(
        (&day["minutes"], &day["expected"], &day["gaps"], &day["daily_missing"]),
        (&json!(0), &json!(0), &json!([]), &json!("not loaded"))
    );
    let days = data(&server.get("/v1/coverage/700.HK?start=2026-11-09&end=2026-11-13", &ann).await);
    assert_eq!((days["days"].as_array().unwrap().len(), &days["days"][0]["date"]), (3, &json!("2026-11-11")));
}
