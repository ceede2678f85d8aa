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
    DiskSize, FromFlag, LogFormat, MarketName, Mebibytes, NodeName, Range, RegionalConfig, Setting, Span,
    StoredPeriod, address_or_none, text, text_or_none, texts,
};

/// Upper limit for `connections_max`. Higher than the file descriptor limit of any system.
const CONNECTIONS_MAX: u32 = 1_000_000;
/// Upper limit for cache sizes, in MiB. Equals one tebibyte.
const CACHE_MB_MAX: u32 = 1 << 20;
/// Upper limit for requests and refusals per second, for concurrent requests, and for
/// unauthenticated connections.
const RATE_MAX: u32 = 1_000_000;
/// Upper limit for audit retention, in days. Equals a hundred years.
const RETENTION_DAYS_MAX: u32 = 36_500;
/// Upper limit for the lifetime of a statement link, in seconds. Equals one week; longer access
/// should require signing in.
const LINK_SECONDS_MAX: u32 = 7 * 86_400;
/// Upper limit for the time until an ingested minute is final: ten minutes.
const INGEST_GRACE_MAX: u32 = 600;
const WORLDS_MAX: u32 = 100_000;
const THREADS_MAX: u32 = 24;
const _: () = assert!(THREADS_MAX as usize == server::THREADS_MAX);
/// Upper limit for uploads, in MiB.
const UPLOAD_MB_MAX: u32 = CACHE_MB_MAX;
/// Upper limit for unsent responses per account, in MiB. A larger value is rejected as a mistake.
const UNSENT_MB_MAX: u32 = 16 << 10;

/// Metadata of one setting, without its value.
#[derive(Debug)]
pub(crate) struct Key {
    /// Name of the TOML table in the configuration file.
    pub(crate) table: &'static str,
    /// Name of the key in that table.
    pub(crate) name: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) variable: &'static str,
    /// Placeholder for the value in the help text.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
    /// All possible values, if the set is small and fixed.
    pub(crate) choices: &'static [&'static str],
    pub(crate) is_list: bool,
    /// Whether all commands accept the flag, not only the commands that start a server.
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
    /// Default field values of a row.
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

    /// Validates the value on its own, without regard to other keys.
    pub(crate) fn check(&self, config: &Config) -> Result<(), String> {
        (self.check)(config)?;
        match (self.number)(config) {
            Some(number) if !self.range.contains(&number) => {
                let (least, most) = (self.range.start(), self.range.end());
                Err(format!("{} must be a number from {least} to {most}", self.name))
            }
            _ => Ok(()),
        }
    }
}

