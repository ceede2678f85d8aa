//! Reads the results of a run from its account, with the world's token.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Context, anyhow};
use market::{Date, Market, Price, Symbol, Timestamp, Zone, parse_date};
use serde_json::Value;
use trading::{Currency, Money, Quantity, Rate, Side, parse_price};

use super::report::{Charge, Fill, Holding, PriceSeries, RefusedOrder, RunRecord, Valuation};
use crate::client::Client;
use crate::command::trade::shown::{rows, text};
use crate::command::trade::{Between, CashQuestion, OrdersQuestion, TradesQuestion};
use crate::failure::Failure;
use crate::remote::field;

/// Maximum number of days of an equity curve that the server returns.
const DAYS_MAX: i64 = 3_000;
/// Maximum number of securities in the benchmark. Each one takes two requests.
const BENCHMARK_MAX: usize = 200;
const DAY_SECONDS: i64 = 86_400;

/// The account before the program is started.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    pub(super) at: Timestamp,
    net_assets: Money,
    held: Vec<Holding>,
}

/// The results of a run, and notes on the limits of the figures.
pub(super) struct Collected {
    pub(super) record: RunRecord,
    pub(super) notes: Vec<String>,
}

pub(super) fn opening(client: &Client) -> Result<Opening, Failure> {
    let at = now(&client.read("/v1/world", &[])?)?;
    let equity = client.read("/v1/asset/equity", &[("days", "1".to_owned())])?;
    let last = rows(&equity, "points").last().ok_or_else(|| no_value(&equity))?;
    Ok(Opening { at, net_assets: money(last, "net_assets")?, held: holdings(client)? })
}

fn no_value(equity: &Value) -> Failure {
    anyhow!("the account has no value in HKD: {}", text(equity, "missing")).into()
}

/// The instant of a world in `GET /v1/world`.
pub(super) fn now(world: &Value) -> Result<Timestamp, Failure> {
    instant(world, "now")
}

pub(super) fn instant(world: &Value, name: &str) -> Result<Timestamp, Failure> {
    let text = text(world, name);
    Ok(access::parse_instant(&text).with_context(|| format!("the server's {name}"))?)
}

pub(super) fn record(client: &Client, opening: &Opening) -> Result<Collected, Failure> {
    let end = now(&client.read("/v1/world", &[])?)?;
    let begin = opening.at;
    let mut notes = Vec::new();
    let days = valuations(client, begin, end, &mut notes)?;
    let fills = fills(client, begin)?;
    let (orders, refused) = orders(client, begin)?;
    let prices = prices(client, begin, end, &fills, &mut notes)?;
    let held_at_end = holdings(client)?.into_iter().map(|held| (held.symbol, held.quantity)).collect();
    let record = RunRecord {
        begin,
        end,
        opening: opening.net_assets,
        held: opening.held.clone(),
        days,
        fills,
        charges: charges(client, begin)?,
        orders,
        refused,
        rates: rates(client)?,
        prices,
        held_at_end,
    };
    Ok(Collected { record, notes })
}

/// Returns the account's value at the end of each date, and at the end of the run if that is later.
fn valuations(
    client: &Client,
    begin: Timestamp,
    end: Timestamp,
    notes: &mut Vec<String>,
) -> Result<Vec<Valuation>, Failure> {
    let days = (end.0 - begin.0) / DAY_SECONDS + 3;
    if days > DAYS_MAX {
        notes.push(format!("the equity curve has only the last {DAYS_MAX} days of the run"));
    }
    let equity = client.read("/v1/asset/equity", &[("days", days.clamp(1, DAYS_MAX).to_string())])?;
    if let Some(missing) = field(&equity, "missing").as_str() {
        notes.push(format!("some days have no value: {missing}"));
    }
    let first = Zone::of(Market::Hk).date(begin);
    let mut valued = Vec::new();
    let mut last_at = begin;
    for point in rows(&equity, "points") {
        let (at, date) = (seconds(point, "at")?, date(point, "date")?);
        // If the run ended at the end of the last date, the current value has the same time as that
        // date's value and is skipped.
        if at <= last_at || date < first {
            continue;
        }
        last_at = at;
        let (net_assets, market_value) = (money(point, "net_assets")?, money(point, "market_value")?);
        valued.push(Valuation { date, net_assets, market_value });
    }
    Ok(valued)
}

