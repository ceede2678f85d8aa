//! Credentials grant exactly the scopes with which they were issued.

use access::{Caller, Demand, Denial, Freshness, Level, Refusal, Right, Role, Scope};

use super::*;
use crate::fixture::{bearer, symbol};

const SCOPES: [Scope; 4] = [Scope::Quote, Scope::Trade, Scope::Account, Scope::Operator];

/// Lists the scopes to which a caller is admitted, and the reasons for refusing the other scopes.
fn describe(access: &Access, caller: &Caller) -> String {
    let actual = SCOPES.map(|scope| match access.admit_within(caller, scope, Freshness::Fresh, NOW) {
        Ok(_) => scope.as_str().to_owned(),
        Err(Refusal::ScopeMissing { scope: lacking }) if lacking == scope => "-".to_owned(),
        Err(Refusal::NotOperator(why)) => format!("{why:?}").to_lowercase(),
        Err(other) => panic!("{other:?}"),
    });
    actual.join(" ")
}

#[test]
fn account_credentials_have_all_scopes() {
    let fresh = fresh();
    let caller = |name: &str, role| {
        let new = NewAccount { role, ..NewAccount::named(name, Terms::default()) };
        let created = fresh.access.create(&new, &Actor::Operator, NOW).unwrap();
        bearer(&fresh.access, created.access_token.expose()).unwrap()
    };
    let (user, operator) = (caller("alice", Role::User), caller("olga", Role::Operator));
    assert_eq!(describe(&fresh.access, &user), "quote trade account role");
    assert_eq!(describe(&fresh.access, &operator), "quote trade account operator");
    // A token in a URL may be seen by others, so it has fewer scopes.
    assert_eq!(describe(&fresh.access, &user.in_address()), "quote - - role");
    assert_eq!(describe(&fresh.access, &operator.in_address()), "quote - - address");
    fresh.other().revoke(operator.account(), &Actor::Operator, "", NOW).unwrap();
    let revoked = fresh.access.admit_within(&operator, Scope::Operator, Freshness::Fresh, NOW);
    assert!(matches!(revoked, Err(Refusal::Revoked)), "{revoked:?}");
}

#[test]
fn an_oauth_client_has_only_the_scopes_of_its_token() {
    let house = house();
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("olga", Terms::default()) };
    let operator = house.access().create(&new, &Actor::Operator, NOW).unwrap().account_id;
    let path = house.fresh.dir.path().join("accounts.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    for (account, role) in [(house.ap, "role"), (operator, "program")] {
        let tokens = house.tokens(account);
        for (scope, wanted) in [
            ("openapi", "quote trade account"),
            ("quote", "quote - -"),
            ("trade", "- trade -"),
            ("account", "- - account"),
            ("quote account operator", "quote - account"),
        ] {
            database.execute("update oauth_token set scope = $1", [scope]).unwrap();
            store::seal_as_it_is(&path).unwrap();
            let caller = bearer(house.access(), tokens.access_token.expose()).unwrap();
            assert_eq!(describe(house.access(), &caller), format!("{wanted} {role}"), "{scope}");
        }
    }
}

#[test]
fn candles_and_connections_require_a_quote_or_trade_scope() {
    let house = house();
    let (access, tokens) = (house.access(), house.tokens(house.ap));
    let path = house.fresh.dir.path().join("accounts.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute("update oauth_token set scope = 'account'", []).unwrap();
    store::seal_as_it_is(&path).unwrap();
    let caller = bearer(access, tokens.access_token.expose()).unwrap();
    let permit = access.admit_within(&caller, Scope::Account, Freshness::Fresh, NOW).unwrap();
    let cache = permit.admission_cache(&caller);
    for refused in [
        access.admit_rate(&caller, START).map(drop),
        access.admit_rate_again(&caller, 1, &cache, START).map(drop),
        access.admit(Demand::Quotes { caller: &caller, market: Right::Hk }, NOW).map(drop),
        access.admit(Demand::Open { caller: &caller }, NOW).map(drop),
    ] {
        assert!(matches!(refused, Err(Refusal::ScopeMissing { scope: Scope::Quote })), "{refused:?}");
    }
    let otp = access.issue_otp(&caller, START);
    assert!(matches!(otp, Err(Denial::ScopeMissing)), "{otp:?}");
    database.execute("update oauth_token set scope = 'quote'", []).unwrap();
    store::seal_as_it_is(&path).unwrap();
    let caller = bearer(access, tokens.access_token.expose()).unwrap();
    let ticket = access.admit_rate(&caller, START).unwrap();
    drop(access.admit(Demand::History { ticket, symbol: &symbol("700.HK") }, NOW).unwrap());
    let otp = access.issue_otp(&caller.in_address(), START);
    assert!(matches!(otp, Err(Denial::ScopeMissing)), "{otp:?}");
}

/// A connection that signs on with a token has only the scopes of the token, and so does a
/// connection that resumes its session.
#[test]
fn a_connection_has_the_scopes_of_its_token() {
    let house = house();
    let (access, tokens) = (house.access(), house.tokens(house.ap));
    let path = house.fresh.dir.path().join("accounts.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    for (scope, wanted) in
        [("openapi", "quote trade account role"), ("quote", "quote - - role"), ("trade", "- trade - role")]
    {
        database.execute("update oauth_token set scope = $1", [scope]).unwrap();
        store::seal_as_it_is(&path).unwrap();
        let caller = bearer(access, tokens.access_token.expose()).unwrap();
        let otp = access.issue_otp(&caller, START).unwrap();
        let first = access.sign_on(otp.expose(), None, MOMENT).unwrap();
        assert_eq!(describe(access, &first.caller), wanted);
        let second = access.resume(first.session.id.expose(), None, NOW).unwrap();
        assert_eq!(describe(access, &second.caller), wanted);
    }
}

#[test]
fn spending_a_scope_permit_records_a_new_level() {
    let fresh = fresh();
    let caller = fresh.caller("alice", Terms { level: Level::new(3), ..Terms::default() });
    let permit = || fresh.access.admit_within(&caller, Scope::Account, Freshness::Fresh, NOW).unwrap();
    assert_eq!(fresh.access.standing_for(&permit()).unwrap().level.number(), 3);
    assert!(!permit().is_free(), "of its level nothing is known yet");
    let changes = || {
        let filter = AuditFilter { event: Some("level.changed"), limit: 10, ..Default::default() };
        fresh.access.audit(&filter).unwrap().len()
    };
    assert_eq!(changes(), 0);
    fresh.access.spend(permit(), NOW).unwrap();
    fresh.access.spend(permit(), NOW).unwrap();
    assert_eq!(changes(), 1);
}
