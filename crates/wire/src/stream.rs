//! The TCP transport: a two-byte handshake, followed by packets.

use crate::feed::{append, take};
use crate::packet::{HEADER_MAX, Header, Limits, Packet, PacketError, header_length};

/// The client's handshake: version 1 and codec 1 in the first byte, platform 9 in the second.
pub const HANDSHAKE: [u8; 2] = [0x11, 0x09];
/// Mask of the platform number in the second handshake byte. The upper four bits are reserved and
/// ignored.
const PLATFORM: u8 = 0x0f;

/// Decodes packets from a byte stream, which may be split anywhere. The decoder holds no heap
/// memory between packets, and within a packet its memory grows with the received bytes.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    state: State,
    /// Received part of an incomplete handshake or header.
    header: [u8; HEADER_MAX],
    header_length: usize,
    body: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Handshake,
    Header,
    Body(Header),
    Signature(Header, usize),
    /// An error was returned, so the start of the next packet is unknown.
    Ended,
}

impl Decoder {
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Handshake, header: [0; HEADER_MAX], header_length: 0, body: Vec::new() }
    }

    /// Sets the limits for later packets. A packet whose header has already been decoded uses only
    /// the new `inflated` limit.
    pub fn allow(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Decodes the next packet and consumes its input. If no packet is complete, consumes all input
    /// and returns `None`. After an error, all further input is discarded.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Packet<'static>>, PacketError> {
        let result = self.advance(input);
        if result.is_err() {
            self.state = State::Ended;
            self.body = Vec::new();
        }
        result
    }

    /// Returns the number of bytes allocated for an incomplete packet.
    pub fn buffered(&self) -> usize {
        self.body.capacity()
    }

    fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Packet<'static>>, PacketError> {
        loop {
            match self.state {
                State::Handshake => {
                    let Some(handshake) = self.fill_header(input, HANDSHAKE.len()) else { return Ok(None) };
                    check_handshake(handshake)?;
                    self.header_length = 0;
                    self.state = State::Header;
                }
                State::Header => {
                    let Some(&[first]) = self.fill_header(input, 1).and_then(|header| header.first_chunk())
                    else {
                        return Ok(None);
                    };
                    let limits = self.limits;
                    let Some(header) = self.fill_header(input, header_length(first)?) else {
                        return Ok(None);
                    };
                    self.state = State::Body(Header::parse(header, limits)?);
                    self.header_length = 0;
                }
                State::Body(header) => {
                    let piece = take(input, header.length - self.body.len());
                    append(&mut self.body, piece, header.length);
                    if self.body.len() < header.length {
                        return Ok(None);
                    }
                    self.state = State::Signature(header, header.signature_length());
                }
                State::Signature(header, left) => {
                    let left = left - take(input, left).len();
                    if left > 0 {
                        self.state = State::Signature(header, left);
                        return Ok(None);
                    }
                    self.state = State::Header;
                    return header.packet(std::mem::take(&mut self.body).into(), self.limits).map(Some);
                }
                State::Ended => {
                    *input = &[];
                    return Ok(None);
                }
            }
        }
    }

    /// Returns the first `wanted` bytes of the handshake or header, or `None` if fewer bytes have
    /// arrived.
    fn fill_header(&mut self, input: &mut &[u8], wanted: usize) -> Option<&[u8]> {
        let piece = take(input, wanted.saturating_sub(self.header_length));
        let end = self.header_length + piece.len();
        self.header.get_mut(self.header_length..end)?.copy_from_slice(piece);
        self.header_length = end;
        self.header.get(..end).filter(|filled| filled.len() >= wanted)
    }
}

fn check_handshake(bytes: &[u8]) -> Result<(), PacketError> {
    match *bytes {
        [first, second] if [first, second & PLATFORM] == HANDSHAKE => Ok(()),
        [first, second] => Err(PacketError::Handshake([first, second])),
        _ => Err(PacketError::Truncated),
    }
}
