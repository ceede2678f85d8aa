//! Operators create, change and revoke accounts and issue password links.

use access::{Actor, Created, NewAccount, Role, Terms};
use serde_json::{Value, json};

use crate::support::{NOW, Response, Running};

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

fn refused(answer: &Response) -> (u16, u64, String) {
    let body = answer.json();
    assert_eq!(body["data"], Value::Null, "{body}");
    (answer.status, body["code"].as_u64().unwrap(), body["message"].as_str().unwrap().to_owned())
}

fn operator(server: &Running, name: &str) -> Created {
    let new = NewAccount { role: Role::Operator, ..NewAccount::named(name, Terms::default()) };
    server.access.create(&new, &Actor::Operator, NOW).unwrap()
}

async fn post(server: &Running, path: &str, op: &Created, body: Value) -> Response {
    server.post(path, op, &body.to_string()).await
}

async fn delete(server: &Running, path: &str, op: &Created) -> Response {
    let head = format!("authorization: Bearer {}\r\n", op.access_token.expose());
    server.http("DELETE", path, &head, b"").await
}

#[tokio::test]
async fn new_account_credentials_are_shown_only_once() {
    let server = Running::start().await;
    let op = operator(&server, "op");
    let body = json!({
        "name": "ann", "role": "operator", "packages": ["hk", "US_OVERNIGHT"], "terms": {"level": 3, "rate": "unlimited"},
    });
    let created = data(&post(&server, "/v1/admin/accounts", &op, body).await);
    let account = &created["account"];
    assert_eq!(
        (&account["account"], &account["role"], &account["level"], &account["terms"]["rate"]),
        (&json!("ann"), &json!("operator"), &json!(3), &json!("unlimited"))
    );
    let granted: Vec<&Value> =
        account["rights"].as_array().unwrap().iter().filter(|one| one["granted"] == true).collect();
    assert_eq!(granted.iter().map(|one| &one["package"]).collect::<Vec<_>>(), ["HK", "US_OVERNIGHT"]);
    let token = format!("authorization: Bearer {}\r\n", created["access_token"].as_str().unwrap());
    assert_eq!(server.http("GET", "/v1/admin/accounts/ann", &token, b"").await.status, 200);
    let shown = server.get("/v1/admin/accounts/ann", &op).await;
    for secret in ["app_secret", "access_token"] {
        assert!(!shown.text().contains(created[secret].as_str().unwrap()), "{secret}");
    }
    let audit = data(&server.get("/v1/admin/audit?event=account.created&limit=1", &op).await);
    let row = &audit["rows"][0];
    assert_eq!((&row["account"], &row["actor_account"]), (&json!("ann"), &json!("op")));
    assert!(!audit.to_string().contains(created["app_secret"].as_str().unwrap()));
    // An account created with only a name has the default settings.
    let plain = data(&post(&server, "/v1/admin/accounts", &op, json!({"name": "bob"})).await);
    assert_eq!((&plain["account"]["role"], &plain["account"]["limit"]), (&json!("user"), &json!(100)));
}

#[tokio::test]
async fn names_are_unique_and_limited_in_length() {
    let server = Running::start().await;
    let op = operator(&server, "op");
    let longest = "蠟".repeat(64);
    for name in [longest.as_str(), "a/b?c#d%", "7"] {
        data(&post(&server, "/v1/admin/accounts", &op, json!({"name": name})).await);
        let escaped: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let shown = data(&server.get(&format!("/v1/admin/accounts/{escaped}"), &op).await);
        assert_eq!(shown["account"], name);
        let (status, code, text) =
            refused(&post(&server, "/v1/admin/accounts", &op, json!({"name": name})).await);
        assert_eq!((status, code), (409, 409), "{text}");
    }
    for (body, says) in [
        (json!({}), "missing field"),
        (json!({"name": ""}), "it is empty"),
        (json!({"name": "x".repeat(65)}), "more than 64"),
        (json!({"name": " eve"}), "blank"),
        (json!({"name": "a\u{7}b"}), "control"),
        (json!({"name": ".."}), "URL"),
        (json!({"name": 7}), "the fields are"),
        (json!({"name": "eve", "role": "king"}), "user or operator"),
        (json!({"name": "eve", "region": "eu"}), "ap or us"),
        (json!({"name": "eve", "packages": ["JP"]}), "not a package"),
        (json!({"name": "eve", "packages": "HK"}), "the fields are"),
        (json!({"name": "eve", "terms": {"level": 7}}), "1 to 6"),
        (json!({"name": "eve", "terms": {"quota": 100_001}}), "at most"),
        (json!({"name": "eve", "terms": {"rates": "1/1"}}), "the fields are"),
        (json!({"name": "eve", "password": "x"}), "the fields are"),
    ] {
        let (status, code, text) = refused(&post(&server, "/v1/admin/accounts", &op, body.clone()).await);
        assert_eq!((status, code), (400, 301_600), "{body}: {text}");
        assert!(text.contains(says), "{body}: {text}");
    }
    assert_eq!(refused(&server.get("/v1/admin/accounts/eve", &op).await).0, 404);
}

