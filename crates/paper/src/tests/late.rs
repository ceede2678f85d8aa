use trading::Side;

use super::house::{House, limit, live};

const FIRST: [&str; 1] = ["10:00 305 305 300 305 50000"];

#[test]
fn a_candle_that_comes_late_acts_when_it_has_come() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert!(service.seen(id, live("10:02:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(
        service.seen(id, live("10:02:10"), order).starts_with("NewStatus"),
        "not in a second that has passed"
    );
    assert!(service.seen(id, live("10:02:30"), order).starts_with("FilledStatus 200@305.200"));
    let at = service.read(id, live("10:02:30"), |reading| reading.account.order(order).unwrap().fills[0].at);
    assert_eq!(at, super::house::at("10:02:11"));
}

#[test]
fn a_candle_that_a_newer_one_has_overtaken_fills_nothing() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "305.40"));
    house.import(&["10:02 305.8 305.8 305.6 305.6 50000"]);
    assert!(service.seen(id, live("10:03:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(service.seen(id, live("10:03:20"), order).starts_with("NewStatus"));
    assert!(service.seen(id, live("10:10"), order).starts_with("NewStatus"));
}
