//! Arbitrary bytes as a client's WebSocket frames, whole and in pieces: an error or messages, the
//! same either way, and never more memory than the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{CONTROL_MAX, FrameDecoder, FrameError, Message};

const MESSAGE_MAX: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    let whole = feed(bytes, |_| usize::MAX);
    // The bytes determine the lengths of the pieces.
    assert_eq!(feed(bytes, |&byte| usize::from(byte % 16) + 1), whole);
    for message in &whole.0 {
        match message {
            Message::Binary(payload) | Message::Text(payload) => assert!(payload.len() <= MESSAGE_MAX),
            Message::Ping(payload) | Message::Pong(payload) => assert!(payload.len() <= CONTROL_MAX),
            Message::Close { code, reason } => assert!(code.is_some() || reason.is_empty()),
        }
    }
});

fn feed(mut bytes: &[u8], length: impl Fn(&u8) -> usize) -> (Vec<Message>, Option<FrameError>) {
    let mut decoder = FrameDecoder::new(MESSAGE_MAX);
    let mut messages = Vec::new();
    while let Some(first) = bytes.first() {
        let (mut piece, rest) = bytes.split_at(length(first).min(bytes.len()));
        bytes = rest;
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
        assert!(piece.is_empty() && decoder.buffered() <= MESSAGE_MAX + CONTROL_MAX);
    }
    (messages, None)
}
