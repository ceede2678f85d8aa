//! The subscriptions of all connections, and the limit on the subscriptions of each account.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::{AccountId, Lineage, MissedTrades};
use feed::{ConnectionId, EncodedPush, Figures, FirstPush, Push, QuotePush, Registry, SubType, SubTypes};
use market::{Date, Session, Symbol, Timestamp};
use serde::{Deserialize, Serialize};

use crate::links::Resumed;
use crate::mailbox::{Kick, Mailbox, Wakeups};
use crate::metrics::PushLoad;

/// Maximum number of open streams per account. A visible page has one stream, and a hidden tab has
/// none.
pub(crate) const STREAMS_MAX: usize = 8;
/// Offset of stream ids, above all connection ids.
const STREAM: u64 = 1 << 63;
/// Reason for leaving out a symbol whose market the account may not see.
pub(crate) const NO_RIGHT: &str = "no right";
/// Maximum number of symbols per connection that are stored as left out.
const LEFT_OUT_MAX: usize = 500;

#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    pub(crate) registry: Registry,
    connections: HashMap<ConnectionId, Subscriber>,
    /// Connections that subscribe to the clock.
    clocks: BTreeSet<ConnectionId>,
    /// The connections of each account. Accounts without connections have no entry.
    accounts: HashMap<AccountId, BTreeSet<ConnectionId>>,
    /// The last quotes of subscribed securities by session, under the machine clock.
    last_quotes: HashMap<Symbol, LastQuotes>,
    /// Closed connections, by client.
    departed: HashMap<Lineage, Departed>,
}

/// Day, figures and time of the last quote of each session, by session code.
type LastQuotes = [Option<(Date, Figures, Timestamp)>; Session::ALL.len()];

/// A connection that has sent command 6.
#[derive(Debug)]
struct Subscriber {
    /// The connection; `None` for a stream.
    connection: Option<access::ConnectionId>,
    stream: Option<StreamInfo>,
    who: access::Caller,
    mailbox: Mailbox,
    /// Whether overnight pushes are sent.
    overnight: bool,
    /// Symbols that were left out of the connection's requests.
    left_out: Vec<LeftOut>,
    /// Last sequence number of trades that the connection has received, by security.
    trades: HashMap<Symbol, i64>,
    /// The text that was last recorded for other nodes ([`Pending`]).
    recorded: String,
}

/// A stream as shown to its owner and to operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamInfo {
    /// Number of the stream. The streams of a server are numbered from 0.
    pub(crate) number: u64,
    pub(crate) account: AccountId,
    pub(crate) address: SocketAddr,
    /// Machine time at which the stream was opened.
    pub(crate) since: Timestamp,
}

/// Trades that a closed connection did not receive.
#[derive(Debug)]
struct Departed {
    /// Uptime at which the connection closed.
    at: Duration,
    missing: MissedTrades,
}

/// Time for which the missing trades of a closed connection are stored.
const DEPARTED_KEPT: Duration = Duration::from_secs(600);
/// Maximum number of closed connections with stored missing trades.
const DEPARTED_MAX: usize = 4_096;

/// A symbol that was left out of a request, with the reason. SDKs do not show left-out symbols, so
/// the list of connections does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) symbol: String,
    pub(crate) reason: &'static str,
}

/// What a connection requested and does not get yet or at all, as recorded for other nodes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) waiting: Vec<String>,
    /// Symbols and reasons.
    pub(crate) left_out: Vec<(String, String)>,
}

impl Pending {
    /// Reads a recorded text. A text of another release counts as empty.
    pub(crate) fn read(text: &str) -> Pending {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// The subscriptions of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscribed {
    /// Subscribed securities, ascending by symbol.
    pub(crate) list: Vec<(Symbol, SubTypes)>,
    /// Securities whose subscription is pending because they are not stored yet.
    pub(crate) waiting: Vec<Symbol>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A connection or a stream that subscribes.
#[derive(Clone, Debug)]
pub(crate) struct Recipient {
    pub(crate) id: ConnectionId,
    /// The connection; `None` for a stream.
    pub(crate) connection: Option<access::ConnectionId>,
    pub(crate) who: access::Caller,
    pub(crate) mailbox: Mailbox,
    pub(crate) overnight: bool,
}

/// A request for the newest candles of a security (command 19). A client that subscribes right
/// afterwards expects the pushes since the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pull {
    pub(crate) symbol: Symbol,
    /// Market time of the request.
    pub(crate) at: Timestamp,
    /// The last ingested batch that the response includes.
    pub(crate) through: i64,
}

/// A security of a subscription request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) symbol: Symbol,
    /// Whether the security is stored. If not, the subscription is pending.
    pub(crate) is_stored: bool,
}

