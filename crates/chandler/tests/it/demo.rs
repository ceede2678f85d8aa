//! Tests of `chandler demo`.

use crate::world::{World, send};

#[test]
fn the_demo_market_is_created_once() {
    let world = World::new();
    let first = world.run(&["demo"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stderr.contains("generating the demo market"), "{}", first.stderr);
    assert!(first.stdout.contains("9001.HK") && first.stdout.contains("CNDL.US"), "{}", first.stdout);
    let second = world.run(&["demo"]);
    assert_eq!(second.code, Some(0));
    assert!(second.stderr.is_empty(), "{}", second.stderr);
    assert_eq!(second.stdout, first.stdout);
    assert!(world.ok(&["check"]).contains("no damage found"));
    every_page_has_something_to_show(&world);
    for security in world.json(&["coverage"]).as_array().unwrap() {
        let summary = &security["summary"];
        for missing in ["daily_missing", "minutes_not_loaded", "minutes_unknown"] {
            assert_eq!(summary[missing], 0, "{security}");
        }
    }
    let quiet = world.run(&["demo", "-q", "--again"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
    a_served_demo_keeps_its_account(&world);
}

#[test]
fn only_a_demo_store_with_an_old_schema_is_replaced() {
    let world = World::new();
    let too_old = |name: &str, is_made: bool| {
        let path = world.path(name);
        world.ok(&["import", "a.csv", "--store", &format!("sqlite:{name}")]);
        if is_made {
            std::fs::create_dir(path.join("demo")).unwrap();
        }
        let conn = rusqlite::Connection::open(path.join("candles.db")).unwrap();
        conn.execute_batch("update migration set version = 8").unwrap();
    };
    world.write("a.csv", crate::world::days("700.HK"));
    std::fs::create_dir(world.path("of-user")).unwrap();
    for (name, is_made) in [("mine", true), ("of-user/demo", false)] {
        too_old(name, is_made);
        let (code, says) = world.fails(&["demo", "-q", "--store", &format!("sqlite:{name}")]);
        assert!(code == 1 && says.lines().count() == 1 && says.contains("commit cd517f10"), "{says}");
        assert!(!world.path(name).join("older-store").exists());
    }
    too_old("demo", true);
    let ran = world.run(&["demo", "-q", "--store", "sqlite:demo"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("has an older schema: moved it to"), "{}", ran.stderr);
    assert!(world.path("demo/older-store/candles.db").exists());
    assert!(world.ok(&["check", "--store", "sqlite:demo"]).contains("no damage found"));
}

/// Checks that the demo has imported files of several kinds, including a file with errors and a
/// security without one-minute candles.
fn every_page_has_something_to_show(world: &World) {
    let refused = world.json(&["quarantine"]);
    let rows: Vec<(&str, u64)> = refused
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["symbol"].as_str().unwrap(), row["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(rows, [("SNUF.US", 3), ("SNUF.US", 4), ("SNUF.US", 5), ("SNUF.US", 6)], "{refused}");
    let periods = |symbol: &str| -> Vec<String> {
        let listed = world.json(&["list", symbol]);
        let series = listed[0]["series"].as_array().unwrap();
        series.iter().map(|series| series["period"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(periods("687001.SH"), ["5m", "day"]);
    assert_eq!(periods("CNDL.US"), ["1m", "day"]);
    let hours = world.json(&["kline", "687001.SH", "--period", "1h", "-n", "3"]);
    assert_eq!(hours["candlesticks"].as_array().unwrap().len(), 3, "{hours}");
    let kinds: std::collections::BTreeSet<String> = world
        .json(&["imports", "-n", "100"])
        .as_array()
        .unwrap()
        .iter()
        .map(|import| import["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds.iter().map(String::as_str).collect::<Vec<_>>(),
        ["actions", "candles", "securities", "trades"]
    );
}

/// Checks that the demo uses the same account when it is served again. Not a separate test, because
/// creating the demo market takes most of the time.
fn a_served_demo_keeps_its_account(world: &World) {
    let first = served(world);
    assert!(first.iter().any(|line| line.starts_with("from longbridge.openapi import")), "{first:?}");
    let credentials = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| line.contains("_KEY=") || line.contains("_TOKEN=")).cloned().collect()
    };
    assert_eq!(credentials(&first).len(), 4, "{first:?}");
    let file = world.path("store/demo-account.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    it_has_traded(world);
    let second = served(world);
    assert_eq!(credentials(&second), credentials(&first));
    it_has_traded(world);
    // Topics and watchlists are created only once, although the demo was served twice.
    assert_eq!(world.json(&["topic", "list"]).as_array().unwrap().len(), 3);
    let lists = world.json(&["watchlist", "list", "--account", "demo"]);
    let groups: Vec<&str> =
        lists["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert!(groups.contains(&"Candles") && groups.contains(&"烛"), "{lists}");
    let accounts = world.json(&["account", "list"]);
    assert_eq!(accounts.as_array().unwrap().len(), 1);
    assert_eq!((&accounts[0]["name"], &accounts[0]["terms"]["rate"]), (&"demo".into(), &"unlimited".into()));
    // Without its credentials file, the demo creates another account.
    std::fs::write(&file, "{}").unwrap();
    let third = served(world);
    assert_ne!(credentials(&third), credentials(&first));
    assert_eq!(world.json(&["account", "list"])[1]["name"], "demo-2");
    assert!(third.iter().any(|line| line.ends_with("it is signed in as the demo account.")), "{third:?}");
    // If the store has other accounts, opening the page does not sign in as the demo account.
    world.ok(&["account", "create", "alice"]);
    let fourth = served(world);
    assert!(fourth.iter().any(|line| line.contains("and sign in") && line.contains("alice")), "{fourth:?}");
    assert!(!fourth.iter().any(|line| line.contains("it is signed in")), "{fourth:?}");
    let command =
        format!("`chandler --store sqlite:{} account password demo-2`", world.path("store").display());
    assert!(fourth.iter().any(|line| line.contains(&command)), "{fourth:?}");
    assert_eq!(credentials(&fourth), credentials(&third));
    a_served_demo_listens_where_it_is_told(world);
}

/// Checks that the account has cash, positions, filled orders and known net assets.
fn it_has_traded(world: &World) {
    let mine = |arguments: &[&str]| world.json(&[arguments, &["--account", "demo"]].concat());
    let held: Vec<(String, String)> = mine(&["positions"])["list"][0]["stock_info"]
        .as_array()
        .unwrap()
        .iter()
        .map(|info| ["symbol", "quantity"].map(|name| info[name].as_str().unwrap().to_owned()).into())
        .collect();
    let expected = [
        ("9001.HK", "1000"),
        ("9002.HK", "10000"),
        ("9003.HK", "300"),
        ("CNDL.US", "120"),
        ("WAX.US", "200"),
    ];
    assert_eq!(held, expected.map(|(symbol, quantity)| (symbol.to_owned(), quantity.to_owned())));
    let funds = &mine(&["assets"])["list"][0];
    let figure = |name: &str| funds[name].as_str().unwrap().parse::<f64>().unwrap();
    assert!(figure("total_cash") > 0.0 && figure("net_assets") > figure("total_cash"), "{funds}");
    let orders = mine(&["order", "list"]);
    let mut newest = orders["orders"].as_array().unwrap().iter();
    let open = newest.find(|order| order["symbol"] == "CNDL.US").unwrap();
    assert_eq!((&open["status"], &open["time_in_force"]), (&"NewStatus".into(), &"GTC".into()), "{orders}");
    // The grid has bought and sold the same number of shares.
    let grid = &mine(&["grid", "list"])["grid_order"][0];
    assert_eq!((&grid["symbol"], &grid["status"]), (&"9003.HK".into(), &"Performing".into()), "{grid}");
    for count in ["total_buy_quantity", "total_sell_quantity"] {
        assert_eq!(grid[count], "400", "{grid}");
    }
    let past = mine(&["order", "list", "--history"]);
    let statuses: Vec<&str> =
        past["orders"].as_array().unwrap().iter().map(|order| order["status"].as_str().unwrap()).collect();
    // The account has six filled orders, and the grid has two.
    assert_eq!(statuses, ["FilledStatus"; 8]);
}

/// Checks that a requested address that is in use is an error, and that no other address is used
/// instead.
fn a_served_demo_listens_where_it_is_told(world: &World) {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, message) =
        world.fails(&["demo", "-q", "--serve", "--listen", &address, "--tcp", "127.0.0.1:0"]);
    assert_eq!(code, 1, "{message}");
    assert!(message.contains(&format!("cannot listen on {address}: it is in use")), "{message}");
    let by_variable = |name: &str, value: &str, arguments: &[&str]| {
        let output = world.command(arguments).env(name, value).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let serve = ["demo", "-q", "--serve", "--listen", "127.0.0.1:0"];
    let (code, message) = by_variable("CHANDLER_TCP", &address, &serve);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains(&address), "{message}");
    let (code, message) = by_variable("CHANDLER_TCP", "here", &serve);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("CHANDLER_TCP") && message.contains("\"here\""), "{message}");
    // The variable is ignored without `--serve`.
    assert_eq!(by_variable("CHANDLER_TCP", "here", &["demo", "-q"]).0, Some(0));
}

/// Runs `chandler demo --serve` until its startup message is complete, stops it with SIGHUP, and
/// returns the printed lines.
fn served(world: &World) -> Vec<String> {
    use std::io::BufRead;
    let mut command = world.with_default_hangup(&["demo", "--quiet", "--serve"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines.map_while(Result::ok) {
        let last = line.starts_with("print(");
        seen.push(line);
        if last {
            break;
        }
    }
    // Closing the terminal sends SIGHUP.
    send(&child, "HUP");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(seen.iter().any(|line| line.starts_with("Open http://127.0.0.1:")), "{seen:?}");
    seen
}
