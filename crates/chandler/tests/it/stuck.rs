//! Tests of servers whose output is not read, or whose terminal is closed.

use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use wire::{Limits, Packet};

use crate::world::{World, days, executable, send};

/// Timeout, long enough for slow machines, so that a bug fails a test instead of blocking it.
const PATIENCE: Duration = Duration::from_secs(20);
const PORTS: [&str; 4] = ["--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];

/// Process that is killed on drop.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Process {
    fn wait(&mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The process is killed when `self` is dropped.
        panic!("it has not ended within {PATIENCE:?}");
    }

    /// Returns the first line of stdout that contains `with`.
    fn line(&mut self, with: &str) -> String {
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        lines.find_map(|line| line.ok().filter(|line| line.contains(with))).unwrap()
    }
}

/// Returns a pipe whose buffer is full.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'x'; 1 << 16]).unwrap();
    (reader, writer.into())
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn get(address: SocketAddr, path: &str, head: &str) -> String {
    let mut stream = connect(address);
    write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{head}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Sends a request on a TCP connection. Returns whether the response reports success.
fn is_answered(stream: &mut TcpStream, command: u8, body: &[u8]) -> bool {
    let mut bytes = Vec::new();
    let request = Packet::Request { command, id: 7, timeout_ms: 5_000, body: body.into() };
    request.encode(&mut bytes).unwrap();
    stream.write_all(&bytes).unwrap();
    let mut decoder = wire::Decoder::new(Limits::HIGHEST);
    // The decoder expects a handshake first. Servers do not send one, so the test supplies it.
    assert_eq!(decoder.decode(&mut wire::HANDSHAKE.as_slice()), Ok(None));
    loop {
        let mut read = [0; 4096];
        let length = stream.read(&mut read).unwrap();
        assert_ne!(length, 0, "the connection was closed");
        let mut rest = &read[..length];
        while let Some(packet) = decoder.decode(&mut rest).unwrap() {
            if let Packet::Response { command: of, status, .. } = packet
                && of == command
            {
                return status == wire::Status::Success;
            }
        }
    }
}

#[test]
fn a_full_log_pipe_does_not_block_the_server() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let account = world.json(&["account", "create", "ann", "--unlimited"]);
    let (_reader, stderr) = full_pipe();
    let command = [&["serve", "--log", "debug"], &PORTS[..]].concat();
    let child = world.command(&command).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
    let mut process = Process(child);
    let ready: serde_json::Value = serde_json::from_str(&process.line("listening")).unwrap();
    let address = |name: &str| -> SocketAddr { ready[name].as_str().unwrap().parse().unwrap() };
    let (http, tcp) = (address("http"), address("tcp"));
    let proof = format!("authorization: Bearer {}\r\n", account["access_token"].as_str().unwrap());
    // The client signs in before the log is full, and sends another request on this connection
    // afterwards.
    let answer = get(http, "/v1/socket/token", &proof);
    let body: serde_json::Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let password = body["data"]["otp"].as_str().unwrap();
    let mut link = connect(tcp);
    link.write_all(&wire::HANDSHAKE).unwrap();
    let length = u8::try_from(password.len()).unwrap();
    assert!(length < 128 && is_answered(&mut link, 2, &[&[0x0a, length], password.as_bytes()].concat()));
    for _ in 0..50 {
        assert!(get(http, "/v1/me", &proof).starts_with("HTTP/1.1 200 "));
    }
    assert!(is_answered(&mut link, 4, &[]));
    for path in ["/healthz", "/readyz"] {
        assert!(get(http, path, "").starts_with("HTTP/1.1 200 "), "{path}");
    }
    send(&process.0, "TERM");
    assert_eq!(process.wait(), Some(0));
}

#[test]
fn a_full_stdout_pipe_does_not_block_the_server() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let (_reader, stdout) = full_pipe();
    let command = [&["serve", "--log-format", "json"], &PORTS[..]].concat();
    let mut child = world.command(&command).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let mut process = Process(child);
    let mut lines = log.lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.contains("\"listening\""))).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let http = line["http"].as_str().unwrap().parse().unwrap();
    assert!(get(http, "/healthz", "").starts_with("HTTP/1.1 200 "));
    send(&process.0, "TERM");
    assert_eq!(process.wait(), Some(0));
}

/// Parses a server's address from its output.
fn address(line: &str) -> SocketAddr {
    let (_, rest) = line.split_once("http://").unwrap();
    rest.split(['/', ' ']).next().unwrap().parse().unwrap()
}

#[test]
fn sighup_stops_the_open_command() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let command = [&["open", "--no-browser"], &PORTS[..]].concat();
    let mut command = world.with_default_hangup(&command);
    let mut process = Process(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let http = address(&process.line("http://"));
    assert!(get(http, "/healthz", "").starts_with("HTTP/1.1 200 "));
    send(&process.0, "HUP");
    assert_eq!(process.wait(), Some(0), "in order");
}

#[test]
fn open_continues_if_sighup_is_ignored() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let mut shell = Command::new("/bin/sh");
    let line = "trap '' HUP; exec \"$0\" open --no-browser --listen 127.0.0.1:0 --tcp 127.0.0.1:0";
    shell.args(["-c", line]).arg(executable()).current_dir(world.path("")).env_clear();
    shell.env("CHANDLER_STORE", format!("sqlite:{}", world.path("store").display()));
    let mut process = Process(shell.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let http = address(&process.line("http://"));
    send(&process.0, "HUP");
    // The signal has been delivered before the requests are sent. A server that is stopping would
    // accept no connections.
    for _ in 0..20 {
        assert!(get(http, "/healthz", "").starts_with("HTTP/1.1 200 "));
    }
    send(&process.0, "TERM");
    assert_eq!(process.wait(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn closing_the_terminal_stops_a_server() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let child = world.on_a_terminal("serve --listen 127.0.0.1:0 --tcp 127.0.0.1:0").spawn().unwrap();
    let mut process = Process(child);
    let line = process.line("\"event\":\"listening\"");
    let ready: serde_json::Value = serde_json::from_str(line.trim()).unwrap();
    let mut link = connect(ready["tcp"].as_str().unwrap().parse().unwrap());
    // `script` creates the terminal, so killing it closes the terminal.
    process.0.kill().unwrap();
    process.wait();
    // A server that is stopping closes its connections, or resets a connection that it has not
    // accepted yet. A running server would wait for a handshake until the read times out.
    match link.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
}
