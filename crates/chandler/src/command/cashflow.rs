//! `chandler cashflow`: money paid into and out of a paper account.

use clap::Args;
use serde_json::Value;

use super::trade::shown::{self, amount, rows, text, zoned};
use super::trade::{CashQuestion, Range};
use crate::client::Whose;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only this security
    #[arg(long)]
    symbol: Option<String>,
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    whose: Whose,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let between = arguments.range.between()?;
    let client = arguments.whose.trader(context)?;
    let symbol = arguments.symbol.as_deref().map(|text| client.symbol(text, context)).transpose()?;
    let document = client.cash_flow(&CashQuestion { symbol, between })?;
    if arguments.format == Format::Json {
        return shown::json(&document);
    }
    let columns = [
        Column::Left("time"),
        Column::Left("what"),
        Column::Right("amount"),
        Column::Left("currency"),
        Column::Left("symbol"),
        Column::Left("description"),
    ];
    shown::table(&columns, rows(&document, "list").iter().map(row).collect(), "no cash has moved")
}

fn row(flow: &Value) -> Vec<String> {
    let (symbol, name) = (text(flow, "symbol"), text(flow, "transaction_flow_name"));
    let description = text(flow, "description");
    // The API repeats the ticker if there is no description, and uses a code for a charge.
    let is_ticker = symbol.rsplit_once('.').is_some_and(|(ticker, _)| ticker == description);
    let description = match name.as_str() {
        "Fee" => shown::charge(&description),
        _ if is_ticker => String::new(),
        _ => description,
    };
    vec![
        zoned(flow, "business_time", &symbol),
        shown::flow(&name).to_owned(),
        amount(flow, "balance"),
        text(flow, "currency"),
        symbol,
        description,
    ]
}
