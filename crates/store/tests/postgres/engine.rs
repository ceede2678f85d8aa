//! Tests of the PostgreSQL engine against a real server. The tests access private items, so
//! `engine/postgres/mod.rs` includes this file as a module.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::engine::migrate::migrate;
use crate::engine::migrations::Migration;
use crate::engine::params::Value;
use crate::engine::postgres::{
    Address, Connection, Need, News, Pace, Schema, Server, Subject, Trouble, Watch,
};
use crate::engine::statements_on_postgres::harness;
use crate::engine::{Db, Fault, Role, Row};

const SECOND: Duration = Duration::from_secs(1);

/// A schema for one test, which is dropped with this value.
struct Place {
    address: Address,
    _schema: harness::Place,
}

impl Place {
    fn new() -> Place {
        Place::with("")
    }

    /// Creates a schema with a pool size that may be below the minimum that an address can request.
    fn with_pool(pool: usize, parameters: &str) -> Place {
        let mut place = Place::with(parameters);
        place.address.pool = pool;
        place
    }

    /// Creates the schema. `parameters` is appended to the URL, in the form `&pool=8`.
    fn with(parameters: &str) -> Place {
        let schema = harness::server().place();
        let place = Place { address: parsed(&format!("{}{parameters}", schema.url())), _schema: schema };
        // Creating the schema twice must succeed.
        place.connection(Role::Writer).create_schema().unwrap();
        place.connection(Role::Writer).create_schema().unwrap();
        place
    }

    fn server(&self, pace: Pace) -> Arc<Server> {
        Server::open(&self.address, Schema::Candles, pace).unwrap()
    }

    fn connection(&self, role: Role) -> Connection {
        Connection::new(self.server(Pace::Usual), role)
    }

    /// Creates a table of numbers and names.
    fn table(&self) -> Connection {
        let db = self.connection(Role::Writer);
        db.script("create table thing (id bigint primary key, name text); create index on thing (name)")
            .unwrap();
        db
    }
}

