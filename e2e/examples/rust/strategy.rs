use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use longbridge::httpclient::{HttpClient, HttpClientConfig, Json, Method};
use longbridge::quote::{AdjustType, Period, TradeSessions};
use longbridge::trade::{
    GetStockPositionsOptions, OrderSide, OrderStatus, OrderType, PushEvent, SubmitOrderOptions, TimeInForceType, TopicType,
};
use longbridge::{Config, Decimal, QuoteContext, TradeContext};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::{datetime, format_description, offset};

const SYMBOL: &str = "9001.HK";
const LOT: u32 = 500;
const FAST: usize = 3;
const SLOW: usize = 12;
const OVER: [OrderStatus; 3] = [OrderStatus::Filled, OrderStatus::Expired, OrderStatus::Rejected];

struct Strategy {
    quotes: QuoteContext,
    trade: TradeContext,
    http: HttpClient,
    orders: Vec<String>,
}

impl Strategy {
    /// The market's clock moves only by this request, which requires the operator's role.
    async fn move_clock(&self, to: OffsetDateTime) -> Result<(), Box<dyn Error>> {
        let body = Json(json!({"now": to.unix_timestamp()}));
        self.http.request(Method::POST, "/v1/admin/clock").body(body).response::<Json<Value>>().send().await?;
        Ok(())
    }

    /// Whether the last closes are above those of the hour, on average. The forming candle is left out.
    async fn signal(&self) -> Result<bool, Box<dyn Error>> {
        let request = self.quotes.candlesticks(
            SYMBOL, Period::FiveMinute, SLOW + 1, AdjustType::NoAdjust, TradeSessions::Intraday);
        let candles = request.await?;
        let closes = candles.iter().rev().skip(1).map(|candle| candle.close);
        let sum = |count: usize| closes.clone().take(count).sum::<Decimal>();
        Ok(sum(FAST) * Decimal::from(SLOW) > sum(SLOW) * Decimal::from(FAST))
    }

    async fn is_held(&self) -> Result<bool, Box<dyn Error>> {
        let options = GetStockPositionsOptions::new().symbols([SYMBOL]);
        let channels = self.trade.stock_positions(options).await?.channels;
        Ok(channels.iter().any(|channel| !channel.positions.is_empty()))
    }

    /// At the market, for the day. Candles that begin after it fill it.
    async fn submit(&mut self, side: OrderSide) -> Result<(), Box<dyn Error>> {
        let options = SubmitOrderOptions::new(SYMBOL, OrderType::MO, side, LOT.into(), TimeInForceType::Day);
        self.orders.push(self.trade.submit_order(options).await?.order_id);
        Ok(())
    }

    async fn play(&mut self) -> Result<(), Box<dyn Error>> {
        let hours = [
            (datetime!(2026-11-12 09:35 +8), datetime!(2026-11-12 12:00 +8)),
            (datetime!(2026-11-12 13:05 +8), datetime!(2026-11-12 15:55 +8)),
        ];
        for (start, end) in hours {
            let mut now = start;
            while now < end {
                self.move_clock(now).await?;
                match (self.signal().await?, self.is_held().await?) {
                    (true, false) => self.submit(OrderSide::Buy).await?,
                    (false, true) => self.submit(OrderSide::Sell).await?,
                    _ => {}
                }
                now += Duration::from_secs(300);
            }
        }
        if self.is_held().await? {
            self.submit(OrderSide::Sell).await?;
        }
        self.move_clock(datetime!(2026-11-12 16:10 +8)).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = Arc::new(Config::from_apikey_env()?);
    let http = HttpClient::new(HttpClientConfig::from_apikey_env()?);
    let (quotes, _) = QuoteContext::new(config.clone());
    let (trade, mut events) = TradeContext::new(config);
    trade.subscribe([TopicType::Private]).await?;
    let mut strategy = Strategy { quotes, trade, http, orders: Vec::new() };
    strategy.play().await?;

    // Every change of an order was pushed, in order. The day is over, so each of them has ended.
    let mut ended = HashSet::new();
    while ended.len() < strategy.orders.len() {
        let event = tokio::time::timeout(Duration::from_secs(30), events.recv()).await?;
        let Some(PushEvent::OrderChanged(change)) = event else { continue };
        if let (Some(share), Some(price)) = (change.last_share, change.last_price) {
            let done = if change.side == OrderSide::Buy { "bought" } else { "sold" };
            let time = change.updated_at.to_offset(offset!(+8)).format(format_description!("[hour]:[minute]"))?;
            println!("{time} {done} {share} at {price}");
        }
        if OVER.contains(&change.status) {
            ended.insert(change.order_id);
        }
    }

    let mut charges = Decimal::ZERO;
    for order in &strategy.orders {
        let detail = strategy.trade.order_detail(order.as_str()).await?;
        charges += detail.charge_detail.map_or(Decimal::ZERO, |charges| charges.total_amount);
    }
    let balance = strategy.trade.account_balance(Some("HKD")).await?;
    let net_assets = balance.first().map(|balance| balance.net_assets).unwrap_or_default();
    println!("{} orders, charges {charges} net assets {net_assets}", strategy.orders.len());
    Ok(())
}
