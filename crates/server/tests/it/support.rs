//! Test support: a server with a small market, and clients that send raw bytes to the server.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use access::{Access, Actor, Created, NewAccount, Present, Region, Terms};
use history::import::{Context, Options, Progress, import};
use history::{AsOf, History};
use market::{Timestamp, Venues};
use server::{Addresses, CannotStep, Clock, ClockSpeed, MarketTime, Server, Settings};
use store::Store;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wire::{Limits, Packet};

use crate::{conformance, home};

/// The default rights and the overnight right.
pub(crate) const OVERNIGHT: &str = "HK,US,US_OVERNIGHT,CN,SG";
/// Market time of the tests, on a Sunday. The last trading day is Friday the 13th.
pub(crate) const NOW: Timestamp = Timestamp(1_794_708_000);
/// Timeout that makes a test with a bug fail instead of hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running server. Dropping it aborts the server; [`Running::stop`] shuts it down gracefully.
pub(crate) struct Running {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) addresses: Addresses,
    pub(crate) regional: Vec<(Region, SocketAddr)>,
    pub(crate) internal: Option<SocketAddr>,
    pub(crate) reloader: server::Reloader,
    pub(crate) links: server::SignInLinks,
    pub(crate) sink: server::MirrorSink,
    pub(crate) access: Access,
    pub(crate) market_now: Arc<AtomicI64>,
    machine: Clock,
    is_live: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start() -> Running {
        Running::start_with(Settings::default()).await
    }

    /// Starts a server on the test market. The operating system chooses the ports, and the ports in
    /// the settings are ignored.
    pub(crate) async fn start_with(settings: Settings) -> Running {
        Running::start_in(filled(), settings).await
    }

    /// Starts a server on an existing directory, like a restart.
    pub(crate) async fn start_in(dir: tempfile::TempDir, settings: Settings) -> Running {
        Running::start_under(dir, settings, Arc::new(machine_now)).await
    }

    /// Starts a server on the test market. `machine` is its machine clock, in Unix seconds.
    pub(crate) async fn start_at(machine: &Arc<AtomicI64>, settings: Settings) -> Running {
        let machine = machine.clone();
        let machine = Arc::new(move || Timestamp(machine.load(Ordering::Relaxed)));
        Running::start_under(filled(), settings, machine).await
    }

    /// Starts a server on an existing directory. `machine` is its machine clock, in Unix seconds.
    /// Its market clock is live from the start, at the same time.
    pub(crate) async fn start_live_at(
        dir: tempfile::TempDir,
        machine: &Arc<AtomicI64>,
        settings: Settings,
    ) -> Running {
        let market_now = Arc::new(AtomicI64::new(machine.load(Ordering::Relaxed)));
        let machine = machine.clone();
        let machine = Arc::new(move || Timestamp(machine.load(Ordering::Relaxed)));
        Running::start_by(dir, settings, machine, (market_now, true)).await
    }

    async fn start_under(dir: tempfile::TempDir, settings: Settings, machine: Clock) -> Running {
        Running::start_by(dir, settings, machine, (Arc::new(AtomicI64::new(NOW.0)), false)).await
    }

    async fn start_by(
        dir: tempfile::TempDir,
        settings: Settings,
        machine: Clock,
        (market_now, is_live): (Arc<AtomicI64>, bool),
    ) -> Running {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let settings = Settings { listen: any, tcp: any, ..settings };
        let store = home::store(dir.path());
        let history = History::new(Venues::built_in().unwrap());
        let is_live = Arc::new(AtomicBool::new(is_live));
        let market = Arc::new(SetClock { now: market_now.clone(), is_live: is_live.clone() });
        let service = home::access(dir.path(), machine());
        let server = Server::bind(&settings, store, history, service, market, machine.clone()).await.unwrap();
        let addresses = server.addresses().unwrap();
        let regional = server.regional_addresses().unwrap();
        let (internal, reloader) = (server.internal_address().unwrap(), server.reloader());
        let links = server.sign_in_links().unwrap();
        let sink = server.mirror_sink();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run(async {
            stopped.await.ok();
        }));
        // Tests change accounts through a separate connection to the database, while the server
        // runs.
        let access = home::access(dir.path(), machine());
        let stop = Some(stop);
        Running {
            dir,
            addresses,
            regional,
            internal,
            reloader,
            links,
            sink,
            access,
            market_now,
            machine,
            is_live,
            stop,
            task,
        }
    }

    /// Stops the server, waits for it to exit, and returns its directory.
    pub(crate) async fn stop(mut self) -> tempfile::TempDir {
        self.stop.take().unwrap().send(()).unwrap();
        timeout(PATIENCE, &mut self.task).await.unwrap().unwrap();
        self.dir
    }

    pub(crate) fn account(&self, name: &str, terms: Terms) -> Created {
        let new = NewAccount::named(name, terms);
        self.access.create(&new, &Actor::Operator, (self.machine)()).unwrap()
    }

    /// Creates an account with the given rights, such as `HK,US_OVERNIGHT` or `none`.
    pub(crate) fn account_with(&self, name: &str, rights: &str, terms: Terms) -> Created {
        let new = NewAccount { rights: rights.parse().unwrap(), ..NewAccount::named(name, terms) };
        self.access.create(&new, &Actor::Operator, (self.machine)()).unwrap()
    }

    /// Makes the market clock a live clock instead of a replay clock from now on.
    pub(crate) fn go_live(&self) {
        self.is_live.store(true, Ordering::Relaxed);
    }

    /// Makes the market clock a replay clock again.
    pub(crate) fn stand_still(&self) {
        self.is_live.store(false, Ordering::Relaxed);
    }

    /// Returns the current time of both clocks.
    pub(crate) fn present(&self) -> Present {
        Present { market: Timestamp(self.market_now.load(Ordering::Relaxed)), machine: (self.machine)() }
    }

    /// Sends `GET path` with a bearer token.
    pub(crate) async fn get(&self, path: &str, account: &Created) -> Response {
        let head = format!("authorization: Bearer {}\r\n", account.access_token.expose());
        self.http("GET", path, &head, b"").await
    }

    /// Sends `POST path` with a bearer token and a JSON body.
    pub(crate) async fn post(&self, path: &str, account: &Created, body: &str) -> Response {
        let head = format!("authorization: Bearer {}\r\n", account.access_token.expose());
        self.http("POST", path, &head, body.as_bytes()).await
    }

    /// Sends one request on a new connection. `head` contains further header lines, each with its
    /// line ending.
    pub(crate) async fn http(&self, method: &str, path: &str, head: &str, body: &[u8]) -> Response {
        self.http_to(self.addresses.http, method, path, head, body).await
    }

    /// Like [`Running::http`], through the listener at `address`.
    pub(crate) async fn http_to(
        &self,
        address: SocketAddr,
        method: &str,
        path: &str,
        head: &str,
        body: &[u8],
    ) -> Response {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}\r\n{head}\r\n")
                .into_bytes();
        request.extend_from_slice(body);
        stream.write_all(&request).await.unwrap();
        let mut bytes = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
        Response::parse(&request, &bytes)
    }

    /// Sends a raw request on a new connection, which the request itself must close.
    pub(crate) async fn raw(&self, request: &str) -> Response {
        let mut stream = TcpStream::connect(self.addresses.http).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
        Response::parse(request.as_bytes(), &bytes)
    }

    pub(crate) async fn one_time_password(&self, account: &Created) -> String {
        let answer = self.get("/v1/socket/token", account).await.json();
        answer["data"]["otp"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub(crate) async fn websocket(&self) -> Client {
        self.websocket_at("/v2?version=1&codec=1&platform=9").await
    }

    pub(crate) async fn websocket_at(&self, path: &str) -> Client {
        self.websocket_to(self.addresses.http, path).await
    }

    pub(crate) async fn websocket_to(&self, address: SocketAddr, path: &str) -> Client {
        self.websocket_with(address, path, "").await
    }

    /// Opens a WebSocket with further header lines, each with its line ending.
    pub(crate) async fn websocket_with(&self, address: SocketAddr, path: &str, head: &str) -> Client {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{head}\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        Client { stream, websocket: true, next_id: 1 }
    }

    pub(crate) async fn tcp(&self) -> Client {
        self.tcp_with(&wire::HANDSHAKE).await
    }

    /// Opens a TCP connection with a given handshake.
    pub(crate) async fn tcp_with(&self, handshake: &[u8]) -> Client {
        let mut stream = TcpStream::connect(self.addresses.tcp).await.unwrap();
        stream.write_all(handshake).await.unwrap();
        Client { stream, websocket: false, next_id: 1 }
    }

    pub(crate) async fn connect(&self, transport: TransportLabel) -> Client {
        match transport {
            TransportLabel::WebSocket => self.websocket().await,
            TransportLabel::Tcp => self.tcp().await,
        }
    }

    /// Opens a connection and signs in with the given metadata.
    pub(crate) async fn enter(
        &self,
        transport: TransportLabel,
        account: &Created,
        metadata: &[(&str, &str)],
    ) -> Client {
        let otp = self.one_time_password(account).await;
        let mut client = self.connect(transport).await;
        client.sign_in(&otp, metadata).await;
        client
    }

    /// Changes an account's terms and waits until the server has detected the change. The server
    /// caches a version check of the databases for half a millisecond.
    pub(crate) async fn change_terms(&self, account: &Created, terms: &Terms) {
        assert!(
            self.access.change_terms(account.account_id, terms, &Actor::Operator, self.present()).unwrap()
        );
        self.noticed().await;
    }

    /// Waits until the server has detected changes made by another process.
    pub(crate) async fn noticed(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Sets the market clock, in Unix seconds.
    pub(crate) fn set_now(&self, now: i64) {
        self.market_now.store(now, Ordering::Relaxed);
    }

    /// Returns the number of open connections and the connection limit, as reported to clients
    /// before they connect.
    pub(crate) async fn slots(&self, account: &Created) -> (u64, u64) {
        let answer = self.get("/v1/socket/token", account).await.json();
        let number = |name: &str| answer["data"][name].as_u64().unwrap_or_else(|| panic!("{answer}"));
        (number("online"), number("limit"))
    }

    /// Waits until `online` connections of the account are open. The server detects a disconnect
    /// with a delay.
    pub(crate) async fn until_online(&self, account: &Created, online: u64) {
        // `slots` is not used, because it creates a one-time password on each call, and the number
        // of passwords per account is limited.
        let is = async || self.get("/v1/connections", account).await.json()["data"]["online"] == online;
        let until = async { while !is().await {} };
        timeout(PATIENCE, until).await.expect("the number of connections within the time allowed");
    }

    /// Opens a WebSocket and signs in as a quote client does.
    pub(crate) async fn signed_in(&self, account: &Created) -> Client {
        let otp = self.one_time_password(account).await;
        let mut client = self.websocket().await;
        client.sign_in(&otp, &[("accept-language", "en")]).await;
        client
    }
}

/// The market clock: a replay clock until the test makes it a live clock.
struct SetClock {
    now: Arc<AtomicI64>,
    is_live: Arc<AtomicBool>,
}

impl MarketTime for SetClock {
    fn as_of(&self) -> AsOf {
        let now = Timestamp(self.now.load(Ordering::Relaxed));
        if self.is_live.load(Ordering::Relaxed) { AsOf::Live(now) } else { AsOf::Replay(now) }
    }

    fn pace(&self) -> ClockSpeed {
        if self.is_live.load(Ordering::Relaxed) { ClockSpeed::Machine } else { ClockSpeed::Standing }
    }

    fn step_to(&self, to: Timestamp) -> Result<(), CannotStep> {
        if self.is_live.load(Ordering::Relaxed) {
            return Err(CannotStep::NotStanding);
        }
        let now = Timestamp(self.now.fetch_max(to.0, Ordering::Relaxed));
        if to < now { Err(CannotStep::Back { now }) } else { Ok(()) }
    }
}

/// The two transports of long connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TransportLabel {
    WebSocket,
    Tcp,
}

pub(crate) const TRANSPORTS: [TransportLabel; 2] = [TransportLabel::WebSocket, TransportLabel::Tcp];

/// A parsed HTTP response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// Values of `set-cookie`, verbatim, because `head` is in lower case.
    pub(crate) cookies: Vec<String>,
    /// Value of `location`, verbatim; `None` if the header is absent.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Parses the response to a request and validates it against the OpenAPI document.
    #[track_caller]
    pub(crate) fn parse(request: &[u8], bytes: &[u8]) -> Response {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let sent = |wanted: &str| {
            let values = lines.clone().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            values.map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
        };
        let (cookies, location) = (sent("set-cookie"), sent("location").pop());
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = &bytes[end + 4..];
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_vec() };
        let response = Response { status, head, cookies, location, body };
        conformance::check(request, &response);
        response
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(key, _)| *key == name).map(|(_, value)| value.trim()).next()
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..][..length]);
        rest = &rest[end + 2 + length + 2..];
    }
}

