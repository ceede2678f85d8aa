//! Establishing a connection: server checks, session settings, and connection errors.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, Host, HostAt, Target};
use super::password::Password;
use super::session::{Course, Session, Signal, drive};
use super::trouble::chain;
use super::{Pace, Trouble, tls};

/// Connection parameters except the host.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) address: Address,
    pub(super) schema: String,
    pub(super) pace: Pace,
    pub(super) tls: Option<MakeRustlsConnect>,
}

/// The oldest supported server version.
const VERSION_MIN: u32 = 150_000;
const VERIFY: &str = "select current_setting('server_version_num'), current_setting('server_version'), \
    current_setting('server_encoding'), current_setting('transaction_read_only'), pg_is_in_recovery(), \
    current_setting('synchronous_commit', true)";
/// Idle time before TCP keep-alive probes are sent, which detect a server that has disappeared.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(10);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
const KEEPALIVES_MAX: u32 = 3;

/// Connects to one host, applies the session settings, and rejects an unsuitable server. Must run
/// on the runtime.
pub(super) async fn connect(
    way: &Way,
    host: &Host,
    password: Option<&Password>,
    hear: Option<SyncSender<Signal>>,
) -> Result<Session, Trouble> {
    let at = host.name();
    let within = way.address.connect_timeout();
    let config = config(way, host, password);
    let course = Arc::<Course>::default();
    let made = async {
        let seen = course.clone();
        match &way.tls {
            Some(tls) if way.address.speaks_tls(host) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                Ok((client, tokio::spawn(drive(connection, seen, hear)).abort_handle()))
            }
            _ => {
                let (client, connection) = config.connect(NoTls).await?;
                Ok((client, tokio::spawn(drive(connection, seen, hear)).abort_handle()))
            }
        }
    };
    let silent =
        || Trouble::Away { at: at.clone(), reason: format!("no answer within {} s", within.as_secs()) };
    // The limit is twice the connect timeout, because a name may resolve to several addresses and
    // the handshakes follow.
    let (client, task) = tokio::time::timeout(within * 2, made)
        .await
        .map_err(|_| silent())?
        .map_err(|error| connect_error(error, &at))?;
    match tokio::time::timeout(within, settle(&client, way, &at)).await {
        Ok(settled) => settled.map(|()| Session::new(client, course, task, at, way.pace)),
        Err(_) => {
            task.abort();
            Err(silent())
        }
    }
}

async fn settle(client: &Client, way: &Way, at: &str) -> Result<(), Trouble> {
    let failed = |error| connect_error(error, at);
    let found = client.simple_query(VERIFY).await.map_err(failed)?;
    let row = found.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let row = row.ok_or(Trouble::Misuse("the server did not report its settings"))?;
    let value = |i| row.try_get(i).ok().flatten().unwrap_or_default();
    verify(value(0), value(1), value(2))?;
    aims(way.address.target, at, value(3) == "on", value(4) == "t")?;
    let settings = settings(way, value(5));
    let all: String = settings.iter().map(|(name, value)| format!("set {name} = '{value}';")).collect();
    if client.batch_execute(&all).await.is_ok() {
        return Ok(());
    }
    // Databases that only implement PostgreSQL's protocol lack some settings, but work without
    // them.
    for (name, value) in &settings {
        let set = client.batch_execute(&format!("set {name} = '{value}'")).await;
        let lacks = |error: &tokio_postgres::Error| {
            let lacking = [
                SqlState::UNDEFINED_OBJECT,
                SqlState::FEATURE_NOT_SUPPORTED,
                SqlState::INVALID_PARAMETER_VALUE,
            ];
            *name != "search_path" && error.code().is_some_and(|code| lacking.contains(code))
        };
        match set {
            Err(error) if lacks(&error) => {}
            set => set.map_err(failed)?,
        }
    }
    Ok(())
}

fn config(way: &Way, host: &Host, password: Option<&Password>) -> Config {
    let limits = way.pace.limits();
    let mut config = Config::new();
    config
        .user(&way.address.user)
        .dbname(&way.address.database)
        .application_name(&way.address.application_name)
        .port(host.port)
        .connect_timeout(way.address.connect_timeout())
        .tcp_user_timeout(limits.unacknowledged)
        .keepalives_idle(KEEPALIVE_AFTER)
        .keepalives_interval(KEEPALIVE_EVERY)
        .keepalives_retries(KEEPALIVES_MAX)
        .ssl_mode(if way.address.speaks_tls(host) { SslMode::Require } else { SslMode::Disable });
    match &host.at {
        HostAt::Network(name) => config.host(name),
        HostAt::Socket(directory) => config.host_path(directory),
    };
    if let Some(password) = password {
        config.password(&password.0);
    }
    config
}

fn verify(number: &str, version: &str, encoding: &str) -> Result<(), Trouble> {
    if number.parse::<u32>().map_or(true, |number| number < VERSION_MIN) {
        return Err(Trouble::TooOld { found: version.to_owned() });
    }
    match encoding {
        "UTF8" => Ok(()),
        found => Err(Trouble::WrongEncoding { found: found.to_owned() }),
    }
}

/// Checks that a server has the role that the address requires.
fn aims(target: Target, at: &str, is_read_only: bool, is_standby: bool) -> Result<(), Trouble> {
    let found = match (is_standby, is_read_only) {
        (true, _) => "is a standby",
        (false, true) => "allows no changes (default_transaction_read_only is on)",
        (false, false) => "is a primary",
    };
    let (fits, wanted) = match target {
        Target::ReadWrite => (!is_read_only, "name the primary, or promote this one"),
        Target::Primary => (!is_standby, "name the primary, or promote this one"),
        Target::ReadOnly => (is_read_only, "the address requires a server that allows no changes"),
        Target::Standby => (is_standby, "the address requires a standby"),
        Target::Any => (true, ""),
    };
    if fits { Ok(()) } else { Err(Trouble::ReadOnly { reason: format!("{at} {found}: {wanted}") }) }
}

