//! Coarse candle files on every transport: the periods that they can serve, the periods that they
//! cannot serve, and their replacement by one-minute candles.

use std::fmt::Write;

use access::{RateRule, Terms};
use serde_json::json;
use wire::quote::{DateRequest, SecurityCandlestickResponse, SecurityHistoryCandlestickRequest};

use crate::support::{Running, TRANSPORTS, import_files};

fn request(period: i32) -> SecurityHistoryCandlestickRequest {
    SecurityHistoryCandlestickRequest {
        symbol: "9.HK".to_owned(),
        period,
        query_type: 2,
        date_request: Some(DateRequest {
            start_date: "20261112".to_owned(),
            end_date: "20261113".to_owned(),
        }),
        ..Default::default()
    }
}

/// Returns candle rows of regular hours, `step` minutes apart.
fn rows(date: &str, step: usize, volume: usize) -> String {
    let mut text = String::new();
    for minute in (570..720).step_by(step).chain((780..960).step_by(step)) {
        let (hour, minute) = (minute / 60, minute % 60);
        writeln!(text, "9.HK,{date}T{hour:02}:{minute:02}:00+08:00,1,3,1,2,{volume}").unwrap();
    }
    text
}

fn import(server: &Running, name: &str, rows: &str) {
    let path = server.dir.path().join(name);
    std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{rows}")).unwrap();
    import_files(server.dir.path(), &[path]);
}

#[tokio::test]
async fn one_minute_candles_replace_a_coarse_file() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    import(&server, "quarters.csv", &(rows("2026-11-12", 15, 15) + &rows("2026-11-13", 15, 15)));
    server.noticed().await;
    let check = async |expected: &[(i32, usize, i64)]| {
        for transport in TRANSPORTS {
            let mut client = server.enter(transport, &account, &[]).await;
            for (period, count, volume) in expected.iter().chain(expected) {
                let answer: SecurityCandlestickResponse = client.ask(27, &request(*period)).await.unwrap();
                let sum: i64 = answer.candlesticks.iter().map(|candle| candle.volume).sum();
                assert_eq!((answer.candlesticks.len(), sum), (*count, *volume), "{period} by {transport:?}");
            }
        }
    };
    check(&[(5, 0, 0), (15, 44, 660), (30, 22, 660), (45, 16, 660), (60, 12, 660), (240, 4, 660)]).await;
    let periods = json!(["15m", "30m", "45m", "60m", "120m", "180m", "240m"]);
    let facts = server.get("/v1/securities/9.HK", &account).await.json();
    assert_eq!(facts["data"]["periods"], periods);
    assert_eq!(facts["data"]["stored"][0]["period"], "15m");
    let udf = server.get("/udf/symbols?symbol=9.HK", &account).await.json();
    assert_eq!(udf["supported_resolutions"], json!(["15", "30", "45", "60", "120", "180", "240"]));
    assert_eq!((&udf["has_intraday"], &udf["has_daily"]), (&json!(true), &json!(false)));
    // Pages of coarse candles have no gaps and no duplicates.
    let path = "/v1/quote/history-candlesticks?symbol=9.HK&period=15m&start=2026-11-12&end=2026-11-13";
    let page = server.get(path, &account).await.json();
    assert_eq!(page["data"]["candlesticks"].as_array().unwrap().len(), 44);

    import(&server, "minutes.csv", &rows("2026-11-13", 1, 2));
    server.noticed().await;
    check(&[(1, 330, 660), (5, 66, 660), (15, 44, 990), (60, 12, 990), (240, 4, 990)]).await;
    let facts = server.get("/v1/securities/9.HK", &account).await.json();
    assert_eq!(facts["data"]["periods"].as_array().unwrap().len(), 13);
}
