//! Tests of grid commands for a paper account on a past morning, with an explicit clock for each
//! command. Each test uses both transports unless a feature has only one.

use serde_json::{Value, json};

use crate::transports::Setup;

const SECURITIES: &str =
    "symbol,name_en,exchange,currency,lot_size,decimals\n700.HK,Lamp & Wick,HKEX,HKD,100,3\n";
const MINUTES: &str = "symbol,time,open,high,low,close,volume\n\
    700.HK,2026-03-18 10:00,305,305,300,305,50000\n\
    700.HK,2026-03-18 10:01,305.2,305.8,305,305.6,50000\n\
    700.HK,2026-03-18 10:02,305.6,305.6,304.8,305,50000\n\
    700.HK,2026-03-18 10:03,305,305.4,304.8,305.2,2000\n";

const BEFORE: &str = "2026-03-18T10:00:15+08:00";
const LATER: &str = "2026-03-18T10:04:30+08:00";
const ID: &str = "1900000001";

const FILES: [(&str, &str); 2] = [("securities.csv", SECURITIES), ("minutes.csv", MINUTES)];
const CASH: [&str; 2] = ["--cash", "HKD=500000"];

/// Creates a local account with HKD 500,000 and 500 shares, and one security's one-minute candles
/// of a morning.
fn world() -> Setup {
    with_shares(Setup::local(&FILES, &CASH))
}

/// Creates the same account in a local store and on a server.
fn setups() -> [Setup; 2] {
    Setup::both(&FILES, &CASH, BEFORE).map(with_shares)
}

fn with_shares(setup: Setup) -> Setup {
    setup.ok(&["account", "position", "ann", "700.HK", "500", "300"]);
    setup
}

/// Appends `--clock` to the arguments of a command.
fn at<'a>(clock: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--clock", clock]].concat()
}

/// Returns the command for a grid between prices of 300 and 310 that trades 100 shares per step and
/// holds 100 to 1,000 shares. `rest` has the step and further flags.
fn submit<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let rule = [
        "grid",
        "submit",
        "700.HK",
        "--base",
        "305.2",
        "--lower",
        "300",
        "--upper",
        "310",
        "--quantity",
        "100",
        "--min-position",
        "100",
        "--max-position",
        "1000",
    ];
    at(BEFORE, &[rule.as_slice(), rest].concat())
}

#[track_caller]
fn has_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn a_grids_trades_are_listed_and_explained() {
    for world in setups() {
        assert_eq!(world.json(&submit(&["--spread", "0.4"])), json!({"order_id": ID}));
        // The grid sold at 305.6, bought at 305.2 and 304.8, and submitted a sell order at 305.2,
        // which is still open.
        let grids = world.json(&at(LATER, &["grid", "list"]));
        let grid = &grids["grid_order"][0];
        for (key, value) in [
            ("order_id", json!(ID)),
            ("stock_name", json!("Lamp & Wick")),
            ("status", json!("Performing")),
            ("current_base_price", json!("305.2")),
            ("trigger_times", json!(4)),
            ("total_buy_quantity", json!("200")),
            ("total_sell_quantity", json!("100")),
            ("total_profit_balance", json!("60.00")),
        ] {
            assert_eq!(grid[key], value, "{key}");
        }
        let listed = world.ok(&at(LATER, &["grid", "list", "--status", "running"]));
        for words in [ID, "2026-03-18 10:00:15 HKT", "running", "+0.4 -0.4", "HKD 60.00"] {
            assert!(listed.contains(words), "{words:?} is not in\n{listed}");
        }
        let none = world.ok(&at(LATER, &["grid", "list", "--status", "paused"]));
        assert_eq!(none, "no grids: `chandler grid submit` starts one\n");
        let shown = world.ok(&at(LATER, &["grid", "show", ID]));
        has_lines(
            &shown,
            &[
                "grid         1900000001: 700.HK Lamp & Wick",
                "state        running",
                "base         305.2, submitted 305.2",
                "bounds       300, waiting; 310, waiting",
                "step         +0.4 -0.4, 100 each",
                "position     100 to 1,000",
                "orders       sell GMO, buy GMO",
                "ends         when it is cancelled",
                "created      2026-03-18 10:00:15 HKT",
                "triggered    2026-03-18 10:02:00 HKT  1000000001: sell 100 MO at 305.600, filled",
                "             2026-03-18 10:03:00 HKT  1000000003: buy 100 MO at 304.800, filled",
                "history      2026-03-18 10:00:15 HKT  running",
            ],
        );
        let history = world.json(&at(LATER, &["grid", "history", ID]));
        let triggers: Vec<(Value, Value)> = history["trigger_orders"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (row["trigger_price"].clone(), row["executed_price"].clone()))
            .collect();
        let rows = [("305.200", ""), ("304.800", "305.000"), ("305.200", "305.000"), ("305.600", "305.600")];
        assert_eq!(triggers, rows.map(|(trigger, executed)| (json!(trigger), json!(executed))));
        let table = world.ok(&at(LATER, &["grid", "history"]));
        assert!(
            table.contains("2026-03-18 10:03:00 HKT") && table.contains("sell") && table.contains("open"),
            "{table}"
        );
        // The explanation of a grid's order names the grid level.
        let explanation = world.ok(&at(LATER, &["order", "why", "1000000001"]));
        assert!(explanation.contains("the grid's level 305.6"), "{explanation}");
        let explanation = world.ok(&at(LATER, &["grid", "why", ID]));
        has_lines(
            &explanation,
            &[
                "grid 1900000001",
                "2026-03-18 10:02:00 HKT  triggered at its level 305.6, above the base 305.2: sells 100",
                "    candle 10:01 HKT: open 305.2, high 305.8, low 305, close 305.6, volume 50000",
            ],
        );
    }
}

