//! `chandler demo`: generates the files of a small fictional market on the first run, imports them
//! like any other files, and shows the result.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use clap::Args;
use files::CandleSink;
use history::import::{Context, Options, Outcome, Progress, Report, import};
use history::{Adjust, Anchor, COUNT_MAX, Direction, Query, Select, Sessions};
use market::{Candles, Floors, Grain, Minutes, Period, Symbol, Timestamp};
use serde_json::json;
use store::{Access, Accounts, Part, Reader, Store, StoreError, StoreUrl};

use super::{demo_clock, demo_serve, local_serve};
use crate::clock::Clock;
use crate::context::{CommandContext, shell_word, symbol};
use crate::demo::{self, DemoSecurity};
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::terminal::Terminal;
use crate::{chart, progress};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Regenerate the data even if it is current
    #[arg(long)]
    again: bool,
    /// Generate the data without drawing charts; no progress bar and no notes on standard error
    #[arg(long, short)]
    quiet: bool,
    /// Serve the data until Ctrl-C, with a demo account. Unless --clock is given, the market is
    /// replayed at ten times real speed, without closed hours
    #[arg(long)]
    serve: bool,
    #[command(flatten)]
    ports: local_serve::Ports,
    /// JSON prints a summary instead of charts
    #[arg(long, value_enum, default_value_t, conflicts_with = "serve")]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    replace_if_too_old(context)?;
    let store = context.open(Access::Write { now: context.now() })?;
    let mut reader = store.reader()?;
    let moves = arguments.serve && !context.is_clock_named;
    let from = if moves { demo_clock::start(context)? } else { None };
    let ahead = |through: fn(&CommandContext, Timestamp) -> Option<Timestamp>| {
        from.and_then(|from| through(context, from)).unwrap_or_else(|| context.now())
    };
    let make_it = arguments.again || !is_there(context, &mut reader, ahead(demo_clock::needed_through))?;
    let progress = progress::Flags { quiet: arguments.quiet };
    if make_it {
        progress.note(&format!("generating the demo market in {} …", context.url()?));
        let rows = output::thousands(make(context, &store, progress, ahead(demo_clock::made_through))?);
        progress.note(&format!(
            "{rows} candles of {} invented securities and an option",
            demo::securities().len()
        ));
    }
    if arguments.format == Format::Json {
        let series = reader.snapshot()?.all_series()?;
        let symbols: Vec<&str> = demo::securities().iter().map(|security| security.symbol).collect();
        return Ok(output::json(&json!({
            "store": context.store_word()?, "made": make_it, "symbols": symbols,
            "candles": series.iter().map(|info| info.rows).sum::<u64>(),
        }))?);
    }
    if !arguments.quiet {
        // The store may have candles after the clock, which are hidden.
        show(&context.under(Clock::Fixed(from.unwrap_or_else(|| context.now()))), &mut reader)?;
    }
    if arguments.serve {
        drop((reader, store));
        return demo_serve::run(context, &arguments.ports, progress, from);
    }
    Ok(())
}

