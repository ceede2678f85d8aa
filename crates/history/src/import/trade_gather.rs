//! Reads the trades of a file into flushes: validates them, and sorts them by symbol and day.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use files::{Rejected, Table, TradeBatch, TradeReader, TradeRow};
use market::{Date, Grain, Market, Symbol, TradeFlaw, TradeHours, TradePlace, Venues};
use store::ImportState;

use super::flush::{CommitterGone, FileNo, Pending};
use super::gather::{Gatherer, Trouble};
use super::sorting::{Places, Unserved, last_line_behind};
use super::{Options, Outcome, Report};

impl Options {
    /// Returns the ledger option for building candles, or `None` if no candles are built. Returns
    /// an error if the options request candles from a table without trades.
    pub(super) fn build_meaning(&self, table: &Table) -> Result<Option<&'static str>, Trouble> {
        match (self.build_candles, table) {
            (false, _) => Ok(None),
            (true, Table::Trades(_)) => Ok(Some("build-candles")),
            (true, _) => {
                let message = "--build-candles builds candles of trades, but this file has no trades: they \
                 need the columns time, price and volume, and no open, high, low or close";
                Err(Trouble::File(message.to_owned()))
            }
        }
    }
}

/// Validates trades against the trading hours of their market.
#[derive(Debug)]
pub(crate) struct Inspector<'a> {
    hk: TradeHours<'a>,
    us: TradeHours<'a>,
    cn: TradeHours<'a>,
}

impl<'a> Inspector<'a> {
    pub(crate) fn new(venues: &'a Venues) -> Inspector<'a> {
        let hours = |market| TradeHours::new(venues.of(market));
        Inspector { hk: hours(Market::Hk), us: hours(Market::Us), cn: hours(Market::Cn) }
    }

    #[inline]
    pub(crate) fn inspect(&mut self, row: &TradeRow, symbol: &Symbol) -> Result<TradePlace, TradeFlaw> {
        row.trade.check()?;
        if symbol.is_us_option() {
            return Err(TradeFlaw::Option);
        }
        let hours = match symbol.market() {
            Market::Hk => &mut self.hk,
            Market::Us => &mut self.us,
            Market::Cn => &mut self.cn,
        };
        hours.place(row.trade.time)
    }
}

/// Sorts the rows of one file into flushes.
struct TradeSorting<'a> {
    file: FileNo,
    venues: &'a Venues,
    inspector: Inspector<'a>,
    unserved: Unserved,
    quarantined_before: u64,
    /// Time in seconds of the newest trade sent to the committer, by symbol index.
    handed_over: HashMap<u32, i64>,
    /// Time in seconds of the newest trade read, by symbol index.
    newest: HashMap<u32, i64>,
    places: Places<Date>,
    /// Days with trades that an earlier run has stored.
    brought: BTreeSet<(u32, Date)>,
}

impl Gatherer<'_> {
    pub(super) fn trades(
        &mut self,
        file: FileNo,
        mut reader: TradeReader,
        done: u64,
        report: &mut Report,
    ) -> Result<Outcome, Trouble> {
        let (venues, floors) = (self.context.venues, &self.context.options.floors);
        let mut sorting = TradeSorting {
            file,
            venues,
            inspector: Inspector::new(venues),
            unserved: Unserved::new(venues, floors, Grain::Minute),
            quarantined_before: self.quarantined_before(),
            handed_over: HashMap::new(),
            newest: HashMap::new(),
            places: Places::default(),
            brought: BTreeSet::new(),
        };
        report.resumed_at = done;
        let bytes_before = self.context.progress.bytes.load(Ordering::Relaxed);
        while let Some(batch) = reader.next()? {
            if self.has_failed(file)? {
                return Ok(Outcome::Interrupted);
            }
            let behind = done.saturating_sub(report.rows);
            let (rows, omitted) = (batch.rows_read(), batch.omitted);
            report.rows += rows;
            sorting.sort(&mut self.pending, reader.symbols(), batch, behind, report)?;
            report.omit(omitted, behind < rows);
            self.context.progress.rows.store(report.rows, Ordering::Relaxed);
            self.context.progress.bytes.store(bytes_before + reader.position().consumed, Ordering::Relaxed);
            if self.context.stop.load(Ordering::Relaxed) {
                self.mark(file, report, ImportState::Interrupted);
                self.pending.send()?;
                return Ok(Outcome::Interrupted);
            }
            if self.pending.rows() >= self.flush_rows {
                self.mark(file, report, ImportState::Running);
                self.pending.send()?;
                sorting.handed_over.clone_from(&sorting.newest);
            }
        }
        let brought = sorting
            .brought
            .into_iter()
            .filter_map(|(symbol, day)| Some((file, reader.symbols().get(symbol as usize)?.clone(), day)));
        self.pending.flush_mut().brought.extend(brought);
        report.notes.extend(reader.notes());
        self.end(file, reader.symbols(), Grain::Minute, report)
    }

    /// For `--strict`: reads the whole file before anything is written, and returns an error if a
    /// row is invalid. Breaks if the import is stopped.
    pub(super) fn refuse_trades(&self, path: &Path, report: &mut Report) -> Result<ControlFlow<()>, Trouble> {
        let Table::Trades(mut reader) = files::open(path, self.context.venues, &self.context.options.read)?
        else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut inspector = Inspector::new(self.context.venues);
        self.refuse(report, |flaws| {
            let Some(batch) = reader.next()? else { return Ok(None) };
            flaws.extend(batch.rejected.into_iter().map(|row| (row.line, row.reason)));
            flaws.extend(batch.rows.iter().filter_map(|row| {
                let flaw = inspector.inspect(row, reader.symbols().get(row.symbol as usize)?).err()?;
                Some((row.line, flaw.to_string()))
            }));
            Ok(Some(batch.omitted))
        })
    }
}

