//! `chandler serve`: serves the store over HTTP, WebSocket and TCP until a signal stops it.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use access::Region;
use anyhow::{Context, anyhow};
use history::History;
use serde::Serialize;
use server::{Addresses, ClockMover, Server, ServerError, Settings, SignInLinks};
use store::{Accounts, CopySettings, StoreError};
use tokio::runtime::Runtime;

use crate::clock::{Clock, ServedClock};
use crate::clock_wish::{self, WishPath};
use crate::command::mirror::{follow, through};
pub(crate) use crate::config::arguments::Arguments;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::open_accounts;
use crate::{log, machine, output};

/// Line printed to stdout once clients can connect.
#[derive(Debug, Serialize)]
struct Ready {
    event: &'static str,
    http: SocketAddr,
    tcp: SocketAddr,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    regional: Vec<ReadyRegion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    internal: Option<SocketAddr>,
    /// Whether HTTP and WebSocket use TLS.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tls: bool,
}

#[derive(Debug, Serialize)]
struct ReadyRegion {
    region: &'static str,
    http: SocketAddr,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let config = arguments.config()?;
    log::start(&config.log)?;
    let mut settings = config.settings();
    let context = &context.again().with_key_file(&config.node.key_file);
    let read_through = through::start(&config.server, settings.limits.threads, context)?;
    settings.read_through = read_through.as_ref().map(|thread| thread.read_through.clone());
    let follower = follow::create(&config.server, context)?;
    settings.following = follower.as_ref().map(|follower| follower.following.clone());
    let serving = Serving::start(&settings, context).map_err(ServeError::into_failure)?;
    let start = |follower: follow::NewFollower| follower.start(serving.server.mirror_sink(), context);
    let following = follower.map(start).transpose()?;
    let Addresses { http, tcp } = serving.addresses;
    let regional = serving.regional.iter();
    let regional =
        regional.map(|(region, http)| ReadyRegion { region: region.as_str(), http: *http }).collect();
    let (internal, tls) = (serving.internal, settings.tls.is_some());
    let ready = Ready { event: "listening", http, tcp, regional, internal, tls };
    output::announce(format!("{}\n", serde_json::to_string(&ready)?))?;
    // The link is printed only on a terminal, because a sign-in link must not end up in stored
    // output such as a service manager's log.
    if io::stderr().is_terminal() {
        tell_link(&serving.links);
    }
    let served = serving.run(Hangup::Reload);
    if let Some(thread) = read_through {
        thread.end();
    }
    if let Some(thread) = following {
        thread.end();
    }
    served
}

/// Prints a one-time sign-in link for the local user if the server offers such links. A failure is
/// logged and does not stop the server.
fn tell_link(links: &SignInLinks) {
    if !links.are_offered() {
        return;
    }
    let issued = links.local_account().and_then(|account| links.issue(account.id, "/"));
    match issued {
        Ok(Some(link)) => output::note(format_args!("{LINK_LEAD}\n\n    {}\n", link.expose())),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "cannot create a one-time link"),
    }
}

pub(crate) const LINK_LEAD: &str =
    "To sign in, open this link in a browser on this machine. It works once, within ten minutes:";
const _: () = assert!(access::SIGN_IN_LINK_LIFE_S == 600, "the line above says so");

/// Maximum number of threads that serve connections. More threads do not help, because other
/// components become the bottleneck.
const SERVING_THREADS_MAX: usize = 24;
/// Number of blocking threads in addition to the threads for requests: one per background job, and
/// a few spare threads.
const SPARE_THREADS: usize = 8;
const _: () = assert!(SERVING_THREADS_MAX + server::THREADS_MAX + SPARE_THREADS < 60);

fn serving_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(SERVING_THREADS_MAX)
}

/// Server that is bound to its ports, with its runtime.
#[derive(Debug)]
pub(crate) struct Serving {
    runtime: Runtime,
    signals: Signals,
    server: Server,
    pub(crate) links: SignInLinks,
    pub(crate) addresses: Addresses,
    regional: Vec<(Region, SocketAddr)>,
    internal: Option<SocketAddr>,
    /// Where commands of this machine ask to move a stopped clock.
    wishes: Option<WishPath>,
}

