//! What SDKs ask for besides candles, answered from what is stored: dividends, corporate actions, states of markets, exchange rates.

use access::{Actor, NewAccount, Role, Terms};
use serde_json::{Value, json};

use crate::support::{NOW, Response, Running};

fn data(answer: &Response) -> Value {
    let json = answer.json();
    assert_eq!((answer.status, &json["code"]), (200, &json!(0)), "{answer:?}");
    json["data"].clone()
}

#[tokio::test]
async fn stored_actions_are_told_as_dividends_and_as_acts_of_the_company() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    for path in ["/v1/quote/dividends", "/v1/quote/dividends/details"] {
        let told = data(&server.get(&format!("{path}?symbol=700.HK"), &ann).await);
        let dividend = json!({
            "symbol": "700.HK", "id": "2026110201", "desc": "Cash dividend of 3.4 HKD a share", "record_date": "",
            "ex_date": "2026-11-02", "payment_date": "",
        });
        assert_eq!(told, json!({ "list": [dividend] }));
    }
    let acts = data(&server.get("/v1/quote/company-act?symbol=700.HK&req_type=1&version=3", &ann).await);
    let act = &acts["items"][0];
    assert_eq!(
        (&act["date"], &act["act_type"], &act["recent"]),
        (&json!("20261102"), &json!("dividend"), &json!(true))
    );
    assert_eq!(acts["items"].as_array().unwrap().len(), 1);
    // Not before it is effective: on the eve in Hong Kong.
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

#[tokio::test]
async fn markets_are_open_and_closed_by_the_market_clock() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let states = async || {
        let told = data(&server.get("/v1/quote/market-status", &ann).await);
        let rows = told["market_time"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| format!("{} {}", row["market"].as_str().unwrap(), row["trade_status"]))
            .collect::<Vec<_>>()
    };
    // Friday, 13 November 2026, 10:00 in Hong Kong, which is the evening before in New York.
    server.set_now(1_794_535_200);
    assert_eq!(states().await, ["HK 105", "US 207", "CN 105"]);
    // Saturday noon in Hong Kong; Friday 23:00 in New York.
    server.set_now(1_794_628_800);
    assert_eq!(states().await, ["HK 108", "US 204", "CN 108"]);
}

#[tokio::test]
async fn exchange_rates_are_those_of_the_day() {
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
    // CNH has the rate that was reported for CNY.
    let of_hkd =
        |rows: Vec<String>| rows.into_iter().take_while(|row| row.starts_with("HKD/")).collect::<Vec<_>>();
    assert_eq!(
        of_hkd(listed().await),
        ["HKD/HKD 1.0", "HKD/CNH 1.09", "HKD/CNY 1.09", "HKD/SGD 5.8 approximate", "HKD/USD 7.75"]
    );
    server.set_now(1_790_000_000);
    assert_eq!(of_hkd(listed().await), [&["HKD/HKD 1.0"], &builtin[1..4], &["HKD/USD 7.8"]].concat());
}
