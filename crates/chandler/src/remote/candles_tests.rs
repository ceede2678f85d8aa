use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use access::Secret;
use history::COUNT_MAX;
use market::{Floors, Period};
use serde_json::json;

use super::*;
use crate::progress::Flags;
use crate::remote::http::{Answer, Http, Request};
use crate::sdk::Url;

/// Fake server with `days` daily candles. It accepts `lets_in` requests before it applies its rate
/// limit.
struct Server {
    days: u64,
    decimals: usize,
    lets_in: Mutex<u32>,
    rate: Option<u64>,
    requests: Mutex<Vec<String>>,
}

/// Fake clock that records pauses instead of waiting, and simulates Ctrl-C after `looks` checks.
struct Pauses {
    taken: RefCell<Vec<u64>>,
    looks: RefCell<u32>,
}

impl Time for Pauses {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn pause(&self, length: Duration) -> bool {
        self.taken.borrow_mut().push(length.as_secs());
        true
    }

    fn is_over(&self) -> bool {
        let over = *self.looks.borrow() == 0;
        *self.looks.borrow_mut() -= u32::from(!over);
        over
    }
}

impl Http for Arc<Server> {
    fn send(&self, request: &Request) -> anyhow::Result<Answer> {
        let (_, query) = request.url.split_once('?').unwrap_or_default();
        let value = |name: &str| {
            form_urlencoded::parse(query.as_bytes())
                .find(|(known, _)| known == name)
                .map(|(_, text)| text.into_owned())
        };
        self.requests.lock().unwrap().push(query.to_owned());
        let refusal = |status: u16, code: i64, message: &str, headers: &[(&'static str, &str)]| {
            let body = json!({"code": code, "message": message, "data": null}).to_string().into_bytes();
            Ok(Answer { status, headers: Headers::with(headers), body })
        };
        if request.url.contains("/v1/securities") {
            // The same response is used for a search and for a request for one security, from which
            // `decimals` is read.
            let found = if query.starts_with("query=7&") { json!([{"symbol": "700.HK"}]) } else { json!([]) };
            let body = json!({"code": 0, "message": "", "data": {"securities": found, "decimals": 2}});
            return Ok(Answer {
                status: 200,
                headers: Headers::default(),
                body: body.to_string().into_bytes(),
            });
        }
        match value("symbol").as_deref() {
            Some("70.HK") => return refusal(400, 301_600, "70.HK is not known", &[]),
            Some("8.HK") => {
                let quota =
                    [("x-quota-used", "100"), ("x-quota-limit", "100"), ("x-quota-reset", "2026-12-01")];
                return refusal(403, 301_607, "used up", &quota);
            }
            _ => {}
        }
        if *self.lets_in.lock().unwrap() == 0 {
            *self.lets_in.lock().unwrap() = u32::MAX;
            return refusal(429, 301_606, "too fast", &[("retry-after", "7")]);
        }
        *self.lets_in.lock().unwrap() -= 1;
        let from: u64 = value("next").map_or(0, |next| next.parse().unwrap());
        let until = (from + value("limit").unwrap().parse::<u64>().unwrap()).min(self.days);
        let price = |day: u64| format!("{}.{}", 10 + day, "125".repeat(2).split_at(self.decimals).0);
        let mut body = format!("{HEADER}\n");
        for day in from..until {
            let at = jiff::Timestamp::from_second(i64::try_from(day * 86_400).unwrap()).unwrap();
            let price = price(day);
            body += &format!("700.HK,{at},{price},{price},{price},{price},100,2.5,intraday\n");
        }
        let next = until.to_string();
        let mut headers = Vec::new();
        headers.extend((until < self.days).then_some(("x-next", next.as_str())));
        let rate = self.rate.map(|rate| rate.to_string());
        headers.extend(rate.as_deref().map(|rate| ("x-ratelimit-limit", rate)));
        Ok(Answer { status: 200, headers: Headers::with(&headers), body: body.into_bytes() })
    }
}

fn query(symbol: &str, select: Select) -> Query {
    Query {
        symbol: symbol.parse().unwrap(),
        period: Period::DAY,
        adjust: Adjust::Forward,
        sessions: Sessions::All,
        floors: Floors::NONE,
        select,
    }
}

const LATEST: Select =
    Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: COUNT_MAX };

struct Outcome {
    gathered: Result<CandlePages, Failure>,
    requests: Vec<String>,
    pauses: Vec<u64>,
}

fn ask(server: Server, symbol: &str, limit: u64) -> Outcome {
    ask_until(server, symbol, limit, u32::MAX)
}

fn ask_until(server: Server, symbol: &str, limit: u64, looks: u32) -> Outcome {
    let server = Arc::new(server);
    let url = Url::parse("http://127.0.0.1:1").unwrap();
    let session = Session::new(url, Box::new(server.clone()), Secret::new("t".to_owned()));
    let pauses = Pauses { taken: RefCell::default(), looks: RefCell::new(looks) };
    let bar = Flags { quiet: true }.count(limit, "candles");
    let gathered = gather(&session, &query(symbol, LATEST), limit, &bar, &pauses);
    Outcome {
        gathered,
        requests: std::mem::take(&mut *server.requests.lock().unwrap()),
        pauses: pauses.taken.take(),
    }
}

fn server(days: u64) -> Server {
    Server { days, decimals: 3, lets_in: Mutex::new(u32::MAX), rate: None, requests: Mutex::default() }
}

