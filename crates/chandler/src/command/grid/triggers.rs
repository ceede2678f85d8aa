//! `chandler grid history`: lists grid triggers.

use clap::Args;
use serde_json::Value;

use crate::client::Whose;
use crate::command::trade::grid_id;
use crate::command::trade::shown::{self, amount, rows, side_of, text, zoned};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{Column, Format};

#[derive(Debug, Args)]
pub(super) struct History {
    /// The id of a grid [default: all grids]
    id: Option<String>,
    #[command(flatten)]
    whose: Whose,
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
        let triggers = rows(&document, "trigger_orders").iter().map(row).collect();
        shown::table(&columns, triggers, "no triggers")
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
