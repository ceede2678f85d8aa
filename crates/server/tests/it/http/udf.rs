//! TradingView's UDF protocol as a datafeed uses it.

use access::{Created, Terms};
use serde_json::{Value, json};

use crate::support::{OVERNIGHT, Response, Running, import_files};

/// Midnight UTC of Friday, which is the last trading day, and of the days around it.
const FRIDAY: i64 = 1_794_528_000;
const THURSDAY: i64 = FRIDAY - DAY;
const SATURDAY: i64 = FRIDAY + DAY;
const DAY: i64 = 86_400;
/// Time after all markets have closed, including the US post-market session.
const NOW: i64 = crate::support::NOW.0;

fn unlimited() -> Terms {
    Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() }
}

async fn ask(server: &Running, account: &Created, question: &str) -> Response {
    server.get(&format!("/udf/{question}"), account).await
}

/// Sends a request that must succeed.
async fn good(server: &Running, account: &Created, question: &str) -> Value {
    let answer = ask(server, account, question).await;
    assert_eq!(answer.status, 200, "{question}: {answer:?}");
    let value = answer.json();
    assert_ne!(value["s"], "error", "{question}: {value}");
    value
}

fn numbers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|one| one.as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_datafeed_gets_its_configuration() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let config = good(&server, &account, "config").await;
    assert_eq!(config["supports_search"], true);
    assert_eq!(config["supports_group_request"], false);
    assert_eq!(config["supports_marks"], true);
    assert_eq!(config["supports_timescale_marks"], false);
    assert_eq!(config["supports_time"], true);
    assert_eq!(config["supported_resolutions"].as_array().unwrap().len(), 18);
    let exchanges = config["exchanges"].as_array().unwrap().iter().map(|one| one["value"].as_str().unwrap());
    assert_eq!(exchanges.collect::<Vec<_>>(), ["", "HK", "US", "SH", "SZ"]);
    let time = ask(&server, &account, "time").await;
    assert_eq!((time.status, time.text()), (200, "1794708000"));
    assert_eq!(time.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn candles_match_the_other_transports() {
    let server = Running::start().await;
    let account = server.account_with("ann", OVERNIGHT, unlimited());
    for (ticker, resolution, other) in [
        ("700.HK", "1", "symbol=700.HK&period=1m"),
        ("700.HK", "60", "symbol=700.HK&period=60m"),
        ("700.HK", "1D", "symbol=700.HK&period=day"),
        ("700.HK@forward", "D", "symbol=700.HK&period=day&adjust=forward"),
        ("AAPL.US", "5", "symbol=AAPL.US&period=5m"),
        ("AAPL.US@extended", "5", "symbol=AAPL.US&period=5m&session=extended"),
        ("AAPL.US@all", "5", "symbol=AAPL.US&period=5m&session=all"),
        ("AAPL.US@forward@all", "240", "symbol=AAPL.US&period=240m&session=all&adjust=forward"),
        ("AAPL.US", "W", "symbol=AAPL.US&period=week"),
        ("600519.SH", "1M", "symbol=600519.SH&period=month"),
        ("600519.SH", "3M", "symbol=600519.SH&period=quarter"),
        ("600519.SH", "12M", "symbol=600519.SH&period=year"),
    ] {
        let question =
            format!("history?symbol={ticker}&resolution={resolution}&from=0&to={NOW}&countback=1500");
        let found = good(&server, &account, &question).await;
        let path = format!("/v1/quote/history-candlesticks?{other}&limit=1500");
        let candles = server.get(&path, &account).await.json();
        let candles = candles["data"]["candlesticks"].as_array().unwrap().clone();
        assert!(!candles.is_empty());
        assert_eq!(numbers(&found["t"]).len(), candles.len(), "{ticker} {resolution}");
        for (row, candle) in candles.iter().enumerate() {
            let stamp = match candle["time"].as_str().unwrap().split_once('T').unwrap() {
                // UDF timestamps of daily candles are midnight UTC, regardless of the market's
                // offset.
                (date, time) if resolution.ends_with(['D', 'W', 'M']) => {
                    assert!(time.starts_with("00:00:00"), "{candle}");
                    format!("{date}T00:00:00Z").parse::<jiff::Timestamp>().unwrap().as_second()
                }
                _ => candle["timestamp"].as_i64().unwrap(),
            };
            assert_eq!(found["t"][row], stamp, "{ticker} {resolution}: {candle}");
            assert_eq!(found["v"][row], candle["volume"]);
            for (column, name) in [("o", "open"), ("h", "high"), ("l", "low"), ("c", "close")] {
                let price: f64 = candle[name].as_str().unwrap().parse().unwrap();
                assert_eq!(found[column][row].as_f64(), Some(price), "{ticker} {resolution}: {candle}");
            }
        }
    }
}

#[tokio::test]
async fn prices_are_exact_decimals() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let request = format!("history?symbol=700.HK&resolution=1D&from={THURSDAY}&to={SATURDAY}");
    let answer = ask(&server, &account, &request).await;
    assert_eq!(
        answer.text(),
        r#"{"s":"ok","t":[1794441600,1794528000],"o":[122.000,123.000],"h":[124.000,125.000],"l":[121.000,122.000],"c":[122.500,123.500],"v":[1000,1000]}"#
    );
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn a_range_is_half_open_and_countback_overrides_it() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    // The market opens at 09:30 in Hong Kong.
    let open = FRIDAY + 5_400;
    for (resolution, from, to, countback, wanted) in [
        ("1", open, open + 120, "", vec![open, open + 60]),
        ("1", open, open + 121, "", vec![open, open + 60, open + 120]),
        ("1", open + 1, open + 61, "", vec![open + 60]),
        ("1D", THURSDAY, FRIDAY, "", vec![THURSDAY]),
        ("1D", THURSDAY + 1, FRIDAY + 1, "", vec![FRIDAY]),
        ("1D", FRIDAY, SATURDAY, "&countback=2", vec![THURSDAY, FRIDAY]),
        ("1D", 0, SATURDAY, "&countback=1", vec![FRIDAY]),
        // Charts that are scrolled far back request times outside the supported range.
        ("1D", -9_000_000_000, 99_999_999_999, "&countback=1", vec![FRIDAY]),
        // Datafeeds send additional parameters, which are ignored.
        ("1D", THURSDAY, FRIDAY, "&currencyCode=HKD&firstDataRequest=true&countback=", vec![THURSDAY]),
    ] {
        let question =
            format!("history?symbol=700.HK&resolution={resolution}&from={from}&to={to}{countback}");
        let found = good(&server, &account, &question).await;
        assert_eq!(found["s"], "ok", "{question}");
        assert_eq!(numbers(&found["t"]), wanted, "{question}");
    }
}

