//! The stream under an HTTP connection, with checks that hyper does not do. A request head must be
//! complete within a few seconds and within its size limit, its lines must end in CR LF, and a
//! write times out if the client does not read.
//!
//! The stream tracks the framing only to know which bytes belong to a head, and never sends
//! responses itself. An invalid line ending is overwritten so that hyper's parser rejects it, and a
//! head is not read beyond its limit.

use std::future::Future;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::framing::Framing;
use crate::connection_limits::ConnectionSlot;

/// Timeout for a request head, measured from its first byte, or from the start of the connection
/// for the first head.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// Idle timeout between requests on an unauthenticated connection.
const UNPROVEN_IDLE_MAX: Duration = Duration::from_secs(10);
/// Write timeout: how long a client may read nothing while a response is pending.
const STALL_MAX: Duration = Duration::from_secs(30);
/// Maximum number of bytes per read.
const READ_SIZE: usize = 8192;

/// Connection state shared by the HTTP service and the stream below it.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionState(Arc<SharedState>);

#[derive(Debug, Default)]
struct SharedState {
    /// Connection slot of the account that authenticated on this connection.
    place: Mutex<Option<ConnectionSlot>>,
    is_proved: AtomicBool,
    /// Whether a request is being answered, during which the connection is not idle.
    is_answering: AtomicBool,
}

/// Guard that marks the connection as answering a request until dropped.
#[derive(Debug)]
pub(super) struct AnsweringGuard(ConnectionState);

impl ConnectionState {
    /// Marks the connection as authenticated if `place` returns a connection slot. Returns whether
    /// the connection may stay open.
    pub(super) fn prove(&self, place: impl FnOnce() -> Option<ConnectionSlot>) -> bool {
        let mut taken = self.0.place.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.is_none() {
            *taken = place();
        }
        self.0.is_proved.store(taken.is_some(), Ordering::Relaxed);
        taken.is_some()
    }

    /// Marks the connection as authenticated without taking a slot, for connections that belong to
    /// no account, such as a proxy's.
    pub(super) fn prove_without_place(&self) {
        self.0.is_proved.store(true, Ordering::Relaxed);
    }

    pub(super) fn answering(&self) -> AnsweringGuard {
        self.0.is_answering.store(true, Ordering::Relaxed);
        AnsweringGuard(self.clone())
    }

    fn is_proved(&self) -> bool {
        self.0.is_proved.load(Ordering::Relaxed)
    }

    fn is_answering(&self) -> bool {
        self.0.is_answering.load(Ordering::Relaxed)
    }
}

