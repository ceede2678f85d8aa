//! Worlds, on loopback: `bench worlds PART CHANDLER WORK` prints a line of a table for each case.
//!
//! Each part has a new store with one-minute candles of a past week, and a server of its own. A
//! client is a thread with a blocking socket that answers pings.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use market::{Market, Session, Timestamp, Venue};
use prost::Message;
use serde_json::{Value, json};
use wire::control;
use wire::quote::{SubscribeRequest, SymbolsRequest};

use crate::contest::Spread;
use crate::load;
use crate::paper::client::HttpClient;
use crate::paper::times::{Times, timed};
use crate::server::{self, Server, request};

pub(crate) const PARTS: &str = "stepped|sdk|max|resting|moving|fork";

/// The trading days of the store.
const DAYS: [&str; 5] = ["2026-03-16", "2026-03-17", "2026-03-18", "2026-03-19", "2026-03-20"];
const START: &str = "2026-03-16T09:29:00-04:00";
const END: &str = "2026-03-20T16:30:00-04:00";
const STEPS_GOAL: f64 = 1_000.0;
const ORDER_STEPS_GOAL: f64 = 300.0;
const CANDLES_GOAL: f64 = 100_000.0;
const MEMORY_GOAL_MIB: f64 = 64.0;
const SPREAD_GOAL: f64 = 20.0;
const FORK_GOAL_MS: f64 = 20.0;

pub(crate) fn run(part: &str, chandler: &str, work: &Path) -> anyhow::Result<()> {
    match part {
        "stepped" => stepped(&Place::new(chandler, work, part, 1)?),
        "sdk" => sdk(&Place::new(chandler, work, part, 1)?),
        "max" => max(&Place::new(chandler, work, part, setting("SYMBOLS", 100))?),
        "resting" => resting(&Place::new(chandler, work, part, 1)?),
        "moving" => moving(&Place::new(chandler, work, part, 64)?),
        "fork" => fork(&Place::new(chandler, work, part, 1)?),
        other => bail!("no part {other}: {PARTS}"),
    }
}

/// How often the programs of `stepped` and `sdk` place an order, in steps, and their goals.
const STEPPED: [(&str, usize, f64); 2] =
    [("quotes only", 0, STEPS_GOAL), ("with orders", 10, ORDER_STEPS_GOAL)];

/// Steps of a program that pulls nothing, and of one that places an order in every tenth minute.
fn stepped(place: &Place) -> anyhow::Result<()> {
    let steps = setting("STEPS", 1_500);
    for (name, every, goal) in STEPPED {
        let world = place.world(&name.replace(' ', "-"), &json!(0))?;
        let (mut link, mut http) = (world.link(place.server.http())?, world.http(place)?);
        link.subscribe(vec!["T0.US".to_owned(), "CLOCK.WORLD".to_owned()], vec![1])?;
        let began = Instant::now();
        for step in 1..=steps {
            link.step()?;
            if every > 0 && step % every == 0 {
                http.ask("POST", "/v1/trade/order", &order("1").to_string())?;
            }
        }
        let rate = steps as f64 / began.elapsed().as_secs_f64();
        line(&format!("stepped, {name}: steps/s"), rate, goal, rate >= goal);
    }
    Ok(())
}

/// The same with the public Python SDK, in a separate process.
fn sdk(place: &Place) -> anyhow::Result<()> {
    let python = std::env::var("BENCH_PYTHON").context("BENCH_PYTHON names a Python with the SDK")?;
    let steps = setting("STEPS", 1_500).to_string();
    for (name, every, goal) in STEPPED {
        let world = place.world(&name.replace(' ', "-"), &json!(0))?;
        let before = place.server.processor_us()?;
        let mut program = Command::new(&python);
        program.args(["bench/worlds/steps.py", &steps, &every.to_string()]);
        let output = program.envs(world.environment(place.server.http())).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout);
        let rate: f64 = printed.lines().next_back().context("no output")?.parse()?;
        line(&format!("stepped by the Python SDK, {name}: steps/s"), rate, goal, rate >= goal);
        let processor = (place.server.processor_us()? - before) / steps.parse::<f64>()?;
        print(&format!("| the same: us of CPU of the server per step | {processor:.0} | | |"));
    }
    Ok(())
}

