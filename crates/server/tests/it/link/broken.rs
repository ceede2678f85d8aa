//! Protocol violations. The offending client is notified and disconnected, and other connections
//! are not affected.

use access::Terms;
use wire::quote;

use crate::support::{Client, Read, Running, TRANSPORTS, TransportLabel, request};

/// Returns a packet with a compressed body of zeros, which inflates to a multiple of its size.
fn packed_zeros(zeros: usize) -> Vec<u8> {
    let body = wire::compress(&vec![0; zeros]).unwrap();
    let mut packet = wire::request_header(1, 1, 0, wire::Packing::Gzip, body.len()).unwrap().to_vec();
    packet.extend_from_slice(&body);
    packet
}

/// Reads up to the end of the connection. Returns the close push, and the code of the close frame
/// on a WebSocket.
async fn describe(client: &mut Client) -> (i32, Option<u16>, String) {
    let wire::Packet::Push { command: 0, body } = client.packet().await else { panic!("no close push") };
    let close = <wire::control::Close as prost::Message>::decode(&*body).unwrap();
    match client.read().await {
        Read::End => (close.code, None, close.reason),
        Read::Close(code) => {
            assert_eq!(client.read().await, Read::End);
            (close.code, code, close.reason)
        }
        other => panic!("{other:?}"),
    }
}

/// Returns invalid packets, each with a part of the expected reason.
fn broken_packets() -> Vec<(Vec<u8>, &'static str)> {
    let signed_short = [vec![0x11, 1], request(1, 1, 0, b"")[2..].to_vec()].concat();
    let mut packets = vec![
        (vec![0, 0, 0, 0, 0], "type 0"),
        (vec![4, 1, 0, 0, 0], "type 4"),
        (vec![0x0f; 20], "type 15"),
        (vec![2, 1, 0, 0, 0, 1, 99, 0, 0, 0], "status 99"),
        (wire::request_header(27, 1, 0, wire::Packing::Plain, 65_537).unwrap().to_vec(), "longer than 65536"),
        (packed_zeros(300_000), "inflates to more"),
        (
            [wire::request_header(1, 1, 0, wire::Packing::Gzip, 4).unwrap().to_vec(), vec![1; 4]].concat(),
            "gzip",
        ),
    ];
    // On TCP, the server would wait for the missing bytes of these packets.
    packets.push((signed_short, "ends within"));
    packets.push((request(27, 1, 0, b"body")[..13].to_vec(), "ends within"));
    packets.push((vec![1], "ends within"));
    packets.push((vec![], "ends within"));
    packets.push(([request(1, 1, 0, b""), vec![0]].concat(), "1 extra bytes after"));
    packets
}
const WAITED_FOR_ON_TCP: usize = 5;

#[tokio::test]
async fn an_invalid_packet_closes_only_its_connection() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let (mut near, mut far) =
        (server.signed_in(&account).await, server.enter(TransportLabel::Tcp, &account, &[]).await);
    let packets = broken_packets();
    for transport in TRANSPORTS {
        let count = packets.len() - if transport == TransportLabel::Tcp { WAITED_FOR_ON_TCP } else { 0 };
        for (packet, reason) in &packets[..count] {
            let mut client = server.enter(transport, &account, &[]).await;
            client.send(packet).await;
            let (code, websocket, text) = describe(&mut client).await;
            assert_eq!(
                (code, websocket),
                (3, (transport == TransportLabel::WebSocket).then_some(1002)),
                "{reason}"
            );
            assert!(text.contains(reason), "{text:?} does not say {reason:?}");
            assert!(near.is_alive().await && far.is_alive().await);
        }
    }
    drop((near, far));
    server.until_online(&account, 0).await;
}

