//! The mailbox of a signed-in connection: a queue of pushes to the client, and requests to close
//! the connection. Any thread can put an item without blocking; the connection's task takes items
//! as fast as the client reads.
//!
//! No push is dropped, except that a newer quote replaces a queued one of a slow client. If the
//! client reads too slowly and the mailbox is full, the connection is closed; the client then
//! reconnects and requests the data that it missed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;
use feed::{EncodedPush, Outgoing, PushQueue, SubType};
use market::Symbol;
use wire::quote::Command;

use crate::quote_push;

/// Default maximum number of queued pushes: two for each subscription that a connection may have.
pub(crate) const PUSHES_MAX: usize = feed::PUSHES_MAX;
/// Maximum total size of the queued bodies in bytes, divided by the maximum number of pushes. A
/// quote or an order change is shorter.
const BYTES_EACH: usize = 256;
/// Maximum number of subscriptions: 500 securities with four topics each (quote, depth, brokers,
/// trades).
const SUBSCRIBED_MAX: usize = 500 * 4;
/// Number of queued quotes at which a client is treated as slow and newer quotes replace older
/// quotes. One instant may have two quotes for each of 500 securities.
const MERGE_FROM: usize = 1_024;
const _: () = assert!(PUSHES_MAX >= 2 * SUBSCRIBED_MAX);
const _: () = assert!(BYTES_EACH * PUSHES_MAX == feed::BYTES_MAX);

/// Why the server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kick {
    /// The client has reconnected on another connection.
    Superseded,
    /// Evicted because another connection needs the slot, and this connection has not answered its
    /// ping.
    Silent,
    Closed(ClosedBy),
    /// The account was revoked.
    Revoked,
    /// The clock of the account was set back, so sequence numbers restart.
    ClockSetBack,
    /// The client reads more slowly than pushes arrive. `waiting` pushes are queued.
    TooSlow {
        waiting: u32,
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
    /// The body, or a WebSocket frame that contains the packet with the body. Shared by all
    /// receiving connections.
    bytes: Bytes,
    /// Offset of the body.
    body_at: usize,
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

/// State of a mailbox, as reported to its connection.
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
    /// Queued quotes and trades. Allocated for the first quote and retained afterwards, because the
    /// tag of a quote depends on the previous quotes.
    quotes: Option<Box<PushQueue>>,
    /// Maximum number of pushes in each queue.
    pushes_max: u32,
    kick: Option<Kick>,
    /// Whether further pushes are refused.
    is_shut: bool,
    /// Whether newer quotes never replace queued ones.
    keeps_all: bool,
    flow: Flow,
    /// Whether the clock of a world waits for this connection.
    is_awaited: bool,
    /// Whether the connection should send a ping after its last push.
    wants_ping: bool,
    /// Waker of the connection's task. `None` if the task has not polled since it was last woken.
    waker: Option<Waker>,
}

/// Progress of a connection with the pushes that it took from the mailbox. Only connections of
/// worlds report their progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Whether the connection took pushes that the socket has not accepted yet.
    pub(crate) is_unwritten: bool,
    /// Number of pushes that precede an unanswered ping.
    pub(crate) unanswered: u32,
    /// Whether the connection took pushes after the last ping that the client has answered.
    pub(crate) is_unconfirmed: bool,
    /// Whether requests are pending.
    pub(crate) is_busy: bool,
}

/// Condition that a connection must meet before the clock of a world moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// All pushes are in the socket.
    InSocket,
    /// All pushes are in the socket, and at most [`UNANSWERED_MAX`] pushes precede an unanswered
    /// ping.
    Written,
    /// The client has answered a ping after the last push, and no request is pending.
    Answered,
}

/// What a connection must do after it has reported its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    /// Whether to send a ping after the last push.
    pub(crate) ping: bool,
    /// Whether to notify the clock of the world, which waits for a change of the flow.
    pub(crate) is_awaited: bool,
}

/// Maximum number of pushes before an unanswered ping for which [`Need::Written`] is met.
pub(crate) const UNANSWERED_MAX: u32 = 256;

