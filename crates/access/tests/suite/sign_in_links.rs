//! One-time sign-in links: when a link is accepted and when it is refused.

use std::net::{IpAddr, Ipv4Addr};

use access::{
    Access, Actor, AuditFilter, LinkRefused, Moment, NewAccount, Role, SIGN_IN_LINK_LIFE_S, Secret,
    SignedInByLink, Terms,
};
use market::Timestamp;

use crate::fixture::{Fresh, MOMENT, NOW, START, fresh};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const NEXT: &str = "/?symbol=700.HK";

fn link(house: &Fresh) -> Secret {
    let local = house.access.local_account(&Actor::Operator, NOW).unwrap();
    house.access.issue_sign_in_link(local.id, NEXT, &Actor::Operator, NOW).unwrap()
}

fn open(access: &Access, token: &str) -> Result<SignedInByLink, LinkRefused> {
    access.redeem_sign_in_link(token, HERE, MOMENT)
}

fn after(seconds: i64) -> Moment {
    Moment { now: Timestamp(NOW.0 + seconds), uptime: START }
}

fn refusals(house: &Fresh) -> Vec<(bool, String)> {
    let filter = AuditFilter { event: Some("login.refused"), limit: 100, ..AuditFilter::default() };
    let rows = house.access.audit(&filter).unwrap();
    rows.into_iter().rev().map(|row| (row.account.is_some(), row.reason)).collect()
}

#[test]
fn a_link_signs_in_the_local_account_once() {
    let house = fresh();
    let token = link(&house);
    assert_eq!(token.expose().len(), 43);
    let signed_in = open(&house.access, token.expose()).unwrap();
    assert_eq!(signed_in.next, NEXT);
    let browser = house.access.browser(signed_in.session.expose(), NOW).unwrap().unwrap();
    assert_eq!((browser.account, browser.name.as_str()), (signed_in.account, "local"));
    let again = open(&house.access, token.expose());
    assert!(
        matches!(&again, Err(LinkRefused::Used { account, next }) if *account == signed_in.account && next == NEXT),
        "{again:?}"
    );
    assert_eq!(refusals(&house), [(true, "the one-time link was already used".to_owned())]);
    // Neither the database nor its write-ahead log contains the token.
    for name in ["accounts.db", "accounts.db-wal"] {
        let bytes = std::fs::read(house.dir.path().join(name)).unwrap_or_default();
        assert!(!bytes.windows(43).any(|text| text == token.expose().as_bytes()), "{name}");
    }
}

#[test]
fn an_expired_forged_or_foreign_link_is_refused() {
    let house = fresh();
    let token = link(&house);
    let text = token.expose();
    let late = house.access.redeem_sign_in_link(text, HERE, after(SIGN_IN_LINK_LIFE_S));
    assert!(matches!(late, Err(LinkRefused::Expired)), "{late:?}");
    let (shorter, longer) = (&text[1..], "A".repeat(10_000));
    for forged in ["", "x", shorter, longer.as_str(), &text.to_lowercase(), &format!("{text}A")] {
        assert!(matches!(open(&house.access, forged), Err(LinkRefused::Unknown)), "{forged}");
    }
    // The same store is opened by another process, as after a restart.
    let restarted = open(&house.other(), text);
    assert!(matches!(restarted, Err(LinkRefused::OfAnotherServer)), "{restarted:?}");
    // None of the refused attempts has consumed the link.
    assert!(house.access.redeem_sign_in_link(text, HERE, after(SIGN_IN_LINK_LIFE_S - 1)).is_ok());
    let words = refusals(&house).iter().map(|(_, reason)| reason.clone()).collect::<Vec<_>>().join("\n");
    for words_of in [
        "has expired",
        "was not issued by this server",
        "issued by another server, or by one that has stopped",
    ] {
        assert!(words.contains(words_of), "{words}");
    }
    assert!(!words.contains(text));
}

#[test]
fn the_local_account_is_an_unlimited_operator() {
    let house = fresh();
    let local = || house.access.local_account(&Actor::Operator, NOW).unwrap();
    let first = local();
    assert_eq!((first.name.as_str(), first.role), ("local", Role::Operator));
    assert!(first.terms.is_unlimited() && first.is_local());
    assert!(!house.access.has_password(first.id).unwrap());
    assert_eq!(local().id, first.id, "there is one");
    house.access.revoke(first.id, &Actor::Operator, "", NOW).unwrap();
    house.create("local-2", Terms::default());
    let third = local();
    assert_eq!(third.name, "local-3", "neither a revoked one nor one that somebody else made");
    let own = NewAccount { role: Role::Operator, ..NewAccount::named("me", Terms::unlimited()) };
    house.access.create(&own, &Actor::Operator, NOW).unwrap();
    assert!(!house.access.account_named("me").unwrap().unwrap().is_local());
}

#[test]
fn a_link_of_a_revoked_account_is_refused() {
    let house = fresh();
    let token = link(&house);
    let local = house.access.local_account(&Actor::Operator, NOW).unwrap();
    house.access.revoke(local.id, &Actor::Operator, "", NOW).unwrap();
    assert!(matches!(open(&house.access, token.expose()), Err(LinkRefused::Unknown)));
}