pub(crate) fn stream_id(number: u64) -> ConnectionId {
    ConnectionId(STREAM | number)
}

pub(crate) fn is_stream(id: ConnectionId) -> bool {
    id.0 & STREAM != 0
}

impl Subscriptions {
    /// Returns the number of distinct securities of an account on this server, and the number of
    /// distinct symbols that a request would add.
    pub(crate) fn securities(&self, account: AccountId, symbols: &[Symbol]) -> (u32, usize) {
        let used = self.used(account);
        let new: BTreeSet<&Symbol> = symbols.iter().filter(|symbol| !used.contains(symbol)).collect();
        (u32::try_from(used.len()).unwrap_or(u32::MAX), new.len())
    }

    fn used(&self, account: AccountId) -> BTreeSet<&Symbol> {
        let symbols = self
            .of_account(account)
            .flat_map(|id| self.registry.list(id).map(|(symbol, _)| symbol).chain(self.registry.waiting(id)));
        symbols.collect()
    }

    fn of_account(&self, account: AccountId) -> impl Iterator<Item = ConnectionId> {
        self.accounts.get(&account).into_iter().flatten().copied()
    }

    /// Subscribes a connection.
    pub(crate) fn subscribe(
        &mut self,
        recipient: &Recipient,
        wanted: &[Wanted],
        types: SubTypes,
        first_push: FirstPush,
    ) {
        let Recipient { id, connection, who, mailbox, overnight } = recipient.clone();
        let left_out = Vec::new();
        let (trades, recorded) = (HashMap::new(), String::new());
        self.accounts.entry(who.account()).or_default().insert(id);
        let subscriber =
            Subscriber { connection, stream: None, who, mailbox, overnight, left_out, trades, recorded };
        self.connections.entry(id).or_insert(subscriber).overnight = overnight;
        let connection = id;
        for Wanted { symbol, is_stored } in wanted {
            match is_stored {
                true => drop(self.registry.subscribe(connection, symbol, types)),
                false => self.registry.wait(connection, symbol, types, first_push),
            }
        }
    }

    /// Stores the symbols that were left out of a request, each symbol only once.
    pub(crate) fn leave_out(&mut self, connection: ConnectionId, left_out: Vec<LeftOut>) {
        let Some(subscriber) = self.connections.get_mut(&connection) else { return };
        subscriber.left_out.retain(|old| left_out.iter().all(|new| new.symbol != old.symbol));
        subscriber.left_out.extend(left_out);
        let excess = subscriber.left_out.len().saturating_sub(LEFT_OUT_MAX);
        subscriber.left_out.drain(..excess);
    }

    /// Returns what other nodes must know of a connection ([`Pending`]), if it has changed.
    pub(crate) fn pending_to_record(&mut self, connection: ConnectionId) -> Option<String> {
        let waiting = self.registry.waiting(connection).map(|symbol| symbol.as_str().to_owned()).collect();
        let subscriber = self.connections.get_mut(&connection)?;
        let left_out = subscriber.left_out.iter().map(|of| (of.symbol.clone(), of.reason.to_owned()));
        let pending = Pending { waiting, left_out: left_out.collect() };
        let text = match pending.waiting.is_empty() && pending.left_out.is_empty() {
            true => String::new(),
            false => serde_json::to_string(&pending).unwrap_or_default(),
        };
        let is_new = subscriber.recorded != text;
        is_new.then(|| subscriber.recorded.clone_from(&text)).map(|()| text)
    }

    /// Returns the types of a connection's subscription to a stored security.
    pub(crate) fn types(&self, connection: ConnectionId, symbol: &Symbol) -> SubTypes {
        let has = |kind: &SubType| self.registry.has(connection, symbol, *kind);
        SubType::ALL.into_iter().filter(has).collect()
    }

    /// Ends subscriptions of a connection, and removes their queued pushes. Returns the securities
    /// to which the connection is no longer subscribed with any type.
    pub(crate) fn unsubscribe(
        &mut self,
        connection: ConnectionId,
        symbols: &[Symbol],
        types: SubTypes,
    ) -> Vec<Symbol> {
        for symbol in symbols {
            self.registry.unsubscribe(connection, symbol, types);
        }
        self.remove_queued(connection);
        let is_left = |symbol: &&Symbol| {
            let mut waiting = self.registry.waiting(connection);
            !self.types(connection, symbol).is_empty() || waiting.any(|waiting| waiting == *symbol)
        };
        symbols.iter().filter(|symbol| !is_left(symbol)).cloned().collect()
    }

