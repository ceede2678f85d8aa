//! Paper accounts that are pinned to an API date.

use serde_json::{Value, json};

use super::hall::{Hall, at, data, event, refused};

impl Hall {
    async fn pin(&self, date: Value) {
        data(&self.manage("/v1/admin/accounts/ann", json!({ "api_date": date })).await);
    }

    /// Returns the field names of the account funds, and the currency.
    async fn funds(&self) -> (Vec<String>, String) {
        let row = self.get("/v1/asset/account?currency=USD").await["list"][0].clone();
        (row.as_object().unwrap().keys().cloned().collect(), row["currency"].as_str().unwrap().to_owned())
    }
}

#[tokio::test]
async fn account_funds_follow_the_api_date() {
    let hall = Hall::open().await;
    let (newest, currency) = hall.funds().await;
    assert_eq!((newest.len(), currency.as_str()), (12, "USD"));
    let margins = "init_margin maintenance_margin net_assets";
    for (date, missing, currency) in [
        ("2025-06-17", String::new(), "USD"),
        ("2025-06-16", "frozen_transaction_fees".to_owned(), "USD"),
        ("2023-08-17", "buy_power frozen_transaction_fees".to_owned(), "USD"),
        ("2023-08-16", "buy_power frozen_transaction_fees".to_owned(), "HKD"),
        ("2022-06-19", format!("buy_power frozen_transaction_fees {margins}"), "HKD"),
    ] {
        hall.pin(json!(date)).await;
        let (names, told_in) = hall.funds().await;
        let gone: Vec<String> = newest.iter().filter(|name| !names.contains(name)).cloned().collect();
        assert_eq!((gone.join(" "), told_in.as_str()), (missing, currency), "{date}");
    }
    let answer = hall.ask("GET", "/v1/asset/account", &Value::Null).await;
    assert_eq!(answer.header("x-api-date"), Some("2022-06-19"));
    assert_eq!(hall.get("/v1/me").await["api_date"], "2022-06-19");
    hall.pin(Value::Null).await;
    assert_eq!(hall.get("/v1/me").await.get("api_date"), None);
    assert_eq!(hall.funds().await, (newest, "USD".to_owned()));
    assert_eq!(hall.ask("GET", "/v1/asset/account", &Value::Null).await.header("x-api-date"), None);
}

#[tokio::test]
async fn endpoints_values_and_positions_follow_the_api_date() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.set_now(at("10:05"));
    let position = async || hall.get("/v1/asset/stock").await["list"][0]["stock_info"][0].clone();
    assert!(position().await["init_quantity"].is_string());
    let detail = format!("/v1/trade/order?order_id={id}");
    for (date, has_detail, has_init) in
        [("2023-04-12", true, true), ("2023-04-11", true, false), ("2023-04-10", false, false)]
    {
        hall.pin(json!(date)).await;
        let answer = hall.ask("GET", &detail, &Value::Null).await;
        assert_eq!(answer.status, if has_detail { 200 } else { 404 }, "{date}");
        let held = position().await;
        assert_eq!((held["quantity"].as_str(), held["init_quantity"].is_string()), (Some("200"), has_init));
    }
    let words = "not found: it was added on 2023-04-11, and this account is pinned to 2023-04-10";
    let refusal = refused(&hall.ask("GET", &detail, &Value::Null).await);
    assert_eq!(refusal, (404, 404, words.to_owned()));
    // The list of today's orders exists at every API date.
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"][0]["order_id"], json!(id));
    let (status, code, text) = refused(&hall.try_submit(json!({"outside_rth": "OVERNIGHT"})).await);
    assert_eq!((status, code), (400, 602_001));
    assert!(text.starts_with("outside_rth OVERNIGHT: it was added on 2024-05-17"), "{text}");
    assert_eq!(hall.ask("GET", "/v1/risk/margin-ratio?symbol=700.HK", &Value::Null).await.status, 200);
    hall.pin(json!("2022-07-13")).await;
    assert_eq!(hall.ask("GET", "/v1/risk/margin-ratio?symbol=700.HK", &Value::Null).await.status, 404);
}

#[tokio::test]
async fn removed_order_types_are_accepted_at_older_dates() {
    let hall = Hall::open().await;
    hall.step("10:00:15").await;
    let by_percent = json!({"order_type": "TSMPCT", "trailing_percent": "1", "submitted_price": null});
    let by_amount = json!({"order_type": "TSMAMT", "trailing_amount": "2", "submitted_price": null});
    for date in [Value::Null, json!("2024-04-29")] {
        hall.pin(date.clone()).await;
        for order in [&by_percent, &by_amount] {
            let (status, code, text) = refused(&hall.try_submit(order.clone()).await);
            assert_eq!((status, code, text.as_str()), (400, 602_001, "order type not support"), "{date}");
        }
    }
    hall.pin(json!("2024-04-28")).await;
    for order in [by_percent, by_amount] {
        let id = hall.submit(order.clone()).await;
        let found = hall.get(&format!("/v1/trade/order?order_id={id}")).await;
        assert_eq!(found["order_type"], order["order_type"]);
        assert_eq!(
            (&found["status"], &found["trigger_status"]),
            (&json!("VarietiesNotReported"), &json!("ACTIVE"))
        );
    }
}

#[tokio::test]
async fn pushes_use_the_api_date_at_subscription() {
    let hall = Hall::open().await;
    hall.pin(json!("2024-04-14")).await;
    let mut older = hall.listener().await;
    hall.pin(Value::Null).await;
    let mut newer = hall.listener().await;
    hall.step("10:00:15").await;
    hall.submit(json!({"submitted_price": "306.00", "remark": "demo"})).await;
    let (older, newer) = (event(&mut older).await, event(&mut newer).await);
    assert_eq!((&older["remark"], older.get("last_share")), (&json!("demo"), None));
    assert_eq!(newer["last_share"], json!(""));
    let keys = |event: &Value| event.as_object().unwrap().len();
    assert_eq!(keys(&newer) - keys(&older), 2);
}

#[tokio::test]
async fn an_operator_sets_the_api_date() {
    let hall = Hall::open().await;
    for nonsense in [json!("yesterday"), json!("2024-13-01"), json!(""), json!(20_240_801)] {
        let answer = hall.manage("/v1/admin/accounts/ann", json!({ "api_date": nonsense })).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    let answer = hall.manage("/v1/admin/accounts/ann", json!({"api_date": "2024-08-01"})).await;
    assert_eq!(data(&answer)["terms"]["api_date"], "2024-08-01");
    let versions = data(&hall.server.http("GET", "/v1/versions", "", b"").await);
    assert_eq!(
        (&versions["newest"], versions["versions"].as_array().unwrap().len()),
        (&json!("2026-08-14"), 21)
    );
}
