use access::{ACCESS_TOKEN_LIFE_S, Denial, Grant, PresentedClient, REFRESH_TOKEN_LIFE_S};

use super::*;
use crate::fixture::{bearer, claims, identify, sign};

fn ask_at(house: &House, token: &str, seconds: i64) -> Result<access::Caller, Denial> {
    let header = format!("Bearer {token}");
    identify(house.access(), &[("authorization", &header)], Timestamp(NOW.0 + seconds))
}

#[test]
fn an_access_token_is_valid_for_thirty_days() {
    let house = house();
    let tokens = house.tokens(house.ap);
    let token = tokens.access_token.expose();
    assert_eq!(ask_at(&house, token, 2_591_999).unwrap().account(), house.ap);
    assert!(matches!(ask_at(&house, token, 2_592_000), Err(Denial::TokenExpired(_))));
    // Another process can authenticate the token with only the files of the store.
    assert_eq!(bearer(&house.fresh.other(), token).unwrap().account(), house.ap);
}

#[test]
fn an_oauth_token_is_accepted_only_as_bearer() {
    let house = house();
    let tokens = house.tokens(house.ap);
    let (token, at) = (tokens.access_token.expose(), NOW.0.to_string());
    let header = format!("Bearer {token}");
    let (key, signature) = (house.client.client.id.as_str(), sign(token, "key", "secret", &at));
    let beside = [("x-api-key", key), ("x-timestamp", &at), ("x-api-signature", &signature)];
    let with = |authorization| {
        let headers: Vec<_> = [("authorization", authorization)].into_iter().chain(beside).collect();
        identify(house.access(), &headers, NOW)
    };
    assert_eq!(with(&header).unwrap().account(), house.ap);
    assert!(matches!(with(token), Err(Denial::TokenInvalid(_))));
    let alone = identify(house.access(), &[("authorization", token)], NOW);
    assert!(matches!(alone, Err(Denial::TokenInvalid(_))), "{alone:?}");
    let refresh = bearer(house.access(), tokens.refresh_token.expose());
    assert!(matches!(refresh, Err(Denial::TokenInvalid(_))), "a refresh token opens nothing");
}