fn holdings(client: &Client) -> Result<Vec<Holding>, Failure> {
    let portfolio = client.read("/v1/asset/portfolio", &[])?;
    let holding = |row: &Value| {
        // A security without a price is valued at cost.
        let price = if field(row, "price").is_string() { "price" } else { "cost_price" };
        Ok(Holding {
            symbol: symbol(row)?,
            currency: currency(row, "currency")?,
            quantity: quantity(row)?,
            price: price_of(row, price)?,
        })
    };
    rows(&portfolio, "positions").iter().map(holding).collect()
}

/// Returns the fills since `begin`, oldest first.
fn fills(client: &Client, begin: Timestamp) -> Result<Vec<Fill>, Failure> {
    let earlier = TradesQuestion { history: Some(Between::default()), ..TradesQuestion::default() };
    let (earlier, today) = (client.trades(&earlier)?, client.trades(&TradesQuestion::default())?);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for row in rows(&earlier, "trades").iter().chain(rows(&today, "trades")) {
        let id = text(row, "trade_id");
        let at = seconds(row, "trade_done_at")?;
        if at < begin || !seen.insert(id.clone()) {
            continue;
        }
        let symbol = symbol(row)?;
        let side = match text(row, "side").as_str() {
            "Buy" => Side::Buy,
            _ => Side::Sell,
        };
        let currency = currency_of(&symbol);
        let fill =
            Fill { at, symbol, currency, side, quantity: quantity(row)?, price: price_of(row, "price")? };
        found.push((at, id, fill));
    }
    // Ids of executions have a fixed length and increase.
    found.sort_by(|(at, id, _), (other_at, other, _)| {
        (at, id.len(), id.as_str()).cmp(&(other_at, other.len(), other.as_str()))
    });
    Ok(found.into_iter().map(|(_, _, fill)| fill).collect())
}

/// Returns the currency in which a security is traded.
fn currency_of(symbol: &Symbol) -> Currency {
    match symbol.market() {
        Market::Hk => Currency::HKD,
        Market::Us => Currency::USD,
        Market::Cn => Currency::CNH,
    }
}

/// Returns the number of orders since `begin`, and the number of rejected ones.
fn orders(client: &Client, begin: Timestamp) -> Result<(u64, Vec<RefusedOrder>), Failure> {
    let earlier = OrdersQuestion { history: Some(Between::default()), ..OrdersQuestion::default() };
    let (earlier, today) = (client.orders(&earlier)?, client.orders(&OrdersQuestion::default())?);
    let mut seen = HashSet::new();
    let mut refused = Vec::new();
    for row in rows(&earlier, "orders").iter().chain(rows(&today, "orders")) {
        let at = seconds(row, "submitted_at")?;
        let is_new = at >= begin && seen.insert(text(row, "order_id"));
        if !is_new || text(row, "status") != "RejectedStatus" {
            continue;
        }
        refused.push(RefusedOrder {
            at,
            symbol: text(row, "symbol"),
            side: text(row, "side").to_lowercase(),
            quantity: text(row, "quantity"),
            reason: text(row, "msg"),
        });
    }
    refused.sort_by_key(|order| order.at);
    Ok((u64::try_from(seen.len())?, refused))
}

fn charges(client: &Client, begin: Timestamp) -> Result<Vec<Charge>, Failure> {
    let question = CashQuestion { symbol: None, between: Between { start: Some(begin), end: None } };
    let flows = client.cash_flow(&question)?;
    let fees = rows(&flows, "list").iter().filter(|row| text(row, "transaction_flow_name") == "Fee");
    let charge = |row: &Value| {
        Ok(Charge {
            at: seconds(row, "business_time")?,
            symbol: text(row, "symbol").parse().ok(),
            currency: currency(row, "currency")?,
            amount: -money(row, "balance")?,
        })
    };
    let mut charges = fees.map(charge).collect::<Result<Vec<Charge>, Failure>>()?;
    charges.sort_by_key(|charge| charge.at);
    Ok(charges)
}

