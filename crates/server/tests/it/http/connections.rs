//! Listing and closing connections, by their owners and by operators.

use access::{Actor, AuditFilter, Created, NewAccount, Role, Terms};
use serde_json::Value;

use crate::support::{Response, Running, TRANSPORTS, machine_now};

fn operator(server: &Running) -> Created {
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("olga", Terms::default()) };
    server.access.create(&new, &Actor::Operator, machine_now()).unwrap()
}

async fn list(server: &Running, account: &Created, query: &str) -> Value {
    let answer = server.get(&format!("/v1/connections{query}"), account).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["data"].take()
}

async fn close(server: &Running, account: &Created, id: &str) -> Response {
    let head = format!("authorization: Bearer {}\r\n", account.access_token.expose());
    server.http("DELETE", &format!("/v1/connections/{id}"), &head, b"").await
}

fn ids(data: &Value) -> Vec<&str> {
    data["connections"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_owner_sees_only_their_own_connections() {
    let server = Running::start().await;
    let (ann, bob) = (server.account("ann", Terms::default()), server.account("bob", Terms::default()));
    let unknown = list(&server, &ann, "").await;
    assert_eq!((&unknown["online"], &unknown["limit"]), (&0.into(), &10.into()));
    assert_eq!((&unknown["account"], &unknown["region"]), (&"ann".into(), &"ap".into()));
    let mut clients = Vec::new();
    for transport in TRANSPORTS {
        clients.push(server.enter(transport, &ann, &[("accept-language", "en")]).await);
        clients.push(server.enter(transport, &bob, &[]).await);
    }
    // An unauthenticated connection belongs to no account.
    let stranger = server.websocket().await;
    let seen = list(&server, &ann, "").await;
    assert_eq!(seen["online"], 2);
    for ((one, client), transport) in seen["connections"]
        .as_array()
        .unwrap()
        .iter()
        .zip(clients.iter().step_by(2))
        .zip(["websocket", "tcp"])
    {
        assert_eq!(one["account"], "ann");
        assert_eq!(one["account_id"], ann.account_id.0);
        assert_eq!(one["door"], transport);
        assert_eq!(one["address"], client.stream.local_addr().unwrap().to_string());
        let since: jiff::Timestamp = one["since"].as_str().unwrap().parse().unwrap();
        assert!((0..=20).contains(&(machine_now().0 - since.as_second())), "{one}");
    }
    assert_eq!(list(&server, &ann, "?account=ann").await, seen);
    for other in ["bob", "all", "nobody"] {
        let refused = server.get(&format!("/v1/connections?account={other}"), &ann).await;
        assert_eq!((refused.status, &refused.json()["code"]), (403, &403_008.into()), "{other}");
    }
    drop(stranger);
}

#[tokio::test]
async fn closing_a_connection_notifies_the_client_and_frees_the_slot() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms { connections: 1, ..Terms::default() });
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &ann, &[]).await;
        assert_eq!(server.slots(&ann).await, (1, 1));
        let seen = list(&server, &ann, "").await;
        let id = ids(&seen)[0].to_owned();
        assert_eq!(close(&server, &ann, &id).await.status, 200);
        assert_eq!(server.slots(&ann).await, (0, 1));
        let (code, reason) = client.closed().await;
        assert_eq!(code, 5);
        assert!(reason.contains("owner"), "{reason}");
        let again = close(&server, &ann, &id).await;
        assert_eq!((again.status, &again.json()["code"]), (404, &404.into()));
    }
    let filter = AuditFilter { event: Some("connection.closed"), limit: 10, ..AuditFilter::default() };
    let rows = server.access.audit(&filter).unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row.account, Some(ann.account_id));
        assert_eq!(row.actor, format!("account {}", ann.account_id.0));
    }
}

#[tokio::test]
async fn a_connection_of_another_account_is_not_found() {
    let server = Running::start().await;
    let (ann, bob) = (server.account("ann", Terms::default()), server.account("bob", Terms::default()));
    let mut client = server.signed_in(&bob).await;
    let seen = list(&server, &bob, "").await;
    let theirs = close(&server, &ann, ids(&seen)[0]).await;
    for none in ["999", "-1", "x", "18446744073709551616", "%31%32"] {
        let none = close(&server, &ann, none).await;
        assert_eq!((none.status, none.json()), (theirs.status, theirs.json()));
    }
    assert_eq!(theirs.status, 404);
    assert!(client.is_alive().await);
    let filter = AuditFilter { event: Some("connection.closed"), limit: 10, ..AuditFilter::default() };
    assert!(server.access.audit(&filter).unwrap().is_empty());
}

#[tokio::test]
async fn an_operator_sees_and_closes_all_connections() {
    let server = Running::start().await;
    let (ann, olga) = (server.account("ann", Terms::default()), operator(&server));
    let mut client = server.signed_in(&ann).await;
    let mut own = server.signed_in(&olga).await;
    assert_eq!(list(&server, &olga, "").await["online"], 1);
    let all = list(&server, &olga, "?account=all").await;
    assert_eq!((&all["online"], &all["limit"], all.get("account")), (&2.into(), &Value::Null, None));
    let of_ann = list(&server, &olga, "?account=ann").await;
    assert_eq!((&of_ann["account"], ids(&of_ann).len()), (&"ann".into(), 1));
    assert_eq!(server.get("/v1/connections?account=nobody", &olga).await.status, 404);
    assert_eq!(close(&server, &olga, ids(&of_ann)[0]).await.status, 200);
    let (code, reason) = client.closed().await;
    assert_eq!(code, 5);
    assert!(reason.contains("operator"), "{reason}");
    assert!(own.is_alive().await);
    let filter = AuditFilter {
        account: Some(ann.account_id),
        event: Some("connection.closed"),
        limit: 10,
        ..AuditFilter::default()
    };
    assert_eq!(server.access.audit(&filter).unwrap()[0].actor, format!("account {}", olga.account_id.0));
}

#[tokio::test]
async fn a_client_that_was_closed_may_reconnect() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms { connections: 1, ..Terms::default() });
    let otp = server.one_time_password(&ann).await;
    let mut client = server.websocket().await;
    let session = client.sign_in(&otp, &[]).await.session_id;
    let seen = list(&server, &ann, "").await;
    close(&server, &ann, ids(&seen)[0]).await;
    client.closed().await;
    let mut back = server.websocket().await;
    let request = wire::control::ReconnectRequest { session_id: session, metadata: Default::default() };
    let answer: wire::control::AuthResponse = back.ask(3, &request).await.unwrap();
    assert_eq!((answer.online, answer.limit), (1, 1));
    assert_ne!(ids(&list(&server, &ann, "").await), ids(&seen));
}
