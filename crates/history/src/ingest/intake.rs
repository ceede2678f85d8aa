//! Checks the rows of a batch, decides what each of them changes, and commits the batch to the log.

use files::{CandleRow, TradeRow};
use market::{Candle, Date, Flaw, Grain, Symbol, Timestamp, Trade, Venues};
use store::{Append, IngestLog, Reader, Series, Store};

use super::known::Known;
use super::{
    Commit, CommittedCandle, CommittedTrade, Counts, Effect, IngestError, MergeVersions, Merger, RefusedRow,
    end_of,
};
use crate::import::inspect::Inspector;
use crate::import::sorting::spell;
use crate::import::trade_gather::{Inspector as TradeInspector, spell as spell_trade};
use crate::lane_of;

const MICROSECONDS: i64 = 1_000_000;
const DAY_S: i64 = 86_400;
/// Sequence numbers that are reserved for each row. A minute of an index makes at most four pushes.
const PUSHES_A_ROW: usize = 8;

/// What a batch says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    pub source: &'a str,
    /// Number of the batch; `None` if the source does not number them.
    pub seq: Option<i64>,
    /// Whether numbers may be missing before this one.
    pub gap: bool,
    /// Whether candles are built of trades.
    pub build: bool,
}

/// A row, or why it cannot be read.
pub type Parsed<T> = Result<T, RefusedRow>;

#[derive(Clone, Debug)]
pub struct CandleInput {
    pub symbol: Symbol,
    /// One-minute or daily.
    pub grain: Grain,
    /// The session is not used: it follows from the time.
    pub candle: Candle,
    /// `None` if the row does not say.
    pub is_final: Option<bool>,
}

#[derive(Clone, Debug)]
pub struct TradeInput {
    pub symbol: Symbol,
    pub trade: Trade,
    pub id: Option<String>,
}

/// The answer to a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub seq: Option<i64>,
    pub counts: Counts,
    /// Index and reason of each refused row.
    pub refused: Vec<(usize, String)>,
    /// Position of the batch in the log.
    pub revision: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed(Receipt),
    /// The batch was committed before. Contains the answer that it got, unless that is too old.
    Repeated(Option<String>),
}

/// Accepts batches, for one thread at a time.
#[derive(Debug)]
pub struct Intake {
    venues: Venues,
    grace_s: i64,
    log: IngestLog,
    reader: Reader,
    known: Known,
    merges: MergeVersions,
}

/// The rows of a batch after they were checked.
#[derive(Debug, Default)]
struct Checked {
    candles: Vec<CommittedCandle>,
    trades: Vec<CommittedTrade>,
    refused: Vec<RefusedRow>,
    counts: Counts,
}

impl Intake {
    /// Opens the log of a store. Also returns the merger, which must be used for this to be
    /// readable.
    pub fn open(store: &Store, venues: &Venues, grace_s: i64) -> Result<(Intake, Merger), IngestError> {
        let (store, merges) = (store.without_copy(), MergeVersions::default());
        let merger = Merger::open(&store, venues, grace_s, merges.clone())?;
        let (log, reader) = (store.ingest_log()?, store.reader()?);
        let venues = venues.clone();
        Ok((Intake { venues, grace_s, log, reader, known: Known::default(), merges }, merger))
    }

    /// Returns the number of a source's last batch and the answer to it.
    pub fn last_answer(&mut self, source: &str) -> Result<Option<(i64, String)>, IngestError> {
        let append = self.log.append()?;
        let Some(seq) = append.last_seq(source)? else { return Ok(None) };
        Ok(append.answer(source, seq)?.map(|answer| (seq, answer)))
    }

    /// Commits a batch of candles at `now_us`, in microseconds. `answer` writes the answer that is
    /// stored with the batch.
    pub fn candles(
        &mut self,
        head: &Head<'_>,
        rows: Vec<Parsed<CandleInput>>,
        now_us: i64,
        answer: &dyn Fn(&Receipt) -> String,
    ) -> Result<Outcome, IngestError> {
        self.commit(head, now_us, answer, |check| check.candles(rows))
    }

