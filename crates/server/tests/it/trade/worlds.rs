//! Worlds: accounts with their own market clocks, independent of the server's clock.

mod alone;
mod auto;
mod bad_input;
mod calendar;
mod flow;
mod limits;
mod opening;
mod running;
mod source;
mod span;
mod stream;

use access::{AccountId, Created, RateRule, Secret, Terms};
use market::Timestamp;
use prost::Message;
use serde_json::{Value, json};
use server::Settings;
use wire::Packet;
use wire::quote::{
    PushQuote, PushTrades, QuoteResponse, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SubscribeRequest, SubscriptionsResponse, SymbolsRequest, UnsubscribeRequest, UnsubscribeResponse,
};

use super::hall::{Hall, at, data, event, refused};
use crate::support::{Client, PATIENCE, Response, TransportLabel, import_files};

const TRADE_WS: &str = "/trade?version=1&codec=1&platform=9";

/// Settings of a world on the day of the test candles.
pub(super) fn march(name: &str) -> Value {
    json!({
        "name": name, "start": "2026-03-18T09:29:00+08:00", "end": "2026-03-18T16:30:00+08:00",
        "cash": {"HKD": "500000"},
    })
}

/// A world and its API key.
pub(super) struct World<'a> {
    pub(super) hall: &'a Hall,
    pub(super) key: Created,
}

