//! The server over WebSockets, beside the floor in the same run.
//!
//! `bench serve CHANDLER STORE` starts servers on loopback, asks them, prints tables and stops them.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use prost::Message;
use serde_json::Value;
use store::{Access, Lane, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wire::{Packet, control, quote};

use crate::load::{self, Run, Socket};
use crate::sample::Random;

/// How long each measurement lasts, and how often it is repeated; the best is reported, because the machine may be shared.
const LENGTH: Duration = Duration::from_millis(1500);
const ROUNDS: usize = 3;
const CONNECTIONS: [usize; 3] = [1, 16, 256];
/// Securities and windows of the working set.
const SYMBOLS: usize = 40;
const WINDOWS: usize = 5;
/// Idle connections, and how many one account may have.
const IDLE: usize = 10_000;
const PER_ACCOUNT: usize = 1_000;
/// The bench stands still on a Sunday.
const CLOCK: &str = "2026-11-15T02:00:00Z";

/// A server process; dropping it ends it.
struct Server {
    child: Child,
    http: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    fn start(chandler: &str, store: &str, cache_mb: usize) -> anyhow::Result<Server> {
        let config = Path::new(store).join(format!("bench-{cache_mb}.toml"));
        std::fs::write(&config, format!("[server]\ncache_mb = {cache_mb}\n"))?;
        let mut command = Command::new(chandler);
        command
            .args(["--store", &format!("sqlite:{store}"), "--clock", CLOCK, "serve"])
            .args(["--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--config"])
            .arg(&config);
        Server::spawn(&mut command)
    }

    /// One of the floors, as a process like the others.
    fn floor(kind: &str) -> anyhow::Result<Server> {
        Server::spawn(Command::new(std::env::current_exe()?).args(["floor", kind]))
    }

    fn spawn(command: &mut Command) -> anyhow::Result<Server> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).with_context(|| format!("not ready: {line:?}"))?;
        let http = ready.get("http").and_then(Value::as_str).context("no address")?.parse()?;
        Ok(Server { child, http })
    }

    /// Resident memory in bytes.
    fn memory(&self) -> anyhow::Result<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: usize = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024)
    }

    async fn signed_in(&self, token: &str) -> anyhow::Result<Socket> {
        let otp = one_time_password(self.http, token).await?;
        let mut socket = Socket::open(self.http).await?;
        let auth =
            control::AuthRequest { token: otp, metadata: [("accept-language".into(), "en".into())].into() };
        let answer = socket.ask(&load::frame(&request(2, &auth)?)).await?;
        ensure!(answer.get(6) == Some(&0), "sign-in: {}", String::from_utf8_lossy(answer));
        Ok(socket)
    }
}

pub(crate) fn run(chandler: &str, store: &str) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(measure(chandler, store))
}

