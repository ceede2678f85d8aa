//! Tests `GET /v1/live` under a stepped clock.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use access::{Actor, Created, NewAccount, Right, Terms};
use history::AsOf;
use market::{Grain, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;

use super::policy_tests::{oauth, world};
use super::tests::{NOW, connect_until, site_of};
use super::watch::gather;
use crate::account_news::Subject;
use crate::jobs;
use crate::kit::{ListenerKind, Site};
use crate::links::Links;
use crate::live::STREAMS_MAX;
use crate::mailbox::{ClosedBy, Kick};
use crate::market_clock::tests::Stepped;
use crate::metrics::JobName;
use crate::pushes;
use crate::settings::Settings;
use crate::world_changes::{self, Target};
use crate::worlds::WAIT_MAX;

/// 2026-03-18 09:30:00 in Hong Kong.
const OPEN: i64 = 1_773_797_400;
const MINUTES: &str = "700.HK,2026-03-18T09:30:00+08:00,300,302,299,301,10000,3005000\n\
                       700.HK,2026-03-18T09:31:00+08:00,301,303,300,302,8000,2412000\n\
                       AAPL.US,2026-03-17T15:59:00-04:00,190,190.2,189.9,190.1,4000,760900\n";

fn site() -> (Arc<Site>, tempfile::TempDir) {
    site_of(Arc::new(Stepped::at(Timestamp(OPEN))), Some(Grain::Minute), MINUTES)
}

fn account(site: &Site, name: &str) -> Created {
    let new = NewAccount::named(name, Terms::default());
    site.core.access.create(&new, &Actor::Operator, NOW).unwrap()
}

fn bearer(account: &Created) -> String {
    format!("authorization: Bearer {}", account.access_token.expose())
}

/// Moves the clock as `POST /v1/admin/clock` does.
fn step(site: &Site, to: i64) {
    site.core.market_clock().step_to(Timestamp(to)).unwrap();
    pushes::publish(&site.core).unwrap();
}

/// The client's end of a stream.
struct Far {
    stream: DuplexStream,
    text: String,
    stop: watch::Sender<bool>,
}

impl Far {
    async fn open(site: &Arc<Site>, credentials: &str, symbols: &str) -> Far {
        Far::request(site, credentials, &format!("/v1/live?symbols={symbols}")).await
    }

    async fn request(site: &Arc<Site>, credentials: &str, path: &str) -> Far {
        let stop = watch::Sender::new(false);
        let peer = "127.0.0.1:50000".parse().unwrap();
        let mut stream = connect_until(stop.clone(), peer, None, ListenerKind::Public, site);
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\n{credentials}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        Far { stream, text: String::new(), stop }
    }

    /// Reads until the text has this many occurrences of `part`.
    async fn read(&mut self, part: &str, count: usize) -> &str {
        let mut bytes = [0; 4096];
        while self.text.matches(part).count() < count {
            let length = self.stream.read(&mut bytes).await.unwrap();
            assert_ne!(length, 0, "{}", self.text);
            self.text.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        }
        &self.text
    }

    /// Reads to the end of the response.
    async fn ended(mut self) -> String {
        // The connection stays open for the next request; the last chunk is empty.
        self.read("\r\n0\r\n\r\n", 1).await;
        self.text
    }

    fn names(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("event: ")).collect()
    }
}

