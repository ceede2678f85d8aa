//! `chandler statement`: lists and prints a paper account's daily and monthly statements, from the
//! local store or a server.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use paper::StatementDocument;
use serde_json::Value;
use trading::statement::StatementKind;

use super::time::date;
use super::trade::StatementsQuestion;
use super::trade::shown::{self, grouped, rows, text};
use crate::client::AccountFlags;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the existing statements, newest first
    List(List),
    /// Show a statement, the newest if no date is given
    Show(Show),
    /// Write a statement to a file, as PDF or JSON
    Download(Download),
}

/// Maximum number of statements that a server lists per request.
const LIMIT_MAX: u32 = 1_000;

#[derive(Debug, Args)]
struct List {
    /// Monthly statements instead of daily ones
    #[arg(long)]
    monthly: bool,
    /// From this date on, such as 2026-03-18
    #[arg(long, value_name = "DATE")]
    start: Option<String>,
    /// Maximum number of statements
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(LIMIT_MAX)))]
    limit: u32,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Selects a statement.
#[derive(Debug, Args)]
struct Which {
    /// Date, such as 2026-03-18; for a monthly statement the last day of the month [default: the
    /// newest]
    date: Option<String>,
    /// A monthly statement instead of a daily one
    #[arg(long)]
    monthly: bool,
    #[command(flatten)]
    whose: AccountFlags,
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    which: Which,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Download {
    #[command(flatten)]
    which: Which,
    #[arg(long, value_enum, default_value_t)]
    format: FileFormat,
    /// Output file [default: a name such as statement-daily-20260318.pdf, in the current folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The language of a PDF
    #[arg(long, default_value = "en", value_parser = ["en", "zh-CN", "zh-HK"])]
    lang: String,
    /// A font file for Chinese in a PDF [default: from a package such as fonts-noto-cjk]
    #[arg(long, value_name = "FILE")]
    font: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    #[default]
    Pdf,
    Json,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    match &arguments.action {
        Action::List(arguments) => arguments.run(context),
        Action::Show(arguments) => arguments.run(context),
        Action::Download(arguments) => arguments.run(context),
    }
}

fn kind(monthly: bool) -> StatementKind {
    if monthly { StatementKind::Monthly } else { StatementKind::Daily }
}

impl List {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let from = self.start.as_deref().map(date).transpose()?;
        let client = self.whose.trader(context)?;
        let question = StatementsQuestion { kind: kind(self.monthly), from, limit: self.limit };
        let document = client.statements(&question)?;
        if self.format == Format::Json {
            return shown::json(&document);
        }
        let columns = [Column::Left("date"), Column::Left("statement"), Column::Left("file")];
        let row =
            |row: &Value| vec![dashed(&text(row, "dt")), question.kind.to_string(), text(row, "file_key")];
        shown::table(output::table(&columns, rows(&document, "list").iter().map(row)), "no statements yet")
    }
}

/// Formats `20260318` as `2026-03-18`.
fn dashed(digits: &str) -> String {
    match (digits.get(..4), digits.get(4..6), digits.get(6..)) {
        (Some(year), Some(month), Some(day)) => format!("{year}-{month}-{day}"),
        _ => digits.to_owned(),
    }
}

impl Which {
    /// Returns the content of the selected statement. A missing statement is an error.
    fn found(&self, context: &CommandContext) -> Result<Vec<u8>, Failure> {
        let of = self.date.as_deref().map(date).transpose()?;
        let client = self.whose.trader(context)?;
        // Statements are listed newest first, so the newest statement needs one row. A statement
        // for a given date may follow many newer statements.
        let limit = if of.is_some() { LIMIT_MAX } else { 1 };
        let question = StatementsQuestion { kind: kind(self.monthly), from: of, limit };
        let missing = || match of {
            Some(of) => anyhow!(
                "there is no {} statement of {of}: `chandler statement list` shows them",
                question.kind
            ),
            None => anyhow!(
                "there is no {} statement yet: one is generated at 09:00 in Hong Kong on the next day",
                question.kind
            ),
        };
        Ok(client.statement(&question, of)?.ok_or_else(missing)?)
    }

    fn document(&self, context: &CommandContext) -> Result<(Vec<u8>, StatementDocument), Failure> {
        let text = self.found(context)?;
        let document = serde_json::from_slice(&text).context("cannot read the statement")?;
        Ok((text, document))
    }
}

impl Show {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let (_, document) = self.which.document(context)?;
        match self.format {
            Format::Json => Ok(output::json(&document)?),
            Format::Table => print(&document),
        }
    }
}

impl Download {
    fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let (text, document) = self.which.document(context)?;
        let (bytes, ending) = match self.format {
            FileFormat::Json => (text, "json"),
            FileFormat::Pdf => {
                let pdf = server::statement_pdf(&document, &self.lang, self.font.as_deref());
                (pdf.map_err(|error| anyhow!(error.to_string().replace("statement_font", "--font")))?, "pdf")
            }
        };
        let StatementDocument { date, file_type, .. } = &document;
        let usual = || PathBuf::from(format!("statement-{file_type}-{}.{ending}", date.replace('-', "")));
        let path = self.output.clone().unwrap_or_else(usual);
        output::file(&path, |out| Ok(out.write_all(&bytes)?))?;
        output::note(format_args!("wrote {}", path.display()));
        Ok(())
    }
}

