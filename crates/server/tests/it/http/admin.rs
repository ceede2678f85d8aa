//! Operator endpoints for accounts, rights, reports and levels.

use access::{Actor, Created, NewAccount, Role, Terms};
use serde_json::{Value, json};

use crate::support::{NOW, Response, Running};

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

fn refused(answer: &Response) -> (u16, u64, String) {
    let body = answer.json();
    assert_eq!(body["data"], Value::Null, "{body}");
    (answer.status, body["code"].as_u64().unwrap(), body["message"].as_str().unwrap().to_owned())
}

struct Office {
    server: Running,
    op: Created,
    ann: Created,
}

impl Office {
    async fn open() -> Office {
        let server = Running::start().await;
        let ann = server.account("ann", Terms::default());
        let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", Terms::default()) };
        let op = server.access.create(&new, &Actor::Operator, NOW).unwrap();
        Office { server, op, ann }
    }

    async fn get(&self, path: &str) -> Response {
        self.server.get(path, &self.op).await
    }

    async fn post(&self, path: &str, body: Value) -> Response {
        self.server.post(path, &self.op, &body.to_string()).await
    }

    async fn csv(&self, path: &str, body: &str) -> Response {
        let token = self.op.access_token.expose();
        let head = format!("authorization: Bearer {token}\r\ncontent-type: text/csv; charset=utf-8\r\n");
        self.server.http("POST", path, &head, body.as_bytes()).await
    }

    async fn delete(&self, path: &str) -> Response {
        let head = format!("authorization: Bearer {}\r\n", self.op.access_token.expose());
        self.server.http("DELETE", path, &head, b"").await
    }
}

