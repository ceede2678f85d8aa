//! `chandler coverage`: compares stored candles with the trading calendar.

use std::cmp::Reverse;
use std::io::Write;

use clap::Args;
use history::{Coverage, DayCoverage, GapReason, HistoryError};
use market::{Date, DayKind, Market, Symbol, Zone};
use serde_json::{Value, json};
use store::{Access, Lane, Reader};

use super::list::MarketArgument;
use super::time;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};
use crate::{progress, suggest};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One security in detail; without it, one line for each security
    symbol: Option<String>,
    /// First date, inclusive
    #[arg(long, value_name = "D")]
    start: Option<String>,
    /// Last date, inclusive
    #[arg(long, value_name = "D")]
    end: Option<String>,
    /// List complete days as well as those with gaps
    #[arg(long)]
    all: bool,
    /// Single trades instead of candles: list trading days without any
    #[arg(long, conflicts_with = "all")]
    trades: bool,
    /// Only securities of this market
    #[arg(long, value_enum, ignore_case = true, conflicts_with_all = ["symbol", "trades"])]
    market: Option<MarketArgument>,
    /// Sort by gaps, most first: missing days, then unexplained minutes, then days since the last
    /// candle
    #[arg(long, conflicts_with_all = ["symbol", "trades"])]
    worst: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    progress: progress::Flags,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open(Access::Read)?;
    let mut reader = store.reader()?;
    if arguments.trades {
        let symbol = arguments.symbol.as_deref().map(|text| context.symbol(text)).transpose()?;
        if let Some(symbol) = &symbol
            && reader.snapshot()?.security(symbol)?.is_none()
        {
            let unknown = HistoryError::UnknownSecurity(symbol.clone()).into();
            return Err(suggest::hinted(unknown, &store));
        }
        let (range, format) = (range(arguments)?, arguments.format);
        return list_trades(symbol.as_ref(), range, format, context, &mut reader);
    }
    match &arguments.symbol {
        Some(text) => {
            one(arguments, context, &mut reader, text).map_err(|failure| suggest::hinted(failure, &store))
        }
        None => all(arguments, context, &mut reader),
    }
}

fn of(
    arguments: &Arguments,
    context: &CommandContext,
    reader: &mut Reader,
    of: &market::Symbol,
) -> Result<Coverage, Failure> {
    let range = range(arguments)?;
    Ok(history::coverage(&context.history, reader, of, range, context.as_of())?)
}

fn range(arguments: &Arguments) -> Result<(Option<Date>, Option<Date>), Failure> {
    let date = |text: &Option<String>| text.as_deref().map(time::date).transpose();
    let range = (date(&arguments.start)?, date(&arguments.end)?);
    if let (Some(start), Some(end)) = range
        && start > end
    {
        return Err(usage(history::BadQuery::Backwards { start, end }));
    }
    Ok(range)
}

