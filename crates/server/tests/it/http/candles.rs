//! The candles endpoint for users without an SDK.

use std::io::{Cursor, Read};

use access::{Created, Terms};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type, TimestampMillisecondType};
use market::{Session, Timestamp, Venues};
use serde_json::{Value, json};

use crate::support::{OVERNIGHT, Response, Running};

const PATH: &str = "/v1/quote/history-candlesticks";

fn unlimited() -> Terms {
    Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() }
}

fn rate(text: &str) -> Terms {
    Terms { rate: Some(text.parse().unwrap()), ..Terms::default() }
}

async fn ask(server: &Running, account: &Created, query: &str) -> Response {
    server.get(&format!("{PATH}?{query}"), account).await
}

#[track_caller]
fn data(answer: &Response) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut envelope = answer.json();
    assert_eq!((&envelope["code"], &envelope["message"]), (&json!(0), &json!("success")));
    envelope["data"].take()
}

fn times(data: &Value) -> Vec<i64> {
    data["candlesticks"].as_array().unwrap().iter().map(|one| one["timestamp"].as_i64().unwrap()).collect()
}

/// Returns status, code and message of a refusal.
#[track_caller]
fn refused(answer: &Response) -> (u16, i64, String) {
    let envelope = answer.json();
    assert_eq!(envelope["data"], Value::Null);
    (answer.status, envelope["code"].as_i64().unwrap(), envelope["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_get_endpoint_matches_the_mirrored_command() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    for (query, body) in [
        (
            "symbol=700.HK&start=2026-10-20&end=2026-11-05",
            json!({"symbol": "700.HK", "period": 1000, "query_type": 2,
                   "date_request": {"start_date": "20261020", "end_date": "20261105"}}),
        ),
        (
            "symbol=700.HK&period=week&adjust=forward&start=2026-10-12",
            json!({"symbol": "700.HK", "period": 2000, "adjust_type": 1, "query_type": 2,
                   "date_request": {"start_date": "20261012"}}),
        ),
        (
            "symbol=AAPL.US&period=5m&session=extended&before=2026-11-13T05:00&limit=1000",
            json!({"symbol": "AAPL.US", "period": 5, "query_type": 1, "trade_session": 100,
                   "offset_request": {"direction": 0, "date": "20261113", "minute": "0500", "count": 1000}}),
        ),
        (
            "symbol=AAPL.US&period=60&after=2026-11-02&count=7",
            json!({"symbol": "AAPL.US", "period": 60, "query_type": 1,
                   "offset_request": {"direction": 1, "date": "20261102", "count": 7}}),
        ),
        ("symbol=700.HK", json!({"symbol": "700.HK", "period": 1000, "query_type": 1, "offset_request": {}})),
    ] {
        let mut got = data(&ask(&server, &account, query).await);
        let mirror = server.post("/quote/history-candlesticks", &account, &body.to_string()).await;
        let mirror = data(&mirror);
        assert!(!times(&mirror).is_empty(), "{query}");
        for candle in got["candlesticks"].as_array_mut().unwrap() {
            let fields = candle.as_object_mut().unwrap();
            let time: jiff::Timestamp = fields.remove("time").unwrap().as_str().unwrap().parse().unwrap();
            assert_eq!(json!(time.as_second()), fields["timestamp"]);
        }
        assert_eq!(got["candlesticks"], mirror["candlesticks"], "{query}");
        assert_eq!(got["symbol"], mirror["symbol"]);
    }
    let day = data(&ask(&server, &account, "symbol=700.HK&limit=1").await);
    assert_eq!(day["period"], "day");
    assert_eq!(day["candlesticks"][0]["time"], "2026-11-13T00:00:00+08:00");
}

/// Returns the timestamps of all candles that a query selects, fetched in pages of `limit`.
async fn all(server: &Running, account: &Created, query: &str, limit: usize) -> Vec<i64> {
    let (mut pages, mut next) = (Vec::new(), String::new());
    loop {
        let answer = ask(server, account, &format!("{query}&limit={limit}{next}")).await;
        let page = data(&answer);
        let stamps = times(&page);
        assert!(stamps.len() <= limit);
        pages.push(stamps);
        let Some(token) = page["next"].as_str() else {
            assert_eq!((answer.header("x-next"), answer.header("link")), (None, None));
            break;
        };
        assert_eq!(pages.last().unwrap().len(), limit, "a page that goes on is full");
        assert_eq!(answer.header("x-next"), Some(token));
        next = format!("&next={token}");
    }
    let forward = query.contains("after=") || (query.contains("start=") && !query.contains("end="));
    if !forward {
        pages.reverse();
    }
    pages.concat()
}

#[tokio::test]
async fn paging_has_no_gaps_and_no_duplicates() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let venues = Venues::built_in().unwrap();
    let venue = venues.of(market::Market::Us);
    let (first, last) = ("2026-10-12".parse().unwrap(), "2026-11-13".parse().unwrap());
    let days = venue.calendar().days(first, last).map(|(date, _)| venue.day(date).unwrap());
    let minutes: Vec<(i64, Session)> = days
        .flat_map(|day| day.minutes().map(|(at, slot)| (at.0, slot.segment.session)).collect::<Vec<_>>())
        .collect();
    let of = |wanted: &[Session]| -> Vec<i64> {
        minutes.iter().filter(|(_, session)| wanted.contains(session)).map(|(at, _)| *at).collect()
    };
    let extended = of(&[Session::Pre, Session::Intraday, Session::Post]);
    assert!(extended.len() > 20_000);
    let minute = "symbol=AAPL.US&period=1m";
    for limit in [2_999, 10_000] {
        for select in
            ["before=2027-01-01", "after=2020-01-01", "start=2026-10-01", "start=2026-10-01&end=2026-12-01"]
        {
            let got = all(&server, &account, &format!("{minute}&session=extended&{select}"), limit).await;
            assert!(got == extended, "{select} by {limit}: {} of {}", got.len(), extended.len());
        }
    }
    // A date range is limited by its bounds in both directions.
    let zone = venue.zone();
    let of_dates: Vec<i64> = of(&[Session::Intraday])
        .into_iter()
        .filter(|at| {
            let date = zone.date(Timestamp(*at)).to_string();
            ("2026-10-20"..="2026-11-04").contains(&date.as_str())
        })
        .collect();
    let got = all(&server, &account, &format!("{minute}&start=2026-10-20&end=2026-11-04"), 1_500).await;
    assert!(got == of_dates, "{} of {}", got.len(), of_dates.len());
    // Folded candles are fetched in pages so short that each page begins in the middle of a week or
    // an hour.
    for (period, limit) in [("week", 1), ("day", 7), ("4h", 3), ("45m", 10)] {
        let query = |select: &str| format!("symbol=AAPL.US&period={period}&adjust=forward&{select}");
        let whole = all(&server, &account, &query("before=2027-01-01"), 10_000).await;
        assert!(whole.len() > 3);
        assert_eq!(all(&server, &account, &query("before=2027-01-01"), limit).await, whole, "{period}");
        assert_eq!(all(&server, &account, &query("after=2020-01-01"), limit).await, whole, "{period}");
    }
}

