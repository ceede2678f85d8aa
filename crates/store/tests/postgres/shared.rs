//! Tests of state that several processes share: two nodes on one database behave like a single
//! node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use store::{
    AccountId, Accounts, AuditNote, Fit, GuardKey, GuardRow, MissedTrades, NewPassword, NewSlot, NodeId,
    PaceLimit, RateAsk, RateDecision, Shared, SignatureLimits, SignatureOutcome, SlotEnding, SlotOutcome,
    SlotRequest, StoreError, SubscriptionRequest,
};

use crate::accounts::add;
use crate::fixture::{Home, NOW, symbol};

const SIXTY: RateAsk = RateAsk { requests: 60, within: Duration::from_secs(30), calls: 1 };

/// A server node on the shared database.
pub(crate) struct Node {
    pub(crate) accounts: Accounts,
}

impl Node {
    pub(crate) fn join(home: &Home, number: u8) -> Node {
        let accounts = Accounts::open(home, NOW).unwrap();
        let node = Node { accounts };
        node.shared().join(NodeId([number; 16]));
        node.shared().heartbeat(&format!("node {number}")).unwrap();
        node
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.accounts.shared().unwrap()
    }
}

fn is_admitted(decision: &RateDecision) -> bool {
    matches!(decision, RateDecision::Admitted(_))
}

#[test]
fn concurrent_requests_are_admitted_exactly_up_to_the_limit() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let admitted = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (nodes, admitted) = (&nodes, &admitted);
            scope.spawn(move || {
                for turn in 0..25 {
                    let shared = nodes[(thread + turn) % 2].shared();
                    let decision = shared.take_rate(ann, &SIXTY).unwrap();
                    admitted.fetch_add(u32::from(is_admitted(&decision)), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(admitted.into_inner(), 60);
    let RateDecision::Refused(times) = nodes[1].shared().take_rate(ann, &SIXTY).unwrap() else {
        panic!("all sixty are in the window");
    };
    assert_eq!(times.count(SIXTY.within), 60);
    let wait = times.wait(&SIXTY);
    assert!(wait > Duration::from_secs(20) && wait <= SIXTY.within, "{wait:?}");
    // Times are sorted, newest first, and no time is ahead of the clock.
    assert!(times.times_us.is_sorted_by(|one, other| one >= other) && times.times_us[0] <= times.now_us);
}

#[test]
fn no_window_exceeds_the_limit_during_continuous_requests() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let rule = RateAsk { requests: 7, within: Duration::from_millis(50), calls: 1 };
    let times = std::sync::Mutex::new(Vec::new());
    let until = Instant::now() + 8 * rule.within;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (nodes, times) = (&nodes, &times);
            scope.spawn(move || {
                while Instant::now() < until {
                    let decision = nodes[thread % 2].shared().take_rate(ann, &rule).unwrap();
                    if let RateDecision::Admitted(window) = decision {
                        times.lock().unwrap().push(window.now_us);
                    }
                }
            });
        }
    });
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    assert!(times.len() >= 21, "each window has as many as the rule, not fewer: {}", times.len());
    for (first, eighth) in times.iter().zip(times.iter().skip(7)) {
        assert!(eighth - first >= 50_000, "{} µs", eighth - first);
    }
}

#[test]
fn a_weighted_request_is_admitted_atomically() {
    let home = Home::new();
    let node = Node::join(&home, 1);
    let ann = add(&node.accounts, "ann").unwrap();
    let take = |calls| node.shared().take_rate(ann, &RateAsk { calls, ..SIXTY }).unwrap();
    assert!(!is_admitted(&take(61)), "more than the rule has");
    assert!(is_admitted(&take(58)));
    assert!(!is_admitted(&take(3)));
    assert!(is_admitted(&take(2)));
    assert!(!is_admitted(&take(1)));
    let times = node.shared().rate_times(ann).unwrap();
    assert_eq!(times.times_us.len(), 60);
    // With the largest possible limit, PostgreSQL stores the times out of line (TOAST).
    let large = RateAsk { requests: 10_000, within: Duration::from_secs(3_600), calls: 9_000 };
    let bob = add(&node.accounts, "bob").unwrap();
    assert!(is_admitted(&node.shared().take_rate(bob, &large).unwrap()));
    let one = RateAsk { calls: 1, ..large };
    assert!((0..1_000).all(|_| is_admitted(&node.shared().take_rate(bob, &one).unwrap())));
    assert!(!is_admitted(&node.shared().take_rate(bob, &one).unwrap()));
}

