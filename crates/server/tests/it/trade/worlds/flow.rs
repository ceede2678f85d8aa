//! Flow control of worlds: a world waits for a slow reader, and other worlds continue.

use prost::Message;
use serde_json::{Value, json};
use server::{Limits, Settings};
use wire::Packet;
use wire::quote::{PushQuote, QuoteResponse, SymbolsRequest};

use super::super::hall::{Hall, data};
use super::{World, subscribe, until_state};
use crate::support::{Client, Read, TransportLabel};

/// A client that answers pings, like every WebSocket client.
pub(super) struct Reader(Client);

impl Reader {
    pub(super) async fn enter(world: &World<'_>, symbols: &[&str]) -> Reader {
        let mut client = world.hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
        subscribe(&mut client, symbols).await;
        Reader(client)
    }

    async fn packet(&mut self) -> Packet<'static> {
        loop {
            match self.0.read().await {
                Read::Ping(payload) => self.0.frame(0x8a, &payload).await,
                Read::Packet(packet) => return packet,
                other => panic!("{other:?} instead of a packet"),
            }
        }
    }

    /// Returns the command and the body of the next push.
    async fn push(&mut self) -> (u8, Vec<u8>) {
        match self.packet().await {
            Packet::Push { command, body } => (command, body.into_owned()),
            other => panic!("{other:?} instead of a push"),
        }
    }

    /// Steps with a quote request. Returns the pushes before the response, and the volume of the
    /// quote.
    async fn step(&mut self, symbol: &str) -> (usize, i64) {
        let request = SymbolsRequest { symbol: vec![symbol.to_owned()] };
        let id = self.0.request(11, &request).await;
        let mut pushes = 0;
        loop {
            match self.packet().await {
                Packet::Push { .. } => pushes += 1,
                Packet::Response { id: of, body, .. } => {
                    assert_eq!(of, id);
                    let [quote] = QuoteResponse::decode(&*body).unwrap().secu_quote.try_into().unwrap();
                    return (pushes, quote.volume);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns this many pushes.
    pub(super) async fn pushes(&mut self, count: usize) -> Vec<(u8, Vec<u8>)> {
        let mut pushes = Vec::with_capacity(count);
        for _ in 0..count {
            pushes.push(self.push().await);
        }
        pushes
    }

    /// Reads pushes and answers pings until the future is dropped.
    pub(super) async fn read_on(&mut self) -> Value {
        loop {
            self.push().await;
        }
    }

    /// Returns the pushes up to the first quote whose instant has this prefix.
    pub(super) async fn pushes_until(&mut self, instant: &str) -> Vec<(u8, Vec<u8>)> {
        let mut pushes = Vec::new();
        loop {
            let (command, body) = self.push().await;
            pushes.push((command, body.clone()));
            let at = (command == 101).then(|| PushQuote::decode(&*body).unwrap().timestamp);
            if at.is_some_and(|at| *market_time(at) >= *instant) {
                return pushes;
            }
        }
    }
}

/// Returns an instant in the time of Hong Kong.
fn market_time(at: i64) -> String {
    market::Timestamp(at + 8 * 3_600).to_string()
}

/// Returns the settings of a world on three days of the test market, which have more pushes than a
/// connection may have queued.
fn days(name: &str, speed: Value) -> Value {
    json!({
        "name": name, "start": "2026-11-02T09:00:00+08:00", "end": "2026-11-05T09:00:00+08:00",
        "markets": ["HK"], "speed": speed,
    })
}

async fn start(world: &World<'_>) {
    data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
}

#[tokio::test]
async fn a_world_waits_for_a_slow_reader_without_loss_while_others_continue() {
    let hall = Hall::open_with(Settings {
        limits: Limits { push_queue: 2_048, ..Limits::default() },
        ..Settings::default()
    })
    .await;
    let stepped = World::open_as(&hall, &hall.ann, &days("stepped", json!(0))).await;
    let mut reader = Reader::enter(&stepped, &["700.HK"]).await;
    let first = reader.pushes(1).await;
    // The step waits for the reader, so both run concurrently.
    let step = stepped.try_step(json!({"by": "P4D"}));
    let (answer, wanted) = tokio::join!(step, reader.pushes_until("2026-11-04T16:10"));
    let answer = data(&answer);
    assert_eq!(answer["jumped"], false);
    let count = usize::try_from(answer["pushes"]["quote"].as_u64().unwrap()).unwrap();
    assert!(count > 3_000, "{answer}");
    assert_eq!(wanted.len(), count);

    let slow = World::open_as(&hall, &hall.ann, &days("slow", json!("max"))).await;
    let mut slow_reader = Reader::enter(&slow, &["700.HK"]).await;
    let other = World::open_as(&hall, &hall.ann, &days("other", json!("max"))).await;
    start(&slow).await;
    start(&other).await;
    until_state(&other, "ended").await;
    // The world waits once 384 or more pushes are unconfirmed, long before all pushes are sent.
    let shown = slow.get("/v1/world").await;
    assert_eq!(shown["state"], "running");
    assert!(shown["now"].as_str() < Some("2026-11-02T04"), "{shown}");
    assert_eq!(slow_reader.pushes(1).await, first);
    assert_eq!(slow_reader.pushes(count).await, wanted);
    until_state(&slow, "ended").await;
    assert!(slow_reader.0.is_alive().await);
}

#[tokio::test]
async fn other_connections_close_while_a_step_waits_for_a_slow_client() {
    let hall = Hall::open_with(Settings {
        limits: Limits { push_queue: 512, ..Limits::default() },
        ..Settings::default()
    })
    .await;
    let world = World::open_as(&hall, &hall.ann, &days("w", json!(0))).await;
    let silent = Reader::enter(&world, &["700.HK"]).await;
    let mut other = Reader::enter(&world, &["700.HK"]).await;
    let mut step = std::pin::pin!(world.try_step(json!({"by": "P4D"})));
    let closed = async {
        other.pushes(300).await;
        drop(other);
        hall.server.until_online(&world.key, 1).await;
        world.get("/v1/world").await
    };
    let shown = tokio::select! {
        biased;
        stepped = &mut step => panic!("the step did not wait: {stepped:?}"),
        shown = closed => shown,
    };
    assert_eq!(shown["connections"], 1);
    // The step resumes when the client that it waits for is disconnected.
    drop(silent);
    let stepped = data(&step.await);
    assert!(stepped["pushes"]["quote"].as_u64() > Some(300), "{stepped}");
    hall.server.until_online(&world.key, 0).await;
}

/// Starts a server whose connections may queue all pushes of [`days`].
async fn patient_hall() -> Hall {
    let limits = Limits { push_queue: 16_384, ..Limits::default() };
    Hall::open_with(Settings { limits, ..Settings::default() }).await
}

#[tokio::test]
async fn the_response_to_a_step_by_a_quote_follows_its_pushes() {
    let hall = patient_hall().await;
    let world = World::open_as(&hall, &hall.ann, &days("w", json!(0))).await;
    let mut reader = Reader::enter(&world, &["700.HK"]).await;
    reader.pushes(1).await;
    let (pushes, volume) = reader.step("STEP-345600.WORLD").await;
    assert!(pushes > 3_000, "{pushes}");
    assert_eq!(Ok(volume), i64::try_from(pushes));
    assert!(reader.0.is_alive().await);
}

#[tokio::test]
async fn a_step_responds_when_its_pushes_are_in_the_sockets_of_all_connections() {
    let hall = patient_hall().await;
    let world = World::open_as(&hall, &hall.ann, &days("w", json!(0))).await;
    let silent = Reader::enter(&world, &["700.HK"]).await;
    let mut other = Reader::enter(&world, &["700.HK", "CLOCK.WORLD"]).await;
    other.pushes(2).await;
    let mut step = std::pin::pin!(world.try_step(json!({"by": "P4D"})));
    let read = async {
        loop {
            let (command, body) = other.push().await;
            if command == 101 && PushQuote::decode(&*body).unwrap().symbol == "CLOCK.WORLD" {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        stepped = &mut step => panic!("the step did not wait: {stepped:?}"),
        () = read => {}
    }
    // The step does not wait for a disconnected client.
    drop(silent);
    assert_eq!(data(&step.await)["jumped"], false);
}

#[tokio::test]
async fn requests_wait_for_the_end_of_a_step_and_other_worlds_do_not() {
    let hall = patient_hall().await;
    let world = World::open_as(&hall, &hall.ann, &days("w", json!(0))).await;
    let standing = World::open_as(&hall, &hall.ann, &days("x", json!(0))).await;
    let silent = Reader::enter(&world, &["700.HK"]).await;
    let mut other = Reader::enter(&world, &["700.HK", "CLOCK.WORLD"]).await;
    other.pushes(2).await;
    let mut step = std::pin::pin!(world.try_step(json!({"by": "P4D"})));
    let read = async {
        loop {
            let (command, body) = other.push().await;
            if command == 101 && PushQuote::decode(&*body).unwrap().symbol == "CLOCK.WORLD" {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        stepped = &mut step => panic!("the step did not wait: {stepped:?}"),
        () = read => {}
    }
    // The step now waits for the client that does not read.
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=1";
    let mut candles = std::pin::pin!(world.get(path));
    let clock = SymbolsRequest { symbol: vec!["CLOCK.WORLD".to_owned()] };
    let id = other.0.request(11, &clock).await;
    let others = async {
        for _ in 0..20 {
            standing.get(path).await;
        }
        world.get("/v1/world").await
    };
    let mut early = None;
    let shown = tokio::select! {
        biased;
        stepped = &mut step => panic!("the step did not wait: {stepped:?}"),
        candles = &mut candles => panic!("the request did not wait: {candles}"),
        shown = others => shown,
        packet = async { early = Some(other.packet().await); std::future::pending::<Value>().await } => packet,
    };
    assert_eq!(early, None, "the request on the connection did not wait");
    assert_eq!(shown["connections"], 2);
    drop(silent);
    let (stepped, candles) = tokio::join!(step, candles);
    assert_eq!(data(&stepped)["state"], "ended");
    let last = market_time(candles["candlesticks"][0]["timestamp"].as_i64().unwrap());
    assert!(*last > *"2026-11-04T15", "{last}");
    let Packet::Response { id: of, body, .. } = other.packet().await else { panic!("no answer") };
    let [quote] = QuoteResponse::decode(&*body).unwrap().secu_quote.try_into().unwrap();
    assert_eq!((of, market_time(quote.timestamp)), (id, "2026-11-05T09:00:00Z".to_owned()));
}

#[tokio::test]
async fn a_world_that_cannot_maintain_its_speed_reports_its_lag() {
    let hall = Hall::open().await;
    let world = World::open_as(&hall, &hall.ann, &days("w", json!(1_000_000))).await;
    let _reader = Reader::enter(&world, &["700.HK"]).await;
    start(&world).await;
    // The client does not read, so the clock waits and falls behind its speed.
    let lags = async {
        loop {
            let shown = world.get("/v1/world").await;
            if shown["lag_s"].as_i64() > Some(86_400) {
                return shown;
            }
        }
    };
    let shown = tokio::time::timeout(crate::support::PATIENCE, lags).await.expect("a lag");
    assert_eq!(shown["state"], "running");
    assert_eq!(data(&world.ask("POST", "/v1/world/pause", &Value::Null).await)["lag_s"], 0);
}

#[tokio::test]
async fn a_step_with_too_many_pushes_jumps_to_the_last_states() {
    let hall = Hall::open_with(Settings {
        limits: Limits { push_jump: 100, ..Limits::default() },
        ..Settings::default()
    })
    .await;
    let world = World::open_as(&hall, &hall.ann, &days("w", json!(0))).await;
    let mut reader = Reader::enter(&world, &["700.HK", "CLOCK.WORLD"]).await;
    reader.pushes(2).await;
    let stepped = data(&world.try_step(json!({"by": "P1D"})).await);
    assert_eq!((&stepped["jumped"], &stepped["pushes"]["quote"]), (&json!(true), &json!(102)), "{stepped}");
    let pushes = reader.pushes(102).await;
    let quote = |body: &[u8]| PushQuote::decode(body).unwrap();
    let [.., (_, last), (_, clock)] = &pushes[..] else { panic!("{pushes:?}") };
    assert_eq!(market_time(quote(last).timestamp), "2026-11-02T16:10:00Z", "the end of the day");
    assert_eq!((quote(clock).symbol.as_str(), quote(clock).last_done.as_str()), ("CLOCK.WORLD", "102"));
    assert_eq!(data(&world.try_step(json!({"by": "PT31M"})).await)["jumped"], false);
}
