//! Tests of operator commands that change paper accounts.

use serde_json::{Value, json};

use crate::world::World;

const SECURITIES: &str =
    "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n";
const MINUTES: &str = "symbol,time,open,high,low,close,volume\n\
    700.HK,2026-03-18 10:00,305,305,300,305,50000\n\
    700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n\
    700.HK,2026-03-18 10:02,305,305.4,304.8,305,50000\n";
const CLOCK: [&str; 2] = ["--clock", "2026-03-18T10:00:15+08:00"];
const LATER: [&str; 2] = ["--clock", "2026-03-18T10:03:00+08:00"];

fn world() -> World {
    World::with(&[("securities.csv", SECURITIES), ("minutes.csv", MINUTES)])
}

fn paper(world: &World, name: &str) -> Value {
    world.json(&["account", "show", name])["paper"].clone()
}

#[test]
fn a_paper_account_is_opened_with_the_given_cash() {
    let world = world();
    let made = world.json(&[
        "account",
        "create",
        "ann",
        "--cash",
        "HKD=500000,USD=20000",
        "--fees",
        "none",
        "--credit",
        "HKD=400000",
    ]);
    assert_eq!(made["paper"]["cash"], json!({"HKD": "500000.00", "USD": "20000.00"}));
    let shown = paper(&world, "ann");
    assert_eq!((&shown["credit"], &shown["settings"]["fees"]), (&json!("400000.00"), &json!("none")));
    assert_eq!(shown["horizon"], Value::Null, "nobody has asked it anything");
    let text = world.ok(&["account", "show", "ann"]);
    for line in [
        "paper        prepared, not opened yet: 4 entries",
        "cash         HKD 500,000.00, USD 20,000.00; credit HKD 400,000.00",
        "holds        0 positions, 0 open orders",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is not in\n{text}");
    }
    // Without `--cash`, the account gets the default cash with its first request.
    world.ok(&["account", "create", "bob"]);
    assert_eq!(paper(&world, "bob"), Value::Null);
    let flows = world.json(&[&["cashflow", "--account", "bob"][..], &CLOCK].concat());
    let amounts: Vec<&str> =
        flows["list"].as_array().unwrap().iter().map(|row| row["balance"].as_str().unwrap()).collect();
    assert_eq!(amounts, ["100000.00", "1000000.00"]);
}

/// The default cash is HKD 1,000,000 and USD 100,000. No exchange rate was reported, so the
/// built-in rates apply: HKD 7.8 per USD and HKD 1.1 per CNH.
#[test]
fn assets_are_converted_at_built_in_rates() {
    let world = world();
    world.ok(&["account", "create", "ann"]);
    for (currency, total) in [("HKD", "1780000.00"), ("USD", "228205.13"), ("CNH", "1618181.82")] {
        let assets = world.json(&[&["assets", "--currency", currency][..], &CLOCK].concat());
        let row = &assets["list"][0];
        assert_eq!((&row["currency"], &row["net_assets"]), (&json!(currency), &json!(total)));
    }
    let listed = world.json(&["account", "rates", "USD", "--list"]);
    assert_eq!(listed, json!([{"currency": "USD", "day": "1983-10-17", "rate": "7.80", "builtin": true}]));
    assert!(world.ok(&["account", "rates", "--list"]).contains("built-in"));
}

