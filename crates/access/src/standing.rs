//! The standing of an account: its level in force, the reason, and the next one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use market::{Calendar, Date};
use store::{AccountId, RecordedLevel};

use crate::health::Learnt;
use crate::level::TradingDays;
use crate::{Grounds, Level, Reason};

/// Cached standings. When full, the cache is cleared.
const STANDINGS_MAX: usize = 4_096;

/// The level of an account on a trading day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The trading day in Hong Kong of this level; it holds until the next.
    pub day: Date,
    pub level: Level,
    pub reason: Reason,
    /// Securities a month: the level's, unless the account has a quota of its own.
    pub limit: u32,
    pub own_quota: bool,
    pub grounds: Grounds,
}

/// The standing on the next trading day, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub standing: Standing,
    /// Whether the level or the quota differs from the current one.
    pub changes: bool,
}

/// The level of a standing differs from the recorded one, and is not recorded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnrecordedLevel {
    pub(crate) from: Option<RecordedLevel>,
}

/// Cached standings by account.
#[derive(Debug)]
pub(crate) struct Standings {
    pub(crate) days: TradingDays,
    judged: Mutex<Judged>,
}

#[derive(Debug, Default)]
struct Judged {
    version: i64,
    /// Each with the database version at which it was determined.
    accounts: HashMap<AccountId, (i64, Arc<Standing>, Option<UnrecordedLevel>)>,
}

impl Standings {
    pub(crate) fn new(calendar: Calendar) -> Standings {
        Standings { days: TradingDays::new(calendar), judged: Mutex::default() }
    }

    pub(crate) fn known(
        &self,
        learnt: Learnt,
        id: AccountId,
        day: Date,
    ) -> Option<(Arc<Standing>, Option<UnrecordedLevel>)> {
        let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, standing, unrecorded) = judged.accounts.get(&id)?;
        // While the database is unreachable, the level of the day before remains in force.
        let is_of_use = learnt.takes(*at) && (standing.day == day || learnt == Learnt::Ever);
        is_of_use.then(|| (Arc::clone(standing), *unrecorded))
    }

    pub(crate) fn learn(
        &self,
        version: i64,
        id: AccountId,
        standing: &Arc<Standing>,
        unrecorded: Option<UnrecordedLevel>,
    ) {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if judged.version > version {
            return;
        }
        judged.version = version;
        if judged.accounts.len() >= STANDINGS_MAX {
            judged.accounts.retain(|_, (at, ..)| *at == version);
            if judged.accounts.len() >= STANDINGS_MAX {
                judged.accounts.clear();
            }
        }
        judged.accounts.insert(id, (version, Arc::clone(standing), unrecorded));
    }

    /// Drops the standings of accounts after a withdrawal; all of them if none are given.
    pub(crate) fn forget(&self, accounts: Option<&HashSet<AccountId>>, version: i64) {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        // Standings determined before this version are not cached any more.
        judged.version = judged.version.max(version);
        judged.accounts.retain(|id, _| accounts.is_some_and(|accounts| !accounts.contains(id)));
    }

    /// Marks the level of a standing as recorded, unless another one has been determined meanwhile.
    pub(crate) fn settled(&self, id: AccountId, standing: &Standing) {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known, unrecorded)) = judged.accounts.get_mut(&id)
            && (known.day, known.level) == (standing.day, standing.level)
        {
            *unrecorded = None;
        }
    }
}
