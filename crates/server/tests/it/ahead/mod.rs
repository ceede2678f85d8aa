//! Tests that worlds have no look-ahead: for any request of a program in a world, a server with all
//! data responds like a server whose store has no data after the world's instant.
//!
//! Both servers execute the same random orders and steps, with the same seed, so that accounts, ids
//! and pushes are comparable.

mod commands;
mod data;
mod pushes;
mod requests;
pub(crate) mod states;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use access::{AccountId, Actor, Created, NewAccount, Role, Secret, Terms};
use market::Timestamp;
use serde_json::{Value, json};
use server::Settings;

use crate::support::{Client, OVERNIGHT, Response, Running, TransportLabel, machine_now};
use data::{Data, Rng};
use pushes::Pushes;
use requests::{About, Ask};

/// Endpoints of price alerts.
const ALERTS: [&str; 2] = ["/v1/alerts", "/v1/notify/reminders"];
const START: &str = "2026-11-10T08:00:00+08:00";
/// Maximum number of stops on the way to the compared instant.
const STOPS_MAX: usize = 4;
/// Minimum number of compared instants for which each endpoint must have responded with data at
/// least once.
const ALL_ANSWERED: usize = 5;
/// Fields that depend on the machine clock.
const MACHINE_FIELDS: [&str; 5] =
    ["created_at", "issued_at", "expires_at", "token_expires_at", "last_used_at"];
/// Endpoints in whose responses these fields are not compared.
const WITH_MACHINE_FIELDS: [&str; 2] = ["/v1/me", "/v1/world"];

/// A server, with an account that has worlds.
pub(crate) struct Side {
    pub(crate) server: Running,
    pub(crate) owner: Created,
}

impl Side {
    /// Starts a server with all data, or with the data known at `now`.
    async fn open(data: &Data, now: Option<Timestamp>) -> Side {
        let dir = tempfile::tempdir().unwrap();
        data.fill(dir.path(), now);
        let server = Running::start_in(dir, Settings::default()).await;
        let terms = Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() };
        let new = NewAccount {
            rights: OVERNIGHT.parse().unwrap(),
            role: Role::Operator,
            ..NewAccount::named("op", terms.clone())
        };
        let operator = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
        let owner = server.account_with("ann", OVERNIGHT, terms);
        let rates = json!({"rows": data.rates(now)});
        accepted(&server.post("/v1/admin/rates", &operator, &rates.to_string()).await);
        let rows = data.ingested(now);
        if !rows.is_empty() {
            // Rows are ingested under the machine clock.
            server.go_live();
            let batch = json!({"source": "feed", "rows": rows});
            let answer = accepted(&server.post("/v1/ingest/candles", &operator, &batch.to_string()).await);
            assert_eq!(answer["accepted"], rows.len(), "{answer}");
            server.stand_still();
        }
        Side { server, owner }
    }

    async fn create(&self, name: &str) -> Created {
        let settings = json!({
            "name": name, "start": START, "end": "2026-11-14T12:00:00+08:00", "overnight": true,
            "markets": ["HK", "US", "CN"], "cash": {"HKD": "3000000", "USD": "500000", "CNH": "400000"},
        });
        let created = accepted(&self.server.post("/v1/worlds", &self.owner, &settings.to_string()).await);
        let text = |field: &str| created["credentials"][field].as_str().unwrap().to_owned();
        Created {
            account_id: AccountId(created["world"]["account_id"].as_i64().unwrap()),
            app_key: text("app_key"),
            app_secret: Secret::new(text("app_secret")),
            access_token: Secret::new(text("access_token")),
            token_expires_at: Timestamp(i64::MAX),
        }
    }
}

fn accepted(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{answer:?}");
    body["data"].clone()
}

/// A world of one of the servers, and a long connection to it.
struct Visit<'a> {
    side: &'a Side,
    key: Created,
    /// Cookie and header of a browser session of the owner.
    session: String,
    client: Client,
    pushes: Pushes,
}

