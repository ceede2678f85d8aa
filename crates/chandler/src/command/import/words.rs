//! Describes how an import interpreted a file, as text and as JSON, and suggests the next command.

use files::{JudgedBy, SymbolSource, Understood};
use history::import::{MarketTime, Outcome, Report};
use market::{Candle, DECIMALS_MAX, Market, Period, Price, Symbol, Venues};
use serde_json::{Value, json};

use crate::context::CommandContext;
use crate::output::{self, Column};

/// Describes in one line how a table of candles or trades was interpreted. `None` for other tables.
pub(super) fn understood(report: &Report, venues: &Venues) -> Option<String> {
    if report.kind == "trades" {
        let (first, last) = report.range?;
        let [first, last] = [first, last].map(|time| stamp(venues, true, time));
        return Some(format!("{}: trades from {first} to {last}", symbols(report)));
    }
    let understood = report.understood?;
    let range = match report.range {
        Some((first, last)) => {
            let stamp = |time| stamp(venues, understood.period.period.is_clock(), time);
            format!(" from {} to {}", stamp(first), stamp(last))
        }
        None => String::new(),
    };
    let order = match understood.order {
        Some(files::DateOrder::MonthFirst) => ", the month first in dates",
        Some(files::DateOrder::DayFirst) => ", the day first in dates",
        None => "",
    };
    Some(format!(
        "{}{}: {} candles{}{range}; {}{order}; prices {}",
        symbols(report),
        symbol_guess(understood.symbol),
        period_word(understood.period.period),
        period_guess(&understood).map(|why| format!(" (a guess: {why})")).unwrap_or_default(),
        understood.times.in_words(&markets(report)),
        understood.basis.in_words(),
    ))
}

/// Returns the distinct markets of the report's symbols.
fn markets(report: &Report) -> Vec<Market> {
    let mut markets: Vec<Market> = report.names.iter().map(Symbol::market).collect();
    markets.sort_unstable();
    markets.dedup();
    markets
}

fn symbols(report: &Report) -> String {
    let names: Vec<&str> = report.names.iter().map(Symbol::as_str).collect();
    match report.symbols.saturating_sub(names.len() as u64) {
        0 => names.join(", "),
        more => format!("{} and {} more", names.join(", "), output::thousands(more)),
    }
}

/// Returns how the symbol was guessed; empty if it is certain.
fn symbol_guess(source: SymbolSource) -> &'static str {
    match source {
        SymbolSource::TickerOption => " (its market is a guess)",
        source if source.is_guess() => " (a guess from the file's name)",
        _ => "",
    }
}

/// Returns how the candle period was guessed, or `None` if the period is certain.
fn period_guess(understood: &Understood) -> Option<&'static str> {
    let period = understood.period.period;
    let is_coarse = period.is_clock() && period != Period::MINUTE;
    match understood.period.by {
        JudgedBy::Default { .. } => Some("too few rows to detect it"),
        JudgedBy::FileName => Some("from the file's name"),
        JudgedBy::Steps if is_coarse => Some("from the spacing of the rows"),
        JudgedBy::Steps | JudgedBy::Option => None,
    }
}

fn period_word(period: Period) -> String {
    match period {
        Period::Clock(minutes) => format!("{}-minute", minutes.get()),
        period if period == Period::DAY => "daily".to_owned(),
        period => period.to_string(),
    }
}

/// Formats a timestamp in its market's local time. Daily and longer candles show only the date.
fn stamp(venues: &Venues, is_clock: bool, (at, market): MarketTime) -> String {
    let (date, seconds) = venues.of(market).zone().local(at);
    if is_clock { format!("{date} {:02}:{:02}", seconds / 3600, seconds / 60 % 60) } else { date.to_string() }
}

/// Returns suggested commands for the first file with imported rows. Empty if no rows were
/// imported.
pub(super) fn next_steps(reports: &[Report], context: &CommandContext) -> Vec<String> {
    let imported = |report: &&Report| report.outcome == Outcome::Imported && !report.names.is_empty();
    let Some(report) = reports.iter().find(imported) else { return Vec::new() };
    let Some(symbol) = report.names.first() else { return Vec::new() };
    let Some(understood) = report.understood else {
        return vec![context.hint(&format!("coverage {symbol} --trades"))];
    };
    let mut steps = vec![context.hint(&format!("kline {symbol} --period {}", understood.period.period))];
    steps.extend(report.import.map(|id| context.hint(&format!("imports --undo {}", id.0))));
    steps
}

