//! Prints reports as tables or JSON.

use std::cmp::Reverse;
use std::io::Write;

use serde_json::{Map, Value, json};

use super::check::{Check, CheckResult};
use super::job::Finished;
use super::report::{Better, EquityRow, Figure, FigureValue, Ratio, RefusedOrder, Report, RoundTrip, as_f64};
use crate::command::trade::shown::text;
use crate::failure::Failure;
use crate::output::{self, Column, Format};

/// Maximum number of equity rows and refused orders in a table. JSON and HTML contain all.
const ROWS_MAX: usize = 40;

/// Prints the report of one run.
pub(super) fn one(run: &Finished, checks: &[CheckResult], format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(&document(run, checks))?);
    }
    let mut out = output::stdout();
    let Report { begin, end, equity, refused, figures, notes, .. } = &run.report;
    writeln!(out, "World {} from {begin} to {end}, in HKD", run.world)?;
    writeln!(out)?;
    for (figure, value) in figures {
        let value = value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        writeln!(out, "{:<20}{value:>18}", figure.title())?;
    }
    if !equity.is_empty() {
        writeln!(out)?;
        print_equity(&mut out, equity)?;
    }
    if !refused.is_empty() {
        writeln!(out, "\nRefused orders:")?;
        print_refused(&mut out, refused)?;
    }
    if !checks.is_empty() {
        writeln!(out, "\nChecks:")?;
        for check in checks {
            writeln!(out, "  {}", check.line())?;
        }
    }
    for note in notes {
        writeln!(out, "\nNote: {note}")?;
    }
    Ok(out.flush()?)
}

fn print_equity(out: &mut impl Write, equity: &[EquityRow]) -> Result<(), Failure> {
    let columns = [
        Column::Left("date"),
        Column::Right("net assets"),
        Column::Right("return"),
        Column::Right("drawdown"),
        Column::Right("exposure"),
        Column::Right("buy and hold"),
    ];
    let change = |ratio: Ratio| (ratio - Ratio::ONE).to_string();
    let row = |row: &EquityRow| {
        vec![
            row.date.to_string(),
            FigureValue::Amount(row.net_assets).to_string(),
            change(row.growth),
            row.drawdown.to_string(),
            row.exposure.to_string(),
            row.benchmark.map(change).unwrap_or_default(),
        ]
    };
    // Only the last days are shown, because they contain the result.
    let hidden = equity.len().saturating_sub(ROWS_MAX);
    if hidden > 0 {
        writeln!(out, "The last {ROWS_MAX} of {} days; --format json and --html have all:", equity.len())?;
    }
    let rows = equity.iter().skip(hidden).map(row);
    writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
    Ok(())
}

fn print_refused(out: &mut impl Write, refused: &[RefusedOrder]) -> Result<(), Failure> {
    for order in refused.iter().take(ROWS_MAX) {
        let RefusedOrder { at, symbol, side, quantity, reason } = order;
        writeln!(out, "  {at}  {side} {quantity} {symbol}: {reason}")?;
    }
    if refused.len() > ROWS_MAX {
        writeln!(out, "  and {} more", refused.len() - ROWS_MAX)?;
    }
    Ok(())
}

