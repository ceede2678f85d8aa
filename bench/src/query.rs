//! Queries to a store, each answered from its blocks and encoded as it would be sent.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use anyhow::ensure;
use history::{Adjust, Anchor, AsOf, COUNT_MAX, Direction, History, Query, Select, Sessions};
use market::{Candles, Floors, Grain, Period, Span, Symbol, Timestamp, Venues};
use store::{Access, Lane, Reader, SeriesInfo, Store};

use crate::sample::{RUNS, Random, Runs};

/// The bench's clock is fixed on a Sunday: no candle is forming.
pub(crate) const NOW: Timestamp = Timestamp(1_794_708_000);

/// One line of the table.
#[derive(Debug)]
struct Line {
    name: String,
    period: Period,
    adjust: Adjust,
    targets: Vec<Target>,
}

/// A symbol, and the stamps with a thousand candles of the line's period up to them; never empty.
#[derive(Clone, Debug)]
struct Target {
    symbol: Symbol,
    ends: Rc<Vec<i64>>,
}

pub(crate) fn run(directory: &Path, only: &[&str]) -> anyhow::Result<()> {
    let store = Store::open(directory, Access::Read)?;
    let mut reader = store.reader()?;
    let history = History::new(Venues::built_in()?);
    let series = reader.snapshot()?.all_series()?;
    let mut lines: Vec<Line> = Vec::new();
    for (period, adjust) in cases() {
        let name = match adjust {
            Adjust::None => period.to_string(),
            Adjust::Forward => format!("{period} forward"),
        };
        if only.is_empty() || only.contains(&name.as_str()) {
            lines.push(Line {
                name,
                adjust,
                period,
                targets: targets(&history, &mut reader, &series, period)?,
            });
        }
    }
    let (mut runs, mut random, mut bytes) = (Runs::default(), Random::new(42), Vec::new());
    for _ in 0..RUNS {
        for line in &lines {
            let make = |random: &mut Random| line.question(&history, random);
            runs.run(&line.name, &mut random, make, |query| {
                bytes.clear();
                let answer = history.candles(&mut reader, query, AsOf::Live(NOW))?;
                ensure!(
                    answer.candles.len() == COUNT_MAX,
                    "{} candles of {}",
                    answer.candles.len(),
                    query.symbol
                );
                encode(&answer, &mut bytes);
                Ok(bytes.len())
            })?;
        }
    }
    runs.print()
}

/// Every period that can have a thousand candles in twenty years, and adjusted days.
fn cases() -> impl Iterator<Item = (Period, Adjust)> {
    let short =
        |period: &Period| period.is_clock() || matches!(period, Period::Calendar(Span::Day | Span::Week));
    let plain = Period::all().filter(short).map(|period| (period, Adjust::None));
    plain.chain([(Period::DAY, Adjust::Forward)])
}

/// The symbols with a thousand candles of a period. They share one calendar, so one of them is read
/// for all.
fn targets(
    history: &History,
    reader: &mut Reader,
    all: &[SeriesInfo],
    period: Period,
) -> anyhow::Result<Vec<Target>> {
    let grain = if period.is_clock() { Grain::Minute } else { Grain::Day };
    let wanted = |info: &&SeriesInfo| info.series.grain == grain && info.series.lane == Lane::Regular;
    let mut targets: Vec<Target> = Vec::new();
    let mut known: BTreeMap<(Timestamp, Timestamp), Rc<Vec<i64>>> = BTreeMap::new();
    for info in all.iter().filter(wanted) {
        let span = (info.first, info.last);
        let ends = match known.get(&span) {
            Some(ends) => ends.clone(),
            None => {
                let ends = Rc::new(ends(history, reader, &info.series.symbol, period)?);
                known.insert(span, ends.clone());
                ends
            }
        };
        if !ends.is_empty() {
            targets.push(Target { symbol: info.series.symbol.clone(), ends });
        }
    }
    ensure!(!targets.is_empty(), "no symbol has {COUNT_MAX} candles of {period}");
    Ok(targets)
}

/// The stamps of a symbol with at least a thousand candles up to and including them.
fn ends(history: &History, reader: &mut Reader, symbol: &Symbol, period: Period) -> anyhow::Result<Vec<i64>> {
    let select = Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: COUNT_MAX };
    let query = Query {
        symbol: symbol.clone(),
        period,
        adjust: Adjust::None,
        sessions: Sessions::Intraday,
        floors: Floors::published(symbol.market()),
        select,
    };
    let plan = history::Plan::of(&query, history.venue(symbol), AsOf::Live(NOW));
    let mut stamps: Vec<i64> = Vec::new();
    for page in history.pages(reader, &query, plan, AsOf::Live(NOW)) {
        stamps.extend(page?.candles.time);
    }
    stamps.sort_unstable();
    Ok(stamps.split_off(stamps.len().min(COUNT_MAX - 1)))
}

impl Line {
    /// A thousand candles up to a random stamp of a random symbol.
    fn question(&self, history: &History, random: &mut Random) -> Query {
        #[expect(
            clippy::indexing_slicing,
            reason = "neither targets nor ends are ever empty, and below() is below"
        )]
        let (target, at) = {
            let target = &self.targets[random.below(self.targets.len())];
            (target, Timestamp(target.ends[random.below(target.ends.len())]))
        };
        let (date, seconds) = history.venue(&target.symbol).zone().local(at);
        let anchor = match self.period {
            Period::Clock(_) => Anchor::Minute(date, (seconds / 60) as i32),
            Period::Calendar(_) => Anchor::Day(date),
        };
        let select = Select::Offset { direction: Direction::Past, anchor, count: COUNT_MAX };
        Query {
            symbol: target.symbol.clone(),
            period: self.period,
            adjust: self.adjust,
            sessions: Sessions::Intraday,
            floors: Floors::published(target.symbol.market()),
            select,
        }
    }
}

pub(crate) fn encode(answer: &history::Answer, bytes: &mut Vec<u8>) {
    wire::encode_candles(answer.symbol.as_str(), answer.decimals, wire_rows(&answer.candles), bytes);
}

/// The columns zipped to rows for the encoder.
fn wire_rows(candles: &Candles) -> impl Iterator<Item = wire::Row> + '_ {
    let prices = candles.open.iter().zip(&candles.high).zip(&candles.low).zip(&candles.close);
    let amounts = candles.volume.iter().zip(&candles.turnover).zip(&candles.session);
    candles.time.iter().zip(prices).zip(amounts).map(
        |((time, (((open, high), low), close)), ((volume, turnover), session))| wire::Row {
            time: *time,
            open: *open,
            high: *high,
            low: *low,
            close: *close,
            volume: *volume,
            turnover: *turnover,
            session: session.code(),
        },
    )
}
