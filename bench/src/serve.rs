//! The server over WebSockets, in turn with the floor.
//!
//! `bench serve CHANDLER STORE` starts servers on loopback, asks them in short turns, prints tables and stops them. With numbers of
//! connections behind it, only those are measured, and nothing but cached answers; with `beside=OTHER` another executable takes its
//! turns among them; with `questions=N` only so many different ones are asked, whose answers a processor may have in its cache.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use market::Timestamp;
use store::{Access, Lane, Store};
use wire::quote;

use crate::load::{self, Run};
use crate::sample::Random;
use crate::server::{PER_ACCOUNT, Server, account, request};

/// How long a turn lasts, and how many turns each server has. The machine may be shared, and runs now quicker, now slower: a turn is
/// compared with the floor's turn beside it, and the median of all is what is told.
const TURN: Duration = Duration::from_millis(500);
const ROUNDS: usize = 9;
/// Connections, and the part of the floor that cached answers are to reach with them.
const CONNECTIONS: [(usize, f64); 3] = [(1, 50.0), (16, 70.0), (256, 50.0)];
/// The same where nothing is cached.
const UNCACHED: (usize, f64) = (16, 12.5);
const CACHE_MB: usize = 512;
/// Securities and windows of the working set.
const SYMBOLS: usize = 40;
const WINDOWS: usize = 5;
/// Connections that are left alone.
const IDLE: usize = 10_000;

/// A server in the table, and what its turns came to.
struct Contender<'a> {
    name: &'a str,
    server: &'a Server,
    /// In percent of the floor; none for the floor itself and for what is shown beside.
    goal: Option<f64>,
    runs: Vec<Run>,
    /// Processor time that the server took for them all, in microseconds.
    processor_us: f64,
}

impl<'a> Contender<'a> {
    fn new(name: &'a str, server: &'a Server, goal: Option<f64>) -> Contender<'a> {
        Contender { name, server, goal, runs: Vec::new(), processor_us: 0.0 }
    }
}

type Frames = Arc<Vec<Vec<u8>>>;

pub(crate) fn run(chandler: &str, store: &str, options: &[&str]) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(measure(chandler, store, options))
}

async fn measure(chandler: &str, store: &str, options: &[&str]) -> anyhow::Result<()> {
    let token = account(chandler, store, 0)?;
    let mut frames = questions(Path::new(store))?;
    if let Some(count) = options.iter().find_map(|option| option.strip_prefix("questions=")) {
        frames.truncate(count.parse::<usize>()?.max(1));
    }
    let frames: Frames = Arc::new(frames);
    let cached = Server::start(chandler, store, CACHE_MB, &token)?;
    let others = options.iter().filter_map(|option| option.strip_prefix("beside="));
    let others = others.map(|other| Ok((other, Server::start(other, store, CACHE_MB, &token)?)));
    let others = others.collect::<anyhow::Result<Vec<_>>>()?;
    let counts = options.iter().filter(|option| !option.contains('=')).map(|count| Ok(count.parse()?));
    let counts = counts.collect::<anyhow::Result<Vec<usize>>>()?;

    let bytes = load::run(&mut vec![cached.connect().await?], &frames, TURN).await?.bytes;
    let floor = Server::floor(bytes, 1)?;
    let spread = Server::floor(bytes, frames.len())?;
    let mut out = std::io::stdout().lock();
    head(&mut out)?;
    let all_counts = CONNECTIONS.map(|(connections, _)| connections);
    let wanted: &[usize] = if counts.is_empty() { &all_counts } else { &counts };
    for &connections in wanted {
        let of_goal = CONNECTIONS.iter().find(|(of, _)| *of == connections);
        let mut all = vec![
            Contender::new("floor", &floor, None),
            Contender::new("floor with as many answers", &spread, None),
            Contender::new("chandler, cached", &cached, of_goal.map(|(_, goal)| *goal)),
        ];
        all.extend(others.iter().map(|(name, server)| Contender::new(name, server, None)));
        turns(&mut all, connections, &frames, &mut out).await?;
    }
    if !counts.is_empty() {
        return Ok(());
    }
    drop(cached);
    let uncached = Server::start(chandler, store, 0, &token)?;
    let (connections, goal) = UNCACHED;
    let mut all = [
        Contender::new("floor", &floor, None),
        Contender::new("chandler, nothing cached", &uncached, Some(goal)),
    ];
    turns(&mut all, connections, &frames, &mut out).await?;
    drop((uncached, floor, spread));
    idle(chandler, store, &mut out).await
}

