//! The OpenAPI document, compared with a running server.

use std::collections::BTreeSet;

use access::{Actor, NewAccount, Role, Terms};
use serde_json::Value;

use crate::support::{Running, machine_now};

/// The refusal of an unknown parameter lists the accepted parameters, which must match the
/// document.
#[tokio::test]
async fn the_accepted_parameters_match_the_document() {
    let server = Running::start().await;
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("olga", Terms::default()) };
    let operator = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    let document = server.http("GET", "/openapi.json", "", b"").await.json();
    let mut compared = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let is_data = |tag: &Value| ["candles", "admin", "account"].iter().any(|data| tag == data);
        let Some(operation) = methods.get("get").filter(|one| is_data(&one["tags"][0])) else { continue };
        let at = path.replace("{symbol}", "700.HK").replace("{name}", "olga");
        let answer = server.get(&format!("{at}?nonsense=1"), &operator).await;
        let message = if answer.status == 400 { answer.json()["message"].to_string() } else { String::new() };
        let Some((_, known)) = message.split_once("unknown parameter \\\"nonsense\\\"; accepted: ") else {
            continue;
        };
        let known: BTreeSet<&str> =
            known.trim_end_matches('"').split(", ").filter(|name| *name != "none").collect();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let described =
            parameters.filter(|one| one["in"] == "query").map(|one| one["name"].as_str().unwrap());
        // `counter_id` is rewritten to a symbol before the names are checked.
        let described: BTreeSet<&str> = described.filter(|name| *name != "counter_id").collect();
        assert_eq!(described, known, "{path}");
        compared += 1;
    }
    assert_eq!(compared, 20, "endpoints that know their parameters");
}
