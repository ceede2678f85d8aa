//! Recomputes the pushes that a client missed under the machine clock: pushes between its candle
//! request and its subscription, and pushes that its previous connection did not receive. They are
//! computed from the batches of the last ten minutes and have their original sequence numbers.

use std::collections::{HashMap, VecDeque};

use feed::{Board, Clock, Figures, Minute, Published, Push, Sequence, Traded, Update, single_trades};
use history::ingest::{Commit, CommittedCandle, Effect, IngestError};
use history::{History, HistoryError};
use market::{Candle, Grain, Session, Symbol, Timestamp, Trade};
use store::Reader;

use super::arrivals::{TradesOfSecond, by_second, minute_of, numbers};
use crate::ingest::Ingest;

/// Maximum number of rows in memory. This many rows take about thirty megabytes, and a feed of five
/// thousand rows per second reaches the limit in forty seconds.
const ROWS_MAX: usize = 200_000;
/// Time for which a row is available, in seconds.
const KEPT_S: i64 = 600;
/// Number of batches that are read at a time.
const READ_AT_ONCE: i64 = 64;
const MICROSECONDS: i64 = 1_000_000;
const LANES: usize = Session::ALL.len();

/// Where the missed pushes of a client begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// After this batch.
    After(i64),
    /// Starting at this sequence number.
    From(i64),
}

/// Decoded rows of the last batches, shared by all clients. Empty until a client has missed pushes.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// The last decoded batch.
    through: Option<i64>,
    rows: HashMap<Symbol, VecDeque<Row>>,
    /// The symbol of every row, in the order in which rows are removed.
    order: VecDeque<(Timestamp, Symbol)>,
}

#[derive(Clone, Debug)]
struct Row {
    batch: i64,
    at: Timestamp,
    /// The sequence numbers that precede the pushes of the row.
    sequence: Sequence,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Minute(Candle, Effect),
    /// The trades of one second.
    Trades(Vec<Trade>),
}

/// The newest minute of a session.
#[derive(Clone, Copy, Debug)]
struct Lane {
    minute: Minute,
    before: Option<Figures>,
    published: Published,
}

impl Recent {
    /// Reads the batches up to `through`.
    pub(crate) fn read(
        &mut self,
        ingest: &Ingest,
        reader: &mut Reader,
        through: i64,
    ) -> Result<(), IngestError> {
        let after = match self.through {
            Some(after) => after,
            None => Recent::first(ingest, reader, through)?,
        };
        for from in (after..through).step_by(usize::try_from(READ_AT_ONCE).unwrap_or(1)) {
            let until = from.saturating_add(READ_AT_ONCE).min(through);
            for commit in ingest.commits(reader, from, until)? {
                self.add(&commit);
            }
        }
        self.through = Some(self.through.unwrap_or(after).max(through));
        Ok(())
    }

    /// Returns the batch that precedes the oldest batch whose rows fit into memory, counted back
    /// from `through`.
    fn first(ingest: &Ingest, reader: &mut Reader, through: i64) -> Result<i64, IngestError> {
        let (mut first, mut rows, mut newest) = (through, 0, None);
        while rows < ROWS_MAX && first > 0 {
            let from = first.saturating_sub(READ_AT_ONCE).max(0);
            let commits = ingest.commits(reader, from, first)?;
            let (Some(oldest), Some(last)) = (commits.first(), commits.last()) else { break };
            rows += commits.iter().map(|commit| commit.candles.len() + commit.trades.len()).sum::<usize>();
            first = from;
            if oldest.at_us / MICROSECONDS + KEPT_S < *newest.get_or_insert(last.at_us) / MICROSECONDS {
                break;
            }
        }
        Ok(first)
    }

    fn add(&mut self, commit: &Commit) {
        let at = Timestamp(commit.at_us / MICROSECONDS);
        let row = |row: usize, content| Row { batch: commit.id, at, sequence: numbers(commit, row), content };
        let candles = commit.candles.iter().enumerate().filter(|(_, candle)| candle.grain == Grain::Minute);
        let candles = candles.map(|(number, CommittedCandle { symbol, candle, effect, .. })| {
            (symbol, row(number, Content::Minute(*candle, *effect)))
        });
        let seconds = by_second(commit, |_| true).into_iter();
        let trades = seconds.map(|TradesOfSecond { symbol, sequence, trades }| {
            (symbol, Row { batch: commit.id, at, sequence, content: Content::Trades(trades) })
        });
        for (symbol, row) in candles.chain(trades) {
            self.rows.entry(symbol.clone()).or_default().push_back(row);
            self.order.push_back((at, symbol.clone()));
        }
        while self.order.len() > ROWS_MAX || self.order.front().is_some_and(|(of, _)| of.0 + KEPT_S < at.0) {
            let Some((_, symbol)) = self.order.pop_front() else { break };
            if let Some(rows) = self.rows.get_mut(&symbol) {
                rows.pop_front();
                if rows.is_empty() {
                    self.rows.remove(&symbol);
                }
            }
        }
    }

