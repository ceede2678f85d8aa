//! Changes that an import made to a series, encoded for the ledger so that the import can be
//! undone.

use block::{Block, BlockError, Effort};
use market::{Candle, Candles, Timestamp};
use store::{ImportChange, ImportId, Series};

use super::ImportError;
use super::merge::cut;

/// Maximum number of replaced candles per ledger record.
const REPLACED_ROWS: usize = 4096;
const _: () = assert!(REPLACED_ROWS <= block::ROWS_MAX);

/// A run of added candles with no other candle between them in the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) rows: u64,
}

/// Changes made by one part of a flush.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Runs in ascending order.
    pub(crate) added: Vec<Run>,
    /// The candles that were replaced, with their old values.
    pub(crate) replaced: Candles,
    is_open: bool,
}

impl Changes {
    /// Records all candles as one added run.
    pub(crate) fn appended(candles: &Candles) -> Changes {
        let mut changes = Changes::default();
        if let (Some(first), Some(last)) = (candles.time.first(), candles.time.last()) {
            changes.added.push(Run { first: *first, last: *last, rows: candles.len() as u64 });
        }
        changes
    }

    /// Records only replaced candles.
    pub(crate) fn of_replaced(replaced: &Candles) -> Changes {
        Changes { replaced: replaced.clone(), ..Changes::default() }
    }

    pub(crate) fn add(&mut self, at: Timestamp) {
        match self.added.last_mut().filter(|_| self.is_open) {
            Some(run) => {
                run.last = at.0;
                run.rows += 1;
            }
            None => self.added.push(Run { first: at.0, last: at.0, rows: 1 }),
        }
        self.is_open = true;
    }

    /// Ends the current run at a candle that was already stored.
    pub(crate) fn pass(&mut self) {
        self.is_open = false;
    }

    pub(crate) fn replace(&mut self, before: Candle) {
        self.is_open = false;
        self.replaced.push(before);
    }

    /// Returns the ledger records: one for all added runs, and one per block of replaced candles.
    pub(crate) fn records(
        &self,
        import: ImportId,
        series: &Series,
    ) -> Result<Vec<ImportChange>, ImportError> {
        let mut records = Vec::new();
        if let (Some(first), Some(last)) = (self.added.first(), self.added.last()) {
            records.push(ImportChange {
                import,
                series: series.clone(),
                first: Timestamp(first.first),
                last: Timestamp(last.last),
                added: encode_runs(&self.added),
                replaced: Vec::new(),
            });
        }
        let stamp = |row: usize| Timestamp(self.replaced.time.get(row).copied().unwrap_or_default());
        for rows in cut(self.replaced.len(), REPLACED_ROWS) {
            let (first, last) = (stamp(rows.start), stamp(rows.end.saturating_sub(1)));
            let damaged = |source| ImportError::Damaged { series: series.clone(), at: first, source };
            let replaced = block::encode_with(&self.replaced, rows, Effort::Quick).map_err(damaged)?;
            let (series, added) = (series.clone(), Vec::new());
            records.push(ImportChange { import, series, first, last, added, replaced });
        }
        Ok(records)
    }
}

fn encode_runs(runs: &[Run]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(runs.len() * RUN_BYTES);
    for Run { first, last, rows } in runs {
        bytes.extend_from_slice(&first.to_le_bytes());
        bytes.extend_from_slice(&last.to_le_bytes());
        bytes.extend_from_slice(&rows.to_le_bytes());
    }
    bytes
}

const RUN_BYTES: usize = 24;

pub(crate) fn decode_runs(bytes: &[u8]) -> Vec<Run> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i64::from_le_bytes);
    let run = |bytes: &[u8]| {
        let (first, rest) = bytes.split_at(8);
        let (last, rows) = rest.split_at(8);
        Run { first: number(first), last: number(last), rows: number(rows).unsigned_abs() }
    };
    bytes.chunks_exact(RUN_BYTES).map(run).collect()
}

/// Decodes the old values of replaced candles.
pub(crate) fn decode_replaced(bytes: &[u8]) -> Result<Candles, BlockError> {
    let mut candles = Candles::default();
    if !bytes.is_empty() {
        Block::parse(bytes)?.read_all(&mut candles)?;
    }
    Ok(candles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_candle_ends_a_run() {
        let mut changes = Changes::default();
        for at in [1, 2, 3] {
            changes.add(Timestamp(at));
        }
        changes.pass();
        changes.add(Timestamp(9));
        let run = |first, last, rows| Run { first, last, rows };
        assert_eq!(changes.added, [run(1, 3, 3), run(9, 9, 1)]);
        assert_eq!(decode_runs(&encode_runs(&changes.added)), changes.added);
        assert_eq!(decode_replaced(&[]).unwrap(), Candles::default());
    }
}