fn rates(client: &Client) -> Result<Vec<(Currency, Rate)>, Failure> {
    let answer = client.read("/v1/asset/exchange_rates", &[])?;
    let of_hkd = rows(&answer, "exchanges").iter().filter(|row| text(row, "base_currency") == "HKD");
    of_hkd
        .map(|row| {
            let rate = Rate::parse(&text(row, "average_rate")).context("the server's exchange rate")?;
            Ok((currency(row, "other_currency")?, rate))
        })
        .collect()
}

/// Reads the prices of the traded securities.
fn prices(
    client: &Client,
    begin: Timestamp,
    end: Timestamp,
    fills: &[Fill],
    notes: &mut Vec<String>,
) -> Result<Vec<PriceSeries>, Failure> {
    let symbols: BTreeSet<&Symbol> = fills.iter().map(|fill| &fill.symbol).collect();
    if symbols.len() > BENCHMARK_MAX {
        notes.push(format!("no buy and hold: more than {BENCHMARK_MAX} securities were traded"));
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for symbol in symbols {
        match series(client, symbol, begin, end)? {
            Some(series) => found.push(series),
            None => notes.push(format!("{symbol} has no candles for buy and hold")),
        }
    }
    Ok(found)
}

/// Reads the closes of a security and its first price since `begin`, which is the open of its first
/// minute, or of its first day if it has no minutes.
fn series(
    client: &Client,
    symbol: &Symbol,
    begin: Timestamp,
    end: Timestamp,
) -> Result<Option<PriceSeries>, Failure> {
    let zone = Zone::of(symbol.market());
    let candles = |more: &[(&str, String)]| {
        let fixed = [("symbol", symbol.to_string()), ("adjust", "forward".to_owned())];
        client.read("/v1/quote/history-candlesticks", &[&fixed, more].concat())
    };
    let days = candles(&[
        ("period", "day".to_owned()),
        ("start", zone.date(begin).to_string()),
        ("end", zone.date(end).to_string()),
        ("limit", "10000".to_owned()),
    ])?;
    let minute =
        candles(&[("period", "1m".to_owned()), ("after", begin.to_string()), ("limit", "1".to_owned())]);
    // The request is refused or returns no candles if the security has no minutes.
    let minute = minute.ok().and_then(|answer| rows(&answer, "candlesticks").first().cloned());
    let days = rows(&days, "candlesticks");
    let Some(first) = minute.as_ref().or_else(|| days.first()) else { return Ok(None) };
    let first = price_of(first, "open")?;
    let mut closes = BTreeMap::new();
    for row in days {
        let day = zone.date(Timestamp(field(row, "timestamp").as_i64().unwrap_or_default()));
        closes.insert(day, price_of(row, "close")?);
    }
    Ok((first > Price(0)).then(|| PriceSeries { symbol: symbol.clone(), first, closes }))
}

fn money(row: &Value, name: &str) -> Result<Money, Failure> {
    Ok(text(row, name).parse().with_context(|| format!("the server's {name}"))?)
}

fn quantity(row: &Value) -> Result<Quantity, Failure> {
    Ok(text(row, "quantity").parse().context("the server's quantity")?)
}

fn price_of(row: &Value, name: &str) -> Result<Price, Failure> {
    Ok(parse_price(&text(row, name)).with_context(|| format!("the server's {name}"))?)
}

fn symbol(row: &Value) -> Result<Symbol, Failure> {
    Ok(text(row, "symbol").parse().context("the server's symbol")?)
}

fn currency(row: &Value, name: &str) -> Result<Currency, Failure> {
    Ok(text(row, name).parse().with_context(|| format!("the server's {name}"))?)
}

fn date(row: &Value, name: &str) -> Result<Date, Failure> {
    let digits = text(row, name).replace('-', "");
    Ok(parse_date(&digits).with_context(|| format!("the server's {name}"))?)
}

fn seconds(row: &Value, name: &str) -> Result<Timestamp, Failure> {
    let text = text(row, name);
    Ok(Timestamp(text.parse().with_context(|| format!("the server's {name}"))?))
}
