//! Trades, stored per symbol and trading day in blocks, in time order.

use market::{Date, Symbol, Timestamp};

use crate::candles::batch::Batch;
use crate::candles::block::{BLOCK_BYTES_MAX, BlockEntry, NewBlock, Tail};
use crate::candles::copy::BodyOf;
use crate::candles::ledger::ImportId;
use crate::candles::trade_sql;
use crate::candles::view::View;
use crate::engine::{Db, Fault, Row, Sql, StoreError, Value, natural, signed, small};

/// Totals of a symbol's trades on a trading day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradeDay {
    pub symbol: Symbol,
    pub day: Date,
    pub rows: u64,
    pub blocks: u64,
    pub bytes: u64,
    pub first: Timestamp,
    pub last: Timestamp,
    /// Increases with each commit that changes the day.
    pub version: i64,
    /// Size thresholds of the day's trades; `None` if not computed.
    pub sizes: Option<TradeSizes>,
    next: Option<Date>,
}

/// Size thresholds of trades, as amounts in millionths. A trade of at least `large_from` is large,
/// and a trade of at least `medium_from` is medium. The thresholds were computed for the given
/// percentages of the turnover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeSizes {
    pub large_percent: u8,
    pub medium_percent: u8,
    pub large_from: i64,
    pub medium_from: i64,
}

/// Totals of all trades of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradedSymbol {
    pub symbol: Symbol,
    pub days: u64,
    pub rows: u64,
    pub bytes: u64,
    pub first: Date,
    pub last: Date,
}

/// Contribution of an import to a symbol's trades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradeSource {
    pub import: ImportId,
    pub file: String,
    pub imported_at: Timestamp,
    pub rows: u64,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl TradeDay {
    pub(crate) fn read(row: &Row<'_>) -> Result<TradeDay, Fault> {
        Ok(TradeDay {
            symbol: symbol(row, 0)?,
            day: date(row, 1)?.ok_or(Fault::Missing)?,
            rows: natural(row, 2)?,
            blocks: natural(row, 3)?,
            bytes: natural(row, 4)?,
            first: Timestamp(row.get(5)?),
            last: Timestamp(row.get(6)?),
            version: row.get(7)?,
            next: date(row, 8)?,
            sizes: sizes(row)?,
        })
    }

    pub(crate) fn is_followed_by(&self, day: Date) -> bool {
        self.next == Some(day)
    }

    pub(crate) fn is_last(&self) -> bool {
        self.next.is_none()
    }

    /// Returns whether the day's totals match the blocks.
    pub(crate) fn is_made_of(&self, entries: &[BlockEntry]) -> bool {
        let rows: u64 = entries.iter().map(|entry| u64::from(entry.rows)).sum();
        let bytes: u64 = entries.iter().map(|entry| u64::from(entry.bytes)).sum();
        let ends = (entries.first().map(|entry| entry.first), entries.last().map(|entry| entry.last));
        (rows, bytes, entries.len() as u64) == (self.rows, self.bytes, self.blocks)
            && ends == (Some(self.first), Some(self.last))
            && entries.iter().zip(entries.iter().skip(1)).all(|(before, after)| before.last <= after.first)
    }
}

fn symbol(row: &Row<'_>, column: usize) -> Result<Symbol, Fault> {
    let text = row.text(column)?;
    text.parse().map_err(|_| Fault::value("symbol", text))
}

fn date(row: &Row<'_>, column: usize) -> Result<Option<Date>, Fault> {
    let text = row.text_or_null(column)?;
    text.map(|text| text.parse().map_err(|_| Fault::value("day", text))).transpose()
}

fn sizes(row: &Row<'_>) -> Result<Option<TradeSizes>, Fault> {
    let percent = |column: usize| -> Result<Option<u8>, Fault> {
        let number: Option<i64> = row.get(column)?;
        number.map(|n| u8::try_from(n).map_err(|_| Fault::value("percent", &n.to_string()))).transpose()
    };
    let (large, medium): (Option<i64>, Option<i64>) = (row.get(11)?, row.get(12)?);
    Ok(match (percent(9)?, percent(10)?, large, medium) {
        (Some(large_percent), Some(medium_percent), Some(large_from), Some(medium_from)) => {
            Some(TradeSizes { large_percent, medium_percent, large_from, medium_from })
        }
        _ => None,
    })
}

impl View {
    /// Returns a symbol's newest days with trades, up to and including `through`, newest first.
    /// Empty if there is no such day.
    pub fn trade_days_back(
        &self,
        symbol: &Symbol,
        through: Date,
        limit: u32,
    ) -> Result<Vec<TradeDay>, StoreError> {
        let sql = trade_sql::DAYS_BACK;
        self.steadily_about(symbol, || {
            let params = (symbol.as_str(), through.to_string(), limit);
            let days = self.db().all(sql, params, TradeDay::read)?;
            let newest = days.first().is_none_or(|day| day.is_last() || day.next > Some(through));
            let linked =
                days.iter().zip(days.iter().skip(1)).all(|(after, day)| day.is_followed_by(after.day));
            self.agree(sql, newest && linked)?;
            if days.len() < limit as usize {
                self.all_days_are_there(symbol)?;
            }
            Ok(days)
        })
    }

