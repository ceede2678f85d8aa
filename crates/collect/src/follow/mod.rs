//! Following: subscribes to the securities of a mirror at its source, builds one-minute candles from
//! the pushes, and ingests them.
//!
//! For each security, a session first reads the candles of the day and then subscribes: the source
//! pushes the trades after that response. After a lost connection the next session does the same,
//! with the candles since the last one, so that no minute is missing. Rows are whole candles: those
//! that are known change nothing. `session.rs` is the main loop of a connection, and `outbox.rs`
//! sends the rows as numbered batches, until they are stored.

mod outbox;
mod session;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use history::ingest::CandleInput;
use history::mirror::MirrorStore;
use market::{Symbol, Timestamp, Venues};
use store::{MirrorId, MirrorLock, MirrorRow, MirrorTask, Store, StoreError};

use crate::Time;
use crate::error::CollectError;
use crate::run::Watch;
use crate::settings::{FollowState, Settings, State};
use crate::through::OpenSource;

use outbox::Outbox;
use session::Session;

/// Maximum time between two attempts to connect: 1, 2, 4 … 60 seconds.
const RETRY_MAX_S: u64 = 60;
/// Interval at which a server checks whether another one has stopped following.
const TURN_S: u64 = 10;

/// Maximum number of listed securities without pushes.
const LEFT_OUT_MAX: usize = 20;

/// A numbered batch of rows.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub source: String,
    pub seq: i64,
    /// Whether batches with lower numbers may be missing.
    pub gap: bool,
    pub rows: Vec<CandleInput>,
}

/// Outcome of a [`Delivery`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The batch is durable.
    Stored,
    /// Another process has used the number.
    OutOfOrder,
    /// The batch must be sent again, for this reason.
    NotYet(String),
}

/// The ingest of a server.
pub trait Sink {
    fn put(&self, delivery: &Delivery) -> Delivered;
}

/// State of following that the server reads.
#[derive(Clone)]
pub struct Following(Arc<Shared>);

struct Shared {
    mirror: String,
    state: Mutex<FollowState>,
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Following").field(&self.0.mirror).finish()
    }
}

/// Creates the state of following a mirror, and the follower for its thread.
pub fn follow(mirror: &str) -> (Following, Follower) {
    let shared = Arc::new(Shared {
        mirror: mirror.to_owned(),
        state: Mutex::default(),
        is_stopped: Mutex::default(),
        stopped: Condvar::new(),
    });
    let follower = Follower {
        shared: shared.clone(),
        outbox: Outbox::new(mirror),
        read_at: BTreeMap::new(),
        lock: None,
        failures: 0,
    };
    (Following(shared), follower)
}

impl Following {
    /// Returns the name of the mirror.
    pub fn mirror(&self) -> &str {
        &self.0.mirror
    }

    pub fn state(&self) -> FollowState {
        lock(&self.0.state).clone()
    }

    /// Ends the thread of the follower.
    pub fn stop(&self) {
        *lock(&self.0.is_stopped) = true;
        self.0.stopped.notify_all();
    }
}

impl Shared {
    fn is_stopped(&self) -> bool {
        *lock(&self.is_stopped)
    }

