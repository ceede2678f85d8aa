//! Where connections come from: two listeners, a bound on how many may be open, and an orderly end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::{Access, AccessError};
use history::History;
use store::{Store, StoreError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::link::{self, Transport};
use crate::services::{Clock, Services};
use crate::{Settings, http};

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
    services: Arc<Services>,
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
        let services = Services::new(store, history, access, settings.cache_bytes, market, machine);
        let places = Arc::new(Semaphore::new(settings.connections_max));
        Ok(Server { http, tcp, services: Arc::new(services), places })
    }

    pub fn addresses(&self) -> io::Result<Addresses> {
        Ok(Addresses { http: self.http.local_addr()?, tcp: self.tcp.local_addr()? })
    }

    /// Serves until `stop` is done, then lets what runs come to its end, at most ten seconds.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Server { http, tcp, services, places } = self;
        let (end, shutdown) = watch::channel(false);
        let tasks = TaskTracker::new();
        let enter = |place: OwnedSemaphorePermit| Entrance {
            services: services.clone(),
            shutdown: shutdown.clone(),
            tasks: tasks.clone(),
            place: Arc::new(place),
        };
        let accept_http = async {
            loop {
                let (stream, place) = accept(&http, &places).await;
                tasks.spawn(http::serve(stream, enter(place)));
            }
        };
        let accept_tcp = async {
            loop {
                let (stream, place) = accept(&tcp, &places).await;
                let Entrance { services, shutdown, place, .. } = enter(place);
                tasks.spawn(async move {
                    link::serve(stream, Transport::tcp(), link::Opening::Tcp, services, shutdown).await;
                    drop(place);
                });
            }
        };
        tokio::select! {
            () = accept_http => {}
            () = accept_tcp => {}
            () = stop => {}
        }
        drop((http, tcp));
        // Nobody listening means that nobody has to be told.
        end.send(true).ok();
        tasks.close();
        if timeout(DRAIN_MAX, tasks.wait()).await.is_err() {
            tracing::warn!(connections = tasks.len(), "some connections did not end in time");
        }
    }
}

/// The next connection, once there is a place for it: the rest waits in the system's queue.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return std::future::pending().await };
        match listener.accept().await {
            Ok((stream, _)) => {
                // An answer is one write; waiting for more to say would only delay it.
                stream.set_nodelay(true).ok();
                return (stream, place);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
