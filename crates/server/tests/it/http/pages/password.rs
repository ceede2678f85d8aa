//! The page on which an account's owner sets a password, opened with an operator's link.

use super::*;

const PATH: &str = "/password";

fn link(server: &Running, ann: &Created) -> String {
    let link = server.access.issue_password_link(ann.account_id, &Actor::Operator, machine_now());
    link.unwrap().unwrap().token.expose().to_owned()
}

async fn send(browser: &mut Browser<'_>, token: &str, password: &str, again: &str) -> Response {
    let page = browser.get(&format!("{PATH}?link={token}")).await;
    assert_eq!(page.status, 200, "{}", page.text());
    is_page(&page);
    let csrf = hidden(&page, "csrf");
    let fields = [("csrf", csrf.as_str()), ("link", token), ("password", password), ("again", again)];
    browser.post(PATH, &fields).await
}

/// Submits the form with a CSRF token and a link. Returns the status.
async fn sent(browser: &mut Browser<'_>, csrf: &str, link: &str) -> u16 {
    let fields = [("csrf", csrf), ("link", link), ("password", PASSWORD), ("again", PASSWORD)];
    browser.post(PATH, &fields).await.status
}

#[tokio::test]
async fn a_link_sets_the_password_of_its_account_once() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let token = link(&server, &ann);
    let mut browser = Browser::new(&server);
    for (password, again) in
        [(PASSWORD, "another"), ("short", "short"), ("tab\there and there", "tab\there and there")]
    {
        let wrong = send(&mut browser, &token, password, again).await;
        assert_eq!(wrong.status, 400, "{password}");
        is_page(&wrong);
        assert!(
            wrong.text().contains("role=\"alert\"") && !wrong.text().contains(password),
            "{}",
            wrong.text()
        );
    }
    let done = send(&mut browser, &token, PASSWORD, PASSWORD).await;
    assert_eq!(done.status, 200, "{}", done.text());
    is_page(&done);
    Browser::signed_in(&server, "ann").await;
    let used = browser.get(&format!("{PATH}?link={token}")).await;
    assert_eq!(used.status, 410);
    assert!(used.text().contains("used before") && !used.text().contains(&token), "{}", used.text());
}

#[tokio::test]
async fn a_forged_or_outdated_form_is_refused() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let token = link(&server, &ann);
    let mut browser = Browser::new(&server);
    let page = browser.get(&format!("{PATH}?link={token}")).await;
    let csrf = hidden(&page, "csrf");
    assert_eq!(sent(&mut browser, "", &token).await, 403);
    assert_eq!(sent(&mut browser, "wrong", &token).await, 403);
    assert_eq!(sent(&mut Browser::new(&server), &csrf, &token).await, 403, "another browser's");
    assert_eq!(sent(&mut browser, &csrf, "wrong").await, 404);
    assert!(!server.access.has_password(ann.account_id).unwrap());
    // The operator issues another link while the form is open.
    let newer = link(&server, &ann);
    assert_eq!(sent(&mut browser, &csrf, &token).await, 410);
    assert!(!server.access.has_password(ann.account_id).unwrap());
    assert_eq!(sent(&mut browser, &csrf, &newer).await, 200);
    assert!(server.access.has_password(ann.account_id).unwrap());
}

#[tokio::test]
async fn an_invalid_link_is_reported_in_the_browser_language() {
    let server = Running::start().await;
    let long = format!("{PATH}?link={}", "x".repeat(4_000));
    for path in [PATH, "/password?link=", "/password?link=%00", "/password?link=<b>", &long] {
        let path = path.replace('<', "%3C").replace('>', "%3E");
        let answer = server.http("GET", &path, "accept-language: zh-HK\r\n", b"").await;
        assert_eq!(answer.status, 404, "{path}");
        is_page(&answer);
        assert!(answer.text().contains("這不是本伺服器的連結"), "{}", answer.text());
    }
    // Only a genuine link is reported as expired.
    let ann = server.account("ann", Terms::default());
    let before = market::Timestamp(machine_now().0 - access::PASSWORD_LINK_LIFE_S);
    let late = server.access.issue_password_link(ann.account_id, &Actor::Operator, before).unwrap().unwrap();
    let answer = server.http("GET", &format!("{PATH}?link={}", late.token.expose()), "", b"").await;
    assert_eq!(answer.status, 410);
    assert!(answer.text().contains("has expired"), "{}", answer.text());
}
