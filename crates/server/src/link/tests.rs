//! Connection timeouts, with tokio's paused clock.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, advance, timeout};
use wire::quote::{
    CalcIndexesRequest, IntradayRequest, OffsetRequest, SecurityCandlestickRequest,
    SecurityHistoryCandlestickRequest, SymbolsRequest,
};
use wire::{Limits, Packet, Status, control};

use super::house::{BOTH, House, Kind, NOW, Seen};
use super::{Arrival, Link, Program, Transport, UNSENT_MAX};
use crate::jobs;
use crate::market_clock::tests::Ticking;
use crate::metrics::JobName;
use crate::settings::Settings;

const SECOND: Duration = Duration::from_secs(1);

fn websocket(kind: Kind, code: u16) -> Option<u16> {
    (kind == Kind::WebSocket).then_some(code)
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_sign_in_is_closed_after_ten_seconds() {
    let house = House::new();
    for kind in BOTH {
        let begun = Instant::now();
        let mut far = house.connect(kind);
        // A heartbeat does not extend the sign-in deadline.
        advance(5 * SECOND).await;
        far.request(1, 1, Vec::new()).await;
        let Seen::Packet(Packet::Response { command: 1, .. }) = far.see().await else { panic!() };
        assert_eq!(far.closed().await, (4, websocket(kind, 1008)));
        assert_eq!(begun.elapsed().as_secs(), 10, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_pinged_and_closed_after_ninety_seconds() {
    let house = House::new();
    let account = house.account("ann", 10);
    for kind in BOTH {
        let (mut far, _) = house.signed_in(kind, &account).await;
        let begun = Instant::now();
        for number in 1..=2_u32 {
            match far.see().await {
                Seen::Ping(payload) => assert_eq!(payload, number.to_be_bytes()),
                Seen::Packet(Packet::Request { command: 1, id, .. }) => assert_eq!(id, number),
                other => panic!("{other:?}"),
            }
            assert_eq!(begun.elapsed().as_secs(), u64::from(number) * 30);
        }
        assert_eq!(far.closed().await, (0, websocket(kind, 1001)));
        assert_eq!(begun.elapsed().as_secs(), 90, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_stays_connected() {
    let house = House::new();
    let account = house.account("ann", 10);
    for kind in BOTH {
        let (mut far, _) = house.signed_in(kind, &account).await;
        let begun = Instant::now();
        for _ in 0..100 {
            match far.see().await {
                Seen::Ping(payload) => far.frame(0x8a, &payload).await,
                Seen::Packet(Packet::Request { command, id, .. }) => {
                    let answer =
                        Packet::Response { command, id, status: Status::Success, body: Vec::new().into() };
                    far.send(answer).await;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(begun.elapsed().as_secs(), 3000, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_sign_in_is_answered_immediately_and_closed_after_two_seconds() {
    let house = House::new();
    let account = house.account("ann", 1);
    let (_taken, session) = house.signed_in(Kind::WebSocket, &account).await;
    let (invalid, full) = (Err((Status::Unauthenticated, 401_004)), Err((Status::PermissionDenied, 403)));
    for kind in BOTH {
        let otp = house.otp(&account);
        for (case, close) in [("otp", 4), ("session", 5), ("seat", 6)] {
            let mut far = house.connect(kind);
            let begun = Instant::now();
            let answer = match case {
                "otp" => far.auth("o_nothing").await,
                "session" => far.reconnect(&session.session_id[1..]).await,
                _ => far.auth(&otp).await,
            };
            assert_eq!(answer.map(drop), if case == "seat" { full } else { invalid }, "{case}");
            assert_eq!(begun.elapsed(), Duration::ZERO);
            assert_eq!(far.closed().await, (close, websocket(kind, 1008)), "{case}");
            assert_eq!(begun.elapsed().as_secs(), 2, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_client_may_retry_but_gets_no_extra_time() {
    let house = House::new();
    let account = house.account("ann", 1);
    let mut far = house.connect(Kind::WebSocket);
    far.auth("o_nothing").await.unwrap_err();
    advance(SECOND).await;
    far.auth(&house.otp(&account)).await.unwrap();
    advance(5 * SECOND).await;
    far.request(1, 9, b"here".to_vec()).await;
    let Seen::Packet(Packet::Response { id: 9, .. }) = far.see().await else { panic!("it is gone") };
    drop(far);

    let mut far = house.connect(Kind::WebSocket);
    let begun = Instant::now();
    for _ in 0..3 {
        far.auth("o_nothing").await.unwrap_err();
        advance(SECOND / 2).await;
    }
    assert_eq!(far.closed().await.0, 4);
    assert_eq!(begun.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_one_time_password_is_valid_once_and_for_a_minute() {
    let house = House::new();
    let account = house.account("ann", 10);
    let (late, in_time) = (house.otp(&account), house.otp(&account));
    advance(59 * SECOND).await;
    house.connect(Kind::WebSocket).auth(&in_time).await.unwrap();
    let again = house.connect(Kind::Tcp).auth(&in_time).await;
    assert_eq!(again.map(drop), Err((Status::Unauthenticated, 401_004)));
    advance(SECOND).await;
    let late = house.connect(Kind::Tcp).auth(&late).await;
    assert_eq!(late.map(drop), Err((Status::Unauthenticated, 401_003)));
}

#[tokio::test(start_paused = true)]
async fn the_slot_of_an_unresponsive_client_is_reused() {
    let house = House::new();
    let account = house.account("ann", 1);
    let (mut dead, _) = house.signed_in(Kind::WebSocket, &account).await;
    let otp = house.otp(&account);
    let refused = Err((Status::PermissionDenied, 403));
    // The ping is sent after thirty seconds. Nine seconds later the slot cannot be reused yet.
    advance(39 * SECOND).await;
    assert!(matches!(dead.see().await, Seen::Ping(_)));
    assert_eq!(house.connect(Kind::WebSocket).auth(&otp).await.map(drop), refused);
    advance(10 * SECOND).await;
    let answer = house.connect(Kind::WebSocket).auth(&otp).await.unwrap();
    assert_eq!((answer.online, answer.limit), (1, 1));
    assert_eq!(dead.closed().await, (0, Some(1001)));
}

#[tokio::test(start_paused = true)]
async fn the_slot_of_a_responsive_client_is_not_reused() {
    let house = House::new();
    let account = house.account("ann", 1);
    let (mut alive, _) = house.signed_in(Kind::WebSocket, &account).await;
    let Seen::Ping(payload) = alive.see().await else { panic!() };
    alive.frame(0x8a, &payload).await;
    advance(20 * SECOND).await;
    let taken = house.connect(Kind::WebSocket).auth(&house.otp(&account)).await;
    assert_eq!(taken.map(drop), Err((Status::PermissionDenied, 403)));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_closed_after_thirty_seconds() {
    let house = House::new();
    let account = house.account("ann", 10);
    let narrow = 16 << 10;
    for kind in BOTH {
        let mut far = house.connect_narrow(kind, narrow);
        far.auth(&house.otp(&account)).await.unwrap();
        let begun = Instant::now();
        let mut heartbeat = Vec::new();
        let body = vec![1; 1000].into();
        Packet::Request { command: 1, id: 1, timeout_ms: 0, body }.encode(&mut heartbeat).unwrap();
        if kind == Kind::WebSocket {
            let mut frame = vec![0x82, 0x80 | 126];
            frame.extend_from_slice(&u16::try_from(heartbeat.len()).unwrap().to_be_bytes());
            frame.extend_from_slice(&[0; 4]);
            frame.append(&mut heartbeat);
            heartbeat = frame;
        }
        let mut sent = 0;
        // Writes until the server stops reading. The write fails once the server closes the
        // connection.
        while far.stream.write_all(&heartbeat).await.is_ok() {
            sent += heartbeat.len();
        }
        let bound = UNSENT_MAX + 2 * narrow + 8192 + 2048;
        assert!(sent > UNSENT_MAX && sent < bound, "{sent} bytes were taken, at most {bound} expected");
        assert_eq!(begun.elapsed().as_secs(), 30, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_that_reads_a_little_gets_everything() {
    let house = House::new();
    let account = house.account("ann", 10);
    let mut far = house.connect_narrow(Kind::Tcp, 16 << 10);
    far.auth(&house.otp(&account)).await.unwrap();
    let (mut reads, mut writes) = tokio::io::split(far.stream);
    let count = 600;
    let sending = tokio::spawn(async move {
        for id in 0..count {
            let mut bytes = Vec::new();
            let body = vec![1; 1000].into();
            Packet::Request { command: 1, id, timeout_ms: 0, body }.encode(&mut bytes).unwrap();
            writes.write_all(&bytes).await.unwrap();
        }
        // Send client traffic, like the answer to a ping.
        while writes.write_all(&[3, 9, 0, 0, 0]).await.is_ok() {
            tokio::time::sleep(30 * SECOND).await;
        }
    });
    let mut decoder = wire::Decoder::new(Limits::HIGHEST);
    assert_eq!(decoder.decode(&mut &wire::HANDSHAKE[..]), Ok(None));
    let (mut answers, mut room) = (0, [0; 20_200]);
    // The client reads a little every twenty seconds. This takes minutes, but the client is neither
    // dead nor stalled.
    while answers < count {
        let read = timeout(SECOND, reads.read(&mut room)).await.expect("it is not stuck").unwrap();
        assert!(read > 0, "closed after {answers} answers");
        let mut input = &room[..read];
        while let Some(packet) = decoder.decode(&mut input).unwrap() {
            // Skip requests from the server.
            if let Packet::Response { id, .. } = packet {
                assert_eq!(id, answers);
                answers += 1;
            }
        }
        tokio::time::sleep(20 * SECOND).await;
    }
    assert!(!sending.is_finished());
}

/// Returns `count` requests for a thousand candles each, framed for a WebSocket.
fn thousands(count: u32) -> Vec<u8> {
    let latest = wire::quote::SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1000,
        count: 1000,
        ..Default::default()
    };
    let mut bytes = Vec::new();
    for id in 0..count {
        let mut packet = Vec::new();
        let body = latest.encode_to_vec().into();
        Packet::Request { command: 19, id, timeout_ms: 0, body }.encode(&mut packet).unwrap();
        bytes.extend_from_slice(&[0x82, 0x80 | u8::try_from(packet.len()).unwrap(), 0, 0, 0, 0]);
        bytes.append(&mut packet);
    }
    bytes
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_stop_at_the_unsent_limit() {
    let house = House::with_days();
    let account = house.account("ann", 10);
    let (mut far, _) = house.signed_in(Kind::WebSocket, &account).await;
    far.stream.write_all(&thousands(1)).await.unwrap();
    let Seen::Packet(Packet::Response { status: Status::Success, body, .. }) = far.see().await else {
        panic!()
    };
    assert!(body.len() > 50_000, "{} bytes", body.len());
    // From here on all candles are cached and could be answered inline.
    let (near, _far) = tokio::io::duplex(64);
    let address = ([127, 0, 0, 1], 53_124).into();
    let from =
        Arrival { address, region: None, program: Program::Other, unauthenticated: Default::default() };
    let mut link = Link::new(near, Transport::websocket(), from, house.hub.clone());
    let auth = control::AuthRequest { token: house.otp(&account), metadata: Default::default() };
    let mut packet = Vec::new();
    let body = auth.encode_to_vec().into();
    Packet::Request { command: 2, id: 1, timeout_ms: 0, body }.encode(&mut packet).unwrap();
    let head = [0x82, 0x80 | u8::try_from(packet.len()).unwrap(), 0, 0, 0, 0];
    link.read(&[&head[..], &packet].concat()).unwrap();
    assert!(link.session.is_some());
    let flood = thousands(100);
    link.read(&flood).unwrap();
    let unsent = link.outbox.bytes();
    assert!(unsent >= UNSENT_MAX && unsent < UNSENT_MAX + body_max(), "{unsent} bytes wait");
    assert!(link.pending.is_none());
    assert!(flood.ends_with(&link.held) && link.held.len() > flood.len() / 2);
}

/// Upper bound on the size of a response with a thousand candles, in bytes.
fn body_max() -> usize {
    100_000
}

#[tokio::test(start_paused = true)]
async fn a_client_that_only_reads_stays_connected() {
    let house = House::with_days();
    let account = house.account("ann", 10);
    let mut far = house.connect_narrow(Kind::WebSocket, 1024);
    far.auth(&house.otp(&account)).await.unwrap();
    let (mut reads, mut writes) = tokio::io::split(far.stream);
    let sending = tokio::spawn(async move { writes.write_all(&thousands(100)).await });
    let mut room = [0; 1024];
    // The client is silent, and the server does not read, because more responses are queued than
    // the client reads here.
    for number in 0..20 {
        let read = reads.read(&mut room).await.unwrap();
        assert!(read > 0, "closed after {number} kilobytes");
        tokio::time::sleep(20 * SECOND).await;
    }
    assert!(!sending.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_revoked_account_is_closed_at_its_next_request() {
    let house = House::new();
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let (mut far, session) = house.signed_in(kind, &account).await;
        house.core.access.revoke(account.account_id, &access::Actor::Operator, "", NOW).unwrap();
        // A version check is reused for half a millisecond of real time.
        std::thread::sleep(Duration::from_millis(1));
        let begun = Instant::now();
        let refused = far.ask::<control::Error>(4, &control::Error::default()).await;
        assert_eq!(refused.map(drop), Err((Status::Unauthenticated, 401_004)));
        // The connection is no longer signed in.
        let refused = far.ask::<control::Error>(8, &control::Error::default()).await;
        assert_eq!(refused.map(drop), Err((Status::Unauthenticated, 401_004)));
        assert_eq!(far.closed().await, (4, websocket(kind, 1008)));
        assert_eq!(begun.elapsed().as_secs(), 2);
        let back = house.connect(kind).reconnect(&session.session_id).await;
        assert_eq!(back.map(drop), Err((Status::Unauthenticated, 401_004)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_revoked_account_is_closed_at_the_next_ping() {
    let house = House::new();
    for kind in BOTH {
        let account = house.account(if kind == Kind::Tcp { "ann" } else { "bob" }, 10);
        let (mut far, _) = house.signed_in(kind, &account).await;
        house.core.access.revoke(account.account_id, &access::Actor::Operator, "", NOW).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        let begun = Instant::now();
        assert_eq!(far.closed().await, (4, websocket(kind, 1008)));
        assert_eq!(begun.elapsed().as_secs(), 30, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_at_once_when_its_sign_in_ends() {
    let house = House::new();
    let core = &house.core;
    let mut jobs = jobs::of_server(core, &house.hub.links, None, &Settings::default());
    jobs.retain(|job| job.name == JobName::StoreChanges);
    let jobs = jobs::Runner::start(core, jobs);
    for kind in BOTH {
        let revoked = house.account(&format!("revoked {kind:?}"), 10);
        let account = house.account(&format!("{kind:?}"), 10);
        let by = access::Actor::Operator;
        let (mut of_revoked, _) = house.signed_in(kind, &revoked).await;
        let mut of_programs = Vec::new();
        let callers = [1, 2].map(|number| house.oauth(&account, [10, 0, kind as u8, number]));
        for caller in callers {
            let otp = core.access.issue_otp(&caller, core.uptime()).unwrap();
            let mut far = house.connect(kind);
            far.auth(otp.expose()).await.unwrap();
            of_programs.push(far);
        }
        let [of_ended, of_other] = &mut of_programs[..] else { panic!() };
        let begun = Instant::now();
        core.access.revoke(revoked.account_id, &by, "", NOW).unwrap();
        assert_eq!(of_revoked.closed().await, (4, websocket(kind, 1008)));
        let sign_ins = core.access.sign_ins(account.account_id, NOW).unwrap();
        let ended = sign_ins.iter().find(|sign_in| callers[0].is_of(&sign_in.id)).unwrap();
        assert!(core.access.end_sign_in(account.account_id, &ended.id, &by, NOW).unwrap());
        assert_eq!(of_ended.closed().await, (4, websocket(kind, 1008)));
        assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
        // The other sign-in of the same account stays valid.
        of_other.request(1, 1, Vec::new()).await;
        assert!(matches!(of_other.see().await, Seen::Packet(Packet::Response { command: 1, .. })));
    }
    jobs.stop().await;
}

#[tokio::test(start_paused = true)]
async fn heartbeats_are_echoed_and_pings_answered_with_pongs() {
    let house = House::new();
    for kind in BOTH {
        let mut far = house.connect(kind);
        for body in [Vec::new(), b"\x08\x80\xd0\x95\xff\xbc\x31\x10\x07".to_vec(), vec![9; 1024]] {
            far.request(1, u32::MAX, body.clone()).await;
            let expected =
                Packet::Response { command: 1, id: u32::MAX, status: Status::Success, body: body.into() };
            assert_eq!(far.see().await, Seen::Packet(expected));
        }
        far.request(1, 0, vec![9; 1025]).await;
        let Seen::Packet(Packet::Response { id: 0, status, .. }) = far.see().await else { panic!() };
        assert_eq!(status, Status::BadRequest);
    }
    let mut far = house.connect(Kind::WebSocket);
    far.frame(0x89, b"are you there?").await;
    assert_eq!(far.see().await, Seen::Pong(b"are you there?".to_vec()));
}

#[tokio::test(start_paused = true)]
async fn a_close_is_answered_and_takes_at_most_five_seconds() {
    let house = House::new();
    let mut far = house.connect(Kind::WebSocket);
    far.frame(0x88, &1000_u16.to_be_bytes()).await;
    assert_eq!(far.see().await, Seen::Close(1000));
    assert_eq!(far.see().await, Seen::End);
    // The server does not wait for a client that neither reads nor closes.
    let mut far = house.connect_narrow(Kind::WebSocket, 1);
    let begun = Instant::now();
    far.frame(0x81, b"text").await;
    while far.stream.write_all(&[0; 64]).await.is_ok() {}
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn each_request_of_a_connection_reads_the_market_clock_once() {
    let clock = Arc::new(Ticking::default());
    let house = House::with_days().under(clock.clone());
    let symbol = "700.HK".to_owned();
    let symbols = SymbolsRequest { symbol: vec![symbol.clone()] }.encode_to_vec();
    let latest = SecurityCandlestickRequest {
        symbol: symbol.clone(),
        period: 1000,
        count: 2,
        ..SecurityCandlestickRequest::default()
    };
    let offset = OffsetRequest { count: 2, ..OffsetRequest::default() };
    let history = SecurityHistoryCandlestickRequest {
        symbol: symbol.clone(),
        period: 1000,
        query_type: 1,
        offset_request: Some(offset),
        ..SecurityHistoryCandlestickRequest::default()
    };
    let indexes = CalcIndexesRequest { symbols: vec![symbol.clone()], calc_index: vec![1, 8] };
    let requests = [
        (wire::command::PROFILE, Vec::new()),
        (wire::command::TRADING_SESSIONS, Vec::new()),
        (wire::command::STATIC_INFO, symbols.clone()),
        (wire::command::QUOTE, symbols),
        (wire::command::INTRADAY, IntradayRequest { symbol, ..IntradayRequest::default() }.encode_to_vec()),
        (wire::command::CANDLESTICKS, latest.encode_to_vec()),
        (wire::command::CALC_INDEXES, indexes.encode_to_vec()),
        // These requests are charged on a worker thread and then answered by the connection.
        (wire::command::HISTORY, history.encode_to_vec()),
        (wire::command::HISTORY, history.encode_to_vec()),
    ];
    for kind in BOTH {
        // Each kind uses a separate account, because a request above the rate limit would be
        // retried later.
        let account = house.account(&format!("{kind:?}"), 10);
        let (mut far, _) = house.signed_in(kind, &account).await;
        let signed_in = clock.reads();
        for (number, (command, body)) in requests.iter().enumerate() {
            far.request(*command, 7, body.clone()).await;
            let seen = far.see().await;
            let is_answer =
                matches!(seen, Seen::Packet(Packet::Response { id: 7, status: Status::Success, .. }));
            assert!(is_answer, "{command}: {seen:?}");
            assert_eq!(clock.reads() - signed_in, number as i64 + 1, "{kind:?}, command {command}");
        }
    }
}
