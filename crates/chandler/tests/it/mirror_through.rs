//! Read-through with a real server as the source.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;
use source::{Addresses, Anchor, Answer, Connection, Count, Credentials, Event, Request, SecretText};

use crate::counting_proxy::Proxy;
use crate::mirror::{add, candles, ran};
use crate::mirror_limits::{days, minutes};
use crate::remote::Server;
use crate::world::{Ran, World, machine_seconds};

/// A source, its proxy, and a store without candles that has the source as the mirror `up`.
struct Sides {
    origin: World,
    source: Server,
    proxy: Proxy,
    target: World,
    /// Keys of an account of the target.
    keys: Value,
}

impl Sides {
    fn new() -> Sides {
        let origin = World::with(&[
            ("700.csv", &days("700.HK", "2025-01-02")),
            ("700m.csv", &minutes("700.HK", "2025-10-20")),
            ("5.csv", &days("5.HK", "2025-01-02")),
            ("names.csv", "symbol,name_en,lot_size\n700.HK,Lamp & Wick,100\n"),
        ]);
        let keys = origin.json(&["account", "create", "reader"]);
        let source = Server::of(&origin, keys["access_token"].as_str().unwrap(), &[]);
        let proxy = Proxy::of(&source.url, BTreeMap::new());
        let target = World::with(&[("9.csv", &days("9.HK", "2025-09-01"))]);
        add(&target, &proxy.url, &keys);
        ran(&target, "plan up 700.HK --accept-terms");
        proxy.forget();
        let keys = target.json(&["account", "create", "ann"]);
        Sides { origin, source, proxy, target, keys }
    }

    fn server(&self) -> Server {
        let token = self.keys["access_token"].as_str().unwrap();
        Server::by_machine_clock(&self.target, token, &["--read-through", "up"])
    }

    /// Opens a long connection to the target.
    fn link(&self, server: &Server) -> Connection {
        let text = |name: &str| self.keys[name].as_str().unwrap().to_owned();
        let credentials = Credentials::Key {
            app_key: text("app_key"),
            app_secret: SecretText::new(text("app_secret")),
            access_token: SecretText::new(text("access_token")),
        };
        let addresses = Addresses::parse(&server.url, None).unwrap();
        let password =
            source::one_time_password(&addresses, &credentials, machine_seconds() * 1_000).unwrap();
        Connection::open(&addresses, &password, false).unwrap()
    }
}

fn answer(link: &mut Connection, request: Request) -> Result<Answer, source::SourceError> {
    link.send(request).unwrap();
    loop {
        if let Some(Event::Answer { answer, .. }) = link.receive(Duration::from_secs(20)).unwrap() {
            return answer;
        }
    }
}

fn history(symbol: &str, period: source::Period, count: usize) -> Request {
    Request::History {
        symbol: symbol.parse().unwrap(),
        period,
        adjust: source::Adjust::Actual,
        sessions: source::Sessions::Regular,
        anchor: Some(Anchor { date: "2025-10-31".parse().unwrap(), minute: None }),
        count: Count::of(count),
    }
}

/// Repeats a request until its result is complete, for at most a minute, and returns the last result.
/// On a busy machine, a response is incomplete because the server waits only a few seconds for the
/// source.
fn until<T>(mut request: impl FnMut() -> T, is_complete: impl Fn(&T) -> bool) -> T {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let result = request();
        if is_complete(&result) || Instant::now() > patience {
            return result;
        }
    }
}

/// Repeats a command until it succeeds.
fn until_done(server: &Server, world: &World, line: &[&str]) -> Ran {
    until(|| server.run(world, line), |ran| ran.code == Some(0))
}

fn code(error: &source::SourceError) -> u64 {
    match error {
        source::SourceError::Refused { code, .. } => *code,
        other => panic!("{other}"),
    }
}

