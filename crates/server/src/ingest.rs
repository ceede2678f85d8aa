//! Ingested candles and trades. A request queues its batch, and one of the waiting requests commits
//! all queued batches in one transaction. A job merges the batches into the store
//! (`jobs/ingest.rs`) and then wakes the receivers of [`Ingest::merged`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use history::ingest::{
    Commit, Counts, GRACE_S, Head, IngestError, Intake, Merged, Merger, Outcome, Receipt, RecentCommits,
    Rows, Submitted,
};
use market::{Timestamp, Venues};
use store::{Reader, Store, StoreNews};
use tokio::sync::{Notify, watch};

use crate::merge_backlog::MergeBacklog;
use crate::merge_turn::MergeTurn;

/// Maximum number of batches that wait to be committed.
pub(crate) const WAITING_MAX: usize = 64;
/// Maximum number of rows in a batch.
pub(crate) const ROWS_MAX: usize = 5_000;
/// Maximum size of a batch in bytes, before and after decompression.
pub(crate) const BYTES_MAX: usize = 4 << 20;
const MICROSECONDS: i64 = 1_000_000;
/// Error of a queued batch whose committing thread has panicked.
const LOST: IngestError = IngestError::Damaged { id: 0 };
/// Maximum number of batches whose commit times are stored until their pushes are queued.
const TIMED_MAX: usize = 1_024;

/// A batch as received in a request.
#[derive(Debug)]
pub(crate) struct NewBatch {
    pub(crate) source: String,
    pub(crate) seq: Option<i64>,
    pub(crate) gap: bool,
    pub(crate) build: bool,
    pub(crate) rows: Rows,
    pub(crate) now: Timestamp,
    /// Formats the response that is stored with the batch.
    pub(crate) answer: fn(&Receipt) -> String,
}

#[cfg(test)]
impl NewBatch {
    fn of(head: &Head<'_>, rows: Rows, now: Timestamp) -> NewBatch {
        let Head { source, seq, gap, build } = *head;
        let answer = |receipt: &Receipt| format!("revision {}", receipt.revision);
        NewBatch { source: source.to_owned(), seq, gap, build, rows, now, answer }
    }
}

/// A batch in the queue, and its outcome once it is committed.
#[derive(Debug)]
struct Queued {
    batch: Mutex<Option<NewBatch>>,
    outcome: OnceLock<Result<Outcome, Arc<IngestError>>>,
}

pub(crate) struct Ingest {
    store: Store,
    venues: Venues,
    /// Time in seconds after the end of a minute at which a partial candle of this minute becomes
    /// final.
    pub(crate) grace_s: i64,
    intake: Mutex<Option<Intake>>,
    merger: Mutex<Option<Merger>>,
    /// The batches that this server committed last. Set when the store is opened for ingest.
    recent: OnceLock<RecentCommits>,
    waiting: AtomicUsize,
    queue: Mutex<Vec<Arc<Queued>>>,
    committed: Mutex<Committed>,
    backlog: MergeBacklog,
    /// Notified to start a merge immediately.
    demand: Arc<Notify>,
    turn: Arc<MergeTurn>,
    merged: watch::Sender<i64>,
}

/// Statistics of the batches that this server has committed.
#[derive(Debug, Default)]
struct Committed {
    rows: Counts,
    /// Log position and commit time of the last batches.
    times: VecDeque<(i64, Instant)>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotIngested {
    #[error("more than {WAITING_MAX} batches are waiting")]
    TooMany,
    #[error(transparent)]
    Ingest(Arc<IngestError>),
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest").finish_non_exhaustive()
    }
}

impl Ingest {
    pub(crate) fn new(store: Store, venues: Venues) -> Ingest {
        Ingest {
            store,
            venues,
            grace_s: GRACE_S,
            intake: Mutex::default(),
            merger: Mutex::default(),
            recent: OnceLock::new(),
            waiting: AtomicUsize::new(0),
            queue: Mutex::default(),
            committed: Mutex::default(),
            backlog: MergeBacklog::default(),
            demand: Arc::default(),
            turn: Arc::default(),
            merged: watch::Sender::new(0),
        }
    }

