//! Access tokens in the URL: which endpoints accept them, and where they must not appear.

use access::{Actor, AuditFilter, NewAccount, Role, Terms};

use crate::support::{NOW, Response, Running};

const CANDLES: &str = "/v1/quote/history-candlesticks?symbol=700.HK&limit=2";

#[track_caller]
fn is_open(answer: &Response) {
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{}", answer.head);
    let actual = answer.header("access-control-expose-headers").unwrap();
    assert!(actual.contains("x-quota-used") && actual.contains("retry-after"), "{actual}");
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}

#[tokio::test]
async fn candles_accept_a_token_in_the_url() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let token = ann.access_token.expose();
    for path in [
        format!("{CANDLES}&access_token={token}"),
        format!("/v1/quote/history-candlesticks?access_token={token}&symbol=700.HK&limit=2&format=csv"),
        format!("{CANDLES}&%61ccess_token={token}"),
    ] {
        let answer = server.http("GET", &path, "", b"").await;
        assert_eq!((answer.status, answer.header("x-quota-used")), (200, Some("1")), "{}", answer.text());
        is_open(&answer);
        let next = answer.header("link").unwrap();
        assert!(!next.contains("access_token") && !next.contains(&token.to_ascii_lowercase()), "{next}");
    }
    // The other parameters are validated as usual, and the error does not contain the token.
    let answer = server.http("GET", &format!("{CANDLES}&access_token={token}&limits=3"), "", b"").await;
    assert_eq!((answer.status, answer.json()["code"].as_u64()), (400, Some(301_600)));
    assert!(answer.text().contains("limits") && !answer.text().contains(token), "{}", answer.text());
    is_open(&answer);
}

#[tokio::test]
async fn exactly_one_valid_credential_is_required() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let token = ann.access_token.expose();
    let bearer = format!("authorization: Bearer {token}\r\n");
    for (path, head, status) in [
        (format!("{CANDLES}&access_token={token}"), bearer.as_str(), 400),
        (format!("{CANDLES}&access_token={token}&access_token={token}"), "", 400),
        (format!("{CANDLES}&access_token="), "", 400),
        (format!("{CANDLES}&access_token=ap_nobody"), "", 401),
        (CANDLES.to_owned(), "", 401),
        (CANDLES.to_owned(), bearer.as_str(), 200),
    ] {
        let answer = server.http("GET", &path, head, b"").await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(!answer.text().contains(token) && !answer.text().contains("ap_nobody"), "{}", answer.text());
        is_open(&answer);
    }
    let filter = AuditFilter { event: Some("login.refused"), limit: 100, ..AuditFilter::default() };
    let rows = server.access.audit(&filter).unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(!format!("{rows:?}").contains("ap_nobody"), "{rows:?}");
}

#[tokio::test]
async fn no_other_endpoint_accepts_a_token_in_the_url() {
    let server = Running::start().await;
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", Terms::default()) };
    let op = server.access.create(&new, &Actor::Operator, NOW).unwrap();
    let token = op.access_token.expose();
    for path in [
        "/v1/me",
        "/v1/quota",
        "/v1/connections",
        "/v1/admin/accounts",
        "/v1/socket/token",
        "/v1/securities",
        "/v1/coverage",
        "/v1/sign-ins",
    ] {
        let answer = server.http("GET", &format!("{path}?access_token={token}"), "", b"").await;
        assert_eq!((answer.status, answer.json()["code"].as_u64()), (401, Some(401_004)), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    let mirror = format!("/quote/history-candlesticks?access_token={token}");
    assert_eq!(server.http("POST", &mirror, "", b"{}").await.status, 401);
}

#[tokio::test]
async fn a_preflight_lists_the_allowed_methods_and_headers() {
    let server = Running::start().await;
    let head = "origin: https://charts.example.org\r\naccess-control-request-method: GET\r\n\
                access-control-request-headers: authorization\r\n";
    let path = CANDLES.split('?').next().unwrap();
    let answer = server.http("OPTIONS", path, head, b"").await;
    assert_eq!(answer.status, 204);
    is_open(&answer);
    assert_eq!(answer.header("access-control-allow-headers"), Some("authorization, accept, range, if-range"));
    assert_eq!(answer.header("access-control-allow-methods"), Some("get, head"));
    let closed = server.http("OPTIONS", "/v1/quota", head, b"").await;
    assert_eq!((closed.status, closed.header("access-control-allow-origin")), (204, None));
}
