//! Connection slots of accounts over all nodes, and the last gateway of each client, so that a
//! client that moves to another node keeps its gateway. Slots of dead nodes are not counted.
//! Session ids are self-authenticating and need no row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use market::{Symbol, Timestamp};

use super::lock_rows::{self, lock_of};
use super::{Shared, single_use, within};
use crate::engine::{Fault, Row, StoreError};
use crate::ids::{AccountId, Hash};

/// Transport of the streams of the pages. Their subscriptions count toward the limit of their
/// account, but they are not connections: they take no place among them, and are listed separately.
pub const STREAM: &str = "stream";

/// Transport of the slot of a running world. It is not a connection either: while it exists, the
/// world counts toward the limit on running worlds.
pub const RUNNING_WORLD: &str = "world";

/// Result of a request to run a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunSlotOutcome {
    Held {
        id: i64,
    },
    /// The world runs already, on any node.
    Running,
    /// The maximum number of worlds is running, over all nodes.
    TooMany,
}

/// A connection that signs in and needs a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSlot {
    pub account: AccountId,
    pub lineage: [u8; 16],
    /// Transport and peer address, as formatted by the server.
    pub transport: String,
    pub address: String,
    pub since: Timestamp,
}

/// A request for a connection slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotRequest<'a> {
    pub slot: &'a NewSlot,
    /// Maximum number of connections of the account.
    pub limit: u32,
    /// The slot that this connection already holds; `None` unless the connection signs in again.
    pub present: Option<i64>,
    /// A one-time password to consume; `None` if the client authenticates otherwise.
    pub password: Option<&'a Hash>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotOutcome {
    HeldSlot {
        id: i64,
        /// Number of the account's connections, including the new connection.
        online: u32,
        /// Older connections of the same client on this node, to be closed by the caller. Other
        /// nodes close their own connections.
        superseded: Vec<i64>,
        /// Trades that the client's last connection did not receive. Only for a client that signs
        /// in without a password, and only once.
        missed: MissedTrades,
    },
    /// No slot is free. The password was not consumed.
    Taken { online: u32 },
    /// The password was used by a concurrent sign-in.
    PasswordUsed,
}

/// A connection on any node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    pub id: i64,
    pub slot: NewSlot,
    pub is_here: bool,
    /// Whether the connection has stopped responding.
    pub is_silent: bool,
}

/// A connection or a stream on any node, with its subscriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSlot {
    pub row: SlotRow,
    /// Number of subscriptions that count toward the account's limit.
    pub subscriptions: u32,
    /// The text of [`Shared::set_pending`].
    pub pending: String,
}

/// The first missing sequence number of the trades of each security.
pub type MissedTrades = BTreeMap<Symbol, i64>;

/// Trades that a closed connection did not receive.
#[derive(Clone, Debug)]
struct Missed {
    slot: i64,
    account: AccountId,
    lineage: [u8; 16],
    trades: String,
}

/// Reason why a node must close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotEnding {
    /// The client has reconnected on another node.
    Superseded,
    ByOwner,
    ByOperator,
    /// The connection did not respond, and its slot was needed.
    Silent,
}

impl SlotEnding {
    const ALL: [SlotEnding; 4] =
        [SlotEnding::Superseded, SlotEnding::ByOwner, SlotEnding::ByOperator, SlotEnding::Silent];

    const fn as_str(self) -> &'static str {
        match self {
            SlotEnding::Superseded => "superseded",
            SlotEnding::ByOwner => "owner",
            SlotEnding::ByOperator => "operator",
            SlotEnding::Silent => "silent",
        }
    }

    fn parse(text: &str) -> Result<SlotEnding, Fault> {
        let found = SlotEnding::ALL.into_iter().find(|ending| ending.as_str() == text);
        found.ok_or_else(|| Fault::value("ending of a connection", text))
    }
}

