//! Flow control of a connection: unsent answers of this connection or its account stop reading;
//! refusals slow it down; a request slightly above the rate is delayed.

use std::time::Duration;

use tokio::time::Instant;

use super::pending::LinkRequest;
use super::{Link, UNSENT_MAX};
use crate::refusal::Refusal;
use crate::unsent::Held;
use crate::workers::Who;

impl<S> Link<S> {
    /// Whether requests are read: not while answers pile up, here or for the account, nor during a
    /// pause after many refusals, nor during a blocking task that later requests depend on.
    pub(super) fn may_read(&self) -> bool {
        !self.is_behind() && !self.draining && self.paused_until.is_none() && self.blocking_task.is_none()
    }

    /// Whether answers pile up: on this connection, or for its account while some of them are here.
    /// Sending those wakes the connection again.
    pub(super) fn is_behind(&self) -> bool {
        self.outbox.bytes() >= UNSENT_MAX || self.unsent.as_ref().is_some_and(Held::is_full)
    }

    /// Counts unsent bytes for the account. There are none while the client reads its answers.
    /// Pushes that wait behind answers count too.
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

    /// The next waiting request, if its answer can be sent.
    pub(super) fn next_waiting(&mut self) -> Option<LinkRequest> {
        let is_behind = self.is_behind();
        self.pending.as_mut().filter(|_| !is_behind).and_then(|pending| pending.next())
    }

    /// Holds a call slightly above the account's rate, if few are held already; refuses it
    /// otherwise.
    pub(super) fn keep_early(
        &mut self,
        asked: LinkRequest,
        text: String,
        retry_after: Duration,
    ) -> Result<(), (LinkRequest, Refusal)> {
        let again_at = Instant::now() + retry_after;
        let kept = self.pending.get_or_insert_default().keep_early(asked, again_at);
        kept.map_err(|asked| (asked, Refusal::TooManyCalls { text, retry_after }))
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
