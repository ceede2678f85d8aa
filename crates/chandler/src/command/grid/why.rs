//! `chandler grid why`: explains a grid.

use std::io::Write;

use clap::Args;
use serde_json::Value;

use crate::client::Whose;
use crate::command::trade::grid_id;
use crate::command::trade::shown::{self, named_clock, rows, text};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The id of the grid
    id: String,
    #[command(flatten)]
    whose: Whose,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
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

/// Formats the candle that caused a trigger, as in an order's explanation.
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
