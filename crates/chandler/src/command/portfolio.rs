//! `chandler assets`, `positions`, `executions` and `cashflow`: print the portfolio of a paper
//! account.

use std::io::Write;

use clap::Args;
use serde_json::Value;
use trading::Currency;

use super::trade::shown::{self, amount, rows, text, zoned};
use super::trade::{CashQuestion, Range, TradesQuestion, order_id};
use crate::client::AccountFlags;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Assets {
    /// Currency of the totals [default: HKD]
    #[arg(long)]
    currency: Option<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn assets(arguments: &Assets, context: &CommandContext) -> Result<(), Failure> {
    let currency = arguments.currency.as_ref().map(|text| text.to_ascii_uppercase().parse::<Currency>());
    let currency = currency.transpose().map_err(usage)?;
    let document = arguments.whose.trader(context)?.assets(currency)?;
    if arguments.format == Format::Json {
        return shown::json(&document);
    }
    let mut out = output::stdout();
    for funds in rows(&document, "list") {
        print_assets(&mut out, funds)?;
    }
    Ok(out.flush()?)
}

fn print_assets(out: &mut impl Write, funds: &Value) -> Result<(), Failure> {
    let currency = text(funds, "currency");
    let lines = [
        ("net assets", "net_assets"),
        ("cash", "total_cash"),
        ("buying power", "buy_power"),
        ("margin", "init_margin"),
        ("maintenance", "maintenance_margin"),
        ("credit", "max_finance_amount"),
    ];
    let mut line = |word: &str, value: &str| writeln!(out, "{word:<12} {value}");
    // The response for an account with an older API date lacks some fields.
    for (word, name) in lines.into_iter().filter(|(_, name)| funds.get(*name).is_some()) {
        line(word, &format!("{currency} {}", amount(funds, name)))?;
    }
    let left = amount(funds, "remaining_finance_amount");
    line("to spend", &format!("{currency} {left}, including credit"))?;
    let level = text(funds, "risk_level");
    let risk = match level.as_str() {
        "0" => "0, safe",
        "1" => "1, medium",
        "2" => "2, early warning: positions cannot be opened or increased",
        "3" => "3, danger: positions cannot be opened or increased",
        other => other,
    };
    line("risk level", risk)?;
    if level == "3" {
        line("margin call", &format!("{currency} {}", amount(funds, "margin_call")))?;
    }
    let columns = [
        Column::Left("currency"),
        Column::Right("available"),
        Column::Right("frozen"),
        Column::Right("settling"),
        Column::Right("to withdraw"),
    ];
    let row = |cash: &Value| {
        vec![
            text(cash, "currency"),
            amount(cash, "available_cash"),
            amount(cash, "frozen_cash"),
            amount(cash, "settling_cash"),
            amount(cash, "withdraw_cash"),
        ]
    };
    let cash = rows(funds, "cash_infos").iter().map(row);
    writeln!(out, "{}", output::text(output::table(&columns, cash).optional(&["frozen", "settling"])))?;
    Ok(())
}

#[derive(Debug, Args)]
pub(crate) struct Positions {
    /// Only these securities
    symbols: Vec<String>,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn positions(arguments: &Positions, context: &CommandContext) -> Result<(), Failure> {
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
    let positions = output::table(&columns, positions.map(position_row));
    shown::table(positions.optional(&["available", "currency", "name", "cost", "value"]), "no positions")
}

fn position_row(position: &Value) -> Vec<String> {
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

#[derive(Debug, Args)]
pub(crate) struct Executions {
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
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn executions(arguments: &Executions, context: &CommandContext) -> Result<(), Failure> {
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
    let executions = output::table(&columns, rows(&document, "trades").iter().map(execution_row));
    shown::table(executions.optional(&["execution", "time"]), nothing)
}

fn execution_row(trade: &Value) -> Vec<String> {
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

#[derive(Debug, Args)]
pub(crate) struct CashFlow {
    /// Only this security
    #[arg(long)]
    symbol: Option<String>,
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn cash_flow(arguments: &CashFlow, context: &CommandContext) -> Result<(), Failure> {
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
    let flows = output::table(&columns, rows(&document, "list").iter().map(flow_row));
    shown::table(flows.optional(&["description", "symbol", "currency"]), "no cash has moved")
}

fn flow_row(flow: &Value) -> Vec<String> {
    let (symbol, name) = (text(flow, "symbol"), text(flow, "transaction_flow_name"));
    let description = text(flow, "description");
    // The API repeats the ticker if there is no description, and describes a charge by its code.
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
