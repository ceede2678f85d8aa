//! With an admission cache, requests are admitted exactly as without one, regardless of changes
//! between the requests.

use access::{
    Access, Actor, AdmissionCache, Caller, Demand, Freshness, Permit, RateRule, Refusal, Right, Scope, Terms,
    TermsChange, Validity,
};
use market::Timestamp;

use crate::fixture::{NOW, PRESENT, START, fresh, symbol};

const SYMBOLS: [&str; 4] = ["700.HK", "5.HK", "AAPL.US", "600519.SH"];
const DAY: i64 = 86_400;

/// Formats the result of an admission for comparison.
fn describe(access: &Access, admitted: &Result<Permit, Refusal>) -> String {
    match admitted {
        Ok(permit) => {
            let (standing, overnight) = (access.standing_for(permit).unwrap(), permit.overnight());
            let price = if permit.is_charged() { "charged" } else { "free" };
            format!("{price}, {}, overnight {overnight}, {standing:?}", permit.is_free())
        }
        Err(refusal) => refusal.to_string(),
    }
}

fn remembering(
    access: &Access,
    caller: &Caller,
    text: &str,
    cache: &mut AdmissionCache,
    now: Timestamp,
) -> Result<Permit, Refusal> {
    let ticket = access.admit_rate_again(caller, 1, cache, START)?;
    access.admit_again(caller, ticket, &symbol(text), cache, now)
}

fn forgetful(access: &Access, caller: &Caller, text: &str, now: Timestamp) -> Result<Permit, Refusal> {
    let ticket = access.admit_rate_of(caller, 1, Freshness::Fresh, START)?;
    access.admit(Demand::History { ticket, symbol: &symbol(text) }, now)
}

/// Admits a request as the HTTP server does: first to the scope, then with the admission cache of
/// that permit.
fn permitted(access: &Access, caller: &Caller, text: &str, now: Timestamp) -> Result<Permit, Refusal> {
    let permit = access.admit_within(caller, Scope::Quote, Freshness::Recent, now)?;
    remembering(access, caller, text, &mut permit.admission_cache(caller), now)
}

fn below(random: &mut u64, limit: usize) -> usize {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*random >> 33) as usize % limit
}

/// Makes a random change as an operator in another process.
fn change(elsewhere: &Access, caller: &Caller, random: &mut u64) {
    let (id, by) = (caller.account(), &Actor::Operator);
    let right = [Right::Hk, Right::Us, Right::UsOvernight][below(random, 3)];
    match below(random, 8) {
        0 => drop(elsewhere.withdraw(id, right, by, NOW).unwrap()),
        1 | 2 => drop(elsewhere.grant(id, right, Validity::default(), by, NOW).unwrap()),
        3 => {
            let terms = Terms {
                quota: Some(below(random, 5) as u32),
                rate: Some(RateRule::Unlimited),
                ..Terms::default()
            };
            elsewhere.change_terms(id, TermsChange::from(&terms), by, PRESENT).unwrap();
        }
        _ => {}
    }
}

#[test]
fn the_admission_cache_does_not_change_decisions() {
    for seed in 0..6u64 {
        let mut random = seed;
        let fresh = fresh();
        let (here, elsewhere) = (&fresh.access, fresh.other());
        let terms = Terms { quota: Some(3), rate: Some(RateRule::Unlimited), ..Terms::default() };
        let callers = [fresh.caller("alice", terms.clone()), fresh.caller("bob", terms)];
        let mut caches = [AdmissionCache::default(), AdmissionCache::default()];
        let mut now = NOW;
        for turn in 0..120 {
            // Most iterations only send requests. Some also make a change as an operator, or
            // advance the clock by a day, a week or a month.
            match below(&mut random, 12) {
                0 | 1 => change(&elsewhere, &callers[below(&mut random, 2)], &mut random),
                2 => now = Timestamp(now.0 + DAY * [1, 7, 31][below(&mut random, 3)]),
                _ => {}
            }
            let at = below(&mut random, 2);
            let text = SYMBOLS[below(&mut random, SYMBOLS.len())];
            // Sometimes another caller signs in on the connection. The cache must not be used for
            // that caller.
            let caller = &callers[if below(&mut random, 10) == 0 { 1 - at } else { at }];
            here.version_check().unwrap();
            let again = remembering(here, caller, text, &mut caches[at], now);
            let once = forgetful(here, caller, text, now);
            let scoped = permitted(here, caller, text, now);
            let context = format!("seed {seed}, turn {turn}, {text} at {now}");
            assert_eq!(describe(here, &again), describe(here, &once), "{context}");
            assert_eq!(describe(here, &scoped), describe(here, &once), "{context}");
            if let Ok(permit) = again {
                here.spend(permit, NOW).unwrap();
            }
        }
        // A revocation takes effect at the next request.
        elsewhere.revoke(callers[0].account(), &Actor::Operator, "", NOW).unwrap();
        here.version_check().unwrap();
        for cache in &mut caches {
            let refused = remembering(here, &callers[0], "700.HK", cache, now);
            assert!(matches!(refused, Err(Refusal::Revoked)), "{refused:?}");
        }
    }
}

#[test]
fn requests_with_a_cache_count_against_the_rate_limit() {
    let fresh = fresh();
    let terms = Terms { rate: Some("3/10".parse().unwrap()), ..Terms::default() };
    let (caller, mut cache) = (fresh.caller("alice", terms), AdmissionCache::default());
    for _ in 0..3 {
        let permit = remembering(&fresh.access, &caller, "700.HK", &mut cache, NOW).unwrap();
        fresh.access.spend(permit, NOW).unwrap();
    }
    let fourth = remembering(&fresh.access, &caller, "700.HK", &mut cache, NOW);
    assert!(matches!(fourth, Err(Refusal::TooFast { requests: 3, .. })), "{fourth:?}");
}
