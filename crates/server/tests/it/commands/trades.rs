//! Commands 17, 24 and 25 on every transport, with a trading day of few trades.

use std::path::{Path, PathBuf};

use access::{RateRule, Terms};
use history::import::Options;
use serde_json::{Value, json};
use wire::quote::{
    CalcIndexesRequest, CalcIndexesResponse, CapitalBySize, CapitalDistributionResponse, CapitalFlowResponse,
    SymbolRequest, TradesRequest, TradesResponse,
};

use crate::support::{OVERNIGHT, Running, TRANSPORTS, import_files, import_with};

/// 09:30 in Hong Kong on Friday 2026-11-13, the last trading day.
const OPEN: i64 = 1_794_533_400;

const TRADES: &str = "symbol,time,price,volume,direction,type
700.HK,2026-11-13 09:20:00,123.4,500,up,U
700.HK,2026-11-13 09:30:00,123.0,1000,up,
700.HK,2026-11-13 09:30:59,123.2,100,down,
700.HK,2026-11-13 09:32:10,123.2,300,neutral,
700.HK,2026-11-13 09:32:11,123.2,50,up,D
700.HK,2026-11-13 16:08:37,123.5,2000,2,U
";

fn write(dir: &Path, name: &str, text: &str) -> Vec<PathBuf> {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    vec![path]
}

async fn started() -> Running {
    let server = Running::start().await;
    import_files(server.dir.path(), &write(server.dir.path(), "trades.csv", TRADES));
    server.noticed().await;
    server
}

fn unlimited() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

