//! Checks that times in the JSON output of every command are in RFC 3339 format, with the local
//! store and with a server. The list of commands comes from the generated manual, so a new command
//! fails this test until it is added to one of the lists.

use std::collections::BTreeSet;

use serde_json::{Deserializer, Value};
use store::{Accounts, NewTopic, StoreError};

use crate::remote::Server;
use crate::world::{Ran, World, machine_seconds};

const SECURITIES: &str =
    "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n";
/// The last row is at 12:30, outside trading hours, and is quarantined.
const MINUTES: &str = "symbol,time,open,high,low,close,volume\n\
    700.HK,2026-03-18 10:00,305,305,300,305,50000\n\
    700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n\
    700.HK,2026-03-18 10:02,305.6,305.6,304.8,305,50000\n\
    700.HK,2026-03-18 10:03,305,305.4,304.8,305.2,2000\n\
    700.HK,2026-03-18 12:30,305,305.4,304.8,305.2,2000\n";

const JSON: [&str; 2] = ["--format", "json"];
/// Clocks for the commands: before the market moves, when orders are filled, and on the next day.
const BEFORE: &str = "2026-03-18T10:00:15+08:00";
const LATER: &str = "2026-03-18T10:04:30+08:00";
const NEXT: &str = "2026-03-19T10:00:00+08:00";

/// Commands that are run on the local store in this order. Each group has its own clock.
const HERE: &[(&str, &[&str])] = &[
    (
        BEFORE,
        &[
            "account create ann --cash HKD=500000 --unlimited",
            "account create op --role operator",
            "account create old",
            "account rates USD 7.8 --day 2026-03-01",
            "account rates --list",
            "account position ann 700.HK 500 300",
            "account deposit ann 1000 HKD",
            "account withdraw ann 10 HKD",
            "account exchange ann 100 HKD USD",
            "account adjust ann 5 HKD",
            "account set ann --participation 0.1",
            "account grant ann US_OVERNIGHT --until 2027-01-01",
            "account withdraw ann US_OVERNIGHT",
            "account levels",
            "account levels set 1 --quota 120",
            "account reported-assets ann 80000 HKD",
            "account reported-orders ann 3",
            "account password ann --remove",
            "account ingest-token create op --symbols *.HK",
            "account ingest-token list op",
            "world create w1 --start 2026-03-18T10:00:00+08:00 --end 2026-03-18T16:00:00+08:00 --account ann",
            "world list --account ann",
            "world show w1 --account ann",
            "world set w1 --end 2026-03-18T15:00:00+08:00 --account ann",
            "world step w1 --by PT1M --account ann",
            "world fork w1 w2 --account ann",
            "world token w1 --account ann",
            "world log w1 --account ann",
            "world diff w1 w1 --account ann",
            "world reset w1 --account ann",
            "world step w1 --by PT1M --account ann",
            "world end w1 --account ann",
            "world delete w1 --account ann",
            "order buy 700.HK 200 --limit 306 --dry-run --account ann",
            "order buy 700.HK 200 --limit 306 --account ann",
            "order buy 700.HK 100 --limit 290 --tif gtc --account ann",
            "order sell 700.HK 100 --limit 320 --account ann",
            "order replace 1000000002 --quantity 200 --limit 292 --account ann",
            "order cancel 1000000003 --account ann",
            "grid agree --account ann",
            "grid info 700.HK --account ann",
            "grid submit 700.HK --base 305.2 --lower 300 --upper 310 --spread 0.4 --quantity 100 --min-position 100 --max-position 1000 --account ann --dry-run",
            "grid submit 700.HK --base 305.2 --lower 300 --upper 310 --spread 0.4 --quantity 100 --min-position 100 --max-position 1000 --account ann",
            "grid suspend 1900000001 --account ann",
            "grid restart 1900000001 --account ann",
            "grid replace 1900000001 --spread 0.6 --account ann",
            "grid cancel 1900000001 --account ann",
            "grid submit 700.HK --base 305.2 --lower 300 --upper 310 --spread 0.4 --quantity 100 --min-position 100 --max-position 1000 --account ann",
            "watchlist create mine 700.HK --account ann",
            "watchlist add mine 700.HK --account ann",
            "watchlist pin 700.HK --account ann",
            "watchlist remove mine 700.HK --account ann",
            "watchlist replace mine 700.HK --account ann",
            "watchlist rename mine other --account ann",
            "watchlist list --account ann",
        ],
    ),
    (
        LATER,
        &[
            "order list --account ann",
            "order list --history --account ann",
            "order show 1000000001 --account ann",
            "order why 1000000001 --account ann",
            "executions --account ann",
            "cashflow --account ann",
            "assets --account ann",
            "positions --account ann",
            "performance --account ann --benchmark 700.HK",
            "grid list --account ann",
            "grid show 1900000002 --account ann",
            "grid history 1900000002 --account ann",
            "grid why 1900000002 --account ann",
            "account list",
            "account show ann",
            "quota ann",
            "quota",
            "audit",
            "topic list",
            "topic hide 1 --reason spam",
            "topic restore 1",
        ],
    ),
    (
        NEXT,
        &[
            "statement list --account ann",
            "statement show --account ann",
            "order list --history --account ann",
            "executions --history --account ann",
            "watchlist delete other --account ann",
            "account fork ann twin",
            "account rewind ann 2026-03-18T02:02:00Z",
            "account reset ann",
            "account revoke old",
            "import minutes.csv",
            "imports",
            "quarantine",
            "list",
            "quote 700.HK",
            "kline 700.HK --period 1m",
            "coverage 700.HK",
            "inspect 700.HK",
            "check",
            "calendar",
            "config show",
            "config check good.toml",
            "doctor --listen 127.0.0.1:0 --tcp 127.0.0.1:0",
            "sdk-env --account ann",
            "backup saved",
            "restore saved --check",
            "remove 700.HK --yes",
        ],
    ),
];

