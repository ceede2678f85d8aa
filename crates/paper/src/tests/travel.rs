use market::Timestamp;
use trading::{Command, Side};

use super::house::{House, MACHINE, at, limit, replay};
use crate::{PaperError, Travel};

const G1: [&str; 2] = ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000"];

fn travel(name: &str) -> Travel<'_> {
    Travel { name, actor: "operator", reason: "a test", machine: MACHINE }
}

#[test]
fn an_account_as_it_was_is_its_journal_cut_there() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let before = service.seen(id, replay("10:01:30"), order);
    assert!(service.seen(id, replay("10:05"), order).starts_with("FilledStatus"));
    assert_eq!(service.seen(id, replay("10:01:30"), order), before, "the clock was set back");
    let refused = service.command(id, replay("10:01:30"), &Command::Cancel { id: order }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "account is at 2026-03-18T02:05:00Z, the market clock at 2026-03-18T02:01:30Z"
    );
}

#[test]
fn a_rewind_takes_back_what_happened_and_keeps_it_aside() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let elsewhere = house.service();
    let command = Command::submit(limit(Side::Buy, 200, "306.00"));
    let order = service.named(id, replay("10:00:15"), &command, "one").unwrap().order.unwrap();
    assert!(service.seen(id, replay("10:05"), order).starts_with("FilledStatus"));
    assert!(elsewhere.seen(id, replay("10:05"), order).starts_with("FilledStatus"));
    let later = service.paper.rewind(id, at("10:06"), &travel("x"));
    assert!(matches!(later, Err(PaperError::NotBefore { .. })), "{later:?}");
    let standing = service.paper.rewind(id, at("10:00:15"), &travel("first try")).unwrap();
    assert_eq!(standing.horizon, Some(at("10:00:15")));
    for service in [&service, &elsewhere] {
        assert_eq!(service.seen(id, replay("10:00:15"), order), "NewStatus 0@- 500000.00");
    }
    let again = service.paper.rewind(id, at("10:00:00"), &travel("first try"));
    assert!(matches!(again, Err(PaperError::NameTaken(_))), "{again:?}");
    service.paper.rewind(id, at("10:00:00"), &travel("second try")).unwrap();
    // The name of a request that never happened is free.
    assert!(!service.named(id, replay("10:00:15"), &command, "one").unwrap().is_repeated);
    let cuts = service.paper.cuts(id).unwrap();
    assert_eq!(cuts.iter().map(|cut| cut.name.as_str()).collect::<Vec<_>>(), ["first try", "second try"]);
}

#[test]
fn a_reset_leaves_what_the_account_was_given_before_it_began() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let standing = service.paper.reset(id, &travel("reset")).unwrap();
    assert_eq!((standing.entries, standing.horizon), (2, None));
    // It begins anew, at an earlier time if so wished.
    let orders = service.read(id, replay("09:00"), |reading| {
        assert_eq!(reading.account.began(), Some(at("09:00")));
        reading.account.orders().len()
    });
    assert_eq!(orders, 0);
}

#[test]
fn a_fork_goes_its_own_way() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.bare_account("bob"), house.service());
    let order = service.submit(ann, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    service.seen(ann, replay("10:05"), order);
    let nobody = service.paper.fork(bob, ann, None, &travel(""));
    assert!(matches!(nobody, Err(PaperError::NoJournal)), "{nobody:?}");
    service.paper.fork(ann, bob, Some(at("10:01")), &travel("")).unwrap();
    service.command(bob, replay("10:01:10"), &Command::Cancel { id: order }).unwrap();
    assert!(service.seen(bob, replay("10:05"), order).starts_with("CanceledStatus"));
    assert!(service.seen(ann, replay("10:05"), order).starts_with("FilledStatus"));
    let again = service.paper.fork(ann, bob, None, &travel(""));
    assert!(matches!(again, Err(PaperError::NotEmpty)), "{again:?}");
    assert_eq!(service.paper.standing(ann).unwrap().horizon, Some(at("10:05")));
    assert_eq!(service.paper.forget_requests(Timestamp(MACHINE.0 + 1_000)).unwrap(), 0);
}
