//! `chandler account reported-assets`, `reported-orders` and `rates`: store the inputs for account
//! levels, from arguments or a file.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use access::{Access, AccessError, Actor, Present, REPORT_BYTES_MAX, Reported, Table};
use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use crate::failure::{Failure, usage};
use crate::local::named;
use crate::output::{self, Column, Format, say};

/// Maximum number of rows in a list.
const LISTED_MAX: u32 = 1_000;

#[derive(Debug, Args)]
pub(super) struct ReportedAssets {
    /// An account, by name or number
    name: Option<String>,
    /// Total assets, such as 80000 or 1234.56
    amount: Option<String>,
    /// Currency code, such as HKD
    currency: Option<String>,
    /// The day at whose end the assets are valued [default: today in Hong Kong]
    #[arg(long, value_name = "DATE")]
    day: Option<String>,
    /// A CSV file with account,day,currency,amount; `-` reads standard input
    #[arg(long, value_name = "CSV", conflicts_with_all = ["name", "day"])]
    file: Option<PathBuf>,
    /// List the reported assets of an account
    #[arg(long, conflicts_with_all = ["amount", "file"])]
    list: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct ReportedOrders {
    /// An account, by name or number
    name: Option<String>,
    /// Number of orders completed that day; replaces an earlier report
    count: Option<String>,
    /// The day [default: today in Hong Kong]
    #[arg(long, value_name = "DATE")]
    day: Option<String>,
    /// A CSV file with account,day,count or account,day,order_id; `-` reads standard input
    #[arg(long, value_name = "CSV", conflicts_with_all = ["name", "day"])]
    file: Option<PathBuf>,
    /// List the reported orders of an account by day
    #[arg(long, conflicts_with_all = ["count", "file"])]
    list: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Rates {
    /// Currency code, such as USD
    currency: Option<String>,
    /// HKD per unit of the currency
    rate: Option<String>,
    /// The day from which the rate applies [default: today in Hong Kong]
    #[arg(long, value_name = "DATE")]
    day: Option<String>,
    /// A CSV file with currency,day,rate; `-` reads standard input
    #[arg(long, value_name = "CSV", conflicts_with_all = ["currency", "day"])]
    file: Option<PathBuf>,
    /// List the rates of one currency, or of all
    #[arg(long, conflicts_with_all = ["rate", "file"])]
    list: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl ReportedAssets {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        if self.list {
            return self.list(access);
        }
        let single = [("account", &self.name), ("amount", &self.amount), ("currency", &self.currency)];
        let table = table(self.file.as_deref(), &single, &self.day, "NAME AMOUNT CURRENCY")?;
        let reported = access.report_assets(&table, &Actor::Operator, present);
        print_report(reported, "amount", self.format)
    }

    fn list(&self, access: &Access) -> Result<(), Failure> {
        let name = self.name.as_deref().ok_or_else(|| usage("name the account to list: NAME --list"))?;
        let assets = access.reported_assets(named(access, name)?.id, LISTED_MAX)?;
        if self.format == Format::Json {
            let rows: Vec<Value> = assets
                .iter()
                .map(
                    |one| json!({"day": one.day.to_string(), "currency": one.currency, "amount": one.amount}),
                )
                .collect();
            return Ok(output::json(&rows)?);
        }
        let columns = [Column::Left("day"), Column::Right("amount"), Column::Left("currency")];
        print(&columns, assets.into_iter().map(|one| vec![one.day.to_string(), one.amount, one.currency]))
    }
}

impl ReportedOrders {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        if self.list {
            return self.list(access);
        }
        let single = [("account", &self.name), ("count", &self.count)];
        let table = table(self.file.as_deref(), &single, &self.day, "NAME COUNT")?;
        print_report(access.report_orders(&table, &Actor::Operator, present), "row", self.format)
    }

    fn list(&self, access: &Access) -> Result<(), Failure> {
        let name = self.name.as_deref().ok_or_else(|| usage("name the account to list: NAME --list"))?;
        let orders = access.reported_orders(named(access, name)?.id, LISTED_MAX)?;
        if self.format == Format::Json {
            let rows: Vec<Value> =
                orders.iter().map(|(day, count)| json!({"day": day.to_string(), "orders": count})).collect();
            return Ok(output::json(&rows)?);
        }
        let columns = [Column::Left("day"), Column::Right("orders")];
        print(&columns, orders.into_iter().map(|(day, count)| vec![day.to_string(), count.to_string()]))
    }
}

impl Rates {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        if self.list {
            return self.list(access);
        }
        let single = [("currency", &self.currency), ("rate", &self.rate)];
        let table = table(self.file.as_deref(), &single, &self.day, "CURRENCY RATE")?;
        print_report(access.report_rates(&table, &Actor::Operator, present), "exchange rate", self.format)
    }

    fn list(&self, access: &Access) -> Result<(), Failure> {
        let currency = self.currency.as_ref().map(|currency| currency.to_ascii_uppercase());
        let rates = access.rates(currency.as_deref(), LISTED_MAX)?;
        if self.format == Format::Json {
            let rows: Vec<Value> = rates
                .iter()
                .map(|one| {
                    let (currency, day) = (&one.currency, one.day.to_string());
                    json!({"currency": currency, "day": day, "rate": one.rate, "builtin": one.builtin})
                })
                .collect();
            return Ok(output::json(&rows)?);
        }
        let columns =
            [Column::Left("currency"), Column::Left("day"), Column::Right("HKD"), Column::Left("source")];
        let source = |builtin: bool| if builtin { "built-in" } else { "reported" }.to_owned();
        print(
            &columns,
            rates
                .into_iter()
                .map(|one| vec![one.currency, one.day.to_string(), one.rate, source(one.builtin)]),
        )
    }
}

/// Reads the table from a CSV file, or builds a table with one row from the arguments.
fn table(
    file: Option<&Path>,
    single: &[(&str, &Option<String>)],
    day: &Option<String>,
    form: &str,
) -> Result<Table, Failure> {
    if let Some(path) = file {
        let bytes = read(path)?;
        return Table::csv(&bytes).map_err(|error| Failure::Data(error.into()));
    }
    let missing = || usage(format!("write {form}, or --file CSV, or --list"));
    let mut columns: Vec<&str> = single.iter().map(|(name, _)| *name).collect();
    let fields: Option<Vec<String>> = single.iter().map(|(_, value)| (*value).clone()).collect();
    let mut fields = fields.ok_or_else(missing)?;
    if let Some(day) = day {
        columns.push("day");
        fields.push(day.clone());
    }
    let mut table = Table::new(&columns);
    table.push(None, fields)?;
    Ok(table)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let limit = u64::try_from(REPORT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes)
}

fn print_report(reported: Result<Reported, AccessError>, what: &str, format: Format) -> Result<(), Failure> {
    let Reported { rows, accounts } = reported?;
    let plural = if rows == 1 { "" } else { "s" };
    let text = match accounts {
        0 => format!("{rows} {what}{plural} stored"),
        1 => format!("{rows} {what}{plural} stored, for 1 account"),
        many => format!("{rows} {what}{plural} stored, for {many} accounts"),
    };
    say(format, &text, json!({"rows": rows, "accounts": accounts}))
}

fn print(columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> Result<(), Failure> {
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(output::table(columns, rows)))?;
    Ok(out.flush()?)
}