#[tokio::test]
async fn trades_flow_and_distribution_are_the_same_on_every_transport() {
    let server = started().await;
    let account = server.account("ann", unlimited());
    let symbol = SymbolRequest { symbol: "00700.hk".to_owned() };
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[("accept-language", "en")]).await;
        let request = TradesRequest { symbol: "00700.HK".to_owned(), count: 2 };
        let trades: TradesResponse = client.ask(17, &request).await.unwrap();
        assert_eq!(trades.symbol, "700.HK");
        let spelled: Vec<String> = trades
            .trades
            .iter()
            .map(|one| {
                format!(
                    "{} {} {} {:?} {}",
                    one.timestamp - OPEN,
                    one.price,
                    one.volume,
                    one.trade_type,
                    one.direction
                )
            })
            .collect();
        assert_eq!(spelled, ["131 123.200 50 \"D\" 2", "23917 123.500 2000 \"U\" 2"]);

        let flow: CapitalFlowResponse = client.ask(24, &symbol).await.unwrap();
        assert_eq!(flow.symbol, "700.HK");
        assert_eq!(flow.capital_flow_lines.len(), 331);
        let line = |at: usize| {
            let line = &flow.capital_flow_lines[at];
            (line.timestamp - OPEN, line.inflow.as_str())
        };
        assert_eq!(line(0), (0, "110680.000"));
        assert_eq!(line(2), (120, "110680.000"));
        assert_eq!(line(330), (23_400, "357680.000"));

        let found: CapitalDistributionResponse = client.ask(25, &symbol).await.unwrap();
        // No earlier trading day is stored, so the day's own turnover is the base. It is 382320 in
        // total, of which the trade of 247000 alone is more than 55 %.
        let sizes = |large: &str, medium: &str, small: &str| {
            Some(CapitalBySize {
                large: large.to_owned(),
                medium: medium.to_owned(),
                small: small.to_owned(),
            })
        };
        assert_eq!(found.capital_in, sizes("247000.000", "0.000", "123000.000"));
        assert_eq!(found.capital_out, sizes("0.000", "0.000", "12320.000"));
        assert_eq!(found.timestamp - OPEN, 23_917);

        // The capital flow index equals the last line of command 24.
        let request = CalcIndexesRequest { symbols: vec!["700.HK".to_owned()], calc_index: vec![9] };
        let found: CalcIndexesResponse = client.ask(26, &request).await.unwrap();
        assert_eq!(found.security_calc_index[0].capital_flow, "357680.000");
    }
    for (post, get, body) in [
        ("/quote/quotes", "/v1/quote/quotes?symbols=700.HK,9999.HK", r#"{"symbol":["700.HK"]}"#),
        ("/quote/trades", "/v1/quote/trades?symbol=700.HK&count=3", r#"{"symbol":"700.HK","count":3}"#),
        ("/quote/capital-flow", "/v1/quote/capital-flow?symbol=700.HK", r#"{"symbol":"700.HK"}"#),
        (
            "/quote/capital-distribution",
            "/v1/quote/capital-distribution?symbol=700.HK",
            r#"{"symbol":"700.HK"}"#,
        ),
        (
            "/quote/markets/trading-days",
            "/v1/quote/trading-days?market=HK&beg_day=20261101&end_day=20261130",
            r#"{"market":"HK","beg_day":"20261101","end_day":"20261130"}"#,
        ),
    ] {
        let mirrored = server.post(post, &account, body).await;
        assert_eq!(mirrored.status, 200, "{mirrored:?}");
        let requested = server.get(get, &account).await;
        assert_eq!((requested.status, requested.json()), (200, mirrored.json()), "{get}");
    }
    let distribution = server.get("/v1/quote/capital-distribution?symbol=700.HK", &account).await.json();
    assert_eq!(
        distribution["data"],
        json!({"symbol": "700.HK", "timestamp": OPEN + 23_917,
               "capital_in": {"large": "247000.000", "medium": "0.000", "small": "123000.000"},
               "capital_out": {"large": "0.000", "medium": "0.000", "small": "12320.000"}})
    );
}

#[tokio::test]
async fn trades_in_the_future_are_not_returned() {
    let server = started().await;
    let account = server.account("ann", unlimited());
    let mut client = server.signed_in(&account).await;
    let symbol = SymbolRequest { symbol: "700.HK".to_owned() };
    server.set_now(OPEN + 59);
    let flow: CapitalFlowResponse = client.ask(24, &symbol).await.unwrap();
    let lines: Vec<&str> = flow.capital_flow_lines.iter().map(|line| line.inflow.as_str()).collect();
    assert_eq!(lines, ["110680.000"]);
    server.set_now(OPEN + 58);
    let flow: CapitalFlowResponse = client.ask(24, &symbol).await.unwrap();
    assert_eq!(flow.capital_flow_lines[0].inflow, "123000.000");
    let trades: TradesResponse =
        client.ask(17, &TradesRequest { symbol: "700.HK".to_owned(), count: 1000 }).await.unwrap();
    assert_eq!(trades.trades.len(), 2);
    // Before the open, no trade of the day is visible, and no earlier day has trades.
    server.set_now(OPEN - 1);
    assert_eq!(client.ask::<CapitalFlowResponse>(24, &symbol).await.unwrap_err().1, 301_603);
    server.set_now(OPEN - 601);
    assert_eq!(
        client
            .ask::<TradesResponse>(17, &TradesRequest { symbol: "700.HK".to_owned(), count: 1 })
            .await
            .unwrap_err()
            .1,
        301_603
    );
}

#[tokio::test]
async fn the_number_of_trades_of_a_day_is_shown_after_the_date_has_passed() {
    let server = started().await;
    let account = server.account("ann", unlimited());
    // The last trade of the day is at 16:08:37. Until midnight, it is not known to be the last.
    let last = OPEN + 23_917;
    let midnight = OPEN + 52_200;
    for (now, wanted) in [
        (OPEN - 601, json!(0)),
        (OPEN + 59, Value::Null),
        (last - 1, Value::Null),
        (last, Value::Null),
        (midnight - 1, Value::Null),
        (midnight, json!(6)),
    ] {
        server.set_now(now);
        let days = server.get("/v1/coverage/700.HK?end=2026-11-13", &account).await.json();
        let day = days["data"]["days"].as_array().unwrap().iter().find(|day| day["date"] == "2026-11-13");
        // The day is not listed before its first minute.
        assert_eq!(day.map_or(&json!(0), |day| &day["trades"]), &wanted, "{now}");
    }
}

#[tokio::test]
async fn unanswerable_requests_are_refused_with_their_reason() {
    let server = started().await;
    let account = server.account("ann", unlimited());
    let foreign = server.account_with("bob", "US", unlimited());
    let mut client = server.signed_in(&account).await;
    for (symbol, count, refused) in [
        ("700.HK", 1001, (7, 301_607)),
        ("700.HK", 0, (7, 301_600)),
        ("700.HK", -1, (7, 301_600)),
        ("700", 1, (7, 301_600)),
        ("99999.HK", 1, (7, 301_600)),
        ("AAPL.US", 1, (7, 301_603)),
        ("AAPL261120C200000.US", 1, (7, 301_603)),
    ] {
        let request = TradesRequest { symbol: symbol.to_owned(), count };
        let (status, code, text) = client.ask::<TradesResponse>(17, &request).await.unwrap_err();
        assert_eq!((status, code), refused, "{symbol} {count}: {text}");
    }
    for command in [24, 25] {
        for (symbol, code) in [("", 301_600), ("99999.HK", 301_600), ("AAPL.US", 301_603)] {
            let request = SymbolRequest { symbol: symbol.to_owned() };
            assert_eq!(client.ask::<()>(command, &request).await.unwrap_err().1, code, "{command} {symbol}");
        }
    }
    let mut abroad = server.signed_in(&foreign).await;
    let request = SymbolRequest { symbol: "700.HK".to_owned() };
    assert_eq!(abroad.ask::<()>(25, &request).await.unwrap_err().1, 301_604);
    for (path, status) in [
        ("/v1/quote/quotes", 400),
        ("/v1/quote/capital-flow", 400),
        ("/v1/quote/capital-flow?symbol=700.HK&count=1", 400),
        ("/v1/quote/capital-flow?symbol=AAPL.US", 404),
        ("/v1/quote/trades?symbol=700.HK&count=x", 400),
        ("/v1/quote/trades?symbol=700.HK&count=0", 400),
        ("/v1/quote/trades?symbol=700.HK&count=1001", 403),
    ] {
        let answer = server.get(path, &account).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn warrants_have_trades_and_no_capital_flow() {
    let server = started().await;
    // The securities are warrants identified by board, by kind and by number, and an equity in the
    // number range of warrants.
    let names = "symbol,name_en,exchange,currency,lot_size,board,kind\n\
        9101.HK,One,SEHK,HKD,100,HKWarrant,\n9102.HK,Two,SEHK,HKD,100,HKEquity,warrant\n\
        19104.HK,Four,SEHK,HKD,100,HKEquity,equity\n";
    let row = |symbol: &str| format!("{symbol},2026-11-13 10:00:00,0.12,10000,up,\n");
    let trades: String = ["9101.HK", "9102.HK", "60103.HK", "19104.HK"].into_iter().map(row).collect();
    let trades = format!("symbol,time,price,volume,direction,type\n{trades}");
    let dir = server.dir.path();
    import_files(dir, &write(dir, "names.csv", names));
    import_files(dir, &write(dir, "warrants.csv", &trades));
    server.noticed().await;
    let account = server.account("ann", unlimited());
    let mut client = server.signed_in(&account).await;
    for (symbol, is_warrant) in
        [("9101.HK", true), ("9102.HK", true), ("60103.HK", true), ("19104.HK", false)]
    {
        let request = TradesRequest { symbol: symbol.to_owned(), count: 1 };
        let found: TradesResponse = client.ask(17, &request).await.unwrap();
        assert_eq!(found.trades.len(), 1, "{symbol}");
        let request = SymbolRequest { symbol: symbol.to_owned() };
        let flow = client.ask::<CapitalFlowResponse>(24, &request).await;
        let distribution = client.ask::<CapitalDistributionResponse>(25, &request).await;
        if is_warrant {
            for (status, code, text) in [flow.unwrap_err(), distribution.unwrap_err()] {
                assert_eq!((status, code), (7, 301_603), "{symbol}: {text}");
                assert!(text.contains("is a warrant"), "{symbol}: {text}");
            }
        } else {
            assert_eq!(distribution.unwrap().capital_in.unwrap().large, "1200.000");
            assert_eq!(flow.unwrap().capital_flow_lines.len(), 331);
        }
        let answer = server.get(&format!("/v1/quote/capital-flow?symbol={symbol}"), &account).await;
        assert_eq!(answer.status, if is_warrant { 404 } else { 200 }, "{symbol}: {answer:?}");
        // The page reads this state first, to avoid the refusal.
        let facts = server.get(&format!("/v1/securities/{symbol}"), &account).await;
        let state = if is_warrant { "unavailable" } else { "known" };
        assert_eq!(facts.json()["data"]["capital_flow"], state, "{symbol}: {facts:?}");
    }
}

#[tokio::test]
async fn overnight_trades_are_returned_only_on_request() {
    let server = Running::start().await;
    let text = "symbol,time,price,volume\nAAPL.US,2026-11-12T20:30:00-05:00,200.1,10\nAAPL.US,2026-11-13T04:30:00-05:00,200.2,10\n\
        AAPL.US,2026-11-13T09:30:00-05:00,200.3,10\n";
    import_files(server.dir.path(), &write(server.dir.path(), "us.csv", text));
    let account = server.account_with("ann", OVERNIGHT, unlimited());
    let request = TradesRequest { symbol: "AAPL.US".to_owned(), count: 10 };
    for (metadata, wanted) in
        [(&[][..], vec![1, 0]), (&[("need_over_night_quote", "true")][..], vec![3, 1, 0])]
    {
        let mut client = server.enter(crate::support::TransportLabel::WebSocket, &account, metadata).await;
        let found: TradesResponse = client.ask(17, &request).await.unwrap();
        assert_eq!(found.trades.iter().map(|one| one.trade_session).collect::<Vec<_>>(), wanted);
    }
}

#[tokio::test]
async fn candles_built_from_trades_are_served_like_imported_candles() {
    let server = Running::start().await;
    let text = "symbol,time,price,volume\n9001.HK,2026-11-13 09:30:00,10.0,100\n9001.HK,2026-11-13 09:30:30,10.4,100\n\
        9001.HK,2026-11-13 16:09:00,10.2,300\n";
    let paths = write(server.dir.path(), "built.csv", text);
    import_with(server.dir.path(), &paths, Options { build_candles: true, ..Options::default() });
    let account = server.account("ann", unlimited());
    let candles = async |period: i32| -> Vec<Value> {
        let body = format!(r#"{{"symbol":"9001.HK","period":{period},"count":10}}"#);
        let answer = server.post("/quote/candlesticks", &account, &body).await.json();
        answer["data"]["candlesticks"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    };
    let minutes = candles(1).await;
    assert_eq!(minutes.len(), 2, "{minutes:?}");
    assert_eq!(
        minutes[0],
        json!({"open": "10.000", "high": "10.400", "low": "10.000", "close": "10.400", "volume": 200,
               "turnover": "2040.000", "timestamp": OPEN, "trade_session": 0})
    );
    assert_eq!(minutes[1]["timestamp"], OPEN + 23_400);
    let days = candles(1000).await;
    assert_eq!(days.len(), 1);
    assert_eq!((days[0]["close"].as_str(), days[0]["volume"].as_i64()), (Some("10.200"), Some(500)));
}
