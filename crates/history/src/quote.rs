//! Quotes: the last price of a security at an instant and the figures of its trading day, computed
//! from the newest candles.
//!
//! A quote equals the state that clients have built from the pushes up to that instant:
//! [`feed::Update`] and [`feed::Figures`] compute both. [`History::last_price`] returns only the
//! price, for lists of securities: it follows the same rule with fewer reads.

use feed::{Board, Figures, Growth, Minute, Published, Sequence, TradeStatus, Traded, Update};
use market::{Candle, Date, Floors, Grain, Market, Period, Price, Session, Symbol, Timestamp, Venue};
use store::Reader;

use crate::as_of::{AsOf, Prefer, RunningTrades};
use crate::day_minutes::{DayMinutes, minutes};
use crate::own::has_own;
use crate::plan::Plan;
use crate::query::{Adjust, Anchor, Direction, HistoryError, Query, Select, Sessions};
use crate::read::{Answer, History};
use crate::trade_blocks::TradedMinute;
use crate::trade_status::trade_status;

/// Unadjusted prices of a security at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    pub symbol: Symbol,
    /// Number of decimals of the security's prices.
    pub decimals: u32,
    pub trade_status: TradeStatus,
    /// Regular hours of the newest day that has a candle.
    pub regular: SessionQuote,
    /// Pre-market hours of the day after `regular` if that day has pre-market trades, otherwise of
    /// the same day.
    pub pre: Option<SessionQuote>,
    pub post: Option<SessionQuote>,
    /// Overnight session, chosen by the same rule as `pre`.
    pub overnight: Option<SessionQuote>,
}

/// Figures of a session, and the price that they are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionQuote {
    pub state: SessionState,
    pub prev_close: Price,
}

/// Figures of one session of a trading day so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionState {
    pub day: Date,
    pub figures: Figures,
    /// Second of the last price: the second of the last print of its minute, or the end of the day
    /// if the figures come from the daily candle.
    pub time: Timestamp,
}

/// The security and the instant of a quote.
#[derive(Clone, Copy, Debug)]
struct Quoted<'a> {
    symbol: &'a Symbol,
    floors: Floors,
    as_of: AsOf,
    board: Board,
    trade_status: TradeStatus,
}