#[tokio::test]
async fn an_invalid_frame_closes_its_connection() {
    let server = Running::start().await;
    let long = {
        let mut frame = vec![0x82, 0xff];
        frame.extend_from_slice(&70_000_u64.to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame
    };
    let cases: [(&str, Vec<u8>, u16); 10] = [
        // Packets are accepted in text frames, but this payload is not a packet.
        ("type 4", [&[0x81, 0x84, 0, 0, 0, 0][..], b"text"].concat(), 1002),
        ("not masked", [&[0x82, 11][..], &request(1, 1, 0, b"")].concat(), 1002),
        ("reserved bits", vec![0xc2, 0x80], 1002),
        ("unknown opcode", vec![0x83, 0x80, 0, 0, 0, 0], 1002),
        ("shortest form", vec![0x82, 0xfe, 0, 5, 0, 0, 0, 0], 1002),
        ("control frame", vec![0x09, 0x80, 0, 0, 0, 0], 1002),
        ("without a message", vec![0x80, 0x80, 0, 0, 0, 0], 1002),
        ("close frame", vec![0x88, 0x81, 0, 0, 0, 0, 1], 1002),
        ("not utf-8", vec![0x88, 0x83, 0, 0, 0, 0, 3, 0xe8, 0xff], 1007),
        ("longer than", long, 1009),
    ];
    for (reason, bytes, websocket) in cases {
        let mut client = server.websocket().await;
        client.raw(&bytes).await;
        let (code, close, text) = describe(&mut client).await;
        assert_eq!((code, close), (3, Some(websocket)), "{reason}");
        assert!(text.contains(reason), "{text:?} does not say {reason:?}");
    }
    // Fragmentation does not bypass the limit.
    let mut client = server.websocket().await;
    client.frame(0x02, &[1; 30_000]).await;
    client.frame(0x00, &[1; 30_000]).await;
    client.frame(0x00, &[1; 30_000]).await;
    assert_eq!(describe(&mut client).await.1, Some(1009));
}

#[tokio::test]
async fn an_unsupported_protocol_version_is_closed() {
    let server = Running::start().await;
    for query in ["version=2&codec=1&platform=9", "version=1&codec=0&platform=9", "platform=1", "codec="] {
        let mut client = server.websocket_at(&format!("/v2?{query}")).await;
        assert_eq!(describe(&mut client).await.0, 3, "{query}");
    }
    for query in ["", "/any/path", "/?", "/v2?version=1", "/v2?platform=9&x=y&codec=1"] {
        let path = if query.is_empty() { "/" } else { query };
        assert!(server.websocket_at(path).await.is_alive().await, "{query}");
    }
    for handshake in [[0x12, 0x09], [0x21, 0x09], [0x11, 0x08], [0, 0], *b"GE"] {
        let mut client = server.tcp_with(&handshake).await;
        let (code, _, text) = describe(&mut client).await;
        assert_eq!(code, 3, "{handshake:?}");
        assert!(text.contains("handshake"), "{text}");
    }
    // The reserved bits of the second byte are ignored, and the first packet may arrive together
    // with the handshake.
    let mut client = server.tcp_with(&[&[0x11, 0xf9][..], &request(1, 5, 0, b"x")].concat()).await;
    assert_eq!(client.response().await, (5, Ok(b"x".to_vec())));
}

#[tokio::test]
async fn an_undecodable_body_fails_only_its_request() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[("accept-language", "en")]).await;
        for command in [2, 3, 4, 9, 10, 11, 18, 19, 27] {
            for body in [&[0xff][..], &[0x0a, 0x7f, 1], &[0x0a, 1, 0xff]] {
                client.send(&request(command, 8, 0, body)).await;
                let (id, refused) = client.response().await;
                let (status, code, text) = refused.unwrap_err();
                assert_eq!((id, status, code), (8, 3, 301_600), "command {command}");
                assert!(text.contains("decoded"), "{text}");
            }
        }
        client.ask::<quote::TradingSessionsResponse>(8, &()).await.unwrap();
    }
}

#[tokio::test]
async fn unknown_commands_are_refused_with_a_message() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[("accept-language", "en")]).await;
        for command in [0, 28, 99, 101, 104, 255] {
            let (status, code, text) = client.ask::<()>(command, &()).await.unwrap_err();
            assert_eq!((status, code), (3, 301_600), "command {command}");
            assert_eq!(text, format!("command {command} is unknown"));
        }
        for command in [12, 13, 14, 15, 16, 20, 21, 22, 23] {
            let (status, code, text) = client.ask::<()>(command, &()).await.unwrap_err();
            assert_eq!((status, code), (7, 301_602), "command {command}");
            assert!(text.ends_with(" are not offered here"), "{text}");
        }
        assert!(client.is_alive().await);
    }
}

