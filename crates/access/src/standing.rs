//! Where an account stands: its level in force, why, and what it will be next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use market::{Calendar, Date, Symbol, Timestamp};
use store::{AccountId, Holding, LevelChange, LevelSeen};

use crate::level::{self, TradingDays};
use crate::{
    Access, AccessError, Account, Actor, Grounds, Hkd, Ladder, Level, Look, Month, MonthOrders, Reason, Step,
    Usage, Worth,
};

/// The currency of the thresholds.
pub(crate) const BASE: &str = "HKD";
/// An amount of the base currency in [`Hkd`]: its four decimals and the eight of a rate of one.
const BASE_RATE: i128 = 100_000_000;
/// Accounts whose standing is remembered before all are forgotten and judged again.
const STANDINGS_MAX: usize = 4_096;
/// Changes of level written down together.
const NEWS_MAX: usize = 1_000;

/// One moment on the two clocks that say what day it is. The market's may stand still or lie in the past, and decides
/// levels, months and rights; the machine's is when something was really done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    pub market: Timestamp,
    pub machine: Timestamp,
}

/// The level of an account on a trading day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The trading day in Hong Kong whose level this is; it holds until the next.
    pub day: Date,
    pub level: Level,
    pub reason: Reason,
    /// Securities a month: the level's, unless the account has a number of its own.
    pub limit: u32,
    pub own_quota: bool,
    pub grounds: Grounds,
}

/// What an account will be on the next trading day, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub standing: Standing,
    /// Whether that is another level or another number of securities than now.
    pub changes: bool,
}

/// Everything about an account's month.
#[derive(Clone, Debug)]
pub struct Quota {
    pub account: Arc<Account>,
    pub usage: Usage,
    pub next: Outlook,
    /// The securities that were charged, and when, in that order.
    pub securities: Vec<(Symbol, Timestamp)>,
}

/// What a list of securities would cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Those that would be charged, in the order of the list, each once.
    pub new: Vec<Symbol>,
    pub counted: Vec<Symbol>,
    pub usage: Usage,
}

/// That a standing has not been written down yet: the level was seen to be another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unseen {
    from: Option<LevelSeen>,
}

/// Standings that have been judged, by account, at one version of the database.
#[derive(Debug)]
pub(crate) struct Standings {
    pub(crate) days: TradingDays,
    judged: Mutex<Judged>,
}

#[derive(Debug, Default)]
struct Judged {
    version: i64,
    accounts: HashMap<AccountId, (Arc<Standing>, Option<Unseen>)>,
}

impl Standings {
    pub(crate) fn new(calendar: Calendar) -> Standings {
        Standings { days: TradingDays::new(calendar), judged: Mutex::default() }
    }

    fn known(&self, version: i64, id: AccountId, day: Date) -> Option<(Arc<Standing>, Option<Unseen>)> {
        let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let known = judged.accounts.get(&id).filter(|(standing, _)| standing.day == day)?;
        (judged.version == version).then(|| known.clone())
    }

    fn learn(&self, version: i64, id: AccountId, standing: &Arc<Standing>, unseen: Option<Unseen>) {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if judged.version > version {
            return;
        }
        if judged.version != version || judged.accounts.len() >= STANDINGS_MAX {
            *judged = Judged { version, ..Judged::default() };
        }
        judged.accounts.insert(id, (Arc::clone(standing), unseen));
    }

    /// A standing has been written down, unless another one has been judged meanwhile.
    fn settled(&self, id: AccountId, standing: &Standing) {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, unseen)) = judged.accounts.get_mut(&id)
            && (known.day, known.level) == (standing.day, standing.level)
        {
            *unseen = None;
        }
    }
}

impl Access {
    /// The ladder of levels.
    pub fn ladder(&self) -> Result<Ladder, AccessError> {
        Ladder::new(self.steps()?)
    }

    /// The steps that are there, whether or not they are a ladder.
    pub fn steps(&self) -> Result<Vec<Step>, AccessError> {
        Ok(level::steps(&self.accounts.levels()?))
    }

    /// The account's month, from all sides; `None` if there is no such account. `now` is the market's.
    pub fn quota(&self, id: AccountId, now: Timestamp) -> Result<Option<Quota>, AccessError> {
        let Some((version, account)) = self.look(id, Look::Fresh)? else { return Ok(None) };
        let usage = self.usage_of(version, &account, now)?;
        let next = self.judge(&account, self.standings.days.first_after(self.standings.days.today(now)))?;
        let changes = next.level != usage.standing.level || next.limit != usage.standing.limit;
        let securities = self.charged(id, now)?;
        Ok(Some(Quota { account, usage, next: Outlook { standing: next, changes }, securities }))
    }

    /// What asking for these securities would cost an account this month. Nothing is spent by it.
    pub fn preview(
        &self,
        id: AccountId,
        symbols: &[Symbol],
        now: Timestamp,
    ) -> Result<Option<Preview>, AccessError> {
        let Some((version, account)) = self.look(id, Look::Fresh)? else { return Ok(None) };
        let usage = self.usage_of(version, &account, now)?;
        let charged = self.charged(id, now)?;
        let charged: std::collections::HashSet<&Symbol> = charged.iter().map(|(symbol, _)| symbol).collect();
        let mut seen = std::collections::HashSet::new();
        let once = symbols.iter().filter(|symbol| seen.insert(*symbol)).cloned();
        let (counted, new) = once.partition(|symbol| charged.contains(symbol));
        Ok(Some(Preview { new, counted, usage }))
    }

