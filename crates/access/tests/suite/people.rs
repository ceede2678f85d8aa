//! Tests of signing in with a password: successes, uniform refusals and audit rows.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use access::{
    AccessError, Actor, AuditFilter, BROWSER_LIFE_S, CodeRefused, Login, LoginRefused, Moment, Secret,
    SignedIn, Terms,
};
use market::Timestamp;

use crate::fixture::{Fresh, MOMENT, NOW, START, fresh};

const PASSWORD: &str = "paraffin and twine";

fn house() -> Fresh {
    let house = fresh();
    person(&house, "ann");
    house
}

fn person(house: &Fresh, name: &str) {
    let id = house.create(name, Terms::default()).account_id;
    assert!(house.access.set_password(id, &secret(PASSWORD), &Actor::Operator, NOW).unwrap());
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn from(house: &Fresh, last: u8, name: &str, password: &str) -> Result<SignedIn, LoginRefused> {
    let (password, address) = (secret(password), address(last));
    house.access.sign_in(&Login { name, password: &password, address, device: None }, MOMENT)
}

fn refused(house: &Fresh) -> Vec<(String, bool, String)> {
    let filter = AuditFilter { event: Some("login.refused"), limit: 1_000, ..AuditFilter::default() };
    let rows = house.access.audit(&filter).unwrap();
    rows.into_iter().rev().map(|row| (row.actor, row.account.is_some(), row.reason)).collect()
}

#[test]
fn a_correct_password_starts_a_twelve_hour_session() {
    let house = house();
    let signed_in = from(&house, 1, " ann ", PASSWORD).unwrap();
    let cookie = signed_in.session.expose();
    assert_eq!(cookie.len(), 43);
    let end = NOW.0 + BROWSER_LIFE_S;
    assert_eq!(signed_in.expires_at, Timestamp(end));
    let browser = house.other().browser(cookie, Timestamp(end - 1)).unwrap().unwrap();
    assert_eq!((browser.account, browser.name.as_str()), (signed_in.account, "ann"));
    assert!(house.access.browser(cookie, Timestamp(end)).unwrap().is_none());
    let again = from(&house, 1, "ann", PASSWORD).unwrap();
    assert_ne!(again.session.expose(), cookie, "every session has a cookie of its own");
    assert!(house.access.sign_out(cookie, browser.account, NOW).unwrap());
    assert!(house.access.browser(cookie, NOW).unwrap().is_none());
    assert!(house.access.browser(again.session.expose(), NOW).unwrap().is_some());
    assert!(house.access.browser(&"x".repeat(10_000), NOW).unwrap().is_none());
}

#[test]
fn every_refused_login_has_the_same_message() {
    let house = house();
    house.create("bare", Terms::default());
    person(&house, "gone");
    let gone = house.access.account_named("gone").unwrap().unwrap().id;
    house.access.revoke(gone, &Actor::Operator, "", NOW).unwrap();
    let tries = [
        ("ann", "wrong password"),
        ("nobody", PASSWORD),
        ("bare", PASSWORD),
        ("bare", ""),
        ("gone", PASSWORD),
        ("", PASSWORD),
        ("ANN", PASSWORD),
        (&"ann".repeat(1_000), PASSWORD),
        ("ann", &"x".repeat(5_000)),
    ];
    let texts: BTreeSet<String> = tries
        .iter()
        .enumerate()
        .map(|(number, (name, password))| {
            from(&house, u8::try_from(number).unwrap(), name, password).unwrap_err().to_string()
        })
        .collect();
    assert_eq!(texts, BTreeSet::from(["name or password is wrong".to_owned()]));
    let rows = refused(&house);
    let known: Vec<bool> = rows.iter().map(|(_, known, _)| *known).collect();
    assert_eq!(known, [true, false, true, true, true, false, false, false, true]);
    assert_eq!(rows[0], ("address 192.0.2.0".to_owned(), true, "wrong password".to_owned()));
    assert_eq!(rows[1].2, "unknown name");
    assert_eq!(rows[4].2, "the account is revoked");
    assert!(rows.iter().all(|(actor, _, reason)| !format!("{actor}{reason}").contains("paraffin")));
}

#[test]
fn setting_a_password_or_revoking_an_account_ends_all_sessions() {
    let house = house();
    let id = house.access.account_named("ann").unwrap().unwrap().id;
    let here = |cookie: &Secret| house.access.browser(cookie.expose(), NOW).unwrap().is_some();
    let first = from(&house, 1, "ann", PASSWORD).unwrap().session;
    assert!(here(&first));
    house.other().set_password(id, &secret("another password"), &Actor::Operator, NOW).unwrap();
    assert!(!here(&first));
    assert!(from(&house, 1, "ann", PASSWORD).is_err());
    let second = from(&house, 1, "ann", "another password").unwrap().session;
    house.access.revoke(id, &Actor::Operator, "", NOW).unwrap();
    assert!(!here(&second));
    assert!(from(&house, 1, "ann", "another password").is_err());
}

#[test]
fn an_account_without_a_password_cannot_sign_in() {
    let house = house();
    let id = house.access.account_named("ann").unwrap().unwrap().id;
    assert!(house.access.has_password(id).unwrap());
    assert!(house.access.remove_password(id, &Actor::Operator, NOW).unwrap());
    assert!(!house.access.has_password(id).unwrap());
    assert!(!house.access.remove_password(id, &Actor::Operator, NOW).unwrap());
    assert!(matches!(from(&house, 1, "ann", PASSWORD), Err(LoginRefused::Wrong)));
    let short = house.access.set_password(id, &secret("short"), &Actor::Operator, NOW);
    assert!(matches!(short, Err(AccessError::Password(_))), "{short:?}");
}

#[test]
fn guessing_is_delayed_without_locking_out_the_owner() {
    let house = house();
    let home = from(&house, 200, "ann", PASSWORD).unwrap();
    for _ in 0..5 {
        assert!(matches!(from(&house, 1, "ann", "guess"), Err(LoginRefused::Wrong)));
    }
    // An attempt with the right password must also wait, and the answer does not reveal that the
    // password was right.
    let waits = from(&house, 1, "ann", PASSWORD);
    assert!(matches!(&waits, Err(LoginRefused::Wait(wait)) if *wait == Duration::from_secs(1)), "{waits:?}");
    for last in 2..18 {
        from(&house, last, "ann", "guess").unwrap_err();
    }
    assert!(matches!(from(&house, 100, "ann", PASSWORD), Err(LoginRefused::Wait(_))), "a stranger");
    from(&house, 200, "ann", PASSWORD).unwrap();
    let (password, device) = (secret(PASSWORD), home.device.expose());
    let elsewhere = Login { name: "ann", password: &password, address: address(101), device: Some(device) };
    let known = house.access.sign_in(&elsewhere, MOMENT).unwrap();
    assert_eq!(known.device.expose(), device, "a browser stays the one it is");
    // Refused attempts are not counted as failures, so the wait ends.
    let later = Moment { uptime: START + Duration::from_secs(60), ..MOMENT };
    house.access.sign_in(&Login { address: address(100), ..elsewhere }, later).unwrap();
}

#[test]
fn a_device_cookie_is_bound_to_its_account() {
    let house = house();
    person(&house, "bob");
    let bobs = from(&house, 200, "bob", PASSWORD).unwrap().device;
    for last in 0..20 {
        from(&house, last, "ann", "guess").unwrap_err();
    }
    let password = secret(PASSWORD);
    let bent = format!("{}A", bobs.expose());
    for device in [bobs.expose(), &bent, "", "x", &"A".repeat(43), &"A".repeat(5_000)] {
        let who = Login { name: "ann", password: &password, address: address(99), device: Some(device) };
        let answer = house.access.sign_in(&who, MOMENT);
        assert!(matches!(answer, Err(LoginRefused::Wait(_))), "{device}: {answer:?}");
    }
}

#[test]
fn refused_logins_do_not_fill_the_disk() {
    let house = house();
    let password = secret("guess");
    let guess = |uptime: Duration| {
        let who = Login { name: "ann", password: &password, address: address(1), device: None };
        house.access.sign_in(&who, Moment { uptime, ..MOMENT }).unwrap_err();
    };
    (0..300).for_each(|_| guess(START));
    assert_eq!(refused(&house).len(), 60);
    guess(START + Duration::from_secs(60));
    let rows = refused(&house);
    assert_eq!(rows.len(), 62);
    assert_eq!(rows[60], ("service".to_owned(), false, "240 more in a minute before".to_owned()));
}

#[test]
fn a_csrf_token_is_bound_to_its_cookie_and_purpose() {
    let house = fresh();
    let (one, two) = (house.access.visitor().unwrap(), house.access.visitor().unwrap());
    assert_ne!(one.expose(), two.expose());
    let mark = house.access.csrf_token(one.expose(), "sign in");
    let is =
        |mark: &str, cookie: &Secret, purpose| house.access.is_csrf_token(mark, cookie.expose(), purpose);
    assert!(is(&mark, &one, "sign in"));
    assert!(house.other().is_csrf_token(&mark, one.expose(), "sign in"), "also after a restart");
    assert!(!is(&mark, &two, "sign in"));
    assert!(!is(&mark, &one, "device"));
    assert!(!is(&mark, &one, "sign"));
    for wrong in ["", "x", &mark[..20], &format!("{mark}A"), &"A".repeat(22), &"A".repeat(9_999)] {
        assert!(!is(wrong, &one, "sign in"), "{wrong}");
    }
}

#[test]
fn only_wrong_codes_are_counted() {
    let house = house();
    let id = house.access.account_named("ann").unwrap().unwrap().id;
    let look = |found: Option<u8>| house.access.guess_code(address(1), id, START, || Ok(found));
    for _ in 0..50 {
        assert_eq!(look(Some(7)).unwrap(), Some(7));
    }
    for _ in 0..5 {
        assert_eq!(look(None).unwrap(), None);
    }
    assert!(matches!(look(Some(7)), Err(CodeRefused::Wait(wait)) if wait == Duration::from_secs(600)));
}

#[test]
fn neither_passwords_nor_cookies_are_printed_or_stored() {
    let house = house();
    let password = secret(PASSWORD);
    let login = Login { name: "ann", password: &password, address: address(1), device: None };
    let signed_in = house.access.sign_in(&login, MOMENT).unwrap();
    let refused = from(&house, 2, "ann", "another guess").unwrap_err();
    let printed = format!("{login:?} {signed_in:?} {refused:?} {refused} {:?}", house.access);
    let secrets = [PASSWORD, "another guess", signed_in.session.expose(), signed_in.device.expose()];
    for text in secrets {
        assert!(!printed.contains(text), "{text}");
    }
    assert!(!printed.contains("argon2"), "nor are hashes");
    for entry in std::fs::read_dir(house.dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for text in secrets {
            assert!(!bytes.windows(text.len()).any(|window| window == text.as_bytes()));
        }
    }
}

#[test]
fn sign_ins_are_limited_to_sixty_an_hour() {
    let house = house();
    let id = house.access.account_named("ann").unwrap().unwrap().id;
    let actor = Actor::Account(id).to_string();
    let accounts = store::Accounts::open(house.dir.path(), NOW).unwrap();
    for _ in 0..59 {
        let note = store::AuditNote { at: NOW, actor: &actor, reason: "" };
        accounts.note(Some(id), "login.accepted", &note).unwrap();
    }
    from(&house, 1, "ann", PASSWORD).unwrap();
    let refused = from(&house, 1, "ann", PASSWORD).unwrap_err();
    let LoginRefused::Failed(error) = &refused else { panic!("{refused:?}") };
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3_600)));
}

