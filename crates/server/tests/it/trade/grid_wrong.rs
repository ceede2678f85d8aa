use access::{RateRule, Terms};
use serde_json::{Value, json};

use super::grid::{body, rule, rule_with, submit};
use super::hall::{Hall, at, data, refused};

const SUBMIT: &str = "/v1/gridtrading/submit";

/// Fields whose integer values are enumeration codes.
const NUMBERS: [&str; 8] = [
    "trigger_price_type",
    "time_in_force",
    "rth",
    "upper_limit_event",
    "lower_limit_event",
    "trigger_sell_depth",
    "trigger_buy_depth",
    "expire_time",
];
const PRICES: [&str; 5] = [
    "submitted_base_price",
    "upper_limit_price",
    "lower_limit_price",
    "trigger_spread_up",
    "trigger_spread_down",
];
const QUANTITIES: [&str; 3] = ["trigger_quantity", "upper_limit_quantity", "lower_limit_quantity"];

/// Submits a rule with these fields replaced. Returns the code and message of the refusal.
async fn refuse(hall: &Hall, fields: &Value) -> (i64, String) {
    let answer = hall.ask("POST", SUBMIT, &body(&rule_with(fields))).await;
    let (status, code, message) = refused(&answer);
    assert_eq!(status, 400, "{fields}: {message}");
    (code, message)
}

#[tokio::test]
async fn an_invalid_rule_is_refused_with_its_code_and_field() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let percent =
        |up: &str| json!({"trigger_price_type": 2, "trigger_percent_up": up, "trigger_percent_down": "2"});
    for (fields, code, words) in [
        (
            json!({"upper_limit_price": "300", "lower_limit_price": "310"}),
            602_001,
            "upper_limit_price must be above lower_limit_price",
        ),
        (json!({"upper_limit_price": "300"}), 602_001, "upper_limit_price must be above lower_limit_price"),
        (json!({"submitted_base_price": "310.2"}), 602_001, "submitted_base_price must lie within"),
        (json!({"submitted_base_price": "299.8"}), 602_001, "submitted_base_price must lie within"),
        (json!({"lower_limit_price": "0"}), 602_001, "lower_limit_price must be above 0"),
        (json!({"lower_limit_price": "-300"}), 602_001, "lower_limit_price must be above 0"),
        (json!({"trigger_spread_up": "0"}), 602_001, "trigger_spread_up must be above 0"),
        (json!({"trigger_spread_down": "-0.4"}), 602_001, "trigger_spread_down must be above 0"),
        (percent("0"), 602_001, "trigger_percent_up must be above 0"),
        (percent("10000.1"), 602_001, "is too large"),
        (percent("0.0000001"), 602_001, "has more than 6 decimals"),
        (json!({"trigger_price_type": 2}), 602_080, "trigger_percent_up required"),
        (json!({"trigger_spread_down": null}), 602_080, "trigger_spread_down required"),
        (json!({"trigger_quantity": "0"}), 602_001, "trigger_quantity must be above 0"),
        (json!({"trigger_quantity": "-100"}), 602_001, "trigger_quantity must be above 0"),
        (json!({"trigger_quantity": "150"}), 602_001, "quantity must be a multiple of 100"),
        (json!({"trigger_quantity": "300100"}), 602_001, "order too large"),
        (json!({"lower_limit_quantity": "0"}), 602_001, "lower_limit_quantity must be above 0"),
        (
            json!({"upper_limit_quantity": "100"}),
            602_001,
            "upper_limit_quantity must be above lower_limit_quantity",
        ),
        (json!({"trigger_price_type": 0}), 602_080, "trigger_price_type must be 1 or 2"),
        (json!({"trigger_price_type": 3}), 602_080, "trigger_price_type must be 1 or 2"),
        (json!({"time_in_force": 2}), 602_080, "time_in_force must be 0, 1 or 6"),
        (json!({"time_in_force": -1}), 602_080, "time_in_force must be 0, 1 or 6"),
        (json!({"time_in_force": 6}), 602_080, "expire_time required"),
        (json!({"time_in_force": 6, "expire_time": at("10:00:15")}), 602_080, "expire_time must be within"),
        (
            json!({"time_in_force": 6, "expire_time": at("10:00:16") + 366 * 86_400}),
            602_080,
            "expire_time must be within",
        ),
        (json!({"rth": 3}), 602_080, "rth must be 0, 1 or 2"),
        (json!({"upper_limit_event": 3}), 602_080, "upper_limit_event must be 1 or 2"),
        (json!({"lower_limit_event": -1}), 602_080, "lower_limit_event must be 1 or 2"),
        (json!({"trigger_sell_depth": 6}), 602_080, "trigger_sell_depth must be from -5 to 5"),
        (json!({"trigger_buy_depth": -6}), 602_080, "trigger_buy_depth must be from -5 to 5"),
        (json!({"grid_order_type_up": "MO"}), 602_001, "grid_order_type_up must be GMO, GLO or GTG"),
        (
            json!({"grid_order_type_down": "x".repeat(129)}),
            602_001,
            "grid_order_type_down has more than 128 bytes",
        ),
        (json!({"multiple_trigger": "yes"}), 602_001, "grid_trading_rule cannot be read"),
        (json!({"support_shortsell": 1}), 602_001, "grid_trading_rule cannot be read"),
    ] {
        let (found, message) = refuse(&hall, &fields).await;
        assert!(found == code && message.contains(words), "{fields}: {found} {message}");
    }
    assert_eq!(hall.get("/v1/gridtrading/list").await, json!({"grid_order": [], "has_more": false}));
}

