//! Tests of `chandler account`: creating, listing, showing and revoking accounts.

use std::os::unix::fs::PermissionsExt;

use crate::world::{World, days};

fn world() -> World {
    World::with(&[("days.csv", &days("700.HK"))])
}

/// Returns the value of a line `export NAME='value'`.
fn exported<'a>(text: &'a str, name: &str) -> &'a str {
    let prefix = format!("export {name}='");
    let line = text.lines().find_map(|line| line.strip_prefix(&prefix));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).trim_end_matches('\'')
}

#[test]
fn a_new_account_prints_the_sdk_environment() {
    let text = world().ok(&["account", "create", "alice", "--url", "http://10.0.0.5:9000/"]);
    for prefix in ["LONGBRIDGE", "LONGPORT"] {
        assert_eq!(exported(&text, &format!("{prefix}_HTTP_URL")), "http://10.0.0.5:9000");
        for name in ["QUOTE_WS_URL", "TRADE_WS_URL", "QUOTE_URL", "TRADE_URL"] {
            assert_eq!(exported(&text, &format!("{prefix}_{name}")), "ws://10.0.0.5:9000/v2");
        }
        assert_eq!(exported(&text, &format!("{prefix}_APP_KEY")).len(), 32);
        assert!(exported(&text, &format!("{prefix}_ACCESS_TOKEN")).starts_with("ap_"));
    }
    assert_eq!(exported(&text, "NO_PROXY"), "10.0.0.5");
    // Every line is a comment or an export, so that a shell can evaluate the output.
    let other = |line: &&str| !line.starts_with('#') && !line.starts_with("export ");
    assert_eq!(text.lines().find(other), None);
}

#[test]
fn secrets_are_shown_only_at_creation() {
    let world = world();
    let created = world.json(&["account", "create", "alice"]);
    assert_eq!(created["account_id"], 1);
    let secrets = ["app_secret", "access_token"].map(|field| created[field].as_str().unwrap().to_owned());
    let key = created["app_key"].as_str().unwrap();
    assert_eq!(created["environment"]["LONGBRIDGE_APP_KEY"], key);
    let shown = [
        world.ok(&["account", "list"]),
        world.ok(&["account", "show", "alice"]),
        world.ok(&["account", "list", "--format", "json"]),
        world.ok(&["account", "show", "alice", "--format", "json"]),
    ];
    assert!(shown[1].contains(key), "{}", shown[1]);
    for text in &shown {
        assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
    }
    for entry in std::fs::read_dir(world.path("store")).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        let holds = |secret: &String| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!secrets.iter().any(holds), "{:?}", entry.path());
    }
}

#[test]
fn terms_are_stored_as_given() {
    let world = world();
    world.ok(&["account", "create", "plain"]);
    let options = "--markets hk,cn --overnight --level 3 --quota 7 --rate 5/10 --connections 2 --subscriptions 7 --floors hk.day=1995-01-03 \
        --api-date 2024-08-01";
    let arguments: Vec<&str> =
        ["account", "create", "special"].into_iter().chain(options.split(' ')).collect();
    world.ok(&arguments);
    let accounts = world.json(&["account", "list"]);
    let terms = |index: usize| accounts[index]["terms"].to_string();
    assert_eq!(
        terms(0),
        r#"{"api_date":null,"connections":10,"floors":null,"level":1,"markets":["HK","US","CN","SG"],"overnight":false,"own_level":null,"own_quota":null,"quota":100,"rate":"60/30","read_only":false,"subscriptions":500,"unlimited":false}"#
    );
    assert_eq!(
        terms(1),
        r#"{"api_date":"2024-08-01","connections":2,"floors":"HK.day=1995-01-03","level":3,"markets":["HK","CN"],"overnight":true,"own_level":3,"own_quota":7,"quota":7,"rate":"5/10","read_only":false,"subscriptions":7,"unlimited":false}"#
    );
    let table = world.ok(&["account", "list"]);
    assert!(
        table.contains("special") && table.contains("HK,US_OVERNIGHT,CN") && table.contains("5/10"),
        "{table}"
    );
    let shown = world.ok(&["account", "show", "special"]);
    assert!(shown.contains("0 of 7 securities in 2026-11; resets on 2026-12-01"), "{shown}");
}

#[test]
fn a_revoked_account_stays_in_the_list() {
    let world = world();
    world.ok(&["account", "create", "alice"]);
    assert_eq!(world.ok(&["account", "revoke", "alice"]), "account \"alice\" is revoked\n");
    assert!(world.ok(&["account", "revoke", "alice"]).contains("was already revoked"));
    let accounts = world.json(&["account", "list"]);
    assert!(accounts[0]["revoked_at"].is_string(), "{accounts}");
    assert!(world.ok(&["account", "show", "alice"]).contains("revoked 20"));
    let (code, stderr) = world.fails(&["account", "create", "alice"]);
    assert!(code == 1 && stderr.contains("another name"), "{stderr}");
}

#[test]
fn account_files_are_readable_only_by_their_owner() {
    let world = world();
    world.ok(&["account", "create", "alice"]);
    for name in ["accounts.db", "secret.key"] {
        let mode = std::fs::metadata(world.path("store").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} has mode {mode:o}");
    }
}

