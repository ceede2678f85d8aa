//! The table of server settings. Each row defines a key with its type, its field in the server's
//! settings, its flag, its environment variable and its documentation. The structs for the
//! configuration file, the arguments of `chandler serve`, `chandler config` and
//! `docs/chandler.toml` are generated from the table.
//!
//! To add a key, add a field to `server::Settings` and a row here, then regenerate the annotated
//! file:
//!
//! `UPDATE_EXPECT=1 cargo test -p chandler annotated`.

use std::fmt;
use std::net::SocketAddr;

use access::{LevelsFrom, PkceRule};
use market::FloorTable;
use serde::{Deserialize, Serialize};
use server::{PublicUrl, Settings, TrustedProxy};

use super::values::{
    DiskSize, FromFlag, LogFormat, Mebibytes, NodeName, Range, RegionalConfig, Setting, Span,
    address_or_none, text, text_or_none, texts,
};

/// Upper limit for `connections_max`: more file descriptors than any system allows.
const CONNECTIONS_MAX: u32 = 1_000_000;
/// Upper limit for cache sizes, in MiB: one tebibyte.
const CACHE_MB_MAX: u32 = 1 << 20;
/// Upper limit for requests and refusals per second, for concurrent requests, and for
/// unauthenticated connections.
const RATE_MAX: u32 = 1_000_000;
/// Upper limit for audit retention: a hundred years.
const RETENTION_DAYS_MAX: u32 = 36_500;
/// Upper limit for the lifetime of a statement link: one week. Longer access should require signing
/// in.
const LINK_SECONDS_MAX: u32 = 7 * 86_400;
const THREADS_MAX: u32 = 24;
const _: () = assert!(THREADS_MAX as usize == server::THREADS_MAX);
/// Upper limit for uploads, in MiB.
const UPLOAD_MB_MAX: u32 = CACHE_MB_MAX;
/// Upper limit for unsent responses per account, in MiB. A larger value is assumed to be a mistake.
const UNSENT_MB_MAX: u32 = 16 << 10;

/// Metadata of one setting, without its value.
#[derive(Debug)]
pub(crate) struct Key {
    /// Name of the table in the file.
    pub(crate) table: &'static str,
    /// Name of the key in that table.
    pub(crate) name: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) variable: &'static str,
    /// Placeholder for the value in the help text. `help` is the flag's description.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
    /// All possible values, if the set is small and fixed.
    pub(crate) choices: &'static [&'static str],
    pub(crate) is_list: bool,
    /// Whether the flag is global, because commands other than servers also need it.
    pub(crate) is_everywhere: bool,
    /// Documentation lines for the annotated file.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes the annotated file"))]
    pub(super) lines: &'static [&'static str],
    /// Valid range, if the value is a number.
    range: Range,
    check: fn(&Config) -> Result<(), String>,
    number: fn(&Config) -> Option<u32>,
    lay: fn(&mut Config, &[String], &Range) -> Result<(), String>,
}

impl Key {
    /// Default values of a row's fields.
    const PLAIN: Key = Key {
        table: "",
        name: "",
        flag: "",
        variable: "",
        value: "",
        help: "",
        choices: &[],
        is_list: false,
        is_everywhere: false,
        lines: &[],
        range: 0..=u32::MAX,
        check: |_| Ok(()),
        number: |_| None,
        lay: |_, _, _| Ok(()),
    };

    /// Sets the value from a flag or a variable.
    pub(crate) fn lay(&self, config: &mut Config, texts: &[String]) -> Result<(), String> {
        (self.lay)(config, texts, &self.range)?;
        (self.check)(config)
    }

    /// Checks the value on its own, without regard to other keys.
    pub(crate) fn check(&self, config: &Config) -> Result<(), String> {
        (self.check)(config)?;
        match (self.number)(config) {
            Some(number) if !self.range.contains(&number) => {
                let (least, most) = (self.range.start(), self.range.end());
                Err(format!("{} is a number from {least} to {most}", self.name))
            }
            _ => Ok(()),
        }
    }
}

/// Formats the key as `server.listen`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, self.name)
    }
}