    /// Returns the numbers of connections, streams and securities with subscriptions.
    pub(crate) fn load(&self) -> PushLoad {
        let (mut connections, mut streams) = (0, 0);
        for id in self.registry.connections() {
            let counter = if is_stream(id) { &mut streams } else { &mut connections };
            *counter += 1;
        }
        let securities = self.registry.symbols().count();
        PushLoad { connections, streams, securities, ..PushLoad::default() }
    }

    pub(crate) fn mailboxes(&self) -> Vec<Mailbox> {
        self.connections.values().map(|subscriber| subscriber.mailbox.clone()).collect()
    }

    /// Closes a connection whose account was revoked.
    pub(crate) fn close_revoked(&self, connection: ConnectionId) {
        if let Some(subscriber) = self.connections.get(&connection) {
            subscriber.mailbox.close(Kick::Revoked);
        }
    }

    /// Returns the subscribed connections with their callers. Streams are omitted, because they
    /// check their rights themselves.
    pub(crate) fn callers(&self) -> Vec<(access::ConnectionId, access::Caller)> {
        let callers = self.connections.values();
        callers.filter_map(|subscriber| Some((subscriber.connection?, subscriber.who))).collect()
    }

    /// Ends a connection's subscriptions to securities that its account may no longer see, and
    /// removes their queued pushes. Returns these securities.
    pub(crate) fn restrict(
        &mut self,
        connection: ConnectionId,
        holds: impl Fn(&Symbol) -> bool,
        overnight: bool,
    ) -> Vec<Symbol> {
        let Some(subscriber) = self.connections.get_mut(&connection) else { return Vec::new() };
        subscriber.overnight &= overnight;
        let symbols = self.registry.securities_of(connection).iter();
        let ended: Vec<Symbol> = symbols.filter(|symbol| !holds(symbol)).cloned().collect();
        if !ended.is_empty() {
            self.unsubscribe(connection, &ended, SubType::ALL.into_iter().collect());
            let left_out = |symbol: &Symbol| LeftOut { symbol: symbol.as_str().to_owned(), reason: NO_RIGHT };
            self.leave_out(connection, ended.iter().map(left_out).collect());
        }
        ended
    }

    /// Ends all subscriptions of a connection, and removes their queued pushes.
    pub(crate) fn unsubscribe_all(&mut self, connection: ConnectionId) {
        self.registry.unsubscribe_all(connection);
        self.clocks.remove(&connection);
        self.remove_queued(connection);
    }

    fn remove_queued(&self, connection: ConnectionId) {
        if let Some(subscriber) = self.connections.get(&connection) {
            let is_subscribed = |symbol: Option<&Symbol>, kind| match symbol {
                Some(symbol) => self.registry.has(connection, symbol, kind),
                None => self.clocks.contains(&connection),
            };
            subscriber.mailbox.retain_quotes(is_subscribed);
        }
    }

    /// Subscribes a connection to the clock.
    pub(crate) fn subscribe_clock(&mut self, connection: ConnectionId) {
        self.clocks.insert(connection);
    }

    /// Ends a connection's subscription to the clock, and removes the queued pushes.
    pub(crate) fn unsubscribe_clock(&mut self, connection: ConnectionId) {
        self.clocks.remove(&connection);
        self.remove_queued(connection);
    }

    pub(crate) fn has_clock(&self, connection: ConnectionId) -> bool {
        self.clocks.contains(&connection)
    }

    /// Returns the number of connections that subscribe to the clock.
    pub(crate) fn clocks(&self) -> usize {
        self.clocks.len()
    }

    /// Queues a push of the clock for all its subscribers, or only for the connection `to`.
    pub(crate) fn send_clock(&self, body: bytes::Bytes, to: Option<ConnectionId>) {
        let push = Arc::new(EncodedPush::of_clock(body));
        for connection in self.clocks.iter().filter(|id| to.is_none_or(|to| to == **id)) {
            if let Some(subscriber) = self.connections.get(connection) {
                // A closed or slow connection removes its own subscriptions.
                subscriber.mailbox.put_quote(&push, &mut Wakeups::default()).ok();
            }
        }
    }

