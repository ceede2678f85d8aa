//! One long connection, whichever way it came: bytes in, packets, requests side by side up to a bound, answers out.
//!
//! A connection is one task. It reads only as fast as it can answer and write: when the client does not take its answers,
//! reading stops, and when that lasts too long the connection ends. A question that memory can answer is answered on the
//! spot; everything else goes to a thread that may wait for the disk.

mod outbox;
mod session;
mod transport;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use wire::Packet;

use crate::refusal::Refusal;
use crate::route::{self, Reply};
use crate::services::Services;
use outbox::Outbox;
pub(crate) use session::Links;
use session::{Kick, Session};
pub(crate) use transport::Transport;
use transport::{AUTH, CLOSE, CloseCode, HEARTBEAT, Incoming, RECONNECT};

/// A client drops a connection on which it has seen no ping for 120 s.
const PING_EVERY: Duration = Duration::from_secs(30);
/// A peer that has said nothing for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(90);
/// A client that reconnects opens the socket first and fetches a one-time password then, which may take it 30 s.
const AUTH_WITHIN: Duration = Duration::from_secs(40);
/// After a refused sign-in the client closes; if we did at once, it would take that for a broken connection.
const GRACE: Duration = Duration::from_secs(2);
/// A client that takes nothing for so long while answers wait is too slow.
const STALL_MAX: Duration = Duration::from_secs(30);
/// How long goodbyes may take.
const CLOSING_MAX: Duration = Duration::from_secs(1);
/// Requests of one connection that run at once.
const RUNNING_MAX: usize = 5;
/// Requests that wait for those.
const WAITING_MAX: usize = 64;
/// Answers that wait to be written before no more requests are read.
const UNSENT_MAX: usize = 1 << 20;
const READ_SIZE: usize = 8192;
const _: () = assert!(PING_EVERY.as_secs() * 3 <= SILENCE_MAX.as_secs());

/// A request that has been taken off the connection.
struct Asked {
    command: u8,
    id: u32,
    timeout: Option<Duration>,
    body: Vec<u8>,
}

type Answered = (u8, u32, Result<Reply, Refusal>);

/// Why the loop ended.
enum End {
    /// The client is gone; there is nobody to say goodbye to.
    Gone,
    /// The client said goodbye.
    Left,
    Close(CloseCode, String),
}

/// When an unsigned connection ends, and how.
#[derive(Clone, Copy, Debug)]
struct SignInBy {
    at: Instant,
    close: CloseCode,
    reason: &'static str,
}

pub(crate) struct Link<S> {
    stream: S,
    transport: Transport,
    services: Arc<Services>,
    outbox: Outbox,
    session: Option<Session>,
    running: JoinSet<Answered>,
    waiting: VecDeque<Asked>,
    arrived: VecDeque<Incoming>,
    heard: Instant,
    pinged: Instant,
    pings: u32,
    /// When the client last took something, while something waits.
    taken: Instant,
    /// Sign-in must have happened by then; afterwards none.
    sign_in_by: Option<SignInBy>,
    draining: bool,
}

/// How a connection begins.
#[derive(Clone, Debug)]
pub(crate) enum Opening {
    /// With its own handshake.
    Tcp,
    /// After an upgrade; bytes may have come right behind it.
    Early(Bytes),
    /// After an upgrade to something that is not spoken here.
    Refused(String),
}

