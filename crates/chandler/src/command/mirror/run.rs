//! `chandler mirror run`: collects what is missing.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use access::{Access, Actor, MirrorStep};
use clap::Args;
use collect::{Progress, Rate, RunOptions, RunReport, Runner, Settings, Watch};
use history::mirror::MirrorStore;
use market::{Date, Period, Symbol};
use mirror::DateRange;
use mirror::recheck::Recheck;
use serde_json::{Value, json};
use store::{MirrorRow, Store};

use super::find;
use super::login::{MachineTime, MirrorServer};
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
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
    /// Request everything since a date again
    #[arg(long, value_name = "DATE", conflicts_with = "again")]
    since: Option<Date>,
    /// Also collect the day in progress
    #[arg(long)]
    today: bool,
    /// Request only what the store does not have
    #[arg(long)]
    fill_gaps: bool,
    /// Run again after this time, such as 1d or 12h, until stopped
    #[arg(long, value_name = "TIME", value_parser = interval)]
    every: Option<Duration>,
    /// At most this many new securities
    #[arg(long, value_name = "N")]
    max_new: Option<usize>,
    /// At most this many securities a month, if the source allows more
    #[arg(long, value_name = "N")]
    quota: Option<u32>,
    /// Share of the permitted rate, such as 0.5, if other programs use the account; `unlimited` for
    /// a server of your own that has no limits
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
            // The next round tries again.
            Err(error) => output::note(format_args!("chandler: {error}")),
        }
        if wait(every, &stop) {
            return Ok(());
        }
        // What the source has corrected since is collected with the new days.
        recheck = Some(Recheck::Again);
    }
}

/// Waits, and returns whether the user has stopped it.
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

/// Notes that the user accepts responsibility for the terms of the other service, before the first
/// request.
pub(super) fn accept_terms(
    store: &Store,
    row: MirrorRow,
    is_accepted: bool,
    access: &Access,
    context: &CommandContext,
) -> Result<MirrorRow, Failure> {
    let mut settings: Settings = serde_json::from_str(&row.settings)?;
    if settings.terms_accepted_at.is_some() {
        return Ok(row);
    }
    if !is_accepted {
        return Err(usage(format!(
            "the terms of {} apply to its data, and may forbid storing it: read them, and add --accept-terms once",
            settings.http_url
        )));
    }
    let now = Clock::Machine.now();
    settings.terms_accepted_at = Some(now.0);
    let text = serde_json::to_string(&settings)?;
    let mut data = MirrorStore::open(store, context.history.venues())?;
    data.write(|batch| batch.put_mirror_settings(row.id, &text))?;
    let what = format!("{}: {}", row.name, settings.http_url);
    access.note_mirror(MirrorStep::TermsAccepted, &what, &Actor::Operator, now)?;
    Ok(MirrorRow { settings: text, ..row })
}

/// Returns the complete days of the listed securities, which are not requested.
pub(super) fn present(
    store: &Store,
    row: &MirrorRow,
    context: &CommandContext,
) -> Result<BTreeMap<Symbol, Vec<(Period, DateRange)>>, Failure> {
    let mut reader = store.reader()?;
    let list = reader.view().mirror_securities(row.id)?;
    let mut all = BTreeMap::new();
    for security in list {
        let symbol = security.symbol;
        let days =
            match history::coverage(&context.history, &mut reader, &symbol, (None, None), context.as_of()) {
                Ok(coverage) => coverage.days,
                Err(_) => continue,
            };
        let day_gap = |day: &history::DayCoverage| !day.daily;
        let minute_gap = |day: &history::DayCoverage| day.expected == 0 || !day.gaps.is_empty();
        let mut ranges = Vec::new();
        for (period, has_gap) in
            [(Period::DAY, &day_gap as &dyn Fn(&history::DayCoverage) -> bool), (Period::MINUTE, &minute_gap)]
        {
            for run in days.chunk_by(|a, b| has_gap(a) == has_gap(b)) {
                if let (Some(first), Some(last)) = (run.first(), run.last())
                    && !has_gap(first)
                {
                    ranges.push((period, DateRange { from: first.date, through: last.date }));
                }
            }
        }
        all.insert(symbol, ranges);
    }
    Ok(all)
}

/// Formats a number of minutes.
pub(super) fn until(minutes: u64) -> String {
    match minutes {
        0..120 => count(minutes, "minute"),
        120..2_880 => count(minutes / 60, "hour"),
        _ => count(minutes / 1_440, "day"),
    }
}

/// Shows no progress.
pub(super) struct Silent;

impl Watch for Silent {
    fn progress(&self, _: &Progress) {}
    fn note(&self, _: &str) {}
}

/// Shows progress as a bar, or as a line for each tenth where there is no terminal.
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
            format!("{} left, {}{quota}  {}", count(left, "request"), until(minutes), progress.series)
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
