//! Bytes on the wire: frames, packets, messages, and the encoder of the candle answer.
//!
//! The crate knows the protocol and none of our other crates: it converts bytes and plain numbers
//! to values, and back. It does no I/O and reads no clock; the two decoders buffer an unfinished
//! message and nothing else. The caller sets the limit of that buffer.
//!
//! Input is decoded by [`FrameDecoder`] (WebSocket) and [`Packet::decode`], or by [`Decoder`]
//! (TCP). A body is a message of [`control`], [`quote`] or [`trade`]; those are generated from
//! `proto/` and committed, and a test regenerates and compares them. An answer is sent as a header
//! ([`response_header`], [`write_frame_header`]) in front of its body. `docs/protocol.md` describes
//! the protocol and our choices.
//!
//! One message has a hand-written encoder, the answer to a candle query, because encoding dominates
//! its cost: a thousand candles are five thousand decimal strings. See [`encode_candles`]. A
//! repeated field is a concatenation in protobuf, so an answer may also be assembled from
//! [`encode_symbol`] and pieces encoded earlier by [`encode_page`].

mod candle;
pub mod command;
mod feed;
mod frame;
mod gzip;
mod packet;
mod pen;
mod refusal;
mod schema;
mod secret;
mod stream;

/// Session control, the same on every connection: auth, reconnect, heartbeat, close, and the body of a refusal.
#[rustfmt::skip]
#[allow(clippy::all)]
#[path = "generated/control.rs"]
pub mod control;
/// Commands and pushes of the quote endpoint.
#[rustfmt::skip]
#[allow(clippy::all)]
#[path = "generated/quote.rs"]
pub mod quote;
/// Commands and pushes of the trade endpoint.
#[rustfmt::skip]
#[allow(clippy::all)]
#[path = "generated/trade.rs"]
pub mod trade;

pub use candle::{DECIMALS_DEFAULT, DECIMALS_MAX, Row, encode_candles, encode_page, encode_symbol};
pub use frame::{
    CONTROL_MAX, FRAME_HEADER_MAX, FrameDecoder, FrameError, Message, Opcode, accept_key, append_frame,
    close_payload, write_frame_header,
};
pub use gzip::{COMPRESS_MIN, INFLATED_MAX, compress};
pub use packet::{
    BODY_MAX, Limits, Packet, PacketError, Packing, Status, push_header, request_header, response_header,
};
pub use refusal::{code, refusal_body};
pub use stream::{Decoder, HANDSHAKE};
