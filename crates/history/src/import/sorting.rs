//! Validates the rows of a file, and sorts them into the buffers of their series or into the
//! quarantine. Counts the rows before the floors, which the owner of the store can read but
//! accounts cannot.

use std::collections::HashMap;
use std::hash::Hash;

use files::{CandleBatch, CandleRow, Rejected};
use market::{FloorTable, Grain, Market, Session, Symbol, Timestamp, Venues};
use store::{Lane, Series};

use super::Report;
use super::flush::{CommitterGone, FileNo, Pending};
use super::inspect::{Inspector, candle};
use crate::lane_of;

/// State that is carried over between the batches of a file.
pub(crate) struct Sorting<'a> {
    file: FileNo,
    grain: Grain,
    venues: &'a Venues,
    inspector: Inspector<'a>,
    unserved: Unserved,
    places: Places<Lane>,
    /// Number of rows of this file quarantined by earlier runs.
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

    /// Sorts a batch into buffers. The first `done` rows were stored by an earlier run and are
    /// skipped.
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
        // Cached in a local variable, because peeking for each row costs more than the remaining
        // loop body.
        let mut next_rejected = rejected.peek().map_or(u64::MAX, |row| row.line);
        for row in &batch.rows {
            while next_rejected < row.line {
                let earlier = rejected.next();
                earlier.into_iter().for_each(|row| self.quarantine(pending, row, report));
                next_rejected = rejected.peek().map_or(u64::MAX, |row| row.line);
            }
            let Some(symbol) = symbols.get(row.symbol as usize) else { continue };
            let inspected = self.inspector.inspect(row, symbol);
            // Rows that an earlier run has stored are inspected only to record their timestamps, so
            // that later duplicates are detected.
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

/// Maps a file's symbols, by lane or by day, to buffer indexes, which avoids hashing a symbol name
/// for each row.
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
        // Creating the buffer may have sent a flush, which invalidates all other indexes.
        if self.flush != flush {
            *self = Places { flush, ..Places::default() };
        }
        self.of.insert(key, at);
        self.last = Some((key, at));
    }
}

/// Returns the line number of the last row in a batch that an earlier run has stored; `rows` is the
/// number of such rows. `lines` may be in any order.
pub(super) fn last_line_behind(lines: impl Iterator<Item = u64>, rows: u64) -> Option<u64> {
    let last = usize::try_from(rows.checked_sub(1)?).unwrap_or(usize::MAX);
    let mut lines: Vec<u64> = lines.collect();
    lines.sort_unstable();
    lines.get(last).or(lines.last()).copied()
}

/// Formats an invalid row for the quarantine.
pub(crate) fn spell(row: &CandleRow, symbol: &Symbol, venues: &Venues) -> String {
    let time = venues.of(symbol.market()).zone().rfc3339(row.time);
    let [open, high, low, close] =
        [row.open, row.high, row.low, row.close].map(|price| price.text(6).to_string());
    format!("{symbol},{time},{open},{high},{low},{close},{},{}", row.volume, row.turnover.text())
}

/// First stamp of a grain that is served to accounts, by market.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unserved {
    hk: Timestamp,
    us: Timestamp,
    cn: Timestamp,
}

impl Unserved {
    pub(crate) fn new(venues: &Venues, floors: &FloorTable, grain: Grain) -> Unserved {
        let from = |market| venues.of(market).served_from(floors.of(market), grain.period());
        Unserved { hk: from(Market::Hk), us: from(Market::Us), cn: from(Market::Cn) }
    }

    /// Returns whether a stamp is before the history that is served to accounts.
    #[inline]
    pub(crate) fn holds(&self, market: Market, at: Timestamp) -> bool {
        at < match market {
            Market::Hk => self.hk,
            Market::Us => self.us,
            Market::Cn => self.cn,
        }
    }
}

/// Returns the report's note about rows before the floors.
pub(crate) fn unserved_note(rows: u64, grain: Grain, floors: &FloorTable) -> String {
    let from = Market::ALL.into_iter().filter_map(|market| {
        let floor = floors.of(market).of(grain.period())?;
        Some(format!("{market} from {floor}"))
    });
    let from: Vec<String> = from.collect();
    let kind = if grain == Grain::Day { "days" } else { "minutes" };
    format!(
        "{rows} rows are older than the history served to accounts ({kind} of {}): only the command line \
         shows them; `chandler serve --floors none` serves them too",
        from.join(", ")
    )
}