#[tokio::test]
async fn missing_and_non_numeric_fields_are_reported() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    for field in ["trigger_price_type", "time_in_force"].into_iter().chain(PRICES).chain(QUANTITIES) {
        for none in [json!(null), json!("")] {
            let (code, message) = refuse(&hall, &json!({field: none})).await;
            assert_eq!((code, message), (602_080, format!("{field} required")));
        }
    }
    for field in NUMBERS {
        for value in [json!("two"), json!("1.5"), json!(0.5), json!("9223372036854775808"), json!("0x1")] {
            let (code, message) = refuse(&hall, &json!({field: value})).await;
            assert!(
                code == 602_080 && message.starts_with(field) && message.ends_with("is not a whole number"),
                "{field} {value}: {message}"
            );
        }
    }
    let forty = "9".repeat(40);
    for field in PRICES.into_iter().chain(QUANTITIES) {
        for (text, words) in [
            ("NaN", "is not a decimal"),
            ("1e2", "is not a decimal"),
            ("+100", "is not a decimal"),
            ("١٠٠", "is not a decimal"),
            (forty.as_str(), "is too large"),
        ] {
            let (code, message) = refuse(&hall, &json!({field: text})).await;
            assert!(
                code == 602_001 && message.starts_with(field) && message.ends_with(words),
                "{field} {text}: {message}"
            );
        }
        for value in [json!(["1"]), json!({"value": "1"}), json!(true)] {
            let (code, message) = refuse(&hall, &json!({field: value})).await;
            assert!(
                code == 602_001 && message.starts_with("grid_trading_rule cannot be read"),
                "{field} {value}: {message}"
            );
        }
    }
}

#[tokio::test]
async fn values_at_their_limits_are_accepted() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    for fields in [
        json!({"submitted_base_price": "310", "trigger_sell_depth": 5, "trigger_buy_depth": -5}),
        json!({"submitted_base_price": 300, "rth": 2, "upper_limit_event": 0, "lower_limit_event": 2}),
        json!({"time_in_force": 6, "expire_time": at("10:00:15") + 366 * 86_400}),
        json!({"time_in_force": "6", "expire_time": at("10:00:16").to_string()}),
        json!({"trigger_quantity": "300000", "upper_limit_quantity": "10000000000"}),
        json!({"lower_limit_quantity": "100", "upper_limit_quantity": "100.0001"}),
        json!({"trigger_price_type": 2.0, "trigger_percent_up": "10000", "trigger_percent_down": "0.000001"}),
        json!({"upper_limit_price": "100000000", "trigger_spread_up": "0.000001"}),
        json!({"time_in_force": 0, "expire_time": 0, "grid_order_type_up": "GTG", "grid_order_type_down": ""}),
    ] {
        let answer = hall.ask("POST", SUBMIT, &body(&rule_with(&fields))).await;
        assert_eq!(answer.status, 200, "{fields}: {answer:?}");
    }
}

