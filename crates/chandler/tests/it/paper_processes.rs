//! Tests of paper accounts with a server that is killed, and with several processes that change one
//! account concurrently.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::remote::Server;
use crate::world::World;

const SECURITIES: &str =
    "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n";
const MINUTES: &str = "symbol,time,open,high,low,close,volume\n\
    700.HK,2026-03-18 10:00,305,305,300,305,50000\n\
    700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n";
const CLOCK: [&str; 2] = ["--clock", "2026-03-18T10:00:15+08:00"];
/// Timeout, long enough for slow machines, so that a bug fails a test instead of blocking it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Creates a store with one security's one-minute candles of a morning, and an account with HKD
/// 1,000,000. Returns the account's token.
fn world() -> (World, String) {
    let world = World::with(&[("securities.csv", SECURITIES), ("minutes.csv", MINUTES)]);
    let made = world.json(&["account", "create", "ann", "--cash", "HKD=1000000", "--rate", "unlimited"]);
    let token = made["access_token"].as_str().unwrap().to_owned();
    (world, token)
}

/// HTTP connection on which requests are pipelined.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(server: &Server) -> Connection {
        let stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection(BufReader::new(stream))
    }

    fn send(&mut self, server: &Server, method: &str, path: &str, body: &str) {
        let (token, length) = (&server.token, body.len());
        let head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n");
        let request = format!("{head}content-length: {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    /// Submits a limit order with a price far below the market and `name` as the idempotency key.
    fn submit(&mut self, server: &Server, name: &str) {
        let order = json!({
            "symbol": "700.HK", "order_type": "LO", "side": "Buy", "submitted_quantity": "100", "time_in_force": "Day",
            "submitted_price": "40.00", "client_request_id": name,
        });
        self.send(server, "POST", "/v1/trade/order", &order.to_string());
    }

    /// Returns the `data` field of the next response, or `None` if the connection is closed first.
    fn data(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = text.trim_end().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(answer["code"], 0, "{answer}");
        Some(answer["data"].clone())
    }

    fn order_id(&mut self) -> Option<String> {
        self.data().map(|data| data["order_id"].as_str().unwrap().to_owned())
    }
}

fn orders(world: &World) -> Vec<Value> {
    let list = world.json(&[&["order", "list"], &CLOCK[..]].concat());
    list["orders"].as_array().unwrap().clone()
}

#[test]
fn orders_survive_a_killed_server_without_duplicates() {
    const CONNECTIONS: usize = 8;
    const EACH: usize = 5;
    let (world, token) = world();
    let mut server = Server::of(&world, &token, &CLOCK);
    for (round, read_before) in [0, 1, 4, 17].into_iter().enumerate() {
        let name = |connection: usize, place: usize| format!("{round}-{connection}-{place}");
        let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|_| Connection::open(&server)).collect();
        for place in 0..EACH {
            for (number, connection) in connections.iter_mut().enumerate() {
                connection.submit(&server, &name(number, place));
            }
        }
        let mut answered: Vec<(String, String)> = Vec::new();
        for place in 0..read_before {
            let number = place % CONNECTIONS;
            let id = connections[number].order_id().unwrap();
            answered.push((name(number, place / CONNECTIONS), id));
        }
        // The server is killed with SIGKILL while other orders are validated, written and answered.
        server.kill();
        for (number, connection) in connections.iter_mut().enumerate() {
            let read = (0..read_before).filter(|place| place % CONNECTIONS == number).count();
            let more = (read..EACH).map_while(|place| Some((name(number, place), connection.order_id()?)));
            answered.extend(more);
        }
        server = Server::of(&world, &token, &CLOCK);
        // The client retries all requests, with the same idempotency keys.
        let mut again = Connection::open(&server);
        let mut ids = Vec::new();
        for number in 0..CONNECTIONS {
            for place in 0..EACH {
                again.submit(&server, &name(number, place));
                let id = again.order_id().unwrap();
                if let Some((_, actual)) = answered.iter().find(|(known, _)| *known == name(number, place)) {
                    assert_eq!(*actual, id, "what was answered is on the disk");
                }
                ids.push(id);
            }
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CONNECTIONS * EACH, "each has an order of its own");
        let listed = orders(&world);
        assert_eq!(listed.len(), (round + 1) * CONNECTIONS * EACH, "and none has two");
        assert!(listed.iter().all(|order| order["status"] == "NewStatus"), "{listed:?}");
    }
    // No order is booked partially: the frozen cash matches the open orders.
    let funds = world.json(&[&["assets"], &CLOCK[..]].concat());
    let cash = &funds["list"][0]["cash_infos"][0];
    assert!(
        cash["frozen_cash"].as_str().unwrap().starts_with("64"),
        "160 orders of 4,000 and charges: {cash}"
    );
    world.ok(&["check"]);
}

