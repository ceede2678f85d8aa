//! A strategy with random decisions, to be run in a world. Makes the same requests as
//! e2e/python/random_strategy.py: e2e-random-strategy SYMBOL SEED STEPS

use std::error::Error;
use std::sync::Arc;

use longbridge::quote::SubFlags;
use longbridge::trade::{OrderSide, OrderType, SubmitOrderOptions, TimeInForceType};
use longbridge::{Config, Decimal, QuoteContext, TradeContext};

/// Random numbers, the same in every language.
struct Chance(u64);

impl Chance {
    fn draw(&mut self, below: u64) -> i64 {
        self.0 = (self.0 * 1_103_515_245 + 12_345) % (1 << 31);
        ((self.0 >> 16) % below) as i64
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [symbol, seed, steps] = words.as_slice() else { return Err("SYMBOL SEED STEPS".into()) };
    let (symbol, mut chance, steps) = (symbol.as_str(), Chance(seed.parse()?), steps.parse::<u32>()?);
    let config = Arc::new(Config::from_apikey_env()?);
    let (quotes, mut events) = QuoteContext::new(config.clone());
    let (trade, _) = TradeContext::new(config);
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    quotes.subscribe([symbol], SubFlags::QUOTE | SubFlags::TRADE).await?;
    let (mut submitted, mut refused, mut last) = (0, 0, None);
    for number in 0..steps {
        quotes.quote(["STEP.WORLD"]).await?;
        let quote = quotes.quote([symbol]).await?;
        // Orders of this security have prices in fifths.
        let price = quote.first().ok_or("no quote")?.last_done;
        let fifths: i64 = (price * Decimal::from(5)).floor().try_into()?;
        if chance.draw(10) < 5 {
            let side = if chance.draw(3) < 2 { OrderSide::Buy } else { OrderSide::Sell };
            let price = Decimal::from(fifths + chance.draw(11) - 5) / Decimal::from(5);
            let quantity = Decimal::from(100 * (1 + chance.draw(3)));
            let options = SubmitOrderOptions::new(symbol, OrderType::LO, side, quantity, TimeInForceType::Day)
                .submitted_price(price)
                .remark(format!("step {number}"));
            match trade.submit_order(options).await {
                Ok(order) => {
                    last = Some(order.order_id);
                    submitted += 1;
                }
                // Refusals are part of the strategy: a short sale, or an order that has ended.
                Err(_) => refused += 1,
            }
        } else if chance.draw(4) == 0
            && let Some(last) = &last
            && trade.cancel_order(last.as_str()).await.is_err()
        {
            refused += 1;
        }
    }
    println!("{{\"submitted\": {submitted}, \"refused\": {refused}}}");
    Ok(())
}