impl<'a> World<'a> {
    pub(super) async fn open(hall: &'a Hall, name: &str) -> World<'a> {
        World::open_as(hall, &hall.ann, &march(name)).await
    }

    pub(super) async fn open_as(hall: &'a Hall, owner: &Created, settings: &Value) -> World<'a> {
        let created = data(&hall.server.post("/v1/worlds", owner, &settings.to_string()).await);
        assert_eq!(created["world"]["state"], "created", "{created}");
        World { hall, key: key(&created) }
    }

    pub(super) async fn ask(&self, method: &str, path: &str, body: &Value) -> Response {
        let head = format!("authorization: Bearer {}\r\n", self.key.access_token.expose());
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.hall.server.http(method, path, &head, body.as_bytes()).await
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        data(&self.ask("GET", path, &Value::Null).await)
    }

    pub(super) async fn try_step(&self, body: Value) -> Response {
        self.ask("POST", "/v1/world/step", &body).await
    }

    pub(super) async fn step(&self, clock: &str) -> Value {
        data(&self.try_step(json!({"to": Timestamp(at(clock)).to_string()})).await)
    }

    pub(super) async fn submit(&self, price: &str) -> Response {
        let order = json!({
            "symbol": "700.HK", "order_type": "LO", "side": "Buy", "submitted_quantity": "200",
            "time_in_force": "Day", "submitted_price": price,
        });
        self.ask("POST", "/v1/trade/order", &order).await
    }

    pub(super) async fn closes(&self) -> Vec<String> {
        let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=10";
        let candles = self.get(path).await["candlesticks"].as_array().unwrap().clone();
        candles.iter().map(|candle| candle["close"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) async fn listener(&self) -> Client {
        let otp = self.hall.server.one_time_password(&self.key).await;
        let mut client = self.hall.server.websocket_at(TRADE_WS).await;
        client.sign_in(&otp, &[]).await;
        let topics = wire::trade::SubscribeRequest { topics: vec!["private".to_owned()] };
        client.ask::<wire::trade::SubscribeResponse>(16, &topics).await.unwrap();
        client
    }
}

/// Returns the API key of a created world.
pub(super) fn key(created: &Value) -> Created {
    let text = |name: &str| created["credentials"][name].as_str().unwrap().to_owned();
    Created {
        account_id: AccountId(created["world"]["account_id"].as_i64().unwrap()),
        app_key: text("app_key"),
        app_secret: Secret::new(text("app_secret")),
        access_token: Secret::new(text("access_token")),
        token_expires_at: Timestamp(i64::MAX),
    }
}

pub(super) fn instant(clock: &str) -> Value {
    Timestamp(at(clock)).to_string().into()
}

#[tokio::test]
async fn a_world_is_created_listed_shown_and_deleted() {
    let hall = Hall::open().await;
    let created = data(&hall.server.post("/v1/worlds", &hall.ann, &march("w").to_string()).await);
    let world = hall.get("/v1/worlds/w").await;
    assert_eq!(world, created["world"]);
    for (field, wanted) in [
        ("id", json!("w1")),
        ("name", json!("w")),
        ("account", json!("ann/w")),
        ("state", json!("created")),
        ("now", instant("09:29")),
        ("start", instant("09:29")),
        ("end", instant("16:30")),
        ("speed", json!(0)),
        ("step", json!(0)),
        ("skip", json!("closed")),
        ("markets", json!(["HK", "US"])),
        ("limits", json!("none")),
        ("auto_quiet_ms", Value::Null),
        ("pause_when_alone", json!(true)),
        ("paused_alone", json!(false)),
        ("stop_at", Value::Null),
        ("lag_s", json!(0)),
        ("late", json!(0)),
        ("orders", json!(0)),
    ] {
        assert_eq!(world[field], wanted, "{field}");
    }
    let speedy = json!({"name": "s", "start": "2026-03-18", "speed": "max", "markets": ["HK"]});
    let speedy = World::open_as(&hall, &hall.ann, &speedy).await;
    let shown = speedy.get("/v1/world").await;
    assert_eq!(
        (&shown["speed"], &shown["markets"], &shown["auto_quiet_ms"]),
        (&json!("max"), &json!(["HK"]), &Value::Null)
    );
    let list = hall.get("/v1/worlds").await;
    let names: Vec<&str> =
        list["worlds"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["w", "s"]);
    let deleted = data(&hall.ask("DELETE", "/v1/worlds/s", &Value::Null).await);
    assert_eq!(deleted, json!({"id": "w2", "name": "s"}));
    assert_eq!(speedy.ask("GET", "/v1/world", &Value::Null).await.status, 401, "its key is invalid");
    assert_eq!(hall.ask("GET", "/v1/worlds/s", &Value::Null).await.status, 404);
    World::open_as(&hall, &hall.ann, &json!({"name": "s", "start": "2026-03-18"})).await;
}

#[tokio::test]
async fn w11_the_key_of_a_world_enters_only_its_own_world() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let refusal = refused(&world.ask("POST", "/v1/worlds", &march("x")).await);
    assert_eq!((refusal.0, refusal.1), (403, 403_008), "{}", refusal.2);
    assert_eq!(world.ask("DELETE", "/v1/worlds/w", &Value::Null).await.status, 403);
    assert_eq!(world.get("/v1/world").await["account"], "ann/w");
    assert_eq!(hall.ask("GET", "/v1/world", &Value::Null).await.status, 404);
    // Another account has no worlds, and only an operator may list the worlds of ann.
    let bob = hall.server.account("bob", Terms::default());
    assert_eq!(hall.server.get("/v1/worlds/w", &bob).await.status, 404);
    assert_eq!(hall.server.get("/v1/worlds/w?account=ann", &bob).await.status, 403);
    let shown = data(&hall.server.get("/v1/worlds/w?account=ann", &hall.op).await);
    assert_eq!(shown["account_id"], world.key.account_id.0);
    assert_eq!(hall.server.get("/v1/worlds?account=nobody", &hall.op).await.status, 404);
}

#[tokio::test]
async fn all_reads_in_a_world_are_as_of_its_instant() {
    let hall = Hall::open().await;
    let (world, other) = (World::open(&hall, "w").await, World::open(&hall, "x").await);
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=10";
    let of_server = async || hall.ask("GET", path, &Value::Null).await.status;
    assert_eq!(of_server().await, 404, "the server is at 09:00, before the first candle");
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    for (clock, closes, last) in [
        ("10:00:59", &["305.000"][..], "305.000"),
        ("10:01:00", &["305.000", "305.200"], "305.200"),
        ("10:02:00", &["305.000", "305.600", "305.600"], "305.600"),
        ("10:04:00", &["305.000", "305.600", "305.600", "305.200"], "305.200"),
    ] {
        let stepped = world.step(clock).await;
        assert_eq!((&stepped["now"], &stepped["state"]), (&instant(clock), &json!("paused")), "{stepped}");
        assert_eq!(world.closes().await, closes, "{clock}");
        let request = SymbolsRequest { symbol: vec!["700.HK".to_owned()] };
        let quote: QuoteResponse = quotes.ask(11, &request).await.unwrap();
        assert_eq!(quote.secu_quote[0].last_done, last, "{clock}");
        let request = SecurityCandlestickRequest {
            symbol: "700.HK".to_owned(),
            period: 1,
            count: 10,
            ..Default::default()
        };
        let candles: SecurityCandlestickResponse = quotes.ask(19, &request).await.unwrap();
        assert_eq!(candles.candlesticks.len(), closes.len(), "{clock}");
    }
    // Neither the server's clock nor another world has moved.
    assert_eq!(other.get("/v1/world").await["now"], instant("09:29"));
    assert_eq!(of_server().await, 404);
}

#[tokio::test]
async fn w2_an_order_of_a_world_fills_in_a_step() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let mut listener = world.listener().await;
    world.step("10:00:15").await;
    let id = data(&world.submit("306.00").await)["order_id"].as_str().unwrap().to_owned();
    for status in ["WaitToNew", "NewStatus"] {
        assert_eq!(event(&mut listener).await["status"], status);
    }
    let stepped = world.step("10:02:00").await;
    assert_eq!((&stepped["moved_s"], &stepped["step"]), (&json!(105), &json!(2)), "{stepped}");
    assert_eq!(stepped["pushes"], json!({"quote": 0, "trade": 1}));
    let filled = event(&mut listener).await;
    assert_eq!(
        (&filled["status"], &filled["executed_price"]),
        (&json!("FilledStatus"), &json!("305.200")),
        "{filled}"
    );
    let order = world.get(&format!("/v1/trade/order?order_id={id}")).await;
    assert_eq!((&order["status"], &order["executed_quantity"]), (&json!("FilledStatus"), &json!("200")));
    assert_eq!(order["updated_at"], at("10:02:00").to_string());
    let cash = world.get("/v1/asset/account").await["list"][0]["total_cash"].as_str().unwrap().to_owned();
    assert!(cash.starts_with("438875.25"), "{cash}");
    assert_eq!(world.get("/v1/world").await["orders"], 1, "those that are filled count too");
    assert_eq!(hall.get("/v1/worlds").await["worlds"][0]["orders"], 1);
    // The owner's own account has no orders.
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"], json!([]));
}

#[tokio::test]
async fn a_step_without_a_target_goes_to_the_next_event() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let next = async || data(&world.try_step(Value::Null).await)["now"].clone();
    assert_eq!(next().await, instant("09:30"));
    world.step("10:00:15").await;
    // Without an open order, the next event would be the lunch break.
    assert!(data(&world.submit("280.00").await)["order_id"].as_str().is_some());
    for clock in ["10:01", "10:02", "10:03", "10:04", "12:00", "13:00", "16:00", "16:10", "16:30"] {
        assert_eq!(next().await, instant(clock));
    }
    assert_eq!(world.get("/v1/world").await["state"], "ended");
}

#[tokio::test]
async fn w5_an_ended_world_serves_reads_and_refuses_changes() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    assert_eq!(hall.ask("POST", "/v1/worlds/w/end", &Value::Null).await.status, 409, "it has not begun");
    // A step stops at the end.
    let stepped = data(&world.try_step(json!({"by": "P2D"})).await);
    assert_eq!((&stepped["now"], &stepped["state"]), (&instant("16:30"), &json!("ended")));
    assert_eq!(refused(&world.submit("306.00").await), (400, 602_001, "world ended".to_owned()));
    assert_eq!(world.closes().await.len(), 4);
    let refusal = refused(&world.try_step(Value::Null).await);
    assert_eq!(
        (refusal.0, refusal.2.as_str()),
        (409, "the world is ended: reset it, or fork it at an earlier instant")
    );
    data(&hall.ask("DELETE", "/v1/worlds/w", &Value::Null).await);

