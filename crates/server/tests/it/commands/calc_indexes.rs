//! Command 26: indexes computed from stored prices and figures.

use access::{RateRule, Terms};
use serde_json::json;
use wire::quote::{CalcIndexes, CalcIndexesRequest, CalcIndexesResponse};

use crate::support::{Running, TRANSPORTS, import_files};

fn indexes(symbols: &[&str], calc_index: Vec<i32>) -> CalcIndexesRequest {
    CalcIndexesRequest { symbols: symbols.iter().map(|symbol| (*symbol).to_owned()).collect(), calc_index }
}

fn terms() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

#[tokio::test]
async fn indexes_are_computed_from_candles_and_figures() {
    let server = Running::start().await;
    let path = server.dir.path().join("shares.csv");
    std::fs::write(&path, "symbol,total_shares,circulating_shares,eps_ttm\n700.HK,2000,1000,2.5\n").unwrap();
    import_files(server.dir.path(), &[path]);
    let account = server.account("ann", terms());
    let wanted = CalcIndexes {
        symbol: "700.HK".to_owned(),
        last_done: "123.500".to_owned(),
        change_val: "1.000".to_owned(),
        change_rate: "0.82".to_owned(),
        volume: 1_000,
        turnover: "123000.000".to_owned(),
        turnover_rate: "100.00".to_owned(),
        total_market_value: "247000.000".to_owned(),
        amplitude: "2.45".to_owned(),
        pe_ttm_ratio: "49.40".to_owned(),
        five_day_change_rate: "4.22".to_owned(),
        // The close at 15:55 was 123.25.
        five_minutes_change_rate: "0.20".to_owned(),
        // The period includes a dividend of 3.4.
        ten_day_change_rate: "12.17".to_owned(),
        ..CalcIndexes::default()
    };
    let all: Vec<i32> = (1..=40).collect();
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        let request = indexes(&["9999.HK", "5.HK", "00700.HK", "AAPL261120C200000.US", "x"], all.clone());
        let answer: CalcIndexesResponse = client.ask(26, &request).await.unwrap();
        assert_eq!(answer.security_calc_index, std::slice::from_ref(&wanted));
        // Only the requested indexes are returned, and unknown numbers are ignored.
        let answer: CalcIndexesResponse = client.ask(26, &indexes(&["700.HK"], vec![3, 99])).await.unwrap();
        let one = CalcIndexes {
            symbol: "700.HK".to_owned(),
            change_rate: "0.82".to_owned(),
            ..CalcIndexes::default()
        };
        assert_eq!(answer.security_calc_index, [one]);
    }
    let body = json!({"symbols": ["700.HK"], "calc_index": [1, 4]}).to_string();
    let answer = server.post("/quote/calc-indexes", &account, &body).await.json();
    let row = &answer["data"]["security_calc_index"][0];
    assert_eq!((&row["last_done"], &row["volume"]), (&json!("123.500"), &json!(1_000)));
}

#[tokio::test]
async fn a_request_needs_symbols_indexes_and_rights() {
    let server = Running::start().await;
    let account = server.account_with("ann", "CN", terms());
    let mut client = server.signed_in(&account).await;
    for (request, code) in [
        (indexes(&[], vec![1]), 301_600),
        (indexes(&["700.HK"], vec![]), 301_600),
        (indexes(&["700.HK"; 501], vec![1]), 301_607),
    ] {
        let (status, refused, _) = client.ask::<()>(26, &request).await.unwrap_err();
        assert_eq!((status, refused), (7, code));
    }
    let answer: CalcIndexesResponse =
        client.ask(26, &indexes(&["700.HK", "600519.SH"], vec![1])).await.unwrap();
    let symbols: Vec<&str> = answer.security_calc_index.iter().map(|row| row.symbol.as_str()).collect();
    assert_eq!(symbols, ["600519.SH"]);
}

#[tokio::test]
async fn figures_apply_from_their_date_on_the_market_clock() {
    let server = Running::start().await;
    let path = server.dir.path().join("figures.csv");
    // The dividend is unknown until the third row sets it to zero.
    let rows = "symbol,from,total_shares,eps_ttm,dividend_yield\n700.HK,,1000,,\n\
                700.HK,2026-11-12,2000,2.5,\n700.HK,2026-11-13,,,0\n700.HK,2026-11-14,9000,9,9\n";
    std::fs::write(&path, rows).unwrap();
    import_files(server.dir.path(), &[path]);
    let account = server.account("ann", terms());
    // Timestamps around the midnights in Hong Kong at which the rows take effect.
    for (now, shares, eps, dividend, value, ratio) in [
        (1_794_412_799, 1_000, "", "", Some(1_000), ""),
        (1_794_412_800, 2_000, "2.5", "", Some(2_000), ""),
        (1_794_499_200, 2_000, "2.5", "0", Some(2_000), "0.00"),
        (1_794_585_599, 2_000, "2.5", "0", Some(2_000), "0.00"),
        (1_794_585_600, 9_000, "9", "9", Some(9_000), "9"),
    ] {
        server.set_now(now);
        let mut client = server.signed_in(&account).await;
        let request = wire::quote::SymbolsRequest { symbol: vec!["700.HK".to_owned()] };
        let infos: wire::quote::StaticInfoResponse = client.ask(10, &request).await.unwrap();
        let info = &infos.secu_static_info[0];
        assert_eq!(
            (info.total_shares, &*info.eps_ttm, &*info.dividend_yield),
            (shares, eps, dividend),
            "{now}"
        );
        let answer: CalcIndexesResponse =
            client.ask(26, &indexes(&["700.HK"], vec![1, 8, 12, 14])).await.unwrap();
        let row = &answer.security_calc_index[0];
        let units = |text: &str| text.replace('.', "").parse::<i64>().unwrap();
        assert_eq!(Some(units(&row.total_market_value)), value.map(|shares| units(&row.last_done) * shares));
        assert_eq!(row.pe_ttm_ratio.is_empty(), eps.is_empty(), "{now}");
        if ratio != "9" {
            assert_eq!(row.dividend_ratio_ttm, ratio, "{now}");
        }
        let facts = server.get("/v1/securities/700.HK", &account).await.json()["data"].clone();
        assert_eq!(facts["total_shares"], json!(shares));
        let known = |text: &str| if text.is_empty() { json!(null) } else { json!(text) };
        assert_eq!((&facts["eps_ttm"], &facts["dividend_yield"]), (&known(eps), &known(dividend)), "{now}");
        assert_eq!(facts["bps"], json!(null));
    }
}
