//! Test fixture for links: a core over an empty directory, and the client's end of a connection.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use access::{Access, Actor, Created, Grant, NewAccount, NewClient, PresentedClient, Terms};
use history::{History, import};
use market::{Grain, Timestamp, Venues};
use prost::Message;
use store::Store;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;
use tokio::time::timeout;
use wire::{Limits, Packet, Status, control};

use super::{Hub, Opening, Program, Transport, serve};
use crate::core::Core;
use crate::links::Links;
use crate::mailbox::Mailbox;
use crate::market_clock::MarketClock;

pub(super) const NOW: Timestamp = Timestamp(1_794_708_000);

pub(super) struct House {
    _dir: tempfile::TempDir,
    pub(super) core: Arc<Core>,
    pub(super) hub: Arc<Hub>,
    shutdown: watch::Sender<bool>,
}

impl House {
    pub(super) fn new() -> House {
        House::with("")
    }

    /// Creates a fixture with daily candles of one security. A response with a thousand candles has
    /// about sixty kilobytes.
    pub(super) fn with_days() -> House {
        let venues = Venues::built_in().unwrap();
        let (first, last) = ("2020-01-01".parse().unwrap(), "2026-11-13".parse().unwrap());
        let days = venues.of(market::Market::Hk).calendar().days(first, last);
        let rows = days.map(|(date, _)| format!("700.HK,{date},123.4,125,122.2,123.5,1000000,123456789\n"));
        House::with(&rows.collect::<String>())
    }

    pub(super) fn with(rows: &str) -> House {
        House::with_files(&[(Grain::Day, rows)])
    }

    /// Creates a fixture with candles of these periods.
    pub(super) fn with_files(files: &[(Grain, &str)]) -> House {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
        for (period, rows) in files.iter().filter(|(_, rows)| !rows.is_empty()) {
            let text = format!("symbol,time,open,high,low,close,volume,turnover\n{rows}");
            import_text(&store, dir.path(), Some(*period), &text);
        }
        drop(store);
        let core = Arc::new(core(dir.path(), live()));
        House { _dir: dir, hub: hub(&core), core, shutdown: watch::channel(false).0 }
    }

    /// Imports a file with a header.
    pub(super) fn import(&self, text: &str) {
        import_text(&self.writable(), self._dir.path(), None, text);
    }

    /// Imports a file with a header. Call before the first connection.
    pub(super) fn with_file(self, text: &str) -> House {
        self.import(text);
        self
    }

    pub(super) fn writable(&self) -> Store {
        Store::open(self._dir.path(), store::Access::Write { now: NOW }).unwrap()
    }

    /// Replaces the limits. Call before the first connection.
    pub(super) fn with_limits(self, limits: crate::settings::Limits) -> House {
        let core = Arc::new(core(self._dir.path(), live()).with_limits(limits));
        House { hub: hub(&core), core, ..self }
    }

    /// Replaces the market clock and the limits. Call before the first connection.
    pub(super) fn under_with(self, market: MarketClock, limits: crate::settings::Limits) -> House {
        let core = Arc::new(core(self._dir.path(), market).with_limits(limits));
        House { hub: hub(&core), core, ..self }
    }

    /// Replaces the market clock. Call before the first connection.
    pub(super) fn under(self, market: MarketClock) -> House {
        let core = Arc::new(core(self._dir.path(), market));
        House { hub: hub(&core), core, ..self }
    }

    pub(super) fn account(&self, name: &str, connections: u32) -> Created {
        self.account_of(name, Terms { connections, ..Terms::default() })
    }

    pub(super) fn account_of(&self, name: &str, terms: Terms) -> Created {
        let new = NewAccount::named(name, terms);
        self.core.access.create(&new, &Actor::Operator, NOW).unwrap()
    }

    pub(super) fn otp(&self, account: &Created) -> String {
        let caller = self.identify(account);
        self.core.access.issue_otp(&caller, self.core.uptime()).unwrap().expose().to_owned()
    }

    /// Returns the caller of an HTTP request of an account.
    pub(super) fn identify(&self, account: &Created) -> access::Caller {
        self.identify_bearer(account.access_token.expose())
    }

    /// Returns the caller of an HTTP request with this access token.
    pub(super) fn identify_bearer(&self, token: &str) -> access::Caller {
        let bearer = format!("Bearer {token}");
        let header = |name: &str| (name == "authorization").then_some(bearer.as_str());
        let request = access::SignedRequest {
            method: "GET",
            path: "/v1/socket/token",
            raw_query: "",
            header: &header,
            body: b"",
        };
        self.core.access.identify(&request, NOW).unwrap()
    }

