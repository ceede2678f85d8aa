//! Output of `chandler grid submit --dry-run`.

use std::io::Write;

use serde_json::Value;

use crate::command::trade::shown::{self, amount, grouped, rows, text, zoned};
use crate::failure::Failure;
use crate::field_flags::in_flags;
use crate::output::{self, Format};
use crate::remote::field;

pub(super) fn print(preview: &Value, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return shown::json(preview);
    }
    let mut out = output::stdout();
    write(&mut out, preview)?;
    Ok(out.flush()?)
}

fn write(out: &mut impl Write, preview: &Value) -> Result<(), Failure> {
    let of = |name: &str| text(preview, name);
    let (symbol, currency) = (of("symbol"), of("currency"));
    if of("verdict") == "accepted" {
        writeln!(out, "a grid on {symbol} would be accepted")?;
        let end = zoned(preview, "ends_at", &symbol);
        writeln!(out, "ends         {}", if end.is_empty() { "when it is cancelled" } else { end.as_str() })?;
        print_side(out, field(preview, "sales"), ("sells at", "sold"), &currency)?;
        print_side(out, field(preview, "purchases"), ("buys at", "bought"), &currency)?;
        writeln!(
            out,
            "now          {} a share, {} held",
            amount(preview, "last_done"),
            amount(preview, "position")
        )?;
        writeln!(out, "cash         {currency} {} available", amount(preview, "available_cash"))?;
    } else {
        let words = in_flags(&text(field(preview, "reason"), "words"));
        writeln!(out, "a grid on {symbol} would be refused: {words}")?;
    }
    writeln!(out, "nothing was submitted")?;
    Ok(())
}

/// Prints the nearest levels on one side, and the totals for all levels up to the bound.
fn print_side(
    out: &mut impl Write,
    side: &Value,
    (at, done): (&str, &str),
    currency: &str,
) -> Result<(), Failure> {
    let levels: Vec<String> = rows(side, "levels").iter().filter_map(Value::as_str).map(grouped).collect();
    let count = field(side, "level_count").as_u64().unwrap_or_default();
    let more = if count > levels.len() as u64 { ", …" } else { "" };
    let levels = if levels.is_empty() { "no level within the bounds".to_owned() } else { levels.join(", ") };
    writeln!(out, "{at:<12} {levels}{more}")?;
    writeln!(
        out,
        "             up to the bound {count} steps, {} {done} for {currency} {}, excluding charges",
        amount(side, "quantity"),
        amount(side, "amount")
    )?;
    Ok(())
}
