//! Registry of open connections by account. A connection is open from sign-on until it is closed.
//! [`Lineage`] links the successive connections of one client.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use market::Symbol;
use store::{AccountId, MissedTrades, NewSlot, Shared};

use crate::secret::random;
use crate::{AccessError, Slots};

mod running;
mod subscriptions;

pub use running::RunOutcome;

/// Identifies the successive connections of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lineage(pub(crate) [u8; 16]);

impl Lineage {
    /// Returns a random lineage for a client that has no earlier connection.
    pub fn new() -> Result<Lineage, AccessError> {
        random().map(Lineage)
    }
}

/// Identifies an open connection across all nodes. The server maps it to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

impl ConnectionId {
    pub(crate) fn of_slot(id: i64) -> ConnectionId {
        ConnectionId(id.unsigned_abs())
    }

    /// Returns the number that is shown to users.
    pub fn number(self) -> u64 {
        self.0
    }

    pub(crate) fn slot(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// Returns a random id for a connection that signs on while the database, which normally issues
    /// the ids, is unreachable. The random ids are greater than all ids issued by the database.
    pub(crate) fn alone() -> Result<ConnectionId, AccessError> {
        const FIRST: u64 = 1 << 62;
        Ok(ConnectionId(FIRST | (u64::from_be_bytes(random::<8>()?) >> 2)))
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ConnectionId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<ConnectionId, ParseIntError> {
        text.parse().map(ConnectionId)
    }
}

/// A connection slot, which counts towards the account's limit until it is dropped or superseded. A
/// stream of the pages and a running world have one too, which do not count.
#[derive(Debug)]
pub struct Connection {
    id: ConnectionId,
    account: AccountId,
    registry: Arc<Registry>,
}

impl Connection {
    pub fn id(&self) -> ConnectionId {
        self.id
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.registry.leave(self.account, self.id);
    }
}

/// Open connections of this process.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
    /// Connection slots of all nodes; `None` without a shared database.
    shared: Option<Arc<Shared>>,
    /// Locked for reading while subscriptions change, and for writing while in-memory subscriptions
    /// are written to the database.
    subscribing: RwLock<()>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    live: HashMap<AccountId, Vec<(ConnectionId, Lineage)>>,
    /// Open streams of the pages, which are not connections.
    streams: BTreeMap<ConnectionId, AccountId>,
    /// Worlds that run on this node.
    running: BTreeSet<ConnectionId>,
    /// This node's slots in the shared database, including those to be written after an outage.
    slots: HashMap<ConnectionId, NewSlot>,
    subscriptions: BTreeMap<ConnectionId, Subscribed>,
    /// Number of counted connections by account and symbol. No number is 0, and no map is empty.
    used: HashMap<AccountId, HashMap<Symbol, u32>>,
    /// Connections whose subscriptions in memory and in the database may differ.
    unwritten: BTreeSet<ConnectionId>,
}

/// Subscriptions of a connection.
#[derive(Debug)]
struct Subscribed {
    account: AccountId,
    symbols: BTreeSet<Symbol>,
    /// Whether these subscriptions count toward the account's limit. Those of a superseded
    /// connection do not.
    is_counted: bool,
}

pub(crate) struct HeldSlot {
    pub(crate) connection: Connection,
    pub(crate) online: u32,
    /// Older connections of the same lineage, which are no longer counted. The server closes their
    /// sockets.
    pub(crate) superseded: Vec<ConnectionId>,
    /// Trades that the client's last connection did not receive.
    pub(crate) missed: MissedTrades,
}

impl Registry {
    pub(crate) fn of(shared: Option<Arc<Shared>>) -> Registry {
        Registry { shared, ..Registry::default() }
    }

    /// Registers a connection that already has a slot in the shared database.
    pub(crate) fn with_slot(self: &Arc<Registry>, id: ConnectionId, slot: NewSlot) -> Connection {
        let (account, lineage) = (slot.account, Lineage(slot.lineage));
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.live.entry(account).or_default().push((id, lineage));
        inner.slots.insert(id, slot);
        Connection { id, account, registry: Arc::clone(self) }
    }

