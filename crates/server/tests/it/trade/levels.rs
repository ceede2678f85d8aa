//! Levels earned by the paper account, unless the server uses only operator reports.

use access::{Actor, LevelsFrom, Table};
use serde_json::{Value, json};
use server::Settings;

use super::hall::{Hall, at, data};

async fn hall(levels_from: LevelsFrom) -> Hall {
    let hall = Hall::open_with(Settings { levels_from, ..Settings::default() }).await;
    let dollars = json!({"amount": "100000", "currency": "USD"});
    data(&hall.manage("/v1/admin/paper/ann/withdraw", dollars).await);
    hall
}

/// Returns the number, assets, orders and reason of the level.
async fn level(hall: &Hall) -> [Value; 4] {
    let level = hall.get("/v1/quota").await["level"].clone();
    ["number", "assets", "orders", "reason"].map(|name| level[name].clone())
}

#[tokio::test]
async fn paper_assets_and_orders_count_from_the_next_trading_day() {
    let hall = hall(LevelsFrom::default()).await;
    hall.step("10:00:15").await;
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.step("23:59:59").await;
    let [number, assets, orders, _] = level(&hall).await;
    assert_eq!((number, assets, orders), (json!(1), Value::Null, json!({"count": 0, "month": "2026-03"})));
    hall.step("24:00").await;
    // The account holds cash of 438,875.25, and 200 shares at the last price of 305.2.
    let actual = json!({"hkd": "499915.25", "paper_hkd": "499915.25", "day": "2026-03-18"});
    let reason = "assets HKD 499,915.25 of the paper account on 2026-03-18 reach level 4";
    let orders = json!({"count": 1, "paper": 1, "month": "2026-03"});
    assert_eq!(level(&hall).await, [json!(4), actual, orders, json!(reason)]);
    let quota = hall.get("/v1/quota").await;
    assert_eq!(
        (&quota["limit"], &quota["level"]["because"]["paper_hkd"]),
        (&json!(1_000), &json!("499915.25"))
    );
    // An operator's report overrides the paper account.
    let table = Table::csv(b"account,day,currency,amount\nann,2026-03-18,HKD,3600000\n").unwrap();
    hall.server.access.report_assets(&table, &Actor::Operator, hall.server.present()).unwrap();
    hall.server.noticed().await;
    let [number, assets, orders, _] = level(&hall).await;
    assert_eq!((number, assets), (json!(4), json!({"hkd": "3600000.00", "day": "2026-03-18"})));
    assert_eq!(orders, json!({"count": 0, "month": "2026-03"}));
    let seen = data(&hall.server.get("/v1/admin/accounts/ann", &hall.op).await);
    assert_eq!(seen["quota"]["level"]["number"], 4);
}

#[tokio::test]
async fn an_unopened_paper_account_does_not_count() {
    let hall = Hall::open_with(Settings::default()).await;
    for time in ["10:00", "34:00", "58:00"] {
        hall.step(time).await;
        let [number, assets, ..] = level(&hall).await;
        assert_eq!((number, assets), (json!(1), Value::Null), "at {time}");
    }
    // A read opens the account. The account counts starting on the next trading day.
    hall.get("/v1/asset/account").await;
    assert_eq!(level(&hall).await[0], 1);
    // The next trading day is Monday.
    hall.step("120:00").await;
    assert_eq!(level(&hall).await[0], 4);
}

#[tokio::test]
async fn a_rewind_removes_counted_orders_and_a_reset_removes_the_level() {
    let hall = hall(LevelsFrom::default()).await;
    hall.step("09:30").await;
    hall.get("/v1/asset/account").await;
    hall.step("10:00:15").await;
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.step("34:00").await;
    assert_eq!(level(&hall).await[2]["count"], 1);
    data(&hall.manage("/v1/admin/paper/ann/rewind", json!({"to": at("10:00"), "name": "one"})).await);
    let [number, assets, orders, _] = level(&hall).await;
    assert_eq!((&number, &assets["hkd"], &orders["count"]), (&json!(4), &json!("500000.00"), &json!(0)));
    // An account that is not open has no earned level.
    data(&hall.manage("/v1/admin/paper/ann/reset", json!({"name": "two"})).await);
    assert_eq!(level(&hall).await[0], 1);
}

#[tokio::test]
async fn paper_accounts_do_not_count_if_only_reports_are_used() {
    let hall = hall(LevelsFrom::Reported).await;
    hall.step("10:00:15").await;
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.step("34:00").await;
    let [number, assets, orders, reason] = level(&hall).await;
    assert_eq!((number, assets, orders), (json!(1), Value::Null, json!({"count": 0, "month": "2026-03"})));
    assert_eq!(reason, "neither assets nor orders reach a higher level");
}
