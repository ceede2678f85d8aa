use access::Terms;
use wire::quote;

use crate::support::Running;

#[tokio::test]
async fn a_client_signs_in_and_asks_for_candles() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut client = server.signed_in(&account).await;
    let request = quote::SecurityHistoryCandlestickRequest {
        symbol: "00700.HK".to_owned(),
        period: 1000,
        query_type: 1,
        offset_request: Some(quote::OffsetRequest { count: 3, ..Default::default() }),
        ..Default::default()
    };
    let answer: quote::SecurityCandlestickResponse = client.ask(27, &request).await.unwrap();
    assert_eq!(answer.symbol, "700.HK");
    let closes: Vec<&str> = answer.candlesticks.iter().map(|candle| candle.close.as_str()).collect();
    assert_eq!(closes, ["121.500", "122.500", "123.500"]);
    // Out of memory this time, and the same.
    assert_eq!(client.ask::<quote::SecurityCandlestickResponse>(27, &request).await.unwrap(), answer);
}
