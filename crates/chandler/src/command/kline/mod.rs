//! `chandler kline`: runs a candle query, over as many pages as needed, against the local store or
//! a server.

mod print;
mod watch;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use files::CandleSink;
use history::{Adjust, Anchor, COUNT_DEFAULT, COUNT_MAX, Direction, Plan, Query, Select, Sessions, Take};
use market::{Candles, Floors, Period, Symbol, Venue};
use store::{Access, SeriesInfo, Store};

use super::time;
use crate::chart::{self, ChartOptions};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::remote::candles::{self, CandlePages};
use crate::remote::session::Session;
use crate::remote::{self, MachineTime};
use crate::suggest::{self, PeriodParser};
use crate::terminal::Terminal;
use crate::{output, progress};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The security: 700.HK, AAPL.US, 600519.SH
    symbol: String,
    #[arg(long, short, default_value = "day", value_parser = PeriodParser, hide_possible_values = true, help = suggest::periods())]
    period: Period,
    #[arg(
        long,
        short = 'n',
        value_parser = clap::value_parser!(u64).range(1..=COUNT_LIMIT),
        help = format!("Number of candles; more than {COUNT_MAX} are read in pages")
    )]
    count: Option<u64>,
    /// The newest candles up to and including this date or market-local time
    #[arg(long, value_name = "T", conflicts_with_all = ["after", "start", "end"])]
    before: Option<String>,
    /// The oldest candles from this date or market-local time on
    #[arg(long, value_name = "T", conflicts_with_all = ["start", "end"])]
    after: Option<String>,
    /// First date of a range, inclusive
    #[arg(long, value_name = "D")]
    start: Option<String>,
    /// Last date of a range, inclusive
    #[arg(long, value_name = "D")]
    end: Option<String>,
    /// Adjust earlier prices for splits and dividends
    #[arg(long, value_enum, default_value_t)]
    adjust: AdjustArgument,
    /// Trading sessions of US minutes: regular, with pre- and post-market, or all with overnight
    #[arg(long, value_enum, default_value_t)]
    session: SessionArgument,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Show a full-screen chart that is redrawn at this interval and on resize; q quits
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "5",
          value_parser = clap::value_parser!(u16).range(1..=3600), conflicts_with_all = ["output", "after"])]
    watch: Option<u16>,
    #[command(flatten)]
    remote: remote::ServerFlags,
    #[command(flatten)]
    progress: progress::Flags,
}

