//! Cash, credit line and settings of the paper account of a new world.

use serde_json::{Value, json};

use super::super::hall::{Hall, data, refused};
use super::{World, march};

fn with(fields: Value) -> Value {
    let mut body = march("w");
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn a_world_begins_with_the_settings_of_an_account() {
    let hall = Hall::open().await;
    let settings = with(json!({
        "credit": "400000",
        "settings": {
            "participation": "off", "touch": "touch", "slippage_ticks": 2, "market_reserve": "0.1",
            "account_type": "cash", "fees": "none", "cost": "average", "fractional": true, "short": "off",
            "liquidate": "on", "grid_questionnaire": true, "coarse_fills": false,
        },
    }));
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    let path = format!("/v1/admin/paper/{}", world.key.account_id.0);
    let shown = data(&hall.server.get(&path, &hall.op).await);
    assert_eq!((&shown["credit"], &shown["cash"]), (&json!("400000.00"), &json!({"HKD": "500000.00"})));
    for (name, wanted) in [
        ("participation", Value::Null),
        ("touch", json!("touch")),
        ("slippage_ticks", json!(2)),
        ("market_reserve", json!("0.1")),
        ("account_type", json!("cash")),
        ("fees", json!("none")),
        ("cost", json!("average")),
        ("fractional", json!(true)),
        ("short_us", json!(false)),
        ("short_hk", json!(false)),
        ("liquidate", json!(true)),
        ("grid_questionnaire", json!(true)),
        ("coarse_fills", json!(false)),
    ] {
        assert_eq!(shown["settings"][name], wanted, "{name}");
    }
    // The fill of example W2, without fees.
    world.step("10:00:15").await;
    data(&world.submit("306.00").await);
    world.step("10:02").await;
    let cash = world.get("/v1/asset/account").await["list"][0]["total_cash"].clone();
    assert!(cash.as_str().unwrap().starts_with("438960"), "{cash}");
}

#[tokio::test]
async fn invalid_settings_of_an_account_are_refused_with_the_reason() {
    let hall = Hall::open().await;
    for (fields, message) in [
        (json!({"credit": "-1"}), "credit is below 0"),
        (json!({"credit": 0.5}), "write credit as text"),
        (json!({"settings": {"fees": "few"}}), "\"few\" is not a valid value of fees"),
        (json!({"settings": {"participation": "0"}}), "participation must be above 0: write off for no cap"),
        (json!({"settings": {"slippage_ticks": 1001}}), "slippage_ticks must be at most 1000"),
        (
            json!({"settings": {"open_orders": 9}}),
            "open_orders is a limit of the server: only operators change it",
        ),
    ] {
        let refusal = refused(&hall.ask("POST", "/v1/worlds", &with(fields.clone())).await);
        assert_eq!((refusal.0, refusal.2.as_str()), (400, message), "{fields}");
    }
    let refusal = refused(&hall.ask("POST", "/v1/worlds", &with(json!({"settings": {"speed": "1"}}))).await);
    assert!(refusal.0 == 400 && refusal.2.starts_with("the settings are participation, "), "{refusal:?}");
    assert_eq!(hall.get("/v1/worlds").await["worlds"], json!([]));
    let limited = with(json!({"settings": {"open_orders": 9}}));
    World::open_as(&hall, &hall.op, &limited).await;
}
