//! Packets of three types: request, response and push. A packet has a header whose size depends on
//! the type, a body, and an optional signature, which is not verified. Integers are big-endian.
//! `docs/protocol.md` describes the layout.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use prost::Message;
use thiserror::Error;

use crate::control;
use crate::gzip::{INFLATED_MAX, inflate};

pub(crate) const HEADER_MAX: usize = 11;
const RESPONSE_HEADER: usize = 10;
/// Size of the header of a push in bytes.
pub const PUSH_HEADER: usize = 5;
/// Number of bytes after the body of a signed packet: an 8-byte nonce and a 16-byte signature.
pub(crate) const SIGNATURE: usize = 24;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const PUSH: u8 = 3;
const TYPE: u8 = 0x0f;
const VERIFY: u8 = 0x10;
const GZIP: u8 = 0x20;

/// Maximum size of a sent body, in bytes. The length field would allow eleven bytes more, but
/// clients reject frames of 16 MiB, so the whole packet must be smaller.
pub const BODY_MAX: usize = (1 << 24) - 1 - HEADER_MAX;
const _: () = assert!(BODY_MAX < INFLATED_MAX);

/// One packet, with its body inflated. `Debug` does not print the body, because a login body
/// contains a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Packet<'a> {
    Request { command: u8, id: u32, timeout_ms: u16, body: Cow<'a, [u8]> },
    Response { command: u8, id: u32, status: Status, body: Cow<'a, [u8]> },
    Push { command: u8, body: Cow<'a, [u8]> },
}

/// Status in a response header. Clients accept all nine values; this server sends only
/// [`Success`](Self::Success), [`ServerTimeout`](Self::ServerTimeout),
/// [`BadRequest`](Self::BadRequest), [`Unauthenticated`](Self::Unauthenticated) and
/// [`ServerError`](Self::ServerError).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    Success = 0,
    ServerTimeout = 1,
    ClientTimeout = 2,
    BadRequest = 3,
    BadResponse = 4,
    Unauthenticated = 5,
    PermissionDenied = 6,
    ServerError = 7,
    ClientError = 8,
}

/// Compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
}

/// Size limits for received packets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a body as received, whether compressed or not.
    pub body: usize,
    /// Maximum size of a compressed body after inflating, capped at [`INFLATED_MAX`].
    pub inflated: usize,
}

impl Limits {
    /// Limits for a signed-in client, whose largest request lists 500 symbols.
    pub const REQUEST: Self = Self { body: 64 << 10, inflated: 256 << 10 };
    /// Limits for a client that has not signed in.
    pub const SIGN_IN: Self = Self { body: 4 << 10, inflated: 16 << 10 };
    /// Largest limits that the packet layout allows, for test clients.
    pub const HIGHEST: Self = Self { body: (1 << 24) - 1, inflated: INFLATED_MAX };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    #[error("handshake {0:02x?} is not version 1, codec 1, platform 9")]
    Handshake([u8; 2]),
    #[error("packet type {0} is unknown")]
    Type(u8),
    #[error("response status {0} is unknown")]
    Status(u8),
    #[error("message ends within a packet")]
    Truncated,
    #[error("message has {0} extra bytes after its packet")]
    Trailing(usize),
    #[error("body of {length} bytes is longer than {limit}")]
    TooLong { length: usize, limit: usize },
    #[error("packed body inflates to more than {limit} bytes")]
    InflatedTooLong { limit: usize },
    #[error("packed body is not one whole gzip member")]
    Gzip,
}

impl<'a> Packet<'a> {
    /// Decodes a WebSocket message, which must hold exactly one packet.
    pub fn decode(message: &'a [u8], limits: Limits) -> Result<Self, PacketError> {
        let (header, body) = split(message, limits)?;
        header.packet(message.get(body).unwrap_or_default().into(), limits)
    }

