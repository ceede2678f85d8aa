//! Rows to series: each row of a file is checked, and goes into the buffer of its series or into
//! the quarantine.

use std::collections::HashMap;
use std::hash::Hash;

use files::{CandleBatch, CandleRow, Rejected};
use market::{Grain, Session, Symbol, Venues};
use store::{Lane, Series};

use super::Report;
use super::flush::{CommitterGone, FileNo, Pending};
use super::inspect::{Inspector, candle};
use super::unserved::Unserved;
use crate::lane_of;

/// State between the batches of a file.
pub(crate) struct Sorting<'a> {
    file: FileNo,
    grain: Grain,
    venues: &'a Venues,
    inspector: Inspector<'a>,
    unserved: Unserved,
    places: Places<Lane>,
    /// Rows of the file that earlier runs have quarantined.
    quarantined_before: u64,
}

impl<'a> Sorting<'a> {
    pub(crate) fn new(
        file: FileNo,
        grain: Grain,
        venues: &'a Venues,
        unserved: Unserved,
        quarantined_before: u64,
    ) -> Sorting<'a> {
        let (inspector, places) = (Inspector::new(venues, grain), Places::default());
        Sorting { file, grain, venues, inspector, unserved, places, quarantined_before }
    }

    /// Sorts a batch. An earlier run has stored its first `done` rows.
    pub(crate) fn sort(
        &mut self,
        pending: &mut Pending<'_>,
        symbols: &[Symbol],
        batch: CandleBatch,
        done: u64,
        report: &mut Report,
    ) -> Result<(), CommitterGone> {
        let lines = batch.rows.iter().map(|row| row.line);
        let behind = last_line_behind(lines.chain(batch.rejected.iter().map(|row| row.line)), done);
        let mut rejected = batch.rejected.into_iter().filter(|row| Some(row.line) > behind).peekable();
        // A local copy, because peeking into the iterator for each row costs more than the rest of
        // this loop.
        let mut next_rejected = rejected.peek().map_or(u64::MAX, |row| row.line);
        for row in &batch.rows {
            while next_rejected < row.line {
                let earlier = rejected.next();
                earlier.into_iter().for_each(|row| self.quarantine(pending, row, report));
                next_rejected = rejected.peek().map_or(u64::MAX, |row| row.line);
            }
            let Some(symbol) = symbols.get(row.symbol as usize) else { continue };
            let inspected = self.inspector.inspect(row, symbol);
            // Rows of an earlier run are only read for their stamps: a later row with the same
            // stamp is still a duplicate.
            if Some(row.line) <= behind {
                continue;
            }
            match inspected {
                Ok(session) => {
                    report.unserved += u64::from(self.unserved.holds(symbol.market(), row.time));
                    report.see(row.time, symbol.market());
                    self.put(pending, row, symbol, session)?;
                }
                Err(flaw) => {
                    let text = spell(row, symbol, self.venues);
                    let (symbol, reason) = (Some(symbol.to_string()), flaw.to_string());
                    let row = Rejected { line: row.line, symbol, text, reason };
                    self.quarantine(pending, row, report);
                }
            }
        }
        rejected.for_each(|row| self.quarantine(pending, row, report));
        Ok(())
    }

    fn quarantine(&self, pending: &mut Pending<'_>, row: Rejected, report: &mut Report) {
        pending.quarantine(self.file, row, self.quarantined_before, report);
    }

    #[inline]
    fn put(
        &mut self,
        pending: &mut Pending<'_>,
        row: &CandleRow,
        symbol: &Symbol,
        session: Session,
    ) -> Result<(), CommitterGone> {
        let lane = lane_of(session);
        let at = match self.places.get((row.symbol, lane), pending.number) {
            Some(at) => at,
            None => {
                let series = Series { symbol: symbol.clone(), grain: self.grain, lane };
                let at = pending.buffer(self.file, series)?;
                self.places.set((row.symbol, lane), pending.number, at);
                at
            }
        };
        pending.push(at, candle(row, session));
        Ok(())
    }
}

/// The buffers of a file's symbols, by lane or by day: a row finds its buffer by index, not by name.
#[derive(Debug)]
pub(super) struct Places<K> {
    flush: u64,
    of: HashMap<(u32, K), usize>,
    last: Option<((u32, K), usize)>,
}

impl<K> Default for Places<K> {
    fn default() -> Places<K> {
        Places { flush: 0, of: HashMap::new(), last: None }
    }
}

impl<K: Copy + Eq + Hash> Places<K> {
    #[inline]
    pub(super) fn get(&mut self, key: (u32, K), flush: u64) -> Option<usize> {
        if self.flush != flush {
            *self = Places { flush, ..Places::default() };
        }
        match self.last {
            Some((last, at)) if last == key => Some(at),
            _ => {
                let at = self.of.get(&key).copied()?;
                self.last = Some((key, at));
                Some(at)
            }
        }
    }

    pub(super) fn set(&mut self, key: (u32, K), flush: u64, at: usize) {
        // Finding a buffer may have flushed, and then every other index is stale.
        if self.flush != flush {
            *self = Places { flush, ..Places::default() };
        }
        self.of.insert(key, at);
        self.last = Some((key, at));
    }
}

/// The line of the last row of a batch that an earlier run has stored, given the number of such
/// rows. The lines are in any order.
pub(super) fn last_line_behind(lines: impl Iterator<Item = u64>, rows: u64) -> Option<u64> {
    let last = usize::try_from(rows.checked_sub(1)?).unwrap_or(usize::MAX);
    let mut lines: Vec<u64> = lines.collect();
    lines.sort_unstable();
    lines.get(last).or(lines.last()).copied()
}

/// The text of an invalid row in the quarantine.
fn spell(row: &CandleRow, symbol: &Symbol, venues: &Venues) -> String {
    let time = venues.of(symbol.market()).zone().rfc3339(row.time);
    let [open, high, low, close] =
        [row.open, row.high, row.low, row.close].map(|price| price.text(6).to_string());
    format!("{symbol},{time},{open},{high},{low},{close},{},{}", row.volume, row.turnover.text())
}
