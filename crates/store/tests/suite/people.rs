//! Tests of passwords and browser sessions.

use market::Timestamp;
use store::{AccountId, Accounts, AuditFilter, LinkOutcome, NewLink};

use crate::accounts::{add, note};
use crate::fixture::{Home, NOW};

const LATER: Timestamp = Timestamp(NOW.0 + 1_000);

fn account(accounts: &Accounts, name: &str) -> AccountId {
    add(accounts, name).unwrap()
}

fn events(accounts: &Accounts, id: AccountId) -> Vec<String> {
    let filter = AuditFilter { account: Some(id), limit: 100, ..AuditFilter::default() };
    accounts.audit(&filter).unwrap().into_iter().rev().skip(1).map(|row| row.event).collect()
}

fn fresh() -> (Home, Accounts) {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    (home, accounts)
}

#[test]
fn password_changes_are_audited() {
    let (_dir, accounts) = fresh();
    let id = account(&accounts, "ann");
    assert_eq!(accounts.person("ann").unwrap().unwrap().password, None);
    assert!(!accounts.set_password(id, None, &note(NOW)).unwrap(), "there is none to remove");
    assert!(accounts.set_password(id, Some("one"), &note(NOW)).unwrap());
    assert!(accounts.has_password(id).unwrap());
    assert!(accounts.set_password(id, Some("two"), &note(NOW)).unwrap());
    let person = accounts.person("ann").unwrap().unwrap();
    assert_eq!((person.account, person.revoked, person.password.as_deref()), (id, false, Some("two")));
    assert!(!format!("{person:?}").contains("two"));
    assert!(accounts.set_password(id, None, &note(NOW)).unwrap());
    assert!(!accounts.has_password(id).unwrap());
    assert!(!accounts.set_password(AccountId(99), Some("x"), &note(NOW)).unwrap());
    assert!(accounts.person("Ann").unwrap().is_none());
    assert_eq!(events(&accounts, id), ["password.set", "password.set", "password.removed"]);
}

#[test]
fn a_session_lasts_until_it_expires_or_is_ended() {
    let (_dir, accounts) = fresh();
    let id = account(&accounts, "ann");
    accounts.set_password(id, Some("hash"), &note(NOW)).unwrap();
    assert!(accounts.begin_browser((id, "hash"), &[1; 32], LATER, &note(NOW)).unwrap());
    let row = accounts.browser(&[1; 32], Timestamp(LATER.0 - 1)).unwrap().unwrap();
    assert_eq!((row.account, row.name.as_str(), row.expires_at), (id, "ann", LATER));
    assert!(accounts.browser(&[1; 32], LATER).unwrap().is_none());
    assert!(accounts.browser(&[2; 32], NOW).unwrap().is_none());
    assert!(accounts.end_browser(&[1; 32], &note(NOW)).unwrap());
    assert!(!accounts.end_browser(&[1; 32], &note(NOW)).unwrap());
    assert!(accounts.browser(&[1; 32], NOW).unwrap().is_none());
    assert_eq!(events(&accounts, id), ["password.set", "login.accepted", "logout"]);
}

#[test]
fn a_new_password_or_revocation_ends_the_accounts_sessions() {
    let (_dir, accounts) = fresh();
    let (ann, bob) = (account(&accounts, "ann"), account(&accounts, "bob"));
    for (id, mark) in [(ann, 1), (ann, 2), (bob, 3)] {
        accounts.set_password(id, Some("hash"), &note(NOW)).unwrap();
        accounts.begin_browser((id, "hash"), &[mark; 32], LATER, &note(NOW)).unwrap();
    }
    let here = |mark: u8| accounts.browser(&[mark; 32], NOW).unwrap().is_some();
    accounts.set_password(ann, Some("other"), &note(NOW)).unwrap();
    assert_eq!([here(1), here(2), here(3)], [false, false, true]);
    accounts.revoke(bob, &note(NOW)).unwrap();
    assert!(!here(3));
}

