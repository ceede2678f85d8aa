//! Attached orders: requests, rows, pushes and explanations.

use serde_json::{Value, json};

use super::hall::{Hall, at, data, event, refused};
use crate::support::Response;

/// Every key that SDKs require in an attached order.
const KEYS: [&str; 21] = [
    "order_id",
    "attached_type_display",
    "trigger_price",
    "quantity",
    "executed_qty",
    "status",
    "updated_at",
    "withdrawn",
    "gtd",
    "time_in_force",
    "counter_id",
    "trigger_status",
    "executed_amount",
    "tag",
    "submitted_at",
    "executed_price",
    "force_only_rth",
    "reviewed",
    "activate_order_type",
    "activate_rth",
    "submit_price",
];

/// A buy that the candle of 10:01 fills at 305.2, with a bracket. The candle of 10:02 reaches 305.8.
fn bracket() -> Value {
    json!({"submitted_price": "305.60", "time_in_force": "GTC", "attached_params": {
        "attached_order_type": "BRACKET", "profit_taker_price": "305.8", "stop_loss_price": 300,
        "stop_loss_submit_price": "299.8", "time_in_force": "GTD", "expire_time": at("16:00"),
    }})
}

/// Returns the ids of the take profit and the stop loss of an order.
async fn attached(hall: &Hall, id: &str) -> [String; 2] {
    let detail = hall.detail(id).await;
    let of = |index: usize| detail["attached_orders"][index]["order_id"].as_str().unwrap().to_owned();
    [of(0), of(1)]
}

fn params(kind: &str, fields: Value) -> Value {
    let mut params = json!({"attached_order_type": kind});
    for (name, value) in fields.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

async fn replace(hall: &Hall, id: &str, params: Value) -> Response {
    let body = json!({"order_id": id, "quantity": "200", "attached_params": params});
    hall.ask("PUT", "/v1/trade/order", &body).await
}

#[tokio::test]
async fn attached_orders_are_rows_of_their_order() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(bracket()).await;
    let list = hall.get("/v1/trade/order/today").await;
    assert_eq!(list["orders"].as_array().unwrap().len(), 1, "{list}");
    let rows = list["orders"][0]["attached_orders"].as_array().unwrap();
    assert_eq!(rows, hall.detail(&id).await["attached_orders"].as_array().unwrap());
    let [profit, stop] = rows.as_slice() else { panic!("{rows:?}") };
    for row in [profit, stop] {
        for key in KEYS {
            assert!(!row[key].is_null(), "{key} is missing: {row}");
        }
        assert_eq!(row.as_object().unwrap().len(), KEYS.len());
    }
    let submitted = json!({
        "order_id": stop["order_id"], "attached_type_display": "STOP_LOSS", "trigger_price": "300.000",
        "quantity": "200", "executed_qty": "0", "status": "VarietiesNotReported",
        "updated_at": at("10:00:15").to_string(), "withdrawn": false, "gtd": "2026-03-18",
        "time_in_force": "GTD", "counter_id": "700.HK", "trigger_status": "DEACTIVE", "executed_amount": "0",
        "tag": "Gtc", "submitted_at": at("10:00:15").to_string(), "executed_price": "",
        "force_only_rth": "UnknownOutsideRth", "reviewed": true, "activate_order_type": "LO",
        "activate_rth": "UnknownOutsideRth", "submit_price": "299.800",
    });
    assert_eq!(*stop, submitted);
    assert_eq!((&profit["activate_order_type"], &profit["submit_price"]), (&json!("MO"), &json!("")));
    // By its own id, an attached order is an order.
    let own = profit["order_id"].as_str().unwrap();
    let order = hall.get(&format!("/v1/trade/order?order_id={own}&is_attached=true")).await;
    assert_eq!((&order["order_type"], &order["side"]), (&json!("MIT"), &json!("Sell")));
    assert_eq!((&order["trigger_price"], &order["attached_orders"]), (&json!("305.800"), &json!([])));
    let found = hall.get(&format!("/v1/trade/order/today?order_id={own}&is_attached=true")).await;
    assert_eq!(found["orders"][0]["order_id"], own);
    let none = hall.get(&format!("/v1/trade/order/today?order_id={id}&is_attached=true")).await;
    assert_eq!(none["orders"], json!([]));
    for (method, path) in [("GET", "/v1/trade/order"), ("DELETE", "/v1/trade/order")] {
        let answer = hall.ask(method, &format!("{path}?order_id={id}&is_attached=true"), &Value::Null).await;
        assert_eq!(refused(&answer), (400, 602_001, "order not found".to_owned()), "{method}");
    }
    // The take profit is released at 10:03 and filled at 10:04.
    hall.server.set_now(at("10:05"));
    let detail = hall.detail(&id).await;
    let [profit, stop] = [0, 1].map(|index| detail["attached_orders"][index].clone());
    assert_eq!(
        (&profit["status"], &profit["executed_qty"], &profit["executed_price"], &profit["executed_amount"]),
        (&json!("FilledStatus"), &json!("200"), &json!("305.400"), &json!("61080.00"))
    );
    assert_eq!((&profit["trigger_status"], &stop["trigger_status"]), (&json!("RELEASED"), &json!("ACTIVE")));
    assert_eq!((&stop["status"], &stop["withdrawn"]), (&json!("CanceledStatus"), &json!(true)));
    assert_eq!(hall.get("/v1/asset/stock").await["list"][0]["stock_info"], json!([]));
    let trades = hall.get("/v1/trade/execution/today").await;
    assert_eq!(trades["trades"][0]["order_id"], own);
}

