//! Index of subscriptions by security and by connection.

use std::collections::BTreeMap;

use market::Symbol;

/// Number of a connection, assigned by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Type of data that a connection can subscribe to. The discriminants are the protocol's codes.
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

/// Whether a connection with a pending subscription requests the current quote when the
/// subscription becomes active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPush {
    Wanted,
    Unwanted,
}

/// A connection whose pending subscription has become active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub connection: ConnectionId,
    pub types: SubTypes,
    pub first_push: FirstPush,
}

/// Subscriptions of all connections. A subscription is pending until its security is stored, and
/// then active.
///
/// A subscription has one entry in its security's list (16 bytes) and one in its connection's list
/// (24 bytes). Including the unused capacity of both lists, it takes 45 to 52 bytes, or 180 bytes
/// if the security has no other subscription (`examples/measure.rs`).
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Subscribers of each security, sorted by connection. No list is empty.
    securities: BTreeMap<Symbol, Vec<Subscriber>>,
    /// Securities of each connection, sorted by symbol, including pending subscriptions. No list is
    /// empty.
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
    /// Pending, because the store does not have the security yet.
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

    /// Returns the types in ascending order.
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
    /// Adds types to a subscription and returns all types that the connection now has for the
    /// security. A pending subscription becomes active.
    pub fn subscribe(&mut self, connection: ConnectionId, symbol: &Symbol, types: SubTypes) -> SubTypes {
        self.add(connection, symbol, types, State::Subscribed)
    }

    /// Adds a pending subscription to a security that is not stored yet. Repeated calls add types,
    /// and the first push is sent if any call requested it. An active subscription remains active.
    pub fn wait(
        &mut self,
        connection: ConnectionId,
        symbol: &Symbol,
        types: SubTypes,
        first_push: FirstPush,
    ) {
        self.add(connection, symbol, types, State::Waiting(first_push));
    }

    /// Activates the pending subscriptions to a security and returns them, sorted by connection.
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

    /// Removes types from an active or pending subscription. Ignores types that the connection does
    /// not have.
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

    /// Removes all active and pending subscriptions of a connection.
    pub fn unsubscribe_all(&mut self, connection: ConnectionId) {
        for symbol in self.connections.remove(&connection).unwrap_or_default() {
            self.remove_subscriber(connection, &symbol);
        }
    }

    /// Returns the active subscriptions of a connection, sorted by symbol.
    pub fn list(&self, connection: ConnectionId) -> impl Iterator<Item = (&Symbol, SubTypes)> {
        self.of(connection)
            .filter(|(_, subscriber)| subscriber.state == State::Subscribed)
            .map(|(symbol, subscriber)| (symbol, subscriber.types))
    }

    /// Returns the securities to which a connection has a pending subscription, sorted by symbol.
    pub fn waiting(&self, connection: ConnectionId) -> impl Iterator<Item = &Symbol> {
        self.of(connection)
            .filter(|(_, subscriber)| subscriber.state != State::Subscribed)
            .map(|(symbol, _)| symbol)
    }

    /// Returns the securities of a connection's active and pending subscriptions, sorted.
    pub fn securities_of(&self, connection: ConnectionId) -> &[Symbol] {
        self.connections.get(&connection).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a connection receives pushes of this type for a security.
    pub fn has(&self, connection: ConnectionId, symbol: &Symbol, kind: SubType) -> bool {
        self.subscriber(connection, symbol).is_some_and(|subscriber| subscriber.gets(kind))
    }

    /// Returns the connections that receive pushes of this type for a security, in ascending order.
    pub fn recipients(&self, symbol: &Symbol, kind: SubType) -> impl Iterator<Item = ConnectionId> {
        let subscribers = self.securities.get(symbol).map_or(&[][..], Vec::as_slice);
        subscribers.iter().filter(move |s| s.gets(kind)).map(|s| s.connection)
    }

    /// Returns the connections with an active or pending subscription, in ascending order.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.connections.keys().copied()
    }

    /// Returns the securities with an active or pending subscription, sorted by symbol.
    pub fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.securities.keys()
    }

    fn of(&self, connection: ConnectionId) -> impl Iterator<Item = (&Symbol, &Subscriber)> {
        self.securities_of(connection)
            .iter()
            .filter_map(move |symbol| Some((symbol, self.subscriber(connection, symbol)?)))
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
        // Clones of a symbol share its text, so all connections store clones of the first
        // subscriber's symbol.
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
    /// Returns the state after another request. An active subscription never becomes pending again.
    fn then(self, next: State) -> State {
        match (self, next) {
            (State::Subscribed, _) | (_, State::Subscribed) => State::Subscribed,
            (State::Waiting(FirstPush::Wanted), State::Waiting(_)) => self,
            (State::Waiting(FirstPush::Unwanted), State::Waiting(_)) => next,
        }
    }
}

/// Inserts a value, growing a full list by a quarter. Doubling the capacity would leave a third of
/// all memory unused.
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