/// Reason why a server did not start. A port that is in use is a separate variant, because `demo`
/// and `open` retry with another port.
#[derive(Debug)]
pub(crate) enum ServeError {
    Taken(SocketAddr),
    Other(Failure),
}

impl ServeError {
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            ServeError::Taken(address) => {
                anyhow!("cannot listen on {address}: it is in use: stop the program that uses it, or choose another port")
                    .into()
            }
            ServeError::Other(failure) => failure,
        }
    }
}

impl<E: Into<Failure>> From<E> for ServeError {
    fn from(error: E) -> ServeError {
        ServeError::Other(error.into())
    }
}

impl Serving {
    pub(crate) fn start(settings: &Settings, context: &CommandContext) -> Result<Serving, ServeError> {
        create_if_absent(context)?;
        let store = context.open(store::Access::Read)?;
        let folder = context.work_folder(settings.node.cache.as_deref())?;
        let store = match store.dir() {
            Some(_) => store,
            None => {
                let (bytes_max, offline_window) = (settings.node.cache_size, settings.node.offline_window);
                store.with_copy(&CopySettings { dir: folder.clone(), bytes_max, offline_window })?
            }
        };
        let access = open_accounts(context)?;
        let history = History::new(context.history.venues().clone());
        // The tables are loaded at startup, so that an invalid table is reported before the first
        // order.
        let mut settings = Settings { tables: Some(context.tables()?), ..settings.clone() };
        settings.node.cache = Some(folder);
        settings.node.name = settings.node.name.or_else(machine_name);
        let settings = &settings;
        let clock = context.clock;
        let served = served_clock(clock, context);
        let notice = context.clock_notice().ok().filter(|_| served.takes_wishes());
        let wishes = notice.map(|notice| notice.wishes());
        let (market, machine): (server::MarketClock, server::Clock) =
            (Arc::new(served), Arc::new(|| Clock::Machine.now()));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(serving_threads())
            .max_blocking_threads(settings.limits.threads.saturating_add(SPARE_THREADS))
            .build()
            .context("cannot start threads")
            .map_err(Failure::from)?;
        // Signal handlers are installed before the ready line is printed, because a signal may
        // arrive as soon as the line is read.
        let signals = runtime.block_on(async { Signals::listen() })?;
        let bound = runtime.block_on(Server::bind(settings, store, history, access, market, machine));
        let server = bound.map_err(|error| match error {
            ServerError::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
                ServeError::Taken(address)
            }
            ServerError::Listen { address, source } => {
                ServeError::Other(anyhow!("cannot listen on {address}: {source}").into())
            }
            error => ServeError::Other(error.into()),
        })?;
        let links = server.sign_in_links().map_err(Failure::from)?;
        let addresses = server.addresses().map_err(Failure::from)?;
        let regional = server.regional_addresses().map_err(Failure::from)?;
        let internal = server.internal_address().map_err(Failure::from)?;
        Ok(Serving { runtime, signals, server, links, addresses, regional, internal, wishes })
    }

    /// Serves until SIGINT or SIGTERM, then waits for running requests. A second Ctrl-C ends the
    /// process immediately. A second SIGTERM is ignored, because process supervisors may send
    /// SIGTERM twice.
    pub(crate) fn run(self, hangup: Hangup) -> Result<(), Failure> {
        let Serving { runtime, mut signals, server, addresses, regional, internal, wishes, .. } = self;
        let ended = runtime.block_on(async {
            tracing::info!(http = %addresses.http, tcp = %addresses.tcp, "listening");
            for (region, address) in &regional {
                tracing::info!(%region, http = %address, "listening for one region");
            }
            if let Some(address) = internal {
                tracing::info!(http = %address, "internal listener");
            }
            for warning in server.warnings() {
                tracing::warn!("{warning}");
            }
            if let Some(wishes) = wishes {
                tokio::spawn(fulfil(wishes, server.clock_mover()));
            }
            let reloader = server.reloader();
            let (stop, stopped) = tokio::sync::oneshot::channel();
            let running = server.run(async {
                // The sender is never dropped without sending.
                stopped.await.ok();
            });
            tokio::pin!(running);
            loop {
                tokio::select! {
                    () = &mut running => return Ok(()),
                    signal = signals.next() => match signal {
                        HANGUP if hangup == Hangup::Reload && reloader.reload() => {
                            tracing::info!("reloading the certificate");
                        }
                        HANGUP if !signals.ends_on_hangup(hangup) => {
                            tracing::info!("there is no certificate to reload");
                        }
                        name => {
                            tracing::info!(signal = name, "stopping");
                            break;
                        }
                    },
                }
            }
            // `send` fails only if the server has already stopped.
            stop.send(()).ok();
            tokio::select! {
                () = &mut running => tracing::info!("stopped"),
                () = signals.interrupt() => {
                    return Err(Failure::Interrupted("stopped immediately by a second signal".to_owned()));
                }
            }
            Ok(())
        });
        // Tasks that are blocked on disk I/O do not delay the shutdown.
        runtime.shutdown_background();
        ended
    }
}

