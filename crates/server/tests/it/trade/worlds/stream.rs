//! `GET /v1/live` with the API key of a world.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::super::hall::{Hall, data};
use super::{World, import_morning, until_state};
use crate::support::PATIENCE;

struct Events {
    stream: TcpStream,
    text: String,
}

impl Events {
    async fn open(world: &World<'_>, symbols: &str) -> Events {
        let mut stream = TcpStream::connect(world.hall.server.addresses.http).await.unwrap();
        let head = format!(
            "GET /v1/live?symbols={symbols} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
            world.key.access_token.expose()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Events { stream, text: String::new() }
    }

    /// Reads until the text contains this part, and drops the text up to it.
    async fn until(&mut self, part: &str) {
        let mut bytes = [0; 4_096];
        while !self.text.contains(part) {
            let length = timeout(PATIENCE, self.stream.read(&mut bytes)).await.expect(part).unwrap();
            assert_ne!(length, 0, "{part} in {}", self.text);
            self.text.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        }
        let end = self.text.find(part).unwrap() + part.len();
        self.text.drain(..end);
    }
}

#[tokio::test]
async fn a_stream_follows_the_clock_of_its_world() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    let mut events = Events::open(&world, "700.HK").await;
    events.until(r#"{"kind":"world","now":"2026-03-18T01:29:00Z","speed":0,"state":"created"}"#).await;
    world.step("09:30").await;
    events.until(r#""last_done":"300.000""#).await;
    events.until(r#"{"kind":"world","now":"2026-03-18T01:30:00Z","speed":0,"state":"paused"}"#).await;
    // A stream is a connection of the world, and is listed.
    let streams = world.get("/v1/connections").await["streams"].clone();
    assert_eq!(streams.as_array().map(Vec::len), Some(1), "{streams}");
    data(&world.ask("POST", "/v1/world/run", &json!({"speed": 0.001})).await);
    events.until(r#""speed":0.001,"state":"running"}"#).await;
    let mut other = Events::open(&world, "700.HK").await;
    other.until("event: quote").await;
    data(&hall.ask("POST", "/v1/worlds/w/reset", &Value::Null).await);
    for events in [&mut events, &mut other] {
        events.until(r#"data: {"reason":"the clock was set back","retry":true}"#).await;
    }
}

#[tokio::test]
async fn a_running_world_pauses_when_its_only_stream_is_closed() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    let mut events = Events::open(&world, "700.HK").await;
    events.until("event: clock").await;
    data(&world.ask("POST", "/v1/world/run", &json!({"speed": 0.001})).await);
    events.until(r#""state":"running"}"#).await;
    drop(events);
    assert_eq!(until_state(&world, "paused").await["paused_alone"], true);
    let mut events = Events::open(&world, "700.HK").await;
    events.until(r#""state":"running"}"#).await;
}
