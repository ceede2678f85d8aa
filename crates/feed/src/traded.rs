//! Minutes that have single trades and no candle: the fold of the trades is their candle.

use std::borrow::Cow;

use market::{Candle, Candles, Timestamp, TradeHours, Trades, Venue};

use crate::minute::Minute;
use crate::publish::Traded;

/// Returns the candles of minutes, and the folds of the trades of minutes that are not among them.
/// Minutes in which no trade has moved the price have none. Everything must be in ascending order.
pub fn with_traded_minutes<'a>(venue: &Venue, minutes: &'a Candles, trades: &Trades) -> Cow<'a, Candles> {
    let folds = traded_minutes(venue, minutes, trades);
    if folds.is_empty() { Cow::Borrowed(minutes) } else { Cow::Owned(merged(minutes, &folds)) }
}

/// Returns the folds of the trades of minutes that are not among `minutes`.
fn traded_minutes(venue: &Venue, minutes: &Candles, trades: &Trades) -> Candles {
    let mut hours = TradeHours::new(venue);
    let mut folds = Candles::default();
    let mut row = 0;
    while let Some(time) = trades.time.get(row) {
        let stamp = hours.place(Timestamp(*time)).ok().and_then(|place| place.minute);
        let Some(minute) = stamp.and_then(|stamp| Minute::of(venue, stamp)) else {
            row += 1;
            continue;
        };
        let rows = row..trades.within(i64::MIN..minute.acts_at().0).end.max(row + 1);
        row = rows.end;
        if minutes.time.binary_search(&minute.stamp.0).is_ok() {
            continue;
        }
        let mut of_minute = Trades::default();
        of_minute.append_rows(trades, rows);
        let fold = Traded::of_trades(venue, &minute, &of_minute).published;
        fold.into_iter().for_each(|published| folds.push(published.candle));
    }
    folds
}

/// Merges candles by time. A stamp that both have is taken from `minutes`.
fn merged(minutes: &Candles, folds: &Candles) -> Candles {
    let mut all = Candles::with_capacity(minutes.len() + folds.len());
    let mut folds = folds.iter().peekable();
    for minute in minutes.iter() {
        while let Some(fold) = folds.next_if(|fold: &Candle| fold.time < minute.time) {
            all.push(fold);
        }
        all.push(minute);
    }
    folds.for_each(|fold| all.push(fold));
    all
}