    /// Returns the number of an account's streams.
    pub(crate) fn streams(&self, account: AccountId) -> usize {
        // Ids of streams are greater than ids of connections.
        let connections = self.accounts.get(&account);
        connections.map_or(0, |of| of.range(stream_id(0)..).count())
    }

    /// Stores the description of a subscribed stream for lists.
    pub(crate) fn describe(&mut self, id: ConnectionId, info: StreamInfo) {
        if let Some(subscriber) = self.connections.get_mut(&id) {
            subscriber.stream = Some(info);
        }
    }

    /// Returns the streams of an account, or of all accounts, oldest first, with their
    /// subscriptions.
    pub(crate) fn list_streams(&self, of: Option<AccountId>) -> Vec<(StreamInfo, Subscribed)> {
        let streams = self.connections.values().filter_map(|subscriber| subscriber.stream);
        let mut streams: Vec<_> = streams.filter(|info| of.is_none_or(|of| of == info.account)).collect();
        streams.sort_by_key(|info| info.number);
        streams.into_iter().map(|info| (info, self.of_connection(stream_id(info.number)))).collect()
    }

    /// Ends all streams.
    pub(crate) fn close_streams(&self, kick: Kick) {
        for (_, subscriber) in self.connections.iter().filter(|(id, _)| is_stream(**id)) {
            subscriber.mailbox.close(kick);
        }
    }

    /// Wakes all streams after the clock was moved or a sign-in has ended.
    pub(crate) fn wake_streams(&self) {
        for (_, subscriber) in self.connections.iter().filter(|(id, _)| is_stream(**id)) {
            subscriber.mailbox.wake();
        }
    }

    /// Ends the subscriptions of a closed connection, and stores the first sequence number of the
    /// trades that the client did not receive. Returns these numbers, by security.
    pub(crate) fn leave(
        &mut self,
        connection: ConnectionId,
        lineage: Option<Lineage>,
        uptime: Duration,
    ) -> MissedTrades {
        // The connection may have ended before it subscribed to all that its predecessor had.
        let before = lineage.and_then(|lineage| self.departed.remove(&lineage));
        let before = before.filter(|departed| uptime < departed.at + DEPARTED_KEPT);
        let mut missing = before.map(|departed| departed.missing).unwrap_or_default();
        if let Some(subscriber) = self.remove(connection) {
            let trades = subscriber.trades.into_iter();
            missing.extend(trades.map(|(symbol, last)| (symbol, last.saturating_add(1))));
            missing.extend(subscriber.mailbox.unsent_trades());
        }
        match lineage.filter(|_| !missing.is_empty()) {
            Some(lineage) => {
                self.add_departed(lineage, missing.clone(), uptime);
                missing
            }
            None => MissedTrades::new(),
        }
    }

    fn remove(&mut self, connection: ConnectionId) -> Option<Subscriber> {
        let subscriber = self.connections.remove(&connection)?;
        self.clocks.remove(&connection);
        self.registry.unsubscribe_all(connection);
        let account = subscriber.who.account();
        if let Some(connections) = self.accounts.get_mut(&account) {
            connections.remove(&connection);
            if connections.is_empty() {
                self.accounts.remove(&account);
            }
        }
        Some(subscriber)
    }

    fn add_departed(&mut self, lineage: Lineage, missing: MissedTrades, uptime: Duration) {
        self.departed.retain(|_, departed| uptime < departed.at + DEPARTED_KEPT);
        if self.departed.len() < DEPARTED_MAX {
            self.departed.insert(lineage, Departed { at: uptime, missing });
        }
    }

    /// Takes over what a client's last connection did not receive, from the database that several
    /// nodes share. What this node knows of an earlier connection is then out of date, unless the
    /// last connection was open here.
    pub(crate) fn resume(&mut self, lineage: Lineage, resumed: &Resumed, uptime: Duration) {
        if !resumed.missed.is_empty() {
            self.add_departed(lineage, resumed.missed.clone(), uptime);
        } else if !resumed.is_from_here {
            self.departed.remove(&lineage);
        }
    }

    /// Returns the first sequence number of trades that a client's previous connection did not
    /// receive, and removes the entry.
    pub(crate) fn missing(
        &mut self,
        lineage: Option<Lineage>,
        symbol: &Symbol,
        uptime: Duration,
    ) -> Option<i64> {
        let departed = self.departed.get_mut(&lineage?)?;
        departed.missing.remove(symbol).filter(|_| uptime < departed.at + DEPARTED_KEPT)
    }

