//! Tests of commands on a store while a server with a replay clock runs, and after it has stopped.
//! A command must never move an account to another time implicitly.

use serde_json::{Value, json};

use crate::remote::Server;
use crate::world::{Ran, World};

const SECURITIES: &str =
    "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n";
const MINUTES: &str = "symbol,time,open,high,low,close,volume\n\
    700.HK,2026-03-18 10:00,305,305,300,305,50000\n\
    700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n";
const BEFORE: &str = "2026-03-18T10:00:15+08:00";
const ORDER: [&str; 5] = ["order", "buy", "700.HK", "100", "--limit=306"];
const DEPOSIT: [&str; 5] = ["account", "deposit", "ann", "1000", "HKD"];

/// Creates a store with one security's one-minute candles of a morning. Returns the tokens of an
/// account and of an operator.
fn world() -> (World, String, String) {
    let world = World::with(&[("securities.csv", SECURITIES), ("minutes.csv", MINUTES)]);
    let token = |made: Value| made["access_token"].as_str().unwrap().to_owned();
    let ann = token(world.json(&["account", "create", "ann", "--cash", "HKD=500000", "--unlimited"]));
    let operator = token(world.json(&["account", "create", "op", "--role", "operator"]));
    (world, ann, operator)
}

/// Runs a command without `CHANDLER_CLOCK` in its environment.
fn plainly(world: &World, arguments: &[&str]) -> Ran {
    Ran::of(world.command(arguments).env_remove("CHANDLER_CLOCK").output().unwrap())
}

fn is_at(world: &World) -> Value {
    world.json(&["account", "show", "ann"])["paper"]["horizon"].clone()
}

#[test]
fn a_command_uses_the_clock_of_a_running_server() {
    let (world, ann, operator) = world();
    let mut server = Server::of(&world, &ann, &["--clock", BEFORE]);
    let there = |server: &Server, arguments: &[&str]| {
        let ran = server.run(&world, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    };
    there(&server, &ORDER);
    for arguments in [&DEPOSIT[..], &["account", "set", "ann", "--participation", "0.2"]] {
        let ran = plainly(&world, arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
    there(&server, &ORDER);
    assert_eq!(is_at(&world), json!("2026-03-18T02:00:15Z"));
    let ann = std::mem::replace(&mut server.token, operator);
    there(&server, &["clock", "+105s"]);
    server.token = ann;
    assert_eq!(plainly(&world, &DEPOSIT).code, Some(0));
    assert_eq!(is_at(&world), json!("2026-03-18T02:02:00Z"), "where the clock was moved to");
    there(&server, &ORDER);

    // A killed server leaves its clock file behind. The file alone does not count as a running
    // server.
    server.kill();
    let ran = plainly(&world, &DEPOSIT);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for words in ["account \"ann\" is at 2026-03-18T02:02:00Z", "--clock 2026-03-18T02:02:00Z", "--clock now"]
    {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    assert_eq!(is_at(&world), json!("2026-03-18T02:02:00Z"));
    world.ok(&[&DEPOSIT[..], &["--clock", "2026-03-18T02:02:00Z"]].concat());
    assert_eq!(is_at(&world), json!("2026-03-18T02:02:00Z"));
}

#[test]
fn a_command_follows_the_servers_running_clock() {
    let (world, ann, _) = world();
    let server = Server::of(&world, &ann, &["--clock", "2026-03-18T10:00:15+08:00,run@2"]);
    assert_eq!(server.run(&world, &ORDER).code, Some(0));
    assert_eq!(plainly(&world, &DEPOSIT).code, Some(0));
    let at = is_at(&world);
    assert!(at.as_str().unwrap().starts_with("2026-03-18T02:0"), "{at}");
    let ran = server.run(&world, &ORDER);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_command_without_a_clock_is_refused_if_it_would_move_an_account() {
    let (world, _, _) = world();
    world.ok(&[&ORDER[..], &["--account", "ann", "--clock", BEFORE]].concat());
    for arguments in [&DEPOSIT[..], &[&ORDER[..], &["--account", "ann"]].concat()] {
        let ran = plainly(&world, arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains("--clock 2026-03-18T02:00:15Z"), "{}", ran.stderr);
    }
    assert_eq!(is_at(&world), json!("2026-03-18T02:00:15Z"));
    // Commands that only read do not move the account.
    assert_eq!(plainly(&world, &["assets", "--account", "ann"]).code, Some(0));
    let now = [&DEPOSIT[..], &["--clock", "now"]].concat();
    assert_eq!(plainly(&world, &now).code, Some(0));
    // The account now follows the machine's clock, so no flag is needed.
    let ran = plainly(&world, &DEPOSIT);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn accounts_on_the_machines_clock_need_no_flag() {
    let (world, _, _) = world();
    for _ in 0..2 {
        let ran = plainly(&world, &DEPOSIT);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
    let made = plainly(&world, &["account", "create", "ben", "--format", "json"]);
    let token =
        serde_json::from_str::<Value>(&made.stdout).unwrap()["access_token"].as_str().unwrap().to_owned();
    // An account whose time is in the past is not moved, although other accounts follow the
    // machine's clock.
    world.ok(&[&ORDER[..], &["--account", "op", "--clock", BEFORE]].concat());
    assert_eq!(plainly(&world, &[&DEPOSIT[..], &["--clock", "now"]].concat()).code, Some(0));
    let ran = plainly(&world, &["account", "deposit", "op", "1000", "HKD"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("before it was created"), "{}", ran.stderr);
    // A server on the machine's clock overwrites the published replay clock.
    world.ok(&["account", "deposit", "op", "1000", "HKD", "--clock", BEFORE]);
    assert_eq!(plainly(&world, &DEPOSIT).code, Some(2));
    let server = Server::of(&world, &token, &["--clock", "now"]);
    assert_eq!(plainly(&world, &DEPOSIT).code, Some(0));
    drop(server);
    assert_eq!(plainly(&world, &DEPOSIT).code, Some(0));
}
