//! Standings: the current or expected level of an account with the reason, a cache of standings,
//! and the setting for the source of the underlying numbers.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use market::{Calendar, Date, Market, Venue};
use store::{AccountId, RecordedLevel};

use crate::health::Learnt;
use crate::level::TradingDays;
use crate::{AccessError, Grounds, Level, Reason};

/// Maximum number of cached standings.
const STANDINGS_MAX: usize = 4_096;

/// An account's level on a trading day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Hong Kong trading day from which this level is in force, until the next trading day.
    pub day: Date,
    pub level: Level,
    pub reason: Reason,
    /// Maximum number of securities per month, set for the account or by its level.
    pub limit: u32,
    pub own_quota: bool,
    pub grounds: Grounds,
}

/// Expected standing on the next trading day, based on the data known now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub standing: Standing,
    /// Whether the level or the quota differs from the current standing.
    pub changes: bool,
}

/// A level that differs from the level recorded in the database and must be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnrecordedLevel {
    pub(crate) from: Option<RecordedLevel>,
}

/// Cache of standings by account, with the calendar of trading days.
#[derive(Debug)]
pub(crate) struct Standings {
    pub(crate) days: TradingDays,
    judged: Mutex<Judged>,
}

#[derive(Debug, Default)]
struct Judged {
    version: i64,
    /// Cached standings, each with the database version at which it was determined.
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
        // While the database is unreachable, the last known level stays in force.
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

    /// Drops the cached standings of `accounts`, or of all accounts if `None`, after a withdrawal
    /// at `version`.
    pub(crate) fn forget(&self, accounts: Option<&HashSet<AccountId>>, version: i64) {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        // Standings determined before this version must no longer be cached.
        judged.version = judged.version.max(version);
        judged.accounts.retain(|id, _| accounts.is_some_and(|accounts| !accounts.contains(id)));
    }

    /// Marks the level of a standing as recorded, unless another level has been determined since.
    pub(crate) fn settled(&self, id: AccountId, standing: &Standing) {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known, unrecorded)) = judged.accounts.get_mut(&id)
            && (known.day, known.level) == (standing.day, standing.level)
        {
            *unrecorded = None;
        }
    }
}

/// Whether levels are based on reported numbers or on paper accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LevelsFrom {
    /// Reports if the account has any, otherwise the paper account.
    #[default]
    Auto,
    Reported,
    Paper,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a level source: write auto, reported or paper")]
pub struct ParseLevelsFromError(String);

impl LevelsFrom {
    pub fn as_str(self) -> &'static str {
        match self {
            LevelsFrom::Auto => "auto",
            LevelsFrom::Reported => "reported",
            LevelsFrom::Paper => "paper",
        }
    }
}

impl fmt::Display for LevelsFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for LevelsFrom {
    type Err = ParseLevelsFromError;

    fn from_str(text: &str) -> Result<LevelsFrom, ParseLevelsFromError> {
        let all = [LevelsFrom::Auto, LevelsFrom::Reported, LevelsFrom::Paper];
        let found = all.into_iter().find(|known| known.as_str() == text);
        found.ok_or_else(|| ParseLevelsFromError(text.chars().take(40).collect()))
    }
}

#[derive(Debug)]
pub(crate) struct Levels {
    /// Source of the numbers that determine levels.
    pub(crate) from: LevelsFrom,
    pub(crate) standings: Standings,
}

impl Levels {
    /// Returns the default settings, with the built-in Hong Kong calendar.
    pub(crate) fn built_in() -> Result<Levels, AccessError> {
        let calendar =
            Calendar::parse(Venue::built_in_calendar(Market::Hk)).map_err(AccessError::Calendar)?;
        Ok(Levels { from: LevelsFrom::default(), standings: Standings::new(calendar) })
    }
}
