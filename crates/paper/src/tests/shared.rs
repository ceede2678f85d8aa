use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};

use history::AsOf;
use market::Timestamp;
use trading::{Command, Currency, Money, Side};

use super::house::{House, MACHINE, at, limit, live, replay};
use crate::{Clock, Moment};

const CANDLES: [&str; 2] = ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000"];

#[test]
fn changes_by_one_process_are_pushed_by_another() {
    let house = House::new(&CANDLES);
    let id = house.account("ann");
    let (here, there) = (house.service(), house.service());
    // The read loads the account into the other process's memory.
    assert_eq!(there.read(id, replay("10:00"), |reading| reading.account.orders().len()), 0);
    let order = here.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert_eq!(there.heard(), Vec::<String>::new());
    assert!(there.seen(id, replay("10:00:20"), order).starts_with("NewStatus"));
    let describe = |status: &str| format!("{} {status}", id.0);
    assert_eq!(there.heard(), [describe("WaitToNew"), describe("NewStatus")]);
    assert!(there.seen(id, replay("10:02"), order).starts_with("FilledStatus"));
    assert!(here.seen(id, replay("10:02"), order).starts_with("FilledStatus"));
    assert_eq!(there.heard(), [describe("FilledStatus 200@305.200")]);
    assert_eq!(
        here.heard(),
        [describe("WaitToNew"), describe("NewStatus"), describe("FilledStatus 200@305.200")]
    );
}

#[test]
fn concurrent_changes_by_two_processes_are_all_stored() {
    let house = House::new(&CANDLES);
    let id = house.account("ann");
    let services = [house.service(), house.service()];
    let barrier = Barrier::new(8);
    let deposit = Command::Deposit { currency: Currency::HKD, amount: Money::whole(1) };
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (service, barrier, deposit) = (&services[number % 2], &barrier, &deposit);
            scope.spawn(move || {
                barrier.wait();
                for _ in 0..10 {
                    // A contended request fails and is retried.
                    while service.command(id, replay("10:00"), deposit).is_err() {}
                }
            });
        }
    });
    for service in &services {
        let cash = service
            .read(id, replay("10:00"), |reading| reading.account.cash(Currency::HKD).text().to_string());
        assert_eq!(cash, "500080.00");
    }
    let numbers: Vec<u64> = services[0].paper.journal(id).unwrap().iter().map(|entry| entry.number).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64));
}

/// A clock that advances by a second on each read.
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn moment(&self, _: store::AccountId, _: Option<Timestamp>) -> Moment {
        let now = Timestamp(self.0.fetch_add(1, Ordering::AcqRel));
        Moment { as_of: AsOf::Replay(now), machine: MACHINE }
    }
}

#[test]
fn concurrent_requests_have_increasing_times() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    service.read(id, replay("10:00"), |_| ());
    let (clock, barrier) = (Ticking(AtomicI64::new(at("10:00").0)), Barrier::new(4));
    let deposit = Command::Deposit { currency: Currency::HKD, amount: Money::whole(1) };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..10 {
                    let done = service.with_reader(|reader| {
                        service.paper.at(id, reader, &clock).command(&deposit, None, None)
                    });
                    done.unwrap();
                }
            });
        }
    });
    let last = Timestamp(clock.0.load(Ordering::Acquire) - 1);
    assert_eq!(service.paper.standing(id).unwrap().horizon, Some(last));
}

#[test]
fn a_small_backward_clock_correction_is_ignored() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let deposit = Command::Deposit { currency: Currency::HKD, amount: Money::whole(1) };
    service.read(id, live("10:00:15"), |_| ());
    service.command(id, live("10:00:13"), &deposit).unwrap();
    assert_eq!(service.paper.standing(id).unwrap().horizon, Some(at("10:00:15")));
    for earlier in [live("10:00:12"), replay("10:00:14")] {
        let refused = service.command(id, earlier, &deposit).unwrap_err().to_string();
        assert!(refused.starts_with("account is at 2026-03-18T02:00:15Z, the market clock at"), "{refused}");
    }
}