#[tokio::test]
async fn an_empty_range_returns_the_time_of_older_candles() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let sunday = SATURDAY + DAY;
    for (question, wanted) in [
        (format!("resolution=1D&from={SATURDAY}&to={sunday}"), json!({"s": "no_data", "nextTime": FRIDAY})),
        // The newest older candle is the closing auction on Friday.
        (
            format!("resolution=1&from={SATURDAY}&to={sunday}"),
            json!({"s": "no_data", "nextTime": FRIDAY + 28_800}),
        ),
        ("resolution=1D&from=1000000000&to=1100000000".to_owned(), json!({"s": "no_data"})),
        ("resolution=1&from=0&to=1700000000&countback=300".to_owned(), json!({"s": "no_data"})),
    ] {
        let found = good(&server, &account, &format!("history?symbol=700.HK&{question}")).await;
        assert_eq!(found, wanted, "{question}");
    }
}

#[tokio::test]
async fn a_refusal_is_in_udf_format() {
    let server = Running::start().await;
    let account = server.account_with("ann", "HK", unlimited());
    for (question, code, text) in [
        ("history?symbol=1.HK&resolution=1D&from=0&to=1", 301_600, "1.HK is not known"),
        ("history?symbol=700&resolution=1D&from=0&to=1", 301_600, "is not a symbol"),
        ("history?symbol=700.HK&resolution=7&from=0&to=1", 301_600, "resolution \"7\" is not one of 1, 2, 3"),
        ("history?symbol=700.HK&resolution=1D&from=0", 301_600, "to is missing"),
        ("history?symbol=700.HK&resolution=1D&to=5", 301_600, "from is missing"),
        ("history?symbol=700.HK&resolution=1D&from=0&to=x", 301_600, "to \"x\" is not a whole number"),
        ("history?symbol=700.HK&resolution=1D&from=0&to=5&countback=-1", 301_600, "is below 1"),
        ("history?symbol=700.HK@back&resolution=1D&from=0&to=1", 301_600, "use forward, extended or all"),
        ("history?symbol=5.HK&resolution=1D&from=0&to=1", 301_603, "has no stored candles"),
        ("history?symbol=AAPL.US&resolution=1D&from=0&to=1", 301_604, "US"),
        ("symbols?symbol=AAPL.US", 301_604, "US"),
        ("symbols?symbol=1.HK", 301_600, "not known"),
        ("symbols", 301_600, "symbol is missing"),
        ("marks?symbol=1.HK&from=0&to=1&resolution=D", 301_600, "not known"),
    ] {
        let answer = ask(&server, &account, question).await;
        let actual = answer.json();
        assert_eq!(
            (answer.status, &actual["s"], &actual["code"]),
            (200, &json!("error"), &json!(code)),
            "{question}: {actual}"
        );
        assert!(actual["errmsg"].as_str().unwrap().contains(text), "{question}: {actual}");
    }
    let stranger = server.http("GET", "/udf/config", "", b"").await;
    assert_eq!((stranger.status, &stranger.json()["s"]), (401, &json!("error")));
}