#[test]
fn errors_are_one_line() {
    let world = world();
    for (arguments, code, says) in [
        (&["account", "show", "bob"][..], 1, "account list"),
        (&["account", "revoke", "bob"], 1, "bob"),
        (&["account", "create", "bob", "--markets", "JP"], 2, "HK, US, CN"),
        (&["account", "create", "bob", "--rate", "often"], 2, "60/30"),
        (&["account", "create", "bob", "--quota", "100001"], 2, "100000"),
        (&["account", "create", "bob", "--connections", "0"], 2, "connections"),
        (&["account", "create", "bob", "--subscriptions", "100001"], 2, "100000"),
        (&["account", "create", "bob", "--floors", "old"], 2, "published"),
        (&["account", "create", "bob", "--url", "ftp://x"], 2, "http://127.0.0.1:8080"),
        (&["account", "create", ""], 2, "empty"),
        (&["account", "show", "bob", "--store", "sqlite:elsewhere"], 1, "no store at"),
        (
            &["account", "show", "bob", "--store", "sqlite:store"],
            1,
            "`chandler --store sqlite:store account list`",
        ),
        (&["account", "create", "bob", "--quota", "100001", "--store", "sqlite:elsewhere"], 2, "100000"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!((found, stderr.lines().count()), (code, 1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
    assert!(!world.path("elsewhere").exists());
    assert_eq!(world.run(&["account", "create", "bob", "--level", "7"]).code, Some(2));
    let none = world.ok(&["account", "list", "--store", "sqlite:store"]);
    assert_eq!(
        none,
        "there are no accounts: `chandler --store sqlite:store account create NAME` creates one\n"
    );
}

#[test]
fn the_first_account_creates_the_store() {
    let world = World::new();
    let ran = world.run(&["account", "create", "me", "--unlimited"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // The hint names the store, because without `--store` the import would use the default store.
    let store = format!("sqlite:{}", world.path("store").display());
    assert!(ran.stderr.contains(&format!("chandler --store {store} import FILES")), "{}", ran.stderr);
    assert_eq!(world.run(&["account", "create", "you"]).stderr, "");
    // A missing candle database is an error. The database is not created again.
    std::fs::remove_file(world.path("store/candles.db")).unwrap();
    let (code, stderr) = world.fails(&["account", "create", "they"]);
    assert!(code == 1 && stderr.contains("there is no store"), "{stderr}");
}

#[test]
fn unlimited_removes_every_limit() {
    let world = world();
    let created = world.json(&["account", "create", "me", "--unlimited", "--level", "2"]);
    let terms = |account: &serde_json::Value| {
        ["unlimited", "quota", "rate", "connections", "subscriptions", "floors", "own_level"]
            .map(|name| account["terms"][name].to_string())
    };
    assert_eq!(terms(&created), ["true", "100000", "\"unlimited\"", "1000", "100000", "\"none\"", "2"]);
    let off = world.json(&["account", "set", "me", "--unlimited=off"]);
    assert_eq!(terms(&off), ["false", "400", "\"60/30\"", "10", "500", "null", "2"]);
    let shown = world.ok(&["account", "set", "me", "--unlimited"]);
    assert!(shown.contains("unlimited (rate, quota, connections, subscriptions, floors)"), "{shown}");
    for arguments in [
        &["account", "create", "you", "--unlimited", "--quota", "7"][..],
        &["account", "set", "me", "--unlimited", "--rate", "60/30"],
        &["account", "set", "me", "--unlimited", "--subscriptions", "5"],
        &["account", "set", "me", "--unlimited=perhaps"],
    ] {
        assert_eq!(world.run(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn a_token_for_ingest_is_created_listed_and_revoked() {
    let world = world();
    world.ok(&["account", "create", "alice"]);
    let (code, said) = world.fails(&["account", "ingest-token", "create", "alice"]);
    assert!(code == 2 && said.contains("\"alice\" is not an operator"), "{said}");
    world.ok(&["account", "create", "feeder", "--role", "operator"]);
    let (code, said) = world.fails(&["account", "ingest-token", "create", "feeder", "--symbols", "*.XX"]);
    assert!(code == 2 && said.contains("--symbols: \"*.XX\" is neither a symbol"), "{said}");

    let create =
        ["account", "ingest-token", "create", "feeder", "--symbols", "*.hk,00005.hk", "--program", "ticks"];
    let text = world.ok(&create);
    assert!(text.contains("of account \"feeder\": ingest:*.HK ingest:5.HK\n"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("export CHANDLER_TOKEN=ap_"), "{text}");
    let all = world.json(&["account", "ingest-token", "create", "feeder", "--days", "1"]);
    assert_eq!(all["scope"], "ingest");

    let list = || world.json(&["account", "ingest-token", "list", "feeder"])["tokens"].clone();
    let tokens = list();
    // The order of tokens created within one second is undefined.
    let ticks = tokens.as_array().unwrap().iter().find(|token| token["program"] == "ticks").unwrap();
    assert_eq!(ticks["scope"], "ingest:*.HK ingest:5.HK");
    let id = ticks["id"].as_str().unwrap();
    assert!(text.contains(id) && world.ok(&["account", "ingest-token", "list", "feeder"]).contains(id));
    world.ok(&["account", "ingest-token", "revoke", "feeder", id]);
    assert_eq!(list().as_array().unwrap().len(), 1);
    let (code, said) = world.fails(&["account", "ingest-token", "revoke", "feeder", id]);
    assert!(code == 2 && said.contains("has no token with the id"), "{said}");
}
