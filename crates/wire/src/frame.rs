//! WebSocket frames (RFC 6455), server side: decodes masked frames and encodes unmasked ones. No
//! extension is negotiated, so the reserved bits must be zero.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use thiserror::Error;

use crate::feed::{append, take};

/// GUID that is appended to the client's key before hashing (RFC 6455 section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0f;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;
/// Values of the 7-bit length field that announce a 16-bit or 64-bit length. Smaller values are the
/// length itself.
const LENGTH_16: u8 = 126;
const LENGTH_64: u8 = 127;

/// Maximum payload size of a close, ping or pong frame, in bytes (RFC 6455 section 5.5).
pub const CONTROL_MAX: usize = 125;
/// Maximum size of a received header in bytes: two fixed bytes, an 8-byte length and a 4-byte mask.
const HEADER_MAX: usize = 14;
/// Maximum size of a sent header in bytes. Sent frames have no mask.
pub const FRAME_HEADER_MAX: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// A complete message: unmasked, with its fragments joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Binary(Vec<u8>),
    /// Not validated as UTF-8, because the packet protocol has no text messages.
    Text(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close {
        code: Option<u16>,
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error("client frame is not masked")]
    Unmasked,
    #[error("frame sets reserved bits")]
    Reserved,
    #[error("frame has unknown opcode {0}")]
    Opcode(u8),
    #[error("frame length is not in its shortest form")]
    Length,
    #[error("message is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("control frame is fragmented or longer than 125 bytes")]
    Control,
    #[error("continuation frame without a message to continue")]
    Continuation,
    #[error("new message within a fragmented one")]
    Interrupted,
    #[error("close frame has half a code or one that may not be sent")]
    CloseCode,
    #[error("close reason is not utf-8")]
    CloseReason,
}

impl FrameError {
    /// Returns the status code for the close frame that reports this error.
    pub fn close_code(self) -> u16 {
        match self {
            Self::TooLong { .. } => 1009,
            Self::CloseReason => 1007,
            Self::Unmasked
            | Self::Reserved
            | Self::Opcode(_)
            | Self::Length
            | Self::Control
            | Self::Continuation
            | Self::Interrupted
            | Self::CloseCode => 1002,
        }
    }
}

/// Decodes messages from a client's byte stream, which may be split anywhere. The payload is copied
/// once, from the input into the message, and unmasked in place. The decoder holds no heap memory
/// between messages.
#[derive(Debug)]
pub struct FrameDecoder {
    message_max: usize,
    state: State,
    header: [u8; HEADER_MAX],
    header_length: u8,
    /// Payload of the incomplete data message.
    message: Vec<u8>,
    /// Opcode of the incomplete data message, if more fragments follow.
    fragmented: Option<Opcode>,
    /// Payload of the incomplete control frame, which may arrive between the fragments of a data
    /// message.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Header,
    Payload(Frame),
    /// A close frame or an invalid frame was received, so further input is discarded.
    Ended,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    opcode: Opcode,
    last: bool,
    /// Masking key, rotated so that the first byte applies to the next payload byte.
    mask: [u8; 4],
    left: usize,
}

impl FrameDecoder {
    /// Sets the maximum message length in bytes. The new limit applies starting with the next
    /// frame.
    pub fn allow(&mut self, message_max: usize) {
        self.message_max = message_max;
    }

    /// Returns the maximum message length in bytes.
    pub fn message_max(&self) -> usize {
        self.message_max
    }

    /// Creates a decoder that refuses messages longer than `message_max` bytes, fragmented or not.
    pub fn new(message_max: usize) -> Self {
        Self {
            message_max,
            state: State::Header,
            header: [0; HEADER_MAX],
            header_length: 0,
            message: Vec::new(),
            fragmented: None,
            control: Vec::new(),
        }
    }

