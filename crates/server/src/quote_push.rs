//! Encodes quote and trade pushes for the wire.

use bytes::Bytes;
use feed::{Print, PrintPrice, Push, QuotePush, Tag, TradesPush};
use market::{Price, Session, TradeDirection};
use prost::Message;
use wire::quote;

/// Least number of decimals in a pushed price.
const DECIMALS: u32 = 3;

pub(crate) fn encode(push: &Push) -> Bytes {
    match push {
        Push::Quote(push) => encode_quote(push),
        Push::Trades(push) => encode_trades(push),
    }
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
        trade_status: quote::TradeStatus::Normal.into(),
        trade_session: session(push.session),
        current_volume: push.growth.volume,
        current_turnover: push.growth.turnover.text().to_string(),
        tag: match push.tag {
            Tag::Normal => quote::PushQuoteTag::Normal.into(),
            Tag::Eod => quote::PushQuoteTag::Revised.into(),
        },
    };
    message.encode_to_vec().into()
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
    message.encode_to_vec().into()
}

fn session(session: Session) -> i32 {
    session.code().into()
}