/// Returns the session settings that this program relies on, regardless of the defaults of server,
/// database and role.
fn settings(way: &Way, synchronous_commit: &str) -> Vec<(&'static str, String)> {
    let limits = way.pace.limits();
    let mut settings = vec![
        ("search_path", way.schema.clone()),
        ("statement_timeout", limits.statement_ms.to_string()),
        ("lock_timeout", limits.lock_ms.to_string()),
        ("idle_in_transaction_session_timeout", limits.idle_in_transaction_ms.to_string()),
        ("default_transaction_isolation", "read committed".to_owned()),
        // The server cancels statements whose client has disconnected.
        ("client_connection_check_interval", "5s".to_owned()),
    ];
    match (way.pace, synchronous_commit) {
        (Pace::Fleeting, _) => settings.push(("synchronous_commit", "off".to_owned())),
        // Acknowledged changes must survive a crash and, if there is a synchronous standby, the
        // loss of the primary.
        (_, "off" | "local") => settings.push(("synchronous_commit", "on".to_owned())),
        _ => {}
    }
    settings
}

/// Converts the error of a failed connection attempt to a message with advice.
fn connect_error(error: tokio_postgres::Error, at: &str) -> Trouble {
    let refused = |reason: String| Trouble::Refused { at: at.to_owned(), reason };
    if let Some(reason) = tls::untrusted(&error) {
        return refused(reason);
    }
    let text = chain(&error);
    if text.contains("server does not support TLS") {
        return refused(
            "it does not support TLS: enable it there (`ssl = on`), or write `sslmode=disable` if the \
             network between is trusted"
                .to_owned(),
        );
    }
    if text.contains("password missing") {
        return refused(
            "it requires a password: put it into PGPASSWORD, or name a file of it with `password_file=` in \
             the address"
                .to_owned(),
        );
    }
    let code = error.code().cloned();
    match Trouble::of(error, at) {
        Trouble::Refused { reason, .. } if code == Some(SqlState::INVALID_PASSWORD) => {
            refused(format!("{reason}: correct PGPASSWORD or the file of the password"))
        }
        Trouble::Refused { reason, .. } if code == Some(SqlState::INVALID_CATALOG_NAME) => refused(format!(
            "{reason}: create it with `createdb --encoding UTF8 --template template0`, or name another"
        )),
        Trouble::Refused { reason, .. } => refused(format!(
            "{reason}: allow the user in pg_hba.conf, or name another; where it asks for encryption, write \
             `sslmode=verify-full`"
        )),
        Trouble::Driver(error) => refused(chain(&*error)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_or_non_utf_8_server_is_refused() {
        assert!(verify("150000", "15.0", "UTF8").is_ok());
        assert!(verify("180001", "18.1", "UTF8").is_ok());
        assert_eq!(
            verify("140012", "14.12", "UTF8").unwrap_err().to_string(),
            "it is PostgreSQL 14.12: 15 is the oldest supported version"
        );
        assert!(matches!(verify("", "unknown", "UTF8"), Err(Trouble::TooOld { .. })));
        assert!(
            verify("150000", "15.0", "SQL_ASCII")
                .unwrap_err()
                .to_string()
                .starts_with("its encoding is SQL_ASCII: create")
        );
    }

    #[test]
    fn a_server_with_another_role_is_refused() {
        let describe = |target, is_read_only, is_standby| {
            aims(target, "one:5432", is_read_only, is_standby).map_err(|trouble| trouble.to_string())
        };
        for (target, primary, read_only, standby) in [
            (Target::ReadWrite, true, false, false),
            (Target::Primary, true, true, false),
            (Target::ReadOnly, false, true, true),
            (Target::Standby, false, false, true),
            (Target::Any, true, true, true),
        ] {
            assert_eq!(describe(target, false, false).is_ok(), primary, "{target:?}");
            assert_eq!(describe(target, true, false).is_ok(), read_only, "{target:?}");
            assert_eq!(describe(target, true, true).is_ok(), standby, "{target:?}");
        }
        let standby = describe(Target::ReadWrite, true, true).unwrap_err();
        assert_eq!(standby, "one:5432 is a standby: name the primary, or promote this one");
        assert!(
            describe(Target::ReadWrite, true, false).unwrap_err().contains("default_transaction_read_only")
        );
    }

    #[test]
    fn only_fleeting_commits_are_asynchronous() {
        let set = |pace, found: &str| {
            let address: Address = "postgres://u@h/d?schema=own".parse().unwrap();
            let way = Way { address, schema: "own_candles".to_owned(), pace, tls: None };
            let settings = settings(&way, found);
            let value =
                |name: &str| settings.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
            assert_eq!(value("search_path").as_deref(), Some("own_candles"));
            (value("synchronous_commit"), value("statement_timeout").unwrap())
        };
        assert_eq!(set(Pace::Usual, "on"), (None, "55000".to_owned()));
        assert_eq!(set(Pace::Usual, "remote_apply"), (None, "55000".to_owned()));
        assert_eq!(set(Pace::Quick, "off"), (Some("on".to_owned()), "4000".to_owned()));
        assert_eq!(set(Pace::Long, "local"), (Some("on".to_owned()), "0".to_owned()));
        assert_eq!(set(Pace::Fleeting, "on"), (Some("off".to_owned()), "4000".to_owned()));
    }
}
