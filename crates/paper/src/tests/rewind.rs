use std::sync::atomic::{AtomicBool, Ordering};

use market::Timestamp;
use trading::{Command, Currency, OrderId, Side, figures};

use super::house::{House, MACHINE, Service, at, limit, replay};
use crate::{JournalOperation, PaperError};

const G1: [&str; 2] = ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000"];

fn operation(name: &str) -> JournalOperation<'_> {
    JournalOperation { name, actor: "operator", reason: "a test", machine: MACHINE }
}

#[test]
fn a_past_account_equals_its_truncated_journal() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let before = service.seen(id, replay("10:01:30"), order);
    assert!(service.seen(id, replay("10:05"), order).starts_with("FilledStatus"));
    assert_eq!(service.seen(id, replay("10:01:30"), order), before, "the clock was set back");
    let refused = service.command(id, replay("10:01:30"), &Command::Cancel { id: order }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "account is at 2026-03-18T02:05:00Z, the market clock at 2026-03-18T02:01:30Z: `chandler account rewind` or \
         `chandler account reset` takes the account back, `chandler account fork` copies its state at an earlier instant"
    );
}

#[test]
fn a_rewind_archives_the_removed_entries() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let elsewhere = house.service();
    let command = Command::submit(limit(Side::Buy, 200, "306.00"));
    let order = service.named(id, replay("10:00:15"), &command, "one").unwrap().order.unwrap();
    assert!(service.seen(id, replay("10:05"), order).starts_with("FilledStatus"));
    assert!(elsewhere.seen(id, replay("10:05"), order).starts_with("FilledStatus"));
    let later = service.paper.rewind(id, at("10:06"), &operation("x"));
    assert!(matches!(later, Err(PaperError::NotBefore { .. })), "{later:?}");
    let standing = service.paper.rewind(id, at("10:00:15"), &operation("first try")).unwrap();
    assert_eq!(standing.horizon, Some(at("10:00:15")));
    for service in [&service, &elsewhere] {
        assert_eq!(service.seen(id, replay("10:00:15"), order), "NewStatus 0@- 500000.00");
    }
    let again = service.paper.rewind(id, at("10:00:00"), &operation("first try"));
    assert!(matches!(again, Err(PaperError::NameTaken(_))), "{again:?}");
    service.paper.rewind(id, at("10:00:00"), &operation("second try")).unwrap();
    // The idempotency key of a removed request can be used again.
    assert!(!service.named(id, replay("10:00:15"), &command, "one").unwrap().is_repeated);
    let cuts = service.paper.cuts(id).unwrap();
    assert_eq!(cuts.iter().map(|cut| cut.name.as_str()).collect::<Vec<_>>(), ["first try", "second try"]);
}

#[test]
fn a_reset_preserves_the_opening_balances() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let standing = service.paper.reset(id, &operation("reset")).unwrap();
    assert_eq!((standing.entries, standing.horizon), (2, None));
    // The account begins again, and may begin at an earlier time.
    let orders = service.read(id, replay("09:00"), |reading| {
        assert_eq!(reading.account.began(), Some(at("09:00")));
        reading.account.orders().len()
    });
    assert_eq!(orders, 0);
}

#[test]
fn order_numbers_are_not_reused_after_a_rewind_or_a_reset() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let submit = |service: &Service, clock: &str| {
        service.submit(id, replay(clock), limit(Side::Buy, 100, "300.00")).number()
    };
    assert_eq!(["10:00:15", "10:00:20", "10:00:25"].map(|clock| submit(&service, clock)), [1, 2, 3]);
    let elsewhere = house.service();
    service.paper.rewind(id, at("10:00:20"), &operation("one")).unwrap();
    // The first two orders still exist and are found by number. Orders after the gap are also
    // found.
    assert_eq!(submit(&elsewhere, "10:00:21"), 4);
    assert_eq!(submit(&service, "10:00:22"), 5);
    let found = |number: u64| {
        let order = OrderId::of(id.0.unsigned_abs(), number);
        service.read(id, replay("10:00:22"), |reading| {
            reading.account.order(order).map(|found| found.id.number())
        })
    };
    assert_eq!([1, 2, 3, 4, 5, 6].map(found), [Some(1), Some(2), None, Some(4), Some(5), None]);
    let cancel = Command::Cancel { id: OrderId::of(id.0.unsigned_abs(), 4) };
    service.command(id, replay("10:00:23"), &cancel).unwrap();
    service.paper.reset(id, &operation("two")).unwrap();
    assert_eq!(submit(&elsewhere, "10:00:15"), 6);
    service.paper.reset(id, &operation("three")).unwrap();
    service.paper.reset(id, &operation("four")).unwrap();
    // A new process continues the same number sequence.
    assert_eq!(submit(&house.service(), "10:00:15"), 7);
}

