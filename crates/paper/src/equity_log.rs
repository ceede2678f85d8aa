//! Cache of account holdings at the end of each date. A journal is read once; later requests read
//! only the new entries.
//!
//! Prices are not cached here, so corrected candles and rates take effect immediately. A rewind or
//! a reset truncates the journal and starts a new era, for which the log is rebuilt.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use market::{Date, Market, Symbol, Timestamp};
use quick_cache::sync::Cache;
use store::{AccountId, Accounts, JournalHead};
use trading::{Account, CostMethod, Currency, Dividend, Entry, Event, Fraction, Money, Position};

use crate::PaperError;
use crate::account::book::parsed;
use crate::feed::Markets;

/// Maximum number of cached accounts. Orders are not stored, so an account takes a few hundred
/// bytes for each date on which its holdings changed.
const ACCOUNTS_MAX: usize = 256;
/// Seconds after midnight in Hong Kong at which the previous date is over in every market. The US
/// trading day ends at 08:00 or, in winter, at 09:00 Hong Kong time, and Hong Kong opens later.
const OVER_AFTER_S: i64 = 9 * 3_600;

/// Maps instants to the dates of equity points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EquityDates<'a>(pub(crate) &'a market::Zone);

impl<'a> EquityDates<'a> {
    pub(crate) fn of(markets: &'a Markets) -> EquityDates<'a> {
        EquityDates(markets.history.venues().of(Market::Hk).zone())
    }

    /// Returns the equity date of an instant.
    pub(crate) fn date(&self, at: Timestamp) -> Date {
        self.0.date(Timestamp(at.0.saturating_sub(OVER_AFTER_S)))
    }

    /// Returns the instant at which a date is over. Entries at that instant still belong to the
    /// date.
    pub(crate) fn over_at(&self, date: Date) -> Timestamp {
        self.0.instant(date.tomorrow().unwrap_or(date), OVER_AFTER_S)
    }

    pub(crate) fn of_entry(&self, entry: &Entry) -> Date {
        self.date(Timestamp(entry.at.unwrap_or_default().0.saturating_sub(1)))
    }
}

/// An account's holdings at the end of a date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) cash: Vec<(Currency, Money)>,
    pub(crate) positions: Vec<(Symbol, Position)>,
    pub(crate) cost: CostMethod,
    /// Corporate actions that the closes of earlier dates do not include yet, in booking order.
    pub(crate) changes: Vec<PriceChange>,
}

/// Adjustment of the closes before a corporate action's ex-date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PriceChange {
    pub(crate) symbol: Symbol,
    pub(crate) ex_date: Date,
    effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Effect {
    /// Cash per share, already booked to the account.
    Paid(Fraction),
    /// New shares per old share.
    Split(Fraction),
}

impl PriceChange {
    /// Returns the price change caused by an event that was applied to `account`, or `None` for
    /// other events.
    fn of(event: &Event, account: &Account) -> Option<PriceChange> {
        let (symbol, ex_date, effect) = match event {
            Event::DividendPaid(Dividend { symbol, ex_date, quantity, amount, .. }) => {
                (symbol, *ex_date, Effect::Paid(amount.per(*quantity)))
            }
            Event::SharesChanged { symbol, ex_date, ratio, .. } => (symbol, *ex_date, Effect::Split(*ratio)),
            // Rights are sold after a split on the same day, so the quantity is the shares held
            // after the split.
            Event::RightsSold { symbol, ex_date, amount, .. } => {
                (symbol, *ex_date, Effect::Paid(amount.per(account.held(symbol))))
            }
            _ => return None,
        };
        Some(PriceChange { symbol: symbol.clone(), ex_date, effect })
    }

    pub(crate) fn applied(&self, units: Fraction) -> Fraction {
        match self.effect {
            Effect::Paid(cash) => {
                let (above, below) = cash.parts();
                units.plus(Fraction::new(-above, below))
            }
            Effect::Split(ratio) => {
                let (new, old) = ratio.parts();
                units.times(old, new)
            }
        }
    }
}

/// Account state folded from the journal, without orders.
#[derive(Clone, Debug, Default)]
struct Fold {
    account: Account,
    changes: Vec<PriceChange>,
    /// Date of the last applied entry.
    date: Option<Date>,
}

impl Fold {
    fn apply(&mut self, entry: &Entry) {
        // An open order holds neither money nor shares, and a fill event contains all amounts that
        // are booked.
        let is_order = matches!(&entry.event, Event::Accepted(_) | Event::Rejected { .. });
        if !is_order && entry.event.grid().is_none() {
            self.account.apply(entry);
            self.changes.extend(PriceChange::of(&entry.event, &self.account));
        }
    }

