//! Two nodes on one database.

use access::{Actor, Created, NewAccount, RateRule, Role, Terms};
use prost::Message;
use serde_json::{Value, json};
use server::Settings;
use wire::{Packet, control, quote, trade};

use crate::home;
use crate::support::{Client, Running, machine_now};

/// Starts a second node on the database of another node.
pub(crate) async fn beside(one: &Running) -> Running {
    beside_with(one, Settings::default()).await
}

/// Starts a second node with these settings.
pub(crate) async fn beside_with(one: &Running, settings: Settings) -> Running {
    let dir = tempfile::tempdir().unwrap();
    home::join(dir.path(), one.dir.path());
    Running::start_in(dir, settings).await
}

async fn reconnect(client: &mut Client, session_id: &str) -> control::AuthResponse {
    let request =
        control::ReconnectRequest { session_id: session_id.to_owned(), metadata: Default::default() };
    client.ask(3, &request).await.unwrap()
}

fn one_connection() -> Terms {
    Terms { connections: 1, ..Terms::default() }
}

#[tokio::test]
async fn a_session_can_move_between_nodes() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", one_connection());
    let otp = one.one_time_password(&account).await;
    let mut first = two.websocket().await;
    let answer = first.sign_in(&otp, &[]).await;
    assert_eq!((answer.online, answer.limit), (1, 1));
    assert_eq!(one.slots(&account).await, (1, 1));
    let (status, code, _) = one.websocket().await.try_sign_in(&otp, &[]).await.unwrap_err();
    assert_eq!((status, code), (5, 401_004), "it was used");
    // The client reconnects to the other node, which takes over the slot. The first node closes the
    // old connection.
    let mut second = one.tcp().await;
    let resumed = reconnect(&mut second, &answer.session_id).await;
    assert_eq!((resumed.online, resumed.limit), (1, 1));
    assert_eq!(first.closed().await.1, "the session was resumed on another connection");
    assert!(second.is_alive().await);
}

async fn ask(client: &mut Client, of: &str) -> Result<quote::SecurityCandlestickResponse, (u8, u64, String)> {
    let request = quote::SecurityHistoryCandlestickRequest {
        symbol: of.to_owned(),
        period: 1_000,
        query_type: 1,
        offset_request: Some(quote::OffsetRequest { count: 2, ..Default::default() }),
        ..Default::default()
    };
    client.ask(27, &request).await
}

#[tokio::test]
async fn rate_limit_and_quota_are_shared_between_nodes() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", Terms::default());
    let mut clients = [one.signed_in(&account).await, two.signed_in(&account).await];
    let mut answered = 0;
    for turn in 0..64 {
        match ask(&mut clients[turn % 2], "700.HK").await {
            Ok(_) => answered += 1,
            Err((status, code, _)) => assert_eq!((status, code), (3, 301_606)),
        }
    }
    assert_eq!(answered, 60);
    let quota = two.get("/v1/quota", &account).await.json();
    assert_eq!(quota["data"]["used"], 1, "{quota}");
}

#[tokio::test]
async fn either_node_lists_and_closes_all_connections() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", Terms::default());
    let (mut here, mut there) = (one.signed_in(&account).await, two.signed_in(&account).await);
    let listed = one.get("/v1/connections", &account).await.json();
    assert_eq!(listed["data"]["online"], 2, "{listed}");
    let id = listed["data"]["connections"][1]["id"].as_str().unwrap().to_owned();
    let closed = one.http("DELETE", &format!("/v1/connections/{id}"), &bearer(&account), b"").await;
    assert_eq!(closed.status, 200, "{closed:?}");
    assert_eq!(there.closed().await.1, "closed by the owner of the account");
    assert!(here.is_alive().await);
    one.until_online(&account, 1).await;
}

fn bearer(account: &Created) -> String {
    format!("authorization: Bearer {}\r\n", account.access_token.expose())
}

/// Friday 13 November 2026, 10:00 in Hong Kong.
const MORNING: i64 = 1_794_535_200;

async fn listener(node: &Running, account: &Created) -> Client {
    let otp = node.one_time_password(account).await;
    let mut client = node.websocket_at("/trade?version=1&codec=1&platform=9").await;
    client.sign_in(&otp, &[]).await;
    let topics = vec!["private".to_owned()];
    let answer: trade::SubscribeResponse =
        client.ask(16, &trade::SubscribeRequest { topics: topics.clone() }).await.unwrap();
    assert_eq!((answer.success, answer.current), (topics.clone(), topics));
    client
}

