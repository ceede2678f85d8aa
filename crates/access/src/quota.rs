//! Monthly quota: the number of different securities that an account may request in a month, which
//! depends on its level.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use market::{Market, Symbol, Timestamp, Zone};
use store::AccountId;

use crate::Month;
use crate::health::Learnt;

/// Maximum quota in securities per month, above the number of securities in all supported markets.
pub const QUOTA_MAX: u32 = 100_000;
/// Maximum number of accounts in the cache of paid securities.
const MONTHS_MAX: usize = 4_096;

/// Cache of the securities that accounts have paid for, so that repeated requests do not query the
/// database. Each cached set is a subset of the set in the database. A miss therefore means that
/// the database must be queried, not that the security is unpaid.
#[derive(Debug)]
pub(crate) struct PaidSecurities {
    zone: Zone,
    paid: Mutex<Paid>,
}

#[derive(Debug, Default)]
struct Paid {
    /// Newest database version seen by this cache.
    version: i64,
    months: HashMap<AccountId, PaidMonth>,
}

/// Paid securities of an account in one month, read at one database version.
#[derive(Debug)]
struct PaidMonth {
    version: i64,
    month: Month,
    symbols: HashSet<Symbol>,
}

impl Default for PaidSecurities {
    fn default() -> PaidSecurities {
        PaidSecurities { zone: Zone::of(Market::Hk), paid: Mutex::default() }
    }
}

impl PaidSecurities {
    pub(crate) fn month(&self, now: Timestamp) -> Month {
        Month::of(self.zone.date(now))
    }

    pub(crate) fn is_paid(&self, learnt: Learnt, account: AccountId, month: Month, symbol: &Symbol) -> bool {
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        if let Learnt::At(version) = learnt {
            paid.version = paid.version.max(version);
        }
        // Operators can change usage, so entries read at another version are stale.
        paid.months.get(&account).is_some_and(|known| {
            learnt.takes(known.version) && known.month == month && known.symbols.contains(symbol)
        })
    }

    pub(crate) fn paid(&self, version: i64, account: AccountId, month: Month, symbol: Symbol) {
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        // The database has changed since the payment was read.
        if paid.version != version {
            return;
        }
        if paid.months.len() >= MONTHS_MAX && !paid.months.contains_key(&account) {
            paid.months.retain(|_, known| known.version == version);
            if paid.months.len() >= MONTHS_MAX {
                paid.months.clear();
            }
        }
        let new = || PaidMonth { version, month, symbols: HashSet::new() };
        let known = paid.months.entry(account).or_insert_with(new);
        if (known.version, known.month) != (version, month) {
            *known = new();
        }
        known.symbols.insert(symbol);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_begins_at_midnight_in_hong_kong() {
        let months = PaidSecurities::default();
        // 2026-09-01T00:00:00+08:00, and the second before it.
        let midnight = 1_788_192_000;
        assert_eq!(Timestamp(midnight).to_string(), "2026-08-31T16:00:00Z");
        let (before, after) = (months.month(Timestamp(midnight - 1)), months.month(Timestamp(midnight)));
        assert_eq!((before.to_string().as_str(), after.to_string().as_str()), ("2026-08", "2026-09"));
        assert_eq!(before.next().to_string(), "2026-09-01");
        assert_eq!(after.next().to_string(), "2026-10-01");
        let december = months.month(Timestamp(midnight + 100 * 86_400));
        assert_eq!(
            (december.to_string().as_str(), december.next().to_string().as_str()),
            ("2026-12", "2027-01-01")
        );
    }

    #[test]
    fn paid_securities_are_cached_by_account_month_and_version() {
        let months = PaidSecurities::default();
        let (august, september) =
            (months.month(Timestamp(1_786_000_000)), months.month(Timestamp(1_789_000_000)));
        assert_ne!(august, september);
        let symbol: Symbol = "700.HK".parse().unwrap();
        let knows =
            |version, account, month| months.is_paid(Learnt::At(version), AccountId(account), month, &symbol);
        assert!(!knows(1, 1, august));
        months.paid(1, AccountId(1), august, symbol.clone());
        assert!(knows(1, 1, august));
        assert!(!knows(1, 2, august));
        assert!(!knows(1, 1, september));
        months.paid(1, AccountId(1), september, symbol.clone());
        assert!(knows(1, 1, september));
        assert!(!knows(2, 1, september));
        months.paid(1, AccountId(1), september, symbol.clone());
        assert!(!knows(2, 1, september), "what was learnt late is not taken over");
        let ever = |account| months.is_paid(Learnt::Ever, AccountId(account), september, &symbol);
        assert!(ever(1) && !ever(2), "unless nothing newer can be had");
    }
}
