//! Tests of `--server`: a query has the same output, byte for byte, with a local store and with a
//! server of the same store.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::world::{Ran, World, days, hour};

/// Server of a test store, with the token of an account. The process is killed on drop.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    fn start(world: &World, account: &[&str]) -> Server {
        let account = world.json(&[&["account", "create", "ann", "--overnight"], account].concat());
        Server::of(world, account["access_token"].as_str().unwrap(), &[])
    }

    /// Starts a server for an existing account, with additional flags.
    pub(crate) fn of(world: &World, token: &str, flags: &[&str]) -> Server {
        Server::at("127.0.0.1:0", world, token, flags)
    }

    /// Starts the killed server again at its address.
    pub(crate) fn restart(&mut self, world: &World, flags: &[&str]) {
        let address = self.url.strip_prefix("http://").unwrap();
        *self = Server::at(address, world, &self.token, flags);
    }

    /// Starts a server like [`Server::of`], whose market clock is the machine's.
    pub(crate) fn by_machine_clock(world: &World, token: &str, flags: &[&str]) -> Server {
        let mut command = world.command(&[&Server::serve("127.0.0.1:0"), flags].concat());
        command.env_remove("CHANDLER_CLOCK");
        Server::spawn(command, token)
    }

    fn serve(address: &str) -> [&str; 7] {
        ["serve", "--listen", address, "--tcp", "127.0.0.1:0", "--log", "error"]
    }

    fn at(address: &str, world: &World, token: &str, flags: &[&str]) -> Server {
        Server::spawn(world.command(&[&Server::serve(address), flags].concat()), token)
    }

    fn spawn(mut command: Command, token: &str) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = format!("http://{}", ready["http"].as_str().unwrap());
        Server { child, url, token: token.to_owned() }
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns a command that uses this server and no store.
    pub(crate) fn command(&self, world: &World, arguments: &[&str]) -> Command {
        let mut command = world.command(&[arguments, &["--server", &self.url]].concat());
        command
            .env_remove("CHANDLER_STORE")
            .env("CHANDLER_TOKEN", &self.token)
            .env("HOME", world.path("home"));
        command
    }

    pub(crate) fn run(&self, world: &World, arguments: &[&str]) -> Ran {
        Ran::of(self.command(world, arguments).output().unwrap())
    }
}

fn world() -> World {
    let names = "symbol,name_en,name_hk,decimals\n700.HK,Lamp & Wick,燈,3\n701.HK,,燭,2\n";
    let actions = "symbol,ex_date,cash,split,bonus,rights,rights_price\n700.HK,2026-11-10,1.5,1,0,0,0\n";
    let fine = "symbol,time,open,high,low,close,volume,turnover\n\
        701.HK,2026-11-12,1.12345,1.2345,1.11111,1.15,10,11.23456\n701.HK,2026-11-13,1.15,1.2,1.1,1.16,20,23.5\n";
    World::with(&[
        ("names.csv", names),
        ("days.csv", &days("700.HK")),
        ("hour.csv", &hour("700.HK")),
        ("fine.csv", fine),
        ("actions.csv", actions),
    ])
}

#[test]
fn server_and_store_answers_are_identical() {
    let world = world();
    let server = Server::start(&world, &[]);
    let questions: [&[&str]; 10] = [
        &["700.HK"],
        &["700.hk", "-n", "3", "--adjust", "forward"],
        &["700.HK", "--before", "2026-11-06", "-n", "2"],
        &["700.HK", "--after", "2026-11-06", "-n", "3"],
        &["700.HK", "--start", "2026-11-04", "--end", "2026-11-10"],
        &["700.HK", "--start", "2026-11-11"],
        &["700.HK", "-p", "5m", "-n", "4"],
        &["700.HK", "-p", "1m", "--before", "2026-11-13 09:40", "-n", "7"],
        &["701.HK", "-n", "1", "--before", "2026-11-12"],
        &["701.HK", "-p", "week"],
    ];
    for question in questions {
        for format in ["table", "json", "csv", "chart"] {
            let arguments = [&["kline"], question, &["--format", format]].concat();
            let (here, there) = (world.run(&arguments), server.run(&world, &arguments));
            assert_eq!(there.stdout, here.stdout, "{arguments:?}: {}", there.stderr);
            assert_eq!((there.code, there.stderr), (here.code, here.stderr), "{arguments:?}");
        }
        let parquet =
            |name: &'static str| [&["kline"], question, &["--format", "parquet", "-o", name]].concat();
        world.ok(&parquet("here.parquet"));
        assert_eq!(server.run(&world, &parquet("there.parquet")).code, Some(0));
        let read = |name: &str| std::fs::read(world.path(name)).unwrap();
        assert_eq!(read("there.parquet"), read("here.parquet"), "{question:?}");
    }
}