#[tokio::test]
async fn every_change_of_an_attached_order_is_pushed() {
    let hall = Hall::open().await;
    let mut client = hall.listener().await;
    hall.step("10:00:15").await;
    let id = hall.submit(bracket()).await;
    let [profit, stop] = attached(&hall, &id).await;
    hall.step("10:05").await;
    for (order, status, trigger, msg) in [
        (&id, "WaitToNew", "NOT_USED", ""),
        (&id, "NewStatus", "NOT_USED", ""),
        (&profit, "VarietiesNotReported", "DEACTIVE", ""),
        (&stop, "VarietiesNotReported", "DEACTIVE", ""),
        (&id, "FilledStatus", "NOT_USED", ""),
        (&stop, "VarietiesNotReported", "ACTIVE", ""),
        (&profit, "VarietiesNotReported", "ACTIVE", ""),
        (&profit, "NewStatus", "RELEASED", ""),
        (&profit, "FilledStatus", "RELEASED", ""),
        (&stop, "CanceledStatus", "ACTIVE", "take profit filled"),
    ] {
        let event = event(&mut client).await;
        assert_eq!(
            (&event["order_id"], &event["status"], &event["trigger_status"], &event["msg"]),
            (&json!(order), &json!(status), &json!(trigger), &json!(msg)),
            "{event}"
        );
    }
}

#[tokio::test]
async fn attached_orders_are_replaced_and_cancelled() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(bracket()).await;
    let [profit, stop] = attached(&hall, &id).await;
    hall.server.set_now(at("10:02"));
    let number = |id: &str| id.parse::<i64>().unwrap();
    let changes = json!({"stop_loss_price": "301", "stop_loss_id": number(&stop), "main_id": number(&id), "market_price": "305"});
    data(&replace(&hall, &id, params("STOP_LOSS", changes)).await);
    let row = hall.detail(&id).await["attached_orders"][1].clone();
    assert_eq!((&row["trigger_price"], &row["submit_price"]), (&json!("301.000"), &json!("299.800")));
    let wrong = replace(&hall, &id, params("STOP_LOSS", json!({"stop_loss_id": number(&profit)}))).await;
    let text = format!("stop_loss_id is not an open attached order of order {id}");
    assert_eq!(refused(&wrong), (400, 602_001, text));
    data(
        &hall
            .ask("DELETE", &format!("/v1/trade/order?order_id={profit}&is_attached=true"), &Value::Null)
            .await,
    );
    data(
        &replace(&hall, &id, params("PROFIT_TAKER", json!({"profit_taker_price": "320", "quantity": "100"})))
            .await,
    );
    let rows = hall.detail(&id).await["attached_orders"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 3);
    assert_eq!((&rows[2]["quantity"], &rows[2]["trigger_status"]), (&json!("100"), &json!("ACTIVE")));
    // The order itself has ended.
    let closed = hall.ask("PUT", "/v1/trade/order", &json!({"order_id": id, "quantity": "300"})).await;
    assert_eq!(refused(&closed), (400, 602_001, "order is FilledStatus".to_owned()));
    data(&replace(&hall, &id, json!({"cancel_all_attached": true})).await);
    let rows = hall.detail(&id).await["attached_orders"].clone();
    assert!(rows.as_array().unwrap().iter().all(|row| row["status"] == "CanceledStatus"), "{rows}");
    let again = replace(&hall, &id, params("BRACKET", json!({"cancel_all_attached": true}))).await;
    assert_eq!(refused(&again).2, format!("order {id} has no open attached orders"));
}

