//! Detects files whose candles overlap with candles of another grain, and reports which of them are
//! served.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use market::{Grain, Symbol, Timestamp};
use store::SeriesInfo;

use super::commit::LaidPart;
use super::flush::FileNo;
use super::{Context, ImportError};

/// Time range of the intraday candles imported, per file, symbol and grain.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    parts: BTreeMap<(FileNo, Symbol, Grain), (Timestamp, Timestamp)>,
}

impl Overlap {
    pub(crate) fn meet(&mut self, laid: &[LaidPart]) {
        for part in laid.iter().filter(|part| part.series.grain != Grain::Day) {
            let key = (part.file, part.series.symbol.clone(), part.series.grain);
            let (first, last) = self.parts.entry(key).or_insert((part.first, part.last));
            (*first, *last) = ((*first).min(part.first), (*last).max(part.last));
        }
    }

    /// Returns a note for each file whose candles overlap with those of another grain.
    pub(crate) fn notes(&self, context: &Context<'_>) -> Result<HashMap<FileNo, String>, ImportError> {
        if self.parts.is_empty() {
            return Ok(HashMap::new());
        }
        let all = context.store.reader()?.snapshot()?.all_series()?;
        let mut stored: BTreeMap<&Symbol, Vec<&SeriesInfo>> = BTreeMap::new();
        for info in &all {
            if info.series.grain == Grain::Minute || info.series.grain.is_own() {
                stored.entry(&info.series.symbol).or_default().push(info);
            }
        }
        let mut found: BTreeMap<FileNo, (String, usize)> = BTreeMap::new();
        for ((file, symbol, grain), (first, last)) in &self.parts {
            let meets = |info: &&&SeriesInfo| info.first <= *last && info.last >= *first;
            let others = stored.get(symbol).into_iter().flatten().filter(meets);
            let mut grains: BTreeSet<Grain> = others.map(|info| info.series.grain).collect();
            grains.insert(*grain);
            if grains.len() < 2 {
                continue;
            }
            let names: Vec<&str> = grains.into_iter().map(Grain::written).collect();
            let first = || (format!("{symbol} has candles of {}", names.join(" and ")), 0);
            found.entry(*file).and_modify(|(_, more)| *more += 1).or_insert_with(first);
        }
        Ok(found.into_iter().map(|(file, (words, more))| (file, note(&words, more))).collect())
    }
}

fn note(words: &str, more: usize) -> String {
    let more = match more {
        0 => String::new(),
        1 => ", and so has 1 other symbol".to_owned(),
        more => format!(", and so have {more} other symbols"),
    };
    format!(
        "{words} over the same time{more}: in each session of a trading day, only the finest are served; \
         the others stay stored"
    )
}