/// Serves one connection until it ends.
pub(crate) async fn serve<S>(
    stream: S,
    transport: Transport,
    opening: Opening,
    services: Arc<Services>,
    shutdown: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let now = Instant::now();
    let mut link = Link {
        stream,
        transport,
        services,
        outbox: Outbox::default(),
        session: None,
        running: JoinSet::new(),
        waiting: VecDeque::new(),
        arrived: VecDeque::new(),
        heard: now,
        pinged: now,
        pings: 0,
        taken: now,
        sign_in_by: Some(SignInBy {
            at: now + AUTH_WITHIN,
            close: CloseCode::Auth,
            reason: "no sign-in in time",
        }),
        draining: false,
    };
    match opening {
        Opening::Tcp => {}
        Opening::Early(bytes) => decode_all(&mut link.transport, &mut &*bytes, &mut link.arrived),
        Opening::Refused(reason) => link.arrived.push_back(Incoming::Broken(reason)),
    }
    link.run(shutdown).await;
}

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    async fn run(mut self, mut shutdown: watch::Receiver<bool>) {
        let mut wake = Box::pin(sleep_until(self.next_deadline()));
        let end = loop {
            if let Err(end) = self.step(&mut shutdown, wake.as_mut()).await {
                break end;
            }
        };
        self.finish(end).await;
    }

    /// Waits for one thing to happen, and deals with it.
    async fn step(
        &mut self,
        shutdown: &mut watch::Receiver<bool>,
        mut wake: Pin<&mut Sleep>,
    ) -> Result<(), End> {
        while let Some(incoming) = self.arrived.pop_front() {
            self.take(incoming)?;
        }
        if self.draining && self.running.is_empty() && self.waiting.is_empty() && self.outbox.is_empty() {
            return Err(End::Close(CloseCode::Shutdown, "the server is shutting down".to_owned()));
        }
        let deadline = self.next_deadline();
        if wake.deadline() > deadline || wake.is_elapsed() {
            wake.as_mut().reset(deadline);
        }
        let kick = self.session.as_ref().map(Session::kick);
        let (busy, draining) = (!self.running.is_empty(), self.draining);
        let Link { stream, transport, outbox, running, arrived, heard, taken, waiting, .. } = self;
        // Reading stops while answers pile up: the client's own sends stop then, and nothing grows here.
        let reads = outbox.bytes() < UNSENT_MAX && waiting.len() < WAITING_MAX && !draining;
        tokio::select! {
            biased;
            result = exchange(stream, transport, outbox, arrived, reads, (heard, taken)) => match result {
                Ok(()) => Ok(()),
                Err(_) => Err(End::Gone),
            },
            Some(answered) = running.join_next(), if busy => {
                match answered {
                    Ok(answered) => self.answer(answered),
                    // A panic costs its request only; the client's timeout tells it.
                    Err(error) => tracing::error!(%error, "a request ended unexpectedly"),
                }
                self.start_waiting();
                Ok(())
            }
            kick = Kick::wait(kick) => {
                let (code, reason) = kick.close();
                Err(End::Close(code, reason.to_owned()))
            }
            _ = shutdown.changed(), if !draining => {
                self.draining = true;
                Ok(())
            }
            () = wake => self.look_at_the_clock(),
        }
    }

    fn next_deadline(&self) -> Instant {
        let mut next = (self.pinged + PING_EVERY).min(self.heard + SILENCE_MAX);
        if let Some(by) = self.sign_in_by {
            next = next.min(by.at);
        }
        if !self.outbox.is_empty() {
            next = next.min(self.taken + STALL_MAX);
        }
        next
    }

    fn look_at_the_clock(&mut self) -> Result<(), End> {
        let now = Instant::now();
        if now >= self.heard + SILENCE_MAX {
            return Err(End::Close(CloseCode::HeartbeatTimeout, "heartbeat timeout".to_owned()));
        }
        if let Some(by) = self.sign_in_by.filter(|by| now >= by.at) {
            return Err(End::Close(by.close, by.reason.to_owned()));
        }
        if !self.outbox.is_empty() && now >= self.taken + STALL_MAX {
            tracing::info!(unsent.bytes = self.outbox.bytes(), "a client does not take its answers");
            return Err(End::Gone);
        }
        if now >= self.pinged + PING_EVERY {
            self.pinged = now;
            self.pings = self.pings.wrapping_add(1);
            self.note_work();
            self.transport.ping(self.pings, &mut self.outbox);
        }
        Ok(())
    }

    fn take(&mut self, incoming: Incoming) -> Result<(), End> {
        match incoming {
            Incoming::Packet(Packet::Request { command, id, timeout_ms, body }) => {
                let timeout = (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms.into()));
                self.request(Asked { command, id, timeout, body: body.into_owned() })
            }
            // Answers to our heartbeats, and pushes nobody asked for.
            Incoming::Packet(_) | Incoming::Pong => Ok(()),
            Incoming::Ping(payload) => {
                self.note_work();
                self.transport.pong(&payload, &mut self.outbox);
                Ok(())
            }
            Incoming::Close => Err(End::Left),
            Incoming::Broken(reason) => Err(End::Close(CloseCode::Unpack, reason)),
        }
    }

    fn request(&mut self, asked: Asked) -> Result<(), End> {
        match asked.command {
            CLOSE => Err(End::Left),
            HEARTBEAT => {
                self.note_work();
                let body = vec![asked.body.into()];
                self.transport.response(HEARTBEAT, asked.id, wire::Status::Success, body, &mut self.outbox);
                Ok(())
            }
            AUTH | RECONNECT => {
                self.sign_in(&asked);
                Ok(())
            }
            _ => {
                self.business(asked);
                Ok(())
            }
        }
    }

    fn business(&mut self, asked: Asked) {
        let Some(session) = &self.session else {
            return self.answer((asked.command, asked.id, Err(Refusal::Unauthenticated)));
        };
        if session.is_trade(asked.command) {
            let answer = session::trade(asked.command, &asked.body);
            return self.answer((asked.command, asked.id, answer));
        }
        if self.running.len() >= RUNNING_MAX {
            if self.waiting.len() >= WAITING_MAX {
                return self.answer((asked.command, asked.id, Err(Refusal::Busy)));
            }
            return self.waiting.push_back(asked);
        }
        self.start(asked);
    }

    fn start_waiting(&mut self) {
        while self.running.len() < RUNNING_MAX
            && let Some(asked) = self.waiting.pop_front()
        {
            self.start(asked);
        }
    }

    fn start(&mut self, asked: Asked) {
        let Some(session) = &mut self.session else { return };
        let (command, id) = (asked.command, asked.id);
        session.note(command);
        let work = match route::admit(&self.services, session.caller(), command, &asked.body) {
            Ok(work) => work,
            Err(refusal) => return self.answer((command, id, Err(refusal))),
        };
        // What memory can answer costs less than handing it to another thread.
        let work = match work.from_memory(&self.services) {
            Ok(answer) => return self.answer((command, id, answer)),
            Err(work) => work,
        };
        let services = self.services.clone();
        self.running.spawn(async move {
            let answer = tokio::task::spawn_blocking(move || work.run(&services));
            let answer = match asked.timeout {
                Some(limit) => timeout(limit, answer).await,
                None => Ok(answer.await),
            };
            match answer {
                Ok(Ok(answer)) => (command, id, answer),
                Ok(Err(error)) => {
                    tracing::error!(%error, command, "a request ended unexpectedly");
                    (command, id, Err(Refusal::Internal))
                }
                Err(_) => (command, id, Err(Refusal::TimedOut)),
            }
        });
    }

    fn answer(&mut self, (command, id, answer): Answered) {
        self.note_work();
        if let Err(Refusal::Revoked) = answer {
            // Said once, and then the door is shut.
            self.session = None;
            self.sign_in_by = Some(SignInBy {
                at: Instant::now() + GRACE,
                close: CloseCode::Auth,
                reason: "this account has been revoked",
            });
        }
        match answer {
            Ok(reply) => {
                self.transport.response(command, id, wire::Status::Success, reply.encode(), &mut self.outbox);
            }
            Err(refusal) => self.refuse(command, id, &refusal),
        }
    }

    fn refuse(&mut self, command: u8, id: u32, refusal: &Refusal) {
        let (status, code) = refusal.on_wire();
        self.respond_error(command, id, status, code, &refusal.text());
    }

    fn respond_error(&mut self, command: u8, id: u32, status: wire::Status, code: u64, text: &str) {
        self.note_work();
        let body = vec![wire::refusal_body(code, text).into()];
        self.transport.response(command, id, status, body, &mut self.outbox);
    }

    /// The clock of a slow client starts when the first answer begins to wait.
    fn note_work(&mut self) {
        if self.outbox.is_empty() {
            self.taken = Instant::now();
        }
    }

    async fn finish(mut self, end: End) {
        self.running.abort_all();
        match end {
            End::Gone => return,
            End::Left => self.transport.goodbye(1000, "", &mut self.outbox),
            End::Close(code, reason) => {
                tracing::debug!(code = code as i32, reason, "closing");
                self.transport.close(code, &reason, &mut self.outbox);
            }
        }
        // The connection does not count any more, whether or not the client listens to the rest.
        self.session = None;
        let Link { mut stream, mut outbox, .. } = self;
        let goodbye = async {
            poll_fn(|cx| outbox.poll_write(&mut stream, cx)).await?;
            stream.shutdown().await?;
            // Bytes left unread would turn the close into a reset, which can overtake what we said.
            let mut rest = [0; 512];
            while tokio::io::AsyncReadExt::read(&mut stream, &mut rest).await? > 0 {}
            io::Result::Ok(())
        };
        timeout(CLOSING_MAX, goodbye).await.ok();
    }
}

/// Writes what waits and reads what came, whichever the connection is ready for.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    transport: &mut Transport,
    outbox: &mut Outbox,
    arrived: &mut VecDeque<Incoming>,
    reads: bool,
    (heard, taken): (&mut Instant, &mut Instant),
) -> io::Result<()> {
    poll_fn(|cx| {
        let mut moved = false;
        if !outbox.is_empty() {
            let before = outbox.bytes();
            match outbox.poll_write(stream, cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => moved = true,
                Poll::Pending => {}
            }
            if outbox.bytes() < before {
                *taken = Instant::now();
                moved = true;
            }
        }
        if reads {
            let mut room = [0; READ_SIZE];
            let mut buffer = ReadBuf::new(&mut room);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                Poll::Ready(Ok(())) => {
                    *heard = Instant::now();
                    decode_all(transport, &mut buffer.filled(), arrived);
                    moved = true;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {}
            }
        }
        if moved { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

fn decode_all(transport: &mut Transport, input: &mut &[u8], arrived: &mut VecDeque<Incoming>) {
    while !input.is_empty() {
        match transport.decode(input) {
            Some(incoming) => arrived.push_back(incoming),
            None => return,
        }
    }
}
