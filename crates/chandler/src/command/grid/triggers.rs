//! `chandler grid history` and `chandler grid why`: lists and explains grid triggers.

use std::io::Write;

use clap::Args;
use serde_json::Value;

use crate::client::AccountFlags;
use crate::command::trade::grid_id;
use crate::command::trade::shown::{self, amount, named_clock, rows, side_of, text, zoned};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct History {
    /// The id of a grid [default: all grids]
    id: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl History {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let id = self.id.as_deref().map(grid_id).transpose()?;
        let document = self.whose.trader(context)?.grid_triggers(id)?;
        if self.format == Format::Json {
            return shown::json(&document);
        }
        let columns = [
            Column::Right("order"),
            Column::Left("triggered"),
            Column::Left("symbol"),
            Column::Left("side"),
            Column::Right("trigger"),
            Column::Left("type"),
            Column::Right("quantity"),
            Column::Right("executed"),
            Column::Right("average"),
            Column::Left("state"),
            Column::Left("reason"),
        ];
        let triggers = rows(&document, "trigger_orders").iter().map(row);
        let triggers =
            output::table(&columns, triggers).optional(&["type", "average", "executed", "triggered"]);
        shown::table(triggers, "no triggers")
    }
}

fn row(trigger: &Value) -> Vec<String> {
    let of = |name: &str| text(trigger, name);
    vec![
        of("id"),
        zoned(trigger, "trigger_at", &of("symbol")),
        of("symbol"),
        side_of(trigger).to_owned(),
        amount(trigger, "trigger_price"),
        of("order_type"),
        amount(trigger, "quantity"),
        amount(trigger, "executed_qty"),
        amount(trigger, "executed_price"),
        shown::status(&of("status")).to_owned(),
        of("msg"),
    ]
}

#[derive(Debug, Args)]
pub(super) struct Why {
    /// The id of the grid
    id: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Why {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let explanation = self.whose.trader(context)?.grid_explanation(grid_id(&self.id)?)?;
        if self.format == Format::Json {
            return shown::json(&explanation);
        }
        let symbol = text(&explanation, "symbol");
        let mut out = output::stdout();
        writeln!(out, "grid {}", text(&explanation, "order_id"))?;
        for step in rows(&explanation, "steps") {
            writeln!(out, "{}  {}", text(step, "local"), text(step, "words"))?;
            for reason in rows(step, "because") {
                writeln!(out, "    {}", output::printable(reason.as_str().unwrap_or_default()))?;
            }
            let candle = candle(field(step, "candle"), &symbol);
            if !candle.is_empty() {
                writeln!(out, "    {candle}")?;
            }
        }
        Ok(out.flush()?)
    }
}

/// Formats the candle that caused a trigger. Empty if the time is missing.
fn candle(candle: &Value, symbol: &str) -> String {
    let of = |name: &str| text(candle, name);
    let time = named_clock(candle, "time", symbol);
    // An intraday candle is on the same day as its trigger, so its date is omitted.
    let (Some(date), Some(minute), Some(zone)) = (time.get(..10), time.get(11..16), time.get(20..)) else {
        return String::new();
    };
    let name = match of("period").as_str() {
        "day" => format!("daily candle of {date}"),
        _ => format!("candle {minute} {zone}"),
    };
    format!(
        "{name}: open {}, high {}, low {}, close {}, volume {}",
        of("open"),
        of("high"),
        of("low"),
        of("close"),
        of("volume")
    )
}
