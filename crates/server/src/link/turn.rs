//! One turn of a connection: takes responses and pushes, writes unsent bytes, and reads input. Each
//! step goes as far as possible without blocking. Pushes are sent between responses.

use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::outbox::SLICES_MAX;
use super::pending::LinkRequest;
use super::push_flow::PushFlow;
use super::session::{REVOKED, close_reason};
use super::transport::CloseCode;
use super::{End, Link, PING_EVERY, READ_SIZE, SILENCE_MAX, STALL_MAX, TURN_MAX, UNSENT_MAX};
use crate::mailbox::{Flow, Kick, Mail};
use crate::refusal::Refusal;
use crate::unsent::Held;
use crate::workers::Who;
use crate::worlds::WAIT_MAX;

/// Number of pushes sent before requests are read again, which is the number that one write takes.
const PUSHES_AT_ONCE: u32 = 64;
/// Number of pushes sent without a pause to the Go SDK. Half the number of
/// packets, including responses, that it queues before
/// it drops packets.
const PACED_PUSHES: u32 = 8;
/// Pause after [`PACED_PUSHES`] pushes to such a client.
const PUSHES_PAUSE: Duration = Duration::from_millis(2);
const _: () = assert!(PUSHES_AT_ONCE <= TURN_MAX && PUSHES_AT_ONCE as usize <= SLICES_MAX);

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    /// Writes, takes responses and pushes, and reads. Returns `Ready` if any work was done.
    pub(super) fn poll_wire(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        let has_mail = self.look_into_mailbox(cx)?;
        let mut moved = self.poll_blocking_task(cx);
        moved |= self.poll_pending(cx);
        // Both are determined before writing, so that space freed by writing is shared fairly on
        // the next turn.
        let (reads, pushes) = (self.may_read(), has_mail && self.may_push());
        let pushes_first = pushes && self.pushes_are_next;
        moved |= self.write(cx)?;
        if pushes_first && self.take_pushes() {
            self.write(cx)?;
            moved = true;
        }
        // Start requests that were queued because too many responses were unsent.
        while let Some(requested) = self.next_waiting() {
            moved = true;
            self.start(requested);
        }
        if reads && let Poll::Ready(result) = self.poll_read(cx) {
            result?;
            // Send inline responses immediately.
            self.write(cx)?;
            moved = true;
        }
        // Responses go before pushes, because one SDK drops every packet that arrives while sixteen
        // packets are queued, and then waits for its responses.
        if pushes && !pushes_first && self.take_pushes() {
            self.write(cx)?;
            moved = true;
        }
        moved |= self.poll_movement(cx);
        if moved { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Starts the requests that wait for the clock of the connection's world, once the movement of
    /// the clock has ended. Returns whether the movement has ended.
    fn poll_movement(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(movement) = &mut self.movement else { return false };
        if Pin::new(&mut movement.1).poll(cx).is_pending() {
            return false;
        }
        // Dropped after the requests have started, because otherwise a running clock could move
        // before they start.
        let ended = self.movement.take();
        while let Some(requested) = self.next_waiting() {
            self.start(requested);
        }
        // The clock was moved again. The remaining requests keep their deadline.
        if let (Some(ended), Some(movement)) = (&ended, &mut self.movement) {
            movement.0 = ended.0;
        }
        true
    }

    /// Writes as many unsent bytes as the client accepts. Returns whether the client accepted any.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        if self.outbox.is_empty() {
            return Ok(false);
        }
        let (before, reads) = (self.outbox.bytes(), self.may_read());
        if let Poll::Ready(Err(_)) = self.outbox.poll_write(&mut self.stream, cx) {
            return Err(End::Gone);
        }
        // A completed flush counts as progress too, even if nothing was left to write.
        let is_taken = self.outbox.bytes() < before;
        if is_taken && !(reads && self.outbox.is_empty()) {
            self.taken = Instant::now();
            // The connection is not being read now, so accepting bytes is the proof that the client
            // is alive.
            if !reads {
                self.heard = self.taken;
            }
        }
        self.tell_unsent();
        Ok(is_taken || before == 0 && self.outbox.is_empty())
    }

    /// Sends responses of finished requests, and starts queued requests. Returns whether any work
    /// was done.
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Some(pending) = &mut self.pending
            && let Poll::Ready(ended) = pending.poll_ended(cx)
        {
            moved = true;
            if let Some(ended) = ended {
                self.ended(ended);
            }
            while let Some(requested) = self.next_waiting() {
                self.start(requested);
            }
        }
        moved
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            return Poll::Ready(self.read(&held));
        }
        // The buffer is on the stack, so that an idle connection holds no buffer.
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

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    pub(super) fn next_deadline(&self) -> Instant {
        let stalls = (!self.outbox.is_empty()).then(|| self.taken + STALL_MAX);
        let signs_in = self.sign_in_by.map(|by| by.at);
        let answers = self.pending.as_ref().and_then(|pending| pending.next_deadline());
        let always = (self.pinged + PING_EVERY).min(self.heard + SILENCE_MAX);
        let waits = self.movement.as_ref().map(|movement| movement.0);
        let pauses = [self.paused_until, self.pushes_after, waits];
        [stalls, signs_in, answers].into_iter().chain(pauses).flatten().fold(always, Instant::min)
    }

    pub(super) fn look_at_the_clock(&mut self) -> Result<(), End> {
        let now = Instant::now();
        if now >= self.heard + SILENCE_MAX {
            return Err(End::Close(CloseCode::HeartbeatTimeout, "heartbeat timeout".to_owned()));
        }
        if let Some(by) = self.sign_in_by.filter(|by| now >= by.at) {
            return Err(End::Close(by.close, by.reason.to_owned()));
        }
        if !self.outbox.is_empty() && now >= self.taken + STALL_MAX {
            tracing::info!(unsent.bytes = self.outbox.bytes(), "a client does not read its responses");
            return Err(End::Gone);
        }
        self.paused_until = self.paused_until.filter(|until| now < *until);
        self.pushes_after = self.pushes_after.filter(|until| now < *until);
        let overdue = self.pending.as_mut().map(|pending| pending.overdue(now)).unwrap_or_default();
        for answered in overdue {
            self.answer(answered);
        }
        while let Some(requested) = self.pending.as_mut().and_then(|pending| pending.next_early(now)) {
            self.business(requested);
        }
        if self.movement.as_ref().is_some_and(|movement| now >= movement.0) {
            self.movement = None;
            let waiting = self.pending.as_mut().map(|pending| pending.take_waiting()).unwrap_or_default();
            for requested in waiting {
                self.answer(requested.answered(Err(Refusal::ClockMoves)));
            }
        }
        if now >= self.pinged + PING_EVERY {
            self.pinged = now;
            self.pings = self.pings.wrapping_add(1);
            self.ping();
            if let Some(session) = &self.session {
                session.pinged(self.hub.core.uptime());
                // A client that sends no requests is closed here if its account was revoked.
                if !session.is_valid(&self.hub.core) {
                    return Err(End::Close(CloseCode::Auth, REVOKED.to_owned()));
                }
            }
        }
        Ok(())
    }
}

