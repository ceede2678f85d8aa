//! Watchlists and the list of securities, over HTTP on loopback: 2,000 securities with overnight
//! hours, 100 of them followed. Then the inventory of 20,000 securities.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::paper::client::HttpClient;
use crate::paper::times::{Times, timed};
use crate::server::{self, Server};

const GROUPS: &str = "/v1/watchlist/groups";
/// The goal: half of the answers within this many seconds.
const GOAL: f64 = 0.001;
/// The goal for a screen of the inventory: the browser has to draw it within the same 0.3 seconds.
const SCREEN_GOAL: f64 = 0.1;
/// An evening in New York, before the clock of the bench.
const EVENING: i64 = 1_794_535_200;

/// The size of the data: full, or minimal for a test.
struct Size {
    securities: usize,
    /// In the store of the inventory.
    stored: usize,
    groups: usize,
    of_group: usize,
    questions: usize,
}

const FULL: Size = Size { securities: 2_000, stored: 20_000, groups: 5, of_group: 20, questions: 1_000 };
const TINY: Size = Size { securities: 10, stored: 300, groups: 2, of_group: 3, questions: 5 };

pub(crate) fn run(chandler: &str, work: &Path) -> anyhow::Result<()> {
    let size = if std::env::var_os("TINY").is_some() { TINY } else { FULL };
    watchlists(chandler, work, &size)?;
    inventory(chandler, work, &size)
}

/// An empty folder.
fn folder(work: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let dir = work.join(name);
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}

fn watchlists(chandler: &str, work: &Path, size: &Size) -> anyhow::Result<()> {
    let dir = folder(work, "lists")?;
    let store = dir.to_str().context("a path that is no text")?;
    import(chandler, store, &dir, size.securities)?;
    let token = server::account(chandler, store, 0)?;
    let server = Server::start(chandler, store, 64, &token)?;
    let mut client = HttpClient::connect(server.http(), &token)?;
    let group = follow(&mut client, size)?;
    let page = "/v1/quote/get_security_list?market=US&page=2&size=100";
    let list = "/v1/quote/get_security_list?market=US&category=Overnight";
    for (name, path) in [("watchlists", GROUPS), ("security list", list), ("page of the list", page)] {
        measure(&mut client, name, ("GET", path), &[String::new()], (size.questions, GOAL))?;
    }
    // Each is on disk when it is answered, so this measures the disk.
    let change = |mode: &str| json!({"id": group, "securities": ["T1.US"], "mode": mode}).to_string();
    let changes = [change("remove"), change("add")];
    measure(&mut client, "a change", ("PUT", GROUPS), &changes, (size.questions / 10, GOAL))
}

/// The inventory: the first screen, one far down, a search, and the worst coverage first, which is
/// requested until everything is compared.
fn inventory(chandler: &str, work: &Path, size: &Size) -> anyhow::Result<()> {
    let dir = folder(work, "inventory")?;
    let store = dir.to_str().context("a path that is no text")?;
    import(chandler, store, &dir, size.stored)?;
    let token = server::account(chandler, store, 0)?;
    let server = Server::start(chandler, store, 64, &token)?;
    let mut client = HttpClient::connect(server.http(), &token)?;
    let far = format!("/v1/inventory?limit=100&offset={}", size.stored / 2);
    let found = "/v1/inventory?limit=100&query=oil%20number%201";
    for (name, path) in [
        ("first screen", "/v1/inventory?limit=100"),
        ("a screen far down", far.as_str()),
        ("a search", found),
    ] {
        measure(&mut client, name, ("GET", path), &[String::new()], (size.questions / 10, SCREEN_GOAL))?;
    }
    let worst = "/v1/inventory?limit=100&order=worst";
    let (mut times, mut requests) = (Times::default(), 0_usize);
    loop {
        let (time, answer) = timed(|| client.ask("GET", worst, ""));
        let answer: Value = serde_json::from_str(&answer?)?;
        times.push(time);
        requests += 1;
        if answer.pointer("/data/uncounted").and_then(Value::as_u64).unwrap_or_default() == 0 {
            break;
        }
        ensure!(requests <= size.stored, "the worst are never known");
    }
    let [p50, most] = [times.median(), times.at(100)].map(|one| one * 1e3);
    writeln!(std::io::stdout().lock(), "the worst, compared in\t{requests} requests\t{p50:.3}\t{most:.3}")?;
    measure(
        &mut client,
        "the worst first",
        ("GET", worst),
        &[String::new()],
        (size.questions / 10, SCREEN_GOAL),
    )
}

fn symbol(number: usize) -> String {
    format!("T{number}.US")
}

/// Securities with three names, a day and a minute of overnight hours each.
fn import(chandler: &str, store: &str, dir: &Path, securities: usize) -> anyhow::Result<()> {
    let mut names = "symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,board\n".to_owned();
    let mut minutes = "symbol,time,open,high,low,close,volume\n".to_owned();
    let mut days = minutes.clone();
    for number in 1..=securities {
        let symbol = symbol(number);
        writeln!(names, "{symbol},Lamp oil number {number},灯油{number},燈油{number},NASD,USD,1,USMain")?;
        writeln!(minutes, "{symbol},{EVENING},10,10,10,10,100")?;
        writeln!(days, "{symbol},2026-11-12,10,11,9,10,1000")?;
    }
    for (name, text) in [("names.csv", names), ("minutes.csv", minutes), ("days.csv", days)] {
        let path = dir.join(name);
        std::fs::write(&path, text)?;
        let output = Command::new(chandler)
            .args(["--store", &format!("sqlite:{store}"), "import"])
            .arg(&path)
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Creates the groups; returns the id of the first.
fn follow(client: &mut HttpClient, size: &Size) -> anyhow::Result<String> {
    let mut first = None;
    for group in 0..size.groups {
        let numbers = group * size.of_group + 1..=(group + 1) * size.of_group;
        let securities: Vec<String> = numbers.map(symbol).collect();
        let body = json!({"name": format!("group {group}"), "securities": securities}).to_string();
        let created: Value = serde_json::from_str(&client.ask("POST", GROUPS, &body)?)?;
        let id = created.pointer("/data/id").and_then(Value::as_str).context("no id")?.to_owned();
        first.get_or_insert(id);
    }
    first.context("no group")
}

/// Sends a number of requests, cycling through the bodies, and prints a line: the first answer,
/// p50, p99 and the worst in milliseconds, the bytes of an answer, and whether the p50 is within
/// the goal.
fn measure(
    client: &mut HttpClient,
    name: &str,
    (method, path): (&str, &str),
    bodies: &[String],
    (count, goal): (usize, f64),
) -> anyhow::Result<()> {
    let (mut times, mut first, mut bytes) = (Times::default(), 0.0, 0);
    for (number, body) in bodies.iter().cycle().take(count.max(2)).enumerate() {
        let (time, answer) = timed(|| client.ask(method, path, body));
        bytes = answer?.len();
        if number == 0 {
            first = time.as_secs_f64();
        } else {
            times.push(time);
        }
    }
    let verdict = if times.median() <= goal { "within" } else { "beyond" };
    let [first, p50, p99, worst] = [first, times.median(), times.at(99), times.at(100)].map(|one| one * 1e3);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name}\t{first:.3}\t{p50:.3}\t{p99:.3}\t{worst:.3}\t{bytes}\t{verdict}")?;
    Ok(())
}
