use std::collections::BTreeMap;

use market::adjust::Amount;
use market::{Action, Date, Symbol};

use crate::candles::batch::Batch;
use crate::candles::sql;
use crate::candles::view::View;
use crate::engine::{Fault, Row, StoreError, signed};

/// Numbers of actions, by the effect of [`Batch::replace_actions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionChanges {
    pub added: u64,
    pub replaced: u64,
    pub unchanged: u64,
    /// Actions that were stored for one of the given dates and are now absent.
    pub removed: u64,
}

/// A corporate action with the stored fields that adjustment does not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAction {
    pub action: Action,
    /// Payment date of the cash dividend, if known.
    pub pay_date: Option<Date>,
}

impl From<Action> for StoredAction {
    fn from(action: Action) -> StoredAction {
        StoredAction { action, pay_date: None }
    }
}

/// The stored amounts of an action, as text. Fractions are in lowest terms, so equal amounts have
/// equal text.
type Terms = [String; 5];

/// A stored action of an ex-date, identified by its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TermsRow {
    terms: Terms,
    pay_date: Option<String>,
}

impl TermsRow {
    fn of(stored: &StoredAction) -> TermsRow {
        TermsRow { terms: terms(&stored.action), pay_date: stored.pay_date.map(|date| date.to_string()) }
    }
}

impl View {
    /// Returns a symbol's corporate actions, ordered by ex-date.
    pub fn actions(&self, symbol: &Symbol) -> Result<Vec<Action>, StoreError> {
        Ok(self.stored_actions(symbol)?.into_iter().map(|stored| stored.action).collect())
    }

    /// Returns a symbol's corporate actions with all stored fields, ordered by ex-date.
    pub fn stored_actions(&self, symbol: &Symbol) -> Result<Vec<StoredAction>, StoreError> {
        self.steadily_about(symbol, || {
            let all = self.db().all(sql::ACTIONS, [symbol.as_str()], |row| {
                let action = Action {
                    ex_date: date(row.text(0)?)?,
                    cash: amount(row, 1)?,
                    split: amount(row, 2)?,
                    bonus: amount(row, 3)?,
                    rights: amount(row, 4)?,
                    rights_price: amount(row, 5)?,
                };
                let pay_date = row.text_or_null(6)?.map(date).transpose()?;
                Ok(StoredAction { action, pay_date })
            })?;
            let counted = self.counts(symbol)?.map_or(0, |(_, actions)| actions);
            self.agree(sql::ACTIONS, all.len() as u64 == counted)?;
            Ok(all)
        })
    }

    /// Returns the bytes that [`Batch::put_factors`] wrote, or `None` if a daily candle or an
    /// action of the symbol has changed since.
    pub fn factors(&self, symbol: &Symbol) -> Result<Option<Vec<u8>>, StoreError> {
        self.about(symbol, || self.db().first(sql::FACTORS, [symbol.as_str()], |row| row.get(0)))
    }

    /// Returns the symbols that have actions but no factors.
    pub fn without_factors(&self) -> Result<Vec<Symbol>, StoreError> {
        self.db().all(sql::WITHOUT_FACTORS, [], |row| {
            let text = row.text(0)?;
            text.parse().map_err(|_| Fault::value("symbol", text))
        })
    }
}

impl Batch<'_> {
    /// Replaces the stored actions on every ex-date in `actions` with the given actions. Other
    /// dates are unchanged. Of several given actions with equal terms, only the first is stored.
    pub fn replace_actions(
        &mut self,
        symbol: &Symbol,
        actions: &[impl Clone + Into<StoredAction>],
    ) -> Result<ActionChanges, StoreError> {
        self.write(|batch| {
            let mut given: BTreeMap<Date, Vec<TermsRow>> = BTreeMap::new();
            for action in actions {
                let action: StoredAction = action.clone().into();
                given.entry(action.action.ex_date).or_default().push(TermsRow::of(&action));
            }
            let mut stored: BTreeMap<Date, Vec<TermsRow>> = BTreeMap::new();
            for action in batch.stored_actions(symbol)? {
                stored.entry(action.action.ex_date).or_default().push(TermsRow::of(&action));
            }
            batch.add_security(symbol)?;
            let mut changes = ActionChanges::default();
            for (ex_date, mut new) in given {
                new.sort_by(|one, other| one.terms.cmp(&other.terms));
                new.dedup_by(|later, first| later.terms == first.terms);
                batch.replace_date(
                    symbol,
                    ex_date,
                    &new,
                    &stored.remove(&ex_date).unwrap_or_default(),
                    &mut changes,
                )?;
            }
            if changes.added + changes.replaced + changes.removed > 0 {
                batch.touch(symbol)?;
            }
            batch.forget_factors(symbol)?;
            Ok(changes)
        })
    }

    /// Stores a symbol's adjustment factors, computed from its actions and daily closes. The store
    /// does not interpret the bytes.
    pub fn put_factors(&mut self, symbol: &Symbol, factors: &[u8]) -> Result<(), StoreError> {
        self.write(|batch| {
            batch.db().run(sql::PUT_FACTORS, (symbol.as_str(), factors))?;
            batch.touch_for_nodes(symbol)
        })
    }

    /// Removes a symbol's factors. Must be called with every change of an action or a daily candle,
    /// so that stale factors are never read.
    pub(crate) fn forget_factors(&mut self, symbol: &Symbol) -> Result<(), StoreError> {
        self.db().run(sql::REMOVE_FACTORS, [symbol.as_str()]).map(drop)
    }

    fn replace_date(
        &mut self,
        symbol: &Symbol,
        ex_date: Date,
        new: &[TermsRow],
        old: &[TermsRow],
        changes: &mut ActionChanges,
    ) -> Result<(), StoreError> {
        let stored = new.iter().filter(|row| old.contains(row)).count() as u64;
        let (came, went) = (new.len() as u64 - stored, old.len() as u64 - stored);
        let replaced = came.min(went);
        changes.unchanged += stored;
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
        for TermsRow { terms: [cash, split, bonus, rights, price], pay_date } in new {
            let row = (symbol.as_str(), &date, cash, split, bonus, rights, price, pay_date);
            self.db().run(sql::ADD_ACTION, row)?;
        }
        Ok(())
    }
}

fn terms(action: &Action) -> Terms {
    [&action.cash, &action.split, &action.bonus, &action.rights, &action.rights_price].map(Amount::to_string)
}

fn date(text: &str) -> Result<Date, Fault> {
    text.parse().map_err(|_| Fault::value("date", text))
}

fn amount(row: &Row<'_>, column: usize) -> Result<Amount, Fault> {
    let text = row.text(column)?;
    Amount::parse(text).map_err(|_| Fault::value("amount", text))
}
