use access::{Grant, NewClient, OAuthError, PresentedClient, grant_type};

use super::*;

#[test]
fn default_grant_types_depend_on_the_redirect_addresses() {
    let house = house();
    let client = &house.client.client;
    assert_eq!(client.id.len(), 36);
    assert_eq!((client.name.as_str(), client.auth_method.as_str()), ("ana@lab", "none"));
    assert_eq!(client.grant_types, grant_type::ALL);
    assert!(house.client.secret.is_none());
    let bare = register(house.access(), &NewClient::default()).client;
    assert_eq!(bare.grant_types, [grant_type::REFRESH, grant_type::DEVICE]);
    assert!(!bare.name.is_empty() && !bare.has_codes());
    assert_ne!(bare.id, client.id);
    assert_eq!(house.audited("client.registered"), 2);
}

#[test]
fn invalid_metadata_is_refused() {
    let house = house();
    let refuse = |new: NewClient| error(house.access().register_client(&new, HERE, MOMENT));
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    let named = |name: &str| NewClient { name: Some(name.to_owned()), ..NewClient::default() };
    for name in ["a\nb", "a\u{202e}b", "a\u{200b}b", "\u{7}", &"x".repeat(129)] {
        assert_eq!(refuse(named(name)), "invalid_client_metadata", "{name:?}");
    }
    house.access().register_client(&named(&"愛".repeat(128)), HERE, MOMENT).unwrap();
    let redirects = |redirect_uris| refuse(NewClient { redirect_uris, ..NewClient::default() });
    assert_eq!(redirects(list(&["http://example.com/"])), "invalid_redirect_uri");
    assert_eq!(redirects(list(&["javascript:alert(1)"])), "invalid_redirect_uri");
    assert_eq!(redirects(list(&["https://example.com/#x"])), "invalid_redirect_uri");
    assert_eq!(redirects(vec!["https://example.com/".to_owned(); 11]), "invalid_redirect_uri");
    let grants = |grants: &[&str]| NewClient { grant_types: Some(list(grants)), ..NewClient::default() };
    assert_eq!(refuse(grants(&["password"])), "invalid_client_metadata");
    assert_eq!(refuse(grants(&[grant_type::CODE])), "invalid_redirect_uri");
    let response_types = Some(list(&["token"]));
    assert_eq!(refuse(NewClient { response_types, ..usual() }), "invalid_client_metadata");
    let auth_method = Some("private_key_jwt".to_owned());
    assert_eq!(refuse(NewClient { auth_method, ..usual() }), "invalid_client_metadata");
}

#[test]
fn a_client_cannot_use_an_unregistered_grant_type() {
    let house = house();
    let grant_types = Some(vec![grant_type::CODE.to_owned()]);
    let codes = register(house.access(), &NewClient { grant_types, ..usual() });
    assert_eq!(
        codes.client.grant_types,
        [grant_type::CODE, grant_type::REFRESH],
        "tokens can always be refreshed"
    );
    assert_eq!(
        error(house.access().start_device(&credentials(&codes), "", HERE, MOMENT)),
        "unauthorized_client"
    );
    let device = Grant::Device { device_code: "x", poller: None };
    assert_eq!(
        error(house.access().redeem(&credentials(&codes), &device, None, MOMENT)),
        "unauthorized_client"
    );
    let bare = register(house.access(), &NewClient::default());
    assert_eq!(
        error(house.access().redeem(&credentials(&bare), &with_code("x"), None, MOMENT)),
        "unauthorized_client"
    );
}

#[test]
fn confidential_clients_must_send_their_secret() {
    let house = house();
    for method in ["client_secret_post", "client_secret_basic"] {
        let client = register(house.access(), &NewClient { auth_method: Some(method.to_owned()), ..usual() });
        let id = &client.client.id;
        let ask = |secret| house.access().start_device(&PresentedClient { id, secret }, "", HERE, MOMENT);
        ask(client.secret.as_ref().map(|secret| secret.expose())).unwrap();
        let token = client.registration_token.expose();
        for wrong in [None, Some(""), Some("cs_wrong"), Some(token), Some(&*"x".repeat(1_000))] {
            assert_eq!(error(ask(wrong)), "invalid_client", "{wrong:?}");
        }
    }
    let ask = |id, secret| house.access().start_device(&PresentedClient { id, secret }, "", HERE, MOMENT);
    let id = house.client.client.id.as_str();
    ask(id, Some("")).unwrap();
    assert_eq!(error(ask(id, Some("cs_any"))), "invalid_client");
    for unknown in ["", "unknown", &id.to_uppercase(), &"x".repeat(10_000)] {
        assert_eq!(error(ask(unknown, None)), "invalid_client");
    }
}

#[test]
fn a_registration_token_is_valid_for_its_client_only() {
    let house = house();
    let other = register(house.access(), &usual());
    let (id, token) = (house.client.client.id.as_str(), house.client.registration_token.expose());
    assert_eq!(house.access().registration(id, token).unwrap(), Some(house.client.client.clone()));
    let wrong =
        [(id, other.registration_token.expose()), (&*other.client.id, token), ("unknown", token), (id, "")];
    for (id, token) in wrong {
        assert_eq!(house.access().registration(id, token).unwrap(), None);
        assert!(!house.access().unregister_client(id, token, NOW).unwrap());
    }
    assert!(house.access().registration(id, token).unwrap().is_some());
}