/// A long-connection client that sends exactly the given bytes.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    pub(crate) websocket: bool,
    pub(crate) next_id: u32,
}

/// The next item that a client has read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Read {
    Packet(Packet<'static>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>),
    /// The server has closed the connection.
    End,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Sends a masked frame, as clients must.
    pub(crate) async fn frame(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = vec![first];
        match payload.len() {
            length @ ..126 => bytes.push(0x80 | length as u8),
            length @ ..65_536 => {
                bytes.push(0x80 | 126);
                bytes.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                bytes.push(0x80 | 127);
                bytes.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        let mask = [0x12, 0x34, 0x56, 0x78];
        bytes.extend_from_slice(&mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.raw(&bytes).await;
    }

    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends a packet in the framing of the transport.
    pub(crate) async fn send(&mut self, packet: &[u8]) {
        if self.websocket { self.frame(0x82, packet).await } else { self.raw(packet).await }
    }

    /// Sends a request without waiting for the response. Returns the request id.
    pub(crate) async fn request(&mut self, command: u8, body: &impl prost::Message) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&request(command, id, 30_000, &body.encode_to_vec())).await;
        id
    }

    /// Reads the next packet, which must be a response. Returns the request id and the body, or the
    /// status, code and message of a refusal.
    pub(crate) async fn response(&mut self) -> (u32, Result<Vec<u8>, (u8, u64, String)>) {
        let packet = self.packet().await;
        let Packet::Response { id, status, body, .. } = packet else { panic!("{packet:?}") };
        if status == wire::Status::Success {
            return (id, Ok(body.into_owned()));
        }
        let error = <wire::control::Error as prost::Message>::decode(&*body).unwrap();
        (id, Err((status as u8, error.code, error.msg)))
    }

    /// Returns whether the connection still answers requests.
    pub(crate) async fn is_alive(&mut self) -> bool {
        self.send(&request(1, 4711, 0, b"alive?")).await;
        self.response().await == (4711, Ok(b"alive?".to_vec()))
    }

    /// Sends a request and decodes the response. Returns status, code and message of a refusal as
    /// the error.
    pub(crate) async fn ask<R: prost::Message + Default>(
        &mut self,
        command: u8,
        body: &impl prost::Message,
    ) -> Result<R, (u8, u64, String)> {
        let id = self.request(command, body).await;
        let Packet::Response { command: of, id: to, status, body } = self.packet().await else { panic!() };
        assert_eq!((of, to), (command, id));
        if status == wire::Status::Success {
            return Ok(R::decode(&*body).unwrap());
        }
        let error = <wire::control::Error as prost::Message>::decode(&*body).unwrap();
        Err((status as u8, error.code, error.msg))
    }

    pub(crate) async fn sign_in(
        &mut self,
        otp: &str,
        metadata: &[(&str, &str)],
    ) -> wire::control::AuthResponse {
        self.try_sign_in(otp, metadata).await.unwrap_or_else(|error| panic!("{error:?}"))
    }

    pub(crate) async fn try_sign_in(
        &mut self,
        otp: &str,
        metadata: &[(&str, &str)],
    ) -> Result<wire::control::AuthResponse, (u8, u64, String)> {
        let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.ask(2, &wire::control::AuthRequest { token: otp.to_owned(), metadata }).await
    }

    /// Reads the next packet, skipping heartbeats from the server.
    pub(crate) async fn packet(&mut self) -> Packet<'static> {
        loop {
            match self.read().await {
                Read::Packet(Packet::Request { command: 1, .. }) | Read::Ping(_) => {}
                Read::Packet(packet) => return packet,
                other => panic!("{other:?} instead of a packet"),
            }
        }
    }

    /// Reads the next packet or control frame, or the end of the connection.
    pub(crate) async fn read(&mut self) -> Read {
        timeout(PATIENCE, self.read_now()).await.expect("something within the time allowed")
    }

    /// Like [`Self::read`], without a time limit.
    pub(crate) async fn read_now(&mut self) -> Read {
        if !self.websocket {
            return self.read_tcp().await;
        }
        let Ok(first) = self.stream.read_u8().await else { return Read::End };
        let length = match self.stream.read_u8().await.unwrap() {
            126 => u64::from(self.stream.read_u16().await.unwrap()),
            127 => self.stream.read_u64().await.unwrap(),
            length => u64::from(length),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.unwrap();
        match first {
            0x82 => Read::Packet(Packet::decode(&payload, Limits::HIGHEST).unwrap().into_owned()),
            0x88 => Read::Close(payload.first_chunk().map(|code| u16::from_be_bytes(*code))),
            0x89 => Read::Ping(payload),
            0x8a => Read::Pong(payload),
            other => panic!("a frame that begins with {other:#04x}"),
        }
    }

    async fn read_tcp(&mut self) -> Read {
        let Ok(first) = self.stream.read_u8().await else { return Read::End };
        let header = match first & 0x0f {
            1 => 11,
            2 => 10,
            _ => 5,
        };
        let mut bytes = vec![0; header];
        bytes[0] = first;
        self.stream.read_exact(&mut bytes[1..]).await.unwrap();
        let length = u32::from_be_bytes([0, bytes[header - 3], bytes[header - 2], bytes[header - 1]]);
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body).await.unwrap();
        bytes.extend_from_slice(&body);
        Read::Packet(Packet::decode(&bytes, Limits::HIGHEST).unwrap().into_owned())
    }

    /// Reads a close push and everything up to the end of the connection. Returns the code and the
    /// reason of the close push.
    pub(crate) async fn closed(&mut self) -> (i32, String) {
        let Packet::Push { command: 0, body } = self.packet().await else { panic!("no close push") };
        let close = <wire::control::Close as prost::Message>::decode(&*body).unwrap();
        if self.websocket {
            assert!(matches!(self.read().await, Read::Close(Some(_))));
        }
        assert_eq!(self.read().await, Read::End);
        (close.code, close.reason)
    }
}

