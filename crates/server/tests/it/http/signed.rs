//! Requests with API keys, signed as the SDKs do.

use access::{Actor, Created, NewAccount, Terms};
use hmac::{Hmac, KeyInit, Mac};
use market::Timestamp;
use serde_json::json;
use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::support::{Response, Running, machine_now};

const NAMES: &str = "authorization;x-api-key;x-timestamp";

/// A request signed with an API key. Fields can be changed after signing.
#[derive(Clone)]
pub(super) struct Signed {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) token: String,
    pub(super) key: String,
    pub(super) secret: String,
    pub(super) timestamp: String,
    pub(super) body: String,
}

impl Signed {
    pub(super) fn get(account: &Created, path: &str) -> Signed {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Signed {
            method: "GET",
            path: path.to_owned(),
            query: query.to_owned(),
            token: account.access_token.expose().to_owned(),
            key: account.app_key.clone(),
            secret: account.app_secret.expose().to_owned(),
            timestamp: machine_now().0.to_string(),
            body: String::new(),
        }
    }

    fn signature(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let Signed { method, path, query, token, key, timestamp, body, .. } = self;
        let body = if body.is_empty() { String::new() } else { hex(&Sha1::digest(body)) };
        let canonical = format!(
            "{method}|{path}|{query}|authorization:{token}\nx-api-key:{key}\nx-timestamp:{timestamp}\n|{NAMES}|{body}"
        );
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).unwrap();
        mac.update(format!("HMAC-SHA256|{}", hex(&Sha1::digest(canonical))).as_bytes());
        hex(&mac.finalize().into_bytes())
    }

    /// Sends the request with a given signature.
    async fn send_as(&self, server: &Running, signature: &str) -> Response {
        let Signed { method, path, query, token, key, timestamp, body, .. } = self;
        let head = format!(
            "authorization: {token}\r\nx-api-key: {key}\r\nx-timestamp: {timestamp}\r\n\
             x-api-signature: HMAC-SHA256 SignedHeaders={NAMES}, Signature={signature}\r\n\
             content-type: application/json; charset=utf-8\r\nuser-agent: openapi-sdk\r\nx-papertrading: true\r\n"
        );
        // SDKs always send the question mark, even with an empty query.
        server.http(method, &format!("{path}?{query}"), &head, body.as_bytes()).await
    }

    pub(super) async fn send(&self, server: &Running) -> Response {
        self.send_as(server, &self.signature()).await
    }
}

#[track_caller]
fn refused(answer: &Response) -> (u16, i64) {
    (answer.status, answer.json()["code"].as_i64().unwrap())
}

#[test]
fn the_signature_matches_the_worked_example() {
    let example = Signed {
        method: "GET",
        path: "/v1/socket/token".to_owned(),
        query: String::new(),
        token: "tok_demo_0001".to_owned(),
        key: "key_demo_0001".to_owned(),
        secret: "secret_demo_0001".to_owned(),
        timestamp: "1700000000".to_owned(),
        body: String::new(),
    };
    assert_eq!(example.signature(), "c42668a9e5b8f8655209e5a11d7c9b7910366acdec94755395a1a204add90c54");
}

