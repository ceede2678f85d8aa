//! Reads a table's candles in batches. `opening.rs` opens tables; `trades.rs` reads trades.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use market::{Grain, Price, Symbol, Turnover, Venues};

use crate::clock::{Clock, Reading};
use crate::header::Vendor;
use crate::input::{Input, Position, SAMPLE_ROWS};
use crate::period::{self, JudgedBy, JudgedPeriod, Watch};
use crate::records::{ActionRow, MarginRow, Records, SecurityRow, SuspensionRow};
use crate::row::{RawChunk, RawRow};
use crate::sample::read_sample;
use crate::text::Rows;
use crate::trades::TradeReader;
use crate::understood::{TimesAre, Understood};
use crate::{CandleBatch, CandleRow, DecimalMark, FileError, Problem, ReadOptions, Rejected, Scale, Stamp};

/// A table, by its kind.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each file and taken apart at once")]
pub enum Table {
    Candles(CandleReader),
    Trades(TradeReader),
    Securities(Records<SecurityRow>),
    Actions(Records<ActionRow>),
    Margins(Records<MarginRow>),
    Suspensions(Records<SuspensionRow>),
}

/// Context for opening a table.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub path: &'a Path,
    pub venues: &'a Venues,
    pub options: &'a ReadOptions,
    /// Size of the file on disk, in bytes.
    pub bytes: u64,
}

/// Reads a file's candles in batches. Holds one batch in memory, and the sample until it has been
/// returned.
#[derive(Debug)]
pub struct CandleReader {
    path: PathBuf,
    input: Input,
    rows: Rows,
    clock: Clock,
    reading: Reading,
    judged: JudgedPeriod,
    /// Checks the period of the rows after the sample. `None` if the user has set the period.
    watch: Option<Watch>,
    times: TimesAre,
    pending: VecDeque<RawChunk<RawRow>>,
    notes: Vec<String>,
    rows_read: u64,
    bytes: u64,
}

impl CandleReader {
    pub(crate) fn start(
        opening: Opening<'_>,
        mut input: Input,
        mut rows: Rows,
    ) -> Result<CandleReader, Problem> {
        let Opening { path, venues, options, bytes } = opening;
        let vendor = rows.vendor;
        let pending = input.sample(&mut rows, |rows, sampled| {
            sampled >= SAMPLE_ROWS && sampled >= 3 * rows.symbols.symbols().len()
        })?;
        let mut clock = Clock::new(venues);
        let sample: Vec<&RawRow> = pending.iter().flat_map(|chunk| &chunk.rows).collect();
        let (reading, judged) = read_sample(&sample, &rows, &mut clock, venues, options)?;
        let watch = (judged.by != JudgedBy::Option).then(|| Watch::new(judged.period, venues));
        let notes = first_notes(&rows, vendor, &reading, judged, options);
        let times = TimesAre::of(&sample, &reading);
        let path = path.to_path_buf();
        Ok(CandleReader {
            path,
            input,
            rows,
            clock,
            reading,
            judged,
            times,
            watch,
            pending,
            notes,
            rows_read: 0,
            bytes,
        })
    }

    /// Returns the period of the file's candles, and how it was determined.
    pub fn judged(&self) -> JudgedPeriod {
        self.judged
    }

