//! The mailbox of a signed-in connection: what others want pushed to its client, and their wish to have it closed. Whoever has a
//! handle puts something in, from any thread and without waiting; the connection's task takes it out as fast as its client reads.
//!
//! The rule for a client that reads too slowly: a push with a coalescing key takes the place of the one with the same key that still
//! waits, as a newer quote does with an older one. A push without a key is never dropped. What does not fit closes the
//! connection: the client comes back and asks for what it missed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;

/// Pushes that wait at most: the latest of everything that a client may subscribe to, and as many again that have no key.
const PUSHES_MAX: usize = 4_096;
/// What their bodies may hold together: 256 bytes each, more than a quote or the change of an order has.
const BYTES_MAX: usize = 1 << 20;
/// An account may subscribe to 500 securities, and to four things of each: quote, depth, brokers, trades.
const SUBSCRIBED_MAX: usize = 500 * 4;
const _: () = assert!(PUSHES_MAX >= 2 * SUBSCRIBED_MAX);
const _: () = assert!(BYTES_MAX / PUSHES_MAX >= 256);

/// Someone else's wish to close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kick {
    /// The client has come back on another connection.
    Superseded,
    /// Another connection needs the seat, and this one has not answered its ping.
    Silent,
    Closed(ClosedBy),
    /// The client reads more slowly than is pushed to it.
    TooSlow,
}

/// Who has asked for a connection to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    Owner,
    Operator,
}

/// What is sent to a client without its asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Push {
    pub(crate) command: u8,
    /// Shared by all connections that it goes to.
    pub(crate) body: Bytes,
    key: Option<CoalescingKey>,
}

/// Names the thing whose latest state is pushed, on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CoalescingKey(pub(crate) u64);

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "nothing is pushed yet: subscriptions and changes of orders will be")
)]
impl Push {
    /// One that the client must not miss.
    pub(crate) fn lasting(command: u8, body: Bytes) -> Push {
        Push { command, body, key: None }
    }

    /// The latest state of something, which makes those before it worthless.
    pub(crate) fn latest(key: CoalescingKey, command: u8, body: Bytes) -> Push {
        Push { command, body, key: Some(key) }
    }
}

/// Why a push will not reach its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PushError {
    #[error("the connection has ended")]
    Gone,
    #[error("the client reads too slowly, and its connection is closed")]
    TooSlow,
}

/// The senders' end.
#[derive(Clone, Debug)]
pub(crate) struct Mailbox(Arc<Mutex<State>>);

/// The connection's end. Dropping it tells the senders that the connection is gone.
#[derive(Debug)]
pub(crate) struct MailboxReader(Arc<Mutex<State>>);

/// What a connection finds in its mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mail {
    Nothing,
    /// So many bytes of pushes.
    Pushes {
        bytes: usize,
    },
    Kick(Kick),
}

#[derive(Debug, Default)]
struct State {
    /// Made for the first push and dropped with the last one: most connections have none most of the time.
    queue: Option<Box<Queue>>,
    kick: Option<Kick>,
    /// Takes no more pushes.
    is_shut: bool,
    /// Of the connection's task, if it has looked and not been woken since.
    waker: Option<Waker>,
}

#[derive(Debug, Default)]
struct Queue {
    pushes: VecDeque<Push>,
    bytes: usize,
    /// How many have left, so that a place stays true when others leave.
    left: usize,
    /// Where the push with a key stands, counted from the first that ever was in this queue.
    places: HashMap<CoalescingKey, usize>,
}

/// There is no room for a push.
struct Full;

impl Mailbox {
    pub(crate) fn new() -> (Mailbox, MailboxReader) {
        let state = Arc::<Mutex<State>>::default();
        (Mailbox(state.clone()), MailboxReader(state))
    }

    /// Has something pushed to the client, behind what waits already. `Ok` means that it will be, unless the client leaves or the
    /// connection is closed before.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "nothing is pushed yet: subscriptions and changes of orders will be")
    )]
    pub(crate) fn put(&self, push: Push) -> Result<(), PushError> {
        let mut state = lock(&self.0);
        if state.is_shut || state.kick.is_some() {
            return Err(PushError::Gone);
        }
        let put = state.queue.get_or_insert_default().put(push);
        if let Err(Full) = put {
            close(state, Kick::TooSlow);
            return Err(PushError::TooSlow);
        }
        wake(state);
        Ok(())
    }

    /// Has the connection closed. The first wish counts.
    pub(crate) fn close(&self, kick: Kick) {
        let state = lock(&self.0);
        if state.kick.is_none() {
            close(state, kick);
        }
    }
}

impl MailboxReader {
    /// What there is now. The task of `cx` is woken when there is something else.
    pub(crate) fn look(&self, cx: &Context<'_>) -> Mail {
        let mut state = lock(&self.0);
        if let Some(kick) = state.kick {
            return Mail::Kick(kick);
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.waker = Some(cx.waker().clone());
        }
        match &state.queue {
            Some(queue) => Mail::Pushes { bytes: queue.bytes },
            None => Mail::Nothing,
        }
    }

    /// The push that has waited longest.
    pub(crate) fn take(&self) -> Option<Push> {
        let mut state = lock(&self.0);
        let queue = state.queue.as_mut()?;
        let push = queue.take();
        if queue.pushes.is_empty() {
            state.queue = None;
        }
        push
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).queue.is_none()
    }

    /// Takes no more pushes, and tells their senders so; those that wait can still be taken.
    pub(crate) fn shut(&self) {
        lock(&self.0).is_shut = true;
    }
}

impl Drop for MailboxReader {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.is_shut = true;
        state.queue = None;
        state.waker = None;
    }
}

impl Queue {
    fn put(&mut self, push: Push) -> Result<(), Full> {
        let place = push.key.and_then(|key| self.places.get(&key)).map(|place| place - self.left);
        let replaced = place.and_then(|at| self.pushes.get(at)).map_or(0, |replaced| replaced.body.len());
        let bytes = self.bytes - replaced + push.body.len();
        let others = self.pushes.len() - usize::from(place.is_some());
        // One alone always fits: it is no sign of a slow reader.
        if others > 0 && (others >= PUSHES_MAX || bytes > BYTES_MAX) {
            return Err(Full);
        }
        self.bytes = bytes;
        if let Some(waiting) = place.and_then(|at| self.pushes.get_mut(at)) {
            *waiting = push;
            return Ok(());
        }
        if let Some(key) = push.key {
            self.places.insert(key, self.left + self.pushes.len());
        }
        self.pushes.push_back(push);
        Ok(())
    }

    fn take(&mut self) -> Option<Push> {
        let push = self.pushes.pop_front()?;
        self.left += 1;
        self.bytes -= push.body.len();
        if let Some(key) = push.key {
            self.places.remove(&key);
        }
        Some(push)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What waits is not sent any more, and takes no room until the connection has ended.
fn close(mut state: MutexGuard<'_, State>, kick: Kick) {
    state.kick = Some(kick);
    state.queue = None;
    wake(state);
}

/// Not while the lock is held, which the task wants next.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
#[path = "mailbox_tests.rs"]
mod tests;