/// A world at the highest speed whose client has all quotes and trades of its securities.
fn max(place: &Place) -> anyhow::Result<()> {
    let world = place.world("max", &json!("max"))?;
    let mut link = world.link(place.server.http())?;
    link.subscribe((0..place.symbols).map(symbol).collect(), vec![1, 4])?;
    let (before, began) = (place.server.processor_us()?, Instant::now());
    world.http(place)?.ask("POST", "/v1/world/run", "{}")?;
    let reader = std::thread::spawn(move || link.read_until_silent());
    place.until(|worlds| worlds.iter().all(|world| text(world, "state") == "ended"))?;
    let seconds = began.elapsed().as_secs_f64();
    let processor = (place.server.processor_us()? - before) / 1e6;
    let pushes = reader.join().map_err(|_| anyhow!("a reader has panicked"))??;
    let rate = place.candles as f64 / seconds;
    line(&format!("max, {} securities: candles/s", place.symbols), rate, CANDLES_GOAL, rate >= CANDLES_GOAL);
    print(&format!(
        "| max: pushes, seconds, processor seconds of the server | {pushes}, {seconds:.2}, {processor:.2} | | |"
    ));
    Ok(())
}

/// Memory of worlds that have been used, and stand.
fn resting(place: &Place) -> anyhow::Result<()> {
    let count = setting("WORLDS", 1_000);
    place.world("first", &json!(0))?.http(place)?.ask("POST", "/v1/world/step", "{}")?;
    let before = place.server.memory()?;
    for number in 1..count {
        let world = place.world(&format!("w-{number}"), &json!(0))?;
        world.http(place)?.ask("POST", "/v1/world/step", "{}")?;
    }
    let mebibytes = place.server.memory()?.saturating_sub(before) as f64 / f64::from(1 << 20);
    line(&format!("{count} resting: MiB"), mebibytes, MEMORY_GOAL_MIB, mebibytes <= MEMORY_GOAL_MIB);
    Ok(())
}

/// How far the steps of worlds at the highest speed differ from their mean.
fn moving(place: &Place) -> anyhow::Result<()> {
    let count = setting("MOVING", 64);
    let mut readers: Vec<JoinHandle<anyhow::Result<usize>>> = Vec::new();
    let mut worlds = Vec::new();
    for number in 0..count {
        let world = place.world(&format!("m-{number}"), &json!("max"))?;
        let mut link = world.link(place.server.http())?;
        link.subscribe(vec![symbol(number % place.symbols)], vec![1, 4])?;
        readers.push(std::thread::spawn(move || link.read_until_silent()));
        worlds.push(world);
    }
    for world in &worlds {
        world.http(place)?.ask("POST", "/v1/world/run", "{}")?;
    }
    // The worlds began one after the other, so their steps are counted from here on.
    let (first, began) = (place.steps()?, Instant::now());
    std::thread::sleep(Duration::from_secs(1));
    let (last, seconds) = (place.steps()?, began.elapsed().as_secs_f64());
    let states = place.list()?;
    let all_run = states.iter().all(|world| text(world, "state") == "running");
    ensure!(all_run, "a world has ended: more days are needed");
    let steps: Vec<f64> = last.iter().zip(&first).map(|(last, first)| (last - first) as f64).collect();
    let mean = steps.iter().sum::<f64>() / steps.len() as f64;
    let Spread { least, most, .. } = Spread::of(steps.iter().copied());
    let percent = 100.0 * (mean - least).max(most - mean) / mean;
    line(
        &format!("{count} moving: greatest difference from the mean in %"),
        percent,
        SPREAD_GOAL,
        percent <= SPREAD_GOAL,
    );
    print(&format!(
        "| {count} moving: steps/s of all, steps of one: least, mean, most | {:.0}, {least:.0}, {mean:.0}, {most:.0} | | |",
        steps.iter().sum::<f64>() / seconds
    ));
    for world in &worlds {
        world.http(place)?.ask("POST", "/v1/world/pause", "{}")?;
    }
    for reader in readers {
        reader.join().map_err(|_| anyhow!("a reader has panicked"))??;
    }
    Ok(())
}

/// Creates worlds, and forks one with a long journal.
fn fork(place: &Place) -> anyhow::Result<()> {
    let (entries, turns) = (setting("JOURNAL", 10_000), setting("TURNS", 30));
    let world = place.world("long", &json!(0))?;
    let mut http = world.http(place)?;
    http.ask("POST", "/v1/world/step", r#"{"to": "2026-03-16T09:40:00-04:00"}"#)?;
    for _ in 0..entries / 2 {
        let submitted: Value =
            serde_json::from_str(&http.ask("POST", "/v1/trade/order", &order("1").to_string())?)?;
        let id = submitted.pointer("/data/order_id").and_then(Value::as_str).context("no order")?;
        http.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), "")?;
    }
    let mut owner = HttpClient::connect(place.server.http(), &place.token)?;
    let (mut created, mut forked) = (Times::default(), Times::default());
    for turn in 0..turns {
        let body = place.settings(&format!("c-{turn}"), &json!(0)).to_string();
        let (time, answer) = timed(|| owner.ask("POST", "/v1/worlds", &body));
        answer?;
        created.push(time);
        let body = json!({"name": format!("f-{turn}")}).to_string();
        let (time, answer) = timed(|| owner.ask("POST", "/v1/worlds/long/fork", &body));
        answer?;
        forked.push(time);
    }
    for (name, times) in [("create".to_owned(), created), (format!("fork, {entries} entries"), forked)] {
        let p50 = times.median() * 1e3;
        line(&format!("{name}: ms, p50"), p50, FORK_GOAL_MS, p50 <= FORK_GOAL_MS);
    }
    Ok(())
}

