//! Tests of `chandler serve` as a process: its ready line, its shutdown, and its startup errors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::world::{World, days, send};

/// Timeout, long enough for slow machines, so that a bug fails a test instead of blocking it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Server process that is killed on drop.
struct Process {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Process {
    fn start(world: &World, arguments: &[&str]) -> Process {
        let ports = ["--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];
        Process::of(&mut world.command(&[&["serve"], &ports[..], arguments].concat()))
    }

    fn of(command: &mut Command) -> Process {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Process { child, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    fn ready(&mut self) -> (SocketAddr, SocketAddr) {
        let line = self.line();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        let address = |name: &str| ready[name].as_str().unwrap().parse().unwrap();
        let (http, tcp): (SocketAddr, SocketAddr) = (address("http"), address("tcp"));
        assert_eq!(line, format!("{{\"event\":\"listening\",\"http\":\"{http}\",\"tcp\":\"{tcp}\"}}\n"));
        (http, tcp)
    }

    /// Sends a signal and waits for the process to end. Returns the exit code, the remaining
    /// stdout, and stderr.
    fn stop(mut self, signal: &str) -> (Option<i32>, String, String) {
        send(&self.child, signal);
        let code = self.child.wait().unwrap().code();
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (code, out, err)
    }
}

#[test]
fn many_concurrent_requests_need_few_threads() {
    let world = world();
    let account = world.json(&["account", "create", "ann", "--rate", "unlimited"]);
    // Request logging is disabled, because the test does not read the log until the server stops.
    let mut process = Process::start(&world, &["--log-requests", "false"]);
    let (http, _) = process.ready();
    let token = account["access_token"].as_str().unwrap();
    let body = r#"{"symbol":"700.HK","period":1000,"count":5,"adjust_type":1}"#;
    let request = format!(
        "POST /quote/candlesticks HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    // All connections are open before the first response is read.
    let mut streams: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(http).unwrap()).collect();
    for stream in &mut streams {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
    }
    for mut stream in streams {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
    assert!(threads.trim().parse::<u32>().unwrap() < 64, "{threads} threads");
}

fn world() -> World {
    World::with(&[("days.csv", &days("700.HK"))])
}

fn http(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn ask(address: SocketAddr, account: &serde_json::Value) -> serde_json::Value {
    let body = r#"{"symbol":"700.HK","period":1000,"query_type":1,"offset_request":{"count":2}}"#;
    post(address, account, "/quote/history-candlesticks", body)
}

fn post(address: SocketAddr, account: &serde_json::Value, path: &str, body: &str) -> serde_json::Value {
    let (token, length) = (account["access_token"].as_str().unwrap(), body.len());
    let answer = http(
        address,
        &format!(
            "POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ),
    );
    let (_, json) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn a_server_prints_one_line_and_stops_on_a_signal() {
    let world = world();
    for signal in ["TERM", "INT"] {
        let mut process = Process::start(&world, &[]);
        let (http_at, tcp_at) = process.ready();
        assert!(http(http_at, "GET /health HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 200 "));
        TcpStream::connect(tcp_at).unwrap();
        let (code, out, err) = process.stop(signal);
        assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
        assert!(err.contains("listening") && err.contains(&format!("SIG{signal}")), "{err}");
        assert!(TcpStream::connect(http_at).is_err());
    }
}

#[test]
fn the_clock_of_a_local_server_is_moved_without_an_account() {
    let world = world();
    let clock = |arguments: &[&str]| world.json(&[&["clock"], arguments].concat());
    let mut process = Process::start(&world, &["--clock", "2026-03-18T10:00:00+08:00"]);
    process.ready();
    let fixed = |now: &str| serde_json::json!({"now": now, "pace": "standing", "speed": 0.0});
    assert_eq!(clock(&[]), fixed("2026-03-18T02:00:00Z"));
    assert_eq!(clock(&["+15s"]), fixed("2026-03-18T02:00:15Z"));
    assert_eq!(clock(&["2026-03-18T02:01:00Z"]), fixed("2026-03-18T02:01:00Z"));
    let (code, said) = world.fails(&["clock", "2026-03-18T02:00:30Z"]);
    assert!(code == 1 && said.contains("can only move forward: it is at 2026-03-18T02:01:00Z"), "{said}");
    let (code, said) = world.fails(&["clock", "2100-01-01T00:00:00Z"]);
    assert!(code == 1 && said.contains("ends with the year 2099"), "{said}");
    assert_eq!(clock(&[]), fixed("2026-03-18T02:01:00Z"));
    process.stop("INT");
    let store = format!("sqlite:{}", world.path("store").display());
    let (code, said) = world.fails(&["clock", "+15s", "--store", &store]);
    assert!(code == 1 && said.contains("no server of this store is running"), "{said}");
    let mut process = Process::start(&world, &["--clock", "2026-03-18T10:00:00+08:00,run@0.001"]);
    process.ready();
    assert_eq!((clock(&[])["pace"].as_str(), clock(&[])["speed"].as_f64()), (Some("running"), Some(0.001)));
    let (code, said) = world.fails(&["clock", "+15s"]);
    assert!(code == 1 && said.contains("only a stopped clock can be moved"), "{said}");
    process.stop("INT");
}

#[test]
fn account_changes_apply_while_a_server_runs() {
    let world = world();
    let mut process = Process::start(&world, &[]);
    let (at, _) = process.ready();
    let account = world.json(&["account", "create", "alice"]);
    let answer = ask(at, &account);
    assert_eq!((&answer["code"], &answer["data"]["symbol"]), (&0.into(), &"700.HK".into()), "{answer}");
    // The quota's month is determined by the market clock.
    let shown = world.json(&["account", "show", "alice"]);
    assert_eq!(
        (&shown["usage"]["month"], &shown["usage"]["used"]),
        (&"2026-11".into(), &1.into()),
        "{shown}"
    );
    assert_eq!(shown["usage"]["securities"][0]["symbol"], "700.HK");
    world.ok(&["account", "revoke", "alice"]);
    let answer = ask(at, &account);
    assert_ne!(answer["code"], 0, "{answer}");
    assert_eq!(process.stop("TERM").0, Some(0));
}

#[test]
fn option_candles_are_neither_served_nor_listed() {
    let world = world();
    let option = "AAPL260417C190000.US";
    world.write(
        "o.csv",
        format!("symbol,time,open,high,low,close,volume\n{option},2026-03-18 09:30,5,5.5,4.5,5.1,10\n"),
    );
    world.ok(&["import", "o.csv", "--period", "1m"]);
    let account = world.json(&["account", "create", "alice"]);
    let mut process = Process::start(&world, &[]);
    let (at, _) = process.ready();
    for period in [1, 60, 1000] {
        let history = format!(
            r#"{{"symbol":"{option}","period":{period},"query_type":1,"offset_request":{{"count":2}}}}"#
        );
        let answer = post(at, &account, "/quote/history-candlesticks", &history);
        assert_eq!(answer["code"], 301603, "{answer}");
        let latest = format!(r#"{{"symbol":"{option}","period":{period},"count":2}}"#);
        let answer = post(at, &account, "/quote/candlesticks", &latest);
        assert_eq!(answer["code"], 301603, "{answer}");
    }
    // A refused request uses no quota.
    assert_eq!(world.json(&["account", "show", "alice"])["usage"]["used"], 0);
    let token = account["access_token"].as_str().unwrap();
    let listed = http(
        at,
        &format!(
            "GET /v1/securities?query=AAPL HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        ),
    );
    assert!(listed.contains(" 200 ") && !listed.contains(option), "{listed}");
    assert_eq!(process.stop("TERM").0, Some(0));
}

#[test]
fn logs_can_be_json_and_filtered() {
    let world = world();
    let mut process = Process::start(&world, &["--log-format", "json"]);
    process.ready();
    let (_, _, err) = process.stop("TERM");
    let first: serde_json::Value = serde_json::from_str(err.lines().next().unwrap()).unwrap();
    assert_eq!((&first["level"], &first["message"]), (&"INFO".into(), &"listening".into()), "{err}");
    // The filter excludes the warning about a nearly full disk, which occurs only on some machines.
    let mut process = Process::start(&world, &["--log", "error"]);
    process.ready();
    assert_eq!(process.stop("TERM").2, "");
}

/// Parses the log lines.
fn logged(err: &str) -> Vec<serde_json::Value> {
    err.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn request_logs_contain_no_secrets_or_symbols() {
    let world = world();
    let account = world.json(&["account", "create", "alice"]);
    let token = account["access_token"].as_str().unwrap();
    let mut process = Process::start(&world, &["--log-format", "json"]);
    let (at, _) = process.ready();
    assert_eq!(ask(at, &account)["code"], 0);
    let get =
        |path: &str| http(at, &format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n"));
    assert!(
        get(&format!("/v1/quote/history-candlesticks?symbol=700.HK&access_token={token}")).contains("200 OK")
    );
    assert!(get(&format!("/udf/key/{token}/config")).contains("200 OK"));
    // Unknown paths are logged, except for path segments that may be a token.
    assert!(get("/nobody/knows/this?symbol=700.HK").contains(" 404 "));
    assert!(get(&format!("/v1/assets/{token}/%0A%1b[1m")).contains(" 404 "));
    assert!(get(&format!("/udf/key/{token}/confg")).contains(" 404 "));
    let (_, _, err) = process.stop("TERM");
    let lines: Vec<_> = logged(&err).into_iter().filter(|line| line["target"] == "requests").collect();
    let of = |field: &str| lines.iter().map(|line| line[field].clone()).collect::<Vec<_>>();
    let routes = ["/quote/history-candlesticks", "/v1/quote/history-candlesticks", "/udf/key/{token}/config"];
    assert_eq!(of("http.route"), [&routes[..], &["-"; 3]].concat(), "{err}");
    assert_eq!(of("http.status"), [200, 200, 200, 404, 404, 404]);
    assert_eq!(of("outcome"), ["ok", "ok", "ok", "not_found", "not_found", "not_found"]);
    let cut = format!("/v1/assets/{}…/%0A%1b[1m", &token[..8]);
    let paths = [None, None, None, Some("/nobody/knows/this"), Some(&cut), Some("/udf/key/…/confg")];
    assert_eq!(of("http.path"), paths.map(serde_json::Value::from), "{err}");
    assert_eq!(lines[0]["candles"], 2);
    assert_eq!(lines[1]["candles"], 10);
    assert_eq!(lines[0]["account.id"], account["account_id"], "{err}");
    assert_eq!(lines[3]["account.id"], serde_json::Value::Null);
    assert!(
        lines.iter().all(|line| line["elapsed_ms"].is_f64() && line["trace"].as_str().unwrap().len() == 24)
    );
    for word in [token, "700.HK", "alice"] {
        assert!(!err.contains(word), "{word} is in {err}");
    }
    let mut process = Process::start(&world, &["--log-requests", "false"]);
    let (at, _) = process.ready();
    assert_eq!(ask(at, &account)["code"], 0);
    let (_, _, err) = process.stop("TERM");
    assert!(err.contains("listening") && !err.contains("request"), "{err}");
}

#[test]
fn sighup_reloads_the_certificate() {
    let world = world();
    let renew = || {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        world.write("cert.pem", made.cert.pem());
        world.write("key.pem", made.signing_key.serialize_pem());
    };
    renew();
    let mut process = Process::start(
        &world,
        &[
            "--tls-cert",
            "cert.pem",
            "--tls-key",
            "key.pem",
            "--internal",
            "127.0.0.1:0",
            "--log-format",
            "json",
        ],
    );
    let line: serde_json::Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!(line["tls"], true, "{line}");
    let internal: SocketAddr = line["internal"].as_str().unwrap().parse().unwrap();
    let reloads = || {
        let text = http(internal, "GET /metrics HTTP/1.0\r\n\r\n");
        let value =
            text.lines().find_map(|line| line.strip_prefix("chandler_tls_reloads_total{outcome=\"ok\"} "));
        value.unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(reloads(), 0);
    renew();
    send(&process.child, "HUP");
    while reloads() == 0 {}
    let (code, _, err) = process.stop("TERM");
    assert_eq!(code, Some(0), "{err}");
    assert!(logged(&err).iter().any(|line| line["message"] == "reloading the certificate"), "{err}");
}

#[test]
fn every_listener_serves_with_a_limit_of_one_connection() {
    let world = world();
    let mut process = Process::start(&world, &["--connections-max", "1", "--regional", "us=127.0.0.1:0"]);
    let line: serde_json::Value = serde_json::from_str(&process.line()).unwrap();
    let address = |value: &serde_json::Value| value.as_str().unwrap().parse().unwrap();
    for _ in 0..3 {
        for at in [address(&line["http"]), address(&line["regional"][0]["http"])] {
            assert!(http(at, "GET /healthz HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 200 "));
        }
    }
}

#[test]
fn the_image_health_check_works_with_tls_and_any_port() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/docker");
    let recipe = std::fs::read_to_string(packaging.join("Dockerfile")).unwrap();
    assert!(recipe.contains("CHANDLER_INTERNAL="), "{recipe}");
    let is_healthy = |internal: &str| {
        let mut check = Command::new("bash");
        check.arg(packaging.join("healthy")).env_clear().env("CHANDLER_INTERNAL", internal);
        check.stderr(Stdio::null()).status().unwrap().success()
    };
    let world = world();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    world.write("cert.pem", made.cert.pem());
    world.write("key.pem", made.signing_key.serialize_pem());
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--internal", "127.0.0.1:0"];
    let mut process = Process::start(&world, &tls);
    let line: serde_json::Value = serde_json::from_str(&process.line()).unwrap();
    assert!(is_healthy(line["internal"].as_str().unwrap()), "{line}");
    // The listener for clients uses TLS, which the health check does not support.
    assert!(!is_healthy(line["http"].as_str().unwrap()), "{line}");
    process.stop("TERM");
    assert!(!is_healthy(line["internal"].as_str().unwrap()), "{line}");
    let unwell = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = unwell.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in unwell.incoming() {
            stream.unwrap().write_all(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap();
        }
    });
    assert!(!is_healthy(&address));
}

#[test]
fn flags_override_the_environment_and_the_file() {
    let world = world();
    // Each configuration layer uses a different loopback address.
    world.write(
        "chandler.toml",
        "[server]\nlisten = \"127.0.0.2:0\"\ntcp = \"127.0.0.2:0\"\n[log]\nfilter = \"off\"\n",
    );
    let mut command = world.command(&["serve", "--config", "chandler.toml", "--tcp", "127.0.0.4:0"]);
    command.env("CHANDLER_LISTEN", "127.0.0.3:0").env("CHANDLER_TCP", "127.0.0.3:0");
    let mut process = Process::of(&mut command);
    let (http_at, tcp_at) = process.ready();
    assert_eq!((http_at.ip().to_string(), tcp_at.ip().to_string()), ("127.0.0.3".into(), "127.0.0.4".into()));
    assert_eq!(process.stop("TERM").2, "");
    let mut process = Process::of(&mut world.command(&["serve", "--config", "chandler.toml"]));
    assert_eq!(process.ready().0.ip().to_string(), "127.0.0.2");
}

#[test]
fn a_regional_listener_is_announced_and_serves_only_its_accounts() {
    let world = world();
    let mut process = Process::start(&world, &["--regional", "us=127.0.0.1:0"]);
    let line: serde_json::Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!(line["regional"][0]["region"], "us", "{line}");
    let address = |value: &serde_json::Value| value.as_str().unwrap().parse().unwrap();
    let (all, us) = (address(&line["http"]), address(&line["regional"][0]["http"]));
    for (region, code) in [("us", 0), ("ap", 301_604)] {
        let account = world.json(&["account", "create", region, "--region", region]);
        assert!(account["access_token"].as_str().unwrap().starts_with(region), "{account}");
        assert_eq!(ask(all, &account)["code"], 0);
        assert_eq!(ask(us, &account)["code"], code);
    }
    assert_eq!(process.stop("TERM").0, Some(0));
}

#[test]
fn errors_at_startup_are_one_line() {
    let world = world();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    world.write("unknown.toml", "[server]\nport = 1\n");
    world.write("wrong.toml", "[server]\nlisten = 8080\n");
    world.write("binary.toml", [0xff, 0xfe, 0]);
    let free = "127.0.0.1:0";
    for (arguments, code, says) in [
        (&["serve", "--listen", &address, "--tcp", free][..], 1, &[address.as_str(), "in use"][..]),
        (&["serve", "--listen", free, "--tcp", &address], 1, &[&address, "in use"]),
        (&["serve", "--listen", "192.0.2.1:80", "--tcp", free], 1, &["192.0.2.1:80"]),
        (&["serve", "--listen", "localhost"], 2, &["--listen", "localhost", "127.0.0.1:8080"]),
        (&["serve", "--tcp", "127.0.0.1:70000"], 2, &["--tcp", "70000"]),
        (&["serve", "--regional", "eu=127.0.0.1:1"], 2, &["--regional", "eu=", "us=127.0.0.1:8081"]),
        (&["serve", "--trusted-proxy", "10.0.0.1/8"], 2, &["--trusted-proxy", "10.0.0.1/8", "prefix"]),
        (
            &["serve", "--trusted-proxy", "::1,0.0.0.0/0"],
            2,
            &["--trusted-proxy", "0.0.0.0/0", "every address"],
        ),
        (
            &["serve", "--listen", free, "--tcp", free, "--regional", &format!("us={address}")],
            1,
            &[&address, "in use"],
        ),
        (&["serve", "--internal", "9090"], 2, &["--internal", "9090"]),
        (&["serve", "--tls-cert", "cert.pem"], 2, &["tls_cert", "tls_key", "both"]),
        (
            &[
                "serve",
                "--listen",
                free,
                "--tcp",
                free,
                "--tls-cert",
                "absent.pem",
                "--tls-key",
                "absent.pem",
            ],
            1,
            &["TLS", "absent.pem"],
        ),
        (&["serve", "--connections-max", "0"], 2, &["--connections-max", "1 to"]),
        (
            &["serve", "--listen", "127.0.0.1:5", "--tcp", "127.0.0.1:5"],
            2,
            &["tcp is 127.0.0.1:5", "another port"],
        ),
        (&["serve", "--log", "server=loud"], 2, &["server=loud", "log filter"]),
        (&["serve", "--config", "absent.toml"], 2, &["absent.toml"]),
        (&["serve", "--config", "."], 2, &["cannot read"]),
        (&["serve", "--config", "unknown.toml"], 1, &["unknown.toml", "line 2", "port"]),
        (&["serve", "--config", "wrong.toml"], 1, &["wrong.toml", "line 2"]),
        (&["serve", "--config", "binary.toml"], 2, &["binary.toml"]),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!((found, stderr.lines().count()), (code, 1), "{arguments:?}: {stderr}");
        for word in says {
            assert!(stderr.contains(word), "{arguments:?}: {word:?} is not in {stderr:?}");
        }
    }
}

#[test]
fn a_server_without_a_store_creates_an_empty_one() {
    let world = World::new();
    let mut process = Process::start(&world, &[]);
    let (at, _) = process.ready();
    let account = world.json(&["account", "create", "me"]);
    let token = account["access_token"].as_str().unwrap();
    let listed = http(
        at,
        &format!(
            "GET /v1/securities HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        ),
    );
    assert!(listed.contains("\"store_is_empty\":true"), "{listed}");
    let (code, _, err) = process.stop("TERM");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("created an empty store at"), "{err}");
    // stderr is not a terminal here, so it may be stored and must not contain a sign-in link.
    assert!(!err.contains("/signin/once"), "{err}");
}
