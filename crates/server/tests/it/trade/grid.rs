use serde_json::{Value, json};

use super::hall::{Hall, any_event, at, data};

/// Every key that SDKs read from a grid in a list.
const GRID_KEYS: &str = "\
    order_id symbol stock_name market status grid_status submitted_base_price current_base_price \
    pre_trigger_base_price post_trigger_base_price upper_limit_price lower_limit_price \
    trigger_price_type trigger_spread_up trigger_spread_down trigger_percent_up trigger_percent_down \
    pullback_percent pullback_spread rebound_percent rebound_spread trigger_sell_order_type \
    trigger_buy_order_type trigger_sell_depth trigger_buy_depth trigger_quantity trigger_sell_quantity \
    trigger_buy_quantity upper_limit_quantity lower_limit_quantity upper_limit_event lower_limit_event \
    multiple_trigger trigger_times total_buy_quantity total_sell_quantity total_profit_balance \
    settlement_currency time_in_force gtd created_at rth support_shortsell grid_order_type_up \
    grid_order_type_down";
/// Keys that exist only in the detail, and keys that exist only in the list.
const DETAIL_ONLY: &str = "\
    suspend_reason sleeping_reason updated_at expire_time grid_sub_orders sub_has_more \
    grid_order_history history_has_more";
const LIST_ONLY: &str = "\
    market pre_trigger_base_price post_trigger_base_price trigger_sell_order_type trigger_buy_order_type \
    trigger_times total_buy_quantity total_sell_quantity total_profit_balance";
const TRIGGER_KEYS: &str = "\
    id status name symbol price quantity executed_price executed_qty submitted_at action order_type \
    trigger_price msg currency last_done updated_at time_in_force gtd trigger_at trigger_status";
/// Keys of a grid event. All values are strings, except for the keys listed below.
const EVENT_KEYS: &str = "\
    order_id status symbol suspend_reason submitted_base_price current_base_price upper_limit_price \
    lower_limit_price trigger_price_type trigger_quantity settlement_currency time_in_force rth \
    grid_order_type_up grid_order_type_down";
const EVENT_NUMBERS: [&str; 3] = ["trigger_price_type", "time_in_force", "rth"];

/// Returns a rule with base price 305.2 and price intervals of 0.4 between 300 and 310, which
/// trades 100 shares per interval with a position from 100 to 1,000 shares.
pub(super) fn rule() -> Value {
    json!({
        "submitted_base_price": "305.2", "upper_limit_price": "310", "lower_limit_price": "300", "trigger_price_type": 1,
        "trigger_spread_up": "0.4", "trigger_spread_down": "0.4", "trigger_quantity": "100", "upper_limit_quantity": "1000",
        "lower_limit_quantity": "100", "time_in_force": 1,
    })
}

/// Returns the rule with some fields replaced.
pub(super) fn rule_with(fields: &Value) -> Value {
    let mut rule = rule();
    for (name, value) in fields.as_object().unwrap() {
        rule[name] = value.clone();
    }
    rule
}

pub(super) fn body(rule: &Value) -> Value {
    json!({"symbol": "700.HK", "settlement_currency": "HKD", "grid_trading_rule": rule})
}

pub(super) async fn submit(hall: &Hall, rule: &Value) -> String {
    let answer = hall.ask("POST", "/v1/gridtrading/submit", &body(rule)).await;
    data(&answer)["order_id"].as_str().unwrap().to_owned()
}

/// Sends an action such as `suspend` for a grid.
async fn change(hall: &Hall, what: &str, id: &str) {
    let answer = hall.ask("POST", &format!("/v1/gridtrading/{what}"), &json!({"order_id": id})).await;
    assert_eq!(data(&answer), json!({}));
}

async fn detail(hall: &Hall, id: &str) -> Value {
    hall.get(&format!("/v1/gridtrading/detail?order_id={id}")).await
}

/// Opens the test fixture with a position of 500 shares.
async fn open() -> Hall {
    let hall = Hall::open().await;
    let position = json!({"symbol": "700.HK", "quantity": "500", "cost": "300"});
    data(&hall.manage("/v1/admin/paper/ann/position", position).await);
    hall
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Returns the words of some texts, sorted.
fn sorted<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let mut words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    words.sort_unstable();
    words
}

