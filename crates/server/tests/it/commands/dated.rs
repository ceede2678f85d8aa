//! Commands of accounts that are pinned to an API date, on every transport.

use access::Terms;
use serde_json::json;
use wire::quote::{
    OffsetRequest, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SecurityHistoryCandlestickRequest, StaticInfoResponse, SymbolsRequest,
};

use crate::support::{Running, TRANSPORTS};

fn pinned(date: &str) -> Terms {
    Terms { api_date: Some(date.parse().unwrap()), ..Terms::default() }
}

#[tokio::test]
async fn only_history_depends_on_the_api_date() {
    let server = Running::start().await;
    let (early, late) =
        (server.account("ann", pinned("2023-11-02")), server.account("bob", pinned("2023-11-03")));
    let history = SecurityHistoryCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1000,
        query_type: 1,
        offset_request: Some(OffsetRequest { count: 3, ..OffsetRequest::default() }),
        ..SecurityHistoryCandlestickRequest::default()
    };
    let latest = SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1000,
        count: 3,
        ..SecurityCandlestickRequest::default()
    };
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &late, &[]).await;
        let wanted: SecurityCandlestickResponse = client.ask(27, &history).await.unwrap();
        assert_eq!(wanted.candlesticks.len(), 3);
        let mut client = server.enter(transport, &early, &[]).await;
        let (status, code, text) = client.ask::<()>(27, &history).await.unwrap_err();
        assert_eq!((status, code), (3, 301_600));
        let words = "it was added on 2023-11-03, and this account is pinned to 2023-11-02";
        assert_eq!(text, format!("command 27 is unknown: {words}"));
        let answer: SecurityCandlestickResponse = client.ask(19, &latest).await.unwrap();
        assert_eq!(answer, wanted);
    }
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=day&count=3";
    assert_eq!(server.get(path, &late).await.status, 200);
    assert_eq!(server.get(path, &early).await.status, 404);
    let usage = server.access.usage(early.account_id, server.present().market).unwrap();
    assert_eq!(usage.unwrap().used, 0, "what is refused costs nothing");
}

#[tokio::test]
async fn older_api_dates_omit_the_board_of_a_security() {
    let server = Running::start().await;
    let request = SymbolsRequest { symbol: vec!["700.HK".to_owned(), "5.HK".to_owned()] };
    for (name, date, wanted) in [("ann", "2022-07-17", ""), ("bob", "2022-07-18", "HKEquity")] {
        let account = server.account(name, pinned(date));
        for transport in TRANSPORTS {
            let mut client = server.enter(transport, &account, &[]).await;
            let answer: StaticInfoResponse = client.ask(10, &request).await.unwrap();
            let actual: Vec<_> = answer
                .secu_static_info
                .iter()
                .map(|one| (one.name_en.as_str(), one.board.as_str()))
                .collect();
            assert_eq!(actual, [("Tencent", wanted), ("HSBC", wanted)], "{date}");
        }
        let body = json!({"symbol": ["700.HK"]}).to_string();
        let answer = server.post("/quote/static-info", &account, &body).await.json();
        let row = &answer["data"]["secu_static_info"][0];
        assert_eq!(
            row.get("board").and_then(|board| board.as_str()),
            Some(wanted).filter(|board| !board.is_empty())
        );
        assert_eq!(row["name_en"], "Tencent");
    }
}
