use std::sync::Arc;

use longbridge::quote::{AdjustType, Period, TradeSessions};
use longbridge::{Config, QuoteContext};
use time::macros::{date, datetime};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Arc::new(Config::from_apikey_env()?);
    let (quotes, _events) = QuoteContext::new(config);

    // The last five days.
    let days = quotes
        .history_candlesticks_by_offset(
            "9001.HK", Period::Day, AdjustType::NoAdjust, false, None, 5, TradeSessions::Intraday)
        .await?;
    for day in &days {
        println!("{} {} {} {}", day.timestamp, day.open, day.close, day.volume);
    }

    // Five minutes from a point of the market's time on, the point included.
    let minutes = quotes
        .history_candlesticks_by_offset(
            "9001.HK", Period::OneMinute, AdjustType::NoAdjust, true, Some(datetime!(2026-11-12 11:00)), 5,
            TradeSessions::Intraday)
        .await?;
    println!("{} minutes", minutes.len());

    // The days of October, prices brought to today's basis.
    let october = quotes
        .history_candlesticks_by_date(
            "CNDL.US", Period::Day, AdjustType::ForwardAdjust, Some(date!(2026-10-01)), Some(date!(2026-10-31)),
            TradeSessions::Intraday)
        .await?;
    println!("{} days", october.len());

    // A day with its early and late hours.
    let day = Some(date!(2026-11-12));
    let all = quotes
        .history_candlesticks_by_date(
            "CNDL.US", Period::FiveMinute, AdjustType::NoAdjust, day, day, TradeSessions::All)
        .await?;
    println!("{} candles", all.len());

    // What cannot be answered.
    let refused = quotes
        .history_candlesticks_by_offset(
            "1.HK", Period::Day, AdjustType::NoAdjust, false, None, 5, TradeSessions::Intraday)
        .await;
    if let Err(error) = refused {
        println!("{:?} {error}", error.openapi_error_code());
    }
    Ok(())
}
