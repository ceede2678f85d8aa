use std::sync::Barrier;

use trading::{Command, Side};

use super::house::{House, MACHINE, limit, replay};
use crate::Moment;

const CANDLES: [&str; 1] = ["10:00 305 305 300 305 50000"];

#[test]
fn a_request_with_a_name_is_done_once() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let command = Command::submit(limit(Side::Buy, 200, "300.00"));
    let first = service.named(id, replay("10:00:15"), &command, "one").unwrap();
    let again = service.named(id, replay("10:00:16"), &command, "one").unwrap();
    assert_eq!((again.order, first.is_repeated, again.is_repeated), (first.order, false, true));
    // Another process knows it, too, for ten minutes of the machine.
    let elsewhere = house.service();
    assert_eq!(elsewhere.named(id, replay("10:00:17"), &command, "one").unwrap().order, first.order);
    let later = Moment { machine: market::Timestamp(MACHINE.0 + 601), ..replay("10:00:18") };
    let new = service.named(id, later, &command, "one").unwrap();
    assert!(!new.is_repeated && new.order != first.order);
    assert_eq!(service.read(id, replay("10:01"), |reading| reading.account.orders().len()), 2);
}

#[test]
fn a_request_that_was_refused_may_be_made_again_under_its_name() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let wrong = Command::submit(limit(Side::Buy, 250, "300.00"));
    service.named(id, replay("10:00:15"), &wrong, "one").unwrap_err();
    let right = Command::submit(limit(Side::Buy, 200, "300.00"));
    assert!(!service.named(id, replay("10:00:16"), &right, "one").unwrap().is_repeated);
}

#[test]
fn one_name_from_many_at_once_is_one_order() {
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
