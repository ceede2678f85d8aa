//! Subscriptions of connections, within the limit of their account. With a shared database, the
//! limit applies over all nodes. Each node also stores the subscriptions of its connections in
//! memory, to enforce the limit while the database is unreachable and to write the subscriptions
//! again afterwards.

use std::collections::{BTreeSet, HashMap};
use std::sync::{MutexGuard, PoisonError};

use market::{Symbol, Timestamp};
use store::{AccountId, Fit, NewSlot, Reserved, Shared, StoreError, SubscriptionRequest};

use super::{Connection, ConnectionId, Inner, Lineage, Registry, Subscribed};
use crate::cluster::is_decided_here;
use crate::health::briefly;
use crate::{Access, AccessError};

/// Maximum number of connections whose subscriptions are written with a heartbeat. Each connection
/// takes about a millisecond, and a node without a heartbeat for 15 s is considered dead.
const WRITTEN_MAX: usize = 1_000;

impl Access {
    /// Registers a stream of the pages, whose subscriptions count toward the limit of its account.
    /// The stream itself does not count as a connection.
    pub fn open_stream(
        &self,
        account: AccountId,
        address: &str,
        now: Timestamp,
    ) -> Result<Connection, AccessError> {
        let registry = &self.cluster.registry;
        let Some(shared) = self.cluster.shared() else { return Ok(registry.stream(account, None)) };
        let (lineage, transport) = (Lineage::new()?.0, store::STREAM.to_owned());
        let slot = NewSlot { account, lineage, transport, address: address.to_owned(), since: now };
        let id = match self.cluster.goes_on_alone()? {
            true => ConnectionId::alone()?,
            false => match briefly(|| shared.add_stream(&slot)) {
                Ok(id) => ConnectionId::of_slot(id),
                Err(error) if is_decided_here(&error) => {
                    self.cluster.note_unanswered(&error);
                    ConnectionId::alone()?
                }
                Err(error) => return Err(error.into()),
            },
        };
        Ok(registry.stream(account, Some((id, slot))))
    }

