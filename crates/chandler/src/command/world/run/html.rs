//! The report as a single HTML page without scripts and requests, light or dark by the reader's
//! preference.

use super::chart::{Chart, Line, push};
use super::check::CheckResult;
use super::job::Finished;
use super::report::{Figure, FigureValue, Ratio, Report, as_f64};
use crate::command::trade::shown::local;
use market::Market;

const STYLE: &str = include_str!("report.css");
/// Maximum number of rows of a table, so that a browser can show the page of any run.
const ROWS_MAX: usize = 1_000;

pub(super) fn page(run: &Finished, checks: &[CheckResult]) -> String {
    let report = &run.report;
    let title = escaped(&format!("World {}", run.world));
    let mut out = String::new();
    push(
        &mut out,
        format_args!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n<main>\n"
        ),
    );
    let hk = |at| local(at, Market::Hk);
    push(
        &mut out,
        format_args!(
            "<header><h1>{title}</h1><p>{} to {} (Hong Kong time), amounts in HKD<br><code>{}</code></p></header>\n",
            hk(report.begin),
            hk(report.end),
            escaped(&run.command.join(" "))
        ),
    );
    tiles(&mut out, report);
    if let Some(note) = run.outcome.note() {
        push(&mut out, format_args!("<section><h2>Program</h2>{}</section>\n", escaped(&note)));
    }
    charts(&mut out, report);
    check_list(&mut out, checks);
    trades(&mut out, report);
    refused(&mut out, report);
    if !report.notes.is_empty() {
        let items: String = report.notes.iter().map(|note| format!("<li>{}</li>", escaped(note))).collect();
        push(&mut out, format_args!("<section><h2>Notes</h2><ul>{items}</ul></section>\n"));
    }
    out.push_str(
        "<footer>Simulated trades on stored prices, by Chandler, an independent implementation that is not \
         affiliated with any broker or data vendor. Past results say nothing about the future.</footer>\n</main>\n</html>\n",
    );
    out
}

fn tiles(out: &mut String, report: &Report) {
    out.push_str("<dl class=\"tiles\">\n");
    for (figure, value) in &report.figures {
        let class = match (figure, value) {
            (Figure::Return | Figure::ExcessReturn | Figure::Profit, Some(value)) => match value.billionths()
            {
                0 => "",
                1.. => " class=\"gain\"",
                _ => " class=\"loss\"",
            },
            _ => "",
        };
        let shown = value.map_or_else(|| "–".to_owned(), |value| value.to_string());
        push(
            out,
            format_args!("<div class=\"tile\"><dt>{}</dt><dd{class}>{shown}</dd></div>\n", figure.title()),
        );
    }
    out.push_str("</dl>\n");
}

fn percent(value: f64) -> String {
    let text = format!("{:.2}", value * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

fn charts(out: &mut String, report: &Report) {
    if report.equity.is_empty() {
        return;
    }
    // The first label is the start of the run, and the first value is zero.
    let mut labels = vec![local(report.begin, Market::Hk).chars().take(10).collect::<String>()];
    labels.extend(report.equity.iter().map(|row| row.date.to_string()));
    let change = |ratio: Ratio| as_f64(ratio - Ratio::ONE);
    let from_zero = |values: Vec<f64>| [vec![0.0], values].concat();
    let own = from_zero(report.equity.iter().map(|row| change(row.growth)).collect());
    let other: Option<Vec<f64>> = report.equity.iter().map(|row| row.benchmark.map(change)).collect();
    let other = other.map(from_zero);
    let mut lines = Vec::new();
    if let Some(other) = &other {
        lines.push(Line { class: "other", area: "", values: other });
    }
    lines.push(Line { class: "own", area: "area", values: &own });
    let equity =
        Chart { title: "Return", height: 340.0, base: 0.0, labels: &labels, lines: &lines, axis: percent };
    let second = if other.is_some() { "<span class=\"second\">Buy and hold</span>" } else { "" };
    push(
        out,
        format_args!(
            "<section><h2>Return</h2><p class=\"key\"><span>Strategy</span>{second}</p>{}</section>\n",
            equity.svg()
        ),
    );
    let down = from_zero(report.equity.iter().map(|row| -as_f64(row.drawdown)).collect());
    let lines = [Line { class: "down", area: "under", values: &down }];
    let drawdown =
        Chart { title: "Drawdown", height: 200.0, base: 0.0, labels: &labels, lines: &lines, axis: percent };
    push(out, format_args!("<section><h2>Drawdown</h2>{}</section>\n", drawdown.svg()));
    let exposure = from_zero(report.equity.iter().map(|row| as_f64(row.exposure)).collect());
    let lines = [Line { class: "own", area: "area", values: &exposure }];
    let exposure =
        Chart { title: "Exposure", height: 160.0, base: 0.0, labels: &labels, lines: &lines, axis: percent };
    push(out, format_args!("<section><h2>Exposure at the close</h2>{}</section>\n", exposure.svg()));
}

fn check_list(out: &mut String, checks: &[CheckResult]) {
    if checks.is_empty() {
        return;
    }
    let row = |check: &CheckResult| {
        let (class, verdict) = if check.passed { ("gain", "passed") } else { ("loss", "failed") };
        let value = check.value.as_deref().unwrap_or("no value");
        format!(
            "<tr><td>{}</td><td>{value}</td><td class=\"{class}\">{verdict}</td></tr>",
            escaped(&check.text)
        )
    };
    let rows: String = checks.iter().map(row).collect();
    push(out, format_args!("<section><h2>Checks</h2><table>{rows}</table></section>\n"));
}

fn trades(out: &mut String, report: &Report) {
    if report.round_trips.is_empty() {
        return;
    }
    let rows = report.round_trips.iter().take(ROWS_MAX).map(|trip| {
        let market = trip.symbol.market();
        let class = if trip.profit.is_negative() { "loss" } else { "gain" };
        format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} {}</td><td class=\"{class}\">{}</td></tr>",
            escaped(trip.symbol.as_str()),
            if trip.is_long { "long" } else { "short" },
            local(trip.opened_at, market),
            local(trip.closed_at, market),
            trip.quantity,
            trip.currency(),
            FigureValue::Amount(trip.charges),
            FigureValue::Amount(trip.profit),
        )
    });
    let rows: String = rows.collect();
    push(
        out,
        format_args!(
            "<section><h2>Round trips</h2><div class=\"scroll\"><table><tr><th>symbol</th><th>side</th><th>opened</th>\
             <th>closed</th><th>quantity</th><th>charges</th><th>profit</th></tr>{rows}</table></div>{}</section>\n",
            more(report.round_trips.len())
        ),
    );
}

fn refused(out: &mut String, report: &Report) {
    if report.refused.is_empty() {
        return;
    }
    let rows = report.refused.iter().take(ROWS_MAX).map(|order| {
        format!(
            "<tr><td>{}</td><td>{} {}</td><td>{}</td><td class=\"text\">{}</td></tr>",
            escaped(&order.symbol),
            escaped(&order.side),
            escaped(&order.quantity),
            local(order.at, Market::Hk),
            escaped(&order.reason)
        )
    });
    let rows: String = rows.collect();
    push(
        out,
        format_args!(
            "<section><h2>Refused orders</h2><div class=\"scroll\"><table><tr><th>symbol</th><th>order</th>\
             <th>submitted</th><th class=\"text\">reason</th></tr>{rows}</table></div>{}</section>\n",
            more(report.refused.len())
        ),
    );
}

fn more(count: usize) -> String {
    if count > ROWS_MAX { format!("<p>The first {ROWS_MAX} of {count}.</p>") } else { String::new() }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}
