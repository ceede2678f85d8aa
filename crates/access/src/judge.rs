//! Determines the levels of accounts and records level changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use market::{Date, Timestamp};
use store::{AccountId, LevelChange, RecordedLevel, ReportedHolding, TallyDays};

use crate::standing::UnrecordedLevel;
use crate::{
    Access, AccessError, Account, Actor, Freshness, Grounds, Hkd, Ladder, Level, LevelsFrom, Month,
    MonthOrders, Present, Reason, Source, Standing, Step, Worth, level,
};

/// Currency of the level thresholds.
pub(crate) const BASE: &str = "HKD";
/// Exchange rate of HKD to HKD, with eight decimals. An amount with four decimals multiplied by a
/// rate is in units of [`Hkd`].
const BASE_RATE: i128 = 100_000_000;
/// Maximum number of level changes recorded in one transaction.
const CHANGES_MAX: usize = 1_000;

impl Access {
    /// Returns all levels. Fails if the level rows in the database are not a valid ladder.
    pub fn ladder(&self) -> Result<Ladder, AccessError> {
        Ladder::new(self.steps()?)
    }

    /// Returns the level rows in the database without checking that they are a valid ladder.
    pub fn steps(&self) -> Result<Vec<Step>, AccessError> {
        Ok(level::steps(&self.accounts.levels()?))
    }

    /// Recomputes an account's level after `by` has changed the account's terms or reported
    /// numbers. If the level changed, records the change with `by` as the actor.
    pub fn settle(&self, id: AccountId, by: &Actor, present: Present) -> Result<(), AccessError> {
        self.settle_each([id], by, present)
    }

    /// Like [`Access::settle`], for many accounts. Changes are recorded in batches, because each
    /// transaction waits for an fsync.
    pub(crate) fn settle_each(
        &self,
        ids: impl IntoIterator<Item = AccountId>,
        by: &Actor,
        present: Present,
    ) -> Result<(), AccessError> {
        let mut changed = Vec::new();
        for id in ids {
            let Some((version, account)) = self.look(id, Freshness::Fresh)? else { continue };
            if let (standing, Some(unrecorded)) = self.standing_of(version, &account, present.market)? {
                changed.push((id, standing, unrecorded));
            }
            if changed.len() >= CHANGES_MAX {
                self.record_levels(&std::mem::take(&mut changed), by, present.machine)?;
            }
        }
        self.record_levels(&changed, by, present.machine)
    }

    pub(crate) fn settle_all(&self, by: &Actor, present: Present) -> Result<(), AccessError> {
        let accounts = self.accounts.accounts()?;
        self.settle_each(accounts.iter().map(|account| account.id), by, present)
    }

    /// Returns an account's level at a time by the market clock and, if the level differs from the
    /// recorded level, what to record. The result is cached until the trading day or the database
    /// version changes.
    pub(crate) fn standing_of(
        &self,
        version: i64,
        account: &Account,
        now: Timestamp,
    ) -> Result<(Arc<Standing>, Option<UnrecordedLevel>), AccessError> {
        let day = self.levels.standings.days.in_force(now);
        if let Some(known) = self.levels.standings.known(self.cluster.health.learnt(version), account.id, day)
        {
            return Ok(known);
        }
        let standing = Arc::new(self.judge(account, day)?);
        let from = self.accounts.recorded_level(account.id)?;
        // An account without a recorded level starts at the first level.
        let before = from.map_or(Level::FIRST.number(), |seen| seen.level);
        let unrecorded = (before != standing.level.number()).then_some(UnrecordedLevel { from });
        self.levels.standings.learn(version, account.id, &standing, unrecorded);
        Ok((standing, unrecorded))
    }

    /// Records level changes in the database and marks them as recorded in the cache.
    pub(crate) fn record_levels(
        &self,
        changed: &[(AccountId, Arc<Standing>, UnrecordedLevel)],
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        if changed.is_empty() {
            return Ok(());
        }
        let change = |(account, standing, unrecorded): &(AccountId, Arc<Standing>, UnrecordedLevel)| {
            let Standing { level, day, reason, .. } = &**standing;
            let before = unrecorded.from.map_or(Level::FIRST.number(), |seen| seen.level);
            LevelChange {
                account: *account,
                from: unrecorded.from,
                to: RecordedLevel { level: level.number(), since: *day },
                reason: format!("level {before} to {level} on {day}: {reason}"),
            }
        };
        let changes: Vec<LevelChange> = changed.iter().map(change).collect();
        self.accounts.record_levels(&changes, now, &by.to_string())?;
        for (id, standing, _) in changed {
            self.levels.standings.settled(*id, standing);
        }
        Ok(())
    }

