//! Tests of order and cash commands with a server: the requests sent to a stub server, the clock of
//! a real server, and both transports on the same store. `trading.rs` tests the commands on each
//! transport.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::remote::Server;
use crate::world::{Ran, World};

/// Starts a stub server that answers one request with each of `answers`. The handle returns the
/// requests as pairs of request line and body.
fn answering(answers: Vec<Value>) -> (String, JoinHandle<Vec<(String, Value)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests =
        std::thread::spawn(move || answers.into_iter().map(|data| answer(&listener, &data)).collect());
    (url, requests)
}

fn answer(listener: &TcpListener, data: &Value) -> (String, Value) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (Vec::new(), 0);
    for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = text.parse().unwrap();
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let text = json!({"code": 0, "message": "", "data": data}).to_string();
    let length = text.len();
    write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}").unwrap();
    let what = head[0].strip_suffix(" HTTP/1.1").unwrap().to_owned();
    (what, serde_json::from_slice(&body).unwrap_or_default())
}

pub(crate) fn run(arguments: &[&str], answers: Vec<Value>) -> (Ran, Vec<(String, Value)>) {
    let (world, (url, requests)) = (World::new(), answering(answers));
    let mut command = world.command(&[arguments, &["--server", &url]].concat());
    command.env_remove("CHANDLER_STORE").env("CHANDLER_TOKEN", "ap_x").env("HOME", world.path("home"));
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    (ran, requests.join().unwrap())
}

fn order() -> Value {
    json!({
        "order_id": "1000000001", "status": "NewStatus", "stock_name": "Lamp", "quantity": "200", "executed_quantity": "0",
        "price": "306.000", "executed_price": "0", "submitted_at": "1773799215", "side": "Buy", "symbol": "700.HK",
        "order_type": "LO", "msg": "", "time_in_force": "Day", "currency": "HKD", "outside_rth": "UnknownOutsideRth",
        "trigger_at": "0", "history": [], "charge_detail": {"total_amount": "0", "currency": "HKD", "items": []},
    })
}

#[test]
fn order_requests_follow_the_api() {
    let arguments = [
        "order",
        "sell",
        "700.HK",
        "200",
        "--limit",
        "306",
        "--tif",
        "gtd",
        "--expire",
        "2026-12-31",
        "--format",
        "json",
    ];
    let (ran, requests) = run(&arguments, vec![json!({"order_id": "1000000001"}), order()]);
    let output: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(output, json!({"order_id": "1000000001", "status": "NewStatus", "msg": ""}));
    let body = json!({
        "symbol": "700.HK", "side": "Sell", "order_type": "LO", "submitted_quantity": "200", "submitted_price": "306",
        "time_in_force": "GTD", "expire_date": "2026-12-31",
    });
    assert_eq!(requests[0], ("POST /v1/trade/order".to_owned(), body));
    assert_eq!(requests[1].0, "GET /v1/trade/order?order_id=1000000001");
}

#[test]
fn orders_are_listed_replaced_and_cancelled_at_a_server() {
    let (ran, requests) = run(&["order", "list", "--symbol", "700.HK"], vec![json!({"orders": [order()]})]);
    assert!(ran.stdout.contains("2026-03-18 10:00:15") && ran.stdout.contains("open"), "{}", ran.stdout);
    assert_eq!(requests[0].0, "GET /v1/trade/order/today?symbol=700.HK");
    let (_, requests) =
        run(&["order", "list", "--history", "--start", "2026-03-18T00:00:00Z"], vec![json!({"orders": []})]);
    assert_eq!(requests[0].0, "GET /v1/trade/order/history?start_at=1773792000&end_at=4102444800");
    let (_, requests) = run(&["order", "replace", "1000000001", "--limit", "305"], vec![order(), json!({})]);
    assert_eq!(
        requests[1],
        (
            "PUT /v1/trade/order".to_owned(),
            json!({"order_id": "1000000001", "quantity": "200", "price": "305"})
        )
    );
    let (ran, requests) = run(&["order", "cancel", "1000000001"], vec![json!({})]);
    assert_eq!(
        (requests[0].0.as_str(), ran.stdout.as_str()),
        ("DELETE /v1/trade/order?order_id=1000000001", "order 1000000001 is cancelled\n")
    );
}