#[test]
fn grid_info_shows_inputs_and_agree_accepts_the_questionnaire() {
    for world in setups() {
        world.ok(&["account", "set", "ann", "--grid-questionnaire", "on"]);
        let (code, said) = world.fails(&submit(&["--spread", "0.4"]));
        assert!(code == 1 && said.contains("the strategy questionnaire has not been answered"), "{said}");
        let shown = world.ok(&at(BEFORE, &["grid", "info", "700.HK"]));
        let lines = [
            "security     700.HK Lamp & Wick",
            "price        HKD 305.000",
            "lot          100",
            "hours        regular",
            "agreed       no",
            "             0.200 from 200 to 500",
        ];
        has_lines(&shown, &lines);
        // Accepting the questionnaire twice is idempotent.
        for _ in 0..2 {
            assert_eq!(world.ok(&at(BEFORE, &["grid", "agree"])), "accepted: grids can be submitted\n");
        }
        world.ok(&submit(&["--spread", "0.4"]));
        let info = world.json(&at(LATER, &["grid", "info", "700.HK"]));
        let channel = json!({"strategy_granted": true, "support_rth": false, "currency": "HKD", "settlement_currency": ["HKD"]});
        assert_eq!((&info["name"], &info["last_done"]), (&json!("Lamp & Wick"), &json!("305.200")));
        assert_eq!(info["channel_infos"], channel);
        let (code, said) = world.fails(&at(LATER, &["grid", "info", "701.HK"]));
        assert!(code == 1 && said.contains("symbol not tradable"), "{said}");
    }
}

#[test]
fn a_grid_is_replaced_suspended_and_cancelled() {
    for world in setups() {
        world.ok(&submit(&["--spread", "0.4"]));
        let describe = |arguments: &[&str]| world.ok(&at(BEFORE, arguments));
        let shown = || world.json(&at(BEFORE, &["grid", "show", ID]));
        assert_eq!(describe(&["grid", "suspend", ID]), "grid 1900000001 is paused\n");
        has_lines(&describe(&["grid", "show", ID]), &["state        paused: by the user"]);
        assert_eq!(describe(&["grid", "restart", ID]), "grid 1900000001 is resumed\n");
        let replaced =
            describe(&["grid", "replace", ID, "--percent", "1.5", "--at-lower", "close", "--short", "on"]);
        assert_eq!(replaced, "grid 1900000001 is replaced\n");
        let grid = shown();
        for (key, value) in [
            ("trigger_price_type", json!(2)),
            ("trigger_percent_up", json!("1.5")),
            ("trigger_percent_down", json!("1.5")),
            ("trigger_spread_up", json!("")),
            ("lower_limit_event", json!(2)),
            ("support_shortsell", json!(true)),
            ("trigger_quantity", json!("100")),
            ("time_in_force", json!(1)),
        ] {
            assert_eq!(grid[key], value, "{key}");
        }
        // An expiry date includes the date's last second in the market's time zone.
        describe(&["grid", "replace", ID, "--tif", "gtd", "--expire", "2026-03-20"]);
        has_lines(&describe(&["grid", "show", ID]), &["ends         2026-03-20 23:59:59 HKT"]);
        assert_eq!(world.json(&at(BEFORE, &["grid", "cancel", ID])), json!({"order_id": ID}));
        assert_eq!(shown()["status"], "Canceled");
        let (code, said) = world.fails(&at(BEFORE, &["grid", "cancel", ID]));
        assert!(code == 1 && said.ends_with("grid order is Canceled"), "{said}");
        assert!(!world.is_local() || said == "chandler: grid order is Canceled", "{said}");
    }
}