#[test]
fn operator_entries_for_money_and_positions_are_audited() {
    let world = world();
    world.ok(&["account", "create", "ann", "--cash", "HKD=1000"]);
    world.ok(&["account", "rates", "USD", "7.8", "--day", "2026-03-01"]);
    assert_eq!(
        world.ok(&["account", "deposit", "ann", "7800.5", "hkd", "--reason", "a gift"]),
        "account \"ann\": HKD 7800.50 paid in\n"
    );
    assert_eq!(
        world.ok(&[&["account", "exchange", "ann", "7800", "HKD", "USD"][..], &CLOCK].concat()),
        "account \"ann\": HKD 7800.00 changed into USD 1000.00, at HKD 7.8 for one USD\n"
    );
    world.ok(&["account", "withdraw", "ann", "500", "HKD"]);
    world.ok(&["account", "adjust", "ann", "-100.5", "HKD", "--note", "a slip"]);
    assert_eq!(paper(&world, "ann")["cash"], json!({"HKD": "400.00", "USD": "1000.00"}));
    let held = world.json(&["account", "position", "ann", "700.HK", "300", "310.4"]);
    assert_eq!(
        (&held["symbol"], &held["quantity"], &held["cost"]),
        (&json!("700.HK"), &json!("300"), &json!("310.4"))
    );
    let positions = world.json(&[&["positions"][..], &CLOCK].concat());
    assert_eq!(positions["list"][0]["stock_info"][0]["cost_price"], "310.400");
    let (code, said) = world.fails(&[&["account", "withdraw", "ann", "500", "HKD"][..], &CLOCK].concat());
    let short = "it needs 500.00 of withdrawable cash in HKD, and there is 400.00";
    assert!(code == 1 && said.contains(short), "{said}");
    let audit = world.json(&["audit", "--account", "ann", "--limit", "20"]);
    assert!(audit.to_string().contains("changed into USD 1000.00, at HKD 7.8 for one USD"), "{audit}");
    let events: Vec<&str> =
        audit.as_array().unwrap().iter().map(|row| row["event"].as_str().unwrap()).collect();
    for event in ["paper.deposited", "paper.exchanged", "paper.withdrawn", "paper.adjusted", "paper.position"]
    {
        assert!(events.contains(&event), "{event} is not in {events:?}");
    }
    assert!(audit.to_string().contains("HKD 7800.50 paid in: a gift"), "{audit}");
    // `account withdraw` with a package name revokes a market-data package.
    assert_eq!(world.ok(&["account", "withdraw", "ann", "US"]), "account \"ann\" no longer has US\n");
}

#[test]
fn settings_are_set_per_account() {
    let world = world();
    world.ok(&["account", "create", "ann", "--cash", "HKD=500000"]);
    let set = |arguments: &[&str]| {
        world.json(&[&["account", "set", "ann"], arguments].concat())["paper"]["settings"].clone()
    };
    let settings = set(&[
        "--participation",
        "0.25",
        "--touch",
        "touch",
        "--slippage-ticks",
        "2",
        "--cost",
        "average",
        "--short",
        "off",
        "--fractional",
        "on",
        "--fees",
        "none",
        "--account-type",
        "cash",
        "--market-reserve",
        "0.1",
        "--liquidate",
        "on",
    ]);
    assert_eq!(
        settings,
        json!({
            "participation": "0.25", "touch": "touch", "slippage_ticks": 2, "market_reserve": "0.1", "account_type": "cash",
            "fees": "none", "cost": "average", "fractional": true, "short_us": false, "short_hk": false, "liquidate": true,
            "grid_questionnaire": false, "coarse_fills": true,
        })
    );
    assert_eq!(set(&["--participation", "off"])["participation"], Value::Null);
    let short = set(&["--short", "us"]);
    assert_eq!((&short["short_us"], &short["short_hk"]), (&json!(true), &json!(false)));
    assert_eq!(set(&["--short", "on"])["short_hk"], true);
    let text = world.ok(&["account", "set", "ann", "--touch", "through"]);
    assert!(text.contains("touch through") && text.contains("participation off"), "{text}");
    // Limits and settings can be set in one command.
    world.ok(&["account", "set", "ann", "--quota", "5", "--credit", "HKD=10"]);
    assert_eq!(
        (&paper(&world, "ann")["credit"], &world.json(&["quota", "ann"])["limit"]),
        (&json!("10.00"), &json!(5))
    );
    for (arguments, says) in [
        (&["--participation", "0"][..], "above 0"),
        (&["--participation", "2"], "too large"),
        (&["--slippage-ticks", "1001"], "at most 1000"),
        (&["--credit", "USD=5"], "in HKD"),
    ] {
        let (code, said) = world.fails(&[&["account", "set", "ann"], arguments].concat());
        assert!(code == 2 && said.contains(says), "{arguments:?}: {said}");
    }
    assert_eq!(world.run(&["account", "set", "ann", "--touch", "gently"]).code, Some(2));
}

