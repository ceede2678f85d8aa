//! Tests of password links, and of the refusal to revoke the last account of a role.

use market::Timestamp;
use store::{
    AccountId, Accounts, AuditFilter, AuditId, Credential, NewAccountRow, PasswordLinkRow, Revocation,
};

use crate::accounts::{add, note};
use crate::fixture::{Home, NOW};

const LATER: Timestamp = Timestamp(NOW.0 + 60);

fn fresh() -> (Home, Accounts) {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    (home, accounts)
}

fn events(accounts: &Accounts, id: AccountId) -> Vec<String> {
    let filter = AuditFilter { account: Some(id), limit: 100, ..AuditFilter::default() };
    accounts.audit(&filter).unwrap().into_iter().rev().skip(1).map(|row| row.event).collect()
}

#[test]
fn a_link_is_valid_until_the_password_changes() {
    let (_dir, accounts) = fresh();
    let (ann, bob) = (add(&accounts, "ann").unwrap(), add(&accounts, "bob").unwrap());
    assert_eq!(accounts.password_link(ann).unwrap(), None);
    let first = accounts.issue_password_link(ann, &note(NOW)).unwrap().unwrap();
    assert_eq!((first.issued_at, accounts.password_link(ann).unwrap()), (NOW, Some(first)));
    let second = accounts.issue_password_link(ann, &note(LATER)).unwrap().unwrap();
    assert!(
        !accounts.set_password_by_link(ann, first, "hash", &note(LATER)).unwrap(),
        "there is a newer one"
    );
    assert!(!accounts.set_password_by_link(bob, second, "hash", &note(LATER)).unwrap(), "it is of another");
    let restored = PasswordLinkRow { issued_at: NOW, ..second };
    assert!(!accounts.set_password_by_link(ann, restored, "hash", &note(LATER)).unwrap());
    assert!(accounts.begin_guest(ann, &[1; 32], Timestamp(LATER.0 + 1_000), &note(NOW)).unwrap());
    assert!(accounts.set_password_by_link(ann, second, "hash", &note(LATER)).unwrap());
    assert!(!accounts.set_password_by_link(ann, second, "other", &note(LATER)).unwrap(), "it was used");
    assert_eq!(accounts.person("ann").unwrap().unwrap().password.as_deref(), Some("hash"));
    assert!(accounts.browser(&[1; 32], LATER).unwrap().is_none(), "former sessions have ended");
    let third = accounts.issue_password_link(ann, &note(LATER)).unwrap().unwrap();
    assert!(accounts.set_password(ann, None, &note(LATER)).unwrap());
    assert!(!accounts.set_password_by_link(ann, third, "hash", &note(LATER)).unwrap());
    assert_eq!(
        events(&accounts, ann),
        [
            "password.link.issued",
            "password.link.issued",
            "login.accepted",
            "password.set",
            "password.link.issued",
            "password.removed",
        ]
    );
}

#[test]
fn a_link_can_be_withdrawn_and_a_revoked_account_has_none() {
    let (_dir, accounts) = fresh();
    let ann = add(&accounts, "ann").unwrap();
    assert!(!accounts.withdraw_password_link(ann, &note(NOW)).unwrap());
    let link = accounts.issue_password_link(ann, &note(NOW)).unwrap().unwrap();
    assert!(accounts.withdraw_password_link(ann, &note(NOW)).unwrap());
    assert!(!accounts.withdraw_password_link(ann, &note(NOW)).unwrap());
    assert!(!accounts.set_password_by_link(ann, link, "hash", &note(NOW)).unwrap());
    let link = accounts.issue_password_link(ann, &note(NOW)).unwrap().unwrap();
    accounts.revoke(ann, &note(NOW)).unwrap();
    assert_eq!(accounts.password_link(ann).unwrap(), None);
    assert!(!accounts.set_password_by_link(ann, link, "hash", &note(NOW)).unwrap());
    assert_eq!(accounts.issue_password_link(ann, &note(NOW)).unwrap(), None);
    assert_eq!(accounts.issue_password_link(AccountId(99), &note(NOW)).unwrap(), None);
    let unknown = PasswordLinkRow { id: AuditId(1), issued_at: NOW };
    assert!(!accounts.set_password_by_link(AccountId(99), unknown, "hash", &note(NOW)).unwrap());
}

#[test]
fn the_last_account_of_a_role_cannot_be_revoked() {
    let (_dir, accounts) = fresh();
    let operator = |name: &str| {
        let id = accounts.take_id().unwrap();
        let plain = add(&accounts, &format!("plain {name}")).unwrap();
        let terms = accounts.account(plain).unwrap().unwrap().terms;
        let account = NewAccountRow {
            name: name.to_owned(),
            region: "ap".to_owned(),
            role: "operator".to_owned(),
            created_at: NOW,
            terms,
            rights: Vec::new(),
        };
        let credential = Credential {
            app_key: format!("operator {name}"),
            account: id,
            app_secret: vec![1],
            token_hash: [u8::try_from(200 + id.0).unwrap(); 32],
            token_expires_at: LATER,
            created_at: NOW,
        };
        accounts.add(id, &account, &credential, &note(NOW)).unwrap();
        (id, plain)
    };
    let ((one, plain), (two, _)) = (operator("one"), operator("two"));
    let revoke = |id: AccountId| accounts.revoke_unless_last(id, "operator", &note(NOW)).unwrap();
    assert_eq!(revoke(one), Revocation::Revoked);
    assert_eq!(revoke(one), Revocation::Unchanged);
    assert_eq!(revoke(two), Revocation::LastOfRole);
    assert_eq!(accounts.account(two).unwrap().unwrap().revoked_at, None);
    assert_eq!(revoke(plain), Revocation::Revoked);
    assert_eq!(revoke(AccountId(99)), Revocation::Unchanged);
    let epoch = accounts.account(one).unwrap().unwrap().epoch;
    assert_eq!((epoch, events(&accounts, one)), (1, vec!["account.revoked".to_owned()]));
}
