use market::{Grain, MarginFactor, Symbol, Timestamp};
use store::{Access, BlockEntry, Lane, Margin, NewBlock, Series, Store};

pub(crate) use crate::home::{HELD_ON, Home, SEALED};

pub(crate) const NOW: Timestamp = Timestamp(1_763_200_000);

/// A store in a temporary location.
pub(crate) struct Fresh {
    pub(crate) store: Store,
    pub(crate) home: Home,
}

pub(crate) fn fresh() -> Fresh {
    let home = Home::new();
    let store = Store::open(&home, Access::Write { now: NOW }).unwrap();
    Fresh { store, home }
}

pub(crate) fn symbol(text: &str) -> Symbol {
    text.parse().unwrap()
}

pub(crate) fn minutes(text: &str) -> Series {
    Series { symbol: symbol(text), grain: Grain::Minute, lane: Lane::Regular }
}

pub(crate) fn margin(text: &str, im: &str, mm: &str, fm: &str) -> Margin {
    let factor = |text: &str| MarginFactor::parse(text).unwrap();
    Margin { symbol: symbol(text), im: factor(im), mm: factor(mm), fm: factor(fm) }
}

/// Returns a block with one row per second. Its bytes are the text `first..=last`.
pub(crate) fn block(first: i64, last: i64) -> NewBlock {
    let rows = u32::try_from(last - first + 1).unwrap();
    NewBlock {
        first: Timestamp(first),
        last: Timestamp(last),
        rows,
        bytes: format!("{first}..={last}").into_bytes(),
    }
}

/// Replaces blocks of a series in a separate commit. Returns the entries of the added blocks.
pub(crate) fn put(store: &Store, series: &Series, removed: &[i64], added: &[NewBlock]) -> Vec<BlockEntry> {
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let entries = batch.replace_blocks(series, removed, added).unwrap();
    batch.commit().unwrap();
    entries
}

/// Formats the spans of entries, such as `1..=4 5..=8`.
pub(crate) fn spans(entries: &[BlockEntry]) -> String {
    let all: Vec<String> =
        entries.iter().map(|entry| format!("{}..={}", entry.first.0, entry.last.0)).collect();
    all.join(" ")
}