fn one(
    arguments: &Arguments,
    context: &CommandContext,
    reader: &mut Reader,
    text: &str,
) -> Result<(), Failure> {
    let symbol = context.symbol(text)?;
    let zone = context.history.venue(&symbol).zone();
    let coverage = of(arguments, context, reader, &symbol)?;
    let (within, _) = coverage.split();
    let listed = if arguments.all { coverage.days.as_slice() } else { within };
    let shown = listed.iter().filter(|day| arguments.all || !day.is_complete());
    if arguments.format == Format::Json {
        let days: Vec<Value> = shown.map(|day| day_json(day, zone)).collect();
        output::json(&json!({"symbol": symbol.as_str(), "summary": summary_json(&coverage), "days": days}))?;
        return Ok(());
    }
    let mut out = output::stdout();
    let mut columns = vec![Column::Left("date"), Column::Left("day"), Column::Left("daily")];
    columns.extend(["minutes", "expected", "extended"].map(Column::Right));
    // The "of" column (candle period) is omitted in the common case that all intraday candles are
    // one-minute candles.
    let has_coarse = coverage.days.iter().any(|day| day.grain.is_own());
    columns.extend(has_coarse.then_some(Column::Left("of")));
    columns.push(Column::Left("missing"));
    let rows = shown.map(|day| {
        let mut row = vec![
            day.date.to_string(),
            kind(day).to_owned(),
            daily(day),
            day.stored.to_string(),
            day.expected.to_string(),
            day.extended.to_string(),
        ];
        row.extend(has_coarse.then(|| day.grain.written().to_owned()));
        row.push(missing(day, zone));
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        writeln!(
            out,
            "{}\n",
            output::text(output::table(&columns, rows).optional(&["day", "extended", "expected", "of"]))
        )?;
    }
    let sum = Sum::of(&coverage);
    writeln!(out, "{}", sum.sentence(&coverage))?;
    out.flush()?;
    Ok(())
}

fn all(arguments: &Arguments, context: &CommandContext, reader: &mut Reader) -> Result<(), Failure> {
    // Only series with a visible candle in regular hours are listed, because candles outside
    // regular hours do not count towards coverage.
    let mut series = reader.snapshot()?.all_series()?;
    series.retain(|info| {
        let venue = context.history.venue(&info.series.symbol);
        let is_wanted =
            arguments.market.is_none_or(|market| Market::from(market) == info.series.symbol.market());
        is_wanted && info.series.lane == Lane::Regular && context.as_of().shows(venue, info)
    });
    let mut symbols: Vec<market::Symbol> = series.into_iter().map(|info| info.series.symbol).collect();
    symbols.sort();
    symbols.dedup();
    let mut found: Vec<(Sum, Vec<String>, Value)> = Vec::new();
    let bar = arguments.progress.count(symbols.len() as u64, "securities");
    for symbol in symbols {
        bar.say(|| symbol.to_string());
        let coverage = of(arguments, context, reader, &symbol)?;
        bar.advance(1);
        let sum = Sum::of(&coverage);
        let (within, _) = coverage.split();
        let document = json!({"symbol": symbol.as_str(), "summary": summary_json(&coverage)});
        let edge = |day: Option<&DayCoverage>| day.map(|day| day.date.to_string()).unwrap_or_default();
        let row = vec![
            symbol.to_string(),
            edge(within.first()),
            edge(within.last()),
            within.len().to_string(),
            sum.days_after.to_string(),
            sum.daily_missing.to_string(),
            sum.expected.to_string(),
            sum.no_trades.to_string(),
            sum.not_loaded.to_string(),
            sum.unknown.to_string(),
        ];
        found.push((sum, row, document));
    }
    drop(bar);
    if arguments.worst {
        found.sort_by_key(|(sum, ..)| {
            Reverse((sum.daily_missing, sum.not_loaded + sum.unknown, sum.days_after))
        });
    }
    if arguments.format == Format::Json {
        let documents: Vec<Value> = found.into_iter().map(|(.., document)| document).collect();
        output::json(&documents)?;
        return Ok(());
    }
    let rows = found.into_iter().map(|(_, row, _)| row);
    let mut columns = vec![Column::Left("symbol"), Column::Left("from"), Column::Left("through")];
    let numbers =
        ["days", "days since", "days missing", "minutes expected", "no trades", "not loaded", "unknown"];
    columns.extend(numbers.map(Column::Right));
    let mut out = output::stdout();
    writeln!(
        out,
        "{}",
        output::text(output::table(&columns, rows).optional(&[
            "unknown",
            "minutes expected",
            "not loaded",
            "days since",
            "days"
        ]))
    )?;
    out.flush()?;
    Ok(())
}

/// Totals for one security: missing daily candles, and expected, stored and missing one-minute
/// candles.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Number of trading days since the last candle.
    days_after: usize,
    daily_missing: usize,
    expected: u64,
    stored: u64,
    no_trades: u64,
    not_loaded: u64,
    unknown: u64,
}

