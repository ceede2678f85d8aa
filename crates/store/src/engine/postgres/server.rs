//! A connection pool for one schema of a database.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connect::{Way, connect};
use super::session::{Session, Signal};
use super::{Address, Pace, Schema, Trouble, password, runtime, tls};
use crate::engine::params::Value;
use crate::engine::{patience, sooner};

/// A connection pool. Connections are made on demand and reused last-in first-out, so that surplus
/// connections become idle and are closed.
///
/// A thread that holds a transaction and leases a second connection from the same pool can deadlock
/// with itself. The second connection must come from another pool.
pub(crate) struct Server {
    way: Way,
    pool: Mutex<Pool>,
    changed: Condvar,
    /// Index of the last working host, which is tried first.
    host: AtomicUsize,
    /// Number of connections found broken. After a loss, the next connection may be to another
    /// server.
    losses: AtomicU64,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Session>,
    /// Number of all connections: idle, leased, and being made.
    open: usize,
    /// Time and error of the last attempt to connect, if it failed.
    failed: Option<(Instant, Trouble)>,
    /// Whether a thread is reconnecting after a failure.
    trying: bool,
}

/// Properties of a database server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Server version as a number, such as 150018.
    pub(crate) version: i64,
    pub(crate) has_schema: bool,
    /// Whether the server detects damaged pages on disk; `None` if the server does not report this.
    pub(crate) checks_pages: Option<bool>,
}

/// The required rights on the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Read,
    /// Rights to change data, and to create tables if the schema is empty.
    Write,
}

/// A connection that is borrowed from the pool.
pub(super) struct Lease {
    server: Arc<Server>,
    session: Option<Session>,
}

/// Maximum time that a caller waits for a connection.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Time for which a failed attempt to connect also fails further attempts immediately.
const FAILURE_STANDS: Duration = Duration::from_millis(250);
/// Time after which an idle connection is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);

const SCHEMA: &str = "select has_schema_privilege(oid, 'usage'), has_schema_privilege(oid, 'create') or exists (select \
    from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = 'migration') \
    from pg_catalog.pg_namespace n where nspname = $1";
const DATABASE: &str = "select has_database_privilege(current_database(), 'create'), \
    current_setting('server_version_num')::bigint, current_setting('data_checksums', true)";

impl Server {
    /// Creates a pool without connecting. Fails if TLS is required and no certificate authority is
    /// trusted.
    pub(crate) fn open(address: &Address, schema: Schema, pace: Pace) -> Result<Arc<Server>, Trouble> {
        let wants_tls = address.hosts.iter().find(|host| address.speaks_tls(host));
        let tls = wants_tls.map(|host| {
            let unprepared = |reason| Trouble::Unprepared { at: host.name(), reason };
            tls::connector(&address.roots).map_err(unprepared)
        });
        let way =
            Way { address: address.clone(), schema: address.schema(schema), pace, tls: tls.transpose()? };
        Ok(Server::of(way))
    }

    fn of(way: Way) -> Arc<Server> {
        Arc::new(Server {
            way,
            pool: Mutex::default(),
            changed: Condvar::new(),
            host: AtomicUsize::new(0),
            losses: AtomicU64::new(0),
        })
    }

    /// Creates a separate pool of one connection to the same server.
    pub(crate) fn alone(&self) -> Arc<Server> {
        let mut way = self.way.clone();
        way.address.pool = 1;
        Server::of(way)
    }

    pub(crate) fn address(&self) -> &Address {
        &self.way.address
    }

