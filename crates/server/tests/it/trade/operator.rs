use serde_json::{Value, json};

use super::hall::{Hall, at, data, refused};
use crate::support::Response;

async fn clock(hall: &Hall, body: Value) -> Response {
    hall.manage("/v1/admin/clock", body).await
}

#[tokio::test]
async fn a_stopped_clock_can_be_moved_forward() {
    let hall = Hall::open().await;
    let shown = data(&hall.server.get("/v1/admin/clock", &hall.op).await);
    assert_eq!(shown, json!({"now": "2026-03-18T01:00:00Z", "pace": "standing", "speed": 0.0}));
    let moved = data(&clock(&hall, json!({"now": "2026-03-18T02:00:15Z"})).await);
    assert_eq!(moved["now"], "2026-03-18T02:00:15Z");
    for (body, words) in [
        (json!({"now": "2026-03-18T02:00:14Z"}), "can only move forward: it is at 2026-03-18T02:00:15Z"),
        (json!({"now": "noon"}), "noon"),
        (json!({"now": "2100-01-01T00:00:00Z"}), "ends with the year 2099"),
        (json!({"now": i64::MAX}), "ends with the year 2099"),
        (json!({"now": -1}), "can only move forward"),
        (json!({}), "now"),
        (json!({"now": null}), "now is required"),
    ] {
        let (status, _, message) = refused(&clock(&hall, body.clone()).await);
        assert!(status == 400 && message.contains(words), "{body}: {status} {message}");
    }
    let stranger = hall.server.post("/v1/admin/clock", &hall.ann, "{\"now\":0}").await;
    assert_eq!(stranger.status, 403);
    hall.server.go_live();
    let (status, _, message) = refused(&clock(&hall, json!({"now": "2027-01-01T00:00:00Z"})).await);
    assert!(status == 400 && message.contains("only a stopped clock"), "{message}");
}

#[tokio::test]
async fn an_operator_can_deposit_withdraw_and_set_positions() {
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
        ("rewind", json!({}), "to is required"),
        ("fork", json!({}), "account is required"),
        ("fork", json!({"account": "ann", "name": "x"}), "unknown field `name`"),
        ("rewind", json!({"to": 1, "account": "ann"}), "unknown field `account`"),
        ("reset", json!({"to": 1}), "unknown field `to`"),
        ("reset", json!([]), "expected an object, not a list"),
        ("deposit", json!(["1", "HKD", "a list"]), "expected an object, not a list"),
    ] {
        let (status, _, message) = refused(&hall.manage(&paper(what), body.clone()).await);
        assert!(status == 400 && message.contains(words), "{what} {body}: {status} {message}");
    }
    let stranger =
        hall.manage("/v1/admin/paper/nobody/deposit", json!({"amount": "1", "currency": "HKD"})).await;
    assert_eq!(stranger.status, 404);
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
async fn an_operator_can_rewind_fork_and_reset_an_account() {
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
    // The copy has the order under a new id instead of the original id.
    let theirs = hall.server.get(&format!("/v1/trade/order?order_id={id}"), &bob).await;
    assert_eq!(refused(&theirs).2, "order not found");
    let copied = bob.account_id.0 * 1_000_000_000 + 1;
    let copy = hall.server.get(&format!("/v1/trade/order?order_id={copied}"), &bob).await;
    assert_eq!(data(&copy)["status"], "NewStatus");
    let reset = data(&hall.manage("/v1/admin/paper/ann/reset", json!({})).await);
    assert_eq!(reset["horizon"], Value::Null);
    assert_eq!(hall.get("/v1/trade/order/today").await, json!({"orders": []}));
    let cuts = data(&hall.server.get("/v1/admin/paper/ann", &hall.op).await)["cuts"].clone();
    assert_eq!(cuts.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_read_only_account_cannot_trade() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(json!({"submitted_price": "300.00"})).await;
    data(&hall.manage("/v1/admin/accounts/ann", json!({"read_only": true})).await);
    let (status, code, message) = refused(&hall.try_submit(json!({"submitted_price": "300.00"})).await);
    assert_eq!((status, code), (403, 403_008));
    assert!(message.contains("read-only"), "{message}");
    assert_eq!(hall.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), &Value::Null).await.status, 403);
    let tried = json!({
        "symbol": "700.HK", "side": "Buy", "order_type": "LO", "submitted_quantity": "200", "submitted_price": "300.00",
        "time_in_force": "Day",
    });
    let preview = hall.ask("POST", "/v1/trade/order/preview", &tried).await;
    assert_eq!(preview.status, 403, "what would be refused is not called accepted");
    assert_eq!(hall.detail(&id).await["status"], "NewStatus");
    data(&hall.manage("/v1/admin/accounts/ann", json!({"read_only": false})).await);
    hall.submit(json!({"submitted_price": "300.00"})).await;
}

