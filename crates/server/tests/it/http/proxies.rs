//! Requests through a proxy, and the address that is used as the client's.

use access::{Actor, AuditFilter, Secret, Terms};
use server::Settings;

use crate::support::{Response, Running, machine_now};

async fn behind(trusted: &[&str]) -> Running {
    let trusted_proxies = trusted.iter().map(|text| text.parse().unwrap()).collect();
    Running::start_with(Settings { trusted_proxies, ..Settings::default() }).await
}

const JSON: &str = "content-type: application/json\r\n";

async fn register(server: &Running, head: &str) -> Response {
    let body = r#"{"client_name":"Chart","token_endpoint_auth_method":"none","redirect_uris":["http://localhost/"]}"#;
    server.http("POST", "/oauth2/register", &format!("{JSON}{head}"), body.as_bytes()).await
}

/// Registers clients until a registration is refused. Returns the number of successful
/// registrations.
async fn registrations(server: &Running, head: &str) -> usize {
    for number in 0..100 {
        match register(server, head).await.status {
            201 => {}
            429 => return number,
            status => panic!("{status}"),
        }
    }
    panic!("nobody was told to wait");
}

#[tokio::test]
async fn each_client_of_a_trusted_proxy_has_separate_limits() {
    let server = behind(&["127.0.0.0/8"]).await;
    let one = registrations(&server, "x-forwarded-for: 192.0.2.1\r\n").await;
    assert!(one > 0);
    assert_eq!(register(&server, "x-forwarded-for: 192.0.2.2\r\n").await.status, 201);
    // A header that the client sent precedes the part that the proxy appends.
    let forged = "x-forwarded-for: 192.0.2.3, 192.0.2.1\r\n";
    assert_eq!(register(&server, forged).await.status, 429);
    assert_eq!(register(&server, "forwarded: for=192.0.2.4\r\n").await.status, 201);
    assert_eq!(register(&server, "x-forwarded-for: nobody\r\n").await.status, 201, "that is the proxy");
}

#[tokio::test]
async fn a_forwarding_header_from_an_untrusted_address_is_ignored() {
    let server = behind(&["10.0.0.0/8"]).await;
    registrations(&server, "x-forwarded-for: 192.0.2.1\r\n").await;
    assert_eq!(register(&server, "x-forwarded-for: 192.0.2.2\r\n").await.status, 429);
    assert_eq!(register(&server, "").await.status, 429);
}

#[tokio::test]
async fn sign_ins_are_audited_with_the_client_address() {
    let server = behind(&["127.0.0.1"]).await;
    let ann = server.account("ann", Terms::default());
    let password = Secret::new("paraffin and twine".to_owned());
    server.access.set_password(ann.account_id, &password, &Actor::Operator, machine_now()).unwrap();
    let page = server.http("GET", "/signin", "", b"").await;
    let cookie = page.cookies[0].split(';').next().unwrap().to_owned();
    let csrf =
        page.text().split_once("name=\"csrf\" value=\"").unwrap().1.split('"').next().unwrap().to_owned();
    let sign_in = async |from: &str, password: &str| {
        let kind = "content-type: application/x-www-form-urlencoded\r\n";
        let head = format!("{kind}cookie: {cookie}\r\nx-forwarded-for: {from}\r\n");
        let body = format!("csrf={csrf}&name=ann&password={password}");
        server.http("POST", "/signin", &head, body.as_bytes()).await.status
    };
    let mut refused = 0;
    while sign_in("192.0.2.1", "guess").await == 403 {
        refused += 1;
        assert!(refused < 20);
    }
    assert_eq!(sign_in("192.0.2.2", "paraffin+and+twine").await, 303, "somebody else is not held up");
    let rows = |event| {
        let filter = AuditFilter { event: Some(event), limit: 100, ..AuditFilter::default() };
        server.access.audit(&filter).unwrap()
    };
    assert!(rows("login.refused").iter().all(|row| row.actor == "address 192.0.2.1"));
    assert_eq!(rows("login.accepted")[0].reason, "from 192.0.2.2");
}

#[tokio::test]
async fn a_connection_is_listed_with_the_client_address() {
    let server = behind(&["127.0.0.1"]).await;
    let ann = server.account("ann", Terms::default());
    for (hop, shown) in [("192.0.2.1", "192.0.2.1"), ("[2001:db8::1]:4711", "[2001:db8::1]:4711")] {
        let otp = server.one_time_password(&ann).await;
        let (path, head) = ("/v2?version=1&codec=1&platform=9", format!("x-forwarded-for: {hop}\r\n"));
        let mut client = server.websocket_with(server.addresses.http, path, &head).await;
        client.sign_in(&otp, &[]).await;
        let seen = server.get("/v1/connections", &ann).await.json();
        let connections = seen["data"]["connections"].as_array().unwrap();
        assert!(connections.iter().any(|one| one["address"] == shown), "{seen}");
    }
}
