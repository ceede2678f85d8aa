//! State shared by all requests on any transport: the store, market rules, accounts, the cache of
//! encoded pages, worker threads, two clocks and metrics. The state does not depend on a transport;
//! HTTP and long connections add theirs in `kit/site.rs` and `links.rs`.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use access::{Access, Account, DatabaseState, Lineage, Moment, Present, Region};
use collect::{Fetched, Following, Need, ReadThrough, Wants};
use history::{AsOf, History, HistoryError, PageCache};
use market::{ClassShares, FloorTable, Market, Symbol, Timestamp};
use paper::{NoListener, Paper, PaperError};
use social::Community;
use store::{AccountId, ImportRecord, Reader, ServerLock, Store, StoreError};
use tokio::sync::Notify;
use tokio::time::Instant;
use trading::Tables;
use world::Span;

use crate::alerts::Alerts;
use crate::backoff::Backoff;
use crate::caller::{Caller, Client};
use crate::encoded_page::EncodedPage;
use crate::ingest::Ingest;
use crate::intake::Intake;
use crate::links::Resumed;
use crate::live::{Live, StreamInfo, Subscribed, WorldLives};
use crate::mailbox::Mailbox;
use crate::market_clock::{ClockSpeed, MarketClock};
use crate::metrics::{self, Metrics};
use crate::paper_levels::PaperLevels;
use crate::refusal::{Refusal, WrongRegion};
use crate::settings::Limits;
use crate::suspect::Suspect;
use crate::trade_listeners::TradeListeners;
use crate::unsent::Unsent;
use crate::version_check::VersionCheck;
use crate::workers::{self, Share, Who, Workers};
use crate::worlds::Worlds;

/// A function that returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Maximum number of idle store readers kept open between requests. More readers are opened under
/// load.
const READERS_KEPT: usize = 64;
/// Maximum number of symbols in the catalog. A whole market has fewer.
const CATALOG_MAX: usize = 100_000;

/// Market time of an account whose clock cannot be read. This time is before all data, so that no
/// data is visible too early.
const NO_TIME: AsOf = AsOf::Replay(Timestamp(0));

const STOPPING: &str = "stopping";
const STORE: &str = "store";
const ACCOUNTS: &str = "accounts";
/// The database has been unreachable for longer than the offline window.
const DATABASE: &str = "database";
/// The disk is full: reads still work, writes fail.
pub(crate) const DISK: &str = "disk";
/// All obstacles that readiness checks can report.
pub(crate) const OBSTACLES: [&str; 5] = [STOPPING, STORE, ACCOUNTS, DATABASE, DISK];
/// Health-check timeout of a database server.
const PROBES_WAIT: Duration = Duration::from_secs(1);
/// Maximum time that a request waits for data from the source of a mirror.
const READ_THROUGH_WAIT: Duration = Duration::from_secs(3);
/// Free disk space in bytes below which the disk is reported as full. SQLite's write-ahead log must
/// grow before a write.
const FREE_BYTES_MIN: u64 = 1 << 20;

pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) history: History,
    pub(crate) access: Access,
    pub(crate) page_cache: PageCache<EncodedPage>,
    pub(crate) metrics: Metrics,
    readers: Mutex<Vec<Reader>>,
    seen: VersionCheck,
    /// Store version, and the symbols known to have candles in that version. Each symbol is stored
    /// with an instant at which it is visible; it is visible at every later instant too.
    catalog: RwLock<(i64, HashMap<Symbol, AsOf>)>,
    /// Address of the listener that serves every region. Refusals by a listener for another region
    /// include it.
    pub(crate) serves_all_at: String,
    /// Name of this server, unique among the nodes that share a database.
    pub(crate) node_name: String,
    /// Start of the visible history for accounts without individual floors.
    pub(crate) floors: FloorTable,
    /// Shares of turnover that define large and medium trades.
    pub(crate) class_shares: ClassShares,
    pub(crate) limits: Limits,
    /// Threads for requests that block on disk I/O.
    pub(crate) workers: Workers,
    pub(crate) backoff: Backoff,
    pub(crate) unsent: Unsent,
    /// Paper trading accounts.
    pub(crate) paper: Paper,
    /// Clients subscribed to order events.
    pub(crate) listeners: Arc<TradeListeners>,
    /// Quote subscriptions and their pushes.
    pub(crate) live: Live,
    /// Accounts with their own market clocks.
    pub(crate) worlds: Worlds,
    /// Quote subscriptions of worlds.
    pub(crate) world_lives: WorldLives,
    /// Price alerts.
    pub(crate) alerts: Alerts,
    /// Whether paper accounts count toward levels, and from when.
    pub(crate) paper_levels: PaperLevels,
    /// Topics and replies about securities.
    pub(crate) community: Community,
    /// Uploaded files and their import.
    pub(crate) intake: Intake,
    /// Candles and trades that are ingested while the server runs.
    pub(crate) ingest: Ingest,
    /// Requests data that is not stored from the source of a mirror, if a setting permits it.
    pub(crate) read_through: Option<ReadThrough>,
    /// State of following the source of a mirror, if a setting names one.
    pub(crate) following: Option<Following>,
    /// Directory for this server's files: the store directory, or the cache directory if the store
    /// is on another machine.
    folder: PathBuf,
    /// Notifies the statement job to check for due statements, after the market clock was moved or
    /// an account advanced past a statement time.
    pub(crate) statements_due: Arc<Notify>,
    /// Held while the store is open, so that a restore cannot replace its files.
    pub(crate) server_lock: Option<ServerLock>,
    /// Number of credential checks requested of all streams.
    stream_checks: AtomicU64,
    is_stopping: AtomicBool,
    /// Machine time at which the server started.
    pub(crate) started_at: Timestamp,
    /// Market time at which the server started.
    pub(crate) market_start: Timestamp,
    /// Market time, which may be paused or in the past. Quota months follow it.
    market: MarketClock,
    /// Machine time, used for authentication.
    machine: Clock,
    /// Origin of the monotonic uptime. Rate limits and one-time passwords use uptime, so setting
    /// the machine's clock does not affect them.
    started: Instant,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

/// Paper accounts read the time only after they acquire their account lock.
impl paper::Clock for Core {
    fn moment(&self, account: AccountId, _: Option<Timestamp>) -> paper::Moment {
        self.paper_moment(self.market_now_of(account))
    }
}

impl Core {
    pub(crate) fn new(
        store: Store,
        history: History,
        access: Access,
        page_cache_bytes: usize,
        market: MarketClock,
        machine: Clock,
    ) -> Core {
        let listeners = Arc::new(TradeListeners::new(store.clone()));
        let paper = paper(&access, &history, listeners.clone());
        Core::of((store, history, access), page_cache_bytes, (paper, listeners), (market, machine))
    }

    /// Creates the state for the command line. It has no page cache, its paper accounts send no
    /// notifications, and reading a paper account writes nothing.
    pub(crate) fn for_command_line(
        store: Store,
        history: History,
        access: Access,
        tables: Tables,
        market: MarketClock,
        machine: Clock,
    ) -> Core {
        let listeners = Arc::new(TradeListeners::new(store.clone()));
        let of_paper = History::new(history.venues().clone());
        let paper = Paper::new(access.database(), of_paper, tables, Arc::new(NoListener));
        let paper = (paper.for_command_line(), listeners);
        let core = Core::of((store, history, access), 0, paper, (market, machine));
        Core { floors: FloorTable::NONE, ..core }
    }

