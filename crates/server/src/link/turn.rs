//! One turn of a connection: takes answers and pushes, writes unsent bytes, and reads, each as far
//! as possible without waiting.

use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::{End, Link, READ_SIZE};

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    /// Writes, takes answers and pushes, and reads, as far as there is anything to do.
    pub(super) fn poll_wire(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        let has_mail = self.look_into_mailbox(cx)?;
        let mut moved = self.poll_blocking_task(cx);
        moved |= self.poll_pending(cx);
        // Both are determined before anything is written: room that writing makes is shared fairly
        // on the next turn.
        let (reads, pushes) = (self.may_read(), has_mail && !self.is_behind());
        let pushes_first = pushes && self.pushes_are_next;
        moved |= self.write(cx)?;
        if pushes_first && self.take_pushes() {
            self.write(cx)?;
            moved = true;
        }
        // Requests that were not started because too many answers were unsent.
        while let Some(asked) = self.next_waiting() {
            moved = true;
            self.start(asked);
        }
        if reads && let Poll::Ready(result) = self.poll_read(cx) {
            result?;
            // Send inline answers immediately.
            self.write(cx)?;
            moved = true;
        }
        // Answers before pushes: one SDK drops every packet that comes while sixteen are queued,
        // and then waits for its answers.
        if pushes && !pushes_first && self.take_pushes() {
            self.write(cx)?;
            moved = true;
        }
        if moved { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Writes unsent bytes, as many as the client accepts. Returns whether it accepted any.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        if self.outbox.is_empty() {
            return Ok(false);
        }
        let (before, reads) = (self.outbox.bytes(), self.may_read());
        if let Poll::Ready(Err(_)) = self.outbox.poll_write(&mut self.stream, cx) {
            return Err(End::Gone);
        }
        // A completed flush counts as progress too, though there was nothing left to write.
        let is_taken = self.outbox.bytes() < before;
        if is_taken && !(reads && self.outbox.is_empty()) {
            self.taken = Instant::now();
            // Nothing is read at the moment, so accepting bytes counts as a sign of life.
            if !reads {
                self.heard = self.taken;
            }
        }
        self.tell_unsent();
        Ok(is_taken || before == 0 && self.outbox.is_empty())
    }

    /// Sends the answers of finished requests, and starts queued ones. Returns whether there were
    /// any.
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Some(pending) = &mut self.pending
            && let Poll::Ready(ended) = pending.poll_ended(cx)
        {
            moved = true;
            if let Some(ended) = ended {
                self.ended(ended);
            }
            while let Some(asked) = self.next_waiting() {
                self.start(asked);
            }
        }
        moved
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            return Poll::Ready(self.read(&held));
        }
        // On the stack, so that an idle connection holds no buffer.
        let mut room = [MaybeUninit::uninit(); READ_SIZE];
        let mut buffer = ReadBuf::uninit(&mut room);
        match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
            Ok(()) if !buffer.filled().is_empty() => {
                self.heard = Instant::now();
                if let Some(session) = &self.session {
                    session.heard();
                }
                Poll::Ready(self.read(buffer.filled()))
            }
            Ok(()) | Err(_) => Poll::Ready(Err(End::Gone)),
        }
    }
}
