//! Advances paper accounts with open orders in the background, when a candle may fill an order or
//! the clock expires it. Only one server of a store does this. Every server follows the changes
//! made by other servers, to notify its listeners.
//!
//! Accounts are served round robin, with one portion of work per account and round. All due
//! accounts come first. Accounts that need more than one portion follow in rotation, with a bounded
//! number of portions per round.
//!
//! Two more jobs tally the accounts for levels and create their statements.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use access::AccountId;
use history::AsOf;
use market::{Market, Timestamp};
use paper::{Advanced, PaperError};
use store::Reader;
use tokio::sync::Notify;
use trading::statement::{last_made_at, made_at};

use super::runner::{Job, JobError, Progress, RunsOn};
use crate::core::Core;
use crate::metrics::JobName;

/// Maximum delay, in machine time, until orders placed by another process are detected.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Maximum delay until listeners receive changes made by another process.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
/// Minimum pause between two runs, so that a fast replay leaves time for requests.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
/// Pause after a run that could not finish all due work.
const FAILED_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of accounts advanced together and written in one transaction.
const TOGETHER_MAX: usize = 1_024;
/// Maximum number of portions per round for accounts that are behind. A portion is about a thousand
/// journal entries, so another account's fill is delayed by at most a few thousand entries.
const PORTIONS_MAX: usize = 4;

pub(super) fn advance(core: &Arc<Core>) -> Job {
    let (core, seen, past) = (core.clone(), AtomicI64::new(i64::MIN), AtomicI64::new(i64::MIN));
    let demand = core.listeners.sooner().clone();
    let rotation = Mutex::new(Rotation::default());
    Job {
        name: JobName::PaperAccounts,
        place: RunsOn::OneServer,
        first_after: Duration::ZERO,
        every: LOOK_EVERY,
        demand,
        work: Arc::new(move |_| {
            let mut rotation = rotation.lock().unwrap_or_else(PoisonError::into_inner);
            look(&core, &mut rotation, &seen, &past)
        }),
    }
}

/// Accounts that are behind, in the order in which they are advanced.
#[derive(Debug, Default)]
struct Rotation {
    behind: VecDeque<AccountId>,
    /// Accounts that could not be advanced. They are retried after a pause, once no account is
    /// behind.
    failed: BTreeSet<AccountId>,
}

impl Rotation {
    /// Runs one round: one portion for each due account, then one portion for each of a few
    /// accounts that are behind.
    fn turn(
        &mut self,
        due: &[AccountId],
        mut advance: impl FnMut(&[AccountId]) -> Result<Advanced, PaperError>,
    ) -> Result<(), PaperError> {
        let waiting: BTreeSet<AccountId> = self.behind.iter().copied().collect();
        let is_prompt = |id: &&AccountId| !waiting.contains(id) && !self.failed.contains(id);
        let prompt: Vec<AccountId> = due.iter().filter(is_prompt).copied().collect();
        for together in prompt.chunks(TOGETHER_MAX) {
            let advanced = advance(together)?;
            self.take(advanced);
        }
        for _ in 0..waiting.len().min(PORTIONS_MAX) {
            let Some(id) = self.behind.pop_front() else { break };
            let advanced = advance(&[id])?;
            self.take(advanced);
        }
        Ok(())
    }

    fn take(&mut self, advanced: Advanced) {
        self.behind.extend(advanced.behind);
        self.failed.extend(advanced.failed);
    }
}

/// Runs one round over the due accounts. `seen` is the store version with which accounts were last
/// advanced, and `past` is the time of the last statements that accounts passed.
fn look(
    core: &Core,
    rotation: &mut Rotation,
    seen: &AtomicI64,
    past: &AtomicI64,
) -> Result<Progress, JobError> {
    // The plan is cleared during the run, so that an order placed meanwhile triggers another run.
    core.listeners.plan(None);
    let as_of = core.market_now();
    let now = as_of.now();
    let version = core.with_reader(Reader::version)?;
    // In live mode a candle may arrive late and fill any open order.
    let has_come = matches!(as_of, AsOf::Live(_)) && seen.load(Ordering::Acquire) != version;
    let due = core.paper.due(if has_come { Timestamp(i64::MAX) } else { now }, u32::MAX)?;
    rotation
        .turn(&due, |together| core.with_reader(|reader| Ok(core.paper.advance(together, reader, core))))?;
    if has_come {
        // The version is stored only after success, so that a failed run is retried.
        seen.store(version, Ordering::Release);
    }
    let next = core.paper.next_wake()?;
    core.listeners.plan(next);
    if !rotation.behind.is_empty() {
        return Ok(Progress::More);
    }
    rotation.failed.clear();
    // Accounts may have passed a statement time. The statement job may have run just before, so
    // wake it again.
    let made_at = last_made_at(core.history.venues().of(Market::Hk).zone(), now);
    if !due.is_empty() && past.swap(made_at.0, Ordering::AcqRel) != made_at.0 {
        core.statements_due.notify_one();
    }
    let Some(next) = next else { return Ok(Progress::Done) };
    // Accounts that are still due could not be advanced.
    let wait = match next <= now {
        true => Some(FAILED_PAUSE),
        false => core.time_until(next),
    };
    Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(LOOK_PAUSE))))
}

