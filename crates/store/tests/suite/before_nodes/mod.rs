//! A store from before PostgreSQL support, as an SQLite dump: it opens, is migrated, and has lost
//! nothing.

use market::Timestamp;
use rusqlite::Connection;
use store::{
    Access, Accounts, AuditFilter, Depth, ImportState, MonthUsage, QuarantineOf, Store, StoreError, TradeDay,
};

use crate::fixture::{Home, NOW, block, margin, minutes, put, spans, symbol};
use crate::journals;

const LATER: Timestamp = Timestamp(NOW.0 + 60);

fn before() -> Home {
    let home = Home::new();
    for (part, text) in [("candles", include_str!("candles.sql")), ("accounts", include_str!("accounts.sql"))]
    {
        let conn = Connection::open(home.path().join(format!("{part}.db"))).unwrap();
        conn.execute_batch(&format!("pragma foreign_keys = off; {text}")).unwrap();
    }
    home
}

#[test]
fn old_candles_are_migrated_completely_and_can_be_extended() {
    let home = before();
    let store = Store::open(&home, Access::Write { now: LATER }).unwrap();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.check(Depth::Full, |_, _, _| None).unwrap(), []);
    let snapshot = reader.snapshot().unwrap();
    let series = minutes("700.HK");
    let entries = snapshot.blocks(&series, None, None).unwrap();
    assert_eq!(spans(&entries), "0..=9 10..=19 30..=39");
    let mut body = Vec::new();
    snapshot.block(&entries[2], &mut body).unwrap();
    assert_eq!(body, b"30..=39");
    assert_eq!(spans(&snapshot.blocks(&minutes("AAPL.US"), None, None).unwrap()), "0..=9 20..=29");
    let security = snapshot.security(&symbol("700.HK")).unwrap().unwrap();
    assert_eq!((security.name_en.as_deref(), security.lot_size), (Some("A name"), Some(100)));
    let actions = snapshot.actions(&symbol("700.HK")).unwrap();
    assert_eq!(actions.len(), 1);
    assert_eq!(snapshot.margins().unwrap(), [margin("700.HK", "0.35", "0.3", "0.25")]);
    let [import] = &snapshot.imports().unwrap()[..] else { panic!("one import") };
    assert_eq!((import.file.as_str(), import.state, import.rows_done), ("a.csv", ImportState::Done, 30));
    assert_eq!(snapshot.import_changes(import.id).unwrap().len(), 1);
    assert_eq!(snapshot.quarantine_count(QuarantineOf::All).unwrap(), 1);
    let days: Vec<TradeDay> = snapshot.trade_days(&symbol("700.HK")).unwrap();
    assert_eq!((days.len(), days[0].rows), (1, 10));
    let version = snapshot.version().unwrap();
    drop(snapshot);
    put(&store, &series, &[entries[2].id], &[block(30, 49)]);
    assert!(reader.snapshot().unwrap().version().unwrap() > version);
    assert_eq!(reader.check(Depth::Full, |_, _, _| None).unwrap(), []);
}

#[test]
fn opening_old_candles_read_only_changes_nothing() {
    let home = before();
    let steps = || home.number("candles", "select max(version) from migration");
    let known = steps();
    match Store::open(&home, Access::Look) {
        // Opening read-only changes nothing, and may therefore not be able to read it.
        Ok(_) | Err(StoreError::Outdated { .. }) => {}
        Err(other) => panic!("{other:?}"),
    }
    assert_eq!(steps(), known);
}

#[test]
fn old_accounts_are_migrated_completely_and_can_be_extended() {
    let home = before();
    let accounts = Accounts::open(&home, LATER).unwrap();
    assert_eq!(accounts.check(Depth::Full).unwrap(), []);
    let all = accounts.accounts().unwrap();
    let [ann, bob] = &all[..] else { panic!("{all:?}") };
    assert_eq!((ann.name.as_str(), ann.revoked_at, ann.rights.len()), ("ann", None, 2));
    assert_eq!((bob.name.as_str(), bob.revoked_at), ("bob", Some(NOW)));
    let used = accounts.used(ann.id, "2025-11", &symbol("700.HK")).unwrap();
    assert_eq!(used, MonthUsage { counted: true, total: 1 });
    assert_eq!(accounts.person("ann").unwrap().unwrap().password.as_deref(), Some("hash"));
    assert_eq!(accounts.browser(&[1; 32], NOW).unwrap().unwrap().account, ann.id);
    let head = accounts.journal_head(ann.id).unwrap().unwrap();
    assert_eq!((head.last_number, head.horizon, head.wake), (2, Timestamp(9), Some(Timestamp(20))));
    assert_eq!(journals::texts(&accounts, ann.id), "1 opened, 2 bought");
    assert_eq!(accounts.journal_request(ann.id, "r1", Timestamp(0)).unwrap().as_deref(), Some("order 1"));
    let lists = accounts.watchlists(ann.id).unwrap();
    assert_eq!((lists.followed.len(), lists.groups[0].name.as_str()), (1, "mine"));
    let rows = accounts.audit(&AuditFilter { limit: 100, ..AuditFilter::default() }).unwrap();
    assert_eq!(rows.last().unwrap().event, "account.created");
    journals::added(journals::write(&accounts, ann.id, Some(head), &[(60, "sold")]));
    accounts.spend(ann.id, "2025-11", &symbol("5.HK"), 3, (LATER, LATER)).unwrap();
    assert_eq!(accounts.check(Depth::Full).unwrap(), []);
}
