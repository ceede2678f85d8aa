//! A TCP proxy to the server that can interrupt connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Treatment of traffic by the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    Pass,
    /// Closes open connections, and closes new connections immediately.
    Refuse,
    /// Drops bytes in both directions and leaves connections open, like a stopped server.
    Silent,
    /// Drops data from the server, and closes the connection when data from the server arrives.
    Mute,
}

#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    mode: AtomicU8,
    open: Mutex<Vec<TcpStream>>,
}

impl Shared {
    fn is(&self, mode: Mode) -> bool {
        self.mode.load(Ordering::SeqCst) == mode as u8
    }

    fn close_all(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

impl Wire {
    /// Starts a proxy to a port of this machine. The proxy's threads end with the process.
    pub(crate) fn to(port: u16) -> Wire {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let here = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { mode: AtomicU8::new(Mode::Pass as u8), open: Mutex::default() });
        let of_listener = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if of_listener.is(Mode::Refuse) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                of_listener
                    .open
                    .lock()
                    .unwrap()
                    .extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let (back_from, back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (there, back) = (Arc::clone(&of_listener), Arc::clone(&of_listener));
                thread::spawn(move || copy(client, server, &there, false));
                thread::spawn(move || copy(back_from, back_to, &back, true));
            }
        });
        Wire { port: here, shared }
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.shared.mode.store(mode as u8, Ordering::SeqCst);
        if mode == Mode::Refuse {
            self.shared.close_all();
        }
    }

    /// Closes open connections. New connections are forwarded.
    pub(crate) fn reset(&self) {
        self.shared.close_all();
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, shared: &Shared, is_back: bool) {
    let mut bytes = [0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if shared.is(Mode::Silent) {
            continue;
        }
        if is_back && shared.is(Mode::Mute) {
            // The server has responded, so the request was executed, but the response is lost.
            break;
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
