//! A mirror of another server, on loopback: `bench mirror PART CHANDLER WORK` prints lines of a
//! table.
//!
//! The source is a server with one-minute and daily candles of some years, the target an empty
//! store on SQLite. The source's own metrics count the requests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use market::{Market, Session, Venue};
use serde_json::Value;

use crate::paper::client::HttpClient;
use crate::server::{self, Launch, Server};

pub(crate) const PARTS: &str = "speed|limits";

const FROM: &str = "2023-11-01";
const THROUGH: &str = "2026-10-30";
const PAGES_GOAL: f64 = 500.0;
const SHARE_GOAL: f64 = 98.0;
/// Requests of a mirror in a window, and the length of the window (docs/mirror.md).
const PERMITTED: usize = 55;
const WINDOW_S: f64 = 30.0;
/// Number of windows over which the rate is measured.
const WINDOWS: usize = 4;

pub(crate) fn run(part: &str, chandler: &str, work: &Path) -> anyhow::Result<()> {
    match part {
        "speed" => speed(&Place::new(chandler, work, setting("SYMBOLS", 16), &["--unlimited"])?),
        "limits" => limits(&Place::new(chandler, work, 1, &[])?),
        other => bail!("no part {other}: {PARTS}"),
    }
}

/// How fast an empty store is filled without limits.
fn speed(place: &Place) -> anyhow::Result<()> {
    let (server_before, own_before) = (place.server.processor_us()?, children_us()?);
    let began = Instant::now();
    let report = place.mirror(&["run", "up", "--rate", "unlimited", "--quiet", "--format", "json"])?;
    let seconds = began.elapsed().as_secs_f64();
    let (server, own) = (place.server.processor_us()? - server_before, children_us()? - own_before);
    let number = |name: &str| report.get(name).and_then(Value::as_f64).context("no number");
    let (pages, candles) = (number("pages")?, number("added")?);
    place.check()?;
    let rate = pages / seconds;
    line("without limits: pages/s", rate, PAGES_GOAL, rate >= PAGES_GOAL);
    print(&format!(
        "| {} securities: pages, candles, seconds, candles/s | {pages}, {candles}, {seconds:.2}, {:.0} | | |",
        place.symbols.len(),
        candles / seconds
    ));
    print(&format!(
        "| processor us a page: mirror, source | {:.0}, {:.0} | | |",
        own / pages,
        server / pages
    ));
    Ok(())
}

/// Which part of the permitted rate is used.
fn limits(place: &Place) -> anyhow::Result<()> {
    let mut run = place.command(&["mirror", "run", "up", "--quiet"]);
    let mut child = run.stdout(Stdio::null()).spawn()?;
    let source = place.source.to_str().context("a path that is no text")?;
    let operator = server::operator(&place.chandler, source)?;
    let mut metrics = HttpClient::connect(place.server.http(), &operator)?;
    let (mut first, last) = (None, 1 + WINDOWS * PERMITTED);
    let began = Instant::now();
    let seconds = loop {
        let text = metrics.ask("GET", "/metrics", "")?;
        let answered = sum(&text, "chandler_requests_total", "\"history_candlesticks\"");
        ensure!(
            sum(&text, "chandler_refusals_total", "\"too_fast\"") == 0,
            "the source has refused a request"
        );
        let now = Instant::now();
        if answered > 0 {
            first.get_or_insert((answered, now));
        }
        if let Some((count, at)) = first.filter(|_| answered >= last) {
            ensure!(count == 1, "the first requests were missed");
            break (now - at).as_secs_f64();
        }
        ensure!(began.elapsed() < Duration::from_secs(600), "the run does not end");
        ensure!(
            child.try_wait()?.is_none() || answered >= last,
            "the run has ended after {answered} requests"
        );
        std::thread::sleep(Duration::from_millis(10));
    };
    child.kill()?;
    child.wait()?;
    // The first request of each window, from the first window to the one after the last.
    let share = 100.0 * WINDOW_S * WINDOWS as f64 / seconds;
    line("with limits: requests in % of those permitted", share, SHARE_GOAL, share >= SHARE_GOAL);
    print(&format!("| {} requests after the first: seconds | {seconds:.2} | | |", last - 1));
    Ok(())
}

/// A server with candles, and an empty store with a mirror of that server.
struct Place {
    chandler: String,
    source: PathBuf,
    target: PathBuf,
    symbols: Vec<String>,
    server: Server,
}

