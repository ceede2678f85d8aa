//! Files that operators upload for import.

use std::path::PathBuf;

use access::{Actor, Created, NewAccount, Role, Terms};
use serde_json::{Value, json};
use server::Settings;
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::support::{NOW, PATIENCE, Response, Running};

/// Two valid daily candles, and a row whose high is below its low.
const DAYS: &str = "date,open,high,low,close,volume\n2026-11-10,90,91,89,90.5,100\n2026-11-11,90.5,92,90,91,200\n\
                    2026-11-12,91,80,95,91,300\n";

fn operator(server: &Running) -> Created {
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", Terms::default()) };
    server.access.create(&new, &Actor::Operator, NOW).unwrap()
}

fn bearer(account: &Created) -> String {
    format!("authorization: Bearer {}\r\n", account.access_token.expose())
}

/// Returns the headers of a file upload.
fn as_file(account: &Created) -> String {
    format!("content-type: application/octet-stream\r\n{}", bearer(account))
}

#[track_caller]
fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

async fn send(server: &Running, account: &Created, name: &str, file: &[u8]) -> Response {
    server.http("POST", &format!("/v1/uploads?name={name}"), &as_file(account), file).await
}

/// Uploads a file and returns the upload's path in the API.
async fn sent(server: &Running, account: &Created, name: &str, file: &[u8]) -> String {
    let upload = data(&send(server, account, name, file).await);
    format!("/v1/uploads/{}", upload["upload"].as_str().unwrap())
}

/// Waits for an import to end and returns its result.
async fn ended(server: &Running, account: &Created, upload: &str) -> Value {
    let wait = async {
        loop {
            let run = data(&server.get(upload, account).await)["import"].clone();
            if run["state"] != "running" {
                return run;
            }
        }
    };
    timeout(PATIENCE, wait).await.unwrap()
}

/// Lists the files in the uploads folder.
fn folder(server: &Running) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(server.dir.path().join("uploads"));
    entries.map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