    /// Reserves subscriptions of a connection within the limit of its account. The limit applies to
    /// distinct symbols over all connections of the account on all nodes. Symbols to which the
    /// connection is already subscribed are ignored. While the database is unreachable, only
    /// connections of this node count. Calls for the same connection must not overlap. The
    /// reservations end with the connection.
    pub fn reserve_subscriptions(
        &self,
        account: AccountId,
        connection: ConnectionId,
        symbols: &[Symbol],
        (limit, fit): (u32, Fit),
    ) -> Result<Reserved, AccessError> {
        let registry = &self.cluster.registry;
        let symbols = &registry.not_subscribed(connection, symbols);
        let request = SubscriptionRequest { account, slot: connection.slot(), symbols, limit, fit };
        let Some(shared) = self.cluster.shared() else { return Ok(registry.reserve(connection, &request)) };
        let _reserving = registry.subscribing.read().unwrap_or_else(PoisonError::into_inner);
        if self.cluster.goes_on_alone()? {
            return Ok(registry.reserve(connection, &request));
        }
        match briefly(|| shared.reserve_subscriptions(&request)) {
            Ok(reserved) => {
                registry.lock().subscribe(account, connection, &reserved.added);
                Ok(reserved)
            }
            Err(error) if is_decided_here(&error) => {
                self.cluster.note_unanswered(&error);
                Ok(registry.reserve(connection, &request))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Releases subscriptions of a connection: the given symbols, or all. If the database does not
    /// answer, a later heartbeat releases them in the database.
    pub fn release_subscriptions(&self, connection: ConnectionId, symbols: Option<&[Symbol]>) {
        let registry = &self.cluster.registry;
        let _releasing = registry.subscribing.read().unwrap_or_else(PoisonError::into_inner);
        let released = registry.lock().unsubscribe(connection, symbols);
        let Some(shared) = self.cluster.shared().filter(|_| !released.is_empty()) else { return };
        if !self.cluster.health.is_unreachable() {
            match briefly(|| shared.release_subscriptions(connection.slot(), &released)) {
                Ok(()) => return,
                Err(error) => self.cluster.note_unanswered(&error),
            }
        }
        registry.lock().unwritten.insert(connection);
    }
}

impl Registry {
    fn not_subscribed(&self, id: ConnectionId, symbols: &[Symbol]) -> BTreeSet<Symbol> {
        let inner = self.lock();
        let subscribed = inner.subscriptions.get(&id);
        let is_new =
            |symbol: &&Symbol| !subscribed.is_some_and(|subscribed| subscribed.symbols.contains(*symbol));
        symbols.iter().filter(is_new).cloned().collect()
    }

    /// Reserves subscriptions and counts only connections of this node.
    fn reserve(&self, id: ConnectionId, request: &SubscriptionRequest<'_>) -> Reserved {
        let mut inner = self.lock();
        let used = inner.used.get(&request.account);
        let count = u32::try_from(used.map_or(0, HashMap::len)).unwrap_or(u32::MAX);
        let is_used = |symbol: &Symbol| used.is_some_and(|used| used.contains_key(symbol));
        let reserved = Reserved::of(request, count, is_used);
        inner.subscribe(request.account, id, &reserved.added);
        if self.shared.is_some() {
            inner.unwritten.insert(id);
        }
        reserved
    }

    /// Marks these connections as connections whose subscriptions must be written to the database.
    pub(crate) fn rewrite_subscriptions(&self, slots: impl IntoIterator<Item = i64>) {
        self.lock().unwritten.extend(slots.into_iter().map(ConnectionId::of_slot));
    }

    /// Marks all connections as connections whose subscriptions must be written to the database.
    pub(crate) fn rewrite_all_subscriptions(&self) {
        let inner = &mut *self.lock();
        inner.unwritten.extend(inner.subscriptions.keys());
    }

    /// Writes the subscriptions of up to [`WRITTEN_MAX`] marked connections to the database.
    pub(crate) fn write_subscriptions(&self, shared: &Shared) -> Result<(), StoreError> {
        for _ in 0..WRITTEN_MAX {
            let Some(id) = self.lock().unwritten.first().copied() else { break };
            // The subscriptions must not change between reading them in memory and committing them.
            let _writing = self.subscribing.write().unwrap_or_else(PoisonError::into_inner);
            let symbols = self.lock().subscriptions.get(&id).map(|of| of.symbols.clone()).unwrap_or_default();
            shared.write_subscriptions(id.slot(), &symbols)?;
            self.lock().unwritten.remove(&id);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Adds subscriptions, unless the connection was closed or superseded in the meantime.
    fn subscribe(&mut self, account: AccountId, id: ConnectionId, symbols: &[Symbol]) {
        let is_connected =
            self.live.get(&account).is_some_and(|live| live.iter().any(|(known, _)| *known == id));
        let is_live = is_connected || self.streams.get(&id) == Some(&account);
        if !is_live || symbols.is_empty() {
            return;
        }
        let new = || Subscribed { account, symbols: BTreeSet::new(), is_counted: true };
        let subscribed = self.subscriptions.entry(id).or_insert_with(new);
        let used = self.used.entry(account).or_default();
        for symbol in symbols {
            if subscribed.symbols.insert(symbol.clone()) {
                *used.entry(symbol.clone()).or_default() += 1;
            }
        }
    }

    /// Removes subscriptions and returns them.
    fn unsubscribe(&mut self, id: ConnectionId, symbols: Option<&[Symbol]>) -> BTreeSet<Symbol> {
        let Some(subscribed) = self.subscriptions.get_mut(&id) else { return BTreeSet::new() };
        // An empty set is retained, because a crash of the database may undo the release.
        let released = match symbols {
            None => std::mem::take(&mut subscribed.symbols),
            Some(symbols) => symbols.iter().filter_map(|symbol| subscribed.symbols.take(symbol)).collect(),
        };
        if subscribed.is_counted {
            let account = subscribed.account;
            self.uncount(account, &released);
        }
        released
    }

    /// Removes a closed connection.
    pub(super) fn remove_subscriptions(&mut self, id: ConnectionId) {
        self.unsubscribe(id, None);
        self.subscriptions.remove(&id);
    }

    /// Excludes a superseded connection from the limit of its account.
    pub(super) fn exclude_subscriptions(&mut self, id: ConnectionId) {
        let Some(subscribed) = self.subscriptions.get_mut(&id).filter(|of| of.is_counted) else { return };
        subscribed.is_counted = false;
        let (account, symbols) = (subscribed.account, subscribed.symbols.clone());
        self.uncount(account, &symbols);
    }

    fn uncount(&mut self, account: AccountId, symbols: &BTreeSet<Symbol>) {
        let Some(used) = self.used.get_mut(&account) else { return };
        for symbol in symbols {
            if let Some(connections) = used.get_mut(symbol) {
                *connections -= 1;
                if *connections == 0 {
                    used.remove(symbol);
                }
            }
        }
        if used.is_empty() {
            self.used.remove(&account);
        }
    }
}
