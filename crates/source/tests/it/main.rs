//! Tests against a scripted server on loopback.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod server;

use std::time::Duration;

use market::Timestamp;
use prost::Message as _;
use server::{Script, Step};
use source::{
    Adjust, Answer, Connection, Count, Credentials, Event, Kind, OneTimePassword, Period, Request,
    SecretText, Sessions, SourceError, one_time_password,
};
use wire::control::Close;
use wire::quote::{Candlestick, SecurityCandlestickResponse};
use wire::{Packet, Status, command};

/// Timeout that makes a hanging test fail.
const PATIENCE: Duration = Duration::from_secs(20);

fn credentials() -> Credentials {
    Credentials::Key {
        app_key: "key_demo_0001".to_owned(),
        app_secret: SecretText::new("secret_demo_0001"),
        access_token: SecretText::new("tok_demo_0001"),
    }
}

fn password(script: &Script) -> OneTimePassword {
    one_time_password(&script.addresses(), &credentials(), 1_700_000_000_000).unwrap()
}

fn open(script: &Script) -> Connection {
    Connection::open(&script.addresses(), &password(script), true).unwrap()
}

fn page(symbol: &str) -> Request {
    Request::History {
        symbol: symbol.parse().unwrap(),
        period: Period::Day,
        adjust: Adjust::Actual,
        sessions: Sessions::Regular,
        anchor: None,
        count: Count::MAX,
    }
}

fn candles(symbol: &str, time: i64) -> Vec<u8> {
    let text = |text: &str| text.to_owned();
    let row = |place: i64| Candlestick {
        close: text("2.000"),
        open: text("1.500"),
        low: text("1.000"),
        high: text("2.500"),
        volume: 7,
        turnover: text("12.345"),
        timestamp: time + place * 60,
        trade_session: 0,
    };
    // The body is long enough to be compressed.
    SecurityCandlestickResponse { symbol: symbol.to_owned(), candlesticks: (0..100).map(row).collect() }
        .encode_to_vec()
}

fn next(connection: &mut Connection) -> (source::RequestId, Result<Answer, SourceError>) {
    loop {
        match connection.receive(PATIENCE).unwrap() {
            Some(Event::Answer { id, answer }) => return (id, answer),
            Some(Event::Push { .. }) => {}
            None => panic!("no answer"),
        }
    }
}

fn time_of(answer: Result<Answer, SourceError>) -> Timestamp {
    match answer.unwrap() {
        Answer::Candles(page) => page.candles[0].time,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_signs_in_like_the_sdks() {
    let script = Script::start(vec![]);
    drop(open(&script));
    let seen = script.stop();
    let http = seen.http.to_ascii_lowercase();
    for part in [
        "get /v1/socket/token http/1.1\r\n",
        "x-api-key: key_demo_0001\r\n",
        "authorization: tok_demo_0001\r\n",
        "x-timestamp: 1700000000000\r\n",
        "x-api-signature: hmac-sha256 signedheaders=authorization;x-api-key;x-timestamp, signature=",
        "user-agent: chandler-mirror/",
    ] {
        assert!(http.contains(part), "{part:?} is not in {http:?}");
    }
    let upgrade = seen.upgrade.to_ascii_lowercase();
    assert!(upgrade.starts_with("get /v2?version=1&codec=1&platform=9 http/1.1\r\n"), "{upgrade}");
    assert!(upgrade.contains("user-agent: chandler-mirror/"), "{upgrade}");
    assert_eq!(seen.token, "otp-7f3a");
    assert_eq!(seen.metadata["need_over_night_quote"], "true");
}

#[test]
fn responses_may_arrive_in_any_order() {
    let answers = vec![
        Step::Wait,
        Step::Wait,
        Step::Answer { request: 1, status: Status::Success, body: candles("5.HK", 200), packed: true },
        Step::Ping,
        Step::Push(101),
        Step::Answer { request: 0, status: Status::Success, body: candles("700.HK", 100), packed: false },
    ];
    let script = Script::start(answers);
    let mut connection = open(&script);
    let first = connection.send(page("700.HK")).unwrap();
    let second = connection.send(page("5.HK")).unwrap();
    assert_eq!(connection.in_work(), 2);
    let (id, answer) = next(&mut connection);
    assert_eq!((id, time_of(answer)), (second, Timestamp(200)));
    let (id, answer) = next(&mut connection);
    assert_eq!((id, time_of(answer)), (first, Timestamp(100)));
    drop(connection);
    let seen = script.stop();
    assert_eq!(seen.commands, [command::HISTORY, command::HISTORY]);
    assert_eq!(seen.pongs, 1);
}

#[test]
fn refusals_have_a_kind_and_do_not_close_the_connection() {
    let cases = [
        (Status::ServerError, 301_600, Kind::Invalid),
        (Status::BadRequest, 301_600, Kind::Invalid),
        (Status::ServerError, 301_602, Kind::Server),
        (Status::ServerTimeout, 301_602, Kind::Server),
        (Status::ServerError, 301_603, Kind::NoQuotes),
        (Status::ServerError, 301_604, Kind::NoAccess),
        (Status::BadRequest, 301_606, Kind::TooFast),
        (Status::ServerError, 301_607, Kind::QuotaSpent),
        (Status::ServerError, 999, Kind::Other),
    ];
    let steps = cases.iter().enumerate().flat_map(|(request, (status, code, _))| {
        let body = wire::refusal_body(*code, "why\u{7}");
        [Step::Wait, Step::Answer { request, status: *status, body, packed: false }]
    });
    let script = Script::start(steps.collect());
    let mut connection = open(&script);
    for (_, code, kind) in cases {
        connection.send(page("700.HK")).unwrap();
        let error = next(&mut connection).1.unwrap_err();
        assert_eq!((error.kind(), error.ends_connection()), (Some(kind), false), "{code}");
        assert!(error.to_string().contains("why (status"), "{error}");
    }
}

#[test]
fn a_closed_connection_reports_the_reason() {
    let reason = Close { code: 2, reason: "maintenance".to_owned() }.encode_to_vec();
    let script = Script::start(vec![Step::Wait, Step::Bytes(push(0, reason)), Step::Hang]);
    let mut connection = open(&script);
    connection.send(page("700.HK")).unwrap();
    let error = connection.receive(PATIENCE).unwrap_err();
    assert_eq!(error.to_string(), "the connection was closed: maintenance");
    assert!(error.ends_connection());
}

fn push(command: u8, body: Vec<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Packet::Push { command, body: body.into() }.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_refused_sign_in_is_permanent() {
    let script = Script::start(vec![Step::RefuseSignIn]);
    let error = Connection::open(&script.addresses(), &password(&script), false).unwrap_err();
    assert!(error.is_permanent(), "{error}");
}

#[test]
fn an_invalid_packet_ends_the_connection() {
    for bytes in [vec![], vec![0x0f], vec![2, 27, 0, 0]] {
        let script = Script::start(vec![Step::Wait, Step::Bytes(bytes)]);
        let mut connection = open(&script);
        connection.send(page("700.HK")).unwrap();
        let error = connection.receive(PATIENCE).unwrap_err();
        assert!(matches!(error, SourceError::Invalid { .. }), "{error}");
    }
}

#[test]
fn waiting_without_a_request_times_out() {
    let script = Script::start(vec![Step::Ping]);
    let mut connection = open(&script);
    assert!(connection.receive(Duration::from_millis(1)).unwrap().is_none());
}
