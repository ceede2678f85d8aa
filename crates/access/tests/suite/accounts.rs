use access::{AccessError, Actor, Level, NewAccount, RateRule, Right, Rights, TOKEN_LIFE_DEFAULT_S, Terms};
use market::Timestamp;
use store::StoreError;

use crate::fixture::{NOW, claims, fresh};

#[test]
fn a_new_account_has_credentials_in_the_documented_format() {
    let fresh = fresh();
    let created = fresh.create("alice", Terms::default());
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    assert!(created.app_key.len() == 32 && is_hex(&created.app_key));
    assert!(created.app_secret.expose().len() == 64 && is_hex(created.app_secret.expose()));
    let (id, key) = (created.account_id.0, &created.app_key);
    let (iat, exp) = (NOW.0, NOW.0 + TOKEN_LIFE_DEFAULT_S);
    assert_eq!(
        claims(created.access_token.expose(), "ap_"),
        format!(
            r#"{{"sub":"{{\"account_channel\":\"lb_papertrading\",\"member_id\":\"{id}\"}}","iat":{iat},"exp":{exp},"#
        ) + &format!(r#""aid":"{id}","mid":"{id}","ac":"lb_papertrading","ak":"{key}"}}"#)
    );
    assert_eq!(created.token_expires_at, Timestamp(NOW.0 + TOKEN_LIFE_DEFAULT_S));
    let other = fresh.create("bob", Terms::default());
    assert_ne!(created.app_key, other.app_key);
    assert_ne!(created.app_secret.expose(), other.app_secret.expose());
    assert_ne!(created.access_token.expose(), other.access_token.expose());
}

#[test]
fn accounts_are_listed_with_their_terms() {
    let fresh = fresh();
    let terms = Terms {
        level: Level::new(3),
        quota: Some(5),
        rate: Some(RateRule::Unlimited),
        connections: 2,
        subscriptions: 7,
        floors: Some(market::FloorTable::NONE),
        read_only: true,
        api_date: Some("2024-08-01".parse().unwrap()),
    };
    let rights = Rights::NONE.with(Right::Us).with(Right::UsOvernight);
    let new = NewAccount { rights, ..NewAccount::named("alice", terms.clone()) };
    let created = fresh.access.create(&new, &Actor::Operator, NOW).unwrap();
    fresh.create("bob", Terms::default());
    let names: Vec<String> = fresh.access.list().unwrap().into_iter().map(|account| account.name).collect();
    assert_eq!(names, ["alice", "bob"]);
    let shown = fresh.access.account(created.account_id).unwrap().unwrap();
    assert_eq!((&shown.terms, shown.rights), (&terms, rights));
    assert_eq!((shown.region.as_str(), shown.created_at, shown.revoked_at), ("ap", NOW, None));
    assert_eq!(fresh.access.account_named("alice").unwrap().as_ref(), Some(&*shown));
    assert_eq!(fresh.access.account_named("carol").unwrap(), None);
    let keys = fresh.access.app_keys(created.account_id).unwrap();
    assert_eq!(keys, [(created.app_key, created.token_expires_at)]);
    let usage = fresh.access.usage(created.account_id, NOW).unwrap().unwrap();
    assert_eq!((usage.used, usage.limit, usage.month.to_string().as_str()), (0, 5, "2026-08"));
    assert_eq!(usage.resets.to_string(), "2026-09-01");
    assert!(fresh.access.charged(created.account_id, NOW).unwrap().is_empty());
}

#[test]
fn a_taken_or_invalid_name_is_refused() {
    let fresh = fresh();
    fresh.create("alice", Terms::default());
    let create = |name: &str| {
        let new = NewAccount::named(name, Terms::default());
        fresh.access.create(&new, &Actor::Operator, NOW).unwrap_err()
    };
    assert!(matches!(create("alice"), AccessError::Store(StoreError::Taken { .. })));
    assert!(matches!(create(""), AccessError::Name { .. }));
    assert!(matches!(create("a\tb"), AccessError::Name { .. }));
    assert_eq!(fresh.access.list().unwrap().len(), 1);
}

#[test]
fn a_lost_key_file_is_not_replaced_while_accounts_depend_on_it() {
    let fresh = fresh();
    let key = fresh.dir.path().join("secret.key");
    let bytes = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    drop(fresh.other());
    assert_ne!(std::fs::read(&key).unwrap(), bytes, "nothing depended on it yet");
    fresh.create("alice", Terms::default());
    std::fs::remove_file(&key).unwrap();
    let error = access::Access::open(fresh.dir.path(), NOW).unwrap_err();
    assert!(matches!(error, AccessError::KeyMissing { .. }), "{error:?}");
    assert!(!key.exists());
}
