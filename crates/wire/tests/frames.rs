//! WebSocket frame tests: hand-made frames that violate the protocol, and round trips with
//! `tungstenite`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::io::{self, Read, Write};

use proptest::prelude::*;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, Frame};
use tungstenite::protocol::{Role, WebSocket};
use tungstenite::{Bytes, Message as Theirs};
use wire::{
    FRAME_HEADER_MAX, FrameDecoder, FrameError, Message, Opcode, accept_key, append_frame, close_payload,
    write_frame_header,
};

const MESSAGE_MAX: usize = 100_000;

/// Returns a masked client frame. `first` is the first header byte, verbatim.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x12, 0x34, 0x56, 0x78];
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// Feeds the bytes to the decoder in pieces, whose lengths cycle through `pieces`. Returns the
/// decoded messages.
fn feed(decoder: &mut FrameDecoder, mut bytes: &[u8], pieces: &[usize]) -> Result<Vec<Message>, FrameError> {
    let mut messages = Vec::new();
    for &length in pieces.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (mut piece, rest) = bytes.split_at(length.min(bytes.len()));
        bytes = rest;
        while let Some(message) = decoder.decode(&mut piece)? {
            messages.push(message);
        }
        assert!(piece.is_empty());
    }
    Ok(messages)
}

fn read(bytes: &[u8]) -> Result<Vec<Message>, FrameError> {
    let whole = feed(&mut FrameDecoder::new(MESSAGE_MAX), bytes, &[usize::MAX]);
    assert_eq!(whole, feed(&mut FrameDecoder::new(MESSAGE_MAX), bytes, &[1]));
    whole
}

/// An in-memory socket.
#[derive(Default)]
struct Socket {
    incoming: io::Cursor<Vec<u8>>,
    outgoing: Vec<u8>,
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.incoming.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..=most)
}

/// Payloads with lengths around the values where the header format changes.
fn long() -> impl Strategy<Value = Vec<u8>> {
    (any::<u8>(), prop_oneof![120usize..130, 65_530usize..65_542])
        .prop_map(|(byte, length)| (0..length).map(|i| byte.wrapping_add(((i * i) >> 3) as u8)).collect())
}

#[derive(Clone, Debug)]
enum Sent {
    Whole(Message),
    /// A fragmented message, with a ping after each fragment except the last.
    Fragments(Vec<Vec<u8>>),
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        bytes(300).prop_map(|payload| Sent::Whole(Message::Binary(payload))),
        long().prop_map(|payload| Sent::Whole(Message::Binary(payload))),
        ".{0,50}".prop_map(|text| Sent::Whole(Message::Text(text.into_bytes()))),
        bytes(125).prop_map(|payload| Sent::Whole(Message::Ping(payload))),
        bytes(125).prop_map(|payload| Sent::Whole(Message::Pong(payload))),
        proptest::collection::vec(bytes(200), 1..5).prop_map(Sent::Fragments),
    ]
}

fn close() -> impl Strategy<Value = Message> {
    let code = prop_oneof![Just(1000), Just(1001), Just(1011), 3000u16..5000];
    let coded = (code, "\\PC{0,30}").prop_map(|(code, reason)| Message::Close { code: Some(code), reason });
    prop_oneof![Just(Message::Close { code: None, reason: String::new() }), coded]
}

fn theirs(message: &Message) -> Theirs {
    match message.clone() {
        Message::Binary(payload) => Theirs::Binary(payload.into()),
        Message::Text(payload) => Theirs::text(String::from_utf8(payload).unwrap()),
        Message::Ping(payload) => Theirs::Ping(payload.into()),
        Message::Pong(payload) => Theirs::Pong(payload.into()),
        Message::Close { code, reason } => {
            Theirs::Close(code.map(|code| CloseFrame { code: code.into(), reason: reason.into() }))
        }
    }
}

