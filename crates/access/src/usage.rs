//! The usage of an account's monthly quota, and the cost of further securities.

use std::collections::HashSet;
use std::sync::Arc;

use market::{Date, Symbol, Timestamp};
use store::AccountId;

use crate::{Access, AccessError, Account, Freshness, Month, Outlook, Standing};

/// The usage of an account's month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub month: Month,
    pub used: u32,
    pub limit: u32,
    /// The day on which the quota resets, in Hong Kong.
    pub resets: Date,
    pub resets_at: Timestamp,
    /// The level in force, and why.
    pub standing: Arc<Standing>,
}

impl Usage {
    pub fn remaining(&self) -> u32 {
        self.limit.saturating_sub(self.used)
    }
}

/// The quota of an account's month: usage, outlook and charged securities.
#[derive(Clone, Debug)]
pub struct Quota {
    pub account: Arc<Account>,
    pub usage: Usage,
    pub next: Outlook,
    /// The charged securities, each with its time, in order of time.
    pub securities: Vec<(Symbol, Timestamp)>,
}

/// The cost of a list of securities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Those that would be charged, in the order of the list, each once.
    pub new: Vec<Symbol>,
    pub counted: Vec<Symbol>,
    pub usage: Usage,
}

impl Access {
    /// The usage of an account in the month of `now`, the market's; `None` if there is no such
    /// account.
    pub fn usage(&self, id: AccountId, now: Timestamp) -> Result<Option<Usage>, AccessError> {
        let Some((version, account)) = self.look(id, Freshness::Fresh)? else { return Ok(None) };
        self.usage_of(version, &account, now).map(Some)
    }

    pub(crate) fn usage_of(
        &self,
        version: i64,
        account: &Account,
        now: Timestamp,
    ) -> Result<Usage, AccessError> {
        let month = self.limits.paid.month(now);
        let used = self.accounts.used_total(account.id, &month.to_string())?;
        let (standing, _) = self.standing_of(version, account, now)?;
        let resets = month.next();
        let resets_at = self.levels.standings.days.midnight(resets);
        Ok(Usage { month, used, limit: standing.limit, resets, resets_at, standing })
    }

    /// The securities an account has been charged for in the month of `now`, the market's, and when.
    pub fn charged(&self, id: AccountId, now: Timestamp) -> Result<Vec<(Symbol, Timestamp)>, AccessError> {
        Ok(self.accounts.usage(id, &self.limits.paid.month(now).to_string())?)
    }

    /// The quota of an account; `None` if there is no such account. `now` is the market's.
    pub fn quota(&self, id: AccountId, now: Timestamp) -> Result<Option<Quota>, AccessError> {
        let Some((version, account)) = self.look(id, Freshness::Fresh)? else { return Ok(None) };
        let usage = self.usage_of(version, &account, now)?;
        let next = self
            .judge(&account, self.levels.standings.days.first_after(self.levels.standings.days.today(now)))?;
        let changes = next.level != usage.standing.level || next.limit != usage.standing.limit;
        let securities = self.charged(id, now)?;
        Ok(Some(Quota { account, usage, next: Outlook { standing: next, changes }, securities }))
    }

    /// What requesting these securities would cost an account this month. Nothing is charged.
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
