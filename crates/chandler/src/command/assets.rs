//! `chandler assets`: the cash and assets of a paper account.

use std::io::Write;

use clap::Args;
use serde_json::Value;
use trading::Currency;

use super::trade::shown::{self, amount, rows, text};
use crate::client::Whose;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Currency of the totals [default: HKD]
    #[arg(long)]
    currency: Option<String>,
    #[command(flatten)]
    whose: Whose,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let currency = arguments.currency.as_ref().map(|text| text.to_ascii_uppercase().parse::<Currency>());
    let currency = currency.transpose().map_err(usage)?;
    let document = arguments.whose.trader(context)?.assets(currency)?;
    if arguments.format == Format::Json {
        return shown::json(&document);
    }
    let mut out = output::stdout();
    for funds in rows(&document, "list") {
        print(&mut out, funds)?;
    }
    Ok(out.flush()?)
}

fn print(out: &mut impl Write, funds: &Value) -> Result<(), Failure> {
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
    // An account pinned to an older interface date does not receive all fields.
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
    writeln!(out, "{}", output::text(&output::table(&columns, cash)))?;
    Ok(())
}
