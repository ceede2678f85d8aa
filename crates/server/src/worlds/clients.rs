//! The clients of a world on this server: open connections and streams, and requests. They decide
//! when a moving clock waits, and when it stops and goes on by itself.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::mailbox::{Kick, Mailbox, Need};

/// Time after the sign-in of a first connection after which it counts as ready, even if it has not
/// subscribed.
const READY_AFTER: Duration = Duration::from_secs(10);

/// Pause between two looks at connections that a step waits for, because one that is closed by the
/// server reports nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(crate) struct Clients {
    state: Mutex<State>,
    /// Notified when a connection has reported its flow, or was closed.
    reported: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Mailboxes of the open connections and streams.
    connections: HashMap<u64, Mailbox>,
    /// Whether the last connection was lost since the clock was started.
    is_lost: bool,
    /// Uptime from which the connections are ready; `None` without connections.
    ready_at: Option<Duration>,
    /// Number of HTTP requests in work.
    in_work: u32,
    /// Uptime of the last request.
    requested_at: Option<Duration>,
    step: Option<AutoStep>,
    late: u64,
}

/// The last step of a world that steps by itself.
#[derive(Clone, Copy, Debug)]
struct AutoStep {
    at: Duration,
    quiet: Duration,
    /// Uptime at which the clients were seen to have read its pushes.
    answered_at: Option<Duration>,
}

/// When a world that steps by itself takes its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    Due,
    /// After this time, if nothing happens.
    In(Duration),
    /// When something happens.
    Waits,
}

impl Clients {
    pub(crate) fn joined(&self, connection: u64, mailbox: Mailbox, uptime: Duration) {
        mailbox.keep_all();
        let mut state = self.lock();
        if state.connections.is_empty() {
            state.ready_at = Some(uptime + READY_AFTER);
        }
        state.connections.insert(connection, mailbox);
        state.requested(uptime);
    }

    /// Records that a connection has subscribed to quotes or order events.
    pub(super) fn subscribed(&self, uptime: Duration) {
        let mut state = self.lock();
        state.ready_at = state.ready_at.map(|ready_at| ready_at.min(uptime));
    }

    /// Records that a connection was closed. Returns whether it was the last one.
    pub(super) fn left(&self, connection: u64) -> bool {
        let mut state = self.lock();
        let is_last = state.connections.remove(&connection).is_some() && state.connections.is_empty();
        if is_last {
            state.is_lost = true;
            state.ready_at = None;
        }
        drop(state);
        self.reported.notify_all();
        is_last
    }

    /// Records a request on a connection.
    pub(super) fn requested(&self, uptime: Duration) {
        self.lock().requested(uptime);
    }

    /// Forgets what happened before the clock was started.
    pub(super) fn started(&self) {
        let mut state = self.lock();
        (state.is_lost, state.step) = (false, None);
    }

    /// Returns whether the last connection was lost since the clock was started.
    pub(super) fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    /// Returns how long a world without ready connections waits for them, or `None` if there are no
    /// connections.
    pub(super) fn ready_in(&self, uptime: Duration) -> Option<Duration> {
        self.lock().ready_at.map(|ready_at| ready_at.saturating_sub(uptime))
    }

    /// Returns whether all connections meet the need. Those that do not are asked to report.
    pub(super) fn are_ready(&self, need: Need) -> bool {
        self.lock().are_ready(need)
    }