/// A store with candles, a server on it, and the owner of its worlds.
struct Place {
    server: Server,
    token: String,
    symbols: usize,
    candles: usize,
}

impl Place {
    fn new(chandler: &str, work: &Path, part: &str, symbols: usize) -> anyhow::Result<Place> {
        let folder = work.join(part);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let store = folder.to_str().context("a path that is no text")?;
        let (rows, candles) = minutes(symbols)?;
        let path = folder.join("minutes.csv");
        std::fs::write(&path, rows)?;
        let store_url = format!("sqlite:{store}");
        let import = Command::new(chandler).args(["--store", &store_url, "import"]).arg(&path).output()?;
        ensure!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
        let token = server::account(chandler, store, 0)?;
        let server = Server::start(chandler, store, 256, &token)?;
        Ok(Place { server, token, symbols, candles })
    }

    fn settings(&self, name: &str, speed: &Value) -> Value {
        json!({
            "name": name, "start": START, "end": END, "markets": ["US"], "speed": speed,
            "cash": {"USD": "1000000"},
        })
    }

    fn world(&self, name: &str, speed: &Value) -> anyhow::Result<World> {
        let mut owner = HttpClient::connect(self.server.http(), &self.token)?;
        let created = owner.ask("POST", "/v1/worlds", &self.settings(name, speed).to_string())?;
        let created: Value = serde_json::from_str(&created)?;
        let credential = |name: &str| {
            let found = created.pointer(&format!("/data/credentials/{name}")).and_then(Value::as_str);
            anyhow::Ok(found.with_context(|| format!("no {name}"))?.to_owned())
        };
        let (key, secret) = (credential("app_key")?, credential("app_secret")?);
        Ok(World { key, secret, token: credential("access_token")? })
    }

    fn list(&self) -> anyhow::Result<Vec<Value>> {
        let list = HttpClient::connect(self.server.http(), &self.token)?.ask("GET", "/v1/worlds", "")?;
        let list: Value = serde_json::from_str(&list)?;
        Ok(list.pointer("/data/worlds").and_then(Value::as_array).context("no worlds")?.clone())
    }

    fn steps(&self) -> anyhow::Result<Vec<u64>> {
        let step = |world: &Value| world.get("step").and_then(Value::as_u64).context("no step");
        self.list()?.iter().map(step).collect()
    }

