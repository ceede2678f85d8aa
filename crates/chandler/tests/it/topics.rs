//! Tests of `chandler topic`: hiding and restoring posts.

use serde_json::{Value, json};
use store::{Accounts, NewReply, NewTopic, StoreError, TopicId};

use crate::world::{World, days};

/// Creates a store with a topic and a reply to the topic.
fn world() -> World {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ana"]);
    let at = market::Timestamp(1_800_000_000);
    let accounts = Accounts::open(world.path("store"), at).unwrap();
    let author = accounts.account_named("ana").unwrap().unwrap().id;
    let new = NewTopic {
        author,
        kind: "article",
        title: "Lot sizes",
        description: "Of lots",
        body: "Of lots\nand more",
        tickers: &["700.HK".parse().unwrap()],
        hashtags: &[],
        at,
    };
    accounts.add_topic(&new, |_| Ok::<_, StoreError>(())).unwrap();
    let reply = NewReply { author, topic: TopicId(1), reply_to: None, body: "a reply", at };
    accounts.add_reply(&reply, 1, |_| Ok::<_, StoreError>(())).unwrap();
    world
}

#[test]
fn a_topic_and_a_reply_are_hidden_and_shown_again() {
    let world = world();
    let ids = |rows: &Value| -> Vec<String> {
        rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    let listed = world.json(&["topic", "list"]);
    assert_eq!(ids(&listed), ["1"]);
    assert_eq!((&listed[0]["author"], &listed[0]["hidden_at"]), (&json!("ana"), &Value::Null));
    assert_eq!(world.ok(&["topic", "list", "--hidden"]), "nothing is hidden\n");
    let hidden = world.json(&["topic", "hide", "1", "--reason", " advertising "]);
    assert_eq!((&hidden["what"], &hidden["hidden_because"]), (&json!("topic"), &json!("advertising")));
    assert_eq!(world.ok(&["topic", "hide", "2", "--reason", "rude"]), "reply 2 of ana is now hidden\n");
    assert_eq!(world.ok(&["topic", "hide", "2", "--reason", "rude"]), "reply 2 of ana was already hidden\n");
    assert_eq!(ids(&world.json(&["topic", "list", "--hidden"])), ["1", "2"]);
    let table = world.ok(&["topic", "list", "--hidden"]);
    assert!(
        table.contains("Lot sizes") && table.contains("reply to 1") && table.contains("advertising"),
        "{table}"
    );
    assert_eq!(world.ok(&["topic", "restore", "1"]), "topic 1 of ana is now shown\n");
    assert_eq!(world.ok(&["topic", "restore", "2"]), "reply 2 of ana is now shown\n");
    assert_eq!(ids(&world.json(&["topic", "list", "--hidden"])), [""; 0]);
    let audit = world.json(&["audit", "--account", "ana", "--limit", "4"]);
    let actual: Vec<(&str, &str)> = audit
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["event"].as_str().unwrap(), row["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        actual,
        [
            ("reply.restored", "reply 2: restored"),
            ("topic.restored", "topic 1: restored"),
            ("reply.hidden", "reply 2: rude"),
            ("topic.hidden", "topic 1: advertising"),
        ]
    );
}

#[test]
fn a_post_that_cannot_be_hidden_is_reported() {
    let world = world();
    for (arguments, code, says) in [
        (&["topic", "hide", "9", "--reason", "x"][..], 1, "no topic or reply 9"),
        (&["topic", "restore", "9"], 1, "no topic or reply 9"),
        (&["topic", "hide", "1"], 2, "--reason"),
        (&["topic", "hide", "1", "--reason", " "], 2, "reason is required"),
        (&["topic", "hide", "1", "--reason", "a\u{202e}b"], 2, "invisible character U+202E"),
        (&["topic", "hide", "one", "--reason", "x"], 2, "one"),
        (&["topic", "list", "--limit", "0"], 2, "--limit"),
    ] {
        let (found, stderr) = world.fails(arguments);
        assert_eq!(found, code, "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
}
