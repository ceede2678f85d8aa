//! Endpoints that the pages use for a paper account in addition to the SDK endpoints: portfolio,
//! equity curve, and chart marks.

use access::Terms;
use serde_json::{Value, json};

use super::hall::{Hall, at, data, refused};

#[tokio::test]
async fn a_portfolio_has_prices_values_and_profits() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let before = hall.get("/v1/asset/portfolio").await;
    assert_eq!((&before["positions"], &before["missing"]), (&json!([]), &Value::Null));
    assert_eq!((&before["at"], &before["read_only"]), (&json!(at("10:00:15").to_string()), &json!(false)));
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.set_now(at("10:02:30"));
    let portfolio = hall.get("/v1/asset/portfolio").await;
    assert_eq!(
        portfolio["positions"],
        json!([{
            "symbol": "700.HK", "name": "Tencent", "market": "HK", "currency": "HKD",
            "quantity": "200", "available_quantity": "200", "cost_price": "305.200", "cost": "61040.00",
            "price": "305.600", "market_value": "61120.00", "unrealised": "80.00",
        }])
    );
    assert_eq!(
        portfolio["currencies"][0],
        json!({
            "currency": "HKD", "cash": "438875.25", "available_cash": "438875.25", "frozen_cash": "0.00",
            "settling_cash": "-61124.75", "market_value": "61120.00", "total": "499995.25",
        })
    );
    // The totals include USD 100,000 at a rate of 7.8.
    let totals = &portfolio["totals"];
    assert_eq!(
        (&totals["currency"], &totals["net_assets"], &totals["market_value"], &totals["risk_level"]),
        (&json!("HKD"), &json!("1279995.25"), &json!("61120.00"), &json!(0))
    );
    assert!(portfolio["entries"].as_u64() > before["entries"].as_u64(), "{portfolio}");
    let again = hall.get("/v1/asset/portfolio").await;
    assert_eq!(again["entries"], portfolio["entries"], "nothing has happened since");
    data(&hall.manage("/v1/admin/accounts/ann", json!({"read_only": true})).await);
    assert_eq!(hall.get("/v1/asset/portfolio").await["read_only"], true);
}

#[tokio::test]
async fn totals_at_built_in_rates_are_approximate() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let totals = async || {
        let portfolio = hall.get("/v1/asset/portfolio").await;
        (portfolio["approximate"].clone(), portfolio["totals"]["net_assets"].clone())
    };
    // The USD rate was reported, so the totals are not approximate.
    assert_eq!(totals().await, (json!(false), json!("1280000.00")));
    data(&hall.manage("/v1/admin/paper/ann/deposit", json!({"amount": "100", "currency": "CNH"})).await);
    assert_eq!(totals().await, (json!(true), json!("1280110.00")));
    let rates = json!({"rows": [{"currency": "CNY", "day": "2026-01-02", "rate": "1.08"}]});
    data(&hall.manage("/v1/admin/rates", rates).await);
    assert_eq!(totals().await, (json!(false), json!("1280108.00")));
    for (currency, total) in [("HKD", "1280108.00"), ("USD", "164116.41"), ("CNH", "1185285.19")] {
        let funds = hall.get(&format!("/v1/asset/account?currency={currency}")).await;
        assert_eq!(funds["list"][0]["total_cash"], total, "{currency}");
    }
}

#[tokio::test]
async fn chart_marks_do_not_open_an_account() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let marks = "/v1/trade/marks?symbol=700.HK";
    let id = hall.submit(json!({"submitted_price": "306.00"})).await;
    let waits = hall
        .submit(json!({"order_type": "LIT", "submitted_price": "311", "trigger_price": "310", "submitted_quantity": "100"}))
        .await;
    let open = hall.get(marks).await;
    assert_eq!(
        open["orders"],
        json!([
            {
                "order_id": id, "side": "Buy", "order_type": "LO", "status": "NewStatus", "quantity": "200",
                "total_quantity": "200", "main_order_id": null, "price": "306.000", "trigger_price": null,
            },
            {
                "order_id": waits, "side": "Buy", "order_type": "LIT", "status": "VarietiesNotReported", "quantity": "100",
                "total_quantity": "100", "main_order_id": null, "price": "311.000", "trigger_price": "310.000",
            },
        ])
    );
    assert_eq!(
        (&open["fills"], &open["position"], &open["read_only"]),
        (&json!([]), &Value::Null, &json!(false))
    );
    hall.server.set_now(at("10:02"));
    let filled = hall.get(marks).await;
    assert_eq!(
        filled["position"],
        json!({"quantity": "200", "available_quantity": "200", "cost_price": "305.200"})
    );
    assert_eq!(filled["orders"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&filled["fills"], &filled["fills_omitted"]),
        (
            &json!([{
                "order_id": id, "side": "Buy", "quantity": "200", "price": "305.200",
                "candle_at": at("10:01").to_string(), "trading_day": "2026-03-18",
            }]),
            &json!(0)
        )
    );
    let other = hall.get("/v1/trade/marks?symbol=5.HK").await;
    assert_eq!((&other["fills"], &other["position"]), (&json!([]), &Value::Null));
    let nameless = hall.ask("GET", "/v1/trade/marks", &Value::Null).await;
    assert_eq!(refused(&nameless), (400, 602_001, "symbol required".to_owned()));
    // The operator has never traded, and reading a chart does not open an account.
    for _ in 0..2 {
        let none = data(&hall.server.get(marks, &hall.op).await);
        assert_eq!((&none["entries"], &none["orders"], &none["fills"]), (&json!(0), &json!([]), &json!([])));
    }
}

#[tokio::test]
async fn equity_is_reported_by_day() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    hall.submit(json!({"submitted_price": "306.00"})).await;
    // 11:00 on the next day.
    hall.server.set_now(at("35:00"));
    let equity = hall.get("/v1/asset/equity").await;
    assert_eq!((&equity["currency"], &equity["missing"]), (&json!("HKD"), &Value::Null));
    let points: Vec<(&Value, &Value, &Value)> = equity["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| (&point["date"], &point["net_assets"], &point["is_over"]))
        .collect();
    // The account holds 200 shares at the last close of 305.2, and the remaining cash.
    assert_eq!(
        points,
        [
            (&json!("2026-03-18"), &json!("1279915.25"), &json!(true)),
            (&json!("2026-03-19"), &json!("1279915.25"), &json!(false))
        ]
    );
    assert_eq!(hall.get("/v1/asset/equity?days=1").await["points"].as_array().unwrap().len(), 1);
    let many = hall.ask("GET", "/v1/asset/equity?days=3001", &Value::Null).await;
    assert_eq!(refused(&many), (400, 602_001, "days \"3001\" is not a number from 1 to 3000".to_owned()));
}

#[tokio::test]
async fn a_long_equity_curve_counts_as_several_requests() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let bob = hall.server.account("bob", Terms::default());
    // The limit is 30 requests in 30 seconds, and a request for 3,000 days is charged as four
    // requests.
    let mut answered = 0;
    while hall.server.get("/v1/asset/equity?days=3000", &bob).await.status == 200 {
        answered += 1;
        assert!(answered < 30, "the rate has no end");
    }
    assert_eq!(answered, 8);
}
