//! A long connection over either transport: decodes packets, runs a limited number of concurrent
//! requests, and writes responses.
//!
//! Each connection is one task, which reads only as fast as it can write. When the client does not
//! read its responses, the task stops reading, and after a timeout it closes the connection.
//! Queries that can be answered from memory are answered inline; all other queries run on a worker
//! thread.

#[cfg(test)]
mod arrival_tests;
mod blocking_task;
mod end;
#[cfg(test)]
mod flow_tests;
mod gateway;
#[cfg(test)]
mod house;
mod outbox;
mod pending;
mod push_flow;
#[cfg(test)]
mod push_tests;
mod session;
mod sign_in;
#[cfg(test)]
mod subscription_tests;
#[cfg(test)]
mod tests;
mod transport;
mod turn;
#[cfg(test)]
mod world_tests;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::coop;
use tokio::time::{Instant, sleep_until};
use wire::{Packet, Status, command};

use crate::caller::Caller;
use crate::dispatch::{CommandRow, Deferred, Step};
use crate::metrics::{Outcome, Task};
use crate::pushes;
use crate::refusal::Refusal;
use crate::request_log::RequestEnd;
use crate::unsent::Held;
use crate::worlds::Waiter;
use blocking_task::BlockingTask;
pub(crate) use gateway::{Arrival, GatewayKind, Hub, Program};
use outbox::Outbox;
use pending::{EndedRequest, LinkRequest, LinkResponse, Pending};
use session::{Admitted, REVOKED, Session, admit_trade};
pub(crate) use transport::Transport;
use transport::{AUTH, CloseCode, HEARTBEAT, Incoming, RECONNECT};

/// Ping interval. Clients drop a connection that receives no ping for 120 s.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Time without data from the client after which the connection is considered dead.
const SILENCE_MAX: Duration = Duration::from_secs(90);
/// Time limit for signing in. A reconnecting client opens the socket first and then fetches a
/// one-time password.
const AUTH_WITHIN: Duration = Duration::from_secs(10);
/// Delay before the server closes a connection after a refused sign-in. The client normally closes
/// the connection first. If the server closed it immediately, the client would treat that as a
/// network error.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time after which a client that reads nothing while responses are unsent is closed as too slow.
const STALL_MAX: Duration = Duration::from_secs(30);
/// Time limit for sending the close push to a client whose socket may be full.
const CLOSING_MAX: Duration = Duration::from_secs(5);
/// Time limit for reading data that the client sent before it received the close push.
const LINGER_MAX: Duration = Duration::from_secs(1);
/// Number of unsent bytes at which no more requests are read. Enough for a few large responses.
const UNSENT_MAX: usize = 256 << 10;
const READ_SIZE: usize = 8192;
/// Number of requests and pushes handled before the task yields, so that a pipelining client does
/// not delay other connections.
const TURN_MAX: u32 = 64;
/// Maximum heartbeat size in bytes. Heartbeats are echoed, and a compressed heartbeat could expand
/// a thousandfold.
const HEARTBEAT_MAX: usize = 1024;
const _: () = assert!(PING_EVERY.as_secs() * 3 <= SILENCE_MAX.as_secs());

/// Why the connection loop ended.
#[derive(Debug)]
enum End {
    /// The client has disconnected, so nothing can be sent.
    Gone,
    /// The client closed the connection.
    Left,
    Close(CloseCode, String),
    /// The client violated the protocol. The number is the close code of a WebSocket.
    Broken(u16, String),
}

/// Sign-in deadline of an unauthenticated connection, and the close code to use.
#[derive(Clone, Copy, Debug)]
struct SignInBy {
    at: Instant,
    close: CloseCode,
    reason: &'static str,
}

