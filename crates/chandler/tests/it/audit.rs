//! `chandler audit`: what account commands leave behind.

use crate::world::{World, days};

fn world() -> World {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ana"]);
    world.ok(&["account", "create", "bo"]);
    world.ok(&["account", "revoke", "bo"]);
    world
}

#[test]
fn the_audit_tells_the_latest_first_and_can_be_narrowed() {
    let world = world();
    let all = world.json(&["audit"]);
    let events = |rows: &serde_json::Value| -> Vec<String> {
        rows.as_array().unwrap().iter().map(|row| row["event"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(events(&all), ["account.revoked", "account.created", "account.created"]);
    assert_eq!((&all[0]["account"], &all[0]["actor"]), (&"bo".into(), &"operator".into()));
    assert_eq!(events(&world.json(&["audit", "--account", "ana"])), ["account.created"]);
    assert_eq!(events(&world.json(&["audit", "--event", "account.revoked"])), ["account.revoked"]);
    assert_eq!(events(&world.json(&["audit", "--limit", "1"])).len(), 1);
    assert!(events(&world.json(&["audit", "--since", "2200-01-01"])).is_empty());
    assert_eq!(events(&world.json(&["audit", "--since", "2000-01-01T00:00:00+08:00"])).len(), 3);
    let table = world.ok(&["audit"]);
    assert!(table.starts_with("time") && table.lines().count() == 4, "{table}");
}

#[test]
fn what_cannot_be_looked_for_is_told() {
    let world = world();
    for (arguments, code, says) in [
        (&["audit", "--account", "nobody"][..], 1, "nobody"),
        (&["audit", "--since", "yesterday"], 2, "2026-11-13"),
        (&["audit", "--limit", "0"], 2, "--limit"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!(found, code, "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
}
