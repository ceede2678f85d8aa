//! A stream of server-sent events, which sends the pushes of a subscription as JSON to the web
//! pages. The task of the HTTP connection polls the stream, so the stream needs no task or thread.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use access::{Connection, Demand, Scope, Secret};
use bytes::Bytes;
use feed::{ConnectionId, FirstPush, SubType};
use market::{Market, Symbol, Timestamp};
use prost::Message;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, Sleep, sleep_until};
use wire::quote::{Command, PushQuote, PushTrades};
use world::{Speed, State};

use super::Channel;
use super::request::{Excess, Wish, subscribe_to};
use crate::account_news::{Following, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::live::{LeftOut, Live, StreamInfo, Subscribed, stream_id};
use crate::mailbox::{Flow, Kick, Mail, Mailbox, MailboxReader, Push};
use crate::market_clock::ClockSpeed;
use crate::market_status;
use crate::refusal::Refusal;
use crate::worlds::World;
use crate::written;

/// Interval between heartbeats, each with a check of the credentials.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// A comment of the event stream format, which clients ignore.
const HEARTBEAT: &[u8] = b":\n\n";
/// Minimum pause between two events about the account.
const ACCOUNT_PAUSE: Duration = Duration::from_millis(250);
/// Minimum pause between two checks of the markets.
const MARKETS_PAUSE: Duration = Duration::from_millis(20);
/// Size of a frame in bytes at which the remaining pushes are left for the next frame.
const FRAME_BYTES: usize = 16 << 10;

const SIGNED_OUT: &str = "signed out";
const REVOKED: &str = "this account has been revoked";
const NO_RIGHT: &str = "a market data right has ended";
const STOPPED: &str = "the server stops";
const SET_BACK: &str = "the clock was set back";
const DELETED: &str = "the world was deleted";

/// An open stream. Dropping it ends its subscriptions.
pub(crate) struct EventStream {
    core: Arc<Core>,
    id: ConnectionId,
    /// Its subscriptions count toward the limit of the account until this is dropped.
    slot: Option<Connection>,
    source: Source,
    mailbox: MailboxReader,
    credentials: StreamCredentials,
    /// The first events, which the first frame contains.
    begin: Vec<u8>,
    clock: ClockState,
    markets: Markets,
    account: FollowedAccount,
    /// Wakes the stream for the next event of a market or the account.
    alarm: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Timer of the next heartbeat. Created at the first poll, because timers need the runtime.
    heartbeat: Option<Pin<Box<Sleep>>>,
    /// A running check of the credentials. Its result is the reason to end the stream, or `None` to
    /// continue.
    check: Option<oneshot::Receiver<Option<&'static str>>>,
    /// Number of requested checks at the start of the last check.
    checks: u64,
    shutdown: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    is_over: bool,
}

/// The credentials of a stream, which are checked with every heartbeat, and when a sign-in may have
/// ended.
#[derive(Clone, Debug)]
pub(crate) struct StreamCredentials {
    pub(crate) caller: Caller,
    /// Cookie of the browser session.
    pub(crate) session: Option<Secret>,
}

/// A stream in the extensions of a response, whose values must be cloneable.
#[derive(Clone, Debug)]
pub(crate) struct StreamHandle(Arc<Mutex<Option<EventStream>>>);

/// The clock and the subscriptions that a stream follows.
#[derive(Clone, Debug)]
enum Source {
    Server,
    World(Arc<World>, Arc<Live>),
}

/// The last state of the clock that was sent to the client. An event is sent when the state
/// changes.
#[derive(Clone, Debug, PartialEq)]
enum ClockState {
    /// Speed of the server's clock, and its time if it is stopped.
    Server(ClockSpeed, Option<Timestamp>),
    /// State and speed of a world, and the number and instant of its last movement.
    World(State, Speed, u64, Timestamp),
}

#[derive(Serialize)]
struct First<'a> {
    symbols: Vec<&'a str>,
    /// Securities whose subscription is pending because they are not stored yet.
    waiting: Vec<&'a str>,
    left_out: Vec<LeftOutSymbol<'a>>,
}

#[derive(Serialize)]
struct LeftOutSymbol<'a> {
    symbol: &'a str,
    reason: &'static str,
}

