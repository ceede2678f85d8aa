//! The configuration file: TOML with one struct per table. Every key is optional, and unknown keys
//! are rejected. `keys.rs` contains the table of keys, from which the structs, the flags and
//! `docs/chandler.toml` are generated.

pub(crate) mod arguments;
mod keys;
#[cfg(test)]
mod tests;
mod values;

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::Path;

use anyhow::anyhow;
use serde_json::Value;
use server::{Certificate, Settings, TlsError, TlsFiles};

use crate::failure::{Failure, usage};
pub(crate) use keys::{Config, KEYS, Key, LogConfig, ServerConfig};
pub(crate) use values::LogFormat;
use values::Setting;

/// Maximum size of a configuration file, in bytes. Real files have a page or two.
const FILE_MAX: u64 = 1 << 20;
/// Maximum number of regional listeners.
const REGIONAL_MAX: usize = 16;
/// Maximum number of trusted proxies. Bounds the cost per proxied request, which is compared with
/// every trusted proxy.
const PROXIES_MAX: usize = 64;

impl Config {
    /// Reads a configuration file and rejects two settings for the same port.
    pub(crate) fn read(path: &Path) -> Result<Config, Failure> {
        let config = Config::read_under(path)?;
        config.server.check_ports().map_err(|error| anyhow!("{}: {error}", path.display()))?;
        Ok(config)
    }

    /// Reads a configuration file whose values may be overridden by the environment and flags. Two
    /// settings may use the same port, because an override can resolve the conflict.
    pub(crate) fn read_under(path: &Path) -> Result<Config, Failure> {
        let text = Config::text_of(path)?;
        Config::parse(&text).map_err(|error| anyhow!("{}: {error}", path.display()).into())
    }

    /// Returns the keys that a file sets, such as `server.listen`. The file must already have been
    /// parsed without errors.
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

    /// Returns every key with its value, in the form used in the file.
    pub(crate) fn values(&self) -> Vec<(&'static Key, Value)> {
        let mut tables = serde_json::to_value(self).unwrap_or_default();
        let mut take = |key: &Key| tables.get_mut(key.table)?.get_mut(key.name).map(Value::take);
        KEYS.iter().map(|key| (key, take(key).unwrap_or_default())).collect()
    }

    /// Returns the settings for a server.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = self.plain_settings();
        settings.tls = self.server.tls();
        // 0 means the default for this machine.
        if self.limits.threads != 0 {
            settings.limits.threads = self.limits.threads.to_setting();
        }
        // 0 retains all audit events.
        settings.audit_retention_days = NonZeroU32::new(self.server.audit_retention_days);
        // 0 disables the deletion of ended worlds.
        settings.worlds_keep_days = NonZeroU32::new(self.server.worlds_keep_days);
        settings
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
            // Only the message of the parser's error is used. The full error also quotes the
            // offending line.
            let mut message = error.message().replace('\n', ", ");
            if message.starts_with("unknown field `levels_from_paper`") {
                // The parser's message lists all keys, but does not name the replacement.
                "`levels_from_paper` was replaced by `levels_from`: auto, reported or paper"
                    .clone_into(&mut message);
            }
            format!("{}{message}", line.unwrap_or_default())
        })?;
        config.server.check()?;
        KEYS.iter().try_for_each(|key| key.check(&config))?;
        Ok(config)
    }
}

impl ServerConfig {
    pub(crate) fn check(&self) -> Result<(), String> {
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

    /// Checks that no two settings use the same port. Ports in use by other programs are not
    /// checked.
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

    /// Returns every listen address with its key, in the order in which the ports are bound.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let regional = self.regional.iter().map(|one| ("regional", one.listen));
        let internal = self.internal.map(|address| ("internal", address));
        [("listen", self.listen), ("tcp", self.tcp)].into_iter().chain(regional).chain(internal)
    }

    /// Loads the certificate and key as a server does at startup. `None` if no certificate is
    /// configured.
    pub(crate) fn check_tls(&self) -> Result<Option<Certificate>, TlsError> {
        self.tls().map(|files| files.check()).transpose()
    }

    fn tls(&self) -> Option<TlsFiles> {
        (!self.tls_cert.is_empty())
            .then(|| TlsFiles { certificate: (&self.tls_cert).into(), key: (&self.tls_key).into() })
    }
}

/// Returns an error message if the address conflicts with an address in `before`.
pub(crate) fn clash(setting: &str, address: SocketAddr, before: &[(&str, SocketAddr)]) -> Option<String> {
    let (other, taken) = before.iter().find(|(_, taken)| is_same_port(address, *taken))?;
    Some(format!("{setting} is {address} and {other} is {taken}: one port cannot be both"))
}

/// Returns whether binding both addresses fails. Port 0 never conflicts, because the system assigns
/// a free port.
fn is_same_port(one: SocketAddr, other: SocketAddr) -> bool {
    let scope = |address: SocketAddr| match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(six) => six.scope_id(),
    };
    let takes = |all: IpAddr, one: IpAddr| match all {
        IpAddr::V4(four) => four.is_unspecified() && one.is_ipv4(),
        // A socket bound to all IPv6 addresses also accepts IPv4 connections, unless the system is
        // configured otherwise.
        IpAddr::V6(six) => six.is_unspecified(),
    };
    let (one_ip, other_ip) = (one.ip().to_canonical(), other.ip().to_canonical());
    let is_same = one_ip == other_ip && scope(one) == scope(other);
    one.port() != 0
        && one.port() == other.port()
        && (is_same || takes(one_ip, other_ip) || takes(other_ip, one_ip))
}
