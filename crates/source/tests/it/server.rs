//! A server that answers one sign-in over HTTP and runs a script on one connection.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use prost::Message as _;
use source::Addresses;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};
use wire::control::{AuthRequest, AuthResponse};
use wire::{Limits, Packet, Packing, Status};

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) enum Step {
    /// Waits for the next request.
    Wait,
    /// Responds to a request, counted from 0.
    Answer {
        request: usize,
        status: Status,
        body: Vec<u8>,
        packed: bool,
    },
    Bytes(Vec<u8>),
    Push(u8),
    /// Sends a ping and waits for its pong.
    Ping,
    /// Closes the socket without a close frame.
    Hang,
    RefuseSignIn,
}

/// Data that the server has received.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) http: String,
    pub(crate) upgrade: String,
    pub(crate) token: String,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) commands: Vec<u8>,
    pub(crate) pongs: usize,
}

pub(crate) struct Script {
    address: SocketAddr,
    seen: Receiver<Seen>,
}

impl Script {
    pub(crate) fn start(steps: Vec<Step>) -> Script {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = channel();
        std::thread::spawn(move || {
            let http = answer_password(&mut listener.accept().unwrap().0);
            let mut seen = Seen { http, ..Seen::default() };
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            seen.upgrade = upgrade(&mut stream);
            play(WebSocket::from_raw_socket(stream, Role::Server, None), steps, &mut seen);
            sender.send(seen).ok();
        });
        Script { address, seen }
    }

    pub(crate) fn addresses(&self) -> Addresses {
        Addresses::parse(&format!("http://{}", self.address), None).unwrap()
    }

    /// Waits for the end of the script.
    pub(crate) fn stop(self) -> Seen {
        self.seen.recv_timeout(PATIENCE).unwrap()
    }
}

fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn answer_password(stream: &mut TcpStream) -> String {
    let request = head(stream);
    let body = r#"{"code":0,"message":"","data":{"otp":"otp-7f3a","limit":10,"online":0}}"#;
    let length = body.len();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .unwrap();
    request
}

fn upgrade(stream: &mut TcpStream) -> String {
    let request = head(stream);
    let key = request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    let accept = wire::accept_key(key);
    write!(
        stream,
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n\r\n"
    )
    .unwrap();
    request
}

/// Reads the next request: its command, id and body. Returns `None` if the connection has ended.
fn request(socket: &mut WebSocket<TcpStream>, seen: &mut Seen) -> Option<(u8, u32, Vec<u8>)> {
    loop {
        match socket.read() {
            Ok(Message::Binary(bytes)) => {
                let Packet::Request { command, id, body, .. } =
                    Packet::decode(&bytes, Limits::HIGHEST).unwrap()
                else {
                    panic!("no request");
                };
                return Some((command, id, body.into_owned()));
            }
            Ok(Message::Pong(_)) => seen.pongs += 1,
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

fn play(mut socket: WebSocket<TcpStream>, steps: Vec<Step>, seen: &mut Seen) {
    let Some((command, id, body)) = request(&mut socket, seen) else { return };
    assert_eq!(command, 2);
    let auth = AuthRequest::decode(body.as_slice()).unwrap();
    (seen.token, seen.metadata) = (auth.token, auth.metadata.into_iter().collect());
    if matches!(steps.first(), Some(Step::RefuseSignIn)) {
        let body = wire::refusal_body(401_004, "unknown");
        send(&mut socket, response(2, id, Status::Unauthenticated, &body, false));
        request(&mut socket, seen);
        return;
    }
    let body = AuthResponse { session_id: "s".to_owned(), expires: 1, limit: 10, online: 1 }.encode_to_vec();
    send(&mut socket, response(2, id, Status::Success, &body, false));
    let mut requests = Vec::new();
    for step in steps {
        match step {
            Step::Wait => {
                let Some((command, id, _)) = request(&mut socket, seen) else { return };
                seen.commands.push(command);
                requests.push((command, id));
            }
            Step::Answer { request, status, body, packed } => {
                let (command, id) = requests[request];
                send(&mut socket, response(command, id, status, &body, packed));
            }
            Step::Bytes(bytes) => send(&mut socket, bytes),
            Step::Push(command) => {
                let mut bytes = Vec::new();
                Packet::Push { command, body: Vec::new().into() }.encode(&mut bytes).unwrap();
                send(&mut socket, bytes);
            }
            Step::Ping => {
                socket.send(Message::Ping(vec![1, 2].into())).unwrap();
                while seen.pongs == 0 {
                    match socket.read() {
                        Ok(Message::Pong(_)) => seen.pongs += 1,
                        Ok(_) => {}
                        Err(_) => return,
                    }
                }
            }
            Step::Hang => return,
            Step::RefuseSignIn => {}
        }
    }
    // Reads until the client closes the connection.
    while request(&mut socket, seen).is_some() {}
}

fn send(socket: &mut WebSocket<TcpStream>, bytes: Vec<u8>) {
    // The client may have closed the connection.
    socket.send(Message::Binary(bytes.into())).ok();
}

fn response(command: u8, id: u32, status: Status, body: &[u8], packed: bool) -> Vec<u8> {
    let (packing, body) = match packed {
        true => (Packing::Gzip, wire::compress(body).unwrap()),
        false => (Packing::Plain, body.to_vec()),
    };
    let mut bytes = wire::response_header(command, id, status, packing, body.len()).unwrap().to_vec();
    bytes.extend_from_slice(&body);
    bytes
}