#[derive(Serialize)]
struct Clock {
    kind: &'static str,
    now: written::Instant,
    /// Market seconds per machine second, or `max`.
    speed: Value,
    /// State of the world; absent without a world.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

/// The states of the markets that were last sent to the client.
#[derive(Debug, Default)]
struct Markets {
    known: Vec<(Market, i32)>,
    /// Market time of the last check.
    at: Option<Timestamp>,
    /// Next market time at which a state may change.
    until: Timestamp,
    /// The corresponding machine time; `None` if the clock is stopped.
    look_at: Option<Instant>,
}

/// What the client follows of its account.
#[derive(Debug, Default)]
struct FollowedAccount {
    subjects: Vec<Following>,
    /// There is no event before.
    pause_until: Option<Instant>,
}

#[derive(Serialize)]
struct MarketState {
    market: &'static str,
    /// As in the market status of the HTTP API.
    trade_status: i32,
    /// Start of the trading hours, if the market trades.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<written::Instant>,
}

#[derive(Serialize)]
struct AccountChange {
    changed: Vec<&'static str>,
}

#[derive(Serialize)]
struct End<'a> {
    reason: &'a str,
    /// Whether another stream may be opened with the same credentials.
    retry: bool,
}

/// Subscribes a new stream to quotes and trades, like command 6, and queues the first pushes.
/// Symbols beyond the account's limit are left out. Blocks on disk I/O.
pub(crate) fn open(
    core: &Arc<Core>,
    credentials: StreamCredentials,
    address: SocketAddr,
    symbols: &[String],
) -> Result<EventStream, Refusal> {
    let source = Source::of(core, &credentials.caller)?;
    let number = core.live.number_stream();
    let id = stream_id(number);
    let (mailbox, reader) = Mailbox::new(core.limits.push_queue);
    let caller = credentials.caller;
    let slot = core.access.open_stream(caller.who.account(), &address.to_string(), core.machine_now());
    let slot = slot.map_err(|error| Refusal::of_access(&error))?;
    let wish = Wish {
        connection: None,
        slot: slot.id(),
        lineage: None,
        caller: &caller,
        id,
        mailbox: &mailbox,
        symbols,
        types: [SubType::Quote, SubType::Trades].into_iter().collect(),
        first_push: FirstPush::Wanted,
        excess: Excess::LeftOut,
        pulls: &[],
    };
    let mut stream = EventStream {
        core: core.clone(),
        id,
        slot: Some(slot),
        mailbox: reader,
        credentials,
        begin: Vec::new(),
        clock: source.state(core),
        markets: Markets::default(),
        account: FollowedAccount::default(),
        alarm: None,
        source,
        heartbeat: None,
        check: None,
        checks: core.stream_checks(),
        shutdown: None,
        is_over: false,
    };
    if let Source::World(world, _) = &stream.source {
        world.clients.joined(id.0, mailbox.clone(), core.uptime());
    }
    subscribe_to(core, &wish)?;
    stream.account = FollowedAccount::of(core, &caller, &mailbox)?;
    let info = StreamInfo { number, account: caller.who.account(), address, since: core.machine_now() };
    let mut subscriptions = stream.source.live(core).subscriptions();
    subscriptions.describe(id, info);
    let Subscribed { list, waiting, left_out } = subscriptions.of_connection(id);
    drop(subscriptions);
    let left_out = left_out.iter().map(|LeftOut { symbol, reason }| LeftOutSymbol { symbol, reason });
    let first = First {
        symbols: list.iter().map(|(symbol, _)| symbol.as_str()).collect(),
        waiting: waiting.iter().map(Symbol::as_str).collect(),
        left_out: left_out.collect(),
    };
    write_event(&mut stream.begin, "subscribed", &first);
    stream.source.write_clock(&mut stream.begin, core);
    stream.markets.write(&mut stream.begin, core, &stream.source);
    Ok(stream)
}

impl EventStream {
    /// Ends the stream when the server stops.
    pub(crate) fn until(mut self, mut shutdown: watch::Receiver<bool>) -> EventStream {
        self.shutdown = Some(Box::pin(async move {
            shutdown.wait_for(|is_stopped| *is_stopped).await.ok();
        }));
        self
    }

    pub(crate) fn into_handle(self) -> StreamHandle {
        StreamHandle(Arc::new(Mutex::new(Some(self))))
    }

