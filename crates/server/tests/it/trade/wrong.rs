use access::Terms;
use serde_json::{Value, json};

use super::hall::{Hall, at, data, refused};

#[tokio::test]
async fn an_invalid_order_is_refused_and_not_stored() {
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
        (json!({"order_type": "LIT", "trigger_price": "305"}), ""),
        (json!({"outside_rth": "SOMETIMES", "symbol": "AAPL.US"}), "outside_rth \"SOMETIMES\" is not known"),
        (json!({"trigger_count": 9}), "trigger_count must be from 0 to 3"),
        (json!({"delayed_until": "soon"}), "delayed_until \"soon\" is not a time"),
    ] {
        let mut body = json!({"submitted_price": "305.20"});
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, code, message) = refused(&hall.try_submit(body).await);
        assert_eq!((status, code), (400, 602_001), "{fields}: {message}");
        assert!(message.contains(words), "{fields}: {message}");
    }
    let sale = hall.try_submit(json!({"side": "Sell", "submitted_price": "305.20"})).await;
    assert_eq!(refused(&sale).1, 602_301, "{sale:?}");
    for body in ["", "[]", "{", "null", "\"x\""] {
        let head = format!("authorization: Bearer {}\r\n", hall.ann.access_token.expose());
        let answer = hall.server.http("POST", "/v1/trade/order", &head, body.as_bytes()).await;
        assert_eq!(refused(&answer).1, 602_001, "{body:?}");
    }
    assert_eq!(hall.get("/v1/trade/order/today").await, json!({"orders": []}));
    // An order that the account cannot pay for is stored as rejected.
    let id = hall.submit(json!({"submitted_price": "305.20", "submitted_quantity": "100000"})).await;
    let detail = hall.detail(&id).await;
    assert_eq!((&detail["status"], &detail["msg"]), (&json!("RejectedStatus"), &json!("insufficient funds")));
}