    /// Returns all days with trades of a symbol, in ascending order.
    pub fn trade_days(&self, symbol: &Symbol) -> Result<Vec<TradeDay>, StoreError> {
        self.steadily_about(symbol, || {
            let days = self.db().all(trade_sql::DAYS, [symbol.as_str()], TradeDay::read)?;
            self.agree(trade_sql::DAYS, days.len() as u64 == self.trade_day_count(symbol)?)?;
            Ok(days)
        })
    }

    /// Returns the number of a symbol's days with trades, as recorded in the security's row.
    pub fn trade_day_count(&self, symbol: &Symbol) -> Result<u64, StoreError> {
        let find = |db: &Db| db.first(trade_sql::DAY_COUNT, [symbol.as_str()], |row| natural(row, 0));
        let count = self.about(symbol, || self.known(find))?;
        Ok(count.unwrap_or(0))
    }

    fn all_days_are_there(&self, symbol: &Symbol) -> Result<(), StoreError> {
        let counted = self.trade_day_count(symbol)?;
        let found = self.db().one(trade_sql::COUNT_DAYS, [symbol.as_str()], |row| natural(row, 0))?;
        self.agree(trade_sql::COUNT_DAYS, found == counted)
    }

    /// Returns all symbols that have trades, in ascending order.
    pub fn traded_symbols(&self) -> Result<Vec<TradedSymbol>, StoreError> {
        self.db().all(trade_sql::SYMBOLS, [], |row| {
            Ok(TradedSymbol {
                symbol: symbol(row, 0)?,
                days: natural(row, 1)?,
                rows: natural(row, 2)?,
                bytes: natural(row, 3)?,
                first: date(row, 4)?.ok_or(Fault::Missing)?,
                last: date(row, 5)?.ok_or(Fault::Missing)?,
            })
        })
    }

    /// Returns the blocks of a day, in time order.
    pub fn trade_blocks(&self, day: &TradeDay) -> Result<Vec<BlockEntry>, StoreError> {
        let entries = self.about(&day.symbol, || self.trade_entries(trade_sql::ENTRIES, day))?;
        self.agree(trade_sql::ENTRIES, day.is_made_of(&entries))?;
        self.expect(BodyOf::Trades, &entries);
        Ok(entries)
    }

    pub(crate) fn trade_entries(&self, sql: Sql, day: &TradeDay) -> Result<Vec<BlockEntry>, StoreError> {
        let mut place = 0;
        self.db().all(sql, (day.symbol.as_str(), day.day.to_string()), |row| {
            if small(row, 6)? != place {
                return Err(Fault::Missing);
            }
            place += 1;
            BlockEntry::read(row)
        })
    }

    /// Returns the imports that a symbol's trades came from, oldest first.
    pub fn trade_sources(&self, symbol: &Symbol) -> Result<Vec<TradeSource>, StoreError> {
        self.db().all(trade_sql::SOURCES, [symbol.as_str()], |row| {
            Ok(TradeSource {
                file: row.get(0)?,
                imported_at: Timestamp(row.get(1)?),
                rows: natural(row, 2)?,
                first: Timestamp(row.get(3)?),
                last: Timestamp(row.get(4)?),
                import: ImportId(row.get(5)?),
            })
        })
    }
}

