//! Lifetimes of connections, OAuth sign-ins and database rows.

use access::{Demand, Denial, Refusal};

use super::*;
use crate::fixture::{PRESENT, bearer};

#[test]
fn a_connection_ends_when_its_tokens_are_revoked() {
    let house = house();
    let (tokens, other) = (house.tokens(house.ap), house.tokens(house.ap));
    let enter = |tokens: &Tokens| {
        let caller = bearer(house.access(), tokens.access_token.expose()).unwrap();
        let otp = house.access().issue_otp(&caller, START).unwrap();
        house.access().sign_on(otp.expose(), None, MOMENT).unwrap()
    };
    let (mine, its) = (enter(&tokens), enter(&other));
    let may = |caller| house.access().admit(Demand::Open { caller: &caller }, PRESENT.market).map(drop);
    may(mine.caller).unwrap();
    house.fresh.other().revoke_token(&house.credentials(), tokens.refresh_token.expose(), NOW).unwrap();
    assert!(matches!(may(mine.caller), Err(Refusal::Revoked)));
    may(its.caller).unwrap();
    // The session of the revoked client is also invalid, but not the session of the other client.
    let resumed = house.access().resume(mine.session.id.expose(), None, NOW);
    assert!(matches!(resumed, Err(Denial::TokenInvalid(_))), "{resumed:?}");
    let resumed = house.access().resume(its.session.id.expose(), None, NOW).unwrap();
    assert!(resumed.caller.is_oauth());
}

/// Signs on a connection with an access token at a given moment.
fn enter_at(house: &House, token: &str, moment: Moment) -> Result<access::SignedOn, Denial> {
    let header = format!("Bearer {token}");
    let caller = crate::fixture::identify(house.access(), &[("authorization", &header)], moment.now)?;
    let otp = house.access().issue_otp(&caller, moment.uptime).unwrap();
    house.access().sign_on(otp.expose(), None, moment)
}

#[test]
fn resuming_does_not_extend_a_session_beyond_its_token() {
    let house = house();
    let tokens = house.tokens(house.ap);
    let end = tokens.expires_in;
    let day = 86_400;
    let mut open = enter_at(&house, tokens.access_token.expose(), later(end - day - 100)).unwrap();
    assert_eq!(open.session.expires_at_ms, later(end - 100).now.0 * 1_000);
    for before in [200, 100, 1] {
        open = house.access().resume(open.session.id.expose(), None, later(end - before).now).unwrap();
        assert_eq!(open.session.expires_at_ms, later(end).now.0 * 1_000);
    }
    let late = house.access().resume(open.session.id.expose(), None, later(end).now);
    assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
    // The open connection signed on before the token expired, so its requests are still admitted.
    let demand = Demand::Open { caller: &open.caller };
    house.access().admit(demand, PRESENT.market).map(drop).unwrap();
    // A refresh issues new tokens, which allow new sessions.
    let renewed = house.refresh(tokens.refresh_token.expose(), later(end)).unwrap();
    enter_at(&house, renewed.access_token.expose(), later(end)).unwrap();
    let late = house.access().resume(open.session.id.expose(), None, later(end).now);
    assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
}

