//! The consent page of the authorization code flow.

use super::*;

fn question(client: &str, more: &str) -> String {
    let redirect = encoded(&[("redirect_uri", CALLBACK)]);
    format!("/oauth2/authorize?response_type=code&client_id={client}&state=s1%26x&{redirect}{more}")
}

async fn exchange(server: &Running, client: &str, code: &str) -> Value {
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", CALLBACK),
    ];
    form(server, "/oauth2/token", &fields).await
}

#[tokio::test]
async fn consent_returns_an_authorization_code() {
    let (server, _) = house().await;
    let client = register(&server, "Chart on the desk").await;
    let url = question(&client, "");
    let mut browser = Browser::new(&server);
    let page = browser.get(&url).await;
    is_page(&page);
    assert!(page.text().contains("To decide about “Chart on the desk”, sign in."));
    let answer = browser.sign_in(&url, "ann", PASSWORD).await;
    assert_eq!(answer.location.as_deref(), Some(url.as_str()));
    let page = browser.get(&url).await;
    is_page(&page);
    for shown in ["Chart on the desk", &client, "http://localhost:60355", "ann"] {
        assert!(page.text().contains(shown), "{shown} in {}", page.text());
    }
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.ends_with("form-action 'self' http://localhost:60355"), "{policy}");
    let csrf = hidden(&page, "csrf");
    let answer = browser.post(&url, &[("csrf", &csrf), ("decision", "approve")]).await;
    assert_eq!(answer.status, 303);
    let back = answer.location.unwrap();
    let query = back.strip_prefix(&format!("{CALLBACK}?")).unwrap_or_else(|| panic!("{back}"));
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
    let (name, code) = pairs.next().unwrap();
    assert_eq!((name, pairs.next()), ("code", Some(("state", "s1%26x"))), "{back}");
    let token = exchange(&server, &client, code).await;
    assert!(token["access_token"].as_str().is_some_and(|token| token.starts_with("ap_")), "{token}");
}

#[tokio::test]
async fn a_denial_returns_without_a_code() {
    let (server, _) = house().await;
    let client = register(&server, "Chart").await;
    let url = question(&client, "");
    let mut browser = Browser::signed_in(&server, "ann").await;
    let csrf = hidden(&browser.get(&url).await, "csrf");
    let answer = browser.post(&url, &[("csrf", &csrf), ("decision", "deny")]).await;
    let back = answer.location.unwrap();
    assert_eq!(
        (answer.status, back.as_str()),
        (303, &*format!("{CALLBACK}?error=access_denied&state=s1%26x"))
    );
}

#[tokio::test]
async fn a_form_decides_only_its_own_request() {
    let (server, _) = house().await;
    person(&server, "bob");
    let client = register(&server, "Chart").await;
    let (url, other) = (question(&client, ""), question(&client, "&scope=openapi"));
    let mut browser = Browser::signed_in(&server, "ann").await;
    let csrf = hidden(&browser.get(&url).await, "csrf");
    let linked = browser.get(&format!("{url}&decision=approve&csrf={csrf}")).await;
    assert_eq!((linked.status, linked.location), (200, None));
    let others = hidden(&browser.get(&other).await, "csrf");
    let bobs = hidden(&Browser::signed_in(&server, "bob").await.get(&url).await, "csrf");
    for wrong in ["", "x", &others, &bobs] {
        let answer = browser.post(&url, &[("csrf", wrong), ("decision", "approve")]).await;
        is_page(&answer);
        assert_eq!((answer.status, answer.location), (403, None), "{wrong}");
    }
    let answer = browser.post(&url, &[("csrf", &csrf), ("decision", "yes")]).await;
    assert_eq!((answer.status, answer.location), (400, None));
    let stranger = Browser::new(&server).post(&url, &[("csrf", &csrf), ("decision", "approve")]).await;
    assert_eq!((stranger.status, stranger.location), (403, None));
    browser.head = "sec-fetch-site: cross-site\r\n".to_owned();
    let foreign = browser.post(&url, &[("csrf", &csrf), ("decision", "approve")]).await;
    assert_eq!((foreign.status, foreign.location), (403, None));
}