impl<'a> Visit<'a> {
    async fn open(side: &'a Side, name: &str) -> Visit<'a> {
        let key = side.create(name).await;
        let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let access = &side.server.access;
        let session =
            access.sign_in_guest(side.owner.account_id, from, machine_now()).unwrap().unwrap().session;
        let session = format!(
            "cookie: chandler_session={}\r\nx-csrf: {}\r\nx-chandler-world: {name}\r\n",
            session.expose(),
            access.csrf_token(session.expose(), "ask")
        );
        let overnight = [("need_over_night_quote", "true")];
        let client = side.server.enter(TransportLabel::Tcp, &key, &overnight).await;
        let pushes = Pushes::open(side.server.enter(TransportLabel::Tcp, &key, &overnight).await).await;
        Visit { side, key, session, client, pushes }
    }

    fn bearer(&self) -> String {
        format!("authorization: Bearer {}\r\n", self.key.access_token.expose())
    }

    async fn send(&self, ask: &Ask, head: &str) -> Response {
        let path = ask.path.replace("{token}", self.key.access_token.expose());
        // Tokens in the path are the only credentials of such requests.
        let head = if ask.path.contains("{token}") { "" } else { head };
        let body = if ask.body.is_null() { String::new() } else { ask.body.to_string() };
        self.side.server.http(ask.method, &path, head, body.as_bytes()).await
    }

    /// Returns the compared part of a response: status, headers and body, without the machine time
    /// and the server's address.
    fn shown(&self, ask: &Ask, answer: &Response) -> (u16, Vec<String>, Vec<u8>) {
        let own = ["date", "x-trace-id", "set-cookie"];
        let mut head: Vec<String> = answer.head.lines().skip(1).map(str::to_owned).collect();
        head.retain(|line| !own.iter().any(|name| line.split(':').next() == Some(*name)));
        let mut body = answer.body.clone();
        if WITH_MACHINE_FIELDS.iter().any(|path| ask.path.starts_with(path)) {
            let mut value = answer.json();
            without(&mut value, &MACHINE_FIELDS);
            body = value.to_string().into_bytes();
        }
        // The ids of alerts count those of all worlds of a server.
        if ALERTS.iter().any(|path| ask.path.starts_with(path)) {
            let mut value = answer.json();
            without(&mut value, &["id", "alert"]);
            body = value.to_string().into_bytes();
            head.retain(|line| !line.starts_with("content-length:"));
        }
        (answer.status, head, body)
    }

    /// Sends a raw request of a command. Returns the status and the body, or the refusal.
    async fn command(&mut self, command: u8, body: &[u8]) -> Result<Vec<u8>, (u8, u64, String)> {
        let id = self.client.next_id;
        self.client.next_id += 1;
        self.client.send(&crate::support::request(command, id, 30_000, body)).await;
        self.client.response().await.1
    }
}

fn without(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|value| without(value, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| without(value, names)),
        _ => {}
    }
}

/// A world of the server with all data, and the same world on a server without later data.
struct Pair<'a> {
    visits: [Visit<'a>; 2],
    /// Description of the comparison, for messages.
    context: String,
    orders: Vec<String>,
    grids: Vec<String>,
    differences: Vec<String>,
    /// Endpoints and commands that were requested.
    asked: BTreeSet<String>,
    /// Endpoints and commands that responded with data.
    answered: BTreeSet<String>,
}

