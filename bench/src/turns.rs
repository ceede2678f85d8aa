//! Servers of any executable on any store, described by a file, compared with the first of them.
//!
//! `bench turns PLAN` queries them in turn for cached answers; `bench first PLAN` starts each
//! several times, and sends one query for each security: how long it takes until a server is ready,
//! and how long an uncached answer takes. `before.py` and `postgres.py` write the plan.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::contest::{Contender, Frames, Spread, head, now, turns};
use crate::serve::questions;
use crate::server::{CLOCK, Launch, Server, account};

/// How often each server is started for its first answers, not counting the start that charges the
/// quota.
const STARTS: usize = 5;
/// Frames of a security; the first of them is its first query.
const OF_SECURITY: usize = crate::serve::WINDOWS;

/// What to measure.
#[derive(Debug, Deserialize)]
struct Plan {
    /// A folder with the same candles in SQLite, from which the queries are built.
    questions: PathBuf,
    /// A folder for files of the servers.
    work: PathBuf,
    connections: Vec<usize>,
    cache_mb: usize,
    servers: Vec<Entry>,
}

/// One server. The others are compared with the first.
#[derive(Debug, Deserialize)]
struct Entry {
    name: String,
    executable: String,
    /// As `--store` takes it.
    store: String,
    /// More arguments of `serve`.
    #[serde(default)]
    arguments: Vec<String>,
    /// A folder that is emptied before each first answer: a node's local copy.
    copy: Option<PathBuf>,
    /// In percent of the first server's answers a second.
    goal: Option<f64>,
}

impl Plan {
    fn read(path: &Path) -> anyhow::Result<Plan> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let plan: Plan = serde_json::from_str(&text)?;
        ensure!(!plan.servers.is_empty(), "no server to measure");
        std::fs::create_dir_all(&plan.work)?;
        Ok(plan)
    }

    fn start(&self, entry: &Entry, token: &str) -> anyhow::Result<Server> {
        Server::launch(
            &Launch {
                executable: &entry.executable,
                store: &entry.store,
                folder: &self.work,
                cache_mb: self.cache_mb,
                arguments: &entry.arguments,
                clock: Some(CLOCK),
            },
            token,
        )
    }

    /// An account for each store, with its token; servers on one store share theirs.
    fn tokens(&self) -> anyhow::Result<Vec<String>> {
        let mut known: Vec<(&str, String)> = Vec::new();
        for entry in &self.servers {
            if !known.iter().any(|(store, _)| *store == entry.store) {
                known.push((&entry.store, account(&entry.executable, &entry.store, 0)?));
            }
        }
        let token = |entry: &Entry| {
            known
                .iter()
                .find(|(store, _)| *store == entry.store)
                .map(|(_, token)| token.clone())
                .unwrap_or_default()
        };
        Ok(self.servers.iter().map(token).collect())
    }
}

pub(crate) fn run(plan: &Path) -> anyhow::Result<()> {
    runtime()?.block_on(take_turns(&Plan::read(plan)?))
}

pub(crate) fn first(plan: &Path) -> anyhow::Result<()> {
    runtime()?.block_on(first_answers(&Plan::read(plan)?))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

async fn take_turns(plan: &Plan) -> anyhow::Result<()> {
    let frames: Frames = Arc::new(questions(&plan.questions)?);
    let servers = plan.servers.iter().zip(plan.tokens()?).map(|(entry, token)| plan.start(entry, &token));
    let servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
    let mut out = std::io::stdout().lock();
    head("the first", &mut out)?;
    for &connections in &plan.connections {
        let entries = plan.servers.iter().zip(&servers);
        let mut all: Vec<Contender<'_>> =
            entries.map(|(entry, server)| Contender::new(&entry.name, server, entry.goal)).collect();
        turns(&mut all, connections, &frames, &mut out).await?;
    }
    Ok(())
}

/// The result of one server start, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    ready: f64,
    p50: f64,
    worst: f64,
}

async fn first_answers(plan: &Plan) -> anyhow::Result<()> {
    let frames: Vec<Vec<u8>> = questions(&plan.questions)?.into_iter().step_by(OF_SECURITY).collect();
    let tokens = plan.tokens()?;
    let mut starts: Vec<Vec<Start>> = vec![Vec::new(); plan.servers.len()];
    let began = now()?;
    for round in 0..=STARTS {
        let mut places: Vec<usize> = (0..plan.servers.len()).collect();
        if round % 2 == 1 {
            places.reverse();
        }
        for place in places {
            let (entry, token) =
                (plan.servers.get(place).context("no server")?, tokens.get(place).context("no token")?);
            let start = one_start(plan, entry, token, &frames).await?;
            // The first start charges the quota, which is on disk before the answer is sent.
            if let Some(starts) = starts.get_mut(place)
                && round > 0
            {
                starts.push(start);
            }
        }
    }
    let mut out = std::io::stdout().lock();
    let securities = frames.len();
    writeln!(
        out,
        "| first answers of {securities} securities | ready after ms: median (least to most) | first answer, p50 us: median (least to most) \
         | times the first server | worst us | measured |\n|---|---|---|---|---|---|"
    )?;
    let first = starts.first().cloned().unwrap_or_default();
    for (entry, starts) in plan.servers.iter().zip(&starts) {
        let ready = Spread::of(starts.iter().map(|start| start.ready / 1e3));
        let p50 = Spread::of(starts.iter().map(|start| start.p50));
        let times = Spread::of(starts.iter().zip(&first).map(|(start, first)| start.p50 / first.p50));
        let worst = Spread::of(starts.iter().map(|start| start.worst)).median;
        writeln!(
            out,
            "| {} | {:.0} ({:.0} to {:.0}) | {:.0} ({:.0} to {:.0}) | {:.2} ({:.2} to {:.2}) | {worst:.0} | {began} to {} |",
            entry.name,
            ready.median,
            ready.least,
            ready.most,
            p50.median,
            p50.least,
            p50.most,
            times.median,
            times.least,
            times.most,
            now()?,
        )?;
    }
    Ok(())
}

async fn one_start(plan: &Plan, entry: &Entry, token: &str, frames: &[Vec<u8>]) -> anyhow::Result<Start> {
    if let Some(copy) = &entry.copy
        && copy.exists()
    {
        std::fs::remove_dir_all(copy)?;
    }
    let began = Instant::now();
    let server = plan.start(entry, token)?;
    let ready = began.elapsed().as_secs_f64() * 1e6;
    let mut socket = server.connect().await?;
    let mut times = Vec::with_capacity(frames.len());
    for frame in frames {
        let began = Instant::now();
        let answer = socket.ask(frame).await?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
        ensure!(answer.get(6) == Some(&0), "refused: {}", String::from_utf8_lossy(answer));
    }
    times.sort_by(f64::total_cmp);
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    Ok(Start { ready, p50: at(times.len() / 2), worst: at(times.len().saturating_sub(1)) })
}
