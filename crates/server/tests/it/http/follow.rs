//! A server that follows the source of a mirror, with a second server as the source.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use access::{Actor, Created, NewAccount, Role, Terms};
use collect::{
    Connect, FollowState, Following, Link, Login, Progress, Settings as MirrorSettings, Time, Watch,
};
use history::mirror::MirrorStore;
use market::{Timestamp, Venues};
use serde_json::{Value, json};
use server::Settings;
use source::{Addresses, Connection, Credentials, Event, Feed, Push, Request, SecretText, SourceError};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::home;
use crate::support::{PATIENCE, Running, filled};

/// 2026-11-16 09:32 in New York, after all candles of the test market. Before a stored candle, each
/// version of a minute would be final, and a second version would be a correction, which is not
/// pushed as trades.
const M: i64 = 1_794_839_520;
const PATH: &str = "/v1/quote/history-candlesticks?symbol=AAPL.US&period=1m&start=2026-11-16&end=2026-11-16";
/// Maximum time for which the follower waits, also between its attempts to connect.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// A server whose clocks are set by the test.
struct Side {
    server: Running,
    now: Arc<AtomicI64>,
    operator: Created,
}

impl Side {
    async fn start(settings: Settings) -> Side {
        let now = Arc::new(AtomicI64::new(M + 5));
        let server = Running::start_live_at(filled(), &now, settings).await;
        let terms = Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() };
        let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", terms) };
        let operator = server.access.create(&new, &Actor::Operator, Timestamp(M)).unwrap();
        Side { server, now, operator }
    }

    fn set_clock(&self, now: i64) {
        self.now.store(now, Ordering::Relaxed);
        self.server.market_now.store(now, Ordering::Relaxed);
    }

    /// Stops the server and starts it again, on another port.
    async fn restart(self) -> Side {
        let Side { server, now, operator } = self;
        let server = Running::start_live_at(server.stop().await, &now, Settings::default()).await;
        Side { server, now, operator }
    }

    async fn ingest(&self, seq: i64, rows: &[Value]) {
        let batch = json!({"source": "test", "seq": seq, "rows": rows}).to_string();
        let answer = self.server.post("/v1/ingest/candles", &self.operator, &batch).await;
        let body = answer.json();
        assert_eq!((answer.status, &body["data"]["refused"]), (200, &json!([])), "{body}");
    }

    async fn candles(&self) -> Value {
        self.server.get(PATH, &self.operator).await.json()["data"]["candlesticks"].clone()
    }

    /// Waits until the volumes of the day are these.
    async fn until_volumes(&self, expected: &[i64]) {
        let wait = async {
            loop {
                let candles = self.candles().await;
                let rows = candles.as_array().cloned().unwrap_or_default();
                let volumes: Vec<i64> = rows.iter().filter_map(|row| row["volume"].as_i64()).collect();
                if volumes == expected {
                    return;
                }
                yield_now().await;
            }
        };
        timeout(PATIENCE, wait).await.unwrap();
    }
}

/// A candle of the minute `number` after [`M`].
fn row(number: i64, close: &str, volume: i64, is_final: bool) -> Value {
    json!({"symbol": "AAPL.US", "time": M + number * 60, "open": "190.3", "high": "190.6", "low": "190.1",
        "close": close, "volume": volume, "turnover": format!("{}.5", volume * 190), "final": is_final})
}

/// Opens connections to a server whose address changes when it is restarted.
#[derive(Clone)]
struct Source {
    address: Arc<Mutex<Option<SocketAddr>>>,
    credentials: Arc<Created>,
}

impl Source {
    fn connection(&self) -> Result<Connection, SourceError> {
        let unreachable =
            || SourceError::Unreachable { place: "source".to_owned(), reason: "down".to_owned() };
        let address = self.address.lock().unwrap().ok_or_else(unreachable)?;
        let addresses = Addresses::parse(&format!("http://{address}"), None).unwrap();
        let credentials = Credentials::Key {
            app_key: self.credentials.app_key.clone(),
            app_secret: SecretText::new(self.credentials.app_secret.expose()),
            access_token: SecretText::new(self.credentials.access_token.expose()),
        };
        let password = source::one_time_password(&addresses, &credentials, (M + 5) * 1_000)?;
        Connection::open(&addresses, &password, false)
    }
}