impl Drop for AnsweringGuard {
    fn drop(&mut self) {
        self.0.0.is_answering.store(false, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(super) struct Strict<S> {
    inner: S,
    framing: Framing,
    state: ConnectionState,
    reading: Deadline,
    writing: Deadline,
}

/// A timeout that starts when it is first checked.
#[derive(Debug, Default)]
struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    fn clear(&mut self) {
        self.0 = None;
    }

    /// Returns whether `within` has passed since the first call.
    fn is_over(&mut self, within: Duration, cx: &mut Context<'_>) -> bool {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + within)));
        sleep.as_mut().poll(cx).is_ready()
    }
}

impl<S> Strict<S> {
    /// Wraps a stream. `head_max` is the size limit of a head in bytes.
    pub(super) fn new(inner: S, head_max: usize, state: ConnectionState) -> Strict<S> {
        let (reading, writing) = (Deadline::default(), Deadline::default());
        Strict { inner, framing: Framing::new(head_max), state, reading, writing }
    }

    /// Returns the inner stream, for an upgraded connection.
    pub(super) fn into_inner(self) -> S {
        self.inner
    }

    /// Returns the current read timeout, or `None` if this stream enforces none.
    fn patience(&self) -> Option<Duration> {
        if self.framing.is_in_head() {
            return Some(HEAD_WITHIN);
        }
        let is_stranger = !self.state.is_proved() && !self.state.is_answering();
        (self.framing.is_between() && is_stranger).then_some(UNPROVEN_IDLE_MAX)
    }

    fn watch_write<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        match written {
            Poll::Pending if self.writing.is_over(STALL_MAX, cx) => Poll::Ready(Err(timed_out())),
            Poll::Pending => Poll::Pending,
            ready => {
                self.writing.clear();
                ready
            }
        }
    }
}

fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

impl<S: AsyncRead + Unpin> AsyncRead for Strict<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let mut room = [MaybeUninit::uninit(); READ_SIZE];
        let most = buf.remaining().min(READ_SIZE).min(this.framing.room());
        let Some(room) = room.get_mut(..most) else { return Poll::Ready(Ok(())) };
        let mut read = ReadBuf::uninit(room);
        let was_in_head = this.framing.is_in_head();
        match Pin::new(&mut this.inner).poll_read(cx, &mut read) {
            Poll::Pending => {
                return match this.patience() {
                    Some(within) if this.reading.is_over(within, cx) => Poll::Ready(Err(timed_out())),
                    Some(_) => Poll::Pending,
                    // No timeout applies now, so the next timeout starts from zero.
                    None => {
                        this.reading.clear();
                        Poll::Pending
                    }
                };
            }
            Poll::Ready(result) => result?,
        }
        this.framing.follow(read.filled_mut());
        // A head's timeout starts with its first byte.
        if !this.framing.is_in_head() || !was_in_head {
            this.reading.clear();
        }
        buf.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Strict<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watch_write(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.watch_write(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch_write(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watch_write(shut, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::connection_limits::ConnectionLimits;

    const SECOND: Duration = Duration::from_secs(1);

    async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await
    }

    #[tokio::test(start_paused = true)]
    async fn slow_heads_and_idle_unauthenticated_connections_time_out() {
        for (sent, proved, closed_after) in [
            // Without a complete head, the timeout is five seconds from the start of the
            // connection.
            ("", false, Some(5)),
            ("GET / HT", false, Some(5)),
            ("GET / HT", true, Some(5)),
            // A complete request is followed by silence.
            ("GET / HTTP/1.1\r\n\r\n", false, Some(10)),
            ("GET / HTTP/1.1\r\n\r\n", true, None),
            // The second head is incomplete.
            ("GET / HTTP/1.1\r\n\r\nGE", true, Some(5)),
            // Body timeouts are enforced in `body.rs`.
            ("POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n12345", false, None),
        ] {
            let (near, mut far) = tokio::io::duplex(1 << 10);
            let known = ConnectionState::default();
            if proved {
                assert!(known.prove(|| ConnectionLimits::new(1, 0).try_take(0)));
            }
            let mut strict = Strict::new(near, 1 << 10, known);
            let begun = Instant::now();
            far.write_all(sent.as_bytes()).await.unwrap();
            let ended = tokio::time::timeout(60 * SECOND, read_all(&mut strict)).await;
            match closed_after {
                Some(seconds) => {
                    assert_eq!(ended.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut, "{sent:?}");
                    assert_eq!(begun.elapsed().as_secs(), seconds, "{sent:?}");
                }
                None => assert!(ended.is_err(), "{sent:?}: nobody else is cut off here"),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slowly_written_head_gets_no_extra_time() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let mut strict = Strict::new(near, 1 << 10, ConnectionState::default());
        let begun = Instant::now();
        let drip = tokio::spawn(async move {
            for byte in b"GET / HTTP/1.1\r\nhost: test\r\n\r\n" {
                if far.write_all(&[*byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(SECOND).await;
            }
        });
        assert_eq!(read_all(&mut strict).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 5);
        drip.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_times_out_if_the_client_does_not_read() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut strict = Strict::new(near, 1 << 10, ConnectionState::default());
        let begun = Instant::now();
        let writing = tokio::spawn(async move { strict.write_all(&[7; 64]).await });
        // Reading some bytes resets the timeout.
        tokio::time::sleep(20 * SECOND).await;
        far.read_exact(&mut [0; 8]).await.unwrap();
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn no_idle_timeout_applies_during_an_answer() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let state = ConnectionState::default();
        let mut strict = Strict::new(near, 1 << 10, state.clone());
        far.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let (begun, answering) = (Instant::now(), state.answering());
        let work = async {
            tokio::time::sleep(40 * SECOND).await;
            drop(answering);
            // The write wakes the reading task, as a response would.
            far.write_all(b"\r\n").await.unwrap();
            tokio::time::sleep(60 * SECOND).await;
        };
        let read = async { (read_all(&mut strict).await, begun.elapsed().as_secs()) };
        let ((read, after), ()) = tokio::join!(read, work);
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(after, 45, "the answer took forty seconds, and then a head had begun");
    }

    #[tokio::test(start_paused = true)]
    async fn a_proxy_connection_stays_open_once_authenticated() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let known = ConnectionState::default();
        known.prove_without_place();
        let mut strict = Strict::new(near, 1 << 10, known);
        far.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let ended = tokio::time::timeout(60 * SECOND, read_all(&mut strict)).await;
        assert!(ended.is_err(), "{ended:?}");
    }

    #[test]
    fn a_connection_takes_one_account_slot_until_dropped() {
        let places = ConnectionLimits::new(1, 0);
        let (one, two) = (ConnectionState::default(), ConnectionState::default());
        assert!(one.prove(|| places.try_take(7)) && one.prove(|| places.try_take(7)));
        assert!(!two.prove(|| places.try_take(7)) && !two.is_proved());
        drop(one);
        assert!(two.prove(|| places.try_take(7)) && two.is_proved());
    }
}
