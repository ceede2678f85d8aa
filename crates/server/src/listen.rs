//! The listeners, which accept connections, limit the number of open connections, and shut down
//! gracefully.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::{Access, AccessError, Region};
use history::History;
use history::ingest::IngestError;
use market::Timestamp;
use store::{Store, StoreError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::accepted::{Accepted, ConnectionCount};
use crate::connection_limits::{ConnectionLimits, UnauthenticatedLimits, UnauthenticatedSlot};
use crate::core::{Clock, Core};
use crate::jobs::{self, Job, Runner};
use crate::kit::{CONNECTIONS_EACH, ListenerKind, Listening, Site};
use crate::link::{self, Hub, Transport};
use crate::links::Links;
use crate::local::SignInLinks;
use crate::market_clock::MarketClock;
use crate::metrics::Connection;
use crate::mirror_sink::MirrorSink;
use crate::proxies::TrustedProxy;
use crate::settings::Settings;
use crate::tls::{Tls, TlsError};
use crate::{http, intake, world_changes};

/// Time limit for running requests after the shutdown signal.
const DRAIN_MAX: Duration = Duration::from_secs(10);
/// Pause after a failed accept, for example when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of connections to the internal listener. They have a separate limit, so that a
/// server without free connection slots can still be monitored.
const WATCHERS_MAX: usize = 64;
/// Divisor of the connection limit that gives the maximum number of HTTP connections of one
/// account.
const EACH_OF_ALL: usize = 4;
/// Lower bound for the maximum number of HTTP connections of one account.
const EACH_MIN: usize = 8;
/// Maximum number of unsent bytes that the operating system buffers per connection. Further bytes
/// wait in this process, where they are charged to their account or address.
#[cfg(target_os = "linux")]
const UNSENT_BY_SYSTEM_MAX: u32 = 128 << 10;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot speak TLS: {0}")]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Addresses of the server's main listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub http: SocketAddr,
    pub tcp: SocketAddr,
}

/// A server that is bound to its ports but not yet serving.
#[derive(Debug)]
pub struct Server {
    http: TcpListener,
    tcp: TcpListener,
    regional: Vec<(Region, TcpListener)>,
    internal: Option<TcpListener>,
    site: Arc<Site>,
    hub: Arc<Hub>,
    trusted: Arc<[TrustedProxy]>,
    places: Arc<Semaphore>,
    jobs: Vec<Job>,
}

/// Handle that triggers a certificate reload.
#[derive(Clone, Debug)]
pub struct Reloader(Option<Arc<Tls>>);

impl Reloader {
    /// Reloads the certificate. Returns false if the server has no certificate. Open connections
    /// continue with the old certificate.
    pub fn reload(&self) -> bool {
        self.0.as_ref().map(|tls| tls.reload()).is_some()
    }
}

/// Handle that moves a stopped market clock.
#[derive(Clone, Debug)]
pub struct ClockMover(Arc<Site>);

impl ClockMover {
    /// Moves the clock forward, and returns when all pushes of the movement are queued. The error
    /// is the reason, as in the response of the endpoint.
    pub fn move_to(&self, to: Timestamp) -> Result<(), String> {
        http::move_clock(&self.0.core, to)
    }
}

/// Shared state of all listeners.
#[derive(Clone, Debug)]
struct ListenerContext {
    site: Arc<Site>,
    hub: Arc<Hub>,
    shutdown: watch::Receiver<bool>,
    tasks: TaskTracker,
    trusted: Arc<[TrustedProxy]>,
    places: Arc<Semaphore>,
}