#[test]
fn thousands_of_candles_are_read_page_by_page() {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    let mut day = jiff::civil::date(2015, 1, 1);
    for number in 1..=3500 {
        text += &format!("700.HK,{day},{number},{number},{number},{number},1\n");
        day = day.tomorrow().unwrap();
    }
    let world = World::with(&[("many.csv", &text)]);
    let server = Server::start(&world, &[]);
    for question in
        [&["-n", "3300"][..], &["--start", "2015-01-02"], &["-n", "3300", "--after", "2015-01-05"]]
    {
        let arguments = [&["kline", "700.HK", "--format", "csv"], question].concat();
        let there = server.run(&world, &arguments);
        assert_eq!(there.code, Some(0), "{}", there.stderr);
        assert_eq!(there.stdout, world.ok(&arguments));
    }
}

#[test]
fn a_token_is_required_and_the_sdk_token_is_accepted() {
    let world = world();
    let server = Server::start(&world, &[]);
    let run = |change: &dyn Fn(&mut Command)| {
        let mut command = server.command(&world, &["kline", "700.HK"]);
        change(&mut command);
        Ran::of(command.output().unwrap())
    };
    let none = run(&|command| {
        command.env_remove("CHANDLER_TOKEN");
    });
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("chandler login"), "{}", none.stderr);
    let wrong = run(&|command| {
        command.env("CHANDLER_TOKEN", "ap_wrong");
    });
    assert_eq!(wrong.code, Some(1));
    // The variable takes precedence over a login, so a login would not help while the variable is
    // set.
    assert!(
        wrong.stderr.contains("CHANDLER_TOKEN")
            && wrong.stderr.contains("unset")
            && !wrong.stderr.contains("ap_wrong"),
        "{}",
        wrong.stderr
    );
    for broken in ["ap_ключ", "ap_x ap_y", "ap_x\r"] {
        let broken = run(&|command| {
            command.env("CHANDLER_TOKEN", broken);
        });
        assert!(
            broken.code == Some(2) && broken.stderr.contains("CHANDLER_TOKEN is no"),
            "{}",
            broken.stderr
        );
        assert!(!broken.stderr.contains("ap_"), "{}", broken.stderr);
    }
    let with_sdk = |url: &str| {
        run(&|command| {
            command.env_remove("CHANDLER_TOKEN").env("LONGPORT_ACCESS_TOKEN", &server.token);
            command.env("LONGPORT_HTTP_URL", url);
        })
    };
    assert_eq!(with_sdk(&server.url).code, Some(0));
    // The SDK's variables name another server, so the token must not be sent to this server.
    assert_eq!(with_sdk("http://127.0.0.1:9").code, Some(1));
}

#[test]
fn errors_from_a_server_are_reported_with_advice() {
    let world = world();
    let server = Server::start(&world, &["--quota", "1"]);
    assert_eq!(server.run(&world, &["kline", "700.HK"]).code, Some(0));
    let spent = server.run(&world, &["kline", "701.HK"]);
    assert_eq!(spent.code, Some(1));
    for part in ["1 of 1 securities", "2026-12-01", "301607", "chandler quota"] {
        assert!(spent.stderr.contains(part), "{part:?} is not in {:?}", spent.stderr);
    }
    let unknown = server.run(&world, &["kline", "7000.HK"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("7000.HK is not known; did you mean 700.HK?"), "{}", unknown.stderr);
    let bare = server.run(&world, &["kline", "700"]);
    assert_eq!(bare.code, Some(2));
    assert!(bare.stderr.ends_with("did you mean 700.HK?\n"), "{}", bare.stderr);
    let quota = server.run(&world, &["quota"]);
    assert_eq!(quota.stdout, world.ok(&["quota", "ann"]));
    let quota = server.run(&world, &["quota", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&quota.stdout).unwrap(), world.json(&["quota", "ann"]));
}

#[test]
fn an_operator_reads_a_servers_ledger_and_quarantine() {
    let bad =
        "symbol,time,open,high,low,close,volume\n700.HK,2026-11-12,1,2,3,1,1\n700.HK,2026-11-13,1,1,1,1,1\n";
    let world = World::with(&[("days.csv", &days("701.HK")), ("bad.csv", bad)]);
    let server = Server::start(&world, &["--role", "operator"]);
    for arguments in [
        &["imports"][..],
        &["imports", "-n", "1", "--format", "json"],
        &["quarantine"],
        &["quarantine", "700.HK"],
        &["quarantine", "--format", "json"],
    ] {
        let there = server.run(&world, arguments);
        assert_eq!(there.stdout, world.ok(arguments), "{arguments:?}: {}", there.stderr);
    }
}

#[test]
fn a_store_on_the_command_line_overrides_a_server_from_the_environment() {
    let world = world();
    let store = format!("sqlite:{}", world.path("store").display());
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("CHANDLER_SERVER", "http://127.0.0.1:9").env("HOME", world.path("home"));
        command.env("CHANDLER_TOKEN", "x");
        Ran::of(command.output().unwrap())
    };
    assert_eq!(run(&["kline", "700.HK", "--store", &store]).code, Some(0));
    let there = run(&["kline", "700.HK"]);
    assert_eq!(there.code, Some(1));
    assert!(there.stderr.contains("cannot reach http://127.0.0.1:9"), "{}", there.stderr);
    assert_eq!(run(&["kline", "700.HK", "--store", &store, "--server", "http://127.0.0.1:9"]).code, Some(2));
}

