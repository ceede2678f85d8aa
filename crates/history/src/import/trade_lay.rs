//! Merges a day's new trades into its stored trades, and encodes the changes. As with candles, the
//! rows of a file replace stored rows with the same stamp; for trades, the stamp is the second.

use std::cmp::Ordering;
use std::ops::Range;

use block::{TRADE_ROWS_MAX, TradeBlock, encode_trades};
use market::{Date, Symbol, Timestamp, Trades};
use store::{BlockEntry, NewBlock, StoreError, View};

use super::ImportError;
use super::flush::FileNo;
use super::lay::OnDamage;
use super::merge::cut;

/// Number of trades per block.
const BLOCK_ROWS: usize = 16_384;
const _: () = assert!(BLOCK_ROWS <= TRADE_ROWS_MAX);

/// New trades of one symbol and day from one file.
#[derive(Clone, Debug)]
pub(crate) struct TradePart {
    pub(crate) symbol: Symbol,
    pub(crate) day: Date,
    /// Time in seconds of the symbol's last trade in earlier flushes of the same file. New trades
    /// in that second are added to the stored ones instead of replacing them.
    pub(crate) continues: Option<i64>,
    pub(crate) trades: Trades,
}

/// Result of merging a [`TradePart`]: the pending writes, and the counts for the ledger.
#[derive(Debug)]
pub(crate) struct LaidTrades {
    pub(crate) file: FileNo,
    pub(crate) symbol: Symbol,
    pub(crate) day: Date,
    pub(crate) rows: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) counts: TradeCounts,
    /// Number of leading blocks that stay unchanged, and the blocks that follow them. `None` if
    /// nothing changes.
    pub(crate) write: Option<(usize, Vec<NewBlock>)>,
    /// Version of the store from which the stored trades were read.
    pub(crate) version: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TradeCounts {
    pub(crate) added: u64,
    pub(crate) replaced: u64,
    pub(crate) unchanged: u64,
}

pub(crate) fn lay_trades(
    snapshot: &View,
    file: FileNo,
    part: TradePart,
    on_damage: OnDamage,
) -> Result<Option<LaidTrades>, ImportError> {
    let TradePart { symbol, day, continues, trades } = part;
    let new = trades.sorted();
    let (Some(&first), Some(&last)) = (new.time.first(), new.time.last()) else { return Ok(None) };
    let entries = stored_blocks(snapshot, &symbol, day, on_damage)?;
    let mut retained = entries.iter().take_while(|entry| entry.last.0 < first).count();
    // A short block before the new trades is merged with them; otherwise each import of a growing
    // day would leave a short block.
    if retained
        .checked_sub(1)
        .and_then(|at| entries.get(at))
        .is_some_and(|entry| (entry.rows as usize) < BLOCK_ROWS)
    {
        retained -= 1;
    }
    let stored = load(snapshot, &symbol, entries.get(retained..).unwrap_or_default(), on_damage)?;
    let rows = new.len() as u64;
    let (merged, counts) = merge(&stored, new, continues);
    let changes = counts.added > 0 || counts.replaced > 0;
    let write = changes.then(|| encode(&symbol, &merged)).transpose()?.map(|blocks| (retained, blocks));
    let (first, last, version) = (Timestamp(first), Timestamp(last), snapshot.version()?);
    Ok(Some(LaidTrades { file, symbol, day, rows, first, last, counts, write, version }))
}

/// Adds trades to the trades of a day. Within a second, new trades follow the stored ones. Returns
/// the number of leading blocks that remain unchanged, and the blocks that follow them.
pub(crate) fn add(
    snapshot: &View,
    symbol: &Symbol,
    day: Date,
    new: &Trades,
) -> Result<(usize, Vec<NewBlock>), ImportError> {
    let entries = stored_blocks(snapshot, symbol, day, OnDamage::Stop)?;
    let first = new.time.iter().min().copied().unwrap_or(i64::MAX);
    let mut retained = entries.iter().take_while(|entry| entry.last.0 < first).count();
    let is_short = |at: usize| entries.get(at).is_some_and(|entry| (entry.rows as usize) < BLOCK_ROWS);
    if retained.checked_sub(1).is_some_and(is_short) {
        retained -= 1;
    }
    let mut trades = load(snapshot, symbol, entries.get(retained..).unwrap_or_default(), OnDamage::Stop)?;
    trades.append_rows(new, 0..new.len());
    Ok((retained, encode(symbol, &trades.sorted())?))
}

