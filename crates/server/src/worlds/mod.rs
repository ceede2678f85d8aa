//! The worlds of this server, which are accounts with their own market clocks.
//!
//! This file holds the worlds in memory, by account, and changes the state of a clock. `clients.rs`
//! tracks the connections and requests of a world, `waiters.rs` the requests that wait for its
//! clock, `log.rs` its log, and `ahead.rs` what was read ahead. `write.rs` stores a world if its
//! row was not changed by another process. `world_changes/` moves the clocks.

mod ahead;
mod clients;
mod error;
mod log;
mod span;
mod waiters;
mod write;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};
use std::time::Duration;

use access::Connection;
use market::Timestamp;
use serde_json::json;
use store::{AccountId, Accounts, Hash, WorldClock, WorldId, WorldRow};
use tokio::sync::Notify;
use world::{Change, Course, Settings, Span, State};

pub(crate) use ahead::{Ahead, Minutes};
pub(crate) use clients::{Clients, NextStep, WorldRequest};
pub(crate) use error::WorldError;
use error::wrong;
pub(crate) use log::{LineKind, Log, PushHash, hex};
use span::SharedSpan;
use waiters::{MovementGuard, Waiters};
pub(crate) use waiters::{WAIT_MAX, Waiter};
pub(crate) use write::WRITE_EVERY;

/// Worlds that were used on this server, by account.
#[derive(Debug)]
pub(crate) struct Worlds {
    loaded: RwLock<HashMap<AccountId, Arc<World>>>,
    /// Maximum number of worlds in the store.
    pub(crate) most: u32,
    /// Maximum number of concurrently running worlds.
    pub(crate) running_max: u32,
    /// Uptime until which no paused world resumes automatically, because the maximum number of
    /// worlds runs on all nodes.
    full_until: Mutex<Duration>,
    /// Notified when a world begins to run.
    pub(crate) moving: Arc<Notify>,
    /// Whether a job stores steps asynchronously.
    pub(crate) writes_later: bool,
    /// Notified when a change is waiting to be stored.
    pub(crate) unwritten: Arc<Notify>,
    /// Whether the job that stores worlds will run soon.
    write_planned: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) id: WorldId,
    pub(crate) account: AccountId,
    pub(crate) owner: AccountId,
    pub(crate) name: String,
    pub(crate) span: SharedSpan,
    pub(crate) created_at: Timestamp,
    standing: Mutex<Standing>,
    /// Held while the world runs on this server.
    run_slot: Mutex<Option<Connection>>,
    /// Clients on this server.
    pub(crate) clients: Arc<Clients>,
    /// Requests that wait for the end of a movement.
    waiters: Arc<Waiters>,
    /// Held shared by each operation on the account, and exclusively while the clock moves, so that
    /// an order is placed either before a movement or after it.
    acting: RwLock<()>,
    /// Held during a change of the world, so that changes do not overlap.
    changing: Mutex<()>,
    /// The clock as stored. Held while the world is stored.
    stored: Mutex<WorldClock>,
    log: Mutex<Log>,
    ahead: Mutex<Ahead>,
    /// End of a movement that failed before it was complete. The account may have events up to this
    /// instant.
    unfinished: Mutex<Option<Timestamp>>,
    /// Whether a change is not stored yet.
    is_unwritten: AtomicBool,
    /// Whether the world was replaced by its stored row since the current change began, because
    /// another process has changed the row.
    taken_over: AtomicBool,
}

/// The changing state of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) state: State,
    pub(crate) now: Timestamp,
    /// Number of the last step.
    pub(crate) step: u64,
    pub(crate) settings: Settings,
    /// How the clock of a running world moves. `None` for the highest speed, and while the clock is
    /// stopped. Not stored.
    pub(crate) course: Option<Course>,
    /// Instant that the clock of a running world does not pass, because of work after it. Not
    /// stored.
    pub(crate) until: Timestamp,
    /// Instant at which a running world is paused. Not stored.
    pub(crate) stop_at: Option<Timestamp>,
    /// Whether the clock is paused because the last connection was closed. It resumes when a
    /// connection is opened. Not stored.
    pub(crate) is_alone: bool,
}