/// Formats an event briefly, as a grid's state and base price or an order's state.
fn short((kind, event): &(String, Value)) -> String {
    let of = |name: &str| event[name].as_str().unwrap().to_owned();
    match kind.as_str() {
        "gridtrading_order" => format!("grid {} {}", of("status"), of("current_base_price")),
        _ => format!("{} {} {}", of("order_id"), of("side"), of("status")),
    }
}

#[tokio::test]
async fn a_grid_trades_at_its_levels() {
    let hall = open().await;
    let mut client = hall.listener().await;
    hall.step("10:00:15").await;
    let id = submit(&hall, &rule()).await;
    let account = hall.ann.account_id.0;
    assert_eq!(id, (account * 1_000_000_000 + 900_000_001).to_string());
    // The clock alone causes the triggers, without a request. The price 305.8 triggers the level
    // 305.6, and then 305 triggers 305.2.
    hall.step("10:05").await;
    let mut events = Vec::new();
    for _ in 0..8 {
        events.push(any_event(&mut client).await);
    }
    let (sale, purchase) = (account * 1_000_000_000 + 1, account * 1_000_000_000 + 2);
    assert_eq!(
        events.iter().map(short).collect::<Vec<_>>(),
        [
            "grid Performing 305.2".to_owned(),
            "grid Performing 305.6".to_owned(),
            format!("{sale} Sell WaitToNew"),
            format!("{sale} Sell NewStatus"),
            format!("{sale} Sell FilledStatus"),
            "grid Performing 305.2".to_owned(),
            format!("{purchase} Buy WaitToNew"),
            format!("{purchase} Buy NewStatus"),
        ]
    );
    let event = &events[0].1;
    assert_eq!(keys(event), sorted(&[EVENT_KEYS]));
    for key in EVENT_KEYS.split_whitespace() {
        assert_eq!(event[key].is_i64(), EVENT_NUMBERS.contains(&key), "{key}: {event}");
    }
    assert_eq!(
        (&event["order_id"], &event["trigger_quantity"], &event["settlement_currency"]),
        (&json!(id), &json!("100"), &json!("HKD"))
    );
    assert_eq!(events[4].1["updated_at"], json!(at("10:03").to_string()));

    let list = hall.get("/v1/gridtrading/list").await;
    assert_eq!((list["grid_order"].as_array().unwrap().len(), &list["has_more"]), (1, &json!(false)));
    let grid = &list["grid_order"][0];
    assert_eq!(keys(grid), sorted(&[GRID_KEYS]));
    for (key, value) in [
        ("stock_name", json!("Tencent")),
        ("market", json!("HK")),
        ("status", json!("Performing")),
        ("grid_status", json!("Performing")),
        ("submitted_base_price", json!("305.2")),
        ("current_base_price", json!("305.2")),
        ("pre_trigger_base_price", json!("305.6")),
        ("post_trigger_base_price", json!("305.2")),
        ("upper_limit_price", json!("310")),
        ("trigger_price_type", json!(1)),
        ("trigger_spread_up", json!("0.4")),
        ("trigger_percent_up", json!("")),
        ("trigger_sell_order_type", json!("MO")),
        ("trigger_sell_quantity", json!("100")),
        ("upper_limit_event", json!(1)),
        ("multiple_trigger", json!(false)),
        ("trigger_times", json!(2)),
        ("total_buy_quantity", json!("0")),
        ("total_sell_quantity", json!("100")),
        ("total_profit_balance", json!("0")),
        ("time_in_force", json!(1)),
        ("gtd", json!("")),
        ("created_at", json!(at("10:00:15").to_string())),
        ("grid_order_type_up", json!("GMO")),
    ] {
        assert_eq!(grid[key], value, "{key}");
    }
}

