//! A proxy on loopback that counts the requests of a client, and cuts its connections.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Commands below this number manage the connection.
const COMMANDS_FROM: u8 = 4;
const HISTORY: u8 = 27;

/// When a connection is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// Instead of forwarding a history request.
    Before,
    /// After a history request was forwarded, so that its response is lost.
    After,
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    address: SocketAddr,
    shared: Arc<Shared>,
    history: Receiver<usize>,
}

struct Shared {
    upstream: String,
    /// Forwarded requests: when, and the command.
    requests: Mutex<Vec<(Instant, u8)>>,
    /// Cuts by the number of the history request.
    cuts: Mutex<BTreeMap<usize, Cut>>,
    is_stopped: AtomicBool,
}

impl Proxy {
    /// Starts a proxy of a server, given by its URL.
    pub(crate) fn of(upstream: &str, cuts: BTreeMap<usize, Cut>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            upstream: upstream.strip_prefix("http://").unwrap().to_owned(),
            requests: Mutex::default(),
            cuts: Mutex::new(cuts),
            is_stopped: AtomicBool::new(false),
        });
        let (sender, history) = channel();
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.is_stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (shared, sender, client) = (accepting.clone(), sender.clone(), client.unwrap());
                std::thread::spawn(move || connect(client, &shared, &sender));
            }
        });
        Proxy { url: format!("http://{address}"), address, shared, history }
    }

    /// Waits until this number of history requests was forwarded.
    pub(crate) fn wait_for(&self, number: usize) {
        while self.history.recv_timeout(Duration::from_secs(120)).unwrap() < number {}
    }

    /// Returns the number of forwarded history requests.
    pub(crate) fn history(&self) -> usize {
        self.shared.requests.lock().unwrap().iter().filter(|(_, command)| *command == HISTORY).count()
    }

    /// Forgets the requests so far.
    pub(crate) fn forget(&self) {
        self.shared.requests.lock().unwrap().clear();
    }

    /// Returns the largest number of history requests in any 30 seconds, and of all requests in any
    /// second.
    pub(crate) fn most(&self) -> (usize, usize) {
        let requests = self.shared.requests.lock().unwrap();
        let most = |window: Duration, counts: fn(u8) -> bool| {
            let times: Vec<Instant> =
                requests.iter().filter(|(_, command)| counts(*command)).map(|(at, _)| *at).collect();
            let within =
                |from: &Instant| times.iter().filter(|at| (*from..*from + window).contains(*at)).count();
            times.iter().map(within).max().unwrap_or_default()
        };
        (most(Duration::from_secs(30), |command| command == HISTORY), most(Duration::from_secs(1), |_| true))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        TcpStream::connect(self.address).ok();
    }
}

/// Forwards one connection in both directions until either side closes it.
fn connect(client: TcpStream, shared: &Shared, sender: &Sender<usize>) {
    let Ok(server) = TcpStream::connect(&shared.upstream) else { return };
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let answers = std::thread::spawn(move || {
        std::io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Both).ok();
    });
    forward(&client, &server, shared, sender);
    for socket in [&client, &server] {
        socket.shutdown(Shutdown::Both).ok();
    }
    answers.join().unwrap();
}

/// Forwards what the client sends: a request of HTTP and, after an upgrade, WebSocket frames.
fn forward(mut client: &TcpStream, mut server: &TcpStream, shared: &Shared, sender: &Sender<usize>) {
    let (mut bytes, mut is_frames) = (Vec::new(), false);
    let mut room = [0; 4096];
    loop {
        let Ok(count @ 1..) = client.read(&mut room) else { return };
        bytes.extend_from_slice(&room[..count]);
        if !is_frames {
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head: Vec<u8> = bytes.drain(..end + 4).collect();
            is_frames = String::from_utf8_lossy(&head).to_ascii_lowercase().contains("upgrade: websocket");
            if server.write_all(&head).is_err() {
                return;
            }
        }
        while let Some((frame, command)) = is_frames.then(|| first_frame(&mut bytes)).flatten() {
            let mut cut = None;
            if let Some(command) = command.filter(|command| *command >= COMMANDS_FROM) {
                let mut requests = shared.requests.lock().unwrap();
                let history = requests.iter().filter(|(_, command)| *command == HISTORY).count();
                if command == HISTORY {
                    cut = shared.cuts.lock().unwrap().remove(&(history + 1));
                }
                if matches!(cut, Some(Cut::Before)) {
                    return;
                }
                requests.push((Instant::now(), command));
                if command == HISTORY {
                    sender.send(history + 1).ok();
                }
            }
            if server.write_all(&frame).is_err() || cut.is_some() {
                return;
            }
        }
    }
}

/// Removes the first complete frame. Returns its bytes, and the command of a binary message.
fn first_frame(bytes: &mut Vec<u8>) -> Option<(Vec<u8>, Option<u8>)> {
    let (opcode, length) = (bytes.first()? & 0x0f, usize::from(bytes.get(1)? & 0x7f));
    let (header, length) = match length {
        126 => (4, usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]))),
        127 => panic!("no request is that long"),
        length => (2, length),
    };
    // A client masks its frames with four bytes after the length.
    let payload = header + 4;
    if bytes.len() < payload + length {
        return None;
    }
    let command = (opcode == 2 && length > 1).then(|| bytes[payload + 1] ^ bytes[header + 1]);
    Some((bytes.drain(..payload + length).collect(), command))
}