/// Returns the order status in the next push.
async fn status(client: &mut Client) -> String {
    let packet = client.packet().await;
    let Packet::Push { command: 18, body } = packet else { panic!("{packet:?}") };
    let notification = trade::Notification::decode(&*body).unwrap();
    let event: Value = serde_json::from_slice(&notification.data).unwrap();
    event["data"]["status"].as_str().unwrap_or_else(|| panic!("{event}")).to_owned()
}

#[tokio::test]
async fn an_order_is_pushed_and_cancelled_on_another_node() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    for node in [&one, &two] {
        node.set_now(MORNING);
    }
    let (mut here, mut there) = (listener(&one, &account).await, listener(&two, &account).await);
    let order = r#"{"symbol":"700.HK","order_type":"LO","side":"Buy","submitted_quantity":"100","submitted_price":"120","time_in_force":"Day"}"#;
    let submitted = one.post("/v1/trade/order", &account, order).await.json();
    let id = submitted["data"]["order_id"].as_str().unwrap_or_else(|| panic!("{submitted}")).to_owned();
    for client in [&mut here, &mut there] {
        assert_eq!([status(client).await, status(client).await], ["WaitToNew", "NewStatus"]);
    }
    let path = format!("/v1/trade/order?order_id={id}");
    let seen = two.get(&path, &account).await.json();
    assert_eq!(seen["data"]["status"], "NewStatus", "{seen}");
    let cancelled = two.http("DELETE", &path, &bearer(&account), b"").await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    for client in [&mut there, &mut here] {
        let mut last = status(client).await;
        while last != "CanceledStatus" {
            last = status(client).await;
        }
    }
    let seen = one.get(&path, &account).await.json();
    assert_eq!(seen["data"]["status"], "CanceledStatus", "{seen}");
}

/// Subscribes to quotes of AAPL.US, and returns the sequence number of the first one.
async fn first_quote(client: &mut Client) -> i64 {
    let request = quote::SubscribeRequest {
        symbol: vec!["AAPL.US".to_owned()],
        sub_type: vec![1],
        is_first_push: true,
    };
    client.ask::<quote::SubscriptionsResponse>(6, &request).await.unwrap();
    next_quote(client).await
}

async fn next_quote(client: &mut Client) -> i64 {
    loop {
        if let Packet::Push { command: 101, body } = client.packet().await {
            return quote::PushQuote::decode(&*body).unwrap().sequence;
        }
    }
}