/// Maximum number of accounts whose watchlists are compared per run.
const WATCHLISTS_MAX: usize = 64;

/// Detects changes by other processes to the orders and watchlists of accounts that a connection or
/// a stream follows.
pub(super) fn follow(core: &Arc<Core>) -> Job {
    let (core, last) = (core.clone(), AtomicI64::new(0));
    Job {
        name: JobName::PaperListeners,
        place: RunsOn::EveryServer,
        first_after: FOLLOW_EVERY,
        every: FOLLOW_EVERY,
        demand: Arc::new(Notify::new()),
        work: Arc::new(move |_| {
            core.paper.follow_all(&core.listeners.accounts())?;
            let news = core.listeners.news();
            let after = AccountId(last.load(Ordering::Acquire));
            for account in news.watchlist_accounts(after, WATCHLISTS_MAX) {
                news.saw_watchlists(account, &core.access.watchlists(account)?);
                last.store(account.0, Ordering::Release);
            }
            Ok(Progress::Done)
        }),
    }
}

/// Maximum delay, in machine time, until accounts opened or rewound by another process are
/// detected.
const LEVELS_EVERY: Duration = Duration::from_secs(60);
/// Minimum pause between two market days, so that a fast replay leaves time for requests.
const LEVELS_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of accounts tallied in one portion and written in one transaction.
const LEVELS_TOGETHER_MAX: u32 = 128;

/// Tallies paper accounts after each market day, if paper accounts count toward levels. Otherwise
/// removes earlier tallies, so that no level depends on them.
pub(super) fn levels(core: &Arc<Core>) -> Job {
    let (core, after) = (core.clone(), AtomicI64::new(i64::MIN));
    Job {
        name: JobName::PaperLevels,
        place: RunsOn::OneServer,
        first_after: Duration::ZERO,
        every: LEVELS_EVERY,
        demand: core.paper_levels.due().clone(),
        work: Arc::new(move |_| tally(&core, &after)),
    }
}

/// Tallies one portion of accounts, starting after the account id in `after`.
fn tally(core: &Core, after: &AtomicI64) -> Result<Progress, JobError> {
    if !core.access.counts_paper() {
        core.paper.drop_tallies()?;
        return Ok(Progress::Done);
    }
    let moment = core.paper_moment(core.market_now());
    let days = core.access.tally_days(moment.as_of.now());
    let done = AccountId(after.swap(i64::MIN, Ordering::AcqRel));
    let ids = core.paper.untallied(days.today, done, LEVELS_TOGETHER_MAX)?;
    if let Some(last) = ids.last() {
        core.with_reader(|reader| core.paper.tally(&ids, &days, reader, &moment))?;
        // An account that could not be tallied is not retried in this run.
        after.store(last.0, Ordering::Release);
        return Ok(Progress::More);
    }
    let next = days.today.tomorrow().map(|day| core.history.venues().of(Market::Hk).zone().midnight(day));
    let next = next.unwrap_or(Timestamp(i64::MAX));
    let wait = core.market_clock().wait(moment.as_of.now(), next);
    Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(LEVELS_PAUSE))))
}

/// Maximum delay, in machine time, until progress made by other processes is detected.
const STATEMENTS_EVERY: Duration = Duration::from_secs(60);
/// Minimum pause between two market dates, so that a fast replay leaves time for requests.
const STATEMENTS_PAUSE: Duration = Duration::from_millis(250);
/// Maximum number of accounts per portion. Each account is written in a separate transaction.
const STATEMENTS_TOGETHER_MAX: u32 = 16;

