//! The server over WebSockets, alternating with the floor.
//!
//! `bench serve CHANDLER STORE` starts servers on loopback, queries them in short turns, prints
//! tables and stops them. With numbers of connections as further arguments, only those are
//! measured, and only cached answers; with `beside=OTHER` another executable takes its turns among
//! them; with `questions=N` only N different queries are used, whose answers may fit the
//! processor's cache.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use store::{Access, Lane, Store};
use wire::quote;

use crate::contest::{Contender, Frames, TURN, head, now, turns};
use crate::load;
use crate::sample::Random;
use crate::server::{PER_ACCOUNT, Server, account, request};

/// Connections, and the percentage of the floor that cached answers are to reach with them.
const CONNECTIONS: [(usize, f64); 3] = [(1, 50.0), (16, 70.0), (256, 50.0)];
/// The same where nothing is cached.
const UNCACHED: (usize, f64) = (16, 12.5);
const CACHE_MB: usize = 512;
/// Securities and windows of the working set.
const SYMBOLS: usize = 40;
pub(crate) const WINDOWS: usize = 5;
/// Idle connections.
const IDLE: usize = 10_000;

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
    head("the floor", &mut out)?;
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

/// Memory of idle connections.
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

/// A thousand one-minute candles up to random stamps of the first securities with as many.
pub(crate) fn questions(store: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    questions_of(store, SYMBOLS, 50_000)
}

/// The same of securities with more than this number of rows.
pub(crate) fn questions_of(store: &Path, symbols: usize, rows: u64) -> anyhow::Result<Vec<Vec<u8>>> {
    let store = Store::open(store, Access::Read)?;
    let mut reader = store.reader()?;
    let series = reader.snapshot()?.all_series()?;
    let wanted = |info: &&store::SeriesInfo| {
        info.series.grain == market::Grain::Minute && info.series.lane == Lane::Regular && info.rows > rows
    };
    let mut random = Random::new(7);
    let mut frames = Vec::new();
    for info in series.iter().filter(wanted).take(symbols) {
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