    let second = World::open(&hall, "w").await;
    second.step("10:00").await;
    let refusal = refused(&hall.ask("DELETE", "/v1/worlds/w", &Value::Null).await);
    assert_eq!((refusal.0, refusal.2.as_str()), (409, "the world is paused: end it first"));
    let ended = data(&hall.ask("POST", "/v1/worlds/w/end", &Value::Null).await);
    assert_eq!((&ended["state"], &ended["now"]), (&json!("ended"), &instant("10:00")));
    assert_eq!(refused(&second.submit("306.00").await).2, "world ended");
}

#[tokio::test]
async fn invalid_settings_and_steps_are_refused_with_the_reason() {
    let hall = Hall::open_with(Settings { worlds_max: 1, ..Settings::default() }).await;
    let create = async |changes: Value| {
        let mut body = march("w");
        for (name, value) in changes.as_object().unwrap() {
            body[name] = value.clone();
        }
        refused(&hall.ask("POST", "/v1/worlds", &body).await)
    };
    for (changes, message) in [
        (json!({"name": "March 18"}), "\"March 18\" is not a name of a world: 1 to 40 of a-z, 0-9 and -"),
        (
            json!({"end": "2026-03-18T09:28:59+08:00"}),
            "the end 2026-03-18T01:28:59Z is before the start 2026-03-18T01:29:00Z",
        ),
        (
            json!({"start": "2019-03-18", "end": "2019-03-19"}),
            "no candles are stored from 2019-03-17T16:00:00Z to 2019-03-18T16:00:00Z",
        ),
        (
            json!({"start": "2090-03-18", "end": "2090-03-19"}),
            "no candles are stored from 2090-03-17T16:00:00Z to 2090-03-18T16:00:00Z",
        ),
        (json!({"speed": 0.0001}), "\"0.0001\" is not a speed: write 0, 0.001 to 1000000, or max"),
        (json!({"speed": "fast"}), "\"fast\" is not a speed: write 0, 0.001 to 1000000, or max"),
        (json!({"markets": []}), "\"\" is not a list of markets: write HK,US or HK,US,CN"),
        (json!({"limits": "few"}), "\"few\" is not a value of limits: write none or owner"),
        (json!({"cash": {"dollars": "1"}}), "\"dollars\" is not a currency"),
        (json!({"cash": {"HKD": "-1"}}), "\"-1\" is not an amount of cash"),
        (json!({"auto": {"quiet_ms": 0}}), "\"0\" is not a quiet time: write 1 to 60000 milliseconds"),
        (
            json!({"auto": {"quiet_ms": 50}, "speed": 1}),
            "auto and speed cannot be combined: a world with a speed moves without steps",
        ),
    ] {
        let refusal = create(changes).await;
        assert_eq!((refusal.0, refusal.2.as_str()), (400, message));
    }
    let world = World::open(&hall, "w").await;
    let taken = create(json!({"name": "x"})).await;
    assert_eq!((taken.0, taken.1), (429, 429_002), "{}", taken.2);
    let world_step = async |body: Value| refused(&world.try_step(body).await);
    world.step("10:00").await;
    for (body, message) in [
        (
            json!({"to": "2026-03-18T09:59:59+08:00"}),
            "the clock of the world is at 2026-03-18T02:00:00Z: it can only move forward",
        ),
        (
            json!({"to": "2026-03-18T10:00:00+08:00"}),
            "the clock of the world is at 2026-03-18T02:00:00Z: it can only move forward",
        ),
        (json!({"by": "1m"}), "\"1m\" is not a duration: write PT1M, PT1H30M or P1D"),
        (json!({"by": "PT1M", "to": "next"}), "to and by cannot be combined"),
    ] {
        let refusal = world_step(body).await;
        assert_eq!((refusal.0, refusal.2.as_str()), (400, message));
    }
    assert_eq!(world.get("/v1/world").await["now"], instant("10:00"));
}

