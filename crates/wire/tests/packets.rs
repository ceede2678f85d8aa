//! Packet tests for WebSocket messages and TCP streams: round trips, limits and errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use wire::{
    BODY_MAX, Decoder, HANDSHAKE, Limits, Packet, PacketError, Packing, Status, push_header, request_header,
    response_header,
};

fn status() -> impl Strategy<Value = Status> {
    (0u8..=8).prop_map(|byte| Status::try_from(byte).unwrap())
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..300)
}

fn packet() -> impl Strategy<Value = Packet<'static>> {
    let request = (any::<u8>(), any::<u32>(), any::<u16>(), body());
    let response = (any::<u8>(), any::<u32>(), status(), body());
    prop_oneof![
        request.prop_map(|(command, id, timeout_ms, body)| {
            Packet::Request { command, id, timeout_ms, body: body.into() }
        }),
        response.prop_map(|(command, id, status, body)| {
            Packet::Response { command, id, status, body: body.into() }
        }),
        (any::<u8>(), body()).prop_map(|(command, body)| Packet::Push { command, body: body.into() }),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Form {
    gzip: bool,
    signed: bool,
    reserved: u8,
}

fn form() -> impl Strategy<Value = Form> {
    (any::<bool>(), any::<bool>(), 0u8..4).prop_map(|(gzip, signed, reserved)| Form {
        gzip,
        signed,
        reserved,
    })
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// Encodes a packet with flags that `Packet::encode` never sets: gzip, signature, reserved bits.
fn write(packet: &Packet<'_>, form: Form) -> Vec<u8> {
    let packing = if form.gzip { Packing::Gzip } else { Packing::Plain };
    let body = if form.gzip { gzip(packet.body()) } else { packet.body().to_vec() };
    let length = body.len();
    let mut out = match *packet {
        Packet::Request { command, id, timeout_ms, .. } => {
            request_header(command, id, timeout_ms, packing, length).unwrap().to_vec()
        }
        Packet::Response { command, id, status, .. } => {
            response_header(command, id, status, packing, length).unwrap().to_vec()
        }
        Packet::Push { command, .. } => push_header(command, packing, length).unwrap().to_vec(),
    };
    out[0] |= u8::from(form.signed) << 4 | form.reserved << 6;
    out.extend_from_slice(&body);
    out.extend(std::iter::repeat_n(0xaa, if form.signed { 24 } else { 0 }));
    out
}

/// Feeds the bytes to the decoder in pieces, whose lengths cycle through `pieces`. Returns the
/// decoded packets.
fn feed(
    decoder: &mut Decoder,
    mut bytes: &[u8],
    pieces: &[usize],
) -> Result<Vec<Packet<'static>>, PacketError> {
    let mut packets = Vec::new();
    for &length in pieces.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (mut piece, rest) = bytes.split_at(length.min(bytes.len()));
        bytes = rest;
        while let Some(packet) = decoder.decode(&mut piece)? {
            packets.push(packet);
        }
        assert!(piece.is_empty());
    }
    Ok(packets)
}

proptest! {
    #[test]
    fn packets_with_any_flags_round_trip(packet in packet(), form in form()) {
        let bytes = write(&packet, form);
        prop_assert_eq!(Packet::decode(&bytes, Limits::REQUEST), Ok(packet.clone()));
        for cut in 0..bytes.len() {
            prop_assert_eq!(Packet::decode(&bytes[..cut], Limits::REQUEST), Err(PacketError::Truncated));
        }
        let longer = [&bytes[..], &[1, 2, 3]].concat();
        prop_assert_eq!(Packet::decode(&longer, Limits::REQUEST), Err(PacketError::Trailing(3)));
        prop_assert_eq!(packet.clone().into_owned(), packet);
        for message in [bytes.as_slice(), &longer, &bytes[..bytes.len() / 2]] {
            let owned = Packet::decode_owned(message.to_vec(), Limits::REQUEST);
            prop_assert_eq!(owned, Packet::decode(message, Limits::REQUEST).map(Packet::into_owned));
        }
    }

    #[test]
    fn packets_are_decoded_however_the_stream_is_split(
        packets in proptest::collection::vec((packet(), form()), 0..6),
        pieces in proptest::collection::vec(1usize..200, 1..8),
    ) {
        let mut stream = HANDSHAKE.to_vec();
        packets.iter().for_each(|(packet, form)| stream.extend(write(packet, *form)));
        let mut decoder = Decoder::new(Limits::REQUEST);
        let expected: Vec<Packet<'_>> = packets.into_iter().map(|(packet, _)| packet).collect();
        prop_assert_eq!(feed(&mut decoder, &stream, &pieces), Ok(expected));
        prop_assert_eq!(decoder.buffered(), 0);
    }
}

