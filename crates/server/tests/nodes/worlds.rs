//! A world that is used through two nodes.

use access::{AccountId, Created, RateRule, Secret, Terms};
use market::Timestamp;
use serde_json::{Value, json};
use server::Settings;
use wire::Packet;
use wire::quote::{SubscribeRequest, SubscriptionsResponse};

use crate::several::{beside, beside_with};
use crate::support::{Client, PATIENCE, Running};

fn data(answer: &Value) -> Value {
    assert_eq!(answer["code"], 0, "{answer}");
    answer["data"].clone()
}

async fn create(node: &Running, owner: &Created, name: &str) -> Created {
    let settings = json!({
        "name": name, "start": "2026-11-02T09:29:00+08:00", "end": "2026-11-05T09:00:00+08:00",
        "markets": ["HK"], "cash": {"HKD": "500000"},
    });
    let created = data(&node.post("/v1/worlds", owner, &settings.to_string()).await.json());
    let text = |name: &str| created["credentials"][name].as_str().unwrap().to_owned();
    Created {
        account_id: AccountId(created["world"]["account_id"].as_i64().unwrap()),
        app_key: text("app_key"),
        app_secret: Secret::new(text("app_secret")),
        access_token: Secret::new(text("access_token")),
        token_expires_at: Timestamp(i64::MAX),
    }
}

/// Subscribes on a node, and reads the first push.
async fn subscribed(node: &Running, key: &Created) -> Client {
    let mut client = node.signed_in(key).await;
    let symbol = vec!["700.HK".to_owned()];
    let request = SubscribeRequest { symbol, sub_type: vec![1, 4], is_first_push: true };
    let answer: SubscriptionsResponse = client.ask(6, &request).await.unwrap();
    assert_eq!(answer.sub_list.len(), 1);
    pushes(&mut client, 1).await;
    client
}

/// Returns commands and bodies of the next pushes.
async fn pushes(client: &mut Client, count: u64) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    for _ in 0..count {
        let Packet::Push { command, body } = client.packet().await else { panic!("no push") };
        found.push((command, body.into_owned()));
    }
    found
}

/// Steps through a node. Returns the number of quote pushes on this node.
async fn step(node: &Running, key: &Created, by: &str, wanted: &str) -> u64 {
    let answer = node.post("/v1/world/step", key, &json!({ "by": by }).to_string()).await;
    let stepped = data(&answer.json());
    assert_eq!(stepped["now"], wanted);
    stepped["pushes"]["quote"].as_u64().unwrap()
}

async fn digest(node: &Running, key: &Created) -> Value {
    data(&node.get("/v1/world", key).await.json())["digest"].clone()
}

#[tokio::test]
async fn a_world_is_moved_through_either_node_and_pushed_on_both() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let ann = one.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let (world, alone) = (create(&one, &ann, "both").await, create(&one, &ann, "alone").await);
    let (mut here, mut there) = (subscribed(&one, &world).await, subscribed(&two, &world).await);
    let _reader = subscribed(&one, &alone).await;
    let order = r#"{"symbol":"700.HK","order_type":"LO","side":"Buy","submitted_quantity":"100","submitted_price":"120","time_in_force":"Day"}"#;
    let route = [
        (&one, "PT1M", "2026-11-02T01:30:00Z"),
        // The other node continues from this instant.
        (&two, "PT2M", "2026-11-02T01:32:00Z"),
        (&two, "PT30S", "2026-11-02T01:32:30Z"),
        (&one, "PT90S", "2026-11-02T01:34:00Z"),
    ];
    for (node, by, now) in route {
        let count = step(node, &world, by, now).await;
        let of_here = pushes(&mut here, count).await;
        assert_eq!(pushes(&mut there, count).await, of_here, "{now}");
        step(&one, &alone, by, now).await;
        for (node, key) in [(node, &world), (&one, &alone)] {
            let submitted = node.post("/v1/trade/order", key, order).await.json();
            assert!(data(&submitted)["order_id"].is_string());
        }
    }
    // The orders become events of the logs.
    for (node, key) in [(&two, &world), (&one, &alone)] {
        step(node, key, "PT1S", "2026-11-02T01:34:01Z").await;
    }
    assert_eq!(digest(&two, &world).await, digest(&one, &alone).await);
}

