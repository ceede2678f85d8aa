//! Tests of moves between a directory and a server: all copies of a store must be identical.

use market::Timestamp;
use store::{Access, Accounts, Move, MoveError, Security, Store, StoreError, StoreUrl};

use crate::accounts::add;
use crate::fixture::{Home, NOW, block, minutes, put, symbol};
use crate::transfer::{content, findings, transfer};

/// Creates a store in a directory, with data of every kind.
fn in_a_directory(dir: &StoreUrl) -> Accounts {
    let store = Store::open(dir, Access::Write { now: NOW }).unwrap();
    for number in 1..700 {
        put(&store, &minutes(&format!("{number}.HK")), &[], &[block(1, 4), block(5, 9)]);
    }
    let accounts = Accounts::open(dir, NOW).unwrap();
    for number in 0..120 {
        add(&accounts, &format!("燈芯 {number} \\ 'wick'\t\u{1f56f}")).unwrap();
    }
    accounts
}

#[test]
fn moving_to_a_server_and_back_preserves_everything() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let [from, back] = ["from", "back"].map(|name| StoreUrl::from(dir.path().join(name)));
    let accounts = in_a_directory(&from);
    let there = StoreUrl::from(&home);
    let digests = |from: &StoreUrl, to: &StoreUrl| {
        let copied = transfer(from, to).unwrap();
        let tables = copied.tables.clone();
        copied.finish().unwrap();
        tables
    };
    let first = digests(&from, &there);
    assert_eq!(content(&there), content(&from));
    assert_eq!(findings(&there), 0);
    let second = digests(&there, &back);
    assert_eq!(first, second);
    assert_eq!(content(&back), content(&from));
    assert_eq!(findings(&back), 0);
    // Ids continue in each store, including audit ids, which PostgreSQL takes from a sequence.
    let [there, back] = [&there, &back].map(|place| Accounts::open(place, NOW).unwrap());
    for accounts in [&accounts, &there, &back] {
        add(accounts, "late").unwrap();
    }
    let last = |accounts: &Accounts| {
        let filter = store::AuditFilter { limit: 1, ..store::AuditFilter::default() };
        format!("{:?}", accounts.audit(&filter).unwrap())
    };
    assert_eq!((last(&there), last(&back)), (last(&accounts), last(&accounts)));
}

#[test]
fn a_move_from_a_server_blocks_account_changes() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let from = StoreUrl::from(&home);
    put(&Store::open(&from, Access::Write { now: NOW }).unwrap(), &minutes("700.HK"), &[], &[block(1, 4)]);
    let accounts = Accounts::open(&from, NOW).unwrap();
    add(&accounts, "ann").unwrap();
    let to = StoreUrl::from(dir.path().join("there"));
    let mut tried = false;
    let copied = Move { from: &from, to: &to, now: NOW }.run(&mut |progress| {
        if progress.part == store::Part::Accounts && !tried {
            tried = true;
            let waited = accounts.take_id().unwrap_err();
            assert!(matches!(waited, StoreError::Locked { .. }), "{waited:?}");
        }
        std::ops::ControlFlow::Continue(())
    });
    copied.unwrap().finish().unwrap();
    assert!(tried);
    assert_eq!(content(&to), content(&from));
    accounts.take_id().unwrap();
}

#[test]
fn a_recently_seen_server_blocks_a_move() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let from = StoreUrl::from(&home);
    drop(Store::open(&from, Access::Write { now: NOW }).unwrap());
    drop(Accounts::open(&from, NOW).unwrap());
    let seen = |ago_s: i64| {
        let now =
            format!("cast(date_part('epoch', clock_timestamp()) * 1000000 as bigint) - {ago_s} * 1000000");
        let node = format!("('\\x{ago_s:02}', 'node', {now}, {now}, '')");
        home.damage(
            "accounts",
            &format!("insert into node (id, name, started_us, seen_us, incarnation) values {node}"),
        );
    };
    let to = StoreUrl::from(dir.path().join("there"));
    seen(1);
    let refused = transfer(&from, &to).unwrap_err();
    assert!(matches!(&refused, MoveError::InUse { by, .. } if by == "a server"), "{refused:?}");
    home.damage("accounts", "delete from node");
    seen(20);
    transfer(&from, &to).unwrap().finish().unwrap();
}

#[test]
fn a_failed_move_creates_no_schemas_at_the_target() {
    let dir = tempfile::tempdir().unwrap();
    let from = StoreUrl::from(dir.path().join("from"));
    drop(Store::open(&from, Access::Write { now: Timestamp(1) }).unwrap());
    let home = Home::in_database("");
    let name = home.on_server().database_sql("select current_database()").unwrap();
    home.on_server()
        .database_sql(&format!("alter database {name} set default_transaction_read_only = on"))
        .unwrap();
    let refused = transfer(&from, &StoreUrl::from(&home)).unwrap_err();
    assert!(matches!(refused, MoveError::Store(StoreError::ReadOnlyServer { .. })), "{refused:?}");
    let schemas = "select count(*) from pg_namespace where nspname not like 'pg\\_%' and nspname not in ('public', 'information_schema')";
    assert_eq!(home.on_server().database_sql(schemas).unwrap(), "0");
}