#[tokio::test]
async fn only_history_requests_are_counted() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { rate: Some("3/3600".parse().unwrap()), ..Terms::default() });
    for free in [
        "config",
        "time",
        "symbols?symbol=700.HK",
        "search?query=7",
        "marks?symbol=700.HK&from=0&to=1&resolution=D",
    ] {
        let answer = ask(&server, &account, free).await;
        assert_eq!((answer.status, answer.header("x-quota-used")), (200, None), "{free}");
    }
    let history = format!("history?symbol=700.HK&resolution=1&from=0&to={SATURDAY}");
    // Two thousand candles count as two calls.
    let answer = ask(&server, &account, &format!("{history}&countback=2000")).await;
    assert_eq!(answer.json()["s"], "ok");
    assert_eq!(answer.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(answer.header("x-quota-used"), Some("1"));
    assert_eq!(ask(&server, &account, &format!("{history}&countback=1000")).await.json()["s"], "ok");
    let refused = ask(&server, &account, &format!("{history}&countback=1")).await;
    assert_eq!((refused.status, &refused.json()["code"]), (200, &json!(301_606)));
    assert!(refused.header("retry-after").is_some());
    // A response above the limit is truncated, and charts request the older candles later.
    let poor = server.account("bob", Terms { rate: Some("1/3600".parse().unwrap()), ..Terms::default() });
    let cut = ask(&server, &poor, &format!("{history}&countback=9000")).await;
    assert_eq!(numbers(&cut.json()["t"]).len(), 1000);
}

#[tokio::test]
async fn symbol_info_has_hours_zone_and_decimals() {
    let server = Running::start().await;
    let account = server.account_with("ann", OVERNIGHT, unlimited());
    let mut info = good(&server, &account, "symbols?symbol=700.HK&lang=zh-HK").await;
    let fields = info.as_object_mut().unwrap();
    let holidays = fields.remove("session_holidays").unwrap();
    assert!(holidays.as_str().unwrap().split(',').any(|day| day == "20261225"), "{holidays}");
    let corrections = fields.remove("corrections").unwrap();
    assert!(corrections.as_str().unwrap().split(';').any(|day| day == "0930-1201:20261224"), "{corrections}");
    let minutes = ["1", "2", "3", "5", "10", "15", "20", "30", "45", "60", "120", "180", "240"];
    let all: Vec<&str> = minutes.into_iter().chain(["1D", "1W", "1M", "3M", "12M"]).collect();
    assert_eq!(
        info,
        json!({
            "name": "700.HK", "ticker": "700.HK", "full_name": "700.HK", "description": "騰訊控股", "type": "stock",
            "exchange": "SEHK", "listed_exchange": "SEHK", "timezone": "Asia/Hong_Kong",
            "session": "0930-1200,1300-1601", "minmov": 1, "pricescale": 1000, "format": "price",
            "currency_code": "HKD", "has_intraday": true, "intraday_multipliers": minutes, "has_daily": true,
            "daily_multipliers": ["1"], "has_weekly_and_monthly": true, "weekly_multipliers": ["1"],
            "monthly_multipliers": ["1", "3", "12"], "supported_resolutions": all, "volume_precision": 0,
            "data_status": "endofday",
        })
    );
    for (ticker, session) in
        [("AAPL.US", "0930-1600"), ("AAPL.US@extended", "0400-2000"), ("AAPL.US@all", "2000-2000")]
    {
        let info = good(&server, &account, &format!("symbols?symbol={ticker}")).await;
        assert_eq!((&info["session"], &info["ticker"]), (&json!(session), &json!(ticker)));
        assert_eq!(info["timezone"], "America/New_York");
    }
    // Without the overnight right, overnight hours are omitted, as in the candles.
    let bob = server.account("bob", unlimited());
    assert_eq!(good(&server, &bob, "symbols?symbol=AAPL.US@all").await["session"], "0400-2000");
}