#[test]
fn an_expired_family_cannot_sign_on() {
    let house = house();
    let tokens = house.tokens(house.ap);
    let open = enter_at(&house, tokens.access_token.expose(), MOMENT).unwrap();
    let path = house.fresh.dir.path().join("accounts.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute("update oauth_token set expires_at = $1", [later(100).now.0]).unwrap();
    store::seal_as_it_is(&path).unwrap();
    house.access().resume(open.session.id.expose(), None, later(99).now).unwrap();
    let late = house.access().resume(open.session.id.expose(), None, later(100).now);
    assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
}

#[test]
fn a_one_time_password_expires_with_its_token() {
    let house = house();
    let tokens = house.tokens(house.ap);
    let last = later(tokens.expires_in - 1);
    let header = format!("Bearer {}", tokens.access_token.expose());
    let caller = crate::fixture::identify(house.access(), &[("authorization", &header)], last.now).unwrap();
    let otp = house.access().issue_otp(&caller, last.uptime).unwrap();
    let late = house.access().sign_on(otp.expose(), None, later(tokens.expires_in));
    assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
}

#[test]
fn refreshing_does_not_change_the_age_of_a_sign_in() {
    let house = house();
    let mut oldest = house.tokens(house.ap);
    let others: Vec<_> = (1..100).map(|number| sign_in_from(&house, number)).collect();
    // The tokens are refreshed until the first tokens have been deleted.
    let mut seconds = 100;
    for _ in 0..130 {
        seconds += 20;
        oldest = house.refresh(oldest.refresh_token.expose(), later(seconds)).unwrap();
    }
    let sign_ins = house.access().sign_ins(house.ap, later(seconds).now).unwrap();
    assert_eq!(sign_ins.len(), 100);
    assert_eq!((sign_ins[0].since, sign_ins[0].refreshed_at), (NOW, later(seconds).now));
    assert_eq!(sign_ins[0].client.id, house.client.client.id);
    assert_eq!(sign_ins[1].since, later(1).now);
    let device = house.access().start_device(&house.credentials(), "", HERE, later(seconds)).unwrap();
    let (code, now) = (device.user_code.expose(), later(seconds).now);
    assert!(house.access().decide_device_by(code, house.ap, true, &Actor::Operator, now).unwrap());
    house.poll(&device, None, later(seconds)).unwrap();
    assert!(bearer(house.access(), oldest.access_token.expose()).is_err(), "the first that was approved");
    bearer(house.access(), others[0].access_token.expose()).unwrap();
}

#[test]
fn the_101st_sign_in_evicts_the_oldest() {
    let house = house();
    let oldest = house.tokens(house.ap);
    for number in 1..100 {
        sign_in_from(&house, number);
    }
    bearer(house.access(), oldest.access_token.expose()).unwrap();
    sign_in_from(&house, 100);
    assert!(bearer(house.access(), oldest.access_token.expose()).is_err());
    assert_eq!(house.access().sign_ins(house.ap, later(100).now).unwrap().len(), 100);
    assert_eq!(house.audited("tokens.revoked"), 1);
}

fn from(number: i64) -> IpAddr {
    IpAddr::from([10, 0, 0, u8::try_from(number).unwrap()])
}

fn register_from(house: &House, number: i64) -> Registered {
    house.access().register_client(&usual(), from(number), MOMENT).unwrap()
}

/// Signs in another client for the account, `number` seconds after the start. The operator approves
/// the client, because approvals by the owner are rate-limited.
fn sign_in_from(house: &House, number: i64) -> Tokens {
    let (client, moment) = (register_from(house, number), later(number));
    let device = house.access().start_device(&credentials(&client), "", from(number), moment).unwrap();
    let code = device.user_code.expose();
    assert!(house.access().decide_device_by(code, house.ap, true, &Actor::Operator, moment.now).unwrap());
    let grant = access::Grant::Device { device_code: device.device_code.expose(), poller: None };
    house.access().redeem(&credentials(&client), &grant, None, moment).unwrap()
}

#[test]
fn an_owner_can_list_and_end_sign_ins() {
    let house = house();
    let (tokens, _) = (house.tokens(house.ap), house.tokens(house.us));
    let sign_ins = house.access().sign_ins(house.ap, NOW).unwrap();
    assert_eq!(sign_ins.len(), 1);
    assert_eq!((sign_ins[0].client.name.as_str(), sign_ins[0].refreshed_at), ("ana@lab", NOW));
    let end = |account| {
        let by = Actor::Account(account);
        house.access().end_sign_in(account, &sign_ins[0].id, &by, NOW).unwrap()
    };
    assert!(!end(house.us), "somebody else's");
    assert!(end(house.ap));
    assert!(!end(house.ap));
    assert!(bearer(house.access(), tokens.access_token.expose()).is_err());
}

#[test]
fn inserting_rows_deletes_expired_rows() {
    let house = house();
    house.tokens(house.ap);
    house.code(house.ap, "");
    let database = rusqlite::Connection::open(house.fresh.dir.path().join("accounts.db")).unwrap();
    let count = |table: &str| {
        let sql = format!("select count(*) from {table} where created_at = {}", NOW.0);
        database.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((count("device_grant"), count("authorization_code")), (1, 1));
    let much_later = later(70 * 86_400);
    let device = house.access().start_device(&house.credentials(), "", HERE, much_later).unwrap();
    house.access().decide_device(device.user_code.expose(), house.ap, true, much_later.now).unwrap();
    house.poll(&device, None, much_later).unwrap();
    let query = format!("response_type=code&client_id={}", house.client.client.id);
    let request = house.access().check_authorization(&query).unwrap();
    house.access().approve_authorization(&request, house.ap, much_later.now).unwrap();
    assert_eq!((count("device_grant"), count("authorization_code")), (0, 0));
    let tokens =
        database.query_row("select count(*) from oauth_token", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(tokens, 2, "the new pair");
}

#[test]
fn a_repeatedly_refreshed_family_has_a_bounded_number_of_rows() {
    let house = house();
    let mut tokens = house.tokens(house.ap);
    for number in 1..150 {
        tokens = house.refresh(tokens.refresh_token.expose(), later(10 * number)).unwrap();
    }
    bearer(house.access(), tokens.access_token.expose()).unwrap();
    let database = rusqlite::Connection::open(house.fresh.dir.path().join("accounts.db")).unwrap();
    let rows: i64 = database.query_row("select count(*) from oauth_token", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 20 + 100 + 1, "access tokens, replaced refresh tokens, the one that is good");
}

#[test]
fn oauth_secrets_are_not_printed_or_stored_in_plaintext() {
    let house = house();
    let confidential = register(
        house.access(),
        &NewClient { auth_method: Some("client_secret_post".to_owned()), ..usual() },
    );
    let device = house.start();
    let request = house.access().pending_device(device.user_code.expose(), NOW).unwrap().unwrap();
    house.approve(&device, house.ap);
    let tokens = house.poll(&device, None, MOMENT).unwrap();
    let code = house.code(house.ap, "");
    let grant = with_code(&code);
    let all = AuditFilter { limit: 1_000, ..AuditFilter::default() };
    let audit = house.access().audit(&all).unwrap();
    let caller = bearer(house.access(), tokens.access_token.expose()).unwrap();
    let printed = format!(
        "{:?} {confidential:?} {:?} {device:?} {request:?} {tokens:?} {grant:?} {audit:?} {caller:?} {:?}",
        house.access(),
        credentials(&confidential),
        house.redeem("wrong", MOMENT),
    );
    let secrets = [
        confidential.secret.as_ref().unwrap().expose(),
        confidential.registration_token.expose(),
        device.device_code.expose(),
        device.user_code.expose(),
        &device.user_code.expose().replace('-', ""),
        tokens.access_token.expose(),
        tokens.refresh_token.expose(),
        &code,
    ];
    for secret in secrets {
        assert!(!printed.contains(secret));
        for entry in std::fs::read_dir(house.fresh.dir.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }
    assert!(
        printed.contains("tokens.issued") && printed.contains("Secret(..)"),
        "it looks at the right things"
    );
}
