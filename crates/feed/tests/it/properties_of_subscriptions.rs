//! Compares the registry with a plain map under random requests.

use std::collections::{BTreeMap, BTreeSet};

use feed::{ConnectionId, FirstPush, Registry, SubType, SubTypes};
use market::Symbol;
use proptest::prelude::*;

use crate::common::symbol;
use crate::random::Dice;

/// A subscription in the plain map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plain {
    types: SubTypes,
    waits: Option<FirstPush>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_registry_matches_a_plain_map(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let names = ["1.HK", "5.HK", "700.HK", "AAPL.US", "600519.SH"].map(symbol);
        let mut registry = Registry::default();
        let mut plain: BTreeMap<(ConnectionId, Symbol), Plain> = BTreeMap::new();
        for _ in 0..200 {
            let connection = ConnectionId(dice.roll(6));
            let name = names[dice.roll(5) as usize].clone();
            let types: SubTypes = SubType::ALL.into_iter().filter(|_| dice.is(4)).collect();
            let key = (connection, name.clone());
            let old = plain.get(&key).copied();
            match dice.roll(10) {
                0..=3 => {
                    let all = old.map_or(types, |old| old.types.union(types));
                    prop_assert_eq!(registry.subscribe(connection, &name, types), all);
                    if !types.is_empty() {
                        plain.insert(key, Plain { types: all, waits: None });
                    }
                }
                4 => {
                    let first = if dice.is(5) { FirstPush::Wanted } else { FirstPush::Unwanted };
                    registry.wait(connection, &name, types, first);
                    if !types.is_empty() {
                        let is_wanted = first == FirstPush::Wanted
                            || old.is_some_and(|old| old.waits == Some(FirstPush::Wanted));
                        let first = if is_wanted { FirstPush::Wanted } else { FirstPush::Unwanted };
                        let waits = old.is_none_or(|old| old.waits.is_some()).then_some(first);
                        plain.insert(key, Plain { types: old.map_or(types, |old| old.types.union(types)), waits });
                    }
                }
                5 => {
                    let arrived = registry.arrive(&name);
                    let mut expected = Vec::new();
                    for ((connection, _), entry) in plain.iter_mut().filter(|((_, of), _)| *of == name) {
                        expected.extend(entry.waits.take().map(|first| (*connection, entry.types, first)));
                    }
                    let arrived = arrived.into_iter().map(|one| (one.connection, one.types, one.first_push));
                    prop_assert_eq!(arrived.collect::<Vec<_>>(), expected);
                }
                6..=8 => {
                    registry.unsubscribe(connection, &name, types);
                    if let Some(old) = old {
                        let types = old.types.without(types);
                        plain.insert(key.clone(), Plain { types, ..old });
                        if types.is_empty() {
                            plain.remove(&key);
                        }
                    }
                }
                _ if dice.is(3) => {
                    registry.unsubscribe_all(connection);
                    plain.retain(|(of, _), _| *of != connection);
                }
                _ => {}
            }
            for number in 0..6 {
                let connection = ConnectionId(number);
                let of = plain.iter().filter(|((of, _), _)| *of == connection);
                let (waiting, listed): (Vec<_>, Vec<_>) = of.partition(|(_, entry)| entry.waits.is_some());
                let listed: Vec<_> = listed.into_iter().map(|((_, name), entry)| (name, entry.types)).collect();
                prop_assert_eq!(registry.list(connection).collect::<Vec<_>>(), listed);
                let waiting: Vec<_> = waiting.into_iter().map(|((_, name), _)| name).collect();
                prop_assert_eq!(registry.waiting(connection).collect::<Vec<_>>(), waiting);
            }
            for (name, kind) in names.iter().flat_map(|name| SubType::ALL.map(|kind| (name, kind))) {
                let gets = |entry: &Plain| entry.waits.is_none() && entry.types.contains(kind);
                let of = plain.iter().filter(|((_, of), entry)| of == name && gets(entry));
                let expected: Vec<ConnectionId> = of.map(|((connection, _), _)| *connection).collect();
                prop_assert_eq!(registry.recipients(name, kind).collect::<Vec<_>>(), expected.clone());
                let all = (0..6).map(ConnectionId);
                let has: Vec<_> = all.filter(|connection| registry.has(*connection, name, kind)).collect();
                prop_assert_eq!(has, expected);
            }
            let symbols: BTreeSet<&Symbol> = plain.keys().map(|(_, name)| name).collect();
            prop_assert_eq!(registry.symbols().collect::<Vec<_>>(), symbols.into_iter().collect::<Vec<_>>());
        }
        let all: SubTypes = SubType::ALL.into_iter().collect();
        plain.keys().for_each(|(connection, name)| registry.unsubscribe(*connection, name, all));
        prop_assert_eq!(format!("{registry:?}"), format!("{:?}", Registry::default()));
    }
}
