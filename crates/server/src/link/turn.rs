//! One turn of a connection: what is answered and what is to be pushed is taken, what waits is written, what came is read, as far as
//! each can be done at once.

use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::{End, Link, READ_SIZE};

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    /// Writes what waits, takes what is answered and reads what came, whichever there is.
    pub(super) fn poll_wire(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        let has_mail = self.look_into_mailbox(cx)?;
        let mut moved = self.poll_pending(cx);
        // Both as of before anything is written: what that makes room for is shared out on the next turn, fairly.
        let (reads, pushes) = (self.may_read(), has_mail && !self.is_behind());
        let pushes_first = pushes && self.pushes_are_next;
        moved |= self.write(cx)?;
        if pushes_first && self.take_pushes() {
            self.write(cx)?;
            moved = true;
        }
        // What was not begun for want of room.
        while let Some(asked) = self.next_waiting() {
            moved = true;
            self.start(asked);
        }
        if reads && let Poll::Ready(result) = self.poll_read(cx) {
            result?;
            // What could be answered at once leaves at once.
            self.write(cx)?;
            moved = true;
        }
        // Answers before pushes: one SDK drops whatever comes while sixteen packets wait to be looked at, and it waits for answers.
        if pushes && !pushes_first && self.take_pushes() {
            self.write(cx)?;
            moved = true;
        }
        if moved { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Writes what waits, as much of it as the client takes; whether that was anything.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        if self.outbox.is_empty() {
            return Ok(false);
        }
        let (before, reads) = (self.outbox.bytes(), self.may_read());
        if let Poll::Ready(Err(_)) = self.outbox.poll_write(&mut self.stream, cx) {
            return Err(End::Gone);
        }
        // What is done is told once everything has left, though nothing may have been left to hand over.
        let is_taken = self.outbox.bytes() < before;
        if is_taken && !(reads && self.outbox.is_empty()) {
            self.taken = Instant::now();
            // We do not listen to it at the moment, so that it takes something has to do as a sign of life.
            if !reads {
                self.heard = self.taken;
            }
        }
        self.tell_unsent();
        Ok(is_taken || before == 0 && self.outbox.is_empty())
    }

    /// Answers what has ended, and starts what waited for that; whether there was any.
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Some(pending) = &mut self.pending
            && let Poll::Ready(ended) = pending.poll_ended(cx)
        {
            moved = true;
            if let Some(answered) = ended {
                self.answer(answered);
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
        // On the stack, so that a connection that is silent holds nothing.
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