#[tokio::test]
async fn triggered_orders_are_listed_newest_first() {
    let hall = open().await;
    hall.server.set_now(at("10:00:15"));
    let id = submit(&hall, &rule()).await;
    hall.server.set_now(at("10:05"));
    let grid = detail(&hall, &id).await;
    let mut of_list = sorted(&[GRID_KEYS, DETAIL_ONLY]);
    of_list.retain(|key| !LIST_ONLY.split(' ').any(|only| only == *key));
    assert_eq!(keys(&grid), of_list);
    let orders = grid["grid_sub_orders"].as_array().unwrap();
    assert_eq!((orders.len(), &grid["sub_has_more"]), (2, &json!(false)));
    let sale = hall.ann.account_id.0 * 1_000_000_000 + 1;
    assert_eq!(
        orders[1],
        json!({
            "id": sale.to_string(), "price": "305.600", "order_type": "MO", "quantity": "100", "executed_qty": "100", "action": 2,
            "status": "FilledStatus", "submitted_at": at("10:02").to_string(), "rth": 0,
        })
    );
    assert_eq!((&orders[0]["action"], &orders[0]["price"]), (&json!(1), &json!("305.200")));
    let first = json!({
        "history_id": "1", "created_at": at("10:00:15").to_string(), "status": "Performing", "suspend_reason": "", "reason": "",
    });
    assert_eq!((&grid["grid_order_history"], &grid["history_has_more"]), (&json!([first]), &json!(false)));
    for path in [
        format!("/v1/gridtrading/trigger_history_list?grid_order_id={id}"),
        "/v1/gridtrading/trigger_history_list".to_owned(),
    ] {
        let triggers = hall.get(&path).await;
        let rows = triggers["trigger_orders"].as_array().unwrap();
        assert_eq!((rows.len(), &triggers["has_more"]), (2, &json!(false)));
        let row = &rows[1];
        assert_eq!(keys(row), sorted(&[TRIGGER_KEYS]));
        assert_eq!(
            row,
            &json!({
                "id": sale.to_string(), "status": "FilledStatus", "name": "Tencent", "symbol": "700.HK", "price": "305.600",
                "quantity": "100", "executed_price": "305.600", "executed_qty": "100", "submitted_at": at("10:02").to_string(),
                "action": 2, "order_type": "MO", "trigger_price": "305.600", "msg": "", "currency": "HKD", "last_done": "305.200",
                "updated_at": at("10:03").to_string(), "time_in_force": 0, "gtd": "", "trigger_at": at("10:02").to_string(),
                "trigger_status": 3,
            })
        );
        assert_eq!((&rows[0]["executed_price"], &rows[0]["executed_qty"]), (&json!(""), &json!("0")));
    }
    let explanation = hall.get(&format!("/v1/gridtrading/why?order_id={id}")).await;
    let actual: Vec<&str> =
        explanation["steps"].as_array().unwrap().iter().map(|step| step["event"].as_str().unwrap()).collect();
    assert_eq!(actual, ["submitted", "triggered", "triggered"]);
    assert_eq!(explanation["steps"][1]["candle"]["time"], json!(at("10:01").to_string()));
    // Each page has one row.
    let page = |number: u32| {
        let path = format!("/v1/gridtrading/trigger_history_list?grid_order_id={id}&limit=1&page={number}");
        let hall = &hall;
        async move { hall.get(&path).await }
    };
    let (newest, oldest, beyond) = (page(1).await, page(2).await, page(3).await);
    assert_eq!((&newest["trigger_orders"][0]["action"], &newest["has_more"]), (&json!(1), &json!(true)));
    assert_eq!((&oldest["trigger_orders"][0]["action"], &oldest["has_more"]), (&json!(2), &json!(false)));
    assert_eq!(beyond, json!({"trigger_orders": [], "has_more": false}));
    let short = hall.get(&format!("/v1/gridtrading/detail?order_id={id}&limit=1")).await;
    assert_eq!(
        (short["grid_sub_orders"].as_array().unwrap().len(), &short["sub_has_more"]),
        (1, &json!(true))
    );
}

