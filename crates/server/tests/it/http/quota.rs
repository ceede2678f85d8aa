//! `GET /v1/quota` and `POST /v1/quota/preview`.

use access::{Actor, Created, Level, NewAccount, Role, Table, Terms};
use serde_json::{Value, json};

use crate::support::{Response, Running};

fn unlimited() -> Terms {
    Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() }
}

async fn spend(server: &Running, account: &Created, symbol: &str) {
    let path = format!("/v1/quote/history-candlesticks?symbol={symbol}&limit=1");
    assert_eq!(server.get(&path, account).await.status, 200, "{symbol}");
}

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

fn operator(server: &Running) -> Created {
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", unlimited()) };
    server.access.create(&new, &Actor::Operator, crate::support::NOW).unwrap()
}

#[tokio::test]
async fn the_monthly_quota_is_reported_in_detail() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let table =
        Table::csv(b"account,day,currency,amount\nann,2026-11-12,HKD,80000.5\nann,2026-11-13,HKD,9\n")
            .unwrap();
    server.access.report_assets(&table, &Actor::Operator, server.present()).unwrap();
    server.noticed().await;
    spend(&server, &account, "AAPL.US").await;
    spend(&server, &account, "700.HK").await;
    let quota = data(&server.get("/v1/quota", &account).await);
    for (pointer, wanted) in [
        ("/account", json!("ann")),
        ("/month", json!("2026-11")),
        ("/used", json!(2)),
        ("/limit", json!(600)),
        ("/remaining", json!(598)),
        ("/level/number", json!(3)),
        ("/level/override", json!(false)),
        ("/level/own_quota", json!(false)),
        ("/level/reason", json!("assets HKD 80,000.50 on 2026-11-12 reach level 3")),
        ("/level/because", json!({"kind": "assets", "hkd": "80000.50", "day": "2026-11-12", "level": 3})),
        ("/level/as_of", json!("2026-11-13")),
        ("/level/assets", json!({"hkd": "80000.50", "day": "2026-11-12"})),
        ("/level/orders", json!({"count": 0, "month": "2026-11"})),
        ("/next_trading_day", json!("2026-11-16")),
        ("/next_change/day", json!("2026-11-16")),
        ("/next_change/level", json!(1)),
        ("/next_change/limit", json!(100)),
        ("/resets", json!("2026-12-01")),
        ("/resets_at", json!("2026-12-01T00:00:00+08:00")),
        ("/resets_at_unix", json!(1_796_054_400)),
        ("/securities/0/symbol", json!("700.HK")),
        ("/securities/1/first_used_at", json!("2026-11-15T10:00:00+08:00")),
        ("/securities_omitted", json!(0)),
        (
            "/rights/2",
            json!({"package": "US_OVERNIGHT", "held": false, "granted": false, "from": null, "until": null}),
        ),
    ] {
        assert_eq!(quota.pointer(pointer), Some(&wanted), "{pointer}: {quota:#}");
    }
    // Reading the quota is not charged.
    assert_eq!(data(&server.get("/v1/quota", &account).await)["used"], 2);
}

#[tokio::test]
async fn an_overridden_quota_is_reported() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { level: Level::new(4), quota: Some(7), ..unlimited() });
    let quota = data(&server.get("/v1/quota", &account).await);
    let level = &quota["level"];
    assert_eq!(
        (&level["number"], &level["override"], &level["own_quota"]),
        (&json!(4), &json!(true), &json!(true))
    );
    assert_eq!((&quota["limit"], &quota["next_change"]), (&json!(7), &Value::Null));
    assert_eq!(
        (&level["reason"], &level["because"]),
        (&json!("set by the operator"), &json!({"kind": "set"}))
    );
    assert_eq!(level["assets"], Value::Null);
}

#[tokio::test]
async fn only_operators_see_other_accounts() {
    let server = Running::start().await;
    let (ann, op) = (server.account("ann", unlimited()), operator(&server));
    server.account("bob", unlimited());
    assert_eq!(data(&server.get("/v1/quota?account=ann", &ann).await)["account"], "ann");
    for name in ["bob", "nobody", "op", "2"] {
        let refused = server.get(&format!("/v1/quota?account={name}"), &ann).await;
        assert_eq!((refused.status, &refused.json()["code"]), (403, &json!(403_008)), "{name}");
    }
    assert_eq!(data(&server.get("/v1/quota?account=bob", &op).await)["account"], "bob");
    assert_eq!(data(&server.get("/v1/quota?account=1", &op).await)["account"], "ann");
    assert_eq!(server.get("/v1/quota?account=nobody", &op).await.status, 404);
    assert_eq!(server.http("GET", "/v1/quota", "", b"").await.status, 401);
}

#[tokio::test]
async fn a_preview_groups_the_symbols_without_charging() {
    let server = Running::start().await;
    let account = server.account_with("ann", "HK,CN", Terms { quota: Some(2), ..Terms::default() });
    spend(&server, &account, "700.HK").await;
    let before =
        server.access.allowance(&server_caller(&server, &account), std::time::Duration::ZERO).unwrap();
    let body =
        json!({"symbols": ["00700.HK", "600519.SH", "600519.sh", "AAPL.US", "9999.HK", "tencent", "5.HK"]});
    let preview = data(&server.post("/v1/quota/preview", &account, &body.to_string()).await);
    assert_eq!(
        preview,
        json!({
            "cost": 1, "fits": true, "new": ["600519.SH"], "already": ["700.HK"], "unknown": ["9999.HK", "5.HK"],
            "no_access": ["AAPL.US"], "invalid": ["tencent"], "used": 1, "limit": 2, "remaining": 1,
            "remaining_after": 0, "resets": "2026-12-01",
        })
    );
    assert_eq!(data(&server.get("/v1/quota", &account).await)["used"], 1);
    let after =
        server.access.allowance(&server_caller(&server, &account), std::time::Duration::ZERO).unwrap();
    assert_eq!(before, after);
    // The symbol would exceed the quota.
    server.change_terms(&account, &Terms { quota: Some(1), ..Terms::default() }).await;
    let body = json!({"symbols": ["600519.SH"]});
    let preview = data(&server.post("/v1/quota/preview", &account, &body.to_string()).await);
    assert_eq!((&preview["fits"], &preview["remaining_after"]), (&json!(false), &json!(0)));
}