/// Returns an account's state and its audit rows.
async fn standing(hall: &Hall, name: &str) -> (Value, Value) {
    let shown = data(&hall.server.get(&format!("/v1/admin/paper/{name}"), &hall.op).await);
    let audit = data(&hall.server.get(&format!("/v1/admin/audit?account={name}"), &hall.op).await);
    (shown, audit)
}

#[tokio::test]
async fn a_refused_operation_changes_nothing() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.account("bob", access::Terms::default());
    hall.server.account("cyd", access::Terms::default());
    data(&hall.manage("/v1/admin/paper/cyd/deposit", json!({"amount": "1", "currency": "HKD"})).await);
    let before = standing(&hall, "ann").await;
    let much = "9".repeat(40);
    for (what, body, words) in [
        // The balance is 500,000, part of which is reserved for an order.
        ("withdraw", json!({"amount": "450000", "currency": "HKD"}), "insufficient funds"),
        ("withdraw", json!({"amount": "0.01", "currency": "CNH"}), "insufficient funds"),
        ("withdraw", json!({"amount": "0", "currency": "HKD"}), "amount must be above 0"),
        ("deposit", json!({"amount": "NaN", "currency": "HKD"}), "amount is not a decimal"),
        ("deposit", json!({"amount": "1e3", "currency": "HKD"}), "amount is not a decimal"),
        ("deposit", json!({"amount": much, "currency": "HKD"}), "amount is too large"),
        (
            "deposit",
            json!({"amount": "0.00000000001", "currency": "HKD"}),
            "amount has more than 10 decimals",
        ),
        ("deposit", json!({"amount": true, "currency": "HKD"}), "write amount as text"),
        ("deposit", json!({"currency": "HKD"}), "missing field `amount`"),
        ("deposit", json!({"amount": "1", "currency": "hkd"}), "is not a currency"),
        ("deposit", json!({"amount": "1", "currency": "HKD", "colour": "red"}), "unknown field `colour`"),
        ("exchange", json!({"from": "HKD", "to": "HKD", "amount": "1"}), "the currencies are the same"),
        ("exchange", json!({"from": "HKD", "to": "EUR", "amount": "1"}), "no rate for EUR"),
        ("exchange", json!({"from": "HKD", "to": "USD", "amount": "450000"}), "insufficient funds"),
        ("adjust", json!({"amount": "0", "currency": "HKD"}), "amount must be above 0"),
        ("adjust", json!({"amount": "-10000000000001", "currency": "HKD"}), "amount is too large"),
        ("adjust", json!({"amount": "1", "currency": "HKD", "reason": "a\nb"}), "printable characters"),
        ("position", json!({"symbol": "700", "quantity": "1", "cost": "1"}), "symbol"),
        ("position", json!({"symbol": "600519.SH", "quantity": "1", "cost": "1"}), "symbol not tradable"),
        ("position", json!({"symbol": "700.HK", "quantity": "1.00001", "cost": "1"}), "more than 4 decimals"),
        ("position", json!({"symbol": "700.HK", "quantity": "1", "cost": "-1"}), "cost must not be below 0"),
        ("credit", json!({"amount": "-1"}), "credit must not be below 0"),
        ("credit", json!({}), "missing field `amount`"),
        ("settings", json!({"touch": "touch", "participation": "0"}), "participation must be above 0"),
        (
            "settings",
            json!({"touch": "touch", "slippage_ticks": 1001}),
            "slippage_ticks must be at most 1000",
        ),
        ("settings", json!({"touch": "touch", "short": "maybe"}), "is not a valid value of short"),
        ("settings", json!({"touch": "gently"}), "is not a valid value of touch"),
        ("settings", json!({"touch": "touch", "reason": 5}), "reason is text"),
        (
            "rewind",
            json!({"to": at("10:00:16")}),
            "cannot be rewound to 2026-03-18T02:00:16Z, which is later",
        ),
        ("rewind", json!({"to": "yesterday"}), "yesterday"),
        ("rewind", json!({"to": at("10:00"), "name": "x".repeat(257)}), "name must have at most 256"),
        ("fork", json!({"account": "cyd"}), "already has a journal"),
        ("fork", json!({"account": "ann"}), "already has a journal"),
        ("fork", json!({"account": "bob", "to": at("10:01")}), "which is later"),
    ] {
        let (status, _, actual) =
            refused(&hall.manage(&format!("/v1/admin/paper/ann/{what}"), body.clone()).await);
        assert!(status == 400 && actual.contains(words), "{what} {body}: {status} {actual}");
    }
    assert_eq!(standing(&hall, "ann").await, before);
    // The cases are an unknown account, a caller who is not an operator, an unknown destination,
    // and an account that is not open.
    for what in [
        "deposit", "withdraw", "exchange", "adjust", "position", "credit", "settings", "rewind", "reset",
        "fork",
    ] {
        let body = json!({"account": "bob"});
        let stranger = hall.manage(&format!("/v1/admin/paper/nobody/{what}"), body.clone()).await;
        assert_eq!(stranger.status, 404, "{what}");
        let path = format!("/v1/admin/paper/ann/{what}");
        assert_eq!(hall.server.post(&path, &hall.ann, &body.to_string()).await.status, 403, "{what}");
    }
    assert_eq!(hall.manage("/v1/admin/paper/ann/fork", json!({"account": "nobody"})).await.status, 404);
    for (what, body) in [
        ("rewind", json!({"to": at("09:00")})),
        ("reset", json!({})),
        ("fork", json!({"account": "nobody"})),
        ("withdraw", json!({"amount": "9000000", "currency": "HKD"})),
    ] {
        let answer = hall.manage(&format!("/v1/admin/paper/bob/{what}"), body).await;
        assert!(matches!(answer.status, 400 | 404), "{what}: {answer:?}");
    }
    let (bob, _) = standing(&hall, "bob").await;
    assert_eq!((&bob["entries"], &bob["horizon"]), (&json!(0), &Value::Null), "and bob has none yet");
}

