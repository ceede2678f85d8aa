//! Topics and replies: permissions, validation of texts, and hiding.

use access::{Actor, Created, NewAccount, Role, Terms};
use serde_json::{Value, json};

use crate::support::{NOW, Response, Running};

const TOPICS: &str = "/v1/content/topics";

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

fn ids(data: &Value) -> Vec<&str> {
    data["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

struct Hall {
    server: Running,
    ann: Created,
    bo: Created,
}

impl Hall {
    async fn open() -> Hall {
        let server = Running::start().await;
        let (ann, bo) = (trader(&server, "ann").await, trader(&server, "bo").await);
        Hall { server, ann, bo }
    }

    async fn get(&self, path: &str, account: &Created) -> Value {
        data(&self.server.get(path, account).await)
    }

    async fn post(&self, path: &str, account: &Created, body: Value) -> Response {
        self.server.post(path, account, &body.to_string()).await
    }

    /// Creates a topic and returns its id.
    async fn write(&self, account: &Created, body: Value) -> String {
        let item = data(&self.post(TOPICS, account, body).await)["item"].clone();
        item["id"].as_str().unwrap().to_owned()
    }

    async fn reply(&self, topic: &str, account: &Created, body: Value) -> Response {
        self.post(&format!("{TOPICS}/{topic}/comments"), account, body).await
    }
}

/// Creates an account and opens its paper account with the default settings.
async fn trader(server: &Running, name: &str) -> Created {
    let account = server.account(name, Terms::default());
    data(&server.get("/v1/asset/stock", &account).await);
    account
}

#[tokio::test]
async fn a_topic_is_returned_unchanged_on_both_paths() {
    let hall = Hall::open().await;
    let body = "# Lots\n\nOf **5.HK** <script>alert(1)</script> & \u{202e}more 🙂";
    let sent = json!({
        "title": "Lot sizes", "body": body, "topic_type": "article", "tickers": ["00700.HK"], "hashtags": ["#hk"], "license": 1,
    });
    let item = data(&hall.post("/content/topics", &hall.ann, sent).await)["item"].clone();
    let id = item["id"].as_str().unwrap();
    let member = hall.ann.account_id.0.to_string();
    let at = item["created_at"].as_str().unwrap().to_owned();
    assert!(at.parse::<i64>().unwrap() > 0);
    let expected = json!({
        "id": id, "title": "Lot sizes", "description": "Lots Of 5.HK <script>alert(1)</script> & \u{202e}more 🙂", "body": body,
        "topic_type": "article", "tickers": ["700.HK", "5.HK"], "hashtags": ["hk"], "images": [],
        "likes_count": 0, "comments_count": 0, "views_count": 0, "shares_count": 0, "license": 0,
        "detail_url": format!("/topics/{id}"), "author": {"member_id": member, "name": "ann", "avatar": ""},
        "created_at": at, "updated_at": at, "hidden": false, "hidden_because": "",
    });
    assert_eq!(item, expected);
    for path in [format!("{TOPICS}/{id}"), format!("/content/topics/{id}?")] {
        assert_eq!(hall.get(&path, &hall.ann).await["item"], expected);
    }
    // Each reader other than the author is counted once.
    for _ in 0..2 {
        hall.get(&format!("{TOPICS}/{id}"), &hall.bo).await;
    }
    assert_eq!(hall.get(&format!("{TOPICS}/{id}"), &hall.bo).await["item"]["views_count"], 1);
    let about = hall.get("/v1/content/0005.HK/topics", &hall.bo).await;
    assert_eq!(
        about["items"],
        json!([{
            "id": id, "title": "Lot sizes", "description": expected["description"], "url": format!("/topics/{id}"),
            "published_at": at, "comments_count": 0, "likes_count": 0, "shares_count": 0,
        }])
    );
    assert_eq!(ids(&hall.get("/v1/content/AAPL.US/topics", &hall.bo).await), [""; 0]);
}

#[tokio::test]
async fn lists_are_newest_first_filtered_by_kind_and_paged() {
    let hall = Hall::open().await;
    let first = hall
        .write(&hall.ann, json!({"title": "", "body": "on 700.HK", "tickers": [], "hashtags": null}))
        .await;
    let second = hall.write(&hall.ann, json!({"title": "A", "body": "b", "topic_type": "article"})).await;
    let third = hall.write(&hall.bo, json!({"body": "hello", "topic_type": ""})).await;
    let mine = async |query: &str| hall.get(&format!("{TOPICS}/mine?{query}"), &hall.ann).await;
    assert_eq!(ids(&mine("").await), [&second, &first]);
    assert_eq!(ids(&mine("topic_type=post").await), [&first]);
    assert_eq!(ids(&mine("page=2&size=1&topic_type=").await), [&first]);
    assert_eq!(ids(&mine("page=1000000&size=500").await), [""; 0]);
    let all = hall.get(TOPICS, &hall.ann).await;
    assert_eq!(ids(&all), [&third, &second, &first]);
    assert_eq!(all["items"][0].get("body"), None);
    assert_eq!(ids(&hall.get(&format!("{TOPICS}?symbol=700.HK"), &hall.bo).await), [&first]);
    for (query, says) in [
        ("page=0", "page \"0\" is not a number from 1 to 1000000"),
        ("size=501", "size \"501\" is not a number from 1 to 500"),
        ("size=-1", "size \"-1\" is not a number from 1 to 500"),
        ("topic_type=essay", "topic_type is article or post"),
    ] {
        let answer = hall.server.get(&format!("{TOPICS}/mine?{query}"), &hall.ann).await;
        assert_eq!(refused(&answer), (400, 301_600, says.to_owned()), "{query}");
    }
}

#[tokio::test]
async fn replies_refer_to_the_topic_or_to_one_of_its_replies() {
    let hall = Hall::open().await;
    let topic = hall.write(&hall.ann, json!({"body": "hello"})).await;
    let other = hall.write(&hall.ann, json!({"body": "another"})).await;
    let sent = hall.reply(&topic, &hall.bo, json!({"body": "agreed", "reply_to_id": "0"})).await;
    let first = data(&sent)["item"].clone();
    let member = hall.bo.account_id.0.to_string();
    assert_eq!(
        first,
        json!({
            "id": first["id"], "topic_id": topic, "body": "agreed", "reply_to_id": "0",
            "author": {"member_id": member, "name": "bo", "avatar": ""}, "images": [], "likes_count": 0, "comments_count": 0,
            "created_at": first["created_at"], "hidden": false, "hidden_because": "",
        })
    );
    let nested =
        data(&hall.reply(&topic, &hall.ann, json!({"body": "thanks", "reply_to_id": first["id"]})).await);
    let deeper =
        data(&hall.reply(&topic, &hall.bo, json!({"body": "oh", "reply_to_id": nested["item"]["id"]})).await);
    let (one, two, three) = (&first["id"], &nested["item"]["id"], &deeper["item"]["id"]);
    let listed = hall.get(&format!("/content/topics/{topic}/comments"), &hall.bo).await;
    let rows: Vec<(&Value, &Value, &Value)> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["id"], &row["reply_to_id"], &row["comments_count"]))
        .collect();
    assert_eq!(rows, [(three, two, &json!(0)), (two, one, &json!(1)), (one, &json!("0"), &json!(1))]);
    let oldest = hall.get(&format!("{TOPICS}/{topic}/comments?order=oldest&size=1&page=2"), &hall.bo).await;
    assert_eq!(ids(&oldest), [two.as_str().unwrap()]);
    assert_eq!(ids(&hall.get(&format!("{TOPICS}/{topic}/comments?page=9"), &hall.bo).await), [""; 0]);
    assert_eq!(hall.get(&format!("{TOPICS}/{topic}"), &hall.ann).await["item"]["comments_count"], 3);
    // A reply in another topic, an unknown reply id, and a topic id are not valid targets.
    for to in [one.as_str().unwrap(), "99999", "-1", "x", &other] {
        let answer = hall.reply(&other, &hall.bo, json!({"body": "hm", "reply_to_id": to})).await;
        assert_eq!(refused(&answer), (404, 404, "reply not found".to_owned()), "{to}");
    }
    for id in ["99999", "0", "x", "1e3", "99999999999999999999", one.as_str().unwrap()] {
        for answer in [
            hall.server.get(&format!("{TOPICS}/{id}"), &hall.bo).await,
            hall.server.get(&format!("{TOPICS}/{id}/comments"), &hall.bo).await,
            hall.reply(id, &hall.bo, json!({"body": "hm"})).await,
        ] {
            assert_eq!(refused(&answer), (404, 404, "topic not found".to_owned()), "{id}");
        }
    }
    assert_eq!(ids(&hall.get(&format!("{TOPICS}/{other}/comments"), &hall.bo).await), [""; 0]);
}

