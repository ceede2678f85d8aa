use serde_json::{Value, json};

use super::hall::{Hall, at, data, refused};

/// Every key that SDKs require in an order.
const ORDER_KEYS: [&str; 31] = [
    "order_id",
    "status",
    "stock_name",
    "quantity",
    "executed_quantity",
    "price",
    "executed_price",
    "submitted_at",
    "side",
    "symbol",
    "order_type",
    "last_done",
    "trigger_price",
    "msg",
    "tag",
    "time_in_force",
    "expire_date",
    "updated_at",
    "trigger_at",
    "trailing_amount",
    "trailing_percent",
    "limit_offset",
    "trigger_status",
    "currency",
    "outside_rth",
    "limit_depth_level",
    "trigger_count",
    "monitor_price",
    "remark",
    "delayed_until",
    "attached_orders",
];

#[tokio::test]
async fn a_limit_order_is_filled_by_later_candles() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(json!({"submitted_price": "306.00", "remark": "first"})).await;
    let account = hall.get("/v1/asset/account?currency=HKD").await["list"][0].clone();
    assert_eq!(account["currency"], "HKD");
    let hkd = cash(&account, "HKD");
    assert_eq!((&hkd["frozen_cash"], &hkd["available_cash"]), (&json!("61284.77"), &json!("438715.23")));
    assert_eq!(
        account["frozen_transaction_fees"],
        json!([{"currency": "HKD", "frozen_transaction_fee": "84.77"}])
    );
    hall.server.set_now(at("10:01:59"));
    let detail = hall.detail(&id).await;
    assert_eq!((&detail["status"], &detail["executed_price"]), (&json!("NewStatus"), &json!("0")));
    hall.server.set_now(at("10:02"));
    let detail = hall.detail(&id).await;
    for key in ORDER_KEYS {
        assert!(!detail[key].is_null(), "{key} is missing: {detail}");
    }
    assert_eq!(
        (&detail["status"], &detail["executed_quantity"], &detail["executed_price"], &detail["price"]),
        (&json!("FilledStatus"), &json!("200"), &json!("305.200"), &json!("306.000"))
    );
    assert_eq!((&detail["stock_name"], &detail["remark"]), (&json!("Tencent"), &json!("first")));
    assert_eq!((&detail["outside_rth"], &detail["tag"]), (&json!("UnknownOutsideRth"), &json!("Normal")));
    assert_eq!(detail["updated_at"], json!(at("10:02").to_string()));
    let statuses: Vec<&str> =
        detail["history"].as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["FilledStatus", "NewStatus", "WaitToNew"]);
    assert_eq!(detail["history"][0]["msg"], "Execution of 200");
    let charges = &detail["charge_detail"];
    assert_eq!((&charges["total_amount"], &charges["currency"]), (&json!("84.75"), &json!("HKD")));
    let groups: Vec<&str> =
        charges["items"].as_array().unwrap().iter().map(|item| item["code"].as_str().unwrap()).collect();
    assert_eq!(groups, ["BROKER_FEES", "THIRD_FEES"]);

    let account = hall.get("/v1/asset/account").await["list"][0].clone();
    assert_eq!(cash(&account, "HKD")["available_cash"], "438875.25");
    assert_eq!(account["frozen_transaction_fees"], json!([]));
    let held = hall.get("/v1/asset/stock").await;
    assert_eq!(held["list"][0]["account_channel"], "lb_papertrading");
    let info = &held["list"][0]["stock_info"][0];
    assert_eq!(
        *info,
        json!({
            "symbol": "700.HK", "symbol_name": "Tencent", "quantity": "200", "available_quantity": "200",
            "currency": "HKD", "cost_price": "305.200", "market": "HK", "init_quantity": "",
        })
    );
    let trades = hall.get("/v1/trade/execution/today").await;
    assert_eq!(
        trades,
        json!({"trades": [{
            "order_id": id, "trade_id": format!("{id}-1"), "symbol": "700.HK",
            "trade_done_at": at("10:02").to_string(), "quantity": "200", "price": "305.200", "side": "Buy",
        }]})
    );
    let flows = hall
        .get(&format!(
            "/v1/asset/cashflow?start_time={}&end_time={}&page=1&size=50",
            at("10:00"),
            at("10:02")
        ))
        .await;
    let buy =
        flows["list"].as_array().unwrap().iter().find(|flow| flow["transaction_flow_name"] == "BuyStock");
    assert_eq!(
        *buy.unwrap(),
        json!({
            "transaction_flow_name": "BuyStock", "direction": 1, "business_type": 1, "balance": "-61040.00",
            "currency": "HKD", "business_time": at("10:02").to_string(), "symbol": "700.HK", "description": "700",
        })
    );
}

