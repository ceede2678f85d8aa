use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::*;
use crate::remote::files::UserFiles;
use crate::remote::session::fresh_token;

const NOW: Timestamp = Timestamp(1_794_708_000);

/// Fake server with prepared responses. Requests are recorded as `METHOD path region body`.
struct Script {
    answers: RefCell<VecDeque<Option<(u16, Value)>>>,
    requests: RefCell<Vec<String>>,
}

impl Script {
    fn new(answers: impl IntoIterator<Item = (u16, Value)>) -> Script {
        Script::with_gaps(answers.into_iter().map(Some))
    }

    /// Creates a script like `new`, in which `None` simulates an unreachable server.
    fn with_gaps(answers: impl IntoIterator<Item = Option<(u16, Value)>>) -> Script {
        Script { answers: RefCell::new(answers.into_iter().collect()), requests: RefCell::default() }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.borrow().clone()
    }
}

impl Http for Script {
    fn send(&self, request: &Request) -> anyhow::Result<Answer> {
        let body = match &request.body {
            None => String::new(),
            Some(Body::Json(value)) => value.to_string(),
            Some(Body::Form(fields)) => {
                let pairs = fields.iter().map(|(name, value)| format!("{name}={}", value.expose()));
                pairs.collect::<Vec<_>>().join("&")
            }
        };
        let path = request.url.strip_prefix("http://127.0.0.1:1").unwrap_or(&request.url);
        let region = request.region.unwrap_or("-");
        self.requests.borrow_mut().push(format!("{:?} {path} {region} {body}", request.method));
        let answer = self.answers.borrow_mut().pop_front().expect("one more answer than was prepared");
        let (status, body) = answer.ok_or_else(|| anyhow!("cannot reach it"))?;
        Ok(Answer { status, headers: Default::default(), body: body.to_string().into_bytes() })
    }
}

/// Fake clock that advances only during pauses and records the pauses in seconds.
struct Patience {
    now: Cell<i64>,
    pauses: RefCell<Vec<u64>>,
    /// Number of pauses until Ctrl-C is simulated.
    until: usize,
}

impl Patience {
    fn new(until: usize) -> Patience {
        Patience { now: Cell::new(NOW.0), pauses: RefCell::default(), until }
    }
}

impl Time for Patience {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.get())
    }

    fn pause(&self, length: Duration) -> bool {
        self.pauses.borrow_mut().push(length.as_secs());
        self.now.set(self.now.get() + length.as_secs() as i64);
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.pauses.borrow().len() >= self.until
    }
}

fn url() -> Url {
    Url::parse("http://127.0.0.1:1").unwrap()
}

fn device(expires_in: u64, interval: u64) -> Value {
    json!({
        "device_code": "dc", "user_code": "BCDF-GHJK", "verification_uri": "http://127.0.0.1:1/confirm",
        "verification_uri_complete": "http://127.0.0.1:1/confirm?user_code=BCDF-GHJK",
        "expires_in": expires_in, "interval": interval,
    })
}

fn token(name: &str) -> Value {
    json!({"access_token": name, "token_type": "bearer", "expires_in": 1000, "refresh_token": "again"})
}

fn error(name: &str) -> (u16, Value) {
    (400, json!({"error": name, "error_description": ""}))
}

fn begun(script: &Script) -> Device {
    let server = url();
    match (Provider { server: &server, http: script }).begin("c1", NOW) {
        Ok(DeviceStart::Device(device)) => device,
        Ok(DeviceStart::Forgotten) => panic!("forgotten"),
        Err(failure) => panic!("{failure}"),
    }
}

