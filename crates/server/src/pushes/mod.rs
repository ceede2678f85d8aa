//! Publishes quotes to the subscriptions of `live/`.
//!
//! `request.rs` answers commands 5, 6 and 7. `replay.rs` publishes: under a set clock, the pushes
//! of stored candles; under the machine clock, the pushes of ingested rows and of scheduled
//! changes. `alerts.rs` compares price alerts with the same quotes. `stream.rs` sends pushes as
//! server-sent events. The publisher of a world follows the clock of the world ([`Channel`]).

mod alerts;
mod replay;
mod request;
mod stream;

use std::ops::Deref;
use std::sync::Arc;

use feed::ConnectionId;
use history::AsOf;
use market::Timestamp;
use world::State;

use crate::caller::Caller;
use crate::core::Core;
use crate::live::{Live, SlowReaders};
use crate::market_clock::ClockSpeed;
use crate::refusal::Refusal;
use crate::worlds::World;
pub(crate) use alerts::{AlertError, compare_alerts, compare_alerts_of_world};
pub(crate) use replay::{PublishError, prepare, publish, publish_step, published_until};
pub(crate) use request::{SubscriptionRequest, answer, is_subscription};
pub(crate) use stream::{EventStream, StreamCredentials, StreamHandle, open};

/// A clock with its subscriptions and its publisher. The core contains everything that does not
/// depend on the clock.
#[derive(Debug)]
struct Channel<'a> {
    core: &'a Core,
    live: &'a Live,
    /// The world whose clock this is; `None` for the server's clock.
    world: Option<Arc<World>>,
    slow: SlowReaders,
    /// The connection that requested the movement of the clock. The pushes to this connection are
    /// counted.
    mover: Option<ConnectionId>,
    /// The instant to which the clock of a world is moving, while the clock still shows an earlier
    /// instant.
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

    /// Returns how the clock moves. The clock of a world is stopped between movements.
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
    // The clock does not move during `work`, so the first pushes precede the pushes of the next
    // movement.
    let _operation = world.begin_operation();
    work(&Channel::of_world(core, &live, &world, slow))
}