#[test]
fn all_pages_of_the_order_history_are_read() {
    let of = |id: &str, at: &str| {
        let mut order = order();
        (order["order_id"], order["submitted_at"]) = (json!(id), json!(at));
        order
    };
    let (newest, shared, oldest) = (of("1000000003", "30"), of("1000000002", "20"), of("1000000001", "20"));
    let pages = vec![
        json!({"has_more": true, "orders": [newest, shared]}),
        json!({"has_more": false, "orders": [shared, oldest]}),
    ];
    let (ran, requests) = run(&["order", "list", "--history", "--format", "json"], pages);
    let paths: Vec<&str> = requests.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "GET /v1/trade/order/history?start_at=1&end_at=4102444800",
            "GET /v1/trade/order/history?start_at=1&end_at=20"
        ]
    );
    let output: Value = serde_json::from_str(&ran.stdout).unwrap();
    let ids: Vec<&str> = output["orders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| order["order_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["1000000003", "1000000002", "1000000001"]);
    assert_eq!(output["has_more"], false);
}

#[test]
fn amounts_from_a_server_are_shown_unchanged() {
    let funds = json!({"list": [{
        "total_cash": "250300.00", "max_finance_amount": "400000.00", "remaining_finance_amount": "650000.00", "risk_level": "0",
        "margin_call": "0", "currency": "HKD", "net_assets": "331300.00", "init_margin": "28350.00",
        "maintenance_margin": "24300.00", "buy_power": "302950.00", "frozen_transaction_fees": [],
        "cash_infos": [{"withdraw_cash": "172000.00", "available_cash": "172000.00", "frozen_cash": "300.00",
            "settling_cash": "0.00", "currency": "HKD"}],
    }]});
    let (ran, requests) = run(&["assets", "--currency", "hkd"], vec![funds]);
    assert_eq!(requests[0].0, "GET /v1/asset/account?currency=HKD");
    assert!(
        ran.stdout.contains("net assets   HKD 331,300.00") && ran.stdout.contains("172,000.00"),
        "{}",
        ran.stdout
    );
    let stock = json!({"list": [{"account_channel": "lb_papertrading", "stock_info": [
        {"symbol": "700.HK", "symbol_name": "\u{1b}[31mLamp", "quantity": "300", "available_quantity": "200", "currency": "HKD",
         "cost_price": "310.400", "market": "HK", "init_quantity": "200"},
    ]}]});
    let portfolio = json!({"positions": [
        {"symbol": "9.HK", "price": "1.000", "market_value": "1.00", "unrealised": "0.00"},
        {"symbol": "700.HK", "price": "311.400", "market_value": "93420.00", "unrealised": "300.00"},
    ]});
    let (ran, requests) = run(&["positions", "700.HK"], vec![stock, portfolio]);
    assert_eq!(
        (requests[0].0.as_str(), requests[1].0.as_str()),
        ("GET /v1/asset/stock?symbol=700.HK", "GET /v1/asset/portfolio")
    );
    for shown in ["311.400", "93,420.00", "300.00"] {
        assert!(ran.stdout.contains(shown), "{shown} is not in\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("310.400") && !ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
    let trade = |number: u32| {
        json!({"order_id": "1", "trade_id": format!("1-{number}"), "symbol": "AAPL.US",
        "trade_done_at": "1773311300", "quantity": "10", "price": "189.95", "side": "Buy"})
    };
    let pages = vec![
        json!({"has_more": true, "trades": [trade(1)]}),
        json!({"has_more": false, "trades": [trade(2)]}),
    ];
    let (ran, requests) = run(&["executions", "--history"], pages);
    assert!(ran.stdout.contains("1-1") && ran.stdout.contains("1-2"), "{}", ran.stdout);
    assert_eq!(requests[1].0, "GET /v1/trade/execution/history?start_at=1&end_at=4102444800&page=2");
    let flow = json!({"list": [{"transaction_flow_name": "BuyStock", "direction": 1, "business_type": 1, "balance": "-31040.00",
        "currency": "HKD", "business_time": "1773311221", "symbol": "700.HK", "description": "700"}]});
    let (ran, requests) = run(&["cashflow"], vec![flow]);
    assert!(ran.stdout.contains("-31,040.00"), "{}", ran.stdout);
    assert!(requests[0].0.starts_with("GET /v1/asset/cashflow?start_time=1&end_time="), "{requests:?}");
}

#[test]
fn a_servers_clock_is_shown_and_moved() {
    let standing = |now: &str| json!({"now": now, "pace": "standing"});
    let (ran, requests) = run(&["clock"], vec![standing("2026-03-18T02:00:00Z")]);
    assert_eq!(ran.stdout, "2026-03-18T02:00:00Z, fixed: `chandler clock INSTANT` moves it\n");
    assert_eq!(requests[0].0, "GET /v1/admin/clock");
    let (_, requests) = run(&["clock", "2026-03-18T02:00:15Z"], vec![standing("2026-03-18T02:00:15Z")]);
    assert_eq!(requests[0], ("POST /v1/admin/clock".to_owned(), json!({"now": "2026-03-18T02:00:15Z"})));
    let (_, requests) =
        run(&["clock", "+1m"], vec![standing("2026-03-18T02:00:15Z"), standing("2026-03-18T02:01:15Z")]);
    assert_eq!(requests[1].1, json!({"now": "2026-03-18T02:01:15Z"}));
}

#[test]
fn an_account_name_applies_only_to_the_local_store() {
    let world = World::new();
    let mut command = world.command(&["assets", "--account", "ann", "--server", "http://127.0.0.1:9"]);
    command.env_remove("CHANDLER_STORE").env("CHANDLER_TOKEN", "ap_x").env("HOME", world.path("home"));
    let ran = Ran::of(command.output().unwrap());
    assert!(ran.code == Some(2) && ran.stderr.contains("--account is for the local store"), "{}", ran.stderr);
}

#[test]
fn local_and_remote_answers_are_equal() {
    let securities =
        "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n";
    let minutes = "symbol,time,open,high,low,close,volume\n\
        700.HK,2026-03-18 10:00,305,305,300,305,50000\n700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n";
    let world = World::with(&[("securities.csv", securities), ("minutes.csv", minutes)]);
    let token = |made: Value| made["access_token"].as_str().unwrap().to_owned();
    let ann = token(world.json(&["account", "create", "ann", "--cash", "HKD=500000", "--rate", "unlimited"]));
    let operator = token(world.json(&["account", "create", "op", "--role", "operator"]));
    let mut server = Server::of(&world, &ann, &["--clock", "2026-03-18T10:00:15+08:00"]);
    let there = |server: &Server, arguments: &[&str]| {
        let ran = server.run(&world, &[arguments, &["--format", "json"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let tried = ["order", "buy", "700.HK", "200", "--limit", "306", "--dry-run"];
    let local = |clock: &str, arguments: &[&str]| {
        world.json(&[arguments, &["--account", "ann", "--clock", clock]].concat())
    };
    assert_eq!(there(&server, &tried), local("2026-03-18T10:00:15+08:00", &tried));
    let order = there(&server, &["order", "buy", "700.HK", "200", "--limit", "306"]);
    assert_eq!(order, json!({"order_id": "1000000001", "status": "NewStatus", "msg": ""}));
    server.token = operator;
    assert_eq!(there(&server, &["clock"])["pace"], "standing");
    assert_eq!(there(&server, &["clock", "+105s"])["now"], "2026-03-18T02:02:00Z");
    let operator = std::mem::replace(&mut server.token, ann);
    for question in [
        &["order", "list"][..],
        &["order", "list", "--history"],
        &["order", "show", "1000000001"],
        &["order", "why", "1000000001"],
        &["assets"],
        &["executions"],
        &["cashflow"],
        &["positions"],
    ] {
        assert_eq!(there(&server, question), local("2026-03-18T10:02:00+08:00", question), "{question:?}");
    }
    let refused = |arguments: &[&str]| {
        let ran = server.run(&world, arguments);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{arguments:?}: {}", ran.stderr);
        ran.stderr
    };
    let off = refused(&["order", "buy", "700.HK", "200", "--limit", "306.1"]);
    assert!(off.contains("price must be a multiple of 0.2: 306.1 is not (check 7, tick)"), "{off}");
    for question in [&["order", "show", "999"][..], &["order", "cancel", "999"], &["order", "why", "999"]] {
        let none = refused(question);
        assert!(none.contains("has no order 999: `chandler order list`"), "{question:?}: {none}");
    }
    let held = there(&server, &["positions"])["list"][0]["stock_info"][0].clone();
    assert_eq!((&held["quantity"], &held["cost_price"]), (&json!("200"), &json!("305.200")));
    // On the next morning there is a statement for the day, which the local store also lists.
    let ann = std::mem::replace(&mut server.token, operator);
    there(&server, &["clock", "2026-03-19T01:00:00Z"]);
    server.token = ann;
    for question in [&["statement", "list"][..], &["statement", "show"], &["statement", "show", "2026-03-18"]]
    {
        let here = local("2026-03-19T09:00:00+08:00", question);
        assert_eq!(there(&server, question), here, "{question:?}");
    }
    let none = server.run(&world, &["statement", "show", "2026-03-17"]);
    assert!(none.stderr.contains("there is no daily statement of 2026-03-17"), "{}", none.stderr);
}

/// Creates a store with the data of example G1 of the specification: an account with HKD 500,000,
/// and an operator. Returns the tokens of the two accounts.
fn traded() -> (World, [String; 2]) {
    let securities = "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp,HKEX,HKD,100,3\n";
    let minutes = "symbol,time,open,high,low,close,volume\n\
        700.HK,2026-03-18 10:00,305,305,300,305,50000\n700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n";
    let world = World::with(&[("securities.csv", securities), ("minutes.csv", minutes)]);
    let create = |name: &str, more: &[&str]| {
        let made = world.json(&[&["account", "create", name], more].concat());
        made["access_token"].as_str().unwrap().to_owned()
    };
    let ann = create("ann", &["--cash", "HKD=500000", "--rate", "unlimited"]);
    let tokens = [ann, create("op", &["--role", "operator"])];
    (world, tokens)
}

#[test]
fn the_level_depends_on_the_paper_account() {
    let (world, [ann, operator]) = traded();
    let mut server = Server::of(&world, &ann, &["--clock", "2026-03-18T10:00:15+08:00"]);
    let ok = |server: &Server, arguments: &[&str]| {
        let ran = server.run(&world, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
        ran.stdout
    };
    ok(&server, &["order", "buy", "700.HK", "200", "--limit", "306"]);
    assert!(ok(&server, &["quota"]).contains("level        1: neither assets nor orders"));
    server.token = operator;
    ok(&server, &["clock", "2026-03-18T16:00:00Z"]);
    server.token = ann;
    let quota = ok(&server, &["quota"]);
    for line in [
        "level        4: assets HKD 499,995.25 of the paper account on 2026-03-18 reach level 4",
        "assets       HKD 499,995.25 of the paper account on 2026-03-18",
        "orders       1 of the paper account in 2026-03",
    ] {
        assert!(quota.lines().any(|found| found == line), "{line:?} is not in\n{quota}");
    }
    // The local store shows the same quota.
    assert_eq!(world.ok(&["quota", "ann", "--clock", "2026-03-19T00:00:00+08:00"]), quota);
}

#[test]
fn a_running_clock_is_shown_and_not_moved() {
    let (world, [_, operator]) = traded();
    let server = Server::of(&world, &operator, &["--clock", "2026-03-18T10:00:15+08:00,run@60"]);
    let shown = server.run(&world, &["clock"]).stdout;
    assert!(
        shown.starts_with("2026-03-18T") && shown.ends_with(", runs at 60 times the machine's speed\n"),
        "{shown}"
    );
    let document: Value =
        serde_json::from_str(&server.run(&world, &["clock", "--format", "json"]).stdout).unwrap();
    assert_eq!((&document["pace"], &document["speed"]), (&json!("running"), &json!(60.0)));
    let moved = server.run(&world, &["clock", "+15s"]);
    assert!(
        moved.code == Some(1) && moved.stderr.contains("only a stopped clock can be moved"),
        "{}",
        moved.stderr
    );
}

#[test]
fn grid_requests_follow_the_api() {
    let arguments = [
        "grid",
        "submit",
        "700.HK",
        "--base",
        "305.2",
        "--lower",
        "300",
        "--upper",
        "310",
        "--percent",
        "2",
        "--percent-down",
        "1.5",
        "--quantity",
        "100",
        "--min-position",
        "100",
        "--max-position",
        "1000",
        "--at-upper",
        "close",
        "--multiple",
        "on",
        "--tif",
        "gtd",
        "--expire",
        "2026-12-31",
        "--format",
        "json",
    ];
    let (ran, requests) = run(&arguments, vec![json!({"order_id": "1900000001"})]);
    let output: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(output, json!({"order_id": "1900000001"}));
    // The expiry is the date's last second in Hong Kong.
    let rule = json!({
        "submitted_base_price": "305.2", "lower_limit_price": "300", "upper_limit_price": "310", "trigger_price_type": 2,
        "trigger_percent_up": "2", "trigger_percent_down": "1.5", "trigger_quantity": "100", "lower_limit_quantity": "100",
        "upper_limit_quantity": "1000", "upper_limit_event": 2, "multiple_trigger": true, "time_in_force": 6,
        "expire_time": 1_798_732_799,
    });
    let body = json!({"symbol": "700.HK", "grid_trading_rule": rule});
    assert_eq!(requests, [("POST /v1/gridtrading/submit".to_owned(), body)]);
    for (word, said) in [("cancel", "is cancelled"), ("suspend", "is paused"), ("restart", "is resumed")] {
        let (ran, requests) = run(&["grid", word, "1900000001"], vec![json!({})]);
        let request = (format!("POST /v1/gridtrading/{word}"), json!({"order_id": "1900000001"}));
        assert_eq!((requests, ran.stdout), (vec![request], format!("grid 1900000001 {said}\n")));
    }
}

#[test]
fn all_pages_of_the_grid_list_are_read() {
    let grid = |id: &str| {
        json!({
            "order_id": id, "symbol": "700.HK", "status": "Performing", "created_at": "1773799215", "current_base_price": "305.6",
            "submitted_base_price": "305.2", "upper_limit_price": "310", "lower_limit_price": "300", "trigger_price_type": 1,
            "trigger_spread_up": "0.4", "trigger_spread_down": "0.4", "trigger_percent_up": "", "trigger_percent_down": "",
            "trigger_quantity": "100", "upper_limit_quantity": "1000", "lower_limit_quantity": "100", "upper_limit_event": 1,
            "lower_limit_event": 1, "trigger_sell_depth": 0, "trigger_buy_depth": 0, "multiple_trigger": false,
            "support_shortsell": false, "rth": 0, "time_in_force": 1, "expire_time": "", "grid_order_type_up": "GMO",
            "grid_order_type_down": "GMO", "settlement_currency": "HKD",
        })
    };
    let pages = vec![
        json!({"has_more": true, "grid_order": [grid("1900000003"), grid("1900000002")]}),
        json!({"has_more": false, "grid_order": [grid("1900000002"), grid("1900000001")]}),
    ];
    let (ran, requests) = run(&["grid", "list", "--status", "running", "--status", "paused"], pages);
    assert_eq!(ran.stdout.matches("2026-03-18 10:00:15 HKT").count(), 3, "{}", ran.stdout);
    assert_eq!(requests[1].0, "GET /v1/gridtrading/list?status=Performing%2CSuspended&page=2&limit=1000");
    let (ran, requests) =
        run(&["grid", "replace", "1900000001", "--quantity", "200"], vec![grid("1900000001"), json!({})]);
    assert_eq!(ran.stdout, "grid 1900000001 is replaced\n");
    assert_eq!(requests[0].0, "GET /v1/gridtrading/detail?order_id=1900000001&limit=1000");
    let rule = &requests[1].1["grid_trading_rule"];
    assert_eq!((&rule["trigger_quantity"], &rule["submitted_base_price"]), (&json!("200"), &json!("305.6")));
    assert_eq!((&rule["trigger_spread_up"], &rule["time_in_force"]), (&json!("0.4"), &json!(1)));
}
