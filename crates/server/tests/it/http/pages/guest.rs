//! Demo mode, in which a user who opens a page on the same machine is signed in as a guest. No
//! other client is signed in.

use access::{AuditFilter, NewAccount, Role};
use server::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// Headers that browsers send when the user opens a page.
const OPENS: &str = "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: none\r\n";

/// Starts a server with a guest account and the given settings.
async fn demonstration(settings: Settings) -> Running {
    let dir = Running::start().await.stop().await;
    let access = access::Access::open(dir.path(), machine_now()).unwrap();
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("demo", Terms::default()) };
    let demo = access.create(&new, &Actor::Operator, machine_now()).unwrap();
    Running::start_in(dir, Settings { guest: Some(demo.account_id), ..settings }).await
}

/// Sends one request with a given `Host` and extra headers.
async fn open(server: &Running, method: &str, path: &str, host: &str, head: &str) -> Response {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{head}\r\n");
    send(server, &request).await
}

async fn send(server: &Running, request: &str) -> Response {
    let mut stream = tokio::net::TcpStream::connect(server.addresses.http).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    Response::parse(request.as_bytes(), &bytes)
}

fn accepted(server: &Running) -> Vec<access::AuditRow> {
    let filter = AuditFilter { event: Some("login.accepted"), limit: 100, ..AuditFilter::default() };
    server.access.audit(&filter).unwrap()
}

#[tokio::test]
async fn a_user_who_opens_a_page_on_this_machine_is_signed_in() {
    let server = demonstration(Settings::default()).await;
    for (path, host) in
        [("/", "127.0.0.1:8080"), ("/coverage", "localhost"), ("/?symbol=700.HK", "[::1]:8080")]
    {
        let answer = open(&server, "GET", path, host, OPENS).await;
        assert_eq!((answer.status, answer.cookies.len()), (200, 1), "{path}");
        let cookie = answer.cookies[0].split(';').next().unwrap();
        assert!(answer.cookies[0].contains("HttpOnly; SameSite=Lax"), "{:?}", answer.cookies);
        // A response that sets a cookie must not be cached.
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        let head = format!("{OPENS}cookie: {cookie}\r\n");
        let me = open(&server, "GET", "/v1/me", host, &head).await.json();
        assert_eq!(
            (me["data"]["account"].as_str(), me["data"]["role"].as_str()),
            (Some("demo"), Some("operator"))
        );
        // A user who is already signed in keeps the session.
        let again = open(&server, "GET", path, host, &head).await;
        assert_eq!((again.cookies.len(), again.header("cache-control")), (0, Some("no-cache")));
    }
    let rows = accepted(&server);
    assert_eq!(rows.len(), 3);
    let metrics = open(&server, "GET", "/metrics", "127.0.0.1", "").await;
    let counted = "chandler_sign_ins_total{door=\"page\",outcome=\"accepted\"} 3\n";
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    assert!(format!("{rows:?}").contains("as a guest, without a password, from 127.0.0.1"), "{rows:?}");
}

#[tokio::test]
async fn no_other_request_starts_a_session() {
    let server = demonstration(Settings::default()).await;
    for (method, path, host, head) in [
        // An attacker has pointed a host name at this machine.
        ("GET", "/", "rebound.example.org:8080", OPENS),
        ("GET", "/", "127.0.0.1.example.org", OPENS),
        ("GET", "/", "192.168.0.7:8080", OPENS),
        // The client is behind a proxy on this machine.
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: none\r\nx-forwarded-for: 192.0.2.1\r\n",
        ),
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: none\r\nforwarded: for=192.0.2.1\r\n",
        ),
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: none\r\nvia: 1.1 proxy\r\n",
        ),
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: none\r\ncf-connecting-ip: 192.0.2.1\r\n",
        ),
        // An image, a frame or a script on another site's page sends the request, or a program that
        // probes the server.
        ("GET", "/", "127.0.0.1", "sec-fetch-dest: image\r\n"),
        ("GET", "/", "127.0.0.1", "sec-fetch-dest: iframe\r\n"),
        ("GET", "/", "127.0.0.1", "sec-fetch-dest: empty\r\n"),
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: none\r\n",
        ),
        // A link, a window or a form on another site sends the request, or a script that claims to
        // fetch a document, or the request has no `Sec-Fetch` headers.
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: cross-site\r\n",
        ),
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: same-site\r\n",
        ),
        (
            "GET",
            "/",
            "127.0.0.1",
            "sec-fetch-dest: document\r\nsec-fetch-mode: no-cors\r\nsec-fetch-site: none\r\n",
        ),
        ("GET", "/", "127.0.0.1", "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\n"),
        ("GET", "/", "127.0.0.1", "sec-fetch-dest: document\r\nsec-fetch-site: none\r\n"),
        ("GET", "/", "127.0.0.1", ""),
        ("HEAD", "/", "127.0.0.1", OPENS),
        ("GET", "/signin", "127.0.0.1", OPENS),
        ("GET", "/v1/me", "127.0.0.1", OPENS),
        ("GET", "/assets/pages.css", "127.0.0.1", OPENS),
    ] {
        let answer = open(&server, method, path, host, head).await;
        let session = answer.cookies.iter().any(|cookie| cookie.starts_with("chandler_session"));
        assert!(!session, "{method} {path} {host} {head}");
    }
    let old = send(&server, &format!("GET / HTTP/1.0\r\nhost: 127.0.0.1\r\n{OPENS}\r\n")).await;
    assert_eq!((old.status, old.cookies.len()), (200, 0), "as nginx asks, unless it is told otherwise");
    assert!(accepted(&server).is_empty());
}

