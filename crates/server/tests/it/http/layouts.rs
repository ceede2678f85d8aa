//! Chart layouts over HTTP.

use access::{Created, LAYOUT_QUERY_MAX, LAYOUTS_MAX, RateRule, Terms};
use serde_json::{Value, json};

use crate::support::{Response, Running};

const PATH: &str = "/v1/layouts";

fn unhurried() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

async fn send(server: &Running, method: &str, path: &str, account: &Created, body: Value) -> Response {
    let head = format!("authorization: Bearer {}\r\n", account.access_token.expose());
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.http(method, path, &head, body.as_bytes()).await
}

async fn put(server: &Running, account: &Created, body: Value) -> (u16, String) {
    let answer = send(server, "PUT", PATH, account, body).await;
    (answer.status, answer.json()["message"].as_str().unwrap().to_owned())
}

/// Formats the layouts as `name: query`.
async fn describe(server: &Running, account: &Created) -> Vec<String> {
    let data = server.get(PATH, account).await.json()["data"].clone();
    assert_eq!(data["limit"], json!(LAYOUTS_MAX));
    let layouts = data["layouts"].as_array().unwrap().clone();
    let text = |layout: &Value, name: &str| layout[name].as_str().unwrap().to_owned();
    layouts.iter().map(|one| format!("{}: {}", text(one, "name"), text(one, "query"))).collect()
}

#[tokio::test]
async fn layouts_are_saved_replaced_renamed_and_deleted() {
    let server = Running::start().await;
    let (ann, ben) = (server.account("ann", unhurried()), server.account("ben", unhurried()));
    let ok = (200, "success".to_owned());
    let query = "symbol=700.HK&beside=9001.HK;period=5m!*";
    assert_eq!(put(&server, &ann, json!({"name": " two charts ", "query": query})).await, ok);
    assert_eq!(put(&server, &ann, json!({"name": "日线", "query": ""})).await, ok);
    assert_eq!(describe(&server, &ann).await, [format!("two charts: {query}"), "日线: ".to_owned()]);
    assert_eq!(describe(&server, &ben).await, [""; 0]);
    assert_eq!(put(&server, &ann, json!({"name": "日线", "query": "symbol=5.HK"})).await, ok);
    assert_eq!(put(&server, &ann, json!({"name": "days", "rename_from": "日线"})).await, ok);
    assert_eq!(put(&server, &ann, json!({"name": "days", "rename_from": "days"})).await, ok);
    let expected = ["days: symbol=5.HK".to_owned(), format!("two charts: {query}")];
    assert_eq!(describe(&server, &ann).await, expected);
    for (body, status, words) in [
        (json!({"name": "days", "rename_from": "two charts"}), 400, "another layout has this name"),
        (json!({"name": "else", "rename_from": "日线"}), 404, "there is no layout of this name"),
        (json!({"name": "else"}), 400, "either query or rename_from required"),
        (
            json!({"name": "else", "query": "", "rename_from": "days"}),
            400,
            "either query or rename_from required",
        ),
        (json!({"name": " ", "query": ""}), 400, "name: it is empty"),
        (json!({"name": "x".repeat(41), "query": ""}), 400, "name: it has more than 40 characters"),
        (
            json!({"name": "else", "query": "a b"}),
            400,
            "the query has characters that an address cannot have",
        ),
        (
            json!({"name": "else", "query": "x".repeat(LAYOUT_QUERY_MAX + 1)}),
            400,
            "the query has more than 2000 bytes",
        ),
    ] {
        let (found, message) = put(&server, &ann, body.clone()).await;
        assert!(found == status && message.contains(words), "{body}: {found} {message}");
    }
    assert_eq!(describe(&server, &ann).await, expected);
    for (account, status) in [(&ben, 404), (&ann, 200), (&ann, 404)] {
        assert_eq!(
            send(&server, "DELETE", "/v1/layouts?name=days", account, Value::Null).await.status,
            status
        );
    }
    assert_eq!(send(&server, "DELETE", PATH, &ann, Value::Null).await.status, 400);
    assert_eq!(describe(&server, &ann).await, expected[1..]);
}

#[tokio::test]
async fn an_account_has_a_limited_number_of_layouts_and_a_read_only_one_changes_none() {
    let server = Running::start().await;
    let ann = server.account("ann", unhurried());
    for number in 0..LAYOUTS_MAX {
        assert_eq!(put(&server, &ann, json!({"name": format!("{number:02}"), "query": "x"})).await.0, 200);
    }
    let (status, message) = put(&server, &ann, json!({"name": "more", "query": "x"})).await;
    assert!(status == 400 && message.contains("at most 50 layouts"), "{status} {message}");
    // A layout that exists can still be replaced.
    assert_eq!(put(&server, &ann, json!({"name": "00", "query": "y"})).await.0, 200);
    let reader = server.account("reader", Terms { read_only: true, ..unhurried() });
    assert_eq!(put(&server, &reader, json!({"name": "one", "query": "x"})).await.0, 403);
    assert_eq!(describe(&server, &reader).await, [""; 0]);
}