#[test]
fn a_session_authenticates_requests_until_it_ends() {
    let house = house();
    let id = house.access.account_named("ann").unwrap().unwrap().id;
    let signed_in = from(&house, 1, "ann", PASSWORD).unwrap();
    let cookie = signed_in.session.expose();
    let caller = house.access.identify_browser(cookie, NOW).unwrap();
    assert_eq!((caller.account(), caller.is_browser(), caller.is_oauth()), (id, true, false));
    assert!(house.access.allowance(&caller, START).unwrap().is_some());
    let denied = |cookie: &str, now: Timestamp| {
        let denial = house.access.identify_browser(cookie, now).unwrap_err();
        assert!(matches!(denial, access::Denial::TokenInvalid(_)), "{denial:?}");
    };
    denied(cookie, signed_in.expires_at);
    denied("", NOW);
    denied(&"x".repeat(10_000), NOW);
    let browser = house.access.browser(cookie, NOW).unwrap().unwrap();
    house.other().sign_out(cookie, browser.account, NOW).unwrap();
    denied(cookie, NOW);
    let second = from(&house, 1, "ann", PASSWORD).unwrap().session;
    house.other().set_password(id, &secret("another password"), &Actor::Operator, NOW).unwrap();
    denied(second.expose(), NOW);
    let third = from(&house, 1, "ann", "another password").unwrap().session;
    let caller = house.access.identify_browser(third.expose(), NOW).unwrap();
    house.other().revoke(id, &Actor::Operator, "", NOW).unwrap();
    denied(third.expose(), NOW);
    // A caller that was authenticated before the revocation is refused at the next request.
    assert!(house.access.allowance(&caller, START).unwrap().is_none());
}

