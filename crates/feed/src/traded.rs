//! Candles of minutes that have single trades but no stored candle: the folds of their trades.

use std::borrow::Cow;

use market::{Candle, Candles, Timestamp, TradeHours, Trades, Venue};

use crate::minute::Minute;
use crate::publish::Traded;

/// Returns the given candles and the folds of trades in minutes without a candle. Minutes in which
/// no trade has set a price are omitted. All inputs must be in ascending order.
pub fn with_traded_minutes<'a>(venue: &Venue, minutes: &'a Candles, trades: &Trades) -> Cow<'a, Candles> {
    let folds = traded_minutes(venue, minutes, trades);
    if folds.is_empty() { Cow::Borrowed(minutes) } else { Cow::Owned(merged(minutes, &folds)) }
}

/// Returns the folds of trades in minutes that are not in `minutes`.
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

/// Merges candles by time. If both have a stamp, the candle of `minutes` is used.
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
