//! Tests of `chandler audit`: listing and pruning the audit log.

use crate::world::{World, days};

fn world() -> World {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ana"]);
    world.ok(&["account", "create", "bo"]);
    world.ok(&["account", "revoke", "bo"]);
    world
}

#[test]
fn the_audit_is_listed_newest_first_and_filtered() {
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
    for since in ["2000-01-01T00:00:00+08:00", "2000-01-01", "20000101"] {
        assert_eq!(events(&world.json(&["audit", "--since", since])).len(), 3, "{since}");
    }
    let table = world.ok(&["audit"]);
    assert!(table.starts_with("time") && table.lines().count() == 4, "{table}");
}

#[test]
fn invalid_arguments_are_reported() {
    let world = world();
    for (arguments, code, says) in [
        (&["audit", "--account", "nobody"][..], 1, "nobody"),
        (&["audit", "--since", "yesterday"], 2, "2026-11-13"),
        (&["audit", "--limit", "0"], 2, "--limit"),
        (&["audit", "--since", "1794708000"], 2, "is not a time"),
        (&["audit", "--prune"], 2, "--before"),
        (&["audit", "--before", "2026-01-01"], 2, "--prune"),
        (&["audit", "--prune", "--before", "2200-01-01"], 2, "is in the future"),
        (&["audit", "--prune", "--before", "soon"], 2, "is not a time"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!(found, code, "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn pruning_the_audit_is_audited() {
    let world = world();
    // Midnight in Hong Kong is eight hours before midnight in UTC.
    let midnight = 1_767_196_800;
    let accounts = store::Accounts::open(world.path("store"), market::Timestamp(0)).unwrap();
    for at in [midnight - 2, midnight - 1, midnight].map(market::Timestamp) {
        let note = store::AuditNote { at, actor: "somebody", reason: "" };
        accounts.note(None, "login.refused", &note).unwrap();
    }
    drop(accounts);
    let said = world.ok(&["audit", "--prune", "--before", "2026-01-01"]);
    assert_eq!(said, "deleted 2 rows from before 2025-12-31T16:00:00Z\n");
    let left = world.json(&["audit"]);
    let left: Vec<_> = left.as_array().unwrap().iter().map(|row| row["event"].as_str().unwrap()).collect();
    assert_eq!(
        left,
        ["audit.pruned", "login.refused", "account.revoked", "account.created", "account.created"]
    );
    assert!(world.ok(&["audit", "--prune", "--before", "2026-01-01"]).starts_with("deleted 0 rows"));
}
