//! Connection timeouts, tested with a paused clock that advances when all tasks are idle.

use std::net::SocketAddr;
use std::sync::Arc;

use history::{History, import};
use market::{Timestamp, Venues};
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::watch::gather;
use super::*;
use crate::core::Core;
use crate::link::Hub;
use crate::links::Links;
use crate::market_clock::MarketClock;

pub(super) const NOW: Timestamp = Timestamp(1_794_708_000);

pub(crate) fn site() -> (Arc<Site>, tempfile::TempDir) {
    site_with("")
}

/// Creates a site whose store contains candles from these CSV rows.
pub(super) fn site_with(rows: &str) -> (Arc<Site>, tempfile::TempDir) {
    site_under(Arc::new(|| history::AsOf::Live(NOW)), rows)
}

/// Like [`site_with`], with a given market clock.
pub(crate) fn site_under(market: MarketClock, rows: &str) -> (Arc<Site>, tempfile::TempDir) {
    site_of(market, None, rows)
}

/// Like [`site_under`], with candles of a given period.
pub(super) fn site_of(
    market: MarketClock,
    period: Option<market::Grain>,
    rows: &str,
) -> (Arc<Site>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
    if !rows.is_empty() {
        let path = dir.path().join("candles.csv");
        std::fs::write(&path, format!("symbol,time,open,high,low,close,volume,turnover\n{rows}")).unwrap();
        let context = import::Context {
            store: &store,
            venues: &Venues::built_in().unwrap(),
            options: &import::Options {
                read: files::ReadOptions { period, ..Default::default() },
                ..Default::default()
            },
            now: &|| NOW,
            stop: &false.into(),
            progress: &import::Progress::default(),
        };
        import::import(&context, &[path]).unwrap();
    }
    let history = History::new(Venues::built_in().unwrap());
    let access = access::Access::open(dir.path(), NOW).unwrap();
    let core = Core::new(store, history, access, 0, market, Arc::new(|| NOW));
    (Arc::new(Site::new(Arc::new(core), Links::default())), dir)
}

/// Serves a connection and returns its client end.
fn connect(site: &Arc<Site>, listener_kind: ListenerKind) -> DuplexStream {
    connect_from("127.0.0.1:50000".parse().unwrap(), None, listener_kind, site)
}

/// Like [`connect`], from a given address and through a listener for `region`, or for all regions
/// if `region` is `None`.
pub(super) fn connect_from(
    peer: SocketAddr,
    region: Option<access::Region>,
    listener_kind: ListenerKind,
    site: &Arc<Site>,
) -> DuplexStream {
    connect_until(watch::Sender::new(false), peer, region, listener_kind, site)
}

/// Like [`connect_from`], to a server that stops when `stop` is notified.
pub(super) fn connect_until(
    stop: watch::Sender<bool>,
    peer: SocketAddr,
    region: Option<access::Region>,
    listener_kind: ListenerKind,
    site: &Arc<Site>,
) -> DuplexStream {
    let (near, far) = tokio::io::duplex(64 << 10);
    let shutdown = stop.subscribe();
    let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let accepted = Accepted {
        site: site.clone(),
        hub: Arc::new(Hub::new(site.core.clone(), site.links.clone())),
        shutdown,
        tasks: TaskTracker::new(),
        place: Arc::new(place),
        unauthenticated: Default::default(),
        reached: "127.0.0.1:8080".parse().unwrap(),
        peer,
        trusted: Arc::from([]),
        region,
        listener_kind,
    };
    tokio::spawn(async move {
        serve(near, accepted).await;
        drop(stop);
    });
    far
}

