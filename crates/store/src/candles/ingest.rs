//! Ingested rows. A batch is first appended to a log ([`IngestLog`]), which makes it durable with a
//! few statements, and later merged into blocks ([`IngestWriter`]). The log needs no writer lock,
//! so an import does not delay it. On SQLite it is a separate file (`ingest_file.rs`), so a merge
//! does not delay it either. The bytes of a batch are opaque.

use market::{Date, Symbol, Timestamp};

use crate::candles::batch::Batch;
use crate::candles::series::Lane;
use crate::candles::sql::COUNT_UP;
use crate::candles::store::Store;
use crate::candles::view::View;
use crate::candles::{INGESTED, NOTIFY, ingest_file};
use crate::engine::lock::WriteLocks;
use crate::engine::{Db, Fault, Row, StoreError, Value, signed};

/// Number of stored responses per source.
pub const INGEST_ANSWERS_KEPT: i64 = 1_000;

/// Maximum number of old batches that one transaction removes.
const REMOVED_MAX: i64 = 64;
/// Maximum number of trade ids that one transaction removes. More than two batches can add.
const TRADES_REMOVED_MAX: u64 = 10_000;

/// A logged batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestBatch {
    /// Position in the log, starting at 1.
    pub id: i64,
    /// The first sequence number reserved for the pushes of this batch.
    pub push_from: i64,
    pub body: Vec<u8>,
}

/// A stored minute that is not final yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialMinute {
    pub symbol: Symbol,
    pub lane: Lane,
    pub at: Timestamp,
    /// When the minute becomes final at the latest.
    pub final_at: Timestamp,
}

impl IngestBatch {
    fn read(row: &Row<'_>) -> Result<IngestBatch, Fault> {
        Ok(IngestBatch { id: row.get(0)?, push_from: row.get(1)?, body: row.get(2)? })
    }
}

impl PartialMinute {
    fn read(row: &Row<'_>) -> Result<PartialMinute, Fault> {
        let (symbol, lane) = (row.text(0)?, row.text(1)?);
        Ok(PartialMinute {
            symbol: symbol.parse().map_err(|_| Fault::value("symbol", symbol))?,
            lane: Lane::ALL
                .into_iter()
                .find(|known| known.as_str() == lane)
                .ok_or_else(|| Fault::value("lane", lane))?,
            at: Timestamp(row.get(2)?),
            final_at: Timestamp(row.get(3)?),
        })
    }
}

/// Connections that append batches to the log. For one thread at a time.
#[derive(Debug)]
pub struct IngestLog {
    db: Db,
    /// The candle database, if the log is a separate file.
    candles: Option<Db>,
}

/// A transaction that appends batches. Rolled back if dropped without a commit. Only one is open at
/// a time, in all processes.
#[derive(Debug)]
pub struct Append<'a> {
    log: &'a IngestLog,
    id: i64,
    is_committed: bool,
}

impl Store {
    /// Opens the log of ingested batches for appending.
    pub fn ingest_log(&self) -> Result<IngestLog, StoreError> {
        let candles = self.open_for_ingest()?;
        match ingest_file::open_or_create(&candles)? {
            Some(db) => Ok(IngestLog { db, candles: Some(candles) }),
            None => Ok(IngestLog { db: candles, candles: None }),
        }
    }

    /// Opens a writer for merging ingested batches. It does not hold the merge lock yet.
    pub fn ingest_writer(&self) -> Result<IngestWriter, StoreError> {
        let view = self.view_of(self.open_for_ingest()?);
        Ok(IngestWriter { store: self.without_copy(), view, locks: WriteLocks::default() })
    }
}

impl IngestLog {
    /// Begins to append batches.
    pub fn append(&mut self) -> Result<Append<'_>, StoreError> {
        self.db.begin_write()?;
        let is_current = self.is_current();
        if !matches!(is_current, Ok(true)) {
            // The rollback also follows an error, so that the connection does not remain in a
            // transaction.
            self.db.rollback()?;
            is_current?;
            // The log was moved into the candle database.
            if let Some(log) = self.candles.as_ref().map(ingest_file::open_or_create).transpose()?.flatten() {
                self.db = log;
            }
            self.db.begin_write()?;
        }
        let mut append = Append { log: self, id: 0, is_committed: false };
        append.begin_next()?;
        Ok(append)
    }

    /// Returns whether this is still the log of the candle database.
    fn is_current(&self) -> Result<bool, StoreError> {
        let Some(candles) = &self.candles else { return Ok(true) };
        Ok(ingest_file::key(candles)? == ingest_file::key(&self.db)?)
    }

    /// Returns the version of the store and the last merged batch, as of one instant.
    pub fn state(&self) -> Result<(i64, i64), StoreError> {
        let candles = self.candles.as_ref().unwrap_or(&self.db);
        candles.one(sql::STATE, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

impl Drop for Append<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            // Fails if SQLite has already rolled back after an error.
            self.db().rollback().ok();
        }
    }
}

