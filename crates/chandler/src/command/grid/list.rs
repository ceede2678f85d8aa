//! `chandler grid list`: lists a paper account's grids.

use clap::Args;
use serde_json::Value;

use crate::client::AccountFlags;
use crate::command::trade::shown::{self, amount, grid_status, rows, text, zoned};
use crate::command::trade::{GridsQuestion, grid_state};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only this security
    #[arg(long)]
    symbol: Option<String>,
    /// Only this state, as shown in the list: running, paused, cancelled, expired; may be repeated
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl List {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.trader(context)?;
        let question = GridsQuestion {
            symbol: self.symbol.as_deref().map(|text| client.symbol(text, context)).transpose()?,
            statuses: self.status.iter().map(|text| grid_state(text)).collect::<Result<_, Failure>>()?,
        };
        let document = client.grids(&question)?;
        if self.format == Format::Json {
            return shown::json(&document);
        }
        let columns = [
            Column::Right("grid"),
            Column::Left("created"),
            Column::Left("symbol"),
            Column::Left("state"),
            Column::Right("base"),
            Column::Right("lower"),
            Column::Right("upper"),
            Column::Left("step"),
            Column::Right("quantity"),
            Column::Right("triggers"),
            Column::Right("bought"),
            Column::Right("sold"),
            Column::Right("profit"),
        ];
        let grids = rows(&document, "grid_order").iter().map(row);
        let grids = output::table(&columns, grids)
            .optional(&["created", "sold", "bought", "step", "quantity", "lower", "upper", "base"]);
        shown::table(grids, "no grids: `chandler grid submit` starts one")
    }
}

fn row(grid: &Value) -> Vec<String> {
    let of = |name: &str| text(grid, name);
    let profit = amount(grid, "total_profit_balance");
    vec![
        of("order_id"),
        zoned(grid, "created_at", &of("symbol")),
        of("symbol"),
        grid_status(&of("status")).to_owned(),
        amount(grid, "current_base_price"),
        amount(grid, "lower_limit_price"),
        amount(grid, "upper_limit_price"),
        step(grid),
        amount(grid, "trigger_quantity"),
        of("trigger_times"),
        amount(grid, "total_buy_quantity"),
        amount(grid, "total_sell_quantity"),
        if profit.is_empty() { profit } else { format!("{} {profit}", of("settlement_currency")) },
    ]
}

/// Formats a grid's step sizes up and down, as percentages or amounts.
pub(super) fn step(grid: &Value) -> String {
    let of = |name: &str| text(grid, name);
    match (of("trigger_percent_up"), of("trigger_spread_up")) {
        (percent, _) if !percent.is_empty() => format!("+{percent}% -{}%", of("trigger_percent_down")),
        (_, spread) if !spread.is_empty() => format!("+{spread} -{}", of("trigger_spread_down")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_row_shows_the_grids_state_and_profit() {
        let grid = json!({
            "order_id": "1000000001", "created_at": "1773799215", "symbol": "700.HK", "status": "Performing",
            "current_base_price": "306", "lower_limit_price": "240", "upper_limit_price": "360",
            "trigger_percent_up": "2", "trigger_percent_down": "1.5", "trigger_spread_up": "",
            "trigger_quantity": "1000", "trigger_times": 3, "total_buy_quantity": "1000", "total_sell_quantity": "2000",
            "total_profit_balance": "-1250.50", "settlement_currency": "HKD",
        });
        let shown = [
            "1000000001",
            "2026-03-18 10:00:15 HKT",
            "700.HK",
            "running",
            "306",
            "240",
            "360",
            "+2% -1.5%",
            "1,000",
            "3",
            "1,000",
            "2,000",
            "HKD -1,250.50",
        ];
        assert_eq!(row(&grid), shown);
        assert_eq!(step(&json!({"trigger_spread_up": "2", "trigger_spread_down": "2.4"})), "+2 -2.4");
    }
}
