use access::{Actor, Terms};
use wire::{control, quote};

use crate::support::{PATIENCE, Running, TRANSPORTS, machine_now, request};

async fn reconnect(
    client: &mut crate::support::Client,
    session_id: &str,
) -> Result<control::AuthResponse, (u8, u64, String)> {
    let request =
        control::ReconnectRequest { session_id: session_id.to_owned(), metadata: Default::default() };
    client.ask(3, &request).await
}

fn one_connection() -> Terms {
    Terms { connections: 1, ..Terms::default() }
}

#[tokio::test]
async fn a_session_expires_after_a_day() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for transport in TRANSPORTS {
        let otp = server.one_time_password(&account).await;
        let mut client = server.connect(transport).await;
        let answer = client.sign_in(&otp, &[("accept-language", "en"), ("something", "else")]).await;
        assert!(!answer.session_id.is_empty());
        let left_s = answer.expires / 1000 - machine_now().0;
        assert!((86_390..=86_400).contains(&left_s), "{left_s} s");
        assert_eq!(answer.limit, 10);
    }
}

#[tokio::test]
async fn a_one_time_password_opens_one_connection() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for transport in TRANSPORTS {
        let otp = server.one_time_password(&account).await;
        let mut first = server.connect(transport).await;
        first.sign_in(&otp, &[]).await;
        let (status, code, text) = server.connect(transport).await.try_sign_in(&otp, &[]).await.unwrap_err();
        assert_eq!((status, code), (5, 401_004));
        assert!(text.contains("used"), "{text}");
        assert!(first.is_alive().await);
    }
}

#[tokio::test]
async fn a_sign_in_without_a_free_slot_does_not_use_up_the_password() {
    let server = Running::start().await;
    let account = server.account("ann", one_connection());
    let first = server.signed_in(&account).await;
    let otp = server.one_time_password(&account).await;
    assert_eq!(server.slots(&account).await, (1, 1));
    let (status, code, text) = server.websocket().await.try_sign_in(&otp, &[]).await.unwrap_err();
    assert_eq!((status, code), (6, 403), "as the published service");
    assert!(text.starts_with("connections limitation is hit: 1 of 1 connections"), "{text}");
    drop(first);
    server.until_online(&account, 0).await;
    let answer = server.tcp().await.sign_in(&otp, &[]).await;
    assert_eq!((answer.online, answer.limit), (1, 1));
}

#[tokio::test]
async fn requests_before_signing_in_are_refused() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.connect(transport).await;
        for command in [4, 8, 16, 27, 99, 255] {
            let refused = client.ask::<control::Error>(command, &control::Error::default()).await;
            let (status, code, text) = refused.unwrap_err();
            assert_eq!((status, code), (5, 401_004), "command {command}");
            assert!(text.contains("sign in"), "{text}");
        }
        // An unauthenticated connection does not occupy a slot.
        assert_eq!(server.slots(&account).await.0, 0);
        let otp = server.one_time_password(&account).await;
        client.sign_in(&otp, &[]).await;
        client.ask::<quote::TradingSessionsResponse>(8, &()).await.unwrap();
        drop(client);
        server.until_online(&account, 0).await;
    }
}

#[tokio::test]
async fn a_second_sign_in_on_one_connection_does_not_count_twice() {
    let server = Running::start().await;
    let (ann, bob) = (server.account("ann", one_connection()), server.account("bob", one_connection()));
    for transport in TRANSPORTS {
        let mut client = server.connect(transport).await;
        let first = client.sign_in(&server.one_time_password(&ann).await, &[]).await;
        let second = client.sign_in(&server.one_time_password(&ann).await, &[]).await;
        assert_ne!(first.session_id, second.session_id);
        assert_eq!((first.online, second.online), (1, 1));
        // Reconnecting with the connection's own session does not close the connection.
        let third = reconnect(&mut client, &second.session_id).await.unwrap();
        assert_eq!(third.online, 1);
        // A refused sign-in changes nothing.
        client.try_sign_in("o_nothing", &[]).await.unwrap_err();
        client.ask::<quote::TradingSessionsResponse>(8, &()).await.unwrap();
        // Signing in as another account moves the slot.
        client.sign_in(&server.one_time_password(&bob).await, &[]).await;
        assert_eq!((server.slots(&ann).await.0, server.slots(&bob).await.0), (0, 1));
        let profile: quote::QuoteProfileResponse = client.ask(4, &()).await.unwrap();
        assert_eq!(profile.member_id, bob.account_id.0);
        drop(client);
        server.until_online(&bob, 0).await;
    }
}

#[tokio::test]
async fn reconnecting_closes_the_old_connection() {
    let server = Running::start().await;
    let account = server.account("ann", one_connection());
    for transport in TRANSPORTS {
        let otp = server.one_time_password(&account).await;
        let mut old = server.connect(transport).await;
        let session = old.sign_in(&otp, &[]).await;
        let mut new = server.connect(transport).await;
        let answer = reconnect(&mut new, &session.session_id).await.unwrap();
        assert_ne!(answer.session_id, session.session_id);
        assert!(answer.expires > machine_now().0 * 1000);
        assert_eq!((answer.online, answer.limit), (1, 1));
        assert_eq!(old.closed().await.0, 6);
        new.ask::<quote::TradingSessionsResponse>(8, &()).await.unwrap();
        // Both session ids stay valid.
        let mut newer = server.connect(transport).await;
        reconnect(&mut newer, &session.session_id).await.unwrap();
        assert_eq!(new.closed().await.0, 6);
        let mut newest = server.connect(transport).await;
        reconnect(&mut newest, &answer.session_id).await.unwrap();
        assert_eq!(newer.closed().await.0, 6);
        assert_eq!(server.slots(&account).await, (1, 1));
        drop(newest);
        server.until_online(&account, 0).await;
    }
}

