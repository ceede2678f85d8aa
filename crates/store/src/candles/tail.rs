//! Replaces the last blocks of many series together, for ingested rows. Equivalent to
//! [`Batch::replace_blocks`] for each series, with four statements instead of ten: the last block
//! has no successor, and a block with the same start overlaps no other one.

use market::Grain;

use crate::candles::batch::{Batch, refuse_unfit};
use crate::candles::block::{BlockEntry, NewBlock, Tail};
use crate::candles::series::Series;
use crate::engine::{StoreError, Value};

/// A new version of the last block of a series. It has the same start as the old version.
#[derive(Clone, Copy, Debug)]
pub struct TailChange<'a> {
    /// Not a daily series, whose adjustment factors would have to be recomputed.
    pub series: &'a Series,
    pub old: BlockEntry,
    pub new: &'a NewBlock,
}

impl Batch<'_> {
    /// Replaces the last blocks of series, each at most once. Fails if one of them is no longer the
    /// last block of its series. Returns the new directory entries in the same order.
    pub fn replace_tails(&mut self, changes: &[TailChange<'_>]) -> Result<Vec<BlockEntry>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|batch| {
            let entries = batch.tail_entries(changes)?;
            let bodies: Vec<[Value<'_>; 2]> = entries
                .iter()
                .zip(changes)
                .map(|(entry, change)| [Value::Int(entry.id), Value::Blob(&change.new.bytes)])
                .collect();
            batch.db().run_together(sql::ADD_BODIES, bodies.iter().map(<[Value<'_>; 2]>::as_slice))?;
            let ids = batch.put_tail_entries(changes, &entries)?;
            let old: Vec<[Value<'_>; 1]> = changes.iter().map(|change| [Value::Int(change.old.id)]).collect();
            batch.db().run_together(sql::REMOVE_BODIES, old.iter().map(<[Value<'_>; 1]>::as_slice))?;
            batch.total_tails(changes, &entries, &ids)?;
            Ok(entries)
        })
    }

    /// Checks the new blocks and allocates their ids.
    fn tail_entries(&mut self, changes: &[TailChange<'_>]) -> Result<Vec<BlockEntry>, StoreError> {
        let first_id = self.take_ids("block", changes.len())?;
        let entry = |(id, change): (i64, &TailChange<'_>)| {
            let TailChange { series, old, new } = change;
            if new.first != old.first || series.grain == Grain::Day {
                let reason = format!("the block from {} is not a version of its last block", new.first);
                return Err(StoreError::unfit(series, reason));
            }
            let bytes = refuse_unfit(series, new, None)?;
            Ok(BlockEntry {
                id,
                first: new.first,
                last: new.last,
                rows: new.rows,
                bytes,
                tail: Tail::of(&new.bytes),
            })
        };
        (first_id..).zip(changes).map(entry).collect()
    }

    /// Writes the entries, and returns the ids of their series.
    fn put_tail_entries(
        &self,
        changes: &[TailChange<'_>],
        entries: &[BlockEntry],
    ) -> Result<Vec<i64>, StoreError> {
        let rows: Vec<[Value<'_>; 7]> = entries
            .iter()
            .zip(changes)
            .map(|(entry, change)| {
                [
                    Value::Int(entry.last.0),
                    Value::Int(i64::from(entry.rows)),
                    Value::Int(i64::from(entry.bytes)),
                    Value::Int(entry.id),
                    Value::Blob(entry.tail.as_bytes()),
                    Value::Int(change.old.id),
                    Value::Int(entry.first.0),
                ]
            })
            .collect();
        self.ids_of_all(changes, sql::REPLACE_TAIL, rows.iter().map(<[Value<'_>; 7]>::as_slice))
    }

    /// Updates the totals of the series.
    fn total_tails(
        &mut self,
        changes: &[TailChange<'_>],
        entries: &[BlockEntry],
        ids: &[i64],
    ) -> Result<(), StoreError> {
        let mut rows = Vec::with_capacity(changes.len());
        for ((entry, TailChange { series, old, .. }), id) in entries.iter().zip(changes).zip(ids) {
            let version = self.touch(&series.symbol)?;
            rows.push([
                Value::Int(i64::from(entry.rows) - i64::from(old.rows)),
                Value::Int(i64::from(entry.bytes) - i64::from(old.bytes)),
                Value::Int(version),
                Value::Int(entry.last.0),
                Value::Int(*id),
                Value::Text(series.symbol.as_str()),
                Value::Text(series.grain.as_str()),
                Value::Text(series.lane.as_str()),
            ]);
        }
        self.ids_of_all(changes, sql::TOTAL_TAIL, rows.iter().map(<[Value<'_>; 8]>::as_slice)).map(drop)
    }

    /// Runs a statement that returns one id for each change.
    fn ids_of_all<'v>(
        &self,
        changes: &[TailChange<'_>],
        sql: crate::engine::Sql,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
    ) -> Result<Vec<i64>, StoreError> {
        let mut ids = vec![None; changes.len()];
        self.db().each_together(sql, rows, |number, row| {
            if let Some(id) = ids.get_mut(number) {
                *id = Some(row.get(1)?);
            }
            Ok(())
        })?;
        let known = |(id, change): (Option<i64>, &TailChange<'_>)| {
            let reason = || format!("block {} is not its last block", change.old.id);
            id.ok_or_else(|| StoreError::unfit(change.series, reason()))
        };
        ids.into_iter().zip(changes).map(known).collect()
    }
}

mod sql {
    use crate::engine::statements::statements;

    // On SQLite these statements verify and write the seals of the rows themselves; see
    // `engine/sqlite/seal.rs`.
    statements! {
        for crate::engine::migrations::ALL;
        REPLACE_TAIL: "replace the last block of a series",
            "update block_index set last_at = $1, row_count = $2, byte_count = $3, body_id = $4, tail = $5, \
             seal = seal('block_index', series_id, first_at, $1, $2, $3, $4, next_at, $5) \
             where body_id = $6 and first_at = $7 and next_at is null \
             and whole(seal, 'block_index', series_id, +first_at, last_at, row_count, byte_count, +body_id, +next_at, \
             tail) \
             returning 0, series_id"
            => "update block_index b set last_at = n.last_at, row_count = n.row_count, byte_count = n.byte_count, \
             body_id = n.body_id, tail = n.tail \
             from unnest(cast($1 as bigint[]), cast($2 as bigint[]), cast($3 as bigint[]), cast($4 as bigint[]), \
             cast($5 as bytea[]), cast($6 as bigint[]), cast($7 as bigint[])) with ordinality \
             as n (last_at, row_count, byte_count, body_id, tail, old_id, first_at, number) \
             where b.body_id = n.old_id and b.first_at = n.first_at and b.next_at is null \
             returning n.number, b.series_id";
        TOTAL_TAIL: "update a series",
            "update series set row_count = row_count + $1, byte_count = byte_count + $2, version = $3, \
             last_at = $4, seal = seal('series', id, symbol, grain, lane, row_count + $1, block_count, \
             byte_count + $2, first_at, $4, $3) \
             where id = $5 and symbol = $6 and grain = $7 and lane = $8 \
             and whole(seal, 'series', +id, +symbol, +grain, +lane, row_count, block_count, byte_count, first_at, \
             last_at, version) returning 0, id"
            => "update series s set row_count = s.row_count + n.row_count, byte_count = s.byte_count + n.byte_count, \
             version = n.version, last_at = n.last_at \
             from unnest(cast($1 as bigint[]), cast($2 as bigint[]), cast($3 as bigint[]), cast($4 as bigint[]), \
             cast($5 as bigint[]), cast($6 as text[]), cast($7 as text[]), cast($8 as text[])) with ordinality \
             as n (row_count, byte_count, version, last_at, id, symbol, grain, lane, number) \
             where s.id = n.id and s.symbol = n.symbol and s.grain = n.grain and s.lane = n.lane \
             returning n.number, s.id";
        ADD_BODIES: "write blocks", "insert into block_body (id, body) values ($1, $2)"
            => "insert into block_body (id, body) select * from unnest(cast($1 as bigint[]), cast($2 as bytea[]))";
        // On PostgreSQL other servers may still read the previous state; see `retired.rs`.
        REMOVE_BODIES: "remove blocks", "delete from block_body where id = $1"
            => "insert into retired_body (kind, id, at_us) \
             select 0, id, cast(extract(epoch from clock_timestamp()) * 1000000 as bigint) \
             from unnest(cast($1 as bigint[])) as old (id)";
    }
}

#[cfg(test)]
mod tests {
    use market::Timestamp;

    use super::*;
    use crate::candles::series::{Lane, SeriesInfo};
    use crate::candles::store::{Access, Store};

    fn series(symbol: &str, grain: Grain) -> Series {
        Series { symbol: symbol.parse().unwrap(), grain, lane: Lane::Regular }
    }

    fn block(first: i64, last: i64, text: &str) -> NewBlock {
        let rows = u32::try_from(last - first + 1).unwrap();
        NewBlock { first: Timestamp(first), last: Timestamp(last), rows, bytes: text.as_bytes().to_vec() }
    }

    fn open() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
        (dir, store)
    }

    /// Adds two blocks to each of two series, and returns the last entries.
    fn filled(store: &Store, all: &[Series]) -> Vec<BlockEntry> {
        let mut writer = store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        let mut last = Vec::new();
        for series in all {
            let added = [block(10, 19, "first"), block(20, 24, "last")];
            last.extend(batch.replace_blocks(series, &[], &added).unwrap().pop());
        }
        batch.commit().unwrap();
        last
    }

    /// Returns the directories and totals. Reading them verifies links and seals.
    fn state(store: &Store, all: &[Series]) -> Vec<(SeriesInfo, Vec<BlockEntry>, Vec<Vec<u8>>)> {
        let mut reader = store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        let read = |series: &Series| {
            let entries = snapshot.blocks(series, None, None).unwrap();
            let body = |entry: &BlockEntry| {
                let mut bytes = Vec::new();
                snapshot.block(entry, &mut bytes).unwrap();
                bytes
            };
            let bodies = entries.iter().map(body).collect();
            let infos = snapshot.all_series().unwrap();
            (infos.into_iter().find(|info| info.series == *series).unwrap(), entries, bodies)
        };
        all.iter().map(read).collect()
    }

    #[test]
    fn replacing_tails_equals_replacing_blocks() {
        let all = [series("700.HK", Grain::Minute), series("AAPL.US", Grain::Minute60)];
        let new = [block(20, 29, "longer"), block(20, 24, "changed")];
        let ((_one, one), (_other, other)) = (open(), open());
        let last = filled(&one, &all);
        let mut writer = one.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        let changes: Vec<TailChange<'_>> = all
            .iter()
            .zip(&last)
            .zip(&new)
            .map(|((series, old), new)| TailChange { series, old: *old, new })
            .collect();
        let entries = batch.replace_tails(&changes).unwrap();
        batch.commit().unwrap();
        drop(writer);

        assert_eq!(filled(&other, &all), last);
        let mut writer = other.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        let mut expected = Vec::new();
        for ((series, old), new) in all.iter().zip(&last).zip(&new) {
            expected.extend(batch.replace_blocks(series, &[old.id], std::slice::from_ref(new)).unwrap());
        }
        batch.commit().unwrap();
        drop(writer);
        assert_eq!(entries, expected);
        assert_eq!(state(&one, &all), state(&other, &all));
    }

    #[test]
    fn a_block_that_is_not_the_last_one_is_refused() {
        let (_dir, store) = open();
        let (apple, tencent) = (series("AAPL.US", Grain::Minute), series("700.HK", Grain::Minute));
        let all = [apple.clone(), tencent.clone()];
        let last = filled(&store, &all);
        let before = state(&store, &all);
        let first = before[0].1[0];
        let day = series("AAPL.US", Grain::Day);
        let new = block(20, 29, "new");
        for (series, old, new) in [
            // The block has a successor.
            (&apple, first, block(10, 19, "new")),
            // The block has another start.
            (&apple, last[0], block(21, 29, "new")),
            // The block was already replaced.
            (&apple, BlockEntry { id: 99, ..last[0] }, new.clone()),
            // The block belongs to another series.
            (&tencent, last[0], new.clone()),
            (&day, last[0], new.clone()),
            (&apple, last[0], NewBlock { rows: 0, ..new }),
        ] {
            let mut writer = store.writer().unwrap();
            let mut batch = writer.begin().unwrap();
            batch.replace_tails(&[TailChange { series, old, new: &new }]).unwrap_err();
            batch.commit().unwrap_err();
        }
        assert_eq!(state(&store, &all), before);
    }

    /// A new seal would hide a modification by another program.
    #[test]
    fn a_row_with_a_wrong_seal_is_not_replaced() {
        let apple = series("AAPL.US", Grain::Minute);
        for damage in ["update block_index set row_count = 4", "update series set block_count = 3"] {
            let (dir, store) = open();
            let old = filled(&store, std::slice::from_ref(&apple))[0];
            let other_program = rusqlite::Connection::open(dir.path().join("candles.db")).unwrap();
            other_program.execute_batch(damage).unwrap();
            let mut writer = store.writer().unwrap();
            let mut batch = writer.begin().unwrap();
            let new = block(20, 29, "new");
            let replaced = batch.replace_tails(&[TailChange { series: &apple, old, new: &new }]);
            assert!(matches!(replaced, Err(StoreError::Damaged { .. })), "{damage}: {replaced:?}");
            batch.commit().unwrap_err();
        }
    }
}
