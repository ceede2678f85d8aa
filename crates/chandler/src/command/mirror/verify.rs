//! `chandler mirror verify`: compares our adjusted daily candles with the received ones, and lists
//! the derived corporate actions.

use std::io::Write;

use clap::Args;
use collect::SecurityCheck;
use history::mirror::MirrorStore;
use market::Zone;
use mirror::verify::{Difference, Sample};
use serde_json::{Value, json};
use store::DerivedFactor;

use super::named::find;
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, found, usage};
use crate::output::{self, Column, Format, count, thousands};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The mirror; may be omitted if there is only one
    name: Option<String>,
    /// Compare only a share of the securities, such as 1%
    #[arg(long, value_name = "SHARE")]
    sample: Option<String>,
    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// List the derived corporate actions with their uncertainty
    #[arg(long)]
    factors: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Maximum number of listed differences.
const LISTED_MAX: usize = 100;

/// The comparison for a security, and its derived corporate actions.
struct Checked {
    check: SecurityCheck,
    factors: Vec<DerivedFactor>,
}

pub(super) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let row = find(&store, arguments.name.as_deref())?;
    let sample = match &arguments.sample {
        Some(text) => Sample::parse(text, arguments.seed).map_err(usage)?,
        None => Sample::all(),
    };
    let mut data = MirrorStore::open(&store, context.history.venues())?;
    let list = data.view().mirror_securities(row.id)?;
    let mut checks: Vec<Checked> = Vec::new();
    for security in list.iter().filter(|security| sample.includes(&security.symbol)) {
        let symbol = &security.symbol;
        if let Some(check) = collect::verify(&mut data, row.id, symbol, Clock::Machine.now())? {
            checks.push(Checked { check, factors: data.view().derived_factors(symbol)? });
        }
    }
    let different: u64 = checks.iter().map(|checked| checked.check.report.different).sum();
    let shown = match arguments.format {
        Format::Json => {
            let all: Vec<Value> = checks.iter().map(document).collect();
            output::json(&json!({"name": row.name, "different": different, "securities": all}))
                .map_err(Failure::from)
        }
        Format::Table => show(&checks, arguments.factors),
    };
    let verdict = match different {
        0 => Ok(()),
        _ => Err(Failure::Reported),
    };
    found(shown, verdict)
}

fn show(checks: &[Checked], with_factors: bool) -> Result<(), Failure> {
    let mut out = output::stdout();
    if with_factors {
        let columns = [
            Column::Left("symbol"),
            Column::Left("ex-date"),
            Column::Left("kind"),
            Column::Right("amount"),
            Column::Right("at most off by"),
            Column::Right("factor from"),
            Column::Right("to"),
        ];
        let rows = checks.iter().flat_map(|checked| {
            checked.factors.iter().map(|factor| {
                let DerivedFactor { ex_date, kind, amount, low, high, width } = factor;
                let (symbol, kind) = (checked.check.symbol.to_string(), kind.as_str().to_owned());
                let (date, amount) = (ex_date.to_string(), amount.to_string());
                vec![symbol, date, kind, amount, width.clone(), low.clone(), high.clone()]
            })
        });
        writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
    }
    let checks = || checks.iter().map(|checked| &checked.check);
    let (days, different): (u64, u64) = checks()
        .fold((0, 0), |(days, all), check| (days + check.report.compared, all + check.report.different));
    let rows = checks().flat_map(|check| {
        let zone = Zone::of(check.symbol.market());
        check.report.differences.iter().map(move |difference| {
            let (time, field, ours, received) = parts(difference);
            vec![check.symbol.to_string(), zone.date(time).to_string(), field, ours, received]
        })
    });
    let rows: Vec<Vec<String>> = rows.take(LISTED_MAX).collect();
    if !rows.is_empty() {
        let columns = [
            Column::Left("symbol"),
            Column::Left("day"),
            Column::Left("price"),
            Column::Right("ours"),
            Column::Right("received"),
        ];
        writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
    }
    let securities = checks().count() as u64;
    writeln!(
        out,
        "{} days of {} compared: {}",
        thousands(days),
        count(securities, "symbol"),
        if different == 0 { "equal".to_owned() } else { count(different, "difference") }
    )?;
    Ok(out.flush()?)
}

fn parts(difference: &Difference) -> (market::Timestamp, String, String, String) {
    match difference {
        Difference::Price { time, field, ours, received } => {
            (*time, field.as_str().to_owned(), ours.text(3).to_string(), received.text(3).to_string())
        }
        Difference::Missing { time } => (*time, "day".to_owned(), "missing".to_owned(), String::new()),
        Difference::Surplus { time } => (*time, "day".to_owned(), String::new(), "missing".to_owned()),
    }
}

fn document(Checked { check, factors }: &Checked) -> Value {
    let zone = Zone::of(check.symbol.market());
    let listed = check.report.differences.iter().take(LISTED_MAX).map(|difference| {
        let (time, field, ours, received) = parts(difference);
        json!({"day": zone.date(time).to_string(), "price": field, "ours": ours, "received": received})
    });
    let factors = factors.iter().map(|factor| {
        json!({
            "ex_date": factor.ex_date.to_string(), "kind": factor.kind.as_str(),
            "amount": factor.amount.to_string(), "width": factor.width,
            "factor_low": factor.low, "factor_high": factor.high,
        })
    });
    json!({
        "symbol": check.symbol.as_str(), "compared": check.report.compared,
        "different": check.report.different, "differences": listed.collect::<Vec<_>>(),
        "factors": factors.collect::<Vec<_>>(),
    })
}
