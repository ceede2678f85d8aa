//! Tests of `chandler login` and related commands against a stub server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::world::{Ran, World, send};

const CLIENT: &str = "5f0c1c5e-2b51-4f3c-9a43-0a6f5d2c7711";
const SECRETS: [&str; 4] = ["us_secret", "refresh_secret", "rat_secret", "device_secret"];

/// Stub server that records its requests. Its thread ends with the test process.
struct Stub {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    fn start(answer: impl Fn(&str, &str) -> (u16, Value) + Send + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let request = Arc::<Mutex<Vec<String>>>::default();
        let heard = request.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    if stream.read_line(&mut line).unwrap() <= 2 {
                        break;
                    }
                    let line = line.trim_end();
                    if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                        length = text.parse().unwrap();
                    }
                    head += line;
                    head += "\n";
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).unwrap();
                let body = String::from_utf8(body).unwrap();
                let what = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
                let (status, answer) = answer(&what, &body);
                heard.lock().unwrap().push(format!("{head}\n{body}"));
                let answer = if status == 204 { String::new() } else { answer.to_string() };
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n",
                    answer.len()
                );
                stream.get_mut().write_all(format!("{head}{answer}").as_bytes()).unwrap();
            }
        });
        Stub { url, requests: request }
    }

    /// Returns the distinct request lines in the order of their first occurrence.
    fn requests(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for request in self.requests.lock().unwrap().iter() {
            let line = request.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    fn count(&self, line: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|request| request.starts_with(line)).count()
    }
}

/// Starts a stub server on which the user has decided before the first poll. Tokens are valid for
/// `life_s` seconds.
fn decided(decision: &'static str, life_s: i64) -> Stub {
    Stub::start(move |what, body| match what {
        "POST /oauth2/register" => (
            201,
            json!({"client_id": CLIENT, "registration_access_token": "rat_secret", "registration_client_uri": "x"}),
        ),
        "POST /oauth2/device/authorize" => (200, device(1)),
        "POST /oauth2/token" if decision == "approve" || body.contains("refresh_token") => (
            200,
            json!({"access_token": "us_secret", "refresh_token": "refresh_secret", "token_type": "Bearer",
                   "expires_in": life_s, "scope": "openapi"}),
        ),
        "POST /oauth2/token" => (400, json!({"error": decision})),
        "POST /oauth2/revoke" => (200, json!({})),
        "GET /v1/connections" => data(json!({
            "connections": [{"id": "3", "account_id": 7, "account": "ana", "door": "tcp", "address": "127.0.0.1:9",
                             "since": "2026-11-15T02:00:00Z"}],
            "online": 1, "limit": 10, "account_id": 7, "account": "ana", "region": "us",
        })),
        "GET /v1/quote/my-quotes?market=ALL" => data(json!({"activated_lists": [{"name": "HK candles"}]})),
        "GET /v1/quota" => data(json!({"used": 3, "limit": 100})),
        "DELETE /v1/connections/3" => data(json!({"id": "3"})),
        what if what.starts_with("DELETE /oauth2/register/") => (204, Value::Null),
        _ => (404, json!({"code": 404, "message": "not found", "data": null})),
    })
}

fn device(interval: u64) -> Value {
    json!({"device_code": "device_secret", "user_code": "BCDF-GHJK", "verification_uri": "http://127.0.0.1:1/confirm",
           "verification_uri_complete": "http://127.0.0.1:1/confirm?user_code=BCDF-GHJK", "expires_in": 600,
           "interval": interval})
}

fn data(data: Value) -> (u16, Value) {
    (200, json!({"code": 0, "message": "success", "data": data}))
}

fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments);
    command.env("HOME", world.path("home")).env("USER", "ana").env("HOSTNAME", "lab");
    command
}

fn run(world: &World, arguments: &[&str]) -> Ran {
    let ran = Ran::of(command(world, arguments).output().unwrap());
    for secret in SECRETS {
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{secret} was printed");
    }
    ran
}

