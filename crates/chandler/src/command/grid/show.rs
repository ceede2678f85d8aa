//! `chandler grid show`: prints a grid with its rule, orders and history.

use std::io::Write;

use clap::Args;
use serde_json::Value;

use super::list::step;
use crate::client::AccountFlags;
use crate::command::trade::grid_id;
use crate::command::trade::shown::{self, amount, grid_status, rows, side_of, text, zoned};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The id of the grid
    id: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Show {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let grid = self.whose.trader(context)?.grid(grid_id(&self.id)?)?;
        if self.format == Format::Json {
            return shown::json(&grid);
        }
        let mut out = output::stdout();
        print(&mut out, &grid)?;
        Ok(out.flush()?)
    }
}

fn print(out: &mut impl Write, grid: &Value) -> Result<(), Failure> {
    let of = |name: &str| text(grid, name);
    let symbol = of("symbol");
    writeln!(
        out,
        "grid         {}: {symbol} {}",
        of("order_id"),
        shown::security_name(&symbol, of("stock_name"))
    )?;
    let (pause, sleep) = (of("suspend_reason"), of("sleeping_reason"));
    let why = match (pause.as_str(), sleep.as_str()) {
        ("", "") => String::new(),
        ("", sleep) => format!(", waits: {}", asleep(sleep)),
        (pause, _) => format!(": {}", paused(pause)),
    };
    writeln!(out, "state        {}{why}", grid_status(&of("status")))?;
    writeln!(
        out,
        "base         {}, submitted {}",
        amount(grid, "current_base_price"),
        amount(grid, "submitted_base_price")
    )?;
    writeln!(
        out,
        "bounds       {}, {}; {}, {}",
        amount(grid, "lower_limit_price"),
        at_bound(grid, "lower_limit_event"),
        amount(grid, "upper_limit_price"),
        at_bound(grid, "upper_limit_event")
    )?;
    let often = if field(grid, "multiple_trigger").as_bool() == Some(true) {
        ", a gap over several steps trades all of them"
    } else {
        ""
    };
    writeln!(out, "step         {}, {} each{often}", step(grid), amount(grid, "trigger_quantity"))?;
    let short =
        if field(grid, "support_shortsell").as_bool() == Some(true) { ", short sales allowed" } else { "" };
    writeln!(
        out,
        "position     {} to {}{short}",
        amount(grid, "lower_limit_quantity"),
        amount(grid, "upper_limit_quantity")
    )?;
    writeln!(
        out,
        "orders       sell {}, buy {}{}",
        placed(grid, "grid_order_type_up", "trigger_sell_depth"),
        placed(grid, "grid_order_type_down", "trigger_buy_depth"),
        if field(grid, "rth").as_i64() == Some(2) { ", with pre- and post-market" } else { "" }
    )?;
    writeln!(out, "ends         {}", end(grid, &symbol))?;
    for (word, name) in [("created", "created_at"), ("changed", "updated_at")] {
        writeln!(out, "{word:<12} {}", zoned(grid, name, &symbol))?;
    }
    print_orders(out, grid, &symbol)?;
    print_history(out, grid, &symbol)
}

fn at_bound(grid: &Value, name: &str) -> &'static str {
    match field(grid, name).as_i64() {
        Some(2) => "closing the grid",
        _ => "waiting",
    }
}

/// Describes the type of order that a trigger submits.
fn placed(grid: &Value, kind: &str, depth: &str) -> String {
    match field(grid, depth).as_i64() {
        None | Some(0) => text(grid, kind),
        Some(level) => format!("at depth level {level}"),
    }
}

fn end(grid: &Value, symbol: &str) -> String {
    match field(grid, "time_in_force").as_i64() {
        Some(1) => "when it is cancelled".to_owned(),
        Some(6) => zoned(grid, "expire_time", symbol),
        _ => "at the end of its day".to_owned(),
    }
}

fn asleep(reason: &str) -> &str {
    match reason {
        "price" => "the price is outside its bounds",
        "position" => "its position is at its limit",
        "funds" => "there is not enough money",
        "holdings" => "there is not enough to sell",
        "triggers" => "it has reached its trigger limit for today",
        "journal" => "the journal of the account is full",
        other => other,
    }
}

fn paused(reason: &str) -> &str {
    match reason {
        "user" => "by the user",
        other => other,
    }
}

fn print_orders(out: &mut impl Write, grid: &Value, symbol: &str) -> Result<(), Failure> {
    // The API lists the newest orders first; the output starts with the oldest order.
    for (index, one) in rows(grid, "grid_sub_orders").iter().rev().enumerate() {
        let heading = if index == 0 { "triggered" } else { "" };
        let (time, price) = (zoned(one, "submitted_at", symbol), amount(one, "price"));
        let price = if price.is_empty() { price } else { format!(" at {price}") };
        let (side, state) = (side_of(one), shown::status(&text(one, "status")).to_owned());
        writeln!(
            out,
            "{heading:<12} {time}  {}: {side} {} {}{price}, {state}",
            text(one, "id"),
            amount(one, "quantity"),
            text(one, "order_type")
        )?;
    }
    Ok(())
}

fn print_history(out: &mut impl Write, grid: &Value, symbol: &str) -> Result<(), Failure> {
    for (index, one) in rows(grid, "grid_order_history").iter().rev().enumerate() {
        let heading = if index == 0 { "history" } else { "" };
        let (pause, reason) = (text(one, "suspend_reason"), text(one, "reason"));
        let why = if pause.is_empty() { reason } else { paused(&pause).to_owned() };
        let why = if why.is_empty() { why } else { format!(": {why}") };
        let (time, status) = (zoned(one, "created_at", symbol), text(one, "status"));
        writeln!(out, "{heading:<12} {time}  {}{why}", grid_status(&status))?;
    }
    Ok(())
}