    fn of(
        (store, history, access): (Store, History, Access),
        page_cache_bytes: usize,
        (paper, listeners): (Paper, Arc<TradeListeners>),
        (market, machine): (MarketClock, Clock),
    ) -> Core {
        let limits = Limits::default();
        Core {
            paper,
            listeners,
            live: Live::default(),
            worlds: Worlds::default(),
            world_lives: WorldLives::default(),
            alerts: Alerts::default(),
            paper_levels: PaperLevels::default(),
            community: Community::new(access.database()),
            // If the store has no directory, `with_folder` sets one.
            folder: store.dir().map_or_else(std::env::temp_dir, Path::to_owned),
            // Imports merge with current data, so they bypass the node's local copy.
            intake: Intake::new(store.without_copy(), history.venues().clone(), machine.clone()),
            ingest: Ingest::new(store.without_copy(), history.venues().clone()),
            statements_due: Arc::default(),
            store,
            // Levels use the same calendar as the other services.
            access: access.with_calendar(history.venues().of(Market::Hk).calendar().clone()),
            history,
            page_cache: PageCache::new(page_cache_bytes),
            metrics: Metrics::default(),
            readers: Mutex::new(Vec::new()),
            seen: VersionCheck::default(),
            catalog: RwLock::new((0, HashMap::new())),
            serves_all_at: String::new(),
            node_name: String::new(),
            floors: FloorTable::PUBLISHED,
            class_shares: ClassShares::default(),
            limits,
            workers: Workers::new(limits.threads),
            backoff: Backoff::new(limits.refusals_per_second),
            unsent: Unsent::new(limits.unsent_bytes),
            read_through: None,
            following: None,
            server_lock: None,
            stream_checks: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            started_at: machine(),
            market_start: market.as_of().now(),
            market,
            machine,
            started: Instant::now(),
        }
    }

    /// Replaces the limits.
    pub(crate) fn with_limits(self, limits: Limits) -> Core {
        Core {
            limits,
            workers: Workers::new(limits.threads.min(workers::THREADS_MAX)),
            backoff: Backoff::new(limits.refusals_per_second),
            unsent: Unsent::new(limits.unsent_bytes),
            ..self
        }
    }

    /// Sets the directory for this server's files, unless the store has a directory.
    pub(crate) fn with_folder(self, folder: &Path) -> Core {
        if self.store.url().path().is_some() {
            return self;
        }
        Core { folder: folder.to_owned(), intake: self.intake.in_folder(folder), ..self }
    }

    /// Returns the directory for this server's files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces the tables of tick sizes, fees and settlement days.
    pub(crate) fn with_tables(self, tables: Tables) -> Core {
        Core { paper: self.paper.with_tables(tables), ..self }
    }

    /// Returns an account's share of the worker threads.
    pub(crate) fn share(&self, account: &access::Account) -> Share {
        let at_once = match account.terms.rate_rule() {
            access::RateRule::Unlimited => self.workers.most_at_once(),
            access::RateRule::Window { .. } => self.calls_at_once(),
        };
        Share { who: Who::Account(account.id), at_once }
    }

    /// Returns the worker share of a signed-in caller: the account's share if the account is
    /// cached, otherwise the default share.
    pub(crate) fn share_of_caller(&self, caller: &access::Caller) -> Share {
        match self.access.known_account(caller) {
            Some(account) => self.share(&account),
            None => Share { who: Who::Account(caller.account()), at_once: self.calls_at_once() },
        }
    }

    /// Returns the worker share of an unauthenticated caller.
    pub(crate) fn share_of_address(&self, address: IpAddr) -> Share {
        Share { who: Who::address(address), at_once: self.calls_at_once() }
    }

    fn calls_at_once(&self) -> usize {
        usize::try_from(self.limits.calls.at_once).unwrap_or(usize::MAX).min(self.workers.most_at_once())
    }

    pub(crate) fn last_import(&self) -> Result<Option<ImportRecord>, StoreError> {
        self.with_reader(|reader: &mut Reader| reader.view().last_import())
    }