    /// Returns the next events, or `None` after the last one.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let mut events = std::mem::take(&mut self.begin);
        if self.poll_heartbeat(cx) {
            events.extend_from_slice(HEARTBEAT);
        }
        if self.check.is_none() && self.checks != self.core.stream_checks() {
            self.start_check();
        }
        let reason = match self.mailbox.look(cx) {
            Mail::Kick(Kick::TooSlow { waiting }) => {
                self.core.metrics.pushes.closed_slow_reader();
                Some(format!("too slow: {waiting} pushes waiting"))
            }
            Mail::Kick(Kick::ClockSetBack) => Some(SET_BACK.to_owned()),
            Mail::Kick(Kick::Closed(_)) if matches!(self.source, Source::World(..)) => {
                Some(DELETED.to_owned())
            }
            Mail::Kick(_) => Some("closed".to_owned()),
            Mail::Nothing | Mail::Pushes { .. } => self.poll_end(cx).map(str::to_owned),
        };
        if let Some(reason) = reason {
            write_event(
                &mut events,
                "end",
                &End { reason: &reason, retry: ![SIGNED_OUT, REVOKED, DELETED].contains(&&*reason) },
            );
            self.is_over = true;
            self.leave();
            return Poll::Ready(Some(events.into()));
        }
        while events.len() < FRAME_BYTES
            && let Some(push) = self.mailbox.take()
        {
            write_push(&mut events, &push);
        }
        let clock = self.source.state(&self.core);
        if clock != self.clock && self.mailbox.is_empty() {
            self.clock = clock;
            self.source.write_clock(&mut events, &self.core);
        }
        let look_at = self.markets.write(&mut events, &self.core, &self.source);
        let changes_at = self.account.write(&mut events);
        self.set_alarm(look_at.into_iter().chain(changes_at).min(), cx);
        self.report_flow();
        if events.is_empty() { Poll::Pending } else { Poll::Ready(Some(events.into())) }
    }

    /// Reports to the clock of a world that the client has taken its pushes. The HTTP connection
    /// polls for a frame only after it has written the previous frame.
    fn report_flow(&self) {
        if let Source::World(world, _) = &self.source
            && self.mailbox.report(Flow::default()).is_awaited
        {
            self.core.worlds.reported(world.account);
        }
    }

    /// Wakes the task at an instant.
    fn set_alarm(&mut self, at: Option<Instant>, cx: &mut Context<'_>) {
        let Some(at) = at else {
            self.alarm = None;
            return;
        };
        if self.alarm.as_ref().is_none_or(|(set, _)| *set != at) {
            self.alarm = Some((at, Box::pin(sleep_until(at))));
        }
        if let Some((_, alarm)) = &mut self.alarm
            && alarm.as_mut().poll(cx).is_ready()
        {
            // The alarm was reached since it was computed.
            self.alarm = None;
            cx.waker().wake_by_ref();
        }
    }

    /// Returns the reason to end the stream, if there is one.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Option<&'static str> {
        if let Some(shutdown) = &mut self.shutdown
            && shutdown.as_mut().poll(cx).is_ready()
        {
            return Some(STOPPED);
        }
        match Pin::new(self.check.as_mut()?).poll(cx) {
            Poll::Pending => None,
            Poll::Ready(checked) => {
                self.check = None;
                let reason = checked.ok().flatten();
                if reason.is_none() && self.checks != self.core.stream_checks() {
                    cx.waker().wake_by_ref();
                }
                reason
            }
        }
    }

    /// Returns whether a heartbeat is due. If it is due, also starts the check of the credentials.
    fn poll_heartbeat(&mut self, cx: &mut Context<'_>) -> bool {
        let next = Instant::now() + HEARTBEAT_EVERY;
        let heartbeat = self.heartbeat.get_or_insert_with(|| Box::pin(sleep_until(next)));
        if heartbeat.as_mut().poll(cx).is_pending() {
            return false;
        }
        heartbeat.as_mut().reset(next);
        // Registers the task to be woken for the next heartbeat.
        let _ = heartbeat.as_mut().poll(cx);
        if self.check.is_none() {
            self.start_check();
        }
        true
    }

    /// Checks the credentials on a worker thread, because the check may read the database.
    fn start_check(&mut self) {
        self.checks = self.core.stream_checks();
        let (core, id, credentials) = (self.core.clone(), self.id, self.credentials.clone());
        let source = self.source.clone();
        let share = core.share_of_caller(&credentials.caller.who);
        let workers = core.workers.clone();
        // If the workers are busy, the check is retried with the next heartbeat.
        self.check = workers.submit(share, move || reason_to_end(&core, &source, id, &credentials)).ok();
    }

    fn leave(&mut self) {
        // A step of a world that waits for this client resumes immediately.
        self.mailbox.shut();
        self.source.live(&self.core).subscriptions().leave(self.id, None, self.core.uptime());
        self.slot = None;
        if let Source::World(world, _) = &self.source {
            self.core.worlds.left(world.account, self.id.0);
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("id", &self.id).finish_non_exhaustive()
    }
}