/// Connections that are woken when this value is dropped. Several pushes are queued before their
/// connections are woken, so that a connection writes them together.
#[derive(Debug, Default)]
pub(crate) struct Wakeups(Vec<Waker>);

#[derive(Debug, Default)]
struct Queue {
    pushes: VecDeque<Push>,
    bytes: usize,
}

/// The queue is full.
struct Full {
    waiting: usize,
}

impl Kick {
    fn too_slow(waiting: usize) -> Kick {
        Kick::TooSlow { waiting: u32::try_from(waiting).unwrap_or(u32::MAX) }
    }
}

impl Mailbox {
    /// Creates a mailbox for at most `pushes_max` queued pushes.
    pub(crate) fn new(pushes_max: usize) -> (Mailbox, MailboxReader) {
        let pushes_max = u32::try_from(pushes_max).unwrap_or(u32::MAX);
        let state = Arc::new(Mutex::new(State { pushes_max, ..State::default() }));
        (Mailbox(state.clone()), MailboxReader(state))
    }

    /// Queues a push. `Ok` means that the push will be sent, unless the client disconnects or the
    /// connection is closed first.
    pub(crate) fn put(&self, push: Push) -> Result<(), PushError> {
        let mut state = lock(&self.0);
        if state.is_shut || state.kick.is_some() {
            return Err(PushError::Gone);
        }
        let pushes_max = state.pushes_max();
        let put = state.queue.get_or_insert_default().put(push, pushes_max);
        if let Err(Full { waiting }) = put {
            close(state, Kick::too_slow(waiting));
            return Err(PushError::TooSlow);
        }
        wake(state);
        Ok(())
    }

    /// Queues a quote or trades. A quote may replace a queued one. The connection is woken with
    /// `wakeups`. Returns the number of queued quotes and trades.
    pub(crate) fn put_quote(
        &self,
        push: &Arc<EncodedPush>,
        wakeups: &mut Wakeups,
    ) -> Result<usize, PushError> {
        let mut state = lock(&self.0);
        if state.is_shut || state.kick.is_some() {
            return Err(PushError::Gone);
        }
        let pushes_max = state.pushes_max();
        let merge_from = if state.keeps_all { usize::MAX } else { MERGE_FROM.min(pushes_max / 4) };
        let quotes = state.quotes.get_or_insert_with(|| {
            let queue = PushQueue::merging_from(merge_from);
            Box::new(queue.with_limits(pushes_max, pushes_max.saturating_mul(BYTES_EACH)))
        });
        match quotes.push(push) {
            Ok(()) => {
                let waiting = quotes.len();
                wakeups.0.extend(state.waker.take());
                Ok(waiting)
            }
            Err(feed::Full { waiting }) => {
                close(state, Kick::too_slow(waiting));
                Err(PushError::TooSlow)
            }
        }
    }

    /// Prevents newer quotes from replacing queued quotes, because programs in a world count their
    /// pushes and the clock of the world waits for slow clients. Must be called before the first
    /// push.
    pub(crate) fn keep_all(&self) {
        lock(&self.0).keeps_all = true;
    }

    /// Returns, by security, the first sequence number of the queued trades. After the mailbox was
    /// closed, returns the numbers at the time of closing.
    pub(crate) fn unsent_trades(&self) -> HashMap<Symbol, i64> {
        lock(&self.0).quotes.as_ref().map(|quotes| quotes.unsent_trades()).unwrap_or_default()
    }

    /// Returns the maximum number of queued quotes and trades.
    pub(crate) fn quotes_max(&self) -> usize {
        lock(&self.0).pushes_max()
    }

    /// Returns the number of queued quotes and trades.
    pub(crate) fn quotes_waiting(&self) -> usize {
        lock(&self.0).quotes.as_ref().map_or(0, |quotes| quotes.len())
    }

    /// Removes queued quotes and trades whose subscription has ended. The symbol of a push of the
    /// clock is `None`.
    pub(crate) fn retain_quotes(&self, is_subscribed: impl Fn(Option<&Symbol>, SubType) -> bool) {
        if let Some(quotes) = &mut lock(&self.0).quotes {
            quotes.retain(is_subscribed);
        }
    }

