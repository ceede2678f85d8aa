//! The shared rate decision of all nodes, alternating with bare round trips, and the number of
//! decisions per second.
//!
//! `bench rate ADDRESS` uses many accounts, so that none waits for another: it measures the
//! decision, not contention for a row.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use store::{AccountId, Accounts, RateAsk, RateDecision, Shared, StoreUrl};

use crate::bare::{Bare, Driven};
use crate::contest::{Spread, now};
use crate::query::NOW;

/// The goals: times a bare round trip at p50, and decisions a second.
const TIMES_GOAL: f64 = 1.5;
const PER_SECOND_GOAL: f64 = 10_000.0;
const ROUNDS: usize = 9;
const DECISIONS: usize = 2_000;
/// Accounts used in turn, so many that none reaches its limit.
const ACCOUNTS: i64 = 20_000;
/// The rule of the service.
const RULE: RateAsk = RateAsk { requests: 60, within: Duration::from_secs(30), calls: 1 };
/// Concurrent threads, and for how long.
const THREADS: [usize; 3] = [4, 8, 16];
const TURN: Duration = Duration::from_secs(2);

pub(crate) fn run(address: &str) -> anyhow::Result<()> {
    let place: StoreUrl = address.parse()?;
    let accounts = Accounts::open(&place, NOW)?;
    let shared = accounts.shared().context("nothing is shared by nodes of this store")?;
    let trips = [Bare::connect(address, Driven::Here)?, Bare::connect(address, Driven::Elsewhere)?];
    let [bare, _] = &trips;
    // Like accounts that made sixty requests long ago: a decision reads and writes the maximum.
    bare.run("delete from rate_window")?;
    bare.run(&format!(
        "insert into rate_window (account_id, times) select n, decode(repeat('00', 480), 'hex') from generate_series(1, {ACCOUNTS}) n"
    ))?;
    bare.run("vacuum analyze rate_window")?;
    one_by_one(shared, &trips)?;
    together(shared)?;
    exact(shared)
}

fn decide(shared: &Shared, account: i64) -> anyhow::Result<bool> {
    Ok(matches!(shared.take_rate(AccountId(account), &RULE)?, RateDecision::Admitted(_)))
}

/// One client: alternates a decision and a bare round trip of either kind.
fn one_by_one(shared: &Shared, trips: &[Bare; 2]) -> anyhow::Result<()> {
    let [here, elsewhere] = trips;
    let ones = [here.prepare("select 1")?, elsewhere.prepare("select 1")?];
    let mut rounds: [Vec<(f64, f64)>; 3] = Default::default();
    let began = now()?;
    let mut account = 0;
    for round in 0..ROUNDS {
        let mut times: [Vec<Duration>; 3] = Default::default();
        for number in 0..3 * DECISIONS {
            let which = (number + round) % 3;
            let since = Instant::now();
            match (trips.get(which), ones.get(which)) {
                (Some(trip), Some(one)) => drop(trip.rows(one, &[])?),
                _ => {
                    account = account % ACCOUNTS + 1;
                    ensure!(decide(shared, account)?, "refused");
                }
            }
            if let Some(times) = times.get_mut(which) {
                times.push(since.elapsed());
            }
        }
        for (all, times) in rounds.iter_mut().zip(times) {
            all.push(percentiles(times));
        }
    }
    let [here, elsewhere, decisions] = &rounds;
    let against = |trip: &[(f64, f64)]| {
        Spread::of(decisions.iter().zip(trip).map(|((ours, _), (trip, _))| ours / trip))
    };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| a shared decision about the rate | p50 us: median (least to most) | p99 us | a decision divided by this: median (least to most) \
         | goal | measured |\n|---|---|---|---|---|---|"
    )?;
    for (name, times, ratio) in [
        ("`select 1`, prepared, the connection driven by the calling thread", here, Some(against(here))),
        ("the same, driven by a separate thread, as in a server", elsewhere, Some(against(elsewhere))),
        ("decision, one client, many accounts", decisions, None),
    ] {
        let p50 = Spread::of(times.iter().map(|(p50, _)| *p50));
        let p99 = Spread::of(times.iter().map(|(_, p99)| *p99)).median;
        let cell = ratio.map_or(String::from(" | "), |Spread { least, median, most }| {
            let verdict = if median <= TIMES_GOAL { "met" } else { "**missed**" };
            format!("{median:.2} ({least:.2} to {most:.2}) | {TIMES_GOAL}: {verdict}")
        });
        writeln!(
            out,
            "| {name} | {:.1} ({:.1} to {:.1}) | {p99:.0} | {cell} | {began} to {} |",
            p50.median,
            p50.least,
            p50.most,
            now()?
        )?;
    }
    Ok(())
}

/// Median and 99th percentile, in microseconds.
fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let at =
        |percent: usize| times.get(times.len() * percent / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    (at(50), at(99))
}

fn together(shared: &Shared) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n| decisions for many accounts | a second | goal |\n|---|---|---|")?;
    for threads in THREADS {
        let done = AtomicUsize::new(0);
        let began = Instant::now();
        std::thread::scope(|scope| {
            let tasks: Vec<_> = (0..threads)
                .map(|thread| {
                    let done = &done;
                    scope.spawn(move || {
                        let mut account = i64::try_from(thread)? * 613;
                        while began.elapsed() < TURN {
                            account = (account + 1) % ACCOUNTS;
                            ensure!(decide(shared, account + 1)?, "refused");
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        anyhow::Ok(())
                    })
                })
                .collect();
            tasks
                .into_iter()
                .try_for_each(|task| task.join().unwrap_or_else(|_| anyhow::bail!("a thread panicked")))
        })?;
        let per_second = done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
        let verdict = if per_second >= PER_SECOND_GOAL { "met" } else { "**missed**" };
        writeln!(out, "| {threads} threads | {per_second:.0} | {PER_SECOND_GOAL}: {verdict} |")?;
    }
    Ok(())
}

/// One account from sixteen threads: a fast but wrong result would be worthless.
fn exact(shared: &Shared) -> anyhow::Result<()> {
    let account = ACCOUNTS + 1;
    let admitted = std::thread::scope(|scope| {
        let ask = || (0..60).map(|_| decide(shared, account).map(usize::from)).sum::<anyhow::Result<usize>>();
        let tasks: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.join().unwrap_or_else(|_| anyhow::bail!("a thread panicked"))?;
        }
        anyhow::Ok(sum)
    })?;
    ensure!(admitted == 60, "{admitted} of 960 requests of one account were admitted instead of 60");
    Ok(writeln!(
        std::io::stdout().lock(),
        "\nOf 960 requests of one account from 16 threads {admitted} were admitted."
    )?)
}