    /// Checks the period of the rows returned since the last check. The reader calls this method
    /// after every few thousand rows and at the end of the file; callers must call it before they
    /// store rows.
    pub fn check_period(&mut self) -> Result<(), FileError> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        watch.judge(self.rows.symbols.symbols()).map_err(|problem| problem.at(&self.path))
    }

    /// Returns the grain in which the rows are stored.
    pub fn grain(&self) -> Grain {
        self.reading.grain
    }

    /// Returns the factors that are applied: the user's, or those that convert lots to shares.
    pub fn scale(&self) -> Scale {
        self.rows.numbers.scale
    }

    pub fn vendor(&self) -> Vendor {
        self.rows.vendor
    }

    /// Returns how the table was interpreted, for display to the user.
    pub fn understood(&self) -> Understood {
        Understood {
            vendor: self.rows.vendor,
            symbol: self.rows.symbol_source,
            period: self.judged,
            times: self.times,
            order: self.reading.order,
            stamp: self.reading.stamp,
            basis: self.rows.basis,
            decimal: self.rows.numbers.mark,
            are_columns_guessed: self.rows.are_columns_guessed,
        }
    }

    /// Returns the symbols found so far, in order of appearance. [`CandleRow::symbol`] is an index
    /// into this slice.
    pub fn symbols(&self) -> &[Symbol] {
        self.rows.symbols.symbols()
    }

    /// Returns notes for the user about this file. The list is complete after the last batch.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(self.rows.symbols.note());
        let numbers = &self.rows.numbers;
        if numbers.rounded > 0 {
            notes.push(format!("prices or turnovers rounded to 6 decimals: {}", numbers.rounded));
        }
        if numbers.widened > 0 {
            notes.push(format!(
                "single-precision prices with spurious digits, read as the intended decimals: {}",
                numbers.widened
            ));
        }
        if numbers.abbreviated > 0 {
            notes.push(format!(
                "numbers written short, like 1.5M, and possibly rounded at the source: {}",
                numbers.abbreviated
            ));
        }
        notes.extend(self.rows.sessions.note());
        notes
    }

    /// Returns the number of rows that have been returned or rejected.
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    pub fn position(&self) -> Position {
        self.input.position(self.bytes)
    }

    /// Returns the next batch, or `None` at the end of the file.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator of results would hide that an error is final"
    )]
    pub fn next(&mut self) -> Result<Option<CandleBatch>, FileError> {
        // Pending rows are the sample, whose period has already been checked.
        let judged = !self.pending.is_empty();
        let chunk = match self.pending.pop_front() {
            Some(chunk) => chunk,
            None => match self.input.read(&mut self.rows).map_err(|problem| problem.at(&self.path))? {
                Some(chunk) => chunk,
                None => return self.check_period().map(|()| None),
            },
        };
        self.rows_read += chunk.consumed;
        let batch = self.finish(chunk);
        if !judged {
            self.watch(&batch)?;
        }
        Ok(Some(batch))
    }

    fn watch(&mut self, batch: &CandleBatch) -> Result<(), FileError> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        batch.rows.iter().for_each(|row| watch.see(row.symbol, row.time));
        if watch.is_full(self.rows.symbols.symbols()) { self.check_period() } else { Ok(()) }
    }

    fn finish(&mut self, chunk: RawChunk<RawRow>) -> CandleBatch {
        let RawChunk { rejected, omitted, .. } = chunk;
        let mut batch = CandleBatch { rows: Vec::with_capacity(chunk.rows.len()), rejected, omitted };
        let already = batch.rejected.len();
        // Consecutive rows mostly have the same symbol, so the last symbol's market is cached.
        let mut last = None;
        for row in &chunk.rows {
            let (_, market) = match last {
                Some(last @ (symbol, _)) if symbol == row.symbol => last,
                _ => *last.insert((row.symbol, self.rows.symbols.market(row.symbol))),
            };
            match self.clock.resolve(&self.reading, row.time, market) {
                Ok(time) => batch.rows.push(CandleRow {
                    symbol: row.symbol,
                    line: row.line,
                    time,
                    session: row.session,
                    open: Price(row.open),
                    high: Price(row.high),
                    low: Price(row.low),
                    close: Price(row.close),
                    volume: row.volume,
                    turnover: Turnover(row.turnover),
                }),
                Err(fault) => batch.rejected.push(Rejected {
                    line: row.line,
                    symbol: self.symbols().get(row.symbol as usize).map(Symbol::to_string),
                    text: row.time.to_string(),
                    reason: format!("{fault}, unlike the other rows"),
                }),
            }
        }
        if batch.rejected.len() > already {
            batch.rejected.sort_by_key(|rejected| rejected.line);
        }
        batch
    }
}

/// Returns notes about everything that was guessed, except the period.
fn guesses(rows: &Rows, options: &ReadOptions) -> Vec<String> {
    let mut notes = rows.notes.clone();
    if rows.are_columns_guessed {
        notes.push("there is no header; the columns are a guess; pass --columns to name them".to_owned());
    }
    if rows.numbers.mark == DecimalMark::Comma && options.decimal.is_none() {
        notes.push("decimals are written with a comma; pass --decimal to set it".to_owned());
    }
    notes
}

