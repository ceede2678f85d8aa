//! Signing in and out, and the session cookie.

use super::*;

#[tokio::test]
async fn each_sign_in_sets_a_new_cookie() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let first = browser.sign_in("/signin", "ann", PASSWORD).await;
    assert_eq!((first.status, first.location.as_deref()), (303, Some("/")));
    let session = first.cookies.iter().find(|cookie| cookie.starts_with("chandler_session=")).unwrap();
    assert!(session.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200"), "{session}");
    let cookie = browser.cookies["chandler_session"].clone();
    assert_eq!(cookie.len(), 43);
    let page = browser.get("/signin").await;
    is_page(&page);
    assert!(page.text().contains("Signed in as ann."));
    for link in ["<header><a href=\"/\">", "<a href=\"/\">Chart</a>", "<a href=\"/quota\">", CONFIRM] {
        assert!(page.text().contains(link), "{link} in {}", page.text());
    }
    // Signing in with an existing cookie replaces the cookie.
    let mut again = Browser::new(&server);
    again.cookies.insert("chandler_session".to_owned(), "planted".to_owned());
    again.sign_in("/signin", "ann", PASSWORD).await;
    assert!(![cookie.as_str(), "planted"].contains(&again.cookies["chandler_session"].as_str()));
    let csrf = hidden(&page, "csrf");
    for wrong in ["", "x"] {
        assert_eq!(browser.post("/signout", &[("csrf", wrong)]).await.status, 403);
    }
    assert_eq!(browser.get("/signout").await.status, 405, "a link signs nobody out");
    let out = browser.post("/signout", &[("csrf", &csrf), ("next", CONFIRM)]).await;
    assert_eq!((out.status, out.location.as_deref()), (303, Some(CONFIRM)));
    assert!(!browser.cookies.contains_key("chandler_session"));
    browser.cookies.insert("chandler_session".to_owned(), cookie);
    assert!(
        browser.get("/signin").await.text().contains("name=\"password\""),
        "the cookie is worth nothing now"
    );
    assert!(again.get("/signin").await.text().contains("Signed in as ann."), "the other browser stays");
}

#[tokio::test]
async fn a_password_change_and_revocation_end_open_sessions() {
    let (server, ann) = house().await;
    let bob = person(&server, "bob");
    let (mut one, mut two) =
        (Browser::signed_in(&server, "ann").await, Browser::signed_in(&server, "bob").await);
    let password = Secret::new("another password".to_owned());
    server.access.set_password(ann.account_id, &password, &Actor::Operator, machine_now()).unwrap();
    assert!(one.get("/signin").await.text().contains("name=\"password\""));
    assert!(two.get("/signin").await.text().contains("Signed in as bob."));
    server.access.revoke(bob.account_id, &Actor::Operator, "", machine_now()).unwrap();
    assert!(two.get("/signin").await.text().contains("name=\"password\""));
    assert_eq!(two.sign_in("/signin", "bob", PASSWORD).await.status, 403);
}

