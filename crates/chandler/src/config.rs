//! The configuration file: TOML, a struct per concern, every key optional, no key unknown. `docs/chandler.toml` lists
//! them all with their defaults, and a test holds it to that.

pub(crate) mod limits;

use std::fmt::{self, Display};
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use access::{PkceRule, Region};
use anyhow::anyhow;
use clap::ValueEnum;
use market::FloorTable;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use server::{Certificate, PublicUrl, Settings, TlsError, TlsFiles, TrustedProxy};

use crate::failure::{Failure, usage};
use limits::LimitsConfig;

/// A configuration is a page or two.
const FILE_MAX: u64 = 1 << 20;
/// Listeners of single regions.
const REGIONAL_MAX: usize = 16;
/// Each request from a proxy is held against all of them.
const PROXIES_MAX: usize = 64;
/// More descriptors than any system gives out.
pub(crate) const CONNECTIONS_MAX: u32 = 1_000_000;
/// A terabyte.
pub(crate) const CACHE_MB_MAX: u32 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: ServerConfig,
    pub(crate) limits: LimitsConfig,
    pub(crate) log: LogConfig,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerConfig {
    pub(crate) listen: SocketAddr,
    pub(crate) tcp: SocketAddr,
    pub(crate) connections_max: u32,
    pub(crate) cache_mb: u32,
    pub(crate) regional: Vec<RegionalConfig>,
    #[serde(deserialize_with = "public_url", serialize_with = "text_or_none")]
    pub(crate) public_url: Option<PublicUrl>,
    #[serde(deserialize_with = "proxies", serialize_with = "texts")]
    pub(crate) trusted_proxies: Vec<TrustedProxy>,
    #[serde(deserialize_with = "address_or_none", serialize_with = "text_or_none")]
    pub(crate) internal: Option<SocketAddr>,
    pub(crate) tls_cert: String,
    pub(crate) tls_key: String,
    #[serde(deserialize_with = "floors", serialize_with = "text")]
    pub(crate) floors: FloorTable,
    #[serde(deserialize_with = "pkce", serialize_with = "text")]
    pub(crate) pkce: PkceRule,
}

/// A listener for the accounts of one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RegionalConfig {
    #[serde(serialize_with = "text")]
    pub(crate) region: Region,
    pub(crate) listen: SocketAddr,
}

/// One of them as a table of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegionalTable {
    #[serde(deserialize_with = "region")]
    region: Region,
    listen: SocketAddr,
}

impl<'de> Deserialize<'de> for RegionalConfig {
    /// A line, as the flag has it, or a table. Not an untagged enum: that one cannot say what is wrong, nor where.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<RegionalConfig, D::Error> {
        struct LineOrTable;

        impl<'de> Visitor<'de> for LineOrTable {
            type Value = RegionalConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a line like \"us=127.0.0.1:8081\", or a table with region and listen")
            }

            fn visit_str<E: Error>(self, line: &str) -> Result<RegionalConfig, E> {
                line.parse().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RegionalConfig, A::Error> {
                let RegionalTable { region, listen } =
                    RegionalTable::deserialize(MapAccessDeserializer::new(table))?;
                Ok(RegionalConfig { region, listen })
            }
        }

        from.deserialize_any(LineOrTable)
    }
}

fn pkce<'de, D: serde::Deserializer<'de>>(from: D) -> Result<PkceRule, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

fn region<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Region, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

fn floors<'de, D: serde::Deserializer<'de>>(from: D) -> Result<FloorTable, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// An empty text is none: the file lists every key with its default.
fn public_url<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<PublicUrl>, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(serde::de::Error::custom) }
}

fn address_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(from)?;
    let wrong =
        |_| serde::de::Error::custom(format!("{text:?} is not an address and a port: write 10.0.0.7:9090"));
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(wrong) }
}

fn proxies<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<TrustedProxy>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}

fn text<T: Display, S: serde::Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// None is written as empty text, as it is read.
fn text_or_none<T: Display, S: serde::Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_str(""),
    }
}

