//! Output of `chandler order buy --dry-run`.

use std::io::Write;

use serde_json::Value;

use crate::command::trade::shown::{self, amount, text};
use crate::failure::Failure;
use crate::field_flags::in_flags;
use crate::output::{self, Format};
use crate::remote::field;

/// Prints the expected result and cost of an order.
pub(super) fn print(preview: &Value, hint: &str, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return shown::json(preview);
    }
    let of = |name: &str| text(preview, name);
    let mut out = output::stdout();
    let what =
        format!("{} {} {} {}", of("side").to_lowercase(), of("quantity"), of("symbol"), of("order_type"));
    let (reason, symbol) = (field(preview, "reason"), of("symbol"));
    match of("verdict").as_str() {
        "accepted" => writeln!(out, "{what} would be accepted: {}", shown::status(&of("status")))?,
        verdict => {
            let words = in_flags(&text(reason, "words"));
            writeln!(out, "{what} would be {verdict}: {words}{hint}")?;
        }
    }
    if of("verdict") == "accepted" {
        writeln!(out, "trading day  {}", of("trading_day"))?;
        if matches!(of("status").as_str(), "NotReported" | "DelayedNotReported") {
            writeln!(out, "sent         to the market at {}", shown::zoned(preview, "reports_at", &symbol))?;
        }
        let end = shown::zoned(preview, "expires_at", &symbol);
        writeln!(
            out,
            "ends         {}",
            if end.is_empty() { "when it is filled or cancelled" } else { end.as_str() }
        )?;
    }
    for note in shown::rows(preview, "notes") {
        writeln!(out, "note         {}", output::printable(note.as_str().unwrap_or_default()))?;
    }
    print_cost(&mut out, field(preview, "cost"), &of("verdict"))?;
    let (cash, margin) = (amount(preview, "cash_max_qty"), amount(preview, "margin_max_qty"));
    let is_sale = of("side") == "Sell";
    match (is_sale, cash.is_empty()) {
        (_, true) => {}
        (false, _) => writeln!(out, "at most      {cash} with cash, {margin} with credit")?,
        (true, _) if cash == margin => writeln!(out, "at most      {cash} held")?,
        (true, _) => writeln!(out, "at most      {cash} held, {margin} as a short sale")?,
    }
    writeln!(out, "nothing was submitted")?;
    Ok(out.flush()?)
}

/// Prints the cost of an order. An order that would be rejected has a cost, but no fill time.
fn print_cost(out: &mut impl Write, cost: &Value, verdict: &str) -> Result<(), Failure> {
    if cost.is_null() {
        return Ok(());
    }
    let currency = text(cost, "currency");
    writeln!(out, "amount       {currency} {}, at {}", amount(cost, "amount"), amount(cost, "price"))?;
    for fee in shown::rows(cost, "fees") {
        writeln!(
            out,
            "charge       {currency} {} {}",
            amount(fee, "amount"),
            shown::charge(&text(fee, "code"))
        )?;
    }
    writeln!(out, "charges      {currency} {}", amount(cost, "fee_total"))?;
    writeln!(out, "total        {currency} {}", amount(cost, "total"))?;
    let change = |name: &str| {
        let change = field(cost, name);
        let after = amount(change, "after");
        let after = match verdict {
            "accepted" => format!(", {after} once it is filled"),
            _ => String::new(),
        };
        (amount(change, "before"), after)
    };
    let (before, after) = change("available_cash");
    writeln!(out, "cash         {currency} {before} available now{after}")?;
    if !field(cost, "buy_power").is_null() {
        let (before, after) = change("buy_power");
        writeln!(out, "buying power HKD {before} now{after}")?;
    }
    Ok(())
}