#[tokio::test]
async fn a_stream_begins_with_the_current_state_and_follows_the_clock() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    site.core.access.withdraw(ann.account_id, Right::Us, &Actor::Operator, NOW).unwrap();
    let mut far = Far::open(&site, &bearer(&ann), "00700.hk,XX,AAPL.US,9999.HK").await;
    let text = far.read("event: quote", 1).await;
    assert!(text.starts_with("HTTP/1.1 200 ") && text.contains("content-type: text/event-stream"), "{text}");
    for part in [
        r#"data: {"symbols":["700.HK"],"waiting":["9999.HK"],"left_out":[{"symbol":"XX","reason":"malformed"},{"symbol":"AAPL.US","reason":"no right"}]}"#,
        r#"data: {"kind":"standing","now":"2026-03-18T01:30:00Z","speed":0.0}"#,
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(far.names(), ["subscribed", "clock", "market", "market", "market", "quote"]);
    step(&site, OPEN + 60);
    let text = far.read("event: clock", 2).await;
    let quote = r#""last_done":"301.000","open":"300.000","high":"302.000","low":"299.000","timestamp":1773797459,"volume":10000,"turnover":"3005000.000""#;
    assert!(text.contains(quote), "{text}");
    assert!(text.contains(r#"{"price":"300.500","volume":10000,"timestamp":1773797459,"#), "{text}");
    assert!(text.contains(r#""now":"2026-03-18T01:31:00Z""#), "{text}");
    assert_eq!(far.names()[6..], ["trades", "quote", "trades", "quote", "clock"]);
}

#[tokio::test]
async fn streams_are_listed_and_counted() {
    let (site, _dir) = site();
    let (ann, bob) = (account(&site, "ann"), account(&site, "bob"));
    let mut far = Far::open(&site, &bearer(&ann), "700.HK,9999.HK,XX").await;
    far.read("event: quote", 1).await;
    step(&site, OPEN + 60);
    far.read("event: clock", 2).await;
    let list = async |of: &Created| {
        let mut stream = Far::request(&site, &bearer(of), "/v1/connections").await;
        let text = stream.read("\"online\":0", 1).await;
        let body = text.split("\r\n\r\n").nth(1).unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        body["data"]["streams"].clone()
    };
    let streams = list(&ann).await;
    let expected = serde_json::json!([{
        "id": "stream-0",
        "account_id": ann.account_id.0,
        "account": "ann",
        "address": "127.0.0.1:50000",
        "since": streams[0]["since"],
        "subscriptions": {
            "count": 1,
            "waiting": ["9999.HK"],
            "left_out": [{"symbol": "XX", "reason": "malformed"}],
        },
    }]);
    assert_eq!(streams, expected);
    assert_eq!(list(&bob).await, serde_json::json!([]), "nobody else sees it");
    let text = gather::exposition(&site);
    for line in [
        "chandler_subscribers{kind=\"connection\"} 0",
        "chandler_subscribers{kind=\"stream\"} 1",
        "chandler_subscribed_securities 2",
        "chandler_pushes_total{kind=\"quote\"} 2",
        "chandler_pushes_total{kind=\"trades\"} 2",
        "chandler_pushes_waiting 0",
        "chandler_slow_readers_closed_total 0",
        "chandler_push_unreachable_total 0",
        "chandler_push_lag_seconds_count 0",
        "chandler_ingest_rows_total{outcome=\"accepted\"} 0",
    ] {
        assert!(text.lines().any(|of| of == line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn a_stream_has_at_most_500_symbols_and_needs_none() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let many: String = (1..=501).map(|number| format!("{number}.HK,")).collect();
    let mut far = Far::open(&site, &bearer(&ann), &many).await;
    assert!(far.read("\r\n\r\n{", 1).await.starts_with("HTTP/1.1 400 "));
    for path in ["/v1/live", "/v1/live?symbols=", "/v1/live?symbols=,"] {
        let mut far = Far::request(&site, &bearer(&ann), path).await;
        let text = far.read("event: market", 3).await;
        assert!(text.contains(r#"data: {"symbols":[],"waiting":[],"left_out":[]}"#), "{path}: {text}");
        step(&site, site.core.market_now().now().0 + 60);
        far.read("event: clock", 2).await;
        assert_eq!(far.names()[5..], ["clock"]);
    }
}

/// Reads the next states of a market.
async fn states(far: &mut Far, market: &str, count: usize) -> Vec<String> {
    let begin = format!("data: {{\"market\":\"{market}\",\"trade_status\":");
    let text = far.read(&begin, count).await;
    let states = text.lines().filter_map(|line| line.strip_prefix(&begin));
    states.map(|state| state.chars().take_while(char::is_ascii_digit).collect()).collect()
}

#[tokio::test]
async fn a_stream_tells_when_markets_open_and_close() {
    // A half day in Hong Kong, the eve of the lunar new year.
    let venues = market::Venues::built_in().unwrap();
    let zone = venues.of(market::Market::Hk).zone();
    let at = |minute: i64| zone.instant("2026-02-16".parse().unwrap(), minute * 60).0;
    let (site, _dir) = site_of(Arc::new(Stepped::at(Timestamp(at(11 * 60)))), Some(Grain::Minute), MINUTES);
    let ann = account(&site, "ann");
    let mut far = Far::request(&site, &bearer(&ann), "/v1/live").await;
    assert_eq!(states(&mut far, "HK", 1).await, ["105"]);
    assert!(far.text.contains(r#""trade_status":105,"since":"2026-02-16T01:30:00Z"}"#), "{}", far.text);
    step(&site, at(12 * 60) - 1);
    far.read("event: clock", 2).await;
    step(&site, at(12 * 60));
    assert_eq!(states(&mut far, "HK", 2).await, ["105", "107"]);
    // No afternoon: closed until the next trading day, 20 February.
    step(&site, at(12 * 60 + 10));
    assert_eq!(states(&mut far, "HK", 3).await, ["105", "107", "108"]);
    step(&site, at(14 * 60));
    step(&site, at(4 * 1440 + 10 * 60));
    assert_eq!(states(&mut far, "HK", 4).await, ["105", "107", "108", "105"]);
}

/// A clock that follows tokio's paused time.
struct Paused(Timestamp, tokio::time::Instant);

impl crate::market_clock::MarketTime for Paused {
    fn as_of(&self) -> AsOf {
        AsOf::Live(Timestamp(self.0.0 + i64::try_from(self.1.elapsed().as_secs()).unwrap()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_under_the_machine_clock_tells_the_market_state_in_time() {
    // Four seconds before the lunch break.
    let noon = OPEN + 150 * 60;
    let clock = Paused(Timestamp(noon - 4), tokio::time::Instant::now());
    let (site, _dir) = site_of(Arc::new(clock), Some(Grain::Minute), MINUTES);
    let ann = account(&site, "ann");
    let mut far = Far::request(&site, &bearer(&ann), "/v1/live").await;
    assert_eq!(states(&mut far, "HK", 1).await, ["105"]);
    let begun = tokio::time::Instant::now();
    assert_eq!(states(&mut far, "HK", 2).await, ["105", "106"]);
    assert!(begun.elapsed() <= Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// Sends a request with a JSON body, and returns the answer.
async fn send(site: &Arc<Site>, of: &Created, method: &str, path: &str, body: &str) -> String {
    let peer = "127.0.0.1:50000".parse().unwrap();
    let stop = watch::Sender::new(false);
    let mut stream = connect_until(stop.clone(), peer, None, ListenerKind::Public, site);
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}",
        bearer(of)
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut far = Far { stream, text: String::new(), stop };
    far.read("\"message\":", 1).await.to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_stream_tells_that_the_account_has_changed() {
    let (site, _dir) = site();
    let (ann, bob) = (account(&site, "ann"), account(&site, "bob"));
    let quote_only = format!("authorization: Bearer {}", oauth(&ann, "quote", NOW, &site));
    let open = async |credentials: &str| {
        let mut far = Far::request(&site, credentials, "/v1/live").await;
        far.read("event: market", 3).await;
        far
    };
    let (mut of_ann, mut of_bob) = (open(&bearer(&ann)).await, open(&bearer(&bob)).await);
    let mut of_quote = open(&quote_only).await;
    let order = r#"{"symbol":"700.HK","order_type":"LO","side":"Buy","submitted_quantity":"100","submitted_price":"300","time_in_force":"Day"}"#;
    let answer = send(&site, &ann, "POST", "/v1/trade/order", order).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let text = of_ann.read("event: account", 1).await;
    assert!(text.contains(r#"data: {"changed":["trading"]}"#), "{text}");
    let group = |name: &str| format!(r#"{{"name":"{name}","securities":["700.HK"]}}"#);
    for name in ["one", "two", "three"] {
        send(&site, &ann, "POST", "/v1/watchlist/groups", &group(name)).await;
    }
    send(&site, &ann, "POST", "/v1/trade/order", order).await;
    of_ann.read("event: account", 2).await;
    // The scope determines which events a stream receives.
    let text = of_quote.read("event: account", 1).await;
    assert!(text.contains(r#"data: {"changed":["watchlists"]}"#), "{text}");
    send(&site, &bob, "POST", "/v1/watchlist/groups", &group("four")).await;
    assert!(of_bob.read("event: account", 1).await.contains(r#"data: {"changed":["watchlists"]}"#));
    // The next heartbeat ends the read, so it contains all events written so far.
    for far in [&mut of_ann, &mut of_bob, &mut of_quote] {
        let before = far.text.matches("\n:\n\n").count();
        far.read("\n:\n\n", before + 1).await;
    }
    let trading = |far: &Far| far.text.lines().filter(|line| line.contains("\"trading\"")).count();
    assert!(trading(&of_ann) >= 2, "{}", of_ann.text);
    assert_eq!([trading(&of_bob), trading(&of_quote)], [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn changes_within_a_quarter_of_a_second_are_one_event() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let mut far = Far::request(&site, &bearer(&ann), "/v1/live").await;
    far.read("event: market", 3).await;
    let begun = tokio::time::Instant::now();
    for count in 1..=2 {
        for subject in [Subject::Watchlists, Subject::Trading].repeat(50) {
            site.core.listeners.news().changed(ann.account_id, subject);
        }
        far.read(r#"data: {"changed":["trading","watchlists"]}"#, count).await;
    }
    assert!(begun.elapsed() >= Duration::from_millis(250), "{:?}", begun.elapsed());
    // No further event before the heartbeat.
    far.read("\n:\n\n", 1).await;
    assert_eq!(far.text.matches("event: account").count(), 2, "{}", far.text);
}

#[tokio::test]
async fn the_number_of_streams_per_account_is_limited() {
    let (site, _dir) = site();
    let (ann, bob) = (account(&site, "ann"), account(&site, "bob"));
    let mut open = Vec::new();
    for _ in 0..STREAMS_MAX {
        let mut far = Far::open(&site, &bearer(&ann), "700.HK").await;
        far.read("event: quote", 1).await;
        open.push(far);
    }
    let mut refused = Far::open(&site, &bearer(&ann), "700.HK").await;
    let text = refused.read("too many streams: 8 of 8 open", 1).await;
    assert!(text.starts_with("HTTP/1.1 403 "), "{text}");
    Far::open(&site, &bearer(&bob), "700.HK").await.read("event: quote", 1).await;
    open.pop();
    // The server detects a closed connection only when the connection's task runs.
    loop {
        let mut far = Far::open(&site, &bearer(&ann), "700.HK").await;
        if far.read("\r\n\r\n", 1).await.starts_with("HTTP/1.1 200 ") {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_its_account_is_revoked() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let mut far = Far::open(&site, &bearer(&ann), "700.HK").await;
    far.read("\n:\n\n", 1).await;
    site.core.access.revoke(ann.account_id, &Actor::Operator, "test", NOW).unwrap();
    let text = far.ended().await;
    assert!(
        text.contains("event: end\ndata: {\"reason\":\"this account has been revoked\",\"retry\":false}\n\n"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_its_browser_session_is_signed_out() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let guest = site.core.access.sign_in_guest(ann.account_id, from, NOW).unwrap().unwrap();
    let cookie = guest.session.expose();
    let mut far = Far::open(&site, &format!("cookie: chandler_session={cookie}"), "700.HK").await;
    far.read("event: quote", 1).await;
    assert!(site.core.access.sign_out(cookie, ann.account_id, NOW).unwrap());
    let text = far.ended().await;
    assert!(text.contains("event: end\ndata: {\"reason\":\"signed out\",\"retry\":false}\n\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_checks_its_sign_in_when_one_may_have_ended() {
    let (site, _dir) = site();
    let mut jobs = jobs::of_server(&site.core, &Links::default(), None, &Settings::default());
    jobs.retain(|job| job.name == JobName::StoreChanges);
    let jobs = jobs::Runner::start(&site.core, jobs);
    let (ann, bob) = (account(&site, "ann"), account(&site, "bob"));
    let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let guest = site.core.access.sign_in_guest(bob.account_id, from, NOW).unwrap().unwrap();
    let cookie = guest.session.expose();
    let mut of_ann = Far::open(&site, &bearer(&ann), "700.HK").await;
    let mut of_bob = Far::open(&site, &bearer(&bob), "700.HK").await;
    let mut of_guest = Far::open(&site, &format!("cookie: chandler_session={cookie}"), "700.HK").await;
    for far in [&mut of_ann, &mut of_bob, &mut of_guest] {
        far.read("event: quote", 1).await;
    }
    let begun = tokio::time::Instant::now();
    site.core.access.revoke(ann.account_id, &Actor::Operator, "test", NOW).unwrap();
    assert!(of_ann.ended().await.contains("this account has been revoked"));
    assert!(site.core.access.sign_out(cookie, bob.account_id, NOW).unwrap());
    // The sign-out page does the same.
    site.core.check_streams();
    assert!(of_guest.ended().await.contains("signed out"));
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    step(&site, OPEN + 60);
    assert!(!of_bob.read("event: trades", 1).await.contains("event: end"));
    jobs.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_a_right_is_withdrawn() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let mut far = Far::open(&site, &bearer(&ann), "700.HK,AAPL.US").await;
    far.read("event: quote", 2).await;
    site.core.access.withdraw(ann.account_id, Right::Us, &Actor::Operator, NOW).unwrap();
    assert!(far.ended().await.contains("a market data right has ended"));
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let mut far = Far::open(&site, &bearer(&ann), "700.HK").await;
    far.read("event: quote", 1).await;
    far.stop.send_replace(true);
    assert!(far.ended().await.contains("the server stops"));
}

/// Signs an account in, and returns the header with the cookie.
fn cookie(site: &Site, of: &Created) -> String {
    let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let session = site.core.access.sign_in_guest(of.account_id, from, site.core.machine_now());
    format!("cookie: chandler_session={}", session.unwrap().unwrap().session.expose())
}

#[tokio::test]
async fn a_stream_in_a_world_follows_the_clock_of_the_world_until_the_world_is_deleted() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let start = Timestamp(OPEN - 60);
    let account = world(ann.account_id, ("w", start), &site);
    let core = &site.core;
    let world = core.worlds.of(&core.access.database(), account).unwrap();
    let cookie = cookie(&site, &ann);
    let open = async || Far::request(&site, &cookie, "/v1/live?symbols=700.HK&world=w").await;
    let mut far = open().await;
    let text = far.read("event: clock", 1).await;
    let clock = r#"data: {"kind":"world","now":"2026-03-18T01:29:00Z","speed":0,"state":"created"}"#;
    assert!(text.contains(clock), "{text}");
    // A step does not return before the stream has taken its pushes.
    let (stepping, to) = ((core.clone(), world.clone()), Target::To(Timestamp(OPEN + 60)));
    tokio::task::spawn_blocking(move || world_changes::step(&stepping.0, &stepping.1, to, None))
        .await
        .unwrap()
        .unwrap();
    let text = far.read("event: clock", 2).await;
    assert!(text.contains(r#""now":"2026-03-18T01:31:00Z","speed":0,"state":"paused"}"#), "{text}");
    assert!(text.contains(r#""last_done":"301.000""#), "{text}");
    // Starting and stopping the clock sends an event, even without a step.
    let speed = Some(::world::Speed::Factor { thousandths: 1 });
    world_changes::run(core, &world, world_changes::RunRequest { speed, stop_at: None }).unwrap();
    assert!(far.read("event: clock", 3).await.contains(r#""speed":0.001,"state":"running"}"#));
    world_changes::pause(core, &world).unwrap();
    assert!(far.read("event: clock", 4).await.ends_with("\"state\":\"paused\"}\n\n\r\n"), "{}", far.text);
    // The server's own clock has not moved, and its streams receive no pushes of the world.
    let mut outside = Far::request(&site, &cookie, "/v1/live?symbols=700.HK").await;
    assert!(outside.read("event: clock", 1).await.contains(r#""now":"2026-03-18T01:30:00Z","speed":0.0}"#));
    // The metrics count both streams.
    let text = gather::exposition(&site);
    for line in ["chandler_subscribers{kind=\"stream\"} 2", "chandler_subscribed_securities 2"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }

    world_changes::reset(core, &world, start, "ann").unwrap();
    let text = far.ended().await;
    assert!(text.contains(r#"{"reason":"the clock was set back","retry":true}"#), "{text}");
    let mut again = open().await;
    assert!(again.read("event: clock", 1).await.contains(r#""now":"2026-03-18T01:29:00Z""#));
    let row = core.access.database().world_of(account).unwrap().unwrap();
    assert!(core.access.delete_world(&row, &Actor::Operator, NOW).unwrap());
    core.world_lives.forget(account, Kick::Closed(ClosedBy::Owner));
    let text = again.ended().await;
    assert!(text.contains(r#"{"reason":"the world was deleted","retry":false}"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_at_most_thirty_seconds_for_the_clock_of_its_world() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let account = world(ann.account_id, ("w", Timestamp(OPEN - 60)), &site);
    let core = &site.core;
    let world = core.worlds.of(&core.access.database(), account).unwrap();
    world_changes::step(core, &world, Target::To(Timestamp(OPEN + 60)), None).unwrap();
    let cookie = cookie(&site, &ann);
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&count=1&world=w";
    let request = async || Far::request(&site, &cookie, path).await;
    let (held, begun) = (world.begin_movement(), tokio::time::Instant::now());
    let mut refused = request().await;
    let text = refused.read(r#""code""#, 1).await;
    assert!(text.starts_with("HTTP/1.1 503 ") && text.contains("retry-after: 1"), "{text}");
    assert!(text.contains("the clock of the world is moving"), "{text}");
    assert!(begun.elapsed() >= WAIT_MAX);
    // A request that is waiting when the movement ends is answered as of the end of the movement.
    let mut waiting = request().await;
    drop(held);
    let text = waiting.read(r#""code""#, 1).await;
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
}

#[tokio::test]
async fn the_pushes_of_the_next_minute_are_precomputed() {
    let (site, _dir) = site();
    let ann = account(&site, "ann");
    let mut far = Far::open(&site, &bearer(&ann), "700.HK,AAPL.US").await;
    far.read("event: quote", 2).await;
    assert_eq!(pushes::prepare(&site.core).unwrap(), None);
    let read = site.core.store.blocks_read();
    step(&site, OPEN + 59);
    step(&site, OPEN + 60);
    assert_eq!(site.core.store.blocks_read(), read, "the movement reads no candles");
    let text = far.read("event: trades", 2).await;
    let quote = r#""last_done":"301.000","open":"300.000","high":"302.000","low":"299.000","timestamp":1773797459,"volume":10000,"turnover":"3005000.000""#;
    assert!(text.contains(quote), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_watchlist_changed_by_another_process_is_reported() {
    let (site, _dir) = site();
    let mut jobs = jobs::of_server(&site.core, &Links::default(), None, &Settings::default());
    jobs.retain(|job| job.name == JobName::PaperListeners);
    let jobs = jobs::Runner::start(&site.core, jobs);
    let ann = account(&site, "ann");
    let mut far = Far::open(&site, &bearer(&ann), "700.HK").await;
    far.read("event: quote", 1).await;
    // Like the command line, this does not notify the stream.
    let name = access::WatchlistName::parse("lists").unwrap();
    site.core.access.create_watchlist(ann.account_id, &name, &[], NOW).unwrap();
    far.read(r#"{"changed":["watchlists"]}"#, 1).await;
    jobs.stop().await;
}