fn cash<'a>(account: &'a Value, currency: &str) -> &'a Value {
    account["cash_infos"].as_array().unwrap().iter().find(|info| info["currency"] == currency).unwrap()
}

#[tokio::test]
async fn an_order_is_filled_in_parts_replaced_and_cancelled() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:01:30"));
    let id = hall
        .submit(json!({"submitted_price": "305.80", "submitted_quantity": 300, "time_in_force": "GTC"}))
        .await;
    // The fill is a tenth of the candle's small volume.
    hall.server.set_now(at("10:03"));
    let detail = hall.detail(&id).await;
    assert_eq!(
        (&detail["status"], &detail["executed_quantity"], &detail["last_done"], &detail["tag"]),
        (&json!("PartialFilledStatus"), &json!("100"), &json!("305.600"), &json!("Gtc"))
    );
    let put =
        json!({"order_id": id, "quantity": "200", "price": "300.00", "trailing_ammount": "", "remark": ""});
    assert_eq!(data(&hall.ask("PUT", "/v1/trade/order", &put).await), json!({}));
    hall.server.set_now(at("10:04:30"));
    let detail = hall.detail(&id).await;
    assert_eq!((&detail["quantity"], &detail["executed_quantity"]), (&json!("200"), &json!("100")));
    let cancel = format!("/v1/trade/order?order_id={id}");
    assert_eq!(data(&hall.ask("DELETE", &cancel, &Value::Null).await), json!({}));
    assert_eq!(hall.detail(&id).await["status"], "PartialWithdrawal");
    let again = refused(&hall.ask("DELETE", &cancel, &Value::Null).await);
    assert_eq!((again.0, again.1), (400, 602_001));
    assert!(again.2.contains("PartialWithdrawal"), "{again:?}");
    let statuses: Vec<String> = hall.detail(&id).await["history"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|row| row["status"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        statuses,
        [
            "WaitToNew",
            "NewStatus",
            "PartialFilledStatus",
            "WaitToReplace",
            "PendingReplaceStatus",
            "PartialFilledStatus",
            "WaitToCancel",
            "PendingCancelStatus",
            "PartialWithdrawal",
        ]
    );
}

