//! The timers of a connection: pings, idle time, slow readers, sign-in.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::transport::CloseCode;
use super::{End, Link, PING_EVERY, REVOKED, SILENCE_MAX, STALL_MAX};

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    pub(super) fn next_deadline(&self) -> Instant {
        let stalls = (!self.outbox.is_empty()).then(|| self.taken + STALL_MAX);
        let signs_in = self.sign_in_by.map(|by| by.at);
        let answers = self.pending.as_ref().and_then(|pending| pending.next_deadline());
        let always = (self.pinged + PING_EVERY).min(self.heard + SILENCE_MAX);
        [stalls, signs_in, answers, self.paused_until].into_iter().flatten().fold(always, Instant::min)
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
            tracing::info!(unsent.bytes = self.outbox.bytes(), "a client does not take its answers");
            return Err(End::Gone);
        }
        self.paused_until = self.paused_until.filter(|until| now < *until);
        let overdue = self.pending.as_mut().map(|pending| pending.overdue(now)).unwrap_or_default();
        for answered in overdue {
            self.answer(answered);
        }
        while let Some(asked) = self.pending.as_mut().and_then(|pending| pending.next_early(now)) {
            self.start(asked);
        }
        if now >= self.pinged + PING_EVERY {
            self.pinged = now;
            self.pings = self.pings.wrapping_add(1);
            self.note_work(now);
            self.transport.ping(self.pings, &mut self.outbox);
            if let Some(session) = &self.session {
                session.pinged(self.hub.core.uptime());
                // A client that sends no request learns here that its account has been revoked.
                if !session.stands(&self.hub.core) {
                    return Err(End::Close(CloseCode::Auth, REVOKED.to_owned()));
                }
            }
        }
        Ok(())
    }
}