impl Append<'_> {
    fn db(&self) -> &Db {
        &self.log.db
    }

    /// Returns the id that the batch will have.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Begins another batch of the transaction.
    pub fn begin_next(&mut self) -> Result<(), StoreError> {
        // On PostgreSQL, the lock of this row ensures that ids are committed in order.
        self.id = self.db().one(COUNT_UP, (1, "ingest"), |row| row.get(0))?;
        Ok(())
    }

    /// Returns the version of the store and the last merged batch.
    pub fn state(&self) -> Result<(i64, i64), StoreError> {
        self.log.state()
    }

    /// Removes a portion of the batches up to `through`, which no server needs. Removing all of
    /// them at once would delay the append.
    pub fn forget_batches(&self, through: i64) -> Result<(), StoreError> {
        self.db().run(sql::FORGET, (REMOVED_MAX, through)).map(drop)
    }

    /// Removes a portion of the ids of trades that arrived before `day`, in days since 1970.
    /// Returns whether it was the last portion.
    pub fn forget_trades(&self, day: i64) -> Result<bool, StoreError> {
        let removed = self.db().run(sql::FORGET_TRADES, (day, signed(TRADES_REMOVED_MAX)))?;
        Ok((removed as u64) < TRADES_REMOVED_MAX)
    }

    /// Returns the batches after an id, oldest first.
    pub fn batches_after(&self, id: i64) -> Result<Vec<IngestBatch>, StoreError> {
        self.db().all(sql::AFTER, (id, i64::MAX), IngestBatch::read)
    }

    /// Returns the sequence number of a source's last accepted batch.
    pub fn last_seq(&self, source: &str) -> Result<Option<i64>, StoreError> {
        self.db().first(sql::LAST_SEQ, [source], |row| row.get(0))
    }

    /// Returns the response to an earlier batch, or `None` if it is no longer stored.
    pub fn answer(&self, source: &str, seq: i64) -> Result<Option<String>, StoreError> {
        self.db().first(sql::ANSWER, (source, seq), |row| row.get(0))
    }

    /// Records the ids of trades that arrived on `today`, in days since 1970. Returns for each id
    /// whether it is new.
    pub fn add_trades(
        &self,
        source: &str,
        ids: &[(&Symbol, Date, &str)],
        today: i64,
    ) -> Result<Vec<bool>, StoreError> {
        let mut new = Vec::with_capacity(ids.len());
        for (symbol, day, id) in ids {
            let row = (source, symbol.as_str(), day.to_string(), *id, today);
            new.push(self.db().run(sql::ADD_TRADE, row)? > 0);
        }
        Ok(new)
    }

    /// Reserves `count` sequence numbers for pushes, at or after the commit time in microseconds.
    /// Returns the first one.
    pub fn reserve_pushes(&self, commit_us: i64, count: usize) -> Result<i64, StoreError> {
        let count = signed(count as u64);
        let next: i64 = self.db().one(sql::RESERVE_PUSHES, (commit_us, count), |row| row.get(0))?;
        Ok(next - count)
    }

    pub fn put(&self, push_from: i64, body: &[u8]) -> Result<(), StoreError> {
        self.db().run(sql::ADD, (self.id, push_from, body)).map(drop)
    }

    /// Records the last accepted batch of a source, and the response to it.
    pub fn put_answer(&self, source: &str, seq: i64, answer: &str) -> Result<(), StoreError> {
        self.db().run(sql::PUT_SEQ, (source, seq))?;
        self.db().run(sql::PUT_ANSWER, (source, seq, answer))?;
        let oldest = seq.saturating_sub(INGEST_ANSWERS_KEPT);
        self.db().run(sql::FORGET_ANSWERS, (source, oldest)).map(drop)
    }

    /// Commits the batch. It is durable on return.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.db().commit()?;
        self.is_committed = true;
        if let Some(channel) = self.db().channel() {
            // Servers that were not notified poll for batches several times a second.
            self.db().first(NOTIFY, (channel, INGESTED), |_| Ok(())).ok();
        }
        Ok(())
    }
}