#[test]
fn a_changed_limit_counts_earlier_requests() {
    let home = Home::new();
    let node = Node::join(&home, 1);
    let ann = add(&node.accounts, "ann").unwrap();
    let take = |requests| is_admitted(&node.shared().take_rate(ann, &RateAsk { requests, ..SIXTY }).unwrap());
    assert!((0..5).all(|_| take(60)));
    assert!(!take(5), "stricter from now on");
    assert!(take(6));
    assert!(!take(6));
    assert!(take(60), "and looser again");
}

/// A commit that waits for a lost standby would prevent a node from resuming.
#[test]
fn a_resuming_node_commits_asynchronously() {
    let home = Home::new();
    let node = Node::join(&home, 1);
    let ann = add(&node.accounts, "ann").unwrap();
    home.damage(
        "accounts",
        "create function waits() returns trigger language plpgsql as $$ begin \
           if current_setting('synchronous_commit') <> 'off' then raise exception 'this would wait'; end if; \
           return coalesce(new, old); end $$; \
         create trigger waits before insert or update on rate_window for each row execute function waits(); \
         create trigger waits before insert or update or delete on seat for each row execute function waits(); \
         create trigger waits before insert or delete on subscription for each row execute function waits(); \
         create trigger waits before insert or update on node for each row execute function waits()",
    );
    node.shared().heartbeat("node 1").unwrap();
    assert!(is_admitted(&node.shared().take_rate(ann, &SIXTY).unwrap()));
    node.shared().renew_slots(&[(1 << 62, slot(ann, 9)), (1 << 61, slot(ann, 8))]).unwrap();
    node.shared().leave(1 << 61);
    node.shared().heartbeat("node 1").unwrap();
    assert_eq!(node.shared().online(ann).unwrap(), 1);
    let symbols = &["700.HK", "5.HK"].map(symbol).into();
    let fit = Fit::AllOrNothing;
    let request = SubscriptionRequest { account: ann, slot: 1 << 62, symbols, limit: 2, fit };
    assert_eq!(node.shared().reserve_subscriptions(&request).unwrap().used, 2);
    node.shared().write_subscriptions(1 << 62, &[symbol("700.HK")].into()).unwrap();
    node.shared().release_subscriptions(1 << 62, symbols).unwrap();
}

#[test]
fn an_account_lock_blocks_only_the_same_paper_account() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let turn = nodes[0].accounts.journal_lock(ann).unwrap();
    let other = AccountId(ann.0 + 1);
    drop(nodes[1].accounts.journal_lock(other).unwrap());
    let waited = nodes[1].accounts.journal_lock(ann).map(drop);
    assert!(matches!(waited, Err(StoreError::Locked { .. })), "{waited:?}");
    with_slot(&sit(&nodes[1], &slot(ann, 1), 2));
    let note = AuditNote { at: NOW, actor: "operator", reason: "" };
    assert!(nodes[1].accounts.revoke(ann, &note).unwrap());
    drop(turn);
    drop(nodes[1].accounts.journal_lock(ann).unwrap());
}

#[test]
fn calls_are_counted_over_all_nodes() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let (each, room) = (Duration::from_secs(10), Duration::from_secs(100));
    let take = |node: usize| nodes[node].shared().take_call(ann, each, room).unwrap();
    assert!((0..10).all(|turn| take(turn % 2).is_ok()));
    let wait = take(1).unwrap_err();
    assert!(wait > Duration::from_secs(5) && wait <= each, "{wait:?}");
    assert!(take(0).is_err(), "what was refused has not been counted, nor is there more elsewhere");
}

#[test]
fn a_clock_set_back_does_not_block_calls() {
    let home = Home::new();
    let node = Node::join(&home, 1);
    let ann = add(&node.accounts, "ann").unwrap();
    let (each, room) = (Duration::from_secs(10), Duration::from_secs(20));
    let take = || node.shared().take_call(ann, each, room).unwrap();
    assert_eq!((take(), take()), (Ok(()), Ok(())));
    assert!(take().is_err());
    // The server's clock is set back by an hour.
    home.damage("accounts", "update call_bucket set full_us = full_us + 3600000000");
    assert_eq!(take(), Ok(()));
    let wait = take().expect_err("it is used up, by the clock of now");
    assert!(wait <= each, "{wait:?}");
}

