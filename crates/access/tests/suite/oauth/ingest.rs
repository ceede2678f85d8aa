//! Tokens for programs that only add candles and trades.

use access::{IngestSymbols, Scope};

use super::*;
use crate::fixture::{bearer, identify};

const LIFE_S: i64 = 365 * 86_400;

#[test]
fn a_requested_scope_is_stored_in_canonical_form() {
    let house = house();
    for (scope, stored) in [
        ("ingest", "ingest"),
        ("ingest:00700.hk ingest:*.us", "ingest:*.US ingest:700.HK"),
        ("ingest:*.HK ingest", "ingest"),
    ] {
        let start = house.access().start_device(&house.credentials(), scope, HERE, MOMENT).unwrap();
        let pending = house.access().pending_device(start.user_code.expose(), NOW).unwrap().unwrap();
        assert_eq!(pending.scope, stored);
        house.approve(&start, house.ap);
        let tokens = house.poll(&start, None, MOMENT).unwrap();
        assert_eq!(tokens.scope, stored);
        let caller = bearer(house.access(), tokens.access_token.expose()).unwrap();
        assert!(caller.has(Scope::Ingest) && !caller.has(Scope::Quote) && !caller.has(Scope::Operator));
        let symbols = house.access().ingest_symbols(&caller, NOW).unwrap();
        assert_eq!(symbols, IngestSymbols::of_scope(stored));
    }
    let wrong = house.access().start_device(&house.credentials(), "ingest:*.XX", HERE, MOMENT);
    assert_eq!(error(wrong), "invalid_scope");
}

#[test]
fn an_operator_issues_a_token_without_a_browser() {
    let house = house();
    let access = house.access();
    let symbols: IngestSymbols = "*.HK,AAPL.US".parse().unwrap();
    let by = (&Actor::Operator, NOW);
    let token = access.issue_ingest_token(house.ap, "feed", &symbols, LIFE_S, by).unwrap().unwrap();
    assert_eq!((token.scope.as_str(), token.expires_at.0), ("ingest:*.HK ingest:AAPL.US", NOW.0 + LIFE_S));
    let text = format!("Bearer {}", token.access_token.expose());
    let at = |now: i64| identify(access, &[("authorization", &text)], Timestamp(now));
    let caller = at(NOW.0 + LIFE_S - 1).unwrap();
    assert_eq!(access.ingest_symbols(&caller, NOW).unwrap(), Some(symbols));
    assert!(at(NOW.0 + LIFE_S).is_err());
    let sign_ins = access.sign_ins(house.ap, NOW).unwrap();
    assert_eq!((sign_ins[0].id.as_str(), sign_ins[0].client.name.as_str()), (token.sign_in.as_str(), "feed"));
    assert_eq!(sign_ins[0].scope, token.scope);

    assert!(access.end_sign_in(house.ap, &token.sign_in, &Actor::Operator, NOW).unwrap());
    assert!(at(NOW.0).is_err());
    // A caller that was authenticated earlier has no access after the sign-in has ended.
    assert_eq!(access.ingest_symbols(&caller, NOW).unwrap(), None);
    access.revoke(house.ap, &Actor::Operator, "", NOW).unwrap();
    assert!(access.issue_ingest_token(house.ap, "feed", &IngestSymbols::All, LIFE_S, by).unwrap().is_none());
}