#[test]
fn a_rewind_to_before_the_first_entry_equals_a_reset() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.account("bob"), house.service());
    for id in [ann, bob] {
        service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    }
    let rewound = service.paper.rewind(ann, Timestamp(-1), &operation("x")).unwrap();
    assert_eq!(rewound, service.paper.reset(bob, &operation("x")).unwrap());
    assert_eq!((rewound.entries, rewound.horizon), (2, None));
}

#[test]
fn a_fork_is_independent_of_its_source() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.bare_account("bob"), house.service());
    let order = service.submit(ann, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    service.seen(ann, replay("10:05"), order);
    let stranger = service.paper.fork(bob, ann, None, &operation(""));
    assert!(matches!(stranger, Err(PaperError::NoJournal)), "{stranger:?}");
    let later = service.paper.fork(ann, bob, Some(at("10:06")), &operation(""));
    assert!(matches!(later, Err(PaperError::NotBefore { .. })), "{later:?}");
    assert_eq!(service.paper.standing(bob).unwrap().entries, 0);
    service.paper.fork(ann, bob, Some(at("10:01")), &operation("")).unwrap();
    let copy = OrderId::of(bob.0.unsigned_abs(), order.number());
    let theirs = service.command(bob, replay("10:01:10"), &Command::Cancel { id: order }).unwrap_err();
    assert_eq!(theirs.to_string(), "order not found", "that one is ann's");
    service.command(bob, replay("10:01:10"), &Command::Cancel { id: copy }).unwrap();
    assert!(service.seen(bob, replay("10:05"), copy).starts_with("CanceledStatus"));
    assert!(service.seen(ann, replay("10:05"), order).starts_with("FilledStatus"));
    let again = service.paper.fork(ann, bob, None, &operation(""));
    assert!(matches!(again, Err(PaperError::NotEmpty)), "{again:?}");
    let itself = service.paper.fork(ann, ann, None, &operation(""));
    assert!(matches!(itself, Err(PaperError::NotEmpty)), "{itself:?}");
    assert_eq!(service.paper.standing(ann).unwrap().horizon, Some(at("10:05")));
    assert_eq!(service.paper.forget_requests(Timestamp(MACHINE.0 + 1_000)).unwrap(), 0);
}

#[test]
fn forked_orders_have_ids_of_the_new_account() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.bare_account("bob"), house.service());
    service.submit(ann, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    // The entry of an immediately rejected order contains its id twice.
    service.submit(ann, replay("10:00:15"), limit(Side::Buy, 20_000, "306.00"));
    service.paper.fork(ann, bob, None, &operation("")).unwrap();
    let mut ids = Vec::new();
    for id in [ann, bob] {
        service.submit(id, replay("10:00:20"), limit(Side::Buy, 100, "300.00"));
        // The first service has the account in memory. The new service loads it from the journal,
        // as another process would.
        for service in [&service, &house.service()] {
            let found: Vec<OrderId> = service.read(id, replay("10:03"), |reading| {
                reading.account.orders().iter().map(|order| order.id).collect()
            });
            assert!(found.iter().all(|order| order.account() == id.0.unsigned_abs()), "{found:?}");
            ids.extend(found);
        }
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[test]
fn a_fork_keeps_and_explains_its_orders_after_a_reset_of_its_source() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.bare_account("bob"), house.service());
    let order = service.submit(ann, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let filled = service.seen(ann, replay("10:05"), order);
    let why = |service: &Service, id, order| service.why(id, replay("10:05"), order);
    let of_source = why(&service, ann, order);
    assert!(of_source.len() > 1, "{of_source:?}");
    service.paper.fork(ann, bob, None, &operation("")).unwrap();
    let copy = order.with_account(bob.0.unsigned_abs());
    for is_reset in [false, true] {
        if is_reset {
            service.paper.reset(ann, &operation("x")).unwrap();
        }
        for service in [&service, &house.service()] {
            assert_eq!(why(service, bob, copy), of_source, "reset: {is_reset}");
            let now = replay("10:05");
            let stored =
                service.with_reader(|reader| service.paper.at(bob, reader, &now).order_explanation(copy));
            assert_eq!(stored.unwrap().unwrap().order_id, copy.to_string(), "reset: {is_reset}");
            assert_eq!(service.seen(bob, replay("10:05"), copy), filled);
        }
    }
}

#[test]
fn listeners_of_a_fork_receive_only_its_new_events() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.bare_account("bob"), house.service());
    let _watched = service.paper.watch(bob).unwrap();
    service.submit(ann, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    service.heard();
    service.paper.fork(ann, bob, None, &operation("")).unwrap();
    service.paper.follow(bob).unwrap();
    assert_eq!(service.heard(), Vec::<String>::new());
    service.read(bob, replay("10:05"), |_| ());
    assert_eq!(service.heard(), [format!("{} FilledStatus 200@305.200", bob.0)]);
}