    /// Decodes the next message and consumes its input. If no message is complete, consumes all
    /// input and returns `None`. After a close frame or an error, all further input is discarded.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Message>, FrameError> {
        let result = self.advance(input);
        if let Err(_) | Ok(Some(Message::Close { .. })) = result {
            self.state = State::Ended;
            self.message = Vec::new();
            self.control = Vec::new();
        }
        result
    }

    /// Returns the number of bytes allocated for an incomplete message.
    pub fn buffered(&self) -> usize {
        self.message.capacity() + self.control.capacity()
    }

    fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Message>, FrameError> {
        loop {
            match self.state {
                State::Header => match self.read_header(input)? {
                    Some(frame) => self.state = State::Payload(frame),
                    None => return Ok(None),
                },
                State::Payload(frame) => {
                    let frame = self.read_payload(frame, input);
                    if frame.left > 0 {
                        self.state = State::Payload(frame);
                        return Ok(None);
                    }
                    self.state = State::Header;
                    if let Some(message) = self.finish(frame)? {
                        return Ok(Some(message));
                    }
                }
                State::Ended => {
                    *input = &[];
                    return Ok(None);
                }
            }
        }
    }

    fn read_header(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        let Some(&[first, second]) = self.fill_header(input, 2).and_then(|header| header.first_chunk())
        else {
            return Ok(None);
        };
        // Both checks need only the first two bytes, so an invalid frame is refused early.
        if first & RESERVED != 0 {
            return Err(FrameError::Reserved);
        }
        if second & MASKED == 0 {
            return Err(FrameError::Unmasked);
        }
        let wanted = match second & LENGTH {
            LENGTH_16 => 8,
            LENGTH_64 => HEADER_MAX,
            _ => 6,
        };
        let Some(header) = self.fill_header(input, wanted) else { return Ok(None) };
        let (length, mask) = match *header {
            [_, short, a, b, c, d] => (u64::from(short & LENGTH), [a, b, c, d]),
            [_, _, x, y, a, b, c, d] => (u64::from(u16::from_be_bytes([x, y])), [a, b, c, d]),
            [_, _, s, t, u, v, w, x, y, z, a, b, c, d] => {
                (u64::from_be_bytes([s, t, u, v, w, x, y, z]), [a, b, c, d])
            }
            _ => return Ok(None),
        };
        self.header_length = 0;
        if shortest(length) != wanted {
            return Err(FrameError::Length);
        }
        let opcode = Opcode::try_from(first & OPCODE)?;
        let last = first & FIN != 0;
        let left = usize::try_from(length).unwrap_or(usize::MAX);
        self.check(opcode, last, left)?;
        Ok(Some(Frame { opcode, last, mask, left }))
    }

    /// Checks that the frame is valid in the current state and within the size limits.
    fn check(&self, opcode: Opcode, last: bool, length: usize) -> Result<(), FrameError> {
        if opcode.is_control() {
            return if last && length <= CONTROL_MAX { Ok(()) } else { Err(FrameError::Control) };
        }
        match (opcode, self.fragmented) {
            (Opcode::Continuation, None) => return Err(FrameError::Continuation),
            (Opcode::Text | Opcode::Binary, Some(_)) => return Err(FrameError::Interrupted),
            _ => {}
        }
        if length > self.message_max.saturating_sub(self.message.len()) {
            return Err(FrameError::TooLong { limit: self.message_max });
        }
        Ok(())
    }

    fn read_payload(&mut self, mut frame: Frame, input: &mut &[u8]) -> Frame {
        let buffer = if frame.opcode.is_control() { &mut self.control } else { &mut self.message };
        let piece = take(input, frame.left);
        let start = buffer.len();
        append(buffer, piece, start + frame.left);
        unmask(buffer.get_mut(start..).unwrap_or_default(), frame.mask);
        frame.mask.rotate_left(piece.len() % 4);
        frame.left -= piece.len();
        frame
    }

    /// Returns the message that this frame completes, or `None` if more fragments follow.
    fn finish(&mut self, frame: Frame) -> Result<Option<Message>, FrameError> {
        let opcode = match frame.opcode {
            Opcode::Ping => return Ok(Some(Message::Ping(std::mem::take(&mut self.control)))),
            Opcode::Pong => return Ok(Some(Message::Pong(std::mem::take(&mut self.control)))),
            Opcode::Close => return read_close(&self.control).map(Some),
            Opcode::Continuation => self.fragmented.take().ok_or(FrameError::Continuation)?,
            Opcode::Text | Opcode::Binary => frame.opcode,
        };
        if !frame.last {
            self.fragmented = Some(opcode);
            return Ok(None);
        }
        let payload = std::mem::take(&mut self.message);
        Ok(Some(if opcode == Opcode::Text { Message::Text(payload) } else { Message::Binary(payload) }))
    }

    /// Returns the first `wanted` bytes of the header, or `None` if fewer bytes have arrived.
    fn fill_header(&mut self, input: &mut &[u8], wanted: usize) -> Option<&[u8]> {
        let start = usize::from(self.header_length);
        let piece = take(input, wanted.saturating_sub(start));
        let end = start + piece.len();
        self.header.get_mut(start..end)?.copy_from_slice(piece);
        self.header_length = u8::try_from(end).ok()?;
        self.header.get(..end).filter(|filled| filled.len() >= wanted)
    }
}

