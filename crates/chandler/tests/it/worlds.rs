//! Tests of `chandler world`, on the local store and through a server.

use crate::transports::Setup;

const CLOCK: &str = "2026-03-19T10:00:00+08:00";
const MINUTES: &str = "symbol,time,open,high,low,close,volume,turnover
700.HK,2026-03-18T09:30:00+08:00,300,302,299,301,10000,3005000
700.HK,2026-03-18T09:31:00+08:00,301,303,300,302,8000,2412000
";
const CREATE: [&str; 9] = [
    "world",
    "create",
    "march",
    "--start",
    "2026-03-18T09:29:00+08:00",
    "--end",
    "2026-03-18T16:30:00+08:00",
    "--cash",
    "HKD=500000",
];

fn setups() -> [Setup; 2] {
    Setup::both(&[("minutes.csv", MINUTES)], &[], CLOCK)
}

fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn a_world_is_created_stepped_and_deleted() {
    for setup in setups() {
        let created = setup.json(&CREATE);
        assert_eq!(
            (&created["world"]["state"], &created["world"]["account"]),
            (&"created".into(), &"ann/march".into())
        );
        let environment = &created["environment"];
        assert_eq!(environment["LONGBRIDGE_APP_KEY"], created["credentials"]["app_key"]);
        assert_eq!(environment["LONGPORT_ACCESS_TOKEN"], created["credentials"]["access_token"]);
        let stepped = setup.ok(&["world", "step", "march"]);
        let stepped = rows(&stepped);
        assert_eq!(stepped[0], ["jumped", "false"]);
        assert_eq!(stepped[1], ["moved", "s", "60"]);
        assert_eq!(stepped[2], ["now", "2026-03-18T01:30:00Z"]);
        assert_eq!(stepped[3], ["pushes", "quote", "0,", "trade", "0"]);
        setup.ok(&["world", "step", "march", "--by", "PT1M"]);
        setup.ok(&["world", "step", "march", "--to", "2026-03-18T10:00:00+08:00"]);
        let listed = setup.ok(&["world", "list"]);
        let row = ["march", "paused", "2026-03-18T02:00:00Z", "2026-03-18T08:30:00Z", "0", "3"];
        assert_eq!(rows(&listed)[1], row);
        assert_eq!(setup.json(&["world", "end", "march"])["state"], "ended");
        setup.ok(&["world", "delete", "march"]);
        assert_eq!(setup.ok(&["world", "list"]).trim(), "no worlds");
    }
}

#[test]
fn start_and_end_are_changed_before_a_world_begins() {
    for setup in setups() {
        setup.ok(&CREATE);
        let shown = setup.json(&["world", "set", "march", "--end", "2026-03-18T10:00:00+08:00"]);
        assert_eq!(
            (&shown["start"], &shown["end"]),
            (&"2026-03-18T01:29:00Z".into(), &"2026-03-18T02:00:00Z".into())
        );
        let shown = setup.json(&["world", "set", "march", "--start", "2026-03-18T09:31:00+08:00"]);
        assert_eq!(
            (&shown["now"], &shown["end"]),
            (&"2026-03-18T01:31:00Z".into(), &"2026-03-18T02:00:00Z".into())
        );
        let (_, refused) = setup.fails(&["world", "set", "march", "--start", "2026-03-18T10:00:01+08:00"]);
        assert!(refused.contains("is before the start"), "{refused}");
        let (_, refused) = setup.fails(&["world", "set", "march"]);
        assert!(refused.contains("--start") && refused.contains("--end"), "{refused}");
        setup.ok(&["world", "step", "march", "--by", "PT1M"]);
        let (_, refused) = setup.fails(&["world", "set", "march", "--end", "2026-03-18T11:00:00+08:00"]);
        assert!(refused.contains("it has begun"), "{refused}");
    }
}