#[test]
fn pace_limits_are_shared_and_atomic() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let limit = |key, requests| PaceLimit { kind: "test", key, requests, within: Duration::from_secs(60) };
    assert_eq!(nodes[0].shared().take_pace(&limit("192.0.2.1", 2)).unwrap(), Ok(()));
    assert_eq!(nodes[1].shared().take_pace(&limit("192.0.2.1", 2)).unwrap(), Ok(()));
    let wait = nodes[0].shared().take_pace(&limit("192.0.2.1", 2)).unwrap().unwrap_err();
    assert!(wait <= Duration::from_secs(60) && wait > Duration::from_secs(40), "{wait:?}");
    assert_eq!(nodes[0].shared().take_pace(&limit("192.0.2.2", 2)).unwrap(), Ok(()));
    assert!(nodes[0].shared().take_pace(&limit("192.0.2.3", 0)).unwrap().is_err());
    let both = |node: usize| nodes[node].shared().take_paces(&[limit("all", 3), limit("one", 1)]).unwrap();
    let taken = both(0).unwrap();
    assert!(both(1).is_err(), "one of them is full");
    assert_eq!(nodes[1].shared().take_pace(&limit("all", 3)).unwrap(), Ok(()), "the other was not counted");
    nodes[1].shared().give_back_paces(&taken).unwrap();
    assert!(both(1).is_ok());
}

pub(crate) fn slot(account: AccountId, lineage: u8) -> NewSlot {
    NewSlot {
        account,
        lineage: [lineage; 16],
        transport: "websocket".to_owned(),
        address: "192.0.2.1:4000".to_owned(),
        since: NOW,
    }
}

pub(crate) fn sit(node: &Node, slot: &NewSlot, limit: u32) -> SlotOutcome {
    node.shared().sit(&SlotRequest { slot, limit, present: None, password: None }).unwrap()
}

pub(crate) fn with_slot(outcome: &SlotOutcome) -> (i64, u32) {
    let SlotOutcome::HeldSlot { id, online, .. } = outcome else { panic!("{outcome:?}") };
    (*id, *online)
}

#[test]
fn a_reconnecting_client_frees_its_slot_at_any_node() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let (first, _) = with_slot(&sit(&nodes[0], &slot(ann, 1), 2));
    assert_eq!(with_slot(&sit(&nodes[1], &slot(ann, 2), 2)).1, 2);
    assert_eq!(sit(&nodes[0], &slot(ann, 3), 2), SlotOutcome::Taken { online: 2 });
    assert_eq!(nodes[1].shared().online(ann).unwrap(), 2);
    // The first client reconnects at the other node.
    let again = sit(&nodes[1], &slot(ann, 1), 2);
    let (id, online) = with_slot(&again);
    assert_eq!(online, 2);
    let expected = SlotOutcome::HeldSlot { id, online, superseded: Vec::new(), missed: MissedTrades::new() };
    assert_eq!(again, expected, "it was not here");
    let heartbeat = nodes[0].shared().heartbeat("node 1").unwrap();
    assert_eq!((heartbeat.nodes, heartbeat.ended), (2, vec![(first, SlotEnding::Superseded)]));
    let again = nodes[0].shared().heartbeat("node 1").unwrap();
    assert_eq!(again.ended, [(first, SlotEnding::Superseded)], "as long as it has the slot");
    nodes[0].shared().leave(first);
    assert!(nodes[0].shared().heartbeat("node 1").unwrap().ended.is_empty());
    // The client reconnects again, at the same node.
    let SlotOutcome::HeldSlot { superseded, .. } = sit(&nodes[1], &slot(ann, 1), 2) else { panic!() };
    assert_eq!(superseded, [id]);
    let listed = nodes[0].shared().slots(Some(ann), 10).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|of| !of.row.is_here && of.row.slot.transport == "websocket"));
    assert_eq!(nodes[0].shared().slots(None, 1).unwrap().len(), 1);
    // An operator at the first node closes a connection of the second node.
    let ended = listed[0].row.id;
    assert!(nodes[0].shared().slot(ended).unwrap().is_some());
    assert!(nodes[0].shared().end_slot(ended, SlotEnding::ByOperator).unwrap());
    assert!(!nodes[0].shared().end_slot(ended, SlotEnding::ByOwner).unwrap(), "it has ended");
    assert_eq!(nodes[0].shared().online(ann).unwrap(), 1);
    let heartbeat = nodes[1].shared().heartbeat("node 2").unwrap();
    assert_eq!(heartbeat.ended, [(ended, SlotEnding::ByOperator)]);
}

