//! `chandler quote`: the latest quotes of securities, from the local store or a server.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use history::Sessions;
use market::{Floors, Market, Price, Symbol, Timestamp, Zone};
use serde_json::{Value, json};
use store::Access;
use wire::quote::TradeStatus;

use super::trade::shown::{grouped, rows, text, zoned};
use crate::context::{self, CommandContext};
use crate::failure::{Failure, found, usage};
use crate::local;
use crate::output::{self, Column, Format};
use crate::remote::session::Session;
use crate::remote::{self, field};

const PATH: &str = "/v1/quote/quotes";
const STATES_PATH: &str = "/v1/quote/market-status";
/// Maximum number of securities in a request.
const SYMBOLS_MAX: usize = 500;

/// Fields of a US quote with the prices outside regular hours, and the names of their sessions.
const SESSIONS: [(&str, &str); 3] = [
    ("over_night_quote", "overnight"),
    ("pre_market_quote", "pre-market"),
    ("post_market_quote", "post-market"),
];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Securities, such as 700.HK AAPL.US
    #[arg(required = true, value_name = "SYMBOL")]
    symbols: Vec<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

/// Quotes in the form of the API, and the status code of each market.
struct Quoted {
    quotes: Vec<Value>,
    states: Vec<(Market, i64)>,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let session = arguments.remote.session(context)?;
    let mut symbols: Vec<Symbol> = Vec::new();
    for text in &arguments.symbols {
        let symbol = if session.is_some() { context::symbol(text)? } else { context.symbol(text)? };
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
    }
    if symbols.len() > SYMBOLS_MAX {
        return Err(usage(format!("{} securities are too many: at most {SYMBOLS_MAX}", symbols.len())));
    }
    let quoted = match &session {
        Some(session) => there(session, &symbols)?,
        None => here(context, &symbols)?,
    };
    let documents: Vec<Value> = symbols.iter().filter_map(|symbol| quoted.document(symbol)).collect();
    let missing: Vec<String> = symbols
        .iter()
        .filter(|symbol| quoted.of(symbol).is_none())
        .map(|symbol| match &session {
            Some(_) => symbol.to_string(),
            None => format!("{symbol}{}", context.symbol_hint(symbol)),
        })
        .collect();
    let verdict =
        if missing.is_empty() { Ok(()) } else { Err(anyhow!("no quote of {}", missing.join(", ")).into()) };
    let report = match arguments.format {
        Format::Json => output::json(&documents).map_err(Failure::from),
        Format::Table if documents.is_empty() => Ok(()),
        Format::Table => print(&documents),
    };
    found(report, verdict)
}

/// Reads the quotes from the local store, at the time of the market clock.
fn here(context: &CommandContext, symbols: &[Symbol]) -> Result<Quoted, Failure> {
    let mut reader = context.open(Access::Read)?.reader()?;
    let as_of = local::market_time(context);
    let mut quotes = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        // The local store has no sessions or dates that the user may not see.
        let quote = context.history.quote(&mut reader, symbol, Sessions::All, Floors::NONE, as_of)?;
        if let Some(quote) = quote {
            quotes.push(serde_json::to_value(server::quote_message(&quote))?);
        }
    }
    let venues = context.history.venues();
    let state = |market| (market, i64::from(server::market_status(venues.of(market), as_of.now())));
    Ok(Quoted { quotes, states: Market::ALL.map(state).to_vec() })
}

fn there(session: &Session, symbols: &[Symbol]) -> Result<Quoted, Failure> {
    let get = |path: &str| session.get(path).map_err(|error| session.to_failure(error));
    let list: Vec<&str> = symbols.iter().map(Symbol::as_str).collect();
    let quotes = get(&format!("{PATH}?symbols={}", list.join(",")))?;
    let states = get(STATES_PATH)?;
    let state = |row: &Value| {
        let market = Market::ALL.into_iter().find(|market| market.as_str() == text(row, "market"))?;
        Some((market, field(row, "trade_status").as_i64()?))
    };
    Ok(Quoted {
        quotes: rows(&quotes, "secu_quote").to_vec(),
        states: rows(&states, "market_time").iter().filter_map(state).collect(),
    })
}

impl Quoted {
    fn of(&self, symbol: &Symbol) -> Option<&Value> {
        self.quotes.iter().find(|quote| field(quote, "symbol").as_str() == Some(symbol.as_str()))
    }

    /// Returns a quote with additional fields: change, time and state.
    fn document(&self, symbol: &Symbol) -> Option<Value> {
        let mut document = self.of(symbol)?.clone();
        let zone = Zone::of(symbol.market());
        for (name, _) in SESSIONS {
            if let Some(prices) = document.get_mut(name).filter(|prices| prices.is_object()) {
                add_change(prices, &zone);
            }
        }
        add_change(&mut document, &zone);
        let market = self.states.iter().find(|(market, _)| *market == symbol.market());
        let state = state(field(&document, "trade_status"), market.map(|(_, code)| *code));
        if let Value::Object(fields) = &mut document {
            fields.insert("state".to_owned(), state.into());
        }
        Some(document)
    }
}

/// Adds the change since the previous close, and the time in the market's time zone.
fn add_change(prices: &mut Value, zone: &Zone) {
    let (last, before) = (field(prices, "last_done"), field(prices, "prev_close"));
    let (change, percent) = match (last.as_str(), before.as_str()) {
        (Some(last), Some(before)) => change(last, before),
        _ => None,
    }
    .unzip();
    let time = field(prices, "timestamp").as_i64().map(|seconds| zone.rfc3339(Timestamp(seconds)));
    if let Value::Object(fields) = prices {
        fields.insert("change".to_owned(), json!(change));
        fields.insert("change_percent".to_owned(), json!(percent.flatten()));
        fields.insert("time".to_owned(), json!(time));
    }
}

