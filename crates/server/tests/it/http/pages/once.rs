//! One-time links, which sign in a user of this machine once, and no other client.

use access::AuditFilter;
use server::Settings;

use super::*;

/// Headers that browsers send when the user opens a page.
const OPENS: &str = "sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: none\r\n";
const NEXT: &str = "/?symbol=700.HK";
const USED: &str = "The link was used before.";
const PROXIED: &str = "not through a proxy and not under another name";

/// Issues a link and returns it without the server's address.
fn link(server: &Running) -> String {
    let local = server.links.local_account().unwrap();
    let link = server.links.issue(local.id, NEXT).unwrap().unwrap();
    let at = format!("http://{}", server.addresses.http);
    link.expose().strip_prefix(&at).unwrap().to_owned()
}

async fn open(server: &Running, method: &str, path: &str, host: &str, head: &str) -> Response {
    server.raw(&format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{head}\r\n")).await
}

async fn post(server: &Running, host: &str, head: &str, fields: &[(&str, &str)]) -> Response {
    let body = encoded(fields);
    let kind = "content-type: application/x-www-form-urlencoded";
    let length = body.len();
    let head = format!("{kind}\r\ncontent-length: {length}\r\n{head}");
    server
        .raw(&format!("POST /signin/once HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{head}\r\n{body}"))
        .await
}

fn session(answer: &Response) -> Option<&str> {
    let cookie = answer.cookies.iter().find(|cookie| cookie.starts_with("chandler_session="))?;
    cookie.split(';').next()
}

#[track_caller]
fn is_refused(answer: &Response, says: &str) {
    is_page(answer);
    assert_eq!((answer.status, session(answer)), (403, None), "{}", answer.text());
    assert!(answer.text().contains(says), "{says} in {}", answer.text());
}

#[tokio::test]
async fn a_link_signs_in_the_local_operator_once() {
    let server = Running::start().await;
    let path = link(&server);
    let answer = open(&server, "GET", &path, "localhost:8080", OPENS).await;
    assert_eq!((answer.status, answer.location.as_deref()), (303, Some(NEXT)), "{}", answer.text());
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.cookies[0].contains("HttpOnly; SameSite=Lax"), "{:?}", answer.cookies);
    let cookie = format!("cookie: {}\r\n", session(&answer).unwrap());
    let me = open(&server, "GET", "/v1/me", "localhost", &cookie).await.json();
    assert_eq!((&me["data"]["account"], &me["data"]["role"]), (&"local".into(), &"operator".into()));
    let local = server.access.account_named("local").unwrap().unwrap();
    assert!(local.terms.is_unlimited());
    // Another browser cannot use the link again. The same browser is redirected to the link's page.
    is_refused(&open(&server, "GET", &path, "127.0.0.1", OPENS).await, USED);
    let again = open(&server, "GET", &path, "127.0.0.1", &format!("{OPENS}{cookie}")).await;
    assert_eq!((again.status, again.location.as_deref(), session(&again)), (303, Some(NEXT), None));
    let filter = AuditFilter { account: Some(local.id), limit: 100, ..AuditFilter::default() };
    let rows = server.access.audit(&filter).unwrap();
    let events: Vec<&str> = rows.iter().rev().map(|row| row.event.as_str()).collect();
    assert_eq!(
        events,
        ["account.created", "link.issued", "login.accepted", "login.refused", "login.refused"]
    );
    assert!(format!("{rows:?}").contains("by a one-time link, from 127.0.0.1"), "{rows:?}");
    let token = path.split_once('=').unwrap().1;
    assert!(!format!("{rows:?}").contains(token));
}

