//! `chandler check`: reads everything, trusts nothing.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};
use store::Access;

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress;
use crate::surroundings::Surroundings;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    progress: progress::Flags,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let store = surroundings.open(Access::Read)?;
    let blocks = store.reader()?.snapshot()?.all_series()?.iter().map(|info| info.blocks).sum();
    let bar = arguments.progress.count(blocks, "blocks");
    let report =
        history::check_watched(&store, surroundings.history.venues(), |report| bar.set(report.blocks))?;
    drop(bar);
    match arguments.format {
        Format::Json => {
            let damage: Vec<Value> = report
                .damage
                .iter()
                .map(|damage| {
                    let series = damage.series.as_ref().map(ToString::to_string);
                    json!({"series": series, "time": damage.at.map(|at| at.to_string()), "problem": damage.problem})
                })
                .collect();
            output::json(&json!({
                "blocks": report.blocks, "candles": report.rows, "bytes": report.bytes,
                "damage": damage,
            }))?;
        }
        Format::Table => {
            let mut out = output::stdout();
            for damage in &report.damage {
                writeln!(out, "{}", output::printable(&damage.problem))?;
            }
            let verdict = match report.damage.len() {
                0 => "all whole".to_owned(),
                1 => "1 problem".to_owned(),
                n => format!("{n} problems"),
            };
            let [rows, blocks] = [report.rows, report.blocks].map(output::thousands);
            writeln!(out, "{rows} candles in {blocks} blocks: {verdict}")?;
            out.flush()?;
        }
    }
    if report.damage.is_empty() {
        return Ok(());
    }
    eprintln!("chandler: the store is damaged: import the files of the named series again with --again");
    Err(Failure::Reported)
}
