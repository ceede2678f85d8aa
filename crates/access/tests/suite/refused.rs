//! Every refused login is recorded in an audit row with the account, if known, and without secrets.

use std::net::IpAddr;
use std::time::Duration;

use access::{
    AuditFilter, Denial, Grant, Moment, NewClient, OAuthError, Offered, PresentedClient, SignedRequest, Terms,
};
use market::Timestamp;

use crate::fixture::{Fresh, MOMENT, NOW, START, fresh, identify};

const FROM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

/// Returns the account, actor and reason of every audit row for a refused login, oldest first.
fn rows(fresh: &Fresh) -> Vec<(Option<i64>, String, String)> {
    let filter = AuditFilter { event: Some("login.refused"), limit: 1_000, ..AuditFilter::default() };
    let rows = fresh.access.audit(&filter).unwrap();
    rows.into_iter().rev().map(|row| (row.account.map(|id| id.0), row.actor, row.reason)).collect()
}

/// Sends a request that fails to authenticate, and records the refusal as the HTTP server does.
fn send(fresh: &Fresh, headers: &[(&str, &str)], at: Moment) {
    let denial = identify(&fresh.access, headers, at.now).unwrap_err();
    let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let (method, path) = ("GET", "/v1/socket/token");
    let request = SignedRequest { method, path, raw_query: "", header: &header, body: b"" };
    fresh.access.note_denied(Offered::Request(&request), &denial, FROM, at).unwrap();
}

#[test]
fn a_refused_token_or_signature_is_audited_with_its_account() {
    let fresh = fresh();
    let alice = fresh.create("alice", Terms::default());
    let (token, key) = (alice.access_token.expose(), alice.app_key.as_str());
    let late = Moment { now: Timestamp(alice.token_expires_at.0), ..MOMENT };
    let unknown = "Bearer ap_0123456789abcdef0123456789abcdef0123456789a";
    send(&fresh, &[("authorization", unknown)], MOMENT);
    send(&fresh, &[("authorization", &format!("Bearer {token}"))], late);
    send(&fresh, &[("authorization", token)], MOMENT);
    let signature = "HMAC-SHA256 SignedHeaders=authorization;x-api-key;x-timestamp, Signature=00";
    let stamp = NOW.0.to_string();
    let signed =
        [("authorization", "x"), ("x-api-key", key), ("x-timestamp", &stamp), ("x-api-signature", signature)];
    send(&fresh, &signed, MOMENT);
    // A request without credentials is not a refused login.
    send(&fresh, &[], MOMENT);
    let id = Some(alice.account_id.0);
    let rows = rows(&fresh);
    let accounts: Vec<_> = rows.iter().map(|(account, ..)| *account).collect();
    assert_eq!(accounts, [None, id, id, id], "{rows:?}");
    assert!(rows.iter().all(|(_, actor, _)| actor == "address 192.0.2.7"), "{rows:?}");
    let text = format!("{rows:?}");
    for secret in [token, alice.app_secret.expose(), "0123456789abcdef"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(text.contains("expired") && text.contains("not signed"), "{text}");
}

#[test]
fn refused_passwords_and_sessions_of_connections_are_audited() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", Terms { connections: 1, ..Terms::default() });
    let otp = access.issue_otp(&caller, START).unwrap();
    let late = Moment { uptime: START + Duration::from_secs(61), ..MOMENT };
    let denial = access.sign_on(otp.expose(), None, late).unwrap_err();
    access.note_denied(Offered::OneTimePassword(otp.expose()), &denial, FROM, late).unwrap();
    let denial = access.sign_on("o_unknown", None, MOMENT).unwrap_err();
    access.note_denied(Offered::OneTimePassword("o_unknown"), &denial, FROM, MOMENT).unwrap();
    let otp = access.issue_otp(&caller, START).unwrap();
    let open = access.sign_on(otp.expose(), None, MOMENT).unwrap();
    let session = open.session.id.expose();
    let tomorrow = Timestamp(NOW.0 + 86_400);
    let denial = access.resume(session, None, tomorrow).unwrap_err();
    assert!(matches!(denial, Denial::TokenExpired(_)), "{denial:?}");
    let at = Moment { now: tomorrow, ..MOMENT };
    access.note_denied(Offered::Session(session), &denial, FROM, at).unwrap();
    let denial = access.resume("no session", None, NOW).unwrap_err();
    access.note_denied(Offered::Session("no session"), &denial, FROM, MOMENT).unwrap();
    let rows = rows(&fresh);
    let id = Some(caller.account().0);
    let accounts: Vec<_> = rows.iter().map(|(account, ..)| *account).collect();
    assert_eq!(accounts, [id, None, id, None], "{rows:?}");
    let text = format!("{rows:?}");
    assert!(!text.contains(session) && !text.contains("o_unknown") && !text.contains("no session"), "{text}");
}

