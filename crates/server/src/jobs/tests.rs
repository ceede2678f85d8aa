use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use access::{Access, Actor, AuditFilter, LevelsFrom, NewAccount, NewWorld, Present, Terms};
use history::{AsOf, History};
use market::{Timestamp, Venues};
use store::{Store, WorldClock};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::runner::{Job, JobError, Progress, Runner, RunsOn, Trigger, jittered};
use super::{changes, of_server, paper_accounts, removal};
use crate::core::Core;
use crate::links::Links;
use crate::metrics::{JobName, JobOutcome};
use crate::settings::Settings;

const NOW: Timestamp = Timestamp(1_794_708_000);
const SECOND: Duration = Duration::from_secs(1);
/// Name of the jobs in these tests. Any other name would do as well.
const NAME: JobName = JobName::StoreChanges;

fn store() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
    dir
}

/// Opens a server core over this directory.
fn core(dir: &Path) -> Arc<Core> {
    let store = Store::open(dir, store::Access::Read).unwrap();
    let (access, history) = (Access::open(dir, NOW).unwrap(), History::new(Venues::built_in().unwrap()));
    Arc::new(Core::new(store, history, access, 0, Arc::new(|| AsOf::Live(NOW)), Arc::new(|| NOW)))
}

/// Returns a job that runs after one second and then every ten seconds.
fn job(work: impl Fn(Trigger) -> Result<Progress, JobError> + Send + Sync + 'static) -> Job {
    Job {
        name: NAME,
        place: RunsOn::EveryServer,
        first_after: SECOND,
        every: 10 * SECOND,
        demand: Arc::new(Notify::new()),
        work: Arc::new(work),
    }
}

