use access::{Actor, Denial, NewAccount, Terms};
use market::Timestamp;

use crate::fixture::{NOW, bearer, fresh, identify, sign};

#[test]
fn a_signed_request_is_authenticated() {
    let fresh = fresh();
    let created = fresh.create("alice", Terms::default());
    let (key, secret, token) =
        (created.app_key.as_str(), created.app_secret.expose(), created.access_token.expose());
    let seconds = NOW.0.to_string();
    let milliseconds = format!("{}123", NOW.0);
    for sent_at in [seconds.as_str(), &milliseconds] {
        let headers = [
            ("authorization", token),
            ("x-api-key", key),
            ("x-timestamp", sent_at),
            ("x-api-signature", &sign(token, key, secret, sent_at)),
        ];
        assert_eq!(identify(&fresh.access, &headers, NOW).unwrap().account(), created.account_id);
        // Another process can authenticate the request with only the files of the store.
        assert_eq!(identify(&fresh.other(), &headers, NOW).unwrap().account(), created.account_id);
    }
}

#[test]
fn each_invalid_credential_has_its_own_denial() {
    let fresh = fresh();
    let (alice, bob) = (fresh.create("alice", Terms::default()), fresh.create("bob", Terms::default()));
    let (key, secret, token) =
        (alice.app_key.as_str(), alice.app_secret.expose(), alice.access_token.expose());
    let at = NOW.0.to_string();
    let ask = |token: &str, key: &str, secret: &str, now| {
        let signature = sign(token, key, secret, &at);
        let headers = [
            ("authorization", token),
            ("x-api-key", key),
            ("x-timestamp", &at),
            ("x-api-signature", &signature),
        ];
        identify(&fresh.access, &headers, now).unwrap_err()
    };
    assert!(matches!(ask(token, "0123", secret, NOW), Denial::KeyUnknown));
    assert!(matches!(ask(token, "", secret, NOW), Denial::KeyUnknown));
    assert!(matches!(ask(token, key, bob.app_secret.expose(), NOW), Denial::SignatureInvalid(_)));
    assert!(matches!(ask(token, key, secret, Timestamp(NOW.0 + 301)), Denial::SignatureInvalid(_)));
    let others = ask(bob.access_token.expose(), key, secret, NOW);
    assert!(matches!(others, Denial::TokenInvalid(_)), "{others:?}");
    assert!(matches!(ask("", key, secret, NOW), Denial::TokenInvalid(_)));
}

#[test]
fn an_unsigned_token_is_accepted_only_as_bearer() {
    let fresh = fresh();
    let created = fresh.create("alice", Terms::default());
    let token = created.access_token.expose();
    assert_eq!(bearer(&fresh.access, token).unwrap().account(), created.account_id);
    for scheme in ["bearer", "BEARER ", "Bearer"] {
        let header = format!("{scheme} {token}");
        // Clients in OAuth mode send a client id and a timestamp, but no signature.
        let headers = [("authorization", header.as_str()), ("x-api-key", "client"), ("x-timestamp", "1")];
        assert_eq!(identify(&fresh.access, &headers, NOW).unwrap().account(), created.account_id);
    }
    let denial = |header: &str| identify(&fresh.access, &[("authorization", header)], NOW).unwrap_err();
    assert!(matches!(denial(token), Denial::SignatureInvalid(_)));
    assert!(matches!(denial(""), Denial::TokenInvalid(_)));
    assert!(matches!(denial("Bearer ap_unknown"), Denial::TokenInvalid(_)));
    assert!(matches!(denial(&format!("Bearer {token}x")), Denial::TokenInvalid(_)));
    assert!(matches!(denial(&format!("Bearer {}", "x".repeat(100_000))), Denial::TokenInvalid(_)));
    assert!(matches!(identify(&fresh.access, &[], NOW).unwrap_err(), Denial::TokenInvalid(_)));
}

#[test]
fn an_expired_token_is_refused() {
    let fresh = fresh();
    let ends = Timestamp(NOW.0 + 100);
    let new = NewAccount { token_expires_at: Some(ends), ..NewAccount::named("alice", Terms::default()) };
    let created = fresh.access.create(&new, &Actor::Operator, NOW).unwrap();
    let header = format!("Bearer {}", created.access_token.expose());
    let ask = |now| identify(&fresh.access, &[("authorization", &header)], Timestamp(now));
    ask(ends.0 - 1).unwrap();
    assert!(matches!(ask(ends.0), Err(Denial::TokenExpired(_))));
}

#[test]
fn a_revoked_account_is_refused_in_every_process() {
    let fresh = fresh();
    let created = fresh.create("alice", Terms::default());
    let token = created.access_token.expose();
    bearer(&fresh.access, token).unwrap();
    assert!(fresh.other().revoke(created.account_id, &Actor::Operator, "", NOW).unwrap());
    assert!(matches!(bearer(&fresh.access, token), Err(Denial::TokenInvalid(_))));
    assert!(!fresh.access.revoke(created.account_id, &Actor::Operator, "", NOW).unwrap());
}

#[test]
fn a_replaced_key_file_is_an_internal_error() {
    let fresh = fresh();
    let created = fresh.create("alice", Terms::default());
    std::fs::write(fresh.dir.path().join("secret.key"), [7; 32]).unwrap();
    let at = NOW.0.to_string();
    let (key, token) = (created.app_key.as_str(), created.access_token.expose());
    let signature = sign(token, key, created.app_secret.expose(), &at);
    let headers =
        [("authorization", token), ("x-api-key", key), ("x-timestamp", &at), ("x-api-signature", &signature)];
    let denial = identify(&fresh.other(), &headers, NOW).unwrap_err();
    assert!(matches!(denial, Denial::Failed(access::AccessError::Sealed { .. })), "{denial:?}");
}

#[test]
fn a_caller_records_that_its_token_was_in_a_url() {
    let fresh = fresh();
    let created = fresh.create("alice", Terms::default());
    let caller = bearer(&fresh.access, created.access_token.expose()).unwrap();
    let addressed = caller.in_address();
    assert_eq!(addressed.account(), caller.account());
    assert_eq!(
        (caller.is_in_address(), addressed.is_in_address(), addressed.is_browser()),
        (false, true, false)
    );
}