#[tokio::test]
async fn a_reset_on_one_node_closes_the_connections_on_the_other() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let ann = one.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let world = create(&one, &ann, "w").await;
    step(&one, &world, "PT5M", "2026-11-02T01:34:00Z").await;
    let mut there = subscribed(&two, &world).await;
    data(&one.post("/v1/worlds/w/reset", &ann, "").await.json());
    assert_eq!(there.closed().await.1, "the clock was set back");
    step(&two, &world, "PT1M", "2026-11-02T01:30:00Z").await;
}

/// Waits until a field of a world has a value, and returns the world.
async fn until(node: &Running, key: &Created, is_so: impl Fn(&Value) -> bool) -> Value {
    let until = async {
        loop {
            let shown = data(&node.get("/v1/world", key).await.json());
            if is_so(&shown) {
                return shown;
            }
        }
    };
    tokio::time::timeout(PATIENCE, until).await.expect("the state within the time allowed")
}

#[tokio::test]
async fn a_world_pauses_when_the_last_connection_to_another_node_is_closed() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let ann = one.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let world = create(&one, &ann, "w").await;
    data(&one.post("/v1/world/run", &world, r#"{"speed": 1}"#).await.json());
    // The other node's connections are counted once a second, and the clock shows when.
    let there = subscribed(&two, &world).await;
    let start = until(&one, &world, |shown| shown["state"] == "running").await["now"].clone();
    let later = until(&one, &world, |shown| seconds(&shown["now"]) >= seconds(&start) + 3).await;
    assert_eq!((&later["state"], &later["connections"]), (&json!("running"), &json!(0)));
    drop(there);
    let paused = until(&one, &world, |shown| shown["state"] == "paused").await;
    assert_eq!(paused["paused_alone"], true);
}

fn seconds(instant: &Value) -> i64 {
    instant.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}

/// Runs a world so slowly that its clock remains in its first second. A node that has not yet read a
/// change by another node refuses the first attempt.
async fn run(node: &Running, key: &Created) -> Result<(), (u16, String)> {
    const CHANGED: &str = "the world was changed by another process: try again";
    for _ in 0..10 {
        let answer = node.post("/v1/world/run", key, r#"{"speed": 0.001}"#).await;
        if answer.status == 200 {
            return Ok(());
        }
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        if message != CHANGED {
            return Err((answer.status, message));
        }
    }
    panic!("{CHANGED}")
}

#[tokio::test]
async fn the_limit_on_running_worlds_applies_over_all_nodes() {
    let settings = || Settings { worlds_running: 2, ..Settings::default() };
    let one = Running::start_with(settings()).await;
    let two = beside_with(&one, settings()).await;
    let ann = one.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let (first, second) = (create(&one, &ann, "first").await, create(&one, &ann, "second").await);
    let third = create(&one, &ann, "third").await;
    run(&one, &first).await.unwrap();
    run(&two, &second).await.unwrap();
    let full = (429, "2 worlds are running already, which is the limit worlds_running".to_owned());
    for node in [&one, &two] {
        assert_eq!(run(node, &third).await, Err(full.clone()));
    }
    data(&one.post("/v1/world/pause", &first, "").await.json());
    run(&two, &third).await.unwrap();
    assert_eq!(run(&one, &first).await, Err(full));
    // The slots of a node that has stopped are free again.
    two.stop().await;
    run(&one, &first).await.unwrap();
    run(&one, &third).await.unwrap();
}

#[tokio::test]
async fn a_world_runs_on_one_node_at_a_time() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let ann = one.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let world = create(&one, &ann, "w").await;
    run(&one, &world).await.unwrap();
    let elsewhere = (409, "the world is running on another node: pause it first".to_owned());
    assert_eq!(run(&two, &world).await, Err(elsewhere));
    data(&one.post("/v1/world/pause", &world, "").await.json());
    run(&two, &world).await.unwrap();
}
