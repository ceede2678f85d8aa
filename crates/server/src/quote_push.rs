//! Encodes quote and trade pushes as packets in WebSocket frames. Each push is encoded once, and
//! all connections share the bytes.

use bytes::Bytes;
use feed::{Print, PrintPrice, Push, QuotePush, Tag, TradeStatus, TradesPush};
use market::{Price, Session, Timestamp, TradeDirection};
use prost::Message;
use wire::quote::{self, Command};
use wire::{FRAME_HEADER_MAX, Opcode, PUSH_HEADER, Packing, push_header, write_frame_header};

/// Minimum number of decimals of a pushed price.
const DECIMALS: u32 = 3;

pub(crate) fn encode(push: &Push) -> Bytes {
    match push {
        Push::Quote(push) => encode_quote(push),
        Push::Trades(push) => encode_trades(push),
    }
}

/// Returns the size of the headers before the body of an encoded push.
pub(crate) fn header(frame: &[u8]) -> usize {
    let frame_header = match frame.get(1) {
        Some(126) => 4,
        Some(127) => FRAME_HEADER_MAX,
        _ => 2,
    };
    frame_header + PUSH_HEADER
}

fn framed(command: Command, message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let Ok(header) = push_header(command as u8, Packing::Plain, length) else {
        tracing::error!(command = command as u8, body.bytes = length, "a push is too long to be sent");
        return Bytes::new();
    };
    let mut frame_header = [0; FRAME_HEADER_MAX];
    let written = write_frame_header(Opcode::Binary, header.len() + length, &mut frame_header);
    let mut frame = Vec::with_capacity(written + header.len() + length);
    frame.extend_from_slice(frame_header.get(..written).unwrap_or_default());
    frame.extend_from_slice(&header);
    // The capacity is sufficient.
    message.encode(&mut frame).ok();
    frame.into()
}

pub(crate) fn encode_quote(push: &QuotePush) -> Bytes {
    let price = |price: Price| PrintPrice::from(price).text(DECIMALS);
    let figures = push.figures;
    let message = quote::PushQuote {
        symbol: push.symbol.as_str().to_owned(),
        sequence: push.sequence,
        last_done: price(figures.last),
        open: price(figures.open),
        high: price(figures.high),
        low: price(figures.low),
        timestamp: push.time.0,
        volume: figures.volume,
        turnover: figures.turnover.text().to_string(),
        trade_status: trade_status(push.status),
        trade_session: session(push.session),
        current_volume: push.growth.volume,
        current_turnover: push.growth.turnover.text().to_string(),
        tag: match push.tag {
            Tag::Normal => quote::PushQuoteTag::Normal.into(),
            Tag::Eod => quote::PushQuoteTag::Revised.into(),
        },
    };
    framed(Command::PushQuote, &message)
}

/// Returns the protocol's number of a status.
pub(crate) fn trade_status(status: TradeStatus) -> i32 {
    match status {
        TradeStatus::Normal => quote::TradeStatus::Normal.into(),
        TradeStatus::Delisted => quote::TradeStatus::Delisted.into(),
        TradeStatus::Suspended => quote::TradeStatus::Suspended.into(),
    }
}

/// The clock in the form of a quote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockPush {
    pub(crate) now: Timestamp,
    /// Number of the last step.
    pub(crate) step: u64,
    /// Number of pushes of the last step, including the push of the clock; 0 in a first push.
    pub(crate) pushes: usize,
}

pub(crate) fn encode_clock(clock: &ClockPush) -> Bytes {
    let none = || "0".to_owned();
    let message = quote::PushQuote {
        symbol: world::CLOCK.to_owned(),
        sequence: clock.now.0.saturating_mul(1_000_000),
        last_done: clock.pushes.to_string(),
        open: none(),
        high: none(),
        low: none(),
        timestamp: clock.now.0,
        volume: i64::try_from(clock.step).unwrap_or(i64::MAX),
        turnover: none(),
        trade_status: quote::TradeStatus::Normal.into(),
        trade_session: session(Session::Intraday),
        current_volume: 0,
        current_turnover: none(),
        tag: quote::PushQuoteTag::Normal.into(),
    };
    framed(Command::PushQuote, &message)
}

fn encode_trades(push: &TradesPush) -> Bytes {
    let trade = |print: &Print| quote::Trade {
        price: print.price.text(DECIMALS),
        volume: print.volume,
        timestamp: print.time.0,
        trade_type: print.kind.to_string(),
        direction: match print.direction {
            // The protocol has no value for an unknown direction.
            TradeDirection::Neutral | TradeDirection::Untold => 0,
            TradeDirection::Down => 1,
            TradeDirection::Up => 2,
        },
        trade_session: session(push.session),
    };
    let message = quote::PushTrades {
        symbol: push.symbol.as_str().to_owned(),
        sequence: push.sequence,
        trade: push.prints.iter().map(trade).collect(),
    };
    framed(Command::PushTrades, &message)
}

fn session(session: Session) -> i32 {
    session.code().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_frame_ends_where_its_body_begins() {
        for length in [0, 10, 119, 120, 121, 65_530, 65_531, 70_000] {
            let message = quote::PushQuote { symbol: "x".repeat(length), ..Default::default() };
            let frame = framed(Command::PushQuote, &message);
            assert_eq!(frame.get(header(&frame)..).unwrap(), message.encode_to_vec(), "{length}");
        }
    }
}
