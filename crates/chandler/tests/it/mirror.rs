//! Tests of `chandler mirror` with real servers as sources.

use serde_json::Value;

use crate::json_times;
use crate::remote::Server;
use crate::world::{World, days, hour};

/// Creates an account with these flags, serves the store, and adds the server as a mirror.
fn source(from: &World, to: &World, account: &[&str]) -> Server {
    let keys = from.json(&[&["account", "create", "reader"], account].concat());
    let text = |name: &str| keys[name].as_str().unwrap().to_owned();
    let server = Server::of(from, &text("access_token"), &[]);
    let added = to
        .command(&["mirror", "add", "up", "--http-url", &server.url, "--app-key", &text("app_key")])
        .args(["--format", "json"])
        .env("CHANDLER_MIRROR_APP_SECRET", text("app_secret"))
        .env("CHANDLER_MIRROR_ACCESS_TOKEN", text("access_token"))
        .output()
        .unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    server
}

/// Runs a command of a mirror, and checks the times in its output.
fn ran(world: &World, line: &str) -> Value {
    let document = world.json(&["mirror"].into_iter().chain(line.split(' ')).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    json_times::check(&document, line, &mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}");
    document
}

fn candles(world: &World, period: &str, adjust: &str) -> String {
    world.ok(&["kline", "700.HK", "-p", period, "-n", "500", "--adjust", adjust, "--format", "csv"])
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
            assert_eq!(candles(to, period, adjust), candles(from, period, adjust), "{period} {adjust}");
        }
        let verified = ran(to, "verify up");
        assert_eq!(verified["different"], 0, "{verified}");
        let again = ran(to, "run up");
        assert_eq!((&again["added"], &again["replaced"]), (&0.into(), &0.into()), "{again}");
        ran(to, "status up");
        from = to;
    }
    ran(&second, "remove up --yes");
    assert_eq!(ran(&second, "status"), Value::Array(Vec::new()));
    assert_eq!(candles(&second, "day", "none"), candles(&origin, "day", "none"));
}
