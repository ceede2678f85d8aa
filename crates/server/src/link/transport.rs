//! The two packet transports: WebSocket messages, or consecutive packets on TCP.

use bytes::Bytes;
use wire::{
    Decoder, FRAME_HEADER_MAX, FrameDecoder, Limits, Message, Opcode, Packet, Packing, Status, append_frame,
    close_payload, push_header, response_header, write_frame_header,
};

use super::outbox::Outbox;
use crate::links::TransportKind;
use crate::mailbox::Push;

/// Maximum size of a WebSocket message from a client, in bytes: the largest request and its header.
const MESSAGE_MAX: usize = Limits::REQUEST.body + PACKET_HEADER_MAX;
/// Maximum message size before sign-in, in bytes.
const SIGN_IN_MAX: usize = Limits::SIGN_IN.body + PACKET_HEADER_MAX;
const PACKET_HEADER_MAX: usize = 64;

/// Maximum size of a first chunk that is copied, in bytes. The first chunk of a cached response
/// holds the symbol and is this short.
const SHORT: usize = 64;

/// An item received from a client.
#[derive(Debug)]
pub(crate) enum Incoming {
    Packet(Packet<'static>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    /// The client closed the connection.
    Close,
    /// A protocol error, with the WebSocket close code for it.
    Broken {
        websocket: u16,
        reason: String,
    },
}

impl Incoming {
    fn broken(reason: impl ToString) -> Incoming {
        Incoming::Broken { websocket: CloseCode::Unpack.websocket(), reason: reason.to_string() }
    }
}

#[derive(Debug)]
pub(crate) enum Transport {
    WebSocket(FrameDecoder),
    Tcp(Decoder),
}

/// Returns the packet limits that apply to this decoder, before or after sign-in.
fn limits(decoder: &FrameDecoder) -> Limits {
    if decoder.message_max() < MESSAGE_MAX { Limits::SIGN_IN } else { Limits::REQUEST }
}

/// Reason for closing a connection, with the protocol's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseCode {
    HeartbeatTimeout = 0,
    ServerError = 1,
    Shutdown = 2,
    Unpack = 3,
    Auth = 4,
    SessionExpired = 5,
    Duplicate = 6,
}

impl CloseCode {
    /// Returns the corresponding WebSocket close code. Clients ignore it, but debuggers show it.
    pub(super) fn websocket(self) -> u16 {
        match self {
            CloseCode::Shutdown => 1000,
            CloseCode::HeartbeatTimeout => 1001,
            CloseCode::Unpack => 1002,
            CloseCode::Auth | CloseCode::SessionExpired | CloseCode::Duplicate => 1008,
            CloseCode::ServerError => 1011,
        }
    }
}

impl Transport {
    pub(crate) fn websocket() -> Transport {
        Transport::WebSocket(FrameDecoder::new(SIGN_IN_MAX))
    }

    pub(crate) fn tcp() -> Transport {
        Transport::Tcp(Decoder::new(Limits::SIGN_IN))
    }

    /// Allows longer requests after a sign-in.
    pub(crate) fn allow_requests(&mut self) {
        match self {
            Transport::WebSocket(decoder) => decoder.allow(MESSAGE_MAX),
            Transport::Tcp(decoder) => decoder.allow(Limits::REQUEST),
        }
    }

    pub(crate) fn transport_kind(&self) -> TransportKind {
        match self {
            Transport::WebSocket(_) => TransportKind::WebSocket,
            Transport::Tcp(_) => TransportKind::Tcp,
        }
    }

    /// Decodes the next item from the front of `input`. Returns `None` if the input is incomplete.
    pub(crate) fn decode(&mut self, input: &mut &[u8]) -> Option<Incoming> {
        match self {
            Transport::Tcp(decoder) => match decoder.decode(input) {
                Ok(packet) => packet.map(Incoming::Packet),
                Err(error) => Some(Incoming::broken(error)),
            },
            Transport::WebSocket(decoder) => match decoder.decode(input) {
                Ok(None) => None,
                // Some clients send packets as text frames, which differ only in the opcode.
                Ok(Some(Message::Binary(message) | Message::Text(message))) => {
                    Some(match Packet::decode_owned(message, limits(decoder)) {
                        Ok(packet) => Incoming::Packet(packet),
                        Err(error) => Incoming::broken(error),
                    })
                }
                Ok(Some(Message::Ping(payload))) => Some(Incoming::Ping(payload)),
                Ok(Some(Message::Pong(payload))) => Some(Incoming::Pong(payload)),
                Ok(Some(Message::Close { .. })) => Some(Incoming::Close),
                Err(error) => {
                    Some(Incoming::Broken { websocket: error.close_code(), reason: error.to_string() })
                }
            },
        }
    }