/// Returns the bytes that the client library writes, and the messages that the decoder should
/// return.
fn written_by_client(sent: Vec<Sent>) -> (Vec<u8>, Vec<Message>) {
    let mut client = WebSocket::from_raw_socket(Socket::default(), Role::Client, None);
    let mut expected = Vec::new();
    for sent in sent {
        match sent {
            Sent::Whole(message) => {
                client.send(theirs(&message)).unwrap();
                expected.push(message);
            }
            Sent::Fragments(pieces) => {
                for (index, piece) in pieces.iter().enumerate() {
                    let last = index + 1 == pieces.len();
                    let data = if index == 0 { Data::Binary } else { Data::Continue };
                    let frame = Frame::message(Bytes::from(piece.clone()), OpCode::Data(data), last);
                    client.send(Theirs::Frame(frame)).unwrap();
                    if !last {
                        client.send(Theirs::Ping(Bytes::from(vec![index as u8]))).unwrap();
                        expected.push(Message::Ping(vec![index as u8]));
                    }
                }
                expected.push(Message::Binary(pieces.concat()));
            }
        }
    }
    (std::mem::take(&mut client.get_mut().outgoing), expected)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn client_messages_are_decoded_however_they_are_split(
        sent in proptest::collection::vec(sent(), 0..6),
        close in proptest::option::of(close()),
        pieces in proptest::collection::vec(1usize..300, 1..8),
    ) {
        let sent = sent.into_iter().chain(close.map(Sent::Whole)).collect();
        let (bytes, expected) = written_by_client(sent);
        let mut decoder = FrameDecoder::new(MESSAGE_MAX);
        prop_assert_eq!(feed(&mut decoder, &bytes, &pieces), Ok(expected));
        prop_assert_eq!(decoder.buffered(), 0);
    }

    #[test]
    fn the_client_library_decodes_our_frames(
        payloads in proptest::collection::vec(prop_oneof![bytes(300), long()], 0..6),
        ping in bytes(125),
        code in 3000u16..5000,
        reason in ".{0,60}",
    ) {
        let mut out = Vec::new();
        payloads.iter().for_each(|payload| append_frame(Opcode::Binary, payload, &mut out));
        append_frame(Opcode::Ping, &ping, &mut out);
        let payload = close_payload(code, &reason);
        append_frame(Opcode::Close, &payload, &mut out);

        let socket = Socket { incoming: io::Cursor::new(out), outgoing: Vec::new() };
        let mut client = WebSocket::from_raw_socket(socket, Role::Client, None);
        for payload in payloads {
            prop_assert_eq!(client.read().unwrap(), Theirs::Binary(payload.into()));
        }
        prop_assert_eq!(client.read().unwrap(), Theirs::Ping(ping.into()));
        let Theirs::Close(Some(frame)) = client.read().unwrap() else { panic!("no close frame") };
        prop_assert_eq!(u16::from(frame.code), code);
        prop_assert!(reason.starts_with(frame.reason.as_str()));
        prop_assert!(reason.len() <= 123 || frame.reason.len() > 119);
    }
}