    /// Registers a stream. `slot` is its slot in the shared database.
    pub(crate) fn stream(
        self: &Arc<Registry>,
        account: AccountId,
        slot: Option<(ConnectionId, NewSlot)>,
    ) -> Connection {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last += 1;
        let id = slot.as_ref().map_or(ConnectionId(inner.last), |(id, _)| *id);
        inner.slots.extend(slot);
        inner.streams.insert(id, account);
        Connection { id, account, registry: Arc::clone(self) }
    }

    /// Returns whether this node has an open connection with this id and a slot in the shared
    /// database.
    pub(crate) fn has(&self, id: ConnectionId) -> bool {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).slots.contains_key(&id)
    }

    /// Returns this node's slots in the shared database, ordered by id.
    pub(crate) fn slots(&self) -> Vec<(i64, NewSlot)> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut slots: Vec<_> = inner.slots.iter().map(|(id, slot)| (id.slot(), slot.clone())).collect();
        slots.sort_unstable_by_key(|(id, _)| *id);
        slots
    }

    /// Takes a connection slot, or returns the numbers of open and allowed connections if all slots
    /// are taken. The slot of `present`, the connection that signs on again, and the slots of older
    /// connections of the same lineage are released first, so that a client is not locked out by
    /// its own earlier connections.
    pub(crate) fn sit(
        self: &Arc<Registry>,
        account: AccountId,
        lineage: Lineage,
        present: Option<&Connection>,
        limit: u32,
    ) -> Result<HeldSlot, Slots> {
        self.sit_as(None, (account, lineage), present, limit)
    }

    /// Like [`Registry::sit`], but used while the shared database is unreachable. The slot has the
    /// given id and is written to the database after recovery.
    pub(crate) fn sit_alone(
        self: &Arc<Registry>,
        id: ConnectionId,
        slot: NewSlot,
        present: Option<&Connection>,
        limit: u32,
    ) -> Result<HeldSlot, Slots> {
        let who = (slot.account, Lineage(slot.lineage));
        self.sit_as(Some((id, slot)), who, present, limit)
    }

    fn sit_as(
        self: &Arc<Registry>,
        retained: Option<(ConnectionId, NewSlot)>,
        (account, lineage): (AccountId, Lineage),
        present: Option<&Connection>,
        limit: u32,
    ) -> Result<HeldSlot, Slots> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let present = present.map(|connection| (connection.account, connection.id));
        let live = inner.live.get(&account).map(Vec::as_slice).unwrap_or_default();
        let is_present = |id: ConnectionId| present == Some((account, id));
        let (stay, go): (Vec<_>, Vec<_>) =
            live.iter().partition(|(id, line)| !is_present(*id) && *line != lineage);
        let others = count(&stay);
        if others >= limit {
            return Err(Slots { online: count(live), limit });
        }
        for (id, _) in &go {
            inner.exclude_subscriptions(*id);
        }
        let superseded = go.into_iter().map(|(id, _)| id).filter(|id| !is_present(*id)).collect();
        inner.last += 1;
        let id = retained.as_ref().map_or(ConnectionId(inner.last), |(id, _)| *id);
        inner.slots.extend(retained);
        let mut stay = stay;
        stay.push((id, lineage));
        inner.live.insert(account, stay);
        // The connection was signed on to another account, whose slot is released.
        if let Some((before, id)) = present.filter(|(before, _)| *before != account) {
            inner.leave(before, id);
        }
        let connection = Connection { id, account, registry: Arc::clone(self) };
        Ok(HeldSlot { connection, online: others + 1, superseded, missed: MissedTrades::new() })
    }

    pub(crate) fn online(&self, account: AccountId) -> u32 {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.live.get(&account).map_or(0, |live| count(live))
    }

    fn leave(&self, account: AccountId, id: ConnectionId) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).leave(account, id);
        if let Some(shared) = &self.shared {
            shared.leave(id.slot());
        }
    }
}