/// Returns the stored trades of a day.
pub(crate) fn of_day(snapshot: &View, symbol: &Symbol, day: Date) -> Result<Trades, ImportError> {
    let entries = stored_blocks(snapshot, symbol, day, OnDamage::Stop)?;
    load(snapshot, symbol, &entries, OnDamage::Stop)
}

fn stored_blocks(
    snapshot: &View,
    symbol: &Symbol,
    day: Date,
    on_damage: OnDamage,
) -> Result<Vec<BlockEntry>, ImportError> {
    let stored = snapshot.trade_days_back(symbol, day, 1)?.pop().filter(|stored| stored.day == day);
    match stored.map(|stored| snapshot.trade_blocks(&stored)).transpose() {
        Err(StoreError::Damaged { .. }) if on_damage == OnDamage::Drop => Ok(Vec::new()),
        entries => Ok(entries?.unwrap_or_default()),
    }
}

/// Decodes trade blocks. With [`OnDamage::Drop`], damaged blocks are skipped.
pub(crate) fn load(
    snapshot: &View,
    symbol: &Symbol,
    entries: &[BlockEntry],
    on_damage: OnDamage,
) -> Result<Trades, ImportError> {
    let mut trades = Trades::with_capacity(entries.iter().map(|entry| entry.rows as usize).sum());
    for entry in entries {
        let read = snapshot.with_trade_block(entry, |bytes| {
            TradeBlock::parse(bytes).and_then(|block| block.read_all(&mut trades))
        });
        match read {
            Err(StoreError::Damaged { .. }) | Ok(Err(_)) if on_damage == OnDamage::Drop => {}
            read => read?.map_err(|source| damaged(symbol, entry.first, source))?,
        }
    }
    Ok(trades)
}

fn damaged(symbol: &Symbol, at: Timestamp, source: block::BlockError) -> ImportError {
    ImportError::DamagedTrades { symbol: symbol.clone(), at, source }
}

fn encode(symbol: &Symbol, trades: &Trades) -> Result<Vec<NewBlock>, ImportError> {
    let stamp = |row: usize| Timestamp(trades.time.get(row).copied().unwrap_or_default());
    let block = |rows: Range<usize>| -> Result<NewBlock, ImportError> {
        let (first, last) = (stamp(rows.start), stamp(rows.end.saturating_sub(1)));
        let count = rows.len() as u32;
        let bytes = encode_trades(trades, rows).map_err(|source| damaged(symbol, first, source))?;
        Ok(NewBlock { first, last, rows: count, bytes })
    };
    cut(trades.len(), BLOCK_ROWS).map(block).collect()
}

