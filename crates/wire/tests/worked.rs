//! Encodes and decodes the example packets of the protocol specification, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use prost::Message;
use wire::control::{self, AuthRequest, AuthResponse, Close, Heartbeat};
use wire::quote::{
    AdjustType, Candlestick, DateRequest, Direction, HistoryCandlestickQueryType, OffsetRequest, Period,
    SecurityCandlestickResponse, SecurityHistoryCandlestickRequest,
};
use wire::{
    Decoder, HANDSHAKE, Limits, Packet, Packing, Row, Status, code, compress, encode_candles, push_header,
    refusal_body, response_header,
};

const AUTH: &str = "01 02 00 00 00 01 13 88 00 00 21
    0a 08 6f 74 70 2d 37 66 33 61
    12 15 0a 0f 61 63 63 65 70 74 2d 6c 61 6e 67 75 61 67 65 12 02 65 6e";
const AUTH_ANSWER: &str = "02 02 00 00 00 01 00 00 00 16
    0a 09 73 65 73 73 2d 30 30 30 31 10 80 f0 cc 86 a6 37 18 0a 20 01";
const BY_OFFSET: &str = "01 1b 00 00 00 03 75 30 00 00 23
    0a 06 37 30 30 2e 48 4b 10 e8 07 20 01
    2a 14 08 01 12 08 32 30 32 34 30 31 30 32 1a 04 30 30 30 30 20 05";
const BY_DATE: &str = "01 1b 00 00 00 04 75 30 00 00 13
    0a 07 41 41 50 4c 2e 55 53 10 05 18 01 20 02 32 00 38 64";
const CANDLES: &str = "02 1b 00 00 00 03 00 00 00 49
    0a 06 37 30 30 2e 48 4b 12 3f
    0a 07 33 36 32 2e 30 30 30 12 07 33 36 34 2e 36 30 30 1a 07 33 36 31 2e 36 30 30 22 07 33 36 38 2e 38 30 30
    28 e4 b9 96 05 32 0e 33 39 35 34 35 35 36 38 31 39 2e 30 30 30 38 80 b9 fb 92 06";
const REFUSED: &str = "02 1b 00 00 00 03 07 00 00 0f
    08 a4 b4 12 12 09 6e 6f 20 61 63 63 65 73 73";
const REFUSED_PACKED: &str = "22 1b 00 00 00 03 07 00 00 23
    1f 8b 08 00 00 00 00 00 02 03 e3 58 b2 45 48 88 33 2f 5f 21 31 39 39 b5 b8 18 00 06 0b 9b 27 0f 00 00 00";
const EXPIRED: &str = "03 00 00 00 13 08 05 12 0f 73 65 73 73 69 6f 6e 20 65 78 70 69 72 65 64";
const SILENT: &str = "03 00 00 00 13 12 11 68 65 61 72 74 62 65 61 74 20 74 69 6d 65 6f 75 74";
const HEARTBEAT: &str = "01 01 00 00 00 07 00 00 00 00 09 08 80 d0 95 ff bc 31 10 07";
const HEARTBEAT_ANSWER: &str = "02 01 00 00 00 07 00 00 00 09 08 80 d0 95 ff bc 31 10 07";

fn bytes(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Checks over both transports that the packet and its body encode to the bytes in `hex` and decode
/// from them.
fn check<M: Message + Default + PartialEq + Debug>(hex: &str, packet: &Packet<'_>, message: &M) {
    let bytes = bytes(hex);
    let mut written = Vec::new();
    packet.encode(&mut written).unwrap();
    assert_eq!(written, bytes);
    assert_eq!(Packet::decode(&bytes, Limits::REQUEST).as_ref(), Ok(packet));
    let stream = [&HANDSHAKE, &bytes[..]].concat();
    let mut input = &stream[..];
    let decoded = Decoder::new(Limits::REQUEST).decode(&mut input).unwrap();
    assert_eq!((decoded.as_ref(), input), (Some(packet), &[][..]));
    assert_eq!(message.encode_to_vec(), packet.body());
    assert_eq!(M::decode(packet.body()).as_ref(), Ok(message));
}

fn request<M: Message>(command: u8, id: u32, timeout_ms: u16, message: &M) -> Packet<'static> {
    Packet::Request { command, id, timeout_ms, body: message.encode_to_vec().into() }
}

fn response<M: Message>(command: u8, id: u32, status: Status, message: &M) -> Packet<'static> {
    Packet::Response { command, id, status, body: message.encode_to_vec().into() }
}

fn language() -> BTreeMap<String, String> {
    BTreeMap::from([("accept-language".to_owned(), "en".to_owned())])
}

#[test]
fn a_login_has_the_specified_bytes() {
    let auth = AuthRequest { token: "otp-7f3a".into(), metadata: language() };
    check(AUTH, &request(2, 1, 5000, &auth), &auth);
    let answer =
        AuthResponse { session_id: "sess-0001".into(), expires: 1_900_000_000_000, limit: 10, online: 1 };
    check(AUTH_ANSWER, &response(2, 1, Status::Success, &answer), &answer);
}