impl Inner {
    fn leave(&mut self, account: AccountId, id: ConnectionId) {
        self.slots.remove(&id);
        self.streams.remove(&id);
        self.running.remove(&id);
        self.remove_subscriptions(id);
        self.unwritten.remove(&id);
        if let Some(live) = self.live.get_mut(&account) {
            live.retain(|(known, _)| *known != id);
            if live.is_empty() {
                self.live.remove(&account);
            }
        }
    }
}

fn count(live: &[(ConnectionId, Lineage)]) -> u32 {
    u32::try_from(live.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: AccountId = AccountId(1);
    const BOB: AccountId = AccountId(2);

    fn sit(registry: &Arc<Registry>, account: AccountId, lineage: Lineage) -> HeldSlot {
        registry.sit(account, lineage, None, 2).unwrap_or_else(|slots| panic!("{slots:?}"))
    }

    #[test]
    fn a_connection_counts_until_it_is_dropped() {
        let registry = Arc::new(Registry::default());
        let line = || Lineage::new().unwrap();
        let first = sit(&registry, ALICE, line());
        let second = sit(&registry, ALICE, line());
        assert_eq!((first.online, second.online), (1, 2));
        let full = registry.sit(ALICE, line(), None, 2).map(drop);
        assert_eq!(full, Err(Slots { online: 2, limit: 2 }));
        assert_eq!(sit(&registry, BOB, line()).online, 1);
        drop(first);
        assert_eq!(registry.online(ALICE), 1);
        sit(&registry, ALICE, line());
        drop(second);
        assert_eq!((registry.online(ALICE), registry.online(BOB)), (0, 0));
        assert!(registry.inner.lock().unwrap().live.is_empty(), "nothing is left behind");
    }

    #[test]
    fn a_reconnecting_client_supersedes_its_own_slot() {
        let registry = Arc::new(Registry::default());
        let line = Lineage::new().unwrap();
        let old = sit(&registry, ALICE, line);
        let _other = sit(&registry, ALICE, Lineage::new().unwrap());
        let new = sit(&registry, ALICE, line);
        assert_eq!(new.superseded, [old.connection.id()]);
        assert_eq!(new.online, 2);
        // The old socket closes later, which must not release the slot of the new connection.
        drop(old);
        assert_eq!(registry.online(ALICE), 2);
    }

    #[test]
    fn signing_on_twice_on_a_connection_takes_one_slot() {
        let registry = Arc::new(Registry::default());
        let first = sit(&registry, ALICE, Lineage::new().unwrap());
        let _other = sit(&registry, ALICE, Lineage::new().unwrap());
        let again = registry.sit(ALICE, Lineage::new().unwrap(), Some(&first.connection), 2);
        let again = again.unwrap_or_else(|slots| panic!("{slots:?}"));
        assert_eq!((again.online, again.superseded.len()), (2, 0));
        drop(first);
        assert_eq!(registry.online(ALICE), 2);
        let as_bob = registry.sit(BOB, Lineage::new().unwrap(), Some(&again.connection), 2);
        assert_eq!(as_bob.map(|with_slot| with_slot.online), Ok(1));
        assert_eq!(registry.online(ALICE), 1);
    }

    #[test]
    fn a_refused_connection_changes_nothing() {
        let registry = Arc::new(Registry::default());
        let first = sit(&registry, ALICE, Lineage::new().unwrap());
        let _full = sit(&registry, BOB, Lineage::new().unwrap());
        let refused = registry.sit(BOB, Lineage::new().unwrap(), Some(&first.connection), 1).map(drop);
        assert_eq!(refused, Err(Slots { online: 1, limit: 1 }));
        assert_eq!((registry.online(ALICE), registry.online(BOB)), (1, 1));
    }
}
