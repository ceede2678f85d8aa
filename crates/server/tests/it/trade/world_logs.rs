//! Logs and digests of worlds: equal runs have equal digests.

use market::Timestamp;
use serde_json::{Value, json};
use server::Settings;

use super::hall::{Hall, at, data, refused};
use super::worlds::{World, import_morning, instant, key, march, push, subscribe};
use crate::support::{Client, Running, TransportLabel};

/// Steps through the morning and buys, like a program. Returns the program's connection.
async fn run(world: &World<'_>, price: &str) -> Client {
    let mut quotes = world.hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut quotes, &["700.HK", "CLOCK.WORLD"]).await;
    for _ in 0..3 {
        data(&world.try_step(Value::Null).await);
    }
    world.step("10:00:15").await;
    data(&world.submit(price).await);
    world.step("10:02").await;
    quotes
}

async fn digest(world: &World<'_>) -> Value {
    let digest = world.get("/v1/world").await["digest"].clone();
    assert_eq!(digest.as_str().map(str::len), Some(64), "{digest}");
    digest
}

async fn lines(hall: &Hall, name: &str) -> Vec<Value> {
    let log = hall.get(&format!("/v1/worlds/{name}/log")).await;
    assert_eq!(log["next"], Value::Null);
    log["lines"].as_array().unwrap().clone()
}

/// Returns the events and the steps of a log.
fn hashed(lines: &[Value]) -> Vec<(&Value, &Value)> {
    let is_hashed = |line: &&Value| ["event", "step"].contains(&line["kind"].as_str().unwrap());
    lines.iter().filter(is_hashed).map(|line| (&line["entry"], &line["digest"])).collect()
}

#[tokio::test]
async fn w3_equal_runs_have_equal_digests() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let (first, second) = (World::open(&hall, "a").await, World::open(&hall, "b").await);
    let begin = digest(&first).await;
    assert_eq!(digest(&second).await, begin);
    let _first = run(&first, "306.00").await;
    assert_ne!(digest(&first).await, begin);
    let _second = run(&second, "306.00").await;
    assert_eq!(digest(&second).await, digest(&first).await);
    let (of_first, of_second) = (lines(&hall, "a").await, lines(&hall, "b").await);
    assert_eq!(hashed(&of_first), hashed(&of_second));
    assert_eq!(of_first.last().unwrap()["digest"], digest(&first).await);
    // An order with another price gives another digest.
    let other = World::open(&hall, "c").await;
    let _other = run(&other, "306.20").await;
    assert_ne!(digest(&other).await, digest(&first).await);
}

#[tokio::test]
async fn the_number_of_connections_does_not_change_the_digest() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let (first, second) = (World::open(&hall, "a").await, World::open(&hall, "b").await);
    let mut more = hall.server.enter(TransportLabel::WebSocket, &second.key, &[]).await;
    subscribe(&mut more, &["700.HK"]).await;
    let _listener = second.listener().await;
    for world in [&first, &second] {
        let _connection = run(world, "306.00").await;
    }
    assert_eq!(digest(&first).await, digest(&second).await);
    // Without subscriptions, no pushes are published.
    let silent = World::open(&hall, "c").await;
    for clock in ["09:30", "09:31", "09:32", "10:00:15"] {
        silent.step(clock).await;
    }
    data(&silent.submit("306.00").await);
    silent.step("10:02").await;
    assert_ne!(digest(&first).await, digest(&silent).await);
}

#[tokio::test]
async fn a_running_world_has_the_digest_of_a_stepped_one() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let mut settings = march("stepped");
    settings["end"] = "2026-03-18T10:30:00+08:00".into();
    let stepped = World::open_as(&hall, &hall.ann, &settings).await;
    (settings["name"], settings["speed"]) = ("running".into(), "max".into());
    let running = World::open_as(&hall, &hall.ann, &settings).await;
    for world in [&stepped, &running] {
        let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
        subscribe(&mut quotes, &["700.HK"]).await;
        data(&world.submit("306.00").await);
        if world.key.account_id == stepped.key.account_id {
            while data(&world.try_step(Value::Null).await)["state"] != "ended" {}
        } else {
            data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
            super::worlds::until_state(world, "ended").await;
        }
        push(&mut quotes).await;
    }
    let (of_first, of_second) = (lines(&hall, "stepped").await, lines(&hall, "running").await);
    assert_eq!(hashed(&of_first), hashed(&of_second));
    assert_eq!(digest(&stepped).await, digest(&running).await);
}