/// Merges logged batches into blocks. It holds the merge lock only while it merges, so that an
/// import can write in between.
#[derive(Debug)]
pub struct IngestWriter {
    store: Store,
    view: View,
    locks: WriteLocks,
}

impl IngestWriter {
    /// Takes the merge lock, unless it is held. Fails with [`StoreError::Busy`] if another writer
    /// has it.
    pub fn lock(&mut self) -> Result<(), StoreError> {
        self.locks.take_merge(self.store.lock_place()?)
    }

    /// Like [`IngestWriter::lock`], but on PostgreSQL the lock is taken by each transaction: only
    /// [`IngestWriter::begin`] fails if another writer has it. The transaction must verify that
    /// the store has not changed since it was read.
    pub fn lock_each_transaction(&mut self) -> Result<(), StoreError> {
        self.locks.take_merge_for_transactions(self.store.lock_place()?)
    }

    pub fn unlock(&mut self) {
        self.locks.release_merge();
    }

    /// Begins a transaction. The merge lock must be held.
    pub fn begin(&mut self) -> Result<Batch<'_>, StoreError> {
        if !self.locks.has_merge() {
            return Err(StoreError::unfit("ingested rows", "the merge lock is not held"));
        }
        self.view.db().begin_write()?;
        if let Err(error) = self.locks.fence(self.view.db()) {
            self.view.db().rollback().ok();
            return Err(error);
        }
        Ok(Batch::new(&self.view, &self.locks, self.store.has_nodes()))
    }
}

impl View {
    /// Returns the last batch that was merged into blocks.
    pub fn ingest_applied(&self) -> Result<i64, StoreError> {
        self.far().one(sql::APPLIED, [], |row| row.get(0))
    }

    /// Returns the last logged batch.
    pub fn ingest_newest(&self) -> Result<i64, StoreError> {
        self.ask_ingest_log(|log| log.one(sql::NEWEST, [], |row| row.get(0)))
    }

    /// Returns logged batches in the range `after` (exclusive) to `through` (inclusive), oldest
    /// first. Batches are removed some minutes after they were merged.
    pub fn ingest_batches(&self, after: i64, through: i64) -> Result<Vec<IngestBatch>, StoreError> {
        self.ask_ingest_log(|log| log.all(sql::AFTER, (after, through), IngestBatch::read))
    }

    /// Returns the minutes of a symbol that are not final.
    pub fn partial_minutes(&self, symbol: &Symbol) -> Result<Vec<PartialMinute>, StoreError> {
        self.far().all(sql::PARTIALS, [symbol.as_str()], PartialMinute::read)
    }

    /// Returns all minutes that become final by `now` at the latest.
    pub fn minutes_final_by(&self, now: Timestamp) -> Result<Vec<PartialMinute>, StoreError> {
        self.far().all(sql::FINAL_BY, [now.0], PartialMinute::read)
    }

    /// Returns when the next minute becomes final.
    pub fn next_final_minute(&self) -> Result<Option<Timestamp>, StoreError> {
        let next: Option<i64> = self.far().one(sql::NEXT_FINAL, [], |row| row.get(0))?;
        Ok(next.map(Timestamp))
    }
}

