//! Reads stored trades: whole blocks, or the trades of one minute.

use block::TradeBlock;
use feed::{Board, Minute, Traded};
use market::{Symbol, Timestamp, Trades, Venue};
use store::{BlockEntry, View};

use crate::query::HistoryError;

/// The trades of a minute that are visible at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TradedMinute {
    /// No trade of the minute is stored.
    Untraded,
    /// The fold of the trades so far.
    Traded(Traded),
}

impl TradedMinute {
    /// Reads the trades of the minute with this stamp that are before `until`.
    pub(crate) fn read(
        view: &View,
        venue: &Venue,
        symbol: &Symbol,
        stamp: Timestamp,
        until: Timestamp,
    ) -> Result<TradedMinute, HistoryError> {
        let Some(minute) = Minute::of(venue, stamp) else { return Ok(TradedMinute::Untraded) };
        let times = minute.stamp..minute.acts_at();
        let days = view.trade_days_back(symbol, minute.day, 1)?;
        let overlaps = |first: Timestamp, last: Timestamp| first < times.end && last >= times.start;
        let Some(day) = days.iter().find(|day| day.day == minute.day && overlaps(day.first, day.last)) else {
            return Ok(TradedMinute::Untraded);
        };
        // The trades of an index are not pushed, because clients build its candles from quotes.
        let board = view.security(symbol)?.and_then(|security| security.board);
        if board.is_some_and(|name| Board::of_name(&name) == Board::Index) {
            return Ok(TradedMinute::Untraded);
        }
        let mut entries = view.trade_blocks(day)?;
        entries.retain(|entry| overlaps(entry.first, entry.last));
        let mut trades = read_trades(view, symbol, &entries)?;
        trades.retain_rows(trades.within(times.start.0..times.end.0));
        if trades.is_empty() {
            return Ok(TradedMinute::Untraded);
        }
        trades.truncate(trades.within(i64::MIN..until.0).end);
        Ok(TradedMinute::Traded(Traded::of_trades(venue, &minute, &trades)))
    }
}

/// Decodes trade blocks.
pub(crate) fn read_trades(
    view: &View,
    symbol: &Symbol,
    entries: &[BlockEntry],
) -> Result<Trades, HistoryError> {
    let mut trades = Trades::with_capacity(entries.iter().map(|entry| entry.rows as usize).sum());
    for entry in entries {
        let read = view.with_trade_block(entry, |bytes| {
            TradeBlock::parse(bytes).and_then(|block| block.read_all(&mut trades))
        })?;
        read.map_err(|source| HistoryError::DamagedTrades {
            symbol: symbol.clone(),
            at: entry.first,
            source,
        })?;
    }
    Ok(trades)
}
