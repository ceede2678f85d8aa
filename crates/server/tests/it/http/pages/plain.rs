//! Properties common to all pages: language, stylesheet, and error messages.

use super::*;

#[tokio::test]
async fn a_page_uses_the_language_of_the_browser() {
    let (server, _) = house().await;
    for (request, lang, title) in [
        ("en-GB,en;q=0.9", "en", "Connect a device"),
        ("zh-CN,zh;q=0.9", "zh-CN", "连接设备"),
        ("zh-HK", "zh-HK", "連接裝置"),
        ("fr", "en", "Connect a device"),
        ("zh-MO", "zh-HK", "連接裝置"),
        ("de,zh-CN;q=0.8", "zh-CN", "连接设备"),
        ("en;q=0.1, zh-CN", "zh-CN", "连接设备"),
        ("", "en", "Connect a device"),
    ] {
        let mut browser = Browser::new(&server);
        browser.head = format!("accept-language: {request}\r\n");
        let page = browser.get(CONFIRM).await;
        is_page(&page);
        assert!(page.text().contains(&format!("<html lang=\"{lang}\">")), "{request}");
        assert!(page.text().contains(&format!("<h1>{title}</h1>")), "{request}");
        assert_eq!(page.header("content-language"), Some(&*lang.to_ascii_lowercase()));
    }
}

#[tokio::test]
async fn the_stylesheet_loads_nothing_from_other_hosts() {
    let (server, _) = house().await;
    let style = Browser::new(&server).get("/assets/pages.css").await;
    assert_eq!((style.status, style.header("content-type")), (200, Some("text/css; charset=utf-8")));
    assert_eq!(style.header("x-content-type-options"), Some("nosniff"));
    for absent in ["url(", "@import", "http", "expression"] {
        assert!(!style.text().contains(absent), "{absent}");
    }
    assert!(style.text().contains("prefers-color-scheme: dark"));
}

#[tokio::test]
async fn an_invalid_request_gets_an_error_page() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    for (method, path, allow) in [
        ("DELETE", CONFIRM, "get, head, post, options"),
        ("PUT", "/signin", "get, head, post, options"),
        ("GET", "/signout", "post, options"),
    ] {
        let answer = browser.ask(method, path, "", "").await;
        is_page(&answer);
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{method} {path}");
        assert!(answer.header("x-trace-id").is_some());
    }
    let kind = "content-type: application/x-www-form-urlencoded\r\n";
    let large = "a=".to_owned() + &"x".repeat(300 << 10);
    let answer = browser.ask("POST", "/signin", kind, &large).await;
    is_page(&answer);
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    for body in ["a=1&a=2".to_owned(), "a=".to_owned() + &"x".repeat(40 << 10), "x=1&".repeat(30)] {
        let answer = browser.ask("POST", "/signin", kind, &body).await;
        is_page(&answer);
        assert_eq!(answer.status, 400);
    }
    for path in [format!("{CONFIRM}?user_code=a&user_code=b"), format!("{CONFIRM}?{}", "a=&".repeat(30))] {
        assert_eq!(browser.get(&path).await.status, 400, "{path}");
    }
    let long = format!("{CONFIRM}?user_code={}", "B".repeat(9_000));
    assert_eq!(browser.get(&long).await.status, 400);
    let mut signed_in = Browser::signed_in(&server, "ann").await;
    assert_eq!(signed_in.get(&long).await.status, 404);
    assert_eq!(signed_in.get(&format!("{CONFIRM}?user_code=%00%ff%3Cb%3E")).await.status, 404);
    assert_eq!(server.http("OPTIONS", CONFIRM, "", b"").await.status, 204);
}