#[test]
fn reads_during_a_rewind_see_only_valid_states() {
    let house = House::new(&G1);
    let (id, here, there) = (house.account("ann"), house.service(), house.service());
    here.read(id, replay("10:00"), |_| ());
    let is_over = AtomicBool::new(false);
    let frozen = |service: &Service| {
        service.read(id, replay("10:00:15"), |reading| {
            let figures = figures(reading.account, &reading.view).unwrap();
            let frozen = figures.balances[&Currency::HKD].frozen().text().to_string();
            (reading.account.orders().len(), frozen)
        })
    };
    let mut states = vec![frozen(&here)];
    for quantity in [100, 200] {
        here.submit(id, replay("10:00:15"), limit(Side::Buy, quantity, "300.00"));
        states.push(frozen(&here));
    }
    std::thread::scope(|scope| {
        for service in [&here, &there] {
            let (is_over, states, frozen) = (&is_over, &states, &frozen);
            scope.spawn(move || {
                for _ in 0..20_000 {
                    if is_over.load(Ordering::Acquire) {
                        break;
                    }
                    let seen = frozen(service);
                    assert!(states.contains(&seen), "{seen:?} is not one of {states:?}");
                }
            });
        }
        for round in 0..25 {
            here.paper.rewind(id, at("10:00:05"), &operation(&format!("round {round}"))).unwrap();
            for quantity in [100, 200] {
                here.submit(id, replay("10:00:15"), limit(Side::Buy, quantity, "300.00"));
            }
        }
        is_over.store(true, Ordering::Release);
    });
    for service in [&here, &there] {
        assert_eq!(Some(&frozen(service)), states.last());
    }
    assert_eq!(here.paper.cuts(id).unwrap().len(), 25);
}

#[test]
fn entries_with_reused_numbers_are_pushed_after_a_rewind() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let _watched = service.paper.watch(id).unwrap();
    service.read(id, replay("10:00"), |_| ());
    for _ in 0..2 {
        service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "300.00"));
    }
    service.heard();
    service.paper.rewind(id, at("10:00:05"), &operation("x")).unwrap();
    // Another process writes first.
    house.service().submit(id, replay("10:00:15"), limit(Side::Buy, 100, "300.00"));
    service.paper.follow(id).unwrap();
    assert_eq!(service.heard(), ["WaitToNew", "NewStatus"].map(|status| format!("{} {status}", id.0)));
}

#[test]
fn entries_after_a_rewind_by_another_process_are_pushed() {
    let house = House::new(&G1);
    let (id, service, elsewhere) = (house.account("ann"), house.service(), house.service());
    let _watched = service.paper.watch(id).unwrap();
    service.read(id, replay("10:00"), |_| ());
    for _ in 0..2 {
        service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "300.00"));
    }
    service.heard();
    // Another process truncates the journal and adds entries before the next follow.
    elsewhere.paper.rewind(id, at("10:00:05"), &operation("x")).unwrap();
    for _ in 0..3 {
        elsewhere.submit(id, replay("10:00:15"), limit(Side::Buy, 100, "300.00"));
    }
    service.paper.follow(id).unwrap();
    let each = ["WaitToNew", "NewStatus"].map(|status| format!("{} {status}", id.0));
    assert_eq!(service.heard(), [each.clone(), each.clone(), each].concat());
    service.paper.follow(id).unwrap();
    assert_eq!(service.heard(), Vec::<String>::new());
}

#[test]
fn cuts_within_one_second_have_distinct_names() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    service.read(id, replay("10:00"), |_| ());
    let mut names = Vec::new();
    for _ in 0..3 {
        let name = service.paper.free_cut_name(id, MACHINE).unwrap();
        service.paper.rewind(id, at("10:00"), &operation(&name)).unwrap();
        names.push(name);
    }
    let first = MACHINE.to_string();
    assert_eq!(names, [first.clone(), format!("{first} (2)"), format!("{first} (3)")]);
}
