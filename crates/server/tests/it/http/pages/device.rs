//! The device flow, from the user code to the token.

use std::net::Ipv4Addr;
use std::time::Duration;

use access::{AuditFilter, Moment, PresentedClient};
use market::Timestamp;

use super::*;

#[tokio::test]
async fn a_user_enters_a_code_and_approves_it() {
    let (server, ann) = house().await;
    let client = register(&server, "Workbench").await;
    let (device_code, code) = waiting(&server, &client).await;
    let mut browser = Browser::new(&server);
    let page = browser.get(CONFIRM).await;
    is_page(&page);
    assert!(
        page.text().contains("name=\"user_code\"")
            && page.text().contains("<label for=\"code\">Code</label>")
    );
    // The code as users type it, in lower case and with a space instead of the hyphen.
    let typed = code.to_lowercase().replace('-', "+");
    let page = browser.get(&format!("{CONFIRM}?user_code=+{typed}+")).await;
    is_page(&page);
    assert!(
        page.text().contains("name=\"password\"") && !page.text().contains("Workbench"),
        "nobody is told more"
    );
    let answer =
        browser.sign_in(&format!("{CONFIRM}?user_code={code}&client_id={client}"), "ann", PASSWORD).await;
    assert_eq!(answer.status, 303);
    let next = answer.location.unwrap();
    assert_eq!(next, format!("{CONFIRM}?user_code={code}&client_id={client}"));
    let page = browser.get(&next).await;
    is_page(&page);
    for shown in
        ["“Workbench” asks to use your account", &client, &code, "ann", "just now", "Use another account"]
    {
        assert!(page.text().contains(shown), "{shown} in {}", page.text());
    }
    assert_eq!(poll(&server, &client, &device_code, "ap").await, "authorization_pending");
    let done = browser.decide(&code, "approve").await;
    is_page(&done);
    assert_eq!(done.status, 200);
    assert!(done.text().contains("<h1>Approved</h1>"));
    assert_eq!(poll(&server, &client, &device_code, "us").await, "ok");
    let filter = AuditFilter { account: Some(ann.account_id), limit: 10, ..AuditFilter::default() };
    let rows = server.access.audit(&filter).unwrap();
    let who = format!("account {}", ann.account_id.0);
    assert!(rows.iter().any(|row| row.event == "login.accepted" && row.actor == who), "{rows:?}");
    assert!(rows.iter().any(|row| row.actor == who && row.reason.contains("Workbench")), "{rows:?}");
}

#[tokio::test]
async fn a_denied_device_is_notified() {
    let (server, _) = house().await;
    let client = register(&server, "Workbench").await;
    let (device_code, code) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let done = browser.decide(&code, "deny").await;
    assert!(done.status == 200 && done.text().contains("<h1>Denied</h1>"), "{}", done.text());
    assert_eq!(poll(&server, &client, &device_code, "ap").await, "access_denied");
}

#[tokio::test]
async fn opening_a_link_does_not_approve_a_device() {
    let (server, _) = house().await;
    let client = register(&server, "Workbench").await;
    let (device_code, code) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let page = browser.get(&format!("{CONFIRM}?user_code={code}")).await;
    let csrf = hidden(&page, "csrf");
    for method in ["GET", "HEAD"] {
        let path = format!("{CONFIRM}?user_code={code}&csrf={csrf}&decision=approve");
        assert_eq!(browser.ask(method, &path, "", "").await.status, 200);
    }
    assert_eq!(poll(&server, &client, &device_code, "ap").await, "authorization_pending");
}

#[tokio::test]
async fn unknown_expired_and_decided_codes_are_indistinguishable() {
    let (server, _) = house().await;
    let client = register(&server, "Workbench").await;
    let (_, decided) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    assert_eq!(browser.decide(&decided, "deny").await.status, 200);
    let credentials = PresentedClient { id: &client, secret: None };
    let long_ago = Moment { now: Timestamp(machine_now().0 - 601), uptime: Duration::from_secs(1) };
    let late = server.access.start_device(&credentials, "", Ipv4Addr::LOCALHOST.into(), long_ago).unwrap();
    let mut seen = Vec::new();
    for code in [decided.as_str(), late.user_code.expose(), "BCDF-GHJK"] {
        let page = browser.get(&format!("{CONFIRM}?user_code={code}")).await;
        is_page(&page);
        seen.push((page.status, page.text().replace(code, "CODE")));
    }
    assert_eq!(seen[0].0, 404);
    assert!(seen[0].1.contains("This code cannot be used"));
    assert!(seen.iter().all(|page| *page == seen[0]), "{seen:?}");
}

