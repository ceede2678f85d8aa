//! Tests of unsuitable servers and databases: each has a specific error of one line, and a failed
//! attempt creates nothing.

use store::{Access, Accounts, Store, StoreError, StoreUrl};

use crate::accounts::add;
use crate::fixture::{Home, NOW, block, minutes, put};
use crate::harness;

const WRITE: Access = Access::Write { now: NOW };

/// Tries to open both parts of a store for writing. Returns their errors.
fn refusals(place: &StoreUrl) -> [StoreError; 2] {
    [Store::open(place, WRITE).unwrap_err(), Accounts::open(place, NOW).unwrap_err()]
}

/// Checks that both errors are one line that contains `words`, and that no schema was created.
fn check(home: &Home, place: &StoreUrl, words: &str, is_it: impl Fn(&StoreError) -> bool) {
    for error in refusals(place) {
        assert!(is_it(&error), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(words) && !text.contains('\n'), "{text}");
    }
    let schemas = format!("select count(*) from pg_namespace where nspname ~ '^{}_'", prefix(home));
    assert_eq!(home.on_server().database_sql(&schemas).unwrap(), "0", "{words}");
}

fn prefix(home: &Home) -> String {
    home.on_server().schema("candles").trim_end_matches("_candles").to_owned()
}

#[test]
fn an_encoding_other_than_utf_8_is_refused() {
    for encoding in ["SQL_ASCII", "LATIN1"] {
        let home = Home::in_database(&format!("encoding '{encoding}' template template0"));
        check(&home, &(&home).into(), encoding, |error| matches!(error, StoreError::WrongEncoding { .. }));
    }
}

#[test]
fn a_missing_database_is_refused() {
    let home = Home::new();
    let url = home.text().replace("/postgres?", "/nowhere_at_all?");
    check(&home, &url.parse().unwrap(), "nowhere_at_all", |error| {
        matches!(error, StoreError::Refused { .. })
    });
}

#[test]
fn a_port_without_a_server_is_unreachable() {
    let home = Home::new();
    // No process listens on port 1.
    let place = home.on_server().url_of("postgres", 1, "").parse().unwrap();
    check(&home, &place, "127.0.0.1:1", |error| matches!(error, StoreError::Away { .. }));
}

#[test]
fn a_role_without_the_create_privilege_is_refused() {
    let home = Home::new();
    let role = format!("guest_{}", prefix(&home));
    home.on_server().database_sql(&format!("create role {role} login")).unwrap();
    let port = home.on_server().server().port();
    let place = home.on_server().url_of(&role, port, "").parse().unwrap();
    check(&home, &place, &role, |error| matches!(error, StoreError::NoRights { .. }));
    home.on_server().database_sql(&format!("drop role {role}")).unwrap();
}

#[test]
fn a_read_only_database_is_refused_for_writing() {
    let home = Home::in_database("");
    let name = home.on_server().database_sql("select current_database()").unwrap();
    home.on_server()
        .database_sql(&format!("alter database {name} set default_transaction_read_only = on"))
        .unwrap();
    check(&home, &(&home).into(), "read", |error| matches!(error, StoreError::ReadOnlyServer { .. }));
}

#[test]
fn an_exhausted_pool_is_distinguished_from_an_unreachable_server() {
    let home = Home::new();
    let port = home.on_server().server().port();
    let place: StoreUrl = home.on_server().url_of("postgres", port, "&pool=4").parse().unwrap();
    let store = Store::open(&place, WRITE).unwrap();
    put(&store, &minutes("700.HK"), &[], &[block(1, 2)]);
    assert_eq!(store.readers_max(), Some(1));
    let mut holders: Vec<_> = (0..4).map(|_| store.reader().unwrap()).collect();
    let held: Vec<_> = holders.iter_mut().map(|holder| holder.snapshot().unwrap()).collect();
    held.iter().for_each(|held| assert_eq!(held.version().unwrap(), 1));
    let version = || store.reader().and_then(|mut reader| reader.snapshot().and_then(|seen| seen.version()));
    let error = version().unwrap_err();
    assert!(matches!(error, StoreError::Exhausted { .. }), "{error:?}");
    drop(held);
    assert_eq!(version().unwrap(), 1);
}

