use trading::Side;

use super::house::{House, at, limit, live, replay};

const FIRST: [&str; 1] = ["10:00 305 305 300 305 50000"];

#[test]
fn a_late_candle_takes_effect_on_arrival() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert!(service.seen(id, live("10:02:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(
        service.seen(id, live("10:02:10"), order).starts_with("NewStatus"),
        "not in a second that has passed"
    );
    // The late candle makes the account due again.
    service.with_reader(|reader| service.paper.advance(&[id], reader, &live("10:02:10")));
    assert_eq!(service.paper.next_wake().unwrap(), Some(at("10:02:11")));
    assert!(service.seen(id, live("10:02:30"), order).starts_with("FilledStatus 200@305.200"));
    let filled =
        service.read(id, live("10:02:30"), |reading| reading.account.order(order).unwrap().fills[0].at);
    assert_eq!(filled, at("10:02:11"));
}

#[test]
fn a_late_candle_fills_all_accounts_at_the_same_instant() {
    let house = House::new(&FIRST);
    let (ids, service) = (["ann", "bob"].map(|name| house.account(name)), house.service());
    let orders = ids.map(|id| service.submit(id, live("10:00:15"), limit(Side::Buy, 400, "306.00")));
    house.import(&["10:01 305.2 305.8 305 305.6 2000"]);
    // One account is read when the candle arrives, the other much later.
    for clock in ["10:02:10", "10:02:11", "10:02:12", "10:02:40"] {
        service.seen(ids[0], live(clock), orders[0]);
    }
    let fills = [(ids[0], orders[0]), (ids[1], orders[1])].map(|(id, order)| {
        service.read(id, live("10:03"), |reading| {
            let fills = &reading.account.order(order).unwrap().fills;
            fills.iter().map(|fill| (fill.at, fill.quantity.to_string())).collect::<Vec<_>>()
        })
    });
    // A tenth of the volume is filled, only once.
    assert_eq!(fills[0], [(at("10:02:11"), "200".to_owned())]);
    assert_eq!(fills[0], fills[1]);
}

#[test]
fn a_candle_that_is_a_day_late_fills_an_open_order() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let terms = trading::Terms {
        time_in_force: trading::TimeInForce::GoodTilCanceled,
        ..limit(Side::Buy, 200, "306.00")
    };
    let order = service.submit(id, live("10:00:15"), terms);
    assert!(service.seen(id, live("34:00"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(service.seen(id, live("34:00:10"), order).starts_with("NewStatus"));
    assert!(service.seen(id, live("34:00:20"), order).starts_with("FilledStatus 200@305.200"));
}

#[test]
fn a_candle_imported_under_a_replay_clock_fills_nothing() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert!(service.seen(id, replay("10:02:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000", "10:02 305.6 305.8 305.4 305.6 50000"]);
    assert!(service.seen(id, replay("10:02:30"), order).starts_with("NewStatus"));
    assert!(service.seen(id, replay("10:03"), order).starts_with("FilledStatus 200@305.600"));
}

#[test]
fn a_late_candle_overtaken_by_a_newer_one_fills_nothing() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "305.40"));
    house.import(&["10:02 305.8 305.8 305.6 305.6 50000"]);
    assert!(service.seen(id, live("10:03:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(service.seen(id, live("10:03:20"), order).starts_with("NewStatus"));
    assert!(service.seen(id, live("10:10"), order).starts_with("NewStatus"));
}
