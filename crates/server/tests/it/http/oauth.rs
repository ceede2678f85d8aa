//! OAuth over HTTP as clients use it, with form requests and plain JSON responses. The OAuth rules
//! are tested in `access`; these tests cover status codes, headers, and the requests of public
//! clients.

use access::{Actor, Created, NewAccount, Region, Terms};
use serde_json::{Value, json};
use server::Settings;
use wire::quote::TradingSessionsResponse;

use crate::support::{Response, Running, TransportLabel, machine_now};

const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";
const JSON: &str = "content-type: application/json\r\n";
const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const BACK: &str = "http://localhost:60355/callback";

/// A server, an account, and a client registered like the public client.
struct House {
    server: Running,
    account: Created,
    client: Value,
}

impl House {
    async fn new() -> House {
        House::with(Settings::default(), Region::Ap).await
    }

    async fn with(settings: Settings, region: Region) -> House {
        let server = Running::start_with(settings).await;
        let new = NewAccount { region, ..NewAccount::named("ann", Terms::default()) };
        let account = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
        let client = register(&server, &json!({"client_name": "ann@lab", "redirect_uris": [BACK]})).await;
        assert_eq!(client.status, 201, "{client:?}");
        House { server, account, client: client.json() }
    }

    fn id(&self) -> &str {
        self.client["client_id"].as_str().unwrap()
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        post(&self.server, path, "", fields).await
    }

