//! Tests of order and cash commands for a paper account on a past morning, with an explicit clock
//! for each command. Each test uses both transports unless a feature has only one.

use serde_json::{Value, json};

use crate::transports::Setup;
use crate::world::World;

const SECURITIES: &str =
    "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n";
const MINUTES: &str = "symbol,time,open,high,low,close,volume\n\
    700.HK,2026-03-18 10:00,305,305,300,305,50000\n\
    700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n\
    700.HK,2026-03-18 10:02,305.6,305.6,304.8,305,50000\n\
    700.HK,2026-03-18 10:03,305,305.4,304.8,305.2,2000\n";

const FILES: [(&str, &str); 2] = [("securities.csv", SECURITIES), ("minutes.csv", MINUTES)];

/// Creates a local account with HKD 500,000, and one security's one-minute candles of a morning.
fn world() -> Setup {
    Setup::local(&FILES, &["--cash", "HKD=500000"])
}

/// Creates the same account in a local store and on a server.
fn setups() -> [Setup; 2] {
    Setup::both(&FILES, &["--cash", "HKD=500000"], EARLY)
}

/// Appends `--clock` to the arguments of a command.
fn at<'a>(clock: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--clock", clock]].concat()
}

const EARLY: &str = "2026-03-18T07:00:00+08:00";
const BEFORE: &str = "2026-03-18T10:00:15+08:00";
const RESTING: &str = "2026-03-18T10:00:30+08:00";
const FILLED: &str = "2026-03-18T10:02:00+08:00";
const LATER: &str = "2026-03-18T10:04:30+08:00";

fn buy(world: &Setup, clock: &str, arguments: &[&str]) -> String {
    let order = world.json(&at(clock, &[&["order", "buy", "700.HK"], arguments].concat()));
    order["order_id"].as_str().unwrap_or_else(|| panic!("{order}")).to_owned()
}

#[test]
fn a_limit_order_is_filled_at_the_open_and_explained() {
    for world in setups() {
        let id = buy(&world, BEFORE, &["200", "--limit", "306"]);
        assert_eq!(id, "1000000001");
        let funds = world.json(&at(RESTING, &["assets"]))["list"][0].clone();
        let cash = &funds["cash_infos"][0];
        assert_eq!(
            (
                &cash["frozen_cash"],
                &cash["available_cash"],
                &funds["frozen_transaction_fees"][0]["frozen_transaction_fee"]
            ),
            (&json!("61284.77"), &json!("438715.23"), &json!("84.77"))
        );
        let listed = world.ok(&at(RESTING, &["order", "list"]));
        assert!(
            listed.contains("1000000001") && listed.contains("open") && listed.contains("306.000"),
            "{listed}"
        );
        let order = world.json(&at(FILLED, &["order", "show", &id]));
        assert_eq!(
            (
                &order["status"],
                &order["executed_price"],
                &order["stock_name"],
                &order["charge_detail"]["total_amount"]
            ),
            (&json!("FilledStatus"), &json!("305.200"), &json!("Lamp & Wick"), &json!("84.75"))
        );
        let shown = world.ok(&at(FILLED, &["order", "show", &id]));
        for line in [
            "state        filled",
            "submitted    2026-03-18 10:00:15 HKT",
            "charge       HKD 62.00 Stamp duty (STAMP_DUTY)",
            "charges      HKD 84.75",
        ] {
            assert!(shown.lines().any(|found| found == line), "{line:?} is not in\n{shown}");
        }
        let explanation = world.ok(&at(FILLED, &["order", "why", &id]));
        for line in [
            "order 1000000001",
            "2026-03-18 10:00:15 HKT  accepted: buy 200 700.HK, limit 306, for the day",
            "    candles stamped after 2026-03-18 10:00:15 HKT count for it",
            "    it ends at 2026-03-18 16:10:00 HKT",
            "2026-03-18 10:02:00 HKT  filled: 200 at 305.2",
            "    candle 10:01 HKT: open 305.2, high 305.8, low 305, close 305.6, volume 50000",
            "    the open 305.2 was on the good side of the limit 306, so the open is the price",
            "    STAMP_DUTY HKD 62.00",
            "    HKD 61124.75 paid: 61040.00 and charges of 84.75; booked on 2026-03-18, settled on 2026-03-20",
        ] {
            assert!(explanation.lines().any(|found| found == line), "{line:?} is not in\n{explanation}");
        }
        let output = world.json(&at(FILLED, &["order", "why", &id]));
        let fill = &output["steps"][1]["fill"];
        assert_eq!(
            (&fill["price_of"], &fill["rule"], &fill["budget"]),
            (&json!("open"), &json!("open"), &json!("5000"))
        );
        let positions = world.json(&at(FILLED, &["positions"]));
        let position = &positions["list"][0]["stock_info"][0];
        assert_eq!((&position["quantity"], &position["cost_price"]), (&json!("200"), &json!("305.200")));
        assert!(world.ok(&at(FILLED, &["positions"])).contains("Lamp & Wick"));
        let executed = world.ok(&at(FILLED, &["executions"]));
        assert!(executed.contains("1000000001-1") && executed.contains("2026-03-18 10:02:00"), "{executed}");
        let flows = world.json(&at(FILLED, &["cashflow"]));
        let names: Vec<&str> = flows["list"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["transaction_flow_name"].as_str().unwrap())
            .collect();
        assert!(
            names.contains(&"BuyStock") && names.contains(&"Fee") && names.last() == Some(&"Deposit"),
            "{names:?}"
        );
        let assets = world.ok(&at(FILLED, &["assets"]));
        assert!(assets.contains("cash         HKD 438,875.25"), "{assets}");
    }
}

