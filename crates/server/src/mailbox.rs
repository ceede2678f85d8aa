//! The mailbox of a signed-in connection: a queue of pushes to the client, and requests to close
//! the connection. Any thread can put an item without blocking; the connection's task takes items
//! as fast as the client reads.
//!
//! No push is dropped. If the client reads too slowly and the mailbox is full, the connection is
//! closed; the client then reconnects and requests the data that it missed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;
use feed::{EncodedPush, Outgoing, PushQueue, SubType};
use market::Symbol;
use wire::quote::Command;

use crate::quote_push;

/// Maximum number of queued pushes, which is two for every topic that a client may subscribe to.
const PUSHES_MAX: usize = 4_096;
/// Maximum total size of queued bodies in bytes. This is 256 bytes per push, more than a quote or
/// an order change needs.
const BYTES_MAX: usize = 1 << 20;
/// Maximum number of subscriptions: 500 securities with four topics each (quote, depth, brokers,
/// trades).
const SUBSCRIBED_MAX: usize = 500 * 4;
/// Number of queued quotes from which a client is treated as slow, and newer quotes replace older
/// ones.
const MERGE_FROM: usize = 256;
const _: () = assert!(PUSHES_MAX >= 2 * SUBSCRIBED_MAX);
const _: () = assert!(BYTES_MAX / PUSHES_MAX >= 256);

/// Why the server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kick {
    /// The client has reconnected on another connection.
    Superseded,
    /// Evicted because another connection needs the slot, and this connection has not answered its
    /// ping.
    Silent,
    Closed(ClosedBy),
    /// The client reads more slowly than pushes arrive: this many are queued.
    TooSlow {
        waiting: usize,
    },
}

/// Who closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    Owner,
    Operator,
}

/// A message sent to a client without a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Push {
    pub(crate) command: u8,
    /// Shared by all receiving connections.
    pub(crate) body: Bytes,
}

/// Why a push will not reach its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PushError {
    #[error("the connection is closed")]
    Gone,
    #[error("the client reads too slowly; its connection was closed")]
    TooSlow,
}

/// The sending half of a mailbox.
#[derive(Clone, Debug)]
pub(crate) struct Mailbox(Arc<Mutex<State>>);

/// The receiving half of a mailbox, owned by the connection. After the reader is dropped, senders
/// get [`PushError::Gone`].
#[derive(Debug)]
pub(crate) struct MailboxReader(Arc<Mutex<State>>);

/// State of a mailbox, as seen by its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mail {
    Nothing,
    /// Queued pushes, with their total size in bytes.
    Pushes {
        bytes: usize,
    },
    Kick(Kick),
}

#[derive(Debug, Default)]
struct State {
    /// Queued pushes. Allocated for the first push and freed with the last push, because most
    /// mailboxes are empty most of the time.
    queue: Option<Box<Queue>>,
    /// Allocated for the first quote. Kept afterwards, because the tag of a quote depends on the
    /// quotes before it.
    quotes: Option<Box<PushQueue>>,
    kick: Option<Kick>,
    /// Whether further pushes are refused.
    is_shut: bool,
    /// Waker of the connection's task. `None` if the task has not polled since it was last woken.
    waker: Option<Waker>,
}

#[derive(Debug, Default)]
struct Queue {
    pushes: VecDeque<Push>,
    bytes: usize,
}

/// The queue is full.
struct Full {
    waiting: usize,
}

impl Mailbox {
    pub(crate) fn new() -> (Mailbox, MailboxReader) {
        let state = Arc::<Mutex<State>>::default();
        (Mailbox(state.clone()), MailboxReader(state))
    }

    /// Queues a push. `Ok` means that the push will be sent, unless the client disconnects or the
    /// connection is closed first.
    pub(crate) fn put(&self, push: Push) -> Result<(), PushError> {
        let mut state = lock(&self.0);
        if state.is_shut || state.kick.is_some() {
            return Err(PushError::Gone);
        }
        let put = state.queue.get_or_insert_default().put(push);
        if let Err(Full { waiting }) = put {
            close(state, Kick::TooSlow { waiting });
            return Err(PushError::TooSlow);
        }
        wake(state);
        Ok(())
    }

    /// Queues a quote or trades, which may be merged with a waiting quote. Returns the number of
    /// queued quotes and trades.
    pub(crate) fn put_quote(&self, push: &Arc<EncodedPush>) -> Result<usize, PushError> {
        let mut state = lock(&self.0);
        if state.is_shut || state.kick.is_some() {
            return Err(PushError::Gone);
        }
        let quotes = state.quotes.get_or_insert_with(|| Box::new(PushQueue::merging_from(MERGE_FROM)));
        match quotes.push(push) {
            Ok(()) => {
                let waiting = quotes.len();
                wake(state);
                Ok(waiting)
            }
            Err(feed::Full { waiting }) => {
                close(state, Kick::TooSlow { waiting });
                Err(PushError::TooSlow)
            }
        }
    }

