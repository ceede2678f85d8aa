//! 10,000 connections with ten securities each, while a thousand candle updates arrive in a second.
//! Then the same through Redis.

use std::path::Path;
use std::time::{Duration, Instant};

use super::feeder::{Delays, Feeder, Plan, Sent};
use super::market::{self, csv, days, regular, venue};
use super::place::{Place, ten_of};
use super::readers::{Readers, Speaks, Tally};
use super::redis::Redis;
use super::{milliseconds, setting, verdict};
use crate::contest::now;
use crate::server::processor_us;

const CONNECTIONS: usize = 10_000;
const SECURITIES: usize = 1_000;
/// Batches in a second; each has the updates of a tenth of the securities.
const BATCHES: usize = 10;
const SECONDS: usize = 20;
const WARM_UP: Duration = Duration::from_secs(3);
const DELAY_GOAL: Duration = Duration::from_millis(100);
const MEMORY_GOAL: usize = 20_000;

/// What was measured.
struct Measured {
    name: String,
    pushes_a_second: f64,
    delays: Delays,
    server_us: f64,
    load_us: f64,
    /// Bytes of memory for each connection: after the subscriptions, and at the end.
    memory: Option<(usize, usize)>,
}

pub(super) async fn run(chandler: &str, work: &Path) -> anyhow::Result<()> {
    let connections = setting("CONNECTIONS", CONNECTIONS);
    let venue = venue()?;
    market::ensure_open(&venue)?;
    let day = days(&venue, 1)?.into_iter().flat_map(|day| regular(&day)).take(5).collect::<Vec<_>>();
    let mut place = Place::new(chandler, work, "fanout", None, &csv(0..SECURITIES, &day)?)?;
    let (ours, example) = {
        let server = place.start(None)?;
        place.subscribers(&server, 1, |_| vec![market::symbol(0)]).await?;
        let before = server.memory()?;
        let streams = place.subscribers(&server, connections, |of| ten_of(SECURITIES, of)).await?;
        let subscribed = server.memory()?;
        let tally = Tally::new();
        let readers = Readers::start(streams, Speaks::WebSocket, &tally);
        let feeder = Feeder::start(server.http(), place.operator(), plan(), tally.began);
        let run = Run::start(&tally, || server.processor_us()).await?;
        let mut measured = run.end(&tally, format!("chandler, {connections} connections")).await?;
        let sent = feeder.stop()?;
        let each = |memory: usize| memory.saturating_sub(before) / connections;
        measured.memory = Some((each(subscribed), each(server.memory()?)));
        measured.delays = Delays::of(&sent, tally.arrived().iter(), run.from);
        readers.close().await?;
        (measured, tally.example()?)
    };
    head();
    line(&ours)?;
    if let Some(redis) = Redis::start()? {
        let mut streams = Vec::with_capacity(connections);
        for of in 0..connections {
            streams.push(redis.subscriber(&ten_of(SECURITIES, of)).await?);
        }
        let tally = Tally::new();
        let readers = Readers::start(streams, Speaks::Redis, &tally);
        let mut publisher = redis.publisher(example)?;
        let (began, plan) = (tally.began, plan());
        let publishing = std::thread::spawn(move || {
            let (mut due, mut all) = (Instant::now(), Vec::new());
            for batch in 0..SECONDS * BATCHES {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                due += plan.every;
                let sent = began.elapsed();
                publisher.publish(batch, plan.groups.get(batch % BATCHES).map_or(&[], Vec::as_slice))?;
                all.push(Sent { batch, sent, acknowledged: began.elapsed() });
            }
            anyhow::Ok(all)
        });
        let run = Run::start(&tally, || redis.processor_us()).await?;
        let mut measured = run.end(&tally, format!("Redis, {connections} connections")).await?;
        let sent = publishing.join().map_err(|_| anyhow::anyhow!("the publisher has panicked"))??;
        measured.delays = Delays::of(&sent, tally.arrived().iter(), run.from);
        readers.close().await?;
        line(&measured)?;
    }
    Ok(())
}

fn plan() -> Plan {
    let groups = (0..BATCHES).map(|group| (group..SECURITIES).step_by(BATCHES).collect());
    let every = Duration::from_secs(1) / BATCHES as u32;
    Plan { source: "fanout".to_owned(), groups: groups.collect(), every, first: 0 }
}

/// The time after the warm-up.
struct Run<P: Fn() -> anyhow::Result<f64>> {
    processor: P,
    server_us: f64,
    load_us: f64,
    from: Duration,
    pushes: usize,
}

impl<P: Fn() -> anyhow::Result<f64>> Run<P> {
    async fn start(tally: &Tally, processor: P) -> anyhow::Result<Run<P>> {
        tokio::time::sleep(WARM_UP).await;
        let (server_us, load_us) = (processor()?, processor_us(std::process::id())?);
        Ok(Run { processor, server_us, load_us, from: tally.began.elapsed(), pushes: tally.pushes() })
    }

    async fn end(&self, tally: &Tally, name: String) -> anyhow::Result<Measured> {
        tokio::time::sleep(Duration::from_secs(SECONDS as u64) - WARM_UP).await;
        let seconds = (tally.began.elapsed() - self.from).as_secs_f64();
        let pushes = (tally.pushes() - self.pushes) as f64;
        let measured = Measured {
            name,
            pushes_a_second: pushes / seconds,
            delays: Delays::default(),
            server_us: ((self.processor)()? - self.server_us) / pushes.max(1.0),
            load_us: (processor_us(std::process::id())? - self.load_us) / pushes.max(1.0),
            memory: None,
        };
        // What is on its way.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(measured)
    }
}

#[expect(clippy::print_stdout, reason = "the table")]
fn head() {
    println!(
        "| {} updates a second | pushes a second | ms from acknowledgement to push: p50, p99 | goal p99 | from request: p50, p99 \
         | processor us a push: server, load | bytes a connection: subscribed, at the end | goal | measured |\n|---|---|---|---|---|---|---|---|---|",
        SECURITIES
    );
}

#[expect(clippy::print_stdout, reason = "the table")]
fn line(measured: &Measured) -> anyhow::Result<()> {
    let Measured { name, pushes_a_second, delays, server_us, load_us, memory } = measured;
    let [p50, p99] = [50, 99].map(|percent| delays.since_acknowledged.at(percent) * 1e3);
    let [sent_p50, sent_p99] = [50, 99].map(|percent| delays.since_sent.at(percent) * 1e3);
    let delay_goal = memory.map_or(String::new(), |_| {
        let goal = milliseconds(DELAY_GOAL);
        format!("{goal:.0}: {}", verdict(p99 <= goal))
    });
    let (memory, memory_goal) = memory.map_or((String::new(), String::new()), |(subscribed, end)| {
        (format!("{subscribed}, {end}"), format!("{MEMORY_GOAL}: {}", verdict(end <= MEMORY_GOAL)))
    });
    println!(
        "| {name} | {pushes_a_second:.0} | {p50:.1}, {p99:.1} | {delay_goal} | {sent_p50:.1}, {sent_p99:.1} \
         | {server_us:.1}, {load_us:.1} | {memory} | {memory_goal} | {} |",
        now()?
    );
    Ok(())
}
