//! Paper accounts in `chandler account`: initial cash and settings, and the output of `show`.

use std::io::Write;

use access::Account;
use clap::Args;
use paper::Opening;
use serde_json::{Map, Value, json};
use trading::FeePlan;

use crate::command::trade::shown::grouped;
use crate::failure::Failure;
use crate::field_flags::to_failure;
use crate::local::Books;
use crate::output;
use crate::paper_flags::{amounts, credit_line, words};

/// The initial cash and settings of a paper account.
#[derive(Debug, Args)]
pub(super) struct Beginning {
    /// Initial cash of its paper account, or `none` [default: HKD=1000000,USD=100000]
    #[arg(long, value_name = "HKD=500000,USD=20000")]
    cash: Option<String>,
    /// Fee schedule of its paper account
    #[arg(long, value_parser = words::<FeePlan>(&["standard", "none"]))]
    fees: Option<FeePlan>,
    /// Credit line of its paper account, in HKD [default: 0]
    #[arg(long, value_name = "HKD=AMOUNT")]
    credit: Option<String>,
}

impl Beginning {
    /// Returns the initial cash and settings, or `None` if no argument was given. In that case the
    /// paper account gets the defaults on first use.
    pub(super) fn opening(&self) -> Result<Option<Opening>, Failure> {
        let Beginning { cash, fees, credit } = self;
        if cash.is_none() && fees.is_none() && credit.is_none() {
            return Ok(None);
        }
        let mut opening = Opening::default();
        if let Some(text) = cash {
            opening.cash = amounts(text)?;
        }
        if let Some(text) = credit {
            opening.credit = credit_line(text)?;
        }
        opening.settings.fees = fees.unwrap_or(opening.settings.fees);
        Ok(Some(opening))
    }
}

/// Returns a description of a paper account as stored in its journal, without advancing the account
/// to the current time. Null if the journal is empty.
pub(super) fn document(books: &Books, account: &Account) -> Result<Value, Failure> {
    let standing = books.paper.standing(account.id).map_err(to_failure)?;
    if standing.entries == 0 {
        return Ok(Value::Null);
    }
    let paper = books.paper.described(account.id).map_err(to_failure)?;
    let cash: Map<String, Value> = paper
        .currencies()
        .map(|(currency, amount)| (currency.to_string(), amount.text().to_string().into()))
        .collect();
    Ok(json!({
        "horizon": standing.horizon.map(|at| at.to_string()),
        "entries": standing.entries,
        "cash": cash,
        "credit": paper.credit().text().to_string(),
        "positions": paper.positions().count(),
        "open_orders": paper.open_orders().count(),
        "settings": paper::settings_in_full(paper.settings()),
    }))
}

/// Prints the description returned by [`document`] as text.
pub(super) fn print(out: &mut impl Write, document: &Value) -> Result<(), Failure> {
    let of = |name: &str| document.get(name).unwrap_or(&Value::Null);
    if document.is_null() {
        writeln!(
            out,
            "paper        not opened yet: the first order or query opens it with HKD 1,000,000 and USD 100,000"
        )?;
        return Ok(());
    }
    let entries = of("entries").as_u64().unwrap_or_default();
    let entries =
        if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", output::thousands(entries)) };
    match of("horizon").as_str() {
        Some(horizon) => writeln!(out, "paper        at {horizon}, {entries}")?,
        None => writeln!(out, "paper        prepared, not opened yet: {entries}")?,
    }
    let cash: Vec<String> = of("cash")
        .as_object()
        .into_iter()
        .flatten()
        .map(|(currency, amount)| format!("{currency} {}", grouped(amount.as_str().unwrap_or_default())))
        .collect();
    let credit = grouped(of("credit").as_str().unwrap_or_default());
    let cash = if cash.is_empty() { "none".to_owned() } else { cash.join(", ") };
    writeln!(out, "cash         {cash}; credit HKD {credit}")?;
    let count = |name: &str, one: &str| output::count(of(name).as_u64().unwrap_or_default(), one);
    writeln!(out, "holds        {}, {}", count("positions", "position"), count("open_orders", "open order"))?;
    writeln!(out, "settings     {}", in_words(of("settings")))?;
    Ok(())
}

/// Formats settings as one line.
pub(super) fn in_words(settings: &Value) -> String {
    let settings = settings.as_object().into_iter().flatten();
    let word = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::Null | Value::Bool(false) => "off".to_owned(),
            Value::Bool(true) => "on".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        format!("{key} {value}")
    };
    settings.map(word).collect::<Vec<_>>().join(", ")
}