impl<S> Link<S> {
    /// Returns whether requests are read. Reading stops while too many responses are unsent on the
    /// connection or for the account, during a pause after many refusals, and during a blocking
    /// task that later requests depend on.
    pub(super) fn may_read(&self) -> bool {
        !self.is_behind() && !self.draining && self.paused_until.is_none() && self.blocking_task.is_none()
    }

    /// Returns whether pushes are sent. They are not sent during a pause, and while a subscription
    /// is being processed, because its pushes follow the response.
    pub(super) fn may_push(&self) -> bool {
        !self.is_behind() && self.blocking_task.is_none() && self.pushes_after.is_none()
    }

    /// Returns whether unsent responses reached their limit on this connection, or for the account
    /// while some of its unsent responses are queued here. Sending the queued responses wakes the
    /// connection again.
    pub(super) fn is_behind(&self) -> bool {
        self.outbox.bytes() >= UNSENT_MAX || self.unsent.as_ref().is_some_and(Held::is_full)
    }

    /// Charges unsent bytes to the account, including pushes queued behind responses. Pushes are
    /// not charged while the client reads its responses.
    pub(super) fn tell_unsent(&mut self) {
        let unsent = self.outbox.bytes();
        let bytes = if unsent > 0 { unsent + self.mail_bytes } else { 0 };
        match (&mut self.unsent, &self.session) {
            (Some(unsent), _) if bytes > 0 => unsent.set(bytes),
            (Some(_), _) => self.unsent = None,
            (None, Some(session)) if bytes > 0 => self.unsent = Some(session.unsent().hold(bytes)),
            (None, _) => {}
        }
    }

    /// Returns the next queued request, or `None` if the queue is empty, the response could not be
    /// sent yet, or the clock of the connection's world moves.
    pub(super) fn next_waiting(&mut self) -> Option<LinkRequest> {
        let is_queued = self.pending.as_ref().is_some_and(|pending| pending.has_waiting());
        if !is_queued || self.is_behind() || self.must_wait_for_clock() {
            return None;
        }
        self.pending.as_mut().and_then(|pending| pending.next())
    }

    /// Returns whether requests wait because the clock of the connection's world moves. If so, the
    /// connection is woken when the movement has ended.
    pub(super) fn must_wait_for_clock(&mut self) -> bool {
        let Some(session) = self.session.as_ref().filter(|session| session.client.who.is_of_world()) else {
            return false;
        };
        let Some(waiter) = self.hub.core.worlds.wait(session.client.who.account()) else { return false };
        self.movement.get_or_insert_with(|| Box::new((Instant::now() + WAIT_MAX, waiter)));
        true
    }

