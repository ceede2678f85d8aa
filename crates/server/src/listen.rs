//! Where connections come from: the listeners, a bound on how many may be open, and an orderly end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::{Access, AccessError, Region};
use history::History;
use store::{Store, StoreError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::link::{self, Transport};
use crate::services::{Clock, Services};
use crate::{Settings, TrustedProxy, http};

/// How long requests that run may take to end after the signal to stop.
const DRAIN_MAX: Duration = Duration::from_secs(10);
/// A pause after the system had no more descriptors to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Where the server can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub http: SocketAddr,
    pub tcp: SocketAddr,
}

/// A server that has its ports and does not answer yet.
#[derive(Debug)]
pub struct Server {
    http: TcpListener,
    tcp: TcpListener,
    regional: Vec<(Region, TcpListener)>,
    services: Arc<Services>,
    trusted: Arc<[TrustedProxy]>,
    places: Arc<Semaphore>,
}

/// What every listener shares.
#[derive(Clone, Debug)]
struct Hall {
    services: Arc<Services>,
    shutdown: watch::Receiver<bool>,
    tasks: TaskTracker,
    trusted: Arc<[TrustedProxy]>,
    places: Arc<Semaphore>,
}

/// What a connection needs to begin: the services, the signal to end, and its place among the others.
#[derive(Clone, Debug)]
pub(crate) struct Entrance {
    pub(crate) services: Arc<Services>,
    pub(crate) shutdown: watch::Receiver<bool>,
    /// Long connections outlive the HTTP request they began with, and are waited for all the same.
    pub(crate) tasks: TaskTracker,
    pub(crate) place: Arc<OwnedSemaphorePermit>,
    /// The other end of the connection; of a request that a trusted proxy passes on, who sent it.
    pub(crate) peer: SocketAddr,
    pub(crate) trusted: Arc<[TrustedProxy]>,
    /// The region whose accounts the listener is for; none if it is for all.
    pub(crate) region: Option<Region>,
}

impl Server {
    /// Takes the ports. `market` is the market's clock and the quota's, `machine` that of signatures and sessions.
    pub async fn bind(
        settings: &Settings,
        store: Store,
        history: History,
        access: Access,
        market: Clock,
        machine: Clock,
    ) -> Result<Server, ServerError> {
        let bind = async |address: SocketAddr| {
            TcpListener::bind(address).await.map_err(|source| ServerError::Listen { address, source })
        };
        let (http, tcp) = (bind(settings.listen).await?, bind(settings.tcp).await?);
        let mut regional = Vec::with_capacity(settings.regional.len());
        for (region, address) in &settings.regional {
            regional.push((*region, bind(*address).await?));
        }
        let mut services = Services::new(store, history, access, settings.cache_bytes, market, machine);
        services.serves_all_at = http.local_addr().unwrap_or(settings.listen);
        services.public_url.clone_from(&settings.public_url);
        let places = Arc::new(Semaphore::new(settings.connections_max));
        let trusted = settings.trusted_proxies.as_slice().into();
        Ok(Server { http, tcp, regional, services: Arc::new(services), trusted, places })
    }

    pub fn addresses(&self) -> io::Result<Addresses> {
        Ok(Addresses { http: self.http.local_addr()?, tcp: self.tcp.local_addr()? })
    }

    /// Where the listeners of single regions are, in the order of the settings.
    pub fn regional_addresses(&self) -> io::Result<Vec<(Region, SocketAddr)>> {
        self.regional.iter().map(|(region, listener)| Ok((*region, listener.local_addr()?))).collect()
    }

    /// Serves until `stop` is done, then lets what runs come to its end, at most ten seconds.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Server { http, tcp, regional, services, trusted, places } = self;
        let (end, shutdown) = watch::channel(false);
        let tasks = TaskTracker::new();
        let hall = Hall { services, shutdown, tasks: tasks.clone(), trusted, places };
        let mut doors = JoinSet::new();
        doors.spawn(hall.clone().accept_http(http, None));
        for (region, listener) in regional {
            doors.spawn(hall.clone().accept_http(listener, Some(region)));
        }
        doors.spawn(hall.accept_tcp(tcp));
        tokio::select! {
            // A door ends with a panic or not at all.
            _ = doors.join_next() => tracing::error!("a listener has ended"),
            () = stop => {}
        }
        doors.shutdown().await;
        // Nobody listening means that nobody has to be told.
        end.send(true).ok();
        tasks.close();
        if timeout(DRAIN_MAX, tasks.wait()).await.is_err() {
            tracing::warn!(connections = tasks.len(), "some connections did not end in time");
        }
    }
}

impl Hall {
    async fn accept_http(self, listener: TcpListener, region: Option<Region>) {
        loop {
            let (stream, peer, place) = accept(&listener, &self.places).await;
            self.tasks.spawn(http::serve(stream, self.enter(peer, place, region)));
        }
    }

    async fn accept_tcp(self, listener: TcpListener) {
        loop {
            let (stream, peer, place) = accept(&listener, &self.places).await;
            let Entrance { services, shutdown, place, region, .. } = self.enter(peer, place, None);
            self.tasks.spawn(async move {
                let from = link::Arrival { address: peer, region };
                let (transport, opening) = (Transport::tcp(), link::Opening::Tcp);
                link::serve(stream, transport, from, opening, services, shutdown).await;
                drop(place);
            });
        }
    }

    fn enter(&self, peer: SocketAddr, place: OwnedSemaphorePermit, region: Option<Region>) -> Entrance {
        Entrance {
            services: self.services.clone(),
            shutdown: self.shutdown.clone(),
            tasks: self.tasks.clone(),
            place: Arc::new(place),
            peer,
            trusted: self.trusted.clone(),
            region,
        }
    }
}

/// The next connection, once there is a place for it: the rest waits in the system's queue.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return std::future::pending().await };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // An answer is one write; waiting for more to say would only delay it.
                stream.set_nodelay(true).ok();
                return (stream, peer, place);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
