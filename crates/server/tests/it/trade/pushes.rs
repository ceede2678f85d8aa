use std::sync::Arc;

use history::{AsOf, History};
use market::{Timestamp, Venues};
use paper::{Moment, NoListener, Paper};
use serde_json::{Value, json};
use store::Store;
use trading::{Command, OrderType, Quantity, Side, Tables, Terms, parse_price};
use wire::trade;

use super::hall::{Hall, at, data, event};

const EVENT_KEYS: [&str; 25] = [
    "side",
    "stock_name",
    "submitted_quantity",
    "symbol",
    "order_type",
    "submitted_price",
    "executed_quantity",
    "executed_price",
    "order_id",
    "currency",
    "status",
    "submitted_at",
    "updated_at",
    "trigger_price",
    "msg",
    "tag",
    "trigger_status",
    "trigger_at",
    "trailing_amount",
    "trailing_percent",
    "limit_offset",
    "account_no",
    "last_share",
    "last_price",
    "remark",
];

#[tokio::test]
async fn a_subscriber_gets_every_change_in_order() {
    let hall = Hall::open().await;
    let (mut one, mut other) = (hall.listener().await, hall.listener().await);
    hall.step("10:00:15").await;
    let id = hall.submit(json!({"submitted_price": "306.00", "remark": "demo"})).await;
    // The clock alone causes the fill, without a request.
    hall.step("10:05").await;
    for client in [&mut one, &mut other] {
        let mut statuses = Vec::new();
        for _ in 0..3 {
            let event = event(client).await;
            for key in EVENT_KEYS {
                assert!(event[key].is_string(), "{key}: {event}");
            }
            // Older clients read these field names.
            assert_eq!((&event["quantity"], &event["price"]), (&json!("200"), &json!("306.000")));
            assert_eq!(event["submitted_quantity"], event["quantity"]);
            assert_eq!(event["submitted_price"], event["price"]);
            assert_eq!((&event["order_id"], &event["remark"]), (&json!(id), &json!("demo")));
            statuses.push((event["status"].as_str().unwrap().to_owned(), event.clone()));
        }
        let actual: Vec<&str> = statuses.iter().map(|(status, _)| status.as_str()).collect();
        assert_eq!(actual, ["WaitToNew", "NewStatus", "FilledStatus"]);
        let fill = &statuses[2].1;
        assert_eq!((&fill["last_share"], &fill["last_price"]), (&json!("200"), &json!("305.200")));
        assert_eq!(fill["updated_at"], json!(at("10:02").to_string()));
        assert_eq!(
            (&statuses[0].1["last_share"], &statuses[0].1["executed_price"]),
            (&json!(""), &json!("0"))
        );
    }
    // The change is also visible in a later request.
    assert_eq!(hall.detail(&id).await["status"], "FilledStatus");
}

#[tokio::test]
async fn subscriptions_are_answered_with_the_current_topics() {
    let hall = Hall::open().await;
    let mut client = hall.listener().await;
    let topics = vec!["private".to_owned(), "public".to_owned()];
    let answer: trade::SubscribeResponse = client.ask(16, &trade::SubscribeRequest { topics }).await.unwrap();
    assert_eq!((answer.success, answer.current), (vec!["private".to_owned()], vec!["private".to_owned()]));
    assert_eq!(answer.fail.len(), 1);
    assert_eq!(answer.fail[0].topic, "public");
    // One SDK sends this request when it reconnects without topics.
    let answer: trade::SubscribeResponse =
        client.ask(16, &trade::SubscribeRequest { topics: Vec::new() }).await.unwrap();
    assert_eq!(answer.current, ["private"]);
    let topics = vec!["private".to_owned()];
    let answer: trade::UnsubscribeResponse =
        client.ask(17, &trade::UnsubscribeRequest { topics }).await.unwrap();
    assert_eq!(answer.current, Vec::<String>::new());
    hall.server.set_now(at("10:00:15"));
    hall.submit(json!({"submitted_price": "306.00"})).await;
    assert!(client.is_alive().await, "nothing is pushed to it");
}

