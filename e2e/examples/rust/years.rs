use std::sync::Arc;
use std::time::Duration;

use longbridge::quote::{AdjustType, Candlestick, Period, TradeSessions};
use longbridge::{Config, QuoteContext};
use time::macros::{datetime, offset};
use time::{PrimitiveDateTime, UtcOffset};

const PAGE: usize = 1000;
const TOO_FAST: i64 = 301606;
/// Hong Kong and the mainland. A market that changes its clocks needs a zone instead.
const MARKET: UtcOffset = offset!(+8);

/// Every candle from a time on, oldest first. An answer has at most a thousand.
async fn history(
    quotes: &QuoteContext,
    symbol: &str,
    period: Period,
    since: PrimitiveDateTime,
) -> longbridge::Result<Vec<Candlestick>> {
    let (mut point, mut candles) = (since, Vec::<Candlestick>::new());
    loop {
        let request = quotes.history_candlesticks_by_offset(
            symbol, period, AdjustType::NoAdjust, true, Some(point), PAGE, TradeSessions::Intraday);
        let mut page = match request.await {
            Ok(page) => page,
            Err(error) if error.openapi_error_code() == Some(TOO_FAST) => {
                tokio::time::sleep(Duration::from_secs(5)).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        // The point is included, so the next page begins with the end of this one.
        let last = candles.last().map(|candle| candle.timestamp);
        if page.first().map(|candle| candle.timestamp) == last {
            page.remove(0);
        }
        let is_last = page.len() < PAGE - 1;
        candles.extend(page);
        match candles.last() {
            Some(candle) if !is_last => {
                let local = candle.timestamp.to_offset(MARKET);
                point = PrimitiveDateTime::new(local.date(), local.time());
            }
            _ => return Ok(candles),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (quotes, _events) = QuoteContext::new(Arc::new(Config::from_apikey_env()?));
    let minutes = history(&quotes, "9001.HK", Period::OneMinute, datetime!(2026-10-02 00:00)).await?;
    let ascending = minutes.is_sorted_by(|one, next| one.timestamp < next.timestamp);
    println!("{} minutes, {}", minutes.len(), if ascending { "ascending" } else { "disordered" });
    Ok(())
}