    /// Returns whether the mailbox refuses further pushes.
    pub(crate) fn has_ended(&self) -> bool {
        let state = lock(&self.0);
        state.is_shut || state.kick.is_some()
    }

    /// Returns whether the connection meets a condition. If not, the connection will report its
    /// next change, and sends a ping if the condition requires one.
    pub(crate) fn is_ready(&self, need: Need) -> bool {
        let mut state = lock(&self.0);
        if state.is_shut || state.kick.is_some() {
            return true;
        }
        let Flow { is_unwritten, unanswered, is_unconfirmed, is_busy } = state.flow;
        let is_in_socket = state.is_empty() && !is_unwritten;
        let is_written = is_in_socket && unanswered <= UNANSWERED_MAX;
        let is_ready = match need {
            Need::InSocket => is_in_socket,
            Need::Written => is_written,
            Need::Answered => is_written && !is_unconfirmed && !is_busy,
        };
        if !is_ready {
            state.is_awaited = true;
            let has_pushes = is_unconfirmed || !state.is_empty();
            state.wants_ping |= need == Need::Answered && has_pushes;
            wake(state);
        }
        is_ready
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
        (state.flow.is_unwritten, state.flow.is_unconfirmed) = (true, true);
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

    /// Reports the progress with the pushes that were taken.
    pub(crate) fn report(&self, flow: Flow) -> Reported {
        let mut state = lock(&self.0);
        let ping = state.wants_ping && state.is_empty();
        state.wants_ping &= !ping;
        let is_awaited = state.is_awaited && state.flow != flow;
        state.is_awaited &= !is_awaited;
        state.flow = flow;
        Reported { ping, is_awaited }
    }

    /// Refuses further pushes. Queued pushes can still be taken.
    pub(crate) fn shut(&self) {
        lock(&self.0).is_shut = true;
    }
}

impl Wakeups {
    /// Wakes the connections now.
    pub(crate) fn wake(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        self.wake();
    }
}

impl Drop for MailboxReader {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.is_shut = true;
        state.free();
        state.waker = None;
    }
}

impl Push {
    pub(crate) fn new(command: u8, body: Bytes) -> Push {
        Push { command, bytes: body, body_at: 0 }
    }

    pub(crate) fn body(&self) -> Bytes {
        self.bytes.slice(self.body_at.min(self.bytes.len())..)
    }

    /// Returns the packet in a WebSocket frame, if it is encoded.
    pub(crate) fn frame(&self) -> Option<&Bytes> {
        (self.body_at > 0).then_some(&self.bytes)
    }

    /// Returns the number of bytes, including the headers that are encoded.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl State {
    /// Frees the queued pushes.
    fn free(&mut self) {
        self.queue = None;
        if let Some(quotes) = &mut self.quotes {
            quotes.discard();
        }
    }

    fn pushes_max(&self) -> usize {
        usize::try_from(self.pushes_max).unwrap_or(usize::MAX)
    }

    fn is_empty(&self) -> bool {
        self.queue.is_none() && self.quotes.as_ref().is_none_or(|quotes| quotes.is_empty())
    }
}

impl From<Outgoing> for Push {
    fn from(outgoing: Outgoing) -> Push {
        let (sub_type, frame) = match outgoing {
            Outgoing::Shared { sub_type, bytes } => (sub_type, bytes),
            Outgoing::Merged(push) => (SubType::Quote, quote_push::encode_quote(&push)),
        };
        let command = match sub_type {
            SubType::Quote => Command::PushQuote,
            SubType::Depth => Command::PushDepth,
            SubType::Brokers => Command::PushBrokers,
            SubType::Trades => Command::PushTrades,
        };
        Push { command: command as u8, body_at: quote_push::header(&frame), bytes: frame }
    }
}

