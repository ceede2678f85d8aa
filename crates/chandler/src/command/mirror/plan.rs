//! `chandler mirror plan`: sets the list of securities, and shows what a run would request.

use std::io::Write;

use clap::{Args, ValueEnum};
use collect::{ListOptions, Rate, RunOptions, Runner, Settings};
use history::mirror::MirrorStore;
use market::{Date, Symbol};
use mirror::Step;
use serde_json::json;
use store::{MirrorRow, Store};

use super::login::{MachineTime, MirrorServer};
use super::named::{Silent, accept_terms, find, present, until};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::open_accounts;
use crate::output::{self, Format, count, thousands};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The mirror
    name: String,
    /// Securities to collect; without any, the list is unchanged
    symbols: Vec<String>,
    /// Periods to collect: day, 1m [default: day,1m]
    #[arg(long, value_name = "PERIOD,…", value_delimiter = ',')]
    period: Vec<String>,
    /// First date [default: the earliest date of the source]
    #[arg(long, value_name = "DATE")]
    from: Option<Date>,
    /// Last date [default: the latest day]
    #[arg(long, value_name = "DATE")]
    to: Option<Date>,
    /// Trading hours of US minute candles
    #[arg(long, value_enum)]
    sessions: Option<SessionsArgument>,
    /// Do not request candles that the store already has
    #[arg(long)]
    fill_gaps: bool,
    /// Maximum number of securities per month, if the source allows more
    #[arg(long, value_name = "N")]
    quota: Option<u32>,
    /// Maximum number of new securities
    #[arg(long, value_name = "N")]
    max_new: Option<usize>,
    /// Share of the permitted rate, such as 0.5
    #[arg(long, value_name = "SHARE")]
    rate: Option<Rate>,
    /// You are responsible for the terms of the other service, which may forbid storing its data
    #[arg(long)]
    accept_terms: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SessionsArgument {
    Regular,
    All,
}

pub(super) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let row = find(&store, Some(&arguments.name))?;
    let access = open_accounts(context)?;
    let row = accept_terms(&store, row, arguments.accept_terms, &access, context)?;
    let row = set_list(arguments, &store, row, context)?;
    let options = RunOptions {
        quota: arguments.quota,
        max_new: arguments.max_new,
        rate: arguments.rate.unwrap_or_default(),
        present: if arguments.fill_gaps { present(&store, &row, context)? } else { Default::default() },
        ..RunOptions::default()
    };
    let mut server = MirrorServer::of(&row, &access)?;
    let mut runner = Runner {
        store: &store,
        venues: context.history.venues(),
        connect: &mut server,
        time: &MachineTime,
        watch: &Silent,
        stop: &false.into(),
    };
    let (plan, limits, quota) = collect::plan(&mut runner, &row, &options)?;
    let (history, other) = (plan.history_requests(), plan.other_requests());
    let minutes = plan.time(&limits).as_secs().div_ceil(60);
    let series = plan.steps.iter().filter(|step| matches!(step, Step::Series(_))).count();
    if arguments.format == Format::Json {
        let names = |symbols: &[Symbol]| symbols.iter().map(Symbol::to_string).collect::<Vec<_>>();
        return Ok(output::json(&json!({
            "name": row.name, "securities": names(&plan.order.now), "new": plan.new_securities(),
            "waiting": names(&plan.order.waiting), "held": names(&plan.order.held),
            "waits_until": (!plan.order.waiting.is_empty()).then(|| quota.month().ends().to_string()),
            "series": series, "candles": plan.candles(), "history_requests": history,
            "other_requests": other, "minutes": minutes, "quota": quota.limit(), "quota_used": quota.used(),
        }))?);
    }
    let mut out = output::stdout();
    let securities = match plan.order.now.len() {
        1 => "1 security".to_owned(),
        several => format!("{} securities", thousands(several as u64)),
    };
    writeln!(
        out,
        "{securities}, {}, up to {} candles",
        count(series as u64, "part"),
        thousands(plan.candles())
    )?;
    writeln!(
        out,
        "{} for candles and {} others: about {}",
        count(history, "request"),
        thousands(other),
        until(minutes)
    )?;
    match quota.limit() {
        Some(limit) => writeln!(
            out,
            "{} of them new this month; {} of {limit} are used",
            thousands(plan.new_securities() as u64),
            thousands(quota.used() as u64)
        )?,
        None => writeln!(out, "the source reports no limit of securities")?,
    }
    if !plan.order.waiting.is_empty() {
        let waiting = thousands(plan.order.waiting.len() as u64);
        writeln!(out, "{waiting} wait for the next month, which begins at {}", quota.month().ends())?;
    }
    writeln!(out, "next: {}", context.hint(&format!("mirror run {}", row.name)))?;
    Ok(out.flush()?)
}

/// Stores the list and its options.
fn set_list(
    arguments: &Arguments,
    store: &Store,
    row: MirrorRow,
    context: &CommandContext,
) -> Result<MirrorRow, Failure> {
    let symbols: Vec<Symbol> =
        arguments.symbols.iter().map(|text| context.symbol(text)).collect::<Result<_, _>>()?;
    let mut settings: Settings = serde_json::from_str(&row.settings)?;
    let known = ListOptions::default().periods;
    let periods: Vec<String> = arguments
        .period
        .iter()
        .map(|text| if text == "1d" { "day".to_owned() } else { text.clone() })
        .collect();
    if let Some(wrong) = periods.iter().find(|period| !known.contains(period)) {
        return Err(usage(format!("--period {wrong}: day or 1m; the others are computed from them")));
    }
    let list = &mut settings.list;
    if !periods.is_empty() {
        list.periods = periods;
    }
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from > to
    {
        return Err(usage(format!("--from {from} is after --to {to}")));
    }
    if let Some(from) = arguments.from {
        list.from = Some(from.to_string());
    }
    if let Some(to) = arguments.to {
        list.to = Some(to.to_string());
    }
    if let Some(sessions) = arguments.sessions {
        list.all_sessions = sessions == SessionsArgument::All;
    }
    let text = serde_json::to_string(&settings)?;
    let mut data = MirrorStore::open(store, context.history.venues())?;
    data.write(|batch| {
        batch.put_mirror_settings(row.id, &text)?;
        batch.add_mirror_securities(row.id, &symbols)
    })?;
    if data.view().mirror_securities(row.id)?.is_empty() {
        return Err(usage("which securities? name them: 700.HK AAPL.US"));
    }
    Ok(MirrorRow { settings: text, ..row })
}