impl Place {
    fn new(chandler: &str, work: &Path, count: usize, account: &[&str]) -> anyhow::Result<Place> {
        let folder = work.join(count.to_string());
        let (source, target) = (folder.join("source"), folder.join("target"));
        let symbols: Vec<String> = (1..=count).map(|number| format!("{number}.HK")).collect();
        // The marker is written last: a store of an interrupted run is imported again.
        if !folder.join("made").exists() {
            make(chandler, &folder, &source, &symbols)?;
        }
        if target.exists() {
            std::fs::remove_dir_all(&target)?;
        }
        let name = format!("mirror-{}", std::process::id());
        let mut create = command(chandler, &source);
        create.args(["account", "create", &name, "--format", "json"]).args(account);
        let keys = done(&mut create)?;
        let key = |name: &str| keys.get(name).and_then(Value::as_str).context("no key");
        let launch = Launch {
            executable: chandler,
            store: source.to_str().context("a path that is no text")?,
            folder: &folder,
            cache_mb: 256,
            arguments: &[],
            clock: None,
        };
        let server = Server::launch(&launch, key("access_token")?)?;
        let mut add = command(chandler, &target);
        add.args(["mirror", "add", "up", "--app-key", key("app_key")?, "--format", "json"])
            .args(["--http-url", &format!("http://{}", server.http())])
            .env("CHANDLER_MIRROR_APP_SECRET", key("app_secret")?)
            .env("CHANDLER_MIRROR_ACCESS_TOKEN", key("access_token")?);
        done(&mut add)?;
        let place = Place { chandler: chandler.to_owned(), source, target, symbols, server };
        let mut plan = vec!["plan", "up", "--accept-terms", "--from", FROM, "--format", "json"];
        plan.extend(place.symbols.iter().map(String::as_str));
        place.mirror(&plan)?;
        Ok(place)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.chandler, &self.target);
        command.args(arguments);
        command
    }

    fn mirror(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        done(&mut self.command(&[&["mirror"], arguments].concat()))
    }

    /// Compares all candles of both stores.
    fn check(&self) -> anyhow::Result<()> {
        for symbol in &self.symbols {
            for period in ["1m", "day"] {
                let of = |store: &Path| -> anyhow::Result<Vec<u8>> {
                    let arguments = ["export", symbol, "-p", period, "--format", "csv"];
                    let output = command(&self.chandler, store).args(arguments).output()?;
                    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                    Ok(output.stdout)
                };
                ensure!(of(&self.source)? == of(&self.target)?, "{symbol} {period} differs from the source");
            }
        }
        Ok(())
    }
}

/// Generates and imports candles.
fn make(chandler: &str, folder: &Path, source: &Path, symbols: &[String]) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    let venue = Venue::built_in(Market::Hk)?;
    let days: Vec<market::Date> =
        venue.calendar().days(FROM.parse()?, THROUGH.parse()?).map(|(date, _)| date).collect();
    let header = "symbol,time,open,high,low,close,volume,turnover\n";
    let mut seed = 20_261_119_u64;
    let mut below = |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % limit
    };
    for symbol in symbols {
        let (mut minutes, mut daily) = (header.to_owned(), header.to_owned());
        // In ticks of 0.2.
        let mut price = 1_000 + below(1_000);
        for date in &days {
            for (at, slot) in venue.day(*date).context("no trading day")?.minutes() {
                if slot.segment.session != Session::Intraday {
                    continue;
                }
                let open = price;
                price = (price + below(5)).saturating_sub(2).clamp(500, 4_000);
                let (high, low) = (open.max(price) + below(3), open.min(price) - below(3));
                row(&mut minutes, symbol, &at.0.to_string(), [open, high, low, price], 100 * below(3_000))?;
            }
            row(&mut daily, symbol, &date.to_string(), [price, price + 9, price - 9, price], 1_000_000)?;
        }
        let paths = [folder.join("minutes.csv"), folder.join("days.csv")];
        for (path, rows) in paths.iter().zip([minutes, daily]) {
            std::fs::write(path, rows)?;
        }
        let import = command(chandler, source).args(["import", "--quiet"]).args(&paths).output()?;
        ensure!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
    }
    Ok(std::fs::write(folder.join("made"), "")?)
}

fn row(rows: &mut String, symbol: &str, time: &str, ticks: [u64; 4], volume: u64) -> anyhow::Result<()> {
    let [open, high, low, close] = ticks.map(|ticks| format!("{}.{}", ticks / 5, ticks % 5 * 2));
    // Two decimals.
    let turnover = ticks.iter().sum::<u64>() * volume * 5;
    writeln!(
        rows,
        "{symbol},{time},{open},{high},{low},{close},{volume},{}.{:02}",
        turnover / 100,
        turnover % 100
    )?;
    Ok(())
}

fn command(chandler: &str, store: &Path) -> Command {
    let mut command = Command::new(chandler);
    command.arg("--store").arg(format!("sqlite:{}", store.display()));
    command
}

fn done(command: &mut Command) -> anyhow::Result<Value> {
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).map_err(|error| anyhow!("{error}: no JSON"))
}

/// Returns the sum of the samples of a metric whose labels contain a text.
fn sum(text: &str, metric: &str, label: &str) -> usize {
    let samples = text.lines().filter(|line| line.starts_with(metric) && line.contains(label));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}

/// Processor time in microseconds of all child processes that have ended.
fn children_us() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').context("no name")?.1.split_whitespace();
    let ticks = fields.skip(13).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    // A tick is a hundredth of a second on Linux on x86 and ARM.
    Ok(ticks * 10_000.0)
}

/// An optional number of the environment, for a short run.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn line(name: &str, value: f64, goal: f64, is_met: bool) {
    print(&format!("| {name} | {value:.1} | {goal:.0} | {} |", if is_met { "met" } else { "**missed**" }));
}

#[expect(clippy::print_stdout, reason = "the table")]
fn print(line: &str) {
    println!("{line}");
}