#[test]
fn concurrent_processes_lose_and_duplicate_no_orders() {
    const LINES: usize = 3;
    const ORDERS: usize = 4;
    let (world, token) = world();
    let server = Server::of(&world, &token, &CLOCK);
    std::thread::scope(|scope| {
        for line in 0..LINES {
            let world = &world;
            scope.spawn(move || {
                for number in 0..ORDERS {
                    let name = format!("line-{line}-{number}");
                    let order = ["order", "buy", "700.HK", "100", "--limit", "40", "--request-id", &name];
                    // A command fails if the account was changed concurrently during each of its
                    // attempts. The test retries the command.
                    let is_done = (0..20).any(|_| world.run(&[&order[..], &CLOCK].concat()).code == Some(0));
                    assert!(is_done, "{name} was never done");
                }
            });
            let server = &server;
            scope.spawn(move || {
                let mut connection = Connection::open(server);
                for number in 0..ORDERS {
                    connection.submit(server, &format!("server-{line}-{number}"));
                }
                for _ in 0..ORDERS {
                    assert!(connection.order_id().is_some());
                }
            });
        }
    });
    let listed = orders(&world);
    let mut ids: Vec<u64> =
        listed.iter().map(|order| order["order_id"].as_str().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    let all = LINES as u64 * ORDERS as u64 * 2;
    assert_eq!(ids, (1..=all).map(|number| 1_000_000_000 + number).collect::<Vec<_>>());
    // The server lists the same orders.
    let mut connection = Connection::open(&server);
    connection.send(&server, "GET", "/v1/trade/order/today", "");
    assert_eq!(connection.data().unwrap()["orders"].as_array().unwrap().len(), listed.len());
}

#[test]
fn a_tick_table_with_a_gap_is_refused_with_its_line() {
    let (world, token) = world();
    let table = |rows: &str| format!("market,for,from,over,to,tick,includes\n{rows}US,*,-,0,-,0.01,lower\n");
    let path = "mine/ticks.csv";
    world.write(path, table("HK,*,-,0,10,0.01,upper\nHK,*,-,20,-,0.02,upper\n"));
    let flags = ["--calendars", "mine"];
    let ports = ["serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];
    let buy = ["order", "buy", "700.HK", "100", "--limit", "305.2"];
    for command in [&buy[..], &["assets"], &ports] {
        let (code, said) = world.fails(&[command, &CLOCK, &flags].concat());
        assert_eq!(code, 1, "{command:?}: {said}");
        assert!(said.contains("ticks.csv:3: a gap"), "{command:?}: {said}");
    }
    // A complete table applies to orders in the local store and on a server.
    world.write(path, table("HK,*,-,0,-,1,upper\n"));
    let (code, said) = world.fails(&[&buy, &CLOCK[..], &flags].concat());
    assert!(code == 1 && said.contains("price must be a multiple of 1"), "{said}");
    let server = Server::of(&world, &token, &[&CLOCK[..], &flags].concat());
    let ran = server.run(&world, &buy);
    assert!(ran.code == Some(1) && ran.stderr.contains("price must be a multiple of 1"), "{}", ran.stderr);
    assert_eq!(server.run(&world, &["order", "buy", "700.HK", "100", "--limit", "305"]).code, Some(0));
}
