//! Watchlists and the list of securities, asked over HTTP on loopback: 2,000 securities with overnight hours, 100 of them followed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::paper::client::HttpClient;
use crate::paper::times::{Times, timed};
use crate::server::{self, Server};

const GROUPS: &str = "/v1/watchlist/groups";
/// The goal: half of the answers within so many seconds.
const GOAL: f64 = 0.001;
/// An evening in New York, before the clock of the bench.
const EVENING: i64 = 1_794_535_200;

/// How much of everything: all of it, or as little as shows that it runs.
struct Size {
    securities: usize,
    groups: usize,
    of_group: usize,
    questions: usize,
}

const FULL: Size = Size { securities: 2_000, groups: 5, of_group: 20, questions: 1_000 };
const TINY: Size = Size { securities: 10, groups: 2, of_group: 3, questions: 5 };

pub(crate) fn run(chandler: &str, work: &Path) -> anyhow::Result<()> {
    let size = if std::env::var_os("TINY").is_some() { TINY } else { FULL };
    let dir = work.join("lists");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    let store = dir.to_str().context("a path that is no text")?;
    import(chandler, store, &dir, &size)?;
    let token = server::account(chandler, store, 0)?;
    let server = Server::start(chandler, store, 64, &token)?;
    let mut client = HttpClient::connect(server.http(), &token)?;
    let group = follow(&mut client, &size)?;
    let page = "/v1/quote/get_security_list?market=US&page=2&size=100";
    let list = "/v1/quote/get_security_list?market=US&category=Overnight";
    for (name, path) in [("watchlists", GROUPS), ("security list", list), ("page of the list", page)] {
        measure(&mut client, name, ("GET", path), &[String::new()], size.questions)?;
    }
    // Each is on the disk when it is answered, so this is the time of the disk.
    let change = |mode: &str| json!({"id": group, "securities": ["T1.US"], "mode": mode}).to_string();
    let changes = [change("remove"), change("add")];
    measure(&mut client, "a change", ("PUT", GROUPS), &changes, size.questions / 10)
}

fn symbol(number: usize) -> String {
    format!("T{number}.US")
}

/// Securities with three names, a day and a minute of overnight hours each.
fn import(chandler: &str, store: &str, dir: &Path, size: &Size) -> anyhow::Result<()> {
    let mut names = "symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,board\n".to_owned();
    let mut minutes = "symbol,time,open,high,low,close,volume\n".to_owned();
    let mut days = minutes.clone();
    for number in 1..=size.securities {
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

/// Makes the groups; the number of the first.
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

/// Asks so many times, with one body after the other, and prints a line: the first answer, p50, p99 and the worst in milliseconds, the bytes
/// of an answer, and whether the p50 is within the goal.
fn measure(
    client: &mut HttpClient,
    name: &str,
    (method, path): (&str, &str),
    bodies: &[String],
    count: usize,
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
    let verdict = if times.median() <= GOAL { "within" } else { "beyond" };
    let [first, p50, p99, worst] = [first, times.median(), times.at(99), times.at(100)].map(|one| one * 1e3);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name}\t{first:.3}\t{p50:.3}\t{p99:.3}\t{worst:.3}\t{bytes}\t{verdict}")?;
    Ok(())
}