#[tokio::test]
async fn concurrent_reconnects_leave_one_connection() {
    let server = Running::start().await;
    let account = server.account("ann", one_connection());
    let session = {
        let otp = server.one_time_password(&account).await;
        server.websocket().await.sign_in(&otp, &[]).await
    };
    let mut clients = Vec::new();
    for number in 0..8 {
        clients.push(server.connect(TRANSPORTS[number % 2]).await);
    }
    let request_body = prost::Message::encode_to_vec(&control::ReconnectRequest {
        session_id: session.session_id,
        metadata: Default::default(),
    });
    for client in &mut clients {
        client.send(&request(3, 1, 0, &request_body)).await;
    }
    for client in &mut clients {
        client.response().await.1.unwrap();
    }
    let mut ending = tokio::task::JoinSet::new();
    for mut client in clients {
        ending.spawn(async move { client.closed().await.0 });
    }
    // All but one connection are closed.
    for _ in 0..7 {
        assert_eq!(ending.join_next().await.unwrap().unwrap(), 6);
    }
    assert_eq!(server.slots(&account).await, (1, 1));
}

#[tokio::test]
async fn a_session_survives_a_restart_of_the_server() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let otp = server.one_time_password(&account).await;
    let mut client = server.websocket().await;
    let session = client.sign_in(&otp, &[("accept-language", "en")]).await;
    let unused = server.one_time_password(&account).await;
    let dir = server.stop().await;
    assert_eq!(client.closed().await.0, 2);
    let server = Running::start_in(dir, Default::default()).await;
    for transport in TRANSPORTS {
        let mut client = server.connect(transport).await;
        reconnect(&mut client, &session.session_id).await.unwrap();
        client.ask::<quote::QuoteProfileResponse>(4, &()).await.unwrap();
    }
    // One-time passwords do not survive a restart, so a client requests another password.
    let refused = server.websocket().await.try_sign_in(&unused, &[]).await.unwrap_err();
    assert_eq!((refused.0, refused.1), (5, 401_004));
}

#[tokio::test]
async fn invalid_and_revoked_sessions_are_refused() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let otp = server.one_time_password(&account).await;
    let session = server.websocket().await.sign_in(&otp, &[]).await.session_id;
    let mut touched = session.clone();
    touched.replace_range(10..11, if &session[10..11] == "A" { "B" } else { "A" });
    for wrong in ["", "sess-0001", touched.as_str(), &"A".repeat(4_000)] {
        let refused = reconnect(&mut server.tcp().await, wrong).await.unwrap_err();
        assert_eq!((refused.0, refused.1), (5, 401_004), "{wrong:.20}");
    }
    // A packet of this length is not read from an unauthenticated client.
    for transport in TRANSPORTS {
        let mut client = server.connect(transport).await;
        client.send(&request(3, 1, 0, &[b'A'; 5_000])).await;
        assert_eq!(client.closed().await.0, 3, "{transport:?}");
    }
    server.access.revoke(account.account_id, &Actor::Operator, "", machine_now()).unwrap();
    for transport in TRANSPORTS {
        let refused = reconnect(&mut server.connect(transport).await, &session).await.unwrap_err();
        assert_eq!((refused.0, refused.1), (5, 401_004));
    }
}

#[tokio::test]
async fn closed_connections_are_not_counted() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { connections: 4, ..Terms::default() });
    let mut clients = Vec::new();
    for number in 1..=4 {
        let otp = server.one_time_password(&account).await;
        let mut client = server.connect(TRANSPORTS[number as usize % 2]).await;
        let answer = client.sign_in(&otp, &[]).await;
        assert_eq!((answer.online, answer.limit), (number, 4));
        clients.push(client);
    }
    assert_eq!(server.slots(&account).await, (4, 4));
    // One client disconnects abruptly, and another closes the connection properly.
    drop(clients.pop());
    server.until_online(&account, 3).await;
    let mut websocket = clients.remove(1);
    websocket.frame(0x88, &[]).await;
    server.until_online(&account, 2).await;
}

#[tokio::test]
async fn refused_passwords_and_sessions_are_audited() {
    let server = Running::start().await;
    let account = server.account("ann", one_connection());
    let filter = access::AuditFilter { event: Some("login.refused"), limit: 10, ..Default::default() };
    let mut wanted = 0;
    for transport in TRANSPORTS {
        server.connect(transport).await.try_sign_in("o_guessed", &[]).await.unwrap_err();
        let open = server.enter(transport, &account, &[]).await;
        let otp = server.one_time_password(&account).await;
        server.connect(transport).await.try_sign_in(&otp, &[]).await.unwrap_err();
        reconnect(&mut server.connect(transport).await, "no session of ours").await.unwrap_err();
        wanted += 3;
        // The response does not wait for the audit row.
        let written = async {
            while server.access.audit(&filter).unwrap().len() < wanted {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, written).await.expect("the rows within the time allowed");
        drop(open);
        server.until_online(&account, 0).await;
    }
    let rows = server.access.audit(&filter).unwrap();
    let of_ann = rows.iter().filter(|row| row.account == Some(account.account_id)).count();
    assert_eq!((rows.len(), of_ann), (6, 2), "{rows:?}");
    let text = format!("{rows:?}");
    assert!(!text.contains("o_guessed") && !text.contains("no session of ours"), "{text}");
}
