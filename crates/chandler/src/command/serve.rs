//! `chandler serve`: the store, answered over HTTP, WebSocket and TCP until a signal says stop.

mod limits;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use access::{Access, Region};
use anyhow::{Context, anyhow};
use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use history::History;
use market::Market;
use serde::Serialize;
use server::{Addresses, Server, ServerError, Settings};
use store::StoreError;
use tokio::runtime::Runtime;

use crate::clock::Clock;
use crate::config::{CACHE_MB_MAX, CONNECTIONS_MAX, Config, LogFormat};
use crate::failure::{Failure, usage};
use crate::surroundings::Surroundings;
use crate::{log, output};

/// What a server is told, and under which name each of it: that of a flag, or of a variable.
#[derive(Debug)]
pub(crate) struct Arguments {
    given: Given,
    names: BTreeMap<String, String>,
}

/// Everything is taken as text: what cannot be read is told with the name it has, and to the doctor it is a finding.
#[derive(Debug, Args)]
struct Given {
    /// Where HTTP and WebSocket are served [default: 127.0.0.1:8080]
    #[arg(long, env = "CHANDLER_LISTEN", value_name = "ADDRESS:PORT", value_parser = ANY)]
    listen: Option<String>,
    /// Where raw TCP is served [default: 127.0.0.1:2020]
    #[arg(long, env = "CHANDLER_TCP", value_name = "ADDRESS:PORT", value_parser = ANY)]
    tcp: Option<String>,
    /// A listener for the accounts of one region, as us=127.0.0.1:8081; may be repeated
    #[arg(long, env = "CHANDLER_REGIONAL", value_name = "REGION=ADDRESS:PORT", value_parser = ANY, value_delimiter = ',')]
    regional: Vec<String>,
    /// How the service is called from outside, as https://candles.example.com
    #[arg(long, env = "CHANDLER_PUBLIC_URL", value_name = "URL", value_parser = ANY)]
    public_url: Option<String>,
    /// A proxy whose X-Forwarded-For is believed, as 10.0.0.7 or 10.0.0.0/8; may be repeated
    #[arg(long, env = "CHANDLER_TRUSTED_PROXIES", value_name = "ADDRESS[/PREFIX]", value_parser = ANY, value_delimiter = ',')]
    trusted_proxy: Vec<String>,
    /// Where health, readiness, metrics and status are served without sign-in, as 10.0.0.7:9090
    #[arg(long, env = "CHANDLER_INTERNAL", value_name = "ADDRESS:PORT", value_parser = ANY)]
    internal: Option<String>,
    /// A PEM file with the certificate of HTTP and WebSocket; needs --tls-key
    #[arg(long, env = "CHANDLER_TLS_CERT", value_name = "FILE", value_parser = ANY)]
    tls_cert: Option<String>,
    /// A PEM file with its private key
    #[arg(long, env = "CHANDLER_TLS_KEY", value_name = "FILE", value_parser = ANY)]
    tls_key: Option<String>,
    /// Which clients of OAuth without a secret need a proof key: always, remote (sent back to another machine), never [default: remote]
    #[arg(long, env = "CHANDLER_PKCE", value_parser = Text(&["always", "remote", "never"]))]
    pkce: Option<String>,
    /// Connections of all kinds that may be open at once [default: 16384]
    #[arg(long, env = "CHANDLER_CONNECTIONS_MAX", value_name = "N", value_parser = ANY)]
    connections_max: Option<String>,
    /// Memory for encoded candles in MiB; 0 keeps none [default: 256]
    #[arg(long, env = "CHANDLER_CACHE_MB", value_name = "N", value_parser = ANY)]
    cache_mb: Option<String>,
    /// From when on accounts are served history: published, none, or dates like HK.day=1995-01-03 [default: published]
    #[arg(long, env = "CHANDLER_FLOORS", value_name = "FLOORS", value_parser = ANY)]
    floors: Option<String>,
    #[command(flatten)]
    limits: limits::LimitFlags,
    /// A configuration file; docs/chandler.toml lists its keys
    #[arg(long, env = "CHANDLER_CONFIG", value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    config: Option<PathBuf>,
    /// What is logged to standard error: error, warn, info, debug, trace, or by part [default: info]
    #[arg(long, env = "CHANDLER_LOG", value_name = "FILTER", value_parser = ANY)]
    log: Option<String>,
    /// How it is logged [default: text]
    #[arg(long, env = "CHANDLER_LOG_FORMAT", value_parser = Text(&["text", "json"]))]
    log_format: Option<String>,
    /// Whether each request over HTTP is logged [default: true]
    #[arg(long, env = "CHANDLER_LOG_REQUESTS", value_name = "true|false", value_parser = Text(&["true", "false"]))]
    log_requests: Option<String>,
}

