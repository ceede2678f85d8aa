//! Metrics and log lines for a connection and its requests.

use tokio::time::Instant;

use super::Link;
use super::transport::{AUTH, HEARTBEAT, RECONNECT};
use crate::metrics::{Outcome, Task};
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

    /// Counts and logs a request of which only the outcome is known.
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

/// Returns the metrics task of a command, unless it is for the trade gateway.
pub(super) fn task(command: u8) -> Task {
    match command {
        HEARTBEAT => Task::Heartbeat,
        AUTH => Task::SignIn,
        RECONNECT => Task::Resume,
        command => Task::of_command(command),
    }
}
