//! Databases that are truncated, emptied or modified while a server is running. Requests for lost
//! data must fail instead of returning wrong data, and the process must not exit.

use std::fs::{self, File};
use std::path::Path;

use access::Terms;
use server::Settings;
use wire::quote::{self, SecurityCandlestickResponse};

use crate::support::{Client, Running};

fn unlimited() -> Terms {
    Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() }
}

/// Returns settings without a cache, so that every request reads the file.
fn without_cache() -> Settings {
    Settings { cache_bytes: 0, ..Settings::default() }
}

fn question(symbol: &str, period: i32, count: i32) -> quote::SecurityHistoryCandlestickRequest {
    quote::SecurityHistoryCandlestickRequest {
        symbol: symbol.to_owned(),
        period,
        query_type: 1,
        offset_request: Some(quote::OffsetRequest { count, ..Default::default() }),
        ..Default::default()
    }
}

/// Sends several requests. A refused request is returned as an error with its code.
async fn ask_all(client: &mut Client) -> Vec<Result<SecurityCandlestickResponse, u64>> {
    let mut answers = Vec::new();
    for symbol in ["700.HK", "AAPL.US", "600519.SH"] {
        for period in [1, 15, 60, 1000, 2000] {
            for count in [10, 500] {
                let answer = client.ask(27, &question(symbol, period, count)).await;
                answers.push(answer.map_err(|(_, code, _)| code));
            }
        }
    }
    answers
}

async fn reasons(server: &Running) -> (u16, Vec<String>) {
    let answer = server.http("GET", "/readyz", "", b"").await;
    let reasons = answer.json()["reasons"].as_array().unwrap().clone();
    (answer.status, reasons.iter().map(|reason| reason.as_str().unwrap().to_owned()).collect())
}

/// Overwrites the file with the first `length` bytes of `bytes`. The file is overwritten in place,
/// because readers have it open.
fn cut(path: &Path, bytes: &[u8], length: usize) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(0).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes[..length], 0).unwrap();
}

#[tokio::test]
async fn truncated_candles_cause_errors_without_a_crash() {
    let server = Running::start_with(without_cache()).await;
    let mut client = server.signed_in(&server.account("ann", unlimited())).await;
    let expected = ask_all(&mut client).await;
    assert!(expected.iter().filter(|answer| answer.is_ok()).count() > 20, "{expected:?}");
    let path = server.dir.path().join("candles.db");
    let bytes = fs::read(&path).unwrap();
    let mut refused = 0usize;
    for cut_to in (0..25).map(|step| bytes.len() * step / 25) {
        cut(&path, &bytes, cut_to);
        assert_eq!(reasons(&server).await, (503, vec!["store".to_owned()]), "{cut_to}");
        for (answer, expected) in ask_all(&mut client).await.into_iter().zip(&expected) {
            let is_refused = answer == Err(301_602);
            assert!(is_refused || answer == *expected, "{answer:?}");
            refused += usize::from(is_refused);
        }
        cut(&path, &bytes, bytes.len());
        assert_eq!(reasons(&server).await, (200, Vec::new()), "{cut_to}");
    }
    assert!(refused > 0);
    assert_eq!(ask_all(&mut client).await, expected, "whole again");
}

#[tokio::test]
async fn truncated_accounts_make_the_server_not_ready() {
    let server = Running::start().await;
    let ann = server.account("ann", unlimited());
    // The WAL is checkpointed into the database when the last connection closes.
    let server = Running::start_in(server.stop().await, Settings::default()).await;
    assert_eq!(server.get("/v1/socket/token", &ann).await.status, 200);
    assert_eq!(reasons(&server).await, (200, Vec::new()));
    let path = server.dir.path().join("accounts.db");
    for length in [0, 100, 4_096, 20_000] {
        let file = File::options().write(true).open(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() > length);
        file.set_len(length as u64).unwrap();
        assert_eq!(reasons(&server).await, (503, vec!["accounts".to_owned()]), "{length}");
        let status = server.http("GET", "/healthz", "", b"").await.status;
        assert_eq!(status, 200);
        cut(&path, &bytes, bytes.len());
        assert_eq!(reasons(&server).await, (200, Vec::new()), "{length}");
    }
}

#[tokio::test]
async fn a_flipped_bit_causes_an_error_instead_of_a_wrong_response() {
    let server = Running::start_with(without_cache()).await;
    let created = server.account("ann", unlimited());
    let expected = ask_all(&mut server.signed_in(&created).await).await;
    let dir = server.stop().await;
    let path = dir.path().join("candles.db");
    let bytes = fs::read(&path).unwrap();
    // The first occurrence of the symbol is in the table of securities.
    let at = bytes.windows(9).position(|word| word == b"600519.SH").unwrap();
    let mut flipped = bytes.clone();
    flipped[at + 3] ^= 1;
    fs::write(&path, flipped).unwrap();
    let server = Running::start_in(dir, without_cache()).await;
    let answers = ask_all(&mut server.signed_in(&created).await).await;
    for (answer, expected) in answers.into_iter().zip(expected) {
        assert!(answer == expected || answer == Err(301_602), "{answer:?}");
    }
}
