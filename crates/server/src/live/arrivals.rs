//! Publishes rows that arrive while the server runs, under the machine clock. Every node computes
//! the pushes from the committed batches, whose sequence numbers are stored with them.

use std::collections::HashMap;

use feed::{
    Board, Clock, Due, Figures, Growth, Minute, Phase, Print, Published, Push, QuotePush, Sequence, Tag,
    TradesPush, Update, corrected, end_of_day,
};
use history::ingest::{Commit, CommittedCandle, CommittedTrade, Effect};
use history::{History, HistoryError};
use market::{Candle, Date, Grain, Session, Symbol, Timestamp, Turnover, Venue};
use store::Reader;

/// Number of sequence numbers reserved for a row.
const NUMBERS_PER_ROW: i64 = 8;
const MICROSECONDS: i64 = 1_000_000;
const LANES: usize = Session::ALL.len();

/// The published state of subscribed securities.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// The last batch whose rows are published.
    pub(super) through: Option<i64>,
    securities: HashMap<Symbol, Security>,
}

#[derive(Debug)]
struct Security {
    board: Board,
    /// The newest minute of each session, by session code.
    lanes: [Option<Lane>; LANES],
    /// The last day whose daily candle was published after its end.
    day: Option<Date>,
}

/// The newest minute of a session.
#[derive(Clone, Debug)]
struct Lane {
    /// The session's figures without this minute.
    before: Option<Figures>,
    minute: Minute,
    published: Published,
    /// The last quote of this session.
    last: QuotePush,
}

impl Arrivals {
    /// Creates the state without securities, after a batch.
    pub(super) fn after(through: i64) -> Arrivals {
        Arrivals { through: Some(through), securities: HashMap::new() }
    }

    /// Forgets securities without subscribers.
    pub(super) fn forget(&mut self, symbols: &[Symbol]) {
        self.securities.retain(|symbol, _| symbols.binary_search(symbol).is_ok());
    }