impl Queue {
    fn put(&mut self, push: Push, pushes_max: usize) -> Result<(), Full> {
        let (count, bytes) = (self.pushes.len(), self.bytes + push.len());
        // A single push is always accepted, because one large push does not mean that the reader is
        // slow.
        if count > 0 && (count >= pushes_max || bytes > pushes_max.saturating_mul(BYTES_EACH)) {
            return Err(Full { waiting: count });
        }
        self.bytes = bytes;
        self.pushes.push_back(push);
        Ok(())
    }

    fn take(&mut self) -> Option<Push> {
        let push = self.pushes.pop_front()?;
        self.bytes -= push.len();
        Some(push)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the mailbox and immediately frees the queued pushes, which will not be sent. Only the
/// numbers of the first trades are retained, because trades are sent again after a reconnect.
fn close(mut state: MutexGuard<'_, State>, kick: Kick) {
    state.kick = Some(kick);
    state.free();
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

    use feed::Figures;
    use market::Timestamp;

    use super::*;

    fn push(body: &'static str) -> Push {
        Push::new(18, Bytes::from_static(body.as_bytes()))
    }

    fn bodies(reader: &MailboxReader) -> Vec<String> {
        std::iter::from_fn(|| reader.take())
            .map(|push| String::from_utf8(push.body().to_vec()).unwrap())
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
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
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
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
        for _ in 0..PUSHES_MAX {
            mailbox.put(push("x")).unwrap();
        }
        assert_eq!(look(&reader), Mail::Pushes { bytes: PUSHES_MAX });
        assert_eq!(mailbox.put(push("y")), Err(PushError::TooSlow));
        assert_eq!(mailbox.put(push("z")), Err(PushError::Gone));
        assert_eq!(look(&reader), Mail::Kick(Kick::too_slow(PUSHES_MAX)));
        assert!(reader.is_empty(), "nothing is kept for a connection that ends");
    }

    #[test]
    fn the_limit_of_a_mailbox_is_configurable() {
        let (mailbox, reader) = Mailbox::new(3);
        (0..3).for_each(|_| mailbox.put(push("x")).unwrap());
        assert_eq!(mailbox.put(push("y")), Err(PushError::TooSlow));
        assert_eq!(look(&reader), Mail::Kick(Kick::TooSlow { waiting: 3 }));
        let (mailbox, _reader) = Mailbox::new(3);
        mailbox.put(Push::new(18, Bytes::from(vec![0; 3 * BYTES_EACH]))).unwrap();
        assert_eq!(mailbox.put(push("y")), Err(PushError::TooSlow));
    }

    #[test]
    fn a_closed_mailbox_retains_the_numbers_of_unsent_trades() {
        let (mailbox, reader) = Mailbox::new(3);
        let trades = |symbol: &str, sequence| {
            let (symbol, prints) = (symbol.parse().unwrap(), Vec::new());
            let push = feed::TradesPush { symbol, sequence, session: market::Session::Intraday, prints };
            Arc::new(EncodedPush::new(feed::Push::Trades(push), |_| Bytes::from_static(b"x")))
        };
        let put =
            |symbol: &str, sequence| mailbox.put_quote(&trades(symbol, sequence), &mut Wakeups::default());
        for (symbol, sequence) in [("1.HK", 6), ("1.HK", 7), ("1.HK", 8)] {
            put(symbol, sequence).unwrap();
        }
        reader.take().unwrap();
        put("2.HK", 9).unwrap();
        assert_eq!(put("3.HK", 10), Err(PushError::TooSlow));
        assert!(reader.is_empty());
        drop(reader);
        let expected = [("1.HK", 7), ("2.HK", 9)].map(|(symbol, first)| (symbol.parse().unwrap(), first));
        assert_eq!(mailbox.unsent_trades(), HashMap::from(expected));
    }

    #[test]
    fn bytes_are_bounded_except_for_a_single_push() {
        let large = |length| Push::new(18, Bytes::from(vec![0; length]));
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
        mailbox.put(large(2 * feed::BYTES_MAX)).unwrap();
        assert_eq!(reader.take().unwrap().len(), 2 * feed::BYTES_MAX);
        mailbox.put(large(1)).unwrap();
        mailbox.put(large(feed::BYTES_MAX - 1)).unwrap();
        assert_eq!(look(&reader), Mail::Pushes { bytes: feed::BYTES_MAX });
        assert_eq!(mailbox.put(large(1)), Err(PushError::TooSlow));
        let (mailbox, _reader) = Mailbox::new(PUSHES_MAX);
        mailbox.put(large(feed::BYTES_MAX)).unwrap();
        assert_eq!(mailbox.put(large(1)), Err(PushError::TooSlow));
    }

    #[test]
    fn puts_fail_once_the_reader_is_shut_or_dropped() {
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
        mailbox.put(push("a")).unwrap();
        reader.shut();
        assert_eq!(mailbox.put(push("b")), Err(PushError::Gone));
        assert_eq!(bodies(&reader), ["a"]);
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
        mailbox.put(push("a")).unwrap();
        drop(reader);
        assert_eq!(mailbox.clone().put(push("b")), Err(PushError::Gone));
        assert!(lock(&mailbox.0).queue.is_none());
    }

    #[test]
    fn only_the_first_close_reason_is_used() {
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
        mailbox.put(push("a")).unwrap();
        mailbox.close(Kick::Superseded);
        mailbox.close(Kick::Silent);
        assert_eq!(mailbox.put(push("b")), Err(PushError::Gone));
        assert_eq!(look(&reader), Mail::Kick(Kick::Superseded));
    }

    #[test]
    fn a_connection_is_woken_once_for_several_puts() {
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
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
    fn quotes_wake_a_connection_after_all_were_queued() {
        let quote = feed::TradesPush {
            symbol: "700.HK".parse().unwrap(),
            sequence: 1,
            session: market::Session::Intraday,
            prints: Vec::new(),
        };
        let quote = Arc::new(EncodedPush::new(feed::Push::Trades(quote), |_| Bytes::from_static(b"abc")));
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
        let woken = Arc::<Woken>::default();
        let waker = woken.clone().into();
        assert_eq!(reader.look(&Context::from_waker(&waker)), Mail::Nothing);
        let mut wakeups = Wakeups::default();
        assert_eq!(mailbox.put_quote(&quote, &mut wakeups), Ok(1));
        assert_eq!(mailbox.put_quote(&quote, &mut wakeups), Ok(2));
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        drop(wakeups);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!(look(&reader), Mail::Pushes { bytes: 6 });
    }

    #[test]
    fn a_mailbox_of_a_world_merges_no_quotes() {
        let price = market::Price(1_000_000);
        let turnover = market::Turnover(0);
        let quote = |sequence| {
            let quote = feed::QuotePush {
                symbol: "700.HK".parse().unwrap(),
                board: feed::Board::Security,
                sequence,
                day: "2026-03-18".parse().unwrap(),
                session: market::Session::Intraday,
                figures: Figures { open: price, high: price, low: price, last: price, volume: 100, turnover },
                time: Timestamp(1_773_797_400),
                growth: feed::Growth { volume: 10, turnover },
                tag: feed::Tag::Normal,
                status: feed::TradeStatus::Normal,
            };
            Arc::new(EncodedPush::new(feed::Push::Quote(quote), |_| Bytes::from_static(b"abc")))
        };
        for (keeps_all, queued) in [(false, 1_024), (true, 2_000)] {
            let (mailbox, _reader) = Mailbox::new(PUSHES_MAX);
            if keeps_all {
                mailbox.keep_all();
            }
            for sequence in 0..2_000 {
                mailbox.put_quote(&quote(sequence), &mut Wakeups::default()).unwrap();
            }
            assert_eq!(mailbox.quotes_waiting(), queued);
        }
    }

    #[test]
    fn an_empty_mailbox_is_small() {
        let (mailbox, reader) = Mailbox::new(PUSHES_MAX);
        assert!(size_of::<Mutex<State>>() <= 64, "{} bytes", size_of::<Mutex<State>>());
        mailbox.put(push("a")).unwrap();
        reader.take();
        assert!(lock(&mailbox.0).queue.is_none());
    }
}
