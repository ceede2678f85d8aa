//! Price alerts under a set clock, under the machine clock and in worlds, and drawings.

use access::{Actor, NewAccount, RateRule, Role, Terms};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::hall::{Hall, at, data, refused};
use super::worlds::World;
use crate::support::{PATIENCE, Running, machine_now};

const REMINDERS: &str = "/v1/notify/reminders";

/// The body of a new alert on 700.HK.
fn alert(indicator: &str, value: Value, frequency: u8) -> Value {
    json!({
        "counter_id": "ST/HK/700", "indicator_id": indicator, "value_map": value, "frequency": frequency,
        "enabled": true, "scope": 0, "state": [1],
    })
}

/// Returns the firings as `condition @ price, time of day`, oldest first.
fn fired(alerts: &Value) -> Vec<String> {
    let all = alerts["fired"].as_array().unwrap().iter().rev();
    let one = |firing: &Value| {
        let text = |name: &str| firing[name].as_str().unwrap().to_owned();
        format!("{} @ {}, {}", text("condition"), text("price"), text("at"))
    };
    all.map(one).collect()
}

/// Waits until the account has this number of firings.
async fn until_fired(hall: &Hall, count: usize) -> Vec<String> {
    let wait = async {
        loop {
            let found = fired(&hall.get("/v1/alerts").await);
            if found.len() >= count {
                return found;
            }
            yield_now().await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap()
}

async fn add(hall: &Hall, body: &Value) -> String {
    data(&hall.ask("POST", REMINDERS, body).await)["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn alerts_fire_at_the_quotes_of_a_movement_without_any_subscription() {
    let hall = Hall::open().await;
    hall.step("10:01:30").await;
    let once = add(&hall, &alert("1", json!({"price": "305.7"}), 3)).await;
    let every = add(&hall, &alert("2", json!({"price": 305.3}), 2)).await;
    let never = add(&hall, &alert("1", json!({"price": "400"}), 3)).await;
    hall.step("10:10").await;
    // The high of the minute reaches the first one; the second one is true from the beginning, and
    // becomes false in between.
    let wanted = ["price_rise @ 305.8, 2026-03-18T02:02:00Z", "price_fall @ 305.2, 2026-03-18T02:04:00Z"];
    assert_eq!(until_fired(&hall, 2).await, wanted);

    let list = hall.get(REMINDERS).await["lists"].clone();
    let [group] = list.as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!(
        (&group["counter_id"], &group["code"], &group["market"], &group["price"]),
        (&json!("ST/HK/700"), &json!("700"), &json!("HK"), &json!("305.200"))
    );
    let items = group["indicators"].as_array().unwrap();
    let enabled: Vec<_> = items.iter().map(|one| (one["id"].as_str().unwrap(), &one["enabled"])).collect();
    let (yes, no) = (json!(true), json!(false));
    assert_eq!(enabled, [(once.as_str(), &no), (every.as_str(), &yes), (never.as_str(), &yes)]);
    assert_eq!(items[0]["value_map"], json!({"price": "305.7"}));
    assert_eq!(items[0]["text"], "price rises to 305.7");

    // As the SDK enables an alert: with all of its fields.
    let mut item = items[0].clone();
    item["enabled"] = json!(true);
    item["value_map"] = json!({"price": "306"});
    assert_eq!(add(&hall, &item).await, once);
    assert_eq!(data(&hall.ask("DELETE", REMINDERS, &json!({"ids": [every, "999", "x"]})).await), json!({}));
    let alerts = hall.get("/v1/alerts").await;
    let shown = |one: &Value| format!("{} {} {}", one["condition"], one["value"], one["enabled"]);
    let shown: Vec<String> = alerts["alerts"].as_array().unwrap().iter().map(shown).collect();
    assert_eq!(shown, [r#""price_rise" "306" true"#, r#""price_rise" "400" true"#]);
    assert_eq!(fired(&alerts).len(), 2, "firings outlive their alerts");
    // The clock moves back: later firings are not known yet.
    hall.server.set_now(at("10:03"));
    assert_eq!(fired(&hall.get("/v1/alerts").await), wanted[..1]);
}

#[tokio::test]
async fn a_stream_reports_that_an_alert_has_fired() {
    let hall = Hall::open().await;
    hall.step("10:01:30").await;
    add(&hall, &alert("1", json!({"price": "305.7"}), 1)).await;
    let mut stream = TcpStream::connect(hall.server.addresses.http).await.unwrap();
    let token = hall.ann.access_token.expose();
    let head = format!("GET /v1/live?symbols= HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut text, mut bytes, mut has_moved) = (String::new(), [0; 4_096], false);
    while !text.contains(r#"{"changed":["alerts"]}"#) {
        let length = timeout(PATIENCE, stream.read(&mut bytes)).await.expect(&text).unwrap();
        assert_ne!(length, 0, "{text}");
        text.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        if !has_moved && text.contains("event: clock") {
            has_moved = true;
            hall.step("10:10").await;
        }
    }
    assert_eq!(fired(&hall.get("/v1/alerts").await), ["price_rise @ 305.8, 2026-03-18T02:02:00Z"]);
}

#[tokio::test]
async fn the_alerts_of_a_world_follow_its_clock() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    world.step("10:01:30").await;
    let body = alert("1", json!({"price": "305.7"}), 2);
    data(&world.ask("POST", REMINDERS, &body).await);
    assert_eq!(hall.get("/v1/alerts").await["alerts"], json!([]), "those of the owner are others");
    world.step("10:01:59").await;
    assert_eq!(fired(&world.get("/v1/alerts").await), [] as [String; 0]);
    world.step("10:02").await;
    let wanted = ["price_rise @ 305.8, 2026-03-18T02:02:00Z"];
    assert_eq!(fired(&world.get("/v1/alerts").await), wanted);
    world.step("16:00").await;
    // The same movement in one step.
    let other = World::open(&hall, "other").await;
    other.step("10:01:30").await;
    data(&other.ask("POST", REMINDERS, &body).await);
    other.step("16:00").await;
    let all = fired(&other.get("/v1/alerts").await);
    assert_eq!(all, fired(&world.get("/v1/alerts").await));
    assert_eq!(all.first().map(String::as_str), Some(wanted[0]));
}

#[tokio::test]
async fn an_alert_fires_after_new_rows_under_the_machine_clock() {
    let server = Running::start().await;
    server.go_live();
    let terms = Terms { rate: Some(RateRule::Unlimited), ..Terms::default() };
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", terms) };
    let op = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    let row = |time: i64, close: &str| {
        json!({"symbol": "MSFT.US", "period": "1m", "time": time, "open": "190", "high": close, "low": "190",
            "close": close, "volume": 10, "turnover": "1900", "final": true})
    };
    let send = async |seq: i64, row: Value| {
        let batch = json!({"source": "a", "seq": seq, "rows": [row]});
        data(&server.post("/v1/ingest/candles", &op, &batch.to_string()).await);
    };
    // 2026-07-15 09:32 in New York.
    let begin = 1_784_122_320;
    send(1, row(begin, "190.2")).await;
    let price = async || {
        let answer = data(&server.post("/quote/quotes", &op, r#"{"symbol":["MSFT.US"]}"#).await);
        answer["secu_quote"][0]["last_done"].clone()
    };
    timeout(PATIENCE, async {
        while price().await.as_str().is_none_or(|price| !price.starts_with("190.2")) {
            yield_now().await;
        }
    })
    .await
    .unwrap();
    let body =
        json!({"symbol": "MSFT.US", "indicator_id": 1, "value_map": {"price": "191"}, "frequency": "3"});
    data(&server.post(REMINDERS, &op, &body.to_string()).await);
    send(2, row(begin + 60, "190.9")).await;
    send(3, row(begin + 120, "191.4")).await;
    let wait = async {
        loop {
            let alerts = data(&server.get("/v1/alerts", &op).await);
            if let Some(firing) = alerts["fired"].get(0) {
                return (firing["price"].clone(), alerts["alerts"][0]["enabled"].clone());
            }
            yield_now().await;
        }
    };
    assert_eq!(timeout(PATIENCE, wait).await.unwrap(), (json!("191.4"), json!(false)));
}

#[tokio::test]
async fn a_wrong_alert_is_refused_with_a_reason() {
    let hall = Hall::open().await;
    hall.step("10:01:30").await;
    let price = json!({"price": "300"});
    for (body, wanted) in [
        (json!({"indicator_id": "1", "value_map": price, "frequency": 3}), "symbol required"),
        (json!({"symbol": "700.HK", "value_map": price, "frequency": 3}), "indicator_id required"),
        (alert("5", price.clone(), 3), "indicator_id \"5\" is not 1, 2, 3 or 4"),
        (alert("1", price.clone(), 4), "frequency \"4\" is not 1, 2 or 3"),
        (alert("1", json!({"chg": "5"}), 3), "value_map.price required"),
        (alert("3", price.clone(), 3), "value_map.chg required"),
        (alert("1", json!({"price": "-1"}), 3), "price \"-1\" is not a positive number"),
        (alert("1", json!({"price": "x"}), 3), "price \"x\" is not a positive number"),
    ] {
        let (status, _, text) = refused(&hall.ask("POST", REMINDERS, &body).await);
        assert_eq!((status, text.as_str()), (400, wanted), "{body}");
    }
    let unknown = json!({"symbol": "12345.HK", "indicator_id": "1", "value_map": price, "frequency": 3});
    assert_ne!(hall.ask("POST", REMINDERS, &unknown).await.status, 200);
    let other = json!({"id": "77", "enabled": false});
    assert_eq!(refused(&hall.ask("POST", REMINDERS, &other).await).0, 404);
    assert_eq!(refused(&hall.ask("DELETE", REMINDERS, &json!({})).await).2, "ids required");
    for _ in 0..100 {
        add(&hall, &alert("1", json!({"price": "400"}), 3)).await;
    }
    let (_, _, text) = refused(&hall.ask("POST", REMINDERS, &alert("1", price, 3)).await);
    assert_eq!(text, "an account has at most 100 alerts: delete one first");
}

#[tokio::test]
async fn drawings_are_replaced_by_account_and_security() {
    let hall = Hall::open().await;
    let path = "/v1/drawings/700.HK";
    assert_eq!(hall.get(path).await, json!({"drawings": []}));
    let point = |price: &str| json!({"time": at("10:00"), "price": price});
    let level = json!({"kind": "level", "points": [point("305.2")], "text": ""});
    let line = json!({"kind": "line", "points": [point("300"), point("301.55")], "text": ""});
    let note = json!({"kind": "note", "points": [point("300")], "text": "results \u{1f642}"});
    let all = json!({"drawings": [level, line, note]});
    assert_eq!(data(&hall.ask("PUT", path, &all).await), json!({}));
    assert_eq!(hall.get(path).await, all);
    assert_eq!(hall.get("/v1/drawings/AAPL.US").await, json!({"drawings": []}));
    for wrong in [
        json!({"kind": "circle", "points": [point("1")]}),
        json!({"kind": "line", "points": [point("1")]}),
        json!({"kind": "level", "points": [point("x")]}),
        json!({"kind": "note", "points": [point("1")]}),
        json!({"kind": "note", "points": [point("1")], "text": "x".repeat(121)}),
        json!({"kind": "level", "points": [point("1")], "text": "x"}),
    ] {
        let answer = hall.ask("PUT", path, &json!({"drawings": [wrong]})).await;
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
    }
    let many = json!({"drawings": vec![level; 51]});
    assert_eq!(refused(&hall.ask("PUT", path, &many).await).2, "a chart has at most 50 drawings");
    assert_eq!(hall.get(path).await, all);
    assert_eq!(data(&hall.ask("PUT", path, &json!({"drawings": []})).await), json!({}));
    assert_eq!(hall.get(path).await, json!({"drawings": []}));
}
