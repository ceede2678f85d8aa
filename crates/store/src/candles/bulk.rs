//! Replacement of blocks over a network. Equivalent to
//! [`Batch::replace_blocks`](crate::Batch::replace_blocks), but sends each statement once for all
//! blocks, because a round trip costs more than the statement.

use std::collections::BTreeMap;

use market::Timestamp;

use crate::candles::batch::{Batch, Totals, refuse_unfit};
use crate::candles::block::{BlockEntry, NewBlock, Tail};
use crate::candles::series::Series;
use crate::candles::sql;
use crate::engine::{StoreError, Value};

/// First and last timestamp of a block, both inclusive.
type Span = (Timestamp, Timestamp);

impl Batch<'_> {
    /// Removes the blocks with the ids `removed` from a series and adds `added`. Returns the new
    /// entries in the order of `added`, and the change of the series' totals.
    pub(super) fn replace_all_at_once(
        &mut self,
        series: &Series,
        (series_id, is_new): (i64, bool),
        removed: &[i64],
        added: &[NewBlock],
    ) -> Result<(Vec<BlockEntry>, Totals), StoreError> {
        let mut change = Totals::default();
        // The predecessors of the removed blocks need new links.
        let mut points = self.remove_entries(series, series_id, removed, &mut change)?;
        self.refuse_overlaps(series, (series_id, is_new), added)?;
        let first_id = if added.is_empty() { 0 } else { self.take_ids("block", added.len())? };
        let entries: Vec<BlockEntry> = (first_id..)
            .zip(added)
            .map(|(id, block)| BlockEntry {
                id,
                first: block.first,
                last: block.last,
                rows: block.rows,
                // `refuse_overlaps` has rejected longer blocks.
                bytes: u32::try_from(block.bytes.len()).unwrap_or(u32::MAX),
                tail: Tail::of(&block.bytes),
            })
            .collect();
        let bodies: Vec<[Value<'_>; 2]> = entries
            .iter()
            .zip(added)
            .map(|(entry, block)| [Value::Int(entry.id), Value::Blob(&block.bytes)])
            .collect();
        self.db().run_all(sql::ADD_BODY, bodies.iter().map(<[Value<'_>; 2]>::as_slice))?;
        // Entries are written newest first, because each entry looks up its successor when it is
        // written.
        let mut sorted: Vec<&BlockEntry> = entries.iter().collect();
        sorted.sort_by_key(|entry| std::cmp::Reverse(entry.first));
        let rows: Vec<[Value<'_>; 7]> = sorted.iter().map(|entry| row(series_id, entry)).collect();
        self.db().run_all(sql::ADD_ENTRY, rows.iter().map(<[Value<'_>; 7]>::as_slice))?;
        // In a new series the blocks have no stored predecessors, and have already found their
        // successors.
        points.extend(entries.iter().map(|entry| entry.first.0).filter(|_| !is_new));
        points.sort_unstable();
        points.dedup();
        let links: Vec<[Value<'_>; 2]> =
            points.iter().map(|point| [Value::Int(series_id), Value::Int(*point)]).collect();
        self.db().run_all(sql::RELINK_BEFORE, links.iter().map(<[Value<'_>; 2]>::as_slice))?;
        entries.iter().for_each(|entry| change.add(entry));
        Ok((entries, change))
    }

    /// Removes entries from the directory. Returns the timestamps at which the removed blocks
    /// began.
    fn remove_entries(
        &mut self,
        series: &Series,
        series_id: i64,
        removed: &[i64],
        change: &mut Totals,
    ) -> Result<Vec<i64>, StoreError> {
        let keys: Vec<[Value<'_>; 2]> =
            removed.iter().map(|id| [Value::Int(*id), Value::Int(series_id)]).collect();
        let mut points: Vec<Option<i64>> = vec![None; removed.len()];
        let gone = keys.iter().map(<[Value<'_>; 2]>::as_slice);
        self.db().each_of_all(sql::REMOVE_ENTRY, gone, |number, row| {
            change.remove((row.get(0)?, row.get(1)?));
            if let Some(point) = points.get_mut(number) {
                *point = Some(row.get(2)?);
            }
            Ok(())
        })?;
        if let Some((id, _)) = removed.iter().zip(&points).find(|(_, point)| point.is_none()) {
            let reason = format!("block {id} to be replaced is not one of its blocks");
            return Err(StoreError::unfit(series, reason));
        }
        let bodies: Vec<[Value<'_>; 1]> = removed.iter().map(|id| [Value::Int(*id)]).collect();
        self.db().run_all(sql::REMOVE_BODY, bodies.iter().map(<[Value<'_>; 1]>::as_slice))?;
        Ok(points.into_iter().flatten().collect())
    }

    /// Rejects blocks that are invalid, or that overlap stored blocks or each other.
    fn refuse_overlaps(
        &self,
        series: &Series,
        (series_id, is_new): (i64, bool),
        added: &[NewBlock],
    ) -> Result<(), StoreError> {
        let ends: Vec<[Value<'_>; 2]> =
            added.iter().map(|block| [Value::Int(series_id), Value::Int(block.last.0)]).collect();
        let mut stored: Vec<Option<Span>> = vec![None; added.len()];
        // A new series has no stored blocks.
        let ends = ends.iter().map(<[Value<'_>; 2]>::as_slice).filter(|_| !is_new);
        self.db().each_of_all(sql::LAST_STARTING_BY, ends, |number, row| {
            if let Some(stored) = stored.get_mut(number) {
                *stored = Some((Timestamp(row.get(0)?), Timestamp(row.get(1)?)));
            }
            Ok(())
        })?;
        let mut given: BTreeMap<Timestamp, Timestamp> = BTreeMap::new();
        for (block, stored) in added.iter().zip(stored) {
            let before = given.range(..=block.last).next_back().map(|(first, last)| (*first, *last));
            // The given block and the stored block do not overlap, so the later start also has the
            // later end.
            refuse_unfit(series, block, before.max(stored))?;
            given.insert(block.first, block.last);
        }
        Ok(())
    }
}

fn row(series_id: i64, entry: &BlockEntry) -> [Value<'_>; 7] {
    [
        Value::Int(series_id),
        Value::Int(entry.first.0),
        Value::Int(entry.last.0),
        Value::Int(i64::from(entry.rows)),
        Value::Int(i64::from(entry.bytes)),
        Value::Int(entry.id),
        Value::Blob(entry.tail.as_bytes()),
    ]
}

#[cfg(test)]
mod tests {
    use market::Grain;

    use super::*;
    use crate::candles::series::Lane;
    use crate::candles::store::{Access, Store};
    use crate::engine::Sql;

    fn series() -> Series {
        Series { symbol: "700.HK".parse().unwrap(), grain: Grain::Minute, lane: Lane::Regular }
    }

    fn block(first: i64, last: i64) -> NewBlock {
        NewBlock {
            first: Timestamp(first),
            last: Timestamp(last),
            rows: u32::try_from(last - first + 1).unwrap(),
            bytes: format!("{first}..={last}").into_bytes(),
        }
    }

    /// Replaces blocks and returns the resulting tables and the outcome, both as text.
    fn done(store: &Store, at_once: bool, removed: &[i64], added: &[NewBlock]) -> (String, String) {
        let mut writer = store.writer().unwrap();
        let mut batch = writer.begin().unwrap().at_once(at_once);
        let said = batch.replace_blocks(&series(), removed, added);
        let said = match said {
            Ok(entries) => {
                batch.commit().unwrap();
                format!("{entries:?}")
            }
            Err(error) => {
                drop(batch);
                error.to_string()
            }
        };
        drop(writer);
        let mut reader = store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        let all = "select first_at || ' ' || last_at || ' ' || row_count || ' ' || byte_count || ' ' || body_id || ' ' || hex(tail) \
            || ' ' || coalesce(next_at, 'end') || ' ' || coalesce((select hex(body) from block_body where id = body_id), 'none') \
            from sealed_block_index order by first_at";
        let rows: Vec<String> = snapshot.db().all(Sql::new("query", all), [], |row| row.get(0)).unwrap();
        let bodies = Sql::new("query", "select count(*) from block_body");
        let bodies: i64 = snapshot.db().one(bodies, [], |row| row.get(0)).unwrap();
        let series = snapshot.all_series().unwrap();
        // Reading the directory verifies the links.
        series.iter().for_each(|info| drop(snapshot.blocks(&info.series, None, None).unwrap()));
        (format!("{rows:#?} {bodies} {series:?}"), said)
    }

    #[test]
    fn bulk_replacement_equals_single_replacement() {
        let open = || {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::open(dir.path(), Access::Write { now: Timestamp(0) }).unwrap();
            (dir, store)
        };
        let ((_one, one), (_other, other)) = (open(), open());
        let steps: [(&[i64], &[NewBlock]); 13] = [
            (&[], &[block(10, 19), block(30, 39), block(20, 29)]),
            (&[], &[block(0, 9), block(100, 109)]),
            // These blocks overlap stored blocks, each other, or both.
            (&[], &[block(105, 120)]),
            (&[], &[block(50, 60), block(55, 70)]),
            (&[], &[block(40, 200)]),
            (&[2], &[block(25, 32)]),
            // 99 is not the id of a block of this series.
            (&[99], &[block(300, 309)]),
            (&[1, 99], &[]),
            // The blocks are replaced by fewer blocks, and by more blocks.
            (&[1, 3], &[block(10, 15)]),
            (&[5], &[block(90, 95), block(96, 99), block(100, 100), block(400, 409)]),
            (&[], &[NewBlock { rows: 0, ..block(500, 509) }]),
            (&[], &[NewBlock { last: Timestamp(1), ..block(500, 509) }]),
            (&[2, 4], &[]),
        ];
        for (removed, added) in steps {
            let (there, here) = (done(&one, false, removed, added), done(&other, true, removed, added));
            assert_eq!(there, here, "{removed:?} {added:?}");
        }
        let left: Vec<i64> = one
            .reader()
            .unwrap()
            .snapshot()
            .unwrap()
            .blocks(&series(), None, None)
            .unwrap()
            .iter()
            .map(|entry| entry.id)
            .collect();
        assert!(!left.is_empty());
        assert_eq!(done(&one, false, &left, &[]), done(&other, true, &left, &[]));
    }
}