    /// Holds back a call slightly above the account's rate limit. Returns the call and the refusal
    /// if too many calls are held back already.
    pub(super) fn keep_early(
        &mut self,
        request: LinkRequest,
        text: String,
        retry_after: Duration,
    ) -> Result<(), (LinkRequest, Refusal)> {
        let again_at = Instant::now() + retry_after;
        let stored = self.pending.get_or_insert_default().keep_early(request, again_at);
        stored.map_err(|request| (request, Refusal::TooManyCalls { text, retry_after }))
    }

    /// Pauses reading if the caller has been refused too often.
    pub(super) fn back_off(&mut self) {
        let who = match self.account() {
            Some(account) => Who::Account(account),
            None => Who::address(self.from.address.ip()),
        };
        let pause = self.hub.core.backoff.refused(who, self.hub.core.uptime());
        if !pause.is_zero() {
            self.hub.core.metrics.paused();
            let until = Instant::now() + pause;
            self.paused_until = Some(self.paused_until.map_or(until, |before| before.max(until)));
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    /// Returns whether pushes are queued in the mailbox. Returns an error if the connection should
    /// be closed.
    pub(super) fn look_into_mailbox(&mut self, cx: &Context<'_>) -> Result<bool, End> {
        let mail = self.session.as_ref().map_or(Mail::Nothing, |session| session.mailbox.look(cx));
        self.mail_bytes = match mail {
            Mail::Pushes { bytes } => bytes,
            Mail::Nothing => 0,
            Mail::Kick(kick) => {
                if matches!(kick, Kick::TooSlow { .. }) {
                    self.hub.core.metrics.pushes.closed_slow_reader();
                }
                let (code, reason) = close_reason(kick);
                return Err(End::Close(code, reason));
            }
        };
        Ok(mail != Mail::Nothing)
    }

    /// Takes a few pushes from the mailbox, if they can be sent. Returns whether any were taken. If
    /// responses used all the space, pushes come first on the next turn, so that neither starves
    /// the other.
    pub(super) fn take_pushes(&mut self) -> bool {
        let most = self.unpaused_pushes.map_or(PUSHES_AT_ONCE, |pushes| PACED_PUSHES.saturating_sub(pushes));
        let mut taken = 0;
        while taken < most && self.turn < TURN_MAX && self.may_push() && self.take_push() {
            taken += 1;
            self.turn += 1;
        }
        self.pushes_are_next = taken == 0;
        if let Some(pushes) = &mut self.unpaused_pushes {
            *pushes += taken;
            if *pushes >= PACED_PUSHES {
                *pushes = 0;
                self.pushes_after = Some(Instant::now() + PUSHES_PAUSE);
            }
        }
        taken > 0
    }

    /// Counts a response toward the packets between two pauses. Responses are not delayed.
    pub(super) fn count_response(&mut self) {
        if let Some(pushes) = &mut self.unpaused_pushes {
            *pushes += 1;
        }
    }

    /// Takes all remaining pushes before another account signs in, because these pushes are not for
    /// that account.
    pub(super) fn take_last_pushes(&mut self) {
        if let Some(session) = &self.session {
            session.mailbox.shut();
        }
        while self.take_push() {}
    }

    fn take_push(&mut self) -> bool {
        let Some(push) = self.session.as_ref().and_then(|session| session.mailbox.take()) else {
            return false;
        };
        if self.outbox.is_empty() {
            self.note_work(Instant::now());
        }
        self.mail_bytes = self.mail_bytes.saturating_sub(push.len());
        self.transport.push(&push, &mut self.outbox);
        let flow = self.session.as_mut().and_then(|session| session.flow.as_mut());
        if flow.is_some_and(PushFlow::pushed) {
            self.ping();
        }
        true
    }

    /// Queues a ping. In a world, the ping carries the number of the last push.
    fn ping(&mut self) {
        self.note_work(Instant::now());
        let flow = self.session.as_mut().and_then(|session| session.flow.as_mut());
        let number = flow.map_or(self.pings, PushFlow::ping);
        self.transport.ping(number, &mut self.outbox);
    }

    /// Records a pong of the client.
    pub(super) fn ponged(&mut self, number: u32) {
        if let Some(flow) = self.session.as_mut().and_then(|session| session.flow.as_mut()) {
            flow.ponged(number);
        }
    }

    /// Reports the progress of the pushes to the clock of a world. Returns whether a ping was
    /// queued.
    pub(super) fn report_flow(&mut self) -> bool {
        let Some(session) = &self.session else { return false };
        let Some(flow) = &session.flow else { return false };
        let is_awaited = self.pending.as_ref().is_some_and(|pending| pending.is_awaited());
        let reported = session.mailbox.report(Flow {
            is_unwritten: !self.outbox.is_empty(),
            unanswered: flow.unanswered(),
            is_unconfirmed: flow.is_unconfirmed(),
            is_busy: is_awaited || self.blocking_task.is_some() || !self.held.is_empty(),
        });
        if reported.is_awaited {
            self.hub.core.worlds.reported(session.client.who.account());
        }
        let pings = reported.ping && flow.is_unpinged();
        if pings {
            self.ping();
        }
        pings
    }

    pub(super) fn has_pushes(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.mailbox.is_empty())
    }
}
