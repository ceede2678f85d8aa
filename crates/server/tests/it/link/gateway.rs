//! Gateway detection. The quote and trade gateways share an address, and commands 16 and 17 have a
//! different meaning on each gateway.

use access::{Created, RateRule, Terms};
use wire::{control, quote, trade};

use crate::support::{Client, Running, TRANSPORTS, TransportLabel, request};

/// Bodies of commands 16 and 17 that clients of either gateway send, and invalid bodies. The last
/// body identifies a trade client.
const BODIES: [(u8, &str, &[u8]); 9] = [
    (16, "nothing", &[]),
    (16, "an unknown field", &[0x10, 5]),
    (16, "garbage", &[0x0a, 0x7f, 1]),
    (17, "nothing", &[]),
    (17, "topics", b"\x0a\x07private"),
    (17, "symbol and count", b"\x0a\x06700.HK\x10\x05"),
    (17, "symbol and no count", b"\x0a\x06700.HK\x10\x00"),
    (17, "garbage", &[0x0a, 0x7f, 1]),
    (16, "topics", b"\x0a\x07private"),
];

/// Sends a command and returns how it was interpreted: by the trade gateway, by the quote gateway,
/// or as malformed.
async fn meaning(client: &mut Client, command: u8, body: &[u8]) -> &'static str {
    client.send(&request(command, 8, 0, body)).await;
    match client.response().await.1 {
        Ok(_) if command == 16 => "subscribed",
        Ok(_) => "unsubscribed",
        Err((7, 301_602, text)) if text == "participants are not offered here" => "participants",
        // The quote gateway refuses an unknown symbol, a missing count, or a security without
        // trades.
        Err((7, 301_600 | 301_603, _)) if command == 17 => "trades",
        Err((3, 301_600, text)) if text.contains("decoded") => "malformed",
        other => panic!("{other:?}"),
    }
}

/// Returns terms without a rate limit, because the tests send many requests.
fn unlimited() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

/// A kind of client: name, transport, and headers of the upgrade request.
#[derive(Clone, Copy, Debug)]
struct Kind(&'static str, TransportLabel, &'static str);

const KINDS: [Kind; 4] = [
    Kind("websocket", TransportLabel::WebSocket, ""),
    Kind("tcp", TransportLabel::Tcp, ""),
    Kind(
        "browser",
        TransportLabel::WebSocket,
        "accept-language: en\r\nuser-agent: x\r\norigin: http://test\r\n",
    ),
    Kind("core SDK", TransportLabel::WebSocket, "accept-language: en\r\nx-dc-region: ap\r\n"),
];

/// Requests that a client sent before commands 16 and 17.
const HISTORIES: [&str; 8] = [
    "",
    "asked",
    "profile",
    "subscribed",
    "came back",
    "asked, came back",
    "profile, came back",
    "subscribed, came back",
];

const METADATA: [(&str, &[(&str, &str)]); 3] = [
    ("", &[]),
    ("language", &[("accept-language", "en")]),
    ("overnight", &[("need_over_night_quote", "true"), ("unknown", "x")]),
];

async fn connect(server: &Running, Kind(_, transport, head): Kind) -> Client {
    match transport {
        TransportLabel::WebSocket => server.websocket_with(server.addresses.http, "/v2", head).await,
        TransportLabel::Tcp => server.tcp().await,
    }
}

async fn client(
    server: &Running,
    account: &Created,
    kind: Kind,
    metadata: &[(&str, &str)],
    history: &str,
) -> Client {
    let otp = server.one_time_password(account).await;
    let mut client = connect(server, kind).await;
    let session = client.sign_in(&otp, metadata).await;
    if history.starts_with("asked") {
        client.ask::<quote::TradingSessionsResponse>(8, &()).await.unwrap();
    }
    if history.starts_with("profile") {
        client.ask::<quote::QuoteProfileResponse>(4, &()).await.unwrap();
    }
    if history.starts_with("subscribed") {
        let topics = trade::SubscribeRequest { topics: vec!["private".to_owned()] };
        client.ask::<trade::SubscribeResponse>(16, &topics).await.unwrap();
    }
    if history.ends_with("came back") {
        client = connect(server, kind).await;
        let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let request = control::ReconnectRequest { session_id: session.session_id, metadata };
        client.ask::<control::AuthResponse>(3, &request).await.unwrap();
    }
    client
}

