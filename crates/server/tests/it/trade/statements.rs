//! Statements over HTTP: the list, signed download links, and their removal by a rewind.

use access::{Download, Terms};
use market::Timestamp;
use serde_json::{Value, json};
use server::Settings;

use super::hall::{Hall, at, data, refused};
use crate::support::{Response, machine_now};

/// Opens the test fixture with a trade on Wednesday the 18th, and moves the clock to the next
/// morning.
async fn traded() -> Hall {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.set_now(at("33:00"));
    hall
}

fn dates(list: &Value) -> Vec<i64> {
    list["list"].as_array().unwrap().iter().map(|row| row["dt"].as_i64().unwrap()).collect()
}

/// Returns the key of the newest daily statement.
async fn newest_key(hall: &Hall) -> String {
    let list = hall.get("/v1/statement/list?statement_type=1&start_date=1&limit=1").await;
    list["list"][0]["file_key"].as_str().unwrap().to_owned()
}

/// Returns the link to a file without the server's address.
async fn address(hall: &Hall, key: &str) -> String {
    let path = format!("/v1/statement/download?file_key={}", key.replace('/', "%2F"));
    let url = hall.get(&path).await["url"].as_str().unwrap().to_owned();
    let http = hall.server.addresses.http;
    url.strip_prefix(&format!("http://{http}")).unwrap_or_else(|| panic!("{url} is not at {http}")).to_owned()
}

/// Fetches a link without credentials.
async fn fetch(hall: &Hall, address: &str) -> Response {
    hall.server.http("GET", address, "", b"").await
}

#[tokio::test]
async fn a_statement_is_listed_and_fetched_without_credentials() {
    let hall = traded().await;
    hall.server.set_now(at("32:59:59"));
    assert!(dates(&hall.get("/v1/statement/list").await).is_empty(), "the date is not over in the US");
    hall.server.set_now(at("33:00"));
    assert_eq!(dates(&hall.get("/v1/statement/list").await), [20_260_318]);
    let key = newest_key(&hall).await;
    let number = hall.ann.account_id.0;
    assert_eq!(key, format!("/statement_data/data/lb/1/20260318/{number}.json"));
    let file = fetch(&hall, &address(&hall, &key).await).await;
    assert_eq!(file.status, 200);
    let name = "attachment; filename=\"statement-daily-20260318.json\"";
    assert_eq!(file.header("content-disposition"), Some(name));
    let statement = file.json();
    assert_eq!((&statement["Date"], &statement["MemberInfo"]["Name"]), (&json!("2026-03-18"), &json!("ann")));
    let balances = &statement["AccountBalanceSum"]["AccountBalances"];
    let hkd = balances.as_array().unwrap().iter().find(|row| row["CurrencyCode"] == "HKD").unwrap();
    assert_eq!((&hkd["LedgerAmount"], &hkd["SettledAmount"]), (&json!("438875.25"), &json!("500000.00")));
    let trade = &statement["StockTradeSums"][0]["Trades"][0];
    assert_eq!((&trade["ClearAmount"], &trade["SettleDate"]), (&json!("-61124.75"), &json!("2026-03-20")));
    // The statement is also available as PDF.
    let pdf = fetch(&hall, &address(&hall, &key.replace(".json", ".pdf")).await).await;
    assert_eq!((pdf.status, pdf.header("content-type")), (200, Some("application/pdf")));
    assert!(pdf.body.starts_with(b"%PDF-"));
}

#[tokio::test]
async fn both_paging_forms_of_the_list_are_accepted() {
    let hall = traded().await;
    hall.server.set_now(at("202:00"));
    let all = [20_260_325, 20_260_324, 20_260_323, 20_260_320, 20_260_319, 20_260_318];
    let ask = async |query: &str| dates(&hall.get(&format!("/v1/statement/list?{query}")).await);
    assert_eq!(ask("statement_type=1&start_date=1&limit=20").await, all);
    assert_eq!(ask("start_date=20260323").await, all[..3]);
    assert_eq!(ask("start_date=19000100&limit=2").await, all[..2]);
    assert_eq!(ask("start_date=-5&limit=2").await, all[..2]);
    assert_eq!(ask("page=2&page_size=4").await, all[4..]);
    assert_eq!(ask("page=2&page_size=4&limit=1").await, all[4..], "pages win");
    assert!(ask("page=1000000&page_size=1000").await.is_empty());
    assert!(ask("statement_type=2").await.is_empty(), "no month is over");
    hall.server.set_now(at("369:00"));
    assert_eq!(ask("statement_type=2").await, [20_260_331], "with the first date after it");
    for (query, words) in [
        ("statement_type=3", "statement_type \"3\" is not a number from 1 to 2"),
        ("statement_type=x", "statement_type \"x\" is not a number from 1 to 2"),
        ("limit=0", "limit \"0\" is not a number from 1 to 1000"),
        ("limit=1001", "limit \"1001\" is not a number from 1 to 1000"),
        ("page=0", "page \"0\" is not a number from 1 to 1000000"),
        ("page_size=-1", "page_size \"-1\" is not a number from 1 to 1000"),
        ("start_date=20260229", "start_date \"20260229\" is not a date such as 20260318"),
        ("start_date=19000100000", "start_date \"19000100000\" is not a date such as 20260318"),
        ("start_date=99991332", "start_date \"99991332\" is not a date such as 20260318"),
        ("start_date=yesterday", "start_date \"yesterday\" is not a date such as 20260318"),
    ] {
        let answer = hall.ask("GET", &format!("/v1/statement/list?{query}"), &Value::Null).await;
        assert_eq!(refused(&answer), (400, 602_001, words.to_owned()));
    }
}