/// Takes any text. What it should be is for help and completion.
#[derive(Clone, Copy, Debug)]
struct Text(&'static [&'static str]);

const ANY: Text = Text(&[]);

impl TypedValueParser for Text {
    type Value = String;

    fn parse_ref(&self, _: &Command, _: Option<&clap::Arg>, value: &OsStr) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = self.0.iter().map(PossibleValue::new);
        (!self.0.is_empty()).then(|| Box::new(values) as Box<dyn Iterator<Item = PossibleValue>>)
    }
}

impl Args for Arguments {
    fn augment_args(command: Command) -> Command {
        Given::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Given::augment_args_for_update(command)
    }
}

impl FromArgMatches for Arguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Arguments, clap::Error> {
        Ok(Arguments { names: names(matches), given: Given::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.names = names(matches);
        self.given.update_from_arg_matches(matches)
    }
}

/// What each argument is called where it was given.
fn names(matches: &ArgMatches) -> BTreeMap<String, String> {
    let command = Given::augment_args(Command::new("serve"));
    let named = command.get_arguments().map(|argument| {
        let id = argument.get_id().as_str();
        let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
        let variable = variable.filter(|_| matches.value_source(id) == Some(ValueSource::EnvVariable));
        let flag = || format!("--{}", argument.get_long().unwrap_or(id));
        (id.to_owned(), variable.unwrap_or_else(flag))
    });
    named.collect()
}

/// What is said on stdout, in one line, once clients may come.
#[derive(Debug, Serialize)]
struct Ready {
    event: &'static str,
    http: SocketAddr,
    tcp: SocketAddr,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    regional: Vec<ReadyRegion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    internal: Option<SocketAddr>,
    /// Whether HTTP and WebSocket speak TLS.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tls: bool,
}

#[derive(Debug, Serialize)]
struct ReadyRegion {
    region: &'static str,
    http: SocketAddr,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    let config = arguments.config()?;
    log::start(&config.log)?;
    let settings = config.settings();
    let serving = Serving::start(&settings, surroundings).map_err(Failed::told)?;
    let Addresses { http, tcp } = serving.addresses;
    let mut out = output::stdout();
    let regional = serving.regional.iter();
    let regional =
        regional.map(|(region, http)| ReadyRegion { region: region.as_str(), http: *http }).collect();
    let (internal, tls) = (serving.internal, settings.tls.is_some());
    serde_json::to_writer(&mut out, &Ready { event: "listening", http, tcp, regional, internal, tls })?;
    writeln!(out)?;
    out.flush()?;
    serving.run()
}

impl Arguments {
    /// The file that the others are laid over, if one is named.
    pub(crate) fn config_file(&self) -> Option<&Path> {
        self.given.config.as_deref()
    }

    /// What a server is started with.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let config = self.laid()?;
        config.server.check_ports().map_err(usage)?;
        Ok(config)
    }