#[tokio::test]
async fn responses_and_pushes_from_a_client_are_ignored() {
    let server = Running::start().await;
    for transport in TRANSPORTS {
        let mut client = server.connect(transport).await;
        client.send(&[2, 1, 0, 0, 0, 1, 0, 0, 0, 0]).await;
        client.send(&[2, 27, 0, 0, 0, 9, 7, 0, 0, 1, 0xff]).await;
        client.send(&[3, 0, 0, 0, 0]).await;
        client.send(&[3, 101, 0, 0, 2, 1, 2]).await;
        if transport == TransportLabel::WebSocket {
            client.frame(0x8a, b"a pong nobody waits for").await;
        }
        assert!(client.is_alive().await);
    }
}

#[tokio::test]
async fn fragmented_compressed_and_signed_requests_are_accepted() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[("accept-language", "en")]).await;
        for id in [0, 1, u32::MAX] {
            client.send(&request(8, id, 0, b"")).await;
            let (answered, answer) = client.response().await;
            assert_eq!(answered, id);
            answer.unwrap();
        }
        // The packet has a nonce and a signature after the body, and reserved bits in the header.
        let mut signed = request(1, 2, 0, b"signed");
        signed[0] |= 0x10 | 0xc0;
        signed.extend_from_slice(&[7; 24]);
        client.send(&signed).await;
        assert_eq!(client.response().await, (2, Ok(b"signed".to_vec())));
        let symbols = quote::SymbolsRequest { symbol: vec!["700.HK".to_owned(); 300] };
        let body = wire::compress(&prost::Message::encode_to_vec(&symbols)).unwrap();
        let mut packed = wire::request_header(10, 3, 0, wire::Packing::Gzip, body.len()).unwrap().to_vec();
        packed.extend_from_slice(&body);
        client.send(&packed).await;
        let (_, answer) = client.response().await;
        let answer: quote::StaticInfoResponse = prost::Message::decode(&*answer.unwrap()).unwrap();
        assert_eq!(answer.secu_static_info.len(), 1);
    }
    // Fragments are sent byte by byte, with a ping between them.
    let mut client = server.websocket().await;
    let whole = request(1, 6, 0, b"in pieces");
    client.frame(0x02, &whole[..4]).await;
    client.frame(0x89, b"still there?").await;
    client.frame(0x00, &whole[4..10]).await;
    client.frame(0x80, &whole[10..]).await;
    assert_eq!(client.read().await, Read::Pong(b"still there?".to_vec()));
    assert_eq!(client.response().await, (6, Ok(b"in pieces".to_vec())));
    let mut client = server.tcp().await;
    for byte in request(1, 7, 0, b"byte by byte") {
        client.raw(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(client.response().await, (7, Ok(b"byte by byte".to_vec())));
}

#[tokio::test]
async fn partial_frames_and_idle_connections_do_not_affect_other_connections() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut held = Vec::new();
    for transport in TRANSPORTS {
        held.push(server.connect(transport).await);
        let mut half = server.enter(transport, &account, &[]).await;
        let whole = request(27, 1, 0, &[0; 60_000]);
        match transport {
            TransportLabel::WebSocket => {
                half.raw(&[0x82, 0xfe, 0xea, 0x6b, 0, 0, 0, 0]).await;
                half.raw(&whole[..1000]).await;
            }
            TransportLabel::Tcp => half.raw(&whole[..1000]).await,
        }
        held.push(half);
    }
    // This connection has an incomplete handshake.
    held.push(server.tcp_with(&[0x11]).await);
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        client.ask::<quote::TradingSessionsResponse>(8, &()).await.unwrap();
    }
    drop(held);
    server.until_online(&account, 0).await;
}
