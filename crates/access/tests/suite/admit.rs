use std::sync::Barrier;
use std::time::Duration;

use access::{
    Access, Actor, Allowance, Caller, Demand, Freshness, Hold, Level, Permit, RateRule, Refusal, Right,
    Rights, Terms, Validity,
};
use market::Timestamp;

use crate::fixture::{NOW, PRESENT, START, caller_with, create, fresh, symbol};

fn quota(number: u32) -> Terms {
    Terms { quota: Some(number), rate: Some(RateRule::Unlimited), ..Terms::default() }
}

fn admit(access: &Access, caller: &Caller, text: &str, now: Timestamp) -> Result<Permit, Refusal> {
    let ticket = access.admit_rate(caller, START)?;
    access.admit(Demand::History { ticket, symbol: &symbol(text) }, now)
}

/// Admits a request and charges it, as for a complete request.
fn ask_at(access: &Access, caller: &Caller, text: &str, now: Timestamp) -> Result<(), Refusal> {
    access.spend(admit(access, caller, text, now)?, NOW)
}

fn ask(access: &Access, caller: &Caller, text: &str) -> Result<(), Refusal> {
    ask_at(access, caller, text, NOW)
}

fn used(access: &Access, caller: &Caller) -> u32 {
    access.usage(caller.account(), NOW).unwrap().unwrap().used
}

#[test]
fn the_rate_limit_is_sixty_requests_in_thirty_seconds() {
    let fresh = fresh();
    let caller = fresh.caller("alice", Terms::default());
    for at in 0..60 {
        drop(fresh.access.admit_rate(&caller, START + Duration::from_millis(at)).unwrap());
    }
    let refusal = fresh.access.admit_rate(&caller, START + Duration::from_millis(600)).unwrap_err();
    assert!(
        matches!(refusal, Refusal::TooFast { requests: 60, seconds: 30, retry_after }
            if retry_after == Duration::from_millis(29_400)),
        "{refusal:?}"
    );
    assert_eq!(refusal.to_string(), "more than 60 history requests in 30 s: try again in 29.4 s");
    // The wait is rounded up, so that a client that waits for the time in the message does not
    // retry too early.
    let refusal = fresh.access.admit_rate(&caller, START + Duration::from_millis(29_999)).unwrap_err();
    assert!(refusal.to_string().ends_with("try again in 0.1 s"), "{refusal}");
    drop(fresh.access.admit_rate(&caller, START + Duration::from_secs(30)).unwrap());
}

#[test]
fn the_allowance_follows_the_account_rate_limit() {
    let fresh = fresh();
    let terms = |text: &str| Terms { rate: Some(text.parse().unwrap()), ..Terms::default() };
    let (slow, free) = (fresh.caller("slow", terms("3/10")), fresh.caller("free", terms("unlimited")));
    let allowance = |caller, at| fresh.access.allowance(caller, START + Duration::from_secs(at)).unwrap();
    let describe = |remaining, more_in| {
        Some(Allowance { limit: 3, seconds: 10, remaining, more_in: Duration::from_secs(more_in) })
    };
    assert_eq!(allowance(&slow, 0), describe(3, 0));
    drop(fresh.access.admit_rate_of(&slow, 2, Freshness::Fresh, START).unwrap());
    assert_eq!(allowance(&slow, 4), describe(1, 6));
    fresh.access.admit_rate_of(&slow, 2, Freshness::Fresh, START + Duration::from_secs(4)).unwrap_err();
    assert_eq!(allowance(&slow, 4), describe(1, 6));
    assert_eq!(allowance(&free, 0), None);
    assert!(fresh.access.revoke(slow.account(), &Actor::Operator, "", NOW).unwrap());
    assert_eq!(allowance(&slow, 4), None);
}

#[test]
fn an_account_can_have_its_own_rate_limit_or_none() {
    let fresh = fresh();
    let terms = |text: &str| Terms { rate: Some(text.parse().unwrap()), ..Terms::default() };
    let (slow, free) = (fresh.caller("slow", terms("1/10")), fresh.caller("free", terms("unlimited")));
    drop(fresh.access.admit_rate(&slow, START).unwrap());
    fresh.access.admit_rate(&slow, START).unwrap_err();
    assert!((0..500).all(|_| fresh.access.admit_rate(&free, START).is_ok()));
}

