//! Typed requests and their encoding.

use market::{Date, Market, Symbol, Timestamp, Zone};
use prost::Message;
use wire::command;
use wire::quote::{
    AdjustType, Direction, HistoryCandlestickQueryType, IntradayRequest, OffsetRequest, Period as WirePeriod,
    QuoteProfileRequest, SecurityCandlestickRequest, SecurityHistoryCandlestickRequest, SubType,
    SubscribeRequest, SymbolsRequest, TradingDaysRequest,
};

/// Period of requested candles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    Minute,
    Day,
}

/// Adjustment of requested prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Adjust {
    Actual,
    Forward,
}

/// Pushes from which one-minute candles are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feed {
    Trades,
    /// For indexes, which have no trades.
    Quotes,
}

/// Trading hours of requested candles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sessions {
    Regular,
    All,
}

/// Newest candle of a page, inclusive: a date, or a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Anchor {
    pub date: Date,
    /// Minutes after midnight, local time.
    pub minute: Option<u16>,
}

impl Anchor {
    /// Returns the anchor of a received candle.
    pub fn at(market: Market, period: Period, stamp: Timestamp) -> Anchor {
        let (date, second) = Zone::of(market).local(stamp);
        let minute = u16::try_from(second.div_euclid(60)).ok().filter(|_| period == Period::Minute);
        Anchor { date, minute }
    }
}

/// Number of requested candles, 1 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count(u16);

impl Count {
    pub const MAX: Count = Count(1_000);

    /// Returns the number, clamped to the range from 1 to 1,000.
    pub fn of(number: usize) -> Count {
        Count(u16::try_from(number.clamp(1, 1_000)).unwrap_or(1_000))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Command 4: the user profile.
    Profile,
    /// Command 9: trading days in a date range of at most 31 days.
    TradingDays { market: Market, from: Date, to: Date },
    /// Command 10: static data of at most 500 symbols.
    StaticInfo { symbols: Vec<Symbol> },
    /// Command 27: history candles, backward. Without an anchor, the newest ones.
    History {
        symbol: Symbol,
        period: Period,
        adjust: Adjust,
        sessions: Sessions,
        anchor: Option<Anchor>,
        count: Count,
    },
    /// Command 19: the newest candles, including the incomplete one.
    Candles { symbol: Symbol, period: Period, adjust: Adjust, sessions: Sessions, count: Count },
    /// Command 18: the intraday line of the current day.
    Intraday { symbol: Symbol, sessions: Sessions },
    /// Command 6: subscribes to the pushes from which candles are built.
    Subscribe { symbol: Symbol, feed: Feed },
}

/// Maximum number of symbols in a request for static data.
pub(crate) const SYMBOLS_MAX: usize = 500;

impl Request {
    pub fn command(&self) -> u8 {
        match self {
            Request::Profile => command::PROFILE,
            Request::TradingDays { .. } => command::TRADING_DAYS,
            Request::StaticInfo { .. } => command::STATIC_INFO,
            Request::History { .. } => command::HISTORY,
            Request::Candles { .. } => command::CANDLESTICKS,
            Request::Intraday { .. } => command::INTRADAY,
            Request::Subscribe { .. } => command::SUBSCRIBE,
        }
    }

    /// Returns the security, if the request is for only one.
    pub fn symbol(&self) -> Option<&Symbol> {
        match self {
            Request::History { symbol, .. }
            | Request::Candles { symbol, .. }
            | Request::Intraday { symbol, .. }
            | Request::Subscribe { symbol, .. } => Some(symbol),
            Request::Profile | Request::TradingDays { .. } | Request::StaticInfo { .. } => None,
        }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        match self {
            Request::Profile => QuoteProfileRequest { language: "en".to_owned() }.encode_to_vec(),
            Request::TradingDays { market, from, to } => TradingDaysRequest {
                market: market.as_str().to_owned(),
                beg_day: digits(*from),
                end_day: digits(*to),
            }
            .encode_to_vec(),
            Request::StaticInfo { symbols } => {
                SymbolsRequest { symbol: symbols.iter().take(SYMBOLS_MAX).map(ToString::to_string).collect() }
                    .encode_to_vec()
            }
            Request::History { symbol, period, adjust, sessions, anchor, count } => {
                let offset = OffsetRequest {
                    direction: Direction::Backward as i32,
                    date: anchor.map(|anchor| digits(anchor.date)).unwrap_or_default(),
                    minute: anchor
                        .and_then(|anchor| anchor.minute)
                        .map(|minute| format!("{:02}{:02}", minute / 60, minute % 60))
                        .unwrap_or_default(),
                    count: i32::from(count.0),
                };
                SecurityHistoryCandlestickRequest {
                    symbol: symbol.to_string(),
                    period: period.number(),
                    adjust_type: adjust.number(),
                    query_type: HistoryCandlestickQueryType::ByOffset as i32,
                    offset_request: Some(offset),
                    date_request: None,
                    trade_session: sessions.number(),
                }
                .encode_to_vec()
            }
            Request::Candles { symbol, period, adjust, sessions, count } => SecurityCandlestickRequest {
                symbol: symbol.to_string(),
                period: period.number(),
                count: i32::from(count.0),
                adjust_type: adjust.number(),
                trade_session: sessions.number(),
            }
            .encode_to_vec(),
            Request::Intraday { symbol, sessions } => {
                IntradayRequest { symbol: symbol.to_string(), trade_session: sessions.number() }
                    .encode_to_vec()
            }
            Request::Subscribe { symbol, feed } => SubscribeRequest {
                symbol: vec![symbol.to_string()],
                sub_type: vec![match feed {
                    Feed::Trades => SubType::Trade as i32,
                    Feed::Quotes => SubType::Quote as i32,
                }],
                is_first_push: false,
            }
            .encode_to_vec(),
        }
    }
}

impl Period {
    fn number(self) -> i32 {
        match self {
            Period::Minute => WirePeriod::OneMinute as i32,
            Period::Day => WirePeriod::Day as i32,
        }
    }
}

impl Adjust {
    fn number(self) -> i32 {
        match self {
            Adjust::Actual => AdjustType::None as i32,
            Adjust::Forward => AdjustType::Forward as i32,
        }
    }
}

impl Sessions {
    fn number(self) -> i32 {
        match self {
            Sessions::Regular => 0,
            Sessions::All => 100,
        }
    }
}

/// Returns a date as `YYYYMMDD`.
fn digits(date: Date) -> String {
    date.to_string().replace('-', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A backward page, encoded like packet C of the protocol description.
    #[test]
    fn a_page_is_requested_by_its_anchor() {
        let symbol: Symbol = "700.HK".parse().unwrap();
        let stamp = Zone::of(Market::Hk).instant("2024-01-02".parse().unwrap(), 0);
        let request = |period| {
            let anchor = Some(Anchor::at(Market::Hk, period, stamp));
            let (adjust, sessions, count) = (Adjust::Actual, Sessions::Regular, Count::of(5));
            Request::History { symbol: symbol.clone(), period, adjust, sessions, anchor, count }.body()
        };
        let hex: String = request(Period::Day).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "0a063730302e484b10e80720012a0c12083230323430313032 2005".replace(' ', ""));
        let minutes = SecurityHistoryCandlestickRequest::decode(request(Period::Minute).as_slice()).unwrap();
        assert_eq!(minutes.offset_request.unwrap().minute, "0000");
    }

    #[test]
    fn counts_are_clamped_to_the_limits_of_the_protocol() {
        assert_eq!((Count::of(0).0, Count::of(7).0, Count::of(5_000)), (1, 7, Count::MAX));
    }
}