impl Shared {
    /// Takes a slot if a slot is free, and consumes the password in the same transaction, so that a
    /// password admits only one connection. The connection's previous slot and older slots of the
    /// same lineage are freed first. If no slot is free, silent connections of other nodes lose
    /// their slots.
    pub fn sit(&self, request: &SlotRequest<'_>) -> Result<SlotOutcome, StoreError> {
        let SlotRequest { slot, limit, present, password } = *request;
        let node = self.node()?;
        // Slots that this node has freed must not be counted, so pending frees are written first.
        self.write_left()?;
        let db = self.durable();
        db.begin_write()?;
        let with_slot = (|| {
            db.first(sql::LOCK_ACCOUNT, [slot.account.0], |_| Ok(()))?;
            let live = db.all(sql::OF_ACCOUNT, [slot.account.0], |row| read(row, node.0))?;
            let is_present = |row: &SlotRow| present == Some(row.id);
            let (stay, go): (Vec<&SlotRow>, Vec<&SlotRow>) =
                live.iter().partition(|row| !is_present(row) && row.slot.lineage != slot.lineage);
            // Silent connections of this node were closed before this call.
            let silent: Vec<&SlotRow> =
                stay.iter().copied().filter(|row| row.is_silent && !row.is_here).collect();
            let is_crowded = count(stay.len()) >= limit;
            let stay = if is_crowded { stay.len() - silent.len() } else { stay.len() };
            if count(stay) >= limit {
                return Ok(SlotOutcome::Taken { online: count(live.len()) });
            }
            if let Some(hash) = password
                && db.run(single_use::password_sql::USE, [hash])? == 0
            {
                return Ok(SlotOutcome::PasswordUsed);
            }
            // Endings by slot id; `None` if the slot is freed immediately, because this node closes
            // the connection.
            let mut ends: BTreeMap<i64, Option<SlotEnding>> = BTreeMap::new();
            if is_crowded {
                ends.extend(silent.iter().map(|row| (row.id, Some(SlotEnding::Silent))));
            }
            ends.extend(go.iter().map(|row| (row.id, (!row.is_here).then_some(SlotEnding::Superseded))));
            // If the connection was signed in as another account, the slot of that account is also
            // freed.
            ends.extend(present.map(|id| (id, None)));
            for (id, ending) in ends {
                match ending {
                    Some(ending) => db.run(sql::END, (id, ending.as_str()))?,
                    None => db.run(sql::REMOVE, [id])?,
                };
            }
            let NewSlot { account, lineage, transport, address, since } = slot;
            let values = (account.0, node.0, lineage, transport, address, since.0);
            let id = db.one(sql::ADD, values, |row| row.get(0))?;
            let missed = match password {
                Some(_) => None,
                None => db.first(sql::TAKE_MISSED, [*lineage], |row| row.get::<String>(0))?,
            };
            let superseded =
                go.iter().filter(|row| row.is_here && !is_present(row)).map(|row| row.id).collect();
            let (online, missed) = (count(stay).saturating_add(1), missed.as_deref().map(read_missed));
            Ok(SlotOutcome::HeldSlot { id, online, superseded, missed: missed.unwrap_or_default() })
        })();
        match &with_slot {
            Ok(SlotOutcome::HeldSlot { id, .. }) => db.commit().inspect_err(|_| {
                // The commit may have succeeded despite the error, which would leave an unused
                // slot.
                self.left.add(*id);
            })?,
            Ok(_) | Err(_) => db.rollback()?,
        }
        with_slot
    }

    /// Adds a stream ([`STREAM`]) and returns its id. Its slot is freed like that of a connection.
    pub fn add_stream(&self, slot: &NewSlot) -> Result<i64, StoreError> {
        let NewSlot { account, lineage, transport, address, since } = slot;
        let values = (account.0, self.node()?.0, lineage, transport, address, since.0);
        self.quick().one(sql::ADD, values, |row| row.get(0))
    }