impl Opcode {
    fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

impl TryFrom<u8> for Opcode {
    type Error = FrameError;

    fn try_from(nibble: u8) -> Result<Self, FrameError> {
        Ok(match nibble {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return Err(FrameError::Opcode(nibble)),
        })
    }
}

/// Returns the size of a masked header with the shortest encoding of `length`, or 0 if `length` has
/// more than 63 bits.
fn shortest(length: u64) -> usize {
    match length {
        0..=125 => 6,
        126..=0xffff => 8,
        0x1_0000..=0x7fff_ffff_ffff_ffff => HEADER_MAX,
        _ => 0,
    }
}

/// XORs the payload with the mask, eight bytes at a time. The compiler vectorizes the loop.
fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_le_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_le_bytes(*word) ^ wide).to_le_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

fn read_close(payload: &[u8]) -> Result<Message, FrameError> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return if payload.is_empty() {
            Ok(Message::Close { code: None, reason: String::new() })
        } else {
            Err(FrameError::CloseCode)
        };
    };
    let code = u16::from_be_bytes(*code);
    // RFC 6455 section 7.4: all other codes are reserved or must not be sent.
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(FrameError::CloseCode);
    }
    let reason = std::str::from_utf8(reason).map_err(|_| FrameError::CloseReason)?;
    Ok(Message::Close { code: Some(code), reason: reason.to_owned() })
}

/// Writes the header of an unfragmented message to `out` and returns the size of the header in
/// bytes.
pub fn write_frame_header(opcode: Opcode, payload_length: usize, out: &mut [u8; FRAME_HEADER_MAX]) -> usize {
    let first = FIN | opcode as u8;
    if let Ok(length) = u16::try_from(payload_length) {
        let [x, y] = length.to_be_bytes();
        if payload_length <= CONTROL_MAX {
            [out[0], out[1]] = [first, y];
            return 2;
        }
        [out[0], out[1], out[2], out[3]] = [first, LENGTH_16, x, y];
        return 4;
    }
    let [s, t, u, v, w, x, y, z] = (payload_length as u64).to_be_bytes();
    *out = [first, LENGTH_64, s, t, u, v, w, x, y, z];
    FRAME_HEADER_MAX
}

/// Appends an unfragmented message to `out`, as one frame.
pub fn append_frame(opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
    let mut header = [0; FRAME_HEADER_MAX];
    let length = write_frame_header(opcode, payload.len(), &mut header);
    out.extend_from_slice(header.get(..length).unwrap_or_default());
    out.extend_from_slice(payload);
}

/// Returns the payload of a close frame. A long reason is truncated at a character boundary.
pub fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    let mut payload = code.to_be_bytes().to_vec();
    let end = reason.floor_char_boundary(CONTROL_MAX - payload.len());
    payload.extend_from_slice(reason.get(..end).unwrap_or_default().as_bytes());
    payload
}

/// Returns the `Sec-WebSocket-Accept` value for a client's `Sec-WebSocket-Key`.
pub fn accept_key(client_key: &str) -> String {
    STANDARD.encode(Sha1::new().chain_update(client_key).chain_update(GUID).finalize())
}
