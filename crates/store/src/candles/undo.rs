//! Undo of imports from their recorded changes, and removal of all data of a symbol.

use market::{Symbol, Timestamp};

use crate::candles::batch::Batch;
use crate::candles::ledger::{ImportId, ImportRecord, ImportState};
use crate::candles::security::Security;
use crate::candles::series::Series;
use crate::candles::trade_sql;
use crate::candles::view::View;
use crate::engine::{Fault, Row, StoreError};

/// The change that one commit of an import made to a series. The store does not interpret the
/// bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportChange {
    pub import: ImportId,
    pub series: Series,
    /// Timestamp of the first added or replaced candle.
    pub first: Timestamp,
    /// Timestamp of the last added or replaced candle.
    pub last: Timestamp,
    /// The encoded added candles; empty if no candles were added.
    pub added: Vec<u8>,
    /// The encoded previous values of replaced candles; empty if no candles were replaced.
    pub replaced: Vec<u8>,
}

impl ImportChange {
    fn read(row: &Row<'_>) -> Result<ImportChange, Fault> {
        Ok(ImportChange {
            import: ImportId(row.get(0)?),
            series: Series::read(row, 1)?,
            first: Timestamp(row.get(4)?),
            last: Timestamp(row.get(5)?),
            added: row.get(6)?,
            replaced: row.get(7)?,
        })
    }
}

impl View {
    /// Returns the changes of an import, newest first. Empty for an import by a program version
    /// that did not record changes.
    pub fn import_changes(&self, id: ImportId) -> Result<Vec<ImportChange>, StoreError> {
        self.db().all(sql::CHANGES, [id.0], ImportChange::read)
    }

    /// Returns the first later import that changed candles of the same series in the same time
    /// range, or `None` if there is no such import.
    pub fn changed_since(&self, change: &ImportChange) -> Result<Option<ImportRecord>, StoreError> {
        let Series { symbol, grain, lane } = &change.series;
        let params =
            (symbol.as_str(), grain.as_str(), lane.as_str(), change.import.0, change.last.0, change.first.0);
        let later = self.db().first(sql::CHANGED_SINCE, params, |row| Ok(ImportId(row.get(0)?)))?;
        later.map_or(Ok(None), |id| self.import(id))
    }
}