#[tokio::test]
async fn a_signed_request_is_accepted() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for path in ["/v1/socket/token", "/v2/socket/token", "//v1/socket/token"] {
        let answer = Signed::get(&account, path).send(&server).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let data = &answer.json()["data"];
        assert!(data["otp"].is_string() && data["limit"] == 10 && data["online"] == 0, "{data}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    let query = "/v1/quote/history-candlesticks?symbol=700.HK&before=2026-11-13+09%3A30&period=1m&limit=2";
    assert_eq!(Signed::get(&account, query).send(&server).await.status, 200);
    let body = r#"{"symbol":"700.HK","period":1000,"query_type":1,"offset_request":{"count":1}}"#;
    let post = Signed {
        method: "POST",
        body: body.to_owned(),
        ..Signed::get(&account, "/quote/history-candlesticks")
    };
    assert_eq!(post.send(&server).await.status, 200);
}

/// A program in a world may run with a clock that shows a past time (specification 5.7).
#[tokio::test]
async fn the_time_of_a_signature_is_not_checked_for_the_key_of_a_world() {
    let server = Running::start().await;
    let owner = server.account("ann", Terms::default());
    let body = json!({"name": "w", "start": "2026-11-12T10:00:00+08:00"}).to_string();
    let created = server.post("/v1/worlds", &owner, &body).await.json();
    let text = |name: &str| created["data"]["credentials"][name].as_str().unwrap().to_owned();
    let key = Signed {
        key: text("app_key"),
        secret: text("app_secret"),
        token: text("access_token"),
        // 2026-03-18, 10:00 in Hong Kong.
        timestamp: "1773799200".to_owned(),
        ..Signed::get(&owner, "/v1/world")
    };
    assert_eq!(key.send(&server).await.status, 200);
    // Two equal changes with the same past timestamp.
    let body = r#"{"by":"PT1S"}"#.to_owned();
    let step = Signed { method: "POST", path: "/v1/world/step".to_owned(), body, ..key.clone() };
    for _ in 0..2 {
        let answer = step.send(&server).await;
        assert_eq!((answer.status, &answer.json()["data"]["moved_s"]), (200, &json!(1)), "{answer:?}");
    }
    assert_eq!(refused(&step.send_as(&server, &"0".repeat(64)).await), (403, 403_201), "it is checked");

    let timestamp = "1773799200".to_owned();
    let past = Signed { timestamp, ..Signed::get(&owner, "/v1/socket/token") };
    assert_eq!(refused(&past.send(&server).await), (403, 403_201));
    let end = Signed { method: "POST", ..Signed::get(&owner, "/v1/worlds/w/end") };
    assert_eq!(end.send(&server).await.status, 200);
    assert_eq!(refused(&end.send(&server).await), (403, 403_201), "a repeated signature");
}

#[tokio::test]
async fn timestamps_may_be_off_by_five_minutes() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let at = |timestamp: String| Signed { timestamp, ..Signed::get(&account, "/v1/socket/token") };
    let now = machine_now().0;
    // The machine's clock advances during the test, so the bounds have a margin of ten seconds.
    for timestamp in [
        (now - 290).to_string(),
        (now + 290).to_string(),
        (now * 1000).to_string(),
        ((now + 290) * 1000).to_string(),
        format!("{now}.25"),
    ] {
        assert_eq!(at(timestamp.clone()).send(&server).await.status, 200, "{timestamp}");
    }
    for timestamp in [
        (now - 301).to_string(),
        (now + 330).to_string(),
        ((now - 301) * 1000).to_string(),
        "0".to_owned(),
        "-1".to_owned(),
        "now".to_owned(),
    ] {
        assert_eq!(refused(&at(timestamp.clone()).send(&server).await), (403, 403_201), "{timestamp}");
    }
}

#[tokio::test]
async fn any_change_of_a_signed_request_is_detected() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let sent = Signed {
        method: "POST",
        body: r#"{"symbol":["700.HK"]}"#.to_owned(),
        ..Signed::get(&account, "/quote/quotes?a=1&b=2")
    };
    assert_eq!(sent.send(&server).await.status, 200);
    let signature = sent.signature();
    let changes = [
        Signed { body: r#"{"symbol":["AAPL.US"]}"#.to_owned(), ..sent.clone() },
        Signed { body: String::new(), ..sent.clone() },
        Signed { query: "b=2&a=1".to_owned(), ..sent.clone() },
        Signed { query: "a=%31&b=2".to_owned(), ..sent.clone() },
        Signed { path: "//quote/quotes".to_owned(), ..sent.clone() },
        Signed { path: "/quote/static-info".to_owned(), ..sent.clone() },
        Signed { timestamp: (machine_now().0 + 7).to_string(), ..sent.clone() },
    ];
    for change in changes {
        assert_eq!(refused(&change.send_as(&server, &signature).await), (403, 403_201));
    }
    let wrong =
        [signature.replace(char::is_numeric, "0"), "0".repeat(64), String::new(), signature[1..].to_owned()];
    for wrong in wrong {
        assert_eq!(refused(&sent.send_as(&server, &wrong).await), (403, 403_201), "{wrong}");
    }
    let secret = Signed { secret: "guess".to_owned(), ..sent.clone() };
    assert_eq!(refused(&secret.send(&server).await), (403, 403_201));
}

#[tokio::test]
async fn invalid_keys_and_tokens_have_distinct_codes() {
    let server = Running::start().await;
    let (account, other) = (server.account("ann", Terms::default()), server.account("bob", Terms::default()));
    let sent = Signed::get(&account, "/v1/socket/token");
    let key = Signed { key: "nobody".to_owned(), ..sent.clone() };
    assert_eq!(refused(&key.send(&server).await), (403, 403_203));
    // The request is correctly signed, but the token is unknown or belongs to another account.
    for token in ["ap_unknown", other.access_token.expose()] {
        let sent = Signed { token: token.to_owned(), ..sent.clone() };
        assert_eq!(refused(&sent.send(&server).await), (401, 401_004));
    }
    let bearer = server.http("GET", "/v1/socket/token", "authorization: Bearer ap_unknown\r\n", b"").await;
    assert_eq!(refused(&bearer), (401, 401_004));
    // Without a signature, the token is not accepted as a bearer token.
    let head = format!("authorization: {}\r\n", account.access_token.expose());
    assert_eq!(refused(&server.http("GET", "/v1/socket/token", &head, b"").await), (403, 403_201));

    let late = NewAccount {
        token_expires_at: Some(Timestamp(machine_now().0 - 1)),
        ..NewAccount::named("late", Terms::default())
    };
    let late = server.access.create(&late, &Actor::Operator, machine_now()).unwrap();
    let expired = Signed::get(&late, "/v1/socket/token").send(&server).await;
    assert_eq!(refused(&expired), (401, 401_003));
    assert_eq!(refused(&server.get("/v1/socket/token", &late).await), (401, 401_003));
    assert_eq!(expired.header("www-authenticate"), Some("bearer"));

    assert!(server.access.revoke(account.account_id, &Actor::Operator, "", machine_now()).unwrap());
    assert_eq!(refused(&sent.send(&server).await), (401, 401_004));
}

