//! The list of securities that trade overnight.

use access::{Created, RateRule, Terms};
use serde_json::{Value, json};

use crate::support::{Response, Running, import_files};

const LIST: &str = "/v1/quote/get_security_list";

fn unhurried() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

async fn ask(server: &Running, account: &Created, query: &str, language: &str) -> Response {
    let language =
        if language.is_empty() { String::new() } else { format!("accept-language: {language}\r\n") };
    let head = format!("authorization: Bearer {}\r\n{language}", account.access_token.expose());
    server.http("GET", &format!("{LIST}?{query}"), &head, b"").await
}

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

/// Imports names, two more securities with overnight candles, and a security without overnight
/// candles.
fn import(server: &Running) {
    let names = "symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,board\n\
                 AAPL.US,Apple,苹果,蘋果,NASD,USD,1,USMain\nB.US,Barnes,,,NASD,USD,1,USMain\n";
    // Thursday, 21:00 in New York.
    let overnight = "symbol,time,open,high,low,close,volume\n\
                     B.US,1794535200,1,1,1,1,1\nC.US,1794535200,1,1,1,1,1\n";
    let days = "symbol,time,open,high,low,close,volume\nD.US,2026-11-12,1,1,1,1,1\n";
    let paths =
        [("names.csv", names), ("overnight.csv", overnight), ("more-days.csv", days)].map(|(name, text)| {
            let path = server.dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        });
    import_files(server.dir.path(), &paths);
}

#[tokio::test]
async fn securities_with_overnight_candles_are_listed_with_one_name() {
    let server = Running::start().await;
    import(&server);
    server.noticed().await;
    let ann = server.account("ann", unhurried());
    let row = |symbol: &str, cn: &str, hk: &str, en: &str| json!({"symbol": symbol, "name_cn": cn, "name_hk": hk, "name_en": en});
    for (language, rows) in [
        ("en", [row("AAPL.US", "", "", "Apple"), row("B.US", "", "", "Barnes"), row("C.US", "", "", "")]),
        ("zh-HK", [row("AAPL.US", "", "蘋果", ""), row("B.US", "", "Barnes", ""), row("C.US", "", "", "")]),
        // Without Accept-Language, names are in simplified Chinese.
        ("", [row("AAPL.US", "苹果", "", ""), row("B.US", "Barnes", "", ""), row("C.US", "", "", "")]),
        ("zh-CN", [row("AAPL.US", "苹果", "", ""), row("B.US", "Barnes", "", ""), row("C.US", "", "", "")]),
    ] {
        let listed = data(&ask(&server, &ann, "market=US&category=Overnight", language).await);
        assert_eq!(listed, json!({"list": rows}), "{language}");
    }
    for query in ["market=US", "market=us&category=overnight", "market=US&category=", "market=US&more=1"] {
        let listed = data(&ask(&server, &ann, query, "en").await);
        assert_eq!(listed["list"].as_array().unwrap().len(), 3, "{query}");
    }
    assert_eq!(data(&ask(&server, &ann, "market=HK&category=Overnight", "en").await), json!({"list": []}));
}

#[tokio::test]
async fn a_page_reports_the_total_count() {
    let server = Running::start().await;
    import(&server);
    server.noticed().await;
    let ann = server.account("ann", unhurried());
    for (query, wanted) in [
        ("page=1&size=2", vec!["AAPL.US", "B.US"]),
        ("page=2&size=2", vec!["C.US"]),
        ("page=3&size=2", vec![]),
        ("page=1", vec!["AAPL.US", "B.US", "C.US"]),
        ("size=1", vec!["AAPL.US"]),
        ("page=1000000&size=1000", vec![]),
    ] {
        let answer = data(&ask(&server, &ann, &format!("market=US&{query}"), "en").await);
        let list = answer["list"].as_array().unwrap();
        let symbols: Vec<&str> = list.iter().map(|row| row["symbol"].as_str().unwrap()).collect();
        assert_eq!((symbols, &answer["total"]), (wanted, &json!(3)), "{query}");
    }
}

#[tokio::test]
async fn only_visible_securities_are_listed() {
    let server = Running::start().await;
    import(&server);
    server.noticed().await;
    let (ann, bob) = (server.account("ann", unhurried()), server.account_with("bob", "HK", unhurried()));
    assert_eq!(data(&ask(&server, &bob, "market=US", "en").await), json!({"list": []}));
    assert_eq!(data(&ask(&server, &bob, "market=US&page=1", "en").await), json!({"list": [], "total": 0}));
    // B.US and C.US are not listed before their first overnight candle.
    server.set_now(1_794_500_000);
    let listed = data(&ask(&server, &ann, "market=US", "en").await);
    assert_eq!(listed["list"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn an_invalid_list_request_has_a_specific_code() {
    let server = Running::start().await;
    let ann = server.account("ann", unhurried());
    for (query, words) in [
        ("", "market required"),
        ("category=Overnight", "market required"),
        ("market=", "market required"),
        ("market=SG", "market \"SG\" is invalid: use US or HK"),
        ("market=CN", "market \"CN\" is invalid"),
        ("market=%E2%80%AEUS", "is invalid"),
        ("market=US&category=Daytime", "category \"Daytime\" is invalid: use Overnight"),
        ("market=US&page=0", "page \"0\" is not a number from 1 to 1000000"),
        ("market=US&page=-1", "page \"-1\""),
        ("market=US&size=1001", "size \"1001\" is not a number from 1 to 1000"),
        ("market=US&size=99999999999", "size"),
        ("market=US&size=ten", "size \"ten\""),
    ] {
        let answer = ask(&server, &ann, query, "en").await;
        let body = answer.json();
        assert_eq!((answer.status, &body["code"]), (400, &json!(310_010)), "{query}: {body}");
        assert!(body["message"].as_str().unwrap().contains(words), "{query}: {body}");
    }
}