    /// Signs a program in to an account with OAuth, and returns the caller of its requests. Each
    /// program needs a separate address, because registrations are limited by address.
    pub(super) fn oauth(&self, account: &Created, address: [u8; 4]) -> access::Caller {
        let (access, moment) = (&self.core.access, access::Moment { now: NOW, uptime: self.core.uptime() });
        let back = "http://127.0.0.1:60355/callback".to_owned();
        let new = NewClient { redirect_uris: vec![back], ..NewClient::default() };
        let client = access.register_client(&new, IpAddr::from(address), moment).unwrap().client;
        let query = format!("response_type=code&client_id={}", client.id);
        let request = access.check_authorization(&query).unwrap();
        let back = access.approve_authorization(&request, account.account_id, NOW).unwrap();
        let code = back.split_once("code=").unwrap().1.split('&').next().unwrap();
        let grant = Grant::Code { code, redirect_uri: None, verifier: None };
        let client = PresentedClient { id: &client.id, secret: None };
        let tokens = access.redeem(&client, &grant, None, moment).unwrap();
        self.identify_bearer(tokens.access_token.expose())
    }

    /// Returns the mailbox of an account's only connection.
    pub(super) fn mailbox(&self, account: &Created) -> Mailbox {
        let connection = self.hub.links.list(Some(account.account_id)).pop();
        let id = connection.expect("the account is signed in").id;
        self.hub.links.mailbox(id).expect("the connection is open")
    }

    /// Sends the shutdown signal.
    pub(super) fn stop(&self) {
        self.shutdown.send_replace(true);
    }

    pub(super) fn connect(&self, kind: Kind) -> Far {
        self.connect_narrow(kind, 1 << 20)
    }

    /// Opens a connection with a pipe that buffers `bytes` bytes.
    pub(super) fn connect_narrow(&self, kind: Kind, bytes: usize) -> Far {
        self.connect_with(kind, bytes, None, Program::Other)
    }

    /// Opens a connection of this program.
    pub(super) fn connect_of(&self, kind: Kind, program: Program) -> Far {
        self.connect_with(kind, 1 << 20, None, program)
    }

    /// Opens a connection to a listener of one region.
    pub(super) fn connect_at(&self, kind: Kind, region: Option<access::Region>) -> Far {
        self.connect_with(kind, 1 << 20, region, Program::Other)
    }

    fn connect_with(
        &self,
        kind: Kind,
        bytes: usize,
        region: Option<access::Region>,
        program: Program,
    ) -> Far {
        let (near, far) = tokio::io::duplex(bytes);
        let (transport, early) = match kind {
            Kind::WebSocket => (Transport::websocket(), bytes::Bytes::new()),
            Kind::Tcp => (Transport::tcp(), bytes::Bytes::from_static(&wire::HANDSHAKE)),
        };
        let opening = Opening::Upgraded { gateway: super::GatewayKind::Mixed, early };
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 53_124));
        let unauthenticated = crate::connection_limits::UnauthenticatedSlot::default();
        let from = super::Arrival { address, region, program, unauthenticated };
        tokio::spawn(serve(near, transport, from, opening, self.hub.clone(), self.shutdown.subscribe()));
        Far::new(far, kind)
    }

    pub(super) async fn signed_in(&self, kind: Kind, account: &Created) -> (Far, control::AuthResponse) {
        let mut far = self.connect(kind);
        let answer = far.auth(&self.otp(account)).await.unwrap();
        (far, answer)
    }
}

fn import_text(store: &Store, dir: &Path, period: Option<Grain>, text: &str) {
    let path = dir.join(format!("{period:?}.csv"));
    std::fs::write(&path, text).unwrap();
    let read = files::ReadOptions { period, ..Default::default() };
    let context = import::Context {
        store,
        venues: &Venues::built_in().unwrap(),
        options: &import::Options { read, ..Default::default() },
        now: &|| NOW,
        stop: &false.into(),
        progress: &import::Progress::default(),
    };
    import::import(&context, &[path]).unwrap();
}

fn hub(core: &Arc<Core>) -> Arc<Hub> {
    Arc::new(Hub::new(core.clone(), Links::new(core.limits.push_queue)))
}

fn live() -> MarketClock {
    Arc::new(|| history::AsOf::Live(NOW))
}

fn core(dir: &Path, market: MarketClock) -> Core {
    let store = Store::open(dir, store::Access::Read).unwrap();
    let access = Access::open(dir, NOW).unwrap();
    let history = History::new(Venues::built_in().unwrap());
    Core::new(store, history, access, 16 << 20, market, Arc::new(|| NOW))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    WebSocket,
    Tcp,
}

pub(super) const BOTH: [Kind; 2] = [Kind::WebSocket, Kind::Tcp];

/// The client's end of a connection, or one half of it.
pub(super) struct Far<S = DuplexStream> {
    pub(super) stream: S,
    kind: Kind,
}

#[derive(Debug, PartialEq)]
pub(super) enum Seen {
    Packet(Packet<'static>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(u16),
    End,
}

pub(super) type Refused = (Status, u64);

impl<S> Far<S> {
    pub(super) fn new(stream: S, kind: Kind) -> Far<S> {
        Far { stream, kind }
    }
}

impl<S: AsyncWrite + Unpin> Far<S> {
    pub(super) async fn frame(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = vec![first];
        match payload.len() {
            length @ ..126 => bytes.push(0x80 | length as u8),
            length => {
                bytes.push(0x80 | 126);
                bytes.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
            }
        }
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(payload);
        self.stream.write_all(&bytes).await.unwrap();
    }