#[tokio::test]
async fn invalid_texts_are_reported_and_nothing_is_written() {
    let hall = Hall::open().await;
    let [title, post, article, tag] = [
        social::TITLE_CHARS_MAX,
        social::POST_CHARS_MAX,
        social::ARTICLE_CHARS_MAX,
        social::HASHTAG_CHARS_MAX,
    ];
    let long = |most: usize| "🙂".repeat(most + 1);
    let disguised = "has the invisible character U+202E, which could disguise it";
    for (sent, says) in [
        (json!({}), "body is required".to_owned()),
        (json!({"body": null}), "body is required".to_owned()),
        (json!({"body": " \u{200b}\n"}), "body is required".to_owned()),
        (json!({"body": "x", "topic_type": "article"}), "title is required".to_owned()),
        (json!({"body": "x", "topic_type": "ARTICLE"}), "topic_type is article or post".to_owned()),
        (json!({"body": "x\u{0}"}), "body has the control character U+0000".to_owned()),
        (json!({"body": "x\u{1b}[2J"}), "body has the control character U+001B".to_owned()),
        (json!({"body": long(post)}), format!("body has more than {post} characters")),
        (
            json!({"title": "t", "body": long(article), "topic_type": "article"}),
            format!("body has more than {article} characters"),
        ),
        (json!({"body": "x", "title": long(title)}), format!("title has more than {title} characters")),
        (json!({"body": "x", "title": "a\nb"}), "title has the control character U+000A".to_owned()),
        (json!({"body": "x", "title": "a\u{202e}b"}), format!("title {disguised}")),
        (json!({"body": "x", "hashtags": ["a\u{202e}b"]}), format!("a hashtag {disguised}")),
        (json!({"body": "x", "hashtags": [long(tag)]}), format!("a hashtag has more than {tag} characters")),
        (
            json!({"body": "x", "hashtags": ["a", "b", "c", "d", "e", "f"]}),
            "there are more than 5 hashtags".to_owned(),
        ),
        (json!({"body": "x", "tickers": vec!["1.HK"; 11]}), "there are more than 10 tickers".to_owned()),
        (
            json!({"body": "x", "images": [{"url": "https://example.com/a.png"}]}),
            social::TextError::Images.to_string(),
        ),
    ] {
        let answer = hall.post(TOPICS, &hall.ann, sent.clone()).await;
        assert_eq!(refused(&answer), (400, 301_600, says), "{sent}");
    }
    for sent in [
        "",
        "[]",
        "{\"body\":1}",
        "{\"body\":\"x\",\"tickers\":\"700.HK\"}",
        "{\"body\":\"x\",\"tickers\":[\"700\"]}",
        "{",
    ] {
        assert_eq!(refused(&hall.server.post(TOPICS, &hall.ann, sent).await).0, 400, "{sent}");
    }
    let topic = hall.write(&hall.ann, json!({"body": "🙂".repeat(post), "title": "题".repeat(title)})).await;
    for (sent, says) in [
        (json!({"reply_to_id": "0"}), "body is required"),
        (json!({"body": "\u{feff}"}), "body is required"),
        (json!({"body": long(social::REPLY_CHARS_MAX)}), "body has more than 2000 characters"),
        (json!({"body": "\u{7}"}), "body has the control character U+0007"),
        (
            json!({"body": "x", "images": ["https://example.com/a.png"]}),
            "images are not supported: link to them in the text",
        ),
    ] {
        let answer = hall.reply(&topic, &hall.bo, sent.clone()).await;
        assert_eq!(refused(&answer), (400, 301_600, says.to_owned()), "{sent}");
    }
    assert_eq!(ids(&hall.get(&format!("{TOPICS}/mine"), &hall.ann).await), [&topic]);
    assert_eq!(hall.get(&format!("{TOPICS}/{topic}"), &hall.ann).await["item"]["comments_count"], 0);
}