#[tokio::test]
async fn todays_orders_are_listed_separately_from_history() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let filled = hall.submit(json!({"submitted_price": "306.00"})).await;
    let expired = hall.submit(json!({"submitted_price": "290.00"})).await;
    hall.server.set_now(at("10:02"));
    let ids = |list: &Value| -> Vec<String> {
        list["orders"]
            .as_array()
            .unwrap()
            .iter()
            .map(|order| order["order_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&hall.get("/v1/trade/order/today").await), [expired.clone(), filled.clone()]);
    let wanted =
        "/v1/trade/order/today?status=FilledStatus&status=NewStatus&symbol=700.HK&side=Buy&market=HK";
    assert_eq!(ids(&hall.get(wanted).await), [expired.clone(), filled.clone()]);
    assert_eq!(
        ids(&hall.get("/v1/trade/order/today?status=FilledStatus").await),
        std::slice::from_ref(&filled)
    );
    assert_eq!(
        ids(&hall.get(&format!("/v1/trade/order/today?order_id={filled}")).await),
        std::slice::from_ref(&filled)
    );
    // Without an order id, `is_attached` is ignored.
    assert_eq!(
        ids(&hall.get("/v1/trade/order/today?is_attached=true").await),
        [expired.clone(), filled.clone()]
    );
    let attached = format!("order_id={filled}&is_attached=true");
    for none in ["market=US", "side=Sell", "symbol=AAPL.US", "status=ReplacedStatus", &attached] {
        assert_eq!(
            ids(&hall.get(&format!("/v1/trade/order/today?{none}")).await),
            Vec::<String>::new(),
            "{none}"
        );
    }
    let history = hall.get("/v1/trade/order/history?start_at=0&end_at=0").await;
    assert_eq!((ids(&history), &history["has_more"]), (Vec::new(), &json!(false)));
    assert_eq!(hall.get("/v1/trade/execution/history").await["trades"], json!([]));
    // 10:00 on the next day.
    hall.server.set_now(at("10:00") + 86_400);
    assert_eq!(ids(&hall.get("/v1/trade/order/today").await), Vec::<String>::new());
    let history = hall.get("/v1/trade/order/history").await;
    assert_eq!(ids(&history), [expired.clone(), filled.clone()]);
    assert_eq!(history["orders"][0]["status"], "ExpiredStatus");
    let page = hall.get(&format!("/v1/trade/execution/history?page=1&order_id={filled}")).await;
    assert_eq!((page["trades"].as_array().unwrap().len(), &page["has_more"]), (1, &json!(false)));
    assert_eq!(hall.get("/v1/trade/execution/history?page=2").await["trades"], json!([]));
    assert_eq!(hall.get("/v3/trade/execution/all").await["trades"].as_array().unwrap().len(), 1);
    assert_eq!(
        hall.get("/v1/asset/stock?symbol=700.HK&symbol=AAPL.US").await["list"][0]["stock_info"][0]["init_quantity"],
        "200"
    );
}

#[tokio::test]
async fn estimates_ratios_and_funds_have_the_documented_fields() {
    let hall = Hall::open().await;
    let margins = hall.server.dir.path().join("margins.csv");
    std::fs::write(&margins, "symbol,im,mm,fm\n700.HK,0.35,0.3,0.25\n").unwrap();
    crate::support::import_files(hall.server.dir.path(), &[margins]);
    hall.server.set_now(at("10:00:15"));
    let query = "symbol=700.HK&order_type=LO&side=Buy&price=305.2&fractional_shares=false";
    let estimate = hall.get(&format!("/v1/trade/estimate/buy_limit?{query}")).await;
    assert_eq!(estimate, json!({"cash_max_qty": "1600", "margin_max_qty": "1600"}));
    // Without a price, the last price is used, which is 305.
    let unpriced = hall.get("/v1/trade/estimate/buy_limit?symbol=700.HK&order_type=LO&side=Buy").await;
    assert_eq!(unpriced, json!({"cash_max_qty": "1600", "margin_max_qty": "1600"}));
    let ratio = hall.get("/v1/risk/margin-ratio?symbol=700.HK").await;
    assert_eq!(ratio, json!({"im_factor": "0.35", "mm_factor": "0.3", "fm_factor": "0.25"}));
    let ratio = hall.get("/v1/risk/margin-ratio?symbol=AAPL.US").await;
    assert_eq!(ratio, json!({"im_factor": "1", "mm_factor": "1", "fm_factor": "1"}));
    let funds = hall.get("/v1/asset/fund?symbol=HK0000676327").await;
    assert_eq!(funds, json!({"list": [{"account_channel": "lb_papertrading", "fund_info": []}]}));
}

#[tokio::test]
async fn a_retry_creates_only_one_order() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let order = json!({"submitted_price": "300.00", "client_request_id": "a-1"});
    let first = hall.submit(order.clone()).await;
    assert_eq!(hall.submit(order).await, first);
    let both = tokio::join!(
        hall.submit(json!({"submitted_price": "300.00", "client_request_id": "a-2"})),
        hall.submit(json!({"submitted_price": "300.00", "client_request_id": "a-2"}))
    );
    assert_eq!(both.0, both.1);
    // Equal terms may be written differently. Different terms are another order and need another
    // request id.
    let same = json!({"submitted_price": 300, "submitted_quantity": "200.0", "client_request_id": "a-1"});
    assert_eq!(hall.submit(same).await, first);
    let other = hall.try_submit(json!({"submitted_price": "301.00", "client_request_id": "a-1"})).await;
    let (status, code, words) = refused(&other);
    assert_eq!((status, code), (400, 602_001));
    assert!(words.contains(&format!("was used for order {first}, which has different terms")), "{words}");
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_account_is_read_as_of_a_clock_that_is_set_back() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let id = hall.submit(json!({"submitted_price": "306.00"})).await;
    hall.server.set_now(at("10:05"));
    assert_eq!(hall.detail(&id).await["status"], "FilledStatus");
    hall.server.set_now(at("10:01"));
    assert_eq!(hall.detail(&id).await["status"], "NewStatus");
    let refused = refused(&hall.try_submit(json!({"submitted_price": "306.00"})).await);
    let words = "account is at 2026-03-18T02:05:00Z, the market clock at 2026-03-18T02:01:00Z: `chandler account rewind` or \
                 `chandler account reset` takes the account back, `chandler account fork` copies its state at an earlier \
                 instant";
    assert_eq!(refused, (400, 602_001, words.to_owned()));
}

#[tokio::test]
async fn a_replacement_cannot_change_the_delay() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let (time, later) = (at("10:01:30"), at("10:02:30"));
    let id = hall.submit(json!({"submitted_price": "306.00", "delayed_until": time})).await;
    let detail = hall.detail(&id).await;
    assert_eq!(
        (&detail["status"], &detail["delayed_until"]),
        (&json!("DelayedNotReported"), &json!(time.to_string()))
    );
    // One SDK sends 1 for no delay.
    for other in [later, 1] {
        let put = json!({"order_id": id, "quantity": "200", "delayed_until": other});
        let refusal = refused(&hall.ask("PUT", "/v1/trade/order", &put).await);
        let words = "delayed_until cannot be replaced: cancel the order and submit another";
        assert_eq!(refusal, (400, 602_001, words.to_owned()));
    }
    let put = json!({"order_id": id, "quantity": "300", "delayed_until": time});
    assert_eq!(data(&hall.ask("PUT", "/v1/trade/order", &put).await), json!({}));
    assert_eq!(hall.detail(&id).await["quantity"], "300");
    let plain = hall.submit(json!({"submitted_price": "306.00"})).await;
    assert_eq!(hall.detail(&plain).await["delayed_until"], "");
}