#[test]
fn an_outdated_password_begins_no_session() {
    let (_dir, accounts) = fresh();
    let id = account(&accounts, "ann");
    accounts.set_password(id, Some("new"), &note(NOW)).unwrap();
    assert!(!accounts.begin_browser((id, "old"), &[1; 32], LATER, &note(NOW)).unwrap());
    accounts.revoke(id, &note(NOW)).unwrap();
    assert!(!accounts.begin_browser((id, "new"), &[1; 32], LATER, &note(NOW)).unwrap());
    assert!(accounts.browser(&[1; 32], NOW).unwrap().is_none());
    assert!(!events(&accounts, id).contains(&"login.accepted".to_owned()));
}

#[test]
fn the_twenty_first_session_ends_the_oldest() {
    let (home, accounts) = fresh();
    let id = account(&accounts, "ann");
    accounts.set_password(id, Some("hash"), &note(NOW)).unwrap();
    for number in 0..23_u8 {
        let at = Timestamp(NOW.0 + i64::from(number));
        accounts.begin_browser((id, "hash"), &[number; 32], LATER, &note(at)).unwrap();
    }
    let there: Vec<u8> =
        (0..23).filter(|number| accounts.browser(&[*number; 32], NOW).unwrap().is_some()).collect();
    assert_eq!(there, (3..23).collect::<Vec<_>>());
    // Expired sessions are removed when another account signs in.
    let other = account(&accounts, "bob");
    accounts.set_password(other, Some("hash"), &note(NOW)).unwrap();
    accounts.begin_browser((other, "hash"), &[99; 32], Timestamp(LATER.0 + 9), &note(LATER)).unwrap();
    assert_eq!(home.number("accounts", "select count(*) from browser_session"), 1);
}

#[test]
fn a_one_time_link_signs_in_once_at_its_server_until_it_expires() {
    let (home, accounts) = fresh();
    let id = account(&accounts, "ann");
    let link = |mark: u8| NewLink {
        hash: [mark; 32],
        account: id,
        server: "here",
        next: "/?symbol=700.HK",
        expires_at: LATER,
    };
    for mark in [1, 2, 3] {
        accounts.add_link(&link(mark), &note(NOW)).unwrap();
    }
    let open = |mark: u8, server: &str, session: u8, at: Timestamp| {
        accounts
            .redeem_link(&[mark; 32], server, (&[session; 32], Timestamp(LATER.0 + 9)), &note(at))
            .unwrap()
    };
    let next = || "/?symbol=700.HK".to_owned();
    assert_eq!(open(9, "here", 1, NOW), LinkOutcome::Unknown);
    assert_eq!(open(1, "there", 1, NOW), LinkOutcome::OfAnotherServer { account: id });
    assert_eq!(open(1, "here", 1, LATER), LinkOutcome::Expired { account: id });
    assert!(accounts.browser(&[1; 32], NOW).unwrap().is_none(), "a refusal begins nothing");
    assert_eq!(open(1, "here", 1, NOW), LinkOutcome::SignedIn { account: id, next: next() });
    assert_eq!(accounts.browser(&[1; 32], NOW).unwrap().unwrap().account, id);
    assert_eq!(open(1, "here", 2, NOW), LinkOutcome::Used { account: id, next: next() });
    assert!(accounts.browser(&[2; 32], NOW).unwrap().is_none());
    assert_eq!(
        events(&accounts, id),
        ["link.issued", "link.issued", "link.issued", "login.accepted"],
        "each that was given out is written down, and the one sign-in"
    );
    accounts.revoke(id, &note(NOW)).unwrap();
    assert_eq!(open(2, "here", 3, NOW), LinkOutcome::Unknown);
    // An expired link is reported as expired for a day, and then removed.
    let left = || home.number("accounts", "select count(*) from sign_in_link");
    let day_after = Timestamp(LATER.0 + 86_400);
    accounts.remove_expired(Timestamp(day_after.0 - 1)).unwrap();
    assert_eq!(left(), 3);
    accounts.remove_expired(day_after).unwrap();
    assert_eq!(left(), 0);
}
