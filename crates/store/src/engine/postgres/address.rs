//! PostgreSQL connection URL: `postgres://USER@HOST:PORT,HOST2:PORT2/DATABASE?parameters`. The URL
//! never contains a password.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::Schema;

/// Address of a database on one server or on several replicas. Displayed as a URL that parses to
/// the same address, without default values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub(super) user: String,
    pub(super) database: String,
    /// Hosts in the order in which they are tried. Never empty.
    pub(super) hosts: Vec<Host>,
    pub(super) target: Target,
    /// TLS mode; if `None`, [`Address::speaks_tls`] decides by host.
    tls: Option<Tls>,
    pub(super) roots: Roots,
    schema: String,
    connect_timeout_s: u16,
    pub(super) application_name: String,
    pub(super) pool: usize,
    pub(super) password: PasswordFrom,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Host {
    pub(super) at: HostAt,
    pub(super) port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum HostAt {
    /// A host name or an IP address.
    Network(String),
    /// Directory of a Unix socket.
    Socket(PathBuf),
}

/// Required role of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    ReadWrite,
    Primary,
    ReadOnly,
    Standby,
    Any,
}

/// TLS mode. Unverified TLS is not offered, because it does not prevent man-in-the-middle attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tls {
    Off,
    Verified,
}

/// The trusted certificate authorities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Roots {
    System,
    File(PathBuf),
}

/// Source of the password. Read again for each new connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PasswordFrom {
    /// `PGPASSWORD`, or the file that `PGPASSFILE` names.
    Environment,
    /// A file with lines of `host:port:database:user:password`, as used by libpq.
    Passfile(PathBuf),
    /// A file that contains only the password.
    File(PathBuf),
}

