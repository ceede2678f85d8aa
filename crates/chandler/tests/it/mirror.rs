//! Tests of `chandler mirror` with real servers as sources.

use serde_json::Value;

use crate::json_times;
use crate::remote::Server;
use crate::world::{World, days, hour};

/// Adds a server as the mirror `up`, with the keys of an account.
pub(crate) fn add(to: &World, url: &str, keys: &Value) {
    let text = |name: &str| keys[name].as_str().unwrap().to_owned();
    let added = to
        .command(&["mirror", "add", "up", "--http-url", url, "--app-key", &text("app_key")])
        .args(["--format", "json"])
        .env("CHANDLER_MIRROR_APP_SECRET", text("app_secret"))
        .env("CHANDLER_MIRROR_ACCESS_TOKEN", text("access_token"))
        .output()
        .unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
}

/// Creates an account with these flags, serves the store, and adds the server as a mirror.
fn source(from: &World, to: &World, account: &[&str]) -> Server {
    let keys = from.json(&[&["account", "create", "reader"], account].concat());
    let server = Server::of(from, keys["access_token"].as_str().unwrap(), &[]);
    add(to, &server.url, &keys);
    server
}

/// Runs a command of a mirror, and checks the times in its output.
pub(crate) fn ran(world: &World, line: &str) -> Value {
    let document = world.json(&["mirror"].into_iter().chain(line.split(' ')).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    json_times::check(&document, line, &mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}");
    document
}

/// Returns all candles of a security.
pub(crate) fn candles(world: &World, symbol: &str, period: &str, adjust: &str) -> String {
    world.ok(&["export", symbol, "-p", period, "--adjust", adjust, "--format", "csv"])
}

#[test]
fn a_mirror_and_a_mirror_of_it_have_the_candles_of_the_source() {
    let actions = "symbol,ex_date,cash,split,bonus,rights,rights_price\n700.HK,2026-11-10,1.5,1,0,0,0\n";
    let origin = World::with(&[
        ("days.csv", &days("700.HK")),
        ("hour.csv", &hour("700.HK")),
        ("actions.csv", actions),
        ("names.csv", "symbol,name_en,name_hk,lot_size\n700.HK,Lamp & Wick,燈,100\n"),
    ]);
    let (first, second) = (World::new(), World::new());
    let mut from = &origin;
    for (to, limits) in [(&first, &[][..]), (&second, &["--unlimited"])] {
        let _server = source(from, to, limits);
        let plan = ran(to, "plan up 700.HK 9999.HK --period day,1m --accept-terms");
        assert_eq!(plan["new"], 2, "{plan}");
        let report = ran(to, "run up");
        assert_eq!(report["refused"][0]["symbol"], "9999.HK", "{report}");
        assert_eq!(report["failed"], Value::Array(Vec::new()), "{report}");
        for (period, adjust) in [("day", "none"), ("1m", "none"), ("week", "none"), ("day", "forward")] {
            let of = |world| candles(world, "700.HK", period, adjust);
            assert_eq!(of(to), of(from), "{period} {adjust}");
        }
        let verified = ran(to, "verify up");
        assert_eq!(verified["different"], 0, "{verified}");
        let factor = &verified["securities"][0]["factors"][0];
        assert_eq!((&factor["kind"], &factor["amount"]), (&"cash".into(), &"1.5".into()), "{verified}");
        let shown = to.ok(&["mirror", "verify", "up", "--factors"]);
        assert!(shown.contains("at most off by") && shown.contains("2026-11-10"), "{shown}");
        let again = ran(to, "run up");
        assert_eq!((&again["added"], &again["replaced"]), (&0.into(), &0.into()), "{again}");
        ran(to, "status up");
        from = to;
    }
    ran(&second, "remove up --yes");
    assert_eq!(ran(&second, "status"), Value::Array(Vec::new()));
    assert_eq!(candles(&second, "700.HK", "day", "none"), candles(&origin, "700.HK", "day", "none"));
}

#[test]
fn a_run_that_fills_gaps_requests_only_missing_days() {
    let origin = World::with(&[("days.csv", &days("700.HK")), ("hour.csv", &hour("700.HK"))]);
    // Both days of the gap are after the first and before the last imported one.
    let partial: String = days("700.HK")
        .lines()
        .filter(|line| !line.contains("-11-05") && !line.contains("-11-06"))
        .fold(String::new(), |text, line| text + line + "\n");
    let target = World::with(&[("days.csv", &partial)]);
    let _server = source(&origin, &target, &["--unlimited"]);
    let line = "plan up 700.HK --period day --from 2026-11-02 --to 2026-11-13 --accept-terms";
    let all = ran(&target, line);
    let gaps = ran(&target, "plan up --fill-gaps");
    // All adjusted days are requested, because factors are derived from them.
    assert_eq!((&all["candles"], &gaps["candles"]), (&20.into(), &12.into()), "{gaps}");
    let report = ran(&target, "run up --fill-gaps");
    assert_eq!(report["added"], 2, "{report}");
    assert_eq!(candles(&target, "700.HK", "day", "none"), candles(&origin, "700.HK", "day", "none"));
}

#[test]
fn the_error_for_an_unknown_security_names_the_commands_of_a_mirror() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let plain = world.fails(&["kline", "9988.HK"]).1;
    assert!(!plain.contains("mirror"), "{plain}");
    let key = serde_json::json!({"app_key": "key", "app_secret": "secret", "access_token": "token"});
    add(&world, "http://127.0.0.1:9", &key);
    for command in
        [&["kline", "9988.HK"][..], &["coverage", "9988.HK"], &["open", "9988.HK"], &["inspect", "9988.HK"]]
    {
        let text = world.fails(command).1;
        let commands = "`chandler mirror plan up 9988.HK`, then `chandler mirror run up`";
        assert!(text.ends_with(&format!("; to collect it: {commands}")), "{text}");
    }
    // With suggestions.
    let text = world.fails(&["kline", "701.HK"]).1;
    assert!(text.contains("did you mean 700.HK? To collect it: `chandler mirror plan up 701.HK`"), "{text}");
}