#[test]
fn a_change_during_a_move_is_detected_at_the_end() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let from = StoreUrl::from(&home);
    put(&Store::open(&from, Access::Write { now: NOW }).unwrap(), &minutes("700.HK"), &[], &[block(1, 4)]);
    add(&Accounts::open(&from, NOW).unwrap(), "ann").unwrap();
    let to = StoreUrl::from(dir.path().join("there"));
    let copied = transfer(&from, &to).unwrap();
    // No lock on candles is held between the copy and the finish.
    let idle = format!(
        "select count(*) from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace \
         where n.nspname = '{}'",
        home.on_server().schema("candles")
    );
    assert_eq!(home.on_server().database_sql(&idle).unwrap(), "0");
    home.damage("candles", "update counter set next = next + 1 where name = 'version'");
    let changed = copied.finish().unwrap_err();
    assert!(matches!(changed, MoveError::Changed { .. }), "{changed:?}");
}

#[test]
fn a_move_that_loses_its_lease_stops() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let from = StoreUrl::from(dir.path().join("from"));
    let accounts = in_a_directory(&from);
    let to = StoreUrl::from(&home);
    let mut rows = String::new();
    let table = "select count(*) from account";
    let stopped = Move { from: &from, to: &to, now: NOW }.run(&mut |progress| {
        if progress.part == store::Part::Accounts && progress.table == "account" && rows.is_empty() {
            home.damage("candles", "update lease set holder = 'another' where name = 'writer'");
            rows = home.on_server().sql("accounts", table);
        }
        std::ops::ControlFlow::Continue(())
    });
    let lost = stopped.unwrap_err();
    assert!(matches!(lost, MoveError::Store(StoreError::LeaseLost { .. })), "{lost:?}");
    assert_eq!(home.on_server().sql("accounts", table), rows);
    drop(accounts);
}

#[test]
fn a_store_can_be_moved_without_owning_the_tables() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let from = StoreUrl::from(dir.path().join("from"));
    in_a_directory(&from);
    let owned = StoreUrl::from(&home);
    drop(Store::open(&owned, Access::Write { now: NOW }).unwrap());
    drop(Accounts::open(&owned, NOW).unwrap());
    let server = home.on_server();
    let [candles, accounts] = ["candles", "accounts"].map(|part| server.schema(part));
    let role = format!("mover_{candles}");
    // The grants are those that the documentation about scaling recommends.
    let grants = format!(
        "create role {role} login; grant usage on schema {candles}, {accounts} to {role}; \
         grant select, insert, update, delete on all tables in schema {candles}, {accounts} to {role}; \
         grant usage, select, update on all sequences in schema {candles}, {accounts} to {role}"
    );
    server.database_sql(&grants).unwrap();
    let to: StoreUrl = server.url_of(&role, server.server().port(), "").parse().unwrap();
    transfer(&from, &to).unwrap().finish().unwrap();
    assert_eq!(content(&to), content(&from));
    server.database_sql(&format!("drop owned by {role}; drop role {role}")).unwrap();
}

#[test]
fn a_nul_in_a_text_is_replaced_on_postgresql() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let [from, copy] = ["from", "copy"].map(|name| StoreUrl::from(dir.path().join(name)));
    let store = Store::open(&from, Access::Write { now: NOW }).unwrap();
    let security = Security { name_en: Some("Ten\0cent".to_owned()), ..Security::new(symbol("700.HK")) };
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.put_security(&security).unwrap();
    batch.commit().unwrap();
    drop(writer);
    let to = StoreUrl::from(&home);
    let name = |place: &StoreUrl| {
        let mut reader = Store::open(place, Access::Read).unwrap().reader().unwrap();
        reader.view().security(&symbol("700.HK")).unwrap().unwrap().name_en.unwrap()
    };
    transfer(&from, &to).unwrap().finish().unwrap();
    assert_eq!(name(&to), "Ten\u{fffd}cent");
    transfer(&from, &copy).unwrap().finish().unwrap();
    assert_eq!(name(&copy), "Ten\0cent");
}

#[test]
fn a_database_without_its_first_migration_has_no_accounts() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let from = StoreUrl::from(dir.path().join("from"));
    in_a_directory(&from);
    let to = StoreUrl::from(&home);
    drop(Accounts::open(&to, NOW).unwrap());
    assert!(Accounts::is_there(&to).unwrap());
    // A process that is stopped after creating the migration table leaves this state.
    let server = home.on_server();
    let ledger = format!(
        "create table kept as table {0}.migration with no data; drop schema {0} cascade; create schema {0}; \
         create table {0}.migration (like kept); alter table {0}.migration add primary key (version); drop table kept",
        server.schema("accounts")
    );
    server.database_sql(&ledger).unwrap();
    assert!(!Accounts::is_there(&to).unwrap());
    transfer(&from, &to).unwrap().finish().unwrap();
    assert_eq!(content(&to), content(&from));
}

#[test]
fn an_incomplete_target_is_reported() {
    let (dir, home) = (tempfile::tempdir().unwrap(), Home::new());
    let from = StoreUrl::from(dir.path().join("from"));
    in_a_directory(&from);
    let to = StoreUrl::from(&home);
    let StoreUrl::Server(address) = &to else { panic!("{to}") };
    let copied = transfer(&from, &to).unwrap();
    let half = store::occupancy(address).unwrap();
    copied.finish().unwrap();
    let whole = store::occupancy(address).unwrap();
    assert_eq!((half.is_half_moved, whole.is_half_moved), (true, false));
    assert_eq!(half.schemas, whole.schemas);
}
