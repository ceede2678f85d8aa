//! A pool of connections to one schema of one database.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connect::{Way, connect};
use super::drive::Signal;
use super::session::Session;
use super::{Address, Pace, Schema, Trouble, password, runtime, tls};
use crate::engine::params::Value;
use crate::engine::{patience, sooner};

/// Connections are made when they are needed and handed out the last one first, so that those that are not needed grow old and are closed.
///
/// A thread that holds a transaction and leases a second connection of the same pool can wait for itself: take another pool for that.
pub(crate) struct Server {
    way: Way,
    pool: Mutex<Pool>,
    changed: Condvar,
    /// The host that was right the last time is tried first.
    host: AtomicUsize,
    /// Connections that were made so far. A new one may be to another server than the one before.
    made: AtomicU64,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Session>,
    /// All there are: idle, leased, and being made.
    open: usize,
    /// The last attempt to connect, if it failed.
    failed: Option<(Instant, Trouble)>,
    /// Whether somebody tries again after that.
    trying: bool,
}

/// A server as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// As 150018.
    pub(crate) version: i64,
    pub(crate) has_schema: bool,
    /// Whether the server notices pages that were damaged on its disk; `None` where it does not say.
    pub(crate) checks_pages: Option<bool>,
}

/// What rights are needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Read,
    /// To change what is there, and to create it where there is nothing.
    Write,
}

/// A connection for as long as it is needed.
pub(super) struct Lease {
    server: Arc<Server>,
    session: Option<Session>,
}

/// How long anybody waits for a connection that others have.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// For how long a failed attempt to connect stands for the next ones.
const FAILURE_STANDS: Duration = Duration::from_millis(250);
/// Connections that were not needed for so long are closed.
const IDLE_MAX: Duration = Duration::from_secs(60);

const SCHEMA: &str = "select has_schema_privilege(oid, 'usage'), has_schema_privilege(oid, 'create') or exists (select \
    from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = 'migration') \
    from pg_catalog.pg_namespace n where nspname = $1";
const DATABASE: &str = "select has_database_privilege(current_database(), 'create'), \
    current_setting('server_version_num')::bigint, current_setting('data_checksums', true)";

impl Server {
    /// Nothing is connected yet. Fails where TLS is asked for and no authority can be trusted.
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
            made: AtomicU64::new(0),
        })
    }

    /// One connection to the same, whoever uses those of this pool.
    pub(crate) fn alone(&self) -> Arc<Server> {
        let mut way = self.way.clone();
        way.address.pool = 1;
        Server::of(way)
    }

    pub(crate) fn address(&self) -> &Address {
        &self.way.address
    }

    /// How many connections were made so far.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// The name of the schema; also that of the channel on which its changes are told.
    pub(crate) fn schema(&self) -> &str {
        &self.way.schema
    }

    /// Connects, if no connection is there, and looks whether the server will do: a primary (or whatever the address asks for), new enough,
    /// in UTF-8, with the rights that are needed.
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
            ask(DATABASE, &[])?.ok_or(Trouble::Misuse("the server said nothing of its database"))?;
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
            // One that is there and has nothing in it.
            Some(row) if need == Need::Write && !row.try_get::<_, bool>(1).unwrap_or_default() => {
                let reason = format!(
                    "the role {user} may create nothing in the schema {own}: `grant create on schema {own} to {user}`"
                );
                return Err(Trouble::NoRights { reason });
            }
            None if need == Need::Write && !is(&database) => {
                let reason = format!(
                    "the role {user} may not create the schema {own} in the database {name}: `grant create on database {name} to \
                     {user}`, or `create schema {own} authorization {user}` as somebody who may"
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
            }
            if let Some((at, trouble)) = &pool.failed
                && (pool.trying || at.elapsed() < FAILURE_STANDS)
            {
                // Hundreds may ask a server that is away: one of them at a time waits for it to be back, and the others are told at once.
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
                        self.made.fetch_add(1, Ordering::AcqRel);
                        return Ok(self.leased(session));
                    }
                    Err(trouble) => {
                        pool.open -= 1;
                        // The server has fewer connections to give than we would take: those that we have must do.
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

    /// Closes what is idle: what one connection has met, a restart or a network that was cut, the others will have met too.
    pub(super) fn distrust(&self) {
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

    /// A connection to the first host that will do.
    pub(super) fn connect(&self, pace: Pace, hear: Option<SyncSender<Signal>>) -> Result<Session, Trouble> {
        let way = Way { pace, ..self.way.clone() };
        let hosts = &way.address.hosts;
        let first = self.host.load(Ordering::Relaxed).min(hosts.len().saturating_sub(1));
        let order: Vec<usize> = (first..hosts.len()).chain(0..first).collect();
        let mut tried = Vec::new();
        // Three times per host: connecting twice, as a name may stand for several addresses, and settling.
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

/// What several hosts come to, each of which failed.
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
    // A primary that is away may be among them, and then its standby is no reason to give up for good.
    if tried.len() > 1 && tried.iter().any(|(_, trouble)| matches!(trouble, Trouble::Away { .. })) {
        let hosts: Vec<&str> = tried.iter().map(|(at, _)| at.as_str()).collect();
        return Trouble::Away { at: hosts.join(", "), reason: reasons() };
    }
    let telling = tried.iter().position(|(_, trouble)| !is_standby(trouble)).unwrap_or(0);
    match tried.is_empty() {
        true => Trouble::Misuse("the address names no host"),
        false => tried.swap_remove(telling).1,
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

    /// It is there until the lease is dropped.
    pub(super) fn session(&mut self) -> Result<&mut Session, Trouble> {
        self.session.as_mut().ok_or(Trouble::Misuse("a connection was used after it was given back"))
    }

    /// As when it is dropped.
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

    fn told(tried: &[(&str, Trouble)]) -> Trouble {
        together(tried.iter().map(|(at, trouble)| ((*at).to_owned(), trouble.clone())).collect())
    }

    #[test]
    fn hosts_that_failed_are_told_apart_by_what_helps() {
        let away = |at: &str| Trouble::Away { at: at.to_owned(), reason: "connection refused".to_owned() };
        let standby = |at: &str| Trouble::ReadOnly { reason: format!("{at} is a standby") };
        let refused = || Trouble::Refused { at: "one:1".to_owned(), reason: "no password".to_owned() };
        let all = told(&[("one:1", standby("one:1")), ("two:2", standby("two:2"))]);
        assert!(matches!(all, Trouble::ReadOnly { .. }));
        assert_eq!(all.to_string(), "one:1 is a standby; two:2 is a standby");
        // The primary is gone and its standby not promoted yet.
        let half = told(&[("one:1", away("one:1")), ("two:2", standby("two:2"))]);
        assert!(matches!(half, Trouble::Away { .. }));
        assert_eq!(
            half.to_string(),
            "one:1, two:2 cannot be reached: one:1: connection refused; two:2 is a standby"
        );
        assert!(matches!(
            told(&[("one:1", refused()), ("two:2", standby("two:2"))]),
            Trouble::Refused { .. }
        ));
        assert_eq!(
            told(&[("one:1", away("one:1"))]).to_string(),
            "one:1 cannot be reached: connection refused"
        );
    }

    #[test]
    fn a_server_is_shown_without_what_it_holds() {
        let address = "postgres://u@127.0.0.1/d?password_file=/secret".parse().unwrap();
        let server = Server::open(&address, Schema::Candles, Pace::Usual).unwrap();
        let shown = format!("{server:?}");
        assert!(
            shown.contains("postgres://u@127.0.0.1:5432/d") && shown.contains("chandler_candles"),
            "{shown}"
        );
    }
}