#[tokio::test(start_paused = true)]
async fn idle_timeouts_are_shorter_on_the_internal_listener() {
    let (site, _dir) = site();
    let (half, whole) = ("GET /healthz HTTP/1.1\r\nhost: x\r\n", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    for (listener_kind, silence) in [(ListenerKind::Public, 10), (ListenerKind::Internal, 5)] {
        for (said, seconds) in [("", 5), (half, 5), (whole, silence)] {
            let begun = Instant::now();
            let mut far = connect(&site, listener_kind);
            far.write_all(said.as_bytes()).await.unwrap();
            far.read_to_end(&mut Vec::new()).await.unwrap();
            assert_eq!(begun.elapsed().as_secs(), seconds, "{listener_kind:?} {said:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn request_durations_exclude_the_time_to_receive_the_body() {
    let (site, _dir) = site();
    let begun = Instant::now();
    let mut far = connect(&site, ListenerKind::Public);
    let head = "POST /quote/quotes HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{";
    far.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    far.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(begun.elapsed().as_secs(), 10);
    let text = gather::exposition(&site);
    let of = "door=\"http\",command=\"quotes\"";
    for line in [
        format!("chandler_request_duration_seconds_sum{{{of}}} 0\n"),
        format!("chandler_request_duration_seconds_count{{{of}}} 1\n"),
    ] {
        assert!(text.contains(&line), "{line}{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_upload_times_out_and_leaves_no_file() {
    let (site, dir) = site();
    let named = access::NewAccount::named("op", access::Terms::default());
    let new = access::NewAccount { role: access::Role::Operator, ..named };
    let created = site.core.access.create(&new, &access::Actor::Operator, NOW).unwrap();
    let begun = Instant::now();
    let mut far = connect(&site, ListenerKind::Public);
    let head = format!(
        "POST /v1/uploads?name=AAPL.csv HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {}\r\ncontent-length: 10\r\n\r\nx",
        created.access_token.expose()
    );
    far.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    far.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(std::fs::read_dir(dir.path().join("uploads")).unwrap().count(), 0);
}

/// Each row declares its required credentials. This test checks that every handler enforces them.
#[tokio::test]
async fn unauthenticated_requests_are_refused_on_every_row() {
    let (site, _dir) = site();
    let mut tried = 0;
    for row in routes::GROUPS.into_iter().flatten().filter(|row| row.needs_proof()) {
        // For a path with a token, this is an unknown token.
        let path: Vec<&str> = row
            .path
            .split('/')
            .map(|segment| if segment.starts_with('{') { "none" } else { segment })
            .collect();
        let (path, method) = (path.join("/"), row.method);
        let mut far = connect(&site, ListenerKind::Public);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        far.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        far.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 401 "), "{method} {path}: {answer}");
        tried += 1;
    }
    assert!(tried > 50, "{tried} rows");
}

/// Returns the response to a browser that opens a one-time link.
async fn open_link(site: &Arc<Site>, peer: &str, token: &access::Secret) -> String {
    let mut far = connect_from(peer.parse().unwrap(), None, ListenerKind::Public, site);
    let request = format!(
        "GET /signin/once?token={} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nsec-fetch-dest: document\r\n\
         sec-fetch-mode: navigate\r\nsec-fetch-site: none\r\n\r\n",
        token.expose()
    );
    far.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    far.read_to_string(&mut answer).await.unwrap();
    let has_session = answer.to_ascii_lowercase().contains("set-cookie: chandler_session=");
    assert_eq!(has_session, answer.starts_with("HTTP/1.1 303 "), "{peer}: {answer}");
    answer
}

const HERE: &str = "127.0.0.1:50000";

#[tokio::test]
async fn a_one_time_link_works_only_from_this_machine() {
    let (mut site, _dir) = site();
    Arc::get_mut(&mut site).unwrap().has_sign_in_links = true;
    let local = site.core.access.local_account(&access::Actor::Operator, NOW).unwrap();
    let token = site.core.access.issue_sign_in_link(local.id, "/", &access::Actor::Operator, NOW).unwrap();
    // Other machines are refused, whatever `Host` header they send.
    for peer in ["192.0.2.9:50000", "[2001:db8::9]:50000", "[::ffff:192.0.2.9]:50000"] {
        let answer = open_link(&site, peer, &token).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{peer}: {answer}");
        assert!(
            answer.contains("One-time links work only on the machine of the server."),
            "{peer}: {answer}"
        );
    }
    // None of the refused requests has used up the link.
    assert!(open_link(&site, HERE, &token).await.starts_with("HTTP/1.1 303 "));
    assert!(open_link(&site, HERE, &token).await.starts_with("HTTP/1.1 403 "));
}

#[tokio::test]
async fn a_one_time_link_is_refused_after_it_expires() {
    let (mut site, _dir) = site();
    Arc::get_mut(&mut site).unwrap().has_sign_in_links = true;
    let local = site.core.access.local_account(&access::Actor::Operator, NOW).unwrap();
    let issued = |seconds_ago: i64| {
        let at = Timestamp(NOW.0 - seconds_ago);
        site.core.access.issue_sign_in_link(local.id, "/", &access::Actor::Operator, at).unwrap()
    };
    let (late, last) = (issued(access::SIGN_IN_LINK_LIFE_S), issued(access::SIGN_IN_LINK_LIFE_S - 1));
    let answer = open_link(&site, HERE, &late).await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("The link has expired."), "{answer}");
    assert!(open_link(&site, HERE, &last).await.starts_with("HTTP/1.1 303 "), "a second before");
}