/// Tries values at the limits of each numeric field. Each value has the expected refusal, or none
/// if the order is accepted.
#[tokio::test]
async fn values_at_their_limits_are_accepted_or_refused() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let (forty, tiny) = ("9".repeat(40), format!("0.{}1", "0".repeat(38)));
    let decimals = [
        ("NaN", "is not a decimal"),
        ("inf", "is not a decimal"),
        ("-inf", "is not a decimal"),
        ("1e2", "is not a decimal"),
        ("1E+2", "is not a decimal"),
        ("+100", "is not a decimal"),
        (" 100", "is not a decimal"),
        ("1,000", "is not a decimal"),
        ("0x64", "is not a decimal"),
        ("١٠٠", "is not a decimal"),
        (forty.as_str(), "is too large"),
        (tiny.as_str(), " decimals"),
        ("18446744073709551616", "is too large"),
        ("9223372036854775807", "is too large"),
        ("-9223372036854775808", "is too large"),
    ];
    let prices = ["submitted_price", "trigger_price", "limit_offset", "trailing_amount", "monitor_price"];
    for field in prices.into_iter().chain(["submitted_quantity", "trailing_percent"]) {
        for (text, words) in decimals {
            let message = refuse(&hall, field, json!(text)).await;
            assert!(message.starts_with(field) && message.ends_with(words), "{field} {text}: {message}");
        }
        for (value, words) in [
            (json!(true), "the body cannot be read"),
            (json!(["1"]), "the body cannot be read"),
            (json!({"value": "1"}), "the body cannot be read"),
            (json!("x".repeat(129)), "has more than 128 bytes"),
        ] {
            let message = refuse(&hall, field, value.clone()).await;
            assert!(message.contains(words), "{field} {value}: {message}");
        }
    }
    for (field, value, words) in [
        ("submitted_quantity", json!("10000000001"), "is too large"),
        ("submitted_quantity", json!("10000000000"), "order too large"),
        ("submitted_quantity", json!("300100"), "order too large"),
        ("submitted_quantity", json!("0.00001"), "has more than 4 decimals"),
        ("submitted_quantity", json!("100.5"), "quantity must be a multiple of 100"),
        ("submitted_quantity", json!(-100), "submitted_quantity must be above 0"),
        ("submitted_quantity", json!(-0.0), "submitted_quantity must be above 0"),
        ("submitted_quantity", json!(1e30), "is too large"),
        ("submitted_price", json!("-305.2"), "submitted_price must be above 0"),
        ("submitted_price", json!("100000001"), "is too large"),
        ("submitted_price", json!("100000000"), "price too far from 305"),
        ("submitted_price", json!("0.000001"), "price must be a multiple of 0.001"),
        ("submitted_price", json!("0.0000001"), "price must be a multiple of 0.001"),
        ("submitted_price", json!("33.88"), "price too far from 305"),
        ("submitted_price", json!("2746"), "price too far from 305"),
        ("trigger_count", json!("2147483648"), "is not a whole number"),
        ("trigger_count", json!(-1), "trigger_count must be from 0 to 3"),
        ("limit_depth_level", json!(6), "limit_depth_level must be from -5 to 5"),
        ("limit_depth_level", json!(-6), "limit_depth_level must be from -5 to 5"),
        ("limit_depth_level", json!("1.5"), "is not a whole number"),
        ("delayed_until", json!(at("10:00:15")), "delayed_until must lie within the next 90 days"),
        (
            "delayed_until",
            json!(at("10:00:16") + 90 * 86_400),
            "delayed_until must lie within the next 90 days",
        ),
        ("delayed_until", json!(-1), "is not a time"),
        ("delayed_until", json!("9223372036854775808"), "is not a time"),
        ("remark", json!("a\u{0}b"), "remark has control characters"),
        ("remark", json!("燭".repeat(256)), "remark must have at most 255 characters"),
    ] {
        let message = refuse(&hall, field, value.clone()).await;
        assert!(message.contains(words), "{field} {value}: {message}");
    }
    for (date, words) in [
        ("2026-03-17", "time in force not support"),
        ("2027-03-20", "time in force not support"),
        ("9999-12-31", "time in force not support"),
        ("0001-01-01", "time in force not support"),
        ("2026-02-29", "is not a date"),
        ("2026-3-18", "is not a date"),
        ("20260318", "is not a date"),
        ("2026-03-18T00:00:00Z", "is not a date"),
        ("-009999-01-01", ""),
    ] {
        let fields = json!({"submitted_price": "300.00", "time_in_force": "GTD", "expire_date": date});
        let (status, code, message) = refused(&hall.try_submit(fields).await);
        assert_eq!((status, code), (400, 602_001), "{date}: {message}");
        assert!(message.contains(words), "{date}: {message}");
    }
    assert_eq!(hall.get("/v1/trade/order/today").await, json!({"orders": []}));
    // These are the most extreme values that are accepted.
    for fields in [
        json!({"submitted_quantity": 1e2}),
        json!({"submitted_quantity": "100.0000"}),
        json!({"submitted_quantity": "00100"}),
        json!({"submitted_price": "33.90"}),
        json!({"submitted_price": 305.20}),
        json!({"time_in_force": "GTD", "expire_date": "2027-03-19"}),
        json!({"time_in_force": "GTD", "expire_date": "2026-03-18"}),
        json!({"remark": "燭".repeat(255)}),
        json!({"delayed_until": at("10:00:15") + 90 * 86_400}),
        json!({"delayed_until": 0, "trigger_count": "3", "limit_depth_level": 5.0}),
    ] {
        let mut body = json!({"submitted_price": "300.00", "submitted_quantity": "100"});
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = hall.try_submit(body).await;
        assert_eq!(answer.status, 200, "{fields}: {answer:?}");
    }
}