    /// Like [`decode`](Self::decode), but reuses the message's allocation for the body.
    pub fn decode_owned(mut message: Vec<u8>, limits: Limits) -> Result<Packet<'static>, PacketError> {
        let (header, body) = split(&message, limits)?;
        message.truncate(body.end);
        message.drain(..body.start);
        header.packet(message.into(), limits)
    }

    /// Appends the packet to `out` with its body uncompressed.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), PacketError> {
        let plain = Packing::Plain;
        let body = match self {
            Self::Request { command, id, timeout_ms, body } => {
                out.extend_from_slice(&request_header(*command, *id, *timeout_ms, plain, body.len())?);
                body
            }
            Self::Response { command, id, status, body } => {
                out.extend_from_slice(&response_header(*command, *id, *status, plain, body.len())?);
                body
            }
            Self::Push { command, body } => {
                out.extend_from_slice(&push_header(*command, plain, body.len())?);
                body
            }
        };
        out.extend_from_slice(body);
        Ok(())
    }

    pub fn command(&self) -> u8 {
        match self {
            Self::Request { command, .. } | Self::Response { command, .. } | Self::Push { command, .. } => {
                *command
            }
        }
    }

    pub fn body(&self) -> &[u8] {
        match self {
            Self::Request { body, .. } | Self::Response { body, .. } | Self::Push { body, .. } => body,
        }
    }

    pub fn into_owned(self) -> Packet<'static> {
        let own = |body: Cow<'_, [u8]>| Cow::Owned(body.into_owned());
        match self {
            Self::Request { command, id, timeout_ms, body } => {
                Packet::Request { command, id, timeout_ms, body: own(body) }
            }
            Self::Response { command, id, status, body } => {
                Packet::Response { command, id, status, body: own(body) }
            }
            Self::Push { command, body } => Packet::Push { command, body: own(body) },
        }
    }
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = match self {
            Self::Request { id, timeout_ms, .. } => {
                let mut shown = f.debug_struct("Request");
                shown.field("id", id).field("timeout_ms", timeout_ms);
                shown
            }
            Self::Response { id, status, .. } => {
                let mut shown = f.debug_struct("Response");
                shown.field("id", id).field("status", status);
                shown
            }
            Self::Push { .. } => f.debug_struct("Push"),
        };
        shown.field("command", &self.command()).field("body_length", &self.body().len()).finish()
    }
}

/// Returns the header of a request. `body_length` is the size of the body in bytes, after
/// compression.
pub fn request_header(
    command: u8,
    id: u32,
    timeout_ms: u16,
    packing: Packing,
    body_length: usize,
) -> Result<[u8; HEADER_MAX], PacketError> {
    let [a, b, c, d] = id.to_be_bytes();
    let [t, u] = timeout_ms.to_be_bytes();
    let [x, y, z] = length_field(body_length)?;
    Ok([packing.flag() | REQUEST, command, a, b, c, d, t, u, x, y, z])
}

/// Returns the header of a response. `body_length` is the size of the body in bytes, after
/// compression.
pub fn response_header(
    command: u8,
    id: u32,
    status: Status,
    packing: Packing,
    body_length: usize,
) -> Result<[u8; RESPONSE_HEADER], PacketError> {
    let [a, b, c, d] = id.to_be_bytes();
    let [x, y, z] = length_field(body_length)?;
    Ok([packing.flag() | RESPONSE, command, a, b, c, d, status as u8, x, y, z])
}

/// Returns the header of a push. `body_length` is the size of the body in bytes, after compression.
pub fn push_header(
    command: u8,
    packing: Packing,
    body_length: usize,
) -> Result<[u8; PUSH_HEADER], PacketError> {
    let [x, y, z] = length_field(body_length)?;
    Ok([packing.flag() | PUSH, command, x, y, z])
}

fn length_field(length: usize) -> Result<[u8; 3], PacketError> {
    let too_long = PacketError::TooLong { length, limit: BODY_MAX };
    if length > BODY_MAX {
        return Err(too_long);
    }
    let [_, x, y, z] = u32::try_from(length).map_err(|_| too_long)?.to_be_bytes();
    Ok([x, y, z])
}

impl Packing {
    fn flag(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Gzip => GZIP,
        }
    }
}

impl TryFrom<u8> for Status {
    type Error = PacketError;

    fn try_from(byte: u8) -> Result<Self, PacketError> {
        Ok(match byte {
            0 => Self::Success,
            1 => Self::ServerTimeout,
            2 => Self::ClientTimeout,
            3 => Self::BadRequest,
            4 => Self::BadResponse,
            5 => Self::Unauthenticated,
            6 => Self::PermissionDenied,
            7 => Self::ServerError,
            8 => Self::ClientError,
            _ => return Err(PacketError::Status(byte)),
        })
    }
}

