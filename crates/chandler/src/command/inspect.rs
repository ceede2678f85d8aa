//! `chandler inspect`: shows stored series with their sizes and sources.

use std::io::Write;

use clap::Args;
use history::AsOf;
use market::{Date, Symbol};
use serde_json::{Value, json};
use store::{Access, ImportSource, SeriesInfo, Snapshot, TradeDay, TradeSource};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::suggest;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One security with its blocks and sources; without it, one line for each series
    symbol: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open(Access::Read)?;
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let Some(text) = &arguments.symbol else {
        let series = known(&snapshot, snapshot.all_series()?, context)?;
        return match arguments.format {
            Format::Json => Ok(output::json(&series.iter().map(series_json).collect::<Vec<Value>>())?),
            Format::Table => {
                let mut out = output::stdout();
                print_series(&mut out, &series, context)?;
                writeln!(out, "\n{}", totals(&series))?;
                out.flush()?;
                Ok(())
            }
        };
    };
    let symbol = context.symbol(text)?;
    let Some(security) = snapshot.security(&symbol)? else {
        let unknown = history::HistoryError::UnknownSecurity(symbol).into();
        return Err(suggest::hinted(unknown, &store));
    };
    let series = known(&snapshot, snapshot.series_of(&symbol)?, context)?;
    let (venue, as_of) = (context.history.venue(&symbol), context.as_of());
    let horizon = |source: &ImportSource| as_of.known_until(venue, source.series.grain);
    let mut sources = snapshot.import_sources(&symbol)?;
    sources.retain(|source| source.first < horizon(source));
    let mut actions = snapshot.actions(&symbol)?;
    if let AsOf::Replay(now) = as_of {
        actions.retain(|action| action.ex_date <= venue.zone().date(now));
    }
    let trades = TradesKnown::of(&snapshot.trade_days(&symbol)?, as_of);
    // The end and row count of a source file that extends beyond the current time are hidden.
    let ended = |source: &ImportSource| source.last < horizon(source);
    if arguments.format == Format::Json {
        let source = |source: &ImportSource| {
            json!({
                "file": source.import.file, "import": source.import.id.0, "series": source.series.to_string(),
                "rows": ended(source).then_some(source.rows), "first": source.first.to_string(),
                "last": ended(source).then(|| source.last.to_string()),
            })
        };
        output::json(&json!({
            "symbol": symbol.as_str(),
            "name": {"en": security.name_en, "cn": security.name_cn, "hk": security.name_hk},
            "decimals": security.decimals,
            "series": series.iter().map(series_json).collect::<Vec<Value>>(),
            "actions": actions.iter().map(action_json).collect::<Vec<Value>>(),
            "sources": sources.iter().map(source).collect::<Vec<Value>>(),
            "trades": trades.as_ref().map(TradesKnown::json),
            "trade_sources": trade_sources(&snapshot, &symbol, as_of)?,
        }))?;
        return Ok(());
    }
    let mut out = output::stdout();
    let names: Vec<String> =
        [security.name_en, security.name_hk, security.name_cn].into_iter().flatten().collect();
    writeln!(out, "{symbol}  {}  ({} decimals)\n", output::printable(&names.join(" / ")), security.decimals)?;
    print_series(&mut out, &series, context)?;
    if !actions.is_empty() {
        writeln!(out, "\n{} corporate actions, the last on {}", actions.len(), last_ex_date(&actions))?;
    }
    if let Some(trades) = &trades {
        writeln!(out, "\n{}", trades.text())?;
    }
    if !sources.is_empty() {
        let columns = [
            Column::Left("source"),
            Column::Left("series"),
            Column::Right("rows"),
            Column::Left("first"),
            Column::Left("last"),
        ];
        let zone = venue.zone();
        let rows = sources.iter().map(|source| {
            let time = |at| zone.rfc3339(at);
            let series = source.series.to_string();
            vec![
                source.import.file.clone(),
                series,
                if ended(source) { output::thousands(source.rows) } else { String::new() },
                time(source.first),
                if ended(source) { time(source.last) } else { String::new() },
            ]
        });
        writeln!(out, "\n{}", output::text(output::table(&columns, rows)))?;
    }
    out.flush()?;
    Ok(())
}

/// Returns the files that trades were imported from. The end and row count of a file that extends
/// beyond the current time are hidden.
fn trade_sources(snapshot: &Snapshot<'_>, symbol: &Symbol, as_of: AsOf) -> Result<Vec<Value>, Failure> {
    let known = snapshot.trade_sources(symbol)?.into_iter().filter(|source| source.first <= as_of.now());
    let source = |source: TradeSource| {
        let ended = source.last <= as_of.now();
        json!({
            "file": source.file, "import": source.import.0, "rows": ended.then_some(source.rows),
            "first": source.first.to_string(), "last": ended.then(|| source.last.to_string()),
        })
    };
    Ok(known.map(source).collect())
}