/// Lets all have their turns with so many connections, every other round in the opposite order, and prints their lines.
async fn turns(
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
        // The first pass fills what is to be filled.
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
    let floor: Vec<f64> = all.first().context("no floor")?.runs.iter().map(|run| run.per_second).collect();
    for contender in all.iter() {
        line(contender, connections, &floor, &when, out)?;
    }
    Ok(())
}

fn head(out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "| 1000 candles over WebSocket | connections | bytes | answers a second: median (least to most) | p50 us | p99 us \
         | of the floor: median (least to most) | goal | processor us of the server for each | measured |"
    )?;
    Ok(writeln!(out, "|---|---|---|---|---|---|---|---|---|---|")?)
}

fn line(
    contender: &Contender<'_>,
    connections: usize,
    floor: &[f64],
    when: &str,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Contender { name, goal, runs, .. } = contender;
    let of = |value: fn(&Run) -> f64| Spread::of(runs.iter().map(value));
    let per_second = of(|run| run.per_second);
    let share = Spread::of(runs.iter().zip(floor).map(|(run, floor)| 100.0 * run.per_second / floor));
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

/// What single turns lie between, and in the middle of.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or_default();
        Spread { least: at(0), median: at(values.len() / 2), most: at(values.len().saturating_sub(1)) }
    }
}

/// Memory of connections on which nothing happens.
async fn idle(chandler: &str, store: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let tokens = (1..=IDLE / PER_ACCOUNT).map(|number| account(chandler, store, number));
    let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
    let server = Server::start(chandler, store, 64, tokens.first().context("no account")?)?;
    server.connect().await?;
    let before = server.memory()?;
    let mut idle = Vec::with_capacity(IDLE);
    for token in &tokens {
        for _ in 0..PER_ACCOUNT {
            idle.push(server.signed_in(token).await?);
        }
    }
    let each = server.memory()?.saturating_sub(before) / IDLE;
    let verdict = if each <= 10_000 { "met" } else { "missed" };
    writeln!(
        out,
        "\n| idle signed-in connections | bytes of memory each | goal | measured |\n|---|---|---|---|"
    )?;
    Ok(writeln!(out, "| {IDLE} | {each} | 10,000: {verdict} | {} |", now()?)?)
}

fn now() -> anyhow::Result<Timestamp> {
    #[expect(clippy::disallowed_methods, reason = "a table says when it was measured")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Timestamp(i64::try_from(since.as_secs())?))
}

/// A thousand one-minute candles up to random stamps of the first securities that have so many.
fn questions(store: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let store = Store::open(store, Access::Read)?;
    let mut reader = store.reader()?;
    let series = reader.snapshot()?.all_series()?;
    let wanted = |info: &&store::SeriesInfo| {
        info.series.grain == market::Grain::Minute && info.series.lane == Lane::Regular && info.rows > 50_000
    };
    let mut random = Random::new(7);
    let mut frames = Vec::new();
    for info in series.iter().filter(wanted).take(SYMBOLS) {
        for _ in 0..WINDOWS {
            let later = usize::try_from(info.last.0 - info.first.0)? / 4;
            let at = market::Timestamp(info.last.0 - i64::try_from(random.below(later * 3))?);
            let zone = market::Zone::of(info.series.symbol.market());
            let (date, seconds) = zone.local(at);
            let question = quote::SecurityHistoryCandlestickRequest {
                symbol: info.series.symbol.as_str().to_owned(),
                period: 1,
                query_type: 1,
                offset_request: Some(quote::OffsetRequest {
                    direction: 0,
                    date: date.strftime("%Y%m%d").to_string(),
                    minute: format!("{:02}{:02}", seconds / 3600, seconds / 60 % 60),
                    count: 1000,
                }),
                ..Default::default()
            };
            frames.push(load::frame(&request(27, &question)?));
        }
    }
    ensure!(!frames.is_empty(), "no security has minutes enough");
    Ok(frames)
}
