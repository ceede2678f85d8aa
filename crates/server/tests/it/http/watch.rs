//! Health, readiness, metrics and status endpoints: who may read them, and their contents.

use std::collections::{BTreeMap, BTreeSet};

use access::{Actor, NewAccount, Role, Terms};
use server::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wire::quote;

use crate::support::{PATIENCE, Response, Running, machine_now};

const WATCHED: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/status"];

/// Sends a request like a program on the same machine.
async fn local(server: &Running, path: &str, head: &str) -> Response {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{head}\r\n", server.addresses.http);
    sent(server, &request).await
}

async fn sent(server: &Running, request: &str) -> Response {
    let mut stream = TcpStream::connect(server.addresses.http).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    Response::parse(request.as_bytes(), &bytes)
}

fn history(symbol: &str, count: i32) -> quote::SecurityHistoryCandlestickRequest {
    quote::SecurityHistoryCandlestickRequest {
        symbol: symbol.to_owned(),
        period: 1000,
        query_type: 1,
        offset_request: Some(quote::OffsetRequest { count, ..Default::default() }),
        ..Default::default()
    }
}

/// Parses samples by name and labels. Panics if the text is malformed.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut samples, mut family, mut helped) = (BTreeMap::new(), "", "");
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            helped = rest.split_once(' ').unwrap().0;
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, helped, "help and type belong together");
            assert!(kinds.insert(name, kind).is_none(), "{name} is there twice");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family = name;
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').map_or((series, None), |(name, rest)| (name, Some(rest)));
        let base = match kinds[family] {
            "histogram" => {
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap()
            }
            _ => name,
        };
        assert_eq!(base, family, "a sample stands with its family");
        assert!(
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
            "{name}"
        );
        for label in
            labels.map(|labels| labels.strip_suffix('}').unwrap()).into_iter().flat_map(|all| all.split(','))
        {
            let (_, value) = label.split_once("=\"").unwrap();
            assert!(!value.strip_suffix('"').unwrap().contains(['"', '\\']), "{line}");
        }
        let value: f64 = value.parse().unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(samples.insert(series.to_owned(), value).is_none(), "{series} is there twice");
    }
    samples
}

