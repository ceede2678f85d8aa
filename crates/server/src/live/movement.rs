//! One movement of a clock, which limits the number of pushes per connection and may wait for slow
//! clients.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use feed::{ConnectionId, SubType};

use super::subscriptions::Sent;
use crate::mailbox::Wakeups;

/// Interval between checks of a slow client's queue.
const SLOW_PAUSE: Duration = Duration::from_millis(1);
/// Number of queued pushes at which the connections are woken before all pushes are queued.
const UNWOKEN_MAX: usize = 16_384;
/// Number of queued pushes at which a single connection is woken. A connection is not considered
/// slow before it was woken.
const UNWOKEN_EACH_MAX: usize = 64;

/// Whether a movement of the clock waits for clients that read slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlowReaders {
    /// The movement waits while it queues pushes, for at most this time.
    AwaitedFor(Duration),
    /// The movement does not wait, because one client must not delay others. A running world moves
    /// only after its clients have read the previous pushes.
    NotAwaited,
}

impl SlowReaders {
    /// For the server's clock when a request moves it.
    pub(crate) const OF_SERVER: SlowReaders = SlowReaders::AwaitedFor(Duration::from_secs(5));
    /// For a step of a world that a request starts.
    pub(crate) const OF_STEP: SlowReaders = SlowReaders::AwaitedFor(Duration::from_secs(30));
}

/// One movement of a clock: the pushes sent so far, and the time spent waiting for slow clients.
pub(crate) struct Movement {
    slow: SlowReaders,
    /// Maximum number of pushes to a connection.
    jump_max: usize,
    began: Instant,
    /// Number of pushes for each connection, including pushes above the maximum.
    sent: HashMap<ConnectionId, usize>,
    /// Number of additional states and first pushes of each connection.
    states: HashMap<ConnectionId, usize>,
    pub(crate) quotes: usize,
    pub(crate) trades: usize,
    /// Connections with queued pushes, and the number of pushes since they were woken.
    pub(crate) wakeups: Wakeups,
    unwoken: usize,
}

impl Movement {
    pub(crate) fn new(slow: SlowReaders, jump_max: usize) -> Movement {
        let (sent, states, wakeups, began) =
            (HashMap::new(), HashMap::new(), Wakeups::default(), Instant::now());
        Movement { slow, jump_max, began, sent, states, quotes: 0, trades: 0, wakeups, unwoken: 0 }
    }

    /// Counts a push for a connection. Returns whether the push is within the maximum.
    pub(crate) fn may_get(&mut self, connection: ConnectionId) -> bool {
        let sent = self.sent.entry(connection).or_default();
        *sent += 1;
        *sent <= self.jump_max
    }

    /// Counts the state of a security that only this connection receives.
    pub(crate) fn count_state(&mut self, connection: ConnectionId) {
        *self.states.entry(connection).or_default() += 1;
        self.quotes += 1;
    }

    /// Returns the number of pushes that a connection got.
    pub(crate) fn of_connection(&self, connection: ConnectionId) -> usize {
        let of = |counts: &HashMap<ConnectionId, usize>| counts.get(&connection).copied().unwrap_or(0);
        of(&self.sent).min(self.jump_max) + of(&self.states)
    }

    /// Returns the connections that exceeded the maximum.
    pub(crate) fn jumped(&self) -> impl Iterator<Item = ConnectionId> {
        self.sent.iter().filter(|(_, sent)| **sent > self.jump_max).map(|(connection, _)| *connection)
    }

    pub(crate) fn count(&mut self, kind: SubType, sent: &Sent) {
        match kind {
            SubType::Trades => self.trades += sent.count,
            _ => self.quotes += sent.count,
        }
        self.unwoken += sent.count;
        if self.unwoken >= UNWOKEN_MAX || sent.longest_queue >= UNWOKEN_EACH_MAX {
            self.wake();
        }
    }

    /// Wakes the connections that have queued pushes.
    fn wake(&mut self) {
        self.wakeups.wake();
        self.unwoken = 0;
    }

    /// Waits until a client has read most of its queue, if the clock waits for slow clients.
    pub(crate) fn wait(&mut self, is_ready: impl Fn() -> bool) {
        self.wake();
        let SlowReaders::AwaitedFor(slow_max) = self.slow else { return };
        while self.began.elapsed() < slow_max && !is_ready() {
            sleep(SLOW_PAUSE);
        }
    }
}
