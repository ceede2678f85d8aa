//! Converts a changed one-minute candle into pushes: trades first, then quotes.

use market::{
    Candle, Price, Session, Symbol, Timestamp, Trade, TradeCandles, TradeEffect, Trades, Turnover, Venue,
};

use crate::minute::{Clock, Minute};
use crate::prints::{CLOSE_AT, Growth, Print, path, printed_as};
use crate::push::{Board, Figures, Push, QuotePush, Tag, TradeStatus, TradesPush};
use crate::sequence::Sequence;

/// A changed one-minute candle that has not been published yet.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    pub symbol: &'a Symbol,
    pub board: Board,
    pub minute: Minute,
    /// Session figures before this minute, or `None` if this is the session's first minute of the
    /// trading day.
    pub before: Option<Figures>,
    /// Last published state of this minute, or `None` if no price was published.
    pub published: Option<Published>,
    /// Volume and turnover that clients have counted before the first price of this minute.
    pub counted: Growth,
    pub known: Candle,
    pub clock: Clock,
}

/// State of a one-minute candle that was sent to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    pub candle: Candle,
    /// Time of the last published price.
    pub last_at: Timestamp,
}

/// State that clients have built from the single trades of a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traded {
    pub stamp: Timestamp,
    /// `None` until a trade has set a price.
    pub published: Option<Published>,
    /// Volume and turnover of the trades before the first price; `published` includes them.
    pub counted: Growth,
}

/// Result of [`Update::publish`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Pushes in the order in which they are sent. Empty if nothing has changed, and for an index
    /// outside regular hours.
    pub pushes: Vec<Push>,
    /// Published state after these pushes.
    pub published: Published,
    /// Whether the known candle revises the published candle. Clients cannot build a revised candle
    /// from trades, so no trades are pushed.
    pub is_correction: bool,
}

impl Published {
    /// Returns the state before a set clock publishes the complete candle: only its open. `None`
    /// for a tail, which is published only when complete.
    pub fn opening(minute: &Minute, candle: &Candle) -> Option<Published> {
        minute.opens_at().map(|last_at| Published { candle: opening(candle), last_at })
    }
}

impl Traded {
    /// Returns the state of a minute without trades.
    pub fn new(minute: &Minute, published: Option<Published>) -> Traded {
        Traded { stamp: minute.stamp, published, counted: Growth::default() }
    }

    /// Returns the fold of the stored trades of a minute. Clients have received these trades at
    /// their seconds.
    pub fn of_trades(venue: &Venue, minute: &Minute, trades: &Trades) -> Traded {
        let effect = |trade: &Trade| trade.kind.effect(minute.market, minute.session);
        let Some(last) = trades.iter().rfind(|trade| effect(trade) == TradeEffect::PriceAndVolume) else {
            return trades.iter().fold(Traded::new(minute, None), |built, trade| built.then(minute, &trade));
        };
        let folded = TradeCandles::of(venue, minute.day, trades).unwrap_or_default().minutes;
        let candle = folded.iter().find(|candle| candle.time == minute.stamp);
        Traded::new(minute, candle.map(|candle| Published { candle, last_at: last.time }))
    }

    /// Returns the state after one more trade of the minute.
    pub fn then(self, minute: &Minute, trade: &Trade) -> Traded {
        let effect = trade.kind.effect(minute.market, minute.session);
        let moves = effect == TradeEffect::PriceAndVolume;
        if effect == TradeEffect::Nothing {
            return self;
        }
        let price = trade.price;
        let flat = || Candle {
            time: minute.stamp,
            open: price,
            high: price,
            low: price,
            close: price,
            volume: self.counted.volume,
            turnover: self.counted.turnover,
            session: minute.session,
        };
        let first = moves.then(|| Published { candle: flat(), last_at: trade.time });
        let add = |volume: i64, turnover: Turnover| {
            let turnover = Turnover(turnover.0.saturating_add(trade.turnover().0));
            (volume.saturating_add(trade.volume), turnover)
        };
        let Some(Published { mut candle, mut last_at }) = self.published.or(first) else {
            let (volume, turnover) = add(self.counted.volume, self.counted.turnover);
            return Traded { counted: Growth { volume, turnover }, ..self };
        };
        if moves {
            candle.high = candle.high.max(price);
            candle.low = candle.low.min(price);
            (candle.close, last_at) = (price, trade.time);
        }
        (candle.volume, candle.turnover) = add(candle.volume, candle.turnover);
        Traded { published: Some(Published { candle, last_at }), ..self }
    }
}

