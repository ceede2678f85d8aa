use access::Terms;

use crate::support::Running;

#[tokio::test]
async fn the_mirror_answers_as_the_long_connection_does() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let body = r#"{"symbol":"700.HK","period":1000,"adjust_type":0,"query_type":2,"date_request":{"start_date":"","end_date":""},"trade_session":0}"#;
    let answer = server.post("/quote/history-candlesticks", &account, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["code"], 0);
    assert_eq!(answer["data"]["symbol"], "700.HK");
    assert_eq!(answer["data"]["candlesticks"].as_array().unwrap().len(), 24);
}