/// Trades of a security that are visible at the current time.
struct TradesKnown {
    days: usize,
    /// Number of trades on days that have ended.
    rows: u64,
    bytes: u64,
    first: Date,
    last: Date,
}

impl TradesKnown {
    fn of(days: &[TradeDay], as_of: AsOf) -> Option<TradesKnown> {
        let known: Vec<&TradeDay> = days.iter().filter(|day| day.first <= as_of.now()).collect();
        let whole = || known.iter().filter(|day| day.last <= as_of.now());
        Some(TradesKnown {
            days: known.len(),
            rows: whole().map(|day| day.rows).sum(),
            bytes: whole().map(|day| day.bytes).sum(),
            first: known.first()?.day,
            last: known.last()?.day,
        })
    }

    fn text(&self) -> String {
        let (rows, days) = (output::count(self.rows, "trade"), output::count(self.days as u64, "day"));
        format!(
            "{rows} on {days} from {} to {}, {} of blocks",
            self.first,
            self.last,
            output::size(self.bytes)
        )
    }

    fn json(&self) -> Value {
        json!({
            "days": self.days, "trades": self.rows, "bytes": self.bytes,
            "first": self.first.to_string(), "last": self.last.to_string(),
        })
    }
}

/// Returns the visible series. Each series is limited to the part that is visible at the current
/// time.
fn known(
    snapshot: &Snapshot<'_>,
    all: Vec<SeriesInfo>,
    context: &CommandContext,
) -> Result<Vec<SeriesInfo>, Failure> {
    let mut series = Vec::with_capacity(all.len());
    for info in all {
        let venue = context.history.venue(&info.series.symbol);
        series.extend(history::known_part(snapshot, venue, info, context.as_of())?);
    }
    Ok(series)
}

fn last_ex_date(actions: &[market::Action]) -> String {
    actions.iter().map(|action| action.ex_date).max().map(|date| date.to_string()).unwrap_or_default()
}

fn print_series(
    out: &mut impl Write,
    series: &[SeriesInfo],
    context: &CommandContext,
) -> Result<(), Failure> {
    let mut columns = vec![Column::Left("series")];
    columns.extend(["candles", "blocks", "bytes", "bytes/candle"].map(Column::Right));
    columns.extend(["first", "last"].map(Column::Left));
    let rows = series.iter().map(|info| {
        let zone = context.history.venue(&info.series.symbol).zone();
        vec![
            info.series.to_string(),
            output::thousands(info.rows),
            output::thousands(info.blocks),
            output::thousands(info.bytes),
            per_candle(info.bytes, info.rows),
            zone.rfc3339(info.first),
            zone.rfc3339(info.last),
        ]
    });
    writeln!(
        out,
        "{}",
        output::text(output::table(&columns, rows).optional(&["blocks", "bytes/candle", "bytes"]))
    )?;
    Ok(())
}

fn per_candle(bytes: u64, rows: u64) -> String {
    if rows == 0 { String::new() } else { format!("{:.2}", bytes as f64 / rows as f64) }
}

fn totals(series: &[SeriesInfo]) -> String {
    let rows: u64 = series.iter().map(|info| info.rows).sum();
    let bytes: u64 = series.iter().map(|info| info.bytes).sum();
    let symbols: std::collections::BTreeSet<&Symbol> =
        series.iter().map(|info| &info.series.symbol).collect();
    let [candles, securities] = [rows, symbols.len() as u64].map(output::thousands);
    format!("{securities} securities, {candles} candles, {} of blocks", output::size(bytes))
}

fn series_json(info: &SeriesInfo) -> Value {
    json!({
        "series": info.series.to_string(), "symbol": info.series.symbol.as_str(), "grain": info.series.grain.as_str(),
        "candles": info.rows, "blocks": info.blocks, "bytes": info.bytes,
        "bytes_per_candle": if info.rows == 0 { None } else { Some(info.bytes as f64 / info.rows as f64) },
        "first": info.first.to_string(), "last": info.last.to_string(), "version": info.version,
    })
}

fn action_json(action: &market::Action) -> Value {
    json!({
        "ex_date": action.ex_date.to_string(), "cash": action.cash.to_string(), "split": action.split.to_string(),
        "bonus": action.bonus.to_string(), "rights": action.rights.to_string(),
        "rights_price": action.rights_price.to_string(),
    })
}