#[test]
fn an_account_is_rewound_forked_and_reset() {
    let world = world();
    world.ok(&["account", "create", "ann", "--cash", "HKD=500000"]);
    let buy = ["order", "buy", "700.HK", "200", "--limit", "306", "--account", "ann"];
    world.ok(&[&buy[..], &CLOCK].concat());
    world.ok(&[&buy[..], &LATER].concat());
    let shown = paper(&world, "ann");
    assert_eq!((&shown["horizon"], &shown["open_orders"]), (&json!("2026-03-18T02:03:00Z"), &json!(1)));
    let copy = world.json(&["account", "fork", "ann", "twin", "--at", "2026-03-18T02:00:15Z"]);
    assert!(copy["access_token"].is_string(), "{copy}");
    assert_eq!(paper(&world, "twin")["open_orders"], 1);
    let (code, said) = world.fails(&["account", "fork", "ann", "late", "--at", "2026-03-19T02:00:15Z"]);
    assert!(code == 1 && said.contains("at 2026-03-18T02:03:00Z"), "{said}");
    assert!(!world.ok(&["account", "list"]).contains("late"));
    let said = world.ok(&["account", "rewind", "ann", "2026-03-18T10:00:15+08:00", "--as", "too soon"]);
    assert!(
        said.starts_with("account \"ann\" is at 2026-03-18T02:00:15Z") && said.contains("\"too soon\""),
        "{said}"
    );
    let orders = |clock: &[&str], name: &str| {
        let list = ["order", "list", "--account", name];
        world.json(&[&list[..], clock].concat())["orders"].as_array().unwrap().len()
    };
    assert_eq!((orders(&CLOCK, "ann"), orders(&CLOCK, "twin")), (1, 1));
    // The id of the removed order is not reused.
    let again = world.json(&[&buy[..], &LATER].concat());
    assert_eq!(again["order_id"], "1000000003");
    let (code, said) = world.fails(&["account", "rewind", "ann", "2026-03-18T02:00:15Z", "--as", "too soon"]);
    assert!(code == 1 && said.contains("too soon"), "{said}");
    assert_eq!(world.fails(&["account", "rewind", "ann", "2027-01-01T00:00:00Z"]).0, 1);
    let said = world.ok(&["account", "reset", "ann"]);
    assert!(said.contains("as prepared"), "{said}");
    assert_eq!(paper(&world, "ann")["cash"], json!({"HKD": "500000.00"}));
    assert_eq!(orders(&CLOCK, "ann"), 0);
    let audit = world.json(&["audit", "--account", "ann", "--limit", "20"]);
    assert!(audit.to_string().contains("paper.rewound"), "{audit}");
}