/// An error in an address. The message shows the correct syntax, and never repeats text that could
/// be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address of a PostgreSQL server begins with another word: write {SHAPE}")]
    Scheme,
    #[error("the address of a PostgreSQL server is longer than {LENGTH_MAX} bytes: write {SHAPE}")]
    TooLong,
    #[error(
        "the address has a password in it, which every list of processes shows: take it out and put it into the environment variable \
         PGPASSWORD, or name a file of it with `?password_file=PATH`, or one in the format of libpq with `?passfile=PATH` or PGPASSFILE"
    )]
    Password,
    #[error("the address has no user: write {SHAPE}")]
    NoUser,
    #[error("the address has no host: write {SHAPE}, or `?host=/DIRECTORY` for a Unix socket")]
    NoHost,
    #[error(
        "{text:?} is not the name of a host: write a name, an IPv4 address or an IPv6 address in brackets"
    )]
    Host { text: String },
    #[error("the address names {found} hosts: name at most {HOSTS_MAX}")]
    Hosts { found: usize },
    #[error("{text:?} is not a port: write a number from 1 to 65535, or leave out the colon for {PORT}")]
    Port { text: String },
    #[error("the address has no database: write {SHAPE}")]
    NoDatabase,
    #[error("{text:?} is not the name of a database: write one word of at most 63 bytes, `/` in it as %2F")]
    Database { text: String },
    #[error("{text:?} is not the name of a user: write one word of at most 63 bytes")]
    User { text: String },
    #[error(
        "the {part} has a percent sign without two hexadecimal digits after it: write %25 for the sign itself"
    )]
    Percent { part: &'static str },
    #[error("the {part} is not UTF-8 once its percent signs are undone: write it in UTF-8")]
    Utf8 { part: &'static str },
    #[error("the address has a `#` in it: write %23 for the sign itself")]
    Fragment,
    #[error("the parameter {name:?} of the address is unknown: known are {}", PARAMETERS.join(", "))]
    Unknown { name: String },
    #[error("the address has the parameter `{name}` twice: write it once")]
    Twice { name: &'static str },
    #[error("the parameter `{name}` of the address cannot be {text:?}: {advice}")]
    Parameter { name: &'static str, text: String, advice: &'static str },
}

const SHAPE: &str = "postgres://USER@HOST:PORT/DATABASE";
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const PARAMETERS: [&str; 10] = [
    "target_session_attrs",
    "sslmode",
    "sslrootcert",
    "schema",
    "connect_timeout",
    "application_name",
    "pool",
    "passfile",
    "password_file",
    "host",
];
const PORT: u16 = 5432;
/// The system's trusted certificate authorities on Debian and derivatives.
const DEBIAN_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";
const LENGTH_MAX: usize = 4_096;
const HOSTS_MAX: usize = 8;
/// Maximum length of a name, in bytes. PostgreSQL truncates longer names, so two names could become
/// equal.
const NAME_BYTES_MAX: usize = 63;
/// Maximum length of the schema name, in bytes. Leaves room for the suffix `_candles` or
/// `_accounts`.
const SCHEMA_BYTES_MAX: usize = 40;
const SCHEMA: &str = "chandler";
const APPLICATION: &str = "chandler";
const CONNECT_TIMEOUT_S: u16 = 3;
const CONNECT_TIMEOUT_S_MAX: u16 = 60;
const POOL: usize = 16;
/// Minimum pool size. A writer holds one connection during a change and reads on other connections.
const POOL_MIN: usize = 4;
const POOL_MAX: usize = 64;
const _: () = assert!(SCHEMA_BYTES_MAX + "_accounts".len() <= NAME_BYTES_MAX);

impl Address {
    /// Returns whether a text is intended as a PostgreSQL address, even if it is invalid.
    pub(crate) fn is_meant(text: &str) -> bool {
        text.split_once("://").is_some_and(|(word, _)| word.to_ascii_lowercase().starts_with("postgres"))
            || ["postgres:", "postgresql:"].iter().any(|word| text.starts_with(word))
    }

    /// Returns the names of the schemas for candles and accounts.
    pub fn schemas(&self) -> [String; 2] {
        [Schema::Candles, Schema::Accounts].map(|schema| self.schema(schema))
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the maximum number of connections in each pool of a process.
    pub fn pool(&self) -> usize {
        self.pool
    }

    /// Returns the hosts with their ports, in the order in which they are tried.
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(Host::name).collect()
    }

    /// Returns the address with only the host at index `place` and without a required role, or
    /// `None` if there is no such host.
    #[must_use]
    pub fn of_host(&self, place: usize) -> Option<Address> {
        let host = self.hosts.get(place)?.clone();
        Some(Address { hosts: vec![host], target: Target::Any, ..self.clone() })
    }

    /// Returns the address with another database.
    #[must_use]
    pub fn in_database(&self, database: &str) -> Address {
        Address { database: database.to_owned(), ..self.clone() }
    }

    /// Returns the path of the file that contains only the password, or `None` if no such file is
    /// configured.
    pub fn password_file(&self) -> Option<&Path> {
        match &self.password {
            PasswordFrom::File(path) => Some(path),
            PasswordFrom::Environment | PasswordFrom::Passfile(_) => None,
        }
    }

    /// Returns the address for PostgreSQL's own tools, which support fewer parameters. In
    /// particular, the tools do not support [`Address::password_file`].
    pub fn for_tools(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        let mut text = format!(
            "postgres://{}@{}/{}",
            encoded(&self.user, ""),
            hosts.join(","),
            encoded(&self.database, "")
        );
        let mut parameters: Vec<String> = Vec::new();
        if self.hosts.len() > 1 {
            parameters.push(format!("target_session_attrs={}", self.target.as_str()));
        }
        let speaks_tls = self.hosts.iter().any(|host| self.speaks_tls(host));
        parameters.push(format!("sslmode={}", if speaks_tls { "verify-full" } else { "disable" }));
        let path = |path: &Path| encoded(&path.to_string_lossy(), "/");
        match &self.roots {
            Roots::File(file) => parameters.push(format!("sslrootcert={}", path(file))),
            // The tools support `sslrootcert=system` only since version 16.
            Roots::System if speaks_tls && Path::new(DEBIAN_ROOTS).exists() => {
                parameters.push(format!("sslrootcert={DEBIAN_ROOTS}"));
            }
            Roots::System if speaks_tls => parameters.push("sslrootcert=system".to_owned()),
            Roots::System => {}
        }
        if let PasswordFrom::Passfile(file) = &self.password {
            parameters.push(format!("passfile={}", path(file)));
        }
        text.push('?');
        text.push_str(&parameters.join("&"));
        text
    }

    pub(crate) fn schema(&self, schema: Schema) -> String {
        let content = match schema {
            Schema::Candles => "candles",
            Schema::Accounts => "accounts",
        };
        format!("{}_{content}", self.schema)
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        Duration::from_secs(self.connect_timeout_s.into())
    }

    /// Returns whether connections to a host use TLS. Without `sslmode`, only local connections are
    /// unencrypted, because they cannot be intercepted and PostgreSQL seldom has a certificate for
    /// `localhost`.
    pub(super) fn speaks_tls(&self, host: &Host) -> bool {
        match self.tls {
            Some(tls) => tls == Tls::Verified,
            None => !host.is_here(),
        }
    }
}

impl Target {
    fn as_str(self) -> &'static str {
        match self {
            Target::ReadWrite => "read-write",
            Target::Primary => "primary",
            Target::ReadOnly => "read-only",
            Target::Standby => "standby",
            Target::Any => "any",
        }
    }
}

impl Host {
    /// Returns the name of the host, for use in error messages.
    pub(super) fn name(&self) -> String {
        match &self.at {
            HostAt::Network(_) => self.to_string(),
            HostAt::Socket(directory) => format!("{}/.s.PGSQL.{}", directory.display(), self.port),
        }
    }

    fn is_here(&self) -> bool {
        match &self.at {
            HostAt::Socket(_) => true,
            HostAt::Network(name) => {
                name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            HostAt::Network(name) if name.contains(':') => write!(f, "[{name}]:{}", self.port),
            HostAt::Network(name) => write!(f, "{name}:{}", self.port),
            HostAt::Socket(directory) => {
                write!(f, "{}:{}", encoded(&directory.to_string_lossy(), ""), self.port)
            }
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let rest = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)).ok_or(AddressError::Scheme)?;
        if text.len() > LENGTH_MAX {
            return Err(AddressError::TooLong);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        // The text is split at the last `@`, because a password may contain an `@`. A colon before
        // it indicates a password.
        let (user, hosts) = authority.rsplit_once('@').ok_or(AddressError::NoUser)?;
        if user.contains(':') {
            return Err(AddressError::Password);
        }
        if rest.contains('#') {
            return Err(AddressError::Fragment);
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let parameters = parameters(query)?;
        let user = name(user, "user", AddressError::NoUser, |text| AddressError::User { text })?;
        let database = path.strip_prefix('/').unwrap_or_default();
        if database.contains('/') {
            return Err(AddressError::Database { text: excerpt(database) });
        }
        let database =
            name(database, "database", AddressError::NoDatabase, |text| AddressError::Database { text })?;
        let address = Address {
            user,
            database,
            hosts: hosts_of(hosts, parameters.socket.as_deref())?,
            target: parameters.target.unwrap_or(Target::ReadWrite),
            // Naming a certificate authority implies verification.
            tls: parameters.tls.or(parameters.roots.is_some().then_some(Tls::Verified)),
            roots: parameters.roots.unwrap_or(Roots::System),
            schema: parameters.schema.unwrap_or_else(|| SCHEMA.to_owned()),
            connect_timeout_s: parameters.connect_timeout_s.unwrap_or(CONNECT_TIMEOUT_S),
            application_name: parameters.application_name.unwrap_or_else(|| APPLICATION.to_owned()),
            pool: parameters.pool.unwrap_or(POOL),
            password: parameters.password.unwrap_or(PasswordFrom::Environment),
        };
        let over_socket = |host: &Host| matches!(host.at, HostAt::Socket(_)) && address.speaks_tls(host);
        if address.hosts.iter().any(over_socket) {
            let advice = "PostgreSQL speaks no TLS over a Unix socket: leave out sslmode and sslrootcert";
            return Err(wrong("sslmode", "verify-full", advice));
        }
        Ok(address)
    }
}

fn hosts_of(text: &str, socket: Option<&Path>) -> Result<Vec<Host>, AddressError> {
    if let Some(directory) = socket {
        let port = match text.strip_prefix(':') {
            Some(port) => port_of(port)?,
            None if text.is_empty() => PORT,
            None => {
                let advice = "the address names a host already: leave out one of the two";
                return Err(wrong("host", &directory.to_string_lossy(), advice));
            }
        };
        return Ok(vec![Host { at: HostAt::Socket(directory.to_owned()), port }]);
    }
    let hosts = text.split(',').map(host).collect::<Result<Vec<Host>, _>>()?;
    match hosts.len() {
        0..=HOSTS_MAX => Ok(hosts),
        found => Err(AddressError::Hosts { found }),
    }
}

fn host(text: &str) -> Result<Host, AddressError> {
    let refused = || AddressError::Host { text: excerpt(text) };
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, after) = rest.split_once(']').ok_or_else(refused)?;
            if !name.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()) {
                return Err(refused());
            }
            match after.strip_prefix(':') {
                Some(port) => (name, Some(port)),
                None if after.is_empty() => (name, None),
                None => return Err(refused()),
            }
        }
        None => match text.split_once(':') {
            Some((_, rest)) if rest.contains(':') => return Err(refused()),
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map(port_of).transpose()?.unwrap_or(PORT);
    let name = decoded(name, "host")?;
    if name.is_empty() {
        return Err(AddressError::NoHost);
    }
    if name.starts_with('/') {
        return Ok(Host { at: HostAt::Socket(name.into()), port });
    }
    let is_address = name.parse::<IpAddr>().is_ok();
    let is_name = name.len() <= 253 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    match is_address || is_name {
        true => Ok(Host { at: HostAt::Network(name), port }),
        false => Err(refused()),
    }
}

fn port_of(text: &str) -> Result<u16, AddressError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse::<u16>().ok().filter(|port| digits && *port != 0);
    port.ok_or_else(|| AddressError::Port { text: excerpt(text) })
}