#[tokio::test]
async fn guests_need_the_setting_and_no_trusted_proxy() {
    let trusted = vec!["10.0.0.1".parse().unwrap()];
    for server in [
        Running::start().await,
        demonstration(Settings { trusted_proxies: trusted, ..Settings::default() }).await,
    ] {
        let answer = open(&server, "GET", "/", "127.0.0.1", OPENS).await;
        assert_eq!((answer.status, answer.cookies.len()), (200, 0));
    }
}

#[tokio::test]
async fn a_revoked_guest_is_unauthenticated() {
    let server = demonstration(Settings::default()).await;
    let demo = server.access.account_named("demo").unwrap().unwrap();
    server.access.revoke(demo.id, &Actor::Operator, "", machine_now()).unwrap();
    let answer = open(&server, "GET", "/", "127.0.0.1", OPENS).await;
    assert_eq!((answer.status, answer.cookies.len()), (200, 0));
}

#[tokio::test]
async fn a_guest_can_sign_in_again_without_a_password() {
    let server = demonstration(Settings::default()).await;
    let wanted = "/?symbol=700.HK";
    let opened = |head: &str, cookies: &str| format!("{head}cookie: {cookies}\r\n");
    let page =
        open(&server, "GET", &format!("/signin?{}", encoded(&[("next", wanted)])), "localhost", OPENS).await;
    is_page(&page);
    assert!(page.text().contains("Continue without a password"), "{}", page.text());
    let visitor = page.cookies[0].split(';').next().unwrap();
    let csrf = hidden(&page, "csrf");
    let post = |csrf: &str, head: &str| {
        let body = encoded(&[("csrf", csrf), ("next", wanted), ("guest", "1")]);
        let kind = "content-type: application/x-www-form-urlencoded";
        let length = body.len();
        format!(
            "POST /signin HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{kind}\r\ncontent-length: {length}\r\n{head}\r\n{body}"
        )
    };
    // The sign-in fails without the form's CSRF token, and from another machine.
    for (csrf, head) in [
        ("x", opened(OPENS, visitor)),
        (csrf.as_str(), OPENS.to_owned()),
        (csrf.as_str(), opened("sec-fetch-dest: empty\r\n", visitor)),
        (csrf.as_str(), opened(&format!("{OPENS}x-forwarded-for: 192.0.2.1\r\n"), visitor)),
    ] {
        let refused = send(&server, &post(csrf, &head)).await;
        assert!([403, 503].contains(&refused.status), "{head}: {}", refused.status);
        assert!(!refused.head.contains("chandler_session"), "{head}");
    }
    assert!(accepted(&server).is_empty());
    let back = send(&server, &post(&csrf, &opened(OPENS, visitor))).await;
    assert_eq!((back.status, back.location.as_deref()), (303, Some(wanted)), "{}", back.text());
    let session = back.cookies[0].split(';').next().unwrap();
    let me = open(&server, "GET", "/v1/me", "localhost", &opened(OPENS, session)).await.json();
    assert_eq!(me["data"]["account"], "demo");
    assert_eq!(accepted(&server).len(), 1);
}

#[tokio::test]
async fn other_clients_are_not_offered_a_sign_in_without_a_password() {
    let (server, demo) = (Running::start().await, demonstration(Settings::default()).await);
    for (server, host, head) in [
        (&server, "localhost", OPENS),
        (&demo, "localhost", ""),
        (&demo, "rebound.example.org", OPENS),
        (&demo, "localhost", "sec-fetch-dest: document\r\nx-forwarded-for: 192.0.2.1\r\n"),
    ] {
        let page = open(server, "GET", "/signin", host, head).await;
        assert!(page.text().contains("name=\"password\""));
        assert!(!page.text().contains("name=\"guest\""), "{host} {head}");
    }
}