pub(crate) struct Link<S> {
    stream: S,
    transport: Transport,
    from: Arrival,
    gateway: GatewayKind,
    hub: Arc<Hub>,
    outbox: Outbox,
    session: Option<Session>,
    /// Unanswered requests. `None` most of the time, to save memory.
    pending: Option<Box<Pending>>,
    /// A sign-in or subscription that runs on a worker thread before further packets are read. Only
    /// used if the database is a server.
    blocking_task: Option<Box<BlockingTask>>,
    /// Bytes that were read but not yet parsed, because too many responses are unsent.
    held: Vec<u8>,
    heard: Instant,
    pinged: Instant,
    pings: u32,
    /// Time at which the client last accepted bytes. Only meaningful while bytes are unsent.
    taken: Instant,
    /// Time until which reading is paused, after too many refusals.
    paused_until: Option<Instant>,
    /// Number of requests and pushes handled since the task last yielded.
    turn: u32,
    /// Size in bytes of the pushes queued in the mailbox, as of the last check.
    mail_bytes: usize,
    /// Whether pushes are sent before responses next time, because responses used all the space.
    pushes_are_next: bool,
    /// Number of pushes and responses since the last pause between pushes. `None` unless the client
    /// is the SDK that drops packets: it is identified by its upgrade request, uses raw TCP, or sends
    /// WebSocket pings, which shows it behind a proxy that changes the headers.
    unpaused_pushes: Option<u32>,
    /// Time until which no push is sent.
    pushes_after: Option<Instant>,
    /// The movement of a world's clock for which queued requests wait, and the deadline.
    movement: Option<Box<(Instant, Waiter)>>,
    /// Unsent bytes charged to the account.
    unsent: Option<Held>,
    /// Sign-in deadline; `None` after a sign-in.
    sign_in_by: Option<SignInBy>,
    draining: bool,
}

/// How a connection was opened.
#[derive(Clone, Debug)]
pub(crate) enum Opening {
    /// A TCP connection, whose handshake is part of the protocol.
    Tcp,
    /// A WebSocket upgrade whose path may name a gateway. `early` holds bytes that followed the
    /// upgrade request immediately.
    Upgraded { gateway: GatewayKind, early: Bytes },
    /// An upgrade to an unsupported dialect. The client is sent this error message and
    /// disconnected.
    Refused(String),
}