/// Creates due statements for paper accounts that were advanced past a statement time. Idle
/// accounts are not advanced by this job; their statements are created on request.
pub(super) fn statements(core: &Arc<Core>) -> Job {
    let (core, after) = (core.clone(), AtomicI64::new(i64::MIN));
    Job {
        name: JobName::Statements,
        place: RunsOn::OneServer,
        first_after: Duration::ZERO,
        every: STATEMENTS_EVERY,
        demand: core.statements_due.clone(),
        work: Arc::new(move |_| make(&core, &after)),
    }
}

/// Creates statements for one portion of accounts, starting after the account id in `after`.
fn make(core: &Core, after: &AtomicI64) -> Result<Progress, JobError> {
    let done = AccountId(after.swap(i64::MIN, Ordering::AcqRel));
    let ids = core.paper.with_statements_due(done, STATEMENTS_TOGETHER_MAX)?;
    if let Some(last) = ids.last() {
        core.with_reader(|reader| {
            core.paper.make_due_statements(&ids, reader, core);
            Ok::<_, PaperError>(())
        })?;
        // An account that failed is not retried in this run.
        after.store(last.0, Ordering::Release);
        return Ok(Progress::More);
    }
    let (now, zone) = (core.market_now().now(), core.history.venues().of(Market::Hk).zone());
    let today = zone.date(now);
    let of_yesterday = made_at(zone, today.yesterday().unwrap_or(today));
    let next = if of_yesterday > now { of_yesterday } else { made_at(zone, today) };
    let wait = core.market_clock().wait(now, next);
    Ok(wait.map_or(Progress::Done, |wait| Progress::DoneFor(wait.max(STATEMENTS_PAUSE))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accounts with their numbers of remaining portions, and the accounts that were advanced in
    /// each round.
    struct Work {
        left: Vec<(AccountId, usize)>,
        turns: Vec<Vec<i64>>,
    }

    impl Work {
        fn of(portions: &[(i64, usize)]) -> Work {
            Work {
                left: portions.iter().map(|(id, left)| (AccountId(*id), *left)).collect(),
                turns: Vec::new(),
            }
        }

        fn due(&self) -> Vec<AccountId> {
            self.left.iter().filter(|(_, left)| *left > 0).map(|(id, _)| *id).collect()
        }

        fn advance(&mut self, ids: &[AccountId]) -> Advanced {
            let mut advanced = Advanced::default();
            for (id, left) in self.left.iter_mut().filter(|(id, _)| ids.contains(id)) {
                *left -= 1;
                if *left > 0 {
                    advanced.behind.push(*id);
                }
            }
            self.turns.last_mut().unwrap().extend(ids.iter().map(|id| id.0));
            advanced
        }

        fn turn(&mut self, rotation: &mut Rotation) {
            self.turns.push(Vec::new());
            rotation.turn(&self.due(), |ids| Ok(self.advance(ids))).unwrap();
        }
    }

    #[test]
    fn a_busy_account_does_not_delay_the_others() {
        let mut work = Work::of(&[(1, 1_000), (2, 1), (3, 1)]);
        let mut rotation = Rotation::default();
        work.turn(&mut rotation);
        assert_eq!(work.turns, [vec![1, 2, 3]], "a portion each");
        // A newly due account is served before the account that is behind.
        work.left.extend([(AccountId(4), 1)]);
        work.turn(&mut rotation);
        work.turn(&mut rotation);
        assert_eq!(work.turns[1..], [vec![4, 1], vec![1]]);
    }

    #[test]
    fn accounts_that_are_behind_rotate_and_each_round_is_bounded() {
        let ids: Vec<(i64, usize)> = (1..=6).map(|id| (id, 3)).collect();
        let mut work = Work::of(&ids);
        let mut rotation = Rotation::default();
        for _ in 0..4 {
            work.turn(&mut rotation);
        }
        assert_eq!(
            work.turns,
            [vec![1, 2, 3, 4, 5, 6], vec![1, 2, 3, 4], vec![5, 6, 1, 2], vec![3, 4, 5, 6]]
        );
        assert!(rotation.behind.is_empty() && work.due().is_empty());
    }

    #[test]
    fn a_failed_account_is_not_retried_while_others_are_behind() {
        let mut rotation = Rotation::default();
        let mut tried = Vec::new();
        for _ in 0..3 {
            let turn = rotation.turn(&[AccountId(1), AccountId(2)], |ids| {
                tried.extend(ids.iter().map(|id| id.0));
                let of = |number: i64| ids.iter().copied().filter(|id| id.0 == number).collect();
                Ok(Advanced { behind: of(1), failed: of(2) })
            });
            turn.unwrap();
        }
        assert_eq!(tried, [1, 2, 1, 1]);
    }
}
