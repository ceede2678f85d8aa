//! The pull commands as JSON over HTTP.

use access::Terms;
use serde_json::{Value, json};

use crate::support::Running;

#[tokio::test]
async fn a_command_over_http_returns_candles_as_json() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let body = r#"{"symbol":"700.HK","period":1000,"adjust_type":0,"query_type":2,"date_request":{"start_date":"","end_date":""},"trade_session":0}"#;
    let answer = server.post("/quote/history-candlesticks", &account, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["code"], 0);
    assert_eq!(answer["data"]["symbol"], "700.HK");
    assert_eq!(answer["data"]["candlesticks"].as_array().unwrap().len(), 24);
    assert_eq!(
        answer["data"]["candlesticks"][23],
        json!({"close": "123.500", "open": "123.000", "low": "122.000", "high": "125.000", "volume": 1000,
               "turnover": "123000.000", "timestamp": 1_794_499_200, "trade_session": 0})
    );
}

#[tokio::test]
async fn several_spellings_of_a_message_are_accepted() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let plain =
        r#"{"symbol":"700.HK","period":1000,"adjust_type":1,"query_type":1,"offset_request":{"count":2}}"#;
    let wanted = server.post("/quote/history-candlesticks", &account, plain).await.json();
    assert_eq!(wanted["data"]["candlesticks"].as_array().unwrap().len(), 2);
    for body in [
        r#"{"symbol":"700.HK","period":1000.0,"adjust_type":1.0,"query_type":1.0,"offset_request":{"count":2.0}}"#,
        r#"{"symbol":"700.HK","period":"1000","adjustType":"1","queryType":1,"offsetRequest":{"count":"2","date":null}}"#,
        r#"{"symbol":"700.HK","period":1000,"adjust_type":1,"query_type":1,"offset_request":{"count":2,"date":"","minute":""},"date_request":null,"trade_session":null,"further":[1]}"#,
    ] {
        assert_eq!(server.post("/quote/history-candlesticks", &account, body).await.json(), wanted, "{body}");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_decoded_is_refused_and_not_counted() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for body in ["", "{}"] {
        let answer = server.post("/quote/history-candlesticks", &account, body).await;
        assert_eq!((answer.status, answer.json()["code"].as_i64()), (400, Some(301_600)), "{body}");
    }
    let counted = 58;
    for body in [
        "symbol=700.HK",
        "[]",
        "null",
        "{\"symbol\":7}",
        "{\"symbol\":\"700.HK\",\"period\":\"day\"}",
        "{",
        "\u{0}",
    ] {
        let answer = server.post("/quote/history-candlesticks", &account, body).await;
        assert_eq!((answer.status, answer.json()["code"].as_i64()), (400, Some(301_600)), "{body}");
        assert_eq!(answer.header("x-ratelimit-remaining"), Some(counted.to_string().as_str()), "{body}");
    }
    let sessions = server.post("/quote/markets/trading-sessions", &account, "not JSON").await;
    assert_eq!((sessions.status, sessions.json()["code"].as_i64()), (400, Some(301_600)));
}

#[tokio::test]
async fn every_offered_command_has_an_http_endpoint() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for (path, body, pointer) in [
        ("/quote/candlesticks", r#"{"symbol":"700.HK","period":1,"count":5}"#, "/data/candlesticks/4/close"),
        ("/quote/intraday", r#"{"symbol":"700.HK"}"#, "/data/lines/0/price"),
        ("/quote/quotes", r#"{"symbol":["700.HK","AAPL.US"]}"#, "/data/secu_quote/1/last_done"),
        ("/quote/static-info", r#"{"symbol":["700.HK"]}"#, "/data/secu_static_info/0/name_en"),
        ("/quote/markets/trading-sessions", "{}", "/data/market_trade_session/0/market"),
        (
            "/quote/markets/trading-days",
            r#"{"market":"HK","beg_day":"20261101","end_day":"20261110"}"#,
            "/data/trade_day/0",
        ),
        ("/quote/profile", "{}", "/data/quote_level"),
    ] {
        let answer = server.post(path, &account, body).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(answer.json().pointer(pointer).is_some_and(Value::is_string), "{path}: {}", answer.json());
    }
    let absent = server.post("/quote/depth", &account, r#"{"symbol":"700.HK"}"#).await;
    assert_eq!((absent.status, absent.json()["code"].as_i64()), (501, Some(301_602)));
    assert_eq!(absent.json()["message"], "order books are not offered here");
}

#[tokio::test]
async fn the_packages_health_and_openapi_endpoints_respond() {
    let server = Running::start().await;
    let account = server.account_with("ann", "HK", Terms::default());
    assert_eq!(server.get("/v1/quote/cmd?", &account).await.json()["data"], json!({}));
    let packages = server.get("/v1/quote/my-quotes?market=ALL&account_channel=lb", &account).await.json();
    assert_eq!(packages["data"]["activated_lists"][0]["market"], "HK");
    assert_eq!(packages["data"]["activated_lists"][0]["end_time"], "0");
    assert_eq!(packages["data"]["activated_lists"].as_array().unwrap().len(), 1);
    assert_eq!(packages["data"]["unactivated_lists"].as_array().unwrap().len(), 5);
    let one = server.get("/v1/quote/my-quotes?market=US", &account).await.json();
    assert_eq!(one["data"]["activated_lists"], json!([]));
    assert_eq!(one["data"]["unactivated_lists"][0]["package_key"], "chandler_us");

    let health = server.http("GET", "/health", "", b"").await;
    assert_eq!((health.status, health.text()), (200, "success"));
    let document = server.http("GET", "/openapi.json", "", b"").await;
    assert_eq!(document.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(document.json()["openapi"], "3.1.0");
}