/// Runs the device flow with prepared responses. Returns the outcome, and the pause before each
/// poll in seconds.
fn waited(answers: Vec<Option<(u16, Value)>>, until: usize) -> (Result<&'static str, String>, Vec<u64>) {
    let server = url();
    let script = Script::with_gaps([Some((200, device(100, 5)))].into_iter().chain(answers));
    let (device, time) = (begun(&script), Patience::new(until));
    let outcome = (Provider { server: &server, http: &script }).wait("c1", &device, &time);
    let outcome = outcome.map_err(|failure| failure.to_string()).map(|outcome| match outcome {
        Outcome::Approved(token) => {
            assert_eq!(token.expires_at, time.now.get() + 1000);
            assert_eq!((token.client_id.as_str(), token.access_token.expose()), ("c1", "ap_1"));
            "approved"
        }
        Outcome::Denied => "denied",
        Outcome::Expired => "expired",
        Outcome::Interrupted => "interrupted",
    });
    for request in script.requests().iter().skip(1) {
        let form = "client_id=c1&grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=dc";
        assert_eq!(*request, format!("Post /oauth2/token ap {form}"));
    }
    (outcome, time.pauses.into_inner())
}

const EVER: usize = usize::MAX;

#[test]
fn polling_uses_the_interval_from_the_server() {
    let pending = || Some(error("authorization_pending"));
    let (outcome, pauses) = waited(vec![pending(), pending(), Some((200, token("ap_1")))], EVER);
    assert_eq!((outcome.unwrap(), pauses), ("approved", vec![5, 5, 5]));
    let slow = || Some(error("slow_down"));
    let (outcome, pauses) = waited(vec![slow(), pending(), slow(), Some((200, token("ap_1")))], EVER);
    assert_eq!((outcome.unwrap(), pauses), ("approved", vec![5, 10, 10, 15]));
}

#[test]
fn polling_continues_after_a_failed_request() {
    let answers = vec![None, Some((503, json!({}))), Some((429, json!({}))), Some((200, token("ap_1")))];
    let (outcome, pauses) = waited(answers, EVER);
    assert_eq!((outcome.unwrap(), pauses), ("approved", vec![5, 10, 15, 20]));
}

#[test]
fn a_denial_an_expiry_or_ctrl_c_ends_the_flow() {
    assert_eq!(waited(vec![Some(error("access_denied"))], EVER).0.unwrap(), "denied");
    assert_eq!(waited(vec![Some(error("expired_token"))], EVER).0.unwrap(), "expired");
    assert_eq!(waited(vec![Some(error("authorization_pending"))], 2).0.unwrap(), "interrupted");
    // The flow also ends when the code expires by the client's clock. The last pause is no longer
    // than the remaining time.
    let (outcome, pauses) = waited((0..20).map(|_| Some(error("slow_down"))).collect(), EVER);
    assert_eq!((outcome.unwrap(), pauses), ("expired", vec![5, 10, 15, 20, 25, 25]));
}

#[test]
fn a_permanent_error_is_reported() {
    let body = json!({"error": "invalid_grant", "error_description": "the device\u{1b} code is unknown"});
    let (outcome, _) = waited(vec![Some((400, body))], EVER);
    assert_eq!(outcome.unwrap_err(), "cannot sign in at http://127.0.0.1:1: the device  code is unknown");
    let (outcome, _) = waited(vec![Some((404, json!("nothing")))], EVER);
    assert_eq!(outcome.unwrap_err(), "cannot sign in at http://127.0.0.1:1: status 404");
}

#[test]
fn an_invalid_token_is_rejected() {
    for body in [
        json!({"token_type": "bearer"}),
        json!({"access_token": "", "token_type": "bearer"}),
        json!({"access_token": "two\nlines", "token_type": "bearer"}),
        json!({"access_token": "a".repeat(5000), "token_type": "bearer"}),
        json!({"access_token": "ap_1"}),
        json!({"access_token": "ap_1", "token_type": "mac"}),
        json!(["ap_1"]),
    ] {
        let (outcome, _) = waited(vec![Some((200, body.clone()))], EVER);
        assert!(outcome.is_err(), "{body}");
    }
}