    /// Reads the present state of a security that gets its first subscriber.
    pub(super) fn load(
        &mut self,
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<(), HistoryError> {
        if !self.securities.contains_key(symbol) {
            let security = Security::read(history, reader, symbol, now)?;
            self.securities.insert(symbol.clone(), security);
        }
        Ok(())
    }

    /// Returns the last quote of a security in the sessions that `sees` admits.
    pub(super) fn last(&self, symbol: &Symbol, sees: impl Fn(Session) -> bool) -> Option<QuotePush> {
        let lanes = self.securities.get(symbol)?.lanes.iter().flatten();
        let last = lanes.map(|lane| &lane.last).filter(|quote| sees(quote.session) && quote.sequence > 0);
        last.max_by_key(|quote| quote.sequence).cloned()
    }

    /// Returns the pushes of a batch, in order. `is_subscribed` selects the securities.
    pub(super) fn commit(
        &mut self,
        history: &History,
        reader: &mut Reader,
        commit: &Commit,
        is_subscribed: impl Fn(&Symbol) -> bool,
    ) -> Result<Vec<Due>, HistoryError> {
        let at = Timestamp(commit.at_us / MICROSECONDS);
        let number = |row: usize| {
            let last = i64::try_from(row).unwrap_or(i64::MAX).saturating_mul(NUMBERS_PER_ROW) - 1;
            let last = commit.push_from.saturating_add(last);
            Sequence { quote: last, trades: last }
        };
        let mut dues = Vec::new();
        for (row, arrived) in commit.candles.iter().enumerate().filter(|(_, of)| is_subscribed(&of.symbol)) {
            let security = self.security(history, reader, &arrived.symbol, at)?;
            let venue = history.venue(&arrived.symbol);
            let mut sequence = number(row);
            let pushes = match arrived.grain {
                Grain::Day => security.day(venue, arrived, at, &mut sequence),
                _ => security.minute(history, reader, arrived, at, &mut sequence)?,
            };
            dues.push(due(at, &arrived.symbol, pushes));
        }
        for (row, arrived) in commit.trades.iter().enumerate().filter(|(_, of)| is_subscribed(&of.symbol)) {
            let security = self.security(history, reader, &arrived.symbol, at)?;
            let mut sequence = number(row);
            let is_last = !commit.trades.iter().skip(row + 1).any(|later| later.symbol == arrived.symbol);
            let mut pushes = security.trade(history.venue(&arrived.symbol), arrived, &mut sequence);
            // The minutes are built of all trades of the batch at once.
            if commit.builds && is_last {
                pushes.extend(security.rebuilt(history, reader, arrived, &mut sequence)?);
            }
            dues.push(due(at, &arrived.symbol, pushes));
        }
        dues.retain(|due| !due.pushes.is_empty());
        Ok(dues)
    }

    /// Returns the state of a security. One that subscribers were waiting for has none.
    fn security(
        &mut self,
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        at: Timestamp,
    ) -> Result<&mut Security, HistoryError> {
        if !self.securities.contains_key(symbol) {
            let security = Security::read(history, reader, symbol, at)?;
            let security = Security { lanes: Default::default(), ..security };
            self.securities.insert(symbol.clone(), security);
        }
        self.securities.get_mut(symbol).ok_or_else(|| HistoryError::UnknownSecurity(symbol.clone()))
    }
}

fn due(at: Timestamp, symbol: &Symbol, pushes: Vec<Push>) -> Due {
    Due { at, phase: Phase::Acts, symbol: symbol.clone(), pushes }
}

impl Security {
    fn read(
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<Security, HistoryError> {
        let venue = history.venue(symbol);
        let name = reader.view().security(symbol)?.and_then(|security| security.board);
        let board = name.as_deref().map_or(Board::Security, Board::of_name);
        let mut security = Security { board, lanes: Default::default(), day: None };
        if let Some(minute) = history.last_minute(reader.view(), symbol, now)?
            && let Some(day) = venue.trading_day(minute.time)
        {
            for session in Session::ALL {
                let lane = Lane::read(history, reader, symbol, board, (day, session, now))?;
                if let Some(place) = security.lanes.get_mut(usize::from(session.code())) {
                    *place = lane;
                }
            }
        }
        if let Ok(tomorrow) = venue.zone().date(now).tomorrow() {
            let day = history.last_day(reader.view(), symbol, tomorrow)?;
            security.day =
                day.map(|day| venue.zone().date(day.time)).filter(|day| venue.day_end(*day) <= now);
        }
        Ok(security)
    }

    /// Publishes a one-minute candle.
    fn minute(
        &mut self,
        history: &History,
        reader: &mut Reader,
        arrived: &CommittedCandle,
        at: Timestamp,
        sequence: &mut Sequence,
    ) -> Result<Vec<Push>, HistoryError> {
        let CommittedCandle { symbol, candle, effect, .. } = arrived;
        let (board, venue) = (self.board, history.venue(symbol));
        let Some(minute) = Minute::of(venue, candle.time) else { return Ok(Vec::new()) };
        let Some(lane) = self.lanes.get_mut(usize::from(minute.session.code())) else {
            return Ok(Vec::new());
        };
        let (before, published) = match lane {
            Some(lane) if minute.day < lane.minute.day => return Ok(Vec::new()),
            Some(known) if minute.day == known.minute.day => {
                if minute.stamp < known.minute.stamp || *effect == Effect::Replaced {
                    return correct(history, reader, (symbol, board, at), lane, sequence);
                }
                match minute.stamp == known.minute.stamp {
                    true => (known.before, Some(known.published)),
                    false => (Some(Figures::then(known.before, &known.published.candle)), None),
                }
            }
            _ => (None, None),
        };
        let clock = Clock::Machine { now: at };
        let update = Update { symbol, board, minute, before, published, known: *candle, clock };
        let outcome = update.publish(sequence);
        let last = outcome.pushes.iter().rev().find_map(|push| match push {
            Push::Quote(quote) => Some(quote.clone()),
            Push::Trades(_) => None,
        });
        let last = last.or_else(|| lane.take().map(|lane| lane.last));
        let last = last.unwrap_or_else(|| state(symbol, board, &minute, before, &outcome.published));
        *lane = Some(Lane { before, minute, published: outcome.published, last });
        Ok(outcome.pushes)
    }

    /// Publishes a daily candle that arrives after the end of its day. A second version is tagged.
    fn day(
        &mut self,
        venue: &Venue,
        arrived: &CommittedCandle,
        at: Timestamp,
        sequence: &mut Sequence,
    ) -> Vec<Push> {
        let date = venue.zone().date(arrived.candle.time);
        let newest = self.lanes.iter().flatten().map(|lane| lane.minute.day).chain(self.day).max();
        if venue.day_end(date) > at || newest.is_some_and(|newest| date < newest) {
            return Vec::new();
        }
        let tag = if self.day.replace(date) == Some(date) { Tag::Eod } else { Tag::Normal };
        let push = end_of_day(&arrived.symbol, self.board, venue, &arrived.candle, sequence);
        push.map(|push| Push::Quote(QuotePush { tag, ..push })).into_iter().collect()
    }

    /// Publishes a single trade unchanged.
    fn trade(&self, venue: &Venue, arrived: &CommittedTrade, sequence: &mut Sequence) -> Vec<Push> {
        let CommittedTrade { symbol, trade } = arrived;
        let Some(slot) = venue.slot(trade.time).filter(|_| self.board == Board::Security) else {
            return Vec::new();
        };
        let print = Print {
            time: trade.time,
            price: trade.price.into(),
            volume: trade.volume,
            direction: trade.direction,
            kind: trade.kind,
        };
        sequence.trades = sequence.trades.saturating_add(1);
        let (symbol, sequence, session) = (symbol.clone(), sequence.trades, slot.segment.session);
        vec![Push::Trades(TradesPush { symbol, sequence, session, prints: vec![print] })]
    }

    /// Publishes the quote of minutes that were built of trades.
    fn rebuilt(
        &mut self,
        history: &History,
        reader: &mut Reader,
        arrived: &CommittedTrade,
        sequence: &mut Sequence,
    ) -> Result<Option<Push>, HistoryError> {
        let CommittedTrade { symbol, trade } = arrived;
        let venue = history.venue(symbol);
        let Some(slot) = venue.slot(trade.time) else { return Ok(None) };
        let session = slot.segment.session;
        let lane = Lane::read(history, reader, symbol, self.board, (slot.day, session, trade.time))?;
        let (Some(place), Some(mut lane)) = (self.lanes.get_mut(usize::from(session.code())), lane) else {
            return Ok(None);
        };
        let before = place.as_ref().filter(|before| before.minute.day == slot.day);
        let figures = before.map(|before| before.last.figures);
        if figures == Some(lane.last.figures) {
            return Ok(None);
        }
        let (volume, turnover) = figures.map_or((0, Turnover(0)), |of| (of.volume, of.turnover));
        sequence.quote = sequence.quote.saturating_add(1);
        lane.last = QuotePush {
            sequence: sequence.quote,
            time: trade.time,
            growth: Growth {
                volume: lane.last.figures.volume.saturating_sub(volume).max(0),
                turnover: Turnover(lane.last.figures.turnover.0.saturating_sub(turnover.0).max(0)),
            },
            ..lane.last
        };
        let push = Push::Quote(lane.last.clone());
        *place = Some(lane);
        Ok(Some(push))
    }
}

/// Publishes the figures after a late or corrected minute, without trades, which cannot be taken
/// back.
fn correct(
    history: &History,
    reader: &mut Reader,
    (symbol, board, at): (&Symbol, Board, Timestamp),
    lane: &mut Option<Lane>,
    sequence: &mut Sequence,
) -> Result<Vec<Push>, HistoryError> {
    let Some(known) = lane else { return Ok(Vec::new()) };
    let (day, session) = (known.minute.day, known.minute.session);
    let Some(read) = Lane::read(history, reader, symbol, board, (day, session, at))? else {
        return Ok(Vec::new());
    };
    let is_over = history.venue(symbol).day_end(day) <= at;
    let tag = if is_over && session == Session::Intraday { Tag::Eod } else { Tag::Normal };
    let push = corrected(&known.last, read.last.figures, tag, sequence);
    let last = push.clone().unwrap_or_else(|| known.last.clone());
    *lane = Some(Lane { last, ..read });
    Ok(push.map(Push::Quote).into_iter().collect())
}

impl Lane {
    /// Reads the minutes of a trading day in one session. `None` if there are none.
    fn read(
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        board: Board,
        (day, session, now): (Date, Session, Timestamp),
    ) -> Result<Option<Lane>, HistoryError> {
        let venue = history.venue(symbol);
        let stamps = venue.day(day).map(|day| day.minutes().map(|(at, _)| at).collect::<Vec<Timestamp>>());
        let stamps = stamps.unwrap_or_default();
        let (Some(first), Some(last)) = (stamps.first(), stamps.last()) else { return Ok(None) };
        let window = *first..Timestamp(last.0.saturating_add(1));
        let candles = history.minutes(reader.view(), symbol, window)?;
        let mut candles: Vec<Candle> = candles.iter().filter(|candle| candle.session == session).collect();
        let Some(candle) = candles.pop() else { return Ok(None) };
        let Some(minute) = Minute::of(venue, candle.time) else { return Ok(None) };
        let before = candles.iter().fold(None, |figures, candle| Some(Figures::then(figures, candle)));
        let last_at = minute.acts_at().0.saturating_sub(1).min(now.0);
        let published = Published { candle, last_at: Timestamp(last_at.max(candle.time.0)) };
        let last = state(symbol, board, &minute, before, &published);
        Ok(Some(Lane { before, minute, published, last }))
    }
}

/// Returns the quote of a state that was not pushed; its sequence number is 0.
fn state(
    symbol: &Symbol,
    board: Board,
    minute: &Minute,
    before: Option<Figures>,
    published: &Published,
) -> QuotePush {
    QuotePush {
        symbol: symbol.clone(),
        board,
        sequence: 0,
        day: minute.day,
        session: minute.session,
        figures: Figures::then(before, &published.candle),
        time: published.last_at,
        growth: Growth::default(),
        tag: Tag::Normal,
    }
}
