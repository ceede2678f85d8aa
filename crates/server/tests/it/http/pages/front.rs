//! The two HTML documents with scripts, their files, and the redirect back to a document after
//! signing in.

use server::Settings;

use super::*;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const FRONT: [&str; 12] = [
    "/",
    "/securities",
    "/portfolio",
    "/topics",
    "/topics/12",
    "/quota",
    "/connections",
    "/coverage",
    "/imports",
    "/admin",
    "/admin/audit",
    "/admin/status",
];

#[tokio::test]
async fn the_documents_are_public_and_have_security_headers() {
    let server = Running::start().await;
    for path in FRONT {
        let answer = server.http("GET", &format!("{path}?symbol=700.HK"), "", b"").await;
        assert_eq!(answer.status, 200, "{path}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("vary", "accept-encoding, accept-language"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "deny"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("content-security-policy", POLICY),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path} {name}");
        }
        assert!(answer.cookies.is_empty(), "{:?}", answer.cookies);
        assert!(answer.text().starts_with("<!doctype html>"), "{}", answer.text());
        let head = server.http("HEAD", path, "", b"").await;
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("etag"), answer.header("etag"));
        let post = server.http("POST", path, "", b"").await;
        assert_eq!((post.status, post.header("allow")), (405, Some("get, head, options")), "{path}");
        assert_eq!(post.header("content-type"), Some("text/html; charset=utf-8"));
    }
}

#[tokio::test]
async fn a_document_is_compressed_if_accepted_and_cached() {
    let server = Running::start().await;
    let plain = server.http("GET", "/", "accept-encoding: br\r\n", b"").await;
    let packed = server.http("GET", "/", "accept-encoding: gzip, br\r\n", b"").await;
    assert_eq!((plain.header("content-encoding"), packed.header("content-encoding")), (None, Some("gzip")));
    assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() < plain.body.len());
    let tag = plain.header("etag").unwrap();
    assert_eq!(packed.header("etag"), Some(tag));
    let again = server.http("GET", "/", &format!("if-none-match: {tag}\r\n"), b"").await;
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag)));
    let other = server.http("GET", "/", "if-none-match: \"other\"\r\n", b"").await;
    assert_eq!((other.status, other.body), (200, plain.body));
}

#[tokio::test]
async fn every_referenced_file_exists() {
    let internal = Some("127.0.0.1:0".parse().unwrap());
    let server = Running::start_with(Settings { internal, ..Settings::default() }).await;
    for path in ["/", "/quota"] {
        let document = server.http("GET", path, "", b"").await;
        let text = document.text();
        let files: Vec<&str> = ["src=\"", "<link rel=\"stylesheet\" href=\"", "<link rel=\"icon\" href=\""]
            .iter()
            .flat_map(|start| text.split(start).skip(1))
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        assert!(!files.is_empty());
        for file in files {
            let answer = server.http("GET", file, "", b"").await;
            assert_eq!(answer.status, 200, "{file}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{file}");
        }
    }
    let metrics = server.http_to(server.internal.unwrap(), "GET", "/metrics", "", b"").await;
    let of = |line: &&str| line.starts_with("chandler_requests_total{door=\"http\",command=\"other\"");
    let other: Vec<&str> = metrics.text().lines().filter(of).collect();
    assert_eq!(other, ["chandler_requests_total{door=\"http\",command=\"other\",outcome=\"ok\"} 0"]);
    assert_eq!(server.http("GET", "/index.html", "", b"").await.status, 404);
    assert_eq!(server.http("GET", "/nothing.js", "", b"").await.status, 404);
}

