//! Tests of `chandler quota`, and of the commands that set levels and rights: `account
//! reported-assets`, `reported-orders`, `rates`, `levels` and `grant`.

use serde_json::{Value, json};

use crate::world::World;

/// Creates a store with an account. The clock is on Sunday 2026-11-15 in Hong Kong, when Friday's
/// level applies.
fn world() -> World {
    let world =
        World::with(&[("700.HK_1d.csv", "date,open,high,low,close,volume\n2026-11-13,1,2,1,2,100\n")]);
    world.ok(&["account", "create", "ann"]);
    world
}

#[test]
fn report_commands_accept_their_former_names() {
    let world = world();
    world.ok(&["account", "assets", "ann", "5", "HKD", "--day", "2026-11-12"]);
    world.ok(&["account", "orders", "ann", "3", "--day", "2026-11-12"]);
    assert_eq!(
        world.json(&["account", "reported-orders", "ann", "--list"]),
        json!([{"day": "2026-11-12", "orders": 3}])
    );
    let help = world.ok(&["account", "--help"]);
    assert!(help.contains("\n  reported-assets ") && !help.contains("\n  assets "), "{help}");
}

#[test]
fn the_quota_shows_usage_reason_and_forecast() {
    let world = world();
    assert_eq!(
        world.ok(&["account", "reported-assets", "ann", "80000", "hkd", "--day", "2026-11-12"]),
        "1 amount stored, for 1 account\n"
    );
    world.ok(&["account", "reported-assets", "ann", "5", "HKD", "--day", "20261113"]);
    let text = world.ok(&["quota", "ann"]);
    for line in [
        "account      1 \"ann\"",
        "used         0 of 600 securities in 2026-11",
        "level        3: assets HKD 80,000.00 on 2026-11-12 reach level 3",
        "assets       HKD 80,000.00 on 2026-11-12",
        "orders       0 in 2026-11",
        "next         level 1 with 100 securities a month from 2026-11-16",
        "resets       2026-12-01T00:00:00+08:00",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is not in\n{text}");
    }
    let quota = world.json(&["quota", "ann"]);
    assert_eq!(
        (&quota["level"]["number"], &quota["limit"], &quota["remaining"]),
        (&json!(3), &json!(600), &json!(600))
    );
    assert_eq!(quota["next_change"]["level"], 1);
    // The fields are the same as in the HTTP response.
    let fields: Vec<&str> = quota.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields.join(" "),
        "account account_id level limit month next_change next_trading_day remaining resets resets_at resets_at_unix \
         rights securities securities_omitted used"
    );
    world.ok(&["account", "create", "bob", "--quota", "7"]);
    let table = world.ok(&["quota"]);
    assert!(table.contains("ann") && table.contains("reach level 3"), "{table}");
    assert!(table.contains("bob") && table.contains("set for this account"), "{table}");
    let all = world.json(&["quota"]);
    assert_eq!(all.as_array().map(Vec::len), Some(2));
    // A query at the time of another day does not record a level change.
    assert!(world.ok(&["quota", "ann", "--clock", "2026-11-16T00:00:00+08:00"]).contains("level        1:"));
    let changes = world.json(&["audit", "--event", "level.changed"]);
    assert_eq!(changes.as_array().map(Vec::len), Some(1), "{changes}");
}

