//! Validates the rows of a batch, determines their changes, and commits the batch to the log.

use std::sync::Arc;

use files::{CandleRow, TradeRow};
use market::{Candle, Date, Flaw, Grain, Symbol, Timestamp, Trade, Venues};
use store::{Append, IngestLog, Reader, Series, Store};

use super::commit::NUMBERS_PER_ROW;
use super::known::Known;
use super::{
    Commit, CommittedCandle, CommittedTrade, Counts, Effect, IngestError, MergeVersions, Merger,
    RecentCommits, RefusedRow, end_of,
};
use crate::import::inspect::Inspector;
use crate::import::sorting::spell;
use crate::import::trade_gather::{Inspector as TradeInspector, spell as spell_trade};
use crate::lane_of;

const MICROSECONDS: i64 = 1_000_000;
const DAY_S: i64 = 86_400;

/// Minimum time for which a batch is stored after its merge, in microseconds. During this time,
/// servers push its rows.
const KEPT_US: i64 = 600_000_000;
/// Old batches are removed whenever this number of batches has been committed.
const FORGET_EVERY: i64 = 16;
/// Number of days for which trade ids are stored.
const TRADE_IDS_KEPT_DAYS: i64 = 7;

/// The head of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    pub source: &'a str,
    /// Number of the batch; `None` if the source does not number them.
    pub seq: Option<i64>,
    /// Whether numbers may be missing before this one.
    pub gap: bool,
    /// Whether candles are built from trades.
    pub build: bool,
}

/// A row, or why it cannot be parsed.
pub type Parsed<T> = Result<T, RefusedRow>;

#[derive(Clone, Debug)]
pub struct CandleInput {
    pub symbol: Symbol,
    /// One-minute or daily.
    pub grain: Grain,
    /// The session is ignored, because it is derived from the time.
    pub candle: Candle,
    /// Whether the row marks the candle as final or as partial. `None` if it does neither.
    pub is_final: Option<bool>,
}

#[derive(Clone, Debug)]
pub struct TradeInput {
    pub symbol: Symbol,
    pub trade: Trade,
    pub id: Option<String>,
}

/// Outcome of a batch.
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
    /// The batch was committed earlier. Contains its response, unless that is no longer stored.
    Repeated(Option<String>),
}

/// A batch to commit.
#[expect(missing_debug_implementations, reason = "it has a function")]
pub struct Submitted<'a> {
    pub head: Head<'a>,
    pub rows: Rows,
    /// Time of the commit, in microseconds.
    pub now_us: i64,
    /// Formats the response that is stored with the batch.
    pub answer: &'a dyn Fn(&Receipt) -> String,
}

#[derive(Debug)]
pub enum Rows {
    Candles(Vec<Parsed<CandleInput>>),
    Trades(Vec<Parsed<TradeInput>>),
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::Candles(Vec::new())
    }
}

/// Accepts batches from one thread at a time.
#[derive(Debug)]
pub struct Intake {
    venues: Venues,
    grace_s: i64,
    log: IngestLog,
    reader: Reader,
    known: Known,
    merges: MergeVersions,
    recent: RecentCommits,
    old_merges: OldMerges,
    /// The UTC day of the last complete removal of old trade ids.
    tidied: i64,
}

/// Determines which merged batches can be removed. The commit time is not sufficient, because a
/// batch may be merged much later, after an import or by another server.
#[derive(Debug, Default)]
struct OldMerges {
    /// All batches up to this one were merged at least [`KEPT_US`] ago.
    through: i64,
    /// A later position, and when this process observed that it is merged, in microseconds.
    next: Option<(i64, i64)>,
}

impl OldMerges {
    /// Records the last merged batch. Returns the last one that can be removed.
    fn observe(&mut self, applied: i64, now_us: i64) -> i64 {
        match self.next {
            Some((_, at_us)) if now_us.saturating_sub(at_us) < KEPT_US => {}
            next => {
                self.through = next.map_or(self.through, |(through, _)| through);
                self.next = Some((applied, now_us));
            }
        }
        self.through
    }
}

/// The validated rows of a batch.
#[derive(Debug, Default)]
struct Checked {
    candles: Vec<CommittedCandle>,
    trades: Vec<CommittedTrade>,
    refused: Vec<RefusedRow>,
    counts: Counts,
}

impl Intake {
    /// Opens the log of a store. Also returns the merger, which makes committed batches visible to
    /// readers.
    pub fn open(store: &Store, venues: &Venues, grace_s: i64) -> Result<(Intake, Merger), IngestError> {
        let (store, merges, recent) =
            (store.without_copy(), MergeVersions::default(), RecentCommits::default());
        let (log, reader) = (store.ingest_log()?, store.reader()?);
        let merger = Merger::open(&store, venues, grace_s, (merges.clone(), recent.clone()))?;
        let (venues, known) = (venues.clone(), Known::default());
        let old_merges = OldMerges::default();
        Ok((Intake { venues, grace_s, log, reader, known, merges, recent, old_merges, tidied: 0 }, merger))
    }

    /// Returns the last batches, which are cached for merges and pushes.
    pub fn recent(&self) -> RecentCommits {
        self.recent.clone()
    }