#[tokio::test]
async fn automatic_requests_do_not_use_up_the_link() {
    let server = Running::start().await;
    let path = link(&server);
    let with = |more: &str| format!("{OPENS}{more}");
    let from = |site: &str| {
        format!("sec-fetch-dest: document\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: {site}\r\n")
    };
    for (method, head) in [
        ("GET", String::new()),
        ("HEAD", OPENS.to_owned()),
        ("GET", with("sec-purpose: prefetch\r\n")),
        ("GET", with("purpose: prefetch\r\n")),
        ("GET", from("cross-site")),
        ("GET", from("same-site")),
        ("GET", "sec-fetch-dest: image\r\nsec-fetch-mode: no-cors\r\nsec-fetch-site: none\r\n".to_owned()),
    ] {
        let answer = open(&server, method, &path, "localhost", &head).await;
        assert_eq!((answer.status, session(&answer)), (200, None), "{method} {head}");
    }
    // Submitting the form on the returned page, with its CSRF token, uses the link.
    let page = open(&server, "GET", &path, "localhost", "").await;
    is_page(&page);
    let (csrf, token) = (hidden(&page, "csrf"), hidden(&page, "token"));
    let visitor = format!("cookie: {}\r\n", page.cookies[0].split(';').next().unwrap());
    for (csrf, head) in [("", visitor.as_str()), ("x", visitor.as_str()), (csrf.as_str(), "")] {
        let refused = post(&server, "localhost", head, &[("csrf", csrf), ("token", &token)]).await;
        assert_eq!((refused.status, session(&refused)), (403, None), "{csrf} {head}");
    }
    let fields = [("csrf", csrf.as_str()), ("token", token.as_str())];
    let foreign = format!("{visitor}origin: https://example.org\r\n");
    assert_eq!(post(&server, "localhost", &foreign, &fields).await.status, 403);
    let done = post(&server, "localhost", &visitor, &fields).await;
    assert_eq!((done.status, done.location.as_deref()), (303, Some(NEXT)), "{}", done.text());
    assert!(session(&done).is_some());
    is_refused(&post(&server, "localhost", &visitor, &fields).await, USED);
}

#[tokio::test]
async fn a_link_is_refused_through_a_proxy_and_stays_valid() {
    let server = Running::start().await;
    let path = link(&server);
    let with = |more: &str| format!("{OPENS}{more}");
    for (host, head) in [
        ("192.168.0.7:8080", OPENS.to_owned()),
        ("rebound.example.org:8080", OPENS.to_owned()),
        ("localhost", with("x-forwarded-for: 192.0.2.1\r\n")),
        ("localhost", with("forwarded: for=192.0.2.1\r\n")),
        ("localhost", with("via: 1.1 proxy\r\n")),
    ] {
        is_refused(&open(&server, "GET", &path, host, &head).await, PROXIED);
        is_refused(&post(&server, host, &head, &[("csrf", ""), ("token", "x")]).await, PROXIED);
    }
    // Proxies send HTTP/1.0 by default.
    is_refused(&server.raw(&format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n{OPENS}\r\n")).await, PROXIED);
    assert_eq!(open(&server, "GET", &path, "localhost", OPENS).await.status, 303);
}

#[tokio::test]
async fn links_that_are_forged_or_from_a_stopped_server_are_refused() {
    let server = Running::start().await;
    let path = link(&server);
    let unknown = "The link was not made by this server";
    for forged in ["/signin/once", "/signin/once?token=", "/signin/once?token=x", &format!("{path}A")] {
        is_refused(&open(&server, "GET", forged, "localhost", OPENS).await, unknown);
    }
    let twice = open(&server, "GET", &format!("{path}&token=x"), "localhost", OPENS).await;
    assert_eq!((twice.status, session(&twice)), (400, None));
    let server = Running::start_in(server.stop().await, Settings::default()).await;
    let stopped = open(&server, "GET", &path, "localhost", OPENS).await;
    is_refused(&stopped, "The server that made the link has stopped");
    let chinese = format!("{OPENS}accept-language: zh-HK\r\n");
    is_refused(&open(&server, "GET", &path, "localhost", &chinese).await, "伺服器已停止");
}

#[tokio::test]
async fn the_sign_in_page_mentions_links_only_on_the_servers_machine() {
    let server = Running::start().await;
    let hint = "run “chandler open” on this machine";
    assert!(open(&server, "GET", "/signin", "localhost", OPENS).await.text().contains(hint));
    for (host, head) in [("candles.example.com", ""), ("localhost", "x-forwarded-for: 192.0.2.1\r\n")] {
        assert!(!open(&server, "GET", "/signin", host, head).await.text().contains(hint), "{host}");
    }
}

#[tokio::test]
async fn a_server_for_other_machines_has_no_links() {
    let trusted = vec!["10.0.0.1".parse().unwrap()];
    let public = Some("http://candles.example.com".parse().unwrap());
    for settings in [
        Settings { trusted_proxies: trusted, ..Settings::default() },
        Settings { public_url: public, ..Settings::default() },
        Settings { internal: Some("127.0.0.1:0".parse().unwrap()), ..Settings::default() },
    ] {
        let server = Running::start_with(settings).await;
        let local = server.links.local_account().unwrap();
        assert!(server.links.issue(local.id, "/").unwrap().is_none());
        let answer = open(&server, "GET", "/signin/once?token=x", "localhost", OPENS).await;
        is_refused(&answer, "only on the machine of the server");
    }
}