fn name(
    text: &str,
    part: &'static str,
    absent: AddressError,
    refused: impl FnOnce(String) -> AddressError,
) -> Result<String, AddressError> {
    let name = decoded(text, part)?;
    if name.is_empty() {
        return Err(absent);
    }
    let fits = name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control);
    if fits { Ok(name) } else { Err(refused(excerpt(&name))) }
}

#[derive(Default)]
struct Parameters {
    target: Option<Target>,
    tls: Option<Tls>,
    roots: Option<Roots>,
    schema: Option<String>,
    connect_timeout_s: Option<u16>,
    application_name: Option<String>,
    pool: Option<usize>,
    password: Option<PasswordFrom>,
    socket: Option<PathBuf>,
}

fn parameters(query: &str) -> Result<Parameters, AddressError> {
    let mut found = Parameters::default();
    let mut seen = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decoded(key, "name of a parameter")?;
        if key == "password" {
            return Err(AddressError::Password);
        }
        let name = PARAMETERS.into_iter().find(|name| *name == key);
        let name = name.ok_or_else(|| AddressError::Unknown { name: excerpt(&key) })?;
        if seen.contains(&name) {
            return Err(AddressError::Twice { name });
        }
        seen.push(name);
        found.take(name, &decoded(value, "value of a parameter")?)?;
    }
    if seen.contains(&"passfile") && seen.contains(&"password_file") {
        let advice = "the address names a password_file too: leave out one of the two";
        return Err(AddressError::Parameter { name: "passfile", text: "set".to_owned(), advice });
    }
    Ok(found)
}

