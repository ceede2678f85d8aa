//! The connection limit, which counts open connections but not idle listeners.

use access::Region;
use server::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{PATIENCE, Response, Running};

/// Number of connection slots of the internal listener.
const WATCHERS: usize = 64;

#[tokio::test]
async fn idle_listeners_take_no_slot() {
    let regional = vec![(Region::Us, "127.0.0.1:0".parse().unwrap())];
    let server = Running::start_with(Settings { connections_max: 1, regional, ..Settings::default() }).await;
    for _ in 0..3 {
        for address in [server.addresses.http, server.regional[0].1] {
            assert_eq!(server.http_to(address, "GET", "/healthz", "", b"").await.status, 200);
        }
    }
}

#[tokio::test]
async fn a_waiting_connection_is_served_once_a_slot_is_free() {
    let server = Running::start_with(Settings { connections_max: 1, ..Settings::default() }).await;
    let mut link = server.websocket().await;
    // One connection is accepted and waits for a slot. The other connection is in the kernel's
    // backlog.
    let waiting = async || server.http("GET", "/healthz", "", b"").await.status;
    let answers = async { tokio::join!(waiting(), waiting()) };
    tokio::pin!(answers);
    tokio::select! {
        biased;
        answers = &mut answers => panic!("{answers:?} while the only place is taken"),
        is_alive = link.is_alive() => assert!(is_alive),
    }
    drop(link);
    assert_eq!(timeout(PATIENCE, answers).await.unwrap(), (200, 200));
}

#[tokio::test]
async fn an_internal_connection_that_waits_for_a_slot_is_served() {
    let internal = Some("127.0.0.1:0".parse().unwrap());
    let server = Running::start_with(Settings { internal, ..Settings::default() }).await;
    let mut with_slot = Vec::new();
    for _ in 0..WATCHERS {
        let mut stream = TcpStream::connect(server.internal.unwrap()).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap();
        with_slot.push(stream);
    }
    let mut late = TcpStream::connect(server.internal.unwrap()).await.unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    late.write_all(request).await.unwrap();
    // When another request is answered, the server has accepted the waiting connection.
    assert_eq!(server.http("GET", "/healthz", "", b"").await.status, 200);
    drop(with_slot.pop());
    let mut bytes = Vec::new();
    timeout(PATIENCE, late.read_to_end(&mut bytes)).await.unwrap().unwrap();
    assert_eq!(Response::parse(request, &bytes).status, 200);
}