#[tokio::test]
async fn the_link_header_leads_to_the_next_page() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let answer =
        ask(&server, &account, "symbol=700.HK&period=1m&before=2026-11-13&format=csv&limit=1200").await;
    let newest = answer.text().lines().nth(1).unwrap().to_owned();
    let link = answer.header("link").unwrap();
    let address = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    let earlier = server.get(address, &account).await;
    assert_eq!(earlier.status, 200, "{earlier:?}");
    assert_eq!(earlier.text().lines().count(), 1201);
    assert!(earlier.text().lines().last().unwrap() < newest.as_str());
    let other = address.replace("period=1m", "period=5m");
    let (status, code, text) = refused(&server.get(&other, &account).await);
    assert_eq!((status, code), (400, 301_600));
    assert!(text.contains("next does not match this query"), "{text}");
}

#[tokio::test]
async fn the_link_header_uses_the_public_path() {
    let public_url = Some("http://candles.example.com/api".parse().unwrap());
    let server = Running::start_with(server::Settings { public_url, ..server::Settings::default() }).await;
    let account = server.account("ann", unlimited());
    let answer = ask(&server, &account, "symbol=700.HK&limit=2").await;
    let link = answer.header("link").unwrap();
    assert!(link.starts_with("</api/v1/quote/history-candlesticks?symbol=700.hk&"), "{link}");
}

/// Symbol, time, prices, volume and turnover. Prices and turnover are in millionths.
type Row = (String, i64, [i64; 4], i64, i128);