fn parsed(text: &str) -> Address {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns an address of the same database and schema, but with another user and port on this
/// machine.
fn elsewhere(place: &Place, user: &str, port: u16, parameters: &str) -> Address {
    let text = place.address.to_string();
    let (_, rest) = text.split_once('@').unwrap();
    let (_, path) = rest.split_once('/').unwrap();
    parsed(&format!("postgres://{user}@127.0.0.1:{port}/{path}{parameters}"))
}

fn user_of(place: &Place) -> String {
    let text = place.address.to_string();
    text.strip_prefix("postgres://").unwrap().split_once('@').unwrap().0.to_owned()
}

fn as_user(place: &Place, user: &str) -> String {
    let text = place.address.to_string();
    format!("postgres://{user}@{}", text.split_once('@').unwrap().1)
}

fn add(db: &Connection, id: i64, name: &str) -> Result<usize, Fault> {
    db.run("insert into thing (id, name) values ($1, $2)", &[Value::Int(id), Value::Text(name)])
}

fn count(db: &Connection) -> i64 {
    number(db, "select count(*) from thing").unwrap()
}

fn number(db: &Connection, text: &str) -> Result<i64, Fault> {
    let mut found = None;
    db.each(text, &[], &mut |row| {
        found = Some(int(row, 0)?);
        Ok(ControlFlow::Continue(()))
    })?;
    found.ok_or(Fault::Missing)
}

fn int(row: &Row<'_>, column: usize) -> Result<i64, Fault> {
    match row.value(column)? {
        Value::Int(number) => Ok(number),
        other => Err(Fault::value("number", &format!("{other:?}"))),
    }
}

fn text(db: &Connection, question: &str) -> String {
    let mut found = String::new();
    db.each(question, &[], &mut |row| {
        if let Value::Text(text) = row.value(0)? {
            found = text.to_owned();
        }
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    found
}

fn trouble<T: std::fmt::Debug>(result: Result<T, Fault>) -> Trouble {
    match result.unwrap_err() {
        Fault::Engine(trouble) => *trouble.cause.downcast().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn backend(db: &Connection) -> i64 {
    number(db, "select pg_backend_pid()").unwrap()
}

fn backends(place: &Place, of: &str) -> i64 {
    let text = format!("select count(*) from pg_stat_activity where application_name = '{of}'");
    number(&place.connection(Role::Reader), &text).unwrap()
}

fn terminate(place: &Place, of: &str) {
    let text =
        format!("select pg_terminate_backend(pid) from pg_stat_activity where application_name = '{of}'");
    place.connection(Role::Reader).each(&text, &[], &mut |_| Ok(ControlFlow::Continue(()))).unwrap();
}

/// Waits for a condition. The deadline is only reached if the test fails.
fn until(mut is: impl FnMut() -> bool) {
    let end = Instant::now() + 20 * SECOND;
    while !is() {
        assert!(Instant::now() < end, "it did not come to pass");
        thread::yield_now();
    }
}

#[test]
fn values_are_read_back_unchanged() {
    let place = Place::new();
    let db = place.connection(Role::Writer);
    db.script(
        "create table kinds (a bigint, b integer, c smallint, d boolean, e text, f varchar(9), g bytea)",
    )
    .unwrap();
    let rows: [[Value<'_>; 7]; 3] = [
        [
            Value::Int(i64::MIN),
            Value::Int(i32::MAX.into()),
            Value::Int(-7),
            Value::Int(1),
            Value::Text("é\n\u{1F600}"),
            Value::Text(""),
            Value::Blob(&[0, 255, 10]),
        ],
        [Value::Null; 7],
        [
            Value::Int(0),
            Value::Int(0),
            Value::Int(0),
            Value::Int(0),
            Value::Text(""),
            Value::Text("x"),
            Value::Blob(&[]),
        ],
    ];
    for row in &rows {
        assert_eq!(db.run("insert into kinds values ($1, $2, $3, $4, $5, $6, $7)", row).unwrap(), 1);
    }
    let mut found = 0;
    db.each("select * from kinds", &[], &mut |row| {
        for (i, value) in rows[found].iter().enumerate() {
            assert_eq!(row.value(i)?, *value);
        }
        assert!(row.value(7).is_err());
        found += 1;
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    assert_eq!(found, 3);
    let unknown =
        db.each("select 1.5::numeric", &[], &mut |row| row.value(0).map(|_| ControlFlow::Continue(())));
    assert!(matches!(unknown, Err(Fault::Value { .. })), "{unknown:?}");
}

#[test]
fn unsupported_values_are_refused_before_they_are_sent() {
    let place = Place::new();
    let db = place.table();
    assert!(matches!(trouble(add(&db, 1, "a\0b")), Trouble::Unfit { .. }));
    let wrong = db.run("insert into thing (id) values ($1)", &[Value::Text("seven")]);
    assert!(matches!(trouble(wrong), Trouble::Unfit { .. }));
    assert_eq!(count(&db), 0);
}

#[test]
fn a_transaction_is_atomic() {
    let place = Place::new();
    let (db, other) = (place.table(), place.connection(Role::Reader));
    db.begin(true).unwrap();
    assert!(db.in_transaction());
    add(&db, 1, "one").unwrap();
    assert_eq!((count(&db), count(&other)), (1, 0));
    db.commit().unwrap();
    assert!(!db.in_transaction());
    assert_eq!(count(&other), 1);
    db.begin(true).unwrap();
    add(&db, 2, "two").unwrap();
    db.rollback().unwrap();
    assert_eq!(count(&db), 1);
    // Dropping an open transaction rolls it back.
    let forgetful = place.connection(Role::Writer);
    forgetful.begin(true).unwrap();
    add(&forgetful, 3, "three").unwrap();
    drop(forgetful);
    until(|| add(&db, 3, "three").is_ok());
    db.rollback().unwrap();
    assert!(matches!(trouble(db.commit()), Trouble::Misuse(_)));
    db.begin(true).unwrap();
    assert!(matches!(trouble(db.begin(true)), Trouble::Misuse(_)));
    db.commit().unwrap();
}

#[test]
fn a_reader_sees_one_state_and_cannot_write() {
    let place = Place::new();
    let (db, reader) = (place.table(), place.connection(Role::Reader));
    reader.begin(false).unwrap();
    assert_eq!(count(&reader), 0);
    add(&db, 1, "one").unwrap();
    assert_eq!(count(&reader), 0);
    reader.commit().unwrap();
    assert_eq!(count(&reader), 1);
    assert!(matches!(trouble(add(&reader, 2, "two")), Trouble::NoRights { .. }));
    assert!(matches!(trouble(reader.begin(true)), Trouble::Misuse(_)));
    // The server refuses changes by a writer in a read-only transaction.
    db.begin(false).unwrap();
    assert!(matches!(trouble(add(&db, 2, "two")), Trouble::ReadOnly { .. }));
    db.rollback().unwrap();
    assert_eq!(count(&db), 1);
}

#[test]
fn a_transaction_with_a_failed_statement_is_not_committed() {
    let place = Place::new();
    let db = place.table();
    db.begin(true).unwrap();
    add(&db, 1, "one").unwrap();
    let twice = trouble(add(&db, 1, "one"));
    assert_eq!(twice.code(), Some("23505"), "{twice:?}");
    assert!(matches!(trouble(add(&db, 2, "two")), Trouble::Aborted));
    assert!(matches!(trouble(db.commit()), Trouble::Aborted));
    assert!(!db.in_transaction());
    assert_eq!(count(&db), 0);
    // The connection is usable again.
    db.begin(true).unwrap();
    add(&db, 1, "one").unwrap();
    db.commit().unwrap();
    assert_eq!(count(&db), 1);
}

#[test]
fn a_query_that_fails_after_the_last_row_read_is_rolled_back() {
    let place = Place::new();
    let db = place.table();
    db.begin(true).unwrap();
    add(&db, 1, "one").unwrap();
    // The query fails at its 100,000th row, long after reading was stopped.
    let question = "select 1 / (100000 - i) from generate_series(1, 100000) i";
    db.each(question, &[], &mut |_| Ok(ControlFlow::Break(()))).unwrap();
    assert!(matches!(trouble(db.commit()), Trouble::Aborted));
    assert_eq!(count(&db), 0);
}

#[test]
fn statements_run_while_another_is_being_read() {
    let place = Place::new();
    let db = place.table();
    let all: Vec<[Value<'_>; 2]> = (0..3_000).map(|i| [Value::Int(i), Value::Text("x")]).collect();
    let all: Vec<&[Value<'_>]> = all.iter().map(|row| row.as_slice()).collect();
    assert_eq!(db.run_all("insert into thing (id, name) values ($1, $2)", &all).unwrap(), 3_000);
    for in_transaction in [false, true] {
        if in_transaction {
            db.begin(true).unwrap();
        }
        let mut seen = 0;
        db.each("select id from thing order by id", &[], &mut |row| {
            assert_eq!(int(row, 0)?, seen);
            seen += 1;
            if seen % 1_000 == 1 {
                db.run("update thing set name = 'y' where id = $1", &[Value::Int(seen)])?;
                let mut inner = 0;
                db.each("select id from thing order by id", &[], &mut |_| {
                    inner += 1;
                    if inner == 7 {
                        assert_eq!(count(&db), 3_000);
                    }
                    Ok(if inner < 2_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
                })?;
                assert_eq!(inner, 2_000);
            }
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(seen, 3_000);
        if in_transaction {
            db.commit().unwrap();
        }
        assert_eq!(number(&db, "select count(*) from thing where name = 'y'").unwrap(), 3);
    }
}

#[test]
fn a_connection_is_usable_after_a_query_was_stopped() {
    let place = Place::new();
    let db = place.connection(Role::Reader);
    let long = "select i, repeat('x', 1000) from generate_series(1, 200000) i";
    for in_transaction in [false, true] {
        if in_transaction {
            db.begin(false).unwrap();
        }
        for _ in 0..3 {
            db.each(long, &[], &mut |_| Ok(ControlFlow::Break(()))).unwrap();
            let failed = db.each(long, &[], &mut |_| Err(Fault::Missing));
            assert!(matches!(failed, Err(Fault::Missing)));
            assert_eq!(number(&db, "select 7").unwrap(), 7);
        }
    }
    db.commit().unwrap();
}

#[test]
fn many_rows_are_stored_in_a_pipeline() {
    let place = Place::new();
    let db = place.connection(Role::Writer);
    db.script("create table block (id bigint primary key, body bytea)").unwrap();
    let insert = "insert into block (id, body) values ($1, $2)";
    let body = vec![7; 60_000];
    let rows: Vec<[Value<'_>; 2]> = (0..300).map(|i| [Value::Int(i), Value::Blob(&body)]).collect();
    let mut all: Vec<&[Value<'_>]> = rows.iter().map(|row| row.as_slice()).collect();
    assert_eq!(db.run_all(insert, &all).unwrap(), 300);
    assert_eq!(number(&db, "select sum(length(body))::bigint from block").unwrap(), 300 * 60_000);
    assert_eq!(db.run_all(insert, &[]).unwrap(), 0);
    // One of the rows already exists, so no row is stored.
    let (new, old) = ([Value::Int(1_000), Value::Null], [Value::Int(7), Value::Null]);
    all = vec![&new, &old];
    assert_eq!(trouble(db.run_all(insert, &all)).code(), Some("23505"));
    assert_eq!(number(&db, "select count(*) from block").unwrap(), 300);

    let keys: Vec<[Value<'_>; 1]> = [3, 1_000, 299, 0].map(|id| [Value::Int(id)]).to_vec();
    let keys: Vec<&[Value<'_>]> = keys.iter().map(|row| row.as_slice()).collect();
    for in_transaction in [false, true] {
        if in_transaction {
            db.begin(false).unwrap();
        }
        let mut found = Vec::new();
        db.each_of_all("select id, body from block where id = $1", &keys, &mut |i, row| {
            assert_eq!(row.value(1)?, Value::Blob(&body));
            found.push((i, int(row, 0)?));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(found, [(0, 3), (2, 299), (3, 0)]);
    }
    db.commit().unwrap();
}

#[test]
fn session_settings_override_the_servers_defaults() {
    let place = Place::with("&application_name=session-is-ours");
    let admin = Place::new().connection(Role::Writer);
    let role = format!("{}_role", place.address.schema(Schema::Accounts));
    admin
        .script(&format!(
            "create role {role} login superuser; alter role {role} set default_transaction_isolation = 'serializable'; \
             alter role {role} set synchronous_commit = off; alter role {role} set statement_timeout = 7000"
        ))
        .unwrap();
    let address = parsed(&as_user(&place, &role));
    let open = |pace| Connection::new(Server::open(&address, Schema::Candles, pace).unwrap(), Role::Writer);
    let db = open(Pace::Usual);
    let setting = |db: &Connection, name: &str| text(db, &format!("select current_setting('{name}')"));
    for (name, value) in [
        ("search_path", place.address.schema(Schema::Candles).as_str()),
        ("statement_timeout", "55s"),
        ("lock_timeout", "20s"),
        ("idle_in_transaction_session_timeout", "1min"),
        ("default_transaction_isolation", "read committed"),
        ("transaction_isolation", "read committed"),
        ("synchronous_commit", "on"),
        ("application_name", "session-is-ours"),
        ("client_encoding", "UTF8"),
        ("client_connection_check_interval", "5s"),
    ] {
        // A schema name in lower case needs no quotes, even with digits.
        assert_eq!(setting(&db, name), value, "{name}");
    }
    db.begin(false).unwrap();
    assert_eq!(setting(&db, "transaction_isolation"), "repeatable read");
    assert_eq!(setting(&db, "transaction_read_only"), "on");
    db.commit().unwrap();
    db.begin(true).unwrap();
    assert_eq!(setting(&db, "transaction_isolation"), "read committed");
    assert_eq!(setting(&db, "transaction_read_only"), "off");
    db.commit().unwrap();
    assert_eq!(setting(&open(Pace::Quick), "statement_timeout"), "4s");
    assert_eq!(setting(&open(Pace::Fleeting), "synchronous_commit"), "off");
    assert_eq!(setting(&open(Pace::Long), "statement_timeout"), "0");
    drop(db);
    admin.script(&format!("drop role {role}")).unwrap();
}

#[test]
fn a_servers_privileges_and_role_are_checked() {
    let place = Place::new();
    let found = place.server(Pace::Usual).check(Need::Write).unwrap();
    assert!(found.version >= 150_000 && found.has_schema && found.checks_pages.is_some(), "{found:?}");
    let admin = place.connection(Role::Writer);
    let role = format!("{}_role", place.address.schema(Schema::Accounts));
    admin.script(&format!("create role {role} login")).unwrap();
    let address = parsed(&as_user(&place, &role));
    let describe = |schema, need| {
        let server = Server::open(&address, schema, Pace::Usual).unwrap();
        server.check(need).map_err(|trouble| {
            assert!(matches!(trouble, Trouble::NoRights { .. }), "{trouble:?}");
            trouble.to_string()
        })
    };
    let schema = place.address.schema(Schema::Candles);
    let told_of_use = describe(Schema::Candles, Need::Read).unwrap_err();
    assert!(told_of_use.ends_with(&format!("`grant usage on schema {schema} to {role}`")), "{told_of_use}");
    let told_of_creation = describe(Schema::Accounts, Need::Write).unwrap_err();
    assert!(told_of_creation.contains("grant create on database"), "{told_of_creation}");
    assert!(!describe(Schema::Accounts, Need::Read).unwrap().has_schema);
    admin
        .script(&format!("grant usage on schema {schema} to {role}; create table thing (id bigint)"))
        .unwrap();
    let told_of_tables = describe(Schema::Candles, Need::Write).unwrap_err();
    assert!(
        told_of_tables.ends_with(&format!("`grant create on schema {schema} to {role}`")),
        "{told_of_tables}"
    );
    admin.script(&format!("grant create on schema {schema} to {role}")).unwrap();
    assert!(describe(Schema::Candles, Need::Write).is_ok());
    let poor = Connection::new(Server::open(&address, Schema::Candles, Pace::Usual).unwrap(), Role::Writer);
    let denied = trouble(number(&poor, "select count(*) from thing"));
    assert!(matches!(&denied, Trouble::NoRights { reason } if reason.contains("table thing")), "{denied:?}");
    assert!(denied.to_string().contains("`grant select, insert, update, delete on all tables"), "{denied}");
    // The schema exists, so the privilege to create it is not needed.
    poor.create_schema().unwrap();
    drop(poor);
    admin.script(&format!("drop owned by {role}; drop role {role}")).unwrap();
}

#[test]
fn an_unsuitable_server_is_reported_with_a_remedy() {
    let place = Place::new();
    let admin = place.connection(Role::Writer);
    let name = place.address.schema(Schema::Accounts);
    admin
        .run(
            &format!(
                "create database {name} encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'"
            ),
            &[],
        )
        .unwrap();
    let text = place.address.to_string();
    let (before, after) = text.rsplit_once('/').unwrap();
    let (_, parameters) = after.split_once('?').unwrap();
    let describe = |address: &str| {
        let server = Server::open(&parsed(address), Schema::Candles, Pace::Usual).unwrap();
        server.check(Need::Read).unwrap_err()
    };
    let encoding = describe(&format!("{before}/{name}?{parameters}"));
    assert!(matches!(&encoding, Trouble::WrongEncoding { found } if found == "SQL_ASCII"), "{encoding:?}");
    admin.run(&format!("drop database {name} with (force)"), &[]).unwrap();
    let absent = describe(&format!("{before}/{name}?{parameters}"));
    assert!(matches!(&absent, Trouble::Refused { reason, .. } if reason.contains("createdb")), "{absent:?}");
    let stranger = describe(&as_user(&place, "nobody-here"));
    assert!(matches!(stranger, Trouble::Refused { .. }), "{stranger:?}");
    let standby = describe(&format!("{text}&target_session_attrs=standby"));
    assert!(matches!(standby, Trouble::ReadOnly { .. }), "{standby:?}");
    let plain = describe(&format!("{text}&sslmode=verify-full"));
    assert!(
        matches!(&plain, Trouble::Refused { reason, .. } if reason.contains("does not support TLS")),
        "{plain:?}"
    );

    let role = format!("{name}_role");
    admin
        .script(&format!(
            "create role {role} login; alter role {role} set default_transaction_read_only = on"
        ))
        .unwrap();
    let read_only = describe(&as_user(&place, &role));
    assert!(read_only.to_string().contains("default_transaction_read_only"), "{read_only:?}");
    admin.script(&format!("drop role {role}")).unwrap();
}

#[test]
fn an_unreachable_server_fails_all_threads_but_one_immediately() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = Place::new();
    let server = Server::open(&elsewhere(&place, "u", free, ""), Schema::Candles, Pace::Quick).unwrap();
    let away = server.check(Need::Read).unwrap_err();
    assert!(matches!(&away, Trouble::Away { at, .. } if *at == format!("127.0.0.1:{free}")), "{away:?}");

    // This server accepts connections and sends nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = elsewhere(&place, "u", silent.local_addr().unwrap().port(), "&connect_timeout=1");
    let server = Server::open(&address, Schema::Candles, Pace::Quick).unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let count = taken.clone();
    thread::spawn(move || {
        let mut held = Vec::new();
        while let Ok((client, _)) = silent.accept() {
            count.fetch_add(1, Ordering::SeqCst);
            held.push(client);
        }
    });
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                assert!(matches!(server.check(Need::Read), Err(Trouble::Away { .. })));
                // The error is the same whether this thread or another thread tries to reconnect.
                assert!(matches!(server.check(Need::Read), Err(Trouble::Away { .. })));
            });
        }
    });
    // At first there are as many attempts as the pool has connections, and then one attempt at a
    // time.
    let taken = taken.load(Ordering::SeqCst);
    assert!(taken <= 16 + 8, "{taken}");
}

#[test]
fn the_first_suitable_host_is_used() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = Place::new();
    let text = place.address.to_string().replacen('@', &format!("@127.0.0.1:{free},"), 1);
    let db =
        Connection::new(Server::open(&parsed(&text), Schema::Candles, Pace::Usual).unwrap(), Role::Reader);
    assert_eq!(number(&db, "select 7").unwrap(), 7);
    let none = format!("{text}&target_session_attrs=standby");
    let actual =
        Server::open(&parsed(&none), Schema::Candles, Pace::Usual).unwrap().check(Need::Read).unwrap_err();
    assert!(matches!(&actual, Trouble::Away { reason, .. } if reason.contains("is a primary")), "{actual:?}");
}

#[test]
fn a_pool_is_bounded_and_waiting_for_it_times_out() {
    let place = Place::with_pool(2, "&application_name=pool-of-two");
    let server = place.server(Pace::Usual);
    let connection = || Connection::new(server.clone(), Role::Writer);
    let barrier = Barrier::new(9);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..50 {
                    assert_eq!(number(&connection(), "select 7").unwrap(), 7);
                }
            });
        }
        barrier.wait();
        assert!(backends(&place, "pool-of-two") <= 2 + 1);
    });
    let holders = [connection(), connection()];
    for holder in &holders {
        holder.begin(true).unwrap();
        holder.run("select 1", &[]).unwrap();
    }
    let began = Instant::now();
    let actual = trouble(connection().begin(true));
    assert!(matches!(actual, Trouble::Exhausted { open: 2, waited_s: 5 }), "{actual:?}");
    assert!(began.elapsed() >= 5 * SECOND);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| number(&connection(), "select 7").unwrap());
        let [first, _second] = holders;
        scope.spawn(move || first.commit().unwrap());
        assert_eq!(waiting.join().unwrap(), 7);
    });
}

#[test]
fn a_pool_is_last_in_first_out() {
    let place = Place::new();
    let server = place.server(Pace::Usual);
    let [one, two] = [(); 2].map(|()| Connection::new(server.clone(), Role::Reader));
    one.begin(false).unwrap();
    two.begin(false).unwrap();
    let (first, second) = (backend(&one), backend(&two));
    assert_ne!(first, second);
    one.commit().unwrap();
    two.commit().unwrap();
    for _ in 0..5 {
        assert_eq!(backend(&one), second);
    }
}

#[test]
fn a_broken_connection_is_replaced_only_outside_a_transaction() {
    let place = Place::with("&application_name=breaks");
    let db = place.table();
    let admin = Place::new();
    for _ in 0..20 {
        // The client may not have detected yet that the connection is closed.
        terminate(&admin, "breaks");
        assert_eq!(number(&db, "select 7").unwrap(), 7);
    }
    terminate(&admin, "breaks");
    db.begin(true).unwrap();
    assert_eq!(count(&db), 0);
    add(&db, 1, "one").unwrap();
    terminate(&admin, "breaks");
    let actual = trouble(add(&db, 2, "two"));
    assert!(
        matches!(&actual, Trouble::Away { reason, .. } if reason.contains("administrator")),
        "{actual:?}"
    );
    assert!(matches!(trouble(db.commit()), Trouble::Aborted));
    assert_eq!(count(&db), 0);
    // The connection is closed before the commit is sent, so the transaction is certainly not
    // committed.
    db.begin(true).unwrap();
    add(&db, 1, "one").unwrap();
    terminate(&admin, "breaks");
    until(|| backends(&admin, "breaks") == 0);
    let actual = trouble(db.commit());
    assert!(matches!(actual, Trouble::Away { .. } | Trouble::Lost { .. }), "{actual:?}");
    assert_eq!(count(&db), 0);
}

#[test]
fn a_broken_connection_is_replaced_in_a_pool_of_one() {
    let place = Place::with_pool(1, "&application_name=breaks-alone");
    let (db, admin) = (place.connection(Role::Writer), Place::new());
    let before = backend(&db);
    db.begin(true).unwrap();
    terminate(&admin, "breaks-alone");
    until(|| backends(&admin, "breaks-alone") == 0);
    // Reconnecting must not wait for the pool's only connection, which would time out.
    assert_ne!(backend(&db), before);
    db.commit().unwrap();
}

#[test]
fn a_migration_that_waits_for_a_table_does_not_block_others() {
    const STEP: Migration = Migration {
        version: 1,
        name: "step",
        sqlite: "",
        postgres: "alter table thing add column more bigint",
        oldest: 1,
        replaces: &[],
    };
    let place = Place::with("&application_name=migrates");
    let old = place.table();
    let db = Db::on_server(&place.server(Pace::Long), Role::Writer);
    db.make_ledger().unwrap();
    let admin = Place::new();
    let is_waiting = "select count(*) from pg_stat_activity where application_name = 'migrates' and wait_event_type = 'Lock'";
    // Another server runs a long query.
    old.begin(false).unwrap();
    assert_eq!(count(&old), 0);
    let done = thread::scope(|scope| {
        let migrating = scope.spawn(move || migrate(&db, &[STEP], market::Timestamp(0)));
        until(|| number(&admin.connection(Role::Reader), is_waiting).unwrap() > 0);
        // Another query must complete while the long query is running.
        let quick = Connection::new(place.server(Pace::Quick), Role::Reader);
        assert_eq!(count(&quick), 0);
        assert!(!migrating.is_finished());
        old.commit().unwrap();
        migrating.join().unwrap()
    });
    done.unwrap();
    assert_eq!(number(&old, "select count(more) from thing").unwrap(), 0);
}

#[test]
fn a_statement_is_prepared_again_after_its_table_has_changed() {
    let place = Place::new();
    let (db, other) = (place.table(), place.connection(Role::Writer));
    let columns = |db: &Connection| {
        let mut columns = 0;
        db.each("select * from thing", &[], &mut |row| {
            while row.value(columns).is_ok() {
                columns += 1;
            }
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        columns
    };
    add(&db, 1, "one").unwrap();
    assert_eq!(columns(&db), 2);
    other.script("alter table thing add column more bigint").unwrap();
    assert_eq!(columns(&db), 3);
    assert_eq!(columns(&db), 3);
    other.script("alter table thing drop column more").unwrap();
    db.begin(false).unwrap();
    // The query is sent together with `BEGIN` and cannot be retried. It succeeds in the next
    // transaction.
    let actual = db.each("select * from thing", &[], &mut |_| Ok(ControlFlow::Continue(())));
    db.rollback().unwrap();
    assert_eq!(trouble(actual).code(), Some("0A000"));
    assert_eq!(columns(&db), 2);
}

#[test]
fn more_statements_than_the_cache_holds_can_be_used() {
    let place = Place::with_pool(1, "");
    let db = place.connection(Role::Reader);
    for round in 0..2 {
        for i in 0..600 {
            assert_eq!(number(&db, &format!("select {i}::bigint + {round}")).unwrap(), i + round);
        }
    }
    let held = number(&db, "select count(*) from pg_prepared_statements").unwrap();
    assert!(held <= 256 + 1, "{held}");
}

#[test]
fn a_lock_timeout_is_reported() {
    let place = Place::new();
    let db = place.table();
    add(&db, 1, "one").unwrap();
    db.begin(true).unwrap();
    db.run("update thing set name = 'held' where id = 1", &[]).unwrap();
    let quick = Connection::new(place.server(Pace::Quick), Role::Writer);
    let actual = trouble(quick.run("update thing set name = 'wanted' where id = 1", &[]));
    assert!(matches!(actual, Trouble::Locked(_)), "{actual:?}");
    db.rollback().unwrap();
    assert_eq!(quick.run("update thing set name = 'wanted' where id = 1", &[]).unwrap(), 1);
}

#[test]
fn a_deadlock_is_reported_as_a_conflict() {
    let place = Place::new();
    let db = place.table();
    add(&db, 1, "one").unwrap();
    add(&db, 2, "two").unwrap();
    let barrier = Barrier::new(2);
    let change = |first: i64, second: i64| -> Result<(), Fault> {
        let db = place.connection(Role::Writer);
        db.begin(true)?;
        db.run("update thing set name = 'x' where id = $1", &[Value::Int(first)])?;
        barrier.wait();
        db.run("update thing set name = 'x' where id = $1", &[Value::Int(second)])?;
        db.commit()
    };
    let results = thread::scope(|scope| {
        let one = scope.spawn(|| change(1, 2));
        let two = scope.spawn(|| change(2, 1));
        [one.join().unwrap(), two.join().unwrap()]
    });
    let failed: Vec<Trouble> = results.into_iter().filter(Result::is_err).map(trouble).collect();
    assert!(matches!(failed.as_slice(), [Trouble::Conflict(_)]), "{failed:?}");
}

#[test]
fn a_warning_at_commit_makes_its_outcome_unknown() {
    let place = Place::new();
    let db = place.table();
    let alone = db.run("do $$ begin raise warning 'the standby did not confirm'; end $$", &[]);
    assert!(
        matches!(trouble(alone), Trouble::Lost { reason, .. } if reason == "the standby did not confirm")
    );
    db.script(
        "create function warn() returns trigger language plpgsql as $$ begin raise warning 'not confirmed'; return new; end $$; \
         create constraint trigger warn after insert on thing deferrable initially deferred for each row execute function warn()",
    )
    .unwrap();
    db.begin(true).unwrap();
    add(&db, 1, "one").unwrap();
    assert!(matches!(trouble(db.commit()), Trouble::Lost { reason, .. } if reason == "not confirmed"));
    assert_eq!(count(&db), 1);
}

#[test]
fn queries_can_run_inside_another_tokio_runtime() {
    let place = Place::new();
    let db = place.table();
    let ask = move || {
        for i in 0..500 {
            assert_eq!(number(&db, "select 7").unwrap(), 7, "{i}");
        }
        db.begin(true).unwrap();
        add(&db, 1, "one").unwrap();
        db.commit().unwrap();
        assert_eq!(count(&db), 1);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { tokio::spawn(async move { ask() }).await.unwrap() });
}

/// A proxy to the server that can drop traffic.
struct Between {
    port: u16,
    mode: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

const PASS: u8 = 0;
/// Drops data from the server.
const MUTE: u8 = 1;
/// Drops data from the server, and accepts new connections without forwarding them.
const GONE: u8 = 2;

impl Between {
    fn new(to: &Address) -> Between {
        let text = to.to_string();
        let (_, rest) = text.split_once('@').unwrap();
        let target = rest.split_once('/').unwrap().0.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let between = Between {
            port: listener.local_addr().unwrap().port(),
            mode: Arc::default(),
            open: Arc::default(),
        };
        let (mode, open) = (between.mode.clone(), between.open.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut all = open.lock().unwrap();
                all.push(client.try_clone().unwrap());
                if mode.load(Ordering::SeqCst) == GONE {
                    continue;
                }
                let server = TcpStream::connect(&target).unwrap();
                all.push(server.try_clone().unwrap());
                pass(client.try_clone().unwrap(), server.try_clone().unwrap(), None);
                pass(server, client, Some(mode.clone()));
            }
        });
        between
    }

    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, mode: Option<Arc<AtomicU8>>) {
    thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(count) = from.read(&mut bytes) {
            let muted = mode.as_ref().is_some_and(|mode| mode.load(Ordering::SeqCst) != PASS);
            if count == 0 || (!muted && to.write_all(&bytes[..count]).is_err()) {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok();
    });
}

#[test]
fn a_commit_whose_response_is_lost_has_an_unknown_outcome() {
    let place = Place::new();
    let admin = place.table();
    let between = Between::new(&place.address);
    let address = elsewhere(&place, &user_of(&place), between.port, "");
    let db = Connection::new(Server::open(&address, Schema::Candles, Pace::Quick).unwrap(), Role::Writer);
    db.begin(true).unwrap();
    add(&db, 1, "one").unwrap();
    between.set(MUTE);
    thread::scope(|scope| {
        let commit = scope.spawn(move || (trouble(db.commit()), db));
        until(|| count(&admin) == 1);
        between.cut();
        let (actual, db) = commit.join().unwrap();
        assert!(matches!(actual, Trouble::Lost { .. }), "{actual:?}");
        // The connection can be used again immediately.
        between.set(PASS);
        assert_eq!(count(&db), 1);
        add(&db, 2, "two").unwrap();
        // The outcome of a single statement is unknown as well.
        between.set(MUTE);
        let alone = scope.spawn(move || (trouble(add(&db, 3, "three")), db));
        until(|| count(&admin) == 3);
        between.cut();
        let (actual, db) = alone.join().unwrap();
        assert!(matches!(actual, Trouble::Lost { .. }), "{actual:?}");
        between.set(PASS);
        assert_eq!(count(&db), 3);
        // A query is retried after its response is lost.
        between.set(MUTE);
        let request = scope.spawn(move || count(&db));
        between.set(PASS);
        between.cut();
        assert_eq!(request.join().unwrap(), 3);
    });
}

#[test]
fn requests_over_a_broken_network_time_out() {
    let place = Place::new();
    let _admin = place.table();
    let between = Between::new(&place.address);
    let address = elsewhere(&place, &user_of(&place), between.port, "&connect_timeout=1");
    let server = Server::open(&address, Schema::Candles, Pace::Quick).unwrap();
    let connection = || Connection::new(server.clone(), Role::Writer);
    let (db, other) = (connection(), connection());
    db.begin(true).unwrap();
    add(&db, 1, "one").unwrap();
    other.begin(false).unwrap();
    count(&other);
    other.commit().unwrap();
    between.set(GONE);
    let actual = trouble(add(&db, 2, "two"));
    assert!(
        matches!(&actual, Trouble::Away { reason, .. } if reason == "no answer within 5 s"),
        "{actual:?}"
    );
    db.rollback().unwrap();
    // The idle connections are closed, so the next query fails within the connect timeout.
    let actual = trouble(number(&other, "select 7"));
    assert!(
        matches!(&actual, Trouble::Away { reason, .. } if reason == "no answer within 1 s"),
        "{actual:?}"
    );
    assert!(matches!(trouble(number(&other, "select 7")), Trouble::Away { .. }));
    between.set(PASS);
    until(|| number(&other, "select 7").is_ok());
    assert_eq!(count(&db), 0);
}

#[test]
fn changes_are_notified_and_polled() {
    let place = Place::with("&application_name=watches");
    let db = place.connection(Role::Writer);
    db.script("create table counter (value bigint not null); insert into counter values (5)").unwrap();
    let server = place.server(Pace::Usual);
    let channel = server.schema().to_owned();
    let (sender, receiver) = mpsc::channel();
    let watch = |every| {
        let subject =
            Subject { channels: vec![channel.clone()], question: "select value from counter", every };
        let sender = sender.clone();
        Watch::start(server.clone(), subject, move |news| {
            let news = match news {
                News::Number(number) => format!("number {number}"),
                News::Notice { payload, .. } => format!("notice {payload}"),
                News::Listening => "listening".to_owned(),
                News::Away(_) => "away".to_owned(),
            };
            sender.send(news).unwrap();
        })
        .unwrap()
    };
    let next = || receiver.recv_timeout(20 * SECOND).unwrap();
    // The poll interval is far longer than the test, so changes are seen only by notification.
    let watching = watch(Duration::from_secs(3_600));
    assert_eq!([next(), next()], ["listening", "number 5"]);
    assert_eq!(watching.listens(), Some(true));
    assert!(watching.age().is_some());
    db.begin(true).unwrap();
    db.run("update counter set value = 6", &[]).unwrap();
    db.run("select pg_notify($1, '6')", &[Value::Text(&channel)]).unwrap();
    db.commit().unwrap();
    assert_eq!([next(), next()], ["notice 6", "number 6"]);
    // A closed connection is detected immediately, and missed changes are polled after
    // reconnecting.
    let admin = Place::new();
    db.run("update counter set value = 7", &[]).unwrap();
    terminate(&admin, "watches");
    assert_eq!([next(), next(), next()], ["away", "listening", "number 7"]);
    watching.stop();
    // With a short poll interval, changes are also found by polling.
    let watching = watch(Duration::from_millis(20));
    assert_eq!([next(), next()], ["listening", "number 7"]);
    db.run("update counter set value = 8", &[]).unwrap();
    assert_eq!(next(), "number 8");
    drop(watching);
    until(|| backends(&admin, "watches") <= 1);
}