#[test]
fn a_history_query_by_offset_omits_zero_fields() {
    let query = SecurityHistoryCandlestickRequest {
        symbol: "700.HK".into(),
        period: Period::Day.into(),
        adjust_type: AdjustType::None.into(),
        query_type: HistoryCandlestickQueryType::ByOffset.into(),
        offset_request: Some(OffsetRequest {
            direction: Direction::Forward.into(),
            date: "20240102".into(),
            minute: "0000".into(),
            count: 5,
        }),
        date_request: None,
        trade_session: 0,
    };
    check(BY_OFFSET, &request(27, 3, 30_000, &query), &query);
}

#[test]
fn a_history_query_by_date_may_omit_both_dates() {
    let query = SecurityHistoryCandlestickRequest {
        symbol: "AAPL.US".into(),
        period: Period::FiveMinutes.into(),
        adjust_type: AdjustType::Forward.into(),
        query_type: HistoryCandlestickQueryType::ByDate.into(),
        offset_request: None,
        date_request: Some(DateRequest::default()),
        trade_session: 100,
    };
    check(BY_DATE, &request(27, 4, 30_000, &query), &query);
}

#[test]
fn both_encoders_write_the_specified_candle() {
    let candlestick = Candlestick {
        close: "362.000".into(),
        open: "364.600".into(),
        low: "361.600".into(),
        high: "368.800".into(),
        volume: 10_853_604,
        turnover: "3954556819.000".into(),
        timestamp: 1_650_384_000,
        trade_session: 0,
    };
    let answer = SecurityCandlestickResponse { symbol: "700.HK".into(), candlesticks: vec![candlestick] };
    check(CANDLES, &response(27, 3, Status::Success, &answer), &answer);

    let row = Row {
        time: 1_650_384_000,
        open: 364_600_000,
        high: 368_800_000,
        low: 361_600_000,
        close: 362_000_000,
        volume: 10_853_604,
        turnover: 3_954_556_819_000_000,
        session: 0,
    };
    let mut body = Vec::new();
    encode_candles("700.HK", 3, [row], &mut body);
    let header = response_header(27, 3, Status::Success, Packing::Plain, body.len()).unwrap();
    assert_eq!([&header[..], &body].concat(), bytes(CANDLES));
}

#[test]
fn an_error_response_has_the_specified_bytes() {
    let refusal = control::Error { code: code::NO_ACCESS, msg: "no access".into() };
    let packet = response(27, 3, Status::ServerError, &refusal);
    check(REFUSED, &packet, &refusal);
    assert_eq!(refusal_body(301_604, "no access"), packet.body());
    assert_eq!(Packet::decode(&bytes(REFUSED_PACKED), Limits::REQUEST), Ok(packet));
    // The compressed bytes depend on the compressor, so only the header is compared.
    let header = response_header(27, 3, Status::ServerError, Packing::Gzip, 35).unwrap();
    assert_eq!(header, bytes(REFUSED_PACKED)[..10]);
}

#[test]
fn compressed_bodies_round_trip() {
    let body = refusal_body(code::TOO_MANY, &"too many symbols ".repeat(100));
    let packed = compress(&body).unwrap();
    let header = response_header(26, 9, Status::ServerError, Packing::Gzip, packed.len()).unwrap();
    let packet = Packet::Response { command: 26, id: 9, status: Status::ServerError, body: body.into() };
    assert_eq!(Packet::decode(&[&header[..], &packed].concat(), Limits::REQUEST), Ok(packet));
}

#[test]
fn close_pushes_have_the_specified_bytes() {
    use control::close::Code;
    for (hex, code, reason) in [
        (EXPIRED, Code::SessionExpired, "session expired"),
        (SILENT, Code::HeartbeatTimeout, "heartbeat timeout"),
    ] {
        let close = Close { code: code.into(), reason: reason.into() };
        check(hex, &Packet::Push { command: 0, body: close.encode_to_vec().into() }, &close);
        assert_eq!(push_header(0, Packing::Plain, 19).unwrap(), bytes(hex)[..5]);
    }
}

#[test]
fn a_heartbeat_has_the_specified_bytes() {
    let heartbeat = Heartbeat { timestamp: 1_700_000_000_000, heartbeat_id: Some(7) };
    check(HEARTBEAT, &request(1, 7, 0, &heartbeat), &heartbeat);
    check(HEARTBEAT_ANSWER, &response(1, 7, Status::Success, &heartbeat), &heartbeat);
    assert_eq!(HANDSHAKE, bytes("11 09")[..]);
}

#[test]
fn debug_output_omits_secrets() {
    let shown = format!(
        "{:?} {:?} {:?}",
        Packet::decode(&bytes(AUTH), Limits::REQUEST).unwrap(),
        AuthRequest { token: "otp-7f3a".into(), metadata: language() },
        AuthResponse { session_id: "sess-0001".into(), ..AuthResponse::default() },
    );
    assert_eq!(
        shown,
        "Request { id: 1, timeout_ms: 5000, command: 2, body_length: 33 } \
         AuthRequest { metadata: {\"accept-language\": \"en\"}, .. } \
         AuthResponse { expires: 0, limit: 0, online: 0, .. }"
    );
}
