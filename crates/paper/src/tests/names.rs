use std::sync::Barrier;

use trading::{Changes, Command, Quantity, Side, Terms, parse_price};

use super::house::{House, MACHINE, Service, limit, replay};
use crate::Moment;

const CANDLES: [&str; 1] = ["10:00 305 305 300 305 50000"];

#[test]
fn a_request_with_an_idempotency_key_is_executed_once() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let command = Command::submit(limit(Side::Buy, 200, "300.00"));
    let first = service.named(id, replay("10:00:15"), &command, "one").unwrap();
    let again = service.named(id, replay("10:00:16"), &command, "one").unwrap();
    assert_eq!((again.order, first.is_repeated, again.is_repeated), (first.order, false, true));
    // Another process also finds the key, for ten minutes of machine time.
    let elsewhere = house.service();
    assert_eq!(elsewhere.named(id, replay("10:00:17"), &command, "one").unwrap().order, first.order);
    let later = Moment { machine: market::Timestamp(MACHINE.0 + 601), ..replay("10:00:18") };
    let new = service.named(id, later, &command, "one").unwrap();
    assert!(!new.is_repeated && new.order != first.order);
    assert_eq!(service.read(id, replay("10:01"), |reading| reading.account.orders().len()), 2);
}

#[test]
fn an_idempotency_key_used_for_other_terms_is_refused() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let submit = |service: &Service, terms: Terms, clock: &str| {
        service.named(id, replay(clock), &Command::submit(terms), "one").map(|done| done.order.unwrap())
    };
    let first = submit(&service, limit(Side::Buy, 200, "300.00"), "10:00:15").unwrap();
    let refused = format!(
        "client_request_id \"one\" was used for order {first}, which has different terms: use a new \
         one"
    );
    let elsewhere = house.service();
    let remarked = Terms { remark: "x".to_owned(), ..limit(Side::Buy, 200, "300.00") };
    let others = [
        limit(Side::Buy, 200, "301.00"),
        limit(Side::Buy, 300, "300.00"),
        limit(Side::Sell, 200, "300.00"),
        remarked,
    ];
    for terms in others {
        for service in [&service, &elsewhere] {
            let error = submit(service, terms.clone(), "10:00:16").unwrap_err();
            assert_eq!(error.to_string(), refused);
        }
    }
    // The same terms with a different spelling, and with a field that is ignored in Hong Kong
    let outside_rth = Some(trading::OutsideRth::AnyTime);
    let same = Terms { outside_rth, ..limit(Side::Buy, 200, "300") };
    assert_eq!(submit(&elsewhere, same, "10:00:17").unwrap(), first);
    // The terms are compared with those of the original order, not with a later replacement.
    let changes = Box::new(Changes {
        quantity: Quantity::whole(300),
        price: Some(parse_price("299.00").unwrap()),
        ..Changes::default()
    });
    service.command(id, replay("10:00:18"), &Command::Replace { id: first, changes }).unwrap();
    assert_eq!(submit(&elsewhere, limit(Side::Buy, 200, "300.00"), "10:00:19").unwrap(), first);
    for (quantity, price) in [(300, "300.00"), (300, "299.00")] {
        let error = submit(&elsewhere, limit(Side::Buy, quantity, price), "10:00:19").unwrap_err();
        assert_eq!(error.to_string(), refused);
    }
    // Neither refused request created an order.
    assert_eq!(service.read(id, replay("10:01"), |reading| reading.account.orders().len()), 1);
    assert!(
        !service
            .named(id, replay("10:02"), &Command::submit(limit(Side::Buy, 300, "300.00")), "two")
            .unwrap()
            .is_repeated
    );
}

#[test]
fn the_entry_number_is_stored_with_the_idempotency_key() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    // Under a fixed clock, all entries have the same instant.
    let now = replay("10:00:15");
    let command = Command::submit(limit(Side::Buy, 200, "300.00"));
    let orders: Vec<_> = ["one", "two", "three"]
        .iter()
        .map(|name| service.named(id, now, &command, name).unwrap().order.unwrap())
        .collect();
    let journal = service.paper.journal(id).unwrap();
    let number = |order| {
        let entry = journal.iter().find(|entry| entry.event.order() == Some(order));
        entry.map(|entry| entry.number).unwrap()
    };
    let stored = house.accounts().journal_request(id, "two", market::Timestamp(0)).unwrap();
    assert_eq!(stored, Some(format!("{} {}", orders[1], number(orders[1]))));
    // The order is also found without an entry number or with a wrong entry number.
    let known = service.read(id, now, |reading| reading.account.order(orders[1]).cloned().unwrap());
    for entry in [Some(number(orders[1])), None, Some(number(orders[0])), Some(99)] {
        let accepted = service.paper.accepted(id, &known, entry).unwrap();
        assert_eq!(accepted.map(|accepted| accepted.id), Some(orders[1]), "{entry:?}");
    }
}

/// A rejected order also has an order id, to which the key is bound.
#[test]
fn a_rejected_orders_key_is_bound_to_its_terms() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let large = Command::submit(limit(Side::Buy, 200_000, "300.00"));
    let first = service.named(id, replay("10:00:15"), &large, "one").unwrap();
    assert!(service.seen(id, replay("10:00:15"), first.order.unwrap()).starts_with("RejectedStatus"));
    assert_eq!(service.named(id, replay("10:00:16"), &large, "one").unwrap().order, first.order);
    let smaller = Command::submit(limit(Side::Buy, 100, "300.00"));
    assert!(service.named(id, replay("10:00:16"), &smaller, "one").is_err());
}

#[test]
fn a_refused_request_can_be_retried_with_its_key() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let wrong = Command::submit(limit(Side::Buy, 250, "300.00"));
    service.named(id, replay("10:00:15"), &wrong, "one").unwrap_err();
    let right = Command::submit(limit(Side::Buy, 200, "300.00"));
    assert!(!service.named(id, replay("10:00:16"), &right, "one").unwrap().is_repeated);
}

#[test]
fn concurrent_requests_with_one_key_create_one_order() {
    let house = House::new(&CANDLES);
    let id = house.account("ann");
    let services = [house.service(), house.service()];
    let barrier = Barrier::new(16);
    let command = Command::submit(limit(Side::Buy, 200, "300.00"));
    let ask = |number: usize| {
        let service = &services[number % services.len()];
        barrier.wait();
        service.named(id, replay("10:00:15"), &command, "one").unwrap()
    };
    let done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || ask(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(done.iter().all(|one| one.order == done[0].order), "{done:?}");
    assert_eq!(done.iter().filter(|one| !one.is_repeated).count(), 1, "{done:?}");
    assert_eq!(services[0].read(id, replay("10:01"), |reading| reading.account.orders().len()), 1);
}
