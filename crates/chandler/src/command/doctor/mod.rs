//! `chandler doctor`: checks for common problems and gives advice for each problem. The command
//! changes nothing and sends no tokens.

mod check;
mod databases;
mod machine;
mod ports;
mod sdk;
mod server;

use std::io::{self, Write};
use std::time::Duration;

use ::server::{Concern, EXPOSURE_ADVICE, TlsError};
use clap::Args;
use market::Timestamp;
use serde_json::{Value, json};
use store::StoreUrl;

use crate::clock::Clock;
use crate::config::arguments::Arguments as ServeArguments;
use crate::config::{Config, ServerConfig};
use crate::context::CommandContext;
use crate::failure::{self, Failure};
use crate::output::{self, Format};
use crate::progress;
use crate::remote::http::Network;
use crate::sdk::Url;
use check::{AS_SERVICE, Check, Verdict};

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Also check the health and the clock of this server
    #[arg(long, env = "CHANDLER_SERVER", value_name = "URL")]
    server: Option<String>,
    /// Verify every checksum of the store, as `chandler check` does, not only a sample
    #[arg(long)]
    deep: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    progress: progress::Flags,
    #[command(flatten)]
    serve: ServeArguments,
}

/// Timeout for requests to the `--server` address.
const SERVER_WITHIN: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let checks = arguments.checks(context);
    let failed = checks.iter().any(|check| check.verdict == Verdict::Fail);
    let report = match arguments.format {
        Format::Json => {
            let checks: Vec<Value> = checks.iter().map(as_json).collect();
            output::json(&json!({"ok": !failed, "checks": checks})).map_err(Failure::from)
        }
        Format::Table => print(&checks),
    };
    failure::found(report, if failed { Err(Failure::Reported) } else { Ok(()) })
}

impl Arguments {
    fn checks(&self, context: &CommandContext) -> Vec<Check> {
        let mut checks = vec![machine::clock(context)];
        checks.extend(machine::calendars(context));
        let (config, check) = self.config();
        checks.push(check);
        checks.extend(certificate(&config.server, Clock::Machine.now()));
        checks.extend(exposure(&config));
        checks.push(machine::statements(config.settings().statement_font.as_deref()));
        checks.extend(machine::disk(context));
        let context = &context.again().with_key_file(&config.node.key_file);
        if let Ok(StoreUrl::Server(address)) = context.url() {
            let node = config.settings().node;
            let folder = context.work_folder(node.cache.as_deref()).ok();
            checks.extend(folder.and_then(|folder| machine::cache(&folder, node.cache_size)));
            checks.extend(server::all(address));
        }
        checks.extend(machine::descriptors(config.server.connections_max));
        checks.extend(ports::all(&config.server));
        checks.extend(databases::all(context, self.deep, self.progress));
        checks.extend(sdk::all(&|name| std::env::var(name).ok(), &sdk::listens));
        checks.extend(self.server.as_deref().map(Url::parse).into_iter().flat_map(|url| match url {
            Ok(url) => ports::server(&url, &Network::within(&url, SERVER_WITHIN)),
            Err(failure) => {
                vec![Check::fail("server", failure.to_string(), "correct --server or CHANDLER_SERVER")]
            }
        }));
        checks
    }

    /// Returns the settings that a server would start with. If a file or variable is invalid, the
    /// problem is reported and the default settings are used. Two settings for the same port are
    /// reported by the port check.
    fn config(&self) -> (Config, Check) {
        let name = "configuration";
        match (self.serve.laid(), self.serve.config_file()) {
            (Ok(config), Some(path)) => (config, Check::ok(name, format!("{} is valid", path.display()))),
            (Ok(config), None) => (config, Check::ok(name, "no file; defaults, environment and flags apply")),
            (Err(failure), _) => {
                let advice = "correct it; docs/chandler.toml lists every key, `chandler config show` the effective values";
                (Config::default(), Check::fail(name, failure.to_string(), advice))
            }
        }
    }
}

/// Checks the TLS certificate and key, if they are configured.
fn certificate(config: &ServerConfig, now: Timestamp) -> Option<Check> {
    const NAME: &str = "certificate";
    match config.check_tls() {
        Ok(None) => None,
        Ok(Some(certificate)) => {
            const RENEW: &str = "renew it and replace the files: a running server reloads them (docs/tls.md)";
            let (path, until) = (&config.tls_cert, certificate.not_after);
            Some(match certificate.concern(now) {
                None => Check::ok(NAME, format!("{path} is valid until {until}")),
                Some(concern) => {
                    let says = format!("{concern} ({path})");
                    match concern {
                        Concern::Ended(_) => Check::fail(NAME, says, RENEW),
                        Concern::EndsSoon(_) => Check::warn(NAME, says, RENEW),
                        Concern::Early(_) => Check::fail(
                            NAME,
                            says,
                            "use one that is already valid, or set the machine's clock",
                        ),
                    }
                }
            })
        }
        Err(error) => {
            let advice = match &error {
                TlsError::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                    AS_SERVICE
                }
                _ => {
                    "name the PEM files of a certificate and its key (docs/tls.md): a server would not start"
                }
            };
            Some(Check::fail(NAME, error.to_string(), advice))
        }
    }
}

/// Warns if the server is reachable from other machines without encryption.
fn exposure(config: &Config) -> Option<Check> {
    config.settings().exposure().map(|says| Check::warn("TLS", says, EXPOSURE_ADVICE))
}

fn as_json(check: &Check) -> Value {
    let Check { name, verdict, says, advice } = check;
    json!({"check": name, "verdict": verdict.as_str(), "says": says, "advice": advice})
}

fn print(checks: &[Check]) -> Result<(), Failure> {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut out = output::stdout();
    for Check { name, verdict, says, advice } in checks {
        writeln!(out, "{:<4}  {name:<width$}  {}", verdict.as_str(), output::printable(says))?;
        if let Some(advice) = advice {
            writeln!(out, "{:<4}  {:<width$}  -> {}", "", "", output::printable(advice))?;
        }
    }
    let count = |of: Verdict| checks.iter().filter(|check| check.verdict == of).count();
    let (warned, failed) = (count(Verdict::Warn), count(Verdict::Fail));
    writeln!(out, "{} checks: {}, {failed} failed", checks.len(), output::count(warned as u64, "warning"))?;
    Ok(out.flush()?)
}