async fn metrics(server: &Running) -> BTreeMap<String, f64> {
    let answer = local(server, "/metrics", "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    samples(answer.text())
}

#[tokio::test]
async fn metrics_contain_no_names() {
    let server = Running::start().await;
    let ann = server.account("ann-of-the-metrics", Terms::default());
    let mut client = server.signed_in(&ann).await;
    for _ in 0..2 {
        let answer: quote::SecurityCandlestickResponse = client.ask(27, &history("700.HK", 5)).await.unwrap();
        assert_eq!(answer.candlesticks.len(), 5);
    }
    client.ask::<quote::SecurityCandlestickResponse>(27, &history("5.HK", 5)).await.unwrap_err();
    assert_eq!(server.get("/v1/quote/history-candlesticks?symbol=700.HK&limit=3", &ann).await.status, 200);
    server.http("GET", "/v1/quota", "authorization: Bearer ap_wrong\r\n", b"").await;
    server.http("GET", "/nothing/ann-of-the-metrics", "", b"").await;
    for command in ["kline", "account set", "700.HK"] {
        let head = format!("user-agent: cli/0.1.0\r\nx-cli-cmd: {command}\r\n");
        server.http("GET", "/health", &head, b"").await;
    }
    let found = metrics(&server).await;
    let value =
        |name: &str| *found.get(name).unwrap_or_else(|| panic!("{name} is not in {:#?}", found.keys()));
    let history = |outcome: &str| {
        value(&format!(
            "chandler_requests_total{{door=\"websocket\",command=\"history_candlesticks\",outcome=\"{outcome}\"}}"
        ))
    };
    assert_eq!((history("ok"), history("no_quotes")), (2.0, 1.0));
    assert_eq!(
        value("chandler_requests_total{door=\"http\",command=\"history_candlesticks\",outcome=\"ok\"}"),
        1.0
    );
    assert_eq!(value("chandler_requests_total{door=\"websocket\",command=\"sign_in\",outcome=\"ok\"}"), 1.0);
    assert_eq!(value("chandler_requests_total{door=\"http\",command=\"other\",outcome=\"not_found\"}"), 1.0);
    let took = "chandler_request_duration_seconds_count{door=\"websocket\",command=\"history_candlesticks\"}";
    assert_eq!(value(took), 3.0);
    assert_eq!(value("chandler_refusals_total{kind=\"no_quotes\"}"), 1.0);
    assert_eq!(value("chandler_refusals_total{kind=\"unauthenticated\"}"), 1.0);
    assert_eq!(value("chandler_http_requests_total{program=\"cli\"}"), 3.0);
    for (command, count) in [("kline", 1.0), ("account", 1.0), ("other", 1.0)] {
        assert_eq!(value(&format!("chandler_cli_requests_total{{command=\"{command}\"}}")), count);
    }
    assert_eq!(value("chandler_candles_served_total"), 13.0);
    assert_eq!(value("chandler_quota_spends_total"), 1.0);
    assert!(value("chandler_audit_rows_total") >= 2.0);
    assert_eq!(value("chandler_sign_ins_total{door=\"websocket\",outcome=\"accepted\"}"), 1.0);
    assert_eq!(value("chandler_sign_ins_total{door=\"http\",outcome=\"refused\"}"), 1.0);
    assert_eq!(value("chandler_connections{kind=\"websocket\"}"), 1.0);
    assert_eq!(value("chandler_connections_signed_in"), 1.0);
    assert!(value("chandler_sent_bytes_total{door=\"websocket\"}") > 500.0);
    assert!(value("chandler_cache_hits_total") >= 1.0 && value("chandler_cache_bytes") > 0.0);
    assert!(value("chandler_blocks_read_total") >= 1.0);
    assert!(
        value("chandler_store_candles") > 1_000.0
            && value("chandler_store_file_bytes{file=\"candles\"}") > 0.0
    );
    assert!(value("chandler_calendar_end_timestamp_seconds{market=\"HK\"}") > 1_794_708_000.0);
    assert!(value("process_start_time_seconds") <= machine_now().0 as f64);
    assert!(!found.contains_key("chandler_tls_certificate_expiry_timestamp_seconds"));
    // No label contains the account or the subject of a request.
    for series in found.keys() {
        for word in ["ann-of", "700", "HK.", "5.HK", "ap_wrong", "127.0.0.1", "nothing"] {
            assert!(!series.contains(word), "{series}");
        }
    }
    drop(client);
    server.until_online(&ann, 0).await;
    assert_eq!(metrics(&server).await["chandler_connections_signed_in"], 0.0);
}

#[tokio::test]
async fn histogram_buckets_are_cumulative() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let mut client = server.signed_in(&ann).await;
    for _ in 0..20 {
        client.ask::<quote::SecurityCandlestickResponse>(27, &history("700.HK", 5)).await.unwrap();
    }
    let text = local(&server, "/metrics", "").await.text().to_owned();
    let of = "door=\"websocket\",command=\"history_candlesticks\"";
    let buckets: Vec<f64> = text
        .lines()
        .filter(|line| line.starts_with(&format!("chandler_request_duration_seconds_bucket{{{of},")))
        .map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
        .collect();
    assert!(buckets.len() > 10 && buckets.is_sorted(), "{buckets:?}");
    assert_eq!(*buckets.last().unwrap(), 20.0);
}