/// Parses a file with the import parser.
fn read_back(name: &str, bytes: &[u8]) -> Vec<Row> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let table = files::open(&path, &Venues::built_in().unwrap(), &files::ReadOptions::default()).unwrap();
    let files::Table::Candles(mut reader) = table else { panic!("no candles") };
    let mut rows = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        assert_eq!(batch.rejected, []);
        for row in batch.rows {
            let symbol = reader.symbols()[row.symbol as usize].to_string();
            let prices = [row.open, row.high, row.low, row.close].map(|price| price.0);
            rows.push((symbol, row.time.0, prices, row.volume, row.turnover.0));
        }
    }
    rows
}

/// Parses an Arrow stream by its columns.
fn read_arrow(bytes: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in arrow_ipc::reader::StreamReader::try_new(Cursor::new(bytes), None).unwrap() {
        let batch = batch.unwrap();
        let column = |name| batch.column_by_name(name).unwrap();
        let price = |name| column(name).as_primitive::<Decimal128Type>();
        for row in 0..batch.num_rows() {
            let millis = column("time").as_primitive::<TimestampMillisecondType>().value(row);
            let prices = ["open", "high", "low", "close"].map(|name| price(name).value(row) as i64);
            let symbol = column("symbol").as_string::<i32>().value(row).to_owned();
            let volume = column("volume").as_primitive::<Int64Type>().value(row);
            rows.push((symbol, millis / 1000, prices, volume, price("turnover").value(row)));
        }
    }
    rows
}

#[tokio::test]
async fn json_is_compressed_if_accepted_and_plain_for_byte_ranges() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let token = account.access_token.expose();
    let ask = async |more: &str| {
        let head = format!("authorization: Bearer {token}\r\n{more}");
        server.http("GET", &format!("{PATH}?symbol=AAPL.US&period=1m&limit=1000"), &head, b"").await
    };
    let plain = ask("").await;
    assert_eq!(plain.header("content-encoding"), None);
    let packed = ask("accept-encoding: br, gzip\r\n").await;
    assert_eq!((packed.header("content-encoding"), packed.header("etag")), (Some("gzip"), None));
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == plain.body && packed.body.len() * 3 < plain.body.len());
    let piece = ask("accept-encoding: gzip\r\nrange: bytes=0-9\r\n").await;
    assert_eq!((piece.status, piece.header("content-encoding")), (206, None));
    assert!(piece.body[..] == plain.body[..10]);
}

#[tokio::test]
async fn every_format_has_the_same_candles() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let query = "symbol=AAPL.US&period=1m&session=extended&before=2026-11-13&limit=2500";
    let token = account.access_token.expose();
    let accept = async |accept: &str| {
        let head = format!("authorization: Bearer {token}\r\naccept: {accept}\r\n");
        server.http("GET", &format!("{PATH}?{query}"), &head, b"").await
    };
    let csv = accept("text/csv").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let lines: Vec<&str> = csv.text().lines().collect();
    assert_eq!((lines.len(), lines[0]), (2501, "symbol,time,open,high,low,close,volume,turnover,session"));
    assert_eq!(csv.header("vary"), Some("accept, accept-encoding"));
    let rows = read_back("a.csv", &csv.body);
    let json = data(&accept("application/json").await);
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), times(&json));
    assert_eq!(csv.header("x-next"), json["next"].as_str());

    let parquet = accept("application/vnd.apache.parquet").await;
    assert_eq!(parquet.header("content-type"), Some("application/vnd.apache.parquet"));
    assert!(read_back("a.parquet", &parquet.body) == rows);

    let arrow = accept("application/vnd.apache.arrow.stream").await;
    assert_eq!(arrow.header("content-type"), Some("application/vnd.apache.arrow.stream"));
    assert!(read_arrow(&arrow.body) == rows);

    // A parameter overrides the header, so that a URL alone can select the format.
    for (format, content_type) in [
        ("csv", "text/csv; charset=utf-8; header=present"),
        ("json", "application/json; charset=utf-8"),
        ("parquet", "application/vnd.apache.parquet"),
        ("arrow", "application/vnd.apache.arrow.stream"),
    ] {
        let head = format!("authorization: Bearer {token}\r\naccept: application/xml\r\n");
        let answer = server.http("GET", &format!("{PATH}?{query}&format={format}"), &head, b"").await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(content_type)));
    }
    assert_eq!(refused(&accept("application/xml").await).0, 406);
}

