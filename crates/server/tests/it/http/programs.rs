//! A program authorized by an operator has no more rights than any other program.

use access::{Actor, Created, Grant, Moment, NewAccount, NewClient, PresentedClient, Role, Terms};
use serde_json::json;

use crate::support::{Response, Running, machine_now};

/// Creates an operator, and an access token for a program that acts on the operator's behalf.
fn operator(server: &Running) -> (Created, String) {
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("olga", Terms::default()) };
    let created = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    let (access, here) = (&server.access, "127.0.0.1".parse().unwrap());
    let moment = Moment { now: machine_now(), uptime: std::time::Duration::from_secs(1) };
    let client = access.register_client(&NewClient::default(), here, moment).unwrap();
    let credentials = PresentedClient { id: &client.client.id, secret: None };
    let device = access.start_device(&credentials, "", here, moment).unwrap();
    assert!(access.decide_device(device.user_code.expose(), created.account_id, true, moment.now).unwrap());
    let grant = Grant::Device { device_code: device.device_code.expose(), poller: None };
    let tokens = access.redeem(&credentials, &grant, None, moment).unwrap();
    (created, tokens.access_token.expose().to_owned())
}

async fn ask(server: &Running, method: &str, path: &str, token: &str) -> Response {
    server.http(method, path, &format!("authorization: Bearer {token}\r\n"), b"{}").await
}

#[tokio::test]
async fn an_operators_program_cannot_access_other_accounts() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let (olga, program) = operator(&server);
    let mut client = server.signed_in(&ann).await;
    let seen = server.get("/v1/connections?account=ann", &olga).await.json();
    let id = seen["data"]["connections"][0]["id"].as_str().unwrap();
    let close = format!("/v1/connections/{id}");
    for (method, path) in [
        ("GET", "/v1/admin/accounts"),
        ("GET", "/v1/admin/accounts/olga"),
        ("POST", "/v1/admin/accounts"),
        ("POST", "/v1/admin/accounts/ann"),
        ("POST", "/v1/admin/accounts/ann/revoke"),
        ("POST", "/v1/admin/accounts/ann/password-link"),
        ("POST", "/v1/admin/accounts/ann/rights"),
        ("DELETE", "/v1/admin/accounts/ann/rights?package=US"),
        ("POST", "/v1/admin/reported-assets"),
        ("POST", "/v1/admin/levels/1"),
        ("GET", "/v1/admin/audit"),
        ("GET", "/v1/quota?account=ann"),
        ("GET", "/v1/quota?account=nobody"),
        ("GET", "/v1/connections?account=ann"),
        ("GET", "/v1/connections?account=all"),
        ("DELETE", &close),
    ] {
        let answer = ask(&server, method, path, &program).await;
        let body = answer.json();
        assert_eq!((answer.status, &body["code"]), (403, &json!(403_008)), "{method} {path}: {body}");
        assert!(body["message"].as_str().unwrap().contains("API key"), "{body}");
    }
    assert!(client.is_alive().await);
    // The program can read the account's own data.
    for path in ["/v1/quota", "/v1/quota?account=olga", "/v1/connections", "/v1/connections?account=olga"] {
        assert_eq!(ask(&server, "GET", path, &program).await.status, 200, "{path}");
    }
    // The operator's own token has the rights that the program lacks.
    let token = olga.access_token.expose();
    for (method, path) in
        [("GET", "/v1/admin/accounts"), ("GET", "/v1/quota?account=ann"), ("DELETE", &close)]
    {
        assert_eq!(ask(&server, method, path, token).await.status, 200, "{method} {path}");
    }
    client.closed().await;
}