#[test]
fn a_reconnecting_client_takes_its_missed_trades_once_at_any_node() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let missed = |first: i64| MissedTrades::from([(symbol("700.HK"), first), (symbol("AAPL.US"), 9)]);
    let close = |node: &Node, id: i64, missed: &MissedTrades| {
        node.shared().note_missed(id, ann, [1; 16], missed);
        node.shared().leave(id);
        node.shared().write_left().unwrap();
    };
    let come = |node: &Node, password| {
        let slot = slot(ann, 1);
        let request = SlotRequest { slot: &slot, limit: 9, present: None, password };
        let SlotOutcome::HeldSlot { id, missed, .. } = node.shared().sit(&request).unwrap() else { panic!() };
        (id, missed)
    };
    let nothing = MissedTrades::new();
    let (first, none) = come(&nodes[0], None);
    assert_eq!(none, nothing);
    close(&nodes[0], first, &missed(5));
    let (second, taken) = come(&nodes[1], None);
    assert_eq!(taken, missed(5));
    // The client has already reconnected when this node finds that the connection has ended.
    let (third, none) = come(&nodes[0], None);
    assert_eq!(none, nothing);
    close(&nodes[1], second, &missed(6));
    close(&nodes[0], third, &missed(7));
    let (fourth, taken) = come(&nodes[1], None);
    assert_eq!(taken, missed(7));
    // They are not sent after ten minutes.
    close(&nodes[1], fourth, &missed(8));
    home.damage("accounts", "update missed_trades set left_us = left_us - 600000000");
    let (fifth, none) = come(&nodes[0], None);
    assert_eq!((none, home.number("accounts", "select count(*) from missed_trades")), (nothing, 0));
    // A stopping node records them too.
    nodes[0].shared().note_missed(fifth, ann, [1; 16], &missed(9));
    nodes[0].shared().leave(fifth);
    nodes[0].shared().leave_nodes().unwrap();
    assert_eq!(come(&nodes[1], None).1, missed(9));
}

#[test]
fn concurrent_sign_ins_get_exactly_the_available_slots() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let got: usize = std::thread::scope(|scope| {
        let come = |number: u8| {
            let nodes = &nodes;
            scope.spawn(move || {
                matches!(
                    sit(&nodes[usize::from(number % 2)], &slot(ann, number), 3),
                    SlotOutcome::HeldSlot { .. }
                )
            })
        };
        let threads: Vec<_> = (0..12).map(come).collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    assert_eq!(got, 3);
}

#[test]
fn slots_are_freed_when_a_client_or_node_leaves() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let (id, _) = with_slot(&sit(&nodes[0], &slot(ann, 1), 1));
    nodes[0].shared().leave(id);
    // The slot is free immediately, even if the background thread has not written the change yet.
    assert_eq!(with_slot(&sit(&nodes[0], &slot(ann, 2), 1)).1, 1);
    assert_eq!(sit(&nodes[1], &slot(ann, 3), 1), SlotOutcome::Taken { online: 1 });
    // The node has had no heartbeat for fifteen seconds.
    home.damage("accounts", "update node set seen_us = seen_us - 15000000 where name = 'node 1'");
    assert_eq!(with_slot(&sit(&nodes[1], &slot(ann, 3), 1)).1, 1);
    assert_eq!(nodes[1].shared().heartbeat("node 2").unwrap().nodes, 1);
    // The node was only disconnected, so its connections are counted again.
    assert!(!nodes[0].shared().heartbeat("node 1").unwrap().has_joined);
    assert_eq!(nodes[1].shared().online(ann).unwrap(), 2);
    // After ten minutes the node's row and connections are removed. The node then joins again with
    // its current connections.
    home.damage("accounts", "update node set seen_us = seen_us - 700000000 where name = 'node 1'");
    nodes[1].shared().sweep(NOW).unwrap();
    assert_eq!(home.number("accounts", "select count(*) from seat"), 1);
    assert!(nodes[0].shared().heartbeat("node 1").unwrap().has_joined);
    nodes[0].shared().renew_slots(&[(1 << 62, slot(ann, 9))]).unwrap();
    assert_eq!(nodes[1].shared().online(ann).unwrap(), 2);
    nodes[1].shared().leave_nodes().unwrap();
    assert_eq!(nodes[0].shared().online(ann).unwrap(), 1);
    assert_eq!(nodes[0].shared().nodes().unwrap().len(), 1);
}

