//! Orders in a security with only daily candles, while the market clock passes the end of the day.

use serde_json::{Value, json};

use super::hall::{Hall, at, event};
use crate::support::import_files;

const DAYS: &str = "symbol,date,open,high,low,close,volume\n\
    5.HK,2026-03-17,59,60,58,59.6,5000000\n\
    5.HK,2026-03-18,60,62,58,61,9000000\n";

async fn hall() -> Hall {
    let hall = Hall::open().await;
    let path = hall.server.dir.path().join("days.csv");
    std::fs::write(&path, DAYS).unwrap();
    import_files(hall.server.dir.path(), &[path]);
    hall
}

#[tokio::test]
async fn an_order_is_filled_and_pushed_at_the_end_of_the_day() {
    let hall = hall().await;
    let mut listener = hall.listener().await;
    let terms = json!({"symbol": "5.HK", "submitted_price": "58.5", "submitted_quantity": "400"});
    let preview = hall
        .ask("POST", "/v1/trade/order/preview", &json!({
            "symbol": "5.HK", "order_type": "LO", "side": "Buy", "submitted_quantity": "400", "time_in_force": "Day",
            "submitted_price": "58.5",
        }))
        .await
        .json();
    let expected = "5.HK had daily candles only on 2026-03-17; if 2026-03-18 is the same, this order fills once, at the end of \
                    the day, against the whole day";
    assert_eq!(preview["data"]["notes"], json!([expected]));
    let id = hall.submit(terms).await;
    for status in ["WaitToNew", "NewStatus"] {
        assert_eq!(event(&mut listener).await["status"], status);
    }
    hall.step("16:09:59").await;
    assert_eq!(hall.detail(&id).await["status"], "NewStatus");
    // The server advances the account without a request.
    hall.step("16:30").await;
    let filled = event(&mut listener).await;
    assert_eq!(
        (&filled["status"], &filled["last_price"], &filled["updated_at"]),
        (&json!("FilledStatus"), &json!("58.500"), &json!(at("16:10").to_string()))
    );
    let why = hall.get(&format!("/v1/trade/order/why?order_id={id}")).await;
    let step = why["steps"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&step["local"], &step["candle"]["period"]),
        (&json!("2026-03-18 16:10:00 HKT"), &json!("day"))
    );
    let position = hall.get("/v1/asset/portfolio").await;
    assert!(position.to_string().contains("61"), "the close is the price: {position}");
}

#[tokio::test]
async fn an_operator_can_disable_daily_candle_fills() {
    let hall = hall().await;
    let answer = hall.manage("/v1/admin/paper/ann/settings", json!({"coarse_fills": "off"})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let id =
        hall.submit(json!({"symbol": "5.HK", "submitted_price": "60.5", "submitted_quantity": "400"})).await;
    hall.step("17:00").await;
    assert_eq!(hall.detail(&id).await["status"], "ExpiredStatus");
    let account = hall.server.http("GET", "/v1/admin/paper/ann", &bearer(&hall), b"").await.json();
    assert_eq!(account["data"]["settings"]["coarse_fills"], Value::Bool(false), "{account}");
}

fn bearer(hall: &Hall) -> String {
    format!("authorization: Bearer {}\r\n", hall.op.access_token.expose())
}