#[tokio::test]
async fn only_an_open_account_with_assets_may_post() {
    let hall = Hall::open().await;
    let topic = hall.write(&hall.ann, json!({"body": "hello"})).await;
    let new = hall.server.account("new", Terms::default());
    let looking = trader(&hall.server, "looking").await;
    hall.server.change_terms(&looking, &Terms { read_only: true, ..Terms::default() }).await;
    for (account, says) in
        [(&new, "only an open paper account with assets"), (&looking, "this account is read-only")]
    {
        for answer in [
            hall.post(TOPICS, account, json!({"body": "hello"})).await,
            hall.reply(&topic, account, json!({"body": "hello"})).await,
        ] {
            let (status, code, text) = refused(&answer);
            assert!((status, code) == (403, 403_008) && text.starts_with(says), "{status} {code} {text}");
        }
        // All accounts may read topics.
        assert_eq!(hall.get(&format!("{TOPICS}/{topic}"), account).await["item"]["id"], json!(topic));
    }
    // The check has not opened the paper account.
    let opened = hall.server.get("/v1/asset/stock", &new).await;
    assert_eq!(opened.status, 200);
    hall.write(&new, json!({"body": "now it may"})).await;
}

#[tokio::test]
async fn frequent_writes_are_refused_with_a_retry_delay() {
    let hall = Hall::open().await;
    let mut topics = Vec::new();
    for body in ["one", "two", "three"] {
        topics.push(hall.write(&hall.ann, json!({"body": body})).await);
    }
    let fourth = hall.post(TOPICS, &hall.ann, json!({"body": "four"})).await;
    let (status, code, text) = refused(&fourth);
    assert!((status, code) == (429, 429_002) && text.starts_with("at most 3 topics in a minute"), "{text}");
    let wait: i64 = fourth.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(ids(&hall.get(&format!("{TOPICS}/mine"), &hall.ann).await).len(), 3);
    // Each account has a separate limit, and the first three replies to each topic are not delayed.
    hall.write(&hall.bo, json!({"body": "one"})).await;
    for topic in &topics {
        for _ in 0..3 {
            data(&hall.reply(topic, &hall.bo, json!({"body": "agreed"})).await);
        }
    }
    let again = hall.reply(&topics[2], &hall.bo, json!({"body": "agreed"})).await;
    assert_eq!((refused(&again).0, refused(&again).1), (429, 429_002));
    let wait: i64 = again.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_hidden_post_is_visible_only_to_its_author() {
    let hall = Hall::open().await;
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("op", Terms::default()) };
    let op = hall.server.access.create(&new, &Actor::Operator, NOW).unwrap();
    let topic = hall.write(&hall.ann, json!({"body": "buy 700.HK now!!!"})).await;
    let reply = data(&hall.reply(&topic, &hall.bo, json!({"body": "no"})).await)["item"]["id"].clone();
    let reply = reply.as_str().unwrap();
    let desk = |id: &str, what: &str| format!("/v1/admin/topics/{id}/{what}");
    for (account, sent, status) in [
        (&hall.ann, json!({"reason": "x"}), 403),
        (&op, json!({}), 400),
        (&op, json!({"reason": " "}), 400),
        (&op, json!({"reason": "a\u{202e}b"}), 400),
        (&op, json!({"reason": "x".repeat(201)}), 400),
    ] {
        assert_eq!(hall.post(&desk(&topic, "hide"), account, sent.clone()).await.status, status, "{sent}");
    }
    for id in ["99999", "x", "-1"] {
        assert_eq!(hall.post(&desk(id, "hide"), &op, json!({"reason": "x"})).await.status, 404, "{id}");
        assert_eq!(hall.post(&desk(id, "restore"), &op, json!({})).await.status, 404, "{id}");
    }
    // The operator hides a reply.
    let hidden = data(&hall.post(&desk(reply, "hide"), &op, json!({"reason": "rude"})).await);
    assert_eq!(
        (&hidden["what"], &hidden["hidden_because"], &hidden["author"]),
        (&json!("reply"), &json!("rude"), &json!("bo"))
    );
    let comments = format!("{TOPICS}/{topic}/comments");
    assert_eq!(ids(&hall.get(&comments, &hall.ann).await), [""; 0]);
    let own = hall.get(&comments, &hall.bo).await;
    assert_eq!(
        (&own["items"][0]["hidden"], &own["items"][0]["hidden_because"]),
        (&json!(true), &json!("rude"))
    );
    data(&hall.post(&desk(reply, "restore"), &op, json!({})).await);
    assert_eq!(ids(&hall.get(&comments, &hall.ann).await), [reply]);
    // Hide the topic. Hiding it twice changes nothing.
    for _ in 0..2 {
        data(&hall.post(&desk(&topic, "hide"), &op, json!({"reason": "advertising"})).await);
    }
    let seen = hall.get(&format!("{TOPICS}/{topic}"), &hall.ann).await;
    assert_eq!(
        (&seen["item"]["hidden"], &seen["item"]["hidden_because"]),
        (&json!(true), &json!("advertising"))
    );
    assert_eq!(hall.get(&format!("{TOPICS}/mine"), &hall.ann).await["items"][0]["hidden"], true);
    let to_own = hall.reply(&topic, &hall.ann, json!({"body": "why?"})).await;
    assert_eq!((refused(&to_own).0, refused(&to_own).1), (403, 403_008));
    for other in [&hall.bo, &op] {
        for path in [format!("{TOPICS}/{topic}"), comments.clone()] {
            assert_eq!(
                refused(&hall.server.get(&path, other).await),
                (404, 404, "topic not found".to_owned())
            );
        }
        assert_eq!(ids(&hall.get(TOPICS, other).await), [""; 0]);
        assert_eq!(ids(&hall.get("/v1/content/700.HK/topics", other).await), [""; 0]);
    }
    assert_eq!(refused(&hall.reply(&topic, &hall.bo, json!({"body": "hm"})).await).0, 404);
    let listed = hall.get("/v1/admin/topics?hidden=true", &op).await;
    assert_eq!(listed["posts"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed["posts"][0]["id"], &listed["posts"][0]["account_id"]),
        (&json!(topic), &json!(hall.ann.account_id.0))
    );
    data(&hall.post(&desk(&topic, "restore"), &op, json!({})).await);
    assert_eq!(ids(&hall.get(TOPICS, &hall.bo).await), [&topic]);
    assert_eq!(hall.get("/v1/admin/topics?limit=5", &op).await["posts"][0]["hidden_at"], Value::Null);
    for query in ["hidden=yes", "page=0", "limit=0"] {
        assert_eq!(hall.server.get(&format!("/v1/admin/topics?{query}"), &op).await.status, 400, "{query}");
    }
    let rows = hall.get("/v1/admin/audit?account=ann&limit=2", &op).await["rows"].clone();
    let describe = |row: &Value| (row["event"].clone(), row["actor"].clone(), row["reason"].clone());
    let actor = json!(format!("account {}", op.account_id.0));
    assert_eq!(
        describe(&rows[0]),
        (json!("topic.restored"), actor.clone(), json!(format!("topic {topic}: restored")))
    );
    assert_eq!(
        describe(&rows[1]),
        (json!("topic.hidden"), actor, json!(format!("topic {topic}: advertising")))
    );
}

#[tokio::test]
async fn the_go_sdk_gets_counts_as_strings() {
    let hall = Hall::open().await;
    let topic = hall.write(&hall.ann, json!({"body": "hello"})).await;
    data(&hall.reply(&topic, &hall.bo, json!({"body": "agreed"})).await);
    let token = hall.ann.access_token.expose();
    let head = format!("authorization: Bearer {token}\r\nuser-agent: Go-http-client/1.1\r\n");
    let detail = data(&hall.server.http("GET", &format!("{TOPICS}/{topic}"), &head, b"").await);
    assert_eq!((&detail["item"]["comments_count"], &detail["item"]["license"]), (&json!("1"), &json!(0)));
    let replies = data(&hall.server.http("GET", &format!("{TOPICS}/{topic}/comments"), &head, b"").await);
    assert_eq!(replies["items"][0]["likes_count"], "0");
}