#[tokio::test]
async fn names_are_unique_among_the_worlds_of_an_owner() {
    let hall = Hall::open().await;
    World::open(&hall, "w").await;
    let refusal = refused(&hall.ask("POST", "/v1/worlds", &march("w")).await);
    assert_eq!((refusal.0, refusal.2.as_str()), (409, "there is a world or an account with this name"));
    World::open_as(&hall, &hall.op, &march("w")).await;
}

#[tokio::test]
async fn w8_the_rate_limit_applies_only_if_limits_is_owner() {
    let hall = Hall::open().await;
    let bob = hall.server.account("bob", Terms { rate: Some(RateRule::SERVICE), ..Terms::default() });
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=1";
    for (limits, refusals) in [("none", 0), ("owner", 1)] {
        let mut settings = march(limits);
        settings["limits"] = limits.into();
        let world = World::open_as(&hall, &bob, &settings).await;
        world.step("10:02").await;
        let mut refused = Vec::new();
        for _ in 0..61 {
            let answer = world.ask("GET", path, &Value::Null).await;
            refused.extend((answer.status != 200).then(|| answer.json()["code"].as_i64()));
        }
        assert_eq!(refused, vec![Some(301_606); refusals], "{limits}");
    }
}

#[tokio::test]
async fn a_world_survives_a_restart_of_the_server() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    world.step("10:00:15").await;
    let order = data(&world.submit("306.00").await)["order_id"].as_str().unwrap().to_owned();
    let (key, ann) = (world.key, hall.ann);
    let dir = hall.server.stop().await;
    let server = crate::support::Running::start_in(dir, Settings::default()).await;
    server.set_now(at("09:00"));
    let hall = Hall { server, ann, op: hall.op };
    let world = World { hall: &hall, key };
    let shown = world.get("/v1/world").await;
    assert_eq!(
        (&shown["now"], &shown["state"], &shown["step"]),
        (&instant("10:00:15"), &json!("paused"), &json!(1))
    );
    world.step("10:02").await;
    assert_eq!(world.get(&format!("/v1/trade/order?order_id={order}")).await["status"], "FilledStatus");
}

/// Returns timestamp, volume and status of a quote of the clock.
async fn clock_quote(client: &mut Client, symbol: &str) -> (i64, i64, i32) {
    let request = SymbolsRequest { symbol: vec![symbol.to_owned()] };
    let answer: QuoteResponse = client.ask(11, &request).await.unwrap();
    let [quote] = answer.secu_quote.try_into().unwrap();
    assert_eq!((quote.symbol.as_str(), quote.last_done.as_str()), (symbol, "0"));
    (quote.timestamp, quote.volume, quote.trade_status)
}

