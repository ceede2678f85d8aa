//! Typed push messages, which the caller encodes.

use market::{Candle, Date, Price, Session, Symbol, Timestamp, Turnover};

use crate::prints::{Growth, Print};
use crate::registry::SubType;
use crate::sequence::Sequence;

/// A push message before encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Push {
    Quote(QuotePush),
    Trades(TradesPush),
}

/// Figures of a session on one trading day, and their growth since the previous quote push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotePush {
    pub symbol: Symbol,
    pub board: Board,
    pub sequence: i64,
    /// Trading day of the figures.
    pub day: Date,
    pub session: Session,
    pub figures: Figures,
    /// Time of the last price. Clients use it to select the candle that the quote updates.
    pub time: Timestamp,
    /// Volume and turnover added since the previous quote push of this security and session.
    pub growth: Growth,
    pub tag: Tag,
    pub status: TradeStatus,
}

/// Trades of one security in one session, in chronological order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradesPush {
    pub symbol: Symbol,
    pub sequence: i64,
    pub session: Session,
    pub prints: Vec<Print>,
}

/// Kind of security, which determines the pushes from which clients build candles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Board {
    /// Clients build one-minute candles from trades, and daily candles from quotes.
    Security,
    /// An index or a sector. Clients build all candles from quotes, in regular hours only.
    Index,
}

/// Whether a security is trading. The status depends only on the store's suspensions and delisting
/// dates, because candles do not show halts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TradeStatus {
    #[default]
    Normal,
    Delisted,
    Suspended,
}

/// A change of a security's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusChange {
    pub at: Timestamp,
    /// The status, starting at this time.
    pub status: TradeStatus,
}

/// Tag of a quote push in the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tag {
    #[default]
    Normal,
    /// Clients update their daily candle, but neither merge the push into their last quote nor
    /// invoke the application's callback.
    Eod,
}

/// Prices, volume and turnover of one session of a trading day so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub last: Price,
    pub volume: i64,
    pub turnover: Turnover,
}

/// Boards whose candles clients build from quotes.
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

impl Board {
    /// Returns the pushes from which clients build one-minute candles.
    pub fn candle_pushes(self) -> SubType {
        match self {
            Board::Security => SubType::Trades,
            Board::Index => SubType::Quote,
        }
    }
}

impl Push {
    pub fn sequence(&self) -> i64 {
        match self {
            Push::Quote(quote) => quote.sequence,
            Push::Trades(trades) => trades.sequence,
        }
    }

    pub fn session(&self) -> Session {
        match self {
            Push::Quote(quote) => quote.session,
            Push::Trades(trades) => trades.session,
        }
    }

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
    /// Returns this quote without growth, for use as the first push of a new subscription. It is not
    /// tagged as revised, because the subscriber has no earlier state.
    pub fn first(self) -> QuotePush {
        QuotePush { growth: Growth::default(), tag: Tag::Normal, ..self }
    }

    /// Returns the push for a new status of the security, with unchanged figures. The time remains
    /// that of the last price, so that no client begins a candle.
    pub fn with_status(self, status: TradeStatus, sequence: &mut Sequence) -> QuotePush {
        QuotePush { sequence: sequence.next_quote(), status, tag: Tag::Normal, ..self.first() }
    }
}

impl Figures {
    /// Returns the figures after `candle`, the next candle of the same session. `before` is `None`
    /// for the session's first candle.
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