impl Sum {
    fn of(coverage: &Coverage) -> Sum {
        let (within, after) = coverage.split();
        let mut sum = Sum { days_after: after.len(), ..Sum::default() };
        for day in within {
            sum.daily_missing +=
                usize::from(day.daily_gap.is_some_and(|reason| reason != GapReason::NoTrades));
            sum.expected += u64::from(day.expected);
            sum.stored += u64::from(day.stored);
            for gap in &day.gaps {
                let of = match gap.reason {
                    GapReason::NoTrades => &mut sum.no_trades,
                    GapReason::NotLoaded => &mut sum.not_loaded,
                    GapReason::Unknown => &mut sum.unknown,
                };
                *of += u64::from(gap.minutes);
            }
        }
        sum
    }

    fn sentence(&self, coverage: &Coverage) -> String {
        let n = output::thousands;
        let (within, after) = coverage.split();
        let days = within.len() as u64;
        let complete = within.iter().filter(|day| day.is_complete()).count() as u64;
        let end = match after {
            [] => String::new(),
            [day] => format!("; ends on {}, 1 trading day before {}", coverage.last, day.date),
            [.., day] => {
                let (last, days) = (coverage.last, n(after.len() as u64));
                format!("; ends on {last}, {days} trading days before {}", day.date)
            }
        };
        format!(
            "{}: {} trading days, {} complete, {} daily candles missing; {} of {} regular minutes stored, \
             {} without trades, {} not loaded, {} unexplained{end}",
            coverage.symbol,
            n(days),
            n(complete),
            n(self.daily_missing as u64),
            n(self.stored),
            n(self.expected),
            n(self.no_trades),
            n(self.not_loaded),
            n(self.unknown),
        )
    }
}

fn kind(day: &DayCoverage) -> &'static str {
    match day.kind {
        Some(DayKind::Full) => "full",
        Some(DayKind::Half) => "half",
        None => "closed",
    }
}

fn daily(day: &DayCoverage) -> String {
    match day.daily_gap {
        None if day.daily => "yes".to_owned(),
        None => "not over".to_owned(),
        Some(reason) => reason.as_str().to_owned(),
    }
}

/// Maximum number of gaps listed per day. Further gaps are only counted.
const GAPS_SHOWN: usize = 4;

fn missing(day: &DayCoverage, zone: &Zone) -> String {
    let clock = |at: market::Timestamp| {
        let (_, seconds) = zone.local(at);
        format!("{:02}:{:02}", seconds / 3600, seconds / 60 % 60)
    };
    let spell = |gap: &history::Gap| {
        let times = if gap.minutes == 1 {
            clock(gap.first)
        } else {
            format!("{}–{}", clock(gap.first), clock(gap.last))
        };
        format!("{times} {}", gap.reason.as_str())
    };
    let mut parts: Vec<String> = day.gaps.iter().take(GAPS_SHOWN).map(spell).collect();
    if day.gaps.len() > GAPS_SHOWN {
        parts.push(format!("and {} more", day.gaps.len() - GAPS_SHOWN));
    }
    parts.join(", ")
}

fn summary_json(coverage: &Coverage) -> Value {
    let sum = Sum::of(coverage);
    let (within, _) = coverage.split();
    json!({
        "from": within.first().map(|day| day.date.to_string()),
        "through": within.last().map(|day| day.date.to_string()),
        "days": within.len(),
        "days_complete": within.iter().filter(|day| day.is_complete()).count(),
        "days_explained": within.iter().filter(|day| day.is_explained()).count(),
        "ends_on": (sum.days_after > 0).then(|| coverage.last.to_string()), "days_after": sum.days_after,
        "daily_missing": sum.daily_missing,
        "minutes_expected": sum.expected,
        "minutes_stored": sum.stored,
        "minutes_no_trades": sum.no_trades,
        "minutes_not_loaded": sum.not_loaded,
        "minutes_unknown": sum.unknown,
    })
}