#[tokio::test]
async fn an_invalid_body_and_a_security_without_grids_are_refused() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    for (name, value, words) in [
        ("symbol", json!("1.HK"), "symbol not tradable"),
        ("symbol", json!("600519.SH"), "symbol not tradable"),
        ("symbol", json!("700"), "symbol not tradable"),
        ("symbol", json!("AAPL260417C190000.US"), ""),
        ("symbol", json!(null), "symbol required"),
        ("symbol", json!("x".repeat(129)), "symbol has more than 128 bytes"),
        ("settlement_currency", json!("USD"), "settlement_currency must be HKD"),
        ("settlement_currency", json!("dollars"), "settlement_currency \"dollars\" is not known"),
        ("grid_trading_rule", json!(["305.2", "310", "300"]), "the body cannot be read"),
        ("grid_trading_rule", json!("none"), "the body cannot be read"),
    ] {
        let mut body = body(&rule());
        body[name] = value;
        let (status, code, message) = refused(&hall.ask("POST", SUBMIT, &body).await);
        assert_eq!((status, code), (400, 602_001), "{body}: {message}");
        assert!(message.contains(words), "{body}: {message}");
    }
    let without_rule = json!({"symbol": "700.HK", "settlement_currency": "HKD"});
    assert_eq!(refused(&hall.ask("POST", SUBMIT, &without_rule).await).1, 602_080);
    for path in ["submit", "replace", "preview", "list", "cancel", "suspend", "restart"] {
        for body in ["", "[]", "{", "null", "\"x\""] {
            let head = format!("authorization: Bearer {}\r\n", hall.ann.access_token.expose());
            let path = format!("/v1/gridtrading/{path}");
            let answer = hall.server.http("POST", &path, &head, body.as_bytes()).await;
            assert_eq!((answer.status, refused(&answer).1), (400, 602_001), "{path} {body:?}");
        }
    }
    for (body, words) in [
        (json!({}), "type required"),
        (json!({"type": "other", "items": {"agree": "true"}}), "type \"other\" is not known"),
        (json!({"type": "strategy"}), "agree must be true"),
        (json!({"type": "strategy", "items": {"agree": "false"}}), "agree must be true"),
        (json!({"type": "strategy", "items": {"agree": 1}}), "agree must be true"),
        (json!({"type": "strategy", "items": []}), "the body cannot be read"),
    ] {
        let (status, code, message) = refused(&hall.ask("POST", "/v1/record/questionnaire", &body).await);
        assert!((status, code) == (400, 602_001) && message.contains(words), "{body}: {message}");
    }
}

#[tokio::test]
async fn invalid_queries_are_refused_with_the_parameter() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = submit(&hall, &rule()).await;
    for (path, words) in [
        ("/v1/gridtrading/list?limit=0", "limit \"0\" is not a number from 1 to 1000"),
        ("/v1/gridtrading/list?limit=1001", "limit \"1001\" is not a number from 1 to 1000"),
        ("/v1/gridtrading/list?page=0", "page \"0\" is not a number from 1"),
        ("/v1/gridtrading/list?status=Done", "status \"Done\" is not known"),
        ("/v1/gridtrading/list?market=XX", "market \"XX\" is not known"),
        ("/v1/gridtrading/list?sort_by=price", "sort_by \"price\" is not known"),
        ("/v1/gridtrading/list?sort_order=up", "sort_order \"up\" is not known"),
        ("/v1/gridtrading/list?symbol=700", "symbol \"700\" is not known"),
        ("/v1/gridtrading/detail", "order_id required"),
        ("/v1/gridtrading/why", "order_id required"),
        (&format!("/v1/gridtrading/detail?order_id={id}&history_id=x"), "history_id \"x\" is not known"),
        (&format!("/v1/gridtrading/detail?order_id={id}&limit=1001"), "limit \"1001\" is not a number"),
        (
            &format!("/v1/gridtrading/trigger_history_list?grid_order_id={id}&page=x"),
            "page \"x\" is not a number",
        ),
        ("/v1/orders/info", "symbol required"),
        ("/v1/orders/info?symbol=1.HK", "symbol not tradable"),
    ] {
        let (status, code, message) = refused(&hall.ask("GET", path, &Value::Null).await);
        assert!(
            (status, code) == (400, 602_001) && message.contains(words),
            "{path}: {status} {code} {message}"
        );
    }
    let many = json!({"order_ids": vec!["1"; 101]});
    let (_, code, message) = refused(&hall.ask("POST", "/v1/gridtrading/list", &many).await);
    assert_eq!((code, message.as_str()), (602_001, "more than 100 order_ids"));
    assert_eq!(
        data(&hall.ask("POST", "/v1/gridtrading/list", &json!({"order_ids": vec!["1"; 100]})).await),
        json!({"grid_order": []})
    );
}