    /// Returns the reasons why the service is not ready, one word per reason. Empty if the service
    /// is ready.
    pub(crate) fn obstacles(&self) -> Vec<&'static str> {
        let mut obstacles = Vec::new();
        if self.is_stopping() {
            obstacles.push(STOPPING);
        }
        match self.access.reached(self.uptime()) {
            DatabaseState::Yes | DatabaseState::Settling => {}
            // Requests are served from cached state.
            DatabaseState::Away(_) => return obstacles,
            DatabaseState::Lost(_) => {
                obstacles.push(DATABASE);
                return obstacles;
            }
        }
        store::waiting_at_most(PROBES_WAIT, || self.probe(&mut obstacles));
        obstacles
    }

    /// Reads from both databases, because cached state does not show whether the files are
    /// readable. A database server that does not respond is not an obstacle, because requests are
    /// answered from memory.
    fn probe(&self, obstacles: &mut Vec<&'static str>) {
        if let Err(error) = self.store.probe()
            && !error.is_unanswered()
        {
            tracing::error!(%error, "cannot read the store");
            obstacles.push(STORE);
        }
        if let Err(error) = self.access.probe()
            && !error.is_unanswered()
        {
            tracing::error!(%error, "cannot read the accounts");
            obstacles.push(ACCOUNTS);
        }
    }

    /// Returns whether the store's disk is too full for a write. Always false if the store is not a
    /// directory.
    pub(crate) fn is_disk_full(&self) -> bool {
        let disk = self.store.dir().and_then(metrics::disk);
        disk.is_some_and(|disk| disk.free_bytes < FREE_BYTES_MIN)
    }

    /// Returns whether the service answers from cached state because its database is unreachable.
    pub(crate) fn is_degraded(&self) -> bool {
        !matches!(self.access.reached(self.uptime()), DatabaseState::Yes | DatabaseState::Settling)
    }

    /// Returns the caller of a request that begins now. This is the only place where a request
    /// reads the market time; every later step uses the caller's time.
    pub(crate) fn caller(&self, client: Client) -> Result<Caller, Refusal> {
        let world = client.who.is_of_world().then(|| client.who.account());
        self.caller_as_of(client, world)
    }

    /// Like [`caller`](Self::caller), but as of the clock of a world, if one is given.
    pub(crate) fn caller_as_of(&self, client: Client, world: Option<AccountId>) -> Result<Caller, Refusal> {
        let server = self.market_now();
        let as_of = world.map_or(Ok(server), |world| self.world_now(world))?;
        Ok(client.at(as_of, server.now()))
    }

    /// Ends all subscriptions of a closed connection, and records the trades that it did not
    /// receive.
    pub(crate) fn leave_live(&self, account: AccountId, connection: access::ConnectionId, lineage: Lineage) {
        let missed = match self.world_lives.known(account) {
            Some(live) => live.leave(connection, lineage, self.uptime()),
            None => self.live.leave(connection, lineage, self.uptime()),
        };
        if !missed.is_empty() {
            self.access.note_missed(connection, account, lineage, &missed);
        }
    }

    /// Takes over the trades that a client's last connection, to any node, did not receive.
    pub(crate) fn resume_live(&self, who: access::Caller, lineage: Lineage, resumed: &Resumed) {
        let world = who.is_of_world().then(|| self.world_lives.of(who.account()));
        let live = world.as_deref().unwrap_or(&self.live);
        live.subscriptions().resume(lineage, resumed, self.uptime());
    }

    /// Returns the subscriptions of a connection, and the symbols that were left out of its
    /// requests.
    pub(crate) fn subscribed(&self, account: AccountId, connection: access::ConnectionId) -> Subscribed {
        match self.world_lives.known(account) {
            Some(live) => live.of_connection(connection),
            None => self.live.of_connection(connection),
        }
    }

    /// Records that a connection or a stream with the API key of a world was opened. The clock of
    /// the world then waits for this client.
    pub(crate) fn joined_world(&self, account: AccountId, connection: u64, mailbox: Mailbox) {
        match self.worlds.of(&self.access.database(), account) {
            Ok(world) => world.clients.joined(connection, mailbox, self.uptime()),
            Err(error) => tracing::error!(%error, account = account.0, "cannot read the world of a client"),
        }
    }

    /// Returns the streams of an account, or of all accounts, with their subscriptions.
    pub(crate) fn list_streams(&self, of: Option<AccountId>) -> Vec<(StreamInfo, Subscribed)> {
        let mut streams = self.live.list_streams(of);
        streams.extend(self.world_lives.all().iter().flat_map(|live| live.list_streams(of)));
        streams.sort_by_key(|(info, _)| info.number);
        streams
    }

    /// Requests a credential check of all streams, because a sign-in may have ended.
    pub(crate) fn check_streams(&self) {
        self.stream_checks.fetch_add(1, Ordering::AcqRel);
        self.live.wake_streams();
        self.world_lives.all().iter().for_each(|live| live.wake_streams());
    }

    /// Returns the number of credential checks requested of all streams.
    pub(crate) fn stream_checks(&self) -> u64 {
        self.stream_checks.load(Ordering::Acquire)
    }

    /// Returns the market time for an account: the time of its world or, without a world, the
    /// server's time. Returns [`NO_TIME`] if the clock cannot be read.
    pub(crate) fn market_now_of(&self, account: AccountId) -> AsOf {
        match self.access.is_world(account) {
            Ok(false) => self.market_now(),
            Ok(true) => self.world_now(account).unwrap_or_else(|refusal| {
                tracing::error!(?refusal, account = account.0, "cannot read the clock of a world");
                NO_TIME
            }),
            Err(error) => {
                tracing::error!(%error, account = account.0, "cannot tell the clock of an account");
                NO_TIME
            }
        }
    }

    /// Returns the market time of a world.
    pub(crate) fn world_now(&self, account: AccountId) -> Result<AsOf, Refusal> {
        let world = self.worlds.of(&self.access.database(), account)?;
        Ok(AsOf::Replay(world.now(self.uptime())))
    }

    /// Returns the first and the last instant of the caller's world, or `None` if the caller has no
    /// world.
    pub(crate) fn world_span(&self, caller: &Caller) -> Result<Option<Span>, Refusal> {
        if !caller.who.is_of_world() {
            return Ok(None);
        }
        Ok(Some(self.worlds.of(&self.access.database(), caller.who.account())?.span.get()))
    }

    /// Returns the server's market time, for jobs and for pages without a caller. A request takes
    /// the time from its [`Caller`].
    pub(crate) fn market_now(&self) -> AsOf {
        self.market.as_of()
    }

    /// Returns the market and machine time for a paper account operation at `as_of`.
    pub(crate) fn paper_moment(&self, as_of: AsOf) -> paper::Moment {
        paper::Moment { as_of, machine: self.machine_now() }
    }

    /// Tallies a paper account before its level is reported. The tally is skipped if the account
    /// was tallied today, or if the work is too much for a request; the job `paper_levels` then
    /// tallies the account later.
    pub(crate) fn tally(&self, id: AccountId, as_of: AsOf) -> Result<(), PaperError> {
        if !self.access.counts_paper() {
            return Ok(());
        }
        let days = self.access.tally_days(as_of.now());
        if self.paper.is_tallied(id, days.today)? {
            return Ok(());
        }
        let moment = self.paper_moment(as_of);
        self.with_reader(|reader| self.paper.at(id, reader, &moment).tally_within_request(&days)).map(drop)
    }

    /// Returns how long the server's market clock takes from now to `at`, or `None` if the clock is
    /// stopped before `at`.
    pub(crate) fn time_until(&self, at: Timestamp) -> Option<Duration> {
        self.market.time_until(at)
    }

    /// Returns the server's market clock, to move it or read its speed.
    pub(crate) fn market_clock(&self) -> &MarketClock {
        &self.market
    }

    pub(crate) fn machine_now(&self) -> Timestamp {
        (self.machine)()
    }

    /// Returns the market and machine time for a call to `access`.
    pub(crate) fn present(&self, as_of: AsOf) -> Present {
        Present { market: as_of.now(), machine: self.machine_now() }
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment { now: self.machine_now(), uptime: self.uptime() }
    }

    /// Returns the start of an account's visible history, by market.
    pub(crate) fn floors_of(&self, account: &Account) -> FloorTable {
        account.terms.floors.unwrap_or(self.floors)
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Starts shutdown: `/readyz` reports not ready, and an import ends at its next checkpoint.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.intake.stop();
        if let Some(read_through) = &self.read_through {
            read_through.stop();
        }
        if let Some(following) = &self.following {
            following.stop();
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Returns an error if the listener serves a region other than that of the caller's account.
    pub(crate) fn own_region_only(&self, caller: &Caller) -> Result<(), WrongRegion> {
        self.at_home_of(caller.who.account(), caller.listener_region)
    }

    /// Like [`own_region_only`](Self::own_region_only), for code without a [`Caller`], such as a
    /// page.
    pub(crate) fn at_home_of(
        &self,
        account: AccountId,
        listener_region: Option<Region>,
    ) -> Result<(), WrongRegion> {
        let Some(listener_region) = listener_region else { return Ok(()) };
        let account = self.access.account(account).map_err(WrongRegion::Unknown)?;
        match account.map(|account| account.region) {
            Some(region) if region != listener_region => {
                let serves_all_at = self.serves_all_at.clone();
                Err(WrongRegion::Elsewhere { region, listener_region, serves_all_at })
            }
            // A deleted account is refused by a later check, with that reason.
            _ => Ok(()),
        }
    }

    /// Returns the store version. Checks whether the databases changed, unless a concurrent request
    /// has just done so: the check costs more than all other steps of an answer from memory. After
    /// this call, accounts are current enough for [`Freshness::Recent`](access::Freshness).
    pub(crate) fn version_check(&self) -> Result<i64, Refusal> {
        let look = || {
            let version = self
                .with_reader(Reader::version)
                .map_err(|error: StoreError| Refusal::of_store(&error, "cannot read the store"))?;
            // Concurrent requests share this check, so it covers both databases.
            self.access.version_check().map_err(access::Refusal::from)?;
            Ok(version)
        };
        self.seen.version(look)
    }

    /// Refuses a symbol that is unknown or has no visible candles.
    pub(crate) fn known(&self, symbol: &Symbol, version: i64, as_of: AsOf) -> Result<(), Refusal> {
        let is_known = |since: &AsOf| as_of.includes(*since);
        if self.catalog.read().is_ok_and(|all| all.0 == version && all.1.get(symbol).is_some_and(is_known)) {
            return Ok(());
        }
        let checked = self.with_reader(|reader| {
            self.history.has_candles(reader, symbol, as_of)?;
            if let Ok(mut known) = self.catalog.write() {
                if known.0 != version || known.1.len() >= CATALOG_MAX {
                    *known = (version, HashMap::new());
                }
                known.1.insert(symbol.clone(), as_of);
            }
            Ok(())
        });
        checked.map_err(|error: HistoryError| Refusal::from(error))
    }

    /// Returns the data of a request that the store may not have and the source of a mirror may
    /// provide. Only requests by the machine's clock are read through: with another clock, the
    /// answer must depend on the store alone.
    pub(crate) fn needs(&self, wants: Wants<'_>, caller: &Caller) -> Option<Need> {
        match (&self.read_through, caller.as_of) {
            (Some(read_through), AsOf::Live(now)) if self.market.pace() == ClockSpeed::Machine => {
                read_through.needs(wants, now)
            }
            _ => None,
        }
    }

    /// Requests what the store does not have. Blocks until it is stored, but not longer than
    /// [`READ_THROUGH_WAIT`].
    pub(crate) fn read_through(&self, need: &Need, caller: &Caller) -> Result<Fetched, Refusal> {
        let Some(read_through) = &self.read_through else { return Ok(Fetched::Done) };
        let missing = self
            .with_reader(|reader| read_through.missing(need, reader))
            .map_err(|error: HistoryError| Refusal::from(error))?;
        let Some(missing) = missing else { return Ok(Fetched::Done) };
        let account = Some(caller.who.account());
        let fetched = read_through.fetch(missing, account, caller.now(), READ_THROUGH_WAIT);
        // The local copy of a node must not answer from an older version.
        self.with_reader(|reader| reader.snapshot().map(drop))
            .map_err(|error: StoreError| Refusal::of_store(&error, "cannot read the store"))?;
        Ok(fetched)
    }

    /// Returns whether an unknown security may be known to the source of a mirror, which cannot be
    /// used at the moment.
    pub(crate) fn may_be_known_later(&self, symbol: &Symbol, caller: &Caller) -> bool {
        match (&self.read_through, caller.as_of) {
            (Some(read_through), AsOf::Live(now)) => read_through.is_off(symbol, now),
            _ => false,
        }
    }

    /// Returns whether the store has a security, regardless of the clock.
    pub(crate) fn is_stored(&self, symbol: &Symbol) -> Result<bool, Refusal> {
        let stored =
            self.with_reader(|reader| Ok::<_, StoreError>(reader.view().decimals(symbol)?.is_some()));
        stored.map_err(|error| Refusal::of_store(&error, "cannot look up a security"))
    }

    /// Refuses a symbol without visible trades.
    pub(crate) fn known_traded(&self, symbol: &Symbol, as_of: AsOf) -> Result<(), Refusal> {
        let checked = self.with_reader(|reader| self.history.has_trades(reader, symbol, as_of));
        checked.map_err(|error: HistoryError| Refusal::from(error))
    }

    /// Refuses a symbol without visible capital flow.
    pub(crate) fn known_capital_flow(&self, symbol: &Symbol, as_of: AsOf) -> Result<(), Refusal> {
        let checked = self.with_reader(|reader| self.history.has_capital_flow(reader, symbol, as_of));
        checked.map_err(|error: HistoryError| Refusal::from(error))
    }

    /// Calls `ask` with a pooled store reader.
    pub(crate) fn with_reader<T, E: From<StoreError> + Suspect>(
        &self,
        ask: impl FnOnce(&mut Reader) -> Result<T, E>,
    ) -> Result<T, E> {
        let state = self.readers.lock().ok().and_then(|mut readers| readers.pop());
        let mut reader = match state {
            Some(reader) => reader,
            None => self.store.reader()?,
        };
        let answer = ask(&mut reader);
        if let Some(symbol) = answer.as_ref().err().and_then(Suspect::damaged_symbol) {
            // On a cluster node, the symbol is fetched into the local copy again.
            reader.view().doubt(symbol);
        }
        if let Ok(mut readers) = self.readers.lock()
            && readers.len() < READERS_KEPT
        {
            readers.push(reader);
        }
        answer
    }
}

#[expect(clippy::expect_used, reason = "the tables that are compiled in are read by tests of their own")]
fn paper(access: &Access, history: &History, listeners: Arc<TradeListeners>) -> Paper {
    let tables = Tables::built_in().expect("the compiled-in tables are valid");
    Paper::new(access.database(), History::new(history.venues().clone()), tables, listeners)
}

#[cfg(test)]
mod tests {
    use access::{Actor, Freshness, NewAccount, SignedRequest, Terms};
    use market::Venues;

    use super::*;

    const NOW: Timestamp = Timestamp(1_794_708_000);

    #[test]
    fn a_cached_symbol_is_unknown_at_an_earlier_instant() {
        let rows = "700.HK,2026-11-12,500,501,499,500,1000,500000\n";
        let (site, _dir) = crate::http::tests::site_under(Arc::new(|| AsOf::Live(NOW)), rows);
        let (core, symbol) = (&site.core, "700.HK".parse().unwrap());
        let version = core.version_check().unwrap();
        let is_known = |as_of| core.known(&symbol, version, as_of).is_ok();
        let early = AsOf::Replay(Timestamp(NOW.0 - 30 * 86_400));
        for known in [AsOf::Live(NOW), AsOf::Replay(NOW)] {
            assert!(is_known(known), "{known:?}");
            assert!(!is_known(early), "after {known:?}");
        }
    }

    #[test]
    fn a_request_that_shares_a_version_check_uses_accounts_as_of_that_check() {
        let dir = tempfile::tempdir().unwrap();
        Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
        let store = Store::open(dir.path(), store::Access::Read).unwrap();
        let (here, elsewhere) =
            (Access::open(dir.path(), NOW).unwrap(), Access::open(dir.path(), NOW).unwrap());
        let created =
            here.create(&NewAccount::named("ann", Terms::default()), &Actor::Operator, NOW).unwrap();
        let history = History::new(Venues::built_in().unwrap());
        let core = Core::new(store, history, here, 0, Arc::new(|| AsOf::Live(NOW)), Arc::new(|| NOW));
        let bearer = format!("Bearer {}", created.access_token.expose());
        let header = |name: &str| (name == "authorization").then_some(bearer.as_str());
        let request = SignedRequest { method: "GET", path: "/", raw_query: "", header: &header, body: b"" };
        let caller = core.access.identify(&request, NOW).unwrap();
        elsewhere.revoke(created.account_id, &Actor::Operator, "", NOW).unwrap();
        core.version_check().unwrap();
        // A second request a microsecond later shares the check.
        let second = core.access.admit_rate_of(&caller, 1, Freshness::Recent, core.uptime());
        assert!(matches!(second, Err(access::Refusal::Revoked)), "{second:?}");
    }
}