#[tokio::test]
async fn metrics_and_status_are_not_public() {
    let server = Running::start().await;
    for path in WATCHED {
        assert_eq!(local(&server, path, "").await.status, 200, "{path}");
    }
    assert_eq!(server.http("GET", "/healthz", "", b"").await.text(), "ok\n");
    assert_eq!(
        server.http("GET", "/readyz", "", b"").await.json(),
        serde_json::json!({"ready": true, "reasons": []})
    );
    assert_eq!(server.http("GET", "/health", "", b"").await.text(), "success");
    let ann = server.account("ann", Terms::default());
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("ops", Terms::default()) };
    let ops = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    for path in ["/metrics", "/status"] {
        // The host name is not this machine's, as in a request from a web page with DNS rebinding.
        assert_eq!(server.http("GET", path, "", b"").await.status, 401, "{path}");
        assert_eq!(server.get(path, &ann).await.status, 403, "{path}");
        assert_eq!(server.get(path, &ops).await.status, 200, "{path}");
        // A proxy on this machine that is not configured as trusted forwards the request.
        for head in [
            "x-forwarded-for: 127.0.0.1\r\n",
            "forwarded: for=127.0.0.1\r\n",
            "via: 1.1 x\r\n",
            "x-real-ip: ::1\r\n",
            "x-forwarded-host: candles.example.com\r\n",
            "cf-connecting-ip: ::1\r\n",
        ] {
            assert_eq!(local(&server, path, head).await.status, 401, "{path} {head}");
        }
        // A proxy that adds no headers is detected by HTTP/1.0, which nginx uses by default.
        let request = format!("GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n", server.addresses.http);
        assert_eq!(sent(&server, &request).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn requests_through_an_unconfigured_proxy_are_not_local() {
    let public_url = Some("https://candles.example.com".parse().unwrap());
    let server = Running::start_with(Settings { public_url, ..Settings::default() }).await;
    assert_eq!(local(&server, "/metrics", "").await.status, 401);
    let (public_url, trusted_proxies) =
        (Some("https://candles.example.com".parse().unwrap()), vec!["127.0.0.1".parse().unwrap()]);
    let server = Running::start_with(Settings { public_url, trusted_proxies, ..Settings::default() }).await;
    assert_eq!(local(&server, "/metrics", "").await.status, 200);
    assert_eq!(local(&server, "/metrics", "x-forwarded-for: 192.0.2.1\r\n").await.status, 401);
}

#[tokio::test]
async fn the_internal_listener_serves_only_monitoring() {
    let internal = Some("127.0.0.1:0".parse().unwrap());
    let server = Running::start_with(Settings { internal, ..Settings::default() }).await;
    let at = server.internal.unwrap();
    for path in WATCHED {
        let head = "x-forwarded-for: 192.0.2.1\r\n";
        assert_eq!(server.http_to(at, "GET", path, head, b"").await.status, 200, "{path}");
    }
    let ann = server.account("ann", Terms::default());
    let bearer = format!("authorization: Bearer {}\r\n", ann.access_token.expose());
    for path in
        ["/", "/health", "/v1/quota", "/v1/socket/token", "/openapi.json", "/udf/config", "/oauth2/token"]
    {
        assert_eq!(server.http_to(at, "GET", path, &bearer, b"").await.status, 404, "{path}");
    }
    let upgrade =
        "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    assert_eq!(server.http_to(at, "GET", "/v2", upgrade, b"").await.status, 404);
    let listeners = server.http_to(at, "GET", "/status", "", b"").await.json()["listeners"].clone();
    let kinds: Vec<&str> =
        listeners.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["http", "tcp", "internal"]);
    // With an internal listener, the other listeners serve these endpoints only to operators.
    for path in ["/metrics", "/status"] {
        assert_eq!(local(&server, path, "").await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn only_sent_candles_and_bytes_are_counted() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let bearer = format!("authorization: Bearer {}\r\n", ann.access_token.expose());
    let counted = async || {
        let found = metrics(&server).await;
        (found["chandler_candles_served_total"], found["chandler_sent_bytes_total{door=\"http\"}"])
    };
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&limit=1000&format=csv";
    let (_, before) = counted().await;
    let head = server.http("HEAD", path, &bearer, b"").await;
    let length: f64 = head.header("content-length").unwrap().parse().unwrap();
    let (candles, bytes) = counted().await;
    assert_eq!(candles, 0.0);
    // The difference includes the metrics response itself, which is short.
    assert!(bytes - before < length, "{before} {bytes} {length}");
    server.http("GET", path, &format!("{bearer}range: bytes=0-999\r\n"), b"").await;
    let piece = counted().await.0;
    assert!(piece > 0.0 && piece < 100.0, "{piece}");
    server.http("GET", path, &format!("{bearer}range: bytes=1000-\r\n"), b"").await;
    assert_eq!(counted().await.0, 1000.0);
    // A range without candles counts as no candles, although older candles were read.
    let nothing = "/udf/history?symbol=700.HK&resolution=1D&from=1794614400&to=1794700800";
    assert_eq!(server.get(nothing, &ann).await.json()["s"], "no_data");
    assert_eq!(counted().await.0, 1000.0);
}

#[tokio::test]
async fn the_server_is_not_ready_during_shutdown() {
    let internal = Some("127.0.0.1:0".parse().unwrap());
    let server = Running::start_with(Settings { internal, ..Settings::default() }).await;
    let at = server.internal.unwrap();
    let mut watcher = TcpStream::connect(at).await.unwrap();
    // A request with an incomplete body delays the shutdown.
    let mut slow = TcpStream::connect(server.addresses.http).await.unwrap();
    slow.write_all(b"POST /quote/quotes HTTP/1.1\r\nhost: test\r\ncontent-length: 10\r\n\r\n{")
        .await
        .unwrap();
    assert_eq!(server.http_to(at, "GET", "/readyz", "", b"").await.status, 200);
    let stopped = tokio::spawn(server.stop());
    let not_ready = async {
        loop {
            watcher.write_all(b"GET /readyz HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
            let mut answer = vec![0; 4096];
            let length = watcher.read(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
            if answer.starts_with("HTTP/1.1 503 ") {
                return answer;
            }
        }
    };
    let answer = tokio::time::timeout(crate::support::PATIENCE, not_ready).await.unwrap();
    assert!(answer.contains(r#"{"ready":false,"reasons":["stopping"]}"#), "{answer}");
    drop(slow);
    stopped.await.unwrap();
}

#[tokio::test]
async fn an_unreadable_store_makes_the_server_not_ready() {
    let server = Running::start().await;
    // Open readers keep the file, but a new reader does not find it.
    std::fs::rename(server.dir.path().join("candles.db"), server.dir.path().join("away.db")).unwrap();
    let answer = server.http("GET", "/readyz", "", b"").await;
    assert_eq!((answer.status, answer.json()["reasons"][0].as_str()), (503, Some("store")), "{answer:?}");
    assert_eq!(server.http("GET", "/healthz", "", b"").await.status, 200);
    let found = metrics(&server).await;
    assert_eq!(found["chandler_store_up"], 0.0);
    assert!(!found.contains_key("chandler_store_version"));
}

#[tokio::test]
async fn the_status_contains_neither_paths_nor_names() {
    let server = Running::start().await;
    server.account("ann-of-the-status", Terms::default());
    let answer = local(&server, "/status", "").await;
    let status = answer.json();
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["ready"], true);
    assert_eq!(status["market_now"], "2026-11-15T02:00:00Z");
    assert!(status["store"]["candles"].as_u64().unwrap() > 1_000);
    assert_eq!(status["store"]["last_import"]["state"], "done");
    assert_eq!(status["tls"], serde_json::Value::Null);
    let markets: Vec<&str> =
        status["calendars"].as_array().unwrap().iter().map(|one| one["market"].as_str().unwrap()).collect();
    assert_eq!(markets, ["HK", "US", "CN"]);
    assert_eq!(status["calendars"][0]["now"], "2026-11-15T10:00:00+08:00");
    let text = answer.text();
    let folder = server.dir.path().display().to_string();
    for word in ["ann-of-the-status", folder.as_str(), ".csv"] {
        assert!(!text.contains(word), "{word} is in {text}");
    }
}

#[tokio::test]
async fn an_expiring_calendar_is_a_warning() {
    let server = Running::start().await;
    let warnings = async || local(&server, "/status", "").await.json()["warnings"].to_string();
    let end = metrics(&server).await["chandler_calendar_end_timestamp_seconds{market=\"HK\"}"] as i64;
    let days = |days: i64| end - days * 86_400;
    server.set_now(days(31));
    assert!(!warnings().await.contains("calendar of HK"), "{}", warnings().await);
    server.set_now(days(29));
    assert!(warnings().await.contains("the calendar of HK ends on"), "{}", warnings().await);
    server.set_now(days(-1));
    assert!(warnings().await.contains("the calendar of HK ended"), "{}", warnings().await);
}

/// Collects the names of the metrics that the dashboard's queries use.
fn queried(value: &serde_json::Value, names: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    serde_json::Value::String(text)
                        if key == "expr" || key == "query" || key == "definition" =>
                    {
                        let word = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
                        let found = text
                            .split(word)
                            .filter(|word| word.starts_with("chandler_") || word.starts_with("process_"));
                        names.extend(found.map(str::to_owned));
                    }
                    field => queried(field, names),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| queried(item, names)),
        _ => {}
    }
}

#[tokio::test]
async fn the_dashboard_queries_existing_metrics() {
    let server = Running::start().await;
    let text = local(&server, "/metrics", "").await.text().to_owned();
    let mut known = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        match kind {
            "histogram" => known.extend(["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}"))),
            _ => _ = known.insert(name.to_owned()),
        }
    }
    let dashboard = include_str!("../../../../../packaging/grafana/chandler.json");
    let mut request = BTreeSet::new();
    queried(&serde_json::from_str(dashboard).unwrap(), &mut request);
    assert!(request.len() > 20, "{request:?}");
    let unknown: Vec<&String> = request.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[tokio::test]
async fn the_dashboard_uses_rates_only_where_series_start_at_zero() {
    // Refused requests have no time series before the first refusal, and `rate()` between two
    // samples misses the first refusal.
    let server = Running::start().await;
    let fresh = metrics(&server).await;
    let requests: Vec<&String> =
        fresh.keys().filter(|series| series.starts_with("chandler_requests_total{")).collect();
    assert!(!requests.is_empty() && requests.iter().all(|series| series.contains("outcome=\"ok\"")));
    assert_eq!(fresh["chandler_refusals_total{kind=\"internal\"}"], 0.0);
    let dashboard = include_str!("../../../../../packaging/grafana/chandler.json");
    let request = dashboard.split("chandler_requests_total").skip(1);
    let selectors: Vec<&str> = request.map(|rest| rest.split_once('}').unwrap().0).collect();
    assert!(!selectors.is_empty());
    for selector in selectors {
        assert!(selector.contains("outcome=\\\"ok\\\""), "{selector}");
    }
}

#[tokio::test]
async fn background_work_is_counted_by_name() {
    let server = Running::start().await;
    let ok = "chandler_job_runs_total{name=\"store_changes\",outcome=\"ok\"}";
    let looked = async { while metrics(&server).await[ok] == 0.0 {} };
    tokio::time::timeout(PATIENCE, looked).await.unwrap();
    let found = metrics(&server).await;
    let last = "chandler_job_last_success_timestamp_seconds{name=\"store_changes\"}";
    assert!(found[last] <= machine_now().0 as f64 && found[last] > machine_now().0 as f64 - 60.0);
    assert!(found["chandler_job_duration_seconds_count{name=\"store_changes\"}"] >= 1.0);
    assert_eq!(found["chandler_job_runs_total{name=\"store_changes\",outcome=\"failed\"}"], 0.0);
    assert_eq!(found["chandler_job_runs_total{name=\"audit_retention\",outcome=\"ok\"}"], 0.0);
    assert!(!found.contains_key("chandler_job_last_success_timestamp_seconds{name=\"audit_retention\"}"));
}

#[tokio::test]
async fn the_documentation_lists_every_metric() {
    let server = Running::start().await;
    let text = local(&server, "/metrics", "").await.text().to_owned();
    let page = include_str!("../../../../../docs/monitoring.md");
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split_once(' ').unwrap().0;
        assert!(page.contains(&format!("`{name}")), "{name} is not on the page");
    }
}
