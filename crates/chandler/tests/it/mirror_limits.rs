//! A mirror of a real server with its limits on, whose runs are killed and whose connections are
//! cut.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use market::{Market, Venue};
use serde_json::Value;

use crate::counting_proxy::{Cut, Proxy};
use crate::mirror::{add, candles, ran};
use crate::remote::Server;
use crate::world::World;

/// The days of a security, all of whose prices are different.
pub(crate) fn days(symbol: &str, from: &str) -> String {
    let venue = Venue::built_in(Market::Hk).unwrap();
    let mut text = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    let days = venue.calendar().days(from.parse().unwrap(), "2025-10-31".parse().unwrap());
    for (place, (day, _)) in days.enumerate() {
        let price = 300 + place % 89;
        let cents = place % 10;
        writeln!(
            text,
            "{symbol},{day},{price}.{cents},{}.{cents},{}.2,{price}.4,{place}00,{place}.5",
            price + 3,
            price - 2
        )
        .unwrap();
    }
    text
}

/// The minutes of a security.
pub(crate) fn minutes(symbol: &str, from: &str) -> String {
    let venue = Venue::built_in(Market::Hk).unwrap();
    let mut text = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    let days = venue.calendar().days(from.parse().unwrap(), "2025-10-31".parse().unwrap());
    for (place, (at, _)) in
        days.flat_map(|(day, _)| venue.day(day).unwrap().minutes().collect::<Vec<_>>()).enumerate()
    {
        let (date, second) = venue.zone().local(at);
        let (hour, minute, price) = (second / 3_600, second / 60 % 60, 300 + place % 50);
        writeln!(
            text,
            "{symbol},{date} {hour:02}:{minute:02},{price},{}.2,{}.4,{price}.{},{},{place}.25",
            price + 1,
            price - 1,
            place % 10,
            place + 1
        )
        .unwrap();
    }
    text
}

/// Returns a page of a server on this machine.
fn page(url: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Numbers that look random and are equal in each run.
fn below(seed: &mut u64, limit: u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from((*seed >> 33) % limit).unwrap()
}

/// Returns all prices of adjusted days.
fn prices(world: &World, symbol: &str) -> Vec<f64> {
    let text = candles(world, symbol, "day", "forward");
    let cells = text.lines().skip(1).flat_map(|line| line.split(','));
    cells.filter_map(|cell| cell.parse().ok()).collect()
}

#[test]
fn killed_runs_collect_everything_within_the_limits_of_a_server() {
    let actions = "symbol,ex_date,cash,split,bonus,rights,rights_price\n\
        700.HK,2024-05-17,3.4,1,0,0,0\n700.HK,2025-06-03,0,2,0,0,0\n";
    let origin = World::with(&[
        ("700.csv", &days("700.HK", "2018-01-02")),
        ("700m.csv", &minutes("700.HK", "2025-04-22")),
        ("5.csv", &days("5.HK", "2018-01-02")),
        ("5m.csv", &minutes("5.HK", "2025-09-15")),
        ("9.csv", &days("9.HK", "2025-01-02")),
        ("actions.csv", actions),
    ]);
    let target = World::new();
    let keys = origin.json(&["account", "create", "reader", "--quota", "2"]);
    let server = Server::of(&origin, keys["access_token"].as_str().unwrap(), &[]);
    let mut seed = 20_261_119;
    let cuts: BTreeMap<usize, Cut> = (0..6)
        .map(|number| (1 + below(&mut seed, 60), if number % 2 == 0 { Cut::Before } else { Cut::After }))
        .collect();
    let proxy = Proxy::of(&server.url, cuts);
    add(&target, &proxy.url, &keys);
    ran(&target, "plan up 700.HK 5.HK 9.HK --accept-terms");
    // A run does not count the one request of the plan. The source permits 10 per second, a run sends 8.
    proxy.forget();

    // The first requests of the first run are the critical ones.
    let mut number = 1;
    for round in 0..7 {
        let mut run = target.command(&["mirror", "run", "up"]);
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        proxy.wait_for(number);
        if round == 0 {
            let (code, text) = target.fails(&["mirror", "run", "up"]);
            let expected = format!("another process (process {}) runs the mirror up", child.id());
            assert!(code == 1 && text.contains(&expected), "{code} {text}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        number = proxy.history() + 1 + below(&mut seed, 8);
    }
    let report = ran(&target, "run up");
    assert_eq!(report["waiting"], serde_json::json!(["9.HK"]), "{report}");
    assert_eq!(report["failed"], Value::Array(Vec::new()), "{report}");

    let (history, all) = proxy.most();
    assert!(proxy.history() > 60 && history <= 55, "{history} of {}", proxy.history());
    assert!(all <= 8, "{all}");
    let metrics = page(&server.url, "/metrics");
    for kind in ["too_fast", "quota_spent"] {
        let line = format!("chandler_refusals_total{{kind=\"{kind}\"}} 0");
        assert!(metrics.lines().any(|found| found == line), "{kind}: {metrics}");
    }
    assert_eq!(origin.json(&["quota", "reader"])["used"], 2);

    for symbol in ["700.HK", "5.HK"] {
        for period in ["day", "1m"] {
            let (ours, theirs) =
                (candles(&target, symbol, period, "none"), candles(&origin, symbol, period, "none"));
            assert!(ours == theirs, "{symbol} {period}");
        }
        let (ours, theirs) = (prices(&target, symbol), prices(&origin, symbol));
        assert_eq!(ours.len(), theirs.len(), "{symbol}");
        let far = ours.iter().zip(&theirs).find(|(ours, theirs)| (*ours - *theirs).abs() > 0.001_000_1);
        assert_eq!(far, None, "{symbol}");
    }
    let verified = ran(&target, "verify up");
    assert_eq!(verified["different"], 0, "{verified}");
    let of = |symbol: &str| {
        let all = verified["securities"].as_array().unwrap();
        all.iter().find(|security| security["symbol"] == symbol).unwrap()["factors"].clone()
    };
    let brief: Vec<String> = of("700.HK")
        .as_array()
        .unwrap()
        .iter()
        .map(|factor| ["ex_date", "kind", "amount"].map(|name| factor[name].as_str().unwrap()).join(" "))
        .collect();
    assert_eq!(brief, ["2024-05-17 cash 3.4", "2025-06-03 split 2"]);
    assert_eq!(of("5.HK"), Value::Array(Vec::new()));
    target.ok(&["check"]);
}
