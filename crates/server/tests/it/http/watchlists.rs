//! Watchlists over HTTP: requests of SDKs and pages, and refusals.

use access::{Created, RateRule, Terms};
use serde_json::{Value, json};

use crate::support::{NOW, Response, Running, import_files};

const GROUPS: &str = "/v1/watchlist/groups";
const PINNED: &str = "/v1/watchlist/pinned";

fn unhurried() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

/// Imports securities without candles: `1.HK`, `2.HK` and so on.
async fn store(server: &Running, numbers: impl Iterator<Item = u32>) {
    let rows: String = numbers.map(|number| format!("{number}.HK,HKD\n")).collect();
    let path = server.dir.path().join("numbered.csv");
    std::fs::write(&path, format!("symbol,currency\n{rows}")).unwrap();
    import_files(server.dir.path(), &[path]);
    server.noticed().await;
}

fn data(answer: &Response) -> Value {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (200, &json!(0)), "{body}");
    body["data"].clone()
}

fn refused(answer: &Response) -> (u16, u64, String) {
    let body = answer.json();
    (answer.status, body["code"].as_u64().unwrap(), body["message"].as_str().unwrap().to_owned())
}

async fn send(server: &Running, method: &str, path: &str, account: &Created, body: Value) -> Response {
    let head = format!("authorization: Bearer {}\r\n", account.access_token.expose());
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.http(method, path, &head, body.as_bytes()).await
}

/// Creates a group and returns its id.
async fn create(server: &Running, account: &Created, name: &str, securities: &[&str]) -> String {
    let body = json!({"name": name, "securities": securities});
    let created = data(&send(server, "POST", GROUPS, account, body).await);
    created["id"].as_str().unwrap().to_owned()
}

async fn update(server: &Running, account: &Created, body: Value) {
    assert_eq!(data(&send(server, "PUT", GROUPS, account, body).await), json!({}));
}

/// Formats the groups as `name: SYMBOL SYMBOL*`, with a star for pinned securities.
async fn describe(server: &Running, account: &Created) -> String {
    let groups = data(&server.get(GROUPS, account).await)["groups"].as_array().unwrap().clone();
    let one = |security: &Value| {
        let pin = if security["is_pinned"] == true { "*" } else { "" };
        format!(" {}{pin}", security["symbol"].as_str().unwrap())
    };
    let group = |group: &Value| {
        let securities: String = group["securities"].as_array().unwrap().iter().map(one).collect();
        format!("{}:{securities}", group["name"].as_str().unwrap())
    };
    groups.iter().map(group).collect::<Vec<_>>().join(" | ")
}

