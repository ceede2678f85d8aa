//! Pushes of a subscription, as trades with market values. A push that is not valid is dropped: the
//! candles of its security are read again at regular intervals.

use market::{Market, Session, Symbol, Timestamp, TradeEffect, TradeType, parse_scaled};
use prost::Message;
use wire::quote::{Command, PushQuote, PushTrades, Trade};

/// Number of decimals of a price. Prices of pushes may have more decimals than those of candles.
const DECIMALS: u32 = 8;
/// Factor for the turnover of a trade in mainland China, whose volumes are in lots.
const CN_LOT: i128 = 100;

/// A push of one security.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    pub symbol: Symbol,
    /// In the order in which the server sent them.
    pub trades: Vec<PushedTrade>,
}

/// A trade, or the growth of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedTrade {
    pub time: Timestamp,
    pub session: Session,
    /// In hundred-millionths of the currency.
    pub price: i128,
    pub volume: i64,
    /// In hundred-millionths of the currency.
    pub turnover: i128,
    pub effect: TradeEffect,
}

impl Push {
    /// Decodes a push of trades, or a quote. Returns `None` for other pushes, and if it is not
    /// valid.
    pub fn decode(command: u8, body: &[u8]) -> Option<Push> {
        if command == Command::PushTrades as u8 {
            let push = PushTrades::decode(body).ok()?;
            let symbol: Symbol = push.symbol.parse().ok()?;
            let market = symbol.market();
            let trades = push.trade.iter().map(|trade| of_trade(trade, market)).collect::<Option<_>>()?;
            return Some(Push { symbol, trades });
        }
        if command == Command::PushQuote as u8 {
            let push = PushQuote::decode(body).ok()?;
            let symbol: Symbol = push.symbol.parse().ok()?;
            return Some(Push { symbol, trades: vec![of_quote(&push)?] });
        }
        None
    }
}

fn of_trade(trade: &Trade, market: Market) -> Option<PushedTrade> {
    let session = session(trade.trade_session)?;
    let text = trade.trade_type.trim().as_bytes();
    // Types that are not known have the effect of the market's other types.
    let kind = TradeType::parse(text, market).or_else(|| TradeType::from_code(*text.first()?))?;
    let price = decimal(&trade.price)?;
    let unit = if market == Market::Cn { CN_LOT } else { 1 };
    let turnover = price.checked_mul(i128::from(trade.volume))?.checked_mul(unit)?;
    let (time, volume) = (Timestamp(trade.timestamp), trade.volume);
    (volume >= 0).then(|| PushedTrade {
        time,
        session,
        price,
        volume,
        turnover,
        effect: kind.effect(market, session),
    })
}

/// Returns the growth since the quote before. Clients build the candles of indexes from it.
fn of_quote(quote: &PushQuote) -> Option<PushedTrade> {
    Some(PushedTrade {
        time: Timestamp(quote.timestamp),
        session: session(quote.trade_session)?,
        price: decimal(&quote.last_done)?,
        volume: Some(quote.current_volume).filter(|volume| *volume >= 0)?,
        turnover: if quote.current_turnover.is_empty() { 0 } else { decimal(&quote.current_turnover)? },
        effect: TradeEffect::PriceAndVolume,
    })
}

fn session(number: i32) -> Option<Session> {
    u8::try_from(number).ok().and_then(Session::from_code)
}

fn decimal(text: &str) -> Option<i128> {
    let (value, is_exact) = parse_scaled(text.as_bytes(), DECIMALS).ok()?;
    (is_exact && value >= 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trade(price: &str, volume: i64, trade_type: &str) -> Trade {
        let (price, trade_type) = (price.to_owned(), trade_type.to_owned());
        Trade { price, volume, timestamp: 1_773_797_459, trade_type, ..Trade::default() }
    }

    fn decoded(symbol: &str, trade: Vec<Trade>) -> Option<Push> {
        let push = PushTrades { symbol: symbol.to_owned(), trade, ..PushTrades::default() };
        Push::decode(104, &push.encode_to_vec())
    }

    #[test]
    fn trades_have_exact_prices_and_turnovers() {
        let push = decoded("600519.SH", vec![trade("1518.49876", 580, ""), trade("1518.49877", 670, "")]);
        let trades = push.unwrap().trades;
        let sum: i128 = trades.iter().map(|trade| trade.turnover).sum();
        assert_eq!((trades[0].price, sum), (151_849_876_000, 18_981_234_567_000_000));
        let volume_only = decoded("AAPL.US", vec![trade("190.225", 4_000, "W")]).unwrap().trades[0];
        assert_eq!(volume_only.effect, TradeEffect::VolumeOnly);
    }

    #[test]
    fn invalid_pushes_are_dropped() {
        for trade in [trade("", 1, ""), trade("1.123456789", 1, ""), trade("1", -1, ""), trade("-1", 1, "")] {
            assert_eq!(decoded("700.HK", vec![trade.clone()]), None, "{trade:?}");
        }
        assert_eq!(decoded("700", vec![trade("1", 1, "")]), None);
        assert_eq!(Push::decode(102, &[]), None);
        assert_eq!(Push::decode(104, &[0xff]), None);
    }

    #[test]
    fn a_quote_has_the_growth_of_an_index() {
        let quote = PushQuote {
            symbol: "HSI.HK".to_owned(),
            last_done: "18005.200".to_owned(),
            timestamp: 1_773_799_319,
            current_volume: 1_000_000,
            current_turnover: "250000000.000".to_owned(),
            ..PushQuote::default()
        };
        let push = Push::decode(101, &quote.encode_to_vec()).unwrap();
        let trade = push.trades[0];
        assert_eq!((trade.price, trade.volume), (1_800_520_000_000, 1_000_000));
        assert_eq!(trade.turnover, 25_000_000_000_000_000);
    }
}
