//! Restoring a backup. The server must be stopped, and serves the restored store after a restart.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use access::Terms;
use server::Settings;
use store::{Backup, BackupError, Existing, KeyFile, Progress, Restore, Scope, StoreError};
use wire::quote::{DateRequest, SecurityCandlestickResponse, SecurityHistoryCandlestickRequest};

use crate::support::{Client, NOW, Running, import_files, machine_now};

fn on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn restore(from: &Path, store: &Path) -> Result<(), BackupError> {
    let restore = Restore {
        from,
        store,
        scope: Scope::All,
        key: None,
        existing: Existing::ReplaceAndForget,
        chandler: "1",
        now: machine_now(),
        actor: "operator",
    };
    restore.run(&mut on).map(drop)
}

/// Writes a file with a week of daily candles of 5.HK at one price.
fn week(dir: &Path, price: u32) -> PathBuf {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for day in 9..=13 {
        text += &format!("5.HK,2026-11-{day:02},{price},{price},{price},{price},100\n");
    }
    let path = dir.join(format!("{price}.csv"));
    std::fs::write(&path, text).unwrap();
    path
}

/// Returns the last close of 5.HK.
async fn close(server: &Running, client: &mut Client) -> String {
    server.noticed().await;
    let dates = DateRequest { start_date: "20261109".to_owned(), end_date: "20261113".to_owned() };
    let question = SecurityHistoryCandlestickRequest {
        symbol: "5.HK".to_owned(),
        period: 1000,
        query_type: 2,
        date_request: Some(dates),
        ..Default::default()
    };
    let answer: SecurityCandlestickResponse = client.ask(27, &question).await.unwrap();
    answer.candlesticks.last().unwrap().close.clone()
}

#[tokio::test]
async fn a_stopped_server_is_restored_and_restarted() {
    let server = Running::start().await;
    let files = tempfile::tempdir().unwrap();
    let backup = files.path().join("backup");
    let ann = server.account("ann", Terms::default());
    import_files(server.dir.path(), &[week(files.path(), 50)]);
    let made =
        Backup { store: server.dir.path(), to: &backup, key: KeyFile::Include, chandler: "1", now: NOW };
    made.make(&mut on).unwrap();
    import_files(server.dir.path(), &[week(files.path(), 60)]);
    let client = &mut server.signed_in(&ann).await;
    assert_eq!(close(&server, client).await, "60.000");
    let refused = restore(&backup, server.dir.path()).unwrap_err();
    assert!(matches!(refused, BackupError::Store(StoreError::Served { pid: Some(_), .. })), "{refused:?}");
    assert_eq!(close(&server, client).await, "60.000");

    let dir = server.stop().await;
    // A background thread may still hold the store for a short time.
    while let Err(error) = restore(&backup, dir.path()) {
        let is_open = matches!(
            error,
            BackupError::Store(
                StoreError::Served { .. } | StoreError::Locked { .. } | StoreError::Busy { .. }
            )
        );
        assert!(is_open, "{error:?}");
    }
    let server = Running::start_in(dir, Settings::default()).await;
    let client = &mut server.signed_in(&ann).await;
    assert_eq!(close(&server, client).await, "50.000");
}
