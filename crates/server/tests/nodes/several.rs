//! Two nodes on one database.

use access::{Created, Terms};
use server::Settings;
use wire::{control, quote};

use crate::home;
use crate::support::{Client, Running};

/// A second node on the database of another.
async fn beside(one: &Running) -> Running {
    let dir = tempfile::tempdir().unwrap();
    home::join(dir.path(), one.dir.path());
    Running::start_in(dir, Settings::default()).await
}

async fn reconnect(client: &mut Client, session_id: &str) -> control::AuthResponse {
    let request =
        control::ReconnectRequest { session_id: session_id.to_owned(), metadata: Default::default() };
    client.ask(3, &request).await.unwrap()
}

fn one_connection() -> Terms {
    Terms { connections: 1, ..Terms::default() }
}

#[tokio::test]
async fn a_client_signs_in_at_the_node_that_did_not_issue_its_password_and_goes_on_at_the_other() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", one_connection());
    let otp = one.one_time_password(&account).await;
    let mut first = two.websocket().await;
    let answer = first.sign_in(&otp, &[]).await;
    assert_eq!((answer.online, answer.limit), (1, 1));
    assert_eq!(one.seats(&account).await, (1, 1));
    let (status, code, _) = one.websocket().await.try_sign_in(&otp, &[]).await.unwrap_err();
    assert_eq!((status, code), (5, 401_004), "it was used");
    // The same client comes back to the other node, which takes its seat over; the old connection is closed by its node.
    let mut second = one.tcp().await;
    let resumed = reconnect(&mut second, &answer.session_id).await;
    assert_eq!((resumed.online, resumed.limit), (1, 1));
    assert_eq!(first.closed().await.1, "the session goes on elsewhere");
    assert!(second.is_alive().await);
}

async fn ask(client: &mut Client, of: &str) -> Result<quote::SecurityCandlestickResponse, (u8, u64, String)> {
    let request = quote::SecurityHistoryCandlestickRequest {
        symbol: of.to_owned(),
        period: 1_000,
        query_type: 1,
        offset_request: Some(quote::OffsetRequest { count: 2, ..Default::default() }),
        ..Default::default()
    };
    client.ask(27, &request).await
}

#[tokio::test]
async fn sixty_requests_are_answered_over_both_nodes_and_a_security_is_charged_once() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", Terms::default());
    let mut clients = [one.signed_in(&account).await, two.signed_in(&account).await];
    let mut answered = 0;
    for turn in 0..64 {
        match ask(&mut clients[turn % 2], "700.HK").await {
            Ok(_) => answered += 1,
            Err((status, code, _)) => assert_eq!((status, code), (3, 301_606)),
        }
    }
    assert_eq!(answered, 60);
    let quota = two.get("/v1/quota", &account).await.json();
    assert_eq!(quota["data"]["used"], 1, "{quota}");
}

#[tokio::test]
async fn connections_of_both_nodes_are_listed_and_closed_at_either() {
    let one = Running::start().await;
    let two = beside(&one).await;
    let account = one.account("ann", Terms::default());
    let (mut here, mut there) = (one.signed_in(&account).await, two.signed_in(&account).await);
    let listed = one.get("/v1/connections", &account).await.json();
    assert_eq!(listed["data"]["online"], 2, "{listed}");
    let id = listed["data"]["connections"][1]["id"].as_str().unwrap().to_owned();
    let closed = one.http("DELETE", &format!("/v1/connections/{id}"), &bearer(&account), b"").await;
    assert_eq!(closed.status, 200, "{closed:?}");
    assert_eq!(there.closed().await.1, "closed by the owner of the account");
    assert!(here.is_alive().await);
    one.until_online(&account, 1).await;
}

fn bearer(account: &Created) -> String {
    format!("authorization: Bearer {}\r\n", account.access_token.expose())
}
