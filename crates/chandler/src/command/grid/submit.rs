//! `chandler grid submit` and `replace`: create a grid or change its rule.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use market::Symbol;
use serde_json::Value;
use trading::{Currency, SubmitGrid};

use super::change::done;
use super::rule::{RuleFlags, of_document};
use crate::client::AccountFlags;
use crate::command::trade::grid_id;
use crate::command::trade::shown::{self, amount, grouped, rows, text, zoned};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::field_flags::in_flags;
use crate::output::{self, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct Submit {
    /// The security: 700.HK, AAPL.US
    symbol: String,
    #[command(flatten)]
    rule: RuleFlags,
    /// Settlement currency [default: that of the security]
    #[arg(long)]
    currency: Option<String>,
    /// Report whether the grid would be accepted and where it would trade, without submitting it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Replace {
    /// The id of the grid
    id: String,
    #[command(flatten)]
    rule: RuleFlags,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prefix of the error message for a security that is not stored or cannot be traded.
const NOT_TRADABLE: &str = "symbol not tradable";

impl Submit {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.trader(context)?;
        let symbol = client.symbol(&self.symbol, context)?;
        let wrong = |_| usage("--currency is unknown: write HKD or USD");
        let requested = SubmitGrid {
            settlement_currency: self
                .currency
                .as_deref()
                .map(str::parse::<Currency>)
                .transpose()
                .map_err(wrong)?,
            rule: self.rule.new_rule(symbol.market())?,
            symbol,
        };
        if self.dry_run {
            let preview = client.preview_grid(&requested)?;
            return print_preview(&preview, self.format);
        }
        let answer = client.submit_grid(&requested).map_err(|failure| {
            let said = failure.to_string();
            if !said.contains(NOT_TRADABLE) {
                return failure;
            }
            match client.symbol_hint(&requested.symbol, context).as_str() {
                "" => failure,
                hint => anyhow!("{said}{hint}").into(),
            }
        })?;
        if self.format == Format::Json {
            return shown::json(&answer);
        }
        let mut out = output::stdout();
        writeln!(out, "grid {}: running", text(&answer, "order_id"))?;
        Ok(out.flush()?)
    }
}

impl Replace {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let id = grid_id(&self.id)?;
        if !self.rule.is_given() {
            return Err(usage("nothing to change: give --base, --upper, --quantity or another rule flag"));
        }
        let client = self.whose.trader(context)?;
        let grid = client.grid(id)?;
        let symbol: Symbol = client.symbol(&text(&grid, "symbol"), context)?;
        let rule = self.rule.over(of_document(&grid), symbol.market())?;
        client.replace_grid(id, &rule)?;
        done(self.format, &format!("grid {id} is replaced"), id)
    }
}

fn print_preview(preview: &Value, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return shown::json(preview);
    }
    let mut out = output::stdout();
    write_preview(&mut out, preview)?;
    Ok(out.flush()?)
}

fn write_preview(out: &mut impl Write, preview: &Value) -> Result<(), Failure> {
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

/// Prints the nearest grid levels on one side, and the totals for all levels up to the bound.
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
