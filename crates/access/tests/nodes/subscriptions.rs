//! The subscription limit of an account over two nodes.

use access::{Access, AccessError, Caller, DatabaseState, Fit, SignedOn, Terms};
use market::Symbol;

use crate::fixture::{MOMENT, NOW, START, bearer, create, symbol};
use crate::wire::{Mode, Wire};
use crate::{Nodes, at, beat_until_it_is_back};

const LIMIT: u32 = 3;

/// A connection of the same account at each node.
struct Pair {
    nodes: Nodes,
    one: SignedOn,
    two: SignedOn,
}

impl Pair {
    fn new() -> Pair {
        let nodes = Nodes::new();
        let created = create(&nodes.one, "ann", Terms::default());
        let sign_on = |node: &Access| {
            let ann: Caller = bearer(node, created.access_token.expose()).unwrap();
            let otp = node.issue_otp(&ann, START).unwrap();
            node.sign_on(otp.expose(), None, MOMENT).unwrap()
        };
        let (one, two) = (sign_on(&nodes.one), sign_on(&nodes.two));
        Pair { nodes, one, two }
    }

    fn at_one(&self, names: &str) -> Result<u32, u32> {
        reserve(&self.nodes.one, &self.one, names).unwrap()
    }

    fn at_two(&self, names: &str) -> Result<u32, u32> {
        reserve(&self.nodes.two, &self.two, names).unwrap()
    }

    fn rows(&self) -> String {
        let rows = "select string_agg(symbol, ' ' order by symbol, seat) from subscription";
        self.nodes.place.sql("accounts", rows).trim().to_owned()
    }
}

/// Returns the number of used subscriptions, as an error if the new subscriptions exceed the limit.
fn reserve(node: &Access, of: &SignedOn, names: &str) -> Result<Result<u32, u32>, AccessError> {
    let (account, id, fit) = (of.caller.account(), of.connection.id(), Fit::AllOrNothing);
    let reserved = node.reserve_subscriptions(account, id, &symbols(names), (LIMIT, fit))?;
    Ok(if reserved.over.is_empty() { Ok(reserved.used) } else { Err(reserved.used) })
}

fn symbols(names: &str) -> Vec<Symbol> {
    names.split_whitespace().map(symbol).collect()
}

#[test]
fn the_subscription_limit_applies_across_nodes() {
    let pair = Pair::new();
    assert_eq!(pair.at_one("1.HK 2.HK"), Ok(2));
    assert_eq!(pair.at_two("2.HK 3.HK 4.HK"), Err(2));
    assert_eq!(pair.at_two("2.HK 3.HK"), Ok(3));
    pair.nodes.one.release_subscriptions(pair.one.connection.id(), Some(&symbols("1.HK")));
    assert_eq!(pair.at_two("4.HK"), Ok(3));
    assert_eq!(pair.rows(), "2.HK 2.HK 3.HK 4.HK");
    pair.nodes.two.release_subscriptions(pair.two.connection.id(), None);
    assert_eq!(pair.rows(), "2.HK");
    // A closed connection frees its subscriptions.
    let Pair { nodes, one, two } = pair;
    drop(one);
    nodes.one.heartbeat("one", &[], START).unwrap();
    assert_eq!(reserve(&nodes.two, &two, "1.HK 3.HK 4.HK").unwrap(), Ok(3));
}