    pub(super) async fn send(&mut self, packet: Packet<'_>) {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes).unwrap();
        match self.kind {
            Kind::WebSocket => self.frame(0x82, &bytes).await,
            Kind::Tcp => self.stream.write_all(&bytes).await.unwrap(),
        }
    }

    pub(super) async fn request(&mut self, command: u8, id: u32, body: Vec<u8>) {
        self.send(Packet::Request { command, id, timeout_ms: 0, body: body.into() }).await;
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Far<S> {
    pub(super) async fn ask<R: Message + Default>(
        &mut self,
        command: u8,
        body: &impl Message,
    ) -> Result<R, Refused> {
        self.request(command, 7, body.encode_to_vec()).await;
        // A slow test may last until the next ping.
        let mut seen = self.see().await;
        while let Seen::Ping(_) = seen {
            seen = self.see().await;
        }
        match seen {
            Seen::Packet(Packet::Response { id: 7, status: Status::Success, body, .. }) => {
                Ok(R::decode(&*body).unwrap())
            }
            Seen::Packet(Packet::Response { id: 7, status, body, .. }) => {
                let error = control::Error::decode(&*body).unwrap();
                assert!(!error.msg.is_empty());
                Err((status, error.code))
            }
            other => panic!("{other:?} instead of an answer"),
        }
    }

    /// Sends a request that must be refused, and returns the refusal with its text.
    pub(super) async fn refused(&mut self, command: u8, body: &impl Message) -> (Status, u64, String) {
        self.request(command, 8, body.encode_to_vec()).await;
        match self.see().await {
            Seen::Packet(Packet::Response { id: 8, status, body, .. }) if status != Status::Success => {
                let error = control::Error::decode(&*body).unwrap();
                (status, error.code, error.msg)
            }
            other => panic!("{other:?} instead of a refusal"),
        }
    }

    pub(super) async fn auth(&mut self, otp: &str) -> Result<control::AuthResponse, Refused> {
        let metadata = [("accept-language".to_owned(), "en".to_owned())].into();
        self.ask(2, &control::AuthRequest { token: otp.to_owned(), metadata }).await
    }

    pub(super) async fn reconnect(&mut self, session_id: &str) -> Result<control::AuthResponse, Refused> {
        let request =
            control::ReconnectRequest { session_id: session_id.to_owned(), metadata: Default::default() };
        self.ask(3, &request).await
    }
}

impl<S: AsyncRead + Unpin> Far<S> {
    pub(super) async fn see(&mut self) -> Seen {
        timeout(Duration::from_secs(1000), self.see_now()).await.expect("something within a thousand seconds")
    }

    pub(super) async fn see_now(&mut self) -> Seen {
        let Ok(first) = self.stream.read_u8().await else { return Seen::End };
        if self.kind == Kind::Tcp {
            let header = [0, 11, 10, 5][usize::from(first & 3)];
            let mut bytes = vec![first; header];
            self.stream.read_exact(&mut bytes[1..]).await.unwrap();
            let length = u32::from_be_bytes([0, bytes[header - 3], bytes[header - 2], bytes[header - 1]]);
            bytes.resize(header + length as usize, 0);
            self.stream.read_exact(&mut bytes[header..]).await.unwrap();
            return Seen::Packet(Packet::decode(&bytes, Limits::HIGHEST).unwrap().into_owned());
        }
        let length = match self.stream.read_u8().await.unwrap() {
            126 => usize::from(self.stream.read_u16().await.unwrap()),
            127 => usize::try_from(self.stream.read_u64().await.unwrap()).unwrap(),
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await.unwrap();
        match first {
            0x82 => Seen::Packet(Packet::decode(&payload, Limits::HIGHEST).unwrap().into_owned()),
            0x88 => Seen::Close(u16::from_be_bytes([payload[0], payload[1]])),
            0x89 => Seen::Ping(payload),
            0x8a => Seen::Pong(payload),
            other => panic!("a frame that begins with {other:#04x}"),
        }
    }

    /// Reads until the connection is closed, ignoring pings. Returns the codes of the close push
    /// and of the WebSocket close frame.
    pub(super) async fn closed(&mut self) -> (i32, Option<u16>) {
        let push = loop {
            match self.see().await {
                Seen::Ping(_) | Seen::Packet(Packet::Request { command: 1, .. }) => {}
                Seen::Packet(Packet::Push { command: 0, body }) => break body,
                other => panic!("{other:?} instead of a close push"),
            }
        };
        let websocket = match self.kind {
            Kind::WebSocket => match self.see().await {
                Seen::Close(code) => Some(code),
                other => panic!("{other:?} instead of a close frame"),
            },
            Kind::Tcp => None,
        };
        assert_eq!(self.see().await, Seen::End);
        let close = control::Close::decode(&*push).unwrap();
        assert!(!close.reason.is_empty());
        (close.code, websocket)
    }
}
