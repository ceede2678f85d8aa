//! The stored candles and trades of one security, from which its pushes under a set clock are
//! computed.

use feed::{Board, QuotePush, Replay, StatusChange};
use history::{History, HistoryError, status_changes};
use market::{Candles, Session, Symbol, Timestamp, Trades, Venue};
use store::Reader;

/// Maximum time in seconds from the start of a trading day to the timestamp of one of its minutes,
/// plus a margin.
const DAY_BEFORE: i64 = 30 * 3_600;
/// Maximum number of trading days to skip in search of a visible price.
const NIGHTS_MAX: usize = 16;

/// Returns the last quote push of a security up to an instant, in the sessions for which `sees`
/// returns true.
pub(crate) fn last_quote(
    history: &History,
    reader: &mut Reader,
    symbol: &Symbol,
    at: Timestamp,
    sees: impl Fn(Session) -> bool,
) -> Result<Option<QuotePush>, HistoryError> {
    let venue = history.venue(symbol);
    // Today's daily candle is in every window. An earlier daily candle may be newer than the last
    // minute.
    let day = history.last_day(reader.view(), symbol, venue.zone().date(at))?.map(|day| day.time);
    let mut before = at;
    for _ in 0..NIGHTS_MAX {
        let minute = history.last_minute(reader.view(), symbol, before)?;
        if let Some(newest) = minute.filter(|minute| sees(minute.session)) {
            let from = day.map_or(newest.time, |day| day.max(newest.time));
            let mut stored = Stored::read(history, reader, symbol, from, at)?;
            if newest.session == Session::Overnight && stored.changes_status(from, at) {
                let before = Timestamp(from.0.saturating_sub(1));
                stored.last = last_quote(history, reader, symbol, before, is_by_day)?;
            }
            let latest = stored.replay().latest(at, &sees);
            if latest.is_some() {
                return Ok(latest);
            }
        }
        // Continue before this day if it has only overnight hours or no published minute yet.
        let Some(minute) = minute else { break };
        let begin = venue.trading_day(minute.time).map_or(minute.time, |day| venue.roll(day));
        before = Timestamp(begin.min(minute.time).0.saturating_sub(1));
    }
    Ok(Stored::read(history, reader, symbol, day.unwrap_or(at), at)?.replay().latest(at, sees))
}

/// Returns the second of the first trade after an instant.
pub(crate) fn next_trade(trades: &Trades, after: Timestamp) -> Option<Timestamp> {
    let next = trades.time.partition_point(|time| *time <= after.0);
    trades.time.get(next).map(|time| Timestamp(*time))
}

/// Returns whether connections without overnight data receive pushes of the session.
pub(crate) fn is_by_day(session: Session) -> bool {
    session != Session::Overnight
}

/// Candles of one security for a time window.
pub(crate) struct Stored<'a> {
    symbol: &'a Symbol,
    pub(crate) board: Board,
    venue: &'a Venue,
    minutes: Candles,
    days: Candles,
    /// All trades of the days that overlap the window, including later ones.
    trades: Option<Trades>,
    statuses: Vec<StatusChange>,
    /// The last quote before the window, which is needed only if the status changes in the window.
    last: Option<QuotePush>,
}

impl<'a> Stored<'a> {
    pub(crate) fn read(
        history: &'a History,
        reader: &mut Reader,
        symbol: &'a Symbol,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Stored<'a>, HistoryError> {
        let venue = history.venue(symbol);
        let trades = Timestamp(from.0.saturating_sub(3_600))..Timestamp(until.0.saturating_add(1));
        let trades = history.trades_around(reader, symbol, trades)?;
        let view = reader.view();
        let security = view.security(symbol)?;
        let statuses = security.as_ref().map(|security| status_changes(security, venue)).unwrap_or_default();
        let board = security.and_then(|security| security.board);
        let window = Timestamp(from.0.saturating_sub(DAY_BEFORE))..Timestamp(until.0.saturating_add(1));
        Ok(Stored {
            symbol,
            board: board.as_deref().map_or(Board::Security, Board::of_name),
            venue,
            minutes: history.minutes(view, symbol, window.clone())?,
            days: history.days(view, symbol, window)?,
            trades,
            statuses,
            last: None,
        })
    }

    /// Reads the data of a window in which every push is sent. If the status changes in the window,
    /// the data includes the last quote before the window.
    pub(crate) fn read_window(
        history: &'a History,
        reader: &mut Reader,
        symbol: &'a Symbol,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Stored<'a>, HistoryError> {
        let mut stored = Stored::read(history, reader, symbol, from, until)?;
        if stored.changes_status(from, until) {
            stored.last = last_quote(history, reader, symbol, from, is_by_day)?;
        }
        Ok(stored)
    }

    /// Returns whether the security's status changes in the range `after` (exclusive) to `until`
    /// (inclusive).
    fn changes_status(&self, after: Timestamp, until: Timestamp) -> bool {
        self.statuses.iter().any(|change| after < change.at && change.at <= until)
    }

    /// Returns the second of the first trade after an instant.
    pub(crate) fn next_trade(&self, after: Timestamp) -> Option<Timestamp> {
        next_trade(self.trades.as_ref()?, after)
    }

    pub(crate) fn replay(&self) -> Replay<'_> {
        let Stored { symbol, board, venue, minutes, days, trades, statuses, last } = self;
        let (trades, last) = (trades.as_ref(), last.as_ref());
        Replay { symbol, board: *board, venue, minutes, days, trades, statuses, last }
    }
}