#[tokio::test]
async fn unknown_names_and_wrong_passwords_get_identical_responses() {
    let (server, _) = house().await;
    server.account("eve", Terms::default());
    let gone = person(&server, "ivy");
    server.access.revoke(gone.account_id, &Actor::Operator, "", machine_now()).unwrap();
    let mut seen = Vec::new();
    // The cases are a wrong password, an unknown name, an account without a password, and a revoked
    // account.
    for (name, password) in [("ann", "wrong"), ("bob", "wrong"), ("eve", "wrong"), ("ivy", PASSWORD)] {
        let mut browser = Browser::new(&server);
        let page = browser.get("/signin").await;
        let (before, cookie) = (hidden(&page, "csrf"), browser.cookies["chandler_visitor"].clone());
        let answer = browser.sign_in("/signin", name, password).await;
        is_page(&answer);
        assert_eq!(hidden(&answer, "csrf"), before, "the form is the same visitor's");
        let head: Vec<String> =
            answer.head.lines().filter(|line| !line.starts_with("x-trace-id")).map(str::to_owned).collect();
        assert!(answer.cookies.is_empty() && !answer.text().contains(&cookie));
        seen.push((head, answer.text().replace(&before, "CSRF").replace(&format!("\"{name}\""), "NAME")));
    }
    assert!(seen[0].1.contains("Account or password is wrong."));
    assert!(!seen[0].1.contains(PASSWORD) && !seen[0].1.contains("value=\"wrong\""));
    for other in &seen[1..] {
        assert_eq!(other.1, seen[0].1);
        assert_eq!(
            other.0.iter().filter(|line| !line.starts_with("date")).collect::<Vec<_>>(),
            seen[0].0.iter().filter(|line| !line.starts_with("date")).collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn the_form_is_bound_to_its_visitor() {
    let (server, _) = house().await;
    let (mut one, mut two) = (Browser::new(&server), Browser::new(&server));
    let (mine, theirs) =
        (hidden(&one.get("/signin").await, "csrf"), hidden(&two.get("/signin").await, "csrf"));
    assert_ne!(mine, theirs);
    let with = |csrf: &str| {
        [("csrf", csrf.to_owned()), ("name", "ann".to_owned()), ("password", PASSWORD.to_owned())]
    };
    for csrf in [theirs.as_str(), "", "x"] {
        let fields = with(csrf);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = one.post("/signin", &fields).await;
        is_page(&answer);
        assert_eq!((answer.status, answer.cookies.len()), (403, 0), "{csrf}");
    }
    let fields = [("csrf", mine.as_str()), ("name", "ann"), ("password", PASSWORD)];
    assert_eq!(Browser::new(&server).post("/signin", &fields).await.status, 403, "without the cookie");
    one.head = "origin: http://example.org\r\n".to_owned();
    assert_eq!(one.post("/signin", &fields).await.status, 403, "from another site");
    one.head = "origin: http://test\r\nsec-fetch-site: same-origin\r\n".to_owned();
    assert_eq!(one.post("/signin", &fields).await.status, 303);
}

#[tokio::test]
async fn signing_in_redirects_only_to_pages_of_this_server() {
    let (server, _) = house().await;
    for next in [
        "//example.org/",
        "https://example.org/",
        "/\\example.org",
        "\\\\example.org",
        "/signin\r\nset-cookie: a=b",
        "javascript:alert(1)",
        "/health",
        "/oauth2/authorize/../../x",
    ] {
        let mut browser = Browser::new(&server);
        let page = browser.get(&format!("/signin?{}", encoded(&[("next", next)]))).await;
        assert_eq!(hidden(&page, "next"), "/", "{next}");
        let csrf = hidden(&page, "csrf");
        let fields = [("csrf", csrf.as_str()), ("next", next), ("name", "ann"), ("password", PASSWORD)];
        let answer = browser.post("/signin", &fields).await;
        assert_eq!((answer.status, answer.location.as_deref()), (303, Some("/")), "{next}");
        let answer = browser.get(&format!("/signin?{}", encoded(&[("next", next)]))).await;
        assert_eq!((answer.status, answer.location), (200, None), "{next}");
    }
    let mut browser = Browser::signed_in(&server, "ann").await;
    let answer = browser.get(&format!("/signin?{}", encoded(&[("next", CONFIRM)]))).await;
    assert_eq!((answer.status, answer.location.as_deref()), (303, Some(CONFIRM)));
}

#[tokio::test]
async fn https_cookies_use_the_host_prefix() {
    let public_url = Some("https://quotes.example.org/chandler".parse().unwrap());
    let server = Running::start_with(server::Settings { public_url, ..server::Settings::default() }).await;
    person(&server, "ann");
    let mut browser = Browser::new(&server);
    browser.head = "origin: https://quotes.example.org\r\n".to_owned();
    let page = browser.get("/signin").await;
    assert!(page.text().contains("action=\"/chandler/signin\""), "{}", page.text());
    assert!(page.text().contains("href=\"/chandler/assets/pages.css\""));
    let answer = browser.sign_in(CONFIRM_CODE, "ann", PASSWORD).await;
    assert_eq!(answer.location, Some(format!("/chandler{CONFIRM_CODE}")));
    for cookie in &answer.cookies {
        assert!(cookie.starts_with("__Host-chandler_") && cookie.contains("; Path=/; "), "{cookie}");
        assert!(cookie.contains("; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    }
    assert_eq!(answer.cookies.len(), 2);
    // A cookie without the `__Host-` prefix is ignored.
    let session = browser.cookies["__Host-chandler_session"].clone();
    let mut plain = Browser::new(&server);
    plain.cookies.insert("chandler_session".to_owned(), session);
    assert!(plain.get("/signin").await.text().contains("name=\"password\""));
    assert!(browser.get("/signin").await.text().contains("Signed in as ann."));
}

const CONFIRM_CODE: &str = "/oauth2/device/authorize/confirm?user_code=BCDF-GHJK";

#[tokio::test]
async fn a_user_lists_and_revokes_authorized_programs() {
    let (server, _) = house().await;
    person(&server, "bob");
    let client = register(&server, "<Workbench>").await;
    let mut ann = Browser::signed_in(&server, "ann").await;
    assert!(ann.get("/signin").await.text().contains("There are none."));
    let (device_code, code) = waiting(&server, &client).await;
    ann.decide(&code, "approve").await;
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", &client),
        ("device_code", &device_code),
    ];
    let token = form(&server, "/oauth2/token", &fields).await["access_token"].as_str().unwrap().to_owned();
    let bearer = format!("authorization: Bearer {token}\r\n");
    let works = async || server.http("GET", "/v1/quote/cmd", &bearer, b"").await.status == 200;
    assert!(works().await);
    let page = ann.get("/signin").await;
    is_page(&page);
    assert!(
        page.text().contains("&lt;Workbench&gt;") && page.text().contains("End access"),
        "{}",
        page.text()
    );
    let (csrf, id) = (hidden(&page, "csrf"), hidden(&page, "id"));
    let mut bob = Browser::signed_in(&server, "bob").await;
    assert!(!bob.get("/signin").await.text().contains("Workbench"));
    assert_eq!(bob.post("/signin/end", &[("csrf", &csrf), ("id", &id)]).await.status, 403);
    assert_eq!(ann.post("/signin/end", &[("csrf", "x"), ("id", &id)]).await.status, 403);
    assert_eq!(ann.post("/signin/end", &[("csrf", &csrf), ("id", "x")]).await.status, 403);
    assert_eq!(Browser::new(&server).post("/signin/end", &[("csrf", &csrf), ("id", &id)]).await.status, 403);
    assert!(works().await);
    for _ in 0..2 {
        let ended = ann.post("/signin/end", &[("csrf", &csrf), ("id", &id)]).await;
        assert_eq!((ended.status, ended.location.as_deref()), (303, Some("/signin")));
        assert!(!works().await);
    }
}