#[tokio::test]
async fn the_cash_flow_range_is_required_and_may_be_unbounded() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let names = async |query: &str| -> Vec<String> {
        let flows = hall.get(&format!("/v1/asset/cashflow?{query}")).await;
        let name = |flow: &Value| flow["transaction_flow_name"].as_str().unwrap().to_owned();
        flows["list"].as_array().unwrap().iter().map(name).collect()
    };
    let all = names("start_time=0&end_time=0").await;
    assert_eq!(all.len(), 3, "{all:?}");
    // One SDK uses these parameter names.
    assert_eq!(names(&format!("start_at=0&end_at={}&business_type=0", at("10:00:15"))).await, all);
    for (query, words) in [("end_time=0", "start_time required"), ("start_time=0", "end_time required")] {
        let answer = hall.ask("GET", &format!("/v1/asset/cashflow?{query}"), &Value::Null).await;
        assert_eq!(refused(&answer), (400, 602_001, words.to_owned()));
    }
}

#[tokio::test]
async fn a_cancel_at_the_time_of_the_fill_is_refused() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    let (early, late) = (
        hall.submit(json!({"submitted_price": "306.00"})).await,
        hall.submit(json!({"submitted_price": "306.00"})).await,
    );
    let cancel =
        async |id: &str| hall.ask("DELETE", &format!("/v1/trade/order?order_id={id}"), &Value::Null).await;
    hall.server.set_now(at("10:01:59"));
    assert_eq!(data(&cancel(&early).await), json!({}));
    hall.server.set_now(at("10:02"));
    assert_eq!(refused(&cancel(&late).await), (400, 602_001, "order is FilledStatus".to_owned()));
    let statuses = [hall.detail(&early).await, hall.detail(&late).await].map(|order| order["status"].clone());
    assert_eq!(statuses, [json!("CanceledStatus"), json!("FilledStatus")]);
}

#[tokio::test]
async fn the_operators_setting_limits_open_orders() {
    let hall = Hall::open().await;
    hall.server.set_now(at("10:00:15"));
    data(&hall.manage("/v1/admin/paper/ann/settings", json!({"open_orders": 2})).await);
    let cheap = json!({"submitted_price": "300.00", "submitted_quantity": "100"});
    let first = hall.submit(cheap.clone()).await;
    hall.submit(json!({"order_type": "LIT", "submitted_price": "311", "trigger_price": "310", "submitted_quantity": "100"})).await;
    let full = "at most 2 orders may be open: cancel some first";
    assert_eq!(refused(&hall.try_submit(cheap.clone()).await), (400, 602_001, full.to_owned()));
    // A preview reports the same refusal.
    let body = json!({
        "symbol": "700.HK", "order_type": "LO", "side": "Buy", "submitted_quantity": "100", "submitted_price": "300.00",
        "time_in_force": "Day",
    });
    let preview = data(&hall.ask("POST", "/v1/trade/order/preview", &body).await);
    assert_eq!(preview["reason"]["words"], full, "{preview}");
    data(&hall.ask("DELETE", &format!("/v1/trade/order?order_id={first}"), &Value::Null).await);
    hall.submit(cheap).await;
    assert_eq!(hall.get("/v1/trade/order/today").await["orders"].as_array().unwrap().len(), 3);
    let (_, code, actual) =
        refused(&hall.manage("/v1/admin/paper/ann/settings", json!({"open_orders": 0})).await);
    assert_eq!((code, actual.as_str()), (301_600, "open_orders must be from 1 to 10000"));
}