impl Parameters {
    fn take(&mut self, name: &'static str, value: &str) -> Result<(), AddressError> {
        let refused = |advice| wrong(name, value, advice);
        match name {
            "target_session_attrs" => {
                self.target = Some(match value {
                    "read-write" => Target::ReadWrite,
                    "primary" => Target::Primary,
                    "read-only" => Target::ReadOnly,
                    "standby" => Target::Standby,
                    "any" => Target::Any,
                    _ => return Err(refused("write read-write, primary, read-only, standby or any")),
                });
            }
            "sslmode" => {
                self.tls = Some(match value {
                    "disable" => Tls::Off,
                    // Stricter than libpq, whose `require` accepts any certificate and therefore
                    // does not authenticate the server.
                    "require" | "verify-full" => Tls::Verified,
                    "allow" | "prefer" | "verify-ca" => {
                        return Err(refused(
                            "it would take a server whose certificate was not verified: write verify-full, \
                             or disable on a trusted network",
                        ));
                    }
                    _ => return Err(refused("write verify-full or disable")),
                });
            }
            "sslrootcert" if value == "system" => self.roots = Some(Roots::System),
            "sslrootcert" => self.roots = Some(Roots::File(path(name, value)?)),
            "schema" => {
                let letters =
                    value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
                let begins = value.starts_with(|c: char| c.is_ascii_lowercase());
                if !letters || !begins || value.starts_with("pg_") || value.len() > SCHEMA_BYTES_MAX {
                    return Err(refused(
                        "write at most 40 letters from a to z, digits and `_`, a letter first, and not pg_ at the beginning",
                    ));
                }
                self.schema = Some(value.to_owned());
            }
            "connect_timeout" => {
                let seconds = value.parse().ok().filter(|s| (1..=CONNECT_TIMEOUT_S_MAX).contains(s));
                self.connect_timeout_s = Some(seconds.ok_or_else(|| refused("write seconds, from 1 to 60"))?);
            }
            "application_name" => {
                let printable = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
                if value.is_empty() || value.len() > NAME_BYTES_MAX || !printable {
                    return Err(refused("write at most 63 characters of ASCII"));
                }
                self.application_name = Some(value.to_owned());
            }
            "pool" => {
                let size = value.parse().ok().filter(|size| (POOL_MIN..=POOL_MAX).contains(size));
                self.pool = Some(size.ok_or_else(|| refused("write a number of connections, from 4 to 64"))?);
            }
            "passfile" => self.password = Some(PasswordFrom::Passfile(path(name, value)?)),
            "password_file" => self.password = Some(PasswordFrom::File(path(name, value)?)),
            "host" => {
                if !value.starts_with('/') || value.contains(',') {
                    return Err(refused(
                        "as a parameter it is the directory of one Unix socket, from the root on: write other hosts behind the @",
                    ));
                }
                self.socket = Some(value.into());
            }
            _ => return Err(AddressError::Unknown { name: excerpt(name) }),
        }
        Ok(())
    }
}