#[test]
fn a_dry_run_of_a_grid_shows_its_trades_and_writes_nothing() {
    for world in setups() {
        let text = world.ok(&submit(&["--spread", "2", "--dry-run"]));
        has_lines(
            &text,
            &[
                "a grid on 700.HK would be accepted",
                "ends         when it is cancelled",
                "sells at     307.200, 309.200",
                "             up to the bound 2 steps, 200 sold for HKD 61,640.00, excluding charges",
                "buys at      303.200, 301.200",
                "             up to the bound 2 steps, 200 bought for HKD 60,440.00, excluding charges",
                "cash         HKD 500,000.00 available",
                "nothing was submitted",
            ],
        );
        let preview = world.json(&submit(&["--spread", "0.2", "--dry-run"]));
        let sales = &preview["sales"];
        assert_eq!((&sales["level_count"], sales["levels"].as_array().unwrap().len()), (&json!(24), 20));
        // 500 shares are held, of which 100 must remain.
        assert_eq!((&sales["trade_count"], &preview["position"]), (&json!(4), &json!("500")));
        let refused =
            world.ok(&submit(&["--spread", "2", "--tif", "gtd", "--expire", "2026-03-17", "--dry-run"]));
        assert!(
            refused.starts_with("a grid on 700.HK would be refused: --expire must be within"),
            "{refused}"
        );
        assert_eq!(world.ok(&at(BEFORE, &["grid", "list"])), "no grids: `chandler grid submit` starts one\n");
    }
}

#[test]
fn errors_name_the_flag() {
    let world = world();
    let rule = ["grid", "submit", "700.HK", "--base", "305", "--quantity", "100"];
    let crossed = [
        "--spread",
        "1",
        "--lower",
        "310",
        "--upper",
        "300",
        "--min-position",
        "100",
        "--max-position",
        "200",
    ];
    let crossed = [rule.as_slice(), &crossed].concat();
    for (arguments, code, words) in [
        (
            rule.to_vec(),
            2,
            "a grid needs --lower, --upper, --spread or --percent, up and down, --min-position, --max-position",
        ),
        (crossed, 1, "chandler: --upper must be above --lower"),
        (submit(&["--spread-up", "1"]), 2, "a grid needs --spread or --percent, up and down"),
        (submit(&["--spread", "1", "--percent", "1"]), 2, "cannot be used with"),
        (submit(&["--spread", "x"]), 2, "--spread-up: \"x\" is not a decimal"),
        (submit(&["--spread", "0"]), 1, "--spread-up must be above 0"),
        (submit(&["--spread", "1", "--expire", "2026-03-20"]), 2, "--expire is for --tif gtd"),
        (submit(&["--spread", "1", "--tif", "gtd"]), 2, "--tif gtd needs --expire TIME"),
        (
            submit(&["--spread", "1", "--sell-type", "MO"]),
            2,
            "--sell-type: \"MO\" is not an order type: write one of GMO, GLO, GTG",
        ),
        (submit(&["--spread", "0.0000004"]), 2, "--spread-up: \"0.0000004\" has more than 6 decimals"),
        (submit(&["--spread", "1", "--sell-depth", "6"]), 1, "--sell-depth must be from -5 to 5"),
        (submit(&["--spread", "1", "--currency", "USD"]), 1, "--currency must be HKD"),
        (submit(&["--spread", "1", "--currency", "dollars"]), 2, "--currency"),
        (
            vec!["grid", "show", "1900000009"],
            1,
            "account \"ann\" has no grid 1900000009: `chandler grid list` shows them",
        ),
        (vec!["grid", "cancel", "1900000009"], 1, "account \"ann\" has no grid 1900000009"),
        (vec!["grid", "history", "1900000009"], 1, "account \"ann\" has no grid 1900000009"),
        (vec!["grid", "show", "first"], 2, "\"first\" is not a grid id"),
        (vec!["grid", "replace", "1900000009"], 2, "nothing to change"),
        (vec!["grid", "list", "--status", "asleep"], 2, "is not a grid state"),
    ] {
        let (found, said) = world.fails(&arguments);
        assert!(found == code && said.contains(words), "{arguments:?}: {found} {said}");
    }
    let unknown = world.fails(&at(
        BEFORE,
        &[
            "grid",
            "submit",
            "701.HK",
            "--base",
            "305",
            "--lower",
            "300",
            "--upper",
            "310",
            "--spread",
            "1",
            "--quantity",
            "100",
            "--min-position",
            "100",
            "--max-position",
            "200",
        ],
    ));
    assert!(
        unknown.0 == 1
            && unknown.1.contains("symbol not tradable")
            && unknown.1.contains("did you mean 700.HK?"),
        "{unknown:?}"
    );
    world.ok(&["account", "set", "ann", "--read-only", "on"]);
    let (code, said) = world.fails(&submit(&["--spread", "1"]));
    assert!(code == 1 && said.contains("is read-only"), "{said}");
}
