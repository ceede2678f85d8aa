//! `chandler kline`: any question the specification allows, and as many pages of it as are wanted.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use files::CandleSink;
use history::{Adjust, Anchor, COUNT_DEFAULT, COUNT_MAX, Direction, Plan, Query, Select, Sessions};
use market::{Candles, Period, Symbol, Venue, Zone};
use store::Access;

use super::time;
use crate::chart;
use crate::failure::{Failure, usage};
use crate::output::{self, Column};
use crate::surroundings::{Surroundings, symbol};
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The security: 700.HK, AAPL.US, 600519.SH
    symbol: String,
    /// 1m 2m 3m 5m 10m 15m 20m 30m 45m 60m 120m 180m 240m, day, week, month, quarter or year
    #[arg(long, short, default_value = "day")]
    period: Period,
    /// How many candles; beyond 1000 it pages by itself
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u64).range(1..=COUNT_LIMIT))]
    count: Option<u64>,
    /// The newest candles up to and including this date or market-local time
    #[arg(long, value_name = "T", conflicts_with_all = ["after", "start", "end"])]
    before: Option<String>,
    /// The oldest candles from this date or market-local time on
    #[arg(long, value_name = "T", conflicts_with_all = ["start", "end"])]
    after: Option<String>,
    /// The first date of a range, included
    #[arg(long, value_name = "D", conflicts_with = "count")]
    start: Option<String>,
    /// The last date of a range, included
    #[arg(long, value_name = "D", conflicts_with = "count")]
    end: Option<String>,
    /// Bring earlier prices to today's basis
    #[arg(long, value_enum, default_value_t)]
    adjust: AdjustArgument,
    /// Trading hours: the regular ones, with pre and post, or all with overnight (US minutes)
    #[arg(long, value_enum, default_value_t)]
    session: SessionArgument,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short)]
    output: Option<PathBuf>,
}

/// A bound on what one command holds in memory: ten million candles.
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

/// Everything a question selected, oldest first.
#[derive(Debug)]
struct Collected {
    symbol: Symbol,
    period: Period,
    decimals: u32,
    candles: Candles,
    /// Whether everything that was asked for is here.
    complete: bool,
    note: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let symbol = symbol(&arguments.symbol)?;
    let venue = surroundings.history.venue(&symbol);
    let terminal = Terminal::of_stdout();
    let fits = u64::from(terminal.candles_that_fit());
    let wanted = match (arguments.format, arguments.count) {
        (_, Some(count)) => Some(count),
        (Format::Chart, None) if !arguments.is_range() => Some(fits),
        (_, None) if arguments.is_range() => None,
        (_, None) => Some(COUNT_DEFAULT as u64),
    };
    if arguments.format == Format::Parquet && arguments.output.is_none() && output::stdout_is_terminal() {
        return Err(usage("Parquet is not for the terminal: add --output FILE, or redirect"));
    }
    let select = arguments.select(venue, wanted)?;
    let query = Query {
        symbol,
        period: arguments.period,
        adjust: arguments.adjust.into(),
        sessions: arguments.session.into(),
        select,
    };
    let collected = collect(&query, wanted, surroundings)?;
    let mut out: Box<dyn Write + Send> = match &arguments.output {
        Some(path) => Box::new(std::io::BufWriter::new(create(path)?)),
        None => Box::new(output::stdout()),
    };
    match arguments.format {
        Format::Table => print_table(&mut out, &collected, venue.zone())?,
        Format::Json => print_json(&mut out, &collected, venue.zone())?,
        Format::Csv | Format::Parquet => {
            let format =
                if arguments.format == Format::Csv { files::Format::Csv } else { files::Format::Parquet };
            let mut sink = CandleSink::create(format, &mut out)?;
            sink.write(&collected.symbol, venue.zone(), collected.decimals, &collected.candles)?;
            sink.finish()?;
        }
        Format::Chart => {
            let title = chart_title(&query, surroundings)?;
            let Collected { candles, decimals, period, .. } = &collected;
            let to_screen = arguments.output.is_none();
            let options = if to_screen { terminal.chart() } else { terminal.chart_without_colour() };
            let drawing = chart::draw(&title, candles, venue.zone(), *period, *decimals, options);
            writeln!(out, "{}", drawing.trim_end_matches('\n'))?;
        }
    }
    out.flush()?;
    // JSON says so itself; the others keep the data clean and speak on stderr.
    if let Some(note) = collected.note.filter(|_| arguments.format != Format::Json) {
        eprintln!("{note}");
    }
    Ok(())
}

pub(crate) fn create(path: &std::path::Path) -> Result<std::fs::File, Failure> {
    std::fs::File::create(path).map_err(|error| usage(format!("cannot write {}: {error}", path.display())))
}

impl Arguments {
    fn is_range(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }

    fn select(&self, venue: &Venue, wanted: Option<u64>) -> Result<Select, Failure> {
        if self.is_range() {
            let date = |text: &Option<String>| text.as_deref().map(time::date).transpose();
            return Select::between(self.period, venue, date(&self.start)?, date(&self.end)?).map_err(
                |error| match error {
                    history::BadQuery::BelowMinuteFloor => {
                        let floor = venue.floors().minute;
                        usage(format!("{error}: minutes of {} are served from {floor} on", venue.market()))
                    }
                    error => usage(error),
                },
            );
        }
        let anchor = |text: &str| {
            let anchor = time::anchor(text, venue.zone())?;
            // A time of day means nothing to day candles: it is ignored, as the service does.
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

fn collect(query: &Query, wanted: Option<u64>, surroundings: &Surroundings) -> Result<Collected, Failure> {
    let store = surroundings.open(Access::Read)?;
    let mut reader = store.reader()?;
    let now = surroundings.now();
    let history = &surroundings.history;
    let plan = Plan::of(query, history.venue(&query.symbol), now);
    let forward = matches!(plan.keep, history::Keep::First(_));
    let limit = usize::try_from(wanted.unwrap_or(COUNT_LIMIT)).unwrap_or(usize::MAX);
    let (mut pages, mut rows, mut decimals) = (Vec::new(), 0, 3);
    let mut ended = true;
    for answer in history.pages(&mut reader, query, plan, now) {
        let answer = answer?;
        decimals = answer.decimals;
        rows += answer.candles.len();
        pages.push(answer.candles);
        if rows >= limit {
            ended = false;
            break;
        }
    }
    if !forward {
        pages.reverse();
    }
    let mut candles = Candles::with_capacity(rows);
    pages.iter().for_each(|page| candles.append(page));
    let surplus = rows.saturating_sub(limit);
    candles.keep(if forward { 0..rows - surplus } else { surplus..rows });
    let (complete, note) = match wanted {
        // A count is answered in full, or as far as the data goes.
        Some(count) if (candles.len() as u64) < count => {
            let snapshot = reader.snapshot()?;
            let sources = snapshot.series_of(&query.symbol)?;
            let text = match sources.iter().any(|info| info.series.grain == query.period.source()) {
                true => format!("{} of {count} candles: there are no more in that direction", candles.len()),
                false if query.period.is_clock() => {
                    format!("no one-minute candles of {} are stored", query.symbol)
                }
                false => format!("no daily candles of {} are stored", query.symbol),
            };
            (false, Some(text))
        }
        Some(_) => (true, None),
        None if ended => (true, None),
        None => (false, Some(format!("cut at {COUNT_LIMIT} candles: ask for a shorter range"))),
    };
    Ok(Collected { symbol: query.symbol.clone(), period: query.period, decimals, candles, complete, note })
}

fn chart_title(query: &Query, surroundings: &Surroundings) -> Result<String, Failure> {
    let store = surroundings.open(Access::Read)?;
    let mut reader = store.reader()?;
    let security = reader.snapshot()?.security(&query.symbol)?;
    let name = security.and_then(|s| s.name_en.or(s.name_hk).or(s.name_cn)).unwrap_or_default();
    let adjusted = if query.adjust == Adjust::Forward { ", forward adjusted" } else { "" };
    Ok(output::printable(&format!("{} {name} · {}{adjusted}", query.symbol, query.period)))
}

fn print_table(out: &mut impl Write, collected: &Collected, zone: &Zone) -> Result<(), Failure> {
    let sessions = collected.candles.session.iter().any(|session| *session != market::Session::Intraday);
    let mut columns = vec![Column::Left("time")];
    columns.extend(["open", "high", "low", "close", "volume", "turnover"].map(Column::Right));
    if sessions {
        columns.push(Column::Left("session"));
    }
    let rows = collected.candles.iter().map(|candle| {
        let price = |price: market::Price| price.text(collected.decimals).to_string();
        let (date, seconds) = zone.local(candle.time);
        let time = match collected.period {
            Period::Clock(_) => format!("{date} {:02}:{:02}", seconds / 3600, seconds / 60 % 60),
            Period::Calendar(_) => date.to_string(),
        };
        let mut row =
            vec![time, price(candle.open), price(candle.high), price(candle.low), price(candle.close)];
        row.extend([candle.volume.to_string(), candle.turnover.text().to_string()]);
        if sessions {
            row.push(candle.session.to_string());
        }
        row
    });
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    Ok(())
}

/// The wire form's names and nesting, with `time` in RFC 3339 added. Written a candle at a time: a million of them
/// need no tree in memory.
fn print_json(out: &mut impl Write, collected: &Collected, zone: &Zone) -> Result<(), Failure> {
    writeln!(out, "{{")?;
    writeln!(out, "  \"symbol\": \"{}\",", collected.symbol)?;
    writeln!(out, "  \"period\": \"{}\",", collected.period)?;
    writeln!(out, "  \"complete\": {},", collected.complete)?;
    write!(out, "  \"candlesticks\": [")?;
    for (index, candle) in collected.candles.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        let price = |price: market::Price| price.text(collected.decimals);
        write!(
            out,
            "{separator}\n    {{\"close\": \"{}\", \"open\": \"{}\", \"low\": \"{}\", \"high\": \"{}\", \"volume\": {}, \
             \"turnover\": \"{}\", \"timestamp\": {}, \"trade_session\": {}, \"time\": \"{}\"}}",
            price(candle.close),
            price(candle.open),
            price(candle.low),
            price(candle.high),
            candle.volume,
            candle.turnover.text(),
            candle.time.0,
            candle.session.code(),
            zone.rfc3339(candle.time),
        )?;
    }
    let end = if collected.candles.is_empty() { "]" } else { "\n  ]" };
    writeln!(out, "{end}\n}}")?;
    Ok(())
}