#[test]
fn only_granted_markets_are_served() {
    let fresh = fresh();
    let rights = Rights::NONE.with(Right::Hk).with(Right::Cn);
    let access = &fresh.access;
    let caller = caller_with(access, "alice", rights, quota(10));
    ask(access, &caller, "700.HK").unwrap();
    ask(access, &caller, "600519.SH").unwrap();
    ask(access, &caller, "000001.SZ").unwrap();
    let refusal = ask(access, &caller, "AAPL.US").unwrap_err();
    assert!(matches!(refusal, Refusal::NoAccess { right: Right::Us, hold: Hold::Never }), "{refusal:?}");
    assert_eq!(refusal.to_string(), "this account lacks the right US: ask the operator to grant it");
    let quotes = |market| access.admit(Demand::Quotes { caller: &caller, market }, NOW);
    assert!(quotes(Right::Hk).is_ok());
    assert!(matches!(quotes(Right::Sg), Err(Refusal::NoAccess { right: Right::Sg, .. })));
    assert!(access.admit(Demand::Open { caller: &caller }, NOW).is_ok());
    assert_eq!(used(access, &caller), 3, "what was refused is not charged");
}

#[test]
fn a_missing_right_is_reported_before_a_spent_quota() {
    let fresh = fresh();
    let caller = caller_with(&fresh.access, "alice", Rights::NONE.with(Right::Hk), quota(0));
    assert!(matches!(ask(&fresh.access, &caller, "AAPL.US"), Err(Refusal::NoAccess { .. })));
    assert!(matches!(ask(&fresh.access, &caller, "700.HK"), Err(Refusal::QuotaSpent { .. })));
}

#[test]
fn a_permit_shows_the_rights_of_the_account() {
    let fresh = fresh();
    for overnight in [false, true] {
        let name = format!("overnight {overnight}");
        let rights = if overnight { Rights::default().with(Right::UsOvernight) } else { Rights::default() };
        let caller = caller_with(&fresh.access, &name, rights, Terms::default());
        let permit = fresh.access.admit(Demand::Open { caller: &caller }, NOW).unwrap();
        assert_eq!((permit.overnight(), permit.account().name.as_str()), (overnight, name.as_str()));
        fresh.access.spend(permit, NOW).unwrap();
    }
}

#[test]
fn only_the_first_successful_answer_is_charged() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", quota(2));
    // The request is admitted but fails, so its permit is dropped unspent.
    drop(admit(access, &caller, "700.HK", NOW).unwrap());
    assert_eq!(used(access, &caller), 0);
    for text in ["700.HK", "700.HK", "00700.hk", "AAPL.US"] {
        ask(access, &caller, text).unwrap();
    }
    assert_eq!(used(access, &caller), 2);
    let refusal = ask(access, &caller, "5.HK").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "this account has used 2 of 2 securities in 2026-08 (level 1, with its own limit): these stay \
         available, others become available on 2026-09-01 (Hong Kong time)"
    );
    ask(access, &caller, "700.HK").unwrap();
    assert_eq!(used(access, &caller), 2);
    // A process started later reads the same usage.
    let other = fresh.other();
    ask(&other, &caller, "AAPL.US").unwrap();
    assert!(matches!(ask(&other, &caller, "5.HK"), Err(Refusal::QuotaSpent { used: 2, .. })));
}

#[test]
fn the_level_sets_the_default_quota() {
    let fresh = fresh();
    let level = Level::new(2);
    let terms = Terms { level, rate: Some(RateRule::Unlimited), ..Terms::default() };
    let caller = fresh.caller("alice", Terms { quota: Some(1), ..terms.clone() });
    ask(&fresh.access, &caller, "1.HK").unwrap();
    let own = ask(&fresh.access, &caller, "2.HK").unwrap_err();
    assert!(matches!(own, Refusal::QuotaSpent { used: 1, limit: 1, own_quota: true, .. }), "{own:?}");
    fresh.other().change_terms(caller.account(), &terms, &Actor::Operator, PRESENT).unwrap();
    ask(&fresh.access, &caller, "2.HK").unwrap();
    let limit = fresh.access.usage(caller.account(), NOW).unwrap().unwrap().limit;
    assert_eq!(limit, 400);
}