#[tokio::test]
async fn a_response_without_candles_is_valid_in_every_format() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let query = "symbol=600519.SH&period=1m&before=2026-11-13";
    assert_eq!(data(&ask(&server, &account, query).await)["candlesticks"], json!([]));
    let csv = ask(&server, &account, &format!("{query}&format=csv")).await;
    assert_eq!(csv.text(), "symbol,time,open,high,low,close,volume,turnover,session\n");
    let arrow = ask(&server, &account, &format!("{query}&format=arrow")).await;
    let mut batches = arrow_ipc::reader::StreamReader::try_new(Cursor::new(&arrow.body), None).unwrap();
    assert_eq!(batches.schema().fields().len(), 9);
    assert!(batches.next().is_none());
    let parquet = ask(&server, &account, &format!("{query}&format=parquet")).await;
    assert!(parquet.body.starts_with(b"PAR1") && parquet.body.ends_with(b"PAR1"));
}

/// Returns the call limit, the remaining calls, the quota limit, and the used quota from the
/// response headers.
fn describe(answer: &Response) -> [Option<i64>; 4] {
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-quota-limit", "x-quota-used"]
        .map(|name| answer.header(name).map(|value| value.parse().unwrap()))
}

#[tokio::test]
async fn every_history_response_reports_the_remaining_limits() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(2), ..rate("4/3600") });
    let first = ask(&server, &account, "symbol=700.HK").await;
    assert_eq!(describe(&first), [Some(4), Some(3), Some(2), Some(1)]);
    let reset: u64 = first.header("x-ratelimit-reset").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&reset), "{reset}");
    assert_eq!(first.header("x-quota-reset"), Some("2026-12-01"));
    let body = r#"{"symbol":"AAPL.US","period":1000,"query_type":1,"offset_request":{}}"#;
    let second = server.post("/quote/history-candlesticks", &account, body).await;
    assert_eq!(describe(&second), [Some(4), Some(2), Some(2), Some(2)]);
    let spent = ask(&server, &account, "symbol=600519.SH").await;
    assert_eq!((refused(&spent).0, refused(&spent).1), (403, 301_607));
    assert_eq!(describe(&spent), [Some(4), Some(1), Some(2), Some(2)]);
    let wrong = ask(&server, &account, "symbol=700.HK&colour=red").await;
    assert_eq!((refused(&wrong).0, refused(&wrong).1), (400, 301_600));
    assert_eq!(describe(&wrong), [Some(4), Some(1), Some(2), Some(2)]);
    data(&ask(&server, &account, "symbol=700.HK").await);
    for refusal in [
        ask(&server, &account, "symbol=700.HK").await,
        server.post("/quote/history-candlesticks", &account, body).await,
    ] {
        assert_eq!((refused(&refusal).0, refused(&refusal).1), (429, 301_606));
        assert_eq!(describe(&refusal), [Some(4), Some(0), Some(2), Some(2)]);
        let wait: u64 = refusal.header("retry-after").unwrap().parse().unwrap();
        assert!((3_500..=3_600).contains(&wait), "{wait}");
    }
    // Only history is counted, and only history responses report the limits.
    let other = server.post("/quote/quotes", &account, r#"{"symbol":["700.HK"]}"#).await;
    assert_eq!((other.status, describe(&other)), (200, [None; 4]));
}

#[tokio::test]
async fn a_long_response_counts_as_one_call_per_thousand_candles() {
    let server = Running::start().await;
    let account = server.account("ann", rate("12/3600"));
    let remaining = |answer: &Response| describe(answer)[1].unwrap();
    let minutes = "symbol=700.HK&period=1m";
    assert_eq!(remaining(&ask(&server, &account, &format!("{minutes}&limit=1001")).await), 10);
    let long = ask(&server, &account, &format!("{minutes}&limit=9000")).await;
    assert_eq!(remaining(&long), 1);
    assert!(times(&data(&long)).len() > 7_000, "as many as there are");
    // A request is counted completely or not at all. A refused request is not counted.
    let refusal = ask(&server, &account, &format!("{minutes}&limit=2000")).await;
    assert_eq!((refusal.status, remaining(&refusal)), (429, 1));
    assert_eq!(remaining(&ask(&server, &account, &format!("{minutes}&limit=1000")).await), 0);
    assert_eq!(describe(&refusal)[3], Some(1), "one security");

    let slow = server.account("bob", rate("2/30"));
    let (status, code, text) = refused(&ask(&server, &slow, &format!("{minutes}&limit=2001")).await);
    assert_eq!((status, code), (400, 301_600));
    assert_eq!(
        text,
        "limit 2001 counts as 3 calls, and this account has 2 in any 30 s: request at most 2000"
    );
    let free = server.account("cat", unlimited());
    let answer = ask(&server, &free, &format!("{minutes}&limit=10000")).await;
    assert_eq!((answer.status, describe(&answer)[0], answer.header("x-ratelimit-reset")), (200, None, None));
}

