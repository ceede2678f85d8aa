//! A cache of account holdings at the end of each date: a journal is read once, and afterwards only
//! its new entries.
//!
//! Prices are not part of it, so corrected candles and rates count immediately. A rewind or a reset
//! cuts the journal and begins another era, and the log is then built again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use market::{Date, Market, Symbol, Timestamp};
use quick_cache::sync::Cache;
use store::{AccountId, Accounts, JournalHead};
use trading::{Account, CostMethod, Currency, Dividend, Entry, Event, Fraction, Money, Position};

use crate::PaperError;
use crate::account::book::parsed;
use crate::feed::Markets;

/// Maximum number of cached accounts. Orders are left out, so one account takes some hundred bytes
/// for each date on which something changed.
const ACCOUNTS_MAX: usize = 256;
/// When a date is over in every market: this long after the next one has begun in Hong Kong. The US
/// trading day ends an hour earlier at the latest, and Hong Kong has not traded by then.
const OVER_AFTER_S: i64 = 9 * 3_600;

/// Assigns instants to the dates of equity points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EquityDates<'a>(pub(crate) &'a market::Zone);

impl<'a> EquityDates<'a> {
    pub(crate) fn of(markets: &'a Markets) -> EquityDates<'a> {
        EquityDates(markets.history.venues().of(Market::Hk).zone())
    }

    /// The date that an instant counts for.
    pub(crate) fn date(&self, at: Timestamp) -> Date {
        self.0.date(Timestamp(at.0.saturating_sub(OVER_AFTER_S)))
    }

    /// When a date is over. The instant itself still belongs to it.
    pub(crate) fn over_at(&self, date: Date) -> Timestamp {
        self.0.instant(date.tomorrow().unwrap_or(date), OVER_AFTER_S)
    }

    fn of_entry(&self, entry: &Entry) -> Date {
        self.date(Timestamp(entry.at.unwrap_or_default().0.saturating_sub(1)))
    }
}

/// The holdings of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) cash: Vec<(Currency, Money)>,
    pub(crate) positions: Vec<(Symbol, Position)>,
    pub(crate) cost: CostMethod,
    /// Corporate actions not reflected in the closes of earlier dates, in booking order.
    pub(crate) changes: Vec<PriceChange>,
}

/// How a corporate action adjusts a close before its ex-date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PriceChange {
    pub(crate) symbol: Symbol,
    pub(crate) ex_date: Date,
    effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Effect {
    /// Cash for each share, already booked to the account.
    Paid(Fraction),
    /// New shares for one old one.
    Split(Fraction),
}

impl PriceChange {
    /// The price change of an applied event.
    fn of(event: &Event, account: &Account) -> Option<PriceChange> {
        let (symbol, ex_date, effect) = match event {
            Event::DividendPaid(Dividend { symbol, ex_date, quantity, amount, .. }) => {
                (symbol, *ex_date, Effect::Paid(amount.per(*quantity)))
            }
            Event::SharesChanged { symbol, ex_date, ratio, .. } => (symbol, *ex_date, Effect::Split(*ratio)),
            // Rights are sold after the split of the same day, for the shares held by then.
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

/// The fold of a journal, without its orders.
#[derive(Clone, Debug, Default)]
struct Fold {
    account: Account,
    changes: Vec<PriceChange>,
    /// The date of the last entry.
    date: Option<Date>,
}

impl Fold {
    fn apply(&mut self, entry: &Entry) {
        // Orders hold no money and no shares until they are filled, and a fill contains everything
        // that is booked.
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

/// The holdings of an account at the end of each date.
#[derive(Clone, Debug, Default)]
pub(crate) struct EquityLog {
    era: u64,
    /// The last entry that was applied.
    folded: u64,
    fold: Fold,
    /// Dates at whose end the holdings changed.
    ends: BTreeMap<Date, Arc<Holdings>>,
    /// Number of entries read.
    read: u64,
}

/// Logs of recently requested accounts.
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
    /// How many entries of a journal are not applied yet.
    pub(crate) fn left(&self, head: &JournalHead) -> u64 {
        if self.era == head.era() { head.last_number.saturating_sub(self.folded) } else { head.last_number }
    }

    #[cfg(test)]
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Applies up to `limit` entries of a journal, up to an instant. Returns the instant of the
    /// last of them if there are more.
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
            if self.read.saturating_sub(since) >= most {
                return Ok(Some(last.at));
            }
        }
    }

    /// Applies new entries; skips those already applied.
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
        // More entries of the same date may follow.
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

    /// The holdings at the end of a date; `None` before the first entry.
    pub(crate) fn at_end(&self, date: Date) -> Option<&Arc<Holdings>> {
        self.ends.range(..=date).next_back().map(|(_, holdings)| holdings)
    }
}