#[tokio::test]
async fn a_reconnected_client_gets_later_pushes() {
    let hall = Hall::open().await;
    let client = hall.listener().await;
    drop(client);
    hall.step("10:00:15").await;
    let id = hall.submit(json!({"submitted_price": "300.00"})).await;
    let mut client = hall.listener().await;
    assert_eq!(hall.detail(&id).await["status"], "NewStatus");
    data(&hall.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), &Value::Null).await);
    for status in ["WaitToCancel", "PendingCancelStatus", "CanceledStatus"] {
        assert_eq!(event(&mut client).await["status"], status);
    }
}

#[tokio::test]
async fn a_subscriber_gets_changes_made_by_another_process() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let mut client = hall.listener().await;
    // Changes the account in the same way as another process, such as a command.
    let dir = hall.server.dir.path();
    let history = History::new(Venues::built_in().unwrap());
    let journals = hall.server.access.database();
    let elsewhere = Paper::new(journals, history, Tables::built_in().unwrap(), Arc::new(NoListener));
    let store = Store::open(dir, store::Access::Read).unwrap();
    let terms = Terms {
        price: Some(parse_price("300.00").unwrap()),
        ..Terms::new("700.HK".parse().unwrap(), Side::Buy, OrderType::Limit, Quantity::whole(200))
    };
    let now = Timestamp(at("10:00:15"));
    let moment = Moment { as_of: AsOf::Replay(now), machine: hall.server.present().machine };
    let mut reader = store.reader().unwrap();
    let order = Command::submit(terms);
    let done = elsewhere.at(hall.ann.account_id, &mut reader, &moment).command(&order, None, None).unwrap();
    let id = done.order.unwrap().to_string();
    for status in ["WaitToNew", "NewStatus"] {
        let event = event(&mut client).await;
        assert_eq!((&event["order_id"], &event["status"]), (&json!(id), &json!(status)));
    }
    // Changes made by the server are pushed afterwards.
    data(&hall.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), &Value::Null).await);
    for status in ["WaitToCancel", "PendingCancelStatus", "CanceledStatus"] {
        assert_eq!(event(&mut client).await["status"], status);
    }
}

#[tokio::test]
async fn concurrent_orders_are_pushed_in_the_order_of_acceptance() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let mut client = hall.listener().await;
    let submit = || hall.submit(json!({"submitted_price": "40.00", "submitted_quantity": "100"}));
    let mut ids: Vec<String> = Vec::new();
    for _ in 0..5 {
        let (a, b, c, d) = tokio::join!(submit(), submit(), submit(), submit());
        ids.extend([a, b, c, d]);
    }
    ids.sort_unstable();
    for id in &ids {
        for status in ["WaitToNew", "NewStatus"] {
            let event = event(&mut client).await;
            assert_eq!((&event["order_id"], &event["status"]), (&json!(id), &json!(status)));
        }
    }
}

#[tokio::test]
async fn every_change_in_a_jump_over_days_is_pushed() {
    let hall = Hall::open().await;
    hall.step("10:00:15").await;
    let filled = hall.submit(json!({"submitted_price": "306.00"})).await;
    let expired = hall.submit(json!({"submitted_price": "290.00"})).await;
    let mut client = hall.listener().await;
    hall.step("58:00").await;
    let mut actual = Vec::new();
    for _ in 0..2 {
        let event = event(&mut client).await;
        actual.push((event["order_id"].clone(), event["status"].clone(), event["updated_at"].clone()));
    }
    let at = |clock: &str| json!(at(clock).to_string());
    assert_eq!(
        actual,
        [
            (json!(filled), json!("FilledStatus"), at("10:02")),
            (json!(expired), json!("ExpiredStatus"), at("16:10")),
        ]
    );
}