/// Submits an order with one invalid field and returns the refusal message.
async fn refuse(hall: &Hall, field: &str, value: Value) -> String {
    let mut body = json!({"submitted_price": "300.00", "submitted_quantity": "100"});
    body[field] = value;
    let (status, code, message) = refused(&hall.try_submit(body.clone()).await);
    assert_eq!((status, code), (400, 602_001), "{body}: {message}");
    message
}

#[tokio::test]
async fn an_invalid_replacement_leaves_the_order_unchanged() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(json!({"submitted_price": "300.00"})).await;
    let before = hall.detail(&id).await;
    for (fields, words) in [
        (json!({"quantity": null}), "quantity required"),
        (json!({"quantity": "0"}), "quantity"),
        (json!({"quantity": "-200"}), "quantity"),
        (json!({"quantity": "250"}), "quantity must be a multiple of 100"),
        (json!({"quantity": "NaN"}), "quantity \"NaN\" is not a decimal"),
        (json!({"quantity": "9".repeat(40)}), "is too large"),
        (json!({"quantity": "300100"}), "order too large"),
        (json!({"quantity": "200000"}), "insufficient funds"),
        (json!({"price": "0"}), "must be above 0"),
        (json!({"price": "-1"}), "must be above 0"),
        (json!({"price": "1e2"}), "is not a decimal"),
        (json!({"price": "300.1"}), "price must be a multiple of 0.2"),
        (json!({"price": "3000"}), "price too far from 305"),
        (json!({"order_id": "1"}), "order not found"),
        (json!({"order_id": "9".repeat(40)}), "order not found"),
        (json!({"order_id": -5}), "order not found"),
        (json!({"remark": "x".repeat(256)}), "remark must have at most 255 characters"),
    ] {
        let mut body = json!({"order_id": id, "quantity": "200"});
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, code, message) = refused(&hall.ask("PUT", "/v1/trade/order", &body).await);
        assert_eq!((status, code), (400, 602_001), "{fields}: {message}");
        assert!(message.contains(words), "{fields}: {message}");
    }
    assert_eq!(hall.detail(&id).await, before);
}

/// The refusal has the same message and code as the refusal of any other feature that is not
/// offered.
#[tokio::test]
async fn multi_leg_orders_are_refused_as_not_offered() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    hall.submit(json!({"submitted_price": "300.00"})).await;
    let words = |what: &str| {
        format!("{what} are not offered here: paper accounts do not support this; your login is valid")
    };
    let terms = json!({"symbol": "700.HK", "order_type": "LO", "side": "Buy"});
    let answer = hall.ask("POST", "/v1/trade/order/multileg", &terms).await;
    assert_eq!(refused(&answer), (501, 301_602, words("multi-leg orders and US account orders")));
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"].as_array().unwrap().len(), 1);
}

