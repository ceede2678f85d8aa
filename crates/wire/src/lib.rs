//! The wire protocol: frames, packets, messages, and an encoder for candle responses.
//!
//! The crate converts between bytes and plain values, and depends on no other crate of the
//! workspace. It does no I/O and reads no clock. The two decoders buffer only an incomplete
//! message, up to a limit that the caller sets.
//!
//! Input is decoded by [`FrameDecoder`] (WebSocket) and [`Packet::decode`], or by [`Decoder`]
//! (TCP). A body is a message of [`control`], [`quote`] or [`trade`]; these modules are generated
//! from `proto/` and committed, and a test checks that they are current. A response is sent as a
//! header ([`response_header`], [`write_frame_header`]) followed by its body. `docs/protocol.md`
//! describes the protocol and our choices.
//!
//! Candle responses have a hand-written encoder, [`encode_candles`], because encoding dominates the
//! cost of a candle query: a thousand candles are five thousand decimal strings. Protobuf
//! concatenates repeated fields, so a response may also be assembled from [`encode_symbol`] and
//! parts that [`encode_page`] encoded earlier.
//!
//! Decoding a client's request and encoding the response:
//!
//! ```
//! use prost::Message as _;
//! use wire::quote::{SecurityCandlestickRequest, SecurityCandlestickResponse};
//! use wire::{Decoder, Limits, Packet, Packing, Row, Status, command};
//!
//! let request = SecurityCandlestickRequest { symbol: "700.HK".into(), count: 1, ..Default::default() };
//! let body = request.encode_to_vec().into();
//! let mut sent = Vec::from(wire::HANDSHAKE);
//! Packet::Request { command: command::CANDLESTICKS, id: 7, timeout_ms: 10_000, body }.encode(&mut sent)?;
//!
//! let mut decoder = Decoder::new(Limits::REQUEST);
//! let packet = decoder.decode(&mut sent.as_slice())?.ok_or("an unfinished packet")?;
//! assert_eq!(SecurityCandlestickRequest::decode(packet.body())?, request);
//!
//! // Prices are in millionths, and the response has three decimals.
//! let mut answer = Vec::new();
//! wire::encode_candles("700.HK", 3, [Row { close: 301_200_000, ..Row::default() }], &mut answer);
//! let header = wire::response_header(packet.command(), 7, Status::Success, Packing::Plain, answer.len())?;
//! assert_eq!(usize::from(header[9]), answer.len());
//! assert_eq!(SecurityCandlestickResponse::decode(answer.as_slice())?.candlesticks[0].close, "301.200");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod candle;
pub mod command;
mod feed;
mod frame;
mod gzip;
mod packet;
mod pen;
mod schema;
mod secret;
mod stream;

/// Session control messages of both endpoints: auth, reconnect, heartbeat, close, and the error
/// body.
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
    BODY_MAX, Limits, PUSH_HEADER, Packet, PacketError, Packing, Status, push_header, request_header,
    response_header,
};
pub use packet::{code, refusal_body};
pub use stream::{Decoder, HANDSHAKE};
