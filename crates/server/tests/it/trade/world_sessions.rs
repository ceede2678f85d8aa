//! Browser sessions in worlds of their account.

use std::net::{IpAddr, Ipv4Addr};

use access::{AccountId, Terms};
use market::Timestamp;
use serde_json::{Value, json};

use super::hall::{Hall, at, data, refused};
use crate::support::{Response, machine_now};

const CANDLES: &str = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=10";

/// A signed-in browser.
struct Browser<'a> {
    hall: &'a Hall,
    cookie: String,
    csrf: String,
}

impl<'a> Browser<'a> {
    fn open(hall: &'a Hall, account: AccountId) -> Browser<'a> {
        let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let session =
            hall.server.access.sign_in_guest(account, from, machine_now()).unwrap().unwrap().session;
        let csrf = hall.server.access.csrf_token(session.expose(), "ask");
        Browser { hall, cookie: session.expose().to_owned(), csrf }
    }

    async fn send(&self, method: &str, path: &str, headers: &str, body: &Value) -> Response {
        let head = format!("cookie: chandler_session={}\r\n{headers}", self.cookie);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.hall.server.http(method, path, &head, body.as_bytes()).await
    }

    /// Sends a request like our pages, in a world if `world` is given.
    async fn ask(&self, method: &str, path: &str, world: &str, body: &Value) -> Response {
        let named = if world.is_empty() { String::new() } else { format!("x-chandler-world: {world}\r\n") };
        self.send(method, path, &format!("x-csrf: {}\r\n{named}", self.csrf), body).await
    }

    async fn get(&self, path: &str, world: &str) -> Value {
        data(&self.ask("GET", path, world, &Value::Null).await)
    }

    async fn create(&self, name: &str) {
        let new = json!({
            "name": name, "start": "2026-03-18T09:29:00+08:00", "end": "2026-03-18T16:30:00+08:00",
            "cash": {"HKD": "500000"},
        });
        data(&self.ask("POST", "/v1/worlds", "", &new).await);
    }

    async fn step(&self, name: &str, clock: &str) {
        let to = json!({"to": Timestamp(at(clock)).to_string()});
        data(&self.ask("POST", &format!("/v1/worlds/{name}/step"), "", &to).await);
    }
}

fn order() -> Value {
    json!({
        "symbol": "700.HK", "order_type": "LO", "side": "Buy", "submitted_quantity": "200",
        "time_in_force": "Day", "submitted_price": "306.00",
    })
}

#[tokio::test]
async fn a_session_in_a_world_reads_and_trades_by_the_clock_of_the_world() {
    let hall = Hall::open().await;
    let ann = Browser::open(&hall, hall.ann.account_id);
    ann.create("w").await;
    ann.create("x").await;
    ann.step("w", "10:01:15").await;
    let closes = |candles: &Value| candles["candlesticks"].as_array().unwrap().len();
    let inside = ann.get(CANDLES, "w").await;
    assert_eq!(closes(&inside), 2, "{inside}");
    assert_eq!(inside, ann.get(&format!("{CANDLES}&world=w"), "").await);
    assert_eq!(inside, ann.get(&format!("{CANDLES}&world=w"), "w").await);
    // The server's clock and the clock of the other world are earlier.
    for elsewhere in ["", "x"] {
        assert_eq!(ann.ask("GET", CANDLES, elsewhere, &Value::Null).await.status, 404, "{elsewhere:?}");
    }
    let facts = ann.get("/v1/securities/700.HK", "w").await;
    assert_eq!(facts["now"], "2026-03-18T10:01:15+08:00", "{facts}");

    // Changes need the CSRF token, in a world and outside.
    let bare = ann.send("POST", "/v1/trade/order", "x-chandler-world: w\r\n", &order()).await;
    assert_eq!(refused(&bare).0, 403);
    let placed = data(&ann.ask("POST", "/v1/trade/order", "w", &order()).await);
    ann.step("w", "10:03:00").await;
    let orders = ann.get("/v1/trade/order/today", "w").await;
    assert_eq!(orders["orders"][0]["order_id"], placed["order_id"], "{orders}");
    assert_eq!(orders["orders"][0]["status"], "PartialFilledStatus", "{orders}");
    assert_eq!(ann.get("/v1/trade/order/today", "").await["orders"], json!([]));
    assert_eq!(ann.get("/v1/trade/order/today", "x").await["orders"], json!([]));
}

#[tokio::test]
async fn a_session_enters_only_worlds_of_its_account() {
    let hall = Hall::open().await;
    let ann = Browser::open(&hall, hall.ann.account_id);
    ann.create("w").await;
    let bob = hall.server.account("bob", Terms::default());
    for who in [Browser::open(&hall, bob.account_id), Browser::open(&hall, hall.op.account_id)] {
        for name in ["w", "none", "W", "%77", "ann/w"] {
            let refusal = refused(&who.ask("GET", CANDLES, name, &Value::Null).await);
            assert_eq!((refusal.0, refusal.1), (404, 404_001), "{name}: {}", refusal.2);
        }
        assert_eq!(who.ask("GET", &format!("{CANDLES}&world=w"), "", &Value::Null).await.status, 404);
    }
    let get = async |path: &str, world: &str| refused(&ann.ask("GET", path, world, &Value::Null).await);
    // The endpoints of the account and of its worlds are refused in a world.
    for path in ["/v1/me", "/v1/me?world=w", "/v1/worlds", "/v1/world", "/v1/quota", "/v1/connections"] {
        let world = if path.contains('?') { "" } else { "w" };
        assert_eq!(get(path, world).await.0, 403, "{path}");
    }
    // A request that names two worlds is refused.
    assert_eq!(get(&format!("{CANDLES}&world=x"), "w").await.0, 400);
    assert_eq!(get(&format!("{CANDLES}&world=w&world=w"), "").await.0, 400);
    let twice = "x-chandler-world: w\r\nx-chandler-world: w\r\n";
    assert_eq!(ann.send("GET", CANDLES, twice, &Value::Null).await.status, 400);
    // A program enters a world with the world's API key, and must not name a world in a request.
    let bearer = format!("authorization: Bearer {}\r\n", hall.ann.access_token.expose());
    let program = hall.server.http("GET", CANDLES, &format!("{bearer}x-chandler-world: w\r\n"), b"").await;
    assert_eq!(program.status, 400);

    data(&ann.ask("DELETE", "/v1/worlds/w", "", &Value::Null).await);
    assert_eq!(get(CANDLES, "w").await.1, 404_001);
}

#[tokio::test]
async fn lists_in_a_world_are_those_of_its_owner_without_later_prices() {
    let hall = Hall::open().await;
    let ann = Browser::open(&hall, hall.ann.account_id);
    hall.step("10:05").await;
    let groups = "/v1/watchlist/groups";
    let new = json!({"name": "a", "securities": ["700.HK"]});
    data(&ann.ask("POST", groups, "", &new).await);
    ann.create("w").await;
    ann.step("w", "10:01").await;
    let price = async |world: &str| {
        let lists = ann.get(groups, world).await["groups"].clone();
        assert_eq!(lists[1]["name"], "a", "{lists}");
        lists[0]["securities"][0]["watched_price"].clone()
    };
    assert_eq!(price("").await, "305.200");
    assert_eq!(price("w").await, "");
    // A change made in the world is stored for the owner, at the owner's time.
    let new = json!({"name": "b", "securities": []});
    data(&ann.ask("POST", groups, "w", &new).await);
    assert_eq!(ann.get(groups, "").await["groups"][2]["name"], "b");
}

#[tokio::test]
async fn a_world_steps_to_the_next_session() {
    let hall = Hall::open().await;
    let ann = Browser::open(&hall, hall.ann.account_id);
    let new = json!({"name": "w", "start": "2026-03-16T12:00:00+08:00", "end": "2026-03-20T16:30:00+08:00"});
    data(&ann.ask("POST", "/v1/worlds", "", &new).await);
    let step = async |body: Value| ann.ask("POST", "/v1/worlds/w/step", "", &body).await;
    let day = 86_400;
    for (markets, wanted) in [
        (json!(["HK"]), at("09:30") - day),
        // New York opens at 09:30, which is 21:30 in Hong Kong.
        (json!(["US"]), at("21:30") - day),
        (Value::Null, at("09:30")),
        (Value::Null, at("21:30")),
    ] {
        let stepped = data(&step(json!({"to": "session", "markets": markets})).await);
        assert_eq!(stepped["now"], Timestamp(wanted).to_string(), "{markets} {stepped}");
    }
    for body in [json!({"to": "session", "markets": ["XX"]}), json!({"to": "next", "markets": ["HK"]})] {
        assert_eq!(refused(&step(body.clone()).await).0, 400, "{body}");
    }
}