#[tokio::test]
async fn w12_the_clock_is_shown_and_stepped_by_quotes() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    assert_eq!(clock_quote(&mut quotes, "CLOCK.WORLD").await, (at("09:29"), 0, 0));
    assert_eq!(clock_quote(&mut quotes, "STEP.WORLD").await, (at("09:30"), 0, 0));
    assert_eq!(clock_quote(&mut quotes, "STEP-60.WORLD").await, (at("09:31"), 0, 0));
    assert_eq!(clock_quote(&mut quotes, "clock.world").await, (at("09:31"), 2, 0));
    let mixed = SymbolsRequest { symbol: vec!["700.HK".to_owned(), "STEP.WORLD".to_owned()] };
    let refusal = quotes.ask::<QuoteResponse>(11, &mixed).await.unwrap_err();
    assert_eq!(refusal, (7, 301_600, "a step is requested alone, without other symbols".to_owned()));
    world.step("10:02").await;
    let mixed = SymbolsRequest { symbol: vec!["CLOCK.WORLD".to_owned(), "700.HK".to_owned()] };
    let both: QuoteResponse = quotes.ask(11, &mixed).await.unwrap();
    let found: Vec<_> =
        both.secu_quote.iter().map(|quote| (quote.symbol.as_str(), quote.timestamp)).collect();
    assert_eq!(found, [("700.HK", at("10:02")), ("CLOCK.WORLD", at("10:02"))]);
    // At its end the clock is stopped, and further steps have no effect.
    for _ in 0..2 {
        assert_eq!(clock_quote(&mut quotes, "STEP-4000000000.WORLD").await, (at("16:30"), 0, 8));
    }
    let mut of_ann = hall.server.enter(TransportLabel::WebSocket, &hall.ann, &[]).await;
    assert_eq!(clock_quote(&mut of_ann, "CLOCK.WORLD").await, (at("09:00"), 0, 0));
    let step = SymbolsRequest { symbol: vec!["STEP.WORLD".to_owned()] };
    let refusal = of_ann.ask::<QuoteResponse>(11, &step).await.unwrap_err();
    assert_eq!(refusal, (7, 301_600, "this account has no world to step".to_owned()));
}

/// Imports the first minutes of the day (examples U2 and U14).
pub(super) fn import_morning(hall: &Hall) {
    let rows = [("09:30", "300,302,299,301,10000,3005000"), ("09:31", "301,303,300,302,8000,2412000")];
    import_rows(hall, &rows.map(|(clock, row)| (at(clock), row)));
}

/// Imports one-minute candles of 700.HK, given as stamp, open, high, low, close, volume and
/// turnover.
pub(super) fn import_rows(hall: &Hall, rows: &[(i64, &str)]) {
    let rows: String = rows.iter().map(|(time, row)| format!("700.HK,{time},{row}\n")).collect();
    let path = hall.server.dir.path().join("rows.csv");
    std::fs::write(&path, format!("symbol,time,open,high,low,close,volume,turnover\n{rows}")).unwrap();
    import_files(hall.server.dir.path(), &[path]);
}

pub(super) async fn subscribe(client: &mut Client, symbols: &[&str]) -> Vec<(String, Vec<i32>)> {
    let symbol = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
    let request = SubscribeRequest { symbol, sub_type: vec![1, 4], is_first_push: true };
    let answer: SubscriptionsResponse = client.ask(6, &request).await.unwrap();
    answer.sub_list.into_iter().map(|one| (one.symbol, one.sub_type)).collect()
}

