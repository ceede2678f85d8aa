//! Settings of the server, and their defaults.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::intake::FILE_BYTES_MAX;
use crate::proxies::TrustedProxy;
use crate::public_url::PublicUrl;
use crate::tls::TlsFiles;
use crate::workers;

/// Default of [`Settings::worlds_max`].
pub(crate) const WORLDS_MAX_DEFAULT: u32 = 1_000;
/// Default of [`Settings::worlds_running`].
pub(crate) const WORLDS_RUNNING_DEFAULT: u32 = 64;
const WORLDS_KEEP_DAYS_DEFAULT: Option<NonZeroU32> = NonZeroU32::new(30);

/// Server settings. The defaults are those of `chandler serve`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address for HTTP and WebSocket.
    pub listen: std::net::SocketAddr,
    /// Address for raw TCP connections.
    pub tcp: std::net::SocketAddr,
    /// Additional addresses for HTTP and WebSocket, each serving only accounts of one region.
    pub regional: Vec<(access::Region, std::net::SocketAddr)>,
    /// Address of the internal listener, which serves only health, readiness, metrics and status,
    /// without authentication. If set, the other listeners show metrics and status only to
    /// operators.
    pub internal: Option<std::net::SocketAddr>,
    /// Certificate of the HTTP and WebSocket listeners; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// URL of the service for clients; `None` to use the host of each request.
    pub public_url: Option<PublicUrl>,
    /// Proxies whose `X-Forwarded-For` and `Forwarded` headers are trusted.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Account as which users on this machine are signed in without a password. Only for the demo:
    /// no configuration key sets this field, and it is ignored if a proxy is trusted.
    pub guest: Option<access::AccountId>,
    /// Whether the stored prices are simulated. The pages show this if the market clock runs. Only
    /// for the demo: no configuration key sets it.
    pub is_simulated: bool,
    /// Start of the visible history for accounts without individual floors.
    pub floors: market::FloorTable,
    /// Share of turnover in percent that defines large trades, for capital distribution.
    pub flow_large_percent: u32,
    /// Share of turnover in percent that defines large and medium trades together.
    pub flow_medium_percent: u32,
    /// Whether a replay shows single trades before their minute is complete.
    pub running_trades: history::RunningTrades,
    /// Maximum number of open connections of all kinds.
    pub connections_max: usize,
    /// Size of the cache of encoded candles in bytes; 0 disables the cache.
    pub cache_bytes: usize,
    pub limits: Limits,
    /// Which OAuth clients need PKCE.
    pub pkce: access::PkceRule,
    /// Tick sizes, fees, settlement days and interest of paper accounts; `None` for the built-in
    /// tables.
    pub tables: Option<trading::Tables>,
    /// Retention of audit rows in days; `None` for unlimited.
    pub audit_retention_days: Option<NonZeroU32>,
    /// The assets and orders from which levels are computed.
    pub levels_from: access::LevelsFrom,
    /// Validity of a statement's download URL in seconds.
    pub statement_link_seconds: u32,
    /// Font for Chinese text in PDF statements; `None` to search the usual paths.
    pub statement_font: Option<PathBuf>,
    /// Time after the end of a minute at which an incomplete candle of this minute counts as final,
    /// in seconds.
    pub ingest_grace_seconds: u32,
    /// Maximum number of worlds in the store.
    pub worlds_max: u32,
    /// Maximum number of concurrently running worlds.
    pub worlds_running: u32,
    /// Number of days after which ended worlds are deleted; `None` to keep them.
    pub worlds_keep_days: Option<NonZeroU32>,
    /// Requests data that is not stored from the source of a mirror; `None` to answer only from the
    /// store.
    pub read_through: Option<collect::ReadThrough>,
    /// State of following the source of a mirror.
    pub following: Option<collect::Following>,
    /// Maximum size of an uploaded file in bytes.
    pub upload_bytes: usize,
    pub node: NodeSettings,
}