/// Returns the difference of two prices with the decimals of the prices, and in percent with two
/// decimals. The percentage is `None` if the earlier price is zero or negative.
fn change(last: &str, before: &str) -> Option<(String, Option<String>)> {
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let decimals = u32::try_from(decimals(last).max(decimals(before))).ok()?;
    let (last, before) = (Price::parse(last).ok()?.0, Price::parse(before).ok()?.0);
    let difference = last.checked_sub(before)?;
    let percent = (before > 0).then(|| {
        // In hundredths of a percent, rounded half away from zero.
        let (scaled, before) = (i128::from(difference) * 20_000, i128::from(before));
        let rounded = (scaled + before * scaled.signum()) / (2 * before);
        format!("{}{}.{:02}", if rounded < 0 { "-" } else { "" }, rounded.abs() / 100, rounded.abs() % 100)
    });
    Some((Price(difference).text(decimals).to_string(), percent))
}

/// Returns the label of a security's status or, if the security is traded normally, of its market's.
fn state(status: &Value, market: Option<i64>) -> &'static str {
    let status = status.as_i64().and_then(|code| TradeStatus::try_from(i32::try_from(code).ok()?).ok());
    match status {
        None | Some(TradeStatus::Normal) => {}
        Some(TradeStatus::Suspended) => return "suspended",
        Some(TradeStatus::Delisted) => return "delisted",
        Some(TradeStatus::Expired) => return "expired",
        Some(TradeStatus::PrepareList | TradeStatus::WarrantPrepareList | TradeStatus::ToBeOpened) => {
            return "not listed yet";
        }
        Some(TradeStatus::CodeMoved) => return "renamed",
        Some(TradeStatus::Halted | TradeStatus::Fuse | TradeStatus::SplitHalt) => return "halted",
    }
    match market {
        Some(105 | 202) => "open",
        Some(106) => "midday break",
        Some(107) => "closing auction",
        Some(201) => "pre-market",
        Some(203) => "post-market",
        Some(207) => "overnight",
        Some(108 | 204) => "closed",
        _ => "",
    }
}

fn print(documents: &[Value]) -> Result<(), Failure> {
    // Prices outside regular hours have their own line, if they are newer.
    let at = |prices: &Value| field(prices, "timestamp").as_i64().unwrap_or_default();
    let mut lines: Vec<(&Value, String, &str, &Value)> = Vec::new();
    for document in documents {
        lines.push((document, text(document, "symbol"), "regular", field(document, "state")));
        let newer = SESSIONS.iter().filter(|(name, _)| at(field(document, name)) > at(document));
        let newer = newer.max_by_key(|(name, _)| at(field(document, name)));
        lines.extend(newer.map(|(name, session)| {
            (field(document, name), text(document, "symbol"), *session, &Value::Null)
        }));
    }
    let has_sessions = lines.len() > documents.len();
    let mut columns = vec![Column::Left("symbol")];
    columns.extend(["last", "change", "%", "volume"].map(Column::Right));
    columns.push(Column::Left("time"));
    columns.extend(has_sessions.then_some(Column::Left("session")));
    columns.push(Column::Left("state"));
    let cells = lines.into_iter().map(|(prices, symbol, session, state)| {
        let signed = |name: &str| {
            let plain = text(prices, name);
            let is_up = !plain.starts_with('-') && plain.contains(|letter| ('1'..='9').contains(&letter));
            format!("{}{}", if is_up { "+" } else { "" }, grouped(&plain))
        };
        let time = zoned(prices, "timestamp", &symbol);
        let mut row = vec![
            symbol,
            grouped(&text(prices, "last_done")),
            signed("change"),
            signed("change_percent"),
            grouped(&text(prices, "volume")),
            time,
        ];
        row.extend(has_sessions.then(|| session.to_owned()));
        row.push(state.as_str().unwrap_or_default().to_owned());
        row
    });
    let table = output::table(&columns, cells).optional(&["time", "volume", "session", "change", "state"]);
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(table))?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_exact_and_its_percentage_is_rounded_half_away_from_zero() {
        for (last, before, expected, percent) in [
            ("306.200", "305.000", "1.200", Some("0.39")),
            ("99.99", "100.00", "-0.01", Some("-0.01")),
            ("100.005", "100.000", "0.005", Some("0.01")),
            ("99.995", "100.000", "-0.005", Some("-0.01")),
            ("100.004", "100", "0.004", Some("0.00")),
            ("3", "1", "2", Some("200.00")),
            ("5.0", "5.0", "0.0", Some("0.00")),
            ("5.0", "0", "5.0", None),
        ] {
            let wanted = Some((expected.to_owned(), percent.map(str::to_owned)));
            assert_eq!(change(last, before), wanted, "{last} {before}");
        }
        assert_eq!(change("", "1"), None);
        assert_eq!(change("1", "x"), None);
    }

    #[test]
    fn the_state_of_a_security_comes_before_the_state_of_its_market() {
        let of = |status: i32, market| state(&json!(status), market);
        assert_eq!(of(0, Some(105)), "open");
        assert_eq!(of(0, Some(204)), "closed");
        assert_eq!(of(0, None), "");
        assert_eq!(of(TradeStatus::Suspended.into(), Some(105)), "suspended");
        assert_eq!(of(99, Some(106)), "midday break");
    }
}