#[test]
fn values_from_the_server_are_limited_and_sanitized() {
    let device = begun(&Script::new([(
        200,
        json!({
            "device_code": "dc", "user_code": "AB\u{1b}[31m", "verification_uri": "http://127.0.0.1:1/x",
            "verification_uri_complete": "file:///etc/passwd", "expires_in": 1_000_000_000, "interval": 0,
        }),
    )]));
    assert_eq!((device.user_code.as_str(), device.interval_s), ("AB [31m", 1));
    assert_eq!(device.verification_uri_complete, None);
    assert_eq!(device.expires_at.0, NOW.0 + 3600);
    let server = url();
    for body in [
        json!({}),
        json!({"device_code": "dc"}),
        json!({"device_code": "dc", "verification_uri": "javascript:alert(1)"}),
        json!({"device_code": "d c", "verification_uri": "http://x"}),
    ] {
        let script = Script::new([(200, body.clone())]);
        assert!((Provider { server: &server, http: &script }).begin("c1", NOW).is_err(), "{body}");
    }
}

#[test]
fn an_unknown_client_is_reported_as_forgotten() {
    let server = url();
    let script = Script::new([(401, json!({"error": "invalid_client"})), error("slow_down")]);
    let provider = Provider { server: &server, http: &script };
    assert!(matches!(provider.begin("c1", NOW), Ok(DeviceStart::Forgotten)));
    assert!(provider.begin("c1", NOW).is_err());
}

#[test]
fn a_registration_address_on_another_host_is_ignored() {
    let server = url();
    let answer = |client_id: &str, uri: &str| {
        (
            201,
            json!({"client_id": client_id, "registration_access_token": "rat", "registration_client_uri": uri}),
        )
    };
    let own = "http://127.0.0.1:1/oauth2/register/c1";
    for (uri, stored) in [
        ("http://127.0.0.1:1/elsewhere/c1", "http://127.0.0.1:1/elsewhere/c1"),
        ("http://127.0.0.1:18/oauth2/register/c1", own),
        ("https://example.org/steal", own),
        ("", own),
    ] {
        let script = Script::new([answer("c1", uri), (204, json!(null))]);
        let provider = Provider { server: &server, http: &script };
        let Ok(registration) = provider.register("a test") else { panic!("{uri}") };
        assert_eq!(registration.registration_client_uri, stored);
        assert!(provider.unregister(&registration).unwrap());
    }
    let script = Script::new([answer("../../.ssh/id", own)]);
    assert!((Provider { server: &server, http: &script }).register("a test").is_err());
}

/// Creates a home folder with a token file whose token expires in `left` seconds.
fn signed_in(left: i64) -> (tempfile::TempDir, UserFiles, Registration) {
    let dir = tempfile::tempdir().unwrap();
    let home = UserFiles::at(dir.path());
    let registration = Registration {
        client_id: "c1".to_owned(),
        client_name: "a test".to_owned(),
        registration_access_token: Secret::new("rat".to_owned()),
        registration_client_uri: "http://127.0.0.1:1/oauth2/register/c1".to_owned(),
        also: vec!["other".to_owned()],
    };
    let token = TokenFile {
        client_id: "c1".to_owned(),
        access_token: Secret::new("us_old".to_owned()),
        refresh_token: Some(Secret::new("r1".to_owned())),
        expires_at: NOW.0 + left,
    };
    home.save_token(&registration, &token).unwrap();
    filed(&home, NOW);
    (dir, home, registration)
}

/// Sets the modification time of the token file.
fn filed(home: &UserFiles, at: Timestamp) {
    let at = std::time::UNIX_EPOCH + Duration::from_secs(at.0.try_into().unwrap());
    std::fs::File::options().append(true).open(home.token_path("c1")).unwrap().set_modified(at).unwrap();
}

/// Calls `fresh_token`. Returns the access token and the requests that were sent.
fn fresh(
    left: i64,
    answers: Vec<Option<(u16, Value)>>,
) -> (Result<String, String>, Vec<String>, UserFiles, tempfile::TempDir) {
    let server = url();
    let (dir, home, registration) = signed_in(left);
    let script = Script::with_gaps(answers);
    let token = fresh_token(&home, Provider { server: &server, http: &script }, &registration, NOW);
    let token =
        token.map(|token| token.access_token.expose().to_owned()).map_err(|failure| failure.to_string());
    (token, script.requests(), home, dir)
}

