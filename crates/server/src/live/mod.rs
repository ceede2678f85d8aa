//! Quote subscriptions of this server's connections, and the state of their publishers. `pushes/`
//! publishes.
//!
//! `subscriptions.rs` holds the subscriptions, and `publisher.rs` the state of a publisher. The
//! pushes of a set clock are computed from stored candles (`stored.rs`). The pushes of the machine
//! clock are computed from ingested rows (`arrivals.rs`) and from scheduled changes
//! (`schedule.rs`). `missed.rs` recomputes pushes that a client has missed. Each world has its own
//! subscriptions and publisher ([`WorldLives`]).
//!
//! There are two locks. The publisher's lock is held while pushes are computed and queued and while
//! a connection subscribes, so that a new subscriber receives every push after its first push. The
//! lock of the subscriptions is held only for microseconds.

mod arrivals;
mod missed;
mod movement;
mod publisher;
mod schedule;
mod stored;
mod subscriptions;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use access::{AccountId, Lineage, MissedTrades};
use feed::ConnectionId;
use history::{Quote, SessionQuote};
use market::{Session, Symbol};
use tokio::sync::Notify;

use crate::mailbox::{Kick, Mailbox};
use crate::metrics::PushLoad;
pub(crate) use arrivals::Arrivals;
pub(crate) use missed::Missed;
pub(crate) use movement::{Movement, SlowReaders};
pub(crate) use publisher::{Ahead, Latest, Publisher};
pub(crate) use schedule::{Change, Scheduled, scheduled};
pub(crate) use stored::{Stored, is_by_day, last_quote, next_trade};
pub(crate) use subscriptions::{
    LeftOut, NO_RIGHT, Pending, Pull, Recipient, STREAMS_MAX, StreamInfo, Subscribed, Subscriptions, Wanted,
    stream_id,
};

#[derive(Debug, Default)]
pub(crate) struct Live {
    subscriptions: Mutex<Subscriptions>,
    publisher: Mutex<Publisher>,
    sooner: Arc<Notify>,
    /// Number of streams opened so far.
    streams: AtomicU64,
}

/// The subscriptions of worlds, by account.
#[derive(Debug, Default)]
pub(crate) struct WorldLives(Mutex<HashMap<AccountId, Arc<Live>>>);

impl WorldLives {
    /// Returns the subscriptions of a world.
    pub(crate) fn of(&self, account: AccountId) -> Arc<Live> {
        self.lock().entry(account).or_default().clone()
    }

    /// Returns the subscriptions of a world, or `None` if the account has no world or no connection
    /// has subscribed yet.
    pub(crate) fn known(&self, account: AccountId) -> Option<Arc<Live>> {
        self.lock().get(&account).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.lock().values().cloned().collect()
    }

    /// Returns the number of subscriptions and queued pushes of all worlds.
    pub(crate) fn load(&self) -> PushLoad {
        self.all().iter().map(|live| live.load()).fold(PushLoad::default(), PushLoad::and)
    }

    /// Wakes the streams of a world after its clock was started or stopped.
    pub(crate) fn wake_streams(&self, account: AccountId) {
        if let Some(live) = self.known(account) {
            live.wake_streams();
        }
    }

    /// Removes the subscriptions of a world that was deleted or reset, and ends its streams.
    pub(crate) fn forget(&self, account: AccountId, kick: Kick) {
        // A separate statement, so that the lock is released before the streams are closed.
        let live = self.lock().remove(&account);
        if let Some(live) = live {
            live.subscriptions().close_streams(kick);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, Arc<Live>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Returns the notifier that makes the job publish immediately.
    pub(crate) fn sooner(&self) -> &Arc<Notify> {
        &self.sooner
    }

    /// Returns the number for a new stream.
    pub(crate) fn number_stream(&self) -> u64 {
        self.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// Wakes all streams.
    pub(crate) fn wake_streams(&self) {
        self.subscriptions().wake_streams();
    }

    /// Ends all subscriptions of a closed connection. Returns the trades that the client did
    /// not receive.
    pub(crate) fn leave(
        &self,
        connection: access::ConnectionId,
        lineage: Lineage,
        uptime: Duration,
    ) -> MissedTrades {
        self.subscriptions().leave(ConnectionId(connection.number()), Some(lineage), uptime)
    }

    /// Returns the subscriptions of a connection, and the symbols that were left out of its
    /// requests.
    pub(crate) fn of_connection(&self, connection: access::ConnectionId) -> Subscribed {
        self.subscriptions().of_connection(ConnectionId(connection.number()))
    }

    /// Returns the streams of an account, or of all accounts, with their subscriptions.
    pub(crate) fn list_streams(&self, of: Option<access::AccountId>) -> Vec<(StreamInfo, Subscribed)> {
        self.subscriptions().list_streams(of)
    }

    /// Returns the number of subscriptions and queued pushes.
    pub(crate) fn load(&self) -> PushLoad {
        let subscriptions = self.subscriptions();
        let (mut load, mailboxes) = (subscriptions.load(), subscriptions.mailboxes());
        drop(subscriptions);
        for waiting in mailboxes.iter().map(Mailbox::quotes_waiting) {
            load.waiting += waiting;
            load.longest = load.longest.max(waiting);
        }
        load
    }

    /// Returns the securities that any connection subscribes to.
    pub(crate) fn symbols(&self) -> Vec<Symbol> {
        self.subscriptions().registry.symbols().cloned().collect()
    }

    /// Sets the times of a quote to those of the last pushes with the same figures, under the
    /// machine clock. Candles do not store the second of their last price.
    pub(crate) fn set_times(&self, quote: &mut Quote) {
        let subscriptions = self.subscriptions();
        let Quote { symbol, regular, pre, post, overnight, .. } = quote;
        let regular = Some((Session::Intraday, &mut *regular));
        let others = [(Session::Pre, pre), (Session::Post, post), (Session::Overnight, overnight)];
        let others = others.into_iter().filter_map(|(session, quote)| Some((session, quote.as_mut()?)));
        for (session, SessionQuote { state, .. }) in regular.into_iter().chain(others) {
            if let Some(time) = subscriptions.last_time(symbol, session, (state.day, state.figures)) {
                state.time = time;
            }
        }
    }

    pub(crate) fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publisher(&self) -> MutexGuard<'_, Publisher> {
        self.publisher.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