async fn measure(chandler: &str, store: &str) -> anyhow::Result<()> {
    let tokens = (0..IDLE / PER_ACCOUNT)
        .map(|number| account(chandler, store, number))
        .collect::<Result<Vec<_>, _>>()?;
    let token = tokens.first().context("no account")?;
    let frames = Arc::new(questions(Path::new(store))?);
    let mut out = std::io::stdout().lock();
    let mut rows: Vec<(&str, Vec<Run>)> = vec![
        ("floor, own framing", vec![Run::default(); CONNECTIONS.len()]),
        ("floor, fastwebsockets", vec![Run::default(); CONNECTIONS.len()]),
        ("chandler, cached", vec![Run::default(); CONNECTIONS.len()]),
        ("chandler, nothing cached", vec![Run::default(); CONNECTIONS.len()]),
    ];
    let servers = [
        Server::floor("own")?,
        Server::floor("fastwebsockets")?,
        Server::start(chandler, store, 512)?,
        Server::start(chandler, store, 0)?,
    ];
    // Rounds of all four lie apart, so that a busy second of the machine spoils one and not all.
    for _ in 0..ROUNDS {
        for (column, connections) in CONNECTIONS.into_iter().enumerate() {
            for (row, ((_, runs), server)) in rows.iter_mut().zip(&servers).enumerate() {
                let mut sockets = Vec::with_capacity(connections);
                for _ in 0..connections {
                    let is_floor = row < 2;
                    sockets.push(if is_floor {
                        Socket::open(server.http).await?
                    } else {
                        server.signed_in(token).await?
                    });
                }
                // The first pass fills what is to be filled.
                load::run(&mut sockets, &frames, LENGTH / 3).await?;
                let run = load::run(&mut sockets, &frames, LENGTH).await?;
                if let Some(best) = runs.get_mut(column).filter(|best| run.per_second > best.per_second) {
                    *best = run;
                }
            }
        }
    }
    writeln!(
        out,
        "| 1000 candles over WebSocket | bytes | 1 connection: p50 us | req/s | 16: req/s | p50 us | 256: req/s | p50 us |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for (name, runs) in &rows {
        write!(out, "| {name} | {} ", runs.first().map_or(0, |run| run.bytes))?;
        if let [one, sixteen, many] = runs.as_slice() {
            write!(
                out,
                "| {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} ",
                one.p50_us, one.per_second, sixteen.per_second, sixteen.p50_us, many.per_second, many.p50_us
            )?;
        }
        writeln!(out, "|")?;
    }
    let best = |column: usize| {
        rows.iter()
            .take(2)
            .filter_map(|(_, runs)| runs.get(column))
            .map(|run| run.per_second)
            .fold(0.0, f64::max)
    };
    let quickest = rows
        .iter()
        .take(2)
        .filter_map(|(_, runs)| runs.first())
        .map(|run| run.p50_us)
        .fold(f64::MAX, f64::min);
    let of = |row: usize, column: usize| {
        rows.get(row).and_then(|(_, runs)| runs.get(column)).copied().unwrap_or_default()
    };
    writeln!(out)?;
    writeln!(out, "| beside the floor | measured | target |")?;
    writeln!(out, "|---|---|---|")?;
    writeln!(
        out,
        "| cached, 16 connections, req/s | {:.0} % | 50 % |",
        100.0 * of(2, 1).per_second / best(1)
    )?;
    writeln!(
        out,
        "| cached, 256 connections, req/s | {:.0} % | 50 % |",
        100.0 * of(2, 2).per_second / best(2)
    )?;
    writeln!(
        out,
        "| nothing cached, 16 connections, req/s | {:.1} % | 12.5 % |",
        100.0 * of(3, 1).per_second / best(1)
    )?;
    writeln!(out, "| cached, 1 connection, p50 | {:.2} times | 2 times |", of(2, 0).p50_us / quickest)?;
    drop(servers);

    let server = Server::start(chandler, store, 64)?;
    server.signed_in(token).await?;
    let before = server.memory()?;
    let mut idle = Vec::with_capacity(IDLE);
    for token in &tokens {
        for _ in 0..PER_ACCOUNT {
            idle.push(server.signed_in(token).await?);
        }
    }
    let each = server.memory()?.saturating_sub(before) / IDLE;
    writeln!(out, "| memory of {IDLE} idle signed-in connections, bytes each | {each} | 10,000 |")?;
    Ok(())
}

/// Makes an account, and answers its token. A store that has been measured before has it already under another number.
fn account(chandler: &str, store: &str, number: usize) -> anyhow::Result<String> {
    let name = format!("bench-{}-{number}", std::process::id());
    let output = Command::new(chandler)
        .args(["--store", &format!("sqlite:{store}"), "account", "create", &name])
        .args(["--rate", "unlimited", "--quota", "100000", "--connections", "1000", "--format", "json"])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let created: Value = serde_json::from_slice(&output.stdout)?;
    Ok(created.get("access_token").and_then(Value::as_str).context("no token")?.to_owned())
}

async fn one_time_password(http: SocketAddr, token: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(http).await?;
    let request = format!(
        "GET /v1/socket/token HTTP/1.1\r\nhost: bench\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let body = answer.split_once("\r\n\r\n").context("no body")?.1;
    let answer: Value = serde_json::from_str(body).with_context(|| answer.clone())?;
    let otp = answer.pointer("/data/otp").and_then(Value::as_str);
    Ok(otp.with_context(|| answer.to_string())?.to_owned())
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

fn request(command: u8, body: &impl Message) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let body = body.encode_to_vec().into();
    Packet::Request { command, id: 1, timeout_ms: 30_000, body }.encode(&mut bytes)?;
    Ok(bytes)
}