#[test]
fn a_store_works_with_unusual_database_defaults() {
    let home = Home::in_database("");
    let name = home.on_server().database_sql("select current_database()").unwrap();
    for setting in [
        "default_transaction_isolation = 'serializable'",
        "search_path = 'nowhere'",
        "timezone = 'Asia/Kathmandu'",
        "bytea_output = 'escape'",
        "statement_timeout = '200ms'",
        "client_encoding = 'LATIN1'",
        "standard_conforming_strings = off",
    ] {
        home.on_server().database_sql(&format!("alter database {name} set {setting}")).unwrap();
    }
    let store = Store::open(&home, WRITE).unwrap();
    put(&store, &minutes("700.HK"), &[], &[block(1, 2)]);
    let accounts = Accounts::open(&home, NOW).unwrap();
    add(&accounts, "燈芯 \\ 'wick'").unwrap();
    assert!(accounts.account_named("燈芯 \\ 'wick'").unwrap().is_some());
    assert_eq!(store.reader().unwrap().check(store::Depth::Full, |_, _, _| None).unwrap(), []);
}

#[test]
fn stores_in_one_database_are_independent() {
    let (one, other) = (Home::new(), Home::new());
    let (here, there) = (Accounts::open(&one, NOW).unwrap(), Accounts::open(&other, NOW).unwrap());
    add(&here, "ann").unwrap();
    assert!(there.is_empty().unwrap());
    add(&there, "ann").unwrap();
}

#[test]
fn a_text_with_a_nul_is_refused() {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let error = add(&accounts, "a\0b").unwrap_err();
    assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
    add(&accounts, "ann").unwrap();
}

/// A migration that only adds columns or tables is compatible with programs of the previous schema.
/// A migration that removes columns or tables is not.
#[test]
fn a_later_migration_sets_the_oldest_compatible_program() {
    let home = Home::new();
    let store = Store::open(&home, WRITE).unwrap();
    put(&store, &minutes("700.HK"), &[], &[block(1, 2)]);
    let known = home.number("candles", "select max(version) from migration");
    home.put_step("candles", known + 1, known);
    // Programs that have the store open can continue, and other programs of this version can open
    // it.
    put(&store, &minutes("700.HK"), &[], &[block(3, 4)]);
    for access in [Access::Read, WRITE] {
        let again = Store::open(&home, access).unwrap();
        assert_eq!(again.reader().unwrap().snapshot().unwrap().all_series().unwrap().len(), 1);
    }
    home.put_step("candles", known + 2, known + 1);
    let error = Store::open(&home, Access::Read).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found, known: here, .. } if found == known + 2 && here == known),
        "{error:?}"
    );
    let error = store.writer().unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error:?}");
}

#[test]
fn the_test_server_has_a_supported_version() {
    let version: u32 = harness::server().sql("postgres", "show server_version_num").unwrap().parse().unwrap();
    assert!(
        version >= 150_000,
        "{version}: ./setup.sh --test, or CHANDLER_TEST_POSTGRES with the programs of a newer one"
    );
}

#[test]
fn a_schema_created_by_another_role_is_accepted() {
    let home = Home::new();
    let server = home.on_server();
    let role = format!("tenant_{}", prefix(&home));
    let [candles, accounts] = ["candles", "accounts"].map(|part| server.schema(part));
    let made = format!(
        "create role {role} login; create schema {candles} authorization {role}; create schema {accounts} authorization {role}"
    );
    server.database_sql(&made).unwrap();
    let place: StoreUrl = server.url_of(&role, server.server().port(), "").parse().unwrap();
    put(&Store::open(&place, WRITE).unwrap(), &minutes("700.HK"), &[], &[block(1, 2)]);
    add(&Accounts::open(&place, NOW).unwrap(), "ann").unwrap();
    server.database_sql(&format!("drop owned by {role} cascade; drop role {role}")).unwrap();
}