    /// Waits until all pushes are in the sockets of the connections, for at most this time.
    pub(super) fn wait_until_written(&self, limit: Duration) {
        let began = Instant::now();
        let mut state = self.lock();
        while !state.are_ready(Need::InSocket) {
            let Some(left) = limit.checked_sub(began.elapsed()) else { return };
            let waited = self.reported.wait_timeout(state, left.min(LOOK_EVERY));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes all connections and streams.
    pub(super) fn close(&self, kick: Kick) {
        self.lock().connections.values().for_each(|mailbox| mailbox.close(kick));
    }

    /// Records that a connection has reported what happened to its pushes.
    pub(super) fn reported(&self) {
        // A step that waits holds this lock from its look at the connections on.
        drop(self.lock());
        self.reported.notify_all();
    }

    /// Returns when a world that steps by itself takes its next step: after `quiet` without a
    /// request, counted from when the clients have read the pushes of the last step. The first step
    /// waits for the first request.
    pub(super) fn next_step(&self, quiet: Duration, uptime: Duration) -> NextStep {
        if !self.are_ready(Need::Answered) {
            return NextStep::Waits;
        }
        let mut state = self.lock();
        let answered_at = match &mut state.step {
            Some(step) => *step.answered_at.get_or_insert(uptime),
            None => Duration::ZERO,
        };
        let Some(requested_at) = state.requested_at.filter(|_| state.in_work == 0) else {
            return NextStep::Waits;
        };
        let ready_at = state.ready_at.unwrap_or_default();
        let at = (requested_at.max(answered_at) + quiet).max(ready_at);
        if at <= uptime { NextStep::Due } else { NextStep::In(at - uptime) }
    }

    /// Records a step of a world that steps by itself.
    pub(super) fn stepped(&self, at: Duration, quiet: Duration) {
        self.lock().step = Some(AutoStep { at, quiet, answered_at: None });
    }

    /// Returns the number of requests that came within the quiet time after a step.
    pub(crate) fn late(&self) -> u64 {
        self.lock().late
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn are_ready(&self, need: Need) -> bool {
        // All of them, so that each is asked.
        let waiting = self.connections.values().filter(|mailbox| !mailbox.is_ready(need)).count();
        waiting == 0
    }

    /// A request soon after a step may have been meant for the step before. Whether it was a quick
    /// reaction to this one cannot be seen from outside the program.
    fn requested(&mut self, uptime: Duration) {
        self.requested_at = Some(uptime);
        if self.step.is_some_and(|AutoStep { at, quiet, .. }| uptime < at + quiet) {
            self.late += 1;
        }
    }
}

/// An HTTP request with the API key of a world, while it is in work.
#[derive(Debug)]
pub(crate) struct WorldRequest {
    clients: Arc<Clients>,
    moving: Arc<Notify>,
}

impl WorldRequest {
    pub(super) fn begin(clients: Arc<Clients>, moving: Arc<Notify>, uptime: Duration) -> WorldRequest {
        let mut state = clients.lock();
        state.in_work += 1;
        state.requested(uptime);
        drop(state);
        WorldRequest { clients, moving }
    }
}

impl Drop for WorldRequest {
    fn drop(&mut self) {
        self.clients.lock().in_work -= 1;
        self.moving.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Flow;

    const QUIET: Duration = Duration::from_millis(50);

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_step_waits_for_the_first_request_and_for_silence() {
        let clients = Clients::default();
        assert_eq!(clients.next_step(QUIET, at(1_000)), NextStep::Waits);
        clients.requested(at(1_000));
        assert_eq!(clients.next_step(QUIET, at(1_020)), NextStep::In(at(30)));
        clients.requested(at(1_040));
        assert_eq!(clients.next_step(QUIET, at(1_089)), NextStep::In(at(1)));
        assert_eq!(clients.next_step(QUIET, at(1_090)), NextStep::Due);
        clients.stepped(at(1_090), QUIET);
        assert_eq!(clients.next_step(QUIET, at(1_091)), NextStep::In(QUIET), "from when it was read");
        assert_eq!(clients.next_step(QUIET, at(1_141)), NextStep::Due);
    }

    #[test]
    fn a_step_waits_until_its_pushes_are_read_and_requests_are_done() {
        let clients = Clients::default();
        let (mailbox, reader) = Mailbox::new(10);
        clients.joined(1, mailbox.clone(), at(0));
        assert_eq!(clients.next_step(QUIET, at(100)), NextStep::In(at(9_900)), "it may subscribe yet");
        clients.subscribed(at(100));
        assert_eq!(clients.next_step(QUIET, at(100)), NextStep::Due);
        let flow = Flow { is_unconfirmed: true, ..Flow::default() };
        assert!(!reader.report(flow).is_awaited);
        assert_eq!(clients.next_step(QUIET, at(200)), NextStep::Waits);
        assert!(reader.report(flow).ping, "the answer to a ping shows that the pushes were read");
        assert!(reader.report(Flow { is_busy: true, ..Flow::default() }).is_awaited);
        assert_eq!(clients.next_step(QUIET, at(300)), NextStep::Waits);
        assert!(reader.report(Flow::default()).is_awaited);
        assert_eq!(clients.next_step(QUIET, at(300)), NextStep::Due);
        drop(reader);
        assert_eq!(clients.next_step(QUIET, at(300)), NextStep::Due, "a closed connection holds nothing");
    }

    #[test]
    fn a_request_within_the_quiet_time_after_a_step_is_late() {
        let clients = Clients::default();
        clients.requested(at(0));
        assert_eq!(clients.late(), 0, "there was no step");
        clients.stepped(at(100), QUIET);
        clients.requested(at(101));
        clients.next_step(QUIET, at(102));
        clients.requested(at(149));
        assert_eq!(clients.late(), 2, "also after its pushes were read");
        clients.requested(at(150));
        assert_eq!(clients.late(), 2, "the quiet time is over");
    }

    #[test]
    fn the_last_connection_is_lost_once() {
        let clients = Clients::default();
        let ((one, _r1), (two, _r2)) = (Mailbox::new(1), Mailbox::new(1));
        assert!(!clients.left(1) && !clients.is_lost());
        clients.joined(1, one, at(0));
        clients.joined(2, two.clone(), at(3_000));
        assert_eq!(clients.ready_in(at(4_000)), Some(at(6_000)), "counted from the first sign-in");
        assert!(!clients.left(1) && !clients.is_lost());
        assert!(clients.left(2) && clients.is_lost());
        assert!(!clients.left(2));
        assert_eq!(clients.ready_in(at(5_000)), None);
        clients.joined(3, two, at(5_000));
        clients.subscribed(at(5_500));
        assert_eq!(clients.ready_in(at(5_500)), Some(Duration::ZERO));
        clients.started();
        assert!(!clients.is_lost());
    }
}