    async fn start(&self) -> Value {
        let answer =
            self.post("/oauth2/device/authorize", &[("client_id", self.id()), ("invite-code", "X1")]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    fn decide(&self, device: &Value, approve: bool) {
        let code = device["user_code"].as_str().unwrap();
        assert!(
            self.server.access.decide_device(code, self.account.account_id, approve, machine_now()).unwrap()
        );
    }

    async fn poll(&self, device: &Value, region: &str) -> Response {
        let head = if region.is_empty() { String::new() } else { format!("x-dc-region: {region}\r\n") };
        let code = device["device_code"].as_str().unwrap();
        let fields = [("client_id", self.id()), ("grant_type", DEVICE), ("device_code", code)];
        post(&self.server, "/oauth2/token", &head, &fields).await
    }

    async fn tokens(&self) -> Value {
        let device = self.start().await;
        self.decide(&device, true);
        let answer = self.poll(&device, "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Returns the authorization code that a user's consent produces.
    fn code(&self) -> String {
        let query = format!("response_type=code&client_id={}&state=s&redirect_uri={BACK}", self.id());
        let request = self.server.access.check_authorization(&query).unwrap();
        let account = self.account.account_id;
        let url = self.server.access.approve_authorization(&request, account, machine_now()).unwrap();
        url.split(['=', '&']).nth(1).unwrap().to_owned()
    }

    async fn refresh(&self, tokens: &Value) -> Response {
        let token = tokens["refresh_token"].as_str().unwrap();
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", self.id())];
        self.post("/oauth2/token", &fields).await
    }

    /// Returns status and code of an API call with these tokens.
    async fn business(&self, tokens: &Value) -> (u16, i64) {
        let head = format!("authorization: Bearer {}\r\n", tokens["access_token"].as_str().unwrap());
        let answer = self.server.http("GET", "/v1/socket/token", &head, b"").await;
        (answer.status, answer.json()["code"].as_i64().unwrap())
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn post(server: &Running, path: &str, head: &str, fields: &[(&str, &str)]) -> Response {
    server.http("POST", path, &format!("{FORM}{head}"), form(fields).as_bytes()).await
}

async fn register(server: &Running, metadata: &Value) -> Response {
    server.http("POST", "/oauth2/register", JSON, metadata.to_string().as_bytes()).await
}

/// Returns status and error code of a response in the OAuth error format.
#[track_caller]
fn refused(answer: &Response) -> (u16, String) {
    let object = answer.json();
    assert!(answer.header("content-type").unwrap().starts_with("application/json"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(object["error_description"].as_str().is_some_and(|text| !text.is_empty()), "{object}");
    assert!(object.get("code").is_none() && object.get("data").is_none(), "no envelope: {object}");
    (answer.status, object["error"].as_str().unwrap().to_owned())
}

#[track_caller]
fn is(answer: &Response, status: u16, error: &str) {
    assert_eq!(refused(answer), (status, error.to_owned()));
}

#[tokio::test]
async fn the_metadata_lists_endpoints_at_the_server_address() {
    let house = House::new().await;
    let answer = house.server.http("GET", "/.well-known/oauth-authorization-server", "", b"").await;
    let metadata = answer.json();
    assert_eq!(answer.status, 200);
    let base = format!("http://{}", house.server.addresses.http);
    assert_eq!(metadata["issuer"], base);
    for (field, path) in [
        ("authorization_endpoint", "/oauth2/authorize"),
        ("token_endpoint", "/oauth2/token"),
        ("device_authorization_endpoint", "/oauth2/device/authorize"),
        ("registration_endpoint", "/oauth2/register"),
        ("revocation_endpoint", "/oauth2/revoke"),
    ] {
        assert_eq!(metadata[field], format!("{base}{path}"));
    }
    assert!(metadata["grant_types_supported"].as_array().unwrap().contains(&DEVICE.into()));
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256", "plain"]));
}

#[tokio::test]
async fn the_host_header_is_not_echoed() {
    let house = House::new().await;
    let ours = house.server.addresses.http;
    for (host, named) in [
        ("evil.example", ours.to_string()),
        ("evil.example:8080", ours.to_string()),
        ("192.0.2.7", ours.to_string()),
        ("localhost:9000", "localhost:9000".to_owned()),
        (&ours.to_string(), ours.to_string()),
    ] {
        let paths = [
            ("GET", "/.well-known/oauth-authorization-server", String::new()),
            ("POST", "/oauth2/device/authorize", form(&[("client_id", house.id())])),
            ("POST", "/oauth2/register", r#"{"client_name":"x"}"#.to_owned()),
        ];
        for (method, path, body) in paths {
            let kind = if path.ends_with("register") {
                "application/json"
            } else {
                "application/x-www-form-urlencoded"
            };
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: {kind}\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            let answer = house.server.raw(&request).await.text().to_owned();
            assert!(answer.contains(&format!("http://{named}/")), "{host} {path}: {answer}");
            assert!(!answer.contains("evil"), "{host} {path}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_registration_must_be_json() {
    let house = House::new().await;
    let body = br#"{"client_name":"x"}"#;
    for (kind, expected) in [
        ("content-type: application/json\r\n", 201),
        ("content-type: Application/JSON; charset=utf-8\r\n", 201),
        ("", 415),
        ("content-type: text/plain\r\n", 415),
        ("content-type: application/x-www-form-urlencoded\r\n", 415),
        ("content-type: multipart/form-data; boundary=application/json\r\n", 415),
        ("content-type: application/jsonp\r\n", 415),
    ] {
        let answer = house.server.http("POST", "/oauth2/register", kind, body).await;
        assert_eq!(answer.status, expected, "{kind}");
        if expected == 415 {
            is(&answer, 415, "invalid_client_metadata");
        }
    }
}

#[tokio::test]
async fn every_response_forbids_content_sniffing() {
    let house = House::new().await;
    for (method, path) in [
        ("GET", "/health"),
        ("GET", "/openapi.json"),
        ("GET", "/v1/me"),
        ("GET", "/nowhere"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("POST", "/oauth2/token"),
        ("GET", "/udf/config"),
        ("GET", "/"),
        ("GET", "/signin"),
        ("GET", "/assets/pages.css"),
        ("OPTIONS", "/quote/quotes"),
        ("GET", "/favicon.ico"),
    ] {
        let answer = house.server.http(method, path, "", b"").await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
    }
}

#[tokio::test]
async fn the_public_url_appears_in_all_responses() {
    let public_url = Some("https://candles.example.com/".parse().unwrap());
    let house = House::with(Settings { public_url, ..Settings::default() }, Region::Ap).await;
    let uri = house.client["registration_client_uri"].as_str().unwrap();
    assert_eq!(uri, format!("https://candles.example.com/oauth2/register/{}", house.id()));
    let device = house.start().await;
    let confirm = "https://candles.example.com/oauth2/device/authorize/confirm";
    assert_eq!(device["verification_uri"], confirm);
    let answer = house.server.http("GET", "/.well-known/oauth-authorization-server", "", b"").await;
    assert_eq!(answer.json()["issuer"], "https://candles.example.com");
}

#[tokio::test]
async fn a_client_is_registered_and_deleted() {
    let house = House::new().await;
    let field =
        |name: &str| house.client[name].as_str().unwrap_or_else(|| panic!("{}", house.client)).to_owned();
    let base = format!("http://{}", house.server.addresses.http);
    assert_eq!(field("registration_client_uri"), format!("{base}/oauth2/register/{}", house.id()));
    assert_eq!(
        (field("client_name").as_str(), field("token_endpoint_auth_method").as_str()),
        ("ann@lab", "none")
    );
    assert_eq!(house.client["client_secret_expires_at"], 0);
    assert!(house.client["client_id_issued_at"].as_i64().is_some_and(|at| at > 1_700_000_000));
    assert!(house.client.get("client_secret").is_none());
    let tokens = house.tokens().await;
    let path = format!("/oauth2/register/{}", house.id());
    let head = format!("authorization: Bearer {}\r\n", field("registration_access_token"));
    let read = house.server.http("GET", &path, &head, b"").await;
    assert_eq!((read.status, read.json()["redirect_uris"].clone()), (200, json!([BACK])));
    assert_eq!(read.json()["registration_access_token"], field("registration_access_token"));
    assert!(read.json().get("client_secret").is_none());
    for head in ["", "authorization: Bearer rat_wrong\r\n", "authorization: Basic eDp5\r\n"] {
        for method in ["GET", "DELETE"] {
            let answer = house.server.http(method, &path, head, b"").await;
            is(&answer, 401, "invalid_token");
            assert!(answer.header("www-authenticate").is_some());
        }
    }
    is(&house.server.http("DELETE", "/oauth2/register/unknown", &head, b"").await, 401, "invalid_token");
    assert_eq!(house.server.http("PUT", &path, &head, b"{}").await.status, 405);
    assert_eq!(house.business(&tokens).await, (200, 0));
    let gone = house.server.http("DELETE", &path, &head, b"").await;
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    assert_eq!(house.business(&tokens).await, (401, 401_004));
    is(&house.refresh(&tokens).await, 400, "invalid_client");
    is(&house.server.http("DELETE", &path, &head, b"").await, 401, "invalid_token");
}

#[tokio::test]
async fn invalid_registrations_are_refused_with_a_reason() {
    let house = House::new().await;
    for body in
        ["", "[]", "7", "{", "null", r#"{"client_name":7}"#, r#"{"redirect_uris":"x"}"#, &"[".repeat(10_000)]
    {
        let answer = house.server.http("POST", "/oauth2/register", JSON, body.as_bytes()).await;
        is(&answer, 400, "invalid_client_metadata");
    }
    let large = json!({"client_name": "x", "more": "x".repeat(65_536)});
    is(&register(&house.server, &large).await, 400, "invalid_client_metadata");
    is(
        &register(&house.server, &json!({"redirect_uris": ["http://example.com"]})).await,
        400,
        "invalid_redirect_uri",
    );
    let fine = json!({"client_name": null, "redirect_uris": null, "logo_uri": "https://x", "contacts": [1]});
    assert_eq!(register(&house.server, &fine).await.status, 201);
    let mut last = register(&house.server, &json!({})).await;
    for _ in 0..20 {
        last = register(&house.server, &json!({})).await;
    }
    is(&last, 429, "temporarily_unavailable");
    assert!(last.header("retry-after").is_some_and(|wait| wait.parse::<u32>().unwrap() > 0));
}

#[tokio::test]
async fn the_device_flow_works_for_the_public_client() {
    let house = House::new().await;
    let device = house.start().await;
    let (code, user_code) = (device["device_code"].as_str().unwrap(), device["user_code"].as_str().unwrap());
    assert!(code.len() > 43);
    assert_eq!((device["expires_in"].as_i64(), device["interval"].as_i64()), (Some(600), Some(5)));
    let base = format!("http://{}", house.server.addresses.http);
    assert_eq!(device["verification_uri"], format!("{base}/oauth2/device/authorize/confirm"));
    let complete = device["verification_uri_complete"].as_str().unwrap();
    assert_eq!(
        complete,
        format!("{base}/oauth2/device/authorize/confirm?user_code={user_code}&client_id={}", house.id())
    );
    // Two pollers run concurrently, and one of them polls again too soon.
    is(&house.poll(&device, "ap").await, 400, "authorization_pending");
    is(&house.poll(&device, "us").await, 400, "authorization_pending");
    is(&house.poll(&device, "us").await, 400, "slow_down");
    house.decide(&device, true);
    let answer = house.poll(&device, "us").await;
    let tokens = answer.json();
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("pragma"), Some("no-cache"));
    assert_eq!(
        (tokens["token_type"].as_str(), tokens["expires_in"].as_i64()),
        (Some("Bearer"), Some(2_592_000))
    );
    assert_eq!(tokens["scope"], "openapi");
    // The token has the account's region, regardless of the header.
    assert!(tokens["access_token"].as_str().unwrap().starts_with("ap_"));
    assert!(tokens["refresh_token"].as_str().unwrap().starts_with("ap_rt_"));
    let (_, other) = refused(&house.poll(&device, "ap").await);
    assert!(other == "authorization_pending" || other == "slow_down", "{other}");
    is(&house.poll(&device, "us").await, 400, "invalid_grant");
    assert_eq!(house.business(&tokens).await, (200, 0));
    let denied = house.start().await;
    house.decide(&denied, false);
    is(&house.poll(&denied, "ap").await, 400, "access_denied");
}

#[tokio::test]
async fn a_code_is_exchanged_and_tokens_are_refreshed() {
    let house = House::new().await;
    let code = house.code();
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("client_id", house.id()),
        ("redirect_uri", BACK),
    ];
    let answer = house.post("/oauth2/token", &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let first = answer.json();
    let second = house.refresh(&first).await.json();
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    assert_eq!(house.business(&second).await, (200, 0));
    is(&house.post("/oauth2/token", &fields).await, 400, "invalid_grant");
    assert_eq!(house.business(&second).await, (401, 401_004), "used twice, so all of it ends");
    is(&house.refresh(&second).await, 400, "invalid_grant");
}

#[tokio::test]
async fn invalid_requests_get_standard_error_codes() {
    let house = House::new().await;
    let id = house.id();
    let wrong: &[(&[(&str, &str)], &str)] = &[
        (&[("client_id", id)], "invalid_request"),
        (&[("grant_type", "refresh_token"), ("refresh_token", "x")], "invalid_request"),
        (&[("client_id", id), ("grant_type", "password")], "unsupported_grant_type"),
        (&[("client_id", id), ("grant_type", "client_credentials")], "unsupported_grant_type"),
        (&[("client_id", id), ("grant_type", "refresh_token")], "invalid_request"),
        (&[("client_id", id), ("grant_type", "refresh_token"), ("refresh_token", "")], "invalid_request"),
        (&[("client_id", id), ("grant_type", "authorization_code")], "invalid_request"),
        (&[("client_id", id), ("grant_type", DEVICE)], "invalid_request"),
        (
            &[("client_id", id), ("client_id", id), ("grant_type", DEVICE), ("device_code", "x")],
            "invalid_request",
        ),
        (&[("client_id", "x"), ("grant_type", DEVICE), ("device_code", "x")], "invalid_client"),
        (&[("client_id", id), ("grant_type", DEVICE), ("device_code", "x")], "invalid_grant"),
        (&[("client_id", id), ("grant_type", "authorization_code"), ("code", "x")], "invalid_grant"),
        (&[("client_id", id), ("grant_type", "refresh_token"), ("refresh_token", "x")], "invalid_grant"),
        (
            &[("client_id", id), ("client_secret", "x"), ("grant_type", DEVICE), ("device_code", "x")],
            "invalid_client",
        ),
    ];
    for (fields, error) in wrong {
        is(&house.post("/oauth2/token", fields).await, 400, error);
    }
    let scope = [("client_id", id), ("scope", "openid")];
    is(&house.post("/oauth2/device/authorize", &scope).await, 400, "invalid_scope");
    is(&house.post("/oauth2/device/authorize", &[("client_id", "x")]).await, 400, "invalid_client");
    is(&house.post("/oauth2/device/authorize", &[]).await, 400, "invalid_request");
    let body = form(&[("client_id", id), ("grant_type", DEVICE), ("device_code", "x")]);
    for head in ["", "content-type: application/json\r\n", "content-type: text/plain\r\n"] {
        is(&house.server.http("POST", "/oauth2/token", head, body.as_bytes()).await, 400, "invalid_request");
    }
    let large = format!("{body}&more={}", "x".repeat(16_384));
    is(&house.server.http("POST", "/oauth2/token", FORM, large.as_bytes()).await, 400, "invalid_request");
    assert_eq!(house.server.http("GET", &format!("/oauth2/token?{body}"), "", b"").await.status, 405);
}

#[tokio::test]
async fn a_client_secret_is_accepted_in_the_form_or_in_the_header() {
    use base64::Engine;
    let house = House::new().await;
    let metadata = json!({"token_endpoint_auth_method": "client_secret_basic", "redirect_uris": [BACK]});
    let client = register(&house.server, &metadata).await.json();
    let (id, secret) = (client["client_id"].as_str().unwrap(), client["client_secret"].as_str().unwrap());
    let path = "/oauth2/device/authorize";
    let basic = |id: &str, secret: &str| {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"));
        format!("authorization: Basic {pair}\r\n")
    };
    let ask = async |head: &str, fields: &[(&str, &str)]| post(&house.server, path, head, fields).await;
    assert_eq!(ask(&basic(id, secret), &[]).await.status, 200);
    assert_eq!(ask(&basic(id, secret), &[("client_id", id)]).await.status, 200);
    assert_eq!(ask("", &[("client_id", id), ("client_secret", secret)]).await.status, 200);
    assert_eq!(
        ask(&basic(house.id(), ""), &[]).await.status,
        200,
        "a client without a secret, in the header"
    );
    for head in
        [basic(id, "wrong"), basic(id, ""), basic("x", secret), "authorization: Basic ?\r\n".to_owned()]
    {
        let answer = ask(&head, &[]).await;
        is(&answer, 401, "invalid_client");
        assert!(answer.header("www-authenticate").unwrap().starts_with("basic"));
    }
    is(&ask("", &[("client_id", id)]).await, 400, "invalid_client");
    is(&ask("", &[("client_id", id), ("client_secret", "wrong")]).await, 400, "invalid_client");
    is(&ask(&basic(id, secret), &[("client_secret", secret)]).await, 400, "invalid_request");
    is(&ask(&basic(id, secret), &[("client_id", house.id())]).await, 400, "invalid_request");
}

#[tokio::test]
async fn revoking_a_token_ends_the_sign_in_and_its_connections() {
    let house = House::new().await;
    let (tokens, other) = (house.tokens().await, house.tokens().await);
    let otp = async |tokens: &Value| {
        let head = format!("authorization: Bearer {}\r\n", tokens["access_token"].as_str().unwrap());
        let answer = house.server.http("GET", "/v1/socket/token", &head, b"").await.json();
        answer["data"]["otp"].as_str().unwrap().to_owned()
    };
    let (mut ended, mut stored) = (
        house.server.connect(TransportLabel::WebSocket).await,
        house.server.connect(TransportLabel::Tcp).await,
    );
    ended.sign_in(&otp(&tokens).await, &[]).await;
    stored.sign_in(&otp(&other).await, &[]).await;
    let token = tokens["refresh_token"].as_str().unwrap();
    let fields = [("token", token), ("token_type_hint", "refresh_token"), ("client_id", house.id())];
    for _ in 0..2 {
        assert_eq!(house.post("/oauth2/revoke", &fields).await.status, 200);
    }
    assert_eq!(house.post("/oauth2/revoke", &[("token", "x"), ("client_id", house.id())]).await.status, 200);
    is(&house.post("/oauth2/revoke", &[("client_id", house.id())]).await, 400, "invalid_request");
    is(&house.post("/oauth2/revoke", &[("token", token), ("client_id", "x")]).await, 400, "invalid_client");
    let stranger = register(&house.server, &json!({})).await.json();
    let theirs = [
        ("token", other["access_token"].as_str().unwrap()),
        ("client_id", stranger["client_id"].as_str().unwrap()),
    ];
    is(&house.post("/oauth2/revoke", &theirs).await, 400, "unauthorized_client");
    assert_eq!(house.business(&tokens).await, (401, 401_004));
    assert_eq!(house.business(&other).await, (200, 0));
    assert_eq!(ended.closed().await.0, 4);
    let answer: Result<TradingSessionsResponse, _> = stored.ask(8, &TradingSessionsResponse::default()).await;
    assert!(answer.is_ok());
}

#[tokio::test]
async fn an_owner_lists_and_ends_the_sign_ins_of_their_own_account() {
    let house = House::new().await;
    let (tokens, other) = (house.tokens().await, house.tokens().await);
    let stranger = house.server.account("bob", Terms::default());
    let list = house.server.get("/v1/sign-ins", &house.account).await.json();
    let sign_ins = list["data"]["sign_ins"].as_array().unwrap();
    assert_eq!(sign_ins.len(), 2);
    assert_eq!(
        (sign_ins[0]["client_id"].as_str(), &sign_ins[0]["client_name"]),
        (Some(house.id()), &json!("ann@lab"))
    );
    assert_eq!(house.server.get("/v1/sign-ins", &stranger).await.json()["data"]["sign_ins"], json!([]));
    let ask = async |method: &str, path: &str, token: &str| {
        let head = format!("authorization: Bearer {token}\r\n");
        house.server.http(method, path, &head, b"").await
    };
    // A program receives all sign-ins of its account, and its own sign-in is marked.
    let programs = [&tokens, &other].map(|tokens| tokens["access_token"].as_str().unwrap());
    let seen = ask("GET", "/v1/sign-ins", programs[0]).await.json();
    let own = |current: bool| {
        let seen = seen["data"]["sign_ins"].as_array().unwrap();
        let mut of = seen.iter().filter(|one| one["current"] == current);
        let path = format!("/v1/sign-ins/{}", of.next().unwrap()["id"].as_str().unwrap());
        assert!(of.next().is_none() && seen[0]["since"].is_string(), "{seen:?}");
        path
    };
    assert!(sign_ins.iter().all(|one| one["current"] == false), "{sign_ins:?}");
    let (mine, its) = (own(true), own(false));
    assert_eq!(ask("DELETE", &mine, stranger.access_token.expose()).await.status, 404);
    // A program may end only its own sign-in, and is then unauthenticated. Requests for other and
    // for unknown sign-ins get the same refusal.
    for path in [its.as_str(), "/v1/sign-ins/unknown"] {
        let refused = ask("DELETE", path, programs[0]).await;
        assert_eq!((refused.status, &refused.json()["code"]), (403, &json!(403_008)));
        assert!(refused.json()["message"].as_str().unwrap().contains("API key"), "{refused:?}");
    }
    assert_eq!((house.business(&tokens).await, house.business(&other).await), ((200, 0), (200, 0)));
    assert_eq!(ask("DELETE", &mine, programs[0]).await.status, 200);
    assert_eq!((house.business(&tokens).await, house.business(&other).await), ((401, 401_004), (200, 0)));
    let owner = house.account.access_token.expose();
    assert_eq!(ask("DELETE", &mine, owner).await.status, 404);
    assert_eq!(ask("DELETE", &its, owner).await.status, 200);
    assert_eq!(house.business(&other).await, (401, 401_004));
}

#[tokio::test]
async fn a_listener_for_another_region_refuses_the_account() {
    let any = "127.0.0.1:0".parse().unwrap();
    let regional = vec![(Region::Ap, any), (Region::Us, any)];
    let house = House::with(Settings { regional, ..Settings::default() }, Region::Us).await;
    let at = |region| house.server.regional.iter().find(|(known, _)| *known == region).unwrap().1;
    let ask = async |region, fields: &[(&str, &str)]| {
        house.server.http_to(at(region), "POST", "/oauth2/token", FORM, form(fields).as_bytes()).await
    };
    let device = house.start().await;
    house.decide(&device, true);
    let code = device["device_code"].as_str().unwrap();
    let polled = [("client_id", house.id()), ("grant_type", DEVICE), ("device_code", code)];
    is(&ask(Region::Ap, &polled).await, 400, "authorization_pending");
    let tokens = ask(Region::Us, &polled).await.json();
    assert!(tokens["access_token"].as_str().unwrap().starts_with("us_"), "{tokens}");
    let token = tokens["refresh_token"].as_str().unwrap();
    let refresh = [("client_id", house.id()), ("grant_type", "refresh_token"), ("refresh_token", token)];
    is(&ask(Region::Ap, &refresh).await, 400, "invalid_grant");
    assert_eq!(ask(Region::Us, &refresh).await.status, 200);
    let code = house.code();
    let redeem = [
        ("client_id", house.id()),
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", BACK),
    ];
    is(&ask(Region::Ap, &redeem).await, 400, "invalid_grant");
    assert_eq!(ask(Region::Us, &redeem).await.status, 200);
}

#[tokio::test]
async fn a_device_code_is_redeemed_only_once() {
    let house = House::new().await;
    let device = house.start().await;
    house.decide(&device, true);
    let house = std::sync::Arc::new(house);
    let mut polls = tokio::task::JoinSet::new();
    for number in 0..24 {
        let (house, device) = (house.clone(), device.clone());
        polls.spawn(async move { house.poll(&device, ["ap", "us", ""][number % 3]).await.status });
    }
    let statuses = polls.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 23, "{statuses:?}");
}

#[tokio::test]
async fn a_reused_code_and_a_wrong_secret_are_audited() {
    let house = House::new().await;
    let code = house.code();
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", house.id()),
        ("code", code.as_str()),
        ("redirect_uri", BACK),
    ];
    assert_eq!(house.post("/oauth2/token", &fields).await.status, 200);
    is(&house.post("/oauth2/token", &fields).await, 400, "invalid_grant");
    let wrong = [("client_id", house.id()), ("client_secret", "cs_guessed")];
    is(&house.post("/oauth2/device/authorize", &wrong).await, 400, "invalid_client");
    is(&house.post("/oauth2/revoke", &[&wrong[..], &[("token", "x")]].concat()).await, 400, "invalid_client");
    let filter = access::AuditFilter { event: Some("login.refused"), limit: 10, ..Default::default() };
    let rows = house.server.access.audit(&filter).unwrap();
    let accounts: Vec<_> = rows.iter().rev().map(|row| row.account).collect();
    assert_eq!(accounts, [Some(house.account.account_id), None, None], "{rows:?}");
    assert!(rows.iter().all(|row| row.reason.starts_with(&format!("client {}: ", house.id()))), "{rows:?}");
    let text = format!("{rows:?}");
    assert!(!text.contains(&code) && !text.contains("cs_guessed"), "{text}");
}