#[test]
fn all_transports_answer_with_the_candles_of_the_source() {
    let sides = Sides::new();
    let server = sides.server();
    for question in [
        "700.HK --start 2025-10-02 --end 2025-10-31",
        "700.HK -p week --start 2025-02-03 --end 2025-10-31",
        "700.HK -p 5m --start 2025-10-28 --end 2025-10-31",
    ] {
        let line: Vec<&str> =
            ["kline"].into_iter().chain(question.split(' ')).chain(["--format", "csv"]).collect();
        let here = sides.origin.run(&line);
        assert!(here.stdout.lines().count() > 15, "{question}: {}", here.stderr);
        let ask = || {
            let pages = sides.proxy.history();
            let ran = server.run(&sides.target, &line);
            (ran, sides.proxy.history() - pages)
        };
        let (there, _) = until(ask, |(ran, _)| ran.stdout == here.stdout);
        assert_eq!(there.stdout, here.stdout, "{question}: {}", there.stderr);
        // The last page of the first request may still be pending.
        let (there, pages) = until(ask, |(_, pages)| *pages == 0);
        assert_eq!((there.stdout, pages), (here.stdout, 0), "{question}: it is stored");
    }

    let mut link = sides.link(&server);
    let page = until(
        || answer(&mut link, history("5.HK", source::Period::Day, 100)),
        |page| matches!(page, Ok(Answer::Candles(page)) if page.candles.len() == 100),
    );
    assert!(matches!(&page, Ok(Answer::Candles(page)) if page.candles.len() == 100), "{page:?}");
    let symbols = vec!["5.HK".parse().unwrap(), "700.HK".parse().unwrap()];
    let all = until(
        || answer(&mut link, Request::StaticInfo { symbols: symbols.clone() }),
        |all| matches!(all, Ok(Answer::StaticInfo(all)) if all.len() == 2),
    );
    let Ok(Answer::StaticInfo(all)) = all else { panic!("{all:?}") };
    assert_eq!(all[1].name_en.as_deref(), Some("Lamp & Wick"));
    let pages = sides.proxy.history();
    for _ in 0..2 {
        let unknown = until(
            || answer(&mut link, history("9999.HK", source::Period::Day, 10)),
            |answer| answer.as_ref().is_err_and(|error| code(error) == 301_600),
        );
        assert_eq!(code(&unknown.unwrap_err()), 301_600);
    }
    assert_eq!(sides.proxy.history(), pages, "static data shows that the security is unknown");
    drop((link, server));
    sides.target.ok(&["check"]);
    // The account of the target is charged for what it read.
    assert_eq!(sides.target.json(&["quota", "ann"])["used"], 2);
}

#[test]
fn nothing_is_requested_with_another_clock_or_without_access() {
    let sides = Sides::new();
    let line = ["kline", "700.HK", "--start", "2025-10-02", "--end", "2025-10-31"];
    {
        let token = sides.keys["access_token"].as_str().unwrap();
        let server = Server::of(&sides.target, token, &["--read-through", "up"]);
        assert_eq!(server.run(&sides.target, &line).code, Some(1), "the clock is set");
    }
    let mut server = sides.server();
    let created = sides.target.json(&["world", "create", "march", "--start", "2025-10-30"]);
    let own = std::mem::replace(
        &mut server.token,
        created["credentials"]["access_token"].as_str().unwrap().to_owned(),
    );
    assert_eq!(server.run(&sides.target, &line).code, Some(1), "a world has its own clock");
    server.token = own;
    assert_eq!(sides.proxy.most(), (0, 0));
    // An account without the right to the market.
    let token = sides.target.json(&["account", "create", "bob", "--markets", "US"]);
    let own = std::mem::replace(&mut server.token, token["access_token"].as_str().unwrap().to_owned());
    let refused = server.run(&sides.target, &line);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("lacks the right HK"), "{}", refused.stderr);
    assert_eq!(sides.proxy.most(), (0, 0));
    server.token = own;
    let ran = until_done(&server, &sides.target, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(sides.proxy.history(), 1);
}

