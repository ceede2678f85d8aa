//! Test fixture: a server whose clock is at 18 March 2026, an operator, and an account with HKD
//! 500,000.

use access::{Actor, Created, NewAccount, RateRule, Role, Terms};
use prost::Message;
use serde_json::{Value, json};
use server::Settings;
use wire::{Packet, trade};

use crate::support::{Client, NOW, Response, Running, import_files};

/// 2026-03-18, 00:00 in Hong Kong, in Unix seconds.
const MIDNIGHT: i64 = 1_773_792_000 - 8 * 3_600;

/// Candles of example G1 in the specification, and a candle with a small volume.
pub(super) const CANDLES: [&str; 4] = [
    "10:00 305 305 300 305 50000",
    "10:01 305.2 305.8 305 305.6 50000",
    "10:02 305.6 305.8 305.4 305.6 1000",
    "10:03 305.4 305.6 305 305.2 50000",
];

pub(super) struct Hall {
    pub(super) server: Running,
    pub(super) ann: Created,
    pub(super) op: Created,
}

/// Converts a time of day in Hong Kong to Unix seconds.
pub(super) fn at(clock: &str) -> i64 {
    let parts: Vec<i64> = clock.split(':').map(|part| part.parse().unwrap()).collect();
    let [hours, minutes, seconds] = [0, 1, 2].map(|part| parts.get(part).copied().unwrap_or(0));
    MIDNIGHT + hours * 3_600 + minutes * 60 + seconds
}

/// Returns the data of a response that must succeed.
pub(super) fn data(answer: &Response) -> Value {
    let json = answer.json();
    assert_eq!((answer.status, &json["code"]), (200, &json!(0)), "{answer:?}");
    json["data"].clone()
}

/// Returns status, code and message of a refusal.
pub(super) fn refused(answer: &Response) -> (u16, i64, String) {
    let json = answer.json();
    (answer.status, json["code"].as_i64().unwrap(), json["message"].as_str().unwrap().to_owned())
}

impl Hall {
    pub(super) async fn open() -> Hall {
        Hall::open_with(Settings::default()).await
    }

    pub(super) async fn open_with(settings: Settings) -> Hall {
        Hall::of(Running::start_with(settings).await).await
    }

    /// Fills a server on the test market.
    pub(super) async fn of(server: Running) -> Hall {
        let row = |candle: &&str| {
            let parts: Vec<&str> = candle.split(' ').collect();
            format!("700.HK,{},{}\n", at(parts[0]), parts[1..].join(","))
        };
        let rows: String = CANDLES.iter().map(row).collect();
        let path = server.dir.path().join("march.csv");
        std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{rows}")).unwrap();
        import_files(server.dir.path(), &[path]);
        let terms = Terms { rate: Some(RateRule::Unlimited), ..Terms::default() };
        let ann = server.account("ann", terms.clone());
        let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", terms) };
        let op = server.access.create(&new, &Actor::Operator, NOW).unwrap();
        let hall = Hall { server, ann, op };
        hall.server.set_now(at("09:00"));
        let rates = json!({"rows": [{"currency": "USD", "day": "2026-01-02", "rate": "7.8"}]});
        data(&hall.manage("/v1/admin/rates", rates).await);
        // Leave HKD 500,000 of the default cash.
        let half = json!({"amount": "500000", "currency": "HKD"});
        data(&hall.manage("/v1/admin/paper/ann/withdraw", half).await);
        hall
    }

    /// Sends a request as the operator.
    pub(super) async fn manage(&self, path: &str, body: Value) -> Response {
        self.server.post(path, &self.op, &body.to_string()).await
    }

    /// Moves the market clock forward, as the operator.
    pub(super) async fn step(&self, clock: &str) {
        data(&self.manage("/v1/admin/clock", json!({"now": at(clock)})).await);
    }

    pub(super) async fn ask(&self, method: &str, path: &str, body: &Value) -> Response {
        let head = format!("authorization: Bearer {}\r\n", self.ann.access_token.expose());
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.server.http(method, path, &head, body.as_bytes()).await
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        data(&self.ask("GET", path, &Value::Null).await)
    }

    pub(super) async fn try_submit(&self, fields: Value) -> Response {
        let mut body = json!({
            "symbol": "700.HK", "order_type": "LO", "side": "Buy", "submitted_quantity": "200", "time_in_force": "Day",
        });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.ask("POST", "/v1/trade/order", &body).await
    }

    pub(super) async fn submit(&self, fields: Value) -> String {
        data(&self.try_submit(fields).await)["order_id"].as_str().unwrap().to_owned()
    }

    pub(super) async fn detail(&self, id: &str) -> Value {
        self.get(&format!("/v1/trade/order?order_id={id}")).await
    }

    /// Opens a connection to the trade gateway and subscribes to pushes.
    pub(super) async fn listener(&self) -> Client {
        let otp = self.server.one_time_password(&self.ann).await;
        let mut client = self.server.websocket_at("/trade?version=1&codec=1&platform=9").await;
        client.sign_in(&otp, &[]).await;
        let topics = vec!["private".to_owned()];
        let answer: trade::SubscribeResponse =
            client.ask(16, &trade::SubscribeRequest { topics: topics.clone() }).await.unwrap();
        assert_eq!((answer.success, answer.current), (topics.clone(), topics));
        client
    }
}

/// Reads the next event of a connection, which must be an order event.
pub(super) async fn event(client: &mut Client) -> Value {
    let (kind, data) = any_event(client).await;
    assert_eq!(kind, "order_changed_lb");
    data
}

/// Reads the next event of a connection. Returns its kind and data.
pub(super) async fn any_event(client: &mut Client) -> (String, Value) {
    let packet = client.packet().await;
    let Packet::Push { command: 18, body } = packet else { panic!("{packet:?}") };
    let notification = trade::Notification::decode(&*body).unwrap();
    assert_eq!((notification.topic.as_str(), notification.content_type), ("private", 1));
    let event: Value = serde_json::from_slice(&notification.data).unwrap();
    (event["event"].as_str().unwrap().to_owned(), event["data"].clone())
}