fn first_notes(
    rows: &Rows,
    vendor: Vendor,
    reading: &Reading,
    judged: JudgedPeriod,
    options: &ReadOptions,
) -> Vec<String> {
    let mut notes = guesses(rows, options);
    if let JudgedBy::Default { perhaps: Some(perhaps) } = judged.by {
        notes.push(format!(
            "too few rows to determine their period: treated as {} candles, although they are as far apart \
             as {} ones",
            period::name(judged.period),
            period::name(perhaps)
        ));
    }
    if judged.by == JudgedBy::FileName {
        notes.push(format!(
            "treated as {} candles by the file's name; pass --period to set it",
            period::name(judged.period)
        ));
    }
    if reading.grain.is_own() && judged.by == JudgedBy::Steps {
        notes.push(format!(
            "treated as {} candles, a guess from the distance between rows; pass --period to set it",
            period::name(judged.period)
        ));
    }
    let daily = reading.grain == Grain::Day;
    match vendor {
        Vendor::Yahoo if daily => {
            notes.push(
                "if these prices are Yahoo's they are adjusted for splits already; import no splits for their dates"
                    .to_owned(),
            );
        }
        Vendor::Nasdaq | Vendor::Investing if daily => notes.push(
            "prices of this source are adjusted for splits already; import no splits for their dates"
                .to_owned(),
        ),
        Vendor::Futu => {
            notes.push(
                "Futu's prices are forward-adjusted unless they were requested with autype NONE".to_owned(),
            );
        }
        Vendor::Metatrader if !daily => notes.push(
            "MetaTrader's times are those of the broker's server; rows outside the market's sessions are \
             quarantined"
                .to_owned(),
        ),
        _ => {}
    }
    if !daily && options.stamp.is_none() && reading.stamp == Stamp::End {
        let what = if reading.grain.is_own() { "candle" } else { "minute" };
        notes.push(format!(
            "{vendor} stamps a {what} with its end; each was moved to its start; pass --stamp start if these are starts"
        ));
    }
    if rows.columns.volume.is_none() {
        notes.push("there is no volume column; volumes are 0".to_owned());
    }
    if rows.columns.turnover.is_none() {
        notes.push(match (options.estimate_turnover, rows.columns.vwap) {
            (false, _) => "there is no turnover column; turnovers are 0".to_owned(),
            (true, Some(_)) => "turnover is estimated as vwap times volume".to_owned(),
            (true, None) => "turnover is estimated as (high + low + close) / 3 times volume".to_owned(),
        });
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BATCH_ROWS, REJECTED_MAX};

    const BAD_ROWS: u64 = 300_000;

    #[test]
    fn a_sample_of_bad_rows_is_bounded_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        for header in ["symbol,time,open,high,low,close,volume", "symbol,time,price,volume"] {
            let path = dir.path().join("junk.csv");
            let bad = "a,\n".repeat(usize::try_from(BAD_ROWS).unwrap());
            std::fs::write(&path, format!("{header}\n{bad}")).unwrap();
            let venues = Venues::built_in().unwrap();
            let (held, consumed) = match crate::open(&path, &venues, &ReadOptions::default()).unwrap() {
                Table::Candles(mut reader) => {
                    let held = reader.pending.iter().map(|chunk| chunk.rejected.len()).sum::<usize>();
                    assert!(reader.pending.iter().all(|chunk| chunk.rejected.capacity() <= REJECTED_MAX));
                    let mut consumed = Vec::new();
                    while let Some(batch) = reader.next().unwrap() {
                        assert!(batch.rejected.len() <= BATCH_ROWS);
                        consumed.push(batch.rows_read());
                    }
                    assert_eq!(reader.rows_read(), BAD_ROWS);
                    (held, consumed)
                }
                Table::Trades(mut reader) => {
                    let held = reader.held();
                    let mut consumed = Vec::new();
                    while let Some(batch) = reader.next().unwrap() {
                        assert!(batch.rejected.len() <= BATCH_ROWS);
                        consumed.push(batch.rows_read());
                    }
                    (held, consumed)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(held, REJECTED_MAX, "{header}");
            assert_eq!(consumed.iter().sum::<u64>(), BAD_ROWS, "{header}");
        }
    }
}