    /// Computes an account's level on a trading day from its terms, assets and orders.
    pub(crate) fn judge(&self, account: &Account, day: Date) -> Result<Standing, AccessError> {
        let ladder = self.ladder()?;
        let grounds = self.grounds(account.id, day)?;
        let (level, reason) = match account.terms.level {
            Some(level) => (level, Reason::Set),
            None => ladder.earned(&grounds),
        };
        let own = account.terms.quota;
        let limit = own.unwrap_or_else(|| ladder.quota(level));
        Ok(Standing { day, level, reason, limit, own_quota: own.is_some(), grounds })
    }

    /// Returns the assets and orders that determine an account's level on a trading day. Numbers of
    /// the trading day itself are excluded, because the day is not complete.
    fn grounds(&self, id: AccountId, day: Date) -> Result<Grounds, AccessError> {
        let (month, [month_end, yesterday]) = (Month::of(day), self.days_before(day));
        let (before, source) = (month.previous(), self.source(id, day)?);
        let (then, now) = (self.worth(id, source, month_end)?, self.worth(id, source, yesterday)?);
        let assets = match (then, now) {
            (Some(then), Some(now)) => Some(if then.total > now.total { then } else { now }),
            (then, now) => then.or(now),
        };
        let last = self.orders(id, source, before, month.first())?;
        let this = self.orders(id, source, month, day)?;
        let orders = if last.count > this.count { last } else { this };
        Ok(Grounds { assets, orders })
    }

    /// Returns the two trading days whose assets determine the level on `day`: the last trading day
    /// of the previous month, and the trading day before `day`.
    fn days_before(&self, day: Date) -> [Date; 2] {
        let firsts = [Month::of(day).first(), day];
        firsts.map(|first| self.levels.standings.days.last_until(first.yesterday().unwrap_or(Date::MIN)))
    }

    /// Returns whether an account's level on a trading day is based on reports or on the paper
    /// account. Reports for the day itself are ignored, because they take effect on the next
    /// trading day.
    fn source(&self, id: AccountId, day: Date) -> Result<Source, AccessError> {
        Ok(match self.levels.from {
            LevelsFrom::Reported => Source::Reported,
            LevelsFrom::Paper => Source::Paper,
            LevelsFrom::Auto if self.accounts.has_reports_before(id, day)? => Source::Reported,
            LevelsFrom::Auto => Source::Paper,
        })
    }

    /// Returns the number of orders in `month` up to, but excluding, `before`.
    fn orders(
        &self,
        id: AccountId,
        source: Source,
        month: Month,
        before: Date,
    ) -> Result<MonthOrders, AccessError> {
        let count = match source {
            Source::Reported => self.accounts.reported_orders_between(id, month.first(), before)?,
            Source::Paper => self.accounts.paper_orders_between(id, month.first(), before)?,
        };
        Ok(MonthOrders { count, source, month })
    }

    /// Returns the total assets on the latest day up to `day` for which they are known, or `None`
    /// if there is no such day. A negative total, which only a paper account can have, is returned
    /// as zero.
    fn worth(&self, id: AccountId, source: Source, day: Date) -> Result<Option<Worth>, AccessError> {
        let holdings = match source {
            Source::Reported => self.accounts.reported_assets_as_of(id, day)?,
            Source::Paper => self.accounts.paper_assets_as_of(id, day)?,
        };
        let Some(day) = holdings.first().map(|holding| holding.day) else { return Ok(None) };
        Ok(Some(Worth { total: Hkd(total(&holdings).max(0)), source, day }))
    }

    /// Returns whether levels may depend on paper accounts.
    pub fn counts_paper(&self) -> bool {
        self.levels.from != LevelsFrom::Reported
    }

    /// Returns the days for which paper accounts must be tallied to determine the current and the
    /// next level of every account.
    pub fn tally_days(&self, now: Timestamp) -> TallyDays {
        let days = &self.levels.standings.days;
        let (today, in_force) = (days.today(now), days.in_force(now));
        let judged = [in_force, days.first_after(today)];
        let mut ends: BTreeSet<Date> = judged.into_iter().flat_map(|day| self.days_before(day)).collect();
        // Orders are counted up to the end of yesterday, even if yesterday was not a trading day.
        ends.extend(today.yesterday());
        let ends = ends.into_iter().filter(|day| *day < today).collect();
        TallyDays { today, ends, orders_from: Month::of(in_force).previous().first() }
    }
}

fn total(holdings: &[ReportedHolding]) -> i128 {
    holdings.iter().map(in_base).fold(0, i128::saturating_add)
}

/// Returns the exact value of a holding in units of [`Hkd`]. A holding without an exchange rate is
/// valued at zero. Reports with such holdings are refused, but a paper account may have them.
fn in_base(holding: &ReportedHolding) -> i128 {
    let rate = if holding.currency == BASE { BASE_RATE } else { holding.rate.unwrap_or(0).into() };
    i128::from(holding.amount).saturating_mul(rate)
}