#[test]
fn a_guest_is_signed_in_without_a_password_and_audited() {
    let house = house();
    let id = house.access.account_named("ann").unwrap().unwrap().id;
    let signed_in = house.access.sign_in_guest(id, address(1), NOW).unwrap().unwrap();
    assert_eq!(house.access.identify_browser(signed_in.session.expose(), NOW).unwrap().account(), id);
    let filter = AuditFilter { event: Some("login.accepted"), limit: 10, ..AuditFilter::default() };
    let rows = house.access.audit(&filter).unwrap();
    assert_eq!((rows[0].account, rows[0].actor.as_str()), (Some(id), "address 192.0.2.1"));
    assert!(rows[0].reason.starts_with("as a guest, without a password"), "{rows:?}");
    for second in 1..=20 {
        house.access.sign_in_guest(id, address(1), Timestamp(NOW.0 + second)).unwrap().unwrap();
    }
    assert!(
        house.access.identify_browser(signed_in.session.expose(), NOW).is_err(),
        "the oldest of many goes"
    );
    house.access.revoke(id, &Actor::Operator, "", NOW).unwrap();
    assert!(house.access.sign_in_guest(id, address(1), NOW).unwrap().is_none());
}

#[test]
fn an_active_guest_is_not_evicted_by_new_guests() {
    let house = house();
    let id = house.access.account_named("ann").unwrap().unwrap().id;
    let at = |second: i64| Timestamp(NOW.0 + second);
    let guest =
        |second: i64| house.access.sign_in_guest(id, address(1), at(second)).unwrap().unwrap().session;
    let owner = from(&house, 1, "ann", PASSWORD).unwrap().session;
    let (busy, idle) = (guest(1), guest(2));
    for second in 3..100 {
        guest(second);
        house.access.identify_browser(busy.expose(), at(second)).unwrap();
    }
    assert!(house.access.identify_browser(owner.expose(), at(100)).is_ok(), "guests drive out guests alone");
    assert!(house.access.identify_browser(idle.expose(), at(100)).is_err());
    let filter = AuditFilter { event: Some("logout"), limit: 1, ..AuditFilter::default() };
    let rows = house.access.audit(&filter).unwrap();
    assert_eq!((rows[0].account, rows[0].reason.as_str()), (Some(id), "made room for another guest"));
}