#[test]
fn a_stream_counts_on_all_nodes_and_is_not_a_connection() {
    let pair = Pair::new();
    let account = pair.one.caller.account();
    let stream = pair.nodes.two.open_stream(account, "127.0.0.1:1", NOW).unwrap();
    let limit = (LIMIT, Fit::Smallest);
    let names = symbols("1.HK 2.HK");
    assert_eq!(pair.nodes.two.reserve_subscriptions(account, stream.id(), &names, limit).unwrap().used, 2);
    assert_eq!(pair.at_one("3.HK 4.HK"), Err(2));
    pair.nodes.two.set_pending(stream.id(), "left out").unwrap();
    let listed = pair.nodes.one.connections(Some(account)).unwrap().unwrap();
    let listed: Vec<_> =
        listed.iter().map(|one| (one.is_stream, one.subscriptions, one.pending.as_str())).collect();
    assert_eq!(listed, [(false, 0, ""), (false, 0, ""), (true, 2, "left out")]);
    assert_eq!(pair.nodes.one.connection(stream.id()).unwrap(), None);
    // The database lost the node and its stream. The next heartbeat adds both again.
    let lost = "delete from node where name = 'two'; delete from seat where door = 'stream'";
    pair.nodes.place.sql("accounts", lost);
    assert_eq!(pair.rows(), "");
    pair.nodes.two.heartbeat("two", &[], START).unwrap();
    assert_eq!(pair.rows(), "1.HK 2.HK");
    drop(stream);
    pair.nodes.two.heartbeat("two", &[], START).unwrap();
    assert_eq!(pair.at_one("3.HK 4.HK"), Ok(2));
}

#[test]
fn a_lost_node_frees_its_subscriptions() {
    let pair = Pair::new();
    assert_eq!(pair.at_two("1.HK 2.HK"), Ok(2));
    assert_eq!(pair.at_one("3.HK 4.HK"), Err(2));
    // The node has had no heartbeat for fifteen seconds.
    let silent = "update node set seen_us = seen_us - 15000000 where name = 'two'";
    pair.nodes.place.sql("accounts", silent);
    assert_eq!(pair.at_one("3.HK 4.HK"), Ok(2));
    // The node's row and its connection's row were removed. The next heartbeat adds both again.
    pair.nodes.place.sql("accounts", "delete from node where name = 'two'; delete from seat where id = 2");
    assert_eq!(pair.rows(), "3.HK 4.HK");
    pair.nodes.two.heartbeat("two", &[], START).unwrap();
    assert_eq!(pair.rows(), "1.HK 2.HK 3.HK 4.HK");
}

#[test]
fn an_offline_node_counts_its_own_subscriptions_and_writes_them_later() {
    let pair = Pair::new();
    let (nodes, two) = (&pair.nodes, pair.two.connection.id());
    assert_eq!((pair.at_one("1.HK"), pair.at_two("2.HK 3.HK")), (Ok(1), Ok(3)));
    nodes.wire.set(Mode::Refuse);
    assert_eq!(pair.at_two("4.HK"), Ok(3), "the other node's is unknown");
    assert_eq!(pair.at_two("5.HK"), Err(3));
    nodes.two.release_subscriptions(two, Some(&symbols("2.HK")));
    assert_eq!(pair.rows(), "1.HK 2.HK 3.HK");
    nodes.wire.set(Mode::Pass);
    nodes.come_back(at(1));
    assert_eq!(pair.rows(), "1.HK 3.HK 4.HK");
    assert_eq!(pair.at_one("5.HK"), Err(3));
    // After the offline window, a node refuses new subscriptions.
    nodes.wire.set(Mode::Refuse);
    // The outcome of a write on a broken connection is unknown, which is not yet an outage.
    while !matches!(nodes.two.reached(at(2)), DatabaseState::Away(_)) {
        nodes.two.heartbeat("two", &[], at(2)).unwrap_err();
    }
    nodes.two.heartbeat("two", &[], at(70)).unwrap_err();
    assert!(matches!(reserve(&nodes.two, &pair.two, "6.HK"), Err(AccessError::Lost)));
}

#[test]
fn subscriptions_lost_in_a_crash_are_written_again() {
    let pair = Pair::new();
    assert_eq!((pair.at_one("1.HK"), pair.at_two("2.HK 3.HK")), (Ok(1), Ok(3)));
    pair.nodes.two.release_subscriptions(pair.two.connection.id(), None);
    // The database has lost its last commits, and all connections break.
    pair.nodes.place.sql("accounts", "insert into subscription select id, '3.HK' from seat");
    pair.nodes.wires().for_each(Wire::reset);
    beat_until_it_is_back(&pair.nodes.one, "one", at(1));
    beat_until_it_is_back(&pair.nodes.two, "two", at(1));
    assert_eq!(pair.rows(), "1.HK");
}