fn ok(world: &World, arguments: &[&str]) -> String {
    let ran = run(world, arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
    ran.stdout
}

fn login(world: &World, stub: &Stub, more: &[&str]) -> String {
    ok(world, &[&["login", "--server", &stub.url], more].concat())
}

#[test]
fn a_login_stores_a_token_for_sdks_and_a_logout_removes_it() {
    let (world, stub) = (World::new(), decided("approve", 2_592_000));
    let said = login(&world, &stub, &["--file-as", "your-client-id"]);
    for part in [
        "http://127.0.0.1:1/confirm?user_code=BCDF-GHJK",
        "    BCDF-GHJK\n",
        "\"ana\"",
        CLIENT,
        &format!("export LONGBRIDGE_HTTP_URL='{}'", stub.url),
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert!(!said.contains("APP_KEY"), "{said}");
    let tokens = world.path("home/.longbridge/openapi/tokens");
    for name in [CLIENT, "your-client-id"] {
        let file: Value = serde_json::from_slice(&std::fs::read(tokens.join(name)).unwrap()).unwrap();
        assert_eq!(
            (&file["client_id"], &file["access_token"], &file["refresh_token"]),
            (&name.into(), &"us_secret".into(), &"refresh_secret".into())
        );
        assert!(file["expires_at"].is_i64());
    }
    let registered = &stub.requests.lock().unwrap()[0].clone();
    assert!(registered.contains("ana@lab (chandler)"), "{registered}");

    let status: Value = serde_json::from_str(&ok(&world, &["auth", "status", "--format", "json"])).unwrap();
    for (name, value) in [
        ("server", json!(stub.url)),
        ("account", json!("ana")),
        ("region", json!("us")),
        ("packages", json!(["HK candles"])),
        ("problem", json!(null)),
    ] {
        assert_eq!(status[name], value, "{status}");
    }
    assert_eq!(status["quota"]["limit"], 100);
    let status = ok(&world, &["auth", "status"]);
    assert!(status.contains("3 of 100") && status.contains("\"ana\""), "{status}");

    let table = ok(&world, &["connections"]);
    assert!(table.contains("127.0.0.1:9") && table.contains("1 of 10 connections"), "{table}");
    assert!(ok(&world, &["connections", "--close", "3"]).contains("closed"));

    let said = ok(&world, &["logout"]);
    assert!(said.contains("token is revoked") && said.contains("signed out"), "{said}");
    assert!(stub.requests().contains(&format!("DELETE /oauth2/register/{CLIENT}")), "{:?}", stub.requests());
    assert_eq!(std::fs::read_dir(&tokens).unwrap().count(), 0);
    assert!(!world.path("home/.config/chandler/login.json").exists());
    assert!(ok(&world, &["logout", "--server", &stub.url]).contains("not signed in"));
}

#[cfg(unix)]
#[test]
fn login_files_are_readable_only_by_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let (world, stub) = (World::new(), decided("approve", 1000));
    login(&world, &stub, &[]);
    let token = format!(".longbridge/openapi/tokens/{CLIENT}");
    for (name, mode) in [
        (token.as_str(), 0o600),
        (".longbridge/openapi/tokens", 0o700),
        (".config/chandler/login.json", 0o600),
        (".config/chandler", 0o700),
    ] {
        let found = world.path("home").join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name} has mode {found:o}");
    }
}

#[test]
fn a_second_login_reuses_the_client_and_revokes_the_previous_token() {
    let (world, stub) = (World::new(), decided("approve", 1000));
    login(&world, &stub, &[]);
    // The server's address is stored.
    ok(&world, &["login"]);
    assert_eq!(stub.count("POST /oauth2/register "), 1);
    assert_eq!(stub.count("POST /oauth2/revoke "), 1);
    // A login with another client name registers another client and removes the old client.
    ok(&world, &["login", "--client-name", "workbench"]);
    assert_eq!(stub.count("POST /oauth2/register "), 2);
    assert_eq!(stub.count("DELETE /oauth2/register/"), 1);
}