#[tokio::test]
async fn a_decision_is_accepted_once_and_only_from_its_own_form() {
    let (server, _) = house().await;
    person(&server, "bob");
    let client = register(&server, "Workbench").await;
    let (device_code, code) = waiting(&server, &client).await;
    let mut ann = Browser::signed_in(&server, "ann").await;
    let mut bob = Browser::signed_in(&server, "bob").await;
    let page = format!("{CONFIRM}?user_code={code}");
    let csrf = hidden(&ann.get(&page).await, "csrf");
    let bobs = hidden(&bob.get(&page).await, "csrf");
    let signing_out = ann.get("/signin").await;
    let other_purpose = hidden(&signing_out, "csrf");
    let bent = format!("{}{}", if csrf.starts_with('A') { "B" } else { "A" }, &csrf[1..]);
    let long = "A".repeat(30_000);
    for wrong in ["", "x", &bobs, &other_purpose, &bent, &long] {
        let fields = [("csrf", wrong), ("user_code", &code), ("decision", "approve")];
        let answer = ann.post(CONFIRM, &fields).await;
        is_page(&answer);
        assert_eq!(answer.status, 403, "{wrong}");
    }
    // The form alone is not sufficient. It is refused without a session and from another user.
    let fields = [("csrf", csrf.as_str()), ("user_code", &code), ("decision", "approve")];
    assert_eq!(Browser::new(&server).post(CONFIRM, &fields).await.status, 403);
    assert_eq!(bob.post(CONFIRM, &fields).await.status, 403);
    for decision in ["", "maybe", "Approve"] {
        let fields = [("csrf", csrf.as_str()), ("user_code", &code), ("decision", decision)];
        assert_eq!(ann.post(CONFIRM, &fields).await.status, 400, "{decision}");
    }
    assert_eq!(poll(&server, &client, &device_code, "ap").await, "authorization_pending");
    assert_eq!(ann.post(CONFIRM, &fields).await.status, 200);
    let again = ann.post(CONFIRM, &fields).await;
    assert_eq!(again.status, 404, "a form that is sent twice decides once");
    let deny = [("csrf", bobs.as_str()), ("user_code", &code), ("decision", "deny")];
    assert_eq!(bob.post(CONFIRM, &deny).await.status, 404);
    assert_eq!(poll(&server, &client, &device_code, "us").await, "ok");
}

#[tokio::test]
async fn a_form_from_another_site_is_refused() {
    let (server, _) = house().await;
    let client = register(&server, "Workbench").await;
    let (device_code, code) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let csrf = hidden(&browser.get(&format!("{CONFIRM}?user_code={code}")).await, "csrf");
    let body = encoded(&[("csrf", &csrf), ("user_code", &code), ("decision", "approve")]);
    let kind = "content-type: application/x-www-form-urlencoded\r\n";
    for head in [
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
        "sec-fetch-site: cross-site\r\norigin: http://test\r\n",
        "origin: http://example.org\r\n",
        "origin: http://test.example.org\r\n",
        "origin: http://test:81\r\n",
        "origin: test\r\n",
        "origin: http://test\r\norigin: http://test\r\n",
        "sec-fetch-site: cross-site\r\norigin: null\r\n",
    ] {
        let answer = browser.ask("POST", CONFIRM, &format!("{kind}{head}"), &body).await;
        is_page(&answer);
        assert_eq!(answer.status, 403, "{head}");
    }
    for kind in ["", "content-type: text/plain\r\n", "content-type: application/json\r\n"] {
        assert_eq!(browser.ask("POST", CONFIRM, kind, &body).await.status, 400, "{kind}");
    }
    let twice = format!("{body}&decision=deny");
    assert_eq!(browser.ask("POST", CONFIRM, kind, &twice).await.status, 400);
    assert_eq!(poll(&server, &client, &device_code, "ap").await, "authorization_pending");
    // These are the headers that browsers send for our own pages.
    let own = format!("{kind}sec-fetch-site: same-origin\r\norigin: null\r\n");
    assert_eq!(browser.ask("POST", CONFIRM, &own, &body).await.status, 200);
    assert_eq!(poll(&server, &client, &device_code, "us").await, "ok");
}

#[tokio::test]
async fn a_link_with_another_client_is_refused() {
    let (server, _) = house().await;
    let (client, other) = (register(&server, "Workbench").await, register(&server, "Other").await);
    let (_, code) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    assert_eq!(browser.get(&format!("{CONFIRM}?user_code={code}&client_id={other}")).await.status, 404);
    assert_eq!(browser.get(&format!("{CONFIRM}?user_code={code}&client_id={client}")).await.status, 200);
}

#[tokio::test]
async fn the_client_name_is_escaped() {
    let (server, _) = house().await;
    let client = register(&server, "<img src=x onerror=alert(1)>\"'&").await;
    let (_, code) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let page = browser.get(&format!("{CONFIRM}?user_code={code}")).await;
    is_page(&page);
    assert!(page.text().contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"), "{}", page.text());
    assert!(!page.text().contains("<img"));
}

#[tokio::test]
async fn a_link_from_another_site_fills_in_a_code_without_trying_it() {
    let (server, _) = house().await;
    let client = register(&server, "Workbench").await;
    let (_, code) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    for site in ["cross-site", "same-site"] {
        browser.head = format!("sec-fetch-site: {site}\r\n");
        // Try more wrong codes than the free attempts allow.
        for _ in 0..20 {
            let page = browser.get(&format!("{CONFIRM}?user_code=BCDF-GHJK")).await;
            is_page(&page);
            assert_eq!(page.status, 200);
        }
        let page = browser.get(&format!("{CONFIRM}?user_code={code}&client_id={client}")).await;
        assert!(page.text().contains(&format!("value=\"{code}\"")), "{}", page.text());
        assert!(page.text().contains("Another site sent you here"), "{}", page.text());
        assert!(!page.text().contains("Workbench"), "{}", page.text());
        assert_eq!(hidden(&page, "client_id"), client);
    }
    // A click on our own page is same-origin, and a link opened from a terminal has
    // `Sec-Fetch-Site: none`.
    for site in ["same-origin", "none"] {
        browser.head = format!("sec-fetch-site: {site}\r\n");
        let page = browser.get(&format!("{CONFIRM}?user_code={code}&client_id={client}")).await;
        assert!(page.status == 200 && page.text().contains("Workbench"), "{site}: {}", page.text());
    }
}