/// Reads the next push as text: command, symbol, time of day, and the change.
pub(super) async fn push(client: &mut Client) -> String {
    let packet = client.packet().await;
    let Packet::Push { command, body } = packet else { panic!("{packet:?}") };
    let clock = |seconds: i64| {
        let seconds = seconds - at("00:00");
        format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
    };
    match command {
        101 => {
            let quote = PushQuote::decode(&*body).unwrap();
            format!(
                "101 {} {} last {} volume {}",
                quote.symbol,
                clock(quote.timestamp),
                quote.last_done,
                quote.volume
            )
        }
        104 => {
            let trades = PushTrades::decode(&*body).unwrap();
            let prints: Vec<String> =
                trades.trade.iter().map(|print| format!("{}x{}", print.price, print.volume)).collect();
            format!("104 {} {} {}", trades.symbol, trades.sequence, prints.join(" "))
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn w1_a_step_pushes_quotes_trades_and_then_the_clock() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let (world, other) = (World::open(&hall, "w").await, World::open(&hall, "x").await);
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    let mut of_other = hall.server.enter(TransportLabel::WebSocket, &other.key, &[]).await;
    let mut of_server = hall.server.enter(TransportLabel::WebSocket, &hall.ann, &[]).await;
    let subscribed = subscribe(&mut quotes, &["700.HK", "CLOCK.WORLD"]).await;
    assert_eq!(subscribed, [("700.HK".to_owned(), vec![1, 4]), ("CLOCK.WORLD".to_owned(), vec![1])]);
    assert_eq!(push(&mut quotes).await, "101 CLOCK.WORLD 09:29:00 last 0 volume 0");
    subscribe(&mut of_other, &["700.HK"]).await;
    subscribe(&mut of_server, &["700.HK"]).await;

    let stepped = data(&world.try_step(Value::Null).await);
    assert_eq!((&stepped["now"], &stepped["pushes"]), (&instant("09:30"), &json!({"quote": 3, "trade": 0})));
    for wanted in [
        "104 700.HK 1773797400000000 300.000x0",
        "101 700.HK 09:30:00 last 300.000 volume 0",
        "101 CLOCK.WORLD 09:30:00 last 3 volume 1",
    ] {
        assert_eq!(push(&mut quotes).await, wanted);
    }
    let stepped = data(&world.try_step(Value::Null).await);
    assert_eq!((&stepped["now"], &stepped["pushes"]["quote"]), (&instant("09:31"), &json!(5)));
    for wanted in [
        "104 700.HK 1773797460000000 299.000x0 302.000x0 300.500x10000 301.000x0",
        "101 700.HK 09:30:59 last 301.000 volume 10000",
        "104 700.HK 1773797460000001 301.000x0",
        "101 700.HK 09:31:00 last 301.000 volume 10000",
        "101 CLOCK.WORLD 09:31:00 last 5 volume 2",
    ] {
        assert_eq!(push(&mut quotes).await, wanted);
    }
    // Neither another world nor the server's clock has moved, so no pushes were sent there.
    assert!(of_other.is_alive().await && of_server.is_alive().await);
}

#[tokio::test]
async fn w12_a_step_by_a_quote_counts_the_pushes_of_the_connection() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    world.step("09:30").await;
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    assert_eq!(subscribe(&mut quotes, &["700.HK"]).await, [("700.HK".to_owned(), vec![1, 4])]);
    assert_eq!(push(&mut quotes).await, "101 700.HK 09:30:00 last 300.000 volume 0");
    // Pushes to other connections are not counted.
    let mut other = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut other, &["700.HK", "CLOCK.WORLD"]).await;
    let request = SymbolsRequest { symbol: vec!["STEP-60.WORLD".to_owned()] };
    let id = quotes.request(11, &request).await;
    let (mut pushes, mut answers) = (Vec::new(), Vec::new());
    while pushes.len() + answers.len() < 5 {
        match quotes.packet().await {
            Packet::Push { command, .. } => pushes.push(command),
            Packet::Response { id: of, body, .. } => {
                answers.push((of, QuoteResponse::decode(&*body).unwrap()))
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(pushes, [104, 101, 104, 101]);
    let (of, answer) = answers.pop().unwrap();
    let quote = &answer.secu_quote[0];
    assert_eq!(
        (of, quote.symbol.as_str(), quote.timestamp, quote.volume),
        (id, "STEP-60.WORLD", at("09:31"), 4)
    );
    assert_eq!(data(&world.try_step(json!({"by": "PT1M"})).await)["pushes"], json!({"quote": 5, "trade": 0}));
}

#[tokio::test]
async fn a_step_by_a_quote_counts_order_pushes_of_its_own_connection() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    let mut both = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    world.step("10:00:15").await;
    let topics = wire::trade::SubscribeRequest { topics: vec!["private".to_owned()] };
    both.ask::<wire::trade::SubscribeResponse>(16, &topics).await.unwrap();
    data(&world.submit("306.00").await);
    for _ in 0..2 {
        both.packet().await;
    }
    assert_eq!(clock_quote(&mut quotes, "STEP-1.WORLD").await, (at("10:00:16"), 0, 0));
    let request = SymbolsRequest { symbol: vec!["STEP-104.WORLD".to_owned()] };
    both.request(11, &request).await;
    let Packet::Push { command: 18, .. } = both.packet().await else { panic!("no push of the fill") };
    let Packet::Response { body, .. } = both.packet().await else { panic!("no answer behind the push") };
    assert_eq!(QuoteResponse::decode(&*body).unwrap().secu_quote[0].volume, 1);
}

#[tokio::test]
async fn w5_subscriptions_in_an_ended_world_are_accepted_without_pushes() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    data(&world.try_step(json!({"by": "P1D"})).await);
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    let subscribed = subscribe(&mut quotes, &["700.HK", "CLOCK.WORLD"]).await;
    assert_eq!(subscribed.len(), 2);
    // The first pushes have the current state.
    assert_eq!(push(&mut quotes).await.split(' ').nth(1), Some("700.HK"));
    assert_eq!(push(&mut quotes).await, "101 CLOCK.WORLD 16:30:00 last 0 volume 1");
    let listed: SubscriptionsResponse = quotes.ask(5, &()).await.unwrap();
    assert_eq!(listed.sub_list.len(), 2);
    let end =
        UnsubscribeRequest { symbol: vec!["CLOCK.WORLD".to_owned()], sub_type: vec![1], unsub_all: false };
    let _: UnsubscribeResponse = quotes.ask(7, &end).await.unwrap();
    let listed: SubscriptionsResponse = quotes.ask(5, &()).await.unwrap();
    assert_eq!(listed.sub_list.iter().map(|one| one.symbol.as_str()).collect::<Vec<_>>(), ["700.HK"]);
}

#[tokio::test]
async fn a_world_does_not_show_the_current_community() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    for path in ["/v1/content/topics", "/v1/content/700.HK/topics", "/content/topics/1/comments"] {
        assert_eq!(world.ask("GET", path, &Value::Null).await.status, 403, "{path}");
    }
    assert_eq!(hall.ask("GET", "/v1/content/topics", &Value::Null).await.status, 200);
}

