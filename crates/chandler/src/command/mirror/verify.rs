//! `chandler mirror verify`: compares our adjusted daily candles with the received ones.

use std::io::Write;

use clap::Args;
use collect::SecurityCheck;
use history::mirror::MirrorStore;
use market::Zone;
use mirror::verify::{Difference, Sample};
use serde_json::{Value, json};

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
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Maximum number of listed differences.
const LISTED_MAX: usize = 100;

pub(super) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let row = find(&store, arguments.name.as_deref())?;
    let sample = match &arguments.sample {
        Some(text) => Sample::parse(text, arguments.seed).map_err(usage)?,
        None => Sample::all(),
    };
    let mut data = MirrorStore::open(&store, context.history.venues())?;
    let list = data.view().mirror_securities(row.id)?;
    let mut checks: Vec<SecurityCheck> = Vec::new();
    for security in list.iter().filter(|security| sample.includes(&security.symbol)) {
        checks.extend(collect::verify(&mut data, row.id, &security.symbol, Clock::Machine.now())?);
    }
    let different: u64 = checks.iter().map(|check| check.report.different).sum();
    let shown = match arguments.format {
        Format::Json => {
            let all: Vec<Value> = checks.iter().map(document).collect();
            output::json(&json!({"name": row.name, "different": different, "securities": all}))
                .map_err(Failure::from)
        }
        Format::Table => show(&checks),
    };
    let verdict = match different {
        0 => Ok(()),
        _ => Err(Failure::Reported),
    };
    found(shown, verdict)
}

fn show(checks: &[SecurityCheck]) -> Result<(), Failure> {
    let mut out = output::stdout();
    let (days, different): (u64, u64) = checks
        .iter()
        .fold((0, 0), |(days, all), check| (days + check.report.compared, all + check.report.different));
    let rows = checks.iter().flat_map(|check| {
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
        writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    }
    let securities = checks.len() as u64;
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

fn document(check: &SecurityCheck) -> Value {
    let zone = Zone::of(check.symbol.market());
    let listed = check.report.differences.iter().take(LISTED_MAX).map(|difference| {
        let (time, field, ours, received) = parts(difference);
        json!({"day": zone.date(time).to_string(), "price": field, "ours": ours, "received": received})
    });
    json!({
        "symbol": check.symbol.as_str(), "compared": check.report.compared,
        "different": check.report.different, "differences": listed.collect::<Vec<_>>(),
    })
}
