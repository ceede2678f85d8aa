//! Subscriptions: connections by security, and securities by connection.

use std::collections::BTreeMap;

use market::Symbol;

/// The number of a connection, assigned by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// What a connection can subscribe to, with the protocol's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubType {
    Quote = 1,
    Depth = 2,
    Brokers = 3,
    Trades = 4,
}

/// A set of [`SubType`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SubTypes(u8);

/// Whether a connection gets the current quote when a security that it waits for arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPush {
    Wanted,
    Unwanted,
}

/// A connection that waited for a security, and is subscribed to it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub connection: ConnectionId,
    pub types: SubTypes,
    pub first_push: FirstPush,
}

/// The subscriptions of all connections.
///
/// A subscription is an entry in the list of its security (16 bytes) and one in the list of its
/// connection (24 bytes): 45 to 52 bytes with the unused capacity of the lists, and 180 bytes for
/// the only subscription to a security (`examples/measure.rs`).
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Subscribers by connection, ascending. No list is empty.
    securities: BTreeMap<Symbol, Vec<Subscriber>>,
    /// Securities ascending, the awaited ones included. No list is empty.
    connections: BTreeMap<ConnectionId, Vec<Symbol>>,
}

#[derive(Clone, Copy, Debug)]
struct Subscriber {
    connection: ConnectionId,
    types: SubTypes,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Subscribed,
    /// The store does not have the security yet.
    Waiting(FirstPush),
}

const _: () = assert!(size_of::<Subscriber>() == 16);
const _: () = assert!(size_of::<Symbol>() == 24);

