//! Tests of the HTML pages with a minimal browser that handles cookies, hidden fields and forms.

mod consent;
mod device;
mod front;
mod guessing;
mod guest;
mod home;
mod once;
mod password;
mod plain;
mod session;
mod sign_in;

use std::collections::BTreeMap;

use access::{Actor, Created, Secret, Terms};
use serde_json::Value;

use crate::support::{Response, Running, machine_now};

const PASSWORD: &str = "paraffin and twine";
const CONFIRM: &str = "/oauth2/device/authorize/confirm";
const CALLBACK: &str = "http://localhost:60355/callback";

async fn house() -> (Running, Created) {
    let server = Running::start().await;
    let ann = person(&server, "ann");
    (server, ann)
}

fn person(server: &Running, name: &str) -> Created {
    let created = server.account(name, Terms::default());
    let password = Secret::new(PASSWORD.to_owned());
    server.access.set_password(created.account_id, &password, &Actor::Operator, machine_now()).unwrap();
    created
}

/// Registers a client and returns its id.
async fn register(server: &Running, name: &str) -> String {
    let body = serde_json::json!({
        "client_name": name, "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none",
    });
    let head = "content-type: application/json\r\n";
    let answer = server.http("POST", "/oauth2/register", head, body.to_string().as_bytes()).await;
    answer.json()["client_id"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

async fn form(server: &Running, path: &str, fields: &[(&str, &str)]) -> Value {
    let head = "content-type: application/x-www-form-urlencoded\r\n";
    server.http("POST", path, head, encoded(fields).as_bytes()).await.json()
}

/// Starts a device authorization. Returns the device code and the user code.
async fn waiting(server: &Running, client: &str) -> (String, String) {
    let answer = form(server, "/oauth2/device/authorize", &[("client_id", client)]).await;
    let text = |name: &str| answer[name].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    let complete = text("verification_uri_complete");
    assert!(complete.contains(&format!("{CONFIRM}?")), "{complete}");
    (text("device_code"), text("user_code"))
}

/// Polls as a device. Returns `ok` or the error code. Each call should use another `poller`, so
/// that no poller polls too fast.
async fn poll(server: &Running, client: &str, device_code: &str, poller: &str) -> String {
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", client),
        ("device_code", device_code),
    ];
    let head = format!("content-type: application/x-www-form-urlencoded\r\nx-dc-region: {poller}\r\n");
    let answer = server.http("POST", "/oauth2/token", &head, encoded(&fields).as_bytes()).await.json();
    if answer["access_token"].is_string() {
        "ok".to_owned()
    } else {
        answer["error"].as_str().unwrap().to_owned()
    }
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            })
            .collect()
    };
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
    pairs.join("&")
}

/// A browser with a cookie jar.
struct Browser<'a> {
    server: &'a Running,
    /// Address of the listener to connect to.
    at: std::net::SocketAddr,
    cookies: BTreeMap<String, String>,
    /// Header lines sent with every request.
    head: String,
}

impl<'a> Browser<'a> {
    fn new(server: &'a Running) -> Browser<'a> {
        Browser { server, at: server.addresses.http, cookies: BTreeMap::new(), head: String::new() }
    }

    /// Returns a browser that has signed in.
    async fn signed_in(server: &'a Running, name: &str) -> Browser<'a> {
        let mut browser = Browser::new(server);
        let answer = browser.sign_in("/signin", name, PASSWORD).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        browser
    }

    async fn ask(&mut self, method: &str, path: &str, head: &str, body: &str) -> Response {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies =
            if cookies.is_empty() { String::new() } else { format!("cookie: {}\r\n", cookies.join("; ")) };
        let head = format!("{cookies}{}{head}", self.head);
        let answer = self.server.http_to(self.at, method, path, &head, body.as_bytes()).await;
        for cookie in &answer.cookies {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    async fn get(&mut self, path: &str) -> Response {
        self.ask("GET", path, "", "").await
    }

    async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.ask("POST", path, "content-type: application/x-www-form-urlencoded\r\n", &encoded(fields)).await
    }

    /// Opens a page, fills in the sign-in form, and submits the form.
    async fn sign_in(&mut self, page: &str, name: &str, password: &str) -> Response {
        let page = self.get(page).await;
        let (csrf, next) = (hidden(&page, "csrf"), hidden(&page, "next"));
        self.post("/signin", &[("csrf", &csrf), ("next", &next), ("name", name), ("password", password)])
            .await
    }

    /// Opens the confirmation page of a user code and submits a decision.
    async fn decide(&mut self, code: &str, decision: &str) -> Response {
        let page = self.get(&format!("{CONFIRM}?user_code={code}")).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let csrf = hidden(&page, "csrf");
        self.post(CONFIRM, &[("csrf", &csrf), ("user_code", code), ("decision", decision)]).await
    }
}

/// Returns the value of the first hidden field with this name.
#[track_caller]
fn hidden(page: &Response, name: &str) -> String {
    let text = page.text();
    let start = format!("<input type=\"hidden\" name=\"{name}\" value=\"");
    let value = text.split_once(&start).unwrap_or_else(|| panic!("no {name} in {text}")).1;
    value.split_once('"').unwrap().0.replace("&amp;", "&")
}

#[track_caller]
fn is_page(answer: &Response) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("x-frame-options"), Some("deny"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'self'; "), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "{policy}");
    let text = answer.text();
    assert_eq!(text.matches("<h1>").count(), 1, "{text}");
    for absent in ["<script", "style=", "javascript:", "onclick", "http-equiv"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
}