#[tokio::test]
async fn a_grid_is_suspended_resumed_replaced_and_cancelled() {
    let hall = open().await;
    hall.server.set_now(at("10:00:15"));
    let id = submit(&hall, &rule()).await;
    let mut client = hall.listener().await;
    change(&hall, "suspend", &id).await;
    let paused = any_event(&mut client).await;
    assert_eq!(
        (short(&paused), &paused.1["suspend_reason"]),
        ("grid Suspended 305.2".to_owned(), &json!("user"))
    );
    // Prices have no effect while the grid is suspended.
    hall.server.set_now(at("10:02"));
    let grid = detail(&hall, &id).await;
    assert_eq!((&grid["status"], &grid["suspend_reason"]), (&json!("Suspended"), &json!("user")));
    change(&hall, "restart", &id).await;
    assert_eq!(short(&any_event(&mut client).await), "grid Performing 305.2");
    hall.server.set_now(at("10:03:30"));
    let percent = rule_with(&json!({
        "trigger_price_type": 2, "trigger_percent_up": "2", "trigger_percent_down": "1.5", "submitted_base_price": "306",
        "trigger_spread_up": null, "trigger_spread_down": null, "time_in_force": 6, "expire_time": at("34:00"),
        "upper_limit_event": 2, "grid_order_type_up": "GLO", "multiple_trigger": true,
    }));
    let replace = json!({"order_id": id, "grid_trading_rule": percent});
    assert_eq!(data(&hall.ask("POST", "/v1/gridtrading/replace", &replace).await), json!({}));
    let grid = detail(&hall, &id).await;
    for (key, value) in [
        ("status", json!("Performing")),
        ("submitted_base_price", json!("306")),
        ("current_base_price", json!("306")),
        ("trigger_price_type", json!(2)),
        ("trigger_spread_up", json!("")),
        ("trigger_percent_down", json!("1.5")),
        ("time_in_force", json!(6)),
        ("gtd", json!("2026-03-19")),
        ("expire_time", json!(at("34:00").to_string())),
        ("upper_limit_event", json!(2)),
        ("grid_order_type_up", json!("GLO")),
        ("multiple_trigger", json!(true)),
    ] {
        assert_eq!(grid[key], value, "{key}");
    }
    change(&hall, "cancel", &id).await;
    let ended = detail(&hall, &id).await;
    assert_eq!(ended["status"], "Canceled");
    let history = ended["grid_order_history"].as_array().unwrap();
    let actual: Vec<(Value, Value)> =
        history.iter().map(|row| (row["history_id"].clone(), row["status"].clone())).collect();
    let rows = [
        ("5", "Canceled"),
        ("4", "Performing"),
        ("3", "Performing"),
        ("2", "Suspended"),
        ("1", "Performing"),
    ];
    assert_eq!(actual, rows.map(|(number, status)| (json!(number), json!(status))));
    // The request returns the history rows before a given row.
    let before = hall.get(&format!("/v1/gridtrading/detail?order_id={id}&history_id=3&limit=1")).await;
    assert_eq!(
        (&before["grid_order_history"][0]["history_id"], &before["history_has_more"]),
        (&json!("2"), &json!(true))
    );
    assert_eq!(before["grid_order_history"][0]["status"], "Suspended");
}

#[tokio::test]
async fn grids_can_be_listed_by_page_state_market_and_id() {
    let hall = open().await;
    hall.server.set_now(at("10:00:15"));
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(submit(&hall, &rule()).await);
    }
    change(&hall, "suspend", &ids[1]).await;
    let listed = |query: &str| {
        let path = format!("/v1/gridtrading/list?{query}");
        let hall = &hall;
        async move {
            let list = hall.get(&path).await;
            let ids = list["grid_order"]
                .as_array()
                .unwrap()
                .iter()
                .map(|grid| grid["order_id"].as_str().unwrap().to_owned());
            (ids.collect::<Vec<_>>(), list["has_more"].as_bool().unwrap())
        }
    };
    let of = |numbers: &[usize]| numbers.iter().map(|number| ids[*number].clone()).collect::<Vec<_>>();
    for (query, found, has_more) in [
        ("", &[2, 1, 0][..], false),
        ("sort_by=created_at&sort_order=asc", &[0, 1, 2], false),
        ("limit=2", &[2, 1], true),
        ("limit=2&page=2", &[0], false),
        ("page=9", &[], false),
        ("status=Suspended", &[1], false),
        ("status=Performing%2CSuspended", &[2, 1, 0], false),
        ("status=Canceled", &[], false),
        ("symbol=700.HK&market=HK", &[2, 1, 0], false),
        ("symbol=AAPL.US", &[], false),
        ("market=US", &[], false),
        ("market=SG", &[], false),
    ] {
        assert_eq!(listed(query).await, (of(found), has_more), "{query}");
    }
    let wanted = json!({"order_ids": [ids[0], "1", ids[2], ids[0], "no number", ""]});
    let found = data(&hall.ask("POST", "/v1/gridtrading/list", &wanted).await);
    let found: Vec<&str> = found["grid_order"]
        .as_array()
        .unwrap()
        .iter()
        .map(|grid| grid["order_id"].as_str().unwrap())
        .collect();
    assert_eq!(found, [ids[0].as_str(), ids[2].as_str()]);
    let none = data(&hall.ask("POST", "/v1/gridtrading/list", &json!({})).await);
    assert_eq!(none, json!({"grid_order": []}));
}