/// Settings of one of several servers that share a PostgreSQL database. Unused if the store is a
/// directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// Directory for the local copy of candles and for uploaded files; `None` for a directory in
    /// the user's cache directory.
    pub cache: Option<PathBuf>,
    /// Maximum size of the local copy in bytes.
    pub cache_size: u64,
    /// Offline window: how long known accounts are served from the local copy while the database is
    /// unreachable.
    pub offline_window: Duration,
    /// Name of this server in reports; `None` for the machine's name.
    pub name: Option<String>,
}

impl Default for NodeSettings {
    fn default() -> NodeSettings {
        NodeSettings {
            cache: None,
            cache_size: 10_000_000_000,
            offline_window: Duration::from_secs(300),
            name: None,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        let loopback = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
        Settings {
            listen: loopback(8080),
            tcp: loopback(2020),
            regional: Vec::new(),
            internal: None,
            tls: None,
            public_url: None,
            trusted_proxies: Vec::new(),
            guest: None,
            is_simulated: false,
            floors: market::FloorTable::PUBLISHED,
            flow_large_percent: 30,
            flow_medium_percent: 55,
            running_trades: history::RunningTrades::default(),
            connections_max: 16_384,
            cache_bytes: 256 << 20,
            limits: Limits::default(),
            pkce: access::PkceRule::default(),
            tables: None,
            audit_retention_days: None,
            levels_from: access::LevelsFrom::default(),
            statement_link_seconds: 600,
            ingest_grace_seconds: 5,
            worlds_max: WORLDS_MAX_DEFAULT,
            worlds_running: WORLDS_RUNNING_DEFAULT,
            worlds_keep_days: WORLDS_KEEP_DAYS_DEFAULT,
            statement_font: None,
            read_through: None,
            following: None,
            upload_bytes: FILE_BYTES_MAX,
            node: NodeSettings::default(),
        }
    }
}

/// Advice on how to resolve the warning of [`Settings::exposure`].
pub const EXPOSURE_ADVICE: &str = "set tls_cert and tls_key, or put a proxy with TLS in front and name it in public_url or \
                                   trusted_proxies, or listen on 127.0.0.1";

impl Settings {
    /// Returns the turnover shares of large trades, and of large and medium trades together, in
    /// percent. The second share is never smaller than the first.
    pub(crate) fn class_shares(&self) -> market::ClassShares {
        let percent = |percent: u32| u8::try_from(percent.min(100)).unwrap_or(100);
        let (large, medium) = (percent(self.flow_large_percent), percent(self.flow_medium_percent));
        market::ClassShares { large, medium: medium.max(large) }
    }

    /// Returns whether the settings restrict the server to this machine, without a proxy, which
    /// one-time links require. Returns false with TLS, because links would need the certificate's
    /// host name, and with an internal listener, because requests to the other listeners are then
    /// never treated as local.
    pub fn is_for_this_machine(&self) -> bool {
        let regional = self.regional.iter().map(|(_, address)| *address);
        let mut all = [self.listen, self.tcp].into_iter().chain(regional);
        all.all(|address| address.ip().to_canonical().is_loopback())
            && self.tls.is_none()
            && self.public_url.is_none()
            && self.trusted_proxies.is_empty()
            && self.internal.is_none()
    }