impl Pair<'_> {
    fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        answers: [T; 2],
        show: impl Fn(&T) -> String,
    ) {
        let [whole, cut] = answers;
        if whole != cut {
            let (whole, cut) = (show(&whole), show(&cut));
            self.differences.push(format!("{what}\n  everything: {whole}\n  until now:  {cut}"));
        }
    }

    /// Sends a request to both servers. Returns the response, which must be the same.
    async fn ask(&mut self, ask: &Ask, through_session: bool) -> Response {
        let mut answers = Vec::new();
        for visit in &self.visits {
            let head = if through_session { visit.session.clone() } else { visit.bearer() };
            answers.push(visit.send(ask, &head).await);
        }
        let shown = [0, 1].map(|side: usize| self.visits[side].shown(ask, &answers[side]));
        let what = format!("{} {} {} (session: {through_session})", ask.method, ask.path, ask.body);
        self.compare(&what, shown, |(status, head, body)| {
            format!(
                "{status} {} {head:?}",
                String::from_utf8_lossy(body).chars().take(3_000).collect::<String>()
            )
        });
        answers.swap_remove(0)
    }

    async fn post(&mut self, path: &str, body: Value) -> Value {
        let ask = Ask { method: "POST", path: path.to_owned(), body };
        self.ask(&ask, false).await.json()["data"].clone()
    }

    /// Submits orders, and moves both worlds to an instant.
    async fn go(&mut self, rng: &mut Rng, to: Timestamp) {
        for _ in 0..3 {
            let answer = self.post("/v1/trade/order", requests::order(rng)).await;
            self.orders.extend(answer["order_id"].as_str().map(str::to_owned));
        }
        if rng.one_in(3) && !self.orders.is_empty() {
            let path = format!("/v1/trade/order?order_id={}", self.orders[rng.below(self.orders.len())]);
            self.ask(&Ask { method: "DELETE", path, body: Value::Null }, false).await;
        }
        let answer = self.post("/v1/gridtrading/submit", requests::grid()).await;
        self.grids.extend(answer["order_id"].as_str().map(str::to_owned));
        self.post("/v1/notify/reminders", requests::alert(rng)).await;
        let stepped = self.post("/v1/world/step", json!({"to": to.to_string()})).await;
        assert_eq!(stepped["now"], to.to_string(), "{stepped}");
        let step = stepped["step"].as_i64().unwrap();
        let mut pushed = Vec::new();
        for visit in &self.visits {
            pushed.push(visit.pushes.until(step).await);
        }
        let pushed: [_; 2] = pushed.try_into().unwrap();
        self.compare(&format!("pushes of step {step}"), pushed, |pushes| pushes::all(pushes));
    }

    async fn compare_commands(&mut self, rng: &mut Rng, times: usize) {
        for command in (0..=commands::LAST).filter(|command| !commands::OTHERS.contains(command)) {
            for _ in 0..times {
                let body = commands::body(command, rng);
                let is_known = body.is_some();
                let body = body.unwrap_or_default();
                let mut answers = Vec::new();
                for visit in &mut self.visits {
                    answers.push(visit.command(command, &body).await);
                }
                let answers: [_; 2] = answers.try_into().unwrap();
                let is_refused = answers[0].is_err();
                assert!(is_known || is_refused, "command {command} is answered: compare it");
                if is_known {
                    self.asked.insert(format!("command {command}"));
                }
                if !is_refused {
                    self.answered.insert(format!("command {command}"));
                }
                self.compare(&format!("command {command}, {body:?}"), answers, |answer| match answer {
                    Ok(bytes) => String::from_utf8_lossy(bytes).chars().take(2_000).collect(),
                    Err(refusal) => format!("{refusal:?}"),
                });
            }
        }
    }

    async fn compare_endpoints(&mut self, rng: &mut Rng, now: Timestamp, times: usize) {
        let document: Value = serde_json::from_slice(server::openapi()).unwrap();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for method in ["GET", "POST", "PUT", "DELETE"] {
                if operations.get(method.to_ascii_lowercase()).is_none() {
                    continue;
                }
                let operation = format!("{method} {path}");
                if requests::EXCEPTIONS.iter().any(|(all, _)| all.contains(&operation.as_str())) {
                    continue;
                }
                if requests::REFUSED.iter().any(|start| path.starts_with(start)) {
                    self.refused(method, path).await;
                    continue;
                }
                for _ in 0..times {
                    let (orders, grids) = (self.orders.clone(), self.grids.clone());
                    let about = About { now, orders: &orders, grids: &grids };
                    let ask = requests::request(method, path, rng, &about);
                    let ask =
                        ask.unwrap_or_else(|| panic!("{operation}: compare it, or except it with a reason"));
                    self.asked.insert(operation.clone());
                    if path == "/v1/statement/download" {
                        self.compare_statements().await;
                        continue;
                    }
                    if self.ask(&ask, false).await.status == 200 {
                        self.answered.insert(operation.clone());
                    }
                    if !ask.path.contains("{token}") {
                        self.ask(&ask, true).await;
                    }
                }
            }
        }
    }

    /// Sends a request that must be refused, regardless of its content.
    async fn refused(&mut self, method: &'static str, path: &str) {
        let path = path.replace(['{', '}'], "");
        let ask = Ask { method, path, body: Value::Null };
        let answer = self.ask(&ask, false).await;
        assert!((400..=501).contains(&answer.status), "{ask:?} is answered: compare it");
    }

    /// Compares all statements, as JSON and as PDF.
    async fn compare_statements(&mut self) {
        for kind in [1, 2] {
            let path = format!("/v1/statement/list?statement_type={kind}&start_date=1");
            let list = self.ask(&Ask { method: "GET", path, body: Value::Null }, false).await.json();
            for row in list["data"]["list"].as_array().unwrap() {
                let key = row["file_key"].as_str().unwrap().replace('/', "%2F");
                for key in [key.replace(".json", ".pdf"), key] {
                    let path = format!("/v1/statement/download?file_key={key}");
                    let mut files = Vec::new();
                    for visit in &self.visits {
                        let ask = Ask { method: "GET", path: path.clone(), body: Value::Null };
                        let link = accepted(&visit.send(&ask, &visit.bearer()).await);
                        let http = visit.side.server.addresses.http;
                        let link = link["url"].as_str().unwrap().to_owned();
                        let link = link.strip_prefix(&format!("http://{http}")).unwrap().to_owned();
                        let file = visit.side.server.http("GET", &link, "", b"").await;
                        assert_eq!(file.status, 200, "{file:?}");
                        self.answered.insert("GET /v1/statement/download".to_owned());
                        files.push(file.body);
                    }
                    let files: [_; 2] = files.try_into().unwrap();
                    self.compare(&path, files, |file| {
                        String::from_utf8_lossy(file).chars().take(9_000).collect()
                    });
                }
            }
        }
    }
}

