//! A restore while a server runs: all answers change together, and nothing stale comes from the
//! cache.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use access::Terms;
use store::{Backup, Existing, KeyFile, Progress, Restore, Scope};
use wire::quote::{DateRequest, SecurityCandlestickResponse, SecurityHistoryCandlestickRequest};

use crate::support::{Client, NOW, Running, import_files, machine_now};

fn unlimited() -> Terms {
    Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() }
}

fn on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn back_up(store: &Path, to: &Path) {
    Backup { store, to, key: KeyFile::Include, chandler: "1", now: NOW }.make(&mut on).unwrap();
}

fn restore(from: &Path, store: &Path, existing: Existing) {
    let restore = Restore {
        from,
        store,
        scope: Scope::All,
        key: None,
        existing,
        chandler: "1",
        now: machine_now(),
        actor: "operator",
    };
    restore.run(&mut on).unwrap();
}

/// A file with a week of days of 5.HK at a price.
fn week(dir: &Path, price: u32) -> PathBuf {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for day in 9..=13 {
        text += &format!("5.HK,2026-11-{day:02},{price},{price},{price},{price},100\n");
    }
    let path = dir.join(format!("{price}.csv"));
    std::fs::write(&path, text).unwrap();
    path
}

fn question(symbol: &str) -> SecurityHistoryCandlestickRequest {
    SecurityHistoryCandlestickRequest {
        symbol: symbol.to_owned(),
        period: 1000,
        query_type: 2,
        date_request: Some(DateRequest {
            start_date: "20261109".to_owned(),
            end_date: "20261113".to_owned(),
        }),
        ..Default::default()
    }
}

/// The last close of 5.HK, or the code of the refusal. Requested twice: the second answer comes
/// from the cache.
async fn close(server: &Running, client: &mut Client) -> Result<String, u64> {
    server.noticed().await;
    let mut closes = Vec::new();
    for _ in 0..2 {
        let answer = client.ask::<SecurityCandlestickResponse>(27, &question("5.HK")).await;
        closes.push(
            answer
                .map(|answer| answer.candlesticks.last().unwrap().close.clone())
                .map_err(|(_, code, _)| code),
        );
    }
    assert_eq!(closes.first(), closes.last());
    closes.remove(0)
}

#[tokio::test]
async fn a_running_server_answers_from_the_restored_store() {
    let server = Running::start().await;
    let store = server.dir.path();
    let ann = server.account("ann", unlimited());
    let files = tempfile::tempdir().unwrap();
    let [empty, other, diverged] = ["empty", "other", "diverged"].map(|name| files.path().join(name));
    back_up(store, &empty);
    // A diverged copy of the same store, which uses the same numbers for other blocks.
    restore(&empty, &other, Existing::Refuse);
    import_files(&other, &[week(files.path(), 70)]);
    back_up(&other, &diverged);

    let client = &mut server.signed_in(&ann).await;
    assert_eq!(close(&server, client).await, Err(301603), "no candles yet");
    import_files(store, &[week(files.path(), 50)]);
    assert_eq!(close(&server, client).await.unwrap(), "50.000");
    restore(&diverged, store, Existing::ReplaceAndForget);
    assert_eq!(close(&server, client).await.unwrap(), "70.000");
    restore(&empty, store, Existing::ReplaceAndForget);
    assert_eq!(close(&server, client).await, Err(301603));
    import_files(store, &[week(files.path(), 60)]);
    assert_eq!(close(&server, client).await.unwrap(), "60.000");
}

#[tokio::test]
async fn restored_accounts_apply_to_the_next_request_and_unaffected_connections_stay() {
    let server = Running::start().await;
    let store = server.dir.path();
    let ann = server.account("ann", unlimited());
    let files = tempfile::tempdir().unwrap();
    let backup = files.path().join("backup");
    back_up(store, &backup);
    let bea = server.account("bea", unlimited());
    let (mut of_ann, mut of_bea) = (server.signed_in(&ann).await, server.signed_in(&bea).await);
    for client in [&mut of_ann, &mut of_bea] {
        let answer: SecurityCandlestickResponse = client.ask(27, &question("700.HK")).await.unwrap();
        assert!(!answer.candlesticks.is_empty());
    }
    restore(&backup, store, Existing::Replace);
    server.noticed().await;
    let answer: SecurityCandlestickResponse = of_ann.ask(27, &question("700.HK")).await.unwrap();
    assert!(!answer.candlesticks.is_empty(), "whose account is the same notices nothing");
    let refused = of_bea.ask::<SecurityCandlestickResponse>(27, &question("700.HK")).await.unwrap_err();
    assert_eq!((refused.0, refused.1), (5, 401004), "{refused:?}");
    assert_ne!(of_bea.closed().await.0, 0, "whose account is not there any more is shown out");
    assert_eq!(server.get("/v1/socket/token", &bea).await.status, 401);
    assert_eq!(server.get("/v1/socket/token", &ann).await.status, 200);
}