#[tokio::test]
async fn documents_and_redirects_use_the_public_path_prefix() {
    let public_url = Some("http://candles.example.com/api".parse().unwrap());
    let server = Running::start_with(Settings { public_url, ..Settings::default() }).await;
    person(&server, "ann");
    let plain = Running::start().await.http("GET", "/", "", b"").await;
    let document = server.http("GET", "/", "accept-encoding: gzip\r\n", b"").await;
    let text = document.text();
    assert!(text.contains("<meta name=\"base\" content=\"/api\">"), "{text}");
    assert_eq!(text.matches("=\"/api/").count(), plain.text().matches("=\"/").count());
    assert_eq!(text.matches("=\"/").count(), text.matches("=\"/api").count());
    assert_ne!(document.header("etag"), plain.header("etag"));
    for next in ["/api/quota", "/quota"] {
        let mut browser = Browser::new(&server);
        let answer =
            browser.sign_in(&format!("/signin?{}", encoded(&[("next", next)])), "ann", PASSWORD).await;
        assert_eq!((answer.status, answer.location.as_deref()), (303, Some("/api/quota")), "{next}");
    }
}

#[tokio::test]
async fn signing_in_never_redirects_to_another_site() {
    let (server, _) = house().await;
    for (next, location) in [
        ("/?symbol=700.HK&period=5m", "/?symbol=700.HK&period=5m"),
        ("/coverage", "/coverage"),
        ("", "/"),
        ("//example.org", "/"),
        ("/\\example.org", "/"),
        ("https://example.org/", "/"),
        ("/health", "/"),
    ] {
        let mut browser = Browser::new(&server);
        let answer =
            browser.sign_in(&format!("/signin?{}", encoded(&[("next", next)])), "ann", PASSWORD).await;
        assert_eq!((answer.status, answer.location.as_deref()), (303, Some(location)), "{next}");
    }
}

#[tokio::test]
async fn a_trailing_slash_redirects_to_the_page() {
    let public_url = Some("http://candles.example.com/api".parse().unwrap());
    let under = Running::start_with(Settings { public_url, ..Settings::default() }).await;
    let server = Running::start().await;
    for (server, path, location) in [
        (&server, "/quota/", "/quota"),
        (&server, "/coverage/?symbol=700.HK&a=//x", "/coverage?symbol=700.HK&a=//x"),
        (&server, "//signin/", "/signin"),
        (&server, "/oauth2/authorize/?state=s", "/oauth2/authorize?state=s"),
        (&under, "/imports/", "/api/imports"),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = server.http(method, path, "", b"").await;
            assert_eq!((answer.status, answer.location.as_deref()), (308, Some(location)), "{method} {path}");
        }
    }
    for (method, path) in
        [("POST", "/quota/"), ("GET", "/v1/quota/"), ("GET", "/quota/x/"), ("GET", "//example.org/")]
    {
        let answer = server.http(method, path, "", b"").await;
        assert_eq!((answer.status, answer.location), (404, None), "{method} {path}");
    }
}

#[tokio::test]
async fn not_found_is_html_for_browsers_and_json_for_programs() {
    let internal = Some("127.0.0.1:0".parse().unwrap());
    let server = Running::start_with(Settings { internal, ..Settings::default() }).await;
    let browser = "accept: text/html,application/xhtml+xml,*/*;q=0.8\r\naccept-language: de,zh-CN;q=0.8\r\n";
    let lost = server.http("GET", "/qouta", browser, b"").await;
    is_page(&lost);
    assert_eq!(lost.status, 404);
    assert!(
        lost.text().contains("此处没有内容。") && lost.text().contains("<p><a href=\"/\">"),
        "{}",
        lost.text()
    );
    let json = Some("application/json; charset=utf-8");
    for (path, head) in [
        ("/qouta", ""),
        ("/qouta", "accept: */*\r\n"),
        ("/v1/qouta", browser),
        ("//v2/x", browser),
        ("/udf/x", browser),
        ("/quote/x", browser),
        ("/oauth2/x", browser),
        ("/.well-known/x", browser),
        ("/v1/quota", browser),
    ] {
        let answer = server.http("GET", path, head, b"").await;
        assert_eq!(answer.header("content-type"), json, "{path} {head}");
    }
    let internal = server.http_to(server.internal.unwrap(), "GET", "/qouta", browser, b"").await;
    assert_eq!((internal.status, internal.header("content-type")), (404, json));
}