fn texts<T: Display, S: serde::Serializer>(values: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(ToString::to_string))
}

impl FromStr for RegionalConfig {
    type Err = String;

    /// `us=127.0.0.1:8081`
    fn from_str(text: &str) -> Result<RegionalConfig, String> {
        let wrong = || format!("{text:?} is not a region with its address: write us=127.0.0.1:8081");
        let (region, listen) = text.split_once('=').ok_or_else(wrong)?;
        Ok(RegionalConfig {
            region: region.parse().map_err(|_| wrong())?,
            listen: listen.trim().parse().map_err(|_| wrong())?,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogConfig {
    pub(crate) filter: String,
    pub(crate) format: LogFormat,
    pub(crate) requests: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        // The demo alone has a guest.
        let Settings {
            listen,
            tcp,
            regional,
            internal,
            tls,
            public_url,
            trusted_proxies,
            guest: _,
            floors,
            connections_max,
            cache_bytes,
            limits: _,
            pkce,
        } = Settings::default();
        let path = |of: fn(TlsFiles) -> PathBuf| {
            tls.clone().map(of).map(|path| path.display().to_string()).unwrap_or_default()
        };
        ServerConfig {
            listen,
            tcp,
            regional: regional
                .into_iter()
                .map(|(region, listen)| RegionalConfig { region, listen })
                .collect(),
            public_url,
            trusted_proxies,
            internal,
            tls_cert: path(|tls| tls.certificate),
            tls_key: path(|tls| tls.key),
            floors,
            pkce,
            connections_max: u32::try_from(connections_max).unwrap_or(CONNECTIONS_MAX),
            cache_mb: u32::try_from(cache_bytes >> 20).unwrap_or(CACHE_MB_MAX),
        }
    }
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig { filter: "info".to_owned(), format: LogFormat::Text, requests: true }
    }
}

impl Config {
    /// A file that has to stand alone.
    pub(crate) fn read(path: &Path) -> Result<Config, Failure> {
        let config = Config::read_under(path)?;
        config.server.check_ports().map_err(|error| anyhow!("{}: {error}", path.display()))?;
        Ok(config)
    }

    /// A file over which environment and flags are laid: they may give one of two settings that want the same port another.
    pub(crate) fn read_under(path: &Path) -> Result<Config, Failure> {
        let text = Config::text_of(path)?;
        Config::parse(&text).map_err(|error| anyhow!("{}: {error}", path.display()).into())
    }

    /// The keys that a file sets, as `server.listen`. It has been read without mistakes.
    pub(crate) fn keys_of(path: &Path) -> Result<Vec<String>, Failure> {
        let tables: toml::Table = toml::from_str(&Config::text_of(path)?)?;
        let keys = |(table, values): (&String, &toml::Value)| {
            let names: Vec<String> =
                values.as_table().into_iter().flat_map(|values| values.keys().cloned()).collect();
            let table = table.clone();
            names.into_iter().map(move |name| format!("{table}.{name}"))
        };
        Ok(tables.iter().flat_map(keys).collect())
    }

    /// What a server is started with.
    pub(crate) fn settings(&self) -> Settings {
        self.server.settings(&self.limits)
    }

    fn text_of(path: &Path) -> Result<String, Failure> {
        let shown = path.display();
        let file = File::open(path).map_err(|error| usage(format!("cannot read {shown}: {error}")))?;
        let mut text = String::new();
        file.take(FILE_MAX + 1)
            .read_to_string(&mut text)
            .map_err(|error| usage(format!("cannot read {shown}: {error}")))?;
        if text.len() as u64 > FILE_MAX {
            return Err(usage(format!("{shown} is too large for a configuration file")));
        }
        Ok(text)
    }

    fn parse(text: &str) -> Result<Config, String> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let line = error.span().and_then(|span| text.get(..span.start)).map(|before| {
                let number = before.matches('\n').count() + 1;
                format!("line {number}: ")
            });
            // The parser's own text has the line and a drawing of it below; one line is what is wanted here.
            let message = error.message().replace('\n', ", ");
            format!("{}{message}", line.unwrap_or_default())
        })?;
        config.server.check()?;
        config.limits.check()?;
        config.log.check()?;
        Ok(config)
    }
}