#[test]
fn wrong_client_secrets_and_reused_grants_are_audited() {
    let fresh = fresh();
    let access = &fresh.access;
    let alice = fresh.create("alice", Terms::default()).account_id;
    let new = NewClient { auth_method: Some("client_secret_post".to_owned()), ..NewClient::default() };
    let client = access.register_client(&new, FROM, MOMENT).unwrap();
    let id = client.client.id.as_str();
    let good = PresentedClient { id, secret: client.secret.as_ref().map(|secret| secret.expose()) };
    let start = access.start_device(&good, "", FROM, MOMENT).unwrap();
    access.decide_device(start.user_code.expose(), alice, true, NOW).unwrap();
    let grant = Grant::Device { device_code: start.device_code.expose(), poller: None };
    access.redeem(&good, &grant, None, MOMENT).unwrap();
    let wrong = PresentedClient { id, secret: Some("cs_wrong") };
    let stranger = PresentedClient { id: "cs_typed_here", secret: None };
    for (credentials, grant) in [(wrong, Some(grant)), (good, Some(grant)), (stranger, Some(grant))] {
        let error = access.redeem(&credentials, &grant.unwrap(), None, MOMENT).unwrap_err();
        access.note_declined(Offered::Client(credentials, grant), &error, FROM, MOMENT).unwrap();
    }
    let pending = OAuthError::AuthorizationPending;
    access.note_declined(Offered::Client(good, Some(grant)), &pending, FROM, MOMENT).unwrap();
    let rows = rows(&fresh);
    assert_eq!(rows.len(), 3, "who waits for a person has not been refused: {rows:?}");
    assert!(rows.iter().all(|(account, ..)| *account == Some(alice.0)), "{rows:?}");
    assert!(rows[0].2.starts_with(&format!("client {id}: the client secret")), "{rows:?}");
    assert!(rows[1].2.contains("device code"), "{rows:?}");
    assert!(rows[2].2.starts_with("an unknown client: "), "{rows:?}");
    let text = format!("{rows:?}");
    for secret in ["cs_wrong", "cs_typed_here", start.device_code.expose(), good.secret.unwrap()] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn refused_logins_beyond_sixty_a_minute_are_only_counted() {
    let fresh = fresh();
    for _ in 0..100 {
        send(&fresh, &[("authorization", "Bearer ap_nothing")], MOMENT);
    }
    assert_eq!(rows(&fresh).len(), 60);
    let later = Moment { uptime: START + Duration::from_secs(60), ..MOMENT };
    send(&fresh, &[("authorization", "Bearer ap_nothing")], later);
    let rows = rows(&fresh);
    assert_eq!(rows.len(), 62);
    assert_eq!(rows[60].2, "40 more in a minute before");
}

#[test]
fn unregistering_a_client_logs_revoked_tokens_per_account() {
    let fresh = fresh();
    let access = &fresh.access;
    let (alice, bob) = (
        fresh.create("alice", Terms::default()).account_id,
        fresh.create("bob", Terms::default()).account_id,
    );
    let client = access.register_client(&NewClient::default(), FROM, MOMENT).unwrap();
    let credentials = PresentedClient { id: &client.client.id, secret: None };
    for account in [alice, alice, bob] {
        let start = access.start_device(&credentials, "", FROM, MOMENT).unwrap();
        access.decide_device(start.user_code.expose(), account, true, NOW).unwrap();
        let grant = Grant::Device { device_code: start.device_code.expose(), poller: None };
        access.redeem(&credentials, &grant, None, MOMENT).unwrap();
    }
    let token = client.registration_token.expose();
    assert!(access.unregister_client(&client.client.id, token, NOW).unwrap());
    let filter = AuditFilter { event: Some("tokens.revoked"), limit: 10, ..AuditFilter::default() };
    let rows = access.audit(&filter).unwrap();
    let accounts: Vec<_> = rows.iter().rev().map(|row| row.account).collect();
    assert_eq!(accounts, [Some(alice), Some(bob)], "{rows:?}");
}