/// Encodes a request packet.
pub(crate) fn request(command: u8, id: u32, timeout_ms: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Packet::Request { command, id, timeout_ms, body: body.into() }.encode(&mut bytes).unwrap();
    bytes
}

/// Advances all timers by a number of seconds. The clock is resumed afterwards, because a paused
/// clock advances automatically while data is in flight through a socket.
pub(crate) async fn pass(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[allow(clippy::disallowed_methods, reason = "stands in for the executable, which reads the clock")]
pub(crate) fn machine_now() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64)
}

/// Returns a new directory with the test market, which is created once and then copied.
pub(crate) fn filled() -> tempfile::TempDir {
    static MARKET: OnceLock<Vec<(OsString, Vec<u8>)>> = OnceLock::new();
    let files = MARKET.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path());
        let entries = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.path().is_file());
        files.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
    });
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

/// Fills the test market with a few weeks of three securities: 700.HK with one-minute and daily
/// candles, AAPL.US with one-minute candles of every session and daily candles, and 600519.SH with
/// only daily candles. 5.HK is known but has no candles.
fn fill(dir: &Path) {
    let mut minutes = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    let mut days = minutes.clone();
    let venues = Venues::built_in().unwrap();
    let first: market::Date = "2026-10-12".parse().unwrap();
    let last: market::Date = "2026-11-13".parse().unwrap();
    for (symbol, with_minutes) in [("700.HK", true), ("AAPL.US", true), ("600519.SH", false)] {
        let symbol: market::Symbol = symbol.parse().unwrap();
        let venue = venues.of(symbol.market());
        for (number, (date, _)) in venue.calendar().days(first, last).enumerate() {
            let price = 100 + number;
            days +=
                &format!("{symbol},{date},{price},{},{},{price}.5,1000,{price}000\n", price + 2, price - 1);
            if !with_minutes {
                continue;
            }
            for (minute, (at, _)) in venue.day(date).unwrap().minutes().enumerate() {
                let price = format!("{price}.{:02}", minute % 100);
                minutes +=
                    &format!("{symbol},{},{price},{price},{price},{price},{},1000\n", at.0, 1 + minute);
            }
        }
    }
    let file = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let securities = "symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,board\n\
                      700.HK,Tencent,腾讯控股,騰訊控股,SEHK,HKD,100,HKEquity\n5.HK,HSBC,汇丰,滙豐,SEHK,HKD,400,HKEquity\n";
    let actions = "symbol,ex_date,cash,split,bonus,rights,rights_price\n700.HK,2026-11-02,3.4,1,0,0,0\n";
    let paths = [
        file("securities.csv", securities),
        file("days.csv", &days),
        file("minutes.csv", &minutes),
        file("actions.csv", actions),
    ];
    import_files(dir, &paths);
}

/// Imports files of any kind into a store, even while a server is running.
pub(crate) fn import_files(dir: &Path, paths: &[PathBuf]) {
    // Test files may overwrite each other's candles.
    import_with(dir, paths, Options { replace: true, ..Options::default() });
}

pub(crate) fn import_with(dir: &Path, paths: &[PathBuf], options: Options) {
    let venues = Venues::built_in().unwrap();
    let store = Store::open(dir, store::Access::Write { now: NOW }).unwrap();
    let (stop, progress) = (AtomicBool::new(false), Progress::default());
    let context = Context {
        store: &store,
        venues: &venues,
        options: &options,
        now: &|| NOW,
        stop: &stop,
        progress: &progress,
    };
    for report in import(&context, paths).unwrap() {
        assert_eq!(report.outcome, history::import::Outcome::Imported, "{report:?}");
        assert_eq!(report.quarantined, 0, "{report:?}");
    }
}