/// Splits a message that must hold exactly one packet into its header and the body's range.
fn split(message: &[u8], limits: Limits) -> Result<(Header, Range<usize>), PacketError> {
    let &first = message.first().ok_or(PacketError::Truncated)?;
    let (header, rest) = message.split_at_checked(header_length(first)?).ok_or(PacketError::Truncated)?;
    let start = header.len();
    let header = Header::parse(header, limits)?;
    match rest.len().checked_sub(header.length + header.signature_length()) {
        None => Err(PacketError::Truncated),
        Some(0) => Ok((header, start..start + header.length)),
        Some(trailing) => Err(PacketError::Trailing(trailing)),
    }
}

/// Returns the header size of the packet type that is encoded in `first`, the first byte of a
/// packet.
pub(crate) fn header_length(first: u8) -> Result<usize, PacketError> {
    match first & TYPE {
        REQUEST => Ok(HEADER_MAX),
        RESPONSE => Ok(RESPONSE_HEADER),
        PUSH => Ok(PUSH_HEADER),
        unknown => Err(PacketError::Type(unknown)),
    }
}

/// A parsed header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    first: u8,
    command: u8,
    kind: Kind,
    /// Size of the body as received, in bytes. Never exceeds the limits.
    pub(crate) length: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Request { id: u32, timeout_ms: u16 },
    Response { id: u32, status: Status },
    Push,
}

impl Header {
    /// Parses a complete header. The number of bytes determines the packet type, because the three
    /// types have headers of different sizes.
    pub(crate) fn parse(bytes: &[u8], limits: Limits) -> Result<Self, PacketError> {
        let (first, command, kind, length) = match *bytes {
            [first, command, a, b, c, d, t, u, x, y, z] => {
                let id = u32::from_be_bytes([a, b, c, d]);
                let timeout_ms = u16::from_be_bytes([t, u]);
                (first, command, Kind::Request { id, timeout_ms }, [0, x, y, z])
            }
            [first, command, a, b, c, d, status, x, y, z] => {
                let id = u32::from_be_bytes([a, b, c, d]);
                (first, command, Kind::Response { id, status: Status::try_from(status)? }, [0, x, y, z])
            }
            [first, command, x, y, z] => (first, command, Kind::Push, [0, x, y, z]),
            _ => return Err(PacketError::Truncated),
        };
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > limits.body {
            return Err(PacketError::TooLong { length, limit: limits.body });
        }
        Ok(Self { first, command, kind, length })
    }

    pub(crate) fn signature_length(&self) -> usize {
        if self.first & VERIFY == 0 { 0 } else { SIGNATURE }
    }

    pub(crate) fn packet<'a>(self, body: Cow<'a, [u8]>, limits: Limits) -> Result<Packet<'a>, PacketError> {
        let body = if self.first & GZIP == 0 { body } else { inflate(&body, limits.inflated)?.into() };
        let command = self.command;
        Ok(match self.kind {
            Kind::Request { id, timeout_ms } => Packet::Request { command, id, timeout_ms, body },
            Kind::Response { id, status } => Packet::Response { command, id, status, body },
            Kind::Push => Packet::Push { command, body },
        })
    }
}

/// Error codes in responses. A code can have several meanings, depending on the command and status;
/// the message text states the cause.
pub mod code {
    /// The body cannot be decoded, or the command, a parameter or the symbol is invalid.
    pub const INVALID: u64 = 301_600;
    /// An internal error.
    pub const SERVER: u64 = 301_602;
    /// The security has no quotes.
    pub const NO_QUOTES: u64 = 301_603;
    /// The account has no access to the security's quotes.
    pub const NO_ACCESS: u64 = 301_604;
    /// The account has too many subscriptions.
    pub const TOO_MANY_SUBSCRIPTIONS: u64 = 301_605;
    /// Too many requests within a time window.
    pub const RATE: u64 = 301_606;
    /// Too many symbols or rows in one request, or too many securities in a month.
    pub const TOO_MANY: u64 = 301_607;
    /// The account has reached its connection limit.
    pub const CONNECTIONS: u64 = 403;
    /// The one-time password or session has expired.
    pub const EXPIRED: u64 = 401_003;
    /// The one-time password or session is unknown or missing.
    pub const UNAUTHENTICATED: u64 = 401_004;
}

/// Returns the body of an error response. Clients would show an empty body as code 0 without a
/// message.
pub fn refusal_body(code: u64, msg: &str) -> Vec<u8> {
    control::Error { code, msg: msg.to_owned() }.encode_to_vec()
}