#[tokio::test]
async fn a_signed_change_is_accepted_once_and_reads_may_be_repeated() {
    let server = Running::start().await;
    let new = NewAccount { role: access::Role::Operator, ..NewAccount::named("ops", Terms::default()) };
    let operator = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    let other = server.account("ann", Terms::default());
    let post = |path: &str, body: &str| Signed {
        method: "POST",
        body: body.to_owned(),
        ..Signed::get(&operator, path)
    };
    let change = post("/v1/admin/accounts/ann", r#"{"quota": 7}"#);
    assert_eq!(change.send(&server).await.status, 200);
    for _ in 0..2 {
        let again = change.send(&server).await;
        assert_eq!(refused(&again), (403, 403_201));
        assert!(again.json()["message"].as_str().unwrap().contains("sign it again"), "{again:?}");
    }
    // A retry that is signed again, as SDKs do, is a new request.
    let anew = Signed { timestamp: format!("{}.5", change.timestamp), ..change.clone() };
    assert_eq!(anew.send(&server).await.status, 200);
    let removal =
        Signed { method: "DELETE", ..Signed::get(&operator, "/v1/admin/accounts/ann/rights?package=HK") };
    let first = removal.send(&server).await.status;
    assert_ne!(first, 403);
    assert_eq!(refused(&removal.send(&server).await), (403, 403_201));
    // A forged request does not use up the signature.
    let next = post("/v1/admin/accounts/ann", r#"{"quota": 8}"#);
    assert_eq!(refused(&next.send_as(&server, &"0".repeat(64)).await), (403, 403_201));
    assert_eq!(next.send(&server).await.status, 200);
    // Reads may be repeated, as SDKs and users do after a lost response.
    for question in [
        Signed::get(&operator, "/v1/admin/accounts"),
        Signed {
            method: "POST",
            body: r#"{"symbol":["700.HK"]}"#.to_owned(),
            ..Signed::get(&other, "/quote/quotes")
        },
        Signed {
            method: "POST",
            body: r#"{"symbols":["700.HK"]}"#.to_owned(),
            ..Signed::get(&other, "/v1/quota/preview")
        },
    ] {
        let first = question.send(&server).await.status;
        assert_eq!((first, question.send(&server).await.status), (200, 200), "{}", question.path);
    }
}

#[tokio::test]
async fn two_equal_orders_within_a_second_are_both_processed() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    // These requests are refused for reasons other than a repeated signature.
    for (method, path, words) in [
        ("POST", "/v1/trade/order", "symbol required"),
        ("PUT", "/v1/trade/order", "order_id required"),
        ("DELETE", "/v1/trade/order?order_id=1", "order not found"),
    ] {
        let body = if method == "DELETE" { "" } else { "{}" }.to_owned();
        let change = Signed { method, body, ..Signed::get(&account, path) };
        for _ in 0..2 {
            let answer = change.send(&server).await;
            assert_eq!(refused(&answer), (400, 602_001));
            assert_eq!(answer.json()["message"], words);
        }
    }
}

#[tokio::test]
async fn concurrent_copies_of_a_signed_change_are_accepted_once() {
    let server = Running::start().await;
    let new = NewAccount { role: access::Role::Operator, ..NewAccount::named("ops", Terms::default()) };
    let operator = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    server.account("ann", Terms::default());
    let body = r#"{"quota": 9}"#.to_owned();
    let change = Signed { method: "POST", body, ..Signed::get(&operator, "/v1/admin/accounts/ann") };
    let sent = (0..16).map(|_| change.send(&server));
    let answers = futures_all(sent).await;
    let let_in = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(let_in, 1);
    assert!(answers.iter().all(|answer| [200, 403].contains(&answer.status)));
}

/// Awaits all futures concurrently.
async fn futures_all<F: Future<Output = Response>>(all: impl Iterator<Item = F>) -> Vec<Response> {
    let mut waiting: Vec<_> = all.map(Box::pin).collect();
    let mut answers = Vec::new();
    std::future::poll_fn(|cx| {
        waiting.retain_mut(|one| match one.as_mut().poll(cx) {
            std::task::Poll::Ready(answer) => {
                answers.push(answer);
                false
            }
            std::task::Poll::Pending => true,
        });
        if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    answers
}