    /// Flags over environment over file over defaults; the first two have been put together already. Two of them may
    /// still want the same port.
    pub(crate) fn laid(&self) -> Result<Config, Failure> {
        let given = &self.given;
        let mut config = self.config_file().map(Config::read_under).transpose()?.unwrap_or_default();
        let server = &mut config.server;
        server.listen = self.address("listen", given.listen.as_deref())?.unwrap_or(server.listen);
        server.tcp = self.address("tcp", given.tcp.as_deref())?.unwrap_or(server.tcp);
        server.internal = self.address("internal", given.internal.as_deref())?.or(server.internal);
        if !given.regional.is_empty() {
            server.regional = self.each("regional", &given.regional)?;
        }
        if !given.trusted_proxy.is_empty() {
            server.trusted_proxies = self.each("trusted_proxy", &given.trusted_proxy)?;
        }
        if let Some(text) = &given.public_url {
            server.public_url = Some(text.parse().map_err(|error| self.wrong("public_url", error))?);
        }
        if let Some(text) = &given.pkce {
            server.pkce = text.parse().map_err(|error| self.wrong("pkce", error))?;
        }
        if let Some(path) = &given.tls_cert {
            server.tls_cert.clone_from(path);
        }
        if let Some(path) = &given.tls_key {
            server.tls_key.clone_from(path);
        }
        if let Some(text) = &given.floors {
            server.floors = text.parse().map_err(|error| self.wrong("floors", error))?;
        }
        server.connections_max = self
            .number("connections_max", given.connections_max.as_deref(), 1..=CONNECTIONS_MAX)?
            .unwrap_or(server.connections_max);
        server.cache_mb =
            self.number("cache_mb", given.cache_mb.as_deref(), 0..=CACHE_MB_MAX)?.unwrap_or(server.cache_mb);
        server.check().map_err(usage)?;
        given.limits.lay(self, &mut config.limits)?;
        if let Some(text) = &given.log_format {
            let wrong =
                |_| self.wrong("log_format", format!("{text:?} is not a format of logs: write text or json"));
            config.log.format = LogFormat::from_str(text, false).map_err(wrong)?;
        }
        if let Some(text) = &given.log_requests {
            let wrong = |_| self.wrong("log_requests", format!("{text:?} is neither true nor false"));
            config.log.requests = text.parse().map_err(wrong)?;
        }
        if let Some(filter) = &given.log {
            config.log.filter.clone_from(filter);
            config.log.check().map_err(|error| self.wrong("log", error))?;
        }
        Ok(config)
    }

    fn wrong(&self, argument: &str, error: impl Display) -> Failure {
        usage(format!("{} {error}", self.names.get(argument).map_or(argument, String::as_str)))
    }

    fn address(&self, argument: &str, text: Option<&str>) -> Result<Option<SocketAddr>, Failure> {
        let read = |text: &str| {
            text.parse().map_err(|_| {
                self.wrong(argument, format!("{text:?} is not an address and a port: write 127.0.0.1:8080"))
            })
        };
        text.map(read).transpose()
    }

    fn number(
        &self,
        argument: &str,
        text: Option<&str>,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Failure> {
        let read = |text: &str| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            number.ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                self.wrong(argument, format!("{text:?} is not a number from {least} to {most}"))
            })
        };
        text.map(read).transpose()
    }

    fn each<T: FromStr<Err: Display>>(&self, argument: &str, texts: &[String]) -> Result<Vec<T>, Failure> {
        texts.iter().map(|text| text.parse().map_err(|error| self.wrong(argument, error))).collect()
    }
}

/// Threads that serve connections: a machine with many processors is busy elsewhere before these are.
const SERVING_THREADS_MAX: usize = 24;
/// Threads for what the server itself waits for, besides those for requests.
const SPARE_THREADS: usize = 4;
const _: () = assert!(SERVING_THREADS_MAX + server::THREADS_MAX + SPARE_THREADS < 60);

fn serving_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(SERVING_THREADS_MAX)
}

/// A server that has its ports, and the runtime it will run on.
#[derive(Debug)]
pub(crate) struct Serving {
    runtime: Runtime,
    signals: Signals,
    server: Server,
    pub(crate) addresses: Addresses,
    regional: Vec<(Region, SocketAddr)>,
    internal: Option<SocketAddr>,
}

/// Why a server did not come up. A port that is taken is apart, for whoever can take another.
#[derive(Debug)]
pub(crate) enum Failed {
    Taken(SocketAddr),
    Other(Failure),
}

impl Failed {
    pub(crate) fn told(self) -> Failure {
        match self {
            Failed::Taken(address) => {
                anyhow!("cannot listen on {address}: it is in use: stop what uses it, or choose another port")
                    .into()
            }
            Failed::Other(failure) => failure,
        }
    }
}

impl<E: Into<Failure>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::Other(error.into())
    }
}