impl Server {
    /// Binds the ports. `market` is the clock for market data and quotas, `machine` the clock for
    /// signatures and sessions.
    pub async fn bind(
        settings: &Settings,
        store: Store,
        history: History,
        access: Access,
        market: MarketClock,
        machine: Clock,
    ) -> Result<Server, ServerError> {
        let tls = settings.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
        let bind = async |address: SocketAddr| {
            TcpListener::bind(address).await.map_err(|source| ServerError::Listen { address, source })
        };
        let (http, tcp) = (bind(settings.listen).await?, bind(settings.tcp).await?);
        let mut regional = Vec::with_capacity(settings.regional.len());
        for (region, address) in &settings.regional {
            regional.push((*region, bind(*address).await?));
        }
        let internal = match settings.internal {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let access = access
            .with_pkce(settings.pkce)
            .with_levels_from(settings.levels_from)
            .with_grace(settings.node.offline_window);
        access.follow()?;
        let server_lock = store.server_lock()?;
        let history = history.with_running_trades(settings.running_trades);
        let core = Core::new(store, history, access, settings.cache_bytes, market, machine);
        let mut core = core.with_limits(settings.limits);
        if let Some(folder) = &settings.node.cache {
            core = core.with_folder(folder);
        }
        if let Some(tables) = &settings.tables {
            core = core.with_tables(tables.clone());
        }
        let serves_all_at = http.local_addr().unwrap_or(settings.listen);
        let public = settings.public_url.as_ref().map(|url| url.as_str().to_owned());
        core.serves_all_at = public.unwrap_or_else(|| serves_all_at.to_string());
        core.node_name = settings.node.name.clone().unwrap_or_else(|| serves_all_at.to_string());
        core.server_lock = Some(server_lock);
        core.floors = settings.floors;
        core.class_shares = settings.class_shares();
        core.intake.limit = intake::limit(settings.upload_bytes);
        core.worlds.most = settings.worlds_max;
        core.worlds.running_max = settings.worlds_running;
        core.worlds.writes_later = true;
        core.read_through.clone_from(&settings.read_through);
        core.following.clone_from(&settings.following);
        core.ingest.grace_s = i64::from(settings.ingest_grace_seconds);
        let (core, links) = (Arc::new(core), Links::new(settings.limits.push_queue));
        let mut site = Site::new(core.clone(), links.clone());
        site.public_url.clone_from(&settings.public_url);
        site.connections_max = settings.connections_max;
        site.statement_link_s = settings.statement_link_seconds;
        site.statement_font.clone_from(&settings.statement_font);
        site.unauthenticated =
            UnauthenticatedLimits::new(settings.limits.unproven_connections, settings.connections_max);
        let each_max = (settings.connections_max / EACH_OF_ALL).max(EACH_MIN);
        site.http_slots = ConnectionLimits::new(CONNECTIONS_EACH.min(each_max), 0);
        site.exposure = settings.exposure();
        site.is_simulated = settings.is_simulated;
        site.guest = settings.guest.filter(|_| settings.trusted_proxies.is_empty());
        // A public URL without TLS and without a trusted proxy implies an unknown proxy, whose
        // requests cannot be recognized.
        let is_hidden = settings.public_url.is_some() && settings.trusted_proxies.is_empty() && tls.is_none();
        // With an internal listener for metrics, requests to the public listeners need not be
        // treated as local.
        site.nobody_is_local = is_hidden || settings.internal.is_some();
        site.has_sign_in_links = settings.is_for_this_machine();
        let (is_tls, jobs) = (tls.is_some(), jobs::of_server(&core, &links, tls.as_ref(), settings));
        site.tls = tls;
        let mut listeners = vec![("http", &http, None, is_tls), ("tcp", &tcp, None, false)];
        listeners.extend(regional.iter().map(|(region, listener)| ("http", listener, Some(*region), is_tls)));
        listeners.extend(internal.iter().map(|listener| ("internal", listener, None, false)));
        let listening = listeners.into_iter().filter_map(|(kind, listener, region, is_tls)| {
            Some(Listening { kind, address: listener.local_addr().ok()?, region, is_tls })
        });
        site.listeners = listening.collect();
        let places = Arc::new(Semaphore::new(settings.connections_max));
        let trusted = settings.trusted_proxies.as_slice().into();
        join(&core).await?;
        merge_ingested(&core).await;
        let hub = Arc::new(Hub::new(core, links));
        Ok(Server { http, tcp, regional, internal, site: Arc::new(site), hub, trusted, places, jobs })
    }

    /// Returns a handle to reload the certificate while the server runs.
    pub fn reloader(&self) -> Reloader {
        Reloader(self.site.tls.clone())
    }

    /// Returns a handle to move a stopped market clock while the server runs.
    pub fn clock_mover(&self) -> ClockMover {
        ClockMover(self.site.clone())
    }

    /// Returns a handle to issue one-time links while the server runs.
    pub fn sign_in_links(&self) -> io::Result<SignInLinks> {
        Ok(SignInLinks::new(self.site.clone(), self.http.local_addr()?))
    }

    /// Returns the ingest of this server, for a thread that follows the source of a mirror.
    pub fn mirror_sink(&self) -> MirrorSink {
        MirrorSink(self.site.core.clone())
    }

    /// Returns warnings for the operator.
    pub fn warnings(&self) -> Vec<String> {
        crate::facts::warnings(&self.site)
    }

    /// Returns the address of the internal listener, if there is one.
    pub fn internal_address(&self) -> io::Result<Option<SocketAddr>> {
        self.internal.as_ref().map(TcpListener::local_addr).transpose()
    }

    pub fn addresses(&self) -> io::Result<Addresses> {
        Ok(Addresses { http: self.http.local_addr()?, tcp: self.tcp.local_addr()? })
    }

    /// Returns the regional listeners, in settings order.
    pub fn regional_addresses(&self) -> io::Result<Vec<(Region, SocketAddr)>> {
        self.regional.iter().map(|(region, listener)| Ok((*region, listener.local_addr()?))).collect()
    }

    /// Serves until `stop` completes, then waits at most ten seconds for running requests. The
    /// internal listener answers until the end.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Server { http, tcp, regional, internal, site, hub, trusted, places, jobs } = self;
        let (end, shutdown) = watch::channel(false);
        let tasks = TaskTracker::new();
        let context =
            ListenerContext { site: site.clone(), hub, shutdown, tasks: tasks.clone(), trusted, places };
        // The internal listener is stopped after the last connection has ended; the other listeners
        // are stopped before.
        let (mut watchers, mut listeners) = (JoinSet::new(), JoinSet::new());
        // Connections to the internal listener ignore the shutdown signal, so that monitoring can
        // observe the shutdown.
        let (_stays_open, never) = watch::channel(false);
        if let Some(listener) = internal {
            watchers.spawn(ListenerContext { shutdown: never, ..context.clone() }.accept_watchers(listener));
        }
        let jobs = Runner::start(&site.core, jobs);
        listeners.spawn(context.clone().accept_http(http, None));
        for (region, listener) in regional {
            listeners.spawn(context.clone().accept_http(listener, Some(region)));
        }
        listeners.spawn(context.accept_tcp(tcp));
        tokio::select! {
            // A listener ends only if it panics.
            _ = listeners.join_next() => tracing::error!("a listener task ended"),
            () = stop => {}
        }
        site.core.stop();
        jobs.stop().await;
        listeners.shutdown().await;
        // An error means that no connection is left to notify.
        end.send(true).ok();
        tasks.close();
        if timeout(DRAIN_MAX, tasks.wait()).await.is_err() {
            tracing::warn!(connections = tasks.len(), "some connections did not close in time");
        }
        if timeout(DRAIN_MAX, site.core.intake.idle()).await.is_err() {
            tracing::warn!("an import did not end in time: importing the file again resumes it");
        }
        store_worlds(&site.core).await;
        leave(&site.core).await;
        watchers.shutdown().await;
    }
}