#[test]
fn a_world_begins_with_settings_or_with_a_copy_of_an_account() {
    for setup in setups() {
        let words = ["--fees", "none", "--participation", "off", "--short", "off", "--credit", "HKD=400000"];
        let created = setup.json(&[&CREATE[..], &words].concat());
        assert_eq!(created["world"]["orders"], 0);
        let copy =
            setup.json(&["world", "create", "copy", "--from", "world:march@2026-03-18T09:29:00+08:00"]);
        assert_eq!(copy["world"]["start"], created["world"]["start"]);
        let of_account =
            ["--from", "account:ann@2026-03-18T09:30:00+08:00", "--start", "2026-03-18T09:31:00+08:00"];
        let copy = setup.json(&[&["world", "create", "own"], &of_account[..]].concat());
        assert_eq!(copy["world"]["start"], "2026-03-18T01:31:00Z");
        for (words, reason) in [
            (&["--from", "account:ann"][..], "from is account:NAME@INSTANT or world:NAME@INSTANT"),
            (&["--from", "world:march@2026-03-18T09:29:00+08:00", "--cash", "HKD=1"], "cannot be used with"),
            (&["--from", "world:march@2026-03-18T09:29:00+08:00", "--fees", "none"], "cannot be used with"),
            (&["--start", "2026-03-18", "--open-orders", "5"], "only operators change it"),
            (&["--start", "2026-03-18", "--slippage-ticks", "1001"], "slippage_ticks must be at most 1000"),
            (&[], "--start"),
        ] {
            let (_, refused) = setup.fails(&[&["world", "create", "b"], words].concat());
            assert!(refused.contains(reason), "{words:?}: {refused}");
        }
    }
}

#[test]
fn a_copy_and_another_key_have_separate_credentials() {
    for setup in setups() {
        let created = setup.json(&CREATE);
        setup.ok(&["world", "step", "march", "--to", "2026-03-18T10:00:00+08:00"]);
        let copy = setup.json(&["world", "fork", "march", "copy", "--at", "2026-03-18T09:31:00+08:00"]);
        assert_eq!(copy["world"]["start"], "2026-03-18T01:31:00Z");
        let other = setup.json(&["world", "token", "march"]);
        assert_eq!(other["world"]["account_id"], created["world"]["account_id"]);
        let mut keys = [&created, &copy, &other].map(|one| one["credentials"]["app_key"].to_string());
        keys.sort();
        assert!(keys[0] != keys[1] && keys[1] != keys[2], "{keys:?}");
        let printed = setup.ok(&["world", "token", "march", "--url", "http://chandler.example:8080"]);
        assert!(printed.contains("LONGBRIDGE_HTTP_URL='http://chandler.example:8080'"), "{printed}");
        let reset = setup.json(&["world", "reset", "march"]);
        assert_eq!((&reset["state"], &reset["now"]), (&"created".into(), &"2026-03-18T01:29:00Z".into()));
    }
}

#[test]
fn invalid_commands_are_refused_with_a_reason() {
    for setup in setups() {
        setup.ok(&CREATE);
        for (words, reason) in [
            (
                &["create", "march", "--start", "2026-03-18"][..],
                "there is a world or an account with this name",
            ),
            (&["create", "March", "--start", "2026-03-18"], "\"March\" is not a name of a world"),
            (&["create", "b", "--start", "2036-03-18"], "the stored candles end at"),
            (&["create", "b", "--start", "2026-03-18", "--end", "2026-03-17"], "is before the start"),
            (&["create", "b", "--start", "2020-03-18", "--end", "2020-03-19"], "no candles are stored from"),
            (&["create", "b", "--start", "2026-03-18", "--cash", "HKD"], "\"HKD\" is not an amount"),
            (&["step", "march", "--to", "2026-03-18T09:00:00+08:00"], "it can only move forward"),
            (&["step", "march", "--by", "a minute"], "\"a minute\" is not a duration"),
            (&["step", "april"], "there is no such world"),
            (&["step", "../worlds"], "is not a name of a world"),
            (&["reset", "march", "--at", "2026-03-18T10:00:00+08:00"], "is not between the world's start"),
        ] {
            let (_, refused) = setup.fails(&[&["world"], words].concat());
            assert!(refused.contains(reason), "{words:?}: {refused}");
        }
        setup.ok(&["world", "step", "march"]);
        let (_, refused) = setup.fails(&["world", "delete", "march"]);
        assert!(refused.contains("paused"), "{refused}");
    }
}
