//! The subscription limit of an account over two nodes.

use std::collections::BTreeSet;

use market::Symbol;
use store::{AccountId, Fit, Reserved, SlotEnding, SubscriptionRequest};

use crate::accounts::add;
use crate::fixture::{Home, NOW, symbol};
use crate::shared::{Node, sit, slot, with_slot};

/// Two nodes, with a connection of one account at each.
struct Pair {
    home: Home,
    nodes: [Node; 2],
    account: AccountId,
    slots: [i64; 2],
}

impl Pair {
    fn new() -> Pair {
        let home = Home::new();
        let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
        let account = add(&nodes[0].accounts, "ann").unwrap();
        let slots = [0, 1].map(|at: u8| {
            let node = &nodes[usize::from(at)];
            with_slot(&sit(node, &slot(account, at + 1), 9)).0
        });
        Pair { home, nodes, account, slots }
    }

    /// Reserves symbols at a node for the connection of that node. Returns the used number, the
    /// added symbols and the symbols over the limit as text.
    fn reserve(&self, node: usize, names: &str, limit: u32, fit: Fit) -> String {
        let (account, slot, symbols) = (self.account, self.slots[node], &symbols(names));
        let request = SubscriptionRequest { account, slot, symbols, limit, fit };
        let Reserved { used, added, over } =
            self.nodes[node].shared().reserve_subscriptions(&request).unwrap();
        let names = |symbols: Vec<Symbol>| symbols.iter().map(Symbol::as_str).collect::<Vec<_>>().join(" ");
        format!("{used}: {} | {}", names(added), names(over))
    }

    fn release(&self, node: usize, names: &str) {
        self.nodes[node].shared().release_subscriptions(self.slots[node], &symbols(names)).unwrap();
    }

    fn rows(&self) -> i64 {
        self.home.number("accounts", "select count(*) from subscription")
    }
}

fn symbols(names: &str) -> BTreeSet<Symbol> {
    names.split_whitespace().map(symbol).collect()
}

#[test]
fn distinct_symbols_are_counted_over_all_nodes() {
    let pair = Pair::new();
    assert_eq!(pair.reserve(0, "2.HK 1.HK", 3, Fit::AllOrNothing), "2: 1.HK 2.HK | ");
    assert_eq!(pair.reserve(1, "2.HK AAPL.US 3.HK", 3, Fit::AllOrNothing), "2:  | 3.HK AAPL.US");
    assert_eq!(pair.rows(), 2, "nothing was reserved");
    assert_eq!(pair.reserve(1, "2.HK AAPL.US 3.HK", 3, Fit::Smallest), "3: 2.HK 3.HK | AAPL.US");
    // The other connection still subscribes to the second symbol.
    pair.release(0, "1.HK 2.HK 9.HK");
    assert_eq!(pair.reserve(0, "1.HK 4.HK", 3, Fit::Smallest), "3: 1.HK | 4.HK");
    // A lowered limit removes no subscriptions.
    assert_eq!(pair.reserve(0, "2.HK 4.HK", 1, Fit::Smallest), "3: 2.HK | 4.HK");
    assert_eq!(pair.reserve(0, "", 1, Fit::AllOrNothing), "3:  | ");
    // Another account has a separate limit.
    let bob = add(&pair.nodes[0].accounts, "bob").unwrap();
    let (id, _) = with_slot(&sit(&pair.nodes[0], &slot(bob, 7), 1));
    let symbols = &symbols("1.HK");
    let request = SubscriptionRequest { account: bob, slot: id, symbols, limit: 1, fit: Fit::AllOrNothing };
    assert_eq!(pair.nodes[1].shared().reserve_subscriptions(&request).unwrap().used, 1);
}

#[test]
fn concurrent_requests_reserve_exactly_up_to_the_limit() {
    let pair = Pair::new();
    std::thread::scope(|scope| {
        for thread in 0..6_usize {
            let pair = &pair;
            scope.spawn(move || {
                for number in 0..10 {
                    // Neighbouring threads request the same symbols.
                    let name = format!("{}.HK", 1 + thread / 2 * 10 + number);
                    pair.reserve(thread % 2, &name, 17, Fit::AllOrNothing);
                }
            });
        }
    });
    let distinct = pair.home.number("accounts", "select count(distinct symbol) from subscription");
    assert_eq!(distinct, 17);
}

#[test]
fn a_lost_node_frees_its_subscriptions() {
    let pair = Pair::new();
    let [one, two] = &pair.nodes;
    assert_eq!(pair.reserve(0, "1.HK 2.HK", 2, Fit::AllOrNothing), "2: 1.HK 2.HK | ");
    assert_eq!(pair.reserve(1, "3.HK", 2, Fit::AllOrNothing), "2:  | 3.HK");
    // The node has had no heartbeat for fifteen seconds.
    pair.home.damage("accounts", "update node set seen_us = seen_us - 15000000 where name = 'node 1'");
    assert_eq!(pair.reserve(1, "3.HK", 2, Fit::AllOrNothing), "1: 3.HK | ");
    // The node was only disconnected, so its subscriptions count again.
    one.shared().heartbeat("node 1").unwrap();
    assert_eq!(pair.reserve(1, "4.HK", 2, Fit::AllOrNothing), "3:  | 4.HK");
    // After ten minutes the node's rows are removed.
    pair.home.damage("accounts", "update node set seen_us = seen_us - 700000000 where name = 'node 1'");
    two.shared().sweep(NOW).unwrap();
    assert_eq!(pair.rows(), 1);
    // A node removes its own rows when it stops.
    two.shared().leave_nodes().unwrap();
    assert_eq!(pair.rows(), 0);
}

#[test]
fn subscriptions_end_with_their_connection() {
    let pair = Pair::new();
    let [one, two] = &pair.nodes;
    assert_eq!(pair.reserve(0, "1.HK", 1, Fit::AllOrNothing), "1: 1.HK | ");
    // Another node ends the connection, which the connection's node has not closed yet.
    assert!(two.shared().end_slot(pair.slots[0], SlotEnding::ByOwner).unwrap());
    assert_eq!(pair.reserve(1, "2.HK", 1, Fit::AllOrNothing), "1: 2.HK | ");
    one.shared().leave(pair.slots[0]);
    one.shared().write_left().unwrap();
    assert_eq!(pair.rows(), 1);
    // A connection without a slot stores nothing.
    assert_eq!(pair.reserve(0, "2.HK", 1, Fit::AllOrNothing), "1: 2.HK | ");
    assert_eq!(pair.rows(), 1);
}

#[test]
fn subscriptions_can_be_replaced() {
    let pair = Pair::new();
    pair.reserve(0, "1.HK 2.HK", 9, Fit::AllOrNothing);
    pair.reserve(1, "1.HK", 9, Fit::AllOrNothing);
    let write = |names| pair.nodes[0].shared().write_subscriptions(pair.slots[0], &symbols(names)).unwrap();
    write("2.HK 3.HK");
    let stored = "select count(*) from subscription where symbol in ('2.HK', '3.HK')";
    assert_eq!((pair.rows(), pair.home.number("accounts", stored)), (3, 2));
    write("");
    assert_eq!(pair.rows(), 1, "that of the other connection");
}
