use serde_json::{Value, json};

use super::hall::{Hall, at, data, refused};
use crate::support::Response;

async fn clock(hall: &Hall, body: Value) -> Response {
    hall.manage("/v1/admin/clock", body).await
}

#[tokio::test]
async fn a_clock_that_stands_is_moved_forward() {
    let hall = Hall::open().await;
    let shown = data(&hall.server.get("/v1/admin/clock", &hall.op).await);
    assert_eq!(shown, json!({"now": "2026-03-18T01:00:00Z", "pace": "standing", "speed": 0.0}));
    let moved = data(&clock(&hall, json!({"now": "2026-03-18T02:00:15Z"})).await);
    assert_eq!(moved["now"], "2026-03-18T02:00:15Z");
    for (body, words) in [
        (json!({"now": "2026-03-18T02:00:14Z"}), "only moves forward: it is at 2026-03-18T02:00:15Z"),
        (json!({"now": "noon"}), "noon"),
        (json!({"now": "2100-01-01T00:00:00Z"}), "ends with the year 2099"),
        (json!({"now": i64::MAX}), "ends with the year 2099"),
        (json!({"now": -1}), "only moves forward"),
        (json!({}), "now"),
        (json!({"now": null}), "give now"),
    ] {
        let (status, _, told) = refused(&clock(&hall, body.clone()).await);
        assert!(status == 400 && told.contains(words), "{body}: {status} {told}");
    }
    let stranger = hall.server.post("/v1/admin/clock", &hall.ann, "{\"now\":0}").await;
    assert_eq!(stranger.status, 403);
    hall.server.go_live();
    let (status, _, told) = refused(&clock(&hall, json!({"now": "2027-01-01T00:00:00Z"})).await);
    assert!(status == 400 && told.contains("only one that stands"), "{told}");
}

#[tokio::test]
async fn an_operator_gives_takes_and_sets() {
    let hall = Hall::open().await;
    let shown = data(&hall.server.get("/v1/admin/paper/ann", &hall.op).await);
    assert_eq!(shown["cash"], json!({"HKD": "500000.00", "USD": "100000.00"}));
    assert_eq!((&shown["horizon"], &shown["settings"]["touch"]), (&Value::Null, &json!("through")));
    let paper = |what: &str| format!("/v1/admin/paper/ann/{what}");
    data(&hall.manage(&paper("deposit"), json!({"amount": 1, "currency": "CNH"})).await);
    data(
        &hall
            .manage(&paper("adjust"), json!({"amount": "-0.5", "currency": "CNH", "reason": "rounding"}))
            .await,
    );
    data(&hall.manage(&paper("exchange"), json!({"from": "USD", "to": "HKD", "amount": "1000"})).await);
    data(
        &hall
            .manage(&paper("position"), json!({"symbol": "700.HK", "quantity": "300", "cost": "310.4"}))
            .await,
    );
    data(&hall.manage(&paper("credit"), json!({"amount": "400000"})).await);
    let settings = json!({"participation": "off", "touch": "touch", "slippage_ticks": 1, "short": "off", "fees": "none"});
    let shown = data(&hall.manage(&paper("settings"), settings).await);
    assert_eq!(shown["cash"], json!({"CNH": "0.50", "HKD": "507800.00", "USD": "99000.00"}));
    assert_eq!((&shown["credit"], &shown["settings"]["participation"]), (&json!("400000.00"), &Value::Null));
    for (what, body, words) in [
        ("withdraw", json!({"amount": "100000000", "currency": "HKD"}), "insufficient funds"),
        ("deposit", json!({"amount": 1.5, "currency": "HKD"}), "write amount as text"),
        ("deposit", json!({"amount": "1", "currency": "dollars"}), "is not a currency"),
        ("deposit", json!({"amount": "-1", "currency": "HKD"}), "amount must be above 0"),
        ("deposit", json!({"amount": "1", "currency": "HKD", "reason": "x".repeat(300)}), "reason"),
        ("settings", json!({"participation": "0"}), "participation must be above 0"),
        ("settings", json!({"colour": "red"}), "the settings are"),
        ("settings", json!({}), "the settings are"),
        ("position", json!({"symbol": "1.HK", "quantity": "1", "cost": "1"}), "symbol not tradable"),
        ("rewind", json!({}), "give to"),
        ("fork", json!({}), "give account"),
    ] {
        let (status, _, told) = refused(&hall.manage(&paper(what), body.clone()).await);
        assert!(status == 400 && told.contains(words), "{what} {body}: {status} {told}");
    }
    let nobody =
        hall.manage("/v1/admin/paper/nobody/deposit", json!({"amount": "1", "currency": "HKD"})).await;
    assert_eq!(nobody.status, 404);
    let audit = data(&hall.server.get("/v1/admin/audit?account=ann", &hall.op).await).to_string();
    for event in [
        "paper.withdrawn",
        "paper.deposited",
        "paper.adjusted",
        "paper.exchanged",
        "paper.position",
        "paper.set",
    ] {
        assert!(audit.contains(event), "{event}: {audit}");
    }
}

#[tokio::test]
async fn an_operator_rewinds_forks_and_resets() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.set_now(at("10:05"));
    assert_eq!(hall.detail(&id).await["status"], "FilledStatus");
    let bob = hall.server.account("bob", access::Terms::default());
    let fork = json!({"account": "bob", "to": at("10:01")});
    data(&hall.manage("/v1/admin/paper/ann/fork", fork).await);
    let rewound =
        data(&hall.manage("/v1/admin/paper/ann/rewind", json!({"to": at("10:00:15"), "name": "x"})).await);
    assert_eq!(rewound["horizon"], "2026-03-18T02:00:15Z");
    hall.server.set_now(at("10:01"));
    assert_eq!(hall.detail(&id).await["status"], "NewStatus");
    let copy = hall.server.get(&format!("/v1/trade/order?order_id={id}"), &bob).await;
    assert_eq!(data(&copy)["status"], "NewStatus");
    let reset = data(&hall.manage("/v1/admin/paper/ann/reset", json!({})).await);
    assert_eq!(reset["horizon"], Value::Null);
    assert_eq!(hall.get("/v1/trade/order/today").await, json!({"orders": []}));
    let cuts = data(&hall.server.get("/v1/admin/paper/ann", &hall.op).await)["cuts"].clone();
    assert_eq!(cuts.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_account_that_is_read_only_looks_and_changes_nothing() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(json!({"submitted_price": "300.00"})).await;
    data(&hall.manage("/v1/admin/accounts/ann", json!({"read_only": true})).await);
    let (status, code, told) = refused(&hall.try_submit(json!({"submitted_price": "300.00"})).await);
    assert_eq!((status, code), (403, 403_008));
    assert!(told.contains("read-only"), "{told}");
    assert_eq!(hall.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), &Value::Null).await.status, 403);
    assert_eq!(hall.detail(&id).await["status"], "NewStatus");
    data(&hall.manage("/v1/admin/accounts/ann", json!({"read_only": false})).await);
    hall.submit(json!({"submitted_price": "300.00"})).await;
}