/// Returns whether the store holds the demo data up to the last trading day that ends before `until`.
fn is_there(context: &CommandContext, reader: &mut Reader, until: Timestamp) -> Result<bool, Failure> {
    let snapshot = reader.snapshot()?;
    for security in demo::securities() {
        let symbol = symbol(security.symbol)?;
        let history = &context.history;
        let zone = history.venue(&symbol).zone();
        let stored = snapshot.series_of(&symbol)?;
        let days = stored.iter().filter(|info| info.series.grain == Grain::Day);
        let last = days.map(|info| zone.date(info.last)).max();
        let lacks_days = last.is_none() || last < demo::last_day(security, history.venues(), until);
        let lacks_trades = demo::is_traded(security) && snapshot.trade_day_count(&symbol)? == 0;
        if lacks_days || lacks_trades {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Generates and imports the data up to `until`. Returns the number of candles.
pub(super) fn make(
    context: &CommandContext,
    store: &store::Store,
    flags: progress::Flags,
    until: Timestamp,
) -> Result<u64, Failure> {
    let directory = context.work_folder(None)?.join(FILES);
    let paths = write_files(context, &directory, until, flags)?;
    // Candles from an older version of the demo may be replaced.
    let options = Options { replace: true, ..Options::default() };
    let (stop, progress) = (AtomicBool::new(false), Progress::default());
    let clock = || context.now();
    let venues = context.history.venues();
    let job = Context { store, venues, options: &options, now: &clock, stop: &stop, progress: &progress };
    let total = paths.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum();
    let bar = flags.bytes(total);
    let reports = bar.over_import(&progress, total, || import(&job, &paths))?;
    drop(bar);
    for report in &reports {
        if let Outcome::Failed(message) = &report.outcome {
            return Err(anyhow::anyhow!("demo data {}: {message}", report.path.display()).into());
        }
        if let Some((line, reason)) = report.problems.first().filter(|_| !is_faulty(report)) {
            return Err(anyhow::anyhow!("demo data {}:{line}: {reason}", report.path.display()).into());
        }
    }
    let is_of_candles = |report: &&Report| report.kind == "candles" && !is_faulty(report);
    Ok(reports.iter().filter(is_of_candles).map(|report| report.rows).sum())
}

/// Returns whether the report is for the demo file with deliberate errors.
fn is_faulty(report: &Report) -> bool {
    report.path.ends_with(demo::FAULTY_NAME)
}

/// Writes the market's data as files like those of a real user: tables of securities and corporate
/// actions, two Parquet files per security, a table of trades, and a file with deliberate errors.
fn write_files(
    context: &CommandContext,
    directory: &Path,
    now: Timestamp,
    flags: progress::Flags,
) -> Result<Vec<PathBuf>, Failure> {
    std::fs::create_dir_all(directory)?;
    let venues = context.history.venues();
    let securities = directory.join("securities.csv");
    let actions = directory.join("actions.csv");
    let mut securities_file = BufWriter::new(File::create(&securities)?);
    let mut actions_file = BufWriter::new(File::create(&actions)?);
    writeln!(
        securities_file,
        "symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,board,listing_date,decimals,{}",
        demo::FIGURES_COLUMNS
    )?;
    writeln!(actions_file, "symbol,ex_date,cash,split,bonus,rights,rights_price")?;
    let trades = directory.join("trades.csv");
    let mut trades_file = BufWriter::new(File::create(&trades)?);
    writeln!(trades_file, "symbol,time,price,volume,direction,type")?;
    let mut paths = vec![securities, actions];
    let bar = flags.count(demo::securities().len() as u64, "securities");
    for security in demo::securities() {
        bar.say(|| security.symbol.to_owned());
        let DemoSecurity {
            name_en,
            name_cn,
            name_hk,
            exchange,
            currency,
            lot_size,
            board,
            listing_date,
            decimals,
            ..
        } = security;
        let symbol = symbol(security.symbol)?;
        let now = demo::made_until(security, venues, now);
        writeln!(
            securities_file,
            "{symbol},{name_en},{name_cn},{name_hk},{exchange},{currency},{lot_size},{board},{listing_date},{decimals},,,,,,,,"
        )?;
        for (_, figures) in demo::FIGURES.iter().filter(|(symbol, _)| *symbol == security.symbol) {
            writeln!(securities_file, "{symbol},,,,,,,,,,{figures}")?;
        }
        for action in demo::actions(security, venues, now) {
            let market::Action { ex_date, cash, split, bonus, rights, rights_price } = action;
            writeln!(actions_file, "{symbol},{ex_date},{cash},{split},{bonus},{rights},{rights_price}")?;
        }
        let days = std::iter::once(demo::daily(security, venues, now));
        paths.push(write_candles(context, directory, &symbol, "1d", *decimals, days)?);
        paths.push(write_intraday(context, directory, security, now)?);
        for trade in demo::trades(security, venues, now).iter() {
            let (price, direction) = (trade.price.text(*decimals), trade.direction.as_str());
            let market::Trade { time, volume, kind, .. } = trade;
            writeln!(trades_file, "{symbol},{},{price},{volume},{direction},{kind}", time.0)?;
        }
        bar.advance(1);
    }
    drop(bar);
    if let Some(demo::DemoOption { symbol, days, minutes }) = demo::option(venues, now)? {
        for (grain, candles) in [("1d", days), ("1m", minutes)] {
            let batch = std::iter::once(candles);
            paths.push(write_candles(context, directory, &symbol, grain, demo::OPTION_DECIMALS, batch)?);
        }
    }
    trades_file.flush()?;
    paths.push(trades);
    let faulty = directory.join(demo::FAULTY_NAME);
    std::fs::write(&faulty, demo::FAULTY_ROWS)?;
    paths.push(faulty);
    securities_file.flush()?;
    actions_file.flush()?;
    Ok(paths)
}

/// Writes one-minute candles, or coarser candles for a security without one-minute data.
fn write_intraday(
    context: &CommandContext,
    directory: &Path,
    security: &DemoSecurity,
    now: Timestamp,
) -> Result<PathBuf, Failure> {
    let (symbol, decimals) = (symbol(security.symbol)?, security.decimals);
    let venues = context.history.venues();
    match demo::coarse_period(security) {
        Some(period) => {
            let batches = demo::coarse(security, venues, now, period)?;
            let grain = period.to_string();
            write_candles(context, directory, &symbol, &grain, decimals, batches.into_iter())
        }
        None => {
            let batches = demo::minutes(security, venues, now);
            write_candles(context, directory, &symbol, "1m", decimals, batches)
        }
    }
}

fn write_candles(
    context: &CommandContext,
    directory: &Path,
    symbol: &Symbol,
    grain: &str,
    decimals: u32,
    batches: impl Iterator<Item = Candles>,
) -> Result<PathBuf, Failure> {
    let path = directory.join(format!("{symbol}_{grain}.parquet"));
    let zone = context.history.venue(symbol).zone();
    let mut sink = CandleSink::create(files::Format::Parquet, BufWriter::new(File::create(&path)?))?;
    for batch in batches {
        sink.write(symbol, zone, decimals, &batch)?;
    }
    sink.finish()?;
    Ok(path)
}

fn show(context: &CommandContext, reader: &mut Reader) -> Result<(), Failure> {
    let terminal = Terminal::of_stdout();
    let mut out = output::stdout();
    let hour = Minutes::new(60).map_or(Period::DAY, Period::Clock);
    // The first export has adjusted daily candles of a security with splits and dividends. The
    // second has hourly candles of another security, including pre-market and post-market candles.
    let [first, second] = [("9001.HK", Period::DAY), ("CNDL.US", hour)];
    for (code, period) in [first, second] {
        let symbol = symbol(code)?;
        let count = usize::from(terminal.candles_that_fit()).min(COUNT_MAX);
        let query = Query {
            symbol: symbol.clone(),
            period,
            adjust: Adjust::Forward,
            sessions: Sessions::Extended,
            floors: Floors::NONE,
            select: Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count },
        };
        let answer = context.history.candles(reader, &query, context.as_of())?;
        let name =
            reader.snapshot()?.security(&symbol)?.and_then(|security| security.name_en).unwrap_or_default();
        let title = format!("{symbol} {name} · {period}, forward adjusted");
        let zone = context.history.venue(&symbol).zone();
        write!(
            out,
            "{}",
            chart::draw(&title, &answer.candles, zone, period, answer.decimals, terminal.chart())
        )?;
        writeln!(out)?;
    }
    let store = context.store_word()?;
    writeln!(out, "Try next (the store is {store}):")?;
    for command in [
        "inspect",
        "kline 9001.HK --period week --adjust forward --count 20",
        "kline CNDL.US --period 5m --session all --format json",
        "coverage",
        "export CNDL.US --period 1m --output cndl.parquet",
    ] {
        writeln!(out, "  chandler --store {} {command}", shell_word(&store))?;
    }
    out.flush()?;
    Ok(())
}

/// Folder for the generated files. Its existence marks a store as filled by the demo.
const FILES: &str = "demo";
/// Default store directory of `chandler demo`.
pub(crate) const DEFAULT: &str = "chandler-demo";
/// Store directory of the demo in the Makefile.
const OF_MAKE: &str = "demo";
/// Folder for the databases of a replaced demo store.
const OLDER: &str = "older-store";

/// Replaces a demo store whose schema is too old to migrate. Nothing is deleted: the old databases
/// are moved to a folder in the store's directory, because they may contain more than the demo.
fn replace_if_too_old(context: &CommandContext) -> Result<(), Failure> {
    let place = context.url()?;
    let Some(directory) = context.directory().filter(|directory| is_of_demo(directory)) else {
        return Ok(());
    };
    if !is_too_old(place) {
        return Ok(());
    }
    let older = free_name(directory);
    std::fs::create_dir(&older).with_context(|| format!("cannot create {}", older.display()))?;
    for path in files(directory).into_iter().filter(|path| path.exists()) {
        let Some(name) = path.file_name() else { continue };
        std::fs::rename(&path, older.join(name))
            .with_context(|| format!("cannot move {}", path.display()))?;
    }
    output::note(format_args!(
        "the demo store in {place} has an older schema: moved it to {}, creating a new one",
        older.display()
    ));
    Ok(())
}

fn is_of_demo(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| [DEFAULT, OF_MAKE].contains(&name)) && directory.join(FILES).is_dir()
}

fn is_too_old(place: &StoreUrl) -> bool {
    matches!(Store::open(place, Access::Look), Err(StoreError::TooOld { .. }))
        || matches!(Accounts::look(place), Err(StoreError::TooOld { .. }))
}

/// Returns the paths of the databases, their WAL files, the key file and the demo account's
/// credentials.
fn files(directory: &Path) -> Vec<PathBuf> {
    let databases = [Part::Candles.file_name(), "ingest.db", Part::Accounts.file_name()];
    let with_logs = databases.iter().flat_map(|name| ["", "-wal", "-shm"].map(|log| format!("{name}{log}")));
    let of_accounts = [Part::Key.file_name(), demo_serve::FILE, demo_clock::FILE].map(str::to_owned);
    with_logs.chain(of_accounts).map(|name| directory.join(name)).collect()
}

fn free_name(directory: &Path) -> PathBuf {
    let names =
        std::iter::once(OLDER.to_owned()).chain((2..=u32::MAX).map(|number| format!("{OLDER}-{number}")));
    let mut paths = names.map(|name| directory.join(name));
    paths.find(|path| !path.exists()).unwrap_or_else(|| directory.join(OLDER))
}
