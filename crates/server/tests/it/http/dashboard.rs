//! The operator dashboard: coverage, imports, and quarantine.

use std::sync::atomic::AtomicBool;

use access::{Actor, Created, NewAccount, Role, Terms};
use history::import::{Context, Options, Progress, import};
use market::{Grain, Venues};
use serde_json::{Value, json};
use store::Store;

use crate::support::{NOW, Response, Running, import_with};

fn operator(server: &Running) -> Created {
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", Terms::default()) };
    server.access.create(&new, &Actor::Operator, NOW).unwrap()
}

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

#[tokio::test]
async fn coverage_has_a_letter_per_day_and_is_paged_by_symbol() {
    let server = Running::start().await;
    let op = operator(&server);
    let week = data(&server.get("/v1/coverage?days=7", &op).await);
    // The last two days are the weekend after the last trading day.
    assert_eq!(
        week,
        json!({
            "start": "2026-11-09", "end": "2026-11-15", "today": "2026-11-15", "next": null, "total": 3, "uncounted": 0,
            "rows": [
                {"symbol": "600519.SH", "days": "ccccc.."}, {"symbol": "700.HK", "days": "ccccc.."},
                {"symbol": "AAPL.US", "days": "ccccc.."},
            ],
        })
    );
    let whole = data(&server.get("/v1/coverage", &op).await);
    let days = whole["rows"][1]["days"].as_str().unwrap();
    assert_eq!((days.len(), &whole["start"]), (91, &json!("2026-08-17")));
    assert!(days.starts_with("......") && days.contains(".ccccc---cccc--c"), "{days}");
    let first = data(&server.get("/v1/coverage?days=1&end=2026-11-13&limit=1", &op).await);
    assert_eq!(
        (&first["rows"], &first["next"]),
        (&json!([{"symbol": "600519.SH", "days": "c"}]), &json!("600519.SH"))
    );
    let rest = data(&server.get("/v1/coverage?days=1&end=2026-11-13&limit=2&after=600519.SH", &op).await);
    assert_eq!((&rest["rows"][1]["symbol"], &rest["next"]), (&json!("AAPL.US"), &Value::Null));
    for query in [
        "days=0",
        "days=93",
        "limit=101",
        "end=yesterday",
        "after=x",
        "order=best",
        "order=worst&after=700.HK",
        "market=SG",
        "start=2026-11-01",
        "days=1&days=1",
        "end=-009999-01-01",
    ] {
        let refused = server.get(&format!("/v1/coverage?{query}"), &op).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (400, Some(301_600)), "{query}");
    }
}

#[tokio::test]
async fn coverage_shows_which_days_have_trades() {
    let server = Running::start().await;
    let op = operator(&server);
    let path = server.dir.path().join("trades.csv");
    let text = "symbol,time,price,volume\n700.HK,2026-11-11 10:00:00,600,100\n\
        700.HK,2026-11-13 10:00:00,600,100\n700.HK,2026-11-13 10:00:00,600,100\n";
    std::fs::write(&path, text).unwrap();
    import_with(server.dir.path(), &[path], Options::default());
    server.noticed().await;
    let week = data(&server.get("/v1/coverage?days=7", &op).await);
    assert_eq!(week["rows"][1], json!({"symbol": "700.HK", "days": "ccccc..", "trades": "..t.t.."}));
    assert_eq!(week["rows"][2].get("trades"), None);
    let body = data(&server.get("/v1/coverage/700.HK?start=2026-11-11&end=2026-11-13", &op).await);
    let trades: Vec<&Value> = body["days"].as_array().unwrap().iter().map(|day| &day["trades"]).collect();
    assert_eq!(trades, [&json!(1), &json!(0), &json!(2)]);
}

#[tokio::test]
async fn gaps_are_listed_with_their_reasons() {
    let server = Running::start().await;
    let op = operator(&server);
    // Import two of every three minutes, starting half an hour after the open, for a security
    // without other candles.
    let row =
        |minute: u32| format!("9.HK,2026-11-12T{:02}:{:02}:00+08:00,1,1,1,1,1\n", minute / 60, minute % 60);
    let minutes: String = (600..720).chain(780..960).filter(|minute| minute % 3 != 2).map(row).collect();
    let path = server.dir.path().join("thin.csv");
    std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{minutes}")).unwrap();
    // Regular gaps would be detected as a coarser period, so the period is set explicitly.
    let mut options = Options::default();
    options.read.period = Some(Grain::Minute);
    import_with(server.dir.path(), &[path], options);
    server.noticed().await;
    let body = data(&server.get("/v1/coverage/9.HK?start=2026-11-12&end=2026-11-13", &op).await);
    assert_eq!(
        (&body["symbol"], &body["start"], &body["end"]),
        (&json!("9.HK"), &json!("2026-11-12"), &json!("2026-11-13"))
    );
    let day = &body["days"][0];
    for (pointer, wanted) in [
        ("/date", json!("2026-11-12")),
        ("/day", json!("full")),
        ("/daily", json!(false)),
        ("/daily_missing", json!("not loaded")),
        ("/minutes", json!(200)),
        ("/expected", json!(331)),
        ("/extended", json!(0)),
        ("/gaps_omitted", json!(51)),
        (
            "/gaps/0",
            json!({"first": "2026-11-12T09:30:00+08:00", "last": "2026-11-12T09:59:00+08:00", "minutes": 30, "reason": "not loaded"}),
        ),
        // Gaps with missing data come before minutes without trades, even if they are later in the
        // day.
        (
            "/gaps/1",
            json!({"first": "2026-11-12T15:59:00+08:00", "last": "2026-11-12T16:00:00+08:00", "minutes": 2, "reason": "not loaded"}),
        ),
        (
            "/gaps/2",
            json!({"first": "2026-11-12T10:02:00+08:00", "last": "2026-11-12T10:02:00+08:00", "minutes": 1, "reason": "no trades"}),
        ),
    ] {
        assert_eq!(day.pointer(pointer), Some(&wanted), "{pointer}: {day:#}");
    }
    assert_eq!(day["gaps"].as_array().unwrap().len(), 50);
    assert_eq!(body["days"][1]["minutes"], 0);
    let letters = data(&server.get("/v1/coverage?days=2&end=2026-11-13", &op).await);
    assert!(
        letters["rows"].as_array().unwrap().contains(&json!({"symbol": "9.HK", "days": "pm"})),
        "{letters}"
    );
    for (path, status, code) in [
        ("/v1/coverage/9999.HK", 404, 404),
        ("/v1/coverage/5.HK", 404, 301_603),
        ("/v1/coverage/x", 400, 301_600),
        ("/v1/coverage/700.HK?start=2026-11-13&end=2026-11-12", 400, 301_600),
        ("/v1/coverage/700.HK?start=2026-08-01&end=2026-11-12", 400, 301_600),
    ] {
        let refused = server.get(path, &op).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (status, Some(code)), "{path}");
    }
}