#[test]
fn a_source_that_does_not_respond_delays_only_requests_for_missing_data() {
    let mut sides = Sides::new();
    let address = sides.source.url.strip_prefix("http://").unwrap().to_owned();
    sides.source.kill();
    // Connections are accepted by the system, and nothing reads from them.
    let _silent = TcpListener::bind(&address).unwrap();
    let server = sides.server();
    let mut link = sides.link(&server);
    let began = Instant::now();
    let missing = link.send(history("700.HK", source::Period::Day, 10)).unwrap();
    let stored = link.send(history("9.HK", source::Period::Day, 10)).unwrap();
    let mut order = Vec::new();
    while order.len() < 2 {
        let Some(Event::Answer { id, answer }) = link.receive(Duration::from_secs(25)).unwrap() else {
            continue;
        };
        if id == missing {
            assert_eq!(code(&answer.unwrap_err()), 301_603);
        } else {
            assert!(matches!(answer, Ok(Answer::Candles(page)) if page.candles.len() == 10));
        }
        order.push(id);
    }
    assert_eq!(order, [stored, missing]);
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn a_server_does_not_start_without_its_mirror() {
    let world = World::with(&[("9.csv", &days("9.HK", "2025-09-01"))]);
    let refused = |expected: &str| {
        for flag in ["--read-through", "--mirror"] {
            let (code, text) =
                world.fails(&["serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", flag, "up"]);
            assert!(code == 2 && text.contains(expected), "{flag}: {code} {text}");
        }
    };
    refused("there is no mirror \"up\"");
    let key = serde_json::json!({"app_key": "key", "app_secret": "secret", "access_token": "token"});
    add(&world, "http://127.0.0.1:9", &key);
    refused("`chandler mirror plan up --accept-terms` once");
}

#[test]
fn a_run_of_another_process_and_read_through_exclude_each_other() {
    let sides = Sides::new();
    let server = sides.server();
    let line = ["kline", "700.HK", "--start", "2025-10-02", "--end", "2025-10-31"];
    let ran_there = until_done(&server, &sides.target, &line);
    assert_eq!(ran_there.code, Some(0), "{}", ran_there.stderr);
    // The server holds the lock for some seconds after its last request.
    let (code, text) = sides.target.fails(&["mirror", "run", "up"]);
    assert!(code == 1 && text.contains("runs the mirror up"), "{text}");
    drop(server);
    let report = ran(&sides.target, "run up");
    assert_eq!(report["failed"], Value::Array(Vec::new()), "{report}");
    for period in ["day", "1m"] {
        let of = |world| candles(world, "700.HK", period, "none");
        assert_eq!(of(&sides.target), of(&sides.origin), "{period}");
    }
}

#[test]
fn a_server_follows_a_mirror_only_by_the_machine_clock_and_shows_its_state() {
    let mut sides = Sides::new();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--mirror", "up"];
    let (code, text) = sides.target.fails(&serve);
    assert!(code == 2 && text.contains("cannot be used with --clock"), "{code} {text}");
    assert_eq!(ran(&sides.target, "status up")[0]["following"], Value::Null);

    let token = sides.keys["access_token"].as_str().unwrap().to_owned();
    let server = Server::by_machine_clock(&sides.target, &token, &["--mirror", "up"]);
    let until = |field: &str, expected: Value| {
        let patience = Instant::now() + Duration::from_secs(90);
        loop {
            let following = ran(&sides.target, "status up")[0]["following"].clone();
            if following[field] == expected {
                return following;
            }
            assert!(Instant::now() < patience, "{field}: {following}");
        }
    };
    let following = until("connected", Value::Bool(true));
    assert_eq!((&following["running"], &following["securities"]), (&Value::Bool(true), &1.into()));
    // A run of the same mirror is possible meanwhile.
    assert_eq!(ran(&sides.target, "run up")["failed"], Value::Array(Vec::new()));
    sides.source.kill();
    let following = until("connected", Value::Bool(false));
    assert!(following["error"].as_str().is_some(), "{following}");
    let shown = sides.target.ok(&["mirror", "status", "up"]);
    assert!(shown.contains("up: following, not connected since"), "{shown}");
    drop(server);
    let shown = sides.target.ok(&["mirror", "status", "up"]);
    assert!(shown.contains("up: not followed; last push never, 0 rows"), "{shown}");
}
