//! Browser sessions as credentials: which endpoints accept them, what else a request needs, and how
//! sessions end.

use access::{AuditFilter, NewAccount, Role};
use serde_json::json;

use super::*;

fn operator(server: &Running, name: &str) -> Created {
    let new = NewAccount { role: Role::Operator, ..NewAccount::named(name, Terms::default()) };
    let created = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    let password = Secret::new(PASSWORD.to_owned());
    server.access.set_password(created.account_id, &password, &Actor::Operator, machine_now()).unwrap();
    created
}

async fn csrf_token(browser: &mut Browser<'_>) -> String {
    let me = browser.get("/v1/me").await.json();
    me["data"]["csrf"].as_str().unwrap_or_else(|| panic!("{me}")).to_owned()
}

#[track_caller]
fn is_refused(answer: &Response, status: u16, code: u64) {
    assert_eq!((answer.status, answer.json()["code"].as_u64()), (status, Some(code)), "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn a_session_is_valid_only_for_page_endpoints() {
    let (server, _) = house().await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let me = browser.get("/v1/me").await.json();
    assert_eq!((&me["data"]["account"], &me["data"]["role"]), (&json!("ann"), &json!("user")));
    assert_eq!(csrf_token(&mut browser).await, me["data"]["csrf"].as_str().unwrap());
    let candles = browser.get("/v1/quote/history-candlesticks?symbol=700.HK&limit=1").await;
    assert_eq!((candles.status, candles.header("x-quota-used")), (200, Some("1")), "{}", candles.text());
    for path in ["/v1/quota", "/v1/connections", "/v1/sign-ins", "/v1/securities", "/v1/quote/my-quotes"] {
        assert_eq!(browser.get(path).await.status, 200, "{path}");
    }
    for path in ["/v1/socket/token", "/v2/socket/token", "/v1/token/refresh", "/v1/quote/cmd"] {
        is_refused(&browser.get(path).await, 401, 401_004);
    }
    let csrf = format!("x-csrf: {}\r\n", csrf_token(&mut browser).await);
    is_refused(&browser.ask("POST", "/quote/static-info", &csrf, "{}").await, 401, 401_004);
    is_refused(&server.http("GET", "/v1/me", "", b"").await, 401, 401_004);
    // Requests with an access token need no CSRF token.
    let created = server.account("bob", Terms::default());
    assert_eq!(server.get("/v1/me", &created).await.json()["data"]["csrf"], Value::Null);
}

#[tokio::test]
async fn journal_replays_are_rate_limited() {
    let (server, _) = house().await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    for _ in 0..60 {
        assert_ne!(browser.get("/v1/asset/equity").await.status, 429);
    }
    let answer = browser.get("/v1/trade/order/why?order_id=1").await;
    assert_eq!((answer.status, answer.json()["code"].as_u64()), (429, Some(429_002)), "{}", answer.text());
    assert_ne!(browser.get("/v1/asset/fund").await.status, 429);
}

#[tokio::test]
async fn no_change_is_accepted_without_the_csrf_token() {
    let (server, ann) = house().await;
    person(&server, "bob");
    let mut browser = Browser::signed_in(&server, "ann").await;
    let (right, others) =
        (csrf_token(&mut browser).await, csrf_token(&mut Browser::signed_in(&server, "bob").await).await);
    let body = r#"{"symbols":["700.HK"]}"#;
    for head in [
        String::new(),
        "x-csrf: \r\n".to_owned(),
        "x-csrf: wrong\r\n".to_owned(),
        format!("x-csrf: {others}\r\n"),
        format!("x-csrf: {right}\r\nx-csrf: {right}\r\n"),
    ] {
        is_refused(&browser.ask("POST", "/v1/quota/preview", &head, body).await, 403, 403_008);
        is_refused(&browser.ask("DELETE", "/v1/connections/1", &head, "").await, 403, 403_008);
    }
    let head = format!("x-csrf: {right}\r\n");
    assert_eq!(browser.ask("POST", "/v1/quota/preview", &head, body).await.status, 200);
    assert_eq!(browser.ask("DELETE", "/v1/connections/1", &head, "").await.status, 404);
    // An access token in a header needs no CSRF token, because a page on another site cannot send
    // the header.
    let token = format!("authorization: Bearer {}\r\n", ann.access_token.expose());
    assert_eq!(browser.ask("POST", "/v1/quota/preview", &token, body).await.status, 200);
}

#[tokio::test]
async fn other_sites_cannot_use_the_session_of_a_browser() {
    let (server, _) = house().await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let csrf = csrf_token(&mut browser).await;
    for (site, status) in
        [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("x", 403)]
    {
        let head = format!("sec-fetch-site: {site}\r\nx-csrf: {csrf}\r\n");
        for (method, path, body) in [
            ("GET", "/v1/me", ""),
            ("GET", "/v1/quote/history-candlesticks?symbol=700.HK&limit=1", ""),
            ("POST", "/v1/quota/preview", r#"{"symbols":[]}"#),
        ] {
            let answer = browser.ask(method, path, &head, body).await;
            assert_eq!(answer.status, status, "{site} {path}: {}", answer.text());
            if status == 403 {
                is_refused(&answer, 403, 403_008);
            }
        }
    }
}

#[tokio::test]
async fn sign_out_password_change_and_revocation_end_sessions() {
    let (server, ann) = house().await;
    let mut first = Browser::signed_in(&server, "ann").await;
    let stored = first.cookies.clone();
    let page = first.get("/signin").await;
    let csrf = page.text().split("action=\"/signout\"").nth(1).unwrap();
    let csrf = csrf.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(
        first.post("/signout", &[("csrf", &csrf), ("next", "/")]).await.location.as_deref(),
        Some("/")
    );
    first.cookies = stored;
    is_refused(&first.get("/v1/me").await, 401, 401_004);

    let mut second = Browser::signed_in(&server, "ann").await;
    assert_eq!(second.get("/v1/me").await.status, 200);
    let password = Secret::new("another one entirely".to_owned());
    server.access.set_password(ann.account_id, &password, &Actor::Operator, machine_now()).unwrap();
    is_refused(&second.get("/v1/me").await, 401, 401_004);

    let bob = person(&server, "bob");
    let mut third = Browser::signed_in(&server, "bob").await;
    assert_eq!(third.get("/v1/quota").await.status, 200);
    server.access.revoke(bob.account_id, &Actor::Operator, "", machine_now()).unwrap();
    is_refused(&third.get("/v1/quota").await, 401, 401_004);
}

#[tokio::test]
async fn an_operators_session_has_an_operators_rights() {
    let (server, _) = house().await;
    operator(&server, "olga");
    let mut ann = Browser::signed_in(&server, "ann").await;
    let mut olga = Browser::signed_in(&server, "olga").await;
    assert_eq!(olga.get("/v1/me").await.json()["data"]["role"], "operator");
    for path in [
        "/v1/admin/accounts",
        "/v1/connections?account=all",
        "/v1/quota?account=ann",
        "/v1/imports",
        "/v1/quarantine",
    ] {
        assert_eq!(olga.get(path).await.status, 200, "{path}");
        let own = path == "/v1/quota?account=ann";
        if !own {
            is_refused(&ann.get(path).await, 403, 403_008);
        }
    }
    let head = format!("x-csrf: {}\r\n", csrf_token(&mut olga).await);
    let answer =
        olga.ask("POST", "/v1/admin/accounts/ann/rights", &head, r#"{"package":"US_OPTIONS"}"#).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn an_unknown_cookie_is_audited_as_a_refused_login() {
    let (server, _) = house().await;
    let refused = |server: &Running| {
        let filter = AuditFilter { event: Some("login.refused"), limit: 100, ..AuditFilter::default() };
        server.access.audit(&filter).unwrap()
    };
    for path in ["/v1/me", "/", "/quota", "/v1/quote/history-candlesticks"] {
        server.http("GET", path, "", b"").await;
    }
    assert!(refused(&server).is_empty());
    let head = "cookie: chandler_session=a-cookie-that-nobody-has\r\n";
    is_refused(&server.http("GET", "/v1/me", head, b"").await, 401, 401_004);
    let rows = refused(&server);
    assert_eq!(rows.len(), 1);
    assert!(!format!("{rows:?}").contains("nobody-has"), "{rows:?}");
    let long = format!("cookie: chandler_session={}\r\n", "x".repeat(4_000));
    is_refused(&server.http("GET", "/v1/me", &long, b"").await, 401, 401_004);
}

#[tokio::test]
async fn a_session_is_accepted_by_same_origin_datafeeds_only() {
    let (server, _) = house().await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let path = "/udf/history?symbol=700.HK&resolution=1D&to=1794708000&countback=1";
    let ours = browser.ask("GET", path, "sec-fetch-site: same-origin\r\n", "").await;
    assert_eq!((ours.status, &ours.json()["s"]), (200, &json!("ok")));
    let elsewhere = browser.ask("GET", path, "sec-fetch-site: cross-site\r\n", "").await;
    assert_eq!((elsewhere.status, &elsewhere.json()["s"]), (403, &json!("error")));
}