#[test]
fn errors_are_one_line() {
    let world = world();
    world.ok(&["account", "create", "ann"]);
    world.ok(&["account", "create", "bob"]);
    for (arguments, code, says) in [
        (&["account", "create", "zoe", "--cash", "500000"][..], 2, "HKD=500000"),
        (&["account", "create", "zoe", "--credit", "USD=1"], 2, "in HKD"),
        (&["account", "create", "zoe", "--cash", "EUR=500"], 1, "no rate for EUR"),
        (&["account", "deposit", "zoe", "5", "HKD"], 1, "no account"),
        (&["account", "deposit", "ann", "five", "HKD"], 2, "not a decimal"),
        (&["account", "deposit", "ann", "0", "HKD"], 1, "above 0"),
        (&["account", "deposit", "ann", "-5", "HKD"], 1, "above 0"),
        (&["account", "position", "ann", "700.HK", "1", "-5"], 1, "cost must not be below 0"),
        (&["account", "deposit", "ann", "5", "dollars"], 2, "three letters"),
        (&["account", "withdraw", "ann", "5"], 2, "CURRENCY"),
        (&["account", "withdraw", "ann", "JP"], 2, "not a package"),
        (&["account", "exchange", "ann", "5", "USD", "USD"], 1, "the same"),
        (
            &["account", "exchange", "ann", "5", "USD", "EUR"],
            1,
            "no rate for EUR: report one with `chandler account rates EUR RATE --day",
        ),
        (&["account", "position", "ann", "700.HK", "some", "1"], 2, "quantity"),
        (&["account", "position", "ann", "7.HK", "1", "1"], 1, "not tradable"),
        (&["account", "set", "ann"], 2, "nothing to set"),
        (&["account", "rewind", "ann", "yesterday"], 2, "not an instant"),
        (
            &["account", "fork", "bob", "twin"],
            1,
            "\"bob\" has no paper account yet: there is nothing to copy",
        ),
        (&["clock", "soon"], 2, "+15s"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!((found, stderr.lines().count()), (code, 1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
    assert!(!world.ok(&["account", "list"]).contains("zoe"));
}

#[test]
fn a_refused_operation_changes_nothing() {
    let world = world();
    world.ok(&["account", "create", "ann", "--cash", "HKD=500000"]);
    world.ok(&["account", "create", "bob"]);
    world.ok(&["account", "create", "cyd", "--cash", "HKD=1"]);
    let buy = ["order", "buy", "700.HK", "200", "--limit", "306", "--account", "ann"];
    world.ok(&[&buy[..], &CLOCK].concat());
    let audited = || world.json(&["audit", "--account", "ann", "--limit", "50"]);
    let before = (paper(&world, "ann"), audited());
    let (forty, long) = ("9".repeat(40), "x".repeat(300));
    for (arguments, code, says) in [
        (&["withdraw", "ann", "450000", "HKD"][..], 1, "it needs 450000.00 of withdrawable cash in HKD"),
        (&["withdraw", "ann", "0.01", "CNH"], 1, "insufficient funds"),
        (&["withdraw", "ann", "0", "HKD"], 1, "above 0"),
        (&["deposit", "ann", "NaN", "HKD"], 2, "is not a decimal"),
        (&["deposit", "ann", "1e3", "HKD"], 2, "is not a decimal"),
        (&["deposit", "ann", &forty, "HKD"], 2, "is too large"),
        (&["exchange", "ann", "1", "HKD", "EUR"], 1, "no rate for EUR"),
        (&["exchange", "ann", "450000", "HKD", "USD"], 1, "insufficient funds"),
        (&["adjust", "ann", "0", "HKD"], 1, "above 0"),
        (&["adjust", "ann", "1", "HKD", "--note", &long], 1, "note must have at most 256 characters"),
        (&["position", "ann", "600519.SH", "1", "1"], 1, "symbol not tradable"),
        (&["position", "ann", "700.HK", "1.00001", "1"], 2, "more than 4 decimals"),
        (&["position", "ann", "700.HK", "1", "0.5e1"], 2, "is not a decimal"),
        (&["set", "ann", "--touch", "touch", "--participation", "0"], 2, "above 0"),
        (&["set", "ann", "--credit", "HKD=-1"], 2, "below 0"),
        (&["rewind", "ann", "2026-03-18T02:00:16Z"], 1, "which is later"),
        (&["fork", "ann", "cyd"], 1, "already has a paper account"),
        (&["fork", "ann", "ann"], 1, "cannot be copied to itself"),
        (&["fork", "ann", "1"], 1, "cannot be copied to itself"),
        (
            &["fork", "ann", "new", "--at", "2027-01-01T00:00:00Z"],
            1,
            "is at 2026-03-18T02:00:15Z, which is before",
        ),
        (&["fork", "cyd", "new", "--at", "2026-03-18T02:00:00Z"], 1, "without --at"),
        (&["reset", "bob"], 1, "has no paper account yet: there is nothing to rewind"),
        (&["reset", "cyd"], 1, "has no paper account yet: there is nothing to rewind"),
        (
            &["rewind", "bob", "2026-03-18T02:00:00Z"],
            1,
            "has no paper account yet: there is nothing to rewind",
        ),
        (
            &["rewind", "cyd", "2026-03-18T02:00:00Z"],
            1,
            "has no paper account yet: there is nothing to rewind",
        ),
        (&["withdraw", "bob", "9000000", "HKD"], 1, "insufficient funds"),
        (&["rates", "USD", "0"], 1, "a rate must be above 0"),
    ] {
        let (found, said) = world.fails(&[&["account"], arguments, &CLOCK].concat());
        assert_eq!((found, said.lines().count()), (code, 1), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    for action in [
        &["deposit", "zoe", "1", "HKD"][..],
        &["withdraw", "zoe", "1", "HKD"],
        &["exchange", "zoe", "1", "HKD", "USD"],
        &["adjust", "zoe", "1", "HKD"],
        &["position", "zoe", "700.HK", "1", "1"],
        &["set", "zoe", "--touch", "touch"],
        &["rewind", "zoe", "2026-03-18T02:00:00Z"],
        &["reset", "zoe"],
        &["fork", "zoe", "new"],
    ] {
        let (code, said) = world.fails(&[&["account"], action, &CLOCK].concat());
        assert!(code == 1 && said.contains("no account \"zoe\""), "{action:?}: {said}");
    }
    assert_eq!((paper(&world, "ann"), audited()), before);
    assert_eq!(paper(&world, "bob"), Value::Null, "and bob's has not begun");
    let audit = world.json(&["audit", "--account", "cyd", "--limit", "50"]);
    assert!(!audit.to_string().contains("paper.rewound"), "{audit}");
    // A paper account that is prepared but has no market time can be copied.
    world.ok(&["account", "fork", "cyd", "new"]);
    assert_eq!(paper(&world, "new")["cash"], json!({"HKD": "1.00"}));
    assert_eq!(paper(&world, "new")["horizon"], Value::Null);
}

#[test]
fn a_command_writes_one_audit_entry() {
    let world = world();
    world.ok(&["account", "create", "ann", "--cash", "HKD=500000"]);
    world.ok(&["account", "set", "ann", "--touch", "touch", "--short", "off", "--credit", "HKD=10"]);
    let audit = world.json(&["audit", "--account", "ann", "--limit", "50"]);
    let of = |event: &str| -> Vec<String> {
        let rows = audit.as_array().unwrap().iter().filter(|row| row["event"] == event);
        rows.map(|row| row["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("paper.set"), ["touch touch, short_us off, short_hk off"]);
    assert_eq!(of("paper.credit"), ["credit HKD 10.00"]);
}

#[test]
fn a_read_only_account_cannot_trade() {
    let world = world();
    world.ok(&["account", "create", "ann", "--cash", "HKD=500000"]);
    let order = world.json(&[&["order", "buy", "700.HK", "200", "--limit", "290"][..], &CLOCK].concat());
    let id = order["order_id"].as_str().unwrap();
    world.ok(&["account", "set", "ann", "--read-only", "on"]);
    let before = paper(&world, "ann");
    for command in [
        &["order", "buy", "700.HK", "100"][..],
        &["order", "sell", "700.HK", "100"],
        &["order", "replace", id, "--limit", "291"],
        &["order", "cancel", id],
        &["order", "buy", "700.HK", "100", "--dry-run"],
    ] {
        let (code, said) = world.fails(&[command, &CLOCK].concat());
        assert!(code == 1 && said.contains("read-only"), "{command:?}: {said}");
    }
    assert_eq!(paper(&world, "ann"), before);
    // The account can still be read, and an operator can still change it.
    world.ok(&[&["order", "show", id][..], &CLOCK].concat());
    world.ok(&["account", "deposit", "ann", "1", "HKD"]);
}