#[test]
fn a_report_file_is_imported_completely_or_not_at_all() {
    let world = world();
    world.ok(&["account", "create", "bob"]);
    let assets = world
        .write("assets.csv", "account,day,currency,amount\nann,2026-11-12,EUR,10000\n2,2026-11-12,HKD,1\n");
    let assets = assets.to_str().unwrap();
    let (code, stderr) = world.fails(&["account", "reported-assets", "--file", assets]);
    assert_eq!((code, stderr.lines().count()), (1, 1), "{stderr}");
    assert!(stderr.contains("line 2") && stderr.contains("chandler account rates EUR RATE"), "{stderr}");
    assert_eq!(world.json(&["account", "reported-assets", "bob", "--list"]), json!([]));
    assert_eq!(
        world.ok(&["account", "rates", "eur", "8", "--day", "2026-11-02"]),
        "1 exchange rate stored\n"
    );
    assert_eq!(
        world.ok(&["account", "reported-assets", "--file", assets]),
        "2 amounts stored, for 2 accounts\n"
    );
    assert_eq!(
        world.json(&["account", "reported-assets", "ann", "--list"]),
        json!([{"day": "2026-11-12", "currency": "EUR", "amount": "10000.00"}])
    );
    assert_eq!(world.json(&["quota", "ann"])["level"]["number"], 3);
    let orders = world
        .write("orders.csv", "account,day,order_id\nbob,2026-11-12,A\nbob,2026-11-12,A\nbob,2026-11-12,B\n");
    let orders = orders.to_str().unwrap();
    assert_eq!(world.ok(&["account", "reported-orders", "--file", orders]), "3 rows stored, for 1 account\n");
    world.ok(&["account", "reported-orders", "bob", "159", "--day", "2026-11-12"]);
    assert_eq!(
        world.json(&["account", "reported-orders", "bob", "--list"]),
        json!([{"day": "2026-11-12", "orders": 161}])
    );
    assert_eq!(world.json(&["quota", "bob"])["level"]["number"], 4);
    assert!(world.ok(&["account", "rates", "--list"]).contains("8.00"));
}

