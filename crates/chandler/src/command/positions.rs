//! `chandler positions`: lists the positions of a paper account.

use clap::Args;
use serde_json::Value;

use super::trade::shown::{self, amount, rows, text};
use crate::client::Whose;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only these securities
    symbols: Vec<String>,
    #[command(flatten)]
    whose: Whose,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let client = arguments.whose.trader(context)?;
    let symbols: Result<Vec<_>, Failure> =
        arguments.symbols.iter().map(|text| client.symbol(text, context)).collect();
    let document = client.positions(&symbols?)?;
    if arguments.format == Format::Json {
        return shown::json(&document);
    }
    let columns = [
        Column::Left("symbol"),
        Column::Left("name"),
        Column::Right("quantity"),
        Column::Right("available"),
        Column::Right("cost"),
        Column::Right("last"),
        Column::Right("value"),
        Column::Right("unrealised"),
        Column::Left("currency"),
    ];
    let positions = rows(&document, "list").iter().flat_map(|channel| rows(channel, "stock_info"));
    shown::table(&columns, positions.map(row).collect(), "no positions")
}

fn row(position: &Value) -> Vec<String> {
    let symbol = text(position, "symbol");
    let name = shown::security_name(&symbol, text(position, "symbol_name"));
    vec![
        symbol,
        name,
        amount(position, "quantity"),
        amount(position, "available_quantity"),
        amount(position, "cost_price"),
        amount(position, "last_price"),
        amount(position, "market_value"),
        amount(position, "unrealised"),
        text(position, "currency"),
    ]
}