impl Batch<'_> {
    /// Records a change of an import. Changes must be recorded in the order in which they were
    /// made.
    pub fn add_import_change(&mut self, change: &ImportChange) -> Result<(), StoreError> {
        self.write(|batch| {
            let Series { symbol, grain, lane } = &change.series;
            let row = (
                change.import.0,
                symbol.as_str(),
                grain.as_str(),
                lane.as_str(),
                change.first.0,
                change.last.0,
                &change.added,
                &change.replaced,
            );
            batch.db().run(sql::ADD_CHANGE, row).map(drop)
        })
    }

    /// Marks an import as undone, and removes its recorded changes and its contributions to series.
    /// The caller must revert the candles.
    pub fn undo_import(&mut self, id: ImportId, message: &str) -> Result<(), StoreError> {
        self.write(|batch| {
            batch.db().run(sql::FORGET_CHANGES, [id.0])?;
            batch.db().run(sql::FORGET_IMPORT_SERIES, [id.0])?;
            batch.db().run(sql::UNDO_IMPORT, (ImportState::Undone.as_str(), message, id.0))?;
            Ok(())
        })
    }

    /// Removes all candles of a series, and removes the series from the import ledger.
    pub fn remove_series(&mut self, series: &Series) -> Result<(), StoreError> {
        let blocks = self.blocks(series, None, None)?;
        let ids: Vec<i64> = blocks.iter().map(|entry| entry.id).collect();
        self.replace_blocks(series, &ids, &[])?;
        self.write(|batch| {
            let key = (series.symbol.as_str(), series.grain.as_str(), series.lane.as_str());
            batch.db().run(sql::FORGET_SERIES_CHANGES, key)?;
            batch.db().run(sql::FORGET_SERIES_SOURCES, key).map(drop)
        })
    }

    /// Removes all trades of a symbol.
    pub fn remove_trades(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        let days = self.trade_days(symbol)?;
        self.write(|batch| {
            for day in &days {
                let place = (symbol.as_str(), day.day.to_string(), 0i64);
                let bodies: Vec<i64> = batch.db().all(trade_sql::REMOVE_ENTRIES, place, |row| row.get(0))?;
                batch.remove_trade_bodies(&bodies)?;
            }
            if !days.is_empty() {
                batch.db().run(sql::REMOVE_TRADE_DAYS, [symbol.as_str()])?;
                batch.db().run(sql::COUNT_NO_DAYS, [symbol.as_str()])?;
                batch.touch(symbol)?;
            }
            batch.db().run(sql::FORGET_TRADE_SOURCES, [symbol.as_str()]).map(drop)
        })
    }

    /// Removes a security with its corporate actions and margin factors. Its candles and trades
    /// must be removed first.
    pub fn remove_security(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        let has_series = !self.series_of(symbol)?.is_empty();
        if has_series || self.trade_day_count(symbol)? > 0 {
            return Err(StoreError::unfit(symbol, "it has candles or trades, and was to be removed"));
        }
        self.write(|batch| {
            let key = [symbol.as_str()];
            batch.ensured.remove(symbol);
            batch.forget_factors(symbol)?;
            batch.db().run(sql::REMOVE_ALL_ACTIONS, key)?;
            batch.db().run(super::mirrors::sql::REMOVE_DERIVED, key)?;
            batch.db().run(sql::REMOVE_MARGIN, key)?;
            batch.db().run(sql::FORGET_SOURCES, key)?;
            batch.db().run(sql::FORGET_TRADE_SOURCES, key)?;
            batch.db().run(sql::REMOVE_SECURITY, key)?;
            batch.touch(symbol).map(drop)
        })
    }

    /// Removes a security if it has no data and the ledger does not mention it. Imports add such
    /// securities implicitly.
    pub fn remove_bare_security(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        let is_bare = self.security(symbol)?.is_some_and(|known| known == Security::new(symbol.clone()))
            && self.series_of(symbol)?.is_empty()
            && self.stored_actions(symbol)?.is_empty()
            && self.trade_day_count(symbol)? == 0
            && self.margin(symbol)?.is_none();
        let is_named: bool = self.db().one(sql::IS_NAMED_IN_LEDGER, [symbol.as_str()], |row| row.get(0))?;
        if is_bare && !is_named { self.remove_security(symbol) } else { Ok(()) }
    }
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ALL;
        ADD_CHANGE: "write the changes of an import",
            "insert into import_change (import_id, place, symbol, grain, lane, first_at, last_at, added, replaced) \
             values ($1, (select coalesce(max(place), 0) + 1 from import_change where import_id = $1), \
             $2, $3, $4, $5, $6, $7, $8)";
        CHANGES: "read the changes of an import",
            "select import_id, symbol, grain, lane, first_at, last_at, added, replaced from sealed_import_change \
             where import_id = $1 order by place desc";
        CHANGED_SINCE: "find later imports",
            "select import_id from sealed_import_change where symbol = $1 and grain = $2 and lane = $3 \
             and import_id > $4 and first_at <= $5 and last_at >= $6 order by import_id limit 1";
        FORGET_CHANGES: "delete the changes of an import", "delete from import_change where import_id = $1";
        FORGET_SERIES_CHANGES: "delete the changes of imports",
            "delete from import_change where symbol = $1 and grain = $2 and lane = $3";
        FORGET_IMPORT_SERIES: "delete the series of an import", "delete from import_series where import_id = $1";
        FORGET_SERIES_SOURCES: "delete the sources of a series",
            "delete from import_series where symbol = $1 and grain = $2 and lane = $3";
        FORGET_SOURCES: "delete the sources of a symbol", "delete from import_series where symbol = $1";
        FORGET_TRADE_SOURCES: "delete the sources of trades", "delete from import_trade where symbol = $1";
        UNDO_IMPORT: "mark an import as undone",
            "update import set state = $1, rows_done = 0, message = $2 where id = $3";

        REMOVE_TRADE_DAYS: "remove the trades of a symbol", "delete from trade_day where symbol = $1";
        COUNT_NO_DAYS: "remove the trades of a symbol", "update security set trade_day_count = 0 where symbol = $1";
        REMOVE_ALL_ACTIONS: "remove corporate actions", "delete from corporate_action where symbol = $1";
        REMOVE_MARGIN: "remove margin factors", "delete from margin where symbol = $1";
        REMOVE_SECURITY: "remove a security", "delete from security where symbol = $1";
        IS_NAMED_IN_LEDGER: "find the sources of a symbol",
            "select exists (select 1 from import_series where symbol = $1) \
             or exists (select 1 from import_trade where symbol = $1)";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn reading_changes_uses_the_indexes() {
            crate::engine::statements::follow_the_keys(
                crate::engine::migrations::ALL,
                &[CHANGES, CHANGED_SINCE],
            );
        }
    }
}
