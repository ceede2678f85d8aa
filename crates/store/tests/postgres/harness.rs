//! A PostgreSQL server for the tests of one binary. The server is started on first use, on loopback
//! and in a temporary directory, and stopped when the binary ends, even if the binary is killed.
//! Tests of other crates include this file by path.

#![allow(dead_code, reason = "whoever includes it uses a part of it")]

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns the server of this binary, and starts it on the first call.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// Shell script that creates a server, runs it until stdin is closed, and removes it. Stdin is a
/// pipe whose other end is held only by the test process, so stdin is closed when that process ends
/// or is killed.
const KEEPER: &str = r#"
set -u
bin=$1 dir=$2 port=$3
trap '' INT TERM HUP
leave() {
    [ ! -f "$dir/data/postmaster.pid" ] || "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >>"$dir/log" 2>&1
    rm -rf "$dir"
    exit 0
}
fail() {
    echo "failed: $1: $(tail -n 5 "$dir/log" | tr '\n' ' ')"
    leave
}
"$bin/initdb" -D "$dir/data" -A trust -U postgres -k -E UTF8 --locale=C --no-sync >"$dir/log" 2>&1 || fail initdb
cat >>"$dir/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$dir'
max_connections = 500
# It is thrown away; what survives a crash is for the tests that crash one.
fsync = off
full_page_writes = off
synchronous_commit = off
max_wal_size = '4GB'
END
"$bin/pg_ctl" -D "$dir/data" -w -t 60 -l "$dir/server.log" start </dev/null >>"$dir/log" 2>&1 || fail "$(tail -n 3 "$dir/server.log")"
echo ready
read -r _
leave
"#;

#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    bin: PathBuf,
    /// Stdin of the script. Closing this pipe stops the server. Nothing is written to it.
    _open: ChildStdin,
    _keeper: Child,
}

impl Server {
    fn start() -> Server {
        let bin = programs().unwrap_or_else(|why| panic!("{why}"));
        let mut actual = String::new();
        // Another process may take the free port first, so the start is retried.
        for _ in 0..5 {
            match Server::start_in(&bin) {
                Ok(server) => return server,
                Err(why) => actual = why,
            }
        }
        panic!("no PostgreSQL server could be started: {actual}");
    }

    fn start_in(bin: &Path) -> Result<Server, String> {
        let dir = tempfile::Builder::new().prefix("chandler-postgres-").tempdir().unwrap().keep();
        let port = free_port();
        let mut keeper = Command::new("/bin/sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(bin).arg(&dir).arg(port.to_string());
        // The script runs in a separate process group, so that Ctrl-C reaches only the tests. The
        // server stops when the tests end.
        keeper.current_dir("/").process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some((uid, gid)) = ordinary_user() {
            chown(&dir, Some(uid), Some(gid)).unwrap();
            keeper.uid(uid).gid(gid);
        }
        let mut keeper = keeper.spawn().unwrap();
        let open = keeper.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.trim() {
            "ready" => Ok(Server { port, bin: bin.to_owned(), _open: open, _keeper: keeper }),
            other => Err(other.to_owned()),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the directory of PostgreSQL's programs.
    pub(crate) fn programs(&self) -> &Path {
        &self.bin
    }

    /// Returns unused schemas in the default database, for one test.
    pub(crate) fn place(&'static self) -> Place {
        Place { server: self, database: "postgres".to_owned(), prefix: next_prefix(), is_own: false }
    }

    /// Creates a database for one test. `terms` are options of `create database`, such as `encoding
    /// 'LATIN1' template template0`.
    pub(crate) fn database(&'static self, terms: &str) -> Place {
        let prefix = next_prefix();
        let database = format!("own_{prefix}");
        self.sql("postgres", &format!("create database {database} {terms}")).unwrap();
        Place { server: self, database, prefix, is_own: true }
    }

    /// Runs statements as the superuser. Returns the rows of the last statement, with columns
    /// separated by `|`.
    pub(crate) fn sql(&self, database: &str, statements: &str) -> Result<String, String> {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"]);
        psql.args(["-p", &self.port.to_string(), "-d", database, "-c", statements]);
        // Environment variables of the user must not affect the tests.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            psql.env_remove(name);
        }
        let output = psql.current_dir("/").stdin(Stdio::null()).output().unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned())
    }
}

/// The schemas of one test, which are dropped with this value.
pub(crate) struct Place {
    server: &'static Server,
    database: String,
    prefix: String,
    /// Whether the database was created for this test.
    is_own: bool,
}

impl Place {
    /// Returns the URL of the store, for the option `--store`.
    pub(crate) fn url(&self) -> String {
        self.url_of("postgres", self.server.port, "")
    }

    /// Returns the URL for another user and port, with further parameters such as `&pool=4`.
    pub(crate) fn url_of(&self, user: &str, port: u16, parameters: &str) -> String {
        let (database, prefix) = (&self.database, &self.prefix);
        format!("postgres://{user}@127.0.0.1:{port}/{database}?schema={prefix}{parameters}")
    }

    pub(crate) fn server(&self) -> &'static Server {
        self.server
    }

    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    /// Returns the schema of a part, `candles` or `accounts`.
    pub(crate) fn schema(&self, part: &str) -> String {
        format!("{}_{part}", self.prefix)
    }

    /// Runs statements in the schema of a part, bypassing the store.
    pub(crate) fn sql(&self, part: &str, statements: &str) -> String {
        let path = format!("set search_path to {}; ", self.schema(part));
        self.server
            .sql(&self.database, &(path + statements))
            .unwrap_or_else(|why| panic!("{statements}: {why}"))
    }

    /// Runs statements in the database, without a schema in the search path.
    pub(crate) fn database_sql(&self, statements: &str) -> Result<String, String> {
        self.server.sql(&self.database, statements)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let statements = if self.is_own {
            format!("drop database if exists {} with (force)", self.database)
        } else {
            // A failed test may have left a transaction open. In that case the schema remains until
            // the server is removed.
            let schemas = ["candles", "accounts"].map(|part| self.schema(part)).join(", ");
            format!(
                "set client_min_messages to error; set lock_timeout to '5s'; drop schema if exists {schemas} cascade"
            )
        };
        drop(self.server.sql("postgres", &statements));
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())
    }
}

/// Returns the directory of PostgreSQL's programs, for the newest installed version.
fn programs() -> Result<PathBuf, String> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = debian
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("initdb").is_file())
        .collect();
    versions.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::var_os("CHANDLER_TEST_POSTGRES")
        .map(PathBuf::from)
        .into_iter()
        .chain(versions.pop().map(|(_, bin)| bin))
        .chain(std::env::split_paths(&path))
        .find(|bin| bin.join("initdb").is_file())
        .ok_or_else(|| {
            "no PostgreSQL server is installed, and these tests need one: ./setup.sh --test".to_owned()
        })
}

fn next_prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Returns the user and group that run the server if the tests run as root, because PostgreSQL
/// refuses to run as root. Returns `None` otherwise.
fn ordinary_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let find = |wanted: &str| {
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let is_wanted = fields.next() == Some(wanted);
            let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
            is_wanted.then_some((uid, gid))
        })
    };
    Some(find("postgres").or_else(|| find("nobody")).unwrap())
}
