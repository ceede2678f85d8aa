//! Quote subscriptions of this server's connections, and their pushes.
//!
//! `subscriptions.rs` stores the subscriptions, and `request.rs` implements commands 5, 6 and 7.
//! `replay.rs` publishes: under a set clock, pushes of stored candles (`stored.rs`); under the
//! machine clock, pushes of ingested rows (`arrivals.rs`) and of scheduled changes (`schedule.rs`).
//! `missed.rs` recomputes the pushes that a client has missed, and `stream.rs` sends pushes as
//! server-sent events. Each world has separate subscriptions and a separate publisher, which follow
//! its clock ([`Channel`]).
//!
//! There are two locks. The publisher's lock is held while pushes are computed and queued and while
//! a connection subscribes, so that a new subscriber receives every push after its first one. The
//! lock of the subscriptions is held for microseconds.

mod arrivals;
mod missed;
mod movement;
mod replay;
mod request;
mod schedule;
mod stored;
mod stream;
mod subscriptions;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use access::AccountId;
use feed::ConnectionId;
use history::{AsOf, Quote, SessionQuote};
use market::{Session, Symbol, Timestamp};
use tokio::sync::Notify;
use world::State;

use crate::caller::Caller;
use crate::core::Core;
use crate::mailbox::{Kick, Mailbox};
use crate::market_clock::ClockSpeed;
use crate::metrics::PushLoad;
use crate::refusal::Refusal;
use crate::worlds::World;
pub(crate) use movement::SlowReaders;
use replay::Publisher;
pub(crate) use replay::{PublishError, publish, publish_step, published_until};
pub(crate) use request::{SubscriptionRequest, answer, is_subscription};
pub(crate) use stream::{EventStream, StreamCredentials, StreamHandle, open};
use subscriptions::Subscriptions;
pub(crate) use subscriptions::{Pull, STREAMS_MAX, StreamInfo, Subscribed};

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

    /// Returns the subscriptions and the queued pushes of all worlds.
    pub(crate) fn load(&self) -> PushLoad {
        self.all().iter().map(|live| live.load()).fold(PushLoad::default(), PushLoad::and)
    }

    /// Wakes the streams of a world after its clock was started or stopped.
    pub(crate) fn wake_streams(&self, account: AccountId) {
        if let Some(live) = self.known(account) {
            live.subscriptions().wake_streams();
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
    /// Returns the notifier that publishes immediately.
    pub(crate) fn sooner(&self) -> &Arc<Notify> {
        &self.sooner
    }

    /// Ends all subscriptions of a closed connection.
    pub(crate) fn leave(&self, connection: access::ConnectionId, uptime: Duration) {
        self.subscriptions().leave(ConnectionId(connection.number()), uptime);
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

    /// Returns the subscriptions and the queued pushes.
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

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publisher(&self) -> MutexGuard<'_, Publisher> {
        self.publisher.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A clock with its subscriptions and its publisher. Everything that does not depend on the clock
/// is in the core.
#[derive(Debug)]
struct Channel<'a> {
    core: &'a Core,
    live: &'a Live,
    /// `None` for the server's clock.
    world: Option<Arc<World>>,
    slow: SlowReaders,
    /// The connection that moves the clock. Its pushes are counted.
    mover: Option<ConnectionId>,
    /// The instant to which the clock of a world is moving, while it still shows an earlier one.
    moves_to: Option<Timestamp>,
}

impl Deref for Channel<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.core
    }
}

impl<'a> Channel<'a> {
    fn of_server(core: &'a Core) -> Channel<'a> {
        let slow = match core.market_clock().pace() {
            ClockSpeed::Standing => SlowReaders::OF_SERVER,
            ClockSpeed::Machine | ClockSpeed::Running { .. } => SlowReaders::NotAwaited,
        };
        Channel { core, live: &core.live, world: None, slow, mover: None, moves_to: None }
    }

    fn of_world(core: &'a Core, live: &'a Live, world: &Arc<World>, slow: SlowReaders) -> Channel<'a> {
        Channel { core, live, world: Some(world.clone()), slow, mover: None, moves_to: None }
    }

    /// Returns the current time of the clock.
    fn as_of(&self) -> AsOf {
        match &self.world {
            Some(world) => AsOf::Replay(self.moves_to.unwrap_or_else(|| world.now(self.core.uptime()))),
            None => self.core.market_now(),
        }
    }

    /// Returns how the clock moves. The clock of a world is stopped between its movements.
    fn pace(&self) -> ClockSpeed {
        match self.world {
            Some(_) => ClockSpeed::Standing,
            None => self.core.market_clock().pace(),
        }
    }

    fn world(&self) -> Option<&World> {
        self.world.as_deref()
    }
}

/// Calls `work` with the channel of the caller's account.
fn with_channel<T>(
    core: &Core,
    caller: &Caller,
    work: impl FnOnce(&Channel<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    if !caller.who.is_of_world() {
        return work(&Channel::of_server(core));
    }
    let world = core.worlds.of(&core.access.database(), caller.who.account())?;
    let live = core.world_lives.of(world.account);
    let slow = match world.standing().state {
        State::Running => SlowReaders::NotAwaited,
        State::Created | State::Paused | State::Ended => SlowReaders::OF_STEP,
    };
    // The clock does not move during `work`, so the first pushes precede those of the next
    // movement.
    let _operation = world.begin_operation();
    work(&Channel::of_world(core, &live, &world, slow))
}
