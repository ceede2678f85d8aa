//! Arbitrary bytes as a WebSocket message, and as a TCP stream after its handshake, whole and in
//! pieces: an error or packets, the same either way, within the limits. Parsed packets are written
//! and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use wire::{Decoder, HANDSHAKE, Limits, Packet, PacketError, control, quote, trade};

const LIMITS: Limits = Limits { body: 2000, inflated: 5000 };

fuzz_target!(|bytes: &[u8]| {
    let message = Packet::decode(bytes, LIMITS);
    assert_eq!(Packet::decode_owned(bytes.to_vec(), LIMITS), message);
    let stream = [&HANDSHAKE, bytes].concat();
    let whole = feed(&stream, |_| usize::MAX);
    // The bytes determine the lengths of the pieces.
    assert_eq!(feed(&stream, |&byte| usize::from(byte % 16) + 1), whole);

    let (packets, error) = whole;
    match &message {
        Ok(packet) => assert_eq!((&packets[..], error), (std::slice::from_ref(packet), None)),
        Err(PacketError::Truncated) => assert_eq!((packets.len(), error), (0, None)),
        // A stream may have more than one packet.
        Err(PacketError::Trailing(_)) => {}
        Err(other) => assert_eq!((packets.len(), error), (0, Some(*other))),
    }
    for packet in packets {
        assert!(packet.body().len() <= LIMITS.inflated);
        let mut written = Vec::new();
        packet.encode(&mut written).expect("what was read is short enough to write");
        assert_eq!(Packet::decode(&written, Limits::HIGHEST), Ok(packet.clone()));
        read(packet.body());
    }
});

fn feed(mut stream: &[u8], length: impl Fn(&u8) -> usize) -> (Vec<Packet<'static>>, Option<PacketError>) {
    let mut decoder = Decoder::new(LIMITS);
    let mut packets = Vec::new();
    while let Some(first) = stream.first() {
        let (mut piece, rest) = stream.split_at(length(first).min(stream.len()));
        stream = rest;
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(packet)) => packets.push(packet),
                Ok(None) => break,
                Err(error) => return (packets, Some(error)),
            }
        }
        assert!(piece.is_empty() && decoder.buffered() <= LIMITS.body);
    }
    (packets, None)
}

/// Decodes the message types that a client may send.
fn read(body: &[u8]) {
    let _ = control::AuthRequest::decode(body);
    let _ = control::Heartbeat::decode(body);
    let _ = quote::SubscribeRequest::decode(body);
    let _ = quote::CalcIndexesRequest::decode(body);
    let _ = quote::WarrantFilterRequest::decode(body);
    let _ = trade::SubscribeRequest::decode(body);
    if let Ok(query) = quote::SecurityHistoryCandlestickRequest::decode(body) {
        assert_eq!(quote::SecurityHistoryCandlestickRequest::decode(query.encode_to_vec().as_slice()), Ok(query));
    }
}