#[test]
fn order_events_and_cash_flows_are_shown_as_text() {
    for world in setups() {
        let id = buy(&world, BEFORE, &["200", "--limit", "306"]);
        let shown = world.ok(&at(FILLED, &["order", "show", &id]));
        assert!(shown.contains("\nhistory      2026-03-18 10:00:15 HKT  "), "{shown}");
        assert!(!shown.contains("Status"), "states are words in\n{shown}");
        let output = world.ok(&at(FILLED, &["cashflow"]));
        for words in ["2026-03-18 10:02:00 HKT", "bought", "charge", "Stamp duty (STAMP_DUTY)", "deposit"] {
            assert!(output.contains(words), "{words:?} is not in\n{output}");
        }
        let assets = world.ok(&at(FILLED, &["assets"]));
        assert!(assets.contains("to spend     HKD ") && assets.contains(", including credit"), "{assets}");
        let sale = world.ok(&at(FILLED, &["order", "sell", "700.HK", "100", "--limit", "306", "--dry-run"]));
        assert!(sale.lines().any(|line| line == "at most      200 held"), "{sale}");
    }
}

#[test]
fn a_read_command_does_not_advance_the_account() {
    let world = world();
    let id = buy(&world, BEFORE, &["200", "--limit", "306"]);
    let entries = || world.json(&["account", "show", "ann"])["paper"]["entries"].clone();
    let before = entries();
    for question in [
        &["assets"][..],
        &["positions"],
        &["executions"],
        &["cashflow"],
        &["statement", "list"],
        &["order", "list"],
        &["order", "why", &id],
    ] {
        world.ok(&at(LATER, question));
        world.ok(&at(LATER, &[question, &["--format", "json"]].concat()));
    }
    world.ok(&at(LATER, &["order", "buy", "700.HK", "100", "--dry-run"]));
    assert_eq!(entries(), before);
    // The account has not been advanced by the reads, so it accepts a command before `LATER`.
    world.ok(&at(RESTING, &["order", "cancel", &id]));
    assert_eq!(world.json(&at(LATER, &["order", "show", &id]))["status"], "CanceledStatus");
}

#[test]
fn a_statement_is_listed_shown_and_saved() {
    const OVER: &str = "2026-03-19T09:00:00+08:00";
    for world in setups() {
        buy(&world, BEFORE, &["200", "--limit", "306"]);
        assert_eq!(world.ok(&at(LATER, &["statement", "list"])), "no statements yet\n");
        let (code, message) = world.fails(&at(LATER, &["statement", "show"]));
        assert!(code == 1 && message.contains("there is no daily statement yet"), "{message}");
        let row = json!({"dt": "2026-03-18", "file_key": "/statement_data/data/lb/1/20260318/1.json"});
        assert_eq!(world.json(&at(OVER, &["statement", "list"])), json!({"list": [row]}));
        assert!(world.ok(&at(OVER, &["statement", "list", "--monthly"])).contains("no statements yet"));
        let shown = world.ok(&at(OVER, &["statement", "show"]));
        for words in ["438,875.25", "-61,124.75 HKD", "Lamp & Wick", "2026-03-20", "bought"] {
            assert!(shown.contains(words), "{words:?} is not in\n{shown}");
        }
        for (format, begins) in [("json", "{\"GeneratedAt\""), ("pdf", "%PDF-")] {
            let path = world.path(&format!("statement.{format}"));
            let out = path.to_str().unwrap();
            world.ok(&at(OVER, &["statement", "download", "2026-03-18", "--format", format, "-o", out]));
            assert!(std::fs::read(&path).unwrap().starts_with(begins.as_bytes()), "{format}");
        }
        let wrong = [
            &["statement", "show", "20260231"][..],
            &["statement", "list", "--start", "soon"],
            &["statement", "list", "-n", "0"],
            &["statement", "list", "-n", "1001"],
            &["statement", "download", "--lang", "de"],
        ];
        for arguments in wrong {
            assert_eq!(world.fails(&at(OVER, arguments)).0, 2, "{arguments:?}");
        }
    }
}