/// The list of today has an order as long as one of its attached orders is open.
#[tokio::test]
async fn an_order_stays_in_the_list_while_an_attached_order_is_open() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let params =
        json!({"attached_order_type": "STOP_LOSS", "stop_loss_price": "200", "time_in_force": "GTC"});
    let id = hall.submit(json!({"submitted_price": "306.00", "attached_params": params})).await;
    hall.server.set_now(at("10:00") + 3 * 86_400);
    let today = hall.get("/v1/trade/order/today").await;
    assert_eq!(
        (&today["orders"][0]["order_id"], &today["orders"][0]["status"]),
        (&json!(id), &json!("FilledStatus"))
    );
    assert_eq!(hall.get("/v1/trade/order/history").await["orders"], json!([]));
    data(&replace(&hall, &id, json!({"cancel_all_attached": true})).await);
    hall.server.set_now(at("10:00") + 6 * 86_400);
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"], json!([]));
    assert_eq!(hall.get("/v1/trade/order/history").await["orders"][0]["order_id"], json!(id));
}

#[tokio::test]
async fn an_attached_order_is_previewed_and_explained() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let mut body = bracket();
    for (name, value) in
        [("symbol", "700.HK"), ("order_type", "LO"), ("side", "Buy"), ("submitted_quantity", "200")]
    {
        body[name] = value.into();
    }
    let preview = data(&hall.ask("POST", "/v1/trade/order/preview", &body).await);
    assert_eq!(preview["verdict"], "accepted");
    let stop = json!({
        "attached_type": "STOP_LOSS", "side": "Sell", "order_type": "LIT", "trigger_price": "300.000",
        "submit_price": "299.800", "time_in_force": "GTD", "expire_date": "2026-03-18",
        "outside_rth": "UnknownOutsideRth",
    });
    assert_eq!(
        (preview["attached_orders"].as_array().unwrap().len(), &preview["attached_orders"][1]),
        (2, &stop)
    );
    let id = hall.submit(bracket()).await;
    let [profit, _] = attached(&hall, &id).await;
    hall.server.set_now(at("10:05"));
    let steps = |story: Value| -> Vec<String> {
        let steps = story["steps"].as_array().unwrap();
        steps.iter().map(|step| step["words"].as_str().unwrap().to_owned()).collect()
    };
    let main = hall.get(&format!("/v1/trade/order/why?order_id={id}")).await;
    let because = main["steps"][0]["because"].to_string();
    assert!(because.contains("attached: take profit at 305.8, stop loss at 300, limit 299.8"), "{because}");
    let own = hall.get(&format!("/v1/trade/order/why?order_id={profit}")).await;
    assert!(
        own["steps"][1]["because"].to_string().contains("it waits for a price of 305.8 or more"),
        "{own}"
    );
    assert_eq!(
        steps(own),
        [
            format!(
                "attached to order {id} as its take profit: sell 200 700.HK, at the market once 305.8 is touched, until 2026-03-18"
            ),
            format!("active: order {id} has its first fill"),
            "released as a market order".to_owned(),
            "filled: 200 at 305.4".to_owned(),
        ]
    );
}

#[tokio::test]
async fn wrong_attached_orders_are_refused() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    for (params, text) in [
        (json!({}), "attached_order_type required"),
        (json!({"attached_order_type": "OCO"}), "attached_order_type \"OCO\" is not known"),
        (json!({"attached_order_type": "BRACKET", "stop_loss_price": "300"}), "profit_taker_price required"),
        (
            json!({"attached_order_type": "STOP_LOSS", "stop_loss_price": "306"}),
            "stop_loss_price must be below 306",
        ),
        (
            json!({"attached_order_type": "STOP_LOSS", "stop_loss_price": "300.1"}),
            "stop loss: price must be a multiple of 0.2",
        ),
        (
            json!({"attached_order_type": "STOP_LOSS", "stop_loss_price": "300", "activate_order_type": "TSLPAMT"}),
            "activate_order_type must be LO or MO, not TSLPAMT",
        ),
        (
            json!({"attached_order_type": "STOP_LOSS", "stop_loss_price": "300", "time_in_force": "GTD"}),
            "expire_time required",
        ),
        (
            json!({"attached_order_type": "STOP_LOSS", "stop_loss_price": "300", "time_in_force": "IOC"}),
            "time in force not support",
        ),
    ] {
        let answer = hall.try_submit(json!({"submitted_price": "306.00", "attached_params": params})).await;
        assert_eq!(refused(&answer), (400, 602_001, text.to_owned()));
    }
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"], json!([]));
    // A retry returns the order. The same key with other attached orders is a conflict.
    let mut body = bracket();
    body["client_request_id"] = "one".into();
    let id = hall.submit(body.clone()).await;
    assert_eq!(hall.submit(body.clone()).await, id);
    body["attached_params"]["stop_loss_price"] = "299.8".into();
    assert_eq!(refused(&hall.try_submit(body).await).0, 400);
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"].as_array().unwrap().len(), 1);
}