    /// Commits a batch, together with all batches that are queued at that time. Waits if earlier
    /// batches wait too long for their merge.
    pub(crate) fn commit(&self, batch: NewBatch) -> Result<Outcome, NotIngested> {
        let _place = Place::take(&self.waiting).ok_or(NotIngested::TooMany)?;
        self.backlog.wait();
        let queued = Arc::new(Queued { batch: Mutex::new(Some(batch)), outcome: OnceLock::new() });
        lock(&self.queue).push(queued.clone());
        let mut intake = lock(&self.intake);
        if queued.outcome.get().is_none() {
            let all = std::mem::take(&mut *lock(&self.queue));
            self.commit_all(&mut intake, &all);
        }
        drop(intake);
        let outcome = queued.outcome.get().cloned().unwrap_or_else(|| Err(Arc::new(LOST)));
        outcome.map_err(NotIngested::Ingest)
    }

    #[cfg(test)]
    pub(crate) fn candles(
        &self,
        head: &Head<'_>,
        rows: Vec<history::ingest::Parsed<history::ingest::CandleInput>>,
        now: Timestamp,
    ) -> Result<Outcome, NotIngested> {
        self.commit(NewBatch::of(head, Rows::Candles(rows), now))
    }

    #[cfg(test)]
    pub(crate) fn trades(
        &self,
        head: &Head<'_>,
        rows: Vec<history::ingest::Parsed<history::ingest::TradeInput>>,
        now: Timestamp,
    ) -> Result<Outcome, NotIngested> {
        self.commit(NewBatch::of(head, Rows::Trades(rows), now))
    }

    /// Commits queued batches in one transaction.
    fn commit_all(&self, intake: &mut Option<Intake>, all: &[Arc<Queued>]) {
        let mut batches: Vec<NewBatch> = all.iter().filter_map(|of| lock(&of.batch).take()).collect();
        let submitted = batches.iter_mut().map(|batch| {
            let NewBatch { source, seq, gap, build, rows, now, answer } = batch;
            let head = Head { source, seq: *seq, gap: *gap, build: *build };
            Submitted { head, rows: std::mem::take(rows), now_us: microseconds(*now), answer }
        });
        let outcomes = match intake {
            Some(intake) => intake.commit(submitted.collect()),
            closed => self.open().and_then(|opened| closed.insert(opened).commit(submitted.collect())),
        };
        match outcomes {
            Ok(outcomes) => {
                for (queued, outcome) in all.iter().zip(outcomes) {
                    if let Ok(Outcome::Committed(receipt)) = &outcome {
                        lock(&self.committed).add(receipt);
                        self.turn.committed(receipt.revision);
                        self.backlog.committed(receipt.revision, Instant::now());
                    }
                    queued.outcome.set(outcome.map_err(Arc::new)).ok();
                }
                self.demand.notify_one();
            }
            Err(error) => {
                let error = Arc::new(error);
                all.iter().for_each(|queued| drop(queued.outcome.set(Err(error.clone()))));
            }
        }
    }

    /// Returns the number of rows that this server has received, by outcome. Repeated batches are
    /// not counted.
    pub(crate) fn rows(&self) -> Counts {
        lock(&self.committed).rows
    }

    /// Returns the time since the commit of each of these batches that this server has committed.
    /// Removes the commit times of these and earlier batches. `batches` is ascending.
    pub(crate) fn lags(&self, batches: &[i64]) -> Vec<Duration> {
        let mut lags = Vec::new();
        let Some(last) = batches.last() else { return lags };
        let times = &mut lock(&self.committed).times;
        while times.front().is_some_and(|(id, _)| id <= last)
            && let Some((id, at)) = times.pop_front()
        {
            if batches.binary_search(&id).is_ok() {
                lags.push(at.elapsed());
            }
        }
        lags
    }

