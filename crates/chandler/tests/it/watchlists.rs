//! Tests of watchlist commands for an account in the local store and on a server.

use serde_json::{Value, json};

use crate::trading_remote::run;
use crate::transports::Setup;
use crate::world::World;

const SECURITIES: &str = "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n\
    5.HK,Wax,HKEX,HKD,100,3\nAAPL.US,Apple,NASDAQ,USD,1,2\n";
const MINUTES: &str = "symbol,time,open,high,low,close,volume\n\
    700.HK,2026-03-18 10:00,305,305,300,305,50000\n\
    700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n";
const CLOCK: [&str; 2] = ["--clock", "2026-03-18T10:01:30+08:00"];

fn at<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["watchlist"], arguments, &CLOCK].concat()
}

/// Formats the groups as `name: SYMBOL SYMBOL`.
fn describe(world: &Setup) -> String {
    let document = world.json(&at(&["list"]));
    let group = |group: &Value| {
        let symbol = |one: &Value| format!(" {}", one["symbol"].as_str().unwrap());
        let symbols: String = group["securities"].as_array().unwrap().iter().map(symbol).collect();
        format!("{}:{symbols}", group["name"].as_str().unwrap())
    };
    document["groups"].as_array().unwrap().iter().map(group).collect::<Vec<_>>().join(" | ")
}

#[test]
fn groups_are_selected_by_id_or_name() {
    let files = [("securities.csv", SECURITIES), ("minutes.csv", MINUTES)];
    for world in Setup::both(&files, &[], CLOCK[1]) {
        assert_eq!(world.ok(&at(&["list"])), "1  all\nno securities\n");
        let created = world.json(&at(&["create", "my lamps", "AAPL.US", "700.HK"]));
        let id = created["id"].as_str().unwrap().to_owned();
        world.ok(&at(&["add", "my lamps", "5.HK"]));
        assert_eq!(describe(&world), "all: AAPL.US 700.HK 5.HK | my lamps: AAPL.US 700.HK 5.HK");
        world.ok(&at(&["pin", "700.HK"]));
        let listed = world.ok(&at(&["list", "my lamps"]));
        let first = listed.lines().nth(2).unwrap();
        assert!(listed.starts_with(&format!("{id}  my lamps\n")), "{listed}");
        for part in ["700.HK", "Lamp & Wick", "305.200", "2026-03-18 10:01:30 HKT", "yes"] {
            assert!(first.contains(part), "{part} is not in {first:?}");
        }
        world.ok(&at(&["pin", "--off", "700.HK"]));
        world.ok(&at(&["replace", &id, "5.HK", "AAPL.US"]));
        world.ok(&at(&["rename", &id, "lamps"]));
        world.ok(&at(&["remove", "all", "AAPL.US"]));
        assert_eq!(describe(&world), "all: 700.HK 5.HK | lamps: 5.HK");
        world.ok(&at(&["delete", "lamps", "--purge"]));
        assert_eq!(describe(&world), "all: 700.HK");
    }
}

#[test]
fn invalid_changes_are_refused_with_advice() {
    let world = World::with(&[("securities.csv", SECURITIES), ("minutes.csv", MINUTES)]);
    world.ok(&["account", "create", "ann"]);
    for _ in 0..2 {
        world.ok(&at(&["create", "twin"]));
    }
    for (arguments, code, words) in [
        (&["add", "none", "700.HK"][..], 2, "there is no watchlist group \"none\""),
        (&["add", "twin", "700.HK"], 2, "several groups are named \"twin\""),
        (&["create", "a\u{202e}b"], 2, "cannot be seen"),
        (&["create", "ok", "700"], 2, "did you mean 700.HK"),
        (&["create", "ok", "700.HK", "9988.HK"], 1, "9988.HK has no stored data"),
        (&["add", "all", "9988.HK"], 1, "9988.HK has no stored data"),
        (&["rename", "all", "mine"], 1, "cannot be renamed or deleted"),
        (&["delete", "1"], 1, "cannot be renamed or deleted"),
        (&["pin", "700.HK"], 1, "700.HK is not on a watchlist"),
        (&["list", "--account", "eve"], 1, "there is no account"),
    ] {
        let (found, message) = world.fails(&at(arguments));
        assert_eq!(found, code, "{arguments:?}: {message}");
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
    world.ok(&["account", "set", "ann", "--read-only", "on"]);
    let (_, message) = world.fails(&at(&["create", "more"]));
    assert!(message.contains("is read-only"), "{message}");
}

#[test]
fn watchlist_requests_follow_the_api() {
    let groups = || json!({"groups": [{"id": "1", "name": "all", "securities": []}, {"id": "1001", "name": "mine", "securities": []}]});
    let (ran, requests) = run(&["watchlist", "list"], vec![groups()]);
    assert_eq!(requests[0].0, "GET /v1/watchlist/groups");
    assert_eq!(ran.stdout, "1  all\nno securities\n\n1001  mine\nno securities\n");
    let (ran, requests) = run(&["watchlist", "create", "mine", "700.HK"], vec![json!({"id": "1001"})]);
    let body = json!({"name": "mine", "securities": ["700.HK"]});
    assert_eq!((&requests[0].0, &requests[0].1), (&"POST /v1/watchlist/groups".to_owned(), &body));
    assert_eq!(ran.stdout, "group 1001 is created\n");
    for (arguments, wanted) in [
        (&["add", "mine", "5.HK"][..], json!({"id": "1001", "securities": ["5.HK"], "mode": "add"})),
        (&["remove", "all", "5.HK"], json!({"id": "1", "securities": ["5.HK"], "mode": "remove"})),
        (&["replace", "1001", "5.HK"], json!({"id": "1001", "securities": ["5.HK"], "mode": "replace"})),
        (&["rename", "mine", "ours"], json!({"id": "1001", "name": "ours"})),
    ] {
        let (_, requests) = run(&[&["watchlist"], arguments].concat(), vec![groups(), json!({})]);
        assert_eq!(requests[1], ("PUT /v1/watchlist/groups".to_owned(), wanted), "{arguments:?}");
    }
    let (_, requests) = run(&["watchlist", "delete", "mine", "--purge"], vec![groups(), json!({})]);
    assert_eq!(requests[1].0, "DELETE /v1/watchlist/groups?id=1001&purge=true");
    let (ran, requests) = run(&["watchlist", "pin", "700.HK", "--off"], vec![json!({})]);
    let body = json!({"mode": "remove", "securities": ["700.HK"]});
    assert_eq!(requests[0], ("POST /v1/watchlist/pinned".to_owned(), body));
    assert_eq!(ran.stdout, "700.HK no longer pinned\n");
}