#[test]
fn rights_are_granted_for_a_period_and_withdrawn() {
    let world = world();
    let rights = |world: &World| world.json(&["account", "show", "ann"])["rights"].clone();
    let packages = |rights: &Value| -> Vec<String> {
        rights.as_array().unwrap().iter().map(|one| one["package"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(packages(&rights(&world)), ["HK", "US", "CN", "SG"]);
    assert_eq!(
        world.ok(&[
            "account",
            "grant",
            "ann",
            "us_options",
            "--from",
            "2026-11-01",
            "--until",
            "2026-12-01T00:00:00Z"
        ]),
        "account \"ann\" has US_OPTIONS from 2026-10-31T16:00:00Z until 2026-12-01T00:00:00Z\n"
    );
    assert_eq!(packages(&rights(&world)), ["HK", "US", "CN", "SG", "US_OPTIONS"]);
    assert!(world.ok(&["account", "show", "ann"]).contains("right        US_OPTIONS from"));
    assert_eq!(world.ok(&["account", "withdraw", "ann", "US"]), "account \"ann\" no longer has US\n");
    assert_eq!(world.ok(&["account", "withdraw", "ann", "US"]), "account \"ann\" did not have US\n");
    let audit = world.json(&["audit", "--account", "ann"]);
    let events: Vec<&str> =
        audit.as_array().unwrap().iter().map(|row| row["event"].as_str().unwrap()).collect();
    assert!(events.contains(&"right.granted") && events.contains(&"right.withdrawn"), "{audit}");
}

#[test]
fn limits_and_levels_can_be_overridden_and_reset() {
    let world = world();
    let text =
        world.ok(&["account", "set", "ann", "--level", "4", "--connections", "2", "--subscriptions", "9"]);
    assert!(text.contains("1000 securities a month (level 4: set by the operator)"), "{text}");
    let text = world.ok(&["account", "set", "ann", "--quota", "5", "--rate", "5/10"]);
    assert!(
        text.contains("5 securities a month, 5 requests in 10 s, 2 connections, 9 subscriptions"),
        "{text}"
    );
    let text = world.ok(&["account", "set", "ann", "--level", "earned", "--quota", "none", "--rate", "none"]);
    assert!(
        text.contains("100 securities a month (level 1:") && text.contains("60 requests in 30 s"),
        "{text}"
    );
    let text = world.ok(&["account", "set", "ann", "--floors", "none"]);
    assert!(text.contains("2 connections, 9 subscriptions, floors none"), "{text}");
    assert!(world.ok(&["account", "show", "ann"]).contains("floors none"));
    let audit = world.json(&["audit", "--account", "ann", "--limit", "1"]);
    assert!(audit[0].to_string().contains("floors none"), "{audit}");
    let text = world.ok(&["account", "set", "ann", "--floors", "server"]);
    assert!(!text.contains("floors"), "{text}");
    let levels = world.ok(&["account", "levels"]);
    assert!(levels.contains("assets of HKD 400,000 or more, or more than 160 orders a month"), "{levels}");
    assert_eq!(
        world.ok(&["account", "levels", "set", "1", "--quota", "120"]),
        "level 1: 120 securities a month, an open account\n"
    );
    assert_eq!(world.json(&["account", "levels"])[0]["quota"], 120);
    assert_eq!(world.json(&["quota", "ann"])["limit"], 120);
}

#[test]
fn role_and_region_are_set_when_an_account_is_created() {
    let world = world();
    let made = world.json(&["account", "create", "op", "--role", "operator", "--region", "us"]);
    assert_eq!((&made["role"], &made["region"]), (&json!("operator"), &json!("us")));
    assert!(made["access_token"].as_str().unwrap().starts_with("us_"));
}

#[test]
fn errors_are_one_line() {
    let world = world();
    for (arguments, code, says) in [
        (&["quota", "bob"][..], 1, "no account"),
        (&["account", "reported-assets", "ann", "5"], 2, "NAME AMOUNT CURRENCY"),
        (&["account", "reported-assets", "--list"], 2, "--list"),
        (&["account", "reported-assets", "bob", "5", "HKD"], 1, "no account \"bob\""),
        (&["account", "reported-assets", "ann", "5", "HKD", "--day", "2026-11-16"], 1, "today is 2026-11-15"),
        (&["account", "reported-assets", "ann", "5.00001", "HKD"], 1, "4 decimals"),
        (&["account", "reported-assets", "--file", "nowhere.csv"], 1, "nowhere.csv"),
        (&["account", "reported-orders", "ann"], 2, "NAME COUNT"),
        (&["account", "reported-orders", "ann", "many"], 1, "count of orders"),
        (&["account", "rates", "HKD", "1"], 1, "no rate"),
        (&["account", "grant", "ann", "JP"], 2, "US_OPTIONS"),
        (&["account", "grant", "ann", "US", "--from", "soon"], 2, "not a time"),
        (
            &["account", "grant", "ann", "US", "--from", "2026-11-02", "--until", "2026-11-01"],
            2,
            "cannot end",
        ),
        (&["account", "withdraw", "ann", "JP"], 2, "not a package"),
        (&["account", "set", "ann"], 2, "nothing to set"),
        (&["account", "set", "ann", "--level", "7"], 2, "1 to 6"),
        (&["account", "set", "ann", "--quota", "lots"], 2, "none"),
        (&["account", "levels", "set", "2", "--quota", "99"], 2, "smaller quota"),
        (&["account", "levels", "set", "2"], 2, "nothing to change"),
        (&["account", "create", "eve", "--region", "mars"], 2, "ap or us"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!((found, stderr.lines().count()), (code, 1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
}

#[test]
fn invalid_levels_are_listed_and_repaired() {
    let world = world();
    let accounts = store::Accounts::open(world.path("store"), market::Timestamp(0)).unwrap();
    for index in [2, 3] {
        let by = (market::Timestamp(0), "somebody");
        let change = |rows: &[store::LevelRow]| {
            Ok::<_, store::StoreError>((store::LevelRow { quota: 50, ..rows[index] }, String::new()))
        };
        accounts.change_level(by, change).unwrap();
    }
    drop(accounts);
    let listed = world.ok(&["account", "levels"]);
    assert!(listed.contains("level 3 would have a smaller quota than level 2"), "{listed}");
    world.fails(&["quota", "ann"]);
    assert!(world.ok(&["account", "levels", "set", "3", "--quota", "600"]).contains("contradict each other"));
    let said = world.ok(&["account", "levels", "set", "4", "--quota", "1000"]);
    assert_eq!(
        said,
        "level 4: 1000 securities a month, assets of HKD 400,000 or more, or more than 160 orders a month\n"
    );
    assert_eq!(world.json(&["quota", "ann"])["limit"], 100);
}