impl Batch<'_> {
    /// Records that all batches up to `id` are merged.
    pub fn ingest_applied_through(&mut self, id: i64) -> Result<(), StoreError> {
        self.write(|batch| batch.db().run(sql::SET_APPLIED, [id]).map(drop))
    }

    /// Marks minutes as not final. No minute may occur twice.
    pub fn put_partial_minutes(&mut self, minutes: &[PartialMinute]) -> Result<(), StoreError> {
        self.write(|batch| {
            let rows: Vec<[Value<'_>; 4]> = minutes
                .iter()
                .map(|minute| {
                    [
                        Value::Text(minute.symbol.as_str()),
                        Value::Text(minute.lane.as_str()),
                        Value::Int(minute.at.0),
                        Value::Int(minute.final_at.0),
                    ]
                })
                .collect();
            batch.db().run_together(sql::PUT_PARTIAL, rows.iter().map(<[Value<'_>; 4]>::as_slice))
        })
    }

    /// Marks the minutes of each given lane of a symbol as final, up to and including a timestamp.
    pub fn finish_minutes(&mut self, through: &[(Symbol, Lane, Timestamp)]) -> Result<(), StoreError> {
        self.write(|batch| {
            let rows: Vec<[Value<'_>; 3]> = through
                .iter()
                .map(|(symbol, lane, at)| {
                    [Value::Text(symbol.as_str()), Value::Text(lane.as_str()), Value::Int(at.0)]
                })
                .collect();
            let mut finished = vec![false; through.len()];
            batch.db().each_together(
                sql::FINISH,
                rows.iter().map(<[Value<'_>; 3]>::as_slice),
                |number, _| {
                    if let Some(finished) = finished.get_mut(number) {
                        *finished = true;
                    }
                    Ok(())
                },
            )?;
            for ((symbol, _, _), _) in through.iter().zip(finished).filter(|(_, finished)| *finished) {
                batch.touch(symbol)?;
            }
            Ok(())
        })
    }
}

mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ALL;
        STATE: "read the version of the store",
            "select v.next, a.next from counter v join counter a on a.name = 'applied' where v.name = 'version'";
        APPLIED: "read the last merged batch", "select next from counter where name = 'applied'";
        NEWEST: "read the last ingested batch", "select next from counter where name = 'ingest'";
        SET_APPLIED: "record the last merged batch", "update counter set next = $1 where name = 'applied'";
        AFTER: "read ingested batches",
            "select id, push_from, body from ingest_batch where id > $1 and id <= $2 order by id";
        ADD: "write an ingested batch", "insert into ingest_batch (id, push_from, body) values ($1, $2, $3)";
        FORGET: "remove ingested batches",
            "delete from ingest_batch where id in (select id from ingest_batch order by id limit $1) \
             and id <= $2";
        RESERVE_PUSHES: "reserve sequence numbers",
            "update counter set next = case when next < $1 then $1 else next end + cast($2 as bigint) \
             where name = 'push' returning next";
        LAST_SEQ: "read a source", "select last_seq from ingest_source where source = $1";
        PUT_SEQ: "write a source",
            "insert into ingest_source (source, last_seq) values ($1, $2) \
             on conflict (source) do update set last_seq = excluded.last_seq";
        ANSWER: "read an earlier answer", "select answer from ingest_answer where source = $1 and seq = $2";
        PUT_ANSWER: "write an answer",
            "insert into ingest_answer (source, seq, answer) values ($1, $2, $3) \
             on conflict (source, seq) do update set answer = excluded.answer";
        FORGET_ANSWERS: "remove old answers", "delete from ingest_answer where source = $1 and seq <= $2";
        ADD_TRADE: "write the id of a trade",
            "insert into ingest_trade (source, symbol, day, id, noted_on) values ($1, $2, $3, $4, $5) \
             on conflict (source, symbol, day, id) do nothing";
        FORGET_TRADES: "remove the ids of trades",
            "delete from ingest_trade where (source, symbol, day, id) in \
             (select source, symbol, day, id from ingest_trade where noted_on < $1 limit $2)";
        PARTIALS: "read partial minutes",
            "select symbol, lane, at, final_at from partial_minute where symbol = $1 order by lane, at";
        FINAL_BY: "read partial minutes",
            "select symbol, lane, at, final_at from partial_minute where final_at <= $1 order by symbol, lane, at";
        NEXT_FINAL: "read partial minutes", "select min(final_at) from partial_minute";
        PUT_PARTIAL: "write a partial minute",
            "insert into partial_minute (symbol, lane, at, final_at) values ($1, $2, $3, $4) \
             on conflict (symbol, lane, at) do update set final_at = excluded.final_at"
            => "insert into partial_minute (symbol, lane, at, final_at) \
             select * from unnest(cast($1 as text[]), cast($2 as text[]), cast($3 as bigint[]), cast($4 as bigint[])) \
             on conflict (symbol, lane, at) do update set final_at = excluded.final_at";
        FINISH: "finish a minute",
            "delete from partial_minute where symbol = $1 and lane = $2 and at <= $3 returning 0"
            => "delete from partial_minute p \
             using unnest(cast($1 as text[]), cast($2 as text[]), cast($3 as bigint[])) with ordinality \
             as f (symbol, lane, at, number) \
             where p.symbol = f.symbol and p.lane = f.lane and p.at <= f.at returning f.number";
    }
}