#[tokio::test]
async fn a_grid_of_another_account_is_not_found() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = submit(&hall, &rule()).await;
    let bob = hall.server.account("bob", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let none = (400, 602_001, "grid order not found".to_owned());
    for id in [id.as_str(), "1", "0", "-1", "abc", "18446744073709551616", "7900000001"] {
        for path in ["detail?order_id", "why?order_id", "trigger_history_list?grid_order_id"] {
            let answer = hall.server.get(&format!("/v1/gridtrading/{path}={id}"), &bob).await;
            assert_eq!(refused(&answer), none, "{path} {id}");
        }
        for what in ["cancel", "suspend", "restart", "replace"] {
            let body = json!({"order_id": id, "grid_trading_rule": rule()}).to_string();
            let answer = hall.server.post(&format!("/v1/gridtrading/{what}"), &bob, &body).await;
            assert_eq!(refused(&answer), none, "{what} {id}");
        }
    }
    let theirs = json!({"order_ids": [id]}).to_string();
    assert_eq!(
        data(&hall.server.post("/v1/gridtrading/list", &bob, &theirs).await),
        json!({"grid_order": []})
    );
    let list = data(&hall.server.get("/v1/gridtrading/list", &bob).await);
    assert_eq!(list, json!({"grid_order": [], "has_more": false}));
    let ours = hall.get(&format!("/v1/gridtrading/detail?order_id={id}")).await;
    assert_eq!(ours["status"], "Performing");
}

#[tokio::test]
async fn invalid_actions_for_the_grid_state_are_refused() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = submit(&hall, &rule()).await;
    let ask = |what: &str| {
        let (path, body) =
            (format!("/v1/gridtrading/{what}"), json!({"order_id": id, "grid_trading_rule": rule()}));
        let hall = &hall;
        async move { hall.ask("POST", &path, &body).await }
    };
    let words = |state: &str| (400, 602_001, format!("grid order is {state}"));
    assert_eq!(refused(&ask("restart").await), words("Performing"));
    data(&ask("suspend").await);
    assert_eq!(refused(&ask("suspend").await), words("Suspended"));
    // An invalid rule leaves the grid unchanged.
    let before = hall.get(&format!("/v1/gridtrading/detail?order_id={id}")).await;
    let crossed =
        json!({"order_id": id, "grid_trading_rule": rule_with(&json!({"upper_limit_price": "299"}))});
    assert_eq!(refused(&hall.ask("POST", "/v1/gridtrading/replace", &crossed).await).1, 602_001);
    assert_eq!(hall.get(&format!("/v1/gridtrading/detail?order_id={id}")).await, before);
    data(&ask("cancel").await);
    for what in ["cancel", "suspend", "restart", "replace"] {
        assert_eq!(refused(&ask(what).await), words("Canceled"), "{what}");
    }
}

#[tokio::test]
async fn a_read_only_account_cannot_change_grids() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = submit(&hall, &rule()).await;
    data(&hall.manage("/v1/admin/accounts/ann", json!({"read_only": true})).await);
    for (path, body) in [
        ("/v1/gridtrading/submit", body(&rule())),
        ("/v1/gridtrading/preview", body(&rule())),
        ("/v1/gridtrading/replace", json!({"order_id": id, "grid_trading_rule": rule()})),
        ("/v1/gridtrading/cancel", json!({"order_id": id})),
        ("/v1/gridtrading/suspend", json!({"order_id": id})),
        ("/v1/gridtrading/restart", json!({"order_id": id})),
        ("/v1/record/questionnaire", json!({"type": "strategy", "items": {"agree": "true"}})),
    ] {
        let (status, code, message) = refused(&hall.ask("POST", path, &body).await);
        assert_eq!((status, code), (403, 403_008), "{path}: {message}");
    }
    assert_eq!(hall.get(&format!("/v1/gridtrading/detail?order_id={id}")).await["status"], "Performing");
    assert_eq!(hall.get("/v1/gridtrading/list").await["grid_order"][0]["order_id"], json!(id));
}

#[tokio::test]
async fn the_operator_can_require_the_questionnaire() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    data(&hall.manage("/v1/admin/paper/ann/settings", json!({"grid_questionnaire": "on"})).await);
    let (_, code, message) = refused(&hall.ask("POST", SUBMIT, &body(&rule())).await);
    assert_eq!((code, message.as_str()), (602_001, "the strategy questionnaire has not been answered"));
    let agree = json!({"type": "strategy", "items": {"agree": "true"}});
    data(&hall.ask("POST", "/v1/record/questionnaire", &agree).await);
    submit(&hall, &rule()).await;
}
