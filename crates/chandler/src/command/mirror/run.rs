//! `chandler mirror run`: collects missing candles.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use collect::{Progress, Rate, RunOptions, RunReport, Runner, Watch};
use market::{Date, Symbol};
use mirror::recheck::Recheck;
use serde_json::{Value, json};

use super::login::{MachineTime, MirrorServer};
use super::named::{accept_terms, find, present, until};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::open_accounts;
use crate::output::{self, Format, count, thousands};
use crate::progress::{self, Bar};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The mirror; may be omitted if there is only one
    name: Option<String>,
    /// Also request the last days again, because sources correct them
    #[arg(long)]
    again: bool,
    /// Request all candles since a date again
    #[arg(long, value_name = "DATE", conflicts_with = "again")]
    since: Option<Date>,
    /// Also collect the current day
    #[arg(long)]
    today: bool,
    /// Do not request candles that the store already has
    #[arg(long)]
    fill_gaps: bool,
    /// Run again after this time, such as 1d or 12h, until stopped
    #[arg(long, value_name = "TIME", value_parser = interval)]
    every: Option<Duration>,
    /// Maximum number of new securities
    #[arg(long, value_name = "N")]
    max_new: Option<usize>,
    /// Maximum number of securities per month, if the source allows more
    #[arg(long, value_name = "N")]
    quota: Option<u32>,
    /// Share of the permitted rate, such as 0.5, if other programs use the account; `unlimited` for
    /// your own server without limits
    #[arg(long, value_name = "SHARE")]
    rate: Option<Rate>,
    /// You are responsible for the terms of the other service, which may forbid storing its data
    #[arg(long)]
    accept_terms: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    progress: progress::Flags,
}

fn interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time: write 1d, 12h or 30m");
    let split = text.len().checked_sub(1).ok_or_else(wrong)?;
    let (number, unit) = text.split_at_checked(split).ok_or_else(wrong)?;
    let unit = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match number.checked_mul(unit).filter(|seconds| (60..=365 * 86_400).contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err(wrong()),
    }
}

pub(super) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let row = find(&store, arguments.name.as_deref())?;
    let access = open_accounts(context)?;
    let name = accept_terms(&store, row, arguments.accept_terms, &access, context)?.name;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let mut recheck = match arguments.since {
        Some(date) => Some(Recheck::Since(date)),
        None => arguments.again.then_some(Recheck::Again),
    };
    loop {
        let row = find(&store, Some(&name))?;
        let present = if arguments.fill_gaps { present(&store, &row, context)? } else { BTreeMap::new() };
        let options = RunOptions {
            recheck,
            max_new: arguments.max_new,
            quota: arguments.quota,
            rate: arguments.rate.unwrap_or_default(),
            today: arguments.today,
            present,
        };
        let mut server = MirrorServer::of(&row, &access)?;
        let bar = arguments.progress.range(1);
        let result = Runner {
            store: &store,
            venues: context.history.venues(),
            connect: &mut server,
            time: &MachineTime,
            watch: &Shown { bar: &bar, last: std::cell::Cell::new(u64::MAX) },
            stop: &stop,
        }
        .run(&row, &options);
        drop(bar);
        let Some(every) = arguments.every else {
            let report = result?;
            show(&row.name, &report, arguments.format)?;
            return match report.is_stopped {
                true => Err(Failure::Interrupted("stopped; run it again to continue".to_owned())),
                false => Ok(()),
            };
        };
        match result {
            Ok(report) => show(&row.name, &report, arguments.format)?,
            // The next round retries.
            Err(error) => output::note(format_args!("chandler: {error}")),
        }
        if wait(every, &stop) {
            return Ok(());
        }
        // Later rounds also collect corrections.
        recheck = Some(Recheck::Again);
    }
}

/// Waits, and returns whether the user has interrupted the wait.
fn wait(time: Duration, stop: &AtomicBool) -> bool {
    let until = std::time::Instant::now() + time;
    while std::time::Instant::now() < until {
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(500));
    }
    stop.load(Ordering::Relaxed)
}

/// Shows progress as a bar or, without a terminal, as a line per ten percent.
struct Shown<'a> {
    bar: &'a Bar,
    last: std::cell::Cell<u64>,
}

impl Watch for Shown<'_> {
    fn progress(&self, progress: &Progress) {
        let left = progress.expected.saturating_sub(progress.answered);
        let text = || {
            let minutes = progress.time_left.as_secs().div_ceil(60);
            let quota = progress
                .quota_left
                .map_or(String::new(), |left| format!(", {left} securities left this month"));
            let series = Some(&progress.series).filter(|series| !series.is_empty());
            let series = series.map_or(String::new(), |series| format!("  {series}"));
            format!("{} left, {}{quota}{series}", count(left, "request"), until(minutes))
        };
        if self.bar.is_shown() {
            self.bar.set_length(progress.expected.max(1));
            self.bar.set(progress.answered);
            self.bar.say(text);
            return;
        }
        let tenth = progress.answered * 10 / progress.expected.max(1);
        if tenth != self.last.replace(tenth) {
            self.bar.line(&format!("{} of {} requests, {}", progress.answered, progress.expected, text()));
        }
    }

    fn note(&self, text: &str) {
        self.bar.line(&output::printable(text));
    }
}

fn show(name: &str, report: &RunReport, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(&document(name, report))?);
    }
    let counts = report.counts;
    let mut out = output::stdout();
    writeln!(
        out,
        "{name}: {}, {} new candles, {} replaced, {} quarantined",
        count(report.requests, "request"),
        thousands(counts.added),
        thousands(counts.replaced),
        thousands(counts.quarantined)
    )?;
    for (symbol, reason) in report.refused.iter().chain(&report.failed) {
        writeln!(out, "{symbol}: {}", output::printable(reason))?;
    }
    if report.reports > 0 {
        writeln!(out, "{} reported: `chandler mirror status {name} --reports` lists them", report.reports)?;
    }
    if !report.held.is_empty() {
        writeln!(out, "{} left out by --max-new", thousands(report.held.len() as u64))?;
    }
    if let (false, Some(until)) = (report.waiting.is_empty(), report.waits_until) {
        let waiting = thousands(report.waiting.len() as u64);
        writeln!(out, "{waiting} wait for the next month: run it again after {until}")?;
    }
    Ok(out.flush()?)
}

fn document(name: &str, report: &RunReport) -> Value {
    let with_reasons = |all: &[(Symbol, String)]| -> Vec<Value> {
        all.iter().map(|(symbol, reason)| json!({"symbol": symbol.as_str(), "reason": reason})).collect()
    };
    let names = |all: &[Symbol]| -> Vec<String> { all.iter().map(Symbol::to_string).collect() };
    json!({
        "name": name, "requests": report.requests, "pages": report.pages, "added": report.counts.added,
        "replaced": report.counts.replaced, "unchanged": report.counts.unchanged,
        "quarantined": report.counts.quarantined, "complete": report.complete,
        "refused": with_reasons(&report.refused), "failed": with_reasons(&report.failed),
        "waiting": names(&report.waiting), "held": names(&report.held),
        "waits_until": report.waits_until.map(|at| at.to_string()), "reports": report.reports,
        "stopped": report.is_stopped,
    })
}
