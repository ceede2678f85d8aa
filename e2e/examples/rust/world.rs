use std::error::Error;
use std::sync::Arc;

use longbridge::quote::{SecurityQuote, TradeStatus};
use longbridge::trade::{
    GetStockPositionsOptions, GetTodayExecutionsOptions, OrderSide, OrderType, SubmitOrderOptions, TimeInForceType,
};
use longbridge::{Config, QuoteContext, TradeContext};
use time::format_description::well_known::Rfc3339;

const SYMBOL: &str = "9001.HK";

/// Returns the quote of a symbol. That of a step moves the clock of the world.
async fn quote(quotes: &QuoteContext, symbol: &str) -> Result<SecurityQuote, Box<dyn Error>> {
    Ok(quotes.quote([symbol]).await?.pop().ok_or("no quote")?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = Arc::new(Config::from_apikey_env()?);
    let (quotes, _) = QuoteContext::new(config.clone());
    let (trade, _) = TradeContext::new(config);
    // Five minutes later, until the world has ended.
    let mut step = quote(&quotes, "STEP-300.WORLD").await?;
    while step.trade_status != TradeStatus::Expired {
        let last = quote(&quotes, SYMBOL).await?.last_done;
        println!("{} {last}", step.timestamp.format(&Rfc3339)?);
        let held = trade.stock_positions(GetStockPositionsOptions::new().symbols([SYMBOL])).await?;
        if held.channels.iter().all(|channel| channel.positions.is_empty()) {
            let order =
                SubmitOrderOptions::new(SYMBOL, OrderType::MO, OrderSide::Buy, 500u32.into(), TimeInForceType::Day);
            trade.submit_order(order).await?;
        }
        step = quote(&quotes, "STEP-300.WORLD").await?;
    }
    for fill in trade.today_executions(GetTodayExecutionsOptions::new().symbol(SYMBOL)).await? {
        println!("bought {} at {}", fill.quantity, fill.price);
    }
    Ok(())
}
