//! Command 27 over 16 connections, from memory, with and without 5,000 pushes a second to others.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::feeder::{Feeder, Plan};
use super::market::{self, csv, days, regular, venue};
use super::place::Place;
use super::readers::{Readers, Speaks, Tally};
use super::verdict;
use crate::contest::{Spread, now};
use crate::load;
use crate::serve;

const CONNECTIONS: usize = 16;
const SECURITIES: usize = 40;
const DAYS: usize = 12;
/// Others, each with the same securities: each row of a batch is a push for each of them.
const OTHERS: usize = 50;
const PUSHED: usize = 10;
const BATCHES: usize = 10;
const TURNS: usize = 9;
const TURN: Duration = Duration::from_secs(1);
const GOAL: f64 = 90.0;

pub(super) async fn run(chandler: &str, work: &Path) -> anyhow::Result<()> {
    let venue = venue()?;
    market::ensure_open(&venue)?;
    let mut stamps: Vec<_> = days(&venue, DAYS)?.into_iter().flat_map(|day| regular(&day)).collect();
    stamps.sort_unstable();
    let mut place = Place::new(chandler, work, "history", None, &csv(0..SECURITIES + PUSHED, &stamps)?)?;
    let frames = Arc::new(serve::questions_of(place.store(), SECURITIES, stamps.len() as u64 / 2)?);
    let server = place.start(None)?;
    let symbols: Vec<String> = (SECURITIES..SECURITIES + PUSHED).map(market::symbol).collect();
    let streams = place.subscribers(&server, OTHERS, |_| symbols.clone()).await?;
    let tally = Tally::new();
    let readers = Readers::start(streams, Speaks::WebSocket, &tally);
    let mut sockets = Vec::new();
    for _ in 0..CONNECTIONS {
        sockets.push(server.connect().await?);
    }
    // The first pass fills caches.
    load::run(&mut sockets, &frames, TURN).await?;
    let (mut alone, mut among, mut pushed, mut first) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for turn in 0..TURNS * 2 {
        if turn % 2 == 0 {
            alone.push(load::run(&mut sockets, &frames, TURN).await?);
            continue;
        }
        let plan = Plan {
            source: "history".to_owned(),
            groups: vec![(SECURITIES..SECURITIES + PUSHED).collect()],
            every: Duration::from_secs(1) / BATCHES as u32,
            first,
        };
        let feeder = Feeder::start(server.http(), place.operator(), plan, tally.began);
        tokio::time::sleep(Duration::from_millis(200)).await;
        let before = tally.pushes();
        let run = load::run(&mut sockets, &frames, TURN).await?;
        pushed.push((tally.pushes() - before) as f64 / TURN.as_secs_f64());
        among.push(run);
        let sent = tokio::task::spawn_blocking(move || feeder.stop()).await??;
        first = sent.last().map_or(first, |sent| sent.batch + 1);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    readers.close().await?;
    print(&alone, &among, &pushed)
}

#[expect(clippy::print_stdout, reason = "the table")]
fn print(alone: &[load::Run], among: &[load::Run], pushed: &[f64]) -> anyhow::Result<()> {
    println!(
        "| command 27, cached, {CONNECTIONS} connections | answers a second: median (least to most) | p50, p99 us \
         | of the rate without pushes: median (least to most) | goal | pushes a second | measured |\n|---|---|---|---|---|---|---|"
    );
    let ratios = among.iter().zip(alone).map(|(among, alone)| 100.0 * among.per_second / alone.per_second);
    let ratios = Spread::of(ratios);
    for (name, runs, is_pushing) in [("without pushes", alone, false), ("with pushes to others", among, true)]
    {
        let of = |value: fn(&load::Run) -> f64| Spread::of(runs.iter().map(value));
        let rate = of(|run| run.per_second);
        let (ratio, goal, pushes) = if is_pushing {
            (
                format!("{:.0} % ({:.0} to {:.0})", ratios.median, ratios.least, ratios.most),
                format!("{GOAL:.0} %: {}", verdict(ratios.median >= GOAL)),
                format!("{:.0}", Spread::of(pushed.iter().copied()).median),
            )
        } else {
            Default::default()
        };
        println!(
            "| {name} | {:.0} ({:.0} to {:.0}) | {:.0}, {:.0} | {ratio} | {goal} | {pushes} | {} |",
            rate.median,
            rate.least,
            rate.most,
            of(|run| run.p50_us).median,
            of(|run| run.p99_us).median,
            now()?
        );
    }
    Ok(())
}