fn limits(requests: &[String]) -> Vec<String> {
    let limit = |query: &String| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == "limit")
            .map(|(_, text)| text.into_owned())
    };
    requests.iter().filter_map(limit).collect()
}

#[test]
fn page_sizes_grow_to_the_rate_limit() {
    let Outcome { gathered, requests: request, .. } = ask(server(30_000), "700.HK", 25_500);
    let gathered = gathered.unwrap();
    assert_eq!(limits(&request)[..4], ["1000", "10000", "10000", "4500"]);
    assert_eq!(gathered.pages.iter().map(Candles::len).sum::<usize>(), 25_500);
    assert!(!gathered.ended);
    let slow = Server { rate: Some(3), ..server(5_000) };
    let Outcome { gathered, requests: request, .. } = ask(slow, "700.HK", 1_000_000);
    assert_eq!(limits(&request)[..3], ["1000", "3000", "3000"]);
    assert!(gathered.unwrap().ended);
}

#[test]
fn a_rate_limited_page_is_retried_except_the_first() {
    let waits = Server { lets_in: Mutex::new(1), ..server(2_000) };
    let Outcome { gathered, pauses, .. } = ask(waits, "700.HK", 2_000);
    assert_eq!(gathered.unwrap().pages.len(), 2);
    assert_eq!(pauses, [7]);
    let refuses = Server { lets_in: Mutex::new(0), ..server(2_000) };
    let Outcome { gathered, pauses, .. } = ask(refuses, "700.HK", 2_000);
    let text = gathered.unwrap_err().to_string();
    assert!(text.contains("too fast") && text.contains("try again in 7 s; "), "{text}");
    assert!(text.contains("chandler account set NAME --unlimited"), "{text}");
    assert_eq!(pauses, [0; 0]);
}

#[test]
fn ctrl_c_stops_before_the_next_page() {
    let Outcome { gathered, requests: request, .. } = ask_until(server(30_000), "700.HK", 25_500, 2);
    assert!(matches!(gathered, Err(Failure::Interrupted(_))));
    assert_eq!(limits(&request), ["1000", "10000"]);
}

#[test]
fn an_error_from_the_server_is_reported_with_advice() {
    let text = ask(server(1), "8.HK", 1).gathered.unwrap_err().to_string();
    for part in ["100 of 100 securities", "2026-12-01", "301607", "chandler quota --server", "--unlimited"] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    let text = ask(server(1), "70.HK", 1).gathered.unwrap_err().to_string();
    assert!(text.ends_with("70.HK is not known; did you mean 700.HK?"), "{text}");
}

#[test]
fn decimals_are_requested_only_if_prices_are_not_conclusive() {
    // Every price of this server ends in a five.
    let Outcome { gathered, requests: request, .. } = ask(server(2), "700.HK", 2);
    assert_eq!((gathered.unwrap().decimals, request.len()), (2, 2));
    let decimals = |prices: &[&str]| {
        let mut written = PriceDecimals::default();
        for text in prices {
            written.price(text).unwrap();
        }
        written.decimals()
    };
    assert_eq!(decimals(&["1.125"]), None);
    assert_eq!(decimals(&["1.1250"]), Some(4));
    assert_eq!(
        decimals(&["1.120", "1.1255"]),
        Some(3),
        "a price with more decimals than its security keeps them"
    );
    assert_eq!(decimals(&["17"]), Some(0));
    assert_eq!(decimals(&[]), Some(3));
}

#[test]
fn a_query_becomes_url_parameters() {
    let date = jiff::civil::date(2026, 11, 13);
    let text = |select| {
        let pairs = parameters(&query("700.HK", select));
        address(&pairs, 5, None).replace("/v1/quote/history-candlesticks?symbol=700.HK&period=day&", "")
    };
    assert_eq!(text(LATEST), "adjust=forward&session=all&limit=5");
    let before = Anchor::Minute(date, 9 * 60 + 30);
    assert_eq!(
        text(Select::Offset { direction: Direction::Past, anchor: before, count: 5 }),
        "adjust=forward&session=all&before=2026-11-13T09%3A30&limit=5"
    );
    assert_eq!(
        text(Select::Offset { direction: Direction::Present, anchor: Anchor::Day(date), count: 5 }),
        "adjust=forward&session=all&after=2026-11-13&limit=5"
    );
    assert_eq!(
        text(Select::Dates { start: Some(date), end: None }),
        "adjust=forward&session=all&start=2026-11-13&limit=5"
    );
}

#[test]
fn a_malformed_table_is_rejected() {
    let symbol: Symbol = "700.HK".parse().unwrap();
    let read =
        |rows: &str| read(format!("{HEADER}\n{rows}").as_bytes(), &symbol, &mut PriceDecimals::default());
    let row = "700.HK,2026-11-13T00:00:00+08:00,1.0,2.0,0.5,1.5,7,10.25,intraday\n";
    assert_eq!(read(row).unwrap().len(), 1);
    for wrong in [
        &format!("{row}{row}"),
        &row.replace("700", "701"),
        &row.replace("intraday", "lunch"),
        &row.replace(",7,", ",seven,"),
        &row.replace("1.0", "1.0000000"),
        "x",
    ] {
        assert!(read(wrong).is_none(), "{wrong}");
    }
    assert!(super::read(b"<html>", &symbol, &mut PriceDecimals::default()).is_none());
}
