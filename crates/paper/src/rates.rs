//! Exchange rates by day, at one version of the accounts database.

use std::collections::BTreeMap;

use market::{Date, builtin_rate, stand_in_currency};
use store::{Accounts, StoreError};
use trading::{Currency, Rate};

/// HKD per unit of a currency, valid from each day on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rates(BTreeMap<(Currency, Date), Rate>);

impl Rates {
    pub(crate) fn read(accounts: &Accounts) -> Result<Rates, StoreError> {
        let mut rates = BTreeMap::new();
        for row in accounts.all_rates()? {
            // Skip rows written by another program that do not parse.
            let Ok(currency) = row.currency.parse::<Currency>() else { continue };
            if let Some(rate) = Rate::from_hundred_millionths(row.rate) {
                rates.insert((currency, row.day), rate);
            }
        }
        Ok(Rates(rates))
    }

    /// Returns the latest rate reported on or before a day. Falls back to the rate of the stand-in
    /// currency, then to the built-in rate.
    pub(crate) fn on(&self, currency: Currency, date: Date) -> Option<Rate> {
        let stand_in = || stand_in_currency(currency.as_str())?.parse().ok();
        let builtin = || builtin_rate(currency.as_str(), date).and_then(Rate::from_hundred_millionths);
        self.reported(currency, date).or_else(|| self.reported(stand_in()?, date)).or_else(builtin)
    }

    /// Returns whether a currency has no reported rate on a day, so that only a built-in one can
    /// apply.
    pub(crate) fn is_builtin(&self, currency: Currency, date: Date) -> bool {
        let stand_in = stand_in_currency(currency.as_str()).and_then(|other| other.parse().ok());
        let has_reported = |currency| self.reported(currency, date).is_some();
        !has_reported(currency) && !stand_in.is_some_and(has_reported)
    }

    fn reported(&self, currency: Currency, date: Date) -> Option<Rate> {
        self.0.range((currency, Date::MIN)..=(currency, date)).next_back().map(|(_, rate)| *rate)
    }
}
