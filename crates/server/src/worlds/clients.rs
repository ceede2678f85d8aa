//! The clients of a world: open connections and streams on this server, the number of connections to
//! other nodes, and pending requests. They decide when a moving clock waits, and when the clock is
//! paused and resumed automatically.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::mailbox::{Kick, Mailbox, Need};

/// Time from the first connection's sign-in until the connections count as ready even without a
/// subscription.
const READY_AFTER: Duration = Duration::from_secs(10);

/// Interval between checks of the connections that a step waits for, because a connection that the
/// server closes does not report its flow.
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
    /// Number of connections and streams on other nodes, counted about once a second while the
    /// clock moves.
    elsewhere: u32,
    /// Whether the last connection was closed since the clock was started.
    is_lost: bool,
    /// Uptime at which the connections count as ready; `None` without connections.
    ready_at: Option<Duration>,
    /// Number of pending HTTP requests.
    in_work: u32,
    /// Uptime of the last request.
    requested_at: Option<Duration>,
    step: Option<AutoStep>,
    late: u64,
}

/// The last step of a world that steps automatically.
#[derive(Clone, Copy, Debug)]
struct AutoStep {
    at: Duration,
    quiet: Duration,
    /// Uptime at which the clients had read all pushes of the step.
    answered_at: Option<Duration>,
}

/// Time of the next step of a world that steps automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    Due,
    /// The step is due after this time, unless a client reports its flow or sends a request
    /// earlier.
    In(Duration),
    /// The step waits until a client reports its flow or completes a request.
    Waits,
}

impl Clients {
    pub(crate) fn joined(&self, connection: u64, mailbox: Mailbox, uptime: Duration) {
        mailbox.keep_all();
        let mut state = self.lock();
        if !state.has_connections() {
            state.ready_at = Some(uptime + READY_AFTER);
        }
        state.connections.insert(connection, mailbox);
        state.requested(uptime);
    }

    /// Records that a connection has subscribed to quotes or order events, so that the connections
    /// count as ready.
    pub(crate) fn subscribed(&self, uptime: Duration) {
        let mut state = self.lock();
        state.ready_at = state.ready_at.map(|ready_at| ready_at.min(uptime));
    }

    /// Records that a connection was closed. Returns whether it was the last one.
    pub(crate) fn left(&self, connection: u64) -> bool {
        let mut state = self.lock();
        let is_last = state.connections.remove(&connection).is_some() && !state.has_connections();
        if is_last {
            state.lose();
        }
        drop(state);
        self.reported.notify_all();
        is_last
    }

    /// Records the number of connections and streams on other nodes. Returns whether the last connection was
    /// closed, or the first one was opened.
    pub(crate) fn counted_elsewhere(&self, count: u32, uptime: Duration) -> bool {
        let mut state = self.lock();
        let before = state.has_connections();
        state.elsewhere = count;
        let after = state.has_connections();
        match (before, after) {
            (true, false) => state.lose(),
            // Other nodes do not report subscriptions.
            (false, true) => state.ready_at = Some(uptime + READY_AFTER),
            (true, true) | (false, false) => {}
        }
        before != after
    }

    /// Records a request on a connection.
    pub(crate) fn requested(&self, uptime: Duration) {
        self.lock().requested(uptime);
    }

    /// Clears the lost connection and the last automatic step, because the clock was started.
    /// Connections to other nodes are counted again.
    pub(crate) fn started(&self) {
        let mut state = self.lock();
        (state.is_lost, state.step, state.elsewhere) = (false, None, 0);
    }

    /// Returns whether the last connection was closed since the clock was started.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    /// Returns the time until the connections count as ready, or `None` if the world has no
    /// connections.
    pub(crate) fn ready_in(&self, uptime: Duration) -> Option<Duration> {
        self.lock().ready_at.map(|ready_at| ready_at.saturating_sub(uptime))
    }

    /// Returns whether all connections meet the condition. The other connections will report their
    /// next change.
    pub(crate) fn are_ready(&self, need: Need) -> bool {
        self.lock().are_ready(need)
    }

