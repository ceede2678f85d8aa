//! Quote subscriptions of this server's connections, and the pushes they get.
//!
//! `subscriptions.rs` holds the subscriptions, and `request.rs` answers commands 5, 6 and 7.
//! `replay.rs` computes the pushes of a set clock, `arrivals.rs` those of ingested rows, and
//! `stream.rs` sends pushes as server-sent events.
//!
//! Two locks: the publisher's, held while pushes are computed and queued and while a connection
//! subscribes, so that a new subscriber gets every push after its first one; and that of the
//! subscriptions, held for microseconds.

mod arrivals;
mod replay;
mod request;
mod stream;
mod subscriptions;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use feed::ConnectionId;
use tokio::sync::Notify;

use replay::Publisher;
pub(crate) use replay::{PublishError, publish};
pub(crate) use request::{Pull, SubscriptionRequest, answer, is_subscription};
pub(crate) use stream::{EventStream, StreamCredentials, StreamHandle, open};
use subscriptions::Subscriptions;
pub(crate) use subscriptions::{STREAMS_MAX, Subscribed};

#[derive(Debug, Default)]
pub(crate) struct Live {
    subscriptions: Mutex<Subscriptions>,
    publisher: Mutex<Publisher>,
    sooner: Arc<Notify>,
    /// Number of streams opened so far.
    streams: AtomicU64,
}

impl Live {
    /// Returns the notifier that publishes immediately.
    pub(crate) fn sooner(&self) -> &Arc<Notify> {
        &self.sooner
    }

    /// Ends all subscriptions of a closed connection.
    pub(crate) fn leave(&self, connection: access::ConnectionId, uptime: Duration) {
        self.subscriptions().leave(ConnectionId(connection.number()), uptime);
    }

    /// Returns the subscriptions of a connection, and what was left out of its requests.
    pub(crate) fn of_connection(&self, connection: access::ConnectionId) -> Subscribed {
        self.subscriptions().of_connection(ConnectionId(connection.number()))
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publisher(&self) -> MutexGuard<'_, Publisher> {
        self.publisher.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