impl StreamHandle {
    pub(crate) fn take(&self) -> Option<EventStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns why a stream must end: its session or account has ended, or the account has lost the
/// right to a subscribed market. If the lookup fails, the stream continues.
fn reason_to_end(
    core: &Core,
    source: &Source,
    id: ConnectionId,
    credentials: &StreamCredentials,
) -> Option<&'static str> {
    let StreamCredentials { caller, session } = credentials;
    if let Some(session) = session {
        let found = core.access.identify_browser(session.expose(), core.machine_now());
        if let Err(access::Denial::TokenInvalid(_) | access::Denial::TokenExpired(_)) = found {
            return Some(SIGNED_OUT);
        }
    }
    let permit = match core.access.admit(Demand::Open { caller: &caller.who }, source.now(core)) {
        Ok(permit) => permit,
        Err(access::Refusal::Revoked) => return Some(REVOKED),
        Err(_) => return None,
    };
    let subscriptions = source.live(core).subscriptions();
    let Subscribed { list, waiting, .. } = subscriptions.of_connection(id);
    let is_held = |symbol: &Symbol| permit.holds(symbol.market().into());
    let is_overnight_held = permit.overnight() || !subscriptions.sees_overnight(id);
    let is_all_held = list.iter().map(|(symbol, _)| symbol).chain(&waiting).all(is_held);
    (!is_all_held || !is_overnight_held).then_some(NO_RIGHT)
}

impl Markets {
    /// Writes the states that have changed. Returns when the next one may change, or `None` if that
    /// depends on the movements of the clock.
    fn write(&mut self, events: &mut Vec<u8>, core: &Core, source: &Source) -> Option<Instant> {
        let now = source.now(core);
        let is_known = self.at.is_some_and(|at| (at..self.until).contains(&now));
        if is_known && self.look_at.is_none_or(|look_at| look_at > Instant::now()) {
            return self.look_at;
        }
        let venues = core.history.venues();
        let states = Market::ALL.map(|market| (market, market_status::trade_status(venues.of(market), now)));
        for (market, trade_status) in states.iter().filter(|state| !self.known.contains(state)) {
            let (market, trade_status) = (*market, *trade_status);
            let since = market_status::trades_since(venues.of(market), now).map(written::Instant::utc);
            write_event(events, "market", &MarketState { market: market.as_str(), trade_status, since });
        }
        let next =
            Market::ALL.into_iter().map(|market| market_status::next_change(venues.of(market), now)).min();
        let until = next.unwrap_or(now);
        let wait = match source {
            Source::Server => core.time_until(until),
            // A world wakes its streams when its clock has moved.
            Source::World(..) => None,
        };
        let look_at = wait.map(|wait| Instant::now() + wait.max(MARKETS_PAUSE));
        *self = Markets { known: states.to_vec(), at: Some(now), until, look_at };
        look_at
    }
}

