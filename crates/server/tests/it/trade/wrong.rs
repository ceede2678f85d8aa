use access::Terms;
use serde_json::{Value, json};

use super::hall::{Hall, at, data, refused};

#[tokio::test]
async fn a_wrong_order_is_refused_with_the_field_and_nothing_is_stored() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    for (fields, words) in [
        (json!({"symbol": null}), "symbol required"),
        (json!({"symbol": "x".repeat(200)}), "symbol has more than 128 bytes"),
        (json!({"symbol": "1.HK"}), "symbol not tradable"),
        (json!({"symbol": "600519.SH"}), "symbol not tradable"),
        (json!({"symbol": "700"}), "symbol not tradable"),
        (json!({"order_type": "TSMAMT"}), "order type not support"),
        (json!({"order_type": "XX"}), "order type not support"),
        (json!({"side": "Hold"}), "side \"Hold\" is not known"),
        (json!({"time_in_force": "Week"}), "time in force not support"),
        (json!({"submitted_quantity": "250"}), "quantity must be a multiple of 100"),
        (json!({"submitted_quantity": "0"}), "submitted_quantity must be above 0"),
        (json!({"submitted_quantity": "-100"}), "submitted_quantity must be above 0"),
        (json!({"submitted_quantity": "NaN"}), "submitted_quantity \"NaN\" is not a decimal"),
        (json!({"submitted_quantity": "1e2"}), "submitted_quantity \"1e2\" is not a decimal"),
        (json!({"submitted_quantity": "9".repeat(40)}), "is too large"),
        (json!({"submitted_quantity": null}), "submitted_quantity required"),
        (json!({"submitted_price": null}), "submitted_price required"),
        (json!({"submitted_price": "0"}), "submitted_price must be above 0"),
        (json!({"submitted_price": "305.25"}), "price must be a multiple of 0.2"),
        (json!({"submitted_price": "305.2000000001"}), "price must be a multiple of 0.2"),
        (json!({"submitted_price": "9".repeat(40)}), "is too large"),
        (json!({"submitted_price": "1.5e2"}), "is not a decimal"),
        (json!({"submitted_price": "3000"}), "price too far from 305"),
        (json!({"time_in_force": "GTD"}), "expire_date required"),
        (json!({"time_in_force": "GTD", "expire_date": "18/03/2026"}), "is not a date"),
        (json!({"remark": "x".repeat(256)}), "remark must have at most 255 characters"),
        (json!({"attached_params": {"attached_order_type": "BRACKET"}}), "attached"),
        (json!({"order_type": "LIT", "trigger_price": "305"}), ""),
        (json!({"outside_rth": "SOMETIMES", "symbol": "AAPL.US"}), "outside_rth \"SOMETIMES\" is not known"),
        (json!({"trigger_count": 9}), "trigger_count must be from 0 to 3"),
        (json!({"delayed_until": "soon"}), "delayed_until \"soon\" is not a time"),
    ] {
        let mut body = json!({"submitted_price": "305.20"});
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, code, told) = refused(&hall.try_submit(body).await);
        assert_eq!((status, code), (400, 602_001), "{fields}: {told}");
        assert!(told.contains(words), "{fields}: {told}");
    }
    let sale = hall.try_submit(json!({"side": "Sell", "submitted_price": "305.20"})).await;
    assert_eq!(refused(&sale).1, 602_301, "{sale:?}");
    for body in ["", "[]", "{", "null", "\"x\""] {
        let head = format!("authorization: Bearer {}\r\n", hall.ann.access_token.expose());
        let answer = hall.server.http("POST", "/v1/trade/order", &head, body.as_bytes()).await;
        assert_eq!(refused(&answer).1, 602_001, "{body:?}");
    }
    assert_eq!(hall.get("/v1/trade/order/today").await, json!({"orders": []}));
    // What the account cannot pay is an order that was rejected.
    let id = hall.submit(json!({"submitted_price": "305.20", "submitted_quantity": "100000"})).await;
    let detail = hall.detail(&id).await;
    assert_eq!((&detail["status"], &detail["msg"]), (&json!("RejectedStatus"), &json!("insufficient funds")));
}

#[tokio::test]
async fn a_wrong_question_is_refused_with_the_parameter() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    for (path, words) in [
        ("/v1/asset/account?currency=EUR", "currency is one of HKD, USD and CNH"),
        ("/v1/asset/account?currency=hkd", "currency \"hkd\" is not known"),
        ("/v1/asset/stock?symbol=700", "symbol \"700\" is not known"),
        ("/v1/asset/cashflow", "start_time required"),
        ("/v1/asset/cashflow?start_time=5&end_time=4", "start_time is after end_time"),
        (
            "/v1/asset/cashflow?start_at=1&end_at=2&size=10001",
            "size \"10001\" is not a number from 1 to 10000",
        ),
        ("/v1/asset/cashflow?start_at=1&end_at=2&business_type=4", "business_type"),
        ("/v1/trade/order", "order_id required"),
        ("/v1/trade/order?order_id=5", "order not found"),
        ("/v1/trade/order?order_id=abc", "order not found"),
        ("/v1/trade/order/today?market=XX", "market \"XX\" is not known"),
        ("/v1/trade/order/today?status=Done", "status \"Done\" is not known"),
        ("/v1/trade/order/history?start_at=9&end_at=8", "start_at is after end_at"),
        ("/v1/trade/order/history?start_at=tomorrow", "start_at \"tomorrow\" is not a time"),
        ("/v1/trade/execution/history?page=0", "page \"0\" is not a number"),
        ("/v1/trade/estimate/buy_limit?order_type=LO&side=Buy", "symbol required"),
        ("/v1/trade/estimate/buy_limit?symbol=700.HK&side=Buy", "order_type required"),
        ("/v1/trade/estimate/buy_limit?symbol=700.HK&order_type=LO&side=Buy", "price required"),
        ("/v1/risk/margin-ratio", "symbol required"),
        ("/v1/risk/margin-ratio?symbol=1.HK", "symbol not tradable"),
    ] {
        let (status, code, told) = refused(&hall.ask("GET", path, &Value::Null).await);
        assert_eq!((status, code), (400, 602_001), "{path}: {told}");
        assert!(told.contains(words), "{path}: {told}");
    }
    let put = json!({"order_id": "5", "quantity": "100"});
    assert_eq!(refused(&hall.ask("PUT", "/v1/trade/order", &put).await).2, "order not found");
    let put = json!({"quantity": "100"});
    assert_eq!(refused(&hall.ask("PUT", "/v1/trade/order", &put).await).2, "order_id required");
}

#[tokio::test]
async fn who_asks_too_often_waits() {
    let hall = Hall::open().await;
    let bob = hall.server.account("bob", Terms::default());
    for _ in 0..30 {
        data(&hall.server.get("/v1/asset/fund", &bob).await);
    }
    let answer = hall.server.get("/v1/asset/fund", &bob).await;
    assert_eq!((answer.status, answer.json()["code"].as_i64()), (429, Some(429_002)));
    assert!(answer.header("retry-after").is_some());
}
