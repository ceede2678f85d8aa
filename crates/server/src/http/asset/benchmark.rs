//! The benchmark of an equity curve: a security's adjusted closes relative to its first one.

use std::collections::BTreeMap;

use history::{Adjust, HistoryError, Query, Select, Sessions};
use market::{Date, Period, Price, Symbol};
use paper::Equity;
use store::Reader;
use trading::performance::Ratio;

use crate::kit::allowance::may_see;
use crate::kit::{Admitted, Problem, Site};
use crate::refusal::Refusal;

/// Number of days before the first point that are searched for a close.
const DAYS_BACK: i64 = 30;
/// Maximum number of reads of 1,000 candles, which cover more than the longest curve.
const READS_MAX: usize = 5;

/// Adds a benchmark to the points of a curve. The caller must be permitted to see the security.
pub(super) fn add(
    equity: &mut Equity,
    symbol: &Symbol,
    admitted: &Admitted,
    site: &Site,
) -> Result<(), Problem> {
    let caller = &admitted.caller;
    let visible = may_see(symbol, caller, site).map_err(|refusal| match refusal {
        Refusal::BadQuery(text) => Problem::trade_parameter(text),
        refusal => refusal.into(),
    })?;
    let floors = visible.floors;
    let dates: Vec<Date> = equity.points.iter().filter_map(|point| point.date.parse().ok()).collect();
    let Some(first) = dates.first().copied() else { return Ok(()) };
    let start = first.checked_sub(jiff::Span::new().days(DAYS_BACK)).unwrap_or(first);
    let history = &site.core.history;
    let zone = history.venue(symbol).zone();
    let read = |reader: &mut Reader| -> Result<BTreeMap<Date, Price>, HistoryError> {
        let mut closes = BTreeMap::new();
        let mut from = start;
        for _ in 0..READS_MAX {
            let query = Query {
                symbol: symbol.clone(),
                period: Period::DAY,
                adjust: Adjust::Forward,
                sessions: Sessions::Intraday,
                floors,
                select: Select::Dates { start: Some(from), end: None },
            };
            let candles = history.candles(reader, &query, caller.as_of)?.candles;
            let days = candles.time.iter().map(|at| zone.date(market::Timestamp(*at)));
            closes.extend(days.zip(candles.close.iter().map(|close| Price(*close))));
            let next = closes.keys().next_back().and_then(|last| last.tomorrow().ok());
            match next {
                Some(next) if candles.time.len() == history::COUNT_MAX => from = next,
                _ => break,
            }
        }
        Ok(closes)
    };
    let closes = site.core.with_reader(read).map_err(Refusal::from)?;
    // A curve that begins with the account is relative to the opening of its first date.
    let base = match equity.begins_with_account {
        true => closes.range(..first).next_back(),
        false => closes.range(..=first).next_back(),
    };
    let Some(base) = base.or_else(|| closes.iter().next()).map(|(_, close)| *close) else { return Ok(()) };
    for (point, date) in equity.points.iter_mut().zip(dates) {
        let close = closes.range(..=date).next_back().map(|(_, close)| *close);
        let ratio = close.and_then(|close| Ratio::of_prices(close, base));
        point.benchmark = ratio.map(|ratio| ratio.text().to_string());
    }
    Ok(())
}