fn path(name: &'static str, value: &str) -> Result<PathBuf, AddressError> {
    match value.is_empty() || value.contains('\0') {
        true => Err(wrong(name, value, "write the path of a file")),
        false => Ok(value.into()),
    }
}

fn wrong(name: &'static str, value: &str, advice: &'static str) -> AddressError {
    AddressError::Parameter { name, text: excerpt(value), advice }
}

fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Percent-decodes a text.
fn decoded(text: &str, part: &'static str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(AddressError::Percent { part });
        };
        bytes.extend(u8::try_from(high * 16 + low));
    }
    match bytes.contains(&0) {
        true => Err(AddressError::Utf8 { part }),
        false => String::from_utf8(bytes).map_err(|_| AddressError::Utf8 { part }),
    }
}

fn encoded(text: &str, plain: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        match c.is_ascii_alphanumeric() || "-._~".contains(c) || plain.contains(c) {
            true => encoded.push(c),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", encoded(&self.user, ""))?;
        for (i, host) in self.hosts.iter().enumerate() {
            write!(f, "{}{host}", if i == 0 { "" } else { "," })?;
        }
        write!(f, "/{}", encoded(&self.database, ""))?;
        let path = |path: &Path| encoded(&path.to_string_lossy(), "/");
        let target = (self.target != Target::ReadWrite).then(|| self.target.as_str());
        let tls = self.tls.map(|tls| match tls {
            Tls::Off => "disable",
            Tls::Verified => "verify-full",
        });
        let mut parameters: Vec<(&str, String)> = Vec::new();
        parameters.extend(target.map(|target| ("target_session_attrs", target.to_owned())));
        parameters.extend(tls.map(|tls| ("sslmode", tls.to_owned())));
        if let Roots::File(file) = &self.roots {
            parameters.push(("sslrootcert", path(file)));
        }
        if self.schema != SCHEMA {
            parameters.push(("schema", self.schema.clone()));
        }
        if self.connect_timeout_s != CONNECT_TIMEOUT_S {
            parameters.push(("connect_timeout", self.connect_timeout_s.to_string()));
        }
        if self.application_name != APPLICATION {
            parameters.push(("application_name", encoded(&self.application_name, "")));
        }
        if self.pool != POOL {
            parameters.push(("pool", self.pool.to_string()));
        }
        match &self.password {
            PasswordFrom::Environment => {}
            PasswordFrom::Passfile(file) => parameters.push(("passfile", path(file))),
            PasswordFrom::File(file) => parameters.push(("password_file", path(file))),
        }
        for (i, (name, value)) in parameters.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