impl History {
    /// Returns the quote of a security, or `None` if it has no visible candle in regular hours.
    /// `sessions` are the sessions that the caller may read.
    pub fn quote(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        sessions: Sessions,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<Quote>, HistoryError> {
        let Some(security) = reader.snapshot_of(symbol)?.security(symbol)? else { return Ok(None) };
        let board = security.board.as_deref().map_or(Board::Security, Board::of_name);
        let trade_status = trade_status(&security, self.venue(symbol), as_of.now());
        let quoted = Quoted { symbol, floors, as_of, board, trade_status };
        without_missing(self.find_quote(reader, &quoted, sessions)).map(Option::flatten)
    }

    fn find_quote(
        &self,
        reader: &mut Reader,
        quoted: &Quoted<'_>,
        sessions: Sessions,
    ) -> Result<Option<Quote>, HistoryError> {
        let Quoted { symbol, floors, as_of, .. } = *quoted;
        let venue = self.venue(symbol);
        let dated = |candle: &Candle| venue.zone().date(candle.time);
        let Answer { decimals, candles: days, .. } = self.newest_stored_day(reader, quoted)?;
        let all = minutes(symbol, sessions, floors);
        let regular = Query { sessions: Sessions::Intraday, ..all.clone() };
        let stored = days.last();
        let traded = self.newest_day(reader, &regular, as_of)?;
        let Some(day) = traded.max(stored.as_ref().map(dated)) else { return Ok(None) };
        let of_day = self.minutes_of_day(reader, &all, day, as_of)?;
        let stored = stored.filter(|stored| {
            let prefers = |minutes: Date| as_of.prefers_minutes(venue, dated(stored), minutes);
            dated(stored) == day && !traded.is_some_and(prefers)
        });
        let state = match stored {
            Some(stored) => Some(SessionState::of_day(venue, day, &stored, as_of)),
            None => self.state(reader, quoted, &of_day, Session::Intraday)?,
        };
        let Some(state) = state else { return Ok(None) };
        let last = state.figures.last;
        let snapshot = reader.snapshot_of(symbol)?;
        let prev_close = self.close_before(&snapshot, symbol, day)?.unwrap_or(state.figures.open);
        drop(snapshot);

        let has_more = symbol.market() == Market::Us && sessions != Sessions::Intraday;
        let ahead = if has_more { self.newest_day(reader, &all, as_of)? } else { None };
        let ahead = match ahead.filter(|ahead| *ahead > day) {
            Some(ahead) => Some(self.minutes_of_day(reader, &all, ahead, as_of)?),
            None => None,
        };
        let mut of = |minutes: &DayMinutes, session: Session, prev_close: Price| {
            let state = self.state(reader, quoted, minutes, session)?;
            Ok::<_, HistoryError>(state.map(|state| SessionQuote { state, prev_close }))
        };
        // Sessions before regular hours are compared with the previous regular close.
        let mut before = |session: Session| {
            let next = ahead.as_ref().map(|ahead| of(ahead, session, last)).transpose()?.flatten();
            if next.is_some() { Ok(next) } else { of(&of_day, session, prev_close) }
        };
        let (pre, overnight) = (before(Session::Pre)?, before(Session::Overnight)?);
        let post = of(&of_day, Session::Post, last)?;
        Ok(Some(Quote {
            symbol: symbol.clone(),
            decimals,
            trade_status: quoted.trade_status,
            regular: SessionQuote { state, prev_close },
            pre,
            post,
            overnight,
        }))
    }

    /// Returns the newest daily candle that is stored and visible, not one that is folded from
    /// minutes.
    fn newest_stored_day(&self, reader: &mut Reader, quoted: &Quoted<'_>) -> Result<Answer, HistoryError> {
        let Quoted { symbol, floors, as_of, .. } = *quoted;
        let query = newest(symbol, Period::DAY, floors);
        let mut plan = Plan::of(&query, self.venue(symbol), as_of);
        if let Some(edge) = plan.edge.take()
            && edge.prefer == Prefer::Minutes
        {
            plan.sources.end = edge.from.max(plan.sources.start);
        }
        self.answer(reader, &query, &plan, as_of)
    }

    /// Returns the figures of one session of a day, or `None` if the session has no trades.
    fn state(
        &self,
        reader: &mut Reader,
        quoted: &Quoted<'_>,
        minutes: &DayMinutes,
        session: Session,
    ) -> Result<Option<SessionState>, HistoryError> {
        let Quoted { symbol, as_of, board, .. } = *quoted;
        let venue = self.venue(symbol);
        let mut candles = minutes.candles.iter().filter(|candle| candle.session == session);
        let Some(known) = candles.next_back() else { return Ok(None) };
        let before = candles.fold(None, |figures, candle| Some(Figures::then(figures, &candle)));
        let figures = Figures::then(before, &known);
        let time = match Minute::of(venue, known.time) {
            None => known.time,
            Some(minute) => {
                let traded = match (self.running_trades(), as_of) {
                    (RunningTrades::Hidden, AsOf::Replay(_)) => TradedMinute::Untraded,
                    _ => {
                        let until = Timestamp(as_of.now().0.saturating_add(1));
                        let view = reader.snapshot_of(symbol)?;
                        TradedMinute::read(&view, venue, symbol, known.time, until)?
                    }
                };
                let (published, counted) = match traded {
                    TradedMinute::Untraded => (Published::opening(&minute, &known), Growth::default()),
                    TradedMinute::Traded(Traded { published, counted, .. }) => (published, counted),
                };
                let clock = feed::Clock::Set;
                let update = Update { symbol, board, minute, before, published, counted, known, clock };
                update.publish(&mut Sequence::default()).published.last_at
            }
        };
        Ok(Some(SessionState { day: minutes.day, figures, time: time.min(as_of.now()) }))
    }

    /// Returns the last price in regular hours and its number of decimals, or `None` if there is
    /// none. Equals the last price of a quote, except that coarse candles are used as well.
    pub fn last_price(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<(Price, u32)>, HistoryError> {
        let coarse = has_own(&reader.snapshot_of(symbol)?, symbol)?;
        let mut newest = |period| self.newest_candle(reader, symbol, period, floors, as_of);
        let (day, mut minute) = (newest(Period::DAY)?, newest(Period::MINUTE)?);
        for grain in Grain::OWN.into_iter().filter(|_| coarse) {
            let other = newest(grain.period())?;
            // If two candles have the same stamp, the finer one is used, because it was read first.
            minute = match (minute, other) {
                (Some((one, _)), Some((other, decimals))) if other.time > one.time => Some((other, decimals)),
                (one, other) => one.or(other),
            };
        }
        let venue = self.venue(symbol);
        let date = |candle: &Candle| venue.zone().date(candle.time);
        let last = match (day, minute) {
            (Some((day, _)), Some((minute, decimals)))
                if as_of.prefers_minutes(venue, date(&day), date(&minute)) =>
            {
                Some((minute, decimals))
            }
            (day, minute) => day.or(minute),
        };
        Ok(last.map(|(candle, decimals)| (candle.close, decimals)))
    }

    /// Returns the newest candle of a period with the number of decimals, or `None` if there is
    /// none.
    fn newest_candle(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        period: Period,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Option<(Candle, u32)>, HistoryError> {
        let found = self.candles(reader, &newest(symbol, period, floors), as_of);
        let answer = without_missing(found)?;
        Ok(answer.and_then(|answer| answer.candles.last().map(|candle| (candle, answer.decimals))))
    }
}

impl SessionState {
    /// Returns the figures of a daily candle, which is published at the end of its day.
    fn of_day(venue: &Venue, day: Date, candle: &Candle, as_of: AsOf) -> SessionState {
        let time = venue.day_end(day).min(as_of.now());
        SessionState { day, figures: Figures::then(None, candle), time }
    }
}

/// Builds a query for the newest candle of a period.
fn newest(symbol: &Symbol, period: Period, floors: Floors) -> Query {
    Query {
        symbol: symbol.clone(),
        period,
        adjust: Adjust::None,
        sessions: Sessions::Intraday,
        floors,
        select: Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: 1 },
    }
}

/// Turns an error into `None` if the security is unknown, has no candles, or is an option.
pub(crate) fn without_missing<T>(found: Result<T, HistoryError>) -> Result<Option<T>, HistoryError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(HistoryError::UnknownSecurity(_) | HistoryError::NoCandles(_) | HistoryError::Option(_)) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
