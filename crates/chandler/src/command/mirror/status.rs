//! `chandler mirror status`: shows the progress of mirrors.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use collect::{FollowState, Settings, State, followed, is_of_run};
use market::{Symbol, Timestamp};
use mirror::Month;
use serde_json::{Value, json};
use store::{MirrorJob, MirrorReport, MirrorRow, MirrorSecurity, Store, View};

use super::named::find;
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format, thousands};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only this mirror
    name: Option<String>,
    /// List reports: differences of calendars, revised series, problems with factors
    #[arg(long)]
    reports: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Maximum number of listed reports.
const REPORTS_MAX: u32 = 1_000;

/// Status of one mirror.
struct Known {
    row: MirrorRow,
    settings: Settings,
    state: State,
    list: Vec<MirrorSecurity>,
    jobs: Vec<MirrorJob>,
    month: Month,
    asked: usize,
    reports: Vec<MirrorReport>,
    report_count: u64,
    /// State of following, and whether a server follows the mirror now.
    following: Option<(FollowState, bool)>,
}

pub(super) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let mut reader = store.reader()?;
    let rows = match &arguments.name {
        Some(name) => vec![find(&store, Some(name))?],
        None => reader.view().mirrors()?,
    };
    let now = Clock::Machine.now();
    let all: Vec<Known> = rows
        .into_iter()
        .map(|row| Known::read(&store, reader.view(), row, arguments.reports, now))
        .collect::<Result<_, _>>()?;
    if arguments.format == Format::Json {
        return Ok(output::json(&all.iter().map(Known::document).collect::<Vec<_>>())?);
    }
    let columns = [
        Column::Left("mirror"),
        Column::Left("server"),
        Column::Right("securities"),
        Column::Right("complete"),
        Column::Right("candles"),
        Column::Right("this month"),
        Column::Left("last run"),
    ];
    let cells = all.iter().map(|known| {
        let limit = known.state.month_limit.map_or("?".to_owned(), |limit| limit.to_string());
        vec![
            known.row.name.clone(),
            known.settings.http_url.clone(),
            thousands(known.list.len() as u64),
            thousands(known.complete() as u64),
            thousands(known.candles()),
            format!("{} of {limit}", known.asked),
            known.last_run(),
        ]
    });
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(output::table(&columns, cells)))?;
    for known in &all {
        for MirrorSecurity { symbol, note } in &known.list {
            if let Some((reason, at)) = note {
                writeln!(
                    out,
                    "{}: {symbol} was refused at {at}: {}",
                    known.row.name,
                    output::printable(reason)
                )?;
            }
        }
        if let Some(text) = known.following() {
            writeln!(out, "{}: {}", known.row.name, output::printable(&text))?;
        }
        if let Some((state, true)) = &known.following {
            for (symbol, reason) in &state.left_out {
                writeln!(out, "{}: no pushes of {symbol}: {}", known.row.name, output::printable(reason))?;
            }
        }
        if known.report_count > 0 && !arguments.reports {
            let (name, reports) = (&known.row.name, thousands(known.report_count));
            writeln!(
                out,
                "{name}: {reports} reported: `chandler mirror status {name} --reports` lists them"
            )?;
        }
        for report in &known.reports {
            let symbol = report.symbol.as_ref().map_or(String::new(), |symbol| format!("{symbol} "));
            writeln!(out, "{} {} {symbol}{}", report.at, report.kind, output::printable(&report.content))?;
        }
    }
    Ok(out.flush()?)
}

impl Known {
    fn read(
        store: &Store,
        view: &View,
        row: MirrorRow,
        with_reports: bool,
        now: Timestamp,
    ) -> Result<Known, Failure> {
        let (settings, state) = (serde_json::from_str(&row.settings)?, State::parse(&row.state));
        let month = Month::of(now);
        let limit = if with_reports { REPORTS_MAX } else { 0 };
        Ok(Known {
            settings,
            state,
            list: view.mirror_securities(row.id)?,
            jobs: view.mirror_jobs(row.id)?,
            month,
            asked: view.mirror_month(row.id, &month.to_string())?.len(),
            reports: view.mirror_reports(row.id, limit)?,
            report_count: view.mirror_report_count(row.id)?,
            following: followed(store, &row)?,
            row,
        })
    }