#[tokio::test]
async fn another_api_key_enters_the_same_world() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    world.step("09:31").await;
    let created = data(&hall.ask("POST", "/v1/worlds/w/token", &Value::Null).await);
    let other = World { hall: &hall, key: key(&created) };
    assert_ne!(other.key.app_key, world.key.app_key);
    assert_eq!(other.get("/v1/world").await, world.get("/v1/world").await);
    for number in 3..=access::WORLD_KEYS_MAX {
        assert_eq!(hall.ask("POST", "/v1/worlds/w/token", &Value::Null).await.status, 200, "{number}");
    }
    assert_eq!(hall.ask("POST", "/v1/worlds/w/token", &Value::Null).await.status, 409);
    assert_eq!(hall.ask("POST", "/v1/worlds/v/token", &Value::Null).await.status, 404);
    assert_eq!(other.ask("POST", "/v1/worlds/w/token", &Value::Null).await.status, 403);
}

#[tokio::test]
async fn w6_a_fork_is_a_copy_as_of_an_instant() {
    let hall = Hall::open().await;
    let world = World::open(&hall, "w").await;
    world.step("10:00:15").await;
    let first = data(&world.submit("306.00").await)["order_id"].as_str().unwrap().to_owned();
    world.step("10:03").await;
    assert_eq!(world.get(&format!("/v1/trade/order?order_id={first}")).await["status"], "FilledStatus");
    let fork = async |body: Value| hall.ask("POST", "/v1/worlds/w/fork", &body).await;
    for (body, status) in [
        (json!({"name": "f", "at": Timestamp(at("10:03:01")).to_string()}), 400),
        (json!({"name": "f", "at": Timestamp(at("09:28:59")).to_string()}), 400),
        (json!({"name": "w"}), 409),
        (json!({}), 400),
    ] {
        assert_eq!(fork(body.clone()).await.status, status, "{body}");
    }
    let created = data(&fork(json!({"name": "f", "at": Timestamp(at("10:01:30")).to_string()})).await);
    assert_eq!(
        (&created["world"]["start"], &created["world"]["state"]),
        (&instant("10:01:30"), &json!("created"))
    );
    let copy = World { hall: &hall, key: key(&created) };
    let orders = copy.get("/v1/trade/order/today").await["orders"].as_array().unwrap().clone();
    assert_eq!(orders.len(), 1);
    assert_eq!((&orders[0]["status"], &orders[0]["executed_quantity"]), (&json!("NewStatus"), &json!("0")));
    let id = orders[0]["order_id"].as_str().unwrap();
    data(&copy.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), &Value::Null).await);
    copy.step("10:03").await;
    assert_eq!(copy.get(&format!("/v1/trade/order?order_id={id}")).await["status"], "CanceledStatus");
    assert_eq!(world.get(&format!("/v1/trade/order?order_id={first}")).await["status"], "FilledStatus");
    // Without an instant, the copy has the current state.
    let now = data(&fork(json!({"name": "g"})).await);
    let copy = World { hall: &hall, key: key(&now) };
    assert_eq!(copy.get("/v1/trade/order/today").await["orders"][0]["status"], "FilledStatus");
}