#[test]
fn a_silent_connection_loses_its_slot_to_another_node() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let (silent, _) = with_slot(&sit(&nodes[0], &slot(ann, 1), 1));
    nodes[0].shared().set_silent(&[(silent, true)]).unwrap();
    assert_eq!(with_slot(&sit(&nodes[1], &slot(ann, 2), 2)).1, 2, "there is room: it stays");
    assert_eq!(with_slot(&sit(&nodes[1], &slot(ann, 3), 2)).1, 2);
    let ended = nodes[0].shared().heartbeat("node 1").unwrap().ended;
    assert_eq!(ended, [(silent, SlotEnding::Silent)]);
}

#[test]
fn a_password_is_used_only_once_and_only_with_a_free_slot() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let ann = add(&nodes[0].accounts, "ann").unwrap();
    let hash = [7; 32];
    nodes[0].shared().issue_password(&NewPassword { hash: &hash, account: ann, caller: b"ann" }, 3).unwrap();
    let issued = nodes[1].shared().issued_password(&hash).unwrap().unwrap();
    assert_eq!((issued.account, issued.caller.as_slice()), (ann, &b"ann"[..]));
    assert!(issued.age < Duration::from_secs(30));
    let (taken, _) = with_slot(&sit(&nodes[0], &slot(ann, 100), 1));
    let come = |node: &Node, lineage| {
        let slot = slot(ann, lineage);
        node.shared()
            .sit(&SlotRequest { slot: &slot, limit: 1, present: None, password: Some(&hash) })
            .unwrap()
    };
    assert_eq!(come(&nodes[1], 1), SlotOutcome::Taken { online: 1 });
    nodes[0].shared().leave(taken);
    nodes[0].shared().write_left().unwrap();
    let outcomes: Vec<SlotOutcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6_u8)
            .map(|number| {
                let nodes = &nodes;
                scope.spawn(move || {
                    let (slot, hash) = (slot(ann, number), [7; 32]);
                    let request = SlotRequest { slot: &slot, limit: 9, present: None, password: Some(&hash) };
                    nodes[usize::from(number % 2)].shared().sit(&request).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let got_in = outcomes.iter().filter(|outcome| matches!(outcome, SlotOutcome::HeldSlot { .. })).count();
    assert_eq!(got_in, 1, "{outcomes:?}");
    assert!(nodes[0].shared().issued_password(&hash).unwrap().is_none());
    // The number of passwords per account is limited, and the oldest passwords are removed.
    for number in 0..5_u8 {
        let new = NewPassword { hash: &[number; 32], account: ann, caller: b"" };
        nodes[0].shared().issue_password(&new, 3).unwrap();
    }
    let left =
        (0..5_u8).filter(|number| nodes[1].shared().issued_password(&[*number; 32]).unwrap().is_some());
    assert_eq!(left.collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn a_signature_is_valid_once_over_all_nodes() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let limits = SignatureLimits { each_max: 1_000, kept_s: 601 };
    let mut fingerprint = [3; 16];
    let take = |node: usize, fingerprint: &[u8; 16]| {
        nodes[node].shared().use_signature(fingerprint, &[1; 16], limits).unwrap()
    };
    let pass = |seconds: i64| {
        let back = format!(
            "update signature set first_at = first_at - {seconds}, until_at = until_at - {seconds} returning 1"
        );
        assert_eq!(home.number("accounts", &back), 1);
    };
    assert_eq!(take(0, &fingerprint), SignatureOutcome::New);
    // The age is measured by the database's clock, not by the nodes' clocks.
    pass(300);
    let age = |outcome| match outcome {
        SignatureOutcome::Used(age_s) => age_s,
        other => panic!("{other:?}"),
    };
    assert!((300..600).contains(&age(take(1, &fingerprint))));
    pass(301);
    assert_eq!(take(1, &fingerprint), SignatureOutcome::New, "nobody would find it valid any more");
    pass(601);
    nodes[0].shared().sweep(NOW).unwrap();
    assert_eq!(home.number("accounts", "select count(*) from signature"), 0);
    // Another signature of the same key exceeds the limit.
    let few = SignatureLimits { each_max: 1, ..limits };
    assert_eq!(take(0, &fingerprint), SignatureOutcome::New);
    fingerprint[0] = 0;
    let counted = nodes[1].shared().use_signature(&fingerprint, &[1; 16], few).unwrap();
    assert_eq!(counted, SignatureOutcome::NoRoom);
}

#[test]
fn guard_decisions_are_serialized() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    let key = GuardKey { kind: "pair", key: "ann 192.0.2.1".to_owned() };
    let count = |node: &Node| {
        node.shared()
            .judge(["ann", "192.0.2.1"], std::slice::from_ref(&key), |table| {
                let number = table.get(&key).map_or(0, |row| row.number) + 1;
                let (at_us, until_us) = (table.now_us, table.now_us + 1_000_000_000);
                table.put(key.clone(), Some(GuardRow { number, at_us, until_us }));
                number
            })
            .unwrap()
    };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (nodes, count) = (&nodes, &count);
            scope.spawn(move || (0..10).for_each(|_| assert!(count(&nodes[thread % 2]) > 0)));
        }
    });
    assert_eq!(count(&nodes[0]), 81);
    nodes[1].shared().sweep(NOW).unwrap();
    assert_eq!(count(&nodes[1]), 82, "it is not old");
    nodes[0]
        .shared()
        .judge(["ann", ""], std::slice::from_ref(&key), |table| table.put(key.clone(), None))
        .unwrap();
    assert_eq!(count(&nodes[1]), 1);
    assert_eq!(home.number("accounts", "select count(*) from guard where kind = 'lock'"), 16);
}