#[test]
fn a_dry_run_shows_refusals_and_costs() {
    for world in setups() {
        let waits = world.ok(&at(EARLY, &["order", "buy", "700.HK", "200", "--limit", "306", "--dry-run"]));
        assert!(waits.contains("sent         to the market at 2026-03-18 "), "{waits}");
        let try_out = |arguments: &[&str]| {
            world.json(&at(BEFORE, &[&["order", "buy", "700.HK"], arguments, &["--dry-run"]].concat()))
        };
        let fine = try_out(&["200", "--limit", "306"]);
        let cost = &fine["cost"];
        assert_eq!(
            (&fine["verdict"], &fine["status"], &cost["amount"], &cost["fee_total"], &cost["total"]),
            (
                &json!("accepted"),
                &json!("NewStatus"),
                &json!("61200.00"),
                &json!("84.77"),
                &json!("61284.77")
            )
        );
        assert_eq!(cost["available_cash"], json!({"before": "500000.00", "after": "438715.23"}));
        assert_eq!(cost["buy_power"], json!({"before": "500000.00", "after": "438715.23"}));
        assert!(
            cost["fees"].as_array().unwrap().contains(&json!({"code": "STAMP_DUTY", "amount": "62.00"})),
            "{cost}"
        );
        let text = world.ok(&at(BEFORE, &["order", "buy", "700.HK", "200", "--limit", "306", "--dry-run"]));
        for line in [
            "buy 200 700.HK LO would be accepted: open",
            "charge       HKD 62.00 Stamp duty (STAMP_DUTY)",
            "total        HKD 61,284.77",
            "cash         HKD 500,000.00 available now, 438,715.23 once it is filled",
            "nothing was submitted",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is not in\n{text}");
        }
        assert!(!text.contains("to the market at"), "the session is open: {text}");
        let rejected =
            world.ok(&at(BEFORE, &["order", "buy", "700.HK", "2000", "--limit", "306", "--dry-run"]));
        assert!(rejected.contains("cash         HKD 500,000.00 available now\n"), "{rejected}");
        assert!(!rejected.contains("once it is filled"), "{rejected}");
        let dear = try_out(&["2000", "--limit", "306"]);
        assert_eq!((&dear["verdict"], &dear["reason"]["check"]), (&json!("rejected"), &json!(10)));
        let words = dear["reason"]["words"].as_str().unwrap();
        assert!(
            words.starts_with("insufficient funds: it needs 612")
                && words.ends_with("there is 500000.00 (check 10, funds)"),
            "{words}"
        );
        let off = try_out(&["200", "--limit", "306.1"]);
        assert_eq!(
            (&off["verdict"], &off["reason"]["code"], &off["cost"]),
            (&json!("refused"), &json!(602_001), &Value::Null)
        );
        assert_eq!(off["reason"]["words"], "price must be a multiple of 0.2: 306.1 is not (check 7, tick)");
        assert_eq!(try_out(&["150"])["reason"]["text"], "quantity must be a multiple of 100");
        let unknown = world.ok(&at(BEFORE, &["order", "buy", "701.HK", "100", "--dry-run"]));
        assert!(unknown.contains("would be refused: symbol not tradable"), "{unknown}");
        // Symbols are suggested only for the local store.
        assert_eq!(unknown.contains("did you mean 700.HK?"), world.is_local(), "{unknown}");
        let none = world.ok(&at(BEFORE, &["order", "list"]));
        assert_eq!(none, "no orders today: `--history` lists those of earlier days\n");
    }
}

