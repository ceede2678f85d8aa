//! Worked examples S1, S6, S7 and S9 of the specification: which connections receive which pushes.

use feed::{Arrival, ConnectionId, FirstPush, Registry, SubType, SubTypes};
use market::Symbol;

use crate::common::symbol;

const A: ConnectionId = ConnectionId(1);
const B: ConnectionId = ConnectionId(2);

fn types(codes: &[u8]) -> SubTypes {
    codes.iter().map(|code| SubType::from_code(*code).unwrap()).collect()
}

fn list(registry: &Registry, connection: ConnectionId) -> Vec<(String, Vec<u8>)> {
    let codes = |types: SubTypes| types.iter().map(SubType::code).collect();
    registry.list(connection).map(|(symbol, types)| (symbol.as_str().to_owned(), codes(types))).collect()
}

fn recipients(registry: &Registry, symbol: &Symbol, kind: SubType) -> Vec<ConnectionId> {
    registry.recipients(symbol, kind).collect()
}

#[test]
fn s1_types_are_listed_in_ascending_order() {
    let mut registry = Registry::default();
    registry.subscribe(A, &symbol("00700.hk"), types(&[4, 1]));
    assert_eq!(list(&registry, A), [("700.HK".to_owned(), vec![1, 4])]);
}

#[test]
fn s6_types_are_added_and_removed_separately() {
    let (mut registry, tencent) = (Registry::default(), symbol("700.HK"));
    assert_eq!(registry.subscribe(A, &tencent, types(&[1])), types(&[1]));
    assert_eq!(registry.subscribe(A, &tencent, types(&[4])), types(&[1, 4]));
    registry.unsubscribe(A, &tencent, types(&[1]));
    assert_eq!(list(&registry, A), [("700.HK".to_owned(), vec![4])]);
    assert_eq!(recipients(&registry, &tencent, SubType::Quote), []);
    assert_eq!(recipients(&registry, &tencent, SubType::Trades), [A]);
}

#[test]
fn s7_unsubscribe_all_removes_every_subscription() {
    let mut registry = Registry::default();
    for name in ["AAPL.US", "700.HK"] {
        registry.subscribe(A, &symbol(name), types(&[1, 4]));
        registry.subscribe(B, &symbol(name), types(&[1]));
    }
    registry.wait(A, &symbol("9999.HK"), types(&[1]), FirstPush::Wanted);
    registry.unsubscribe_all(A);
    assert_eq!((list(&registry, A), registry.waiting(A).count()), (vec![], 0));
    assert_eq!(registry.arrive(&symbol("9999.HK")), []);
    assert_eq!(recipients(&registry, &symbol("700.HK"), SubType::Quote), [B]);
    let symbols: Vec<&str> = registry.symbols().map(Symbol::as_str).collect();
    assert_eq!(symbols, ["700.HK", "AAPL.US"]);
}

#[test]
fn s9_a_pending_subscription_starts_when_the_security_arrives() {
    let (mut registry, unknown) = (Registry::default(), symbol("9999.HK"));
    registry.wait(A, &unknown, types(&[1, 4]), FirstPush::Wanted);
    registry.wait(B, &unknown, types(&[1]), FirstPush::Unwanted);
    assert_eq!(list(&registry, A), []);
    assert_eq!(registry.waiting(A).collect::<Vec<_>>(), [&unknown]);
    assert_eq!(recipients(&registry, &unknown, SubType::Quote), []);
    let arrivals = registry.arrive(&unknown);
    let expected = [
        Arrival { connection: A, types: types(&[1, 4]), first_push: FirstPush::Wanted },
        Arrival { connection: B, types: types(&[1]), first_push: FirstPush::Unwanted },
    ];
    assert_eq!(arrivals, expected);
    assert_eq!(registry.arrive(&unknown), []);
    assert_eq!(list(&registry, A), [("9999.HK".to_owned(), vec![1, 4])]);
    assert_eq!(recipients(&registry, &unknown, SubType::Quote), [A, B]);
}

#[test]
fn unknown_subscriptions_and_empty_types_are_ignored() {
    let (mut registry, tencent) = (Registry::default(), symbol("700.HK"));
    registry.unsubscribe(A, &tencent, types(&[1]));
    assert_eq!(registry.subscribe(A, &tencent, SubTypes::NONE), SubTypes::NONE);
    registry.subscribe(B, &tencent, types(&[1]));
    registry.unsubscribe(A, &tencent, types(&[1]));
    registry.unsubscribe(B, &tencent, types(&[4]));
    assert_eq!(list(&registry, B), [("700.HK".to_owned(), vec![1])]);
    assert_eq!(SubType::from_code(0), None);
    assert_eq!(SubType::from_code(5), None);
}