#[tokio::test]
async fn operator_endpoints_are_refused_to_other_accounts() {
    let office = Office::open().await;
    let token = format!("authorization: Bearer {}\r\n", office.ann.access_token.expose());
    for (method, path) in [
        ("GET", "/v1/admin/accounts"),
        ("GET", "/v1/admin/accounts/ann"),
        ("GET", "/v1/admin/accounts/nobody"),
        ("POST", "/v1/admin/accounts/ann"),
        ("POST", "/v1/admin/accounts/ann/rights"),
        ("DELETE", "/v1/admin/accounts/ann/rights?package=US"),
        ("GET", "/v1/admin/reported-assets?account=ann"),
        ("POST", "/v1/admin/reported-assets"),
        ("GET", "/v1/admin/reported-orders?account=ann"),
        ("POST", "/v1/admin/reported-orders"),
        ("GET", "/v1/admin/rates"),
        ("POST", "/v1/admin/rates"),
        ("GET", "/v1/admin/levels"),
        ("POST", "/v1/admin/levels/1"),
        ("GET", "/v1/admin/audit"),
    ] {
        let answer = office.server.http(method, path, &token, b"{}").await;
        let (status, code, text) = refused(&answer);
        assert_eq!((status, code), (403, 403_008), "{method} {path}: {text}");
        assert_eq!(office.server.http(method, path, "", b"{}").await.status, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn accounts_can_be_listed_read_and_changed() {
    let office = Office::open().await;
    let all = data(&office.get("/v1/admin/accounts").await);
    assert_eq!(all["total"], 2);
    assert_eq!(
        (&all["accounts"][0]["account"], &all["accounts"][1]["role"]),
        (&json!("ann"), &json!("operator"))
    );
    let ann = data(&office.get("/v1/admin/accounts/ann").await);
    assert_eq!((&ann["level"], &ann["limit"], &ann["quota"]["used"]), (&json!(1), &json!(100), &json!(0)));
    let set = data(&office.post("/v1/admin/accounts/1", json!({"level": 5, "rate": "unlimited"})).await);
    assert_eq!(
        (&set["level"], &set["limit"], &set["terms"]["rate"]),
        (&json!(5), &json!(2000), &json!("unlimited"))
    );
    let set = data(&office.post("/v1/admin/accounts/ann", json!({"quota": 9, "connections": 3})).await);
    assert_eq!(
        (&set["level"], &set["limit"], &set["terms"]["connections"]),
        (&json!(5), &json!(9), &json!(3))
    );
    assert_eq!(set["terms"]["subscriptions"], 500);
    let set = data(&office.post("/v1/admin/accounts/ann", json!({"subscriptions": 0})).await);
    assert_eq!(set["terms"]["subscriptions"], 0);
    let back = json!({"quota": null, "level": null, "rate": null});
    let set = data(&office.post("/v1/admin/accounts/ann", back).await);
    assert_eq!(
        (&set["level"], &set["limit"], &set["terms"]["rate"]),
        (&json!(1), &json!(100), &json!("60/30"))
    );
    let set = data(&office.post("/v1/admin/accounts/ann", json!({"floors": "US.day=none"})).await);
    assert_eq!(set["terms"]["floors"], "US.day=none");
    let set = data(&office.post("/v1/admin/accounts/ann", json!({"floors": null})).await);
    assert_eq!(set["terms"]["floors"], Value::Null);
    for (body, says) in [
        (json!({"floors": "old"}), "published"),
        (json!({"floors": 5}), "as text"),
        (json!({}), "no changes"),
        (json!({"level": 7}), "1 to 6"),
        (json!({"level": "3"}), "1 to 6"),
        (json!({"quota": 100_001}), "at most"),
        (json!({"quota": -1}), "a number"),
        (json!({"rate": "often"}), "60/30"),
        (json!({"rate": 5}), "as text"),
        (json!({"connections": 0}), "connections"),
        (json!({"subscriptions": 100_001}), "at most 100000"),
        (json!({"subscriptions": null}), "a number"),
        (json!({"subscriptions": 5, "unlimited": true}), "cannot be combined"),
        (json!({"name": "eve"}), "the fields are"),
        (json!([]), "decoded"),
    ] {
        let (status, code, text) = refused(&office.post("/v1/admin/accounts/ann", body).await);
        assert_eq!((status, code), (400, 301_600), "{text}");
        assert!(text.contains(says), "{text}");
    }
    assert_eq!(refused(&office.get("/v1/admin/accounts/nobody").await).0, 404);
    assert_eq!(refused(&office.post("/v1/admin/accounts/nobody", json!({"level": 1})).await).0, 404);
}

#[tokio::test]
async fn rights_can_be_granted_for_a_period_and_withdrawn() {
    let office = Office::open().await;
    let path = "/v1/admin/accounts/ann/rights";
    let right = |account: &Value, name: &str| {
        let rights = account["rights"].as_array().unwrap();
        rights.iter().find(|right| right["package"] == name).unwrap().clone()
    };
    let granted = data(
        &office
            .post(path, json!({"package": "us_options", "from": "2026-11-01", "until": 1_800_000_000}))
            .await,
    );
    assert_eq!(
        right(&granted, "US_OPTIONS"),
        json!({
            "package": "US_OPTIONS", "granted": true, "held": true,
            "from": "2026-10-31T16:00:00Z", "until": "2027-01-15T08:00:00Z",
        })
    );
    // A string of eight digits is a date, as on the command line. A number is Unix seconds.
    let until = json!({"package": "US_OPTIONS", "until": "20271231"});
    let granted = right(&data(&office.post(path, until).await), "US_OPTIONS");
    assert_eq!((&granted["held"], &granted["until"]), (&json!(true), &json!("2027-12-30T16:00:00Z")));
    let later = json!({"package": "US_OPTIONS", "from": "2027-01-01T00:00:00Z"});
    let granted = right(&data(&office.post(path, later).await), "US_OPTIONS");
    assert_eq!((&granted["held"], &granted["until"]), (&json!(false), &Value::Null));
    let withdrawn = data(&office.delete(&format!("{path}?package=US_OPTIONS")).await);
    assert_eq!(right(&withdrawn, "US_OPTIONS")["granted"], false);
    assert_eq!(refused(&office.delete(&format!("{path}?package=US_OPTIONS")).await).0, 404);
    for (body, says) in [
        (json!({"package": "JP"}), "not a package"),
        (json!({"package": "US", "from": "soon"}), "is not a time"),
        (json!({"package": "US", "from": "2026-02-30"}), "is not a time"),
        (json!({"package": "US", "from": "1800000000"}), "is not a time"),
        (json!({"package": "US", "from": 0.5}), "Unix seconds as a number"),
        (json!({"package": "US", "from": true}), "Unix seconds as a number"),
        (json!({"package": "US", "from": 5, "until": 5}), "cannot end"),
        (json!({"package": "US", "until": 253_402_300_800_i64}), "9999"),
        (json!({"package": "US", "starts": 5}), "decoded"),
        (json!({}), "decoded"),
    ] {
        let (status, code, text) = refused(&office.post(path, body).await);
        assert_eq!((status, code), (400, 301_600), "{text}");
        assert!(text.contains(says), "{text}");
    }
    assert_eq!(refused(&office.delete(path).await).0, 400);
}

#[tokio::test]
async fn reports_are_accepted_as_json_or_csv_and_raise_levels() {
    let office = Office::open().await;
    let rates = office
        .post("/v1/admin/rates", json!({"rows": [{"currency": "USD", "day": "2026-11-01", "rate": "8"}]}));
    assert_eq!(data(&rates.await), json!({"rows": 1, "accounts": 0}));
    let assets = "account,day,currency,amount\nann,2026-11-12,USD,10000\nop,2026-11-12,HKD,10000\n";
    assert_eq!(
        data(&office.csv("/v1/admin/reported-assets", assets).await),
        json!({"rows": 2, "accounts": 2})
    );
    let level =
        async |name: &str| data(&office.get(&format!("/v1/admin/accounts/{name}")).await)["level"].clone();
    assert_eq!((level("ann").await, level("op").await), (json!(3), json!(2)));
    let orders = json!({"rows": [{"account": "op", "day": "2026-11-12", "count": 161}, {"account": 1, "order_id": "A-1"}]});
    assert_eq!(
        data(&office.post("/v1/admin/reported-orders", orders).await),
        json!({"rows": 2, "accounts": 2})
    );
    assert_eq!(level("op").await, json!(4));
    let actual = data(&office.get("/v1/admin/reported-orders?account=ann").await);
    assert_eq!(actual, json!({"rows": [{"account": "ann", "day": "2026-11-15", "count": 1}]}));
    let actual = data(&office.get("/v1/admin/reported-assets?account=1&limit=1").await);
    assert_eq!(
        actual,
        json!({"rows": [{"account": "ann", "day": "2026-11-12", "currency": "USD", "amount": "10000.00"}]})
    );
    let actual = data(&office.get("/v1/admin/rates?currency=usd").await);
    assert_eq!(
        actual,
        json!({"rows": [
            {"currency": "USD", "day": "2026-11-01", "rate": "8.00", "builtin": false},
            {"currency": "USD", "day": "1983-10-17", "rate": "7.80", "builtin": true},
        ]})
    );
    for (path, body, says) in [
        ("/v1/admin/reported-assets", json!({"rows": []}), "no rows"),
        (
            "/v1/admin/reported-assets",
            json!({"rows": [{"account": "ann", "currency": "HKD", "amount": 0.5}]}),
            "as text",
        ),
        (
            "/v1/admin/reported-assets",
            json!({"rows": [{"account": "ann", "currency": "JPY", "amount": "5"}]}),
            "exchange rate",
        ),
        (
            "/v1/admin/reported-assets",
            json!({"rows": [{"account": "eve", "currency": "HKD", "amount": "5"}]}),
            "row 1: there is no account",
        ),
        (
            "/v1/admin/reported-assets",
            json!({"rows": [{"account": "ann", "sum": "5"}]}),
            "\"sum\" is not one of",
        ),
        (
            "/v1/admin/rates",
            json!({"rows": [{"currency": "USD", "day": "2026-11-16", "rate": "8"}]}),
            "in the future",
        ),
        ("/v1/admin/reported-orders", json!({"rows": [{"account": "ann"}]}), "either a count"),
        ("/v1/admin/reported-orders", json!([]), "decoded"),
    ] {
        let (status, code, text) = refused(&office.post(path, body).await);
        assert_eq!((status, code), (400, 301_600), "{text}");
        assert!(text.contains(says), "{text}");
    }
    let (_, _, text) =
        refused(&office.csv("/v1/admin/reported-assets", "account,day,currency,amount\nann\n").await);
    assert!(text.contains("line 2"), "{text}");
    assert_eq!(refused(&office.get("/v1/admin/reported-assets").await).0, 400);
    assert_eq!(refused(&office.get("/v1/admin/reported-assets?account=ann&limit=1001").await).0, 400);
}

#[tokio::test]
async fn renamed_report_paths_answer_with_the_new_path() {
    let office = Office::open().await;
    let operator = format!("authorization: Bearer {}\r\n", office.op.access_token.expose());
    let other = format!("authorization: Bearer {}\r\n", office.ann.access_token.expose());
    for (old, new) in [
        ("/v1/admin/assets", "/v1/admin/reported-assets"),
        ("/v1/admin/orders?account=ann", "/v1/admin/reported-orders"),
    ] {
        for head in [&operator, &other, ""] {
            for method in ["GET", "POST"] {
                let (status, code, text) = refused(&office.server.http(method, old, head, b"{}").await);
                assert_eq!((status, code), (410, 410), "{method} {old}");
                assert_eq!(text, format!("this path has moved: use {new}"));
            }
        }
    }
}

#[tokio::test]
async fn level_changes_apply_to_all_accounts_and_are_audited() {
    let office = Office::open().await;
    let levels = data(&office.get("/v1/admin/levels").await);
    assert_eq!(levels["levels"][3], json!({"level": 4, "quota": 1000, "assets": 400_000, "orders": 160}));
    let changed = data(&office.post("/v1/admin/levels/1", json!({"quota": 150})).await);
    assert_eq!(changed["levels"][0]["quota"], 150);
    assert_eq!(data(&office.get("/v1/admin/accounts/ann").await)["limit"], 150);
    for (path, body, status) in [
        ("/v1/admin/levels/1", json!({"quota": 401}), 400),
        ("/v1/admin/levels/2", json!({"assets": null}), 400),
        ("/v1/admin/levels/2", json!({"quotas": 5}), 400),
        ("/v1/admin/levels/2", json!({"quota": -5}), 400),
        ("/v1/admin/levels/2", json!({}), 400),
        ("/v1/admin/levels/7", json!({"quota": 5}), 404),
        ("/v1/admin/levels/x", json!({"quota": 5}), 404),
    ] {
        assert_eq!(refused(&office.post(path, body).await).0, status, "{path}");
    }
    let raised = data(&office.post("/v1/admin/accounts/ann", json!({"level": 2})).await);
    assert_eq!(raised["level"], 2);
    let rows = data(&office.get("/v1/admin/audit?account=ann&event=level.changed").await);
    let row = &rows["rows"][0];
    assert_eq!(row["actor"], format!("account {}", office.op.account_id.0));
    assert_eq!(row["reason"], "level 1 to 2 on 2026-11-13: set by the operator");
    let all = data(&office.get("/v1/admin/audit?limit=2").await);
    let last = all["rows"][1]["id"].as_i64().unwrap();
    let older = data(&office.get(&format!("/v1/admin/audit?limit=1&before={last}")).await);
    assert_eq!(older["rows"][0]["event"], "levels.changed");
    assert_eq!(older["rows"][0]["reason"], "level 1: quota 150, assets none, orders none");
    assert_eq!(data(&office.get("/v1/admin/audit?since=2099-01-01").await)["rows"], json!([]));
    assert_eq!(refused(&office.get("/v1/admin/audit?since=soon").await).0, 400);
    assert_eq!(refused(&office.get("/v1/admin/audit?since=1794708000").await).0, 400);
    assert_eq!(data(&office.get("/v1/admin/audit?since=20990101").await)["rows"], json!([]));
    assert_eq!(refused(&office.get("/v1/admin/audit?before=x").await).0, 400);
}
