use std::sync::Arc;
use std::time::Duration;

use longbridge::quote::{Period, PushEventDetail, SubFlags, TradeSessions};
use longbridge::{Config, QuoteContext};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Arc::new(Config::from_apikey_env()?);
    let (quotes, mut events) = QuoteContext::new(config);
    quotes.subscribe(["9001.HK", "9002.HK"], SubFlags::QUOTE).await?;
    let so_far = quotes.subscribe_candlesticks("9001.HK", Period::OneMinute, TradeSessions::Intraday).await?;
    println!("{} minutes so far", so_far.len());

    let (mut pushed, mut minutes) = (0, 0);
    while pushed < 10 || minutes < 3 {
        let event = tokio::time::timeout(Duration::from_secs(60), events.recv()).await?;
        let Some(event) = event else { break };
        match event.detail {
            PushEventDetail::Quote(quote) => {
                println!("{} {} {} {}", quote.timestamp, event.symbol, quote.last_done, quote.volume);
                pushed += 1;
            }
            // Every change. A candle is confirmed when the next one has opened.
            PushEventDetail::Candlestick(push) if push.is_confirmed => {
                let candle = push.candlestick;
                println!("minute {} {} {} {}", candle.timestamp, event.symbol, candle.close, candle.volume);
                minutes += 1;
            }
            _ => {}
        }
    }
    Ok(())
}
