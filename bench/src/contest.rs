//! Servers take turns: each is queried for a moment, then the next, and a turn is compared with the
//! first server's turn of the same round. The machine may be shared, and its speed varies.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use market::Timestamp;

use crate::load::{self, Run};
use crate::server::Server;

/// How long a turn lasts, and how many turns each server has.
pub(crate) const TURN: Duration = Duration::from_millis(500);
const ROUNDS: usize = 9;

pub(crate) type Frames = Arc<Vec<Vec<u8>>>;

/// A server in the table, and the results of its turns.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'a str,
    pub(crate) server: &'a Server,
    /// In percent of the first; `None` for the first itself and for servers without a goal.
    goal: Option<f64>,
    runs: Vec<Run>,
    /// Processor time of the server for all its turns, in microseconds.
    processor_us: f64,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'a str, server: &'a Server, goal: Option<f64>) -> Contender<'a> {
        Contender { name, server, goal, runs: Vec::new(), processor_us: 0.0 }
    }
}

/// Runs the turns of all servers with this many connections, every other round in the opposite
/// order, and prints their lines.
pub(crate) async fn turns(
    all: &mut [Contender<'_>],
    connections: usize,
    frames: &Frames,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut sockets = Vec::new();
    for contender in &*all {
        let mut of_one = Vec::with_capacity(connections);
        for _ in 0..connections {
            of_one.push(contender.server.connect().await?);
        }
        // The first pass fills caches.
        load::run(&mut of_one, frames, TURN).await?;
        sockets.push(of_one);
    }
    let began = now()?;
    for round in 0..ROUNDS {
        let mut pairs: Vec<_> = all.iter_mut().zip(&mut sockets).collect();
        if round % 2 == 1 {
            pairs.reverse();
        }
        for (contender, sockets) in pairs {
            let before = contender.server.processor_us()?;
            contender.runs.push(load::run(sockets, frames, TURN).await?);
            contender.processor_us += contender.server.processor_us()? - before;
        }
    }
    let when = format!("{began} to {}", now()?);
    let first: Vec<f64> =
        all.first().context("no server to measure")?.runs.iter().map(|run| run.per_second).collect();
    for contender in all.iter() {
        line(contender, connections, &first, &when, out)?;
    }
    Ok(())
}

pub(crate) fn head(against: &str, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "| 1000 candles over WebSocket | connections | bytes | answers a second: median (least to most) | p50 us | p99 us \
         | of {against}: median (least to most) | goal | processor us of the server for each | measured |"
    )?;
    Ok(writeln!(out, "|---|---|---|---|---|---|---|---|---|---|")?)
}

fn line(
    contender: &Contender<'_>,
    connections: usize,
    first: &[f64],
    when: &str,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Contender { name, goal, runs, .. } = contender;
    let of = |value: fn(&Run) -> f64| Spread::of(runs.iter().map(value));
    let per_second = of(|run| run.per_second);
    let share = Spread::of(runs.iter().zip(first).map(|(run, first)| 100.0 * run.per_second / first));
    let verdict = match goal {
        None => String::new(),
        Some(goal) => format!("{goal} %: {}", if share.median >= *goal { "met" } else { "missed" }),
    };
    writeln!(
        out,
        "| {name} | {connections} | {} | {:.0} ({:.0} to {:.0}) | {:.0} | {:.0} | {:.1} % ({:.0} to {:.0}) | {verdict} | {:.1} | {when} |",
        runs.first().map_or(0, |run| run.bytes),
        per_second.median,
        per_second.least,
        per_second.most,
        of(|run| run.p50_us).median,
        of(|run| run.p99_us).median,
        share.median,
        share.least,
        share.most,
        contender.processor_us / runs.iter().map(|run| run.answers as f64).sum::<f64>().max(1.0),
    )?;
    Ok(out.flush()?)
}

/// The minimum, median and maximum of single turns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or_default();
        Spread { least: at(0), median: at(values.len() / 2), most: at(values.len().saturating_sub(1)) }
    }
}

pub(crate) fn now() -> anyhow::Result<Timestamp> {
    #[expect(clippy::disallowed_methods, reason = "a table says when it was measured")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Timestamp(i64::try_from(since.as_secs())?))
}
