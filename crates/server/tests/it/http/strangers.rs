//! Unauthenticated clients: body limits, connection limits, and strict parsing of heads.

use access::Terms;
use server::{Limits, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{PATIENCE, Running};

async fn connect(server: &Running) -> TcpStream {
    TcpStream::connect(server.addresses.http).await.unwrap()
}

/// Reads until the server closes the connection. After a refusal, the server may also reset the
/// connection while the client is still writing.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("the connection ends").ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn status(server: &Running, request: &str) -> String {
    let mut stream = connect(server).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = rest(&mut stream).await;
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn heads_are_limited_in_size_and_require_crlf() {
    let server = Running::start().await;
    let padded = |size: usize| {
        let frame = "GET /health HTTP/1.1\r\nhost: test\r\nconnection: close\r\nx-long: \r\n\r\n".len();
        let long = "x".repeat(size - frame);
        format!("GET /health HTTP/1.1\r\nhost: test\r\nconnection: close\r\nx-long: {long}\r\n\r\n")
    };
    for (request, expected) in [
        (padded(16 << 10), "200"),
        (padded(32 << 10), "200"),
        (padded((32 << 10) + 1), "431"),
        (padded(40 << 10), "431"),
        (padded(63 << 10), "431"),
        (padded(200 << 10), "431"),
        ("GET /health HTTP/1.1\nhost: test\nconnection: close\n\n".to_owned(), "400"),
        ("GET /health HTTP/1.1\r\nhost: test\nconnection: close\r\n\r\n".to_owned(), "400"),
        ("GET /health HTTP/1.1\nhost: test\r\nconnection: close\r\n\r\n".to_owned(), "400"),
        ("\r\nGET /health HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n".to_owned(), "200"),
        // The end of a body must be unambiguous, because an ignored length would hide the next
        // head.
        (format!("POST /health HTTP/1.1\r\nhost: test\r\ncontent-length:{}0\r\n\r\n", " ".repeat(60)), "400"),
        // Line endings are also checked in the second request on a connection, after any body.
        (
            "POST /health HTTP/1.1\r\nhost: test\r\ncontent-length: 3\r\n\r\n\n\n\nGET /health HTTP/1.1\nhost: test\n\n"
                .to_owned(),
            "405",
        ),
    ] {
        let shown: String = request.chars().take(60).collect();
        assert_eq!(status(&server, &request).await, expected, "{shown:?} of {} bytes", request.len());
    }
    let mut stream = connect(&server).await;
    let two = "POST /health HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n2\r\n\n\n\r\n0\r\n\r\n\
               GET /health HTTP/1.1\nhost: test\n\n";
    stream.write_all(two.as_bytes()).await.unwrap();
    let answers = rest(&mut stream).await;
    assert!(answers.starts_with("HTTP/1.1 405 ") && answers.contains("HTTP/1.1 400 "), "{answers}");
    // A refused upgrade closes the connection, so that no request can be smuggled behind it.
    let upgrade =
        "GET /health HTTP/1.1\r\nhost: test\r\nupgrade: h2c\r\n\r\nGET /health HTTP/1.1\nhost: test\n\n";
    let mut stream = connect(&server).await;
    stream.write_all(upgrade.as_bytes()).await.unwrap();
    let answer = rest(&mut stream).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn bodies_of_unauthenticated_clients_are_limited() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let bearer = format!("authorization: Bearer {}\r\n", account.access_token.expose());
    let ask = |path: &str, head: &str, length: usize| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}\r\n{head}\r\n{}",
            " ".repeat(length)
        )
    };
    let json = "content-type: application/json\r\n";
    let guessed = "authorization: Bearer ap_guessed\r\n";
    let unknown_key = "authorization: ap_guessed\r\nx-api-key: nobody\r\nx-api-signature: x\r\n";
    for (path, head, length, expected) in [
        // Public endpoints read only as much as they may need.
        ("/oauth2/register", json, 64 << 10, "400"),
        ("/oauth2/register", json, (72 << 10) + 1, "413"),
        ("/oauth2/token", "", 200 << 10, "413"),
        ("/signin", "", 200 << 10, "413"),
        // Other endpoints read no body, so the size makes no difference.
        ("/quote/quotes", "", 10, "401"),
        ("/quote/quotes", "", 250 << 10, "401"),
        ("/quote/quotes", guessed, 250 << 10, "401"),
        ("/quote/quotes", unknown_key, 250 << 10, "403"),
        ("/v1/admin/reported-orders", "", 250 << 10, "401"),
        ("/v1/admin/orders", "", 250 << 10, "410"),
        ("/nowhere", "", 250 << 10, "404"),
        // With a token the full body is read, even for the first request.
        ("/quote/quotes", &bearer, 250 << 10, "400"),
        ("/quote/quotes", &bearer, (256 << 10) + 1, "413"),
    ] {
        assert_eq!(status(&server, &ask(path, head, length)).await, expected, "{path} {head:?} {length}");
    }
}