/// Seed and size of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) seed: u64,
    pub(crate) instants: usize,
    /// Requests per command and endpoint at each instant.
    pub(crate) times: usize,
}

/// Compares responses at random instants.
pub(crate) async fn compare(extent: Extent) {
    let mut rng = Rng(extent.seed);
    let data = Data::random(&mut rng);
    let whole = Side::open(&data, None).await;
    warm(&whole).await;
    let (mut differences, mut unanswered, mut answered) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for number in 0..extent.instants {
        let mut stops: Vec<Timestamp> =
            (0..1 + rng.below(STOPS_MAX)).map(|_| data.instant(&mut rng)).collect();
        stops.sort_unstable();
        stops.dedup();
        let start = START.parse::<jiff::Timestamp>().unwrap().as_second();
        stops.retain(|stop| stop.0 > start);
        let Some(now) = stops.last().copied() else { continue };
        let cut = Side::open(&data, Some(now)).await;
        // If a request used the server's time instead of the world's time, the responses would
        // differ, because the two servers have different times.
        cut.server.set_now(now.0);
        // Worlds and accounts have the same numbers on both sides.
        for earlier in 0..number {
            cut.create(&format!("w{earlier}")).await;
        }
        let name = format!("w{number}");
        let visits = [Visit::open(&whole, &name).await, Visit::open(&cut, &name).await];
        let context = format!("seed {}, instant {number}: {now}", extent.seed);
        let mut pair = Pair {
            visits,
            context,
            orders: Vec::new(),
            grids: Vec::new(),
            differences: Vec::new(),
            asked: BTreeSet::new(),
            answered: BTreeSet::new(),
        };
        let first = [0, 1].map(|side: usize| std::mem::take(&mut pair.visits[side].pushes.first));
        pair.compare("first pushes", first, |pushes| pushes::all(pushes));
        for stop in stops {
            pair.go(&mut rng, stop).await;
        }
        pair.compare_commands(&mut rng, extent.times).await;
        pair.compare_endpoints(&mut rng, now, extent.times).await;
        let Pair { context, differences: found, .. } = pair;
        unanswered.extend(pair.asked);
        answered.extend(pair.answered);
        differences.extend(found.into_iter().map(|difference| format!("{context}: {difference}")));
    }
    // Reports requests that were always refused, because comparing refusals proves little.
    unanswered.retain(|one| !answered.contains(one));
    assert!(
        extent.instants < ALL_ANSWERED || unanswered.is_empty(),
        "never answered with data: {unanswered:?}"
    );
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// Reads the newest data with an account without a world, so that all caches contain it.
async fn warm(whole: &Side) {
    let mut client =
        whole.server.enter(TransportLabel::Tcp, &whole.owner, &[("need_over_night_quote", "true")]).await;
    let mut rng = Rng(1);
    for _ in 0..3 {
        for command in 8..=commands::LAST {
            let Some(body) = commands::body(command, &mut rng) else { continue };
            let id = client.next_id;
            client.next_id += 1;
            client.send(&crate::support::request(command, id, 30_000, &body)).await;
            client.response().await.1.ok();
        }
    }
    for path in [
        "/v1/securities",
        "/v1/coverage",
        "/v1/inventory",
        "/v1/quote/get_security_list?market=US&category=overnight",
    ] {
        assert_eq!(whole.server.get(path, &whole.owner).await.status, 200, "{path}");
    }
}
