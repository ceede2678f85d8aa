//! Connections that only read: each counts its pushes, and some note when each of them came. They
//! share one buffer, and a push is decoded only where it is timed, so that reading costs little.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use prost::Message;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use wire::quote::PushQuote;

use super::market::{batch_of, number};

const BUFFER: usize = 64 << 10;
/// One connection in so many is timed.
const TIMED_EACH: usize = 16;
/// An empty pong, masked.
const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];
/// Header of a push packet: kind, command, and length.
const PUSH_HEADER: usize = 5;
const PUSH_QUOTE: u8 = 101;

thread_local! {
    static SHARED: RefCell<Box<[u8]>> = RefCell::new(vec![0; BUFFER].into());
}

/// What a connection speaks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Speaks {
    WebSocket,
    Redis,
}

/// A push that was timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) symbol: usize,
    pub(super) batch: usize,
    pub(super) at: Duration,
}

/// What all connections received.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) began: Instant,
    pushes: AtomicU64,
    bytes: AtomicU64,
    /// When the first push since the last reset came, and the last one, in nanoseconds.
    first: AtomicU64,
    last: AtomicU64,
    arrived: Mutex<Vec<Arrived>>,
    /// A push as it came.
    example: Mutex<Option<PushQuote>>,
}

impl Tally {
    pub(super) fn new() -> Arc<Tally> {
        Arc::new(Tally {
            began: Instant::now(),
            pushes: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
            arrived: Mutex::default(),
            example: Mutex::default(),
        })
    }

    pub(super) fn pushes(&self) -> usize {
        self.pushes.load(Ordering::Relaxed) as usize
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) as usize
    }

    /// Forgets what came so far.
    pub(super) fn reset(&self) {
        self.pushes.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.first.store(u64::MAX, Ordering::Relaxed);
        self.last.store(0, Ordering::Relaxed);
        lock(&self.arrived).clear();
    }

    /// When the first push since the reset came, and the last one.
    pub(super) fn span(&self) -> (Duration, Duration) {
        let at = |nanoseconds: &AtomicU64| Duration::from_nanos(nanoseconds.load(Ordering::Relaxed));
        (at(&self.first), at(&self.last))
    }

    pub(super) fn arrived(&self) -> Vec<Arrived> {
        lock(&self.arrived).clone()
    }

    pub(super) fn example(&self) -> anyhow::Result<PushQuote> {
        lock(&self.example).clone().context("no push came")
    }

    /// Waits until as many pushes came. Fails if none comes for a while.
    pub(super) async fn wait_for(&self, pushes: usize) -> anyhow::Result<()> {
        let (mut seen, mut since) = (self.pushes(), Instant::now());
        while self.pushes() < pushes {
            tokio::time::sleep(Duration::from_millis(2)).await;
            if self.pushes() != seen {
                (seen, since) = (self.pushes(), Instant::now());
            }
            ensure!(since.elapsed() < Duration::from_secs(20), "{seen} of {pushes} pushes came");
        }
        ensure!(self.pushes() == pushes, "{} pushes came instead of {pushes}", self.pushes());
        Ok(())
    }

    fn count(&self, pushes: u64, bytes: usize) {
        let at = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.pushes.fetch_add(pushes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.first.fetch_min(at, Ordering::Relaxed);
        self.last.fetch_max(at, Ordering::Relaxed);
    }

    fn time(&self, body: &[u8]) -> anyhow::Result<()> {
        let at = self.began.elapsed();
        let push = PushQuote::decode(body)?;
        if let (Some(symbol), Some(batch)) = (number(&push.symbol), batch_of(&push.last_done)) {
            lock(&self.arrived).push(Arrived { symbol, batch, at });
        }
        lock(&self.example).get_or_insert(push);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads these connections until [`Readers::close`].
pub(super) struct Readers(Vec<JoinHandle<anyhow::Result<()>>>);

impl Readers {
    pub(super) fn start(streams: Vec<TcpStream>, speaks: Speaks, tally: &Arc<Tally>) -> Readers {
        let few = streams.len() <= TIMED_EACH * 10;
        let start = |(place, stream)| {
            let is_timed = few || place % TIMED_EACH == 0;
            tokio::spawn(read(stream, speaks, is_timed, tally.clone()))
        };
        Readers(streams.into_iter().enumerate().map(start).collect())
    }

    /// Ends all connections. Fails if one of them had ended before.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        for reader in self.0 {
            if reader.is_finished() {
                reader.await??;
                bail!("the server has closed a connection");
            }
            reader.abort();
        }
        Ok(())
    }
}

