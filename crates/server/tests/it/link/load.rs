//! Overload, slow requests, and shutdown. The runtime of these tests has a single blocking thread,
//! which a test can occupy to control when requests finish.

use std::future::Future;
use std::sync::mpsc;

use access::{RateRule, Terms};
use wire::quote;

use crate::support::{Client, NOW, Read, Running, TRANSPORTS, TransportLabel, request};

/// Occupies the only blocking thread until `pull` is called.
struct Plug(mpsc::Sender<()>);

impl Plug {
    /// Occupies the thread. Waits until the thread is free first, because an earlier task may
    /// finish after its response was sent.
    async fn new() -> Plug {
        let (pull, pulled) = mpsc::channel();
        let (begin, begun) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            begin.send(()).ok();
            pulled.recv().ok()
        });
        begun.await.unwrap();
        Plug(pull)
    }

    fn pull(self) {
        drop(self.0);
    }
}

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test);
}

fn history() -> Vec<u8> {
    prost::Message::encode_to_vec(&quote::SecurityHistoryCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1,
        query_type: 1,
        offset_request: Some(quote::OffsetRequest { count: 1000, ..Default::default() }),
        ..Default::default()
    })
}

fn unlimited() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

async fn refused(client: &mut Client) -> (u32, u8, u64) {
    let (id, answer) = client.response().await;
    let (status, code, _) = answer.expect_err("a refusal");
    (id, status, code)
}

#[test]
fn a_request_that_times_out_is_refused_and_not_charged() {
    run(async {
        let server = Running::start().await;
        let account = server.account("ann", Terms::default());
        for transport in TRANSPORTS {
            let mut client = server.enter(transport, &account, &[]).await;
            let plug = Plug::new().await;
            client.send(&request(27, 1, 20, &history())).await;
            assert_eq!(refused(&mut client).await, (1, 1, 301_602));
            plug.pull();
            // The thread runs tasks in order, so the first request has finished when this response
            // arrives.
            client.ask::<quote::QuoteProfileResponse>(4, &()).await.unwrap();
            assert_eq!(server.access.usage(account.account_id, NOW).unwrap().unwrap().used, 0);
        }
        let mut client = server.signed_in(&account).await;
        client.send(&request(27, 2, 60_000, &history())).await;
        client.response().await.1.unwrap();
        assert_eq!(server.access.usage(account.account_id, NOW).unwrap().unwrap().used, 1);
    });
}

#[test]
fn requests_beyond_the_queue_limit_are_refused() {
    run(async {
        let server = Running::start().await;
        let account = server.account("ann", unlimited());
        for transport in TRANSPORTS {
            let mut client = server.enter(transport, &account, &[]).await;
            let mut other = server.enter(transport, &account, &[]).await;
            let plug = Plug::new().await;
            for id in 1..=72 {
                client.send(&request(9, id, 0, &days())).await;
            }
            for id in 70..=72 {
                assert_eq!(refused(&mut client).await, (id, 3, 301_606));
            }
            // Overload on one connection does not affect another connection.
            assert!(other.is_alive().await);
            plug.pull();
            let mut answered = Vec::new();
            for _ in 1..=69 {
                let (id, answer) = client.response().await;
                answer.unwrap();
                answered.push(id);
            }
            answered.sort_unstable();
            assert_eq!(answered, (1..=69).collect::<Vec<u32>>());
            client.ask::<quote::TradingSessionsResponse>(8, &()).await.unwrap();
        }
    });
}

fn days() -> Vec<u8> {
    prost::Message::encode_to_vec(&quote::TradingDaysRequest {
        market: "HK".to_owned(),
        beg_day: "20261101".to_owned(),
        end_day: "20261110".to_owned(),
    })
}

#[test]
fn a_queued_request_can_time_out() {
    run(async {
        let server = Running::start().await;
        let account = server.account("ann", unlimited());
        let mut client = server.signed_in(&account).await;
        let plug = Plug::new().await;
        for id in 1..=5 {
            client.send(&request(9, id, 1, &days())).await;
            assert_eq!(refused(&mut client).await, (id, 1, 301_602));
        }
        // All five requests are still running, so this request is queued and times out.
        client.send(&request(9, 6, 20, &days())).await;
        assert_eq!(refused(&mut client).await, (6, 1, 301_602));
        for id in 7..=71 {
            client.send(&request(9, id, 0, &days())).await;
        }
        assert_eq!(refused(&mut client).await, (71, 3, 301_606));
        plug.pull();
        for _ in 7..=70 {
            client.response().await.1.unwrap();
        }
    });
}

