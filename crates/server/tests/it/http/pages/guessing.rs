//! Rate limits against guessing passwords and codes.

use std::sync::Arc;

use access::AuditFilter;

use super::*;

/// Tries to sign in with each name until an attempt is refused with a delay. Returns the number of
/// attempts before the refusal, and the refusal.
async fn guess(browser: &mut Browser<'_>, names: impl Iterator<Item = String>) -> (usize, Response) {
    for (number, name) in names.enumerate() {
        let answer = browser.sign_in("/signin", &name, "guess").await;
        is_page(&answer);
        assert!(!browser.cookies.contains_key("chandler_session"));
        if answer.status != 403 {
            return (number, answer);
        }
    }
    panic!("nobody was told to wait");
}

#[tokio::test]
async fn guesses_are_delayed_per_account() {
    let (server, ann) = house().await;
    person(&server, "bob");
    let mut guesser = Browser::new(&server);
    // The first delays are so short that they may already have passed on a slow machine.
    let (free, waits) = guess(&mut guesser, std::iter::repeat_n("ann".to_owned(), 20)).await;
    assert!(free >= 5, "{free}");
    let seconds: u64 = waits.header("retry-after").unwrap().parse().unwrap();
    assert!(waits.status == 429 && (1..=60).contains(&seconds), "{seconds}");
    assert!(waits.text().contains(&format!("Too many tries. Try again in {seconds} s.")), "{}", waits.text());
    assert_eq!(guesser.sign_in("/signin", "bob", PASSWORD).await.status, 303);
    let filter = AuditFilter { event: Some("login.refused"), limit: 100, ..AuditFilter::default() };
    let rows = server.access.audit(&filter).unwrap();
    assert_eq!(rows.len(), free + 1);
    assert!(rows.iter().all(|row| row.account == Some(ann.account_id) && row.actor == "address 127.0.0.1"));
    assert_eq!((rows[0].reason.as_str(), rows[free].reason.as_str()), ("too many tries", "wrong password"));
}

#[tokio::test]
async fn attempts_are_limited_per_address() {
    let (server, _) = house().await;
    let mut known = Browser::signed_in(&server, "ann").await;
    known.cookies.remove("chandler_session");
    let (free, waits) =
        guess(&mut Browser::new(&server), (0..30).map(|number| format!("name {number}"))).await;
    assert!(free >= 10 && waits.status == 429, "{free} {}", waits.status);
    assert!(known.cookies.contains_key("chandler_device"));
    assert_eq!(known.sign_in("/signin", "ann", PASSWORD).await.status, 303);
}

#[tokio::test]
async fn wrong_codes_delay_a_correct_code() {
    let (server, _) = house().await;
    let client = register(&server, "Workbench").await;
    let (device_code, code) = waiting(&server, &client).await;
    let mut browser = Browser::signed_in(&server, "ann").await;
    let csrf = hidden(&browser.get(&format!("{CONFIRM}?user_code={code}")).await, "csrf");
    for _ in 0..4 {
        assert_eq!(browser.get(&format!("{CONFIRM}?user_code=BCDF-GHJK")).await.status, 404);
    }
    // Submitting the form does not bypass the delay.
    let fields = [("csrf", csrf.as_str()), ("user_code", "BCDF-GHJL"), ("decision", "approve")];
    assert_eq!(browser.post(CONFIRM, &fields).await.status, 404);
    for path in [format!("{CONFIRM}?user_code={code}"), format!("{CONFIRM}?user_code=BCDF-GHJK")] {
        let waits = browser.get(&path).await;
        is_page(&waits);
        let seconds: u64 = waits.header("retry-after").unwrap().parse().unwrap();
        assert!(waits.status == 429 && (500..=600).contains(&seconds), "{seconds}");
        assert!(waits.text().contains("Too many wrong codes."));
    }
    let fields = [("csrf", csrf.as_str()), ("user_code", &code), ("decision", "approve")];
    assert_eq!(browser.post(CONFIRM, &fields).await.status, 429);
    assert_eq!(poll(&server, &client, &device_code, "ap").await, "authorization_pending");
}

#[tokio::test]
async fn codes_cannot_be_tried_without_signing_in() {
    let (server, _) = house().await;
    let client = register(&server, "Workbench").await;
    let (_, code) = waiting(&server, &client).await;
    let mut browser = Browser::new(&server);
    let mut pages = Vec::new();
    for tried in [code.as_str(), "BCDF-GHJK", "bcdfghjk"] {
        let page = browser.get(&format!("{CONFIRM}?user_code={tried}")).await;
        let csrf = hidden(&page, "csrf");
        pages.push((
            page.status,
            page.text().replace(tried, "CODE").replace(&tried.to_uppercase(), "CODE").replace(&csrf, "CSRF"),
        ));
    }
    assert_eq!(pages[0].0, 200);
    assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
}

#[tokio::test]
async fn concurrent_attempts_do_not_affect_other_endpoints() {
    let (server, ann) = house().await;
    let mut browser = Browser::new(&server);
    let csrf = hidden(&browser.get("/signin").await, "csrf");
    let cookie = browser.cookies["chandler_visitor"].clone();
    let head =
        format!("content-type: application/x-www-form-urlencoded\r\ncookie: chandler_visitor={cookie}\r\n");
    let body = encoded(&[("csrf", &csrf), ("name", "ann"), ("password", "guess")]);
    let server = Arc::new(server);
    let mut sign_ins = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (server, head, body) = (server.clone(), head.clone(), body.clone());
        sign_ins.spawn(async move { server.http("POST", "/signin", &head, body.as_bytes()).await.status });
    }
    assert_eq!(server.get("/v1/quote/cmd", &ann).await.status, 200);
    let statuses = sign_ins.join_all().await;
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    // Five attempts are not delayed. A few more are not delayed either if a second passes during
    // the test.
    assert!((5..=9).contains(&count(403)), "{statuses:?}");
    assert_eq!(count(403) + count(429), 40, "{statuses:?}");
}