    /// Returns the pushes from which a client builds the candles of a security: trades, or quotes of
    /// an index.
    pub(crate) fn pushes(
        &self,
        history: &History,
        reader: &mut Reader,
        (symbol, board): (&Symbol, Board),
        missed: Missed,
    ) -> Result<Vec<Push>, HistoryError> {
        let Some(rows) = self.rows.get(symbol) else { return Ok(Vec::new()) };
        let is_missed = |row: &Row, push: &Push| match missed {
            Missed::After(batch) => row.batch > batch,
            Missed::From(sequence) => push.sequence() >= sequence,
        };
        let venue = history.venue(symbol);
        let mut lanes: [Option<Lane>; LANES] = [None; LANES];
        // The newest minute of each session in the state of clients, if it has single trades.
        let mut traded: [Option<Traded>; LANES] = [None; LANES];
        let mut missing = Vec::new();
        for row in rows {
            let mut sequence = row.sequence;
            let pushes = match &row.content {
                Content::Trades(_) if board == Board::Index => continue,
                Content::Trades(trades) => {
                    let minute = trades.first().and_then(|trade| minute_of(venue, trade));
                    let Some(minute) = minute else { continue };
                    let place = usize::from(minute.session.code());
                    let lane = lanes.get(place).copied().flatten();
                    if let Some(traded) = traded.get_mut(place) {
                        note_trades(traded, lane, &minute, trades);
                    }
                    single_trades(symbol, minute.session, trades.iter().copied(), &mut sequence)
                }
                Content::Minute(candle, effect) => {
                    let Some(minute) = Minute::of(venue, candle.time) else { continue };
                    let place = usize::from(minute.session.code());
                    let (Some(lane), Some(traded)) = (lanes.get_mut(place), traded.get_mut(place)) else {
                        continue;
                    };
                    let next = match lane {
                        Some(lane) => lane.next(&minute),
                        None => Some((figures_before(history, reader, (symbol, board), &minute)?, None)),
                    };
                    let Some((before, published)) = next else { continue };
                    // A later minute has begun with a trade, so the candle is only a correction.
                    let is_late = traded.is_some_and(|of| of.stamp > minute.stamp && of.published.is_some());
                    if is_late {
                        continue;
                    }
                    let built = traded.filter(|of| of.stamp == minute.stamp);
                    let is_begun = published.is_none() && built.is_none() && *effect == Effect::Continued;
                    let built = built.unwrap_or(Traded::new(&minute, published));
                    let Traded { published, counted, .. } = built;
                    let (known, clock) = (*candle, Clock::Machine { now: row.at });
                    let update = Update { symbol, board, minute, before, published, counted, known, clock };
                    let outcome = update.publish(&mut sequence);
                    if *effect != Effect::Replaced {
                        traded.take_if(|of| of.stamp == minute.stamp && !outcome.is_correction);
                    }
                    *lane = Some(Lane { minute, before, published: outcome.published });
                    // The row that began this minute is older than all decoded rows.
                    if is_begun || *effect == Effect::Replaced { Vec::new() } else { outcome.pushes }
                }
            };
            let kind = board.candle_pushes();
            let pushes = pushes.into_iter().filter(|push| push.sub_type() == kind && is_missed(row, push));
            missing.extend(pushes);
        }
        Ok(missing)
    }
}

/// Adds trades of a minute to the state that clients have built, unless a later minute has begun.
fn note_trades(traded: &mut Option<Traded>, lane: Option<Lane>, minute: &Minute, trades: &[Trade]) {
    let newest = lane.map(|lane| lane.minute.stamp).max(traded.map(|of| of.stamp));
    if newest.is_some_and(|newest| newest > minute.stamp) {
        return;
    }
    let stored = lane.filter(|lane| lane.minute.stamp == minute.stamp).map(|lane| lane.published);
    let before = traded.filter(|of| of.stamp == minute.stamp).unwrap_or(Traded::new(minute, stored));
    *traded = Some(trades.iter().fold(before, |built, trade| built.then(minute, trade)));
}

impl Lane {
    /// Returns the figures before a minute and its published state. Returns `None` if the minute is
    /// older than all decoded rows.
    fn next(&self, minute: &Minute) -> Option<(Option<Figures>, Option<Published>)> {
        if minute.stamp < self.minute.stamp {
            return None;
        }
        if minute.stamp == self.minute.stamp {
            return Some((self.before, Some(self.published)));
        }
        let is_same_day = minute.day == self.minute.day;
        Some((is_same_day.then(|| Figures::then(self.before, &self.published.candle)), None))
    }
}

/// Returns the figures of a session before a minute. Returns `None` for [`Board::Security`], whose
/// missed pushes are trades without figures.
fn figures_before(
    history: &History,
    reader: &mut Reader,
    (symbol, board): (&Symbol, Board),
    minute: &Minute,
) -> Result<Option<Figures>, HistoryError> {
    if board == Board::Security {
        return Ok(None);
    }
    let day = history.venue(symbol).roll(minute.day)..minute.stamp;
    let candles = history.minutes(reader.view(), symbol, day)?;
    let of_session = candles.iter().filter(|candle| candle.session == minute.session);
    Ok(of_session.fold(None, |figures, candle| Some(Figures::then(figures, &candle))))
}