    /// Returns a warning if other machines are served and no setting shows that their requests are
    /// encrypted. TLS, a trusted proxy or a public https URL shows that.
    pub fn exposure(&self) -> Option<String> {
        let is_https = self.public_url.as_ref().is_some_and(PublicUrl::is_https);
        if self.tls.is_some() || is_https || !self.trusted_proxies.is_empty() {
            return None;
        }
        let regional = self.regional.iter().map(|(_, address)| *address);
        let all = [self.listen, self.tcp].into_iter().chain(regional);
        let open: Vec<String> = all
            .filter(|address| !address.ip().to_canonical().is_loopback())
            .map(|address| address.to_string())
            .collect();
        (!open.is_empty()).then(|| {
            let open = open.join(", ");
            format!(
                "{open} is reachable from other machines without TLS: passwords and tokens can be \
             intercepted"
            )
        })
    }
}

/// Minimum of [`Limits::push_queue`]: the pushes of one instant for 500 securities.
pub const PUSH_QUEUE_MIN: usize = 2_048;

/// Resource limits per account across all transports, or per address before sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rate and concurrency limits of commands. History requests have their own rate, and quote
    /// subscriptions are not counted.
    pub calls: access::CallRule,
    /// Number of threads for requests that block on disk I/O, shared by all callers. At most
    /// [`THREADS_MAX`](crate::THREADS_MAX).
    pub threads: usize,
    /// Number of refusals per second above which a caller's connections are read more slowly; 0 for
    /// no limit.
    pub refusals_per_second: u32,
    /// Maximum number of unsent bytes of responses per caller.
    pub unsent_bytes: usize,
    /// Maximum number of unauthenticated connections per address. Further connections wait for a
    /// slot.
    pub unproven_connections: usize,
    /// Maximum number of pushes that one movement of the clock sends to a connection. Beyond that,
    /// the connection gets only the final states.
    pub push_jump: usize,
    /// Maximum number of pushes queued for a connection, at least [`PUSH_QUEUE_MIN`]. Their total
    /// size is limited to 256 bytes for each allowed push. A connection that exceeds either limit
    /// is closed.
    pub push_queue: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            calls: access::CallRule::SERVICE,
            threads: workers::threads_of_this_machine(),
            refusals_per_second: 200,
            unsent_bytes: 32 << 20,
            unproven_connections: 128,
            push_jump: 20_000,
            push_queue: crate::mailbox::PUSHES_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_serves_only_this_machine_by_default() {
        let at = |text: &str| text.parse().unwrap();
        assert!(Settings::default().is_for_this_machine());
        assert!(Settings { listen: at("[::1]:8080"), ..Settings::default() }.is_for_this_machine());
        let files = TlsFiles { certificate: "cert.pem".into(), key: "key.pem".into() };
        for settings in [
            Settings { listen: at("0.0.0.0:8080"), ..Settings::default() },
            Settings { listen: at("[::]:8080"), ..Settings::default() },
            Settings { tcp: at("192.168.0.7:2020"), ..Settings::default() },
            Settings { regional: vec![(access::Region::Us, at("10.0.0.7:1"))], ..Settings::default() },
            Settings { internal: Some(at("127.0.0.1:9090")), ..Settings::default() },
            Settings { tls: Some(files), ..Settings::default() },
            Settings {
                public_url: Some("http://candles.example.com".parse().unwrap()),
                ..Settings::default()
            },
            Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..Settings::default() },
        ] {
            assert!(!settings.is_for_this_machine(), "{settings:?}");
        }
    }

    #[test]
    fn an_unencrypted_listener_for_other_machines_causes_a_warning() {
        let at = |text: &str| text.parse().unwrap();
        let open = Settings { listen: at("0.0.0.0:8080"), ..Settings::default() };
        assert!(open.exposure().unwrap().contains("0.0.0.0:8080 is reachable"), "{:?}", open.exposure());
        let regional = vec![(access::Region::Us, at("10.0.0.7:8081"))];
        let settings = Settings { regional, tcp: at("[::]:2020"), ..Settings::default() };
        let says = settings.exposure().unwrap();
        assert!(says.contains("[::]:2020, 10.0.0.7:8081"), "{says}");
        for own_region_only in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(
                Settings { listen: at(own_region_only), ..Settings::default() }.exposure(),
                None,
                "{own_region_only}"
            );
        }
        // The internal listener serves no secret data, so it needs no encryption.
        assert_eq!(Settings { internal: Some(at("0.0.0.0:9090")), ..Settings::default() }.exposure(), None);
        let files = TlsFiles { certificate: "cert.pem".into(), key: "key.pem".into() };
        let public = |text: &str| Some(text.parse().unwrap());
        for (settings, warned) in [
            (Settings { tls: Some(files), ..open.clone() }, false),
            (Settings { trusted_proxies: vec!["10.0.0.1".parse().unwrap()], ..open.clone() }, false),
            (Settings { public_url: public("https://candles.example.com"), ..open.clone() }, false),
            (Settings { public_url: public("http://candles.example.com"), ..open.clone() }, true),
        ] {
            assert_eq!(settings.exposure().is_some(), warned, "{settings:?}");
        }
    }
}