    /// Returns the number of a source's last batch, and the response to it.
    pub fn last_answer(&mut self, source: &str) -> Result<Option<(i64, String)>, IngestError> {
        let append = self.log.append()?;
        let Some(seq) = append.last_seq(source)? else { return Ok(None) };
        Ok(append.answer(source, seq)?.map(|answer| (seq, answer)))
    }

    /// Commits a batch of candles at `now_us`, in microseconds. `answer` formats the response that
    /// is stored with the batch.
    pub fn candles(
        &mut self,
        head: &Head<'_>,
        rows: Vec<Parsed<CandleInput>>,
        now_us: i64,
        answer: &dyn Fn(&Receipt) -> String,
    ) -> Result<Outcome, IngestError> {
        self.commit_one(Submitted { head: *head, rows: Rows::Candles(rows), now_us, answer })
    }

    /// Commits a batch of trades.
    pub fn trades(
        &mut self,
        head: &Head<'_>,
        rows: Vec<Parsed<TradeInput>>,
        now_us: i64,
        answer: &dyn Fn(&Receipt) -> String,
    ) -> Result<Outcome, IngestError> {
        self.commit_one(Submitted { head: *head, rows: Rows::Trades(rows), now_us, answer })
    }

    fn commit_one(&mut self, batch: Submitted<'_>) -> Result<Outcome, IngestError> {
        let mut outcomes = self.commit(vec![batch])?.into_iter();
        outcomes.next().unwrap_or(Err(IngestError::Damaged { id: 0 }))
    }

    /// Commits batches in one transaction, in order. Returns the outcome of each batch. A batch
    /// fails if an earlier batch of its source is missing. If the transaction fails, no batch is
    /// committed.
    pub fn commit(
        &mut self,
        batches: Vec<Submitted<'_>>,
    ) -> Result<Vec<Result<Outcome, IngestError>>, IngestError> {
        // After an error or a panic, the cached candles may include uncommitted rows.
        let mut known = std::mem::take(&mut self.known);
        let outcomes = self.try_commit(&mut known, batches)?;
        self.known = known;
        Ok(outcomes)
    }

    fn try_commit(
        &mut self,
        known: &mut Known,
        batches: Vec<Submitted<'_>>,
    ) -> Result<Vec<Result<Outcome, IngestError>>, IngestError> {
        let Intake { venues, grace_s, log, reader, known: _, merges, recent, old_merges, tidied } = self;
        let now_us = batches.iter().map(|batch| batch.now_us).max().unwrap_or_default();
        let mut append = log.append()?;
        known.follow(&append, merges)?;
        let (mut outcomes, mut commits) = (Vec::with_capacity(batches.len()), Vec::new());
        for batch in batches {
            let Submitted { head, rows, now_us, answer } = batch;
            match in_order(&append, &head) {
                Ok(None) => {}
                Ok(Some(repeated)) => {
                    outcomes.push(Ok(repeated));
                    continue;
                }
                Err(gap @ IngestError::Gap { .. }) => {
                    outcomes.push(Err(gap));
                    continue;
                }
                Err(error) => return Err(error),
            }
            if !commits.is_empty() {
                append.begin_next()?;
            }
            let now = Timestamp(now_us.div_euclid(MICROSECONDS));
            let mut check = Check { venues, grace_s: *grace_s, now, append: &append, reader, known };
            let checked = match rows {
                Rows::Candles(rows) => check.candles(rows),
                Rows::Trades(rows) => check.trades(head.source, rows),
            }?;
            let (commit, receipt) = put(&append, &head, now_us, checked)?;
            if let Some(seq) = head.seq {
                append.put_answer(head.source, seq, &answer(&receipt))?;
            }
            let commit = Arc::new(commit);
            known.committed(&commit);
            commits.push(commit);
            outcomes.push(Ok(Outcome::Committed(receipt)));
        }
        if !commits.is_empty() {
            let today = now_us.div_euclid(MICROSECONDS * DAY_S);
            let is_tidy = *tidied == today || append.forget_trades(today - TRADE_IDS_KEPT_DAYS)?;
            let removable = old_merges.observe(known.applied(), now_us);
            let first = commits.first().map_or(append.id(), |commit| commit.id);
            if (first - 1).div_euclid(FORGET_EVERY) != append.id().div_euclid(FORGET_EVERY) {
                append.forget_batches(removable)?;
            }
            append.commit()?;
            if is_tidy {
                *tidied = today;
            }
            recent.add(commits);
        }
        Ok(outcomes)
    }
}

/// Writes a batch.
fn put(
    append: &Append<'_>,
    head: &Head<'_>,
    now_us: i64,
    checked: Checked,
) -> Result<(Commit, Receipt), IngestError> {
    let Checked { candles, trades, refused, counts } = checked;
    let receipt = Receipt {
        seq: head.seq,
        counts,
        refused: refused.iter().map(|row| (row.row, row.reason.clone())).collect(),
        revision: append.id(),
    };
    let rows = candles.len() + trades.len();
    let push_from = append.reserve_pushes(now_us, rows * usize::from(NUMBERS_PER_ROW))?;
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
    Ok((commit, receipt))
}

/// Compares the number of a batch with the last one of its source. If the batch was committed
/// earlier, returns its outcome.
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

/// Data for the validation of rows.
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

    /// Returns the change of a valid row, or `None` if it changes nothing.
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