/// Serves one connection until it ends. The connection is built outside the future, so that the
/// future holds only one copy of it. There are thousands of these futures.
pub(crate) fn serve<S>(
    stream: S,
    transport: Transport,
    from: Arrival,
    opening: Opening,
    hub: Arc<Hub>,
    shutdown: watch::Receiver<bool>,
) -> impl Future<Output = ()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut link = Link::new(stream, transport, from, hub);
    let refused = match opening {
        Opening::Tcp => None,
        Opening::Upgraded { gateway, early } => {
            link.gateway = gateway;
            link.held = early.to_vec();
            None
        }
        Opening::Refused(reason) => Some(End::Close(CloseCode::Unpack, reason)),
    };
    link.run(refused, shutdown)
}

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    fn new(stream: S, transport: Transport, from: Arrival, hub: Arc<Hub>) -> Link<S> {
        let now = Instant::now();
        hub.core.metrics.opened(transport.transport_kind().into());
        let unpaused_pushes = (from.program == Program::GoSdk).then_some(0);
        let by = SignInBy { at: now + AUTH_WITHIN, close: CloseCode::Auth, reason: "no sign-in in time" };
        Link {
            stream,
            transport,
            from,
            gateway: GatewayKind::Mixed,
            hub,
            outbox: Outbox::default(),
            session: None,
            pending: None,
            blocking_task: None,
            held: Vec::new(),
            heard: now,
            pinged: now,
            pings: 0,
            taken: now,
            paused_until: None,
            turn: 0,
            mail_bytes: 0,
            pushes_are_next: false,
            unpaused_pushes,
            pushes_after: None,
            movement: None,
            unsent: None,
            sign_in_by: Some(by),
            draining: false,
        }
    }

    async fn run(mut self, refused: Option<End>, mut shutdown: watch::Receiver<bool>) {
        let end = match refused {
            Some(end) => end,
            None => self.work(&mut shutdown).await,
        };
        self.finish(end).await;
    }

    async fn work(&mut self, shutdown: &mut watch::Receiver<bool>) -> End {
        // Shows without a lock whether the shutdown future needs to be polled.
        let report = shutdown.clone();
        let mut stopping = pin!(shutdown.changed());
        let mut wake = Box::pin(sleep_until(self.next_deadline()));
        let mut registered: Option<Waker> = None;
        poll_fn(|cx| {
            loop {
                // Do all non-blocking work, including writing responses, before polling for more
                // input.
                while let Poll::Ready(done) = self.poll_wire(cx) {
                    if let Err(end) = done {
                        return Poll::Ready(end);
                    }
                    // Yield, so that a pipelining client or an endless stream of pushes does not
                    // starve other connections and timers.
                    if self.turn >= TURN_MAX {
                        cx.waker().wake_by_ref();
                        break;
                    }
                }
                self.turn = 0;
                if self.report_flow() {
                    continue;
                }
                if let Some(end) = self.drained() {
                    return Poll::Ready(end);
                }
                // The shutdown signal is shared by all connections, and the timer by all
                // connections on a thread, so the waker is registered once instead of with every
                // request.
                let mut is_known = registered.as_ref().is_some_and(|known| known.will_wake(cx.waker()));
                let is_told = !is_known || !matches!(report.has_changed(), Ok(false));
                if !self.draining && is_told && stopping.as_mut().poll(cx).is_ready() {
                    self.drain();
                    continue;
                }
                let deadline = self.next_deadline();
                if wake.deadline() > deadline || wake.is_elapsed() {
                    wake.as_mut().reset(deadline);
                    is_known = false;
                }
                if !is_known {
                    if wake.as_mut().poll(cx).is_ready() {
                        match self.look_at_the_clock() {
                            Ok(()) => continue,
                            Err(end) => return Poll::Ready(end),
                        }
                    }
                    // Without coop budget neither future was polled, so the next iteration polls
                    // both again.
                    registered = coop::has_budget_remaining().then(|| cx.waker().clone());
                }
                return Poll::Pending;
            }
        })
        .await
    }

    /// Starts closing because the server stops. Requests and pushes already received are still
    /// handled.
    fn drain(&mut self) {
        self.draining = true;
        if let Some(session) = &self.session {
            session.mailbox.shut();
        }
    }

    /// Returns why the connection ends, once a draining connection has nothing left to send.
    /// Returns `None` before that.
    fn drained(&mut self) -> Option<End> {
        if self.pending.as_ref().is_some_and(|pending| pending.is_idle()) {
            self.pending = None;
        }
        let awaited = self.pending.as_ref().is_some_and(|pending| pending.is_awaited());
        let awaited = awaited || self.blocking_task.is_some();
        let is_done = self.draining && !awaited && self.outbox.is_empty() && !self.has_pushes();
        is_done.then(|| End::Close(CloseCode::Shutdown, "the server is shutting down".to_owned()))
    }

    /// Parses and handles input packet by packet, until too many responses are unsent.
    fn read(&mut self, mut input: &[u8]) -> Result<(), End> {
        while !input.is_empty() {
            if self.turn >= TURN_MAX || !self.may_read() {
                self.held = input.to_vec();
                return Ok(());
            }
            match self.transport.decode(&mut input) {
                Some(incoming) => {
                    self.turn += 1;
                    self.take(incoming)?;
                }
                None => return Ok(()),
            }
        }
        Ok(())
    }

    fn take(&mut self, incoming: Incoming) -> Result<(), End> {
        match incoming {
            Incoming::Packet(Packet::Request { command, id, timeout_ms, body }) => {
                let limit = (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms.into()));
                // All packets of one read share the timestamp of the read, so the clock is read
                // once.
                let since = self.heard;
                let by = limit.map(|limit| since + limit);
                self.request(LinkRequest { command, id, by, since, body: body.into_owned() });
                Ok(())
            }
            Incoming::Pong(payload) => {
                if let Some(number) = payload.first_chunk().filter(|_| payload.len() == 4) {
                    self.ponged(u32::from_be_bytes(*number));
                }
                Ok(())
            }
            Incoming::Packet(Packet::Response { command: HEARTBEAT, id, .. }) => {
                self.ponged(id);
                Ok(())
            }
            // Other responses, and pushes from the client, are ignored.
            Incoming::Packet(_) => Ok(()),
            Incoming::Ping(payload) => {
                self.unpaused_pushes.get_or_insert(0);
                self.note_work(Instant::now());
                self.transport.pong(&payload, &mut self.outbox);
                Ok(())
            }
            Incoming::Close => Err(End::Left),
            Incoming::Broken { websocket, reason } => Err(End::Broken(websocket, reason)),
        }
    }

    fn request(&mut self, request: LinkRequest) {
        match request.command {
            HEARTBEAT if request.body.len() > HEARTBEAT_MAX => {
                let text = format!("a heartbeat is at most {HEARTBEAT_MAX} bytes");
                self.answer(request.answered(Err(Refusal::Malformed(text))));
            }
            HEARTBEAT => {
                self.note_work(Instant::now());
                let (since, length) = (request.since, request.body.len());
                let body = vec![request.body.into()];
                self.transport.response(HEARTBEAT, request.id, Status::Success, body, &mut self.outbox);
                self.count(HEARTBEAT, since, Outcome::Ok, length);
            }
            AUTH | RECONNECT => self.sign_in(&request),
            _ => self.business(request),
        }
    }

    fn business(&mut self, request: LinkRequest) {
        if self.session.is_none() {
            return self.answer(request.answered(Err(Refusal::Unauthenticated)));
        }
        let must_wait = self.must_wait_for_clock();
        let waits = match &mut self.pending {
            pending if must_wait => pending.get_or_insert_default().wait(request),
            Some(pending) if !pending.may_start() || pending.has_waiting() => pending.wait(request),
            _ => return self.start(request),
        };
        if let Err(request) = waits {
            self.answer(request.answered(Err(Refusal::Busy)));
        }
    }

    fn start(&mut self, request: LinkRequest) {
        let Some(session) = &mut self.session else {
            return self.answer(request.answered(Err(Refusal::Unauthenticated)));
        };
        let is_trade = session.is_trade(request.command, &request.body);
        // The market time is read once per request, because it advances while the connection is
        // open.
        let caller = match self.hub.core.caller(session.client) {
            Ok(caller) => caller,
            Err(refusal) => return self.answer(request.answered(Err(refusal))),
        };
        if caller.who.is_of_world() {
            self.hub.core.worlds.requested(caller.who.account(), self.hub.core.uptime());
        }
        if pushes::is_subscription(request.command) {
            return self.begin_subscription(request, caller);
        }
        if request.command == command::CANDLESTICKS {
            session.note_pull(&request.body, caller.now());
        }
        if is_trade && self.hub.core.access.is_shared() {
            return self.begin_trade(request, caller);
        }
        // This code must not block, because the thread also serves other connections.
        let admitted = store::without_waiting(|| {
            if is_trade {
                admit_trade(&caller, &self.hub.core).map(Admitted::Trade)
            } else {
                session.start(&self.hub.core, &caller, request.command, &request.body).map(Admitted::Quote)
            }
        });
        let work = match admitted {
            // Answering a short read inline costs less than a thread handoff.
            Ok(Admitted::Quote(Step::Answered(reply))) => return self.answer(request.answered(Ok(reply))),
            Ok(Admitted::Quote(Step::Waits(work))) => work,
            Ok(Admitted::Trade(permit)) => {
                let answer = session.answer_trade(request.command, &request.body, &permit, None);
                return self.answer_as(Task::Trade, request.answered(answer));
            }
            Err(Refusal::Waits) => return self.start_aside(request, caller),
            Err(Refusal::TooManyCalls { text, retry_after }) => {
                if let Err((request, refusal)) = self.keep_early(request, text, retry_after) {
                    self.answer(request.answered(Err(refusal)));
                }
                return;
            }
            Err(refusal) if is_trade => return self.answer_as(Task::Trade, request.answered(Err(refusal))),
            Err(refusal) => return self.answer(request.answered(Err(refusal))),
        };
        let core = self.hub.core.clone();
        let pending = self.pending.get_or_insert_default();
        if pending.start(&request, work, None, core).is_err() {
            self.answer(request.answered(Err(Refusal::Busy)));
        }
    }

    /// Runs a whole request on a worker thread, where it may block on the database.
    fn start_aside(&mut self, request: LinkRequest, caller: Caller) {
        let row = match CommandRow::of_packet(request.command, &request.body) {
            Ok(row) => row,
            Err(refusal) => return self.answer(request.answered(Err(refusal))),
        };
        let work = Box::new(Deferred { row, caller, body: request.body.clone() });
        let core = self.hub.core.clone();
        let pending = self.pending.get_or_insert_default();
        let body = Some(request.body.clone());
        if pending.start(&request, work, body, core).is_err() {
            self.answer(request.answered(Err(Refusal::Busy)));
        }
    }

    /// Sends the response of a finished request, or holds the request back if it slightly exceeded
    /// the rate limit and can be retried.
    fn ended(&mut self, EndedRequest { response, again }: EndedRequest) {
        match (response.answer, again) {
            (Err(Refusal::TooManyCalls { text, retry_after }), Some(asked)) => {
                if let Err((asked, refusal)) = self.keep_early(asked, text, retry_after) {
                    self.answer(asked.answered(Err(refusal)));
                }
            }
            (answer, _) => self.answer(LinkResponse { answer, ..response }),
        }
    }

    fn answer(&mut self, answered: LinkResponse) {
        self.answer_as(end::task(answered.command), answered);
    }

    fn answer_as(&mut self, task: Task, LinkResponse { command, id, since, answer }: LinkResponse) {
        let (before, account) = (self.outbox.bytes(), self.account());
        let (outcome, candles) = match &answer {
            Ok(reply) => (Outcome::Ok, reply.candles),
            Err(refusal) => (refusal.outcome(), 0),
        };
        if let Err(Refusal::Revoked) = answer {
            // The client receives this refusal once before the connection is closed.
            self.session = None;
            self.shut(CloseCode::Auth, REVOKED);
        }
        let (status, body) = match answer {
            Ok(reply) => (Status::Success, reply.body),
            Err(refusal) => {
                let (status, code) = refusal.on_wire();
                if refusal.is_held_against_them() {
                    self.back_off();
                }
                (status, vec![wire::refusal_body(code, &refusal.text()).into()])
            }
        };
        let now = Instant::now();
        self.note_work(now);
        self.transport.response(command, id, status, body, &mut self.outbox);
        self.count_response();
        let bytes = self.outbox.bytes().saturating_sub(before);
        self.end(
            command,
            task,
            &RequestEnd { candles, bytes, account, ..RequestEnd::by(now, since, outcome) },
        );
    }

    fn respond_error(&mut self, command: u8, id: u32, status: Status, code: u64, text: &str) {
        self.note_work(Instant::now());
        let body = vec![wire::refusal_body(code, text).into()];
        self.transport.response(command, id, status, body, &mut self.outbox);
    }

    /// Closes an unauthenticated connection after [`CLOSE_TIMEOUT`], unless the client closes it
    /// first. Further wrong passwords do not extend the timeout.
    fn shut(&mut self, close: CloseCode, reason: &'static str) {
        let soon = Instant::now() + CLOSE_TIMEOUT;
        let at = self.sign_in_by.map_or(soon, |by| by.at.min(soon));
        self.sign_in_by = Some(SignInBy { at, close, reason });
    }

    /// Starts the slow-client timeout when the first response is queued.
    fn note_work(&mut self, now: Instant) {
        if self.outbox.is_empty() {
            self.taken = now;
        }
    }
}