impl Default for Worlds {
    fn default() -> Worlds {
        let (most, running_max) =
            (crate::settings::WORLDS_MAX_DEFAULT, crate::settings::WORLDS_RUNNING_DEFAULT);
        Worlds {
            loaded: RwLock::default(),
            most,
            running_max,
            full_until: Mutex::default(),
            moving: Arc::default(),
            writes_later: false,
            unwritten: Arc::default(),
            write_planned: AtomicBool::new(false),
        }
    }
}

impl Worlds {
    /// Returns the world of an account.
    pub(crate) fn of(&self, accounts: &Accounts, account: AccountId) -> Result<Arc<World>, WorldError> {
        if let Some(world) = self.known(account) {
            return Ok(world);
        }
        let row = accounts.world_of(account)?.ok_or(WorldError::Unknown)?;
        let world = Arc::new(World::load(row, accounts)?);
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        Ok(loaded.entry(account).or_insert(world).clone())
    }

    /// Returns the world with this name that belongs to an owner.
    pub(crate) fn named(
        &self,
        accounts: &Accounts,
        owner: AccountId,
        name: &str,
    ) -> Result<Arc<World>, WorldError> {
        let row = accounts.world_named(owner, name)?.ok_or(WorldError::Unknown)?;
        self.of(accounts, row.account)
    }

    /// Returns the worlds of an owner, oldest first.
    pub(crate) fn of_owner(
        &self,
        accounts: &Accounts,
        owner: AccountId,
    ) -> Result<Vec<Arc<World>>, WorldError> {
        accounts.worlds_of(owner)?.iter().map(|row| self.of(accounts, row.account)).collect()
    }

    /// Removes a deleted world from memory.
    pub(crate) fn forget(&self, account: AccountId) {
        self.loaded.write().unwrap_or_else(PoisonError::into_inner).remove(&account);
    }

    pub(crate) fn all(&self) -> Vec<Arc<World>> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns whether a paused world may resume automatically.
    pub(crate) fn may_resume(&self, uptime: Duration) -> bool {
        *self.full_until.lock().unwrap_or_else(PoisonError::into_inner) <= uptime
    }

    /// Records that the maximum number of worlds is running, so that paused worlds do not try to
    /// resume before this uptime.
    pub(crate) fn resume_after(&self, uptime: Duration) {
        *self.full_until.lock().unwrap_or_else(PoisonError::into_inner) = uptime;
    }

    /// Returns the running worlds, and the worlds that resume when a connection is opened.
    pub(crate) fn all_moving(&self) -> Vec<Arc<World>> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.values().filter(|world| world.is_moving()).cloned().collect()
    }

    /// Records that a connection of a world was closed.
    pub(crate) fn left(&self, account: AccountId, connection: u64) {
        if self.known(account).is_some_and(|world| world.clients.left(connection)) {
            self.moving.notify_one();
        }
    }

    /// Records that a connection of a world has reported its flow.
    pub(crate) fn reported(&self, account: AccountId) {
        if let Some(world) = self.known(account) {
            world.clients.reported();
        }
        self.moving.notify_one();
    }

    /// Records that a connection of a world has subscribed to quotes or order events.
    pub(crate) fn subscribed(&self, account: AccountId, uptime: Duration) {
        if let Some(world) = self.known(account) {
            world.clients.subscribed(uptime);
            self.moving.notify_one();
        }
    }

    /// Records a request on a connection of a world.
    pub(crate) fn requested(&self, account: AccountId, uptime: Duration) {
        if let Some(world) = self.known(account) {
            world.clients.requested(uptime);
        }
    }

    /// Records an HTTP request with the API key of a world. The request is pending until the result
    /// is dropped.
    pub(crate) fn begin_request(&self, account: AccountId, uptime: Duration) -> Option<WorldRequest> {
        Some(WorldRequest::begin(self.known(account)?.clients.clone(), self.moving.clone(), uptime))
    }

    /// Returns a future that waits until the clock of a world has stopped moving. Returns `None` if
    /// the clock does not move.
    pub(crate) fn wait(&self, account: AccountId) -> Option<Waiter> {
        self.known(account)?.waiters.wait()
    }

    fn known(&self, account: AccountId) -> Option<Arc<World>> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).get(&account).cloned()
    }
}