    /// Commits a batch of trades.
    pub fn trades(
        &mut self,
        head: &Head<'_>,
        rows: Vec<Parsed<TradeInput>>,
        now_us: i64,
        answer: &dyn Fn(&Receipt) -> String,
    ) -> Result<Outcome, IngestError> {
        self.commit(head, now_us, answer, |check| check.trades(head.source, rows))
    }

    fn commit(
        &mut self,
        head: &Head<'_>,
        now_us: i64,
        answer: &dyn Fn(&Receipt) -> String,
        check: impl FnOnce(&mut Check<'_, '_>) -> Result<Checked, IngestError>,
    ) -> Result<Outcome, IngestError> {
        let committed = self.try_commit(head, now_us, answer, check);
        if committed.is_err() {
            // It may have the rows of a batch that was not committed.
            self.known.reset();
        }
        committed
    }

    fn try_commit(
        &mut self,
        head: &Head<'_>,
        now_us: i64,
        answer: &dyn Fn(&Receipt) -> String,
        check: impl FnOnce(&mut Check<'_, '_>) -> Result<Checked, IngestError>,
    ) -> Result<Outcome, IngestError> {
        let Intake { venues, grace_s, log, reader, known, merges } = self;
        let append = log.append()?;
        if let Some(repeated) = in_order(&append, head)? {
            return Ok(repeated);
        }
        known.follow(&append, merges)?;
        let now = Timestamp(now_us.div_euclid(MICROSECONDS));
        let mut checking = Check { venues, grace_s: *grace_s, now, append: &append, reader, known };
        let Checked { candles, trades, refused, counts } = check(&mut checking)?;
        let receipt = Receipt {
            seq: head.seq,
            counts,
            refused: refused.iter().map(|row| (row.row, row.reason.clone())).collect(),
            revision: append.id(),
        };
        let rows = candles.len() + trades.len();
        let push_from = append.reserve_pushes(now_us, rows * PUSHES_A_ROW)?;
        let commit = Commit {
            id: append.id(),
            push_from,
            at_us: now_us,
            source: head.source.to_owned(),
            candles,
            trades,
            builds: head.build,
            refused,
            counts,
        };
        append.put(push_from, &commit.encode())?;
        if let Some(seq) = head.seq {
            append.put_answer(head.source, seq, &answer(&receipt))?;
        }
        append.commit()?;
        known.committed(commit);
        Ok(Outcome::Committed(receipt))
    }
}

/// Compares the number of a batch with the last one of its source. Returns the outcome of a batch
/// that was committed before.
fn in_order(append: &Append<'_>, head: &Head<'_>) -> Result<Option<Outcome>, IngestError> {
    let Some(seq) = head.seq else { return Ok(None) };
    match append.last_seq(head.source)? {
        Some(last) if seq <= last => Ok(Some(Outcome::Repeated(append.answer(head.source, seq)?))),
        Some(last) if seq > last.saturating_add(1) && !head.gap => {
            Err(IngestError::Gap { expected: last.saturating_add(1) })
        }
        _ => Ok(None),
    }
}

/// What the rows of a batch are checked with.
struct Check<'a, 'b> {
    venues: &'a Venues,
    grace_s: i64,
    now: Timestamp,
    append: &'a Append<'b>,
    reader: &'a mut Reader,
    known: &'a mut Known,
}

impl Check<'_, '_> {
    fn candles(&mut self, rows: Vec<Parsed<CandleInput>>) -> Result<Checked, IngestError> {
        let mut checked = Checked::default();
        let mut inspectors = [Grain::Minute, Grain::Day].map(|grain| Inspector::new(self.venues, grain));
        for (place, row) in rows.into_iter().enumerate() {
            let CandleInput { symbol, grain, candle, is_final } = match row {
                Ok(row) => row,
                Err(refused) => {
                    checked.refuse(RefusedRow { row: place, ..refused });
                    continue;
                }
            };
            let [minutes, days] = &mut inspectors;
            let inspector = if grain == Grain::Day { days } else { minutes };
            let file_row = as_file_row(place, &candle);
            let session = match inspector.session_of(&file_row, &symbol) {
                Ok(session) => session,
                Err(flaw) => {
                    let reason = match flaw {
                        Flaw::Range => candle.range_flaw().map_or_else(|| flaw.to_string(), str::to_owned),
                        flaw => flaw.to_string(),
                    };
                    let text = spell(&file_row, &symbol, self.venues);
                    checked.refuse(RefusedRow { row: place, symbol: Some(symbol.to_string()), text, reason });
                    continue;
                }
            };
            let candle = Candle { session, ..candle };
            match self.effect(&symbol, grain, candle, is_final)? {
                Some(row) => {
                    match row.effect {
                        Effect::New | Effect::Continued => checked.counts.accepted += 1,
                        Effect::Replaced => checked.counts.replaced += 1,
                    }
                    checked.candles.push(row);
                }
                None => checked.counts.unchanged += 1,
            }
        }
        Ok(checked)
    }

