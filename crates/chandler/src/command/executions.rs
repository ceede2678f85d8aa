//! `chandler executions`: lists the fills of a paper account.

use clap::Args;
use serde_json::Value;

use super::trade::shown::{self, amount, rows, text, zoned};
use super::trade::{Range, TradesQuestion, order_id};
use crate::client::Whose;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only this security
    #[arg(long)]
    symbol: Option<String>,
    /// Only this order
    #[arg(long, value_name = "ID")]
    order: Option<String>,
    /// Executions of earlier days instead of today's; implied by --start and --end
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    whose: Whose,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let order = arguments.order.as_deref().map(order_id).transpose()?;
    let between = arguments.range.between()?;
    let client = arguments.whose.trader(context)?;
    let symbol = arguments.symbol.as_deref().map(|text| client.symbol(text, context)).transpose()?;
    let history = (arguments.history || arguments.range.is_given()).then_some(between);
    let document = client.trades(&TradesQuestion { symbol, order, history })?;
    if arguments.format == Format::Json {
        return shown::json(&document);
    }
    let columns = [
        Column::Left("execution"),
        Column::Left("time"),
        Column::Left("symbol"),
        Column::Left("side"),
        Column::Right("quantity"),
        Column::Right("price"),
    ];
    let nothing = match history {
        Some(_) => "no executions on earlier days",
        None => "no executions today: `--history` lists those of earlier days",
    };
    shown::table(&columns, rows(&document, "trades").iter().map(row).collect(), nothing)
}

fn row(trade: &Value) -> Vec<String> {
    let symbol = text(trade, "symbol");
    vec![
        text(trade, "trade_id"),
        zoned(trade, "trade_done_at", &symbol),
        symbol,
        text(trade, "side").to_lowercase(),
        amount(trade, "quantity"),
        amount(trade, "price"),
    ]
}