impl SubType {
    pub const ALL: [SubType; 4] = [SubType::Quote, SubType::Depth, SubType::Brokers, SubType::Trades];

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<SubType> {
        SubType::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

impl SubTypes {
    pub const NONE: SubTypes = SubTypes(0);

    pub fn is_empty(self) -> bool {
        self == SubTypes::NONE
    }

    pub fn contains(self, kind: SubType) -> bool {
        self.0 & bit(kind) != 0
    }

    pub fn union(self, other: SubTypes) -> SubTypes {
        SubTypes(self.0 | other.0)
    }

    pub fn without(self, other: SubTypes) -> SubTypes {
        SubTypes(self.0 & !other.0)
    }

    /// The types, ascending.
    pub fn iter(self) -> impl Iterator<Item = SubType> {
        SubType::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<SubType> for SubTypes {
    fn from_iter<I: IntoIterator<Item = SubType>>(types: I) -> SubTypes {
        SubTypes(types.into_iter().fold(0, |bits, kind| bits | bit(kind)))
    }
}

fn bit(kind: SubType) -> u8 {
    1 << kind.code()
}

impl Registry {
    /// Adds types to a subscription, and returns all types that the connection has of the security
    /// now. Ends the wait for a security that was not stored.
    pub fn subscribe(&mut self, connection: ConnectionId, symbol: &Symbol, types: SubTypes) -> SubTypes {
        self.add(connection, symbol, types, State::Subscribed)
    }

    /// Adds a subscription to a security that is not stored yet: it begins when the security
    /// arrives. Types add up; a first push is sent if any of the requests wanted it.
    pub fn wait(
        &mut self,
        connection: ConnectionId,
        symbol: &Symbol,
        types: SubTypes,
        first_push: FirstPush,
    ) {
        self.add(connection, symbol, types, State::Waiting(first_push));
    }

    /// Subscribes the connections that waited for a security, and returns them, ascending.
    pub fn arrive(&mut self, symbol: &Symbol) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for subscriber in self.securities.get_mut(symbol).into_iter().flatten() {
            if let State::Waiting(first_push) = subscriber.state {
                let Subscriber { connection, types, .. } = *subscriber;
                subscriber.state = State::Subscribed;
                arrivals.push(Arrival { connection, types, first_push });
            }
        }
        arrivals
    }

    /// Ends types of a subscription, or of a wait. Types that the connection does not have are
    /// ignored.
    pub fn unsubscribe(&mut self, connection: ConnectionId, symbol: &Symbol, types: SubTypes) {
        let Some(subscribers) = self.securities.get_mut(symbol) else { return };
        let Ok(place) = subscribers.binary_search_by_key(&connection, |s| s.connection) else { return };
        let Some(subscriber) = subscribers.get_mut(place) else { return };
        subscriber.types = subscriber.types.without(types);
        if !subscriber.types.is_empty() {
            return;
        }
        self.remove_subscriber(connection, symbol);
        if let Some(symbols) = self.connections.get_mut(&connection) {
            if let Ok(place) = symbols.binary_search(symbol) {
                remove(symbols, place);
            }
            if symbols.is_empty() {
                self.connections.remove(&connection);
            }
        }
    }

    /// Ends all subscriptions and waits of a connection, on request or because it has closed.
    pub fn unsubscribe_all(&mut self, connection: ConnectionId) {
        for symbol in self.connections.remove(&connection).unwrap_or_default() {
            self.remove_subscriber(connection, &symbol);
        }
    }

    /// The subscriptions of a connection, ascending by symbol. Securities that it waits for are not
    /// listed.
    pub fn list(&self, connection: ConnectionId) -> impl Iterator<Item = (&Symbol, SubTypes)> {
        self.of(connection)
            .filter(|(_, subscriber)| subscriber.state == State::Subscribed)
            .map(|(symbol, subscriber)| (symbol, subscriber.types))
    }

    /// The securities that a connection waits for, ascending.
    pub fn waiting(&self, connection: ConnectionId) -> impl Iterator<Item = &Symbol> {
        self.of(connection)
            .filter(|(_, subscriber)| subscriber.state != State::Subscribed)
            .map(|(symbol, _)| symbol)
    }

    /// Whether a connection gets pushes of a security and type.
    pub fn has(&self, connection: ConnectionId, symbol: &Symbol, kind: SubType) -> bool {
        self.subscriber(connection, symbol).is_some_and(|subscriber| subscriber.gets(kind))
    }

    /// The connections that get a push of a security and type, ascending.
    pub fn recipients(&self, symbol: &Symbol, kind: SubType) -> impl Iterator<Item = ConnectionId> {
        let subscribers = self.securities.get(symbol).map_or(&[][..], Vec::as_slice);
        subscribers.iter().filter(move |s| s.gets(kind)).map(|s| s.connection)
    }

    /// The securities that some connection is subscribed to or waits for, ascending.
    pub fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.securities.keys()
    }

    fn of(&self, connection: ConnectionId) -> impl Iterator<Item = (&Symbol, &Subscriber)> {
        let symbols = self.connections.get(&connection).map_or(&[][..], Vec::as_slice);
        symbols.iter().filter_map(move |symbol| Some((symbol, self.subscriber(connection, symbol)?)))
    }

    fn subscriber(&self, connection: ConnectionId, symbol: &Symbol) -> Option<&Subscriber> {
        let subscribers = self.securities.get(symbol)?;
        let place = subscribers.binary_search_by_key(&connection, |s| s.connection).ok()?;
        subscribers.get(place)
    }

    fn add(&mut self, connection: ConnectionId, symbol: &Symbol, types: SubTypes, state: State) -> SubTypes {
        if types.is_empty() {
            return self.subscriber(connection, symbol).map_or(SubTypes::NONE, |s| s.types);
        }
        // Symbols share their text, so connections take that of the first subscriber.
        let symbol = match self.securities.get_key_value(symbol) {
            Some((known, _)) => known.clone(),
            None => symbol.clone(),
        };
        let subscribers = self.securities.entry(symbol.clone()).or_default();
        let place = match subscribers.binary_search_by_key(&connection, |s| s.connection) {
            Ok(place) => {
                let Some(subscriber) = subscribers.get_mut(place) else { return types };
                subscriber.types = subscriber.types.union(types);
                subscriber.state = subscriber.state.then(state);
                return subscriber.types;
            }
            Err(place) => place,
        };
        insert(subscribers, place, Subscriber { connection, types, state });
        let symbols = self.connections.entry(connection).or_default();
        if let Err(place) = symbols.binary_search(&symbol) {
            insert(symbols, place, symbol);
        }
        types
    }

    fn remove_subscriber(&mut self, connection: ConnectionId, symbol: &Symbol) {
        let Some(subscribers) = self.securities.get_mut(symbol) else { return };
        if let Ok(place) = subscribers.binary_search_by_key(&connection, |s| s.connection) {
            remove(subscribers, place);
        }
        if subscribers.is_empty() {
            self.securities.remove(symbol);
        }
    }
}

impl Subscriber {
    fn gets(&self, kind: SubType) -> bool {
        self.state == State::Subscribed && self.types.contains(kind)
    }
}

impl State {
    /// The state after another request: a subscription does not become a wait again.
    fn then(self, next: State) -> State {
        match (self, next) {
            (State::Subscribed, _) | (_, State::Subscribed) => State::Subscribed,
            (State::Waiting(FirstPush::Wanted), State::Waiting(_)) => self,
            (State::Waiting(FirstPush::Unwanted), State::Waiting(_)) => next,
        }
    }
}

/// Inserts, with room for a quarter more: doubling would leave a third of all memory unused.
fn insert<T>(list: &mut Vec<T>, place: usize, value: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 4 + 1);
    }
    list.insert(place, value);
}

fn remove<T>(list: &mut Vec<T>, place: usize) {
    list.remove(place);
    if list.len() < list.capacity() / 2 {
        list.shrink_to_fit();
    }
}