#[tokio::test]
async fn every_operation_is_audited_with_actor_and_reason() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.account("bob", access::Terms::default());
    for (what, body, event) in [
        ("deposit", json!({"amount": "1", "currency": "HKD"}), "paper.deposited"),
        ("withdraw", json!({"amount": "1", "currency": "HKD"}), "paper.withdrawn"),
        ("exchange", json!({"from": "HKD", "to": "USD", "amount": "78"}), "paper.exchanged"),
        ("adjust", json!({"amount": "-1", "currency": "HKD"}), "paper.adjusted"),
        ("position", json!({"symbol": "700.HK", "quantity": "100", "cost": "1"}), "paper.position"),
        ("credit", json!({"amount": "5"}), "paper.credit"),
        ("settings", json!({"touch": "touch", "short": "off"}), "paper.set"),
        ("fork", json!({"account": "bob"}), "paper.forked"),
        ("rewind", json!({"to": at("10:00:15"), "name": "one"}), "paper.rewound"),
        ("reset", json!({"name": "two"}), "paper.reset"),
    ] {
        let mut body = body;
        body["reason"] = json!(format!("for {what}"));
        data(&hall.manage(&format!("/v1/admin/paper/ann/{what}"), body).await);
        let whose = if what == "fork" { "bob" } else { "ann" };
        let (_, audit) = standing(&hall, whose).await;
        let newest = &audit["rows"][0];
        assert_eq!(newest["event"], event, "{what}: {newest}");
        let actual = newest.to_string();
        let actor = format!("{}", hall.op.account_id.0);
        assert!(actual.contains(&format!("for {what}")) && actual.contains(&actor), "{what}: {actual}");
    }
    let (_, audit) = standing(&hall, "ann").await;
    for actual in [
        "HKD 1.00 paid in: for deposit",
        "touch touch",
        "holds 100 700.HK at a cost of 1: for position",
        r#"rewound to 2026-03-18T02:00:15Z, the removed part archived as \"one\": for rewind"#,
        r#"reset, the removed part archived as \"two\": for reset"#,
    ] {
        assert!(audit.to_string().contains(actual), "{actual}: {audit}");
    }
    let (_, audit) = standing(&hall, "bob").await;
    let copied =
        format!("copied from account {} as of 2026-03-18T02:00:15Z: for fork", hall.ann.account_id.0);
    assert!(audit.to_string().contains(&copied), "{audit}");
    let rates = json!({"rows": [{"currency": "CNH", "day": "2026-01-02", "rate": "1.08"}]});
    data(&hall.manage("/v1/admin/rates", rates).await);
    let audit = data(&hall.server.get("/v1/admin/audit", &hall.op).await).to_string();
    assert!(audit.contains("rate"), "{audit}");
}

#[tokio::test]
async fn requests_during_a_rewind_see_a_consistent_state() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    hall.get("/v1/asset/fund").await;
    hall.get("/v1/trade/order/today").await;
    hall.server.set_now(at("10:00:30"));
    for round in 0..8 {
        let id = hall.submit(json!({"submitted_price": "300.00"})).await;
        let rewind = json!({"to": at("10:00:20"), "name": format!("round {round}")});
        let path = format!("/v1/trade/order?order_id={id}");
        let nothing = Value::Null;
        let (rewound, one, other, cancelled) = tokio::join!(
            hall.manage("/v1/admin/paper/ann/rewind", rewind),
            hall.ask("GET", &path, &nothing),
            hall.ask("GET", "/v1/asset/account", &nothing),
            hall.ask("DELETE", &path, &nothing),
        );
        data(&rewound);
        data(&other);
        for answer in [one, cancelled] {
            let is_gone = answer.status == 400 && refused(&answer).2 == "order not found";
            assert!(answer.status == 200 || is_gone, "{answer:?}");
        }
    }
}
