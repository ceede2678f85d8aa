//! Tests of the change rows and API dates.

use serde_json::json;

use super::*;

fn dated(date: &str) -> Dated {
    Dated { as_of: date.parse().unwrap() }
}

#[test]
fn rows_are_sorted_and_have_unique_dates() {
    assert!(CHANGES.windows(2).all(|two| two[0].date > two[1].date));
    assert!(CHANGES.iter().all(|change| !change.effects.is_empty()));
    assert_eq!(CHANGES.len(), 21, "the entries of the specification");
}

#[test]
fn a_change_takes_effect_on_its_day() {
    let path = "/v1/statement/list";
    assert_eq!(dated("2026-03-30").endpoint("GET", path), Ok(()));
    let refused = dated("2026-03-29").endpoint("GET", path).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it was added on 2026-03-30, and this account is answered as of 2026-03-29"
    );
    // Cancelling an order is older than requesting its details.
    let early = dated("2023-04-10");
    assert!(early.endpoint("GET", "/v1/trade/order").is_err());
    assert_eq!(early.endpoint("DELETE", "/v1/trade/order"), Ok(()));
    assert_eq!(early.endpoint("GET", "/v1/trade/order/today"), Ok(()));
    // An endpoint exists from its date on, and not on the day before.
    for (date, path) in [
        ("2022-06-15", "/v1/quote/capital-flow"),
        ("2022-06-15", "/v1/quote/capital-distribution"),
        ("2023-11-03", "/v1/quote/history-candlesticks"),
        ("2026-03-25", "/v1/content/{symbol}/topics"),
        ("2026-03-25", "/content/{symbol}/topics"),
        ("2026-03-25", "/content/topics/mine"),
    ] {
        let day: Date = date.parse().unwrap();
        assert_eq!(Dated { as_of: day }.endpoint("GET", path), Ok(()), "{path}");
        assert!(Dated { as_of: day.yesterday().unwrap() }.endpoint("GET", path).is_err(), "{path}");
    }
    for (date, number, is_there) in [
        ("2023-11-02", 27, false),
        ("2023-11-03", 27, true),
        ("2022-06-14", 24, false),
        ("2022-06-15", 25, true),
        ("2000-01-01", 19, true),
    ] {
        assert_eq!(dated(date).command(number).is_ok(), is_there, "{date} {number}");
    }
}

#[test]
fn names_of_lists_depend_on_the_date() {
    assert!(dated("2024-09-10").has_names_in_all_languages());
    assert!(!dated("2024-09-11").has_names_in_all_languages());
}

