//! Candle files that are read in byte ranges.

use access::{Actor, Created, Right, Terms};

use crate::support::{OVERNIGHT, Response, Running, machine_now};

const PATH: &str = "/v1/quote/history-candlesticks?symbol=700.HK&period=day&start=2026-10-12&format=parquet";

async fn ask(server: &Running, account: &Created, method: &str, head: &str) -> Response {
    ask_for(server, account, method, PATH, head).await
}

async fn ask_for(server: &Running, account: &Created, method: &str, path: &str, head: &str) -> Response {
    let bearer = format!("authorization: Bearer {}\r\n{head}", account.access_token.expose());
    server.http(method, path, &bearer, b"").await
}

fn rate(text: &str) -> Terms {
    Terms { rate: Some(text.parse().unwrap()), ..Terms::default() }
}

#[tokio::test]
async fn byte_ranges_add_up_to_the_response_and_are_charged_once() {
    let server = Running::start().await;
    let account = server.account("ann", rate("2/3600"));
    let head = ask(&server, &account, "HEAD", "").await;
    let length: usize = head.header("content-length").unwrap().parse().unwrap();
    assert!(head.status == 200 && head.body.is_empty() && length > 1000, "{head:?}");
    assert_eq!(head.header("accept-ranges"), Some("bytes"));
    assert_eq!(head.header("content-type"), Some("application/vnd.apache.parquet"));
    assert_eq!(head.header("x-ratelimit-remaining"), Some("1"));
    let mut whole = Vec::new();
    for (range, actual) in [
        ("bytes=0-99".to_owned(), format!("bytes 0-99/{length}")),
        (format!("bytes=100-{}", length - 9), format!("bytes 100-{}/{length}", length - 9)),
        ("bytes=-8".to_owned(), format!("bytes {}-{}/{length}", length - 8, length - 1)),
    ] {
        let piece = ask(&server, &account, "GET", &format!("range: {range}\r\n")).await;
        assert_eq!((piece.status, piece.header("content-range")), (206, Some(actual.as_str())));
        assert_eq!(piece.header("etag"), head.header("etag"));
        assert_eq!(piece.header("x-ratelimit-remaining"), Some("1"));
        whole.extend(piece.body);
    }
    assert!(whole.starts_with(b"PAR1") && whole.ends_with(b"PAR1"));
    // A request for the whole response is charged again.
    let all = ask(&server, &account, "GET", "").await;
    assert_eq!((all.status, all.header("x-ratelimit-remaining")), (200, Some("0")));
    assert_eq!(all.body, whole);
    let behind = ask(&server, &account, "GET", &format!("range: bytes={length}-\r\n")).await;
    assert_eq!(
        (behind.status, behind.header("content-range")),
        (416, Some(format!("bytes */{length}").as_str()))
    );
    let other = ask(&server, &account, "GET", "range: bytes=0-3\r\nif-range: \"another\"\r\n").await;
    assert_eq!((other.status, other.body.len()), (200, length));
}

#[tokio::test]
async fn cached_ranges_are_private_and_rights_are_checked_again() {
    let server = Running::start().await;
    let (ann, bob) = (server.account("ann", rate("1/3600")), server.account("bob", rate("1/3600")));
    let piece = "range: bytes=0-3\r\n";
    assert_eq!(ask(&server, &ann, "GET", piece).await.status, 206);
    assert_eq!(ask(&server, &ann, "GET", piece).await.status, 206);
    let first = ask(&server, &bob, "GET", piece).await;
    assert_eq!(
        (first.status, first.header("x-ratelimit-remaining")),
        (206, Some("0")),
        "counted for him too"
    );
    server.access.withdraw(ann.account_id, Right::Hk, &Actor::Operator, machine_now()).unwrap();
    server.noticed().await;
    assert_eq!(ask(&server, &ann, "GET", piece).await.status, 403);
}

#[tokio::test]
async fn withdrawn_sessions_are_removed_from_ranges() {
    let server = Running::start().await;
    let ann = server.account_with("ann", OVERNIGHT, rate("unlimited"));
    let path = "/v1/quote/history-candlesticks?symbol=AAPL.US&period=60m&session=all&limit=200&format=csv";
    let mark = async || {
        let head = ask_for(&server, &ann, "HEAD", path, "").await;
        assert_eq!(head.status, 200, "{head:?}");
        head.header("etag").unwrap().to_owned()
    };
    let (before, again) = (mark().await, mark().await);
    assert_eq!(before, again);
    server.access.withdraw(ann.account_id, Right::UsOvernight, &Actor::Operator, machine_now()).unwrap();
    server.noticed().await;
    let after = mark().await;
    assert_ne!(after, before);
    let piece = ask_for(&server, &ann, "GET", path, "range: bytes=0-\r\n").await;
    assert_eq!((piece.status, piece.header("etag")), (206, Some(after.as_str())));
    let whole = ask_for(&server, &ann, "GET", path, "").await;
    assert_eq!(piece.body, whole.body);
}
