//! Tests of password links and of concurrent changes by two operators.

use std::net::IpAddr;

use access::{
    Access, AccessError, Actor, AuditFilter, LinkedAccount, Login, Moment, NewAccount, PASSWORD_LINK_LIFE_S,
    PasswordLinkRefused, Revocation, Role, Secret, Terms, TermsChange,
};
use market::Timestamp;

use crate::fixture::{Fresh, MOMENT, NOW, PRESENT, fresh};

const PASSWORD: &str = "paraffin and twine";

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn home() -> IpAddr {
    IpAddr::from([192, 0, 2, 7])
}

fn link(house: &Fresh, name: &str) -> String {
    let id = house.access.account_named(name).unwrap().unwrap().id;
    let link = house.access.issue_password_link(id, &Actor::Operator, NOW).unwrap().unwrap();
    assert_eq!(link.expires_at, Timestamp(NOW.0 + PASSWORD_LINK_LIFE_S));
    assert!(!format!("{link:?}").contains(link.token.expose()));
    link.token.expose().to_owned()
}

fn set(access: &Access, token: &str, at: Timestamp) -> Result<LinkedAccount, PasswordLinkRefused> {
    let at = Moment { now: at, ..MOMENT };
    access.set_password_by_link(token, &secret(PASSWORD), home(), at)
}

fn is_open(house: &Fresh, name: &str) -> bool {
    let password = secret(PASSWORD);
    house.access.sign_in(&Login { name, password: &password, address: home(), device: None }, MOMENT).is_ok()
}

#[test]
fn a_link_sets_the_password_once() {
    let house = fresh();
    let id = house.create("ann", Terms::default()).account_id;
    let token = link(&house, "ann");
    assert_eq!(house.access.password_link_until(id, NOW).unwrap(), Some(Timestamp(NOW.0 + 86_400)));
    // Looking up the account of a link does not consume the link.
    for _ in 0..2 {
        assert_eq!(house.access.linked_account(&token, NOW).unwrap().name, "ann");
    }
    let short = house.access.set_password_by_link(&token, &secret("short"), home(), MOMENT);
    assert!(matches!(short, Err(PasswordLinkRefused::Unfit(_))), "{short:?}");
    assert!(!is_open(&house, "ann"));
    assert_eq!(set(&house.other(), &token, NOW).unwrap().id, id);
    assert!(is_open(&house, "ann"));
    for access in [&house.access, &house.other()] {
        assert!(matches!(set(access, &token, NOW), Err(PasswordLinkRefused::Used)));
        assert!(matches!(access.linked_account(&token, NOW), Err(PasswordLinkRefused::Used)));
    }
    assert_eq!(house.access.password_link_until(id, NOW).unwrap(), None);
    let filter = AuditFilter { account: Some(id), limit: 100, ..AuditFilter::default() };
    let rows = house.access.audit(&filter).unwrap();
    assert!(!format!("{rows:?}").contains(&token) && !format!("{rows:?}").contains(PASSWORD));
    let row = rows.iter().find(|row| row.event == "password.set").unwrap();
    assert_eq!((row.actor.as_str(), row.reason.as_str()), ("address 192.0.2.7", "by a link, from 192.0.2.7"));
    assert!(rows.iter().any(|row| row.event == "login.refused" && row.reason.contains("already used")));
}

