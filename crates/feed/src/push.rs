//! Pushes as typed values. Their encoding belongs to the caller.

use market::{Candle, Date, Price, Session, Symbol, Timestamp, Turnover};

use crate::prints::{Growth, Print};
use crate::registry::SubType;

/// A push before it is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Push {
    Quote(QuotePush),
    Trades(TradesPush),
}

/// A session's figures on a trading day, and their growth since the previous push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotePush {
    pub symbol: Symbol,
    pub board: Board,
    pub sequence: i64,
    /// The trading day.
    pub day: Date,
    pub session: Session,
    pub figures: Figures,
    /// The second of the last price. Clients date their candles by it.
    pub time: Timestamp,
    /// Since the previous quote push of this security and session.
    pub growth: Growth,
    pub tag: Tag,
}

/// Trades of one security and session, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradesPush {
    pub symbol: Symbol,
    pub sequence: i64,
    pub session: Session,
    pub prints: Vec<Print>,
}

/// The pushes of which clients build candles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Board {
    /// Minutes are built of trades, days of quotes.
    Security,
    /// An index or a sector: everything is built of quotes, in regular hours only.
    Index,
}

/// The protocol's tag of a quote push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tag {
    #[default]
    Normal,
    /// Clients update their day candle, but neither merge the push into their last quote nor call
    /// the program.
    Eod,
}

/// The figures of one session of a trading day so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub last: Price,
    pub volume: i64,
    pub turnover: Turnover,
}

/// Boards whose candles clients build of quotes.
const INDEX_BOARDS: [&str; 11] = [
    "USDJI", "USNSDQ", "USSector", "HKHS", "HKSector", "CNIX", "CNSector", "STI", "SGSector", "SPXIndex",
    "VIXIndex",
];

impl Board {
    /// Returns the kind of board for the name in a security's static information.
    pub fn of_name(name: &str) -> Board {
        if INDEX_BOARDS.contains(&name) { Board::Index } else { Board::Security }
    }
}

impl Push {
    pub fn symbol(&self) -> &Symbol {
        match self {
            Push::Quote(quote) => &quote.symbol,
            Push::Trades(trades) => &trades.symbol,
        }
    }

    pub fn sub_type(&self) -> SubType {
        match self {
            Push::Quote(_) => SubType::Quote,
            Push::Trades(_) => SubType::Trades,
        }
    }
}

impl QuotePush {
    /// The same state for a connection that subscribes later, without growth.
    pub fn first(self) -> QuotePush {
        QuotePush { growth: Growth::default(), ..self }
    }
}

impl Figures {
    /// The figures after a later candle of the same session; `before` is `None` for the first.
    pub fn then(before: Option<Figures>, candle: &Candle) -> Figures {
        let Candle { open, high, low, close: last, volume, turnover, .. } = *candle;
        let Some(before) = before else { return Figures { open, high, low, last, volume, turnover } };
        Figures {
            open: before.open,
            high: before.high.max(high),
            low: before.low.min(low),
            last,
            volume: before.volume.saturating_add(volume),
            turnover: Turnover(before.turnover.0.saturating_add(turnover.0)),
        }
    }
}
