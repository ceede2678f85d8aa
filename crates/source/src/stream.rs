//! Opens the WebSocket of a connection: TCP, optional TLS, and the upgrade.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_platform_verifier::Verifier;
use tungstenite::WebSocket;
use tungstenite::protocol::{Role, WebSocketConfig};

use crate::address::SocketAddress;
use crate::{SourceError, USER_AGENT};

pub(crate) const OPEN_WITHIN: Duration = Duration::from_secs(15);
/// Maximum size of the response head of the upgrade.
const HEAD_MAX: usize = 16 << 10;
/// Maximum size of a message. A page of a thousand candles takes about a hundred kilobytes.
const MESSAGE_MAX: usize = 16 << 20;

/// A socket whose reads and writes fail after a deadline.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Socket,
    deadline: Instant,
}

#[derive(Debug)]
enum Socket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    fn tcp(&self) -> &TcpStream {
        match &self.socket {
            Socket::Plain(tcp) => tcp,
            Socket::Tls(tls) => &tls.sock,
        }
    }

    /// Returns the time until the deadline, but at least a millisecond, because a socket does not
    /// accept a timeout of zero.
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }
}

impl Read for Stream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.tcp().set_read_timeout(Some(self.left()))?;
        match &mut self.socket {
            Socket::Plain(tcp) => tcp.read(room),
            Socket::Tls(tls) => tls.read(room),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tcp().set_write_timeout(Some(self.left()))?;
        match &mut self.socket {
            Socket::Plain(tcp) => tcp.write(bytes),
            Socket::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.socket {
            Socket::Plain(tcp) => tcp.flush(),
            Socket::Tls(tls) => tls.flush(),
        }
    }
}

/// Opens a WebSocket.
pub(crate) fn open(address: &SocketAddress) -> Result<WebSocket<Stream>, SourceError> {
    let place = address.to_string();
    let unreachable = |error: io::Error| SourceError::unreachable(&place, error);
    let deadline = Instant::now() + OPEN_WITHIN;
    let tcp = connect(address, deadline).map_err(unreachable)?;
    // A request is one small packet, which must be sent without delay.
    tcp.set_nodelay(true).map_err(unreachable)?;
    let socket = match address.is_tls {
        false => Socket::Plain(tcp),
        true => {
            Socket::Tls(Box::new(tls(address, tcp).map_err(|why| SourceError::unreachable(&place, why))?))
        }
    };
    let mut stream = Stream { socket, deadline };
    let rest = upgrade(&mut stream, address).map_err(|error| match error {
        Upgrade::Io(error) => unreachable(error),
        Upgrade::Answer(what) => SourceError::Invalid { what },
    })?;
    let config = WebSocketConfig::default()
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE_MAX))
        .max_frame_size(Some(MESSAGE_MAX));
    Ok(WebSocket::from_partially_read(stream, rest, Role::Client, Some(config)))
}

fn connect(address: &SocketAddress, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for at in (address.host.as_str(), address.port).to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&at, left) {
            Ok(tcp) => return Ok(tcp),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn tls(address: &SocketAddress, tcp: TcpStream) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    // A private certificate authority is often installed only in the system's trust store.
    let verifier = Verifier::new(provider.clone()).map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from(address.host.clone()).map_err(|error| error.to_string())?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
    Ok(StreamOwned::new(connection, tcp))
}

enum Upgrade {
    Io(io::Error),
    Answer(String),
}

/// Sends the upgrade and reads the response head. Returns the bytes received after it.
fn upgrade(stream: &mut Stream, address: &SocketAddress) -> Result<Vec<u8>, Upgrade> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Upgrade::Answer(error.to_string()))?;
    let key = STANDARD.encode(random);
    let path =
        if address.path.starts_with('/') { address.path.clone() } else { format!("/{}", address.path) };
    let joint = if path.contains('?') { '&' } else { '?' };
    let request = format!(
        "GET {path}{joint}version=1&codec=1&platform=9 HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\
         User-Agent: {USER_AGENT}\r\n\r\n",
        address.authority()
    );
    stream.write_all(request.as_bytes()).map_err(Upgrade::Io)?;
    stream.flush().map_err(Upgrade::Io)?;
    let mut head = Vec::new();
    let end = loop {
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let mut room = [0; 1024];
        let read = stream.read(&mut room).map_err(Upgrade::Io)?;
        if read == 0 || head.len() > HEAD_MAX {
            return Err(Upgrade::Answer("the response to the WebSocket upgrade is incomplete".to_owned()));
        }
        head.extend_from_slice(room.get(..read).unwrap_or_default());
    };
    let rest = head.split_off(end + 4);
    match accepts(&String::from_utf8_lossy(&head), &wire::accept_key(&key)) {
        Ok(()) => Ok(rest),
        Err(what) => Err(Upgrade::Answer(what)),
    }
}

fn accepts(head: &str, accept: &str) -> Result<(), String> {
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 101") {
        return Err(format!("no WebSocket: {}", crate::error::clipped(status)));
    }
    let given = lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.trim().eq_ignore_ascii_case("sec-websocket-accept").then(|| value.trim())
    });
    match given == Some(accept) {
        true => Ok(()),
        false => Err("the response to the WebSocket upgrade has the wrong key".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_matching_upgrade_is_accepted() {
        let head = "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: abc\r\n\r\n";
        assert_eq!(accepts(head, "abc"), Ok(()));
        assert!(accepts(head, "abd").is_err());
        assert!(accepts("HTTP/1.1 403 Forbidden\r\n\r\n", "abc").unwrap_err().contains("403"));
    }
}
