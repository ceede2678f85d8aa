//! Programs that share a world, and worlds that are deleted while programs are connected.

use serde_json::{Value, json};

use super::super::hall::{Hall, at, data, event};
use super::{World, import_morning, instant, push, subscribe};
use crate::support::{Client, Running, TransportLabel};

/// Number of steps of each of two programs.
const STEPS: usize = 6;

async fn enter(world: &World<'_>, transport: TransportLabel) -> Client {
    let mut client = world.hall.server.enter(transport, &world.key, &[]).await;
    subscribe(&mut client, &["700.HK", "CLOCK.WORLD"]).await;
    client
}

/// Takes the steps of one program. Returns the number and the instant of each step.
async fn steps(world: &World<'_>) -> Vec<(u64, String)> {
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let stepped = data(&world.try_step(json!({"by": "PT1M"})).await);
        steps.push((stepped["step"].as_u64().unwrap(), stepped["now"].as_str().unwrap().to_owned()));
    }
    steps
}

/// Returns the pushes of a connection up to the push of the clock in this step.
async fn pushes(client: &mut Client, step: usize) -> Vec<String> {
    let mut pushes = Vec::new();
    loop {
        let push = push(client).await;
        let is_last = push.starts_with("101 CLOCK.WORLD") && push.ends_with(&format!("volume {step}"));
        pushes.push(push);
        if is_last {
            return pushes;
        }
    }
}

#[tokio::test]
async fn two_programs_share_the_account_and_the_clock_of_their_world() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let (world, alone) = (World::open(&hall, "w").await, World::open(&hall, "alone").await);
    let (mut first, mut second) =
        (enter(&world, TransportLabel::WebSocket).await, enter(&world, TransportLabel::Tcp).await);
    let mut of_alone = enter(&alone, TransportLabel::WebSocket).await;
    let (mut one, mut other) = (world.listener().await, world.listener().await);
    for world in [&world, &alone] {
        data(&world.submit("306.00").await);
    }
    // Orders of one program are pushed to the other.
    for status in ["WaitToNew", "NewStatus"] {
        assert_eq!(event(&mut one).await["status"], status);
        assert_eq!(event(&mut other).await["status"], status);
    }
    // Each step of one program moves the clock of both, and no two steps are merged.
    let (of_first, of_second) = tokio::join!(steps(&world), steps(&world));
    let mut both = [of_first, of_second].concat();
    both.sort_unstable();
    let expected: Vec<(u64, String)> = (1..=2 * STEPS)
        .map(|step| (step as u64, market::Timestamp(at("09:29") + 60 * step as i64).to_string()))
        .collect();
    assert_eq!(both, expected);
    let seen = pushes(&mut first, 2 * STEPS).await;
    assert_eq!(pushes(&mut second, 2 * STEPS).await, seen);
    assert_eq!(world.get("/v1/trade/order/today").await["orders"].as_array().map(Vec::len), Some(1));

    // A single program with the same number of steps produces the same run. Pushes of the clock are
    // not compared, because they contain the number of pushes to all connections.
    for _ in 0..2 {
        steps(&alone).await;
    }
    let without_counts = |pushes: Vec<String>| -> Vec<String> {
        pushes.into_iter().filter(|push| !push.starts_with("101 CLOCK.WORLD")).collect()
    };
    assert_eq!(without_counts(pushes(&mut of_alone, 2 * STEPS).await), without_counts(seen));
    let digest = async |world: &World<'_>| world.get("/v1/world").await["digest"].clone();
    assert_eq!(digest(&alone).await, digest(&world).await);
}

/// Asserts that a connection is closed because its world was deleted. A deletion also revokes the
/// account of the world, and a connection may notice that first.
async fn closed(mut client: Client) {
    let reason = client.closed().await.1;
    assert!(
        ["closed by the owner of the account", "this account has been revoked"].contains(&reason.as_str()),
        "{reason}"
    );
}

async fn is_out(server: &Running, world: &World<'_>) {
    for path in ["/v1/world", "/v1/quote/quotes?symbols=700.HK", "/v1/socket/token"] {
        assert_eq!(server.get(path, &world.key).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn deleting_a_world_closes_its_connections_and_does_not_affect_others() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let (created, ended, other) = (
        World::open(&hall, "created").await,
        World::open(&hall, "ended").await,
        World::open(&hall, "other").await,
    );
    let mut of_other = hall.server.enter(TransportLabel::WebSocket, &other.key, &[]).await;
    subscribe(&mut of_other, &["700.HK"]).await;
    for world in [&created, &ended] {
        let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
        subscribe(&mut quotes, &["700.HK"]).await;
        let over_tcp = hall.server.enter(TransportLabel::Tcp, &world.key, &[]).await;
        let orders = world.listener().await;
        if world.key.account_id == ended.key.account_id {
            data(&hall.ask("POST", "/v1/worlds/ended/step", &json!({"by": "PT1M"})).await);
            for wanted in [104, 101] {
                assert!(push(&mut quotes).await.starts_with(&wanted.to_string()));
            }
            data(&hall.ask("POST", "/v1/worlds/ended/end", &Value::Null).await);
        }
        let name = if world.key.account_id == ended.key.account_id { "ended" } else { "created" };
        data(&hall.ask("DELETE", &format!("/v1/worlds/{name}"), &Value::Null).await);
        for client in [quotes, over_tcp, orders] {
            closed(client).await;
        }
        is_out(&hall.server, world).await;
    }
    assert_eq!(data(&other.try_step(Value::Null).await)["now"], instant("09:30"));
    assert_eq!(push(&mut of_other).await, "104 700.HK 1773797400000000 300.000x0");
    // The names can be used again.
    let again = World::open(&hall, "ended").await;
    assert_eq!(again.get("/v1/world").await["step"], 0);
}
