//! `chandler coverage --trades`: lists trading days without trades between a security's first and
//! last day with trades.

use std::io::Write;

use market::{Date, Symbol};
use serde_json::{Value, json};
use store::Reader;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};

/// Maximum number of missing days named per line.
const NAMED: usize = 5;

/// A security's trades compared with the trading calendar.
struct TradeCoverage {
    symbol: Symbol,
    first: Date,
    last: Date,
    trades: u64,
    days: usize,
    missing: Vec<Date>,
}

pub(super) fn run(
    symbol: Option<&Symbol>,
    range: (Option<Date>, Option<Date>),
    format: Format,
    context: &CommandContext,
    reader: &mut Reader,
) -> Result<(), Failure> {
    let symbols = match symbol {
        Some(symbol) => vec![symbol.clone()],
        None => reader.snapshot()?.traded_symbols()?.into_iter().map(|traded| traded.symbol).collect(),
    };
    let mut all = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        all.extend(of(symbol, range, context, reader)?);
    }
    if format == Format::Json {
        return Ok(output::json(&all.iter().map(TradeCoverage::json).collect::<Vec<Value>>())?);
    }
    let mut columns = vec![Column::Left("symbol"), Column::Left("first"), Column::Left("last")];
    columns.extend(["trades", "days", "missing"].map(Column::Right));
    columns.push(Column::Left("days without trades"));
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(&output::table(&columns, all.iter().map(TradeCoverage::row))))?;
    Ok(out.flush()?)
}

/// Compares a security's trades with the calendar. `None` if it has no trades in the range, or none
/// that are visible yet.
fn of(
    symbol: Symbol,
    (start, end): (Option<Date>, Option<Date>),
    context: &CommandContext,
    reader: &mut Reader,
) -> Result<Option<TradeCoverage>, Failure> {
    let as_of = context.as_of();
    let mut days = context.history.traded_days(reader, &symbol, as_of)?;
    days.retain(|day| start.is_none_or(|start| day.day >= start) && end.is_none_or(|end| day.day <= end));
    let (Some(first), Some(last)) = (days.first().map(|day| day.day), days.last().map(|day| day.day)) else {
        return Ok(None);
    };
    let calendar = context.history.venue(&symbol).calendar();
    let expected = calendar.days(start.unwrap_or(first).max(first), last).map(|(day, _)| day);
    let missing =
        expected.filter(|day| days.binary_search_by_key(day, |stored| stored.day).is_err()).collect();
    // The number of trades on a day that has not ended is unknown.
    let trades = days.iter().filter(|day| day.last <= as_of.now()).map(|day| day.rows).sum();
    Ok(Some(TradeCoverage { symbol, first, last, trades, days: days.len(), missing }))
}

impl TradeCoverage {
    fn row(&self) -> Vec<String> {
        let mut named: Vec<String> = self.missing.iter().take(NAMED).map(Date::to_string).collect();
        if self.missing.len() > NAMED {
            named.push("…".to_owned());
        }
        vec![
            self.symbol.to_string(),
            self.first.to_string(),
            self.last.to_string(),
            output::thousands(self.trades),
            output::thousands(self.days as u64),
            output::thousands(self.missing.len() as u64),
            named.join(" "),
        ]
    }

    fn json(&self) -> Value {
        let missing: Vec<String> = self.missing.iter().map(Date::to_string).collect();
        json!({
            "symbol": self.symbol.as_str(), "first": self.first.to_string(), "last": self.last.to_string(),
            "trades": self.trades, "days": self.days, "missing": missing,
        })
    }
}