impl Connect for Source {
    fn connect(&mut self, _: i64) -> Result<Box<dyn Link>, SourceError> {
        Ok(Box::new(self.connection()?))
    }
}

/// The clock of a side, which also advances with the machine.
struct SideTime(Arc<AtomicI64>, Instant);

impl Time for SideTime {
    fn now_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.1.elapsed().as_millis()).unwrap();
        self.0.load(Ordering::Relaxed) * 1_000 + elapsed
    }

    fn pass(&self, time: Duration) -> Duration {
        time.min(PAUSE_MAX)
    }
}

struct Silent;

impl Watch for Silent {
    fn progress(&self, _: &Progress) {}
    fn note(&self, _: &str) {}
}

/// Adds the mirror `up` for a security.
fn add_mirror(target: &Side) {
    let store = home::store(target.server.dir.path());
    let mut data = MirrorStore::open(&store, &Venues::built_in().unwrap()).unwrap();
    let settings = MirrorSettings {
        http_url: "http://127.0.0.1".to_owned(),
        quote_url: None,
        login: Login::AppKey("key".to_owned()),
        terms_accepted_at: Some(M),
        list: collect::ListOptions::default(),
    };
    let text = serde_json::to_string(&settings).unwrap();
    data.write(|batch| {
        let id = batch.add_mirror("up", &text, b"", Timestamp(M))?.unwrap();
        batch.add_mirror_securities(id, &["AAPL.US".parse().unwrap()])
    })
    .unwrap();
}