#[test]
fn invalid_frames_are_refused_with_a_close_code() {
    let long = [0x82, 0x80 | 127, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
    let cases: Vec<(&str, Vec<u8>, FrameError, u16)> = vec![
        ("not masked", vec![0x82, 0x01], FrameError::Unmasked, 1002),
        ("reserved bit 1", masked(0xc2, b""), FrameError::Reserved, 1002),
        ("reserved bit 3", masked(0x92, b""), FrameError::Reserved, 1002),
        ("data opcode", masked(0x83, b""), FrameError::Opcode(3), 1002),
        ("control opcode", masked(0x8b, b""), FrameError::Opcode(11), 1002),
        ("125 in two bytes", vec![0x82, 0x80 | 126, 0, 125, 1, 2, 3, 4], FrameError::Length, 1002),
        (
            "65535 in eight",
            vec![0x82, 0x80 | 127, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4],
            FrameError::Length,
            1002,
        ),
        ("64 bits of length", long.to_vec(), FrameError::Length, 1002),
        ("fragmented ping", masked(0x09, b""), FrameError::Control, 1002),
        ("long ping", masked(0x89, &[0; 126]), FrameError::Control, 1002),
        ("nothing to continue", masked(0x80, b""), FrameError::Continuation, 1002),
        (
            "message in message",
            [masked(0x02, b"a"), masked(0x82, b"b")].concat(),
            FrameError::Interrupted,
            1002,
        ),
        ("half a close code", masked(0x88, &[3]), FrameError::CloseCode, 1002),
        ("close code 1005", masked(0x88, &1005u16.to_be_bytes()), FrameError::CloseCode, 1002),
        ("close code 999", masked(0x88, &999u16.to_be_bytes()), FrameError::CloseCode, 1002),
        ("close code 5000", masked(0x88, &5000u16.to_be_bytes()), FrameError::CloseCode, 1002),
        ("close reason", masked(0x88, &[3, 0xe8, 0xff]), FrameError::CloseReason, 1007),
    ];
    for (name, bytes, error, code) in cases {
        assert_eq!(read(&bytes), Err(error), "{name}");
        assert_eq!(error.close_code(), code, "{name}");
    }
}

#[test]
fn oversized_messages_are_refused_even_if_fragmented() {
    let error = FrameError::TooLong { limit: 10 };
    assert_eq!(error.close_code(), 1009);
    let read = |bytes: &[u8]| feed(&mut FrameDecoder::new(10), bytes, &[1]);
    assert_eq!(read(&masked(0x82, &[7; 10])), Ok(vec![Message::Binary(vec![7; 10])]));
    assert_eq!(read(&masked(0x82, &[7; 11])), Err(error));
    let fragments = |second| [masked(0x02, &[7; 6]), masked(0x80, &vec![7; second])].concat();
    assert_eq!(read(&fragments(4)), Ok(vec![Message::Binary(vec![7; 10])]));
    assert_eq!(read(&fragments(5)), Err(error));
    // A ping between fragments does not count towards the limit.
    let with_ping = [masked(0x02, &[7; 6]), masked(0x89, &[8; 125]), masked(0x80, &[7; 4])].concat();
    assert_eq!(read(&with_ping), Ok(vec![Message::Ping(vec![8; 125]), Message::Binary(vec![7; 10])]));
}

#[test]
fn an_oversized_frame_is_refused_before_its_payload_arrives() {
    let header = &masked(0x82, &[0; MESSAGE_MAX + 1])[..14];
    assert_eq!(read(header), Err(FrameError::TooLong { limit: MESSAGE_MAX }));
}

#[test]
fn invalid_utf8_text_is_decoded() {
    assert_eq!(read(&masked(0x81, &[0xff])), Ok(vec![Message::Text(vec![0xff])]));
}

#[test]
fn input_after_a_close_or_an_error_is_discarded() {
    let bytes = [masked(0x88, b""), masked(0x82, b"late")].concat();
    assert_eq!(read(&bytes), Ok(vec![Message::Close { code: None, reason: String::new() }]));
    let mut decoder = FrameDecoder::new(10);
    assert_eq!(feed(&mut decoder, &[0x82, 0x00], &[2]), Err(FrameError::Unmasked));
    assert_eq!(feed(&mut decoder, &masked(0x82, b"late"), &[2]), Ok(vec![]));
}

#[test]
fn memory_is_bounded_by_the_received_bytes() {
    assert!(size_of::<FrameDecoder>() <= 128, "{} bytes", size_of::<FrameDecoder>());
    let mut decoder = FrameDecoder::new(MESSAGE_MAX);
    let frame = masked(0x82, &[7; MESSAGE_MAX]);
    feed(&mut decoder, &frame[..1000], &[100]).unwrap();
    assert!((900..2000).contains(&decoder.buffered()), "{} bytes", decoder.buffered());
    feed(&mut decoder, &frame[1000..], &[1000]).unwrap();
    assert_eq!(decoder.buffered(), 0);
    feed(&mut decoder, &masked(0x89, b"alive?"), &[3]).unwrap();
    assert_eq!(decoder.buffered(), 0);
}

#[test]
fn lengths_use_the_shortest_encoding() {
    for (length, expected) in [
        (0, &[0x82, 0][..]),
        (125, &[0x82, 125]),
        (126, &[0x82, 126, 0, 126]),
        (65_535, &[0x82, 126, 255, 255]),
        (65_536, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let mut header = [0; FRAME_HEADER_MAX];
        let written = write_frame_header(Opcode::Binary, length, &mut header);
        assert_eq!(&header[..written], expected);
    }
}

#[test]
fn a_long_close_reason_is_truncated_at_a_character_boundary() {
    let payload = close_payload(1008, &"价".repeat(50));
    assert_eq!((payload.len(), &payload[..2]), (125, &[3, 0xf0][..]));
    assert_eq!(std::str::from_utf8(&payload[2..]), Ok("价".repeat(41).as_str()));
    let payload = close_payload(1008, &format!("a{}", "价".repeat(50)));
    assert_eq!(std::str::from_utf8(&payload[2..]), Ok(format!("a{}", "价".repeat(40)).as_str()));
}

#[test]
fn the_accept_key_matches_the_rfc_example() {
    // RFC 6455 section 1.3.
    assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}