#[test]
fn only_accounts_with_possible_events_are_due() {
    let house = House::new(&CANDLES);
    let ids: Vec<_> = ["ann", "bob", "cyd"].iter().map(|name| house.account(name)).collect();
    let service = house.service();
    let order = service.submit(ids[0], replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    service.read(ids[1], replay("10:00:15"), |_| ());
    // The first account is due at the first minute that could fill its order. The other two
    // accounts have no orders, and the third has had no request.
    assert_eq!(service.paper.next_wake().unwrap(), Some(at("10:01")));
    assert_eq!(service.paper.due(at("10:00:59"), 10).unwrap(), []);
    assert_eq!(service.paper.due(at("10:01"), 10).unwrap(), [ids[0]]);
    let advance = |clock| service.with_reader(|reader| service.paper.advance(&ids, reader, &replay(clock)));
    advance("10:01");
    assert_eq!(service.paper.next_wake().unwrap(), Some(at("10:02")));
    advance("10:02");
    assert_eq!(service.paper.standing(ids[2]).unwrap().horizon, None);
    assert_eq!(service.heard().last().unwrap(), &format!("{} FilledStatus 200@305.200", ids[0].0));
    assert_eq!(service.seen(ids[0], replay("10:02"), order), "FilledStatus 200@305.200 438875.25");
    assert_eq!(service.paper.next_wake().unwrap(), None, "all is done");
}

#[test]
fn the_horizon_of_an_account_with_open_orders_is_stored() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "200.00"));
    service.with_reader(|reader| service.paper.advance(&[id], reader, &replay("10:05")));
    let elsewhere = house.service();
    assert_eq!(elsewhere.paper.standing(id).unwrap().horizon, Some(at("10:05")));
    // Advancing the horizon appended no entry, and other processes continue from the stored
    // horizon.
    let entries = elsewhere.paper.journal(id).unwrap().len();
    elsewhere.submit(id, replay("10:06"), limit(Side::Buy, 100, "200.00"));
    service.submit(id, replay("10:07"), limit(Side::Buy, 100, "200.00"));
    assert_eq!(service.paper.journal(id).unwrap().len(), entries + 2);
}

#[test]
fn following_pushes_changes_by_another_process() {
    let house = House::new(&CANDLES);
    let (id, here, there) = (house.account("ann"), house.service(), house.service());
    there.paper.follow(id).unwrap();
    here.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    here.with_reader(|reader| here.paper.advance(&[id], reader, &replay("10:02")));
    there.paper.follow(id).unwrap();
    let describe = |status: &str| format!("{} {status}", id.0);
    assert_eq!(
        there.heard(),
        [describe("WaitToNew"), describe("NewStatus"), describe("FilledStatus 200@305.200")]
    );
    there.paper.follow(id).unwrap();
    assert_eq!(there.heard(), Vec::<String>::new());
}

#[test]
fn watching_an_unloaded_account_pushes_later_changes() {
    let house = House::new(&CANDLES);
    let (id, here, there) = (house.account("ann"), house.service(), house.service());
    here.submit(id, replay("10:00:10"), limit(Side::Buy, 100, "200.00"));
    let _watched = there.paper.watch(id).unwrap();
    here.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    there.paper.follow(id).unwrap();
    let describe = |status: &str| format!("{} {status}", id.0);
    assert_eq!(there.heard(), [describe("WaitToNew"), describe("NewStatus")], "of the second order alone");
}

#[test]
fn the_first_listener_receives_no_earlier_entries() {
    let house = House::new(&CANDLES);
    let (id, here, there) = (house.account("ann"), house.service(), house.service());
    // The read loads the account into the second process's memory.
    there.read(id, replay("10:00"), |_| ());
    here.submit(id, replay("10:00:10"), limit(Side::Buy, 100, "300.00"));
    let actual = ["WaitToNew", "NewStatus"].map(|status| format!("{} {status}", id.0));
    let first = there.paper.watch(id).unwrap();
    there.paper.follow(id).unwrap();
    assert_eq!(there.heard(), Vec::<String>::new());
    // Adding a second listener does not affect the first listener.
    here.submit(id, replay("10:00:15"), limit(Side::Buy, 100, "300.00"));
    let second = there.paper.watch(id).unwrap();
    there.paper.follow(id).unwrap();
    assert_eq!(there.heard(), actual);
    drop((first, second));
    here.submit(id, replay("10:00:20"), limit(Side::Buy, 100, "300.00"));
    let _again = there.paper.watch(id).unwrap();
    there.paper.follow(id).unwrap();
    assert_eq!(there.heard(), Vec::<String>::new());
}

#[test]
fn listeners_receive_every_change_once_in_journal_order() {
    let house = House::new(&CANDLES);
    let (id, services) = (house.account("ann"), [house.service(), house.service()]);
    let _watched = services.each_ref().map(|service| service.paper.watch(id).unwrap());
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (service, barrier) = (&services[number % 2], &barrier);
            scope.spawn(move || {
                barrier.wait();
                for _ in 0..5 {
                    let order = Command::submit(limit(Side::Buy, 100, "300.00"));
                    // A contended request fails and is retried.
                    let done = loop {
                        if let Ok(done) = service.command(id, replay("10:00:15"), &order) {
                            break done;
                        }
                    };
                    let cancel = Command::Cancel { id: done.order.unwrap() };
                    while service.command(id, replay("10:00:15"), &cancel).is_err() {}
                }
            });
        }
    });
    let mut account = trading::Account::default();
    let journal = services[0].paper.journal(id).unwrap();
    let pushes: Vec<_> = journal.iter().flat_map(|entry| account.take_in(entry)).collect();
    assert_eq!((account.orders().len(), pushes.len()), (40, 40 * 5));
    let expected: Vec<String> = pushes.iter().map(|push| super::house::describe(id, push)).collect();
    for service in &services {
        service.paper.follow(id).unwrap();
        assert_eq!(service.heard(), expected);
    }
}