impl Serving {
    pub(crate) fn start(settings: &Settings, surroundings: &Surroundings) -> Result<Serving, Failed> {
        let store = open_store(surroundings)?;
        let access = open_accounts(surroundings)?;
        let history = History::new(surroundings.history.venues().clone());
        let clock = surroundings.clock;
        let (market, machine): (server::MarketClock, server::Clock) =
            (Arc::new(move || clock.as_of()), Arc::new(|| Clock::Machine.now()));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(serving_threads())
            .max_blocking_threads(settings.limits.threads.saturating_add(SPARE_THREADS))
            .build()
            .context("cannot start threads")
            .map_err(Failure::from)?;
        // Before anybody is told that the server is there, and may want it to stop.
        let signals = runtime.block_on(async { Signals::listen() })?;
        let bound = runtime.block_on(Server::bind(settings, store, history, access, market, machine));
        let server = bound.map_err(|error| match error {
            ServerError::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
                Failed::Taken(address)
            }
            ServerError::Listen { address, source } => {
                Failed::Other(anyhow!("cannot listen on {address}: {source}").into())
            }
            error => Failed::Other(error.into()),
        })?;
        let addresses = server.addresses().map_err(Failure::from)?;
        let regional = server.regional_addresses().map_err(Failure::from)?;
        let internal = server.internal_address().map_err(Failure::from)?;
        Ok(Serving { runtime, signals, server, addresses, regional, internal })
    }

    /// Serves until SIGINT or SIGTERM, then lets what runs come to its end. Ctrl-C from then on does not wait for that;
    /// another SIGTERM changes nothing, because those who supervise processes may send it twice.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Serving { runtime, mut signals, server, addresses, regional, internal } = self;
        let ended = runtime.block_on(async {
            tracing::info!(http = %addresses.http, tcp = %addresses.tcp, "listening");
            for (region, address) in &regional {
                tracing::info!(%region, http = %address, "listening for one region");
            }
            if let Some(address) = internal {
                tracing::info!(http = %address, "listening for those who watch");
            }
            for warning in server.warnings() {
                tracing::warn!("{warning}");
            }
            let reloader = server.reloader();
            let (stop, stopped) = tokio::sync::oneshot::channel();
            let running = server.run(async {
                // The sender is kept until it has sent.
                stopped.await.ok();
            });
            tokio::pin!(running);
            loop {
                tokio::select! {
                    () = &mut running => return Ok(()),
                    signal = signals.next() => match signal {
                        HANGUP if reloader.reload() => tracing::info!("reading the certificate anew"),
                        // A terminal that is closed takes along what was started in it; a service has none.
                        HANGUP if !io::stderr().is_terminal() => tracing::info!("there is nothing to read anew"),
                        name => {
                            tracing::info!(signal = name, "stopping");
                            break;
                        }
                    },
                }
            }
            // Nobody to tell means that nothing runs any more.
            stop.send(()).ok();
            tokio::select! {
                () = &mut running => tracing::info!("stopped"),
                () = signals.interrupt() => {
                    return Err(Failure::Interrupted("stopped at once, by a second signal".to_owned()));
                }
            }
            Ok(())
        });
        // Work that still waits for a disk keeps nobody from leaving.
        runtime.shutdown_background();
        ended
    }
}

/// The store for reading. One that is not there is not made: it would have nothing to serve.
fn open_store(surroundings: &Surroundings) -> Result<store::Store, Failure> {
    let directory = surroundings.directory()?;
    surroundings.open(store::Access::Read).map_err(|failure| match failure {
        Failure::Data(error) if matches!(error.downcast_ref(), Some(StoreError::Absent { .. })) => anyhow!(
            "there is no store at {}: import a file first (chandler import), or try `chandler demo --serve`",
            directory.display()
        )
        .into(),
        failure => failure,
    })
}

/// The accounts of a store, beside its candles. Their times are the machine's, whatever time the market has.
pub(crate) fn open_accounts(surroundings: &Surroundings) -> Result<Access, Failure> {
    let calendar = surroundings.history.venues().of(Market::Hk).calendar().clone();
    Ok(Access::open(surroundings.directory()?, Clock::Machine.now())?.with_calendar(calendar))
}

const HANGUP: &str = "SIGHUP";

#[cfg(unix)]
#[derive(Debug)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> Result<Signals, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Signals { interrupt, terminate, hangup: signal(SignalKind::hangup())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hangup.recv() => HANGUP,
        }
    }

    async fn interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}

#[cfg(not(unix))]
#[derive(Debug)]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> Result<Signals, Failure> {
        Ok(Signals)
    }

    async fn next(&mut self) -> &'static str {
        self.interrupt().await;
        "Ctrl-C"
    }

    async fn interrupt(&mut self) {
        // Where the console cannot be listened to, the process can only be ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
