//! Which symbols are in the local copy, in memory: every question asks for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use market::Symbol;

use super::file::{HeldRow, Size};

/// Symbols of one local file.
#[derive(Debug, Default)]
pub(super) struct HeldSymbols(RwLock<Table>);

#[derive(Debug, Default)]
struct Table {
    held: HashMap<Symbol, HeldSymbol>,
    /// The version at which somebody has seen a symbol that is not here: a copy of an earlier one is not for use, or what was there would
    /// be gone again.
    seen: HashMap<Symbol, i64>,
}

/// Symbols of which the version is remembered at which they were seen elsewhere. It is for as long as they take to be fetched.
const SEEN_MAX: usize = 16_384;

#[derive(Debug)]
struct HeldSymbol {
    /// Another one each time that its rows are fetched; none while they are known to be outdated.
    mark: Option<Mark>,
    /// When it was last asked for, in looks at the database behind.
    asked: AtomicU64,
    size: Size,
}

/// A state of a symbol in the local copy. A question that sees the same mark before and after has seen this state, or a later one
/// that was committed to the file meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(super) u64);

/// What all symbols come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) symbols: u64,
    pub(super) current: u64,
    pub(super) bytes: u64,
}

impl HeldSymbols {
    /// The state of a symbol that may be asked for.
    pub(super) fn mark(&self, symbol: &Symbol, now: u64) -> Option<Mark> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let held = table.held.get(symbol)?;
        // Not written where nothing changes: processors would take the line from each other.
        if held.asked.load(Ordering::Relaxed) != now {
            held.asked.store(now, Ordering::Relaxed);
        }
        held.mark
    }

    /// The same without counting as a question.
    pub(super) fn same(&self, symbol: &Symbol, mark: Mark) -> bool {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        table.held.get(symbol).is_some_and(|held| held.mark == Some(mark))
    }

    pub(super) fn size(&self, symbol: &Symbol) -> Option<Size> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).held.get(symbol).map(|held| held.size)
    }

    /// Notes symbols that have changed in the database behind, before the file says so. Answers those that are here.
    pub(super) fn outdate(&self, symbols: Vec<Symbol>) -> Vec<Symbol> {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let here = |symbol: &Symbol| table.held.get_mut(symbol).map(|held| held.mark = None).is_some();
        let mut symbols = symbols;
        symbols.retain(here);
        symbols
    }

    /// Notes a symbol that is now in the file as the database behind had it at a version. Whether it may be used: not if somebody has seen
    /// it at a later one.
    pub(super) fn put(&self, symbol: &Symbol, (mark, version): (Mark, i64), size: Size, now: u64) -> bool {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_newest = table.seen.get(symbol).is_none_or(|seen| *seen <= version);
        if is_newest {
            table.seen.remove(symbol);
        }
        let asked = table.held.get(symbol).map_or(now, |held| held.asked.load(Ordering::Relaxed));
        let mark = is_newest.then_some(mark);
        table.held.insert(symbol.clone(), HeldSymbol { mark, asked: asked.into(), size });
        is_newest
    }

    /// Notes that somebody has seen a symbol in the database behind, at a version or before it. What is here is of another version.
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

    /// Those of a file that was just opened.
    pub(super) fn load(&self, rows: Vec<HeldRow>, mark: Mark) {
        let held = rows.into_iter().map(|row| {
            let mark = row.is_current.then_some(mark);
            (row.symbol, HeldSymbol { mark, asked: 0.into(), size: row.size })
        });
        *self.0.write().unwrap_or_else(PoisonError::into_inner) =
            Table { held: held.collect(), seen: HashMap::new() };
    }

    /// Forgets symbols, before the file does.
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

    /// Symbols that come to so many bytes, those first that were not asked for longest.
    pub(super) fn oldest(&self, bytes: u64, but_not: impl Fn(&Symbol) -> bool) -> Vec<Symbol> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let asked = |held: &HeldSymbol| held.asked.load(Ordering::Relaxed);
        let mut all: Vec<(u64, &Symbol, u64)> =
            table.held.iter().map(|(symbol, held)| (asked(held), symbol, held.size.all())).collect();
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