/// Formats the key as `table.name`, for example `server.listen`.
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
            /// Returns the server settings that map to a single key. All other settings have their
            /// defaults.
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
        /// Address and port of HTTP and WebSocket. Port 0 lets the system choose one.
        listen: SocketAddr, of settings.listen, {
            flag: "listen", variable: "CHANDLER_LISTEN", value: "ADDRESS:PORT",
            help: "Address and port of HTTP and WebSocket",
        }
        /// Address and port of raw TCP.
        tcp: SocketAddr, of settings.tcp, {
            flag: "tcp", variable: "CHANDLER_TCP", value: "ADDRESS:PORT",
            help: "Address and port of raw TCP",
        }
        /// Maximum number of open connections of all kinds; further connections wait to be
        /// accepted. It must be below the number of files a process may open (`ulimit -n`).
        connections_max: u32, of settings.connections_max, {
            flag: "connections-max", variable: "CHANDLER_CONNECTIONS_MAX", value: "N",
            help: "Maximum number of open connections of all kinds",
            range: 1..=CONNECTIONS_MAX,
        }
        /// Memory for encoded candles in MiB; 0 caches none.
        cache_mb: Mebibytes, of settings.cache_bytes, {
            flag: "cache-mb", variable: "CHANDLER_CACHE_MB", value: "N",
            help: "Memory for encoded candles in MiB; 0 caches none",
            range: 0..=CACHE_MB_MAX,
            check: |config| {
                let is_too_much = config.server.cache_mb.0 > CACHE_MB_MAX;
                if is_too_much { Err(format!("cache_mb must be at most {CACHE_MB_MAX}")) } else { Ok(()) }
            },
        }
        /// HTTP and WebSocket listeners for the accounts of one region; the two listeners above serve
        /// all accounts. As strings:
        ///     regional = ["us=127.0.0.1:8081"]
        /// or, instead of that key, as tables at the end of the file:
        ///     [[server.regional]]
        ///     region = "us"
        ///     listen = "127.0.0.1:8081"
        regional: Vec<RegionalConfig>, of settings.regional, {
            flag: "regional", variable: "CHANDLER_REGIONAL", value: "REGION=ADDRESS:PORT",
            help: "Listener for the accounts of one region, such as us=127.0.0.1:8081; may be repeated",
        }
        /// Public address of the service, such as "https://candles.example.com". Required behind a
        /// proxy with another host name or with TLS: sign-in pages and OAuth responses contain this
        /// address.
        #[serde(with = "text_or_none")]
        public_url: Option<PublicUrl>, of settings.public_url, {
            flag: "public-url", variable: "CHANDLER_PUBLIC_URL", value: "URL",
            help: "Public address of the service, such as https://candles.example.com",
        }
        /// Proxies whose X-Forwarded-For (or Forwarded) header is trusted, as addresses or
        /// networks: ["10.0.0.7", "fd00::/8"]. The client address of a proxied request is the last
        /// address in that header that is not a trusted proxy. Required behind a proxy, so that
        /// per-address limits apply to the client. Never list a proxy that forwards the client's
        /// header unchanged.
        #[serde(with = "texts")]
        trusted_proxies: Vec<TrustedProxy>, of settings.trusted_proxies, {
            flag: "trusted-proxy", variable: "CHANDLER_TRUSTED_PROXIES", value: "ADDRESS[/PREFIX]",
            help: "Proxy whose X-Forwarded-For is trusted, such as 10.0.0.7 or 10.0.0.0/8; may be repeated",
        }
        /// Internal listener, such as "10.0.0.7:9090". It serves only /healthz, /readyz, /metrics
        /// and /status, without sign-in and without TLS, for Prometheus and load balancers on other
        /// machines; bind it to a private network. Programs on this machine do not need it. If it
        /// is set, the other listeners show /metrics and /status only to operators
        /// (docs/monitoring.md).
        #[serde(with = "address_or_none")]
        internal: Option<SocketAddr>, of settings.internal, {
            flag: "internal", variable: "CHANDLER_INTERNAL", value: "ADDRESS:PORT",
            help: "Listener for health, readiness, metrics and status without sign-in, such as 10.0.0.7:9090",
        }
        /// Certificate chain and private key, as PEM files. With them HTTP and WebSocket accept
        /// only TLS 1.2 and 1.3; raw TCP has no TLS. The files are reloaded when they change, and
        /// on SIGHUP (docs/tls.md).
        tls_cert: String, default String::new(), {
            flag: "tls-cert", variable: "CHANDLER_TLS_CERT", value: "FILE",
            help: "PEM file with the certificate of HTTP and WebSocket; requires --tls-key",
        }
        tls_key: String, default String::new(), {
            flag: "tls-key", variable: "CHANDLER_TLS_KEY", value: "FILE",
            help: "PEM file with the private key of the certificate",
        }
        /// First dates of the history served to accounts: "published" for the ranges of the
        /// specification, "none" for all stored data, or dates by market and kind, such as
        /// "HK.day=1995-01-03,US.minute=none"; the others are then as published. An account may
        /// have its own floors (chandler account set --floors). The command line with a local store
        /// shows all data.
        #[serde(with = "text")]
        floors: FloorTable, of settings.floors, {
            flag: "floors", variable: "CHANDLER_FLOORS", value: "FLOORS",
            help: "First dates of the history served to accounts: published, none, or dates like HK.day=1995-01-03",
        }
        /// Share of the turnover of large trades in the capital distribution, in percent: the
        /// largest trades of the last twenty trading days up to this share are large
        /// (docs/query-semantics.md).
        flow_large_percent: u32, of settings.flow_large_percent, {
            flag: "flow-large-percent", variable: "CHANDLER_FLOW_LARGE_PERCENT", value: "N",
            help: "Share of the turnover of large trades, in percent",
            range: 1..=100,
        }
        /// Share of the turnover of large and medium trades together, in percent; all others are
        /// small.
        flow_medium_percent: u32, of settings.flow_medium_percent, {
            flag: "flow-medium-percent", variable: "CHANDLER_FLOW_MEDIUM_PERCENT", value: "N",
            help: "Share of the turnover of large and medium trades together, in percent",
            range: 1..=100,
        }
        /// With a set market clock, single trades are neither shown nor used before their minute is
        /// complete. By default a trade is visible from its second on, and the running candle is
        /// the fold of its trades so far, which reveals part of what that minute will fill
        /// (docs/query-semantics.md).
        without_trades: bool, of settings.running_trades, {
            flag: "without-trades", variable: "CHANDLER_WITHOUT_TRADES", value: "BOOL", choices: &["true", "false"],
            help: "With a set market clock, hide single trades until their minute is complete",
        }
        /// Which OAuth clients without a secret require PKCE (RFC 7636) for an authorization code:
        /// "always", "remote" (clients whose redirect address is not on the browser's machine) or
        /// "never" (docs/oauth.md).
        #[serde(with = "text")]
        pkce: PkceRule, of settings.pkce, {
            flag: "pkce", variable: "CHANDLER_PKCE", value: "PKCE", choices: &["always", "remote", "never"],
            help: "Which OAuth clients without a secret require PKCE: always, remote (redirected to another machine), never",
        }
        /// Number of days that audit events are retained. Older events are deleted daily, and the
        /// audit log records how many. 0 retains them indefinitely, or until `chandler audit
        /// --prune` (docs/operating.md).
        audit_retention_days: u32, default 0, {
            flag: "audit-retention-days", variable: "CHANDLER_AUDIT_RETENTION_DAYS", value: "DAYS",
            help: "Number of days that audit events are retained; 0 retains them indefinitely",
            range: 0..=RETENTION_DAYS_MAX,
        }
        /// Source of the assets and orders that determine account levels: "reported" (by an
        /// operator), "paper" (the paper account) or "auto" (reports for accounts that have any,
        /// otherwise the paper account; docs/accounts.md). It must be the same on all nodes of a
        /// database.
        #[serde(with = "text")]
        levels_from: LevelsFrom, of settings.levels_from, {
            flag: "levels-from", variable: "CHANDLER_LEVELS_FROM", value: "SOURCE",
            choices: &["auto", "reported", "paper"],
            help: "Source of the assets and orders that determine levels: reported, paper, or auto (reported where there are reports)",
        }
        /// Number of seconds for which a statement link is valid (docs/statements.md). The link
        /// needs no other credentials.
        statement_link_seconds: u32, of settings.statement_link_seconds, {
            flag: "statement-link-seconds", variable: "CHANDLER_STATEMENT_LINK_SECONDS", value: "SECONDS",
            help: "Number of seconds for which a statement link is valid",
            range: 1..=LINK_SECONDS_MAX,
        }
        /// Font file (TrueType or OpenType, also a collection) for Chinese text in PDF statements.
        /// If empty, the fonts of Debian's packages fonts-noto-cjk, fonts-wqy-microhei,
        /// fonts-wqy-zenhei and fonts-droid-fallback are tried (docs/statements.md).
        statement_font: String, of settings.statement_font, {
            flag: "statement-font", variable: "CHANDLER_STATEMENT_FONT", value: "FILE",
            help: "Font file for Chinese text in PDF statements",
        }
        /// Number of seconds after its end at which an incomplete minute counts as final
        /// (docs/ingest.md). Paper accounts fill orders from that time on.
        ingest_grace_seconds: u32, of settings.ingest_grace_seconds, {
            flag: "ingest-grace-seconds", variable: "CHANDLER_INGEST_GRACE_SECONDS", value: "SECONDS",
            help: "Number of seconds after its end at which an ingested minute counts as final",
            range: 0..=INGEST_GRACE_MAX,
        }
        /// Maximum number of worlds in the store (docs/worlds.md).
        worlds_max: u32, of settings.worlds_max, {
            flag: "worlds-max", variable: "CHANDLER_WORLDS_MAX", value: "N",
            help: "Maximum number of worlds in the store",
            range: 0..=WORLDS_MAX,
        }
        /// Maximum number of concurrently running worlds (docs/worlds.md).
        worlds_running: u32, of settings.worlds_running, {
            flag: "worlds-running", variable: "CHANDLER_WORLDS_RUNNING", value: "N",
            help: "Maximum number of concurrently running worlds",
            range: 0..=WORLDS_MAX,
        }
        /// Number of days after which ended worlds are deleted, by machine time. 0: never
        /// (docs/worlds.md).
        worlds_keep_days: u32, default 30, {
            flag: "worlds-keep-days", variable: "CHANDLER_WORLDS_KEEP_DAYS", value: "DAYS",
            help: "Number of days after which ended worlds are deleted; 0: never",
            range: 0..=RETENTION_DAYS_MAX,
        }
        /// Name of a mirror (`chandler mirror add`) from whose source the server requests candles and
        /// static data that clients request and the store does not have (docs/mirror.md). Empty: the
        /// server answers only from the store.
        read_through: String, default String::new(), {
            flag: "read-through", variable: "CHANDLER_READ_THROUGH", value: "MIRROR",
            help: "Mirror from whose source candles are requested that clients request and the store does not have",
        }
        /// Markets whose data is requested.
        #[serde(with = "texts")]
        read_through_markets: Vec<MarketName>, default MarketName::ALL.to_vec(), {
            flag: "read-through-markets", variable: "CHANDLER_READ_THROUGH_MARKETS", value: "MARKET",
            choices: &["HK", "US", "CN"],
            help: "Markets whose data is requested; may be repeated",
        }
        /// Stored periods that are requested: "day" for daily and longer candles, "1m" for minutes and
        /// longer candles within a day.
        #[serde(with = "texts")]
        read_through_periods: Vec<StoredPeriod>, default StoredPeriod::ALL.to_vec(), {
            flag: "read-through-periods", variable: "CHANDLER_READ_THROUGH_PERIODS", value: "PERIOD",
            choices: &["day", "1m"],
            help: "Stored periods that are requested, day and 1m; may be repeated",
        }
        /// Name of a mirror whose source the server follows: it subscribes to the securities of the
        /// mirror and ingests what the source pushes (docs/mirror.md). Empty: none.
        mirror: String, default String::new(), {
            flag: "mirror", variable: "CHANDLER_MIRROR", value: "MIRROR",
            help: "Mirror whose source is followed: its pushes are ingested while the server runs",
        }
        /// Maximum size of a file that operators upload for import, in MiB. Uploads are stored next
        /// to the store for a day; there is room for four of the maximum size (docs/importing.md).
        upload_mb: Mebibytes, of settings.upload_bytes, {
            flag: "upload-mb", variable: "CHANDLER_UPLOAD_MB", value: "N",
            help: "Maximum size of a file uploaded for import, in MiB",
            range: 1..=UPLOAD_MB_MAX,
        }
    }

    /// Limits per account, or per address without sign-in (docs/operating.md).
    [limits] LimitsConfig {
        /// Maximum number of quote commands per account and second. History has its own rate
        /// (`chandler account create --rate`). The value is also the maximum burst size; further
        /// commands are refused with 301606. 0 for no limit. Accounts with the rate "unlimited" are
        /// exempt.
        calls_per_second: u32, of settings.limits.calls.per_second, {
            flag: "calls-per-second", variable: "CHANDLER_CALLS_PER_SECOND", value: "N",
            help: "Maximum number of quote commands per account and second, excluding history; 0 for no limit",
            range: 0..=RATE_MAX,
        }
        /// Maximum number of concurrent requests per account that wait for the disk; more are
        /// queued.
        calls_at_once: u32, of settings.limits.calls.at_once, {
            flag: "calls-at-once", variable: "CHANDLER_CALLS_AT_ONCE", value: "N",
            help: "Maximum number of concurrent requests per account",
            range: 1..=RATE_MAX,
        }
        /// Refusals per second beyond which the connections of an account or address are read more
        /// slowly, after a burst of 400. 0 for no limit.
        refusals_per_second: u32, of settings.limits.refusals_per_second, {
            flag: "refusals-per-second", variable: "CHANDLER_REFUSALS_PER_SECOND", value: "N",
            help: "Refusals per second beyond which a client's connections are read more slowly; 0 for no limit",
            range: 0..=RATE_MAX,
        }
        /// Maximum size of unsent responses per account or address, in MiB. Beyond it, requests are
        /// not read until some responses are sent.
        unsent_mb: Mebibytes, of settings.limits.unsent_bytes, {
            flag: "unsent-mb", variable: "CHANDLER_UNSENT_MB", value: "N",
            help: "Maximum size of unsent responses per account, in MiB",
            range: 1..=UNSENT_MB_MAX,
        }
        /// Maximum number of unauthenticated connections per address; more wait up to five seconds
        /// for a slot. Trusted proxies are exempt.
        unproven_connections: u32, of settings.limits.unproven_connections, {
            flag: "unproven-connections", variable: "CHANDLER_UNPROVEN_CONNECTIONS", value: "N",
            help: "Maximum number of unauthenticated connections per address",
            range: 1..=RATE_MAX,
        }
        /// Maximum number of pushes that one movement of a set clock sends to a connection. Beyond
        /// it, the connection gets only the final states (docs/operating.md).
        push_jump: u32, of settings.limits.push_jump, {
            flag: "push-jump", variable: "CHANDLER_PUSH_JUMP", value: "N",
            help: "Maximum number of pushes that one movement of a set clock sends to a connection",
            range: 1..=RATE_MAX,
        }
        /// Maximum number of pushes queued for a connection, with 256 bytes for each. Beyond it,
        /// the connection is closed as too slow. At least 2048.
        push_queue: u32, of settings.limits.push_queue, {
            flag: "push-queue", variable: "CHANDLER_PUSH_QUEUE", value: "N",
            help: "Maximum number of pushes queued for a connection; beyond it, the connection is closed",
            range: server::PUSH_QUEUE_MIN as u32..=RATE_MAX,
        }
        /// Number of threads for requests that wait for the disk, 1 to 24. 0 means four per
        /// processor, at least 8 and at most 24.
        threads: u32, default 0, {
            flag: "threads", variable: "CHANDLER_THREADS", value: "N",
            help: "Number of threads for requests that wait for the disk; 0 for four per processor, within limits",
            range: 0..=THREADS_MAX,
        }
    }

    /// Settings of one of several servers on one PostgreSQL database (docs/scaling.md). They are
    /// ignored with a store in a directory.
    [node] NodeConfig {
        /// Key file that encrypts app secrets: 32 random bytes, the same on every machine, and
        /// never in the database. Empty means chandler/key in the user's configuration folder. The
        /// first server of a new database creates it; copy it to the others. A store in a directory
        /// has its own key file, secret.key.
        key_file: String, default String::new(), {
            flag: "key-file", variable: "CHANDLER_KEY_FILE", value: "FILE", is_everywhere: true,
            help: "With a store on PostgreSQL: key file that encrypts app secrets, the same on every machine",
        }
        /// Folder for the local copy of candles, and for uploads. Each server needs its own; it may
        /// be emptied while the server is stopped. Empty means one in the user's cache folder.
        cache: String, of settings.node.cache, {
            flag: "cache", variable: "CHANDLER_CACHE", value: "DIR",
            help: "On PostgreSQL: folder for this server's copy of candles",
        }
        /// Maximum size of this copy on the disk, such as "500MB" or "2TB". The least recently used
        /// data is removed first.
        #[serde(with = "text")]
        cache_size: DiskSize, of settings.node.cache_size, {
            flag: "cache-size", variable: "CHANDLER_CACHE_SIZE", value: "SIZE",
            help: "On PostgreSQL: maximum size of this copy on the disk",
        }
        /// Offline window: how long known accounts are served from the local copy while the
        /// database is unreachable, such as "90s", "5m" or "1h"; "0s" disables it.
        #[serde(with = "text")]
        grace: Span, of settings.node.offline_window, {
            flag: "grace", variable: "CHANDLER_GRACE", value: "TIME",
            help: "On PostgreSQL: how long known accounts are served while the database is unreachable",
        }
        /// Name of this server in reports and metrics. Empty means the host name.
        #[serde(with = "text")]
        node_name: NodeName, of settings.node.name, {
            flag: "node-name", variable: "CHANDLER_NODE_NAME", value: "NAME",
            help: "On PostgreSQL: name of this server in reports and metrics",
        }
    }

    [log] LogConfig {
        /// Log filter for standard error: error, warn, info, debug or trace, also by component,
        /// such as "info,server=debug".
        filter: String, default "info".to_owned(), {
            flag: "log", variable: "CHANDLER_LOG", value: "FILTER",
            help: "Log filter for standard error: error, warn, info, debug, trace, or by component",
            check: |config| config.log.check(),
        }
        /// Log format: text or json.
        format: LogFormat, default LogFormat::Text, {
            flag: "log-format", variable: "CHANDLER_LOG_FORMAT", value: "LOG_FORMAT", choices: &["text", "json"],
            help: "Log format",
        }
        /// Whether each HTTP request is logged; with the filter "info,requests=debug", requests of
        /// long connections are logged too.
        requests: bool, default true, {
            flag: "log-requests", variable: "CHANDLER_LOG_REQUESTS", value: "true|false", choices: &["true", "false"],
            help: "Whether each HTTP request is logged",
        }
    }
}