/// Formats a dry run's first rows as they would be stored.
pub(super) fn first_rows(report: &Report, venues: &Venues) -> String {
    let mut columns = vec![Column::Left("symbol"), Column::Left("time"), Column::Left("session")];
    columns.extend(["open", "high", "low", "close", "volume", "turnover"].map(Column::Right));
    let rows = report.first_rows.iter().map(|(symbol, candle)| {
        let [open, high, low, close] = prices(candle);
        vec![
            symbol.to_string(),
            venues.of(symbol.market()).zone().rfc3339(candle.time),
            candle.session.as_str().to_owned(),
            open,
            high,
            low,
            close,
            output::thousands(candle.volume.unsigned_abs()),
            candle.turnover.text().to_string(),
        ]
    });
    output::text(output::table(&columns, rows).optional(&["turnover", "session", "volume"]))
}

/// Formats a dry run's first trades as they would be stored.
pub(super) fn first_trades(report: &Report, venues: &Venues) -> String {
    let columns = [
        Column::Left("symbol"),
        Column::Left("time"),
        Column::Right("price"),
        Column::Right("volume"),
        Column::Left("direction"),
        Column::Left("type"),
    ];
    let rows = report.first_trades.iter().map(|(symbol, trade)| {
        vec![
            symbol.to_string(),
            venues.of(symbol.market()).zone().rfc3339(trade.time),
            short(trade.price),
            output::thousands(trade.volume.unsigned_abs()),
            trade.direction.as_str().to_owned(),
            trade.kind.to_string(),
        ]
    });
    output::text(output::table(&columns, rows).optional(&["type", "direction"]))
}

fn prices(candle: &Candle) -> [String; 4] {
    [candle.open, candle.high, candle.low, candle.close].map(short)
}

/// Formats a price without trailing zeros.
fn short(price: Price) -> String {
    let text = price.text(DECIMALS_MAX).to_string();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the interpretation of a file as JSON, or null if the file has none.
pub(super) fn understood_document(report: &Report, venues: &Venues) -> Value {
    let Some(understood) = report.understood else { return Value::Null };
    let zone = |market: Market| venues.of(market).zone();
    let written = |(at, market): MarketTime| zone(market).rfc3339(at);
    let range = report.range.map(|(first, last)| [written(first), written(last)]);
    let markets = markets(report);
    let zones: Vec<&str> = markets.iter().map(|market| zone(*market).name()).collect();
    json!({
        "vendor": understood.vendor.as_str(),
        "symbols": report.names.iter().map(Symbol::as_str).collect::<Vec<_>>(),
        "symbol_is_guess": understood.symbol.is_guess(),
        "period": understood.period.period.to_string(), "period_is_guess": period_guess(&understood).is_some(),
        "range": range, "time_zone": zones.join(", "), "times": understood.times.in_words(&markets),
        "basis": understood.basis.in_words(), "decimal": understood.decimal.as_str(),
        "columns_are_guess": understood.are_columns_guessed,
    })
}

pub(super) fn first_rows_document(report: &Report, venues: &Venues) -> Vec<Value> {
    let trades = report.first_trades.iter().map(|(symbol, trade)| {
        json!({
            "symbol": symbol.as_str(), "time": venues.of(symbol.market()).zone().rfc3339(trade.time),
            "price": short(trade.price), "volume": trade.volume, "direction": trade.direction.as_str(),
            "type": trade.kind.to_string(),
        })
    });
    let rows = report.first_rows.iter().map(|(symbol, candle)| {
        let [open, high, low, close] = prices(candle);
        json!({
            "symbol": symbol.as_str(), "time": venues.of(symbol.market()).zone().rfc3339(candle.time),
            "session": candle.session.as_str(), "open": open, "high": high, "low": low, "close": close,
            "volume": candle.volume, "turnover": candle.turnover.text().to_string(),
        })
    });
    rows.chain(trades).collect()
}
