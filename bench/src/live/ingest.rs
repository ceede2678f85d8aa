//! Batches of 500 rows, sent by two sources as fast as they are acknowledged, while a few
//! connections on every server read the pushes of some of the rows.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::feeder::{Delays, Feeder, Plan, Sent};
use super::market::{self, csv, days, regular, venue};
use super::place::{Place, ten_of};
use super::readers::{Readers, Speaks, Tally};
use super::{milliseconds, setting, verdict};
use crate::contest::now;
use crate::paper::times::Times;
use crate::server::Server;

const SOURCES: usize = 2;
const ROWS: usize = 500;
const SECONDS: usize = 10;
/// Time from the first push on every server until the measurement.
const WARM_UP: Duration = Duration::from_secs(2);
/// Maximum time until these pushes. A new server first reads the newest blocks of all series.
const FIRST_PUSH_WITHIN: Duration = Duration::from_secs(60);
/// Connections on each server, with ten securities each.
const CONNECTIONS: usize = 20;
/// Pace of the second run, in batches a second of all sources.
const PACED: usize = 20;
const DELAY_GOAL: Duration = Duration::from_millis(250);

pub(super) async fn run(chandler: &str, work: &Path, store: Option<&str>) -> anyhow::Result<()> {
    let sources = setting("SOURCES", SOURCES);
    let venue = venue()?;
    market::ensure_open(&venue)?;
    let day = days(&venue, 1)?.into_iter().flat_map(|day| regular(&day)).take(5).collect::<Vec<_>>();
    let mut place = Place::new(chandler, work, "ingest", store, &csv(0..sources * ROWS, &day)?)?;
    let (name, goal, nodes) = match store {
        Some(_) => ("PostgreSQL", 20_000.0, 2),
        None => ("SQLite", 50_000.0, 1),
    };
    let start = |node| if store.is_some() { place.start_node(node) } else { place.start(None) };
    let servers = (0..nodes).map(start).collect::<anyhow::Result<Vec<_>>>()?;
    let mut tallies = Vec::new();
    let mut readers = Vec::new();
    for server in &servers {
        let streams =
            place.subscribers(server, CONNECTIONS, |connection| ten_of(sources * ROWS, connection)).await?;
        let tally = Tally::new();
        readers.push(Readers::start(streams, Speaks::WebSocket, &tally));
        tallies.push(tally);
    }
    head();
    let mut first = 0;
    for every in [Duration::ZERO, Duration::from_secs(1) * sources as u32 / PACED as u32] {
        let measured = measure(&place, &servers, &tallies, sources, (every, first)).await?;
        first = measured.next;
        let goal = every.is_zero().then_some(goal);
        print(name, &measured, goal)?;
    }
    for readers in readers {
        readers.close().await?;
    }
    Ok(())
}

struct Measured {
    rows_a_second: f64,
    answers: Times,
    /// For each server.
    delays: Vec<Delays>,
    server_us: f64,
    /// The number of the next batch.
    next: usize,
}

async fn measure(
    place: &Place,
    servers: &[Server],
    tallies: &[Arc<Tally>],
    sources: usize,
    (every, first): (Duration, usize),
) -> anyhow::Result<Measured> {
    let Some((server, tally)) = servers.first().zip(tallies.first()) else { anyhow::bail!("no server") };
    tallies.iter().for_each(|tally| tally.reset());
    let start = |source: usize| {
        let plan = Plan {
            source: format!("source-{source}"),
            groups: vec![(source * ROWS..(source + 1) * ROWS).collect()],
            every,
            first,
        };
        Feeder::start(server.http(), place.operator(), plan, tally.began)
    };
    let feeders: Vec<Feeder> = (0..sources).map(start).collect();
    let begun = std::time::Instant::now();
    while tallies.iter().any(|tally| tally.pushes() == 0) && begun.elapsed() < FIRST_PUSH_WITHIN {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(WARM_UP).await;
    let (from, processor) = (tally.began.elapsed(), server.processor_us()?);
    tokio::time::sleep(Duration::from_secs(SECONDS as u64)).await;
    let (until, processor) = (tally.began.elapsed(), server.processor_us()? - processor);
    let mut sent = Vec::new();
    for feeder in feeders {
        sent.push(tokio::task::spawn_blocking(move || feeder.stop()).await??);
    }
    // The last pushes are on their way.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let within = |sent: &&Sent| sent.sent >= from && sent.acknowledged <= until;
    let answered: Vec<&Sent> = sent.iter().flatten().filter(within).collect();
    let rows = (answered.len() * ROWS) as f64;
    let mut delays = Vec::new();
    for of_server in tallies {
        let offset = of_server.began.saturating_duration_since(tally.began);
        let mut all = Delays::default();
        for (source, sent) in sent.iter().enumerate() {
            let arrived = of_server.arrived().into_iter().filter(|push| push.symbol / ROWS == source);
            let arrived: Vec<_> =
                arrived.map(|push| super::readers::Arrived { at: push.at + offset, ..push }).collect();
            let of_source = Delays::of(sent, arrived.iter(), from);
            all.since_acknowledged.extend(of_source.since_acknowledged);
            all.since_sent.extend(of_source.since_sent);
        }
        delays.push(all);
    }
    let mut answers = Times::default();
    answered.iter().for_each(|sent| answers.push(sent.acknowledged - sent.sent));
    Ok(Measured {
        rows_a_second: rows / (until - from).as_secs_f64(),
        answers,
        delays,
        server_us: processor / rows.max(1.0),
        next: sent.iter().flatten().map(|sent| sent.batch + 1).max().unwrap_or(first),
    })
}

#[expect(clippy::print_stdout, reason = "the table")]
fn head() {
    println!(
        "| batches of {ROWS} rows | rows a second | goal | ms to the acknowledgement: p50, p99 | ms from acknowledgement to push, \
         for each node: p50, p99 | goal p99 | processor us of the first node a row | measured |\n|---|---|---|---|---|---|---|---|"
    );
}

#[expect(clippy::print_stdout, reason = "the table")]
fn print(name: &str, measured: &Measured, goal: Option<f64>) -> anyhow::Result<()> {
    let Measured { rows_a_second, answers, delays, server_us, .. } = measured;
    let pace = if goal.is_some() { "as fast as acknowledged" } else { "paced" };
    let rate_goal =
        goal.map_or(String::new(), |goal| format!("{goal:.0}: {}", verdict(*rows_a_second >= goal)));
    let [p50, p99] = [50, 99].map(|percent| answers.at(percent) * 1e3);
    let each = |delays: &Delays| {
        let [p50, p99] = [50, 99].map(|percent| delays.since_acknowledged.at(percent) * 1e3);
        format!("{p50:.0}, {p99:.0}")
    };
    let each: Vec<String> = delays.iter().map(each).collect();
    let goal = milliseconds(DELAY_GOAL);
    let is_met = delays.iter().all(|delays| delays.since_acknowledged.at(99) * 1e3 <= goal);
    println!(
        "| {name}, {pace} | {rows_a_second:.0} | {rate_goal} | {p50:.1}, {p99:.1} | {} | {goal:.0}: {} | {server_us:.1} | {} |",
        each.join("; "),
        verdict(is_met),
        now()?
    );
    Ok(())
}