impl ServerConfig {
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(1..=CONNECTIONS_MAX).contains(&self.connections_max) {
            return Err(format!("connections_max is a number from 1 to {CONNECTIONS_MAX}"));
        }
        if self.cache_mb > CACHE_MB_MAX {
            return Err(format!("cache_mb is at most {CACHE_MB_MAX}"));
        }
        if self.regional.len() > REGIONAL_MAX {
            return Err(format!("there are at most {REGIONAL_MAX} regional listeners"));
        }
        if self.trusted_proxies.len() > PROXIES_MAX {
            return Err(format!("there are at most {PROXIES_MAX} trusted proxies: name networks"));
        }
        if self.tls_cert.is_empty() != self.tls_key.is_empty() {
            return Err("TLS needs both: set tls_cert and tls_key, or neither".to_owned());
        }
        Ok(())
    }

    /// Whether each listener can have its port, whoever has it now.
    pub(crate) fn check_ports(&self) -> Result<(), String> {
        let mut before = Vec::new();
        for (setting, address) in self.listeners() {
            if let Some(clash) = clash(setting, address, &before) {
                return Err(format!("{clash}: give {setting} another port"));
            }
            before.push((setting, address));
        }
        Ok(())
    }

    /// Every address that is listened on, with the key that names it, in the order in which they are taken.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let regional = self.regional.iter().map(|one| ("regional", one.listen));
        let internal = self.internal.map(|address| ("internal", address));
        [("listen", self.listen), ("tcp", self.tcp)].into_iter().chain(regional).chain(internal)
    }

    /// Certificate and key, read as a server would when it starts; nothing where there are none.
    pub(crate) fn check_tls(&self) -> Result<Option<Certificate>, TlsError> {
        self.tls().map(|files| files.check()).transpose()
    }

    fn tls(&self) -> Option<TlsFiles> {
        (!self.tls_cert.is_empty())
            .then(|| TlsFiles { certificate: (&self.tls_cert).into(), key: (&self.tls_key).into() })
    }

    fn settings(&self, limits: &LimitsConfig) -> Settings {
        let number = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
        Settings {
            listen: self.listen,
            tcp: self.tcp,
            regional: self.regional.iter().map(|one| (one.region, one.listen)).collect(),
            public_url: self.public_url.clone(),
            trusted_proxies: self.trusted_proxies.clone(),
            internal: self.internal,
            tls: self.tls(),
            guest: None,
            floors: self.floors,
            connections_max: number(self.connections_max),
            cache_bytes: number(self.cache_mb).saturating_mul(1 << 20),
            limits: limits.limits(),
            pkce: self.pkce,
        }
    }
}

/// What is wrong if a setting wants a port that one of those before it wants too.
pub(crate) fn clash(setting: &str, address: SocketAddr, before: &[(&str, SocketAddr)]) -> Option<String> {
    let (other, taken) = before.iter().find(|(_, taken)| is_same_port(address, *taken))?;
    Some(format!("{setting} is {address} and {other} is {taken}: one port cannot be both"))
}