#[test]
fn unknown_types_and_statuses_are_refused() {
    for kind in [0, 4, 15] {
        let bytes = [kind, 27, 0, 0, 0];
        assert_eq!(Packet::decode(&bytes, Limits::REQUEST), Err(PacketError::Type(kind)));
    }
    let bytes = [2, 27, 0, 0, 0, 1, 9, 0, 0, 0];
    assert_eq!(Packet::decode(&bytes, Limits::REQUEST), Err(PacketError::Status(9)));
}

#[test]
fn an_oversized_body_is_refused_before_it_arrives() {
    let limits = Limits { body: 1000, inflated: 2000 };
    let error = PacketError::TooLong { length: 1001, limit: 1000 };
    let header = request_header(27, 1, 0, Packing::Plain, 1001).unwrap();
    assert_eq!(Packet::decode(&header, limits), Err(error));
    let mut decoder = Decoder::new(limits);
    assert_eq!(feed(&mut decoder, &[&HANDSHAKE, &header[..]].concat(), &[1]), Err(error));
    assert_eq!(decoder.buffered(), 0);
}

#[test]
fn a_body_that_inflates_past_the_limit_is_refused() {
    let limits = Limits { body: 1000, inflated: 2000 };
    let bytes = |length| {
        let body = gzip(&vec![0; length]);
        [&push_header(1, Packing::Gzip, body.len()).unwrap()[..], &body].concat()
    };
    assert_eq!(Packet::decode(&bytes(2000), limits).unwrap().body(), [0; 2000]);
    let error = PacketError::InflatedTooLong { limit: 2000 };
    assert_eq!(Packet::decode(&bytes(2001), limits), Err(error));
    let stream = [&HANDSHAKE, &bytes(2001)[..]].concat();
    assert_eq!(feed(&mut Decoder::new(limits), &stream, &[7]), Err(error));
}

#[test]
fn memory_grows_with_the_received_bytes() {
    let mut decoder = Decoder::new(Limits::REQUEST);
    let header = request_header(27, 1, 0, Packing::Plain, Limits::REQUEST.body).unwrap();
    let stream = [&HANDSHAKE, &header[..], &[7; 100]].concat();
    assert_eq!(feed(&mut decoder, &stream, &[50]), Ok(vec![]));
    assert!(decoder.buffered() <= 200, "{} bytes", decoder.buffered());
    feed(&mut decoder, &vec![7; Limits::REQUEST.body - 101], &[999]).unwrap();
    assert!(decoder.buffered() <= Limits::REQUEST.body);
}

#[test]
fn an_invalid_handshake_is_refused() {
    for handshake in [[0x12, 0x09], [0x21, 0x09], [0x11, 0x08]] {
        let result = feed(&mut Decoder::new(Limits::REQUEST), &handshake, &[1]);
        assert_eq!(result, Err(PacketError::Handshake(handshake)));
    }
    // The upper four bits of the second byte are reserved and ignored.
    assert_eq!(feed(&mut Decoder::new(Limits::REQUEST), &[0x11, 0xf9], &[1]), Ok(vec![]));
}

#[test]
fn input_after_an_error_is_discarded() {
    let mut decoder = Decoder::new(Limits::REQUEST);
    assert_eq!(feed(&mut decoder, &[0x11, 0x09, 0x07], &[3]), Err(PacketError::Type(7)));
    let push = push_header(1, Packing::Plain, 0).unwrap();
    assert_eq!(feed(&mut decoder, &push, &[1]), Ok(vec![]));
}

#[test]
fn an_oversized_body_cannot_be_sent() {
    assert_eq!(push_header(1, Packing::Plain, BODY_MAX).unwrap(), [3, 1, 0xff, 0xff, 0xf4]);
    let error = PacketError::TooLong { length: BODY_MAX + 1, limit: BODY_MAX };
    assert_eq!(push_header(1, Packing::Plain, BODY_MAX + 1), Err(error));
    assert_eq!(response_header(1, 1, Status::Success, Packing::Gzip, BODY_MAX + 1), Err(error));
    assert_eq!(request_header(1, 1, 0, Packing::Plain, BODY_MAX + 1), Err(error));
}