impl ListenerContext {
    async fn accept_http(self, listener: TcpListener, region: Option<Region>) {
        loop {
            let (stream, peer, place) = accept(&listener, &self.places).await;
            let mut accepted = self.enter(peer, place, region);
            accepted.reached = stream.local_addr().unwrap_or(accepted.reached);
            match self.site.tls.clone() {
                None => self.tasks.spawn(async move {
                    if let Some(accepted) = accepted.with_unauthenticated_slot().await {
                        http::serve(stream, accepted).await;
                    }
                }),
                Some(tls) => self.tasks.spawn(async move {
                    let Some(accepted) = accepted.with_unauthenticated_slot().await else { return };
                    let shaking = ConnectionCount::new(&accepted.site.core, Connection::Handshake);
                    let stream = tls.greet(stream, &accepted.site.core.metrics).await;
                    drop(shaking);
                    if let Some(stream) = stream {
                        // The future is boxed, so that the task does not keep the size of the
                        // handshake future.
                        Box::pin(http::serve(stream, accepted)).await;
                    }
                }),
            };
        }
    }

    /// Accepts connections to the internal listener. Its connections are dropped with this future,
    /// without a graceful shutdown.
    async fn accept_watchers(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(WATCHERS_MAX));
        let mut connections = JoinSet::new();
        loop {
            let (stream, peer, place) = accept(&listener, &places).await;
            // Finished connections are removed, so that the set never exceeds the number of slots.
            while connections.try_join_next().is_some() {}
            let accepted =
                Accepted { listener_kind: ListenerKind::Internal, ..self.enter(peer, place, None) };
            connections.spawn(http::serve(stream, accepted));
        }
    }

    async fn accept_tcp(self, listener: TcpListener) {
        loop {
            let (stream, peer, place) = accept(&listener, &self.places).await;
            let accepted = self.enter(peer, place, None);
            self.tasks.spawn(async move {
                let Some(accepted) = accepted.with_unauthenticated_slot().await else { return };
                let Accepted { hub, shutdown, place, region, unauthenticated, .. } = accepted;
                // Of the SDKs, only Go's supports raw TCP.
                let from =
                    link::Arrival { address: peer, region, program: link::Program::GoSdk, unauthenticated };
                let (transport, opening) = (Transport::tcp(), link::Opening::Tcp);
                link::serve(stream, transport, from, opening, hub, shutdown).await;
                drop(place);
            });
        }
    }

    fn enter(&self, peer: SocketAddr, place: OwnedSemaphorePermit, region: Option<Region>) -> Accepted {
        Accepted {
            site: self.site.clone(),
            hub: self.hub.clone(),
            shutdown: self.shutdown.clone(),
            tasks: self.tasks.clone(),
            place: Arc::new(place),
            unauthenticated: UnauthenticatedSlot::default(),
            reached: peer,
            peer,
            trusted: self.trusted.clone(),
            region,
            listener_kind: ListenerKind::Public,
        }
    }
}