impl TradeSorting<'_> {
    /// Sorts the rows of a batch into buffers. The first `behind` rows were stored by an earlier
    /// run and are skipped.
    fn sort(
        &mut self,
        pending: &mut Pending<'_>,
        symbols: &[Symbol],
        batch: TradeBatch,
        behind: u64,
        report: &mut Report,
    ) -> Result<(), CommitterGone> {
        let lines = batch.rows.iter().map(|row| row.line);
        let last_behind = last_line_behind(lines.chain(batch.rejected.iter().map(|row| row.line)), behind);
        for row in batch.rejected.into_iter().filter(|row| Some(row.line) > last_behind) {
            pending.quarantine(self.file, row, self.quarantined_before, report);
        }
        for row in &batch.rows {
            let Some(symbol) = symbols.get(row.symbol as usize) else { continue };
            let placed = self.inspector.inspect(row, symbol);
            if Some(row.line) <= last_behind {
                if let Ok(place) = placed {
                    let newest = self.newest.entry(row.symbol).or_insert(i64::MIN);
                    *newest = (*newest).max(row.trade.time.0);
                    self.handed_over.insert(row.symbol, *newest);
                    self.brought.insert((row.symbol, place.day));
                }
                continue;
            }
            match placed {
                Ok(place) => {
                    let at = row.trade.time;
                    report.unserved += u64::from(self.unserved.holds(symbol.market(), at));
                    report.see(at, symbol.market());
                    self.put(pending, row, symbol, place.day)?;
                }
                Err(flaw) => {
                    let row = Rejected {
                        line: row.line,
                        symbol: Some(symbol.to_string()),
                        text: spell(row, symbol, self.venues),
                        reason: flaw.to_string(),
                    };
                    pending.quarantine(self.file, row, self.quarantined_before, report);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn put(
        &mut self,
        pending: &mut Pending<'_>,
        row: &TradeRow,
        symbol: &Symbol,
        day: Date,
    ) -> Result<(), CommitterGone> {
        let key = (row.symbol, day);
        let at = match self.places.get(key, pending.number) {
            Some(at) => at,
            None => {
                let continues = self.handed_over.get(&row.symbol).copied();
                let at = pending.trade_buffer(self.file, symbol, day, continues)?;
                self.places.set(key, pending.number, at);
                at
            }
        };
        let newest = self.newest.entry(row.symbol).or_insert(i64::MIN);
        *newest = (*newest).max(row.trade.time.0);
        pending.push_trade(at, row.trade);
        Ok(())
    }
}

/// Formats an invalid row for the quarantine.
pub(crate) fn spell(row: &TradeRow, symbol: &Symbol, venues: &Venues) -> String {
    let time = venues.of(symbol.market()).zone().rfc3339(row.trade.time);
    let (direction, kind) = (row.trade.direction.as_str(), row.trade.kind);
    format!("{symbol},{time},{},{},{direction},{kind}", row.trade.price.text(6), row.trade.volume)
}
