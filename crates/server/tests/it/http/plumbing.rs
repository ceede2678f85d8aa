//! HTTP basics: unusual but valid requests, invalid requests, and limits.

use std::collections::HashSet;

use access::{Created, Terms};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{PATIENCE, Response, Running, pass};

fn bearer(account: &Created) -> String {
    format!("authorization: Bearer {}\r\n", account.access_token.expose())
}

/// Sends raw bytes and reads until the server closes the connection.
async fn raw(server: &Running, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.addresses.http).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut bytes = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn refused(answer: &Response) -> (u16, i64) {
    (answer.status, answer.json()["code"].as_i64().unwrap())
}

#[tokio::test]
async fn only_credential_headers_must_be_unique() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let twice = format!("{}user-agent: cli/1\r\nuser-agent: openapi-sdk\r\n", bearer(&account));
    assert_eq!(server.http("GET", "/v1/quote/cmd", &twice, b"").await.status, 200);
    for name in ["authorization", "x-api-key", "x-timestamp", "x-api-signature"] {
        let head = format!("{}{name}: a\r\n{name}: a\r\n", bearer(&account));
        let answer = server.http("GET", "/v1/quote/cmd", &head, b"").await;
        assert_eq!(refused(&answer), (400, 400), "{name}");
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert_eq!(message, format!("the header {name} is given more than once"));
    }
}

#[tokio::test]
async fn not_found_is_reported_in_the_envelope() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for path in [
        "/nothing",
        "/v1/quote",
        "/v3/socket/token",
        "/quote/",
        "/health/",
        "/%2e%2e/health",
        "/quote/history-candlesticks/x",
    ] {
        let answer = server.get(path, &account).await;
        assert_eq!(refused(&answer), (404, 404), "{path}");
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    }
    for (method, path, allow) in [
        ("GET", "/quote/history-candlesticks", "post, options"),
        ("POST", "/v1/quote/history-candlesticks", "get, head, options"),
        ("DELETE", "/health", "get, head, options"),
        ("BREW", "/health", "get, head, options"),
    ] {
        let answer = server.http(method, path, "", b"").await;
        assert_eq!(refused(&answer), (405, 405), "{method} {path}");
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
}

#[tokio::test]
async fn head_and_options_are_supported() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let path = "/v1/quote/history-candlesticks?symbol=700.HK";
    let (head, get) =
        (server.http("HEAD", path, &bearer(&account), b"").await, server.get(path, &account).await);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), get.header("content-length"));
    assert_eq!(head.header("x-ratelimit-remaining"), Some("59"));
    for (path, allow) in [
        ("/quote/quotes", "post, options"),
        ("/v1/socket/token", "get, head, options"),
        ("*", "get, head, post, put, delete, options"),
    ] {
        let answer = server.http("OPTIONS", path, "", b"").await;
        assert_eq!((answer.status, answer.header("allow")), (204, Some(allow)), "{path}");
        assert!(answer.body.is_empty() && answer.header("x-trace-id").is_some());
    }
    assert_eq!(refused(&server.http("OPTIONS", "/nothing", "", b"").await), (404, 404));
}

#[tokio::test]
async fn an_empty_query_and_extra_slashes_change_nothing() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for path in ["/v1/quote/cmd?", "//v1/quote/cmd", "//v1/quote/cmd?", "/v1/quote/cmd?cmd=kline"] {
        assert_eq!(server.get(path, &account).await.status, 200, "{path}");
    }
    let absolute = "GET http://test/health HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    assert!(raw(&server, absolute.as_bytes()).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn every_response_has_a_unique_trace_id() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut seen = HashSet::new();
    for path in ["/health", "/v1/socket/token", "/nothing", "/v1/quote/cmd", "/openapi.json", "/quote/depth"]
    {
        let trace = server.get(path, &account).await.header("x-trace-id").unwrap().to_owned();
        assert!(trace.len() >= 24 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()), "{trace}");
        assert!(seen.insert(trace), "{path}");
    }
}

#[tokio::test]
async fn http_1_0_and_keep_alive_clients_are_served() {
    let server = Running::start().await;
    let old = raw(&server, b"GET /health HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n") && old.ends_with("\r\n\r\nsuccess"), "{old}");
    let two = b"GET /health HTTP/1.1\r\nhost: test\r\n\r\nGET /nothing HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    let both = raw(&server, two).await;
    assert_eq!(both.matches("HTTP/1.1 ").count(), 2);
    assert!(both.contains("200 OK") && both.contains("404 Not Found"), "{both}");
}