    /// Waits, and returns whether the follower was stopped.
    fn wait(&self, time: Duration) -> bool {
        let guard = lock(&self.is_stopped);
        let waited = self.stopped.wait_timeout_while(guard, time, |is_stopped| !*is_stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn update(&self, change: impl FnOnce(&mut FollowState)) {
        change(&mut lock(&self.state));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows the source of a mirror on one thread.
pub struct Follower {
    shared: Arc<Shared>,
    outbox: Outbox,
    /// When the candles of each security were read last, in Unix milliseconds.
    read_at: BTreeMap<Symbol, i64>,
    /// Held across connections, so that another server takes over only when this one stops.
    lock: Option<MirrorLock>,
    /// Number of connections that failed since a push or a response was received.
    failures: u32,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Follower").field(&self.shared.mirror).finish()
    }
}

/// What a session uses.
struct Place<'a> {
    store: &'a Store,
    venues: &'a Venues,
    time: &'a dyn Time,
    sink: &'a dyn Sink,
    id: MirrorId,
    settings: Settings,
}

impl Follower {
    /// Follows on the calling thread until [`Following::stop`].
    pub fn run(
        mut self,
        (store, venues): (&Store, &Venues),
        time: &dyn Time,
        sink: &dyn Sink,
        watch: &dyn Watch,
        open: OpenSource<'_>,
    ) {
        let mut noted = String::new();
        while !self.shared.is_stopped() {
            let ended = self.session((store, venues), time, sink, open);
            let now = now_of(time);
            let (text, seconds) = match &ended {
                Ok(()) => (String::new(), 0),
                Err(FollowError::Collect(CollectError::Store(StoreError::MirrorRunning { .. }))) => {
                    ("another server follows the mirror".to_owned(), TURN_S)
                }
                Err(error) => {
                    let seconds = 1_u64.checked_shl(self.failures).unwrap_or(RETRY_MAX_S).min(RETRY_MAX_S);
                    self.failures = self.failures.saturating_add(1).min(16);
                    (error.to_string(), seconds)
                }
            };
            self.shared.update(|state| {
                state.is_connected = false;
                state.subscribed = 0;
                state.since = Some(now.0);
                state.error = Some(text.clone()).filter(|text| !text.is_empty());
            });
            // Only the server that follows stores its state.
            if self.has_lock() {
                self.store_state((store, venues), now);
            }
            if !text.is_empty() && noted != text {
                watch.note(&format!("following: {text}"));
                noted = text;
            }
            if self.shared.wait(time.pass(Duration::from_secs(seconds))) {
                break;
            }
        }
    }

    fn session(
        &mut self,
        (store, venues): (&Store, &Venues),
        time: &dyn Time,
        sink: &dyn Sink,
        open: OpenSource<'_>,
    ) -> Result<(), FollowError> {
        let name = self.shared.mirror.clone();
        let mut reader = store.reader().map_err(CollectError::from)?;
        let row = reader.view().mirror(&name).map_err(CollectError::from)?;
        let row = row.ok_or_else(|| CollectError::Removed(name.clone()))?;
        let settings: Settings = serde_json::from_str(&row.settings).map_err(CollectError::from)?;
        if settings.terms_accepted_at.is_none() {
            return Err(FollowError::Terms(name));
        }
        if !self.has_lock() {
            self.lock = None;
            self.lock = Some(store.mirror_lock(&row, MirrorTask::Follow).map_err(CollectError::from)?);
        }
        let mut connect = open(&row).map_err(FollowError::Open)?;
        let mut link = connect.connect(time.now_ms()).map_err(CollectError::from)?;
        let place = Place { store, venues, time, sink, id: row.id, settings };
        Session::new(self, &place)?.run(link.as_mut())
    }

    fn has_lock(&self) -> bool {
        self.lock.as_ref().is_some_and(MirrorLock::is_held)
    }

    /// Stores the state for `chandler mirror status`. A failure is not an error of following.
    fn store_state(&self, (store, venues): (&Store, &Venues), now: Timestamp) {
        self.shared.update(|state| state.at = Some(now.0));
        let following = lock(&self.shared.state).clone();
        let stored = MirrorStore::open(store, venues).map_err(CollectError::from).and_then(|mut data| {
            Ok(data.write(|batch| {
                let Some(row) = batch.mirror(&self.shared.mirror)? else { return Ok(()) };
                let state = State { following: Some(following), ..State::parse(&row.state) };
                batch.put_mirror_state(row.id, &state.text())
            })?)
        });
        if let Err(error) = stored {
            self.shared.update(|state| state.error = Some(error.to_string()));
        }
    }
}

fn now_of(time: &dyn Time) -> Timestamp {
    Timestamp(time.now_ms().div_euclid(1_000))
}

/// Returns the state of following that a mirror has stored, and whether a server follows it now.
pub fn followed(store: &Store, row: &MirrorRow) -> Result<Option<(FollowState, bool)>, StoreError> {
    let Some(state) = State::parse(&row.state).following else { return Ok(None) };
    let is_running = match store.mirror_lock(row, MirrorTask::Follow) {
        Ok(_) => false,
        Err(StoreError::MirrorRunning { .. }) => true,
        Err(error) => return Err(error),
    };
    Ok(Some((state, is_running)))
}

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error("{0}")]
    Open(String),
    #[error(
        "the terms of the source of {0} were not accepted: run `chandler mirror plan {0} --accept-terms`"
    )]
    Terms(String),
    #[error("more than {0} changed candles wait to be stored")]
    Behind(usize),
    #[error("the settings of the mirror have changed")]
    Changed,
}