#[tokio::test]
async fn the_list_is_searched_and_paged() {
    let server = Running::start().await;
    let op = operator(&server, "op");
    for name in ["Una Wick", "wick", "tallow"] {
        server.account(name, Terms::default());
    }
    let list = async |query: &str| data(&server.get(&format!("/v1/admin/accounts?{query}"), &op).await);
    let names = |page: &Value| -> Vec<String> {
        page["accounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["account"].as_str().unwrap().to_owned())
            .collect()
    };
    let found = list("query=WICK").await;
    assert_eq!(
        (names(&found), &found["total"], &found["next"]),
        (vec!["Una Wick".to_owned(), "wick".to_owned()], &json!(2), &Value::Null)
    );
    assert_eq!(names(&list("query=4").await), ["tallow"]);
    assert_eq!(list("query=nobody").await, json!({"total": 0, "accounts": [], "next": null}));
    let first = list("limit=3").await;
    assert_eq!((&first["total"], &first["next"]), (&json!(4), &json!(3)));
    let rest = list("limit=3&after=3").await;
    assert_eq!((names(&rest), &rest["next"]), (vec!["tallow".to_owned()], &Value::Null));
    for query in ["limit=0", "limit=10001", "limit=x", "after=x"] {
        assert_eq!(refused(&server.get(&format!("/v1/admin/accounts?{query}"), &op).await).0, 400, "{query}");
    }
}

#[tokio::test]
async fn a_conflicting_change_of_terms_is_refused() {
    let server = Running::start().await;
    let (one, two) = (operator(&server, "one"), operator(&server, "two"));
    server.account("ann", Terms::default());
    let path = "/v1/admin/accounts/ann";
    let seen = data(&server.get(path, &one).await)["terms"]["text"].clone();
    let set = data(&post(&server, path, &one, json!({"level": 4, "was": seen})).await);
    let (status, code, text) = refused(&post(&server, path, &two, json!({"quota": 7, "was": seen})).await);
    assert_eq!((status, code), (409, 409), "{text}");
    let now = data(&server.get(path, &two).await);
    assert_eq!((&now["terms"]["level"], &now["terms"]["quota"]), (&json!(4), &Value::Null));
    data(&post(&server, path, &two, json!({"quota": 7, "was": set["terms"]["text"]})).await);
    assert_eq!(refused(&post(&server, path, &two, json!({"was": seen})).await).0, 400);
    assert_eq!(refused(&post(&server, path, &two, json!({"quota": 7, "was": null})).await).0, 400);
}

#[tokio::test]
async fn accounts_are_revoked_except_the_last_operator() {
    let server = Running::start().await;
    let (one, two) = (operator(&server, "one"), operator(&server, "two"));
    let ann = server.account("ann", Terms::default());
    let long = json!({"reason": "x".repeat(201)});
    assert_eq!(refused(&post(&server, "/v1/admin/accounts/ann/revoke", &one, long).await).0, 400);
    assert_eq!(server.get("/v1/quota", &ann).await.status, 200);
    let revoked =
        data(&post(&server, "/v1/admin/accounts/ann/revoke", &one, json!({"reason": " left us "})).await);
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    assert_eq!(server.get("/v1/quota", &ann).await.status, 401);
    // A second revocation changes nothing, with or without a body.
    let again = data(&server.post("/v1/admin/accounts/ann/revoke", &one, "").await);
    assert_eq!(again["revoked_at"], revoked["revoked_at"]);
    let audit = data(&server.get("/v1/admin/audit?account=ann&event=account.revoked", &one).await);
    assert_eq!(
        (audit["rows"].as_array().unwrap().len(), &audit["rows"][0]["reason"]),
        (1, &json!("left us"))
    );
    assert_eq!(refused(&post(&server, "/v1/admin/accounts/nobody/revoke", &one, json!({})).await).0, 404);
    data(&post(&server, "/v1/admin/accounts/two/revoke", &one, json!({})).await);
    assert_eq!(server.get("/v1/admin/accounts", &two).await.status, 401);
    let (status, code, text) =
        refused(&post(&server, "/v1/admin/accounts/one/revoke", &one, json!({})).await);
    assert_eq!((status, code), (409, 409), "{text}");
    assert!(text.contains("last operator"), "{text}");
    assert_eq!(server.get("/v1/admin/accounts", &one).await.status, 200);
}

#[tokio::test]
async fn a_password_link_is_issued_shown_and_withdrawn() {
    let server = Running::start().await;
    let op = operator(&server, "op");
    let ann = server.account("ann", Terms::default());
    let path = "/v1/admin/accounts/ann/password-link";
    let sign_in = async || data(&server.get("/v1/admin/accounts/ann", &op).await)["sign_in"].clone();
    assert_eq!(sign_in().await, json!({"password": false, "link_until": null}));
    let link = data(&post(&server, path, &op, json!({})).await);
    assert!(link["path"].as_str().unwrap().starts_with("/password?link="), "{link}");
    assert_eq!(sign_in().await, json!({"password": false, "link_until": link["expires_at"]}));
    data(&delete(&server, path, &op).await);
    assert_eq!(refused(&delete(&server, path, &op).await).0, 404);
    assert_eq!(sign_in().await["link_until"], Value::Null);
    assert_eq!(server.http("GET", link["path"].as_str().unwrap(), "", b"").await.status, 410);
    // Non-operators cannot issue a link, not even for themselves.
    let own = format!("authorization: Bearer {}\r\n", ann.access_token.expose());
    for (method, path) in [
        ("POST", "/v1/admin/accounts"),
        ("POST", "/v1/admin/accounts/op/revoke"),
        ("POST", path),
        ("DELETE", path),
    ] {
        assert_eq!(refused(&server.http(method, path, &own, b"{}").await).0, 403, "{method} {path}");
        assert_eq!(server.http(method, path, "", b"{}").await.status, 401, "{method} {path}");
    }
    data(&post(&server, "/v1/admin/accounts/ann/revoke", &op, json!({})).await);
    let (status, code, text) = refused(&post(&server, path, &op, json!({})).await);
    assert_eq!((status, code), (409, 409), "{text}");
}

#[tokio::test]
async fn only_operators_get_advice_on_limits() {
    let server = Running::start().await;
    for (name, role) in [("op", Role::Operator), ("ann", Role::User)] {
        let terms = Terms { quota: Some(0), rate: Some("2/30".parse().unwrap()), ..Terms::default() };
        let new = NewAccount { role, ..NewAccount::named(name, terms) };
        let account = server.access.create(&new, &Actor::Operator, NOW).unwrap();
        let lifting = format!(" account set {} --unlimited` lifts it", account.account_id.0);
        for (request, status, code, says) in [
            ("period=1m&start=1999-01-04", 400, 301_600, "out of minute kline begin date"),
            ("period=day", 403, 301_607, "this account has used 0 of 0 securities"),
            ("period=day", 429, 301_606, "more than 2 history requests in 30 s"),
        ] {
            let path = format!("/v1/quote/history-candlesticks?symbol=700.HK&{request}");
            let (found, number, text) = refused(&server.get(&path, &account).await);
            assert_eq!((found, number), (status, code), "{name}: {text}");
            assert!(text.starts_with(says), "{text}");
            let is_told = text.contains("; `chandler --store sqlite:/") && text.ends_with(&lifting);
            assert_eq!(is_told, name == "op", "{text}");
            assert_eq!(text.contains("chandler"), name == "op", "{text}");
        }
        // The operator's setting also lifts the limits of other calls.
        for _ in 0..30 {
            assert_ne!(server.get("/v1/asset/fund", &account).await.status, 429);
        }
        let (found, number, text) = refused(&server.get("/v1/asset/fund", &account).await);
        assert_eq!((found, number), (429, 429_002), "{text}");
        assert!(text.contains("at most 30 calls about orders and assets in 30 seconds"), "{text}");
        assert_eq!(text.ends_with(&lifting), name == "op", "{text}");
    }
}
