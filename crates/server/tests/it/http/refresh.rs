//! Renewal of access tokens for API keys.

use access::{AuditFilter, Created, Terms};

use super::signed::Signed;
use crate::support::{Running, machine_now};

fn instant(from_now_s: i64) -> String {
    jiff::Timestamp::from_second(machine_now().0 + from_now_s).unwrap().to_string().replace(':', "%3A")
}

async fn works(server: &Running, account: &Created, token: &str) -> bool {
    let mut request = Signed::get(account, "/v1/socket/token");
    request.token = token.to_owned();
    request.send(server).await.status == 200
}

#[tokio::test]
async fn the_old_token_stays_valid_briefly_after_a_renewal() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let old = ann.access_token.expose().to_owned();
    // SDKs send the time percent-encoded and with nanoseconds.
    let path = format!("/v1/token/refresh?expired_at={}", instant(86_400).replace('Z', ".123456789Z"));
    let answer = Signed::get(&ann, &path).send(&server).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let data = &answer.json()["data"];
    let new = data["token"].as_str().unwrap();
    assert!(new.starts_with("ap_") && new != old, "{new}");
    let ends: jiff::Timestamp = data["expired_at"].as_str().unwrap().parse().unwrap();
    assert!((86_380..=86_400).contains(&(ends.as_second() - machine_now().0)), "{ends}");
    assert!(works(&server, &ann, new).await);
    // The response may have been lost, so a client may retry with the old token.
    assert!(works(&server, &ann, &old).await);
    let again = Signed::get(&ann, "/v1/token/refresh").send(&server).await.json();
    let newest = again["data"]["token"].as_str().unwrap();
    assert_ne!(newest, new);
    assert!(works(&server, &ann, newest).await);
    let ends: jiff::Timestamp = again["data"]["expired_at"].as_str().unwrap().parse().unwrap();
    let days = (ends.as_second() - machine_now().0) as f64 / 86_400.0;
    assert!((89.9..=90.0).contains(&days), "{days} days");
    let rows = server.access.audit(&AuditFilter {
        account: Some(ann.account_id),
        limit: 9,
        ..AuditFilter::default()
    });
    let rows = rows.unwrap();
    assert_eq!(rows.iter().filter(|row| row.event == "token.renewed").count(), 2);
    let said = format!("{rows:?}");
    assert!([new, newest, &old].iter().all(|token| !said.contains(token)), "{said}");
}

#[tokio::test]
async fn a_token_is_renewed_only_with_its_own_secret() {
    let server = Running::start().await;
    let (ann, bob) = (server.account("ann", Terms::default()), server.account("bob", Terms::default()));
    let bearer = server.get("/v1/token/refresh", &ann).await;
    assert_eq!((bearer.status, &bearer.json()["code"]), (403, &403_201.into()));
    let mut stolen = Signed::get(&ann, "/v1/token/refresh");
    stolen.secret = bob.app_secret.expose().to_owned();
    assert_eq!(stolen.send(&server).await.status, 403);
    let mut other = Signed::get(&bob, "/v1/token/refresh");
    other.token = ann.access_token.expose().to_owned();
    assert_eq!(other.send(&server).await.status, 401);
    assert!(works(&server, &ann, ann.access_token.expose()).await);
}

#[tokio::test]
async fn an_invalid_expiry_is_refused() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let far = instant(11 * 365 * 86_400);
    for end in [&instant(-5), &instant(0), &instant(30), &far, "tomorrow", "", "1794708000"] {
        let answer = Signed::get(&ann, &format!("/v1/token/refresh?expired_at={end}")).send(&server).await;
        assert_eq!((answer.status, &answer.json()["code"]), (400, &400.into()), "{end}");
    }
    let twice = format!("/v1/token/refresh?expired_at={0}&expired_at={0}", instant(600));
    assert_eq!(Signed::get(&ann, &twice).send(&server).await.status, 400);
    assert!(works(&server, &ann, ann.access_token.expose()).await);
}

#[tokio::test]
async fn frequent_renewals_are_rate_limited() {
    let server = Running::start().await;
    let ann = server.account("ann", Terms::default());
    let mut last = ann.access_token.expose().to_owned();
    for _ in 0..5 {
        let mut request = Signed::get(&ann, "/v1/token/refresh");
        request.token.clone_from(&last);
        let answer = request.send(&server).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        last = answer.json()["data"]["token"].as_str().unwrap().to_owned();
    }
    let mut request = Signed::get(&ann, "/v1/token/refresh");
    request.token.clone_from(&last);
    let answer = request.send(&server).await;
    assert_eq!((answer.status, &answer.json()["code"]), (429, &429_002.into()));
    assert_eq!(answer.header("retry-after"), Some("60"));
    assert!(works(&server, &ann, &last).await);
}
