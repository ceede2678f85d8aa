//! Usage of an account's monthly quota, and previews of further charges.

use std::collections::HashSet;
use std::sync::Arc;

use market::{Date, Symbol, Timestamp};
use store::AccountId;

use crate::{Access, AccessError, Account, Freshness, Month, Outlook, Standing};

/// An account's usage of its quota in a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub month: Month,
    pub used: u32,
    pub limit: u32,
    /// Day on which the quota resets, in Hong Kong.
    pub resets: Date,
    pub resets_at: Timestamp,
    /// Level in force with its reason.
    pub standing: Arc<Standing>,
}

impl Usage {
    pub fn remaining(&self) -> u32 {
        self.limit.saturating_sub(self.used)
    }
}

/// An account's monthly quota: usage, expected level and charged securities.
#[derive(Clone, Debug)]
pub struct Quota {
    pub account: Arc<Account>,
    pub usage: Usage,
    pub next: Outlook,
    /// Charged securities with the time of each charge, oldest first.
    pub securities: Vec<(Symbol, Timestamp)>,
}

/// Securities of a list, divided by whether a request would be charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Securities that would be charged, in the order of the list, without duplicates.
    pub new: Vec<Symbol>,
    pub counted: Vec<Symbol>,
    pub usage: Usage,
}

impl Access {
    /// Returns an account's usage in the month of `now`, or `None` if the account does not exist.
    /// `now` is the time by the market clock.
    pub fn usage(&self, id: AccountId, now: Timestamp) -> Result<Option<Usage>, AccessError> {
        let Some((version, account)) = self.look(id, Freshness::Fresh)? else { return Ok(None) };
        self.usage_of(version, &account, now).map(Some)
    }

    pub(crate) fn usage_of(
        &self,
        version: i64,
        account: &Arc<Account>,
        now: Timestamp,
    ) -> Result<Usage, AccessError> {
        let month = self.limits.paid.month(now);
        let payer = self.payer(account)?;
        let used = self.accounts.used_total(payer.id, &month.to_string())?;
        let (standing, _) = self.standing_of(version, &payer, now)?;
        let resets = month.next();
        let resets_at = self.levels.standings.days.midnight(resets);
        Ok(Usage { month, used, limit: standing.limit, resets, resets_at, standing })
    }

    /// Returns the securities charged to an account in the month of `now`, with the time of each
    /// charge. `now` is the time by the market clock.
    pub fn charged(&self, id: AccountId, now: Timestamp) -> Result<Vec<(Symbol, Timestamp)>, AccessError> {
        Ok(self.accounts.usage(id, &self.limits.paid.month(now).to_string())?)
    }

    /// Returns an account's quota in the month of `now`, or `None` if the account does not exist.
    /// `now` is the time by the market clock.
    pub fn quota(&self, id: AccountId, now: Timestamp) -> Result<Option<Quota>, AccessError> {
        let Some((version, account)) = self.look(id, Freshness::Fresh)? else { return Ok(None) };
        let usage = self.usage_of(version, &account, now)?;
        let next = self
            .judge(&account, self.levels.standings.days.first_after(self.levels.standings.days.today(now)))?;
        let changes = next.level != usage.standing.level || next.limit != usage.standing.limit;
        let securities = self.charged(id, now)?;
        Ok(Some(Quota { account, usage, next: Outlook { standing: next, changes }, securities }))
    }

    /// Returns which of `symbols` would be charged to an account in the month of `now`, without
    /// charging them, or `None` if the account does not exist.
    pub fn preview(
        &self,
        id: AccountId,
        symbols: &[Symbol],
        now: Timestamp,
    ) -> Result<Option<Preview>, AccessError> {
        let Some((version, account)) = self.look(id, Freshness::Fresh)? else { return Ok(None) };
        let usage = self.usage_of(version, &account, now)?;
        let charged = self.charged(id, now)?;
        let charged: HashSet<&Symbol> = charged.iter().map(|(symbol, _)| symbol).collect();
        let mut seen = HashSet::new();
        let once = symbols.iter().filter(|symbol| seen.insert(*symbol)).cloned();
        let (counted, new) = once.partition(|symbol| charged.contains(symbol));
        Ok(Some(Preview { new, counted, usage }))
    }
}