#[test]
fn an_unknown_client_is_registered_again_under_the_same_names() {
    let world = World::new();
    // The first client is registered on the server for one login, and afterwards only the second
    // client.
    let registered = std::sync::atomic::AtomicUsize::new(0);
    let begun = std::sync::atomic::AtomicUsize::new(0);
    let count = |counter: &std::sync::atomic::AtomicUsize| {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1
    };
    let stub = Stub::start(move |what, body| match what {
        "POST /oauth2/register" => {
            let client_id = format!("client-{}", count(&registered));
            (201, json!({"client_id": client_id, "registration_access_token": "rat_secret"}))
        }
        "POST /oauth2/device/authorize" if body.contains("client-1") && count(&begun) > 1 => {
            (400, json!({"error": "invalid_client"}))
        }
        "POST /oauth2/device/authorize" => (200, device(1)),
        "POST /oauth2/token" => (
            200,
            json!({"access_token": "us_secret", "refresh_token": "refresh_secret", "token_type": "Bearer",
                   "expires_in": 1000, "scope": "openapi"}),
        ),
        what if what.starts_with("DELETE /oauth2/register/") => (204, Value::Null),
        _ => (200, json!({})),
    });
    let files = || {
        let folder = std::fs::read_dir(world.path("home/.longbridge/openapi/tokens")).unwrap();
        let mut names: Vec<String> =
            folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    login(&world, &stub, &["--file-as", "your-client-id"]);
    assert_eq!(files(), ["client-1", "your-client-id"]);
    login(&world, &stub, &[]);
    assert_eq!(files(), ["client-2", "your-client-id"]);
    // A new client name also registers a new client.
    login(&world, &stub, &["--client-name", "workbench"]);
    assert_eq!(files(), ["client-3", "your-client-id"]);
}

#[test]
fn a_denied_login_stores_no_token() {
    for (decision, word) in
        [("access_denied", "denied"), ("expired_token", "in time"), ("invalid_scope", "invalid_scope")]
    {
        let (world, stub) = (World::new(), decided(decision, 1000));
        let ran = run(&world, &["login", "--server", &stub.url]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains(word), "{}", ran.stderr);
        assert!(!world.path("home/.longbridge").exists());
    }
}

#[test]
fn an_expiring_token_is_renewed() {
    let (world, stub) = (World::new(), decided("approve", 200));
    login(&world, &stub, &[]);
    ok(&world, &["connections"]);
    let request = stub.requests.lock().unwrap();
    let renewed =
        request.iter().find(|request| request.contains("grant_type=refresh_token")).expect("a renewal");
    assert!(renewed.contains("x-dc-region: us"), "{renewed}");
}

#[test]
fn a_logout_works_if_the_server_is_unreachable() {
    let (world, stub) = (World::new(), decided("approve", 1000));
    login(&world, &stub, &[]);
    // The URL in the login file is changed to a port on which no process listens.
    let book = world.path("home/.config/chandler/login.json");
    let text = std::fs::read_to_string(&book).unwrap();
    std::fs::write(&book, text.replace(&stub.url, "http://127.0.0.1:1")).unwrap();
    let status = ok(&world, &["auth", "status"]);
    assert!(status.contains("cannot reach"), "{status}");
    let said = ok(&world, &["logout"]);
    assert!(said.contains("cannot reach") && said.contains("signed out"), "{said}");
    assert!(!book.exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_waiting_login() {
    let (world, stub) = (
        World::new(),
        Stub::start(|what, _| match what {
            "POST /oauth2/register" => {
                (201, json!({"client_id": CLIENT, "registration_access_token": "rat_secret"}))
            }
            _ => (200, device(60)),
        }),
    );
    let mut child = command(&world, &["login", "--server", &stub.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("Waiting")));
    send(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!world.path("home/.longbridge").exists());
}

#[test]
fn errors_before_a_request_are_one_line() {
    let (world, stub) = (World::new(), decided("approve", 1000));
    for (arguments, code, says) in [
        (&["login", "--server", "http://quotes.example.org"][..], 2, &["--insecure-http", "https"][..]),
        (&["login", "--server", "quotes.example.org"], 2, &["quotes.example.org"]),
        (&["login", "--server", "http://127.0.0.1@example.org"], 2, &["user name"]),
        (&["login", "--server", &stub.url, "--client-name", " "], 2, &["--client-name"]),
        (&["login", "--server", &stub.url, "--file-as", "../x"], 2, &["../x", "client id"]),
        (&["connections", "--server", &stub.url], 1, &["chandler login", "CHANDLER_TOKEN"]),
        (&["auth", "status", "--server", &stub.url], 1, &["chandler login"]),
        (&["connections", "--close", "3", "--account", "all"], 2, &[]),
    ] {
        let ran = run(&world, arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
        for word in says {
            assert!(ran.stderr.contains(word), "{arguments:?}: {word:?} is not in {:?}", ran.stderr);
        }
    }
    let mut unknown = command(&world, &["connections", "--server", &stub.url, "--account", "bo b"]);
    let ran = Ran::of(unknown.env("CHANDLER_TOKEN", "us_given").output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("not found") && ran.stderr.contains("404"), "{}", ran.stderr);
    let request = stub.requests.lock().unwrap();
    let last = request.last().unwrap();
    assert!(last.contains("account=bo+b") && last.to_ascii_lowercase().contains("bearer us_given"), "{last}");
}