    /// Judges an account after somebody has changed what its level rests upon, and writes a change down as theirs.
    pub fn settle(&self, id: AccountId, by: &Actor, present: Present) -> Result<(), AccessError> {
        self.settle_each([id], by, present)
    }

    /// The same for many: what is news is written down together, since each writing waits for the disk.
    pub(crate) fn settle_each(
        &self,
        ids: impl IntoIterator<Item = AccountId>,
        by: &Actor,
        present: Present,
    ) -> Result<(), AccessError> {
        let mut news = Vec::new();
        for id in ids {
            let Some((version, account)) = self.look(id, Look::Fresh)? else { continue };
            if let (standing, Some(unseen)) = self.standing_of(version, &account, present.market)? {
                news.push((id, standing, unseen));
            }
            if news.len() >= NEWS_MAX {
                self.see(&std::mem::take(&mut news), by, present.machine)?;
            }
        }
        self.see(&news, by, present.machine)
    }

    pub(crate) fn settle_all(&self, by: &Actor, present: Present) -> Result<(), AccessError> {
        let accounts = self.accounts.accounts()?;
        self.settle_each(accounts.iter().map(|account| account.id), by, present)
    }

    /// Where an account stands at a time of the market, and whether that is news. Costs no question to the database while
    /// neither the day nor any account has changed.
    pub(crate) fn standing_of(
        &self,
        version: i64,
        account: &Account,
        now: Timestamp,
    ) -> Result<(Arc<Standing>, Option<Unseen>), AccessError> {
        let day = self.standings.days.in_force(now);
        if let Some(known) = self.standings.known(version, account.id, day) {
            return Ok(known);
        }
        let standing = Arc::new(self.judge(account, day)?);
        let from = self.accounts.level_seen(account.id)?;
        // An account begins at the first level; that needs no writing down.
        let before = from.map_or(Level::FIRST.number(), |seen| seen.level);
        let unseen = (before != standing.level.number()).then_some(Unseen { from });
        self.standings.learn(version, account.id, &standing, unseen);
        Ok((standing, unseen))
    }

    /// Writes down that levels are others than before.
    pub(crate) fn see(
        &self,
        news: &[(AccountId, Arc<Standing>, Unseen)],
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        if news.is_empty() {
            return Ok(());
        }
        let change = |(account, standing, unseen): &(AccountId, Arc<Standing>, Unseen)| {
            let Standing { level, day, reason, .. } = &**standing;
            let before = unseen.from.map_or(Level::FIRST.number(), |seen| seen.level);
            LevelChange {
                account: *account,
                from: unseen.from,
                to: LevelSeen { level: level.number(), since: *day },
                reason: format!("level {before} to {level} on {day}: {reason}"),
            }
        };
        let changes: Vec<LevelChange> = news.iter().map(change).collect();
        self.accounts.see_levels(&changes, now, &by.to_string())?;
        for (id, standing, _) in news {
            self.standings.settled(*id, standing);
        }
        Ok(())
    }

    /// The level of an account on a trading day.
    fn judge(&self, account: &Account, day: Date) -> Result<Standing, AccessError> {
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

    /// What was complete before a trading day: its own assets and orders are not.
    fn grounds(&self, id: AccountId, day: Date) -> Result<Grounds, AccessError> {
        let days = &self.standings.days;
        let month = Month::of(day);
        let before = month.previous();
        let month_end = days.last_until(month.first().yesterday().unwrap_or(Date::MIN));
        let yesterday = days.last_until(day.yesterday().unwrap_or(Date::MIN));
        let (then, now) = (self.worth(id, month_end)?, self.worth(id, yesterday)?);
        let assets = match (then, now) {
            (Some(then), Some(now)) => Some(if then.total > now.total { then } else { now }),
            (then, now) => then.or(now),
        };
        let last = self.accounts.orders_between(id, before.first(), month.first())?;
        let this = self.accounts.orders_between(id, month.first(), day)?;
        let orders = if last > this {
            MonthOrders { count: last, month: before }
        } else {
            MonthOrders { count: this, month }
        };
        Ok(Grounds { assets, orders })
    }

    /// The total as of a day: that of the latest day with a report.
    fn worth(&self, id: AccountId, day: Date) -> Result<Option<Worth>, AccessError> {
        let holdings = self.accounts.assets_as_of(id, day)?;
        let Some(day) = holdings.first().map(|holding| holding.day) else { return Ok(None) };
        let total = holdings.iter().map(in_base).fold(0_i128, i128::saturating_add);
        Ok(Some(Worth { total: Hkd(total), day }))
    }
}

/// Exact. What cannot be converted is refused on its way in; if it is there all the same it lifts nobody.
fn in_base(holding: &Holding) -> i128 {
    let rate = if holding.currency == BASE { BASE_RATE } else { holding.rate.unwrap_or(0).into() };
    i128::from(holding.amount).saturating_mul(rate)
}