#[tokio::test]
async fn the_import_ledger_is_paged_newest_first() {
    let server = Running::start().await;
    let op = operator(&server);
    let all = data(&server.get("/v1/imports", &op).await);
    let ids: Vec<i64> =
        all["imports"].as_array().unwrap().iter().map(|one| one["import"].as_i64().unwrap()).collect();
    assert_eq!((ids.as_slice(), &all["next"]), ([4, 3, 2, 1].as_slice(), &Value::Null));
    let newest = &all["imports"][0];
    assert!(newest["file"].as_str().unwrap().ends_with("actions.csv"), "{newest}");
    assert_eq!(
        (&newest["kind"], &newest["state"], &newest["rows"]),
        (&json!("actions"), &json!("done"), &json!(1))
    );
    assert_eq!(newest["digest"].as_str().unwrap().len(), 64);
    assert_eq!(newest["started_at"], "2026-11-15T02:00:00Z");
    let first = data(&server.get("/v1/imports?limit=3", &op).await);
    assert_eq!((first["imports"].as_array().unwrap().len(), &first["next"]), (3, &json!(2)));
    let rest = data(&server.get("/v1/imports?limit=3&before=2", &op).await);
    assert_eq!((&rest["imports"][0]["import"], &rest["next"]), (&json!(1), &Value::Null));
    for query in ["limit=0", "limit=201", "before=x", "after=1"] {
        assert_eq!(server.get(&format!("/v1/imports?{query}"), &op).await.status, 400, "{query}");
    }
}

/// Imports four rows, of which three are rejected.
fn quarantine_some(server: &Running) {
    let path = server.dir.path().join("bad.csv");
    let long = "9".repeat(2_000);
    let rows = format!(
        "symbol,time,open,high,low,close,volume\n700.HK,2026-11-10,90,89,91,90,100\n700.HK,2026-11-12,90,91,89,90,100\n\
         AAPL.US,2026-11-11,-1,91,89,90,100\nXYZ.QQ,2026-11-11,{long},91,89,90,100\n"
    );
    std::fs::write(&path, rows).unwrap();
    let store = Store::open(server.dir.path(), store::Access::Write { now: NOW }).unwrap();
    let (venues, options) = (Venues::built_in().unwrap(), Options::default());
    let (stop, progress) = (AtomicBool::new(false), Progress::default());
    let now = || NOW;
    let context = Context {
        store: &store,
        venues: &venues,
        options: &options,
        now: &now,
        stop: &stop,
        progress: &progress,
    };
    assert_eq!(import(&context, &[path]).unwrap()[0].quarantined, 3);
}

#[tokio::test]
async fn rejected_rows_are_filtered_by_import_or_symbol() {
    let server = Running::start().await;
    let op = operator(&server);
    assert_eq!(data(&server.get("/v1/quarantine", &op).await), json!({"rows": [], "next": null}));
    quarantine_some(&server);
    server.noticed().await;
    let all = data(&server.get("/v1/quarantine", &op).await);
    let lines: Vec<u64> =
        all["rows"].as_array().unwrap().iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!((lines.as_slice(), &all["next"]), ([2, 4, 5].as_slice(), &Value::Null));
    let row = &all["rows"][0];
    assert_eq!(
        (&row["import"], &row["symbol"], &row["is_known"]),
        (&json!(5), &json!("700.HK"), &json!(true))
    );
    assert!(
        row["file"].as_str().unwrap().ends_with("bad.csv") && !row["reason"].as_str().unwrap().is_empty()
    );
    assert_eq!(all["rows"][2]["is_known"], false);
    assert_eq!(all["rows"][2]["text"].as_str().unwrap().chars().count(), 500);
    let first = data(&server.get("/v1/quarantine?limit=2", &op).await);
    let next = first["next"].as_str().unwrap();
    let rest = data(&server.get(&format!("/v1/quarantine?limit=2&after={next}"), &op).await);
    assert_eq!((&rest["rows"][0]["line"], &rest["next"]), (&json!(5), &Value::Null));
    let count = async |query: &str| {
        data(&server.get(&format!("/v1/quarantine?{query}"), &op).await)["rows"].as_array().unwrap().len()
    };
    assert_eq!((count("import=5").await, count("import=1").await, count("symbol=00700.HK").await), (3, 0, 1));
    for query in ["import=5&symbol=700.HK", "limit=201", "after=-1", "import=x", "line=2"] {
        let refused = server.get(&format!("/v1/quarantine?{query}"), &op).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (400, Some(301_600)), "{query}");
    }
}
