//! In-memory index of the symbols in the local copy. Every query reads this index.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use market::Symbol;

use super::file::{HeldRow, Size};

/// The symbols of one local file.
#[derive(Debug, Default)]
pub(super) struct HeldSymbols(RwLock<Table>);

#[derive(Debug, Default)]
struct Table {
    held: HashMap<Symbol, HeldSymbol>,
    /// Versions at which readers have seen symbols that are not in the copy. An older copy must not
    /// be served, because data that a client has seen would disappear.
    seen: HashMap<Symbol, i64>,
}

/// Maximum number of symbols in `seen`. An entry is needed only until the symbol is fetched.
const SEEN_MAX: usize = 16_384;

#[derive(Debug)]
struct HeldSymbol {
    /// Identifies the fetched rows, and changes each time they are fetched; `None` while they are
    /// outdated.
    mark: Option<Mark>,
    /// Time of the last use, counted in polls of the shared database.
    last_used: AtomicU64,
    size: Size,
}

/// Identifies a state of a symbol in the local copy. A query that sees the same mark before and
/// after has read this state, or a later state that was committed to the file in the meantime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(super) u64);

/// Totals over all symbols of the copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) symbols: u64,
    pub(super) current: u64,
    pub(super) bytes: u64,
}

impl HeldSymbols {
    /// Returns the mark of a symbol, or `None` if the symbol is absent or outdated. Updates the
    /// time of the symbol's last use.
    pub(super) fn mark(&self, symbol: &Symbol, now: u64) -> Option<Mark> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let held = table.held.get(symbol)?;
        // Stored only if the value changes, to avoid contention on the cache line.
        if held.last_used.load(Ordering::Relaxed) != now {
            held.last_used.store(now, Ordering::Relaxed);
        }
        held.mark
    }

    /// Returns whether a symbol still has this mark. Does not update the time of the symbol's last
    /// use.
    pub(super) fn same(&self, symbol: &Symbol, mark: Mark) -> bool {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        table.held.get(symbol).is_some_and(|held| held.mark == Some(mark))
    }

    pub(super) fn size(&self, symbol: &Symbol) -> Option<Size> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).held.get(symbol).map(|held| held.size)
    }

    /// Marks symbols as outdated in memory, before the file is updated. Returns the symbols that
    /// are in the copy.
    pub(super) fn outdate(&self, symbols: Vec<Symbol>) -> Vec<Symbol> {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let here = |symbol: &Symbol| table.held.get_mut(symbol).map(|held| held.mark = None).is_some();
        let mut symbols = symbols;
        symbols.retain(here);
        symbols
    }

    /// Records that the file has a symbol at `version`. Returns whether the symbol may be served,
    /// which is `false` if a reader has seen a later version.
    pub(super) fn put(&self, symbol: &Symbol, (mark, version): (Mark, i64), size: Size, now: u64) -> bool {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_newest = table.seen.get(symbol).is_none_or(|seen| *seen <= version);
        if is_newest {
            table.seen.remove(symbol);
        }
        let requested = table.held.get(symbol).map_or(now, |held| held.last_used.load(Ordering::Relaxed));
        let mark = is_newest.then_some(mark);
        table.held.insert(symbol.clone(), HeldSymbol { mark, last_used: requested.into(), size });
        is_newest
    }

    /// Records that a reader has seen a symbol in the shared database at `version` or earlier.
    /// `here` is the version of the copy.
    pub(super) fn saw(&self, symbol: &Symbol, version: i64, here: i64) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if version <= here && table.held.get(symbol).is_some_and(|held| held.mark.is_some()) {
            return;
        }
        if let Some(held) = table.held.get_mut(symbol) {
            held.mark = None;
        }
        if table.seen.len() >= SEEN_MAX {
            table.seen.clear();
        }
        let seen = table.seen.entry(symbol.clone()).or_insert(version);
        *seen = version.max(*seen);
    }

    pub(super) fn put_size(&self, symbol: &Symbol, size: Size) {
        if let Some(held) = self.0.write().unwrap_or_else(PoisonError::into_inner).held.get_mut(symbol) {
            held.size = size;
        }
    }

    /// Loads the symbols of a file that was just opened.
    pub(super) fn load(&self, rows: Vec<HeldRow>, mark: Mark) {
        let held = rows.into_iter().map(|row| {
            let mark = row.is_current.then_some(mark);
            (row.symbol, HeldSymbol { mark, last_used: 0.into(), size: row.size })
        });
        *self.0.write().unwrap_or_else(PoisonError::into_inner) =
            Table { held: held.collect(), seen: HashMap::new() };
    }

    /// Removes symbols. Must be called before their rows are deleted from the file, so that no
    /// query relies on deleted rows.
    pub(super) fn forget(&self, symbols: &[Symbol]) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for symbol in symbols {
            table.held.remove(symbol);
        }
    }

    pub(super) fn sum(&self) -> Sum {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut sum = Sum::default();
        table.held.values().for_each(|held| {
            sum.symbols += 1;
            sum.current += u64::from(held.mark.is_some());
            sum.bytes = sum.bytes.saturating_add(held.size.all());
        });
        sum
    }

    /// Returns the least recently used symbols with a total size of at least `bytes`, skipping
    /// symbols that match `but_not`.
    pub(super) fn oldest(&self, bytes: u64, but_not: impl Fn(&Symbol) -> bool) -> Vec<Symbol> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let requested = |held: &HeldSymbol| held.last_used.load(Ordering::Relaxed);
        let mut all: Vec<(u64, &Symbol, u64)> =
            table.held.iter().map(|(symbol, held)| (requested(held), symbol, held.size.all())).collect();
        all.retain(|(_, symbol, _)| !but_not(symbol));
        all.sort_unstable();
        let mut freed = 0_u64;
        let taken = all.into_iter().take_while(|(.., size)| {
            let is_missing = freed < bytes;
            freed = freed.saturating_add(*size);
            is_missing
        });
        taken.map(|(_, symbol, _)| symbol.clone()).collect()
    }
}