#[tokio::test]
async fn w10_a_reset_goes_back_and_closes_the_connections() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let world = World::open(&hall, "w").await;
    world.step("09:31").await;
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut quotes, &["700.HK", "CLOCK.WORLD"]).await;
    push(&mut quotes).await;
    push(&mut quotes).await;
    world.step("10:00:15").await;
    let order = data(&world.submit("306.00").await)["order_id"].as_str().unwrap().to_owned();
    world.step("10:02").await;
    let reset = async |body: Value| hall.ask("POST", "/v1/worlds/w/reset", &body).await;
    assert_eq!(reset(json!({"at": Timestamp(at("10:02:01")).to_string()})).await.status, 400);
    let shown = data(&reset(json!({"at": Timestamp(at("09:30")).to_string()})).await);
    assert_eq!((&shown["now"], &shown["state"]), (&instant("09:30"), &json!("paused")));
    let close = loop {
        match quotes.packet().await {
            Packet::Push { command: 0, body } => break wire::control::Close::decode(&*body).unwrap(),
            Packet::Push { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((close.code, close.reason.as_str()), (2, "the clock was set back"));
    // The order no longer exists, and sequence numbers restart.
    assert_eq!(world.get("/v1/trade/order/today").await["orders"], json!([]));
    assert_eq!(
        world.ask("GET", &format!("/v1/trade/order?order_id={order}"), &Value::Null).await.status,
        400
    );
    let mut again = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
    subscribe(&mut again, &["700.HK", "CLOCK.WORLD"]).await;
    assert_eq!(push(&mut again).await, "101 700.HK 09:30:00 last 300.000 volume 0");
    push(&mut again).await;
    world.step("09:31").await;
    let pushed = push(&mut again).await;
    assert!(pushed.starts_with("104 700.HK 1773797460000000 "), "{pushed}");
    // Without an instant, the world goes back to its start.
    assert_eq!(data(&reset(Value::Null).await)["state"], "created");
    let submitted = world.submit("280.00").await;
    assert_eq!(submitted.status, 200, "{submitted:?}");
}

/// Waits until a world has this state. Its clock moves in the background.
pub(super) async fn until_state(world: &World<'_>, state: &str) -> Value {
    let until = async {
        loop {
            let shown = world.get("/v1/world").await;
            if shown["state"] == state {
                return shown;
            }
        }
    };
    tokio::time::timeout(PATIENCE, until).await.expect("the state within the time allowed")
}

#[tokio::test]
async fn a_running_world_sends_the_same_pushes_as_steps() {
    let hall = Hall::open().await;
    import_morning(&hall);
    let mut settings = march("stepped");
    settings["end"] = "2026-03-18T09:35:00+08:00".into();
    let stepped = World::open_as(&hall, &hall.ann, &settings).await;
    let mut runs = Vec::new();
    for (name, speed) in [("fast", json!(1_000_000)), ("fastest", json!("max"))] {
        settings["name"] = name.into();
        settings["speed"] = speed;
        runs.push(World::open_as(&hall, &hall.ann, &settings).await);
    }
    let mut quotes = hall.server.enter(TransportLabel::WebSocket, &stepped.key, &[]).await;
    subscribe(&mut quotes, &["700.HK"]).await;
    data(&stepped.try_step(json!({"by": "P1D"})).await);
    let mut wanted = Vec::new();
    for _ in 0..8 {
        wanted.push(push(&mut quotes).await);
    }
    for world in runs {
        let mut quotes = hall.server.enter(TransportLabel::WebSocket, &world.key, &[]).await;
        subscribe(&mut quotes, &["700.HK"]).await;
        let started = data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
        assert!(["running", "ended"].contains(&started["state"].as_str().unwrap()), "{started}");
        let ended = until_state(&world, "ended").await;
        assert_eq!(ended["now"], instant("09:35"));
        for wanted in &wanted {
            assert_eq!(push(&mut quotes).await, *wanted);
        }
    }
}

#[tokio::test]
async fn a_running_world_is_paused_and_refuses_steps() {
    let hall = Hall::open_with(Settings { worlds_running: 1, ..Settings::default() }).await;
    let (world, other) = (World::open(&hall, "w").await, World::open(&hall, "x").await);
    let run = async |world: &World<'_>, body: Value| world.ask("POST", "/v1/world/run", &body).await;
    let refusal = refused(&run(&world, Value::Null).await);
    assert_eq!(
        (refusal.0, refusal.2.as_str()),
        (400, "the world moves by steps only: give a speed to run at")
    );
    assert_eq!(run(&world, json!({"speed": -1})).await.status, 400);
    assert_eq!(world.ask("POST", "/v1/world/pause", &Value::Null).await.status, 409);
    // So slow that the clock remains in its first second.
    let started = data(&run(&world, json!({"speed": 0.001})).await);
    assert_eq!((&started["state"], &started["speed"]), (&json!("running"), &json!(0.001)));
    let refusal = refused(&world.try_step(Value::Null).await);
    assert_eq!((refusal.0, refusal.2.as_str()), (409, "the world is running: pause it first"));
    assert_eq!(run(&world, Value::Null).await.status, 409);
    assert_eq!(run(&other, json!({"speed": 1})).await.status, 429, "one world may run");
    let paused = data(&world.ask("POST", "/v1/world/pause", &Value::Null).await);
    assert_eq!((&paused["state"], &paused["now"]), (&json!("paused"), &instant("09:29")));
    world.step("09:30").await;
    // A running world can be ended by its owner.
    data(&run(&world, Value::Null).await);
    assert_eq!(data(&hall.ask("POST", "/v1/worlds/w/end", &Value::Null).await)["state"], "ended");
    data(&run(&other, json!({"speed": 0.001})).await);
}

#[tokio::test]
async fn w4_a_running_clock_skips_closed_hours() {
    let hall = Hall::open().await;
    let settings = json!({
        "name": "w", "start": "2026-03-18T16:09:30+08:00", "end": "2026-03-19T08:55:00+08:00", "markets": ["HK"],
        "speed": "max",
    });
    let world = World::open_as(&hall, &hall.ann, &settings).await;
    data(&world.ask("POST", "/v1/world/run", &Value::Null).await);
    let ended = until_state(&world, "ended").await;
    // The end of the closing auction, and the skip to five minutes before the next day begins.
    assert_eq!((&ended["now"], &ended["step"]), (&json!("2026-03-19T00:55:00Z"), &json!(2)));
}