/// Maximum number of prints in a push.
pub const PRINTS_MAX: usize = 500;

/// Returns the pushes of the single trades of one second. The trades are unchanged.
pub fn single_trades(
    symbol: &Symbol,
    session: Session,
    trades: impl IntoIterator<Item = Trade>,
    sequence: &mut Sequence,
) -> Vec<Push> {
    let prints: Vec<Print> = trades.into_iter().map(Print::of_trade).collect();
    let chunks = prints.chunks(PRINTS_MAX).map(|prints| {
        let (symbol, prints) = (symbol.clone(), prints.to_vec());
        Push::Trades(TradesPush { symbol, sequence: sequence.next_trades(), session, prints })
    });
    chunks.collect()
}

/// Returns the state that a set clock publishes when a minute begins: only its open.
pub fn opening(candle: &Candle) -> Candle {
    let open = candle.open;
    Candle { high: open, low: open, close: open, volume: 0, turnover: Turnover(0), ..*candle }
}

/// Returns the push for a stored daily candle at the end of its trading day, or `None` if the
/// market was closed on that day. Its status is [`TradeStatus::Normal`]. The push is dated at the
/// end of the day, which is outside every one-minute candle, so clients update only their daily
/// candle.
pub fn end_of_day(
    symbol: &Symbol,
    board: Board,
    venue: &Venue,
    candle: &Candle,
    sequence: &mut Sequence,
) -> Option<QuotePush> {
    let day = venue.zone().date(candle.time);
    venue.day(day)?;
    Some(QuotePush {
        symbol: symbol.clone(),
        board,
        sequence: sequence.next_quote(),
        day,
        session: Session::Intraday,
        figures: Figures::then(None, candle),
        time: venue.day_end(day),
        growth: Growth::default(),
        tag: Tag::Normal,
        status: TradeStatus::Normal,
    })
}

