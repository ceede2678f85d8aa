//! Measures the memory cost of an idle connection. Opens many signed-in WebSockets to a server in a
//! separate process and prints the memory growth of that process per connection.
//!
//! Run with `cargo run --release -p server --example idle -- 2000`. Both processes need one file
//! descriptor per connection (`ulimit -n`).

#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement, run by hand"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use access::{Access, Actor, NewAccount, Terms};
use history::{AsOf, History};
use market::{Timestamp, Venues};
use prost::Message;
use server::{Server, Settings};
use store::Store;

/// Number of connections opened per account.
const PER_ACCOUNT: u32 = 500;

fn main() {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "2000".to_owned());
    match argument.strip_prefix("serve:") {
        Some(accounts) => serve(accounts.parse().unwrap()),
        None => measure(argument.parse().unwrap()),
    }
}

fn now() -> Timestamp {
    Timestamp(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap())
}

/// Runs the server: prints its address and one token per account, and exits when stdin closes.
fn serve(accounts: u32) {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path(), store::Access::Write { now: now() }).unwrap());
    let store = Store::open(dir.path(), store::Access::Read).unwrap();
    let access = Access::open(dir.path(), now()).unwrap();
    let mut tokens = Vec::new();
    for number in 0..accounts {
        let terms = Terms { connections: PER_ACCOUNT, ..Terms::default() };
        let new = NewAccount::named(format!("account {number}"), terms);
        tokens.push(access.create(&new, &Actor::Operator, now()).unwrap().access_token.expose().to_owned());
    }
    let any = ([127, 0, 0, 1], 0).into();
    let settings = Settings { listen: any, tcp: any, ..Settings::default() };
    let history = History::new(Venues::built_in().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let market = Arc::new(|| AsOf::Live(now()));
        let server = Server::bind(&settings, store, history, access, market, Arc::new(now)).await;
        let server = server.unwrap();
        println!("{}", server.addresses().unwrap().http);
        tokens.iter().for_each(|token| println!("{token}"));
        let stop = async {
            let ended = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]).ok());
            ended.await.ok();
        };
        server.run(stop).await;
    });
}

fn measure(count: u32) {
    let accounts = count.div_ceil(PER_ACCOUNT);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(format!("serve:{accounts}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.next().unwrap();
    let tokens: Vec<String> = lines.take(accounts as usize).collect();
    let token = |number: u32| &tokens[(number / PER_ACCOUNT) as usize];
    // Warm up first, because the first connections cost more memory than later ones.
    let mut connections: Vec<TcpStream> = Vec::new();
    let warm = count.min(50);
    (0..warm).for_each(|number| connections.push(connect(&address, token(number))));
    let before = resident_kb(child.id());
    (warm..count).for_each(|number| connections.push(connect(&address, token(number))));
    let after = resident_kb(child.id());
    std::thread::sleep(Duration::from_secs(2));
    let later = resident_kb(child.id());
    let each = |kb: u64| kb.saturating_sub(before) as f64 / f64::from(count - warm);
    println!("{warm} connections: {before} KB resident");
    println!("{count} connections: {after} KB, {:.2} KB for each more", each(after));
    println!("two seconds later: {later} KB, {:.2} KB for each more", each(later));
    drop(child.stdin.take());
    child.wait().unwrap();
}

fn resident_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Opens a WebSocket and signs in.
fn connect(address: &str, token: &str) -> TcpStream {
    let mut http = TcpStream::connect(address).unwrap();
    write!(
        http,
        "GET /v1/socket/token HTTP/1.1\r\nhost: idle\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    http.read_to_string(&mut answer).unwrap();
    let otp = answer.split("\"otp\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /v2?version=1&codec=1&platform=9 HTTP/1.1\r\nhost: idle\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend_from_slice(&byte);
    }
    let metadata = [("accept-language".to_owned(), "en".to_owned())].into();
    let body = wire::control::AuthRequest { token: otp.to_owned(), metadata }.encode_to_vec();
    let mut packet = Vec::new();
    wire::Packet::Request { command: 2, id: 1, timeout_ms: 5000, body: body.into() }
        .encode(&mut packet)
        .unwrap();
    let mut frame = vec![0x82, 0x80 | u8::try_from(packet.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(&packet);
    stream.write_all(&frame).unwrap();
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).unwrap();
    let mut rest = vec![0; usize::from(answer[1] & 0x7f)];
    if answer[1] == 126 {
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        rest = vec![0; usize::from(u16::from_be_bytes(length))];
    }
    stream.read_exact(&mut rest).unwrap();
    assert_eq!(rest[6], 0, "sign-in was refused");
    stream
}