#[tokio::test]
async fn groups_are_created_changed_and_deleted() {
    let server = Running::start().await;
    store(&server, [9_002].into_iter()).await;
    let ann = server.account("ann", unhurried());
    assert_eq!(
        data(&server.get(GROUPS, &ann).await),
        json!({"groups": [{"id": "1", "name": "all", "securities": []}]})
    );
    let first = create(&server, &ann, " first ", &["AAPL.US", "00700.hk", "AAPL.US"]).await;
    // One SDK sends null if there are no securities.
    let second =
        data(&send(&server, "POST", GROUPS, &ann, json!({"name": "second", "securities": null})).await);
    let second: i64 = second["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(describe(&server, &ann).await, "all: AAPL.US 700.HK | first: AAPL.US 700.HK | second:");

    // The id may be a number or a string. Without a mode, the securities are replaced.
    update(&server, &ann, json!({"id": second, "securities": ["5.HK", "700.HK"], "mode": "add"})).await;
    update(&server, &ann, json!({"id": first, "name": "1st", "securities": ["700.HK", "9002.HK"]})).await;
    update(&server, &ann, json!({"id": second, "name": "", "securities": null, "mode": "remove"})).await;
    assert_eq!(
        describe(&server, &ann).await,
        "all: AAPL.US 700.HK 5.HK 9002.HK | 1st: 700.HK 9002.HK | second: 5.HK 700.HK"
    );
    update(&server, &ann, json!({"id": second, "securities": ["5.HK", "1.HK"], "mode": "remove"})).await;
    // Removing a security from the `all` group removes it from every group.
    update(&server, &ann, json!({"id": 1, "securities": ["9002.HK"], "mode": "remove"})).await;
    assert_eq!(describe(&server, &ann).await, "all: AAPL.US 700.HK 5.HK | 1st: 700.HK | second: 700.HK");
    update(&server, &ann, json!({"id": "1", "securities": ["5.HK", "700.HK", "600519.SH"]})).await;
    assert_eq!(describe(&server, &ann).await, "all: 5.HK 700.HK 600519.SH | 1st: 700.HK | second: 700.HK");

    let pinned =
        send(&server, "POST", PINNED, &ann, json!({"mode": "add", "securities": ["600519.SH"]})).await;
    assert_eq!(data(&pinned), json!({}));
    assert_eq!(describe(&server, &ann).await, "all: 600519.SH* 5.HK 700.HK | 1st: 700.HK | second: 700.HK");
    let unpinned = json!({"mode": "remove", "securities": ["600519.SH", "1.HK"]});
    assert_eq!(data(&send(&server, "POST", PINNED, &ann, unpinned).await), json!({}));

    // Most SDKs send the id in the URL, but one SDK sends it in the body.
    let path = format!("{GROUPS}?id={first}&purge=false");
    assert_eq!(data(&send(&server, "DELETE", &path, &ann, Value::Null).await), json!({}));
    assert_eq!(describe(&server, &ann).await, "all: 5.HK 700.HK 600519.SH | second: 700.HK");
    let body = json!({"id": second, "purge": true});
    assert_eq!(data(&send(&server, "DELETE", GROUPS, &ann, body).await), json!({}));
    assert_eq!(describe(&server, &ann).await, "all: 5.HK 600519.SH");
}

#[tokio::test]
async fn a_followed_security_keeps_its_first_price() {
    let server = Running::start().await;
    store(&server, [9_002].into_iter()).await;
    let ann = server.account("ann", unhurried());
    let quoted = async |symbol: &str| {
        let body = json!({"symbol": [symbol]}).to_string();
        let answer = data(&server.post("/quote/quotes", &ann, &body).await);
        answer["secu_quote"][0]["last_done"].as_str().unwrap().to_owned()
    };
    let row =
        async |place: usize| data(&server.get(GROUPS, &ann).await)["groups"][0]["securities"][place].clone();
    let symbols = ["700.HK", "AAPL.US", "600519.SH", "5.HK", "9002.HK"];
    let id = create(&server, &ann, "mine", &symbols).await;
    for (place, symbol) in symbols.iter().enumerate().take(3) {
        assert_eq!(row(place).await["watched_price"], quoted(symbol).await, "{symbol}");
    }
    let followed = json!({
        "symbol": "5.HK", "market": "HK", "name": "HSBC", "watched_price": "", "watched_at": NOW.0.to_string(),
        "is_pinned": false,
    });
    assert_eq!(row(3).await, followed);
    // A security without a name is listed by its symbol.
    assert_eq!((row(2).await["market"].clone(), row(4).await["name"].clone()), (json!("CN"), json!("9002")));

    // In the second minute of a Thursday session, the price is that of the current one-minute
    // candle.
    let before = row(0).await;
    server.set_now(1_794_447_060 + 30);
    update(&server, &ann, json!({"id": id, "securities": ["AAPL.US", "700.HK"]})).await;
    assert_eq!(row(0).await, before, "it was followed before");
    update(&server, &ann, json!({"id": 1, "securities": ["700.HK"], "mode": "remove"})).await;
    update(&server, &ann, json!({"id": id, "securities": ["700.HK"], "mode": "add"})).await;
    let again = row(4).await;
    assert_eq!(again["watched_price"], quoted("700.HK").await);
    assert_eq!(again["watched_at"], "1794447090");
    assert_ne!(again["watched_price"], before["watched_price"]);
}

#[tokio::test]
async fn names_are_localized_and_prices_need_a_right() {
    let server = Running::start().await;
    let bob = server.account_with("bob", "US", unhurried());
    create(&server, &bob, "mine", &["700.HK", "5.HK"]).await;
    let token = bob.access_token.expose();
    for (language, names) in [
        ("en", ["Tencent", "HSBC"]),
        ("zh-CN", ["腾讯控股", "汇丰"]),
        ("zh-HK", ["騰訊控股", "滙豐"]),
        ("en;q=0.5, zh-HK;q=0.8, zh-CN;q=0.1", ["騰訊控股", "滙豐"]),
    ] {
        let head = format!("authorization: Bearer {token}\r\naccept-language: {language}\r\n");
        let groups = data(&server.http("GET", GROUPS, &head, b"").await);
        for (place, name) in names.iter().enumerate() {
            let row = &groups["groups"][1]["securities"][place];
            assert_eq!((&row["name"], &row["watched_price"]), (&json!(name), &json!("")), "{language}");
        }
    }
}

#[tokio::test]
async fn groups_of_other_accounts_are_not_found() {
    let server = Running::start().await;
    let (ann, bob) = (server.account("ann", unhurried()), server.account("bob", unhurried()));
    let hers = create(&server, &ann, "hers", &["700.HK"]).await;
    let missing = (404, 404, "not found: there is no such watchlist group".to_owned());
    for id in [json!(hers), json!(hers.parse::<i64>().unwrap()), json!("999999"), json!("x"), json!(-1)] {
        for body in [json!({"id": id}), json!({"id": id, "name": "his"}), json!({"id": id, "securities": []})]
        {
            assert_eq!(refused(&send(&server, "PUT", GROUPS, &bob, body).await), missing, "{id}");
        }
        let body = json!({"id": id, "purge": true});
        assert_eq!(refused(&send(&server, "DELETE", GROUPS, &bob, body).await), missing, "{id}");
    }
    assert_eq!(describe(&server, &bob).await, "all:");
    assert_eq!(describe(&server, &ann).await, "all: 700.HK | hers: 700.HK");
}

#[tokio::test]
async fn invalid_watchlist_requests_are_refused() {
    let server = Running::start().await;
    let ann = server.account("ann", unhurried());
    let id = create(&server, &ann, &"蠟".repeat(40), &["700.HK"]).await;
    create(&server, &ann, "🕯️ 燭", &[]).await;
    let before = describe(&server, &ann).await;
    let hidden = "characters that cannot be seen";
    for (method, path, body, words) in [
        ("POST", GROUPS, json!({}), "name required"),
        ("POST", GROUPS, json!({"name": ""}), "name required"),
        ("POST", GROUPS, json!({"name": " \t"}), "it is empty"),
        ("POST", GROUPS, json!({"name": "x".repeat(41)}), "more than 40 characters"),
        ("POST", GROUPS, json!({"name": "🕯".repeat(41)}), "more than 40 characters"),
        ("POST", GROUPS, json!({"name": "x".repeat(10_000)}), "more than 40 characters"),
        ("POST", GROUPS, json!({"name": "\u{fe0f}"}), "it is empty"),
        ("POST", GROUPS, json!({"name": "\u{3164}"}), hidden),
        ("POST", GROUPS, json!({"name": "a\nb"}), hidden),
        ("POST", GROUPS, json!({"name": "a\u{1b}[31m"}), hidden),
        ("POST", GROUPS, json!({"name": "a\u{0}b"}), hidden),
        ("POST", GROUPS, json!({"name": "\u{202e}evil"}), hidden),
        ("POST", GROUPS, json!({"name": "\u{2067}a\u{2069}"}), hidden),
        ("POST", GROUPS, json!({"name": "a\u{200b}b"}), hidden),
        ("POST", GROUPS, json!({"name": "\u{feff}a"}), hidden),
        ("POST", GROUPS, json!({"name": 7}), "cannot be decoded"),
        ("POST", GROUPS, json!({"name": "a", "securities": "700.HK"}), "cannot be decoded"),
        ("POST", GROUPS, json!({"name": "a", "securities": ["700.HK", "x"]}), "\"x\""),
        ("POST", GROUPS, json!({"name": "a", "securities": ["\u{202e}KH.007"]}), ""),
        ("POST", GROUPS, json!(["a"]), "expected an object, not a list"),
        ("PUT", GROUPS, json!({"name": "a"}), "id required"),
        ("PUT", GROUPS, json!({"id": true}), "cannot be decoded"),
        ("PUT", GROUPS, json!({"id": id, "name": "a\u{200f}"}), hidden),
        ("PUT", GROUPS, json!({"id": id, "name": "b", "securities": ["x.XX"], "mode": "add"}), ""),
        (
            "PUT",
            GROUPS,
            json!({"id": id, "name": "b", "securities": [], "mode": "Add"}),
            "mode \"Add\" is not known",
        ),
        ("PUT", GROUPS, json!({"id": 1, "name": "mine"}), "cannot be renamed or deleted"),
        ("DELETE", GROUPS, Value::Null, "id required"),
        ("DELETE", GROUPS, json!({"id": "1"}), "cannot be renamed or deleted"),
        ("DELETE", "/v1/watchlist/groups?id=1001&purge=maybe", Value::Null, "purge \"maybe\" is not known"),
        ("POST", PINNED, json!({"securities": ["700.HK"]}), "mode required"),
        ("POST", PINNED, json!({"mode": "add"}), "securities required"),
        ("POST", PINNED, json!({"mode": "replace", "securities": []}), "mode \"replace\" is not known"),
        (
            "POST",
            PINNED,
            json!({"mode": "add", "securities": ["700.HK", "5.HK"]}),
            "5.HK is not on a watchlist",
        ),
    ] {
        let (status, code, message) = refused(&send(&server, method, path, &ann, body.clone()).await);
        assert_eq!((status, code), (400, 301_600), "{method} {path} {body}: {message}");
        assert!(message.contains(words), "{method} {path} {body}: {message}");
    }
    assert_eq!(describe(&server, &ann).await, before);
}

#[tokio::test]
async fn the_number_of_groups_and_securities_is_limited() {
    let server = Running::start().await;
    store(&server, 1..=1_000).await;
    let ann = server.account("ann", unhurried());
    let symbols = |range: std::ops::RangeInclusive<u32>| -> Vec<String> {
        range.map(|number| format!("{number}.HK")).collect()
    };
    let first = create(&server, &ann, "first", &[]).await;
    for number in 2..=50 {
        create(&server, &ann, &format!("{number}"), &[]).await;
    }
    // Limits are checked before anything is read from the store.
    let body = json!({"name": "51", "securities": ["1001.HK"]});
    let (status, _, words) = refused(&send(&server, "POST", GROUPS, &ann, body).await);
    assert_eq!((status, words.contains("at most 50 watchlist groups")), (400, true), "{words}");
    let put = async |id: &str, symbols: Vec<String>| {
        send(&server, "PUT", GROUPS, &ann, json!({"id": id, "securities": symbols})).await
    };
    assert_eq!(put(&first, symbols(1..=500)).await.status, 200);
    let (status, _, words) = refused(&put(&first, symbols(1..=501)).await);
    assert_eq!((status, words.as_str()), (400, "a watchlist group has at most 500 securities"));
    assert_eq!(put("1", symbols(1..=1_000)).await.status, 200);
    let body = json!({"id": first, "securities": ["1001.HK"], "mode": "add"});
    let (status, _, words) = refused(&send(&server, "PUT", GROUPS, &ann, body).await);
    assert_eq!((status, words.contains("at most 500 securities")), (400, true), "{words}");
    let body = json!({"id": 1, "securities": ["1001.HK"], "mode": "add"});
    let (status, _, words) = refused(&send(&server, "PUT", GROUPS, &ann, body).await);
    assert_eq!((status, words.contains("at most 1000 securities")), (400, true), "{words}");
    let (status, _, words) = refused(&put("1", symbols(1..=1_001)).await);
    assert_eq!((status, words.contains("the maximum is 1000")), (400, true), "{words}");
    let groups = data(&server.get(GROUPS, &ann).await)["groups"].as_array().unwrap().clone();
    assert_eq!(groups.len(), 51);
    let lengths = [&groups[0], &groups[1]].map(|group| group["securities"].as_array().unwrap().len());
    assert_eq!(lengths, [1_000, 500]);
}

#[tokio::test]
async fn an_unknown_security_is_refused_unless_already_followed() {
    let server = Running::start().await;
    let ann = server.account("ann", unhurried());
    // The entry may be older than this check, or older than the removal of the security.
    let old = access::PricedSecurity { symbol: "9999.HK".parse().unwrap(), price: None };
    let name = access::WatchlistName::parse("mine").unwrap();
    let id = server.access.create_watchlist(ann.account_id, &name, &[old], NOW).unwrap().0;
    let not_stored = |symbol: &str| {
        (400, 301_600, format!("{symbol} has no stored data, so it cannot be added to a watchlist"))
    };
    for (method, body) in [
        ("POST", json!({"name": "new", "securities": ["700.HK", "9988.HK"]})),
        ("PUT", json!({"id": id, "securities": ["9988.HK"], "mode": "add"})),
        ("PUT", json!({"id": id, "name": "new", "securities": ["9999.HK", "9988.HK"]})),
        ("PUT", json!({"id": 1, "securities": ["9999.HK", "700.HK", "9988.HK"]})),
    ] {
        let refusal = refused(&send(&server, method, GROUPS, &ann, body).await);
        assert_eq!(refusal, not_stored("9988.HK"));
    }
    assert_eq!(describe(&server, &ann).await, "all: 9999.HK | mine: 9999.HK");
    update(&server, &ann, json!({"id": id, "name": "ours"})).await;
    update(&server, &ann, json!({"id": id, "securities": ["700.HK"], "mode": "add"})).await;
    update(&server, &ann, json!({"id": id, "securities": ["700.HK", "9999.HK"]})).await;
    let pin = json!({"mode": "add", "securities": ["9999.HK"]});
    assert_eq!(data(&send(&server, "POST", PINNED, &ann, pin).await), json!({}));
    let other = create(&server, &ann, "other", &["9999.HK"]).await;
    assert_eq!(
        describe(&server, &ann).await,
        "all: 9999.HK* 700.HK | ours: 9999.HK* 700.HK | other: 9999.HK*"
    );
    update(&server, &ann, json!({"id": other, "securities": ["9999.HK", "9988.HK"], "mode": "remove"})).await;
    update(&server, &ann, json!({"id": 1, "securities": ["9999.HK"], "mode": "remove"})).await;
    assert_eq!(describe(&server, &ann).await, "all: 700.HK | ours: 700.HK | other:");
    let again = json!({"id": id, "securities": ["9999.HK"], "mode": "add"});
    assert_eq!(refused(&send(&server, "PUT", GROUPS, &ann, again).await), not_stored("9999.HK"));
}

#[tokio::test]
async fn concurrent_changes_are_not_lost() {
    let server = Running::start().await;
    store(&server, (1..=10).chain(101..=110)).await;
    let ann = server.account("ann", unhurried());
    let id = create(&server, &ann, "both", &[]).await;
    let adds = async |first: u32| {
        for number in first..first + 10 {
            let body = json!({"id": id, "securities": [format!("{number}.HK")], "mode": "add"});
            update(&server, &ann, body).await;
        }
    };
    tokio::join!(adds(1), adds(101));
    let groups = data(&server.get(GROUPS, &ann).await);
    for group in 0..2 {
        assert_eq!(groups["groups"][group]["securities"].as_array().unwrap().len(), 20);
    }
}

#[tokio::test]
async fn a_read_only_account_cannot_change_watchlists() {
    let server = Running::start().await;
    let ann = server.account("ann", unhurried());
    let id = create(&server, &ann, "mine", &["700.HK"]).await;
    server.change_terms(&ann, &Terms { read_only: true, ..unhurried() }).await;
    for (method, path, body) in [
        ("POST", GROUPS, json!({"name": "new"})),
        ("PUT", GROUPS, json!({"id": id, "name": "new"})),
        ("DELETE", GROUPS, json!({"id": id})),
        ("POST", PINNED, json!({"mode": "add", "securities": ["700.HK"]})),
    ] {
        let (status, code, _) = refused(&send(&server, method, path, &ann, body).await);
        assert_eq!((status, code), (403, 403_008), "{method} {path}");
    }
    assert_eq!(describe(&server, &ann).await, "all: 700.HK | mine: 700.HK");
}

#[tokio::test]
async fn watchlist_requests_are_limited_to_ten_per_second() {
    let server = Running::start().await;
    let (ann, bob) = (server.account("ann", Terms::default()), server.account("bob", unhurried()));
    let mut answered = 0;
    let refusal = loop {
        let answer = server.get(GROUPS, &ann).await;
        if answer.status != 200 {
            break answer;
        }
        answered += 1;
        assert!(answered < 500, "there is no limit");
    };
    assert!(answered >= 10, "{answered}");
    let (status, code, words) = refused(&refusal);
    assert_eq!((status, code), (429, 429_002));
    assert!(words.contains("at most 10 calls about watchlists and lists of securities"), "{words}");
    assert_eq!(refusal.header("retry-after"), Some("1"));
    // The limit does not apply to accounts without a rate limit.
    for _ in 0..20 {
        assert_eq!(server.get(GROUPS, &bob).await.status, 200);
    }
}
