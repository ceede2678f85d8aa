//! A trader with the Rust SDK. Reads a request from each line of standard input, writes a line of
//! JSON for the response or the refusal. `e2e/python/test_session.py`, run by `make e2e-rust`,
//! compares them with the expected values.

mod plain;

use std::sync::Arc;
use std::time::Duration;

use longbridge::trade::{
    GetCashFlowOptions, GetHistoryExecutionsOptions, GetHistoryOrdersOptions, OrderSide, OrderType,
    PushEvent, PushOrderChanged, ReplaceOrderOptions, SubmitOrderOptions, TimeInForceType, TopicType,
};
use longbridge::{Config, Decimal, TradeContext};
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc::UnboundedReceiver;

const PATIENCE: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (trade, events) = TradeContext::new(Arc::new(Config::from_apikey_env()?.dont_print_quote_packages()));
    trade.subscribe([TopicType::Private]).await?;
    let mut trader = Trader { trade, events, pushes: Vec::new() };
    println!("{}", json!({"ok": "ready"}));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match trader.answer(&serde_json::from_str(&line)?).await {
            Ok(answer) => json!({"ok": answer}),
            Err(failure) => json!({"error": failure.to_string()}),
        };
        println!("{answer}");
    }
    Ok(())
}

struct Trader {
    trade: TradeContext,
    events: UnboundedReceiver<PushEvent>,
    /// In order of arrival.
    pushes: Vec<PushOrderChanged>,
}

impl Trader {
    async fn answer(&mut self, query: &Value) -> Result<Value, Failure> {
        let trade = &self.trade;
        Ok(match text(query, "do")? {
            "submit" => json!({"order_id": trade.submit_order(submission(query)?).await?.order_id}),
            "replace" => {
                let options = ReplaceOrderOptions::new(text(query, "order_id")?, decimal(query, "quantity")?);
                trade.replace_order(options.price(decimal(query, "price")?)).await?;
                Value::Null
            }
            "cancel" => {
                trade.cancel_order(text(query, "order_id")?).await?;
                Value::Null
            }
            "pushes" => self.pushed(whole(query, "count")?).await?,
            "today_orders" => trade.today_orders(None).await?.iter().map(plain::order).collect(),
            "history_orders" => {
                let options =
                    GetHistoryOrdersOptions::new().start_at(at(query, "start")?).end_at(at(query, "end")?);
                trade.history_orders(options).await?.iter().map(plain::order).collect()
            }
            "order_detail" => plain::detail(&trade.order_detail(text(query, "order_id")?).await?),
            "today_executions" => trade.today_executions(None).await?.iter().map(plain::execution).collect(),
            "history_executions" => {
                let options = GetHistoryExecutionsOptions::new();
                let options = options.start_at(at(query, "start")?).end_at(at(query, "end")?);
                trade.history_executions(options).await?.iter().map(plain::execution).collect()
            }
            "account_balance" => {
                let balances = trade.account_balance(query["currency"].as_str()).await?;
                plain::balance(balances.first().ok_or("no balance")?)
            }
            "stock_positions" => {
                let channels = trade.stock_positions(None).await?.channels;
                channels.iter().flat_map(|channel| &channel.positions).map(plain::position).collect()
            }
            "cash_flow" => {
                let options = GetCashFlowOptions::new(at(query, "start")?, at(query, "end")?);
                let options = options.size(usize::try_from(whole(query, "size")?)?);
                trade.cash_flow(options).await?.iter().map(plain::flow).collect()
            }
            other => return Err(format!("{other:?} is not supported").into()),
        })
    }

    /// All pushes so far, once there are `count` of them.
    async fn pushed(&mut self, count: u64) -> Result<Value, Failure> {
        while (self.pushes.len() as u64) < count {
            match tokio::time::timeout(PATIENCE, self.events.recv()).await? {
                Some(PushEvent::OrderChanged(push)) => self.pushes.push(push),
                Some(other) => return Err(format!("pushed: {other:?}").into()),
                None => return Err("the connection has ended".into()),
            }
        }
        while let Ok(PushEvent::OrderChanged(push)) = self.events.try_recv() {
            self.pushes.push(push);
        }
        Ok(self.pushes.iter().map(plain::push).collect())
    }
}

fn submission(query: &Value) -> Result<SubmitOrderOptions, Failure> {
    let side = match text(query, "side")? {
        "Buy" => OrderSide::Buy,
        _ => OrderSide::Sell,
    };
    let time_in_force = match query["time_in_force"].as_str() {
        Some("GoodTilCanceled") => TimeInForceType::GoodTilCanceled,
        _ => TimeInForceType::Day,
    };
    let (symbol, quantity) = (text(query, "symbol")?, decimal(query, "quantity")?);
    let options = SubmitOrderOptions::new(symbol, OrderType::LO, side, quantity, time_in_force)
        .submitted_price(decimal(query, "price")?);
    Ok(match query["remark"].as_str() {
        Some(remark) => options.remark(remark),
        None => options,
    })
}

fn text<'a>(query: &'a Value, name: &str) -> Result<&'a str, Failure> {
    Ok(query[name].as_str().ok_or_else(|| format!("{name} is missing"))?)
}

fn decimal(query: &Value, name: &str) -> Result<Decimal, Failure> {
    Ok(text(query, name)?.parse()?)
}

fn whole(query: &Value, name: &str) -> Result<u64, Failure> {
    Ok(query[name].as_u64().ok_or_else(|| format!("{name} is missing"))?)
}

fn at(query: &Value, name: &str) -> Result<OffsetDateTime, Failure> {
    Ok(OffsetDateTime::from_unix_timestamp(i64::try_from(whole(query, name)?)?)?)
}
