//! `chandler performance`: prints the profit of a paper account, its closed trades, and its equity
//! curve.

use std::io::Write;

use clap::Args;
use serde_json::Value;
use trading::performance::Ratio;

use super::trade::shown::{self, amount, rows, text, zoned};
use crate::client::AccountFlags;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format, Table};
use crate::remote::field;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Security to compare the equity curve with, such as 2800.HK
    #[arg(long, value_name = "SYMBOL")]
    benchmark: Option<String>,
    /// Number of dates of the equity curve
    #[arg(long, default_value_t = 366, value_parser = clap::value_parser!(u32).range(1..=3_000))]
    days: u32,
    /// Maximum number of closed trades, newest first
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    trades: u32,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let client = arguments.whose.trader(context)?;
    let mut parameters = vec![("days", arguments.days.to_string())];
    if let Some(text) = &arguments.benchmark {
        parameters.push(("benchmark", client.symbol(text, context)?.to_string()));
    }
    let mut document = client.read("/v1/asset/performance", &[("trades", arguments.trades.to_string())])?;
    let equity = client.read("/v1/asset/equity", &parameters)?;
    if arguments.format == Format::Json {
        if let Some(fields) = document.as_object_mut() {
            fields.insert("equity".to_owned(), equity);
        }
        return shown::json(&document);
    }
    let mut out = output::stdout();
    print_profit(&mut out, &document)?;
    print_securities(&mut out, &document)?;
    print_trades(&mut out, &document)?;
    print_curve(&mut out, &equity, arguments.benchmark.is_some())?;
    Ok(out.flush()?)
}

const PARTS: [&str; 4] = ["day", "realised", "unrealised", "total"];

fn parts(row: &Value) -> impl Iterator<Item = String> {
    PARTS.map(|name| amount(row, name)).into_iter()
}

fn table(out: &mut impl Write, table: Table) -> Result<(), Failure> {
    Ok(writeln!(out, "{}", output::text(table))?)
}

fn print_profit(out: &mut impl Write, document: &Value) -> Result<(), Failure> {
    let columns = [
        Column::Left("profit"),
        Column::Right("day"),
        Column::Right("realised"),
        Column::Right("unrealised"),
        Column::Right("total"),
    ];
    let row = |name: String, row: &Value| std::iter::once(name).chain(parts(row)).collect::<Vec<_>>();
    let mut lines: Vec<Vec<String>> =
        rows(document, "currencies").iter().map(|one| row(text(one, "currency"), one)).collect();
    let totals = field(document, "totals");
    if totals.is_object() {
        lines.push(row(format!("all in {}", text(totals, "currency")), totals));
    }
    if lines.is_empty() {
        writeln!(out, "nothing was traded")?;
    } else {
        table(out, output::table(&columns, lines))?;
        writeln!(out, "realised profit includes all charges; costs are average costs")?;
    }
    let missing = text(document, "missing");
    if !missing.is_empty() {
        writeln!(out, "no total: {missing}")?;
    }
    if field(document, "approximate").as_bool() == Some(true) {
        writeln!(out, "the total is at approximate exchange rates")?;
    }
    Ok(())
}

fn print_securities(out: &mut impl Write, document: &Value) -> Result<(), Failure> {
    let securities = rows(document, "securities");
    if securities.is_empty() {
        return Ok(());
    }
    let columns = [
        Column::Left("symbol"),
        Column::Right("quantity"),
        Column::Right("average cost"),
        Column::Right("last"),
        Column::Right("day"),
        Column::Right("realised"),
        Column::Right("unrealised"),
        Column::Right("total"),
        Column::Left("currency"),
    ];
    let row = |one: &Value| -> Vec<String> {
        let head =
            [text(one, "symbol"), amount(one, "quantity"), amount(one, "average_cost"), amount(one, "price")];
        head.into_iter().chain(parts(one)).chain([text(one, "currency")]).collect()
    };
    writeln!(out)?;
    let securities = output::table(&columns, securities.iter().map(row));
    table(out, securities.optional(&["currency", "average cost", "realised", "unrealised", "day"]))
}

fn print_trades(out: &mut impl Write, document: &Value) -> Result<(), Failure> {
    let closed = field(document, "trades_closed").as_u64().unwrap_or(0);
    if closed == 0 {
        return Ok(());
    }
    let won = field(document, "trades_won").as_u64().unwrap_or(0);
    writeln!(out)?;
    let rate = percent(document, "win_rate");
    writeln!(out, "{} closed, {won} with a profit: win rate {rate}", output::count(closed, "trade"))?;
    let columns = [
        Column::Left("symbol"),
        Column::Left("side"),
        Column::Right("quantity"),
        Column::Left("opened"),
        Column::Left("closed"),
        Column::Right("held"),
        Column::Right("entry"),
        Column::Right("exit"),
        Column::Right("charges"),
        Column::Right("result"),
        Column::Right("%"),
        Column::Left("currency"),
    ];
    let row = |trade: &Value| {
        let symbol = text(trade, "symbol");
        vec![
            symbol.clone(),
            text(trade, "side"),
            amount(trade, "quantity"),
            zoned(trade, "opened_at", &symbol),
            zoned(trade, "closed_at", &symbol),
            held(field(trade, "held_s").as_i64().unwrap_or(0)),
            amount(trade, "entry_price"),
            amount(trade, "exit_price"),
            amount(trade, "charges"),
            amount(trade, "profit"),
            percent(trade, "gain"),
            text(trade, "currency"),
        ]
    };
    let trades = rows(document, "trades");
    let trades = output::table(&columns, trades.iter().map(row));
    if trades.is_empty() {
        return Ok(());
    }
    table(out, trades.optional(&["charges", "currency", "held", "opened", "entry", "exit"]))
}

fn print_curve(out: &mut impl Write, equity: &Value, has_benchmark: bool) -> Result<(), Failure> {
    let Some(last) = rows(equity, "points").last() else { return Ok(()) };
    writeln!(out)?;
    writeln!(out, "net assets     HKD {} on {}", amount(last, "net_assets"), text(last, "date"))?;
    writeln!(out, "growth         {}", change(last, "growth"))?;
    if has_benchmark {
        writeln!(out, "benchmark      {}", change(last, "benchmark"))?;
    }
    writeln!(
        out,
        "drawdown       {}, at most {}",
        percent(last, "drawdown"),
        percent(equity, "max_drawdown")
    )?;
    Ok(())
}

fn ratio(document: &Value, name: &str) -> Option<Ratio> {
    Ratio::parse(&text(document, name)).ok()
}

/// Formats a ratio as a percentage, or a dash if there is none.
fn percent(document: &Value, name: &str) -> String {
    ratio(document, name).map_or_else(|| "-".to_owned(), |ratio| ratio.to_string())
}

/// Formats a relative value as its change from 1.
fn change(document: &Value, name: &str) -> String {
    ratio(document, name).map_or_else(|| "-".to_owned(), |ratio| (ratio - Ratio::ONE).to_string())
}

/// Formats a duration with its two largest units: `3 d 4 h`, `2 h 5 min`, `45 s`.
fn held(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::held;

    #[test]
    fn a_holding_time_has_its_largest_units() {
        for (seconds, text) in
            [(0, "0 s"), (59, "59 s"), (3_599, "59 min"), (7_500, "2 h 5 min"), (273_600, "3 d 4 h")]
        {
            assert_eq!(held(seconds), text);
        }
    }
}
