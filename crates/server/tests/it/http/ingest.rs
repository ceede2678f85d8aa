//! Ingest of candles and trades.

use std::io::Write;

use access::{Actor, Created, IngestSymbols, NewAccount, Role, Terms};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use server::Settings;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::support::{PATIENCE, Response, Running, machine_now};

/// 2026-07-15 09:32 in New York.
const M: i64 = 1_784_122_320;

async fn live() -> (Running, Created) {
    let server = Running::start().await;
    server.go_live();
    let terms = Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() };
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", terms) };
    let operator = server.access.create(&new, &Actor::Operator, machine_now()).unwrap();
    (server, operator)
}

fn bearer(account: &Created) -> String {
    format!("authorization: Bearer {}\r\n", account.access_token.expose())
}

fn row(time: Value, low: &str, volume: i64) -> Value {
    json!({"symbol": "AAPL.US", "period": "1m", "time": time, "open": "190.3", "high": 190.6, "low": low,
        "close": "190.5", "volume": volume, "turnover": "228500", "final": true})
}

fn batch(seq: Option<i64>, rows: &[Value]) -> Value {
    json!({"source": "alpaca-1", "seq": seq, "rows": rows})
}

async fn send(server: &Running, account: &Created, batch: &Value) -> Response {
    server.post("/v1/ingest/candles", account, &batch.to_string()).await
}

#[track_caller]
fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

#[track_caller]
fn refused(answer: &Response) -> (u16, String) {
    (answer.status, answer.json()["message"].as_str().unwrap().to_owned())
}