#[test]
fn a_token_without_a_scope_is_refused() {
    let house = house();
    let tokens = house.tokens(house.ap);
    let path = house.fresh.dir.path().join("accounts.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute("update oauth_token set scope = 'profile'", []).unwrap();
    store::seal_as_it_is(&path).unwrap();
    let refused = bearer(house.access(), tokens.access_token.expose());
    assert!(matches!(refused, Err(Denial::ScopeMissing)), "{refused:?}");
}

#[test]
fn a_refresh_issues_tokens_with_a_full_lifetime() {
    let house = house();
    let first = house.tokens(house.us);
    let second = house.refresh(first.refresh_token.expose(), later(2_000_000)).unwrap();
    let third = house.refresh(second.refresh_token.expose(), later(4_000_000)).unwrap();
    // Clients decode the paper channel, the issue time and the expiry from these claims.
    let describe = |life_s| {
        let (id, iat) = (house.us.0, later(4_000_000).now.0);
        let subject = format!(r#"{{\"account_channel\":\"lb_papertrading\",\"member_id\":\"{id}\"}}"#);
        let rest = format!(r#""aid":"{id}","mid":"{id}","ac":"lb_papertrading""#);
        format!(r#"{{"sub":"{subject}","iat":{iat},"exp":{},{rest}}}"#, iat + life_s)
    };
    assert_eq!(claims(third.access_token.expose(), "us_"), describe(ACCESS_TOKEN_LIFE_S));
    assert_eq!(claims(third.refresh_token.expose(), "us_rt_"), describe(REFRESH_TOKEN_LIFE_S));
    assert_eq!(ask_at(&house, third.access_token.expose(), 4_000_000).unwrap().account(), house.us);
    // The old access token stays valid after the refresh, because another process may still use it.
    ask_at(&house, first.access_token.expose(), 2_000_001).unwrap();
    assert_eq!(
        error(house.refresh(third.refresh_token.expose(), later(4_000_000 + 5_184_000))),
        "invalid_grant"
    );
    assert_eq!(house.audited("tokens.refreshed"), 2);
    assert_eq!(house.access().sign_ins(house.us, later(4_000_000).now).unwrap().len(), 1);
}

#[test]
fn a_refresh_succeeds_after_the_access_token_has_expired() {
    let house = house();
    let first = house.tokens(house.ap);
    let expired = later(first.expires_in + 1);
    let request = ask_at(&house, first.access_token.expose(), first.expires_in + 1);
    assert!(matches!(request, Err(Denial::TokenExpired(_))), "{request:?}");
    let second = house.refresh(first.refresh_token.expose(), expired).unwrap();
    ask_at(&house, second.access_token.expose(), first.expires_in + 1).unwrap();
    // A refresh token expires thirty days after its access token.
    let last = later(expired.now.0 - NOW.0 + 5_184_000 - 1);
    house.refresh(second.refresh_token.expose(), last).unwrap();
}

#[test]
fn a_refresh_can_be_repeated_within_a_minute() {
    let house = house();
    let first = house.tokens(house.ap);
    let old = first.refresh_token.expose();
    let lost = house.refresh(old, later(100)).unwrap();
    let again = house.refresh(old, later(160)).unwrap();
    assert_ne!(lost.refresh_token.expose(), again.refresh_token.expose());
    // The tokens of both responses remain usable.
    house.refresh(again.refresh_token.expose(), later(1_000)).unwrap();
    house.refresh(lost.refresh_token.expose(), later(1_000)).unwrap();
    assert_eq!(house.audited("tokens.revoked"), 0);
}

#[test]
fn reusing_a_replaced_refresh_token_revokes_the_family() {
    let house = house();
    let (first, other) = (house.tokens(house.ap), house.tokens(house.ap));
    let second = house.refresh(first.refresh_token.expose(), later(100)).unwrap();
    assert_eq!(error(house.refresh(first.refresh_token.expose(), later(161))), "invalid_grant");
    assert_eq!(error(house.refresh(second.refresh_token.expose(), later(162))), "invalid_grant");
    for token in [&first.access_token, &second.access_token] {
        assert!(matches!(bearer(house.access(), token.expose()), Err(Denial::TokenInvalid(_))));
    }
    bearer(house.access(), other.access_token.expose()).unwrap();
    let filter = AuditFilter { event: Some("tokens.revoked"), limit: 10, ..AuditFilter::default() };
    let rows = house.access().audit(&filter).unwrap();
    assert_eq!(rows.len(), 1);
    assert!(rows[0].reason.contains("after it had been replaced"), "{rows:?}");
    assert_eq!(rows[0].account, Some(house.ap));
}

#[test]
fn concurrent_refreshes_get_tokens_of_the_same_family() {
    let house = house();
    let first = house.tokens(house.ap);
    let pairs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| house.refresh(first.refresh_token.expose(), later(1)).unwrap()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for pair in &pairs {
        bearer(house.access(), pair.access_token.expose()).unwrap();
    }
    assert_eq!(house.access().sign_ins(house.ap, NOW).unwrap().len(), 1);
}

#[test]
fn an_account_may_refresh_a_hundred_times_in_ten_minutes() {
    let house = house();
    let mut tokens = house.tokens(house.ap);
    for _ in 0..100 {
        tokens = house.refresh(tokens.refresh_token.expose(), MOMENT).unwrap();
    }
    assert_eq!(error(house.refresh(tokens.refresh_token.expose(), later(599))), "temporarily_unavailable");
    let theirs = house.tokens(house.us);
    house.refresh(theirs.refresh_token.expose(), MOMENT).unwrap();
    house.refresh(tokens.refresh_token.expose(), later(600)).unwrap();
}

#[test]
fn a_refresh_token_is_bound_to_its_client_and_region() {
    let house = house();
    let other = register(house.access(), &usual());
    let tokens = house.tokens(house.us);
    let refresh = |client: &PresentedClient<'_>, refresh_token: &str, scope: &str, serves| {
        house.access().redeem(client, &Grant::Refresh { refresh_token, scope }, serves, MOMENT)
    };
    let token = tokens.refresh_token.expose();
    assert_eq!(error(refresh(&credentials(&other), token, "", None)), "invalid_grant");
    assert_eq!(error(refresh(&house.credentials(), token, "", Some(Region::Ap))), "invalid_grant");
    assert_eq!(error(refresh(&house.credentials(), token, "more", None)), "invalid_scope");
    for wrong in ["", "us_rt_unknown", tokens.access_token.expose(), &"x".repeat(10_000)] {
        assert_eq!(error(refresh(&house.credentials(), wrong, "", None)), "invalid_grant");
    }
    refresh(&house.credentials(), token, "openapi", Some(Region::Us)).unwrap();
}

#[test]
fn a_revoked_account_cannot_refresh() {
    let house = house();
    let tokens = house.tokens(house.ap);
    house.access().revoke(house.ap, &Actor::Operator, "", NOW).unwrap();
    assert_eq!(error(house.refresh(tokens.refresh_token.expose(), MOMENT)), "invalid_grant");
    assert!(matches!(bearer(house.access(), tokens.access_token.expose()), Err(Denial::TokenInvalid(_))));
}

#[test]
fn revoking_either_token_revokes_both() {
    let house = house();
    for pick in
        [|tokens: &Tokens| tokens.refresh_token.clone(), |tokens: &Tokens| tokens.access_token.clone()]
    {
        let tokens = house.tokens(house.ap);
        let second = house.refresh(tokens.refresh_token.expose(), MOMENT).unwrap();
        bearer(house.access(), second.access_token.expose()).unwrap();
        house.fresh.other().revoke_token(&house.credentials(), pick(&second).expose(), NOW).unwrap();
        for token in [&tokens.access_token, &second.access_token] {
            assert!(matches!(bearer(house.access(), token.expose()), Err(Denial::TokenInvalid(_))));
        }
        assert_eq!(error(house.refresh(second.refresh_token.expose(), MOMENT)), "invalid_grant");
        // Revoking a revoked token is not an error.
        house.access().revoke_token(&house.credentials(), pick(&second).expose(), NOW).unwrap();
    }
    assert_eq!(house.audited("tokens.revoked"), 2);
}

#[test]
fn a_client_can_revoke_only_its_own_tokens() {
    let house = house();
    let other = register(house.access(), &usual());
    let tokens = house.tokens(house.ap);
    let token = tokens.access_token.expose();
    assert_eq!(error(house.access().revoke_token(&credentials(&other), token, NOW)), "unauthorized_client");
    let stranger = PresentedClient { id: "nobody", secret: None };
    assert_eq!(error(house.access().revoke_token(&stranger, token, NOW)), "invalid_client");
    for unknown in ["", "ap_unknown", &"x".repeat(10_000)] {
        house.access().revoke_token(&house.credentials(), unknown, NOW).unwrap();
    }
    bearer(house.access(), token).unwrap();
}