impl World {
    fn load(row: WorldRow, accounts: &Accounts) -> Result<World, WorldError> {
        let span = SharedSpan::of(&row).map_err(|error| wrong(&row, "span", &error.to_string()))?;
        let standing = Standing::of(&row)?;
        let WorldRow { id, account, owner, name, created_at, clock, .. } = row;
        let world = World {
            id,
            account,
            owner,
            name,
            span,
            created_at,
            standing: Mutex::new(standing),
            run_slot: Mutex::default(),
            clients: Arc::default(),
            waiters: Arc::default(),
            acting: RwLock::default(),
            changing: Mutex::default(),
            stored: Mutex::new(clock),
            log: Mutex::default(),
            ahead: Mutex::default(),
            unfinished: Mutex::default(),
            is_unwritten: AtomicBool::new(false),
            taken_over: AtomicBool::new(false),
        };
        world.read_log(accounts)?;
        world.recover(accounts)?;
        Ok(world)
    }

    pub(crate) fn standing(&self) -> Standing {
        self.lock().clone()
    }

    /// Returns the current instant of the clock.
    pub(crate) fn now(&self, uptime: Duration) -> Timestamp {
        let standing = self.lock();
        match standing.course {
            Some(course) if standing.state == State::Running => {
                course.now(uptime).min(standing.until).max(standing.now)
            }
            _ => standing.now,
        }
    }

    /// Waits until the clock has stopped moving, and prevents movements until the result is
    /// dropped.
    pub(crate) fn begin_operation(&self) -> RwLockReadGuard<'_, ()> {
        self.acting.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a movement of the clock: new requests wait until the result is dropped.
    pub(crate) fn begin_movement(&self) -> MovementGuard {
        self.waiters.begin()
    }

    /// Returns whether a movement of the clock is in progress.
    pub(crate) fn has_movement(&self) -> bool {
        self.waiters.has_movement()
    }