#[test]
fn a_clients_gateway_is_known_at_every_node_for_a_day() {
    let home = Home::new();
    let nodes = [Node::join(&home, 1), Node::join(&home, 2)];
    assert_eq!(nodes[0].shared().recall_client(&[5; 16]).unwrap(), None);
    nodes[0].shared().remember_client(&[5; 16], "quote").unwrap();
    nodes[0].shared().remember_client(&[5; 16], "trade").unwrap();
    assert_eq!(nodes[1].shared().recall_client(&[5; 16]).unwrap().as_deref(), Some("trade"));
    home.damage("accounts", "update session set seen_us = seen_us - 90000000000");
    nodes[1].shared().sweep(NOW).unwrap();
    assert_eq!(nodes[1].shared().recall_client(&[5; 16]).unwrap(), None);
}

#[test]
fn windows_of_idle_accounts_are_removed_in_batches() {
    let home = Home::new();
    let node = Node::join(&home, 1);
    home.damage(
        "accounts",
        "insert into rate_window select number, decode('00000000000000ff', 'hex') from generate_series(1, 25000) as number; \
         insert into call_bucket select number, 0 from generate_series(1, 25000) as number",
    );
    let ann = add(&node.accounts, "ann").unwrap();
    assert!(is_admitted(&node.shared().take_rate(ann, &SIXTY).unwrap()));
    let (mut from, mut portions) = (Some(0), 0);
    while let Some(at) = from {
        from = node.shared().sweep_windows(at).unwrap();
        portions += 1;
    }
    assert_eq!(portions, 3);
    assert_eq!(home.number("accounts", "select count(*) from rate_window"), 1);
    assert_eq!(home.number("accounts", "select count(*) from call_bucket"), 0);
    let times = node.shared().rate_times(ann).unwrap();
    assert_eq!(times.count(SIXTY.within), 1, "what counts is kept");
}