    /// Queues a response. A response that is too long for a packet is replaced by an error, because
    /// the client would wait half a minute for a missing response.
    pub(crate) fn response(
        &self,
        command: u8,
        id: u32,
        status: Status,
        body: Vec<Bytes>,
        outbox: &mut Outbox,
    ) {
        let length: usize = body.iter().map(Bytes::len).sum();
        let Ok(header) = response_header(command, id, status, Packing::Plain, length) else {
            tracing::error!(command, body.bytes = length, "a response is too long to be sent");
            let body = wire::refusal_body(wire::code::SERVER, "the response is too long to be sent");
            return self.response(command, id, Status::ServerError, vec![body.into()], outbox);
        };
        self.packet(&header, length, body, outbox);
    }

    pub(crate) fn push(&self, push: &Push, outbox: &mut Outbox) {
        if let (Transport::WebSocket(_), Some(frame)) = (self, push.frame()) {
            return outbox.push(frame.clone());
        }
        let (command, body) = (push.command, push.body());
        let length = body.len();
        let Ok(header) = push_header(command, Packing::Plain, length) else {
            tracing::error!(command, body.bytes = length, "a push is too long to be sent");
            return;
        };
        self.packet(&header, length, vec![body], outbox);
    }

    fn packet(&self, header: &[u8], length: usize, body: Vec<Bytes>, outbox: &mut Outbox) {
        let mut body = body.into_iter();
        // Copying a short first chunk after the header is cheaper than queueing it separately.
        let short = body.as_slice().first().filter(|piece| piece.len() <= SHORT).map_or(0, Bytes::len);
        let mut head = Vec::with_capacity(FRAME_HEADER_MAX + header.len() + short);
        if let Transport::WebSocket(_) = self {
            let mut frame = [0; FRAME_HEADER_MAX];
            let written = write_frame_header(Opcode::Binary, header.len() + length, &mut frame);
            head.extend_from_slice(frame.get(..written).unwrap_or_default());
        }
        head.extend_from_slice(header);
        if short > 0 {
            head.extend(body.next().unwrap_or_default());
        }
        outbox.reserve(1 + body.len());
        outbox.push(Bytes::from(head));
        body.for_each(|piece| outbox.push(piece));
    }

    /// Queues a ping. On TCP the ping is a heartbeat request from the server.
    pub(crate) fn ping(&self, number: u32, outbox: &mut Outbox) {
        let mut bytes = Vec::new();
        match self {
            Transport::WebSocket(_) => append_frame(Opcode::Ping, &number.to_be_bytes(), &mut bytes),
            Transport::Tcp(_) => {
                let body = Vec::new().into();
                let heartbeat = Packet::Request { command: HEARTBEAT, id: number, timeout_ms: 0, body };
                // An empty body is never too long.
                heartbeat.encode(&mut bytes).ok();
            }
        }
        outbox.push(Bytes::from(bytes));
    }

    pub(crate) fn pong(&self, payload: &[u8], outbox: &mut Outbox) {
        let mut bytes = Vec::new();
        append_frame(Opcode::Pong, payload, &mut bytes);
        outbox.push(Bytes::from(bytes));
    }

    /// Queues the close push and, on a WebSocket, the close frame.
    pub(crate) fn close(&self, code: CloseCode, websocket: u16, reason: &str, outbox: &mut Outbox) {
        let close = wire::control::Close { code: code as i32, reason: reason.to_owned() };
        let body = prost::Message::encode_to_vec(&close).into();
        self.push(&Push::new(CLOSE, body), outbox);
        self.goodbye(websocket, reason, outbox);
    }

    /// Queues only the WebSocket close frame.
    pub(crate) fn goodbye(&self, code: u16, reason: &str, outbox: &mut Outbox) {
        if let Transport::WebSocket(_) = self {
            let mut bytes = Vec::new();
            append_frame(Opcode::Close, &close_payload(code, reason), &mut bytes);
            outbox.push(Bytes::from(bytes));
        }
    }
}

pub(crate) const CLOSE: u8 = 0;
pub(crate) const HEARTBEAT: u8 = 1;
pub(crate) const AUTH: u8 = 2;
pub(crate) const RECONNECT: u8 = 3;
