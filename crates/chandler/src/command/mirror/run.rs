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
        let bar = arguments.progress.described(1);
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
        recheck = next_recheck(recheck, result.as_ref().ok());
        match result {
            Ok(report) => show(&row.name, &report, arguments.format)?,
            // The next round retries.
            Err(error) => output::note(format_args!("chandler: {error}")),
        }
        if wait(every, &stop) {
            return Ok(());
        }
    }
}

/// Returns what the next round of `--every` requests again. Every round also collects corrections,
/// and a round that has failed is repeated.
fn next_recheck(this: Option<Recheck>, report: Option<&RunReport>) -> Option<Recheck> {
    let is_done = report.is_some_and(|report| report.failed.is_empty());
    match this {
        Some(Recheck::Since(_)) if !is_done => this,
        _ => Some(Recheck::Again),
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
        if self.bar.is_shown() {
            self.bar.set_length(progress.expected.max(1));
            self.bar.set(progress.answered);
            self.bar.say(|| described(progress));
            return;
        }
        if progress.expected == 0 {
            return;
        }
        let tenth = progress.answered * 10 / progress.expected;
        if tenth != self.last.replace(tenth) {
            let (answered, expected) = (thousands(progress.answered), thousands(progress.expected));
            self.bar.line(&format!("{answered} of {expected} requests, {}", described(progress)));
        }
    }

    fn note(&self, text: &str) {
        self.bar.line(&output::printable(text));
    }
}

/// Formats the remaining requests, time and quota: `332 requests, 3 minutes left, quota 97, 700.HK 1m`.
fn described(progress: &Progress) -> String {
    let requests = progress.expected.saturating_sub(progress.answered);
    let mut text = format!("{}, {} left", count(requests, "request"), duration(progress.time_left));
    if let Some(quota) = progress.quota_left {
        text.push_str(&format!(", quota {}", thousands(quota as u64)));
    }
    if !progress.series.is_empty() {
        text.push_str(&format!(", {}", progress.series));
    }
    text
}

fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => count(seconds, "second"),
        seconds => until(seconds.div_ceil(60)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_round_since_a_date_is_repeated() {
        let since = Some(Recheck::Since("2026-01-02".parse().unwrap()));
        let again = Some(Recheck::Again);
        let done = RunReport::default();
        let symbol: Symbol = "700.HK".parse().unwrap();
        let partly = RunReport { failed: vec![(symbol, "no answer".to_owned())], ..RunReport::default() };
        assert_eq!(next_recheck(since, None), since);
        assert_eq!(next_recheck(since, Some(&partly)), since);
        assert_eq!(next_recheck(since, Some(&done)), again);
        assert_eq!((next_recheck(None, None), next_recheck(again, None)), (again, again));
    }

    #[test]
    fn the_progress_shows_requests_time_and_quota() {
        let mut progress = Progress {
            expected: 1_500,
            answered: 266,
            time_left: Duration::from_secs(674),
            quota_left: Some(97),
            series: "700.HK 1m".to_owned(),
            ..Progress::default()
        };
        assert_eq!(described(&progress), "1,234 requests, 12 minutes left, quota 97, 700.HK 1m");
        (progress.expected, progress.quota_left) = (267, None);
        progress.time_left = Duration::from_secs(1);
        assert_eq!(described(&progress), "1 request, 1 second left, 700.HK 1m");
    }
}