#[test]
fn orders_are_replaced_cancelled_and_rejected() {
    for world in setups() {
        let id = buy(&world, BEFORE, &["200", "--limit", "290", "--remark", "low", "--tif", "gtc"]);
        assert_eq!(
            world.ok(&at(RESTING, &["order", "replace", &id, "--limit", "291"])),
            format!("order {id} is replaced\n")
        );
        let order = world.json(&at(RESTING, &["order", "show", &id]));
        assert_eq!(
            (&order["price"], &order["quantity"], &order["remark"]),
            (&json!("291.000"), &json!("200"), &json!("low"))
        );
        assert_eq!(world.json(&at(RESTING, &["order", "cancel", &id])), json!({"order_id": &id}));
        let (code, again) = world.fails(&at(RESTING, &["order", "cancel", &id]));
        assert!(code == 1 && again.contains("CanceledStatus"), "{again}");
        let dear = world.ok(&at(RESTING, &["order", "buy", "700.HK", "2000", "--limit", "306"]));
        assert_eq!(
            dear,
            "order 1000000002: rejected: insufficient funds; `chandler order why 1000000002` explains it\n"
        );
        let explanation = world.ok(&at(RESTING, &["order", "why", "1000000002"]));
        assert!(
            explanation.contains("check 10, funds") && explanation.contains("there is 500000.00"),
            "{explanation}"
        );
        for (status, count) in [("RejectedStatus", 1), ("rejected", 1), ("Cancelled", 1), ("open", 0)] {
            let listed = world.json(&at(RESTING, &["order", "list", "--status", status]));
            assert_eq!(listed["orders"].as_array().unwrap().len(), count, "{status}");
        }
        assert_eq!(world.json(&at(RESTING, &["order", "list", "--side", "sell"]))["orders"], json!([]));
        // On the next day, the orders are listed only in the history.
        let next = "2026-03-19T09:00:00+08:00";
        assert_eq!(world.json(&at(next, &["order", "list"]))["orders"], json!([]));
        let past = world.json(&at(next, &["order", "list", "--start", "2026-03-18", "--end", "2026-03-18"]));
        assert_eq!(past["orders"].as_array().unwrap().len(), 2, "{past}");
    }
}

#[test]
fn conditional_orders_show_their_trigger_time() {
    for world in setups() {
        let types = |arguments: &[&str]| {
            let arguments = [&["order", "buy", "700.HK", "100"], arguments, &["--dry-run"]].concat();
            world.json(&at(BEFORE, &arguments))["order_type"].as_str().unwrap().to_owned()
        };
        assert_eq!(types(&[]), "MO");
        assert_eq!(types(&["--limit", "305"]), "LO");
        assert_eq!(types(&["--trigger", "305.4"]), "MIT");
        assert_eq!(types(&["--trigger", "305.4", "--limit", "307"]), "LIT");
        assert_eq!(types(&["--trailing-amount", "2", "--limit-offset", "1"]), "TSLPAMT");
        assert_eq!(types(&["--trailing-percent", "1.5", "--limit-offset", "1"]), "TSLPPCT");
        assert_eq!(types(&["--limit", "305", "--type", "elo"]), "ELO");
        let id = buy(&world, BEFORE, &["100", "--trigger", "305.6", "--limit", "307"]);
        let explanation = world.ok(&at(LATER, &["order", "why", &id]));
        for line in [
            "2026-03-18 10:00:15 HKT  accepted: buy 100 700.HK, limit 307 once 305.6 is touched, for the day",
            "    it waits for a price of 305.6 or more: the market was below it",
            "2026-03-18 10:02:00 HKT  released as a limit order at 307",
            "2026-03-18 10:03:00 HKT  filled: 100 at 305.6",
        ] {
            assert!(explanation.lines().any(|found| found == line), "{line:?} is not in\n{explanation}");
        }
    }
}