/// Commands that are sent to a server after the first group of `HERE`.
const THERE: &[&str] = &[
    "world create v1 --start 2026-03-18T10:00:00+08:00 --end 2026-03-18T16:00:00+08:00",
    "world list",
    "world show v1",
    "world set v1 --end 2026-03-18T15:00:00+08:00",
    "world step v1 --by PT1M",
    "world fork v1 v2",
    "world token v1",
    "world log v1",
    "world diff v1 v1",
    "world reset v1",
    "world start v1 --speed 2",
    "world pause v1",
    "world end v1",
    "world delete v1",
    "order buy 700.HK 100 --limit 290",
    "order list",
    "order show 1000000001",
    "order why 1000000001",
    "order replace ORDER --quantity 100 --limit 291",
    "order cancel ORDER",
    "order sell 700.HK 100 --limit 320 --dry-run",
    "executions",
    "cashflow",
    "assets",
    "positions",
    "performance",
    "grid agree",
    "grid info 700.HK",
    "grid list",
    "grid show 1900000002",
    "grid history 1900000002",
    "grid why 1900000002",
    "grid suspend 1900000002",
    "grid restart 1900000002",
    "grid cancel 1900000002",
    "statement list",
    "watchlist list",
    "watchlist create more 700.HK",
    "watchlist add more 700.HK",
    "watchlist remove more 700.HK",
    "watchlist replace more 700.HK",
    "watchlist rename more less",
    "watchlist pin 700.HK",
    "watchlist delete less",
    "kline 700.HK --period 1m",
    "list",
    "quote 700.HK",
    "quota",
    "connections",
    "auth status",
    "logout",
    "doctor --listen 127.0.0.1:0 --tcp 127.0.0.1:0",
];
/// Commands that are sent to the server by an operator.
const THERE_OPERATOR: &[&str] = &["clock", "clock +15s", "imports", "quarantine"];

/// Commands that this test does not run on the local store, each with the reason.
const NOT_HERE: [(&str, &str); 16] = [
    ("export", "its --format is that of the candles"),
    ("open", "serves until it is stopped; tests/it/open.rs"),
    ("demo", "makes a whole market; tests/it/demo.rs"),
    ("move", "needs PostgreSQL; tests/it/postgres.rs"),
    ("login", "needs somebody who approves; tests/it/login.rs"),
    ("statement download", "prints nothing on standard output"),
    ("account device approve", "needs the code of a login; tests/it/people.rs"),
    ("account device deny", "needs the code of a login; tests/it/people.rs"),
    ("account ingest-token revoke", "needs the id of a token; tests/it/account.rs"),
    ("world run", "its program comes after the flags; tests/it/world_run.rs"),
    ("mirror add", "needs another server; tests/it/mirror.rs"),
    ("mirror plan", "needs another server; tests/it/mirror.rs"),
    ("mirror run", "needs another server; tests/it/mirror.rs"),
    ("mirror status", "needs another server; tests/it/mirror.rs"),
    ("mirror verify", "needs another server; tests/it/mirror.rs"),
    ("mirror remove", "needs another server; tests/it/mirror.rs"),
];
const SERVER_ALONE: [&str; 6] =
    ["auth status", "clock", "connections", "logout", "world start", "world pause"];