/// Whether the system gives out only one of two addresses. Port 0 is another one each time.
fn is_same_port(one: SocketAddr, other: SocketAddr) -> bool {
    let scope = |address: SocketAddr| match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(six) => six.scope_id(),
    };
    let takes = |all: IpAddr, one: IpAddr| match all {
        IpAddr::V4(four) => four.is_unspecified() && one.is_ipv4(),
        // A socket of all addresses of the sixth version is one of the fourth as well, unless the system was told otherwise.
        IpAddr::V6(six) => six.is_unspecified(),
    };
    let (one_ip, other_ip) = (one.ip().to_canonical(), other.ip().to_canonical());
    let is_same = one_ip == other_ip && scope(one) == scope(other);
    one.port() != 0
        && one.port() == other.port()
        && (is_same || takes(one_ip, other_ip) || takes(other_ip, one_ip))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNOTATED: &str = include_str!("../../../docs/chandler.toml");

    #[test]
    fn the_annotated_file_holds_exactly_the_defaults() {
        assert_eq!(Config::parse(ANNOTATED), Ok(Config::default()));
        assert_eq!(Config::parse(""), Ok(Config::default()));
        let (settings, defaults) = (Config::default().settings(), Settings::default());
        assert_eq!(format!("{settings:?}"), format!("{defaults:?}"));
    }

    #[test]
    fn the_annotated_file_lists_every_key() {
        // Of each line that sets a key, another value of the same type must be noticed.
        let mut keys = 0;
        for line in ANNOTATED.lines().filter(|line| !line.starts_with('#') && line.contains(" = ")) {
            let (key, value) = line.split_once(" = ").unwrap();
            let other = match (key, value) {
                ("filter", _) => "\"debug\"",
                ("pkce", _) => "\"always\"",
                ("format", _) => "\"json\"",
                ("floors", _) => "\"none\"",
                ("public_url", _) => "\"https://candles.example.com\"",
                ("trusted_proxies", _) => "[\"10.0.0.0/8\"]",
                ("regional", _) => "[{ region = \"us\", listen = \"127.0.0.1:9\" }]",
                ("tls_cert" | "tls_key", _) => "\"server.pem\"",
                (_, "true") => "false",
                (_, text) if text.starts_with('"') => "\"127.0.0.1:9\"",
                _ => "9",
            };
            let changed = ANNOTATED.replacen(line, &format!("{key} = {other}"), 1);
            // A certificate without a key is noticed by being refused.
            match Config::parse(&changed) {
                Ok(config) => assert_ne!(config, Config::default(), "{line}"),
                Err(error) => assert!(key.starts_with("tls_") && error.contains("both"), "{line}: {error}"),
            }
            keys += 1;
        }
        // A field more in the structs is a key more in the file.
        let ServerConfig {
            listen: _,
            tcp: _,
            connections_max: _,
            cache_mb: _,
            regional: _,
            public_url: _,
            trusted_proxies: _,
            internal: _,
            tls_cert: _,
            tls_key: _,
            floors: _,
            pkce: _,
        } = ServerConfig::default();
        let LimitsConfig {
            calls_per_second: _,
            calls_at_once: _,
            refusals_per_second: _,
            unsent_mb: _,
            unproven_connections: _,
            threads: _,
        } = LimitsConfig::default();
        let LogConfig { filter: _, format: _, requests: _ } = LogConfig::default();
        assert_eq!(keys, 12 + 6 + 3);
    }

    #[test]
    fn a_regional_listener_is_a_line_or_a_table() {
        let expected = [RegionalConfig { region: Region::Us, listen: "127.0.0.1:8081".parse().unwrap() }];
        for text in [
            "[server]\nregional = [{ region = \"us\", listen = \"127.0.0.1:8081\" }]",
            "[[server.regional]]\nregion = \"US\"\nlisten = \"127.0.0.1:8081\"",
            "[server]\nregional = [\"us=127.0.0.1:8081\"]",
        ] {
            assert_eq!(Config::parse(text).unwrap().server.regional, expected);
        }
        assert_eq!("us=127.0.0.1:8081".parse(), Ok(expected[0]));
        for wrong in ["", "us", "eu=127.0.0.1:8081", "us=8081", "=127.0.0.1:1"] {
            assert!(wrong.parse::<RegionalConfig>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_lines_of_the_annotated_file_that_show_how_can_be_used() {
        let shown = |begin: &str, lines: usize| -> String {
            let shown = ANNOTATED.lines().filter_map(|line| line.strip_prefix("#     "));
            let lines: Vec<&str> = shown.skip_while(|line| *line != begin).take(lines).collect();
            format!("{}\n", lines.join("\n"))
        };
        let us = RegionalConfig { region: Region::Us, listen: "127.0.0.1:8081".parse().unwrap() };
        let line = format!("[server]\n{}", shown("regional = [\"us=127.0.0.1:8081\"]", 1));
        for text in [line, shown("[[server.regional]]", 3)] {
            assert_eq!(Config::parse(&text).unwrap().server.regional, [us], "{text}");
        }
    }

    #[test]
    fn a_port_is_wanted_once() {
        let clashes = |one: &str, other: &str| {
            let before = [("listen", one.parse().unwrap())];
            clash("tcp", other.parse().unwrap(), &before).is_some()
        };
        for (one, other) in [
            ("127.0.0.1:5", "127.0.0.1:5"),
            ("0.0.0.0:5", "127.0.0.1:5"),
            ("0.0.0.0:5", "0.0.0.0:5"),
            ("[::]:5", "[::1]:5"),
            ("[::]:5", "127.0.0.1:5"),
            ("[::]:5", "0.0.0.0:5"),
            ("[::ffff:127.0.0.1]:5", "127.0.0.1:5"),
            ("[fe80::1%2]:5", "[fe80::1%2]:5"),
        ] {
            assert!(clashes(one, other) && clashes(other, one), "{one} and {other}");
        }
        for (one, other) in [
            ("127.0.0.1:5", "127.0.0.1:6"),
            ("127.0.0.1:5", "127.0.0.2:5"),
            ("127.0.0.1:5", "[::1]:5"),
            ("0.0.0.0:5", "[::1]:5"),
            ("[fe80::1%2]:5", "[fe80::1%3]:5"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("0.0.0.0:0", "[::]:0"),
        ] {
            assert!(!clashes(one, other) && !clashes(other, one), "{one} and {other}");
        }
        let at = |text: &str| text.parse().unwrap();
        let config = ServerConfig { internal: Some(at("0.0.0.0:2020")), ..ServerConfig::default() };
        let says = config.check_ports().unwrap_err();
        assert_eq!(
            says,
            "internal is 0.0.0.0:2020 and tcp is 127.0.0.1:2020: one port cannot be both: give internal another port"
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, says) in [
            ("[server]\nlisten = \"here\"", &["line 2", "socket address"][..]),
            ("[server]\n\nlisten_on = \"127.0.0.1:1\"", &["line 3", "listen_on"]),
            ("[sever]\n", &["line 1", "sever"]),
            ("[server]\nconnections_max = 0", &["connections_max", "1 to"]),
            ("[server]\ncache_mb = -1", &["line 2"]),
            ("[[server.regional]]\nregion = \"eu\"\nlisten = \"127.0.0.1:1\"", &["line 2", "eu", "ap or us"]),
            ("[[server.regional]]\nregion = \"us\"", &["line 1", "listen"]),
            ("[[server.regional]]\nregion = \"us\"\nport = 1", &["line 3", "port"]),
            ("[server]\nregional = [\"eu=127.0.0.1:1\"]", &["line 2", "eu=", "us=127.0.0.1:8081"]),
            ("[server]\nregional = [8081]", &["line 2", "8081", "us=127.0.0.1:8081"]),
            ("[server]\npublic_url = \"example.com\"", &["line 2", "https://"]),
            ("[server]\ntrusted_proxies = [\"10.0.0.1/8\"]", &["line 2", "10.0.0.1/8", "prefix"]),
            ("[server]\ntrusted_proxies = [\"0.0.0.0/0\"]", &["line 2", "everybody"]),
            ("[server]\ninternal = \"9090\"", &["line 2", "9090", "address"]),
            ("[server]\ntls_key = \"key.pem\"", &["tls_cert", "both"]),
            ("[limits]\ncalls_at_once = 0", &["calls_at_once", "1 to"]),
            ("[limits]\nthreads = 25", &["threads", "0 to 24"]),
            ("[server]\npkce = \"sometimes\"", &["line 2", "sometimes", "remote"]),
            ("[log]\nrequests = 1", &["line 2"]),
            ("[log]\nformat = \"xml\"", &["line 2", "xml"]),
            ("[log]\nfilter = \"info,server=loud\"", &["server=loud", "not a log filter"]),
            ("[server", &["line 1"]),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert_eq!(error.lines().count(), 1, "{error}");
            says.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
        }
    }
}