    /// Returns the number of connections found broken so far.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::Acquire)
    }

    /// Returns the name of the schema, which is also the notification channel for its changes.
    pub(crate) fn schema(&self) -> &str {
        &self.way.schema
    }

    /// Connects if needed, and checks that the server is suitable: it must be a primary (or have
    /// the role that the address requires) and have a supported version, UTF-8 encoding, and the
    /// required rights.
    pub(crate) fn check(self: &Arc<Server>, need: Need) -> Result<Found, Trouble> {
        let mut lease = self.lease()?;
        let session = lease.session()?;
        session.begin_request();
        let mut ask = |text: &str, values: &[Value<'_>]| -> Result<Option<tokio_postgres::Row>, Trouble> {
            let mut rows = session.rows(text, values).map_err(|failure| failure.trouble)?;
            let mut first = None;
            while let Some(row) = session.next(&mut rows).map_err(|failure| failure.trouble)? {
                first.get_or_insert(row);
            }
            Ok(first)
        };
        let schema = ask(SCHEMA, &[Value::Text(&self.way.schema)])?;
        let database =
            ask(DATABASE, &[])?.ok_or(Trouble::Misuse("the server did not report its database"))?;
        let is = |row: &tokio_postgres::Row| row.try_get::<_, bool>(0).unwrap_or_default();
        let Address { user, database: name, .. } = &self.way.address;
        let own = &self.way.schema;
        match &schema {
            Some(row) if !is(row) => {
                let reason = format!(
                    "the role {user} may not use the schema {own}: `grant usage on schema {own} to {user}`"
                );
                return Err(Trouble::NoRights { reason });
            }
            // The schema exists and is empty.
            Some(row) if need == Need::Write && !row.try_get::<_, bool>(1).unwrap_or_default() => {
                let reason = format!(
                    "the role {user} may create nothing in the schema {own}: `grant create on schema {own} to {user}`"
                );
                return Err(Trouble::NoRights { reason });
            }
            None if need == Need::Write && !is(&database) => {
                let reason = format!(
                    "the role {user} may not create the schema {own} in the database {name}: `grant create \
                     on database {name} to {user}`, or `create schema {own} authorization {user}` as a role \
                     that may"
                );
                return Err(Trouble::NoRights { reason });
            }
            _ => {}
        }
        let checks = database.try_get::<_, Option<&str>>(2).ok().flatten();
        Ok(Found {
            version: database.try_get(1).unwrap_or_default(),
            has_schema: schema.is_some(),
            checks_pages: checks.map(|checks| checks == "on"),
        })
    }

    pub(super) fn lease(self: &Arc<Server>) -> Result<Lease, Trouble> {
        let began = Instant::now();
        let until = sooner(began + WAIT_MAX);
        let size = self.way.address.pool;
        let mut pool = self.pool();
        loop {
            while let Some(session) = pool.idle.pop() {
                if session.is_usable() {
                    return Ok(self.leased(session));
                }
                pool.open -= 1;
                self.losses.fetch_add(1, Ordering::AcqRel);
            }
            if let Some((at, trouble)) = &pool.failed
                && (pool.trying || at.elapsed() < FAILURE_STANDS)
            {
                // Hundreds of threads may need an unreachable server. Only one thread at a time
                // tries to connect, and the others fail immediately.
                return Err(trouble.clone());
            }
            if pool.open < size {
                pool.open += 1;
                let tries_again = pool.failed.is_some();
                pool.trying |= tries_again;
                drop(pool);
                let made = self.connect(self.way.pace, None);
                pool = self.pool();
                pool.trying &= !tries_again;
                self.changed.notify_all();
                match made {
                    Ok(session) => {
                        pool.failed = None;
                        return Ok(self.leased(session));
                    }
                    Err(trouble) => {
                        pool.open -= 1;
                        // The server's connection limit is lower than the pool size, so the
                        // existing connections must suffice.
                        let must_do = matches!(trouble, Trouble::Crowded { .. }) && pool.open > 0;
                        if !must_do {
                            pool.failed = Some((Instant::now(), trouble.clone()));
                            return Err(trouble);
                        }
                        if !pool.idle.is_empty() {
                            continue;
                        }
                    }
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Trouble::Exhausted { open: pool.open, waited_s: began.elapsed().as_secs() });
            }
            pool = self.changed.wait_timeout(pool, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn leased(self: &Arc<Server>, session: Session) -> Lease {
        Lease { server: self.clone(), session: Some(session) }
    }

    /// Closes all idle connections. A restart or network failure that broke one connection has
    /// probably broken the others.
    pub(super) fn distrust(&self) {
        self.losses.fetch_add(1, Ordering::AcqRel);
        let mut pool = self.pool();
        pool.open -= pool.idle.len();
        let idle = std::mem::take(&mut pool.idle);
        drop(pool);
        for mut session in idle {
            session.give_up();
        }
        self.changed.notify_all();
    }

    fn take_back(&self, mut session: Session) {
        let mut old = Vec::new();
        let mut pool = self.pool();
        if session.is_usable() {
            session.idle_since = Instant::now();
            pool.idle.push(session);
            let count =
                pool.idle.iter().take_while(|session| session.idle_since.elapsed() > IDLE_MAX).count();
            old.extend(pool.idle.drain(..count));
            pool.open -= old.len();
        } else {
            pool.open -= 1;
            old.push(session);
        }
        drop(pool);
        self.changed.notify_one();
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the first suitable host.
    pub(super) fn connect(&self, pace: Pace, hear: Option<SyncSender<Signal>>) -> Result<Session, Trouble> {
        let way = Way { pace, ..self.way.clone() };
        let hosts = &way.address.hosts;
        let first = self.host.load(Ordering::Relaxed).min(hosts.len().saturating_sub(1));
        let order: Vec<usize> = (first..hosts.len()).chain(0..first).collect();
        let mut tried = Vec::new();
        // The limit is three times the timeout per host: twice for connecting, because a name may
        // resolve to several addresses, and once for the settings.
        let all = way.address.connect_timeout() * 3;
        for index in order {
            let Some(host) = hosts.get(index).cloned() else { continue };
            let password = match password::password(&way.address, &host, |name| std::env::var_os(name)) {
                Ok(password) => password,
                Err(reason) => return Err(Trouble::Unprepared { at: host.name(), reason }),
            };
            let (way, hear, at) = (way.clone(), hear.clone(), host.name());
            let made = async move { connect(&way, &host, password.as_ref(), hear).await };
            match runtime::run(made, sooner(Instant::now() + all))? {
                Some(Ok(session)) => {
                    self.host.store(index, Ordering::Relaxed);
                    return Ok(session);
                }
                Some(Err(trouble)) => tried.push((at, trouble)),
                None => {
                    let reason = format!("no answer within {} s", patience(all).as_secs());
                    tried.push((at.clone(), Trouble::Away { at, reason }));
                }
            }
        }
        Err(together(tried))
    }
}

/// Combines the errors of several hosts, all of which failed.
fn together(mut tried: Vec<(String, Trouble)>) -> Trouble {
    let is_standby = |trouble: &Trouble| matches!(trouble, Trouble::ReadOnly { .. });
    let reasons = || {
        let reason = |(at, trouble): &(String, Trouble)| match trouble {
            Trouble::Away { reason, .. } | Trouble::Refused { reason, .. } => format!("{at}: {reason}"),
            Trouble::ReadOnly { reason } => reason.clone(),
            other => format!("{at}: {other}"),
        };
        tried.iter().map(reason).collect::<Vec<_>>().join("; ")
    };
    if tried.len() > 1 && tried.iter().all(|(_, trouble)| is_standby(trouble)) {
        return Trouble::ReadOnly { reason: reasons() };
    }
    // An unreachable host may be the primary, so the failure is treated as temporary.
    if tried.len() > 1 && tried.iter().any(|(_, trouble)| matches!(trouble, Trouble::Away { .. })) {
        let hosts: Vec<&str> = tried.iter().map(|(at, _)| at.as_str()).collect();
        return Trouble::Away { at: hosts.join(", "), reason: reasons() };
    }
    let decisive = tried.iter().position(|(_, trouble)| !is_standby(trouble)).unwrap_or(0);
    match tried.is_empty() {
        true => Trouble::Misuse("the address has no host"),
        false => tried.swap_remove(decisive).1,
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Server");
        debug.field("address", &self.way.address.to_string()).field("schema", &self.way.schema);
        debug.field("pace", &self.way.pace).finish_non_exhaustive()
    }
}

impl Lease {
    pub(super) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Returns the connection. Fails after `give_back`.
    pub(super) fn session(&mut self) -> Result<&mut Session, Trouble> {
        self.session
            .as_mut()
            .ok_or(Trouble::Misuse("a connection was used after it was returned to the pool"))
    }

    /// Returns the connection to the pool before the lease is dropped.
    pub(super) fn give_back(&mut self) {
        if let Some(session) = self.session.take() {
            self.server.take_back(session);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.session.fmt(f)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(tried: &[(&str, Trouble)]) -> Trouble {
        together(tried.iter().map(|(at, trouble)| ((*at).to_owned(), trouble.clone())).collect())
    }

    #[test]
    fn errors_of_several_hosts_are_combined_by_their_remedy() {
        let away = |at: &str| Trouble::Away { at: at.to_owned(), reason: "connection refused".to_owned() };
        let standby = |at: &str| Trouble::ReadOnly { reason: format!("{at} is a standby") };
        let refused = || Trouble::Refused { at: "one:1".to_owned(), reason: "no password".to_owned() };
        let all = describe(&[("one:1", standby("one:1")), ("two:2", standby("two:2"))]);
        assert!(matches!(all, Trouble::ReadOnly { .. }));
        assert_eq!(all.to_string(), "one:1 is a standby; two:2 is a standby");
        // The primary is unreachable, and its standby has not been promoted yet.
        let half = describe(&[("one:1", away("one:1")), ("two:2", standby("two:2"))]);
        assert!(matches!(half, Trouble::Away { .. }));
        assert_eq!(
            half.to_string(),
            "one:1, two:2 cannot be reached: one:1: connection refused; two:2 is a standby"
        );
        assert!(matches!(
            describe(&[("one:1", refused()), ("two:2", standby("two:2"))]),
            Trouble::Refused { .. }
        ));
        assert_eq!(
            describe(&[("one:1", away("one:1"))]).to_string(),
            "one:1 cannot be reached: connection refused"
        );
    }

    #[test]
    fn debug_output_shows_address_and_schema() {
        let address = "postgres://u@127.0.0.1/d?password_file=/secret".parse().unwrap();
        let server = Server::open(&address, Schema::Candles, Pace::Usual).unwrap();
        let shown = format!("{server:?}");
        assert!(
            shown.contains("postgres://u@127.0.0.1:5432/d") && shown.contains("chandler_candles"),
            "{shown}"
        );
    }
}