    /// Returns the first queued sequence number of trades, by security.
    pub(crate) fn unsent_trades(&self) -> HashMap<Symbol, i64> {
        let mut unsent = HashMap::new();
        for (symbol, sequence) in lock(&self.0).quotes.iter().flat_map(|quotes| quotes.trades()) {
            unsent.entry(symbol.clone()).or_insert(sequence);
        }
        unsent
    }

    /// Returns the number of queued quotes and trades.
    pub(crate) fn quotes_waiting(&self) -> usize {
        lock(&self.0).quotes.as_ref().map_or(0, |quotes| quotes.len())
    }

    /// Removes queued quotes and trades whose subscription has ended.
    pub(crate) fn retain_quotes(&self, is_subscribed: impl Fn(&Symbol, SubType) -> bool) {
        if let Some(quotes) = &mut lock(&self.0).quotes {
            quotes.retain(is_subscribed);
        }
    }

    /// Returns whether the mailbox no longer accepts pushes.
    pub(crate) fn has_ended(&self) -> bool {
        let state = lock(&self.0);
        state.is_shut || state.kick.is_some()
    }

    /// Wakes the task that reads the mailbox.
    pub(crate) fn wake(&self) {
        wake(lock(&self.0));
    }

    /// Closes the connection. Only the first reason is used.
    pub(crate) fn close(&self, kick: Kick) {
        let state = lock(&self.0);
        if state.kick.is_none() {
            close(state, kick);
        }
    }
}

impl MailboxReader {
    /// Returns the current state, and registers the task of `cx` to be woken when the state
    /// changes.
    pub(crate) fn look(&self, cx: &Context<'_>) -> Mail {
        let mut state = lock(&self.0);
        if let Some(kick) = state.kick {
            return Mail::Kick(kick);
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.waker = Some(cx.waker().clone());
        }
        let queued = state.queue.as_ref().map_or(0, |queue| queue.bytes);
        let quotes = state.quotes.as_ref().map_or(0, |quotes| quotes.bytes());
        match state.is_empty() {
            true => Mail::Nothing,
            false => Mail::Pushes { bytes: queued + quotes },
        }
    }

    /// Takes the oldest push, or returns `None` if the mailbox is empty.
    pub(crate) fn take(&self) -> Option<Push> {
        let mut state = lock(&self.0);
        if let Some(queue) = &mut state.queue {
            let push = queue.take();
            if queue.pushes.is_empty() {
                state.queue = None;
            }
            return push;
        }
        let outgoing = state.quotes.as_mut()?.pop();
        drop(state);
        outgoing.map(Push::from)
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Refuses further pushes. Queued pushes can still be taken.
    pub(crate) fn shut(&self) {
        lock(&self.0).is_shut = true;
    }
}

impl Drop for MailboxReader {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.is_shut = true;
        state.queue = None;
        state.quotes = None;
        state.waker = None;
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.queue.is_none() && self.quotes.as_ref().is_none_or(|quotes| quotes.is_empty())
    }
}

impl From<Outgoing> for Push {
    fn from(outgoing: Outgoing) -> Push {
        let (sub_type, body) = match outgoing {
            Outgoing::Shared { sub_type, bytes } => (sub_type, bytes),
            Outgoing::Merged(push) => (SubType::Quote, quote_push::encode_quote(&push)),
        };
        let command = match sub_type {
            SubType::Quote => Command::PushQuote,
            SubType::Depth => Command::PushDepth,
            SubType::Brokers => Command::PushBrokers,
            SubType::Trades => Command::PushTrades,
        };
        Push { command: command as u8, body }
    }
}

impl Queue {
    fn put(&mut self, push: Push) -> Result<(), Full> {
        let (count, bytes) = (self.pushes.len(), self.bytes + push.body.len());
        // A single push is always accepted, because one large push does not mean that the reader is
        // slow.
        if count > 0 && (count >= PUSHES_MAX || bytes > BYTES_MAX) {
            return Err(Full { waiting: count });
        }
        self.bytes = bytes;
        self.pushes.push_back(push);
        Ok(())
    }

    fn take(&mut self) -> Option<Push> {
        let push = self.pushes.pop_front()?;
        self.bytes -= push.body.len();
        Some(push)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the mailbox and immediately frees the queued pushes, which will not be sent.
fn close(mut state: MutexGuard<'_, State>, kick: Kick) {
    state.kick = Some(kick);
    state.queue = None;
    state.quotes = None;
    wake(state);
}

/// Wakes the task after releasing the lock, which the task acquires next.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    fn push(body: &'static str) -> Push {
        Push { command: 18, body: Bytes::from_static(body.as_bytes()) }
    }