    fn until(&self, is_done: impl Fn(&[Value]) -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        while !is_done(&self.list()?) {
            ensure!(began.elapsed() < Duration::from_secs(120), "the worlds do not end");
            // Not more often, because the server answers on the cores that are measured.
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

struct World {
    key: String,
    secret: String,
    token: String,
}

impl World {
    /// The environment of a program that uses the SDK.
    fn environment(&self, server: SocketAddr) -> [(&'static str, String); 7] {
        [
            ("LONGBRIDGE_APP_KEY", self.key.clone()),
            ("LONGBRIDGE_APP_SECRET", self.secret.clone()),
            ("LONGBRIDGE_ACCESS_TOKEN", self.token.clone()),
            ("LONGBRIDGE_HTTP_URL", format!("http://{server}")),
            ("LONGBRIDGE_QUOTE_WS_URL", format!("ws://{server}/v2")),
            ("LONGBRIDGE_TRADE_WS_URL", format!("ws://{server}/v2")),
            ("LONGBRIDGE_PRINT_QUOTE_PACKAGES", "false".to_owned()),
        ]
    }

    fn http(&self, place: &Place) -> anyhow::Result<HttpClient> {
        HttpClient::connect(place.server.http(), &self.token)
    }

    fn link(&self, server: SocketAddr) -> anyhow::Result<Link> {
        let otp: Value = serde_json::from_str(&HttpClient::connect(server, &self.token)?.ask(
            "GET",
            "/v1/socket/token",
            "",
        )?)?;
        let otp = otp.pointer("/data/otp").and_then(Value::as_str).context("no password")?;
        let mut link = Link::open(server)?;
        let auth = control::AuthRequest { token: otp.to_owned(), ..Default::default() };
        link.ask(2, &auth)?;
        Ok(link)
    }
}

/// A blocking WebSocket.
struct Link {
    stream: TcpStream,
    buffer: Vec<u8>,
    used: usize,
}

impl Link {
    fn open(server: SocketAddr) -> anyhow::Result<Link> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        let upgrade = "GET /v2?version=1&codec=1&platform=9 HTTP/1.1\r\nhost: bench\r\nconnection: Upgrade\r\n\
                       upgrade: websocket\r\nsec-websocket-version: 13\r\n\
                       sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(upgrade.as_bytes())?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.extend_from_slice(&byte);
        }
        ensure!(head.starts_with(b"HTTP/1.1 101"), "no upgrade: {}", String::from_utf8_lossy(&head));
        Ok(Link { stream, buffer: Vec::new(), used: 0 })
    }

    fn subscribe(&mut self, symbol: Vec<String>, sub_type: Vec<i32>) -> anyhow::Result<()> {
        self.ask(6, &SubscribeRequest { symbol, sub_type, is_first_push: false })
    }

    fn step(&mut self) -> anyhow::Result<()> {
        self.ask(11, &SymbolsRequest { symbol: vec!["STEP.WORLD".to_owned()] })
    }

    /// Sends a request and reads up to its response.
    fn ask(&mut self, command: u8, body: &impl Message) -> anyhow::Result<()> {
        self.stream.write_all(&load::frame(&request(command, body)?))?;
        loop {
            let packet = self.packet()?.context("no answer")?;
            // The type of a packet is in the lowest bits of its first byte: 2 is a response.
            if packet.first().is_some_and(|first| first & 0x0f == 2) {
                ensure!(packet.get(6) == Some(&0), "refused: {}", String::from_utf8_lossy(&packet));
                return Ok(());
            }
        }
    }

    /// Reads pushes until none has come for a second. Returns their number.
    fn read_until_silent(&mut self) -> anyhow::Result<usize> {
        self.stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut pushes = 0;
        while self.packet()?.is_some() {
            pushes += 1;
        }
        Ok(pushes)
    }

    /// Returns the next packet; `None` if none comes in time. Answers pings.
    fn packet(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        loop {
            let Some((first, payload)) = self.frame()? else { return Ok(None) };
            match first {
                0x82 => return Ok(Some(payload)),
                0x89 => {
                    let mut pong = load::frame(&payload);
                    if let Some(first) = pong.first_mut() {
                        *first = 0x8a;
                    }
                    self.stream.write_all(&pong)?;
                }
                other => bail!("a frame that begins with {other:#04x}"),
            }
        }
    }

    fn frame(&mut self) -> anyhow::Result<Option<(u8, Vec<u8>)>> {
        loop {
            let bytes = self.buffer.get(self.used..).unwrap_or_default();
            let head = match *bytes {
                [first, 126, high, low, ..] => Some((first, 4, usize::from(u16::from_be_bytes([high, low])))),
                [first, length, ..] if length < 126 => Some((first, 2, usize::from(length))),
                [_, 127, ..] => bail!("a frame of more than 64 KiB"),
                _ => None,
            };
            if let Some((first, start, length)) = head
                && let Some(payload) = bytes.get(start..start + length)
            {
                let payload = payload.to_vec();
                self.used += start + length;
                return Ok(Some((first, payload)));
            }
            self.buffer.drain(..self.used);
            self.used = 0;
            let mut room = [0; 65_536];
            match self.stream.read(&mut room) {
                Ok(0) => bail!("the server has closed the connection"),
                Ok(count) => self.buffer.extend_from_slice(room.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// One-minute candles of the regular hours of [`DAYS`], and their number.
fn minutes(symbols: usize) -> anyhow::Result<(String, usize)> {
    let venue = Venue::built_in(Market::Us)?;
    let mut stamps: Vec<Timestamp> = Vec::new();
    for day in DAYS {
        let day = venue.day(day.parse()?).context("no trading day")?;
        let regular = day.minutes().filter(|(_, slot)| slot.segment.session == Session::Intraday);
        stamps.extend(regular.map(|(at, _)| at));
    }
    let mut rows = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    for number in 0..symbols {
        for (place, at) in stamps.iter().enumerate() {
            let (step, volume) = ((place * 7 + number) % 50, 1_000 + place);
            writeln!(rows, "{},{},100,101,99,100.{step:02},{volume},{volume}00", symbol(number), at.0)?;
        }
    }
    Ok((rows, symbols * stamps.len()))
}

fn symbol(number: usize) -> String {
    format!("T{number}.US")
}

/// An order that never fills.
fn order(price: &str) -> Value {
    json!({
        "symbol": "T0.US", "order_type": "LO", "side": "Buy", "submitted_quantity": "1",
        "time_in_force": "Day", "submitted_price": price,
    })
}

fn text<'a>(world: &'a Value, field: &str) -> &'a str {
    world.get(field).and_then(Value::as_str).unwrap_or_default()
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
