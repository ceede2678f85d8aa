//! Exchange rates by day, as one version of the accounts has them.

use std::collections::BTreeMap;

use market::Date;
use store::{Accounts, StoreError};
use trading::{Currency, Rate};

/// HKD for one unit of a currency, from each of these days on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rates(BTreeMap<(Currency, Date), Rate>);

impl Rates {
    pub(crate) fn read(accounts: &Accounts) -> Result<Rates, StoreError> {
        let mut rates = BTreeMap::new();
        for row in accounts.all_rates()? {
            // Text of another program's making is no rate.
            let Ok(currency) = row.currency.parse::<Currency>() else { continue };
            if let Some(rate) = Rate::from_hundred_millionths(row.rate) {
                rates.insert((currency, row.day), rate);
            }
        }
        Ok(Rates(rates))
    }

    /// The latest on or before a day.
    pub(crate) fn on(&self, currency: Currency, date: Date) -> Option<Rate> {
        self.0.range((currency, Date::MIN)..=(currency, date)).next_back().map(|(_, rate)| *rate)
    }
}