#[tokio::test]
async fn unfinished_bodies_of_an_address_share_a_limit() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut unfinished = Vec::new();
    for _ in 0..40 {
        let mut stream = connect(&server).await;
        let head = "POST /oauth2/token HTTP/1.1\r\nhost: test\r\ncontent-length: 60001\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&[b'a'; 60_000]).await.unwrap();
        unfinished.push(stream);
    }
    // The limit of 1 MiB allows seventeen bodies, so some of the other requests are refused.
    let mut refused = 0;
    for mut stream in unfinished.split_off(20) {
        let mut head = [0; 12];
        let read = timeout(PATIENCE, stream.read_exact(&mut head)).await.expect("an answer in time");
        refused += u32::from(read.is_ok() && &head == b"HTTP/1.1 429");
    }
    assert!(refused > 0);
    // An authenticated account is not delayed by unauthenticated clients from the same address.
    assert_eq!(server.post("/quote/quotes", &account, r#"{"symbol":["700.HK"]}"#).await.status, 200);
}

#[tokio::test]
async fn authentication_frees_an_unauthenticated_slot() {
    let limits = Limits { unproven_connections: 4, ..Limits::default() };
    let server = Running::start_with(Settings { limits, ..Settings::default() }).await;
    let account = server.account("ann", Terms::default());
    // Any number of connections may be opened in turn if each connection authenticates.
    let mut authenticated = Vec::new();
    for _ in 0..10 {
        let mut stream = connect(&server).await;
        let head = format!(
            "GET /v1/me HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n\r\n",
            account.access_token.expose()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        timeout(PATIENCE, stream.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        authenticated.push(stream);
    }
    for transport in crate::support::TRANSPORTS {
        let client = server.enter(transport, &account, &[]).await;
        authenticated.push(client.stream);
    }
    // Four unauthenticated clients are served, and a fifth client once one of the four has closed.
    let mut strangers = Vec::new();
    for _ in 0..4 {
        let mut stream = connect(&server).await;
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        timeout(PATIENCE, stream.read_exact(&mut [0; 12])).await.unwrap().unwrap();
        strangers.push(stream);
    }
    let mut fifth = connect(&server).await;
    fifth.write_all(b"GET /health HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").await.unwrap();
    drop(strangers.pop());
    assert!(rest(&mut fifth).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn connections_beyond_the_account_limit_are_closed_after_the_response() {
    // The limit per account is a quarter of 64, which is sixteen.
    let server = Running::start_with(Settings { connections_max: 64, ..Settings::default() }).await;
    let account = server.account("ann", Terms::default());
    let ask = async || {
        let mut stream = connect(&server).await;
        let head = format!(
            "GET /v1/me HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n\r\n",
            account.access_token.expose()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        (stream, head.contains("connection: close"))
    };
    let mut stored = Vec::new();
    for number in 0..16 {
        let (stream, closes) = ask().await;
        assert!(!closes, "connection {number}");
        stored.push(stream);
    }
    for _ in 0..3 {
        let (mut stream, closes) = ask().await;
        assert!(closes);
        rest(&mut stream).await;
    }
    // A closed connection frees its slot as soon as the server has detected the close.
    drop(stored.pop());
    let stays = async {
        while ask().await.1 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, stays).await.unwrap();
}
