//! `chandler check`: reads everything, trusts nothing.

use std::io::Write;

use clap::Args;
use history::CheckReport;
use market::Venues;
use serde_json::{Value, json};
use store::{Access, Store, StoreError};

use crate::failure::{self, Failure};
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

/// Reads every block, with a bar for whoever waits.
pub(crate) fn watched(
    store: &Store,
    venues: &Venues,
    progress: progress::Flags,
) -> Result<CheckReport, StoreError> {
    let blocks = store.reader()?.snapshot()?.all_series()?.iter().map(|info| info.blocks).sum();
    let bar = progress.count(blocks, "blocks");
    history::check_watched(store, venues, |report| bar.set(report.blocks))
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let store = surroundings.open(Access::Read)?;
    let report = watched(&store, surroundings.history.venues(), arguments.progress)?;
    let told = arguments.tell(&report);
    if report.damage.is_empty() {
        return told;
    }
    output::tell("chandler: the store is damaged: import the files of the named series again with --again");
    failure::found(told, Err(Failure::Reported))
}

impl Arguments {
    fn tell(&self, report: &CheckReport) -> Result<(), Failure> {
        if self.format == Format::Json {
            let damage: Vec<Value> = report
                .damage
                .iter()
                .map(|damage| {
                    let series = damage.series.as_ref().map(ToString::to_string);
                    json!({"series": series, "time": damage.at.map(|at| at.to_string()), "problem": damage.problem})
                })
                .collect();
            return Ok(output::json(&json!({
                "blocks": report.blocks, "candles": report.rows, "bytes": report.bytes,
                "damage": damage,
            }))?);
        }
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
        Ok(out.flush()?)
    }
}