#[tokio::test]
async fn the_body_size_is_limited() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let longest = format!(r#"{{"symbol":["700.HK"],"x":"{}"}}"#, " ".repeat((256 << 10) - 28));
    assert_eq!(longest.len(), 256 << 10);
    assert_eq!(server.post("/quote/quotes", &account, &longest).await.status, 200);
    assert_eq!(refused(&server.post("/quote/quotes", &account, &format!("{longest} ")).await), (413, 413));
    // A chunked body has no declared length.
    let mut chunked = format!(
        "POST /quote/quotes HTTP/1.1\r\nhost: test\r\nconnection: close\r\ntransfer-encoding: chunked\r\n{}\r\n",
        bearer(&account)
    );
    for _ in 0..40 {
        chunked += &format!("2000\r\n{}\r\n", " ".repeat(0x2000));
    }
    let whole = chunked.clone() + "0\r\n\r\n";
    assert!(raw(&server, whole.as_bytes()).await.starts_with("HTTP/1.1 413 "), "40 pieces of 8 KiB");
    // A client that sends `Expect: 100-continue` need not send the body.
    let request =
        "POST /quote/quotes HTTP/1.1\r\nhost: test\r\nexpect: 100-continue\r\ncontent-length: 300000\r\n\r\n";
    let answer = raw(&server, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("connection: close"), "{answer}");
    let endless = "POST /quote/quotes HTTP/1.1\r\nhost: test\r\ncontent-length: 99999999999\r\n\r\n";
    assert!(raw(&server, endless.as_bytes()).await.starts_with("HTTP/1.1 413 "));
}

#[tokio::test]
async fn the_head_size_is_limited() {
    let server = Running::start().await;
    let long = format!("GET /health HTTP/1.1\r\nhost: test\r\nx-long: {}\r\n", "x".repeat(33 << 10));
    assert!(raw(&server, long.as_bytes()).await.starts_with("HTTP/1.1 431 "));
    let many = format!("GET /health HTTP/1.1\r\nhost: test\r\n{}\r\n", "a: b\r\n".repeat(120));
    assert!(raw(&server, many.as_bytes()).await.starts_with("HTTP/1.1 431 "));
    let garbage = raw(&server, b"\x16\x03\x01\x02\x00\x01\r\n\r\n").await;
    assert!(garbage.is_empty() || garbage.starts_with("HTTP/1.1 400 "), "{garbage}");
    let smuggled =
        "POST /health HTTP/1.1\r\nhost: test\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd";
    assert!(raw(&server, smuggled.as_bytes()).await.starts_with("HTTP/1.1 400 "));
    // The server still serves requests after all of these refusals.
    assert_eq!(server.http("GET", "/health", "", b"").await.status, 200);
}

#[tokio::test]
async fn an_incomplete_head_or_body_times_out() {
    let server = Running::start().await;
    let mut head = TcpStream::connect(server.addresses.http).await.unwrap();
    head.write_all(b"GET /health HTTP/1.1\r\nhost: te").await.unwrap();
    let mut body = TcpStream::connect(server.addresses.http).await.unwrap();
    body.write_all(b"POST /quote/quotes HTTP/1.1\r\nhost: test\r\ncontent-length: 10\r\n\r\n{")
        .await
        .unwrap();
    // The server accepts connections in order, so both connections were accepted when this request
    // is answered.
    assert_eq!(server.http("GET", "/health", "", b"").await.status, 200);
    pass(31).await;
    let mut bytes = Vec::new();
    timeout(PATIENCE, body.read_to_end(&mut bytes)).await.expect("the connection ends").unwrap();
    let answer = String::from_utf8(bytes).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains(r#""code":408"#), "{answer}");
    let mut bytes = Vec::new();
    timeout(PATIENCE, head.read_to_end(&mut bytes)).await.expect("the connection ends").unwrap();
    assert!(!String::from_utf8(bytes).unwrap().contains("200"));
}

#[tokio::test]
async fn the_missing_icon_is_cacheable() {
    let server = Running::start().await;
    let answer = server.http("GET", "/favicon.ico", "", b"").await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    assert_eq!(answer.header("cache-control"), Some("public, max-age=86400"));
}

#[tokio::test]
async fn refused_credentials_are_audited_without_their_value() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let refused = || {
        let filter = access::AuditFilter { event: Some("login.refused"), limit: 10, ..Default::default() };
        server.access.audit(&filter).unwrap()
    };
    let token = account.access_token.expose();
    for (head, status) in [
        (String::new(), 401),
        ("authorization: Bearer ap_guessed\r\n".to_owned(), 401),
        (format!("authorization: {token}\r\n"), 403),
    ] {
        assert_eq!(server.http("GET", "/v1/quota", &head, b"").await.status, status);
    }
    let rows = refused();
    let accounts: Vec<_> = rows.iter().rev().map(|row| row.account).collect();
    assert_eq!(accounts, [None, Some(account.account_id)], "{rows:?}");
    assert!(rows.iter().all(|row| row.actor == "address 127.0.0.1"), "{rows:?}");
    let text = format!("{rows:?}");
    assert!(!text.contains("ap_guessed") && !text.contains(token), "{text}");
}