impl Update<'_> {
    /// Returns the pushes. The status of quotes is [`TradeStatus::Normal`].
    pub fn publish(&self, sequence: &mut Sequence) -> Outcome {
        if let Some(published) = self.published.filter(|published| published.candle == self.known) {
            return Outcome { pushes: Vec::new(), published, is_correction: false };
        }
        let growth = Growth::between(self.published_candle(), &self.known);
        // Clients add the prints to their volume, but no quote has included this volume yet.
        let printed = match self.published {
            None => growth.and_then(|growth| growth.minus(self.counted)),
            Some(_) => growth,
        };
        let pushes = match (growth.zip(printed), self.board) {
            (_, Board::Index) if self.minute.session != Session::Intraday => Vec::new(),
            (None, _) => vec![self.correction(sequence)],
            (Some((growth, printed)), Board::Security) => self.security(growth, printed, sequence),
            (Some((growth, _)), Board::Index) => self.index(growth, sequence),
        };
        // If anything is pushed, the last push is a quote.
        let last_at = match pushes.last() {
            Some(Push::Quote(quote)) => quote.time,
            _ => self.last_at(),
        };
        let published = Published { candle: self.known, last_at };
        Outcome { pushes, published, is_correction: printed.is_none() }
    }

    /// Returns the quote after single trades, which clients have received unchanged.
    pub fn after_trades(&self, last_at: Timestamp, sequence: &mut Sequence) -> Push {
        let growth = Growth::between(self.published_candle(), &self.known).unwrap_or_default();
        self.quote(self.known.close, last_at, growth, sequence)
    }

    /// Returns one push of trades, then one quote.
    fn security(&self, growth: Growth, printed: Growth, sequence: &mut Sequence) -> Vec<Push> {
        let prints = printed_as(&self.minute, self.published_candle(), &self.known, printed, self.clock);
        let time = prints.last().map_or(self.last_at(), |print| print.time);
        let mut pushes = Vec::new();
        if !prints.is_empty() {
            let (symbol, session) = (self.symbol.clone(), self.minute.session);
            let sequence = sequence.next_trades();
            pushes.push(Push::Trades(TradesPush { symbol, sequence, session, prints }));
        }
        pushes.push(self.quote(self.known.close, time, growth, sequence));
        pushes
    }

    /// Returns a quote for every point of the price path. Clients add up the growth of all quotes,
    /// so only the last quote has growth.
    fn index(&self, growth: Growth, sequence: &mut Sequence) -> Vec<Push> {
        let mut points: Vec<(Price, Timestamp)> = path(self.published_candle(), &self.known)
            .into_iter()
            .map(|(price, offset)| (price, self.minute.second(self.clock, offset)))
            .collect();
        let last = points.last().map(|(price, _)| *price).or(self.published_close());
        let close_at = self.minute.second(self.clock, CLOSE_AT);
        if last != Some(self.known.close) {
            points.push((self.known.close, close_at));
        } else if points.is_empty() {
            let time = if growth.volume > 0 { close_at } else { self.last_at() };
            points.push((self.known.close, time));
        }
        let end = points.len().saturating_sub(1);
        let quotes = points.into_iter().enumerate().map(|(place, (price, time))| {
            let growth = if place == end { growth } else { Growth::default() };
            self.quote(price, time, growth, sequence)
        });
        quotes.collect()
    }

    /// Returns a quote of the corrected state, without growth. Clients cannot correct their
    /// one-minute candles, and would add the growth to index candles.
    fn correction(&self, sequence: &mut Sequence) -> Push {
        let is_same_price = self.published_close() == Some(self.known.close);
        let time = if is_same_price { self.last_at() } else { self.minute.second(self.clock, CLOSE_AT) };
        self.quote(self.known.close, time, Growth::default(), sequence)
    }

    fn quote(&self, last: Price, time: Timestamp, growth: Growth, sequence: &mut Sequence) -> Push {
        Push::Quote(QuotePush {
            symbol: self.symbol.clone(),
            board: self.board,
            sequence: sequence.next_quote(),
            day: self.minute.day,
            session: self.minute.session,
            figures: Figures { last, ..Figures::then(self.before, &self.known) },
            time,
            growth,
            tag: Tag::Normal,
            status: TradeStatus::Normal,
        })
    }

    fn published_candle(&self) -> Option<&Candle> {
        self.published.as_ref().map(|published| &published.candle)
    }

    fn published_close(&self) -> Option<Price> {
        self.published_candle().map(|candle| candle.close)
    }

    /// Returns the time of the minute's last published price, or the minute's stamp if nothing was
    /// published.
    fn last_at(&self) -> Timestamp {
        self.published.map_or(self.minute.stamp, |published| published.last_at)
    }
}

/// Returns the push for day figures that a late or corrected minute has changed, or `None` if
/// `figures` equal those of `last`.
///
/// `last` is the session's last quote push. `tag` must be [`Tag::Eod`] after the end of the day.
pub fn corrected(last: &QuotePush, figures: Figures, tag: Tag, sequence: &mut Sequence) -> Option<QuotePush> {
    (last.figures != figures).then(|| QuotePush {
        sequence: sequence.next_quote(),
        figures,
        growth: Growth::default(),
        tag,
        ..last.clone()
    })
}