    /// Records that a connection has received all trades of a security up to a sequence number.
    pub(crate) fn has_trades(&mut self, connection: ConnectionId, symbol: &Symbol, sequence: i64) {
        if let Some(subscriber) = self.connections.get_mut(&connection) {
            subscriber.trades.entry(symbol.clone()).or_insert(sequence);
        }
    }

    pub(crate) fn of_connection(&self, connection: ConnectionId) -> Subscribed {
        let list = self.registry.list(connection);
        Subscribed {
            list: list.map(|(symbol, types)| (symbol.clone(), types)).collect(),
            waiting: self.registry.waiting(connection).cloned().collect(),
            left_out: self.connections.get(&connection).map(|of| of.left_out.clone()).unwrap_or_default(),
        }
    }

    /// Queues a push for the subscribers for which `may_get` returns true, and adds them to
    /// `wakeups`. The push is encoded if any connection has subscribed to it.
    pub(crate) fn send(
        &mut self,
        push: Push,
        encode: impl Fn(&Push) -> bytes::Bytes,
        mut may_get: impl FnMut(ConnectionId) -> bool,
        wakeups: &mut Wakeups,
    ) -> Sent {
        let (session, kind) = (push.session(), push.sub_type());
        let mut sent = Sent::default();
        let symbol = push.symbol().clone();
        let mut push = Some(push);
        for connection in self.registry.recipients(&symbol, kind) {
            let Some(subscriber) = self.connections.get_mut(&connection) else { continue };
            if !subscriber.sees(session) {
                continue;
            }
            // The push is encoded only once, for the first subscriber.
            if let Some(push) = push.take() {
                sent.encoded = Some(Arc::new(EncodedPush::new(push, &encode)));
            }
            let Some(encoded) = sent.encoded.as_ref().filter(|_| may_get(connection)) else { continue };
            // A closed or slow connection removes its own subscriptions.
            if let Ok(waiting) = subscriber.mailbox.put_quote(encoded, wakeups) {
                sent.count += 1;
                if kind == SubType::Trades
                    && let Some(last) = subscriber.trades.get_mut(&symbol)
                {
                    *last = encoded.sequence();
                }
                if waiting > sent.longest_queue {
                    sent.longest_queue = waiting;
                    sent.slowest = Some(subscriber.mailbox.clone());
                }
            }
        }
        sent
    }

    /// Records a quote that was pushed under the machine clock.
    pub(crate) fn note_quote(&mut self, quote: &QuotePush) {
        let of_symbol = self.last_quotes.entry(quote.symbol.clone()).or_default();
        if let Some(last) = of_symbol.get_mut(usize::from(quote.session.code())) {
            *last = Some((quote.day, quote.figures, quote.time));
        }
    }

    /// Removes the quotes of securities without subscribers. `symbols` are the subscribed
    /// securities, ascending.
    pub(crate) fn forget_quotes(&mut self, symbols: &[Symbol]) {
        self.last_quotes.retain(|symbol, _| symbols.binary_search(symbol).is_ok());
    }

    /// Returns the time of a session's last quote if that quote had these figures.
    pub(crate) fn last_time(
        &self,
        symbol: &Symbol,
        session: Session,
        state: (Date, Figures),
    ) -> Option<Timestamp> {
        let last = self.last_quotes.get(symbol)?.get(usize::from(session.code()))?;
        last.filter(|(day, figures, _)| (*day, *figures) == state).map(|(.., time)| time)
    }

    /// Returns whether a connection gets overnight pushes.
    pub(crate) fn sees_overnight(&self, connection: ConnectionId) -> bool {
        self.connections.get(&connection).is_some_and(|subscriber| subscriber.overnight)
    }

    /// Queues a push for one connection.
    pub(crate) fn send_to(
        &self,
        connection: ConnectionId,
        push: Push,
        encode: impl Fn(&Push) -> bytes::Bytes,
    ) {
        if let Some(subscriber) = self.connections.get(&connection) {
            // A closed or slow connection removes its own subscriptions.
            let push = Arc::new(EncodedPush::new(push, encode));
            subscriber.mailbox.put_quote(&push, &mut Wakeups::default()).ok();
        }
    }
}

/// The result of sending a push.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Number of subscribers that got the push.
    pub(crate) count: usize,
    pub(crate) encoded: Option<Arc<EncodedPush>>,
    pub(crate) longest_queue: usize,
    /// The mailbox with the longest queue.
    pub(crate) slowest: Option<Mailbox>,
}

impl Subscriber {
    fn sees(&self, session: Session) -> bool {
        session != Session::Overnight || self.overnight
    }
}