/// Returns the expected interpretation, by an independent implementation of the specified rule.
fn wanted(kind: Kind, is_quote: bool, history: &str, command: u8, body: &str) -> &'static str {
    let has_subscribed = history.starts_with("subscribed");
    let is_quote = !has_subscribed && (is_quote || history.starts_with("profile"));
    match (command, body) {
        (16, "topics") => "subscribed",
        (16, _) if is_quote => "participants",
        (17, _) if is_quote && body != "garbage" => "trades",
        (_, "garbage") => "malformed",
        // The SDK sends an empty command 16 automatically when it reconnects to the trade gateway.
        (16, _) if has_subscribed || (kind.0 == "core SDK" && history == "came back") => "subscribed",
        (16, _) => "participants",
        (17, "symbol and count" | "symbol and no count") => "trades",
        _ => "unsubscribed",
    }
}

#[tokio::test]
async fn the_gateway_is_detected_from_earlier_requests_and_the_body() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { connections: 1000, ..unlimited() });
    for kind in KINDS {
        for (named, metadata) in METADATA {
            for history in HISTORIES {
                let mut client = client(&server, &account, kind, metadata, history).await;
                let is_quote = !metadata.is_empty();
                for (command, body, bytes) in BODIES {
                    assert_eq!(
                        meaning(&mut client, command, bytes).await,
                        wanted(kind, is_quote, history, command, body),
                        "{}, metadata {named:?}, history {history:?}: {command} with {body}",
                        kind.0
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn the_upgrade_path_determines_the_gateway() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { connections: 1000, ..unlimited() });
    for (_, metadata) in METADATA {
        for (path, commands) in
            [("/v2/quote", ["participants", "trades"]), ("/trade", ["subscribed", "unsubscribed"])]
        {
            for head in [KINDS[0].2, KINDS[3].2] {
                let mut client = server.websocket_with(server.addresses.http, path, head).await;
                client.sign_in(&server.one_time_password(&account).await, metadata).await;
                for _ in 0..2 {
                    for (command, body, bytes) in BODIES {
                        let is_read = body != "garbage" || (path == "/v2/quote" && command == 16);
                        let wanted = if is_read { commands[usize::from(command - 16)] } else { "malformed" };
                        let found = meaning(&mut client, command, bytes).await;
                        assert_eq!(found, wanted, "{path}, metadata {metadata:?}: {command} with {body}");
                    }
                    // A command of the other gateway is answered as usual and does not change the
                    // gateway.
                    client.ask::<quote::QuoteProfileResponse>(4, &()).await.unwrap();
                }
            }
        }
    }
}

#[tokio::test]
async fn a_trade_client_may_have_no_topics() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        let topics = vec!["private".to_owned()];
        let subscribe = trade::SubscribeRequest { topics: topics.clone() };
        let answer: trade::SubscribeResponse = client.ask(16, &subscribe).await.unwrap();
        assert_eq!((answer.success, answer.fail.len(), answer.current), (topics.clone(), 0, topics.clone()));
        let unsubscribe = trade::UnsubscribeRequest { topics };
        client.ask::<trade::UnsubscribeResponse>(17, &unsubscribe).await.unwrap();
        let none: trade::SubscribeResponse =
            client.ask(16, &trade::SubscribeRequest::default()).await.unwrap();
        assert_eq!(none, Default::default());
    }
}

#[tokio::test]
async fn a_second_sign_in_does_not_change_the_gateway() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let mut client = server.enter(TransportLabel::WebSocket, &account, &[]).await;
    client.ask::<quote::QuoteProfileResponse>(4, &()).await.unwrap();
    client.sign_in(&server.one_time_password(&account).await, &[]).await;
    assert_eq!(meaning(&mut client, 17, b"\x0a\x07private").await, "trades");
}

#[tokio::test]
async fn a_packet_in_a_text_frame_is_accepted() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let mut client = server.websocket().await;
    let otp = server.one_time_password(&account).await;
    let auth = control::AuthRequest { token: otp, metadata: Default::default() };
    client.frame(0x81, &request(2, 1, 0, &prost::Message::encode_to_vec(&auth))).await;
    client.response().await.1.unwrap();
    // The frame is fragmented, and its bytes are not valid UTF-8.
    let days = quote::TradingDaysRequest {
        market: "HK".to_owned(),
        beg_day: "20261019".to_owned(),
        end_day: "20261023".to_owned(),
    };
    let packet = request(9, 0xffff_fffe, 0, &prost::Message::encode_to_vec(&days));
    assert!(std::str::from_utf8(&packet).is_err());
    client.frame(0x01, &packet[..7]).await;
    client.frame(0x80, &packet[7..]).await;
    let (id, answer) = client.response().await;
    assert_eq!(id, 0xffff_fffe);
    let answer: quote::TradingDaysResponse = prost::Message::decode(&*answer.unwrap()).unwrap();
    assert!(answer.trade_day.contains(&"20261020".to_owned()), "{answer:?}");
    // Responses are always binary frames, because other clients reject text frames.
    client.frame(0x82, &request(1, 3, 0, b"binary")).await;
    assert_eq!(client.response().await, (3, Ok(b"binary".to_vec())));
}
