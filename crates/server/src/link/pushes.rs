//! What others push to the client of a connection, or have it closed for: taken out of its mailbox and mixed with the answers.

use std::task::Context;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::session::told;
use super::{End, Link, TURN_MAX};
use crate::mailbox::Mail;

/// Pushes between which requests are looked for. Half of what one SDK lets wait before it drops packets, answers among them.
const PUSHES_AT_ONCE: u32 = 8;
const _: () = assert!(PUSHES_AT_ONCE < TURN_MAX);

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    /// Whether there are pushes. Fails if somebody wants the connection closed.
    pub(super) fn look_into_mailbox(&mut self, cx: &Context<'_>) -> Result<bool, End> {
        let mail = self.session.as_ref().map_or(Mail::Nothing, |session| session.mailbox.look(cx));
        self.mail_bytes = match mail {
            Mail::Pushes { bytes } => bytes,
            Mail::Nothing => 0,
            Mail::Kick(kick) => {
                let (code, reason) = told(kick);
                return Err(End::Close(code, reason.to_owned()));
            }
        };
        Ok(mail != Mail::Nothing)
    }

    /// Takes a few pushes out of the mailbox, as long as they can be sent; whether there were any. If they cannot because answers
    /// took the room, they come first when there is some again, so that neither holds the other up for ever.
    pub(super) fn take_pushes(&mut self) -> bool {
        let mut taken = 0;
        while taken < PUSHES_AT_ONCE && self.turn < TURN_MAX && !self.is_behind() && self.take_push() {
            taken += 1;
            self.turn += 1;
        }
        self.pushes_are_next = taken == 0;
        taken > 0
    }

    /// Takes all of them, however many: whoever signs in next is not the one they are for.
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