/// Registers this node with the other nodes before it serves, if the database is shared. Returns an
/// error if the heartbeat cannot be written, in which case the node does not start.
async fn join(core: &Arc<Core>) -> Result<(), access::AccessError> {
    if core.access.is_shared() {
        let core = core.clone();
        let heartbeat = move || core.access.heartbeat(&core.node_name, &[], core.uptime()).map(drop);
        // The panic hook has already logged a panic.
        return tokio::task::spawn_blocking(heartbeat).await.unwrap_or(Ok(()));
    }
    Ok(())
}

/// Merges batches that were acknowledged before the previous server ended, so that responses
/// include their rows from the first request on.
async fn merge_ingested(core: &Arc<Core>) {
    let core = core.clone();
    let merged = tokio::task::spawn_blocking(move || {
        let now = core.machine_now();
        core.with_reader(|reader| {
            while core.ingest.merge(reader, now)?.has_more {}
            Ok::<(), IngestError>(())
        })
    });
    if let Ok(Err(error)) = merged.await {
        tracing::warn!(%error, "cannot merge ingested batches yet");
    }
}

/// Unregisters this node and its connections.
async fn leave(core: &Arc<Core>) {
    if core.access.is_shared() {
        let core = core.clone();
        let left = tokio::task::spawn_blocking(move || core.access.leave_nodes()).await;
        if let Ok(Err(error)) = left {
            tracing::warn!(%error, "cannot unregister this node: other nodes drop it after a timeout");
        }
    }
}

/// Pauses running worlds at the current instants of their clocks, and stores the steps that the job
/// has not stored yet.
async fn store_worlds(core: &Arc<Core>) {
    let core = core.clone();
    let stored = tokio::task::spawn_blocking(move || {
        world_changes::pause_all(&core);
        core.worlds.write_all(&core.access.database()).map(drop)
    });
    let stored = stored.await;
    if let Ok(Err(error)) = stored {
        tracing::error!(%error, "cannot store the last steps of worlds");
    }
}

/// Accepts the next connection and waits for a free slot; further clients wait in the system's
/// queue. The slot is acquired after the accept, so that an idle listener holds no slot. Dropping
/// this future may drop an accepted connection.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Ok(place) = places.clone().acquire_owned().await else {
                    return std::future::pending().await;
                };
                // A response is sent in one write, so Nagle's algorithm would only delay it.
                stream.set_nodelay(true).ok();
                bound_unsent(&stream);
                return (stream, peer, place);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn bound_unsent(stream: &TcpStream) {
    // If the option cannot be set, the system buffers more, which is no reason to refuse the
    // client.
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BY_SYSTEM_MAX).ok();
}

/// Does nothing, because other systems do not have this socket option.
#[cfg(not(target_os = "linux"))]
fn bound_unsent(_: &TcpStream) {}