    fn holdings(&mut self, date: Date) -> Holdings {
        self.changes.retain(|change| change.ex_date > date);
        Holdings {
            cash: self.account.currencies().collect(),
            positions: self
                .account
                .positions()
                .map(|(symbol, held)| (symbol.clone(), held.clone()))
                .collect(),
            cost: self.account.settings().cost,
            changes: self.changes.clone(),
        }
    }
}

/// End-of-day holdings of one account.
#[derive(Clone, Debug, Default)]
pub(crate) struct EquityLog {
    era: u64,
    /// Number of the last applied entry.
    folded: u64,
    fold: Fold,
    /// Holdings by date, only for dates on which they changed.
    ends: BTreeMap<Date, Arc<Holdings>>,
    /// Total number of entries read.
    read: u64,
}

/// Cache of equity logs by account.
#[derive(Debug)]
pub(crate) struct EquityLogs(Cache<AccountId, Arc<Mutex<EquityLog>>>);

impl Default for EquityLogs {
    fn default() -> EquityLogs {
        EquityLogs(Cache::new(ACCOUNTS_MAX))
    }
}

impl EquityLogs {
    pub(crate) fn of_account(&self, id: AccountId) -> Arc<Mutex<EquityLog>> {
        if let Some(known) = self.0.get(&id) {
            return known;
        }
        let log = Arc::<Mutex<EquityLog>>::default();
        self.0.insert(id, log.clone());
        log
    }
}

impl EquityLog {
    /// Returns the number of journal entries that are not applied yet.
    pub(crate) fn left(&self, head: &JournalHead) -> u64 {
        if self.era == head.era() { head.last_number.saturating_sub(self.folded) } else { head.last_number }
    }

    #[cfg(test)]
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Applies journal entries up to the instant `through`. If more than about `most` entries are
    /// read, stops and returns the instant of the last applied entry. Returns `None` if all entries
    /// are applied.
    pub(crate) fn catch_up(
        &mut self,
        (accounts, id, head): (&Accounts, AccountId, &JournalHead),
        dates: EquityDates<'_>,
        through: Timestamp,
        most: u64,
    ) -> Result<Option<Timestamp>, PaperError> {
        if self.era != head.era() {
            *self = EquityLog { era: head.era(), read: self.read, ..EquityLog::default() };
        }
        let since = self.read;
        loop {
            if self.folded >= head.last_number {
                return Ok(None);
            }
            let rows = accounts.journal_entries_between(id, self.folded, (Timestamp(i64::MIN), through))?;
            let Some(last) = rows.last() else { return Ok(None) };
            self.read = self.read.saturating_add(rows.len() as u64);
            let entries: Vec<Entry> = rows.iter().map(|row| parsed(id, row)).collect::<Result<_, _>>()?;
            self.take(&entries, dates);
            let is_at_limit = self.read.saturating_sub(since) >= most;
            if is_at_limit && self.folded < head.last_number.min(accounts.journal_number_at(id, through)?) {
                return Ok(Some(last.at));
            }
        }
    }

    /// Applies new entries, and skips entries that are already applied.
    pub(crate) fn take(&mut self, entries: &[Entry], dates: EquityDates<'_>) {
        let folded = self.folded;
        for entry in entries.iter().filter(|entry| entry.number > folded) {
            let date = dates.of_entry(entry);
            if let Some(before) = self.fold.date.replace(date).filter(|before| *before != date) {
                self.end(before);
            }
            self.fold.apply(entry);
        }
        self.folded = entries.last().map_or(self.folded, |last| last.number.max(self.folded));
        // The last date is updated again if more entries follow on it.
        if let Some(date) = self.fold.date {
            self.end(date);
        }
    }

    fn end(&mut self, date: Date) {
        let holdings = self.fold.holdings(date);
        let is_new = self.ends.range(..date).next_back().is_none_or(|(_, before)| **before != holdings);
        if is_new {
            self.ends.insert(date, Arc::new(holdings));
        } else {
            self.ends.remove(&date);
        }
    }

    /// Returns the holdings at the end of a date, or `None` before the first entry.
    pub(crate) fn at_end(&self, date: Date) -> Option<&Arc<Holdings>> {
        self.ends.range(..=date).next_back().map(|(_, holdings)| holdings)
    }
}
