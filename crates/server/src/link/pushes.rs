//! Takes pushes and close requests from a connection's mailbox, and sends pushes between responses.

use std::task::Context;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::session::close_reason;
use super::{End, Link, TURN_MAX};
use crate::mailbox::Mail;

/// Number of pushes sent before requests are read again. Half of what one SDK queues before it
/// drops packets, responses included.
const PUSHES_AT_ONCE: u32 = 8;
const _: () = assert!(PUSHES_AT_ONCE < TURN_MAX);

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    /// Returns whether there are pushes. Fails if the connection should be closed.
    pub(super) fn look_into_mailbox(&mut self, cx: &Context<'_>) -> Result<bool, End> {
        let mail = self.session.as_ref().map_or(Mail::Nothing, |session| session.mailbox.look(cx));
        self.mail_bytes = match mail {
            Mail::Pushes { bytes } => bytes,
            Mail::Nothing => 0,
            Mail::Kick(kick) => {
                let (code, reason) = close_reason(kick);
                return Err(End::Close(code, reason.to_owned()));
            }
        };
        Ok(mail != Mail::Nothing)
    }

    /// Takes a few pushes from the mailbox, if they can be sent. Returns whether there were any. If
    /// responses used all the space, pushes come first next time, so that neither starves the
    /// other.
    pub(super) fn take_pushes(&mut self) -> bool {
        let mut taken = 0;
        while taken < PUSHES_AT_ONCE && self.turn < TURN_MAX && !self.is_behind() && self.take_push() {
            taken += 1;
            self.turn += 1;
        }
        self.pushes_are_next = taken == 0;
        taken > 0
    }

    /// Takes all pushes before another account signs in, because they are not for that account.
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
        self.note_work(Instant::now());
        self.mail_bytes = self.mail_bytes.saturating_sub(push.body.len());
        self.transport.push(push.command, push.body, &mut self.outbox);
        true
    }

    pub(super) fn has_pushes(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.mailbox.is_empty())
    }
}
