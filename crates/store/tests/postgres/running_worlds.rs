//! The limit on running worlds over two nodes.

use store::{AccountId, NewSlot, RUNNING_WORLD, RunSlotOutcome};

use crate::accounts::add;
use crate::fixture::Home;
use crate::shared::{Node, sit, slot, with_slot};

fn run(node: &Node, account: AccountId, most: u32) -> RunSlotOutcome {
    let slot = NewSlot { transport: RUNNING_WORLD.to_owned(), ..slot(account, 9) };
    node.shared().run_world(&slot, most).unwrap()
}

fn held(outcome: RunSlotOutcome) -> i64 {
    let RunSlotOutcome::Held { id } = outcome else { panic!("{outcome:?}") };
    id
}

#[test]
fn worlds_run_up_to_the_limit_over_all_nodes() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let [ann, bob, carol] = ["ann", "bob", "carol"].map(|name| add(&nodes[0].accounts, name).unwrap());
    let first = held(run(&nodes[0], ann, 2));
    assert_eq!(run(&nodes[1], ann, 2), RunSlotOutcome::Running);
    held(run(&nodes[1], bob, 2));
    assert_eq!(run(&nodes[0], carol, 2), RunSlotOutcome::TooMany);
    // A slot that the node has freed does not count, even before the node has written it.
    nodes[0].shared().leave(first);
    let last = held(run(&nodes[0], carol, 2));
    assert_eq!(run(&nodes[1], ann, 2), RunSlotOutcome::TooMany);
    // Running worlds are not connections.
    assert_eq!(nodes[0].shared().online(carol).unwrap(), 0);
    assert_eq!(nodes[0].shared().slots(None, 9).unwrap(), []);
    assert_eq!(nodes[1].shared().clients_elsewhere(carol).unwrap(), 0);
    assert_eq!(with_slot(&sit(&nodes[0], &slot(carol, 1), 1)).1, 1);
    assert_eq!(nodes[1].shared().clients_elsewhere(carol).unwrap(), 1);
    assert_eq!(nodes[0].shared().clients_elsewhere(carol).unwrap(), 0);
    assert_eq!(nodes[0].shared().own_slots().unwrap().first(), Some(&last));
    // The worlds of a node that is considered dead do not count.
    home.damage("accounts", "update node set seen_us = seen_us - 15000000 where name = 'node 1'");
    held(run(&nodes[1], ann, 2));
    assert_eq!(run(&nodes[1], carol, 2), RunSlotOutcome::TooMany);
}

#[test]
fn concurrent_requests_run_exactly_as_many_worlds_as_the_limit() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let accounts: Vec<AccountId> =
        (0..8).map(|number| add(&nodes[0].accounts, &format!("w{number}")).unwrap()).collect();
    let held = std::thread::scope(|scope| {
        let threads: Vec<_> = accounts
            .iter()
            .enumerate()
            .map(|(number, account)| {
                let node = &nodes[number % 2];
                scope.spawn(move || matches!(run(node, *account, 3), RunSlotOutcome::Held { .. }))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|held| *held).count()
    });
    assert_eq!(held, 3);
}