/// Starts a server that answers the first request for candles, but not the second. The receiver is
/// notified when the second request has arrived.
fn falls_silent() -> (String, std::sync::mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut requested = 0;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = request(&mut stream);
            let (kind, body) = if head.contains("history-candlesticks") {
                requested += 1;
                let columns = "symbol,time,open,high,low,close,volume,turnover,session";
                let row = "700.HK,2026-11-13T00:00:00+08:00,1.0,2.0,0.5,1.5,7,10.25,intraday";
                ("text/csv", format!("{columns}\n{row}\n"))
            } else {
                ("application/json", r#"{"code":0,"message":"","data":{"decimals":2}}"#.to_owned())
            };
            if requested == 2 {
                sender.send(()).unwrap();
                stream.read_to_end(&mut Vec::new()).ok();
                return;
            }
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}"
            );
            write!(stream, "{head}\r\n\r\n{body}").unwrap();
        }
    });
    (url, receiver)
}

fn request(stream: &mut TcpStream) -> String {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    head.join("\n")
}

#[cfg(target_os = "linux")]
#[test]
fn watching_a_silent_server_ends_immediately_and_restores_the_screen() {
    for keys in ["q", "\x03\x03"] {
        let (world, (url, silent)) = (World::new(), falls_silent());
        let line = format!("kline 700.HK --format chart --watch=1 --server {url}");
        let mut command = world.on_a_terminal(&line);
        command.env("HOME", world.path("home")).env("CHANDLER_TOKEN", "ap_x").env_remove("CHANDLER_STORE");
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        silent.recv().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{keys:?}: {text:?}");
        assert!(
            text.contains("\x1b[?1049h") && text.trim_end().ends_with("\x1b[?25h\x1b[?1049l"),
            "{keys:?}: {text:?}"
        );
        // If the command had waited for the server, it would have reported a timeout.
        assert!(!text.contains("cannot reach"), "{keys:?}: {text:?}");
    }
}

#[test]
fn auth_status_shows_a_token_from_the_environment() {
    let world = world();
    let server = Server::start(&world, &[]);
    let status = server.run(&world, &["auth", "status", "--format", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap_or_else(|_| panic!("{}", status.stderr));
    assert_eq!((&status["account"], &status["token_from"]), (&"ann".into(), &"CHANDLER_TOKEN".into()));
    assert_eq!((&status["client_id"], &status["problem"]), (&Value::Null, &Value::Null));
    let shown = server.run(&world, &["auth", "status"]);
    assert!(
        shown.stdout.contains("\"ann\"") && shown.stdout.contains("from CHANDLER_TOKEN"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stdout.contains(&server.token));
}

#[test]
fn a_login_over_plain_http_does_not_permit_other_tokens() {
    let world = world();
    let there = "http://chandler.invalid:1";
    let registration = serde_json::json!({
        "client_id": "c", "client_name": "n", "registration_access_token": "r", "registration_client_uri": "u",
    });
    let book = serde_json::json!({"current": there, "servers": {there: registration}});
    world.write("home/.config/chandler/login.json", book.to_string());
    let run = |token: &str| {
        let mut command = world.command(&["connections", "--server", there]);
        command.env("HOME", world.path("home")).env("CHANDLER_TOKEN", token);
        Ran::of(command.output().unwrap())
    };
    let refused = run("ap_x");
    assert!(refused.code == Some(2) && refused.stderr.contains("--insecure-http"), "{}", refused.stderr);
    // The login's own token could be sent over plain HTTP, but there is none.
    let own = run("");
    assert!(own.code == Some(1) && own.stderr.contains("not signed in"), "{}", own.stderr);
}