/// Prints a table of all runs, best first.
pub(super) fn sweep(
    runs: &[Finished],
    sort: Figure,
    checks: &[Check],
    format: Format,
) -> Result<(), Failure> {
    let mut runs: Vec<&Finished> = runs.iter().collect();
    let key = |run: &&Finished| run.report.value(sort).map(FigureValue::billionths);
    match sort.better() {
        Better::High => runs.sort_by_key(|run| Reverse(key(run))),
        // A run without a value for this figure comes last.
        Better::Low => runs.sort_by_key(|run| key(run).unwrap_or(i128::MAX)),
    }
    if format == Format::Json {
        let results = |run: &&Finished| {
            let results: Vec<CheckResult> = checks.iter().map(|check| check.of(&run.report)).collect();
            let parameters: Map<String, Value> =
                run.combination.0.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
            let mut document = document(run, &results);
            if let Value::Object(fields) = &mut document {
                fields.insert("parameters".to_owned(), parameters.into());
            }
            document
        };
        let runs: Vec<Value> = runs.iter().map(results).collect();
        return Ok(output::json(&json!({"sort": sort.name(), "runs": runs}))?);
    }
    let mut shown = vec![
        Figure::Return,
        Figure::ExcessReturn,
        Figure::MaxDrawdown,
        Figure::Trades,
        Figure::WinRate,
        Figure::Fees,
    ];
    if !shown.contains(&sort) {
        shown.insert(0, sort);
    }
    let mut columns = vec![Column::Left("parameters")];
    columns.extend(shown.iter().map(|figure| Column::Right(figure.name())));
    columns.push(Column::Left("world"));
    columns.push(Column::Left("result"));
    let row = |run: &&Finished| {
        let mut row = vec![run.combination.text()];
        let value =
            |figure: &Figure| run.report.value(*figure).map_or("-".to_owned(), |value| value.to_string());
        row.extend(shown.iter().map(value));
        row.extend([run.world.clone(), verdict(run, checks)]);
        row
    };
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(output::table(&columns, runs.iter().map(row))))?;
    Ok(out.flush()?)
}

fn verdict(run: &Finished, checks: &[Check]) -> String {
    if run.outcome.exit_code() != 0 {
        return run.outcome.name().replace('_', " ");
    }
    let failed = checks.iter().filter(|check| !check.of(&run.report).passed).count();
    match (checks.is_empty(), failed) {
        (true, _) => "done".to_owned(),
        (false, 0) => "passed".to_owned(),
        (false, failed) => format!("{failed} failed"),
    }
}

fn document(run: &Finished, checks: &[CheckResult]) -> Value {
    let report = &run.report;
    let world = &run.shown;
    let shown = |name: &str| text(world, name);
    json!({
        "world": {
            "name": run.world, "state": shown("state"), "start": shown("start"), "end": shown("end"),
            "now": shown("now"), "steps": world.get("step"),
        },
        "program": {
            "command": run.command, "outcome": run.outcome.name(), "exit_code": run.outcome.exit_code(),
            "seconds": (run.elapsed.as_secs_f64() * 1e3).round() / 1e3,
        },
        "begin": report.begin.to_string(),
        "end": report.end.to_string(),
        "currency": "HKD",
        "opening": report.opening.text().to_string(),
        "figures": figures(report),
        "equity": report.equity.iter().map(equity_row).collect::<Vec<_>>(),
        "trades": report.round_trips.iter().map(trip).collect::<Vec<_>>(),
        "refused": report.refused.iter().map(refusal).collect::<Vec<_>>(),
        "checks": checks.iter().map(|check| check.json(report)).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

fn figures(report: &Report) -> Value {
    let value = |(figure, value): &(Figure, Option<FigureValue>)| {
        (figure.name().to_owned(), value.map_or(Value::Null, FigureValue::json))
    };
    report.figures.iter().map(value).collect::<Map<_, _>>().into()
}

fn equity_row(row: &EquityRow) -> Value {
    json!({
        "date": row.date.to_string(), "net_assets": row.net_assets.text().to_string(), "growth": as_f64(row.growth),
        "drawdown": as_f64(row.drawdown), "exposure": as_f64(row.exposure), "benchmark": row.benchmark.map(as_f64),
    })
}

fn trip(trip: &RoundTrip) -> Value {
    json!({
        "symbol": trip.symbol.as_str(), "side": if trip.is_long { "long" } else { "short" },
        "opened_at": trip.opened_at.to_string(), "closed_at": trip.closed_at.to_string(),
        "quantity": trip.quantity.to_string(), "currency": trip.currency().as_str(),
        "charges": trip.charges.text().to_string(), "profit": trip.profit.text().to_string(),
    })
}

fn refusal(order: &RefusedOrder) -> Value {
    let RefusedOrder { at, symbol, side, quantity, reason } = order;
    json!({"at": at.to_string(), "symbol": symbol, "side": side, "quantity": quantity, "reason": reason})
}