#[test]
fn account_funds_lose_fields_added_later() {
    let body = json!({"code": 0, "message": "success", "data": {"list": [{
        "total_cash": "1", "net_assets": "2", "init_margin": "3", "maintenance_margin": "4", "buy_power": "5",
        "frozen_transaction_fees": [],
    }]}});
    let names = |date: &str| {
        let answer = dated(date).answer("GET", "/v1/asset/account", body.to_string().as_bytes());
        let answer = answer.map_or_else(|| body.clone(), |answer| serde_json::from_slice(&answer).unwrap());
        let row = answer["data"]["list"][0].as_object().unwrap();
        row.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    for (date, wanted) in [
        (
            "2025-06-17",
            "buy_power frozen_transaction_fees init_margin maintenance_margin net_assets total_cash",
        ),
        ("2025-06-16", "buy_power init_margin maintenance_margin net_assets total_cash"),
        ("2024-05-05", "init_margin maintenance_margin net_assets total_cash"),
        ("2022-06-19", "total_cash"),
    ] {
        assert_eq!(names(date), wanted, "{date}");
    }
    assert_eq!(dated("2022-06-19").answer("GET", "/v1/asset/cashflow", body.to_string().as_bytes()), None);
}

#[test]
fn parameters_newer_than_the_api_date_are_ignored() {
    let (path, query) = ("/v1/asset/account", "currency=USD&x=1&cur%72ency=HKD");
    assert_eq!(dated("2023-08-16").query("GET", path, query).as_deref(), Some("x=1"));
    assert_eq!(dated("2023-08-17").query("GET", path, query), None);
    assert_eq!(dated("2023-08-16").query("GET", "/v1/asset/stock", query), None);
}

#[test]
fn values_newer_than_the_api_date_are_rejected() {
    let body = |fields: Value| fields.to_string().into_bytes();
    let overnight = body(json!({"symbol": "AAPL.US", "order_type": "LO", "outside_rth": "OVERNIGHT"}));
    let (what, _) = dated("2024-05-16").body("POST", "/v1/trade/order", &overnight).unwrap_err();
    assert_eq!(what, "outside_rth OVERNIGHT");
    assert_eq!(dated("2024-05-17").body("POST", "/v1/trade/order", &overnight), Ok(()));
    let option = body(json!({"symbol": "AAPL260116C200000.US", "order_type": "MO"}));
    let (what, _) = dated("2023-04-10").body("POST", "/v1/trade/order", &option).unwrap_err();
    assert_eq!(what, "order_type MO of an option");
    assert_eq!(dated("2023-04-11").body("POST", "/v1/trade/order", &option), Ok(()));
    let stock = body(json!({"symbol": "AAPL.US", "order_type": "MO"}));
    assert_eq!(dated("2023-04-10").body("POST", "/v1/trade/order", &stock), Ok(()));
    assert_eq!(dated("2023-04-10").body("POST", "/v1/trade/order", b"{"), Ok(()));
    let half = body(json!({"symbol": "AAPL.US", "order_type": "LO", "submitted_quantity": "0.5"}));
    let (what, _) = dated("2024-10-08").body("POST", "/v1/trade/order", &half).unwrap_err();
    assert_eq!(what, "submitted_quantity with a fraction");
    assert_eq!(dated("2024-10-09").body("POST", "/v1/trade/order", &half), Ok(()));
    let half = body(json!({"order_id": "7", "quantity": 1.5}));
    assert!(dated("2024-10-08").body("PUT", "/v1/trade/order", &half).is_err());
    let whole = body(json!({"symbol": "AAPL.US", "order_type": "LO", "submitted_quantity": "100.0"}));
    assert_eq!(dated("2024-10-08").body("POST", "/v1/trade/order", &whole), Ok(()));
}

#[test]
fn pushes_lose_newer_fields_and_newer_events_are_not_sent() {
    let push = |event: Value| {
        let data = event.to_string().into_bytes();
        Bytes::from(trade::Notification { data, ..trade::Notification::default() }.encode_to_vec())
    };
    let read = |body: &Bytes| {
        let notification = trade::Notification::decode(&**body).unwrap();
        serde_json::from_slice::<Value>(&notification.data).unwrap()["data"].clone()
    };
    let order = push(json!({"event": "order_changed_lb", "data": {
        "executed_quantity": "1.5", "last_share": "0.5", "last_price": "9", "remark": "r",
    }}));
    for (date, wanted) in [
        (
            "2024-10-09",
            json!({"executed_quantity": "1.5", "last_share": "0.5", "last_price": "9", "remark": "r"}),
        ),
        (
            "2024-10-08",
            json!({"executed_quantity": "1", "last_share": "0", "last_price": "9", "remark": "r"}),
        ),
        ("2024-04-14", json!({"executed_quantity": "1", "remark": "r"})),
        ("2024-04-12", json!({"executed_quantity": "1"})),
    ] {
        assert_eq!(read(&dated(date).notification(&order).unwrap()), wanted, "{date}");
    }
    let grid = push(json!({"event": "gridtrading_order", "data": {}}));
    assert_eq!(dated("2026-08-13").notification(&grid), None);
    assert!(dated("2026-08-14").notification(&grid).is_some());
    let odd = Bytes::from_static(b"\xff");
    assert_eq!(dated("2020-01-01").notification(&odd), Some(odd.clone()));
}