#[tokio::test]
async fn refusals_are_the_same_on_every_transport() {
    let server = Running::start().await;
    let account = server.account_with("ann", "HK", unlimited());
    for (query, status, code, text) in [
        ("symbol=9999.HK", 400, 301_600, "9999.HK is not known"),
        ("symbol=tencent", 400, 301_600, "tencent"),
        ("symbol=700.HK&period=7", 400, 301_600, "period 7 is unknown"),
        (
            "symbol=700.HK&start=2026-11-13&end=2026-11-12",
            400,
            301_600,
            "start date 2026-11-13 is after end date",
        ),
        ("symbol=700.HK&period=1m&start=1999-01-04", 400, 301_600, "out of minute kline begin date"),
        ("symbol=5.HK", 404, 301_603, "5.HK has no stored candles"),
        ("symbol=AAPL.US", 403, 301_604, "lacks the right US"),
        ("symbol=700.HK&limit=10001", 400, 301_600, "limit \"10001\" is outside 1 to 10000"),
    ] {
        let got = refused(&ask(&server, &account, query).await);
        assert_eq!((got.0, got.1), (status, code), "{query}: {}", got.2);
        assert!(got.2.contains(text), "{query}: {}", got.2);
    }
}

/// Refusals have the same order as on a long connection. Parse errors are refused before the
/// request is counted, and invalid values after.
#[tokio::test]
async fn an_invalid_value_is_counted_and_a_parse_error_is_not() {
    let server = Running::start().await;
    let account = server.account("ann", rate("5/3600"));
    let understood = ["period=7", "period=1&minute=2500", "start=2026-11-13&end=2026-11-12"];
    for (query, left) in understood.into_iter().chain(["period=1m&start=1999-01-04"]).zip([4, 3, 2, 1]) {
        let answer = ask(&server, &account, &format!("symbol=700.HK&{query}")).await;
        assert_eq!((answer.status, describe(&answer)[1]), (400, Some(left)), "{query}");
    }
    let unread = "symbol=700.HK&period=7m";
    let answer = ask(&server, &account, unread).await;
    assert_eq!((answer.status, describe(&answer)[1]), (400, Some(1)));
    data(&ask(&server, &account, "symbol=700.HK").await);
    for query in understood {
        assert_eq!(ask(&server, &account, &format!("symbol=700.HK&{query}")).await.status, 429, "{query}");
    }
    assert_eq!(ask(&server, &account, unread).await.status, 400);
}

#[tokio::test]
async fn a_token_is_required() {
    let server = Running::start().await;
    for path in [format!("{PATH}?symbol=700.HK"), PATH.to_owned(), "/v1/socket/token".to_owned()] {
        let answer = server.http("GET", &path, "", b"").await;
        assert_eq!((refused(&answer).0, refused(&answer).1), (401, 401_004));
        assert_eq!(answer.header("www-authenticate"), Some("bearer"));
        assert_eq!(describe(&answer), [None; 4], "nobody has no quota");
    }
}

#[tokio::test]
async fn overnight_candles_need_a_request_and_the_right() {
    let server = Running::start().await;
    let (may, may_not) =
        (server.account_with("ann", OVERNIGHT, unlimited()), server.account("bob", unlimited()));
    let sessions = async |account: &Created, session: &str| {
        let query = format!("symbol=AAPL.US&period=60m&{session}&before=2026-11-13&limit=40");
        let data = data(&ask(&server, account, &query).await);
        let candles = data["candlesticks"].as_array().unwrap();
        let mut seen: Vec<i64> = candles.iter().map(|one| one["trade_session"].as_i64().unwrap()).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    };
    assert_eq!(sessions(&may, "session=intraday").await, [0]);
    assert_eq!(sessions(&may, "session=extended").await, [0, 1, 2]);
    assert_eq!(sessions(&may, "trade_session=100").await, [0, 1, 2]);
    assert_eq!(sessions(&may, "session=all").await, [0, 1, 2, 3]);
    assert_eq!(sessions(&may_not, "session=all").await, [0, 1, 2]);
}