    /// Returns what a valid row changes, or `None` if it changes nothing.
    fn effect(
        &mut self,
        symbol: &Symbol,
        grain: Grain,
        candle: Candle,
        is_final: Option<bool>,
    ) -> Result<Option<CommittedCandle>, IngestError> {
        let venue = self.venues.of(symbol.market());
        let series = Series { symbol: symbol.clone(), grain, lane: lane_of(candle.session) };
        let at = candle.time;
        let end = end_of(venue, grain, at);
        let known = self.known.series(self.reader, &series, at)?;
        let is_over = self.now.0 >= end.0.saturating_add(self.grace_s)
            || (grain == Grain::Minute && known.has_later(at));
        let minute_end = if grain == Grain::Day { end.0 } else { at.0.saturating_add(60) };
        let is_final = is_final.unwrap_or(self.now.0 >= minute_end) || is_over;
        let (is_final, effect) = match known.get(at) {
            None => (is_final, Effect::New),
            Some(before) if before.candle == candle && (before.is_final || is_over || !is_final) => {
                return Ok(None);
            }
            Some(before) if before.is_final || is_over => (true, Effect::Replaced),
            Some(_) => (is_final, Effect::Continued),
        };
        let row = CommittedCandle { symbol: symbol.clone(), grain, candle, is_final, effect };
        known.put(&row);
        Ok(Some(row))
    }

    fn trades(&mut self, source: &str, rows: Vec<Parsed<TradeInput>>) -> Result<Checked, IngestError> {
        let mut checked = Checked::default();
        let mut inspector = TradeInspector::new(self.venues);
        let mut valid: Vec<(TradeInput, Date)> = Vec::with_capacity(rows.len());
        for (place, row) in rows.into_iter().enumerate() {
            let input = match row {
                Ok(input) => input,
                Err(refused) => {
                    checked.refuse(RefusedRow { row: place, ..refused });
                    continue;
                }
            };
            let file_row = TradeRow { symbol: 0, line: place as u64 + 1, trade: input.trade };
            match inspector.inspect(&file_row, &input.symbol) {
                Ok(trade_place) => valid.push((input, trade_place.day)),
                Err(flaw) => checked.refuse(RefusedRow {
                    row: place,
                    symbol: Some(input.symbol.to_string()),
                    text: spell_trade(&file_row, &input.symbol, self.venues),
                    reason: flaw.to_string(),
                }),
            }
        }
        let ids: Vec<(&Symbol, Date, &str)> = valid
            .iter()
            .filter_map(|(input, day)| Some((&input.symbol, *day, input.id.as_deref()?)))
            .collect();
        let today = self.now.0.div_euclid(DAY_S);
        let mut new = self.append.add_trades(source, &ids, today)?.into_iter();
        for (TradeInput { symbol, trade, id }, _) in &valid {
            if id.is_some() && new.next() == Some(false) {
                checked.counts.unchanged += 1;
                continue;
            }
            checked.counts.accepted += 1;
            checked.trades.push(CommittedTrade { symbol: symbol.clone(), trade: *trade });
        }
        Ok(checked)
    }
}

impl Checked {
    fn refuse(&mut self, row: RefusedRow) {
        self.counts.refused += 1;
        self.refused.push(row);
    }
}

fn as_file_row(place: usize, candle: &Candle) -> CandleRow {
    CandleRow {
        symbol: 0,
        line: place as u64 + 1,
        time: candle.time,
        session: None,
        open: candle.open,
        high: candle.high,
        low: candle.low,
        close: candle.close,
        volume: candle.volume,
        turnover: candle.turnover,
    }
}