/// Maximum number of candles per command. Bounds the command's memory use.
const COUNT_LIMIT: u64 = 10_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdjustArgument {
    #[default]
    None,
    Forward,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SessionArgument {
    #[default]
    Intraday,
    Extended,
    All,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Table,
    Json,
    Csv,
    Chart,
    Parquet,
}

impl From<AdjustArgument> for Adjust {
    fn from(argument: AdjustArgument) -> Adjust {
        match argument {
            AdjustArgument::None => Adjust::None,
            AdjustArgument::Forward => Adjust::Forward,
        }
    }
}

impl From<SessionArgument> for Sessions {
    fn from(argument: SessionArgument) -> Sessions {
        match argument {
            SessionArgument::Intraday => Sessions::Intraday,
            SessionArgument::Extended => Sessions::Extended,
            SessionArgument::All => Sessions::All,
        }
    }
}

/// Formats a table for a terminal or for a file.
type Layout = fn(output::Table) -> String;

/// All candles selected by a query, oldest first.
#[derive(Debug)]
struct CollectedCandles {
    symbol: Symbol,
    period: Period,
    decimals: u32,
    candles: Candles,
    /// Whether all requested candles are included.
    complete: bool,
    note: Option<String>,
}

/// Source of the candles. A source can be moved to another thread, because a query may be slow.
enum Source {
    Here,
    Server { session: Session, time: MachineTime },
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    arguments.check_range()?;
    if arguments.format == Format::Parquet && arguments.output.is_none() && output::stdout_is_terminal() {
        return Err(usage("Parquet is not for the terminal: add --output FILE, or redirect"));
    }
    let session = arguments.remote.session(context)?;
    if let Some(seconds) = arguments.watch {
        return arguments.watch(session, seconds, context);
    }
    let source = match session {
        Some(session) => Source::Server { session, time: MachineTime::new()? },
        None => Source::Here,
    };
    let symbol = source.symbol(&arguments.symbol, context)?;
    let terminal = Terminal::of_stdout();
    let (query, wanted) = arguments.query(&symbol, &terminal, context)?;
    let collected = source.collect(&query, wanted, arguments.progress, context)?;
    // The title is read before any output, because a failure must not leave a partial file.
    let title = match arguments.format {
        Format::Chart => source.title(&query, context)?,
        _ => String::new(),
    };
    // Only standard output may be a terminal with a limited width.
    let (options, layout): (_, Layout) = match arguments.output {
        None => (terminal.chart(), output::text),
        Some(_) => (terminal.chart_without_colour(), |table| table.whole()),
    };
    let write = |out: &mut (dyn Write + Send)| {
        collected.write(arguments.format, out, &title, context, options, layout)?;
        Ok(out.flush()?)
    };
    match &arguments.output {
        Some(path) => output::file(path, write)?,
        None => write(&mut output::stdout())?,
    }
    // JSON output has a field for the note. For other formats the note goes to stderr, so that the
    // output contains only data.
    if let Some(note) = collected.note.filter(|_| arguments.format != Format::Json) {
        arguments.progress.note(&note);
    }
    Ok(())
}

impl Arguments {
    /// Returns the query and the number of candles to return. The number is `None` for a date
    /// range, which returns all candles in the range.
    fn query(
        &self,
        symbol: &Symbol,
        terminal: &Terminal,
        context: &CommandContext,
    ) -> Result<(Query, Option<u64>), Failure> {
        let wanted = match (self.format, self.count) {
            (_, Some(count)) => Some(count),
            (_, None) if self.is_range() => None,
            (Format::Chart, None) => Some(u64::from(terminal.candles_that_fit())),
            (_, None) => Some(COUNT_DEFAULT as u64),
        };
        let select = self.select(context.history.venue(symbol), wanted)?;
        let query = Query {
            symbol: symbol.clone(),
            period: self.period,
            adjust: self.adjust.into(),
            sessions: self.session.into(),
            // The local store shows all stored data; a server applies its own floors.
            floors: Floors::NONE,
            select,
        };
        Ok((query, wanted))
    }

    /// Shows a full-screen chart, redrawn every `seconds` and when the window is resized.
    fn watch(&self, session: Option<Session>, seconds: u16, context: &CommandContext) -> Result<(), Failure> {
        if self.format != Format::Chart || !output::stdout_is_terminal() {
            return Err(usage("--watch is for --format chart on a terminal"));
        }
        if Terminal::of_stdout().is_dumb() {
            return Err(usage(
                "--watch needs a terminal with cursor control, which TERM says this one lacks: omit --watch, or \
                correct TERM, such as to xterm",
            ));
        }
        let quiet = progress::Flags { quiet: true };
        let stop = Arc::new(AtomicBool::new(false));
        let source = match session {
            Some(session) => Source::Server { session, time: MachineTime::until(Arc::clone(&stop)) },
            None => Source::Here,
        };
        // Until the chart is shown, Ctrl-C kills the process as usual.
        let symbol = source.symbol(&self.symbol, context)?;
        let (query, _) = self.query(&symbol, &Terminal::of_stdout(), context)?;
        let title = source.title(&query, context)?;
        let there = context.again();
        watch::run(
            seconds,
            &stop,
            |terminal| self.query(&symbol, terminal, context),
            move |(query, wanted)| source.collect(&query, wanted, quiet, &there),
            |collected: &CollectedCandles, terminal| collected.draw(&title, context, terminal.chart()),
        )
    }

    /// Returns an error if `-n` is combined with `--start` or `--end`, which select all candles in
    /// a range. The error suggests the flag to use instead.
    fn check_range(&self) -> Result<(), Failure> {
        let Some(count) = self.count else { return Ok(()) };
        match (&self.start, &self.end) {
            (None, None) => Ok(()),
            (Some(start), None) => Err(usage(format!(
                "--start selects a range with all of its candles: for {count} from a date on, write --after {start} -n {count}"
            ))),
            (None, Some(end)) => Err(usage(format!(
                "--end selects a range with all of its candles: for {count} up to a date, write --before {end} -n {count}"
            ))),
            (Some(start), Some(end)) => Err(usage(format!(
                "--start and --end select a range with all of its candles: omit -n, or write --after {start} -n {count} or \
                 --before {end} -n {count}"
            ))),
        }
    }

    fn is_range(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }

    fn select(&self, venue: &Venue, wanted: Option<u64>) -> Result<Select, Failure> {
        if self.is_range() {
            let date = |text: &Option<String>| text.as_deref().map(time::date).transpose();
            return Select::between(self.period, Floors::NONE, date(&self.start)?, date(&self.end)?)
                .map_err(usage);
        }
        let anchor = |text: &str| {
            let anchor = time::anchor(text, venue.zone())?;
            // The time of day is ignored for daily candles, as in the API.
            Ok::<Anchor, Failure>(match anchor {
                Anchor::Minute(date, _) if !self.period.is_clock() => Anchor::Day(date),
                anchor => anchor,
            })
        };
        let (direction, anchor) = match (&self.before, &self.after) {
            (Some(text), _) => (Direction::Past, anchor(text)?),
            (None, Some(text)) => (Direction::Present, anchor(text)?),
            (None, None) => (Direction::Past, Anchor::Latest),
        };
        let count = usize::try_from(wanted.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(COUNT_MAX);
        Ok(Select::Offset { direction, anchor, count })
    }
}

impl Source {
    /// Parses a symbol. The error for an invalid symbol includes suggestions.
    fn symbol(&self, text: &str, context: &CommandContext) -> Result<Symbol, Failure> {
        match self {
            Source::Here => context.symbol(text),
            Source::Server { session, .. } => text.parse().map_err(|error| {
                let names = candles::suggestions(session, text);
                usage(format!("{error}{}", suggest::question(&names)))
            }),
        }
    }

    fn collect(
        &self,
        query: &Query,
        wanted: Option<u64>,
        progress: progress::Flags,
        context: &CommandContext,
    ) -> Result<CollectedCandles, Failure> {
        let venue = context.history.venue(&query.symbol);
        let plan = Plan::of(query, venue, context.as_of());
        let take = plan.take;
        let limit = wanted.unwrap_or(COUNT_LIMIT);
        let bar = progress.count(limit, "candles");
        let gathered = match self {
            Source::Here => {
                let store = context.open(Access::Read)?;
                gather(&store, query, plan, limit, &bar, context)
                    .map_err(|failure| suggest::hinted(failure, &store))?
            }
            Source::Server { session, time } => candles::gather(session, query, limit, &bar, time)?,
        };
        drop(bar);
        let CandlePages { pages, decimals, ended } = gathered;
        let mut candles = history::in_order(pages, take);
        let rows = candles.len();
        let surplus = rows.saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        candles.retain_rows(match take {
            Take::First(_) => 0..rows - surplus,
            Take::Last(_) => surplus..rows,
        });
        let (complete, note) = match wanted {
            // The store has fewer candles than requested.
            Some(count) if (candles.len() as u64) < count => {
                (false, Some(self.too_few(query, candles.len(), count, context)?))
            }
            Some(_) => (true, None),
            None if ended => (true, None),
            None => (false, Some(format!("truncated at {COUNT_LIMIT} candles: request a shorter range"))),
        };
        Ok(CollectedCandles {
            symbol: query.symbol.clone(),
            period: query.period,
            decimals,
            candles,
            complete,
            note,
        })
    }

    /// Returns a note that explains why there are fewer candles than requested.
    fn too_few(
        &self,
        query: &Query,
        found: usize,
        count: u64,
        context: &CommandContext,
    ) -> Result<String, Failure> {
        if let (Source::Here, 0) = (self, found) {
            let mut reader = context.open(Access::Read)?.reader()?;
            let sources = reader.snapshot()?.series_of(&query.symbol)?;
            let (venue, as_of) = (context.history.venue(&query.symbol), context.as_of());
            let shown = |info: &&SeriesInfo| as_of.shows(venue, info);
            let is_source = |info: &SeriesInfo| history::makes(venue, query.period, info, as_of);
            if !sources.iter().filter(shown).any(is_source) {
                let kind = if query.period.is_clock() { "one-minute" } else { "daily" };
                let coarse = sources.iter().filter(shown).map(|info| info.series.grain);
                let coarse = coarse.filter(|grain| query.period.is_clock() && grain.is_own()).min();
                let coarse =
                    coarse.map(|grain| format!("; {} candles are the finest available", grain.written()));
                return Ok(format!(
                    "no {kind} candles of {} are stored{}",
                    query.symbol,
                    coarse.unwrap_or_default()
                ));
            }
        }
        Ok(format!("{found} of {count} candles: there are no more in that direction"))
    }

    fn title(&self, query: &Query, context: &CommandContext) -> Result<String, Failure> {
        let name = match self {
            Source::Here => {
                let mut reader = context.open(Access::Read)?.reader()?;
                let security = reader.snapshot()?.security(&query.symbol)?;
                security.and_then(|s| s.name_en.or(s.name_hk).or(s.name_cn))
            }
            Source::Server { session, .. } => candles::name(session, &query.symbol),
        };
        let adjusted = if query.adjust == Adjust::Forward { ", forward adjusted" } else { "" };
        let name = name.map(|name| format!(" {name}")).unwrap_or_default();
        Ok(output::printable(&format!("{}{name} · {}{adjusted}", query.symbol, query.period)))
    }
}

impl CollectedCandles {
    fn write(
        &self,
        format: Format,
        mut out: &mut (dyn Write + Send),
        title: &str,
        context: &CommandContext,
        options: ChartOptions,
        layout: Layout,
    ) -> Result<(), Failure> {
        let zone = context.history.venue(&self.symbol).zone();
        match format {
            Format::Table => print::table(&mut out, self, zone, layout),
            Format::Json => print::json(&mut out, self, zone),
            Format::Csv | Format::Parquet => {
                let format = if format == Format::Csv { files::Format::Csv } else { files::Format::Parquet };
                let mut sink = CandleSink::create(format, out)?;
                sink.write(&self.symbol, zone, self.decimals, &self.candles)?;
                Ok(sink.finish().map(drop)?)
            }
            Format::Chart => {
                let drawing = self.draw(title, context, options);
                Ok(writeln!(out, "{}", drawing.trim_end_matches('\n'))?)
            }
        }
    }

    fn draw(&self, title: &str, context: &CommandContext, options: ChartOptions) -> String {
        let zone = context.history.venue(&self.symbol).zone();
        chart::draw(title, &self.candles, zone, self.period, self.decimals, options)
    }
}

/// Reads pages from the store, in the query's order, until there are enough candles or no more
/// pages.
fn gather(
    store: &Store,
    query: &Query,
    plan: Plan,
    limit: u64,
    bar: &progress::Bar,
    context: &CommandContext,
) -> Result<CandlePages, Failure> {
    let mut reader = store.reader()?;
    let mut gathered = CandlePages::default();
    let mut rows = 0;
    for answer in context.history.pages(&mut reader, query, plan, context.as_of()) {
        let answer = answer?;
        gathered.decimals = answer.decimals;
        rows += answer.candles.len() as u64;
        gathered.pages.push(answer.candles);
        bar.set(rows);
        if rows >= limit {
            gathered.ended = false;
            break;
        }
    }
    Ok(gathered)
}