#[tokio::test]
async fn order_info_has_the_inputs_of_a_grid() {
    let hall = open().await;
    hall.server.set_now(at("10:04"));
    let info = hall.get("/v1/orders/info?symbol=700.HK").await;
    for (key, value) in [
        ("name", json!("Tencent")),
        ("last_done", json!("305.200")),
        ("lot_size", json!("100")),
        ("buy_lot_size", json!("100")),
        ("sell_lot_size", json!("100")),
        (
            "channel_infos",
            json!({
                "strategy_granted": false, "support_rth": false, "currency": "HKD", "settlement_currency": ["HKD"],
            }),
        ),
    ] {
        assert_eq!(info[key], value, "{key}");
    }
    let sizes = info["bid_sizes"].as_array().unwrap();
    assert!(
        sizes.contains(&json!({"str_proceed": "200", "end_proceed": "500", "bid_size": "0.200"})),
        "{sizes:?}"
    );
    let agree = json!({"type": "strategy", "items": {"agree": "true"}});
    for _ in 0..2 {
        assert_eq!(data(&hall.ask("POST", "/v1/record/questionnaire", &agree).await), json!({}));
    }
    let info = hall.get("/v1/orders/info?symbol=700.HK").await;
    assert_eq!(info["channel_infos"]["strategy_granted"], true);
    let american = hall.get("/v1/orders/info?symbol=AAPL.US").await;
    assert_eq!(
        (&american["channel_infos"]["support_rth"], &american["lot_size"]),
        (&json!(true), &json!("1"))
    );
}

#[tokio::test]
async fn a_preview_returns_the_levels_without_creating_a_grid() {
    let hall = open().await;
    hall.server.set_now(at("10:00:15"));
    let wide = rule_with(&json!({"trigger_spread_up": "2", "trigger_spread_down": "2"}));
    let preview = data(&hall.ask("POST", "/v1/gridtrading/preview", &body(&wide)).await);
    assert_eq!((&preview["verdict"], &preview["position"]), (&json!("accepted"), &json!("500")));
    assert_eq!(
        preview["sales"],
        json!({
            "levels": ["307.200", "309.200"], "level_count": 2, "trade_count": 2, "quantity": "200", "amount": "61640.00",
        })
    );
    assert_eq!(preview["purchases"]["levels"], json!(["303.200", "301.200"]));
    // One more purchase reaches the maximum position of 600 shares.
    let little = rule_with(&json!({"trigger_spread_down": "2", "upper_limit_quantity": "600"}));
    let preview = data(&hall.ask("POST", "/v1/gridtrading/preview", &body(&little)).await);
    let buys = &preview["purchases"];
    assert_eq!(
        (&buys["level_count"], &buys["trade_count"], &buys["amount"]),
        (&json!(2), &json!(1), &json!("30320.00"))
    );
    let crossed = rule_with(&json!({"upper_limit_price": "300", "lower_limit_price": "310"}));
    let preview = data(&hall.ask("POST", "/v1/gridtrading/preview", &body(&crossed)).await);
    assert_eq!(
        (&preview["verdict"], &preview["reason"]["text"], &preview["sales"]),
        (&json!("refused"), &json!("upper_limit_price must be above lower_limit_price"), &Value::Null)
    );
    assert_eq!(hall.get("/v1/gridtrading/list").await, json!({"grid_order": [], "has_more": false}));
}