async fn until_folder_has(server: &Running, count: usize) {
    let wait = async {
        while folder(server).len() != count {
            yield_now().await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap();
}

#[tokio::test]
async fn a_dry_run_shows_the_first_trades() {
    let server = Running::start().await;
    let op = operator(&server);
    let trades = "symbol,time,price,volume,type\n700.HK,2026-11-13T09:30:05+08:00,612.5,1200,U\n";
    let upload = sent(&server, &op, "trades.csv", trades.as_bytes()).await;
    let looked = data(&server.post(&format!("{upload}/dry-run"), &op, "{}").await);
    let file = &looked["files"][0];
    assert_eq!((&file["outcome"], &file["added"]), (&json!("checked"), &json!(1)), "{file:#}");
    assert_eq!(
        file["first_trades"],
        json!([{
            "symbol": "700.HK", "time": "2026-11-13T09:30:05+08:00", "price": "612.5", "volume": 1200,
            "direction": "", "type": "U",
        }])
    );
}

#[tokio::test]
async fn a_file_is_previewed_imported_and_undone() {
    let server = Running::start().await;
    let op = operator(&server);
    let upload = sent(&server, &op, "TSLA.US.csv", DAYS.as_bytes()).await;
    let waiting = data(&server.get("/v1/uploads", &op).await);
    assert_eq!(waiting["bytes_max"], json!(2_u64 << 30));
    let first = &waiting["uploads"][0];
    assert_eq!((&first["file"], &first["import"]), (&json!("TSLA.US.csv"), &Value::Null));
    assert_eq!(first["bytes"], json!(DAYS.len()));

    let looked = data(&server.post(&format!("{upload}/dry-run"), &op, "{}").await);
    let file = &looked["files"][0];
    assert_eq!((&file["outcome"], &file["kind"]), (&json!("checked"), &json!("candles")), "{file:#}");
    assert_eq!((&file["rows"], &file["quarantined"]), (&json!(3), &json!(1)), "{file:#}");
    assert_eq!(file["names"], json!(["TSLA.US"]));
    assert_eq!(file["first"], "2026-11-10T00:00:00-05:00");
    assert_eq!(file["problems"][0]["line"], 4);
    let row = &file["first_rows"][0];
    assert_eq!((&row["time"], &row["close"]), (&json!("2026-11-10"), &json!("90.5")), "{row}");
    let understood = &file["understood"];
    assert_eq!(
        (&understood["period"], &understood["symbol_from"], &understood["zone"]),
        (&json!("day"), &json!("file_name"), &json!("America/New_York")),
        "{understood}"
    );
    assert_eq!(server.get("/v1/securities/TSLA.US", &op).await.status, 404, "nothing is stored yet");

    data(&server.post(&format!("{upload}/import"), &op, "{}").await);
    let run = ended(&server, &op, &upload).await;
    let file = &run["files"][0];
    assert_eq!((&run["state"], &file["added"], &file["quarantined"]), (&json!("done"), &json!(2), &json!(1)));
    let import = file["import"].as_i64().unwrap();
    server.noticed().await;
    assert_eq!(server.get("/v1/securities/TSLA.US", &op).await.status, 200);

    // The same file is stored once under its name, and recognised under another name.
    assert_eq!(sent(&server, &op, "TSLA.US.csv", DAYS.as_bytes()).await, upload);
    let again = sent(&server, &op, "TSLA.US_1d.csv", DAYS.as_bytes()).await;
    assert_ne!(again, upload);
    let looked = data(&server.post(&format!("{again}/dry-run"), &op, "").await);
    assert_eq!(looked["files"][0]["outcome"], "known", "{looked:#}");
    data(&server.post(&format!("{again}/import"), &op, "{}").await);
    assert_eq!(ended(&server, &op, &again).await["state"], "known");

    let undo = format!("/v1/imports/{import}/undo");
    let planned = data(&server.post(&undo, &op, r#"{"dry_run":true}"#).await);
    assert_eq!((&planned["is_done"], &planned["removed"]), (&json!(false), &json!(2)), "{planned}");
    assert_eq!(
        (&planned["series"][0]["symbol"], &planned["series"][0]["period"]),
        (&json!("TSLA.US"), &json!("1d"))
    );
    assert_eq!(planned["source"], "same");
    let undone = data(&server.post(&undo, &op, "{}").await);
    assert_eq!((&undone["is_done"], &undone["removed"]), (&json!(true), &json!(2)), "{undone}");
    server.noticed().await;
    assert_eq!(server.get("/v1/securities/TSLA.US", &op).await.status, 404);
    let twice = server.post(&undo, &op, "{}").await;
    assert_eq!((twice.status, twice.json()["code"].as_u64()), (409, Some(409)), "{}", twice.text());
    assert_eq!(server.post("/v1/imports/999/undo", &op, "{}").await.status, 404);

    // An undone import can be repeated from the uploaded file.
    data(&server.post(&format!("{upload}/import"), &op, "{}").await);
    assert_eq!(ended(&server, &op, &upload).await["state"], "done");
    // Imports and undos are audited with their actor, but previews are not.
    let begun = ["TSLA.US.csv", "TSLA.US_1d.csv", "TSLA.US.csv"];
    for (event, reasons) in [
        ("import.begun", begun.map(|name| format!("{name}, {} bytes", DAYS.len())).to_vec()),
        ("import.undone", vec![format!("import {import}, TSLA.US.csv: 2 candles removed, 0 restored")]),
    ] {
        let audit = data(&server.get(&format!("/v1/admin/audit?event={event}"), &op).await);
        let rows = audit["rows"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["actor_account"] == "op"), "{audit}");
        let actual: Vec<&str> = rows.iter().map(|row| row["reason"].as_str().unwrap()).collect();
        assert_eq!(actual, reasons, "{audit}");
    }
    let removed = server.http("DELETE", &upload, &bearer(&op), b"").await;
    assert_eq!((removed.status, server.get(&upload, &op).await.status), (200, 404));
}

#[tokio::test]
async fn options_supply_missing_file_information() {
    let server = Running::start().await;
    let op = operator(&server);
    let upload = sent(&server, &op, "prices.csv", DAYS.as_bytes()).await;
    let look = async |options: &str| server.post(&format!("{upload}/dry-run"), &op, options).await;
    let file = &data(&look("{}").await)["files"][0];
    assert_eq!(file["outcome"], "failed");
    assert!(file["message"].as_str().unwrap().contains("symbol"), "{file:#}");
    assert_eq!((&file["needs_symbol"], &file["suggested_symbol"]), (&json!(true), &Value::Null), "{file:#}");
    let numbered = sent(&server, &op, "9.csv", DAYS.as_bytes()).await;
    let file = &data(&server.post(&format!("{numbered}/dry-run"), &op, "{}").await)["files"][0];
    assert_eq!(
        (&file["needs_symbol"], &file["suggested_symbol"]),
        (&json!(true), &json!("9.HK")),
        "{file:#}"
    );
    let file = &data(&look(r#"{"symbol":"9","region":"HK"}"#).await)["files"][0];
    assert_eq!((&file["outcome"], &file["names"]), (&json!("checked"), &json!(["9.HK"])), "{file:#}");
    let file = &data(&look(r#"{"symbol":"9.HK","region":""}"#).await)["files"][0];
    assert_eq!((&file["outcome"], &file["names"]), (&json!("checked"), &json!(["9.HK"])), "{file:#}");
    for options in [
        r#"{"symbol":"nothing"}"#,
        r#"{"region":"XX"}"#,
        r#"{"period":"5d"}"#,
        r#"{"time_format":"x"}"#,
        r#"{"scale":"volume"}"#,
        r#"{"stamp":"middle"}"#,
        r#"{"sybmol":"9.HK"}"#,
        "[]",
        "{",
    ] {
        let refused = look(options).await;
        assert_eq!(refused.status, 400, "{options}: {}", refused.text());
        assert_eq!(server.post(&format!("{upload}/import"), &op, options).await.status, 400, "{options}");
    }
    // Paths and unknown names do not resolve to a file.
    for path in ["/v1/uploads/x", "/v1/uploads/..%2f..", "/v1/uploads/1-0000000000000000"] {
        assert_eq!(server.get(path, &op).await.status, 404, "{path}");
        assert_eq!(server.post(&format!("{path}/import"), &op, "{}").await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_refused_file_is_removed() {
    let server = Running::start_with(Settings { upload_bytes: 1 << 20, ..Settings::default() }).await;
    let op = operator(&server);
    let plain = server.account("plain", Terms::default());
    let refused = send(&server, &plain, "AAPL.csv", DAYS.as_bytes()).await;
    assert_eq!((refused.status, refused.json()["code"].as_u64()), (403, Some(403_008)), "{}", refused.text());
    assert_eq!(server.http("POST", "/v1/uploads?name=AAPL.csv", "", DAYS.as_bytes()).await.status, 401);

    for (query, body) in [("", DAYS), ("?name=", DAYS), ("?name=..", DAYS), ("?name=AAPL.csv", "")] {
        let path = format!("/v1/uploads{query}");
        let refused = server.http("POST", &path, &bearer(&op), body.as_bytes()).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (400, Some(301_600)), "{path}");
    }

    // An upload of 10 GiB is refused by its declared length.
    let head = format!("POST /v1/uploads?name=AAPL.csv HTTP/1.1\r\nhost: test\r\n{}", bearer(&op));
    let refused = server.raw(&format!("{head}content-length: 10737418240\r\n\r\n")).await;
    assert_eq!((refused.status, refused.json()["code"].as_u64()), (413, Some(413)));
    assert!(refused.text().contains("1 MiB"), "{}", refused.text());
    // Without a declared length, the upload is refused as soon as it exceeds the limit.
    let piece = "x".repeat((1 << 20) + 1);
    let chunked = format!(
        "{head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{piece}\r\n0\r\n\r\n",
        piece.len()
    );
    assert_eq!(server.raw(&chunked).await.status, 413);
    until_folder_has(&server, 0).await;

    // An image can be uploaded, but it cannot be parsed as a table.
    let upload = sent(&server, &op, "AAPL.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").await;
    let looked = data(&server.post(&format!("{upload}/dry-run"), &op, "{}").await);
    assert_eq!(looked["files"][0]["outcome"], "failed", "{looked:#}");
    data(&server.post(&format!("{upload}/import"), &op, "{}").await);
    assert_eq!(ended(&server, &op, &upload).await["state"], "failed");
    // There is room for four files of the maximum size.
    let large = "x".repeat(1 << 20);
    for number in 0..3 {
        sent(&server, &op, &format!("large{number}.csv"), large.as_bytes()).await;
    }
    let refused = send(&server, &op, "large3.csv", large.as_bytes()).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
}

#[tokio::test]
async fn an_aborted_upload_is_removed() {
    let server = Running::start().await;
    let op = operator(&server);
    let mut stream = TcpStream::connect(server.addresses.http).await.unwrap();
    let head = format!(
        "POST /v1/uploads?name=AAPL.csv HTTP/1.1\r\nhost: test\r\ncontent-length: 1000\r\n{}\r\ndate,open",
        bearer(&op)
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    until_folder_has(&server, 1).await;
    assert_eq!(data(&server.get("/v1/uploads", &op).await)["uploads"], json!([]), "it has not arrived");
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap().ok();
    until_folder_has(&server, 0).await;
}

#[tokio::test]
async fn an_import_is_refused_while_another_one_runs() {
    let server = Running::start().await;
    let op = operator(&server);
    let upload = sent(&server, &op, "TSLA.US.csv", DAYS.as_bytes()).await;
    let store = Store::open(server.dir.path(), store::Access::Read).unwrap();
    let writer = store.writer().unwrap();
    let refused = server.post(&format!("{upload}/import"), &op, "{}").await;
    assert_eq!((refused.status, refused.json()["code"].as_u64()), (409, Some(409)), "{}", refused.text());
    assert!(refused.text().contains("wait"), "{}", refused.text());
    assert_eq!(data(&server.get(&upload, &op).await)["import"], Value::Null);
    drop(writer);
    data(&server.post(&format!("{upload}/import"), &op, "{}").await);
    assert_eq!(ended(&server, &op, &upload).await["state"], "done");
    // Stopping an import that has ended changes nothing.
    data(&server.post(&format!("{upload}/stop"), &op, "{}").await);
    assert_eq!(ended(&server, &op, &upload).await["state"], "done");
}
