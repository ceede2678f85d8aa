//! Records the end of a request in metrics and the log, and ends a connection. A close push reports
//! the reason to the client, if the client still reads.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, timeout};

use super::transport::{AUTH, CloseCode, HEARTBEAT, RECONNECT};
use super::{CLOSING_MAX, End, LINGER_MAX, Link, Program, READ_SIZE, Transport};
use crate::metrics::{Outcome, Task};
use crate::pushes;
use crate::request_log::{self, RequestEnd};

impl<S> Link<S> {
    /// Counts a request and logs it.
    pub(super) fn end(&self, command: u8, task: Task, ended: &RequestEnd) {
        request_log::of_link(
            &self.hub.core.metrics,
            self.transport.transport_kind().into(),
            task,
            command,
            ended,
        );
    }

    /// Counts and logs a request of which only the outcome and the size are known.
    pub(super) fn count(&self, command: u8, since: Instant, outcome: Outcome, bytes: usize) {
        let ended = RequestEnd { bytes, account: self.account(), ..RequestEnd::at(since, outcome) };
        self.end(command, task(command), &ended);
    }

    pub(super) fn account(&self) -> Option<access::AccountId> {
        self.session.as_ref().map(|session| session.client.who.account())
    }
}

impl<S> Drop for Link<S> {
    fn drop(&mut self) {
        self.hub.core.metrics.closed(self.transport.transport_kind().into());
    }
}

/// Returns the metrics task of a command of the quote gateway or the control protocol.
pub(super) fn task(command: u8) -> Task {
    match command {
        HEARTBEAT => Task::Heartbeat,
        AUTH => Task::SignIn,
        RECONNECT => Task::Resume,
        command if pushes::is_subscription(command) => Task::Subscriptions,
        command => Task::of_command(command),
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    pub(super) async fn finish(&mut self, end: End) {
        // Running requests are dropped and the connection slot is released now, whether or not the
        // client reads the remaining bytes.
        self.pending = None;
        self.unsent = None;
        self.session = None;
        match end {
            End::Gone => return,
            End::Left => self.transport.goodbye(1000, "", &mut self.outbox),
            End::Close(code, reason) => {
                tracing::debug!(code = code as i32, reason, "closing");
                if !self.client_hangs_on_close(code) {
                    self.transport.close(code, code.websocket(), &reason, &mut self.outbox);
                }
            }
            End::Broken(websocket, reason) => {
                tracing::debug!(reason, "closing a connection that violates the protocol");
                self.transport.close(CloseCode::Unpack, websocket, &reason, &mut self.outbox);
            }
        }
        let written = poll_fn(|cx| self.outbox.poll_write(&mut self.stream, cx));
        if matches!(timeout(CLOSING_MAX, written).await, Ok(Ok(()))) {
            timeout(LINGER_MAX, self.linger()).await.ok();
        }
    }

    /// Returns whether the client must not get this close. After a close push or a close frame the
    /// Go SDK closes its socket under a read lock, and its handler of that close waits forever for
    /// the write lock. It reconnects when the stream ends without them. Raw TCP has no header that
    /// identifies the client, so only the close of a connection without a fault is left out there.
    fn client_hangs_on_close(&self, code: CloseCode) -> bool {
        self.from.program == Program::GoSdk
            && (code == CloseCode::Shutdown || matches!(self.transport, Transport::WebSocket(_)))
    }

    async fn linger(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        // Closing a socket with unread bytes sends a reset, and the client might never see the
        // close push, so the bytes are read and discarded first.
        poll_fn(|cx| {
            loop {
                let mut room = [MaybeUninit::uninit(); READ_SIZE];
                let mut rest = ReadBuf::uninit(&mut room);
                ready!(Pin::new(&mut self.stream).poll_read(cx, &mut rest))?;
                if rest.filled().is_empty() {
                    return Poll::Ready(Ok(()));
                }
            }
        })
        .await
    }
}
