use std::collections::BTreeMap;

use market::adjust::Amount;
use market::{Action, Date, Symbol};
use rusqlite::Row;

use crate::count::signed;
use crate::fault::Fault;
use crate::{Batch, StoreError, View, sql};

/// What replacing corporate actions did, in rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionChanges {
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    /// Stored for one of the dates before, and not given now.
    pub removed: u64,
}

/// The amounts of an action as they are stored. Fractions are kept in lowest terms, so equal amounts have equal texts.
type Terms = [String; 5];

impl View {
    /// The corporate actions of a symbol, by ex-date.
    pub fn actions(&self, symbol: &Symbol) -> Result<Vec<Action>, StoreError> {
        self.steady(|| {
            let all = self.db().all(sql::ACTIONS, [symbol.as_str()], |row| {
                Ok(Action {
                    ex_date: date(row)?,
                    cash: amount(row, 1)?,
                    split: amount(row, 2)?,
                    bonus: amount(row, 3)?,
                    rights: amount(row, 4)?,
                    rights_price: amount(row, 5)?,
                })
            })?;
            let counted = self.counts(symbol)?.map_or(0, |(_, actions)| actions);
            self.agree(sql::ACTIONS, all.len() as u64 == counted)?;
            Ok(all)
        })
    }

    /// What [`Batch::put_factors`] wrote, unless a daily candle or an action of the symbol has changed since.
    pub fn factors(&self, symbol: &Symbol) -> Result<Option<Vec<u8>>, StoreError> {
        self.db().first(sql::FACTORS, [symbol.as_str()], |row| Ok(row.get(0)?))
    }

    /// The symbols that have actions, but no factors.
    pub fn without_factors(&self) -> Result<Vec<Symbol>, StoreError> {
        self.db().all(sql::WITHOUT_FACTORS, [], |row| {
            let text = row.get_ref(0)?.as_str()?;
            text.parse().map_err(|_| Fault::value("symbol", text))
        })
    }
}

impl Batch<'_> {
    /// For every ex-date among `actions`, replaces what is stored by what is given; other dates stay as they are.
    /// The same row twice is one row.
    pub fn replace_actions(
        &mut self,
        symbol: &Symbol,
        actions: &[Action],
    ) -> Result<ActionChanges, StoreError> {
        self.write(|batch| {
            let mut given: BTreeMap<Date, Vec<Terms>> = BTreeMap::new();
            for action in actions {
                given.entry(action.ex_date).or_default().push(terms(action));
            }
            let mut stored: BTreeMap<Date, Vec<Terms>> = BTreeMap::new();
            for action in batch.actions(symbol)? {
                stored.entry(action.ex_date).or_default().push(terms(&action));
            }
            batch.add_security(symbol)?;
            let mut changes = ActionChanges::default();
            for (ex_date, mut new) in given {
                new.sort();
                new.dedup();
                batch.replace_date(
                    symbol,
                    ex_date,
                    &new,
                    &stored.remove(&ex_date).unwrap_or_default(),
                    &mut changes,
                )?;
            }
            if changes.added + changes.replaced + changes.removed > 0 {
                batch.touch()?;
            }
            batch.forget_factors(symbol)?;
            Ok(changes)
        })
    }

    /// Keeps what a symbol's actions and daily closes come to. The bytes are not looked at.
    pub fn put_factors(&mut self, symbol: &Symbol, factors: &[u8]) -> Result<(), StoreError> {
        self.write(|batch| batch.db().run(sql::PUT_FACTORS, (symbol.as_str(), factors)).map(drop))
    }

    /// To be called with every change of an action or a daily candle: stale factors are never read.
    pub(crate) fn forget_factors(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        self.db().run(sql::REMOVE_FACTORS, [symbol.as_str()]).map(drop)
    }

    fn replace_date(
        &mut self,
        symbol: &Symbol,
        ex_date: Date,
        new: &[Terms],
        old: &[Terms],
        changes: &mut ActionChanges,
    ) -> Result<(), StoreError> {
        let kept = new.iter().filter(|row| old.contains(row)).count() as u64;
        let (came, went) = (new.len() as u64 - kept, old.len() as u64 - kept);
        let replaced = came.min(went);
        changes.unchanged += kept;
        changes.replaced += replaced;
        changes.added += came - replaced;
        changes.removed += went - replaced;
        if came + went == 0 {
            return Ok(());
        }
        let date = ex_date.to_string();
        let removed = self.db().run(sql::REMOVE_ACTIONS, (symbol.as_str(), &date))?;
        let [new_rows, removed] = [new.len(), removed].map(|rows| signed(rows as u64));
        self.db().run(sql::ADD_COUNTS, (0, new_rows - removed, symbol.as_str()))?;
        for [cash, split, bonus, rights, price] in new {
            self.db().run(sql::ADD_ACTION, (symbol.as_str(), &date, cash, split, bonus, rights, price))?;
        }
        Ok(())
    }
}

fn terms(action: &Action) -> Terms {
    [&action.cash, &action.split, &action.bonus, &action.rights, &action.rights_price].map(Amount::to_string)
}

fn date(row: &Row<'_>) -> Result<Date, Fault> {
    let text = row.get_ref(0)?.as_str()?;
    text.parse().map_err(|_| Fault::value("date", text))
}

fn amount(row: &Row<'_>, column: usize) -> Result<Amount, Fault> {
    let text = row.get_ref(column)?.as_str()?;
    Amount::parse(text).map_err(|_| Fault::value("amount", text))
}