/// Generates a struct for each table, and a field and a [`Key`] for each row. A row with `of` maps
/// to one field in the server's settings, in both directions; a row with `default` is applied by
/// [`Config::settings`]. The doc comment of a row becomes its documentation.
macro_rules! keys {
    ($(
        $(#[doc = $intro:literal])*
        [$table:ident] $config:ident {
            $(
                $(#[doc = $line:literal])*
                $(#[serde($($serde:tt)*)])?
                $name:ident: $type:ty, $(of settings.$($setting:ident).+,)? $(default $default:expr,)? {
                    $($field:ident: $given:expr),* $(,)?
                }
            )*
        }
    )*) => {
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
        #[serde(default, deny_unknown_fields)]
        pub(crate) struct Config {
            $(pub(crate) $table: $config,)*
        }

        $(
            #[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
            #[serde(default, deny_unknown_fields)]
            pub(crate) struct $config {
                $(
                    $(#[serde($($serde)*)])?
                    pub(crate) $name: $type,
                )*
            }

            impl Default for $config {
                fn default() -> $config {
                    Config::default().$table
                }
            }
        )*

        impl Default for Config {
            fn default() -> Config {
                let settings = Settings::default();
                Config {
                    $($table: $config {
                        $($name: $(Setting::of(&settings.$($setting).+))? $($default)?,)*
                    },)*
                }
            }
        }

        impl Config {
            /// Returns the server settings that map to a single key, with defaults for the others.
            pub(super) fn plain_settings(&self) -> Settings {
                let mut settings = Settings::default();
                $($($(settings.$($setting).+ = self.$table.$name.to_setting();)?)*)*
                settings
            }
        }

        /// All keys, in the order of the file.
        pub(crate) const KEYS: &[Key] = &[
            $($(Key {
                table: stringify!($table),
                name: stringify!($name),
                lines: &[$($line),*],
                is_list: <$type as FromFlag>::IS_LIST,
                number: |config| config.$table.$name.number(),
                lay: |config, texts, range| {
                    config.$table.$name = FromFlag::from_flag(texts, range)?;
                    Ok(())
                },
                $($field: $given,)*
                ..Key::PLAIN
            },)*)*
        ];

        /// Introduction of each table in the annotated file.
        #[cfg(test)]
        pub(super) const TABLES: &[(&str, &[&str])] = &[$((stringify!($table), &[$($intro),*])),*];
    };
}

keys! {
    [server] ServerConfig {
        /// The address and port of HTTP and WebSocket. Port 0 lets the system choose one.
        listen: SocketAddr, of settings.listen, {
            flag: "listen", variable: "CHANDLER_LISTEN", value: "ADDRESS:PORT",
            help: "Where HTTP and WebSocket are served",
        }
        /// The address and port of raw TCP.
        tcp: SocketAddr, of settings.tcp, {
            flag: "tcp", variable: "CHANDLER_TCP", value: "ADDRESS:PORT",
            help: "Where raw TCP is served",
        }
        /// The maximum number of open connections of all kinds; more wait to be accepted. It must
        /// be below the number of files a process may open (`ulimit -n`).
        connections_max: u32, of settings.connections_max, {
            flag: "connections-max", variable: "CHANDLER_CONNECTIONS_MAX", value: "N",
            help: "Connections of all kinds that may be open at once",
            range: 1..=CONNECTIONS_MAX,
        }
        /// Memory for encoded candles in MiB; 0 caches none.
        cache_mb: Mebibytes, of settings.cache_bytes, {
            flag: "cache-mb", variable: "CHANDLER_CACHE_MB", value: "N",
            help: "Memory for encoded candles in MiB; 0 keeps none",
            range: 0..=CACHE_MB_MAX,
            check: |config| {
                let is_too_much = config.server.cache_mb.0 > CACHE_MB_MAX;
                if is_too_much { Err(format!("cache_mb is at most {CACHE_MB_MAX}")) } else { Ok(()) }
            },
        }
        /// Listeners for the accounts of one region, with HTTP and WebSocket; the two above serve
        /// all. As lines:
        ///     regional = ["us=127.0.0.1:8081"]
        /// or, instead of that key, as tables at the end of the file:
        ///     [[server.regional]]
        ///     region = "us"
        ///     listen = "127.0.0.1:8081"
        regional: Vec<RegionalConfig>, of settings.regional, {
            flag: "regional", variable: "CHANDLER_REGIONAL", value: "REGION=ADDRESS:PORT",
            help: "A listener for the accounts of one region, as us=127.0.0.1:8081; may be repeated",
        }
        /// The address at which users and programs reach the service, as in
        /// "https://candles.example.com". Needed behind a proxy with another name or with TLS:
        /// sign-in pages and answers of OAuth contain this address.
        #[serde(with = "text_or_none")]
        public_url: Option<PublicUrl>, of settings.public_url, {
            flag: "public-url", variable: "CHANDLER_PUBLIC_URL", value: "URL",
            help: "The address at which clients reach the service, as https://candles.example.com",
        }
        /// Proxies whose X-Forwarded-For (or Forwarded) is trusted, as addresses or networks:
        /// ["10.0.0.7", "fd00::/8"]. The client of a request from one of them is the last address
        /// in that header that is not one of them. Needed behind a proxy, so that limits by address
        /// apply to the client. Never list a proxy that passes on this header as clients send it.
        #[serde(with = "texts")]
        trusted_proxies: Vec<TrustedProxy>, of settings.trusted_proxies, {
            flag: "trusted-proxy", variable: "CHANDLER_TRUSTED_PROXIES", value: "ADDRESS[/PREFIX]",
            help: "A proxy whose X-Forwarded-For is believed, as 10.0.0.7 or 10.0.0.0/8; may be repeated",
        }
        /// The internal listener, as in "10.0.0.7:9090": it serves only /healthz, /readyz, /metrics
        /// and /status, without sign-in and without TLS. It is for Prometheus and load balancers on
        /// other machines; bind it to a private network. Programs on this machine do not need it.
        /// With it, the other listeners show /metrics and /status only to operators
        /// (docs/monitoring.md).
        #[serde(with = "address_or_none")]
        internal: Option<SocketAddr>, of settings.internal, {
            flag: "internal", variable: "CHANDLER_INTERNAL", value: "ADDRESS:PORT",
            help: "Where health, readiness, metrics and status are served without sign-in, as 10.0.0.7:9090",
        }
        /// Certificate chain and private key, as PEM files. With them HTTP and WebSocket accept
        /// only TLS 1.2 and 1.3; raw TCP has no TLS. The files are reloaded when they change, and
        /// on SIGHUP (docs/tls.md).
        tls_cert: String, default String::new(), {
            flag: "tls-cert", variable: "CHANDLER_TLS_CERT", value: "FILE",
            help: "A PEM file with the certificate of HTTP and WebSocket; needs --tls-key",
        }
        tls_key: String, default String::new(), {
            flag: "tls-key", variable: "CHANDLER_TLS_KEY", value: "FILE",
            help: "A PEM file with its private key",
        }
        /// Where the history of accounts begins: "published" for the ranges of the specification,
        /// "none" for everything that is stored, or dates by market and kind, as in
        /// "HK.day=1995-01-03,US.minute=none"; the rest is then as published. An account may have
        /// its own floors (chandler account set --floors). The command line on the machine of the
        /// store shows everything.
        #[serde(with = "text")]
        floors: FloorTable, of settings.floors, {
            flag: "floors", variable: "CHANDLER_FLOORS", value: "FLOORS",
            help: "Where the history that accounts are served begins: published, none, or dates like HK.day=1995-01-03",
        }
        /// Which trades are large, for capital distribution: from the largest trade of the last
        /// twenty trading days down, those that make up this share of the turnover, in percent
        /// (docs/query-semantics.md).
        flow_large_percent: u32, of settings.flow_large_percent, {
            flag: "flow-large-percent", variable: "CHANDLER_FLOW_LARGE_PERCENT", value: "N",
            help: "The share of the turnover that large trades make, in percent",
            range: 1..=100,
        }
        /// The same for large and medium trades together; the rest is small.
        flow_medium_percent: u32, of settings.flow_medium_percent, {
            flag: "flow-medium-percent", variable: "CHANDLER_FLOW_MEDIUM_PERCENT", value: "N",
            help: "The share of the turnover that large and medium trades make together, in percent",
            range: 1..=100,
        }
        /// Which OAuth clients without a secret need PKCE (RFC 7636) for an authorization code:
        /// "always", "remote" (those whose redirect address is not on the machine of the browser)
        /// or "never" (docs/oauth.md).
        #[serde(with = "text")]
        pkce: PkceRule, of settings.pkce, {
            flag: "pkce", variable: "CHANDLER_PKCE", value: "PKCE", choices: &["always", "remote", "never"],
            help: "Which OAuth clients without a secret need PKCE: always, remote (redirected to another machine), never",
        }
        /// How many days rows of the audit are retained. Older ones are removed daily, and the
        /// audit records how many. 0 retains them for ever, or until `chandler audit --prune`
        /// (docs/operating.md).
        audit_retention_days: u32, default 0, {
            flag: "audit-retention-days", variable: "CHANDLER_AUDIT_RETENTION_DAYS", value: "DAYS",
            help: "How many days rows of the audit are kept; 0 for ever",
            range: 0..=RETENTION_DAYS_MAX,
        }
        /// Which assets and orders determine the levels of accounts: "reported" (by an operator),
        /// "paper" (those of the paper account) or "auto" (the reports for accounts that have any,
        /// the paper account for all others; docs/accounts.md). It must be the same on all nodes of
        /// a database.
        #[serde(with = "text")]
        levels_from: LevelsFrom, of settings.levels_from, {
            flag: "levels-from", variable: "CHANDLER_LEVELS_FROM", value: "SOURCE",
            choices: &["auto", "reported", "paper"],
            help: "Which assets and orders levels are judged by: reported, paper, or auto (reported where there are reports)",
        }
        /// How many seconds the link to a statement is valid (docs/statements.md). The link needs
        /// no other credentials.
        statement_link_seconds: u32, of settings.statement_link_seconds, {
            flag: "statement-link-seconds", variable: "CHANDLER_STATEMENT_LINK_SECONDS", value: "SECONDS",
            help: "How long the address of a statement is good",
            range: 1..=LINK_SECONDS_MAX,
        }
        /// A font file (TrueType or OpenType, also a collection) for Chinese in statements as PDF.
        /// Empty looks for those of Debian's packages fonts-noto-cjk, fonts-wqy-microhei,
        /// fonts-wqy-zenhei and fonts-droid-fallback (docs/statements.md).
        statement_font: String, of settings.statement_font, {
            flag: "statement-font", variable: "CHANDLER_STATEMENT_FONT", value: "FILE",
            help: "A font file for Chinese in statements as PDF",
        }
        /// The largest file that operators may upload for import, in MiB. Uploads are stored beside
        /// the store for a day; there is room for four of the largest size (docs/importing.md).
        upload_mb: Mebibytes, of settings.upload_bytes, {
            flag: "upload-mb", variable: "CHANDLER_UPLOAD_MB", value: "N",
            help: "The largest file that may be sent to be imported, in MiB",
            range: 1..=UPLOAD_MB_MAX,
        }
    }

    /// Limits for one account, or for one address without sign-in (docs/operating.md).
    [limits] LimitsConfig {
        /// Quote commands of one account per second, without history, which has its own rate
        /// (`chandler account create --rate`). It is also the size of a burst after a pause; more
        /// are refused with 301606. 0 for no limit. Accounts with the rate "unlimited" do not have
        /// this limit.
        calls_per_second: u32, of settings.limits.calls.per_second, {
            flag: "calls-per-second", variable: "CHANDLER_CALLS_PER_SECOND", value: "N",
            help: "Quote commands a second of one account, history apart; 0 for no limit",
            range: 0..=RATE_MAX,
        }
        /// Requests of one account that wait for the disk and run concurrently; more are queued.
        calls_at_once: u32, of settings.limits.calls.at_once, {
            flag: "calls-at-once", variable: "CHANDLER_CALLS_AT_ONCE", value: "N",
            help: "Requests of one account that run at once",
            range: 1..=RATE_MAX,
        }
        /// Refusals per second beyond which the connections of an account or address are read more
        /// slowly, after a burst of 400. 0 for no limit.
        refusals_per_second: u32, of settings.limits.refusals_per_second, {
            flag: "refusals-per-second", variable: "CHANDLER_REFUSALS_PER_SECOND", value: "N",
            help: "Refusals a second beyond which a caller is read more slowly; 0 for no limit",
            range: 0..=RATE_MAX,
        }
        /// Unsent answers of one account or address, in MiB. Beyond it, its requests are not read
        /// until some are sent.
        unsent_mb: Mebibytes, of settings.limits.unsent_bytes, {
            flag: "unsent-mb", variable: "CHANDLER_UNSENT_MB", value: "N",
            help: "Answers of one account that may wait to be sent, in MiB",
            range: 1..=UNSENT_MB_MAX,
        }
        /// Unauthenticated connections of one address; more wait up to five seconds for a slot.
        /// Trusted proxies have no such limit.
        unproven_connections: u32, of settings.limits.unproven_connections, {
            flag: "unproven-connections", variable: "CHANDLER_UNPROVEN_CONNECTIONS", value: "N",
            help: "Connections of one address on which nobody has signed in yet",
            range: 1..=RATE_MAX,
        }
        /// Threads for requests that wait for the disk, 1 to 24. 0 means four for each processor,
        /// at least 8 and at most 24.
        threads: u32, default 0, {
            flag: "threads", variable: "CHANDLER_THREADS", value: "N",
            help: "Threads for requests that wait for the disk; 0 for as many as suit the machine",
            range: 0..=THREADS_MAX,
        }
    }

    /// For one of several servers on one PostgreSQL database (docs/scaling.md). A server of a store
    /// in a directory ignores it.
    [node] NodeConfig {
        /// The file with the key that seals app secrets: 32 random bytes, the same on every
        /// machine, and never in the database. Empty means chandler/key in the user's folder for
        /// settings. The first server of a new database creates it; copy it to the others. A store
        /// in a directory has its own, secret.key.
        key_file: String, default String::new(), {
            flag: "key-file", variable: "CHANDLER_KEY_FILE", value: "FILE", is_everywhere: true,
            help: "With a store on PostgreSQL: the key file of its accounts, the same on every machine",
        }
        /// The folder of the local copy of candles, and of uploads. Each server has its own; it may
        /// be emptied while the server is stopped. Empty means one in the user's cache folder.
        cache: String, of settings.node.cache, {
            flag: "cache", variable: "CHANDLER_CACHE", value: "DIR",
            help: "On PostgreSQL: the folder of this server's copy of candles",
        }
        /// The maximum size of this copy on the disk, as in "500MB" or "2TB". The least recently
        /// used data is removed first.
        #[serde(with = "text")]
        cache_size: DiskSize, of settings.node.cache_size, {
            flag: "cache-size", variable: "CHANDLER_CACHE_SIZE", value: "SIZE",
            help: "On PostgreSQL: the most that this copy takes on the disk",
        }
        /// The offline window: how long known accounts are served from the local copy while the
        /// database is unreachable, as in "90s", "5m" or "1h"; "0s" for not at all.
        #[serde(with = "text")]
        grace: Span, of settings.node.offline_window, {
            flag: "grace", variable: "CHANDLER_GRACE", value: "TIME",
            help: "On PostgreSQL: for how long known accounts are served without the database",
        }
        /// The name of this server in reports and metrics. Empty means the name of the machine.
        #[serde(with = "text")]
        node_name: NodeName, of settings.node.name, {
            flag: "node-name", variable: "CHANDLER_NODE_NAME", value: "NAME",
            help: "On PostgreSQL: what this server is called in reports",
        }
    }

    [log] LogConfig {
        /// What is logged to standard error: error, warn, info, debug or trace, also by part, as in
        /// "info,server=debug".
        filter: String, default "info".to_owned(), {
            flag: "log", variable: "CHANDLER_LOG", value: "FILTER",
            help: "What is logged to standard error: error, warn, info, debug, trace, or by part",
            check: |config| config.log.check(),
        }
        /// text or json.
        format: LogFormat, default LogFormat::Text, {
            flag: "log-format", variable: "CHANDLER_LOG_FORMAT", value: "LOG_FORMAT", choices: &["text", "json"],
            help: "How it is logged",
        }
        /// One line for each HTTP request, and with the filter "info,requests=debug" for each
        /// request of long connections.
        requests: bool, default true, {
            flag: "log-requests", variable: "CHANDLER_LOG_REQUESTS", value: "true|false", choices: &["true", "false"],
            help: "Whether each request over HTTP is logged",
        }
    }
}