    /// Opens the store for ingest, and sets the merger.
    fn open(&self) -> Result<Intake, IngestError> {
        let (intake, merger) = Intake::open(&self.store, &self.venues, self.grace_s)?;
        *lock(&self.merger) = Some(merger);
        self.recent.set(intake.recent()).ok();
        Ok(intake)
    }

    /// Merges committed batches into the store, and marks minutes as final. Opens the store for
    /// writing only if necessary.
    pub(crate) fn merge(&self, reader: &mut Reader, now: Timestamp) -> Result<Merged, IngestError> {
        self.merge_if(reader, now, |waiting| waiting.has_more)
    }

    /// Like [`Self::merge`], for several servers that share the store: merges only if it is this
    /// server's turn. Otherwise, batches may be waiting although nothing has changed.
    pub(crate) fn merge_in_turn(&self, reader: &mut Reader, now: Timestamp) -> Result<Merged, IngestError> {
        self.merge_if(reader, now, |waiting| self.turn.take(waiting, Instant::now()))
    }

    fn merge_if(
        &self,
        reader: &mut Reader,
        now: Timestamp,
        is_due: impl FnOnce(&Merged) -> bool,
    ) -> Result<Merged, IngestError> {
        let waiting = Merger::waiting(reader.view(), now)?;
        let merged = match is_due(&waiting) {
            true => self.merge_waiting(now).inspect_err(|_| self.backlog.stalled())?,
            false => waiting,
        };
        self.backlog.merged(merged.through);
        if merged.has_changed {
            self.turn.merged(merged.through);
        }
        self.merged.send_if_modified(|through| {
            let is_new = *through != merged.through;
            *through = merged.through;
            is_new
        });
        Ok(merged)
    }

    fn merge_waiting(&self, now: Timestamp) -> Result<Merged, IngestError> {
        let mut merger = lock(&self.merger);
        if merger.is_none() {
            drop(merger);
            let mut intake = lock(&self.intake);
            if intake.is_none() {
                *intake = Some(self.open()?);
            }
            drop(intake);
            merger = lock(&self.merger);
        }
        let Some(open) = &mut *merger else { return Err(IngestError::Damaged { id: 0 }) };
        open.merge(now)
    }

    /// Returns the notifier that starts a merge.
    pub(crate) fn demand(&self) -> Arc<Notify> {
        self.demand.clone()
    }

    /// Returns a listener for the notifications of a store that several servers share. The listener
    /// starts a merge, or the pushes of batches that another server has merged.
    pub(crate) fn listener(&self) -> impl Fn(StoreNews) + Send + Sync + use<> {
        let (demand, turn) = (self.demand.clone(), self.turn.clone());
        move |news| {
            if news == StoreNews::Changed || turn.is_own() {
                demand.notify_one();
            }
        }
    }

    /// Returns a receiver of the number of the last merged batch. The number changes after every
    /// merge of new batches by any server; [`Ingest::commits`] returns these batches.
    #[cfg(test)]
    pub(crate) fn merged(&self) -> watch::Receiver<i64> {
        self.merged.subscribe()
    }

    /// Returns the number of the last merged batch.
    pub(crate) fn merged_through(&self) -> i64 {
        *self.merged.borrow()
    }

    /// Returns the merged batches with numbers in the range `after` (exclusive) to `through`
    /// (inclusive), in order. Merged batches are available for at least ten minutes.
    pub(crate) fn commits(
        &self,
        reader: &mut Reader,
        after: i64,
        through: i64,
    ) -> Result<Vec<Arc<Commit>>, IngestError> {
        Merger::commits(reader, self.recent.get(), (after, through))
    }
}