/// Waits until the stored minutes of 2026-07-15 have these volumes.
async fn until_volumes(server: &Running, account: &Created, symbol: &str, expected: &[i64]) {
    let path =
        format!("/v1/quote/history-candlesticks?symbol={symbol}&period=1m&start=2026-07-15&end=2026-07-15");
    let wait = async {
        loop {
            let answer = server.get(&path, account).await;
            let body = answer.json();
            let rows = body["data"]["candlesticks"].as_array().cloned().unwrap_or_default();
            let volumes: Vec<Option<i64>> = rows.iter().map(|row| row["volume"].as_i64()).collect();
            if volumes == expected.iter().map(|volume| Some(*volume)).collect::<Vec<_>>() {
                return;
            }
            yield_now().await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap();
}

#[tokio::test]
async fn a_batch_is_acknowledged_once_and_soon_visible() {
    let (server, operator) = live().await;
    let rows = [row(json!("2026-07-15T09:32:00-04:00"), "190.3", 1_200), row(json!(M + 60), "190.3", 7)];
    let first = data(&send(&server, &operator, &batch(Some(4711), &rows)).await);
    let expected =
        json!({"seq": 4711, "accepted": 2, "unchanged": 0, "replaced": 0, "refused": [], "revision": 1});
    assert_eq!(first, expected);
    until_volumes(&server, &operator, "AAPL.US", &[1_200, 7]).await;

    let again = data(&send(&server, &operator, &batch(Some(4711), &rows)).await);
    assert_eq!((&again["repeated"], &again["accepted"]), (&json!(true), &json!(2)));
    let next = data(&send(&server, &operator, &batch(Some(4712), &rows)).await);
    assert_eq!((&next["unchanged"], &next["accepted"]), (&json!(2), &json!(0)));
    let gap = send(&server, &operator, &batch(Some(4714), &rows)).await;
    assert_eq!(refused(&gap), (409, "expected seq 4713".to_owned()));
    let milliseconds = [row(json!(M * 1_000), "190.3", 1_300)];
    let corrected = data(&send(&server, &operator, &batch(None, &milliseconds)).await);
    assert_eq!((&corrected["replaced"], &corrected["seq"]), (&json!(1), &Value::Null));
    until_volumes(&server, &operator, "AAPL.US", &[1_300, 7]).await;
}

#[tokio::test]
async fn a_batch_survives_a_restart() {
    let (server, operator) = live().await;
    data(&send(&server, &operator, &batch(Some(1), &[row(json!(M), "190.3", 1_200)])).await);
    let dir = server.stop().await;
    let server = Running::start_in(dir, Settings::default()).await;
    server.go_live();
    until_volumes(&server, &operator, "AAPL.US", &[1_200]).await;
    let again = data(&send(&server, &operator, &batch(Some(1), &[row(json!(M), "190.3", 1_200)])).await);
    assert_eq!(again["repeated"], json!(true));
}

#[tokio::test]
async fn lines_and_compressed_batches_are_read() {
    let (server, operator) = live().await;
    let lines = format!(
        "{}\n{}\n\nnonsense\n{}\n",
        json!({"source": "lines", "seq": 1}),
        row(json!(M), "190.3", 1),
        row(json!(M + 60), "190.3", 2)
    );
    let head = format!("content-type: application/x-ndjson\r\n{}", bearer(&operator));
    let answer = data(&server.http("POST", "/v1/ingest/candles", &head, lines.as_bytes()).await);
    assert_eq!(
        (&answer["accepted"], &answer["refused"]),
        (&json!(2), &json!([{"row": 1, "reason": "not JSON"}]))
    );

    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let lines = format!("{}\n{}", json!({"source": "gzip"}), row(json!(M + 120), "190.3", 3));
    gzip.write_all(lines.as_bytes()).unwrap();
    let head = format!("content-encoding: gzip\r\n{head}");
    let answer = data(&server.http("POST", "/v1/ingest/candles", &head, &gzip.finish().unwrap()).await);
    assert_eq!(answer["accepted"], json!(1));
    until_volumes(&server, &operator, "AAPL.US", &[1, 2, 3]).await;

    let broken = server.http("POST", "/v1/ingest/candles", &head, b"not gzip").await;
    assert_eq!(broken.status, 400);
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(&vec![b' '; (4 << 20) + 1]).unwrap();
    let bomb = server.http("POST", "/v1/ingest/candles", &head, &bomb.finish().unwrap()).await;
    assert_eq!(bomb.status, 413);
}

#[tokio::test]
async fn invalid_rows_are_refused_individually() {
    let (server, operator) = live().await;
    let with = |name: &str, value: Value| {
        let mut row = row(json!(M), "190.3", 1);
        row[name] = value;
        row
    };
    let cases = [
        (row(json!(M), "190.4", 1), "low above open"),
        (with("symbol", json!("nonsense")), "nonsense"),
        (with("symbol", Value::Null), "symbol is required"),
        (with("time", json!("yesterday")), "time is RFC 3339, or Unix seconds or milliseconds"),
        (with("time", json!(M + 1)), "not the start of a minute"),
        (with("time", json!(M * 1_000 + 500)), "not the start of a minute"),
        (with("time", json!("2026-07-18T09:32:00-04:00")), "no session of the market has this minute"),
        (with("open", json!(0.1 + 0.2)), "open has too many digits for a number: write it as text"),
        (with("close", json!("abc")), "close: "),
        (with("high", json!(true)), "high is text or a number"),
        (with("volume", json!(1.5)), "volume is not a whole number"),
        (with("volume", json!(-1)), "volume or turnover is negative"),
        (with("period", json!("5m")), "period is 1m or day"),
        (with("final", json!("yes")), "final is true or false"),
        (json!([1, 2]), "not an object"),
    ];
    let rows: Vec<Value> =
        cases.iter().map(|(row, _)| row.clone()).chain([row(json!(M), "190.3", 9)]).collect();
    let lines: Vec<String> = [json!({"source": "feed"})].iter().chain(&rows).map(Value::to_string).collect();
    let head = format!("content-type: application/x-ndjson\r\n{}", bearer(&operator));
    let answer = server.http("POST", "/v1/ingest/candles", &head, lines.join("\n").as_bytes()).await;
    let answer = data(&answer);
    assert_eq!(answer["accepted"], json!(1));
    let reasons = answer["refused"].as_array().unwrap();
    assert_eq!(reasons.len(), cases.len(), "{reasons:#?}");
    for (place, ((_, expected), refused)) in cases.iter().zip(reasons).enumerate() {
        assert_eq!(refused["row"], json!(place));
        assert!(refused["reason"].as_str().unwrap().contains(expected), "{refused} {expected}");
    }
    until_volumes(&server, &operator, "AAPL.US", &[9]).await;
}

#[tokio::test]
async fn an_invalid_head_refuses_the_batch() {
    let (server, operator) = live().await;
    for head in [
        json!([]),
        json!({"seq": 1, "rows": []}),
        json!({"source": "", "rows": []}),
        json!({"source": "Alpaca", "rows": []}),
        json!({"source": "a".repeat(41), "rows": []}),
        json!({"source": "a b", "rows": []}),
        json!({"source": "a", "seq": 1.5, "rows": []}),
        json!({"source": "a", "seq": "1", "rows": []}),
        json!({"source": "a", "gap": 1, "rows": []}),
        json!({"source": "a"}),
        json!({"source": "a", "rows": {}}),
    ] {
        assert_eq!(send(&server, &operator, &head).await.status, 400, "{head}");
    }
    let empty = data(&send(&server, &operator, &json!({"source": "a", "seq": 1, "rows": []})).await);
    assert_eq!((&empty["accepted"], &empty["seq"]), (&json!(0), &json!(1)));
    let many = vec![row(json!(M), "190.3", 1); 5_001];
    assert_eq!(send(&server, &operator, &batch(None, &many)).await.status, 413);
    let length = (4 << 20) + 1;
    let large = format!(
        "POST /v1/ingest/candles HTTP/1.1\r\nhost: test\r\ncontent-length: {length}\r\nexpect: 100-continue\r\n{}\r\n",
        bearer(&operator)
    );
    assert_eq!(server.raw(&large).await.status, 413);
}

#[tokio::test]
async fn only_operators_may_ingest_and_only_under_the_machine_clock() {
    let (server, operator) = live().await;
    let plain = server.account("ann", Terms::default());
    let rows = batch(None, &[row(json!(M), "190.3", 1)]);
    assert_eq!(send(&server, &plain, &rows).await.status, 403);
    let nobody = server.http("POST", "/v1/ingest/candles", "", rows.to_string().as_bytes()).await;
    assert_eq!(nobody.status, 401);
    let server = Running::start_in(server.stop().await, Settings::default()).await;
    let set = send(&server, &operator, &rows).await;
    assert_eq!(refused(&set), (409, "the clock is set".to_owned()));
}

/// Issues a token of an account for programs that only add rows.
fn feed_token(server: &Running, account: &Created, symbols: Option<&str>) -> (String, String) {
    let symbols = symbols.map_or(IngestSymbols::All, |text| text.parse().unwrap());
    let by = (&Actor::Operator, machine_now());
    let token = server.access.issue_ingest_token(account.account_id, "feed", &symbols, 3_600, by);
    let token = token.unwrap().unwrap();
    (format!("authorization: Bearer {}\r\n", token.access_token.expose()), token.sign_in)
}

#[tokio::test]
async fn a_feed_token_may_add_rows_only_for_its_symbols() {
    let (server, operator) = live().await;
    let hong_kong = |symbol: &str| {
        // 2026-03-18 09:30 in Hong Kong.
        json!({"symbol": symbol, "time": 1_773_797_400, "open": "300", "high": "300", "low": "300",
            "close": "300", "volume": 5, "final": true})
    };
    let (head, id) = feed_token(&server, &operator, Some("*.HK,MSFT.US"));
    let rows = [hong_kong("700.HK"), row(json!(M), "190.3", 1), hong_kong("00005.HK")];
    let rows = batch(Some(1), &rows).to_string();
    let answer = data(&server.http("POST", "/v1/ingest/candles", &head, rows.as_bytes()).await);
    assert_eq!(answer["accepted"], json!(2));
    let refused = json!([{"row": 1, "reason": "the token is not valid for this symbol"}]);
    assert_eq!(answer["refused"], refused);
    let trades = json!({"source": "ticks", "rows": [
        {"symbol": "AAPL.US", "time": M + 3, "price": "190.3", "volume": 100},
        {"symbol": "MSFT.US", "time": M + 3, "price": "400", "volume": 100},
    ]});
    let answer = data(&server.http("POST", "/v1/ingest/trades", &head, trades.to_string().as_bytes()).await);
    assert_eq!((&answer["accepted"], &answer["refused"][0]["row"]), (&json!(1), &json!(0)));

    // The token is listed among the account's sign-ins, and permits only ingest.
    let sign_ins = server.get("/v1/sign-ins", &operator).await.json()["data"]["sign_ins"].clone();
    assert_eq!(
        (&sign_ins[0]["id"], &sign_ins[0]["scope"], &sign_ins[0]["client_name"]),
        (&json!(id), &json!("ingest:*.HK ingest:MSFT.US"), &json!("feed"))
    );
    for path in ["/v1/quota", "/v1/sign-ins", "/v1/quote/history-candlesticks?symbol=700.HK&period=1m"] {
        assert_eq!(server.http("GET", path, &head, b"").await.status, 403, "{path}");
    }
    let url = format!("/v1/ingest/candles?access_token={}", head.trim().rsplit_once(' ').unwrap().1);
    assert_eq!(server.http("POST", &url, "", rows.as_bytes()).await.status, 401);
    let ended = format!("/v1/sign-ins/{id}");
    assert_eq!(server.http("DELETE", &ended, &bearer(&operator), b"").await.status, 200);
    assert_eq!(server.http("POST", "/v1/ingest/candles", &head, rows.as_bytes()).await.status, 401);
}

#[tokio::test]
async fn a_feed_token_for_all_symbols_needs_an_operator() {
    let (server, operator) = live().await;
    let (head, _) = feed_token(&server, &operator, None);
    let rows = batch(None, &[row(json!(M), "190.3", 1)]).to_string();
    let answer = data(&server.http("POST", "/v1/ingest/candles", &head, rows.as_bytes()).await);
    assert_eq!(answer["accepted"], json!(1));
    let plain = server.account("ann", Terms::default());
    let (head, _) = feed_token(&server, &plain, None);
    assert_eq!(server.http("POST", "/v1/ingest/candles", &head, rows.as_bytes()).await.status, 403);
}

#[tokio::test]
async fn a_malformed_body_is_refused_and_changes_nothing() {
    let (server, operator) = live().await;
    let (json, lines) = ("content-type: application/json\r\n", "content-type: application/x-ndjson\r\n");
    let gzip = |bytes: &[u8]| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    // Each member is small, but the total size is too large.
    let bomb = gzip(&vec![b' '; 1 << 20]).repeat(5);
    let cut = gzip(batch(Some(1), &[row(json!(M), "190.3", 1)]).to_string().as_bytes());
    let deep = format!("{{\"source\": \"a\", \"rows\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let twice = gzip(&gzip(batch(None, &[]).to_string().as_bytes()));
    let zipped = format!("{json}content-encoding: gzip\r\n");
    let many = format!("{{\"source\": \"a\"}}\n{}", "{}\n".repeat(5_001));
    let cases: [(&str, &[u8], u16); 14] = [
        (json, b"", 400),
        (json, b"nonsense", 400),
        (json, b"{\"source\": \"a\", \"rows\": [", 400),
        (json, b"{\"source\": \"\xff\", \"rows\": []}", 400),
        (json, deep.as_bytes(), 400),
        (json, br#"{"source": "a", "seq": 9223372036854775808, "rows": []}"#, 400),
        (lines, b"", 400),
        (lines, b"\n\n", 400),
        (lines, b"[]\n{}\n", 400),
        (lines, b"{\"seq\": 1}\n", 400),
        (lines, many.as_bytes(), 413),
        (&zipped, &bomb, 413),
        (&zipped, &cut[..cut.len() - 9], 400),
        (&zipped, &twice, 400),
    ];
    for (head, body, expected) in cases {
        let head = format!("{head}{}", bearer(&operator));
        let answer = server.http("POST", "/v1/ingest/candles", &head, body).await;
        assert_eq!(answer.status, expected, "{}", String::from_utf8_lossy(&body[..body.len().min(60)]));
        assert!(answer.json()["message"].is_string());
    }
    let head = format!("content-encoding: br\r\n{json}{}", bearer(&operator));
    let answer = server.http("POST", "/v1/ingest/candles", &head, b"{}").await;
    assert_eq!(refused(&answer), (400, "content-encoding is gzip, or absent".to_owned()));
    // No number was used, and no row is stored.
    let first = data(&send(&server, &operator, &batch(Some(1), &[row(json!(M), "190.3", 7)])).await);
    assert_eq!((&first["accepted"], &first["revision"]), (&json!(1), &json!(1)));
    until_volumes(&server, &operator, "AAPL.US", &[7]).await;
}

#[tokio::test]
async fn numbers_outside_their_range_refuse_a_row() {
    let (server, operator) = live().await;
    let with = |name: &str, value: Value| {
        let mut row = row(json!(M), "190.3", 1);
        row[name] = value;
        row
    };
    let cases = [
        (with("volume", json!(u64::MAX)), "volume is not a whole number"),
        (with("volume", json!("1e3")), "volume is not a whole number"),
        (with("turnover", json!("-1")), "volume or turnover is negative"),
        (with("turnover", json!("0.0000001")), "turnover: "),
        (with("close", json!("1e30")), "close: "),
        (with("close", json!("")), "close: "),
        (with("close", json!("NaN")), "close: "),
        (with("time", json!(i64::MAX)), ""),
        (with("time", json!(9_000_000_000_000_000_000_i64)), ""),
        (with("time", json!(-1)), ""),
        (with("time", json!("2026-07-15T25:00:00Z")), "time is RFC 3339"),
        // Before the first session of the day, in the lunch break, and after the closing auction.
        (with("time", json!("2026-07-15T09:29:00+08:00")), "no session of the market has this minute"),
        (with("time", json!("2026-07-15T12:30:00+08:00")), "no session of the market has this minute"),
        (with("time", json!("2026-07-15T16:01:00+08:00")), "no session of the market has this minute"),
    ];
    let mut rows: Vec<Value> = cases.iter().map(|(row, _)| row.clone()).collect();
    rows[11..].iter_mut().for_each(|row| row["symbol"] = json!("700.HK"));
    rows.push(row(json!(M), "190.3", 9));
    let answer = data(&send(&server, &operator, &batch(None, &rows)).await);
    let reasons = answer["refused"].as_array().unwrap();
    assert_eq!((reasons.len(), &answer["accepted"]), (cases.len(), &json!(1)), "{reasons:#?}");
    for ((_, expected), refused) in cases.iter().zip(reasons) {
        assert!(refused["reason"].as_str().unwrap().contains(expected), "{refused} {expected}");
    }
    until_volumes(&server, &operator, "AAPL.US", &[9]).await;
}

#[tokio::test]
async fn sources_do_not_affect_each_other() {
    let (server, operator) = live().await;
    let from = |source: &str, seq: i64, gap: bool, volume: i64| {
        let rows = [row(json!(M), "190.3", volume)];
        json!({"source": source, "seq": seq, "gap": gap, "rows": rows})
    };
    data(&send(&server, &operator, &from("a", 100, false, 1)).await);
    data(&send(&server, &operator, &from("b", 7, false, 2)).await);
    // A batch that skips a number is refused, and a batch with an old number is reported as
    // repeated. Neither changes anything.
    let skipped = send(&server, &operator, &from("a", 102, false, 3)).await;
    assert_eq!(refused(&skipped), (409, "expected seq 101".to_owned()));
    let back = data(&send(&server, &operator, &from("a", 99, false, 4)).await);
    // No response is stored for number 99, so the response has no counts.
    let forgotten = json!({"seq": 99, "accepted": 0, "unchanged": 0, "replaced": 0, "refused": [],
        "revision": null, "repeated": true});
    assert_eq!(back, forgotten);
    data(&send(&server, &operator, &from("b", 8, false, 5)).await);
    until_volumes(&server, &operator, "AAPL.US", &[5]).await;
    // An announced gap is accepted, and the numbers continue after it.
    data(&send(&server, &operator, &from("a", 200, true, 6)).await);
    data(&send(&server, &operator, &from("a", 201, false, 7)).await);
    until_volumes(&server, &operator, "AAPL.US", &[7]).await;
    // A batch may have the largest number.
    data(&send(&server, &operator, &from("c", i64::MAX, false, 8)).await);
    let again = data(&send(&server, &operator, &from("c", i64::MAX, false, 8)).await);
    assert_eq!(again["repeated"], json!(true));
}

#[tokio::test]
async fn trades_build_candles_and_are_added_once() {
    let (server, operator) = live().await;
    let trades = json!({"source": "ticks", "build": true, "rows": [
        {"symbol": "AAPL.US", "time": M + 3, "price": "190.3", "volume": 100, "id": 7, "direction": "up"},
        {"symbol": "AAPL.US", "time": (M + 41) * 1_000 + 250, "price": 190.1, "volume": 50, "type": "I"},
        {"symbol": "AAPL.US", "time": M, "price": "0", "volume": 1},
        {"symbol": "AAPL.US", "time": M, "price": "1", "volume": 1, "type": "??"},
    ]});
    let first = data(&server.post("/v1/ingest/trades", &operator, &trades.to_string()).await);
    assert_eq!((&first["accepted"], &first["unchanged"]), (&json!(2), &json!(0)));
    let reasons: Vec<&str> =
        first["refused"].as_array().unwrap().iter().map(|row| row["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["price is not above zero", "the market has no such trade type"]);
    until_volumes(&server, &operator, "AAPL.US", &[150]).await;
    let again = json!({"source": "ticks", "build": true, "rows": [trades["rows"][0]]});
    let second = data(&server.post("/v1/ingest/trades", &operator, &again.to_string()).await);
    assert_eq!((&second["accepted"], &second["unchanged"]), (&json!(0), &json!(1)));
}