    /// Waits until all pushes are in the sockets of the connections, for at most this time.
    pub(crate) fn wait_until_written(&self, limit: Duration) {
        let began = Instant::now();
        let mut state = self.lock();
        while !state.are_ready(Need::InSocket) {
            let Some(left) = limit.checked_sub(began.elapsed()) else { return };
            let waited = self.reported.wait_timeout(state, left.min(LOOK_EVERY));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes all connections and streams.
    pub(crate) fn close(&self, kick: Kick) {
        self.lock().connections.values().for_each(|mailbox| mailbox.close(kick));
    }

    /// Wakes waiting steps after a connection has reported its flow.
    pub(crate) fn reported(&self) {
        // A waiting step holds this lock while it checks the connections, so it does not miss a
        // report.
        drop(self.lock());
        self.reported.notify_all();
    }

    /// Returns when a world that steps automatically takes its next step: `quiet` after the last
    /// request, but not earlier than `quiet` after the clients have read the pushes of the last
    /// step. The first step waits for the first request.
    pub(crate) fn next_step(&self, quiet: Duration, uptime: Duration) -> NextStep {
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

    /// Records a step of a world that steps automatically.
    pub(crate) fn stepped(&self, at: Duration, quiet: Duration) {
        self.lock().step = Some(AutoStep { at, quiet, answered_at: None });
    }

    /// Returns the number of requests within the quiet time after a step.
    pub(crate) fn late(&self) -> u64 {
        self.lock().late
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_connections(&self) -> bool {
        !self.connections.is_empty() || self.elsewhere > 0
    }

    /// Records that the last connection was closed.
    fn lose(&mut self) {
        self.is_lost = true;
        self.ready_at = None;
    }

    fn are_ready(&self, need: Need) -> bool {
        // Checks all connections, so that each connection that does not meet the condition reports
        // its next change.
        let waiting = self.connections.values().filter(|mailbox| !mailbox.is_ready(need)).count();
        waiting == 0
    }

    /// Counts a request shortly after a step as late, because it may have been intended for the
    /// time before the step. The server cannot detect whether it was a quick reaction to this step
    /// instead.
    fn requested(&mut self, uptime: Duration) {
        self.requested_at = Some(uptime);
        if self.step.is_some_and(|AutoStep { at, quiet, .. }| uptime < at + quiet) {
            self.late += 1;
        }
    }
}

/// A pending HTTP request with the API key of a world.
#[derive(Debug)]
pub(crate) struct WorldRequest {
    clients: Arc<Clients>,
    moving: Arc<Notify>,
}

impl WorldRequest {
    pub(crate) fn begin(clients: Arc<Clients>, moving: Arc<Notify>, uptime: Duration) -> WorldRequest {
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
    fn a_step_waits_for_the_first_request_and_the_quiet_time() {
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
    fn a_step_waits_until_the_last_pushes_are_read_and_no_request_is_pending() {
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
    fn requests_within_the_quiet_time_are_counted() {
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
    fn only_the_close_of_the_last_connection_counts_as_lost() {
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

    #[test]
    fn connections_to_other_nodes_count_as_connections() {
        let clients = Clients::default();
        assert!(!clients.counted_elsewhere(0, at(0)) && !clients.is_lost());
        assert!(clients.counted_elsewhere(2, at(1_000)), "the first one was opened");
        assert_eq!(clients.ready_in(at(2_000)), Some(at(9_000)), "their subscriptions are unknown");
        let (one, _r1) = Mailbox::new(1);
        clients.joined(1, one, at(2_000));
        assert!(!clients.left(1) && !clients.is_lost());
        assert!(!clients.counted_elsewhere(1, at(3_000)));
        assert!(clients.counted_elsewhere(0, at(4_000)) && clients.is_lost());
        assert_eq!(clients.ready_in(at(4_000)), None);
        // The start of the clock clears the count.
        clients.counted_elsewhere(1, at(5_000));
        clients.started();
        assert!(!clients.counted_elsewhere(0, at(6_000)) && !clients.is_lost());
    }
}
