//! What `chandler order buy --dry-run` prints.

use std::io::Write;

use serde_json::Value;

use crate::command::trade::in_flags;
use crate::command::trade::shown::{self, amount, text};
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::remote::field;

/// What would become of an order, and what it would cost.
pub(super) fn print(preview: &Value, hint: &str, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(preview)?);
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
    if !field(preview, "trading_day").is_null() {
        writeln!(out, "trading day  {}", of("trading_day"))?;
        writeln!(out, "reported     {}", shown::clock(preview, "reports_at", &symbol))?;
        let end = shown::clock(preview, "expires_at", &symbol);
        writeln!(
            out,
            "ends         {}",
            if end.is_empty() { "when it is filled or cancelled" } else { end.as_str() }
        )?;
    }
    print_cost(&mut out, field(preview, "cost"))?;
    let (cash, margin) = (of("cash_max_qty"), of("margin_max_qty"));
    if !cash.is_empty() {
        writeln!(
            out,
            "at most      {} by cash alone, {} with credit",
            shown::grouped(&cash),
            shown::grouped(&margin)
        )?;
    }
    writeln!(out, "nothing was done")?;
    Ok(out.flush()?)
}

fn print_cost(out: &mut impl Write, cost: &Value) -> Result<(), Failure> {
    if cost.is_null() {
        return Ok(());
    }
    let currency = text(cost, "currency");
    writeln!(out, "amount       {currency} {}, at {}", amount(cost, "amount"), amount(cost, "price"))?;
    for fee in shown::rows(cost, "fees") {
        writeln!(out, "charge       {currency} {} {}", amount(fee, "amount"), text(fee, "code"))?;
    }
    writeln!(out, "charges      {currency} {}", amount(cost, "fee_total"))?;
    writeln!(out, "total        {currency} {}", amount(cost, "total"))?;
    let change = |name: &str| {
        let change = field(cost, name);
        (amount(change, "before"), amount(change, "after"))
    };
    let (before, after) = change("available_cash");
    writeln!(out, "cash         {currency} {before} available now, {after} once it is filled")?;
    if !field(cost, "buy_power").is_null() {
        let (before, after) = change("buy_power");
        writeln!(out, "buying power HKD {before} now, {after} once it is filled")?;
    }
    Ok(())
}