#[tokio::test]
async fn securities_are_found_by_code_and_name_with_their_variants() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let tickers = async |question: &str| -> Vec<String> {
        let found = good(&server, &account, &format!("search?{question}")).await;
        found.as_array().unwrap().iter().map(|row| row["ticker"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tickers("query=700").await, ["700.HK", "700.HK@forward"]);
    assert_eq!(tickers("query=TENCENT&type=stock&exchange=HK&limit=30").await, ["700.HK", "700.HK@forward"]);
    assert_eq!(tickers("query=%E8%85%BE%E8%AE%AF&limit=1").await, ["700.HK"]);
    assert_eq!(tickers("query=700@for").await, ["700.HK@forward"]);
    assert_eq!(tickers("query=AAPL@all").await, ["AAPL.US@all", "AAPL.US@forward@all"]);
    // The variant filter applies before the limit.
    assert_eq!(tickers("query=@all&limit=1").await, ["AAPL.US@all"]);
    assert_eq!(tickers("query=aapl").await.len(), 6);
    assert!(tickers("query=700&exchange=US").await.is_empty());
    assert!(tickers("query=700&type=index").await.is_empty());
    assert!(tickers("query=nothing").await.is_empty());
    let row = good(&server, &account, "search?query=700@forward&lang=zh-CN").await;
    assert_eq!(
        row[0],
        json!({"symbol": "700.HK@forward", "ticker": "700.HK@forward", "full_name": "700.HK@forward",
               "description": "腾讯控股 (前复权)", "exchange": "SEHK", "type": "stock"})
    );
    // Securities without candles and securities that the account may not see are not found.
    assert!(tickers("query=HSBC").await.is_empty());
    let abroad = server.account_with("bob", "US", unlimited());
    let found = good(&server, &abroad, "search?query=700").await;
    assert_eq!(found, json!([]));
}

#[tokio::test]
async fn corporate_actions_are_marked_at_their_ex_date() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    // The ex-date is 2 November 2026.
    let (day, open) = (1_793_577_600, 1_793_577_600 + 5_400);
    for (resolution, time) in [("1D", day), ("1W", day), ("5", open)] {
        let request = format!("marks?symbol=700.HK@forward&from=0&to={SATURDAY}&resolution={resolution}");
        assert_eq!(
            good(&server, &account, &request).await,
            json!([{"id": "2026-11-02-0", "time": time, "color": "green", "label": "D", "labelFontColor": "white",
                    "minSize": 14, "text": "2026-11-02: dividend 3.4 per share"}])
        );
    }
    for (from, to) in [(day + 1, SATURDAY), (0, day - 1)] {
        let request = format!("marks?symbol=700.HK&from={from}&to={to}&resolution=D");
        assert_eq!(good(&server, &account, &request).await, json!([]));
    }
    // A mark has the same id in every requested range.
    let more = server.dir.path().join("more.csv");
    let actions = "symbol,ex_date,cash,split,bonus,rights,rights_price\n700.HK,2026-10-20,1.5,1,0,0,0\n";
    std::fs::write(&more, actions).unwrap();
    import_files(server.dir.path(), &[more]);
    let ids = async |from: i64| -> Vec<String> {
        let request = format!("marks?symbol=700.HK&from={from}&to={SATURDAY}&resolution=D");
        let found = good(&server, &account, &request).await;
        found.as_array().unwrap().iter().map(|mark| mark["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(0).await, ["2026-10-20-0", "2026-11-02-0"]);
    assert_eq!(ids(day).await, ["2026-11-02-0"]);
    // An action is not marked before its ex-date.
    server.set_now(day - 100_000);
    let request = format!("marks?symbol=700.HK&from={day}&to={SATURDAY}&resolution=D");
    assert_eq!(good(&server, &account, &request).await, json!([]));
}

#[tokio::test]
async fn a_chart_may_send_its_token_in_the_url() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let token = account.access_token.expose();
    let address = format!("/udf/key/{token}/history?symbol=700.HK&resolution=1D&to={SATURDAY}&countback=1");
    let answer = server.http("GET", &address, "origin: https://elsewhere.example\r\n", b"").await;
    assert_eq!((answer.status, numbers(&answer.json()["t"])), (200, vec![FRIDAY]));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    for path in [
        "config",
        "time",
        "symbols?symbol=700.HK",
        "search?query=7",
        "marks?symbol=700.HK&from=0&to=1&resolution=D",
    ] {
        let answer = server.http("GET", &format!("/udf/key/{token}/{path}"), "", b"").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let wrong = server.http("GET", &format!("/udf/key/{}x/{path}", &token[1..]), "", b"").await;
        assert_eq!((wrong.status, &wrong.json()["s"]), (401, &json!("error")), "{path}");
    }
}