async fn read(
    mut stream: TcpStream,
    speaks: Speaks,
    is_timed: bool,
    tally: Arc<Tally>,
) -> anyhow::Result<()> {
    // The beginning of a message whose end has not come yet.
    let mut rest: Vec<u8> = Vec::new();
    loop {
        let pings = poll_fn(|cx| {
            SHARED.with_borrow_mut(|shared| {
                let mut buffer = ReadBuf::new(shared);
                if let Err(error) = ready!(Pin::new(&mut stream).poll_read(cx, &mut buffer)) {
                    return Poll::Ready(Err(error.into()));
                }
                let read = buffer.filled();
                Poll::Ready(match (read.is_empty(), rest.is_empty()) {
                    (true, _) => Err(anyhow::anyhow!("the server has closed a connection")),
                    (_, true) => take(read, speaks, is_timed, &tally).map(|(used, pings)| {
                        rest.extend_from_slice(read.get(used..).unwrap_or_default());
                        pings
                    }),
                    (_, false) => {
                        rest.extend_from_slice(read);
                        take(&rest, speaks, is_timed, &tally).map(|(used, pings)| {
                            rest.drain(..used);
                            pings
                        })
                    }
                })
            })
        })
        .await?;
        for _ in 0..pings {
            // A full socket means that the server does not read; it will ask again.
            stream.try_write(&PONG).ok();
        }
    }
}

/// Takes all complete messages. Returns the number of their bytes, and of pings among them.
fn take(bytes: &[u8], speaks: Speaks, is_timed: bool, tally: &Tally) -> anyhow::Result<(usize, usize)> {
    let (mut used, mut pushes, mut pings) = (0, 0, 0);
    while let Some((end, body)) = match speaks {
        Speaks::WebSocket => frame(bytes, used)?,
        Speaks::Redis => message(bytes, used)?,
    } {
        match (body, bytes.get(used)) {
            (Some(body), _) => {
                pushes += 1;
                if is_timed {
                    tally.time(body)?;
                }
            }
            (None, Some(0x89)) => pings += 1,
            (None, _) => {}
        }
        used = end;
    }
    if pushes > 0 {
        tally.count(pushes, used);
    }
    Ok((used, pings))
}

/// Where a message ends, and its body if it is a push of a quote.
type Taken<'a> = Option<(usize, Option<&'a [u8]>)>;

fn frame(bytes: &[u8], from: usize) -> anyhow::Result<Taken<'_>> {
    let (first, start, length) = match *bytes.get(from..).unwrap_or_default() {
        [first, 126, a, b, ..] => (first, from + 4, usize::from(u16::from_be_bytes([a, b]))),
        [_, 127, ..] => bail!("a push of more than 64 KB"),
        [first, length, ..] if length < 126 => (first, from + 2, usize::from(length)),
        _ => return Ok(None),
    };
    let Some(packet) = bytes.get(start..start + length) else { return Ok(None) };
    ensure!(first == 0x82 || first == 0x89, "a frame that begins with {first:#04x}: {packet:?}");
    let is_quote = first == 0x82 && packet.get(1) == Some(&PUSH_QUOTE);
    ensure!(first != 0x82 || is_quote, "not a push of a quote: {}", String::from_utf8_lossy(packet));
    Ok(Some((start + length, packet.get(PUSH_HEADER..).filter(|_| is_quote))))
}

/// `*3`, and three texts: `message`, the channel, and the body. Or the answer to a subscription.
fn message(bytes: &[u8], from: usize) -> anyhow::Result<Taken<'_>> {
    let Some((parts, mut at)) = head(bytes, from, b'*')? else { return Ok(None) };
    let (mut first, mut last): (&[u8], &[u8]) = (&[], &[]);
    for part in 0..parts {
        if bytes.get(at) == Some(&b':') {
            let Some((_, next)) = head(bytes, at, b':')? else { return Ok(None) };
            at = next;
            continue;
        }
        let Some((length, start)) = head(bytes, at, b'$')? else { return Ok(None) };
        let Some(text) = bytes.get(start..start + length) else { return Ok(None) };
        if part == 0 {
            first = text;
        }
        last = text;
        at = start + length + 2;
    }
    Ok((at <= bytes.len()).then(|| (at, (first == b"message").then_some(last))))
}

/// A line such as `$12`: its number, and where the next line begins.
fn head(bytes: &[u8], from: usize, kind: u8) -> anyhow::Result<Option<(usize, usize)>> {
    let line = bytes.get(from..).unwrap_or_default();
    let Some(end) = line.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    ensure!(line.first() == Some(&kind), "Redis sent {}", String::from_utf8_lossy(line));
    let number = line.get(1..end.saturating_sub(1)).unwrap_or_default();
    let number = number.iter().fold(0, |number, digit| number * 10 + usize::from(digit.wrapping_sub(b'0')));
    Ok(Some((number, from + end + 1)))
}