/// Prints the non-empty sections of a statement as tables.
fn print(document: &StatementDocument) -> Result<(), Failure> {
    let mut out = output::stdout();
    let StatementDocument { date, file_type, generated_at, member_info, asset, .. } = document;
    writeln!(out, "{file_type} statement of {} ({}), {date}", member_info.name, member_info.account_no)?;
    writeln!(out, "generated {generated_at}")?;
    if asset.remark.is_empty() {
        let [total, cash, value] =
            [&asset.total, &asset.ledger_amount, &asset.market_value].map(|text| grouped(text));
        writeln!(out, "{total} {} = {cash} cash + {value} in securities", asset.currency)?;
    } else {
        writeln!(out, "no total: {}", asset.remark)?;
    }
    let section = |out: &mut dyn Write,
                   heading: &str,
                   columns: &[Column],
                   rows: Vec<Vec<String>>|
     -> std::io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{heading}\n{}", output::text(output::table(columns, rows)))
    };
    section(&mut out, "cash", &BALANCES, balances(document))?;
    section(&mut out, "cash movements", &MOVEMENTS, movements(document))?;
    section(&mut out, "trades", &TRADES, trades(document))?;
    section(&mut out, "holdings", &HOLDINGS, holdings(document))?;
    section(&mut out, "corporate actions", &CORPS, corps(document))?;
    out.flush()?;
    Ok(())
}

const BALANCES: [Column; 6] = [
    Column::Left("currency"),
    Column::Right("begin"),
    Column::Right("change"),
    Column::Right("ledger"),
    Column::Right("settled"),
    Column::Right("held back"),
];

fn balances(document: &StatementDocument) -> Vec<Vec<String>> {
    let row = |line: &paper::AccountBalance| {
        let amounts = [
            &line.begin_amount,
            &line.change_amount,
            &line.ledger_amount,
            &line.settled_amount,
            &line.lock_amount,
        ];
        std::iter::once(line.currency_code.clone()).chain(amounts.map(|text| grouped(text))).collect()
    };
    document.account_balance_sum.account_balances.iter().map(row).collect()
}

const MOVEMENTS: [Column; 5] = [
    Column::Left("date"),
    Column::Left("what"),
    Column::Right("amount"),
    Column::Left("currency"),
    Column::Left("remark"),
];

fn movements(document: &StatementDocument) -> Vec<Vec<String>> {
    let all = document.account_balance_change_sums.iter().flat_map(|sum| &sum.account_balance_changes);
    all.map(|line| {
        vec![
            line.date.clone(),
            shown::flow(&line.kind).to_owned(),
            grouped(&line.amount),
            line.currency_code.clone(),
            line.remark.clone(),
        ]
    })
    .collect()
}

const TRADES: [Column; 9] = [
    Column::Left("date"),
    Column::Left("order"),
    Column::Left("side"),
    Column::Left("symbol"),
    Column::Right("quantity"),
    Column::Right("price"),
    Column::Right("amount"),
    Column::Right("net"),
    Column::Left("settles"),
];

fn trades(document: &StatementDocument) -> Vec<Vec<String>> {
    let sums = document.stock_trade_sums.iter().chain(&document.option_trade_sums);
    sums.flat_map(|sum| &sum.trades)
        .map(|trade| {
            vec![
                trade.trade_date.clone(),
                trade.contract_no.clone(),
                trade.direction.to_lowercase(),
                trade.code.clone(),
                grouped(&trade.trade_quantity),
                grouped(&trade.trade_price),
                grouped(&trade.trade_amount),
                format!("{} {}", grouped(&trade.clear_amount), trade.currency_code),
                trade.settle_date.clone(),
            ]
        })
        .collect()
}

const HOLDINGS: [Column; 8] = [
    Column::Left("symbol"),
    Column::Left("name"),
    Column::Right("begin"),
    Column::Right("change"),
    Column::Right("quantity"),
    Column::Right("close"),
    Column::Right("value"),
    Column::Right("cost"),
];

fn holdings(document: &StatementDocument) -> Vec<Vec<String>> {
    let all = document.equity_holding_sums.iter().flat_map(|sum| &sum.equity_holdings);
    all.map(|line| {
        vec![
            line.code.clone(),
            line.name.clone(),
            grouped(&line.begin_quantity),
            grouped(&line.change_quantity),
            grouped(&line.ledger_quantity),
            grouped(&line.close_price),
            format!("{} {}", grouped(&line.market_value), line.currency_code),
            grouped(&line.cost_price),
        ]
    })
    .collect()
}

const CORPS: [Column; 6] = [
    Column::Left("symbol"),
    Column::Left("what"),
    Column::Left("ex-date"),
    Column::Right("cash"),
    Column::Right("shares"),
    Column::Left("status"),
];

fn corps(document: &StatementDocument) -> Vec<Vec<String>> {
    let row = |corp: &paper::Corp| {
        vec![
            corp.code.clone(),
            corp.kind.to_lowercase(),
            corp.ex_date.clone(),
            format!("{} {}", grouped(&corp.cash_amount), corp.currency_code),
            grouped(&corp.share_quantity),
            corp.status.to_lowercase(),
        ]
    };
    document.corps.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_date_is_formatted_with_dashes() {
        assert_eq!((dashed("20260318").as_str(), dashed("x").as_str()), ("2026-03-18", "x"));
        assert!(date("2026-03-18").is_ok() && date("20260231").is_err() && date("yesterday").is_err());
    }
}