    /// Waits until no operation on the account is in progress, and prevents new operations until
    /// the result is dropped.
    pub(crate) fn end_operations(&self) -> RwLockWriteGuard<'_, ()> {
        self.acting.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether requests wait for the end of a movement, or were woken and have not begun
    /// yet.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiters.has_waiting()
    }

    /// Returns whether the world was replaced by its stored row since the current change began.
    pub(crate) fn was_taken_over(&self) -> bool {
        self.taken_over.load(Ordering::Acquire)
    }

    /// Continues the current change with the row that has replaced the world.
    pub(crate) fn accept_row(&self) {
        self.taken_over.store(false, Ordering::Release);
    }

    pub(crate) fn is_moving(&self) -> bool {
        let standing = self.lock();
        standing.state == State::Running || standing.is_alone
    }

    /// Allows the clock of a running world to move up to one second before `due`.
    pub(crate) fn limit(&self, due: Timestamp) {
        self.lock().until = Timestamp(due.0 - 1);
    }

    /// Changes the state and stops the clock at its current instant.
    pub(crate) fn change(
        &self,
        accounts: &Accounts,
        change: Change,
        uptime: Duration,
    ) -> Result<Standing, WorldError> {
        let _changing = self.begin();
        let (before, now) = (self.standing(), self.now(uptime));
        let state = before.state.after(change)?;
        let after = Standing { state, now, course: None, stop_at: None, is_alone: false, ..before.clone() };
        self.put(accounts, &before, after)
    }

    /// Waits until no other request changes the world.
    pub(crate) fn begin(&self) -> MutexGuard<'_, ()> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.accept_row();
        changing
    }

    /// Begins a change. Returns `None` if another request is changing the world.
    pub(crate) fn try_begin(&self) -> Option<MutexGuard<'_, ()>> {
        let changing = match self.changing.try_lock() {
            Ok(changing) => changing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.accept_row();
        Some(changing)
    }

    /// Stores a change of the state, and then makes it visible. The caller must have begun the
    /// change.
    pub(crate) fn put(
        &self,
        accounts: &Accounts,
        before: &Standing,
        after: Standing,
    ) -> Result<Standing, WorldError> {
        if self.was_taken_over() {
            return Err(WorldError::Moved);
        }
        let note = json!({"state": after.state.as_str(), "speed": after.settings.speed.to_string()});
        if before.state != after.state {
            self.note(LineKind::Changed, after.now, &note);
        }
        self.write(accounts, Some(after), None)
    }

    /// Returns an error if the log is full. Stores queued lines first if there are too many of
    /// them.
    pub(crate) fn check_log(&self, accounts: &Accounts) -> Result<(), WorldError> {
        if self.log().is_full() {
            return Err(WorldError::LogFull);
        }
        if self.is_crowded() { self.write_out(accounts) } else { Ok(()) }
    }

    /// Replaces the state in memory, unless another process has changed the world.
    pub(crate) fn replace(&self, after: Standing) -> Result<(), WorldError> {
        let mut standing = self.lock();
        // The row of another process must not be replaced by a state that was computed before the
        // row was read.
        if self.was_taken_over() {
            return Err(WorldError::Moved);
        }
        self.set(&mut standing, after);
        Ok(())
    }

    /// Clears the reads ahead of the clock and the unfinished movement, because the clock was set
    /// back or another process has moved it.
    pub(crate) fn forget_ahead(&self) {
        *self.ahead() = Ahead::default();
        *self.unfinished() = None;
    }

    /// Records whether a movement to `to` has failed or was completed.
    pub(crate) fn ended(&self, to: Timestamp, is_done: bool) {
        let (mut unfinished, now) = (self.unfinished(), self.standing().now);
        let is_ahead = |at: &Timestamp| *at > now;
        *unfinished = if is_done { unfinished.filter(is_ahead) } else { Some(to).filter(is_ahead) };
    }

    pub(crate) fn unfinished(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the slot of a running world until the world stops.
    pub(crate) fn hold_run_slot(&self, slot: Connection) {
        *self.run_slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(slot);
    }

    /// Frees the slot of a running world.
    pub(crate) fn free_run_slot(&self) {
        self.run_slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Changes the state. A world that does not run needs no slot.
    fn set(&self, standing: &mut Standing, after: Standing) {
        if after.state != State::Running {
            self.free_run_slot();
        }
        *standing = after;
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Standing {
    /// Returns the initial state of a world with these settings.
    pub(crate) fn at_start(span: Span, settings: Settings) -> Standing {
        let now = span.start();
        let (course, stop_at, is_alone) = (None, None, false);
        Standing { state: State::Created, now, step: 0, settings, course, until: now, stop_at, is_alone }
    }

    fn of(row: &WorldRow) -> Result<Standing, WorldError> {
        let WorldClock { state, now, step, .. } = &row.clock;
        Ok(Standing {
            state: State::parse(state).ok_or_else(|| wrong(row, "state", state))?,
            now: *now,
            step: *step,
            settings: row.settings.parse().map_err(|_| wrong(row, "setting", &row.settings))?,
            course: None,
            until: *now,
            stop_at: None,
            is_alone: false,
        })
    }

    /// Returns the stored form of the clock. A running world is stored as it would be after a
    /// restart, because only the memory of one server records that a world is running.
    pub(crate) fn clock(&self, digest: Hash) -> WorldClock {
        let Standing { state, now, step, .. } = self;
        WorldClock { state: state.after_restart().as_str().to_owned(), now: *now, step: *step, digest }
    }
}