/// Calls `fresh_token` with a token that was stored `age` seconds ago. Returns the access token and
/// the number of requests.
fn fresh_of_age(age: i64, left: i64, answers: Vec<Option<(u16, Value)>>) -> (Result<String, String>, usize) {
    let server = url();
    let (_dir, home, registration) = signed_in(left);
    filed(&home, Timestamp(NOW.0 - age));
    let script = Script::with_gaps(answers);
    let token = fresh_token(&home, Provider { server: &server, http: &script }, &registration, NOW);
    let token =
        token.map(|token| token.access_token.expose().to_owned()).map_err(|failure| failure.to_string());
    (token, script.requests().len())
}

#[test]
fn a_token_is_renewed_after_half_of_its_lifetime() {
    const HALF: i64 = 15 * 86_400;
    let old = || Ok("us_old".to_owned());
    assert_eq!(fresh_of_age(HALF, HALF, vec![]), (old(), 0));
    let renewed = fresh_of_age(HALF + 1, HALF - 1, vec![Some((200, token("us_new")))]);
    assert_eq!(renewed, (Ok("us_new".to_owned()), 1));
    // If the server is unreachable or rejects the refresh, the old token is used, because it is
    // still valid and the next command can retry.
    assert_eq!(fresh_of_age(HALF + 1, HALF - 1, vec![None]), (old(), 1));
    assert_eq!(fresh_of_age(HALF + 1, HALF - 1, vec![Some(error("invalid_grant"))]), (old(), 1));
    // A modification time in the future is not used as the token's age.
    assert_eq!(fresh_of_age(-60, HALF, vec![]), (old(), 0));
}

#[test]
fn a_token_is_renewed_when_fewer_than_300_seconds_remain() {
    let (token_used, requests, ..) = fresh(300, vec![]);
    assert_eq!((token_used.unwrap().as_str(), requests.len()), ("us_old", 0));
    let (token_used, requests, home, _dir) = fresh(299, vec![Some((200, token("us_new")))]);
    assert_eq!(token_used.unwrap(), "us_new");
    assert_eq!(requests, ["Post /oauth2/token us grant_type=refresh_token&refresh_token=r1&client_id=c1"]);
    for name in ["c1", "other"] {
        let stored = home.token(name).unwrap().unwrap();
        assert_eq!((stored.access_token.expose(), stored.expires_at), ("us_new", NOW.0 + 1000));
        assert_eq!(stored.refresh_token.unwrap().expose(), "again");
    }
}

#[test]
fn a_response_without_a_refresh_token_retains_the_old_one() {
    let body = json!({"access_token": "us_new", "token_type": "Bearer"});
    let (_, _, home, _dir) = fresh(0, vec![Some((200, body))]);
    let stored = home.token("c1").unwrap().unwrap();
    assert_eq!((stored.refresh_token.unwrap().expose(), stored.expires_at), ("r1", NOW.0 + 3600));
}

#[test]
fn an_expired_login_keeps_its_token_file() {
    let (outcome, _, home, _dir) = fresh(0, vec![Some(error("invalid_grant"))]);
    assert!(outcome.unwrap_err().contains("chandler login"));
    assert_eq!(home.token("c1").unwrap().unwrap().access_token.expose(), "us_old");
    // If the refresh is rejected before the token expires, the token is used, because it may still
    // be valid.
    assert_eq!(fresh(10, vec![Some(error("invalid_grant"))]).0.unwrap(), "us_old");
    assert!(fresh(0, vec![Some((500, json!({})))]).0.is_err());
    assert!(fresh(0, vec![None]).0.is_err());
}

#[test]
fn revoking_sends_the_refresh_token() {
    let server = url();
    let (_dir, home, _) = signed_in(1000);
    let script = Script::new([(200, json!({})), (503, json!({}))]);
    let provider = Provider { server: &server, http: &script };
    let token = home.token("c1").unwrap().unwrap();
    assert!(provider.revoke(&token, "c1").unwrap());
    assert!(!provider.revoke(&token, "c1").unwrap());
    assert_eq!(
        script.requests()[0],
        "Post /oauth2/revoke - token=r1&token_type_hint=refresh_token&client_id=c1"
    );
}