impl FollowedAccount {
    /// Follows what the caller may read: orders and positions with the scope `trade`, and watchlists.
    fn of(core: &Core, caller: &Caller, mailbox: &Mailbox) -> Result<FollowedAccount, Refusal> {
        let (news, id) = (core.listeners.news(), caller.who.account());
        let mut subjects = Vec::new();
        if caller.who.has(Scope::Trade) {
            let watched = core.paper.watch(id).map_err(|error| {
                tracing::error!(%error, "cannot follow a paper account");
                Refusal::Internal
            })?;
            subjects.push(news.follow(id, Subject::Trading, mailbox, Some(watched)));
        }
        subjects.push(news.follow(id, Subject::Alerts, mailbox, None));
        let account = core.access.account(id).map_err(|error| Refusal::of_access(&error))?;
        // A browser session in a world has the lists of its owner.
        let owner = account.and_then(|account| account.owner()).filter(|_| caller.who.is_browser());
        let owner = owner.unwrap_or(id);
        subjects.push(news.follow(owner, Subject::Watchlists, mailbox, None));
        let lists = core.access.watchlists(owner).map_err(|error| Refusal::of_access(&error))?;
        news.saw_watchlists(owner, &lists);
        Ok(FollowedAccount { subjects, pause_until: None })
    }

    /// Writes an event for each change. Returns the time of the next possible event, if there is one.
    fn write(&mut self, events: &mut Vec<u8>) -> Option<Instant> {
        if !self.subjects.iter().any(Following::has_changed) {
            return None;
        }
        let now = Instant::now();
        if let Some(until) = self.pause_until.filter(|until| now < *until) {
            return Some(until);
        }
        let changed = self.subjects.iter_mut().filter(|following| following.has_changed());
        let changed = changed.map(|following| {
            following.take();
            following.subject.as_str()
        });
        write_event(events, "account", &AccountChange { changed: changed.collect() });
        self.pause_until = Some(now + ACCOUNT_PAUSE);
        None
    }
}

impl Source {
    fn of(core: &Core, caller: &Caller) -> Result<Source, Refusal> {
        if !caller.who.is_of_world() {
            return Ok(Source::Server);
        }
        let world = core.worlds.of(&core.access.database(), caller.who.account())?;
        let live = core.world_lives.of(world.account);
        Ok(Source::World(world, live))
    }

    fn live<'a>(&'a self, core: &'a Core) -> &'a Live {
        match self {
            Source::Server => &core.live,
            Source::World(_, live) => live,
        }
    }

    /// Returns the current market time, because a stream outlives the request that opened it.
    fn now(&self, core: &Core) -> Timestamp {
        match self {
            Source::Server => Channel::of_server(core).as_of().now(),
            Source::World(world, _) => world.now(core.uptime()),
        }
    }

    fn state(&self, core: &Core) -> ClockState {
        match self {
            Source::Server => {
                let pace = core.market_clock().pace();
                ClockState::Server(pace, (pace == ClockSpeed::Standing).then(|| self.now(core)))
            }
            Source::World(world, _) => {
                let standing = world.standing();
                ClockState::World(standing.state, standing.settings.speed, standing.step, standing.now)
            }
        }
    }

    fn write_clock(&self, events: &mut Vec<u8>, core: &Core) {
        let now = written::Instant::utc(self.now(core));
        let clock = match self {
            Source::Server => {
                let pace = core.market_clock().pace();
                Clock { kind: pace.kind(), now, speed: pace.factor().into(), state: None }
            }
            Source::World(world, _) => {
                let standing = world.standing();
                let speed = match standing.state {
                    State::Running => written::speed(standing.settings.speed),
                    State::Created | State::Paused | State::Ended => 0.into(),
                };
                Clock { kind: "world", now, speed, state: Some(standing.state.as_str()) }
            }
        };
        write_event(events, "clock", &clock);
    }
}

fn write_push(events: &mut Vec<u8>, push: &Push) {
    const QUOTE: u8 = Command::PushQuote as u8;
    const TRADES: u8 = Command::PushTrades as u8;
    match push.command {
        QUOTE => {
            if let Ok(quote) = PushQuote::decode(push.body()) {
                write_event(events, "quote", &quote);
            }
        }
        TRADES => {
            if let Ok(trades) = PushTrades::decode(push.body()) {
                write_event(events, "trades", &trades);
            }
        }
        // Streams do not subscribe to depth and brokers.
        _ => {}
    }
}

/// Appends an event. JSON contains no line breaks, so the event has a single line of data.
fn write_event(events: &mut Vec<u8>, name: &str, data: &impl Serialize) {
    let before = events.len();
    events.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
    if serde_json::to_writer(&mut *events, data).is_err() {
        events.truncate(before);
        return;
    }
    events.extend_from_slice(b"\n\n");
}
