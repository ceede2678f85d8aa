//! Tests of `chandler open` as a process, and of the one-time links that `open` and `serve` print.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::world::{World, days, hour, send};

/// Timeout, long enough for slow machines, so that a bug fails a test instead of blocking it.
const PATIENCE: Duration = Duration::from_secs(20);
const PORTS: [&str; 4] = ["--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];

/// Process with its output up to the link. The process is killed when the value is dropped.
struct Opened {
    child: Child,
    text: String,
    /// Held open, because the process may exit when its stdout is closed.
    _output: BufReader<ChildStdout>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // On a terminal, the child process is `script`. Its server keeps running after the terminal
        // is closed, so it is stopped with Ctrl-C.
        match self.child.stdin.take() {
            Some(mut keys) => drop(keys.write_all(b"\x03")),
            None => drop(self.child.kill()),
        }
        self.child.wait().ok();
    }
}

impl Opened {
    fn of(command: &mut Command) -> Opened {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("/signin/once?token=") {
            assert_ne!(lines.read_line(&mut text).unwrap(), 0, "{text}");
        }
        Opened { child, text, _output: lines }
    }

    fn link(&self) -> &str {
        let start = self.text.find("http://127.0.0.1").unwrap_or_else(|| panic!("{}", self.text));
        self.text[start..].split(['"', '\r', '\n', ' ']).next().unwrap()
    }
}

/// Opens a link as a browser does, and returns the response.
fn open(link: &str, head: &str) -> String {
    let (address, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nsec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\n\
         sec-fetch-site: none\r\n{head}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_file_opens_as_a_chart() {
    let world = World::new();
    world.write("days.csv", days("700.HK"));
    let arguments = [&["open", "days.csv", "--no-browser"], &PORTS[..]].concat();
    let opened = Opened::of(world.command(&arguments).stderr(Stdio::null()));
    assert!(opened.text.contains("imported"), "{}", opened.text);
    let link = opened.link();
    let signed_in = open(link, "");
    assert!(signed_in.starts_with("HTTP/1.1 303 "), "{signed_in}");
    assert!(signed_in.contains("location: /?symbol=700.HK\r\n"), "{signed_in}");
    let cookie = signed_in.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
    // The signed-in account has no limits and may read the imported candles.
    let at = link.split("/signin").next().unwrap();
    let candles = open(
        &format!("{at}/v1/quote/history-candlesticks?symbol=700.HK&period=day&limit=3"),
        &format!("cookie: {cookie}\r\n"),
    );
    assert!(candles.starts_with("HTTP/1.1 200 ") && candles.contains("113.125"), "{candles}");
    assert!(!candles.contains("\r\nx-ratelimit-limit: "), "{candles}");
    assert!(open(link, "").starts_with("HTTP/1.1 403 "), "a link works once");
    let accounts = world.json(&["account", "list"]);
    assert_eq!(
        (&accounts[0]["name"], &accounts[0]["role"], &accounts[0]["terms"]["unlimited"]),
        (&"local".into(), &"operator".into(), &true.into()),
        "{accounts}"
    );
    // The local user's account is not counted, so `assets` needs no `--account`.
    world.ok(&["account", "create", "alice", "--cash", "HKD=1000"]);
    world.ok(&["assets"]);
}

#[test]
fn stored_data_can_be_opened_again() {
    let world = World::new();
    world.write("minutes.csv", hour("9001.HK"));
    let next = |arguments: &[&str], account: &str| {
        let arguments = [&["open"], arguments, &["--no-browser", "--format", "json"], &PORTS[..]].concat();
        let opened = Opened::of(world.command(&arguments).stderr(Stdio::null()));
        let answer = open(opened.link(), "");
        let cookie = answer.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
        let at = opened.link().split("/signin").next().unwrap();
        let me = open(&format!("{at}/v1/me"), &format!("cookie: {cookie}\r\n"));
        assert!(me.contains(&format!("\"account\":\"{account}\"")), "{me}");
        answer.split("location: ").nth(1).unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(next(&["minutes.csv"], "local"), "/?symbol=9001.HK&period=1m");
    // The file is not imported a second time, and its chart is opened.
    assert_eq!(next(&["minutes.csv"], "local"), "/?symbol=9001.HK&period=1m");
    assert_eq!(next(&["9001.hk"], "local"), "/?symbol=9001.HK&period=1m");
    world.ok(&["account", "create", "me", "--unlimited"]);
    assert_eq!(next(&["--account", "me"], "me"), "/");
}

#[test]
fn an_invalid_argument_is_reported_and_nothing_is_served() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.write("broken.csv", "no,candles\n1,2\n");
    world.ok(&["account", "create", "gone"]);
    world.ok(&["account", "revoke", "gone"]);
    for (arguments, code, says) in [
        (&["open", "absent.csv"][..], 2, "absent.csv: no such file"),
        (&["open", "7000.HK"], 1, "did you mean 700.HK"),
        (&["open", "700"], 2, "700: no such file; did you mean 700.HK?"),
        (&["open", "--dry-run"], 2, "--dry-run reports what files contain"),
        (&["open", "--listen", "0.0.0.0:0"], 2, "serves only this machine"),
        (&["open", "--listen", "localhost"], 2, "127.0.0.1:8080"),
        (&["open", "--account", "bob", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"], 1, "bob"),
        (&["open", "--account", "gone", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"], 1, "revoked"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!((found, stderr.lines().count()), (code, 1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
    assert_eq!(world.run(&["open", "broken.csv"]).code, Some(1));
}

#[test]
fn a_dry_run_serves_nothing_and_writes_nothing() {
    let world = World::new();
    world.write("days.csv", days("700.HK"));
    let output = world.ok(&["open", "days.csv", "--dry-run"]);
    assert!(output.contains("not imported") && output.contains("700.HK"), "{output}");
    assert!(!output.contains("/signin/once"), "{output}");
    let (code, stderr) = world.fails(&["list"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("there is no store"), "{stderr}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_on_a_terminal_prints_a_link_only_for_this_machine() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let opened = Opened::of(&mut world.on_a_terminal(&format!("serve {}", PORTS.join(" "))));
    assert_eq!(opened.text.matches("/signin/once").count(), 1, "{}", opened.text);
    assert!(open(opened.link(), "").starts_with("HTTP/1.1 303 "));
    drop(opened);
    let mut others =
        world.on_a_terminal(&format!("serve {} --public-url https://candles.example.com", PORTS.join(" ")));
    let mut child = others.spawn().unwrap();
    let mut screen = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("\"event\":\"listening\"") {
        assert_ne!(screen.read_line(&mut text).unwrap(), 0, "{text}");
    }
    child.stdin.take().unwrap().write_all(b"\x03").unwrap();
    screen.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
    assert!(!text.contains("/signin/once"), "{text}");
}

#[test]
fn an_interrupt_stops_the_open_command() {
    let world = World::new();
    let mut opened =
        Opened::of(world.command(&[&["open", "--no-browser"], &PORTS[..]].concat()).stderr(Stdio::null()));
    send(&opened.child, "INT");
    assert_eq!(opened.child.wait().unwrap().code(), Some(0));
}