    fn bodies(reader: &MailboxReader) -> Vec<String> {
        std::iter::from_fn(|| reader.take())
            .map(|push| String::from_utf8(push.body.to_vec()).unwrap())
            .collect()
    }

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Woken>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn look(reader: &MailboxReader) -> Mail {
        reader.look(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn pushes_are_taken_in_order() {
        let (mailbox, reader) = Mailbox::new();
        for body in ["a", "bb", "a"] {
            mailbox.put(push(body)).unwrap();
        }
        assert_eq!(look(&reader), Mail::Pushes { bytes: 4 });
        assert_eq!(reader.take().unwrap(), push("a"));
        mailbox.put(push("c")).unwrap();
        assert_eq!(bodies(&reader), ["bb", "a", "c"]);
        assert_eq!(look(&reader), Mail::Nothing);
    }

    #[test]
    fn a_full_mailbox_closes_the_connection() {
        let (mailbox, reader) = Mailbox::new();
        for _ in 0..PUSHES_MAX {
            mailbox.put(push("x")).unwrap();
        }
        assert_eq!(look(&reader), Mail::Pushes { bytes: PUSHES_MAX });
        assert_eq!(mailbox.put(push("y")), Err(PushError::TooSlow));
        assert_eq!(mailbox.put(push("z")), Err(PushError::Gone));
        assert_eq!(look(&reader), Mail::Kick(Kick::TooSlow { waiting: PUSHES_MAX }));
        assert!(reader.is_empty(), "nothing is kept for a connection that ends");
    }

    #[test]
    fn bytes_are_bounded_except_for_a_single_push() {
        let large = |length| Push { command: 18, body: Bytes::from(vec![0; length]) };
        let (mailbox, reader) = Mailbox::new();
        mailbox.put(large(2 * BYTES_MAX)).unwrap();
        assert_eq!(reader.take().unwrap().body.len(), 2 * BYTES_MAX);
        mailbox.put(large(1)).unwrap();
        mailbox.put(large(BYTES_MAX - 1)).unwrap();
        assert_eq!(look(&reader), Mail::Pushes { bytes: BYTES_MAX });
        assert_eq!(mailbox.put(large(1)), Err(PushError::TooSlow));
        let (mailbox, _reader) = Mailbox::new();
        mailbox.put(large(BYTES_MAX)).unwrap();
        assert_eq!(mailbox.put(large(1)), Err(PushError::TooSlow));
    }

    #[test]
    fn puts_fail_once_the_reader_is_shut_or_dropped() {
        let (mailbox, reader) = Mailbox::new();
        mailbox.put(push("a")).unwrap();
        reader.shut();
        assert_eq!(mailbox.put(push("b")), Err(PushError::Gone));
        assert_eq!(bodies(&reader), ["a"]);
        let (mailbox, reader) = Mailbox::new();
        mailbox.put(push("a")).unwrap();
        drop(reader);
        assert_eq!(mailbox.clone().put(push("b")), Err(PushError::Gone));
        assert!(lock(&mailbox.0).queue.is_none());
    }

    #[test]
    fn the_first_close_reason_wins() {
        let (mailbox, reader) = Mailbox::new();
        mailbox.put(push("a")).unwrap();
        mailbox.close(Kick::Superseded);
        mailbox.close(Kick::Silent);
        assert_eq!(mailbox.put(push("b")), Err(PushError::Gone));
        assert_eq!(look(&reader), Mail::Kick(Kick::Superseded));
    }

    #[test]
    fn a_connection_is_woken_once_for_several_puts() {
        let (mailbox, reader) = Mailbox::new();
        mailbox.put(push("a")).unwrap();
        let woken = Arc::<Woken>::default();
        let waker = woken.clone().into();
        let cx = Context::from_waker(&waker);
        assert_eq!(reader.look(&cx), Mail::Pushes { bytes: 1 });
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        for _ in 0..3 {
            mailbox.put(push("b")).unwrap();
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        reader.look(&cx);
        reader.look(&cx);
        mailbox.close(Kick::Silent);
        assert_eq!(woken.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn an_empty_mailbox_is_small() {
        let (mailbox, reader) = Mailbox::new();
        assert!(size_of::<Mutex<State>>() <= 64, "{} bytes", size_of::<Mutex<State>>());
        mailbox.put(push("a")).unwrap();
        reader.take();
        assert!(lock(&mailbox.0).queue.is_none());
    }
}