/// Merges new trades into stored trades. Both lists must be sorted by time. If both lists have
/// trades in a second, the new trades replace the stored trades, with two exceptions: trades in the
/// second `continues`, at which the previous flush of the same file ended, are appended; and in
/// earlier seconds, which occur in unsorted files, only trades that are not yet stored are added.
pub(crate) fn merge(stored: &Trades, new: Trades, continues: Option<i64>) -> (Trades, TradeCounts) {
    let mut counts = TradeCounts::default();
    if stored.is_empty() {
        counts.added = new.len() as u64;
        return (new, counts);
    }
    let mut merged = Trades::with_capacity(stored.len() + new.len());
    let (mut old, mut fresh) = (0, 0);
    while let Some(&second) = new.time.get(fresh) {
        let before = stored.time.partition_point(|time| *time < second);
        merged.append_rows(stored, old..before);
        let same = before..stored.time.partition_point(|time| *time <= second);
        let end = fresh + new.time.get(fresh..).unwrap_or_default().partition_point(|time| *time <= second);
        let rows = (fresh..end).len() as u64;
        match (same.is_empty(), continues.map(|continues| second.cmp(&continues))) {
            (true, _) => {
                merged.append_rows(&new, fresh..end);
                counts.added += rows;
            }
            (false, Some(Ordering::Equal)) => {
                merged.append_rows(stored, same.clone());
                merged.append_rows(&new, fresh..end);
                counts.added += rows;
            }
            (false, Some(Ordering::Less)) => {
                let found = unite(&mut merged, stored, same.clone(), &new, fresh..end);
                counts.unchanged += found;
                counts.added += rows - found;
            }
            (false, _) => {
                let equal = same.len() == end - fresh
                    && same.clone().zip(fresh..end).all(|(a, b)| stored.get(a) == new.get(b));
                merged.append_rows(&new, fresh..end);
                if equal { counts.unchanged += rows } else { counts.replaced += rows }
            }
        }
        (old, fresh) = (same.end, end);
    }
    merged.append_rows(stored, old..stored.len());
    (merged, counts)
}

/// Appends the stored trades of a second, and the new trades that are not among them. Returns the
/// number of new trades that were already stored.
fn unite(merged: &mut Trades, stored: &Trades, same: Range<usize>, new: &Trades, rows: Range<usize>) -> u64 {
    merged.append_rows(stored, same.clone());
    let mut left: Vec<_> = same.filter_map(|row| stored.get(row)).collect();
    let mut found = 0;
    for trade in rows.filter_map(|row| new.get(row)) {
        match left.iter().position(|stored| *stored == trade) {
            Some(place) => {
                left.swap_remove(place);
                found += 1;
            }
            None => merged.push(trade),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use market::{Price, Trade, TradeDirection, TradeType};

    use super::*;

    /// Parses seconds and prices such as `1:10 1:11 2:10`.
    fn trades(text: &str) -> Trades {
        let mut trades = Trades::default();
        for word in text.split_whitespace() {
            let (time, price) = word.split_once(':').unwrap();
            trades.push(Trade {
                time: Timestamp(time.parse().unwrap()),
                price: Price(price.parse().unwrap()),
                volume: 1,
                direction: TradeDirection::Untold,
                kind: TradeType::BLANK,
            });
        }
        trades
    }

    #[track_caller]
    fn check(stored: &str, new: &str, continues: Option<i64>, expected: &str, counted: [u64; 3]) {
        let (merged, counts) = merge(&trades(stored), trades(new), continues);
        let words: Vec<String> =
            merged.iter().map(|trade| format!("{}:{}", trade.time.0, trade.price.0)).collect();
        assert_eq!(words.join(" "), expected);
        assert_eq!([counts.added, counts.replaced, counts.unchanged], counted);
    }

    #[test]
    fn new_trades_replace_stored_ones_in_the_same_second() {
        check("", "1:10 1:10 2:11", None, "1:10 1:10 2:11", [3, 0, 0]);
        check("1:10 1:10 2:11", "1:10 1:10 2:11", None, "1:10 1:10 2:11", [0, 0, 3]);
        check("1:10 3:12", "2:11", None, "1:10 2:11 3:12", [1, 0, 0]);
        check("1:10 2:11 3:12", "2:15 2:16", None, "1:10 2:15 2:16 3:12", [0, 2, 0]);
        check("1:10 1:11", "1:11 1:10", None, "1:11 1:10", [0, 2, 0]);
        check("5:10", "1:10 9:10", None, "1:10 5:10 9:10", [2, 0, 0]);
    }

    #[test]
    fn trades_of_a_second_split_by_a_flush_are_appended() {
        check("1:10 2:11", "2:11 3:12", Some(2), "1:10 2:11 2:11 3:12", [2, 0, 0]);
        check("1:10 2:11", "1:10 1:12", Some(2), "1:10 1:12 2:11", [1, 0, 1]);
        check("1:10 2:11", "3:10", Some(2), "1:10 2:11 3:10", [1, 0, 0]);
    }
}