#[tokio::test]
async fn a_modified_link_is_refused() {
    let hall = traded().await;
    let key = newest_key(&hall).await;
    let good = address(&hall, &key).await;
    assert_eq!(fetch(&hall, &good).await.status, 200);
    let forged = "this URL was not issued by this server, or it was modified".to_owned();
    let (path, query) = good.split_once('?').unwrap();
    let (named, signature) = query.rsplit_once("&sig=").unwrap();
    let signature_first = format!("sig={signature}&{named}");
    let number = hall.ann.account_id.0;
    for wrong in [
        path.to_owned(),
        format!("{path}?sig={signature}"),
        good.replace("lang=en", "lang=zh-CN"),
        good.replace("20260318", "20260319"),
        good.replace(".json", ".pdf"),
        good.replace(&format!("/{number}-"), &format!("/{}-", number + 1)),
        good.replace("-1-", "-2-"),
        good.replace("expires=", "expires=9"),
        good.replace("expires=", "expires=0"),
        good.replace("expires=", "expires=%2B"),
        format!("{good}&lang=zh-CN"),
        format!("{good}&sig=x"),
        format!("{good}&more=1"),
        format!("{path}?{signature_first}"),
        good.replace(&format!("sig={signature}"), "sig="),
        good.replace(&format!("sig={signature}"), &format!("sig={}", "A".repeat(43))),
        good.replace(&format!("sig={signature}"), &format!("sig={}", "A".repeat(200))),
        "/files/statement/none?lang=en&expires=1&sig=x".to_owned(),
        format!("/files/statement/{}?lang=en&expires=1&sig=x", "%E6%97%A5".repeat(80)),
    ] {
        assert_eq!(refused(&fetch(&hall, &wrong).await), (403, 403_008, forged.clone()), "{wrong}");
    }
    // This link is genuine but has expired.
    let past = format!("{path}?lang=en");
    let expires = Timestamp(machine_now().0 - 1);
    let download = Download { account: hall.ann.account_id, path: &past, expires };
    let signature = hall.server.access.sign_download(&download).unwrap().unwrap();
    let over = fetch(&hall, &format!("{past}&expires={}&sig={signature}", expires.0)).await;
    assert_eq!(refused(&over), (403, 403_008, "this URL has expired: request a new one".to_owned()));
    // The links of a revoked account are refused.
    hall.server.access.revoke(hall.ann.account_id, &access::Actor::Operator, "", machine_now()).unwrap();
    hall.server.noticed().await;
    assert_eq!(refused(&fetch(&hall, &good).await).0, 403);
}

#[tokio::test]
async fn a_statement_of_another_account_is_not_found() {
    let hall = traded().await;
    let key = newest_key(&hall).await;
    let bob = hall.server.account("bob", Terms::default());
    let missing = (400, 602_001, "statement not found".to_owned());
    let path = |key: &str| format!("/v1/statement/download?file_key={key}");
    assert_eq!(refused(&hall.server.get(&path(&key), &bob).await), missing);
    let list = data(&hall.server.get("/v1/statement/list", &bob).await);
    assert!(dates(&list).is_empty(), "asking does not begin an account");
    for wrong in [
        key.replace("20260318", "20260317"),
        key.replace("/1/", "/2/"),
        key.replace(".json", ".exe"),
        key.replace("/statement_data", ""),
        "x".to_owned(),
        "..%2F..%2Fetc%2Fpasswd".to_owned(),
        "%00".to_owned(),
    ] {
        let answer = hall.ask("GET", &path(&wrong), &Value::Null).await;
        assert_eq!(refused(&answer), missing, "{wrong}");
    }
    let answer = hall.ask("GET", "/v1/statement/download", &Value::Null).await;
    assert_eq!(refused(&answer), (400, 602_001, "file_key required".to_owned()));
}

#[tokio::test]
async fn a_rewind_removes_statements_and_invalidates_their_links() {
    let hall = traded().await;
    hall.server.set_now(at("57:00"));
    assert_eq!(dates(&hall.get("/v1/statement/list").await), [20_260_319, 20_260_318]);
    let later = address(&hall, &newest_key(&hall).await).await;
    assert_eq!(fetch(&hall, &later).await.status, 200);
    let to = json!({"to": at("33:00"), "name": "try"});
    data(&hall.manage("/v1/admin/paper/ann/rewind", to).await);
    assert_eq!(fetch(&hall, &later).await.status, 404);
    hall.server.set_now(at("33:00"));
    assert_eq!(dates(&hall.get("/v1/statement/list").await), [20_260_318]);
    data(&hall.manage("/v1/admin/paper/ann/reset", json!({})).await);
    assert!(dates(&hall.get("/v1/statement/list").await).is_empty());
}

#[tokio::test]
async fn a_link_has_the_public_url_and_configured_lifetime() {
    let public_url = Some("https://candles.example.com/api".parse().unwrap());
    let settings = Settings { public_url, statement_link_seconds: 60, ..Settings::default() };
    let hall = Hall::open_with(settings).await;
    hall.server.set_now(at("10:00:15"));
    hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.set_now(at("33:00"));
    let key = newest_key(&hall).await;
    let before = machine_now().0;
    let answer = hall.get(&format!("/v1/statement/download?file_key={key}")).await;
    let url = answer["url"].as_str().unwrap();
    assert!(url.starts_with("https://candles.example.com/api/files/statement/"), "{url}");
    let expires: i64 = url.split_once("expires=").unwrap().1.split_once('&').unwrap().0.parse().unwrap();
    assert!((before + 60..=machine_now().0 + 60).contains(&expires), "{url}");
}
