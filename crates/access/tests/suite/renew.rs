use access::{
    Access, Actor, Created, Denial, FORMER_LIFE_S, NewAccount, Region, RenewError, Secret, SignedRequest,
    Terms,
};
use market::Timestamp;

use crate::fixture::{MOMENT, NOW, START, bearer, fresh, identify, sign};

fn after(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds)
}

fn headers(account: &Created, token: &str, now: Timestamp) -> Vec<(&'static str, String)> {
    let at = now.0.to_string();
    let signature = sign(token, &account.app_key, account.app_secret.expose(), &at);
    vec![
        ("authorization", token.to_owned()),
        ("x-api-key", account.app_key.clone()),
        ("x-timestamp", at),
        ("x-api-signature", signature),
    ]
}

fn renew(access: &Access, account: &Created, token: &str, now: Timestamp) -> Result<Secret, RenewError> {
    let headers = headers(account, token, now);
    let header =
        |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    let (method, path) = ("GET", "/v1/socket/token");
    let request = SignedRequest { method, path, raw_query: "", header: &header, body: b"" };
    access.renew(&request, Timestamp(now.0 + 3600), now)
}

/// Returns whether a token is valid both in a signed request and as a bearer token.
fn is_good(access: &Access, account: &Created, token: &str, now: Timestamp) -> bool {
    let signed = headers(account, token, now);
    let signed: Vec<_> = signed.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let signed = identify(access, &signed, now).is_ok();
    let bearer = identify(access, &[("authorization", &format!("Bearer {token}"))], now).is_ok();
    assert_eq!(signed, bearer);
    signed
}

#[test]
fn a_replaced_token_expires_after_a_minute() {
    let fresh = fresh();
    let account = fresh.create("alice", Terms::default());
    let (old, other) = (account.access_token.expose(), fresh.other());
    let new = renew(&fresh.access, &account, old, NOW).unwrap();
    for access in [&fresh.access, &other] {
        assert!(is_good(access, &account, new.expose(), NOW));
        assert!(is_good(access, &account, old, after(FORMER_LIFE_S - 1)));
        assert!(!is_good(access, &account, old, after(FORMER_LIFE_S)));
        assert!(is_good(access, &account, new.expose(), after(3599)));
        assert!(!is_good(access, &account, new.expose(), after(3600)));
    }
    let late = renew(&fresh.access, &account, old, after(FORMER_LIFE_S));
    assert!(matches!(late, Err(RenewError::Denied(Denial::TokenInvalid(_)))), "{late:?}");
}

#[test]
fn a_replaced_token_is_refused_for_another_key() {
    let fresh = fresh();
    let (alice, bob) = (fresh.create("alice", Terms::default()), fresh.create("bob", Terms::default()));
    let old = alice.access_token.expose();
    renew(&fresh.access, &alice, old, NOW).unwrap();
    let crossed = renew(&fresh.access, &bob, old, NOW);
    assert!(matches!(crossed, Err(RenewError::Denied(Denial::TokenInvalid(_)))), "{crossed:?}");
}

#[test]
fn a_revoked_account_cannot_renew() {
    let fresh = fresh();
    let account = fresh.create("alice", Terms::default());
    fresh.access.revoke(account.account_id, &Actor::Operator, "gone", NOW).unwrap();
    let refused = renew(&fresh.access, &account, account.access_token.expose(), NOW);
    assert!(matches!(refused, Err(RenewError::Denied(Denial::TokenInvalid(_)))), "{refused:?}");
}

#[test]
fn renewing_does_not_extend_the_replaced_token() {
    let fresh = fresh();
    let new = NewAccount {
        region: Region::Us,
        token_expires_at: Some(after(30)),
        ..NewAccount::named("alice", Terms::default())
    };
    let account = fresh.access.create(&new, &Actor::Operator, NOW).unwrap();
    let old = account.access_token.expose();
    let renewed = renew(&fresh.access, &account, old, NOW).unwrap();
    assert!(renewed.expose().starts_with("us_"));
    assert!(is_good(&fresh.access, &account, old, after(29)));
    assert!(!is_good(&fresh.access, &account, old, after(30)));
}

#[test]
fn renewing_does_not_affect_sessions_or_other_accounts() {
    let fresh = fresh();
    let (account, other) = (fresh.create("alice", Terms::default()), fresh.create("bob", Terms::default()));
    let caller = bearer(&fresh.access, account.access_token.expose()).unwrap();
    let otp = fresh.access.issue_otp(&caller, START).unwrap();
    let signed_on = fresh.access.sign_on(otp.expose(), None, MOMENT).unwrap();
    let new = renew(&fresh.access, &account, account.access_token.expose(), NOW).unwrap();
    assert_eq!(bearer(&fresh.access, new.expose()).unwrap().account(), caller.account());
    fresh.access.resume(signed_on.session.id.expose(), None, NOW).unwrap();
    assert!(is_good(&fresh.access, &other, other.access_token.expose(), NOW));
}
