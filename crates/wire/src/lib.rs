//! Bytes on the wire: the encoder of the candle answer.
//!
//! The crate knows the protocol's messages and none of our other crates: it is given plain numbers and writes
//! protobuf. It does no I/O and holds no state. So far it has one message, the answer to a candle query, written by
//! hand because it is the whole cost of an answer: a thousand candles are five thousand decimal strings.
//!
//! Start with [`encode_candles`]. A repeated field is a concatenation in protobuf, so an answer may also be put together
//! from [`encode_symbol`] and pieces made by [`encode_candle`] earlier.

mod candle;
mod pen;

pub use candle::{DECIMALS_DEFAULT, DECIMALS_MAX, Row, encode_candle, encode_candles, encode_symbol};
