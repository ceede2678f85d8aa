//! More SDK endpoints whose responses come from the store: dividends, corporate actions, market
//! status, and exchange rates.

use access::{Actor, NewAccount, Role, Terms};
use serde_json::{Value, json};

use crate::support::{NOW, Response, Running};

fn data(answer: &Response) -> Value {
    let json = answer.json();
    assert_eq!((answer.status, &json["code"]), (200, &json!(0)), "{answer:?}");
    json["data"].clone()
}

#[tokio::test]
async fn stored_actions_are_listed_as_dividends_and_company_actions() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    for path in ["/v1/quote/dividends", "/v1/quote/dividends/details"] {
        let body = data(&server.get(&format!("{path}?symbol=700.HK"), &ann).await);
        let dividend = json!({
            "symbol": "700.HK", "id": "2026110201", "desc": "Cash dividend of 3.4 HKD per share", "record_date": "",
            "ex_date": "2026-11-02", "payment_date": "",
        });
        assert_eq!(body, json!({ "list": [dividend] }));
    }
    let acts = data(&server.get("/v1/quote/company-act?symbol=700.HK&req_type=1&version=3", &ann).await);
    let act = &acts["items"][0];
    assert_eq!(
        (&act["date"], &act["act_type"], &act["recent"]),
        (&json!("20261102"), &json!("dividend"), &json!(true))
    );
    assert_eq!(acts["items"].as_array().unwrap().len(), 1);
    // One second before the ex-date begins in Hong Kong, the action is not listed.
    server.set_now(1_793_548_799);
    let path = "/v1/quote/dividends?symbol=700.HK";
    assert_eq!(data(&server.get(path, &ann).await), json!({ "list": [] }));
    server.set_now(1_793_548_800);
    assert_eq!(data(&server.get(path, &ann).await)["list"].as_array().unwrap().len(), 1);
    for (path, status) in [
        ("/v1/quote/dividends", 400),
        ("/v1/quote/dividends?symbol=nonsense", 400),
        ("/v1/quote/company-act?symbol=9999.HK", 404),
    ] {
        assert_eq!(server.get(path, &ann).await.status, status, "{path}");
    }
    let bob = server.account_with("bob", "CN", Terms::default());
    assert_eq!(server.get("/v1/quote/dividends?symbol=700.HK", &bob).await.status, 403);
}

/// SDKs since version 4 and the official CLI identify securities by counter id.
#[tokio::test]
async fn a_counter_id_is_accepted_in_place_of_a_symbol() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    for path in [
        "/v1/quote/dividends?",
        "/v1/quote/dividends/details?",
        "/v1/quote/company-act?req_type=1&",
        "/v1/quote/history-candlesticks?period=day&limit=2&",
        "/v1/quote/trades?",
        "/v1/risk/margin-ratio?",
        "/v1/trade/estimate/buy_limit?order_type=MO&side=Buy&",
        "/v1/asset/stock?",
        "/v1/orders/info?",
        "/v1/content/topics/mine?",
    ] {
        let by_symbol = server.get(&format!("{path}symbol=700.HK"), &ann).await;
        for query in ["counter_id=ST/HK/700", "symbol=&counter_id=ST%2FHK%2F00700"] {
            let by_id = server.get(&format!("{path}{query}"), &ann).await;
            assert_eq!((by_id.status, by_id.json()), (by_symbol.status, by_symbol.json()), "{path}{query}");
        }
    }
    let candles = json!({"period": 1000, "adjust_type": 0, "count": 2});
    let with = |name: &str, value: Value| {
        let mut body = candles.clone();
        body[name] = value;
        body.to_string()
    };
    let path = "/quote/candlesticks";
    let by_symbol = server.post(path, &ann, &with("symbol", json!("700.HK"))).await.json();
    assert_eq!(by_symbol["data"]["candlesticks"].as_array().unwrap().len(), 2);
    for name in ["counter_id", "counterId"] {
        assert_eq!(server.post(path, &ann, &with(name, json!("ST/HK/700"))).await.json(), by_symbol);
    }
    let listed = server.post("/quote/quotes", &ann, &json!({"counter_id": ["ST/HK/700"]}).to_string()).await;
    assert_eq!(data(&listed)["secu_quote"][0]["symbol"], json!("700.HK"));
    let order = |name: &str, value: &str| {
        json!({name: value, "order_type": "MO", "side": "Hold", "submitted_quantity": "100"}).to_string()
    };
    let by_symbol = server.post("/v1/trade/order", &ann, &order("symbol", "700.HK")).await.json();
    assert!(by_symbol["message"].as_str().unwrap().contains("Hold"), "{by_symbol}");
    let by_id = server.post("/v1/trade/order", &ann, &order("counter_id", "ST/HK/700")).await.json();
    assert_eq!(by_id, by_symbol);
    // A duplicate field is refused, with or without a counter id.
    for first in [r#""counter_id":"ST/HK/700""#, r#""symbol":"700.HK","remark":"counter_id""#] {
        let twice =
            format!(r#"{{{first},"order_type":"MO","side":"Buy","submitted_quantity":"100","side":"Sell"}}"#);
        let refused = server.post("/v1/trade/order", &ann, &twice).await.json();
        assert!(refused["message"].as_str().unwrap().contains("duplicate field `side`"), "{refused}");
    }
    for (path, says) in [
        ("/v1/quote/dividends", "symbol is missing"),
        ("/v1/quote/dividends?counter_id=", "symbol is missing"),
        ("/v1/quote/history-candlesticks?period=day", "symbol is missing"),
        ("/v1/quote/dividends?counter_id=700.HK", "counter_id \"700.HK\" is not a counter id"),
        ("/v1/quote/dividends?counter_id=ST/HK/700&symbol=5.HK", "name different securities"),
        ("/v1/quote/dividends?counter_id=VA/HAS/BTCUSD", "\"BTCUSD.HAS\" has an unknown region"),
    ] {
        let answer = server.get(path, &ann).await;
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(answer.status == 400 && message.contains(says), "{path}: {message}");
    }
    // Endpoints without a symbol parameter do not accept a counter id.
    let answer = server.get("/v1/securities?counter_id=ST/HK/700", &ann).await;
    assert_eq!(answer.status, 400);
    let document = server.http("GET", "/openapi.json", "", b"").await.json();
    let dividends = &document["paths"]["/v1/quote/dividends"]["get"]["parameters"];
    assert_eq!((&dividends[0]["name"], &dividends[1]["name"]), (&json!("symbol"), &json!("counter_id")));
    assert!(document["components"]["schemas"]["OrderSubmission"]["properties"]["counter_id"].is_object());
}