#[test]
fn queued_large_requests_are_limited_in_bytes() {
    run(async {
        let server = Running::start().await;
        let account = server.account("ann", unlimited());
        let mut client = server.signed_in(&account).await;
        let plug = Plug::new().await;
        // The body has an unknown field of 60,000 bytes. Five requests run, and the queue limit of
        // 1 MB allows seventeen more.
        let mut body = days();
        body.extend_from_slice(&[0x7a, 0xe0, 0xd4, 0x03]);
        body.resize(body.len() + 60_000, 0);
        for id in 1..=23 {
            client.send(&request(9, id, 0, &body)).await;
        }
        assert_eq!(refused(&mut client).await, (23, 3, 301_606));
        plug.pull();
        for _ in 1..=22 {
            client.response().await.1.unwrap();
        }
    });
}

#[test]
fn shutdown_finishes_running_requests() {
    run(async {
        let server = Running::start().await;
        let account = server.account("ann", Terms::default());
        for transport in TRANSPORTS {
            let server = Running::start_in(copy_of(&server), Default::default()).await;
            let mut idle = server.enter(transport, &account, &[]).await;
            let mut busy = server.enter(transport, &account, &[]).await;
            let mut waiting = server.connect(transport).await;
            assert!(waiting.is_alive().await, "it is no longer in the listener's queue");
            let plug = Plug::new().await;
            for id in 1..=7 {
                busy.send(&request(27, id, 0, &history())).await;
            }
            assert!(busy.is_alive().await, "what was sent has been read");
            let stopping = tokio::spawn(server.stop());
            shut_down(&mut idle, transport).await;
            shut_down(&mut waiting, transport).await;
            assert!(!stopping.is_finished());
            plug.pull();
            let mut bytes = 0;
            for _ in 1..=7 {
                bytes += busy.response().await.1.unwrap().len();
            }
            assert!(bytes > 7 * 40_000, "{bytes}");
            shut_down(&mut busy, transport).await;
            stopping.await.unwrap();
        }
    });
}

/// Reads the end of a connection that the shutdown of the server closes. Raw TCP ends without a
/// close push, which the Go SDK cannot handle.
async fn shut_down(client: &mut Client, transport: TransportLabel) {
    if transport == TransportLabel::WebSocket {
        let wire::Packet::Push { command: 0, body } = client.packet().await else { panic!("no close push") };
        assert_eq!(<wire::control::Close as prost::Message>::decode(&*body).unwrap().code, 2);
        assert_eq!(client.read().await, Read::Close(Some(1000)));
    }
    assert_eq!(client.read().await, Read::End);
}

/// Copies a server's directory for another server.
fn copy_of(server: &Running) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(server.dir.path()).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, dir.path().join(from.file_name().unwrap())).unwrap();
    }
    dir
}

#[tokio::test]
async fn a_disconnect_during_a_response_does_not_affect_other_connections() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let mut stays = server.signed_in(&account).await;
    for transport in TRANSPORTS {
        for read in [0, 1, 30_000] {
            let mut client = server.enter(transport, &account, &[]).await;
            for id in 0..40 {
                client.send(&request(27, id, 0, &history())).await;
            }
            let mut some = vec![0; read];
            tokio::io::AsyncReadExt::read_exact(&mut client.stream, &mut some).await.unwrap();
            drop(client);
        }
    }
    stays.send(&request(27, 1, 0, &history())).await;
    assert!(stays.response().await.1.unwrap().len() > 40_000);
    server.until_online(&account, 1).await;
}

#[tokio::test]
async fn every_request_of_a_flood_is_answered_once() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        // The candles are cached, so that all other requests are answered immediately. The 12 MB of
        // responses are many times the limit for unsent data.
        client.send(&request(27, 0, 0, &history())).await;
        let first = client.response().await.1.unwrap();
        let count = 200;
        let many: Vec<Vec<u8>> = (1..=count).map(|id| request(27, id, 0, &history())).collect();
        let mut writes = Vec::new();
        for packet in &many {
            if transport == TransportLabel::WebSocket {
                writes.extend_from_slice(&[0x82, 0x80 | u8::try_from(packet.len()).unwrap(), 0, 0, 0, 0]);
            }
            writes.extend_from_slice(packet);
        }
        client.raw(&writes).await;
        for id in 1..=count {
            let (answered, answer) = client.response().await;
            assert_eq!(answered, id);
            assert!(answer.unwrap() == first);
        }
    }
}