#[test]
fn a_link_is_invalidated_by_expiry_replacement_and_revocation() {
    let house = fresh();
    let id = house.create("ann", Terms::default()).account_id;
    let token = link(&house, "ann");
    let end = Timestamp(NOW.0 + PASSWORD_LINK_LIFE_S);
    assert!(house.access.linked_account(&token, Timestamp(end.0 - 1)).is_ok());
    assert!(matches!(set(&house.access, &token, end), Err(PasswordLinkRefused::Expired)));
    assert_eq!(house.access.password_link_until(id, end).unwrap(), None);
    let second = link(&house, "ann");
    assert!(matches!(set(&house.access, &token, NOW), Err(PasswordLinkRefused::Used)));
    assert!(house.access.withdraw_password_link(id, &Actor::Operator, NOW).unwrap());
    assert!(!house.access.withdraw_password_link(id, &Actor::Operator, NOW).unwrap());
    assert!(matches!(set(&house.access, &second, NOW), Err(PasswordLinkRefused::Used)));
    let third = link(&house, "ann");
    house.access.set_password(id, &secret("another one entirely"), &Actor::Operator, NOW).unwrap();
    assert!(matches!(set(&house.access, &third, NOW), Err(PasswordLinkRefused::Used)));
    let last = link(&house, "ann");
    house.access.revoke(id, &Actor::Operator, "", NOW).unwrap();
    assert!(matches!(set(&house.access, &last, NOW), Err(PasswordLinkRefused::Unknown)));
    assert!(house.access.issue_password_link(id, &Actor::Operator, NOW).unwrap().is_none());
}

#[test]
fn a_modified_link_is_refused() {
    let house = fresh();
    house.create("ann", Terms::default());
    house.create("bob", Terms::default());
    let (ann, bob) = (link(&house, "ann"), link(&house, "bob"));
    let mixed = format!("{}{}", &ann[..32], &bob[32..]);
    let long = "A".repeat(5_000);
    for wrong in ["", "x", "%%", &ann[1..], &ann[..ann.len() - 1], &ann.to_lowercase(), &mixed, &long] {
        let refused = set(&house.access, wrong, NOW);
        assert!(matches!(refused, Err(PasswordLinkRefused::Unknown)), "{wrong}: {refused:?}");
    }
    let elsewhere = fresh();
    elsewhere.create("ann", Terms::default());
    assert!(matches!(set(&elsewhere.access, &ann, NOW), Err(PasswordLinkRefused::Unknown)));
    assert!(set(&house.access, &ann, NOW).is_ok() && set(&house.access, &bob, NOW).is_ok());
}

#[test]
fn concurrent_uses_of_a_link_set_one_password() {
    let house = fresh();
    house.create("ann", Terms::default());
    let token = link(&house, "ann");
    let done: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| set(&house.access, &token, NOW).is_ok())).collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    assert_eq!(done, 1);
}

#[test]
fn a_change_based_on_stale_terms_is_refused() {
    let house = fresh();
    let id = house.create("ann", Terms::default()).account_id;
    let terms = || house.access.account(id).unwrap().unwrap().terms.clone();
    let seen = terms().to_string();
    let quota = |quota: u32| TermsChange { quota: Some(Some(quota)), ..TermsChange::default() };
    let change = |was: Option<&str>, change: TermsChange| {
        house.access.change_terms_if(id, was, change, &Actor::Operator, PRESENT)
    };
    assert!(change(Some(&seen), quota(5)).unwrap());
    assert!(matches!(change(Some(&seen), quota(9)), Err(AccessError::TermsChanged)));
    assert_eq!(terms().quota, Some(5));
    assert!(change(Some(&terms().to_string()), quota(9)).unwrap());
    assert!(change(None, quota(10)).unwrap());
    assert_eq!(terms().quota, Some(10));
}

#[test]
fn the_last_operator_cannot_be_revoked() {
    let house = fresh();
    let operator = |name: &str| {
        let new = NewAccount { role: Role::Operator, ..NewAccount::named(name, Terms::default()) };
        house.access.create(&new, &Actor::Operator, NOW).unwrap().account_id
    };
    let (one, two) = (operator("one"), operator("two"));
    let revoke =
        |id| house.access.revoke_unless_last_operator(id, &Actor::Account(one), "left", NOW).unwrap();
    assert_eq!(revoke(two), Revocation::Revoked);
    assert_eq!(revoke(two), Revocation::Unchanged);
    assert_eq!(revoke(one), Revocation::LastOfRole);
    assert!(house.access.account(one).unwrap().unwrap().revoked_at.is_none());
}