impl Batch<'_> {
    /// Keeps the first `retained` blocks of a day and replaces the others with `added`. At least
    /// one block must remain, because a day without blocks does not exist. Removes the stored size
    /// thresholds of later days.
    pub fn replace_trades(
        &mut self,
        symbol: &Symbol,
        day: Date,
        retained: usize,
        added: &[NewBlock],
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            batch.add_security(symbol)?;
            let stored = batch.trade_days_back(symbol, day, 1)?.pop().filter(|stored| stored.day == day);
            let text = day.to_string();
            let key = (symbol.as_str(), text.as_str());
            let mut entries = match &stored {
                Some(stored) => batch.trade_entries(trade_sql::ENTRIES, stored)?,
                None => Vec::new(),
            };
            entries.truncate(retained);
            let place = (key.0, key.1, entries.len() as i64);
            let removed: Vec<i64> = batch.db().all(trade_sql::REMOVE_ENTRIES, place, |row| row.get(0))?;
            batch.remove_trade_bodies(&removed)?;
            let first_id = batch.take_ids("trade", added.len())?;
            entries.extend(batch.add_trade_blocks(key, entries.len(), first_id, added)?);
            let version = batch.touch(symbol)?;
            batch.total_trades(key, stored.is_some(), &entries, version)?;
            batch.db().run(trade_sql::FORGET_CLASSES, key)?;
            Ok(())
        })
    }

    pub(super) fn remove_trade_bodies(&mut self, ids: &[i64]) -> Result<(), StoreError> {
        let bodies: Vec<[Value<'_>; 1]> = ids.iter().map(|id| [Value::Int(*id)]).collect();
        self.db().run_all(trade_sql::REMOVE_BODY, bodies.iter().map(<[Value<'_>; 1]>::as_slice))
    }

    /// Adds blocks to a day, starting at position `place`.
    fn add_trade_blocks(
        &mut self,
        (symbol, day): (&str, &str),
        place: usize,
        first_id: i64,
        blocks: &[NewBlock],
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let mut entries = Vec::with_capacity(blocks.len());
        for (id, block) in (first_id..).zip(blocks) {
            let fits = (1..=BLOCK_BYTES_MAX).contains(&block.bytes.len());
            let bytes = match u32::try_from(block.bytes.len()) {
                Ok(bytes) if fits && block.rows > 0 && block.first <= block.last => bytes,
                _ => {
                    let what = format!("a block of trades of {symbol} on {day}");
                    return Err(StoreError::unfit(what, "it is empty, too large, or ends before it starts"));
                }
            };
            let tail = Tail::of(&block.bytes);
            entries.push(BlockEntry {
                id,
                first: block.first,
                last: block.last,
                rows: block.rows,
                bytes,
                tail,
            });
        }
        let bodies: Vec<[Value<'_>; 2]> = entries
            .iter()
            .zip(blocks)
            .map(|(entry, block)| [Value::Int(entry.id), Value::Blob(&block.bytes)])
            .collect();
        self.db().run_all(trade_sql::ADD_BODY, bodies.iter().map(<[Value<'_>; 2]>::as_slice))?;
        let rows: Vec<[Value<'_>; 9]> = (place as i64..)
            .zip(&entries)
            .map(|(place, entry)| {
                [
                    Value::Text(symbol),
                    Value::Text(day),
                    Value::Int(place),
                    Value::Int(entry.first.0),
                    Value::Int(entry.last.0),
                    Value::Int(i64::from(entry.rows)),
                    Value::Int(i64::from(entry.bytes)),
                    Value::Int(entry.id),
                    Value::Blob(entry.tail.as_bytes()),
                ]
            })
            .collect();
        self.db().run_all(trade_sql::ADD_ENTRY, rows.iter().map(<[Value<'_>; 9]>::as_slice))?;
        Ok(entries)
    }

    fn total_trades(
        &mut self,
        (symbol, day): (&str, &str),
        is_stored: bool,
        entries: &[BlockEntry],
        version: i64,
    ) -> Result<(), StoreError> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Err(StoreError::unfit(format!("trades of {symbol} on {day}"), "there are none"));
        };
        let rows = signed(entries.iter().map(|entry| u64::from(entry.rows)).sum());
        let bytes = signed(entries.iter().map(|entry| u64::from(entry.bytes)).sum());
        let blocks = entries.len() as i64;
        let (first, last) = (first.first.0, last.last.0);
        if is_stored {
            let row = (rows, blocks, bytes, first, last, version, symbol, day);
            return self.db().run(trade_sql::PUT_DAY, row).map(drop);
        }
        self.db().run(trade_sql::ADD_DAY, (symbol, day, rows, blocks, bytes, first, last, version))?;
        self.db().run(trade_sql::LINK_DAY, (day, symbol))?;
        self.db().run(trade_sql::COUNT_DAY, [symbol]).map(drop)
    }

    /// Stores the size thresholds of a day's trades.
    pub fn put_trade_sizes(
        &mut self,
        symbol: &Symbol,
        day: Date,
        sizes: &TradeSizes,
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            let TradeSizes { large_percent, medium_percent, large_from, medium_from } = *sizes;
            let row =
                (large_percent, medium_percent, large_from, medium_from, symbol.as_str(), day.to_string());
            batch.db().run(trade_sql::PUT_CLASSES, row)?;
            batch.touch_for_nodes(symbol)
        })
    }

    /// Adds the counts of one part of an import to the import's contribution to a symbol's trades.
    /// Called once per part.
    pub fn add_import_trades(
        &mut self,
        id: ImportId,
        symbol: &Symbol,
        rows: u64,
        first: Timestamp,
        last: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            batch.add_security(symbol)?;
            let row = (id.0, symbol.as_str(), signed(rows), first.0, last.0);
            batch.db().run(trade_sql::ADD_SOURCE, row).map(drop)
        })
    }
}