#[test]
fn removing_a_client_revokes_its_tokens_and_codes() {
    let house = house();
    let tokens = house.tokens(house.ap);
    let (device, code) = (house.start(), house.code(house.ap, ""));
    house.approve(&device, house.ap);
    let (id, token) = (house.client.client.id.as_str(), house.client.registration_token.expose());
    // The client is unregistered by another process.
    assert!(house.fresh.other().unregister_client(id, token, NOW).unwrap());
    assert!(crate::fixture::bearer(house.access(), tokens.access_token.expose()).is_err());
    assert_eq!(error(house.refresh(tokens.refresh_token.expose(), MOMENT)), "invalid_client");
    assert_eq!(error(house.redeem(&code, MOMENT)), "invalid_client");
    assert_eq!(error(house.poll(&device, None, MOMENT)), "invalid_client");
    assert!(house.access().pending_device(house.start_of_other().user_code.expose(), NOW).unwrap().is_some());
    assert!(!house.access().unregister_client(id, token, NOW).unwrap());
    assert_eq!(house.audited("client.removed"), 1);
}

impl House {
    fn start_of_other(&self) -> access::DeviceStart {
        let other = register(self.access(), &usual());
        self.access().start_device(&credentials(&other), "", HERE, MOMENT).unwrap()
    }
}

#[test]
fn an_address_may_register_twenty_clients_an_hour() {
    let house = house();
    let ask =
        |from: &str, seconds| house.access().register_client(&usual(), from.parse().unwrap(), later(seconds));
    for _ in 0..20 {
        ask("192.0.2.7", 0).unwrap();
    }
    let refused = ask("192.0.2.7", 1_800);
    assert!(
        matches!(refused, Err(OAuthError::Unavailable { retry_after, .. }) if retry_after.as_secs() == 1_800)
    );
    assert_eq!(error(refused), "temporarily_unavailable");
    ask("192.0.2.8", 0).unwrap();
    ask("192.0.2.7", 3_600).unwrap();
}

#[test]
fn a_full_client_table_evicts_unapproved_clients() {
    let house = house();
    // A client with tokens and a client with a pending device must not be evicted. The other
    // clients are inserted with SQL, which is faster.
    house.tokens(house.ap);
    let waiting = register(house.access(), &usual());
    let device = house.access().start_device(&credentials(&waiting), "", HERE, MOMENT).unwrap();
    let path = house.fresh.dir.path().join("accounts.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let fill = format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9998)
         insert into oauth_client (id, name, redirect_uris, grant_types, auth_method, registration_hash, created_at)
         select 'c' || i, 'x', '', '', 'none', zeroblob(32), {} from n",
        NOW.0
    );
    database.execute_batch(&fill).unwrap();
    store::seal_as_it_is(&path).unwrap();
    let count =
        || database.query_row("select count(*) from oauth_client", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 10_000);
    assert_eq!(error(house.access().register_client(&usual(), HERE, MOMENT)), "temporarily_unavailable");
    assert_eq!(error(house.access().register_client(&usual(), HERE, later(59))), "temporarily_unavailable");
    let new = house.access().register_client(&usual(), HERE, later(60)).unwrap();
    assert_eq!(count(), 10_000 - 100 + 1, "a hundred at a time");
    assert!(house.access().pending_device(device.user_code.expose(), later(60).now).unwrap().is_some());
    house.access().start_device(&credentials(&new), "", HERE, later(60)).unwrap();
    let stored =
        house.access().registration(&house.client.client.id, house.client.registration_token.expose());
    assert!(stored.unwrap().is_some());
}

#[test]
fn an_approved_client_is_not_evicted_for_a_day_after_its_last_token() {
    let house = house();
    let tokens = house.tokens(house.ap);
    house.access().revoke_token(&house.credentials(), tokens.access_token.expose(), NOW).unwrap();
    let path = house.fresh.dir.path().join("accounts.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    // All other clients have tokens. Eviction does not depend on whether the tokens are still
    // valid.
    let fill = format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9999)
         insert into oauth_client
         (id, name, redirect_uris, grant_types, auth_method, registration_hash, created_at, used_at)
         select 'c' || i, 'x', '', '', 'none', zeroblob(32), {0}, {0} from n;
         insert into oauth_token
         (hash, kind, family, client_id, account_id, scope, begun_at, issued_at, expires_at)
         select id, 'access', id, id, {1}, 'openapi', {0}, {0}, {0} from oauth_client where name = 'x'",
        NOW.0, house.ap.0
    );
    database.execute_batch(&fill).unwrap();
    store::seal_as_it_is(&path).unwrap();
    let ask = |seconds| house.access().register_client(&usual(), HERE, later(seconds));
    assert_eq!(error(ask(86_400)), "temporarily_unavailable");
    ask(86_401).unwrap();
    let (id, token) = (&house.client.client.id, house.client.registration_token.expose());
    assert!(house.access().registration(id, token).unwrap().is_none());
}
