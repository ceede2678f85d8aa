//! Counters of live pushes. A push to several clients counts once for each.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use feed::SubType;

use super::Histogram;

#[derive(Debug, Default)]
pub(crate) struct PushMetrics {
    pub(crate) quotes: AtomicU64,
    pub(crate) trades: AtomicU64,
    pub(crate) unreachable: AtomicU64,
    pub(crate) slow_readers: AtomicU64,
    pub(crate) lag: Histogram,
}

/// Numbers of subscriptions and queued pushes of this server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PushLoad {
    /// Number of connections with subscriptions.
    pub(crate) connections: usize,
    /// Number of streams of server-sent events.
    pub(crate) streams: usize,
    /// Number of subscribed securities.
    pub(crate) securities: usize,
    /// Number of queued quotes and trades of all connections and streams.
    pub(crate) waiting: usize,
    /// Length of the longest of these queues.
    pub(crate) longest: usize,
}

impl PushLoad {
    /// Returns the numbers for the subscriptions under two clocks together.
    pub(crate) fn and(self, other: PushLoad) -> PushLoad {
        PushLoad {
            connections: self.connections + other.connections,
            streams: self.streams + other.streams,
            securities: self.securities + other.securities,
            waiting: self.waiting + other.waiting,
            longest: self.longest.max(other.longest),
        }
    }
}

impl PushMetrics {
    /// Counts a push that was queued for `recipients` connections.
    pub(crate) fn queued(&self, kind: SubType, recipients: usize) {
        let counter = if kind == SubType::Trades { &self.trades } else { &self.quotes };
        counter.fetch_add(u64::try_from(recipients).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts a minute that clients cannot build from its trades.
    pub(crate) fn unreachable(&self) {
        self.unreachable.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of minutes that clients could not build from their trades.
    #[cfg(test)]
    pub(crate) fn unreachable_minutes(&self) -> u64 {
        self.unreachable.load(Ordering::Relaxed)
    }

    /// Returns the number of clients whose connection or stream was closed because they read too
    /// slowly.
    #[cfg(test)]
    pub(crate) fn slow_readers_closed(&self) -> u64 {
        self.slow_readers.load(Ordering::Relaxed)
    }

    /// Returns the number of batches whose lag was recorded.
    #[cfg(test)]
    pub(crate) fn lags(&self) -> u64 {
        self.lag.read().0.iter().sum()
    }

    /// Counts a connection or stream that was closed because its client reads too slowly.
    pub(crate) fn closed_slow_reader(&self) {
        self.slow_readers.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the time from the commit of a batch until its pushes are queued.
    pub(crate) fn lagged(&self, lag: Duration) {
        self.lag.observe(lag);
    }
}
