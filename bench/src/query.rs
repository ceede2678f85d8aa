//! Questions to a store, each answered from its blocks and encoded as it would be sent.

use std::path::Path;

use anyhow::ensure;
use history::{Adjust, Anchor, COUNT_MAX, Direction, History, Query, Select, Sessions};
use market::{Candles, Grain, Period, Span, Symbol, Timestamp, Venues};
use store::{Access, Lane, Reader, SeriesInfo, Store};

use crate::sample::{Random, measure};

/// The bench stands still on a Sunday: no candle is forming.
const NOW: Timestamp = Timestamp(1_794_708_000);

/// A series with its name and where its last thousand candles may end.
#[derive(Clone, Debug)]
struct Target {
    symbol: Symbol,
    last: Timestamp,
    /// Stamps of the period, ascending: T is one of those that have a thousand before them.
    ends: std::rc::Rc<Vec<i64>>,
}

pub(crate) fn run(directory: &Path, only: &[&str]) -> anyhow::Result<()> {
    let store = Store::open(directory, Access::Read)?;
    let mut reader = store.reader()?;
    let history = History::new(Venues::built_in()?);
    let series = reader.snapshot()?.all_series()?;
    for (period, adjust) in lines() {
        let name = match adjust {
            Adjust::None => period.to_string(),
            Adjust::Forward => format!("{period} forward"),
        };
        if !only.is_empty() && !only.contains(&name.as_str()) {
            continue;
        }
        let targets = targets(&history, &mut reader, &series, period)?;
        let make = |random: &mut Random| question(&history, &targets, period, adjust, random);
        let mut bytes = Vec::new();
        measure(&name, make, |query| {
            bytes.clear();
            let answer = history.candles(&mut reader, query, NOW)?;
            ensure!(answer.candles.len() == COUNT_MAX, "{} candles of {}", answer.candles.len(), query.symbol);
            encode(&answer, &mut bytes);
            Ok(bytes.len())
        })?;
    }
    Ok(())
}

/// Every period that can have a thousand candles in twenty years, and days adjusted as well.
fn lines() -> impl Iterator<Item = (Period, Adjust)> {
    let short = |period: &Period| period.is_clock() || matches!(period, Period::Calendar(Span::Day | Span::Week));
    let plain = Period::all().filter(short).map(|period| (period, Adjust::None));
    plain.chain([(Period::DAY, Adjust::Forward)])
}

/// The symbols that have a thousand candles of a period. They share one calendar, so one of them is read for all.
fn targets(history: &History, reader: &mut Reader, all: &[SeriesInfo], period: Period) -> anyhow::Result<Vec<Target>> {
    let grain = if period.is_clock() { Grain::Minute } else { Grain::Day };
    let wanted = |info: &&SeriesInfo| info.series.grain == grain && info.series.lane == Lane::Regular;
    let mut targets: Vec<Target> = Vec::new();
    let mut known: Vec<((Timestamp, Timestamp), std::rc::Rc<Vec<i64>>)> = Vec::new();
    for info in all.iter().filter(wanted) {
        let span = (info.first, info.last);
        let ends = match known.iter().find(|(of, _)| *of == span) {
            Some((_, ends)) => ends.clone(),
            None => {
                let ends = std::rc::Rc::new(ends(history, reader, &info.series.symbol, period)?);
                known.push((span, ends.clone()));
                ends
            }
        };
        if !ends.is_empty() {
            targets.push(Target { symbol: info.series.symbol.clone(), last: info.last, ends });
        }
    }
    ensure!(!targets.is_empty(), "no symbol has {COUNT_MAX} candles of {period}");
    Ok(targets)
}

/// The stamps of a symbol that have at least a thousand candles up to and including them.
fn ends(history: &History, reader: &mut Reader, symbol: &Symbol, period: Period) -> anyhow::Result<Vec<i64>> {
    let select = Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: COUNT_MAX };
    let query = Query { symbol: symbol.clone(), period, adjust: Adjust::None, sessions: Sessions::Intraday, select };
    let plan = history::Plan::of(&query, history.venue(symbol), NOW);
    let mut stamps: Vec<i64> = Vec::new();
    for page in history.pages(reader, &query, plan, NOW) {
        stamps.extend(page?.candles.time);
    }
    stamps.sort_unstable();
    Ok(stamps.split_off(stamps.len().min(COUNT_MAX - 1)))
}

fn question(history: &History, targets: &[Target], period: Period, adjust: Adjust, random: &mut Random) -> Query {
    let target = targets.get(random.below(targets.len()));
    let at = target.and_then(|target| target.ends.get(random.below(target.ends.len())).copied());
    let (symbol, at) = match (target, at) {
        (Some(target), Some(at)) => (target.symbol.clone(), Timestamp(at)),
        (Some(target), None) => (target.symbol.clone(), target.last),
        (None, _) => unreachable!("targets are not empty"),
    };
    let (date, seconds) = history.venue(&symbol).zone().local(at);
    let anchor = match period {
        Period::Clock(_) => Anchor::Minute(date, (seconds / 60) as i32),
        Period::Calendar(_) => Anchor::Day(date),
    };
    let select = Select::Offset { direction: Direction::Past, anchor, count: COUNT_MAX };
    Query { symbol, period, adjust, sessions: Sessions::Intraday, select }
}

fn encode(answer: &history::Answer, bytes: &mut Vec<u8>) {
    wire::encode_candles(answer.symbol.as_str(), answer.decimals, wire_rows(&answer.candles), bytes);
}

/// The columns side by side, as the encoder takes them.
fn wire_rows(candles: &Candles) -> impl Iterator<Item = wire::Row> + '_ {
    let prices = candles.open.iter().zip(&candles.high).zip(&candles.low).zip(&candles.close);
    let amounts = candles.volume.iter().zip(&candles.turnover).zip(&candles.session);
    candles.time.iter().zip(prices).zip(amounts).map(|((time, (((open, high), low), close)), ((volume, turnover), session))| {
        wire::Row {
            time: *time,
            open: *open,
            high: *high,
            low: *low,
            close: *close,
            volume: *volume,
            turnover: *turnover,
            session: session.code(),
        }
    })
}