/// Returns how many runs of a job succeeded, failed, or were left to another server.
fn runs(core: &Core, name: JobName) -> [u64; 3] {
    [JobOutcome::Ok, JobOutcome::Failed, JobOutcome::Elsewhere]
        .map(|outcome| core.metrics.job_runs(name, outcome))
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_at_intervals_until_the_runner_stops() {
    let dir = store();
    let core = core(dir.path());
    let runner = Runner::start(&core, vec![job(|_| Ok(Progress::Done))]);
    sleep(Duration::from_millis(850)).await;
    assert_eq!(runs(&core, NAME), [0, 0, 0], "not at once");
    // With jitter, runs start no later than 1, 11, 21 and 31 s, and the fifth run starts no earlier
    // than 36.9 s.
    sleep(35 * SECOND).await;
    assert_eq!(runs(&core, NAME), [4, 0, 0]);
    runner.stop().await;
    sleep(100 * SECOND).await;
    assert_eq!(runs(&core, NAME), [4, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_again_after_a_failure_or_panic() {
    let dir = store();
    let core = core(dir.path());
    let count = AtomicUsize::new(0);
    let work = move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Err(store::StoreError::Absent { place: "nowhere".into() }.into()),
        1 => panic!("as the test wants it"),
        _ => Ok(Progress::Done),
    };
    let runner = Runner::start(&core, vec![job(work)]);
    sleep(35 * SECOND).await;
    assert_eq!(runs(&core, NAME), [2, 2, 0]);
    runner.stop().await;
}

#[tokio::test(start_paused = true)]
async fn portions_count_as_one_run_with_pauses_between_them() {
    let dir = store();
    let core = core(dir.path());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let work = move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        0..3 => Ok(Progress::More),
        _ => Ok(Progress::Done),
    };
    let runner = Runner::start(&core, vec![job(work)]);
    sleep(SECOND + Duration::from_millis(40)).await;
    assert!(count.load(Ordering::Relaxed) < 4 && runs(&core, NAME) == [0, 0, 0]);
    sleep(SECOND).await;
    assert_eq!((count.load(Ordering::Relaxed), runs(&core, NAME)), (4, [1, 0, 0]));
    runner.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_demand_starts_a_run_immediately() {
    let dir = store();
    let core = core(dir.path());
    let (sender, receiver) = mpsc::channel();
    let job = Job {
        first_after: 100 * SECOND,
        ..job(move |trigger| {
            sender.send(trigger).unwrap();
            Ok(Progress::Done)
        })
    };
    let demand = job.demand.clone();
    let runner = Runner::start(&core, vec![job]);
    demand.notify_one();
    sleep(SECOND).await;
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [Trigger::Demand]);
    sleep(10 * SECOND).await;
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [Trigger::Time], "the interval begins with the run");
    runner.stop().await;
}

#[tokio::test]
async fn a_hanging_run_does_not_delay_shutdown() {
    let dir = store();
    let core = core(dir.path());
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let state = std::sync::Mutex::new((Some(begun), released));
    let job = Job {
        first_after: Duration::ZERO,
        ..job(move |_| {
            let mut state = state.lock().unwrap();
            state.0.take().unwrap().send(()).unwrap();
            state.1.recv().ok();
            Ok(Progress::Done)
        })
    };
    let runner = Runner::start(&core, vec![job]);
    begins.await.unwrap();
    runner.stop().await;
    assert_eq!(runs(&core, NAME), [0, 0, 0]);
    drop(release);
}

#[test]
fn jitter_shortens_a_wait_by_at_most_a_tenth() {
    let wait = 100 * SECOND;
    let all: Vec<Duration> =
        (0..1_000_u64).map(|step| jittered(wait, step.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    assert!(all.iter().all(|jittered| (90 * SECOND..=wait).contains(jittered)));
    assert!(all.iter().min() < Some(&(91 * SECOND)) && all.iter().max() > Some(&(99 * SECOND)));
    assert_eq!(jittered(wait, 0), wait);
    assert_eq!(jittered(Duration::ZERO, 7), Duration::ZERO);
    assert!(jittered(Duration::MAX, u64::MAX) >= Duration::MAX - Duration::MAX / 10);
}

#[tokio::test(start_paused = true)]
async fn one_of_two_servers_runs_a_job_and_the_other_takes_over() {
    let dir = store();
    let (one, other) = (core(dir.path()), core(dir.path()));
    let once = || Job { place: RunsOn::OneServer, ..job(|_| Ok(Progress::Done)) };
    let first = Runner::start(&one, vec![once()]);
    sleep(2 * SECOND).await;
    let second = Runner::start(&other, vec![once()]);
    sleep(15 * SECOND).await;
    assert_eq!((runs(&one, NAME), runs(&other, NAME)), ([2, 0, 0], [0, 0, 2]));
    first.stop().await;
    sleep(10 * SECOND).await;
    assert_eq!((runs(&one, NAME), runs(&other, NAME)), ([2, 0, 0], [1, 0, 2]));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn audit_rows_past_the_retention_period_are_removed() {
    const DAY_S: i64 = 86_400;
    let dir = store();
    let core = core(dir.path());
    let days = NonZeroU32::new(30).unwrap();
    let kept_from = removal::kept_from(NOW, days);
    assert_eq!(kept_from.0 % DAY_S, 0);
    assert!((30 * DAY_S..31 * DAY_S).contains(&(NOW.0 - kept_from.0)));
    for (name, at) in [("ann", kept_from.0 - DAY_S), ("bob", kept_from.0 - 1), ("eve", kept_from.0)] {
        let new = NewAccount::named(name, Terms::default());
        core.access.create(&new, &Actor::Operator, Timestamp(at)).unwrap();
    }
    let rows = || -> Vec<(i64, String, String)> {
        let filter = AuditFilter { limit: 10, ..AuditFilter::default() };
        core.access.audit(&filter).unwrap().into_iter().map(|row| (row.at.0, row.actor, row.event)).collect()
    };
    // Without the setting, the job does not exist.
    let jobs = of_server(&core, &Links::default(), None, &Settings::default());
    assert!(jobs.iter().all(|job| job.name != JobName::AuditRetention));
    let settings = Settings { audit_retention_days: Some(days), ..Settings::default() };
    let runner = Runner::start(&core, of_server(&core, &Links::default(), None, &settings));
    assert_eq!(rows().len(), 3);
    sleep(62 * SECOND).await;
    let stored = (kept_from.0, "operator".to_owned(), "account.created".to_owned());
    assert_eq!(rows(), [(NOW.0, "service".to_owned(), "audit.pruned".to_owned()), stored]);
    assert_eq!(runs(&core, JobName::AuditRetention), [1, 0, 0]);
    sleep(3_600 * SECOND).await;
    assert_eq!((rows().len(), runs(&core, JobName::AuditRetention)), (2, [2, 0, 0]));
    runner.stop().await;
}

#[tokio::test(start_paused = true)]
async fn worlds_that_ended_a_month_ago_are_deleted_in_portions() {
    const DAY_S: i64 = 86_400;
    let dir = store();
    let now = Arc::new(AtomicI64::new(NOW.0));
    let machine = now.clone();
    let store = Store::open(dir.path(), store::Access::Read).unwrap();
    let (access, history) =
        (Access::open(dir.path(), NOW).unwrap(), History::new(Venues::built_in().unwrap()));
    let machine = Arc::new(move || Timestamp(machine.load(Ordering::Relaxed)));
    let core = Arc::new(Core::new(store, history, access, 0, Arc::new(|| AsOf::Live(NOW)), machine));
    let ann = core.access.create(&NewAccount::named("ann", Terms::default()), &Actor::Operator, NOW).unwrap();
    let owner = core.access.account(ann.account_id).unwrap().unwrap();
    let create = |name: &str, state: &str| {
        let clock = WorldClock { state: state.to_owned(), now: NOW, step: 0, digest: [0; 32] };
        let new = NewWorld {
            owner: &owner,
            name,
            starts_at: NOW,
            ends_at: NOW,
            settings: "",
            is_limited: false,
            clock: &clock,
            worlds_max: 100,
        };
        core.access.create_world(&new, &Actor::Operator, Present { market: NOW, machine: NOW }).unwrap();
    };
    for number in 0..20 {
        create(&format!("ended-{number}"), "ended");
    }
    create("paused", "paused");
    let names = || -> Vec<String> {
        let rows = core.access.database().worlds_of(owner.id).unwrap();
        rows.into_iter().map(|row| row.name).collect()
    };
    let job = JobName::EndedWorlds;
    let unlimited = Settings { worlds_keep_days: None, ..Settings::default() };
    let jobs = of_server(&core, &Links::default(), None, &unlimited);
    assert!(jobs.iter().all(|one| one.name != job), "without the setting, the job does not exist");
    let mut jobs = of_server(&core, &Links::default(), None, &Settings::default());
    jobs.retain(|one| one.name == job);
    let portion = jobs[0].work.clone();
    let runner = Runner::start(&core, jobs);
    sleep(62 * SECOND).await;
    now.fetch_add(30 * DAY_S - 1, Ordering::Relaxed);
    create("later", "ended");
    sleep(602 * SECOND).await;
    assert_eq!((runs(&core, job), names().len()), ([2, 0, 0], 22));
    runner.stop().await;
    now.fetch_add(1, Ordering::Relaxed);
    assert_eq!(portion(Trigger::Time).unwrap(), Progress::More);
    assert_eq!(names().len(), 22 - 16, "a portion is limited");
    assert_eq!(portion(Trigger::Time).unwrap(), Progress::Done);
    assert_eq!(names(), ["paused", "later"]);
    now.fetch_add(40 * DAY_S, Ordering::Relaxed);
    assert_eq!(portion(Trigger::Time).unwrap(), Progress::Done);
    assert_eq!(names(), ["paused"]);
    let filter = AuditFilter { limit: 1, ..AuditFilter::default() };
    let row = core.access.audit(&filter).unwrap().remove(0);
    assert_eq!((row.actor.as_str(), row.event.as_str()), ("service", "world.deleted"));
}

#[tokio::test(start_paused = true)]
async fn files_not_imported_within_a_day_are_removed() {
    let dir = store();
    let core = core(dir.path());
    let [old, new, part] =
        ["1794621600-00000000000000ff", "1794621601-00000000000000ff", "1794621600-00000000000000aa.part"]
            .map(|name| dir.path().join("uploads").join(name));
    for folder in [&old, &new, &part] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("AAPL.csv"), "x").unwrap();
    }
    let runner = Runner::start(&core, vec![removal::uploads(&core)]);
    sleep(62 * SECOND).await;
    assert_eq!(runs(&core, JobName::Uploads), [1, 0, 0]);
    assert_eq!([old, new, part].map(|folder| folder.exists()), [false, true, false]);
    runner.stop().await;
}

#[tokio::test(start_paused = true)]
async fn expired_sessions_are_removed_without_a_request() {
    let dir = store();
    let core = core(dir.path());
    let created =
        core.access.create(&NewAccount::named("ann", Terms::default()), &Actor::Operator, NOW).unwrap();
    let accounts = store::Accounts::open(dir.path(), NOW).unwrap();
    let begun = Timestamp(NOW.0 - 100);
    let note = store::AuditNote { at: begun, actor: "operator", reason: "a test" };
    for (hash, end) in [([1; 32], NOW), ([2; 32], Timestamp(NOW.0 + 1))] {
        assert!(accounts.begin_guest(created.account_id, &hash, end, &note).unwrap());
    }
    let runner = Runner::start(&core, vec![removal::expired_grants(&core)]);
    sleep(62 * SECOND).await;
    assert_eq!(runs(&core, JobName::ExpiredGrants), [1, 0, 0]);
    runner.stop().await;
    // Read as of an instant before both sessions expired, so that the result shows which rows are
    // stored.
    let is_there = |hash| accounts.browser(&hash, begun).unwrap().is_some();
    assert_eq!((is_there([1; 32]), is_there([2; 32])), (false, true));
}

#[tokio::test(start_paused = true)]
async fn changes_by_another_process_are_detected() {
    let dir = store();
    let core = core(dir.path());
    let mut readers = (core.store.version_reader().unwrap(), core.access.version_reader().unwrap());
    let mut versions = || (readers.0.version().unwrap(), readers.1.version().unwrap());
    let sooner = core.listeners.sooner().clone();
    let runner = Runner::start(&core, vec![changes::of_store(&core, &Links::default())]);
    timeout(2 * SECOND, sooner.notified()).await.unwrap();
    let first = versions();
    assert!(timeout(10 * SECOND, sooner.notified()).await.is_err(), "nothing has happened");
    let elsewhere = Access::open(dir.path(), NOW).unwrap();
    elsewhere.create(&NewAccount::named("ann", Terms::default()), &Actor::Operator, NOW).unwrap();
    let began = Instant::now();
    timeout(2 * SECOND, sooner.notified()).await.unwrap();
    assert!(began.elapsed() <= SECOND + Duration::from_millis(10));
    let second = versions();
    assert!(second.1 > first.1 && second.0 == first.0, "{first:?} {second:?}");
    let store = Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.put_security(&store::Security::new("5.HK".parse().unwrap())).unwrap();
    batch.commit().unwrap();
    timeout(2 * SECOND, sooner.notified()).await.unwrap();
    let third = versions();
    assert!(third.0 > second.0 && third.1 == second.1, "{second:?} {third:?}");
    runner.stop().await;
}

#[tokio::test(start_paused = true)]
async fn paper_accounts_are_tallied_after_a_market_day() {
    let dir = store();
    let clock = Arc::new(AtomicI64::new(NOW.0));
    let shown = clock.clone();
    let open = |levels_from| {
        let store = Store::open(dir.path(), store::Access::Read).unwrap();
        let access = Access::open(dir.path(), NOW).unwrap().with_levels_from(levels_from);
        let shown = shown.clone();
        let market = move || AsOf::Replay(Timestamp(shown.load(Ordering::Relaxed)));
        let history = History::new(Venues::built_in().unwrap());
        Core::new(store, history, access, 0, Arc::new(market), Arc::new(|| NOW))
    };
    let core = Arc::new(open(LevelsFrom::Auto));
    let id = core
        .access
        .create(&NewAccount::named("ann", Terms::default()), &Actor::Operator, NOW)
        .unwrap()
        .account_id;
    let began =
        core.with_reader(|reader| core.paper.at(id, reader, &*core).read(|reading| reading.account.began()));
    assert_eq!(began.unwrap(), Some(NOW));
    // Paper assets at the end of Sunday, by currency.
    let sunday = || -> Vec<(String, i64)> {
        let held = core.access.database().paper_assets_as_of(id, "2026-11-15".parse().unwrap()).unwrap();
        held.into_iter().map(|one| (one.currency, one.amount)).collect()
    };
    let runner = Runner::start(&core, vec![paper_accounts::levels(&core)]);
    sleep(SECOND).await;
    assert!(sunday().is_empty(), "it is not over");
    clock.fetch_add(86_400, Ordering::Relaxed);
    core.paper_levels.tally_soon();
    sleep(SECOND).await;
    assert_eq!(sunday(), [("HKD".to_owned(), 10_000_000_000), ("USD".to_owned(), 1_000_000_000)]);
    runner.stop().await;
    // A server that does not count paper accounts removes the tallies.
    let plain = Arc::new(open(LevelsFrom::Reported));
    let runner = Runner::start(&plain, vec![paper_accounts::levels(&plain)]);
    sleep(SECOND).await;
    assert_eq!(runs(&plain, JobName::PaperLevels), [1, 0, 0]);
    assert!(sunday().is_empty(), "{:?}", sunday());
    runner.stop().await;
}

#[tokio::test(start_paused = true)]
async fn statements_are_created_once_an_account_is_advanced() {
    let dir = store();
    let clock = Arc::new(AtomicI64::new(NOW.0));
    let shown = clock.clone();
    let market = move || AsOf::Replay(Timestamp(shown.load(Ordering::Relaxed)));
    let store = Store::open(dir.path(), store::Access::Read).unwrap();
    let access = Access::open(dir.path(), NOW).unwrap();
    let history = History::new(Venues::built_in().unwrap());
    let core = Arc::new(Core::new(store, history, access, 0, Arc::new(market), Arc::new(|| NOW)));
    let new = NewAccount::named("ann", Terms::default());
    let id = core.access.create(&new, &Actor::Operator, NOW).unwrap().account_id;
    let begin = |reading: &paper::Reading<'_>| reading.account.began();
    core.with_reader(|reader| core.paper.at(id, reader, &*core).read(begin)).unwrap();
    let last = || core.access.database().last_statement(id, 1).unwrap().map(|date| date.to_string());
    let runner = Runner::start(&core, vec![paper_accounts::statements(&core)]);
    sleep(SECOND).await;
    // Sunday in Hong Kong. Moving the clock does not advance the account.
    clock.fetch_add(3 * 86_400, Ordering::Relaxed);
    core.statements_due.notify_one();
    sleep(SECOND).await;
    assert_eq!(last(), None);
    let advanced = core.with_reader(|reader| {
        core.paper.advance(&[id], reader, &*core);
        Ok::<_, paper::PaperError>(())
    });
    advanced.unwrap();
    core.statements_due.notify_one();
    sleep(SECOND).await;
    assert_eq!(last().as_deref(), Some("2026-11-17"));
    runner.stop().await;
}