fn microseconds(now: Timestamp) -> i64 {
    now.0.saturating_mul(MICROSECONDS)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Committed {
    fn add(&mut self, receipt: &Receipt) {
        let Counts { accepted, unchanged, replaced, refused } = receipt.counts;
        self.rows.accepted += accepted;
        self.rows.unchanged += unchanged;
        self.rows.replaced += replaced;
        self.rows.refused += refused;
        if self.times.len() >= TIMED_MAX {
            self.times.pop_front();
        }
        self.times.push_back((receipt.revision, Instant::now()));
    }
}

/// A slot among the waiting batches.
struct Place<'a>(&'a AtomicUsize);

impl Place<'_> {
    fn take(waiting: &AtomicUsize) -> Option<Place<'_>> {
        let taken = waiting.fetch_add(1, Ordering::AcqRel);
        let place = Place(waiting);
        // One more than the limit, because one batch is being committed and is not waiting.
        (taken <= WAITING_MAX).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use history::ingest::CandleInput;
    use market::{Candle, Grain, Price, Session, Turnover};

    use super::*;

    const M: Timestamp = Timestamp(1_784_122_320);

    fn head(seq: i64) -> Head<'static> {
        Head { source: "feed", seq: Some(seq), gap: false, build: false }
    }

    fn queued(seq: i64) -> Arc<Queued> {
        let batch = Mutex::new(Some(NewBatch::of(&head(seq), Rows::default(), M)));
        Arc::new(Queued { batch, outcome: OnceLock::new() })
    }

    #[test]
    fn queued_batches_are_committed_together_and_each_gets_its_outcome() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), store::Access::Write { now: M }).unwrap();
        let ingest = Ingest::new(store, Venues::built_in().unwrap());
        let all = [7, 9, 7, 8].map(queued);
        ingest.commit_all(&mut lock(&ingest.intake), &all);
        let outcome = |queued: &Arc<Queued>| match queued.outcome.get().unwrap() {
            Ok(Outcome::Committed(receipt)) => format!("committed {}", receipt.revision),
            Ok(Outcome::Repeated(answer)) => format!("repeated: {}", answer.as_deref().unwrap()),
            Err(error) => error.to_string(),
        };
        let expected = ["committed 1", "expected seq 8", "repeated: revision 1", "committed 2"];
        assert_eq!(all.each_ref().map(outcome), expected);
    }

    #[tokio::test]
    async fn a_merge_wakes_the_receivers() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), store::Access::Write { now: M }).unwrap();
        let ingest = Ingest::new(store.clone(), Venues::built_in().unwrap());
        let (mut merged, mut reader) = (ingest.merged(), store.reader().unwrap());
        ingest.merge(&mut reader, M).unwrap();
        assert!(!merged.has_changed().unwrap());
        let price = Price::parse("190.3").unwrap();
        let candle = Candle {
            time: M,
            open: price,
            high: price,
            low: price,
            close: price,
            volume: 500,
            turnover: Turnover(0),
            session: Session::Intraday,
        };
        let symbol = "AAPL.US".parse().unwrap();
        let row = CandleInput { symbol, grain: Grain::Minute, candle, is_final: None };
        ingest.candles(&head(1), vec![Ok(row)], M).unwrap();
        ingest.demand().notified().await;
        assert!(ingest.merge(&mut reader, M).unwrap().has_changed);
        let through = *merged.borrow_and_update();
        let commits = ingest.commits(&mut reader, 0, through).unwrap();
        assert_eq!(commits.iter().map(|commit| commit.candles[0].candle).collect::<Vec<_>>(), [candle]);
        assert!(commits[0].push_from >= M.0 * MICROSECONDS);
    }

    #[test]
    fn at_most_sixty_four_batches_wait() {
        let waiting = AtomicUsize::new(0);
        let mut places: Vec<_> = (0..=WAITING_MAX).map(|_| Place::take(&waiting).unwrap()).collect();
        assert!(Place::take(&waiting).is_none());
        places.pop();
        assert!(Place::take(&waiting).is_some());
        drop(places);
        assert_eq!(waiting.load(Ordering::Acquire), 0);
    }
}