#[tokio::test]
async fn an_unregistered_redirect_address_is_refused() {
    let (server, _) = house().await;
    let client = register(&server, "Chart").await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let to = |redirect: &str| {
        format!(
            "/oauth2/authorize?response_type=code&client_id={client}&{}",
            encoded(&[("redirect_uri", redirect)])
        )
    };
    let long = format!("http://localhost:60355/{}", "x".repeat(9_000));
    for path in [
        to("http://localhost:60355/elsewhere"),
        to("http://example.org/callback"),
        to("http://localhost:60355/callback#fragment"),
        to("//example.org"),
        to("javascript:alert(1)"),
        to(&long),
        "/oauth2/authorize".to_owned(),
        "/oauth2/authorize?client_id=".to_owned(),
        question("00000000-0000-4000-8000-000000000000", ""),
        question(&client, "&redirect_uri=http%3A%2F%2Fexample.org"),
    ] {
        for method in ["GET", "POST"] {
            let answer = browser.ask(method, &path, "", "").await;
            is_page(&answer);
            assert_eq!((answer.status, answer.location), (400, None), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn an_invalid_request_does_not_redirect() {
    let (server, _) = house().await;
    let client = register(&server, "Win <b>a prize</b>").await;
    let bad = question(&client, "&scope=everything");
    let mut other = Browser::signed_in(&server, "ann").await;
    let mut stranger = Browser::new(&server);
    for browser in [&mut other, &mut stranger] {
        for method in ["GET", "POST"] {
            let page = browser.ask(method, &bad, "", "").await;
            is_page(&page);
            assert_eq!((page.status, page.location.as_deref()), (400, None), "{method}");
            let text = page.text();
            let link = format!("href=\"{CALLBACK}?error=invalid_scope&amp;error_description=");
            for shown in [&*link, "state=s1%26x\"", "Go back to http://localhost:60355<", &client, "openapi."]
            {
                assert!(text.contains(shown), "{shown} in {text}");
            }
            assert!(text.contains("Win &lt;b&gt;") && !text.contains("<b>"), "{text}");
        }
    }
    // The invalid request does not lead to the sign-in page, and is not followed after signing in.
    let signed_in = stranger.sign_in("/signin", "ann", PASSWORD).await;
    assert_eq!(signed_in.location.as_deref(), Some("/"));
    let next = other.get(&format!("/signin?{}", encoded(&[("next", &bad)]))).await;
    assert_eq!(next.location.as_deref(), Some(bad.as_str()), "to the page that shows it");
}

#[tokio::test]
async fn the_page_lists_the_permissions_of_a_program() {
    let (server, _) = house().await;
    let client = register(&server, "Chart").await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let page = browser.get(&question(&client, "")).await;
    for shown in
        ["see which programs use your account", "cannot act as an operator", "other programs’ access"]
    {
        assert!(page.text().contains(shown), "{shown} in {}", page.text());
    }
}

#[tokio::test]
async fn url_parameters_are_escaped_on_the_page() {
    let (server, _) = house().await;
    let client = register(&server, "Chart").await;
    let url = format!(
        "/oauth2/authorize?response_type=code&client_id={client}&redirect_uri={CALLBACK}&state='%22%3E%3Cb%3E"
    );
    let mut browser = Browser::signed_in(&server, "ann").await;
    let page = browser.get(&url).await;
    is_page(&page);
    assert!(page.text().contains("state=&#39;%22%3E%3Cb%3E"), "{}", page.text());
    assert!(!page.text().contains("<b>"));
}

#[tokio::test]
async fn repeated_decisions_are_rate_limited() {
    let (server, account) = house().await;
    let client = register(&server, "Chart").await;
    let url = question(&client, "");
    let mut browser = Browser::signed_in(&server, "ann").await;
    let csrf = hidden(&browser.get(&url).await, "csrf");
    for decision in ["approve", "deny"].into_iter().cycle().take(59) {
        assert_eq!(browser.post(&url, &[("csrf", &csrf), ("decision", decision)]).await.status, 303);
    }
    for decision in ["approve", "deny"] {
        let answer = browser.post(&url, &[("csrf", &csrf), ("decision", decision)]).await;
        assert_eq!(answer.status, 429, "{}", answer.text());
        is_page(&answer);
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=3_600).contains(&wait), "{wait} s");
    }
    let rows = access::AuditFilter { account: Some(account.account_id), limit: 1_000, ..Default::default() };
    let rows = server.access.audit(&rows).unwrap();
    let of = |event: &str| rows.iter().filter(|row| row.event == event).count();
    assert_eq!((of("login.accepted"), of("code.approved"), of("code.denied")), (1, 30, 29));
    // A user who has reached the limit can still sign out.
    let csrf = hidden(&browser.get("/signin").await, "csrf");
    assert_eq!(browser.post("/signout", &[("csrf", &csrf)]).await.status, 303);
}

#[tokio::test]
async fn the_consent_page_shows_the_symbols_of_a_feed() {
    let (server, _) = house().await;
    let client = register(&server, "Ticks").await;
    let url = |scope| question(&client, &format!("&{}", encoded(&[("scope", scope)])));
    let mut browser = Browser::signed_in(&server, "ann").await;
    let page = browser.get(&url("ingest:*.hk ingest:aapl.us")).await;
    is_page(&page);
    let text = page.text();
    assert!(text.contains("<li>add candles and trades of *.HK, AAPL.US, which all accounts"), "{text}");
    assert!(text.contains("It cannot do anything else.") && !text.contains("place, change"), "{text}");
    // Approval by an account that is not an operator would have no effect.
    assert!(text.contains("Only operators can permit this."), "{text}");
    let page = browser.get(&url("ingest")).await;
    assert!(page.text().contains("add candles and trades of all symbols"), "{}", page.text());
}