#[tokio::test]
async fn a_log_lists_events_in_order_and_is_read_in_pages() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    let _connection = run(&world, "306.00").await;
    let all = lines(&hall, "w").await;
    let numbers: Vec<u64> = all.iter().map(|line| line["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>());
    let kinds: Vec<&str> = all.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    let position = |kind: &str| kinds.iter().position(|one| *one == kind).unwrap();
    let opening = position("created");
    assert!(opening > 0 && kinds[..opening].iter().all(|kind| *kind == "event"), "{kinds:?}");
    assert!(position("subscribed") < position("step") && position("data") < position("step"));
    let step = &all[position("step")];
    assert_eq!((&step["at"], &step["step"]), (&instant("09:30"), &json!(1)));
    assert_eq!(step["entry"]["quote"]["pushes"], 2, "without the clock: {step}");
    assert_eq!(step["request"], json!({"to": "next", "moved_s": 60, "pushes": {"quote": 3, "trade": 0}}));
    let events = all.iter().filter(|line| line["kind"] == "event");
    let types: Vec<&str> = events.map(|line| line["entry"]["event"]["type"].as_str().unwrap()).collect();
    assert_eq!(types.iter().filter(|kind| **kind == "accepted").count(), 1, "{types:?}");
    assert!(types.contains(&"filled"), "{types:?}");
    // Ids have the account number 0.
    let accepted = all.iter().find(|line| line["entry"]["event"]["type"] == "accepted").unwrap();
    assert_eq!(accepted["entry"]["event"]["id"], json!("1"), "{accepted}");

    let page = hall.get("/v1/worlds/w/log?after=1&limit=2").await;
    assert_eq!((page["lines"].as_array().unwrap()[..] == all[1..3], &page["next"]), (true, &json!(3)));
    for (query, message) in [
        ("limit=0", "limit is a number from 1 to 500"),
        ("limit=501", "limit is a number from 1 to 500"),
        ("after=x", "after is not a number"),
    ] {
        let refusal = refused(&hall.ask("GET", &format!("/v1/worlds/w/log?{query}"), &Value::Null).await);
        assert_eq!((refusal.0, refusal.2.as_str()), (400, message));
    }
    assert_eq!(world.ask("GET", "/v1/worlds/w/log", &Value::Null).await.status, 403);
}

#[tokio::test]
async fn a_second_run_after_a_reset_equals_the_first() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    let begin = digest(&world).await;
    // An order before the first step is also undone.
    data(&world.submit("280.00").await);
    let _connection = run(&world, "306.00").await;
    let first = digest(&world).await;
    let shown = data(&hall.ask("POST", "/v1/worlds/w/reset", &Value::Null).await);
    assert_eq!((&shown["digest"], &shown["step"]), (&begin, &json!(0)));
    assert_eq!(world.get("/v1/trade/order/today").await["orders"], json!([]));
    data(&world.submit("280.00").await);
    let _connection = run(&world, "306.00").await;
    assert_eq!(digest(&world).await, first);
    // Resets the world to the middle of the day. Entries at that instant remain.
    world.step("10:04").await;
    let at_four = digest(&world).await;
    let back = json!({"at": market::Timestamp(at("10:02")).to_string()});
    let shown = data(&hall.ask("POST", "/v1/worlds/w/reset", &back).await);
    assert_eq!((&shown["digest"], &shown["step"]), (&first, &json!(5)));
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut quotes, &["700.HK", "CLOCK.WORLD"]).await;
    world.step("10:04").await;
    assert_eq!(digest(&world).await, at_four);
    let kinds: Vec<Value> = lines(&hall, "w").await.iter().map(|line| line["kind"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "reset").count(), 2);
}

#[tokio::test]
async fn a_copy_continues_the_log_and_differs_after_the_first_change() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    let _connection = run(&world, "306.00").await;
    let created = data(&hall.ask("POST", "/v1/worlds/w/fork", &json!({"name": "f"})).await);
    let copy = World { hall: &hall, key: key(&created) };
    assert_eq!(digest(&copy).await, digest(&world).await);
    assert_eq!(hashed(&lines(&hall, "f").await), hashed(&lines(&hall, "w").await));
    for world in [&copy, &world] {
        world.step("10:03").await;
    }
    assert_ne!(digest(&copy).await, digest(&world).await, "only one of them has subscriptions");
    // The copy goes back to its own beginning, not to that of its source.
    let shown = data(&hall.ask("POST", "/v1/worlds/f/reset", &Value::Null).await);
    assert_eq!((&shown["now"], &shown["step"]), (&instant("10:02"), &json!(5)));
    assert_eq!(copy.get("/v1/trade/order/today").await["orders"][0]["status"], "FilledStatus");
}