#[test]
fn the_quota_resets_at_midnight_in_hong_kong() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", quota(1));
    // 2026-09-01T00:00:00+08:00, when it is still August in New York.
    let midnight = Timestamp(1_788_192_000);
    let last = Timestamp(midnight.0 - 1);
    ask_at(access, &caller, "AAPL.US", last).unwrap();
    let refusal = ask_at(access, &caller, "MSFT.US", last).unwrap_err();
    assert!(
        matches!(refusal, Refusal::QuotaSpent { resets, .. } if resets.to_string() == "2026-09-01"),
        "{refusal:?}"
    );
    ask_at(access, &caller, "MSFT.US", midnight).unwrap();
    // Neither unused quota nor paid securities carry over.
    ask_at(access, &caller, "AAPL.US", midnight).unwrap_err();
}

#[test]
fn changes_by_another_process_apply_to_the_next_request() {
    let fresh = fresh();
    let access = &fresh.access;
    let other = fresh.other();
    let caller = fresh.caller("alice", quota(10));
    ask(access, &caller, "700.HK").unwrap();
    let id = caller.account();
    assert!(other.withdraw(id, Right::Hk, &Actor::Operator, NOW).unwrap());
    assert!(matches!(
        ask(access, &caller, "700.HK"),
        Err(Refusal::NoAccess { right: Right::Hk, hold: Hold::Never })
    ));
    assert!(other.grant(id, Right::Hk, Validity::ALWAYS, &Actor::Operator, NOW).unwrap());
    other.change_terms(id, &quota(1), &Actor::Operator, PRESENT).unwrap();
    ask(access, &caller, "700.HK").unwrap();
    assert!(matches!(ask(access, &caller, "5.HK"), Err(Refusal::QuotaSpent { limit: 1, .. })));
    other.revoke(id, &Actor::Operator, "", NOW).unwrap();
    assert!(matches!(ask(access, &caller, "700.HK"), Err(Refusal::Revoked)));
    let open = access.admit(Demand::Open { caller: &caller }, NOW);
    assert!(matches!(open, Err(Refusal::Revoked)));
    let quotes = access.admit(Demand::Quotes { caller: &caller, market: Right::Hk }, NOW);
    assert!(matches!(quotes, Err(Refusal::Revoked)));
}

#[test]
fn one_of_two_racing_requests_gets_the_last_unit_of_quota() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", quota(1));
    let [first, second] = ["1.HK", "2.HK"].map(|text| admit(access, &caller, text, NOW).unwrap());
    let same = admit(access, &caller, "1.HK", NOW).unwrap();
    access.spend(first, NOW).unwrap();
    let refusal = access.spend(second, NOW).unwrap_err();
    assert!(matches!(refusal, Refusal::QuotaSpent { used: 1, limit: 1, .. }), "{refusal:?}");
    // The second request for the same security is not charged again.
    access.spend(same, NOW).unwrap();
    assert_eq!(used(access, &caller), 1);
}

#[test]
fn concurrent_requests_get_exactly_the_quota() {
    const LIMIT: u32 = 25;
    let fresh = fresh();
    let other = fresh.other();
    let caller = fresh.caller("alice", quota(LIMIT));
    let start = Barrier::new(6);
    let granted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let (start, caller) = (&start, &caller);
                let access = if thread % 2 == 0 { &fresh.access } else { &other };
                scope.spawn(move || {
                    start.wait();
                    let texts = (0..10).map(|at| format!("{}.HK", 1 + thread * 10 + at));
                    texts.filter(|text| ask(access, caller, text).is_ok()).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, LIMIT as usize);
    assert_eq!(used(&other, &caller), LIMIT);
}

#[test]
fn a_paid_security_is_served_from_the_cache() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", quota(1));
    ask(access, &caller, "700.HK").unwrap();
    // The usage is deleted directly in the database, so that only the cache still contains it.
    let conn = rusqlite::Connection::open(fresh.dir.path().join("accounts.db")).unwrap();
    conn.execute_batch("delete from usage").unwrap();
    ask(access, &caller, "700.HK").unwrap();
    assert_eq!(used(access, &caller), 0);
    // A change to any account invalidates the cache.
    create(access, "bob", Terms::default());
    ask(access, &caller, "700.HK").unwrap();
    assert_eq!(used(access, &caller), 1);
}