/// Moves the clock whenever a command of this machine asks for it.
async fn fulfil(wishes: WishPath, mover: ClockMover) {
    loop {
        tokio::time::sleep(clock_wish::LOOK_EVERY).await;
        let (wishes, mover) = (wishes.clone(), mover.clone());
        let served = tokio::task::spawn_blocking(move || wishes.serve(|to| mover.move_to(to))).await;
        if let Ok(Err(error)) = served {
            tracing::warn!(%error, "cannot answer a command that moves the clock");
        }
    }
}

/// A server on a separate thread, for a command that uses it. Stops when it is dropped.
#[derive(Debug)]
pub(crate) struct BackgroundServer {
    pub(crate) addresses: Addresses,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Serving {
    /// Serves until the result is dropped. Signals do not stop the server.
    pub(crate) fn in_background(self) -> Result<BackgroundServer, Failure> {
        let Serving { runtime, server, addresses, .. } = self;
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serve = move || {
            runtime.block_on(server.run(async {
                // A dropped sender stops the server too.
                stopped.await.ok();
            }));
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("server".to_owned()).spawn(serve)?;
        Ok(BackgroundServer { addresses, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for BackgroundServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error means that the thread has panicked, which was reported already.
            thread.join().ok();
        }
    }
}

/// Creates the market clock and publishes it to commands in other shells. The clock is not
/// published if there is no folder for the clock file, for example in a service.
fn served_clock(clock: Clock, context: &CommandContext) -> ServedClock {
    match context.clock_notice() {
        Ok(notice) => ServedClock::noted(clock, &notice),
        Err(_) => ServedClock::new(clock, None),
    }
}

/// Creates an empty store if none exists, and prints a note. Returns an error if accounts exist
/// without candles, because the candles must have been lost. On PostgreSQL, an older schema is
/// migrated.
pub(crate) fn create_if_absent(context: &CommandContext) -> Result<(), Failure> {
    let Err(failure) = context.open(store::Access::Read) else { return Ok(()) };
    let place = context.url()?;
    let is_absent = |error: &anyhow::Error| matches!(error.downcast_ref(), Some(StoreError::Absent { .. }));
    let is_outdated =
        |error: &anyhow::Error| matches!(error.downcast_ref(), Some(StoreError::Outdated { .. }));
    match failure {
        Failure::Data(error) if is_outdated(&error) && place.path().is_none() => {
            context.open(store::Access::Write { now: Clock::Machine.now() })?;
            output::note(format_args!("migrated the schema of {place}"));
            Ok(())
        }
        Failure::Data(error) if is_absent(&error) && !Accounts::is_there(place)? => {
            context.open(store::Access::Write { now: context.now() })?;
            output::note(format_args!(
                "created an empty store at {place}: `{}` fills it",
                context.hint("import FILES")
            ));
            Ok(())
        }
        failure => Err(failure),
    }
}

/// Returns the host name, limited to characters that are valid in a metrics label. `None` if no
/// character is left.
fn machine_name() -> Option<String> {
    let name = machine::host_name()?;
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = name.chars().filter(is_plain).take(63).collect();
    (!name.is_empty()).then_some(name)
}

const HANGUP: &str = "SIGHUP";

/// How a server reacts to SIGHUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// Reloads the certificate. A server without a certificate ends if it was started from a
    /// terminal and SIGHUP was not ignored.
    Reload,
    /// Ends the server, unless SIGHUP was ignored when the process was started.
    End,
}

/// How the process was started. This is determined before the SIGHUP handler is installed and while
/// the terminal is still open, because a closed terminal is not detected as a terminal.
#[derive(Clone, Copy, Debug)]
struct StartedFrom {
    has_terminal: bool,
    /// Whether SIGHUP was ignored, for example by `nohup`. `None` if unknown.
    ignores_hangup: Option<bool>,
}

impl StartedFrom {
    /// Determines how the process was started. The result is cached, because a second server in the
    /// same process would detect the first server's signal handler.
    fn here() -> StartedFrom {
        static HERE: OnceLock<StartedFrom> = OnceLock::new();
        *HERE.get_or_init(|| {
            let status = std::fs::read_to_string("/proc/self/status");
            let ignores_hangup = status.ok().and_then(|status| ignores_hangup(&status));
            StartedFrom { has_terminal: io::stderr().is_terminal(), ignores_hangup }
        })
    }

    fn ends_on_hangup(self, hangup: Hangup) -> bool {
        match (hangup, self.ignores_hangup) {
            (_, Some(true)) => false,
            (Hangup::End, Some(false)) => true,
            // `nohup` also redirects stderr, so with it stderr is not a terminal.
            (Hangup::End, None) | (Hangup::Reload, _) => self.has_terminal,
        }
    }
}

/// Returns whether `/proc/self/status` lists SIGHUP as ignored. SIGHUP is signal 1, the lowest bit
/// of the mask.
fn ignores_hangup(status: &str) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?.trim();
    Some(u64::from_str_radix(mask, 16).ok()? & 1 == 1)
}

#[cfg(unix)]
#[derive(Debug)]
struct Signals {
    started: StartedFrom,
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> Result<Signals, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let started = StartedFrom::here();
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Signals { started, interrupt, terminate, hangup: signal(SignalKind::hangup())? })
    }

    fn ends_on_hangup(&self, hangup: Hangup) -> bool {
        self.started.ends_on_hangup(hangup)
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
struct Signals(StartedFrom);

#[cfg(not(unix))]
impl Signals {
    fn listen() -> Result<Signals, Failure> {
        Ok(Signals(StartedFrom::here()))
    }

    fn ends_on_hangup(&self, hangup: Hangup) -> bool {
        self.0.ends_on_hangup(hangup)
    }

    async fn next(&mut self) -> &'static str {
        self.interrupt().await;
        "Ctrl-C"
    }

    async fn interrupt(&mut self) {
        // If the console handler cannot be installed, the process can only be killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_stops_on_sighup_unless_sighup_is_ignored() {
        assert_eq!(ignores_hangup("Name:\tx\nSigIgn:\t0000000000001001\n"), Some(true));
        assert_eq!(ignores_hangup("SigIgn:\t0000000000001000\n"), Some(false));
        assert_eq!(ignores_hangup("SigIgn:\tno\n"), None);
        let ends = |has_terminal, ignores_hangup| {
            let started = StartedFrom { has_terminal, ignores_hangup };
            (started.ends_on_hangup(Hangup::End), started.ends_on_hangup(Hangup::Reload))
        };
        assert_eq!(ends(true, Some(false)), (true, true));
        assert_eq!(ends(false, Some(false)), (true, false), "a service has no terminal");
        assert_eq!(ends(true, Some(true)), (false, false));
        assert_eq!((ends(true, None), ends(false, None)), ((true, true), (false, false)));
    }
}