/// Some clients have no integer type and send 200.0.
#[tokio::test]
async fn an_integer_may_be_written_with_a_zero_fraction() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let head = format!("authorization: Bearer {}\r\n", hall.ann.access_token.expose());
    let body = r#"{"symbol":"700.HK","order_type":"LO","side":"Buy","submitted_quantity":200.0,"time_in_force":"Day",
        "submitted_price":300.0,"trigger_count":1.0,"limit_depth_level":0.0,"delayed_until":0.0,"remark":"1.0"}"#;
    let answer = hall.server.http("POST", "/v1/trade/order", &head, body.as_bytes()).await;
    let id = data(&answer)["order_id"].as_str().unwrap().to_owned();
    let detail = hall.detail(&id).await;
    assert_eq!(
        (&detail["quantity"], &detail["trigger_count"], &detail["remark"]),
        (&json!("200"), &json!(1), &json!("1.0"))
    );
    let operator = format!("authorization: Bearer {}\r\n", hall.op.access_token.expose());
    for (method, path, body) in [
        ("POST", "/v1/admin/accounts/ann", r#"{"quota": 1000.0}"#),
        ("POST", "/v1/admin/paper/ann/deposit", r#"{"amount": 1000.0, "currency": "HKD"}"#),
    ] {
        let answer = hall.server.http(method, path, &operator, body.as_bytes()).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn a_refused_request_does_not_open_an_account() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let bob = hall.server.account("bob", Terms::default());
    let order = json!({
        "symbol": "700.HK", "order_type": "LO", "side": "Buy", "submitted_quantity": "250", "time_in_force": "Day",
        "submitted_price": "300.00",
    });
    let answer = hall.server.post("/v1/trade/order", &bob, &order.to_string()).await;
    assert_eq!(refused(&answer).2, "quantity must be a multiple of 100");
    // Array elements are not matched to fields by position.
    let answer = hall.server.post("/v1/trade/order", &bob, "[]").await;
    assert_eq!(refused(&answer).2, "the body cannot be read: expected an object, not a list");
    let replace =
        json!({"order_id": "7000000001", "quantity": "100", "delayed_until": at("10:01")}).to_string();
    let head = format!("authorization: Bearer {}\r\n", bob.access_token.expose());
    let answer = hall.server.http("PUT", "/v1/trade/order", &head, replace.as_bytes()).await;
    assert_eq!(refused(&answer).2, "order not found");
    let shown = data(&hall.server.get("/v1/admin/paper/bob", &hall.op).await);
    assert_eq!((&shown["entries"], &shown["horizon"]), (&json!(0), &Value::Null));
}

#[tokio::test]
async fn an_invalid_query_is_refused_with_the_parameter() {
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
        ("/v1/trade/order/today?status=ReplacedStatus&side=Hold", "side \"Hold\" is not known"),
        ("/v1/trade/order/history?start_at=9&end_at=8", "start_at is after end_at"),
        ("/v1/trade/order/history?start_at=tomorrow", "start_at \"tomorrow\" is not a time"),
        ("/v1/trade/execution/history?page=0", "page \"0\" is not a number"),
        ("/v1/trade/estimate/buy_limit?order_type=LO&side=Buy", "symbol required"),
        ("/v1/trade/estimate/buy_limit?symbol=700.HK&side=Buy", "order_type required"),
        (
            "/v1/trade/estimate/buy_limit?symbol=700.HK&order_type=LO&side=Buy&price=-1",
            "price must be above 0",
        ),
        (
            "/v1/trade/estimate/buy_limit?symbol=700.HK&order_type=LO&side=Buy&currency=EUR",
            "currency is one of HKD, USD and CNH",
        ),
        ("/v1/trade/estimate/buy_limit?symbol=700.HK&order_type=LO&side=Buy&currency=hkd", "currency"),
        ("/v1/trade/estimate/buy_limit?symbol=700.HK&order_type=LO&side=Buy&order_id=5", "order not found"),
        ("/v1/risk/margin-ratio", "symbol required"),
        ("/v1/risk/margin-ratio?symbol=1.HK", "symbol not tradable"),
    ] {
        let (status, code, message) = refused(&hall.ask("GET", path, &Value::Null).await);
        assert_eq!((status, code), (400, 602_001), "{path}: {message}");
        assert!(message.contains(words), "{path}: {message}");
    }
    let put = json!({"order_id": "5", "quantity": "100"});
    assert_eq!(refused(&hall.ask("PUT", "/v1/trade/order", &put).await).2, "order not found");
    let put = json!({"quantity": "100"});
    assert_eq!(refused(&hall.ask("PUT", "/v1/trade/order", &put).await).2, "order_id required");
}

#[tokio::test]
async fn frequent_requests_are_rate_limited() {
    let hall = Hall::open().await;
    let bob = hall.server.account("bob", Terms::default());
    for _ in 0..30 {
        data(&hall.server.get("/v1/asset/fund", &bob).await);
    }
    let answer = hall.server.get("/v1/asset/fund", &bob).await;
    assert_eq!((answer.status, answer.json()["code"].as_i64()), (429, Some(429_002)));
    assert!(answer.header("retry-after").is_some());
}