    /// Returns the number of securities that have jobs, all of which are complete.
    fn complete(&self) -> usize {
        let begun: BTreeSet<&Symbol> =
            self.jobs.iter().filter(|job| is_of_run(job)).map(|job| &job.symbol).collect();
        let open: BTreeSet<&Symbol> = self
            .jobs
            .iter()
            .filter(|job| job.outcome.is_none() && is_of_run(job))
            .map(|job| &job.symbol)
            .collect();
        self.list.iter().filter(|of| begun.contains(&of.symbol) && !open.contains(&of.symbol)).count()
    }

    /// Returns the number of received unadjusted candles. Adjusted candles are not counted, because
    /// they are not served.
    fn candles(&self) -> u64 {
        self.jobs.iter().filter(|job| job.adjustment == "none").map(|job| job.rows).sum()
    }

    fn last_run(&self) -> String {
        let (began, ended) = (self.state.began_at.map(Timestamp), self.state.ended_at.map(Timestamp));
        match (began, ended, &self.state.outcome) {
            (_, Some(at), Some(outcome)) => format!("{at}: {outcome}"),
            (Some(at), _, _) => format!("began at {at}"),
            (None, ..) => "never".to_owned(),
        }
    }

    /// Describes the state of following.
    fn following(&self) -> Option<String> {
        let (state, is_running) = self.following.as_ref()?;
        let time = |at: Option<i64>| at.map_or_else(|| "never".to_owned(), |at| Timestamp(at).to_string());
        let error = state.error.as_ref().map_or(String::new(), |error| format!(": {error}"));
        let pushed = format!("last push {}, {} rows", time(state.last_push_at), thousands(state.rows));
        Some(match (is_running, state.is_connected) {
            (false, _) => format!("not followed; {pushed}"),
            (true, false) => format!("following, not connected since {}{error}; {pushed}", time(state.since)),
            (true, true) => format!(
                "following {} of {} securities since {}{error}; {pushed}",
                thousands(state.subscribed as u64),
                thousands(state.securities as u64),
                time(state.since)
            ),
        })
    }

    fn document(&self) -> Value {
        let time = |at: Option<i64>| at.map(|at| Timestamp(at).to_string());
        let left = self.state.month_limit.map(|limit| u64::from(limit).saturating_sub(self.asked as u64));
        let refused: Vec<Value> = self
            .list
            .iter()
            .filter_map(|of| {
                let (reason, at) = of.note.as_ref()?;
                Some(json!({"symbol": of.symbol.as_str(), "reason": reason, "at": at.to_string()}))
            })
            .collect();
        let jobs: Vec<Value> = self
            .jobs
            .iter()
            .map(|job| {
                json!({
                    "symbol": job.symbol.as_str(), "period": job.period, "adjust": job.adjustment,
                    "sessions": job.sessions, "from": job.first_day.to_string(), "to": job.last_day.to_string(),
                    "pages": job.pages, "candles": job.rows, "outcome": job.outcome,
                    "updated_at": job.updated_at.to_string(),
                })
            })
            .collect();
        let reports: Vec<Value> = self
            .reports
            .iter()
            .map(|report| {
                json!({
                    "kind": report.kind, "symbol": report.symbol.as_ref().map(Symbol::as_str),
                    "text": report.content, "at": report.at.to_string(),
                })
            })
            .collect();
        let following = self.following.as_ref().map(|(state, is_running)| {
            json!({
                "running": is_running, "connected": *is_running && state.is_connected,
                "since": time(state.since), "at": time(state.at), "securities": state.securities,
                "subscribed": state.subscribed, "left_out": state.left_out,
                "connections": state.connections, "pushes": state.pushes, "rows": state.rows,
                "last_push_at": time(state.last_push_at), "error": state.error,
            })
        });
        json!({
            "name": self.row.name, "http_url": self.settings.http_url, "securities": self.list.len(),
            "complete": self.complete(), "candles": self.candles(), "requests": self.state.requests,
            "month": self.month.to_string(), "quota_used": self.asked, "quota_limit": self.state.month_limit,
            "quota_left": left, "began_at": time(self.state.began_at), "ended_at": time(self.state.ended_at),
            "read_through_at": time(self.state.read_through_at),
            "outcome": self.state.outcome, "refused": refused, "jobs": jobs, "reports": reports,
            "report_count": self.report_count, "following": following,
        })
    }
}