    /// Takes a slot ([`RUNNING_WORLD`]) for the world of an account, unless `most` worlds run on all
    /// nodes together. Its slot is freed like that of a connection. Concurrent requests are
    /// serialized.
    pub fn run_world(&self, slot: &NewSlot, most: u32) -> Result<RunSlotOutcome, StoreError> {
        // Worlds that this node has stopped must not be counted.
        self.write_left()?;
        let node = self.node()?;
        within(&self.quick(), |db| {
            let lock = lock_of(RUNNING_WORLD);
            db.all(lock_rows::LOCK, [lock.as_str(), lock.as_str()], |_| Ok(()))?;
            let (running, of_account): (i64, i64) =
                db.one(sql::COUNT_RUNNING, [slot.account.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if of_account > 0 {
                return Ok(RunSlotOutcome::Running);
            }
            if running >= i64::from(most) {
                return Ok(RunSlotOutcome::TooMany);
            }
            let NewSlot { account, lineage, transport, address, since } = slot;
            let values = (account.0, node.0, lineage, transport, address, since.0);
            Ok(RunSlotOutcome::Held { id: db.one(sql::ADD, values, |row| row.get(0))? })
        })
    }

    /// Returns the number of connections and streams of an account on other nodes.
    pub fn clients_elsewhere(&self, account: AccountId) -> Result<u32, StoreError> {
        let node = self.node()?;
        let count: i64 = self.quick().one(sql::COUNT_ELSEWHERE, (account.0, node.0), |row| row.get(0))?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Frees a slot. A background thread writes the change, so closing a connection does not block.
    pub fn leave(self: &std::sync::Arc<Self>, id: i64) {
        self.left.add(id);
        Shared::write_left_aside(self);
    }

    /// Records trades that a closed connection did not receive, for the next connection of the
    /// client. Call this before [`Shared::leave`], so that a background thread writes both at once.
    /// Nothing is recorded if the client has already reconnected.
    pub fn note_missed(
        self: &std::sync::Arc<Self>,
        slot: i64,
        account: AccountId,
        lineage: [u8; 16],
        missed: &MissedTrades,
    ) {
        let trades: Vec<String> = missed.iter().map(|(symbol, first)| format!("{symbol} {first}")).collect();
        self.left.add_missed(Missed { slot, account, lineage, trades: trades.join(SEPARATOR) });
        Shared::write_left_aside(self);
    }

    /// Writes pending frees and missed trades. If another thread is writing them, waits for its row
    /// locks, so that a later count excludes the freed slots.
    pub fn write_left(&self) -> Result<(), StoreError> {
        let (left, missed) = self.left.waiting();
        if left.is_empty() && missed.is_empty() {
            return Ok(());
        }
        within(&self.quick(), |db| {
            for Missed { slot, account, lineage, trades } in &missed {
                db.run(sql::ADD_MISSED, (lineage, trades, account.0, *slot))?;
            }
            left.iter().try_for_each(|id| db.run(sql::REMOVE, [*id]).map(drop))
        })?;
        self.left.written(&left, &missed);
        Ok(())
    }

    /// Describes what a connection requested and does not get, for the lists of all nodes. The store
    /// does not interpret the text.
    pub fn set_pending(&self, slot: i64, text: &str) -> Result<(), StoreError> {
        self.quick().run(sql::SET_PENDING, (slot, text)).map(drop)
    }

    /// Returns the number of an account's connections.
    pub fn online(&self, account: AccountId) -> Result<u32, StoreError> {
        self.write_left()?;
        let count: i64 = self.durable().one(sql::COUNT, [account.0], |row| row.get(0))?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Returns the connections and streams of an account, or of all accounts if `of` is `None`,
    /// oldest first. `most` limits only the list of all accounts.
    pub fn slots(&self, of: Option<AccountId>, most: u32) -> Result<Vec<ListedSlot>, StoreError> {
        let (db, node) = (self.durable(), self.node()?);
        self.write_left()?;
        let listed = |row: &Row<'_>| {
            let subscriptions = u32::try_from(row.get::<i64>(8)?).unwrap_or(u32::MAX);
            Ok(ListedSlot { row: read(row, node.0)?, subscriptions, pending: row.get(9)? })
        };
        match of {
            Some(account) => db.all(sql::LIST_OF_ACCOUNT, [account.0], listed),
            None => db.all(sql::LIST_ALL, [most], listed),
        }
    }

    pub fn slot(&self, id: i64) -> Result<Option<SlotRow>, StoreError> {
        let node = self.node()?;
        self.durable().first(sql::ONE, [id], |row| read(row, node.0))
    }

    /// Requests that the node of a connection closes it. Returns whether the connection existed and
    /// was not already ended.
    pub fn end_slot(&self, id: i64, why: SlotEnding) -> Result<bool, StoreError> {
        Ok(self.durable().run(sql::END, (id, why.as_str()))? > 0)
    }

    /// Records which connections of this node have stopped responding, and which respond again.
    pub fn set_silent(&self, changed: &[(i64, bool)]) -> Result<(), StoreError> {
        let db = self.quick();
        changed.iter().try_for_each(|(id, is_silent)| db.run(sql::SET_SILENT, (*id, *is_silent)).map(drop))
    }

    /// Returns connections of this node that other nodes have ended, until their slots are freed.
    pub(super) fn ended(&self) -> Result<Vec<(i64, SlotEnding)>, StoreError> {
        let node = self.node()?;
        self.quick().all(sql::ENDED, [node.0], |row| Ok((row.get(0)?, SlotEnding::parse(row.text(1)?)?)))
    }

    /// Returns the ids of this node's slots in the database.
    pub fn own_slots(&self) -> Result<Vec<i64>, StoreError> {
        let node = self.node()?;
        self.quick().all(sql::OF_NODE, [node.0], |row| row.get(0))
    }

    /// Registers connections of this node that the database may have lost. Waits for neither the
    /// disk nor a standby, so that a node can resume while a standby is down.
    pub(super) fn sit_again(&self, slots: &[(i64, NewSlot)]) -> Result<(), StoreError> {
        let node = self.node()?;
        within(&self.quick(), |db| {
            for (id, NewSlot { account, lineage, transport, address, since }) in slots {
                db.run(sql::ADD_AGAIN, (*id, account.0, node.0, lineage, transport, address, since.0))?;
            }
            Ok(())
        })
    }

    fn write_left_aside(shared: &std::sync::Arc<Shared>) {
        if !shared.left.begin_writing() {
            return;
        }
        let writer = shared.clone();
        let work = move || {
            // A failed write is retried at the next heartbeat.
            while !writer.left.end_writing_if(Leaving::is_empty) {
                if writer.write_left().is_err() {
                    writer.left.end_writing_if(|_| true);
                    return;
                }
            }
        };
        if std::thread::Builder::new().name("seats".to_owned()).spawn(work).is_err() {
            shared.left.end_writing_if(|_| true);
        }
    }
}

fn read(row: &Row<'_>, here: [u8; 16]) -> Result<SlotRow, Fault> {
    let node: [u8; 16] = row.get(2)?;
    Ok(SlotRow {
        id: row.get(0)?,
        slot: NewSlot {
            account: AccountId(row.get(1)?),
            lineage: row.get(3)?,
            transport: row.get(4)?,
            address: row.get(5)?,
            since: Timestamp(row.get(6)?),
        },
        is_here: node == here,
        is_silent: row.get(7)?,
    })
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Separates securities in the text of missed trades.
const SEPARATOR: &str = ",";

/// Reads the text of missed trades. What cannot be read is left out: it must not prevent a sign-in.
fn read_missed(text: &str) -> MissedTrades {
    let trades = text.split(SEPARATOR).filter_map(|of| of.split_once(' '));
    trades.filter_map(|(symbol, first)| Some((symbol.parse().ok()?, first.parse().ok()?))).collect()
}

/// Maximum number of bytes of missed trades that are not written yet. More are not recorded.
const MISSED_BYTES_MAX: usize = 16 << 20;

/// Slots that were freed but whose removal is not written yet.
#[derive(Debug, Default)]
pub(super) struct Left(std::sync::Mutex<Leaving>);

#[derive(Debug, Default)]
struct Leaving {
    /// Ids of the slots, including those being written. Sorted, because all writers lock rows in
    /// the order of ids.
    ids: BTreeSet<i64>,
    /// Missed trades by lineage, including those being written.
    missed: BTreeMap<[u8; 16], Missed>,
    missed_bytes: usize,
    is_writing: bool,
}

impl Leaving {
    fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.missed.is_empty()
    }
}

impl Left {
    fn add(&self, id: i64) {
        self.lock().ids.insert(id);
    }

    fn add_missed(&self, missed: Missed) {
        let mut leaving = self.lock();
        if leaving.missed_bytes.saturating_add(missed.trades.len()) > MISSED_BYTES_MAX {
            return;
        }
        leaving.missed_bytes += missed.trades.len();
        if let Some(before) = leaving.missed.insert(missed.lineage, missed) {
            leaving.missed_bytes -= before.trades.len();
        }
    }

    fn waiting(&self) -> (Vec<i64>, Vec<Missed>) {
        let leaving = self.lock();
        (leaving.ids.iter().copied().collect(), leaving.missed.values().cloned().collect())
    }

    fn written(&self, ids: &[i64], missed: &[Missed]) {
        let leaving = &mut *self.lock();
        ids.iter().for_each(|id| {
            leaving.ids.remove(id);
        });
        for Missed { slot, lineage, .. } in missed {
            // A later connection of the client may have closed in the meantime.
            if leaving.missed.get(lineage).is_some_and(|now| now.slot == *slot)
                && let Some(written) = leaving.missed.remove(lineage)
            {
                leaving.missed_bytes -= written.trades.len();
            }
        }
    }

    /// Returns whether the caller becomes the writer.
    fn begin_writing(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_writing, true)
    }

    /// Ends the caller's role as writer if `is_over` returns `true` for the pending ids. Returns
    /// whether it ended.
    fn end_writing_if(&self, is_over: impl FnOnce(&Leaving) -> bool) -> bool {
        let mut leaving = self.lock();
        let ends = is_over(&leaving);
        leaving.is_writing &= !ends;
        ends
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Leaving> {
        // A panic leaves no partial state, so mutex poisoning is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Stores a client's gateway under its lineage. The store does not interpret the lineage.
    pub fn remember_client(&self, lineage: &[u8; 16], gateway: &str) -> Result<(), StoreError> {
        self.quick().run(sql::REMEMBER, (lineage, gateway)).map(drop)
    }

    pub fn recall_client(&self, lineage: &[u8; 16]) -> Result<Option<String>, StoreError> {
        self.quick().first(sql::RECALL, [lineage], |row| row.get(0))
    }
}

pub(super) mod sql {
    use super::super::now_us;
    use crate::engine::Sql;

    /// Serializes sign-ins of an account. Does not block inserts of rows that reference the
    /// account.
    pub(crate) const LOCK_ACCOUNT: Sql =
        Sql::new("lock an account", "select id from account where id = $1 for no key update");

    macro_rules! live {
        () => {
            concat!(
                "from seat join node on node.id = seat.node where seat.ending is null and node.seen_us > ",
                now_us!(),
                " - 15000000"
            )
        };
    }
    pub(crate) use live;

    /// Excludes the rows with [`super::STREAM`] and [`super::RUNNING_WORLD`].
    macro_rules! is_connection {
        () => {
            " and seat.door not in ('stream', 'world')"
        };
    }

    /// Returns an account's connections on live nodes.
    pub(crate) const OF_ACCOUNT: Sql = Sql::new(
        "find connections",
        concat!(
            "select seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
            live!(),
            is_connection!(),
            " and seat.account_id = $1 order by seat.id"
        ),
    );

    macro_rules! listed {
        () => {
            concat!(
                "select seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, \
                 seat.is_silent, (select count(*) from subscription where subscription.seat = seat.id), seat.pending ",
                live!(),
                " and seat.door <> 'world'"
            )
        };
    }

    pub(crate) const LIST_OF_ACCOUNT: Sql =
        Sql::new("list connections", concat!(listed!(), " and seat.account_id = $1 order by seat.id"));

    pub(crate) const LIST_ALL: Sql =
        Sql::new("list connections", concat!(listed!(), " order by seat.id limit $1"));

    pub(crate) const SET_PENDING: Sql =
        Sql::new("describe subscriptions", "update seat set pending = $2 where id = $1");

    /// Records the missed trades of a client, unless the client has another connection.
    pub(crate) const ADD_MISSED: Sql = Sql::new(
        "record missed trades",
        concat!(
            "insert into missed_trades (lineage, trades, left_us) select $1, $2, ",
            now_us!(),
            " where not exists (select 1 from seat where account_id = $3 and lineage = $1 and id <> $4) \
             on conflict (lineage) do update set trades = excluded.trades, left_us = excluded.left_us"
        ),
    );

    /// Missed trades are sent for ten minutes.
    pub(crate) const TAKE_MISSED: Sql = Sql::new(
        "take missed trades",
        concat!(
            "with taken as (delete from missed_trades where lineage = $1 returning trades, left_us) \
             select trades from taken where left_us > ",
            now_us!(),
            " - 600000000"
        ),
    );

    pub(crate) const SWEEP_MISSED: Sql =
        Sql::new("delete old missed trades", "delete from missed_trades where left_us < $1");

    pub(crate) const ONE: Sql = Sql::new(
        "find a connection",
        concat!(
            "select seat.id, seat.account_id, seat.node, seat.lineage, seat.door, seat.address, seat.since, seat.is_silent ",
            live!(),
            is_connection!(),
            " and seat.id = $1"
        ),
    );

    pub(crate) const COUNT: Sql = Sql::new(
        "count connections",
        concat!("select count(*) ", live!(), is_connection!(), " and seat.account_id = $1"),
    );

    pub(crate) const COUNT_ELSEWHERE: Sql = Sql::new(
        "count connections",
        concat!(
            "select count(*) ",
            live!(),
            " and seat.door <> 'world' and seat.account_id = $1 and seat.node <> $2"
        ),
    );

    /// Returns the number of running worlds, and how many of them belong to an account.
    pub(crate) const COUNT_RUNNING: Sql = Sql::new(
        "count running worlds",
        concat!(
            "select count(*), count(*) filter (where seat.account_id = $1) ",
            live!(),
            " and seat.door = 'world'"
        ),
    );

    pub(crate) const ADD: Sql = Sql::new(
        "store a connection",
        "insert into seat (id, account_id, node, lineage, door, address, since) \
         values (nextval('seat_id'), $1, $2, $3, $4, $5, $6) returning id",
    );

    /// Inserts a connection that already has an id.
    pub(crate) const ADD_AGAIN: Sql = Sql::new(
        "store a connection",
        "insert into seat (id, account_id, node, lineage, door, address, since) values ($1, $2, $3, $4, $5, $6, $7) \
         on conflict (id) do nothing",
    );

    pub(crate) const REMOVE: Sql = Sql::new("release a connection", "delete from seat where id = $1");

    /// Marks a connection as ended. Its node closes it and removes the row.
    pub(crate) const END: Sql = Sql::new(
        "end a connection",
        concat!("update seat set ending = $2 where id = $1 and ending is null", is_connection!()),
    );

    /// Returns the ended connections of a node that the node has not closed yet.
    pub(crate) const ENDED: Sql = Sql::new(
        "find ended connections",
        "select id, ending from seat where node = $1 and ending is not null order by id",
    );

    pub(crate) const OF_NODE: Sql =
        Sql::new("find connections", "select id from seat where node = $1 order by id");

    /// Removes the connections of nodes that were removed.
    pub(crate) const SWEEP: Sql = Sql::new(
        "delete connections of stale nodes",
        "delete from seat where not exists (select 1 from node where node.id = seat.node)",
    );

    pub(crate) const SET_SILENT: Sql =
        Sql::new("record which connections respond", "update seat set is_silent = $2 where id = $1");

    pub(crate) const REMEMBER: Sql = Sql::new(
        "store the gateway of a client",
        concat!(
            "insert into session (lineage, gateway, seen_us) values ($1, $2, ",
            now_us!(),
            ") on conflict (lineage) do update set gateway = excluded.gateway, seen_us = excluded.seen_us"
        ),
    );

    pub(crate) const RECALL: Sql =
        Sql::new("read the gateway of a client", "select gateway from session where lineage = $1");

    pub(crate) const SWEEP_CLIENTS: Sql =
        Sql::new("delete old clients", "delete from session where seen_us < $1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_written_by_one_thread() {
        let left = Left::default();
        left.add(2);
        left.add(1);
        assert!(left.begin_writing());
        assert!(!left.begin_writing(), "one at a time");
        let (ids, _) = left.waiting();
        assert_eq!(ids, [1, 2]);
        left.add(3);
        assert_eq!(left.waiting().0, [1, 2, 3], "until they are written");
        left.written(&ids, &[]);
        assert!(!left.end_writing_if(Leaving::is_empty), "there is more to write");
        left.written(&[3], &[]);
        assert!(left.end_writing_if(Leaving::is_empty));
        assert!(left.begin_writing());
    }

    #[test]
    fn missed_trades_wait_until_they_are_written_up_to_a_limit() {
        let left = Left::default();
        let missed = |slot, lineage, trades: &str| {
            let trades = trades.to_owned();
            Missed { slot, account: AccountId(7), lineage: [lineage; 16], trades }
        };
        let waiting = |left: &Left| left.waiting().1.iter().map(|of| of.slot).collect::<Vec<_>>();
        left.add_missed(missed(1, 5, "700.HK 17"));
        left.add_missed(missed(2, 6, "700.HK 18"));
        let (_, first) = left.waiting();
        // The first client has reconnected and left again while the writer is busy.
        left.add_missed(missed(3, 5, "700.HK 19"));
        left.written(&[], &first);
        assert_eq!(waiting(&left), [3]);
        assert!(!left.end_writing_if(Leaving::is_empty));
        left.add_missed(missed(4, 8, &"x".repeat(MISSED_BYTES_MAX)));
        assert_eq!(waiting(&left), [3]);
        left.written(&[], &left.waiting().1);
        left.add_missed(missed(4, 8, &"x".repeat(MISSED_BYTES_MAX)));
        assert_eq!(waiting(&left), [4], "there is room again");
    }

    #[test]
    fn missed_trades_are_read_from_their_text() {
        let read = read_missed("700.HK 1784122320000001,AAPL.US 5,x,9988.HK,AAPL.US x");
        let of = |symbol: &str| read.get(&symbol.parse().unwrap()).copied();
        assert_eq!((of("700.HK"), of("AAPL.US"), read.len()), (Some(1_784_122_320_000_001), Some(5), 2));
        assert!(read_missed("").is_empty());
    }

    #[test]
    fn connections_exclude_streams_and_running_worlds() {
        let exclusion = format!("seat.door not in ('{STREAM}', '{RUNNING_WORLD}')");
        for sql in [sql::OF_ACCOUNT, sql::ONE, sql::COUNT, sql::END] {
            assert!(sql.text.contains(&exclusion), "{}", sql.text);
        }
    }

    #[test]
    fn slot_endings_round_trip() {
        for ending in SlotEnding::ALL {
            assert_eq!(SlotEnding::parse(ending.as_str()).unwrap(), ending);
        }
        assert!(SlotEnding::parse("").is_err());
    }
}