#[tokio::test]
async fn ingested_rows_have_the_same_numbers_on_every_node() {
    let one = Running::start().await;
    let two = beside(&one).await;
    one.go_live();
    two.go_live();
    let terms = Terms { rate: Some(RateRule::Unlimited), ..Terms::default() };
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", terms) };
    let operator = one.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    let account = one.account("ann", Terms::default());
    let ingest = async |seq: u32, high: &str| {
        let row = json!({"symbol": "AAPL.US", "time": 1_794_839_520, "open": "190.3", "high": high,
            "low": "190.1", "close": "190.2", "volume": 100 * seq, "turnover": "19000", "final": true});
        let batch = json!({"source": "feed", "seq": seq, "rows": [row]});
        let answer = one.post("/v1/ingest/candles", &operator, &batch.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    let sign_in = async |node: &Running| {
        let mut client = node.websocket().await;
        client.sign_in(&node.one_time_password(&account).await, &[]).await;
        client
    };
    ingest(1, "190.4").await;
    let mut there = sign_in(&two).await;
    let mut last = first_quote(&mut there).await;
    for (seq, high) in [(2, "190.5"), (3, "190.6")] {
        ingest(seq, high).await;
        let pushed = next_quote(&mut there).await;
        assert!(pushed > last, "{pushed} after {last}");
        last = pushed;
        // All nodes send the same number, even those that have not pushed this quote. One of them
        // has just started.
        let three = beside(&one).await;
        three.go_live();
        for node in [&one, &two, &three] {
            assert_eq!(first_quote(&mut sign_in(node).await).await, last);
        }
    }
}

/// 10:32 on Monday 16 November 2026 in New York.
const LATER: i64 = 1_794_843_120;

/// Sends a minute of AAPL.US.
async fn trade(node: &Running, operator: &Created, seq: i64) {
    let row = json!({"symbol": "AAPL.US", "time": LATER - 3_600 + 60 * seq, "open": "190", "high": "190",
        "low": "190", "close": "190", "volume": 100, "turnover": "19000", "final": true});
    let batch = json!({"source": "feed", "seq": seq, "rows": [row]});
    let answer = node.post("/v1/ingest/candles", operator, &batch.to_string()).await;
    assert_eq!(answer.json()["data"]["accepted"], 1, "{answer:?}");
}

async fn subscribe_to_trades(client: &mut Client) {
    let request = quote::SubscribeRequest {
        symbol: vec!["AAPL.US".to_owned()],
        sub_type: vec![4],
        is_first_push: false,
    };
    let answer: quote::SubscriptionsResponse = client.ask(6, &request).await.unwrap();
    assert_eq!(answer.sub_list.len(), 1);
}

/// Returns the next push of trades.
async fn next_trades(client: &mut Client) -> quote::PushTrades {
    let packet = client.packet().await;
    let Packet::Push { command: 104, body } = packet else { panic!("{packet:?}") };
    quote::PushTrades::decode(&*body).unwrap()
}

#[tokio::test]
async fn trades_that_a_client_missed_follow_after_a_reconnect_at_another_node() {
    let one = Running::start().await;
    let two = beside(&one).await;
    for node in [&one, &two] {
        node.set_now(LATER);
        node.go_live();
    }
    let terms = Terms { rate: Some(RateRule::Unlimited), ..Terms::default() };
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", terms) };
    let operator = one.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    let (ann, bob) = (one.account("ann", Terms::default()), one.account("bob", Terms::default()));
    let mut witness = two.signed_in(&bob).await;
    subscribe_to_trades(&mut witness).await;
    let mut client = one.websocket().await;
    let session = client.sign_in(&one.one_time_password(&ann).await, &[]).await.session_id;
    subscribe_to_trades(&mut client).await;
    trade(&two, &operator, 1).await;
    assert_eq!(next_trades(&mut client).await, next_trades(&mut witness).await);

    // The link breaks, and the client returns at the other node and at the first one again.
    for (node, seq) in [(&two, 2), (&one, 4)] {
        drop(client);
        two.until_online(&ann, 0).await;
        let mut missed = Vec::new();
        for seq in [seq, seq + 1] {
            trade(&one, &operator, seq).await;
            missed.push(next_trades(&mut witness).await);
        }
        client = node.websocket().await;
        reconnect(&mut client, &session).await;
        subscribe_to_trades(&mut client).await;
        for missed in missed {
            assert_eq!(next_trades(&mut client).await, missed, "{seq}");
        }
        // Nothing is sent twice.
        assert!(client.is_alive().await);
    }
}

#[tokio::test]
async fn either_node_lists_subscriptions_and_streams_of_all_nodes() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", Terms::default());
    let mut client = one.signed_in(&account).await;
    let subscribe = async |client: &mut Client, command: u8, symbols: &[&str]| {
        let symbol = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        let request = quote::SubscribeRequest { symbol, sub_type: vec![1], is_first_push: false };
        client.ask::<quote::SubscriptionsResponse>(command, &request).await.unwrap();
    };
    subscribe(&mut client, 6, &["700.HK", "9999.HK", "XX"]).await;
    let mut stream = tokio::net::TcpStream::connect(one.addresses.http).await.unwrap();
    let head = format!("GET /v1/live?symbols=AAPL.US,YY HTTP/1.1\r\nhost: x\r\n{}\r\n", bearer(&account));
    tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await.unwrap();
    // The response begins after the stream was registered.
    assert_ne!(tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 64]).await.unwrap(), 0);
    for node in [&one, &two] {
        let listed = node.get("/v1/connections", &account).await.json()["data"].take();
        let of_connection = json!({"count": 1, "waiting": ["9999.HK"],
            "left_out": [{"symbol": "XX", "reason": "malformed"}]});
        let of_stream =
            json!({"count": 1, "waiting": [], "left_out": [{"symbol": "YY", "reason": "malformed"}]});
        assert_eq!(listed["connections"][0]["subscriptions"], of_connection, "{listed}");
        assert_eq!((&listed["online"], &listed["streams"][0]["subscriptions"]), (&json!(1), &of_stream));
    }
    // What is no longer pending is not shown any more.
    subscribe(&mut client, 7, &["9999.HK"]).await;
    let listed = two.get("/v1/connections", &account).await.json()["data"].take();
    assert_eq!(listed["connections"][0]["subscriptions"]["waiting"], json!([]), "{listed}");
}