fn day_json(day: &DayCoverage, zone: &Zone) -> Value {
    let gap = |gap: &history::Gap| {
        json!({
            "first": zone.rfc3339(gap.first), "last": zone.rfc3339(gap.last), "minutes": gap.minutes,
            "reason": gap.reason.as_str(),
        })
    };
    json!({
        "date": day.date.to_string(), "day": kind(day), "daily": day.daily,
        "daily_missing": day.daily_gap.map(GapReason::as_str), "period": day.grain.written(),
        "minutes": day.stored, "expected": day.expected,
        "extended": day.extended, "gaps": day.gaps.iter().map(gap).collect::<Vec<Value>>(),
    })
}

/// Maximum number of missing dates named per line.
const NAMED: usize = 5;

/// A security's trades compared with the trading calendar.
struct TradeCoverage {
    symbol: Symbol,
    first: Date,
    last: Date,
    trades: u64,
    days: usize,
    missing: Vec<Date>,
}

fn list_trades(
    symbol: Option<&Symbol>,
    range: (Option<Date>, Option<Date>),
    format: Format,
    context: &CommandContext,
    reader: &mut Reader,
) -> Result<(), Failure> {
    let symbols = match symbol {
        Some(symbol) => vec![symbol.clone()],
        None => reader.snapshot()?.traded_symbols()?.into_iter().map(|traded| traded.symbol).collect(),
    };
    let mut all = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        all.extend(trades_of(symbol, range, context, reader)?);
    }
    if format == Format::Json {
        return Ok(output::json(&all.iter().map(TradeCoverage::json).collect::<Vec<Value>>())?);
    }
    let mut columns = vec![Column::Left("symbol"), Column::Left("first"), Column::Left("last")];
    columns.extend(["trades", "days", "missing"].map(Column::Right));
    columns.push(Column::Left("days without trades"));
    let mut out = output::stdout();
    writeln!(
        out,
        "{}",
        output::text(
            output::table(&columns, all.iter().map(TradeCoverage::row)).optional(&["days", "first"])
        )
    )?;
    Ok(out.flush()?)
}

/// Compares a security's trades with the trading calendar. `None` if the security has no visible
/// trades in the range.
fn trades_of(
    symbol: Symbol,
    (start, end): (Option<Date>, Option<Date>),
    context: &CommandContext,
    reader: &mut Reader,
) -> Result<Option<TradeCoverage>, Failure> {
    let as_of = context.as_of();
    let mut days = context.history.traded_days(reader, &symbol, as_of)?;
    days.retain(|day| start.is_none_or(|start| day.day >= start) && end.is_none_or(|end| day.day <= end));
    let (Some(first), Some(last)) = (days.first().map(|day| day.day), days.last().map(|day| day.day)) else {
        return Ok(None);
    };
    let calendar = context.history.venue(&symbol).calendar();
    let expected = calendar.days(start.unwrap_or(first).max(first), last).map(|(day, _)| day);
    let missing =
        expected.filter(|day| days.binary_search_by_key(day, |stored| stored.day).is_err()).collect();
    // Days that have not ended are not counted, because their final number of trades is unknown.
    let trades = days.iter().filter(|day| day.last <= as_of.now()).map(|day| day.rows).sum();
    Ok(Some(TradeCoverage { symbol, first, last, trades, days: days.len(), missing }))
}

impl TradeCoverage {
    fn row(&self) -> Vec<String> {
        let mut named: Vec<String> = self.missing.iter().take(NAMED).map(Date::to_string).collect();
        if self.missing.len() > NAMED {
            named.push("…".to_owned());
        }
        vec![
            self.symbol.to_string(),
            self.first.to_string(),
            self.last.to_string(),
            output::thousands(self.trades),
            output::thousands(self.days as u64),
            output::thousands(self.missing.len() as u64),
            named.join(" "),
        ]
    }

    fn json(&self) -> Value {
        let missing: Vec<String> = self.missing.iter().map(Date::to_string).collect();
        json!({
            "symbol": self.symbol.as_str(), "first": self.first.to_string(), "last": self.last.to_string(),
            "trades": self.trades, "days": self.days, "missing": missing,
        })
    }
}