fn server_caller(server: &Running, account: &Created) -> access::Caller {
    let token = format!("Bearer {}", account.access_token.expose());
    let header = |name: &str| (name == "authorization").then_some(token.as_str());
    let request =
        access::SignedRequest { method: "GET", path: "/", raw_query: "", header: &header, body: b"" };
    server.access.identify(&request, server.present().machine).unwrap()
}

#[tokio::test]
async fn invalid_and_oversized_previews_are_refused() {
    let server = Running::start().await;
    let account = server.account("ann", unlimited());
    let of = |count: usize| {
        let symbols: Vec<String> = (1..=count).map(|number| format!("{number}.HK")).collect();
        json!({"symbols": symbols}).to_string()
    };
    let most = data(&server.post("/v1/quota/preview", &account, &of(3_000)).await);
    assert_eq!(most["unknown"].as_array().unwrap().len() + most["new"].as_array().unwrap().len(), 3_000);
    for (body, status, code) in [
        (of(3_001), 403, 301_607),
        (String::new(), 400, 301_600),
        ("[]".to_owned(), 400, 301_600),
        (json!({"symbols": "700.HK"}).to_string(), 400, 301_600),
        (json!({"symbols": [7]}).to_string(), 400, 301_600),
        (json!({"symbols": [], "more": 1}).to_string(), 400, 301_600),
    ] {
        let refused = server.post("/v1/quota/preview", &account, &body).await;
        assert_eq!((refused.status, refused.json()["code"].as_u64()), (status, Some(code)));
    }
    let nothing = data(&server.post("/v1/quota/preview", &account, r#"{"symbols":[]}"#).await);
    assert_eq!((&nothing["cost"], &nothing["fits"]), (&json!(0), &json!(true)));
}

/// Previews need a rate limit, because a preview looks up as many as three thousand symbols.
#[tokio::test]
async fn previews_are_rate_limited() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut answered = 0;
    let refusal = loop {
        let answer = server.post("/v1/quota/preview", &account, r#"{"symbols":[]}"#).await;
        if answer.status != 200 {
            break answer;
        }
        answered += 1;
        assert!(answered < 500, "there is no limit");
    };
    assert!(answered >= 20, "{answered}");
    assert_eq!((refusal.status, refusal.json()["code"].as_u64()), (429, Some(429_002)));
}

#[tokio::test]
async fn charge_no_returns_the_cost_instead_of_candles() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(1), ..unlimited() });
    let uncharged =
        |symbol: &str| format!("/v1/quote/history-candlesticks?symbol={symbol}&limit=1&charge=no");
    let first = server.get(&uncharged("700.HK"), &account).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(
        data(&first),
        json!({
            "symbol": "700.HK", "period": "day", "candlesticks": [], "next": null,
            "would_charge": {"cost": 1, "fits": true, "used": 0, "limit": 1, "resets": "2026-12-01"},
        })
    );
    assert_eq!((first.header("x-quota-used"), first.header("x-quota-limit")), (Some("0"), Some("1")));
    // Responses to range requests are cached, except for a response without candles.
    let ranged = format!("authorization: Bearer {}\r\nrange: bytes=0-9\r\n", account.access_token.expose());
    assert_eq!(server.http("GET", &uncharged("700.HK"), &ranged, b"").await.status, 200);
    spend(&server, &account, "700.HK").await;
    let charged = data(&server.get(&uncharged("700.HK"), &account).await);
    assert_eq!((charged["candlesticks"].as_array().unwrap().len(), charged.get("would_charge")), (1, None));
    assert_eq!(server.http("GET", &uncharged("700.HK"), &ranged, b"").await.status, 206);
    // The quota is exhausted.
    let spent = data(&server.get(&uncharged("AAPL.US"), &account).await);
    assert_eq!(
        spent["would_charge"],
        json!({"cost": 1, "fits": false, "used": 1, "limit": 1, "resets": "2026-12-01"})
    );
    let own = server.account("me", Terms::unlimited());
    let unlimited = data(&server.get(&uncharged("AAPL.US"), &own).await);
    assert_eq!(unlimited["candlesticks"].as_array().unwrap().len(), 1, "its quota has no limit");
    let wrong = server.get("/v1/quote/history-candlesticks?symbol=700.HK&charge=perhaps", &account).await;
    assert_eq!(wrong.status, 400, "{}", wrong.text());
}

#[tokio::test]
async fn charge_no_is_refused_for_file_formats() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(1), ..unlimited() });
    for format in ["csv", "arrow", "parquet"] {
        let table = format!("/v1/quote/history-candlesticks?symbol=700.HK&charge=no&format={format}");
        let refused = server.get(&table, &account).await;
        let code = refused.json()["code"].clone();
        assert_eq!((refused.status, code), (403, json!(301_607)), "{}", refused.text());
        assert_eq!(refused.header("x-quota-used"), Some("0"));
    }
}