#[tokio::test]
async fn the_market_status_follows_the_market_clock() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let states = async || {
        let body = data(&server.get("/v1/quote/market-status", &ann).await);
        let rows = body["market_time"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| format!("{} {}", row["market"].as_str().unwrap(), row["trade_status"]))
            .collect::<Vec<_>>()
    };
    // Friday, 13 November 2026, 10:00 in Hong Kong is Thursday evening in New York.
    server.set_now(1_794_535_200);
    assert_eq!(states().await, ["HK 105", "US 207", "CN 105"]);
    // Saturday noon in Hong Kong is Friday 23:00 in New York.
    server.set_now(1_794_628_800);
    assert_eq!(states().await, ["HK 108", "US 204", "CN 108"]);
}

#[tokio::test]
async fn exchange_rates_are_those_of_the_current_day() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", Terms::default()) };
    let op = server.access.create(&new, &Actor::Operator, NOW).unwrap();
    let path = "/v1/asset/exchange_rates";
    let listed = async || {
        let answer = data(&server.get(path, &ann).await);
        let row = |one: &serde_json::Value| {
            assert_eq!((&one["bid_rate"], &one["offer_rate"]), (&one["average_rate"], &one["average_rate"]));
            let mark = if one["builtin"] == true { " approximate" } else { "" };
            let [base, other] = ["base_currency", "other_currency"].map(|key| one[key].as_str().unwrap());
            format!("{base}/{other} {}{mark}", one["average_rate"])
        };
        answer["exchanges"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let builtin = [
        "HKD/HKD 1.0",
        "HKD/CNH 1.1 approximate",
        "HKD/CNY 1.1 approximate",
        "HKD/SGD 5.8 approximate",
        "HKD/USD 7.8 approximate",
        "USD/HKD 0.12820513 approximate",
        "USD/CNH 0.14102564 approximate",
        "USD/CNY 0.14102564 approximate",
        "USD/SGD 0.74358974 approximate",
        "USD/USD 1.0",
    ];
    assert_eq!(listed().await, builtin);
    let rows = json!({"rows": [
        {"currency": "USD", "day": "2026-01-02", "rate": "7.8"},
        {"currency": "USD", "day": "2026-11-01", "rate": "7.75"},
        {"currency": "CNY", "day": "2026-11-01", "rate": "1.09"},
    ]});
    data(&server.post("/v1/admin/rates", &op, &rows.to_string()).await);
    // CNH uses the rate reported for CNY.
    let of_hkd =
        |rows: Vec<String>| rows.into_iter().take_while(|row| row.starts_with("HKD/")).collect::<Vec<_>>();
    assert_eq!(
        of_hkd(listed().await),
        ["HKD/HKD 1.0", "HKD/CNH 1.09", "HKD/CNY 1.09", "HKD/SGD 5.8 approximate", "HKD/USD 7.75"]
    );
    server.set_now(1_790_000_000);
    assert_eq!(of_hkd(listed().await), [&["HKD/HKD 1.0"], &builtin[1..4], &["HKD/USD 7.8"]].concat());
}
