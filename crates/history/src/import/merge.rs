//! Merges new candles into stored candles, in memory.

use market::{Candle, Candles, Timestamp};

use super::changes::Changes;
use super::replacing::Differences;

/// Result of a merge. The counts are recorded in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) candles: Candles,
    pub(crate) added: u64,
    pub(crate) replaced: u64,
    pub(crate) unchanged: u64,
    pub(crate) differences: Differences,
    pub(crate) changes: Changes,
}

impl Merged {
    pub(crate) fn changes_nothing(&self) -> bool {
        self.added == 0 && self.replaced == 0
    }
}

/// Merges two strictly ascending lists of candles. If both lists have a candle with the same stamp,
/// the new candle is used. The stored candle at `running` may have been incomplete, so a change to
/// it is not counted in `differences`.
pub(crate) fn merge(stored: Candles, new: Candles, running: Option<Timestamp>) -> Merged {
    // Fast path: most imports append, and the first import of a series needs no copy.
    let appends = match (stored.time.last(), new.time.first()) {
        (Some(last), Some(first)) => last < first,
        _ => true,
    };
    if appends {
        let (added, changes) = (new.len() as u64, Changes::appended(&new));
        let candles = if stored.is_empty() {
            new
        } else {
            let mut candles = stored;
            candles.append(&new);
            candles
        };
        return Merged { candles, added, changes, ..Merged::default() };
    }
    let mut merged =
        Merged { candles: Candles::with_capacity(stored.len() + new.len()), ..Merged::default() };
    let mut old = stored.iter().peekable();
    for candle in new.iter() {
        while let Some(before) = old.next_if(|o| o.time < candle.time) {
            merged.candles.push(before);
            merged.changes.pass();
        }
        match old.next_if(|o| o.time == candle.time) {
            None => {
                merged.added += 1;
                merged.changes.add(candle.time);
            }
            Some(same) if same == candle => {
                merged.unchanged += 1;
                merged.differences.same();
                merged.changes.pass();
            }
            Some(other) => {
                merged.replaced += 1;
                merged.changes.replace(other);
                if running != Some(other.time) {
                    merged.differences.see(&other, &candle);
                }
            }
        }
        merged.candles.push(candle);
    }
    old.for_each(|candle| merged.candles.push(candle));
    merged
}

/// Splits rows into blocks. Full blocks come first, so a growing series has only one short block,
/// at its end.
pub(crate) fn cut(rows: usize, block_rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let full = rows / block_rows.max(1);
    let rest = rows - full * block_rows;
    let mut ends: Vec<usize> = (1..=full).map(|n| n * block_rows).collect();
    if rest > 0 {
        ends.push(rows);
    }
    let starts = std::iter::once(0).chain(ends.clone());
    starts.zip(ends).map(|(start, end)| start..end)
}

/// Sorts candles by time, and keeps the last of any duplicates. Duplicates are normally rejected
/// while reading; they reach this function only from files with more symbol-days than `inspect.rs`
/// can track.
pub(crate) fn sort(candles: Candles) -> Candles {
    if candles.time.is_sorted_by(|a, b| a < b) {
        return candles;
    }
    let mut rows: Vec<Candle> = candles.iter().collect();
    rows.sort_by_key(|candle| candle.time);
    let last_of_each = rows.chunk_by(|a, b| a.time == b.time).filter_map(<[Candle]>::last);
    last_of_each.copied().collect()
}

/// Compares new candles with stored candles of the same stamps. Both lists must be strictly
/// ascending. A difference at `running` is ignored, because the stored candle may have been
/// incomplete.
pub(crate) fn compare(stored: &Candles, new: &Candles, running: Option<Timestamp>) -> Differences {
    let mut differences = Differences::default();
    let mut old = stored.iter().peekable();
    for candle in new.iter() {
        while old.next_if(|o| o.time < candle.time).is_some() {}
        match old.next_if(|o| o.time == candle.time) {
            Some(same) if same == candle => differences.same(),
            Some(other) if running != Some(other.time) => differences.see(&other, &candle),
            _ => {}
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use market::{Price, Session, Turnover};

    fn candle(time: i64, close: i64) -> Candle {
        let close = Price(close);
        Candle {
            time: Timestamp(time),
            open: close,
            high: close,
            low: close,
            close,
            volume: 1,
            turnover: Turnover(0),
            session: Session::Intraday,
        }
    }

    fn check(stored: &[(i64, i64)], new: &[(i64, i64)], expected: &str) {
        let columns = |rows: &[(i64, i64)]| rows.iter().map(|(t, c)| candle(*t, *c)).collect::<Candles>();
        let merged = merge(columns(stored), columns(new), None);
        let rows: Vec<String> =
            merged.candles.iter().map(|c| format!("{}:{}", c.time.0, c.close.0)).collect();
        let text = format!("{} +{} ~{} ={}", rows.join(" "), merged.added, merged.replaced, merged.unchanged);
        assert_eq!(text, expected);
    }

    #[test]
    fn a_new_candle_replaces_the_stored_one() {
        check(&[], &[(1, 5)], "1:5 +1 ~0 =0");
        check(&[(1, 5), (2, 6)], &[(3, 7)], "1:5 2:6 3:7 +1 ~0 =0");
        check(&[(1, 5), (3, 7)], &[(2, 6)], "1:5 2:6 3:7 +1 ~0 =0");
        check(&[(1, 5), (2, 6)], &[(2, 9), (3, 7)], "1:5 2:9 3:7 +1 ~1 =0");
        check(&[(1, 5), (2, 6)], &[(1, 5), (2, 6)], "1:5 2:6 +0 ~0 =2");
        check(&[(5, 5)], &[(1, 1), (9, 9)], "1:1 5:5 9:9 +2 ~0 =0");
    }

    #[test]
    fn the_last_duplicate_wins() {
        let sorted = |rows: &[(i64, i64)]| {
            let sorted = sort(rows.iter().map(|(t, c)| candle(*t, *c)).collect());
            sorted.iter().map(|c| (c.time.0, c.close.0)).collect::<Vec<_>>()
        };
        assert_eq!(sorted(&[(1, 1), (2, 2)]), [(1, 1), (2, 2)]);
        assert_eq!(sorted(&[(3, 3), (1, 1), (2, 2)]), [(1, 1), (2, 2), (3, 3)]);
        assert_eq!(sorted(&[(1, 1), (1, 2), (2, 5)]), [(1, 2), (2, 5)]);
        assert_eq!(sorted(&[(2, 5), (1, 1), (2, 6)]), [(1, 1), (2, 6)]);
    }

    #[test]
    fn full_blocks_come_first() {
        let cuts = |rows| cut(rows, 4).map(|r| r.len()).collect::<Vec<_>>();
        assert_eq!(cuts(0), Vec::<usize>::new());
        assert_eq!(cuts(3), [3]);
        assert_eq!(cuts(4), [4]);
        assert_eq!(cuts(9), [4, 4, 1]);
    }
}