#[test]
fn a_flag_that_does_not_apply_to_the_type_is_refused() {
    for world in setups() {
        let market = buy(&world, BEFORE, &["100"]);
        let limit = buy(&world, BEFORE, &["100", "--limit", "290"]);
        for (arguments, says) in [
            (&["buy", "700.HK", "100", "--type", "MO", "--limit", "306"][..], "--limit does not apply to MO"),
            (&["buy", "700.HK", "100", "--type", "AO", "--limit", "306"], "--limit does not apply to AO"),
            (
                &["buy", "700.HK", "100", "--type", "LO", "--limit", "306", "--trigger", "300"],
                "--trigger does not apply to LO",
            ),
            (
                &["buy", "700.HK", "100", "--trailing-amount", "2", "--limit", "306"],
                "does not apply to TSLPAMT",
            ),
            (&["replace", &market, "--limit", "306"], "--limit does not apply to MO"),
            (&["replace", &limit, "--quantity", "200", "--trigger", "300"], "--trigger does not apply to LO"),
        ] {
            let (code, said) = world.fails(&at(BEFORE, &[&["order"], arguments].concat()));
            assert!(code == 2 && said.contains(says) && said.lines().count() == 1, "{arguments:?}: {said}");
        }
        assert_eq!(world.json(&at(BEFORE, &["order", "list"]))["orders"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_bracket_is_previewed_changed_and_shown() {
    for world in setups() {
        let flags = ["200", "--limit", "305.6", "--take-profit", "320", "--stop-loss", "300"];
        let dry = [&["order", "buy", "700.HK", "--dry-run"], flags.as_slice()].concat();
        let preview = world.ok(&at(BEFORE, &dry));
        assert!(preview.contains("take profit  at the market once 320.000 is touched, Day"), "{preview}");
        let id = buy(&world, BEFORE, &flags);
        world.ok(&at(RESTING, &["order", "replace", &id, "--stop-loss", "305"]));
        // The candle of 10:02 reaches 305, and the candle of 10:03 opens at 305.
        let shown = world.ok(&at(LATER, &["order", "show", &id]));
        for line in [
            "take profit  1000000002: 200 at 320.000, 0 executed: cancelled",
            "stop loss    1000000003: 200 at 305.000, 200 executed: filled",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        let listed = world.ok(&at(LATER, &["order", "list"]));
        assert!(listed.contains("1000000003") && listed.contains("stop loss"), "{listed}");
        let why = world.ok(&at(LATER, &["order", "why", "1000000003"]));
        assert!(why.contains(&format!("attached to order {id} as its stop loss")), "{why}");
        let wrong = ["order", "buy", "700.HK", "200", "--limit", "305.6", "--take-profit", "305"];
        let (code, said) = world.fails(&at(LATER, &wrong));
        assert!(code == 1 && said.contains("--take-profit must be above 305.6"), "{said}");
        let alone = ["order", "buy", "700.HK", "200", "--attached-tif", "gtc"];
        let (code, said) = world.fails(&at(LATER, &alone));
        assert!(code == 2 && said.contains("--attached-tif needs --take-profit or --stop-loss"), "{said}");
    }
}

#[test]
fn a_retry_with_the_same_idempotency_key_creates_no_second_order() {
    let world = world();
    let order = || buy(&world, BEFORE, &["100", "--limit", "290", "--request-id", "mine"]);
    assert_eq!(order(), order());
    let again = ["order", "buy", "700.HK", "100", "--limit", "290", "--request-id", "mine"];
    assert_eq!(
        world.ok(&at(BEFORE, &again)),
        "order 1000000001 already exists for this --request-id: open\n"
    );
    assert_eq!(world.json(&at(BEFORE, &again))["repeated"], true);
    assert_eq!(world.json(&at(BEFORE, &["order", "list"]))["orders"].as_array().unwrap().len(), 1);
}

#[test]
fn several_accounts_require_an_account_name() {
    let world = world();
    world.ok(&["account", "create", "bob"]);
    let (code, said) = world.fails(&at(BEFORE, &["positions"]));
    assert!(code == 2 && said.contains("--account NAME"), "{said}");
    assert_eq!(world.ok(&at(BEFORE, &["positions", "--account", "ann"])), "no positions\n");
    world.ok(&["account", "revoke", "bob"]);
    assert_eq!(world.ok(&at(BEFORE, &["positions"])), "no positions\n");
    let (code, said) = world.fails(&at(BEFORE, &["order", "buy", "700.HK", "100", "--account", "bob"]));
    assert!(code == 1 && said.contains("revoked"), "{said}");
    let set = world.ok(&["account", "set", "ann", "--read-only", "on"]);
    assert!(set.trim_end().ends_with(", read-only"), "{set}");
    let (code, said) = world.fails(&at(BEFORE, &["order", "buy", "700.HK", "100"]));
    assert!(code == 1 && said.contains("--read-only off"), "{said}");
    assert_eq!(world.fails(&at(BEFORE, &["assets", "--account", "eve"])).0, 1);
    let empty = World::with(&[("securities.csv", SECURITIES), ("minutes.csv", MINUTES)]);
    let (code, said) = empty.fails(&["positions"]);
    assert!(code == 1 && said.contains("account create"), "{said}");
}

#[test]
fn an_account_ahead_of_the_clock_is_read_only() {
    let world = world();
    let id = buy(&world, BEFORE, &["200", "--limit", "306"]);
    buy(&world, LATER, &["100", "--limit", "290"]);
    assert_eq!(world.json(&at(RESTING, &["order", "show", &id]))["status"], "NewStatus");
    let (code, said) = world.fails(&at(RESTING, &["order", "buy", "700.HK", "100"]));
    assert!(code == 1 && said.contains("account is at 2026-03-18T02:04:30Z"), "{said}");
    assert!(
        ["rewind", "reset", "fork"].iter().all(|name| said.contains(&format!("account {name}"))),
        "{said}"
    );
    let tried = world.json(&at(RESTING, &["order", "buy", "700.HK", "100", "--dry-run"]));
    assert_eq!(tried["verdict"], "refused");
}

#[test]
fn errors_are_one_line() {
    for world in setups() {
        for (arguments, code, says) in [
            (&["order", "buy", "700", "100"][..], 2, "did you mean 700.HK"),
            (&["order", "buy", "700.HK", "many"], 2, "the quantity: \"many\" is not a decimal"),
            (&["order", "buy", "700.HK", "1e3"], 2, "is not a decimal"),
            (&["order", "buy", "700.HK", "100", "--limit", "3o6"], 2, "--limit"),
            (&["order", "buy", "700.HK", "100", "--type", "XO"], 2, "TSLPPCT"),
            (&["order", "buy", "700.HK", "100", "--tif", "gtd"], 2, "--expire"),
            (&["order", "buy", "700.HK", "100", "--expire", "2026-03-20"], 2, "--tif gtd"),
            (&["order", "buy", "700.HK", "100", "--type", "LO"], 1, "--limit required (check 3, fields)"),
            (&["order", "buy", "600519.SH", "100"], 1, "symbol not tradable (check 1, symbol)"),
            (
                &["order", "buy", "700.HK", "150", "--limit", "305"],
                1,
                "quantity must be a multiple of 100: 150 is not",
            ),
            (&["order", "buy", "700.HK", "100", "--limit", "3000"], 1, "price too far from 305: "),
            (&["order", "sell", "700.HK", "100"], 1, "insufficient holdings"),
            (
                &["order", "buy", "701.HK", "100"],
                1,
                "symbol not tradable (check 1, symbol); did you mean 700.HK?",
            ),
            (&["order", "buy", "700.HK", "100", "--type", "LO"], 1, "--limit required"),
            (&["order", "cancel", "1"], 1, "has no order 1: `chandler order list`"),
            (&["order", "cancel", "x"], 2, "order list"),
            (&["order", "buy", "700.HK", "-100"], 1, "the quantity must be above 0"),
            (&["order", "buy", "700.HK", "100", "--limit", "-5"], 1, "--limit must be above 0"),
            (
                &["order", "buy", "700.HK", "100", "--limit", "306", "--type", "LO", "--trigger", "-5"],
                2,
                "--trigger",
            ),
            (&["order", "show", "1000000009"], 1, "has no order"),
            (&["order", "why", "1000000009"], 1, "has no order"),
            (&["order", "replace", "1000000001"], 2, "nothing to change"),
            (&["order", "list", "--status", "sleepy"], 2, "\"waiting for market open\", "),
            (&["order", "list", "--start", "soon"], 2, "not a time"),
            (&["assets", "--currency", "dollar"], 2, "three letters"),
            (&["assets", "--currency", "EUR"], 1, "chandler account rates EUR RATE --day 2026-03-18`"),
        ] {
            let (found, stderr) = world.fails(&at(BEFORE, arguments));
            assert_eq!((found, stderr.lines().count()), (code, 1), "{arguments:?}: {stderr}");
            // The server's API supports three currencies.
            let is_foreign = arguments[0] == "assets" && code == 1 && !world.is_local();
            let says = if is_foreign { "HKD, USD and CNH" } else { says };
            // Symbols are suggested only for the local store.
            let says = if world.is_local() {
                says
            } else {
                says.split("did you mean").next().unwrap().trim_end_matches("; ")
            };
            assert!(stderr.contains(says), "{arguments:?}: {stderr}");
        }
    }
}
