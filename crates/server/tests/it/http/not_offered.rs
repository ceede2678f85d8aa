//! Requests of the public SDKs that Chandler does not offer.

use access::{RateRule, Terms};
use serde_json::Value;

use crate::support::{Response, Running};

/// All HTTP requests of the Rust, Python and Go SDKs, with placeholders for parameters.
const SDK_PATHS: &str = include_str!("sdk-paths.txt");

fn sdk_requests() -> impl Iterator<Item = (&'static str, &'static str)> {
    SDK_PATHS.lines().map(|line| line.split_once(' ').unwrap())
}

/// Returns status, code and message.
fn describe(answer: &Response) -> (u16, i64, String) {
    let json = answer.json();
    (answer.status, json["code"].as_i64().unwrap(), json["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn no_sdk_request_returns_not_found() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let head = format!("authorization: Bearer {}\r\n", account.access_token.expose());
    let mut refused = 0;
    for (method, path) in sdk_requests() {
        let answer = server.http(method, path, &head, b"{}").await;
        if answer.status == 404 {
            // The endpoint is offered, but the topic does not exist.
            assert_eq!(describe(&answer).2, "topic not found", "{method} {path}");
            continue;
        }
        assert_ne!(answer.status, 405, "{method} {path}: {answer:?}");
        if answer.status != 501 {
            continue;
        }
        let (_, code, text) = describe(&answer);
        assert_eq!((code, answer.json()["data"].clone()), (301_602, Value::Null), "{method} {path}");
        assert!(text.contains(" are not offered here"), "{method} {path}: {text}");
        refused += 1;
    }
    // This number changes only when an endpoint is implemented.
    assert_eq!(refused, 141);
}

#[tokio::test]
async fn a_refusal_names_the_missing_feature() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let why = "paper accounts do not support this; your login is valid";
    for (path, wanted) in [
        ("/v1/sharelists", "shared lists are not offered here".to_owned()),
        ("/v1/quote/short-positions/hk?symbol=700.HK", "short positions are not offered here".to_owned()),
        ("/v1/content/700.HK/news", "news are not offered here".to_owned()),
        // Programs test their login with these endpoints, and must not conclude that the login
        // failed.
        ("/v1/us/assets/overview", format!("US account overviews are not offered here: {why}")),
        ("/v1/dailycoins/query", format!("savings plans are not offered here: {why}")),
    ] {
        assert_eq!(describe(&server.get(path, &account).await), (501, 301_602, wanted), "{path}");
    }
}

#[tokio::test]
async fn missing_features_are_reported_only_after_authentication() {
    let server = Running::start().await;
    for (method, path) in sdk_requests() {
        let answer = server.http(method, path, "authorization: Bearer ap_wrong\r\n", b"{}").await;
        assert_eq!(answer.status, 401, "{method} {path}: {answer:?}");
    }
    for head in ["", "authorization: ap_wrong\r\nx-api-key: k\r\nx-timestamp: 1\r\nx-api-signature: x\r\n"] {
        let answer = server.http("GET", "/v1/asset/account", head, b"").await;
        assert!([401, 403].contains(&answer.status), "{head:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_wrong_method_lists_the_allowed_methods() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let put = server.http("PUT", "/v1/asset/account", "", b"").await;
    assert_eq!((put.status, put.header("allow")), (405, Some("get, head, options")));
    let patch = server.http("PATCH", "/v1/trade/order", "", b"").await;
    assert_eq!((patch.status, patch.header("allow")), (405, Some("get, head, post, put, delete, options")));
    for path in
        ["/v1/asset/accounts", "/v1/sharelists/", "/v1/trade", "/v4/trade/order", "/v1/content/700.HK"]
    {
        assert_eq!(describe(&server.get(path, &account).await), (404, 404, "not found".to_owned()), "{path}");
    }
}