async fn until(following: &Following, is_met: impl Fn(&FollowState) -> bool) {
    let wait = async {
        while !is_met(&following.state()) {
            yield_now().await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{:?}", following.state()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_follows_its_source_through_a_restart_without_a_gap_or_a_repetition() {
    let source = Side::start(Settings::default()).await;
    source
        .ingest(1, &[row(-2, "190.5", 700, true), row(-1, "190.2", 800, true), row(0, "190.4", 300, false)])
        .await;
    source.until_volumes(&[700, 800, 300]).await;

    let (following, follower) = collect::follow("up");
    let target = Side::start(Settings { following: Some(following.clone()), ..Settings::default() }).await;
    add_mirror(&target);
    let reader = Arc::new(source.server.account("reader", Terms::default()));
    let connect =
        Source { address: Arc::new(Mutex::new(Some(source.server.addresses.http))), credentials: reader };
    let store = home::store(target.server.dir.path());
    let (sink, time) = (target.server.sink.clone(), SideTime(target.now.clone(), Instant::now()));
    let opened = connect.clone();
    let thread = std::thread::spawn(move || {
        let venues = Venues::built_in().unwrap();
        follower.run((&store, &venues), &time, &sink, &Silent, &|_| Ok(Box::new(opened.clone())));
    });
    target.until_volumes(&[700, 800, 300]).await;
    until(&following, |state| state.subscribed == 1).await;

    // A client of the target receives what is pushed to the target.
    let client = Arc::new(target.server.account("client", Terms::default()));
    let own =
        Source { address: Arc::new(Mutex::new(Some(target.server.addresses.http))), credentials: client };
    let (subscribed, is_subscribed) = tokio::sync::oneshot::channel();
    let client = tokio::task::spawn_blocking(move || {
        let mut link = own.connection().unwrap();
        let symbol = "AAPL.US".parse().unwrap();
        link.send(Request::Subscribe { symbol, feed: Feed::Trades }).unwrap();
        let mut subscribed = Some(subscribed);
        let (mut pushed, until) = (0, Instant::now() + PATIENCE);
        while pushed < 200 && Instant::now() < until {
            match link.receive(Duration::from_secs(1)).unwrap() {
                Some(Event::Answer { answer, .. }) => {
                    answer.unwrap();
                    subscribed.take().unwrap().send(()).unwrap();
                }
                Some(Event::Push(Push { trades, .. })) => {
                    pushed += trades.iter().map(|trade| trade.volume).sum::<i64>();
                }
                None => {}
            }
        }
        pushed
    });
    is_subscribed.await.unwrap();
    source.ingest(2, &[row(0, "190.5", 500, false)]).await;
    target.until_volumes(&[700, 800, 500]).await;
    assert_eq!(client.await.unwrap(), 200);

    // The source is restarted, and its market moves before the target can connect again.
    *connect.address.lock().unwrap() = None;
    let source = source.restart().await;
    until(&following, |state| !state.is_connected && state.error.is_some()).await;
    for side in [&source, &target] {
        side.set_clock(M + 185);
    }
    let rows = [row(0, "190.6", 900, true), row(1, "190.2", 10, true), row(2, "190.3", 20, true)];
    source.ingest(3, &rows).await;
    source.ingest(4, &[row(3, "190.4", 30, false)]).await;
    source.until_volumes(&[700, 800, 900, 10, 20, 30]).await;
    *connect.address.lock().unwrap() = Some(source.server.addresses.http);
    target.until_volumes(&[700, 800, 900, 10, 20, 30]).await;
    until(&following, |state| state.subscribed == 1).await;
    source.ingest(5, &[row(3, "190.5", 45, false)]).await;
    target.until_volumes(&[700, 800, 900, 10, 20, 45]).await;
    assert_eq!(target.candles().await, source.candles().await);

    let state = following.state();
    assert_eq!((state.connections, state.securities, state.left_out.len()), (2, 1, 0), "{state:?}");
    assert_mirror_is_shown(&target).await;
    following.stop();
    thread.join().unwrap();
}

/// Asserts that operators see the state of the mirror, and what a security would cost.
async fn assert_mirror_is_shown(target: &Side) {
    let shown = async |path: &str| target.server.get(path, &target.operator).await.json();
    let mirror = shown("/v1/admin/mirrors").await["data"]["mirrors"][0].clone();
    let following = &mirror["following"];
    assert_eq!((&mirror["name"], &mirror["securities"]), (&json!("up"), &json!(1)), "{mirror}");
    assert_eq!((&following["running"], &following["connected"]), (&json!(true), &json!(true)), "{mirror}");
    assert_eq!((&following["subscribed"], &following["error"]), (&json!(1), &Value::Null), "{mirror}");
    assert_eq!((&mirror["cost"], &mirror["can_fetch"]), (&Value::Null, &json!(false)), "{mirror}");
    let cost = shown("/v1/admin/mirrors?symbol=700.HK").await["data"]["mirrors"][0]["cost"].clone();
    assert_eq!((&cost["symbol"], &cost["is_new"]), (&json!("700.HK"), &json!(true)), "{cost}");
    assert!(cost["requests"].as_u64().unwrap() > 100, "{cost}");
    for (name, body, expected) in [
        ("up", json!({"symbol": "700.HK"}), 409),
        ("down", json!({"symbol": "700.HK"}), 404),
        ("up", json!({"symbol": "?"}), 400),
        ("up", json!({}), 400),
    ] {
        let path = format!("/v1/admin/mirrors/{name}/fetch");
        let answer = target.server.post(&path, &target.operator, &body.to_string()).await;
        assert_eq!(answer.status, expected, "{name} {body}");
    }
    let stranger = target.server.account("stranger", Terms::default());
    assert_eq!(target.server.get("/v1/admin/mirrors", &stranger).await.status, 403);
    let head = format!("authorization: Bearer {}\r\n", target.operator.access_token.expose());
    let answer = target.server.http("GET", "/metrics", &head, b"").await;
    let metrics = answer.text();
    for line in ["chandler_follow_connected 1", "chandler_follow_securities{state=\"subscribed\"} 1"] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
}