const NOT_THERE: [(&str, &str); 7] = [
    ("import", "prints no JSON with --follow; tests/it/follow_server.rs"),
    ("login", "needs somebody who approves; tests/it/login.rs"),
    ("statement download", "prints nothing on standard output"),
    ("statement show", "there is no statement on the first day"),
    ("grid submit", "the rule is that of the store"),
    ("grid replace", "the rule is that of the store"),
    ("world run", "its program comes after the flags; tests/it/world_run.rs"),
];

/// Returns the commands whose manual pages list a flag.
pub(crate) fn commands_with(world: &World, flag: &str) -> BTreeSet<String> {
    world.ok(&["man", "--dir", "manual"]);
    let flag = format!(r"\fB{}\fR", flag.replace('-', r"\-"));
    let mut found = BTreeSet::new();
    for page in std::fs::read_dir(world.path("manual")).unwrap() {
        let page = std::fs::read_to_string(page.unwrap().path()).unwrap();
        let synopsis = page.lines().skip_while(|line| *line != ".SH SYNOPSIS").nth(1).unwrap();
        let name = synopsis.strip_prefix(r"\fBchandler").unwrap().split(r"\fR").next().unwrap();
        if page.contains(&flag) {
            found.insert(name.trim().replace('\\', ""));
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// Appends to `wrong` the path of every field with a time in another format.
pub(crate) fn check(value: &Value, path: &str, wrong: &mut Vec<String>) {
    match value {
        Value::Array(rows) => rows.iter().for_each(|row| check(row, &format!("{path}[]"), wrong)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let path = format!("{path}.{name}");
            // A number is allowed if another field contains the same time in RFC 3339 format.
            // `resumed_at` is a row number.
            let beside = name.strip_suffix("_unix").or((name == "timestamp").then_some("time"));
            if beside.is_some_and(|beside| fields.contains_key(beside)) || name == "resumed_at" {
                return;
            }
            check(value, &path, wrong);
            let is_time = ["at", "time", "now", "since"].contains(&name.as_str())
                || ["_at", "_time", "_until"].iter().any(|end| name.ends_with(end));
            let is_good = match value {
                Value::Null | Value::Array(_) | Value::Object(_) => true,
                Value::String(text) => {
                    text.parse::<jiff::Timestamp>().is_ok()
                        || text.parse::<jiff::civil::Date>().is_ok_and(|_| text.len() == 10)
                }
                _ => false,
            };
            if is_time && !is_good {
                wrong.push(format!("{path}: {value}"));
            }
        }),
        Value::String(text) => looks_like_a_time(text.parse().ok(), path, wrong),
        Value::Number(number) => looks_like_a_time(number.as_i64(), path, wrong),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Appends to `wrong` the path of a number that looks like Unix seconds, Unix milliseconds or a
/// date in digits.
fn looks_like_a_time(number: Option<i64>, path: &str, wrong: &mut Vec<String>) {
    let now = jiff::Timestamp::from_second(machine_seconds()).unwrap();
    let years = [2026, i64::from(now.to_zoned(jiff::tz::TimeZone::UTC).year())];
    if number.is_some_and(|number| {
        is_instant_of_these_tests(number, now)
            || is_instant_of_these_tests(number / 1_000, now)
            || (years.contains(&(number / 10_000)) && (101..1_232).contains(&(number % 10_000)))
    }) {
        wrong.push(format!("{path}: {number:?}"));
    }
}

/// Returns whether a number is in the range of Unix times used in this test: the market clock, or
/// the machine's clock from yesterday to 400 days ahead, because of expiry times. No amount is in
/// that range. Grid IDs can be in that range, so they are excluded.
fn is_instant_of_these_tests(seconds: i64, now: jiff::Timestamp) -> bool {
    const MARKET: std::ops::Range<i64> = 1_760_000_000..1_830_000_000;
    const GRIDS: std::ops::Range<i64> = 1_900_000_000..1_900_001_000;
    const DAY: i64 = 86_400;
    let machine = now.as_second() - DAY..now.as_second() + 400 * DAY;
    (MARKET.contains(&seconds) || machine.contains(&seconds)) && !GRIDS.contains(&seconds)
}

#[test]
fn unix_seconds_are_recognised_in_any_year() {
    let now: jiff::Timestamp = "2030-03-17T00:00:00Z".parse().unwrap();
    for seconds in [1_773_799_215, now.as_second(), now.as_second() + 90 * 86_400] {
        assert!(is_instant_of_these_tests(seconds, now), "{seconds}");
    }
    for id in [1_000_000_001, 1_900_000_002] {
        assert!(!is_instant_of_these_tests(id, now), "{id}");
    }
}

/// Checks the output of a command and returns the first JSON document.
fn checked(line: &str, ran: &Ran, wrong: &mut Vec<String>) -> Value {
    // `doctor` reports problems on most machines, so it may fail.
    let is_ok = ran.code == Some(0) || line.starts_with("doctor");
    assert!(is_ok, "{line}: {:?} {}{}", ran.code, ran.stdout, ran.stderr);
    let documents: Vec<Value> =
        Deserializer::from_str(&ran.stdout).into_iter().collect::<Result<_, _>>().unwrap_or_else(|error| {
            panic!("{line}: {error} in {}", ran.stdout);
        });
    assert!(!documents.is_empty(), "{line} prints nothing");
    documents.iter().for_each(|document| check(document, line, wrong));
    documents[0].clone()
}

/// Returns whether a command line runs the command, with or without arguments.
fn is_of(line: &str, command: &str) -> bool {
    line == command || line.strip_prefix(command).is_some_and(|rest| rest.starts_with(' '))
}

fn all_are_run<'a>(
    commands: impl Iterator<Item = &'a String>,
    lines: &[&str],
    excused: &dyn Fn(&str) -> bool,
) {
    for command in commands {
        assert!(
            excused(command) || lines.iter().any(|line| is_of(line, command)),
            "`chandler {command}` has no line in this test"
        );
    }
}

#[test]
fn times_in_json_are_rfc_3339() {
    let world = World::with(&[("securities.csv", SECURITIES), ("minutes.csv", MINUTES)]);
    world.write("good.toml", "[server]\ncache_mb = 10\n");
    let lines: Vec<&str> = HERE.iter().flat_map(|(_, lines)| lines.iter().copied()).collect();
    let excused =
        |command: &str| SERVER_ALONE.contains(&command) || NOT_HERE.iter().any(|(name, _)| *name == command);
    all_are_run(commands_with(&world, "--format").iter(), &lines, &excused);
    let excused = |command: &str| NOT_THERE.iter().any(|(name, _)| *name == command);
    let there = [THERE, THERE_OPERATOR].concat();
    all_are_run(commands_with(&world, "--server").iter(), &there, &excused);

    let (mut wrong, mut tokens) = (Vec::new(), Vec::new());
    for (clock, lines) in HERE {
        for line in *lines {
            let words: Vec<&str> = line.split(' ').chain(JSON).collect();
            let mut command = world.command(&words);
            command.env("CHANDLER_CLOCK", clock).env("HOME", world.path("home"));
            let actual = checked(line, &Ran::of(command.output().unwrap()), &mut wrong);
            tokens.extend(actual["access_token"].as_str().map(str::to_owned));
            if tokens.len() == 1 && line.starts_with("account create ann") {
                add_topic(&world);
            }
        }
        if *clock == BEFORE {
            at_a_server(&world, &tokens, &mut wrong);
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// Runs the commands for a server on a server of the same store.
fn at_a_server(world: &World, tokens: &[String], wrong: &mut Vec<String>) {
    let mut server = Server::of(world, &tokens[0], &["--clock", LATER]);
    let mut order = String::new();
    for line in THERE.iter().chain(THERE_OPERATOR) {
        if *line == THERE_OPERATOR[0] {
            server.token = tokens[1].clone();
        }
        let line = line.replace("ORDER", &order);
        let actual =
            checked(&line, &server.run(world, &line.split(' ').chain(JSON).collect::<Vec<_>>()), wrong);
        if line.starts_with("order buy") {
            order = actual["order_id"].as_str().unwrap().to_owned();
        }
    }
}

/// Adds a topic directly to the store, because the command line cannot create one.
fn add_topic(world: &World) {
    let at = market::Timestamp(1_773_799_215);
    let accounts = Accounts::open(world.path("store"), at).unwrap();
    let author = accounts.account_named("ann").unwrap().unwrap().id;
    let tickers = ["700.HK".parse().unwrap()];
    let (title, description, body) = ("Lot sizes", "Of lots", "Of lots\nand more");
    let new =
        NewTopic { author, kind: "article", title, description, body, tickers: &tickers, hashtags: &[], at };
    accounts.add_topic(&new, |_| Ok::<_, StoreError>(())).unwrap();
}
