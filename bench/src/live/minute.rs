//! A minute of 500 securities acts at one instant, for 256 connections that subscribe to all of
//! them. In turn with Redis, which publishes as many messages of the same bytes.

use std::path::Path;
use std::time::Duration;

use ::market::Timestamp;
use anyhow::{Context, ensure};
use serde_json::json;

use super::market::{self, csv, days, regular, venue};
use super::place::Place;
use super::readers::{Readers, Speaks, Tally};
use super::redis::{Publisher, Redis};
use super::{milliseconds, setting, verdict};
use crate::contest::{Spread, now};
use crate::paper::client::HttpClient;
use crate::server::processor_us;

const CONNECTIONS: usize = 256;
const SECURITIES: usize = 500;
const TURNS: usize = 9;
const GOAL: Duration = Duration::from_secs(1);

/// One server's turns.
#[derive(Default)]
struct Turns {
    /// From the request to the last push, in milliseconds.
    all: Vec<f64>,
    /// From the first push to the last.
    span: Vec<f64>,
    server_us: Vec<f64>,
    load_us: Vec<f64>,
    bytes: usize,
}

impl Turns {
    fn push(&mut self, tally: &Tally, sent: Duration, server_us: f64, load_us: f64) {
        let (first, last) = tally.span();
        let pushes = tally.pushes() as f64;
        self.all.push(milliseconds(last.saturating_sub(sent)));
        self.span.push(milliseconds(last.saturating_sub(first)));
        self.server_us.push(server_us / pushes);
        self.load_us.push(load_us / pushes);
        self.bytes = tally.bytes() / tally.pushes().max(1);
    }
}

pub(super) async fn run(chandler: &str, work: &Path) -> anyhow::Result<()> {
    let connections = setting("CONNECTIONS", CONNECTIONS);
    let pushes = connections * SECURITIES;
    let venue = venue()?;
    let day = days(&venue, 1)?.into_iter().flat_map(|day| regular(&day)).collect::<Vec<_>>();
    // Every other minute has a candle, so that a minute acts without the next one opening.
    let stamps: Vec<Timestamp> = day.into_iter().step_by(2).take(TURNS + 2).collect();
    let mut place = Place::new(chandler, work, "minute", None, &csv(0..SECURITIES, &stamps)?)?;
    let (first, stamps) = stamps.split_first().context("no minute")?;
    let server = place.start(Some(&Timestamp(first.0 + 90).to_string()))?;
    let all: Vec<String> = (0..SECURITIES).map(market::symbol).collect();
    let streams = place.subscribers(&server, connections, |_| all.clone()).await?;
    let tally = Tally::new();
    let readers = Readers::start(streams, Speaks::WebSocket, &tally);
    let mut operator = Operator(Some(HttpClient::connect(server.http(), place.operator())?));

    let redis = Redis::start()?;
    let redis_tally = Tally::new();
    let mut others = None;
    if let Some(redis) = &redis {
        let mut streams = Vec::with_capacity(connections);
        for _ in 0..connections {
            streams.push(redis.subscriber(&all).await?);
        }
        others = Some(Readers::start(streams, Speaks::Redis, &redis_tally));
    }
    let mut publisher: Option<Publisher> = None;
    let numbers: Vec<usize> = (0..SECURITIES).collect();
    let (mut ours, mut theirs) = (Turns::default(), Turns::default());
    for (turn, stamp) in stamps.iter().enumerate().take(TURNS + 1) {
        // The minute opens, which is as many pushes, and then acts.
        tally.reset();
        operator.step(Timestamp(stamp.0 + 30)).await?;
        tally.wait_for(pushes).await?;
        tally.reset();
        let (sent, server_us, load_us) =
            (tally.began.elapsed(), server.processor_us()?, processor_us(std::process::id())?);
        operator.step(Timestamp(stamp.0 + 90)).await?;
        tally.wait_for(pushes).await?;
        if turn > 0 {
            let load_us = processor_us(std::process::id())? - load_us;
            ours.push(&tally, sent, server.processor_us()? - server_us, load_us);
        }
        let Some(redis) = &redis else { continue };
        let mut connected = match publisher.take() {
            Some(publisher) => publisher,
            None => redis.publisher(tally.example()?)?,
        };
        redis_tally.reset();
        let (sent, server_us, load_us) =
            (redis_tally.began.elapsed(), redis.processor_us()?, processor_us(std::process::id())?);
        let symbols = numbers.clone();
        let published =
            tokio::task::spawn_blocking(move || connected.publish(turn, &symbols).map(|()| connected));
        publisher = Some(published.await??);
        redis_tally.wait_for(pushes).await?;
        if turn > 0 {
            let load_us = processor_us(std::process::id())? - load_us;
            theirs.push(&redis_tally, sent, redis.processor_us()? - server_us, load_us);
        }
    }
    readers.close().await?;
    if let Some(others) = others {
        others.close().await?;
    }
    ensure!(ours.all.len() == TURNS, "{} turns", ours.all.len());
    print(&ours, &theirs, (connections, pushes))
}

#[expect(clippy::print_stdout, reason = "the table")]
fn print(ours: &Turns, theirs: &Turns, (connections, pushes): (usize, usize)) -> anyhow::Result<()> {
    println!(
        "| {connections} connections, {SECURITIES} securities, {pushes} pushes | bytes each | ms from request to last push: median (least to most) \
         | goal | from first push: median (least to most) | of the throughput of Redis | goal \
         | processor us a push: server, load | measured |\n|---|---|---|---|---|---|---|---|---|"
    );
    let ratios = Spread::of(theirs.all.iter().zip(&ours.all).map(|(theirs, ours)| 100.0 * theirs / ours));
    for (name, turns, is_ours) in [("chandler", ours, true), ("Redis", theirs, false)] {
        if turns.all.is_empty() {
            continue;
        }
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        let (all, span) = (spread(&turns.all), spread(&turns.span));
        let goal = milliseconds(GOAL);
        let goal = format!("{goal:.0}: {}", verdict(all.median <= goal));
        let ratio = format!("{:.0} % ({:.0} to {:.0})", ratios.median, ratios.least, ratios.most);
        let ratio_goal = format!("100 %: {}", verdict(ratios.median >= 100.0));
        let has_ratio = is_ours && !theirs.all.is_empty();
        println!(
            "| {name} | {} | {:.0} ({:.0} to {:.0}) | {} | {:.0} ({:.0} to {:.0}) | {} | {} | {:.2}, {:.2} | {} |",
            turns.bytes,
            all.median,
            all.least,
            all.most,
            if is_ours { goal } else { String::new() },
            span.median,
            span.least,
            span.most,
            if has_ratio { ratio } else { String::new() },
            if has_ratio { ratio_goal } else { String::new() },
            spread(&turns.server_us).median,
            spread(&turns.load_us).median,
            now()?
        );
    }
    Ok(())
}

/// Moves the clock. The client is on a blocking thread while it waits.
struct Operator(Option<HttpClient>);

impl Operator {
    async fn step(&mut self, to: Timestamp) -> anyhow::Result<()> {
        let mut client = self.0.take().context("no client")?;
        let body = json!({"now": to.0}).to_string();
        let stepped =
            tokio::task::spawn_blocking(move || client.ask("POST", "/v1/admin/clock", &body).map(|_| client));
        self.0 = Some(stepped.await??);
        Ok(())
    }
}