#[tokio::test]
async fn a_log_records_the_versions_of_the_data() {
    let hall = Hall::open().await;
    let (before, after) = (World::open(&hall, "a").await, World::open(&hall, "b").await);
    for world in [&before, &after] {
        world.step("10:01").await;
    }
    before.closes().await;
    before.closes().await;
    import_morning(&hall);
    after.closes().await;
    let mut notes = Vec::new();
    for name in ["a", "b"] {
        let lines = lines(&hall, name).await;
        let data: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "data").collect();
        assert_eq!(data.len(), 1, "a version is noted once");
        assert_eq!(data[0]["entry"]["symbol"], "700.HK");
        notes.push(data[0]["entry"].clone());
    }
    assert_ne!(notes[0], notes[1], "the import has changed the series");
}

#[tokio::test]
async fn a_restart_preserves_the_log_and_the_digest() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    let connection = run(&world, "306.00").await;
    let (first, all) = (digest(&world).await, lines(&hall, "w").await);
    world.step("10:02:30").await;
    let last = digest(&world).await;
    drop(connection);
    let (key, ann) = (world.key, hall.ann);
    let dir = hall.server.stop().await;
    let server = Running::start_in(dir, Settings::default()).await;
    server.set_now(at("09:00"));
    let hall = Hall { server, ann, op: hall.op };
    let world = World { hall: &hall, key };
    assert_eq!(world.get("/v1/world").await["now"], instant("10:02:30"));
    assert_eq!(digest(&world).await, last);
    let again = lines(&hall, "w").await;
    assert_eq!((&again[..all.len()], again.len()), (&all[..], all.len() + 1));
    assert_eq!(all.last().unwrap()["digest"], first);
}

/// Makes every write to the journal of an account fail.
fn fail_writes(hall: &Hall, account: i64) {
    let sql = format!(
        "create trigger failing before insert on journal when new.account_id = {account} \
         begin select raise(abort, 'on purpose'); end"
    );
    accounts(hall).execute_batch(&sql).unwrap();
}

fn accounts(hall: &Hall) -> rusqlite::Connection {
    rusqlite::Connection::open(hall.server.dir.path().join("accounts.db")).unwrap()
}

#[tokio::test]
async fn a_failed_step_is_completed_by_a_retry_with_the_same_digest() {
    let hall = Hall::open().await;
    let (quiet, failing) = (World::open(&hall, "quiet").await, World::open(&hall, "failing").await);
    let mut readers = Vec::new();
    for world in [&quiet, &failing] {
        let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
        subscribe(&mut quotes, &["700.HK"]).await;
        world.step("10:00:15").await;
        data(&world.submit("306.00").await);
        readers.push(quotes);
    }
    for next in [false, true] {
        let to = |clock: &str| match next {
            false => json!({"to": Timestamp(at(clock)).to_string()}),
            true => Value::Null,
        };
        if next {
            // An order that expires at the end of the day, which is the event of the last step.
            for world in [&quiet, &failing] {
                data(&world.submit("200.00").await);
                world.step("16:00").await;
            }
        }
        let before = failing.get("/v1/world").await;
        fail_writes(&hall, failing.key.account_id.0);
        for _ in 0..2 {
            assert_eq!(failing.try_step(to("10:02")).await.status, 500);
        }
        let after = failing.get("/v1/world").await;
        for field in ["now", "step", "state", "digest"] {
            assert_eq!(after[field], before[field], "{field}");
        }
        // A shorter step could omit events that have already happened.
        let shorter = refused(&failing.try_step(json!({"by": "PT1S"})).await);
        assert_eq!(shorter.0, 409, "{shorter:?}");
        accounts(&hall).execute_batch("drop trigger failing").unwrap();
        let stepped = [quiet.try_step(to("10:02")).await, failing.try_step(to("10:02")).await];
        let [quiet_step, failing_step] = stepped.map(|stepped| data(&stepped));
        assert_eq!(failing_step, quiet_step);
        assert_eq!(digest(&failing).await, digest(&quiet).await);
    }
    assert_eq!(hashed(&lines(&hall, "failing").await), hashed(&lines(&hall, "quiet").await));
}
